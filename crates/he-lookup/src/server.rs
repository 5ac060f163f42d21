//! The side that answers: it learns neither the record nor whether there is one.

use crate::answer::Answer;
use crate::description::Description;
use crate::error::Result;
use crate::pack::{Pack, check_count};
use crate::query::Query;
use crate::received::{Received, Scanned};
use crate::shelves::Shelves;
use he_core::backend::RingOps;
use he_core::ring::Ring;
use std::borrow::Borrow;

/// A database on a device.
///
/// It keeps nothing of a query once it is answered. The queries of a scan may be of one client or
/// of many. [`answer`](Self::answer) does everything; a server of many clients takes its three
/// steps apart, of which only [`scan`](Self::scan) is the work of the device: threads that talk to
/// clients [`receive`](Self::receive) queries and [`send`](Self::send) answers meanwhile.
#[derive(Debug)]
pub struct Server<B: RingOps>(Shelves<B>);

impl<B: RingOps> Server<B> {
    /// Brings a database to the device of a ring, for scans of at most `queries` queries each.
    /// Matrices are packed for as many. On a GPU fewer take less time; on a CPU they take the same
    /// if more than 8 are planned, and less otherwise. Packs that are handed over, rather than
    /// lent, are dropped on the way.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) unless all packs are there; the ring is not that
    /// of the parameters; device errors.
    pub fn new<P: Borrow<Pack>>(
        description: &Description,
        ring: &Ring<B>,
        packs: impl IntoIterator<Item = P>,
        queries: usize,
    ) -> Result<Self> {
        let shelves = Shelves::new(description, ring, packs, queries)?;
        check_count(description.params(), shelves.packs())?;
        Ok(Self(shelves))
    }

    /// A server whose bytes and digits are samples of the description's seed, made on the device:
    /// it takes the time of any database of these parameters, and its answers mean nothing. For
    /// measurements of databases that would take long to prepare.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub fn sampled(description: &Description, ring: &Ring<B>, queries: usize) -> Result<Self> {
        Ok(Self(Shelves::sampled(description, ring, queries)?))
    }

    /// Brings a query to the device.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) for a query to another version; device
    /// errors.
    pub fn receive(&self, query: &Query) -> Result<Received<B>> {
        Received::new(self.0.description(), self.0.ring(), query)
    }

    /// Answers queries on the device in one scan. A device that runs behind the host has not
    /// finished, or not even begun, when this returns.
    ///
    /// # Errors
    /// [`Error::Queries`](crate::Error::Queries) for none, or more than planned; device errors.
    pub fn scan(&self, queries: &[Received<B>]) -> Result<Vec<Scanned<B>>> {
        self.0.scan(queries)
    }

    /// Brings an answer from the device.
    ///
    /// # Errors
    /// Device errors, including those of the scan.
    pub fn send(&self, scanned: Scanned<B>) -> Result<Answer> {
        scanned.into_answer(self.0.ring())
    }

    /// Answers queries in one scan.
    ///
    /// # Errors
    /// The errors of [`receive`](Self::receive), [`scan`](Self::scan) and [`send`](Self::send).
    pub fn answer(&self, queries: &[Query]) -> Result<Vec<Answer>> {
        self.0.check_queries(queries.len())?;
        let received = queries.iter().map(|query| self.receive(query)).collect::<Result<Vec<_>>>()?;
        self.scan(&received)?.into_iter().map(|scanned| self.send(scanned)).collect()
    }
}
