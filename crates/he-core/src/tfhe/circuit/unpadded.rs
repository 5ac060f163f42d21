//! Bits modulo 2, without a bit of padding.

use super::HALF;
use crate::backend::Cpu;
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::tfhe::integers::{UNIT, digits_of};
use crate::tfhe::{
    Bootstrapper, Combination, EncryptedBits, EncryptedInteger, EncryptedUint, LookupTables, LweBatch,
    LweOps, SeededLwe, TfheSecretKey,
};
use derive_where::derive_where;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// Bits as phases of 0 and 1/2: sums of ciphertexts are sums modulo 2, and take no bootstrap.
/// Nothing is left of the torus as padding, so that gates and tables of
/// [`LookupTables`](crate::tfhe::LookupTables) do not read them; a
/// [`CircuitBootstrapper`](super::CircuitBootstrapper) does, and
/// [`padded`](Self::padded) and [`integers`](Self::integers) convert them.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct UnpaddedBits<B: LweOps = Cpu>(LweBatch<B>);

key_set_accessors! {
    [B: LweOps] UnpaddedBits<B> { 0.key_set }
}

/// 1/2 for each bit that is set, without a branch.
fn encode(bits: &[bool]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(bits.iter().map(|&bit| u64::from(bit) << 63).collect())
}

impl TfheSecretKey {
    /// Encrypts bits as phases of 0 and 1/2. Constant time.
    ///
    /// # Errors
    /// The errors of [`encrypt`](Self::encrypt).
    pub fn encrypt_unpadded<B: LweOps>(
        &self,
        backend: &B,
        bits: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<UnpaddedBits<B>> {
        Ok(UnpaddedBits(self.encrypt(backend, &encode(bits), rng)?))
    }

    /// The same encryptions, with their masks as a seed. Constant time.
    pub(crate) fn encrypt_unpadded_seeded(
        &self,
        bits: &[bool],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SeededLwe> {
        self.encrypt_seeded(&encode(bits), rng)
    }

    /// Decrypts bits that are phases of 0 and 1/2, the nearer of both: there is no phase that would
    /// show an error. Constant time.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn decrypt_unpadded<B: LweOps>(&self, bits: &UnpaddedBits<B>) -> Result<Vec<bool>> {
        let phases = self.phases(&bits.0)?;
        Ok(phases.iter().map(|phase| phase.wrapping_add(HALF / 2) >> 63 == 1).collect())
    }
}

impl<B: LweOps> UnpaddedBits<B> {
    /// Wraps ciphertexts of 0 and 1/2.
    pub fn from_ciphertexts(ciphertexts: LweBatch<B>) -> Self {
        Self(ciphertexts)
    }

    /// The number of bits.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.0
    }

    /// The bits as operands of gates: one bootstrap each.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device errors.
    pub fn padded(&self, boot: &Bootstrapper<B>) -> Result<EncryptedBits<B>> {
        let words = vec![vec![(HALF / 4).wrapping_neg()]];
        let tables = LookupTables::new(boot.backend(), boot.params(), &words)?;
        let bits = boot.bootstrap(&self.0, &tables, &vec![0; self.count()])?;
        Ok(EncryptedBits::from_ciphertexts(bits))
    }

    /// Integers of `bits` bits each, the lowest bit first: one bootstrap per bit. Read as signed
    /// ones, they are the two's complement
    /// ([`reinterpret`](crate::tfhe::EncryptedInteger::reinterpret)).
    ///
    /// # Errors
    /// [`Error::Argument`] for a width that integers do not have;
    /// [`Error::BatchMismatch`] for bits that are not whole integers;
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device errors.
    pub fn integers(&self, boot: &Bootstrapper<B>, bits: usize) -> Result<EncryptedUint<B>> {
        let (places, count) = (digits_of(bits)?, self.count() / bits);
        if count * bits != self.count() {
            return Err(Error::BatchMismatch { left: self.count(), right: count * bits });
        }
        // Half of the bit's weight in its digit: minus that for 0.
        let halves = [UNIT / 2, UNIT];
        let words = halves.map(|half| vec![half.wrapping_neg()]);
        let tables = LookupTables::new(boot.backend(), boot.params(), &words)?;
        let which: Vec<u32> = (0..self.count() as u32).map(|bit| bit % 2).collect();
        let found = boot.bootstrap(&self.0, &tables, &which)?;
        let digit = |place: usize, integer: usize| Combination {
            constant: halves[0] + halves[1],
            terms: (0..2).map(|bit| (1, integer * bits + 2 * place + bit)).collect(),
        };
        let digits: Vec<_> =
            (0..places * count).map(|at| digit(at / count.max(1), at % count.max(1))).collect();
        EncryptedInteger::from_ciphertexts(boot.combine(&found, &digits)?, bits)
    }
}
