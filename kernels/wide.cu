// Polynomials modulo powers of two: sums, multiples, shifts, automorphisms, samples; to residues and back; what products and key
// switches do between the transforms.
#include "include/chacha20.cuh"
#include "include/fft.cuh"
#include "include/key.cuh"
#include "include/wide.cuh"

// dst <- a + b, or with all bits of b flipped and a one carried in, a - b; no a stands for zero. Mirrored by `wide::SumArgs`.
struct WideSumArgs {
    WideShape shape;
    const u64* a;
    const u64* b;
    u64* dst;
    u64 flip;
    u32 b_batch, unused;
};

KERNEL(wide_sum, WideSumArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.shape, i)) return;
    const u64* b = a.b + place_in(a.shape, a.b_batch, i);
    size_t plane = plane_of(a.shape), b_plane = (size_t)a.b_batch << a.shape.log_n;
    u64 carry = a.flip & 1;
    for (u32 first = 0; first < a.shape.words; first += WIDE_GROUP) {
        u64 x[WIDE_GROUP], y[WIDE_GROUP];
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            u32 w = min(first + r, a.shape.words - 1);
            x[r] = a.a == nullptr ? 0 : a.a[w * plane + i];
            y[r] = b[w * b_plane];
        }
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            u32 w = first + r;
            if (w >= a.shape.words) break;
            u64 sum = add_carry(x[r], y[r] ^ a.flip, carry);
            a.dst[w * plane + i] = w + 1 == a.shape.words ? sum & a.shape.top_mask : sum;
        }
    }
}

// dst <- 2^(64 skip) factor src, to another place; mirrored by `wide::ScaleArgs`.
struct WideScaleArgs {
    WideShape shape;
    const u64* src;
    u64* dst;
    u32 skip, count; // words
    u64 factor[128];
};

KERNEL(wide_scale, WideScaleArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.shape, i)) return;
    size_t plane = plane_of(a.shape);
    // A column of up to 128 products of words, and what the one before carries into it.
    u64 low = 0, middle = 0, high = 0;
    for (u32 w = 0; w < a.shape.words; ++w) {
        for (u32 j = 0; w >= a.skip && j < a.count && j <= w - a.skip; ++j) {
            u128 product = (u128)a.src[(w - a.skip - j) * plane + i] * a.factor[j];
            u64 carry = 0;
            low = add_carry(low, (u64)product, carry);
            middle = add_carry(middle, (u64)(product >> 64), carry);
            high += carry;
        }
        a.dst[w * plane + i] = w + 1 == a.shape.words ? low & a.shape.top_mask : low;
        low = middle;
        middle = high;
        high = 0;
    }
}

// dst <- round(src / 2^shift), halves up; mirrored by `wide::ShiftArgs`.
struct WideShiftArgs {
    WideShape to;
    const u64* src;
    u64* dst;
    u32 shift, words; // of the source
};

KERNEL(wide_shift_round, WideShiftArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.to, i)) return;
    size_t plane = plane_of(a.to);
    RoundedStore out(a.to, a.shift, a.dst + i, nullptr);
    u32 end = min(a.words, out.shift.skip + a.to.words + 1);
    for (u32 first = a.shift == 0 ? 0 : out.half / 64; first < end; first += WIDE_GROUP) {
        u64 x[WIDE_GROUP];
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) x[r] = a.src[min(first + r, end - 1) * plane + i];
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            if (first + r < end) out.take(first + r, x[r]);
        }
    }
    out.finish(end);
}

// dst <- src(X^g); mirrored by `wide::AutomorphismArgs`.
struct WideAutomorphismArgs {
    WideShape shape;
    const u64* src;
    u64* dst;
    u32 src_batch, inverse; // of g
};

KERNEL(wide_automorphism, WideAutomorphismArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.shape, i)) return;
    // Coefficient m comes from m / g, with the sign of X^N = -1.
    u32 n = 1u << a.shape.log_n, from = (i & (n - 1)) * a.inverse & (2 * n - 1);
    u64 flip = 0 - (u64)(from >> a.shape.log_n);
    const u64* src = a.src + (a.src_batch == 1 ? 0 : i & ~(n - 1)) + (from & (n - 1));
    size_t plane = plane_of(a.shape), src_plane = (size_t)a.src_batch << a.shape.log_n;
    u64 carry = flip & 1;
    for (u32 first = 0; first < a.shape.words; first += WIDE_GROUP) {
        u64 x[WIDE_GROUP];
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) x[r] = src[min(first + r, a.shape.words - 1) * src_plane];
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            u32 w = first + r;
            if (w >= a.shape.words) break;
            u64 word = add_carry(x[r] ^ flip, 0, carry);
            a.dst[w * plane + i] = w + 1 == a.shape.words ? word & a.shape.top_mask : word;
        }
    }
}

// --- small and random numbers ---

// A word with its sign in all others.
HE_D void store_signed(const WideShape& s, u64* dst, i64 x) {
    size_t plane = plane_of(s);
    u64 sign = (u64)(x >> 63);
    for (u32 w = 0; w < s.words; ++w) {
        u64 word = w == 0 ? (u64)x : sign;
        dst[w * plane] = w + 1 == s.words ? word & s.top_mask : word;
    }
}

// Mirrored by `wide::SignedArgs`.
struct WideSignedArgs {
    WideShape shape;
    const u64* src;
    u64* dst;
};

KERNEL(wide_signed, WideSignedArgs, WIDE_THREADS, 1) {
    u32 i;
    if (coefficient_of(a.shape, i)) store_signed(a.shape, a.dst + i, (i64)a.src[i]);
}

constexpr u32 SAMPLE_THREADS = 128;

// Mirrored by `wide::SampleArgs`. A thread makes a block of a stream, eight elements. `kind` 2: ternary, 3: errors, 4: uniform (blockIdx.y is
// the word).
struct WideSampleArgs {
    WideShape shape;
    u64* dst;
    u32 kind, index;
    u32 seed[8];
};

KERNEL(wide_sample_small, WideSampleArgs, SAMPLE_THREADS, 1) {
    u32 block = blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    if ((size_t)block * 8 >= plane_of(a.shape)) return;
    u64 words[8];
    chacha20(a.seed, stream_of(a.kind, 0, a.index), block, words);
    i64 small[8];
    small_coefficients(a.kind, words, small);
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
        size_t at = (size_t)block * 8 + i;
        if (at < plane_of(a.shape)) store_signed(a.shape, a.dst + at, small[i]);
    }
}

KERNEL(wide_sample_uniform, WideSampleArgs, SAMPLE_THREADS, 1) {
    u32 block = blockIdx.x * SAMPLE_THREADS + threadIdx.x, w = blockIdx.y;
    size_t plane = plane_of(a.shape);
    if ((size_t)block * 8 >= plane) return;
    u64 words[8], mask = w + 1 == a.shape.words ? a.shape.top_mask : ~0ull;
    chacha20(a.seed, stream_of(a.kind, w, a.index), block, words);
    u64* dst = a.dst + w * plane + (size_t)block * 8;
#pragma unroll
    for (u32 i = 0; i < 8; i += 2) {
        if ((size_t)block * 8 + i < plane) store2(dst + i, words[i] & mask, words[i + 1] & mask);
    }
}

// --- residues ---

// Centred numbers modulo primes. The rows of a limb are polynomials 0 and 1 with batch[0] entries each, then 2 and 3 with batch[1]; or
// the digits of polynomial 0. With H = sum_j 2^(j w + w_j - 1), w_j the bits of digit j, digit j is (c + H) >> (j w) modulo 2^(w_j), less
// 2^(w_j - 1). Mirrored by `wide::ResiduesArgs`.
struct WideResiduesArgs {
    const u64* src[4];
    u64* dst;
    const Prime* primes;
    const uint2* radix; // parts of 2^(64 w) modulo limb i at w stride + i
    Limbs limbs;      // with all rows as their batch
    u32 batch[2];
    u32 log_n, bits, digit_bits, digits, limb_count, stride;
    u64 offset[128]; // H
};

// Sums of words times powers of 2^64 modulo the limbs of a block.
struct ResidueSums {
    PartSum sum[WIDE_GROUP];

    HE_D void add(const uint2* radix, u64 word) {
        const uint4* pairs = reinterpret_cast<const uint4*>(radix);
        uint4 first = pairs[0], second = pairs[1];
        sum[0].add(first.x, first.y, word);
        sum[1].add(first.z, first.w, word);
        sum[2].add(second.x, second.y, word);
        sum[3].add(second.z, second.w, word);
    }
};

// blockIdx.x: coefficients of all rows, blockIdx.y: four limbs.
KERNEL(wide_residues, WideResiduesArgs, WIDE_THREADS, 1) {
    u32 i = blockIdx.x * WIDE_THREADS + threadIdx.x, row = i >> a.log_n, first_limb = blockIdx.y * WIDE_GROUP;
    if (row >= a.limbs.batch) return;
    u32 number, entry, batch, digit = 0;
    if (a.digits > 1) {
        digit = row / a.batch[0];
        number = 0;
        batch = a.batch[0];
        entry = row - digit * batch;
    } else {
        u32 pair = row < 2 * a.batch[0] ? 0 : 1;
        batch = a.batch[pair];
        u32 within = row - pair * 2 * a.batch[0];
        number = within / batch;
        entry = within - number * batch;
        number += 2 * pair;
    }
    size_t plane = (size_t)batch << a.log_n;
    const u64* src = a.src[number] + ((size_t)entry << a.log_n) + (i & ((1u << a.log_n) - 1));
    u32 start = digit * a.digit_bits, width = min(a.digit_bits, a.bits - start);
    u32 top = (width - 1) / 64, last = (start + width - 1) / 64;
    u64 mask = ~0ull >> (63 - (width - 1) % 64);
    Shift shift(start);
    ResidueSums sums{};
    u64 carry = 0, word;
#pragma unroll 4
    for (u32 w = 0; w <= last; ++w) {
        u64 x = add_carry(src[w * plane], a.offset[w], carry);
        if (shift.take(w, x, word)) {
            u32 d = w - 1 - shift.skip;
            sums.add(a.radix + d * a.stride + first_limb, d == top ? word & mask : word);
        }
    }
    shift.take(last + 1, 0, word);
    if (last - shift.skip == top) sums.add(a.radix + top * a.stride + first_limb, word & mask);
#pragma unroll
    for (u32 r = 0; r < WIDE_GROUP; ++r) {
        u32 limb = first_limb + r;
        if (limb >= a.limb_count) break;
        const Prime p = a.primes[prime_of(a.limbs, limb)];
        uint2 parts = a.radix[top * a.stride + limb];
        u64 minus = p.q - ((u64)parts.y << PART_BITS | parts.x);
        sums.sum[r].add(low_part(minus), high_part(minus), 1ull << ((width - 1) % 64));
        Wide sum = sums.sum[r].total();
        a.dst[((size_t)limb * a.limbs.batch << a.log_n) + i] = reduce_wide(sum.low, sum.high, p);
    }
}

// From y_i = x_i (Q/q_i)^-1 mod q_i to x = sum_i y_i Q/q_i - v Q with v = round(sum_i y_i / q_i), and round(x / 2^shift) of it plus an
// addend. The rows of a limb are `parts` polynomials of one batch; mirrored by `wide::ComposeArgs`.
struct WideComposeArgs {
    WideShape to;
    const u64* y;
    const Factor* scale;      // of each limb, where y holds x; or none
    const Prime* primes;
    const double* reciprocal; // 1 / q_i
    const u64* hat;           // four words of Q/q_i for each i, then the next four
    const u64* minus_product; // -Q
    Limbs limbs;              // with all rows as their batch
    u64* dst[3];
    const u64* addend[3];
    u32 count, words, shift, unused; // primes; words to compose
};

// blockIdx.y: the polynomial.
KERNEL(wide_compose, WideComposeArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.to, i)) return;
    u32 part = blockIdx.y;
    size_t stride = (size_t)a.limbs.batch << a.to.log_n;
    const u64* y = a.y + part * plane_of(a.to) + i;
    const u64* addend = a.addend[part] == nullptr ? nullptr : a.addend[part] + i;
    RoundedStore out(a.to, a.shift, a.dst[part] + i, addend);
    double overflow = 0.0;
    u64 multiple = 0, carry = 0;
    const u64* hat = a.hat;
    for (u32 first = 0; first < a.words; first += WIDE_GROUP) {
        // At most 128 products below 2^114 a word, one below 2^71, a carry below 2^58.
        PartSum sum[WIDE_GROUP] = {};
#pragma unroll 4
        for (u32 l = 0; l < a.count; ++l, hat += WIDE_GROUP) {
            u64 x = y[l * stride];
            if (a.scale != nullptr) x = mul_factor(x, a.scale[l], a.primes[prime_of(a.limbs, l)].q);
            if (first == 0) overflow = __dadd_rn(overflow, __dmul_rn(__ull2double_rn(x), a.reciprocal[l]));
            ulonglong2 low = load2(hat), high = load2(hat + 2);
            u32 x_low = low_part(x), x_high = high_part(x);
            sum[0].add(x_low, x_high, low.x);
            sum[1].add(x_low, x_high, low.y);
            sum[2].add(x_low, x_high, high.x);
            sum[3].add(x_low, x_high, high.y);
        }
        if (first == 0) multiple = __double2ull_rn(overflow);
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            Wide word = sum[r].total();
            multiply_add(word, multiple, a.minus_product[first + r]);
            multiply_add(word, carry, 1);
            carry = word.high;
            if (first + r < a.words) out.take(first + r, word.low);
        }
    }
    out.finish(a.words);
}

// --- products ---

// (a0 b0, a0 b1 + a1 b0, a1 b1): the rows of a limb of `values` are a0, a1 and, from `second` on, b0, b1; those of `dst` are the three
// results. Mirrored by `wide::TensorArgs`.
struct WideTensorArgs {
    Grid grid; // of one result
    const u64* values;
    u64* dst;
    u32 width, second, b_batch, unused; // rows of a limb of `values`
};

KERNEL(wide_tensor, WideTensorArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    u32 batch = a.grid.limbs.batch, log_n = a.grid.log_n, b_entry = a.b_batch == 1 ? 0 : at.entry;
    const u64* limb = a.values + ((size_t)at.limb * a.width << log_n) + at.k;
    auto value = [&](u32 row) { return load2(limb + ((size_t)row << log_n)); };
    ulonglong2 a0 = value(at.entry), a1 = value(batch + at.entry);
    ulonglong2 b0 = value(a.second + b_entry), b1 = value(a.second + a.b_batch + b_entry);
    u64* dst = a.dst + (((size_t)at.limb * 3 * batch + at.entry) << log_n) + at.k;
    size_t part = (size_t)batch << log_n;
    store2(dst, mul_mod(a0.x, b0.x, p), mul_mod(a0.y, b0.y, p));
    Wide x{0, 0}, y{0, 0};
    multiply_add(x, a0.x, b1.x);
    multiply_add(x, a1.x, b0.x);
    multiply_add(y, a0.y, b1.y);
    multiply_add(y, a1.y, b0.y);
    store2(dst + part, reduce_wide(x.low, x.high, p), reduce_wide(y.low, y.high, p));
    store2(dst + 2 * part, mul_mod(a1.x, b1.x, p), mul_mod(a1.y, b1.y, p));
}

// sum_j d_j key_j for both parts of a key: the rows of a limb of `digits` are the digits, those of `dst` the two sums. Mirrored by
// `wide::KeyArgs`.
struct WideKeyArgs {
    Grid grid; // of one sum
    const u64* digits;
    const u64* key;
    u64* dst;
    size_t key_words; // of one part of one digit
    KeyLayout key_layout;
    u32 count, unused;
};

template <class Pair>
HE_D void wide_key_sums(const WideKeyArgs& a, const Place& at) {
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    u32 batch = a.grid.limbs.batch, log_n = a.grid.log_n;
    const u64* digit = a.digits + (((size_t)at.limb * a.count * batch + at.entry) << log_n) + at.k;
    Pair key(a.key + at.limb * a.key_layout.row_words, at.k);
    size_t part = (size_t)batch << log_n;
    // At most 64 products below 2^100.
    Wide sums[4] = {};
    for (u32 j = 0; j < a.count; ++j) {
        ulonglong2 d = load2(digit + j * part), b = key.load(2 * j * a.key_words), c = key.load((2 * j + 1) * a.key_words);
        multiply_add(sums[0], d.x, b.x);
        multiply_add(sums[1], d.y, b.y);
        multiply_add(sums[2], d.x, c.x);
        multiply_add(sums[3], d.y, c.y);
    }
    u64* dst = a.dst + (((size_t)at.limb * 2 * batch + at.entry) << log_n) + at.k;
    store2(dst, reduce_wide(sums[0].low, sums[0].high, p), reduce_wide(sums[1].low, sums[1].high, p));
    store2(dst + part, reduce_wide(sums[2].low, sums[2].high, p), reduce_wide(sums[3].low, sums[3].high, p));
}

KERNEL(wide_key_product, WideKeyArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    if (a.key_layout.is_packed(at.limb)) {
        wide_key_sums<PackedPair>(a, at);
    } else {
        wide_key_sums<FlatPair>(a, at);
    }
}

// --- vectors of complex numbers ---

// Between the special FFT and coefficients: c_(k gap) and c_(N/2 + k gap) of z_k. Mirrored by `wide::SlotArgs`. A thread has one of the two.
struct WideSlotArgs {
    WideShape shape;
    const u64* src; // words, or the transformed vectors in reversed order
    u64* dst;       // likewise, in natural order
    u64* greatest;  // of each block: the most bits of a coefficient
    double factor;
    u32 log_slots, log_scale;
};

// The thread's vector and coefficient.
struct SlotPlace {
    u32 entry, slot, part;
    bool inside;
    size_t word; // in a plane
};

HE_D SlotPlace slot_place(const WideSlotArgs& a) {
    u32 i = blockIdx.x * WIDE_THREADS + threadIdx.x, slots = 1u << a.log_slots;
    u32 entry = i >> (a.log_slots + 1), slot = i & (slots - 1), part = i >> a.log_slots & 1;
    u32 half = 1u << (a.shape.log_n - 1), log_gap = a.shape.log_n - 1 - a.log_slots;
    return SlotPlace{entry, slot, part, entry < a.shape.batch, ((size_t)entry << a.shape.log_n) + part * half + (slot << log_gap)};
}

// Bits, sign included, that an infinite coefficient is said to need.
constexpr u64 WIDE_INFINITE = 1u << 20;

// round(z factor 2^log_scale), ties to even, exactly.
KERNEL(wide_round_slots, WideSlotArgs, WIDE_THREADS, 1) {
    SHARED(u64, shared);
    SlotPlace at = slot_place(a);
    u64 needed = 0;
    if (at.inside) {
        const double2* src = reinterpret_cast<const double2*>(a.src) + ((size_t)at.entry << a.log_slots);
        double2 z = src[fft_reverse(at.slot, a.log_slots)];
        u64 bits = (u64)__double_as_longlong(__dmul_rn(at.part == 0 ? z.x : z.y, a.factor));
        u32 field = (u32)(bits >> 52) & 0x7ff;
        // Magnitude mantissa 2^power.
        u64 mantissa = (bits & 0x000fffffffffffffull) | (u64)(field != 0) << 52;
        int power = (int)max(field, 1u) - 1075 + (int)a.log_scale;
        // Below 2^0: the quotient, half of it, and whether anything is left.
        u32 cut = (u32)min(max(-power, 0), 63);
        u64 quotient = mantissa >> cut, rest = mantissa & ((1ull << cut) - 1), half = cut == 0 ? 0 : 1ull << (cut - 1);
        mantissa = quotient + (cut != 0 && (rest > half || (rest == half && (quotient & 1) != 0)));
        u32 shift = (u32)max(power, 0), word = shift / 64, bit = shift % 64;
        u64 low = mantissa << bit, high = mantissa >> 1 >> (63 - bit), negative = 0 - (bits >> 63);
        needed = field == 0x7ff ? WIDE_INFINITE : mantissa == 0 ? 1 : 65 - __clzll((i64)mantissa) + shift;
        u64 carry = negative & 1;
        size_t plane = plane_of(a.shape);
        for (u32 w = 0; w < a.shape.words; ++w) {
            u64 magnitude = w == word ? low : w == word + 1 ? high : 0;
            u64 x = add_carry(magnitude ^ negative, 0, carry);
            a.dst[w * plane + at.word] = w + 1 == a.shape.words ? x & a.shape.top_mask : x;
        }
    }
    needed = fft_greatest(needed, shared);
    if (threadIdx.x == 0) a.greatest[blockIdx.x] = needed;
}

HE_D double power_of_two(int e) { return __longlong_as_double((i64)(e + 1023) << 52); }

// Centred numbers times 2^-log_scale in float64, words added from the least on.
KERNEL(wide_scale_slots, WideSlotArgs, WIDE_THREADS, 1) {
    SlotPlace at = slot_place(a);
    if (!at.inside) return;
    const u64* src = a.src + at.word;
    size_t plane = plane_of(a.shape);
    u32 top = a.shape.words - 1;
    u64 negative = 0 - (src[top * plane] >> ((a.shape.bits - 1) % 64) & 1), carry = negative & 1;
    double value = 0.0;
#pragma unroll 4
    for (u32 w = 0; w <= top; ++w) {
        u64 mask = w == top ? a.shape.top_mask : ~0ull;
        u64 magnitude = add_carry((src[w * plane] ^ negative) & mask, 0, carry);
        // Two powers, for either may lie outside of float64; the first product is exact.
        int e = (int)(64 * w) - (int)a.log_scale;
        double term = __dmul_rn(__dmul_rn(__ull2double_rn(magnitude), power_of_two(e / 2)), power_of_two(e - e / 2));
        value = __dadd_rn(value, term);
    }
    double* dst = reinterpret_cast<double*>(a.dst) + ((size_t)at.entry << (a.log_slots + 1)) + 2 * at.slot + at.part;
    *dst = __longlong_as_double((i64)((u64)__double_as_longlong(value) ^ (negative & 1) << 63));
}
