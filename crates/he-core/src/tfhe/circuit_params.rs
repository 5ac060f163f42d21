//! Parameters of circuit bootstrapping, and the noise of what is looked up.

use super::noise::{Noise, WORST_FAILURE_LOG2};
use super::transform::relative_error;
use super::{Gadget, TfheParams};
use crate::error::{Error, Result};
use crate::params::ParamsError;

/// The decompositions of circuit bootstrapping. The default is for
/// [`phases_2m128`](super::presets::phases_2m128).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitSpec {
    /// The gadget of the external products by bits. Each digit is a function of the blind rotation.
    pub select: Gadget,
    /// The gadget of the key switches of automorphisms, and of products by the secret.
    pub switch: Gadget,
}

impl Default for CircuitSpec {
    fn default() -> Self {
        Self { select: Gadget { base_log: 7, levels: 2 }, switch: Gadget { base_log: 10, levels: 4 } }
    }
}

/// TFHE parameters with those of circuit bootstrapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitParams {
    tfhe: TfheParams,
    spec: CircuitSpec,
}

/// Predicted variances on the torus R/Z; see [`CircuitParams::noise`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitNoise {
    /// The noise that one key switch leaves in each coefficient.
    pub key_switch: f64,
    /// The squared norm of the noise of a row's polynomial: the rotation's and the trace's.
    pub row: f64,
    /// The noise that one external product by a bit adds.
    pub selection: f64,
}

fn check(what: &'static str, found: u32, highest: u32) -> Result<(), ParamsError> {
    if (1..=highest).contains(&found) {
        return Ok(());
    }
    Err(ParamsError::OutOfRange { what, found: found.into(), lowest: 1.0, highest: highest.into() })
}

impl CircuitParams {
    /// Combines TFHE parameters with decompositions: of at most 4 digits for bits, and of 52 bits
    /// each. Secrets and errors are those of `tfhe`, and with them the security.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`].
    pub fn new(tfhe: &TfheParams, spec: CircuitSpec) -> Result<Self, ParamsError> {
        check("levels of the selection", spec.select.levels, 4)?;
        check("levels of the key switch", spec.switch.levels, 16)?;
        for gadget in [spec.select, spec.switch] {
            check("base of a decomposition (bits)", gadget.base_log, 28)?;
            check("bits of a decomposition", gadget.bits(), 52)?;
        }
        Ok(Self { tfhe: tfhe.clone(), spec })
    }

    /// The parameters of keys and ciphertexts.
    pub fn tfhe(&self) -> &TfheParams {
        &self.tfhe
    }

    /// The decompositions.
    pub fn spec(&self) -> &CircuitSpec {
        &self.spec
    }

    /// The functions of a blind rotation: the digits of a selection, up to a power of two.
    pub(crate) fn functions(&self) -> usize {
        self.spec.select.levels.next_power_of_two() as usize
    }

    /// The rows of a [`CircuitKey`](super::CircuitKey): for log2 N automorphisms and for all
    /// products of two of the k secret polynomials, the levels of [`CircuitSpec::switch`] for each
    /// polynomial that is switched.
    pub fn key_rows(&self) -> usize {
        let k = self.tfhe.spec().glwe_dimension;
        let switched = self.tfhe.spec().log_degree as usize * k + k * (k + 1) / 2;
        switched * self.spec.switch.levels as usize
    }

    /// The rows of the GGSW encryption of one bit: (k + 1) levels.
    pub fn rows(&self) -> usize {
        (self.tfhe.spec().glwe_dimension + 1) * self.spec.select.levels as usize
    }

    /// The predicted noise by a bootstrapping key of single bits.
    ///
    /// With k, N of GLWE, and the variances of [`Noise`](super::Noise):
    /// - a key switch leaves e = k N (l (B^2 + 2)/12 sigma^2 + 1 / (24 B^2l)), and what the
    ///   transform adds;
    /// - a trace doubles constants log2 N times. Noise of the key switch at step s is doubled by
    ///   those after it in the constant coefficient, and adds up in the others unless a later step
    ///   removes it: (N^2 - 1)/3 e and 2/3 N^2 e, together N^2 e. The noise v that the rotation
    ///   left is in the constant coefficient alone: the ciphertext is divided by N before;
    /// - rows for mask components are multiplied by a secret polynomial, N/2 in the squared norm.
    ///   An external product by a bit adds l (B^2 + 2)/12 ((v + N^2 e)(1 + k N / 2) + k^2 N e) and
    ///   its rounding, (1 + k N / 2) / (12 B^2l).
    pub fn noise(&self) -> CircuitNoise {
        self.noise_of(&self.tfhe.noise())
    }

    /// The predicted noise by a multi-bit key of so many bits in a group: that of its rotation in
    /// place of the other one.
    pub fn noise_of_groups(&self, group: usize) -> CircuitNoise {
        self.noise_of(&self.tfhe.noise_of_groups(group))
    }

    fn noise_of(&self, rotation: &Noise) -> CircuitNoise {
        let spec = self.tfhe.spec();
        let (k, n) = (spec.glwe_dimension as f64, self.tfhe.degree() as f64);
        let (select, switch) = (self.spec.select, self.spec.switch);
        let glwe = libm::exp2(2.0 * spec.glwe_sigma_log2);
        let eps = relative_error(spec.log_degree, 0);
        let transform = |gadget: Gadget, parts: f64| {
            parts * f64::from(gadget.levels) * n * gadget.digit_square() / 12.0 * eps * eps
        };
        let key_switch = k
            * n
            * (f64::from(switch.levels) * switch.digit_square() * glwe + 0.5 * switch.rounding_variance())
            + transform(switch, k);
        let row = rotation.bootstrapped() + n * n * key_switch;
        let selection = f64::from(select.levels)
            * select.digit_square()
            * (row * (1.0 + k * n / 2.0) + k * k * n * key_switch)
            + select.rounding_variance() * (1.0 + k * n / 2.0)
            + transform(select, k + 1.0);
        CircuitNoise { key_switch, row, selection }
    }

    /// log2 of the probability that a bit is misread which is the sum of `outputs` results of
    /// lookups of `bits` bits, and of one fresh ciphertext, by a bootstrapping key of single bits.
    pub fn failure_log2(&self, bits: usize, outputs: usize) -> f64 {
        self.failure_of(&self.tfhe.noise(), bits, outputs)
    }

    /// The same by a multi-bit key of so many bits in a group.
    pub fn failure_log2_of_groups(&self, group: usize, bits: usize, outputs: usize) -> f64 {
        self.failure_of(&self.tfhe.noise_of_groups(group), bits, outputs)
    }

    fn failure_of(&self, noise: &Noise, bits: usize, outputs: usize) -> f64 {
        let sum = (bits * outputs) as f64 * self.noise_of(noise).selection + noise.fresh;
        // `failure_log2` multiplies by the noise of a bootstrap.
        let norm = sum / noise.input();
        noise.failure_log2(norm, 0.25 / self.functions() as f64)
    }

    /// Refuses parameters under which such a sum is misread with a probability above 2^-32 by a
    /// bootstrapping key of this noise.
    pub(crate) fn expect_rare_failures(&self, noise: &Noise, bits: usize, outputs: usize) -> Result<()> {
        let failure = self.failure_of(noise, bits, outputs);
        if failure.is_nan() || failure > WORST_FAILURE_LOG2 {
            let found = format!(
                "sums of {outputs} results of lookups of {bits} bits would be misread with probability \
                 2^{failure:.1}, and at most 2^{WORST_FAILURE_LOG2} is accepted"
            );
            return Err(Error::domain("parameters of circuit bootstrapping", found, "use phases_2m128"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::presets;

    #[test]
    fn the_preset_for_phases_serves_and_those_for_digits_do_not() {
        let params = CircuitParams::new(&presets::phases_2m128().unwrap(), CircuitSpec::default()).unwrap();
        let failure = params.failure_log2(8, 4);
        println!("{:?}: 2^{failure:.1}", params.noise());
        assert!(failure < -128.0, "{failure}");
        assert_eq!((params.key_rows(), params.rows(), params.functions()), (48, 4, 2));
        let digits = CircuitParams::new(&presets::digits_2m128().unwrap(), CircuitSpec::default()).unwrap();
        let refused = digits.expect_rare_failures(&digits.tfhe().noise(), 8, 4);
        assert!(matches!(refused, Err(Error::Argument { .. })));
        let tfhe = presets::phases_2m128_multibit().unwrap();
        let params = CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap();
        let found = [1, 2, 3, 4].map(|group| params.failure_log2_of_groups(group, 8, 4));
        println!("{:?}: {found:.1?}", params.noise_of_groups(4));
        assert!(found.iter().all(|&found| found < -128.0), "{found:?}");
        assert_eq!(found[0], params.failure_log2(8, 4));
    }

    #[test]
    fn unusable_decompositions_are_refused() {
        let tfhe = presets::insecure_small().unwrap();
        let gadget = |base_log, levels| Gadget { base_log, levels };
        let good = CircuitSpec::default();
        for spec in [
            CircuitSpec { select: gadget(0, 2), ..good },
            CircuitSpec { select: gadget(7, 5), ..good },
            CircuitSpec { select: gadget(27, 2), ..good },
            CircuitSpec { switch: gadget(10, 0), ..good },
            CircuitSpec { switch: gadget(u32::MAX, 1), ..good },
            CircuitSpec { switch: gadget(4, 16), ..good },
        ] {
            assert!(matches!(CircuitParams::new(&tfhe, spec), Err(ParamsError::OutOfRange { .. })));
        }
    }
}
