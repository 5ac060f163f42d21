//! The work of a program of TFHE, without doing it.

use super::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};
use crate::backend::{Backend, PreparedRing};
use crate::error::{Error, Result};
use crate::ring::RingSpec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A back end that computes nothing and counts blind rotations, which take nearly all of the time
/// of a program of TFHE. The operations of such a program do not depend on what its ciphertexts
/// hold, so it counts as many as another back end computes. Its buffers are their numbers of words,
/// which it holds as zeros. It has no rings.
///
/// ```
/// # use he_core::tfhe::*;
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
/// # let key = BootstrapKey::generate(&secret, &mut rng);
/// let tally = Tally::default();
/// let evaluator = IntegerEvaluator::new(&tally, &key, Carry::Ripple)?;
/// let digits = LweBatch::zeros(&tally, secret.params(), 8 * 3)?;
/// let x: EncryptedUint<_> = EncryptedInteger::from_ciphertexts(digits, 16)?;
/// evaluator.add(&x, &x)?;
/// assert_eq!(tally.lookups(), 8 * 3); // three integers of eight digits
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<AtomicU64>);

impl Tally {
    /// The ciphertexts that blind rotations would have taken so far, on this back end and its
    /// clones.
    pub fn lookups(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The rings of [`Tally`]: there are none.
#[derive(Clone, Copy, Debug)]
pub enum NoRing {}

impl PreparedRing for NoRing {
    type Buf = usize;
    type Backend = Tally;

    fn backend(&self) -> &Tally {
        match *self {}
    }

    fn spec(&self) -> &RingSpec {
        match *self {}
    }
}

impl Backend for Tally {
    type Buf = usize;
    type Ring = NoRing;

    fn name(&self) -> String {
        "tally".to_owned()
    }

    fn prepare(&self, _: &RingSpec) -> Result<NoRing> {
        Err(Error::domain("ring", "a ring for the back end that counts lookups", "use it for TFHE alone"))
    }

    fn zeros(&self, words: usize) -> Result<usize> {
        Ok(words)
    }

    fn upload(&self, words: &[u64]) -> Result<usize> {
        Ok(words.len())
    }

    fn download(&self, _: &usize, range: Range<usize>) -> Result<Vec<u64>> {
        Ok(vec![0; range.len()])
    }

    fn copy(&self, _: &usize, _: usize, _: &mut usize, _: usize, _: usize) -> Result<()> {
        Ok(())
    }

    fn words(&self, buf: &usize) -> usize {
        *buf
    }

    fn truncate(&self, buf: &mut usize, words: usize) {
        *buf = words;
    }

    fn wipe(&self, _: &mut usize) {}

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl LweOps for Tally {
    type LweKey = TfheParams;
    type CircuitKey = TfheParams;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<TfheParams> {
        Ok(key.params().clone())
    }

    fn lwe_combine(&self, params: &TfheParams, _: &usize, combinations: &[Combination]) -> Result<usize> {
        Ok(combinations.len() * params.words())
    }

    fn key_switch(&self, key: &TfheParams, _: &usize, count: usize) -> Result<usize> {
        Ok(count * (key.spec().lwe_dimension + 1))
    }

    fn blind_rotate(
        &self,
        key: &TfheParams,
        _: &usize,
        count: usize,
        _: &usize,
        _: &[u32],
        functions: usize,
    ) -> Result<usize> {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(functions * count * key.words())
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<TfheParams> {
        Ok(key.params().tfhe().clone())
    }

    fn lookup_bits(
        &self,
        key: &TfheParams,
        _: &usize,
        _: usize,
        count: usize,
        _: &usize,
        outputs: usize,
    ) -> Result<usize> {
        Ok(count * outputs * key.words())
    }
}
