//! Encrypts images and tables, computes on them while they stay encrypted, decrypts them; encrypts any file by AES.

mod aes_file;
mod archive;
mod args;
mod cipher_file;
mod clear;
mod commands;
mod console;
mod core_error;
mod device;
mod engine;
mod error;
mod images;
mod input;
mod integers;
mod interrupt;
mod keys;
mod numbers;
mod output;
mod packing;
mod pairwise;
mod passphrase;
mod payload;
mod picture;
mod pipeline;
mod progress;
mod psnr;
mod samples;
mod scheme;
mod summary;
mod table;
mod tables;
mod team;
mod terminal;
mod tfhe;
mod units;
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
    interrupt::watch();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match args::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(answer) => return usage::answer(&answer, &arguments),
    };
    console::set(cli.global.is_json(), cli.global.quiet);
    match compute_on(cli.global.threads).and_then(|()| commands::run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = std::io::stderr().lock();
            let told =
                if console::is_json() { error.report_json(&mut stderr) } else { error.report(&mut stderr) };
            // Nowhere is left to say that standard error is closed.
            drop(told);
            ExitCode::from(error.exit_code())
        }
    }
}
