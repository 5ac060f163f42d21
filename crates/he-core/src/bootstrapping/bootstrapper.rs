//! The circuit: from a ciphertext without levels to one with levels.

use super::noise::{added, refreshed};
use super::params::{Order, part};
use super::{BootstrapKeys, BootstrapParams, EvalMod, coefficients_to_slots, slots_to_coefficients};
use crate::backend::{Cpu, RingOps, Weight};
use crate::circuits::ckks::{LinearTransform, PreparedTransform};
use crate::ckks::{Ciphertext, CkksParams, Evaluator, NoiseEstimate};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Eval, Poly, Ring, Span, galois_rotation};
use crate::rlwe::{Decomposed, EvaluationKeys, KeyRequirements, KeyedElement, RlweCiphertext};

/// The stages of a bootstrap, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Values to coefficients, down to level 0.
    SlotsToCoeffs,
    /// To the sparse secret, modulo all primes, and back.
    ModRaise,
    /// Coefficients to slots: real and imaginary parts as two batches.
    CoeffsToSlots,
    /// The reduction modulo q_0 of both.
    EvalMod,
    /// Both parts in one ciphertext of programs.
    Join,
}

/// Which parts of values are refreshed.
#[derive(Clone, Copy)]
enum Values {
    Complex,
    Real,
    /// Real and imaginary parts, which remain apart as a batch.
    Parts,
}

/// Bootstraps ciphertexts; knows no secret.
#[derive(Debug)]
pub struct Bootstrapper<B: RingOps = Cpu> {
    params: BootstrapParams,
    /// Of programs.
    ev: Evaluator<B>,
    lower: Evaluator<B>,
    upper: Evaluator<B>,
    to_coefficients: Vec<PreparedTransform<B>>,
    to_slots: Vec<PreparedTransform<B>>,
    eval_mod: EvalMod,
    /// X^(N/2), which multiplies every slot by i.
    imaginary_unit: Poly<Eval, B>,
    /// What a refresh adds.
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
        let lower = Evaluator::new(params.lower(), &part(&whole, params.lower().rlwe())?)?;
        let upper = Evaluator::new(params.upper(), &whole)?;
        let eval_mod = eval_mod(params)?;
        let prepare = |ev: &Evaluator<B>, matrices: Vec<LinearTransform>| {
            let prepared = on_levels(ev.params(), &matrices).map(|(matrix, level)| matrix.prepare(ev, level));
            prepared.collect::<Result<_>>()
        };
        let to_coefficients = prepare(&lower, to_coefficients(params)?)?;
        let to_slots = prepare(&upper, to_slots(params, &eval_mod)?)?;
        // The highest level on which it multiplies is where the modular reduction starts.
        let highest = params.upper().levels()[params.spec().eval_mod.depth()].primes;
        let imaginary_unit = Poly::monomial(&whole, Span::chain(highest), ring.n() / 2)?;
        let (params, noise) = (params.clone(), added(params, &eval_mod));
        Ok(Self { params, ev, lower, upper, to_coefficients, to_slots, eval_mod, imaginary_unit, noise })
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams {
        &self.params
    }

    /// The memory that the encoded matrices take on the device, in bytes:
    /// [`BootstrapParams::matrix_bytes`].
    pub fn matrix_bytes(&self) -> u64 {
        self.to_coefficients.iter().chain(&self.to_slots).map(PreparedTransform::bytes).sum()
    }

    /// Of programs.
    pub(super) fn evaluator(&self) -> &Evaluator<B> {
        &self.ev
    }

    /// What a refresh adds to the noise of a ciphertext, at the scale of its result.
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
        let pair = self.times_i_of(in_ring(imaginary.pair, self.upper.ring())?)?;
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
        let ct = match values {
            Values::Complex | Values::Parts => self.coefficients_to_slots(&ct, keys)?,
            Values::Real => self.parts(&ct, keys)?.0,
        };
        observe(Stage::CoeffsToSlots, &ct)?;
        let ct = self.eval_mod.apply(&self.upper, &ct, &keys.upper)?;
        observe(Stage::EvalMod, &ct)?;
        let ct = match values {
            Values::Complex => self.join(&ct)?,
            Values::Real | Values::Parts => self.landed(ct)?,
        };
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
        if !pair.ring().same(self.ev.ring()) || !pair.ring().shares(keys.upper.ring()) {
            return Err(Error::RingMismatch);
        }
        common("bootstrapping keys", keys.upper.key_set(), pair.key_set).map(drop)
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
        let ct = self.coefficients_to_slots(&ct, keys)?;
        let ct = self.eval_mod.apply(&self.upper, &ct, &keys.upper)?;
        let ct = self.joined(&ct)?;
        let (params, slots) = (self.params.lower(), ct.slots());
        let level = params.max_level();
        let pair = in_ring(ct.pair, self.lower.ring())?;
        let ct = Ciphertext::from_parts(params, pair, level, params.levels()[level].scale, slots)?;
        in_ring(apply_all(&self.to_coefficients, &self.lower, &ct, &keys.lower)?.pair, self.ev.ring())
    }

    /// Values in the coefficients, on level 0.
    pub(super) fn slots_to_coefficients(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let level = self.params.input_level();
        let pair = in_ring(self.ev.mod_switch_to(ct, level)?.pair, self.lower.ring())?;
        let scale = self.params.lower().levels()[level].scale;
        let lowered = Ciphertext::from_parts(self.params.lower(), pair, level, scale, ct.slots())?;
        apply_all(&self.to_coefficients, &self.lower, &lowered, &keys.lower)
    }

    /// Modulo all primes: what was t modulo q_0 is t + q_0 I.
    pub(super) fn mod_raise(
        &self,
        pair: &RlweCiphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let ring = self.upper.ring();
        let sparse = in_ring(keys.to_sparse.switch(pair)?, ring)?;
        let top = Span::chain(ring.spec().q().len());
        let raised = moved(sparse, |c| c.into_coeff()?.extend(top)?.into_eval())?;
        let pair = keys.to_dense.switch(&raised)?;
        let (params, slots) = (self.params.upper(), self.params.slots());
        let level = params.max_level();
        let sum = |pair, steps: Vec<i64>| self.with_rotations(&pair, &steps, &keys.upper);
        let pair = trace(&self.params).into_iter().try_fold(pair, sum)?;
        Ciphertext::from_parts(params, pair, level, params.levels()[level].scale, slots)
    }

    /// A ciphertext over all primes and its rotations, added up: one decomposition, and one
    /// division of the sum.
    fn with_rotations(
        &self,
        pair: &RlweCiphertext<B>,
        steps: &[i64],
        keys: &EvaluationKeys<B>,
    ) -> Result<RlweCiphertext<B>> {
        let spec = self.upper.ring().spec();
        let keyed = |&step: &i64| -> Result<KeyedElement<'_, B>> {
            let g = galois_rotation(step, spec.log_n());
            Ok((g, Some(keys.galois(g).ok_or(Error::MissingGaloisKey { step })?)))
        };
        let rotations: Vec<_> =
            std::iter::once(Ok((1, None))).chain(steps.iter().map(keyed)).collect::<Result<_>>()?;
        let ones = vec![1; spec.q().len() + spec.p().len()];
        let terms = (0..rotations.len()).map(|i| (i, Weight::Scalar(ones.clone()))).collect();
        self.upper.ring().backend().batched(|| {
            let digits = Decomposed::new(self.params.upper().rlwe(), pair.parts()[1])?;
            let sum = pair.sum_of_rotations(&digits, &rotations, vec![((1, None), terms)])?;
            sum.mod_down(spec.q().len())
        })
    }

    /// Coefficients in the slots, over q_0 and the reach of the reduction: a batch of the first
    /// halves of the coefficients, then one of the second halves.
    pub(super) fn coefficients_to_slots(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let (real, imaginary) = self.parts(ct, keys)?;
        // i (conj(y) - y) = 2 Im(y).
        Ciphertext::concat(&[&real, &self.times_i(imaginary)?])
    }

    /// 2 Re(y) and conj(y) - y for what CoeffsToSlots makes of a ciphertext, y.
    fn parts(&self, ct: &Ciphertext<B>, keys: &BootstrapKeys<B>) -> Result<(Ciphertext<B>, Ciphertext<B>)> {
        let ev = &self.upper;
        let [real, imaginary] = match self.to_slots.split_last() {
            Some((last, first)) => {
                let y = apply_all(first, ev, ct, &keys.upper)?;
                last.apply_parts(ev, &y, &keys.upper)?
            }
            None => ev.parts(ct, &keys.upper)?,
        };
        Ok((real, imaginary))
    }

    /// re + i im from a batch of both, as a ciphertext of programs.
    pub(super) fn join(&self, halves: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.landed(self.joined(halves)?)
    }

    /// re + i im from a batch of both.
    fn joined(&self, halves: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let batch = halves.batch() / 2;
        let [real, imaginary] = [0..batch, batch..2 * batch].map(|part| halves.slice_batch(part));
        self.upper.add(&real?, &self.times_i(imaginary?)?)
    }

    /// What the modular reduction leaves, as a ciphertext of programs.
    fn landed(&self, ct: Ciphertext<B>) -> Result<Ciphertext<B>> {
        let (params, slots) = (self.params.params(), ct.slots());
        let level = params.max_level();
        let pair = in_ring(ct.pair, self.ev.ring())?;
        Ciphertext::from_parts(params, pair, level, params.levels()[level].scale, slots)
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

/// One matrix after the other.
fn apply_all<B: RingOps>(
    matrices: &[PreparedTransform<B>],
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    let Some((first, rest)) = matrices.split_first() else { return ct.duplicate() };
    rest.iter().try_fold(first.apply(ev, ct, keys)?, |ct, matrix| matrix.apply(ev, &ct, keys))
}

/// The rotations whose sums leave the polynomials of n slots, where there are fewer than N/2: the
/// trace, N / 2n times the projection. Each sum is of four, or of two at the end, which one
/// decomposition and one division serve.
fn trace(params: &BootstrapParams) -> Vec<Vec<i64>> {
    let (n, half) = (params.slots(), params.params().slots());
    let doubled = std::iter::successors(Some(n), |step| Some(2 * step)).take_while(|&step| step < half);
    let steps: Vec<i64> = doubled.map(|step| step as i64).collect();
    let sum = |steps: &[i64]| match *steps {
        [first, second] => vec![first, second, first + second],
        _ => steps.to_vec(),
    };
    steps.chunks(2).map(sum).collect()
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
        let bytes = |params: &CkksParams, matrices: &[LinearTransform]| -> Result<u64> {
            on_levels(params, matrices).map(|(matrix, level)| matrix.plaintext_bytes(params, level)).sum()
        };
        Ok(bytes(self.lower(), &first)? + bytes(self.upper(), &last)?)
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
    coefficients_to_slots(spec.log_slots, spec.coeffs_to_slots.levels, factor)
}

/// The evaluation keys over all primes.
pub(super) fn upper_requirements(params: &BootstrapParams) -> Result<KeyRequirements> {
    let eval_mod = eval_mod(params)?;
    let traces = KeyRequirements::new().rotations(trace(params).concat());
    let rotations = with_matrices(traces, &to_slots(params, &eval_mod)?);
    Ok(eval_mod.requirements().keys.union(&rotations).conjugation())
}

/// The evaluation keys of SlotsToCoeffs.
pub(super) fn lower_requirements(params: &BootstrapParams) -> Result<KeyRequirements> {
    Ok(with_matrices(KeyRequirements::new(), &to_coefficients(params)?))
}

/// These keys, and those of matrices.
fn with_matrices(keys: KeyRequirements, matrices: &[LinearTransform]) -> KeyRequirements {
    matrices.iter().fold(keys, |keys, matrix| keys.union(&matrix.requirements().keys))
}
