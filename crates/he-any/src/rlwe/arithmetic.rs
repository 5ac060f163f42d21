//! Arithmetic of vectors.

use super::{Cipher, Engine, Plain, capacity};
use crate::family::mixed;
use crate::layout::Op;
use crate::number::{Number, reals};
use crate::powers::power_sum;
use he::Device;
use he_core::Result;
use he_core::circuits::ckks::{Polynomial, sum};
use he_core::num_complex::Complex64;
use he_core::rlwe::EvaluationKeys;
use std::sync::Arc;

type Keys = EvaluationKeys<Device>;

impl Engine {
    /// The greatest magnitude of values that a ciphertext holds.
    pub fn capacity(&self, ct: &Cipher) -> f64 {
        on_each!(Self, self,
            ckks engine => {
                let scale = ct.ckks().map_or(1.0, |ct| ct.scale());
                capacity(&engine.params, ct.level(), scale)
            },
            exact engine => (engine.params.plain().value() / 2) as f64)
    }

    /// a + b.
    ///
    /// # Errors
    /// The noise budget is spent; other key sets; the device fails.
    pub fn add(&self, a: &Cipher, b: &Cipher) -> Result<Cipher> {
        computed!((self, a, b), (engine, a, b) => engine.ev.add(a, b))
    }

    /// a <- a + b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn add_assign(&self, a: &mut Cipher, b: &Cipher) -> Result<()> {
        match (self, a, b) {
            (Self::Ckks(engine), Cipher::Ckks(a), Cipher::Ckks(b)) => engine.ev.add_assign(a, b),
            (Self::Bfv(engine), Cipher::Bfv(a), Cipher::Bfv(b)) => engine.ev.add_assign(a, b),
            (Self::Bgv(engine), Cipher::Bgv(a), Cipher::Bgv(b)) => engine.ev.add_assign(a, b),
            _ => Err(mixed()),
        }
    }

    /// a - b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub(&self, a: &Cipher, b: &Cipher) -> Result<Cipher> {
        computed!((self, a, b), (engine, a, b) => engine.ev.sub(a, b))
    }

    /// -a.
    ///
    /// # Errors
    /// The device fails.
    pub fn neg(&self, a: &Cipher) -> Result<Cipher> {
        computed!((self, a), (engine, a) => engine.ev.neg(a))
    }

    /// a b, relinearised.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn mul(&self, a: &Cipher, b: &Cipher, keys: &Keys) -> Result<Cipher> {
        computed!((self, a, b), (engine, a, b) => engine.ev.mul(a, b, keys))
    }

    /// `ct op plain`.
    ///
    /// # Errors
    /// A plaintext of other parameters; the noise budget or the levels are spent; the device fails.
    pub fn with_plain(&self, op: Op, ct: &Cipher, plain: &Plain) -> Result<Cipher> {
        macro_rules! with {
            ($engine:expr, $ct:expr, $plain:expr) => {
                $plain.and_then(|plain| match op {
                    Op::Add => $engine.ev.add_plain($ct, plain),
                    Op::Sub => $engine.ev.sub_plain($ct, plain),
                    Op::Mul => $engine.ev.mul_plain($ct, plain),
                })
            };
        }
        computed!((self, ct),
            ckks (engine, ct) => with!(engine, ct, plain.ckks()),
            exact (engine, ct) => with!(engine, ct, plain.exact()))
    }

    /// a + number, in every slot.
    ///
    /// # Errors
    /// A real number under BFV or BGV; the noise budget is spent; the device fails.
    pub fn add_number(&self, a: &Cipher, number: Number) -> Result<Cipher> {
        computed!((self, a),
        ckks (engine, a) => engine.ev.add_scalar(a, Complex64::new(number.real(), 0.0)),
        exact (engine, a) => match number {
            Number::Integer(value) => engine.ev.add_scalar(a, value),
            Number::Real(_) => Err(mixed()),
        })
    }

    /// number a. Under CKKS a real number takes a level, and an integer none.
    ///
    /// # Errors
    /// A real number under BFV or BGV; the noise budget or the levels are spent; the device fails.
    pub fn mul_number(&self, a: &Cipher, number: Number) -> Result<Cipher> {
        computed!((self, a),
        ckks (engine, a) => match number {
            Number::Integer(value) => engine.ev.mul_integer(a, value),
            Number::Real(value) => engine.ev.mul_scalar(a, value),
        },
        exact (engine, a) => match number {
            Number::Integer(value) => engine.ev.mul_scalar(a, value),
            Number::Real(_) => Err(mixed()),
        })
    }

    /// The product with a plain matrix of integers, rows by entries of the batch, of BFV and BGV.
    ///
    /// # Errors
    /// Other numbers than the shape says, or another batch; the noise budget is spent; CKKS, whose
    /// matrices are of real numbers; the device fails.
    pub fn mul_integers(&self, shape: [usize; 2], numbers: &[i64], a: &Cipher) -> Result<Cipher> {
        computed!((self, a), ckks (_engine, _) => Err(mixed()),
        exact (engine, a) => {
            let matrix = engine.ev.plain_matrix(shape, numbers, a.level())?;
            engine.ev.mul_matrix(&matrix, a)
        })
    }

    /// Slots rotated left.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn rotate(&self, a: &Cipher, step: i64, keys: &Keys) -> Result<Cipher> {
        computed!((self, a), (engine, a) => engine.ev.rotate(a, step, keys))
    }

    /// The two rows of slots of BFV or BGV exchanged.
    ///
    /// # Errors
    /// There is no key for it; the noise budget is spent; CKKS, which has one row; the device
    /// fails.
    pub fn swap_rows(&self, a: &Cipher, keys: &Keys) -> Result<Cipher> {
        computed!((self, a), ckks (_engine, _) => Err(mixed()),
            exact (engine, a) => engine.ev.swap_rows(a, keys))
    }

    /// The same values on a lower level.
    ///
    /// # Errors
    /// [`LevelTooHigh`](he_core::Error::LevelTooHigh) for a higher one; the device fails.
    pub fn mod_switch_to(&self, a: &Cipher, level: usize) -> Result<Cipher> {
        computed!((self, a), (engine, a) => engine.ev.mod_switch_to(a, level))
    }

    /// The sum of the slots of each vector, in all of its slots.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn sum_slots(&self, a: &Cipher, keys: &Keys) -> Result<Cipher> {
        computed!((self, a), ckks (engine, a) => engine.ev.inner_sum(a, a.slots(), keys),
            exact (engine, a) => engine.ev.sum_all(a, keys))
    }

    /// The sum of the vectors of a batch.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn sum_batch(&self, a: &Cipher) -> Result<Cipher> {
        let mut sum = a.slice_batch(0..1)?;
        for at in 1..a.batch() {
            self.add_assign(&mut sum, &a.slice_batch(at..at + 1)?)?;
        }
        Ok(sum)
    }

    /// The sum of all slots of all vectors, in every slot of one.
    ///
    /// # Errors
    /// There are no keys for it; the noise budget is spent; the device fails.
    pub fn total(&self, a: &Cipher, keys: &Keys) -> Result<Cipher> {
        match (self, a) {
            (Self::Ckks(engine), Cipher::Ckks(a)) => sum(&engine.ev, a, keys).map(Cipher::Ckks),
            _ => self.sum_slots(&self.sum_batch(a)?, keys),
        }
    }

    /// A polynomial of every value; its coefficients are those of powers, that of the lowest degree
    /// first, and integers under BFV and BGV.
    ///
    /// # Errors
    /// The noise budget or the levels are spent; the relinearisation key is missing; the device
    /// fails.
    pub fn polynomial(&self, a: Cipher, coefficients: &[Number], keys: &Keys) -> Result<Cipher> {
        if let (Self::Ckks(engine), Cipher::Ckks(a)) = (self, &a) {
            let polynomial = Polynomial::power(&reals(coefficients))?;
            return polynomial.apply(&engine.ev, a, keys).map(Cipher::Ckks);
        }
        let result = power_sum(
            &Arc::new(a),
            coefficients,
            |a, b| self.mul(a, b, keys).map(Arc::new),
            |a, number| self.mul_number(a, number).map(Arc::new),
            |a, b| self.add(a, b).map(Arc::new),
            |a, number| self.add_number(a, number).map(Arc::new),
        )?;
        match Arc::try_unwrap(result) {
            Ok(result) => Ok(result),
            Err(shared) => self.mul_number(&shared, Number::Integer(1)),
        }
    }
}
