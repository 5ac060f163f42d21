//! Polynomials against float64, and their cost.

use super::plan::levels;
use super::*;
use crate::backend::Cpu;
use crate::circuits::testing::{Fixture, seeded};
use crate::ckks::{CkksParams, CkksSpec, Decryptor, LevelGroup, SecretEncryptor, counts};
use crate::ring::Ring;
use crate::rlwe::SecretKey;
use rand::RngExt;

/// Evaluates on 128 values of the interval, and compares values and levels.
fn check(fixture: &mut Fixture, keys: &EvaluationKeys<Cpu>, polynomial: &Polynomial, a: f64, b: f64) {
    let values: Vec<f64> = (0..128).map(|_| fixture.rng.random_range(a..=b)).collect();
    let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
    let ct = fixture.encrypt(&[slots], 128);
    let requirements = polynomial.requirements();
    let out = polynomial.apply(&fixture.ev, &ct, keys).unwrap();
    assert_eq!(ct.level() - out.level(), requirements.depth, "{polynomial:?}");
    let slope = 2.0 / (b - a);
    let total: f64 = polynomial.coefficients().iter().map(|c| c.abs()).sum();
    // Markov's bound on the derivative.
    let bound = 1e-7 + 2e-8 * total * slope.max(1.0) * (polynomial.degree() as f64).powi(2);
    for (x, z) in values.iter().zip(&fixture.decrypt(&out)[0]) {
        let expected = polynomial.apply_plain(*x);
        let error = (z - expected).norm();
        assert!(error < bound, "{polynomial:?} at {x}: {z}, not {expected}: {error:e} > {bound:e}");
    }
}

fn relin() -> KeyRequirements {
    KeyRequirements::new().relinearisation()
}

fn coefficients(fixture: &mut Fixture, degree: usize, keep: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut c: Vec<f64> =
        (0..=degree).map(|k| if keep(k) { fixture.rng.random_range(-1.0..1.0) } else { 0.0 }).collect();
    c[degree] = 0.5;
    let total: f64 = c.iter().map(|c| c.abs()).sum();
    c.iter().map(|c| c / total).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn all_degrees_in_both_bases_match() {
    let mut fixture = Fixture::new(8, 8);
    let keys = fixture.keys(relin());
    for degree in (0..=40).chain([63, 64, 100, 127]) {
        let c = coefficients(&mut fixture, degree, |_| true);
        let power = Polynomial::power(&c).unwrap();
        let depth = (degree as f64 + 1.0).log2().ceil() as usize;
        assert_eq!(power.requirements().depth, depth);
        check(&mut fixture, &keys, &power, -1.0, 1.0);
        let chebyshev = Polynomial::chebyshev(&c, -1.0, 1.0).unwrap();
        assert_eq!(chebyshev.requirements().depth, depth);
        check(&mut fixture, &keys, &chebyshev, -1.0, 1.0);
    }
}

#[test]
fn zero_coefficients_and_parity() {
    let mut fixture = Fixture::new(8, 7);
    let keys = fixture.keys(relin());
    for degree in [2, 3, 5, 8, 9, 16, 21, 31, 32, 33, 59, 127] {
        for keep in [|k| k % 2 == 1, |k| k % 2 == 0, |k| k % 5 == 3, |_| false] {
            let c = coefficients(&mut fixture, degree, keep);
            check(&mut fixture, &keys, &Polynomial::power(&c).unwrap(), -1.0, 1.0);
            check(&mut fixture, &keys, &Polynomial::chebyshev(&c, -1.0, 1.0).unwrap(), -1.0, 1.0);
        }
    }
}

/// An integer in front of a power of two saves a level, whatever is below it: values as in float64,
/// and a level more for the same polynomial with another number in that place.
#[test]
fn integer_leads_save_a_level() {
    let mut fixture = Fixture::new(8, 6);
    let keys = fixture.keys(relin());
    for (degree, lead) in [(1, 1.0), (1, -3.0), (2, 1.0), (4, 1.0), (4, -2.0), (8, 1.0), (16, 3.0), (32, 1.0)]
    {
        for full in [true, false] {
            let mut c = coefficients(&mut fixture, degree, |_| full);
            for (last, depth) in [(lead, levels(degree) - 1), (0.5, levels(degree))] {
                c[degree] = last;
                for polynomial in
                    [Polynomial::power(&c).unwrap(), Polynomial::chebyshev(&c, -1.0, 1.0).unwrap()]
                {
                    assert_eq!(polynomial.requirements().depth, depth, "{polynomial:?}");
                    check(&mut fixture, &keys, &polynomial, -1.0, 1.0);
                }
            }
        }
    }
    // The greatest such integer, and the next one.
    let depth = |last: f64| Polynomial::power(&[1.0, 0.0, last]).unwrap().requirements().depth;
    assert_eq!([1048576.0, -1048576.0, 1048577.0].map(depth), [1, 1, 2]);

    // x^8 + 1 is three squarings, and 2 x + 1 is possible where no level is left.
    let ct = fixture.encrypt(&[vec![Complex64::new(0.9, 0.0); 128]], 128);
    let eighth = Polynomial::power(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
    counts::take();
    let out = eighth.apply(&fixture.ev, &ct, &keys).unwrap();
    assert_eq!((counts::take(), ct.level() - out.level()), ((3, 3), 3));
    assert_eq!((eighth.products(), eighth.relinearisations()), (3, 3));
    let (linear, lowest) =
        (Polynomial::power(&[1.0, 2.0]).unwrap(), fixture.ev.mod_switch_to(&ct, 0).unwrap());
    let none = fixture.keys(KeyRequirements::new());
    let out = linear.apply(&fixture.ev, &lowest, &none).unwrap();
    assert!((fixture.decrypt(&out)[0][7].re - 2.8).abs() < 1e-6);

    // With others, of the same powers.
    let list = [vec![1.0, 0.0, 1.0], vec![0.0, 0.25], vec![7.0], vec![0.5, 0.0, 0.0, 0.0, 2.0]]
        .map(|c| Polynomial::power(&c).unwrap());
    let found = Polynomial::apply_many(&list, &fixture.ev, &ct, &keys).unwrap();
    for (polynomial, found) in list.iter().zip(&found) {
        assert_eq!(ct.level() - found.level(), polynomial.requirements().depth);
        assert!((fixture.decrypt(found)[0][3] - polynomial.apply_plain(0.9)).norm() < 1e-6, "{polynomial:?}");
    }
}

#[test]
fn intervals_cost_a_level_unless_the_factor_is_an_integer() {
    let mut fixture = Fixture::new(8, 6);
    let keys = fixture.keys(relin());
    for (a, b, map) in [
        (-1.0, 1.0, 0),
        (0.0, 1.0, 0),
        (4.0, 6.0, 0),
        (-2.0, 2.0, 1),
        (-8.0, 3.0, 1),
        (0.25, 0.75, 0),
        (0.0, 2.0 / 3.3, 1),
    ] {
        for degree in [0, 1, 2, 7, 13, 31] {
            let c = coefficients(&mut fixture, degree, |_| true);
            let polynomial = Polynomial::chebyshev(&c, a, b).unwrap();
            let map = if degree == 0 { 0 } else { map };
            assert_eq!(polynomial.requirements().depth, levels(degree) + map, "[{a}, {b}]");
            check(&mut fixture, &keys, &polynomial, a, b);
        }
    }
}

#[test]
fn fits_approximate() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let fit = Polynomial::chebyshev_fit(sigmoid, 31, -8.0, 8.0).unwrap();
    for i in 0..=100 {
        let x = -8.0 + 0.16 * f64::from(i);
        assert!((fit.apply_plain(x) - sigmoid(x)).abs() < 1e-5, "{x}");
    }
    // Odd except for the constant.
    assert!(fit.coefficients().iter().skip(2).step_by(2).all(|&c| c.abs() < 1e-14));
    let odd = Polynomial::chebyshev_fit(f64::sin, 15, -2.0, 2.0).unwrap();
    assert!((odd.apply_plain(1.3) - 1.3f64.sin()).abs() < 1e-12);
    let mut fixture = Fixture::new(8, 6);
    let keys = fixture.keys(relin());
    check(&mut fixture, &keys, &fit, -8.0, 8.0);
    let exact = Polynomial::chebyshev_fit(|x| 3.0 * x * x - x, 9, 1.0, 4.0).unwrap();
    for x in [1.0, 2.2, 4.0] {
        assert!((exact.apply_plain(x) - (3.0 * x * x - x)).abs() < 1e-12);
    }
    assert!(Polynomial::chebyshev_fit(f64::sqrt, 2, -1.0, 1.0).is_err());
    assert!(Polynomial::chebyshev_fit(f64::exp, 2, 1.0, 1.0).is_err());
    assert!(Polynomial::chebyshev_fit(f64::exp, 1 << 20, 0.0, 1.0).is_err());
}

#[test]
fn plain_rules_agree_with_the_definition() {
    let mut rng = seeded();
    for degree in 0..12 {
        let c: Vec<f64> = (0..=degree).map(|_| rng.random_range(-1.0..1.0)).collect();
        let x: f64 = rng.random_range(-1.0..1.0);
        let power: f64 = c.iter().enumerate().map(|(k, c)| c * x.powi(k as i32)).sum();
        assert!((Polynomial::power(&c).unwrap().apply_plain(x) - power).abs() < 1e-12);
        let chebyshev: f64 = c.iter().enumerate().map(|(k, c)| c * (k as f64 * x.acos()).cos()).sum();
        let found = Polynomial::chebyshev(&c, 3.0, 7.0).unwrap().apply_plain(5.0 + 2.0 * x);
        assert!((found - chebyshev).abs() < 1e-12);
    }
}

#[test]
fn products_stay_near_twice_the_root() {
    for degree in [7, 15, 31, 63, 100, 127, 255, 1000, 4095] {
        let polynomial = Polynomial::power(&vec![1.0; degree + 1]).unwrap();
        let products = polynomial.products();
        let bound = 2.0 * ((degree + 1) as f64).sqrt() + 2.0 * levels(degree) as f64;
        println!("degree {degree}: {products} products");
        assert!((products as f64) < bound, "degree {degree}: {products} products");
    }
}

/// Products and relinearisations of full, even and odd polynomials, as planned and as computed:
/// T_2, T_4, T_6, T_8 and T_16, then T_16 (T_8 (2 c T_4 T_2 + ..) + ..) + T_8 (..) + .. for an even
/// one of degree 30, in both bases.
#[test]
fn relinearisations_are_fewer_than_products() {
    let mut fixture = Fixture::new(7, 7);
    let keys = fixture.keys(relin());
    let ct = fixture.encrypt(&[vec![Complex64::new(0.3, 0.0); 64]], 64);
    for (degree, step, products, relinearisations) in [
        (3, 1, 2, 2),
        (3, 2, 2, 2),
        (7, 1, 5, 4),
        (15, 1, 8, 7),
        (15, 2, 8, 7),
        (30, 2, 9, 8),
        (31, 1, 13, 10),
        (31, 2, 13, 10),
        (59, 2, 15, 12),
        (127, 1, 27, 20),
    ] {
        let c = coefficients(&mut fixture, degree, |k| k % step == degree % step);
        for polynomial in [Polynomial::power(&c).unwrap(), Polynomial::chebyshev(&c, -1.0, 1.0).unwrap()] {
            counts::take();
            polynomial.apply(&fixture.ev, &ct, &keys).unwrap();
            let found = (polynomial.products(), polynomial.relinearisations());
            println!("degree {degree}, step {step}: {found:?}");
            assert_eq!(counts::take(), found, "{polynomial:?}");
            assert_eq!(found, (products, relinearisations), "degree {degree}, step {step}");
        }
    }
}

/// Several polynomials share their powers, and have the values and levels of each alone.
#[test]
fn many_polynomials_share_their_powers() {
    let mut fixture = Fixture::new(8, 7);
    let keys = fixture.keys(relin());
    for chebyshev in [false, true] {
        let list: Vec<Polynomial> = [(30, 2), (31, 2), (12, 1), (0, 1), (63, 1)]
            .map(|(degree, step)| {
                let c = coefficients(&mut fixture, degree, |k| k % step == degree % step);
                if chebyshev { Polynomial::chebyshev(&c, -1.0, 1.0) } else { Polynomial::power(&c) }.unwrap()
            })
            .to_vec();
        let values: Vec<f64> = (0..128).map(|_| fixture.rng.random_range(-1.0..1.0)).collect();
        let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let ct = fixture.encrypt(&[slots], 128);
        counts::take();
        let found = Polynomial::apply_many(&list, &fixture.ev, &ct, &keys).unwrap();
        let (_, together) = counts::take();
        assert!(together < list.iter().map(Polynomial::relinearisations).sum::<usize>() - 8, "{together}");
        assert_eq!(found.len(), list.len());
        for (polynomial, found) in list.iter().zip(&found) {
            assert_eq!(ct.level() - found.level(), polynomial.requirements().depth);
            for (x, z) in values.iter().zip(&fixture.decrypt(found)[0]) {
                assert!((z - polynomial.apply_plain(*x)).norm() < 1e-5, "{polynomial:?} at {x}: {z}");
            }
        }
    }
    let ct = fixture.encrypt(&[vec![Complex64::ONE; 128]], 128);
    let list =
        [Polynomial::power(&[0.0, 1.0]), Polynomial::chebyshev(&[0.0, 1.0], -1.0, 1.0)].map(Result::unwrap);
    let refused = Polynomial::apply_many(&list, &fixture.ev, &ct, &keys);
    assert!(matches!(refused, Err(Error::Argument { .. })));
    assert!(matches!(Polynomial::apply_many(&[], &fixture.ev, &ct, &keys), Err(Error::Argument { .. })));
}

/// Powers from levels of one scale meet levels of another, and results have their level's scale.
#[test]
fn groups_of_levels_are_crossed() {
    let mut rng = seeded();
    let groups = [(5, 40.0), (4, 54.0)].map(|(levels, scale_log2)| LevelGroup { levels, scale_log2 });
    let widths: Vec<Vec<u32>> = [40, 40, 40, 40, 54, 54, 54, 54].map(|bits| vec![bits]).to_vec();
    let spec = CkksSpec::from_level_bits(7, &[50], &widths, &[56], &groups).unwrap();
    let params = CkksParams::insecure(spec).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, relin(), &mut rng).unwrap();
    let ev = Evaluator::new(&params, &ring).unwrap();
    let values: Vec<f64> = (0..64).map(|_| rng.random_range(-1.0..1.0)).collect();
    let encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
    let ct = encryptor.encrypt_real(&values, &mut rng).unwrap().expand().unwrap();
    let c: Vec<f64> = (0..=14).map(|k| 0.1 + 0.05 * f64::from(k % 3)).collect();
    let mut lead = c[..=8].to_vec();
    lead[8] = 1.0;
    let polynomials = [&c, &lead].map(|c| [Polynomial::power(c), Polynomial::chebyshev(c, -1.0, 1.0)]);
    for polynomial in polynomials.into_iter().flatten().map(Result::unwrap) {
        for level in (5..=params.max_level()).rev() {
            let lowered = ev.mod_switch_to(&ct, level).unwrap();
            let out = polynomial.apply(&ev, &lowered, &keys).unwrap();
            assert_eq!(out.scale(), params.levels()[out.level()].scale, "from level {level}");
            let found = Decryptor::new(&params, &secret, &ring).unwrap().decrypt_real(&out).unwrap();
            for (x, y) in values.iter().zip(&found) {
                assert!((y - polynomial.apply_plain(*x)).abs() < 1e-6, "from level {level}, at {x}: {y}");
            }
        }
    }
}

#[test]
fn what_is_missing_is_said() {
    assert!(Polynomial::power(&[0.0, f64::NAN]).is_err());
    assert!(Polynomial::power(&vec![1.0; 5000]).is_err());
    assert_eq!(Polynomial::power(&[]).unwrap(), Polynomial::power(&[0.0, 0.0]).unwrap());
    for (a, b) in [(1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)] {
        assert!(Polynomial::chebyshev(&[1.0], a, b).is_err(), "[{a}, {b}]");
    }
    let mut fixture = Fixture::new(8, 2);
    let ct = fixture.encrypt(&[vec![Complex64::ONE; 128]], 128);
    let [none, keys] = [KeyRequirements::new(), relin()].map(|r| fixture.keys(&r));
    let ev = &fixture.ev;
    let cubic = Polynomial::power(&[1.0; 4]).unwrap();
    assert!(matches!(cubic.apply(ev, &ct, &none), Err(Error::MissingRelinKey)));
    assert_eq!(cubic.apply(ev, &ct, &keys).unwrap().level(), 0);
    let quartic = Polynomial::power(&[1.0, 1.0, 1.0, 1.0, 0.5]).unwrap();
    let result = quartic.apply(ev, &ct, &keys);
    assert!(matches!(result, Err(Error::LevelExhausted { needed: 3, left: 2 })));
    let linear = Polynomial::power(&[0.5, 2.0]).unwrap();
    assert!((fixture.decrypt(&linear.apply(ev, &ct, &none).unwrap())[0][3].re - 2.5).abs() < 1e-7);
}
