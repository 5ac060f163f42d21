//! Measures peers from crates.io beside this library on one thread, pair by pair in one run, as
//! Markdown tables of least times. The results of a pair are checked once, before it is measured.
//!
//! `cargo run --release -p he-peers --features all`, or a part of it: `--features aes,tfhe-ntt`
//! builds only these peers, and `-- bfv gates` measures only these tables. None of the peers except
//! `aes` is a dependency of the library's packages. Their licences are MIT or Apache-2.0, except
//! for `fhe` (MIT) and for `tfhe` and `tfhe-ntt` (BSD-3-Clause-Clear, which grants no patents: they
//! may be measured, but not shipped).

#[cfg(feature = "aes")]
mod aes;
#[cfg(feature = "fhe")]
mod bfv;
#[cfg(feature = "tfhe-ntt")]
mod ntt;
#[cfg(feature = "tfhe")]
mod tfhe;

use he_core::backend::{Backend, Cpu};
use std::process::ExitCode;

type Section = (&'static str, fn());

/// The tables of the peers with which this was built.
const SECTIONS: &[Section] = &[
    #[cfg(feature = "aes")]
    ("aes", aes::table),
    #[cfg(feature = "tfhe-ntt")]
    ("ntt", ntt::table),
    #[cfg(feature = "fhe")]
    ("bfv", bfv::table),
    #[cfg(feature = "tfhe")]
    ("gates", tfhe::gates::table),
    #[cfg(feature = "tfhe")]
    ("integers", tfhe::integers::table),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| SECTIONS.iter().any(|(section, _)| section == name);
    if SECTIONS.is_empty() || !wanted.iter().all(known) {
        let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("tables of this build: {names:?}; build more with `--features all`");
        return ExitCode::FAILURE;
    }
    // Inside a pool of one thread nothing of ours or of the peers leaves this thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let now = jiff::Timestamp::now().strftime("%F %R UTC");
        println!("{now}, {}; ours: {}", he_peers::cpu(), Cpu::new().name());
        for (_, table) in
            SECTIONS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|x| x == name))
        {
            table();
        }
    });
    ExitCode::SUCCESS
}
