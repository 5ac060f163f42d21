//! Slots: the values of a polynomial modulo t at the 2N-th roots of unity, in two rows of N/2.

use crate::arith::Modulus;
use crate::params::ParamsError;
use crate::ring::{NttTable, bit_reverse, galois_rotation};
use crate::secret_words::SecretWords;

/// Transforms between slots and coefficients, for a prime t = 1 mod 2N.
///
/// With psi the root of [`NttTable`]: slot i of the first row is m(psi^(5^i)), slot i of the second
/// m(psi^(-5^i)). Therefore X -> X^(5^k) rotates both rows left by k, and X -> X^-1 exchanges them.
pub(super) struct Batching {
    table: NttTable,
    /// The place of slot i in evaluation form.
    place: Vec<u32>,
}

/// The place of slot i in evaluation form, for all N slots.
pub(super) fn places(t: &Modulus, log_n: u32) -> Result<Vec<u32>, ParamsError> {
    if !super::params::has_slots(t.value(), log_n) {
        return Err(ParamsError::NoSlots { found: t.value(), log_n });
    }
    let n = 1u64 << log_n;
    // psi^e is the value at index i with e = 2 brv(i) + 1.
    let index = |exponent: u64| bit_reverse((exponent / 2) as usize, log_n) as u32;
    let powers: Vec<u64> = (0..n / 2).map(|i| galois_rotation(i as i64, log_n)).collect();
    let first = powers.iter().map(|&e| index(e));
    let second = powers.iter().map(|&e| index(2 * n - e));
    Ok(first.chain(second).collect())
}

impl std::fmt::Debug for Batching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batching {{ {} slots modulo {} }}", self.place.len(), self.table.modulus().value())
    }
}

impl Batching {
    pub fn new(t: Modulus, log_n: u32) -> Result<Self, ParamsError> {
        Ok(Self { place: places(&t, log_n)?, table: NttTable::new(t, log_n)? })
    }

    /// Transforms N slots to N coefficients, in place; constant time.
    pub fn to_coefficients(&self, words: &mut [u64]) {
        let slots = SecretWords::from(words.to_vec());
        for (&slot, &place) in slots.iter().zip(&self.place) {
            words[place as usize] = slot;
        }
        self.table.inverse(words);
    }

    /// Transforms N coefficients to N slots; constant time.
    pub fn to_slots(&self, coefficients: &[u64], slots: &mut [u64]) {
        let mut values = SecretWords::from(coefficients.to_vec());
        self.table.forward(&mut values);
        for (slot, &place) in slots.iter_mut().zip(&self.place) {
            *slot = values[place as usize];
        }
    }
}
