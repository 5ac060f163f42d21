//! The program of a result: a text of the commands that computed it, `eval` and its options.

use crate::args::{Contribution, Operation};
use crate::commands::eval::check_levels;
use crate::error::{CliError, Result};
use crate::usage::translate;
use clap::parser::ValueSource;
use clap::{Command, FromArgMatches as _, Subcommand as _};
use he_files::io::input::Input;
use he_files::party::{Operand, Step};
use std::ffi::OsString;
use std::path::Path;

/// The longest program.
const MAX_PROGRAM: u64 = 1 << 20;

/// The command line of a step, which names no key: `eval` as it is, with an option less.
fn command() -> Command {
    let optional = |sub: Command| sub.mut_arg("key", |arg| arg.required(false).default_value("eval.key"));
    Operation::augment_subcommands(Command::new("eval").no_binary_name(true))
        .mut_subcommands(optional)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
}

/// The steps of a program on inputs, which it calls by the names of their files.
pub(super) fn steps(path: &Path, inputs: &[Contribution]) -> Result<Vec<Step>> {
    let input = Input::open(path)?;
    let file = input.name().to_owned();
    let text = String::from_utf8(input.read_all(MAX_PROGRAM)?)
        .map_err(|_| CliError::new(format!("{file} is not a text in UTF-8")).hint(EXAMPLE))?;
    parsed(&text, &file, inputs)
}

const EXAMPLE: &str = "write a line for each step, as in: eval add a.he --with b.he -o ab.he";

fn parsed(text: &str, file: &str, inputs: &[Contribution]) -> Result<Vec<Step>> {
    let mut known: Vec<(OsString, Operand)> = Vec::new();
    for (at, Contribution { path, .. }) in inputs.iter().enumerate() {
        let name = name(path)?;
        if known.iter().any(|(other, _)| *other == name) {
            let what = format!("two inputs are called {}", name.display());
            return Err(CliError::usage(what).hint("rename one of them: the program has to tell them apart"));
        }
        known.push((name, Operand::Input(at)));
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let place = format!("{file}, line {}", at + 1);
        let mut line = line.trim().to_owned();
        // As in a shell.
        while line.ends_with('\\') {
            line.pop();
            line.push_str(lines.next().map_or("", |(_, more)| more.trim()));
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (step, output) =
            step(&line, &known).map_err(|error: CliError| error.prefixed(&place).or_hint(EXAMPLE))?;
        known.push((output, Operand::Step(steps.len())));
        steps.push(step);
    }
    if steps.is_empty() {
        return Err(CliError::usage(format!("{file} has no steps")).hint(EXAMPLE));
    }
    Ok(steps)
}

/// A step, and the name of its result.
fn step(line: &str, known: &[(OsString, Operand)]) -> Result<(Step, OsString)> {
    let words = shlex::split(line).ok_or_else(|| CliError::usage("a quote is not closed"))?;
    let words = words.strip_prefix(&["he-cli".to_owned()][..]).unwrap_or(&words);
    let words = words.strip_prefix(&["eval".to_owned()][..]).unwrap_or(words);
    let matches = command().try_get_matches_from(words).map_err(|error| translate(&error))?;
    let given = |id| {
        matches.subcommand().is_some_and(|(_, sub)| sub.value_source(id) == Some(ValueSource::CommandLine))
    };
    if given("key") {
        let what = "a program names no key: the party's own eval.key is used";
        return Err(CliError::usage(what).hint("leave --key out"));
    }
    let operation = Operation::from_arg_matches(&matches).map_err(|error| translate(&error))?;
    let files = operation.files();
    let output = name(&files.output)?;
    if known.iter().any(|(other, _)| *other == output) {
        let what = format!("there is a file {} already", output.display());
        return Err(CliError::usage(what).hint("give each result a name of its own"));
    }
    let operand = |path: &Path| {
        let name = name(path)?;
        let found = known.iter().find(|(known, _)| *known == name);
        found.map(|&(_, operand)| operand).ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|(name, _)| name.display().to_string()).collect();
            CliError::usage(format!("no input and no result of a step before is called {}", name.display()))
                .hint(format!("there are {}", names.join(", ")))
        })
    };
    let others = operation.others().map(|(_, path)| path);
    let of = [&*files.input].into_iter().chain(others).map(operand).collect::<Result<_>>()?;
    let computed = operation.without_files()?;
    check_levels(files, &computed)?;
    computed.check()?;
    Ok((Step { operation: computed, of }, output))
}

/// The name of a file without its folder.
fn name(path: &Path) -> Result<OsString> {
    path.file_name().map(ToOwned::to_owned).ok_or_else(|| {
        CliError::usage(format!("{} is not the name of a file", path.display())).hint("name a file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Vec<Contribution> {
        ["1=x/a.he", "2=b.he"].map(|text| text.parse().unwrap()).to_vec()
    }

    #[test]
    fn programs_are_what_was_typed() {
        let text = "# the mean\nhe-cli eval add a.he --with y/b.he \\\n  -o ab.he\n\nmean ab.he -o 'the mean.he'\n\
                    eval dot 'the mean.he' --columns a,2 --levels keep -o d.he";
        let steps = parsed(text, "p", &inputs()).unwrap();
        let found = serde_json::to_string(&steps).unwrap();
        assert_eq!(
            found,
            "[{\"operation\":{\"name\":\"add\"},\"of\":[{\"input\":0},{\"input\":1}]},\
             {\"operation\":{\"name\":\"mean\"},\"of\":[{\"step\":0}]},\
             {\"operation\":{\"name\":\"dot\",\"columns\":[\"a\",\"2\"],\"levels\":\"keep\"},\"of\":[{\"step\":1}]}]"
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, what) in [
            ("", "p has no steps"),
            (
                "add a.he --with c.he -o d.he",
                "p, line 1: no input and no result of a step before is called c.he",
            ),
            ("\nadd a.he --with b.he -o a.he", "p, line 2: there is a file a.he already"),
            ("add a.he --with b.he -k eval.key -o c.he", "p, line 1: a program names no key"),
            ("add a.he --with b.he", "p, line 1: the following required arguments were not provided"),
            ("melt a.he -o c.he", "p, line 1: unrecognized subcommand 'melt'"),
            ("eval", "p, line 1: a command is missing"),
            ("add 'a.he", "p, line 1: a quote is not closed"),
            ("sharpen a.he --levels drop -o c.he", "p, line 1: --levels drop"),
            ("kernel a.he --matrix '1 2' -o c.he", "p, line 1:"),
            ("mean a.he -o ..", "p, line 1: .. is not the name of a file"),
        ] {
            let error = parsed(text, "p", &inputs()).unwrap_err();
            assert!(error.message().starts_with(what) && error.hint_text().is_some(), "{text:?}: {error:?}");
        }
        let twice = ["1=x/a.he", "2=a.he"].map(|text| text.parse().unwrap());
        assert!(parsed("mean a.he -o m.he", "p", &twice).unwrap_err().message().contains("two inputs"));
    }
}
