//! One module per command.

mod audit;
#[cfg(feature = "bench")]
mod bench;
mod bootstrap;
mod completions;
mod decrypt;
mod deep;
mod demo;
mod devices;
mod digits;
mod encrypt;
mod eval;
mod info;
mod intersect;
pub mod keygen;
mod lookup;
mod man;
mod model;
mod params;
mod party;
mod seal;
mod search;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "sql")]
mod sql;
mod trace;
mod transcipher;

use crate::args::Command;
use crate::error::Result;

/// Carries out a command.
///
/// # Errors
/// Any failure, in terms for the person at the terminal.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Compile(args) => model::compile(&args)?.tell(),
        Command::Infer(args) => model::infer(&args)?.tell(),
        Command::Keygen(args) => keygen::run(&args)?.tell(),
        Command::Encrypt(args) => encrypt::run(&args)?.tell(),
        Command::Eval(args) => eval::run(&args.operation)?.tell(),
        Command::Audit(args) => audit::audit(&args)?.tell(),
        Command::Dispute(args) => audit::dispute(&args)?.tell(),
        Command::Trace(args) => trace::run(&args)?.tell(),
        Command::Transcipher(args) => transcipher::run(&args)?.tell(),
        Command::Decrypt(args) => decrypt::run(&args)?.tell(),
        Command::Info(args) => info::run(&args),
        Command::Params(args) => params::run(&args),
        Command::Intersect(args) => intersect::run(&args)?.tell(),
        Command::Lookup(args) => lookup::run(&args)?.tell(),
        Command::Seal(args) => seal::run(&args)?.tell(),
        Command::Search(args) => search::run(&args)?.tell(),
        Command::Party(args) => party::run(&args)?.tell(),
        Command::Demo(args) if args.digits => digits::run(&args),
        Command::Demo(args) if args.deep => deep::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Devices => devices::run(),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(*args),
        #[cfg(feature = "sql")]
        Command::Sql(args) => sql::run(&args),
        Command::Completions(args) => completions::run(&args)?.tell(),
        Command::Man(args) => man::run(&args)?.tell(),
    }
}
