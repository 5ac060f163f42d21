//! The one error type of the command line: a message, an optional hint and the class that decides the exit code.
//!
//! Printed on standard error as `he-cli: error: …`, then `he-cli: hint: …`; both are lower case and end without a
//! period. With `--json` it is one line of JSON. Warnings, of what does not stop the work, look the
//! same but for the word. A broken pipe (`he-cli … | head`) is a success of the reader, so it is
//! silent and exits with 0.

use crate::console;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

// What is said of files may hold any character.
use crate::terminal::json_line;
pub use crate::terminal::one_line;

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
pub struct CliError {
    message: String,
    hint: Option<String>,
    class: Class,
}

/// Result of everything in this program.
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
    pub fn from_io(error: &io::Error, verb: &str, name: impl Display) -> Self {
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

    /// The exit code: 0 for a broken pipe, 1 for a failure, 2 for wrong usage.
    pub fn exit_code(&self) -> u8 {
        match self.class {
            Class::BrokenPipe => 0,
            Class::Failed => 1,
            Class::Usage => 2,
        }
    }

    /// The error for programs: what is wrong, what to do about it (or null), the exit code.
    pub fn json(&self) -> Value {
        json!({ "error": self.message, "hint": self.hint, "exit_code": self.exit_code() })
    }

    /// Writes the error as a line of JSON; nothing for a broken pipe.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn report_json(&self, out: &mut impl Write) -> io::Result<()> {
        if self.class == Class::BrokenPipe { Ok(()) } else { writeln!(out, "{}", json_line(&self.json())) }
    }

    /// Writes the error and its hint, a line each; nothing for a broken pipe.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn report(&self, out: &mut impl Write) -> io::Result<()> {
        if self.class == Class::BrokenPipe {
            return Ok(());
        }
        writeln!(out, "he-cli: error: {}", one_line(&self.message))?;
        if let Some(hint) = &self.hint {
            writeln!(out, "he-cli: hint: {}", one_line(hint))?;
        }
        Ok(())
    }
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
        self.map_err(|e| CliError::from_io(&e, verb, path.as_ref().display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(error: &CliError) -> String {
        let mut out = Vec::new();
        error.report(&mut out).unwrap();
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
            error.report_json(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = printed(&CliError::new("a\nb").hint("\"c\""));
        assert_eq!(text, "{\"error\":\"a\\nb\",\"exit_code\":1,\"hint\":\"\\\"c\\\"\"}\n");
        assert_eq!(CliError::usage("x").json(), json!({ "error": "x", "hint": null, "exit_code": 2 }));
        let pipe = CliError::from_io(&io::ErrorKind::BrokenPipe.into(), "write", "standard output");
        assert_eq!(printed(&pipe), "");
    }

    #[test]
    fn control_characters_stay_on_one_line() {
        assert_eq!(printed(&CliError::new("a\nb\u{1b}[2J")), "he-cli: error: a\\nb\\u{1b}[2J\n");
    }

    #[test]
    fn exit_codes() {
        assert_eq!(CliError::new("x").exit_code(), 1);
        assert_eq!(CliError::usage("x").exit_code(), 2);
        let pipe = CliError::from_io(&io::ErrorKind::BrokenPipe.into(), "write", "standard output");
        assert_eq!(pipe.exit_code(), 0);
        assert_eq!(printed(&pipe), "");
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
