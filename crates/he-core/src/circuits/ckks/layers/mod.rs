//! The linear layers of neural networks as maps between [layouts](super::TensorLayout), each of one
//! level.

mod convolution2d;
mod fully_connected;
mod pooling;
#[cfg(test)]
mod tests;
mod window;

pub use convolution2d::Convolution2d;
pub use fully_connected::FullyConnected;
pub use pooling::AveragePooling;

use crate::error::{Error, Result};

/// Whether these parameters of a layer are as many as needed, and finite.
fn check_numbers(what: &'static str, numbers: &[f64], expected: usize) -> Result<()> {
    if numbers.len() != expected {
        return Err(Error::argument(what, format!("{} numbers, {expected} needed", numbers.len())));
    }
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(Error::argument(what, format!("number {index} is not finite"))),
        None => Ok(()),
    }
}
