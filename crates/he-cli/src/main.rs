//! The program; `lib.rs` describes it.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    he_cli::begin();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(he_cli::run(&arguments))
}
