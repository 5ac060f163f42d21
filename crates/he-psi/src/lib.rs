//! Private set intersection with labels: a client learns which of its items are in the set of a
//! server, and their labels; the server learns sizes.
//!
//! A [`Plan`] states the sizes of both sets and of labels; [`Params`] follow from it, with
//! predictions of bytes, operations and failures ([`Facts`]). The [`Server`] prepares its set under
//! a secret [`ServerKey`]. A [`Client`] asks in two rounds: its [`Items`] make a [`Request`], the
//! server's [`Response`] gives them places ([`Placed`]), these make a [`Query`], and the client
//! reads the [`Answer`]. A [`ClientState`] is all that a client keeps meanwhile.
//!
//! # Method
//! The structure is that of Chen, Huang, Laine, Rindal, *Labeled PSI from fully homomorphic
//! encryption with malicious security* (2018), and Cong et al., *Labeled PSI from homomorphic
//! encryption with reduced computation and communication* (2021):
//!
//! - Every item is replaced by its value under a pseudorandom function with the server's key
//!   (OPRF of RFC 9497 over ristretto255), which the client obtains without showing its items.
//! - The value gives three bins and a node x modulo t. The client's items get a bin each (cuckoo
//!   hashing, by augmenting paths); the server's are in all three.
//! - The slots of BFV ciphertexts are the bins. In each slot the server has polynomials through
//!   its nodes there, a fixed number per *bundle*. The client sends some powers of its nodes; the
//!   server computes the others by one product each, and sums of plaintexts times powers.
//! - The values at a node of the server are tags and a padded label, all pseudorandom. The client
//!   compares the tags with its own, and removes the pads.
//!
//! Unlike in the papers, tags are interpolated, and no product over all nodes is evaluated: a match
//! is told by the equality of `tags` residues, which errs with probability t^-tags per comparison,
//! and an item takes one slot instead of one per residue.
//!
//! # What either party learns
//! See [`Server`] for both. The protocol is secure against parties that follow it. A server that
//! does not can answer for another set, and a client can ask for any items that it guesses, as many
//! as its plan allows: requests should be counted.
//!
//! # Timing
//! Blinding, evaluation and finishing of the function are constant time by curve25519-dalek, but
//! for the lengths of items; so are encryption and decryption. Everything that follows a value of
//! the function (hashing to bins, cuckoo hashing, comparing tags at the client; placing and
//! interpolating at the server) takes time and uses addresses that depend on these values.
//!
//! ```
//! use he_core::{backend::Cpu, rand::RngExt as _, ring::Ring, rlwe::SecretKey};
//! use he_psi::{Client, Items, Plan, Server, ServerKey};
//! # fn main() -> he_psi::Result<()> {
//! // Insecure parameters keep the example short: leave that line out.
//! let plan = Plan::new(3, 2).labels(5);
//! let plan = plan.insecure_log_n(6);
//! let params = plan.params()?;
//! let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//!
//! let mut server = Server::new(&params, ServerKey::generate(&mut rng), &ring)?;
//! server.append(&["ann", "bob", "cho"], &["paris", "cairo", "seoul"], &mut rng)?;
//!
//! // The client's first round. The seed must be fresh and secret.
//! let secret = SecretKey::generate(params.bfv().rlwe(), &mut rng);
//! let client = Client::new(&params, &secret, &ring)?;
//! let items = Items::new(&params, &["cho", "dan"], rng.random())?;
//! let response = server.respond(&items.request(&params))?;
//!
//! // Its second round.
//! let placed = items.placed(&params, &response)?;
//! let answer = server.answer(client.query(&placed, &secret, &mut rng)?)?;
//! let matches = client.read(&placed, &answer)?;
//! assert_eq!(matches.len(), 1);
//! assert_eq!((matches[0].item, &matches[0].label[..]), (0, &b"seoul"[..]));
//! # Ok(())
//! # }
//! ```

mod answering;
mod bundle;
mod bytes;
mod client;
mod digest;
pub mod error;
mod facts;
mod interpolation;
mod label;
mod messages;
mod oprf;
mod plan;
mod polynomials;
mod powers;
mod prepared;
mod server;
mod state;
mod table;

pub use client::{Client, Items, Match, Placed};
pub use error::{Error, Result};
pub use facts::Facts;
pub use messages::{Answer, Query, Request, Response};
pub use oprf::{MAX_ITEM_BYTES, ServerKey, ServerKeyId};
pub use plan::{MAX_CLIENT_ITEMS, MAX_LABEL_BYTES, MAX_SERVER_ITEMS, Params, Plan};
pub use prepared::PreparedSet;
pub use server::Server;
pub use state::ClientState;
