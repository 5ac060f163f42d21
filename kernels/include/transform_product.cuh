// The last kernel of the transforms of all digits of a row, and its inner products with a key: the digits in evaluation form never
// reach memory. For degrees above 2^13; the high bits are done (ntt_14.cu ... ntt_17.cu).
#pragma once
#include "async_copy.cuh"
#include "ntt.cuh"
#include "product.cuh"

constexpr u32 PRODUCT_LOG = 3, PRODUCT_TILE = 10, PRODUCT_BITS = 8;
constexpr u32 PRODUCT_POINTS = 1 << PRODUCT_LOG, PRODUCT_THREADS = 1 << (PRODUCT_TILE - PRODUCT_LOG);

// A warp has the points of one run of the low bits: it needs no other one while it transforms and multiplies.
constexpr u32 PRODUCT_RUN = 1 << PRODUCT_BITS;
static_assert(PRODUCT_BITS - PRODUCT_LOG == WARP_LOG, "a run has as many threads as a warp");

// The points of a thread where it multiplies: pairs of neighbours, each in one load of every operand, the first one and those that
// are PAIR_STEP further on each.
constexpr u32 PRODUCT_PAIRS = PRODUCT_POINTS / 2, PAIR_STEP = 2 * WARP_STEP;
HE_D u32 first_pair(u32 thread) { return (thread >> WARP_LOG) * PRODUCT_RUN + (thread & (WARP_STEP - 1)) * 2; }

// The roots of the passes of a tile, which are the same for every digit. Read from global memory where they are used, they would arrive
// behind the words of the key, which are on the way then.
template <class A>
struct TileRoots {
    typedef typename A::Root Root;
    static constexpr u32 LAST_HIGH = last_high<PRODUCT_LOG>(PRODUCT_BITS, 0);
    static constexpr u32 NODES = 1u << (PRODUCT_TILE - LAST_HIGH), FIRST = 1u << (PRODUCT_TILE - PRODUCT_BITS);
    static_assert(LAST_HIGH == PRODUCT_LOG && NODES == PRODUCT_THREADS, "a thread has one block of the last pass");

    Root* nodes; // of the passes before the last one, in the order of the table: the tile is node 1
    Root* last;  // of the last pass, for each thread

    HE_D explicit TileRoots(void* shared) : nodes(static_cast<Root*>(shared)), last(nodes + NODES) {}
    // `tile_node` is the node of the table that is the tile.
    HE_D void fill(const A& a, const Root* table, u32 tile_node, u32 log_n, u32 thread) const {
        if (thread >= FIRST) nodes[thread] = table[thread + ((tile_node - 1) << (31 - __clz(thread)))];
        u32 node = tile_node * NODES + thread;
        if constexpr (A::DERIVES) {
            store(a, roots_from(a, Generators<A, LAST_HIGH>(table, node, log_n)), thread);
        } else {
            store(a, TableRoots<A>{table, node}, thread);
        }
    }
    // Those of a pass before the last one.
    template <u32 HIGH, u32 LOW>
    HE_D TableRoots<A> of_pass(u32 thread) const {
        return TableRoots<A>{nodes, (1u << (PRODUCT_TILE - HIGH)) + (Points<PRODUCT_LOG, HIGH, LOW>::first(thread) >> HIGH)};
    }
    template <class Roots>
    HE_D void store(const A& a, const Roots& roots, u32 thread) const {
#pragma unroll
        for (u32 s = 0; s < LAST_HIGH; ++s) {
#pragma unroll
            for (u32 i = 0; i < (1u << s); ++i) last[((1u << s) - 1 + i) * PRODUCT_THREADS + thread] = roots.get(a, s, i);
        }
    }
};
template <class A>
struct LastRoots {
    const typename A::Root* last; // those of the thread
    HE_D typename A::Root get(const A&, u32 s, u32 i) const { return last[((1u << s) - 1 + i) * PRODUCT_THREADS]; }
};

// A digit on its way to shared memory: the warp's run, from the thread's first pair on.
HE_D void copy_digit(u64* to, const u64* from) {
#pragma unroll
    for (u32 i = 0; i < PRODUCT_PAIRS; ++i) copy_async(to + i * PAIR_STEP, from + i * PAIR_STEP);
}

template <class A, class S, class Pair, bool OF_PAIRS>
HE_D void transform_product(const ProductArgs& a, u32 limb, size_t row, u32 tile, const Prime& p) {
    typedef typename A::Value Value;
    SHARED(Value, shared);
    u64* incoming = reinterpret_cast<u64*>(shared + place(1u << PRODUCT_TILE));
    TileRoots<A> roots(incoming + (1u << PRODUCT_TILE));
    A arithmetic(p);
    S sums{};
    u32 thread = threadIdx.x, log_n = a.grid.log_n, products = 0, pair = first_pair(thread), base = (tile << PRODUCT_TILE) + pair;
    bool chain = limb < a.grid.limbs.split;
    Pair key(a.key + key_limb_of(a, limb) * a.key_layout.row_words, base);
    u32 own = chain ? a.digit_of[limb] : a.count;
    auto word = [&](u32 i) { return row + base + i * PAIR_STEP; };
    // The digit after j, without the own one.
    auto next_of = [&](u32 j) { return j + 1 == own ? j + 2 : j + 1; };
    auto copy = [&](u32 j) {
        if (j < a.count) copy_digit(incoming + pair, a.digits + j * a.digit_words + row + base);
        commit_copies();
    };
    typename Pair::Raw key_b[PRODUCT_PAIRS], key_a[PRODUCT_PAIRS];
    auto read_key = [&](u32 j) {
#pragma unroll
        for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
            key_b[i] = key.read(2 * j * a.key_words, i * PAIR_STEP);
            key_a[i] = key.read((2 * j + 1) * a.key_words, i * PAIR_STEP);
        }
    };
    auto multiply = [&](const Value* x) {
#pragma unroll
        for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
            ulonglong2 b = key.unpack(key_b[i]), c = key.unpack(key_a[i]);
            Value first = S::operand(arithmetic, x[2 * i]), second = S::operand(arithmetic, x[2 * i + 1]);
            sums.add(arithmetic, 0, 2 * i, first, b.x);
            sums.add(arithmetic, 1, 2 * i, first, c.x);
            sums.add(arithmetic, 0, 2 * i + 1, second, b.y);
            sums.add(arithmetic, 1, 2 * i + 1, second, c.y);
        }
        if (++products % S::MOST == 0) sums.relax(arithmetic, p);
    };

    u32 j = own == 0 ? 1 : 0;
    copy(j);
    const auto* table = roots_of<A>(p);
    roots.fill(arithmetic, table, (1u << (log_n - PRODUCT_TILE)) + tile, log_n, thread);
    // The own digit and what is added, while the first of the others is on the way.
    if (chain) {
        constexpr bool TOGETHER = A::FLOAT && !OF_PAIRS; // there are registers to read all before any of it is waited for
        Multiples<PRODUCT_PAIRS, OF_PAIRS> multiples;
        read_key(own);
        Value x[PRODUCT_POINTS];
        load_pairs<PRODUCT_PAIRS>(arithmetic, OF_PAIRS ? a.left[1] : a.own, word, x);
        if constexpr (OF_PAIRS) {
            Value y[PRODUCT_POINTS];
            load_pairs<PRODUCT_PAIRS>(arithmetic, a.right[1], word, y);
#pragma unroll
            for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = Terms<A>::mul(arithmetic, p, x[r], y[r]);
        }
        if (TOGETHER) multiples.read(a, word);
        multiply(x);
        if (!TOGETHER) multiples.read(a, word);
        multiples.add(a, arithmetic, p, limb, sums);
    }
    __syncthreads(); // the roots are there
    for (; j < a.count; j = next_of(j)) {
        constexpr u32 LOW = forward_low<PRODUCT_LOG>(PRODUCT_BITS, 0), NEXT_LOW = forward_low<PRODUCT_LOG>(LOW, 0);
        static_assert(forward_low<PRODUCT_LOG>(NEXT_LOW, 0) == 0, "three passes");
        wait_copies();
        __syncwarp(); // the digit has arrived, and the last one has left shared memory
        // On the way while the digit is transformed, if there are registers for it.
        if constexpr (A::FLOAT) read_key(j);
        typedef Points<PRODUCT_LOG, PRODUCT_BITS, LOW> First;
        const u64* arrived = incoming + First::first(thread);
        Value x[PRODUCT_POINTS];
#pragma unroll
        for (u32 r = 0; r < PRODUCT_POINTS; ++r) x[r] = A::unpack(arrived[First::step(r)]);
        forward_pass<A, PRODUCT_LOG, PRODUCT_BITS, LOW, false>(arithmetic, x, roots.template of_pass<PRODUCT_BITS, LOW>(thread));
        to_shared<A, PRODUCT_LOG, PRODUCT_BITS, LOW>(x, shared, thread);
        __syncwarp();
        copy(next_of(j));
        from_shared<A, PRODUCT_LOG, LOW, NEXT_LOW>(x, shared, thread);
        forward_pass<A, PRODUCT_LOG, LOW, NEXT_LOW, false>(arithmetic, x, roots.template of_pass<LOW, NEXT_LOW>(thread));
        to_shared<A, PRODUCT_LOG, LOW, NEXT_LOW>(x, shared, thread);
        __syncwarp();
        from_shared<A, PRODUCT_LOG, NEXT_LOW, 0>(x, shared, thread);
        forward_pass<A, PRODUCT_LOG, NEXT_LOW, 0, false>(arithmetic, x, LastRoots<A>{roots.last + thread});
        to_shared<A, PRODUCT_LOG, NEXT_LOW, 0>(x, shared, thread);
        __syncwarp();
        const Value* pairs = shared + place(pair);
#pragma unroll
        for (u32 i = 0; i < PRODUCT_PAIRS; ++i) {
            x[2 * i] = pairs[place(i * PAIR_STEP)];
            x[2 * i + 1] = pairs[place(i * PAIR_STEP + 1)];
        }
        if constexpr (!A::FLOAT) read_key(j);
        multiply(x);
    }
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

// blockIdx.y: limb; blockIdx.x: batch entry and tile. Both go from the last one to the first: what the columns kernel wrote last is in the
// cache. `digits` come from that kernel; those of the row's own digit are read from `own` or from two pairs.
template <class Product>
HE_D void of_row(const ProductArgs& a, Product product) {
    u32 log_tiles = a.grid.log_n - PRODUCT_TILE, block = gridDim.x - 1 - blockIdx.x, limb = gridDim.y - 1 - blockIdx.y;
    size_t row = (size_t)limb * a.grid.limbs.batch + (block >> log_tiles);
    product(limb, row << a.grid.log_n, block & ((1u << log_tiles) - 1), a.grid.primes[prime_of(a.grid.limbs, limb)]);
}

template <bool OF_PAIRS>
HE_D void product_flat(const ProductArgs& a) {
    of_row(a, [&](u32 limb, size_t at, u32 tile, const Prime& p) {
        if (p.is_short) {
            transform_product<Fp64, FloatSums<PRODUCT_POINTS>, FlatPair, OF_PAIRS>(a, limb, at, tile, p);
        } else {
            transform_product<U64, WordSums<PRODUCT_POINTS>, FlatPair, OF_PAIRS>(a, limb, at, tile, p);
        }
    });
}

// With keys that are packed modulo all short primes.
template <bool OF_PAIRS>
HE_D void product_mixed(const ProductArgs& a) {
    of_row(a, [&](u32 limb, size_t at, u32 tile, const Prime& p) {
        if (a.key_layout.is_packed(key_limb_of(a, limb))) {
            transform_product<Fp64, FloatSums<PRODUCT_POINTS>, PackedPair, OF_PAIRS>(a, limb, at, tile, p);
        } else {
            transform_product<U64, WordSums<PRODUCT_POINTS>, FlatPair, OF_PAIRS>(a, limb, at, tile, p);
        }
    });
}

// The same where all primes are short.
template <bool OF_PAIRS>
HE_D void product_packed(const ProductArgs& a) {
    of_row(a, [&](u32 limb, size_t at, u32 tile, const Prime& p) {
        transform_product<Fp64, FloatSums<PRODUCT_POINTS>, PackedPair, OF_PAIRS>(a, limb, at, tile, p);
    });
}

// A kernel of its own for each form of keys: beside further paths, compilers keep less in registers.
#define PRODUCT_KERNELS(NAME)                                                                                             \
    KERNEL(NAME##_packed, ProductArgs, PRODUCT_THREADS, 4) { product_packed<false>(a); }                                  \
    KERNEL(NAME##_packed_pairs, ProductArgs, PRODUCT_THREADS, 4) { product_packed<true>(a); }                             \
    KERNEL(NAME##_mixed, ProductArgs, PRODUCT_THREADS, 4) { product_mixed<false>(a); }                                    \
    KERNEL(NAME##_mixed_pairs, ProductArgs, PRODUCT_THREADS, 4) { product_mixed<true>(a); }                               \
    KERNEL(NAME, ProductArgs, PRODUCT_THREADS, 4) { product_flat<false>(a); }                                             \
    KERNEL(NAME##_pairs, ProductArgs, PRODUCT_THREADS, 4) { product_flat<true>(a); }
