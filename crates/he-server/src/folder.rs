//! The lock of the folder of the service, which the operating system gives back when the process
//! that holds it ends, however it ends.

use crate::clock;
use crate::store::private_folder;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The name of the file that is locked.
const NAME: &str = "lock";

/// A process that uses a folder or a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// When it began, in milliseconds.
    pub since: i64,
}

impl Holder {
    /// This process, from now on.
    pub fn this() -> Self {
        Self { pid: std::process::id(), host: host(), since: clock::now() }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host: String = self.host.escape_debug().collect();
        write!(f, "process {} on {host} since {}", self.pid, clock::text(self.since))
    }
}

/// The name of this machine, as far as the system tells it.
fn host() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    told.map(|name| name.trim().chars().take(255).collect()).unwrap_or_else(|| "this machine".to_owned())
}

/// A folder that no other process uses.
#[derive(Debug)]
pub struct Folder {
    file: File,
}

impl Folder {
    /// Makes the folder if there is none, and locks it for `holder`.
    ///
    /// # Errors
    /// The holder of it, as far as that can be read; or the folder cannot be used.
    pub fn lock(path: &Path, holder: &Holder) -> io::Result<Result<Self, Option<Holder>>> {
        private_folder(path)?;
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path.join(NAME))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // On some systems the holder alone may read it.
                let _ = file.take(1 << 12).read_to_string(&mut text);
                return Ok(Err(serde_json::from_str(&text).ok()));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}", serde_json::to_string(holder).map_err(io::Error::other)?)?;
        Ok(Ok(Self { file }))
    }

    /// A name of the lock while the system runs: of two processes that name the same, one has
    /// ended. Nothing where the system does not tell.
    pub fn identity(&self) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            let file = self.file.metadata().ok()?;
            Some(format!("{}/{}/{}", boot.trim(), file.dev(), file.ino()))
        }
        #[cfg(not(unix))]
        None
    }

    /// Gives the lock back while the process goes on.
    pub fn release(&self) {
        // Otherwise the end of the process does it.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_holder_at_a_time() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("data");
        let (first, second) = (Holder::this(), Holder { pid: 7, host: "a\nb".to_owned(), since: 0 });
        let held = Folder::lock(&path, &first).unwrap().unwrap();
        assert_eq!(Folder::lock(&path, &second).unwrap().unwrap_err(), Some(first));
        let identity = held.identity();
        drop(held);
        let again = Folder::lock(&path, &second).unwrap().unwrap();
        assert_eq!(again.identity(), identity);
        assert_eq!(second.to_string(), "process 7 on a\\nb since 1970-01-01T00:00:00Z");
    }
}
