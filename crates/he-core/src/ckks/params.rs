//! CKKS parameters: from a chain, from needs, and by preset.

#![expect(clippy::disallowed_methods, reason = "parameters are public")]

use crate::arith::{nearest_ntt_primes, ntt_primes_below};
use crate::params::{ParamsError, Security, max_log_qp};
use crate::ring::{ERROR_VARIANCE, RingSpec, SpecialFft};
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
        let mut taken: Vec<u64> = Vec::new();
        let mut take = |found: Vec<u64>| -> u64 {
            taken.extend(&found);
            found[0]
        };
        let base = ntt_primes_below(q_bits[0], log_n, 1, &[])?;
        let mut q = vec![take(base)];
        let mut p = Vec::new();
        for &bits in p_bits {
            let known: Vec<u64> = q.iter().chain(&p).copied().collect();
            p.push(ntt_primes_below(bits, log_n, 1, &known)?[0]);
        }
        // From the top level down: S' = S^2 / q, and q nearest to S^2 / 2^bits leads back to 2^bits.
        let mut scale = scale_log2.exp2();
        let mut chain = Vec::new();
        for &bits in q_bits[1..].iter().rev() {
            let known: Vec<u64> = q.iter().chain(&p).chain(&chain).copied().collect();
            let nominal = f64::from(bits).exp2();
            let target = if (scale_log2 - f64::from(bits)).abs() < 0.5 {
                scale * scale / scale_log2.exp2()
            } else {
                nominal
            };
            let below = if target < 0.99 * 50f64.exp2() { 50 } else { 61 };
            let prime = nearest_ntt_primes(target, below, log_n, 1, &known)?[0];
            scale = scale * scale / prime as f64;
            chain.push(prime);
        }
        q.extend(chain.into_iter().rev());
        let digits = RlweParams::greedy_digits(&q, &p);
        Ok(Self { log_n, level_primes: (1..=q.len()).collect(), q, p, digits, scale_log2 })
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
    scale_log2: f64,
    fingerprint: Fingerprint,
    explanation: String,
    /// Roots of the encoding's transform, once they are needed.
    fft: OnceLock<SpecialFft>,
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

    /// Parameters for `depth` successive multiplications; see [`CkksBuilder`].
    pub fn for_depth(depth: usize) -> CkksBuilder {
        CkksBuilder {
            depth,
            precision_bits: 25,
            range_bits: 4,
            slots: 1,
            security: Security::Bits128,
            log_n: None,
        }
    }

    fn with_rlwe(
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
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he ckks parameters 1");
        hasher.update(&rlwe.fingerprint().0);
        for level in &levels {
            hasher.update(&(level.primes as u64).to_le_bytes());
        }
        hasher.update(&scale_log2.to_bits().to_le_bytes());
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        let fft = OnceLock::new();
        Ok(Self(Arc::new(Inner { rlwe, levels, scale_log2, fingerprint, explanation, fft })))
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

    /// log2 of the modulus at a level.
    pub fn log_q(&self, level: usize) -> f64 {
        self.rlwe().ring().q()[..self.0.levels[level].primes].iter().map(|&q| libm::log2(q as f64)).sum()
    }

    /// The encoding's transform; its roots are made once.
    pub(super) fn fft(&self) -> SpecialFft {
        self.0.fft.get_or_init(|| SpecialFft::new(self.slots())).clone()
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

/// log2 of six standard deviations of the error that encryption by public key leaves in the real part of a slot, in units of
/// 1/scale: each coefficient has variance 10.5 (1 + 4N/3), a slot sums N of them at random phases.
pub(crate) fn fresh_noise_log2(log_n: u32) -> f64 {
    let n = f64::from(log_n).exp2();
    let coefficient = ERROR_VARIANCE * (1.0 + 4.0 * n / 3.0);
    libm::log2(6.0 * libm::sqrt(coefficient * n / 2.0))
}

/// Chooses degree and primes from what is needed.
///
/// Precision p means: after a product of depth + 1 fresh values of magnitude one, six standard deviations of a slot's error are
/// at most 2^-p. The scale follows from it; the base prime leaves `range_bits` for the magnitude of results; the smallest
/// degree in 2^12 ... 2^16 that holds everything with the asked security is taken, with as few digits of key switching (at least
/// three if there are so many primes) as the security leaves room for.
#[derive(Clone, Debug, PartialEq)]
pub struct CkksBuilder {
    depth: usize,
    precision_bits: u32,
    range_bits: u32,
    slots: usize,
    security: Security,
    log_n: Option<u32>,
}

impl CkksBuilder {
    /// Bits of precision, 25 by default.
    #[must_use]
    pub fn precision_bits(mut self, bits: u32) -> Self {
        self.precision_bits = bits;
        self
    }

    /// Results stay below 2^bits in magnitude; 4 by default.
    #[must_use]
    pub fn range_bits(mut self, bits: u32) -> Self {
        self.range_bits = bits;
        self
    }

    /// At least so many slots; 1 by default.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// Security; 128 bits by default.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// A fixed degree 2^log_n instead of the smallest possible.
    #[must_use]
    pub fn log_n(mut self, log_n: u32) -> Self {
        self.log_n = Some(log_n);
        self
    }

    /// Chooses.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for numbers outside of their domains; [`ParamsError::Unreachable`] if no degree suffices.
    pub fn build(&self) -> Result<CkksParams, ParamsError> {
        let check = |what, found: f64, lowest: f64, highest: f64| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
        };
        check("depth", self.depth as f64, 0.0, 60.0)?;
        check("precision (bits)", f64::from(self.precision_bits), 4.0, 40.0)?;
        check("range (bits)", f64::from(self.range_bits), 0.0, 20.0)?;
        check("number of slots", self.slots as f64, 1.0, f64::from(1 << 15))?;
        check("security (bits)", f64::from(self.security.bits()), 128.0, 256.0)?;
        if let Some(log_n) = self.log_n {
            check("log2 of the degree", f64::from(log_n), 12.0, 16.0)?;
        }
        let least = (usize::BITS - (self.slots - 1).leading_zeros() + 1).max(12);
        let degrees = match self.log_n {
            Some(log_n) => log_n.max(least)..=log_n.max(least),
            None => least..=16,
        };
        let mut unreachable = ParamsError::Unreachable {
            depth: self.depth,
            precision_bits: self.precision_bits,
            needed: 0,
            log_n: least,
            limit: 0,
        };
        for log_n in degrees {
            let limit = max_log_qp(log_n, self.security).unwrap_or(0);
            let growth = libm::log2(self.depth as f64 + 1.0);
            let scale = (f64::from(self.precision_bits) + fresh_noise_log2(log_n) + growth).ceil() as u32;
            let base = scale + self.range_bits + 1;
            let needed = base + self.depth as u32 * scale + base;
            unreachable = ParamsError::Unreachable {
                depth: self.depth,
                precision_bits: self.precision_bits,
                needed,
                log_n,
                limit,
            };
            if base > 60 || self.depth >= RingSpec::MAX_PRIMES {
                continue;
            }
            let mut q_bits = vec![scale; self.depth + 1];
            q_bits[0] = base;
            // Special primes by digit length alpha, longest first: fewer digits are faster and take more of the modulus.
            for alpha in (1..=q_bits.len().div_ceil(3)).rev() {
                let widest: u32 = q_bits[..alpha].iter().sum();
                let width = widest.div_ceil(alpha as u32);
                let p_bits = vec![width; alpha];
                let total: u32 = q_bits.iter().chain(&p_bits).sum();
                if total > limit {
                    continue;
                }
                let spec = CkksSpec::from_bits(log_n, &q_bits, &p_bits, f64::from(scale))?;
                let digits = RlweParams::even_digits(q_bits.len(), q_bits.len().div_ceil(alpha));
                let explanation = format!(
                    "degree 2^{log_n}: log2(QP) = {total} of {limit} bits that the table of 2024 grants for {} bits of security\n\
                     scale 2^{scale}: {} bits of precision + {:.1} bits of encryption noise (6 sigma) + {growth:.1} bits for depth {}\n\
                     base prime of {base} bits: scale, {} bits for the magnitude of results, 1 for the sign\n\
                     {} special prime(s) of {width} bits, {} digit(s) of key switching",
                    self.security.bits(),
                    self.precision_bits,
                    fresh_noise_log2(log_n),
                    self.depth,
                    self.range_bits,
                    alpha,
                    digits.len(),
                );
                let ring = RingSpec::new(log_n, spec.q, spec.p)?;
                if crate::params::security_of(log_n, ring.log_qp()) < self.security {
                    continue;
                }
                return CkksParams::with_rlwe(
                    RlweParams::new(ring, digits)?,
                    &spec.level_primes,
                    spec.scale_log2,
                    explanation,
                );
            }
        }
        Err(unreachable)
    }
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
    fn the_builder_meets_what_was_asked() {
        for depth in [0, 1, 2, 5, 9, 16] {
            for precision in [10, 20, 25, 30] {
                for slots in [1, 4096, 32768] {
                    let params = CkksParams::for_depth(depth).precision_bits(precision).slots(slots).build();
                    let Ok(params) = params else {
                        assert!(matches!(params, Err(ParamsError::Unreachable { .. })), "{params:?}");
                        assert!(
                            depth * precision as usize >= 9 * 30,
                            "{depth} {precision} {slots}: {params:?}"
                        );
                        continue;
                    };
                    assert!(params.max_level() == depth && params.slots() >= slots);
                    assert!(params.rlwe().security() >= Security::Bits128);
                    let growth = libm::log2(depth as f64 + 1.0);
                    assert!(params.fresh_precision_bits() - growth >= f64::from(precision));
                    assert!(params.range() >= 15.9, "{}", params.range());
                    assert!(params.explanation().contains("precision"));
                }
            }
        }
        let secure = CkksParams::for_depth(2).security(Security::Bits256).build().unwrap();
        assert_eq!(secure.rlwe().security(), Security::Bits256);
        assert!(CkksParams::for_depth(2).precision_bits(99).build().is_err());
        assert!(CkksParams::for_depth(1000).build().is_err());
        assert!(CkksParams::for_depth(40).precision_bits(40).build().is_err());
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
