//! Text of one decimal number per line.

use crate::error::{At as _, Error};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

/// The longest line: 2^64 - 1 and its end.
const LINE: u64 = 22;
/// The form of a line.
const NUMBER: &str = "an integer below 2^64";
/// The bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// Reads numbers from a file, some at a time.
#[derive(Debug)]
pub(super) struct Numbers {
    path: PathBuf,
    file: BufReader<File>,
    line: Vec<u8>,
    count: u64,
}

impl Numbers {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = BufReader::with_capacity(BUFFER, File::open(path).at(path)?);
        Ok(Self { path: path.into(), file, line: Vec::new(), count: 0 })
    }

    /// The next numbers, fewer than `most` only at the end of the file.
    pub(super) fn next(&mut self, most: usize) -> Result<Vec<u64>, Error> {
        let mut numbers = Vec::with_capacity(most);
        while numbers.len() < most {
            self.line.clear();
            if self.file.by_ref().take(LINE).read_until(b'\n', &mut self.line).at(&self.path)? == 0 {
                break;
            }
            self.count += 1;
            numbers.push(self.number()?);
        }
        Ok(numbers)
    }

    /// The number of the line.
    fn number(&self) -> Result<u64, Error> {
        let text = std::str::from_utf8(&self.line).ok().map(str::trim_end);
        let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let wrong = || Error::Line { path: self.path.clone(), line: self.count, needed: NUMBER };
        digits.and_then(|text| text.parse().ok()).ok_or_else(wrong)
    }
}

/// Writes numbers, one per line.
pub(super) fn write(out: &mut impl Write, numbers: &[u64]) -> std::io::Result<()> {
    numbers.iter().try_for_each(|number| writeln!(out, "{number}"))
}
