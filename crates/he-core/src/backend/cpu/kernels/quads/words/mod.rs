//! Four 64-bit words in registers, as plain values.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
use crate::lanes::Lanes;
#[cfg(target_arch = "aarch64")]
use crate::lanes::Neon;
use std::ops::{Add, Sub};

/// Four words. Operators wrap; no operation carries between words.
pub(in crate::backend::cpu::kernels) trait Words:
    Copy + Add<Output = Self> + Sub<Output = Self>
{
    type Lanes: Lanes;
    /// The lower and the upper halves of four words, as multipliers take them.
    type Halves: Copy;

    /// The same word four times.
    fn splat(lanes: Self::Lanes, word: u64) -> Self;
    fn load(lanes: Self::Lanes, x: &[u64; 4]) -> Self;
    fn store(self, x: &mut [u64; 4]);
    fn halves(self) -> Self::Halves;
    /// floor(x y / 2^64), or up to 2 less: the sum of three products of halves, two of which are
    /// divided by 2^32.
    fn mul_high(x: Self::Halves, y: Self::Halves) -> Self;
    /// The product of x less that of y.
    fn mul_sub_mul(x: [Self::Halves; 2], y: [Self::Halves; 2]) -> Self;
    /// self - m if self >= m, else self; for differences from -2^63 to 2^63 - 1.
    fn less(self, m: Self) -> Self;
    /// Word i of x_j becomes word j of x_i.
    fn transpose(x: [Self; 4]) -> [Self; 4];
    /// The even and the odd words of eight.
    fn deinterleave(a: Self, b: Self) -> (Self, Self);
}

/// Lanes of doubles whose processor has words in registers of the same size.
pub(in crate::backend::cpu::kernels) trait WordLanes: Lanes {
    type Words: Words<Lanes = Self>;
}

#[cfg(target_arch = "x86_64")]
impl WordLanes for Avx2 {
    type Words = avx2::Line;
}

#[cfg(target_arch = "aarch64")]
impl WordLanes for Neon {
    type Words = neon::Line;
}
