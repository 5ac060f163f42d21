//! Functions of encrypted numbers: for an interval and a number of bits, the steps that compute
//! them.

mod activations;
mod domain;
mod function;
mod program;
mod rectifier;
mod remez;
mod series;
mod sign;
mod sign_gains;
#[cfg(test)]
mod tests;

pub use function::Function;
pub use remez::{Minimax, Parity};
pub use sign::CompositeSign;
