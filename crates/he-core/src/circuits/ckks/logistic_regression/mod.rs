//! Logistic regression, trained on encrypted examples.

mod packing;
#[cfg(test)]
mod tests;
mod training;

pub use packing::{Examples, TrainingBatch, TrainingLayout};

use super::{BlockTransform, Polynomial, TensorLayout};
use crate::circuits::Requirements;
use crate::ckks::Complex64;
use crate::error::{Error, Result};
use crate::rlwe::KeyRequirements;

/// Logistic regression by Nesterov's accelerated gradient descent on encrypted examples.
///
/// With z_k the rows of a batch (see [`TrainingLayout`]), m of them, and the weights w_0 = v_0,
/// iteration t computes
/// w_(t+1) = v_t + (rate_t / m) sum_k sigmoid(-z_k v_t) z_k and
/// v_(t+1) = (1 + mu_t) w_(t+1) - mu_t w_t,
/// with mu_t = (lambda_t - 1) / lambda_(t+1), lambda_0 = 1 and
/// lambda_(t+1) = (1 + sqrt(1 + 4 lambda_t^2)) / 2. The sigmoid is a polynomial that interpolates
/// it at the Chebyshev nodes of \[-range, range\]; inner products outside of it make training
/// diverge, which [`train_plain`](Self::train_plain) shows on similar data.
///
/// Weights are kept divided by the range, all in one ciphertext, so that one refresh serves
/// everything: before it, v and w become its real and imaginary parts, at no level.
///
/// Source: Han, Song, Cheon, Park, *Logistic Regression on Homomorphic Encrypted Data at Scale*,
/// AAAI 2019. There, every sum over examples is made for each ciphertext; here, the two packings
/// make it one, which needs the data twice.
#[derive(Clone, Debug)]
pub struct LogisticRegression {
    layout: TrainingLayout,
    rates: Vec<f64>,
    range: f64,
    /// sigmoid(-range x) for x in [-1, 1].
    sigmoid: Polynomial,
    maps: Maps,
}

/// The linear maps of an iteration.
#[derive(Clone, Debug)]
struct Maps {
    /// The weights of the columns of each vector by columns.
    weights: BlockTransform,
    /// The sum over the columns of a vector, in all of them.
    inner: BlockTransform,
    /// The number of each row of every vector by rows, over the number of examples and the range.
    spread: BlockTransform,
    /// The map of `spread`, times (1 + i) / 2.
    spread_twice: BlockTransform,
}

impl LogisticRegression {
    /// With a rate for each iteration and a polynomial of this degree (odd ones: the sigmoid is odd
    /// but for its constant) on \[-range, range\].
    ///
    /// # Errors
    /// [`Error::Argument`] without iterations, for rates that are not positive numbers, a degree of
    /// 0, or a range that is not a positive number.
    pub fn new(layout: TrainingLayout, rates: Vec<f64>, degree: usize, range: f64) -> Result<Self> {
        if rates.is_empty() || !rates.iter().all(|&rate| rate > 0.0 && rate.is_finite()) || degree == 0 {
            let found = format!("{} iterations, degree {degree}", rates.len());
            return Err(Error::domain("training", found, "positive rates and a polynomial are needed"));
        }
        if !(range > 0.0 && range.is_finite()) {
            return Err(Error::domain("range", range.to_string(), "a positive number is needed"));
        }
        let sigmoid = Polynomial::chebyshev_fit(|x| sigmoid(-range * x), degree, -1.0, 1.0)?;
        let maps = Maps::new(&layout, range)?;
        Ok(Self { layout, rates, range, sigmoid, maps })
    }

    /// The places of the examples of a batch.
    pub fn layout(&self) -> &TrainingLayout {
        &self.layout
    }

    /// The number of iterations.
    pub fn iterations(&self) -> usize {
        self.rates.len()
    }

    /// The slots of the weights to start with, zero, or others (the intercept, then one for each
    /// feature): encrypt them at the highest level.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of weights.
    pub fn weight_slots(&self, weights: &[f64]) -> Result<Vec<f64>> {
        let TrainingLayout { features, columns, slots, .. } = self.layout;
        if weights.len() != features + 1 {
            let why = format!("{} for {features} features and an intercept", weights.len());
            return Err(Error::argument("weights", why));
        }
        let weight = |slot: usize| weights.get(slot % columns).map_or(0.0, |weight| weight / self.range);
        Ok((0..slots).map(weight).collect())
    }

    /// The intercept and the weights of the features, from the slots of a result.
    ///
    /// # Errors
    /// [`Error::Argument`] for fewer slots.
    pub fn weights(&self, slots: &[f64]) -> Result<Vec<f64>> {
        let count = self.layout.features + 1;
        match slots.get(..count) {
            Some(slots) => Ok(slots.iter().map(|weight| weight * self.range).collect()),
            None => Err(Error::argument("weights", format!("{} slots of {count}", slots.len()))),
        }
    }

    /// The levels of one iteration, and the keys: relinearisation, conjugation, and rotations. With
    /// a refresher, that many levels above its reserve suffice for any number of iterations;
    /// without one, training takes as many for each.
    pub fn requirements(&self) -> Requirements {
        let of_maps = [&self.maps.weights, &self.maps.inner, &self.maps.spread];
        let maps = of_maps.map(BlockTransform::requirements);
        let rows = KeyRequirements::new().rotations(self.row_steps());
        let products = Requirements {
            depth: 2,
            keys: KeyRequirements::new().relinearisation().conjugation().union(&rows),
        };
        maps.iter().fold(products.then(&self.sigmoid.requirements()), |all, map| all.then(map))
    }

    /// Rotations that add up the rows of a vector by rows.
    fn row_steps(&self) -> Vec<i64> {
        let doubled = std::iter::successors(Some(self.layout.columns), |step| step.checked_mul(2));
        doubled.take_while(|&step| step < self.layout.slots).map(|step| step as i64).collect()
    }

    /// 1 + mu_t and mu_t / (1 + mu_(t-1)) of every iteration. The last one leaves w alone: as if
    /// mu_t were 0.
    fn momenta(&self) -> Vec<[f64; 2]> {
        let (mut lambda, mut before) = (1.0f64, 1.0);
        let step = |t: usize| {
            let next = (1.0 + libm::sqrt(1.0 + 4.0 * lambda * lambda)) / 2.0;
            let mu = if t + 1 == self.rates.len() { 0.0 } else { (lambda - 1.0) / next };
            let momenta = [1.0 + mu, mu / before];
            (lambda, before) = (next, 1.0 + mu);
            momenta
        };
        (0..self.rates.len()).map(step).collect()
    }

    /// The same training in float64 with the same polynomial: the intercept and the weights.
    /// Iteration t takes batch t modulo their number.
    ///
    /// # Errors
    /// [`Error::Argument`] without batches, or as for [`TrainingLayout::pack`].
    pub fn train_plain(&self, batches: &[Examples]) -> Result<Vec<f64>> {
        self.descend(batches, |x| self.sigmoid.apply_plain(-x / self.range))
    }

    /// The same training in float64 with the sigmoid itself: what encrypted training is compared
    /// with.
    ///
    /// # Errors
    /// The same as for [`train_plain`](Self::train_plain).
    pub fn train_exactly(&self, batches: &[Examples]) -> Result<Vec<f64>> {
        self.descend(batches, sigmoid)
    }

    fn descend(&self, batches: &[Examples], sigmoid: impl Fn(f64) -> f64) -> Result<Vec<f64>> {
        let batches = batches.iter().map(|batch| self.layout.rows(batch)).collect::<Result<Vec<_>>>()?;
        if batches.is_empty() {
            return Err(Error::argument("examples", "there is no batch"));
        }
        let mut w = vec![0.0; self.layout.features + 1];
        let (mut v, mut lambda) = (w.clone(), 1.0f64);
        for (t, rate) in self.rates.iter().enumerate() {
            let mut gradient = vec![0.0; w.len()];
            for z in &batches[t % batches.len()] {
                let inner: f64 = z.iter().zip(&v).map(|(z, v)| z * v).sum();
                let factor = sigmoid(-inner) * rate / self.layout.examples as f64;
                gradient.iter_mut().zip(z).for_each(|(sum, z)| *sum += factor * z);
            }
            let next = (1.0 + libm::sqrt(1.0 + 4.0 * lambda * lambda)) / 2.0;
            let mu = (lambda - 1.0) / next;
            let updated: Vec<f64> = v.iter().zip(&gradient).map(|(v, g)| v + g).collect();
            v = updated.iter().zip(&w).map(|(new, old)| (1.0 + mu) * new - mu * old).collect();
            (w, lambda) = (updated, next);
        }
        Ok(w)
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

impl Maps {
    fn new(layout: &TrainingLayout, range: f64) -> Result<Self> {
        let TrainingLayout { examples, columns, slots, blocks, .. } = *layout;
        let (width, [by_columns, by_rows]) = (layout.width(), layout.ciphertexts());
        // The same for all rows that differ by a multiple of the number of blocks.
        let one = TensorLayout::vector(columns, columns)?;
        let each = TensorLayout::vector(by_columns * columns, columns)?;
        let of_weights =
            (0..by_columns * columns).map(|to| (to, to / columns * width + to % width, Complex64::ONE));
        let whole = TensorLayout::vector(slots, slots)?;
        let of_inner = (0..slots)
            .flat_map(|to| (0..width).map(move |column| (to, to - to % width + column, Complex64::ONE)));
        let rows = TensorLayout::vector(by_rows * slots, slots)?;
        let share = Complex64::from(1.0 / (examples as f64 * range));
        let of_rows = |factor: Complex64| {
            (0..blocks * slots).map(move |to| {
                let (block, slot) = (to / slots, to % slots);
                (to, slot - slot % columns + block * width + slot % width, factor)
            })
        };
        Ok(Self {
            weights: BlockTransform::new(&one, &each, of_weights)?,
            inner: BlockTransform::new(&whole, &whole, of_inner)?,
            spread: BlockTransform::new(&whole, &rows, of_rows(share))?,
            spread_twice: BlockTransform::new(&whole, &rows, of_rows(share * Complex64::new(0.5, 0.5)))?,
        })
    }
}
