//! The encoding against plain integers, and the noise against its bounds.

use super::codec::Codec;
use super::digit_ring::DigitRing;
use super::*;
use crate::Error;
use crate::backend::{Cpu, center_down};
use crate::ckks::SpecialFft;
use crate::params::ParamsError;
use crate::ring::{Ring, Span};
use crate::rlwe::{EvaluationKeys, KeyRequirements, RlweCiphertext, SecretKey};
use crate::testing::seeded;
use crate::wire::{Frame, FrameKind};
use num_bigint::BigInt;
use num_complex::Complex64;
use rand::{RngExt, rngs::ChaCha20Rng};

const SIZES: [u32; 4] = [8, 16, 32, 64];

/// The word whose binary digits alternate, for which noise and products are greatest.
const ALTERNATING: u64 = 0x5555_5555_5555_5555;

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

fn edges(bits: u32) -> Vec<u64> {
    let top = 1 << (bits - 1);
    let edges = [0, 1, 2, top - 1, top, top + 1, u64::MAX, u64::MAX - 1, ALTERNATING, !ALTERNATING];
    edges.map(|word| word & mask(bits)).to_vec()
}

/// Edges, then random words.
fn words(bits: u32, count: usize, rng: &mut ChaCha20Rng) -> Vec<u64> {
    let random = (0..count).map(|_| rng.random::<u64>() & mask(bits));
    edges(bits).into_iter().chain(random).take(count).collect()
}

/// P(2) modulo 2^64.
fn at_two(digits: &[i64]) -> u64 {
    digits.iter().rev().fold(0u64, |sum, &digit| sum.wrapping_mul(2).wrapping_add(digit as u64))
}

/// The product modulo X^k - X + 2, in big integers.
fn product(a: &[i64], b: &[i64]) -> Vec<BigInt> {
    let k = a.len();
    let mut sums = vec![BigInt::ZERO; 2 * k];
    for (i, &a) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, &b)| sums[i + j] += BigInt::from(a) * b);
    }
    for m in (k..2 * k).rev() {
        let high = std::mem::take(&mut sums[m]);
        sums[m - k + 1] += &high;
        sums[m - k] -= high * 2;
    }
    sums.truncate(k);
    sums
}

#[test]
fn digits_are_words_at_two() {
    let mut rng = seeded();
    for bits in SIZES {
        let ring = DigitRing::new(bits);
        let digits = |word| ring.digits(word).map(|digit| digit as i64).collect::<Vec<_>>();
        for pair in words(bits, 200, &mut rng).windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let found = product(&digits(a), &digits(b)).into_iter().rev();
            let found = found.fold(BigInt::ZERO, |sum, digit| sum * 2 + digit);
            let expected = BigInt::from(a.wrapping_mul(b) & mask(bits));
            assert_eq!((found - expected) % (BigInt::from(1) << bits), BigInt::ZERO, "{a} {b}");
            assert_eq!(at_two(&digits(a)) & mask(bits), a);
            // t times the fractions, whose last bits float64 cuts off.
            let fractions: Vec<f64> = ring.divided(a).collect();
            assert!(fractions.iter().all(|x| (-0.5..=0.5).contains(x)));
            let last = fractions[fractions.len() - 1];
            for (m, digit) in digits(a).into_iter().enumerate() {
                let around = [-2.0 * last, last].get(m).copied().unwrap_or(0.0);
                let below = if m == 0 { 0.0 } else { fractions[m - 1] };
                assert!((below - 2.0 * fractions[m] + around - digit as f64).abs() < 1e-9);
                assert!(digit.abs() <= if m < 2 { 2 } else { 1 });
            }
        }
    }
}

/// The values of one polynomial, and their squares with the weights of the digit where the sum is
/// greatest.
fn sums(ring: &DigitRing, coefficients: &[f64]) -> (Vec<Complex64>, f64) {
    let mut values = vec![Complex64::default(); ring.slots()];
    ring.evaluate(coefficients, &mut values);
    let sum = |m| ring.weights(m, true).zip(&values).map(|(w, x)| (w * x).norm_sqr()).sum::<f64>();
    let most = (0..ring.bits()).map(sum).fold(0.0, f64::max);
    (values, most)
}

#[test]
fn bounds_hold_for_the_worst_words_that_a_search_finds() {
    let mut rng = seeded();
    for bits in SIZES {
        let ring = DigitRing::new(bits);
        let norms = ring.norms();
        let check = |a: u64, b: u64| {
            let (x, left) = sums(&ring, &ring.divided(a).collect::<Vec<_>>());
            let (y, right) = sums(&ring, &ring.digits(b).collect::<Vec<_>>());
            let square = x.iter().zip(&y).map(|(x, y)| (x * y).norm_sqr()).sum::<f64>() / x.len() as f64;
            let found = [left / norms.multiplicand, right / norms.multiplier, square / norms.product];
            assert!(found.iter().all(|&ratio| ratio <= 1.0), "{a:x} {b:x}: {found:?}");
            found
        };
        for (a, b) in words(bits, 100, &mut rng).into_iter().zip(words(bits, 100, &mut rng)) {
            check(a, b);
            check(a, a);
        }
        // Ascent bit by bit, from the worst word that is known.
        let mut best = [ALTERNATING & mask(bits); 2];
        for goal in 0..3 {
            let mut most = check(best[0], best[1])[goal];
            for bit in (0..2 * bits).chain(0..2 * bits) {
                let mut next = best;
                next[(bit / bits) as usize] ^= 1 << (bit % bits);
                let found = check(next[0], next[1])[goal];
                (best, most) = if found > most { (next, found) } else { (best, most) };
            }
            // The bounds are not so wide that they would say nothing.
            assert!(most > 0.1, "{bits} bits, bound {goal}: {most}");
        }
    }
}

/// Everything that computes on words under one key.
struct Fixture {
    params: WordParams,
    ring: Ring<Cpu>,
    secret: SecretKey,
    keys: EvaluationKeys,
    ev: WordEvaluator,
    encryptor: WordEncryptor,
    decryptor: WordDecryptor,
}

impl Fixture {
    fn new(params: WordParams, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.ckks().rlwe(), rng);
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
        let ev = WordEvaluator::new(&params, &ring).unwrap();
        let encryptor = WordEncryptor::new(&params, &secret, &ring).unwrap();
        let decryptor = WordDecryptor::new(&params, &secret, &ring).unwrap();
        Self { params, ring, secret, keys, ev, encryptor, decryptor }
    }

    fn encrypt<R: Operand>(&self, words: &[u64], rng: &mut ChaCha20Rng) -> Words<R> {
        self.encryptor.encrypt::<R>(words, rng).unwrap().expand().unwrap()
    }

    fn products(&self, a: &[u64], b: &[u64], rng: &mut ChaCha20Rng) -> Words<Product> {
        let (a, b) = (self.encrypt::<Multiplicand>(a, rng), self.encrypt::<Multiplier>(b, rng));
        self.ev.multiply(&a, &b, &self.keys).unwrap()
    }

    /// The centred coefficients of a phase modulo q.
    fn phase(&self, pair: &RlweCiphertext) -> Vec<i64> {
        let secret = self.secret.on(&self.ring, Span::chain(1)).unwrap();
        let q = *self.ring.spec().modulus(Span::chain(1), 0);
        let read = |words: &[u64]| Ok(words.iter().map(|&c| center_down(&q, c)).collect());
        pair.with_phase_words(&secret, &[1], read).unwrap()
    }

    /// The root mean square of the errors of the digits of products, for the digit where it is
    /// greatest.
    #[expect(clippy::disallowed_methods, reason = "nothing is secret")]
    fn deviation(&self, coefficients: &[i64], scale: f64) -> f64 {
        let (slots, ring) = (self.params.ckks().slots(), self.params.digits());
        let phases = phases::phases(self.secret.key_set(), slots);
        let (fft, count) = (SpecialFft::new(slots), self.params.words_per_ciphertext());
        let mut squares = vec![0.0; ring.bits()];
        for coefficients in coefficients.chunks(2 * slots) {
            let pair =
                |i: usize| Complex64::new(coefficients[i] as f64, coefficients[slots + i] as f64) / scale;
            let mut values: Vec<Complex64> = (0..slots).map(pair).collect();
            fft.forward(&mut values);
            values.iter_mut().zip(&phases).for_each(|(value, phase)| *value *= (phase * phase).conj());
            for word in 0..count {
                let values: Vec<Complex64> = values[word..].iter().step_by(count).copied().collect();
                for (m, sum) in squares.iter_mut().enumerate() {
                    let digit: f64 = ring.weights(m, true).zip(&values).map(|(w, x)| (w * x).re).sum();
                    *sum += (digit - digit.round()).powi(2);
                }
            }
        }
        let words = coefficients.len() / (2 * slots) * count;
        squares.into_iter().map(|sum| (sum / words as f64).sqrt()).fold(0.0, f64::max)
    }
}

#[test]
fn products_sums_and_differences_are_those_of_wrapping_integers() {
    let mut rng = seeded();
    for bits in SIZES {
        let f = Fixture::new(WordParams::for_sums(bits, 2).unwrap(), &mut rng);
        let count = f.params.words_per_ciphertext() + 7;
        let mut draw = || words(bits, count, &mut rng);
        let [a, b, c, d] = [draw(), draw().into_iter().rev().collect(), draw(), draw()];
        let close = |found: &[u64], expected: &dyn Fn(usize) -> u64, what: &str| {
            assert_eq!(found.len(), 2 * f.params.words_per_ciphertext());
            for i in 0..count {
                assert_eq!(found[i], expected(i) & mask(bits), "{what} {i} of {bits} bits");
            }
            assert!(found[count..].iter().all(|&word| word == 0));
        };
        let (x, y) = (f.encrypt::<Multiplicand>(&a, &mut rng), f.encrypt::<Multiplier>(&b, &mut rng));
        close(&f.decryptor.decrypt(&x).unwrap(), &|i| a[i], "multiplicand");
        close(&f.decryptor.decrypt(&y).unwrap(), &|i| b[i], "multiplier");
        let z = f.encrypt::<Multiplicand>(&c, &mut rng);
        let sum = f.ev.sub(&x, &z).unwrap();
        close(&f.decryptor.decrypt(&sum).unwrap(), &|i| a[i].wrapping_sub(c[i]), "difference");
        let first = f.ev.multiply(&x, &y, &f.keys).unwrap();
        close(&f.decryptor.decrypt(&first).unwrap(), &|i| a[i].wrapping_mul(b[i]), "product");
        let of_sum = f.ev.multiply(&sum, &y, &f.keys).unwrap();
        let expected = |i: usize| a[i].wrapping_sub(c[i]).wrapping_mul(b[i]);
        close(&f.decryptor.decrypt(&of_sum).unwrap(), &expected, "product of a difference");
        let second = f.products(&c, &d, &mut rng);
        let both = f.ev.add(&first, &second).unwrap();
        let expected = |i: usize| a[i].wrapping_mul(b[i]).wrapping_add(c[i].wrapping_mul(d[i]));
        let reduced = ReducedWords::new(&f.params, both.slice_batch(0..2).unwrap()).unwrap();
        close(&f.decryptor.decrypt_reduced(&reduced).unwrap(), &expected, "sum of products");
        let refused = f.ev.add(&both, &first);
        assert!(matches!(refused, Err(Error::TooManyTerms { found: 3, limit: 2 })), "{refused:?}");
    }
}

#[test]
fn noise_stays_below_its_bounds() {
    let mut rng = seeded();
    let f = Fixture::new(WordParams::new(64).unwrap(), &mut rng);
    let spec = f.params.spec();
    assert_eq!((spec.q_bits, spec.p_bits, spec.result_bits), (38, 40, 22));
    assert!(f.params.failure_log2() <= FAILURE_TARGET_LOG2);
    let [product, reduced] = f.params.digit_deviations();
    println!("bounds: {product:.4} and {reduced:.4}, failure 2^{:.1}", f.params.failure_log2());
    assert!(0.5 / reduced > 9.0, "{reduced}");
    let batch = 16 * f.params.words_per_ciphertext();
    let random: Vec<u64> = (0..batch).map(|_| rng.random()).collect();
    for (name, a, b, least) in [
        ("random", random.clone(), random.iter().map(|x| x.rotate_left(7)).collect(), 0.3),
        ("alternating", vec![ALTERNATING; batch], vec![ALTERNATING; batch], 0.5),
        ("2^63", vec![1 << 63; batch], vec![1 << 63; batch], 0.0),
        ("2^64 - 1", vec![u64::MAX; batch], vec![u64::MAX; batch], 0.0),
        ("0", vec![0; batch], vec![0; batch], 0.0),
    ] {
        let products = f.products(&a, &b, &mut rng);
        let scales = f.params.scales();
        let phase = f.phase(products.pair());
        let found = f.deviation(&phase, scales[0] * scales[1]);
        // The coefficients are as far from the modulus for equal words as for random ones.
        let rms = (phase.iter().map(|&c| (c as f64).powi(2)).sum::<f64>() / phase.len() as f64).sqrt();
        let sigmas = f.ring.spec().q()[0] as f64 / 2.0 / rms;
        let short = ReducedWords::new(&f.params, products).unwrap();
        let shift = 64 - spec.result_bits;
        let lifted = f.phase(&short.lifted(&f.ring).unwrap());
        let lifted: Vec<i64> = lifted.into_iter().map(|c| (c << shift) >> shift).collect();
        let after = f.deviation(&lifted, ReducedWords::scale_of(&f.params));
        println!("{name}: {found:.4} and {after:.4}, modulus {sigmas:.1} deviations");
        assert!(found <= product && after <= reduced && found >= least * product, "{name}");
        assert!(sigmas > 10.0, "{name}: {sigmas}");
        let words = f.decryptor.decrypt_reduced(&short).unwrap();
        let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a.wrapping_mul(*b)).collect();
        assert_eq!(*words, expected, "{name}");
    }
}

#[test]
fn parameters_that_fail_too_often_are_refused() {
    for bits in SIZES {
        let spec = WordParams::new(bits).unwrap().spec();
        println!("{spec:?}: 2^{:.1}", WordParams::new(bits).unwrap().failure_log2());
        let coarse = WordParams::try_from(WordSpec { result_bits: spec.result_bits - 2, ..spec });
        let Err(ParamsError::WordFailure { found_log2, limit_log2 }) = coarse else { panic!("{coarse:?}") };
        assert!(found_log2 > limit_log2 && limit_log2 == FAILURE_LIMIT_LOG2);
        let many = WordParams::try_from(WordSpec { terms: 1 << 12, ..spec });
        assert!(matches!(many, Err(ParamsError::WordFailure { .. })), "{many:?}");
    }
    let spec = WordParams::new(64).unwrap().spec();
    assert!(matches!(WordParams::new(12), Err(ParamsError::WordSize { found: 12 })));
    assert!(matches!(WordParams::for_sums(64, 1 << 16), Err(ParamsError::WordFailure { .. })));
    for wrong in [
        WordSpec { terms: 0, ..spec },
        WordSpec { log_n: 5, ..spec },
        WordSpec { result_bits: 25, ..spec },
        WordSpec { result_bits: 0, ..spec },
    ] {
        assert!(matches!(WordParams::insecure(wrong), Err(ParamsError::OutOfRange { .. })), "{wrong:?}");
    }
    let small = WordSpec { log_n: 11, ..spec };
    assert!(matches!(WordParams::try_from(small), Err(ParamsError::Insecure { .. })));
}

/// Words of 8 bits at N = 2^5.
fn small() -> WordParams {
    let spec = WordSpec { bits: 8, terms: 1, log_n: 5, q_bits: 30, p_bits: 31, result_bits: 20 };
    WordParams::insecure(spec).unwrap()
}

#[test]
fn frames_of_reduced_products_round_trip_and_hostile_ones_are_refused() {
    let mut rng = seeded();
    let f = Fixture::new(small(), &mut rng);
    let (a, b) = (words(8, 8, &mut rng), words(8, 8, &mut rng));
    let reduced = ReducedWords::new(&f.params, f.products(&a, &b, &mut rng)).unwrap();
    let frame = reduced.to_frame(&f.params).unwrap();
    assert_eq!(frame.body.len() as u64, ReducedWords::frame_limit(&f.params, 2));
    let read = ReducedWords::from_frame(&f.params, &frame).unwrap();
    assert_eq!(read, reduced);
    let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| (a * b) & 0xff).collect();
    assert_eq!(*f.decryptor.decrypt_reduced(&read).unwrap(), expected);
    for (at, byte) in [(0, 16), (1, 19), (2, 1), (2, 0), (5, 255), (13, 0)] {
        let mut hostile = Frame { kind: frame.kind, body: frame.body.clone(), ..frame };
        hostile.body[at] = byte;
        let refused = ReducedWords::from_frame(&f.params, &hostile);
        assert!(matches!(refused, Err(Error::Wire(_))), "byte {at}: {refused:?}");
    }
    for length in [0, 5, 14, frame.body.len() - 1] {
        let body = frame.body[..length].to_vec();
        let short = Frame { kind: FrameKind::ReducedWords, body, ..frame };
        assert!(matches!(ReducedWords::from_frame(&f.params, &short), Err(Error::Wire(_))));
    }
    let other = WordParams::new(8).unwrap();
    assert!(matches!(ReducedWords::from_frame(&other, &frame), Err(Error::Wire(_))));
    assert!(matches!(reduced.to_frame(&other), Err(Error::ParamsMismatch { .. })));
}

#[test]
fn operands_of_other_roles_and_wrong_keys_are_refused() {
    let mut rng = seeded();
    let f = Fixture::new(small(), &mut rng);
    let left = f.encryptor.encrypt::<Multiplicand>(&[3; 8], &mut rng).unwrap();
    let as_right = SeededWords::<Multiplier>::from_ciphertext(&f.params, left.ciphertext().clone());
    assert!(matches!(as_right, Err(Error::ScaleMismatch { .. })), "{as_right:?}");
    let again = SeededWords::<Multiplicand>::from_ciphertext(&f.params, left.ciphertext().clone());
    assert_eq!(again.unwrap().batch(), 2);
    // Another secret under the same name: nothing but the digits can tell.
    let mut words = left.expand().unwrap();
    let secret = SecretKey::generate(f.params.ckks().rlwe(), &mut rng);
    let other = WordDecryptor::new(&f.params, &secret, &f.ring).unwrap();
    assert!(matches!(other.decrypt(&words), Err(Error::KeyMismatch { .. })));
    words.set_key_set(None);
    let refused = other.decrypt(&words);
    assert!(matches!(refused, Err(Error::BadDigits { .. })), "{refused:?}");
    let empty = f.encryptor.encrypt::<Multiplier>(&[], &mut rng);
    assert!(matches!(empty, Err(Error::BatchRange { .. })), "{empty:?}");
}

/// Slots of equal words are as different as those of random ones.
#[test]
fn phases_depend_on_the_key_set_alone() {
    let mut rng = seeded();
    let f = Fixture::new(small(), &mut rng);
    let codec = Codec::new(&f.params, f.secret.key_set());
    let again = Codec::new(&f.params, f.secret.key_set()).slots::<Multiplier>(&[1; 4]).to_vec();
    assert_eq!(*codec.slots::<Multiplier>(&[1; 4]), again);
    let other = Codec::new(&f.params, crate::KeySetId::from_bytes([7; 16])).slots::<Multiplier>(&[1; 4]);
    assert!(again.iter().zip(other.iter()).all(|(a, b)| a != b && (a.norm() - b.norm()).abs() < 1e-9));
}
