//! Products of 64-bit words modulo a prime in WebAssembly, in the ways that were considered for
//! it: through u128, by halves, and two words at a time (simd128). `products.mjs` runs them:
//!
//! ```text
//! rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -O \
//!   -C target-feature=+simd128 -o products.wasm web/client/bench/products.rs
//! node web/client/bench/products.mjs products.wasm
//! ```
//!
//! Butterflies are those of the forward transform (Shoup), products those of Barrett.

use std::arch::wasm32::*;

const N: usize = 8192;
const Q: u64 = 1_152_921_504_606_830_593;
const LOW: u64 = 0xffff_ffff;
/// A root, and floor(root 2^64 / Q).
const ROOT: (u64, u64) = (123_456_789_012_345_678, 1_975_308_624_197_658_163);
/// floor(2^121 / Q), shifted for a prime of 60 bits.
const MU: u64 = ((1u128 << 121) / Q as u128) as u64;

fn through_u128(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn by_halves(a: u64, b: u64) -> (u64, u64) {
    let (low, a_high, b_high) = ((a & LOW) * (b & LOW), a >> 32, b >> 32);
    let across = (a & LOW) * b_high;
    let middle = a_high * (b & LOW) + (low >> 32) + (across & LOW);
    ((middle << 32) | (low & LOW), a_high * b_high + (across >> 32) + (middle >> 32))
}

fn less(x: u64, m: u64) -> u64 {
    let d = x.wrapping_sub(m);
    d.wrapping_add(m & ((d as i64) >> 63) as u64)
}

fn rows() -> (Vec<u64>, Vec<u64>) {
    let row = |factor: u64| (0..N as u64).map(|i| i.wrapping_mul(factor) % Q).collect();
    (row(0x9e37_79b9_7f4a_7c15), row(0xbf58_476d_1ce4_e5b9))
}

fn butterflies(rounds: u32, high: impl Fn(u64, u64) -> u64) -> u64 {
    let (mut row, _) = rows();
    for _ in 0..rounds {
        let (left, right) = row.split_at_mut(N / 2);
        for (x, y) in left.iter_mut().zip(right) {
            let u = less(*x, 2 * Q);
            let v = y.wrapping_mul(ROOT.0).wrapping_sub(high(*y, ROOT.1).wrapping_mul(Q));
            (*x, *y) = (u.wrapping_add(v), u.wrapping_add(2 * Q).wrapping_sub(v));
        }
    }
    row[1]
}

fn products(rounds: u32, product: impl Fn(u64, u64) -> u64) -> u64 {
    let (mut a, b) = rows();
    for _ in 0..rounds {
        a.iter_mut().zip(&b).for_each(|(a, &b)| *a = product(*a, b));
    }
    a[1]
}

#[no_mangle]
pub extern "C" fn butterflies_u128(rounds: u32) -> u64 {
    butterflies(rounds, through_u128)
}

#[no_mangle]
pub extern "C" fn butterflies_halves(rounds: u32) -> u64 {
    butterflies(rounds, |a, b| by_halves(a, b).1)
}

#[no_mangle]
pub extern "C" fn butterflies_simd(rounds: u32) -> u64 {
    let (mut row, _) = rows();
    let halves = |x: u64| (u32x4_splat(x as u32), u32x4_splat((x >> 32) as u32));
    let ((wl, wh), (ql, qh), (nl, nh)) = (halves(ROOT.0), halves(ROOT.1), halves(Q));
    let (q2, mask) = (u64x2_splat(2 * Q), u64x2_splat(LOW));
    let split = |x| (u32x4_shuffle::<0, 2, 0, 2>(x, x), u32x4_shuffle::<1, 3, 1, 3>(x, x));
    let mul = u64x2_extmul_low_u32x4;
    for _ in 0..rounds {
        let (left, right) = row.split_at_mut(N / 2);
        for (a, b) in left.chunks_exact_mut(2).zip(right.chunks_exact_mut(2)) {
            let (x, y) = (u64x2(a[0], a[1]), u64x2(b[0], b[1]));
            let d = u64x2_sub(x, q2);
            let u = u64x2_add(d, v128_and(q2, i64x2_shr(d, 63)));
            let (yl, yh) = split(y);
            let across = mul(yl, qh);
            let low = u64x2_shr(mul(yl, ql), 32);
            let middle = u64x2_add(u64x2_add(low, v128_and(across, mask)), mul(yh, ql));
            let high = u64x2_add(u64x2_add(mul(yh, qh), u64x2_shr(across, 32)), u64x2_shr(middle, 32));
            let product = u64x2_add(mul(yl, wl), u64x2_shl(u64x2_add(mul(yl, wh), mul(yh, wl)), 32));
            let (hl, hh) = split(high);
            let multiple = u64x2_add(mul(hl, nl), u64x2_shl(u64x2_add(mul(hl, nh), mul(hh, nl)), 32));
            let v = u64x2_sub(product, multiple);
            let (x, y) = (u64x2_add(u, v), u64x2_sub(u64x2_add(u, q2), v));
            (a[0], a[1]) = (u64x2_extract_lane::<0>(x), u64x2_extract_lane::<1>(x));
            (b[0], b[1]) = (u64x2_extract_lane::<0>(y), u64x2_extract_lane::<1>(y));
        }
    }
    row[1]
}

#[no_mangle]
pub extern "C" fn products_u128(rounds: u32) -> u64 {
    products(rounds, |a, b| {
        let x = u128::from(a) * u128::from(b);
        let estimate = ((x >> 58) as u64 as u128 * u128::from(MU)) >> 63;
        less((x as u64).wrapping_sub((estimate as u64).wrapping_mul(Q)), Q)
    })
}

#[no_mangle]
pub extern "C" fn products_halves(rounds: u32) -> u64 {
    products(rounds, |a, b| {
        let (low, high) = by_halves(a, b);
        let estimate = by_halves((low >> 58) | (high << 6), MU << 1).1;
        less(low.wrapping_sub(estimate.wrapping_mul(Q)), Q)
    })
}
