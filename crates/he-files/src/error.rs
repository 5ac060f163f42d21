//! Errors of the library as the person at the terminal sees them.

use crate::error::{CliError, lower_first};
use crate::keys::SAME_SET;
use crate::units;
use he_core::aes::AesError;
use he_core::aes::container::ContainerError;
use he_core::params::ParamsError;
use he_core::{Error, wire::WireError};
use he_cuda::gpu;
use std::io;

/// What to do about bytes that are not as they were written.
pub const DAMAGED: &str = "get an undamaged copy of the file";

impl From<Error> for CliError {
    /// The library's messages say what is wrong, then, behind a semicolon, what to do: that is the hint. Where it speaks to
    /// programmers, the person at the terminal gets another one.
    fn from(error: Error) -> Self {
        match error {
            Error::Wire(error) => error.into(),
            Error::InvalidParams(error) => error.into(),
            Error::LevelExhausted { needed, left } => {
                let levels = if needed == 1 { "level" } else { "levels" };
                Self::new(format!("the operation needs {needed} {levels}, and the encrypted file has {left} left"))
                    .hint("make keys with a larger keygen --depth, and encrypt again")
            }
            Error::ValueTooLarge { needed_bits, available_bits, .. } => Self::new(format!(
                "a number times the scale takes {needed_bits} bits, and these parameters hold {available_bits}"
            ))
            .hint("use smaller numbers, or make keys with a larger keygen --range"),
            Error::BudgetSpent { excess_bits } => Self::new(format!(
                "the noise budget is spent: the result would exceed it by {excess_bits:.1} bits"
            ))
            .hint("make keys with a larger keygen --depth, and encrypt again"),
            Error::ModulusExhausted { needed, left } => Self::new(format!(
                "the operation needs {needed} bits of modulus, and the encrypted file has {left} left"
            ))
            .hint("make keys with a larger keygen --depth-bits, and encrypt again"),
            Error::MissingGaloisKey { .. } | Error::MissingRelinKey => {
                from_text(&error.to_string()).hint("use the eval.key that keygen wrote")
            }
            Error::KeyMismatch { .. } => from_text(&error.to_string()).hint(SAME_SET),
            Error::MissingConjugationKey => {
                from_text(&error.to_string()).hint("make new keys: those of earlier versions lack this one")
            }
            Error::Backend { op, source } => match source.downcast::<gpu::Error>() {
                Ok(error) => (*error).into(),
                Err(source) => from_text(&Error::Backend { op, source }.to_string()),
            },
            error => from_text(&error.to_string()),
        }
    }
}

impl From<gpu::Error> for CliError {
    /// A device's messages are made like the library's; what the driver says is taken as it is.
    fn from(error: gpu::Error) -> Self {
        match error {
            gpu::Error::OutOfMemory { bytes } => {
                Self::new(format!("the device has no {} of memory left", units::bytes(bytes as u64)))
                    .hint("end other programs on it, make keys of smaller parameters, or use --device cpu")
            }
            error @ (gpu::Error::Module { .. } | gpu::Error::Driver { .. }) => {
                Self::new(error.to_string()).hint("use the CPU: --device cpu")
            }
            error => from_text(&error.to_string()),
        }
    }
}

#[cfg(feature = "bench")]
impl From<he_bench::Error> for CliError {
    fn from(error: he_bench::Error) -> Self {
        use he_bench::Error as Bench;
        match error {
            Bench::Core(error) => error.into(),
            Bench::Aes(error) => error.into(),
            Bench::Gpu(error) => error.into(),
            Bench::Write { name, source } => Self::from_io(&source, "write", name),
            error => {
                let hint = error.hint();
                let error = Self::new(error.to_string());
                hint.into_iter().fold(error, |error, hint| error.hint(hint))
            }
        }
    }
}

impl From<ParamsError> for CliError {
    /// The command line asks for parameters that cannot be: wrong usage, if a number is outside of its domain.
    fn from(error: ParamsError) -> Self {
        match error {
            ParamsError::OutOfRange { .. } => from_text(&error.to_string()).into_usage(),
            error => from_text(&error.to_string()),
        }
    }
}

impl From<WireError> for CliError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Io(error) => Self::from_io(&error, "read or write", "a file"),
            WireError::NotThisFormat => Self::new("this is not a file that he-cli wrote")
                .hint("give a key from keygen, or what encrypt or eval wrote"),
            // It says what to do.
            WireError::UnsupportedVersion { .. } => from_text(&error.to_string()),
            error => from_text(&error.to_string()).hint(DAMAGED),
        }
    }
}

impl From<ContainerError> for CliError {
    fn from(error: ContainerError) -> Self {
        match error {
            ContainerError::NotThisFormat => WireError::NotThisFormat.into(),
            ContainerError::Version { .. } => from_text(&error.to_string()),
            ContainerError::WrongKey { .. } => from_text(&error.to_string())
                .hint("give the key that it was encrypted with; he-cli info FILE shows which one that is"),
            ContainerError::WrongPassphrase => from_text(&error.to_string())
                .hint("type the passphrase again; if it is right, get an undamaged copy of the file"),
            ContainerError::Aes(error) => error.into(),
            error => from_text(&error.to_string()).hint(DAMAGED),
        }
    }
}

impl From<AesError> for CliError {
    fn from(error: AesError) -> Self {
        match error {
            AesError::Backend { op, source } => match source.downcast::<gpu::Error>() {
                Ok(error) => (*error).into(),
                Err(source) => from_text(&AesError::Backend { op, source }.to_string()),
            },
            error => from_text(&error.to_string()),
        }
    }
}

fn from_text(text: &str) -> CliError {
    match text.split_once("; ") {
        Some((message, hint)) => CliError::new(lower_first(message)).hint(hint),
        None => CliError::new(lower_first(text)),
    }
}

/// Parameters in a file that cannot be used.
pub fn bad_params(error: Error) -> CliError {
    match error {
        Error::InvalidParams(ParamsError::Insecure { log_n, log_qp, limit }) => CliError::new(format!(
            "its parameters are insecure: log2(QP) = {log_qp:.1} at N = 2^{log_n}, where {limit} bits are secure"
        ))
        .hint("make keys with he-cli keygen"),
        Error::InvalidParams(error) => {
            CliError::new(format!("its parameters cannot be used: {}", from_text(&error.to_string()).message()))
                .hint(DAMAGED)
        }
        error => error.into(),
    }
}

/// Errors of which some come from the operating system.
pub trait FileError: Into<CliError> {
    /// The operating system's error, if it is one.
    fn io(&self) -> Option<&io::Error> {
        None
    }

    /// Whether the file is at fault: a device that fails while a file is read says nothing about the file.
    fn is_of_file(&self) -> bool {
        true
    }
}

impl FileError for CliError {}

impl FileError for WireError {
    fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl FileError for ContainerError {
    fn is_of_file(&self) -> bool {
        !matches!(self, Self::Aes(AesError::Backend { .. }))
    }
}

impl FileError for Error {
    fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Wire(error) => error.io(),
            _ => None,
        }
    }

    fn is_of_file(&self) -> bool {
        !matches!(self, Self::Backend { .. })
    }
}

/// Names the file that an error is about.
pub trait InFile<T> {
    /// The error was found while reading this file.
    ///
    /// # Errors
    /// The input's error, as `NAME: …` or `cannot read NAME: …`.
    fn in_file(self, name: &str) -> Result<T, CliError>;

    /// The error was found while writing this file.
    ///
    /// # Errors
    /// The input's error, as `NAME: …` or `cannot write NAME: …`.
    fn in_output(self, name: &str) -> Result<T, CliError>;
}

impl<T, E: FileError> InFile<T> for Result<T, E> {
    fn in_file(self, name: &str) -> Result<T, CliError> {
        self.map_err(|error| located(error, "read", name))
    }

    fn in_output(self, name: &str) -> Result<T, CliError> {
        self.map_err(|error| located(error, "write", name))
    }
}

fn located(error: impl FileError, verb: &str, name: &str) -> CliError {
    match error.io() {
        Some(io) => CliError::from_io(io, verb, name),
        None if error.is_of_file() => error.into().prefixed(name),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: impl Into<CliError>) -> (String, String) {
        let error = error.into();
        (error.message().to_owned(), error.hint_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn messages_and_hints_come_apart() {
        assert_eq!(
            text(Error::LevelExhausted { needed: 1, left: 0 }),
            (
                "the operation needs 1 level, and the encrypted file has 0 left".to_owned(),
                "make keys with a larger keygen --depth, and encrypt again".to_owned()
            )
        );
        assert_eq!(
            text(Error::TooManyValues { found: 5, capacity: 4 }),
            ("5 values for 4 slots".to_owned(), "split them over a batch".to_owned())
        );
        assert_eq!(text(WireError::Trailing).1, DAMAGED);
        assert_eq!(text(WireError::UnsupportedVersion { found: 9, supported: 1 }).1, "update the program");
        let usage = CliError::from(ParamsError::OutOfRange {
            what: "depth",
            found: 99.0,
            lowest: 0.0,
            highest: 60.0,
        });
        assert_eq!((usage.exit_code(), usage.message()), (2, "depth is 99"));
    }

    #[test]
    fn devices_speak_for_themselves() {
        let backend = |source: gpu::Error| text(Error::Backend { op: "ntt", source: source.into() });
        let pair = |message: &str, hint: &str| (message.to_owned(), hint.to_owned());
        assert_eq!(
            backend(gpu::Error::NoDevice { ordinal: 3, found: 1 }),
            pair("there is no CUDA device 3 (1 found)", "choose another one, or use the CPU")
        );
        assert_eq!(
            backend(gpu::Error::OutOfMemory { bytes: 3 << 30 }),
            pair(
                "the device has no 3.00 GiB of memory left",
                "end other programs on it, make keys of smaller parameters, or use --device cpu"
            )
        );
        let reason = "line 1; near x".to_owned();
        assert_eq!(
            backend(gpu::Error::Module { module: "ntt_12".to_owned(), reason }),
            pair("the kernels ntt_12 do not load: line 1; near x", "use the CPU: --device cpu")
        );
        let lost = || Error::Backend { op: "upload", source: gpu::Error::NoDriver.into() };
        assert_eq!(text(Err::<(), _>(lost()).in_file("x.he").unwrap_err()), text(lost()));
        let other = Error::Backend { op: "ntt", source: "no luck; try again".into() };
        assert_eq!(text(other), pair("ntt failed on the back end: no luck", "try again"));
    }

    #[test]
    fn files_are_named() {
        let full = || WireError::Io(io::ErrorKind::StorageFull.into());
        let error = Err::<(), _>(full()).in_output("x.he").unwrap_err();
        assert_eq!(error.message(), "cannot write x.he: no storage space");
        let error = Err::<(), _>(Error::Wire(full())).in_file("x.he").unwrap_err();
        assert_eq!(error.message(), "cannot read x.he: no storage space");
        let error = Err::<(), _>(WireError::Trailing).in_file("e").unwrap_err();
        assert_eq!(error.message(), "e: there are bytes after the end mark");
        let pipe = Err::<(), _>(WireError::Io(io::ErrorKind::BrokenPipe.into())).in_output("standard output");
        assert_eq!(pipe.unwrap_err().exit_code(), 0);
    }
}
