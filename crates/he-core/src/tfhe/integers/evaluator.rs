//! The evaluator: its key, its tables, and how a step of an operation looks rows up.

use super::digits::{Number, complements, encode};
use super::rows::{Form, Rows};
use super::tables::{BITS, DIGIT_LOOKUP, Pair, SPLIT_FUNCTIONS, Table, pairs, split, splits, tables};
use super::{EncryptedFlags, EncryptedInt, EncryptedInteger, EncryptedUint, Signedness, expect_width};
use crate::backend::{Cpu, Tally};
use crate::error::{Error, Result};
use crate::tfhe::{BootstrapKey, Bootstrapper, LookupTables, LweBatch, LweOps, Noise, TfheParams};
use num_bigint::{BigInt, BigUint};

/// The splits of one batch of bootstraps.
const SPLITS_AT_ONCE: usize = 512;

/// The way in which carries travel through a sum of d digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// Carries go from digit to digit: d bootstraps at depth d, each of which yields a digit and
    /// its carry. This is the least work.
    #[default]
    Ripple,
    /// Parallel prefixes find the carries (Sklansky, 1960), four at a time: with
    /// l = ceil(log4((d - 1) / 2)), 2d - 1 bootstraps and about 3d/4 on each of l levels, at depth
    /// l + 2. Faster with many threads, or on a GPU.
    Prefix,
    /// [`Prefix`](Self::Prefix) for batches of up to so many integers, [`Ripple`](Self::Ripple) for
    /// larger ones, whose digits fill a device at every step.
    PrefixUpTo(usize),
}

/// Arithmetic on encrypted integers, modulo 2^bits. All digits of all integers of a batch go
/// through each step together. Results equal those of the same operation on plain numbers, and the
/// noise of one step does not reach the next.
///
/// Both operands have one width; [`cast`](Self::cast) changes it. Public operands are made by
/// [`constant`](Self::constant) and its like, and cost no less than encrypted ones, except in
/// operations that take plain numbers. With d digits of two bits, and the carries of
/// [`Carry::Ripple`], the bootstraps per integer are about
///
/// | operation | bootstraps |
/// |---|---|
/// | sum, difference, negation | d |
/// | `and`, `or`, `xor`; `not` | d; none |
/// | comparison | 2/3 d |
/// | `select`, `min`, `max` | 2 d, and the comparison |
/// | shift or rotation by a plain number; by an encrypted one | at most d; d log2(2 d) |
/// | product | d^2 |
/// | quotient and remainder | 7/2 d^2 |
/// | the same by a plain number of k digits | (d - k)(k + 7) + 3 d; 5 d by 5, 7 and 10 |
/// | overflow of a sum; of a product | 1, or 4 with signs; as much as the product |
/// | the nearest number that fits instead of an overflow | d, and the overflow |
/// | entry of a public table of 256 by an encrypted index, of d digits | 9 d + 2 |
/// | `count_ones`; `leading_zeros`, `trailing_zeros`, `ilog2` | 3/2 d; 13/3 d |
///
/// ```
/// # use he_core::{backend::Cpu, tfhe::*};
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
/// let cpu = Cpu::new();
/// let evaluator = IntegerEvaluator::new(&cpu, &BootstrapKey::generate(&secret, &mut rng), Carry::Ripple)?;
/// let x = secret.encrypt_i64(&cpu, &[-7, 100], 8, &mut rng)?;
/// let y = secret.encrypt_i64(&cpu, &[2, -3], 8, &mut rng)?;
/// let (quotient, remainder) = evaluator.div_rem(&x, &y)?;
/// assert_eq!(secret.decrypt_i64(&quotient)?, [-3, -33]);
/// assert_eq!(secret.decrypt_i64(&remainder)?, [-1, 1]);
/// assert_eq!(secret.decrypt_i64(&evaluator.mul(&x, &y)?)?, [-14, -44]); // -300 modulo 2^8
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IntegerEvaluator<B: LweOps = Cpu> {
    boot: Bootstrapper<B>,
    tables: LookupTables<B>,
    pairs: LookupTables<B>,
    splits: LookupTables<B>,
    pub(super) carry: Carry,
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Expands the key on the device.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters whose predicted noise is too large for digits, whose
    /// lookups would fail with a probability above 2^-32; device errors.
    pub fn new(backend: &B, key: &BootstrapKey, carry: Carry) -> Result<Self> {
        key.noise().expect_rare_failures(DIGIT_LOOKUP, "digits")?;
        let boot = Bootstrapper::new(backend, key)?;
        let tables = tables(backend, boot.params())?;
        let pairs = pairs(backend, boot.params())?;
        let splits = splits(backend, boot.params())?;
        Ok(Self { boot, tables, pairs, splits, carry })
    }

    /// This evaluator on a back end that counts lookups, and that back end.
    pub(super) fn counting(&self) -> Result<(Tally, IntegerEvaluator<Tally>)> {
        let tally = Tally::default();
        let boot = Bootstrapper::counting(&tally, self.params());
        let (tables, pairs) = (tables(&tally, self.params())?, pairs(&tally, self.params())?);
        let splits = splits(&tally, self.params())?;
        Ok((tally, IntegerEvaluator { boot, tables, pairs, splits, carry: self.carry }))
    }

    /// Adds a multi-bit key for small batches, see [`Bootstrapper::with_multi_bit`]; `most` counts
    /// the ciphertexts of one step.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; [`Error::Argument`] for a key that is not
    /// a multi-bit one, and for too much noise as in [`new`](Self::new); device errors.
    pub fn with_multi_bit(self, key: &BootstrapKey, most: usize) -> Result<Self> {
        key.noise().expect_rare_failures(DIGIT_LOOKUP, "digits")?;
        Ok(Self { boot: self.boot.with_multi_bit(key, most)?, ..self })
    }

    /// The device.
    pub fn backend(&self) -> &B {
        self.boot.backend()
    }

    /// The key's parameters.
    pub fn params(&self) -> &TfheParams {
        self.boot.params()
    }

    /// The predicted variances, of the noisier key if there are two.
    pub(super) fn noise(&self) -> &Noise {
        self.boot.noise()
    }

    /// Returns public integers as operands, without mask or error.
    ///
    /// # Errors
    /// [`Error::Argument`] for bad widths and values that do not fit; device errors.
    pub fn constant(&self, values: &[BigUint], bits: usize) -> Result<EncryptedUint<B>> {
        self.public(values, bits)
    }

    /// Returns public words of 64 bits as operands, as [`constant`](Self::constant) does.
    ///
    /// # Errors
    /// The errors of [`constant`](Self::constant).
    pub fn constant_u64(&self, values: &[u64], bits: usize) -> Result<EncryptedUint<B>> {
        self.public(values, bits)
    }

    /// Returns public integers with a sign as operands, as [`constant`](Self::constant) does.
    ///
    /// # Errors
    /// The errors of [`constant`](Self::constant).
    pub fn constant_int(&self, values: &[BigInt], bits: usize) -> Result<EncryptedInt<B>> {
        Ok(self.constant(&complements(values, bits)?, bits)?.reinterpret())
    }

    /// Returns public words of 64 bits with a sign as operands, as
    /// [`constant_int`](Self::constant_int) does.
    ///
    /// # Errors
    /// The errors of [`constant`](Self::constant).
    pub fn constant_i64(&self, values: &[i64], bits: usize) -> Result<EncryptedInt<B>> {
        self.public(values, bits)
    }

    fn public<S: Signedness>(&self, values: &[impl Number], bits: usize) -> Result<EncryptedInteger<S, B>> {
        let words = encode(values, bits)?;
        let digits = LweBatch::trivial(self.backend(), self.params(), &words)?;
        let digit = |d: usize| &words[d * values.len()..(d + 1) * values.len()];
        let copies = (1..bits / BITS).rev().take_while(|&d| digit(d) == digit(d - 1)).count();
        Ok(EncryptedInteger::from_ciphertexts(digits, bits)?.with_copies(copies))
    }

    /// Rows of public zeros.
    pub(super) fn zeros(&self, count: usize, batch: usize) -> Result<Rows<B>> {
        let ciphertexts = LweBatch::zeros(self.backend(), self.params(), count * batch)?;
        Ok(Rows { count, batch, ciphertexts })
    }

    /// Linear combinations of rows.
    pub(super) fn combine(&self, pool: &Rows<B>, forms: &[Form]) -> Result<Rows<B>> {
        let batch = pool.batch;
        let all: Vec<_> = forms.iter().flat_map(|form| form.combinations(batch)).collect();
        Ok(Rows { count: forms.len(), batch, ciphertexts: self.boot.combine(&pool.ciphertexts, &all)? })
    }

    /// Looks combinations of rows up, each in its table.
    pub(super) fn lookup(&self, pool: &Rows<B>, forms: &[(Form, Table)]) -> Result<Rows<B>> {
        let forms: Vec<_> = forms.iter().map(|(form, table)| (form.clone(), *table as u32)).collect();
        self.lookup_in(&self.tables, pool, &forms)
    }

    /// Looks combinations of rows up, each in one of these tables.
    pub(super) fn lookup_in(
        &self,
        tables: &LookupTables<B>,
        pool: &Rows<B>,
        forms: &[(Form, u32)],
    ) -> Result<Rows<B>> {
        self.lookup_functions(tables, pool, forms, 1)
    }

    /// Looks combinations of rows up in all functions of one of these tables each,
    /// `[function][form]`.
    pub(super) fn lookup_functions(
        &self,
        tables: &LookupTables<B>,
        pool: &Rows<B>,
        forms: &[(Form, u32)],
        functions: usize,
    ) -> Result<Rows<B>> {
        let batch = pool.batch;
        let all: Vec<_> = forms.iter().flat_map(|(form, _)| form.combinations(batch)).collect();
        let sums = self.boot.combine(&pool.ciphertexts, &all)?;
        let which: Vec<_> = forms.iter().flat_map(|&(_, table)| std::iter::repeat_n(table, batch)).collect();
        let ciphertexts = self.boot.bootstrap_functions(&sums, tables, &which, functions)?;
        Ok(Rows { count: functions * forms.len(), batch, ciphertexts })
    }

    /// Looks combinations of rows up in one table.
    pub(super) fn lookup_all(&self, pool: &Rows<B>, forms: Vec<Form>, table: Table) -> Result<Rows<B>> {
        self.lookup(pool, &forms.into_iter().map(|form| (form, table)).collect::<Vec<_>>())
    }

    /// Looks combinations of rows below 8 up in both functions of a table, `[function][form]`.
    pub(super) fn lookup_pairs(&self, pool: &Rows<B>, forms: &[(Form, Pair)]) -> Result<Rows<B>> {
        let forms: Vec<_> = forms.iter().map(|(form, pair)| (form.clone(), *pair as u32)).collect();
        self.lookup_functions(&self.pairs, pool, &forms, 2)
    }

    /// The remainders modulo 4 and then the quotients by 4 of combinations up to 15, each by one
    /// bootstrap with a table of [`splits`]. Remainders have the noise of 12 bootstraps, except for
    /// those of [`SPLIT_SMALL`](super::tables::SPLIT_SMALL).
    ///
    /// A bootstrap leaves [`SPLIT_FUNCTIONS`] ciphertexts, of which two remain: so many at a time
    /// that memory stays small.
    pub(super) fn split(&self, pool: &Rows<B>, forms: &[(Form, u32)]) -> Result<Rows<B>> {
        let batch = pool.batch;
        let all: Vec<_> = forms.iter().flat_map(|(form, _)| form.combinations(batch)).collect();
        let which: Vec<_> = forms.iter().flat_map(|&(_, copy)| std::iter::repeat_n(copy, batch)).collect();
        let mut ciphertexts = LweBatch::zeros(self.backend(), self.params(), 2 * all.len())?;
        for (i, (some, which)) in all.chunks(SPLITS_AT_ONCE).zip(which.chunks(SPLITS_AT_ONCE)).enumerate() {
            let (at, count) = (i * SPLITS_AT_ONCE, some.len());
            let sums = self.boot.combine(&pool.ciphertexts, some)?;
            let found = self.boot.bootstrap_functions(&sums, &self.splits, which, SPLIT_FUNCTIONS)?;
            let found = self.boot.combine(&found, &split(which))?;
            ciphertexts.write(at, &found, 0..count)?;
            ciphertexts.write(all.len() + at, &found, count..2 * count)?;
        }
        Ok(Rows { count: 2 * forms.len(), batch, ciphertexts })
    }

    /// The digits of both operands, those of y after those of x.
    pub(super) fn pool<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<Rows<B>> {
        expect_width(x.bits(), y.bits())?;
        expect_batch(x.batch(), y.batch())?;
        Rows::stack(&[&x.digits, &y.digits])
    }

    /// The conditions as a row beside integers.
    pub(super) fn row(&self, flags: &EncryptedFlags<B>, batch: usize) -> Result<Rows<B>> {
        expect_batch(flags.batch(), batch)?;
        Ok(Rows { count: 1, batch, ciphertexts: flags.0.part(0..batch)? })
    }

    /// The results of an operation, of which each digit is the sum of these rows.
    pub(super) fn joined<S: Signedness>(
        &self,
        parts: &Rows<B>,
        digits: impl IntoIterator<Item = Form>,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(EncryptedInteger::new(self.combine(parts, &digits.into_iter().collect::<Vec<_>>())?))
    }
}

pub(super) fn expect_batch(left: usize, right: usize) -> Result<()> {
    if left == right { Ok(()) } else { Err(Error::BatchMismatch { left, right }) }
}
