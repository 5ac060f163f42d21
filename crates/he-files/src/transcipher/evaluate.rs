//! From sensor files to files of TFHE, by whoever has evaluation keys and the encrypted sensor key.

use super::stream::SensorFile;
use crate::cipher_file::Written;
use crate::error::Result;
use crate::io::output::Output;
use crate::note::Payload;
use crate::scheme::OfKeySet;
use crate::tfhe::file::{Column, Writer};
use crate::tfhe::keys::KeyFile;
use crate::tfhe::note::ColumnsNote;
use crate::watch::{Stage, Steps, Watch};
use he::Device;
use he_core::aes::BLOCK;
use he_core::backend::Tally;
use he_core::tfhe::{CircuitBootstrapper, EncryptedUint, LweOps};
use he_core::transcipher::{BLOCKS, EncryptedAesKey, Transcipher};
use std::sync::Arc;

/// The entry in the history of the result.
pub const NAME: &str = "transcipher";
/// The blocks that the CPU works on at once: few, so that progress is seen. Most of what blocks
/// have in common, few of them have in common as well.
const CPU_BLOCKS: usize = 4;

/// The blocks that a device works on at once.
pub fn blocks_at_once(device: &Device) -> usize {
    if device.is_cpu() { CPU_BLOCKS } else { BLOCKS }
}

/// Numbers of consecutive pieces of what AES-CTR encrypted.
pub struct Numbers<'a, B: LweOps = Device> {
    boot: &'a CircuitBootstrapper<B>,
    transcipher: Transcipher<'a, B>,
    counter: u128,
    width: usize,
}

impl<'a, B: LweOps> Numbers<'a, B> {
    /// From the first counter block on; the numbers have `width` bits.
    ///
    /// # Errors
    /// The keys are of other parameters or of different key sets; the device fails.
    pub fn new(
        boot: &'a CircuitBootstrapper<B>,
        key: &EncryptedAesKey,
        counter: &[u8; BLOCK],
        width: usize,
    ) -> he_core::Result<Self> {
        let transcipher = Transcipher::new(boot, key)?;
        Ok(Self { boot, transcipher, counter: u128::from_be_bytes(*counter), width })
    }

    /// Evaluates the numbers of the next piece: whole numbers, and whole blocks unless it is the
    /// last piece.
    ///
    /// # Errors
    /// The device fails.
    pub fn next(&mut self, piece: &[u8]) -> he_core::Result<EncryptedUint<B>> {
        let bits = self.transcipher.decrypt(&self.counter.to_be_bytes(), piece)?;
        self.counter = self.counter.wrapping_add(piece.len().div_ceil(BLOCK) as u128);
        bits.integers(self.boot.bootstrapper(), self.width)
    }
}

/// A sensor file and the keys that were found to fit it.
pub struct Transciphering {
    evaluation: KeyFile,
    sensor: KeyFile,
    file: SensorFile,
    payload: Payload<ColumnsNote>,
}

impl Transciphering {
    /// Checks that file and keys belong together, and that the result fits a file.
    ///
    /// # Errors
    /// `evaluation` is not an evaluation key that transciphers, or `sensor` not an encrypted sensor
    /// key of the same key set; the file is encrypted under another sensor key, or has more rows
    /// than fit.
    pub fn new(evaluation: KeyFile, sensor: KeyFile, file: SensorFile) -> Result<Self> {
        evaluation.transciphering()?;
        let (_, id) = sensor.sensor()?;
        evaluation.check_owner(&sensor.params, &sensor.id, &sensor.name)?;
        file.check_sensor(id, &sensor.name)?;
        let content = file.header.content.clone();
        content.check_size(&evaluation.params)?;
        let payload = Payload { key_id: evaluation.id.clone(), history: vec![NAME.to_owned()], content };
        Ok(Self { evaluation, sensor, file, payload })
    }

    /// The content of the result.
    pub fn content(&self) -> &ColumnsNote {
        &self.payload.content
    }

    /// The lookups that the whole file takes in pieces of `size` bytes.
    fn lookups(&self, size: usize) -> Result<u64> {
        let (key, circuit) = self.evaluation.transciphering()?;
        let (sensor, _) = self.sensor.sensor()?;
        let header = &self.file.header;
        let tally = Tally::default();
        let boot = CircuitBootstrapper::new(&tally, key, circuit)?;
        let mut numbers = Numbers::new(&boot, sensor, &header.counter, header.content.width as usize)?;
        let first = tally.lookups();
        let mut of_piece = |bytes: u64| -> Result<u64> {
            let before = tally.lookups();
            if bytes > 0 {
                numbers.next(&vec![0; bytes as usize])?;
            }
            Ok(tally.lookups() - before)
        };
        let (whole, rest) = (header.data_len() / size as u64, header.data_len() % size as u64);
        let of_whole = if whole > 0 { of_piece(size as u64)? } else { 0 };
        Ok(first + of_whole.saturating_mul(whole) + of_piece(rest)?)
    }

    /// Writes the file of TFHE: column by column, each in batches of blocks.
    ///
    /// # Errors
    /// The sensor file is truncated, or goes on after its end; the output cannot be written; the
    /// device fails.
    pub fn write(mut self, device: &Device, output: Output, watch: &Arc<dyn Watch>) -> Result<Written> {
        let (key, circuit) = self.evaluation.transciphering()?;
        let (sensor, _) = self.sensor.sensor()?;
        let header = self.file.header.clone();
        let (rows, width) = (header.content.rows as usize, header.content.width as usize);
        let mut writer = Writer::new(output, &self.evaluation.params, &self.payload)?;
        let size = blocks_at_once(device) * BLOCK;
        // A block may take seconds: the steps are the lookups of all of them, which are equal.
        let steps = Steps::new(watch);
        let progress = steps.begin(Stage::Computing, self.lookups(size)?);
        let boot = CircuitBootstrapper::new(&device.overseen(Arc::clone(&steps) as _), key, circuit)?;
        let mut numbers = Numbers::new(&boot, sensor, &header.counter, width)?;
        // Numbers of the next column, which has as many rows as it needs when it is written.
        let (mut parts, mut held) = (Vec::new(), 0);
        loop {
            let piece = self.file.piece(size)?;
            if piece.is_empty() {
                break;
            }
            let found = numbers.next(&piece)?.of(&self.payload.key_id);
            let mut at = 0;
            while at < found.batch() {
                let end = found.batch().min(at + rows - held);
                parts.push(found.part(at..end)?);
                (held, at) = (held + end - at, end);
                if held == rows {
                    let column = EncryptedUint::concat(&parts.iter().collect::<Vec<_>>())?;
                    (parts, held) = (Vec::new(), 0);
                    writer.column(&Column::Integers(column))?;
                }
            }
        }
        progress.finish();
        writer.commit()
    }
}
