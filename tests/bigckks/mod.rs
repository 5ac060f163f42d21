//! Integration tests of CKKS with a big-integer modulus.

mod common;
mod errors;
mod noise;
mod picture;
mod reference;
mod scheme;
mod wire;
mod words;
