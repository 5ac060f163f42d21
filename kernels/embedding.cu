// Slots to plaintexts and back (he_core::backend::encode_slots, decode_slots), but for the transforms of the ring, and the greatest
// values of messages (he_core::backend::greatest_squares).
#include "include/fft.cuh"

// Mirrored by `embedding::FftArgs`. blockIdx.x: vector and tile; blockIdx.y of the last inverse kernel: a share of the limbs.
struct FftArgs {
    FftShape shape;
    const double2* src;
    double2* dst;
    const double2* roots; // that of butterfly distance h and position j at h + j
    u32 given;            // values of a vector in src; zeros follow
    u32 reversed;         // whether src is in natural order and the tile in reversed order
    // Last inverse kernel: coefficients round(z factor scale) modulo the limbs, and the greatest magnitude of each block.
    Limbs limbs;
    const Prime* primes;
    u64* words;
    u64* greatest;
    double factor, scale;
    u32 log_n, limb_count;
};

struct FftTile {
    u32 vector, number;
};

HE_D FftTile fft_tile_of(const FftShape& f) {
    u32 log_tiles = f.log_slots - f.log_tile;
    return FftTile{blockIdx.x >> log_tiles, blockIdx.x & ((1u << log_tiles) - 1)};
}

// Loads a tile of the points that `read` gives for their indices.
template <class Read>
HE_D void fft_fill(const FftArgs& a, const FftTile& t, double2* shared, Read read) {
    const FftShape& f = a.shape;
    u32 count = 1u << f.log_tile;
    // Four loads are under way at once.
    for (u32 first = threadIdx.x; first < count; first += 4 * blockDim.x) {
        double2 x[4];
#pragma unroll
        for (u32 r = 0; r < 4; ++r) {
            u32 m = first + r * blockDim.x;
            u32 i = a.reversed ? fft_reversed_index(f, t.number, m) : fft_index(f, f.log_low, t.number, m);
            x[r] = m < count && i < a.given ? read(i) : make_double2(0.0, 0.0);
        }
#pragma unroll
        for (u32 r = 0; r < 4; ++r) {
            u32 m = first + r * blockDim.x;
            if (m < count) shared[fft_place(a.reversed ? fft_reverse(m, f.log_tile) : m)] = x[r];
        }
    }
}

HE_D void fft_load(const FftArgs& a, const FftTile& t, double2* shared) {
    const double2* src = a.src + (size_t)t.vector * a.given;
    fft_fill(a, t, shared, [=](u32 i) { return src[i]; });
}

HE_D void fft_store(const FftArgs& a, const FftTile& t, const double2* shared) {
    const FftShape& f = a.shape;
    double2* dst = a.dst + ((size_t)t.vector << f.log_slots);
    for (u32 m = threadIdx.x; m < (1u << f.log_tile); m += blockDim.x) {
        dst[fft_index(f, f.log_low, t.number, m)] = shared[fft_place(m)];
    }
}

KERNEL(fft_forward, FftArgs, FFT_THREADS, 1) {
    SHARED(double2, shared);
    FftTile t = fft_tile_of(a.shape);
    fft_load(a, t, shared);
    fft_stages<false>(a.shape, shared, a.roots, t.number);
    fft_store(a, t, shared);
}

KERNEL(fft_inverse, FftArgs, FFT_THREADS, 1) {
    SHARED(double2, shared);
    FftTile t = fft_tile_of(a.shape);
    fft_load(a, t, shared);
    fft_stages<true>(a.shape, shared, a.roots, t.number);
    fft_store(a, t, shared);
}

KERNEL(fft_inverse_round, FftArgs, FFT_THREADS, 1) {
    SHARED(double2, shared);
    const FftShape& f = a.shape;
    FftTile t = fft_tile_of(f);
    fft_load(a, t, shared);
    fft_stages<true>(f, shared, a.roots, t.number);
    u32 half = 1u << (a.log_n - 1), log_gap = a.log_n - 1 - f.log_slots;
    u64 greatest = 0;
    for (u32 m = threadIdx.x; m < (1u << f.log_tile); m += blockDim.x) {
        double2 z = shared[fft_place(fft_reverse(m, f.log_tile))];
        double re = __dmul_rn(__dmul_rn(z.x, a.factor), a.scale), im = __dmul_rn(__dmul_rn(z.y, a.factor), a.scale);
        // Magnitudes order as their bits do, and NaN comes behind infinity.
        u64 magnitude = ~0ull >> 1;
        greatest = max(greatest, max((u64)__double_as_longlong(re) & magnitude, (u64)__double_as_longlong(im) & magnitude));
        i64 low = __double2ll_rn(re), high = __double2ll_rn(im);
        u64* words = a.words + ((size_t)t.vector << a.log_n) + ((size_t)fft_reversed_index(f, t.number, m) << log_gap);
        for (u32 limb = blockIdx.y; limb < a.limb_count; limb += gridDim.y) {
            const Prime& p = a.primes[prime_of(a.limbs, limb)];
            u64* row = words + ((size_t)limb * a.limbs.batch << a.log_n);
            row[0] = reduce_signed_word(low, p);
            row[half] = reduce_signed_word(high, p);
        }
    }
    __syncthreads();
    greatest = fft_greatest(greatest, reinterpret_cast<u64*>(shared));
    if (threadIdx.x == 0 && blockIdx.y == 0) a.greatest[blockIdx.x] = greatest;
}

// Messages, whose coefficients k and N/2 + k are the parts of point k; mirrored by `greatest_squares::Args`.
struct MessageFftArgs {
    FftArgs fft;
    const u64* messages; // [vector][coefficient] in [0, t), or none: the points are those of `fft`
    u64* squares;        // the bits of the greatest |z|^2 of each vector
    u64 t, middle;       // middle = ceil(t / 2)
    u64 is_last;
};

HE_D double centred(const MessageFftArgs& a, u64 x) { return __ll2double_rn((i64)x - (x >= a.middle ? (i64)a.t : 0)); }

// The transform of messages, or one of its two kernels: the first stores its points and sets the squares to zero. The last leaves the
// greatest square of each vector, and zeros in place of the points that it was given.
KERNEL(fft_messages, MessageFftArgs, FFT_THREADS, 1) {
    SHARED(double2, shared);
    const FftShape& f = a.fft.shape;
    FftTile t = fft_tile_of(f);
    if (a.messages == nullptr) {
        fft_load(a.fft, t, shared);
    } else {
        u32 half = 1u << f.log_slots;
        const u64* message = a.messages + ((size_t)t.vector << (f.log_slots + 1));
        fft_fill(a.fft, t, shared, [&](u32 i) { return make_double2(centred(a, message[i]), centred(a, message[i + half])); });
    }
    fft_stages<false>(f, shared, a.fft.roots, t.number);
    if (!a.is_last) {
        fft_store(a.fft, t, shared);
        if (threadIdx.x == 0 && t.number == 0) a.squares[t.vector] = 0;
        return;
    }
    u64 greatest = 0;
    double2* given = a.messages == nullptr ? a.fft.dst + ((size_t)t.vector << f.log_slots) : nullptr;
    for (u32 m = threadIdx.x; m < (1u << f.log_tile); m += blockDim.x) {
        double2 z = shared[fft_place(m)];
        // Squares order as their bits do.
        greatest = max(greatest, (u64)__double_as_longlong(__dadd_rn(__dmul_rn(z.x, z.x), __dmul_rn(z.y, z.y))));
        if (given != nullptr) given[fft_index(f, f.log_low, t.number, m)] = make_double2(0.0, 0.0);
    }
    __syncthreads();
    greatest = fft_greatest(greatest, reinterpret_cast<u64*>(shared));
    if (threadIdx.x != 0) return;
    if (given == nullptr) {
        a.squares[t.vector] = greatest;
    } else {
        atomicMax(&a.squares[t.vector], greatest);
    }
}

// Mirrored by `embedding::ComposeArgs`. Coefficients k and N/2 + k a thread; blockIdx.y: the vector.
struct ComposeArgs {
    const u64* y; // x_i (Q/q_i)^-1 mod q_i, [limb][batch][coefficient]
    double2* dst;
    u64* outside;             // of each block: 0 if all its coefficients lie below 2^191
    const double* reciprocal; // 1 / q_i
    const u64* hat;           // Q/q_i modulo 2^192, three words each
    u64 minus_product[3];     // -Q modulo 2^192
    double factor;            // of the results
    size_t stride;            // words of a limb
    u32 log_n, log_gap, count, unused;
};

struct Composed {
    u64 words[3];
    double overflow;
};

HE_HD void compose_add(Composed& c, const u64* x, u64 y) {
    u64 carry = 0;
#pragma unroll
    for (u32 i = 0; i < 3; ++i) {
        u128 sum = (u128)x[i] * y + c.words[i] + carry;
        c.words[i] = (u64)sum;
        carry = (u64)(sum >> 64);
    }
}

// The number to float64; `outside` collects whether its sign is all that the top word holds.
HE_HD double compose_finish(Composed& c, const u64* minus_product, u64& outside) {
    compose_add(c, minus_product, __double2ull_rn(c.overflow));
    u64 negative = (u64)((i64)c.words[2] >> 63);
    outside |= c.words[2] ^ negative;
    u64 carry = negative & 1;
    u64 magnitude[3];
#pragma unroll
    for (u32 i = 0; i < 3; ++i) {
        magnitude[i] = (c.words[i] ^ negative) + carry;
        carry = magnitude[i] < carry;
    }
    double value = 0.0;
#pragma unroll
    for (u32 i = 3; i-- > 0;) value = __dadd_rn(__dmul_rn(value, 18446744073709551616.0), __ull2double_rn(magnitude[i]));
    return __longlong_as_double((i64)((u64)__double_as_longlong(value) | negative << 63));
}

KERNEL(compose_slots, ComposeArgs, FFT_THREADS, 1) {
    SHARED(u64, shared);
    u32 k = blockIdx.x * blockDim.x + threadIdx.x, half = 1u << (a.log_n - 1);
    const u64* y = a.y + ((size_t)blockIdx.y << a.log_n) + k;
    Composed low{{0, 0, 0}, 0.0}, high{{0, 0, 0}, 0.0};
#pragma unroll 4
    for (u32 i = 0; i < a.count; ++i) {
        const u64 hat[3] = {a.hat[3 * i], a.hat[3 * i + 1], a.hat[3 * i + 2]};
        double reciprocal = a.reciprocal[i];
        u64 y_low = y[i * a.stride], y_high = y[i * a.stride + half];
        low.overflow = __dadd_rn(low.overflow, __dmul_rn(__ull2double_rn(y_low), reciprocal));
        high.overflow = __dadd_rn(high.overflow, __dmul_rn(__ull2double_rn(y_high), reciprocal));
        compose_add(low, hat, y_low);
        compose_add(high, hat, y_high);
    }
    u64 outside = 0;
    double re = compose_finish(low, a.minus_product, outside), im = compose_finish(high, a.minus_product, outside);
    if ((k & ((1u << a.log_gap) - 1)) == 0) {
        double2* dst = a.dst + ((size_t)blockIdx.y << (a.log_n - 1 - a.log_gap));
        dst[k >> a.log_gap] = make_double2(__dmul_rn(re, a.factor), __dmul_rn(im, a.factor));
    }
    outside = fft_greatest(outside, shared);
    if (threadIdx.x == 0) a.outside[blockIdx.y * gridDim.x + blockIdx.x] = outside;
}
