//! AES keys under CKKS, a ciphertext per round key.

use super::bytes::{Bytes, each_bit};
use super::{BITS, STATE};
use crate::aes::{BLOCK, Key, KeySchedule, KeySize};
use crate::backend::{Cpu, RingOps};
use crate::ckks::{Ciphertext, CkksParams, Encoder, Evaluator, SecretEncryptor, SeededCiphertext};
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::ring::{Eval, Poly, Ring, Span};
use crate::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use num_complex::Complex64;
use rand::CryptoRng;
use zeroize::Zeroize;

/// The slots in which 128 coefficients are encrypted.
const SLOTS: usize = STATE / 2;

/// The round keys of an AES key under CKKS.
///
/// It is a batch of seeded ciphertexts of 64 slots, one per round key, and travels as such. The 128
/// bits of a round key are coefficients b_j of a polynomial in Y = X^(N / 128),
///
/// m = sum b_j Y^j / 128, where j = 16 bit + byte.
#[derive(Debug)]
pub struct PackedAesKey {
    size: KeySize,
    round_keys: SeededCiphertext,
}

key_set_accessors! {
    [] PackedAesKey { round_keys.zero.key_set }
}

impl PackedAesKey {
    /// Expands and encrypts a key at the top level. Constant time.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for parameters of fewer than 64 slots; mismatch of parameters or ring.
    pub fn generate(
        params: &CkksParams,
        secret: &SecretKey,
        ring: &Ring<Cpu>,
        key: &Key,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let schedule = KeySchedule::new(key);
        let slots = schedule.expose_round_keys().iter().map(slots_of).collect::<Vec<_>>();
        let slots: Vec<&[Complex64]> = slots.iter().map(|slots| slots.0.as_slice()).collect();
        let plain = Encoder::new(params, ring)?.encode_batch(&slots, params.encoding().slots(SLOTS))?;
        let round_keys = SecretEncryptor::new(params, secret, ring)?.encrypt(&plain, rng)?;
        Ok(Self { size: key.size(), round_keys })
    }

    /// Wraps the ciphertexts of [`ciphertexts`](Self::ciphertexts), such as those of a file. Their
    /// number says which size the key has.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for other than 64 slots, [`Error::Argument`] for another number than
    /// 11, 13 or 15.
    pub fn from_ciphertexts(round_keys: SeededCiphertext) -> Result<Self> {
        if round_keys.slots() != SLOTS {
            return Err(Error::SlotCount { found: round_keys.slots(), capacity: SLOTS });
        }
        let found = round_keys.batch();
        let sizes = [KeySize::Bits128, KeySize::Bits192, KeySize::Bits256];
        let size = sizes.into_iter().find(|size| size.rounds() + 1 == found);
        let why = || format!("{found} round keys; AES has 11, 13 or 15");
        let size = size.ok_or_else(|| Error::argument("round keys", why()))?;
        Ok(Self { size, round_keys })
    }

    /// The evaluation keys that transciphering needs beside those of bootstrapping.
    pub fn requirements() -> KeyRequirements {
        KeyRequirements::new().relinearisation().rotations(steps()).conjugation()
    }

    /// The ciphertexts, one per round key.
    pub fn ciphertexts(&self) -> &SeededCiphertext {
        &self.round_keys
    }

    /// The size of the key.
    pub fn size(&self) -> KeySize {
        self.size
    }
}

/// Values of slots, which are wiped.
struct Slots(Vec<Complex64>);

impl Drop for Slots {
    fn drop(&mut self) {
        for value in &mut self.0 {
            value.re.zeroize();
            value.im.zeroize();
        }
    }
}

/// The values of sum b_j Y^j / 128 at the roots that slots stand for, in their order.
fn slots_of(round_key: &[u8; 16]) -> Slots {
    // Slot k stands for X = exp(i pi 5^k / N), thus Y = exp(i pi 5^k / 128).
    let powers = std::iter::successors(Some(1), |power| Some(power * 5 % (2 * STATE)));
    let slot = |power: usize| {
        let term = |j: usize| {
            let (byte, bit) = (j % BLOCK, j / BLOCK);
            let angle = std::f64::consts::PI * (power * j % (2 * STATE)) as f64 / STATE as f64;
            Complex64::cis(angle) * (f64::from(round_key[byte] >> bit & 1) / STATE as f64)
        };
        (0..STATE).map(term).sum()
    };
    Slots(powers.take(SLOTS).map(slot).collect())
}

/// The round keys on a device, and what expands them.
#[derive(Debug)]
pub(super) struct RoundKeys<B: RingOps> {
    round_keys: Ciphertext<B>,
    /// Y^-1, Y^-2, Y^-4, ..., Y^-64.
    inverses: Vec<Poly<Eval, B>>,
}

impl<B: RingOps> RoundKeys<B> {
    pub fn new(ev: &Evaluator<B>, key: &PackedAesKey) -> Result<Self> {
        let ring = ev.ring();
        let round_keys = key.round_keys.clone().expand()?.to(ring)?;
        let (span, n) = (Span::chain(ring.spec().q().len()), ring.n());
        let inverse = |k: u32| Poly::monomial(ring, span, 2 * n - ((n / STATE) << k));
        let inverses = (0..STATE.ilog2()).map(inverse).collect::<Result<_>>()?;
        Ok(Self { round_keys, inverses })
    }

    /// The bits of a round key on a level, each in all slots: a byte-wise batch per bit.
    ///
    /// The automorphism Y^(2^k) -> -Y^(2^k) takes a polynomial in Y^(2^k) apart into even and odd
    /// powers (Angel, Chen, Laine, Setty, *PIR with Compressed Queries and Amortized Query
    /// Processing*, S&P 2018): seven times, with 127 key switches in all.
    pub fn expand(
        &self,
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
        round: usize,
        level: usize,
    ) -> Result<[Bytes<B>; BITS]> {
        let mut all = ev.mod_switch_to(&self.round_keys.slice_batch(round..round + 1)?, level)?;
        let steps = steps().map(Some).chain([None]);
        for (step, inverse) in steps.zip(&self.inverses) {
            let image = match step {
                Some(step) => ev.rotate(&all, step, keys)?,
                None => ev.conjugate(&all, keys)?,
            };
            let even = ev.add(&all, &image)?;
            let odd = ev.sub(&all, &image)?;
            let odd = Ciphertext { pair: odd.pair.mul_poly(inverse)?, meta: odd.meta };
            all = Ciphertext::concat(&[&even, &odd])?;
        }
        // Constants, thus the same in all slots.
        all.meta.slots = ev.params().slots();
        all.set_noise(None);
        let bytes = |bit: usize| all.slice_batch(bit * BLOCK..(bit + 1) * BLOCK);
        each_bit(|bit| Ok(Bytes(bytes(bit)?)))
    }
}

/// The rotations that take Y^(2^k) to its negative, for k < 6; the conjugation does for k = 6.
fn steps() -> impl Iterator<Item = i64> {
    (0..SLOTS.ilog2()).map(|k| (SLOTS >> (k + 1)) as i64)
}
