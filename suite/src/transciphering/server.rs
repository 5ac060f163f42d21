//! The server: it has the message under AES and the AES key under TFHE.

use super::instance::Instance;
use super::message::{BLOCK, Message, NUMBER};
use super::task::Task;
use crate::device::device;
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::progress::Progress;
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::tfhe::{
    BootstrapKey, Carry, CircuitBootstrapper, CircuitKey, Combination, EncryptedUint, IntegerEvaluator,
    UnpaddedBits,
};
use he::transcipher::{BLOCKS, EncryptedAesKey, Transcipher};
use he::wire::{FrameKind, Wire as _, WireParams as _};

/// The bits of a number.
const BITS: usize = 8 * NUMBER;
/// The ciphertexts of a frame at most: two bits each, of the numbers of as many blocks as are
/// decrypted at once.
pub(super) const CIPHERTEXTS: usize = BLOCKS * BLOCK * 8 / 2;
/// The blocks that the CPU works on at once: few, so that progress is seen.
const CPU_BLOCKS: usize = 4;

/// Keys on the device.
pub(super) struct Server<'i> {
    instance: &'i Instance,
    boot: CircuitBootstrapper<Device>,
    evaluator: IntegerEvaluator<Device>,
    key: EncryptedAesKey,
}

impl<'i> Server<'i> {
    /// Loads the keys of the client.
    pub(super) fn new(instance: &'i Instance) -> Result<Self, Error> {
        let (folders, params, device) = (&instance.folders, &instance.params, device()?);
        let mut keys = Reader::open(&folders.evaluation(), params)?;
        let boot: BootstrapKey = next(&mut keys, instance, FrameKind::TfheBootstrapKey)?;
        let circuit: CircuitKey = next(&mut keys, instance, FrameKind::TfheCircuitKey)?;
        keys.end()?;
        let mut keys = Reader::open(&folders.aes_key(), params)?;
        let key = next(&mut keys, instance, FrameKind::EncryptedAesKey)?;
        keys.end()?;
        let evaluator = IntegerEvaluator::new(&device, &boot, Carry::default())?;
        let boot = CircuitBootstrapper::new(&device, &boot, &circuit)?;
        device.synchronize()?;
        Ok(Self { instance, boot, evaluator, key })
    }

    fn device(&self) -> &Device {
        self.evaluator.backend()
    }

    /// Decrypts the message from AES into numbers under TFHE, and writes the times of the steps.
    pub(super) fn decrypt(&self) -> Result<(), Error> {
        let Instance { folders, params, .. } = self.instance;
        let message = Message::read(self.instance)?;
        let transcipher = Transcipher::new(&self.boot, &self.key)?;
        let mut writer = Writer::create(&folders.numbers(), params)?;
        let (mut report, mut done) = (Report::default(), 0);
        let mut progress = Progress::new("decrypted blocks", (message.bytes.len() / BLOCK) as u64);
        let blocks = if self.device().is_cpu() { CPU_BLOCKS } else { BLOCKS };
        for piece in message.bytes.chunks(blocks * BLOCK) {
            let decrypted = || self.numbers(&transcipher, message.counter, done, piece);
            let numbers = report.time("AES decryption", decrypted)?;
            report.time("Writing of the numbers", || writer.write(&numbers.to_frame(params)?))?;
            done += (piece.len() / BLOCK) as u128;
            progress.tell(done as u64);
        }
        report.time("Writing of the numbers", || writer.finish())?;
        report.write(&folders.io())
    }

    /// The numbers of whole blocks, before which there are `before` others.
    fn numbers(
        &self,
        transcipher: &Transcipher<'_, Device>,
        counter: Option<[u8; BLOCK]>,
        before: u128,
        blocks: &[u8],
    ) -> Result<EncryptedUint<Device>, Error> {
        let bits = match counter {
            Some(counter) => {
                let counter = u128::from_be_bytes(counter).wrapping_add(before);
                transcipher.decrypt(&counter.to_be_bytes(), blocks)?
            }
            None => transcipher.decrypt_blocks(blocks.as_chunks().0)?,
        };
        let numbers = self.lowest_first(&bits)?.integers(self.boot.bootstrapper(), BITS)?;
        self.device().synchronize()?;
        Ok(numbers)
    }

    /// The bits of big-endian numbers, with the lowest byte of each in front.
    fn lowest_first(&self, bits: &UnpaddedBits<Device>) -> Result<UnpaddedBits<Device>, Error> {
        let from = |at: usize| Combination { constant: 0, terms: vec![(1, at ^ 8)] };
        let order: Vec<_> = (0..bits.count()).map(from).collect();
        let bits = self.boot.bootstrapper().combine(bits.ciphertexts(), &order)?;
        Ok(UnpaddedBits::from_ciphertexts(bits))
    }

    /// Computes on the numbers, and adds the times of the steps to those of the decryption.
    pub(super) fn compute(&self, task: Task) -> Result<(), Error> {
        let Instance { folders, params, .. } = self.instance;
        let mut report = Report::default();
        let numbers = report.time("Loading of the numbers", || self.load())?;
        let result = match task {
            Task::Maximum => report.time("Maximum", || self.maximum(numbers))?,
            Task::InnerProduct => report.time("Inner product", || self.inner_product(&numbers))?,
        };
        let mut writer = Writer::create(&folders.result(), params)?;
        writer.write(&result.to_frame(params)?)?;
        writer.finish()?;
        report.extend(&folders.io())
    }

    /// All numbers that were decrypted.
    fn load(&self) -> Result<EncryptedUint<Device>, Error> {
        let Instance { folders, params, .. } = self.instance;
        let mut reader = Reader::open(&folders.numbers(), params)?;
        let (mut parts, mut count) = (Vec::new(), 0);
        let most = params.ciphertext_frame_limit(CIPHERTEXTS);
        while let Some(frame) = reader.next(FrameKind::TfheUint, most)? {
            let part = EncryptedUint::from_frame(params, self.device(), &frame).at(reader.path())?;
            count += part.batch();
            if part.bits() != BITS || count > self.instance.numbers() {
                return Err(
                    reader.count(format!("{count} numbers of {} bits", part.bits()), "those of the size")
                );
            }
            parts.push(part);
        }
        if count < 2 || !count.is_multiple_of(2) {
            return Err(reader.count(format!("{count} numbers"), "two halves"));
        }
        Ok(EncryptedUint::concat(&parts.iter().collect::<Vec<_>>())?)
    }

    /// The greatest of all numbers, by rounds that compare one half with the other.
    fn maximum(&self, mut numbers: EncryptedUint<Device>) -> Result<EncryptedUint<Device>, Error> {
        while numbers.batch() > 1 {
            let (count, half) = (numbers.batch(), numbers.batch() / 2);
            let greater = self.evaluator.max(&numbers.part(0..half)?, &numbers.part(half..2 * half)?)?;
            numbers = EncryptedUint::concat(&[&greater, &numbers.part(2 * half..count)?])?;
        }
        self.device().synchronize()?;
        Ok(numbers)
    }

    /// The inner product of both halves modulo 2^16.
    fn inner_product(&self, numbers: &EncryptedUint<Device>) -> Result<EncryptedUint<Device>, Error> {
        let (count, half) = (numbers.batch(), numbers.batch() / 2);
        let products = self.evaluator.mul(&numbers.part(0..half)?, &numbers.part(half..count)?)?;
        let sum = self.evaluator.sum_batch(&products)?;
        self.device().synchronize()?;
        Ok(sum)
    }
}

/// The next object of a file, which has to be a key of this kind.
fn next<T>(reader: &mut Reader, instance: &Instance, kind: FrameKind) -> Result<T, Error>
where
    T: for<'a> he::wire::Wire<he::tfhe::TfheParams, Place<'a> = ()>,
{
    let params = &instance.params;
    let frame = reader.next(kind, params.key_frame_limit(kind))?;
    let frame = frame.ok_or_else(|| reader.count("too few keys", "those of the workload"))?;
    T::from_frame(params, (), &frame).at(reader.path())
}
