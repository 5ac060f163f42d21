//! Encrypts images and tables, computes on them while they stay encrypted, decrypts them; encrypts any file by AES.

mod aes_file;
mod archive;
mod args;
mod bench;
mod cipher_file;
mod clear;
mod commands;
mod core_error;
mod device;
mod engine;
mod error;
mod images;
mod input;
mod integers;
mod interrupt;
mod keys;
mod output;
mod pairwise;
mod passphrase;
mod payload;
mod picture;
mod pipeline;
mod progress;
mod psnr;
mod samples;
mod scheme;
mod table;
mod tables;
mod team;
mod tfhe;
mod units;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::watch();
    match commands::run(args::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere is left to say that standard error is closed.
            let _ = error.report(&mut std::io::stderr().lock());
            ExitCode::from(error.exit_code())
        }
    }
}
