//! Encrypts images and tables, computes on them while they stay encrypted, decrypts them; encrypts
//! any file by AES.

mod args;
mod commands;
mod console;
mod device;
mod error;
mod interrupt;
mod passphrase;
mod progress;
#[cfg(feature = "client")]
mod remote;
mod stdio;
mod summary;
mod terminal;
mod usage;

use crate::error::{CliError, Result};
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Computes on this many threads from now on, if a number is given.
fn compute_on(threads: Option<u16>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    pool.map_err(|error| {
        CliError::new(format!("cannot start {threads} threads: {error}")).hint("choose fewer --threads")
    })
}

fn main() -> ExitCode {
    // First of all, while there is a single thread.
    passphrase::take_from_environment();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match args::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(answer) => return usage::answer(&answer, &arguments),
    };
    if cli.command.ends_at_once() {
        interrupt::watch();
    }
    console::set(cli.global.is_json(), cli.global.quiet);
    match compute_on(cli.global.threads).and_then(|()| commands::run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = std::io::stderr().lock();
            let told = match console::is_json() {
                true => error::report_json(&error, &mut stderr),
                false => error::report(&error, &mut stderr),
            };
            // There is no way left to report that standard error is closed.
            drop(told);
            ExitCode::from(error::exit_code(&error))
        }
    }
}
