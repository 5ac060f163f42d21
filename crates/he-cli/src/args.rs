//! The command line: a module per command, and one for each group of options that several share.

mod audit;
#[cfg(feature = "bench")]
pub mod bench;
mod decrypt;
mod demo;
mod device;
mod encrypt;
mod eval;
mod info;
mod intersect;
mod keygen;
mod lookup;
mod model;
mod needs;
mod output;
mod params;
mod party;
mod publishing;
mod seal;
mod search;
mod secret;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "client")]
mod server;
mod shell;
#[cfg(feature = "sql")]
mod sql;
mod table;
mod transcipher;
mod value;

pub use audit::{
    Audit, Dispute, OfInference, TraceCommand, TraceKeygen, TraceOpen, TraceParts, TraceSign, TraceStep,
    TraceVerify,
};
pub use decrypt::Decrypt;
pub use demo::Demo;
pub use device::DeviceFlag;
pub use encrypt::Encrypt;
pub use eval::{Eval, EvalFiles, Operation};
pub use info::Info;
pub use intersect::{
    Intersect, IntersectAnswer, IntersectInfo, IntersectPrepare, IntersectQuery, IntersectRead,
    IntersectRequest, IntersectRespond, IntersectStep,
};
pub use keygen::{KeyFolder, Keygen, KeygenAes, KeygenBigCkks, KeygenCkks, KeygenExact, KeygenTfhe, Scheme};
pub use lookup::{
    Lookup, LookupAnswer, LookupAppend, LookupInfo, LookupKeygen, LookupPrepare, LookupQuery, LookupRead,
    LookupRecord, LookupStep, LookupUpdate,
};
#[cfg(feature = "client")]
pub use lookup::{LookupFetch, LookupGet};
pub use model::{Compile, Infer};
pub use needs::{BigCkksNeeds, CkksNeeds, ExactNeeds, Needs, TfheNeeds};
pub use output::OutputFile;
pub use params::{Params, ParamsScheme};
pub use party::{
    CombineStep, Contribution, Party, PartyCheck, PartyEncrypt, PartyFolder, PartyInit, PartyStep, Quorum,
    ShareStep,
};
pub use publishing::{PublishNeeds, Published};
pub use seal::{Seal, SealExport, SealImport, SealKeys, SealStep};
pub use search::{
    Search, SearchAnswer, SearchAppend, SearchCreate, SearchDelete, SearchInfo, SearchKeygen, SearchMerge,
    SearchOutput, SearchQuery, SearchRead, SearchSecret, SearchStep,
};
#[cfg(feature = "client")]
pub use search::{SearchUpload, SearchWithdraw};
pub use secret::{Opening, SealFlags, Unlock};
#[cfg(feature = "server")]
pub use serve::{Quotas, Serve, ServeCommand, ServeFlags, TenantCommand, TokenCommand};
#[cfg(feature = "client")]
pub use server::ServerFlags;
pub use shell::{Completions, Man};
#[cfg(feature = "sql")]
pub use sql::Sql;
pub use table::{CsvFlags, TableFlags};
pub use transcipher::Transcipher;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Encrypt images and tables, compute on them while they stay encrypted, and decrypt the results;
/// encrypt any other file
#[derive(Debug, Parser)]
#[command(
    name = "he-cli",
    version,
    max_term_width = 100,
    after_help = "Example:\n  \
        he-cli keygen ckks -o keys/\n  \
        he-cli encrypt photo.png -k keys/public.key -o photo.he\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he\n  \
        he-cli decrypt blurred.he -k keys/secret.key -o blurred.png\n\n  \
        he-cli keygen bfv -o exact/\n  \
        he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he\n  \
        he-cli eval count votes.he -k exact/eval.key -o counts.he\n  \
        he-cli decrypt counts.he -k exact/secret.key -o -\n\n  \
        he-cli keygen aes -o my.key\n  \
        he-cli encrypt movie.mkv -k my.key -o movie.he\n  \
        he-cli decrypt movie.he -k my.key -o copy.mkv\n\n\
        A file named - is standard input or output. Exit codes: 0 done, 1 failed, 2 wrong usage.\n\
        he-cli help COMMAND describes a command; he-cli help eval blur one of its operations."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

impl Cli {
    /// Understands a command line, the program's name first.
    ///
    /// Where a command's own options conflict with its subcommands (`keygen` and `keygen ckks`),
    /// clap counts the options of every command among them. So this checks it in clap's place:
    /// `he-cli keygen -q ckks` is as good as `he-cli keygen ckks -q`.
    ///
    /// # Errors
    /// It is none, or asks for help.
    pub fn understand(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = without_conflicts(Self::command());
        let matches = command.try_get_matches_from_mut(words)?;
        let mut rules = Self::command();
        rules.build();
        if let Some(message) = misplaced(&rules, &matches) {
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The same command, whose options do not conflict with subcommands.
fn without_conflicts(command: clap::Command) -> clap::Command {
    let command = match command.is_args_conflicts_with_subcommands_set() {
        true => command.args_conflicts_with_subcommands(false).subcommand_negates_reqs(true),
        false => command,
    };
    command.mut_subcommands(without_conflicts)
}

/// The error of an option of a command's own before a subcommand that it conflicts with.
fn misplaced(command: &clap::Command, matches: &ArgMatches) -> Option<String> {
    let (name, below) = matches.subcommand()?;
    let is_given = |arg: &&clap::Arg| {
        !arg.is_global_set()
            && matches
                .value_source(arg.get_id().as_str())
                .is_some_and(|source| source == ValueSource::CommandLine)
    };
    if command.is_args_conflicts_with_subcommands_set()
        && let Some(arg) = command.get_arguments().find(is_given)
    {
        return Some(format!("{arg} stands before {name}, and belongs behind it, if {name} has it"));
    }
    misplaced(command.find_subcommand(name)?, below)
}

/// The options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print JSON instead of text, for errors as well
    ///
    /// The object goes to standard output, or to standard error if standard output carries the data
    /// (-o -). Errors are one line of JSON on standard error. docs/command-line.md lists the
    /// fields.
    //
    // A path, because `bench` has an option of this name that takes one; this is its `-`.
    #[arg(long, global = true, num_args = 0, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Print no progress, no notes and no summaries
    ///
    /// Answers, warnings and errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Number of CPU threads [default: RAYON_NUM_THREADS, or all processors]
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Global {
    /// Whether results go to a program.
    pub fn is_json(&self) -> bool {
        self.json.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// Heading of options that many commands have.
const COMMON: &str = "Common options";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a model for encrypted inputs: ranges, levels, keys, time and memory
    #[command(after_help = "Examples:\n  \
        he-cli compile model.onnx --calibrate sample.csv -o model.plan\n  \
        he-cli keygen model.plan -o model/\n  \
        he-cli encrypt inputs.csv --model model.plan -k model/public.key -o x.he\n  \
        he-cli infer x.he --model model.plan -k model/eval.key -o y.he\n  \
        he-cli decrypt y.he -k model/secret.key -o y.csv")]
    Compile(Compile),
    /// Make the keys of a scheme, or those of a model
    #[command(after_help = "Examples:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n  \
        he-cli keygen bfv --bits 40 -o exact/\n  \
        he-cli keygen model.plan -o model/\n  \
        he-cli keygen aes -o my.key\n\n\
        he-cli help keygen ckks lists the options for keys of ckks, and so on.")]
    Keygen(Keygen),
    /// Encrypt an image or a table to compute on it, or any file to keep it secret
    ///
    /// The key decides. Keys of ckks, bfv, bgv and bigckks encrypt images (PNG, JPEG, BMP, TIFF,
    /// WebP) and CSV tables of numbers; keys of tfhe encrypt images and CSV tables of integers. An
    /// AES key or a passphrase encrypts any file or folder; an AES key of keygen aes
    /// --transcipher encrypts images and tables of integers for he-cli transcipher.
    ///
    /// If you have the secret key, encrypt with it: under ckks, bfv and bgv, -k secret.key makes
    /// files half as large as -k public.key, because the second half of each ciphertext is then a
    /// seed.
    #[command(after_help = "Examples:\n  \
        he-cli encrypt photo.png -k keys/public.key -o photo.he\n  \
        he-cli encrypt prices.csv -k keys/public.key -o prices.he\n  \
        he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he\n  \
        he-cli encrypt movie.mkv -k my.key -o movie.he\n  \
        he-cli encrypt papers/ --passphrase -o papers.he\n  \
        pg_dump base | he-cli encrypt - -k my.key -o base.he")]
    Encrypt(Encrypt),
    /// Compute on encrypted files without decrypting them
    #[command(
        after_help = "he-cli eval --help shows examples, he-cli eval blur --help the options of blur.",
        after_long_help = "Examples:\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he\n  \
        he-cli eval blend photo.he --with other.he --alpha 0.25 -k keys/eval.key -o mixed.he\n  \
        he-cli eval kernel photo.he --matrix \"0 -1 0; -1 5 -1; 0 -1 0\" -k keys/eval.key -o sharp.he\n  \
        he-cli eval dot prices.he --columns price,amount -k keys/eval.key -o total.he\n  \
        he-cli eval add may.he --with june.he -k keys/eval.key -o both.he\n  \
        he-cli eval count votes.he -k exact/eval.key -o counts.he\n  \
        he-cli eval lt bids.he --with limits.he -k bits/eval.key -o below.he\n\n\
        he-cli eval blur --help shows the options of blur, and so on."
    )]
    Eval(Eval),
    /// Turn what a sensor sends under AES into an encrypted table or image under tfhe
    ///
    /// A sensor encrypts with an AES key of its own, which adds no bytes. Whoever has that key
    /// under tfhe, and an evaluation key, makes of it what encrypt makes with keys of tfhe, and
    /// learns neither the key nor the numbers. A block of AES, 16 bytes, takes seconds on a CPU.
    #[command(after_help = "Example, by the owner of the keys, the sensor, and whoever computes:\n  \
        he-cli keygen tfhe --transcipher -o keys/\n  \
        he-cli keygen aes --transcipher -o sensor.key\n  \
        he-cli encrypt sensor.key --transcipher -k keys/secret.key -o sensor.he\n\n  \
        he-cli encrypt readings.csv --width 16 --signed -k sensor.key -o readings.aes\n\n  \
        he-cli transcipher readings.aes --sensor-key sensor.he -k keys/eval.key -o readings.he\n  \
        he-cli eval sort readings.he -k keys/eval.key -o sorted.he")]
    Transcipher(Transcipher),
    /// Exchange keys and ciphertexts with programs that use SEAL 4
    Seal(Seal),
    /// Compute the encrypted outputs of a model from encrypted examples
    #[command(after_help = "Example:\n  \
        he-cli infer x.he --model model.plan -k model/eval.key -o y.he")]
    Infer(Infer),
    /// Check the trace of a computation: compute some of its operations again, on the CPU
    ///
    /// Whoever computes records a trace, which is bound to every operation by its root. An auditor
    /// with the inputs and the evaluation key, and no secret, computes operations again that it
    /// draws at random. The same words come out on every device, so one other word is a wrong one.
    #[command(after_help = "Example, by whoever computes, and by an auditor:\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he --record blurred.trace\n  \
        he-cli audit blurred.trace --input photo.he -k keys/eval.key --result blurred.he\n\n  \
        he-cli infer x.he --model model.plan -k model/eval.key -o y.he --record y.trace --keep values/\n  \
        he-cli audit y.trace --input x.he -k model/eval.key --model model.plan --values values/ -n 5")]
    Audit(Audit),
    /// Find the first operation in which two traces of one computation differ, and say who is right
    #[command(after_help = "Example:\n  \
        he-cli dispute mine.trace theirs.trace --input photo.he -k keys/eval.key")]
    Dispute(Dispute),
    /// Sign the roots of traces, and open single operations of them
    ///
    /// A signed root binds whoever computed to every operation, before an auditor draws.
    #[command(after_help = "Example, by whoever computes, and by an auditor:\n  \
        he-cli trace keygen -o signer/\n  \
        he-cli trace sign mine.trace -k signer/signing.pem -o mine.signed\n  \
        he-cli trace verify mine.trace --signed mine.signed --signer signer/verifying.pem\n  \
        he-cli trace open mine.trace --operations 0,2 -o mine.opening\n\n  \
        he-cli audit mine.opening --these 0,2 --input photo.he -k keys/eval.key \\\n    \
        --signed mine.signed --signer signer/verifying.pem")]
    Trace(TraceCommand),
    /// Search among encrypted vectors by an encrypted query
    ///
    /// An index is a folder of encrypted vectors and payloads. Whoever has it and an evaluation key
    /// answers how many vectors are near an encrypted query, with which payloads, or how near all
    /// of them are, and learns none of it.
    #[command(after_help = "Example:\n  \
        he-cli search create faces/ --dimension 128 --threshold 0.8 --margin 0.1 --payload 8\n  \
        he-cli search keygen faces/ -o keys/\n  \
        he-cli search append faces/ vectors.csv --payloads names.txt -k keys/secret.key\n  \
        he-cli search query faces/ face.csv -k keys/secret.key -o query.he\n  \
        he-cli search answer faces/ query.he -k keys/eval.key -o answer.he\n  \
        he-cli search read answer.he -k keys/secret.key -o -")]
    Search(Search),
    /// Look up one record of a large database without telling which
    ///
    /// A database is a folder of records in the clear. Whoever has it answers encrypted queries by
    /// the number of a record or by a key, and learns neither, nor whether there is such a key.
    #[command(after_help = "Example:\n  \
        he-cli lookup prepare words/ words.tsv --by-key --record-bytes 32\n  \
        he-cli lookup keygen -o client.key\n  \
        he-cli lookup query words/description.lookup --entry salt -k client.key -o query\n  \
        he-cli lookup answer words/ query -o answer\n  \
        he-cli lookup read words/description.lookup answer --entry salt -k client.key -o -")]
    Lookup(Lookup),
    /// Find the items that two sets have in common, and their labels
    ///
    /// The set of a server is a folder. A client asks in two rounds and learns which of its items
    /// are there, with their labels; the server learns how many it was asked for.
    #[command(after_help = "Example:\n  \
        he-cli intersect prepare users/ users.txt --client-items 1000\n  \
        he-cli intersect request users/plan.psi friends.txt -s my.state -o request\n  \
        he-cli intersect respond users/ request -o response\n  \
        he-cli intersect query users/plan.psi response -s my.state -o query\n  \
        he-cli intersect answer users/ query -o answer\n  \
        he-cli intersect read users/plan.psi response answer -s my.state -o -")]
    Intersect(Intersect),
    /// Decrypt a file, or the result of a computation
    #[command(after_help = "Examples:\n  \
        he-cli decrypt blurred.he -k keys/secret.key -o blurred.png\n  \
        he-cli decrypt total.he -k keys/secret.key -o -\n  \
        he-cli decrypt sums.he -k exact/secret.key -o sums.csv\n  \
        he-cli decrypt movie.he -k my.key -o copy.mkv\n  \
        he-cli decrypt movie.he -k my.key --range 1000000..2000000 -o part\n  \
        he-cli decrypt papers.he --passphrase -o papers/\n\n\
        What lies beyond black and white is cut off in a picture, whatever the scheme. A table (-o sums.csv) holds the numbers \
        themselves: x and y from 0 at the top left, then the channels; whole numbers under BFV and BGV (up to 65025 for a product \
        of 8-bit images), otherwise real numbers in steps of a sample. --raw and --scale show them as a picture.")]
    Decrypt(Decrypt),
    /// Describe a key or an encrypted file
    #[command(after_help = "Examples:\n  \
        he-cli info --json photo.he\n  \
        he-cli info votes.he --key exact/secret.key")]
    Info(Info),
    /// Show which parameters keygen would choose, why, and how large keys and ciphertexts become
    #[command(after_help = "Examples:\n  \
        he-cli params --depth 6 --precision 30\n  \
        he-cli params bfv --bits 40 --depth 3\n  \
        he-cli params tfhe --json\n  \
        he-cli params --bootstrap\n\n\
        Without a scheme the options are those of CKKS; he-cli help params bfv has those of BFV, and so on.")]
    Params(Params),
    /// Make keys together with other parties, and decrypt together, so that nobody has the key
    ///
    /// Each party has a folder with session.he, which all have, and party.key, which it alone has.
    /// It makes messages for the others (share), and combines theirs (combine). These keys encrypt
    /// and compute as those of keygen ckks do.
    #[command(after_help = "Examples:\n  \
        he-cli party init --parties 3 --party 1 -o a/\n  \
        he-cli party share keys a/\n  \
        he-cli party share relin a/ --shares a/keys.share b/keys.share c/keys.share\n  \
        he-cli party combine keys a/ --shares a/keys.share b/keys.share c/keys.share \\\n    \
        --second a/relin.share b/relin.share c/relin.share\n  \
        he-cli party share decrypt a/ mean.he -o a/mean.share\n  \
        he-cli party combine decrypt a/ mean.he --shares a/mean.share b/mean.share c/mean.share -o mean.csv")]
    Party(Party),
    /// Make keys, encrypt an image, blur it, decrypt it, and report times, sizes and PSNR; or read
    /// handwritten digits
    #[command(after_help = "Examples:\n  \
        he-cli demo photo.png -o out/\n  \
        he-cli demo photo.png --deep -o out/\n  \
        he-cli demo --digits -o out/")]
    Demo(Demo),
    /// List the CUDA devices of this machine
    #[command(after_help = "Example:\n  he-cli devices --json")]
    Devices,
    /// Measure the speed of this machine, and compare it with the tables of five papers
    #[cfg(feature = "bench")]
    #[command(after_help = "Examples:\n  \
        he-cli bench papers --quick\n  \
        he-cli bench papers p4 p5 --device cuda --json results.json --plots plots/\n  \
        he-cli bench gates --limit 60\n  \
        he-cli bench bootstrap --preset fast --runs 20\n  \
        he-cli bench helr --device cuda --no-cpu\n  \
        he-cli bench nn --model lenet5_square\n\n\
        Every time is the median of repeated calls, each of which starts and ends with an idle device.")]
    Bench(bench::Bench),
    /// Start a service that computes on encrypted files, over HTTP
    ///
    /// It never holds a secret key. docs/service.md describes its API, threat model and deployment,
    /// docs/operating.md tenants, logs, certificates, backup and upgrade.
    #[cfg(feature = "server")]
    #[command(after_help = "Examples:\n  \
        he-cli serve\n  \
        he-cli serve --listen 0.0.0.0:443 --tls-certificate chain.pem --tls-key key.pem\n  \
        he-cli serve token add alice --create\n  \
        he-cli serve tenant list")]
    Serve(Box<Serve>),
    /// Answer SQL on tables with encrypted columns, by the program he-sql
    ///
    /// Everything after it is an option of he-sql query. docs/sql.md describes functions, tables
    /// and clusters.
    #[cfg(feature = "sql")]
    #[command(after_help = "Example:\n  \
        he-cli sql \"SELECT region, he_sum(price) FROM t GROUP BY region\" --table t=sales.parquet \\\n    \
        --keys keys/eval.key -o answer.parquet")]
    Sql(Sql),
    /// Print a script that lets a shell complete commands and options
    #[command(after_help = "Examples:\n  \
        he-cli completions bash > ~/.local/share/bash-completion/completions/he-cli\n  \
        he-cli completions zsh > ~/.zfunc/_he-cli           # fpath+=~/.zfunc before compinit in .zshrc\n  \
        he-cli completions fish > ~/.config/fish/completions/he-cli.fish\n  \
        he-cli completions powershell >> $PROFILE")]
    Completions(Completions),
    /// Write manual pages, one for each command and subcommand
    #[command(after_help = "Example:\n  \
        he-cli man -o ~/.local/share/man/man1\n\n\
        Afterwards man he-cli, man he-cli-encrypt and man he-cli-eval-blur work.")]
    Man(Man),
}

impl Command {
    /// Whether a signal ends the program at once, after temporary files were removed. A service
    /// ends by itself.
    pub fn ends_at_once(&self) -> bool {
        #[cfg(feature = "server")]
        if let Self::Serve(_) = self {
            return false;
        }
        true
    }
}
