//! Parameters, keys and ciphertexts of CKKS with a big-integer modulus as frames: kinds 20 to 24.

use super::bytes::Fields;
use super::numbers::{pack, packed_len, unpack};
use super::objects::{SEED, pack_ternary, unpack_ternary};
use super::{Frame, FrameKind, SwitchKeyUse, Wire, WireError, WireKeys, WireParams, as_written};
use crate::backend::{WideOps, WideRows};
use crate::bigckks::{
    BigCkksParams, BigCkksSpec, Ciphertext, EvaluationKeys, PublicKey, SecretDistribution, SecretKey,
    SwitchKey, WidePoly,
};
use crate::error::{Error, Result};
use crate::ring::Ring;
use crate::rlwe::{Fingerprint, KeyParams as _};

/// log2 N, the widths, log2 of the scale, the secret's weight.
const PARAMS: usize = 1 + 4 * 2 + 4;
/// The fields of a ciphertext before its polynomials: log q, log2(slots), batch, log2(scale).
const CIPHERTEXT_FIELDS: usize = 2 + 1 + 4 + 2;

fn frame(params: &BigCkksParams, kind: FrameKind, body: Vec<u8>) -> Frame {
    Frame { kind, fingerprint: params.fingerprint(), body }
}

/// The bytes of one polynomial.
fn one(params: &BigCkksParams, bits: u32) -> usize {
    packed_len(WideRows::new(bits, 1), params.ring().n())
}

fn key_bits(params: &BigCkksParams) -> u32 {
    params.log_q() + params.log_p()
}

fn decode_spec(frame: &Frame) -> Result<BigCkksSpec> {
    frame.expect(FrameKind::BigCkksParams, frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let log_n = u32::from(fields.u8("degree")?);
    let mut width = |field| -> Result<u32> { Ok(u32::from(fields.u16(field)?)) };
    let (log_q, log_p) = (width("modulus")?, width("special modulus")?);
    let (digit_bits, scale_log2) = (width("width of digits")?, width("scale")?);
    let secret = match fields.u32("weight of the secret")? {
        0 => SecretDistribution::UniformTernary,
        weight => SecretDistribution::Sparse { weight: weight as usize },
    };
    fields.end()?;
    Ok(BigCkksSpec { log_n, log_q, log_p, digit_bits, scale_log2, secret })
}

impl WireParams for BigCkksParams {
    const KIND: FrameKind = FrameKind::BigCkksParams;
    const MAX_BODY: u64 = PARAMS as u64;

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    fn to_frame(&self) -> Frame {
        let spec = self.spec();
        let mut body = vec![spec.log_n as u8];
        for width in [spec.log_q, spec.log_p, spec.digit_bits, spec.scale_log2] {
            body.extend((width as u16).to_le_bytes());
        }
        let weight = match spec.secret {
            SecretDistribution::UniformTernary => 0,
            SecretDistribution::Sparse { weight } => weight as u32,
        };
        body.extend(weight.to_le_bytes());
        frame(self, FrameKind::BigCkksParams, body)
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::try_from(decode_spec(frame)?)?)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::insecure(decode_spec(frame)?)?)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        (match kind {
            FrameKind::BigCkksSecretKey => self.ring().n().div_ceil(4),
            FrameKind::BigCkksPublicKey => SEED + one(self, self.log_q()),
            FrameKind::BigCkksSwitchKey => 8 + SEED + self.digits(self.log_q()) * one(self, key_bits(self)),
            _ => 0,
        }) as u64
    }

    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        let polys = one(self, self.log_q()) as u64;
        polys.saturating_mul(2).saturating_mul(max_batch as u64).saturating_add(CIPHERTEXT_FIELDS as u64)
    }
}

/// Two bits per coefficient. Constant time; reading is so for valid keys.
impl Wire<BigCkksParams> for SecretKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &BigCkksParams) -> Result<Frame> {
        params.check_same(self.params(), "secret key")?;
        Ok(frame(params, FrameKind::BigCkksSecretKey, pack_ternary(self.expose_coefficients())))
    }

    fn from_frame(params: &BigCkksParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::BigCkksSecretKey, params.fingerprint())?;
        let coefficients = unpack_ternary(frame, params.ring().n())?;
        Self::from_coefficients(params, coefficients)
            .map_err(|_| WireError::Field { kind: frame.kind, field: "coefficient" }.into())
    }
}

/// Appends a packed batch of polynomials.
fn put<B: WideOps>(poly: &WidePoly<B>, body: &mut Vec<u8>) -> Result<()> {
    let (rows, n, start) = (WideRows::new(poly.bits(), poly.batch()), poly.ring().n(), body.len());
    body.resize(start + packed_len(rows, n), 0);
    pack(rows, n, &poly.to_words()?, &mut body[start..]);
    Ok(())
}

/// Takes a packed batch of polynomials from the front.
fn take<B: WideOps>(
    kind: FrameKind,
    fields: &mut Fields<'_>,
    ring: &Ring<B>,
    bits: u32,
    batch: usize,
) -> Result<WidePoly<B>> {
    let (rows, n) = (WideRows::new(bits, batch), ring.n());
    let words = unpack(kind, rows, n, fields.take(packed_len(rows, n), "length")?)?;
    WidePoly::from_words(ring, bits, batch, &words)
}

/// Checks that a ring is that of the parameters.
fn check_ring<B: WideOps>(params: &BigCkksParams, ring: &Ring<B>) -> Result<()> {
    if ring.spec() == params.ring() { Ok(()) } else { Err(Error::RingMismatch) }
}

/// The seed of a, and b.
impl<B: WideOps> Wire<BigCkksParams> for PublicKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &BigCkksParams) -> Result<Frame> {
        params.check_same(self.params(), "public key")?;
        let mut body = self.seed().0.to_vec();
        put(&self.body()?, &mut body)?;
        Ok(frame(params, FrameKind::BigCkksPublicKey, body))
    }

    fn from_frame(params: &BigCkksParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::BigCkksPublicKey, params.fingerprint())?;
        check_ring(params, ring)?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let seed = fields.seed()?;
        let b = take(frame.kind, &mut fields, ring, params.log_q(), 1)?;
        fields.end()?;
        Self::from_body(params, seed, &b)
    }
}

/// A switching key: the element that it is for (0 for relinearisation), the seed of the a_j, and
/// the b_j.
fn encode_switch_key<B: WideOps>(params: &BigCkksParams, g: u64, key: &SwitchKey<B>) -> Result<Frame> {
    params.check_same(key.params(), "switching key")?;
    let mut body = g.to_le_bytes().to_vec();
    body.extend(key.known_seed()?.0);
    for digit in 0..params.digits(params.log_q()) {
        put(&key.body(digit)?, &mut body)?;
    }
    Ok(frame(params, FrameKind::BigCkksSwitchKey, body))
}

impl<B: WideOps> WireKeys<BigCkksParams> for EvaluationKeys<B> {
    type Place<'a> = &'a Ring<B>;

    fn empty(params: &BigCkksParams, ring: &Ring<B>) -> Result<Self> {
        Self::empty(params, ring)
    }

    fn to_frames(&self, params: &BigCkksParams) -> impl Iterator<Item = Result<Frame>> {
        let relin = self.relin().ok().into_iter().map(|key| encode_switch_key(params, 0, key));
        let galois = self.galois_keys().map(|(g, key)| encode_switch_key(params, g, key));
        relin.chain(galois)
    }

    fn insert_frame(&mut self, params: &BigCkksParams, frame: &Frame) -> Result<SwitchKeyUse> {
        frame.expect(FrameKind::BigCkksSwitchKey, params.fingerprint())?;
        let ring = self.ring().clone();
        check_ring(params, &ring)?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let purpose = match fields.u64("galois element")? {
            0 => SwitchKeyUse::Relin,
            g if g % 2 == 1 && g < 2 * ring.n() as u64 => SwitchKeyUse::Galois(g),
            _ => return Err(fields.error("galois element").into()),
        };
        let seed = fields.seed()?;
        let bodies = (0..params.digits(params.log_q()))
            .map(|_| take(frame.kind, &mut fields, &ring, key_bits(params), 1))
            .collect::<Result<Vec<_>>>()?;
        fields.end()?;
        let key = SwitchKey::from_bodies(params, &ring, seed, &bodies)?;
        match purpose {
            SwitchKeyUse::Relin => self.insert_relin(key)?,
            SwitchKeyUse::Galois(g) => self.insert_galois(g, key)?,
        }
        Ok(purpose)
    }
}

/// The fields of a ciphertext frame before its polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiphertextHeader {
    /// log2 of the modulus.
    pub log_q: u32,
    /// log2 of the slots of each vector.
    pub log_slots: u32,
    /// Vectors side by side.
    pub batch: usize,
    /// log2 of the scale, unchecked.
    pub scale_log2: u32,
}

impl CiphertextHeader {
    /// The fields of a ciphertext frame, without its polynomials.
    ///
    /// # Errors
    /// [`Error::Wire`].
    pub fn from_frame(params: &BigCkksParams, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::BigCkksCiphertext, params.fingerprint())?;
        take_header(params, &mut Fields::new(frame.kind, &frame.body))
    }
}

fn take_header(params: &BigCkksParams, fields: &mut Fields<'_>) -> Result<CiphertextHeader> {
    let log_q = u32::from(fields.u16("modulus")?);
    let log_slots = u32::from(fields.u8("number of slots")?);
    let batch = fields.u32("batch")? as usize;
    let scale_log2 = u32::from(fields.u16("scale")?);
    if log_q == 0 || log_q > params.log_q() {
        return Err(fields.error("modulus").into());
    }
    if log_slots >= params.ring().log_n() {
        return Err(fields.error("number of slots").into());
    }
    if batch == 0 {
        return Err(fields.error("batch").into());
    }
    Ok(CiphertextHeader { log_q, log_slots, batch, scale_log2 })
}

impl<B: WideOps> Wire<BigCkksParams> for Ciphertext<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &BigCkksParams) -> Result<Frame> {
        self.check(params)?;
        let mut body = (self.log_q() as u16).to_le_bytes().to_vec();
        body.push(self.slots().trailing_zeros() as u8);
        body.extend((self.batch() as u32).to_le_bytes());
        body.extend((self.scale_log2() as u16).to_le_bytes());
        for part in self.parts() {
            put(part, &mut body)?;
        }
        Ok(frame(params, FrameKind::BigCkksCiphertext, body))
    }

    fn from_frame(params: &BigCkksParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::BigCkksCiphertext, params.fingerprint())?;
        check_ring(params, ring)?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let CiphertextHeader { log_q, log_slots, batch, scale_log2 } = take_header(params, &mut fields)?;
        // Check before anything is allocated that both polynomials are there, and nothing else.
        let expected = (one(params, log_q) as u64).saturating_mul(2).saturating_mul(batch as u64);
        let found = (frame.body.len() - CIPHERTEXT_FIELDS) as u64;
        if found != expected {
            return Err(WireError::Length { kind: frame.kind, found, expected }.into());
        }
        let c0 = take(frame.kind, &mut fields, ring, log_q, batch)?;
        let c1 = take(frame.kind, &mut fields, ring, log_q, batch)?;
        Self::from_parts(params, [c0, c1], scale_log2, 1 << log_slots)
    }
}
