//! The destinations of results: files that appear completely or not at all, or any writer.
//!
//! A file is written without a name, or under a temporary one, in the folder of its destination and
//! gets its name only by [`Output::commit`], after its bytes have reached the disk. If it is
//! dropped before, or the program is interrupted, nothing is left behind; if the power fails, there
//! is an old file or a whole new one. Devices and pipes under a path (`/dev/null`) are written
//! directly, because a rename would replace them. Where there are no files, any writer is left.

#[cfg(not(target_family = "wasm"))]
mod files;
#[cfg(not(target_family = "wasm"))]
mod temporary;

use super::cancel::Cancel;
use crate::error::{IoContext, Result};
use std::io::{self, Write};

#[cfg(not(target_family = "wasm"))]
use self::files::Unplaced;
#[cfg(not(target_family = "wasm"))]
pub use self::files::{NewFolder, OutputFolder, create_dir, is_inside};
#[cfg(not(target_family = "wasm"))]
pub use self::temporary::move_file;

/// The options of an output.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Replace an existing file.
    pub force: bool,
    /// Only the owner may read it (mode 0600): a key.
    pub secret: bool,
    /// Only the owner may read it (mode 0600): something decrypted.
    pub private: bool,
}

enum Target {
    #[cfg(not(target_family = "wasm"))]
    File(Unplaced),
    Writer {
        writer: Box<dyn Write + Send>,
        name: String,
    },
}

/// One result being written. See the module's description.
pub struct Output {
    target: Target,
    bytes: u64,
    cancel: Cancel,
}

impl Output {
    /// Wraps any writer, which errors call `name`. It is flushed by [`commit`](Self::commit).
    pub fn to_writer(name: impl Into<String>, writer: impl Write + Send + 'static) -> Self {
        Self::to(Target::Writer { writer: Box::new(writer), name: name.into() })
    }

    fn to(target: Target) -> Self {
        Self { target, bytes: 0, cancel: Cancel::default() }
    }

    /// Fails to be written from the moment on in which the work is cancelled.
    #[must_use]
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// The bytes that were written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its name in errors: its path, or the name that it was given.
    pub fn name(&self) -> String {
        match &self.target {
            #[cfg(not(target_family = "wasm"))]
            Target::File(file) => file.name(),
            Target::Writer { name, .. } => name.clone(),
        }
    }

    /// Writes all of the bytes, for outputs that are made at once.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn holding(mut self, bytes: &[u8]) -> Result<Self> {
        let name = self.name();
        self.write_all(bytes).writing(name)?;
        Ok(self)
    }

    /// Completes the output, which then gets its name.
    ///
    /// # Errors
    /// The last bytes cannot be written, or the file appeared meanwhile and `force` is off. Nothing
    /// is left then.
    pub fn commit(self) -> Result<()> {
        let name = self.name();
        match self.target {
            Target::Writer { mut writer, .. } => writer.flush().writing(name),
            #[cfg(not(target_family = "wasm"))]
            Target::File(file) => file.place(),
        }
    }
}

/// A write that a signal interrupts is repeated, since not every writer above does that.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.cancel.check()?;
            let written = match &mut self.target {
                #[cfg(not(target_family = "wasm"))]
                Target::File(file) => file.write(bytes),
                Target::Writer { writer, .. } => writer.write(bytes),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => {
                    let written = written?;
                    self.bytes += written as u64;
                    return Ok(written);
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            #[cfg(not(target_family = "wasm"))]
            Target::File(file) => file.flush(),
            Target::Writer { writer, .. } => writer.flush(),
        }
    }
}
