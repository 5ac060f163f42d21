//! Floods that hide the noise of a ciphertext in decryptions that others see.

use super::{DECRYPTION_MARGIN, Params, Scheme, State};
use crate::error::{Error, Result};
use crate::rlwe::Flooding;

/// The most bits of statistical security that a [`Flooding`] states.
const MOST_SECURITY: u32 = 256;

impl<S: Scheme> Params<S> {
    /// The b of each of `floods` floods, uniform integers of `[-2^b, 2^b)` per coefficient, that
    /// hide the noise of a ciphertext of this state, all of which fit beside it: as many as there
    /// are parties of a [shared decryption](crate::mhe::Decryption). What is left is the budget
    /// that a decryption is checked for.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`]; [`Error::Argument`] for a flooding out of range.
    pub fn flood_bits(&self, state: State, flooding: Flooding, floods: usize) -> Result<u32> {
        let needed_bits = flooding.bits(self.rlwe().ring().n(), Some(state.noise().rms_log2))?;
        let fits = |bits: u32| {
            let noise = state.noise().flooded(f64::from(bits) + libm::log2(floods as f64));
            self.noise().budget(noise, state.level() + 1) >= DECRYPTION_MARGIN
        };
        if fits(needed_bits) {
            return Ok(needed_bits);
        }
        let available_bits = (0..needed_bits).rev().find(|&bits| fits(bits)).unwrap_or(0);
        Err(Error::FloodTooWide { needed_bits, available_bits })
    }

    /// The bits of statistical security that so many floods in each of so many decryptions reach
    /// for ciphertexts of this state, at most 256; `None` if there is not even one.
    pub fn flood_security(&self, state: State, decryptions: u64, floods: usize) -> Option<u32> {
        let reached = |&security_bits: &u32| {
            let flooding = Flooding::Statistical { security_bits, decryptions };
            self.flood_bits(state, flooding, floods).is_ok()
        };
        (1..=MOST_SECURITY).rev().find(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bfv::Bfv;

    /// The greatest security is just possible, and one that counts more decryptions is less by
    /// their bits.
    #[test]
    fn security_is_what_fits() {
        let params = Params::<Bfv>::for_depth(257, 3).build().unwrap();
        let fresh = params.fresh_state();
        let found = params.flood_security(fresh, 1, 2).unwrap();
        let flood = |security_bits, decryptions| Flooding::Statistical { security_bits, decryptions };
        let bits = params.flood_bits(fresh, flood(found, 1), 2).unwrap();
        let next = params.flood_bits(fresh, flood(found + 1, 1), 2);
        assert!(
            matches!(next, Err(Error::FloodTooWide { needed_bits, available_bits }) if
                needed_bits == bits + 1 && available_bits == bits),
            "{next:?}"
        );
        assert_eq!(params.flood_security(fresh, 1 << 10, 2), Some(found - 10));
        assert_eq!(params.flood_security(fresh, 1, 4), Some(found - 1));
        let small = Params::<Bfv>::for_depth(257, 0).build().unwrap();
        assert_eq!(small.flood_security(small.fresh_state(), 1 << 40, 2), None);
        assert!(params.flood_bits(fresh, flood(0, 1), 2).is_err());
    }
}
