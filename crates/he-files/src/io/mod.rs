//! Sources of data and destinations of results.

pub mod cancel;
pub mod input;
pub mod output;
#[cfg(not(target_family = "wasm"))]
pub mod pending;
