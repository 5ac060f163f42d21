//! AES: every mode by length.

use super::measure::{Id, Lab, Lazy, Place, slug};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use aes_gpu::{AesGpu, AesStream, DeviceData};
use he_core::aes::{self, AesError, Bulk, BulkCipher, Direction, GcmChunks, Key, XtsKey};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use he_cuda::gpu::Pinned;
use std::cell::RefCell;

const COUNTER: [u8; 16] = [7; 16];
const NONCE: [u8; 12] = [7; 12];

/// The modes that are measured, with keys of 128 and 256 bits.
#[derive(Clone, Copy)]
enum Mode {
    Ecb(Direction),
    Ctr,
    /// One message, or chunks of some bytes.
    Gcm(Option<usize>),
    /// Data units of some bytes.
    Xts(usize),
}

const MODES: [(&str, Mode); 7] = [
    ("ECB", Mode::Ecb(Direction::Encrypt)),
    ("ECB, decryption", Mode::Ecb(Direction::Decrypt)),
    ("CTR", Mode::Ctr),
    ("GCM", Mode::Gcm(None)),
    ("GCM, chunks of 64 KiB", Mode::Gcm(Some(64 << 10))),
    ("XTS", Mode::Xts(512)),
    ("XTS, units of 4 KiB", Mode::Xts(4 << 10)),
];

fn key(bits: usize) -> Result<Key, AesError> {
    Key::from_slice(&b"a key of thirty-two bytes, to be"[..bits / 8])
}

fn xts_key(bits: usize) -> Result<XtsKey, AesError> {
    XtsKey::new(key(bits)?, Key::from_slice(&b"another key of thirty-two bytes."[..bits / 8])?)
}

/// The nonces of the chunks of some data.
fn nonces(chunk: usize, len: usize) -> Vec<[u8; 12]> {
    let nonce = |i: usize| std::array::from_fn(|j| if j < 4 { (i >> (8 * j)) as u8 } else { NONCE[j] });
    (0..len.div_ceil(chunk)).map(nonce).collect()
}

impl Mode {
    /// Encrypts data of the host.
    fn encrypt(self, cipher: &dyn BulkCipher, bits: usize, data: &mut [u8]) -> Result<(), AesError> {
        let (key, len, data) = (key(bits)?, data.len(), Bulk::in_place(data));
        match self {
            Self::Ecb(direction) => cipher.hazmat_ecb(&key, direction, data),
            Self::Ctr => cipher.hazmat_ctr(&key, &COUNTER, data),
            Self::Gcm(None) => cipher.gcm_seal(&key, &NONCE, &[], data).map(drop),
            Self::Gcm(Some(chunk)) => {
                let nonces = nonces(chunk.min(len), len);
                let chunks = GcmChunks::new(chunk.min(len), &nonces, &[])?;
                cipher.gcm_seal_chunks(&key, chunks, data, &mut vec![[0; 16]; nonces.len()])
            }
            Self::Xts(unit) => cipher.xts(&xts_key(bits)?, 0, unit.min(len), Direction::Encrypt, data),
        }
    }

    /// Encrypts data of page-locked memory, which the GPU does for whole messages.
    fn encrypt_pinned(
        self,
        cipher: &AesGpu,
        bits: usize,
        from: &Pinned,
        to: &mut Pinned,
        len: usize,
    ) -> Result<()> {
        let key = key(bits)?;
        match self {
            Self::Ecb(direction) => cipher.hazmat_ecb_pinned(&key, direction, from, to, len)?,
            Self::Ctr => cipher.hazmat_ctr_pinned(&key, &COUNTER, from, to, len)?,
            Self::Gcm(_) => drop(cipher.gcm_seal_pinned(&key, &NONCE, &[], from, to, len)?),
            Self::Xts(unit) => {
                let unit = unit.min(len);
                cipher.xts_pinned(&xts_key(bits)?, 0, unit, Direction::Encrypt, from, to, len)?;
            }
        }
        Ok(())
    }

    /// The seconds to encrypt data that are on the device.
    fn on_device(self, lab: &Lab, id: &Id, cuda: &Cuda, bits: usize, len: usize) -> Result<Value> {
        let stream = AesStream::from_stream(cuda.stream().clone())?;
        let buffer = Lazy::new(|| Ok(RefCell::new(cuda.zeros(len.div_ceil(8))?)));
        let key = key(bits)?;
        macro_rules! time {
            ($data:ident => $call:expr) => {
                lab.time(id, cuda, || -> Result<()> {
                    let mut buffer = buffer.get()?.borrow_mut();
                    let $data = DeviceData::InPlace(&mut buffer);
                    Ok($call.map(drop)?)
                })
            };
        }
        match self {
            Self::Ecb(direction) => {
                let key = stream.key(&key)?;
                time!(data => stream.hazmat_ecb(&key, direction, data, len))
            }
            Self::Ctr => {
                let key = stream.key(&key)?;
                time!(data => stream.hazmat_ctr(&key, &COUNTER, data, len))
            }
            Self::Gcm(chunk) => {
                let key = stream.gcm_key(&key)?;
                let chunk = chunk.unwrap_or(len).min(len);
                let nonces = nonces(chunk, len);
                let chunks = GcmChunks::new(chunk, &nonces, &[])?;
                time!(data => stream.gcm_seal_chunks(&key, chunks, data, len))
            }
            Self::Xts(unit) => {
                let keys = stream.xts_key(&xts_key(bits)?)?;
                time!(data => stream.xts(&keys, 0, unit.min(len), Direction::Encrypt, data, len))
            }
        }
    }
}

/// Lengths of keys.
const KEYS: [usize; 2] = [128, 256];

fn table_id(mode: &str, bits: usize) -> String {
    slug(&format!("aes {mode} {bits}"))
}

/// The names of the tables.
pub fn names() -> Vec<String> {
    KEYS.into_iter().flat_map(|bits| MODES.map(|(name, _)| table_id(name, bits))).collect()
}

/// Makes one table per mode and key size.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let sizes: &[usize] = if lab.quick {
        &[1 << 10, 1 << 16]
    } else {
        &[1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 23, 1 << 26, 1 << 28]
    };
    let gpu =
        lab.gpu.as_ref().map(|place| AesGpu::on(std::slice::from_ref(place.backend.gpu()))).transpose()?;
    for bits in KEYS {
        for (name, mode) in MODES {
            lab.announce(&format!("AES-{bits}-{name}"));
            let table_id = table_id(name, bits);
            let title = format!("AES-{bits}-{name}");
            let mut table = Table::new(&*table_id, title, "bytes", Unit::GigabytesPerSecond)
                .along(sizes.iter().map(|len| (len.to_string(), *len as f64)));
            let rates = |of: &dyn Fn(usize) -> Result<Value>| -> Result<Vec<(Value, usize)>> {
                sizes.iter().map(|&len| Ok((of(len)?, len))).collect()
            };
            let host = |column: &str, place: &Place<Cpu>, cipher: &dyn BulkCipher, len: usize| {
                let id = Id::new(&table_id, column, len);
                place.on(|| {
                    let data = Lazy::new(|| Ok(RefCell::new(vec![0x5a; len])));
                    let encrypt =
                        || -> Result<()> { Ok(mode.encrypt(cipher, bits, &mut data.get()?.borrow_mut())?) };
                    lab.time(&id, &place.backend, encrypt)
                })
            };
            for place in lab.cpus() {
                table.measured_rates(
                    &place.name,
                    rates(&|len| host(&place.name, place, &aes::Cpu::new(), len))?,
                );
            }
            if let (Some(place), Some(gpu)) = (&lab.gpu, &gpu) {
                let (copies, locked) = (place.with_copies(), format!("{}, page-locked", place.with_copies()));
                table.measured_rates(&copies, rates(&|len| host(&copies, &lab.threads, gpu, len))?);
                let pinned = |len: usize| {
                    let memory = || Ok(place.backend.gpu().pinned(len.div_ceil(8))?);
                    let (from, to) = (Lazy::new(memory), Lazy::new(|| Ok(RefCell::new(memory()?))));
                    let encrypt = || -> Result<()> {
                        let mut to = to.get()?.borrow_mut();
                        mode.encrypt_pinned(gpu, bits, from.get()?, &mut to, len)
                    };
                    lab.time(&Id::new(&table_id, &locked, len), &lab.threads.backend, encrypt)
                };
                if !matches!(mode, Mode::Gcm(Some(_))) {
                    table.measured_rates(&locked, rates(&pinned)?);
                }
                let device = |len| {
                    let id = Id::new(&table_id, &place.name, len);
                    place.on(|| mode.on_device(lab, &id, &place.backend, bits, len))
                };
                table.measured_rates(&place.name, rates(&device)?);
            }
            show(table)?;
        }
    }
    Ok(())
}
