//! The form in which keys hold residues, and how kernels find them.

use bytemuck::NoUninit;
use he_core::arith::Modulus;

/// The residues of a tile of a packed key, and its words (kernels/include/key.cuh).
pub(crate) const TILE: usize = 1 << 11;
pub(crate) const TILE_WORDS: usize = TILE * KEY_BITS as usize / 64;

/// The bits of a residue in a packed key.
const KEY_BITS: u32 = 50;

/// The form in which a key holds the residues of a ring's primes. A key switch reads each of its
/// words once, so that its time on large degrees is that of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// As they are.
    Flat,
    /// Packed modulo the short primes; each row has the place of one that is not.
    Mixed,
    /// Packed modulo every prime.
    Packed,
}

/// The addresses by which kernels find the rows of a key.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
pub(crate) struct KeyLayout {
    pub(crate) packed: [u64; 2],
    pub(crate) row_words: u64,
}

impl KeyForm {
    /// The form of keys for primes of which each is computed in float64 or not. They are packed if
    /// every one that is has few enough bits, for which there are kernels.
    pub(crate) fn of<'a>(n: usize, primes: impl Iterator<Item = (bool, &'a Modulus)> + Clone) -> Self {
        let mut short = primes.clone().filter(|(is_short, _)| *is_short).peekable();
        if n < TILE || short.peek().is_none() || short.any(|(_, q)| q.bits() > KEY_BITS) {
            Self::Flat
        } else if primes.clone().all(|(is_short, _)| is_short) {
            Self::Packed
        } else {
            Self::Mixed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_modulo_short_primes() {
        let q = |bits: u32| Modulus::new((1_u64 << bits) - 1).unwrap();
        let (q40, q50, q51, q60) = (q(40), q(50), q(51), q(60));
        let form = |n, primes: &[(bool, &Modulus)]| KeyForm::of(n, primes.iter().copied());
        assert_eq!(form(TILE, &[(true, &q40), (true, &q50)]), KeyForm::Packed);
        assert_eq!(form(TILE, &[(false, &q60), (true, &q40)]), KeyForm::Mixed);
        assert_eq!(form(TILE / 2, &[(true, &q40)]), KeyForm::Flat);
        assert_eq!(form(TILE, &[(false, &q60), (false, &q40)]), KeyForm::Flat);
        assert_eq!(form(TILE, &[(true, &q40), (true, &q51), (false, &q60)]), KeyForm::Flat);
    }
}
