//! Functions against float64 over their whole domains, in float64 and under encryption.

use super::*;
use crate::circuits::ckks::NeverRefresh;
use crate::circuits::testing::Fixture;
use crate::ckks::Complex64;
use crate::error::Error;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Functions with what they approximate, and the bits asked.
fn all() -> Vec<(Function, fn(f64) -> f64, u32)> {
    vec![
        (Function::relu(1.0, 12).unwrap(), |x| x.max(0.0), 12),
        (Function::relu(8.0, 10).unwrap(), |x| x.max(0.0), 10),
        (Function::relu(0.3, 8).unwrap(), |x| x.max(0.0), 8),
        (Function::abs(1.0, 12).unwrap(), f64::abs, 12),
        (Function::abs(5.5, 6).unwrap(), f64::abs, 6),
        (Function::sigmoid(-8.0..=8.0, 12).unwrap(), sigmoid, 12),
        (Function::sigmoid(-50.0..=40.0, 16).unwrap(), sigmoid, 16),
        (Function::tanh(-4.0..=4.0, 14).unwrap(), f64::tanh, 14),
        (Function::gelu(-6.0..=6.0, 12).unwrap(), |x| 0.5 * x * libm::erfc(-x / 2f64.sqrt()), 12),
        (Function::silu(-10.0..=10.0, 12).unwrap(), |x| x * sigmoid(x), 12),
        (Function::exp(-4.0..=0.0, 16).unwrap(), f64::exp, 16),
        (Function::exp(-1.0..=1.0, 20).unwrap(), f64::exp, 20),
        (Function::exp(-0.3..=0.4, 20).unwrap(), f64::exp, 20),
        (Function::log(0.1..=10.0, 12).unwrap(), f64::ln, 12),
        (Function::log(1.0..=2.0, 20).unwrap(), f64::ln, 20),
    ]
}

/// The largest error over 10^6 points, and at the ends, beside what was asked.
#[test]
fn errors_over_a_million_points_are_as_asked() {
    for (function, f, bits) in all() {
        let (a, b) = function.interval().into_inner();
        let count = 1_000_000;
        let points: Vec<f64> = (0..=count).map(|i| a + (b - a) * f64::from(i) / f64::from(count)).collect();
        let found = function.apply_plain_all(&points);
        let largest = points.iter().zip(&found).map(|(&x, y)| (y - f(x)).abs()).fold(0.0, f64::max);
        println!(
            "{} on [{a}, {b}]: {bits} bits asked, {:.2} found; depth {}, {} relinearisations",
            function.name(),
            -(largest / function.peak()).log2(),
            function.requirements().depth,
            function.relinearisations()
        );
        assert!(largest <= 2f64.powi(-(bits as i32)) * function.peak(), "{function:?}: {largest:e}");
        assert!(largest <= 1.01 * function.error(), "{function:?}: {largest:e}");
    }
}

/// Full vectors that cover the interval, and as many levels as stated.
#[test]
fn encrypted_values_follow() {
    let mut fixture = Fixture::new(8, 20);
    for (function, f, bits) in all() {
        let requirements = function.requirements();
        let keys = fixture.keys(&requirements);
        let (a, b) = function.interval().into_inner();
        let values: Vec<f64> = (0..128).map(|i| a + (b - a) * f64::from(i) / 127.0).collect();
        let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let ct = fixture.encrypt(&[slots], 128);
        let ct = fixture.ev.mod_switch_to(&ct, requirements.depth).unwrap();
        let out = function.apply(&fixture.ev, &ct, &keys, &NeverRefresh).unwrap();
        assert_eq!(out.level(), 0, "{function:?}");
        assert_eq!(function.plan::<crate::backend::Cpu>(requirements.depth, &NeverRefresh).unwrap(), (0, 0));
        let mut noise: f64 = 0.0;
        for (&x, z) in values.iter().zip(&fixture.decrypt(&out)[0]) {
            noise = noise.max((z.re - function.apply_plain(x)).abs());
            let error = (z.re - f(x)).abs();
            let bound = 2f64.powi(-(bits as i32)) * function.peak() + 1e-5 * function.peak().max(1.0);
            assert!(error <= bound, "{} at {x}: {z}, not {}", function.name(), f(x));
        }
        println!("{}: noise 2^{:.1}", function.name(), noise.log2());
        // One level less is not enough.
        let low = fixture.ev.mod_switch_to(&ct, requirements.depth - 1).unwrap();
        let refused = function.apply(&fixture.ev, &low, &keys, &NeverRefresh);
        assert!(matches!(refused, Err(Error::LevelExhausted { .. })), "{function:?}");
    }
}
