//! Errors: a message, an optional hint and a class.

use crate::key_file::SAME_SET;
use crate::units;
use he_core::aes::AesError;
use he_core::aes::container::ContainerError;
use he_core::params::ParamsError;
use he_core::wire::WireError;
use he_cuda::gpu;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// What a failure means to the caller of the program; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The work failed: exit code 1.
    Failed,
    /// The command line itself was wrong: exit code 2.
    Usage,
    /// Whoever reads our output closed it: exit code 0, nothing is printed.
    BrokenPipe,
}

/// An error as the person at the terminal sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    hint: Option<String>,
    class: Class,
}

/// Result of everything in this program.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of the work (exit code 1). `message` is lower case, without a final period.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, class: Class::Failed }
    }

    /// A wrong command line (exit code 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, class: Class::Usage }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what to do about it, unless that is said.
    #[must_use]
    pub fn or_hint(mut self, hint: &str) -> Self {
        self.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// An error of the operating system while doing `verb` (`read`, `write`, …) to `name`.
    ///
    /// Gives for instance `cannot read photo.png: no such file or directory`. A broken pipe keeps its class.
    /// An error of this crate that came through a reader or writer is itself.
    pub fn from_io(error: &io::Error, verb: &str, name: impl Display) -> Self {
        if let Some(own) = error.get_ref().and_then(|error| error.downcast_ref::<Self>()) {
            return own.clone();
        }
        let hint = match error.kind() {
            io::ErrorKind::NotFound => Some("check the spelling of the path"),
            io::ErrorKind::PermissionDenied => Some("check the permissions of the file and of its folder"),
            io::ErrorKind::StorageFull => Some("free some space or write to another disk"),
            _ => None,
        };
        let class = if error.kind() == io::ErrorKind::BrokenPipe { Class::BrokenPipe } else { Class::Failed };
        Self {
            message: format!("cannot {verb} {name}: {}", io_text(error)),
            hint: hint.map(str::to_owned),
            class,
        }
    }

    /// Puts the name of the file that it is about before the message.
    #[must_use]
    pub fn prefixed(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// The same as a wrong command line.
    #[must_use]
    pub fn into_usage(mut self) -> Self {
        self.class = Class::Usage;
        self
    }

    /// The message without prefix and hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The hint, if there is one.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The class.
    pub fn class(&self) -> Class {
        self.class
    }
}

/// Adds the path to an error of the operating system.
pub trait IoContext<T> {
    /// The error happened while reading `path`.
    ///
    /// # Errors
    /// The input's error, as `cannot read PATH: …`.
    fn at(self, path: impl AsRef<Path>) -> Result<T>;

    /// The error happened while writing `path`.
    ///
    /// # Errors
    /// The input's error, as `cannot write PATH: …`.
    fn writing(self, path: impl AsRef<Path>) -> Result<T>;

    /// The error happened while doing `verb` to `path`.
    ///
    /// # Errors
    /// The input's error, as `cannot VERB PATH: …`.
    fn doing(self, verb: &str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("read", path)
    }

    fn writing(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("write", path)
    }

    fn doing(self, verb: &str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|e| Error::from_io(&e, verb, path.as_ref().display()))
    }
}

/// The text of an operating-system error in our style: lower case, without its number.
pub fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match text.find(" (os error ") {
        Some(end) => &text[..end],
        None => text.as_str(),
    };
    lower_first(text.trim_end_matches('.'))
}

/// Lowers the first letter, unless the word is an acronym (`EXIF …` stays).
pub fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}

/// What to do about bytes that are not as they were written.
pub const DAMAGED: &str = "get an undamaged copy of the file";

impl From<he_core::Error> for Error {
    /// The library's messages say what is wrong, then, behind a semicolon, what to do: that is the hint. Where it speaks to
    /// programmers, the person at the terminal gets another one.
    fn from(error: he_core::Error) -> Self {
        match error {
            he_core::Error::Wire(error) => error.into(),
            he_core::Error::InvalidParams(error) => error.into(),
            he_core::Error::LevelExhausted { needed, left } => {
                let levels = if needed == 1 { "level" } else { "levels" };
                Self::new(format!("the operation needs {needed} {levels}, and the encrypted file has {left} left"))
                    .hint("make keys with a larger keygen --depth, and encrypt again")
            }
            he_core::Error::ValueTooLarge { needed_bits, available_bits, .. } => Self::new(format!(
                "a number times the scale takes {needed_bits} bits, and these parameters hold {available_bits}"
            ))
            .hint("use smaller numbers, or make keys with a larger keygen --range"),
            he_core::Error::BudgetSpent { excess_bits } => Self::new(format!(
                "the noise budget is spent: the result would exceed it by {excess_bits:.1} bits"
            ))
            .hint("make keys with a larger keygen --depth, and encrypt again"),
            he_core::Error::ModulusExhausted { needed, left } => Self::new(format!(
                "the operation needs {needed} bits of modulus, and the encrypted file has {left} left"
            ))
            .hint("make keys with a larger keygen --depth-bits, and encrypt again"),
            he_core::Error::MissingGaloisKey { .. } | he_core::Error::MissingRelinKey => {
                from_text(&error.to_string()).hint("use the eval.key that keygen wrote")
            }
            he_core::Error::KeyMismatch { .. } => from_text(&error.to_string()).hint(SAME_SET),
            he_core::Error::MissingConjugationKey => {
                from_text(&error.to_string()).hint("make new keys: those of earlier versions lack this one")
            }
            he_core::Error::Backend { op, source } => match source.downcast::<gpu::Error>() {
                Ok(error) => (*error).into(),
                Err(source) => from_text(&he_core::Error::Backend { op, source }.to_string()),
            },
            error => from_text(&error.to_string()),
        }
    }
}

impl From<gpu::Error> for Error {
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

impl From<ParamsError> for Error {
    /// The command line asks for parameters that cannot be: wrong usage, if a number is outside of its domain.
    fn from(error: ParamsError) -> Self {
        match error {
            ParamsError::OutOfRange { .. } => from_text(&error.to_string()).into_usage(),
            error => from_text(&error.to_string()),
        }
    }
}

impl From<WireError> for Error {
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

impl From<ContainerError> for Error {
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

impl From<AesError> for Error {
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

fn from_text(text: &str) -> Error {
    match text.split_once("; ") {
        Some((message, hint)) => Error::new(lower_first(message)).hint(hint),
        None => Error::new(lower_first(text)),
    }
}

/// Parameters in a file that cannot be used.
pub fn bad_params(error: he_core::Error) -> Error {
    match error {
        he_core::Error::InvalidParams(ParamsError::Insecure { log_n, log_qp, limit }) => Error::new(format!(
            "its parameters are insecure: log2(QP) = {log_qp:.1} at N = 2^{log_n}, where {limit} bits are secure"
        ))
        .hint("make keys with he-cli keygen"),
        he_core::Error::InvalidParams(error) => {
            Error::new(format!("its parameters cannot be used: {}", from_text(&error.to_string()).message()))
                .hint(DAMAGED)
        }
        error => error.into(),
    }
}

/// Errors of which some come from the operating system.
pub trait FileError: Into<Error> {
    /// The operating system's error, if it is one.
    fn io(&self) -> Option<&io::Error> {
        None
    }

    /// Whether the file is at fault: a device that fails while a file is read says nothing about the file.
    fn is_of_file(&self) -> bool {
        true
    }
}

impl FileError for Error {}

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

impl FileError for he_core::Error {
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
    fn in_file(self, name: &str) -> Result<T, Error>;

    /// The error was found while writing this file.
    ///
    /// # Errors
    /// The input's error, as `NAME: …` or `cannot write NAME: …`.
    fn in_output(self, name: &str) -> Result<T, Error>;
}

impl<T, E: FileError> InFile<T> for Result<T, E> {
    fn in_file(self, name: &str) -> Result<T, Error> {
        self.map_err(|error| located(error, "read", name))
    }

    fn in_output(self, name: &str) -> Result<T, Error> {
        self.map_err(|error| located(error, "write", name))
    }
}

fn located(error: impl FileError, verb: &str, name: &str) -> Error {
    match error.io() {
        Some(io) => Error::from_io(io, verb, name),
        None if error.is_of_file() => error.into().prefixed(name),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: impl Into<Error>) -> (String, String) {
        let error = error.into();
        (error.message().to_owned(), error.hint_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn messages_and_hints_come_apart() {
        assert_eq!(
            text(he_core::Error::LevelExhausted { needed: 1, left: 0 }),
            (
                "the operation needs 1 level, and the encrypted file has 0 left".to_owned(),
                "make keys with a larger keygen --depth, and encrypt again".to_owned()
            )
        );
        assert_eq!(
            text(he_core::Error::TooManyValues { found: 5, capacity: 4 }),
            ("5 values for 4 slots".to_owned(), "split them over a batch".to_owned())
        );
        assert_eq!(text(WireError::Trailing).1, DAMAGED);
        assert_eq!(text(WireError::UnsupportedVersion { found: 9, supported: 1 }).1, "update the program");
        let usage =
            Error::from(ParamsError::OutOfRange { what: "depth", found: 99.0, lowest: 0.0, highest: 60.0 });
        assert_eq!((usage.class(), usage.message()), (Class::Usage, "depth is 99"));
    }

    #[test]
    fn devices_speak_for_themselves() {
        let backend = |source: gpu::Error| text(he_core::Error::Backend { op: "ntt", source: source.into() });
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
        let lost = || he_core::Error::Backend { op: "upload", source: gpu::Error::NoDriver.into() };
        assert_eq!(text(Err::<(), _>(lost()).in_file("x.he").unwrap_err()), text(lost()));
        let other = he_core::Error::Backend { op: "ntt", source: "no luck; try again".into() };
        assert_eq!(text(other), pair("ntt failed on the back end: no luck", "try again"));
    }

    #[test]
    fn files_are_named() {
        let full = || WireError::Io(io::ErrorKind::StorageFull.into());
        let error = Err::<(), _>(full()).in_output("x.he").unwrap_err();
        assert_eq!(error.message(), "cannot write x.he: no storage space");
        let error = Err::<(), _>(he_core::Error::Wire(full())).in_file("x.he").unwrap_err();
        assert_eq!(error.message(), "cannot read x.he: no storage space");
        let error = Err::<(), _>(WireError::Trailing).in_file("e").unwrap_err();
        assert_eq!(error.message(), "e: there are bytes after the end mark");
        let pipe = Err::<(), _>(WireError::Io(io::ErrorKind::BrokenPipe.into())).in_output("standard output");
        assert_eq!(pipe.unwrap_err().class(), Class::BrokenPipe);
    }

    #[test]
    fn missing_file_reads_like_a_sentence() {
        let missing = std::fs::read("no/such/photo.png").at("no/such/photo.png").unwrap_err();
        assert_eq!(missing.message(), "cannot read no/such/photo.png: no such file or directory");
        assert_eq!(missing.hint_text(), Some("check the spelling of the path"));
        let write = std::fs::write("no/such/x", b"").writing("no/such/x").unwrap_err();
        assert!(write.message().starts_with("cannot write no/such/x: "));
    }

    #[test]
    fn acronyms_keep_their_case() {
        assert_eq!(lower_first("Bad magic"), "bad magic");
        assert_eq!(lower_first("PNG is broken"), "PNG is broken");
        assert_eq!(lower_first("A b"), "a b");
        assert_eq!(lower_first(""), "");
    }
}
