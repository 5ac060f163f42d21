//! Encrypts images and tables, computes on them while they stay encrypted, decrypts them; encrypts
//! any file by AES.
//!
//! This is the program as a library, for tests and fuzzing: [`run`] is what its `main` calls. The
//! library for other programs is `he-files`.

mod args;
mod commands;
mod console;
mod device;
mod error;
mod interrupt;
mod memory;
mod passphrase;
mod progress;
#[cfg(feature = "client")]
mod remote;
mod stdio;
mod summary;
mod terminal;
#[cfg(feature = "client")]
mod trust;
mod usage;

use crate::error::{CliError, Result};
use std::ffi::OsString;

/// Computes on this many threads from now on, if a number is given.
pub(crate) fn compute_on(threads: Option<u16>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    pool.map_err(|error| {
        CliError::new(format!("cannot start {threads} threads: {error}")).hint("choose fewer --threads")
    })
}

/// Does the work that must precede everything else, while the process has a single thread: a
/// passphrase leaves the environment, limits on the size of files become errors, and freed memory
/// is kept.
pub fn begin() {
    passphrase::take_from_environment();
    interrupt::fail_at_limits();
    memory::keep();
}

/// Whether these words, the program's name first, are a command line: the exit code of the answer,
/// 0 if they are one or ask for help and 2 otherwise. Nothing is carried out or printed.
pub fn check(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let parsed = args::Cli::understand(words);
    parsed.map_or_else(|answer| u8::try_from(answer.exit_code()).unwrap_or(2), |_| 0)
}

/// Carries out a command line, the program's name first, and returns the exit code: 0 done, 1
/// failed, 2 wrong usage.
pub fn run(arguments: &[OsString]) -> u8 {
    let cli = match args::Cli::understand(arguments) {
        Ok(cli) => cli,
        Err(answer) => return usage::answer(&answer, arguments),
    };
    if cli.command.ends_at_once() {
        interrupt::watch();
    }
    console::set(cli.global.is_json(), cli.global.quiet);
    match compute_on(cli.global.threads).and_then(|()| commands::run(cli.command)) {
        Ok(()) => 0,
        Err(error) => {
            let mut stderr = std::io::stderr().lock();
            let told = match console::is_json() {
                true => error::report_json(&error, &mut stderr),
                false => error::report(&error, &mut stderr),
            };
            // There is no way left to report that standard error is closed.
            drop(told);
            error::exit_code(&error)
        }
    }
}
