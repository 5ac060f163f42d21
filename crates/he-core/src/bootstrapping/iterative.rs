//! Bootstraps of what a bootstrap got wrong, for more precision.

use super::{BootstrapKeys, Bootstrapper};
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::{Error, Result};
use std::borrow::Borrow;

impl<B: RingOps> Bootstrapper<B> {
    /// The bits that each iteration of [`refresh_iterated`](Self::refresh_iterated) after the first
    /// adds to the precision: -log2 of the bound on the error of a [`refresh`](Self::refresh),
    /// rounded down.
    pub fn bits_per_iteration(&self) -> u32 {
        let params = self.params().params();
        let scale_log2 = libm::log2(params.levels()[params.max_level()].scale);
        (scale_log2 - self.added_noise().peak_log2).max(0.0) as u32
    }

    /// [`refresh`](Self::refresh) with the precision of several: the difference between the
    /// ciphertext and its refreshed values is an error of b =
    /// [`bits_per_iteration`](Self::bits_per_iteration) bits below one; multiplied by 2^b, it is
    /// bootstrapped itself, and added with the factor 2^-b. Every further iteration does the same
    /// with what is left.
    ///
    /// It takes `iterations` bootstraps, and the result is one level below
    /// [`output_level`](super::BootstrapParams::output_level), because factors of 2^-b are
    /// multiples of the inverse of a scale and need no further prime. The precision ends where the
    /// scale S of programs does: differences carry the rounding of a change of level, an error of
    /// about sqrt(N / 12) sqrt(2 N / 3) / S in a slot, and the noise of the ciphertext itself. A
    /// chain of which programs have levels of 50 bits thus reaches 36 bits in the mean at N = 2^16.
    ///
    /// Source: Bae, Cheon, Cho, Kim, Kim, *META-BTS: Bootstrapping Precision Beyond the Limit*, CCS
    /// 2022.
    ///
    /// # Errors
    /// [`Error::Argument`] for no iterations; [`Error::LevelExhausted`] if programs have one level
    /// alone; the same as for [`refresh`](Self::refresh), before any work.
    pub fn refresh_iterated(
        &self,
        ct: &Ciphertext<B>,
        keys: &BootstrapKeys<B>,
        iterations: usize,
    ) -> Result<Ciphertext<B>> {
        if iterations == 0 {
            return Err(Error::argument("iterations", "at least one is needed".to_owned()));
        }
        let (level, left) = (self.params().input_level(), self.params().output_level());
        if iterations > 1 && left < level + 1 {
            return Err(Error::LevelExhausted { needed: level + 1, left });
        }
        let ev = self.evaluator();
        let first = self.refresh(ct, keys)?;
        if iterations == 1 {
            return Ok(first);
        }
        let mut parts = vec![first];
        let input = ev.lowered_to(ct, level)?;
        let input: &Ciphertext<B> = input.borrow();
        for _ in 1..iterations {
            // The part that is found so far is right by definition: the rest is its difference from
            // the whole.
            parts.iter_mut().for_each(|part| part.set_noise(part.noise().map(exact)));
            let lowered = parts.iter().map(|part| ev.mod_switch_to(part, level + 1));
            let lowered = lowered.collect::<Result<Vec<_>>>()?;
            let rest = ev.sub(input, &ev.linear_combination(&self.weighted(&lowered))?)?;
            let factor = 1i64 << (self.bits_per_iteration() * parts.len() as u32).min(62);
            parts.push(self.refresh(&ev.mul_integer(&rest, factor)?, keys)?);
        }
        ev.linear_combination(&self.weighted(&parts))
    }

    /// Each iteration's result with its weight.
    fn weighted<'a>(&self, parts: &'a [Ciphertext<B>]) -> Vec<(&'a Ciphertext<B>, f64)> {
        let bits = self.bits_per_iteration();
        let weight = |i: u32| libm::exp2(-f64::from((bits * i).min(62)));
        parts.iter().zip((0..).map(weight)).collect()
    }
}

/// The same values, without an error.
fn exact(noise: NoiseEstimate) -> NoiseEstimate {
    NoiseEstimate { rms_log2: f64::NEG_INFINITY, peak_log2: f64::NEG_INFINITY, ..noise }
}
