//! `completions`: the script by which a shell completes this program's commands and options.

use crate::args::{Cli, Completions};
use crate::error::{IoContext, Result};
use crate::summary::Summary;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// The script of a shell. It asks for nothing at run time: it knows the commands of this version.
pub(super) fn run(args: &Completions) -> Result<Summary> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "he-cli", &mut script);
    if args.shell == Shell::Bash {
        // clap_complete 4.6 gives a command whose name has a hyphen two names in its script, so
        // that nothing below it is completed.
        script = String::from_utf8_lossy(&script).replace("he__subcmd__cli", "he__cli").into_bytes();
    }
    let mut out = std::io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).writing("standard output")?;
    Ok(Summary::new("completions")
        .fact("shell", args.shell.to_string())
        .output(Path::new("-"))
        .fact("bytes", script.len()))
}
