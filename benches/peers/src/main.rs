//! Peers on crates.io beside this library on one thread, pair by pair in one run, as Markdown tables of least times. What a pair computes is
//! checked once, before it is measured.
//!
//! `cargo run --release -p he-peers --features all`, or a part of it: `--features aes,tfhe-ntt` builds these peers alone, and `-- bfv gates`
//! measures these tables alone. None of the peers is a dependency of the library's packages but `aes`. Their licences: MIT or Apache-2.0, but
//! for `fhe` (MIT) and `tfhe` and `tfhe-ntt` (BSD-3-Clause-Clear, which grants no patents: to be measured, not to be shipped).

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

/// The tables of the peers that this was built with.
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
