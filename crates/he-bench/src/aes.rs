//! AES: every mode by length.

use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use aes_gpu::{AesGpu, AesStream, DeviceData};
use he_core::aes::{self, AesError, Bulk, BulkCipher, Direction, GcmChunks, Key, XtsKey};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;

/// The bytes of a data unit of XTS.
const UNIT: usize = 512;
const COUNTER: [u8; 16] = [7; 16];
const NONCE: [u8; 12] = [7; 12];

/// The modes that are measured, with keys of 128 and 256 bits.
#[derive(Clone, Copy)]
enum Mode {
    Ecb,
    Ctr,
    Gcm,
    Xts,
}

const MODES: [(&str, Mode); 4] =
    [("ECB", Mode::Ecb), ("CTR", Mode::Ctr), ("GCM", Mode::Gcm), ("XTS", Mode::Xts)];

fn key(bits: usize) -> Result<Key, AesError> {
    Key::from_slice(&b"a key of thirty-two bytes, to be"[..bits / 8])
}

fn xts_key(bits: usize) -> Result<XtsKey, AesError> {
    XtsKey::new(key(bits)?, Key::from_slice(&b"another key of thirty-two bytes."[..bits / 8])?)
}

impl Mode {
    /// Encrypts data of the host.
    fn encrypt(self, cipher: &dyn BulkCipher, bits: usize, data: &mut [u8]) -> Result<(), AesError> {
        let (key, data) = (key(bits)?, Bulk::in_place(data));
        match self {
            Self::Ecb => cipher.hazmat_ecb(&key, Direction::Encrypt, data),
            Self::Ctr => cipher.hazmat_ctr(&key, &COUNTER, data),
            Self::Gcm => cipher.gcm_seal(&key, &NONCE, &[], data).map(drop),
            Self::Xts => cipher.xts(&xts_key(bits)?, 0, UNIT, Direction::Encrypt, data),
        }
    }

    /// The seconds to encrypt data that are on the device.
    fn on_device(self, lab: &Lab, cuda: &Cuda, bits: usize, len: usize) -> Result<f64> {
        let stream = AesStream::from_stream(cuda.stream().clone())?;
        let mut buffer = cuda.zeros(len.div_ceil(8))?;
        let (key, encrypt) = (stream.key(&key(bits)?)?, Direction::Encrypt);
        match self {
            Self::Ecb => {
                lab.time(cuda, || stream.hazmat_ecb(&key, encrypt, DeviceData::InPlace(&mut buffer), len))
            }
            Self::Ctr => {
                lab.time(cuda, || stream.hazmat_ctr(&key, &COUNTER, DeviceData::InPlace(&mut buffer), len))
            }
            Self::Xts => {
                let keys = stream.xts_key(&xts_key(bits)?)?;
                lab.time(cuda, || stream.xts(&keys, 0, UNIT, encrypt, DeviceData::InPlace(&mut buffer), len))
            }
            Self::Gcm => {
                let key = stream.gcm_key(&self::key(bits)?)?;
                let chunks = GcmChunks::new(len, &[NONCE], &[])?;
                lab.time(cuda, || stream.gcm_seal_chunks(&key, chunks, DeviceData::InPlace(&mut buffer), len))
            }
        }
    }
}

/// Lengths of keys.
const KEYS: [usize; 2] = [128, 256];

fn table_id(mode: &str, bits: usize) -> String {
    format!("aes-{}-{bits}", mode.to_lowercase())
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
            let id = table_id(name, bits);
            let mut table = Table::new(id, format!("AES-{bits}-{name}"), "bytes", Unit::GigabytesPerSecond)
                .along(sizes.iter().map(|len| (len.to_string(), *len as f64)));
            let rates = |of: &dyn Fn(usize) -> Result<f64>| -> Result<Vec<(Value, usize)>> {
                sizes.iter().map(|&len| Ok((Value::Number(of(len)?), len))).collect()
            };
            let host = |place: &Place<Cpu>, cipher: &dyn BulkCipher, len: usize| {
                let mut data = vec![0x5a; len];
                place.on(|| lab.time(&place.backend, || mode.encrypt(cipher, bits, &mut data)))
            };
            for place in lab.cpus() {
                table.measured_rates(&place.name, rates(&|len| host(place, &aes::Cpu::new(), len))?);
            }
            if let (Some(place), Some(gpu)) = (&lab.gpu, &gpu) {
                table.measured_rates("GPU with copies", rates(&|len| host(&lab.threads, gpu, len))?);
                let device = |len| place.on(|| mode.on_device(lab, &place.backend, bits, len));
                table.measured_rates("GPU", rates(&device)?);
            }
            show(table)?;
        }
    }
    Ok(())
}
