//! Sums over columns of numbers.
//!
//! A column is in the real parts of the slots of a batch, padded with zeros
//! ([`pack_column`](crate::circuits::pack_column)). Results are in every slot of a batch of one.

use crate::backend::RingOps;
use crate::circuits::{Requirements, doubling_steps};
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};

/// The statistics that can be computed from columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// [`sum`].
    Sum,
    /// [`mean`].
    Mean,
    /// [`variance`].
    Variance,
    /// [`dot`].
    Dot,
}

impl Statistic {
    /// Its requirements for vectors of `slots` slots: rotations by the smaller powers of two; no
    /// level for a sum, one for mean and dot product, two for the variance; the relinearisation key
    /// for the last two.
    pub fn requirements(self, slots: usize) -> Requirements {
        let sums = KeyRequirements::new().rotations(doubling_steps(slots));
        let (depth, keys) = match self {
            Self::Sum => (0, sums),
            Self::Mean => (1, sums),
            Self::Dot => (1, sums.relinearisation()),
            Self::Variance => (2, sums.relinearisation()),
        };
        Requirements { depth, keys }
    }
}

/// Adds the entries of a batch, by halves.
pub(super) fn fold_batch<B: RingOps>(ev: &Evaluator<B>, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
    let mut sum = ct.duplicate()?;
    while sum.batch() > 1 {
        let (batch, half) = (sum.batch(), sum.batch() / 2);
        let folded = ev.add(&sum.slice_batch(0..half)?, &sum.slice_batch(half..2 * half)?)?;
        sum = match batch % 2 {
            0 => folded,
            _ => Ciphertext::concat(&[
                &folded,
                &ev.mod_switch_to(&sum.slice_batch(2 * half..batch)?, folded.level())?,
            ])?,
        };
    }
    Ok(sum)
}

/// The sum of all values. It takes no level and log2(slots) rotations.
///
/// The magnitude is up to that of the values times their count. It must stay below Q / (2 scale) of
/// the level, which on level 0 is [`CkksParams::range`](crate::ckks::CkksParams::range); beyond
/// that, the result is meaningless, without an error. Noise adds.
///
/// # Errors
/// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`]; device errors.
pub fn sum<B: RingOps>(
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    Statistic::Sum.requirements(ct.slots()).check(ct.level(), keys)?;
    ev.inner_sum(&fold_batch(ev, ct)?, ct.slots(), keys)
}

fn check_count<B: RingOps>(ct: &Ciphertext<B>, count: usize) -> Result<()> {
    let capacity = ct.batch() * ct.slots();
    if !(1..=capacity).contains(&count) {
        return Err(Error::domain(
            "count",
            format!("{count} values in {capacity} slots"),
            format!("a count from 1 to {capacity} is possible"),
        ));
    }
    Ok(())
}

/// The sum divided by `count`, the number of values without the padding. It takes one level.
///
/// The sum is taken on the level above, whose modulus holds count x value, and then divided: the
/// result is no larger than the values, and the noise of the sum shrinks by 1 / count with it.
/// 1 / count is rounded to a multiple of 1 / scale, a relative error of up to count / (2 scale).
///
/// # Errors
/// [`Error::Argument`] for a count of 0 or beyond the slots; [`Error::LevelExhausted`],
/// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`]; device errors.
pub fn mean<B: RingOps>(
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    count: usize,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    check_count(ct, count)?;
    Statistic::Mean.requirements(ct.slots()).check(ct.level(), keys)?;
    ev.mul_scalar(&sum(ev, ct, keys)?, 1.0 / count as f64)
}

/// The sum over a batch of a b: all products are added before the one relinearisation.
fn dot_vectors<B: RingOps>(
    ev: &Evaluator<B>,
    a: &Ciphertext<B>,
    b: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    ev.inner_sum(&ev.sum_over_batch(a, b, keys)?, a.slots().max(b.slots()), keys)
}

/// The variance of a population of `count` values, `E[x^2] - E[x]^2`: zeros in the padding add
/// nothing. It takes two levels.
///
/// The sum of squares, up to count x^2, is on the level in between, and is divided by count in the
/// step to the level of the result; the result is no larger than the squares. The error is relative
/// to `E[x^2]`: subtract a known offset from columns whose mean is large compared with their
/// deviation.
///
/// # Errors
/// [`Error::Argument`] for a count of 0 or beyond the slots; [`Error::LevelExhausted`],
/// [`Error::MissingGaloisKey`], [`Error::MissingRelinKey`], [`Error::ParamsMismatch`]; device
/// errors.
pub fn variance<B: RingOps>(
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    count: usize,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    check_count(ct, count)?;
    Statistic::Variance.requirements(ct.slots()).check(ct.level(), keys)?;
    let squares = ev.mul_scalar(&dot_vectors(ev, ct, ct, keys)?, 1.0 / count as f64)?;
    let mean = mean(ev, ct, count, keys)?;
    ev.sub(&squares, &ev.square(&mean, keys)?)
}

/// The sum of a_i b_i over two columns of the same batch. It takes one level and one
/// relinearisation.
///
/// The magnitude is up to that of the products times their count and must stay below Q / (2 scale)
/// of the result's level, as for [`sum`].
///
/// # Errors
/// [`Error::BatchMismatch`]; [`Error::Argument`] for different numbers of slots;
/// [`Error::LevelExhausted`], [`Error::MissingGaloisKey`], [`Error::MissingRelinKey`],
/// [`Error::ParamsMismatch`]; device errors.
pub fn dot<B: RingOps>(
    ev: &Evaluator<B>,
    a: &Ciphertext<B>,
    b: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    if a.batch() != b.batch() {
        return Err(Error::BatchMismatch { left: a.batch(), right: b.batch() });
    }
    if a.slots() != b.slots() {
        let (left, right) = (a.slots(), b.slots());
        return Err(Error::domain(
            "columns",
            format!("vectors of {left} and of {right} slots"),
            "pack both alike",
        ));
    }
    Statistic::Dot.requirements(a.slots()).check(a.level().min(b.level()), keys)?;
    dot_vectors(ev, a, b, keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::circuits::pack_column;
    use crate::circuits::testing::Fixture;
    use rand::RngExt;

    const ALL: [Statistic; 4] = [Statistic::Sum, Statistic::Mean, Statistic::Variance, Statistic::Dot];

    fn plain(statistic: Statistic, x: &[f64], y: &[f64]) -> f64 {
        let total: f64 = x.iter().sum();
        let mean = total / x.len() as f64;
        match statistic {
            Statistic::Sum => total,
            Statistic::Mean => mean,
            Statistic::Variance => x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64,
            Statistic::Dot => x.iter().zip(y).map(|(x, y)| x * y).sum(),
        }
    }

    fn encrypted(
        fixture: &Fixture,
        statistic: Statistic,
        [x, y]: [&Ciphertext<Cpu>; 2],
        count: usize,
        keys: &EvaluationKeys<Cpu>,
    ) -> Result<Ciphertext<Cpu>> {
        match statistic {
            Statistic::Sum => sum(&fixture.ev, x, keys),
            Statistic::Mean => mean(&fixture.ev, x, count, keys),
            Statistic::Variance => variance(&fixture.ev, x, count, keys),
            Statistic::Dot => dot(&fixture.ev, x, y, keys),
        }
    }

    #[test]
    fn columns_of_any_length_match() {
        let mut fixture = Fixture::new(8, 2);
        for slots in [1, 32, 128] {
            let all =
                ALL.iter().map(|s| s.requirements(slots)).fold(Requirements::default(), |a, b| a.union(&b));
            let keys = fixture.keys(&all);
            for count in [1, 2, slots, slots + 1, 5 * slots - 1, 7 * slots] {
                let mut column =
                    || (0..count).map(|_| fixture.rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
                let (x, y) = (column(), column());
                let vectors = [&x, &y].map(|column| pack_column(column, slots).unwrap());
                let [a, b] = vectors.map(|vectors| fixture.encrypt(&vectors, slots));
                for statistic in ALL {
                    if count > a.batch() * slots {
                        continue;
                    }
                    let out = encrypted(&fixture, statistic, [&a, &b], count, &keys).unwrap();
                    assert_eq!(a.level() - out.level(), statistic.requirements(slots).depth);
                    let expected = plain(statistic, &x, &y);
                    let found = fixture.decrypt(&out);
                    assert_eq!((found.len(), found[0].len()), (1, slots));
                    for z in &found[0] {
                        let error = (z - expected).norm();
                        assert!(error < 1e-6, "{statistic:?} of {count} in {slots}: {z}, not {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn magnitudes_beyond_level_zero_are_divided_above_it() {
        // Level 0 holds values below 2^9: the sums of 1792 squares do not fit there, but their
        // means do.
        let mut fixture = Fixture::new(8, 2);
        assert!(fixture.params.range() < 600.0);
        let keys = fixture.keys(Statistic::Variance.requirements(128));
        let values: Vec<f64> = (0..14 * 128).map(|i| 10.0 + f64::from(i % 7)).collect();
        let ct = fixture.encrypt(&pack_column(&values, 128).unwrap(), 128);
        for statistic in [Statistic::Mean, Statistic::Variance] {
            let ct = fixture.ev.mod_switch_to(&ct, statistic.requirements(128).depth).unwrap();
            let out = encrypted(&fixture, statistic, [&ct, &ct], values.len(), &keys).unwrap();
            assert_eq!(out.level(), 0);
            let (found, expected) = (fixture.decrypt(&out)[0][5].re, plain(statistic, &values, &values));
            assert!((found - expected).abs() < 1e-4, "{statistic:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut fixture = Fixture::new(8, 2);
        let ct = fixture.encrypt(&pack_column(&[1.0; 100], 32).unwrap(), 32);
        let [none, keys] = [KeyRequirements::new(), Statistic::Variance.requirements(32).keys]
            .map(|requirements| fixture.keys(requirements));
        let rotations_only = fixture.keys(Statistic::Mean.requirements(32));
        let ev = &fixture.ev;
        assert!(matches!(sum(ev, &ct, &none), Err(Error::MissingGaloisKey { step: 1 })));
        assert!(matches!(dot(ev, &ct, &ct, &rotations_only), Err(Error::MissingRelinKey)));
        assert!(matches!(variance(ev, &ct, 100, &rotations_only), Err(Error::MissingRelinKey)));
        for count in [0, 129] {
            assert!(matches!(mean(ev, &ct, count, &keys), Err(Error::Argument { what: "count", .. })));
        }
        let low = ev.mod_switch_to(&ct, 1).unwrap();
        let result = variance(ev, &low, 100, &keys);
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 2, left: 1 })), "{result:?}");
        let bottom = ev.mod_switch_to(&ct, 0).unwrap();
        assert!(sum(ev, &bottom, &keys).is_ok());
        assert!(matches!(mean(ev, &bottom, 100, &keys), Err(Error::LevelExhausted { needed: 1, left: 0 })));
        assert!(matches!(dot(ev, &ct, &bottom, &keys), Err(Error::LevelExhausted { needed: 1, left: 0 })));
        let one = ct.slice_batch(0..1).unwrap();
        assert!(matches!(dot(ev, &ct, &one, &keys), Err(Error::BatchMismatch { left: 4, right: 1 })));
    }
}
