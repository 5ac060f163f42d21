//! The refreshes of an inference: none, or those of a bootstrapper with its keys.

use super::ModelFile;
use crate::bootstrap::keys::KeyFile as BootstrapFile;
use crate::cipher_file::CipherReader;
use crate::error::{ModelError, Result};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use crate::watch::Watch;
use he::Device;
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::circuits::ckks::NeverRefresh;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_nn::program::Made;
use he_nn::{AnyPrepared, CompiledModel, Mask};

/// The refreshes of a model on a device; none by default.
#[derive(Default)]
pub struct Refreshes(Option<(Bootstrapper<Device>, BootstrapKeys<Device>)>);

impl Refreshes {
    /// Loads the keys, if the model has a use for them; `of` is the file of the examples.
    ///
    /// # Errors
    /// [`ModelError::NoBootstrapKey`]; keys of another set; a damaged file; device errors.
    pub fn load(
        model: &ModelFile,
        keys: Option<BootstrapFile>,
        of: &CipherReader<Ckks>,
        engine: &Engine<Ckks>,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let Some(params) = model.bootstrapping() else { return Ok(Self(None)) };
        let file = keys.ok_or_else(|| ModelError::NoBootstrapKey { model: model.name.clone() })?;
        let file = file.ckks(&of.name)?;
        file.check_owner(&of.params, &of.payload.key_id, &of.name)?;
        let bootstrapper = Bootstrapper::new(params, &engine.ring)?;
        Ok(Self(Some((bootstrapper, file.keys(&engine.ring, watch)?))))
    }

    /// Runs an inference, whose steps `made` sees.
    ///
    /// # Errors
    /// The errors of [`AnyPrepared::infer_recorded`].
    pub fn infer(
        &self,
        model: &AnyPrepared<'_, Device>,
        ev: &Evaluator<Device>,
        inputs: &[Ciphertext<Device>],
        masks: &[Mask],
        keys: &EvaluationKeys<Device>,
        made: &mut dyn FnMut(Made<'_, Device>) -> he_nn::Result<()>,
    ) -> he_nn::Result<Vec<Ciphertext<Device>>> {
        match &self.0 {
            None => model.infer_recorded(ev, inputs, masks, keys, &NeverRefresh, made),
            Some((bootstrapper, own)) => {
                model.infer_recorded(ev, inputs, masks, keys, &bootstrapper.with_keys(own), made)
            }
        }
    }

    /// Takes one step of the model's program by itself.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::recompute`].
    pub fn recompute(
        &self,
        model: &CompiledModel,
        ev: &Evaluator<Device>,
        step: usize,
        values: &[Vec<Ciphertext<Device>>],
        keys: &EvaluationKeys<Device>,
    ) -> Result<Vec<Ciphertext<Device>>> {
        Ok(match &self.0 {
            None => model.recompute(ev, step, values, keys, &NeverRefresh)?,
            Some((bootstrapper, own)) => {
                model.recompute(ev, step, values, keys, &bootstrapper.with_keys(own))?
            }
        })
    }
}
