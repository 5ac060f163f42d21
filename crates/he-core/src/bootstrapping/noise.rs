//! The noise of a bootstrapped ciphertext, estimated from the parameters.
//!
//! All noises are root mean squares of the complex error of a slot, relative to a value of one. A
//! rounding leaves sqrt(N) times its root mean square over the coefficients, divided by the scale.
//! Each stage adds noise, and treats the noise that arrives, as follows:
//!
//! - *SlotsToCoeffs*, on either side of the others: one rounding per matrix, which the following
//!   stages of the transform treat as they treat the values, and the switch of its rotations, where
//!   they are divided one by one; the rounding of the matrix itself, relative to the values.
//! - *ModRaise*: both switches, relative to the scale of level 0, in coefficients.
//! - *CoeffsToSlots*: one rounding per matrix; every stage that follows averages two slots, and the
//!   trace adds up as many as few slots are copied. The rounding of the matrix is relative to the
//!   integers.
//! - *EvalMod*: what arrives goes through the sine, whose slope is one near integers, times the
//!   reach and q_0 over the scale of level 0. The cosine's roundings are multiplied by 4 y with
//!   each doubling of a value y, hence most near multiples of 2^(doublings - 1): the estimate has
//!   their mean over all integers, and the greatest for the bound.
//! - *Join*, where parts are reduced in one ciphertext: one rounding, and that of its weights.
//! - The polynomial's and the sine's own errors ([`EvalMod::error`]).

use super::facts::value_unit;
use super::overflow::log2_integer;
use super::stages::eval_mod;
use super::{BootstrapParams, EvalMod};
use crate::ckks::{CkksParams, NoiseEstimate};
use crate::error::Result;
use crate::ring::ERROR_VARIANCE;
use crate::rlwe::RlweParams;
use crate::rlwe::noise::{key_switch_log2, rounding_log2};

/// The number of deviations of a product of two random numbers that the greatest error of a slot is
/// assumed to have, as for all estimates ([`NoiseEstimate`]).
const PEAK: f64 = 16.0;

/// The assumed deviations of the greatest error for coefficients. The error of a rounding in a slot
/// is a product of two complex numbers, that of the rounding and that of the secret, and both parts
/// of it have the distribution of Laplace: beyond this many deviations with probability exp(-24
/// sqrt(2)) = 2^-49, as far as a normal one beyond [`TAIL`](crate::exact::TAIL).
const COEFFICIENT_PEAK: f64 = 24.0;

/// Integers that occur in fewer bootstraps than one of 2^this count as never, in the bound.
const RARE_LOG2: f64 = -20.0;

/// The error that the rounding of a matrix's entries leaves in its product, relative to the
/// product, for ciphertexts of a level: half of a unit for each coefficient of a diagonal, of which
/// there are about as many as the product's magnitude grows by, twice.
fn weights(params: &CkksParams, level: usize) -> f64 {
    rounded(params, level, params.rlwe().ring().n() as f64)
}

/// The error of the rounding of a matrix's entries for diagonals that have so many coefficients.
fn rounded(params: &CkksParams, level: usize, coefficients: f64) -> f64 {
    libm::sqrt(coefficients / 6.0) / params.multiplier_scale(level).unwrap_or(1.0)
}

/// The noise that a refresh adds to values of magnitude up to one in real and imaginary part, at
/// the scale of its result.
pub(super) fn added(params: &BootstrapParams, map: &EvalMod) -> NoiseEstimate {
    let errors = errors(params, map, RARE_LOG2);
    // The errors of both parts are one complex error.
    let rms = libm::sqrt(errors.before + 2.0 * errors.mean + 2.0 * errors.bias);
    let peak = PEAK * libm::sqrt(errors.before + 2.0 * errors.greatest * errors.greatest)
        + libm::sqrt(2.0) * errors.greatest_bias;
    let program = params.params();
    let scale = program.levels()[params.output_level()].scale;
    let n = program.rlwe().ring().n() as f64;
    NoiseEstimate {
        rms_log2: libm::log2(rms * scale / libm::sqrt(n)),
        peak_log2: libm::log2(peak * scale),
        value_log2: 0.5,
    }
}

/// The noise that a refresh adds to coefficients of magnitude up to one: root mean square, and
/// bound. Every integer up to the bound of the reduction counts, and so does the division to q_0 in
/// front.
pub(crate) fn added_to_coefficients(params: &BootstrapParams) -> Result<(f64, f64)> {
    let map = &eval_mod(params)?;
    let errors = errors(params, map, f64::NEG_INFINITY);
    let n = params.params().rlwe().ring().n() as f64;
    let division = libm::exp2(rounding_log2(n)) / params.params().levels()[0].scale;
    // Either part of a slot is a coefficient.
    let before = errors.before / 2.0 + division * division;
    let rms = libm::sqrt(before + errors.mean + errors.bias);
    let noise = libm::sqrt(before + errors.greatest * errors.greatest);
    let peak = COEFFICIENT_PEAK * noise + errors.greatest_bias;
    Ok((rms, peak))
}

/// The errors that the stages add, relative to values of one.
struct Errors {
    /// The square of what the maps and ModRaise add, as a complex error of a slot.
    before: f64,
    /// The square of the reduction's noise in one part: its mean over all integers.
    mean: f64,
    /// The reduction's noise in one part for the worst integer, not squared.
    greatest: f64,
    /// The same for the error of its approximation.
    bias: f64,
    greatest_bias: f64,
}

/// The noise that the maps and ModRaise add in front of the reduction to values of magnitude
/// `value`: the square of the complex error of a slot, relative to values of one.
pub(super) fn before(params: &BootstrapParams, map: &EvalMod, value: f64) -> f64 {
    let spec = params.spec();
    let (lower, upper, program) = (params.lower(), params.upper(), params.params());
    let n = program.rlwe().ring().n() as f64;
    let root = libm::sqrt(n);
    let round = libm::exp2(rounding_log2(n));
    let (q0, base) = (params.ring_spec().q()[0] as f64, program.levels()[0].scale);
    let log_slots = f64::from(spec.log_slots);

    let mut before = 0.0;
    let matrices = spec.slots_to_coeffs.len();
    for done in 1..=matrices {
        let level = matrices - done;
        let left = log_slots * (1.0 - done as f64 / matrices as f64);
        let switches = switching(lower.rlwe(), lower.levels()[level + 1].primes);
        let slot = root * (round + 8.0 * switches) / lower.levels()[level].scale;
        before += (value * weights(lower, level + 1)).powi(2);
        // The transform's 2^left grows in slots, and 2^log_slots are one value in coefficients.
        before += (slot * libm::exp2((left - log_slots) / 2.0)).powi(2);
    }
    // One digit below q_0, over the special primes.
    let special: f64 = params.ring_spec().p().iter().map(|&prime| prime as f64).product();
    let to_dense = libm::sqrt(n * ERROR_VARIANCE / 12.0) * q0 / special;
    before += 2.0 * ((round + switching(params.sparse(), 1)) / base).powi(2);
    before += 2.0 * ((round + to_dense) / base).powi(2);

    // In the slots of the reduction: multiples of the reach.
    let matrices = spec.coeffs_to_slots.levels;
    let arrival = spec.eval_mod.depth() + usize::from(spec.join.is_some());
    let part = libm::exp2(libm::log2(factor(params, map)) / matrices as f64);
    // Every stage halves sums of two: entries are smaller, and their roundings greater beside them,
    // by what SlotsToCoeffs grows and this shrinks by.
    let shrinking = libm::exp2(log_slots / matrices as f64) / part;
    // The trace in front of the last matrix adds up roundings of as many slots; each matrix makes
    // up for a part of what it multiplies values by.
    let copies = (params.params().slots() / params.slots()) as f64;
    for left in 0..matrices {
        let stages = log_slots * left as f64 / matrices as f64;
        let slot = root * round / upper.levels()[arrival + left].scale;
        let traced = if left == 0 { 0.0 } else { 0.5 - left as f64 / matrices as f64 };
        let through = libm::pow(part, left as f64) * libm::pow(copies, traced) * libm::exp2(-stages / 2.0);
        // Twice the real part, of which the last rounding comes after the sum.
        let twice = if left == 0 { 1.0 } else { 2.0 };
        before += (twice * slot * through * map.reach() * q0 / base).powi(2);
        // Relative to the integers, whose root mean square is that of h + 1 uniform numbers.
        let integers = libm::sqrt((spec.sparse_weight + 1) as f64 / 12.0);
        let weights = weights(upper, arrival + left + 1) * shrinking;
        before += (weights * integers * q0 / base).powi(2);
    }
    before
}

/// The error that one rounding leaves in a slot of the lowest levels of the reduction, counted from
/// the one that it leaves.
pub(super) fn reduction_rounding(params: &BootstrapParams, level: usize) -> f64 {
    let joined = usize::from(params.spec().join.is_some());
    slot_rounding(params.upper(), joined + level)
}

/// The error that the rounding of one weight of the join leaves, relative to what it multiplies.
fn join_weights(params: &BootstrapParams) -> f64 {
    rounded(params.upper(), 1, 4.0 * params.slots() as f64)
}

/// The error that the join leaves in numbers of this magnitude, relative to them: a rounding, and
/// that of the weight one; zero where parts are not joined.
pub(super) fn joined(params: &BootstrapParams, magnitude: f64) -> f64 {
    match params.spec().join {
        None => 0.0,
        Some(_) => libm::hypot(slot_rounding(params.upper(), 0) / magnitude, join_weights(params)),
    }
}

/// The error that one rounding leaves in a slot of a level, as the root mean square of its
/// magnitude.
pub(super) fn slot_rounding(params: &CkksParams, level: usize) -> f64 {
    let n = params.rlwe().ring().n() as f64;
    libm::sqrt(n) * libm::exp2(rounding_log2(n)) / params.levels()[level].scale
}

/// `rare_log2`: integers that occur in fewer bootstraps are not among the worst.
fn errors(params: &BootstrapParams, map: &EvalMod, rare_log2: f64) -> Errors {
    let (spec, upper) = (params.spec(), params.upper());
    let log_slots = f64::from(spec.log_slots);
    let mut before = before(params, map, 1.0);

    // The reduction's own roundings, by integer.
    let unit = value_unit(params, map);
    let rounding = |level: usize| reduction_rounding(params, level);
    if spec.join.is_some() {
        // The rounding after it, and that of its weights, one and i on half of the slots each.
        before += (slot_rounding(upper, 0) / unit).powi(2);
        before += 2.0 * join_weights(params).powi(2);
    }
    let bound = spec.eval_mod.bound;
    let summands = spec.sparse_weight as u32 + 1;
    let (mut mean, mut greatest, mut bias) = (0.0, 0.0, (0.0, 0.0));
    for i in 0..=bound {
        let probability = libm::exp2(log2_integer(summands, i));
        let inside = map.noise(i, rounding) / unit;
        let error = map.error(i) / unit;
        mean += probability * inside * inside;
        bias.0 += probability * error * error;
        if log2_integer(summands, i) + log_slots + 1.0 > rare_log2 {
            greatest = f64::max(greatest, inside);
            bias.1 = f64::max(bias.1, error);
        }
    }
    Errors { before, mean, greatest, bias: bias.0, greatest_bias: bias.1 }
}

/// The noise of a ciphertext of this scale after a refresh to `scale`, which adds `added`.
pub(super) fn refreshed(
    noise: NoiseEstimate,
    from: f64,
    (params, added): (&CkksParams, NoiseEstimate),
) -> NoiseEstimate {
    let scale = params.levels()[params.max_level()].scale;
    let kept = noise.shifted(libm::log2(scale / from));
    let value_log2 = noise.value_log2.min(added.value_log2);
    NoiseEstimate { value_log2, ..kept.plus(added) }
}

/// The product of all factors by which CoeffsToSlots multiplies slots.
fn factor(params: &BootstrapParams, map: &EvalMod) -> f64 {
    let upper = params.upper();
    let scale = upper.levels()[upper.max_level()].scale;
    scale / (2.0 * params.ring_spec().q()[0] as f64 * map.reach())
}

/// The noise of a key switch over the first `primes` primes, in coefficients.
fn switching(rlwe: &RlweParams, primes: usize) -> f64 {
    let ring = rlwe.ring();
    let log = |q: &u64| libm::log2(*q as f64);
    let mut log_q = vec![0.0];
    ring.q().iter().for_each(|q| log_q.push(log_q[log_q.len() - 1] + log(q)));
    let log_p = ring.p().iter().map(log).sum();
    libm::exp2(key_switch_log2(ring.n() as f64, &log_q, log_p, rlwe.digits(), primes))
}
