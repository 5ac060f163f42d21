// The negacyclic transforms (order and roots of he_core::ring::NttTable).
//
// A block holds a tile of 2^TILE points in registers, 2^LOG a thread, and exchanges them through shared memory between passes
// of up to LOG stages. A stage joins points whose indices differ in one bit, forward from the highest bit to the lowest. A tile
// is either a run of neighbouring points (rows: the low bits of the index), or a run of columns of the matrix whose rows are the
// transforms of the low bits (columns: the high bits). Degrees up to 2^13 are one tile; larger ones take two kernels.
#pragma once
#include "conversion.cuh"
#include "terms.cuh"

// What happens to a digit's own limbs.
enum Own : u32 { TRANSFORM_OWN, SKIP_OWN, COPY_OWN };

// Arguments of every transform kernel; mirrored by `ntt::Args`. blockIdx.x: row and tile; blockIdx.y: digit of a key switch;
// blockIdx.z: one of up to four polynomials. Constant memory comes in lines of 64 bytes, of which the first holds 48 of these: what
// every block asks for first.
struct NttArgs {
    Limbs limbs;
    u32 log_n, log_tiles;
    u32 own;    // what happens to limbs of the digit itself: nothing, or a copy from acc[0]
    u32 absent; // forward: limbs that the first two polynomials lack
    const Prime* primes;
    // Forward, when coefficients are converted as they are loaded: src holds the source limbs.
    const Basis* bases; // of each digit

    const u64* src[4];
    u64* dst[4];

    size_t src_digit, dst_digit; // words from one digit to the next
    // Forward, when (acc - value) factor is stored: in dst, unless a Galois element maps it elsewhere.
    const Factor* factors; // of each limb
    const u64* addend;     // added to polynomial 0, or none
    const u64* acc[4];

    // Inverse: N^-1, and N^-1 times the root of the last stage, times what else the caller wants, for each prime of the ring: of the
    // first two polynomials and of the others.
    const Factor* scale[2];
    const Factor* scale_last[2];
    // Inverse: the limb of dst that the first limb of the chain goes to, and the first special one; each next goes `spread` limbs further
    // on. Where the limbs of a buffer belong to several devices, each has every `spread`-th.
    u32 place[2];
    u32 spread;
    u32 galois;       // the inverse of the Galois element, or 1
    u32 convert;      // whether the transform itself converts, for the kernel that decides at run time
    u32 unused;
    const u64* times; // inverse with TIMES: what the words of the first polynomial are multiplied by as they are loaded
};

template <class A>
HE_D const typename A::Root* roots_of(const Prime& p) {
    return in_global(static_cast<const typename A::Root*>(p.roots));
}
template <class A>
HE_D const typename A::Root* inverse_roots_of(const Prime& p) {
    return in_global(static_cast<const typename A::Root*>(p.inverse_roots));
}

// Shared-memory place of point i: neighbours and points 16 apart lie in different banks.
HE_HD u32 place(u32 i) { return i ^ ((i >> 4) & 15); }

// The LOW bit of the first forward pass over bits END ... HIGH, and the HIGH bit of the first inverse pass over bits LOW ... END:
// passes of at most LOG stages, as equal as can be, the larger ones at the low bits.
template <u32 LOG>
HE_HD constexpr u32 forward_low(u32 high, u32 end) {
    return high - (high - end) / ((high - end + LOG - 1) / LOG);
}
template <u32 LOG>
HE_HD constexpr u32 inverse_high(u32 low, u32 end) {
    u32 passes = (end - low + LOG - 1) / LOG;
    return low + (end - low + passes - 1) / passes;
}

// The point that register r of a thread holds in the pass over bits LOW ... HIGH: the low bits of r are those bits; the others are,
// in order, the thread's, then the high bits of r.
template <u32 LOG, u32 TILE, u32 HIGH, u32 LOW>
HE_HD u32 point(u32 thread, u32 r) {
    constexpr u32 STAGES = HIGH - LOW;
    u32 within = r & ((1 << STAGES) - 1);
    u32 others = thread | (r >> STAGES) << (TILE - LOG);
    return (others & ((1 << LOW) - 1)) | within << LOW | (others >> LOW) << HIGH;
}

// Stage S and those after it of 2^STAGES registers, whose first stage is block `node`, counted from 2^(stages before).
template <class A, u32 STAGES, u32 S, class Roots>
HE_D void forward_butterflies(const A& a, typename A::Value* x, const Roots& roots) {
    constexpr u32 DISTANCE = 1 << (STAGES - S - 1);
#pragma unroll
    for (u32 i = 0; i < (1 << S); ++i) {
        typename A::Root w = roots.get(a, S, i);
#pragma unroll
        for (u32 k = 0; k < DISTANCE; ++k) a.forward(x[i * 2 * DISTANCE + k], x[i * 2 * DISTANCE + k + DISTANCE], w);
    }
    if constexpr (S + 1 < STAGES) forward_butterflies<A, STAGES, S + 1>(a, x, roots);
}

// The roots of all stages of a pass over the lowest bits, from the one of its last stage: with z = roots[2^(STAGES - 1) node],
// roots[2^s node + i] = z^(2^(STAGES - 1 - s)) roots[i]. The table is as long as the row that is transformed: to read a
// sixteenth of it and to multiply is faster.
template <class A, u32 STAGES>
struct DerivedRoots {
    typename A::Root power[STAGES]; // of stage s
    typename A::Root constant[1 << (STAGES - 1)];

    // Where z is: `roots` is followed by those of passes of four stages (N / 16 of them), then of three (N / 8).
    HE_D static u32 last_of(u32 node, u32 log_n) {
        static_assert(STAGES == 4 || STAGES == 3, "tables of other passes are not made");
        u32 n = 1u << log_n;
        return STAGES == 4 ? n + (node - n / 16) : n + n / 16 + (node - n / 8);
    }
    HE_D DerivedRoots(const A& a, const typename A::Root* roots, typename A::Root z) {
        power[STAGES - 1] = z;
#pragma unroll
        for (u32 s = STAGES - 1; s-- > 0;) power[s] = a.mul(power[s + 1], power[s + 1]);
#pragma unroll
        for (u32 i = 1; i < (1 << (STAGES - 1)); ++i) constant[i] = roots[i];
    }
    HE_D typename A::Root get(const A& a, u32 s, u32 i) const { return i == 0 ? power[s] : a.mul(power[s], constant[i]); }
};

template <class A, u32 STAGES>
HE_D DerivedRoots<A, STAGES> derived_roots(const A& a, const typename A::Root* roots, u32 node, u32 log_n) {
    return DerivedRoots<A, STAGES>(a, roots, roots[DerivedRoots<A, STAGES>::last_of(node, log_n)]);
}

// The roots of a pass, read from the table.
template <class A>
struct TableRoots {
    const typename A::Root* roots;
    u32 node;
    HE_D typename A::Root get(const A&, u32 s, u32 i) const { return roots[(node << s) + i]; }
};

// Forward stages over bits LOW ... HIGH of the registers; `first` is 2^(stages before).
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW>
HE_D void forward_pass(const A& a, typename A::Value* x, const typename A::Root* roots, u32 thread, u32 base, u32 first, u32 log_n) {
    constexpr u32 STAGES = HIGH - LOW, SIZE = 1 << STAGES;
#pragma unroll
    for (u32 g = 0; g < (1 << LOG) / SIZE; ++g) {
        u32 node = first + ((base + point<LOG, TILE, HIGH, LOW>(thread, g * SIZE)) >> HIGH);
        if constexpr (A::DERIVES && LOW == 0 && STAGES >= 3) {
            forward_butterflies<A, STAGES, 0>(a, x + g * SIZE, derived_roots<A, STAGES>(a, roots, node, log_n));
        } else {
            forward_butterflies<A, STAGES, 0>(a, x + g * SIZE, TableRoots<A>{roots, node});
        }
    }
}

// Inverse stages S, S - 1 ... 0, likewise; with LAST, stage 0 is the last of the transform and carries the factors.
template <class A, u32 STAGES, u32 S, bool LAST, class Roots>
HE_D void inverse_butterflies(const A& a, typename A::Value* x, const Roots& roots, const Factor* c, const Factor* last) {
    constexpr u32 DISTANCE = 1 << (STAGES - S - 1);
    if constexpr (STAGES - S == 4) {
        if (a.outgrows()) {
#pragma unroll
            for (u32 k = 0; k < (1 << STAGES); ++k) x[k] = a.relax(x[k]);
        }
    }
    if constexpr (LAST && S == 0) {
        Factor both = *c, one = *last;
#pragma unroll
        for (u32 k = 0; k < DISTANCE; ++k) a.inverse_last(x[k], x[k + DISTANCE], both, one);
    } else {
#pragma unroll
        for (u32 i = 0; i < (1 << S); ++i) {
            typename A::Root w = roots.get(a, S, i);
#pragma unroll
            for (u32 k = 0; k < DISTANCE; ++k) a.inverse(x[i * 2 * DISTANCE + k], x[i * 2 * DISTANCE + k + DISTANCE], w);
        }
    }
    if constexpr (S > 0) inverse_butterflies<A, STAGES, S - 1, LAST>(a, x, roots, c, last);
}

// Inverse stages over bits LOW ... HIGH; with LAST, the last stage carries the factors.
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW, bool LAST>
HE_D void inverse_pass(const A& a, typename A::Value* x, const typename A::Root* roots, u32 thread, u32 base, u32 first,
                       u32 log_n, const Factor* c, const Factor* last) {
    constexpr u32 STAGES = HIGH - LOW, SIZE = 1 << STAGES;
#pragma unroll
    for (u32 g = 0; g < (1 << LOG) / SIZE; ++g) {
        u32 node = first + ((base + point<LOG, TILE, HIGH, LOW>(thread, g * SIZE)) >> HIGH);
        if constexpr (A::DERIVES && LOW == 0 && STAGES >= 3) {
            inverse_butterflies<A, STAGES, STAGES - 1, LAST>(a, x + g * SIZE, derived_roots<A, STAGES>(a, roots, node, log_n), c, last);
        } else {
            inverse_butterflies<A, STAGES, STAGES - 1, LAST>(a, x + g * SIZE, TableRoots<A>{roots, node}, c, last);
        }
    }
}

template <class A, u32 LOG>
HE_D void relax_all(const A& a, typename A::Value* x) {
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) x[r] = a.relax(x[r]);
}

// Between two passes forward.
template <class A, u32 LOG>
HE_D void relax_grown(const A& a, typename A::Value* x) {
    if (!a.is_narrow()) relax_all<A, LOG>(a, x);
}

template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW>
HE_D void to_shared(const typename A::Value* x, typename A::Value* shared, u32 thread) {
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) shared[place(point<LOG, TILE, HIGH, LOW>(thread, r))] = x[r];
}

template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW>
HE_D void from_shared(typename A::Value* x, const typename A::Value* shared, u32 thread) {
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) x[r] = shared[place(point<LOG, TILE, HIGH, LOW>(thread, r))];
}

// The top bit of the last pass.
template <u32 LOG>
HE_HD constexpr u32 last_high(u32 high, u32 end) {
    while (forward_low<LOG>(high, end) > end) high = forward_low<LOG>(high, end);
    return high;
}

// All forward stages from bit HIGH down to bit END, the registers loaded for the first pass; they end as the last pass left them.
// `first` is 2^(stages before).
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 END>
HE_D void forward_stages(const A& a, typename A::Value* x, typename A::Value* shared, const typename A::Root* roots, u32 thread,
                         u32 base, u32 first, u32 log_n) {
    constexpr u32 LOW = forward_low<LOG>(HIGH, END);
    forward_pass<A, LOG, TILE, HIGH, LOW>(a, x, roots, thread, base, first, log_n);
    if constexpr (LOW > END) {
        relax_grown<A, LOG>(a, x);
        to_shared<A, LOG, TILE, HIGH, LOW>(x, shared, thread);
        __syncthreads();
        from_shared<A, LOG, TILE, LOW, forward_low<LOG>(LOW, END)>(x, shared, thread);
        forward_stages<A, LOG, TILE, LOW, END>(a, x, shared, roots, thread, base, first << (HIGH - LOW), log_n);
    }
}

// All inverse stages from bit LOW up to bit END, likewise; `first` belongs to END.
template <class A, u32 LOG, u32 TILE, u32 LOW, u32 END, bool LAST>
HE_D void inverse_stages(const A& a, typename A::Value* x, typename A::Value* shared, const typename A::Root* roots, u32 thread,
                         u32 base, u32 first, u32 log_n, const Factor* c, const Factor* last) {
    constexpr u32 HIGH = inverse_high<LOG>(LOW, END);
    inverse_pass<A, LOG, TILE, HIGH, LOW, LAST && HIGH == END>(a, x, roots, thread, base, first << (END - HIGH), log_n, c, last);
    if constexpr (HIGH < END) {
        relax_all<A, LOG>(a, x);
        to_shared<A, LOG, TILE, HIGH, LOW>(x, shared, thread);
        __syncthreads();
        from_shared<A, LOG, TILE, inverse_high<LOG>(HIGH, END), HIGH>(x, shared, thread);
        inverse_stages<A, LOG, TILE, HIGH, END, LAST>(a, x, shared, roots, thread, base, first, log_n, c, last);
    }
}

// The low bit of the last inverse pass.
template <u32 LOG>
HE_HD constexpr u32 last_low(u32 low, u32 end) {
    while (inverse_high<LOG>(low, end) < end) low = inverse_high<LOG>(low, end);
    return low;
}

// What a block works on.
struct Tile {
    u32 row, limb, entry, tile, digit, part, prime;
};

HE_D Tile tile_of(const NttArgs& a) {
    u32 row = blockIdx.x >> a.log_tiles, limb = row / a.limbs.batch;
    return Tile{row, limb, row - limb * a.limbs.batch, blockIdx.x & ((1u << a.log_tiles) - 1), blockIdx.y, blockIdx.z,
                prime_of(a.limbs, limb)};
}

// Whether there is nothing to transform: the polynomial lacks the limb, or it belongs to the digit, whose residues modulo its own primes
// are those of the input.
HE_D bool is_left_out(const NttArgs& a, const Tile& t) {
    if (t.limb < a.absent && t.part < 2) return true;
    if (a.own == TRANSFORM_OWN) return false;
    const Basis& digit = a.bases[t.digit];
    return t.limb < a.limbs.split && t.limb >= digit.own_first && t.limb < digit.own_first + digit.own_count;
}

// Where an inverse transform stores its row.
HE_D u64* placed_row(const NttArgs& a, const Tile& t) {
    u32 limb = t.limb < a.limbs.split ? a.place[0] + t.limb * a.spread : a.place[1] + (t.limb - a.limbs.split) * a.spread;
    return a.dst[t.part] + (((size_t)limb * a.limbs.batch + t.entry) << a.log_n);
}

// The registers for the first forward pass over bits LOW ... HIGH, converted from at most FEW_SOURCES primes; the y of a coefficient's
// sources are `stride` words apart.
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW, class Index>
HE_D void load_converted(const Basis& basis, const u64* src, size_t stride, u32 limb, const A& arithmetic, const Prime& p,
                         typename A::Value* x, typename A::Value* shared, u32 thread, Index index) {
    typedef FewConversion<A> Conversion;
    Conversion conversion(basis, limb, p);
    constexpr u32 POINTS = 1 << LOG;
    u32 sources = (u32)basis.count;
    if constexpr (POINTS <= 8) {
        // All points at a time; the next source is on the way. A loop, since code that runs once waits for itself to be fetched.
        u64 y[POINTS];
        auto load = [&](u32 i, u64* to) {
#pragma unroll
            for (u32 r = 0; r < POINTS; ++r) to[r] = src[i * stride + index(point<LOG, TILE, HIGH, LOW>(thread, r))];
        };
        load(0, y);
        typename Conversion::Constants constants = conversion.constants(0);
        typename Conversion::Sum sum[POINTS] = {};
#pragma unroll 1
        for (u32 i = 1; i < sources; ++i) {
            u64 next_y[POINTS];
            load(i, next_y);
            typename Conversion::Constants next_constants = conversion.constants(i);
            conversion.add(constants, y, arithmetic, sum);
            constants = next_constants;
#pragma unroll
            for (u32 r = 0; r < POINTS; ++r) y[r] = next_y[r];
        }
        conversion.add(constants, y, arithmetic, sum);
#pragma unroll
        for (u32 r = 0; r < POINTS; ++r) x[r] = conversion.value(sum[r], arithmetic);
    } else if (sources == 1) {
        typename Conversion::Constants constants = conversion.constants(0);
        u64 y[POINTS];
#pragma unroll
        for (u32 r = 0; r < POINTS; ++r) y[r] = src[index(point<LOG, TILE, HIGH, LOW>(thread, r))];
        constexpr u32 TOGETHER = 4;
#pragma unroll
        for (u32 r = 0; r < POINTS; r += TOGETHER) {
            u64 some[TOGETHER];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; ++k) some[k] = y[r + k];
            typename Conversion::Sum sum[TOGETHER] = {};
            conversion.add(constants, some, arithmetic, sum);
#pragma unroll
            for (u32 k = 0; k < TOGETHER; ++k) x[r + k] = conversion.value(sum[k], arithmetic);
        }
    } else {
        // There are no registers for more: some points at a time, whose sources are on the way together, in shared memory.
        constexpr u32 TOGETHER = 2, THREADS = 1 << (TILE - LOG);
        typename Conversion::Constants constants[FEW_SOURCES];
#pragma unroll
        for (u32 i = 0; i < FEW_SOURCES; ++i) {
            if (i < sources) constants[i] = conversion.constants(i);
        }
#pragma unroll 1
        for (u32 i = thread; i < (1u << TILE); i += TOGETHER * THREADS) {
            u64 y[FEW_SOURCES][TOGETHER];
            typename Conversion::Sum sum[TOGETHER] = {};
#pragma unroll
            for (u32 s = 0; s < FEW_SOURCES; ++s) {
#pragma unroll
                for (u32 k = 0; k < TOGETHER; ++k) y[s][k] = s < sources ? src[s * stride + index(i + k * THREADS)] : 0;
            }
#pragma unroll
            for (u32 s = 0; s < FEW_SOURCES; ++s) {
                if (s < sources) conversion.add(constants[s], y[s], arithmetic, sum);
            }
#pragma unroll
            for (u32 k = 0; k < TOGETHER; ++k) shared[place(i + k * THREADS)] = conversion.value(sum[k], arithmetic);
        }
        __syncthreads();
        from_shared<A, LOG, TILE, HIGH, LOW>(x, shared, thread);
    }
}

// The words that a thread transforms, as they are in memory.
template <u32 LOG>
struct Words {
    static constexpr u32 COUNT = 1 << LOG;
    u64 of[COUNT];
};

// What `read` reads. Where threads have few points, and blocks are few, the words are on the way before anything is known of their prime.
template <u32 LOG, class Read>
struct Reading {
    static constexpr bool AHEAD = LOG <= 3;
    Read read;
    Words<LOG> words;

    HE_D explicit Reading(const Read& read) : read(read) {
        if constexpr (AHEAD) words = read();
    }
    HE_D Words<LOG> get() const {
        if constexpr (AHEAD) return words;
        else return read();
    }
};
template <u32 LOG, class Read>
HE_D Reading<LOG, Read> reading(const Read& read) { return Reading<LOG, Read>(read); }

// Those of the pass over bits LOW ... HIGH; `index` gives a point's place in the row.
template <u32 LOG, u32 TILE, u32 HIGH, u32 LOW, class Index>
HE_D Words<LOG> read_points(const u64* row, u32 thread, Index index) {
    Words<LOG> words;
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) words.of[r] = row[index(point<LOG, TILE, HIGH, LOW>(thread, r))];
    return words;
}
template <class A, u32 LOG, bool PACKED>
HE_D void load_points(const A& a, const Words<LOG>& words, typename A::Value* x) {
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) x[r] = PACKED ? A::unpack(words.of[r]) : a.load(words.of[r]);
}

HE_D const u64* source_row(const NttArgs& a, const Tile& t) { return a.src[t.part] + t.digit * a.src_digit + ((size_t)t.row << a.log_n); }

// The registers for the first forward pass over bits LOW ... HIGH, converted.
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW, class Index>
HE_D void convert_row(const NttArgs& a, const Tile& t, const A& arithmetic, const Prime& p, typename A::Value* x, typename A::Value* shared,
                      u32 thread, Index index) {
    const Basis& basis = a.bases[t.digit];
    size_t stride = (size_t)a.limbs.batch << a.log_n;
    const u64* src = a.src[t.part] + t.digit * a.src_digit + ((size_t)t.entry << a.log_n) + basis.first * stride;
    load_converted<A, LOG, TILE, HIGH, LOW>(basis, src, stride, t.limb, arithmetic, p, x, shared, thread, index);
}

// Where the automorphism with inverse g takes the value at index i.
HE_D u32 image_of(u32 i, u32 g, u32 log_n) {
    u32 exponent = g * (2 * (__brev(i) >> (32 - log_n)) + 1);
    return __brev((exponent >> 1) << (32 - log_n));
}

// Stores COUNT values, those at indices i, i + step ...
template <class A, u32 COUNT, bool SUB>
HE_D void store_values(const NttArgs& a, const Tile& t, const A& arithmetic, const Prime& p, u32 i, u32 step, const typename A::Value* x) {
    size_t row = (size_t)t.row << a.log_n;
    u64* dst = a.dst[t.part] + t.digit * a.dst_digit + row;
    if constexpr (SUB) {
        const u64* acc = a.acc[t.part] + row;
        const u64* addend = a.addend != nullptr && t.part == 0 ? a.addend + row : nullptr;
        Factor f = a.factors[t.limb];
        u32 galois = a.galois;
        u64 q = p.q, words[COUNT];
        // All loads before the first store.
#pragma unroll
        for (u32 r = 0; r < COUNT; ++r) words[r] = acc[i + r * step];
#pragma unroll
        for (u32 r = 0; r < COUNT; ++r) words[r] = arithmetic.sub_scale(words[r], x[r], f);
        if (addend != nullptr) {
            u64 more[COUNT];
#pragma unroll
            for (u32 r = 0; r < COUNT; ++r) more[r] = addend[i + r * step];
#pragma unroll
            for (u32 r = 0; r < COUNT; ++r) words[r] = add_mod(words[r], more[r], q);
        }
#pragma unroll
        for (u32 r = 0; r < COUNT; ++r) dst[galois == 1 ? i + r * step : image_of(i + r * step, galois, a.log_n)] = words[r];
    } else {
#pragma unroll
        for (u32 r = 0; r < COUNT; ++r) dst[i + r * step] = arithmetic.store(x[r]);
    }
}

// Points of a run of rows, and of columns: the low BITS bits of the index are those of a row, in tiles of 2^TILE neighbouring points; the
// high BITS bits those of a column, in tiles of 2^(TILE - BITS) neighbouring columns.
template <u32 TILE>
struct RowIndex {
    u32 base;
    HE_D explicit RowIndex(const Tile& t) : base(t.tile << TILE) {}
    HE_D u32 operator()(u32 i) const { return base + i; }
};
template <u32 TILE, u32 BITS>
struct ColumnIndex {
    static constexpr u32 LOG_COLUMNS = TILE - BITS;
    u32 column, log_rows;
    HE_D ColumnIndex(const NttArgs& a, const Tile& t) : column(t.tile << LOG_COLUMNS), log_rows(a.log_n - BITS) {}
    HE_D u32 operator()(u32 i) const { return ((i >> LOG_COLUMNS) << log_rows) + column + (i & ((1 << LOG_COLUMNS) - 1)); }
};

// The rows kernel.
template <u32 LOG, u32 TILE, u32 BITS>
HE_D Words<LOG> read_rows(const NttArgs& a, const Tile& t) {
    return read_points<LOG, TILE, BITS, forward_low<LOG>(BITS, 0)>(source_row(a, t), threadIdx.x, RowIndex<TILE>(t));
}
template <u32 LOG, u32 TILE, u32 BITS, bool CONVERT, bool SUB, class A, class Read>
HE_D void forward_rows(const NttArgs& a, const Tile& t, const Prime& p, const A& arithmetic, const Reading<LOG, Read>& reading) {
    SHARED(typename A::Value, shared);
    constexpr u32 THREADS = 1 << (TILE - LOG);
    typename A::Value x[1 << LOG];
    u32 thread = threadIdx.x, base = t.tile << TILE;
    if constexpr (CONVERT) {
        convert_row<A, LOG, TILE, BITS, forward_low<LOG>(BITS, 0)>(a, t, arithmetic, p, x, shared, thread, RowIndex<TILE>(t));
    } else {
        load_points<A, LOG, (BITS < TILE)>(arithmetic, reading.get(), x);
    }
    forward_stages<A, LOG, TILE, BITS, 0>(arithmetic, x, shared, roots_of<A>(p), thread, base,
                                     1u << (a.log_n - BITS), a.log_n);
    // Back to neighbouring threads on neighbouring words.
    to_shared<A, LOG, TILE, last_high<LOG>(BITS, 0), 0>(x, shared, thread);
    __syncthreads();
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) x[r] = shared[place(thread + r * THREADS)];
    store_values<A, 1 << LOG, SUB>(a, t, arithmetic, p, base + thread, THREADS, x);
}

// The columns kernel.
template <u32 LOG, u32 TILE, u32 BITS>
HE_D Words<LOG> read_columns(const NttArgs& a, const Tile& t) {
    return read_points<LOG, TILE, TILE, forward_low<LOG>(TILE, TILE - BITS)>(source_row(a, t), threadIdx.x, ColumnIndex<TILE, BITS>(a, t));
}
template <u32 LOG, u32 TILE, u32 BITS, bool CONVERT, class A, class Read>
HE_D void forward_columns(const NttArgs& a, const Tile& t, const Prime& p, const A& arithmetic, const Reading<LOG, Read>& reading) {
    SHARED(typename A::Value, shared);
    constexpr u32 LOG_COLUMNS = TILE - BITS;
    typename A::Value x[1 << LOG];
    u32 thread = threadIdx.x;
    ColumnIndex<TILE, BITS> index(a, t);
    if constexpr (CONVERT) {
        convert_row<A, LOG, TILE, TILE, forward_low<LOG>(TILE, LOG_COLUMNS)>(a, t, arithmetic, p, x, shared, thread, index);
    } else {
        load_points<A, LOG, false>(arithmetic, reading.get(), x);
    }
    forward_stages<A, LOG, TILE, TILE, LOG_COLUMNS>(arithmetic, x, shared, roots_of<A>(p), thread, 0, 1, a.log_n);
    relax_grown<A, LOG>(arithmetic, x);
    u64* dst = a.dst[t.part] + t.digit * a.dst_digit + ((size_t)t.row << a.log_n);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) dst[index(point<LOG, TILE, last_high<LOG>(TILE, LOG_COLUMNS), LOG_COLUMNS>(thread, r))] = A::pack(x[r]);
}

// Neighbouring threads read neighbouring words.
template <u32 LOG, u32 TILE>
HE_D Words<LOG> read_run(const u64* run) {
    Words<LOG> words;
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) words.of[r] = run[threadIdx.x + (r << (TILE - LOG))];
    return words;
}
template <u32 LOG, u32 TILE, u32 BITS, bool TIMES, class A, class Read>
HE_D void inverse_rows(const NttArgs& a, const Tile& t, const Prime& p, const A& arithmetic, const Reading<LOG, Read>& reading) {
    SHARED(typename A::Value, shared);
    constexpr u32 THREADS = 1 << (TILE - LOG);
    constexpr bool WHOLE = BITS == TILE;
    typename A::Value x[1 << LOG];
    u32 thread = threadIdx.x, base = t.tile << TILE;
    load_points<A, LOG, false>(arithmetic, reading.get(), x);
    if constexpr (TIMES) {
        Words<LOG> times = read_run<LOG, TILE>(a.times + ((size_t)t.row << a.log_n) + base);
#pragma unroll
        for (u32 r = 0; r < (1 << LOG); ++r) x[r] = Terms<A>::mul(arithmetic, p, x[r], arithmetic.load(times.of[r]));
    }
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) shared[place(thread + r * THREADS)] = arithmetic.relax(x[r]);
    __syncthreads();
    from_shared<A, LOG, TILE, inverse_high<LOG>(0, BITS), 0>(x, shared, thread);
    inverse_stages<A, LOG, TILE, 0, BITS, WHOLE>(arithmetic, x, shared, inverse_roots_of<A>(p), thread,
                                            base, 1u << (a.log_n - BITS), a.log_n, a.scale[t.part >> 1] + t.prime, a.scale_last[t.part >> 1] + t.prime);
    u64* dst = placed_row(a, t) + base;
    if constexpr (!WHOLE) relax_all<A, LOG>(arithmetic, x);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) {
        u32 i = point<LOG, TILE, BITS, last_low<LOG>(0, BITS)>(thread, r);
        dst[i] = WHOLE ? arithmetic.store(x[r]) : A::pack(x[r]);
    }
}

// `also` gets each word that is stored, and its place in dst.
template <u32 LOG, u32 TILE, u32 BITS, class A, class Read, class Also>
HE_D void inverse_columns(const NttArgs& a, const Tile& t, const Prime& p, const A& arithmetic, const Reading<LOG, Read>& reading, Also also) {
    SHARED(typename A::Value, shared);
    constexpr u32 LOG_COLUMNS = TILE - BITS;
    typename A::Value x[1 << LOG];
    u32 thread = threadIdx.x;
    ColumnIndex<TILE, BITS> index(a, t);
    u64* row = placed_row(a, t);
    load_points<A, LOG, true>(arithmetic, reading.get(), x);
    inverse_stages<A, LOG, TILE, LOG_COLUMNS, TILE, true>(arithmetic, x, shared, inverse_roots_of<A>(p),
                                                     thread, 0, 1, a.log_n, a.scale[t.part >> 1] + t.prime, a.scale_last[t.part >> 1] + t.prime);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) {
        u64* word = row + index(point<LOG, TILE, TILE, last_low<LOG>(LOG_COLUMNS, TILE)>(thread, r));
        *word = arithmetic.store(x[r]);
        also(*word, word - a.dst[t.part]);
    }
}

// The digit's own limbs, copied if asked: the same places that the transform would write.
template <u32 TILE>
HE_D void copy_own(const NttArgs& a, const Tile& t) {
    size_t at = ((size_t)t.row << a.log_n) + ((size_t)t.tile << TILE);
    u64* dst = a.dst[t.part] + t.digit * a.dst_digit + at;
    for (u32 i = threadIdx.x; i < (1u << TILE); i += blockDim.x) dst[i] = a.acc[0][at + i];
}

