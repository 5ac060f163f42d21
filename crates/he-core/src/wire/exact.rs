//! Parameters and ciphertexts of BFV and BGV as frames.

use super::bytes::Fields;
use super::objects::{
    MAX_PARAMS, check_polys, ciphertext_frame_limit, frame, key_frame_limit, take_poly, with_polys,
};
use super::{Frame, FrameKind, SchemeParams, Wire, WireParams, as_written};
use crate::backend::RingOps;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::error::Result;
use crate::exact::{Ciphertext, ExactSpec, Meta, Noise, Params, Scheme, SeededCiphertext};
use crate::ring::{Ring, Span};
use crate::rlwe::{Fingerprint, RlweCiphertext, RlweParams, SeededZero};

/// A scheme of exact arithmetic whose objects are frames.
pub trait WireScheme: Scheme {
    /// Frames of its parameters, ciphertexts and seeded ciphertexts.
    const FRAMES: [FrameKind; 3];
    /// Frames of its parameters with bootstrapping.
    const BOOTSTRAP_PARAMS: FrameKind;
}

impl WireScheme for Bfv {
    const FRAMES: [FrameKind; 3] =
        [FrameKind::BfvParams, FrameKind::BfvCiphertext, FrameKind::BfvSeededCiphertext];
    const BOOTSTRAP_PARAMS: FrameKind = FrameKind::BfvBootstrapParams;
}

impl WireScheme for Bgv {
    const FRAMES: [FrameKind; 3] =
        [FrameKind::BgvParams, FrameKind::BgvCiphertext, FrameKind::BgvSeededCiphertext];
    const BOOTSTRAP_PARAMS: FrameKind = FrameKind::BgvBootstrapParams;
}

fn decode_spec<S: WireScheme>(frame: &Frame) -> Result<ExactSpec> {
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

impl<S: WireScheme> WireParams for Params<S> {
    const KIND: FrameKind = S::FRAMES[0];
    const MAX_BODY: u64 = MAX_PARAMS;

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    fn to_frame(&self) -> Frame {
        let spec = self.spec();
        let mut body = vec![spec.log_n as u8];
        for primes in [&spec.q, &spec.p] {
            body.extend((primes.len() as u16).to_le_bytes());
            primes.iter().for_each(|prime| body.extend(prime.to_le_bytes()));
        }
        body.extend((spec.digits.len() as u16).to_le_bytes());
        spec.digits.iter().for_each(|digit| body.extend((digit.end as u16).to_le_bytes()));
        body.extend(spec.plain_modulus.to_le_bytes());
        frame(self, S::FRAMES[0], body)
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::try_from(decode_spec::<S>(frame)?)?)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::insecure(decode_spec::<S>(frame)?)?)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        key_frame_limit(self, kind)
    }

    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        ciphertext_frame_limit(self, max_batch)
    }
}

impl<S: WireScheme> SchemeParams for Params<S> {
    fn rlwe(&self) -> &RlweParams {
        self.rlwe()
    }
}

/// The fields of a ciphertext frame before its polynomials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactHeader {
    /// The level.
    pub level: usize,
    /// Plaintexts side by side.
    pub batch: usize,
    /// The correction factor.
    pub correction_factor: u64,
    /// The bound on the noise, as the writer predicted it.
    pub noise: Noise,
}

impl ExactHeader {
    /// The fields of a ciphertext frame, seeded or not, without its polynomials.
    ///
    /// # Errors
    /// [`Error::Wire`](crate::Error::Wire).
    pub fn from_frame<S: WireScheme>(params: &Params<S>, frame: &Frame) -> Result<Self> {
        let seeded = frame.kind == S::FRAMES[2];
        frame.expect(S::FRAMES[if seeded { 2 } else { 1 }], params.fingerprint())?;
        let (meta, batch) = take_fields(params, &mut Fields::new(frame.kind, &frame.body))?;
        Ok(Self {
            level: meta.primes - 1,
            batch,
            correction_factor: meta.correction_factor,
            noise: meta.noise,
        })
    }
}

/// The fields before the polynomials.
fn head(meta: &Meta, batch: usize) -> Vec<u8> {
    let mut body = (meta.primes as u16 - 1).to_le_bytes().to_vec();
    body.extend((batch as u32).to_le_bytes());
    body.extend(meta.correction_factor.to_le_bytes());
    body.extend(meta.noise.rms_log2.to_bits().to_le_bytes());
    body.extend(meta.noise.peak_log2.to_bits().to_le_bytes());
    body.extend((meta.noise.degree as u16).to_le_bytes());
    body
}

fn take_fields<S: WireScheme>(params: &Params<S>, fields: &mut Fields<'_>) -> Result<(Meta, usize)> {
    let primes = usize::from(fields.u16("level")?) + 1;
    let batch = fields.u32("batch")? as usize;
    let correction_factor = fields.u64("correction factor")?;
    let (rms_log2, peak_log2) = (fields.f64("noise")?, fields.f64("noise")?);
    let noise = Noise { rms_log2, peak_log2, degree: u32::from(fields.u16("noise")?) };
    if primes > params.max_level() + 1 {
        return Err(fields.error("level").into());
    }
    if batch == 0 {
        return Err(fields.error("batch").into());
    }
    let meta = Meta { plain_modulus: params.plain().value(), primes, correction_factor, noise };
    meta.check(params).map_err(|_| fields.error("correction factor or noise"))?;
    Ok((meta, batch))
}

impl<S: WireScheme, B: RingOps> Wire<Params<S>> for Ciphertext<S, B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &Params<S>) -> Result<Frame> {
        self.check(params)?;
        let body = with_polys(params, &head(&self.meta, self.batch()), self.pair().parts())?;
        Ok(frame(params, S::FRAMES[1], body))
    }

    fn from_frame(params: &Params<S>, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(S::FRAMES[1], params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (meta, batch) = take_fields(params, &mut fields)?;
        let (rest, span) = (fields.rest(), Span::chain(meta.primes));
        let half = check_polys(params, frame.kind, span, batch, 2, rest)?;
        let part = |bytes: &[u8]| take_poly(params, ring, frame.kind, (span, batch), bytes);
        let ct = Self::with_meta(RlweCiphertext::new(part(&rest[..half])?, part(&rest[half..])?)?, meta);
        ct.check(params)?;
        Ok(ct)
    }
}

/// The second half of each ciphertext is a seed.
impl<S: WireScheme, B: RingOps> Wire<Params<S>> for SeededCiphertext<S, B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &Params<S>) -> Result<Frame> {
        self.check(params)?;
        let (c0, seed) = self.parts();
        let head = [&head(&self.meta, self.batch())[..], &seed.0].concat();
        Ok(frame(params, S::FRAMES[2], with_polys(params, &head, [c0])?))
    }

    fn from_frame(params: &Params<S>, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(S::FRAMES[2], params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (meta, batch) = take_fields(params, &mut fields)?;
        let seed = fields.seed()?;
        let (rest, span) = (fields.rest(), Span::chain(meta.primes));
        check_polys(params, frame.kind, span, batch, 1, rest)?;
        let c0 = take_poly(params, ring, frame.kind, (span, batch), rest)?;
        let ct = Self::with_meta(SeededZero { c0, seed, key_set: None }, meta);
        ct.check(params)?;
        Ok(ct)
    }
}
