//! Decryptions whose results others will see: counted, and with their noise hidden.

use crate::note::Content;
use he_core::ckks::NoiseEstimate;
use he_core::rlwe::Flooding;
use he_core::{Error, Publisher, Result};
use rand::rngs::ChaCha20Rng;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// log2 of the factor by which the noise of images may exceed what the bounds of their numbers say:
/// for key switches and roundings.
const IMAGE_MARGIN_LOG2: f64 = 3.0;

/// log2 of the lookups that are allowed behind each integer of TFHE.
pub const LOOKUPS_LOG2: f64 = 24.0;

/// The decryptions of one or more files that others will see. It is shared by the engines of a
/// team.
pub struct Publication(Mutex<State>);

struct State {
    publisher: Publisher,
    rng: ChaCha20Rng,
    error_log2: Option<f64>,
}

/// Numbers as a file describes them, before the factors of their columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    /// log2 of six standard deviations of their errors.
    error_log2: f64,
    /// log2 of their greatest magnitude.
    value_log2: f64,
}

impl Numbers {
    /// Of a content whose fresh numbers have so many bits of precision.
    ///
    /// # Errors
    /// [`Error::NoiseUnknown`] for the outputs of models, whose noise is not described.
    pub(crate) fn of(content: &Content, fresh_precision_bits: f64) -> Result<Self> {
        let image = |low: f64, high: f64| Self {
            error_log2: (1.0 + low.abs() + high.abs()).log2() - fresh_precision_bits + IMAGE_MARGIN_LOG2,
            value_log2: low.abs().max(high.abs()).max(1.0).log2(),
        };
        match content {
            Content::Image(note) => Ok(image(note.low, note.high)),
            Content::Samples(note) => Ok(image(note.low as f64, note.high as f64)),
            Content::Table(note) => Ok(Self {
                error_log2: -note.columns.iter().map(|c| note.bits(c)).fold(f64::INFINITY, f64::min),
                value_log2: (note.largest() as f64).log2(),
            }),
            Content::Integers(_) | Content::Examples(_) => Err(Error::NoiseUnknown),
        }
    }

    /// The noise of a ciphertext of degree `n`, at least that of a fresh one: what a file says can
    /// widen a flood, and never narrows it below that.
    pub(crate) fn noise(self, n: usize, slots: usize, scale_log2: f64) -> NoiseEstimate {
        let (degree, coefficients) = (n as f64, 2.0 * slots as f64);
        let fresh = (10.5 * (1.0 + 4.0 * degree / 3.0)).log2() / 2.0;
        // A slot is the sum of as many coefficients, and its real part has half of the variance.
        let stated = self.error_log2 - 6f64.log2() + scale_log2 + (1.0 - coefficients.log2()) / 2.0;
        let rms_log2 = fresh.max(stated);
        let peak_log2 = rms_log2 + degree.log2() / 2.0 + 6f64.log2();
        NoiseEstimate { rms_log2, peak_log2, value_log2: self.value_log2 }
    }
}

impl Publication {
    /// Counts with a publisher, and draws floods from a generator.
    pub fn new(publisher: Publisher, rng: ChaCha20Rng) -> Self {
        Self(Mutex::new(State { publisher, rng, error_log2: None }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The decryptions so far.
    pub fn published(&self) -> u64 {
        let state = self.state();
        state.publisher.decryptions() - state.publisher.left()
    }

    /// log2 of six standard deviations of the greatest error that a flood has added to numbers,
    /// before the factors of their columns; none without a flood.
    pub fn error_log2(&self) -> Option<f64> {
        self.state().error_log2
    }

    /// Counts decryptions in a scheme that needs no flood.
    ///
    /// # Errors
    /// Those of `publish`.
    pub fn count<T>(&self, publish: impl FnOnce(&mut Publisher) -> Result<T>) -> Result<T> {
        publish(&mut self.state().publisher)
    }

    /// Decrypts with a flood: `bits(flooding)` is its width for this ciphertext of vectors of
    /// `slots` slots.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`] if the flood is as large as the numbers; those of `bits` and
    /// `publish`.
    pub(crate) fn flood<T>(
        &self,
        numbers: Numbers,
        (slots, scale_log2): (usize, f64),
        bits: impl FnOnce(Flooding) -> Result<u32>,
        publish: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> Result<T>,
    ) -> Result<T> {
        let state = &mut *self.state();
        let needed_bits = bits(state.publisher.flooding())?;
        // A uniform integer has variance 4^b / 3; a slot is the sum of 2 `slots` of them, and its
        // real part has half of the variance.
        let spread = 6f64.log2() + (slots as f64 / 3.0).log2() / 2.0 - scale_log2;
        let error_log2 = f64::from(needed_bits) + spread;
        if error_log2 > numbers.value_log2 {
            // The cast stops at 0.
            let available_bits = (numbers.value_log2 - spread).floor() as u32;
            return Err(Error::FloodTooWide { needed_bits, available_bits });
        }
        let published = publish(&mut state.publisher, &mut state.rng)?;
        state.error_log2 = Some(state.error_log2.map_or(error_log2, |known| known.max(error_log2)));
        Ok(published)
    }
}
