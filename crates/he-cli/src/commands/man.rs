//! `man`: a manual page for each command and subcommand.

use crate::args::{Cli, Man};
use crate::error::{IoContext, Result};
use crate::summary::Summary;
use clap::{Command, CommandFactory};
use he_files::io::output::{Output, OutputOptions, create_dir};
use std::io::Write;

/// The pages by their file names (`he-cli-keygen-ckks.1`), the program's own first.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
        let source = concat!("he-cli ", env!("CARGO_PKG_VERSION"));
        let page = clap_mangen::Man::new(command.clone()).source(source).manual("User Commands");
        let mut text = Vec::new();
        page.render(&mut text)?;
        pages.push((page.get_filename(), text));
        command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|command| add(command, pages))
    }
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    add(&program, &mut pages)?;
    Ok(pages)
}

pub(super) fn run(args: &Man) -> Result<Summary> {
    let folder = create_dir(&args.output)?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let mut outputs = Vec::new();
    let mut files = Vec::new();
    for (name, text) in pages().doing("make the pages for", &args.output)? {
        let path = folder.path().join(&name);
        let mut output = Output::create(&path, options, &[])?;
        output.write_all(&text).writing(&path)?;
        outputs.push(output);
        files.push(name);
    }
    Output::commit_all(outputs)?;
    folder.keep();
    let count = files.len();
    Ok(Summary::new("man")
        .output(&args.output)
        .fact("pages", files)
        .line(format!("{}: {count} pages, from he-cli.1 on", args.output.display())))
}
