//! `params`: what would be chosen, and why.

use super::info::params_json;
use crate::args::Params;
use crate::error::{IoContext, Result};
use std::io::Write;

pub(super) fn run(args: &Params) -> Result<()> {
    let params = args.needs.params()?;
    let mut out = std::io::stdout().lock();
    if args.json {
        return writeln!(out, "{:#}", params_json(&params)).writing("standard output");
    }
    super::info::print_params(&mut out, &params)
        .and_then(|()| writeln!(out, "\nwhy:\n{}", params.explanation()))
        .writing("standard output")
}
