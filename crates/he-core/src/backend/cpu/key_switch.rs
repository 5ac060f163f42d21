//! Key switches, limb by limb: the rows of one limb, of all digits and of both results, meet in the
//! cache. Where digits serve a single key switch they are never stored as a whole.

use super::conversion::{Division, Lifted, for_groups, group, rows_of};
use super::kernels::{DigitRows, KeyRow, Permutation};
use super::rotations;
use super::{CpuBuf, CpuRing, for_pieces};
use crate::arith::ShoupFactor;
use crate::backend::{
    DigitBuf, GiantStep, KeyBuf, KeyShape, KeySwitchOps, KeySwitchShape, Rotation, RotationBlocks,
    special_product,
};
use crate::error::Result;
use crate::ring::{Rows, Span};

/// The words between the rows of digits: a cache line and more.
const PADDING: usize = 64;

/// The digits of a polynomial.
pub(super) enum Digits<'a> {
    /// Over all limbs: those of [`KeySwitchOps::decompose`].
    Stored(&'a [u64]),
    /// As far as all limbs have it in common.
    Lifted(LiftedDigits<'a>),
}

/// The polynomial, and the conversion of each digit from its coefficients.
pub(super) struct LiftedDigits<'a> {
    src: &'a [u64],
    digits: Vec<Lifted>,
}

impl<'a> LiftedDigits<'a> {
    pub(super) fn new(ring: &CpuRing, shape: &KeySwitchShape, src: &'a [u64]) -> Self {
        let n = ring.spec.n();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let mut coefficients = ring.scratch(chain.count() * n);
        ring.each(chain, &mut coefficients, |table, limb, entry, row| {
            row.copy_from_slice(&src[(limb * shape.batch + entry) * n..][..n]);
            ring.cpu.kernels.intt(table, row);
        });
        let lift = |digit: &std::ops::Range<usize>| {
            let conversion = ring.conversion(Span::digit(digit.start, digit.end), shape.span());
            let rows = digit.start * shape.batch * n..digit.end * shape.batch * n;
            Lifted::new(&ring.cpu, conversion, &coefficients[rows], shape.batch, n)
        };
        Self { src, digits: shape.digits.iter().map(lift).collect() }
    }

    /// The row of the input that is the digit's own of a limb, if the limb is one of the digit's.
    fn own(
        &self,
        shape: &KeySwitchShape,
        digit: usize,
        limb: usize,
        entry: usize,
        n: usize,
    ) -> Option<&'a [u64]> {
        let is_own = shape.digits[digit].contains(&limb);
        is_own.then(|| &self.src[(limb * shape.batch + entry) * n..][..n])
    }

    /// Rows of a digit and a batch entry in evaluation form, each with its limb, except for the
    /// digit's own limbs.
    fn others(
        &self,
        ring: &CpuRing,
        shape: &KeySwitchShape,
        digit: usize,
        entry: usize,
        mut rows: Vec<(usize, &mut [u64])>,
    ) {
        rows.retain(|(limb, _)| !shape.digits[digit].contains(limb));
        self.digits[digit].transformed(ring, shape.span(), entry, &mut rows);
    }

    /// Rows of a digit and a batch entry in evaluation form, each with its limb.
    fn rows(
        &self,
        ring: &CpuRing,
        shape: &KeySwitchShape,
        digit: usize,
        entry: usize,
        mut rows: Vec<(usize, &mut [u64])>,
    ) {
        for (limb, row) in &mut rows {
            if let Some(own) = self.own(shape, digit, *limb, entry, ring.spec.n()) {
                row.copy_from_slice(own);
            }
        }
        self.others(ring, shape, digit, entry, rows);
    }

    /// Whether no limb has anything to share with its neighbours.
    fn is_single(&self) -> bool {
        self.digits.iter().all(Lifted::is_single)
    }
}

/// A key switch: `sum_j digit_j key_j` plus P times what is added.
pub(super) struct Switch<'a> {
    shape: &'a KeySwitchShape,
    digits: Digits<'a>,
    key: PackedKey<'a>,
    addends: [Option<&'a [u64]>; 2],
    /// P modulo the primes of the chain.
    special: Vec<ShoupFactor>,
}

impl<'a> Switch<'a> {
    pub(super) fn new(
        ring: &CpuRing,
        shape: &'a KeySwitchShape,
        digits: Digits<'a>,
        key: KeyBuf<&'a CpuBuf>,
        addends: [Option<&'a [u64]>; 2],
    ) -> Self {
        let key = PackedKey::new(&shape.key(), ring.spec.n(), key);
        Self { shape, digits, key, addends, special: ring.special(shape) }
    }

    /// Both parts of the rows of a batch entry, from limb `first` on.
    pub(super) fn rows(
        &self,
        ring: &CpuRing,
        first: usize,
        entry: usize,
        mut parts: [Vec<(usize, &mut [u64])>; 2],
    ) {
        let (n, shape) = (ring.spec.n(), self.shape);
        let (limbs, count) = (parts[0].len(), shape.digits.len());
        let [part0, part1] = &mut parts;
        let outputs = part0
            .iter_mut()
            .zip(part1)
            .map(|((limb, part0), (_, part1))| (*limb, [&mut **part0, &mut **part1]));
        match &self.digits {
            Digits::Stored(digits) => {
                for (limb, out) in outputs {
                    let rows = digit_rows(shape, n, digits, &self.key, limb, entry);
                    ring.cpu.kernels.key_product(ring.modulus(shape.span(), limb), &rows, out);
                }
            }
            Digits::Lifted(lifted) => {
                // A power of two from one row to the next would put all of them into one set of the
                // cache.
                let row_words = n + PADDING;
                let mut digits = ring.scratch(count * limbs * row_words);
                for (digit, words) in digits.chunks_exact_mut(limbs * row_words).enumerate() {
                    let rows = words.chunks_exact_mut(row_words).map(|row| &mut row[..n]);
                    let rows = rows.enumerate().map(|(i, row)| (first + i, row)).collect();
                    lifted.others(ring, shape, digit, entry, rows);
                }
                for (limb, out) in outputs {
                    let digit = |j: usize| {
                        let stored = || &digits[(j * limbs + limb - first) * row_words..][..n];
                        lifted.own(shape, j, limb, entry, n).unwrap_or_else(stored)
                    };
                    let rows: Vec<_> = (0..count)
                        .map(|j| DigitRows { digit: digit(j), key: self.key.rows(j, key_limb(shape, limb)) })
                        .collect();
                    ring.cpu.kernels.key_product(ring.modulus(shape.span(), limb), &rows, out);
                }
            }
        }
        for (rows, addend) in parts.iter_mut().zip(self.addends) {
            let Some(addend) = addend else { continue };
            for (limb, row) in rows.iter_mut().filter(|(limb, _)| *limb < shape.q) {
                let addend = &addend[(*limb * shape.batch + entry) * n..][..n];
                ring.cpu.kernels.scale_add(
                    ring.modulus(shape.span(), *limb),
                    row,
                    addend,
                    self.special[*limb],
                );
            }
        }
    }

    /// The most limbs whose digits should be computed together: one where they share nothing, so
    /// that the digits stay in the cache.
    fn most_limbs(&self) -> usize {
        match &self.digits {
            Digits::Lifted(lifted) if lifted.is_single() => 1,
            _ => usize::MAX,
        }
    }

    /// Both parts divided by the limbs from `keep` on, under the automorphism of a permutation.
    fn divided(&self, ring: &CpuRing, keep: usize, permutation: Option<&Permutation>) -> [CpuBuf; 2] {
        let (n, batch, span) = (ring.spec.n(), self.shape.batch, self.shape.span());
        let mut dropped = [(); 2].map(|()| ring.scratch((span.limbs() - keep) * batch * n));
        for_group_pairs(&mut dropped, batch * n, self.most_limbs(), |first, mut words| {
            for entry in 0..batch {
                let parts = words.each_mut().map(|words| rows_of(words, keep + first, batch, entry, n));
                self.rows(ring, keep + first, entry, parts);
            }
        });
        let divisions = dropped.map(|mut dropped| Division::new(ring, span, keep, batch, &mut dropped));
        let finish = |first: usize, entry: usize, mut parts: [Vec<(usize, &mut [u64])>; 2]| {
            let reborrowed =
                parts.each_mut().map(|rows| rows.iter_mut().map(|(limb, row)| (*limb, &mut **row)).collect());
            self.rows(ring, first, entry, reborrowed);
            for (division, rows) in divisions.iter().zip(&mut parts) {
                division.apply(ring, entry, rows);
            }
        };
        let mut out = [(); 2].map(|()| ring.scratch(keep * batch * n));
        for_group_pairs(&mut out, batch * n, self.most_limbs(), |first, mut words| {
            let limbs = words[0].len() / (batch * n);
            for entry in 0..batch {
                let Some(permutation) = permutation else {
                    finish(
                        first,
                        entry,
                        words.each_mut().map(|words| rows_of(words, first, batch, entry, n)),
                    );
                    continue;
                };
                let mut parts = [(); 2].map(|()| ring.scratch(limbs * n));
                finish(first, entry, parts.each_mut().map(|words| rows_of(words, first, 1, 0, n)));
                for (words, part) in words.iter_mut().zip(&parts) {
                    for ((_, row), part) in
                        rows_of(words, first, batch, entry, n).into_iter().zip(part.chunks_exact(n))
                    {
                        ring.cpu.kernels.permute(permutation, 0, part, row);
                    }
                }
            }
        });
        out
    }
}

/// [`for_groups`] for two buffers side by side, in groups of at most `most` limbs.
pub(super) fn for_group_pairs(
    words: &mut [CpuBuf; 2],
    limb_words: usize,
    most: usize,
    f: impl Fn(usize, [&mut [u64]; 2]) + Sync + Send,
) {
    let group = group(words[0].len() / limb_words).min(most);
    for_pieces(words, group * limb_words, |i, words| f(i * group, words));
}

impl KeySwitchOps for CpuRing {
    fn write_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&mut CpuBuf>,
        digit: usize,
        part: usize,
        src: &CpuBuf,
    ) -> Result<()> {
        let (n, key) = (self.spec.n(), key.buf());
        let order = PackedOrder::of(shape, n, key.len());
        for (limb, row) in src[..shape.span.limbs() * n].chunks_exact(n).enumerate() {
            for (at, block) in order.blocks(digit, part, limb).zip(row.chunks_exact(order.block())) {
                key[at..at + block.len()].copy_from_slice(block);
            }
        }
        Ok(())
    }

    fn read_key(&self, shape: &KeyShape, key: KeyBuf<&CpuBuf>, digit: usize, part: usize) -> Result<CpuBuf> {
        let (n, key) = (self.spec.n(), key.buf());
        let order = PackedOrder::of(shape, n, key.len());
        let mut dst = self.scratch(shape.span.limbs() * n);
        for (limb, row) in dst.chunks_exact_mut(n).enumerate() {
            for (at, block) in order.blocks(digit, part, limb).zip(row.chunks_exact_mut(order.block())) {
                block.copy_from_slice(&key[at..at + block.len()]);
            }
        }
        Ok(dst)
    }

    fn decompose(&self, shape: &KeySwitchShape, src: &CpuBuf) -> Result<DigitBuf<CpuBuf>> {
        let (n, words) = (self.spec.n(), shape.flat_digit_words(self.spec.n()));
        let lifted = LiftedDigits::new(self, shape, src);
        let mut digits = self.scratch(shape.digits.len() * words);
        for (digit, out) in digits.chunks_exact_mut(words).enumerate() {
            for_groups(out, shape.batch * n, |first, words| {
                for entry in 0..shape.batch {
                    lifted.rows(self, shape, digit, entry, rows_of(words, first, shape.batch, entry, n));
                }
            });
        }
        Ok(DigitBuf::new(digits))
    }

    fn key_product(
        &self,
        shape: &KeySwitchShape,
        digits: DigitBuf<&CpuBuf>,
        key: KeyBuf<&CpuBuf>,
    ) -> Result<[CpuBuf; 2]> {
        let n = self.spec.n();
        let key = PackedKey::new(&shape.key(), n, key);
        let mut sums = [(); 2].map(|()| self.scratch(shape.flat_digit_words(n)));
        for_pieces(&mut sums, n, |i, out| {
            let (limb, entry) = (i / shape.batch, i % shape.batch);
            let rows = digit_rows(shape, n, digits.buf(), &key, limb, entry);
            self.cpu.kernels.key_product(self.modulus(shape.span(), limb), &rows, out);
        });
        Ok(sums)
    }

    fn relinearize(
        &self,
        shape: &KeySwitchShape,
        d: [&CpuBuf; 3],
        key: KeyBuf<&CpuBuf>,
        keep: usize,
    ) -> Result<[CpuBuf; 2]> {
        let [d0, d1, d2] = d;
        let digits = Digits::Lifted(LiftedDigits::new(self, shape, d2));
        Ok(Switch::new(self, shape, digits, key, [Some(d0), Some(d1)]).divided(self, keep, None))
    }

    fn switch_automorphism(
        &self,
        shape: &KeySwitchShape,
        c0: &CpuBuf,
        digits: DigitBuf<&CpuBuf>,
        key: KeyBuf<&CpuBuf>,
        g: u64,
    ) -> Result<[CpuBuf; 2]> {
        Ok(self.switched(shape, c0, Digits::Stored(digits.buf()), key, g))
    }

    fn apply_automorphism(
        &self,
        shape: &KeySwitchShape,
        c: [&CpuBuf; 2],
        key: KeyBuf<&CpuBuf>,
        g: u64,
    ) -> Result<[CpuBuf; 2]> {
        Ok(self.switched(shape, c[0], Digits::Lifted(LiftedDigits::new(self, shape, c[1])), key, g))
    }

    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&CpuBuf; 2],
        digits: DigitBuf<&CpuBuf>,
        babies: &[Rotation<'_, CpuBuf>],
        giants: &[GiantStep<'_, CpuBuf>],
    ) -> Result<[CpuBuf; 2]> {
        rotations::rotate_and_sum(self, shape, blocks, c, digits.buf(), babies, giants)
    }
}

impl CpuRing {
    /// P modulo the primes of the chain.
    pub(super) fn special(&self, shape: &KeySwitchShape) -> Vec<ShoupFactor> {
        self.shoup(shape.span(), &special_product(&self.spec, shape.q, shape.p))
    }

    /// X -> X^g in evaluation form, unless it changes nothing.
    pub(super) fn permutation(&self, g: u64) -> Option<Permutation> {
        (g != 1).then(|| Permutation::new(g, self.spec.log_n()))
    }

    /// A key switch, divided by P, under X -> X^g.
    fn switched(
        &self,
        shape: &KeySwitchShape,
        c0: &[u64],
        digits: Digits<'_>,
        key: KeyBuf<&CpuBuf>,
        g: u64,
    ) -> [CpuBuf; 2] {
        let permutation = self.permutation(g);
        let switch = Switch::new(self, shape, digits, key, [Some(c0), None]);
        switch.divided(self, shape.q, permutation.as_ref())
    }
}

/// The digits of one row, and the key rows by which they are multiplied.
pub(super) fn digit_rows<'a>(
    shape: &KeySwitchShape,
    n: usize,
    digits: &'a [u64],
    key: &PackedKey<'a>,
    limb: usize,
    entry: usize,
) -> Vec<DigitRows<'a>> {
    let row = (limb * shape.batch + entry) * n;
    let digit = |j: usize| &digits[j * shape.flat_digit_words(n) + row..][..n];
    let rows = |j: usize| DigitRows { digit: digit(j), key: key.rows(j, key_limb(shape, limb)) };
    (0..shape.digits.len()).map(rows).collect()
}

/// The limb of a key that belongs to a limb of the ciphertext and the special primes.
const fn key_limb(shape: &KeySwitchShape, limb: usize) -> usize {
    if limb < shape.q { limb } else { limb - shape.q + shape.key_q }
}

/// A switching key in the order in which products read it, `[limb][block][digit][b | a][word]`
/// with blocks of [`KeyRow::BLOCK`] words: one stream of memory, where the rows of all digits and
/// parts would be dozens.
pub(super) struct PackedKey<'a> {
    words: &'a [u64],
    order: PackedOrder,
}

impl<'a> PackedKey<'a> {
    /// A key for a shape, which may have fewer digits than the key.
    pub(super) fn new(shape: &KeyShape, n: usize, key: KeyBuf<&'a CpuBuf>) -> Self {
        let words: &[u64] = key.buf();
        Self { words, order: PackedOrder::of(shape, n, words.len()) }
    }

    /// Both parts of a limb of a digit.
    pub(super) fn rows(&self, digit: usize, limb: usize) -> [KeyRow<'a>; 2] {
        [0, 1].map(|part| KeyRow::new(&self.words[self.order.at(digit, part, limb)..], self.order.step()))
    }
}

/// The places of the words of a packed key.
struct PackedOrder {
    n: usize,
    digits: usize,
}

impl PackedOrder {
    /// Makes the order of a key of this many words, which tell its digits.
    fn of(shape: &KeyShape, n: usize, words: usize) -> Self {
        Self { n, digits: words / (2 * shape.span.limbs() * n) }
    }

    /// The words of a block of one digit and part.
    fn block(&self) -> usize {
        self.n.min(KeyRow::BLOCK)
    }

    /// From one block of a digit and part to the next.
    fn step(&self) -> usize {
        2 * self.digits * self.block()
    }

    /// The first word of a limb of a digit and part.
    fn at(&self, digit: usize, part: usize, limb: usize) -> usize {
        2 * self.digits * limb * self.n + (2 * digit + part) * self.block()
    }

    /// The first words of all blocks of a limb of a digit and part, in order.
    fn blocks(&self, digit: usize, part: usize, limb: usize) -> impl Iterator<Item = usize> {
        (self.at(digit, part, limb)..).step_by(self.step()).take(self.n / self.block())
    }
}
