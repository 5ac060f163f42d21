//! Unsigned integers of 8 to 256 bits, in digits of two bits.

use super::digits::{BITS, DIGIT_LOOKUP, Pair, Table, UNIT, pairs, tables};
use super::{
    BootstrapKey, Bootstrapper, Combination, LookupTables, LweBatch, LweOps, SeededFlags, SeededUint,
    TfheParams, TfheSecretKey,
};
use crate::backend::Cpu;
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::publisher::Publisher;
use crate::reveal;
use derive_where::derive_where;
use num_bigint::BigUint;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// A batch of encrypted integers of one width. Each digit is fresh, or a sum of at most two
/// bootstraps.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct EncryptedUint<B: LweOps = Cpu> {
    bits: usize,
    batch: usize,
    /// `[digit][batch]`, the lowest digit first.
    digits: LweBatch<B>,
}

/// A batch of encrypted conditions: digits 0 or 1.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct EncryptedFlags<B: LweOps = Cpu>(LweBatch<B>);

key_set_accessors! {
    [B: LweOps] EncryptedUint<B> { digits.key_set }
    [B: LweOps] EncryptedFlags<B> { 0.key_set }
}

impl<B: LweOps> EncryptedUint<B> {
    /// The width in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The number of integers.
    pub fn batch(&self) -> usize {
        self.batch
    }

    fn places(&self) -> usize {
        self.bits / BITS
    }

    /// The ciphertexts of the digits, `[digit][batch]`, the lowest digit first.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.digits
    }

    /// Makes integers from the ciphertexts of digits 0 ... 3, `[digit][batch]`, the lowest digit
    /// first: messages of 2^-5 of the torus.
    ///
    /// # Errors
    /// [`Error::Argument`] for a width that is not an even number from 8 to 256, and for
    /// ciphertexts that are not whole integers.
    pub fn from_ciphertexts(digits: LweBatch<B>, bits: usize) -> Result<Self> {
        let places = digits_of(bits)?;
        if !digits.count().is_multiple_of(places) {
            let why = format!("{} is not a multiple of {places}, the digits of an integer", digits.count());
            return Err(Error::argument("ciphertexts of integers", why));
        }
        Ok(Self { bits, batch: digits.count() / places, digits })
    }
}

impl<B: LweOps> EncryptedFlags<B> {
    /// The ciphertexts of the conditions.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.0
    }

    /// Wraps ciphertexts of digits 0 and 1.
    pub fn from_ciphertexts(ciphertexts: LweBatch<B>) -> Self {
        Self(ciphertexts)
    }

    /// The number of conditions.
    pub fn batch(&self) -> usize {
        self.0.count()
    }
}

/// How carries travel through a sum of d digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// From digit to digit: d bootstraps at depth d, each of which yields a digit and its carry.
    /// This is the least work.
    #[default]
    Ripple,
    /// By parallel prefixes (Sklansky, 1960), three at a time: with l = ceil(log3((d - 1) / 2)),
    /// 2d - 1 bootstraps and about 2d/3 on each of l levels, at depth l + 2. Faster with many
    /// threads, or on a GPU.
    Prefix,
}

/// The ciphertexts per integer of `bits` bits, if such integers exist.
pub(crate) fn digits_of(bits: usize) -> Result<usize> {
    check_bits(bits).map(|()| bits / BITS)
}

fn check_bits(bits: usize) -> Result<()> {
    if !(8..=256).contains(&bits) || !bits.is_multiple_of(BITS) {
        return Err(Error::domain("bits of an integer", bits.to_string(), "an even number from 8 to 256"));
    }
    Ok(())
}

/// A number that is cut into digits.
trait Unsigned {
    /// Returns whether it is below 2^bits.
    fn fits(&self, bits: usize) -> bool;

    /// The word `index` of 64 bits; the lowest is 0.
    fn limb(&self, index: usize) -> u64;
}

impl Unsigned for BigUint {
    fn fits(&self, bits: usize) -> bool {
        self.bits() <= bits as u64
    }

    fn limb(&self, index: usize) -> u64 {
        self.iter_u64_digits().nth(index).unwrap_or(0)
    }
}

impl Unsigned for u64 {
    fn fits(&self, bits: usize) -> bool {
        bits >= 64 || self >> bits == 0
    }

    fn limb(&self, index: usize) -> u64 {
        if index == 0 { *self } else { 0 }
    }
}

/// Makes one decision about everything that was decrypted.
pub(super) fn expect_none(bad: u64, count: usize) -> Result<()> {
    let bad = reveal::word(bad);
    if bad == 0 { Ok(()) } else { Err(Error::BadDigits { bad: bad as usize, count }) }
}

/// The words of the digits `[digit][batch]`, in units of 2^-64.
fn encode<T: Unsigned>(values: &[T], bits: usize) -> Result<Zeroizing<Vec<u64>>> {
    check_bits(bits)?;
    if !reveal::bit(values.iter().fold(true, |all, value| all & value.fits(bits))) {
        let index = values.iter().position(|value| !value.fits(bits)).unwrap_or(0);
        let why = format!("number {index} of the batch does not fit {bits} bits");
        return Err(Error::argument("integer", why));
    }
    let mut words = Zeroizing::new(vec![0; bits / BITS * values.len()]);
    for (b, value) in values.iter().enumerate() {
        for d in 0..bits / BITS {
            let limb = value.limb(d * BITS / 64);
            words[d * values.len() + b] = (limb >> (d * BITS % 64) & 3) * UNIT;
        }
    }
    Ok(words)
}

fn encode_flags(flags: &[bool]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(flags.iter().map(|&flag| u64::from(flag) * UNIT).collect())
}

impl TfheSecretKey {
    /// The rounded messages of ciphertexts, all of which must be at most `greatest`, a number one
    /// below a power of two. The bits above it in all digits, for carries and padding, are examined
    /// together, by one branch.
    fn digits<B: LweOps>(&self, ciphertexts: &LweBatch<B>, greatest: u64) -> Result<Zeroizing<Vec<u64>>> {
        let mut digits = self.phases(ciphertexts)?;
        let mut bad = 0;
        for digit in digits.iter_mut() {
            *digit = digit.wrapping_add(UNIT / 2) / UNIT;
            // The messages are at most 31, so that a set bit above the greatest carries into bit 5.
            bad += ((*digit & !greatest) + 31) >> 5;
            *digit &= greatest;
        }
        expect_none(bad, digits.len())?;
        Ok(digits)
    }

    /// Encrypts a batch of integers of `bits` bits, an even number from 8 to 256. `BigUint` does
    /// not hide leading zeros: the time reveals the number of 64-bit words of a value.
    ///
    /// # Errors
    /// [`Error::Argument`] for other widths and for values that do not fit; the errors of
    /// [`encrypt`](Self::encrypt).
    pub fn encrypt_uint<B: LweOps>(
        &self,
        backend: &B,
        values: &[BigUint],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedUint<B>> {
        let digits = self.encrypt(backend, &encode(values, bits)?, rng)?;
        Ok(EncryptedUint { bits, batch: values.len(), digits })
    }

    /// Makes the same encryptions, with their masks as a seed.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`encrypt_uint`](Self::encrypt_uint).
    pub fn encrypt_uint_seeded(
        &self,
        values: &[BigUint],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededUint> {
        Ok(SeededUint::from_ciphertexts(self.encrypt_seeded(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts words of 64 bits as integers of any width from 8 to 256 bits, with the same
    /// ciphertexts as [`encrypt_uint`](Self::encrypt_uint) of the same numbers. Constant time for
    /// values that fit.
    ///
    /// # Errors
    /// [`Error::Argument`] for widths that do not exist and for values that do not fit; the errors
    /// of [`encrypt`](Self::encrypt).
    pub fn encrypt_u64<B: LweOps>(
        &self,
        backend: &B,
        values: &[u64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedUint<B>> {
        let digits = self.encrypt(backend, &encode(values, bits)?, rng)?;
        Ok(EncryptedUint { bits, batch: values.len(), digits })
    }

    /// Makes the same encryptions, with their masks as a seed.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`encrypt_u64`](Self::encrypt_u64).
    pub fn encrypt_u64_seeded(
        &self,
        values: &[u64],
        bits: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededUint> {
        Ok(SeededUint::from_ciphertexts(self.encrypt_seeded(&encode(values, bits)?, rng)?, bits))
    }

    /// Encrypts conditions. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_flags<B: LweOps>(
        &self,
        backend: &B,
        flags: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<EncryptedFlags<B>> {
        Ok(EncryptedFlags(self.encrypt(backend, &encode_flags(flags), rng)?))
    }

    /// Makes the same encryptions, with their masks as a seed. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt_seeded`](Self::encrypt_seeded).
    pub fn encrypt_flags_seeded(
        &self,
        flags: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededFlags> {
        Ok(SeededFlags::from_ciphertexts(self.encrypt_seeded(&encode_flags(flags), rng)?))
    }

    /// Decrypts a batch of integers of at most 64 bits as words. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for wider integers, whatever their values; [`Error::BadDigits`] as for
    /// [`decrypt_uint`](Self::decrypt_uint); [`Error::ParamsMismatch`], device errors.
    pub fn decrypt_u64<B: LweOps>(&self, x: &EncryptedUint<B>) -> Result<Vec<u64>> {
        if x.bits > 64 {
            return Err(Error::domain(
                "bits of an integer",
                x.bits.to_string(),
                "a u64 holds at most 64, use decrypt_uint",
            ));
        }
        let digits = self.digits(&x.digits, (1 << BITS) - 1)?;
        let digit = |b: usize, d: usize| digits[d * x.batch + b] << (d * BITS);
        Ok((0..x.batch).map(|b| (0..x.places()).fold(0, |value, d| value | digit(b, d))).collect())
    }

    /// Decrypts a batch of integers. Constant time, except that `BigUint` drops leading zeros.
    ///
    /// # Errors
    /// [`Error::BadDigits`] if a digit's bits for carries and padding are not zero: this happens
    /// for 7 of 8 digits under a wrong key or of a ciphertext that is not that of an integer, and
    /// for every lookup that failed by more than a carry. [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`], device errors.
    pub fn decrypt_uint<B: LweOps>(&self, x: &EncryptedUint<B>) -> Result<Vec<BigUint>> {
        let digits = self.digits(&x.digits, (1 << BITS) - 1)?;
        Ok((0..x.batch)
            .map(|b| {
                let mut bytes = Zeroizing::new(vec![0u8; x.bits.div_ceil(8)]);
                for d in 0..x.places() {
                    bytes[d * BITS / 8] |= (digits[d * x.batch + b] << (d * BITS % 8)) as u8;
                }
                BigUint::from_bytes_le(&bytes)
            })
            .collect())
    }

    /// Counts decryptions that others will see, before they are decrypted: `digits` ciphertexts,
    /// behind each of which are at most 2^lookups_log2 lookups. Their failures, each of which
    /// reveals something of the key, must have a probability of at most 2^-security over all
    /// published decryptions ([`Publisher`]).
    ///
    /// # Errors
    /// [`Error::FailureProbability`] and [`Error::DecryptionsSpent`], neither of which counts.
    pub fn publish(&self, digits: usize, lookups_log2: f64, publisher: &mut Publisher) -> Result<()> {
        let (norm, margin) = DIGIT_LOOKUP;
        let found_log2 = self.params().noise().failure_log2(norm, margin);
        let limit_log2 = publisher.failure_log2(lookups_log2);
        if found_log2.is_nan() || found_log2 > limit_log2 {
            return Err(Error::FailureProbability { found_log2, limit_log2 });
        }
        publisher.take(digits)
    }

    /// Decrypts conditions. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`] for a condition that is neither 0 nor 1, as for
    /// [`decrypt_uint`](Self::decrypt_uint); [`Error::ParamsMismatch`], [`Error::KeyMismatch`],
    /// device errors.
    pub fn decrypt_flags<B: LweOps>(&self, flags: &EncryptedFlags<B>) -> Result<Vec<bool>> {
        Ok(self.digits(&flags.0, 1)?.iter().map(|&flag| flag == 1).collect())
    }
}

/// Arithmetic on encrypted integers, modulo 2^bits. All digits of all integers of a batch go
/// through each step together. Results equal those of the same operation on plain numbers, and the
/// noise of one step does not reach the next.
#[derive(Debug)]
pub struct UintEvaluator<B: LweOps = Cpu> {
    boot: Bootstrapper<B>,
    tables: LookupTables<B>,
    pairs: LookupTables<B>,
    carry: Carry,
}

fn term(factor: i64, index: usize) -> (i64, usize) {
    (factor, index)
}

fn combination(constant: u64, terms: Vec<(i64, usize)>) -> Combination {
    Combination { constant: constant.wrapping_mul(UNIT), terms }
}

impl<B: LweOps> UintEvaluator<B> {
    /// Expands the key on the device.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters whose predicted noise is too large for digits, whose
    /// lookups would fail with a probability above 2^-32; device errors.
    pub fn new(backend: &B, key: &BootstrapKey, carry: Carry) -> Result<Self> {
        key.params().noise().expect_rare_failures(DIGIT_LOOKUP, "digits")?;
        let boot = Bootstrapper::new(backend, key)?;
        let tables = tables(backend, boot.params())?;
        let pairs = pairs(backend, boot.params())?;
        Ok(Self { boot, tables, pairs, carry })
    }

    /// The device.
    pub fn backend(&self) -> &B {
        self.boot.backend()
    }

    /// The key's parameters.
    pub fn params(&self) -> &TfheParams {
        self.boot.params()
    }

    /// Returns public integers as operands, without mask or error.
    ///
    /// # Errors
    /// [`Error::Argument`] for bad widths and values that do not fit; device errors.
    pub fn constant(&self, values: &[BigUint], bits: usize) -> Result<EncryptedUint<B>> {
        let digits = LweBatch::trivial(self.backend(), self.params(), &encode(values, bits)?)?;
        Ok(EncryptedUint { bits, batch: values.len(), digits })
    }

    /// The same as [`constant`](Self::constant), for words of 64 bits.
    ///
    /// # Errors
    /// The errors of [`constant`](Self::constant).
    pub fn constant_u64(&self, values: &[u64], bits: usize) -> Result<EncryptedUint<B>> {
        let digits = LweBatch::trivial(self.backend(), self.params(), &encode(values, bits)?)?;
        Ok(EncryptedUint { bits, batch: values.len(), digits })
    }

    /// Looks combinations of ciphertexts up in one table.
    fn lookup(&self, pool: &LweBatch<B>, forms: &[Combination], table: Table) -> Result<LweBatch<B>> {
        self.lookup_each(pool, forms, &vec![table as u32; forms.len()])
    }

    fn lookup_each(&self, pool: &LweBatch<B>, forms: &[Combination], which: &[u32]) -> Result<LweBatch<B>> {
        self.boot.bootstrap(&self.boot.combine(pool, forms)?, &self.tables, which)
    }

    /// Looks combinations below 8 up in both functions of a table, `[function][combination]`.
    fn lookup_pairs(&self, pool: &LweBatch<B>, forms: &[Combination], which: &[u32]) -> Result<LweBatch<B>> {
        self.boot.bootstrap_pairs(&self.boot.combine(pool, forms)?, &self.pairs, which)
    }

    /// The digits of both operands, those of y after those of x.
    fn pool(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<LweBatch<B>> {
        if x.bits != y.bits {
            return Err(Error::domain(
                "bits of an integer",
                format!("operands of {} and {} bits", x.bits, y.bits),
                "both must be as wide",
            ));
        }
        if x.batch != y.batch {
            return Err(Error::BatchMismatch { left: x.batch, right: y.batch });
        }
        LweBatch::concat(&[&x.digits, &y.digits])
    }

    /// x + y modulo 2^bits.
    ///
    /// # Errors
    /// [`Error::Argument`] for different widths, [`Error::BatchMismatch`],
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn add(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        let pool = self.pool(x, y)?;
        let all = x.digits.count();
        let sums: Vec<_> = (0..all).map(|i| combination(0, vec![term(1, i), term(1, all + i)])).collect();
        self.carried(x, &self.boot.combine(&pool, &sums)?)
    }

    /// x - y modulo 2^bits: x + NOT y + 1, digit by digit x + 3 - y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn sub(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        let pool = self.pool(x, y)?;
        let all = x.digits.count();
        let sums: Vec<_> = (0..all)
            .map(|i| combination(3 + u64::from(i < x.batch), vec![term(1, i), term(-1, all + i)]))
            .collect();
        self.carried(x, &self.boot.combine(&pool, &sums)?)
    }

    /// The digits of sums of at most 7, or of at most 6 if they receive a carry.
    fn carried(&self, like: &EncryptedUint<B>, sums: &LweBatch<B>) -> Result<EncryptedUint<B>> {
        let (places, batch) = (like.places(), like.batch);
        let digits = match self.carry {
            Carry::Ripple => self.ripple(sums, places, batch)?,
            Carry::Prefix => self.prefix(sums, places, batch)?,
        };
        Ok(EncryptedUint { bits: like.bits, batch, digits })
    }

    fn ripple(&self, sums: &LweBatch<B>, places: usize, batch: usize) -> Result<LweBatch<B>> {
        let (backend, all) = (self.backend(), places * batch);
        // Digits replace their sums; the carries into the next digits follow.
        let mut pool = LweBatch::concat(&[sums, &LweBatch::zeros(backend, self.params(), batch)?])?;
        let which = vec![Pair::MessageAndCarry as u32; batch];
        for first in (0..all).step_by(batch.max(1)) {
            let forms: Vec<_> =
                (0..batch).map(|b| combination(0, vec![term(1, first + b), term(1, all + b)])).collect();
            let found = self.lookup_pairs(&pool, &forms, &which)?;
            pool.write(first, &found, 0..batch)?;
            pool.write(all, &found, batch..2 * batch)?;
        }
        pool.part(0..all)
    }

    fn prefix(&self, sums: &LweBatch<B>, places: usize, batch: usize) -> Result<LweBatch<B>> {
        let all = places * batch;
        let forms: Vec<_> = (0..all).map(|i| combination(0, vec![term(1, i)])).collect();
        let which: Vec<u32> = (0..all)
            .map(|i| if i < batch { Pair::MessageAndCarry as u32 } else { Pair::TwiceAndState as u32 })
            .collect();
        // The messages, doubled except for the lowest; then the states of runs that end in each
        // digit, or carries if the run begins at the lowest digit.
        let mut pool = self.lookup_pairs(sums, &forms, &which)?;
        // The places of ciphertexts in the pool, by digit and index in the batch.
        let message = |d: usize, b: usize| d * batch + b;
        let state = |d: usize, b: usize| all + d * batch + b;

        // Runs end at multiples of `run`, or are shorter at the end. The last step combines the
        // remaining two.
        let carrying = places - 1;
        let mut run = 1;
        while carrying > 2 * run {
            // In each group of three runs, the second and the third are composed with the runs
            // below them, at each of their digits.
            let upper: Vec<usize> = (0..carrying).filter(|d| d / run % 3 > 0).collect();
            let (mut forms, mut which) = (Vec::new(), Vec::new());
            for &d in &upper {
                let below = d / run % 3;
                let ends = (1..=below).map(|i| (d / run - below + i) * run - 1);
                for b in 0..batch {
                    let lower = ends.clone().enumerate().map(|(i, end)| term(1 << i, state(end, b)));
                    forms.push(combination(0, lower.chain([term(1 << below, state(d, b))]).collect()));
                    which.push(match (below, d < 3 * run) {
                        (1, false) => Table::TwoRuns,
                        (1, true) => Table::TwoCarry,
                        (_, false) => Table::ThreeRuns,
                        (_, true) => Table::ThreeCarry,
                    } as u32);
                }
            }
            let composed = self.lookup_each(&pool, &forms, &which)?;
            for (place, &d) in upper.iter().enumerate() {
                pool.write(state(d, 0), &composed, place * batch..(place + 1) * batch)?;
            }
            run *= 3;
        }

        let mut forms = Vec::with_capacity(all - batch);
        for d in 1..places {
            for b in 0..batch {
                let message = term(1, message(d, b));
                // The carry into the digit, or the run before it and the carry into that.
                forms.push(combination(
                    0,
                    if d <= run {
                        vec![message, term(2, state(d - 1, b))]
                    } else {
                        vec![message, term(1, state(d - 1, b)), term(1, state(run - 1, b))]
                    },
                ));
            }
        }
        let upper = self.lookup(&pool, &forms, Table::Half)?;
        LweBatch::concat(&[&pool.part(0..batch)?, &upper])
    }

    /// Looks up x - y of blocks of two digits, -15 ... 15, `[block][batch]`.
    fn block_differences(
        &self,
        x: &EncryptedUint<B>,
        y: &EncryptedUint<B>,
        table: Table,
    ) -> Result<(usize, LweBatch<B>)> {
        let pool = self.pool(x, y)?;
        let (places, batch) = (x.places(), x.batch);
        let all = places * batch;
        let blocks = places.div_ceil(2);
        let forms: Vec<_> = (0..blocks * batch)
            .map(|i| {
                let (block, b) = (i / batch, i % batch);
                let low = 2 * block * batch + b;
                let mut terms = vec![term(1, low), term(-1, all + low)];
                if 2 * block + 1 < places {
                    terms.extend([term(4, low + batch), term(-4, all + low + batch)]);
                }
                combination(0, terms)
            })
            .collect();
        Ok((blocks, self.lookup(&pool, &forms, table)?))
    }

    /// Whether x < y: signs of the differences of 4-bit blocks, then signs of 8, 4, 2, 1 times four
    /// signs.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn lt(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedFlags<B>> {
        let batch = x.batch;
        let (mut blocks, mut signs) = self.block_differences(x, y, Table::Sign)?;
        loop {
            let groups = blocks.div_ceil(4);
            let forms: Vec<_> = (0..groups * batch)
                .map(|i| {
                    let (group, b) = (i / batch, i % batch);
                    let members = 4 * group..blocks.min(4 * group + 4);
                    let terms = members.enumerate().map(|(place, block)| term(1 << place, block * batch + b));
                    combination(0, terms.collect())
                })
                .collect();
            if groups == 1 {
                let halves = self.lookup(&signs, &forms, Table::Negative)?;
                let shifted: Vec<_> =
                    (0..batch).map(|i| Combination { constant: UNIT / 2, terms: vec![term(1, i)] }).collect();
                return Ok(EncryptedFlags(self.boot.combine(&halves, &shifted)?));
            }
            signs = self.lookup(&signs, &forms, Table::Sign)?;
            blocks = groups;
        }
    }

    /// Whether x = y: 4-bit blocks, then sums of up to fifteen.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn eq(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedFlags<B>> {
        let batch = x.batch;
        let (mut blocks, mut same) = self.block_differences(x, y, Table::Zero)?;
        while blocks > 1 {
            let groups = blocks.div_ceil(15);
            let forms: Vec<_> = (0..groups * batch)
                .map(|i| {
                    let (group, b) = (i / batch, i % batch);
                    let members = 15 * group..blocks.min(15 * group + 15);
                    let missing = 15 - members.len() as u64;
                    combination(missing, members.map(|block| term(1, block * batch + b)).collect())
                })
                .collect();
            same = self.lookup(&same, &forms, Table::Fifteen)?;
            blocks = groups;
        }
        Ok(EncryptedFlags(same))
    }

    /// The pool and the combinations for 4 condition + digit, for the digits of x and then of y.
    fn conditioned(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedUint<B>,
        y: &EncryptedUint<B>,
    ) -> Result<(LweBatch<B>, Vec<Combination>)> {
        let operands = self.pool(x, y)?;
        let batch = x.batch;
        if condition.batch() != batch {
            return Err(Error::BatchMismatch { left: condition.batch(), right: batch });
        }
        let both = operands.count();
        let pool = LweBatch::concat(&[&operands, &condition.0])?;
        let forms = (0..both).map(|i| combination(0, vec![term(1, i), term(4, both + i % batch)])).collect();
        Ok((pool, forms))
    }

    /// Makes an integer like `like`, whose digit i is the sum of ciphertexts `left` + i and
    /// `right` + i.
    fn joined(
        &self,
        like: &EncryptedUint<B>,
        parts: &LweBatch<B>,
        left: usize,
        right: usize,
    ) -> Result<EncryptedUint<B>> {
        let sums: Vec<_> = (0..like.digits.count())
            .map(|i| combination(0, vec![term(1, left + i), term(1, right + i)]))
            .collect();
        Ok(EncryptedUint { bits: like.bits, batch: like.batch, digits: self.boot.combine(parts, &sums)? })
    }

    /// x where the condition is set, y elsewhere: two bootstraps per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn select(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedUint<B>,
        y: &EncryptedUint<B>,
    ) -> Result<EncryptedUint<B>> {
        let (pool, forms) = self.conditioned(condition, x, y)?;
        let all = x.digits.count();
        let which: Vec<u32> =
            (0..forms.len()).map(|i| if i < all { Table::If as u32 } else { Table::Unless as u32 }).collect();
        self.joined(x, &self.lookup_each(&pool, &forms, &which)?, 0, all)
    }

    /// The smaller and the larger of x and y: one comparison, and two bootstraps per digit, as for
    /// one of them alone.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn min_max(
        &self,
        x: &EncryptedUint<B>,
        y: &EncryptedUint<B>,
    ) -> Result<(EncryptedUint<B>, EncryptedUint<B>)> {
        let (pool, forms) = self.conditioned(&self.lt(x, y)?, x, y)?;
        let all = x.digits.count();
        // The digits taken from x and from y, and those left of x and of y.
        let parts = self.lookup_pairs(&pool, &forms, &vec![Pair::IfAndUnless as u32; forms.len()])?;
        Ok((self.joined(x, &parts, 0, 3 * all)?, self.joined(x, &parts, all, 2 * all)?))
    }

    /// The smaller of x and y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn min(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        self.select(&self.lt(x, y)?, x, y)
    }

    /// The larger of x and y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn max(&self, x: &EncryptedUint<B>, y: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        self.select(&self.lt(x, y)?, y, x)
    }
}
