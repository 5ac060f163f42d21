//! Plaintexts modulo Q P.

use super::ciphertext::Meta;
use super::{CkksParams, Encoding, Evaluator, NoiseEstimate, Plaintext};
use crate::backend::{Cpu, RingOps, Weight};
use crate::error::{Error, Result};
use crate::poly::PlainPoly;
use crate::ring::{Eval, Poly, Ring, Span};
use derive_where::derive_where;
use num_complex::Complex64;

/// An encoded vector modulo the primes of a level and the special ones, in evaluation form: what
/// multiplies ciphertexts inside a key switch
/// ([`ExtendedCiphertext`](crate::rlwe::ExtendedCiphertext)).
///
/// A vector that repeats after n values is a polynomial in X^(N / 2n), whose evaluation form comes
/// in runs of N / 2n equal words. One word of each run is stored, so that it takes 2n words for
/// each prime.
#[derive_where(Clone; B::Buf)]
pub struct ExtendedPlaintext<B: RingOps = Cpu> {
    ring: Ring<B>,
    span: Span,
    /// `[limb][run]`.
    words: B::Buf,
    log_run: u32,
    pub(super) meta: Meta,
}

impl<B: RingOps> std::fmt::Debug for ExtendedPlaintext<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ring, span, log_run, meta, .. } = self;
        write!(f, "ExtendedPlaintext {{ N = {}, {span}, runs of {}, {meta:?} }}", ring.n(), 1u64 << log_run)
    }
}

impl<B: RingOps> ExtendedPlaintext<B> {
    /// The polynomial, by all its words.
    ///
    /// # Errors
    /// Device errors.
    pub fn to_poly(&self) -> Result<Poly<Eval, B>> {
        Poly::from_runs(&self.ring, self.span, &self.words, self.log_run)
    }

    /// The form in which sums of rotations take it.
    pub(super) fn weight(&self) -> Weight<'_, B::Buf> {
        Weight::Poly { words: &self.words, log_run: self.log_run }
    }

    /// The memory that it takes on the device, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.ring.backend().words(&self.words) * size_of::<u64>()) as u64
    }

    /// The level whose primes it has, beside the special ones.
    pub fn level(&self) -> usize {
        self.meta.level
    }

    /// The scale, by which values are multiplied in the polynomial.
    pub fn scale(&self) -> f64 {
        self.meta.scale
    }

    /// Slots of the vector; with fewer than N/2 the vector repeats.
    pub fn slots(&self) -> usize {
        self.meta.slots
    }

    /// The estimate of the encoding's rounding, if known.
    pub fn noise(&self) -> Option<NoiseEstimate> {
        self.meta.noise
    }

    /// The plaintext modulo the primes of the level alone.
    ///
    /// # Errors
    /// Device errors.
    pub fn to_plaintext(&self) -> Result<Plaintext<B>> {
        let span = Span { p: 0, ..self.span };
        let poly = Poly::from_runs(&self.ring, span, &self.words, self.log_run)?;
        Ok(Plaintext { poly: PlainPoly::encoded(poly), meta: self.meta })
    }
}

/// log2 of the number of equal neighbours in the evaluation form of a vector of this least period.
fn log_run(log_n: u32, period: usize) -> u32 {
    (log_n - 1).saturating_sub(period.ilog2())
}

/// The least power of two after which values repeat, whose number is a power of two. NaN equals
/// nothing.
fn least_period(values: &[Complex64]) -> usize {
    let mut period = values.len();
    while period > 1 && values[..period / 2] == values[period / 2..period] {
        period /= 2;
    }
    period
}

impl CkksParams {
    /// Bytes of a limb of the [`ExtendedPlaintext`] of values that fill a number of slots, both a
    /// power of two; each value may repeat `times` times before the next one follows.
    pub(crate) fn extended_limb_bytes(&self, values: &[Complex64], times: usize) -> usize {
        let period = match least_period(values) {
            1 => 1,
            period => period * times,
        };
        (self.rlwe().ring().n() >> log_run(self.rlwe().ring().log_n(), period)) * size_of::<u64>()
    }
}

impl<B: RingOps> Evaluator<B> {
    /// Encodes a vector modulo the primes of a level and the special ones: each coefficient is
    /// rounded as in [`Encoder::encode`](super::Encoder::encode), then taken modulo the primes of
    /// key switching too. To multiply ciphertexts of that level, encode
    /// [`for_multiplying`](Encoding::for_multiplying).
    ///
    /// Values that repeat within the slots are stored once: the memory, and with it the time, tell
    /// the least power of two after which they do.
    ///
    /// # Errors
    /// The same as for [`Encoder::encode`](super::Encoder::encode).
    pub fn encode_extended(&self, values: &[Complex64], to: Encoding) -> Result<ExtendedPlaintext<B>> {
        let slots = to.slot_count();
        // The transform of a vector that repeats is, number by number, that of what it repeats.
        let repeats = values.len() == slots && slots.is_power_of_two();
        let period = if repeats { least_period(values) } else { slots };
        let values = if repeats { &values[..period] } else { values };
        let plain = self.encoder().encode(values, to.slots(period))?;
        let meta = Meta { slots, ..plain.meta };
        meta.check(self.params())?;
        let (ring, span) = (self.ring(), self.key_switch_span(meta.level));
        let poly = plain.poly.duplicate()?.into_coeff()?.extend(span)?.into_eval()?;
        let log_run = log_run(ring.spec().log_n(), period);
        Ok(ExtendedPlaintext { ring: ring.clone(), span, words: poly.into_runs(log_run)?, log_run, meta })
    }

    /// Encodes a vector of weights for [`sum_of_masked_rotations`](Self::sum_of_masked_rotations)
    /// on a ciphertext of this level; with fewer than N/2 values it is padded with zeros.
    ///
    /// # Errors
    /// The same as for [`Encoder::encode`](super::Encoder::encode).
    pub fn encode_weight(&self, values: &[Complex64], level: usize) -> Result<ExtendedPlaintext<B>> {
        let to = self.params().encoding().at_level(self.params(), level)?;
        // Nothing multiplies on level 0, so that any scale will do.
        self.encode_extended(values, if level == 0 { to } else { to.for_multiplying(self.params())? })
    }

    /// Whether a plaintext multiplies ciphertexts of this level inside a key switch.
    pub(super) fn check_extended(&self, plain: &ExtendedPlaintext<B>, level: usize) -> Result<()> {
        if !plain.ring.same(self.ring()) {
            return Err(Error::RingMismatch);
        }
        let (left, right) = (plain.span, self.key_switch_span(level));
        if left != right {
            return Err(Error::SpanMismatch { left, right });
        }
        self.check_multiplier_scale(plain.meta.scale, level)
    }

    pub(super) fn key_switch_span(&self, level: usize) -> Span {
        Span::extended(self.primes_at(level), self.ring().spec().p().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Ciphertext, CkksSpec, LevelGroup, SecretEncryptor};
    use crate::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    fn evaluator(params: &CkksParams) -> Evaluator {
        Evaluator::new(params, &Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap()).unwrap()
    }

    /// Scales whose vectors are transformed in doubles, and in longer numbers.
    fn evaluators(log_n: u32) -> [Evaluator; 2] {
        let short = CkksSpec::from_bits(log_n, &[50, 40, 40], &[50, 50], 40.0).unwrap();
        let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
        let widths = [vec![40], vec![35, 35], vec![35, 35]];
        let groups = [group(2, 40.0), group(2, 70.0)];
        let long = CkksSpec::from_level_bits(log_n, &[55], &widths, &[61, 61], &groups).unwrap();
        [short, long].map(|spec| evaluator(&CkksParams::insecure(spec).unwrap()))
    }

    fn random(rng: &mut ChaCha20Rng, count: usize) -> Vec<Complex64> {
        let mut part = || rng.random_range(-1.0..1.0);
        (0..count).map(|_| Complex64::new(part(), part())).collect()
    }

    /// The polynomial of a vector of all slots, without a look for what repeats.
    fn whole(ev: &Evaluator, values: &[Complex64], to: Encoding) -> Poly<Eval> {
        let plain = ev.encoder().encode(values, to).unwrap();
        let coefficients = plain.poly.duplicate().unwrap().into_coeff().unwrap();
        coefficients.extend(ev.key_switch_span(plain.meta.level)).unwrap().into_eval().unwrap()
    }

    /// The same plaintext with all words.
    fn unshortened(plain: &ExtendedPlaintext) -> ExtendedPlaintext {
        let words = plain.to_poly().unwrap().into_runs(0).unwrap();
        ExtendedPlaintext { words, log_run: 0, ..plain.clone() }
    }

    #[test]
    fn periods_are_least_powers_of_two() {
        let of = |values: &[f64]| least_period(&values.iter().map(|&x| x.into()).collect::<Vec<_>>());
        assert_eq!(of(&[3.0]), 1);
        assert_eq!(of(&[3.0; 8]), 1);
        assert_eq!(of(&[0.0, -0.0, 0.0, 0.0]), 1);
        assert_eq!(of(&[1.0, 2.0, 1.0, 2.0]), 2);
        assert_eq!(of(&[1.0, 2.0, 1.0, 3.0]), 4);
        assert_eq!(of(&[1.0, 1.0, 2.0, 2.0]), 4);
        assert_eq!(of(&[f64::NAN; 4]), 4);
    }

    /// A vector of n slots, and what repeats it in more of them, is the polynomial of all slots, to
    /// the word, by 2n words for each prime.
    #[test]
    fn vectors_that_repeat_are_stored_once() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        for ev in evaluators(7) {
            let (params, n) = (ev.params(), ev.ring().n());
            for (level, log_slots) in (0..=params.max_level()).flat_map(|i| (0..7).map(move |k| (i, k))) {
                let to = params.encoding().at_level(params, level).unwrap();
                let values = random(rng, 1 << log_slots);
                let expected = whole(&ev, &values.repeat(64 >> log_slots), to).to_words().unwrap();
                for slots in (log_slots..7).map(|log| 1usize << log) {
                    let repeated = values.repeat(slots >> log_slots);
                    let plain = ev.encode_extended(&repeated, to.slots(slots)).unwrap();
                    let poly = plain.to_poly().unwrap();
                    assert_eq!((poly.span(), plain.slots()), (ev.key_switch_span(level), slots));
                    assert_eq!(poly.to_words().unwrap(), expected, "2^{log_slots} of {slots} slots");
                    let limbs = poly.span().limbs();
                    assert_eq!(plain.bytes() as usize, (limbs * 8) << (log_slots + 1));
                    assert_eq!(plain.bytes() as usize, limbs * params.extended_limb_bytes(&repeated, 1));
                    let chain = plain.to_plaintext().unwrap();
                    let primes = chain.poly.span().limbs();
                    assert_eq!(chain.poly.to_words().unwrap(), expected[..primes * n]);
                    assert_eq!(chain.meta, plain.meta);
                }
            }
        }
    }

    /// Sums by weights of few words are those by all words, to the word.
    #[test]
    fn runs_multiply_as_all_words_do() {
        let rng = &mut ChaCha20Rng::seed_from_u64(2);
        // Rows of less than a piece, of one tile and of several.
        for log_n in [6, 11, 13] {
            let [ev, _] = evaluators(log_n);
            let params = ev.params();
            let secret = SecretKey::generate(params.rlwe(), rng);
            let needs = KeyRequirements::new().rotations([1, 3, 8]);
            let keys = EvaluationKeys::generate(&secret, ev.ring(), needs, rng).unwrap();
            let slots = params.slots();
            let plain = ev.encoder().encode(&random(rng, slots), params.encoding()).unwrap();
            let encryptor = SecretEncryptor::new(params, &secret, ev.ring()).unwrap();
            let ct = encryptor.encrypt(&plain, rng).unwrap().expand().unwrap();
            let to = params.encoding_for(&ct).for_multiplying(params).unwrap();
            let mut weight =
                |period: usize| ev.encode_extended(&random(rng, period).repeat(slots / period), to).unwrap();
            let weights = [1, 2, slots / 4, slots / 2, slots, 4].map(&mut weight);
            let all = weights.each_ref().map(unshortened);
            assert!(weights[0].bytes() < all[0].bytes());
            let sums = |weights: &[ExtendedPlaintext; 6]| {
                let term = |step: i64, i: usize| (step, &weights[i]);
                let groups = [
                    (0, vec![term(0, 0), term(1, 4), term(3, 2)]),
                    (8, vec![term(0, 3), term(1, 1), term(3, 5)]),
                ];
                let masked = [term(0, 1), term(1, 3), term(3, 4), term(8, 2)];
                [
                    ev.double_hoisted_sum(&ct, &groups, &keys).unwrap(),
                    ev.sum_of_masked_rotations(&ct, &masked, &keys).unwrap(),
                ]
            };
            let words = |ct: &Ciphertext| ct.pair().parts().map(|c| c.to_words().unwrap());
            for (short, long) in sums(&weights).iter().zip(&sums(&all)) {
                assert_eq!(words(short), words(long), "N = 2^{log_n}");
                assert_eq!(short.slots(), long.slots());
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let [ev, _] = evaluators(5);
        let to = ev.params().encoding();
        let (one, nan) = (Complex64::ONE, Complex64::new(f64::NAN, 0.0));
        let of = |values: &[Complex64], slots| ev.encode_extended(values, to.slots(slots)).unwrap_err();
        assert!(matches!(of(&[one; 17], 16), Error::TooManyValues { found: 17, capacity: 16 }));
        assert!(matches!(of(&[one; 32], 32), Error::SlotCount { found: 32, capacity: 16 }));
        for slots in [0, 3] {
            assert!(matches!(of(&vec![one; slots], slots), Error::SlotCount { capacity: 16, .. }));
        }
        assert!(matches!(of(&[one, nan, one, nan], 4), Error::NotFinite { index: 1 }));
        let infinite = one / 0.0;
        assert!(matches!(of(&[one, one, infinite, one].repeat(2), 8), Error::NotFinite { index: 2 }));
    }

    /// No word of the polynomial appears in what is printed.
    #[test]
    fn words_are_not_printed() {
        let [ev, _] = evaluators(5);
        let plain =
            ev.encode_extended(&[Complex64::new(0.3, 0.7); 4], ev.params().encoding().slots(4)).unwrap();
        let printed = format!("{plain:?}");
        assert!(
            printed.starts_with("ExtendedPlaintext { N = 32, ") && printed.contains("runs of 16"),
            "{printed}"
        );
        for word in plain.to_poly().unwrap().to_words().unwrap() {
            assert!(!printed.contains(&word.to_string()), "{printed}");
        }
    }
}
