//! Encrypted files of which little is left to compute with, as good as new.

use super::Refreshing;
use super::keys::KeyFile;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::Result;
use crate::io::input::Input;
use crate::io::output::Output;
use crate::note::Payload;
use crate::scheme::Scheme;
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::wire::{SealedFrame, Wire};

/// The name of the operation.
pub const NAME: &str = "refresh";

/// A file to be refreshed, with its keys.
pub struct Refresh<P: Refreshing> {
    keys: KeyFile<P>,
    reader: CipherReader<P::Scheme>,
    /// Its first ciphertexts, not yet verified, which say what is left.
    first: SealedFrame,
    payload: Payload,
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
        Ok(Self { keys, reader, first, payload })
    }

    /// Loads the keys, and refreshes batch after batch.
    ///
    /// # Errors
    /// A file is damaged; the output cannot be written; the device fails.
    pub fn evaluate(self, device: Device, watch: &dyn Watch, output: Output) -> Result<Written> {
        let Self { keys, mut reader, first, payload } = self;
        let boot = keys.params.clone();
        let (params, ring) = (boot.programs(), boot.circuit().ring(device)?);
        let bootstrapper = boot.bootstrapper(&ring)?;
        let payload = Payload { content: P::refreshed(&bootstrapper, payload.content), ..payload };
        let mut writer = CipherWriter::new::<P::Scheme>(output, params, &payload)?;
        let keys = keys.keys(&ring, watch)?;
        let slots = <P::Scheme as Scheme>::slots(params);
        let batches: Vec<(usize, usize)> = payload.content.batches(slots)?.collect();
        let progress = Meter::new(watch, Stage::Computing, batches.len() as u64);
        let (decoder, mut first) = (reader.decoder(), Some(first));
        for (_, count) in batches {
            let frame = match first.take() {
                Some(frame) => frame,
                None => reader.frame()?,
            };
            let ct = decoder.decode(&ring, frame, count)?;
            writer.send(boot.refresh(&bootstrapper, ct, &keys)?.to_frame(params)?.seal())?;
            progress.inc(1);
        }
        reader.end()?;
        progress.finish();
        writer.commit()
    }
}
