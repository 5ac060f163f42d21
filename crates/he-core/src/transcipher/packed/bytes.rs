//! AES on bits in slots: a batch of 16 bytes per bit of a byte.

use super::BITS;
use crate::aes::{BLOCK, MIX, S_BOX};
use crate::backend::RingOps;
use crate::circuits::ckks::Refresher;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use num_complex::Complex64;

/// The bytes that are substituted together: indicators and sums of them take 100 ciphertexts per
/// byte.
const SUBSTITUTED: usize = 4;
/// The ciphertexts that are refreshed together.
const REFRESHED: usize = 8;
/// The values of half a byte, and the indicators whose sums are made in advance.
const HALF: usize = 16;
const GROUP: usize = 4;

/// One bit of every byte of the state, as real numbers that are zero or one: a batch of 16
/// ciphertexts, byte 4 column + row as AES counts, or all bytes in the slots of one.
#[derive(Debug)]
pub(super) struct Bytes<B: RingOps>(pub Ciphertext<B>);

impl<B: RingOps> Bytes<B> {
    /// Byte i of the result is byte `from(i)`.
    pub fn permuted(&self, from: impl Fn(usize) -> usize) -> Result<Self> {
        gathered(&self.0, (0..BLOCK).map(from)).map(Self)
    }
}

/// These entries of a batch.
pub(super) fn gathered<B: RingOps>(
    batch: &Ciphertext<B>,
    entries: impl Iterator<Item = usize>,
) -> Result<Ciphertext<B>> {
    let entries = entries.map(|at| batch.slice_batch(at..at + 1)).collect::<Result<Vec<_>>>()?;
    Ciphertext::concat(&entries.iter().collect::<Vec<_>>())
}

/// Eight results, one per bit.
pub(super) fn each_bit<T>(f: impl FnMut(usize) -> Result<T>) -> Result<[T; BITS]> {
    let all = (0..BITS).map(f).collect::<Result<Vec<_>>>()?;
    Ok(all.try_into().unwrap_or_else(|_| unreachable!("one per bit")))
}

/// The evaluator of functions on bits.
#[derive(Debug)]
pub(super) struct Bits<'a, B: RingOps> {
    pub ev: &'a Evaluator<B>,
    pub keys: &'a EvaluationKeys<B>,
}

impl<B: RingOps> Bits<'_, B> {
    /// Levels of the functions below.
    pub const SUBSTITUTE: usize = 3;
    pub const MIX: usize = 3;
    pub const XOR: usize = 1;
    pub const CLEAN: usize = 2;

    /// 1 - x.
    pub fn not(&self, x: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.ev.add_scalar(&self.ev.neg(x)?, Complex64::ONE)
    }

    /// x (1 - y) + y (1 - x), in which errors of both are added, not amplified.
    pub fn xor(&self, x: &Ciphertext<B>, y: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.ev.sum_of_products(&[[x, &self.not(y)?], [y, &self.not(x)?]], self.keys)
    }

    fn xor_bytes(&self, x: &Bytes<B>, y: &Bytes<B>) -> Result<Bytes<B>> {
        self.xor(&x.0, &y.0).map(Bytes)
    }

    /// Every bit of x xor the same of y.
    pub fn add(&self, x: &[Bytes<B>; BITS], y: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        each_bit(|bit| self.xor_bytes(&x[bit], &y[bit]))
    }

    /// x^2 (3 - 2x): an error e becomes 3 e^2.
    pub fn clean(&self, x: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        each_bit(|bit| {
            let x = &x[bit].0;
            let line = self.ev.add_scalar(&self.ev.mul_integer(x, -2)?, Complex64::from(3.0))?;
            self.ev.mul(&self.ev.square(x, self.keys)?, &line, self.keys).map(Bytes)
        })
    }

    /// Refreshes bits in pairs, as numbers of magnitude 1/2.
    pub fn refresh(&self, x: &[Bytes<B>; BITS], refresher: &impl Refresher<B>) -> Result<[Bytes<B>; BITS]> {
        let half = Complex64::from(0.5);
        each_bit(|bit| {
            let x = self.ev.add_scalar(&x[bit].0, -half)?;
            let parts = (0..BLOCK).step_by(REFRESHED);
            let parts = parts.map(|at| refresher.refresh_pairs(&x.slice_batch(at..at + REFRESHED)?));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let x = Ciphertext::concat(&parts.iter().collect::<Vec<_>>())?;
            Ok(Bytes(self.ev.add_scalar(&x, half)?))
        })
    }

    /// SubBytes.
    pub fn substitute(&self, x: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        let batch = x[0].0.batch();
        let mut parts = Vec::with_capacity(batch.div_ceil(SUBSTITUTED));
        for at in (0..batch).step_by(SUBSTITUTED) {
            let some = each_bit(|bit| x[bit].0.slice_batch(at..batch.min(at + SUBSTITUTED)))?;
            parts.push(self.substitute_some(&some)?);
        }
        each_bit(|bit| {
            let parts = parts.iter().map(|part| &part[bit]).collect::<Vec<_>>();
            Ok(Bytes(Ciphertext::concat(&parts)?))
        })
    }

    /// Bit k of S(x) is the sum of those products of an indicator of the low half of x and one of
    /// the high half for which it is one.
    fn substitute_some(&self, x: &[Ciphertext<B>; BITS]) -> Result<[Ciphertext<B>; BITS]> {
        let (low, high) = (self.indicators(&x[..BITS / 2])?, self.indicators(&x[BITS / 2..])?);
        let sums = high.chunks(GROUP).map(|group| self.subset_sums(group)).collect::<Result<Vec<_>>>()?;
        each_bit(|bit| {
            let one = |low: usize, high: usize| usize::from(S_BOX[HALF * high + low] >> bit & 1);
            let row = |low: usize| {
                let members = |group: usize| {
                    (0..GROUP).fold(0, |members, at| members | one(low, GROUP * group + at) << at)
                };
                let mut terms =
                    sums.iter().enumerate().filter_map(|(group, sums)| sums[members(group)].as_ref());
                let first = terms.next().map(Ciphertext::duplicate).transpose()?;
                first
                    .map(|first| {
                        terms.try_fold(first, |mut sum, term| {
                            self.ev.add_assign(&mut sum, term)?;
                            Ok(sum)
                        })
                    })
                    .transpose()
            };
            let rows = (0..HALF).map(row).collect::<Result<Vec<_>>>()?;
            let products = low.iter().zip(&rows).filter_map(|(low, row)| Some([low, row.as_ref()?]));
            self.ev.sum_of_products(&products.collect::<Vec<_>>(), self.keys)
        })
    }

    /// The products of four bits or their negations: entry v is one where the bits are those of v.
    fn indicators(&self, x: &[Ciphertext<B>]) -> Result<Vec<Ciphertext<B>>> {
        let not = x.iter().map(|x| self.not(x)).collect::<Result<Vec<_>>>()?;
        let choice = |bit: usize, value: usize| if value >> bit & 1 == 1 { &x[bit] } else { &not[bit] };
        let pairs = |bit: usize| {
            let pair = |value: usize| {
                self.ev.mul(choice(bit, value << bit), choice(bit + 1, value << bit), self.keys)
            };
            (0..4).map(pair).collect::<Result<Vec<_>>>()
        };
        let (low, high) = (pairs(0)?, pairs(2)?);
        (0..HALF).map(|value| self.ev.mul(&low[value % 4], &high[value / 4], self.keys)).collect()
    }

    /// The sum of every subset of some ciphertexts but the empty one, by the bits of its index.
    fn subset_sums(&self, x: &[Ciphertext<B>]) -> Result<Vec<Option<Ciphertext<B>>>> {
        let mut sums: Vec<Option<Ciphertext<B>>> = vec![None];
        for x in x {
            let with = sums.iter().map(|sum| match sum {
                None => x.duplicate(),
                Some(sum) => self.ev.add(sum, x),
            });
            let with = with.collect::<Result<Vec<_>>>()?;
            sums.extend(with.into_iter().map(Some));
        }
        Ok(sums)
    }

    /// ShiftRows: row r of a column comes from r columns further.
    pub fn shift_rows(&self, x: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        each_bit(|bit| x[bit].permuted(|at| (at + 4 * (at % 4)) % BLOCK))
    }

    /// MixColumns, and the sum with a round key k.
    ///
    /// With d = a_r + a_(r+1), row r of a column becomes 2 d_r + a_(r+1) + d_(r+2) + k_r, where
    /// bit i of 2 d is bit i - 1 of d, plus bit 7 where the polynomial of the field has X^i.
    pub fn mix_and_add(&self, a: &[Bytes<B>; BITS], k: &[Bytes<B>; BITS]) -> Result<[Bytes<B>; BITS]> {
        const { assert!(MIX[0] == 2 && MIX[1] == 3 && MIX[2] == 1 && MIX[3] == 1) }
        let below = |rows: usize| move |at: usize| at / 4 * 4 + (at + rows) % 4;
        let next = each_bit(|bit| a[bit].permuted(below(1)))?;
        let d = self.add(a, &next)?;
        let further = each_bit(|bit| d[bit].permuted(below(2)))?;
        self.mix(&d, &further, &self.add(&next, k)?)
    }

    /// 2 d + f + r, where f is d of two rows further, and r a_(r+1) + k_r.
    pub fn mix(
        &self,
        d: &[Bytes<B>; BITS],
        further: &[Bytes<B>; BITS],
        rest: &[Bytes<B>; BITS],
    ) -> Result<[Bytes<B>; BITS]> {
        each_bit(|bit| {
            let rest = self.xor_bytes(&further[bit], &rest[bit])?;
            let twice = match bit {
                0 => &d[7],
                1 | 3 | 4 => &self.xor_bytes(&d[bit - 1], &d[7])?,
                _ => &d[bit - 1],
            };
            self.xor_bytes(twice, &rest)
        })
    }
}
