//! Parameters, keys, bits and integers of TFHE as frames: kinds 25 to 30, 32 to 34, 42, 43, 53
//! to 56 and 58. Torus elements are stored as they are: all words are valid.

use super::bytes::Fields;
use super::objects::SEED;
use super::{Frame, FrameKind, Wire, WireError, WireParams, as_written};
use crate::aes::KeySize;
use crate::error::{Error, Result};
use crate::ring::Seed;
use crate::rlwe::Fingerprint;
use crate::tfhe::{
    BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, CompactPublicKey, EncryptedBits, EncryptedFlags,
    EncryptedUint, FreshBits, FreshFlags, FreshInteger, FreshLwe, Gadget, GlweMasks, LweBatch, LweOps, Masks,
    SeededLwe, Signedness, TfheParams, TfheSecretKey, TfheSpec, digits_of,
};
use crate::transcipher::EncryptedAesKey;
use zeroize::Zeroizing;

/// n, k, log2 N, both deviations, base and levels of both gadgets.
const PARAMS: usize = 2 + 1 + 1 + 2 * 8 + 2 * 2;
/// The most bytes of fields before ciphertexts: width and batch.
const CIPHERTEXT_FIELDS: u64 = 2 + 4;

fn frame(params: &TfheParams, kind: FrameKind, body: Vec<u8>) -> Frame {
    Frame { kind, fingerprint: params.fingerprint(), body }
}

/// Bits of both secrets.
fn secret_bits(params: &TfheParams) -> usize {
    params.spec().lwe_dimension + params.dimension()
}

/// Words of 64 bits in the bodies of the GGSW rows, and of 32 bits in those of the switching key,
/// of a key by groups of so many bits.
fn key_words(params: &TfheParams, group: usize) -> [usize; 2] {
    let bootstrap = params.key_ggsws(group) * params.rows() * params.degree();
    [bootstrap, params.dimension() * params.spec().switch.levels as usize]
}

/// The bytes of the body of a frame with such a key: the group of a multi-bit key, the seed, both
/// parts.
fn bootstrap_key_len(params: &TfheParams, group: usize) -> usize {
    let [bootstrap, switch] = key_words(params, group);
    usize::from(group > 1) + SEED + 8 * bootstrap + 4 * switch
}

/// The longest body of a frame with at most `max_count` fresh ciphertexts, likewise.
pub fn fresh_frame_limit<M: WireMasks>(params: &TfheParams, max_count: usize) -> u64 {
    let count = max_count as u64;
    8u64.saturating_mul(count).saturating_add(M::length(params, count)).saturating_add(CIPHERTEXT_FIELDS)
}

/// Masks in the frames of fresh ciphertexts.
pub trait WireMasks: Masks {
    /// The kind of frames of bits.
    const BITS: FrameKind;
    /// The kind of frames of integers.
    const INTEGERS: FrameKind;
    /// The kind of frames of conditions.
    const FLAGS: FrameKind;

    /// The bytes of the masks of so many ciphertexts.
    fn length(params: &TfheParams, ciphertexts: u64) -> u64;

    /// Appends the masks to a body.
    fn write(&self, body: &mut Vec<u8>);

    /// The masks of as many bytes as [`length`](Self::length) says.
    ///
    /// # Panics
    /// For another number of bytes.
    fn read(bytes: &[u8]) -> Self;
}

impl WireMasks for Seed {
    const BITS: FrameKind = FrameKind::TfheSeededBits;
    const INTEGERS: FrameKind = FrameKind::TfheSeededUint;
    const FLAGS: FrameKind = FrameKind::TfheSeededFlags;

    fn length(_: &TfheParams, _: u64) -> u64 {
        SEED as u64
    }

    fn write(&self, body: &mut Vec<u8>) {
        body.extend(self.0);
    }

    fn read(bytes: &[u8]) -> Self {
        let mut seed = Self([0; SEED]);
        seed.0.copy_from_slice(bytes);
        seed
    }
}

/// The polynomials of all groups in sequence.
impl WireMasks for GlweMasks {
    const BITS: FrameKind = FrameKind::TfheCompactBits;
    const INTEGERS: FrameKind = FrameKind::TfheCompactUint;
    const FLAGS: FrameKind = FrameKind::TfheCompactFlags;

    fn length(params: &TfheParams, ciphertexts: u64) -> u64 {
        ciphertexts.div_ceil(params.degree() as u64).saturating_mul(8 * params.dimension() as u64)
    }

    fn write(&self, body: &mut Vec<u8>) {
        body.extend(self.words().iter().flat_map(|word| word.to_le_bytes()));
    }

    fn read(bytes: &[u8]) -> Self {
        Self::from_words(words(bytes))
    }
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

impl WireParams for TfheParams {
    const KIND: FrameKind = FrameKind::TfheParams;
    const MAX_BODY: u64 = PARAMS as u64;

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    fn to_frame(&self) -> Frame {
        let spec = self.spec();
        let mut body = (spec.lwe_dimension as u16).to_le_bytes().to_vec();
        body.extend([spec.glwe_dimension as u8, spec.log_degree as u8]);
        for sigma in [spec.lwe_sigma_log2, spec.glwe_sigma_log2] {
            body.extend(sigma.to_bits().to_le_bytes());
        }
        for gadget in [spec.bootstrap, spec.switch] {
            body.extend([gadget.base_log as u8, gadget.levels as u8]);
        }
        frame(self, FrameKind::TfheParams, body)
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::try_from(decode_spec(frame)?)?)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        as_written(frame, Self::insecure(decode_spec(frame)?)?)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        (match kind {
            FrameKind::TfheSecretKey => secret_bits(self).div_ceil(8),
            FrameKind::TfheBootstrapKey => bootstrap_key_len(self, 1),
            FrameKind::TfheMultiBitKey => {
                let groups = (2..=4).filter(|&group| self.check_group(group).is_ok());
                groups.map(|group| bootstrap_key_len(self, group)).max().unwrap_or(0)
            }
            FrameKind::TfheCircuitKey => {
                let switch = Gadget { base_log: 1, levels: 16 };
                let most = CircuitParams::new(self, CircuitSpec { switch, ..CircuitSpec::default() });
                most.map_or(0, |most| circuit_key_len(&most))
            }
            FrameKind::TfhePublicKey => SEED + 8 * self.dimension(),
            FrameKind::EncryptedAesKey => aes_key_len(KeySize::Bits256),
            _ => 0,
        }) as u64
    }

    /// The ciphertexts of a batch are bits, conditions, or digits of integers (two bits each).
    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        (8 * self.words() as u64).saturating_mul(max_batch as u64).saturating_add(CIPHERTEXT_FIELDS)
    }
}

/// Checks that a body has exactly this length, which is known before anything is allocated.
fn expect_length(frame: &Frame, expected: u64) -> Result<()> {
    let found = frame.body.len() as u64;
    if found != expected {
        return Err(WireError::Length { kind: frame.kind, found, expected }.into());
    }
    Ok(())
}

/// One bit per bit of both secrets. Constant time; reading is so for valid keys.
impl Wire<TfheParams> for TfheSecretKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        check_params(params, self.params(), "secret key")?;
        let mut body = vec![0; secret_bits(params).div_ceil(8)];
        for (i, bit) in self.expose_secrets().into_iter().flatten().enumerate() {
            body[i / 8] |= (*bit as u8) << (i % 8);
        }
        Ok(frame(params, FrameKind::TfheSecretKey, body))
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfheSecretKey, params.fingerprint())?;
        expect_length(frame, params.key_frame_limit(frame.kind))?;
        let bit = |i: usize| u64::from(frame.body[i / 8] >> (i % 8) & 1);
        let (small, all) = (params.spec().lwe_dimension, secret_bits(params));
        if (all..8 * frame.body.len()).any(|i| bit(i) != 0) {
            return Err(WireError::Field { kind: frame.kind, field: "padding" }.into());
        }
        let secret = |range: std::ops::Range<usize>| Zeroizing::new(range.map(bit).collect::<Vec<_>>());
        Self::from_read_secrets(params, secret(0..small), secret(small..all))
    }
}

/// The group of a multi-bit key, whose frames are of a kind of their own, the seed of the masks,
/// the bodies of the GGSW rows, those of the switching key.
impl Wire<TfheParams> for BootstrapKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        check_params(params, self.params(), "bootstrapping key")?;
        let (seed, bootstrap, switch) = self.bodies();
        let mut body = Vec::with_capacity(bootstrap_key_len(params, self.group()));
        let kind = match self.group() {
            1 => FrameKind::TfheBootstrapKey,
            group => {
                body.push(group as u8);
                FrameKind::TfheMultiBitKey
            }
        };
        body.extend(seed.0);
        body.extend(bootstrap.iter().flat_map(|word| word.to_le_bytes()));
        body.extend(switch.iter().flat_map(|word| word.to_le_bytes()));
        Ok(frame(params, kind, body))
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        let mut fields = Fields::new(frame.kind, &frame.body);
        let group = if frame.kind == FrameKind::TfheMultiBitKey {
            frame.expect(frame.kind, params.fingerprint())?;
            let group = usize::from(fields.u8("group")?);
            params.check_group(group)?;
            group
        } else {
            frame.expect(FrameKind::TfheBootstrapKey, params.fingerprint())?;
            1
        };
        expect_length(frame, bootstrap_key_len(params, group) as u64)?;
        let seed = fields.seed()?;
        let bootstrap = words(fields.take(8 * key_words(params, group)[0], "length")?);
        let switch = fields.rest().as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        Ok(Self::from_bodies(params, group, seed, bootstrap, switch))
    }
}

/// The seed of the masks, and the bodies.
impl Wire<TfheParams> for CompactPublicKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        check_params(params, self.params(), "public key")?;
        let (seed, bodies) = self.bodies();
        let mut body = seed.0.to_vec();
        body.extend(bodies.iter().flat_map(|word| word.to_le_bytes()));
        Ok(frame(params, FrameKind::TfhePublicKey, body))
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfhePublicKey, params.fingerprint())?;
        expect_length(frame, params.key_frame_limit(frame.kind))?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let seed = fields.seed()?;
        Ok(Self::from_bodies(params, seed, words(fields.rest())))
    }
}

/// The length of the body of a frame with a key of circuit bootstrapping: the decompositions, base
/// and levels of each, the seed and the bodies.
pub fn circuit_key_len(params: &CircuitParams) -> usize {
    4 + SEED + 8 * params.key_rows() * params.tfhe().degree()
}

/// The decompositions of the selection and of the key switch, the seed of the masks, the bodies.
impl Wire<TfheParams> for CircuitKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        check_params(params, self.params().tfhe(), "key of circuit bootstrapping")?;
        let (spec, (seed, bodies)) = (self.params().spec(), self.bodies());
        let mut body = Vec::with_capacity(circuit_key_len(self.params()));
        for gadget in [spec.select, spec.switch] {
            body.extend([gadget.base_log as u8, gadget.levels as u8]);
        }
        body.extend(seed.0);
        body.extend(bodies.iter().flat_map(|word| word.to_le_bytes()));
        Ok(frame(params, FrameKind::TfheCircuitKey, body))
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfheCircuitKey, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let mut gadget = || -> Result<Gadget> {
            let (base_log, levels) = (fields.u8("base")?, fields.u8("number of levels")?);
            Ok(Gadget { base_log: base_log.into(), levels: levels.into() })
        };
        let spec = CircuitSpec { select: gadget()?, switch: gadget()? };
        let params = CircuitParams::new(params, spec)?;
        expect_length(frame, circuit_key_len(&params) as u64)?;
        let seed = fields.seed()?;
        Ok(Self::from_bodies(&params, seed, words(fields.rest())))
    }
}

/// The bytes of the key, the seed and a body for each bit.
fn aes_key_len(size: KeySize) -> usize {
    1 + SEED + 8 * EncryptedAesKey::bits_of(size)
}

/// The size of the key in bytes, the seed of the masks, and a body for each bit of the round keys.
impl Wire<TfheParams> for EncryptedAesKey {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        encode_fresh(params, FrameKind::EncryptedAesKey, &[self.size().bytes() as u8], self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::EncryptedAesKey, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let size = KeySize::from_bytes(fields.u8("size")?.into()).ok_or_else(|| fields.error("size"))?;
        expect_length(frame, aes_key_len(size) as u64)?;
        let seed = fields.seed()?;
        Self::from_ciphertexts(size, SeededLwe::from_bodies(params, seed, words(fields.rest())))
    }
}

fn check_params(params: &TfheParams, found: &TfheParams, what: &'static str) -> Result<()> {
    let [found, expected] = [found, params].map(TfheParams::fingerprint);
    if found != expected {
        let [found, expected] = [found, expected].map(|fingerprint| fingerprint.to_string());
        return Err(Error::ParamsMismatch { what, found, expected });
    }
    Ok(())
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()
}

/// The length of a batch as it is written.
fn count(batch: usize) -> Result<[u8; 4]> {
    let batch = u32::try_from(batch).map_err(|_| {
        Error::domain("batch", batch.to_string(), "at most 2^32 - 1 fit a frame, use several")
    })?;
    Ok(batch.to_le_bytes())
}

fn encode_ciphertexts<B: LweOps>(
    params: &TfheParams,
    kind: FrameKind,
    fields: &[u8],
    ciphertexts: &LweBatch<B>,
) -> Result<Frame> {
    check_params(params, ciphertexts.params(), BATCH)?;
    let words = ciphertexts.download()?;
    let mut body = Vec::with_capacity(fields.len() + 8 * words.len());
    body.extend(fields);
    body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    Ok(frame(params, kind, body))
}

/// The batch, which is the last field, and what follows it: `each` ciphertexts per entry, and
/// nothing else.
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

fn encode_fresh<M: WireMasks>(
    params: &TfheParams,
    kind: FrameKind,
    fields: &[u8],
    ciphertexts: &FreshLwe<M>,
) -> Result<Frame> {
    check_params(params, ciphertexts.params(), BATCH)?;
    let (masks, bodies) = ciphertexts.bodies();
    let length = M::length(params, bodies.len() as u64) as usize;
    let mut body = Vec::with_capacity(fields.len() + length + 8 * bodies.len());
    body.extend(fields);
    masks.write(&mut body);
    body.extend(bodies.iter().flat_map(|word| word.to_le_bytes()));
    Ok(frame(params, kind, body))
}

/// The batch, the masks and `each` bodies per entry, and nothing else.
fn decode_fresh<M: WireMasks>(
    params: &TfheParams,
    frame: &Frame,
    mut fields: Fields<'_>,
    each: usize,
) -> Result<FreshLwe<M>> {
    let ciphertexts = batch(&mut fields)? * each as u64;
    let rest = fields.rest();
    // No product reaches 2^64: 2^32 x 2^7 x 2^15 x 2^3.
    let masks = M::length(params, ciphertexts);
    expect_length(frame, (frame.body.len() - rest.len()) as u64 + masks + 8 * ciphertexts)?;
    let (masks, bodies) = rest.split_at(masks as usize);
    Ok(FreshLwe::from_bodies(params, M::read(masks), words(bodies)))
}

/// The name of the object in errors.
const BATCH: &str = "batch of LWE ciphertexts";

/// The fields of a batch of integers.
fn uint_fields(bits: usize, batch: usize) -> Result<Vec<u8>> {
    Ok([&(bits as u16).to_le_bytes()[..], &count(batch)?].concat())
}

/// The width of a batch of integers, and their digits.
fn take_width(fields: &mut Fields<'_>) -> Result<(usize, usize)> {
    let bits = usize::from(fields.u16("width")?);
    Ok((bits, digits_of(bits).map_err(|_| fields.error("width"))?))
}

impl<B: LweOps> Wire<TfheParams> for EncryptedBits<B> {
    type Place<'a> = &'a B;

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        encode_ciphertexts(params, FrameKind::TfheBits, &count(self.count())?, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, backend: &B, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfheBits, params.fingerprint())?;
        let fields = Fields::new(frame.kind, &frame.body);
        Ok(Self::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, 1)?))
    }
}

impl<B: LweOps> Wire<TfheParams> for EncryptedUint<B> {
    type Place<'a> = &'a B;

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        let fields = uint_fields(self.bits(), self.batch())?;
        encode_ciphertexts(params, FrameKind::TfheUint, &fields, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, backend: &B, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfheUint, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (bits, digits) = take_width(&mut fields)?;
        Self::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, digits)?, bits)
    }
}

impl<B: LweOps> Wire<TfheParams> for EncryptedFlags<B> {
    type Place<'a> = &'a B;

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        encode_ciphertexts(params, FrameKind::TfheFlags, &count(self.batch())?, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, backend: &B, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::TfheFlags, params.fingerprint())?;
        let fields = Fields::new(frame.kind, &frame.body);
        Ok(Self::from_ciphertexts(decode_ciphertexts(backend, params, frame, fields, 1)?))
    }
}

/// The masks, and a body for each bit. Memory is that of the frame until the bits are expanded.
impl<M: WireMasks> Wire<TfheParams> for FreshBits<M> {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        encode_fresh(params, M::BITS, &count(self.count())?, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(M::BITS, params.fingerprint())?;
        let fields = Fields::new(frame.kind, &frame.body);
        Ok(Self::from_ciphertexts(decode_fresh(params, frame, fields, 1)?))
    }
}

/// The masks, and a body for each digit, whether or not the integers have a sign. Memory is that of
/// the frame until the integers are expanded.
impl<M: WireMasks, S: Signedness> Wire<TfheParams> for FreshInteger<M, S> {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        let fields = uint_fields(self.bits(), self.batch())?;
        encode_fresh(params, M::INTEGERS, &fields, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(M::INTEGERS, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let (bits, digits) = take_width(&mut fields)?;
        Ok(Self::from_ciphertexts(decode_fresh(params, frame, fields, digits)?, bits))
    }
}

/// The masks, and a body for each condition. Memory is that of the frame until the conditions are
/// expanded.
impl<M: WireMasks> Wire<TfheParams> for FreshFlags<M> {
    type Place<'a> = ();

    fn to_frame(&self, params: &TfheParams) -> Result<Frame> {
        encode_fresh(params, M::FLAGS, &count(self.batch())?, self.ciphertexts())
    }

    fn from_frame(params: &TfheParams, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(M::FLAGS, params.fingerprint())?;
        let fields = Fields::new(frame.kind, &frame.body);
        Ok(Self::from_ciphertexts(decode_fresh(params, frame, fields, 1)?))
    }
}
