//! AES with one ciphertext for each bit of a byte: all bytes of all blocks in its slots.

use super::bytes::{Bits, Bytes, each_bit, gathered};
use super::key::RoundKeys;
use super::{BITS, NumberFormat, PackedAesKey, counters, encoded};
use crate::aes::BLOCK;
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::Refresher;
use crate::ckks::{Ciphertext, CkksParams, Evaluator, Plaintext};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::rlwe::{EvaluationKeys, KeyRequirements};

/// The rows of a column.
const ROWS: usize = 4;

/// The bytes by which a ciphertext is rotated so that what is in a row before ShiftRows comes to
/// the row that is `further` rows above the one where ShiftRows puts it, in the same column.
const fn step(row: usize, further: usize) -> usize {
    (5 * row + BLOCK - (row + ROWS - further) % ROWS) % BLOCK
}

/// The slots of a byte of all blocks: a sixteenth of all.
fn stride(params: &CkksParams) -> usize {
    params.slots() / BLOCK
}

/// Computes AES-CTR key streams of one encrypted key in eight ciphertexts, one for each bit of a
/// byte, for up to a sixteenth as many blocks as there are slots.
///
/// Byte b of block j is in slot b C + j, where C is a sixteenth of the slots: 2048 blocks with
/// N = 2^16. ShiftRows and MixColumns are twelve rotations; the masks that choose rows are factors
/// of the polynomial that cleans the noise, m x^2 (3 - 2x) = x^2 (3m - 2m x), and take no level of
/// their own.
///
/// | | levels |
/// |---|---|
/// | SubBytes | 3 |
/// | cleaning, ShiftRows | 2 |
/// | MixColumns and AddRoundKey | 3 |
/// | AddRoundKey of the last round | 1 |
/// | counter blocks | 1 |
/// | numbers from bits | 1 |
///
/// # Cost
/// Counts are of single ciphertexts, beside those of
/// [`PackedTranscipher`](super::PackedTranscipher), which has as many blocks as there are slots:
///
/// | a round | here | there |
/// |---|---|---|
/// | products, and sums of products: SubBytes | 56 | 896 |
/// | cleaning | 40 | 256 |
/// | MixColumns and AddRoundKey | 43 | 560 |
/// | rotations of the state | 96 | 0 |
/// | key switches for the round key | 127 | 127 |
/// | key switches, all of these | 362 | 1839 |
/// | ciphertexts of a refresh | 8 | 128 |
///
/// With the 16 levels of [`presets::fast`](crate::bootstrapping::presets::fast), AES-128 takes five
/// refreshes of eight ciphertexts here and four of 128 there: 40 and 512, in pairs. Most memory is
/// that of a round key, 128 ciphertexts while it is taken apart.
///
/// It is used as [`PackedTranscipher`](super::PackedTranscipher) is, with the evaluation keys of
/// [`PackedAesKey::plane_requirements`].
#[derive(Debug)]
pub struct PlaneTranscipher<'a, B: RingOps, R> {
    bits: Bits<'a, B>,
    refresher: &'a R,
    round_keys: RoundKeys<B>,
    rounds: usize,
}

/// The key stream of AES-CTR on encrypted bits, all bytes of a bit in one ciphertext.
#[derive(Debug)]
pub struct PlaneKeyStream<B: RingOps = Cpu> {
    bits: [Bytes<B>; BITS],
    blocks: usize,
}

impl<B: RingOps> PlaneKeyStream<B> {
    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bit `bit` of every byte, the lowest first: byte b of block j in slot b C + j, where C is a
    /// sixteenth of the slots. Slots without a block hold anything.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for more than 7.
    pub fn bits(&self, bit: usize) -> Result<&Ciphertext<B>> {
        let out = Error::BatchRange { start: bit, end: bit + 1, batch: BITS };
        self.bits.get(bit).map(|bytes| &bytes.0).ok_or(out)
    }
}

impl PackedAesKey {
    /// The evaluation keys that a [`PlaneTranscipher`] needs beside those of bootstrapping: those
    /// of [`requirements`](Self::requirements), and thirteen rotations.
    pub fn plane_requirements(params: &CkksParams) -> KeyRequirements {
        let bytes = (0..ROWS).flat_map(|row| (0..ROWS).map(move |further| step(row, further)));
        // Numbers of several bytes are added up byte by byte.
        let bytes = bytes.filter(|&bytes| bytes > 0).chain([1]);
        Self::requirements().rotations(bytes.map(|bytes| (bytes * stride(params)) as i64))
    }
}

impl<'a, B: RingOps, R: Refresher<B>> PlaneTranscipher<'a, B, R> {
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
        PackedAesKey::plane_requirements(ev.params()).check(keys)?;
        common("encrypted AES key", key.key_set(), keys.key_set())?;
        let round_keys = RoundKeys::new(ev, key)?;
        let top = refresher.top().unwrap_or(ev.params().max_level());
        refresher.fits(top, Bits::<B>::SUBSTITUTE + Bits::<B>::CLEAN + Bits::<B>::MIX + 1)?;
        Ok(Self { bits: Bits { ev, keys }, refresher, round_keys, rounds: key.size().rounds() })
    }

    /// The most blocks of a key stream.
    pub fn capacity(&self) -> usize {
        stride(self.bits.ev.params())
    }

    /// The encryptions of as many counter blocks from this one on, which counts as a number of 128
    /// bits (NIST SP 800-38A).
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for more blocks than [`capacity`](Self::capacity); device errors.
    pub fn key_stream(&self, counter: &[u8; BLOCK], blocks: usize) -> Result<PlaneKeyStream<B>> {
        let (bits, capacity) = (&self.bits, self.capacity());
        if blocks > capacity {
            return Err(Error::TooManyValues { found: blocks, capacity });
        }
        let mut state = self.begin(&counters(counter, blocks))?;
        for round in 1..=self.rounds {
            let last = round == self.rounds;
            let depth = if last { Bits::<B>::XOR + 1 } else { Bits::<B>::MIX };
            let depth = Bits::<B>::SUBSTITUTE + Bits::<B>::CLEAN + depth;
            if !self.refresher.fits(state[0].0.level(), depth)? {
                state = self.refreshed(&state)?;
            }
            let rows = self.cleaned_rows(&bits.substitute(&state)?)?;
            let key = self.round_key(round, rows[0].level())?;
            state = if last { bits.add(&self.shifted(&rows)?, &key)? } else { self.mixed(&rows, &key)? };
        }
        Ok(PlaneKeyStream { bits: state, blocks })
    }

    /// Counter blocks plus the first round key: bit c of a counter, and k of the key, make
    /// c + (1 - 2c) k.
    fn begin(&self, counters: &[[u8; BLOCK]]) -> Result<[Bytes<B>; BITS]> {
        let ev = self.bits.ev;
        let key = self.round_keys.expand(ev, self.bits.keys, 0, ev.params().max_level())?;
        each_bit(|bit| {
            let one = |byte: usize, block: usize| {
                counters.get(block).map(|counter| f64::from(counter[byte] >> bit & 1))
            };
            let sign = |byte: usize, block: usize| one(byte, block).map_or(0.0, |one| 1.0 - 2.0 * one);
            let signs =
                (0..BLOCK).map(|byte| self.slots(|at, block| if at == byte { sign(at, block) } else { 0.0 }));
            let sum = self.of_bytes(&key[bit], &self.factors(&key[bit].0, signs)?)?;
            let ones = self.slots(|byte, block| one(byte, block).unwrap_or(0.0));
            ev.add_plain(&sum, &encoded(ev, vec![ones], ev.params().encoding_for(&sum))?).map(Bytes)
        })
    }

    /// The value of each slot, by its byte and its block.
    fn slots(&self, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let capacity = self.capacity();
        (0..self.bits.ev.params().slots()).map(|slot| value(slot / capacity, slot % capacity)).collect()
    }

    /// Factors of ciphertexts like this one.
    fn factors(
        &self,
        ct: &Ciphertext<B>,
        factors: impl IntoIterator<Item = Vec<f64>>,
    ) -> Result<Vec<Plaintext<B>>> {
        let params = self.bits.ev.params();
        let to = params.encoding_for(ct).for_multiplying(params)?;
        factors.into_iter().map(|factor| encoded(self.bits.ev, vec![factor], to)).collect()
    }

    /// The sum of sixteen bytes, each times its factor.
    fn of_bytes(&self, bytes: &Bytes<B>, factors: &[Plaintext<B>]) -> Result<Ciphertext<B>> {
        let entries =
            (0..BLOCK).map(|byte| bytes.0.slice_batch(byte..byte + 1)).collect::<Result<Vec<_>>>()?;
        self.bits.ev.plain_combination(&entries.iter().zip(factors).collect::<Vec<_>>())
    }

    /// The bits of a round key on a level, each byte in its slots.
    fn round_key(&self, round: usize, level: usize) -> Result<[Bytes<B>; BITS]> {
        let key = self.round_keys.expand(self.bits.ev, self.bits.keys, round, level + 1)?;
        let ones = (0..BLOCK).map(|byte| self.slots(|at, _| f64::from(at == byte)));
        let factors = self.factors(&key[0].0, ones)?;
        each_bit(|bit| self.of_bytes(&key[bit], &factors).map(Bytes))
    }

    /// Refreshes bits in pairs, as numbers of magnitude 1/2.
    fn refreshed(&self, x: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        let (ev, half) = (self.bits.ev, crate::ckks::Complex64::from(0.5));
        let all = Ciphertext::concat(&x.each_ref().map(|x| &x.0))?;
        let all = self.refresher.refresh_pairs(&ev.add_scalar(&all, -half)?)?;
        split(&ev.add_scalar(&all, half)?)
    }

    /// The rows of bytes after m x^2 (3 - 2x) with the mask m of each: a batch of eight bits for
    /// each row, with zeros in other rows.
    fn cleaned_rows(&self, x: &[Bytes<B>; BITS]) -> Result<[Ciphertext<B>; ROWS]> {
        let Bits { ev, keys } = self.bits;
        let all = Ciphertext::concat(&x.each_ref().map(|x| &x.0))?;
        let square = ev.square(&all, keys)?;
        let row = |row: usize| {
            let mask = |value: f64| self.slots(|byte, _| if byte % ROWS == row { value } else { 0.0 });
            let factor = self.factors(&all, [mask(-2.0)])?;
            let lines = x.iter().map(|x| ev.mul_plain(&x.0, &factor[0])).collect::<Result<Vec<_>>>()?;
            let term = encoded(ev, vec![mask(3.0)], ev.params().encoding_for(&lines[0]))?;
            let lines = lines.iter().map(|line| ev.add_plain(line, &term)).collect::<Result<Vec<_>>>()?;
            ev.mul(&square, &Ciphertext::concat(&lines.iter().collect::<Vec<_>>())?, keys)
        };
        let rows = (0..ROWS).map(row).collect::<Result<Vec<_>>>()?;
        Ok(rows.try_into().unwrap_or_else(|_| unreachable!("one per row")))
    }

    /// The slots of so many bytes.
    fn slots_of(&self, bytes: usize) -> i64 {
        (bytes * self.capacity()) as i64
    }

    /// Rows rotated by these numbers of bytes.
    fn rotated(&self, rows: &Ciphertext<B>, bytes: &[usize]) -> Result<Vec<Ciphertext<B>>> {
        let steps: Vec<i64> = bytes.iter().map(|&bytes| self.slots_of(bytes)).collect();
        self.bits.ev.rotate_many(rows, &steps, self.bits.keys)
    }

    fn sum(&self, terms: &[&Ciphertext<B>]) -> Result<Ciphertext<B>> {
        let mut sum = terms[0].duplicate()?;
        terms[1..].iter().try_for_each(|term| self.bits.ev.add_assign(&mut sum, term))?;
        Ok(sum)
    }

    /// The state after ShiftRows.
    fn shifted(&self, rows: &[Ciphertext<B>; ROWS]) -> Result<[Bytes<B>; BITS]> {
        let moved = |row: usize| self.bits.ev.rotate(&rows[row], self.slots_of(step(row, 0)), self.bits.keys);
        split(&self.sum(&[&rows[0], &moved(1)?, &moved(2)?, &moved(3)?])?)
    }

    /// ShiftRows, MixColumns, and the sum with a round key.
    ///
    /// Rows 0 and 3 need the same rotations but in the sum without one, and go through them
    /// together.
    fn mixed(&self, rows: &[Ciphertext<B>; ROWS], key: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        const { assert!(step(0, 1) == step(3, 1) && step(0, 2) == step(3, 2) && step(0, 3) == step(3, 3)) }
        let all = |row: usize| [0, 1, 2, 3].map(|further| step(row, further));
        let outer = self.sum(&[&rows[0], &rows[3]])?;
        let outer = self.rotated(&outer, &all(0)[1..])?;
        let third = self.rotated(&rows[3], &all(3)[..1])?;
        let (first, second) = (self.rotated(&rows[1], &all(1))?, self.rotated(&rows[2], &all(2))?);
        let below = |further: usize| match further {
            0 => split(&self.sum(&[&rows[0], &third[0], &first[0], &second[0]])?),
            _ => split(&self.sum(&[&outer[further - 1], &first[further], &second[further]])?),
        };
        let [state, next, other, last] = [below(0)?, below(1)?, below(2)?, below(3)?];
        let bits = &self.bits;
        bits.mix(&bits.add(&state, &next)?, &bits.add(&other, &last)?, &bits.add(&next, key)?)
    }

    /// The numbers that AES-CTR encrypted to `message` with this key stream, in one ciphertext one
    /// level below it. Number p of block j, of w bytes, is in slot p w C + j, where C is a
    /// sixteenth of the slots; all other slots hold zero.
    ///
    /// # Errors
    /// [`Error::Argument`] for a message that is not made of whole numbers,
    /// [`Error::TooManyValues`] for one of more blocks than the key stream; device errors.
    pub fn decrypt(
        &self,
        stream: &PlaneKeyStream<B>,
        message: &[u8],
        format: NumberFormat,
    ) -> Result<Ciphertext<B>> {
        let (ev, width) = (self.bits.ev, format.bytes());
        let whole = format.numbers(message, stream.blocks)?;
        // The number that begins at a byte, if one does and the message has it.
        let number = |byte: usize, block: usize| match byte % width {
            0 => whole.get((BLOCK * block + byte) / width).filter(|_| block < stream.blocks),
            _ => None,
        };
        // sum 2^p (c + (1 - 2c) k) over the bits of byte `place` of each number.
        let part = |place: usize| {
            let factor = |bit: usize| {
                let weight = format.weight(BITS * place + bit);
                self.slots(|byte, block| {
                    let number = byte.checked_sub(place).and_then(|first| number(first, block));
                    number.map_or(0.0, |number| weight * (1.0 - 2.0 * f64::from(number[place] >> bit & 1)))
                })
            };
            let factors = self.factors(&stream.bits[0].0, (0..BITS).map(factor))?;
            let bits = stream.bits.iter().map(|bits| &bits.0);
            ev.plain_combination(&bits.zip(&factors).collect::<Vec<_>>())
        };
        let mut sum = part(width - 1)?;
        for place in (0..width - 1).rev() {
            let further = ev.rotate(&sum, self.slots_of(1), self.bits.keys)?;
            sum = ev.add(&part(place)?, &further)?;
        }
        let values = self.slots(|byte, block| number(byte, block).map_or(0.0, |number| format.value(number)));
        ev.add_plain(&sum, &encoded(ev, vec![values], ev.params().encoding_for(&sum))?)
    }
}

/// The bits of a batch of eight.
fn split<B: RingOps>(all: &Ciphertext<B>) -> Result<[Bytes<B>; BITS]> {
    each_bit(|bit| gathered(all, std::iter::once(bit)).map(Bytes))
}
