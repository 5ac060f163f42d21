//! What a signal that ends the program leaves behind: no temporary file.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is valid whatever a panicking thread was doing.
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder, taken away if a signal ends the program before this is dropped.
#[derive(Debug)]
pub struct Pending(PathBuf);

impl Pending {
    /// Of one that exists.
    pub fn new(path: PathBuf) -> Self {
        // Relative paths would follow a change of the working folder, which this program never makes.
        pending().insert(path.clone());
        Self(path)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        pending().remove(&self.0);
    }
}

/// From now on SIGINT and SIGTERM take temporary files away, and then do what they always do. Without threads to spare they do that at once.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let handle = signals.handle();
    let watcher = std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Held to the end: nothing is placed or begun from here on.
            for path in pending().iter() {
                // Best effort: the program ends in any case.
                let _ =
                    if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    if watcher.is_err() {
        handle.close();
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
        assert!(pending().contains(&path));
        drop(guard);
        assert!(!pending().contains(&path));
    }
}
