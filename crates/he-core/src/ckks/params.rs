//! CKKS parameters: from a chain, and by preset.

use super::extended::{EXTENDED_LOG2, Transform};
use super::noise::NoiseModel;
use crate::arith::{DoubleDouble, nearest_ntt_primes, ntt_primes_below};
use crate::params::ParamsError;
use crate::ring::{ERROR_VARIANCE, RingSpec};
use crate::rlwe::{Fingerprint, RlweParams};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One level: which primes a ciphertext has there, and the exact scale that the aligning operations keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Primes of the chain.
    pub primes: usize,
    /// The scale.
    pub scale: f64,
}

/// A plain, unchecked description of CKKS parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CkksSpec {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The modulus chain; the last prime is dropped first.
    pub q: Vec<u64>,
    /// Special primes for key switching; may be empty, then there are no evaluation keys.
    pub p: Vec<u64>,
    /// Primes of each level, level 0 first, ascending; the last is the chain's length.
    pub level_primes: Vec<usize>,
    /// Digits of key switching: ranges of chain primes.
    pub digits: Vec<Range<usize>>,
    /// log2 of the scale at the top level.
    pub scale_log2: f64,
}

impl CkksSpec {
    /// A chain by the widths of its primes, base first; primes after the base are those nearest to the scale that keep every
    /// level's scale at its nominal value. One prime a level; digits as wide as the special modulus allows.
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`] and the like.
    pub fn from_bits(
        log_n: u32,
        q_bits: &[u32],
        p_bits: &[u32],
        scale_log2: f64,
    ) -> Result<Self, ParamsError> {
        if !(RingSpec::MIN_LOG_N..=RingSpec::MAX_LOG_N).contains(&log_n) {
            let (lowest, highest) = (RingSpec::MIN_LOG_N, RingSpec::MAX_LOG_N);
            return Err(ParamsError::Degree { found: log_n, lowest, highest });
        }
        let limit = RingSpec::MAX_PRIMES;
        for (chain, found, lowest) in [("modulus chain", q_bits.len(), 1), ("special chain", p_bits.len(), 0)]
        {
            if !(lowest..=limit).contains(&found) {
                return Err(ParamsError::ChainLength { chain, found, lowest, highest: limit });
            }
        }
        let base = ntt_primes_below(q_bits[0], log_n, 1, &[])?;
        let levels: Vec<Vec<u32>> = q_bits[1..].iter().map(|&bits| vec![bits]).collect();
        Self::above_base(log_n, base, &levels, p_bits, scale_log2)
    }

    /// The same with several primes a level: the widths of the base's primes, then those of the
    /// primes that each level adds.
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`].
    pub(super) fn from_level_bits(
        log_n: u32,
        base_bits: &[u32],
        level_bits: &[Vec<u32>],
        p_bits: &[u32],
        scale_log2: f64,
    ) -> Result<Self, ParamsError> {
        let mut base = Vec::with_capacity(base_bits.len());
        for &bits in base_bits {
            let prime = ntt_primes_below(bits, log_n, 1, &base)?[0];
            base.push(prime);
        }
        Self::above_base(log_n, base, level_bits, p_bits, scale_log2)
    }

    /// From the primes of the base.
    fn above_base(
        log_n: u32,
        mut q: Vec<u64>,
        level_bits: &[Vec<u32>],
        p_bits: &[u32],
        scale_log2: f64,
    ) -> Result<Self, ParamsError> {
        let mut p = Vec::new();
        for &bits in p_bits {
            let known: Vec<u64> = q.iter().chain(&p).copied().collect();
            p.push(ntt_primes_below(bits, log_n, 1, &known)?[0]);
        }
        let mut level_primes = vec![q.len()];
        for widths in level_bits {
            level_primes.push(level_primes[level_primes.len() - 1] + widths.len());
        }
        // From the top level down: S' = S^2 / D, and D nearest to S^2 / 2^bits leads back to
        // 2^bits.
        let mut scale = scale_log2.exp2();
        let mut chain: Vec<u64> = Vec::new();
        for widths in level_bits.iter().rev() {
            let bits: u32 = widths.iter().sum();
            let mut target = if (scale_log2 - f64::from(bits)).abs() < 0.5 {
                scale * scale / scale_log2.exp2()
            } else {
                f64::from(bits).exp2()
            };
            // All but the last prime of a level have their width, the last makes up for what they
            // miss.
            for (i, &bits) in widths.iter().enumerate() {
                let nearest = if i + 1 == widths.len() { target } else { f64::from(bits).exp2() };
                let known: Vec<u64> = q.iter().chain(&p).chain(&chain).copied().collect();
                let below = if nearest < 0.99 * 50f64.exp2() { 50 } else { 61 };
                let prime = nearest_ntt_primes(nearest, below, log_n, 1, &known)?[0];
                target /= prime as f64;
                chain.push(prime);
            }
            let dropped = chain[chain.len() - widths.len()..].iter().fold(1.0, |d, &q| d * q as f64);
            scale = scale * scale / dropped;
        }
        q.extend(chain.into_iter().rev());
        let digits = RlweParams::greedy_digits(&q, &p);
        Ok(Self { log_n, level_primes, q, p, digits, scale_log2 })
    }

    /// With `dnum` digits of equal length (the last may be shorter).
    #[must_use]
    pub fn with_dnum(mut self, dnum: usize) -> Self {
        self.digits = RlweParams::even_digits(self.q.len(), dnum);
        self
    }
}

#[derive(Debug)]
struct Inner {
    rlwe: RlweParams,
    levels: Vec<Level>,
    /// What doubles leave of the levels' scales; zeros unless values are finer than doubles.
    scale_rests: Vec<f64>,
    scale_log2: f64,
    noise: NoiseModel,
    fingerprint: Fingerprint,
    explanation: String,
    /// Roots of the encoding's transform, once they are needed.
    transform: OnceLock<Transform>,
}

/// Checked CKKS parameters; a cheap handle.
#[derive(Clone, Debug)]
pub struct CkksParams(Arc<Inner>);

impl PartialEq for CkksParams {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}

impl Eq for CkksParams {}

impl TryFrom<CkksSpec> for CkksParams {
    type Error = ParamsError;

    /// At least 128-bit security.
    fn try_from(spec: CkksSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(
            RlweParams::new(ring, spec.digits)?,
            &spec.level_primes,
            spec.scale_log2,
            String::new(),
        )
    }
}

impl CkksParams {
    /// Any degree from 2^2 and any chain, whatever the security: for experiments and tests only.
    ///
    /// # Errors
    /// Everything but [`ParamsError::Insecure`].
    pub fn insecure(spec: CkksSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(
            RlweParams::insecure(ring, spec.digits)?,
            &spec.level_primes,
            spec.scale_log2,
            String::new(),
        )
    }

    pub(super) fn with_rlwe(
        rlwe: RlweParams,
        level_primes: &[usize],
        scale_log2: f64,
        explanation: String,
    ) -> Result<Self, ParamsError> {
        let q = rlwe.ring().q();
        let (found, highest) = (level_primes.len(), q.len());
        let ascending = level_primes.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending
            || level_primes.first().is_none_or(|&first| first == 0)
            || level_primes.last() != Some(&highest)
        {
            return Err(ParamsError::ChainLength { chain: "list of levels", found, lowest: 1, highest });
        }
        if !(1.0..=120.0).contains(&scale_log2) {
            return Err(ParamsError::OutOfRange {
                what: "log2(scale)",
                found: scale_log2,
                lowest: 1.0,
                highest: 120.0,
            });
        }
        let mut levels = vec![Level { primes: 0, scale: 0.0 }; level_primes.len()];
        let mut scale = scale_log2.exp2();
        for level in (0..levels.len()).rev() {
            levels[level] = Level { primes: level_primes[level], scale };
            let level_log2 = libm::log2(scale);
            let log_q: f64 = q[..level_primes[level]].iter().map(|&q| libm::log2(q as f64)).sum();
            if (level_log2 - scale_log2).abs() > 1.0 {
                return Err(ParamsError::ScaleDrift {
                    level,
                    scale_log2: level_log2,
                    default_log2: scale_log2,
                });
            }
            if level_log2 + 1.0 > log_q {
                let highest = log_q - 1.0;
                return Err(ParamsError::OutOfRange {
                    what: "log2(scale)",
                    found: scale_log2,
                    lowest: 1.0,
                    highest,
                });
            }
            if level > 0 {
                scale = scale * scale / dropped(q, level_primes, level);
            }
        }
        let mut scale_rests = vec![0.0; levels.len()];
        if scale_log2 > EXTENDED_LOG2 {
            let mut exact = DoubleDouble::from(scale_log2.exp2());
            for level in (0..levels.len()).rev() {
                scale_rests[level] = (exact - levels[level].scale.into()).to_f64();
                if level > 0 {
                    exact = (exact * exact).divide(exactly_dropped(q, level_primes, level));
                }
            }
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he ckks parameters 1");
        hasher.update(&rlwe.fingerprint().0);
        for level in &levels {
            hasher.update(&(level.primes as u64).to_le_bytes());
        }
        hasher.update(&scale_log2.to_bits().to_le_bytes());
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        let (noise, transform) = (NoiseModel::new(&rlwe), OnceLock::new());
        Ok(Self(Arc::new(Inner {
            rlwe,
            levels,
            scale_rests,
            scale_log2,
            noise,
            fingerprint,
            explanation,
            transform,
        })))
    }

    /// The plain description.
    pub fn spec(&self) -> CkksSpec {
        let ring = self.rlwe().ring();
        CkksSpec {
            log_n: ring.log_n(),
            q: ring.q().to_vec(),
            p: ring.p().to_vec(),
            level_primes: self.0.levels.iter().map(|level| level.primes).collect(),
            digits: self.rlwe().digits().to_vec(),
            scale_log2: self.0.scale_log2,
        }
    }

    /// Ring, digits and security.
    pub fn rlwe(&self) -> &RlweParams {
        &self.0.rlwe
    }

    /// The levels, level 0 first.
    pub fn levels(&self) -> &[Level] {
        &self.0.levels
    }

    /// One level.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh).
    pub fn level(&self, level: usize) -> crate::Result<Level> {
        let highest = self.max_level();
        self.0.levels.get(level).copied().ok_or(crate::Error::LevelTooHigh { found: level, highest })
    }

    /// The top level: the number of successive multiplications that are possible.
    pub fn max_level(&self) -> usize {
        self.0.levels.len() - 1
    }

    /// The product of the primes that the step from `level` to the one below drops, as the scales see it.
    pub fn dropped(&self, level: usize) -> f64 {
        let primes: Vec<usize> = self.0.levels.iter().map(|level| level.primes).collect();
        dropped(self.rlwe().ring().q(), &primes, level)
    }

    /// Estimates of noise.
    pub(crate) fn noise(&self) -> &NoiseModel {
        &self.0.noise
    }

    /// [`dropped`](Self::dropped) in 106 bits.
    pub(super) fn exactly_dropped(&self, level: usize) -> DoubleDouble {
        let primes: Vec<usize> = self.0.levels.iter().map(|level| level.primes).collect();
        exactly_dropped(self.rlwe().ring().q(), &primes, level)
    }

    /// Whether values are finer than doubles: a scale above 2^61. Then vectors are transformed in
    /// 106 bits, and scales are known to as many.
    pub(super) fn is_extended(&self) -> bool {
        self.0.scale_log2 > EXTENDED_LOG2
    }

    /// The scale in 106 bits that stands behind a double: a level's, or the double itself.
    pub(super) fn exact_scale(&self, scale: f64) -> DoubleDouble {
        let level = self.0.levels.iter().position(|level| level.scale == scale);
        DoubleDouble::new(scale, level.map_or(0.0, |level| self.0.scale_rests[level]))
    }

    /// log2 of the modulus at a level.
    pub fn log_q(&self, level: usize) -> f64 {
        self.rlwe().ring().q()[..self.0.levels[level].primes].iter().map(|&q| libm::log2(q as f64)).sum()
    }

    /// The encoding's transform; its roots are made once.
    pub(super) fn transform(&self) -> Transform {
        self.0.transform.get_or_init(|| Transform::new(self.slots(), self.is_extended())).clone()
    }

    /// Slots of a full plaintext: N/2.
    pub fn slots(&self) -> usize {
        self.rlwe().ring().n() / 2
    }

    /// log2 of the scale at the top level.
    pub fn scale_log2(&self) -> f64 {
        self.0.scale_log2
    }

    /// Largest magnitude of values that level 0 can hold, before noise.
    pub fn range(&self) -> f64 {
        (self.log_q(0) - 1.0).exp2() / self.0.levels[0].scale
    }

    /// What stands for these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// Why the builder chose what it chose; empty for parameters given as a chain.
    pub fn explanation(&self) -> &str {
        &self.0.explanation
    }

    /// Bits of precision that a fresh encryption by public key leaves to values of magnitude one: -log2 of six standard
    /// deviations of a slot's error.
    pub fn fresh_precision_bits(&self) -> f64 {
        self.0.scale_log2 - fresh_noise_log2(self.rlwe().ring().log_n())
    }
}

/// Product of the primes between two levels.
fn dropped(q: &[u64], level_primes: &[usize], level: usize) -> f64 {
    q[level_primes[level - 1]..level_primes[level]].iter().fold(1.0, |product, &q| product * q as f64)
}

/// The same in 106 bits.
fn exactly_dropped(q: &[u64], level_primes: &[usize], level: usize) -> DoubleDouble {
    let primes = &q[level_primes[level - 1]..level_primes[level]];
    primes.iter().fold(DoubleDouble::from(1.0), |product, &q| product * DoubleDouble::from_u64(q))
}

/// log2 of six standard deviations of the error that encryption by public key leaves in the real part of a slot, in units of
/// 1/scale: each coefficient has variance 10.5 (1 + 4N/3), a slot sums N of them at random phases.
pub(crate) fn fresh_noise_log2(log_n: u32) -> f64 {
    let n = f64::from(log_n).exp2();
    let coefficient = ERROR_VARIANCE * (1.0 + 4.0 * n / 3.0);
    libm::log2(6.0 * libm::sqrt(coefficient * n / 2.0))
}

/// Ready parameter sets of 128-bit security; the name says degree and depth.
pub mod presets {
    use super::{CkksParams, CkksSpec, ParamsError};

    fn preset(
        log_n: u32,
        q_bits: &[u32],
        p_bits: &[u32],
        scale_log2: f64,
    ) -> Result<CkksParams, ParamsError> {
        CkksParams::try_from(CkksSpec::from_bits(log_n, q_bits, p_bits, scale_log2)?)
    }

    /// N = 2^12, depth 1, log QP 105, scale 2^30.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn ckks_n12_d1() -> Result<CkksParams, ParamsError> {
        preset(12, &[37, 30], &[38], 30.0)
    }

    /// N = 2^13, depth 3, log QP 213, scale 2^40.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn ckks_n13_d3() -> Result<CkksParams, ParamsError> {
        preset(13, &[46, 40, 40, 40], &[47], 40.0)
    }

    /// N = 2^14, depth 7, log QP 391, scale 2^42.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn ckks_n14_d7() -> Result<CkksParams, ParamsError> {
        preset(14, &[48, 42, 42, 42, 42, 42, 42, 42], &[49], 42.0)
    }

    /// N = 2^15, depth 14, log QP 826, scale 2^45, 5 digits.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn ckks_n15_d14() -> Result<CkksParams, ParamsError> {
        let mut q = [45; 15];
        q[0] = 49;
        preset(15, &q, &[49, 49, 49], 45.0)
    }

    /// N = 2^16, depth 28, log QP 1688, scale 2^48, 5 digits.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn ckks_n16_d28() -> Result<CkksParams, ParamsError> {
        let mut q = [48; 29];
        q[0] = 50;
        preset(16, &q, &[49; 6], 48.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Security;

    #[test]
    fn presets_are_secure_and_named_truly() {
        for (params, log_n, depth) in [
            (presets::ckks_n12_d1(), 12, 1),
            (presets::ckks_n13_d3(), 13, 3),
            (presets::ckks_n14_d7(), 14, 7),
            (presets::ckks_n15_d14(), 15, 14),
            (presets::ckks_n16_d28(), 16, 28),
        ] {
            let params = params.unwrap();
            assert_eq!((params.rlwe().ring().log_n(), params.max_level()), (log_n, depth));
            assert!(params.rlwe().security() >= Security::Bits128);
            assert!(params.rlwe().ring().primes().all(|q| q < 1 << 50), "N = 2^{log_n}");
            println!(
                "N = 2^{log_n}: log QP {:.1}, {} digits",
                params.rlwe().ring().log_qp(),
                params.rlwe().digits().len()
            );
            for level in params.levels() {
                let drift = (libm::log2(level.scale) - params.scale_log2()).abs();
                assert!(drift < 1e-3, "N = 2^{log_n}: {drift}");
            }
        }
    }

    #[test]
    fn bad_chains_are_refused() {
        let spec = CkksSpec::from_bits(14, &[60, 40, 40, 40, 40, 40, 40, 40], &[60], 40.0).unwrap();
        assert!(CkksParams::try_from(spec.clone()).is_ok());
        let mut low = spec.clone();
        low.log_n = 13;
        assert!(matches!(CkksParams::try_from(low.clone()), Err(ParamsError::Insecure { .. })));
        assert!(CkksParams::insecure(low).is_ok());
        let mut drift = spec.clone();
        drift.scale_log2 = 45.0;
        assert!(matches!(CkksParams::try_from(drift), Err(ParamsError::ScaleDrift { .. })));
        for levels in [vec![], vec![0, 8], vec![1, 1, 8], vec![1, 2], vec![1, 9]] {
            let mut spec = spec.clone();
            spec.level_primes = levels;
            assert!(matches!(CkksParams::try_from(spec), Err(ParamsError::ChainLength { .. })));
        }
        let mut nan = spec;
        nan.scale_log2 = f64::NAN;
        assert!(matches!(CkksParams::try_from(nan), Err(ParamsError::OutOfRange { .. })));
    }
}
