//! The distributions of the paper.

use super::IntPoly;
use num_bigint::BigInt;
use rand::{CryptoRng, RngExt, seq::SliceRandom};

/// HWT(h): h signs at random places, zeros elsewhere.
pub fn hamming_weight(n: usize, h: usize, rng: &mut (impl CryptoRng + ?Sized)) -> IntPoly {
    let mut signs: Vec<i8> =
        (0..n).map(|k| if k < h { 2 * i8::from(rng.random::<bool>()) - 1 } else { 0 }).collect();
    signs.shuffle(rng);
    signs.into_iter().map(BigInt::from).collect()
}

/// ZO(rho): each coefficient 1 or -1 with probability rho / 2 each, else 0.
pub fn sparse_ternary(n: usize, rho: f64, rng: &mut (impl CryptoRng + ?Sized)) -> IntPoly {
    let mut sign = || if rng.random_bool(rho) { 2 * i8::from(rng.random::<bool>()) - 1 } else { 0 };
    (0..n).map(|_| BigInt::from(sign())).collect()
}

/// DG(sigma^2): a Gaussian of deviation sigma (Box, Muller 1958), rounded to an integer.
pub fn gaussian(n: usize, sigma: f64, rng: &mut (impl CryptoRng + ?Sized)) -> IntPoly {
    let mut normal = || {
        let radius = (-2.0 * libm::log(1.0 - rng.random::<f64>())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * rng.random::<f64>())
    };
    (0..n).map(|_| BigInt::from((sigma * normal()).round() as i64)).collect()
}
