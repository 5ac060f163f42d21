//! Encryption and decryption: torus elements, and from them bits, integers and conditions, by the
//! secret key or a public one.
//!
//! This room knows the ciphertexts of [`gates`](super::gates) and [`integers`](super::integers),
//! which compute without knowing how their operands were encrypted.

mod bits;
mod compact;
mod fresh;
mod integers;
mod seeded;
mod words;

pub use compact::{
    CompactBits, CompactFlags, CompactInt, CompactLwe, CompactPublicKey, CompactUint, GlweMasks,
};
pub use fresh::{FreshBits, FreshFlags, FreshInteger, FreshLwe, Masks};
pub use seeded::{SeededBits, SeededFlags, SeededLwe, SeededUint};
