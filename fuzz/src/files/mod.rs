//! Targets of `he-files`, `he-nn` and `he-cli`: whatever a person can be sent as a file, and the
//! command line.

pub mod archive;
pub mod arguments;
pub mod command;
pub mod description;
pub mod index;
pub mod intersection;
pub mod lookup;
pub mod model;
pub mod onnx;
pub mod picture;
pub mod scan;
pub mod seal;
pub mod sealed;
pub mod sensor;
pub mod table;
#[path = "../target.rs"]
pub mod target;
pub mod trace;
pub mod transcript;
mod world;

use target::Target;

macro_rules! targets {
    ($($name:ident),*) => {
        /// All of them.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: $name::run, seeds: $name::seeds }),*];
    };
}

targets!(
    archive,
    arguments,
    command,
    description,
    index,
    intersection,
    lookup,
    model,
    onnx,
    picture,
    scan,
    seal,
    sealed,
    sensor,
    table,
    trace,
    transcript
);
