//! Files that appear when they are complete.

use crate::error::{At as _, Error};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

/// A file under another name until it is complete.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    part: PathBuf,
}

impl Output {
    /// Creates the file, and the folder that it is in.
    pub(crate) fn create(path: &Path) -> Result<(Self, BufWriter<File>), Error> {
        let part = path.with_extension("part");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).at(folder)?;
        }
        let file = File::create(&part).at(&part)?;
        Ok((Self { path: path.into(), part }, BufWriter::with_capacity(BUFFER, file)))
    }

    /// Gives the file its name, once everything is written.
    pub(crate) fn complete(self) -> Result<(), Error> {
        std::fs::rename(&self.part, &self.path).at(&self.path)
    }
}

/// Writes a file whole.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (output, mut file) = Output::create(path)?;
    std::io::Write::write_all(&mut file, bytes).at(path)?;
    std::io::Write::flush(&mut file).at(path)?;
    output.complete()
}
