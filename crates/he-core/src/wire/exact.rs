//! Parameters and ciphertexts of BFV and BGV to frames and back.

use super::bytes::Fields;
use super::objects::{check_polys, frame, with_polys};
use super::residues::unpack;
use super::{Frame, FrameKind};
use crate::backend::RingOps;
use crate::error::Result;
use crate::exact::{Ciphertext, ExactSpec, Meta, Noise, Params, Scheme, SeededCiphertext};
use crate::ring::{Eval, Poly, Ring, Span};
use crate::rlwe::{RlweCiphertext, SeededZero};

/// Parameters.
pub fn encode_exact_params<S: Scheme>(params: &Params<S>) -> Frame {
    let spec = params.spec();
    let mut body = vec![spec.log_n as u8];
    for primes in [&spec.q, &spec.p] {
        body.extend((primes.len() as u16).to_le_bytes());
        primes.iter().for_each(|prime| body.extend(prime.to_le_bytes()));
    }
    body.extend((spec.digits.len() as u16).to_le_bytes());
    spec.digits.iter().for_each(|digit| body.extend((digit.end as u16).to_le_bytes()));
    body.extend(spec.plain_modulus.to_le_bytes());
    frame(params, S::FRAMES[0], body)
}

fn decode_spec<S: Scheme>(frame: &Frame) -> Result<ExactSpec> {
    frame.expect(S::FRAMES[0], frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let log_n = u32::from(fields.u8("degree")?);
    let mut primes = || -> Result<Vec<u64>> {
        let count = fields.u16("number of primes")?;
        (0..count).map(|_| Ok(fields.u64("prime")?)).collect()
    };
    let (q, p) = (primes()?, primes()?);
    let count = fields.u16("list of digits")?;
    let ends =
        (0..count).map(|_| Ok(usize::from(fields.u16("list of digits")?))).collect::<Result<Vec<usize>>>()?;
    let plain_modulus = fields.u64("plaintext modulus")?;
    fields.end()?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let digits = starts.zip(&ends).map(|(start, &end)| start..end).collect();
    Ok(ExactSpec { log_n, q, p, digits, plain_modulus })
}

fn check_fingerprint<S: Scheme>(frame: &Frame, params: Params<S>) -> Result<Params<S>> {
    frame.expect(S::FRAMES[0], params.fingerprint())?;
    Ok(params)
}

/// Parameters of at least 128-bit security.
///
/// # Errors
/// [`Error::InvalidParams`](crate::Error::InvalidParams), [`Error::Wire`](crate::Error::Wire).
pub fn decode_exact_params<S: Scheme>(frame: &Frame) -> Result<Params<S>> {
    check_fingerprint(frame, Params::try_from(decode_spec::<S>(frame)?)?)
}

/// Parameters of any security: for experiments only.
///
/// # Errors
/// As for [`decode_exact_params`].
pub fn decode_exact_params_insecure<S: Scheme>(frame: &Frame) -> Result<Params<S>> {
    check_fingerprint(frame, Params::insecure(decode_spec::<S>(frame)?)?)
}

/// The fields of a ciphertext frame before its polynomials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactHeader {
    /// The level.
    pub level: usize,
    /// Plaintexts side by side.
    pub batch: usize,
    /// The correction factor.
    pub factor: u64,
    /// The bound on the noise, as the writer predicted it.
    pub noise: Noise,
}

/// The fields of a ciphertext frame, seeded or not, without its polynomials.
///
/// # Errors
/// [`Error::Wire`](crate::Error::Wire).
pub fn exact_header<S: Scheme>(params: &Params<S>, frame: &Frame) -> Result<ExactHeader> {
    let seeded = frame.kind == S::FRAMES[2];
    frame.expect(S::FRAMES[if seeded { 2 } else { 1 }], params.fingerprint())?;
    let (meta, batch) = take_fields(params, &mut Fields::new(frame.kind, &frame.body))?;
    Ok(ExactHeader { level: meta.primes - 1, batch, factor: meta.factor, noise: meta.noise })
}

/// The fields before the polynomials.
fn head(meta: &Meta, batch: usize) -> Vec<u8> {
    let mut body = (meta.primes as u16 - 1).to_le_bytes().to_vec();
    body.extend((batch as u32).to_le_bytes());
    body.extend(meta.factor.to_le_bytes());
    body.extend(meta.noise.rms_log2.to_bits().to_le_bytes());
    body.extend(meta.noise.peak_log2.to_bits().to_le_bytes());
    body.extend((meta.noise.degree as u16).to_le_bytes());
    body
}

fn take_fields<S: Scheme>(params: &Params<S>, fields: &mut Fields<'_>) -> Result<(Meta, usize)> {
    let primes = usize::from(fields.u16("level")?) + 1;
    let batch = fields.u32("batch")? as usize;
    let factor = fields.u64("factor")?;
    let (rms_log2, peak_log2) = (fields.f64("noise")?, fields.f64("noise")?);
    let noise = Noise { rms_log2, peak_log2, degree: u32::from(fields.u16("noise")?) };
    if primes > params.max_level() + 1 {
        return Err(fields.error("level").into());
    }
    if batch == 0 {
        return Err(fields.error("batch").into());
    }
    let meta = Meta { plain_modulus: params.plain().value(), primes, factor, noise };
    meta.check(params).map_err(|_| fields.error("factor or noise"))?;
    Ok((meta, batch))
}

fn poly<S: Scheme, B: RingOps>(
    params: &Params<S>,
    ring: &Ring<B>,
    kind: FrameKind,
    shape: (Span, usize),
    bytes: &[u8],
) -> Result<Poly<Eval, B>> {
    let (span, batch) = shape;
    Poly::from_words(ring, span, batch, &unpack(kind, params.rlwe().ring(), span, batch, bytes)?)
}

/// A batch of ciphertexts.
///
/// # Errors
/// [`Error::RingMismatch`](crate::Error::RingMismatch) and the like for ciphertexts of other parameters; device errors.
pub fn encode_exact_ciphertext<S: Scheme, B: RingOps>(
    params: &Params<S>,
    ct: &Ciphertext<S, B>,
) -> Result<Frame> {
    ct.check(params)?;
    let body = with_polys(params, &head(&ct.meta, ct.batch()), ct.pair().parts())?;
    Ok(frame(params, S::FRAMES[1], body))
}

/// A batch of ciphertexts.
///
/// # Errors
/// [`Error::Wire`](crate::Error::Wire); device errors.
pub fn decode_exact_ciphertext<S: Scheme, B: RingOps>(
    params: &Params<S>,
    ring: &Ring<B>,
    frame: &Frame,
) -> Result<Ciphertext<S, B>> {
    frame.expect(S::FRAMES[1], params.fingerprint())?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let (meta, batch) = take_fields(params, &mut fields)?;
    let (rest, span) = (fields.rest(), Span::chain(meta.primes));
    let half = check_polys(params, frame.kind, span, batch, 2, rest)?;
    let part = |bytes: &[u8]| poly(params, ring, frame.kind, (span, batch), bytes);
    let ct = Ciphertext::with_meta(RlweCiphertext::new(part(&rest[..half])?, part(&rest[half..])?)?, meta);
    ct.check(params)?;
    Ok(ct)
}

/// A batch of seeded ciphertexts: half the bytes.
///
/// # Errors
/// As for [`encode_exact_ciphertext`].
pub fn encode_exact_seeded_ciphertext<S: Scheme, B: RingOps>(
    params: &Params<S>,
    ct: &SeededCiphertext<S, B>,
) -> Result<Frame> {
    ct.check(params)?;
    let (c0, seed) = ct.parts();
    let head = [&head(&ct.meta, ct.batch())[..], &seed.0].concat();
    Ok(frame(params, S::FRAMES[2], with_polys(params, &head, [c0])?))
}

/// A batch of seeded ciphertexts.
///
/// # Errors
/// [`Error::Wire`](crate::Error::Wire); device errors.
pub fn decode_exact_seeded_ciphertext<S: Scheme, B: RingOps>(
    params: &Params<S>,
    ring: &Ring<B>,
    frame: &Frame,
) -> Result<SeededCiphertext<S, B>> {
    frame.expect(S::FRAMES[2], params.fingerprint())?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let (meta, batch) = take_fields(params, &mut fields)?;
    let seed = fields.seed()?;
    let (rest, span) = (fields.rest(), Span::chain(meta.primes));
    check_polys(params, frame.kind, span, batch, 1, rest)?;
    let c0 = poly(params, ring, frame.kind, (span, batch), rest)?;
    let ct = SeededCiphertext::with_meta(SeededZero { c0, seed, key_set: None }, meta);
    ct.check(params)?;
    Ok(ct)
}
