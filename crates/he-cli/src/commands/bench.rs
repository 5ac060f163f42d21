//! `bench`: measures, and writes tables, JSON, CSV and plots.

use crate::args::{Bench, BenchOptions, Subject};
use crate::bench::measure::Lab;
use crate::bench::report::{Report, Table};
use crate::bench::{self, plot};
use crate::error::{CliError, IoContext, Result};
use crate::output::{Output, OutputFolder, OutputOptions, create_dir};
use std::io::Write;
use std::path::Path;

/// Where results go, opened before anything is measured: a long run shall not end with a path that does not exist.
struct Places {
    json: Option<Output>,
    csv: Option<Output>,
    plots: Option<OutputFolder>,
}

impl Places {
    fn open(options: &BenchOptions) -> Result<Self> {
        let how = OutputOptions { force: options.force, secret: false, text: true };
        if let (Some(json), Some(csv)) = (&options.json, &options.csv)
            && json == csv
        {
            return Err(CliError::usage("JSON and CSV would go to one place")
                .hint("give --json and --csv different files"));
        }
        let file = |path: &Option<_>| {
            path.as_ref().map(|path: &std::path::PathBuf| Output::create(path, how, &[])).transpose()
        };
        let (json, csv) = (file(&options.json)?, file(&options.csv)?);
        let plots = options.plots.as_deref().map(|path| plots(path, options.force)).transpose()?;
        Ok(Self { json, csv, plots })
    }
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

pub(super) fn run(args: &Bench) -> Result<()> {
    let options = match &args.subject {
        Subject::Papers { options, .. }
        | Subject::Ops(options)
        | Subject::Aes(options)
        | Subject::Gates(options) => options,
    };
    let mut places = Places::open(options)?;
    let lab =
        Lab::new(options.device.choice.open()?, options.quick, options.limit)?.without_cpu(options.no_cpu);
    let header = lab.header();
    let taken = [&options.json, &options.csv].into_iter().flatten().any(|path| path.as_os_str() == "-");
    let print = |text: String| match taken {
        true => Ok(()),
        false => std::io::stdout().lock().write_all(text.as_bytes()).writing("standard output"),
    };
    let show = |tables: &[Table]| tables.iter().try_for_each(|table| print(format!("\n{table}")));
    print(header.to_string())?;
    let shown = |tables: Vec<Table>| show(&tables).map(|()| tables);
    let tables = match &args.subject {
        Subject::Papers { papers, .. } => bench::papers::tables(&lab, papers, show),
        Subject::Ops(_) => shown(bench::ops::tables(&lab)?),
        Subject::Aes(_) => shown(bench::aes::tables(&lab)?),
        Subject::Gates(_) => shown(bench::gates::tables(&lab)?),
    }?;
    let report = Report { header, tables };
    if let Some(output) = &mut places.json {
        let name = output.name();
        writeln!(output, "{:#}", report.json()).writing(name)?;
    }
    if let Some(output) = &mut places.csv {
        report.csv(output)?;
    }
    if let Some(folder) = places.plots {
        plot::draw(&report, folder.path(), options.force)?;
        folder.keep();
    }
    Output::commit_all([places.json, places.csv].into_iter().flatten())
}
