//! The room on the disk, of which some is left for the database.

use crate::problem::{Answer, Problem};
use std::path::{Path, PathBuf};

/// The disk of a folder.
#[derive(Debug)]
pub struct Space {
    folder: PathBuf,
    reserve: u64,
}

impl Space {
    /// Watches the space of this folder, of which so many bytes stay free.
    pub fn new(folder: &Path, reserve: u64) -> Self {
        Self { folder: folder.to_owned(), reserve }
    }

    /// The free bytes, if the operating system says them.
    pub fn free(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let disk = rustix::fs::statvfs(&self.folder).ok()?;
            Some(disk.f_bavail.saturating_mul(disk.f_frsize))
        }
        #[cfg(not(unix))]
        None
    }

    /// Checks that there is room for so many bytes more.
    ///
    /// # Errors
    /// There is not: 507.
    pub fn check(&self, bytes: u64) -> Answer<()> {
        let Some(free) = self.free() else { return Ok(()) };
        match bytes.saturating_add(self.reserve) > free {
            true => Err(Problem::disk_full()),
            false => Ok(()),
        }
    }

    /// Whether what stays free is there.
    pub fn has_reserve(&self) -> bool {
        self.check(0).is_ok()
    }
}
