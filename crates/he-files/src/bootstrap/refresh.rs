//! Encrypted files of which little is left to compute with, as good as new.

use super::Refreshing;
use super::keys::KeyFile;
use crate::chosen::Chosen;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::Result;
use crate::io::input::Input;
use crate::io::output::Output;
use crate::note::Payload;
use crate::scheme::Scheme;
use crate::watch::{CountedWork, Stage, Steps, Watch};
use he::Device;
use he_core::wire::{SealedFrame, Wire};
use std::sync::Arc;

/// The name of the operation.
pub const NAME: &str = "refresh";

/// A file to be refreshed, with its keys.
pub struct Refresh<P: Refreshing> {
    keys: KeyFile<P>,
    reader: CipherReader<P::Scheme>,
    /// Its first ciphertexts, not yet verified, which say what is left.
    first: SealedFrame,
    payload: Payload,
    chosen: Chosen,
}

impl<P: Refreshing> Refresh<P> {
    /// Checks that the file belongs to the keys and can be refreshed, before they are loaded.
    ///
    /// # Errors
    /// It is of another scheme or key set, its content cannot be refreshed, or it has too little
    /// left; it is damaged.
    pub fn new(keys: KeyFile<P>, input: Input) -> Result<Self> {
        let mut reader = CipherReader::<P::Scheme>::new(input)?;
        keys.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
        let content = &reader.payload.content;
        keys.params.check_content(content)?;
        let payload = reader.payload.after(NAME, content.clone());
        let first = reader.frame()?;
        let header = <P::Scheme as Scheme>::header(&reader.params, first.unverified())?;
        keys.params.check_left(header.state)?;
        Ok(Self { keys, reader, first, payload, chosen: Chosen::default() })
    }

    /// The number of frames, each of which is refreshed by itself.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn frames(&self) -> Result<usize> {
        let slots = <P::Scheme as Scheme>::slots(&self.reader.params);
        Ok(self.payload.content.batches(slots)?.count())
    }

    /// Refreshes these frames alone.
    #[must_use]
    pub fn choosing(self, chosen: Chosen) -> Self {
        Self { chosen, ..self }
    }

    /// Loads the keys, and refreshes batch after batch.
    ///
    /// # Errors
    /// A file is damaged; the output cannot be written; the device fails.
    pub fn evaluate(self, device: Device, watch: &Arc<dyn Watch>, output: Output) -> Result<Written> {
        let Self { keys, mut reader, first, payload, chosen } = self;
        let boot = keys.params.clone();
        let steps = Steps::new(watch);
        let device = device.overseen(Arc::clone(&steps) as _);
        let (params, ring) = (boot.programs(), boot.circuit().ring(device)?);
        let bootstrapper = boot.bootstrapper(&ring)?;
        let payload = Payload { content: P::refreshed(&bootstrapper, payload.content), ..payload };
        let mut writer = CipherWriter::new::<P::Scheme>(output, params, &payload)?;
        let keys = keys.keys(&ring, &**watch)?;
        let slots = <P::Scheme as Scheme>::slots(params);
        let batches: Vec<(usize, usize)> = payload.content.batches(slots)?.collect();
        let all: u64 = batches.iter().map(|&(_, count)| count as u64).sum();
        let (decoder, mut first, mut progress) = (reader.decoder(), Some(first), None);
        for (at, (_, count)) in batches.into_iter().enumerate() {
            let frame = match first.take() {
                Some(frame) => frame,
                None => reader.frame()?,
            };
            if !chosen.has(at) {
                continue;
            }
            let ct = decoder.decode(&ring, frame, count)?;
            if progress.is_none() {
                // A batch takes as much longer as it has ciphertexts.
                let total = boot.work(&ct)? / count as u64 * all;
                progress = Some(steps.begin(Stage::Computing, total));
            }
            writer.send(boot.refresh(&bootstrapper, ct, &keys)?.to_frame(params)?.seal())?;
        }
        reader.end()?;
        progress.into_iter().for_each(CountedWork::finish);
        writer.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Taken;
    use crate::scheme::engine::Engine;
    use he_core::bfv::Bfv;
    use he_core::bgv::Bgv;
    use he_core::bootstrapping::{BootstrapKeys, BootstrapParams};
    use he_core::exact;
    use he_core::ring::Ring;
    use he_core::{Error, Overseer};
    use rand::{SeedableRng, rngs::ChaCha20Rng};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    /// The work, how often it was told of, and whether it goes on.
    #[derive(Default)]
    struct Told(AtomicU64, AtomicU64, AtomicBool);

    impl Overseer for Told {
        fn goes_on(&self) -> bool {
            !self.2.load(Ordering::Relaxed)
        }

        fn worked(&self, work: u64) {
            self.0.fetch_add(work, Ordering::Relaxed);
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    type CiphertextOf<P> = <<P as Refreshing>::Scheme as Scheme>::Ciphertext;

    /// The work of a refresh of a batch is what a device tells of, in many parts, and a refresh
    /// that is ended says so. `spent` makes ciphertexts that need one of fresh ones.
    fn foreseen<P: Refreshing>(
        vectors: &[Vec<<P::Scheme as Scheme>::Slot>],
        spent: impl Fn(&P, &Ring<Device>, CiphertextOf<P>) -> CiphertextOf<P>,
    ) {
        let (toy, mut rng) = (P::toy().unwrap(), ChaCha20Rng::seed_from_u64(1));
        let (told, params) = (Arc::new(Told::default()), toy.programs());
        let ring = toy.circuit().ring(Device::cpu().overseen(Arc::clone(&told) as _)).unwrap();
        let secret = <P::Scheme as Scheme>::secret(params, &mut rng);
        let keys = BootstrapKeys::generate(&secret, toy.circuit(), &ring, &mut rng).unwrap();
        let engine = Engine::<P::Scheme>::new(params, Device::cpu()).unwrap();
        let slots = <P::Scheme as Scheme>::slots(params);
        let encrypt = <P::Scheme as Scheme>::secret_encryptor(&engine, &secret).unwrap();
        let ct = || {
            let frame = encrypt(vectors, slots, &mut ChaCha20Rng::seed_from_u64(2)).unwrap();
            spent(toy, &ring, <P::Scheme as Scheme>::decode(params, &ring, &frame).unwrap())
        };
        let bootstrapper = toy.bootstrapper(&ring).unwrap();
        let (first, second) = (ct(), ct());
        told.0.store(0, Ordering::Relaxed);
        told.1.store(0, Ordering::Relaxed);
        let work = toy.work(&first).unwrap();
        assert_eq!(told.0.load(Ordering::Relaxed), 0);
        toy.refresh(&bootstrapper, first, &keys).unwrap();
        assert_eq!(told.0.load(Ordering::Relaxed), work);
        let times = told.1.load(Ordering::Relaxed);
        assert!(times > 20 && work.is_multiple_of(vectors.len() as u64), "{work} in {times} parts");
        told.2.store(true, Ordering::Relaxed);
        assert!(matches!(toy.refresh(&bootstrapper, second, &keys), Err(Error::Cancelled)));
    }

    /// The lowest level that leaves enough for a refresh.
    fn lowest<E: Taken>(
        toy: &exact::bootstrapping::BootstrapParams<E>,
        ring: &Ring<Device>,
        ct: exact::Ciphertext<E, Device>,
    ) -> exact::Ciphertext<E, Device> {
        let ev = exact::Evaluator::new(toy.params(), ring).unwrap();
        let levels = (0..=ct.level()).filter_map(|level| ev.mod_switch_to(&ct, level).ok());
        let enough =
            |ct: &exact::Ciphertext<E, Device>| ct.predicted_budget(toy.params()) >= toy.needed_budget();
        levels.into_iter().find(enough).unwrap()
    }

    #[test]
    fn the_work_of_a_refresh_is_foreseen() {
        foreseen::<BootstrapParams>(&[vec![0.5.into()], vec![0.25.into()]], |_, _, ct| ct);
        foreseen::<exact::bootstrapping::BootstrapParams<Bfv>>(&[vec![1], vec![2], vec![3]], lowest);
        foreseen::<exact::bootstrapping::BootstrapParams<Bgv>>(&[vec![5]], lowest);
    }
}
