//! Functions of encrypted numbers: for an interval and a number of bits, the steps that compute
//! them.

mod activations;
mod comparison;
mod domain;
mod function;
mod groups;
mod program;
mod ranking;
mod rectifier;
mod remez;
mod roots;
mod series;
mod sign;
mod sign_gains;
mod softmax;
mod sort;
#[cfg(test)]
mod tests;

pub use comparison::Comparison;
pub use function::Function;
pub use groups::{GroupFunction, Groups};
pub use remez::{Minimax, Parity};
pub use sign::CompositeSign;
