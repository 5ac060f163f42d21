//! Answers from packs that come one by one.

use crate::answer::Answer;
use crate::description::Description;
use crate::error::{Error, Result};
use crate::pack::{Pack, check_count};
use crate::query::Query;
use crate::received::{Asked, Received};
use crate::shelves::Shelves;
use he_core::backend::RingOps;
use he_core::ring::Ring;
use std::sync::Arc;

/// Answers to queries from packs that come one by one, so that memory holds one of them.
#[derive(Debug)]
pub struct Passage<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    queries: Vec<Received<B>>,
    masks: Vec<u64>,
    bodies: Vec<Vec<u64>>,
    seen: usize,
}

impl<B: RingOps> Passage<B> {
    /// The passage of a database by these queries.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`] for a query to another version; device errors.
    pub fn new(description: &Description, ring: &Ring<B>, queries: &[Query]) -> Result<Self> {
        let received = queries.iter().map(|query| Received::new(description, ring, query));
        let queries = received.collect::<Result<Vec<_>>>()?;
        let (bodies, masks) = (vec![Vec::new(); queries.len()], Vec::new());
        Ok(Self { description: description.clone(), ring: ring.clone(), queries, masks, bodies, seen: 0 })
    }

    /// Takes the next pack.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a pack out of order; device errors.
    pub fn add(&mut self, pack: &Pack) -> Result<()> {
        if pack.rows().pack() != self.seen {
            let why = format!("pack {} came instead of pack {}", pack.rows().pack(), self.seen);
            return Err(Error::Damaged { what: "database", why });
        }
        let shelves = Shelves::new(&self.description, &self.ring, [pack], self.queries.len())?;
        for (body, scanned) in self.bodies.iter_mut().zip(shelves.scan(&self.queries)?) {
            body.extend(scanned.into_answer(&self.ring)?.body);
        }
        self.masks.extend(pack.mask());
        self.seen += 1;
        Ok(())
    }

    /// The answers, once all packs have passed.
    ///
    /// # Errors
    /// [`Error::Damaged`] if packs are missing.
    pub fn finish(self) -> Result<Vec<Answer>> {
        check_count(self.description.params(), self.seen)?;
        let masks = Arc::new(self.masks);
        let answer = |(query, body): (&Received<B>, Vec<u64>)| {
            let Asked { database, nonce, tag } = query.asked;
            Answer { database, nonce, tag, masks: masks.clone(), body }
        };
        Ok(self.queries.iter().zip(self.bodies).map(answer).collect())
    }
}
