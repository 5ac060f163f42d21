//! Floods that hide the noise of a ciphertext in decryptions that others see.

use super::{DECRYPTION_MARGIN, Noise, Params, Scheme, State};
use crate::error::{Error, Result};
use crate::rlwe::noise::public_log2;
use crate::rlwe::{Flooded, Flooding, Floods, widest_bits};

/// The most bits of statistical security that a [`Flooding`] states.
const MOST_SECURITY: u32 = 256;

impl<S: Scheme> Params<S> {
    /// The b of each of `floods` floods, uniform integers of `[-2^b, 2^b)` per coefficient, that
    /// hide the noise of a ciphertext of this state, all of which fit beside it: as many as there
    /// are parties of a [shared decryption](crate::mhe::Decryption). The remaining budget is the
    /// one that a decryption is checked for.
    ///
    /// Floods are as wide as the level allows, not as narrow as the state does: all together take
    /// half of the Q / 4t that decryption tolerates, and the noise may take the other half, so
    /// b = floor(log2(Q / 8t) - log2(floods)). The noise of the state decides whether the security
    /// that was asked for is reached, and never makes a flood narrower; it makes it wider if it
    /// needs more than that. [`Flooding::Bits`] is taken as it is.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`]; [`Error::Argument`] for a flooding out of range.
    pub fn flood_bits(&self, state: State, flooding: Flooding, floods: usize) -> Result<u32> {
        let floods = Floods { count: floods, parties: self.noise().parties() };
        self.flood((state.noise(), state.level() + 1), flooding, floods, Flooded::Plaintext)
    }

    /// The b of each flood that hides the noise of a ciphertext over so many primes.
    ///
    /// A phase that is decrypted takes what [`flood_bits`](Self::flood_bits) states. If the
    /// ciphertext stays one, whose budget is to be used, floods of 2^b take half of the bits
    /// between a fresh encryption's noise and Q / 4t, and leave the other half to the floods of its
    /// own decryption; or as much as of a phase that is decrypted, if half is too little for a
    /// fresh encryption's noise. So b depends on the level and the flooding, and the stated noise
    /// can only raise it.
    ///
    /// # Errors
    /// The same as for [`flood_bits`](Self::flood_bits).
    pub(crate) fn flood(
        &self,
        (noise, primes): (Noise, usize),
        flooding: Flooding,
        floods: Floods,
        becomes: Flooded,
    ) -> Result<u32> {
        let n = self.rlwe().ring().n();
        let bits = |rms_log2: f64| flooding.bits(n, floods.parties, Some(rms_log2));
        let needed_bits = bits(noise.rms_log2)?;
        let needed_bits = match flooding {
            Flooding::Bits(_) => needed_bits,
            Flooding::Statistical { .. } => {
                let room = self.noise().log_q(primes) - 1.0 - self.noise().t_log2() - DECRYPTION_MARGIN;
                let widest = widest_bits(room, floods.count);
                let fresh = public_log2(n as f64, floods.parties as f64);
                // The cast rounds down and stops at 0.
                let middle = (((room + fresh) / 2.0) as u32).min(widest);
                let spared = becomes == Flooded::Ciphertext && bits(fresh)? <= middle;
                needed_bits.max(if spared { middle } else { widest })
            }
        };
        let fits = |bits: u32| {
            let noise = noise.flooded(f64::from(bits) + libm::log2(floods.count as f64));
            self.noise().budget(noise, primes) >= DECRYPTION_MARGIN
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
        // Two floods of 2^b take half of Q / 4t, to a bit, for one bit of security as well.
        let model = params.noise();
        let half = model.log_q(model.chain()) - 3.0 - 257f64.log2();
        let least = params.flood_bits(fresh, flood(1, 1), 2).unwrap();
        assert!((half - 1.0..=half).contains(&(f64::from(least) + 1.0)), "{least} of {half}");
        assert_eq!(params.flood_bits(fresh, Flooding::Bits(3), 2).unwrap(), 3);
        let small = Params::<Bfv>::for_depth(257, 0).build().unwrap();
        assert_eq!(small.flood_security(small.fresh_state(), 1 << 40, 2), None);
        assert!(params.flood_bits(fresh, flood(0, 1), 2).is_err());
    }
}
