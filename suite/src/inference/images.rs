//! The images of the harness: text of one image per line, pixel by pixel.

use crate::error::{At as _, Error};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// The pixels of an image.
pub(super) const PIXELS: usize = 28 * 28;

/// The longest line: a pixel has fewer than 30 characters, and one between it and the next.
const LINE: u64 = 30 * PIXELS as u64;

/// The form of a line.
const LINE_FORM: &str = "784 numbers from 0 to 1";

/// Reads images from a file, one at a time.
#[derive(Debug)]
struct Images {
    path: PathBuf,
    file: BufReader<File>,
    line: Vec<u8>,
    count: u64,
}

impl Images {
    /// The next image, if there is one.
    fn next(&mut self) -> Result<Option<Vec<f64>>, Error> {
        self.line.clear();
        if self.file.by_ref().take(LINE).read_until(b'\n', &mut self.line).at(&self.path)? == 0 {
            return Ok(None);
        }
        self.count += 1;
        let wrong = || Error::Line { path: self.path.clone(), line: self.count, needed: LINE_FORM };
        pixels(&self.line).ok_or_else(wrong).map(Some)
    }
}

/// The pixels of a line, if it is one.
fn pixels(line: &[u8]) -> Option<Vec<f64>> {
    let number = |word: &str| word.parse().ok().filter(|pixel| (0.0..=1.0).contains(pixel));
    let words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.map(number).collect::<Option<Vec<f64>>>().filter(|pixels| pixels.len() == PIXELS)
}

/// All images of a file that has from one to so many.
pub(super) fn read(path: &Path, most: usize) -> Result<Vec<Vec<f64>>, Error> {
    let file = BufReader::new(File::open(path).at(path)?);
    let mut images = Images { path: path.into(), file, line: Vec::new(), count: 0 };
    let mut all = Vec::new();
    while let Some(image) = images.next()? {
        if all.len() == most {
            return Err(Error::count(path, format!("more than {most} images"), format!("1 to {most}")));
        }
        all.push(image);
    }
    match all.len() {
        0 => Err(Error::count(path, "no image", format!("1 to {most}"))),
        _ => Ok(all),
    }
}
