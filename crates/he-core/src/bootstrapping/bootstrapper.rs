//! The circuit: from a ciphertext without levels to one with levels.

use super::noise::{added, refreshed};
use super::params::{Order, part};
use super::stages::{Images, eval_mod, joins, on_levels, to_coefficients, to_slots};
use super::{BootstrapKeys, BootstrapParams, EvalMod};
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::{LinearTransform, PreparedTransform};
use crate::ckks::{Ciphertext, CkksParams, Evaluator, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Eval, Poly, Ring, Span};
use crate::rlwe::{ImageSums, RlweCiphertext};

/// The stages of a bootstrap, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Values to coefficients, down to level 0.
    SlotsToCoeffs,
    /// To the sparse secret, modulo all primes, and back.
    ModRaise,
    /// Coefficients to slots: real and imaginary parts as two batches, or where few slots are
    /// joined later ([`join`](super::BootstrapSpec::join)) as twice as many slots.
    CoeffsToSlots,
    /// The reduction modulo q_0 of both.
    EvalMod,
    /// Both parts in one ciphertext of programs.
    Join,
}

/// The parts of values that are refreshed.
#[derive(Clone, Copy)]
pub(super) enum Values {
    Complex,
    Real,
    /// Real and imaginary parts, which remain apart as a batch.
    Parts,
}

/// A matrix of CoeffsToSlots, and what computes with it: it has special primes of its own.
#[derive(Debug)]
struct Map<B: RingOps> {
    ev: Evaluator<B>,
    matrix: PreparedTransform<B>,
}

/// The transforms that take twice as many slots, real parts and then imaginary ones, apart again.
#[derive(Debug)]
struct Joins<B: RingOps> {
    /// To re + i im.
    whole: PreparedTransform<B>,
    real: PreparedTransform<B>,
    imaginary: PreparedTransform<B>,
}

/// Bootstraps ciphertexts; knows no secret.
#[derive(Debug)]
pub struct Bootstrapper<B: RingOps = Cpu> {
    params: BootstrapParams,
    /// The evaluator for the levels of programs.
    ev: Evaluator<B>,
    lower: Evaluator<B>,
    /// The evaluator for the modular reduction.
    reduction: Evaluator<B>,
    to_coefficients: Vec<PreparedTransform<B>>,
    to_slots: Vec<Map<B>>,
    traces: Traces<B>,
    eval_mod: EvalMod,
    /// If both parts are reduced in one ciphertext.
    joins: Option<Joins<B>>,
    /// X^(N/2), which multiplies every slot by i, in the ring of the modular reduction.
    imaginary_unit: Poly<Eval, B>,
    /// The same in the ring of programs.
    program_unit: Poly<Eval, B>,
    /// The noise that a refresh adds.
    noise: NoiseEstimate,
}

impl<B: RingOps> Bootstrapper<B> {
    /// Encodes the matrices; `ring` is that of [`BootstrapParams::ring`].
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for another ring; device errors.
    pub fn new(params: &BootstrapParams, ring: &Ring<B>) -> Result<Self> {
        let whole = params.whole(ring)?;
        let ev = Evaluator::new(params.params(), ring)?;
        let evaluator = |params: &CkksParams| Evaluator::new(params, &part(&whole, params.rlwe())?);
        let (lower, reduction) = (evaluator(params.lower())?, evaluator(params.reduction())?);
        let eval_mod = eval_mod(params)?;
        let prepare = |(matrix, level): (&LinearTransform, _)| matrix.prepare(&lower, level);
        let to_coefficients =
            on_levels(lower.params(), &to_coefficients(params)?).map(prepare).collect::<Result<_>>()?;
        let map = |(matrix, params): (&LinearTransform, &CkksParams)| {
            let ev = evaluator(params)?;
            Ok(Map { matrix: matrix.prepare(&ev, params.max_level())?, ev })
        };
        let to_slots: Vec<Map<B>> =
            to_slots(params, &eval_mod)?.iter().zip(params.maps()).map(map).collect::<Result<_>>()?;
        let traces = Traces::new(params, to_slots.last().map_or(&whole, |map| map.ev.ring()))?;
        let unit = |ring: &Ring<B>| Poly::monomial(ring, Span::chain(ring.spec().q().len()), ring.n() / 2);
        let (imaginary_unit, program_unit) = (unit(reduction.ring())?, unit(ring)?);
        let prepare_join = |matrix: LinearTransform| matrix.prepare(&reduction, 1);
        let joins = match joins(params)? {
            None => None,
            Some([whole, real, imaginary]) => Some(Joins {
                whole: prepare_join(whole)?,
                real: prepare_join(real)?,
                imaginary: prepare_join(imaginary)?,
            }),
        };
        Ok(Self {
            noise: added(params, &eval_mod),
            traces,
            params: params.clone(),
            ev,
            lower,
            reduction,
            to_coefficients,
            to_slots,
            eval_mod,
            joins,
            imaginary_unit,
            program_unit,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams {
        &self.params
    }

    /// The memory that the encoded matrices take on the device, in bytes:
    /// [`BootstrapParams::matrix_bytes`].
    pub fn matrix_bytes(&self) -> u64 {
        let to_slots = self.to_slots.iter().map(|map| &map.matrix);
        let joins = self.joins.iter().flat_map(|joins| [&joins.whole, &joins.real, &joins.imaginary]);
        self.to_coefficients.iter().chain(to_slots).chain(joins).map(PreparedTransform::bytes).sum()
    }

    /// The evaluator for the levels of programs.
    pub(super) fn evaluator(&self) -> &Evaluator<B> {
        &self.ev
    }

    /// The evaluator for the levels of the modular reduction.
    pub(super) fn reduction(&self) -> &Evaluator<B> {
        &self.reduction
    }

    /// X^(N/2) in the rings of the modular reduction and of programs.
    pub(super) fn units(&self) -> [&Poly<Eval, B>; 2] {
        [&self.imaginary_unit, &self.program_unit]
    }

    /// The noise that a refresh adds to a ciphertext, at the scale of its result.
    pub fn added_noise(&self) -> NoiseEstimate {
        self.noise
    }

    /// The same values on [`output_level`](BootstrapParams::output_level), for a ciphertext of
    /// [`input_level`](BootstrapParams::input_level) or above with
    /// [`slots`](BootstrapParams::slots) slots. All of a batch are bootstrapped together.
    ///
    /// The result carries a noise estimate if the ciphertext does, for values up to one in
    /// magnitude of their real and imaginary parts.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] below the input level, [`Error::SlotCount`] for another number of
    /// slots, mismatch of parameters, ring or key sets, before any work; device errors.
    pub fn refresh(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<Ciphertext<B>> {
        self.refresh_observed(ct, keys, |_, _| Ok(()))
    }

    /// [`refresh`](Self::refresh) of the real parts alone: imaginary parts, and the noise in them,
    /// become zero but for that of the last operations. The modular reduction computes on half as
    /// much, and what amplifies noise, such as a steep polynomial, finds it in real parts only.
    ///
    /// # Errors
    /// The same as for [`refresh`](Self::refresh).
    pub fn refresh_real(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<Ciphertext<B>> {
        self.refreshed(ct, keys, Values::Real, |_, _| Ok(()))
    }

    /// [`refresh_real`](Self::refresh_real) of a batch of an even number of ciphertexts, two at the
    /// cost of one: those of the second half become the imaginary parts of those of the first, and
    /// are not joined again afterwards.
    ///
    /// # Errors
    /// [`Error::Argument`] for an odd number; the same as for [`refresh`](Self::refresh).
    pub fn refresh_pairs(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<Ciphertext<B>> {
        self.check(ct, keys)?;
        self.refreshed(&self.paired(ct)?, keys, Values::Parts, |_, _| Ok(()))
    }

    /// The first half of a batch plus i times the second, on the input level.
    pub(super) fn paired(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let batch = ct.batch();
        if !batch.is_multiple_of(2) {
            return Err(Error::argument("batch", format!("{batch} ciphertexts are not pairs")));
        }
        let ct = self.ev.mod_switch_to(ct, self.params.input_level())?;
        let (real, mut imaginary) = (ct.slice_batch(0..batch / 2)?, ct.slice_batch(batch / 2..batch)?);
        imaginary.pair = imaginary.pair.mul_poly(&self.program_unit)?;
        self.ev.add(&real, &imaginary)
    }

    /// [`refresh`](Self::refresh), and shows the ciphertext after each stage, for measurements and
    /// tests: after [`Stage::SlotsToCoeffs`] and [`Stage::Join`] it is one of programs' values,
    /// otherwise one over all primes.
    ///
    /// # Errors
    /// The same as for [`refresh`](Self::refresh), and what `observe` returns.
    pub fn refresh_observed(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
        observe: impl FnMut(Stage, &Ciphertext<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        self.refreshed(ct, keys, Values::Complex, observe)
    }

    fn refreshed(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
        values: Values,
        mut observe: impl FnMut(Stage, &Ciphertext<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        self.check(ct, keys)?;
        let to = (self.params.params(), self.noise);
        let noise = ct.noise().map(|noise| refreshed(noise, ct.scale(), to));
        let ct = self.slots_to_coefficients(ct, keys)?;
        observe(Stage::SlotsToCoeffs, &ct)?;
        let mut ct = self.raised(&ct.pair, keys, values, observe)?;
        ct.set_noise(noise);
        Ok(ct)
    }

    /// ModRaise and all that follows.
    fn raised(
        &self,
        pair: &RlweCiphertext<B>,
        keys: &BootstrapKeys<B>,
        values: Values,
        mut observe: impl FnMut(Stage, &Ciphertext<B>) -> Result<()>,
    ) -> Result<Ciphertext<B>> {
        let ct = self.mod_raise(pair, keys)?;
        observe(Stage::ModRaise, &ct)?;
        let ct = self.coefficients_to_slots(ct, keys, values)?;
        observe(Stage::CoeffsToSlots, &ct)?;
        let ct = self.eval_mod.apply(&self.reduction, &ct, &keys.reduction)?;
        observe(Stage::EvalMod, &ct)?;
        let ct = self.join(ct, keys, values)?;
        observe(Stage::Join, &ct)?;
        Ok(ct)
    }

    /// The second half of a refresh, from coefficients instead of slots: with n slots, slot k of
    /// the result is coefficient j N / (2n) of the phase of a ciphertext over q_0, divided by the
    /// scale of level 0, where j < n is k with its bits reversed. Coefficients are at most that
    /// scale in magnitude. All of a batch are computed together.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for other primes than q_0, mismatch of parameters, ring or key sets,
    /// before any work; device errors.
    pub fn coefficients_to_values(
        &self,
        pair: &RlweCiphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.check_order()?;
        self.check_keys(pair, keys)?;
        let (left, right) = (pair.parts()[0].span(), Span::chain(1));
        if left != right {
            return Err(Error::SpanMismatch { left, right });
        }
        self.raised(pair, keys, Values::Real, |_, _| Ok(()))
    }

    /// Whether the keys are of these parameters, and of the key set of the ciphertext.
    pub(crate) fn check_keys(&self, pair: &RlweCiphertext<B>, keys: &BootstrapKeys<B>) -> Result<()> {
        if keys.params() != &self.params {
            let (why, hint) =
                ("they are of other parameters", "generate keys for the bootstrapper's parameters");
            return Err(Error::domain("bootstrapping keys", why, hint));
        }
        if !pair.ring().same(self.ev.ring()) || !pair.ring().shares(keys.lower.ring()) {
            return Err(Error::RingMismatch);
        }
        common("bootstrapping keys", keys.key_set(), pair.key_set).map(drop)
    }

    fn check_order(&self) -> Result<()> {
        if self.params.order() != Order::SlotsFirst {
            let (why, hint) = ("they refresh integers", "use exact::bootstrapping::Bootstrapper");
            return Err(Error::domain("parameters of bootstrapping", why, hint));
        }
        Ok(())
    }

    pub(super) fn check(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<()> {
        self.check_order()?;
        let (needed, left) = (self.params.input_level(), ct.level());
        if left < needed {
            return Err(Error::LevelExhausted { needed, left });
        }
        let capacity = self.params.slots();
        if ct.slots() != capacity {
            return Err(Error::SlotCount { found: ct.slots(), capacity });
        }
        self.check_keys(&ct.pair, keys)
    }

    /// A ciphertext modulo q_0 whose phase has coefficients of up to q_0 2^-r, for the ratio 2^r of
    /// the base to its scale, as one over the primes of [`BootstrapParams::params`] whose phase is
    /// that times [`coefficient_gain`](BootstrapParams::coefficient_gain), and an error
    /// ([`added_to_coefficients`]). For parameters where coefficients come first.
    ///
    /// # Errors
    /// Device errors: everything else has been checked ([`check_keys`](Self::check_keys)).
    pub(crate) fn refresh_coefficients(
        &self,
        pair: &RlweCiphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<RlweCiphertext<B>> {
        let ct = self.mod_raise(pair, keys)?;
        let ct = self.coefficients_to_slots(ct, keys, Values::Complex)?;
        let ct = self.eval_mod.apply(&self.reduction, &ct, &keys.reduction)?;
        let ct = entered(&self.lower, self.joined(ct, keys, Values::Complex)?)?;
        in_ring(self.apply_to_coefficients(&ct, keys)?.pair, self.ev.ring())
    }

    /// Values in the coefficients, on level 0.
    pub(super) fn slots_to_coefficients(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let lowered = self.ev.mod_switch_to(ct, self.params.input_level())?;
        self.apply_to_coefficients(&entered(&self.lower, lowered)?, keys)
    }

    /// One matrix of SlotsToCoeffs after the other.
    fn apply_to_coefficients(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<Ciphertext<B>> {
        let Some((first, rest)) = self.to_coefficients.split_first() else { return ct.duplicate() };
        let apply =
            |ct: &Ciphertext<B>, matrix: &PreparedTransform<B>| matrix.apply(&self.lower, ct, &keys.lower);
        rest.iter().try_fold(apply(ct, first)?, |ct, matrix| apply(&ct, matrix))
    }

    /// Modulo all primes: what was t modulo q_0 is t + q_0 I. Where slots are few, so is it in
    /// coefficients that are not of their polynomials: CoeffsToSlots takes the trace.
    pub(super) fn mod_raise(
        &self,
        pair: &RlweCiphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let ring = self.ev.ring().whole();
        let sparse = in_ring(keys.to_sparse.switch(pair)?, &ring)?;
        let top = Span::chain(ring.spec().q().len());
        let raised = moved(sparse, |c| c.into_coeff()?.extend(top)?.into_eval())?;
        let pair = keys.to_dense.switch(&raised)?;
        let (params, slots) = (self.params.upper(), self.params.slots());
        let level = params.max_level();
        Ciphertext::from_parts(params, pair, level, params.levels()[level].scale, slots)
    }

    /// Coefficients in the slots, over q_0 and the reach of the reduction, as it takes them: real
    /// parts, the first halves of the coefficients, and imaginary ones, the second halves. They are
    /// two batches, of which the second is left out for real values, or twice as many slots.
    ///
    /// Each matrix maps polynomials of few slots to such, and commutes with the rotations of the
    /// trace, which is taken around the last one, where primes are fewest and digits longest.
    pub(super) fn coefficients_to_slots(
        &self,
        mut ct: Ciphertext<B>,
        keys: &BootstrapKeys<B>,
        values: Values,
    ) -> Result<Ciphertext<B>> {
        // There is one matrix at least.
        let last = self.to_slots.len() - 1;
        for (Map { ev, matrix }, keys) in self.to_slots[..last].iter().zip(&keys.maps) {
            ct = matrix.apply(ev, &entered(ev, ct)?, keys)?;
        }
        let (Map { ev, matrix }, keys) = (&self.to_slots[last], &keys.maps[last]);
        ct = entered(ev, ct)?;
        for images in &self.traces.before {
            ct = ev.sums_of_images(&ct, images, keys)?;
        }
        let images = match values {
            Values::Real => &self.traces.real,
            Values::Complex | Values::Parts => &self.traces.both,
        };
        entered(&self.reduction, matrix.apply_images(ev, &ct, images, keys)?)
    }

    /// Joins the results of the modular reduction into a ciphertext of programs: re + i im, re, or
    /// both parts as two batches.
    pub(super) fn join(
        &self,
        ct: Ciphertext<B>,
        keys: &BootstrapKeys<B>,
        values: Values,
    ) -> Result<Ciphertext<B>> {
        let mut ct = entered(&self.ev, self.joined(ct, keys, values)?)?;
        ct.meta.slots = self.params.slots();
        Ok(ct)
    }

    fn joined(&self, ct: Ciphertext<B>, keys: &BootstrapKeys<B>, values: Values) -> Result<Ciphertext<B>> {
        let apply = |matrix: &PreparedTransform<B>| matrix.apply(&self.reduction, &ct, &keys.reduction);
        match (&self.joins, values) {
            (Some(joins), Values::Complex) => apply(&joins.whole),
            (Some(joins), Values::Real) => apply(&joins.real),
            (Some(joins), Values::Parts) => {
                Ciphertext::concat(&[&apply(&joins.real)?, &apply(&joins.imaginary)?])
            }
            (None, Values::Complex) => {
                let batch = ct.batch() / 2;
                let [real, imaginary] = [0..batch, batch..2 * batch].map(|part| ct.slice_batch(part));
                self.reduction.add(&real?, &self.times_i(imaginary?)?)
            }
            (None, Values::Real | Values::Parts) => Ok(ct),
        }
    }

    /// i ct, exactly.
    fn times_i(&self, ct: Ciphertext<B>) -> Result<Ciphertext<B>> {
        let pair = moved(ct.pair, |mut c| c.mul_assign(&self.imaginary_unit).map(|()| c))?;
        Ok(Ciphertext { pair, ..ct })
    }
}

/// Both polynomials after f, which consumes them.
fn moved<B: RingOps>(
    pair: RlweCiphertext<B>,
    f: impl Fn(Poly<Eval, B>) -> Result<Poly<Eval, B>>,
) -> Result<RlweCiphertext<B>> {
    let RlweCiphertext { c: [c0, c1], key_set } = pair;
    Ok(RlweCiphertext { c: [f(c0)?, f(c1)?], key_set })
}

/// The same words, uncopied, as a ciphertext of a ring on the same constants.
fn in_ring<B: RingOps>(pair: RlweCiphertext<B>, ring: &Ring<B>) -> Result<RlweCiphertext<B>> {
    moved(pair, |c| c.into_ring(ring))
}

/// The same words, uncopied, as a ciphertext of another stage, on the highest level of that.
fn entered<B: RingOps>(ev: &Evaluator<B>, ct: Ciphertext<B>) -> Result<Ciphertext<B>> {
    let (params, slots) = (ev.params(), ct.slots());
    let level = params.max_level();
    let pair = in_ring(ct.pair, ev.ring())?;
    Ciphertext::from_parts(params, pair, level, params.levels()[level].scale, slots)
}

/// The sums of these images.
#[derive(Debug)]
struct Traces<B: RingOps> {
    before: Vec<ImageSums<B>>,
    /// Behind the matrix: both parts, in one sum where it leaves twice as many slots.
    both: ImageSums<B>,
    /// Real parts, or likewise both.
    real: ImageSums<B>,
}

impl<B: RingOps> Traces<B> {
    /// For the ring of the last matrix.
    fn new(params: &BootstrapParams, ring: &Ring<B>) -> Result<Self> {
        let Images { before, behind } = Images::new(params);
        let real = ImageSums::one(behind.clone());
        let both = match params.spec().join {
            None => ImageSums::parts(ring)?,
            Some(_) => ImageSums::one(behind),
        };
        Ok(Self { before: before.into_iter().map(ImageSums::one).collect(), both, real })
    }
}
