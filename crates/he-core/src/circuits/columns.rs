//! Columns of numbers in slots.

use crate::error::{Error, Result};
use num_complex::Complex64;

/// Packs a column into vectors of `slots` slots, the last padded with zeros; an empty column is one
/// vector of zeros.
///
/// # Errors
/// [`Error::SlotCount`] for a number of slots that is not a power of two.
pub fn pack_column(values: &[f64], slots: usize) -> Result<Vec<Vec<Complex64>>> {
    if !slots.is_power_of_two() {
        return Err(Error::SlotCount { found: slots, capacity: 1 << 16 });
    }
    let vector = |chunk: &[f64]| {
        let padding = std::iter::repeat_n(Complex64::ZERO, slots - chunk.len());
        chunk.iter().map(|&x| Complex64::new(x, 0.0)).chain(padding).collect()
    };
    if values.is_empty() {
        return Ok(vec![vector(&[])]);
    }
    Ok(values.chunks(slots).map(vector).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_padded() {
        assert!(matches!(pack_column(&[], 3), Err(Error::SlotCount { found: 3, .. })));
        assert_eq!(pack_column(&[], 2).unwrap(), [[Complex64::ZERO; 2]]);
        let one = Complex64::ONE;
        assert_eq!(pack_column(&[1.0; 3], 2).unwrap(), [[one, one], [one, Complex64::ZERO]]);
    }
}
