//! The arithmetic of cells, whatever their scheme.

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::params::{Number, Params, power_sum, reals};
use crate::thread::compute_alone;
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::circuits::ckks::{Polynomial, sum};
use he_core::ckks::{self, CkksParams};
use he_core::exact::{self, Noise};
use he_core::num_complex::Complex64;
use he_core::ring::Ring;
use he_core::rlwe::EvaluationKeys;
use he_core::tfhe::{
    BootstrapKey, Carry, EncryptedFlags, EncryptedInt, EncryptedUint, IntegerEvaluator, TfheParams,
};
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireError, WireKeys, WireParams, WireScheme};
use he_core::{KeySetId, Result as CoreResult};
use std::io::Read;
use std::sync::Arc;

/// The width of counts of conditions.
pub const COUNT_BITS: usize = 32;

/// Parameters on a device.
#[derive(Clone, Debug)]
pub struct Site<P, E> {
    /// The parameters.
    pub params: P,
    /// The ring.
    pub ring: Ring<Device>,
    /// The arithmetic.
    pub ev: Arc<E>,
}

/// A site of BFV or BGV.
pub type ExactSite<S> = Site<exact::Params<S>, exact::Evaluator<S, Device>>;

/// The parameters of a scheme on a device, ready to compute.
#[derive(Clone, Debug)]
pub enum Engine {
    /// Real numbers.
    Ckks(Site<CkksParams, ckks::Evaluator<Device>>),
    /// Integers modulo t.
    Bfv(ExactSite<Bfv>),
    /// Integers modulo t.
    Bgv(ExactSite<Bgv>),
    /// Integers of a width.
    Tfhe(TfheParams, Device),
}

/// Evaluation keys on a device.
#[derive(Debug)]
pub enum Keys {
    /// Keys of CKKS, BFV and BGV.
    Rlwe(Box<EvaluationKeys<Device>>),
    /// Keys of TFHE.
    Tfhe(Box<IntegerEvaluator<Device>>),
}

/// A cell.
#[derive(Debug)]
pub enum Value {
    /// Real numbers under CKKS.
    Ckks(ckks::Ciphertext<Device>),
    /// Integers modulo t under BFV.
    Bfv(exact::Ciphertext<Bfv, Device>),
    /// Integers modulo t under BGV.
    Bgv(exact::Ciphertext<Bgv, Device>),
    /// Integers under TFHE.
    Uint(EncryptedUint<Device>),
    /// Integers with a sign under TFHE.
    Int(EncryptedInt<Device>),
    /// Conditions under TFHE.
    Flags(EncryptedFlags<Device>),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
    /// =
    Eq,
    /// <>
    Ne,
}

/// Cells of two schemes or kinds, or keys of another scheme, which the types of columns exclude.
fn mixed() -> he_core::Error {
    he_core::Error::argument("operands", "cells of two kinds, or keys of another scheme")
}

impl Keys {
    fn rlwe(&self) -> CoreResult<&EvaluationKeys<Device>> {
        match self {
            Self::Rlwe(keys) => Ok(keys),
            Self::Tfhe(_) => Err(mixed()),
        }
    }

    fn tfhe(&self) -> CoreResult<&IntegerEvaluator<Device>> {
        match self {
            Self::Tfhe(keys) => Ok(keys),
            Self::Rlwe(_) => Err(mixed()),
        }
    }

    /// Whether there is a relinearisation key, and the Galois elements with keys, in order.
    pub fn parts(&self) -> (bool, Vec<u64>) {
        match self {
            Self::Rlwe(keys) => {
                let mut galois: Vec<u64> = keys.galois_keys().map(|(element, _)| element).collect();
                galois.sort_unstable();
                (keys.relin().is_ok(), galois)
            }
            Self::Tfhe(_) => (true, Vec::new()),
        }
    }
}

/// The only frame of a cell besides that of its key set.
fn frame(bytes: &[u8], fingerprint: he_core::rlwe::Fingerprint) -> CoreResult<(Frame, Option<KeySetId>)> {
    let all = bytes.len() as u64;
    let mut reader = FrameReader::new(bytes);
    let (mut key_set, mut found) = (None, None);
    while let Some(frame) = reader.next_frame(|_, _| all)? {
        if found.is_none() && key_set.is_none() && frame.kind == FrameKind::KeySet {
            key_set = Some(KeySetId::from_frame(fingerprint, &frame)?);
        } else if found.replace(frame).is_some() {
            return Err(WireError::Sequence.into());
        }
    }
    Ok((found.ok_or(WireError::Sequence)?, key_set))
}

/// Passes the frames of keys under these parameters to `take`, and returns their key set.
fn read_frames<P: WireParams>(
    reader: impl Read,
    params: &P,
    mut take: impl FnMut(Frame) -> CoreResult<()>,
) -> CoreResult<Option<KeySetId>> {
    let limit = |kind, _| match kind {
        FrameKind::KeySet => KeySetId::LEN as u64,
        kind => params.key_frame_limit(kind),
    };
    let mut reader = FrameReader::new(reader);
    let (mut key_set, mut first) = (None, true);
    while let Some(frame) = reader.next_frame(limit)? {
        if first && frame.kind == FrameKind::KeySet {
            key_set = Some(KeySetId::from_frame(params.fingerprint(), &frame)?);
        } else {
            take(frame)?;
        }
        first = false;
    }
    Ok(key_set)
}

impl Engine {
    /// Prepares parameters on a device.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(params: &Params, device: Device) -> Result<Self> {
        fn exact<S: WireScheme>(params: &exact::Params<S>, device: Device) -> CoreResult<ExactSite<S>> {
            let ring = Ring::new(device, params.rlwe().ring().clone())?;
            let ev = Arc::new(exact::Evaluator::new(params, &ring)?);
            Ok(Site { params: params.clone(), ring, ev })
        }
        Ok(match params {
            Params::Ckks(params) => {
                let ring = Ring::new(device, params.rlwe().ring().clone())?;
                let ev = Arc::new(ckks::Evaluator::new(params, &ring)?);
                Self::Ckks(Site { params: params.clone(), ring, ev })
            }
            Params::Bfv(params) => Self::Bfv(exact(params, device)?),
            Params::Bgv(params) => Self::Bgv(exact(params, device)?),
            Params::Tfhe(params) => Self::Tfhe(params.clone(), device),
        })
    }

    /// Whether it is of these parameters.
    pub fn is_of(&self, params: &Params) -> bool {
        match (self, params) {
            (Self::Ckks(site), Params::Ckks(params)) => &site.params == params,
            (Self::Bfv(site), Params::Bfv(params)) => &site.params == params,
            (Self::Bgv(site), Params::Bgv(params)) => &site.params == params,
            (Self::Tfhe(own, _), Params::Tfhe(params)) => own == params,
            _ => false,
        }
    }

    /// Whether clear operands may have decimals.
    pub fn takes_reals(&self) -> bool {
        matches!(self, Self::Ckks(_))
    }

    /// Evaluation keys from their frames.
    ///
    /// # Errors
    /// They are damaged; the device fails.
    pub fn keys(&self, frames: &[Frame], key_set: Option<KeySetId>) -> Result<Keys> {
        macro_rules! keys {
            ($site:expr) => {{
                let mut keys = EvaluationKeys::<Device>::empty($site.params.rlwe(), &$site.ring)?;
                for frame in frames {
                    keys.insert_frame(&$site.params, frame)?;
                }
                keys.set_key_set(key_set);
                Ok(Keys::Rlwe(Box::new(keys)))
            }};
        }
        match self {
            Self::Ckks(site) => keys!(site),
            Self::Bfv(site) => keys!(site),
            Self::Bgv(site) => keys!(site),
            Self::Tfhe(..) => Err(mixed().into()),
        }
    }

    /// Evaluation keys from a reader of their bytes, and their key set. The parameters bound the
    /// memory that this takes.
    ///
    /// # Errors
    /// The bytes are damaged, or those of something else; the device fails.
    pub fn read_keys(&self, reader: impl Read) -> Result<(Keys, Option<KeySetId>)> {
        macro_rules! keys {
            ($site:expr) => {{
                let mut keys = EvaluationKeys::<Device>::empty($site.params.rlwe(), &$site.ring)?;
                let mut last = None;
                let key_set = read_frames(reader, &$site.params, |frame| {
                    let purpose = keys.insert_frame(&$site.params, &frame)?;
                    // There is one order, and no key twice.
                    if last.replace(purpose) >= Some(purpose) {
                        return Err(WireError::Sequence.into());
                    }
                    Ok(())
                })?;
                keys.set_key_set(key_set);
                Ok((Keys::Rlwe(Box::new(keys)), key_set))
            }};
        }
        match self {
            Self::Ckks(site) => keys!(site),
            Self::Bfv(site) => keys!(site),
            Self::Bgv(site) => keys!(site),
            Self::Tfhe(params, _) => {
                let mut key = None;
                let key_set = read_frames(reader, params, |frame| {
                    match key.replace(BootstrapKey::from_frame(params, (), &frame)?) {
                        None => Ok(()),
                        Some(_) => Err(WireError::Sequence.into()),
                    }
                })?;
                Ok((self.bootstrap_key(&key.ok_or(WireError::Sequence)?)?, key_set))
            }
        }
    }

    /// The evaluator of a key of TFHE.
    ///
    /// # Errors
    /// The device fails.
    pub fn bootstrap_key(&self, key: &BootstrapKey) -> Result<Keys> {
        match self {
            Self::Tfhe(_, device) => {
                Ok(Keys::Tfhe(Box::new(IntegerEvaluator::new(device, key, Carry::default())?)))
            }
            _ => Err(mixed().into()),
        }
    }

    /// A cell from its bytes, which are checked. A thread computes alone on the cells that it
    /// decodes.
    ///
    /// # Errors
    /// They are damaged, or those of something else.
    pub fn decode(&self, kind: Kind, bytes: &[u8]) -> Result<Value> {
        compute_alone();
        let value = || -> CoreResult<Value> {
            macro_rules! read {
                ($site:expr, $seeded:pat, $of:ty, $of_seeded:ty) => {{
                    let (frame, key_set) = frame(bytes, $site.params.fingerprint())?;
                    let mut ct = if matches!(frame.kind, $seeded) {
                        <$of_seeded>::from_frame(&$site.params, &$site.ring, &frame)?.expand()?
                    } else {
                        <$of>::from_frame(&$site.params, &$site.ring, &frame)?
                    };
                    ct.set_key_set(key_set);
                    ct
                }};
            }
            Ok(match (self, kind) {
                (Self::Ckks(site), Kind::Ciphertext) => Value::Ckks(read!(
                    site,
                    FrameKind::CkksSeededCiphertext,
                    ckks::Ciphertext<Device>,
                    ckks::SeededCiphertext<Device>
                )),
                (Self::Bfv(site), Kind::Ciphertext) => Value::Bfv(read!(
                    site,
                    FrameKind::BfvSeededCiphertext,
                    exact::Ciphertext<Bfv, Device>,
                    exact::SeededCiphertext<Bfv, Device>
                )),
                (Self::Bgv(site), Kind::Ciphertext) => Value::Bgv(read!(
                    site,
                    FrameKind::BgvSeededCiphertext,
                    exact::Ciphertext<Bgv, Device>,
                    exact::SeededCiphertext<Bgv, Device>
                )),
                (Self::Tfhe(params, device), Kind::Uint) => {
                    Value::Uint(EncryptedUint::from_bytes(params, device, bytes)?)
                }
                (Self::Tfhe(params, device), Kind::Int) => {
                    Value::Int(EncryptedUint::from_bytes(params, device, bytes)?.reinterpret())
                }
                (Self::Tfhe(params, device), Kind::Bool) => {
                    Value::Flags(EncryptedFlags::from_bytes(params, device, bytes)?)
                }
                _ => return Err(mixed()),
            })
        };
        value().map_err(|source| Error::Cell { what: "a damaged cell".to_owned(), source })
    }

    /// The bytes of a cell.
    ///
    /// # Errors
    /// The device fails.
    pub fn encode(&self, value: &Value) -> CoreResult<Vec<u8>> {
        match (self, value) {
            (Self::Ckks(site), Value::Ckks(ct)) => ct.to_bytes(&site.params),
            (Self::Bfv(site), Value::Bfv(ct)) => ct.to_bytes(&site.params),
            (Self::Bgv(site), Value::Bgv(ct)) => ct.to_bytes(&site.params),
            (Self::Tfhe(params, _), Value::Uint(x)) => x.to_bytes(params),
            (Self::Tfhe(params, _), Value::Int(x)) => {
                x.part(0..x.batch())?.reinterpret::<he_core::tfhe::Unsigned>().to_bytes(params)
            }
            (Self::Tfhe(params, _), Value::Flags(x)) => x.to_bytes(params),
            _ => Err(mixed()),
        }
    }

    /// a + b.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn add(&self, a: &Value, b: &Value, keys: Option<&Keys>) -> CoreResult<Value> {
        let tfhe = || keys.ok_or_else(mixed)?.tfhe();
        Ok(match (self, a, b) {
            (Self::Ckks(site), Value::Ckks(a), Value::Ckks(b)) => Value::Ckks(site.ev.add(a, b)?),
            (Self::Bfv(site), Value::Bfv(a), Value::Bfv(b)) => Value::Bfv(site.ev.add(a, b)?),
            (Self::Bgv(site), Value::Bgv(a), Value::Bgv(b)) => Value::Bgv(site.ev.add(a, b)?),
            (_, Value::Uint(a), Value::Uint(b)) => Value::Uint(tfhe()?.add(a, b)?),
            (_, Value::Int(a), Value::Int(b)) => Value::Int(tfhe()?.add(a, b)?),
            _ => return Err(mixed()),
        })
    }

    /// a <- a + b.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn add_assign(&self, a: &mut Value, b: &Value, keys: Option<&Keys>) -> CoreResult<()> {
        match (self, &mut *a, b) {
            (Self::Ckks(site), Value::Ckks(a), Value::Ckks(b)) => site.ev.add_assign(a, b),
            (Self::Bfv(site), Value::Bfv(a), Value::Bfv(b)) => site.ev.add_assign(a, b),
            (Self::Bgv(site), Value::Bgv(a), Value::Bgv(b)) => site.ev.add_assign(a, b),
            _ => {
                *a = self.add(a, b, keys)?;
                Ok(())
            }
        }
    }

    /// a - b.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn sub(&self, a: &Value, b: &Value, keys: &Keys) -> CoreResult<Value> {
        Ok(match (self, a, b) {
            (Self::Ckks(site), Value::Ckks(a), Value::Ckks(b)) => Value::Ckks(site.ev.sub(a, b)?),
            (Self::Bfv(site), Value::Bfv(a), Value::Bfv(b)) => Value::Bfv(site.ev.sub(a, b)?),
            (Self::Bgv(site), Value::Bgv(a), Value::Bgv(b)) => Value::Bgv(site.ev.sub(a, b)?),
            (_, Value::Uint(a), Value::Uint(b)) => Value::Uint(keys.tfhe()?.sub(a, b)?),
            (_, Value::Int(a), Value::Int(b)) => Value::Int(keys.tfhe()?.sub(a, b)?),
            _ => return Err(mixed()),
        })
    }

    /// a b, relinearised.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn mul(&self, a: &Value, b: &Value, keys: &Keys) -> CoreResult<Value> {
        Ok(match (self, a, b) {
            (Self::Ckks(site), Value::Ckks(a), Value::Ckks(b)) => {
                Value::Ckks(site.ev.mul(a, b, keys.rlwe()?)?)
            }
            (Self::Bfv(site), Value::Bfv(a), Value::Bfv(b)) => Value::Bfv(site.ev.mul(a, b, keys.rlwe()?)?),
            (Self::Bgv(site), Value::Bgv(a), Value::Bgv(b)) => Value::Bgv(site.ev.mul(a, b, keys.rlwe()?)?),
            (_, Value::Uint(a), Value::Uint(b)) => Value::Uint(keys.tfhe()?.mul(a, b)?),
            (_, Value::Int(a), Value::Int(b)) => Value::Int(keys.tfhe()?.mul(a, b)?),
            _ => return Err(mixed()),
        })
    }

    /// -a.
    ///
    /// # Errors
    /// The device fails.
    pub fn neg(&self, a: &Value, keys: &Keys) -> CoreResult<Value> {
        Ok(match (self, a) {
            (Self::Ckks(site), Value::Ckks(a)) => Value::Ckks(site.ev.neg(a)?),
            (Self::Bfv(site), Value::Bfv(a)) => Value::Bfv(site.ev.neg(a)?),
            (Self::Bgv(site), Value::Bgv(a)) => Value::Bgv(site.ev.neg(a)?),
            (_, Value::Uint(a)) => Value::Uint(keys.tfhe()?.neg(a)?),
            (_, Value::Int(a)) => Value::Int(keys.tfhe()?.neg(a)?),
            _ => return Err(mixed()),
        })
    }

    /// A clear number as a cell like this one, of TFHE.
    ///
    /// # Errors
    /// It does not fit.
    pub fn constant(&self, like: &Value, number: Number, keys: &Keys) -> CoreResult<Value> {
        let Number::Integer(value) = number else { return Err(mixed()) };
        Ok(match like {
            Value::Uint(x) => {
                let why = |_| he_core::Error::argument("number", format!("{value} is negative"));
                let value = u64::try_from(value).map_err(why)?;
                Value::Uint(keys.tfhe()?.constant_u64(&vec![value; x.batch()], x.bits())?)
            }
            Value::Int(x) => Value::Int(keys.tfhe()?.constant_i64(&vec![value; x.batch()], x.bits())?),
            _ => return Err(mixed()),
        })
    }

    /// a + number, in every slot.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn add_number(&self, a: &Value, number: Number, keys: &Keys) -> CoreResult<Value> {
        Ok(match (self, a, number) {
            (Self::Ckks(site), Value::Ckks(a), _) => {
                Value::Ckks(site.ev.add_scalar(a, Complex64::new(real(number), 0.0))?)
            }
            (Self::Bfv(site), Value::Bfv(a), Number::Integer(value)) => {
                Value::Bfv(site.ev.add_scalar(a, value)?)
            }
            (Self::Bgv(site), Value::Bgv(a), Number::Integer(value)) => {
                Value::Bgv(site.ev.add_scalar(a, value)?)
            }
            (Self::Tfhe(..), _, _) => self.add(a, &self.constant(a, number, keys)?, Some(keys))?,
            _ => return Err(mixed()),
        })
    }

    /// number a. Under CKKS a real number takes a level.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the device fails.
    pub fn mul_number(&self, a: &Value, number: Number, keys: Option<&Keys>) -> CoreResult<Value> {
        Ok(match (self, a, number) {
            (Self::Ckks(site), Value::Ckks(a), Number::Integer(value)) => {
                Value::Ckks(site.ev.mul_integer(a, value)?)
            }
            (Self::Ckks(site), Value::Ckks(a), Number::Real(value)) => {
                Value::Ckks(site.ev.mul_scalar(a, value)?)
            }
            (Self::Bfv(site), Value::Bfv(a), Number::Integer(value)) => {
                Value::Bfv(site.ev.mul_scalar(a, value)?)
            }
            (Self::Bgv(site), Value::Bgv(a), Number::Integer(value)) => {
                Value::Bgv(site.ev.mul_scalar(a, value)?)
            }
            (Self::Tfhe(..), _, _) => {
                let keys = keys.ok_or_else(mixed)?;
                self.mul(a, &self.constant(a, number, keys)?, keys)?
            }
            _ => return Err(mixed()),
        })
    }

    /// Slots rotated left.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn rotate(&self, a: &Value, step: i64, keys: &Keys) -> CoreResult<Value> {
        Ok(match (self, a) {
            (Self::Ckks(site), Value::Ckks(a)) => Value::Ckks(site.ev.rotate(a, step, keys.rlwe()?)?),
            (Self::Bfv(site), Value::Bfv(a)) => Value::Bfv(site.ev.rotate(a, step, keys.rlwe()?)?),
            (Self::Bgv(site), Value::Bgv(a)) => Value::Bgv(site.ev.rotate(a, step, keys.rlwe()?)?),
            _ => return Err(mixed()),
        })
    }

    /// The sum of all values of a cell.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn total(&self, a: &Value, keys: &Keys) -> CoreResult<Value> {
        fn folded<S: WireScheme>(
            site: &ExactSite<S>,
            ct: &exact::Ciphertext<S, Device>,
        ) -> CoreResult<exact::Ciphertext<S, Device>> {
            let mut sum = ct.slice_batch(0..1)?;
            for at in 1..ct.batch() {
                site.ev.add_assign(&mut sum, &ct.slice_batch(at..at + 1)?)?;
            }
            Ok(sum)
        }
        Ok(match (self, a) {
            (Self::Ckks(site), Value::Ckks(a)) => Value::Ckks(sum(&site.ev, a, keys.rlwe()?)?),
            (Self::Bfv(site), Value::Bfv(a)) => Value::Bfv(site.ev.sum_all(&folded(site, a)?, keys.rlwe()?)?),
            (Self::Bgv(site), Value::Bgv(a)) => Value::Bgv(site.ev.sum_all(&folded(site, a)?, keys.rlwe()?)?),
            (_, Value::Uint(a)) => Value::Uint(keys.tfhe()?.sum_batch(a)?),
            (_, Value::Int(a)) => Value::Int(keys.tfhe()?.sum_batch(a)?),
            _ => return Err(mixed()),
        })
    }

    /// A polynomial of every value.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn polynomial(&self, a: Value, coefficients: &[Number], keys: &Keys) -> CoreResult<Value> {
        if let (Self::Ckks(site), Value::Ckks(a)) = (self, &a) {
            let polynomial = Polynomial::power(&reals(coefficients))?;
            return Ok(Value::Ckks(polynomial.apply(&site.ev, a, keys.rlwe()?)?));
        }
        let result = power_sum(
            &Arc::new(a),
            coefficients,
            |a, b| self.mul(a, b, keys).map(Arc::new),
            |a, number| self.mul_number(a, number, Some(keys)).map(Arc::new),
            |a, b| self.add(a, b, Some(keys)).map(Arc::new),
            |a, number| self.add_number(a, number, keys).map(Arc::new),
        )?;
        match Arc::try_unwrap(result) {
            Ok(result) => Ok(result),
            Err(shared) => self.mul_number(&shared, Number::Integer(1), Some(keys)),
        }
    }

    /// A comparison of integers of TFHE.
    ///
    /// # Errors
    /// The widths or batches differ; the device fails.
    pub fn compare(&self, how: Comparison, a: &Value, b: &Value, keys: &Keys) -> CoreResult<Value> {
        macro_rules! compare {
            ($a:expr, $b:expr) => {{
                let ev = keys.tfhe()?;
                Ok(Value::Flags(match how {
                    Comparison::Lt => ev.lt($a, $b)?,
                    Comparison::Le => ev.le($a, $b)?,
                    Comparison::Gt => ev.gt($a, $b)?,
                    Comparison::Ge => ev.ge($a, $b)?,
                    Comparison::Eq => ev.eq($a, $b)?,
                    Comparison::Ne => ev.ne($a, $b)?,
                }))
            }};
        }
        match (a, b) {
            (Value::Uint(a), Value::Uint(b)) => compare!(a, b),
            (Value::Int(a), Value::Int(b)) => compare!(a, b),
            _ => Err(mixed()),
        }
    }

    /// a and b, or a or b, of conditions.
    ///
    /// # Errors
    /// The batches differ; the device fails.
    pub fn both(&self, all: bool, a: &Value, b: &Value, keys: &Keys) -> CoreResult<Value> {
        let (Value::Flags(a), Value::Flags(b)) = (a, b) else { return Err(mixed()) };
        let ev = keys.tfhe()?;
        Ok(Value::Flags(if all { ev.and_flags(a, b)? } else { ev.or_flags(a, b)? }))
    }

    /// The opposite of conditions.
    ///
    /// # Errors
    /// The device fails.
    pub fn not(&self, a: &Value, keys: &Keys) -> CoreResult<Value> {
        let Value::Flags(a) = a else { return Err(mixed()) };
        Ok(Value::Flags(keys.tfhe()?.not_flags(a)?))
    }

    /// a where the condition is set, b elsewhere.
    ///
    /// # Errors
    /// The widths or batches differ; the device fails.
    pub fn select(&self, condition: &Value, a: &Value, b: &Value, keys: &Keys) -> CoreResult<Value> {
        let Value::Flags(condition) = condition else { return Err(mixed()) };
        let ev = keys.tfhe()?;
        Ok(match (a, b) {
            (Value::Uint(a), Value::Uint(b)) => Value::Uint(ev.select(condition, a, b)?),
            (Value::Int(a), Value::Int(b)) => Value::Int(ev.select(condition, a, b)?),
            (Value::Flags(a), Value::Flags(b)) => Value::Flags(ev.select_flags(condition, a, b)?),
            _ => return Err(mixed()),
        })
    }

    /// Conditions as integers, 0 or 1.
    ///
    /// # Errors
    /// The device fails.
    pub fn counts(&self, a: &Value, keys: &Keys) -> CoreResult<Value> {
        let Value::Flags(a) = a else { return Err(mixed()) };
        Ok(Value::Uint(keys.tfhe()?.cast_flags(a, COUNT_BITS)?))
    }
}

fn real(number: Number) -> f64 {
    match number {
        Number::Integer(value) => value as f64,
        Number::Real(value) => value,
    }
}

impl Value {
    /// The properties that must agree in ciphertexts which are added word by word: level, and
    /// correction factor or scale.
    pub fn alignment(&self) -> (usize, u64) {
        match self {
            Self::Ckks(ct) => (ct.level(), ct.scale().to_bits()),
            Self::Bfv(ct) => (ct.level(), ct.correction_factor()),
            Self::Bgv(ct) => (ct.level(), ct.correction_factor()),
            Self::Uint(_) | Self::Int(_) | Self::Flags(_) => (0, 0),
        }
    }

    /// The predicted noise, under BFV and BGV.
    pub fn noise(&self) -> Option<Noise> {
        match self {
            Self::Bfv(ct) => Some(ct.noise()),
            Self::Bgv(ct) => Some(ct.noise()),
            _ => None,
        }
    }

    /// The approximate bytes in memory.
    pub fn size(&self) -> usize {
        match self {
            Self::Ckks(ct) => 16 * ct.batch() * (ct.level() + 1) * ct.pair().parts()[0].ring().n(),
            Self::Bfv(ct) => 16 * ct.batch() * (ct.level() + 1) * ct.pair().parts()[0].ring().n(),
            Self::Bgv(ct) => 16 * ct.batch() * (ct.level() + 1) * ct.pair().parts()[0].ring().n(),
            Self::Uint(x) => 8192 * x.bits() * x.batch() / 2,
            Self::Int(x) => 8192 * x.bits() * x.batch() / 2,
            Self::Flags(x) => 8192 * x.batch(),
        }
    }
}

/// This ciphertext with another bound on its noise, under BFV and BGV.
///
/// # Errors
/// The bound leaves nothing to decrypt.
pub fn with_noise(engine: &Engine, value: Value, noise: Noise) -> CoreResult<Value> {
    fn renamed<S: WireScheme>(
        params: &exact::Params<S>,
        ct: exact::Ciphertext<S, Device>,
        noise: Noise,
    ) -> CoreResult<exact::Ciphertext<S, Device>> {
        let excess = -params.noise().budget(noise, ct.level() + 1);
        if excess >= 0.0 {
            return Err(he_core::Error::BudgetSpent { excess_bits: excess });
        }
        let (key_set, factor) = (ct.key_set(), ct.correction_factor());
        let mut named = exact::Ciphertext::from_parts(params, ct.pair().duplicate()?, factor, noise)?;
        named.set_key_set(key_set);
        Ok(named)
    }
    Ok(match (engine, value) {
        (Engine::Bfv(site), Value::Bfv(ct)) => Value::Bfv(renamed::<Bfv>(&site.params, ct, noise)?),
        (Engine::Bgv(site), Value::Bgv(ct)) => Value::Bgv(renamed::<Bgv>(&site.params, ct, noise)?),
        (_, value) => value,
    })
}
