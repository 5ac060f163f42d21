// The last kernel of the transforms of all digits of a row, and its inner products with a key: the digits in evaluation form never
// reach memory. For degrees above 2^13; the high bits are done (ntt_14.cu ... ntt_17.cu).
#include "include/ntt.cuh"
#include "include/product.cuh"

constexpr u32 PRODUCT_LOG = 3, PRODUCT_TILE = 11, PRODUCT_BITS = 8;
constexpr u32 PRODUCT_POINTS = 1 << PRODUCT_LOG, PRODUCT_THREADS = 1 << (PRODUCT_TILE - PRODUCT_LOG);

// The points of a thread where it multiplies: pairs of neighbours, each in one load of every operand.
constexpr u32 PRODUCT_PAIRS = PRODUCT_POINTS / 2;
HE_D u32 pair_of(u32 thread, u32 i) { return 2 * (thread + i * PRODUCT_THREADS); }

template <class V>
struct alignas(16) Neighbours {
    V x, y;
};

// Two neighbouring points in one load: their places are neighbours as well, in this order or the other.
template <class V>
HE_D Neighbours<V> shared_pair(const V* shared, u32 pair) {
    u32 first = place(pair);
    Neighbours<V> v = reinterpret_cast<const Neighbours<V>*>(shared)[first / 2];
    return first & 1 ? Neighbours<V>{v.y, v.x} : v;
}

// ANEW: addresses are computed for every digit, instead of being kept in registers.
template <class A, class S, class Pair, bool ANEW, bool OF_PAIRS>
HE_D void transform_product(const ProductArgs& a, u32 limb, size_t row, u32 tile, const Prime& p) {
    SHARED(typename A::Value, shared);
    A arithmetic(p);
    S sums{};
    typename A::Value x[PRODUCT_POINTS];
    u32 thread = threadIdx.x, base = tile << PRODUCT_TILE, log_n = a.grid.log_n;
    bool chain = limb < a.grid.limbs.split;
    u32 key_limb = chain ? limb : limb - a.grid.limbs.split + a.key_chain;
    Pair key(a.key, key_limb, log_n, base + 2 * thread);
    u32 own = chain ? a.digit_of[limb] : a.count;
    auto word = [&](u32 i) { return row + base + pair_of(thread, i); };
    constexpr u32 FIRST_LOW = forward_low<PRODUCT_LOG>(PRODUCT_BITS, 0);
    for (u32 j = 0; j < a.count; ++j) {
        if constexpr (ANEW) forget(thread);
        typename Pair::Raw key_b[PRODUCT_PAIRS], key_a[PRODUCT_PAIRS];
        auto read_key = [&] {
#pragma unroll
            for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
                key_b[i] = key.read(2 * j * a.key_words, 2 * i * PRODUCT_THREADS);
                key_a[i] = key.read((2 * j + 1) * a.key_words, 2 * i * PRODUCT_THREADS);
            }
        };
        // On the way while the digit is transformed, if there are registers for it.
        if constexpr (A::FLOAT) read_key();
        if (j == own) {
            load_pairs<PRODUCT_PAIRS>(arithmetic, OF_PAIRS ? a.left[1] : a.own, word, x);
            if constexpr (OF_PAIRS) {
                typename A::Value y[PRODUCT_POINTS];
                load_pairs<PRODUCT_PAIRS>(arithmetic, a.right[1], word, y);
#pragma unroll
                for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = Terms<A>::mul(arithmetic, p, x[r], y[r]);
            }
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
                                                                          roots_of<A>(p), thread, base,
                                                                          1u << (log_n - PRODUCT_BITS), log_n);
            to_shared<A, PRODUCT_LOG, PRODUCT_TILE, last_high<PRODUCT_LOG>(PRODUCT_BITS, 0), 0>(x, shared, thread);
            __syncthreads();
#pragma unroll
            for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
                auto pair = shared_pair(shared, pair_of(thread, i));
                x[2 * i] = pair.x;
                x[2 * i + 1] = pair.y;
            }
        }
        if constexpr (!A::FLOAT) read_key();
#pragma unroll
        for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
            ulonglong2 b = key.unpack(key_b[i]), c = key.unpack(key_a[i]);
            typename A::Value first = S::operand(arithmetic, x[2 * i]), second = S::operand(arithmetic, x[2 * i + 1]);
            sums.add(arithmetic, 0, 2 * i, first, b.x);
            sums.add(arithmetic, 1, 2 * i, first, c.x);
            sums.add(arithmetic, 0, 2 * i + 1, second, b.y);
            sums.add(arithmetic, 1, 2 * i + 1, second, c.y);
        }
        if (j % S::MOST == S::MOST - 1) sums.relax(arithmetic, p);
    }
    if (chain) add_multiples<PRODUCT_PAIRS, OF_PAIRS>(a, arithmetic, p, limb, sums, word);
#pragma unroll
    for (u32 part = 0; part < 2; ++part) {
        u64 words[PRODUCT_POINTS];
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) words[r] = sums.residue(arithmetic, p, part, r);
#pragma unroll
        for (u32 i = 0; i < PRODUCT_PAIRS; ++i)
            store2(a.sums[part] + word(i), words[2 * i], words[2 * i + 1]);
    }
}

// blockIdx.x: row and tile. `digits` come from the columns kernel; those of the row's own digit are read from `own`
// or from two pairs.
template <class Product>
HE_D void of_row(const ProductArgs& a, Product product) {
    u32 log_tiles = a.grid.log_n - PRODUCT_TILE, row = blockIdx.x >> log_tiles;
    u32 limb = row / a.grid.limbs.batch, tile = blockIdx.x & ((1u << log_tiles) - 1);
    product(limb, (size_t)row << a.grid.log_n, tile, a.grid.primes[prime_of(a.grid.limbs, limb)]);
}

template <bool OF_PAIRS>
HE_D void product_flat(const ProductArgs& a) {
    of_row(a, [&](u32 limb, size_t at, u32 tile, const Prime& p) {
        if (p.is_short) {
            transform_product<Fp64, FloatSums<PRODUCT_POINTS>, FlatPair, true, OF_PAIRS>(a, limb, at, tile, p);
        } else {
            transform_product<U64, WordSums<PRODUCT_POINTS>, FlatPair, true, OF_PAIRS>(a, limb, at, tile, p);
        }
    });
}

template <bool OF_PAIRS>
HE_D void product_packed(const ProductArgs& a) {
    of_row(a, [&](u32 limb, size_t at, u32 tile, const Prime& p) {
        transform_product<Fp64, FloatSums<PRODUCT_POINTS>, PackedPair, false, OF_PAIRS>(a, limb, at, tile, p);
    });
}

// Kernels of their own for packed keys, where all primes are short: beside the paths of the other ones, compilers keep less in registers.
KERNEL(ntt_product_packed, ProductArgs, PRODUCT_THREADS, 2) { product_packed<false>(a); }
KERNEL(ntt_product_packed_pairs, ProductArgs, PRODUCT_THREADS, 2) { product_packed<true>(a); }
KERNEL(ntt_product, ProductArgs, PRODUCT_THREADS, 2) { product_flat<false>(a); }
KERNEL(ntt_product_pairs, ProductArgs, PRODUCT_THREADS, 2) { product_flat<true>(a); }
