//! Errors of the libraries as Python exceptions, with their texts.

use he_core::params::ParamsError;
use he_core::wire::WireError;
use he_files::error::{IntersectionError, LookupError, OperationError, OutputError, PartyError, SearchError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileExistsError, PyFileNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::io::ErrorKind;

create_exception!(he, Error, PyException, "Anything that goes wrong in this package and has no better name.");
create_exception!(
    he,
    ParameterError,
    Error,
    "Parameters that do not exist, or an object of other parameters."
);
create_exception!(he, KeySetError, Error, "A key that is missing, or that belongs to another key set.");
create_exception!(he, DepthError, Error, "No level or noise budget is left for an operation.");
create_exception!(he, DecryptionError, Error, "A ciphertext that does not decrypt to anything.");
create_exception!(he, FormatError, Error, "Bytes or a file that are not what they should be.");
create_exception!(he, DeviceError, Error, "A device that does not exist or that fails.");
create_exception!(he, ForkError, DeviceError, "A CUDA context used in another process than its own.");
create_exception!(he, ModelError, Error, "A model that is not supported, or inputs that it does not take.");
create_exception!(he, InternalError, Error, "A defect of this package: please report it.");

/// The errors of work while Python is not attached.
#[derive(Debug)]
pub enum Fault {
    Core(he_core::Error),
    Files(he_files::Error),
    Nn(he_nn::Error),
    /// Something of the wrong value, in Python's sense.
    Value(String),
    /// Something of the wrong type.
    Type(String),
    /// A key that is not there, and how to get it.
    Key(String),
    /// An object of other parameters or of another device.
    Params(String),
    Format(String),
    Fork(String),
    /// An exception of Python, such as that of Ctrl-C.
    Raised(PyErr),
    /// The text of a panic.
    Panic(String),
}

pub type Result<T, E = Fault> = std::result::Result<T, E>;

impl From<he_core::Error> for Fault {
    fn from(error: he_core::Error) -> Self {
        Self::Core(error)
    }
}

impl From<he_files::Error> for Fault {
    fn from(error: he_files::Error) -> Self {
        Self::Files(error)
    }
}

impl From<he_any::Error> for Fault {
    fn from(error: he_any::Error) -> Self {
        use he_any::Error as E;
        let text = error.to_string();
        match error {
            E::Core(error) => Self::Core(error),
            E::NoParams | E::NotParams { .. } => Self::Format(text),
            E::NotIntegers | E::ComplexVariance => Self::Type(text),
            E::NoBootstrapping => Self::Params(format!("{text}; take those of he.Params.bootstrapping")),
            E::NoKeys => Self::Key(text),
            E::Layout(_) | E::Column { .. } | E::OutOfRange { .. } | E::Nothing { .. } => Self::Value(text),
        }
    }
}

impl From<he_any::layout::LayoutError> for Fault {
    fn from(error: he_any::layout::LayoutError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<he_nn::Error> for Fault {
    fn from(error: he_nn::Error) -> Self {
        Self::Nn(error)
    }
}

impl From<ParamsError> for Fault {
    fn from(error: ParamsError) -> Self {
        Self::Core(error.into())
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Self::Core(error.into())
    }
}

/// The exception of an error of he-core.
fn of_core(error: &he_core::Error) -> PyErr {
    use he_core::Error as E;
    let text = error.to_string();
    match error {
        E::InvalidParams(ParamsError::OutOfRange { .. })
        | E::TooManyValues { .. }
        | E::NotFinite { .. }
        | E::ValueTooLarge { .. }
        | E::CoefficientTooLarge { .. }
        | E::PlainRange { .. }
        | E::SlotCount { .. }
        | E::BatchMismatch { .. }
        | E::BatchRange { .. }
        | E::LevelTooHigh { .. }
        | E::Argument { .. } => PyValueError::new_err(text),
        E::InvalidParams(_) | E::ParamsMismatch { .. } | E::RingMismatch => ParameterError::new_err(text),
        E::KeyMismatch { .. }
        | E::MissingGaloisKey { .. }
        | E::MissingConjugationKey
        | E::MissingRelinKey => KeySetError::new_err(match error {
            E::KeyMismatch { .. } => format!(
                "{text}: every keygen makes a key set of its own, with which earlier ciphertexts have nothing in \
                 common; use the keys that the ciphertext was made with, and set context.evaluation_keys to theirs"
            ),
            _ => text,
        }),
        E::LevelExhausted { .. } | E::BudgetSpent { .. } | E::ModulusExhausted { .. } => {
            DepthError::new_err(text)
        }
        E::NotDecrypted { .. } | E::BadDigits { .. } | E::NoiseBudget { .. } => {
            DecryptionError::new_err(text)
        }
        E::Wire(WireError::WrongParams { .. }) => ParameterError::new_err(text),
        E::Wire(_) => FormatError::new_err(text),
        E::DeviceMismatch { .. } | E::Backend { .. } => DeviceError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// A message and what to do about it.
fn with_hint(message: String, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message,
    }
}

/// The remedy for an error of he-files, in the terms of this package.
fn hint(error: &he_files::Error) -> Option<String> {
    use he_core::aes::container::ContainerError;
    match error {
        he_files::Error::InFile { source, .. } | he_files::Error::Unreadable { source, .. } => hint(source),
        he_files::Error::Container(ContainerError::Cost { .. }) => {
            Some("if you know who made the file, pass allow_cost=True".to_owned())
        }
        he_files::Error::LookupFile(LookupError::NoDatabase { .. }) => {
            Some("make one with he.lookup.Database.prepare".to_owned())
        }
        he_files::Error::IntersectionFile(IntersectionError::NoSet { .. }) => {
            Some("make one with he.intersect.Set.prepare".to_owned())
        }
        he_files::Error::SearchFile(error) => search_hint(error).map(str::to_owned).or_else(|| error.hint()),
        error => error.hint(),
    }
}

/// The remedy for a file that does not serve a search.
fn search_hint(error: &SearchError) -> Option<&'static str> {
    use SearchError as E;
    Some(match error {
        E::NoIndex { .. } => "make one with he.Index.create",
        E::Exists { .. } => "open it with he.Index, or choose another folder",
        E::Description { .. } => "get an undamaged copy of the folder",
        E::Version { .. } => "update this package",
        E::Part { .. } => "pass the query that Index.query returned, or the answer to it",
        E::OtherPlan { .. } => "make it for this index",
        E::OtherKeys { .. } => "use the keys that Index.keygen made for this index",
        E::OtherOwner { .. } => "use the keys that the first records were encrypted with",
        E::Decrypt { .. } => "the functions of he.search decrypt answers",
        _ => return None,
    })
}

/// The exception of a file that does not serve a search.
fn of_search_file(error: &SearchError, text: String) -> PyErr {
    use SearchError as E;
    match error {
        E::NoIndex { .. } => PyFileNotFoundError::new_err(text),
        E::Exists { .. } => PyFileExistsError::new_err(text),
        E::OtherPlan { .. } | E::OtherKeys { .. } => ParameterError::new_err(text),
        E::OtherOwner { .. } => KeySetError::new_err(text),
        E::Description { .. } | E::Version { .. } | E::Part { .. } | E::Decrypt { .. } => {
            FormatError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

/// The exception of a search that cannot be planned, encrypted, computed or read.
fn of_search(error: &he_search::Error, text: String) -> PyErr {
    match error {
        he_search::Error::Shape { .. } => FormatError::new_err(text),
        he_search::Error::Tangled { .. } => DecryptionError::new_err(text),
        he_search::Error::Task { .. } => ParameterError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception of a file that does not serve a look-up.
fn of_lookup_file(error: &LookupError, text: String) -> PyErr {
    use LookupError as E;
    match error {
        E::NoDatabase { .. } => PyFileNotFoundError::new_err(text),
        E::Exists { .. } => PyFileExistsError::new_err(text),
        E::Packs { .. } => FormatError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception of a look-up that cannot be prepared, asked, answered or read.
fn of_lookup(error: &he_lookup::Error, text: String) -> PyErr {
    use he_lookup::Error as E;
    match error {
        E::OtherDatabase { .. } | E::Insecure { .. } => ParameterError::new_err(text),
        E::ForeignAnswer => KeySetError::new_err(text),
        E::Damaged { .. } => FormatError::new_err(text),
        E::Arrangement { .. } => Error::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception of a set or a message of an intersection.
fn of_intersection(error: &he_psi::Error, text: String) -> PyErr {
    use he_psi::Error as E;
    match error {
        E::NoParameters { .. } | E::Plan { .. } => ParameterError::new_err(text),
        E::ServerKey { .. } => KeySetError::new_err(text),
        E::Bytes { .. } | E::Point { .. } | E::Shape { .. } => FormatError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception of an error of he-files.
fn of_files(error: &he_files::Error) -> PyErr {
    use he_files::Error as E;
    let text = || with_hint(error.to_string(), hint(error));
    match error {
        E::Io { source, .. } | E::Unpack { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text()),
            ErrorKind::AlreadyExists => PyFileExistsError::new_err(text()),
            _ => pyo3::exceptions::PyOSError::new_err(text()),
        },
        E::InFile { source, .. } | E::Unreadable { source, .. } => of_files(source).renamed(text()),
        E::Output(OutputError::Exists { .. } | OutputError::FolderExists { .. }) => {
            PyFileExistsError::new_err(text())
        }
        E::Core(core) => of_core(core).renamed(text()),
        E::Container(_) | E::Aes(_) | E::File(_) | E::Note(_) | E::AesFile(_) | E::Seal(_) => {
            FormatError::new_err(text())
        }
        E::Gpu(_) | E::NoDevice => DeviceError::new_err(text()),
        E::Key(_) | E::Passphrase(_) => KeySetError::new_err(text()),
        E::Operation(OperationError::TooLate { .. } | OperationError::AfterStatistic { .. }) => {
            DepthError::new_err(text())
        }
        E::Table(_) | E::Picture(_) | E::Content(_) | E::Operation(_) => PyValueError::new_err(text()),
        E::Party(PartyError::Integers { .. }) => ParameterError::new_err(text()),
        E::Party(error) if error.is_request() => PyValueError::new_err(text()),
        E::Model(_) | E::Nn(_) => ModelError::new_err(text()),
        E::SearchFile(error) => of_search_file(error, text()),
        E::Search(error) => of_search(error, text()),
        E::LookupFile(error) => of_lookup_file(error, text()),
        E::Lookup(error) => of_lookup(error, text()),
        E::IntersectionFile(IntersectionError::NoSet { .. }) => PyFileNotFoundError::new_err(text()),
        E::IntersectionFile(_) => PyValueError::new_err(text()),
        E::Intersection(error) => of_intersection(error, text()),
        _ => Error::new_err(text()),
    }
}

/// The same exception with another text.
trait Renamed {
    fn renamed(self, text: String) -> Self;
}

impl Renamed for PyErr {
    fn renamed(self, text: String) -> Self {
        Python::attach(|py| Self::from_type(self.get_type(py), text))
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Core(error) => of_core(&error),
            Fault::Files(error) => of_files(&error),
            Fault::Nn(error) => ModelError::new_err(with_hint(error.to_string(), error.hint())),
            Fault::Value(text) => PyValueError::new_err(text),
            Fault::Type(text) => PyTypeError::new_err(text),
            Fault::Key(text) => KeySetError::new_err(text),
            Fault::Params(text) => ParameterError::new_err(text),
            Fault::Format(text) => FormatError::new_err(text),
            Fault::Fork(text) => ForkError::new_err(text),
            Fault::Raised(error) => error,
            Fault::Panic(text) => InternalError::new_err(format!("{text}; please report this defect")),
        }
    }
}

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, exception) in [
        ("Error", py.get_type::<Error>()),
        ("ParameterError", py.get_type::<ParameterError>()),
        ("KeySetError", py.get_type::<KeySetError>()),
        ("DepthError", py.get_type::<DepthError>()),
        ("DecryptionError", py.get_type::<DecryptionError>()),
        ("FormatError", py.get_type::<FormatError>()),
        ("DeviceError", py.get_type::<DeviceError>()),
        ("ForkError", py.get_type::<ForkError>()),
        ("ModelError", py.get_type::<ModelError>()),
        ("InternalError", py.get_type::<InternalError>()),
    ] {
        module.add(name, exception)?;
    }
    Ok(())
}
