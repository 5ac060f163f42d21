//! `info`: describes a file.

use crate::args::Info;
use crate::console;
use crate::error::{CliError, IoContext, NO_BUDGET, Result, one_line};
use crate::stdio::stdin_once;
use crate::terminal;
use he_files::Error;
use he_files::aes_file::{SNIFF_LEN, is_container};
use he_files::error::ContentError;
use he_files::info::describe;
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, KeyFiles};
use he_files::passphrase::{self, Passphrases};
use he_files::scheme::OneOf;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// Parameters for people.
pub fn print_params(out: &mut impl Write, lines: &[(&'static str, String)]) -> io::Result<()> {
    lines.iter().try_for_each(|(name, text)| writeln!(out, "{name:<12} {text}"))
}

pub(super) fn run(args: &Info) -> Result<()> {
    let paths: Vec<&Path> = std::iter::once(&*args.input).chain(args.key.as_deref()).collect();
    stdin_once(paths.iter().copied())?;
    let mut input = Input::open(&args.input)?;
    let sealed = passphrase::is_sealed(input.peek(8)?);
    let closed = sealed && !args.opening.is_given();
    if args.key.is_some() && (sealed || is_container(input.peek(SNIFF_LEN)?)) {
        return Err(Error::from(ContentError::NoBudget { name: input.name().to_owned() }).into());
    }
    let passphrase = args.opening.is_given().then_some(&args.opening as &dyn Passphrases);
    let key = args.key.as_deref().map(|path| budget_key(path, args)).transpose()?;
    let mut description = describe(input, key, passphrase)?;
    for (_, _, text) in description.facts.iter_mut().filter(|(name, ..)| closed && *name == "sealed") {
        text.push_str("; give --passphrase-file to see more");
    }
    let mut out = io::stdout().lock();
    let printed = if console::is_json() {
        writeln!(out, "{}", terminal::json(&description.json()))
    } else {
        // A file may contain anything, and the terminal must not obey it.
        let line = |(name, _, text): &(_, Value, String)| writeln!(out, "{name:<12} {}", one_line(text));
        let facts = description.facts.iter().try_for_each(line);
        facts
            .and_then(|()| description.params.iter().try_for_each(|(_, lines)| print_params(&mut out, lines)))
    };
    printed.writing("standard output")
}

/// A key to measure a noise budget.
fn budget_key(path: &Path, args: &Info) -> Result<OneOf<KeyFiles>> {
    const NEEDED: &str = "a secret key";
    match AnyKey::read(Input::open(path)?, NEEDED, Some(&args.opening))? {
        AnyKey::Tfhe(file) => {
            let what = format!("{} is a key of tfhe, whose files have no noise budget to measure", file.name);
            Err(CliError::usage(what).hint(NO_BUDGET))
        }
        key => Ok(key.scheme(NEEDED)?),
    }
}
