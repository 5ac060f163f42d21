//! Targets of `he-core`: bytes of every object, and arithmetic against definitions.

pub mod aes_modes;
pub mod base_conversion;
pub mod bigckks;
pub mod bootstrapping;
pub mod byte_strings;
pub mod ckks;
pub mod ckks_embedding;
pub mod container;
pub mod exact;
pub mod exact_integers;
pub mod frames;
pub mod keys;
pub mod parameters;
pub mod parties;
pub mod programs;
#[path = "../target.rs"]
pub mod target;
pub mod tfhe;
pub mod tfhe_integers;
mod world;

use target::Target;

macro_rules! targets {
    ($($name:ident),*) => {
        /// All of them.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: $name::run, seeds: $name::seeds }),*];
    };
}

targets!(
    aes_modes,
    base_conversion,
    bigckks,
    bootstrapping,
    byte_strings,
    ckks,
    ckks_embedding,
    container,
    exact,
    exact_integers,
    frames,
    keys,
    parameters,
    parties,
    programs,
    tfhe,
    tfhe_integers
);
