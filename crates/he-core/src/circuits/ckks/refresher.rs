//! Circuits of any depth: ciphertexts are refreshed where their levels run out.

use super::{LinearTransform, Polynomial, PreparedTransform};
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{Aligned, EvaluationKeys};
use std::borrow::Borrow;

/// A source of new levels for ciphertexts: a bootstrapper with its keys
/// ([`RefreshWith`](crate::bootstrapping::RefreshWith)), or nothing ([`NeverRefresh`]).
///
/// Circuits that are given one say how many levels each of their steps takes. Before a step that
/// would not fit, the ciphertext is refreshed; a step that fits is computed as without a refresher,
/// to the same words. The conditions of a refresh on values apply to those between two steps.
pub trait Refresher<B: RingOps> {
    /// The levels that a ciphertext must keep so that it can be refreshed later: steps end on this
    /// level or above.
    fn reserve(&self) -> usize;

    /// The level of a refreshed ciphertext; `None` where there are no refreshes.
    fn top(&self) -> Option<usize>;

    /// Whether the ciphertext is one that [`refresh`](Self::refresh) takes.
    ///
    /// # Errors
    /// Returns the errors of `refresh` that are found before any work.
    fn check(&self, ct: &Ciphertext<B>) -> Result<()>;

    /// The same values on level [`top`](Self::top).
    ///
    /// # Errors
    /// The errors of the implementation; [`Error::LevelExhausted`] where there are no refreshes.
    fn refresh(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>>;

    /// [`refresh`](Self::refresh) of values that are real: imaginary parts, which are noise, may
    /// become zero.
    ///
    /// # Errors
    /// The same as for [`refresh`](Self::refresh).
    fn refresh_real(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.refresh(ct)
    }

    /// [`refresh_real`](Self::refresh_real) of an even number of ciphertexts, if two can be had for
    /// less than twice the work of one.
    ///
    /// # Errors
    /// The same as for [`refresh`](Self::refresh); those of the implementation for an odd number.
    fn refresh_pairs(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.refresh_real(ct)
    }

    /// Whether a step of `depth` levels fits a ciphertext of this level (`false`: it must be
    /// refreshed before).
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if it does not and there are no refreshes, or if it does not fit a
    /// refreshed ciphertext either.
    fn fits(&self, level: usize, depth: usize) -> Result<bool> {
        let left = |level: usize| level.saturating_sub(self.reserve());
        let most = self.top().map_or(left(level), |top| left(level).max(left(top)));
        if depth > most {
            return Err(Error::LevelExhausted { needed: depth, left: most });
        }
        Ok(depth <= left(level))
    }

    /// The refreshes that steps of these depths take, one after the other, for a ciphertext of this
    /// level: those that [`repeat`](Self::repeat) and its like compute.
    ///
    /// # Errors
    /// The same as for [`fits`](Self::fits).
    fn count(&self, mut level: usize, depths: impl IntoIterator<Item = usize>) -> Result<usize>
    where
        Self: Sized,
    {
        let mut refreshes = 0;
        for depth in depths {
            if !self.fits(level, depth)? {
                refreshes += 1;
                level = self.top().unwrap_or(level);
            }
            level -= depth;
        }
        Ok(refreshes)
    }

    /// x <- step(i, x) for i = 0 ... `times` - 1, where every step takes `depth` levels at most:
    /// a loop of any length. The ciphertext is checked before the first step.
    ///
    /// # Errors
    /// The same as for [`fits`](Self::fits), [`check`](Self::check) and
    /// [`refresh`](Self::refresh); what `step` returns.
    fn repeat(
        &self,
        ct: &Ciphertext<B>,
        times: usize,
        depth: usize,
        mut step: impl FnMut(usize, &Ciphertext<B>) -> Result<Ciphertext<B>>,
    ) -> Result<Ciphertext<B>>
    where
        Self: Sized,
    {
        self.sequence(ct, (0..times).map(|_| depth), |i, x| step(i, x))
    }

    /// Runs steps of different depths in sequence, as [`repeat`](Self::repeat) does one.
    ///
    /// # Errors
    /// The same as for [`repeat`](Self::repeat).
    fn sequence(
        &self,
        ct: &Ciphertext<B>,
        depths: impl IntoIterator<Item = usize, IntoIter: Clone>,
        mut step: impl FnMut(usize, &Ciphertext<B>) -> Result<Ciphertext<B>>,
    ) -> Result<Ciphertext<B>>
    where
        Self: Sized,
    {
        let depths = depths.into_iter();
        if self.count(ct.level(), depths.clone())? > 0 {
            self.check(ct)?;
        }
        let mut x = Aligned::As(ct);
        for (i, depth) in depths.enumerate() {
            let operand: &Ciphertext<B> = x.borrow();
            let next = match self.fits(operand.level(), depth)? {
                true => step(i, operand)?,
                false => step(i, &self.refresh(operand)?)?,
            };
            x = Aligned::Copy(next);
        }
        match x {
            Aligned::As(ct) => ct.duplicate(),
            Aligned::Copy(x) => Ok(x),
        }
    }
}

/// No refreshes: levels run out.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverRefresh;

impl<B: RingOps> Refresher<B> for NeverRefresh {
    fn reserve(&self) -> usize {
        0
    }

    fn top(&self) -> Option<usize> {
        None
    }

    fn check(&self, _: &Ciphertext<B>) -> Result<()> {
        Ok(())
    }

    fn refresh(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        Err(Error::LevelExhausted { needed: 1, left: ct.level() })
    }
}

impl Polynomial {
    /// [`apply`](Self::apply), after a refresh if the levels do not suffice, for polynomials of any
    /// degree. Where even a refreshed ciphertext has too few levels, powers are refreshed on the
    /// way, each by itself: those that are needed when levels run out, and all that the last sums
    /// of products take. Values must be within the polynomial's interval, and within \[-1, 1\] in
    /// the power basis, so that powers are in the range of a refresh.
    ///
    /// # Errors
    /// The same as for [`apply`](Self::apply); [`Error::LevelExhausted`] where there are no
    /// refreshes, or where a refreshed ciphertext has no level; those of the refresher.
    pub fn apply_refreshed<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        Self::compose(std::slice::from_ref(self), ev, ct, keys, refresher)
    }

    /// p_k(... p_2(p_1(x))) for a list p_1, p_2 ... p_k: any composition, as
    /// [`apply_refreshed`](Self::apply_refreshed) one after the other. If each polynomial alone
    /// fits a refreshed ciphertext, there are as many refreshes as [`Refresher::count`] says of
    /// their depths. The values between two polynomials must be within the range of a refresh.
    ///
    /// # Errors
    /// The same as for [`apply_refreshed`](Self::apply_refreshed).
    pub fn compose<B: RingOps>(
        polynomials: &[Self],
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        refreshed(polynomials.iter(), ev, ct, keys, refresher)
    }

    /// The polynomial of the polynomial and so on, `times` times: an iterated map. As
    /// [`compose`](Self::compose).
    ///
    /// # Errors
    /// The same as for [`apply_refreshed`](Self::apply_refreshed).
    pub fn iterate<B: RingOps>(
        &self,
        times: usize,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        refreshed(std::iter::repeat_n(self, times), ev, ct, keys, refresher)
    }
}

/// One polynomial after the other. Polynomials that are deeper than a refreshed ciphertext count as
/// steps of one level, and find the rest themselves.
fn refreshed<'p, B: RingOps>(
    polynomials: impl Iterator<Item = &'p Polynomial> + Clone,
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
    refresher: &impl Refresher<B>,
) -> Result<Ciphertext<B>> {
    polynomials.clone().try_for_each(|polynomial| polynomial.requirements().keys.check(keys))?;
    let most = refresher.top().map(|top| top.saturating_sub(refresher.reserve()).max(1));
    let depth = |polynomial: &Polynomial| polynomial.requirements().depth;
    let long = |polynomial: &Polynomial| most.is_some_and(|most| depth(polynomial) > most);
    let mut steps = polynomials.clone();
    let depths = polynomials.map(|polynomial| if long(polynomial) { 1 } else { depth(polynomial) });
    refresher.sequence(ct, depths, |_, x| match steps.next() {
        Some(polynomial) if long(polynomial) => polynomial.apply_long(ev, x, keys, refresher),
        Some(polynomial) => polynomial.apply(ev, x, keys),
        None => x.duplicate(),
    })
}

/// One step, after a refresh if its levels are not left.
fn once<B: RingOps>(
    requirements: &Requirements,
    ct: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
    refresher: &impl Refresher<B>,
    step: impl Fn(&Ciphertext<B>) -> Result<Ciphertext<B>>,
) -> Result<Ciphertext<B>> {
    requirements.keys.check(keys)?;
    refresher.repeat(ct, 1, requirements.depth, |_, x| step(x))
}

impl LinearTransform {
    /// [`apply`](Self::apply), after a refresh if no level is left.
    ///
    /// # Errors
    /// The same as for [`apply`](Self::apply); those of the refresher.
    pub fn apply_refreshed<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        once(&self.requirements(), ct, keys, refresher, |x| self.apply(ev, x, keys))
    }
}

impl<B: RingOps> PreparedTransform<B> {
    /// [`apply`](Self::apply), after a refresh if no level is left.
    ///
    /// # Errors
    /// The same as for [`apply`](Self::apply); those of the refresher.
    pub fn apply_refreshed(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        once(self.requirements(), ct, keys, refresher, |x| self.apply(ev, x, keys))
    }
}
