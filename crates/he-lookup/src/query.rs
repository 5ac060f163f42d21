//! Queries: encrypted selections of columns, with keys to pack the answer.

use crate::bits;
use crate::description::Description;
use crate::error::Result;
use crate::frame::{self, AROUND, Kind, Reader};
use crate::identity::Identity;
use crate::plan::Params;

/// The bytes before the coefficients: the identity of the database and those of the query.
const HEADER: usize = 16 + 16 + 16;

/// A query, for one version of a database: it holds nothing secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(crate) database: Identity,
    pub(crate) nonce: [u8; 16],
    pub(crate) tag: [u8; 16],
    /// The coefficients, of [`Params::query_bits`] bits.
    pub(crate) words: Vec<u64>,
    /// The keys of the rotation and of the conjugation, in evaluation form.
    pub(crate) keys: Vec<u64>,
}

impl Query {
    fn key_width(params: &Params) -> u32 {
        params.modulus().bits()
    }

    pub(crate) fn key_bytes(params: &Params) -> usize {
        bits::bytes(2 * params.n(), Self::key_width(params))
    }

    pub(crate) fn bytes(params: &Params) -> usize {
        AROUND + HEADER + bits::bytes(params.columns(), params.query_bits()) + Self::key_bytes(params)
    }

    /// The version of the database that it is for.
    pub fn database(&self) -> Identity {
        self.database
    }

    /// The version of the database that a query in bytes is for, for those who send it on.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) unless the bytes are a query to some database.
    pub fn database_of(bytes: &[u8]) -> Result<Identity> {
        Ok(Identity(Reader::new(Kind::Query, bytes)?.array()?))
    }

    /// The query as bytes, with a checksum.
    pub fn to_bytes(&self, params: &Params) -> Vec<u8> {
        let mut bytes = frame::begin(Kind::Query, Self::bytes(params) - AROUND);
        bytes.extend(self.database.0);
        bytes.extend(self.nonce);
        bytes.extend(self.tag);
        bits::pack(self.words.iter().copied(), params.query_bits(), &mut bytes);
        bits::pack(self.keys.iter().copied(), Self::key_width(params), &mut bytes);
        frame::finish(bytes)
    }

    /// Reads [`to_bytes`](Self::to_bytes) for a database.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged);
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) for another database or another
    /// version.
    pub fn from_bytes(description: &Description, bytes: &[u8]) -> Result<Self> {
        let params = description.params();
        let mut reader = Reader::new(Kind::Query, bytes)?;
        let (database, nonce, tag) = (Identity(reader.array()?), reader.array()?, reader.array()?);
        description.check("the query", database)?;
        let words = reader.packed(params.columns(), params.query_bits())?;
        let keys = reader.packed(2 * params.n(), Self::key_width(params))?;
        reader.end()?;
        if keys.iter().any(|&word| word >= params.modulus().value()) {
            return Err(Kind::Query.damaged("a word of its keys is out of range"));
        }
        Ok(Self { database, nonce, tag, words, keys })
    }
}
