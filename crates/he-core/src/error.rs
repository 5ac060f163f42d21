//! The error type of the crate, with the values of both sides and a remedy.

use crate::key_set::KeySetId;
use crate::ring::Span;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of `he-core`. Messages never depend on secret values or noise, except those of
/// decryptions that were requested to check their results ([`NoiseBudget`](Self::NoiseBudget),
/// [`NotDecrypted`](Self::NotDecrypted), [`BadDigits`](Self::BadDigits)): these are for the holder
/// of the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands live in different rings or on different devices.
    #[error("operands belong to different rings; {}", hints::RING_MISMATCH)]
    RingMismatch,
    /// Two polynomials hold different sets of primes.
    #[error("operands hold different primes ({left} and {right}); {}", hints::SPAN_MISMATCH)]
    SpanMismatch {
        /// The primes of the left operand.
        left: Span,
        /// The primes of the right operand.
        right: Span,
    },
    /// Two operands hold different numbers of batch entries and neither holds one.
    #[error("operands hold batches of {left} and {right}; {}", hints::BATCH_MISMATCH)]
    BatchMismatch {
        /// The batch of the left operand.
        left: usize,
        /// The batch of the right operand.
        right: usize,
    },
    /// An empty batch, or a range outside the batch.
    #[error("batch entries {start}..{end} do not exist in a batch of {batch}")]
    BatchRange {
        /// The first requested entry.
        start: usize,
        /// One past the last requested entry.
        end: usize,
        /// The number of entries.
        batch: usize,
    },
    /// An operation needs more levels than the ciphertext has left.
    #[error(
        "the operation needs {needed} level(s) and the ciphertext has {left} left; {}",
        hints::LEVEL_EXHAUSTED
    )]
    LevelExhausted {
        /// The levels that the operation consumes.
        needed: usize,
        /// The levels that are left.
        left: usize,
    },
    /// A level that these parameters do not have, or that lies above the operand's.
    #[error("level {found} is above the highest possible here, {highest}")]
    LevelTooHigh {
        /// The requested level.
        found: usize,
        /// The highest level possible.
        highest: usize,
    },
    /// A manual operation on operands of different scales.
    #[error("scales differ (2^{left_log2:.0$} and 2^{right_log2:.0$}); {1}",
        places(*left_log2, *right_log2), hints::SCALE_MISMATCH)]
    ScaleMismatch {
        /// log2 of the left scale.
        left_log2: f64,
        /// log2 of the right scale.
        right_log2: f64,
    },
    /// A scale that is not finite, below one or beyond the modulus.
    #[error(
        "a scale of 2^{found_log2:.2} does not fit a modulus of 2^{limit_log2:.2}; {}",
        hints::SCALE_RANGE
    )]
    ScaleRange {
        /// log2 of the scale.
        found_log2: f64,
        /// log2 of the modulus at this level.
        limit_log2: f64,
    },
    /// value x scale does not fit the modulus at this level.
    #[error(
        "value {index} times the scale needs {needed_bits} bits and level {level} holds {available_bits}; {}",
        hints::VALUE_TOO_LARGE
    )]
    ValueTooLarge {
        /// The index of the value (of the coefficient after the transform).
        index: usize,
        /// The bits that value x scale needs, including the sign.
        needed_bits: u32,
        /// The bits of the modulus.
        available_bits: u32,
        /// The level of the encoding.
        level: usize,
    },
    /// An operation divides or needs more bits of the modulus than the ciphertext has left.
    #[error(
        "the operation needs {needed} bits of modulus and the ciphertext has {left} left; {}",
        hints::MODULUS_EXHAUSTED
    )]
    ModulusExhausted {
        /// The bits that are needed.
        needed: u32,
        /// The bits that are left.
        left: u32,
    },
    /// Two operands live modulo different powers of two.
    #[error("operands are modulo 2^{left} and 2^{right}; {}", hints::MODULUS_MISMATCH)]
    ModulusMismatch {
        /// log2 of the left operand's modulus.
        left: u32,
        /// log2 of the right operand's modulus.
        right: u32,
    },
    /// value x scale does not fit the modulus 2^available_bits.
    #[error(
        "coefficient {index} times the scale needs {needed_bits} bits and the modulus has {available_bits}; {}",
        hints::COEFFICIENT_TOO_LARGE
    )]
    CoefficientTooLarge {
        /// The index of the coefficient after the transform.
        index: usize,
        /// The bits that it needs, including the sign.
        needed_bits: u32,
        /// The bits of the modulus.
        available_bits: u32,
    },
    /// A NaN or an infinity.
    #[error("value {index} is not a finite number")]
    NotFinite {
        /// The index of the value.
        index: usize,
    },
    /// A number of slots that is not a power of two or is beyond N/2.
    #[error("{found} slots requested; {}", hints::slot_count(capacity))]
    SlotCount {
        /// The requested slots.
        found: usize,
        /// The slots of the ring.
        capacity: usize,
    },
    /// More values than slots.
    #[error("{found} values for {capacity} slots; {}", hints::TOO_MANY_VALUES)]
    TooManyValues {
        /// The number of values.
        found: usize,
        /// The available slots.
        capacity: usize,
    },
    /// The predicted noise of a result leaves nothing to decrypt.
    #[error("the result would exceed the noise budget by {excess_bits:.1} bits; {}", hints::BUDGET_SPENT)]
    BudgetSpent {
        /// The bits that are missing.
        excess_bits: f64,
    },
    /// The noise measured by a decryption leaves less budget than was required.
    #[error(
        "{left_bits:.1} bits of the noise budget are left and {margin_bits:.1} are asked; {}",
        hints::NOISE_BUDGET
    )]
    NoiseBudget {
        /// The bits that are left before decryption fails; near 0 for a wrong secret key.
        left_bits: f64,
        /// The bits that were required.
        margin_bits: f64,
    },
    /// A flood depends on the noise of a ciphertext, which is not known.
    #[error(
        "nothing is known of this ciphertext's noise, as of all that come from files; {}",
        hints::NOISE_UNKNOWN
    )]
    NoiseUnknown,
    /// A flood that does not fit the modulus together with the values.
    #[error(
        "the flood needs {needed_bits} bits and the modulus has room for {available_bits}; {}",
        hints::FLOOD_TOO_WIDE
    )]
    FloodTooWide {
        /// b for a flood of `[-2^b, 2^b)`.
        needed_bits: u32,
        /// The greatest b for which values and noise leave room.
        available_bits: u32,
    },
    /// The result of a decryption fills the modulus, which values that fit it never do.
    #[error(
        "the decrypted coefficients have a root mean square of 2^{found_log2:.1}, and values that fit the modulus leave at most 2^{limit_log2:.1}; {}",
        hints::NOT_DECRYPTED
    )]
    NotDecrypted {
        /// log2 of the root mean square of the coefficients.
        found_log2: f64,
        /// log2 of the greatest one of values within the range.
        limit_log2: f64,
    },
    /// Digits or bits that are not the result of any encryption or operation.
    #[error("{bad} of {count} decrypted digits are out of range; {}", hints::BAD_DIGITS)]
    BadDigits {
        /// The number of digits out of range.
        bad: usize,
        /// The number of decrypted digits.
        count: usize,
    },
    /// A number that is not a residue modulo the plaintext modulus.
    #[error("value {index} is {found}; {}", hints::plain_range(lowest, highest))]
    PlainRange {
        /// The index of the value.
        index: usize,
        /// The value.
        found: i128,
        /// Least value.
        lowest: i128,
        /// Greatest value.
        highest: i128,
    },
    /// No key for this rotation, and no composition of the keys present gives it.
    #[error("no Galois key for a rotation by {step}; {}", hints::MISSING_GALOIS_KEY)]
    MissingGaloisKey {
        /// Rotation step.
        step: i64,
    },
    /// The evaluation keys lack the conjugation key.
    #[error("no Galois key for conjugation; {}", hints::MISSING_CONJUGATION_KEY)]
    MissingConjugationKey,
    /// The evaluation keys lack the relinearisation key.
    #[error("no relinearisation key; {}", hints::MISSING_RELIN_KEY)]
    MissingRelinKey,
    /// A key or ciphertext made under other parameters.
    #[error("the {what} was made under other parameters (fingerprint {found}, expected {expected})")]
    ParamsMismatch {
        /// The object that does not belong.
        what: &'static str,
        /// Its fingerprint.
        found: String,
        /// The fingerprint expected.
        expected: String,
    },
    /// A key or ciphertext of another secret key.
    #[error(
        "the {what} belongs to key set {found} where one of {expected} is needed; {}",
        hints::KEY_MISMATCH
    )]
    KeyMismatch {
        /// The object that does not belong.
        what: &'static str,
        /// Its key set.
        found: KeySetId,
        /// The key set of the other object.
        expected: KeySetId,
    },
    /// An argument whose value is outside of its domain.
    #[error("{what}: {found}; {needed} is needed")]
    Domain {
        /// The argument.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it must be, with its article.
        needed: String,
    },
    /// An argument that cannot be used.
    #[error("{what}: {why}")]
    Argument {
        /// The argument.
        what: &'static str,
        /// What is wrong and what would be right.
        why: String,
    },
    /// Parameters that cannot be used.
    #[error(transparent)]
    InvalidParams(#[from] crate::params::ParamsError),
    /// Bytes that are not a valid object.
    #[error(transparent)]
    Wire(#[from] crate::wire::WireError),
    /// An operation of one device was given a buffer, a ring or a key of another one.
    #[error("{op} runs on {device} and was given what is on {found}; {}", hints::DEVICE_MISMATCH)]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The device that was to compute.
        device: String,
        /// The device that holds the operand.
        found: String,
    },
    /// A device failed.
    #[error("{op} failed on the back end: {source}")]
    Backend {
        /// The operation.
        op: &'static str,
        /// The device's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// What to do about it, where the error says so: the end of its text, behind a semicolon.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::RingMismatch => Some(hints::RING_MISMATCH.to_owned()),
            Self::SpanMismatch { .. } => Some(hints::SPAN_MISMATCH.to_owned()),
            Self::BatchMismatch { .. } => Some(hints::BATCH_MISMATCH.to_owned()),
            Self::LevelExhausted { .. } => Some(hints::LEVEL_EXHAUSTED.to_owned()),
            Self::ScaleMismatch { .. } => Some(hints::SCALE_MISMATCH.to_owned()),
            Self::ScaleRange { .. } => Some(hints::SCALE_RANGE.to_owned()),
            Self::ValueTooLarge { .. } => Some(hints::VALUE_TOO_LARGE.to_owned()),
            Self::ModulusExhausted { .. } => Some(hints::MODULUS_EXHAUSTED.to_owned()),
            Self::ModulusMismatch { .. } => Some(hints::MODULUS_MISMATCH.to_owned()),
            Self::CoefficientTooLarge { .. } => Some(hints::COEFFICIENT_TOO_LARGE.to_owned()),
            Self::SlotCount { capacity, .. } => Some(hints::slot_count(capacity)),
            Self::TooManyValues { .. } => Some(hints::TOO_MANY_VALUES.to_owned()),
            Self::BudgetSpent { .. } => Some(hints::BUDGET_SPENT.to_owned()),
            Self::NoiseBudget { .. } => Some(hints::NOISE_BUDGET.to_owned()),
            Self::NoiseUnknown => Some(hints::NOISE_UNKNOWN.to_owned()),
            Self::FloodTooWide { .. } => Some(hints::FLOOD_TOO_WIDE.to_owned()),
            Self::NotDecrypted { .. } => Some(hints::NOT_DECRYPTED.to_owned()),
            Self::BadDigits { .. } => Some(hints::BAD_DIGITS.to_owned()),
            Self::PlainRange { lowest, highest, .. } => Some(hints::plain_range(lowest, highest)),
            Self::MissingGaloisKey { .. } => Some(hints::MISSING_GALOIS_KEY.to_owned()),
            Self::MissingConjugationKey => Some(hints::MISSING_CONJUGATION_KEY.to_owned()),
            Self::MissingRelinKey => Some(hints::MISSING_RELIN_KEY.to_owned()),
            Self::KeyMismatch { .. } => Some(hints::KEY_MISMATCH.to_owned()),
            Self::Domain { needed, .. } => Some(format!("{needed} is needed")),
            Self::DeviceMismatch { .. } => Some(hints::DEVICE_MISMATCH.to_owned()),
            Self::InvalidParams(error) => error.hint(),
            Self::Wire(error) => error.hint(),
            _ => None,
        }
    }

    /// What is wrong: its text without the [`hint`](Self::hint).
    pub fn message(&self) -> String {
        without_hint(self, self.hint())
    }
}

/// The text of an error without the hint, which ends it after a semicolon.
pub(crate) fn without_hint(error: &impl std::fmt::Display, hint: Option<impl AsRef<str>>) -> String {
    let mut text = error.to_string();
    if let Some(hint) = hint {
        text.truncate(text.len().saturating_sub(hint.as_ref().len() + "; ".len()));
    }
    text
}

/// What to do about errors: stated once, for the text and for `hint`.
mod hints {
    use std::fmt::Display;

    pub const RING_MISMATCH: &str = "move one with `to` first";
    pub const SPAN_MISMATCH: &str = "bring them to one level first";
    pub const BATCH_MISMATCH: &str = "a batch fits an equal batch or a single entry";
    pub const LEVEL_EXHAUSTED: &str = "use parameters of greater depth";
    pub const SCALE_MISMATCH: &str = "use the aligning operations or rescale first";
    pub const SCALE_RANGE: &str = "rescale or choose a smaller scale";
    pub const VALUE_TOO_LARGE: &str = "use smaller values, a smaller scale or parameters of wider range";
    pub const MODULUS_EXHAUSTED: &str = "rescale by less, or use parameters of more bits";
    pub const MODULUS_MISMATCH: &str = "bring them to one modulus first";
    pub const COEFFICIENT_TOO_LARGE: &str = "use smaller values, a smaller scale or a larger modulus";
    pub fn slot_count(capacity: impl Display) -> String {
        format!("a power of two from 1 to {capacity} is possible")
    }
    pub const TOO_MANY_VALUES: &str = "split them over a batch";
    pub const BUDGET_SPENT: &str = "use parameters of greater depth or a smaller plaintext modulus";
    pub const NOISE_BUDGET: &str = "use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters of greater depth";
    pub const NOISE_UNKNOWN: &str =
        "state it with `set_noise` if you know how it was computed, or choose the flood by bits";
    pub const FLOOD_TOO_WIDE: &str =
        "decrypt at a higher level, ask less security or fewer decryptions, or use parameters of wider range";
    pub const NOT_DECRYPTED: &str = "use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters of wider range";
    pub const BAD_DIGITS: &str = "use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters whose lookups fail more rarely";
    pub fn plain_range(lowest: impl Display, highest: impl Display) -> String {
        format!("with this plaintext modulus it must be in {lowest} ..= {highest}")
    }
    pub const DEVICE_MISMATCH: &str = "move it with `to` first";
    pub const MISSING_GALOIS_KEY: &str = "generate evaluation keys with this step";
    pub const MISSING_CONJUGATION_KEY: &str = "generate evaluation keys with conjugation";
    pub const MISSING_RELIN_KEY: &str = "generate evaluation keys with relinearisation";
    pub const KEY_MISMATCH: &str = "use keys and ciphertexts that come from one secret key";
}

/// The decimal places that show two numbers as different: four, or as many more as needed.
fn places(left: f64, right: f64) -> usize {
    let shown = |places: usize, number: f64| format!("{number:.places$}");
    (4..16).find(|&places| shown(places, left) != shown(places, right)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_messages_and_hints() {
        let range =
            crate::params::ParamsError::OutOfRange { what: "depth", found: 99.0, lowest: 0.0, highest: 60.0 };
        for (error, message, hint) in [
            (
                Error::ScaleMismatch { left_log2: 36.0, right_log2: 30.5 },
                "scales differ (2^36.0000 and 2^30.5000)",
                "use the aligning operations or rescale first",
            ),
            (
                Error::SlotCount { found: 3, capacity: 8 },
                "3 slots requested",
                "a power of two from 1 to 8 is possible",
            ),
            (range.into(), "depth is 99", "it must be in 0 ..= 60"),
        ] {
            assert_eq!((error.message().as_str(), error.hint().as_deref()), (message, Some(hint)));
            assert_eq!(error.to_string(), format!("{message}; {hint}"));
        }
        let plain = Error::NotFinite { index: 3 };
        assert_eq!((plain.message(), plain.hint()), (plain.to_string(), None));
    }
}
