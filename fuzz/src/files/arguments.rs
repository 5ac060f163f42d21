//! The words of a command line, and the texts of its options.
//!
//! Must hold: any words are a command or an error of usage; every text of an option is refused or
//! accepted without a panic.
//!
//! Bytes: words, separated by the byte 31.

use he_core::circuits::Kernel;
use he_files::aes_file::ByteRange;
use he_files::contents::options::{ColumnCategories, ColumnOffset};

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = text.parse::<ByteRange>();
    let _ = text.parse::<ColumnCategories>();
    let _ = text.parse::<ColumnOffset>();
    let _ = text.parse::<he::Device>();
    let _ = text.parse::<Kernel>().map(|kernel| kernel.radius());
    let words = std::iter::once("he-cli").chain(text.split('\u{1f}'));
    let code = he_cli::check(words);
    assert!([0, 2].contains(&code), "{code}");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        "1000..2000",
        "5..",
        "colour=red,green",
        "pressure=101325",
        "0 -1 0; -1 5 -1; 0 -1 0",
        "cuda:1",
        "cpu",
        "decrypt a -k b -o c --range 1..2",
        "eval blur a --radius 3 -k b -o -",
        "keygen ckks --depth 3 -o x",
        "keygen tfhe --failure 2^-40 -o x",
        "encrypt a.csv --categories party --columns x,y -k b -o c --json",
        "infer x.he --model m.plan -k eval.key -o y",
        "params bfv --depth 2 --bits 20",
        "--help",
        "eval help",
    ];
    lines
        .iter()
        .map(|line| line.replace("; ", "\u{1}").replace(' ', "\u{1f}").replace('\u{1}', "; ").into_bytes())
        .collect()
}
