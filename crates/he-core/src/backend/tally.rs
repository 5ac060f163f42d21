//! The work of a program, without doing it.

use super::{
    Backend, CkksOps, DigitBuf, Embedding, ExactOps, GiantStep, KeySwitchOps, KeySwitchShape, MatrixOps,
    PolyOps, PreparedRing, Rotation, RotationBlocks,
};
use crate::arith::Modulus;
use crate::error::Result;
use crate::for_each_ring_op;
use crate::ring::{RingSpec, Rows, SpecialFft};
use num_complex::Complex64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A back end that computes nothing and counts what takes nearly all of the time of programs: blind
/// rotations of TFHE, and the work of key switches and divisions over rings. The operations of such
/// programs do not depend on what their ciphertexts hold, so it counts as much as an
/// [`Overseer`](crate::Overseer) of another back end is told. Its buffers are their numbers of
/// words, which it holds as zeros.
///
/// ```
/// # use he_core::{backend::Tally, tfhe::*};
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
pub struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    lookups: AtomicU64,
    work: AtomicU64,
}

impl Tally {
    /// The ciphertexts that blind rotations would have taken so far, on this back end and its
    /// clones: what [`looked_up`](crate::Overseer::looked_up) tells of another back end.
    pub fn lookups(&self) -> u64 {
        self.0.lookups.load(Ordering::Relaxed)
    }

    /// The work of rings so far, likewise: what [`worked`](crate::Overseer::worked) tells.
    pub fn work(&self) -> u64 {
        self.0.work.load(Ordering::Relaxed)
    }

    pub(crate) fn looked_up(&self, count: usize) {
        self.0.lookups.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Backend for Tally {
    type Buf = usize;
    type Ring = TallyRing;

    fn name(&self) -> String {
        "tally".to_owned()
    }

    fn prepare(&self, spec: &RingSpec) -> Result<TallyRing> {
        Ok(TallyRing { tally: self.clone(), spec: spec.clone() })
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

    fn worked(&self, work: u64) {
        self.0.work.fetch_add(work, Ordering::Relaxed);
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

/// A ring of [`Tally`], whose operations leave their operands as they are.
#[derive(Clone, Debug)]
pub struct TallyRing {
    tally: Tally,
    spec: RingSpec,
}

impl PreparedRing for TallyRing {
    type Buf = usize;
    type Backend = Tally;

    fn backend(&self) -> &Tally {
        &self.tally
    }

    fn spec(&self) -> &RingSpec {
        &self.spec
    }
}

/// An operation that does nothing.
macro_rules! nothing {
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> done ();) => {
        fn $op(&self, $(_: $type),*) -> Result<()> {
            Ok(())
        }
    };
}

// All other operations are composed of these and make buffers, except for those that would move
// words.

impl PolyOps for TallyRing {
    for_each_ring_op! { required, nothing }
}

impl KeySwitchOps for TallyRing {
    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        _: [&usize; 2],
        _: DigitBuf<&usize>,
        _: &[Rotation<'_, usize>],
        _: &[GiantStep<'_, usize>],
    ) -> Result<[usize; 2]> {
        Ok([blocks.group(shape).flat_digit_words(self.spec.n()) * blocks.outputs; 2])
    }
}

impl CkksOps for TallyRing {
    fn encode_slots(&self, rows: Rows, _: &[&[Complex64]], _: Embedding<'_>) -> Result<usize> {
        Ok(rows.count() * self.spec.n())
    }
}

impl ExactOps for TallyRing {
    fn greatest_squares(&self, batch: usize, _: &usize, _: &Modulus, _: &SpecialFft) -> Result<usize> {
        Ok(batch)
    }

    fn gather(&self, rows: Rows, _: &usize, _: &usize) -> Result<usize> {
        Ok(rows.count() * self.spec.n())
    }
}

impl MatrixOps for TallyRing {}
