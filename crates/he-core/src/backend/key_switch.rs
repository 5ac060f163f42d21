//! Key switching: shapes, and the operations with their provided bodies.

use super::{Backend, Blocks, DigitBuf, KeyBuf, KeyShape, PolyOps, special_product};
use crate::error::{Error, Result};
use crate::ring::{DomainKind, Operand, Rows, Span};
use std::ops::Range;

/// The shape of a key switch at some level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySwitchShape {
    /// Digits as ranges of chain primes, in order, covering `0..q`.
    pub digits: Vec<Range<usize>>,
    /// Chain primes of the ciphertext.
    pub q: usize,
    /// Chain primes of the key, at least `q`.
    pub key_q: usize,
    /// Special primes.
    pub p: usize,
    /// The batch of the ciphertext. Keys have batch 1.
    pub batch: usize,
}

impl KeySwitchShape {
    /// The primes of the digits and of the results: those of the ciphertext, and the special ones.
    pub const fn span(&self) -> Span {
        Span::extended(self.q, self.p)
    }

    /// The words of one digit where digits are flat, `[digit][limb][batch][coefficient]`, for ring
    /// degree n: the layout of the provided bodies.
    pub const fn flat_digit_words(&self, n: usize) -> usize {
        self.span().limbs() * self.batch * n
    }

    /// The shape of the key.
    pub const fn key(&self) -> KeyShape {
        KeyShape { digits: self.digits.len(), span: Span::extended(self.key_q, self.p) }
    }
}

/// A rotation, and the key for it.
#[derive(Debug)]
pub struct Rotation<'a, T> {
    /// The Galois element; 1 takes the ciphertext as it is.
    pub g: u64,
    /// The key for g; `None` exactly if g = 1.
    pub key: Option<KeyBuf<&'a T>>,
}

/// A giant step of a sum of rotations: a weighted sum of baby rotations, which is rotated in turn.
#[derive(Debug)]
pub struct GiantStep<'a, T> {
    /// The rotation that the sum undergoes.
    pub rotation: Rotation<'a, T>,
    /// The baby rotations by their index, and their weights.
    pub terms: Vec<(usize, Weight<'a, T>)>,
}

/// The ciphertexts of a batch that a sum of rotations is of, and those that it is added to: a batch
/// is `inputs` groups of equally many entries one after the other, and the result `outputs` such
/// groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationBlocks {
    /// The groups of the batch.
    pub inputs: usize,
    /// The groups of the result.
    pub outputs: usize,
    /// For each baby step the group that is rotated.
    pub of_baby: Vec<usize>,
    /// For each giant step the group that it is added to.
    pub of_giant: Vec<usize>,
}

impl RotationBlocks {
    /// One input and one output.
    pub fn one(babies: usize, giants: usize) -> Self {
        Self { inputs: 1, outputs: 1, of_baby: vec![0; babies], of_giant: vec![0; giants] }
    }

    /// The shape of the key switches of one group, of those of all inputs.
    pub fn group(&self, shape: &KeySwitchShape) -> KeySwitchShape {
        KeySwitchShape { batch: shape.batch / self.inputs, ..shape.clone() }
    }
}

/// A plaintext factor modulo every prime of Q P.
#[derive(Debug)]
pub enum Weight<'a, T> {
    /// A constant, with one residue per limb of the extended span.
    Scalar(Vec<u64>),
    /// A polynomial in evaluation form, batch 1, whose words come in runs of 2^`log_run` equal
    /// neighbours: `[limb][run]`, N / 2^`log_run` canonical words for each limb of the extended
    /// span. A polynomial in X^(2^`log_run`) has such runs, and any polynomial has those of
    /// `log_run` = 0.
    Poly {
        /// One word per run.
        words: &'a T,
        /// log2 of the length of a run, at most log2 N.
        log_run: u32,
    },
}

impl<T> Weight<'_, T> {
    /// Checks that the weight covers a number of limbs in a ring of degree 2^`log_n`; `words` tells
    /// how many words a buffer has.
    ///
    /// # Errors
    /// [`Error::Argument`] for fewer words, or for runs of more than N words.
    pub fn check(&self, limbs: usize, log_n: u32, words: impl Fn(&T) -> usize) -> Result<()> {
        let (found, needed) = match self {
            Self::Scalar(factors) => (factors.len(), limbs),
            Self::Poly { log_run, .. } if *log_run > log_n => {
                let why = format!("runs of 2^{log_run} words in rows of 2^{log_n}");
                return Err(Error::argument("weight", why));
            }
            Self::Poly { words: buf, log_run } => (words(buf), limbs << (log_n - log_run)),
        };
        if found < needed {
            let why = format!("{found} words, but {limbs} limbs have {needed}");
            return Err(Error::argument("weight", why));
        }
        Ok(())
    }
}

/// Hybrid key switching. Every operation has a provided body, which is its definition: a device may
/// override it by fused kernels that leave the same words.
pub trait KeySwitchOps: PolyOps {
    /// ModUp of key switching: `src` over the chain primes `0..q`, in evaluation form, to its
    /// digits over Q P in evaluation form, one digit after the other. Digit j is the representative
    /// of src mod D_j in `[-D_j/2, D_j/2)`.
    fn decompose(&self, shape: &KeySwitchShape, src: &Self::Buf) -> Result<DigitBuf<Self::Buf>> {
        let n = self.spec().n();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let mut coefficients = self.backend().zeros(chain.count() * n)?;
        self.backend().copy(src, 0, &mut coefficients, 0, chain.count() * n)?;
        self.intt(chain, &mut coefficients)?;
        let mut digits = self.backend().zeros(shape.digits.len() * shape.flat_digit_words(n))?;
        for (j, digit) in shape.digits.iter().enumerate() {
            let from =
                Rows::new(Span::digit(digit.start, digit.end), shape.batch).at(digit.start * shape.batch * n);
            let to = Rows::new(shape.span(), shape.batch).at(j * shape.flat_digit_words(n));
            self.convert_basis(from, &coefficients, to, &mut digits)?;
            self.ntt(to, &mut digits)?;
        }
        Ok(DigitBuf::new(digits))
    }

    /// A key whose polynomials are zero.
    fn empty_key(&self, shape: &KeyShape) -> Result<KeyBuf<Self::Buf>> {
        self.backend().zeros(shape.flat_words(self.spec().n())).map(KeyBuf::new)
    }

    /// Puts a polynomial over the primes of the shape, in evaluation form and with batch 1, into a
    /// key, as part `part` (0: b, 1: a) of digit `digit`.
    fn write_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&mut Self::Buf>,
        digit: usize,
        part: usize,
        src: &Self::Buf,
    ) -> Result<()> {
        let n = self.spec().n();
        self.backend().copy(src, 0, key.buf(), shape.flat_at(digit, part, n), shape.span.limbs() * n)
    }

    /// Copies a polynomial out of a key: the inverse of [`write_key`](Self::write_key).
    fn read_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&Self::Buf>,
        digit: usize,
        part: usize,
    ) -> Result<Self::Buf> {
        let n = self.spec().n();
        let words = shape.span.limbs() * n;
        let mut dst = self.backend().scratch(words)?;
        self.backend().copy(key.buf(), shape.flat_at(digit, part, n), &mut dst, 0, words)?;
        Ok(dst)
    }

    /// Inner products of the digits with both parts of a key, over Q P in evaluation form.
    fn key_product(
        &self,
        shape: &KeySwitchShape,
        digits: DigitBuf<&Self::Buf>,
        key: KeyBuf<&Self::Buf>,
    ) -> Result<[Self::Buf; 2]> {
        let n = self.spec().n();
        let mut sums = [
            self.backend().zeros(shape.flat_digit_words(n))?,
            self.backend().zeros(shape.flat_digit_words(n))?,
        ];
        let parts = [
            (Rows::new(Span::chain(shape.q), shape.batch), 0),
            (Rows::new(Span::special(shape.p), shape.batch).at(shape.q * shape.batch * n), shape.key_q * n),
        ];
        for (part, sum) in sums.iter_mut().enumerate() {
            for j in 0..shape.digits.len() {
                for (rows, key_offset) in parts {
                    let x = Operand::at(digits.buf(), shape.batch, j * shape.flat_digit_words(n) + rows.at);
                    let y = Operand::at(key.buf(), 1, shape.key().flat_at(j, part, n) + key_offset);
                    self.mul_add_assign(rows, sum, x, y)?;
                }
            }
        }
        Ok(sums)
    }

    /// The pair that the triple `d` over the chain becomes by key switching d2, divided by the
    /// chain's primes from `keep` on, all in one division:
    /// `(d0, d1) + (sum_j digit_j(d2) key_j) / P`, rounded once.
    fn relinearize(
        &self,
        shape: &KeySwitchShape,
        d: [&Self::Buf; 3],
        key: KeyBuf<&Self::Buf>,
        keep: usize,
    ) -> Result<[Self::Buf; 2]> {
        let digits = self.decompose(shape, d[2])?;
        let sums = self.key_product(shape, digits.as_ref(), key)?;
        let p_factors = special_product(self.spec(), shape.q, shape.p);
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let finish = |mut sum: Self::Buf, d: &Self::Buf| {
            self.scale_add_assign(chain, &mut sum, Operand::new(d, shape.batch), &p_factors)?;
            self.mod_down(shape.span(), keep, shape.batch, sum)
        };
        let [sum0, sum1] = sums;
        Ok([finish(sum0, d[0])?, finish(sum1, d[1])?])
    }

    /// [`relinearize`](Self::relinearize) of the tensor product of two pairs over the chain:
    /// `(a0 b0, a0 b1 + a1 b0) + (sum_j digit_j(a1 b1) key_j) / P`, divided in the same way. An
    /// operand of batch 1 is combined with every entry of the others.
    fn multiply_relinearize(
        &self,
        shape: &KeySwitchShape,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
        key: KeyBuf<&Self::Buf>,
        keep: usize,
    ) -> Result<[Self::Buf; 2]> {
        let d = self.tensor(Rows::new(Span::chain(shape.q), shape.batch), a, b)?;
        self.relinearize(shape, d.each_ref(), key, keep)
    }

    /// The image of c = (c0, c1) over the chain under X -> X^g, `digits` =
    /// [`decompose`](Self::decompose) of c1 and `key` made for g's inverse image of the secret:
    /// `((c0, 0) + (sum_j digit_j key_j) / P)(X^g)`.
    fn switch_automorphism(
        &self,
        shape: &KeySwitchShape,
        c0: &Self::Buf,
        digits: DigitBuf<&Self::Buf>,
        key: KeyBuf<&Self::Buf>,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let words = chain.count() * self.spec().n();
        let image = |sum: Self::Buf, addend: Option<&Self::Buf>| -> Result<Self::Buf> {
            let mut part = self.mod_down(shape.span(), shape.q, shape.batch, sum)?;
            if let Some(addend) = addend {
                self.add_assign(chain, &mut part, Operand::new(addend, shape.batch))?;
            }
            let mut image = self.backend().scratch(words)?;
            let part = Operand::new(&part, shape.batch);
            self.automorphism(chain, DomainKind::Eval, g, part, &mut image)?;
            Ok(image)
        };
        let [sum0, sum1] = self.key_product(shape, digits, key)?;
        Ok([image(sum0, Some(c0))?, image(sum1, None)?])
    }

    /// [`decompose`](Self::decompose) of c1, then
    /// [`switch_automorphism`](Self::switch_automorphism): one rotation.
    fn apply_automorphism(
        &self,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        key: KeyBuf<&Self::Buf>,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let digits = self.decompose(shape, c[1])?;
        self.switch_automorphism(shape, c[0], digits.as_ref(), key, g)
    }

    /// P times sum_i giant_i(sum_j weight_ij baby_j(c)) over Q P, in evaluation form, without the
    /// last division by P: c = (c0, c1) over the chain, `digits` =
    /// [`decompose`](Self::decompose) of c1.
    ///
    /// A baby rotation switches the key by inner products of the digits with `key` (made for g's
    /// inverse image of the secret), adds P c0 and applies X -> X^g to both parts. A giant rotation
    /// does the same with a sum (d0, d1) over Q P, whose digits are those of d1 divided by P, and
    /// to which d0 is added as it is. Where g is 1, nothing is switched or divided.
    ///
    /// `blocks` says which entries of the batch each baby rotation is of, and to which entries of
    /// the result each giant step's sum is added.
    ///
    /// # Errors
    /// [`Error::Argument`] for weights that [`Weight::check`] refuses; device errors.
    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&Self::Buf; 2],
        digits: DigitBuf<&Self::Buf>,
        babies: &[Rotation<'_, Self::Buf>],
        giants: &[GiantStep<'_, Self::Buf>],
    ) -> Result<[Self::Buf; 2]> {
        rotate_and_sum(self, shape, blocks, c, digits, babies, giants)
    }
}

/// The provided body of [`KeySwitchOps::rotate_and_sum`].
fn rotate_and_sum<R: KeySwitchOps>(
    ring: &R,
    shape: &KeySwitchShape,
    blocks: &RotationBlocks,
    c: [&R::Buf; 2],
    digits: DigitBuf<&R::Buf>,
    babies: &[Rotation<'_, R::Buf>],
    giants: &[GiantStep<'_, R::Buf>],
) -> Result<[R::Buf; 2]> {
    let (n, group) = (ring.spec().n(), blocks.group(shape));
    for (_, weight) in giants.iter().flat_map(|giant| &giant.terms) {
        weight.check(shape.span().limbs(), ring.spec().log_n(), |buf| ring.backend().words(buf))?;
    }
    let [all, rows] = [shape, &group].map(|shape| Rows::new(shape.span(), shape.batch));
    let chain = Rows::new(Span::chain(shape.q), shape.batch);
    let p_factors = special_product(ring.spec(), shape.q, shape.p);
    let zeros = |rows: Rows| -> Result<[R::Buf; 2]> {
        let words = rows.count() * n;
        Ok([ring.backend().zeros(words)?, ring.backend().zeros(words)?])
    };
    // A group of entries of every limb, between a batch and a smaller or a larger one.
    let copied = |src: &R::Buf, from: (usize, usize), dst: &mut R::Buf, to: (usize, usize)| -> Result<()> {
        let words = group.batch * n;
        let blocks = |(count, index)| Blocks { at: index * words, step: count * words };
        ring.backend().copy_blocks(src, blocks(from), dst, blocks(to), words, rows.span.limbs())
    };
    let rotated = |part: R::Buf, g: u64| -> Result<R::Buf> {
        if g == 1 {
            return Ok(part);
        }
        let mut image = ring.backend().scratch(rows.count() * n)?;
        ring.automorphism(rows, DomainKind::Eval, g, Operand::new(&part, group.batch), &mut image)?;
        Ok(image)
    };
    let baby = |(rotation, &input): (&Rotation<'_, R::Buf>, &usize)| -> Result<[R::Buf; 2]> {
        let mut parts = match rotation.key {
            Some(key) => ring.key_product(shape, digits, key)?,
            None => {
                let mut parts = zeros(all)?;
                ring.scale_add_assign(chain, &mut parts[1], Operand::new(c[1], shape.batch), &p_factors)?;
                parts
            }
        };
        ring.scale_add_assign(chain, &mut parts[0], Operand::new(c[0], shape.batch), &p_factors)?;
        let mut of_group = zeros(rows)?;
        for (part, of_group) in parts.iter().zip(&mut of_group) {
            copied(part, (blocks.inputs, input), of_group, (1, 0))?;
        }
        let [part0, part1] = of_group;
        Ok([rotated(part0, rotation.g)?, rotated(part1, rotation.g)?])
    };
    let babies = babies.iter().zip(&blocks.of_baby).map(baby).collect::<Result<Vec<_>>>()?;
    let mut totals = (0..blocks.outputs).map(|_| zeros(rows)).collect::<Result<Vec<_>>>()?;
    for (GiantStep { rotation, terms }, &output) in giants.iter().zip(&blocks.of_giant) {
        let mut sums = zeros(rows)?;
        for (baby, weight) in terms {
            for (sum, part) in sums.iter_mut().zip(&babies[*baby]) {
                let part = Operand::new(part, group.batch);
                match weight {
                    Weight::Scalar(factors) => ring.scale_add_assign(rows, sum, part, factors)?,
                    Weight::Poly { words, log_run: 0 } => {
                        ring.mul_add_assign(rows, sum, part, Operand::new(*words, 1))?;
                    }
                    Weight::Poly { words, log_run } => {
                        let poly = expanded_runs(ring, rows.span.limbs(), words, *log_run)?;
                        ring.mul_add_assign(rows, sum, part, Operand::new(&poly, 1))?;
                    }
                }
            }
        }
        if let Some(key) = rotation.key {
            let [sum, divided] = sums;
            let quotient = ring.mod_down(group.span(), group.q, group.batch, divided)?;
            sums = ring.key_product(&group, ring.decompose(&group, &quotient)?.as_ref(), key)?;
            ring.add_assign(rows, &mut sums[0], Operand::new(&sum, group.batch))?;
        }
        for (total, sum) in totals[output].iter_mut().zip(sums) {
            let image = rotated(sum, rotation.g)?;
            ring.add_assign(rows, total, Operand::new(&image, group.batch))?;
        }
    }
    let mut results = zeros(Rows::new(group.span(), blocks.outputs * group.batch))?;
    for (output, total) in totals.iter().enumerate() {
        for (total, result) in total.iter().zip(&mut results) {
            copied(total, (1, 0), result, (blocks.outputs, output))?;
        }
    }
    Ok(results)
}

/// The polynomial of a weight by all its words: each of those given stands for 2^`log_run`
/// neighbours.
fn expanded_runs<R: PolyOps>(ring: &R, limbs: usize, words: &R::Buf, log_run: u32) -> Result<R::Buf> {
    let words = ring.backend().download(words, 0..limbs * (ring.spec().n() >> log_run))?;
    let all = words.into_iter().flat_map(|word| std::iter::repeat_n(word, 1 << log_run));
    ring.backend().upload(&all.collect::<Vec<u64>>())
}
