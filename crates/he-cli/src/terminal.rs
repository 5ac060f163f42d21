//! The text that a terminal may be shown. Senders choose the names in their files: control
//! characters control a terminal (`ESC ]0;…` renames its window), and bidirectional characters make
//! text look different from what it is.

use serde_json::Value;
use std::io::{self, Write};

/// Whether a character controls a terminal, is invisible, or changes how the surrounding text is
/// read: all control characters (Cc), those of direction (Bidi_Control), separators of lines and
/// paragraphs, invisible operators and tags.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes each unsafe character but those of `plain` as `\n`, `\u{1b}` and so on.
fn escape(text: &str, plain: &[char], out: &mut String) {
    for c in text.chars() {
        if is_unsafe(c) && !plain.contains(&c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
}

/// The text in one line, unsafe characters escaped.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    escape(text, &[], &mut line);
    line
}

/// Indented JSON of the same value, unsafe characters in its strings as `\uXXXX`.
pub fn json(value: &Value) -> String {
    spelt(&format!("{value:#}"))
}

/// JSON of the same value in one line.
pub fn json_line(value: &Value) -> String {
    spelt(&value.to_string())
}

/// JSON text with unsafe characters as `\uXXXX`. Outside of strings there are only line feeds, and
/// inside serde_json escapes those.
fn spelt(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) && c != '\n' {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

/// Writes text to a terminal with unsafe characters escaped, but for tabs and ends of lines; to
/// anything else the bytes as they are.
#[derive(Debug)]
pub struct Screen<W> {
    inner: W,
    is_terminal: bool,
    /// The start of a character whose rest is still to come.
    start: Vec<u8>,
}

impl<W: Write> Screen<W> {
    /// Shows on `inner`.
    pub fn new(inner: W, is_terminal: bool) -> Self {
        Self { inner, is_terminal, start: Vec::new() }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        self.start.extend_from_slice(bytes);
        // Whether it belongs to the end of a line is not known yet.
        let open = usize::from(self.start.ends_with(b"\r"));
        let (known, open) = self.start.split_at(self.start.len() - open);
        let (mut text, mut rest) = (String::new(), known);
        loop {
            let (valid, next) = match std::str::from_utf8(rest) {
                Ok(all) => (all.len(), rest.len()),
                Err(error) => {
                    let valid = error.valid_up_to();
                    (valid, valid + error.error_len().unwrap_or(0))
                }
            };
            for chunk in rest[..next].utf8_chunks() {
                for (at, line) in chunk.valid().split("\r\n").enumerate() {
                    text.push_str(if at > 0 { "\r\n" } else { "" });
                    escape(line, &['\n', '\t'], &mut text);
                }
                text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
            }
            rest = &rest[next..];
            if next == valid {
                break;
            }
        }
        self.start = [rest, open].concat();
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        for byte in std::mem::take(&mut self.start) {
            write!(self.inner, "\\x{byte:02x}")?;
        }
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}\u{200f}\u{feff}\u{e0041}\r\0é漢\u{200d}";
    const SHOWN: &str =
        "a\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\\u{2066}\\u{200f}\\u{feff}\\u{e0041}\\r\\u{0}é漢\u{200d}";

    #[test]
    fn hostile_text_is_spelt_out() {
        assert_eq!(one_line(HOSTILE), SHOWN);
        assert_eq!(one_line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn json_keeps_its_value_in_harmless_characters() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1, {}], "b": "\n" });
        let text = json(&value);
        assert!(!text.chars().any(|c| is_unsafe(c) && c != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn terminals_get_harmless_text_however_it_is_cut() {
        let bytes = [HOSTILE.as_bytes(), b"\n\t\xff\xc3(\xe6\xbc"].concat();
        for step in 1..=bytes.len() {
            let mut out = Vec::new();
            let mut screen = Screen::new(&mut out, true);
            bytes.chunks(step).for_each(|part| screen.write_all(part).unwrap());
            screen.flush().unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{SHOWN}\n\t\\xff\\xc3(\\xe6\\xbc"),
                "step {step}"
            );
        }
        // Ends of lines of both kinds pass, wherever they are cut.
        for step in 1..=9 {
            let mut out = Vec::new();
            let mut screen = Screen::new(&mut out, true);
            b"a\r\nb\rc\r\n\r".chunks(step).for_each(|part| screen.write_all(part).unwrap());
            screen.flush().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), "a\r\nb\\rc\r\n\\x0d", "step {step}");
        }
        let mut out = Vec::new();
        Screen::new(&mut out, false).write_all(&bytes).unwrap();
        assert_eq!(out, bytes);
    }
}
