//! The summary of a command that writes files: lines for people on standard error, or one JSON
//! object for programs on standard output, or on standard error if standard output carries the
//! data.

use crate::error::{IoContext, Result};
use crate::{console, terminal};
use he_files::units;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// The summary, whose fields are in docs/command-line.md.
#[derive(Debug)]
pub struct Summary {
    facts: Map<String, Value>,
    lines: Vec<String>,
    stdout_has_data: bool,
}

impl Summary {
    /// Begins the summary of a command, by its name.
    pub fn new(command: &str) -> Self {
        let facts = Map::from_iter([("command".to_owned(), json!(command))]);
        Self { facts, lines: Vec::new(), stdout_has_data: false }
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Adds facts for programs.
    #[must_use]
    pub fn facts(mut self, facts: Map<String, Value>) -> Self {
        self.facts.extend(facts);
        self
    }

    /// Adds a file that was read or written, as it was named.
    #[must_use]
    pub fn path(self, name: &str, path: &Path) -> Self {
        self.fact(name, path.display().to_string())
    }

    /// Adds the file that was written; - is standard output, which then has no room for JSON.
    #[must_use]
    pub fn output(mut self, path: &Path) -> Self {
        self.stdout_has_data = path.as_os_str() == "-";
        self.path("output", path)
    }

    /// Adds what could be done better, before all lines.
    #[must_use]
    pub fn hint(mut self, text: &str) -> Self {
        self.facts.insert("hint".to_owned(), json!(text));
        self.lines.insert(0, format!("he-cli: hint: {text}"));
        self
    }

    /// Adds a line for people.
    #[must_use]
    pub fn line(mut self, text: impl Into<String>) -> Self {
        self.lines.push(text.into());
        self
    }

    /// Shows the lines for people, as a part of something longer.
    pub fn show(self) {
        if !console::is_json() && !console::is_quiet() {
            self.lines.iter().for_each(|line| console::line(line));
        }
    }

    /// Says it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn tell(mut self) -> Result<()> {
        if !console::is_json() {
            if !console::is_quiet() {
                self.lines.iter().for_each(|line| console::line(line));
            }
            return Ok(());
        }
        self.facts.insert("seconds".to_owned(), json!(console::elapsed().as_secs_f64()));
        let object = Value::Object(self.facts);
        if self.stdout_has_data {
            // The data are written, whether or not anybody reads the summary.
            let _ = writeln!(std::io::stderr().lock(), "{}", terminal::json(&object));
            return Ok(());
        }
        writeln!(std::io::stdout().lock(), "{}", terminal::json(&object)).writing("standard output")
    }
}

/// A path as people read it.
pub fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard output".to_owned() } else { path.display().to_string() }
}

/// The time that the command took, for people.
pub fn time() -> String {
    units::duration(console::elapsed())
}

/// The ratio of the encrypted file's size to the input's; nothing for an empty input.
pub fn expansion(input: u64, encrypted: u64) -> Option<f64> {
    (input > 0).then(|| encrypted as f64 / input as f64)
}

/// Sizes before and after encryption, for people: `12.0 MiB -> 96.0 MiB, 8.0 times`.
pub fn growth(input: u64, encrypted: u64) -> String {
    let sizes = format!("{} -> {}", units::bytes(input), units::bytes(encrypted));
    match expansion(input, encrypted) {
        Some(factor) if factor < 99.95 => format!("{sizes}, {factor:.1} times"),
        Some(factor) => format!("{sizes}, {factor:.0} times"),
        None => sizes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_read_at_a_glance() {
        for (input, encrypted, text) in [
            (12 << 20, 96 << 20, "12.0 MiB -> 96.0 MiB, 8.0 times"),
            (1000, 1016, "1000 B -> 1016 B, 1.0 times"),
            (4, 1 << 20, "4 B -> 1.00 MiB, 262144 times"),
            (10, 999, "10 B -> 999 B, 99.9 times"),
            (0, 80, "0 B -> 80 B"),
        ] {
            assert_eq!(growth(input, encrypted), text);
        }
    }

    #[test]
    fn data_and_json_do_not_share_standard_output() {
        assert!(Summary::new("encrypt").output(Path::new("-")).stdout_has_data);
        let summary = Summary::new("encrypt").output(Path::new("x.he")).fact("bytes", 3u64);
        assert!(!summary.stdout_has_data);
        let expected = json!({ "command": "encrypt", "output": "x.he", "bytes": 3 });
        assert_eq!(Value::Object(summary.facts), expected);
    }
}
