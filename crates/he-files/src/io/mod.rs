//! Sources of data and destinations of results.

pub mod cancel;
pub mod input;
pub mod output;
pub mod pending;
