//! Messages for wrong command lines and requests for help: in clap's words, or as JSON for
//! programs.

use crate::error::{CliError, report_json};
use clap::error::ErrorKind;
use he_files::error::lower_first;
use std::ffi::OsString;

/// Prints help, the version or what is wrong with the command line; returns the exit code.
pub fn answer(error: &clap::Error, arguments: &[OsString]) -> u8 {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // There is no way left to report that standard output or standard error is closed.
    if !asked && wants_json(arguments) {
        drop(report_json(&translate(error), &mut std::io::stderr().lock()));
    } else {
        drop(error.print());
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Whether a command line that could not be understood asks for JSON on standard output. With a
/// file behind it, `--json` is the option of `bench`.
fn wants_json(arguments: &[OsString]) -> bool {
    let options: Vec<&str> =
        arguments.iter().take_while(|a| *a != "--").map(|a| a.to_str().unwrap_or_default()).collect();
    let to_file = |at: usize| {
        options[..at].contains(&"bench") && options.get(at + 1).is_some_and(|next| !next.starts_with('-'))
    };
    options.iter().enumerate().any(|(at, option)| *option == "--json" && !to_file(at))
}

/// Translates an error of clap into the form of our own errors.
pub fn translate(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let lines = || text.lines().map(str::trim);
    let usage =
        || lines().find_map(|line| line.strip_prefix("Usage: ")).map(|usage| format!("usage: {usage}"));
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "a command is missing".to_owned()
        }
        _ => {
            let first: Vec<&str> = lines().take_while(|line| !line.is_empty()).collect();
            let first = first.join(" ");
            lower_first(first.strip_prefix("error: ").unwrap_or(&first))
        }
    };
    let tips: Vec<&str> = lines().filter_map(|line| line.strip_prefix("tip: ")).collect();
    let hint = if tips.is_empty() { usage() } else { Some(tips.join("; ")) };
    CliError::usage(message).hint(hint.unwrap_or_else(|| "he-cli help COMMAND describes it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn told(line: &str) -> (String, String) {
        let error = translate(&Cli::understand(line.split(' ')).unwrap_err());
        assert_eq!(crate::error::exit_code(&error), 2);
        (error.message().to_owned(), error.hint_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn clap_speaks_as_we_do() {
        for (line, message, hint) in [
            ("he-cli", "a command is missing", "usage: he-cli [OPTIONS] <COMMAND>"),
            ("he-cli eval", "a command is missing", "usage: he-cli eval [OPTIONS] <COMMAND>"),
            (
                "he-cli frobnicate",
                "unrecognized subcommand 'frobnicate'",
                "usage: he-cli [OPTIONS] <COMMAND>",
            ),
            (
                "he-cli man",
                "the following required arguments were not provided: --output <FOLDER>",
                "usage: he-cli man --output <FOLDER>",
            ),
            (
                "he-cli bench papers p9",
                "invalid value 'p9' for '[PAPER]...' [possible values: p1, p2, p3, p4, p5]",
                "he-cli help COMMAND describes it",
            ),
            ("he-cli eval blurr", "unrecognized subcommand 'blurr'", "a similar subcommand exists: 'blur'"),
            ("he-cli info x --threads 0", "invalid value '0' for '--threads <N>': 0 is not in 1..=1024", ""),
        ] {
            let (found, told) = told(line);
            assert_eq!(found, message);
            assert!(told.contains(hint), "{told}");
        }
    }

    #[test]
    fn json_is_asked_for_before_anything_is_understood() {
        for (line, asked) in [
            ("he-cli --json", true),
            ("he-cli encrypt x --json", true),
            ("he-cli encrypt x --json y", true),
            ("he-cli encrypt x -- --json", false),
            ("he-cli encrypt x", false),
            ("he-cli bench papers --json", true),
            ("he-cli bench papers --json -", true),
            ("he-cli bench papers --json --quick", true),
            ("he-cli bench papers --json results.json", false),
            ("he-cli --json bench --quick", true),
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(wants_json(&arguments), asked, "{line}");
        }
    }
}
