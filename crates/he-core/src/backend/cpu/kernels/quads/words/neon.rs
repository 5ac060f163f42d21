//! Four words in two registers of 128 bits.
//!
//! Every processor of this architecture has NEON. Products are instructions and no intrinsics:
//! LLVM would see that their factors are parts of words, and multiply words, one by one.
#![allow(unsafe_code)]

use super::Words;
use crate::lanes::{Neon, WordPairs, both, load_pairs, store_pairs};
use std::arch::aarch64::{
    uint32x4_t, vaddq_u64, vandq_u64, vcgeq_u64, vdupq_n_u64, vsubq_u64, vtrn1q_u64, vtrn2q_u64, vuzp1q_u64,
    vuzp2q_u64,
};
use std::arch::asm;
use std::ops::{Add, Sub};

/// Four words.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::cpu::kernels) struct Line(WordPairs);

/// The lower halves of four words, and the upper ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::cpu::kernels) struct Halves {
    low: uint32x4_t,
    high: uint32x4_t,
}

impl Words for Line {
    type Lanes = Neon;
    type Halves = Halves;

    #[inline(always)]
    fn splat(_: Neon, word: u64) -> Self {
        Self(both!(vdupq_n_u64((word, word))))
    }
    #[inline(always)]
    fn load(_: Neon, x: &[u64; 4]) -> Self {
        Self(load_pairs(x))
    }
    #[inline(always)]
    fn store(self, x: &mut [u64; 4]) {
        store_pairs(self.0, x);
    }
    #[inline(always)]
    fn halves(self) -> Halves {
        let (low, high);
        // SAFETY: see the module.
        unsafe {
            asm!(
                "uzp1 {low:v}.4s, {a:v}.4s, {b:v}.4s",
                "uzp2 {high:v}.4s, {a:v}.4s, {b:v}.4s",
                a = in(vreg) self.0.0, b = in(vreg) self.0.1, low = out(vreg) low, high = lateout(vreg) high,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Halves { low, high }
    }
    #[inline(always)]
    fn mul_high(x: Halves, y: Halves) -> Self {
        let (a, b);
        // SAFETY: see the module.
        unsafe {
            asm!(
                "umull {c:v}.2d, {xh:v}.2s, {yl:v}.2s",
                "umull2 {d:v}.2d, {xh:v}.4s, {yl:v}.4s",
                "umull {a:v}.2d, {xh:v}.2s, {yh:v}.2s",
                "umull2 {b:v}.2d, {xh:v}.4s, {yh:v}.4s",
                "usra {a:v}.2d, {c:v}.2d, #32",
                "usra {b:v}.2d, {d:v}.2d, #32",
                "umull {c:v}.2d, {xl:v}.2s, {yh:v}.2s",
                "umull2 {d:v}.2d, {xl:v}.4s, {yh:v}.4s",
                "usra {a:v}.2d, {c:v}.2d, #32",
                "usra {b:v}.2d, {d:v}.2d, #32",
                xl = in(vreg) x.low, xh = in(vreg) x.high, yl = in(vreg) y.low, yh = in(vreg) y.high,
                a = out(vreg) a, b = out(vreg) b, c = out(vreg) _, d = out(vreg) _,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self((a, b))
    }
    #[inline(always)]
    fn mul_sub_mul([x, y]: [Halves; 2], [z, w]: [Halves; 2]) -> Self {
        let (a, b);
        // SAFETY: see the module.
        unsafe {
            asm!(
                "mul {c:v}.4s, {xh:v}.4s, {yl:v}.4s",
                "mla {c:v}.4s, {xl:v}.4s, {yh:v}.4s",
                "mls {c:v}.4s, {zh:v}.4s, {wl:v}.4s",
                "mls {c:v}.4s, {zl:v}.4s, {wh:v}.4s",
                "shll {a:v}.2d, {c:v}.2s, #32",
                "shll2 {b:v}.2d, {c:v}.4s, #32",
                "umlal {a:v}.2d, {xl:v}.2s, {yl:v}.2s",
                "umlal2 {b:v}.2d, {xl:v}.4s, {yl:v}.4s",
                "umlsl {a:v}.2d, {zl:v}.2s, {wl:v}.2s",
                "umlsl2 {b:v}.2d, {zl:v}.4s, {wl:v}.4s",
                xl = in(vreg) x.low, xh = in(vreg) x.high, yl = in(vreg) y.low, yh = in(vreg) y.high,
                zl = in(vreg) z.low, zh = in(vreg) z.high, wl = in(vreg) w.low, wh = in(vreg) w.high,
                a = out(vreg) a, b = out(vreg) b, c = out(vreg) _,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self((a, b))
    }
    #[inline(always)]
    fn less(self, m: Self) -> Self {
        let above = both!(vcgeq_u64(self.0, m.0));
        self - Self(both!(vandq_u64(above, m.0)))
    }
    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let (ac, bd) = (((a.0.0, c.0.0), (a.0.1, c.0.1)), ((b.0.0, d.0.0), (b.0.1, d.0.1)));
        [
            Self(both!(vtrn1q_u64(ac.0, bd.0))),
            Self(both!(vtrn2q_u64(ac.0, bd.0))),
            Self(both!(vtrn1q_u64(ac.1, bd.1))),
            Self(both!(vtrn2q_u64(ac.1, bd.1))),
        ]
    }
    #[inline(always)]
    fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        let (first, second) = ((a.0.0, b.0.0), (a.0.1, b.0.1));
        (Self(both!(vuzp1q_u64(first, second))), Self(both!(vuzp2q_u64(first, second))))
    }
}

impl Add for Line {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(both!(vaddq_u64(self.0, other.0)))
    }
}

impl Sub for Line {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(both!(vsubq_u64(self.0, other.0)))
    }
}
