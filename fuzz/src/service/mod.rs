//! Targets of `he-server`: whatever a client can send.

pub mod requests;
#[path = "../target.rs"]
pub mod target;
// Some of it is made for the targets of files and not for these.
#[allow(dead_code)]
#[path = "../files/world.rs"]
mod world;

use target::Target;

/// All of them.
pub const TARGETS: &[Target] = &[Target { name: "requests", run: requests::run, seeds: requests::seeds }];
