//! Tables, prepared for the parameters under which they are looked up.

use super::super::BootstrapParams;
use super::super::params::Order;
use super::super::stages::eval_mod;
use super::exponential::Exponential;
use super::interpolation::{coefficients, distance, values};
use super::noise::{LookupNoise, deviation};
use crate::circuits::Requirements;
use crate::circuits::ckks::ComplexPolynomials;
use crate::ckks::NoiseEstimate;
use crate::error::{Error, Result};
use crate::rlwe::KeyRequirements;

/// Tables of the same number p of entries, which are looked up together.
///
/// A result fails if it is further than the [tolerance](Self::tolerance) from the entry. The
/// probability is predicted from the noise of messages ([`failure_log2`](Self::failure_log2)), and
/// a look-up with one above 2^-40 for a ciphertext is refused.
#[derive(Clone, Debug)]
pub struct LookupTables {
    params: BootstrapParams,
    entries: Vec<Vec<f64>>,
    /// The multiple of a message whose coefficient is q_0 / p.
    factor: i64,
    tolerance: f64,
    pub(super) exponential: Exponential,
    pub(super) interpolation: ComplexPolynomials,
    noise: LookupNoise,
}

impl LookupTables {
    /// log2 of the greatest probability of failure with which tables are looked up.
    pub const FAILURE_LIMIT_LOG2: f64 = -40.0;

    /// Prepares tables for messages 0 ... p - 1, where p is a power of two. Entries are any real
    /// numbers that the level of the result holds. The tolerance is half of the least distance of
    /// two different entries of one table: the nearest entry is then the right one.
    ///
    /// # Errors
    /// [`Error::Argument`] without tables, for tables of different lengths, of a length that is not
    /// a power of two from 2 to q_0 over the scale of level 0 (1024 in all presets), for entries
    /// that are not finite, and for parameters that refresh integers.
    pub fn new(params: &BootstrapParams, tables: &[&[f64]]) -> Result<Self> {
        let gaps = tables.iter().map(|table| least_gap(table));
        let tolerance = gaps.fold(f64::INFINITY, f64::min) / 2.0;
        Self::with_tolerance(params, tables, tolerance)
    }

    /// The same for results that may err by `tolerance`, a positive number.
    ///
    /// # Errors
    /// [`Error::Argument`] for another tolerance; the same as for [`new`](Self::new).
    pub fn with_tolerance(params: &BootstrapParams, tables: &[&[f64]], tolerance: f64) -> Result<Self> {
        if params.order() != Order::SlotsFirst {
            let hint = "tables are looked up under parameters of CKKS";
            return Err(Error::domain("parameters of bootstrapping", "they refresh integers", hint));
        }
        if tolerance.is_nan() || tolerance <= 0.0 {
            return Err(Error::domain("tolerance", format!("{tolerance}"), "it must be positive"));
        }
        let map = eval_mod(params)?;
        let base = params.params().levels()[0].scale;
        let ratio = params.ring_spec().q()[0] as f64 / base;
        let p = check_tables(tables, ratio)?;
        let depth = params.spec().eval_mod.depth();
        let amplitude = params.output_scale() / params.upper().levels()[0].scale;
        let exponential = Exponential::new(depth, map.reach(), amplitude);
        let entries: Vec<Vec<f64>> = tables.iter().map(|table| table.to_vec()).collect();
        let all: Vec<_> = tables.iter().map(|table| coefficients(table)).collect();
        let interpolation = ComplexPolynomials::power(&all);
        // The ratio is a power of two but for the distance of q_0 from one.
        let factor = (ratio / p as f64 + 0.5) as i64;
        let stated = (entries.as_slice(), factor, tolerance);
        let noise = LookupNoise::new(params, &map, &exponential, &interpolation, stated);
        Ok(Self { params: params.clone(), entries, factor, tolerance, exponential, interpolation, noise })
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams {
        &self.params
    }

    /// p, the entries of each table.
    pub fn entries(&self) -> usize {
        self.entries[0].len()
    }

    /// The number of tables.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The error beyond which a result counts as failed.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// log2(p) levels below [`output_level`](BootstrapParams::output_level), with the
    /// relinearisation and the conjugation key of programs, beside the keys of bootstrapping.
    pub fn requirements(&self) -> Requirements {
        let keys = KeyRequirements::new().relinearisation().conjugation();
        Requirements { depth: self.interpolation.depth(), keys }
    }

    /// The level of results.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if programs have fewer levels than tables of so many entries take.
    pub fn output_level(&self) -> Result<usize> {
        let (needed, left) = (self.interpolation.depth(), self.params.output_level());
        left.checked_sub(needed).ok_or(Error::LevelExhausted { needed, left })
    }

    /// The relinearisations of one look-up: those of the exponential and those of the
    /// interpolation.
    pub fn relinearisations(&self) -> usize {
        self.exponential.relinearisations() + self.interpolation.relinearisations()
    }

    /// log2 of the probability that any result for the 2 n messages of a ciphertext of n slots is
    /// further than the [tolerance](Self::tolerance) from its entry, if the error of messages has
    /// this deviation, in units of one message. The error is taken as distributed like Laplace's,
    /// as products of noise and secret are; what the refresh adds is included, as is a number
    /// beyond the reach of the exponential.
    pub fn failure_log2(&self, deviation: f64) -> f64 {
        self.noise.failure_log2(deviation)
    }

    /// The results for a message m, which need not be an integer, in float64.
    pub fn apply_plain(&self, m: f64) -> Vec<f64> {
        values(&self.interpolation, m, self.entries())
    }

    pub(super) fn factor(&self) -> i64 {
        self.factor
    }

    /// Refuses messages of this noise if they fail too often; messages of an unknown noise are
    /// taken as exact.
    pub(super) fn check_noise(&self, noise: Option<NoiseEstimate>, scale: f64) -> Result<()> {
        let found_log2 = self.failure_log2(self.deviation(noise, scale));
        let limit_log2 = Self::FAILURE_LIMIT_LOG2;
        if found_log2 > limit_log2 {
            return Err(Error::LookupFailure { found_log2, limit_log2 });
        }
        Ok(())
    }

    /// The estimate for the result of a table.
    pub(in crate::bootstrapping) fn result_noise(
        &self,
        index: usize,
        noise: NoiseEstimate,
        scale: f64,
    ) -> NoiseEstimate {
        let (n, to) = (self.degree(), self.params.output_scale());
        let error = |error| distance(&self.entries[index], error);
        self.noise.result(index, self.deviation(Some(noise), scale), (to, n), error)
    }

    fn deviation(&self, noise: Option<NoiseEstimate>, scale: f64) -> f64 {
        noise.map_or(0.0, |noise| deviation(noise, scale, self.degree()))
    }

    fn degree(&self) -> f64 {
        self.params.ring_spec().n() as f64
    }
}

/// The number of entries of each table.
fn check_tables(tables: &[&[f64]], ratio: f64) -> Result<usize> {
    let fault = |why: String, hint: String| Err(Error::domain("tables", why, hint));
    let Some(p) = tables.first().map(|table| table.len()) else {
        return fault("there is none".to_owned(), "give one at least".to_owned());
    };
    let most = ratio + 0.5;
    if !p.is_power_of_two() || p < 2 || p as f64 > most {
        let hint = format!("a power of two from 2 to {most:.0} is possible: fill tables up");
        return fault(format!("{p} entries"), hint);
    }
    if let Some(other) = tables.iter().map(|table| table.len()).find(|&length| length != p) {
        return fault(format!("{p} and {other} entries"), "tables of one length share a look-up".to_owned());
    }
    if let Some(at) = tables.iter().flat_map(|table| table.iter()).position(|y| !y.is_finite()) {
        return fault(format!("entry {at} is not a finite number"), "entries are real numbers".to_owned());
    }
    Ok(p)
}

/// The least distance of two different entries, or infinity if they are all the same.
fn least_gap(table: &[f64]) -> f64 {
    let mut sorted = table.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0).fold(f64::INFINITY, f64::min)
}
