// The last kernel of the transforms of all digits of a row, and its inner products with a key: the digits in evaluation form never
// reach memory. For degrees above 2^13; the high bits are done (ntt_14.cu ... ntt_17.cu).
#include "include/ntt.cuh"
#include "include/product.cuh"

constexpr u32 PRODUCT_LOG = 3, PRODUCT_TILE = 11, PRODUCT_BITS = 8;
constexpr u32 PRODUCT_POINTS = 1 << PRODUCT_LOG, PRODUCT_THREADS = 1 << (PRODUCT_TILE - PRODUCT_LOG);

// Sums of products modulo a short prime: each at most 0.7q in magnitude, reduced after eight.
struct FloatSums {
    double b[PRODUCT_POINTS], a[PRODUCT_POINTS];

    HE_D void add(const Fp64& f, const Prime&, u32 r, double x, u64 key_b, u64 key_a) {
        b[r] += f.mul(x, f.load(key_b));
        a[r] += f.mul(x, f.load(key_a));
    }
    HE_D void relax(const Fp64& f) {
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) {
            b[r] = f.relax(b[r]);
            a[r] = f.relax(a[r]);
        }
    }
};

struct WordSums {
    u64 b[PRODUCT_POINTS], a[PRODUCT_POINTS];

    HE_D void add(const U64& f, const Prime& p, u32 r, u64 x, u64 key_b, u64 key_a) {
        u64 word = f.store(x);
        b[r] = add_mod(b[r], mul_mod(word, key_b, p), p.q);
        a[r] = add_mod(a[r], mul_mod(word, key_a, p), p.q);
    }
    HE_D void relax(const U64&) {}
};

template <class A, class S>
HE_D void transform_product(const ProductArgs& a, u32 limb, size_t row, u32 tile, const Prime& p) {
    SHARED(typename A::Value, shared);
    A arithmetic(p);
    S sums{};
    typename A::Value x[PRODUCT_POINTS];
    u32 thread = threadIdx.x, base = tile << PRODUCT_TILE, log_n = a.grid.log_n;
    bool chain = limb < a.grid.limbs.split;
    u32 key_limb = chain ? limb : limb - a.grid.limbs.split + a.key_chain;
    const u64* key = a.key + ((size_t)key_limb << log_n) + base + thread;
    u32 own = chain ? a.digit_of[limb] : a.count;
    constexpr u32 FIRST_LOW = forward_low<PRODUCT_LOG>(PRODUCT_BITS, 0);
    for (u32 j = 0; j < a.count; ++j) {
        u64 key_b[PRODUCT_POINTS], key_a[PRODUCT_POINTS];
        const u64* part = key + 2 * j * a.key_words;
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) {
            key_b[r] = part[r * PRODUCT_THREADS];
            key_a[r] = part[a.key_words + r * PRODUCT_THREADS];
        }
        if (j == own) {
            const u64* src = a.own + row + base + thread;
            u64 words[PRODUCT_POINTS];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) words[r] = src[r * PRODUCT_THREADS];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = arithmetic.load(words[r]);
        } else {
            const u64* src = a.digits + j * a.digit_words + row + base;
            u64 words[PRODUCT_POINTS];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r)
                words[r] = src[point<PRODUCT_LOG, PRODUCT_TILE, PRODUCT_BITS, FIRST_LOW>(thread, r)];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = A::unpack(words[r]);
            __syncthreads(); // the last digit has left shared memory
            forward_stages<A, PRODUCT_LOG, PRODUCT_TILE, PRODUCT_BITS, 0>(arithmetic, x, shared,
                                                                          static_cast<const typename A::Root*>(p.roots), thread, base,
                                                                          1u << (log_n - PRODUCT_BITS), log_n);
            to_shared<A, PRODUCT_LOG, PRODUCT_TILE, last_high<PRODUCT_LOG>(PRODUCT_BITS, 0), 0>(x, shared, thread);
            __syncthreads();
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = shared[place(thread + r * PRODUCT_THREADS)];
        }
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) sums.add(arithmetic, p, r, arithmetic.relax(x[r]), key_b[r], key_a[r]);
        if ((j & 7) == 7) sums.relax(arithmetic);
    }
    size_t at = row + base + thread;
#pragma unroll
    for (u32 part = 0; part < 2; ++part) {
        u64 words[PRODUCT_POINTS];
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) words[r] = arithmetic.store(part == 0 ? sums.b[r] : sums.a[r]);
        if (chain && a.addend[part] != nullptr) {
            u64 c = a.special[limb], d[PRODUCT_POINTS];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) d[r] = a.addend[part][at + r * PRODUCT_THREADS];
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) words[r] = add_mod(words[r], mul_mod(d[r], c, p), p.q);
        }
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) a.sums[part][at + r * PRODUCT_THREADS] = words[r];
    }
}

// blockIdx.x: row and tile. `digits` come from the columns kernel; those of the row's own digit are read from `own`.
KERNEL(ntt_product, ProductArgs, PRODUCT_THREADS, 2) {
    u32 log_tiles = a.grid.log_n - PRODUCT_TILE, row = blockIdx.x >> log_tiles;
    u32 limb = row / a.grid.limbs.batch, tile = blockIdx.x & ((1u << log_tiles) - 1);
    const Prime& p = a.grid.primes[prime_of(a.grid.limbs, limb)];
    size_t at = (size_t)row << a.grid.log_n;
    if (p.is_short) {
        transform_product<Fp64, FloatSums>(a, limb, at, tile, p);
    } else {
        transform_product<U64, WordSums>(a, limb, at, tile, p);
    }
}
