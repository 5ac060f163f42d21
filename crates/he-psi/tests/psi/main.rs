//! Intersections by polynomials against those of plain sets, as a program outside of the crate
//! computes them.
#![allow(clippy::unwrap_used, missing_docs)]

mod golden;
mod hostile;
mod intersections;
mod predictions;
mod setup;
mod updates;
