//! Between the integers of BFV and BGV and those of TFHE.

mod from_tfhe;
mod slots;
mod squash;
#[cfg(test)]
mod tests;
mod to_tfhe;
mod transform;

pub use from_tfhe::TfheToIntegers;
pub use slots::SlotTransform;
pub use squash::{NoiseSquasher, SquashSpec, limbs};
pub use to_tfhe::IntegersToTfhe;
