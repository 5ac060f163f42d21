//! The contents that are encrypted and computed on: images in tiles and sample by sample, columns
//! of real numbers and of integers.

pub mod clear;
pub mod images;
pub mod integers;
pub mod numbers;
pub mod options;
pub mod packing;
pub mod pairwise;
pub mod samples;
pub mod tables;
