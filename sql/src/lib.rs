//! SQL on tables whose columns are ciphertexts.

pub mod aggregate;
pub mod carry;
pub mod cells;
pub mod check;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod column;
pub mod csv_table;
pub mod error;
pub mod explain;
pub mod function;
pub mod keys;
pub mod owner;
pub mod params;
pub mod place;
pub mod resolve;
pub mod scalar;
pub mod session;
pub mod sum;
pub mod table;
mod thread;
mod written;

pub use error::{Error, Result};
