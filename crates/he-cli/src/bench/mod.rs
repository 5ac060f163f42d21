//! Measuring: [`measure`] times calls on a device, [`report`] holds tables and prints them, [`plot`] draws them; the rest says what is measured.

pub mod aes;
mod batches;
pub mod gates;
mod keys;
pub mod measure;
pub mod ops;
mod packed;
pub mod papers;
pub mod plot;
pub mod report;
