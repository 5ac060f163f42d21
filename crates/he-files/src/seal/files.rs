//! Key files and encrypted files of keys and ciphertexts of SEAL.

use super::parameters::NEITHER;
use super::{read_ciphertext, read_public_key, read_relin_key, write_ciphertext};
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::{Error, FileError, InFile, Result, SealError, Wanted};
use crate::file_start::{AnyStart, check_start, read_start};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{AnyKey, KeyFile, write_key};
use crate::note::{ColumnNote, Content, IntegerColumnNote, IntegersNote, KeyId, Note, Payload, TableNote};
use crate::scheme::{Bfv, Ckks, OfKeySet, OneOf, Real, Scheme, Start};
use he::Device;
use he_any::Params;
use he_any::rlwe::{Cipher, Engine};
use he_core::rlwe::{EvaluationKeys, PublicKey};
use he_core::wire::{Frame, FrameReader, SchemeParams, Wire, WireKeys};
use std::io::{BufReader, Write};

/// The longest file of SEAL that is read: a relinearisation key at a degree of 2^15.
const MAX_BYTES: u64 = 1 << 30;

/// The bytes of a file of SEAL.
///
/// # Errors
/// The file cannot be read, or is longer than 1 GiB.
pub fn read_bytes(input: Input) -> Result<Vec<u8>> {
    input.read_all(MAX_BYTES)
}

/// Schemes whose objects are exchanged with SEAL.
trait Exchanged:
    Scheme<Params: SchemeParams, Public = PublicKey<Device>, Evaluation = EvaluationKeys<Device>>
{
    fn params(params: &Self::Params) -> Params;
    fn cipher(ct: Self::Ciphertext) -> Cipher;
    fn ciphertext(cipher: Cipher) -> Option<Self::Ciphertext>;

    /// The description of a column of all slots, whose values are at most so large.
    fn content(params: &Self::Params, bound: u64) -> Content;

    fn engine(params: &Self::Params, device: &Device) -> Result<he_any::Engine> {
        Ok(he_any::Engine::new(&Self::params(params), device.clone())?)
    }
}

impl Exchanged for Ckks {
    fn params(params: &Self::Params) -> Params {
        Params::Ckks(params.clone())
    }

    fn cipher(ct: Self::Ciphertext) -> Cipher {
        Cipher::Ckks(ct)
    }

    fn ciphertext(cipher: Cipher) -> Option<Self::Ciphertext> {
        if let Cipher::Ckks(ct) = cipher { Some(ct) } else { None }
    }

    fn content(params: &Self::Params, bound: u64) -> Content {
        let slots = params.slots() as u64;
        let column = ColumnNote { name: None, exponent: 0, count: bound, offset: 0.0, precision_bits: None };
        let precision_bits = Self::fresh_precision_bits(params);
        let columns = vec![column];
        Content::Table(TableNote {
            rows: slots,
            slots,
            batch: 1,
            precision_bits,
            packed: None,
            columns,
            header: None,
        })
    }
}

impl Exchanged for Bfv {
    fn params(params: &Self::Params) -> Params {
        Params::Bfv(params.clone())
    }

    fn cipher(ct: Self::Ciphertext) -> Cipher {
        Cipher::Bfv(ct)
    }

    fn ciphertext(cipher: Cipher) -> Option<Self::Ciphertext> {
        if let Cipher::Bfv(ct) = cipher { Some(ct) } else { None }
    }

    fn content(params: &Self::Params, bound: u64) -> Content {
        let high = i64::try_from(bound).unwrap_or(i64::MAX);
        let columns = vec![IntegerColumnNote { name: None, low: -high, high, categories: None }];
        let rows = params.rlwe().ring().n() as u64;
        Content::Integers(IntegersNote { rows, batch: 1, summed: false, packed: None, columns, header: None })
    }
}

fn rlwe(engine: &he_any::Engine) -> Result<&Engine> {
    Ok(engine.rlwe().ok_or(NEITHER)?)
}

/// Writes the key files of a client of SEAL: its public key and, if there is one, its
/// relinearisation key, under a key set of their own. Returns the bytes of each.
///
/// # Errors
/// Other bytes than those of such keys of these parameters; the device fails; an output cannot be
/// written.
pub fn write_keys(
    params: &Params,
    device: &Device,
    id: &KeyId,
    (public, public_file): (&[u8], &mut Output),
    relin: Option<(&[u8], &mut Output)>,
) -> Result<Vec<u64>> {
    match params {
        Params::Ckks(params) => keys::<Ckks>(params, device, id, (public, public_file), relin),
        Params::Bfv(params) => keys::<Bfv>(params, device, id, (public, public_file), relin),
        _ => Err(NEITHER.into()),
    }
}

fn keys<S: Exchanged>(
    params: &S::Params,
    device: &Device,
    id: &KeyId,
    (public, public_file): (&[u8], &mut Output),
    relin: Option<(&[u8], &mut Output)>,
) -> Result<Vec<u64>> {
    let engine = S::engine(params, device)?;
    let public: S::Public = read_public_key(rlwe(&engine)?, public)?;
    let mut sizes = vec![written::<S>(public_file, params, id, [public.to_frame(params)])?];
    if let Some((bytes, file)) = relin {
        let keys: S::Evaluation = read_relin_key(rlwe(&engine)?, bytes)?;
        let frames: Vec<_> = keys.to_frames(params).collect();
        sizes.push(written::<S>(file, params, id, frames)?);
    }
    Ok(sizes)
}

fn written<S: Scheme>(
    file: &mut Output,
    params: &S::Params,
    id: &KeyId,
    frames: impl IntoIterator<Item = he_core::Result<Frame>>,
) -> Result<u64> {
    let name = file.name();
    write_key::<S>(file as &mut dyn Write, params, id, frames, &name)
}

/// Writes an encrypted table of one column from a ciphertext of SEAL, whose values are at most
/// `bound` in magnitude, of the key set of a key file. Its rows are the slots of this library:
/// [`slot_order`](super::slot_order) says which of SEAL's values lies in each.
///
/// # Errors
/// Other bytes than those of a ciphertext of the key's parameters; a bound beyond the plaintext
/// modulus; the device fails; the output cannot be written.
pub fn import(bytes: &[u8], key: AnyKey, bound: u64, device: &Device, output: Output) -> Result<Written> {
    match key.scheme("a key of ckks or bfv")? {
        OneOf::Ckks(key) => imported(bytes, &key, bound, device, output),
        OneOf::Bfv(key) => imported(bytes, &key, bound, device, output),
        _ => Err(NEITHER.into()),
    }
}

fn imported<S: Exchanged>(
    bytes: &[u8],
    key: &KeyFile<S>,
    bound: u64,
    device: &Device,
    output: Output,
) -> Result<Written> {
    let engine = S::engine(&key.params, device)?;
    let content = S::content(&key.params, bound);
    S::check_content(&key.params, &content)?;
    let ct = S::ciphertext(read_ciphertext(rlwe(&engine)?, bytes)?).ok_or(NEITHER)?;
    let frame = ct.of(&key.id).to_frame(&key.params)?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    let mut writer = CipherWriter::new::<S>(output, &key.params, &payload)?;
    writer.send(frame.seal())?;
    writer.commit()
}

/// The bytes of a file of one ciphertext as SEAL's `Ciphertext`.
///
/// # Errors
/// Another file, or one of several ciphertexts or of parameters that SEAL does not have; the device
/// fails.
pub fn export(mut input: Input, device: &Device) -> Result<Vec<u8>> {
    check_start(&mut input, "an encrypted file", Wanted::Encrypted)?;
    let name = input.name().to_owned();
    let mut reader = FrameReader::new(BufReader::new(input));
    match read_start(&mut reader, &name)? {
        AnyStart::Scheme(Start::Ckks((params, Note::Payload(payload)))) => {
            exported::<Ckks>(CipherReader::read_rest(reader, params, payload, &name), device)
        }
        AnyStart::Scheme(Start::Bfv((params, Note::Payload(payload)))) => {
            exported::<Bfv>(CipherReader::read_rest(reader, params, payload, &name), device)
        }
        start if start.encrypted_by().is_none() => Err(FileError::IsKey { name }.into()),
        _ => Err(Error::from(NEITHER).in_file_of(&name)),
    }
}

fn exported<S: Exchanged>(mut reader: CipherReader<S>, device: &Device) -> Result<Vec<u8>> {
    let frame = reader.frame()?.open().in_file(&reader.name)?;
    if frame.kind != S::CIPHERTEXTS.0 {
        return Err(SealError::NotOfSeal { why: "its second half is a seed of this program" }.into());
    }
    reader.end().map_err(|_| SealError::NotOfSeal { why: "it holds several ciphertexts" })?;
    let engine = S::engine(&reader.params, device)?;
    let ct = S::Ciphertext::from_frame(&reader.params, rlwe(&engine)?.ring(), &frame)?;
    write_ciphertext(rlwe(&engine)?, &S::cipher(ct))
}
