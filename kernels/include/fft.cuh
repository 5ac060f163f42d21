// The special FFT of he_core::ring::SpecialFft, bit for bit: float64, each product and each sum rounded, in the host's order.
//
// A block holds a tile of the vector in shared memory: the points whose index has, between its `log_low` low bits and its high bits,
// the number of the tile. Its stages join points that differ in one of those low bits (rows) or in one of those high bits
// (columns), three to a pass in registers. A vector is one tile, or takes a kernel for each kind.
#pragma once
#include "modular.cuh"

constexpr u32 FFT_THREADS = 256;

// Which points a tile has, and which of their bits (counted within the tile) are transformed; mirrored by `embedding::Shape`.
struct FftShape {
    u32 log_slots, log_tile, log_low, from, to, unused;
};

// Shared-memory place of point l: eight points that one access takes lie in different banks.
HE_HD u32 fft_place(u32 l) { return l ^ (((l >> 3) ^ (l >> 7)) & 7); }

HE_HD u32 fft_reverse(u32 x, u32 bits) { return bits == 0 ? 0 : __brev(x) >> (32 - bits); }

// The index of a tile's point l with `low` low bits.
HE_HD u32 fft_index(const FftShape& f, u32 low, u32 tile, u32 l) {
    return (l >> low) << (f.log_slots - f.log_tile + low) | tile << low | (l & ((1u << low) - 1));
}

// Bits reversed: position m of the tile in the order of its places in the reversed vector, and that place.
HE_HD u32 fft_reversed_index(const FftShape& f, u32 tile, u32 m) {
    return fft_index(f, f.log_tile - f.log_low, fft_reverse(tile, f.log_slots - f.log_tile), m);
}

HE_HD double2 fft_mul(double2 x, double re, double im) {
    return make_double2(__dsub_rn(__dmul_rn(x.x, re), __dmul_rn(x.y, im)), __dadd_rn(__dmul_rn(x.x, im), __dmul_rn(x.y, re)));
}
HE_HD double2 fft_add(double2 x, double2 y) { return make_double2(__dadd_rn(x.x, y.x), __dadd_rn(x.y, y.y)); }
HE_HD double2 fft_sub(double2 x, double2 y) { return make_double2(__dsub_rn(x.x, y.x), __dsub_rn(x.y, y.y)); }

template <bool INVERSE>
HE_HD void fft_butterfly(double2& x, double2& y, double2 w) {
    if constexpr (INVERSE) {
        double2 d = fft_sub(x, y);
        x = fft_add(x, y);
        y = fft_mul(d, w.x, -w.y);
    } else {
        double2 v = fft_mul(y, w.x, w.y);
        y = fft_sub(x, v);
        x = fft_add(x, v);
    }
}

// STAGES stages from bit `bit` of the tile on.
template <bool INVERSE, u32 STAGES>
HE_D void fft_pass(const FftShape& f, double2* shared, const double2* roots, u32 tile, u32 bit) {
    constexpr u32 SIZE = 1 << STAGES;
    u32 first = bit < f.log_low ? bit : bit + f.log_slots - f.log_tile; // as a bit of the index
    for (u32 g = threadIdx.x; g < (1u << (f.log_tile - STAGES)); g += blockDim.x) {
        u32 base = (g & ((1u << bit) - 1)) | (g >> bit) << (bit + STAGES);
        const double2* w = roots + (fft_index(f, f.log_low, tile, base) & ((1u << first) - 1));
        double2 x[SIZE];
#pragma unroll
        for (u32 r = 0; r < SIZE; ++r) x[r] = shared[fft_place(base | r << bit)];
#pragma unroll
        for (u32 i = 0; i < STAGES; ++i) {
            u32 s = INVERSE ? STAGES - 1 - i : i;
#pragma unroll
            for (u32 j = 0; j < (1u << s); ++j) {
                double2 root = w[(size_t)((1u << s) + j) << first];
#pragma unroll
                for (u32 k = j; k < SIZE; k += 2u << s) fft_butterfly<INVERSE>(x[k], x[k | 1u << s], root);
            }
        }
#pragma unroll
        for (u32 r = 0; r < SIZE; ++r) shared[fft_place(base | r << bit)] = x[r];
    }
}

// Stages of the next pass of several: no pass of one stage after passes of three.
HE_HD u32 fft_pass_stages(u32 left) { return left == 4 ? 2 : left < 3 ? left : 3; }

// All stages of the tile, which is loaded; barriers are in front of and behind every pass.
template <bool INVERSE>
HE_D void fft_stages(const FftShape& f, double2* shared, const double2* roots, u32 tile) {
    __syncthreads();
    for (u32 done = 0; done < f.to - f.from;) {
        u32 stages = fft_pass_stages(f.to - f.from - done);
        u32 bit = INVERSE ? f.to - done - stages : f.from + done;
        if (stages == 3) {
            fft_pass<INVERSE, 3>(f, shared, roots, tile, bit);
        } else if (stages == 2) {
            fft_pass<INVERSE, 2>(f, shared, roots, tile, bit);
        } else {
            fft_pass<INVERSE, 1>(f, shared, roots, tile, bit);
        }
        __syncthreads();
        done += stages;
    }
}

// The greatest word of a block, in thread 0; `words` is shared memory for one word a thread that nobody uses.
HE_D u64 fft_greatest(u64 x, u64* words) {
    words[threadIdx.x] = x;
    __syncthreads();
    if (threadIdx.x < 16) {
        for (u32 i = threadIdx.x + 16; i < blockDim.x; i += 16) x = max(x, words[i]);
        words[threadIdx.x] = x;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 i = 1; i < min(16u, blockDim.x); ++i) x = max(x, words[i]);
    }
    return x;
}
