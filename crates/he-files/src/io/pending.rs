//! Files and folders under temporary names, or without use: a program that is ended by a signal
//! removes them first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file or folder under a temporary name.
    Temporary,
    /// A folder under its own name: removed only while it is empty.
    Folder,
}

static PENDING: Mutex<BTreeMap<PathBuf, Kind>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Their contents stay valid whatever a panicking thread was doing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder, removed if a signal ends the program before this is dropped.
#[derive(Debug)]
pub struct Pending(PathBuf);

impl Pending {
    /// Registers a file or folder with a temporary name.
    pub fn new(path: PathBuf) -> Self {
        Self::of(path, Kind::Temporary)
    }

    /// Registers a folder that was made for results, and goes if there are none.
    pub fn folder(path: PathBuf) -> Self {
        Self::of(path, Kind::Folder)
    }

    fn of(path: PathBuf, kind: Kind) -> Self {
        // Relative paths would follow a change of the working folder, which this program never
        // makes.
        locked(&PENDING).insert(path.clone(), kind);
        Self(path)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        locked(&PENDING).remove(&self.0);
    }
}

/// Nothing is placed or begun while this exists.
pub struct Halted {
    _pending: MutexGuard<'static, BTreeMap<PathBuf, Kind>>,
}

/// Removes everything that is pending, as far as possible, for a program that is about to end.
/// Until what is returned is dropped, no output gets its name and none is begun.
pub fn halt() -> Halted {
    let pending = locked(&PENDING);
    take_away(&pending);
    Halted { _pending: pending }
}

/// Removes everything that is pending. This is best effort, since the program ends in any case.
fn take_away(pending: &BTreeMap<PathBuf, Kind>) {
    for (path, _) in pending.iter().filter(|&(_, &kind)| kind == Kind::Temporary) {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    // The contents of a folder come behind it.
    for (path, _) in pending.iter().rev().filter(|&(_, &kind)| kind == Kind::Folder) {
        let _ = std::fs::remove_dir(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_pending_is_known() {
        let path = PathBuf::from("/no/such/folder/.he-cli-test.part");
        let guard = Pending::new(path.clone());
        assert!(locked(&PENDING).contains_key(&path));
        drop(guard);
        assert!(!locked(&PENDING).contains_key(&path));
    }

    #[test]
    fn empty_folders_and_all_that_is_temporary_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["empty/inner", "full/inner", "part/inner"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        std::fs::write(path("file"), b"").unwrap();
        std::fs::write(path("full/theirs"), b"").unwrap();
        let folders = ["empty", "empty/inner", "full", "full/inner"].map(|name| (path(name), Kind::Folder));
        let temporary = ["part", "file", "gone"].map(|name| (path(name), Kind::Temporary));
        take_away(&folders.into_iter().chain(temporary).collect());
        let left: Vec<PathBuf> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(left, [path("full")]);
        assert_eq!(std::fs::read_dir(path("full")).unwrap().count(), 1);
    }
}
