//! Two functions that do the same job, ours and a peer's, measured alternately: what disturbs the machine disturbs both. Criterion measures one
//! after the other, minutes apart.

mod machine;
mod pair;

pub use machine::{cpu, version};
pub use pair::{heading, pair};
