//! TFHE parameters, and the line of 128-bit security.

use super::{Gadget, Noise};
use crate::error::{Error, Result};
use crate::params::{Fingerprint, ParamsError};
use std::sync::Arc;

/// log2 of the least error deviation on the torus that counts as 128 bits of security with a binary
/// secret of dimension n, for n up to 2048.
///
/// The line -0.02568 n + 2.632. It is a little above the least deviations that the lattice
/// estimator grants 128 bits by its cost model MATZOV, whose cheapest attack on binary secrets is
/// the dual hybrid one: `tests/estimates` has its state, and the bits of this line over n from 450
/// to 2048. The line also requires more noise than the 128-bit curve of Concrete
/// (-0.02660 n + 2.98, fitted to an earlier estimator). GLWE of k polynomials of degree N counts as
/// n = k N.
pub fn least_sigma_log2(dimension: usize) -> f64 {
    -13.29 - 0.02568 * (dimension as f64 - 620.0)
}

/// A plain, unchecked description of TFHE parameters. Secrets are uniform binary; large ciphertexts
/// are over Z/2^64, small ones over Z/2^32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfheSpec {
    /// n: the dimension of small ciphertexts, which a blind rotation reads.
    pub lwe_dimension: usize,
    /// log2 of the deviation of their errors, on the torus.
    pub lwe_sigma_log2: f64,
    /// k: the number of polynomials of a GLWE mask.
    pub glwe_dimension: usize,
    /// log2 of the degree N.
    pub log_degree: u32,
    /// log2 of the deviation of GLWE errors, and of fresh ciphertexts.
    pub glwe_sigma_log2: f64,
    /// The decomposition of the external product.
    pub bootstrap: Gadget,
    /// The decomposition of the key switch.
    pub switch: Gadget,
}

#[derive(Debug)]
struct Inner {
    spec: TfheSpec,
    secure: bool,
    fingerprint: Fingerprint,
}

/// Checked TFHE parameters, as a cheap handle.
#[derive(Clone, Debug)]
pub struct TfheParams(Arc<Inner>);

impl PartialEq for TfheParams {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}

impl Eq for TfheParams {}

impl TryFrom<TfheSpec> for TfheParams {
    type Error = ParamsError;

    /// Accepts parameters of at least 128-bit security by [`least_sigma_log2`].
    fn try_from(spec: TfheSpec) -> Result<Self, ParamsError> {
        let params = Self::insecure(spec)?;
        let large = spec.glwe_dimension << spec.log_degree;
        for (what, sigma, dimension) in [
            ("log2 of the deviation of LWE errors", spec.lwe_sigma_log2, spec.lwe_dimension),
            ("log2 of the deviation of GLWE errors", spec.glwe_sigma_log2, large),
        ] {
            check("dimension of a secret of 128-bit security", dimension as f64, 450.0, f64::from(1 << 16))?;
            // Beyond the greatest dimension that was estimated the error stays at that of this one,
            // which only increases security.
            check(what, sigma, least_sigma_log2(dimension.min(2048)), 0.0)?;
        }
        Ok(Self(Arc::new(Inner { spec, secure: true, fingerprint: params.fingerprint() })))
    }
}

fn check(what: &'static str, found: f64, lowest: f64, highest: f64) -> Result<(), ParamsError> {
    let ok = (lowest..=highest).contains(&found);
    if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
}

impl TfheParams {
    /// Accepts any usable parameters, whatever their security: for experiments and tests only.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`].
    pub fn insecure(spec: TfheSpec) -> Result<Self, ParamsError> {
        check("dimension of small ciphertexts", spec.lwe_dimension as f64, 1.0, 4096.0)?;
        check("log2 of the degree", f64::from(spec.log_degree), 5.0, 12.0)?;
        check("dimension of GLWE", spec.glwe_dimension as f64, 1.0, 8.0)?;
        check("log2 of the deviation of LWE errors", spec.lwe_sigma_log2, -30.0, -4.0)?;
        check("log2 of the deviation of GLWE errors", spec.glwe_sigma_log2, -62.0, -10.0)?;
        for (base, levels, bits, most, gadget) in [
            (
                "base of the external product (bits)",
                "levels of the external product",
                "external product",
                52,
                spec.bootstrap,
            ),
            ("base of the key switch (bits)", "levels of the key switch", "key switch", 31, spec.switch),
        ] {
            check(base, f64::from(gadget.base_log), 1.0, 28.0)?;
            check(levels, f64::from(gadget.levels), 1.0, 16.0)?;
            check(bits, f64::from(gadget.bits()), 1.0, f64::from(most))?;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he tfhe parameters 1");
        for word in [
            spec.lwe_dimension as u64,
            spec.lwe_sigma_log2.to_bits(),
            spec.glwe_dimension as u64,
            u64::from(spec.log_degree),
            spec.glwe_sigma_log2.to_bits(),
            u64::from(spec.bootstrap.base_log),
            u64::from(spec.bootstrap.levels),
            u64::from(spec.switch.base_log),
            u64::from(spec.switch.levels),
        ] {
            hasher.update(&word.to_le_bytes());
        }
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        Ok(Self(Arc::new(Inner { spec, secure: false, fingerprint })))
    }

    /// The plain description.
    pub fn spec(&self) -> &TfheSpec {
        &self.0.spec
    }

    /// Returns whether they were checked against the line of 128-bit security.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// N.
    pub fn degree(&self) -> usize {
        1 << self.0.spec.log_degree
    }

    /// k N: the dimension of large ciphertexts, which are stored and sent.
    pub fn dimension(&self) -> usize {
        self.0.spec.glwe_dimension << self.0.spec.log_degree
    }

    /// The words of a ciphertext: k N + 1.
    pub fn words(&self) -> usize {
        self.dimension() + 1
    }

    /// The rows of the GGSW encryption of one bit: (k + 1) l.
    pub fn rows(&self) -> usize {
        (self.0.spec.glwe_dimension + 1) * self.0.spec.bootstrap.levels as usize
    }

    /// The number of GGSW encryptions in a bootstrapping key by groups of so many bits: n, or 2^g
    /// for each of the n/g groups.
    pub fn key_ggsws(&self, group: usize) -> usize {
        let n = self.0.spec.lwe_dimension;
        if group == 1 { n } else { (n / group) << group }
    }

    /// Whether multi-bit keys have such groups.
    pub(crate) fn check_group(&self, group: usize) -> Result<()> {
        let n = self.0.spec.lwe_dimension;
        if (2..=4).contains(&group) && n.is_multiple_of(group) {
            return Ok(());
        }
        Err(Error::domain(
            "group of a multi-bit key",
            format!("{group} bits"),
            format!("2, 3 or 4, a divisor of the {n} bits of the small secret"),
        ))
    }

    /// The roots w_t of the transform, t < M = N/2, as (real part, imaginary part); see
    /// [`LweOps`](super::LweOps). Entry 0 is not used.
    pub fn roots(&self) -> Vec<(f64, f64)> {
        super::transform::roots(self.degree() / 2)
    }

    /// The values of monomials, exp(i pi j / N) for j < 2N, as (real part, imaginary part); see
    /// [`LweOps`](super::LweOps).
    pub fn units(&self) -> Vec<(f64, f64)> {
        super::transform::units(self.degree())
    }

    /// The predicted variances.
    pub fn noise(&self) -> Noise {
        self.noise_of_groups(1)
    }

    /// The predicted variances of bootstraps by multi-bit keys of so many bits in a group.
    pub fn noise_of_groups(&self, group: usize) -> Noise {
        Noise::of(self, group)
    }

    /// The identity of these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// Whether something of `found` parameters belongs to these; `what` names it.
    pub(crate) fn check_same(&self, found: &Self, what: &'static str) -> Result<()> {
        if self == found {
            return Ok(());
        }
        let [found, expected] = [found, self].map(|params| params.fingerprint().to_string());
        Err(Error::ParamsMismatch { what, found, expected })
    }
}

/// Predefined parameter sets. The sets of 128-bit security lie on [`least_sigma_log2`]; the name
/// states their purpose, and the failure probability of one bootstrap as a power of two. They are
/// near the least work that `tests/estimates/tfhe.py` finds for it.
pub mod presets {
    use super::{Gadget, ParamsError, TfheParams, TfheSpec, least_sigma_log2};

    /// The spec with deviations on the line of 128-bit security.
    fn on_the_line(
        lwe_dimension: usize,
        (glwe_dimension, log_degree): (usize, u32),
        (base_log, levels): (u32, u32),
        (switch_base_log, switch_levels): (u32, u32),
    ) -> Result<TfheParams, ParamsError> {
        TfheParams::try_from(TfheSpec {
            lwe_dimension,
            lwe_sigma_log2: least_sigma_log2(lwe_dimension),
            glwe_dimension,
            log_degree,
            glwe_sigma_log2: least_sigma_log2(glwe_dimension << log_degree),
            bootstrap: Gadget { base_log, levels },
            switch: Gadget { base_log: switch_base_log, levels: switch_levels },
        })
    }

    /// Gates that fail with probability below 2^-128.
    ///
    /// # Errors
    /// None in practice.
    pub fn gates_2m128() -> Result<TfheParams, ParamsError> {
        on_the_line(696, (3, 9), (18, 1), (4, 3))
    }

    /// Gates that fail with probability below 2^-40.
    ///
    /// # Errors
    /// None in practice.
    pub fn gates_2m40() -> Result<TfheParams, ParamsError> {
        on_the_line(656, (3, 9), (18, 1), (4, 3))
    }

    /// Digits of two bits with two bits for carries; lookups fail with probability below 2^-128.
    ///
    /// # Errors
    /// None in practice.
    pub fn digits_2m128() -> Result<TfheParams, ParamsError> {
        on_the_line(852, (1, 11), (23, 1), (3, 5))
    }

    /// Digits of two bits with two bits for carries; lookups fail with probability below 2^-40.
    ///
    /// # Errors
    /// None in practice.
    pub fn digits_2m40() -> Result<TfheParams, ParamsError> {
        on_the_line(816, (2, 10), (23, 1), (3, 5))
    }

    /// Gates that fail with probability below 2^-128 also by multi-bit keys of up to four bits in a
    /// group ([`generate_multi_bit`](crate::tfhe::BootstrapKey::generate_multi_bit)), for the lowest
    /// latency.
    ///
    /// # Errors
    /// None in practice.
    pub fn gates_2m128_multibit() -> Result<TfheParams, ParamsError> {
        on_the_line(700, (3, 9), (17, 1), (4, 3))
    }

    /// Gates that fail with probability below 2^-40 also by multi-bit keys.
    ///
    /// # Errors
    /// None in practice.
    pub fn gates_2m40_multibit() -> Result<TfheParams, ParamsError> {
        on_the_line(660, (3, 9), (17, 1), (4, 3))
    }

    /// Digits of two bits with two bits for carries; lookups fail with probability below 2^-128
    /// also by multi-bit keys.
    ///
    /// # Errors
    /// None in practice.
    pub fn digits_2m128_multibit() -> Result<TfheParams, ParamsError> {
        on_the_line(876, (1, 11), (22, 1), (3, 6))
    }

    /// Digits of two bits with two bits for carries; lookups fail with probability below 2^-40 also
    /// by multi-bit keys.
    ///
    /// # Errors
    /// None in practice.
    pub fn digits_2m40_multibit() -> Result<TfheParams, ParamsError> {
        on_the_line(828, (2, 10), (22, 1), (3, 5))
    }

    /// Digits whose bootstraps leave so little noise that phases become integers of up to 14 bits
    /// ([`IntegerEvaluator::rounded`](crate::tfhe::IntegerEvaluator::rounded)), where
    /// [`digits_2m128`] leaves 10; a bootstrap takes about twice as long. Secrets and errors are
    /// those of `digits_2m128`, and lookups fail with probability below 2^-128 as well.
    ///
    /// # Errors
    /// None in practice.
    pub fn phases_2m128() -> Result<TfheParams, ParamsError> {
        on_the_line(852, (1, 11), (15, 2), (3, 5))
    }

    /// The same for multi-bit keys: digits and lookups in bits
    /// ([`CircuitBootstrapper`](crate::tfhe::CircuitBootstrapper)) fail with probability below
    /// 2^-128 also by these. Products by bundles round half as often, which digits of 16 bits
    /// balance. Secrets and errors are those of [`digits_2m128`].
    ///
    /// # Errors
    /// None in practice.
    pub fn phases_2m128_multibit() -> Result<TfheParams, ParamsError> {
        on_the_line(852, (1, 11), (16, 2), (3, 5))
    }

    /// The gates of the comparison of HElib, TFHE and SEAL of 2018 (lambda = 100 in its text,
    /// bootstrapping key 24 MB): n = 500, N = 1024, k = 1, three digits of 10 bits, errors 2^-15.3
    /// and 2^-27.05, as in TFHE's first library. Its security has since fallen below 100 bits: use
    /// it only for that experiment.
    ///
    /// # Errors
    /// None in practice.
    pub fn insecure_lambda100() -> Result<TfheParams, ParamsError> {
        TfheParams::insecure(TfheSpec {
            lwe_dimension: 500,
            lwe_sigma_log2: -15.32,
            glwe_dimension: 1,
            log_degree: 10,
            glwe_sigma_log2: -27.05,
            bootstrap: Gadget { base_log: 10, levels: 3 },
            switch: Gadget { base_log: 2, levels: 8 },
        })
    }

    /// Small and fast parameters without security, for tests and examples of gates and digits.
    ///
    /// # Errors
    /// None in practice.
    pub fn insecure_small() -> Result<TfheParams, ParamsError> {
        TfheParams::insecure(TfheSpec {
            lwe_dimension: 32,
            lwe_sigma_log2: -24.0,
            glwe_dimension: 1,
            log_degree: 9,
            glwe_sigma_log2: -45.0,
            bootstrap: Gadget { base_log: 20, levels: 1 },
            switch: Gadget { base_log: 5, levels: 4 },
        })
    }

    /// The same with bootstraps of as little noise as circuit bootstrapping needs, for tests and
    /// examples of transciphering.
    ///
    /// # Errors
    /// None in practice.
    pub fn insecure_phases() -> Result<TfheParams, ParamsError> {
        let bootstrap = Gadget { base_log: 15, levels: 2 };
        TfheParams::insecure(TfheSpec { bootstrap, glwe_sigma_log2: -52.0, ..*insecure_small()?.spec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::{DIGIT_LOOKUP, GATE_LOOKUP};

    #[test]
    fn presets_fail_as_rarely_as_their_names_say() {
        for (params, (norm, margin), log2) in [
            (presets::gates_2m128(), GATE_LOOKUP, -128.0),
            (presets::gates_2m40(), GATE_LOOKUP, -40.0),
            (presets::digits_2m128(), DIGIT_LOOKUP, -128.0),
            (presets::digits_2m40(), DIGIT_LOOKUP, -40.0),
            (presets::phases_2m128(), DIGIT_LOOKUP, -128.0),
        ] {
            let params = params.unwrap();
            let found = params.noise().failure_log2(norm, margin);
            println!("{:?}: 2^{found:.1}, {:?}", params.spec(), params.noise());
            assert!(params.is_secure() && found <= log2, "{found}");
            // The probability is not much smaller than the name says: neither the bound on the
            // transform alone nor waste decides it.
            assert!(found > log2 - 40.0, "{found}");
        }
        assert!(!presets::insecure_lambda100().unwrap().is_secure());
    }

    #[test]
    fn multi_bit_presets_fail_as_rarely_by_every_key() {
        for (params, (norm, margin), log2) in [
            (presets::gates_2m128_multibit(), GATE_LOOKUP, -128.0),
            (presets::gates_2m40_multibit(), GATE_LOOKUP, -40.0),
            (presets::digits_2m128_multibit(), DIGIT_LOOKUP, -128.0),
            (presets::digits_2m40_multibit(), DIGIT_LOOKUP, -40.0),
            (presets::phases_2m128_multibit(), DIGIT_LOOKUP, -128.0),
        ] {
            let params = params.unwrap();
            let found = [1, 2, 3, 4].map(|group| params.noise_of_groups(group).failure_log2(norm, margin));
            println!("{:?}: {found:.1?}", params.spec());
            assert!(params.is_secure() && found.iter().all(|&found| found <= log2), "{found:?}");
            assert!(found.iter().any(|&found| found > log2 - 40.0), "{found:?}");
            assert!(params.check_group(2).is_ok() && params.check_group(4).is_ok());
        }
    }

    /// Dimensions, and the least log2 of the deviation that the lattice estimator grants 128 bits
    /// by MATZOV, to a hundredth (`tests/estimates/tfhe.py line`).
    const LEAST: [(usize, f64); 11] = [
        (450, -9.01),
        (500, -10.31),
        (600, -12.82),
        (700, -15.37),
        (800, -17.94),
        (900, -20.52),
        (1000, -23.11),
        (1280, -30.34),
        (1536, -36.99),
        (1792, -43.67),
        (2048, -50.38),
    ];

    #[test]
    fn the_line_is_above_the_estimated_points() {
        for (dimension, sigma) in LEAST {
            let above = least_sigma_log2(dimension) - sigma;
            assert!((0.0..0.5).contains(&above), "{dimension}: {above}");
        }
        // Above Concrete's curve wherever that one holds.
        assert!((450..=2048).all(|n| least_sigma_log2(n) > 2.981_543 - 0.026_599_46 * n as f64));
    }

    #[test]
    fn parameters_below_the_line_need_the_insecure_name() {
        let good = *presets::gates_2m128().unwrap().spec();
        for change in [
            |spec: &mut TfheSpec| spec.lwe_sigma_log2 -= 0.1,
            |spec: &mut TfheSpec| spec.glwe_sigma_log2 -= 0.1,
            |spec: &mut TfheSpec| spec.lwe_dimension -= 10,
            |spec: &mut TfheSpec| spec.glwe_dimension -= 1,
        ] {
            let mut spec = good;
            change(&mut spec);
            assert!(matches!(TfheParams::try_from(spec), Err(ParamsError::OutOfRange { .. })));
            assert!(!TfheParams::insecure(spec).unwrap().is_secure());
        }
    }

    #[test]
    fn unusable_parameters_are_refused() {
        let good = *presets::gates_2m128().unwrap().spec();
        let gadget = |base_log, levels| Gadget { base_log, levels };
        let bad: Vec<TfheSpec> = vec![
            TfheSpec { lwe_dimension: 0, ..good },
            TfheSpec { lwe_dimension: usize::MAX, ..good },
            TfheSpec { glwe_dimension: 0, ..good },
            TfheSpec { glwe_dimension: usize::MAX, ..good },
            TfheSpec { log_degree: 4, ..good },
            TfheSpec { log_degree: u32::MAX, ..good },
            TfheSpec { lwe_sigma_log2: f64::NAN, ..good },
            TfheSpec { glwe_sigma_log2: f64::NEG_INFINITY, ..good },
            TfheSpec { bootstrap: gadget(0, 1), ..good },
            TfheSpec { bootstrap: gadget(17, 4), ..good },
            TfheSpec { bootstrap: gadget(u32::MAX, u32::MAX), ..good },
            TfheSpec { switch: gadget(4, 0), ..good },
            TfheSpec { switch: gadget(8, 4), ..good },
        ];
        for spec in bad {
            assert!(matches!(TfheParams::insecure(spec), Err(ParamsError::OutOfRange { .. })), "{spec:?}");
            assert!(TfheParams::try_from(spec).is_err());
        }
    }
}
