//! Errors, with their values: each kind of thing that can go wrong has an enum of its own.
//!
//! An error's text says what is wrong, in lower case and without a final period; its
//! [`hint`](Error::hint) says what to do about it, in the terms of `he-cli`.

mod contents;
mod data;
mod files;
mod intersection;
mod io;
mod library;
mod lookup;
mod macros;
mod models;
mod operations;
mod parties;
mod seal;
mod search;
mod traces;
mod transcipher;

pub use contents::{ContentError, HaloRemedy};
pub(crate) use data::{EIGHT_BITS, UTF_16};
pub use data::{PictureError, Place, Problem, TableError};
pub use files::{AesFileError, FileError, KeyError, NoteError, Wanted};
pub use intersection::IntersectionError;
pub use io::{ArchiveError, InputError, OutputError, PassphraseError};
pub use library::{InFile, Located, bad_params};
pub use lookup::LookupError;
pub(crate) use macros::errors;
pub use models::ModelError;
pub use operations::OperationError;
pub use parties::PartyError;
pub use seal::SealError;
pub use search::SearchError;
pub use traces::TraceError;
pub use transcipher::TranscipherError;

use files::SAME_SET;
use he_core::aes::AesError;
use he_core::aes::container::ContainerError;
use he_core::params::ParamsError;
use he_core::wire::WireError;
#[cfg(feature = "cuda")]
use he_cuda::gpu;
use std::fmt::Display;
use std::io as std_io;
use std::path::Path;

/// The remedy for bytes that are not as they were written.
pub const DAMAGED: &str = "get an undamaged copy of the file";

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in `he-files`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system cannot do something to a file.
    #[error("cannot {verb} {name}: {}", io_text(source))]
    Io {
        /// The action that failed: `read`, `write`, ...
        verb: &'static str,
        /// The file that the action was for.
        name: String,
        /// The operating system's error.
        source: std_io::Error,
    },
    /// An entry of an archive cannot be unpacked.
    #[error("cannot unpack into {name}: {}", io_text(source))]
    Unpack {
        /// The folder, and the entry if it is known.
        name: String,
        /// The operating system's error, or the archive's.
        source: std_io::Error,
    },
    /// Something is wrong with a file.
    #[error("{name}: {source}")]
    InFile {
        /// The file.
        name: String,
        /// The fault.
        source: Box<Self>,
    },
    /// A file cannot be read.
    #[error("cannot read {name}: {source}")]
    Unreadable {
        /// The file.
        name: String,
        /// The reason.
        source: Box<Self>,
    },
    /// An operation of the library failed.
    #[error("{}", library::core(.0).0)]
    Core(he_core::Error),
    /// A container of AES cannot be opened.
    #[error("{}", library::container(.0).0)]
    Container(ContainerError),
    /// A cipher failed.
    #[error("{}", library::aes(.0).0)]
    Aes(AesError),
    /// A device failed.
    #[cfg(feature = "cuda")]
    #[error("{}", library::gpu(.0).0)]
    Gpu(gpu::Error),
    /// Something that the caller passed in failed: a source of passphrases, the opening of a
    /// device.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
    /// There is no device to compute on.
    #[error("there is no device to compute on")]
    NoDevice,
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random bytes: {reason}")]
    NoRandomness {
        /// The reason that it gives.
        reason: String,
    },
    /// Another part of the work has failed; its error is the one that counts.
    #[error("the work has stopped")]
    Stopped,
    /// The work was cancelled by its caller.
    #[error("the work was cancelled")]
    Cancelled,
    /// Something cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Something cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A folder cannot be packed or unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A passphrase, or what it sealed, cannot be used.
    #[error(transparent)]
    Passphrase(#[from] PassphraseError),
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A picture cannot be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A key file cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// An encrypted file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The description of a file cannot be used.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A file cannot be encrypted or decrypted under AES.
    #[error(transparent)]
    AesFile(#[from] AesFileError),
    /// Something cannot be encrypted, computed or decrypted.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A file or a key does not serve a model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A sensor file cannot be used, or not with these keys.
    #[error(transparent)]
    Transcipher(#[from] TranscipherError),
    /// An operation cannot be computed as it was asked for.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// A party makes no share.
    #[error(transparent)]
    Party(#[from] PartyError),
    /// A file does not serve a search.
    #[error(transparent)]
    SearchFile(#[from] SearchError),
    /// Bytes are not a file of SEAL that is read, or SEAL has none for an object.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A trace cannot be read, or is not of what it should be of.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A model cannot be read, compiled or computed.
    #[error(transparent)]
    Nn(he_nn::Error),
    /// A file does not serve a private look-up.
    #[error(transparent)]
    LookupFile(#[from] LookupError),
    /// A private look-up cannot be planned, prepared, encrypted, answered or read.
    #[error(transparent)]
    Lookup(he_lookup::Error),
    /// A file does not serve an intersection of sets.
    #[error(transparent)]
    IntersectionFile(#[from] IntersectionError),
    /// Sets cannot be planned, prepared, asked for, answered or read.
    #[error(transparent)]
    Intersection(he_psi::Error),
    /// A search cannot be planned, encrypted, computed or read.
    #[error(transparent)]
    Search(he_search::Error),
}

impl Error {
    /// The advice on this error, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => io_hint(source).map(str::to_owned),
            Self::Unpack { source, .. } => Some(io_hint(source).unwrap_or(io::ELSEWHERE).to_owned()),
            Self::InFile { source, .. } | Self::Unreadable { source, .. } => source.hint(),
            Self::Core(error) => library::core(error).1,
            Self::Container(error) => library::container(error).1,
            Self::Aes(error) => library::aes(error).1,
            #[cfg(feature = "cuda")]
            Self::Gpu(error) => library::gpu(error).1,
            Self::NoDevice => Some("use the CPU".to_owned()),
            Self::NoRandomness { .. } => {
                Some("check that its random source is available, then try again".to_owned())
            }
            Self::Stopped | Self::Cancelled | Self::Caller(_) => None,
            Self::Input(error) => error.hint(),
            Self::Output(error) => error.hint(),
            Self::Archive(error) => error.hint(),
            Self::Passphrase(error) => error.hint(),
            Self::Table(error) => error.hint(),
            Self::Picture(error) => error.hint(),
            Self::Key(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Note(error) => error.hint(),
            Self::AesFile(error) => error.hint(),
            Self::Content(error) => error.hint(),
            Self::Model(error) => error.hint(),
            Self::Operation(error) => error.hint(),
            Self::Transcipher(error) => error.hint(),
            Self::Party(error) => error.hint(),
            Self::SearchFile(error) => error.hint(),
            Self::Seal(error) => error.hint(),
            Self::Trace(error) => error.hint(),
            Self::Nn(error) => error.hint(),
            Self::LookupFile(error) => error.hint(),
            Self::Lookup(error) => error.hint(),
            Self::IntersectionFile(error) => error.hint(),
            Self::Intersection(error) => error.hint(),
            Self::Search(error) => error.hint(),
        }
    }

    /// Whether it is what was asked for that is wrong, rather than a file or a device.
    pub fn is_request(&self) -> bool {
        match self {
            Self::InFile { source, .. } | Self::Unreadable { source, .. } => source.is_request(),
            Self::Core(he_core::Error::InvalidParams(error)) => {
                matches!(error, ParamsError::OutOfRange { .. } | ParamsError::PublishedScale { .. })
            }
            Self::Output(error) => error.is_request(),
            Self::Table(error) => error.is_request(),
            Self::AesFile(error) => error.is_request(),
            Self::Content(error) => error.is_request(),
            Self::Operation(error) => error.is_request(),
            Self::Transcipher(error) => error.is_request(),
            Self::Party(error) => error.is_request(),
            Self::SearchFile(error) => error.is_request(),
            Self::Seal(error) => error.is_request(),
            Self::Trace(error) => error.is_request(),
            Self::LookupFile(error) => error.is_request(),
            Self::Lookup(error) => error.is_request(),
            Self::IntersectionFile(error) => error.is_request(),
            Self::Intersection(error) => error.is_request(),
            Self::Search(error) => error.is_request(),
            _ => false,
        }
    }

    /// Whether whoever reads an output has closed it.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std_io::ErrorKind::BrokenPipe)
    }

    /// An error of the operating system while doing `verb` (`read`, `write`, ...) to `name`. An
    /// error of this crate that came through a reader or writer is itself.
    pub fn io(source: std_io::Error, verb: &'static str, name: impl Display) -> Self {
        match source.downcast::<Self>() {
            Ok(own) => own,
            Err(source) => Self::Io { verb, name: name.to_string(), source },
        }
    }

    /// If something could not be written, it was to go to the file `name`.
    #[must_use]
    pub fn written_to(self, name: &str) -> Self {
        match self {
            Self::Io { verb: verb @ "write", source, .. } => Self::Io { verb, name: name.to_owned(), source },
            other => other,
        }
    }

    /// It is about this file.
    #[must_use]
    pub fn in_file_of(self, name: &str) -> Self {
        Self::InFile { name: name.to_owned(), source: Box::new(self) }
    }
}

impl From<he_core::Error> for Error {
    fn from(error: he_core::Error) -> Self {
        match error {
            he_core::Error::Wire(error) => error.into(),
            he_core::Error::Cancelled => Self::Cancelled,
            #[cfg(feature = "cuda")]
            he_core::Error::Backend { op, source } => match source.downcast::<gpu::Error>() {
                Ok(error) => Self::Gpu(*error),
                Err(source) => Self::Core(he_core::Error::Backend { op, source }),
            },
            error => Self::Core(error),
        }
    }
}

impl From<he_nn::Error> for Error {
    fn from(error: he_nn::Error) -> Self {
        match error {
            he_nn::Error::Core(error) => error.into(),
            error => Self::Nn(error),
        }
    }
}

impl From<he_search::Error> for Error {
    fn from(error: he_search::Error) -> Self {
        match error {
            he_search::Error::Core(error) => error.into(),
            he_search::Error::Params(error) => error.into(),
            error => Self::Search(error),
        }
    }
}

impl From<he_lookup::Error> for Error {
    fn from(error: he_lookup::Error) -> Self {
        match error {
            he_lookup::Error::Core(error) => error.into(),
            error => Self::Lookup(error),
        }
    }
}

impl From<he_psi::Error> for Error {
    fn from(error: he_psi::Error) -> Self {
        match error {
            he_psi::Error::Core(error) => error.into(),
            he_psi::Error::Params(error) => error.into(),
            error => Self::Intersection(error),
        }
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Io(error) => Self::io(error, "read or write", "a file"),
            error => Self::Core(error.into()),
        }
    }
}

impl From<ParamsError> for Error {
    fn from(error: ParamsError) -> Self {
        Self::Core(error.into())
    }
}

impl From<ContainerError> for Error {
    fn from(error: ContainerError) -> Self {
        match error {
            ContainerError::NotThisFormat => WireError::NotThisFormat.into(),
            ContainerError::Aes(error) => error.into(),
            error => Self::Container(error),
        }
    }
}

impl From<AesError> for Error {
    fn from(error: AesError) -> Self {
        match error {
            #[cfg(feature = "cuda")]
            AesError::Backend { op, source } => match source.downcast::<gpu::Error>() {
                Ok(error) => Self::Gpu(*error),
                Err(source) => Self::Aes(AesError::Backend { op, source }),
            },
            error => Self::Aes(error),
        }
    }
}

#[cfg(feature = "cuda")]
impl From<gpu::Error> for Error {
    fn from(error: gpu::Error) -> Self {
        Self::Gpu(error)
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
    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> IoContext<T> for std_io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("read", path)
    }

    fn writing(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("write", path)
    }

    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|error| Error::io(error, verb, path.as_ref().display()))
    }
}

/// The advice for an error of the operating system.
fn io_hint(error: &std_io::Error) -> Option<&'static str> {
    match error.kind() {
        std_io::ErrorKind::NotFound => Some("check the spelling of the path"),
        std_io::ErrorKind::PermissionDenied => Some("check the permissions of the file and of its folder"),
        std_io::ErrorKind::StorageFull => Some("free some space or write to another disk"),
        std_io::ErrorKind::QuotaExceeded => Some("free some of your space or write to another disk"),
        std_io::ErrorKind::FileTooLarge => {
            Some("raise the limit on the size of files (ulimit -f), or write to another file system")
        }
        _ => None,
    }
}

/// The text of an operating-system error in our style: lower case, without its number.
pub fn io_text(error: &std_io::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::Error as Core;

    fn text(error: impl Into<Error>) -> (String, String) {
        let error = error.into();
        (error.to_string(), error.hint().unwrap_or_default())
    }

    fn pair(message: &str, hint: &str) -> (String, String) {
        (message.to_owned(), hint.to_owned())
    }

    #[test]
    fn messages_and_hints_come_apart() {
        assert_eq!(
            text(Core::LevelExhausted { needed: 1, left: 0 }),
            pair(
                "the operation needs 1 level, and the encrypted file has 0 left",
                "use parameters of greater depth, and encrypt again"
            )
        );
        assert_eq!(
            text(Core::TooManyValues { found: 5, capacity: 4 }),
            pair("5 values for 4 slots", "split them over a batch")
        );
        assert_eq!(text(WireError::Trailing).1, DAMAGED);
        assert_eq!(text(WireError::UnsupportedVersion { found: 9, supported: 1 }).1, "update the program");
        let range = ParamsError::OutOfRange { what: "depth", found: 99.0, lowest: 0.0, highest: 60.0 };
        let range = Error::from(range);
        assert!(range.is_request());
        assert_eq!(text(range), pair("depth is 99", "it must be in 0 ..= 60"));
    }

    /// The names of options and commands are the program's own.
    #[test]
    fn texts_name_no_options() {
        fn option(line: &str) -> bool {
            line.match_indices("--")
                .any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()))
        }
        fn check(folder: &Path) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    check(&path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).unwrap();
                let code = source.split("#[cfg(test)]").next().unwrap_or_default();
                for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    let named = option(line) || line.contains("keygen") || line.contains("he-cli info");
                    assert!(!named, "{}: {line}", path.display());
                }
            }
        }
        assert!(option("give --force") && !option("a -- b"));
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    }

    #[test]
    fn devices_speak_for_themselves() {
        let backend = |source: gpu::Error| text(Core::Backend { op: "ntt", source: source.into() });
        assert_eq!(
            backend(gpu::Error::NoDevice { ordinal: 3, found: 1 }),
            pair("there is no CUDA device 3 (1 found)", "choose another one, or use the CPU")
        );
        assert_eq!(
            backend(gpu::Error::OutOfMemory { bytes: 3 << 30 }),
            pair(
                "the device has no 3.00 GiB of memory left",
                "end other programs on it, use smaller parameters, or use the CPU"
            )
        );
        let reason = "line 1; near x".to_owned();
        assert_eq!(
            backend(gpu::Error::Module { module: "ntt_12".to_owned(), reason }),
            pair("the kernels ntt_12 do not load: line 1; near x", "use the CPU")
        );
        // It says nothing about the file.
        let lost = || Core::Backend { op: "upload", source: gpu::Error::NoDriver.into() };
        assert_eq!(text(Err::<(), _>(lost()).in_file("x.he").unwrap_err()), text(lost()));
        // Punctuation is not a hint.
        let other = Core::Backend { op: "ntt", source: "no luck; try again".into() };
        assert_eq!(text(other), pair("ntt failed on the back end: no luck; try again", ""));
    }

    #[test]
    fn files_are_named() {
        let full = || WireError::Io(std_io::ErrorKind::StorageFull.into());
        let error = Err::<(), _>(full()).in_output("x.he").unwrap_err();
        assert_eq!(error.to_string(), "cannot write x.he: no storage space");
        let error = Err::<(), _>(Core::Wire(full())).in_file("x.he").unwrap_err();
        assert_eq!(error.to_string(), "cannot read x.he: no storage space");
        let error = Err::<(), _>(WireError::Trailing).in_file("e").unwrap_err();
        assert_eq!(error.to_string(), "e: there are bytes after the end mark");
        let pipe = WireError::Io(std_io::ErrorKind::BrokenPipe.into());
        assert!(Err::<(), _>(pipe).in_output("standard output").unwrap_err().is_broken_pipe());
    }

    #[test]
    fn missing_file_reads_like_a_sentence() {
        let missing = std::fs::read("no/such/photo.png").at("no/such/photo.png").unwrap_err();
        assert_eq!(
            text(missing),
            pair(
                "cannot read no/such/photo.png: no such file or directory",
                "check the spelling of the path"
            )
        );
        let write = std::fs::write("no/such/x", b"").writing("no/such/x").unwrap_err();
        assert!(write.to_string().starts_with("cannot write no/such/x: "));
    }

    #[test]
    fn errors_come_through_readers_and_writers_as_they_were() {
        let inner = std_io::Error::other(Error::NoDevice);
        assert!(matches!(Error::io(inner, "read", "x"), Error::NoDevice));
    }

    #[test]
    fn acronyms_keep_their_case() {
        assert_eq!(lower_first("Bad magic"), "bad magic");
        assert_eq!(lower_first("PNG is broken"), "PNG is broken");
        assert_eq!(lower_first("A b"), "a b");
        assert_eq!(lower_first(""), "");
    }
}
