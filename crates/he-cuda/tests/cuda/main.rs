//! Tests of the back end on an emulator (always) and on a device (if there is one), one program
//! with a module for each kind.

mod batched_sums;
mod bigckks;
mod bootstrapping;
mod circuit;
mod conformance;
mod devices;
mod exact;
mod faults;
mod few_sources;
mod group;
mod large_batches;
mod long_digits;
mod many_sources;
mod matrix;
mod multi_bit;
mod program;
mod programs;
mod ptx_fresh;
mod scaled_products;
mod sharing;
mod short_primes;
mod switching;
mod tfhe;
