//! Polynomials by powers.

use crate::number::Number;
use std::collections::BTreeMap;

/// A polynomial by its powers, each the product of two of half of its exponent: of depth
/// ceil(log2 d). The steps are the same on ciphertexts and on predictions of them.
///
/// # Errors
/// The errors of the steps.
pub fn power_sum<T: Clone, E>(
    x: &T,
    coefficients: &[Number],
    product: impl Fn(&T, &T) -> Result<T, E>,
    scale: impl Fn(&T, Number) -> Result<T, E>,
    sum: impl Fn(&T, &T) -> Result<T, E>,
    shift: impl Fn(&T, Number) -> Result<T, E>,
) -> Result<T, E> {
    fn power<T: Clone, E>(
        powers: &mut BTreeMap<usize, T>,
        exponent: usize,
        product: &impl Fn(&T, &T) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(found) = powers.get(&exponent) {
            return Ok(found.clone());
        }
        let half = power(powers, exponent / 2, product)?;
        let other = power(powers, exponent - exponent / 2, product)?;
        let made = product(&half, &other)?;
        powers.insert(exponent, made.clone());
        Ok(made)
    }
    let mut powers = BTreeMap::from([(1, x.clone())]);
    let mut result: Option<T> = None;
    for (exponent, &coefficient) in coefficients.iter().enumerate().skip(1) {
        if coefficient == Number::Integer(0) {
            continue;
        }
        let term = power(&mut powers, exponent, &product)?;
        let term = if coefficient == Number::Integer(1) { term } else { scale(&term, coefficient)? };
        result = Some(match result {
            Some(so_far) => sum(&so_far, &term)?,
            None => term,
        });
    }
    let result = match result {
        Some(result) => result,
        None => scale(x, Number::Integer(0))?,
    };
    match coefficients.first() {
        None | Some(Number::Integer(0)) => Ok(result),
        Some(&constant) => shift(&result, constant),
    }
}
