//! The circuit: from a ciphertext without levels to one with levels.

use super::noise::{added, refreshed};
use super::params::{Order, part};
use super::transform::{coefficients_to_parts, joining};
use super::{BootstrapKeys, BootstrapParams, EvalMod, coefficients_to_slots, slots_to_coefficients};
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::{LinearTransform, PreparedTransform};
use crate::ckks::{Ciphertext, CkksParams, Evaluator, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Eval, Poly, Ring, Span, galois_conjugation, galois_rotation};
use crate::rlwe::{ImageSums, KeyRequirements, RlweCiphertext};
use num_complex::Complex64;

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
    /// X^(N/2), which multiplies every slot by i.
    imaginary_unit: Poly<Eval, B>,
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
        let chain = Span::chain(reduction.params().rlwe().ring().q().len());
        let imaginary_unit = Poly::monomial(reduction.ring(), chain, ring.n() / 2)?;
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
        let batch = ct.batch();
        if !batch.is_multiple_of(2) {
            return Err(Error::argument("batch", format!("{batch} ciphertexts are not pairs")));
        }
        let ct = self.ev.mod_switch_to(ct, self.params.input_level())?;
        let (real, mut imaginary) = (ct.slice_batch(0..batch / 2)?, ct.slice_batch(batch / 2..batch)?);
        let pair = self.times_i_of(in_ring(imaginary.pair, self.reduction.ring())?)?;
        imaginary.pair = in_ring(pair, self.ev.ring())?;
        self.refreshed(&self.ev.add(&real, &imaginary)?, keys, Values::Parts, |_, _| Ok(()))
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
        Ok(Ciphertext { pair: self.times_i_of(ct.pair)?, ..ct })
    }

    fn times_i_of(&self, pair: RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        moved(pair, |mut c| c.mul_assign(&self.imaginary_unit).map(|()| c))
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

/// The images that are added up around the last matrix of CoeffsToSlots: those of the trace, which
/// leave polynomials of n slots, N / 2n times the projection, where there are fewer than N/2, and
/// that of the conjugation, which takes parts apart. Each list has all products of a few Galois
/// elements, and is one sum, which one decomposition and one division serve.
struct Images {
    before: Vec<Vec<u64>>,
    behind: Vec<u64>,
}

impl Images {
    fn new(params: &BootstrapParams) -> Self {
        let (n, half, log_n) = (params.slots(), params.params().slots(), params.spec().log_n);
        let doubled = std::iter::successors(Some(n), |step| Some(2 * step)).take_while(|&step| step < half);
        let rotations: Vec<u64> = doubled.map(|step| galois_rotation(step as i64, log_n)).collect();
        // Behind twice as many slots; a rotation by n exchanges parts, and comes before.
        let joins = params.spec().join.is_some();
        let behind = if joins { rotations.len().saturating_sub(1).min(2) } else { 0 };
        let (before, behind) = rotations.split_at(rotations.len() - behind);
        let products = |factors: &[u64]| {
            factors.iter().fold(vec![1], |products: Vec<u64>, g| {
                let others = products.iter().map(|h| h * g % (2 << log_n));
                products.iter().copied().chain(others).collect()
            })
        };
        let behind = products(&[behind, &[galois_conjugation(log_n)]].concat());
        Self { before: before.chunks(2).map(products).collect(), behind }
    }
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

/// The scales of both ends of the modular reduction, and what it makes of them.
pub(super) fn eval_mod(params: &BootstrapParams) -> Result<EvalMod> {
    let q0 = params.ring_spec().q()[0] as f64;
    let (program, upper) = (params.params(), params.upper());
    let base = program.levels()[0].scale;
    // t = base m becomes amplitude t / q_0 at the scale of the lowest level, which is m at that of
    // what follows.
    let next = match params.order() {
        Order::SlotsFirst => program,
        Order::CoefficientsFirst => params.lower(),
    };
    let output = next.levels()[next.max_level()].scale / upper.levels()[0].scale;
    // Every coefficient of the sparse secret, and the constant 1, adds a uniform number.
    let summands = params.spec().sparse_weight as u32 + 1;
    EvalMod::new(params.spec().eval_mod, summands, base / q0, q0 / base * output)
}

impl BootstrapParams {
    /// The memory that the encoded matrices of a [`Bootstrapper`] take on a device, in bytes. It
    /// does not include the [keys](Self::key_bytes).
    ///
    /// # Errors
    /// None in practice: the reduction and the matrices of checked parameters exist.
    pub fn matrix_bytes(&self) -> Result<u64> {
        let (first, last) = (to_coefficients(self)?, to_slots(self, &eval_mod(self)?)?);
        let lower = on_levels(self.lower(), &first).map(|(matrix, level)| (matrix, self.lower(), level));
        let maps = last.iter().zip(self.maps()).map(|(matrix, params)| (matrix, params, params.max_level()));
        let joins = joins(self)?;
        let joins = joins.iter().flatten().map(|matrix| (matrix, self.reduction(), 1));
        lower
            .chain(maps)
            .chain(joins)
            .map(|(matrix, params, level)| matrix.plaintext_bytes(params, level))
            .sum()
    }
}

/// Matrices with the level on which each of them is applied, from the highest on.
fn on_levels<'a>(
    params: &CkksParams,
    matrices: &'a [LinearTransform],
) -> impl Iterator<Item = (&'a LinearTransform, usize)> + use<'a> {
    matrices.iter().zip((0..=params.max_level()).rev())
}

fn to_coefficients(params: &BootstrapParams) -> Result<Vec<LinearTransform>> {
    let spec = params.spec();
    slots_to_coefficients(spec.log_slots, spec.slots_to_coeffs.len(), 1.0)
}

fn to_slots(params: &BootstrapParams, eval_mod: &EvalMod) -> Result<Vec<LinearTransform>> {
    let (spec, upper) = (params.spec(), params.upper());
    let q0 = params.ring_spec().q()[0] as f64;
    let scale = upper.levels()[upper.max_level()].scale;
    let copies = params.params().slots() / params.slots();
    // Half, because a number and its conjugate are added.
    let factor = scale / (2.0 * q0 * eval_mod.reach() * copies as f64);
    let matrices = if spec.join.is_some() { coefficients_to_parts } else { coefficients_to_slots };
    matrices(spec.log_slots, spec.coeffs_to_slots.levels, factor)
}

/// For parts that are reduced in one ciphertext: what makes re + i im, re and im of them.
fn joins(params: &BootstrapParams) -> Result<Option<[LinearTransform; 3]>> {
    let Some(_) = params.spec().join else { return Ok(None) };
    let (zero, one, i) = (Complex64::ZERO, Complex64::ONE, Complex64::I);
    let joining = |weights| joining(params.spec().log_slots, weights);
    Ok(Some([joining([one, i])?, joining([one, zero])?, joining([zero, one])?]))
}

/// The evaluation keys of each matrix of CoeffsToSlots, the last of them with those of the trace
/// and of the conjugation.
pub(super) fn map_requirements(params: &BootstrapParams) -> Result<Vec<KeyRequirements>> {
    let matrices = to_slots(params, &eval_mod(params)?)?;
    let mut keys: Vec<_> = matrices.iter().map(|matrix| matrix.requirements().keys.clone()).collect();
    if let Some(last) = keys.last_mut() {
        let Images { before, behind } = Images::new(params);
        *last = last.union(&KeyRequirements::new().elements(before.concat()).elements(behind));
    }
    Ok(keys)
}

/// The evaluation keys of the modular reduction, and of what joins parts.
pub(super) fn reduction_requirements(params: &BootstrapParams) -> Result<KeyRequirements> {
    let keys = eval_mod(params)?.requirements().keys;
    let joins = joins(params)?;
    Ok(joins.iter().flatten().fold(keys, |keys, matrix| keys.union(&matrix.requirements().keys)))
}

/// The evaluation keys of SlotsToCoeffs.
pub(super) fn lower_requirements(params: &BootstrapParams) -> Result<KeyRequirements> {
    let matrices = to_coefficients(params)?;
    Ok(matrices.iter().fold(KeyRequirements::new(), |keys, matrix| keys.union(&matrix.requirements().keys)))
}
