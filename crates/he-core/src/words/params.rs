//! Parameters of words.

use super::digit_ring::DigitRing;
use super::noise::Noise;
use super::{FAILURE_LIMIT_LOG2, FAILURE_TARGET_LOG2};
use crate::ckks::{CkksParams, CkksSpec};
use crate::params::ParamsError;
use std::sync::Arc;

/// The bits that words can have.
const WORD_BITS: [u32; 4] = [8, 16, 32, 64];

/// log2 of a scale of parameters whose own scale is not known yet.
const ANY_SCALE_LOG2: f64 = 16.0;

/// A plain, unchecked description of parameters of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordSpec {
    /// The bits of a word: 8, 16, 32 or 64.
    pub bits: u32,
    /// The products that a sum may have.
    pub terms: u32,
    /// log2 of the ring degree N.
    pub log_n: u32,
    /// The bits of the prime of ciphertexts.
    pub q_bits: u32,
    /// The bits of the special prime of relinearisation.
    pub p_bits: u32,
    /// The bits of the coefficients of reduced products.
    pub result_bits: u32,
}

impl WordSpec {
    /// The degree of secure parameters.
    const LOG_N: u32 = 12;
    /// The widths of primes that are tried: from the least for which noise leaves something, up to
    /// the greatest that is computed fastest.
    const Q_BITS: std::ops::RangeInclusive<u32> = 36..=50;

    /// The narrowest prime and the fewest bits of results at N = 2^12 for which words of sums of so
    /// many products are wrong with a probability of at most 2^-64.
    ///
    /// # Errors
    /// [`ParamsError::WordSize`]; [`ParamsError::WordFailure`] for more terms than any prime
    /// allows.
    pub fn for_sums(bits: u32, terms: u32) -> Result<Self, ParamsError> {
        let digits = digit_ring(bits)?;
        let mut least = f64::INFINITY;
        for q_bits in Self::Q_BITS {
            let spec = Self { bits, terms, log_n: Self::LOG_N, q_bits, p_bits: q_bits + 2, result_bits: 1 };
            spec.check()?;
            let (_, noise) = spec.noise(&digits)?;
            for result_bits in 1..=spec.most_result_bits() {
                let found_log2 = noise.failure_log2(bits, noise.scales(), result_bits);
                if found_log2 <= FAILURE_TARGET_LOG2 {
                    return Ok(Self { result_bits, ..spec });
                }
                least = least.min(found_log2);
            }
        }
        Err(ParamsError::WordFailure { found_log2: least, limit_log2: FAILURE_TARGET_LOG2 })
    }

    /// Secrets times coefficients of more bits would not fit the modulus.
    fn most_result_bits(self) -> u32 {
        self.q_bits.saturating_sub(self.log_n + 2)
    }

    /// Whether every field is in its range.
    fn check(self) -> Result<(), ParamsError> {
        for (what, found, lowest, highest) in [
            ("number of terms", self.terms, 1, 1 << 16),
            ("log2 of the ring degree", self.log_n, self.bits.ilog2(), 16),
            ("bits of reduced products", self.result_bits, 1, self.most_result_bits()),
        ] {
            if !(lowest..=highest).contains(&found) {
                let [found, lowest, highest] = [found, lowest, highest].map(f64::from);
                return Err(ParamsError::OutOfRange { what, found, lowest, highest });
            }
        }
        Ok(())
    }

    /// The primes, and the noise that they leave.
    fn noise(self, digits: &DigitRing) -> Result<(CkksSpec, Noise), ParamsError> {
        let spec = CkksSpec::from_bits(self.log_n, &[self.q_bits], &[self.p_bits], ANY_SCALE_LOG2)?;
        let ckks = CkksParams::insecure(spec.clone())?;
        Ok((spec, Noise::new(ckks.rlwe(), digits.norms(), self.terms)))
    }

    fn checked(
        self,
        ckks: impl Fn(CkksSpec) -> Result<CkksParams, ParamsError>,
    ) -> Result<WordParams, ParamsError> {
        let digits = digit_ring(self.bits)?;
        self.check()?;
        let (spec, noise) = self.noise(&digits)?;
        let scales = noise.scales();
        let found_log2 = noise.failure_log2(self.bits, scales, self.result_bits);
        if found_log2.is_nan() || found_log2 > FAILURE_LIMIT_LOG2 {
            return Err(ParamsError::WordFailure { found_log2, limit_log2: FAILURE_LIMIT_LOG2 });
        }
        let ckks = ckks(spec.with_scale(libm::log2(scales[0])))?;
        Ok(WordParams(Arc::new(Inner { spec: self, ckks, digits, noise, scales, failure_log2: found_log2 })))
    }
}

/// The ring for words of a number of bits that they can have.
fn digit_ring(bits: u32) -> Result<DigitRing, ParamsError> {
    if WORD_BITS.contains(&bits) {
        Ok(DigitRing::new(bits))
    } else {
        Err(ParamsError::WordSize { found: bits })
    }
}

#[derive(Debug)]
struct Inner {
    spec: WordSpec,
    ckks: CkksParams,
    digits: DigitRing,
    noise: Noise,
    scales: [f64; 2],
    failure_log2: f64,
}

/// Checked parameters of words, as a cheap handle.
#[derive(Clone, Debug)]
pub struct WordParams(Arc<Inner>);

impl PartialEq for WordParams {
    fn eq(&self, other: &Self) -> bool {
        self.spec() == other.spec()
    }
}

impl Eq for WordParams {}

impl TryFrom<WordSpec> for WordParams {
    type Error = ParamsError;

    /// Accepts parameters of at least 128-bit security whose words are wrong with a probability of
    /// at most 2^-40.
    fn try_from(spec: WordSpec) -> Result<Self, ParamsError> {
        spec.checked(CkksParams::try_from)
    }
}

impl WordParams {
    /// Parameters for products of words of 8, 16, 32 or 64 bits: N = 2^12, uniform ternary secrets,
    /// at least 128-bit security, words wrong with a probability of at most 2^-64. For 64 bits the
    /// primes have 38 and 40 bits, and reduced products 22.
    ///
    /// # Errors
    /// [`ParamsError::WordSize`] for another number of bits.
    pub fn new(bits: u32) -> Result<Self, ParamsError> {
        Self::for_sums(bits, 1)
    }

    /// The same for sums of up to so many products.
    ///
    /// # Errors
    /// [`ParamsError::WordSize`]; [`ParamsError::WordFailure`] for more terms than any prime
    /// allows.
    pub fn for_sums(bits: u32, terms: u32) -> Result<Self, ParamsError> {
        WordSpec::for_sums(bits, terms)?.try_into()
    }

    /// Accepts any degree, whatever the security; for experiments and tests only. The probability
    /// of wrong words is bounded as ever.
    ///
    /// # Errors
    /// Any [`ParamsError`] except [`ParamsError::Insecure`].
    pub fn insecure(spec: WordSpec) -> Result<Self, ParamsError> {
        spec.checked(CkksParams::insecure)
    }

    /// The plain description.
    pub fn spec(&self) -> WordSpec {
        self.0.spec
    }

    /// The parameters of keys and ciphertexts: one level.
    pub fn ckks(&self) -> &CkksParams {
        &self.0.ckks
    }

    /// The words of a ciphertext: N / k.
    pub fn words_per_ciphertext(&self) -> usize {
        self.0.ckks.rlwe().ring().n() / self.0.digits.bits()
    }

    /// log2 of a bound on the probability that a word of a reduced sum of
    /// [`terms`](WordSpec::terms) products decrypts wrongly, for any words that do not depend on
    /// the identity of the key set.
    pub fn failure_log2(&self) -> f64 {
        self.0.failure_log2
    }

    /// A bound on the standard deviation of the error of a digit of such a sum, which is right
    /// below 1/2: before the reduction, and after it.
    pub fn digit_deviations(&self) -> [f64; 2] {
        let Inner { noise, scales, spec, .. } = &*self.0;
        [noise.product_deviation(*scales), noise.reduced_deviation(*scales, spec.result_bits)]
    }

    /// The scales of multiplicands and multipliers.
    pub fn scales(&self) -> [f64; 2] {
        self.0.scales
    }

    pub(super) fn digits(&self) -> &DigitRing {
        &self.0.digits
    }
}
