//! Parameters chosen from needs keep their promise: six deviations of the error of a product of
//! fresh values of magnitude one are at most 2^-precision, whatever the width of scale and base.

use super::common::*;
use he::ckks::{CkksParams, Complex64};
use rand::{RngExt, rngs::ChaCha20Rng};

/// Numbers k / 2^width, |k| <= 2^width, each in a slot, and what they are as integers.
fn numbers(width: u32, slots: usize, rng: &mut ChaCha20Rng) -> (Vec<i64>, Vec<Vec<Complex64>>) {
    let one = 1i64 << width;
    let integers: Vec<i64> = (0..slots).map(|_| rng.random_range(-one..=one)).collect();
    let values = integers.iter().map(|&k| Complex64::new(k as f64 / one as f64, 0.0)).collect();
    (integers, vec![values])
}

/// The errors of a product of depth + 1 vectors of numbers: six times the root mean square, and the
/// largest, in bits below one. Doubles do not hold the product: what the nearest double leaves of
/// each exact one is compared with what the decrypted one has beyond that double.
fn measured(w: &World, depth: usize, rng: &mut ChaCha20Rng) -> [f64; 2] {
    // Products stay below 2^120.
    let width = if depth <= 1 { 53 } else { 120 / (depth as u32 + 1) };
    let slots = w.params.slots();
    let (mut exact, values) = numbers(width, slots, rng);
    let mut exact: Vec<i128> = exact.drain(..).map(i128::from).collect();
    let mut product = w.encrypt(&values, w.top(), rng).ct;
    for _ in 0..depth {
        let (integers, values) = numbers(width, slots, rng);
        exact.iter_mut().zip(&integers).for_each(|(x, &k)| *x *= i128::from(k));
        product = w.ev.mul(&product, &w.encrypt(&values, w.top(), rng).ct, &w.keys).unwrap();
    }
    let unit = 2f64.powi((width * (depth as u32 + 1)) as i32);
    let nearest: Vec<f64> = exact.iter().map(|&x| x as f64 / unit).collect();
    let plain = vec![nearest.iter().map(|&x| Complex64::new(x, 0.0)).collect()];
    let rest = w.ev.sub_plain(&product, &w.encode(&plain, product.level())).unwrap();
    let found = &w.decrypt(&rest)[0];
    let errors = exact.iter().zip(&nearest).zip(found).map(|((&x, &nearest), found)| {
        let expected = (x - (nearest * unit) as i128) as f64 / unit;
        (found.re - expected).abs()
    });
    let errors: Vec<f64> = errors.collect();
    let mean = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    [6.0 * mean.sqrt(), errors.into_iter().fold(0.0, f64::max)].map(|error| -error.log2())
}

/// The promise is of six standard deviations. An error of encryption is a sum of products of
/// normally distributed numbers, whose tail is exponential: of x deviations (1 + x) exp(-2 x). One
/// slot in 23 000 exceeds six, thus one vector of 2^12 in six does, and one slot in 2^30 exceeds
/// twelve, which are a bit more.
#[test]
fn products_have_the_precision_that_was_asked_for() {
    for (depth, precision) in [
        (0, 30),
        (1, 30),
        (2, 33),
        (1, 36),
        (2, 40),
        (1, 41),
        (1, 43),
        (2, 45),
        (1, 47),
        (1, 50),
        (3, 53),
        (0, 60),
        (1, 60),
        (2, 60),
    ] {
        let params = CkksParams::for_depth(depth).precision_bits(precision).build().unwrap();
        for_seeds(1, |rng| {
            let world = World::new(&params, [], rng);
            let [bits, least] = measured(&world, depth, rng);
            let n = params.slots() * 2;
            println!("depth {depth}, precision {precision}: {bits:.1} bits, {least:.1} at least, at N = {n}");
            // The deviation of 2^12 numbers or more with such tails scatters by some 1.7 % around
            // that of all; six times as much is .15 bits.
            assert!(bits >= f64::from(precision) - 0.15, "depth {depth}: {bits:.2} of {precision} bits");
            assert!(least >= f64::from(precision) - 1.0, "depth {depth}: {least:.1} of {precision} bits");
        });
    }
}

/// For values up to the requested range, the precision holds relative to the factors, and nothing
/// wraps.
#[test]
fn large_results_fit_the_range() {
    for (precision, range) in [(25, 20), (30, 30), (36, 16), (44, 30), (60, 30)] {
        let params = CkksParams::for_depth(1).precision_bits(precision).range_bits(range).build().unwrap();
        for_seeds(1, |rng| {
            let w = World::new(&params, [1], rng);
            let magnitude = 2f64.powi(range as i32 / 2) * 0.99;
            let mut values = || -> Vec<f64> {
                (0..params.slots()).map(|_| rng.random_range(-1.0..1.0) * magnitude).collect()
            };
            let (a, b) = (values(), values());
            let complex = |x: &[f64]| vec![x.iter().map(|&x| Complex64::new(x, 0.0)).collect()];
            let (x, y) = (w.encrypt(&complex(&a), 1, rng).ct, w.encrypt(&complex(&b), 1, rng).ct);
            let product = w.ev.rotate(&w.ev.mul(&x, &y, &w.keys).unwrap(), 1, &w.keys).unwrap();
            let found = w.decrypt(&product);
            // Errors of factors grow with the other factor, and doubles resolve 2^-53 of a value.
            let bound =
                2.0 * magnitude * 2f64.powi(-(precision as i32)) + magnitude * magnitude * 2f64.powi(-48);
            for (i, found) in found[0].iter().enumerate() {
                let at = (i + 1) % a.len();
                let error = (found.re - a[at] * b[at]).abs();
                assert!(error <= bound, "{precision} {range}: {error:e} of {bound:e}");
            }
        });
    }
}

/// Sums, constants and changes of level keep the whole precision: scales are known to more than a
/// double.
#[test]
fn scales_are_exact_beyond_doubles() {
    let params = CkksParams::for_depth(4).precision_bits(60).build().unwrap();
    for_seeds(1, |rng| {
        let w = World::new(&params, [], rng);
        let (_, values) = numbers(53, params.slots(), rng);
        let x = w.encrypt(&values, 4, rng).ct;
        // The same values lowered in one step and in several, by a product with a public 1/4 + 3/4,
        // and as they were encoded.
        let lowered = w.ev.mod_switch_to(&x, 1).unwrap();
        let slowly =
            w.ev.mod_switch_to(&w.ev.mod_switch_to(&w.ev.mod_switch_to(&x, 3).unwrap(), 2).unwrap(), 1)
                .unwrap();
        let quarters = w.ev.linear_combination(&[(&x, 0.25), (&x, 0.75)]).unwrap();
        let shifted = w
            .ev
            .add_scalar(&w.ev.add_scalar(&x, Complex64::new(0.1, 0.0)).unwrap(), Complex64::new(-0.1, 0.0))
            .unwrap();
        let plain = w.encode(&values, 1);
        for (what, other) in [("slowly", &slowly), ("quarters", &quarters), ("shifted", &shifted)] {
            let difference = w.ev.sub(&lowered, other).unwrap();
            let error = magnitude(&w.decrypt(&difference));
            assert!(error < 2f64.powi(-60), "{what}: {error:e}");
        }
        let error = magnitude(&w.decrypt(&w.ev.sub_plain(&lowered, &plain).unwrap()));
        assert!(error < 2f64.powi(-60), "{error:e}");
        // A result of magnitude one comes back as the nearest double.
        let decoded = w.decrypt(&x);
        let worst = decoded[0].iter().zip(&values[0]).map(|(a, b)| (a.re - b.re).abs()).fold(0.0, f64::max);
        assert!(worst <= 2f64.powi(-53), "{worst:e}");
    });
}

/// The precision of encoding and decoding in doubles, at the greatest degree and the greatest scale
/// for which they are used.
#[test]
fn doubles_carry_what_is_promised_of_them() {
    let params = CkksParams::for_depth(0).precision_bits(40).range_bits(0).slots(1 << 15).build().unwrap();
    for_seeds(2, |rng| {
        let w = World::new(&params, [], rng);
        let values = random_values(rng, 1, params.slots());
        let plain = w.encode(&values, 0);
        let found = w.ev.encoder().decode(&plain).unwrap();
        let worst = found[0].iter().zip(&values[0]).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        println!(
            "doubles: 2^{:.1} of the greatest value at N = {}",
            (worst / magnitude(&values)).log2(),
            2 * params.slots()
        );
        assert!(worst < magnitude(&values) * 2f64.powi(-49), "{worst:e}");
    });
}
