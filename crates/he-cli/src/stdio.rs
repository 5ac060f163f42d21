//! Standard input and output, and terminals among outputs: they are shown only text, and nothing
//! that controls them.

use crate::error::{CliError, IoContext, Result};
use crate::terminal::Screen;
use he_files::io::output::{Output, OutputOptions};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

const BUFFER: usize = 1 << 16;

/// Checks that standard input is named for one file only: the second would find nothing, or wait
/// forever.
///
/// # Errors
/// Two of the paths are `-`.
pub fn stdin_once<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    if paths.into_iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(CliError::usage("standard input is named for two files").hint("give - for one file only"));
    }
    Ok(())
}

/// Whether the bytes of an output may be shown by a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// They are text (characters that would control the terminal are escaped).
    Yes,
    /// They are not.
    No,
    /// They are shown if they turn out to be text, and refused otherwise.
    IfSo,
}

/// Starts the output `path`, or standard output for `-`. `inputs` are the files that are read
/// meanwhile.
///
/// # Errors
/// Binary data would go to a terminal; the errors of [`Output::create`].
pub fn create(
    path: impl AsRef<Path>,
    options: OutputOptions,
    text: Text,
    inputs: &[&Path],
) -> Result<Output> {
    let path = path.as_ref();
    if path.as_os_str() == "-" {
        return shown(io::stdout(), io::stdout().is_terminal(), text, "standard output".to_owned());
    }
    let is_device = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    if !is_device {
        return Ok(Output::create(path, options, inputs)?);
    }
    let file = File::options().write(true).open(path).writing(path)?;
    let is_terminal = file.is_terminal();
    shown(file, is_terminal, text, path.display().to_string())
}

/// A writer that may be a terminal.
fn shown(writer: impl Write + Send + 'static, is_terminal: bool, text: Text, name: String) -> Result<Output> {
    check_terminal(is_terminal, text)?;
    let screen = Screen::new(BufWriter::with_capacity(BUFFER, writer), is_terminal);
    Ok(match is_terminal && text == Text::IfSo {
        true => Output::to_writer(name, Guarded { guard: TextGuard::default(), inner: screen }),
        false => Output::to_writer(name, screen),
    })
}

fn check_terminal(is_terminal: bool, text: Text) -> Result<()> {
    if is_terminal && text == Text::No { Err(binary_to_terminal()) } else { Ok(()) }
}

fn binary_to_terminal() -> CliError {
    CliError::new("binary data would go to the terminal").hint("write to a file with -o FILE, or into a pipe")
}

/// A writer that accepts only text.
struct Guarded<W> {
    guard: TextGuard,
    inner: W,
}

impl<W: Write> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.guard.check(bytes).map_err(io::Error::other)?;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Lets text pass to a terminal, piece by piece, and nothing else: UTF-8 without control
/// characters, but for tabs and line ends.
#[derive(Debug, Default)]
struct TextGuard {
    /// The first bytes of a character whose others are in the next piece.
    cut: Vec<u8>,
}

impl TextGuard {
    /// Looks at the next piece before it is written.
    ///
    /// # Errors
    /// It is not text.
    fn check(&mut self, piece: &[u8]) -> Result<()> {
        const LONGEST: usize = 4;
        let (mut rest, mut start) = (piece, std::mem::take(&mut self.cut));
        if !start.is_empty() {
            let (few, more) = piece.split_at(piece.len().min(LONGEST));
            start.extend_from_slice(few);
            let taken = Self::text(&start)?;
            if more.is_empty() {
                self.cut = start.split_off(taken);
                return Ok(());
            }
            // Less than a character is left of these, and it is all in the piece.
            rest = &piece[few.len() - (start.len() - taken)..];
        }
        self.cut = rest[Self::text(rest)?..].to_vec();
        Ok(())
    }

    /// The number of bytes that are whole characters of text; a character that is cut off at the
    /// end may follow.
    fn text(bytes: &[u8]) -> Result<usize> {
        let (text, taken) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, bytes.len()),
            Err(error) if error.error_len().is_none() => {
                let taken = error.valid_up_to();
                (std::str::from_utf8(&bytes[..taken]).unwrap_or_default(), taken)
            }
            Err(_) => return Err(binary_to_terminal()),
        };
        match text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
            true => Err(binary_to_terminal()),
            false => Ok(taken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_binary_to_a_terminal() {
        assert!(check_terminal(true, Text::No).is_err());
        assert!(check_terminal(true, Text::Yes).is_ok());
        assert!(check_terminal(false, Text::No).is_ok());
    }

    #[test]
    fn text_passes_however_it_is_cut() {
        let text = "plain, tab\t, größe, 数, 🦀, end\r\n".as_bytes();
        for step in 1..=text.len() {
            let mut guard = TextGuard::default();
            text.chunks(step).for_each(|piece| guard.check(piece).unwrap());
        }
        // Control characters of one byte and of two, half a character, and what UTF-8 has not.
        for bad in [&b"a\0"[..], b"\x1b[2J", b"\x7f", "a\u{9b}2J".as_bytes(), b"\xc3(", b"\xff", b"\x80"] {
            for step in 1..=bad.len() {
                let mut guard = TextGuard::default();
                assert!(bad.chunks(step).any(|piece| guard.check(piece).is_err()), "{bad:?}, {step}");
            }
        }
    }
}
