//! The server: it has the network in the clear, and images and scores encrypted.

use super::instance::Instance;
use super::ring;
use crate::device::device;
use crate::error::Error;
use crate::frames::{Reader, Writer};
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::circuits::ckks::NeverRefresh;
use he::ckks::{Ciphertext, Evaluator, Level, SeededCiphertext};
use he::ring::{Poly, Ring, Seed, Span};
use he::rlwe::{EvaluationKeys, RlweCiphertext};
use he::wire::{Frame, FrameKind, Wire as _, WireParams as _};
use he_nn::program::Made;
use he_nn::{CompiledModel, PreparedModel};
use std::io::Read;
use std::time::{Duration, Instant};

/// The kind of the client's ciphertexts.
const KIND: FrameKind = FrameKind::CkksSeededCiphertext;

/// The rehearsals before the first query: a sequence of launches becomes a graph when it has come
/// three times.
const REHEARSALS: usize = 4;

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
        let keys = instance.folders.keys().evaluation(params, &ring, model.facts()?.key_bytes)?;
        let server = Self::with_keys(model, &ring, keys)?;
        server.rehearse(instance.images())?;
        Ok(server)
    }

    /// Encodes the network for clients with these keys.
    pub(super) fn with_keys(
        model: &'m CompiledModel,
        ring: &Ring<Device>,
        keys: EvaluationKeys<Device>,
    ) -> Result<Self, Error> {
        let ev = Evaluator::new(model.parameters().params(), ring)?;
        let prepared = model.prepare(&ev)?;
        ring.backend().synchronize()?;
        Ok(Self { model, prepared, keys, ev })
    }

    /// Computes on as many images as may come, of random numbers, so that the first query finds
    /// kernels loaded, tables and graphs made and memory pooled. A processor has none of these.
    fn rehearse(&self, images: usize) -> Result<(), Error> {
        let (params, ring) = (self.ev.params(), self.ev.ring());
        if matches!(ring.backend(), Device::Cpu(_)) {
            return Ok(());
        }
        let (level, batch) = (params.max_level(), images.div_ceil(self.model.examples()));
        let Level { primes, scale } = &params.levels()[level];
        let part = |index| Poly::uniform(ring, Span::chain(*primes), batch, &Seed([0; 32]), index);
        let image = |_| {
            let pair = RlweCiphertext::new(part(0)?, part(1)?)?;
            Ciphertext::from_parts(params, pair, level, *scale, params.slots())
        };
        let images = (0..self.model.ciphertexts()).map(image).collect::<he::Result<Vec<_>>>()?;
        (0..REHEARSALS).try_for_each(|_| self.scores(&images).map(drop))
    }

    /// Computes the scores of all images, and writes the times of the steps.
    pub(super) fn answer(&self, instance: &Instance) -> Result<(), Error> {
        let (folders, params, mut report) = (&instance.folders, self.ev.params(), Report::default());
        let images = report.time("Loading of the images", || {
            self.images(&mut Reader::open(&folders.images(), params)?, instance.images())
        })?;
        let scores = report.time("Encrypted inference", || self.scores(&images))?;
        report.time("Writing of the scores", || {
            let mut writer = Writer::create(&folders.scores(), params)?;
            scores.iter().try_for_each(|ct| writer.write(&ct.to_frame(params)?))?;
            writer.finish()
        })?;
        report.write(&folders.io())
    }

    /// The ciphertexts of at most so many images.
    pub(super) fn images(
        &self,
        reader: &mut Reader<impl Read>,
        most: usize,
    ) -> Result<Vec<Ciphertext<Device>>, Error> {
        let (params, needed) = (self.ev.params(), self.model.ciphertexts());
        let most = params.ciphertext_frame_limit(most.div_ceil(self.model.examples()));
        let decode = |frame: &Frame| SeededCiphertext::from_frame(params, self.ev.ring(), frame)?.expand();
        let images = reader.objects(KIND, most, needed, decode)?;
        if reader.next(KIND, most)?.is_some() {
            return Err(reader.count("too many ciphertexts", needed));
        }
        self.ev.ring().backend().synchronize()?;
        Ok(images)
    }

    /// The scores of the images.
    pub(super) fn scores(&self, images: &[Ciphertext<Device>]) -> Result<Vec<Ciphertext<Device>>, Error> {
        let scores = self.prepared.infer(&self.ev, images, &self.keys, &NeverRefresh)?;
        self.ev.ring().backend().synchronize()?;
        Ok(scores)
    }

    /// The time of each step of an inference, in which the device does one after the other.
    pub(super) fn steps(&self, images: &[Ciphertext<Device>]) -> Result<Vec<Duration>, Error> {
        let (mut steps, mut start) = (Vec::new(), Instant::now());
        let mut made = |_: Made<'_, Device>| {
            self.ev.ring().backend().synchronize()?;
            steps.push(start.elapsed());
            start = Instant::now();
            Ok(())
        };
        self.prepared.infer_recorded(&self.ev, images, &self.keys, &NeverRefresh, &mut made)?;
        Ok(steps)
    }
}
