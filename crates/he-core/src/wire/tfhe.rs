//! Parameters, keys, bits and integers of TFHE: kinds 25 to 30 and 32 to 34. Torus elements travel as they are:
//! all words are valid.

use super::bytes::Fields;
use super::objects::SEED;
use super::{Frame, FrameKind, WireError};
use crate::error::{Error, Result};
use crate::tfhe::{
    BootstrapKey, EncryptedBits, EncryptedFlags, EncryptedUint, Gadget, LweBatch, LweOps, SeededBits,
    SeededFlags, SeededLwe, SeededUint, TfheParams, TfheSecretKey, TfheSpec, digits_of,
};
use zeroize::Zeroizing;

/// n, k, log2 N, both deviations, base and levels of both gadgets.
const PARAMS: usize = 2 + 1 + 1 + 2 * 8 + 2 * 2;
/// Most bytes of fields before ciphertexts: width and batch.
const CIPHERTEXT_FIELDS: u64 = 2 + 4;

fn frame(params: &TfheParams, kind: FrameKind, body: Vec<u8>) -> Frame {
    Frame { kind, fingerprint: params.fingerprint(), body }
}

/// Bits of both secrets.
fn secret_bits(params: &TfheParams) -> usize {
    params.spec().lwe_dimension + params.dimension()
}

/// Words of 64 bits in the bodies of the GGSW rows, and of 32 bits in those of the switching key.
fn key_words(params: &TfheParams) -> [usize; 2] {
    let spec = params.spec();
    let bootstrap = spec.lwe_dimension * params.rows() * params.degree();
    [bootstrap, params.dimension() * spec.switch.levels as usize]
}

/// Longest bodies of frames that hold parameters or keys; 0 for the other kinds. Without parameters, nothing but parameters.
pub fn key_frame_limit(params: Option<&TfheParams>, kind: FrameKind) -> u64 {
    let Some(params) = params else {
        return if kind == FrameKind::TfheParams { PARAMS as u64 } else { 0 };
    };
    (match kind {
        FrameKind::TfheParams => PARAMS,
        FrameKind::TfheSecretKey => secret_bits(params).div_ceil(8),
        FrameKind::TfheBootstrapKey => {
            let [bootstrap, switch] = key_words(params);
            SEED + 8 * bootstrap + 4 * switch
        }
        _ => 0,
    }) as u64
}

/// Longest body of a frame with at most `max_count` ciphertexts: bits, conditions, or digits of integers (two bits each).
pub fn ciphertext_frame_limit(params: &TfheParams, max_count: usize) -> u64 {
    (8 * params.words() as u64).saturating_mul(max_count as u64).saturating_add(CIPHERTEXT_FIELDS)
}

/// Longest body of a frame with at most `max_count` seeded ciphertexts, likewise.
pub fn seeded_frame_limit(max_count: usize) -> u64 {
    8u64.saturating_mul(max_count as u64).saturating_add(CIPHERTEXT_FIELDS + SEED as u64)
}

/// Parameters.
pub fn encode_params(params: &TfheParams) -> Frame {
    let spec = params.spec();
    let mut body = (spec.lwe_dimension as u16).to_le_bytes().to_vec();
    body.extend([spec.glwe_dimension as u8, spec.log_degree as u8]);
    for sigma in [spec.lwe_sigma_log2, spec.glwe_sigma_log2] {
        body.extend(sigma.to_bits().to_le_bytes());
    }
    for gadget in [spec.bootstrap, spec.switch] {
        body.extend([gadget.base_log as u8, gadget.levels as u8]);
    }
    frame(params, FrameKind::TfheParams, body)
}

fn decode_spec(frame: &Frame) -> Result<TfheSpec> {
    frame.expect(FrameKind::TfheParams, frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let lwe_dimension = usize::from(fields.u16("dimension")?);
    let glwe_dimension = usize::from(fields.u8("dimension of GLWE")?);
    let log_degree = u32::from(fields.u8("degree")?);
    let (lwe_sigma_log2, glwe_sigma_log2) = (fields.f64("deviation")?, fields.f64("deviation")?);
    let mut gadget = || -> Result<Gadget> {
        let (base_log, levels) = (fields.u8("base")?, fields.u8("number of levels")?);
        Ok(Gadget { base_log: base_log.into(), levels: levels.into() })
    };
    let (bootstrap, switch) = (gadget()?, gadget()?);
    fields.end()?;
    Ok(TfheSpec {
        lwe_dimension,
        lwe_sigma_log2,
        glwe_dimension,
        log_degree,
        glwe_sigma_log2,
        bootstrap,
        switch,
    })
}

fn check_fingerprint(frame: &Frame, params: TfheParams) -> Result<TfheParams> {
    frame.expect(FrameKind::TfheParams, params.fingerprint())?;
    Ok(params)
}

/// Parameters of at least 128-bit security.
///
/// # Errors
/// [`Error::InvalidParams`], [`Error::Wire`].
pub fn decode_params(frame: &Frame) -> Result<TfheParams> {
    check_fingerprint(frame, TfheParams::try_from(decode_spec(frame)?)?)
}

/// Parameters of any security: for experiments only.
///
/// # Errors
/// [`Error::InvalidParams`], [`Error::Wire`].
pub fn decode_params_insecure(frame: &Frame) -> Result<TfheParams> {
    check_fingerprint(frame, TfheParams::insecure(decode_spec(frame)?)?)
}

/// A body must have exactly this length, known before anything is allocated.
fn expect_length(frame: &Frame, expected: u64) -> Result<()> {
    let found = frame.body.len() as u64;
    if found != expected {
        return Err(WireError::Length { kind: frame.kind, found, expected }.into());
    }
    Ok(())
}

/// A secret key, a bit of either secret in a bit. Constant time.
pub fn encode_secret_key(key: &TfheSecretKey) -> Frame {
    let params = key.params();
    let mut body = vec![0; secret_bits(params).div_ceil(8)];
    for (i, bit) in key.expose_secrets().into_iter().flatten().enumerate() {
        body[i / 8] |= (*bit as u8) << (i % 8);
    }
    frame(params, FrameKind::TfheSecretKey, body)
}

/// A secret key. Constant time for valid keys.
///
/// # Errors
/// [`Error::Wire`].
pub fn decode_secret_key(params: &TfheParams, frame: &Frame) -> Result<TfheSecretKey> {
    frame.expect(FrameKind::TfheSecretKey, params.fingerprint())?;
    expect_length(frame, key_frame_limit(Some(params), frame.kind))?;
    let bit = |i: usize| u64::from(frame.body[i / 8] >> (i % 8) & 1);
    let (small, all) = (params.spec().lwe_dimension, secret_bits(params));
    if (all..8 * frame.body.len()).any(|i| bit(i) != 0) {
        return Err(WireError::Field { kind: frame.kind, field: "padding" }.into());
    }
    let secret = |range: std::ops::Range<usize>| Zeroizing::new(range.map(bit).collect::<Vec<_>>());
    Ok(TfheSecretKey::from_secrets(params, secret(0..small), secret(small..all)))
}

/// A bootstrapping key: the seed of the masks, the bodies of the GGSW rows, those of the switching key.
pub fn encode_bootstrap_key(key: &BootstrapKey) -> Frame {
    let (seed, bootstrap, switch) = key.bodies();
    let mut body = Vec::with_capacity(SEED + 8 * bootstrap.len() + 4 * switch.len());
    body.extend(seed.0);
    body.extend(bootstrap.iter().flat_map(|word| word.to_le_bytes()));
    body.extend(switch.iter().flat_map(|word| word.to_le_bytes()));
    frame(key.params(), FrameKind::TfheBootstrapKey, body)
}

/// A bootstrapping key.
///
/// # Errors
/// [`Error::Wire`].
pub fn decode_bootstrap_key(params: &TfheParams, frame: &Frame) -> Result<BootstrapKey> {
    frame.expect(FrameKind::TfheBootstrapKey, params.fingerprint())?;
    expect_length(frame, key_frame_limit(Some(params), frame.kind))?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let seed = fields.seed()?;
    let bootstrap = words(fields.take(8 * key_words(params)[0], "length")?);
    let switch = fields.rest().as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    Ok(BootstrapKey::from_bodies(params, seed, bootstrap, switch))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()
}

/// A batch's length as it is written.
fn count(batch: usize) -> Result<[u8; 4]> {
    let batch = u32::try_from(batch).map_err(|_| Error::Argument {
        what: "batch",
        why: format!("{batch}; at most 2^32 - 1 fit a frame, use several"),
    })?;
    Ok(batch.to_le_bytes())
}

fn encode_ciphertexts<B: LweOps>(
    backend: &B,
    kind: FrameKind,
    fields: &[u8],
    ciphertexts: &LweBatch<B>,
) -> Result<Frame> {
    let words = ciphertexts.download(backend)?;
    let mut body = Vec::with_capacity(fields.len() + 8 * words.len());
    body.extend(fields);
    body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    Ok(frame(ciphertexts.params(), kind, body))
}

/// The batch, which comes last of the fields, and what follows: `each` ciphertexts for each of it, and nothing else.
fn decode_ciphertexts<B: LweOps>(
    backend: &B,
    params: &TfheParams,
    frame: &Frame,
    mut fields: Fields<'_>,
    each: usize,
) -> Result<LweBatch<B>> {
    let batch = batch(&mut fields)?;
    let rest = fields.rest();
    // Neither product reaches 2^64: 2^32 x 2^7 x 2^16 x 2^3.
    let ciphertexts = batch * (each * params.words() * 8) as u64;
    expect_length(frame, (frame.body.len() - rest.len()) as u64 + ciphertexts)?;
    LweBatch::upload(backend, params, &words(rest))
}

/// A batch's length, which is not 0.
fn batch(fields: &mut Fields<'_>) -> Result<u64> {
    match fields.u32("batch")? {
        0 => Err(fields.error("batch").into()),
        batch => Ok(batch.into()),
    }
}

fn encode_seeded(kind: FrameKind, fields: &[u8], ciphertexts: &SeededLwe) -> Frame {
    let (seed, bodies) = ciphertexts.bodies();
    let mut body = Vec::with_capacity(fields.len() + SEED + 8 * bodies.len());
    body.extend(fields);
    body.extend(seed.0);
    body.extend(bodies.iter().flat_map(|word| word.to_le_bytes()));
    frame(ciphertexts.params(), kind, body)
}

/// The batch, the seed and `each` bodies for each of the batch, and nothing else.
fn decode_seeded(
    params: &TfheParams,
    frame: &Frame,
    mut fields: Fields<'_>,
    each: usize,
) -> Result<SeededLwe> {
    let batch = batch(&mut fields)?;
    let seed = fields.seed()?;
    let rest = fields.rest();
    expect_length(frame, (frame.body.len() - rest.len()) as u64 + 8 * batch * each as u64)?;
    Ok(SeededLwe::from_bodies(params, seed, words(rest)))
}

/// Bits.
///
/// # Errors
/// [`Error::Argument`] for 2^32 bits and more; device errors.
pub fn encode_bits<B: LweOps>(backend: &B, bits: &EncryptedBits<B>) -> Result<Frame> {
    encode_ciphertexts(backend, FrameKind::TfheBits, &count(bits.count())?, bits.ciphertexts())
}

/// Bits.
///
/// # Errors
/// [`Error::Wire`]; device errors.
pub fn decode_bits<B: LweOps>(backend: &B, params: &TfheParams, frame: &Frame) -> Result<EncryptedBits<B>> {
    frame.expect(FrameKind::TfheBits, params.fingerprint())?;
    let fields = Fields::new(frame.kind, &frame.body);
    Ok(EncryptedBits::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, 1)?))
}

/// A batch of integers.
///
/// # Errors
/// [`Error::Argument`] for 2^32 integers and more; device errors.
pub fn encode_uint<B: LweOps>(backend: &B, x: &EncryptedUint<B>) -> Result<Frame> {
    let mut fields = (x.bits() as u16).to_le_bytes().to_vec();
    fields.extend(count(x.batch())?);
    encode_ciphertexts(backend, FrameKind::TfheUint, &fields, x.ciphertexts())
}

/// A batch of integers.
///
/// # Errors
/// [`Error::Wire`]; device errors.
pub fn decode_uint<B: LweOps>(backend: &B, params: &TfheParams, frame: &Frame) -> Result<EncryptedUint<B>> {
    frame.expect(FrameKind::TfheUint, params.fingerprint())?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let bits = usize::from(fields.u16("width")?);
    let digits = digits_of(bits).map_err(|_| fields.error("width"))?;
    EncryptedUint::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, digits)?, bits)
}

/// A batch of conditions.
///
/// # Errors
/// [`Error::Argument`] for 2^32 conditions and more; device errors.
pub fn encode_flags<B: LweOps>(backend: &B, flags: &EncryptedFlags<B>) -> Result<Frame> {
    encode_ciphertexts(backend, FrameKind::TfheFlags, &count(flags.batch())?, flags.ciphertexts())
}

/// A batch of conditions.
///
/// # Errors
/// [`Error::Wire`]; device errors.
pub fn decode_flags<B: LweOps>(backend: &B, params: &TfheParams, frame: &Frame) -> Result<EncryptedFlags<B>> {
    frame.expect(FrameKind::TfheFlags, params.fingerprint())?;
    let fields = Fields::new(frame.kind, &frame.body);
    Ok(EncryptedFlags::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, 1)?))
}

/// Fresh bits: the seed of the masks and a body each.
///
/// # Errors
/// [`Error::Argument`] for 2^32 bits and more.
pub fn encode_seeded_bits(bits: &SeededBits) -> Result<Frame> {
    Ok(encode_seeded(FrameKind::TfheSeededBits, &count(bits.count())?, bits.ciphertexts()))
}

/// Fresh bits. They take as many bytes as the frame until they are expanded.
///
/// # Errors
/// [`Error::Wire`].
pub fn decode_seeded_bits(params: &TfheParams, frame: &Frame) -> Result<SeededBits> {
    frame.expect(FrameKind::TfheSeededBits, params.fingerprint())?;
    let fields = Fields::new(frame.kind, &frame.body);
    Ok(SeededBits::from_ciphertexts(decode_seeded(params, frame, fields, 1)?))
}

/// A batch of fresh integers: the seed of the masks and a body a digit.
///
/// # Errors
/// [`Error::Argument`] for 2^32 integers and more.
pub fn encode_seeded_uint(x: &SeededUint) -> Result<Frame> {
    let mut fields = (x.bits() as u16).to_le_bytes().to_vec();
    fields.extend(count(x.batch())?);
    Ok(encode_seeded(FrameKind::TfheSeededUint, &fields, x.ciphertexts()))
}

/// A batch of fresh integers. They take as many bytes as the frame until they are expanded.
///
/// # Errors
/// [`Error::Wire`].
pub fn decode_seeded_uint(params: &TfheParams, frame: &Frame) -> Result<SeededUint> {
    frame.expect(FrameKind::TfheSeededUint, params.fingerprint())?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let bits = usize::from(fields.u16("width")?);
    let digits = digits_of(bits).map_err(|_| fields.error("width"))?;
    Ok(SeededUint::from_ciphertexts(decode_seeded(params, frame, fields, digits)?, bits))
}

/// A batch of fresh conditions: the seed of the masks and a body each.
///
/// # Errors
/// [`Error::Argument`] for 2^32 conditions and more.
pub fn encode_seeded_flags(flags: &SeededFlags) -> Result<Frame> {
    Ok(encode_seeded(FrameKind::TfheSeededFlags, &count(flags.batch())?, flags.ciphertexts()))
}

/// A batch of fresh conditions. They take as many bytes as the frame until they are expanded.
///
/// # Errors
/// [`Error::Wire`].
pub fn decode_seeded_flags(params: &TfheParams, frame: &Frame) -> Result<SeededFlags> {
    frame.expect(FrameKind::TfheSeededFlags, params.fingerprint())?;
    let fields = Fields::new(frame.kind, &frame.body);
    Ok(SeededFlags::from_ciphertexts(decode_seeded(params, frame, fields, 1)?))
}
