//! What a signal that ends the program leaves behind: no temporary file, no folder made in vain,
//! and a terminal that echoes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file or folder under a temporary name.
    Temporary,
    /// A folder under its own name: taken away only while it is empty.
    Folder,
}

static PENDING: Mutex<BTreeMap<PathBuf, Kind>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in them is valid whatever a panicking thread was doing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder, taken away if a signal ends the program before this is dropped.
#[derive(Debug)]
pub struct Pending(PathBuf);

impl Pending {
    /// Of a file or folder with a temporary name.
    pub fn new(path: PathBuf) -> Self {
        Self::of(path, Kind::Temporary)
    }

    /// Of a folder that was made for results, and goes if there are none.
    pub fn folder(path: PathBuf) -> Self {
        Self::of(path, Kind::Folder)
    }

    fn of(path: PathBuf, kind: Kind) -> Self {
        // Relative paths would follow a change of the working folder, which this program never makes.
        locked(&PENDING).insert(path.clone(), kind);
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        locked(&PENDING).remove(&self.0);
    }
}

/// Takes all away that is pending. Best effort: the program ends in any case.
fn take_away(pending: &BTreeMap<PathBuf, Kind>) {
    for (path, _) in pending.iter().filter(|&(_, &kind)| kind == Kind::Temporary) {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    // What lies inside a folder comes behind it.
    for (path, _) in pending.iter().rev().filter(|&(_, &kind)| kind == Kind::Folder) {
        let _ = std::fs::remove_dir(path);
    }
}

#[cfg(unix)]
pub use self::signals::{Echo, end, watch};

#[cfg(unix)]
mod signals {
    use super::{PENDING, locked, take_away};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::fs::File;
    use std::sync::Mutex;

    /// The terminal, and how it was before something secret was asked for there.
    static ECHO: Mutex<Option<(File, Termios)>> = Mutex::new(None);

    /// From now until it is dropped a signal leaves the terminal as it is now.
    pub struct Echo(());

    impl Echo {
        /// Remembers the terminal that controls the process, if there is one.
        pub fn remember() -> Self {
            let tty = File::options().read(true).write(true).open("/dev/tty").ok();
            *locked(&ECHO) = tty.and_then(|tty| tcgetattr(&tty).ok().map(|state| (tty, state)));
            Self(())
        }
    }

    impl Drop for Echo {
        fn drop(&mut self) {
            *locked(&ECHO) = None;
        }
    }

    /// Takes temporary files away, and does what the signal does to any other program.
    pub fn end(signal: i32) -> ! {
        // Held to the end: nothing is placed or begun from here on.
        let pending = locked(&PENDING);
        take_away(&pending);
        if let Some((tty, state)) = &*locked(&ECHO) {
            let _ = tcsetattr(tty, OptionalActions::Now, state);
        }
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        std::process::exit(128 + signal)
    }

    /// Whether whoever started the program wants it to go on in spite of a signal (`nohup`, jobs in
    /// the background).
    #[allow(unsafe_code)]
    fn is_ignored(signal: i32) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: without a new action `sigaction` only writes the present one, to memory of its
        // size and alignment.
        let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: it is read only if the call succeeded, and then it was written.
        result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    }

    /// From now on SIGHUP, SIGINT and SIGTERM take temporary files away, and then do what they
    /// always do; those that are ignored stay so. Without threads to spare they do that at once.
    pub fn watch() {
        let signals = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
        let Ok(mut signals) = Signals::new(signals) else { return };
        let handle = signals.handle();
        let watcher = std::thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end(signal);
            }
        });
        if watcher.is_err() {
            handle.close();
        }
    }
}

/// Elsewhere they end the program at once.
#[cfg(not(unix))]
pub fn watch() {}

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
