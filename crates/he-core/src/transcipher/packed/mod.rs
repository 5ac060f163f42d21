//! From AES to the slots of CKKS: many blocks at once.
//!
//! Block j of a message is in slot j of 128 ciphertexts, one per bit, whose values are 0 or 1 up to
//! noise. SubBytes is a sum of products of indicators, an XOR is x (1 - y) + y (1 - x), and
//! x^2 (3 - 2x) squares the noise, which a round multiplies by up to 2^5. All blocks of a
//! ciphertext, 32 768 with N = 2^16, take the time of one, so that this is for much data,
//! [`PlaneTranscipher`] for a sixteenth of it in a fifth of the key switches, and
//! [`Transcipher`](super::Transcipher) for little.
//!
//! | | levels |
//! |---|---|
//! | SubBytes | 3 |
//! | MixColumns and AddRoundKey | 3 |
//! | AddRoundKey of the last round | 1 |
//! | cleaning after a round, but for the first | 2 |
//! | counter blocks | 1 |
//! | numbers from bits | 1 |
//!
//! The 16 levels of [`presets::fast`](crate::bootstrapping::presets::fast) thus hold two rounds,
//! and AES-128 takes four refreshes of 128 ciphertexts, two of which cost as much as one
//! ([`refresh_pairs`](crate::bootstrapping::Bootstrapper::refresh_pairs)).
//!
//! ```
//! use he_core::aes::{self, Bulk, BulkCipher, Key, KeySize};
//! use he_core::transcipher::packed::{NumberFormat, PackedAesKey, PackedTranscipher};
//! use he_core::{backend::Cpu, bootstrapping::*, ckks::*, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The chain of a preset at a degree that is quick, and insecure; otherwise `presets::fast()?`.
//! let spec = BootstrapSpec { log_n: 8, log_slots: 7, ..presets::Preset::Fast.spec() };
//! let boot = BootstrapParams::insecure(spec)?;
//! let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
//!
//! // The owner of both keys, once.
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let key = Key::generate(KeySize::Bits128, &mut rng);
//! let encrypted_key = PackedAesKey::generate(params, &secret, &ring, &key, &mut rng)?;
//! let keys = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), &mut rng)?;
//! let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng)?;
//!
//! // The sender: 16-bit numbers under AES-CTR, with a counter that never comes again.
//! let (counter, numbers) = ([7; 16], [1000i16, -32768, 3]);
//! let mut message: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
//! aes::Cpu::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut message))?;
//!
//! // The server. Number i is in slot i / 8 of ciphertext i mod 8, for 8 numbers per block.
//! let (ev, bootstrapper) = (Evaluator::new(params, &ring)?, Bootstrapper::new(&boot, &ring)?);
//! let refresher = bootstrapper.with_keys(&boot_keys);
//! let transcipher = PackedTranscipher::new(&ev, &keys, &refresher, &encrypted_key)?;
//! let stream = transcipher.key_stream(&counter, 1)?;
//! let x = transcipher.decrypt(&stream, &message, NumberFormat::signed(16)?.with_fraction(15))?;
//!
//! let found = Decryptor::new(params, &secret, &ring)?.decrypt_real(&x)?;
//! let slots = params.slots();
//! assert!((found[0] - 1000.0 / 32768.0).abs() < 1e-4 && (found[slots] + 1.0).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```
//!
//! # Precision and security
//! A number of w bits has the relative error of a bit. With
//! [`presets::fast`](crate::bootstrapping::presets::fast) that is 2^-25 in the mean and 2^-22 at
//! worst of 2^18 numbers, with [`presets::precise`](crate::bootstrapping::presets::precise) 2^-29
//! and 2^-26 (`he-cli bench transcipher`, 2026-11-23): numbers of 8 and 16 bits are
//! integers again after rounding, and of those of 32 bits the lowest bits are noise. Results carry
//! no noise estimate. A refresh whose error exceeds about 2^-6 would turn bits, which is rarer than
//! the presets' failure.
//!
//! The statements of the [`transcipher`](super) module on AES-CTR hold here as well.

mod bytes;
mod format;
mod key;
mod planes;

pub use format::NumberFormat;
pub use key::PackedAesKey;
pub use planes::{PlaneKeyStream, PlaneTranscipher};

use crate::aes::BLOCK;
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::Refresher;
use crate::ckks::{Ciphertext, Encoding, Evaluator, Plaintext};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::rlwe::EvaluationKeys;
use bytes::{Bits, Bytes, each_bit, gathered};
use key::RoundKeys;
use num_complex::Complex64;

/// The bits of a byte, and of a block.
const BITS: usize = 8;
const STATE: usize = BITS * BLOCK;

/// Computes AES-CTR key streams of one encrypted key, as many blocks at once as there are slots.
///
/// # Cost
/// Per round 768 products of ciphertexts and 128 sums of 16 products for SubBytes, 560 sums of two
/// for MixColumns and AddRoundKey, 256 products that clean the noise, and 127 key switches for the
/// round key. Per refresh 128 ciphertexts. Memory: about 1000 ciphertexts on a device.
#[derive(Debug)]
pub struct PackedTranscipher<'a, B: RingOps, R> {
    bits: Bits<'a, B>,
    refresher: &'a R,
    round_keys: RoundKeys<B>,
    rounds: usize,
}

/// The key stream of AES-CTR on encrypted bits.
#[derive(Debug)]
pub struct KeyStream<B: RingOps = Cpu> {
    bits: [Bytes<B>; BITS],
    blocks: usize,
}

impl<B: RingOps> KeyStream<B> {
    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bit `bit` of every byte, the lowest first: a batch of 16 bytes, with block j in slot j.
    /// Slots without a block hold anything.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for more than 7.
    pub fn bits(&self, bit: usize) -> Result<&Ciphertext<B>> {
        let out = Error::BatchRange { start: bit, end: bit + 1, batch: BITS };
        self.bits.get(bit).map(|bytes| &bytes.0).ok_or(out)
    }
}

impl<'a, B: RingOps, R: Refresher<B>> PackedTranscipher<'a, B, R> {
    /// Puts the round keys on the device.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if a refresh leaves fewer than nine levels;
    /// [`Error::MissingGaloisKey`], [`Error::MissingConjugationKey`], [`Error::MissingRelinKey`],
    /// [`Error::RingMismatch`], [`Error::KeyMismatch`]; device errors.
    pub fn new(
        ev: &'a Evaluator<B>,
        keys: &'a EvaluationKeys<B>,
        refresher: &'a R,
        key: &PackedAesKey,
    ) -> Result<Self> {
        PackedAesKey::requirements().check(keys)?;
        common("encrypted AES key", key.key_set(), keys.key_set())?;
        let round_keys = RoundKeys::new(ev, key)?;
        let top = refresher.top().unwrap_or(ev.params().max_level());
        refresher.fits(top, Bits::<B>::SUBSTITUTE + Bits::<B>::MIX + Bits::<B>::CLEAN + 1)?;
        Ok(Self { bits: Bits { ev, keys }, refresher, round_keys, rounds: key.size().rounds() })
    }

    /// The encryptions of as many counter blocks from this one on, which counts as a number of 128
    /// bits (NIST SP 800-38A).
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for more blocks than slots; device errors.
    pub fn key_stream(&self, counter: &[u8; BLOCK], blocks: usize) -> Result<KeyStream<B>> {
        let (bits, capacity) = (&self.bits, self.bits.ev.params().slots());
        if blocks > capacity {
            return Err(Error::TooManyValues { found: blocks, capacity });
        }
        let mut state = self.begin(&counters(counter, blocks))?;
        for round in 1..=self.rounds {
            let last = round == self.rounds;
            let depth = Bits::<B>::SUBSTITUTE + if last { Bits::<B>::XOR + 1 } else { Bits::<B>::MIX };
            // The noise of encryption needs no cleaning after one round.
            let cleaning = round > 1;
            let depth = depth + if cleaning { Bits::<B>::CLEAN } else { 0 };
            if !self.refresher.fits(state[0].0.level(), depth)? {
                state = bits.refresh(&state, self.refresher)?;
            }
            let shifted = bits.shift_rows(&bits.substitute(&state)?)?;
            let key = self.round_keys.expand(bits.ev, bits.keys, round, shifted[0].0.level())?;
            state = if last { bits.add(&shifted, &key)? } else { bits.mix_and_add(&shifted, &key)? };
            if cleaning {
                state = bits.clean(&state)?;
            }
        }
        Ok(KeyStream { bits: state, blocks })
    }

    /// Counter blocks plus the first round key: bit c of a counter, and k of the key, make
    /// c + (1 - 2c) k.
    fn begin(&self, counters: &[[u8; BLOCK]]) -> Result<[Bytes<B>; BITS]> {
        let ev = self.bits.ev;
        let key = self.round_keys.expand(ev, self.bits.keys, 0, ev.params().max_level())?;
        each_bit(|bit| {
            let one = |byte: usize| counters.iter().map(move |counter| f64::from(counter[byte] >> bit & 1));
            let signs = (0..BLOCK).map(|byte| one(byte).map(|one| 1.0 - 2.0 * one).collect());
            let ones = (0..BLOCK).map(|byte| one(byte).collect());
            self.combined(&[(&key[bit].0, signs.collect())], ones.collect()).map(Bytes)
        })
    }

    /// sum of factors x ciphertext, plus terms, where every entry of a batch has its own.
    fn combined(
        &self,
        products: &[(&Ciphertext<B>, Vec<Vec<f64>>)],
        terms: Vec<Vec<f64>>,
    ) -> Result<Ciphertext<B>> {
        let ev = self.bits.ev;
        let factors = products.iter().map(|(ct, factors)| {
            encoded(ev, factors.clone(), ev.params().encoding_for(ct).for_multiplying(ev.params())?)
        });
        let factors = factors.collect::<Result<Vec<_>>>()?;
        let pairs: Vec<_> = products.iter().zip(&factors).map(|((ct, _), factor)| (*ct, factor)).collect();
        let sum = ev.plain_combination(&pairs)?;
        ev.add_plain(&sum, &encoded(ev, terms, ev.params().encoding_for(&sum))?)
    }

    /// The numbers that AES-CTR encrypted to `message` with this key stream, one level below it.
    /// With m numbers per block, number i is in slot i / m of entry i mod m of the batch; slots
    /// without a number hold zero.
    ///
    /// # Errors
    /// [`Error::Argument`] for a message that is not made of whole numbers,
    /// [`Error::TooManyValues`] for one of more blocks than the key stream; device errors.
    pub fn decrypt(
        &self,
        stream: &KeyStream<B>,
        message: &[u8],
        format: NumberFormat,
    ) -> Result<Ciphertext<B>> {
        let (bytes, numbers) = (format.bytes(), format.numbers(message, stream.blocks)?);
        // The numbers of an entry, by slots.
        let entry = |at: usize| numbers.iter().skip(at).step_by(BLOCK / bytes);
        let entries = 0..BLOCK / bytes;
        let place = |place: usize| {
            let (byte, bit) = (place / BITS, place % BITS);
            let ct = gathered(&stream.bits[bit].0, entries.clone().map(|at| at * bytes + byte))?;
            let sign = |number: &&[u8]| 1.0 - 2.0 * f64::from(number[byte] >> bit & 1);
            let factor = |number: &&[u8]| sign(number) * format.weight(place);
            Ok((ct, entries.clone().map(|at| entry(at).map(factor).collect()).collect::<Vec<_>>()))
        };
        let places = (0..BITS * bytes).map(place).collect::<Result<Vec<_>>>()?;
        let products: Vec<_> = places.iter().map(|(ct, factors)| (ct, factors.clone())).collect();
        // sum 2^p (c + (1 - 2c) k) has the number that was sent as its constant.
        let value = |number: &&[u8]| format.value(number);
        self.combined(&products, entries.clone().map(|at| entry(at).map(value).collect()).collect())
    }
}

/// As many counter blocks from this one on, which counts as a number of 128 bits.
fn counters(first: &[u8; BLOCK], blocks: usize) -> Vec<[u8; BLOCK]> {
    let first = u128::from_be_bytes(*first);
    (0..blocks as u128).map(|block| first.wrapping_add(block).to_be_bytes()).collect()
}

/// Vectors of slots as a batch of plaintexts.
fn encoded<B: RingOps>(ev: &Evaluator<B>, vectors: Vec<Vec<f64>>, to: Encoding) -> Result<Plaintext<B>> {
    let complex = |values: Vec<f64>| values.into_iter().map(Complex64::from).collect::<Vec<_>>();
    let vectors: Vec<_> = vectors.into_iter().map(complex).collect();
    ev.encoder().encode_batch(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>(), to)
}

#[cfg(test)]
mod tests;
