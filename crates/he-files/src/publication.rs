//! Decryptions whose results others will see: counted, and with their noise hidden.

use crate::note::Content;
use he_core::ckks::NoiseEstimate;
use he_core::rlwe::Flooding;
use he_core::{Error, Publisher, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// log2 of the factor by which the noise of images may exceed what the bounds of their numbers say:
/// for key switches and roundings.
const IMAGE_MARGIN_LOG2: f64 = 3.0;

/// log2 of the lookups that are allowed behind each integer of TFHE.
pub const LOOKUPS_LOG2: f64 = 24.0;

/// The decryptions of one or more files that others will see. It is shared by the engines of a
/// team, which decrypt at the same time: only counting is one after another.
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
    /// Describes the numbers of a content whose fresh numbers have so many bits of precision.
    ///
    /// # Errors
    /// [`Error::NoiseUnknown`] for the outputs of models and for digits, whose noise is not
    /// described.
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
            Content::Integers(_) | Content::Digits(_) | Content::Examples(_) | Content::Search(_) => {
                Err(Error::NoiseUnknown)
            }
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

    /// Counts `count` decryptions in a scheme that needs no flood. `publish` gets a publisher that
    /// has as many left; what it leaves is not counted.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`]; those of `publish`.
    pub fn count<T>(&self, count: usize, publish: impl FnOnce(&mut Publisher) -> Result<T>) -> Result<T> {
        let mut part = self.state().publisher.split(count as u64)?;
        let published = publish(&mut part);
        self.state().publisher.rejoin(part)?;
        published
    }

    /// Counts `count` decryptions whose floods show in no result. `publish` gets a publisher that
    /// has as many left, and a generator of its own.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`]; those of `publish`.
    pub(crate) fn draw<T>(
        &self,
        count: usize,
        publish: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> Result<T>,
    ) -> Result<T> {
        let (mut part, mut rng) = {
            let state = &mut *self.state();
            (state.publisher.split(count as u64)?, ChaCha20Rng::from_rng(&mut state.rng))
        };
        let published = publish(&mut part, &mut rng);
        self.state().publisher.rejoin(part)?;
        published
    }

    /// Decrypts `count` vectors of `slots` slots with a flood, and counts them: `bits(flooding)` is
    /// its width for this ciphertext. `publish` gets a publisher that has as many left, and a
    /// generator of its own.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`] if the flood is as large as the numbers, which is not counted;
    /// [`Error::DecryptionsSpent`]; those of `bits` and `publish`.
    pub(crate) fn flood<T>(
        &self,
        numbers: Numbers,
        (count, slots, scale_log2): (usize, usize, f64),
        bits: impl FnOnce(Flooding) -> Result<u32>,
        publish: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> Result<T>,
    ) -> Result<T> {
        let flooding = self.state().publisher.flooding();
        // A uniform integer has variance 4^b / 3; a slot is the sum of 2 `slots` of them, and its
        // real part has half of the variance.
        let spread = 6f64.log2() + (slots as f64 / 3.0).log2() / 2.0 - scale_log2;
        // The cast stops at 0.
        let visible_bits = (numbers.value_log2 - spread).floor() as u32;
        let needed_bits = bits(flooding).map_err(|error| match error {
            Error::FloodTooWide { needed_bits, available_bits } => {
                Error::FloodTooWide { needed_bits, available_bits: available_bits.min(visible_bits) }
            }
            error => error,
        })?;
        let error_log2 = f64::from(needed_bits) + spread;
        if error_log2 > numbers.value_log2 {
            return Err(Error::FloodTooWide { needed_bits, available_bits: visible_bits });
        }
        let published = self.draw(count, publish)?;
        let state = &mut *self.state();
        state.error_log2 = Some(state.error_log2.map_or(error_log2, |known| known.max(error_log2)));
        Ok(published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    const NUMBERS: Numbers = Numbers { error_log2: -20.0, value_log2: 0.0 };
    const SHAPE: (usize, usize, f64) = (3, 4, 40.0);

    fn publication(decryptions: u64) -> Publication {
        Publication::new(Publisher::new(40, decryptions).unwrap(), ChaCha20Rng::seed_from_u64(1))
    }

    /// Counts a decryption, as the library does: the part is not brought back.
    fn take(publisher: &mut Publisher, count: u64) {
        publisher.split(count).unwrap();
    }

    /// Says that it is decrypting, and waits until the other one is, too.
    fn meet((here, there): &(Sender<()>, Receiver<()>)) {
        here.send(()).unwrap();
        there.recv_timeout(Duration::from_secs(60)).expect("nobody else decrypts meanwhile");
    }

    #[test]
    fn two_decrypt_at_the_same_time() {
        let publication = publication(100);
        for floods in [true, false] {
            let (to_first, first) = channel();
            let (to_second, second) = channel();
            let seeds = std::thread::scope(|scope| {
                let threads = [(to_second, first), (to_first, second)].map(|ends| {
                    let publication = &publication;
                    scope.spawn(move || match floods {
                        true => publication.flood(
                            NUMBERS,
                            SHAPE,
                            |_| Ok(10),
                            |publisher, rng| {
                                meet(&ends);
                                take(publisher, 3);
                                Ok(rng.next_u64())
                            },
                        ),
                        false => publication.count(3, |publisher| {
                            meet(&ends);
                            take(publisher, 3);
                            Ok(0)
                        }),
                    })
                });
                threads.map(|thread| thread.join().unwrap().unwrap())
            });
            assert!(!floods || seeds[0] != seeds[1], "two floods of one generator");
        }
        assert_eq!(publication.published(), 12);
    }

    /// Many threads, some of which fail before the key is used and some after: each entry that was
    /// decrypted is counted once, and no more are decrypted than are allowed.
    #[test]
    fn every_entry_counts_once() {
        let publication = publication(150);
        let refused = Error::NoiseUnknown;
        let counted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8u64)
                .map(|thread| {
                    let (publication, refused) = (&publication, &refused);
                    scope.spawn(move || {
                        let mut counted = 0;
                        for round in 0..30 {
                            let result = publication.flood(
                                NUMBERS,
                                SHAPE,
                                |_| Ok(10),
                                |publisher, _| {
                                    assert_eq!(publisher.left(), 3);
                                    let fails = (thread + round) % 3;
                                    if fails == 1 {
                                        return Err(Error::NoiseUnknown);
                                    }
                                    take(publisher, 3);
                                    counted += 3;
                                    if fails == 2 { Err(Error::NoiseUnknown) } else { Ok(()) }
                                },
                            );
                            let spent =
                                matches!(result, Err(Error::DecryptionsSpent { asked: 3, of: 150, .. }));
                            let failed = result.as_ref().is_err_and(|e| e.to_string() == refused.to_string());
                            assert!(result.is_ok() || spent || failed, "{result:?}");
                        }
                        counted
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
        });
        assert_eq!(publication.published(), counted);
        assert!((100..=150).contains(&counted), "{counted}");
        assert!(publication.error_log2().is_some());
    }

    /// A flood that does not fit, or hides the numbers, is refused without being counted, and with
    /// the bits that would leave something.
    #[test]
    fn wide_floods_are_not_counted() {
        let publication = publication(10);
        // 2^40 less six deviations of a slot of four.
        let visible = (40.0 - 6f64.log2() - (4f64 / 3.0).log2() / 2.0).floor() as u32;
        for (bits, available) in [
            (Ok(visible + 1), visible),
            (Err(Error::FloodTooWide { needed_bits: 90, available_bits: 80 }), visible),
            (Err(Error::FloodTooWide { needed_bits: 90, available_bits: 7 }), 7),
        ] {
            let result =
                publication.flood(NUMBERS, SHAPE, |_| bits, |_, _| -> Result<()> { panic!("shown") });
            match result {
                Err(Error::FloodTooWide { available_bits, .. }) => assert_eq!(available_bits, available),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((publication.published(), publication.error_log2()), (0, None));
        let published = publication.flood(
            NUMBERS,
            SHAPE,
            |_| Ok(visible),
            |publisher, _| {
                take(publisher, 3);
                Ok(publisher.left())
            },
        );
        assert_eq!((published.unwrap(), publication.published()), (0, 3));
    }
}
