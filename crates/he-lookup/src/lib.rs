//! Private look-up: one record out of a large database, by its number or by a key, from a server
//! that learns neither.
//!
//! A [`Plan`] states the number and size of records; [`Params`] follow from it, with predictions of
//! bytes, operations and failures ([`Facts`]). The owner of the records prepares a [`Database`],
//! whose [`Description`] is public. A [`Client`] encrypts a [`Query`] and reads the [`Answer`]; a
//! [`Server`] answers the queries of one or of many clients in one scan. Clients need nothing else
//! from the server beforehand, and the server keeps nothing of a client.
//!
//! # Method
//! Records lie in the columns of a matrix of bytes. A query is an encryption of the unit vector of
//! a column under RLWE, whose uniform part both sides have from the seed of the database; the
//! server multiplies matrix and query modulo 2^32, which is one pass over memory (SimplePIR:
//! Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan, *One server for the price of two*,
//! 2023; with structured queries and without a hint: Menon, Wu, *YPIR*, 2024). The products are
//! packed, N of them into one ciphertext of RLWE, by two keys that come with the query (InspiRING:
//! Mahdavi, Patel, Seo, Yeo, *InsPIRe*, 2025, section 4). Their uniform parts are public as well,
//! so that everything in the packing but N products of polynomials for each pack is done when the
//! database is prepared. Two things differ from there: masks are cut into a single digit of 24
//! bits, since the noise of an answer is only read to its ninth bit; and the query is an encryption
//! modulo the prime q of the packing, which is rounded to fewer bits. All samples are hence of one
//! modulus and one distribution, that of the table of secure parameters (N = 2048, log q = 50).
//!
//! # Why this design
//! Bytes of a query, its keys and its answer together, by [`Facts`] for records of 256 bytes here,
//! and as their papers state them elsewhere:
//!
//! | database | here | YPIR | InsPIRe | HintlessPIR | Respire |
//! |---|---|---|---|---|---|
//! | 1 GB | .25 MB | .86 MB | .24 to .29 MB | 3.5 MB | 10 kB, after 3.9 MB of keys |
//! | 32 GB | 1.3 MB | 2.5 MB | | | |
//! | 100 GB | 2.3 MB | | | | |
//!
//! Its time is that of reading the database once, with half as much again for the digits of masks
//! at 1 GB, a twelfth at 32 GB and a twentieth at 100 GB. Respire and VIA send a tenth and less, at
//! .2 to 3 GB/s instead of the rate of memory; YPIR and HintlessPIR send more. Folding the answer
//! by a second selection (InsPIRe's polynomials, YPIR's second scan) would save most of its half of
//! the bytes, for products of ciphertexts in every scan.
//!
//! # What is learned
//! The server learns how many queries there are, when, and from whom they come; all queries to a
//! database have the same size. A server that deviates answers wrongly without being noticed: an
//! answer cannot be checked against the digest of the database, because a proof for a record would
//! be as large as the columns of an answer. A client that tells the server whether it could use an
//! answer may tell it more than it wanted. Clients learn more than their record: its whole column.
//!
//! ```
//! use he_core::{backend::Cpu, ring::Ring};
//! use he_lookup::{Client, ClientKey, Database, Plan, Server};
//! # fn main() -> he_lookup::Result<()> {
//! // Insecure parameters keep the example short: leave that call out.
//! let plan = Plan::keyword(100, 4).insecure_log_n(6);
//! let ring = Ring::new(Cpu::new(), plan.params()?.rlwe().ring().clone())?;
//! let entries = [("salt", *b"blue"), ("pepper", *b"red ")];
//! let database = Database::of_entries(&plan, [1; 32], &entries, &ring)?;
//!
//! let mut rng = he_core::rand::rng();
//! let key = ClientKey::generate(&mut rng);
//! let client = Client::new(database.description(), key, &ring)?;
//! let queries = [client.query_key(b"salt", &mut rng)?, client.query_key(b"sugar", &mut rng)?];
//!
//! // One scan answers both.
//! let server = Server::new(database.description(), &ring, database.packs(), 2)?;
//! let answers = server.answer(&queries)?;
//! assert_eq!(client.read_key(&answers[0], b"salt")?.as_deref(), Some(&b"blue"[..]));
//! assert_eq!(client.read_key(&answers[1], b"sugar")?, None);
//! # Ok(())
//! # }
//! ```

mod answer;
mod bits;
mod client;
mod constant;
mod database;
mod description;
mod digits;
pub mod error;
mod facts;
mod frame;
mod identity;
mod noise;
mod pack;
mod passage;
mod places;
mod plan;
mod public;
mod query;
mod received;
mod rounding;
mod rows;
mod server;
mod shelves;
mod switches;

pub use answer::Answer;
pub use client::{Client, ClientKey};
pub use database::Database;
pub use description::Description;
pub use error::{Error, Result};
pub use facts::Facts;
pub use identity::Identity;
pub use pack::{Pack, Preparer};
pub use passage::Passage;
pub use plan::{Params, Plan};
pub use query::Query;
pub use received::{Received, Scanned};
pub use rows::Rows;
pub use server::Server;
