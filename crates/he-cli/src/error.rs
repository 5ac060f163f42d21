//! Errors as the person at the terminal sees them, and the exit code that they decide.
//!
//! Printed on standard error as `he-cli: error: …`, then `he-cli: hint: …`; both are lower case and
//! end without a period. With `--json` it is one line of JSON. Warnings, of what does not stop the
//! work, look the same but for the word. A broken pipe (`he-cli … | head`) is a success of the
//! reader, so it is silent and exits with 0.

mod words;

pub use words::{NO_BUDGET, remedy};

use crate::console;
use crate::terminal::json_line;
use he_core::aes::AesError;
use he_cuda::gpu;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

pub use crate::terminal::one_line;

/// The meaning of a failure to the caller of the program, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The work failed: exit code 1.
    Failed,
    /// The command line itself was wrong: exit code 2.
    Usage,
    /// The reader of our output closed it: exit code 0, and nothing is printed.
    BrokenPipe,
}

/// An error as it is shown at the terminal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    message: String,
    hint: Option<String>,
    class: Class,
}

/// The result type of this program.
pub type Result<T, E = CliError> = std::result::Result<T, E>;

impl CliError {
    /// A failure of the work (exit code 1). `message` is lower case, without a final period.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, class: Class::Failed }
    }

    /// A wrong command line (exit code 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, class: Class::Usage }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a remedy, unless there is one.
    #[must_use]
    pub fn or_hint(mut self, hint: &str) -> Self {
        self.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// An error of the operating system while doing `verb` (`read`, `write`, …) to `name`.
    pub fn from_io(error: io::Error, verb: &'static str, name: impl Display) -> Self {
        he_files::Error::io(error, verb, name).into()
    }

    /// Puts the name of what it is about before the message.
    #[must_use]
    pub fn prefixed(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message);
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
}

impl From<he_files::Error> for CliError {
    fn from(error: he_files::Error) -> Self {
        let error = match error {
            // One of ours came through a writer.
            he_files::Error::Io { verb, name, source } => match source.downcast::<Self>() {
                Ok(own) => return own,
                Err(source) => he_files::Error::Io { verb, name, source },
            },
            he_files::Error::Caller(error) => match error.downcast::<Self>() {
                Ok(own) => return *own,
                Err(error) => he_files::Error::Caller(error),
            },
            error => error,
        };
        let class = match &error {
            error if error.is_broken_pipe() => Class::BrokenPipe,
            error if error.is_request() => Class::Usage,
            _ => Class::Failed,
        };
        let message = words::message(&error).unwrap_or_else(|| error.to_string());
        let hint = words::hint(&error).or_else(|| error.hint());
        Self { message, hint, class }
    }
}

/// On its way through the library.
impl From<CliError> for he_files::Error {
    fn from(error: CliError) -> Self {
        Self::Caller(Box::new(error))
    }
}

macro_rules! through_files {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                he_files::Error::from(error).into()
            }
        }
    )*};
}

through_files!(he_core::Error, he_core::params::ParamsError, AesError, gpu::Error, he_files::error::KeyError);

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

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("read", path)
    }

    fn writing(self, path: impl AsRef<Path>) -> Result<T> {
        self.doing("write", path)
    }

    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|error| CliError::from_io(error, verb, path.as_ref().display()))
    }
}

/// The exit code: 0 for a broken pipe, 1 for a failure, 2 for wrong usage.
pub fn exit_code(error: &CliError) -> u8 {
    match error.class {
        Class::BrokenPipe => 0,
        Class::Failed => 1,
        Class::Usage => 2,
    }
}

/// The error for programs: what is wrong, what to do about it (or null), the exit code.
pub fn json_of(error: &CliError) -> Value {
    json!({ "error": error.message(), "hint": error.hint_text(), "exit_code": exit_code(error) })
}

/// Writes the error as a line of JSON; nothing for a broken pipe.
///
/// # Errors
/// The errors of `out`.
pub fn report_json(error: &CliError, out: &mut impl Write) -> io::Result<()> {
    match error.class {
        Class::BrokenPipe => Ok(()),
        _ => writeln!(out, "{}", json_line(&json_of(error))),
    }
}

/// Writes the error and its hint, a line each; nothing for a broken pipe.
///
/// # Errors
/// The errors of `out`.
pub fn report(error: &CliError, out: &mut impl Write) -> io::Result<()> {
    if error.class == Class::BrokenPipe {
        return Ok(());
    }
    writeln!(out, "he-cli: error: {}", one_line(error.message()))?;
    if let Some(hint) = error.hint_text() {
        writeln!(out, "he-cli: hint: {}", one_line(hint))?;
    }
    Ok(())
}

/// Tells of something that does not stop the work, and of what to do about it, on standard error in
/// the form of an error.
pub fn warn(message: &str, hint: &str) {
    if console::is_json() {
        console::line(&json!({ "warning": message, "hint": hint }).to_string());
    } else {
        console::line(&format!("he-cli: warning: {message}"));
        console::line(&format!("he-cli: hint: {hint}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn printed(error: &CliError) -> String {
        let mut out = Vec::new();
        report(error, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prints_message_then_hint() {
        let error = CliError::new("no luck").hint("try again");
        assert_eq!(printed(&error), "he-cli: error: no luck\nhe-cli: hint: try again\n");
        assert_eq!(printed(&CliError::usage("what")), "he-cli: error: what\n");
    }

    #[test]
    fn programs_get_one_line_of_json() {
        let printed = |error: &CliError| {
            let mut out = Vec::new();
            report_json(error, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = printed(&CliError::new("a\nb").hint("\"c\""));
        assert_eq!(text, "{\"error\":\"a\\nb\",\"exit_code\":1,\"hint\":\"\\\"c\\\"\"}\n");
        assert_eq!(json_of(&CliError::usage("x")), json!({ "error": "x", "hint": null, "exit_code": 2 }));
        let pipe = CliError::from_io(io::ErrorKind::BrokenPipe.into(), "write", "standard output");
        assert_eq!(printed(&pipe), "");
    }

    #[test]
    fn control_characters_stay_on_one_line() {
        assert_eq!(printed(&CliError::new("a\nb\u{1b}[2J")), "he-cli: error: a\\nb\\u{1b}[2J\n");
    }

    #[test]
    fn exit_codes() {
        assert_eq!(exit_code(&CliError::new("x")), 1);
        assert_eq!(exit_code(&CliError::usage("x")), 2);
        let pipe = CliError::from_io(io::ErrorKind::BrokenPipe.into(), "write", "standard output");
        assert_eq!(exit_code(&pipe), 0);
        assert_eq!(printed(&pipe), "");
    }
}
