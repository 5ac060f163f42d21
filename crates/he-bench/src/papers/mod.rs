//! The experiments of five papers, theirs beside ours: one module per paper, with its figures.

mod p1;
mod p2;
mod p3;
mod p4;
mod p5;

use super::measure::Lab;
use super::report::Show;
use crate::error::Result;

/// A paper whose experiments are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// CKKS with a big-integer modulus, serial and on CUDA (2023).
    P1,
    /// AES-128-ECB on CUDA (2011).
    P2,
    /// Addition and comparison of encrypted integers: HElib, TFHE, SEAL (2018).
    P3,
    /// RNS-CKKS, serial and on CUDA (2024).
    P4,
    /// BFV on an FPGA (2021).
    P5,
}

/// The names of the tables of some papers, or of all.
pub fn names(lab: &Lab, papers: &[Paper]) -> Vec<String> {
    let all: [(Paper, Vec<String>); 5] = [
        (Paper::P1, vec![p1::ID.to_owned()]),
        (Paper::P2, vec![p2::ID.to_owned()]),
        (Paper::P3, p3::names(lab)),
        (Paper::P4, p4::names()),
        (Paper::P5, p5::names()),
    ];
    all.into_iter().filter(|(paper, _)| is_asked(*paper, papers)).flat_map(|(_, names)| names).collect()
}

fn is_asked(paper: Paper, papers: &[Paper]) -> bool {
    papers.is_empty() || papers.contains(&paper)
}

/// The tables of some papers, or of all; each is shown as soon as it is done.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, papers: &[Paper], show: &mut Show<'_>) -> Result<()> {
    type Experiment = fn(&Lab, &mut Show<'_>) -> Result<()>;
    let all: [(Paper, &str, Experiment); 5] = [
        (Paper::P1, "P1: CKKS with a big-integer modulus", p1::tables),
        (Paper::P2, "P2: AES-128-ECB", p2::tables),
        (Paper::P3, "P3: addition and comparison of integers", p3::tables),
        (Paper::P4, "P4: RNS-CKKS", p4::tables),
        (Paper::P5, "P5: BFV on tiny degrees", p5::tables),
    ];
    for (paper, name, experiment) in all {
        if is_asked(paper, papers) {
            lab.announce(name);
            experiment(lab, show)?;
        }
    }
    Ok(())
}
