// Arguments of base conversions of rows of coefficients.
#pragma once
#include "conversion.cuh"
#include "rows.cuh"

// Base conversion of coefficients that are multiplied by (D / d_i)^-1 already; mirrored by `key_switch::ConvertArgs`.
// blockIdx.y: digit; blockIdx.z: one of up to four polynomials. The grid's rows are [batch] alone.
struct ConvertArgs {
    Grid grid;
    const Basis* bases[2]; // of the first two polynomials and of the others
    const u64* src[4];
    u64* dst[4];
    size_t dst_digit;
    u32 skip_own, targets;
};
