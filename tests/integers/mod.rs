//! Integration tests of exact arithmetic: BFV and BGV.

mod circuits;
mod common;
mod errors;
mod noise;
mod operations;
mod oracles;
mod p5;
mod packed;
mod wire;
