// Weighted sums of rotations over Q P, several sums at once: each inner product with a key is computed once for all sums, and no rotation
// reaches memory.
#pragma once
#include "key.cuh"
#include "policy.cuh"

constexpr u32 MOST_ROTATIONS = 16; // of a launch; more are added by further launches
constexpr u32 MOST_SUMS = 8;

// One rotation, before its automorphism: (sum_j digit_j key_j) + (addend_0, addend_1). Mirrored by `rotations::Rotation`.
struct Rotation {
    const u64* digits;    // [digit][limb][entry]
    const u64* key;       // none: the addends alone
    const u64* addend[2]; // over the chain, to be multiplied by P, or over all limbs; none: zero
    u32 g;
    u32 lifted;           // whether the addends are multiplied by P
    u32 batch, first;     // the entries of the digits and addends, and the one that belongs to entry 0 of the sums
};

// Whether part `part` of a rotation's addend is in a limb of the chain, or in a special one.
HE_D bool has_addend(const Rotation& rotation, u32 part, bool chain) {
    return rotation.addend[part] != nullptr && (chain || !rotation.lifted);
}

// The rows of a sum. Mirrored by `rotations::Target`.
struct Target {
    u64* sums[2];
    u32 batch, first;
};

// Mirrored by `rotations::Args`.
struct RotationArgs {
    Grid grid;             // of the entries of the sums
    size_t digit_words;    // of one digit
    size_t key_words;      // of one part of one digit
    u32 key_chain, digits; // chain limbs of the key; digits
    u32 rotations, targets;
    u32 fresh;             // whether the sums start here
    u32 step_digits;       // that come to shared memory together, at most eight
    KeyLayout key_layout;
    Rotation rotation[MOST_ROTATIONS];
    Target target[MOST_SUMS];
    // Of each sum: a polynomial of one entry, by one word for 2^log_run neighbours; 1: the number one; none: the rotation is not in it.
    u64 weight[MOST_SUMS][MOST_ROTATIONS];
    u32 log_run[MOST_SUMS][MOST_ROTATIONS];
    u64 special[64]; // P modulo each chain prime
};

HE_D u32 key_limb_of(const RotationArgs& a, u32 limb) { return key_limb(limb, a.grid.limbs.split, a.key_chain); }

// Two neighbouring words of each part.
template <class V>
struct Parts {
    V b[2], a[2];

    HE_D void swap() {
        V first_b = b[0], first_a = a[0];
        b[0] = b[1];
        a[0] = a[1];
        b[1] = first_b;
        a[1] = first_a;
    }
};

// The products of a sum before it is reduced. One more term is an addend where there are fewer.
constexpr u32 MOST_PRODUCTS = 8;

// Sums of products modulo a short prime: |x w| <= q^2, so that a product is at most .88q in magnitude, and seven and an addend fit.
struct FloatSums : Parts<double> {
    HE_D void add(const Fp64& f, ulonglong2 x, const double (&key_b)[2], const double (&key_a)[2]) {
        double x0 = f.load(x.x), x1 = f.load(x.y);
        b[0] += f.mul(x0, key_b[0]);
        b[1] += f.mul(x1, key_b[1]);
        a[0] += f.mul(x0, key_a[0]);
        a[1] += f.mul(x1, key_a[1]);
    }
    HE_D void relax(const Fp64& f) {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            b[i] = f.relax(b[i]);
            a[i] = f.relax(a[i]);
        }
    }
    // At most q in magnitude; the product is likewise at most .88q.
    HE_D static double weighted(const Fp64& f, const Prime&, double x, u64 w) { return f.mul(x, f.load(w)); }
    HE_D static double plus(const Prime&, double x, double y) { return x + y; }
    HE_D static double relaxed(const Fp64& f, double x) { return f.relax(x); }
};

// The same modulo any prime; the sums of products with a key are reduced at the end.
struct WordSums : Parts<u64> {
    Wide wide_b[2] = {}, wide_a[2] = {};

    HE_D void add(const U64&, ulonglong2 x, const u64 (&key_b)[2], const u64 (&key_a)[2]) {
        multiply_add(wide_b[0], x.x, key_b[0]);
        multiply_add(wide_b[1], x.y, key_b[1]);
        multiply_add(wide_a[0], x.x, key_a[0]);
        multiply_add(wide_a[1], x.y, key_a[1]);
    }
    HE_D void finish(const Prime& p) {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            b[i] = reduce_wide(wide_b[i].low, wide_b[i].high, p);
            a[i] = reduce_wide(wide_a[i].low, wide_a[i].high, p);
        }
    }
    HE_D void relax(const U64&) {}
    HE_D static u64 weighted(const U64&, const Prime& p, u64 x, u64 w) { return mul_mod(x, w, p); }
    HE_D static u64 plus(const Prime& p, u64 x, u64 y) { return add_mod(x, y, p.q); }
    HE_D static u64 relaxed(const U64&, u64 x) { return x; }
};

HE_D void finish(FloatSums&, const Prime&) {}
HE_D void finish(WordSums& sums, const Prime& p) { sums.finish(p); }

// Where a rotation takes the two neighbouring words of a thread from: a pair of a run, which all threads of a warp have in common,
// since an automorphism maps aligned blocks of 2^b words to such blocks. Neighbours have exponents that differ by N, and so have
// their images.
struct Image {
    u32 run, pair;
    bool swapped;

    HE_D Image(u32 g, u32 k, u32 log_n) {
        u32 shift = 32 - log_n, exponent = g * (2 * (__brev(k) >> shift) + 1);
        u32 image = __brev((exponent >> 1) << shift);
        run = image & ~(RUN - 1);
        pair = (image & (RUN - 1)) / 2;
        swapped = image & 1;
    }
};

// What a warp needs for one step, up to `step_digits` digits of a rotation in each of its entries and their keys, and behind the last of
// them its addends, comes to one of two places in shared memory while it computes the step before.
template <u32 ENTRIES, class Run>
struct RotationSteps {
    static constexpr u32 KEY = ENTRIES * RUN, DIGIT_WORDS = KEY + Run::WORDS, ADDEND_WORDS = 2 * ENTRIES * RUN;

    const RotationArgs& a;
    Run key;
    u64* places; // of this warp, from the lane's part on
    u32 words;   // of a place
    u32 limb, entry, k;
    u64 next_entry; // bytes from the first entry to the second
    bool chain;
    u32 rotation, digit; // of the step to copy next
    u32 used;

    HE_D RotationSteps(const RotationArgs& a, u64* shared, u32 limb, const u32 (&entries)[ENTRIES], u32 k)
        : a(a), key(key_limb_of(a, limb), (u32)a.key_layout.row_words, a.key_words, threadIdx.x % warpSize),
          words(a.step_digits * DIGIT_WORDS + ADDEND_WORDS), limb(limb), entry(entries[0]), k(k),
          next_entry((u64)(entries[ENTRIES - 1] - entries[0]) * (8u << a.grid.log_n)), chain(limb < a.grid.limbs.split), rotation(0),
          digit(0), used(0) {
        places = shared + threadIdx.x / warpSize * 2 * words + 2 * (threadIdx.x % warpSize);
        copy(places);
    }

    // The words of the next step; all threads of the warp have used those of the one before it.
    HE_D const u64* next() {
        wait_copies();
        __syncwarp();
        u64* here = places + used - 2 * (threadIdx.x % warpSize);
        used = words - used;
        copy(places + used);
        return here;
    }

private:
    HE_D void copy_entries(u64* to, const u64* first, bool inside) const {
        if (!inside) return;
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) copy_async(to + e * RUN, bytes_after(first, e * next_entry));
    }
    HE_D void copy(u64* to) {
        if (rotation < a.rotations) {
            const Rotation& from = a.rotation[rotation];
            u32 log_n = a.grid.log_n, run = Image(from.g, k, log_n).run, first = run + 2 * (threadIdx.x % warpSize);
            bool inside = first < (1u << log_n);
            u64 bytes = (u64)(limb * from.batch + from.first + entry) * (8u << log_n) + 8 * first;
            if (from.key != nullptr) {
                u32 end = min(digit + a.step_digits, a.digits);
                const u64* source = bytes_after(from.digits + digit * a.digit_words, bytes);
                const u64* parts = from.key + 2 * digit * a.key_words;
                for (; digit < end; ++digit) {
                    copy_entries(to, source, inside);
                    key.copy(to + KEY, parts, run, inside);
                    to += DIGIT_WORDS;
                    source += a.digit_words;
                    parts += 2 * a.key_words;
                }
            }
            if (from.key == nullptr || digit == a.digits) {
#pragma unroll
                for (u32 part = 0; part < 2; ++part) {
                    if (has_addend(from, part, chain)) copy_entries(to + part * ENTRIES * RUN, bytes_after(from.addend[part], bytes), inside);
                }
                digit = 0;
                ++rotation;
            }
        }
        commit_copies();
    }
};

// `k` is the first of the thread's two words, which it stores if they are `inside` the row.
template <u32 SUMS, u32 ENTRIES, class A, class S, class Run>
HE_D void rotation_sums(const RotationArgs& a, u32 limb, const u32 (&entries)[ENTRIES], u32 k, bool inside, const Prime& p) {
    typedef typename A::Value Value;
    SHARED(u64, shared);
    A f(p);
    u32 log_n = a.grid.log_n;
    bool chain = limb < a.grid.limbs.split;
    u64 special = chain ? a.special[limb] : 0;
    typedef RotationSteps<ENTRIES, Run> Steps;
    Steps steps(a, shared, limb, entries, k);
    auto word_of = [&](const Target& to, u32 e) { return (((size_t)limb * to.batch + to.first + entries[e]) << log_n) + k; };
    Parts<Value> total[SUMS][ENTRIES];
#pragma unroll
    for (u32 s = 0; s < SUMS; ++s) {
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) {
            total[s][e] = Parts<Value>{};
            if (!a.fresh && s < a.targets) {
                const Target& to = a.target[s];
                size_t word = word_of(to, e);
                ulonglong2 b = load2(to.sums[0] + word), c = load2(to.sums[1] + word);
                total[s][e] = Parts<Value>{{f.load(b.x), f.load(b.y)}, {f.load(c.x), f.load(c.y)}};
            }
        }
    }
    for (u32 r = 0; r < a.rotations; ++r) {
        const Rotation& rotation = a.rotation[r];
        Image image(rotation.g, k, log_n);
        // The weights are on their way while the digits are multiplied.
        ulonglong2 weights[SUMS];
#pragma unroll
        for (u32 s = 0; s < SUMS; ++s) {
            u64 address = s < a.targets ? a.weight[s][r] : 0;
            if (address <= 1) continue;
            u32 log_run = a.log_run[s][r];
            const u64* weight = in_global(reinterpret_cast<const u64*>(address) + ((limb << (log_n - log_run)) + (k >> log_run)));
            weights[s] = log_run == 0 ? load2(weight) : make_ulonglong2(*weight, *weight);
        }
        S sums[ENTRIES] = {};
        const u64* words;
        u32 left = rotation.key != nullptr ? a.digits : 0;
        do {
            words = steps.next();
            u32 count = min(left, a.step_digits);
            left -= count;
            // Compilers may load the second digit before they know whether there is one: shared memory ends behind one more.
#pragma unroll 2
            for (; count > 0; --count) {
                Value key_b[2], key_a[2];
                Run::read(f, words + Steps::KEY, 0, image.pair, key_b);
                Run::read(f, words + Steps::KEY, 1, image.pair, key_a);
#pragma unroll
                for (u32 e = 0; e < ENTRIES; ++e) sums[e].add(f, load2(words + e * RUN + 2 * image.pair), key_b, key_a);
                words += Steps::DIGIT_WORDS;
            }
            if (a.digits >= MOST_PRODUCTS) {
#pragma unroll
                for (u32 e = 0; e < ENTRIES; ++e) sums[e].relax(f);
            }
        } while (left > 0);
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) finish(sums[e], p);
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
            if (!has_addend(rotation, part, chain)) continue;
#pragma unroll
            for (u32 e = 0; e < ENTRIES; ++e) {
                ulonglong2 d = load2(words + (part * ENTRIES + e) * RUN + 2 * image.pair);
                Value* sum = part == 0 ? sums[e].b : sums[e].a;
                sum[0] = S::plus(p, sum[0], rotation.lifted ? S::weighted(f, p, f.load(d.x), special) : f.load(d.x));
                sum[1] = S::plus(p, sum[1], rotation.lifted ? S::weighted(f, p, f.load(d.y), special) : f.load(d.y));
            }
        }
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) {
            sums[e].relax(f);
            if (image.swapped) sums[e].swap();
        }
#pragma unroll
        for (u32 s = 0; s < SUMS; ++s) {
            u64 address = s < a.targets ? a.weight[s][r] : 0;
            if (address == 0) continue;
#pragma unroll
            for (u32 e = 0; e < ENTRIES; ++e) {
                Parts<Value> term = sums[e];
                if (address != 1) {
                    term.b[0] = S::weighted(f, p, term.b[0], weights[s].x);
                    term.b[1] = S::weighted(f, p, term.b[1], weights[s].y);
                    term.a[0] = S::weighted(f, p, term.a[0], weights[s].x);
                    term.a[1] = S::weighted(f, p, term.a[1], weights[s].y);
                }
#pragma unroll
                for (u32 i = 0; i < 2; ++i) {
                    total[s][e].b[i] = S::plus(p, total[s][e].b[i], term.b[i]);
                    total[s][e].a[i] = S::plus(p, total[s][e].a[i], term.a[i]);
                }
            }
        }
        if (r % MOST_PRODUCTS + 1 < MOST_PRODUCTS) continue;
#pragma unroll
        for (u32 s = 0; s < SUMS; ++s) {
#pragma unroll
            for (u32 e = 0; e < ENTRIES; ++e) {
#pragma unroll
                for (u32 i = 0; i < 2; ++i) {
                    total[s][e].b[i] = S::relaxed(f, total[s][e].b[i]);
                    total[s][e].a[i] = S::relaxed(f, total[s][e].a[i]);
                }
            }
        }
    }
    if (!inside) return;
#pragma unroll
    for (u32 s = 0; s < SUMS; ++s) {
        if (s >= a.targets) continue;
        const Target& to = a.target[s];
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) {
            size_t word = word_of(to, e);
            store2(to.sums[0] + word, f.store(total[s][e].b[0]), f.store(total[s][e].b[1]));
            store2(to.sums[1] + word, f.store(total[s][e].a[0]), f.store(total[s][e].a[1]));
        }
    }
}

// What a block works on. blockIdx.x: limb, chunk and entries; those of a chunk are neighbours, because they read the same keys and
// weights. If the batch is odd, the last entry stands for the one that its neighbour lacks.
template <u32 ENTRIES>
struct RotationPlace {
    u32 limb, k, entries[ENTRIES];
    bool inside;

    HE_D explicit RotationPlace(const RotationArgs& a) {
        u32 batch = a.grid.limbs.batch, groups = (batch + ENTRIES - 1) / ENTRIES, rest = blockIdx.x / groups;
        u32 first = (blockIdx.x - rest * groups) * ENTRIES, chunk = rest & ((1u << a.grid.log_chunks) - 1);
#pragma unroll
        for (u32 e = 0; e < ENTRIES; ++e) entries[e] = min(first + e, batch - 1);
        limb = rest >> a.grid.log_chunks;
        k = (chunk * ROW_THREADS + threadIdx.x) * 2;
        inside = k < (1u << a.grid.log_n);
        k = inside ? k : 0; // the others of the warp need its copies
    }
};

template <u32 SUMS>
HE_D void rotation_sums_entry(const RotationArgs& a) {
    RotationPlace<1> at(a);
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    if (a.key_layout.is_packed(key_limb_of(a, at.limb))) {
        rotation_sums<SUMS, 1, Fp64, FloatSums, PackedRun>(a, at.limb, at.entries, at.k, at.inside, p);
    } else if (p.is_short) {
        rotation_sums<SUMS, 1, Fp64, FloatSums, FlatRun>(a, at.limb, at.entries, at.k, at.inside, p);
    } else {
        rotation_sums<SUMS, 1, U64, WordSums, FlatRun>(a, at.limb, at.entries, at.k, at.inside, p);
    }
}

// Two entries of a batch at a time, with packed keys: each is read and unpacked once for both.
template <u32 SUMS>
HE_D void rotation_sums_pair(const RotationArgs& a) {
    RotationPlace<2> at(a);
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    rotation_sums<SUMS, 2, Fp64, FloatSums, PackedRun>(a, at.limb, at.entries, at.k, at.inside, p);
}

// For at most as many sums as their names say: registers, and so the blocks of a multiprocessor, go by them.
#define ROTATION_KERNELS(NAME)                                                                                            \
    KERNEL(NAME##_1, RotationArgs, ROW_THREADS, 5) { rotation_sums_entry<1>(a); }                                         \
    KERNEL(NAME##_2, RotationArgs, ROW_THREADS, 5) { rotation_sums_entry<2>(a); }                                         \
    KERNEL(NAME##_3, RotationArgs, ROW_THREADS, 5) { rotation_sums_entry<3>(a); }                                         \
    KERNEL(NAME##_4, RotationArgs, ROW_THREADS, 4) { rotation_sums_entry<4>(a); }                                         \
    KERNEL(NAME##_8, RotationArgs, ROW_THREADS, 3) { rotation_sums_entry<8>(a); }

#define ROTATION_PAIR_KERNELS(NAME)                                                                                       \
    KERNEL(NAME##_1, RotationArgs, ROW_THREADS, 3) { rotation_sums_pair<1>(a); }                                          \
    KERNEL(NAME##_2, RotationArgs, ROW_THREADS, 3) { rotation_sums_pair<2>(a); }                                          \
    KERNEL(NAME##_3, RotationArgs, ROW_THREADS, 3) { rotation_sums_pair<3>(a); }                                          \
    KERNEL(NAME##_4, RotationArgs, ROW_THREADS, 3) { rotation_sums_pair<4>(a); }
