mod common;
mod errors;
mod golden;
mod noise;
mod p4;
mod properties;
mod security;
mod wire;
