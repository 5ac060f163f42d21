// Arguments of base conversions of rows of coefficients.
#pragma once
#include "conversion.cuh"
#include "rows.cuh"

// Base conversion of coefficients that are multiplied by (D / d_i)^-1 already; mirrored by `key_switch::ConvertArgs`.
// The grid's rows are [batch] alone. Where it is all that a kernel takes, blockIdx.y: digit; blockIdx.z: one of up to four polynomials.
struct ConvertArgs {
    Grid grid;
    const Basis* bases[2]; // of the first two polynomials and of the others
    const u64* src[4];
    u64* dst[4];
    size_t dst_digit;
    u32 skip_own, targets;
};

// A conversion, or two: what the first one makes of polynomial `then` and those after it, the second one converts further, as its
// polynomials 0, 1 ... In both a thread, or a block, has the same coefficients. blockIdx.y: digit; blockIdx.z: one of up to four
// polynomials, beginning with the last one, which has more to do. Mirrored by `key_switch::ConvertStepsArgs`.
struct ConvertStepsArgs {
    ConvertArgs steps[2];
    u32 count, then;
};

// Calls `convert` with each step and the polynomial in it.
template <class Convert>
HE_D void convert_steps(const ConvertStepsArgs& a, Convert convert) {
    u32 part = gridDim.z - 1 - blockIdx.z;
#pragma unroll 1
    for (u32 i = 0;;) {
        convert(a.steps[i], part);
        if (++i == a.count || part < a.then) return;
        part -= a.then;
        __syncthreads(); // shared memory has been read, and what other threads wrote can be
    }
}
