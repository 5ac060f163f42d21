// The parts of products and key switches between transforms.
#include "include/convert_rows.cuh"
#include "include/product.cuh"

// (a0 b0, a0 b1 + a1 b0, a1 b1); mirrored by `key_switch::TensorArgs`.
struct TensorArgs {
    Grid grid;
    const u64* a[2];
    const u64* a_special[2]; // where special limbs are, by the same index
    const u64* b[2];
    u64* d[3];
    u32 a_batch, b_batch;
};

constexpr u32 MOST_PRODUCTS = 2, MOST_MULTIPLES = 4; // of a launch; more are added by further launches

// A pair with as many batch entries as the rows, or with one. Mirrored by `sums::Pair`.
struct Pair {
    const u64* c[2];
    u32 batch[2];
};

// A sum of tensor products, times a factor, plus multiples and a constant; mirrored by `sums::Args`.
struct SumArgs {
    Grid grid;
    u64* d[3];           // the third is missing where there are no products
    u32 products, multiples;
    u32 fresh;           // whether the sums start here
    u32 scaled;          // whether the products' sum is multiplied by the factor
    Pair product[MOST_PRODUCTS][2];
    Pair multiple[MOST_MULTIPLES];
    u64 factor[64], constant[64], multiplier[MOST_MULTIPLES][64]; // of each limb
};

// A sum of tensor products that are listed in memory; mirrored by `sums::ListArgs`.
struct ListArgs {
    Grid grid;
    u64* d[3];
    const Pair* list; // two for each product
    u32 products, unused;
};

template <class A>
HE_D void tensor_terms(const TensorArgs& a, const Place& at, const Prime& p) {
    typedef Terms<A> T;
    typedef typename A::Value Value;
    A f(p);
    size_t word_a = word_of(a.grid, at, a.a_batch), word_b = word_of(a.grid, at, a.b_batch);
    const u64* const* left = at.limb < a.grid.limbs.split ? a.a : a.a_special;
    Value a0[2], a1[2], b0[2], b1[2], d[3][2];
    load_pair(f, left[0] + word_a, a0);
    load_pair(f, left[1] + word_a, a1);
    load_pair(f, a.b[0] + word_b, b0);
    load_pair(f, a.b[1] + word_b, b1);
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        d[0][k] = T::mul(f, p, a0[k], b0[k]);
        d[1][k] = T::cross(f, p, a0[k], b1[k], a1[k], b0[k]);
        d[2][k] = T::mul(f, p, a1[k], b1[k]);
    }
    size_t word = word_of(a.grid, at, a.grid.limbs.batch);
#pragma unroll
    for (u32 i = 0; i < 3; ++i) store2(a.d[i] + word, f.store(d[i][0]), f.store(d[i][1]));
}

KERNEL(tensor_rows, TensorArgs, ROW_THREADS, 8) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    if (p.is_short) {
        tensor_terms<Fp64>(a, at, p);
    } else {
        tensor_terms<U64>(a, at, p);
    }
}

// A launch adds eight products at most, and a sum of earlier launches, which is reduced to half of q.
template <class A>
HE_D void sum_terms(const SumArgs& a, const Place& at, const Prime& p) {
    typedef Terms<A> T;
    typedef typename A::Value Value;
    A f(p);
    size_t word = word_of(a.grid, at, a.grid.limbs.batch);
    u32 parts = a.d[2] == nullptr ? 2 : 3;
    Value d[3][2] = {};
    if (!a.fresh) {
        for (u32 i = 0; i < parts; ++i) {
            load_pair(f, a.d[i] + word, d[i]);
            for (u32 k = 0; k < 2; ++k) d[i][k] = f.relax(d[i][k]);
        }
    }
    auto pair = [&](const Pair& x, Value (*out)[2]) {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) load_pair(f, x.c[i] + word_of(a.grid, at, x.batch[i]), out[i]);
    };
    for (u32 i = 0; i < a.products; ++i) {
        Value x[2][2], y[2][2];
        pair(a.product[i][0], x);
        pair(a.product[i][1], y);
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            d[0][k] = T::add(p, d[0][k], T::mul(f, p, x[0][k], y[0][k]));
            d[1][k] = T::add(p, d[1][k], T::cross(f, p, x[0][k], y[1][k], x[1][k], y[0][k]));
            d[2][k] = T::add(p, d[2][k], T::mul(f, p, x[1][k], y[1][k]));
        }
    }
    if (a.scaled) {
        Value factor = f.load(a.factor[at.limb]);
#pragma unroll
        for (u32 i = 0; i < 3; ++i) {
            for (u32 k = 0; k < 2; ++k) d[i][k] = T::mul(f, p, f.relax(d[i][k]), factor);
        }
    }
    for (u32 i = 0; i < a.multiples; ++i) {
        Value x[2][2], multiplier = f.load(a.multiplier[i][at.limb]);
        pair(a.multiple[i], x);
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
            for (u32 k = 0; k < 2; ++k) d[part][k] = T::add(p, d[part][k], T::mul(f, p, x[part][k], multiplier));
        }
    }
    Value constant = f.load(a.constant[at.limb]);
    d[0][0] = T::add(p, d[0][0], constant);
    d[0][1] = T::add(p, d[0][1], constant);
    for (u32 i = 0; i < parts; ++i) store2(a.d[i] + word, f.store(d[i][0]), f.store(d[i][1]));
}

// Sums are reduced to half of q after this many products.
constexpr u32 UNREDUCED = 8;

// Reads each product once and writes once, for any number of products.
template <class A>
HE_D void listed_terms(const ListArgs& a, const Place& at, const Prime& p) {
    typedef Terms<A> T;
    typedef typename A::Value Value;
    A f(p);
    Value d[3][2] = {};
    for (u32 first = 0; first < a.products; first += UNREDUCED) {
        u32 end = first + UNREDUCED < a.products ? first + UNREDUCED : a.products;
#pragma unroll 2
        for (u32 i = first; i < end; ++i) {
            const Pair* pair = in_global(a.list) + 2 * i;
            Value c[2][2][2];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                const Pair& x = pair[k / 2];
                load_pair(f, in_global(x.c[k % 2]) + word_of(a.grid, at, x.batch[k % 2]), c[k / 2][k % 2]);
            }
            Value(&x)[2][2] = c[0], (&y)[2][2] = c[1];
#pragma unroll
            for (u32 k = 0; k < 2; ++k) {
                d[0][k] = T::add(p, d[0][k], T::mul(f, p, x[0][k], y[0][k]));
                d[1][k] = T::add(p, d[1][k], T::cross(f, p, x[0][k], y[1][k], x[1][k], y[0][k]));
                d[2][k] = T::add(p, d[2][k], T::mul(f, p, x[1][k], y[1][k]));
            }
        }
        for (u32 i = 0; i < 3; ++i) {
            for (u32 k = 0; k < 2; ++k) d[i][k] = f.relax(d[i][k]);
        }
    }
    size_t word = word_of(a.grid, at, a.grid.limbs.batch);
    for (u32 i = 0; i < 3; ++i) store2(a.d[i] + word, f.store(d[i][0]), f.store(d[i][1]));
}

KERNEL(tensor_sum_listed, ListArgs, ROW_THREADS, 4) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    if (p.is_short) {
        listed_terms<Fp64>(a, at, p);
    } else {
        listed_terms<U64>(a, at, p);
    }
}

KERNEL(tensor_sum_rows, SumArgs, ROW_THREADS, 8) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    if (p.is_short) {
        sum_terms<Fp64>(a, at, p);
    } else {
        sum_terms<U64>(a, at, p);
    }
}

// The words of some digits that a thread multiplies, on the way together.
constexpr u32 TOGETHER = 2;
template <class Pair>
struct DigitWords {
    ulonglong2 x[TOGETHER];
    typename Pair::Raw b[TOGETHER], a[TOGETHER];
};

// What a thread of these kernels reads, beginning with what is added P times.
template <class Pair, bool OF_PAIRS>
struct ProductWords {
    const ProductArgs& a;
    size_t word;
    bool chain;
    u32 own; // digit, if its limbs are elsewhere
    Pair key;
    Multiples<1, OF_PAIRS> multiples;

    HE_D ProductWords(const ProductArgs& a, const Place& at)
        : a(a), word(word_of(a.grid, at, a.grid.limbs.batch)), chain(at.limb < a.grid.limbs.split), own(a.count),
          key(a.key + key_limb_of(a, at.limb) * a.key_layout.row_words, at.k) {
        if (!chain) return;
        if (own_words() != nullptr) own = a.digit_of[at.limb];
        multiples.read(a, [&](u32) { return word; });
    }
    HE_D const u64* own_words() const { return OF_PAIRS ? a.left[1] : a.own; }
    // Of the digits from `first` on.
    HE_D DigitWords<Pair> read(u32 first) const {
        DigitWords<Pair> words;
#pragma unroll
        for (u32 i = 0; i < TOGETHER; ++i) {
            u32 j = first + i;
            if (j >= a.count) break;
            words.x[i] = load2((j == own ? own_words() : a.digits + j * a.digit_words) + word);
            words.b[i] = key.read(2 * j * a.key_words);
            words.a[i] = key.read((2 * j + 1) * a.key_words);
        }
        return words;
    }
};

// `digits` are the first of them, which have been read.
template <class A, class S, class Pair, bool OF_PAIRS>
HE_D void key_product(const ProductArgs& a, const Place& at, const Prime& p, const ProductWords<Pair, OF_PAIRS>& words, DigitWords<Pair> digits) {
    A f(p);
    S sums{}; // of the two words
    size_t word = words.word;
    auto add = [&](u32 part, const typename A::Value (&x)[2], ulonglong2 factor) {
        sums.add(f, part, 0, x[0], factor.x);
        sums.add(f, part, 1, x[1], factor.y);
    };
    static_assert(S::MOST % TOGETHER == 0, "reductions follow whole steps");
    for (u32 first = 0;;) {
#pragma unroll
        for (u32 i = 0; i < TOGETHER; ++i) {
            if (first + i >= a.count) break;
            typename A::Value digit[2] = {f.load(digits.x[i].x), f.load(digits.x[i].y)};
            if (OF_PAIRS && first + i == words.own) {
                typename A::Value multiplier[2];
                load_pair(f, a.right[1] + word, multiplier);
#pragma unroll
                for (u32 k = 0; k < 2; ++k) digit[k] = Terms<A>::mul(f, p, digit[k], multiplier[k]);
            }
            add(0, digit, words.key.unpack(digits.b[i]));
            add(1, digit, words.key.unpack(digits.a[i]));
        }
        first += TOGETHER;
        if (first % S::MOST == 0) sums.relax(f, p);
        if (first >= a.count) break;
        digits = words.read(first);
    }
    if (words.chain) words.multiples.add(a, f, p, at.limb, sums);
#pragma unroll
    for (u32 part = 0; part < 2; ++part) {
        store2(a.sums[part] + word, sums.residue(f, p, part, 0), sums.residue(f, p, part, 1));
    }
}

// Of keys that are not packed.
template <bool OF_PAIRS>
HE_D void key_product_flat(const ProductArgs& a) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    ProductWords<FlatPair, OF_PAIRS> words(a, at);
    DigitWords<FlatPair> digits = words.read(0);
    __syncwarp(); // they are on the way before the prime is waited for
    if (p.is_short) {
        key_product<Fp64, FloatSums<2>, FlatPair, OF_PAIRS>(a, at, p, words, digits);
    } else {
        key_product<U64, WordSums<2>, FlatPair, OF_PAIRS>(a, at, p, words, digits);
    }
}

// Of keys that are packed modulo all short primes.
template <bool OF_PAIRS>
HE_D void key_product_packed(const ProductArgs& a) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    if (a.key_layout.is_packed(key_limb_of(a, at.limb))) {
        ProductWords<PackedPair, OF_PAIRS> words(a, at);
        key_product<Fp64, FloatSums<2>, PackedPair, OF_PAIRS>(a, at, p, words, words.read(0));
    } else {
        ProductWords<FlatPair, OF_PAIRS> words(a, at);
        key_product<U64, WordSums<2>, FlatPair, OF_PAIRS>(a, at, p, words, words.read(0));
    }
}

KERNEL(key_product_rows, ProductArgs, ROW_THREADS, 6) { key_product_flat<false>(a); }
KERNEL(key_product_pairs, ProductArgs, ROW_THREADS, 5) { key_product_flat<true>(a); }
KERNEL(key_product_packed_rows, ProductArgs, ROW_THREADS, 6) { key_product_packed<false>(a); }
KERNEL(key_product_packed_pairs, ProductArgs, ROW_THREADS, 5) { key_product_packed<true>(a); }

// Whole rows of a polynomial to or from their place in a key, four residues a thread; mirrored by `key::PackArgs`.
struct PackArgs {
    u64* words;
    u64* key;
    KeyLayout layout;
    u64 fours;
    u32 log_n, unused;
};

// The four residues of a thread: their limb, its row in the key, and which of it they are.
struct Four {
    u32 limb, k;
    u64* row;
    u64* words;
};
template <class F>
HE_D void with_four(const PackArgs& a, F f) {
    u64 four = (u64)blockIdx.x * ROW_THREADS + threadIdx.x;
    if (four >= a.fours) return;
    u32 limb = (u32)(4 * four >> a.log_n);
    f(Four{limb, (u32)(4 * four) & ((1u << a.log_n) - 1), a.key + limb * a.layout.row_words, a.words + 4 * four});
}

HE_D void copy_four(u64* to, const u64* from) {
#pragma unroll
    for (u32 i = 0; i < 4; i += 2) {
        ulonglong2 pair = load2(from + i);
        store2(to + i, pair.x, pair.y);
    }
}

KERNEL(pack_key, PackArgs, ROW_THREADS, 1) {
    with_four(a, [&](const Four& at) {
        if (!a.layout.is_packed(at.limb)) return copy_four(at.row + at.k, at.words);
        ulonglong2 x = load2(at.words), y = load2(at.words + 2);
        u64 h[4] = {x.x >> 32, x.y >> 32, y.x >> 32, y.y >> 32};
        u64* tile = at.row + (size_t)(at.k / KEY_TILE) * KEY_TILE_WORDS;
        u32 k = at.k % KEY_TILE / 4;
        store2(tile + 2 * k, (x.x & 0xffffffff) | x.y << 32, (y.x & 0xffffffff) | y.y << 32);
        u64 middle = 0, high = 0;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            middle |= (h[i] & 0xffff) << 16 * i;
            high |= (h[i] >> 16 & 3) << 2 * i;
        }
        tile[KEY_MIDDLE + k] = middle;
        reinterpret_cast<unsigned char*>(tile + KEY_HIGH)[k] = (unsigned char)high;
    });
}

KERNEL(unpack_key, PackArgs, ROW_THREADS, 1) {
    with_four(a, [&](const Four& at) {
        if (!a.layout.is_packed(at.limb)) return copy_four(at.words, at.row + at.k);
#pragma unroll
        for (u32 i = 0; i < 4; i += 2) {
            ulonglong2 pair = PackedPair(at.row, at.k + i).load(0);
            store2(at.words + i, pair.x, pair.y);
        }
    });
}

KERNEL(convert_rows, ConvertArgs, ROW_THREADS, 4) { convert_few(a, blockIdx.z); }

// From more short primes, at most COUNT, of which those that are missing count as zeros: one coefficient a thread, constants of MANY_TARGETS
// targets at a time in shared memory.
constexpr u32 MANY_TARGETS = 16;

template <u32 COUNT>
HE_D bool convert_many(const ConvertArgs& a, const Basis& basis, const u64* src, u64* dst, size_t stride, bool inside) {
    SHARED(PartsRow<COUNT>, rows);
    u32 sources = (u32)basis.count;
    Split y[COUNT];
    double overflow = 0.0;
#pragma unroll
    for (u32 i = 0; i < COUNT; ++i) {
        u64 word = inside && i < sources ? src[i * stride] : 0;
        y[i] = split(word);
        if (i < sources) overflow = __dadd_rn(overflow, __dmul_rn(__ull2double_rn(word), basis.reciprocal[i]));
    }
    overflow = rint(overflow);
    bool left = false;
    for (u32 start = 0; start < a.targets; start += MANY_TARGETS) {
        u32 targets = min(MANY_TARGETS, a.targets - start);
        __syncthreads(); // the last targets' constants have been read
        for (u32 i = threadIdx.x; i < targets * (COUNT + 1); i += ROW_THREADS) {
            u32 row = i / (COUNT + 1), k = i - row * (COUNT + 1), j = start + row;
            if (k < COUNT) {
                rows[row].hat[k] = k < sources ? basis.hat_parts[(size_t)j * sources + k] : make_double2(0.0, 0.0);
            } else {
                const Prime& p = a.grid.primes[prime_of(a.grid.limbs, j)];
                rows[row].minus = basis.minus_parts[j];
                rows[row].prime = make_double2(p.q_double, p.is_short ? p.q_inverse : 0.0);
                rows[row].shifts = make_double2(p.shift_25, p.shift_50);
            }
        }
        __syncthreads();
        for (u32 row = 0; row < targets; ++row) {
            u32 j = start + row;
            if (a.skip_own && j < a.grid.limbs.split && j >= basis.own_first && j < basis.own_first + basis.own_count) continue;
            double2 minus = rows[row].minus, prime = rows[row].prime, shifts = rows[row].shifts;
            if (prime.y == 0.0) {
                left = true;
                continue;
            }
            Fp64 arithmetic(prime.x, prime.y);
            SplitSum sum{0.0, overflow * minus.x, overflow * minus.y};
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) {
                if (k != 0 && k % SPLIT_TERMS == 0) sum.carry(arithmetic);
                sum.add(y[k], rows[row].hat[k]);
            }
            if (inside) dst[j * stride] = sum.residue(arithmetic, shifts);
        }
    }
    return left;
}

template <u32 COUNT>
HE_D void convert_many_rows(const ConvertArgs& a) {
    u32 log_chunks = a.grid.log_chunks + 1, entry = blockIdx.x >> log_chunks;
    u32 k = (blockIdx.x & ((1u << log_chunks) - 1)) * ROW_THREADS + threadIdx.x;
    bool inside = k < (1u << a.grid.log_n);
    const Basis& basis = a.bases[blockIdx.z >> 1][blockIdx.y];
    size_t stride = (size_t)a.grid.limbs.batch << a.grid.log_n, at = ((size_t)entry << a.grid.log_n) + k;
    const u64* src = a.src[blockIdx.z] + basis.first * stride + at;
    u64* dst = a.dst[blockIdx.z] + blockIdx.y * a.dst_digit + at;
    bool left = convert_many<COUNT>(a, basis, src, dst, stride, inside);
    if (left && inside) convert_words(a, basis, src, dst, stride, true);
}

// For as many sources as their names say, at most: registers and blocks go by the largest.
KERNEL(convert_16_rows, ConvertArgs, ROW_THREADS, 4) { convert_many_rows<16>(a); }
KERNEL(convert_24_rows, ConvertArgs, ROW_THREADS, 2) { convert_many_rows<24>(a); }
KERNEL(convert_40_rows, ConvertArgs, ROW_THREADS, 2) { convert_many_rows<40>(a); }

// y_i = x_i (D / d_i)^-1 of rows that are coefficients already; mirrored by `key_switch::LiftArgs`.
struct LiftArgs {
    Grid grid;
    const u64* src;
    u64* dst;
    const Factor* factors; // of each prime of the ring
};

KERNEL(lift_rows, LiftArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    u32 prime = prime_of(a.grid.limbs, at.limb);
    u64 q = a.grid.primes[prime].q;
    Factor f = a.factors[prime];
    size_t word = word_of(a.grid, at, a.grid.limbs.batch);
    ulonglong2 v = load2(a.src + word);
    store2(a.dst + word, mul_factor(v.x, f, q), mul_factor(v.y, f, q));
}
