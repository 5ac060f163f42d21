//! Words to slots, and coefficients to words.

use super::WordParams;
use super::phases::phases;
use super::role::Role;
use crate::ckks::SpecialFft;
use crate::error::{Error, Result};
use crate::key_set::KeySetId;
use crate::parallel::*;
use crate::reveal;
use crate::secret_words::SecretWords;
use num_complex::Complex64;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Encodes and decodes words under one key set. Slot j n + w of n words has the value of word w at
/// root j.
#[derive(Debug)]
pub(super) struct Codec {
    params: WordParams,
    phases: Vec<Complex64>,
    fft: SpecialFft,
}

impl Codec {
    pub(super) fn new(params: &WordParams, key_set: KeySetId) -> Self {
        let slots = params.ckks().slots();
        Self { params: params.clone(), phases: phases(key_set, slots), fft: SpecialFft::new(slots) }
    }

    pub(super) fn params(&self) -> &WordParams {
        &self.params
    }

    /// The slots of all words, ciphertext by ciphertext. Constant time.
    pub(super) fn slots<R: Role>(&self, words: &[u64]) -> SecretWords<Complex64> {
        let (digits, count) = (self.params.digits(), self.params.words_per_ciphertext());
        let slots = self.phases.len();
        let mut values = SecretWords::zeros(words.len().div_ceil(count) * slots);
        values.par_chunks_exact_mut(slots).zip(words.par_chunks(count)).for_each(|(values, words)| {
            let mut coefficients = SecretWords::zeros(digits.bits() * count);
            for (w, &word) in words.iter().enumerate() {
                let mut place = |(m, c): (usize, f64)| coefficients[m * count + w] = c;
                if R::DIVIDED {
                    digits.divided(word).enumerate().for_each(&mut place);
                } else {
                    digits.digits(word).enumerate().for_each(&mut place);
                }
            }
            digits.evaluate(&coefficients, values);
            values.iter_mut().zip(&self.phases).for_each(|(value, phase)| *value *= phase);
        });
        values
    }

    /// The words of centred coefficients at a scale, N per ciphertext. Constant time.
    ///
    /// # Errors
    /// [`Error::BadDigits`] if an eighth of the digits are a quarter and more away from integers.
    pub(super) fn words<R: Role>(
        &self,
        coefficients: &[u64],
        centred: impl Fn(u64) -> i64 + Sync,
        scale: f64,
    ) -> Result<SecretWords> {
        let (slots, count) = (self.phases.len(), self.params.words_per_ciphertext());
        let mut words = SecretWords::zeros(coefficients.len() / (2 * slots) * count);
        let bad = AtomicUsize::new(0);
        words.par_chunks_exact_mut(count).zip(coefficients.par_chunks_exact(2 * slots)).for_each(
            |(words, coefficients)| {
                let number = |c: u64| centred(c) as f64 / scale;
                let (low, high) = coefficients.split_at(slots);
                let pairs = low.iter().zip(high).map(|(&re, &im)| Complex64::new(number(re), number(im)));
                let mut values = SecretWords::from(pairs.collect::<Vec<_>>());
                self.fft.forward(&mut values);
                let turned = values
                    .iter()
                    .zip(&self.phases)
                    .map(|(value, phase)| (0..R::PHASES).fold(*value, |value, _| value * phase.conj()));
                let (re, im): (Vec<f64>, Vec<f64>) = turned.map(|value| (value.re, value.im)).unzip();
                let [re, im] = [re, im].map(SecretWords::from);
                let found = self.params.digits().words([&re, &im], R::DIVIDED, words);
                bad.fetch_add(found, Ordering::Relaxed);
            },
        );
        let (bad, count) = (bad.into_inner(), words.len() * self.params.digits().bits());
        if reveal::bit(bad > count / 8) {
            return Err(Error::BadDigits { bad: reveal::word(bad as u64) as usize, count });
        }
        Ok(words)
    }
}
