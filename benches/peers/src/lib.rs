//! Two functions that do the same job, ours and a peer's, are measured alternately, so that
//! disturbances of the machine affect both. Criterion would measure them in sequence, minutes
//! apart.

mod machine;
mod pair;

pub use machine::{cpu, version};
pub use pair::{heading, pair};
