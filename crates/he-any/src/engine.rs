//! Any scheme on a device, and its arithmetic.

use crate::family::{Family, mixed};
use crate::frames;
use crate::keys::Keys;
use crate::number::Number;
use crate::params::Params;
use crate::rlwe::{self, Ckks, Exact};
use crate::tfhe::{self, Comparison, Integers};
use crate::value::{Kind, Value};
use he::Device;
use he_core::Result;
use he_core::tfhe::{EncryptedFlags, EncryptedUint};

/// The parameters of any scheme on a device, ready to compute.
pub type Engine = Family<rlwe::Engine, tfhe::Engine>;

impl Keys {
    fn of_rlwe(&self) -> Result<&he_core::rlwe::EvaluationKeys<Device>> {
        self.rlwe().ok_or_else(mixed)
    }

    fn of_tfhe(&self) -> Result<&he_core::tfhe::IntegerEvaluator<Device>> {
        self.tfhe().ok_or_else(mixed)
    }
}

/// The keys of an operation that may do without.
fn given(keys: Option<&Keys>) -> Result<&Keys> {
    keys.ok_or_else(mixed)
}

impl Engine {
    /// Prepares parameters on a device.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(params: &Params, device: Device) -> Result<Self> {
        Ok(Self::Rlwe(match params {
            Params::Ckks(params) => rlwe::Engine::Ckks(Ckks::new(params, None, device)?),
            Params::Bootstrap(all) => rlwe::Engine::Ckks(Ckks::new(all.params(), Some(all), device)?),
            Params::Bfv(params) => rlwe::Engine::Bfv(Exact::new(params, device)?),
            Params::Bgv(params) => rlwe::Engine::Bgv(Exact::new(params, device)?),
            Params::Tfhe(params) => return Ok(Self::Tfhe(tfhe::Engine { params: params.clone(), device })),
        }))
    }

    /// CKKS, if it is that.
    pub fn ckks(&self) -> Option<&Ckks> {
        self.rlwe()?.ckks()
    }

    /// Whether values are integers modulo t: under BFV and BGV.
    pub fn is_exact(&self) -> bool {
        self.rlwe().is_some_and(rlwe::Engine::is_exact)
    }

    /// Whether it is of these parameters.
    pub fn is_of(&self, params: &Params) -> bool {
        match (self, params) {
            (Self::Rlwe(rlwe::Engine::Ckks(of)), params) => {
                params.ckks() == Some(&of.params) && params.bootstrapping() == of.bootstrapping.as_ref()
            }
            (Self::Rlwe(rlwe::Engine::Bfv(of)), Params::Bfv(params)) => &of.params == params,
            (Self::Rlwe(rlwe::Engine::Bgv(of)), Params::Bgv(params)) => &of.params == params,
            (Self::Tfhe(of), Params::Tfhe(params)) => &of.params == params,
            _ => false,
        }
    }

    /// Ciphertexts of a kind from their bytes, which are checked.
    ///
    /// # Errors
    /// The bytes are damaged, or those of something else; the device fails.
    pub fn decode(&self, kind: Kind, bytes: &[u8]) -> Result<Value> {
        Ok(match (self, kind) {
            (Self::Rlwe(of), Kind::Ciphertext) => {
                let (frame, key_set) = frames::only(bytes, of.fingerprint())?;
                Value::Rlwe(of.ciphertext(&frame, key_set)?)
            }
            (Self::Tfhe(of), Kind::Uint) => {
                Value::Tfhe(Integers::Uint(EncryptedUint::from_bytes(&of.params, &of.device, bytes)?))
            }
            (Self::Tfhe(of), Kind::Int) => {
                let bits = EncryptedUint::from_bytes(&of.params, &of.device, bytes)?;
                Value::Tfhe(Integers::Int(bits.reinterpret()))
            }
            (Self::Tfhe(of), Kind::Bool) => {
                Value::Tfhe(Integers::Flags(EncryptedFlags::from_bytes(&of.params, &of.device, bytes)?))
            }
            _ => return Err(mixed()),
        })
    }

    /// The bytes of ciphertexts.
    ///
    /// # Errors
    /// They are of another scheme; the device fails.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>> {
        match (self, value) {
            (Self::Rlwe(of), Value::Rlwe(ct)) => of.to_bytes(ct),
            (Self::Tfhe(of), Value::Tfhe(x)) => x.to_bytes(&of.params),
            _ => Err(mixed()),
        }
    }

    /// a + b. TFHE alone needs keys.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn add(&self, a: &Value, b: &Value, keys: Option<&Keys>) -> Result<Value> {
        match (self, a, b) {
            (Self::Rlwe(of), Value::Rlwe(a), Value::Rlwe(b)) => of.add(a, b).map(Value::Rlwe),
            (_, Value::Tfhe(a), Value::Tfhe(b)) => a.add(b, given(keys)?.of_tfhe()?).map(Value::Tfhe),
            _ => Err(mixed()),
        }
    }

    /// a <- a + b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn add_assign(&self, a: &mut Value, b: &Value, keys: Option<&Keys>) -> Result<()> {
        match (self, &mut *a, b) {
            (Self::Rlwe(of), Value::Rlwe(a), Value::Rlwe(b)) => of.add_assign(a, b),
            _ => {
                *a = self.add(a, b, keys)?;
                Ok(())
            }
        }
    }

    /// a - b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub(&self, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        match (self, a, b) {
            (Self::Rlwe(of), Value::Rlwe(a), Value::Rlwe(b)) => of.sub(a, b).map(Value::Rlwe),
            (_, Value::Tfhe(a), Value::Tfhe(b)) => a.sub(b, keys.of_tfhe()?).map(Value::Tfhe),
            _ => Err(mixed()),
        }
    }

    /// a b, relinearised.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn mul(&self, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        match (self, a, b) {
            (Self::Rlwe(of), Value::Rlwe(a), Value::Rlwe(b)) => {
                of.mul(a, b, keys.of_rlwe()?).map(Value::Rlwe)
            }
            (_, Value::Tfhe(a), Value::Tfhe(b)) => a.mul(b, keys.of_tfhe()?).map(Value::Tfhe),
            _ => Err(mixed()),
        }
    }

    /// -a.
    ///
    /// # Errors
    /// The device fails.
    pub fn neg(&self, a: &Value, keys: &Keys) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => of.neg(a).map(Value::Rlwe),
            (_, Value::Tfhe(a)) => a.neg(keys.of_tfhe()?).map(Value::Tfhe),
            _ => Err(mixed()),
        }
    }

    /// A clear number as integers like these, of TFHE.
    ///
    /// # Errors
    /// It does not fit.
    pub fn constant(&self, like: &Value, number: Number, keys: &Keys) -> Result<Value> {
        match (like, number) {
            (Value::Tfhe(like), Number::Integer(value)) => {
                like.constant(value, keys.of_tfhe()?).map(Value::Tfhe)
            }
            _ => Err(mixed()),
        }
    }

    /// a + number, in every slot.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn add_number(&self, a: &Value, number: Number, keys: &Keys) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => of.add_number(a, number).map(Value::Rlwe),
            _ => self.add(a, &self.constant(a, number, keys)?, Some(keys)),
        }
    }

    /// number a. Under CKKS a real number takes a level.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the device fails.
    pub fn mul_number(&self, a: &Value, number: Number, keys: Option<&Keys>) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => of.mul_number(a, number).map(Value::Rlwe),
            _ => self.mul(a, &self.constant(a, number, given(keys)?)?, given(keys)?),
        }
    }

    /// Slots rotated left.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn rotate(&self, a: &Value, step: i64, keys: &Keys) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => of.rotate(a, step, keys.of_rlwe()?).map(Value::Rlwe),
            _ => Err(mixed()),
        }
    }

    /// The sum of all values.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn total(&self, a: &Value, keys: &Keys) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => of.total(a, keys.of_rlwe()?).map(Value::Rlwe),
            (_, Value::Tfhe(a)) => a.total(keys.of_tfhe()?).map(Value::Tfhe),
            _ => Err(mixed()),
        }
    }

    /// A polynomial of every value, of CKKS, BFV or BGV.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn polynomial(&self, a: Value, coefficients: &[Number], keys: &Keys) -> Result<Value> {
        match (self, a) {
            (Self::Rlwe(of), Value::Rlwe(a)) => {
                of.polynomial(a, coefficients, keys.of_rlwe()?).map(Value::Rlwe)
            }
            _ => Err(mixed()),
        }
    }

    /// A comparison of integers of TFHE.
    ///
    /// # Errors
    /// The widths or batches differ; the device fails.
    pub fn compare(&self, how: Comparison, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        a.integers()?.compare(how, b.integers()?, keys.of_tfhe()?).map(Value::Tfhe)
    }

    /// Both conditions.
    ///
    /// # Errors
    /// The batches differ; the device fails.
    pub fn and(&self, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        a.integers()?.and(b.integers()?, keys.of_tfhe()?).map(Value::Tfhe)
    }

    /// Either condition.
    ///
    /// # Errors
    /// The same as for [`and`](Self::and).
    pub fn or(&self, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        a.integers()?.or(b.integers()?, keys.of_tfhe()?).map(Value::Tfhe)
    }

    /// The opposite of conditions.
    ///
    /// # Errors
    /// The device fails.
    pub fn not(&self, a: &Value, keys: &Keys) -> Result<Value> {
        a.integers()?.not(keys.of_tfhe()?).map(Value::Tfhe)
    }

    /// a where the condition is set, b elsewhere.
    ///
    /// # Errors
    /// The widths or batches differ; the device fails.
    pub fn select(&self, condition: &Value, a: &Value, b: &Value, keys: &Keys) -> Result<Value> {
        let (a, b) = (a.integers()?, b.integers()?);
        condition.integers()?.select(a, b, keys.of_tfhe()?).map(Value::Tfhe)
    }

    /// Conditions as integers, 0 or 1.
    ///
    /// # Errors
    /// The device fails.
    pub fn counts(&self, a: &Value, keys: &Keys) -> Result<Value> {
        a.integers()?.counts(keys.of_tfhe()?).map(Value::Tfhe)
    }
}
