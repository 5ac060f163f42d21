//! Search among vectors that stay encrypted, by a query that stays encrypted.
//!
//! A [`Plan`] states dimension, [`Metric`] and task; [`Params`] follow from it, with predictions of
//! bytes, operations and failures ([`Facts`]). The owner of the secret key has a [`Client`], which
//! encrypts records and queries and reads answers. Whoever has the [`Index`] and evaluation keys
//! answers ([`Search`]):
//!
//! - *count*: how many records are beyond a threshold;
//! - *fetch*: their positions and payloads, which are encrypted as well;
//! - *scores*: those of all records, from which the client ranks the nearest k.
//!
//! [`PublicSegment`] is a database in the clear that is ranked by an encrypted query.
//!
//! # Method
//! Column j of a segment has coordinate j of N / 2 records in its slots. The query is one
//! ciphertext with a coordinate in each coefficient, which the server expands into ciphertexts of
//! constants by log2 d rounds of automorphisms. The scores are one sum of d products, relinearised
//! once. One polynomial with the least error on two bands of scores tells matches from others
//! ([`Bands`]); it is multiplied by the payloads. Payloads of many segments are added in two
//! arrangements, out of which the client peels the matches, so that the answer does not grow with
//! the index.
//!
//! # What is exact
//! Counts and fetches are exact for records whose scores lie in the bands; slots with others are
//! reported as undecided. Rankings leave out only records whose scores are within twice
//! [`Params::score_error`] of the last one's.
//!
//! ```
//! use he_core::{backend::Cpu, ckks::Evaluator, ring::Ring, rlwe::*};
//! use he_search::{Client, Index, Metric, Plan, Search};
//! # fn main() -> he_search::Result<()> {
//! // Insecure parameters keep the example short: leave that line out.
//! let plan = Plan::matching(4, Metric::Cosine, 0.5, 0.4).payload(3).records(6);
//! let plan = plan.insecure_log_n(6);
//! let params = plan.params()?;
//! let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng);
//! let keys = EvaluationKeys::generate(&secret, &ring, params.requirements(), &mut rng)?;
//!
//! let client = Client::new(&params, &secret, &ring)?;
//! let vectors = [[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.0], [2.0, 0.1, 0.0, 0.0]];
//! let sealed = client.segment(0, &vectors, &[b"cat", b"dog", b"cub"], &mut rng)?;
//! let query = client.query(&[3.0, 0.0, 0.0, 0.0], &mut rng)?;
//!
//! // The server has neither the secret key nor any vector.
//! let ev = Evaluator::new(params.ckks(), &ring)?;
//! let mut index = Index::new(&params);
//! index.append(sealed.expand()?, &ev)?;
//! let search = Search::new(&params, &ev, &query.expand()?, &keys)?;
//! let answer = search.fetch_all(&index)?;
//!
//! let matches = client.matches(&answer)?;
//! let payloads: Vec<&[u8]> = matches.found.iter().map(|found| &found.payload[..]).collect();
//! assert_eq!(payloads, [b"cat", b"cub"]);
//! # Ok(())
//! # }
//! ```

mod answer;
mod bands;
mod client;
pub mod error;
mod facts;
mod index;
mod metric;
mod noise;
mod payload;
mod peeling;
mod plan;
mod public;
mod search;
mod segment;

pub use answer::{Answer, Layout};
pub use bands::{Bands, Step};
pub use client::{Client, Count, Ranked, Ranking};
pub use error::{Error, Result};
pub use facts::{Facts, TANGLED_MATCHES};
pub use index::{Index, Position};
pub use metric::Metric;
pub use peeling::{Match, Matches};
pub use plan::{Params, Plan, Task};
pub use public::PublicSegment;
pub use search::{Counting, Fetching, Records, Search};
pub use segment::{Occupancy, SealedSegment, Segment};
