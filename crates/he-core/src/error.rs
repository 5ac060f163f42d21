//! The error type of the crate, with the values of both sides and a remedy.

mod macros;

pub(crate) use macros::errors;

use crate::backend::MatrixProduct;
use crate::key_set::KeySetId;
use crate::ring::Span;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

errors! {
    /// The errors of `he-core`. Messages never depend on secret values or noise, except those of
    /// decryptions that were requested to check their results
    /// ([`NoiseBudget`](Self::NoiseBudget), [`NotDecrypted`](Self::NotDecrypted),
    /// [`BadDigits`](Self::BadDigits)): these are for the holder of the key.
    ///
    /// Their text ends in what to do about them, if there is something to do;
    /// [`message`](Self::message) and [`hint`](Self::hint) are its parts.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum Error {
        /// Two operands live in different rings or on different devices.
        RingMismatch:
            ("operands belong to different rings"),
            ("move one with `to` first");
        /// Two polynomials hold different sets of primes.
        SpanMismatch {
            /// The primes of the left operand.
            left: Span,
            /// The primes of the right operand.
            right: Span,
        }:
            ("operands hold different primes ({left} and {right})"),
            ("bring them to one level first");
        /// Two operands hold different numbers of batch entries and neither holds one.
        BatchMismatch {
            /// The batch of the left operand.
            left: usize,
            /// The batch of the right operand.
            right: usize,
        }:
            ("operands hold batches of {left} and {right}"),
            ("a batch fits an equal batch or a single entry");
        /// A batch that is an encrypted matrix, a row in each ciphertext, of another height than an
        /// operation needs.
        MatrixRows {
            /// The number of ciphertexts.
            found: usize,
            /// The number needed.
            needed: usize,
        }:
            ("a matrix of {found} encrypted rows where {needed} are needed"),
            ("a row is a ciphertext of the batch: select or add some");
        /// An empty batch, or a range outside the batch.
        BatchRange {
            /// The first requested entry.
            start: usize,
            /// One past the last requested entry.
            end: usize,
            /// The number of entries.
            batch: usize,
        }:
            ("batch entries {start}..{end} do not exist in a batch of {batch}");
        /// The operands of a product of matrices were packed for different products.
        MatrixMismatch {
            /// The product of the left operand.
            left: Box<MatrixProduct>,
            /// The product of the right operand.
            right: Box<MatrixProduct>,
        }:
            ("the matrices are packed for different products ({left}; {right})"),
            ("pack both for one product");
        /// A buffer ends before a matrix does.
        MatrixWords {
            /// The words of the buffer.
            found: usize,
            /// The words up to the end of the matrix.
            needed: usize,
            /// The product to which it belongs.
            product: Box<MatrixProduct>,
        }:
            ("a matrix ends at word {needed} of a buffer of {found} words ({product})"),
            ("pass a longer buffer, or a product of smaller matrices");
        /// An operation needs more levels than the ciphertext has left.
        LevelExhausted {
            /// The levels that the operation consumes.
            needed: usize,
            /// The levels that are left.
            left: usize,
        }:
            ("the operation needs {needed} level(s) and the ciphertext has {left} left"),
            ("use parameters of greater depth");
        /// A level that these parameters do not have, or that lies above the operand's.
        LevelTooHigh {
            /// The requested level.
            found: usize,
            /// The highest level possible.
            highest: usize,
        }:
            ("level {found} is above the highest possible here, {highest}");
        /// A manual operation on operands of different scales.
        ScaleMismatch {
            /// log2 of the left scale.
            left_log2: f64,
            /// log2 of the right scale.
            right_log2: f64,
        }:
            ("scales differ (2^{left_log2:.0$} and 2^{right_log2:.0$})", places(*left_log2, *right_log2)),
            ("use the aligning operations or rescale first");
        /// A scale that is not finite, below one or beyond the modulus.
        ScaleRange {
            /// log2 of the scale.
            found_log2: f64,
            /// log2 of the modulus at this level.
            limit_log2: f64,
        }:
            ("a scale of 2^{found_log2:.2} does not fit a modulus of 2^{limit_log2:.2}"),
            ("rescale or choose a smaller scale");
        /// value x scale does not fit the modulus at this level.
        ValueTooLarge {
            /// The index of the value (of the coefficient after the transform).
            index: usize,
            /// The bits that value x scale needs, including the sign.
            needed_bits: u32,
            /// The bits of the modulus.
            available_bits: u32,
            /// The level of the encoding.
            level: usize,
        }:
            ("value {index} times the scale needs {needed_bits} bits and level {level} holds {available_bits}"),
            ("use smaller values, a smaller scale or parameters of wider range");
        /// An operation divides or needs more bits of the modulus than the ciphertext has left.
        ModulusExhausted {
            /// The bits that are needed.
            needed: u32,
            /// The bits that are left.
            left: u32,
        }:
            ("the operation needs {needed} bits of modulus and the ciphertext has {left} left"),
            ("rescale by less, or use parameters of more bits");
        /// Two operands live modulo different powers of two.
        ModulusMismatch {
            /// log2 of the left operand's modulus.
            left: u32,
            /// log2 of the right operand's modulus.
            right: u32,
        }:
            ("operands are modulo 2^{left} and 2^{right}"),
            ("bring them to one modulus first");
        /// value x scale does not fit the modulus 2^available_bits.
        CoefficientTooLarge {
            /// The index of the coefficient after the transform.
            index: usize,
            /// The bits that it needs, including the sign.
            needed_bits: u32,
            /// The bits of the modulus.
            available_bits: u32,
        }:
            ("coefficient {index} times the scale needs {needed_bits} bits and the modulus has {available_bits}"),
            ("use smaller values, a smaller scale or a larger modulus");
        /// A NaN or an infinity.
        NotFinite {
            /// The index of the value.
            index: usize,
        }:
            ("value {index} is not a finite number");
        /// A number of slots that is not a power of two or is beyond N/2.
        SlotCount {
            /// The requested slots.
            found: usize,
            /// The slots of the ring.
            capacity: usize,
        }:
            ("{found} slots requested"),
            ("a power of two from 1 to {capacity} is possible");
        /// More values than slots.
        TooManyValues {
            /// The number of values.
            found: usize,
            /// The available slots.
            capacity: usize,
        }:
            ("{found} values for {capacity} slots"),
            ("split them over a batch");
        /// The predicted noise of a result leaves nothing to decrypt.
        BudgetSpent {
            /// The bits that are missing.
            excess_bits: f64,
        }:
            ("the result would exceed the noise budget by {excess_bits:.1} bits"),
            ("use parameters of greater depth or a smaller plaintext modulus");
        /// A bootstrap needs more budget than the predicted noise leaves.
        BudgetTooLow {
            /// The bits that are left.
            left_bits: f64,
            /// The bits that a bootstrap needs.
            needed_bits: f64,
        }:
            ("a bootstrap needs {needed_bits:.1} bits of noise budget, and {left_bits:.1} are left"),
            ("bootstrap earlier");
        /// The noise measured by a decryption leaves less budget than was required.
        NoiseBudget {
            /// The bits that are left before decryption fails; near 0 for a wrong secret key.
            left_bits: f64,
            /// The bits that were required.
            margin_bits: f64,
        }:
            ("{left_bits:.1} bits of the noise budget are left and {margin_bits:.1} are asked"),
            ("use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters of greater depth");
        /// The predicted noise of a ciphertext leaves too little budget for its decryption to be
        /// published.
        PredictedBudget {
            /// The bits that are predicted to be left before decryption may fail.
            predicted_bits: f64,
            /// The bits that the security and the number of decryptions need.
            needed_bits: f64,
        }:
            ("{predicted_bits:.2} bits of the noise budget are predicted to be left, and publishing needs {needed_bits:.2}"),
            ("use parameters of greater depth, ask less security or fewer decryptions, or keep the result to yourself");
        /// More decryptions were to be published than are left.
        DecryptionsSpent {
            /// The decryptions that were to be published.
            asked: u64,
            /// The decryptions that are left.
            left: u64,
            /// The decryptions that were allowed under the secret key.
            of: u64,
        }:
            ("{asked} decryptions are to be published, and {left} of {of} are left"),
            ("allow for more from the beginning: the protection of each depends on their number");
        /// Lookups fail too often for results to be published.
        FailureProbability {
            /// log2 of the probability with which a lookup fails under these parameters.
            found_log2: f64,
            /// log2 of the greatest probability that the security and the number of decryptions
            /// allow.
            limit_log2: f64,
        }:
            ("lookups fail with probability 2^{found_log2:.1}, and publishing needs 2^{limit_log2:.1} or less"),
            ("use keys with parameters that fail less often, ask less security or fewer decryptions, or keep the result to yourself");
        /// A table would be looked up wrongly too often.
        LookupFailure {
            /// log2 of the predicted probability that any result is wrong.
            found_log2: f64,
            /// log2 of the greatest probability that is allowed.
            limit_log2: f64,
        }:
            ("a result of the look-up would be wrong with probability 2^{found_log2:.1}, and 2^{limit_log2:.1} or less is allowed"),
            ("look up before noise grows, use tables of fewer entries, or parameters of higher precision");
        /// A flood depends on the noise of a ciphertext, which is not known.
        NoiseUnknown:
            ("nothing is known of this ciphertext's noise, as of all that come from files"),
            ("state it with `set_noise` if you know how it was computed, or choose the flood by bits");
        /// A flood that does not fit the modulus together with the values.
        FloodTooWide {
            /// b for a flood of `[-2^b, 2^b)`.
            needed_bits: u32,
            /// The greatest b for which values and noise leave room.
            available_bits: u32,
        }:
            ("the flood needs {needed_bits} bits and there is room for {available_bits}"),
            ("decrypt at a higher level, ask less security or fewer decryptions, or use parameters of wider range");
        /// The result of a decryption fills the modulus, which values that fit it never do.
        NotDecrypted {
            /// log2 of the root mean square of the coefficients.
            found_log2: f64,
            /// log2 of the greatest one of values within the range.
            limit_log2: f64,
        }:
            ("the decrypted coefficients have a root mean square of 2^{found_log2:.1}, and values that fit the modulus leave at most 2^{limit_log2:.1}"),
            ("use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters of wider range");
        /// Digits or bits that are not the result of any encryption or operation.
        BadDigits {
            /// The number of digits out of range.
            bad: usize,
            /// The number of decrypted digits.
            count: usize,
        }:
            ("{bad} of {count} decrypted digits are out of range"),
            ("use the secret key that the ciphertext belongs to, an undamaged ciphertext, or parameters whose lookups fail more rarely");
        /// A sum of more terms than the parameters of words allow.
        TooManyTerms {
            /// The terms of the sum.
            found: u64,
            /// The most that are allowed.
            limit: u32,
        }:
            ("the result would be a sum of {found} products, and the parameters allow {limit}"),
            ("use parameters for sums of as many products");
        /// A number that is not a residue modulo the plaintext modulus.
        PlainRange {
            /// The index of the value.
            index: usize,
            /// The value.
            found: i128,
            /// Least value.
            lowest: i128,
            /// Greatest value.
            highest: i128,
        }:
            ("value {index} is {found}"),
            ("with this plaintext modulus it must be in {lowest} ..= {highest}");
        /// No key for this rotation, and no composition of the keys present gives it.
        MissingGaloisKey {
            /// Rotation step.
            step: i64,
        }:
            ("no Galois key for a rotation by {step}"),
            ("generate evaluation keys with this step");
        /// The evaluation keys lack the conjugation key.
        MissingConjugationKey:
            ("no Galois key for conjugation"),
            ("generate evaluation keys with conjugation");
        /// The evaluation keys lack the relinearisation key.
        MissingRelinKey:
            ("no relinearisation key"),
            ("generate evaluation keys with relinearisation");
        /// A key or ciphertext made under other parameters.
        ParamsMismatch {
            /// The object that does not belong.
            what: &'static str,
            /// Its fingerprint.
            found: String,
            /// The fingerprint expected.
            expected: String,
        }:
            ("the {what} was made under other parameters (fingerprint {found}, expected {expected})");
        /// A key or ciphertext of another secret key.
        KeyMismatch {
            /// The object that does not belong.
            what: &'static str,
            /// Its key set.
            found: KeySetId,
            /// The key set of the other object.
            expected: KeySetId,
        }:
            ("the {what} belongs to key set {found} where one of {expected} is needed"),
            ("use keys and ciphertexts that come from one secret key");
        /// An argument that cannot be used.
        Argument {
            /// The argument.
            what: &'static str,
            /// The fault.
            why: String,
            /// The value that is expected, or the one to use instead, unless that goes without
            /// saying.
            hint: Option<String>,
        }:
            ("{what}: {why}"),
            [hint.clone()];
        /// An operation of one device was given a buffer, a ring or a key of another one.
        DeviceMismatch {
            /// The operation.
            op: &'static str,
            /// The device that was to compute.
            device: String,
            /// The device that holds the operand.
            found: String,
        }:
            ("{op} runs on {device} and was given what is on {found}"),
            ("move it with `to` first");
        /// The [`Overseer`](crate::Overseer) of the back end has ended the work.
        Cancelled:
            ("the work was cancelled");
        /// A device failed.
        Backend {
            /// The operation.
            op: &'static str,
            /// The device's error.
            source: Box<dyn std::error::Error + Send + Sync>,
        }:
            ("{op} failed on the back end: {source}") from source;
    }
    wrapping {
        /// Parameters that cannot be used.
        InvalidParams(error: crate::params::ParamsError): error.message(), error.hint();
        /// Shares of several parties that do not belong together.
        Mhe(error: crate::mhe::MheError): error.message(), error.hint();
        /// Bytes that are not a valid object.
        Wire(error: crate::wire::WireError): error.message(), error.hint();
    }
}

impl Error {
    /// An argument that cannot be used, and why.
    pub fn argument(what: &'static str, why: impl Into<String>) -> Self {
        Self::Argument { what, why: why.into(), hint: None }
    }

    /// An argument outside of its domain: what it is, and what it must be or what to use instead.
    pub fn domain(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Argument { what, why: found.into(), hint: Some(hint.into()) }
    }
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

    #[test]
    fn semicolons_part_nothing() {
        let error = Error::domain("matrix", "rows \"1; 2\"", "\"0 1; 1 0\" has two");
        assert_eq!(error.message(), "matrix: rows \"1; 2\"");
        assert_eq!(error.hint().as_deref(), Some("\"0 1; 1 0\" has two"));
        assert_eq!(error.to_string(), "matrix: rows \"1; 2\"; \"0 1; 1 0\" has two");
        let error = Error::argument("device", "no; such; thing");
        assert_eq!((error.message().as_str(), error.hint()), ("device: no; such; thing", None));
    }

    #[test]
    fn causes_are_those_of_the_wrapped_error() {
        use std::error::Error as _;
        let failed = Error::Backend { op: "ntt", source: "no luck".into() };
        assert_eq!(failed.source().map(ToString::to_string).as_deref(), Some("no luck"));
        let wire = Error::from(crate::wire::WireError::Trailing);
        assert_eq!(wire.to_string(), crate::wire::WireError::Trailing.to_string());
        assert!(wire.source().is_none() && Error::RingMismatch.source().is_none());
    }
}
