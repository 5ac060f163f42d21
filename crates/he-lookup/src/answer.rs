//! Answers: a ciphertext for each pack, rounded to few bits.

use crate::bits;
use crate::description::Description;
use crate::error::Result;
use crate::frame::{self, AROUND, Kind, Reader};
use crate::identity::Identity;
use crate::plan::Params;
use std::sync::Arc;

const HEADER: usize = 16 + 16 + 16;

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub(crate) database: Identity,
    pub(crate) nonce: [u8; 16],
    pub(crate) tag: [u8; 16],
    /// The masks of all packs, of [`Params::answer_bits`] bits, which all answers share.
    pub(crate) masks: Arc<Vec<u64>>,
    /// The bodies of all packs.
    pub(crate) body: Vec<u64>,
}

impl Answer {
    fn part_bytes(params: &Params) -> [usize; 2] {
        params.answer_bits().map(|width| bits::bytes(params.packs() * params.n(), width))
    }

    pub(crate) fn bytes(params: &Params) -> usize {
        AROUND + HEADER + Self::part_bytes(params).iter().sum::<usize>()
    }

    /// The answer as bytes, with a checksum.
    pub fn to_bytes(&self, params: &Params) -> Vec<u8> {
        let mut bytes = frame::begin(Kind::Answer, Self::bytes(params) - AROUND);
        bytes.extend(self.database.0);
        bytes.extend(self.nonce);
        bytes.extend(self.tag);
        for (part, width) in [&*self.masks, &self.body].into_iter().zip(params.answer_bits()) {
            bits::pack(part.iter().copied(), width, &mut bytes);
        }
        frame::finish(bytes)
    }

    /// Reads [`to_bytes`](Self::to_bytes) of a database.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged);
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) for another database or another
    /// version.
    pub fn from_bytes(description: &Description, bytes: &[u8]) -> Result<Self> {
        let params = description.params();
        let mut reader = Reader::new(Kind::Answer, bytes)?;
        let (database, nonce, tag) = (Identity(reader.array()?), reader.array()?, reader.array()?);
        description.check("the answer", database)?;
        let count = params.packs() * params.n();
        let [mask, body] = params.answer_bits();
        let (masks, body) = (Arc::new(reader.packed(count, mask)?), reader.packed(count, body)?);
        reader.end()?;
        Ok(Self { database, nonce, tag, masks, body })
    }
}
