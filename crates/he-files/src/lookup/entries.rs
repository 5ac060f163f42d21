//! Keys and values from a text.

use crate::error::{LookupError, Result};
use crate::io::input::Input;

/// The longest text that is read.
const MAX_BYTES: u64 = 1 << 34;

/// The entries of a text: a key, a tab and a value on each line. Values are filled with zeros to
/// `bytes`.
///
/// # Errors
/// A line has no tab, or its value is too long; the text cannot be read.
pub fn entries(input: Input, bytes: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let name = input.name().to_owned();
    let text = input.read_all(MAX_BYTES)?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.zip(1..).map(|(text, line)| entry(text, line, bytes, &name)).collect()
}

fn entry(text: &[u8], line: usize, bytes: usize, name: &str) -> Result<(Vec<u8>, Vec<u8>)> {
    let name = || name.to_owned();
    let Some(tab) = text.iter().position(|&byte| byte == b'\t') else {
        return Err(LookupError::Entry { name: name(), line }.into());
    };
    let (key, mut value) = (text[..tab].to_vec(), text[tab + 1..].to_vec());
    if value.len() > bytes {
        return Err(LookupError::Value { name: name(), line, found: value.len(), limit: bytes }.into());
    }
    value.resize(bytes, 0);
    Ok((key, value))
}
