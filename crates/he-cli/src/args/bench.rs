//! The options of `bench`.

use super::{DeviceFlag, value};
use clap::{Args, Subcommand};
use he_files::bootstrap::Named;
use std::path::PathBuf;
use std::time::Duration;

/// `bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Subject of the measurements
    #[command(subcommand)]
    pub subject: Subject,
}

/// The subjects of measurements.
#[derive(Debug, Subcommand)]
pub enum Subject {
    /// Repeat the experiments of five papers, and show their figures beside ours
    Papers {
        /// Which papers [default: all]
        #[arg(value_name = "PAPER")]
        papers: Vec<Paper>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure the operations of CKKS, BFV, BGV and bigckks at every degree
    Ops(BenchOptions),
    /// Measure the parts of operations: transforms, loops over rows, the parts of a key switch
    Rings(BenchOptions),
    /// Measure products of matrices of integers modulo primes, and of encrypted matrices
    Matrices(BenchOptions),
    /// Measure every mode of AES, by length
    Aes(BenchOptions),
    /// Measure gates, integers and circuits of TFHE
    Gates(BenchOptions),
    /// Measure models on encrypted inputs: accuracy, time, memory, keys
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU. Keys are made in memory.
    Nn {
        /// Measure only this model; may be repeated [default: all on a GPU, otherwise the tables
        /// and lenet5_square; the tables with --quick]
        #[arg(long = "model", value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(he_bench::nn::MODELS))]
        models: Vec<String>,
        /// Folder of the models and their data
        #[arg(long, value_name = "FOLDER", default_value = "models")]
        folder: PathBuf,
        /// Number of examples whose outputs are compared with those in the clear
        #[arg(long, value_name = "N", default_value_t = 100)]
        #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
        examples: u16,
        /// Number of ciphertexts that are computed together
        #[arg(long, value_name = "N", default_value_t = 4)]
        #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
        batch: u16,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure CKKS bootstrapping: stages, precision, keys
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU. Keys are made in memory:
    /// he-cli params --bootstrap shows how large they are.
    Bootstrap(Refreshed),
    /// Measure look-ups in tables of 2, 16 and 256 entries in CKKS, and integers by them
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU. Keys are made in memory.
    Lookups(Refreshed),
    /// Measure refreshes of BFV and BGV: time, noise budgets, keys
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU. Keys take 5 GB of memory.
    Refresh {
        /// Schemes and plaintext moduli [default: bfv:257 bfv:65537 bfv:1048576 bgv:65537, or
        /// bfv:257 with --quick]
        #[arg(value_name = "SCHEME:T")]
        subjects: Vec<he_bench::refresh::Subject>,
        #[command(flatten)]
        runs: Runs,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure private look-up: scans for 1, 16 and 64 queries, and whole answers
    ///
    /// A database of samples is made on the device: 1 GB on the CPU, 32 GB on a GPU, whose answers
    /// mean nothing and take the same time.
    Pir(BenchOptions),
    /// Measure private set intersection: the answer to a query, the other steps, bytes
    ///
    /// A set of 1 000 000 items is prepared and asked for 1000, without labels and with labels of
    /// 16 bytes; --quick has 10 000 and 100. On the GPU if there is one, otherwise on all threads
    /// of the CPU.
    Sets {
        #[command(flatten)]
        runs: Runs,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure exact functions of the slots of CKKS by way of TFHE, and their parts
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU.
    Switching {
        /// Width of the integers on which functions are exact, in bits; may be repeated
        #[arg(long = "bits", value_name = "N", default_values_t = [8u8, 12])]
        #[arg(value_parser = clap::value_parser!(u8).range(6..=15))]
        widths: Vec<u8>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure AES-128-CTR under an encrypted key, to integers of TFHE and to numbers of CKKS
    ///
    /// On the GPU if there is one, otherwise on all threads of the CPU, where CKKS takes half an
    /// hour and 8 GB of memory beside its keys.
    Transcipher {
        /// Number of blocks that TFHE decrypts at once; may be repeated [default: 1 8 32 on a GPU,
        /// otherwise 1]
        #[arg(long = "blocks", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        blocks: Vec<u16>,
        /// Parameters of CKKS; may be repeated [default: fast]
        #[arg(long = "preset", value_name = "PRESET", value_parser = value::preset)]
        presets: Vec<Named>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure functions on CKKS: depth, refreshes, time, errors
    ///
    /// Each function is measured on ciphertexts with all levels, and with one, so that it is
    /// refreshed where levels run out. On the GPU if there is one, otherwise on all threads of the
    /// CPU. Keys are made in memory.
    Functions(Refreshed),
    /// Train logistic regression on encrypted digits: time per iteration, accuracy, keys
    ///
    /// Tells 3 from 8 by 196 features, in batches of 1024 (64 with --quick), as HELR (Han, Song,
    /// Cheon, Park 2019). On the GPU if there is one, otherwise on all threads of the CPU.
    Helr {
        /// Folder with train.gz and test.gz, as models/mnist of the repository has them
        #[arg(long, value_name = "FOLDER", default_value = "models/mnist")]
        data: PathBuf,
        /// Parameters with bootstrapping [default: fast, or insecure_toy with --quick]
        #[arg(long, value_name = "PRESET", value_parser = value::preset)]
        preset: Option<Named>,
        /// Number of iterations [default: 32, or 4 with --quick]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
        iterations: Option<u16>,
        #[command(flatten)]
        options: BenchOptions,
    },
}

/// The options of measurements with bootstrapping.
#[derive(Debug, Args)]
pub struct Refreshed {
    /// Measure only these parameters; may be repeated [default: all presets, and fast alone for
    /// functions, or insecure_toy with --quick]
    #[arg(long = "preset", value_name = "PRESET", value_parser = value::preset)]
    pub presets: Vec<Named>,
    #[command(flatten)]
    pub runs: Runs,
    #[command(flatten)]
    pub options: BenchOptions,
}

/// The number of calls.
#[derive(Debug, Args)]
pub struct Runs {
    /// Number of calls [default: 5, or 2 with --quick]; fewer if they exceed the limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10000))]
    pub runs: Option<u16>,
    /// Number of ciphertexts that are computed together
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    pub batch: u16,
}

impl Runs {
    /// The number of runs, and of ciphertexts at once.
    pub fn effort(&self, quick: bool) -> he_bench::bootstrap::Effort {
        let runs = self.runs.map_or(if quick { 2 } else { 5 }, usize::from);
        he_bench::bootstrap::Effort { runs, batch: usize::from(self.batch) }
    }
}

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Paper {
    /// CKKS with a big-integer modulus, serial and on CUDA (2023)
    P1,
    /// AES-128-ECB on CUDA (2011)
    P2,
    /// Addition and comparison of encrypted integers: HElib, TFHE, SEAL (2018)
    P3,
    /// RNS-CKKS, serial and on CUDA (2024)
    P4,
    /// BFV on an FPGA (2021)
    P5,
}

impl From<Paper> for he_bench::papers::Paper {
    fn from(paper: Paper) -> Self {
        match paper {
            Paper::P1 => Self::P1,
            Paper::P2 => Self::P2,
            Paper::P3 => Self::P3,
            Paper::P4 => Self::P4,
            Paper::P5 => Self::P5,
        }
    }
}

/// The options of measuring, and the places of the results.
#[derive(Clone, Debug, Args)]
pub struct BenchOptions {
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Measure small sizes, each call once, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Leave the CPU out if there is a GPU
    #[arg(long)]
    pub no_cpu: bool,
    /// Time limit per figure in seconds [default: 20, or 1 with --quick]
    ///
    /// Anything that would take longer is not run.
    #[arg(long, value_name = "SECONDS", value_parser = value::seconds)]
    pub limit: Option<Duration>,
    /// Measure only the table of this name, such as p3-sums; may be repeated
    ///
    /// The name is in brackets above each table.
    #[arg(long = "table", value_name = "NAME")]
    pub tables: Vec<String>,
    /// Write the results as JSON to FILE, or print them instead of the tables
    ///
    /// They are printed if FILE is missing or -.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Write the results as CSV, one line per figure
    ///
    /// With -, they are printed instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the tables as Markdown, with links to the plots
    ///
    /// Above the tables stand the command, the date, the hardware and the commit. With -, they are
    /// printed instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Folder for a plot of each table, as SVG and PNG
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}
