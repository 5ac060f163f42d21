//! Compares polynomials modulo 2^k with big integers, on vector code and on portable code.

use super::common::*;
use he::backend::Cpu;
use he::bigckks::reference::{IntPoly, QuotientRing, transform_product};
use he::bigckks::{BigCkksParams, BigCkksSpec, WidePoly};
use he::ring::{Ring, Seed, error_row};
use num_bigint::BigInt;
use rand::RngExt;

/// Moduli around the ends of words; the ring has primes for 600 bits.
const BITS: [u32; 10] = [1, 2, 63, 64, 65, 127, 128, 129, 438, 600];

fn rings(log_n: u32) -> [Ring<Cpu>; 2] {
    let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, 600, 10)).unwrap();
    [Cpu::new(), Cpu::portable()].map(|cpu| Ring::new(cpu, params.ring().clone()).unwrap())
}

/// Random polynomials with the extreme numbers among them.
fn random(ring: &Ring<Cpu>, bits: u32, batch: usize, seed: u8) -> WidePoly<Cpu> {
    let mut poly = WidePoly::uniform(ring, bits, batch, &Seed([seed; 32]), 3).unwrap().to_words().unwrap();
    let plane = batch * ring.n();
    let (words, top) = (bits.div_ceil(64) as usize, 1u64 << ((bits - 1) % 64));
    // -2^(bits - 1), 2^(bits - 1) - 1 and -1.
    for w in 0..words {
        let last = w + 1 == words;
        poly[w * plane] = if last { top } else { 0 };
        poly[w * plane + 1] = if last { top - 1 } else { u64::MAX };
        poly[w * plane + 2] = if last { top | (top - 1) } else { u64::MAX };
    }
    WidePoly::from_words(ring, bits, batch, &poly).unwrap()
}

fn each(test: impl Fn(&Ring<Cpu>, u32, &QuotientRing, usize)) {
    for log_n in [2, 3, 7] {
        for ring in rings(log_n) {
            for bits in BITS {
                for batch in [1, 3] {
                    test(&ring, bits, &QuotientRing::power_of_two(1 << log_n, bits), batch);
                }
            }
        }
    }
}

fn zip_with(a: &[IntPoly], b: &[IntPoly], f: impl Fn(&IntPoly, &IntPoly) -> IntPoly) -> Vec<IntPoly> {
    a.iter().enumerate().map(|(i, a)| f(a, &b[i % b.len()])).collect()
}

#[test]
fn sums_and_products() {
    each(|ring, bits, exact, batch| {
        for (b_bits, b_batch) in [(bits, batch), (bits, 1), (600, batch), (600, 1)] {
            let (a, b) = (random(ring, bits, batch, 1), random(ring, b_bits, b_batch, 2));
            let (x, y) = (integers(&a), integers(&b));
            let mut sum = a.duplicate().unwrap();
            sum.add_assign(&b).unwrap();
            assert_eq!(integers(&sum), zip_with(&x, &y, |x, y| exact.add(x, y)), "{bits} bits");
            let mut difference = a.duplicate().unwrap();
            difference.sub_assign(&b).unwrap();
            assert_eq!(integers(&difference), zip_with(&x, &y, |x, y| exact.sub(x, y)), "{bits} bits");
            let product = a.mul(&b).unwrap();
            let expected = zip_with(&x, &y, |x, y| exact.reduce(&transform_product(x, y).unwrap()));
            assert_eq!(integers(&product), expected, "{bits} bits, N = {}", ring.n());
        }
        let mut negative = random(ring, bits, batch, 3);
        let x = integers(&negative);
        negative.neg_assign().unwrap();
        assert_eq!(integers(&negative), zip_with(&x, &x, |x, _| exact.neg(x)), "{bits} bits");
    });
}

#[test]
fn multiples_and_roundings() {
    each(|ring, bits, exact, batch| {
        let a = random(ring, bits, batch, 4);
        let x = integers(&a);
        for factor in
            [vec![], vec![0], vec![1], vec![u64::MAX], vec![5, 0], vec![3, u64::MAX, 7], vec![9; 12]]
        {
            let mut multiple = a.duplicate().unwrap();
            multiple.scale_assign(&factor).unwrap();
            let c = factor.iter().rev().fold(BigInt::ZERO, |c, &word| (c << 64u32) + word);
            assert_eq!(
                integers(&multiple),
                zip_with(&x, &x, |x, _| exact.scale(x, &c)),
                "{bits} bits, {factor:?}"
            );
        }
        for shift in [0, 1, 2, 31, 62, 63, 64, 65, 100, 127, 128, 192, 437, 599] {
            if shift >= bits {
                assert!(a.shift_round(shift).is_err());
                continue;
            }
            let smaller = QuotientRing::power_of_two(ring.n(), bits - shift);
            let divided = zip_with(&x, &x, |x, _| smaller.divide_round(x, &(BigInt::from(1) << shift)));
            assert_eq!(integers(&a.shift_round(shift).unwrap()), divided, "{bits} bits, shift {shift}");
            let reduced = zip_with(&x, &x, |x, _| smaller.reduce(x));
            assert_eq!(
                integers(&a.reduced(bits - shift).unwrap()),
                reduced,
                "{bits} bits to {}",
                bits - shift
            );
        }
    });
}

#[test]
fn automorphisms() {
    each(|ring, bits, exact, batch| {
        let a = random(ring, bits, batch, 5);
        let (n, x) = (ring.n() as u64, integers(&a));
        for g in [1, 3, 5, n - 1, n + 1, 2 * n - 1] {
            let expected = zip_with(&x, &x, |x, _| exact.automorphism(x, g));
            assert_eq!(integers(&a.automorphism(g).unwrap()), expected, "{bits} bits, g = {g}, N = {n}");
        }
        assert!(a.automorphism(2).is_err());
    });
}

#[test]
fn samples_and_signed_words() {
    let seed = Seed([9; 32]);
    each(|ring, bits, exact, batch| {
        let n = ring.n();
        // A smaller modulus has the same numbers, reduced.
        let whole = WidePoly::uniform(ring, 600, batch, &seed, 1).unwrap().reduced(bits).unwrap();
        let part = WidePoly::uniform(ring, bits, batch, &seed, 1).unwrap();
        assert_eq!(part.to_words().unwrap(), whole.to_words().unwrap());
        let mut errors = vec![0; batch * n];
        error_row(&seed, 2, 0, &mut errors);
        let expected = |signed: &[i64]| -> Vec<IntPoly> {
            let entry = |row: &[i64]| exact.reduce(&row.iter().map(|&x| BigInt::from(x)).collect::<Vec<_>>());
            signed.chunks(n).map(entry).collect()
        };
        assert_eq!(integers(&WidePoly::error(ring, bits, batch, &seed, 2).unwrap()), expected(&errors));
        let mut rng = rng(u64::from(bits));
        let mut signed: Vec<i64> = (0..batch * n).map(|_| rng.random()).collect();
        (signed[0], signed[1], signed[2]) = (i64::MIN, i64::MAX, -1);
        assert_eq!(integers(&WidePoly::from_signed(ring, bits, batch, &signed).unwrap()), expected(&signed));
    });
}

#[test]
fn batches_are_cut_and_joined() {
    each(|ring, bits, _, _| {
        let a = random(ring, bits, 4, 6);
        let x = integers(&a);
        let parts = [a.slice_batch(0..1).unwrap(), a.slice_batch(1..4).unwrap()];
        assert_eq!(integers(&parts[1]), x[1..]);
        let joined = WidePoly::concat(&[&parts[1], &parts[0]]).unwrap();
        assert_eq!(integers(&joined), [&x[1..], &x[..1]].concat());
        assert!(
            a.slice_batch(2..2).is_err()
                && a.slice_batch(2..5).is_err()
                && WidePoly::<Cpu>::concat(&[]).is_err()
        );
    });
}

/// Large degrees on several threads, with coefficients as large as can be.
#[test]
fn extreme_products_at_large_degrees() {
    let params = BigCkksParams::insecure(BigCkksSpec::new(13, 438, 10)).unwrap();
    let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
    let n = ring.n();
    let mut words = vec![0; 7 * n];
    words[6 * n..].fill(1 << 53);
    let least = WidePoly::from_words(&ring, 438, 1, &words).unwrap();
    // Every coefficient of the square is +-N' 2^874, a multiple of 2^438.
    assert!(least.mul(&least).unwrap().to_words().unwrap().iter().all(|&word| word == 0));
    // 2^437 - 1 everywhere: the coefficient k of the square is (2 k + 2 - N) (2^437 - 1)^2 = (2
    // k + 2 - N) (1 - 2^438).
    words.fill(u64::MAX);
    words[6 * n..].fill((1 << 53) - 1);
    let most = WidePoly::from_words(&ring, 438, 1, &words).unwrap();
    let square = integers(&most.mul(&most).unwrap());
    for (k, c) in square[0].iter().enumerate() {
        assert_eq!(*c, BigInt::from(2 * k as i64 + 2 - n as i64), "{k}");
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let [ring, other] = rings(3);
    assert!(WidePoly::zeros(&ring, 0, 1).is_err());
    assert!(WidePoly::zeros(&ring, u32::MAX, 1).is_err());
    assert!(WidePoly::zeros(&ring, 10, 0).is_err());
    assert!(WidePoly::from_words(&ring, 10, 1, &[0; 7]).is_err());
    assert!(WidePoly::from_words(&ring, 10, 1, &[1 << 10; 8]).is_err());
    assert!(WidePoly::from_words(&ring, 64, 1, &[u64::MAX; 8]).is_ok());
    assert!(WidePoly::from_signed(&ring, 10, 2, &[0; 8]).is_err());
    let mut a = WidePoly::zeros(&ring, 100, 2).unwrap();
    for b in [
        WidePoly::zeros(&ring, 99, 2).unwrap(),
        WidePoly::zeros(&ring, 100, 3).unwrap(),
        WidePoly::zeros(&other, 100, 2).unwrap(),
    ] {
        assert!(a.add_assign(&b).is_err() && a.sub_assign(&b).is_err() && a.mul(&b).is_err());
    }
    assert!(a.reduced(0).is_err() && a.reduced(101).is_err());
    assert!(a.shift_round(100).is_err() && a.shift_round(u32::MAX).is_err());
    // 600 bits times 600 bits are beyond a ring that was made for 300.
    let narrow = BigCkksParams::insecure(BigCkksSpec::new(3, 300, 10)).unwrap();
    let narrow = Ring::new(Cpu::new(), narrow.ring().clone()).unwrap();
    let wide = WidePoly::zeros(&narrow, 550, 1).unwrap();
    assert!(wide.mul(&wide).is_err());
}
