//! The stages of the harnesses of the FHE benchmarking suite, as one program.
//!
//! A harness starts each stage as a program of its own, from the root of its repository: those are
//! links to this program, and a file `workload` beside them names the workload. By hand, workload
//! and stage are the first two arguments:
//!
//! ```sh
//! he-suite zn-multiplication server_encrypted_compute small 1000
//! ```
//!
//! The variable `HE_SUITE_DEVICE` chooses the device of the server (`auto`, `cpu`, `cuda:0`). The
//! server stays up between queries; `--no-daemon` computes in the stage's own process.
#![forbid(unsafe_code)]

mod error;
mod invocation;
mod output;
mod progress;
mod report;
mod resident;
mod zn;

use error::Error;
use invocation::{Invocation, Workload};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("he-suite: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let invocation = Invocation::from_process()?;
    match invocation.workload {
        Workload::ZnMultiplication => zn::run(&invocation),
    }
}
