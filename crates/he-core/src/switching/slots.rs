//! From slots to large ciphertexts of TFHE, and back.

use super::from_tfhe::Place;
use super::{FromTfhe, FromTfheKey, FromTfheParams, SwitchingParams, ToTfhe, ToTfheKey};
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::{BootstrapKeys, Bootstrapper, slots_to_coefficients};
use crate::circuits::Requirements;
use crate::circuits::ckks::PreparedTransform;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::params::ParamsError;
use crate::ring::{Ring, bit_reverse};
use crate::rlwe::{EvaluationKeys, KeyParams, KeyRequirements};
use crate::tfhe::{LweBatch, LweOps, TfheParams};

/// The choices of a switch from slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotsToTfheSpec {
    /// log2 of the slots of the ciphertexts.
    pub log_slots: u32,
    /// The matrices of SlotsToCoeffs, each of which takes a level: more of them take fewer
    /// rotations.
    pub matrices: usize,
    /// The numbers that the torus is wide: x becomes x / `range`, so that the values are between
    /// plus and minus half of it.
    pub range: f64,
}

/// Switches the real parts of slots to TFHE: SlotsToCoeffs, then [`ToTfhe`]; knows no secret.
#[derive(Debug)]
pub struct SlotsToTfhe<B: RingOps + LweOps = Cpu> {
    spec: SlotsToTfheSpec,
    ev: Evaluator<B>,
    matrices: Vec<PreparedTransform<B>>,
    requirements: Requirements,
    to: ToTfhe<B>,
    /// The coefficient that becomes each slot.
    coefficients: Vec<usize>,
}

impl<B: RingOps + LweOps> SlotsToTfhe<B> {
    /// Encodes the matrices; `ring` is that of [`SwitchingParams::ring`]. The base of `params` has
    /// to be the primes of level 0.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for an evaluator of other parameters than those of `params`,
    /// [`Error::InvalidParams`] for a base that is not that of level 0, [`Error::SlotCount`] for
    /// more slots than there are, [`Error::LevelExhausted`] for more matrices than levels,
    /// [`Error::Argument`] for none, or for a range that is not positive; device errors.
    pub fn new(
        ev: &Evaluator<B>,
        params: &SwitchingParams,
        ring: &Ring<B>,
        spec: SlotsToTfheSpec,
    ) -> Result<Self> {
        let ckks = ev.params();
        params.source().check_same(ckks.rlwe(), "evaluator")?;
        let bottom = ckks.levels()[0];
        if params.base() != bottom.primes {
            let (chain, found, base) = ("base of the switch", params.base(), bottom.primes);
            return Err(ParamsError::ChainLength { chain, found, lowest: base, highest: base }.into());
        }
        let (capacity, left) = (ckks.slots(), ckks.max_level());
        if spec.log_slots > capacity.ilog2() {
            return Err(Error::SlotCount { found: 1 << spec.log_slots.min(62), capacity });
        }
        if spec.matrices > left {
            return Err(Error::LevelExhausted { needed: spec.matrices, left });
        }
        if !(spec.range > 0.0 && spec.range.is_finite()) {
            return Err(Error::domain("range", spec.range.to_string(), "give a positive number"));
        }
        let base: f64 = ckks.rlwe().ring().q()[..bottom.primes].iter().map(|&q| q as f64).product();
        let factor = base / (bottom.scale * spec.range);
        let matrices = slots_to_coefficients(spec.log_slots, spec.matrices, factor)?;
        let union = |keys: KeyRequirements, needed: Requirements| keys.union(&needed.keys);
        let keys = matrices.iter().map(|matrix| matrix.requirements()).fold(KeyRequirements::new(), union);
        let requirements = Requirements { depth: spec.matrices, keys };
        let levels = (1..=spec.matrices).rev();
        let matrices = matrices
            .iter()
            .zip(levels)
            .map(|(matrix, level)| matrix.prepare(ev, level))
            .collect::<Result<_>>()?;
        let step = capacity >> spec.log_slots;
        let coefficients =
            (0..1usize << spec.log_slots).map(|slot| step * bit_reverse(slot, spec.log_slots)).collect();
        let (to, ev) = (ToTfhe::new(params, ring)?, ev.clone());
        Ok(Self { spec, ev, matrices, requirements, to, coefficients })
    }

    /// The choices of the switch.
    pub fn spec(&self) -> SlotsToTfheSpec {
        self.spec
    }

    /// The parameters of the switch.
    pub fn params(&self) -> &SwitchingParams {
        self.to.params()
    }

    /// The level that ciphertexts have at least, and the evaluation keys.
    pub fn requirements(&self) -> Requirements {
        self.requirements.clone()
    }

    /// Large ciphertexts with the phases x / [`range`](SlotsToTfheSpec::range) for the real parts x
    /// of all slots, in their order: `[entry][slot]` for a batch. Their noise is that of the
    /// ciphertext after SlotsToCoeffs, over the range, and what the switch adds
    /// ([`SwitchingParams::noise_log2`]).
    ///
    /// # Errors
    /// [`Error::SlotCount`] for another number of slots, [`Error::LevelExhausted`],
    /// [`Error::MissingGaloisKey`], mismatch of parameters, ring or key sets, before any work;
    /// device errors.
    pub fn switch(
        &self,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        key: &ToTfheKey<B>,
    ) -> Result<LweBatch<B>> {
        let (found, capacity) = (ct.slots(), self.coefficients.len());
        if found != capacity {
            return Err(Error::SlotCount { found, capacity });
        }
        self.requirements.check(ct.level(), keys)?;
        let mut lowered = self.ev.mod_switch_to(ct, self.matrices.len())?;
        for matrix in &self.matrices {
            lowered = matrix.apply(&self.ev, &lowered, keys)?;
        }
        self.to.switch(&lowered.pair, &self.coefficients, key)
    }
}

/// Switches ciphertexts of TFHE to slots: packing, then the second half of a bootstrap; knows no
/// secret.
#[derive(Debug)]
pub struct TfheToSlots<B: RingOps + LweOps = Cpu> {
    from: FromTfhe<B>,
    bootstrapper: Bootstrapper<B>,
    /// The ciphertext that becomes each coefficient.
    indices: Vec<usize>,
}

impl<B: RingOps + LweOps> TfheToSlots<B> {
    /// `ring` is that of [`BootstrapParams::ring`](crate::bootstrapping::BootstrapParams::ring), on
    /// which `bootstrapper` is.
    ///
    /// # Errors
    /// [`Error::InvalidParams`] for parameters of TFHE that cannot be packed
    /// ([`FromTfheParams::new`]); [`Error::RingMismatch`] for another ring; device errors.
    pub fn new(tfhe: &TfheParams, bootstrapper: Bootstrapper<B>, ring: &Ring<B>) -> Result<Self> {
        let params = FromTfheParams::new(tfhe, bootstrapper.params().params().rlwe())?;
        let from = FromTfhe::new(&params, ring)?;
        let slots = bootstrapper.params().slots();
        let indices = (0..slots).map(|place| bit_reverse(place, slots.ilog2())).collect();
        Ok(Self { from, bootstrapper, indices })
    }

    /// The parameters of the keys of packing.
    pub fn params(&self) -> &FromTfheParams {
        self.from.params()
    }

    /// The slots of results.
    pub fn slots(&self) -> usize {
        self.indices.len()
    }

    /// The value that a phase of one would have in a slot: q_0 over the scale of level 0. Phases
    /// are at most the inverse of that in magnitude, so that slots are at most one.
    pub fn gain(&self) -> f64 {
        let params = self.bootstrapper.params().params();
        params.rlwe().ring().q()[0] as f64 / params.levels()[0].scale
    }

    /// A ciphertext on the [`output_level`](crate::bootstrapping::BootstrapParams::output_level)
    /// whose slots are the phases times the [`gain`](Self::gain), in their order, and zeros. The
    /// noise of the phases is multiplied as well, and bootstrapping adds its own.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for more ciphertexts than [`slots`](Self::slots), mismatch of
    /// parameters, rings or key sets; device errors.
    pub fn switch(
        &self,
        samples: &LweBatch<B>,
        key: &FromTfheKey<B>,
        bootstrap_keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let (found, capacity) = (samples.count(), self.slots());
        if found > capacity {
            return Err(Error::SlotCount { found, capacity });
        }
        let packed = self.from.packed(samples, &self.indices, Place::FirstHalf, key)?;
        self.bootstrapper.coefficients_to_values(&packed, bootstrap_keys)
    }
}
