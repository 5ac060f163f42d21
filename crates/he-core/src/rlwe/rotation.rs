//! Rotations of ciphertexts with the existing keys.

use super::{Decomposed, EvaluationKeys, KEY, RlweCiphertext};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::galois_rotation;

impl<B: RingOps> RlweCiphertext<B> {
    /// The image under X -> X^(5^step): one key switch if there is a key for this step, otherwise
    /// one per step of [`EvaluationKeys::rotation_path`].
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`]; mismatch of ring or parameters; device errors.
    pub fn rotate(&self, step: i64, keys: &EvaluationKeys<B>) -> Result<Self> {
        self.ring().backend().batched(|| {
            let mut result: Option<Self> = None;
            for step in keys.rotation_path(step)? {
                let g = galois_rotation(step, self.ring().spec().log_n());
                let key = keys.galois(g).ok_or(Error::MissingGaloisKey { step })?;
                result = Some(result.as_ref().unwrap_or(self).apply_automorphism(key, g)?);
            }
            result.map_or_else(|| self.unturned(keys), Ok)
        })
    }

    /// A rotation by nothing uses no key, but keys of another key set are refused all the same.
    fn unturned(&self, keys: &EvaluationKeys<B>) -> Result<Self> {
        let key_set = common(KEY, keys.key_set(), self.key_set)?;
        Ok(self.duplicate()?.of(key_set))
    }

    /// Rotations by several steps, decomposed once (hoisting); steps without a key of their own are
    /// composed.
    ///
    /// # Errors
    /// The same as for [`rotate`](Self::rotate).
    pub fn rotate_many(&self, steps: &[i64], keys: &EvaluationKeys<B>) -> Result<Vec<Self>> {
        self.ring().backend().batched(|| {
            let digits = Decomposed::new(keys.params(), self.parts()[1])?;
            let rotated = steps.iter().map(|&step| match keys.rotation_path(step)?.as_slice() {
                [] => self.unturned(keys),
                &[step] => {
                    let g = galois_rotation(step, self.ring().spec().log_n());
                    let key = keys.galois(g).ok_or(Error::MissingGaloisKey { step })?;
                    self.automorphism(&digits, key, g)
                }
                _ => self.rotate(step, keys),
            });
            rotated.collect()
        })
    }
}
