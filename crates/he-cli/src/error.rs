//! Errors as the person at the terminal sees them, and the exit code that they decide.
//!
//! Printed on standard error as `he-cli: error: …`, then `he-cli: hint: …`; both are lower case and end without a
//! period. With `--json` it is one line of JSON. Warnings, of what does not stop the work, look the
//! same but for the word. A broken pipe (`he-cli … | head`) is a success of the reader, so it is
//! silent and exits with 0.

use crate::console;
use crate::terminal::json_line;
use he_files::error::Class;
use serde_json::{Value, json};
use std::io::{self, Write};

pub use crate::terminal::one_line;
pub use he_files::Error as CliError;
pub use he_files::error::IoContext;

/// Result of everything in this program.
pub type Result<T, E = CliError> = std::result::Result<T, E>;

/// The exit code: 0 for a broken pipe, 1 for a failure, 2 for wrong usage.
pub fn exit_code(error: &CliError) -> u8 {
    match error.class() {
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
/// What `out` reports.
pub fn report_json(error: &CliError, out: &mut impl Write) -> io::Result<()> {
    match error.class() {
        Class::BrokenPipe => Ok(()),
        _ => writeln!(out, "{}", json_line(&json_of(error))),
    }
}

/// Writes the error and its hint, a line each; nothing for a broken pipe.
///
/// # Errors
/// What `out` reports.
pub fn report(error: &CliError, out: &mut impl Write) -> io::Result<()> {
    if error.class() == Class::BrokenPipe {
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
        let pipe = CliError::from_io(&io::ErrorKind::BrokenPipe.into(), "write", "standard output");
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
        let pipe = CliError::from_io(&io::ErrorKind::BrokenPipe.into(), "write", "standard output");
        assert_eq!(exit_code(&pipe), 0);
        assert_eq!(printed(&pipe), "");
    }
}
