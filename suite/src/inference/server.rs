//! The server: it has the network in the clear, and images and scores encrypted.

use super::instance::Instance;
use super::ring;
use crate::device::device;
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::circuits::ckks::NeverRefresh;
use he::ckks::{Ciphertext, Evaluator, SeededCiphertext};
use he::rlwe::EvaluationKeys;
use he::wire::{FrameKind, Wire as _, WireParams as _};
use he_nn::{CompiledModel, PreparedModel};

/// The network and the keys on the device.
pub(super) struct Server<'m> {
    model: &'m CompiledModel,
    prepared: PreparedModel<'m, Device>,
    keys: EvaluationKeys<Device>,
    ev: Evaluator<Device>,
}

impl<'m> Server<'m> {
    /// Loads the keys of the client, and encodes the network.
    pub(super) fn new(instance: &Instance, model: &'m CompiledModel) -> Result<Self, Error> {
        let (params, ring) = (model.parameters().params(), ring(model, device()?)?);
        let ev = Evaluator::new(params, &ring)?;
        let keys = instance.folders.keys().evaluation(params, &ring, model.facts()?.key_bytes)?;
        let prepared = model.prepare(&ev)?;
        ring.backend().synchronize()?;
        Ok(Self { model, prepared, keys, ev })
    }

    /// Computes the scores of all images, and writes the times of the steps.
    pub(super) fn answer(&self, instance: &Instance) -> Result<(), Error> {
        let (folders, params, mut report) = (&instance.folders, self.ev.params(), Report::default());
        let images = report.time("Loading of the images", || self.images(instance))?;
        let scores = report.time("Encrypted inference", || self.scores(&images))?;
        report.time("Writing of the scores", || {
            let mut writer = Writer::create(&folders.scores(), params)?;
            scores.iter().try_for_each(|ct| writer.write(&ct.to_frame(params)?))?;
            writer.finish()
        })?;
        report.write(&folders.io())
    }

    /// The ciphertexts of all images.
    fn images(&self, instance: &Instance) -> Result<Vec<Ciphertext<Device>>, Error> {
        let (params, needed) = (self.ev.params(), self.model.ciphertexts());
        let most = params.ciphertext_frame_limit(instance.images().div_ceil(self.model.examples()));
        let mut reader = Reader::open(&instance.folders.images(), params)?;
        let mut images = Vec::with_capacity(needed);
        while let Some(frame) = reader.next(FrameKind::CkksSeededCiphertext, most)? {
            if images.len() == needed {
                return Err(reader.count("too many ciphertexts", needed));
            }
            let ct = SeededCiphertext::from_frame(params, self.ev.ring(), &frame).at(reader.path())?;
            images.push(ct.expand()?);
        }
        self.ev.ring().backend().synchronize()?;
        Ok(images)
    }

    fn scores(&self, images: &[Ciphertext<Device>]) -> Result<Vec<Ciphertext<Device>>, Error> {
        let scores = self.prepared.infer(&self.ev, images, &self.keys, &NeverRefresh)?;
        self.ev.ring().backend().synchronize()?;
        Ok(scores)
    }
}
