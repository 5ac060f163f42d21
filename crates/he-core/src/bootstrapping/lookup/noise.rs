//! The noise of look-ups, and how often they fail.
//!
//! Noises of messages are deviations of a real number in units of one message. Three things are
//! counted:
//!
//! - the noise of the message itself, of the maps in front of the exponential and of the
//!   exponential: it is cleaned, and what is left of it is the distance of the interpolation from
//!   the entry;
//! - the error of the exponential, and of the join behind it, across the circle, where the
//!   interpolation is not flat: its slope at the entry times this error;
//! - the roundings of the interpolation.

use super::super::noise::{before, joined, reduction_rounding, slot_rounding};
use super::super::overflow::log2_tail;
use super::super::{BootstrapParams, EvalMod};
use super::exponential::Exponential;
use super::interpolation::{circle, distance};
use crate::circuits::ckks::ComplexPolynomials;
use crate::ckks::NoiseEstimate;
use crate::rlwe::noise::log_add;
use std::f64::consts::{LOG2_E, SQRT_2, TAU};

/// The deviations of the greatest error, as for all estimates ([`NoiseEstimate`]).
const PEAK: f64 = 16.0;
/// The deviations of a result's own noise that are taken from the tolerance: beyond them lies a
/// number of Laplace's distribution with probability 2^-81.
const MARGIN: f64 = 40.0;
/// The growth of the distances at which the error of the interpolation is looked for.
const STEP: f64 = 1.1;

/// The noise that look-ups add and the one that they allow.
#[derive(Clone, Debug)]
pub(super) struct LookupNoise {
    /// The deviation of a message that the refresh adds before the interpolation.
    arriving: f64,
    /// log2 of the probability that one of the numbers of a ciphertext leaves the range of the
    /// exponential.
    overflow_log2: f64,
    /// log2 of the messages of a ciphertext.
    messages_log2: f64,
    tables: Vec<TableNoise>,
}

/// The noise of one table.
#[derive(Clone, Copy, Debug)]
struct TableNoise {
    /// The deviation of a result for an exact message, in the mean over all entries.
    mean: f64,
    /// The same for the worst entry.
    greatest: f64,
    /// The greatest error of a message for which the result is within the tolerance.
    reach: f64,
    /// log2 of the greatest entry.
    value_log2: f64,
}

impl LookupNoise {
    pub(super) fn new(
        params: &BootstrapParams,
        map: &EvalMod,
        exponential: &Exponential,
        interpolation: &ComplexPolynomials,
        (entries, factor, tolerance): (&[Vec<f64>], i64, f64),
    ) -> Self {
        let spec = params.spec();
        let p = entries.first().map_or(1, Vec::len);
        let ratio = params.ring_spec().q()[0] as f64 / params.params().levels()[0].scale;
        let unit = ratio / p as f64;
        // A complex error of values, of which a message has a part.
        let maps = libm::sqrt(0.5 * before(params, map, ratio)) / unit;
        let bias = (p - 1) as f64 * (factor as f64 / unit - 1.0).abs();
        let on_circle = exponential.noise(|level| reduction_rounding(params, level));
        let circle = libm::hypot(on_circle, joined(params, exponential.amplitude()));
        let across = circle / SQRT_2;
        let along = across * p as f64 / TAU;
        let summands = spec.sparse_weight as u32 + 1;
        let messages_log2 = f64::from(spec.log_slots) + 1.0;
        let overflow_log2 = messages_log2 + 1.0 + log2_tail(summands, (2.0 * map.reach()) as u32);
        let rounding = slot_rounding(params.params(), params.output_level());
        let noises = deviations(interpolation, p, across, rounding);
        let table = |(index, table): (usize, &Vec<f64>)| {
            let (mean, greatest) = noises[index];
            let allowed = tolerance - MARGIN * greatest;
            let reach = reach(|error| distance(table, error), allowed);
            let greatest_entry = table.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
            TableNoise { mean, greatest, reach, value_log2: libm::log2(greatest_entry) }
        };
        let tables = entries.iter().enumerate().map(table).collect();
        Self { arriving: libm::hypot(maps, along) + bias, overflow_log2, messages_log2, tables }
    }

    /// log2 of the probability that any result for the messages of one ciphertext is beyond the
    /// tolerance, if messages have this deviation.
    pub(super) fn failure_log2(&self, deviation: f64) -> f64 {
        let deviation = libm::hypot(deviation, self.arriving);
        let beyond = |table: &TableNoise| libm::exp2(-SQRT_2 * LOG2_E * table.reach / deviation);
        let failing: f64 = self.tables.iter().map(beyond).sum();
        log_add(libm::log2(failing) + self.messages_log2, self.overflow_log2).min(0.0)
    }

    /// The noise of a table's result at a scale, for messages of this deviation; `error` is the
    /// interpolation's for an error of the message.
    pub(super) fn result(
        &self,
        index: usize,
        deviation: f64,
        (scale, n): (f64, f64),
        error: impl Fn(f64) -> f64,
    ) -> NoiseEstimate {
        let (table, deviation) = (&self.tables[index], libm::hypot(deviation, self.arriving));
        let rms = libm::hypot(table.mean, error(deviation));
        let peak = PEAK * table.greatest + error(PEAK * deviation);
        NoiseEstimate {
            rms_log2: libm::log2(SQRT_2 * rms * scale / libm::sqrt(n)),
            peak_log2: libm::log2(peak * scale),
            value_log2: table.value_log2,
        }
    }
}

/// The deviation of a message in a ciphertext of this scale.
pub(super) fn deviation(noise: NoiseEstimate, scale: f64, n: f64) -> f64 {
    libm::exp2(noise.rms_log2) * libm::sqrt(n) / (SQRT_2 * scale)
}

/// The greatest error of a message up to which `distance` is below `allowed`.
fn reach(distance: impl Fn(f64) -> f64, allowed: f64) -> f64 {
    let errors = std::iter::successors(Some(1.0 / 4096.0), |error| Some(error * STEP));
    let within = errors.take_while(|&error| error < 0.5 && distance(error) < allowed);
    within.last().unwrap_or(0.0)
}

/// The deviation of the results of each table in the mean over all entries, and for the worst one:
/// both halves of a number and its conjugate err alike.
fn deviations(interpolation: &ComplexPolynomials, p: usize, across: f64, rounding: f64) -> Vec<(f64, f64)> {
    let points = (0..p).map(|m| circle(m as f64 / p as f64));
    let squares: Vec<Vec<f64>> = points
        .map(|z| {
            let of = interpolation.sensitivities(z).into_iter();
            of.map(|s| 4.0 * (s.slope * across).powi(2) + 2.0 * (s.roundings * rounding).powi(2)).collect()
        })
        .collect();
    let tables = squares.first().map_or(0, Vec::len);
    let of = |index: usize| {
        let all = squares.iter().map(|squares| squares[index]);
        let mean = all.clone().sum::<f64>() / p as f64;
        (libm::sqrt(mean), libm::sqrt(all.fold(0.0, f64::max)))
    };
    (0..tables).map(of).collect()
}
