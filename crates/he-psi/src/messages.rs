//! The messages of both rounds.

use crate::digest::Salt;
use crate::error::{Error, Result};
use crate::oprf::{Point, ServerKeyId};
use crate::plan::Params;
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::{BfvCiphertext, BfvSeededCiphertext};
use he_core::rlwe::EvaluationKeys;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that a message belongs to a plan.
pub(crate) fn check_plan(object: &'static str, found: &[u8; 16], params: &Params) -> Result<()> {
    if *found == params.id() {
        return Ok(());
    }
    Err(Error::Plan { object, found: hexadecimal(found), expected: hexadecimal(&params.id()) })
}

/// Checks that a message was made for a server's key.
pub(crate) fn check_key(object: &'static str, found: ServerKeyId, expected: ServerKeyId) -> Result<()> {
    let (f, e) = (found.to_string(), expected.to_string());
    if found == expected { Ok(()) } else { Err(Error::ServerKey { object, found: f, expected: e }) }
}

/// Checks a number of parts.
pub(crate) fn check_parts(
    object: &'static str,
    part: &'static str,
    found: usize,
    expected: usize,
) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { object, part, found, expected }) }
}

/// From a client: its items under one-time scalars. It tells their number and nothing else,
/// whatever the power of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) plan: [u8; 16],
    pub(crate) points: Vec<Point>,
}

impl Request {
    /// The number of different items.
    pub fn items(&self) -> usize {
        self.points.len()
    }
}

/// From a server: the points of a request multiplied by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub(crate) plan: [u8; 16],
    pub(crate) key: ServerKeyId,
    pub(crate) points: Vec<Point>,
}

/// From a client: the encrypted powers of its table, and the key to multiply them.
#[derive(Debug)]
pub struct Query<B: RingOps = Cpu> {
    pub(crate) plan: [u8; 16],
    pub(crate) key: ServerKeyId,
    pub(crate) keys: EvaluationKeys<B>,
    /// One batch of powers per block of the table.
    pub(crate) blocks: Vec<BfvSeededCiphertext<B>>,
}

/// From a server: the values of its polynomials at the client's table.
#[derive(Debug)]
pub struct Answer<B: RingOps = Cpu> {
    pub(crate) plan: [u8; 16],
    pub(crate) key: ServerKeyId,
    pub(crate) bundles: Vec<BundleAnswer<B>>,
}

impl<B: RingOps> Answer<B> {
    /// The bundles of the server's set.
    pub fn bundles(&self) -> usize {
        self.bundles.len()
    }

    /// All ciphertexts, bundle by bundle.
    pub fn ciphertexts(&self) -> impl Iterator<Item = &BfvCiphertext<B>> {
        self.bundles.iter().flat_map(|bundle| &bundle.blocks)
    }
}

/// The part of a bundle in an answer.
#[derive(Debug)]
pub(crate) struct BundleAnswer<B: RingOps> {
    pub salt: Salt,
    /// One batch of tags and parts of labels per block of the table.
    pub blocks: Vec<BfvCiphertext<B>>,
}
