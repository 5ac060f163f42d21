//! `bench`: measures, and writes tables, JSON, CSV and plots.

use crate::args::bench::{Bench, BenchOptions, Refreshed, Subject};
use crate::console;
use crate::error::{CliError, IoContext, Result};
use crate::stdio::{self, Text};
use he::Device;
use he::bootstrapping::presets::Preset;
use he_bench::bootstrap;
use he_bench::functions;
use he_bench::helr::{self, Training};
use he_bench::lookups;
use he_bench::measure::Lab;
use he_bench::nn;
use he_bench::papers::Paper;
use he_bench::plot;
use he_bench::refresh;
use he_bench::report::{Report, Table};
use he_bench::{pir, sets, switching, transcipher};
use he_files::bootstrap::Named;
use he_files::io::output::{Output, OutputFolder, OutputOptions, create_dir};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The destinations of results, opened before anything is measured: a long run must not end with a
/// path that does not exist.
struct Places {
    json: Option<Output>,
    csv: Option<Output>,
    markdown: Option<Output>,
    plots: Option<OutputFolder>,
}

impl Places {
    fn open(options: &BenchOptions) -> Result<Self> {
        let how = OutputOptions { force: options.force, ..OutputOptions::default() };
        let mut paths: Vec<&PathBuf> = files(options).collect();
        paths.sort();
        if paths.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(CliError::usage("results of two kinds would go to one place")
                .hint("give --json, --csv and --markdown different files"));
        }
        let file = |path: &Option<_>| {
            path.as_ref().map(|path: &PathBuf| stdio::create(path, how, Text::Yes, &[])).transpose()
        };
        let (json, csv, markdown) = (file(&options.json)?, file(&options.csv)?, file(&options.markdown)?);
        let plots = options.plots.as_deref().map(|path| plots(path, options.force)).transpose()?;
        Ok(Self { json, csv, markdown, plots })
    }
}

fn files(options: &BenchOptions) -> impl Iterator<Item = &PathBuf> {
    [&options.json, &options.csv, &options.markdown].into_iter().flatten()
}

/// The place of a table's plot, relative to the Markdown file.
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
fn names(lab: &Lab, subject: &Subject, subjects: &[bootstrap::Subject]) -> Vec<String> {
    match subject {
        Subject::Papers { papers, .. } => he_bench::papers::names(lab, &asked(papers)),
        Subject::Ops(_) => he_bench::ops::names(lab),
        Subject::Rings(_) => he_bench::rings::names(),
        Subject::Matrices(_) => [he_bench::matrices::names(), he_bench::encrypted_matrices::names()].concat(),
        Subject::Aes(_) => he_bench::aes::names(),
        Subject::Gates(_) => he_bench::gates::names(),
        Subject::Nn { .. } => nn::names(),
        Subject::Bootstrap(_) => bootstrap::names(subjects),
        Subject::Lookups(_) => lookups::names(subjects),
        Subject::Pir(_) => pir::names(),
        Subject::Refresh { .. } => refresh::names(),
        Subject::Sets { .. } => sets::names(),
        Subject::Switching { .. } => switching::names(),
        Subject::Transcipher { .. } => transcipher::names(),
        Subject::Functions(_) => functions::names(subjects),
        Subject::Helr { .. } => helr::names(),
    }
}

/// The papers of the command line.
fn asked(papers: &[crate::args::bench::Paper]) -> Vec<Paper> {
    papers.iter().copied().map(Paper::from).collect()
}

/// The parameters with bootstrapping of the command line.
fn bootstrapped(subject: &Subject) -> Result<Vec<bootstrap::Subject>> {
    let made = |named: Named| Ok(bootstrap::Subject { name: named.name(), params: named.params()? });
    let (asked, one) = match subject {
        Subject::Bootstrap(asked) => (asked, false),
        Subject::Functions(asked) | Subject::Lookups(asked) => (asked, true),
        Subject::Helr { preset, options, .. } => {
            let usual = if options.quick { Named::InsecureToy } else { Named::Preset(Preset::Fast) };
            return [preset.unwrap_or(usual)].into_iter().map(made).collect();
        }
        Subject::Transcipher { presets, .. } if presets.is_empty() => {
            return Ok(vec![made(Named::Preset(Preset::Fast))?]);
        }
        Subject::Transcipher { presets, .. } => return presets.iter().copied().map(made).collect(),
        _ => return Ok(Vec::new()),
    };
    let asked: Vec<Named> = match (asked.presets.as_slice(), asked.options.quick) {
        ([], true) => vec![Named::InsecureToy],
        ([], false) if one => vec![Named::Preset(Preset::Fast)],
        ([], false) => Named::all().filter(|named| *named != Named::InsecureToy).collect(),
        (some, _) => some.to_vec(),
    };
    asked.into_iter().map(made).collect()
}

/// The command by which the results can be repeated, from the arguments of the program: without
/// their places.
fn command_line(arguments: impl IntoIterator<Item = String>) -> String {
    let mut command = "he-cli".to_owned();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, _)) => (name, true),
            None => (argument.as_str(), false),
        };
        match name {
            "--force" => continue,
            "--json" => {
                // Its value may be missing.
                arguments.next_if(|next| !value && (next == "-" || !next.starts_with('-')));
            }
            "--csv" | "--markdown" | "--plots" => {
                arguments.next_if(|_| !value);
            }
            _ if argument.contains(char::is_whitespace) => command.push_str(&format!(" {argument:?}")),
            _ => command.push_str(&format!(" {argument}")),
        }
    }
    command
}

/// Shows the current measurement at a terminal.
fn announce(what: &str) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() && !console::is_quiet() {
        // The work is worth doing, whether or not anybody follows it.
        let _ = writeln!(stderr, "he-cli: measuring {what}");
    }
}

/// Draws a plot of each table into a folder; all files appear, or none.
fn draw(report: &Report, folder: &Path, force: bool) -> Result<()> {
    let options = OutputOptions { force, ..OutputOptions::default() };
    let mut files = Vec::new();
    let mut failed = Ok(());
    plot::draw(report, |name, bytes| {
        let path = folder.join(name);
        if failed.is_ok() {
            failed = Output::create(&path, options, &[]).map_err(CliError::from).and_then(|mut output| {
                output.write_all(&bytes).writing(&path)?;
                files.push(output);
                Ok(())
            });
        }
        Ok(())
    })
    .map_err(told)?;
    failed?;
    Ok(Output::commit_all(files)?)
}

/// Before anything is measured.
fn check_names(wanted: &[String], there: &[String]) -> Result<()> {
    match wanted.iter().find(|name| !there.contains(name)) {
        None => Ok(()),
        Some(name) => Err(CliError::new(format!("there is no table of the name {name}"))
            .hint(format!("choose --table among {}", there.join(", ")))),
    }
}

/// An error of a measurement as the person at the terminal sees it.
fn told(error: he_bench::Error) -> CliError {
    use he_bench::Error as Bench;
    match error {
        Bench::Core(error) => error.into(),
        Bench::Aes(error) => error.into(),
        Bench::Gpu(error) => error.into(),
        Bench::Write { name, source } => CliError::from_io(source, "write", name),
        error => {
            let hint = error.hint();
            let error = CliError::new(error.to_string());
            hint.into_iter().fold(error, |error, hint| error.hint(hint))
        }
    }
}

pub(super) fn run(args: &Bench) -> Result<()> {
    let options = match &args.subject {
        Subject::Papers { options, .. }
        | Subject::Bootstrap(Refreshed { options, .. })
        | Subject::Functions(Refreshed { options, .. })
        | Subject::Lookups(Refreshed { options, .. })
        | Subject::Helr { options, .. }
        | Subject::Nn { options, .. }
        | Subject::Refresh { options, .. }
        | Subject::Sets { options, .. }
        | Subject::Switching { options, .. }
        | Subject::Transcipher { options, .. }
        | Subject::Ops(options)
        | Subject::Rings(options)
        | Subject::Matrices(options)
        | Subject::Pir(options)
        | Subject::Aes(options)
        | Subject::Gates(options) => options,
    };
    let subjects = bootstrapped(&args.subject)?;
    let mut places = Places::open(options)?;
    let gpu = match options.device.open()?.lead() {
        Device::Cuda(cuda) => Some(cuda.clone()),
        _ => None,
    };
    let lab = Lab::new(gpu, options.quick, options.limit)
        .map_err(told)?
        .telling(announce)
        .without_cpu(options.no_cpu)
        .with_tables(&options.tables);
    check_names(&options.tables, &names(&lab, &args.subject, &subjects))?;
    let header =
        lab.header(command_line(std::env::args_os().skip(1).map(|part| part.to_string_lossy().into_owned())));
    let taken = files(options).any(|path| path.as_os_str() == "-");
    let print = |text: String| match taken {
        true => Ok(()),
        false => std::io::stdout().lock().write_all(text.as_bytes()),
    };
    print(header.to_string()).writing("standard output")?;
    let mut tables = Vec::new();
    let show = &mut |table: Table| -> he_bench::Result<()> {
        if !lab.wants(&table.id) {
            return Ok(());
        }
        print(format!("\n{table}")).map_err(|error| he_bench::Error::write("standard output", error))?;
        tables.push(table);
        Ok(())
    };
    match &args.subject {
        Subject::Papers { papers, .. } => he_bench::papers::tables(&lab, &asked(papers), show),
        Subject::Ops(_) => he_bench::ops::tables(&lab, show),
        Subject::Rings(_) => he_bench::rings::tables(&lab, show),
        Subject::Matrices(_) => he_bench::matrices::tables(&lab, show)
            .and_then(|()| he_bench::encrypted_matrices::tables(&lab, show)),
        Subject::Aes(_) => he_bench::aes::tables(&lab, show),
        Subject::Gates(_) => he_bench::gates::tables(&lab, show),
        Subject::Nn { models, folder, examples, batch, options } => {
            let most = match (options.quick, lab.gpu.is_some()) {
                (true, _) => 2,
                (_, false) => 3,
                (_, true) => nn::MODELS.len(),
            };
            let all = || nn::MODELS[..most].iter().map(|&name| name.to_owned()).collect();
            let models = if models.is_empty() { all() } else { models.clone() };
            let effort = nn::Effort { examples: usize::from(*examples), batch: usize::from(*batch) };
            nn::tables(&lab, folder, &models, effort, show)
        }
        Subject::Bootstrap(asked) => {
            bootstrap::tables(&lab, &subjects, asked.runs.effort(options.quick), show)
        }
        Subject::Functions(asked) => {
            functions::tables(&lab, &subjects, asked.runs.effort(options.quick), show)
        }
        Subject::Lookups(asked) => lookups::tables(&lab, &subjects, asked.runs.effort(options.quick), show),
        Subject::Refresh { subjects, runs, options } => {
            let usual = &refresh::Subject::USUAL[..if options.quick { 1 } else { 4 }];
            let subjects = if subjects.is_empty() { usual } else { subjects.as_slice() };
            refresh::tables(&lab, subjects, runs.effort(options.quick), show)
        }
        Subject::Pir(_) => pir::tables(&lab, show),
        Subject::Sets { runs, options } => {
            let sizes = if options.quick { &sets::QUICK[..] } else { &sets::USUAL[..] };
            sets::tables(&lab, sizes, runs.effort(options.quick), show)
        }
        Subject::Switching { widths, .. } => {
            let widths: Vec<usize> = widths.iter().copied().map(usize::from).collect();
            switching::tables(&lab, &widths, show)
        }
        Subject::Transcipher { blocks, .. } => {
            let usual: &[u16] = if lab.gpu.is_some() { &[1, 8, 32] } else { &[1] };
            let blocks = if blocks.is_empty() { usual } else { blocks.as_slice() };
            let blocks: Vec<usize> = blocks.iter().copied().map(usize::from).collect();
            transcipher::tables(&lab, &blocks, &subjects, show)
        }
        Subject::Helr { data, iterations, options, .. } => {
            let training = Training {
                data: data.clone(),
                iterations: iterations.map_or(if options.quick { 4 } else { 32 }, usize::from),
                batch: if options.quick { 64 } else { 1024 },
            };
            subjects.iter().try_for_each(|subject| helr::tables(&lab, subject, &training, show))
        }
    }
    .map_err(told)?;
    let report = Report { header, tables };
    if let Some(output) = &mut places.json {
        let name = output.name();
        writeln!(output, "{:#}", report.json()).writing(name)?;
    }
    if let Some(output) = &mut places.csv {
        let name = output.name();
        report.csv(output).writing(name)?;
    }
    if let Some(output) = &mut places.markdown {
        let name = output.name();
        report.markdown(output, |table| plot_beside(options, table)).writing(name)?;
    }
    if let Some(folder) = places.plots {
        draw(&report, folder.path(), options.force)?;
        folder.keep();
    }
    Ok(Output::commit_all([places.json, places.csv, places.markdown].into_iter().flatten())?)
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn commands_name_no_places() {
        let line = |text: &str| command_line(text.split(' ').map(str::to_owned));
        for (given, told) in [
            ("bench ops --json --quick", "he-cli bench ops --quick"),
            ("bench ops --json - --limit 3", "he-cli bench ops --limit 3"),
            ("bench --force papers p4 --csv a.csv --markdown=b.md --plots c", "he-cli bench papers p4"),
            ("bench papers --json=r.json p4 --table=p4-ntt", "he-cli bench papers p4 --table=p4-ntt"),
        ] {
            assert_eq!(line(given), told);
        }
        let spaced = ["bench", "nn", "--folder", "my models"].map(str::to_owned);
        assert_eq!(command_line(spaced), "he-cli bench nn --folder \"my models\"");
    }
}
