//! The iterations on ciphertexts.

use super::{BlockTransform, LogisticRegression, TrainingBatch};
use crate::backend::RingOps;
use crate::circuits::ckks::{Polynomial, PreparedBlocks, Refresher};
use crate::ckks::{Ciphertext, Complex64, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::EvaluationKeys;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The weights between two iterations, over the range.
struct State<B: RingOps> {
    /// v_t.
    ahead: Ciphertext<B>,
    /// (1 + mu_(t-1)) w_t over `unit`.
    last: Ciphertext<B>,
    unit: Complex64,
}

/// The constants that are made once for a level.
struct Made<'a, B: RingOps> {
    maps: BTreeMap<(Map, usize), PreparedBlocks<B>>,
    operands: BTreeMap<(usize, Side, usize), Vec<Ciphertext<B>>>,
    batches: &'a [TrainingBatch<Ciphertext<B>>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Map {
    Weights,
    Inner,
    Spread,
    SpreadTwice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Columns,
    Rows,
}

impl<B: RingOps> Made<'_, B> {
    fn apply(
        &mut self,
        training: &LogisticRegression,
        ev: &Evaluator<B>,
        which: Map,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let map: &BlockTransform = match which {
            Map::Weights => &training.maps.weights,
            Map::Inner => &training.maps.inner,
            Map::Spread => &training.maps.spread,
            Map::SpreadTwice => &training.maps.spread_twice,
        };
        let prepared = match self.maps.entry((which, ct.level())) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => place.insert(map.prepare(ev, ct.level())?),
        };
        prepared.apply(ev, std::slice::from_ref(ct), keys)
    }

    /// The ciphertexts of a batch on a level, products of which are as deep as those of the others.
    fn operands(
        &mut self,
        ev: &Evaluator<B>,
        batch: usize,
        side: Side,
        level: usize,
    ) -> Result<&[Ciphertext<B>]> {
        let at = (batch, side, level);
        if !self.operands.contains_key(&at) {
            let TrainingBatch { by_columns, by_rows } = &self.batches[batch];
            let cts = if side == Side::Columns { by_columns } else { by_rows };
            let lowered = cts.iter().map(|ct| ev.mod_switch_to(ct, level.min(ct.level())));
            self.operands.insert(at, lowered.collect::<Result<_>>()?);
        }
        Ok(&self.operands[&at])
    }
}

impl LogisticRegression {
    /// Trains on encrypted batches, from encrypted weights ([`weight_slots`](Self::weight_slots)):
    /// the weights in the same form ([`weights`](Self::weights)). Iteration t takes batch t modulo
    /// their number; `batches` are encryptions of what [`TrainingLayout::pack`] gives.
    ///
    /// Five levels for each iteration and those of the polynomial. With B ciphertexts per batch,
    /// the work is that of two maps of 2 B diagonals each, one of twice the columns of a
    /// ciphertext, two sums of products with one relinearisation each, the polynomial, and a
    /// rotation for every doubling of the rows of a ciphertext. Weights are refreshed where the
    /// levels of an iteration would not fit, all together, and must be within the range there.
    /// Batches are kept on all levels that iterations meet them on, and maps encoded: with a
    /// refresher these are as many as iterations between two refreshes.
    ///
    /// # Errors
    /// [`Error::Argument`] without batches, or for batches of another number of ciphertexts;
    /// [`Error::LevelExhausted`] where there are no refreshes; missing keys, mismatch of
    /// parameters, ring or key sets; those of the refresher; device errors.
    ///
    /// [`TrainingLayout::pack`]: super::TrainingLayout::pack
    pub fn train<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        batches: &[TrainingBatch<Ciphertext<B>>],
        weights: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.train_observed(ev, batches, weights, keys, refresher, |_, _| Ok(()))
    }

    /// [`train`](Self::train), which shows the weights after every iteration: times v_t over a known
    /// factor, for measurements.
    ///
    /// # Errors
    /// The same as for [`train`](Self::train), and what `observe` returns.
    pub fn train_observed<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        batches: &[TrainingBatch<Ciphertext<B>>],
        weights: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        mut observe: impl FnMut(usize, &Ciphertext<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let needs = self.requirements();
        needs.keys.check(keys)?;
        let expected = self.layout.ciphertexts();
        let found = batches.iter().map(|batch| [batch.by_columns.len(), batch.by_rows.len()]);
        if let Some(found) = found.clone().find(|found| *found != expected) {
            let why = format!("{found:?} ciphertexts, {expected:?} by columns and by rows are needed");
            return Err(Error::argument("batches", why));
        }
        if batches.is_empty() {
            return Err(Error::argument("batches", "there is none"));
        }
        let depths = std::iter::repeat_n(needs.depth, self.iterations());
        if refresher.count(weights.level(), depths)? > 0 {
            refresher.check(weights)?;
        }
        let mut made = Made { maps: BTreeMap::new(), operands: BTreeMap::new(), batches };
        let ahead = match refresher.fits(weights.level(), needs.depth)? {
            true => weights.duplicate()?,
            false => refresher.refresh(weights)?,
        };
        let mut state = State { last: ahead.duplicate()?, ahead, unit: Complex64::ONE };
        for (t, momenta) in self.momenta().into_iter().enumerate() {
            let left = state.ahead.level() - needs.depth;
            let refreshed = t + 1 < self.iterations() && !refresher.fits(left, needs.depth)?;
            let gradient = self.gradient(ev, &mut made, &state.ahead, (t, momenta[0], refreshed), keys)?;
            state = self.updated(ev, state, gradient, (momenta, refreshed), keys, refresher)?;
            observe(t, &state.ahead)?;
        }
        Ok(state.last)
    }

    /// rate / m sum_k sigmoid(-z_k v) z_k over the range, times a factor, and times (1 + i) / 2 if
    /// it will be refreshed.
    fn gradient<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        made: &mut Made<'_, B>,
        v: &Ciphertext<B>,
        (t, factor, refreshed): (usize, f64, bool),
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let batch = t % made.batches.len();
        let weights = made.apply(self, ev, Map::Weights, v, keys)?;
        let inner = ev.sum_of_products(
            &pairs(&weights, made.operands(ev, batch, Side::Columns, v.level() - 1)?),
            keys,
        )?;
        let inner = made.apply(self, ev, Map::Inner, &inner, keys)?;
        let scaled: Vec<f64> =
            self.sigmoid.coefficients().iter().map(|c| c * factor * self.rates[t]).collect();
        let errors = Polynomial::chebyshev(&scaled, -1.0, 1.0)?.apply(ev, &inner[0], keys)?;
        let map = if refreshed { Map::SpreadTwice } else { Map::Spread };
        let errors = made.apply(self, ev, map, &errors, keys)?;
        let level = errors[0].level();
        let mut sum =
            ev.sum_of_products(&pairs(&errors, made.operands(ev, batch, Side::Rows, level)?), keys)?;
        for step in self.row_steps() {
            sum = ev.add(&sum, &ev.rotate(&sum, step, keys)?)?;
        }
        Ok(sum)
    }

    /// The next state. With G the gradient times 1 + mu: (1 + mu) w' = (1 + mu) v + G, and
    /// v' = (1 + mu) w' - mu w.
    fn updated<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        state: State<B>,
        gradient: Ciphertext<B>,
        ([ahead, last], refreshed): ([f64; 2], bool),
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<State<B>> {
        let State { ahead: v, last: w, unit } = state;
        let (ahead, last) = (Complex64::from(ahead), unit * last);
        if !refreshed {
            let kept = combination(ev, &[(&v, ahead)])?;
            let next = match last == Complex64::ZERO {
                true => kept.duplicate()?,
                false => combination(ev, &[(&v, ahead), (&w, -last)])?,
            };
            return Ok(State {
                ahead: ev.add(&next, &gradient)?,
                last: ev.add(&kept, &gradient)?,
                unit: Complex64::ONE,
            });
        }
        // (v' + i (1 + mu) w') / 2, refreshed as one.
        let both = Complex64::new(0.5, 0.5);
        let mut terms = vec![(&v, ahead * both)];
        if last != Complex64::ZERO {
            terms.push((&w, -last * 0.5));
        }
        let packed = refresher.refresh(&ev.add(&combination(ev, &terms)?, &gradient)?)?;
        let conjugate = ev.conjugate(&packed, keys)?;
        Ok(State {
            ahead: ev.add(&packed, &conjugate)?,
            last: ev.sub(&conjugate, &packed)?,
            unit: Complex64::I,
        })
    }
}

fn pairs<'a, B: RingOps>(a: &'a [Ciphertext<B>], b: &'a [Ciphertext<B>]) -> Vec<[&'a Ciphertext<B>; 2]> {
    a.iter().zip(b).map(|(a, b)| [a, b]).collect()
}

/// sum_i factor_i ct_i for public numbers, one level below ciphertexts of the same level.
fn combination<B: RingOps>(
    ev: &Evaluator<B>,
    terms: &[(&Ciphertext<B>, Complex64)],
) -> Result<Ciphertext<B>> {
    if terms.iter().all(|(_, factor)| factor.im == 0.0) {
        return ev.linear_combination(&terms.iter().map(|(ct, z)| (*ct, z.re)).collect::<Vec<_>>());
    }
    let params = ev.params();
    let encode = |(ct, factor): &(&Ciphertext<B>, Complex64)| {
        let to = params.encoding().at_level(params, ct.level())?.for_multiplying(params)?;
        ev.encoder().encode_constant(*factor, to)
    };
    let plains = terms.iter().map(encode).collect::<Result<Vec<_>>>()?;
    ev.plain_combination(&terms.iter().map(|(ct, _)| *ct).zip(&plains).collect::<Vec<_>>())
}
