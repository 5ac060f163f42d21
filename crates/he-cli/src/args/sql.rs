//! The options of `sql`, which are those of another program.

use clap::Args;
use std::ffi::OsString;

/// `sql`.
#[derive(Debug, Args)]
pub struct Sql {
    /// The query and the options of he-sql query
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "QUERY")]
    pub arguments: Vec<OsString>,
}
