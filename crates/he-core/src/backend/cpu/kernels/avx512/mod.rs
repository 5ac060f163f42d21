//! The loops with AVX-512, eight words at a time. Primes below 2^50 use the 52-bit multipliers
//! (IFMA), twice as fast as the multiplications for 61 bits.

mod convert;
mod field;
mod ntt;
mod rows;
mod words;

use super::{DigitRows, NttRoots, portable};

pub(super) use convert::{lift, permute, recompose};
pub(super) use rows::{
    add, add_scalar, key_product, mul, mul_add, neg, reduce_signed, scale, scale_add, sub, sub_scale, tensor,
};
pub(super) use words::Avx512;

pub(super) fn ntt(simd: Avx512, table: &NttRoots, a: &mut [u64]) {
    if a.len() < ntt::MIN_N { portable::ntt(table, a) } else { ntt::forward(simd, table, a) }
}

pub(super) fn intt(simd: Avx512, table: &NttRoots, a: &mut [u64]) {
    if a.len() < ntt::MIN_N { portable::intt(table, a) } else { ntt::inverse(simd, table, a) }
}
