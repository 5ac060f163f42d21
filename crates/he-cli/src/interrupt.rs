//! A signal that ends the program leaves behind no temporary file, no unused folder, and a terminal
//! that echoes. One signal does not end it: that of a file which has reached its greatest size.

#[cfg(unix)]
pub use self::signals::{Echo, end, fail_at_limits, watch};

#[cfg(unix)]
mod signals {
    use he_files::io::pending::halt;
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::fs::File;
    use std::sync::{Mutex, MutexGuard, Once, PoisonError};

    /// The terminal, and how it was before something secret was asked for there.
    static ECHO: Mutex<Option<(File, Termios)>> = Mutex::new(None);

    fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        // Its contents stay valid whatever a panicking thread was doing.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

    /// Removes temporary files, and does what the signal does to any other program.
    pub fn end(signal: i32) -> ! {
        // Held to the end: nothing is placed or begun from here on.
        let _halted = halt();
        if let Some((tty, state)) = &*locked(&ECHO) {
            let _ = tcsetattr(tty, OptionalActions::Now, state);
        }
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        std::process::exit(128 + signal)
    }

    /// Whether the program was started so as to continue in spite of a signal (`nohup`, jobs in the
    /// background).
    #[allow(unsafe_code)]
    fn is_ignored(signal: i32) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: without a new action `sigaction` only writes the present one, to memory of its
        // size and alignment.
        let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: it is read only if the call succeeded, and then it was written.
        result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    }

    /// From now on a write beyond the greatest size of a file (`ulimit -f`) is an error, like that
    /// of a full disk, and not the end of the program.
    #[allow(unsafe_code)]
    pub fn fail_at_limits() {
        // SAFETY: no handler is installed that could run at a bad moment: the signal is ignored.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// From now on, SIGHUP, SIGINT and SIGTERM remove temporary files and then do what they always
    /// do; those that are ignored stay ignored. If no thread can be started, they do that at once.
    pub fn watch() {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(begin);
    }

    fn begin() {
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

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
pub fn fail_at_limits() {}
