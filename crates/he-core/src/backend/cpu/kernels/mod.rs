//! Loops over one row of N words, which is where instruction sets differ.
//!
//! [`Kernels::detect`] chooses once. The portable loops are the reference of the others, and always
//! compiled.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod permutation;
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod quads;
mod roots;
#[cfg(test)]
mod tests;

use crate::arith::{Modulus, ShoupFactor};
#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
#[cfg(target_arch = "aarch64")]
use crate::lanes::Neon;
use crate::ring::BaseConversion;

pub(super) use permutation::Permutation;
pub(super) use roots::NttRoots;

/// An implementation of the row loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernels {
    /// Scalar code for any processor.
    Portable,
    /// Four words at a time, in doubles if the prime allows it.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Eight words at a time, with products of 52 bits if the prime allows it.
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    /// Four words at a time, in doubles if the prime allows it.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

/// The row of one digit, and the rows of both parts of the key by which it is multiplied.
#[derive(Clone, Copy)]
pub(super) struct DigitRows<'a> {
    pub digit: &'a [u64],
    pub key: [KeyRow<'a>; 2],
}

/// A row in blocks of [`BLOCK`](Self::BLOCK) words, which may be apart: word k is word
/// `k / BLOCK * step + k % BLOCK`.
#[derive(Clone, Copy)]
pub(super) struct KeyRow<'a> {
    words: &'a [u64],
    step: usize,
}

impl<'a> KeyRow<'a> {
    /// The words of a block: as many as are multiplied before the next digit's.
    pub(super) const BLOCK: usize = 32;

    /// Blocks from the first of these words on, `step` words from one to the next.
    pub(super) const fn new(words: &'a [u64], step: usize) -> Self {
        Self { words, step }
    }

    /// One block after the other.
    pub(super) const fn flat(words: &'a [u64]) -> Self {
        Self::new(words, Self::BLOCK)
    }

    /// The row without its first blocks.
    pub(super) fn skip_blocks(self, count: usize) -> Self {
        Self { words: &self.words[count * self.step..], step: self.step }
    }

    /// The memory from word `at` of the row on, of this row or of others.
    #[inline(always)]
    fn memory_at(self, at: usize) -> &'a [u64] {
        &self.words[at / Self::BLOCK * self.step + at % Self::BLOCK..]
    }

    /// `len` words of one block, from word `at` of the row on.
    #[inline(always)]
    fn within_block(self, at: usize, len: usize) -> &'a [u64] {
        &self.memory_at(at)[..len]
    }
}

/// The coefficients whose y_i lie next to each other between both halves of a conversion: all
/// sources are one stream of memory, and a chunk of them stays in the first-level cache for all
/// targets.
pub(super) const CHUNK: usize = 64;

/// The index of a target prime, and its row.
pub(super) type Target<'a> = (usize, &'a mut [u64]);

/// Methods that call the function of their name.
macro_rules! dispatch {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        $(#[$attribute])*
        pub(super) fn $name(self, $($argument: $type),*) {
            match self {
                Self::Portable => portable::$name($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2(simd) => quads::$name(simd, $($argument),*),
                #[cfg(target_arch = "x86_64")]
                Self::Avx512(simd) => avx512::$name(simd, $($argument),*),
                #[cfg(target_arch = "aarch64")]
                Self::Neon(simd) => quads::$name(simd, $($argument),*),
            }
        }
    )*};
}

impl Kernels {
    /// The kernels of this processor, the best last.
    pub(super) fn all() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vector = [Avx2::detect().map(Self::Avx2), avx512::Avx512::detect().map(Self::Avx512)];
        #[cfg(target_arch = "aarch64")]
        let vector = [Some(Self::Neon(Neon))];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let vector = [];
        [Some(Self::Portable)].into_iter().chain(vector).flatten()
    }

    /// The best kernels of this processor.
    pub(super) fn detect() -> Self {
        Self::all().next_back().unwrap_or(Self::Portable)
    }

    /// Whether registers have 512 bits.
    pub(super) fn is_wide(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => true,
            _ => false,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "NEON",
        }
    }

    dispatch! {
        /// Coefficients to values.
        fn ntt(table: &NttRoots, a: &mut [u64]);
        /// Coefficients as signed words (two's complement), of magnitude at most `most`, to values
        /// in another row.
        fn ntt_signed(table: &NttRoots, coefficients: &[u64], most: u64, out: &mut [u64]);
        /// Values to coefficients.
        fn intt(table: &NttRoots, a: &mut [u64]);
        fn add(q: &Modulus, a: &mut [u64], b: &[u64]);
        fn sub(q: &Modulus, a: &mut [u64], b: &[u64]);
        fn neg(q: &Modulus, a: &mut [u64]);
        fn mul(q: &Modulus, a: &mut [u64], b: &[u64]);
        fn mul_add(q: &Modulus, acc: &mut [u64], x: &[u64], y: &[u64]);
        fn scale(q: &Modulus, a: &mut [u64], w: ShoupFactor);
        fn scale_add(q: &Modulus, acc: &mut [u64], x: &[u64], w: ShoupFactor);
        /// a <- (a - b) w.
        fn sub_scale(q: &Modulus, a: &mut [u64], b: &[u64], w: ShoupFactor);
        fn add_scalar(q: &Modulus, a: &mut [u64], c: u64);
        /// Signed words (two's complement) to residues.
        fn reduce_signed(q: &Modulus, a: &mut [u64]);
        /// (a0 b0, a0 b1 + a1 b0, a1 b1).
        fn tensor(q: &Modulus, a: [&[u64]; 2], b: [&[u64]; 2], d: [&mut [u64]; 3]);
        /// out_c <- sum_j digit_j key_j,c for both parts c, overwriting; at most 64 digits.
        fn key_product(q: &Modulus, digits: &[DigitRows<'_>], out: [&mut [u64]; 2]);
        /// [`BaseConversion::decompose`] of k rows of n words, at most [`CHUNK`] or a multiple of
        /// it: to y_i in the order `[chunk][i][word]`.
        fn lift(conversion: &BaseConversion, rows: &[&[u64]], y: &mut [u64], overflow: &mut [u64]);
        /// The residues x of one source prime d as signed words (two's complement): x - v d, with
        /// the v of [`BaseConversion::decompose`].
        fn center(conversion: &BaseConversion, x: &[u64], out: &mut [u64]);
        /// [`BaseConversion::recompose`] of what [`lift`](Self::lift) wrote, for several targets,
        /// each with its row.
        fn recompose(conversion: &BaseConversion, y: &[u64], overflow: &[u64], targets: &mut [Target<'_>]);
        /// Values under an automorphism: an aligned block of the row from word `at` on, whose
        /// length is a power of two, from the [block](Permutation::source) of its words.
        fn permute(permutation: &Permutation, at: usize, src: &[u64], out: &mut [u64]);
    }
}
