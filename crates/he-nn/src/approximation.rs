//! Functions as polynomials of values that are divided by their units.

use crate::comparisons;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::function::Function;
use he_core::backend::RingOps;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::{Function as Approximate, NeverRefresh, Polynomial};
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::{EvaluationKeys, KeyRequirements};

/// The bits up to which one polynomial may follow max(x, 0) in fewer levels than a composition of
/// several.
const SINGLE_BITS: u32 = 8;

/// A function on [-1, 1], of and to values that are divided by their units.
#[derive(Clone, Debug)]
pub enum Approximation {
    /// x times x, exactly.
    Square,
    /// A polynomial of small degree, which is the function itself.
    Exact(Polynomial),
    /// One polynomial or several.
    Near(Approximate),
    /// 0 or 1, but for numbers nearer to 0 than the [gap](comparisons::gap).
    Step(Approximate),
}

impl Approximation {
    /// Approximates a function to `bits` bits: differences are at most 2^-bits of the function's
    /// greatest magnitude. A function with a domain is continued beyond it.
    ///
    /// # Errors
    /// [`Error::Unsupported`], with the name that `unsupported` gives it, where no polynomial
    /// suffices.
    pub fn new(
        function: &Function,
        domain: Option<Domain>,
        input_unit: f64,
        unit: f64,
        bits: u32,
        unsupported: impl FnOnce(String) -> Error,
    ) -> Result<Self> {
        if let Some(coefficients) = function.coefficients() {
            let mut power = 1.0 / unit;
            let scaled: Vec<f64> = coefficients
                .iter()
                .map(|c| {
                    let scaled = c * power;
                    power *= input_unit;
                    scaled
                })
                .collect();
            return Ok(match scaled[..] {
                [0.0, 0.0, c] if (c - 1.0).abs() < 1e-12 => Self::Square,
                _ => Self::Exact(Polynomial::power(&scaled)?),
            });
        }
        if function.is_step() {
            // Nothing that is added to a step decides about its unit.
            if unit != 1.0 {
                return Err(unsupported(format!("its steps are divided by {unit}")));
            }
            let step = Approximate::step(1.0, comparisons::gap(bits), bits + comparisons::MORE_BITS);
            return step.map(Self::Step).map_err(|error| unsupported(error.message()));
        }
        let at = |x| domain.map_or_else(|| function.at(x), |domain| domain.at(function, x));
        let single = || Approximate::approximate(|x| at(x * input_unit) / unit, -1.0..=1.0, bits);
        let chosen = match function.is_relu() {
            // A ReLU whose inputs and outputs have one unit is approximated as it is.
            true if (input_unit / unit - 1.0).abs() < 1e-12 => {
                let composed = Approximate::relu(1.0, bits);
                let single = if bits <= SINGLE_BITS { single().ok() } else { None };
                let cost = |f: &Approximate| (f.requirements().depth, f.relinearisations());
                match (composed, single) {
                    (Ok(composed), Some(single)) if cost(&single) < cost(&composed) => Ok(single),
                    (Err(_), Some(single)) => Ok(single),
                    (composed, _) => composed,
                }
            }
            _ => single(),
        };
        chosen.map(Self::Near).map_err(|error| unsupported(error.message()))
    }

    /// Levels and keys.
    pub fn requirements(&self) -> Requirements {
        match self {
            Self::Square => Requirements { depth: 1, keys: KeyRequirements::new().relinearisation() },
            Self::Exact(polynomial) => polynomial.requirements(),
            Self::Near(function) | Self::Step(function) => function.requirements(),
        }
    }

    /// Products of ciphertexts, about.
    pub fn products(&self) -> usize {
        match self {
            Self::Square => 1,
            Self::Exact(polynomial) => polynomial.degree().max(1),
            Self::Near(function) | Self::Step(function) => function.relinearisations(),
        }
    }

    /// A few words for tables.
    pub fn text(&self) -> String {
        match self {
            Self::Square | Self::Exact(_) => "exact".to_owned(),
            Self::Near(function) => format!("{:.1} bits", function.bits()),
            Self::Step(function) => format!("{:.1} bits beyond the gap", function.bits()),
        }
    }

    /// Applies the function to every slot.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> he_core::Result<Ciphertext<B>> {
        match self {
            Self::Square => ev.square(ct, keys),
            Self::Exact(polynomial) => polynomial.apply(ev, ct, keys),
            Self::Near(function) | Self::Step(function) => function.apply(ev, ct, keys, &NeverRefresh),
        }
    }
}
