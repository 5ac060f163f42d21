//! `params`: what would be chosen, and why.

use crate::args::Params;
use crate::console;
use crate::error::{IoContext, Result};
use crate::scheme::{Ckks, Scheme};
use std::io::Write;

pub(super) fn run(args: &Params) -> Result<()> {
    let params = args.needs.params()?;
    let mut out = std::io::stdout().lock();
    if console::is_json() {
        return writeln!(out, "{:#}", Ckks::params_json(&params)).writing("standard output");
    }
    super::info::print_params(&mut out, &Ckks::params_text(&params))
        .and_then(|()| writeln!(out, "\nwhy:\n{}", params.explanation()))
        .writing("standard output")
}
