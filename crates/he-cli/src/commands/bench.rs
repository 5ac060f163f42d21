//! `bench`: measures, and writes tables, JSON, CSV and plots.

use crate::args::{Bench, BenchOptions, Subject};
use crate::bench::measure::Lab;
use crate::bench::report::{Report, Table};
use crate::bench::{self, plot};
use crate::error::{CliError, IoContext, Result};
use crate::output::{Output, OutputFolder, OutputOptions, create_dir};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where results go, opened before anything is measured: a long run shall not end with a path that does not exist.
struct Places {
    json: Option<Output>,
    csv: Option<Output>,
    markdown: Option<Output>,
    plots: Option<OutputFolder>,
}

impl Places {
    fn open(options: &BenchOptions) -> Result<Self> {
        let how = OutputOptions { force: options.force, text: true, ..OutputOptions::default() };
        let mut paths: Vec<&PathBuf> = files(options).collect();
        paths.sort();
        if paths.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(CliError::usage("results of two kinds would go to one place")
                .hint("give --json, --csv and --markdown different files"));
        }
        let file =
            |path: &Option<_>| path.as_ref().map(|path: &PathBuf| Output::create(path, how, &[])).transpose();
        let (json, csv, markdown) = (file(&options.json)?, file(&options.csv)?, file(&options.markdown)?);
        let plots = options.plots.as_deref().map(|path| plots(path, options.force)).transpose()?;
        Ok(Self { json, csv, markdown, plots })
    }
}

fn files(options: &BenchOptions) -> impl Iterator<Item = &PathBuf> {
    [&options.json, &options.csv, &options.markdown].into_iter().flatten()
}

/// Where a table's plot lies, seen from the Markdown file.
fn plot_beside(options: &BenchOptions, table: &Table) -> Option<String> {
    let folder = options.plots.as_deref().filter(|_| plot::is_drawn(table))?;
    let beside = options.markdown.as_deref().and_then(Path::parent);
    let folder = beside.and_then(|beside| folder.strip_prefix(beside).ok()).unwrap_or(folder);
    Some(folder.join(format!("{}.svg", table.id)).display().to_string())
}

fn plots(path: &Path, force: bool) -> Result<OutputFolder> {
    let folder = create_dir(path)?;
    let mut there = std::fs::read_dir(path).at(path)?;
    if there.next().is_some() && !force {
        return Err(CliError::new(format!("{} is not empty", path.display()))
            .hint("name another folder, or replace plots in it with --force"));
    }
    Ok(folder)
}

/// Names of the tables that a subject has.
fn names(lab: &Lab, subject: &Subject) -> Vec<String> {
    match subject {
        Subject::Papers { papers, .. } => bench::papers::names(lab, papers),
        Subject::Ops(_) => bench::ops::names(lab),
        Subject::Aes(_) => bench::aes::names(),
        Subject::Gates(_) => bench::gates::names(),
    }
}

/// Before anything is measured.
fn check_names(wanted: &[String], there: &[String]) -> Result<()> {
    match wanted.iter().find(|name| !there.contains(name)) {
        None => Ok(()),
        Some(name) => Err(CliError::new(format!("there is no table of the name {name}"))
            .hint(format!("choose --table among {}", there.join(", ")))),
    }
}

pub(super) fn run(args: &Bench) -> Result<()> {
    let options = match &args.subject {
        Subject::Papers { options, .. }
        | Subject::Ops(options)
        | Subject::Aes(options)
        | Subject::Gates(options) => options,
    };
    let mut places = Places::open(options)?;
    let lab = Lab::new(options.device.choice.open()?, options.quick, options.limit)?
        .without_cpu(options.no_cpu)
        .with_tables(&options.tables);
    check_names(&options.tables, &names(&lab, &args.subject))?;
    let header = lab.header();
    let taken = files(options).any(|path| path.as_os_str() == "-");
    let print = |text: String| match taken {
        true => Ok(()),
        false => std::io::stdout().lock().write_all(text.as_bytes()).writing("standard output"),
    };
    print(header.to_string())?;
    let mut tables = Vec::new();
    let show = &mut |table: Table| -> Result<()> {
        if !lab.wants(&table.id) {
            return Ok(());
        }
        print(format!("\n{table}"))?;
        tables.push(table);
        Ok(())
    };
    match &args.subject {
        Subject::Papers { papers, .. } => bench::papers::tables(&lab, papers, show),
        Subject::Ops(_) => bench::ops::tables(&lab, show),
        Subject::Aes(_) => bench::aes::tables(&lab, show),
        Subject::Gates(_) => bench::gates::tables(&lab, show),
    }?;
    let report = Report { header, tables };
    if let Some(output) = &mut places.json {
        let name = output.name();
        writeln!(output, "{:#}", report.json()).writing(name)?;
    }
    if let Some(output) = &mut places.csv {
        report.csv(output)?;
    }
    if let Some(output) = &mut places.markdown {
        report.markdown(output, |table| plot_beside(options, table))?;
    }
    if let Some(folder) = places.plots {
        plot::draw(&report, folder.path(), options.force)?;
        folder.keep();
    }
    Output::commit_all([places.json, places.csv, places.markdown].into_iter().flatten())
}
