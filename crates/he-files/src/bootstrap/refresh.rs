//! Encrypted files whose levels are used up, with new ones.

use super::keys::KeyFile;
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::{ContentError, Result};
use crate::io::output::Output;
use crate::note::{Content, Payload};
use crate::scheme::{Ckks, Scheme, State};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::Error as Core;
use he_core::bootstrapping::{BootstrapParams, Bootstrapper};
use he_core::ckks::Ciphertext;
use he_core::wire::{SealedFrame, Wire};

/// The name of the operation.
pub const NAME: &str = "refresh";

/// The greatest magnitude that is refreshed: one, and what rounding adds to bounds.
const GREATEST: f64 = 1.0 + 1e-9;

/// A file to be refreshed, with its keys.
pub struct Refresh {
    keys: KeyFile,
    reader: CipherReader<Ckks>,
    /// Its first ciphertexts, not yet verified, which say what is left.
    first: SealedFrame,
    payload: Payload,
}

impl Refresh {
    /// Checks that the file belongs to the keys and can be refreshed, before they are loaded.
    ///
    /// # Errors
    /// It is of another key set; its numbers may exceed one, its vectors have too many slots, or it
    /// has too few levels left; it is damaged.
    pub fn new(keys: KeyFile, mut reader: CipherReader<Ckks>) -> Result<Self> {
        keys.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
        let (content, full) = (&reader.payload.content, Ckks::slots(&reader.params));
        let (found, most) = (content.slots(full), keys.params.slots());
        if found > most {
            return Err(ContentError::RefreshSlots { found, most }.into());
        }
        let parts = content.batches(full)?.map(|(part, _)| bound(content, part));
        let greatest = parts.fold(0.0, f64::max);
        if greatest > GREATEST {
            return Err(ContentError::RefreshRange { bound: greatest }.into());
        }
        let payload = reader.payload.after(NAME, content.clone());
        let first = reader.frame()?;
        let (needed, params) = (keys.params.input_level(), &reader.params);
        if let State::Level { level: left, .. } = Ckks::header(params, first.unverified())?.state
            && left < needed
        {
            return Err(Core::LevelExhausted { needed, left }.into());
        }
        Ok(Self { keys, reader, first, payload })
    }

    /// Loads the keys, and refreshes batch after batch.
    ///
    /// # Errors
    /// A file is damaged; the output cannot be written; the device fails.
    pub fn evaluate(self, device: Device, watch: &dyn Watch, output: Output) -> Result<Written> {
        let Self { keys, mut reader, first, mut payload } = self;
        let params = keys.params.clone();
        let ring = params.ring(device)?;
        let bootstrapper = Bootstrapper::new(&params, &ring)?;
        lower_precision(&mut payload.content, precision_bits(&bootstrapper));
        let mut writer = CipherWriter::new::<Ckks>(output, params.params(), &payload)?;
        let keys = keys.keys(&ring, watch)?;
        let batches: Vec<(usize, usize)> = payload.content.batches(params.params().slots())?.collect();
        let progress = Meter::new(watch, Stage::Computing, batches.len() as u64);
        let (decoder, mut first) = (reader.decoder(), Some(first));
        for (_, count) in batches {
            let frame = match first.take() {
                Some(frame) => frame,
                None => reader.frame()?,
            };
            let ct = decoder.decode(&ring, frame, count)?;
            let slots = ct.slots();
            let fresh = bootstrapper.refresh(&with_slots(&params, ct, params.slots())?, &keys)?;
            writer.send(with_slots(&params, fresh, slots)?.to_frame(params.params())?.seal())?;
            progress.inc(1);
        }
        reader.end()?;
        progress.finish();
        writer.commit()
    }
}

/// A bound on the magnitude of the numbers of a part, in the real as in the imaginary parts of
/// slots.
fn bound(content: &Content, part: usize) -> f64 {
    match content {
        Content::Image(note) => note.low.abs().max(note.high.abs()),
        content => content.bound(part),
    }
}

/// -log2 of six standard deviations of the error that a refresh adds to a real or imaginary part.
fn precision_bits(bootstrapper: &Bootstrapper<Device>) -> f64 {
    let params = bootstrapper.params();
    let scale = params.params().levels()[params.output_level()].scale;
    // N coefficients add up to a slot, whose real part has half of the square.
    let parts = (params.ring_spec().n() as f64 / 2.0).sqrt();
    (scale / (6.0 * parts)).log2() - bootstrapper.added_noise().rms_log2
}

/// What a table says of its precision after an error of so many bits more.
fn lower_precision(content: &mut Content, bits: f64) {
    let Content::Table(note) = content else { return };
    let lowered = |own: f64| -0.5 * ((-2.0 * own).exp2() + (-2.0 * bits).exp2()).log2();
    for column in &mut note.columns {
        column.precision_bits = column.precision_bits.map(lowered);
    }
    note.precision_bits = lowered(note.precision_bits);
}

/// The same ciphertext with another number of slots: a short vector is a long one that repeats it.
fn with_slots(params: &BootstrapParams, ct: Ciphertext<Device>, slots: usize) -> Result<Ciphertext<Device>> {
    if ct.slots() == slots {
        return Ok(ct);
    }
    let (level, scale, key_set) = (ct.level(), ct.scale(), ct.key_set());
    let mut ct = Ciphertext::from_parts(params.params(), ct.pair().duplicate()?, level, scale, slots)?;
    ct.set_key_set(key_set);
    Ok(ct)
}
