//! Errors of the libraries below, in the words of files: message and hint.

use super::{DAMAGED, Error, FileError, Result, lower_first};
#[cfg(feature = "cuda")]
use crate::units;
use he_core::aes::AesError;
use he_core::aes::container::ContainerError;
use he_core::params::ParamsError;
use he_core::wire::WireError;
#[cfg(feature = "cuda")]
use he_cuda::gpu;
use std::io;

/// A message, and what to do about it.
type Text = (String, Option<String>);

fn text(message: impl Into<String>, hint: &str) -> Text {
    (message.into(), Some(hint.to_owned()))
}

/// An error of `he-core`. Where its hint speaks to programmers, there is another one.
pub(super) fn core(error: &he_core::Error) -> Text {
    use he_core::Error as Core;
    const DEEPER: &str = "use parameters of greater depth, and encrypt again";
    let own = || lower_first(&error.message());
    match error {
        Core::LevelExhausted { needed, left } => {
            let levels = if *needed == 1 { "level" } else { "levels" };
            text(
                format!("the operation needs {needed} {levels}, and the encrypted file has {left} left"),
                DEEPER,
            )
        }
        Core::ValueTooLarge { needed_bits, available_bits, .. } => text(
            format!(
                "a number times the scale takes {needed_bits} bits, and these parameters hold {available_bits}"
            ),
            "use smaller numbers, or parameters of wider range",
        ),
        Core::BudgetSpent { excess_bits } => text(
            format!("the noise budget is spent: the result would exceed it by {excess_bits:.1} bits"),
            DEEPER,
        ),
        Core::ModulusExhausted { needed, left } => text(
            format!("the operation needs {needed} bits of modulus, and the encrypted file has {left} left"),
            "use parameters with more bits of depth, and encrypt again",
        ),
        Core::NoiseUnknown => text(
            "nothing is known of the noise of these numbers",
            "keep them to yourself: tables and images can be published, outputs of models and refreshed results cannot",
        ),
        Core::FloodTooWide { needed_bits, available_bits } => text(
            format!(
                "hiding the noise takes {needed_bits} bits, and the numbers stay visible below {available_bits} at most"
            ),
            "use parameters of more precision, ask fewer decryptions or fewer bits of security, or keep the numbers to yourself",
        ),
        Core::MissingGaloisKey { .. } | Core::MissingRelinKey => {
            text(own(), "use the evaluation keys of the key set")
        }
        Core::KeyMismatch { .. } => text(own(), super::SAME_SET),
        Core::MissingConjugationKey => text(own(), "make new keys: those of earlier versions lack this one"),
        Core::Wire(WireError::NotThisFormat) => {
            text("this is neither a key nor an encrypted file", "give a key or an encrypted file")
        }
        // It says what to do.
        Core::Wire(
            WireError::UnsupportedVersion { .. }
            | WireError::UnsupportedBody { .. }
            | WireError::RetiredBody { .. }
            | WireError::UnknownKind { .. }
            | WireError::UnexpectedKey { .. },
        ) => (own(), error.hint()),
        Core::Wire(_) => text(own(), DAMAGED),
        _ => (own(), error.hint()),
    }
}

/// An error of a container of AES.
pub(super) fn container(error: &ContainerError) -> Text {
    let own = || lower_first(&error.message());
    match error {
        ContainerError::Version { .. } => (own(), error.hint()),
        ContainerError::WrongKey { .. } => text(own(), "give the key that it was encrypted with"),
        ContainerError::WrongPassphrase => {
            text(own(), "type the passphrase again; if it is right, get an undamaged copy of the file")
        }
        ContainerError::Cost { .. } => text(own(), "if you know who made the file, allow the cost"),
        _ => text(own(), DAMAGED),
    }
}

/// An error of a cipher.
pub(super) fn aes(error: &AesError) -> Text {
    (lower_first(&error.message()), error.hint())
}

/// An error of a device; what the driver says is taken as it is.
#[cfg(feature = "cuda")]
pub(super) fn gpu(error: &gpu::Error) -> Text {
    match error {
        gpu::Error::OutOfMemory { bytes: bytes @ 1.. } => text(
            format!("the device has no {} of memory left", units::bytes(*bytes as u64)),
            "end other programs on it, use smaller parameters, or use the CPU",
        ),
        gpu::Error::Module { .. } | gpu::Error::Driver { .. } => text(error.to_string(), "use the CPU"),
        error => (lower_first(&error.message()), error.hint()),
    }
}

/// Parameters in a file that cannot be used.
pub fn bad_params(error: he_core::Error) -> Error {
    match error {
        he_core::Error::InvalidParams(ParamsError::Insecure { log_n, log_qp, limit }) => {
            FileError::Insecure { log_n, log_qp, limit }.into()
        }
        he_core::Error::InvalidParams(error) => {
            FileError::Params { reason: lower_first(&error.message()) }.into()
        }
        error => error.into(),
    }
}

/// Errors of which some come from the operating system, and some say nothing about the file that
/// was read.
pub trait Located: Into<Error> {
    /// The operating system's error, if it is one.
    ///
    /// # Errors
    /// The error itself, if it is not.
    fn into_io(self) -> Result<io::Error, Self> {
        Err(self)
    }

    /// Whether the file is at fault: a device that fails while a file is read says nothing about
    /// the file.
    fn is_of_file(&self) -> bool {
        true
    }
}

impl Located for Error {}

impl Located for WireError {
    fn into_io(self) -> Result<io::Error, Self> {
        match self {
            Self::Io(error) => Ok(error),
            error => Err(error),
        }
    }
}

impl Located for ContainerError {
    fn is_of_file(&self) -> bool {
        !matches!(self, Self::Aes(AesError::Backend { .. }))
    }
}

impl Located for he_core::Error {
    fn into_io(self) -> Result<io::Error, Self> {
        match self {
            Self::Wire(WireError::Io(error)) => Ok(error),
            error => Err(error),
        }
    }

    fn is_of_file(&self) -> bool {
        !matches!(self, Self::Backend { .. } | Self::Cancelled)
    }
}

/// Names the file that an error is about.
pub trait InFile<T> {
    /// The error was found while reading this file.
    ///
    /// # Errors
    /// The input's error, as `NAME: …` or `cannot read NAME: …`.
    fn in_file(self, name: &str) -> Result<T>;

    /// The error was found while writing this file.
    ///
    /// # Errors
    /// The input's error, as `NAME: …` or `cannot write NAME: …`.
    fn in_output(self, name: &str) -> Result<T>;
}

impl<T, E: Located> InFile<T> for Result<T, E> {
    fn in_file(self, name: &str) -> Result<T> {
        self.map_err(|error| located(error, "read", name))
    }

    fn in_output(self, name: &str) -> Result<T> {
        self.map_err(|error| located(error, "write", name))
    }
}

fn located(error: impl Located, verb: &'static str, name: &str) -> Error {
    match error.into_io() {
        Ok(source) => Error::io(source, verb, name),
        Err(error) if error.is_of_file() => error.into().in_file_of(name),
        Err(error) => error.into(),
    }
}
