//! Rings and polynomials on a device: handles over a back end, with their domain in the type.
//!
//! [`ring`](crate::ring), below the back ends, has the plain descriptions that these handles are
//! made of, and the public paths of both.

mod plain;
mod polynomial;
mod prepared;
mod secret;

pub(crate) use plain::{PlainPoly, Wipe};
pub use polynomial::Poly;
pub use prepared::Ring;
pub use secret::SecretPoly;
