//! Parameters and ciphertexts of CKKS, and the keys of all schemes over RLWE, as frames.

use super::bytes::Fields;
use super::residues::{pack, packed_len, unpack};
use super::{
    Frame, FrameKind, SchemeParams, SwitchKeyUse, Wire, WireError, WireKeys, WireParams, as_written,
};
use crate::aes::container::UserKey;
use crate::aes::{Key, KeySize};
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, CkksParams, CkksSpec, LevelGroup, SeededCiphertext};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Seed, Span, uniform_row};
use crate::rlwe::{
    EvaluationKeys, Fingerprint, KeyParams, PublicKey, RlweCiphertext, RlweParams, SecretKey, SwitchKey,
    SwitchSource,
};
use crate::transcipher::SensorKey;
use zeroize::Zeroizing;

/// No set of parameters takes more bytes: three bytes and lists of at most 64 entries each, two of
/// primes (8 bytes), two of counts (2 bytes) and one of groups of levels (10 bytes).
pub(super) const MAX_PARAMS: u64 = 2048;
/// The most bytes of the fields of a ciphertext before its polynomials, which are those of BFV and
/// BGV.
const CIPHERTEXT_FIELDS: usize = 2 + 4 + 8 + 8 + 8 + 2;
pub(super) const SEED: usize = 32;

pub(super) fn frame(params: &impl WireParams, kind: FrameKind, body: Vec<u8>) -> Frame {
    Frame { kind, fingerprint: params.fingerprint(), body }
}

/// The longest bodies of frames that hold keys of these parameters; 0 for the other kinds.
pub(super) fn key_frame_limit(params: &impl SchemeParams, kind: FrameKind) -> u64 {
    let ring = params.rlwe().ring();
    let span = params.rlwe().key_span();
    let switch = switch_key_len(params.rlwe());
    let pairs = 2 * (switch - SEED);
    (match kind {
        FrameKind::SecretKey => ring.n().div_ceil(4),
        FrameKind::PublicKey => SEED + packed_len(ring, Span::chain(span.q), 1),
        FrameKind::RelinKey => switch,
        FrameKind::GaloisKey => 8 + switch,
        FrameKind::UnseededPublicKey => 2 * packed_len(ring, Span::chain(span.q), 1),
        FrameKind::UnseededRelinKey => pairs,
        FrameKind::UnseededGaloisKey => 8 + pairs,
        _ => 0,
    }) as u64
}

/// The longest body of a ciphertext frame with at most `max_batch` entries.
pub(super) fn ciphertext_frame_limit(params: &impl SchemeParams, max_batch: usize) -> u64 {
    let ring = params.rlwe().ring();
    let polys = packed_len(ring, Span::chain(ring.q().len()), 1) as u64;
    polys.saturating_mul(2).saturating_mul(max_batch as u64).saturating_add((CIPHERTEXT_FIELDS + SEED) as u64)
}

/// Where the first version of CKKS parameters has log2 N, which is never 0, later ones have 0 and
/// their number.
const CKKS_PARAMS_VERSION: [u8; 2] = [0, 2];

fn decode_spec(frame: &Frame) -> Result<CkksSpec> {
    frame.expect(FrameKind::CkksParams, frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    let first = fields.u8("degree")?;
    let grouped = first == CKKS_PARAMS_VERSION[0];
    let log_n = if grouped {
        let (found, supported) = (fields.u8("version")?, CKKS_PARAMS_VERSION[1]);
        if found != supported {
            return Err(WireError::UnsupportedBody { kind: frame.kind, found, supported }.into());
        }
        u32::from(fields.u8("degree")?)
    } else {
        u32::from(first)
    };
    let mut primes = || -> Result<Vec<u64>> {
        let count = fields.u16("number of primes")?;
        (0..count).map(|_| Ok(fields.u64("prime")?)).collect()
    };
    let (q, p) = (primes()?, primes()?);
    let mut list = |field| -> Result<Vec<usize>> {
        let count = fields.u16(field)?;
        (0..count).map(|_| Ok(usize::from(fields.u16(field)?))).collect()
    };
    let (level_primes, ends) = (list("list of levels")?, list("list of digits")?);
    let groups = if grouped {
        const FIELD: &str = "list of level groups";
        let count = fields.u16(FIELD)?;
        // One group has one form: that of version 1.
        if count < 2 {
            return Err(WireError::Field { kind: frame.kind, field: FIELD }.into());
        }
        let mut group = || -> Result<LevelGroup> {
            let (levels, scale_log2) = (usize::from(fields.u16(FIELD)?), fields.f64("scale")?);
            Ok(LevelGroup { levels, scale_log2 })
        };
        (0..count).map(|_| group()).collect::<Result<Vec<_>>>()?
    } else {
        vec![LevelGroup { levels: level_primes.len(), scale_log2: fields.f64("scale")? }]
    };
    fields.end()?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let digits = starts.zip(&ends).map(|(start, &end)| start..end).collect();
    Ok(CkksSpec { log_n, q, p, level_primes, digits, groups })
}

impl WireParams for CkksParams {
    const KIND: FrameKind = FrameKind::CkksParams;
    const MAX_BODY: u64 = MAX_PARAMS;

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    /// Version 1 if all levels are of one group, otherwise version 2.
    fn to_frame(&self) -> Frame {
        let spec = self.spec();
        let mut body = match spec.groups.as_slice() {
            [_] => Vec::new(),
            _ => CKKS_PARAMS_VERSION.to_vec(),
        };
        body.push(spec.log_n as u8);
        for primes in [&spec.q, &spec.p] {
            body.extend((primes.len() as u16).to_le_bytes());
            primes.iter().for_each(|prime| body.extend(prime.to_le_bytes()));
        }
        let ends: Vec<usize> = spec.digits.iter().map(|digit| digit.end).collect();
        for list in [&spec.level_primes, &ends] {
            body.extend((list.len() as u16).to_le_bytes());
            list.iter().for_each(|&count| body.extend((count as u16).to_le_bytes()));
        }
        match spec.groups.as_slice() {
            [group] => body.extend(group.scale_log2.to_bits().to_le_bytes()),
            groups => {
                body.extend((groups.len() as u16).to_le_bytes());
                for group in groups {
                    body.extend((group.levels as u16).to_le_bytes());
                    body.extend(group.scale_log2.to_bits().to_le_bytes());
                }
            }
        }
        frame(self, FrameKind::CkksParams, body)
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::try_from(decode_spec(frame)?)?)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::insecure(decode_spec(frame)?)?)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        key_frame_limit(self, kind)
    }

    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        ciphertext_frame_limit(self, max_batch)
    }
}

impl SchemeParams for CkksParams {
    fn rlwe(&self) -> &RlweParams {
        self.rlwe()
    }
}

/// Two bits per coefficient. Constant time; reading is so for valid keys.
impl<P: SchemeParams> Wire<P> for SecretKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.params().fingerprint(), "secret key")?;
        Ok(frame(params, FrameKind::SecretKey, pack_ternary(self.expose_coefficients())))
    }

    fn from_frame(params: &P, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::SecretKey, params.fingerprint())?;
        let coefficients = unpack_ternary(frame, params.rlwe().ring().n())?;
        Self::from_coefficients(params.rlwe(), coefficients)
            .map_err(|_| WireError::Field { kind: frame.kind, field: "coefficient" }.into())
    }
}

/// Packs two bits per coefficient. Constant time.
pub(super) fn pack_ternary(coefficients: &[i8]) -> Vec<u8> {
    let byte =
        |four: &[i8]| four.iter().enumerate().fold(0u8, |byte, (i, &c)| byte | (((c + 1) as u8) << (2 * i)));
    coefficients.chunks(4).map(byte).collect()
}

/// The n coefficients of such a body; 3, which is not a valid code, is read as 2.
pub(super) fn unpack_ternary(frame: &Frame, n: usize) -> Result<Zeroizing<Vec<i8>>, WireError> {
    unpack_ternary_at(frame, 0, n)
}

/// The n coefficients after the first `head` bytes of a body.
pub(super) fn unpack_ternary_at(
    frame: &Frame,
    head: usize,
    n: usize,
) -> Result<Zeroizing<Vec<i8>>, WireError> {
    let expected = head + n / 4;
    if frame.body.len() != expected {
        let (found, expected) = (frame.body.len() as u64, expected as u64);
        return Err(WireError::Length { kind: frame.kind, found, expected });
    }
    // The vector has its full size at once, because a growing vector leaves copies of the secret
    // behind.
    let mut coefficients = Zeroizing::new(Vec::with_capacity(n));
    coefficients.extend(
        frame.body[head..].iter().flat_map(|&byte| (0..4).map(move |i| ((byte >> (2 * i)) & 3) as i8 - 1)),
    );
    Ok(coefficients)
}

pub(super) fn check_ring<B: RingOps>(params: &impl SchemeParams, ring: &Ring<B>) -> Result<()> {
    if ring.spec() == params.rlwe().ring() { Ok(()) } else { Err(Error::RingMismatch) }
}

pub(super) fn check_params(params: &impl SchemeParams, found: Fingerprint, what: &'static str) -> Result<()> {
    let expected = params.rlwe().fingerprint();
    if found != expected {
        return Err(Error::ParamsMismatch { what, found: found.to_string(), expected: expected.to_string() });
    }
    Ok(())
}

impl UserKey {
    /// The key as a frame, under its own fingerprint.
    pub fn to_frame(&self) -> Frame {
        let fingerprint = Fingerprint(self.fingerprint());
        Frame { kind: FrameKind::AesKey, fingerprint, body: self.expose_bytes().to_vec() }
    }

    /// The key from [`to_frame`](Self::to_frame). Constant time for valid keys.
    ///
    /// # Errors
    /// [`WireError::UnexpectedKind`], [`WireError::Length`], and [`WireError::Field`] for a
    /// fingerprint that is not the key's.
    pub fn from_frame(frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::AesKey, frame.fingerprint)?;
        let found = frame.body.len() as u64;
        let wrong = WireError::Length { kind: frame.kind, found, expected: Self::LEN as u64 };
        let key = Self::new(frame.body.as_slice().try_into().map_err(|_| wrong)?);
        if key.fingerprint() != frame.fingerprint.0 {
            return Err(WireError::Field { kind: frame.kind, field: "fingerprint" }.into());
        }
        Ok(key)
    }
}

impl SensorKey {
    /// The key as a frame, under its own fingerprint.
    pub fn to_frame(&self) -> Frame {
        let fingerprint = Fingerprint(self.fingerprint());
        Frame { kind: FrameKind::SensorKey, fingerprint, body: self.key().expose_bytes().to_vec() }
    }

    /// The key from [`to_frame`](Self::to_frame). Constant time for valid keys.
    ///
    /// # Errors
    /// [`WireError::UnexpectedKind`], [`WireError::Length`], and [`WireError::Field`] for a
    /// fingerprint that is not the key's.
    pub fn from_frame(frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::SensorKey, frame.fingerprint)?;
        let (found, expected) = (frame.body.len() as u64, KeySize::Bits256.bytes() as u64);
        let wrong = WireError::Length { kind: frame.kind, found, expected };
        let key = Self::new(Key::from_slice(&frame.body).map_err(|_| wrong)?);
        if key.fingerprint() != frame.fingerprint.0 {
            return Err(WireError::Field { kind: frame.kind, field: "fingerprint" }.into());
        }
        Ok(key)
    }
}

/// The seed of a, and b; or b and a, where a comes from no seed.
impl<P: SchemeParams, B: RingOps> Wire<P> for PublicKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.params().fingerprint(), "public key")?;
        let (kind, body) = match self.seed() {
            Some(seed) => (FrameKind::PublicKey, with_polys(params, &seed.0, [self.body()])?),
            None => (FrameKind::UnseededPublicKey, with_polys(params, &[], [self.body(), self.mask()])?),
        };
        Ok(frame(params, kind, body))
    }

    fn from_frame(params: &P, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        let unseeded = frame.kind == FrameKind::UnseededPublicKey;
        frame.expect(if unseeded { frame.kind } else { FrameKind::PublicKey }, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let span = Span::chain(params.rlwe().ring().q().len());
        let poly = |bytes: &[u8]| take_poly(params, ring, frame.kind, (span, 1), bytes);
        if unseeded {
            let rest = fields.rest();
            let half = check_polys(params, frame.kind, span, 1, 2, rest)?;
            return Self::from_pair(params.rlwe(), [poly(&rest[..half])?, poly(&rest[half..])?]);
        }
        let seed = fields.seed()?;
        Self::from_body(params.rlwe(), seed, poly(fields.rest())?)
    }
}

/// A head and packed polynomials.
pub(super) fn with_polys<'a, B: RingOps>(
    params: &impl SchemeParams,
    head: &[u8],
    polys: impl IntoIterator<Item = &'a Poly<Eval, B>> + Clone,
) -> Result<Vec<u8>> {
    let ring = params.rlwe().ring();
    let bytes = |poly: &Poly<Eval, B>| packed_len(ring, poly.span(), poly.batch());
    let mut body = vec![0; head.len() + polys.clone().into_iter().map(bytes).sum::<usize>()];
    let (start, mut rest) = body.split_at_mut(head.len());
    start.copy_from_slice(head);
    for poly in polys {
        let (out, after) = rest.split_at_mut(bytes(poly));
        pack(ring, poly.span(), poly.batch(), &poly.to_words()?, out);
        rest = after;
    }
    Ok(body)
}

/// The bytes of a switching key: the seed of the a_j, and the b_j.
pub(super) fn switch_key_len(rlwe: &RlweParams) -> usize {
    SEED + rlwe.digits().len() * packed_len(rlwe.ring(), rlwe.key_span(), 1)
}

pub(super) fn encode_switch_key<B: RingOps>(
    rlwe: &RlweParams,
    key: &SwitchKey<B>,
    body: &mut Vec<u8>,
) -> Result<()> {
    rlwe.check_same(key.params(), "evaluation key")?;
    body.extend(key.known_seed()?.0);
    let (ring, span) = (rlwe.ring(), rlwe.key_span());
    for digit in 0..rlwe.digits().len() {
        let start = body.len();
        body.resize(start + packed_len(ring, span, 1), 0);
        pack(ring, span, 1, &key.body_words(digit)?, &mut body[start..]);
    }
    Ok(())
}

pub(super) fn decode_switch_key<B: RingOps>(
    rlwe: &RlweParams,
    ring: &Ring<B>,
    mut fields: Fields<'_>,
    kind: FrameKind,
) -> Result<SwitchKey<B>> {
    let seed: Seed = fields.seed()?;
    let span = rlwe.key_span();
    let length = packed_len(rlwe.ring(), span, 1);
    let mut bodies: Vec<Poly<Eval, B>> = Vec::new();
    for _ in rlwe.digits() {
        let words = unpack(kind, rlwe.ring(), span, 1, fields.take(length, "length")?)?;
        bodies.push(Poly::from_words(ring, span, 1, &words)?);
    }
    fields.end()?;
    SwitchKey::from_bodies(rlwe, ring, seed, &bodies)
}

impl<B: RingOps> SwitchKey<B> {
    /// Reads a relinearisation or Galois key of `params` for ciphertexts over few primes: `cut` are
    /// the parameters [up to](RlweParams::up_to_primes) these, and `ring` is theirs. The key has
    /// their digits and primes alone, and switches such ciphertexts to the words of the whole key.
    ///
    /// # Errors
    /// The same as for [`WireKeys::insert_frame`]; [`Error::RingMismatch`] for parameters or a ring
    /// that are not cut from these.
    pub fn of_frame<P: SchemeParams>(
        params: &P,
        cut: &RlweParams,
        ring: &Ring<B>,
        frame: &Frame,
    ) -> Result<(SwitchKeyUse, Self)> {
        let (rlwe, q) = (params.rlwe(), cut.ring().q().len());
        if rlwe.up_to_primes(q)? != *cut || ring.spec() != cut.ring() {
            return Err(Error::RingMismatch);
        }
        let (used, mut fields) = key_use(params, frame)?;
        let seed = seeded(frame.kind).then(|| fields.seed()).transpose()?;
        let (whole, kept, n) = (rlwe.key_span(), cut.key_span(), rlwe.ring().n());
        let length = packed_len(rlwe.ring(), whole, 1);
        let mut pairs = Vec::with_capacity(cut.digits().len());
        for j in 0..rlwe.digits().len() {
            let parts = fields.take(length * if seed.is_some() { 1 } else { 2 }, "length")?;
            if j >= cut.digits().len() {
                continue;
            }
            let words = |bytes| {
                let mut words = unpack(frame.kind, rlwe.ring(), whole, 1, bytes)?;
                words.drain(q * n..whole.q * n);
                Ok::<_, Error>(words)
            };
            let (b, a) = parts.split_at(length);
            let b = words(b)?;
            let a = match &seed {
                None => words(a)?,
                Some(seed) => mask(rlwe, &kept, seed, j),
            };
            pairs.push([Poly::from_words(ring, kept, 1, &b)?, Poly::from_words(ring, kept, 1, &a)?]);
        }
        fields.end()?;
        let mut key = Self::from_pairs(cut, ring, &pairs)?;
        key.set_source(match used {
            SwitchKeyUse::Relin => SwitchSource::Square,
            SwitchKeyUse::Galois(g) => SwitchSource::Image(g),
        })?;
        Ok((used, key))
    }
}

/// a_j of a seed over the primes of a key that is cut.
fn mask(rlwe: &RlweParams, kept: &Span, seed: &Seed, j: usize) -> Vec<u64> {
    let (whole, n) = (rlwe.key_span(), rlwe.ring().n());
    let mut words = vec![0; (kept.q + kept.p) * n];
    for (limb, row) in words.chunks_exact_mut(n).enumerate() {
        let prime = kept.prime(limb, whole.q);
        uniform_row(seed, j as u32, prime, &rlwe.ring().moduli()[prime], 0, row);
    }
    words
}

/// Whether the a_j of a switching key of this kind come from a seed.
fn seeded(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::RelinKey | FrameKind::GaloisKey)
}

/// The use of the switching key in a frame, and the fields after it.
fn key_use<'a>(params: &impl SchemeParams, frame: &'a Frame) -> Result<(SwitchKeyUse, Fields<'a>)> {
    let mut fields = Fields::new(frame.kind, &frame.body);
    if RELIN_KINDS.contains(&frame.kind) {
        frame.expect(frame.kind, params.fingerprint())?;
        return Ok((SwitchKeyUse::Relin, fields));
    }
    let kind = if GALOIS_KINDS.contains(&frame.kind) { frame.kind } else { FrameKind::GaloisKey };
    frame.expect(kind, params.fingerprint())?;
    let g = fields.u64("galois element")?;
    match g % 2 == 1 && g < 2 * params.rlwe().ring().n() as u64 {
        true => Ok((SwitchKeyUse::Galois(g), fields)),
        false => Err(fields.error("galois element").into()),
    }
}

/// b_j and a_j over Q P, digit by digit.
pub(super) fn encode_pairs<B: RingOps>(
    rlwe: &RlweParams,
    key: &SwitchKey<B>,
    body: &mut Vec<u8>,
) -> Result<()> {
    let (span, start) = (rlwe.key_span(), body.len());
    let length = packed_len(rlwe.ring(), span, 1);
    body.resize(start + 2 * rlwe.digits().len() * length, 0);
    for (i, out) in body[start..].chunks_exact_mut(length).enumerate() {
        pack(rlwe.ring(), span, 1, &key.part_words(i / 2, i % 2)?, out);
    }
    Ok(())
}

pub(super) fn decode_pairs<B: RingOps>(
    rlwe: &RlweParams,
    ring: &Ring<B>,
    mut fields: Fields<'_>,
    kind: FrameKind,
) -> Result<SwitchKey<B>> {
    let span = rlwe.key_span();
    let length = packed_len(rlwe.ring(), span, 1);
    let mut pairs: Vec<[Poly<Eval, B>; 2]> = Vec::new();
    for _ in rlwe.digits() {
        let mut part = || {
            let words = unpack(kind, rlwe.ring(), span, 1, fields.take(length, "length")?)?;
            Poly::from_words(ring, span, 1, &words)
        };
        pairs.push([part()?, part()?]);
    }
    fields.end()?;
    SwitchKey::from_pairs(rlwe, ring, &pairs)
}

/// A key after a head: as the seed of the a_j and the b_j under the first kind, or as pairs, if the
/// a_j come from no seed, under the second.
fn key_frame<B: RingOps>(
    params: &impl SchemeParams,
    key: &SwitchKey<B>,
    [seeded, unseeded]: [FrameKind; 2],
    mut body: Vec<u8>,
) -> Result<Frame> {
    let rlwe = params.rlwe();
    if key.seed().is_some() {
        encode_switch_key(rlwe, key, &mut body)?;
        return Ok(frame(params, seeded, body));
    }
    rlwe.check_same(key.params(), "evaluation key")?;
    encode_pairs(rlwe, key, &mut body)?;
    Ok(frame(params, unseeded, body))
}

const RELIN_KINDS: [FrameKind; 2] = [FrameKind::RelinKey, FrameKind::UnseededRelinKey];
const GALOIS_KINDS: [FrameKind; 2] = [FrameKind::GaloisKey, FrameKind::UnseededGaloisKey];

/// Relinearisation keys are the seed of the a_j and the b_j, or the b_j and a_j if these come from
/// no seed; Galois keys have their element before.
impl<P: SchemeParams, B: RingOps> WireKeys<P> for EvaluationKeys<B> {
    type Place<'a> = &'a Ring<B>;

    fn empty(params: &P, ring: &Ring<B>) -> Result<Self> {
        Self::empty(params.rlwe(), ring)
    }

    fn to_frames(&self, params: &P) -> impl Iterator<Item = Result<Frame>> {
        let relin = self.relin().ok().into_iter();
        let relin = relin.map(|key| key_frame(params, key, RELIN_KINDS, Vec::new()));
        let galois = self.galois_keys();
        let galois = galois.map(|(g, key)| key_frame(params, key, GALOIS_KINDS, g.to_le_bytes().to_vec()));
        relin.chain(galois)
    }

    fn insert_frame(&mut self, params: &P, frame: &Frame) -> Result<SwitchKeyUse> {
        let ring = self.ring().clone();
        let (used, fields) = key_use(params, frame)?;
        let decode = if seeded(frame.kind) { decode_switch_key } else { decode_pairs };
        let key = decode(params.rlwe(), &ring, fields, frame.kind)?;
        match used {
            SwitchKeyUse::Relin => self.insert_relin(key)?,
            SwitchKeyUse::Galois(g) => self.insert_galois(g, key)?,
        }
        Ok(used)
    }
}

/// The fields of a ciphertext frame before its polynomials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CiphertextHeader {
    /// The level.
    pub level: usize,
    /// Slots of each vector.
    pub slots: usize,
    /// Vectors side by side.
    pub batch: usize,
    /// The scale, unchecked.
    pub scale: f64,
}

impl CiphertextHeader {
    /// The fields of a ciphertext frame, seeded or not, without its polynomials.
    ///
    /// # Errors
    /// [`Error::Wire`].
    pub fn from_frame(params: &CkksParams, frame: &Frame) -> Result<Self> {
        let seeded = frame.kind == FrameKind::CkksSeededCiphertext;
        frame.expect(if seeded { frame.kind } else { FrameKind::CkksCiphertext }, params.fingerprint())?;
        Ok(take_fields(params, &mut Fields::new(frame.kind, &frame.body))?.0)
    }
}

fn fields(level: usize, slots: usize, batch: usize, scale: f64) -> Vec<u8> {
    let mut fields = (level as u16).to_le_bytes().to_vec();
    fields.push(slots.trailing_zeros() as u8);
    fields.extend((batch as u32).to_le_bytes());
    fields.extend(scale.to_bits().to_le_bytes());
    fields
}

fn take_fields(params: &CkksParams, fields: &mut Fields<'_>) -> Result<(CiphertextHeader, Span)> {
    let level = usize::from(fields.u16("level")?);
    let log_slots = fields.u8("number of slots")?;
    let batch = fields.u32("batch")? as usize;
    let scale = fields.f64("scale")?;
    let span = Span::chain(params.level(level).map_err(|_| fields.error("level"))?.primes);
    if u32::from(log_slots) >= params.rlwe().ring().log_n() {
        return Err(fields.error("number of slots").into());
    }
    if batch == 0 {
        return Err(fields.error("batch").into());
    }
    Ok((CiphertextHeader { level, slots: 1 << log_slots, batch, scale }, span))
}

/// Half of the remaining bytes, if both halves have exactly the bytes of a batch.
pub(super) fn check_polys(
    params: &impl SchemeParams,
    kind: FrameKind,
    span: Span,
    batch: usize,
    polys: usize,
    rest: &[u8],
) -> Result<usize> {
    let one = packed_len(params.rlwe().ring(), span, 1) as u64;
    let expected = one.saturating_mul(batch as u64).saturating_mul(polys as u64);
    if rest.len() as u64 != expected {
        return Err(WireError::Length { kind, found: rest.len() as u64, expected }.into());
    }
    Ok(rest.len() / polys)
}

impl<B: RingOps> Wire<CkksParams> for Ciphertext<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &CkksParams) -> Result<Frame> {
        self.check(params)?;
        let head = fields(self.level(), self.slots(), self.batch(), self.scale());
        Ok(frame(params, FrameKind::CkksCiphertext, with_polys(params, &head, self.pair().parts())?))
    }

    fn from_frame(params: &CkksParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::CkksCiphertext, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (CiphertextHeader { level, slots, batch, scale }, span) = take_fields(params, &mut fields)?;
        let rest = fields.rest();
        let half = check_polys(params, frame.kind, span, batch, 2, rest)?;
        let poly = |bytes: &[u8]| take_poly(params, ring, frame.kind, (span, batch), bytes);
        let pair = RlweCiphertext::new(poly(&rest[..half])?, poly(&rest[half..])?)?;
        Self::from_parts(params, pair, level, scale, slots)
    }
}

/// The second half of each ciphertext is a seed.
impl<B: RingOps> Wire<CkksParams> for SeededCiphertext<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &CkksParams) -> Result<Frame> {
        self.check(params)?;
        let (c0, seed) = self.parts();
        let head = [&fields(self.level(), self.slots(), self.batch(), self.scale())[..], &seed.0].concat();
        Ok(frame(params, FrameKind::CkksSeededCiphertext, with_polys(params, &head, [c0])?))
    }

    fn from_frame(params: &CkksParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::CkksSeededCiphertext, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (CiphertextHeader { level, slots, batch, scale }, span) = take_fields(params, &mut fields)?;
        let seed = fields.seed()?;
        let rest = fields.rest();
        check_polys(params, frame.kind, span, batch, 1, rest)?;
        let c0 = take_poly(params, ring, frame.kind, (span, batch), rest)?;
        Self::from_parts(params, c0, seed, level, scale, slots)
    }
}

/// A packed batch of polynomials.
pub(super) fn take_poly<B: RingOps>(
    params: &impl SchemeParams,
    ring: &Ring<B>,
    kind: FrameKind,
    (span, batch): (Span, usize),
    bytes: &[u8],
) -> Result<Poly<Eval, B>> {
    check_ring(params, ring)?;
    Poly::from_words(ring, span, batch, &unpack(kind, params.rlwe().ring(), span, batch, bytes)?)
}
