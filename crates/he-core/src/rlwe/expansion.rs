//! The coefficients of a ciphertext, each in a ciphertext of its own.
//!
//! Angel, Chen, Laine, Setty, *PIR with Compressed Queries and Amortized Query Processing* (S&P
//! 2018), section 3.3, with the factor removed beforehand as in Chen, Dai, Kim, Song, *Efficient
//! Homomorphic Conversion Between (Ring) LWE Ciphertexts* (ACNS 2021), section 3.2. Let a
//! polynomial have the coefficients of X^i for multiples i of 2^j alone. The automorphism
//! X -> X^(N / 2^j + 1) negates the odd multiples, so that the sum with the image is twice the even
//! multiples, and the difference twice the odd ones. The latter, times X^(-2^j), are even, too. The
//! number of ciphertexts doubles in each round.

use super::requirements::{expansion_elements, missing};
use super::{EvaluationKeys, KEY, RlweCiphertext};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::key_set::common;

impl<B: RingOps> RlweCiphertext<B> {
    /// The first `count` coefficients of the phase, each as the constant coefficient of a
    /// ciphertext of its own: entry i of the result has the phase sum_k c_(i + count k)
    /// X^(count k), which is c_i alone where all coefficients from X^count on are zero, and
    /// whenever `count` is N. If this is a batch of b ciphertexts, entry i b + k has coefficient i
    /// of ciphertext k.
    ///
    /// Costs count - 1 key switches for each ciphertext, in log2(count) rounds, by the keys of
    /// [`KeyRequirements::expansion`](super::KeyRequirements::expansion). The phase is exact but
    /// for the noise of the key switches, of which each round doubles what the rounds before it
    /// added: count - 1 times that of one. Constant time; `count` is public.
    ///
    /// # Errors
    /// [`Error::Argument`] for a count that is not a power of two up to N, or without one of the
    /// keys; mismatch of ring, parameters or key sets; device errors.
    pub fn expand(&self, count: usize, keys: &EvaluationKeys<B>) -> Result<Self> {
        let ring = self.ring();
        if !count.is_power_of_two() || count > ring.n() {
            let hint = format!("expand to a power of two, at most {}", ring.n());
            return Err(Error::domain("coefficients", format!("{count}"), hint));
        }
        let key_set = common(KEY, keys.key_set(), self.key_set)?;
        ring.backend().batched(|| {
            let mut portions = vec![self.divided_exactly(count)?.of(key_set)];
            for (j, g) in expansion_elements(ring.spec().log_n(), count).enumerate() {
                portions = Self::all_parted(portions, 1 << j, g, keys)?;
            }
            match portions.len() {
                1 => Ok(portions.remove(0)),
                _ => Self::concat(&portions.iter().collect::<Vec<_>>()),
            }
        })
    }

    /// The even multiples of all portions, and after them the odd ones: one portion as long as the
    /// back end takes so many entries at once.
    fn all_parted(portions: Vec<Self>, step: i64, g: u64, keys: &EvaluationKeys<B>) -> Result<Vec<Self>> {
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for portion in portions {
            let [e, o] = portion.parted(step, g, keys)?;
            even.push(e);
            odd.push(o);
        }
        if let ([e], [o]) = (&even[..], &odd[..])
            && e.batch() + o.batch() <= e.ring().backend().portion()
        {
            return Ok(vec![Self::concat(&[e, o])?]);
        }
        even.append(&mut odd);
        Ok(even)
    }

    /// The phase times the inverse of a power of two modulo each prime.
    pub(super) fn divided_exactly(&self, power: usize) -> Result<Self> {
        let mut divided = self.duplicate()?;
        let moduli = self.ring().spec().moduli_of(self.c[0].span());
        let inverses: Vec<u64> = moduli.map(|q| q.inv(q.reduce(power as u64))).collect();
        divided.c.iter_mut().try_for_each(|c| c.scale_assign(&inverses))?;
        Ok(divided)
    }

    /// Twice the even multiples of `step` among the exponents of each entry, and twice the odd
    /// ones, moved down by `step`; g negates the odd ones.
    fn parted(&self, step: i64, g: u64, keys: &EvaluationKeys<B>) -> Result<[Self; 2]> {
        let key = keys.galois(g).ok_or_else(|| missing(g))?;
        let image = self.apply_automorphism(key, g)?;
        let odd = self.sub(&image)?.mul_monomial(-step)?;
        Ok([self.add(&image)?, odd])
    }
}
