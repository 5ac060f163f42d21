//! The stages of the harnesses of the FHE benchmarking suite, as one program.
//!
//! A harness starts each stage as a program of its own, from the root of its repository: those are
//! links to this program, and a file `workload` beside them names the workload. By hand, workload
//! and stage are the first two arguments:
//!
//! ```sh
//! he-suite zn-multiplication server_encrypted_compute small 1000
//! he-suite fetch-by-similarity server_encrypted_compute 1 --count_only
//! ```
//!
//! The variable `HE_SUITE_DEVICE` chooses the device of the server (`auto`, `cpu`, `cuda:0`). The
//! server stays up between queries; `--no-daemon` computes in the stage's own process. Tests
//! pass `--insecure-log-n=10`, or `--insecure` for transciphering, to all stages of a workload,
//! which gives parameters without security.
#![forbid(unsafe_code)]

mod device;
mod error;
mod fetch;
mod frames;
mod inference;
mod invocation;
mod keys;
mod output;
mod progress;
mod report;
mod resident;
mod series;
mod transciphering;
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
        Workload::FetchBySimilarity => fetch::run(&invocation),
        Workload::MlInference => inference::run(&invocation),
        Workload::Transciphering => transciphering::run(&invocation),
        Workload::ZnMultiplication => zn::run(&invocation),
    }
}
