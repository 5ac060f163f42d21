//! CKKS parameters, from a chain and by preset.

use super::extended::Transform;
use super::levels::LevelTable;
use super::noise::NoiseModel;
use super::{CkksSpec, Level, LevelGroup};
use crate::arith::DoubleDouble;
use crate::params::ParamsError;
use crate::ring::{ERROR_VARIANCE, RingSpec};
use crate::rlwe::{Fingerprint, RlweParams};
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
struct Inner {
    rlwe: RlweParams,
    table: LevelTable,
    noise: NoiseModel,
    fingerprint: Fingerprint,
    explanation: String,
    /// The roots of the encoding's transform, once they are needed.
    transform: OnceLock<Transform>,
}

/// Checked CKKS parameters, as a cheap handle.
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

    /// Accepts parameters of at least 128-bit security.
    fn try_from(spec: CkksSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(RlweParams::new(ring, spec.digits)?, &spec.level_primes, &spec.groups, String::new())
    }
}

impl CkksParams {
    /// Accepts any degree from 2^2 and any chain, whatever the security; for experiments and tests
    /// only.
    ///
    /// # Errors
    /// Any [`ParamsError`] except [`ParamsError::Insecure`].
    pub fn insecure(spec: CkksSpec) -> Result<Self, ParamsError> {
        let ring = RingSpec::new(spec.log_n, spec.q, spec.p)?;
        Self::with_rlwe(
            RlweParams::insecure(ring, spec.digits)?,
            &spec.level_primes,
            &spec.groups,
            String::new(),
        )
    }

    pub(super) fn with_rlwe(
        rlwe: RlweParams,
        level_primes: &[usize],
        groups: &[LevelGroup],
        explanation: String,
    ) -> Result<Self, ParamsError> {
        let table = LevelTable::new(rlwe.ring().q(), level_primes, groups)?;
        let fingerprint = fingerprint(&rlwe, &table);
        let (noise, transform) = (NoiseModel::new(&rlwe, 1), OnceLock::new());
        Ok(Self(Arc::new(Inner { rlwe, table, noise, fingerprint, explanation, transform })))
    }

    /// The same parameters, of the same fingerprint, with the noise of keys that so many parties
    /// made together ([`mhe`](crate::mhe)): encryptors and evaluators that are made with them state
    /// the noise of ciphertexts under the collective secret, which is larger.
    #[must_use]
    pub fn for_parties(&self, parties: usize) -> Self {
        let Inner { rlwe, table, fingerprint, explanation, .. } = &*self.0;
        let (noise, transform) = (NoiseModel::new(rlwe, parties), OnceLock::new());
        let (table, explanation) = (table.clone(), explanation.clone());
        Self(Arc::new(Inner {
            rlwe: rlwe.clone(),
            table,
            noise,
            fingerprint: *fingerprint,
            explanation,
            transform,
        }))
    }

    /// The levels up to this one, with the primes, the special primes and the scales that they have
    /// here: for one who computes on these levels alone, with tables and keys of as few primes
    /// ([`SwitchKey::of_frame`](crate::rlwe::SwitchKey::of_frame)). The words of every operation on
    /// these levels are the same. The fingerprint is another one: files are of the whole
    /// parameters. Values finer than doubles need the tables of all levels: such parameters stay
    /// as they are.
    ///
    /// ```
    /// let params = he_core::ckks::presets::ckks_n13_d3()?;
    /// let low = params.up_to_level(1)?;
    /// assert_eq!(low.levels(), &params.levels()[..2]);
    /// assert_eq!(low.rlwe().ring().q(), &params.rlwe().ring().q()[..2]);
    /// # Ok::<(), he_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh).
    pub fn up_to_level(&self, level: usize) -> crate::Result<Self> {
        let primes = self.level(level)?.primes;
        if self.is_extended() {
            return Ok(self.clone());
        }
        let rlwe = self.rlwe().up_to_primes(primes)?;
        let table = self.0.table.up_to(level);
        let fingerprint = fingerprint(&rlwe, &table);
        let (noise, transform) = (NoiseModel::new(&rlwe, 1), OnceLock::new());
        Ok(Self(Arc::new(Inner { rlwe, table, noise, fingerprint, explanation: String::new(), transform })))
    }

    /// The plain description.
    pub fn spec(&self) -> CkksSpec {
        let ring = self.rlwe().ring();
        CkksSpec {
            log_n: ring.log_n(),
            q: ring.q().to_vec(),
            p: ring.p().to_vec(),
            level_primes: self.levels().iter().map(|level| level.primes).collect(),
            digits: self.rlwe().digits().to_vec(),
            groups: self.groups().to_vec(),
        }
    }

    /// The ring, the digits and the security.
    pub fn rlwe(&self) -> &RlweParams {
        &self.0.rlwe
    }

    /// The levels, level 0 first.
    pub fn levels(&self) -> &[Level] {
        &self.0.table.levels
    }

    /// The groups of levels of one nominal scale each, that of level 0 first.
    pub fn groups(&self) -> &[LevelGroup] {
        &self.0.table.groups
    }

    /// Whether products of two ciphertexts of this level are, rescaled, at the next level's exact
    /// scale: everywhere but on level 0 and where a group starts with a scale of its own below
    /// ([`LevelGroup`]).
    pub fn takes_products(&self, level: usize) -> bool {
        level <= self.max_level() && self.0.table.takes_products(level)
    }

    /// The scale of plaintexts and constants that multiply ciphertexts of this level: S' D / S from
    /// the level's scale S to the next one S' by a division by D. That is S itself where products
    /// of two ciphertexts fit as well ([`takes_products`](Self::takes_products)).
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh);
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) for level 0.
    pub fn multiplier_scale(&self, level: usize) -> crate::Result<f64> {
        let scale = self.level(level)?.scale;
        if level == 0 {
            return Err(crate::Error::LevelExhausted { needed: 1, left: 0 });
        }
        if self.takes_products(level) {
            return Ok(scale);
        }
        Ok(self.levels()[level - 1].scale * self.dropped(level) / scale)
    }

    /// That scale in 106 bits where values are finer than doubles.
    pub(super) fn exact_multiplier_scale(&self, level: usize) -> crate::Result<DoubleDouble> {
        let scale = self.multiplier_scale(level)?;
        if !self.is_extended() {
            return Ok(scale.into());
        }
        let exact = |level: usize| self.exact_scale(self.levels()[level].scale);
        if self.takes_products(level) {
            return Ok(exact(level));
        }
        Ok((exact(level - 1) * self.exactly_dropped(level)).divide(exact(level)))
    }

    /// One level.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh).
    pub fn level(&self, level: usize) -> crate::Result<Level> {
        let highest = self.max_level();
        self.levels().get(level).copied().ok_or(crate::Error::LevelTooHigh { found: level, highest })
    }

    /// The top level, which is the number of successive multiplications.
    pub fn max_level(&self) -> usize {
        self.levels().len() - 1
    }

    /// The product of the primes that are dropped from `level` to the one below, as it enters the
    /// scales.
    pub fn dropped(&self, level: usize) -> f64 {
        self.0.table.dropped(self.rlwe().ring().q(), level)
    }

    /// Estimates of noise.
    pub(crate) fn noise(&self) -> &NoiseModel {
        &self.0.noise
    }

    /// [`dropped`](Self::dropped) in 106 bits.
    pub(super) fn exactly_dropped(&self, level: usize) -> DoubleDouble {
        self.0.table.exactly_dropped(self.rlwe().ring().q(), level)
    }

    /// Whether values are finer than doubles: a scale above 2^61 in any group. Then vectors are
    /// transformed in 106 bits, and scales are known to as many.
    pub(super) fn is_extended(&self) -> bool {
        self.0.table.is_extended()
    }

    /// Whether both levels are of one group.
    pub(super) fn same_group(&self, a: usize, b: usize) -> bool {
        self.0.table.same_group(a, b)
    }

    /// The scale in 106 bits for a double: that of a level, or the double itself.
    pub(super) fn exact_scale(&self, scale: f64) -> DoubleDouble {
        self.0.table.exact_scale(scale)
    }

    /// log2 of the modulus at a level.
    pub fn log_q(&self, level: usize) -> f64 {
        self.rlwe().ring().q()[..self.levels()[level].primes].iter().map(|&q| libm::log2(q as f64)).sum()
    }

    /// The encoding's transform, whose roots are computed once.
    pub(super) fn transform(&self) -> Transform {
        self.0.transform.get_or_init(|| Transform::new(self.slots(), self.is_extended())).clone()
    }

    /// The slots of a full plaintext: N/2.
    pub fn slots(&self) -> usize {
        self.rlwe().ring().n() / 2
    }

    /// log2 of the scale at the top level; [`groups`](Self::groups) has those of all levels.
    pub fn scale_log2(&self) -> f64 {
        self.0.table.scale_log2()
    }

    /// The largest magnitude of values that level 0 can hold, before noise.
    pub fn range(&self) -> f64 {
        (self.log_q(0) - 1.0).exp2() / self.levels()[0].scale
    }

    /// The identity of these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// The reasons for the builder's choices; empty for parameters given as a chain.
    pub fn explanation(&self) -> &str {
        &self.0.explanation
    }

    /// The bits of precision of values of magnitude one in a fresh encryption by public key: -log2
    /// of six standard deviations of a slot's error.
    pub fn fresh_precision_bits(&self) -> f64 {
        self.scale_log2() - fresh_noise_log2(self.rlwe().ring().log_n())
    }
}

/// The fingerprint of the parameters in files: version 1 of levels of one group, version 2 of more.
fn fingerprint(rlwe: &RlweParams, table: &LevelTable) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    let one = table.groups.len() == 1;
    hasher.update(if one { b"he ckks parameters 1" } else { b"he ckks parameters 2" });
    hasher.update(&rlwe.fingerprint().0);
    for level in &table.levels {
        hasher.update(&(level.primes as u64).to_le_bytes());
    }
    for group in &table.groups {
        if !one {
            hasher.update(&(group.levels as u64).to_le_bytes());
        }
        hasher.update(&group.scale_log2.to_bits().to_le_bytes());
    }
    Fingerprint(*hasher.finalize().as_bytes())
}

/// log2 of six standard deviations of the error that encryption by public key leaves in the real
/// part of a slot, in units of 1/scale: each coefficient has variance 10.5 (1 + 4N/3), a slot sums
/// N of them at random phases.
pub(crate) fn fresh_noise_log2(log_n: u32) -> f64 {
    let n = f64::from(log_n).exp2();
    let coefficient = ERROR_VARIANCE * (1.0 + 4.0 * n / 3.0);
    libm::log2(6.0 * libm::sqrt(coefficient * n / 2.0))
}

/// Predefined parameter sets of 128-bit security; the name states degree and depth.
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

    /// A scale of 2^50 has its primes below 2^50 but for one in about twenty, and keeps its value.
    #[test]
    fn levels_of_50_bits_are_short() {
        for (log_n, levels, most_above) in [(12, 14, 0), (15, 14, 0), (16, 16, 0), (16, 29, 1), (16, 58, 3)] {
            let q_bits = [vec![60], vec![50; levels]].concat();
            let spec = CkksSpec::from_bits(log_n, &q_bits, &[60; 3], 50.0).unwrap();
            let above: Vec<u64> = spec.q[1..].iter().copied().filter(|&q| q >= 1 << 50).collect();
            assert!(above.len() <= most_above, "N = 2^{log_n}, {levels} levels: {above:?}");
            // Primes of this size are computed in float64 on devices that have it.
            assert!(above.iter().all(|&q| q < (1 << 50) + (1 << 44)), "{above:?}");
            for level in CkksParams::insecure(spec).unwrap().levels() {
                let away = (level.scale / 50f64.exp2() - 1.0).abs();
                assert!(away < 1.0 / 256.0, "N = 2^{log_n}, {} primes: {away}", level.primes);
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
        let drift = spec.clone().with_scale(45.0);
        assert!(matches!(CkksParams::try_from(drift), Err(ParamsError::ScaleDrift { .. })));
        for levels in [vec![], vec![0, 8], vec![1, 1, 8], vec![1, 2], vec![1, 9]] {
            let mut spec = spec.clone();
            spec.level_primes = levels;
            assert!(matches!(CkksParams::try_from(spec), Err(ParamsError::ChainLength { .. })));
        }
        let nan = spec.with_scale(f64::NAN);
        assert!(matches!(CkksParams::try_from(nan), Err(ParamsError::OutOfRange { .. })));
    }
}
