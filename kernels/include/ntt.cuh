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

// What an inverse transform loads, and what the values of a forward transform are subtracted from: words as they are, or products of two
// pairs (l0, l1) and (r0, r1) of polynomials, the last part of which is l1 r1, and all of which are (l0 r0, l0 r1 + l1 r0, l1 r1).
enum Operand : u32 { NOTHING, WORDS, LAST_PRODUCT, TENSOR };

// Arguments of every transform kernel; mirrored by `ntt::Args`. blockIdx.x: batch entry and tile; blockIdx.y: limb; blockIdx.z: digit of a
// key switch, or one of up to four polynomials. Constant memory comes in lines of 64 bytes, of which the first holds 48 of these: what
// every block asks for first.
struct NttArgs {
    static constexpr bool HALVES = false; // tiles of wide primes

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
    // Inverse: the limb of dst that the first limb of the chain goes to, and the first special one; each next goes `spread` limbs further
    // on. Where the limbs of a buffer belong to several devices, each has every `spread`-th.
    u32 place[2];
    u32 spread;
    u32 galois;  // the inverse of the Galois element, or 1
    u64 operand; // what is loaded, or subtracted from, for the host, which has kernels of their own for it; pairs are src, or acc
    // Forward, when (acc - value) factor is stored: in dst, unless a Galois element maps it elsewhere.
    const Factor* factors; // of each limb
    const u64* addend;     // added to polynomial 0, or none
    u32 convert;           // whether the transform itself converts, for the kernel that decides at run time
    u32 order;             // of the tiles in the second of two kernels with sixteen points per thread: 1, or -1 for the last one first

    const u64* acc[4];
    // Inverse: N^-1, and N^-1 times the root of the last stage, times what else the caller wants, for each prime of the ring: of the
    // first two polynomials and of the others.
    const Factor* scale[2];
    const Factor* scale_last[2];
};

// Arguments of kernels for few rows, in which threads have eight points. Modulo wide primes, whose arithmetic takes twice as long, blocks
// have half of a tile, and threads four points, if blocks are few. blockIdx.y: strip of blocks. Mirrored by `ntt::FineArgs`.
constexpr u32 STRIPS = 64;

// A limb, or one half of each of its tiles: 6 bits are the limb, one is which half; the others are the address of its roots, known before
// the prime has been read, plus one if the prime is wide.
struct Strip {
    u64 bits;
    HE_D u32 limb() const { return (u32)(bits >> 58); }
    HE_D u32 half() const { return (u32)(bits >> 57) & 1; }
    HE_D u64 roots() const { return bits & 0x1fffffffffffffe; }
    HE_D bool is_short() const { return (bits & 1) == 0; }
};
struct FineNttArgs : NttArgs {
    Strip strips[STRIPS];
};

// The same, for the kernels that halve the tiles of wide primes. Others leave them whole: one kernel for both is 5 to 10 % slower where
// blocks are few, also modulo short primes.
struct HalvedNttArgs : FineNttArgs {
    static constexpr bool HALVES = true;
};

// Arguments of those of these kernels that convert: the conversions of few digits come with them, and are known at once. With more, `bases`
// says where they are. Mirrored by `ntt::ConvertArgs`.
constexpr u32 MOST_BASES = 8;
template <class Args>
struct ConvertNttArgs : Args {
    Basis few[MOST_BASES];
};

template <class A>
HE_D const typename A::Root* roots_of(const Prime& p) {
    return in_global(static_cast<const typename A::Root*>(p.roots));
}

// Shared-memory place of point i: neighbours and points 16 apart lie in different banks. The place of a sum of numbers that have no
// bits in common is the sum of their places, so that those of a thread's points are constants apart.
HE_HD constexpr u32 place(u32 i) { return i + (i >> 4); }

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

// The number of a thread. Told which bits it has, compilers need fewer registers for addresses in most kernels.
template <u32 LOG, u32 TILE>
HE_D u32 thread_of() { return threadIdx.x & ((1u << (TILE - LOG)) - 1); }

// The points that a thread holds in the pass over bits LOW ... HIGH. Of the number of a register, the low bits are those bits of its
// point, and the other ones the bits below them; what is left is the thread's. The points that differ in bits below HIGH are
// therefore those of 2^(HIGH - LOG) neighbouring threads in every pass below HIGH.
template <u32 LOG, u32 HIGH, u32 LOW>
struct Points {
    static constexpr u32 STAGES = HIGH - LOW, BELOW = HIGH - LOG;
    static_assert(HIGH >= LOG && STAGES <= LOG, "a thread has points of one run");

    // That of register 0, and how much further on that of register r is, in bits that it has not.
    HE_HD static u32 first(u32 thread) { return (thread & ((1 << BELOW) - 1)) | (thread >> BELOW) << HIGH; }
    HE_HD static constexpr u32 step(u32 r) { return (r & ((1 << STAGES) - 1)) << LOW | (r >> STAGES) << BELOW; }
};

// The same where a warp has a run of points, and neighbouring threads have neighbouring ones: register r has the one that is r steps
// of a warp after the first.
constexpr u32 WARP_LOG = 5, WARP_STEP = 1 << WARP_LOG;
template <u32 LOG>
HE_D u32 first_of_run(u32 thread) {
    return (thread >> WARP_LOG) << (WARP_LOG + LOG) | (thread & (WARP_STEP - 1));
}

// Between writing to shared memory and reading from it, where the points of 2^LOG_THREADS neighbouring threads are exchanged among them.
template <u32 LOG_THREADS>
HE_D void exchange_barrier() {
    if constexpr (LOG_THREADS <= WARP_LOG) __syncwarp();
    else __syncthreads();
}

// Stage S and those after it of 2^STAGES registers, whose first stage is block `node`, counted from 2^(stages before).
template <class A, u32 STAGES, u32 S, class Roots>
HE_D void forward_butterflies(const A& a, typename A::Value* x, const Roots& roots) {
    a.template forward_stage<Pairs<STAGES, S>>(x, [&](u32 block) { return roots.get(a, S, block); });
    if constexpr (S + 1 < STAGES) forward_butterflies<A, STAGES, S + 1>(a, x, roots);
}

// What `read` reads. Where threads have few points, and blocks are few, it is on the way before anything waits; otherwise it would take
// registers for too long, and is read where it is needed.
template <bool AHEAD, class Read>
struct Reading;
template <class Read>
struct Reading<true, Read> {
    decltype(((const Read*)nullptr)->operator()()) value;
    HE_D explicit Reading(const Read& read) : value(read()) {}
    HE_D const auto& get() const { return value; }
};
template <class Read>
struct Reading<false, Read> {
    Read read;
    HE_D explicit Reading(const Read& read) : read(read) {}
    HE_D auto get() const { return read(); }
};
template <u32 LOG, class Read>
HE_D auto reading(const Read& read) {
    return Reading<(LOG <= 3), Read>(read);
}
template <class Read>
HE_D auto when_needed(const Read& read) {
    return Reading<false, Read>(read);
}

// A table of roots in global memory, which nobody writes meanwhile. Where threads have sixteen points compilers do not see that of a
// pointer, and would have its loads wait for what is stored in shared memory. Other tables are pointers.
template <class Root>
struct GlobalTable {
    const Root* at;
    HE_D GlobalTable operator+(u32 i) const { return {at + i}; }
    HE_D Root operator[](u32 i) const { return __ldg(at + i); }
};

// The roots of a pass of STAGES stages: the block `node` of its first stage, counted from 2^(stages before), has root `node` of the table.
template <class A, class Table = const typename A::Root*>
struct TableRoots {
    Table table;
    u32 node;
    HE_D typename A::Root get(const A&, u32 s, u32 i) const { return (table + (node << s))[i]; }
};
template <class A, u32 STAGES>
struct ReadRoots {
    typename A::Root of[(1 << STAGES) - 1];
    HE_D ReadRoots(const typename A::Root* table, u32 node) {
#pragma unroll
        for (u32 s = 0; s < STAGES; ++s) {
#pragma unroll
            for (u32 i = 0; i < (1u << s); ++i) of[(1u << s) - 1 + i] = table[(node << s) + i];
        }
    }
    HE_D typename A::Root get(const A&, u32 s, u32 i) const { return of[(1u << s) - 1 + i]; }
};

// Those of a pass over the lowest bits, from one of its last stage: with z = table[2^(STAGES - 1) node],
// table[2^s node + i] = z^(2^(STAGES - 1 - s)) table[i]. The table is as long as the row that is transformed: to read a sixteenth of it
// and to multiply is faster.
template <class A, u32 STAGES>
struct Generators {
    typename A::Root z, constant[1 << (STAGES - 1)];
    template <class Table>
    HE_D Generators(const Table& table, u32 node, u32 log_n) : z(table[place_of_z(node, log_n)]) {
#pragma unroll
        for (u32 i = 1; i < (1 << (STAGES - 1)); ++i) constant[i] = table[i];
    }
    // The table is followed by the z of passes of four stages (N / 16 of them), then of three (N / 8).
    HE_D static u32 place_of_z(u32 node, u32 log_n) {
        static_assert(STAGES == 4 || STAGES == 3, "tables of other passes are not made");
        u32 n = 1u << log_n;
        return STAGES == 4 ? n + (node - n / 16) : n + n / 16 + (node - n / 8);
    }
};
template <class A, u32 STAGES>
struct DerivedRoots {
    Generators<A, STAGES> from;
    typename A::Root power[STAGES]; // of stage s
    HE_D DerivedRoots(const A& a, const Generators<A, STAGES>& from) : from(from) {
        power[STAGES - 1] = from.z;
#pragma unroll
        for (u32 s = STAGES - 1; s-- > 0;) power[s] = a.mul(power[s + 1], power[s + 1]);
    }
    HE_D typename A::Root get(const A& a, u32 s, u32 i) const { return i == 0 ? power[s] : a.mul(power[s], from.constant[i]); }
};

// What is read of the table for the pass over bits LOW ... HIGH of a thread, which has one block of its first stage; `first` is
// 2^(stages before).
template <class A, u32 LOG, u32 HIGH, u32 LOW, class Table>
HE_D auto read_roots(const Table& table, u32 thread, u32 base, u32 first, u32 log_n) {
    u32 node = first + ((base + Points<LOG, HIGH, LOW>::first(thread)) >> HIGH);
    if constexpr (A::DERIVES && LOW == 0 && HIGH - LOW >= 3) return Generators<A, HIGH - LOW>(table, node, log_n);
    else if constexpr (LOG <= 3) return ReadRoots<A, HIGH - LOW>(table, node);
    else return TableRoots<A, Table>{table, node};
}
// The roots that they make.
template <class A, class Roots>
HE_D const Roots& roots_from(const A&, const Roots& roots) { return roots; }
template <class A, u32 STAGES>
HE_D DerivedRoots<A, STAGES> roots_from(const A& a, const Generators<A, STAGES>& from) { return DerivedRoots<A, STAGES>(a, from); }

// Forward stages over bits LOW ... HIGH of the registers; FIRST tells whether they are the first ones of the transform.
template <class A, u32 LOG, u32 HIGH, u32 LOW, bool FIRST, class Roots>
HE_D void forward_pass(const A& a, typename A::Value* x, const Roots& read) {
    constexpr u32 STAGES = HIGH - LOW, SIZE = 1 << STAGES;
    const auto& roots = roots_from(a, read);
#pragma unroll
    for (u32 g = 0; g < (1 << LOG) / SIZE; ++g) {
        if constexpr (!FIRST) a.template reduce_addends<Pairs<STAGES, 0>>(x + g * SIZE);
        forward_butterflies<A, STAGES, 0>(a, x + g * SIZE, roots);
    }
}

// What the last stage of an inverse transform multiplies by: N^-1, and N^-1 times its root.
struct LastFactors {
    Factor scale, scale_last;
};

// Inverse stages S, S - 1 ... 0, likewise; with LAST, stage 0 is the last of the transform and carries the factors.
template <class A, u32 STAGES, u32 S, bool LAST, class Roots, class Last>
HE_D void inverse_butterflies(const A& a, typename A::Value* x, const Roots& roots, const Last& last) {
    typedef Pairs<STAGES, S> P;
    if constexpr (LAST && S == 0) {
        a.template reduce_before_last<(1 << STAGES), STAGES - 1>(x);
        const LastFactors& factors = last.get();
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) a.inverse_last(x[P::first(i)], x[P::second(i)], factors.scale, factors.scale_last);
    } else {
        a.template reduce_before_stage<(1 << STAGES), STAGES - 1 - S>(x);
        a.template inverse_stage<P>(x, [&](u32 block) { return roots.get(a, S, block); });
    }
    if constexpr (S > 0) inverse_butterflies<A, STAGES, S - 1, LAST>(a, x, roots, last);
}

// Inverse stages over bits LOW ... HIGH; with LAST, the last stage carries the factors.
template <class A, u32 LOG, u32 HIGH, u32 LOW, bool LAST, class Roots, class Last>
HE_D void inverse_pass(const A& a, typename A::Value* x, const Roots& read, const Last& last) {
    constexpr u32 STAGES = HIGH - LOW, SIZE = 1 << STAGES;
    const auto& roots = roots_from(a, read);
#pragma unroll
    for (u32 g = 0; g < (1 << LOG) / SIZE; ++g) {
        inverse_butterflies<A, STAGES, STAGES - 1, LAST>(a, x + g * SIZE, roots, last);
        if constexpr (!LAST) a.template reduce_after_pass<SIZE, STAGES>(x + g * SIZE);
    }
}

template <class A, u32 LOG, u32 HIGH, u32 LOW>
HE_D void to_shared(const typename A::Value* x, typename A::Value* shared, u32 thread) {
    typedef Points<LOG, HIGH, LOW> P;
    typename A::Value* to = shared + place(P::first(thread));
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) to[place(P::step(r))] = x[r];
}

template <class A, u32 LOG, u32 HIGH, u32 LOW>
HE_D void from_shared(typename A::Value* x, const typename A::Value* shared, u32 thread) {
    typedef Points<LOG, HIGH, LOW> P;
    const typename A::Value* from = shared + place(P::first(thread));
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) x[r] = from[place(P::step(r))];
}

// The top bit of the last pass.
template <u32 LOG>
HE_HD constexpr u32 last_high(u32 high, u32 end) {
    while (forward_low<LOG>(high, end) > end) high = forward_low<LOG>(high, end);
    return high;
}

// The forward stages from bit HIGH down to bit END, the registers loaded and `roots` read for the first pass; they end as the last pass
// left them. `first` is 2^(stages before).
template <class A, u32 LOG, u32 HIGH, u32 END, bool FIRST, class Roots, class Table>
HE_D void forward_passes(const A& a, typename A::Value* x, typename A::Value* shared, const Roots& roots, const Table& table,
                         u32 thread, u32 base, u32 first, u32 log_n) {
    constexpr u32 LOW = forward_low<LOG>(HIGH, END);
    if constexpr (LOW > END) {
        constexpr u32 NEXT_LOW = forward_low<LOG>(LOW, END);
        u32 next_first = first << (HIGH - LOW);
        auto next = reading<LOG>([&] { return read_roots<A, LOG, LOW, NEXT_LOW>(table, thread, base, next_first, log_n); });
        forward_pass<A, LOG, HIGH, LOW, FIRST>(a, x, roots);
        to_shared<A, LOG, HIGH, LOW>(x, shared, thread);
        exchange_barrier<HIGH - LOG>();
        from_shared<A, LOG, LOW, NEXT_LOW>(x, shared, thread);
        forward_passes<A, LOG, LOW, END, false>(a, x, shared, next.get(), table, thread, base, next_first, log_n);
    } else {
        forward_pass<A, LOG, HIGH, LOW, FIRST>(a, x, roots);
    }
}

// The inverse stages from bit LOW up to bit END, likewise; `first` belongs to END.
template <class A, u32 LOG, u32 LOW, u32 END, bool LAST, class Roots, class Table, class Last>
HE_D void inverse_passes(const A& a, typename A::Value* x, typename A::Value* shared, const Roots& roots, const Table& table,
                         u32 thread, u32 base, u32 first, u32 log_n, const Last& last) {
    constexpr u32 HIGH = inverse_high<LOG>(LOW, END);
    if constexpr (HIGH < END) {
        constexpr u32 NEXT_HIGH = inverse_high<LOG>(HIGH, END);
        auto next = reading<LOG>([&] { return read_roots<A, LOG, NEXT_HIGH, HIGH>(table, thread, base, first << (END - NEXT_HIGH), log_n); });
        inverse_pass<A, LOG, HIGH, LOW, false>(a, x, roots, last);
        to_shared<A, LOG, HIGH, LOW>(x, shared, thread);
        exchange_barrier<NEXT_HIGH - LOG>();
        from_shared<A, LOG, NEXT_HIGH, HIGH>(x, shared, thread);
        inverse_passes<A, LOG, HIGH, END, LAST>(a, x, shared, next.get(), table, thread, base, first, log_n, last);
    } else {
        inverse_pass<A, LOG, HIGH, LOW, LAST>(a, x, roots, last);
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
// Half of a tile, as one of its own.
HE_D Tile half_of(const Tile& t, u32 half) { return Tile{t.row, t.limb, t.entry, 2 * t.tile + half, t.digit, t.part, t.prime}; }

HE_D Tile tile_at(const NttArgs& a, u32 x, u32 limb) {
    u32 entry = x >> a.log_tiles, digit = a.own != TRANSFORM_OWN ? blockIdx.z : 0;
    return Tile{limb * a.limbs.batch + entry, limb, entry, x & ((1u << a.log_tiles) - 1), digit, blockIdx.z - digit, prime_of(a.limbs, limb)};
}
HE_D Tile tile_of(const NttArgs& a) { return tile_at(a, blockIdx.x, blockIdx.y); }
HE_D Tile tile_of(const FineNttArgs& a) { return tile_at(a, blockIdx.x, a.strips[blockIdx.y].limb()); }
// The same in the second of two kernels, which may begin with the last rows if it is one for many.
HE_D Tile tile_of_second(const NttArgs& a) {
    u32 backwards = a.order >> 31;
    return tile_at(a, a.order * blockIdx.x + backwards * (gridDim.x - 1), a.order * blockIdx.y + backwards * (gridDim.y - 1));
}
HE_D Tile tile_of_second(const FineNttArgs& a) { return tile_of(a); }

// Whether there is nothing to transform: the polynomial lacks the limb, or it belongs to the digit, whose residues modulo its own primes
// are those of the input.
HE_D bool is_absent(const NttArgs& a, const Tile& t) { return t.limb < a.absent && t.part < 2; }
HE_D const Basis& basis_of(const NttArgs& a, const Tile& t) { return a.bases[t.digit]; }
template <class Args>
HE_D Basis basis_of(const ConvertNttArgs<Args>& a, const Tile& t) {
    return a.bases == nullptr ? a.few[t.digit] : a.bases[t.digit];
}
template <class Args>
HE_D bool is_own(const Args& a, const Tile& t) {
    if (a.own == TRANSFORM_OWN) return false;
    const Basis& digit = basis_of(a, t);
    return (t.limb < a.limbs.split) & (t.limb - digit.own_first < digit.own_count);
}

// Where an inverse transform stores its row.
HE_D u64* placed_row(const NttArgs& a, const Tile& t) {
    u32 limb = t.limb < a.limbs.split ? a.place[0] + t.limb * a.spread : a.place[1] + (t.limb - a.limbs.split) * a.spread;
    return a.dst[t.part] + (((size_t)limb * a.limbs.batch + t.entry) << a.log_n);
}

// The roots of a tile's prime, and their arithmetic.
struct Roots {
    u64 address;
    bool is_short;
    template <class A>
    HE_D const typename A::Root* table() const { return reinterpret_cast<const typename A::Root*>(address); }
};
// The table, as the kernels of many and of few rows read it.
template <class A>
HE_D GlobalTable<typename A::Root> table_of(const NttArgs&, const Roots& roots) { return {roots.template table<A>()}; }
template <class A>
HE_D const typename A::Root* table_of(const FineNttArgs&, const Roots& roots) { return in_global(roots.template table<A>()); }
HE_D Roots forward_roots_of(const NttArgs&, const Tile&, const Prime& p) { return Roots{(u64)p.roots, p.is_short != 0}; }
HE_D Roots inverse_roots_of(const NttArgs&, const Tile&, const Prime& p) { return Roots{(u64)p.inverse_roots, p.is_short != 0}; }
HE_D Roots known_roots(const Strip& strip) { return Roots{strip.roots(), strip.is_short()}; }
HE_D Roots forward_roots_of(const FineNttArgs& a, const Tile&, const Prime&) { return known_roots(a.strips[blockIdx.y]); }
HE_D Roots inverse_roots_of(const FineNttArgs& a, const Tile&, const Prime&) { return known_roots(a.strips[blockIdx.y]); }

// The prime of a tile: read whole and early where threads have few points, and blocks are few.
template <u32 LOG>
HE_D decltype(auto) prime_of_tile(const NttArgs& a, const Tile& t) {
    const Prime& p = a.primes[t.prime];
    if constexpr (LOG <= 3) return Prime(p);
    else return (p);
}
// What has been read so far is on the way before a branch that waits for some of it.
template <u32 LOG>
HE_D void read_before_branch() {
    if constexpr (LOG <= 3) __syncwarp();
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
    typedef Points<LOG, HIGH, LOW> P;
    const u64* from = src + index(P::first(thread));
    if constexpr (POINTS <= 8) {
        // All points at a time; the next source is on the way. A loop, since code that runs once waits for itself to be fetched.
        u64 y[POINTS];
        auto load = [&](u32 i, u64* to) {
#pragma unroll
            for (u32 r = 0; r < POINTS; ++r) to[r] = from[i * stride + index.step(P::step(r))];
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
        for (u32 r = 0; r < POINTS; ++r) y[r] = from[index.step(P::step(r))];
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
        from_shared<A, LOG, HIGH, LOW>(x, shared, thread);
    }
}

// The words that a thread transforms, as they are in memory.
template <u32 LOG>
struct Words {
    static constexpr u32 COUNT = 1 << LOG;
    u64 of[COUNT];
};

// A word that a transform begins with or subtracts from, and one of its results. Where threads have many points, words are many as well,
// and leave the caches first: room for what the first of two kernels writes and the second one reads.
template <u32 LOG>
HE_D u64 load_word(const u64* from) {
    if constexpr (LOG <= 3) return *from;
    else return __ldcs(from);
}
template <u32 LOG>
HE_D void store_word(u64* to, u64 word) {
    if constexpr (LOG <= 3) *to = word;
    else __stcs(to, word);
}

// Those of the pass over bits LOW ... HIGH; `index` gives a point's place in the row. With FIRST, the transform begins with them.
template <u32 LOG, u32 HIGH, u32 LOW, bool FIRST, class Index>
HE_D Words<LOG> read_points(const u64* row, u32 thread, Index index) {
    typedef Points<LOG, HIGH, LOW> P;
    Words<LOG> words;
    const u64* from = row + index(P::first(thread));
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) {
        const u64* word = from + index.step(P::step(r));
        words.of[r] = FIRST ? load_word<LOG>(word) : *word;
    }
    return words;
}
template <class A, u32 LOG, bool PACKED>
HE_D void load_points(const A& a, const Words<LOG>& words, typename A::Value* x) {
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) x[r] = PACKED ? A::unpack(words.of[r]) : a.load(words.of[r]);
}

HE_D const u64* source_row(const NttArgs& a, const Tile& t) { return a.src[t.part] + t.digit * a.src_digit + ((size_t)t.row << a.log_n); }

// The registers for the first forward pass over bits LOW ... HIGH, converted.
template <class A, u32 LOG, u32 TILE, u32 HIGH, u32 LOW, class Args, class Index>
HE_D void convert_row(const Args& a, const Tile& t, const A& arithmetic, const Prime& p, typename A::Value* x, typename A::Value* shared,
                      u32 thread, Index index) {
    const Basis& basis = basis_of(a, t);
    size_t stride = (size_t)a.limbs.batch << a.log_n;
    const u64* src = a.src[t.part] + t.digit * a.src_digit + ((size_t)t.entry << a.log_n) + basis.first * stride;
    load_converted<A, LOG, TILE, HIGH, LOW>(basis, src, stride, t.limb, arithmetic, p, x, shared, thread, index);
}

// Where a row of the destination begins, of what is subtracted from, and of what is added then, which may be nowhere.
HE_D u64* result_row(const NttArgs& a, const Tile& t) { return a.dst[t.part] + t.digit * a.dst_digit + ((size_t)t.row << a.log_n); }
HE_D const u64* acc_row(const NttArgs& a, const Tile& t) { return a.acc[t.part] + ((size_t)t.row << a.log_n); }
HE_D const u64* addend_row(const NttArgs& a, const Tile& t) {
    return a.addend != nullptr && t.part == 0 ? a.addend + ((size_t)t.row << a.log_n) : nullptr;
}

// Stores values, those at indices i, i + step ...
template <class A, u32 LOG, bool BY_BITS = false>
HE_D void store_values(const NttArgs& a, const Tile& t, const A& arithmetic, u32 i, u32 step, const typename A::Value* x) {
    u64* dst = result_row(a, t);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) store_word<LOG>(dst + i + r * step, arithmetic.template store<BY_BITS>(x[r]));
}

// (acc - value) factor, plus the addend if there is one, where the automorphism takes it. All loads come before the first store.
//
// The exponent of index i is 2 i' + 1 with the bits of i in reverse. With these as the high bits of a word, the image of i under the
// automorphism with inverse g has g i' + (g - 1) / 2, and bits that an index does not share with another add up.
template <class A, u32 LOG, class ReadFactor, class ReadAcc, class ReadAddend>
HE_D void store_differences(const NttArgs& a, const Tile& t, const A& arithmetic, const Prime& p, u32 i, u32 step,
                            typename A::Value* x, const ReadFactor& factor, const ReadAcc& acc, const ReadAddend& addend) {
    Factor f = factor.get();
    u32 galois = a.galois;
    Words<LOG> words = acc.get();
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) x[r] = arithmetic.scaled_difference(words.of[r], x[r], f);
    if (addend_row(a, t) != nullptr) {
        words = addend.get();
#pragma unroll
        for (u32 r = 0; r < words.COUNT; ++r) x[r] = Terms<A>::add(p, x[r], arithmetic.load(words.of[r]));
    }
    u64* dst = result_row(a, t);
    if (galois == 1) {
#pragma unroll
        for (u32 r = 0; r < words.COUNT; ++r) dst[i + r * step] = arithmetic.store(x[r]);
    } else {
        u32 first = galois * __brev(i) + ((galois - 1) << (31 - a.log_n));
#pragma unroll
        for (u32 r = 0; r < words.COUNT; ++r) dst[__brev(first + galois * __brev(r * step))] = arithmetic.store(x[r]);
    }
}

// Points of a run of rows, and of columns: the low ROW_BITS bits of the index are those of a row, in tiles of 2^TILE neighbouring points;
// the high BITS bits those of a column, in tiles of 2^(TILE - BITS) neighbouring columns. `step` is how much further on in a row a
// point is than one that it shares no bits with.
template <u32 TILE>
struct RowIndex {
    u32 base;
    HE_D explicit RowIndex(u32 tile) : base(tile << TILE) {}
    HE_D u32 operator()(u32 i) const { return base + i; }
    HE_D static constexpr u32 step(u32 i) { return i; }
};
template <u32 TILE, u32 BITS, u32 ROW_BITS>
struct ColumnIndex {
    static constexpr u32 LOG_COLUMNS = TILE - BITS;
    u32 column;
    HE_D explicit ColumnIndex(u32 tile) : column(tile << LOG_COLUMNS) {}
    HE_D u32 operator()(u32 i) const { return column + step(i); }
    HE_D static constexpr u32 step(u32 i) { return ((i >> LOG_COLUMNS) << ROW_BITS) + (i & ((1 << LOG_COLUMNS) - 1)); }
};

// Neighbouring threads read neighbouring words.
template <u32 LOG>
HE_D Words<LOG> read_run(const u64* run) {
    Words<LOG> words;
    u32 first = first_of_run<LOG>(threadIdx.x);
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) words.of[r] = load_word<LOG>(run + first + r * WARP_STEP);
    return words;
}

// What an inverse transform loads from `from`, or a forward one subtracts from: words of the tile's polynomial, or the left factor of its
// part of a product of pairs (of part 1, of its first product). Only of products, their right factor.
template <u32 LOG, u32 TILE>
HE_D Words<LOG> read_tile(const u64* polynomial, const NttArgs& a, const Tile& t) {
    return read_run<LOG>(polynomial + ((size_t)t.row << a.log_n) + (t.tile << TILE));
}
template <u32 LOG, u32 TILE, u32 OPERAND>
HE_D Words<LOG> read_left(const NttArgs& a, const Tile& t, const u64* const (&from)[4]) {
    if constexpr (OPERAND == NOTHING) return Words<LOG>{};
    else return read_tile<LOG, TILE>(from[OPERAND == WORDS ? t.part : OPERAND == LAST_PRODUCT ? 1 : t.part / 2], a, t);
}
template <u32 LOG, u32 TILE, u32 OPERAND>
HE_D Words<LOG> read_right(const NttArgs& a, const Tile& t, const u64* const (&from)[4]) {
    if constexpr (OPERAND < LAST_PRODUCT) return Words<LOG>{};
    else return read_tile<LOG, TILE>(from[OPERAND == LAST_PRODUCT ? 3 : 2 + (t.part + 1) / 2], a, t);
}
// The products.
template <u32 LOG, u32 TILE, u32 OPERAND, class A, class Left, class Right>
HE_D void load_products(const NttArgs& a, const Tile& t, const u64* const (&from)[4], const A& arithmetic, const Prime& p, const Left& left,
                        const Right& right, typename A::Value* x) {
    typedef Terms<A> T;
    load_points<A, LOG, false>(arithmetic, left.get(), x);
    Words<LOG> words = right.get();
#pragma unroll
    for (u32 r = 0; r < words.COUNT; ++r) x[r] = T::mul(arithmetic, p, x[r], arithmetic.load(words.of[r]));
    if constexpr (OPERAND == TENSOR) {
        if (t.part != 1) return;
        typename A::Value y[1 << LOG];
        load_points<A, LOG, false>(arithmetic, read_tile<LOG, TILE>(from[1], a, t), y);
        words = read_tile<LOG, TILE>(from[2], a, t);
#pragma unroll
        for (u32 r = 0; r < words.COUNT; ++r) x[r] = T::add(p, x[r], T::mul(arithmetic, p, y[r], arithmetic.load(words.of[r])));
    }
}

// What is added to differences.
template <u32 LOG, u32 TILE, u32 OPERAND>
HE_D auto addend_of(const NttArgs& a, const Tile& t) {
    return reading<LOG>([&] {
        const u64* row = OPERAND == WORDS ? addend_row(a, t) : nullptr;
        return row != nullptr ? read_run<LOG>(row + (t.tile << TILE)) : Words<LOG>{};
    });
}

// The rows kernel.
template <u32 LOG, u32 TILE, u32 BITS>
HE_D Words<LOG> read_rows(const NttArgs& a, const Tile& t) {
    return read_points<LOG, BITS, forward_low<LOG>(BITS, 0), false>(source_row(a, t), threadIdx.x, RowIndex<TILE>(t.tile));
}
template <u32 LOG, u32 TILE, u32 BITS, bool WHOLE, bool CONVERT, u32 OPERAND, class A, class Table, class Read, class Left, class Right,
          class Addend>
HE_D void forward_rows(const NttArgs& a, const Tile& t, const Prime& p, const Table& table, const A& arithmetic,
                       const Read& reading_words, const Left& acc, const Right& acc_right, const Addend& addend) {
    SHARED(typename A::Value, shared);
    typename A::Value x[1 << LOG];
    u32 thread = thread_of<LOG, TILE>(), base = t.tile << TILE, first_node = 1u << (a.log_n - BITS);
    auto factor = reading<LOG>([&] { return OPERAND != NOTHING ? a.factors[t.limb] : Factor{}; });
    auto roots = reading<LOG>([&] { return read_roots<A, LOG, BITS, forward_low<LOG>(BITS, 0)>(table, thread, base, first_node, a.log_n); });
    if constexpr (!WHOLE) {
        bool own = is_own(a, t);
        read_before_branch<LOG>();
        if (own) return;
    }
    if constexpr (CONVERT) {
        convert_row<A, LOG, TILE, BITS, forward_low<LOG>(BITS, 0)>(a, t, arithmetic, p, x, shared, thread, RowIndex<TILE>(t.tile));
    } else {
        load_points<A, LOG, !WHOLE>(arithmetic, reading_words.get(), x);
    }
    forward_passes<A, LOG, BITS, 0, WHOLE>(arithmetic, x, shared, roots.get(), table, thread, base, first_node, a.log_n);
    // Back to neighbouring threads on neighbouring words.
    u32 first = first_of_run<LOG>(thread);
    to_shared<A, LOG, last_high<LOG>(BITS, 0), 0>(x, shared, thread);
    exchange_barrier<WARP_LOG>();
    const typename A::Value* from = shared + place(first);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) x[r] = from[place(r * WARP_STEP)];
    if constexpr (OPERAND == TENSOR) {
        auto words = when_needed([&] {
            typename A::Value products[1 << LOG];
            load_products<LOG, TILE, TENSOR>(a, t, a.acc, arithmetic, p, acc, acc_right, products);
            Words<LOG> words;
#pragma unroll
            for (u32 r = 0; r < words.COUNT; ++r) words.of[r] = arithmetic.store(products[r]);
            return words;
        });
        store_differences<A, LOG>(a, t, arithmetic, p, base + first, WARP_STEP, x, factor, words, addend);
    } else if constexpr (OPERAND == WORDS) store_differences<A, LOG>(a, t, arithmetic, p, base + first, WARP_STEP, x, factor, acc, addend);
    else store_values<A, LOG, (LOG > 3 && !WHOLE)>(a, t, arithmetic, base + first, WARP_STEP, x);
}

// The digit's own limbs, copied if asked: the same places that the transform would write.
template <u32 TILE>
HE_D void copy_own(const NttArgs& a, const Tile& t) {
    size_t at = ((size_t)t.row << a.log_n) + ((size_t)t.tile << TILE);
    u64* dst = a.dst[t.part] + t.digit * a.dst_digit + at;
    for (u32 i = threadIdx.x; i < (1u << TILE); i += blockDim.x) dst[i] = a.acc[0][at + i];
}

// The columns kernel.
template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS>
HE_D Words<LOG> read_columns(const NttArgs& a, const Tile& t) {
    constexpr u32 LOW = forward_low<LOG>(TILE, TILE - BITS);
    return read_points<LOG, TILE, LOW, true>(source_row(a, t), threadIdx.x, ColumnIndex<TILE, BITS, ROW_BITS>(t.tile));
}
template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, bool CONVERT, class A, class Args, class Table, class Read>
HE_D void forward_columns(const Args& a, const Tile& t, const Prime& p, const Table& table, const A& arithmetic,
                          const Read& reading_words) {
    SHARED(typename A::Value, shared);
    constexpr u32 LOG_COLUMNS = TILE - BITS;
    typename A::Value x[1 << LOG];
    u32 thread = threadIdx.x;
    ColumnIndex<TILE, BITS, ROW_BITS> index(t.tile);
    auto roots = reading<LOG>([&] { return read_roots<A, LOG, TILE, forward_low<LOG>(TILE, LOG_COLUMNS)>(table, thread, 0, 1, a.log_n); });
    bool own = is_own(a, t);
    read_before_branch<LOG>();
    if (own) {
        if (a.own == COPY_OWN) copy_own<TILE>(a, t);
        return;
    }
    if constexpr (CONVERT) {
        convert_row<A, LOG, TILE, TILE, forward_low<LOG>(TILE, LOG_COLUMNS)>(a, t, arithmetic, p, x, shared, thread, index);
    } else {
        load_points<A, LOG, false>(arithmetic, reading_words.get(), x);
    }
    forward_passes<A, LOG, TILE, LOG_COLUMNS, true>(arithmetic, x, shared, roots.get(), table, thread, 0, 1, a.log_n);
    typedef Points<LOG, last_high<LOG>(TILE, LOG_COLUMNS), LOG_COLUMNS> P;
    u64* dst = result_row(a, t) + index(P::first(thread));
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) dst[index.step(P::step(r))] = A::pack(x[r]);
}

HE_D LastFactors last_factors(const NttArgs& a, const Tile& t) {
    return LastFactors{a.scale[t.part >> 1][t.prime], a.scale_last[t.part >> 1][t.prime]};
}

template <u32 LOG, u32 TILE, u32 BITS, bool WHOLE, u32 OPERAND, class A, class Table, class Left, class Right>
HE_D void inverse_rows(const NttArgs& a, const Tile& t, const Prime& p, const Table& table, const A& arithmetic,
                       const Left& left, const Right& right) {
    SHARED(typename A::Value, shared);
    constexpr u32 HIGH = inverse_high<LOG>(0, BITS);
    typename A::Value x[1 << LOG];
    u32 thread = thread_of<LOG, TILE>(), first = first_of_run<LOG>(thread), base = t.tile << TILE, first_node = 1u << (a.log_n - BITS);
    auto last = reading<LOG>([&] { return WHOLE ? last_factors(a, t) : LastFactors{}; });
    auto roots = reading<LOG>([&] { return read_roots<A, LOG, HIGH, 0>(table, thread, base, first_node << (BITS - HIGH), a.log_n); });
    if constexpr (OPERAND == WORDS) load_points<A, LOG, false>(arithmetic, left.get(), x);
    else load_products<LOG, TILE, OPERAND>(a, t, a.src, arithmetic, p, left, right, x);
    typename A::Value* to = shared + place(first);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) to[place(r * WARP_STEP)] = x[r];
    exchange_barrier<WARP_LOG>();
    from_shared<A, LOG, HIGH, 0>(x, shared, thread);
    inverse_passes<A, LOG, 0, BITS, WHOLE>(arithmetic, x, shared, roots.get(), table, thread, base, first_node, a.log_n, last);
    typedef Points<LOG, BITS, last_low<LOG>(0, BITS)> P;
    u64* dst = placed_row(a, t) + base + P::first(thread);
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) dst[P::step(r)] = WHOLE ? arithmetic.store_last(x[r]) : A::pack(x[r]);
}

// `also` gets each word that is stored, and its place in dst.
template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, class A, class Table, class Read, class Also>
HE_D void inverse_columns(const NttArgs& a, const Tile& t, const Table& table, const A& arithmetic, const Read& reading_words,
                          Also also) {
    SHARED(typename A::Value, shared);
    constexpr u32 LOG_COLUMNS = TILE - BITS, HIGH = inverse_high<LOG>(LOG_COLUMNS, TILE);
    typename A::Value x[1 << LOG];
    u32 thread = thread_of<LOG, TILE>();
    ColumnIndex<TILE, BITS, ROW_BITS> index(t.tile);
    u64* row = placed_row(a, t);
    auto last = reading<LOG>([&] { return last_factors(a, t); });
    auto roots = reading<LOG>([&] { return read_roots<A, LOG, HIGH, LOG_COLUMNS>(table, thread, 0, 1u << (TILE - HIGH), a.log_n); });
    load_points<A, LOG, true>(arithmetic, reading_words.get(), x);
    inverse_passes<A, LOG, LOG_COLUMNS, TILE, true>(arithmetic, x, shared, roots.get(), table, thread, 0, 1, a.log_n, last);
    typedef Points<LOG, TILE, last_low<LOG>(LOG_COLUMNS, TILE)> P;
    u64* dst = row + index(P::first(thread));
#pragma unroll
    for (u32 r = 0; r < (1 << LOG); ++r) {
        u64 word = arithmetic.template store_last<(LOG > 3)>(x[r]), *to = dst + index.step(P::step(r));
        store_word<LOG>(to, word);
        also(word, to - a.dst[t.part]);
    }
}
