//! Queries and answers on the device of a server.

use crate::answer::Answer;
use crate::description::Description;
use crate::error::Result;
use crate::identity::Identity;
use crate::query::Query;
use he_core::backend::RingOps;
use he_core::ring::Ring;
use std::sync::Arc;

/// The header of a query, which its answer repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) database: Identity,
    pub(crate) nonce: [u8; 16],
    pub(crate) tag: [u8; 16],
}

/// A query on the device of a server, ready to be answered.
pub struct Received<B: RingOps> {
    pub(crate) asked: Asked,
    /// The coefficients times q, as fractions of 2^32.
    pub(crate) words: B::Buf,
    /// The term of all rows: 2^31, without 128 times the sum of the coefficients, since bytes of
    /// the matrix are 128 more than the weights that they stand for.
    pub(crate) term: u32,
    pub(crate) keys: B::Buf,
}

/// An answer on the device of a server.
pub struct Scanned<B: RingOps> {
    pub(crate) asked: Asked,
    pub(crate) masks: Arc<Vec<u64>>,
    pub(crate) body: B::Buf,
}

impl<B: RingOps> std::fmt::Debug for Received<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Received {{ {:?} }}", self.asked)
    }
}

impl<B: RingOps> std::fmt::Debug for Scanned<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scanned {{ {:?} }}", self.asked)
    }
}

impl<B: RingOps> Received<B> {
    /// # Errors
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase); device errors.
    pub(crate) fn new(description: &Description, ring: &Ring<B>, query: &Query) -> Result<Self> {
        description.check("the query", query.database)?;
        let (params, backend) = (description.params(), ring.backend());
        let (q, shift) = (params.modulus().value() as u32, 32 - params.query_bits());
        let scaled = |&word: &u64| ((word << shift) as u32).wrapping_mul(q);
        let words: Vec<u64> = query.words.iter().map(|word| scaled(word).into()).collect();
        let sum = words.iter().fold(0u32, |sum, &word| sum.wrapping_add(word as u32));
        let term = (1u32 << 31).wrapping_sub(sum << 7);
        let Query { database, nonce, tag, .. } = *query;
        let asked = Asked { database, nonce, tag };
        Ok(Self { asked, words: backend.upload(&words)?, term, keys: backend.upload(&query.keys)? })
    }
}

impl<B: RingOps> Scanned<B> {
    /// # Errors
    /// Device errors.
    pub(crate) fn into_answer(self, ring: &Ring<B>) -> Result<Answer> {
        let Asked { database, nonce, tag } = self.asked;
        let body = ring.backend().download(&self.body, 0..self.masks.len())?;
        Ok(Answer { database, nonce, tag, masks: self.masks, body })
    }
}
