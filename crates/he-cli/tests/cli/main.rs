//! The command line as a person or a script meets it: processes, files, pipes, exit codes and
//! messages.
#![allow(clippy::unwrap_used)]

mod aes;
mod approximate;
mod archives;
#[cfg(feature = "bench")]
mod bench;
mod bootstrap;
mod damage;
mod devices;
mod exact;
mod failures;
mod frames;
mod hostile;
mod images;
mod info;
mod keys;
mod metadata;
mod models;
mod pictures;
mod process;
mod surface;
mod tables;
mod terminal;
mod tfhe;
