//! The stages of the circuit as parameters determine them: the modular reduction, the matrices, the
//! images around them, and the keys that these take.

use super::params::Order;
use super::transform::{coefficients_to_parts, joining};
use super::{BootstrapParams, EvalMod, coefficients_to_slots, slots_to_coefficients};
use crate::circuits::ckks::LinearTransform;
use crate::ckks::CkksParams;
use crate::error::Result;
use crate::ring::{galois_conjugation, galois_rotation};
use crate::rlwe::KeyRequirements;
use num_complex::Complex64;

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
    /// The memory that the encoded matrices of a [`Bootstrapper`](super::Bootstrapper) take on a
    /// device, in bytes. It does not include the [keys](Self::key_bytes).
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
pub(super) fn on_levels<'a>(
    params: &CkksParams,
    matrices: &'a [LinearTransform],
) -> impl Iterator<Item = (&'a LinearTransform, usize)> + use<'a> {
    matrices.iter().zip((0..=params.max_level()).rev())
}

pub(super) fn to_coefficients(params: &BootstrapParams) -> Result<Vec<LinearTransform>> {
    let spec = params.spec();
    slots_to_coefficients(spec.log_slots, spec.slots_to_coeffs.len(), 1.0)
}

pub(super) fn to_slots(params: &BootstrapParams, eval_mod: &EvalMod) -> Result<Vec<LinearTransform>> {
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
pub(super) fn joins(params: &BootstrapParams) -> Result<Option<[LinearTransform; 3]>> {
    let Some(_) = params.spec().join else { return Ok(None) };
    let (zero, one, i) = (Complex64::ZERO, Complex64::ONE, Complex64::I);
    let joining = |weights| joining(params.spec().log_slots, weights);
    Ok(Some([joining([one, i])?, joining([one, zero])?, joining([zero, one])?]))
}

/// The images that are added up around the last matrix of CoeffsToSlots: those of the trace, which
/// leave polynomials of n slots, N / 2n times the projection, where there are fewer than N/2, and
/// that of the conjugation, which takes parts apart. Each list has all products of a few Galois
/// elements, and is one sum, which one decomposition and one division serve.
pub(super) struct Images {
    pub(super) before: Vec<Vec<u64>>,
    pub(super) behind: Vec<u64>,
}

impl Images {
    pub(super) fn new(params: &BootstrapParams) -> Self {
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
