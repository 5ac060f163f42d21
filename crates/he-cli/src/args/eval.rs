//! The options of `eval`: operations and their parameters are those of the table of `he_files`.

use super::{COMMON, CsvFlags, DeviceFlag, value};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum, value_parser};
use he_files::bootstrap::KEY_NAME;
use he_files::io::input::Input;
use he_files::operation::{self, Domain, Given, Levels, Parameter, Row, TABLE};
use he_files::tfhe::columns;
use std::path::{Path, PathBuf};

/// `eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// The operation to compute
    #[command(subcommand)]
    pub operation: Operation,
}

/// The files of every evaluation.
#[derive(Clone, Debug, Args)]
pub struct EvalFiles {
    /// The encrypted file, or - for standard input
    pub input: PathBuf,
    /// The evaluation key: eval.key
    #[arg(help_heading = COMMON, short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The bootstrapping key, for tables in digits [default: bootstrap.key beside the evaluation
    /// key]
    #[arg(help_heading = COMMON, long, value_name = "FILE")]
    pub bootstrap_key: Option<PathBuf>,
    /// The encrypted result to write, or - for standard output
    #[arg(help_heading = COMMON, short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Levels of the result: keep those that are left, for further computations, or drop them
    #[arg(help_heading = COMMON, long, value_enum, value_name = "auto|keep|drop", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    levels: LevelsFlag,
    /// A trace of the computation to write, for he-cli audit
    #[arg(help_heading = COMMON, long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[cfg(feature = "client")]
    #[command(flatten)]
    pub server: super::ServerFlags,
    /// The root of the trace to write, as the service has signed it
    #[cfg(feature = "client")]
    #[arg(help_heading = super::server::HEADING, long, value_name = "FILE")]
    #[arg(requires_all = ["server", "record"])]
    pub signed: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(help_heading = COMMON, long)]
    pub force: bool,
}

/// The treatment of the levels that a result has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LevelsFlag {
    /// Statistics drop them.
    #[default]
    Auto,
    /// They are kept.
    Keep,
    /// They are dropped.
    Drop,
}

impl EvalFiles {
    /// The treatment of the levels of the result.
    pub fn levels(&self) -> Levels {
        match self.levels {
            LevelsFlag::Auto => Levels::Auto,
            LevelsFlag::Keep => Levels::Keep,
            LevelsFlag::Drop => Levels::Drop,
        }
    }

    /// The bootstrapping key, if the input takes one or it is given. Standard input cannot be
    /// looked at twice.
    pub fn bootstrap(&self) -> Option<PathBuf> {
        let beside = || self.key.with_file_name(KEY_NAME);
        let is_file = self.input.as_os_str() != "-";
        let takes_one = || Input::open(&self.input).is_ok_and(operation::takes_bootstrapping);
        let found = || (is_file && takes_one()).then(beside).filter(|path| path.exists());
        self.bootstrap_key.clone().or_else(found)
    }

    /// The levels as the value of a parameter.
    fn levels_given(&self) -> Option<Given> {
        let name = self.levels.to_possible_value()?.get_name().to_owned();
        Some(Given::Text(name))
    }
}

/// Examples of operations whose options take more than a line to explain.
fn examples(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "lt" => {
            "Example:\n  \
            he-cli keygen ckks --bootstrap fast -o deep/\n  \
            he-cli encrypt may.csv --width 16 -k deep/public.key -o digits.he\n  \
            he-cli eval lt digits.he --number 18 -k deep/eval.key -o low.he"
        }
        "select" => {
            "Example:\n  \
            he-cli eval lt may.he --with june.he -k bits/eval.key -o rose.he\n  \
            he-cli eval select rose.he --with june.he --otherwise may.he -k bits/eval.key -o best.he"
        }
        "lookup" => {
            "Example:\n  \
            he-cli eval lookup grades.he --table prices.csv --columns price -k bits/eval.key -o priced.he"
        }
        "blur" => {
            "A blur of radius R needs R pixels of halo and one level, and no keys beyond those of keygen ckks:\n  \
            he-cli encrypt photo.png --halo 15 -k keys/public.key -o photo.he\n  \
            he-cli eval blur photo.he --sigma 5 -k keys/eval.key -o blurred.he"
        }
        "refresh" => {
            "The keys are those of keygen --bootstrap. Under ckks, bootstrap.key refreshes images and tables of numbers up to 1:\n  \
            he-cli keygen ckks --bootstrap fast -o deep/\n  \
            he-cli encrypt photo.png -k deep/public.key -o photo.he\n  \
            he-cli eval blur photo.he -k deep/eval.key -o blurred.he\n  \
            he-cli eval refresh blurred.he -k deep/bootstrap.key -o fresh.he\n\n\
            Under bfv and bgv it refreshes every file whose integers still decrypt with a few bits of noise budget to spare:\n  \
            he-cli keygen bfv --bootstrap -o exact/\n  \
            he-cli encrypt a.csv -k exact/public.key -o a.he\n  \
            he-cli encrypt b.csv -k exact/public.key -o b.he\n  \
            he-cli eval mul a.he --with b.he -k exact/eval.key -o ab.he\n  \
            he-cli eval refresh ab.he -k exact/bootstrap.key -o again.he\n\n\
            A refresh takes seconds and the memory of its keys: he-cli params --bootstrap and he-cli params bfv --bootstrap show how much."
        }
        _ => return None,
    })
}

/// The option of a public table of integers, which is read from a file.
const PUBLIC_TABLE: &str = "table";

/// The command of a row of the table.
fn command(row: &Row) -> Command {
    let dropping = operation::dropping();
    let levels = move |arg: Arg| {
        let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.long_help(format!(
            "{short}\n\nDropping leaves as many levels as the result and sums of hundreds of results like it \
             need. auto drops the levels of {dropping}, and keeps those of other operations."
        ))
    };
    let mut command = EvalFiles::augment_args(Command::new(row.name)).mut_arg("levels", levels);
    for other in row.others {
        let arg = Arg::new(other.name).long(other.name).value_name("FILE").help(other.about);
        let arg = arg.value_parser(value_parser!(PathBuf)).required(other.or.is_none());
        command = command.arg(match other.or {
            Some(parameter) => arg.conflicts_with(parameter),
            None => arg,
        });
    }
    let command = row.parameters.iter().fold(command, option);
    // Behind the options, because groups of options bring descriptions of their own.
    let command = command.about(row.help()).after_help(examples(row.name));
    match row.more {
        "" => command.long_about(None),
        more => command.long_about(format!("{}\n\n{more}", row.help())),
    }
}

/// The command with the option of a parameter.
fn option(command: Command, parameter: &Parameter) -> Command {
    let Parameter { name, value, about, domain } = *parameter;
    let arg = Arg::new(name).long(name).value_name(value).required(domain.is_required());
    let arg = match domain.default() {
        Some(default) => arg.help(format!("{about} [default: {default}]")),
        None => arg.help(about),
    };
    let arg = match domain {
        Domain::Any { .. } | Domain::Unit { .. } | Domain::Positive => {
            arg.value_parser(value_parser!(f64)).allow_negative_numbers(true)
        }
        Domain::Whole => arg.value_parser(value_parser!(usize)),
        Domain::Natural => arg.value_parser(value_parser!(u64)),
        Domain::Matrix | Domain::Integer => arg.allow_hyphen_values(true),
        Domain::Column => arg,
        Domain::TwoColumns => arg.value_delimiter(',').action(ArgAction::Append),
        Domain::Width => arg.value_parser(value::width),
        Domain::Entries => {
            let file = arg.id(PUBLIC_TABLE).long(PUBLIC_TABLE).value_parser(value_parser!(PathBuf));
            return CsvFlags::augment_args(command.arg(file));
        }
    };
    command.arg(arg)
}

/// The value of a parameter on a command line, if it is there. Entries are in a file.
fn given(parameter: &Parameter, matches: &ArgMatches) -> Option<Given> {
    let name = parameter.name;
    Some(match parameter.domain {
        Domain::Any { .. } | Domain::Unit { .. } | Domain::Positive => Given::Number(*matches.get_one(name)?),
        Domain::Whole => Given::Whole(*matches.get_one::<usize>(name)? as u64),
        Domain::Natural => Given::Whole(*matches.get_one(name)?),
        Domain::Matrix | Domain::Column | Domain::Integer => {
            Given::Text(matches.get_one::<String>(name)?.clone())
        }
        Domain::TwoColumns => Given::Texts(matches.get_many::<String>(name)?.cloned().collect()),
        Domain::Width => Given::Whole(u64::from(*matches.get_one::<u32>(name)?)),
        Domain::Entries => return None,
    })
}

/// An operation of the table with its options.
#[derive(Clone, Debug)]
pub struct Operation {
    row: &'static Row,
    files: EvalFiles,
    others: Vec<(&'static str, PathBuf)>,
    given: Vec<(&'static str, Given)>,
    /// The parameter that is a table in the clear, the table, and how it is read.
    table: Option<(&'static str, PathBuf, CsvFlags)>,
}

impl Subcommand for Operation {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(TABLE.iter().map(self::command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        TABLE.iter().any(|row| row.name == name)
    }
}

impl FromArgMatches for Operation {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let none = || clap::Error::raw(ErrorKind::MissingSubcommand, "an operation is missing");
        let (name, matches) = matches.subcommand().ok_or_else(none)?;
        let row = TABLE.iter().find(|row| row.name == name).ok_or_else(none)?;
        let others = row
            .others
            .iter()
            .filter_map(|other| Some((other.name, matches.get_one::<PathBuf>(other.name)?.clone())));
        let given =
            row.parameters.iter().filter_map(|parameter| Some((parameter.name, given(parameter, matches)?)));
        let mut entries = row.parameters.iter().filter(|parameter| parameter.domain == Domain::Entries);
        let table = match entries.next() {
            Some(Parameter { name, .. }) => {
                let file = matches.get_one::<PathBuf>(PUBLIC_TABLE).ok_or_else(none)?;
                Some((*name, file.clone(), CsvFlags::from_arg_matches(matches)?))
            }
            None => None,
        };
        let files = EvalFiles::from_arg_matches(matches)?;
        Ok(Self { row, files, others: others.collect(), given: given.collect(), table })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Operation {
    /// The files.
    pub fn files(&self) -> &EvalFiles {
        &self.files
    }

    /// The other encrypted files, and the options that name them.
    pub fn others(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.others.iter().map(|(name, path)| (*name, &**path))
    }

    /// The table in the clear, if there is one.
    pub fn table(&self) -> Option<&Path> {
        self.table.as_ref().map(|(_, path, _)| &**path)
    }

    /// The operation without its encrypted files.
    ///
    /// # Errors
    /// The table in the clear cannot be read.
    pub fn without_files(&self) -> Result<operation::Operation> {
        let mut given = self.given.clone();
        let levels = self.row.levels.and_then(|_| self.files.levels_given());
        given.extend(levels.map(|levels| ("levels", levels)));
        if let Some((name, path, csv)) = &self.table {
            let entries = columns::entries(Input::open(path)?, csv.options(), &Shown::default())?;
            given.push((name, Given::Texts(entries.iter().map(ToString::to_string).collect())));
        }
        operation::Operation::given(self.row.name, given).map_err(|error| {
            let hint = format!("he-cli eval {} --help lists the options", self.row.name);
            CliError::usage(error.to_string()).hint(hint)
        })
    }
}
