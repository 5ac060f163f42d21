//! Keys, encryption and decryption where a web browser runs them: he-files without threads and
//! files, in steps between which whoever calls can do something else, stop the work, hand in the
//! next bytes of a file and take those that were made.
//!
//! [`Session`] holds the keys of one user and starts [`Task`](task::Task)s. It is compiled for
//! every target and tested on all, as is [`Lookup`](lookup::Lookup); `js` is its shape in JavaScript. The package around it, with a
//! worker, streams and types, is in `web/client`.
//!
//! From one seed the files are those of he-files, byte by byte.

pub mod error;
pub mod feed;
#[cfg(target_family = "wasm")]
mod js;
pub mod lookup;
pub mod options;
pub mod scheme_keys;
pub mod session;
pub mod table;
pub mod task;
pub mod tfhe_keys;

pub use error::{Error, Result};
pub use session::Session;
