//! `completions`: the script by which a shell completes this program's commands and options.

use crate::args::{Cli, Completions};
use crate::error::{IoContext, Result};
use crate::summary::Summary;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use he_files::bootstrap::Named;
use std::any::TypeId;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Tells shells what to offer for an argument: files only where it is one, and words where there
/// are some.
fn hinted(arg: Arg) -> Arg {
    let takes = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
    let of_type = arg.get_value_parser().type_id();
    let is_path = of_type == TypeId::of::<PathBuf>() || of_type == TypeId::of::<OsString>();
    if !takes || is_path {
        return arg;
    }
    let is_called = |name: &str| arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == name));
    if is_called("DEVICE") {
        return arg.value_parser(PossibleValuesParser::new(["auto", "cpu", "cuda", "cuda:all"]));
    }
    if is_called("PRESET") {
        return arg.value_parser(PossibleValuesParser::new(Named::all().map(Named::name)));
    }
    arg.value_hint(ValueHint::Other)
}

/// The same command, hinted, and all below it.
fn hinted_command(command: Command) -> Command {
    command.mut_args(hinted).mut_subcommands(hinted_command)
}

/// The script of a shell. It asks for nothing at run time: it knows the commands of this version.
pub(super) fn run(args: &Completions) -> Result<Summary> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut hinted_command(Cli::command()), "he-cli", &mut script);
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
