//! The loops with AVX-512, eight words at a time. Primes below 2^50 use the 52-bit multipliers
//! (IFMA), twice as fast as the multiplications for 61 bits.

mod convert;
mod field;
mod ntt;
mod rows;
mod words;

use super::{DigitRows, NttRoots, portable};

pub(super) use convert::{center, lift, permute, recompose};
pub(super) use rows::{
    add, add_scalar, key_product, mul, mul_add, neg, reduce_signed, scale, scale_add, sub, sub_scale, tensor,
};
pub(super) use words::Avx512;

pub(super) fn ntt(simd: Avx512, table: &NttRoots, a: &mut [u64]) {
    if a.len() < ntt::MIN_N { portable::ntt(table, a) } else { ntt::forward(simd, table, a) }
}

pub(super) fn ntt_signed(simd: Avx512, table: &NttRoots, coefficients: &[u64], most: u64, out: &mut [u64]) {
    if ntt::takes_signed(table, most) {
        ntt::forward_signed(simd, table, coefficients, out);
    } else {
        out.copy_from_slice(coefficients);
        reduce_signed(simd, table.modulus(), out);
        ntt(simd, table, out);
    }
}

pub(super) fn intt(simd: Avx512, table: &NttRoots, a: &mut [u64]) {
    if a.len() < ntt::MIN_N { portable::intt(table, a) } else { ntt::inverse(simd, table, a) }
}
