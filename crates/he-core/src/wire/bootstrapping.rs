//! Parameters and keys of bootstrapping as frames, and keys as sequences of frames, one by one.

use super::bytes::Fields;
use super::objects::{MAX_PARAMS, decode_switch_key, encode_switch_key, frame, switch_key_len};
use super::{
    Frame, FrameKind, FrameReader, FrameWriter, Wire, WireError, WireParams, WireScheme, as_written,
};
use crate::KeySetId;
use crate::backend::RingOps;
use crate::bootstrapping::{
    BootstrapKey, BootstrapKeyUse, BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, KeyCollector,
    LevelRun, Order,
};
use crate::error::{Error, Result};
use crate::exact::bootstrapping::{
    BootstrapParams as ExactBootstrapParams, BootstrapSpec as ExactBootstrapSpec,
};
use crate::ring::Ring;
use crate::rlwe::{Fingerprint, SecretKey, SwitchKey};
use rand::CryptoRng;
use std::io::{Read, Write};

/// The version of the description of a circuit whose first map is SlotsToCoeffs, which is the body
/// of parameters of CKKS. Keys of versions 1 to 6 have other rotations and digits.
const SLOTS_FIRST: u8 = 7;
/// The version of one whose last map it is, which is a part of parameters of BFV and BGV.
const COEFFICIENTS_FIRST: u8 = 8;
/// The only version of the body of parameters of BFV and BGV with bootstrapping.
const EXACT_VERSION: u8 = 1;
/// The bytes of a key's purpose, matrix and Galois element.
const PURPOSE: usize = 1 + 1 + 8;

/// The fingerprint of parameters with this body.
fn fingerprint_of(scheme: &str, body: &[u8]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("he {scheme} bootstrapping parameters 1").as_bytes()).update(body);
    Fingerprint(*hasher.finalize().as_bytes())
}

/// A list of at most 255 numbers of one byte each.
fn push_list(body: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u8>) {
    body.push(numbers.len() as u8);
    body.extend(numbers);
}

fn push_widths(body: &mut Vec<u8>, widths: &[u32]) {
    push_list(body, widths.iter().map(|&bits| bits as u8));
}

fn push_run(body: &mut Vec<u8>, run: &LevelRun) {
    body.extend((run.levels as u16).to_le_bytes());
    body.extend(run.scale_log2.to_bits().to_le_bytes());
    push_widths(body, &run.primes);
}

fn encode_params(params: &BootstrapParams) -> Vec<u8> {
    let (spec, ring) = (params.spec(), params.ring_spec());
    let version = match params.order() {
        Order::SlotsFirst => SLOTS_FIRST,
        Order::CoefficientsFirst => COEFFICIENTS_FIRST,
    };
    let mut body = vec![version, spec.log_n as u8, spec.log_slots as u8, spec.base_bits as u8];
    body.extend(spec.base_scale_log2.to_bits().to_le_bytes());
    push_widths(&mut body, &spec.slots_to_coeffs);
    push_run(&mut body, &spec.program);
    body.push(spec.join.unwrap_or(0) as u8);
    body.push(spec.eval_mod_levels.len() as u8);
    spec.eval_mod_levels.iter().for_each(|run| push_run(&mut body, run));
    push_run(&mut body, &spec.coeffs_to_slots);
    push_widths(&mut body, &spec.special);
    body.push(spec.slots_to_coeffs_special as u8);
    push_list(&mut body, spec.borrowed.iter().map(|&count| count as u8));
    let EvalModShape { bound, degree, doublings, arcsine, focus } = spec.eval_mod;
    body.extend(bound.to_le_bytes());
    body.extend((degree as u16).to_le_bytes());
    body.extend([doublings as u8, u8::from(arcsine)]);
    body.extend(focus.to_bits().to_le_bytes());
    body.extend((spec.sparse_weight as u32).to_le_bytes());
    for primes in [ring.q(), ring.p()] {
        body.extend((primes.len() as u16).to_le_bytes());
        primes.iter().for_each(|prime| body.extend(prime.to_le_bytes()));
    }
    body
}

/// A list of numbers; `names` are those of their count and of each of them.
fn take_list<T: From<u8>>(fields: &mut Fields<'_>, names: [&'static str; 2]) -> Result<Vec<T>, WireError> {
    let count = fields.u8(names[0])?;
    (0..count).map(|_| Ok(fields.u8(names[1])?.into())).collect()
}

fn take_widths(fields: &mut Fields<'_>) -> Result<Vec<u32>, WireError> {
    take_list(fields, ["number of widths", "width"])
}

fn take_run(fields: &mut Fields<'_>) -> Result<LevelRun, WireError> {
    let (levels, scale_log2) = (fields.u16("number of levels")?.into(), fields.f64("scale")?);
    Ok(LevelRun { levels, scale_log2, primes: take_widths(fields)? })
}

/// A description of a circuit, and the primes of its chain and the special ones.
type Described = (BootstrapSpec, Vec<u64>, Vec<u64>);

fn take_version(fields: &mut Fields<'_>, frame: &Frame, supported: u8) -> Result<(), WireError> {
    match fields.u8("version")? {
        found if found == supported => Ok(()),
        found if (1..supported).contains(&found) => {
            Err(WireError::RetiredBody { kind: frame.kind, found, oldest: supported })
        }
        found => Err(WireError::UnsupportedBody { kind: frame.kind, found, supported }),
    }
}

fn decode_params(frame: &Frame) -> Result<Described, WireError> {
    frame.expect(FrameKind::CkksBootstrapParams, frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    take_version(&mut fields, frame, SLOTS_FIRST)?;
    take_circuit(fields)
}

/// Takes the fields that follow the version, to the end of the body.
fn take_circuit(mut fields: Fields<'_>) -> Result<Described, WireError> {
    let (log_n, log_slots) = (fields.u8("degree")?.into(), fields.u8("number of slots")?.into());
    let (base_bits, base_scale_log2) = (fields.u8("width")?.into(), fields.f64("scale")?);
    let slots_to_coeffs = take_widths(&mut fields)?;
    let program = take_run(&mut fields)?;
    let join = match fields.u8("width")? {
        0 => None,
        bits => Some(bits.into()),
    };
    let runs = fields.u8("number of level runs")?;
    let eval_mod_levels = (0..runs).map(|_| take_run(&mut fields)).collect::<Result<_, _>>()?;
    let coeffs_to_slots = take_run(&mut fields)?;
    let special = take_widths(&mut fields)?;
    let slots_to_coeffs_special = fields.u8("number of special primes")?.into();
    let borrowed = take_list(&mut fields, ["number of stages", "number of borrowed primes"])?;
    let (bound, degree) = (fields.u32("bound")?, fields.u16("degree of the reduction")?.into());
    let doublings = fields.u8("number of doublings")?.into();
    let arcsine = match fields.u8("arcsine")? {
        0 => false,
        1 => true,
        _ => return Err(fields.error("arcsine")),
    };
    let eval_mod = EvalModShape { bound, degree, doublings, arcsine, focus: fields.f64("focus")? };
    let sparse_weight = fields.u32("weight of the sparse secret")? as usize;
    let mut primes = || -> Result<Vec<u64>, WireError> {
        let count = fields.u16("number of primes")?;
        (0..count).map(|_| fields.u64("prime")).collect()
    };
    let (q, p) = (primes()?, primes()?);
    fields.end()?;
    let spec = BootstrapSpec {
        log_n,
        log_slots,
        base_bits,
        base_scale_log2,
        slots_to_coeffs,
        program,
        join,
        eval_mod_levels,
        coeffs_to_slots,
        special,
        slots_to_coeffs_special,
        borrowed,
        eval_mod,
        sparse_weight,
    };
    Ok((spec, q, p))
}

impl WireParams for BootstrapParams {
    const KIND: FrameKind = FrameKind::CkksBootstrapParams;
    const MAX_BODY: u64 = MAX_PARAMS;

    fn fingerprint(&self) -> Fingerprint {
        fingerprint_of("ckks", &encode_params(self))
    }

    fn to_frame(&self) -> Frame {
        frame(self, FrameKind::CkksBootstrapParams, encode_params(self))
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        let (spec, q, p) = decode_params(frame)?;
        as_written(frame, Self::over_primes(spec, q, p)?)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        let (spec, q, p) = decode_params(frame)?;
        as_written(frame, Self::over_primes_insecure(spec, q, p)?)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        (match kind {
            FrameKind::CkksSparseKey => switch_key_len(self.key_params(BootstrapKeyUse::ToSparse)),
            FrameKind::CkksBootstrapKey => PURPOSE + self.longest_key(),
            _ => 0,
        }) as u64
    }

    /// The limit of the parameters of programs.
    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        self.params().ciphertext_frame_limit(max_batch)
    }
}

impl BootstrapParams {
    /// The bytes of the longest key but that to the sparse secret.
    fn longest_key(&self) -> usize {
        let maps = (0..self.spec().coeffs_to_slots.levels)
            .map(|matrix| BootstrapKeyUse::CoeffsToSlots { matrix, g: 1 });
        let others = [BootstrapKeyUse::ToDense, BootstrapKeyUse::Relin, BootstrapKeyUse::SlotsToCoeffs(1)];
        let lengths = others.into_iter().chain(maps).map(|purpose| switch_key_len(self.key_params(purpose)));
        lengths.max().unwrap_or(0)
    }

    /// The bytes of the frames of all keys, in a file.
    ///
    /// # Errors
    /// None in practice.
    pub fn key_frames_bytes(&self) -> Result<u64> {
        let size = |purpose| {
            let head = if purpose == BootstrapKeyUse::ToSparse { 0 } else { PURPOSE };
            Frame::size((head + switch_key_len(self.key_params(purpose))) as u64)
        };
        Ok(self.key_uses()?.iter().copied().map(size).sum())
    }
}

fn encode_exact<S: WireScheme>(params: &ExactBootstrapParams<S>) -> Vec<u8> {
    let spec = params.spec();
    let mut body = vec![EXACT_VERSION];
    body.extend(spec.plain_modulus.to_le_bytes());
    body.extend((spec.iterations as u16).to_le_bytes());
    body.extend(encode_params(params.circuit()));
    body
}

/// t, iterations, and the circuit.
fn decode_exact<S: WireScheme>(frame: &Frame) -> Result<(u64, usize, Described), WireError> {
    frame.expect(S::BOOTSTRAP_PARAMS, frame.fingerprint)?;
    let mut fields = Fields::new(frame.kind, &frame.body);
    take_version(&mut fields, frame, EXACT_VERSION)?;
    let (t, iterations) = (fields.u64("plaintext modulus")?, fields.u16("number of iterations")?.into());
    take_version(&mut fields, frame, COEFFICIENTS_FIRST)?;
    Ok((t, iterations, take_circuit(fields)?))
}

fn exact_params<S: WireScheme>(frame: &Frame, secure: bool) -> Result<ExactBootstrapParams<S>> {
    let (plain_modulus, iterations, (circuit, q, p)) = decode_exact::<S>(frame)?;
    let spec = ExactBootstrapSpec { circuit, plain_modulus, iterations };
    let over =
        if secure { ExactBootstrapParams::over_primes } else { ExactBootstrapParams::over_primes_insecure };
    as_written(frame, over(spec, q, p)?)
}

/// Keys are written under the parameters of the circuit
/// ([`circuit`](ExactBootstrapParams::circuit)).
impl<S: WireScheme> WireParams for ExactBootstrapParams<S> {
    const KIND: FrameKind = S::BOOTSTRAP_PARAMS;
    const MAX_BODY: u64 = MAX_PARAMS;

    fn fingerprint(&self) -> Fingerprint {
        fingerprint_of(S::NAME, &encode_exact(self))
    }

    fn to_frame(&self) -> Frame {
        frame(self, S::BOOTSTRAP_PARAMS, encode_exact(self))
    }

    fn from_frame(frame: &Frame) -> Result<Self> {
        exact_params(frame, true)
    }

    fn from_frame_insecure(frame: &Frame) -> Result<Self> {
        exact_params(frame, false)
    }

    fn key_frame_limit(&self, kind: FrameKind) -> u64 {
        self.circuit().key_frame_limit(kind)
    }

    /// The limit of the parameters of programs.
    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64 {
        self.params().ciphertext_frame_limit(max_batch)
    }
}

/// The number of a purpose, its matrix, and its Galois element.
fn number_of(purpose: BootstrapKeyUse) -> (u8, u8, u64) {
    match purpose {
        BootstrapKeyUse::ToSparse => (0, 0, 0),
        BootstrapKeyUse::ToDense => (1, 0, 0),
        BootstrapKeyUse::Relin => (2, 0, 0),
        BootstrapKeyUse::CoeffsToSlots { matrix, g } => (3, matrix as u8, g),
        BootstrapKeyUse::SlotsToCoeffs(g) => (4, 0, g),
        BootstrapKeyUse::Join(g) => (5, 0, g),
    }
}

/// The purpose of a key frame, and its fields behind that. The key to the sparse secret has a kind
/// of its own.
fn purpose_of<'a>(params: &BootstrapParams, frame: &'a Frame) -> Result<(BootstrapKeyUse, Fields<'a>)> {
    let mut fields = Fields::new(frame.kind, &frame.body);
    if frame.kind == FrameKind::CkksSparseKey {
        frame.expect(FrameKind::CkksSparseKey, params.fingerprint())?;
        return Ok((BootstrapKeyUse::ToSparse, fields));
    }
    frame.expect(FrameKind::CkksBootstrapKey, params.fingerprint())?;
    let (number, matrix) = (fields.u8("purpose")?, fields.u8("matrix")?.into());
    let g = fields.u64("galois element")?;
    let image = g % 2 == 1 && g < 2 * params.ring_spec().n() as u64;
    let purpose = match number {
        1 => BootstrapKeyUse::ToDense,
        2 => BootstrapKeyUse::Relin,
        3 => BootstrapKeyUse::CoeffsToSlots { matrix, g },
        4 => BootstrapKeyUse::SlotsToCoeffs(g),
        5 => BootstrapKeyUse::Join(g),
        _ => return Err(fields.error("purpose").into()),
    };
    if matrix >= if number == 3 { params.spec().coeffs_to_slots.levels } else { 1 } {
        return Err(fields.error("matrix").into());
    }
    if if number < 3 { g != 0 } else { !image } {
        return Err(fields.error("galois element").into());
    }
    Ok((purpose, fields))
}

fn encode_key<B: RingOps>(
    params: &BootstrapParams,
    purpose: BootstrapKeyUse,
    key: &SwitchKey<B>,
) -> Result<Frame> {
    let (kind, head) = match number_of(purpose) {
        (0, ..) => (FrameKind::CkksSparseKey, Vec::new()),
        (number, matrix, g) => {
            (FrameKind::CkksBootstrapKey, [&[number, matrix][..], &g.to_le_bytes()].concat())
        }
    };
    let rlwe = params.key_params(purpose);
    let mut body = Vec::with_capacity(head.len() + switch_key_len(rlwe));
    body.extend(head);
    encode_switch_key(rlwe, key, &mut body)?;
    Ok(frame(params, kind, body))
}

/// The ring is that of [`BootstrapParams::ring`].
impl<B: RingOps> Wire<BootstrapParams> for BootstrapKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &BootstrapParams) -> Result<Frame> {
        encode_key(params, self.purpose(), self.key())
    }

    fn from_frame(params: &BootstrapParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        let (purpose, fields) = purpose_of(params, frame)?;
        let rlwe = params.key_params(purpose);
        let key = decode_switch_key(rlwe, &params.key_ring(ring, purpose)?, fields, frame.kind)?;
        Self::new(params, purpose, key)
    }
}

impl<B: RingOps> BootstrapKeys<B> {
    /// The keys as frames, each made when it is asked for, in the order of
    /// [`BootstrapParams::key_uses`].
    ///
    /// # Errors
    /// For each frame: [`Error::ParamsMismatch`] for keys of other parameters; device errors.
    pub fn to_frames(&self, params: &BootstrapParams) -> impl Iterator<Item = Result<Frame>> {
        self.keys().map(|(purpose, key)| encode_key(params, purpose, key))
    }

    /// The keys of frames in this order, without a key set. No more than one frame is asked for at
    /// a time, so that the memory is that of the keys and of one frame.
    ///
    /// # Errors
    /// The errors that `frames` yields; [`WireError::UnexpectedKey`] if keys are missing, repeated,
    /// out of order, or not among those that bootstrapping takes; the same as for
    /// [`Wire::from_frame`].
    pub fn from_frames<E: From<Error>>(
        params: &BootstrapParams,
        ring: &Ring<B>,
        frames: impl IntoIterator<Item = Result<Frame, E>>,
    ) -> Result<Self, E> {
        let name = |purpose: Option<BootstrapKeyUse>| {
            purpose.map_or_else(|| "the end".to_owned(), |purpose| purpose.to_string())
        };
        let check = |found, expected| {
            if found == expected {
                return Ok(());
            }
            let error = WireError::UnexpectedKey { found: name(found), expected: name(expected) };
            Err(Error::from(error))
        };
        let mut keys = KeyCollector::new(params, ring)?;
        for frame in frames {
            let frame = frame?;
            check(Some(purpose_of(params, &frame)?.0), keys.next_use())?;
            keys.add(BootstrapKey::from_frame(params, ring, &frame)?)?;
        }
        check(None, keys.next_use())?;
        Ok(keys.finish()?)
    }

    /// Writes the keys with the identity of their key set if that is known (`docs/format.md`), for
    /// [`read_from`](Self::read_from), one key at a time. Returns the writer.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`]; errors of the writer, as [`Error::Wire`]; device errors.
    pub fn write_to<W: Write>(&self, params: &BootstrapParams, out: W) -> Result<W> {
        write(params, self.key_set(), self.to_frames(params), out)
    }

    /// Reads what [`write_to`](Self::write_to) or [`generate_to`](Self::generate_to) wrote, one key
    /// at a time.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the keys of these parameters, and for errors of the reader;
    /// [`Error::RingMismatch`]; device errors.
    pub fn read_from(params: &BootstrapParams, ring: &Ring<B>, input: impl Read) -> Result<Self> {
        Self::read_within(params, ring, input, 0)
    }

    /// Frames that are not those of keys may have bodies of `others` bytes before they are refused.
    fn read_within(params: &BootstrapParams, ring: &Ring<B>, input: impl Read, others: u64) -> Result<Self> {
        let fingerprint = params.fingerprint();
        let limit = |kind, _| match kind {
            FrameKind::KeySet => KeySetId::LEN as u64,
            FrameKind::CkksSparseKey | FrameKind::CkksBootstrapKey => params.key_frame_limit(kind),
            _ => others,
        };
        let mut reader = FrameReader::new(input);
        let mut first = reader.next_frame(limit)?;
        let key_set = match &first {
            Some(frame) if frame.kind == FrameKind::KeySet => Some(KeySetId::from_frame(fingerprint, frame)?),
            _ => None,
        };
        if key_set.is_some() {
            first = None;
        }
        let rest = std::iter::from_fn(|| reader.next_frame(limit).transpose());
        let frames = first.map(Ok).into_iter().chain(rest).map(|frame| frame.map_err(Error::from));
        let mut keys = Self::from_frames(params, ring, frames)?;
        keys.set_key_set(key_set);
        Ok(keys)
    }

    /// All keys as bytes (`docs/format.md`), with the identity of their key set if that is known,
    /// for [`from_bytes`](Self::from_bytes): in memory that they take twice, which
    /// [`write_to`](Self::write_to) avoids.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`]; device errors.
    pub fn to_bytes(&self, params: &BootstrapParams) -> Result<Vec<u8>> {
        self.write_to(params, Vec::new())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters.
    ///
    /// # Errors
    /// The same as for [`read_from`](Self::read_from).
    pub fn from_bytes(params: &BootstrapParams, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        Self::read_within(params, ring, bytes, bytes.len() as u64)
    }

    /// Generates the keys of [`generate`](Self::generate) and writes them as
    /// [`write_to`](Self::write_to) does, each as soon as it is made: the memory is that of one
    /// key. Returns the writer.
    ///
    /// # Errors
    /// The same as for [`generate`](Self::generate); errors of the writer, as [`Error::Wire`].
    pub fn generate_to<W: Write>(
        secret: &SecretKey,
        params: &BootstrapParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
        out: W,
    ) -> Result<W> {
        let keys = Self::generate_each(secret, params, ring, rng)?;
        write(params, Some(secret.key_set()), keys.map(|key| key?.to_frame(params)), out)
    }
}

/// A key set and frames as a sequence.
fn write<W: Write>(
    params: &BootstrapParams,
    key_set: Option<KeySetId>,
    frames: impl Iterator<Item = Result<Frame>>,
    out: W,
) -> Result<W> {
    let (fingerprint, mut writer) = (params.fingerprint(), FrameWriter::new(out));
    if let Some(key_set) = key_set {
        writer.write(&key_set.to_frame(fingerprint))?;
    }
    for frame in frames {
        writer.write(&frame?)?;
    }
    Ok(writer.finish(fingerprint)?)
}
