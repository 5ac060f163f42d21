//! Reciprocals on ciphertexts.

use super::{Circuit, Value};
use crate::encoder::inverse::Inverse;

/// Goldschmidt's iteration without products by constants.
///
/// With s_n = 1 and s_i = k_i sqrt(s_(i+1)) for the factors k_i, the numbers t_i = s_i b_i follow
/// t_(i+1) = t_i (2 s_i / k_i - t_i), and the product of these brackets is 1 / (s_0 b_0) up to the
/// iteration's error: the constants are left in s_0 alone, which the linear map before multiplies
/// by.
pub struct Brackets {
    /// s_0.
    pub scale: f64,
    /// 2 s_i / k_i.
    constants: Vec<f64>,
}

impl Brackets {
    pub fn new(inverse: &Inverse) -> Self {
        let mut scale = 1.0f64;
        let mut constants = Vec::new();
        for factor in inverse.factors().iter().rev() {
            scale = factor * scale.sqrt();
            constants.push(2.0 * scale / factor);
        }
        constants.reverse();
        Self { scale, constants }
    }

    /// 1 / (s_0 b) for s_0 b.
    pub fn apply(&self, circuit: &mut Circuit, mut x: Value) -> Value {
        let mut found = None;
        for (at, &constant) in self.constants.iter().enumerate() {
            let bracket = circuit.from(x, constant);
            found = Some(found.map_or(bracket, |found| circuit.product(found, bracket)));
            if at + 1 < self.constants.len() {
                x = circuit.product(x, bracket);
            }
        }
        // Without a step, b is 1 within the bits asked for.
        found.unwrap_or_else(|| circuit.from(x, 2.0))
    }
}
