//! The loops four words at a time, with AVX2 and FMA or with NEON: in doubles for primes below
//! 2^50, since fused multiply-adds are the widest multipliers where there are no 52-bit ones; in
//! words for transforms modulo wider primes; and in portable code, compiled for these instructions,
//! for other loops modulo those. Residues are canonical at the end of each loop, and therefore the
//! same words as everywhere.

mod butterflies;
mod convert;
mod field;
mod ntt;
mod rows;
mod wide;
mod words;

use super::{CHUNK, DigitRows, NttRoots, Permutation, Target, portable};
use crate::arith::{Modulus, ShoupFactor};
use crate::ring::BaseConversion;
use words::WordLanes;

/// Whether residues, and sums of a few, are integers that doubles hold exactly.
fn is_narrow(q: &Modulus) -> bool {
    q.bits() <= 50
}

/// Functions that use the loop of four words under a condition, and otherwise the portable one, in
/// both cases with the instructions of the lanes.
macro_rules! loops {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) if $condition:expr => $float:path;)*) => {$(
        pub(super) fn $name<L: WordLanes>(simd: L, $($argument: $type),*) {
            if $condition {
                simd.run(#[inline(always)] |l| $float(l, $($argument),*));
            } else {
                simd.run(#[inline(always)] |_| portable::$name($($argument),*));
            }
        }
    )*};
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        pub(super) fn $name<L: WordLanes>(simd: L, $($argument: $type),*) {
            simd.run(#[inline(always)] |_| portable::$name($($argument),*));
        }
    )*};
}

loops! {
    fn ntt(table: &NttRoots, a: &mut [u64]) if ntt::is_fit(table.table()) => ntt::forward;
    fn intt(table: &NttRoots, a: &mut [u64]) if ntt::is_fit(table.table()) => ntt::inverse;
    fn mul(q: &Modulus, a: &mut [u64], b: &[u64]) if is_narrow(q) => rows::mul;
    fn mul_add(q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]) if is_narrow(q) => rows::mul_add;
    fn scale(q: &Modulus, a: &mut [u64], w: ShoupFactor) if is_narrow(q) => rows::scale;
    fn scale_add(q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor) if is_narrow(q) => rows::scale_add;
    fn sub_scale(q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor) if is_narrow(q) => rows::sub_scale;
    fn tensor(q: &Modulus, a: [&[u64]; 2], b: [&[u64]; 2], d: [&mut [u64]; 3]) if is_narrow(q) => rows::tensor;
    fn key_product(q: &Modulus, digits: &[DigitRows<'_>], out: [&mut [u64]; 2])
        if is_narrow(q) && out[0].len().is_multiple_of(4) => rows::key_product;
    fn lift(conversion: &BaseConversion, rows: &[&[u64]], y: &mut [u64], overflow: &mut [u64])
        if overflow.len().is_multiple_of(4) && conversion.from().iter().all(is_narrow) => convert::lift;
    fn recompose(conversion: &BaseConversion, y: &[u64], overflow: &[u64], targets: &mut [Target<'_>])
        if overflow.len().is_multiple_of(4) && conversion.from().iter().all(is_narrow) => convert::recompose;
}

loops! {
    fn add(q: &Modulus, a: &mut [u64], b: &[u64]);
    fn sub(q: &Modulus, a: &mut [u64], b: &[u64]);
    fn neg(q: &Modulus, a: &mut [u64]);
    fn add_scalar(q: &Modulus, a: &mut [u64], c: u64);
    fn reduce_signed(q: &Modulus, a: &mut [u64]);
    fn center(conversion: &BaseConversion, x: &[u64], out: &mut [u64]);
    fn permute(permutation: &Permutation, at: usize, src: &[u64], out: &mut [u64]);
}

pub(super) fn ntt_signed<L: WordLanes>(
    simd: L,
    table: &NttRoots,
    coefficients: &[u64],
    _most: u64,
    out: &mut [u64],
) {
    out.copy_from_slice(coefficients);
    reduce_signed(simd, table.modulus(), out);
    ntt(simd, table, out);
}
