//! The command line as a person or a script meets it: processes, files, pipes, exit codes and
//! messages.
#![allow(clippy::unwrap_used)]

mod aes;
mod approximate;
mod archives;
mod audit;
#[cfg(feature = "bench")]
mod bench;
mod bootstrap;
/// ONNX files made on the spot, as the tests of he-nn make them.
#[path = "../../../he-nn/tests/suite/build.rs"]
#[allow(dead_code)]
mod build;
mod corpus;
mod damage;
mod devices;
mod digits;
#[cfg(unix)]
mod documents;
mod encoders;
mod exact;
mod exact_bootstrap;
mod failures;
#[cfg(target_os = "linux")]
mod faults;
mod frames;
mod hostile;
mod images;
mod info;
mod intersect;
mod keys;
mod lookup;
mod metadata;
mod models;
mod operations;
mod party;
mod pictures;
mod process;
mod publish;
#[cfg(all(feature = "client", feature = "server"))]
mod remote;
mod seal;
mod search;
mod surface;
mod tables;
mod terminal;
mod tfhe;
mod transcipher;
