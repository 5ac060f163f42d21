//! `sql`: the program he-sql, which lies beside this one or in the path.

use crate::args::Sql;
use crate::error::{CliError, Result};
use std::path::PathBuf;
use std::process::Command;

/// Its name.
const PROGRAM: &str = if cfg!(windows) { "he-sql.exe" } else { "he-sql" };

fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PROGRAM.into())
}

/// Runs it and ends as it ends: it has told its errors itself.
pub(super) fn run(args: &Sql) -> Result<()> {
    let status = Command::new(program()).arg("query").args(&args.arguments).status().map_err(|error| {
        CliError::new(format!("cannot run {PROGRAM}: {error}"))
            .hint("install it with cargo install --path sql, beside he-cli or in a folder of PATH")
    })?;
    match status.success() {
        true => Ok(()),
        false => std::process::exit(status.code().unwrap_or(1)),
    }
}
