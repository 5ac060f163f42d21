//! Where data come from and where results go.

pub mod input;
pub mod output;
pub mod pending;
