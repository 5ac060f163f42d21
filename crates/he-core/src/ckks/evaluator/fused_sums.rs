//! Sums of products and of multiples, relinearised and divided once.

use super::{Evaluator, product_noise};
use crate::arith::DoubleDouble;
use crate::backend::{Multiple, PolyOps, RingOps};
use crate::ckks::ciphertext::{Meta, check_scale};
use crate::ckks::noise::DOUBLES_LOG2;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common_of};
use crate::ring::{Eval, Poly, Rows, Span};
use crate::rlwe::{Aligned, EvaluationKeys, OPERAND, RlweCiphertext, RlweProduct};
use std::borrow::Borrow;

/// A ciphertext whose scale is known to 106 bits and need not be that of its level.
///
/// Inside a circuit that knows what becomes of its values, scales can follow the operands: the
/// constants of a [`FusedSum`] make up for any scale, so that an operand of a higher level is taken
/// as it is, without the primes that it has too many, where the evaluator's other operations would
/// multiply and divide it.
#[derive(Debug)]
pub(crate) struct Scaled<B: RingOps> {
    ct: Ciphertext<B>,
    scale: DoubleDouble,
}

impl<B: RingOps> Scaled<B> {
    pub(crate) fn level(&self) -> usize {
        self.ct.meta.level
    }

    pub(crate) fn scale(&self) -> DoubleDouble {
        self.scale
    }

    pub(crate) fn ciphertext(&self) -> &Ciphertext<B> {
        &self.ct
    }

    pub(crate) fn into_ciphertext(self) -> Ciphertext<B> {
        self.ct
    }
}

/// factor (a_1 b_1 + a_2 b_2 + ...) + c_1 t_1 + c_2 t_2 + ... + constant, with at least one product
/// or term. All products have the same scale.
#[derive(Debug)]
pub(crate) struct FusedSum<'a, B: RingOps> {
    pub products: Vec<[&'a Scaled<B>; 2]>,
    pub factor: i64,
    pub terms: Vec<(&'a Scaled<B>, f64)>,
    pub constant: f64,
}

impl<B: RingOps> Evaluator<B> {
    /// A ciphertext at the exact scale of its level.
    pub(crate) fn scaled(&self, ct: Ciphertext<B>) -> Result<Scaled<B>> {
        let copy = match self.settled(&ct)? {
            Aligned::As(_) => None,
            Aligned::Copy(copy) => Some(copy),
        };
        let ct = copy.unwrap_or(ct);
        let scale = self.params.exact_scale(ct.meta.scale);
        Ok(Scaled { ct, scale })
    }

    /// The product with a polynomial of short norm, such as X^(N/2), which multiplies every slot by
    /// i: exact, and at the same scale.
    pub(crate) fn turned(&self, x: &Scaled<B>, unit: &Poly<Eval, B>) -> Result<Scaled<B>> {
        let pair = x.ct.pair.mul_poly(unit)?;
        Ok(Scaled { ct: Ciphertext { pair, meta: x.ct.meta }, scale: x.scale })
    }

    /// The exact scale of a level.
    pub(crate) fn level_scale(&self, level: usize) -> DoubleDouble {
        self.params.exact_scale(self.scale_at(level))
    }

    /// The product of the primes that are dropped below a level.
    pub(crate) fn dropped_below(&self, level: usize) -> DoubleDouble {
        self.params.exactly_dropped(level)
    }

    /// An operand for products on a level: itself, unless it comes from a group of levels of
    /// another scale, whose difference would be lost from the scale of the other factor.
    pub(crate) fn product_operand<'a>(
        &self,
        x: &'a Scaled<B>,
        level: usize,
        keys: &EvaluationKeys<B>,
    ) -> Result<Aligned<'a, Scaled<B>>> {
        let own = self.level_scale(level);
        let off = libm::log2(x.scale.to_f64() / own.to_f64());
        if x.level() == level || off.abs() <= GREATEST_OFFSET_LOG2 {
            return Ok(Aligned::As(x));
        }
        let same = FusedSum { products: Vec::new(), factor: 1, terms: vec![(x, 1.0)], constant: 0.0 };
        self.fused_sum(&same, level + 1, own, keys).map(Aligned::Copy)
    }

    /// factor a b and what else `sum` has, on the highest level that takes the product, at the
    /// scale that both factors leave it.
    ///
    /// # Errors
    /// The same as for [`fused_sum`](Self::fused_sum).
    pub(crate) fn fused_product(
        &self,
        [a, b]: [&Scaled<B>; 2],
        sum: FusedSum<'_, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Scaled<B>> {
        let terms = sum.terms.iter().map(|(x, _)| x.level());
        let level = self.product_level(terms.fold(a.level().min(b.level()), usize::min))?;
        let [a, b] = [a, b].map(|x| self.product_operand(x, level, keys));
        let (a, b) = (a?, b?);
        let (a, b): (&Scaled<B>, &Scaled<B>) = (a.borrow(), b.borrow());
        let scale = (a.scale * b.scale).divide(self.dropped_below(level));
        self.fused_sum(&FusedSum { products: vec![[a, b]], ..sum }, level, scale, keys)
    }

    /// The sum, computed on a level that all operands have and divided to the one below, at this
    /// scale there: one relinearisation if there are products, with which the division is merged.
    /// Constants are rounded to multiples of the inverse of the scale before the division over that
    /// of their operand; there is one rounding noise.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] on level 0; [`Error::ScaleRange`], [`Error::NotFinite`],
    /// [`Error::ValueTooLarge`]; with products [`Error::MissingRelinKey`] and mismatch of keys;
    /// mismatch of ring or batch; device errors.
    pub(crate) fn fused_sum(
        &self,
        sum: &FusedSum<'_, B>,
        level: usize,
        scale: DoubleDouble,
        keys: &EvaluationKeys<B>,
    ) -> Result<Scaled<B>> {
        if level == 0 {
            return Err(Error::LevelExhausted { needed: 1, left: 0 });
        }
        self.ring.backend().batched(|| {
            let before = scale * self.dropped_below(level);
            check_scale(&self.params, level, before.to_f64())?;
            let meta = self.fused_meta(sum, level, before);
            let meta = if sum.products.is_empty() { meta } else { self.key_switched(meta, 1) };
            let meta = self.rescaled(meta)?;
            let keep = self.primes_at(meta.level);
            #[cfg(test)]
            counts::add(sum.products.len());
            let (rows, key_set) = self.fused_rows(sum, level)?;
            let mut multiples = Vec::with_capacity(sum.terms.len());
            for &(x, value) in &sum.terms {
                let factors = self.constant_residues(value, before.divide(x.scale), rows.span, level)?;
                multiples.push(Multiple { pair: x.ct.pair.operands(), factors });
            }
            let constant = match sum.constant {
                0.0 => Vec::new(),
                constant => self.constant_residues(constant, before, rows.span, level)?,
            };
            let ring = self.ring.prepared();
            let poly = |buf| Poly::from_buf(&self.ring, rows.span, rows.batch, buf);
            let pair = if sum.products.is_empty() {
                let [c0, c1] = ring.combine(rows, &multiples, &constant)?.map(poly);
                RlweCiphertext::new(c0, c1)?.of(key_set).mod_down(keep)?
            } else {
                keys.check(self.params.rlwe(), &self.ring)?;
                let products: Vec<_> =
                    sum.products.iter().map(|product| product.map(|x| x.ct.pair.operands())).collect();
                let moduli = &self.ring.spec().q_moduli()[..rows.span.q];
                let factors: Vec<u64> = match sum.factor {
                    1 => Vec::new(),
                    factor => moduli.iter().map(|q| q.reduce_i64(factor)).collect(),
                };
                let d = ring.tensor_sum(rows, &products, &factors, &multiples, &constant)?;
                RlweProduct { d: d.map(poly), key_set }.relinearize(keys.relin()?, keep)?
            };
            Ok(Scaled { ct: Ciphertext { pair, meta }, scale })
        })
    }

    /// The rows of a sum on a level, and the key set of its operands, which belong to one ring and
    /// have one batch, or single entries.
    fn fused_rows(&self, sum: &FusedSum<'_, B>, level: usize) -> Result<(Rows, Option<KeySetId>)> {
        let pairs = || {
            let products = sum.products.iter().flatten();
            products.copied().chain(sum.terms.iter().map(|(x, _)| *x)).map(|x| &x.ct.pair)
        };
        let batch = pairs().map(RlweCiphertext::batch).max().unwrap_or(1);
        let span = Span::chain(self.primes_at(level));
        for pair in pairs() {
            let found = pair.parts()[0].span();
            if !pair.ring().same(&self.ring) {
                return Err(Error::RingMismatch);
            }
            if found.start != 0 || found.p != 0 || found.q < span.q {
                return Err(Error::SpanMismatch { left: found, right: span });
            }
            if pair.batch() != batch && pair.batch() != 1 {
                return Err(Error::BatchMismatch { left: pair.batch(), right: batch });
            }
        }
        let key_set = common_of(OPERAND, pairs().map(RlweCiphertext::key_set))?;
        Ok((Rows::new(span, batch), key_set))
    }

    /// Scale, slots and noise before the relinearisation.
    fn fused_meta(&self, sum: &FusedSum<'_, B>, level: usize, before: DoubleDouble) -> Meta {
        let n = self.params.noise().n();
        let products = sum
            .products
            .iter()
            .map(|[a, b]| product_noise(&a.ct.meta, &b.ct.meta).map(|noise| noise.times_integer(sum.factor)));
        let terms = sum.terms.iter().map(|(x, value)| {
            let multiplier_log2 = libm::log2(before.divide(x.scale).to_f64());
            let noise = x.ct.meta.noise;
            noise.map(|noise| noise.times(x.ct.meta.scale_log2(), *value, multiplier_log2, n))
        });
        let noise = super::sum(products.chain(terms).collect());
        let scale = before.to_f64();
        let constant =
            NoiseEstimate::encoded(sum.constant * sum.constant, libm::log2(scale), n, DOUBLES_LOG2);
        let noise = noise.map(|noise| if sum.constant == 0.0 { noise } else { noise.plus(constant) });
        let operands = sum.products.iter().flatten().copied().chain(sum.terms.iter().map(|(x, _)| *x));
        let slots = operands.map(|x| x.ct.meta.slots).max().unwrap_or(1);
        Meta { level, scale, slots, noise }
    }
}

/// The greatest distance of the scale of a factor from that of the product's level.
const GREATEST_OFFSET_LOG2: f64 = 2.0;

/// Counts of the work that this thread has computed.
#[cfg(test)]
pub(crate) mod counts {
    use std::cell::Cell;

    thread_local! {
        static COUNTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    pub(super) fn add(products: usize) {
        COUNTS.with(|counts| {
            let (all, relinearised) = counts.get();
            counts.set((all + products, relinearised + usize::from(products > 0)));
        });
    }

    /// Products and relinearisations since the last call.
    pub(crate) fn take() -> (usize, usize) {
        COUNTS.with(Cell::take)
    }
}
