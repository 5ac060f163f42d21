//! Switching keys on several devices, each in the form that its device's ring reads.

use super::GroupBuf;
use super::buf::Layout;
use super::lead::Held;
use super::ring::GroupRing;
use crate::ring::CudaRing;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{KeyBuf, KeyShape, KeySwitchOps, PreparedRing};
use he_core::ring::Span;
use std::slice::from_ref;

impl GroupRing {
    /// A key that is zero.
    pub(super) fn zero_key(&self, shape: &KeyShape) -> Result<GroupBuf> {
        Ok(GroupBuf::key(self.backend(), empty_keys(self.parts(), shape)?))
    }

    /// The parts of a key over the primes of a span.
    pub(super) fn key_parts<'h>(&self, held: &'h Held, span: Span, key: &GroupBuf) -> Result<&'h [Buffer]> {
        let parts = key.key_parts(self.parts().len(), |parts| {
            self.rewritten(span, (from_ref(self.lead()), parts), self.parts())
        })?;
        Ok(held.keep(parts))
    }

    /// The same as the lead reads it alone.
    pub(super) fn key_on_lead<'h>(&self, held: &'h Held, span: Span, key: &GroupBuf) -> Result<&'h [Buffer]> {
        let parts =
            key.key_parts(1, |parts| self.rewritten(span, (self.parts(), parts), from_ref(self.lead())))?;
        Ok(held.keep(parts))
    }

    /// A key of some rings as one of others, polynomial by polynomial.
    fn rewritten(
        &self,
        span: Span,
        (from, key): (&[CudaRing], &[Buffer]),
        to: &[CudaRing],
    ) -> Result<Vec<Buffer>> {
        let digit = |ring: &CudaRing| ring.whole_key_words(&KeyShape { digits: 1, span });
        let digits = key.iter().zip(from).find_map(|(key, ring)| key.words().checked_div(digit(ring)));
        let shape = KeyShape { digits: digits.unwrap_or(0), span };
        let mut made = empty_keys(to, &shape)?;
        for (digit, part) in (0..shape.digits).flat_map(|digit| [(digit, 0), (digit, 1)]) {
            let rows = from.iter().zip(key).map(|(ring, key)| ring.read_key_rows(&shape, key, digit, part));
            let mut rows = rows.collect::<Result<Vec<_>>>()?;
            let layout = Layout::new(span, self.n());
            let poly = match from.len() {
                1 => GroupBuf::on_lead(self.backend(), rows.remove(0)).limbs(layout)?,
                _ => GroupBuf::in_limbs(self.backend(), layout, rows).whole()?,
            };
            for ((ring, key), src) in to.iter().zip(&mut made).zip(poly.buffers()) {
                ring.write_key_rows(&shape, key, digit, part, src)?;
            }
        }
        Ok(made)
    }
}

fn empty_keys(rings: &[CudaRing], shape: &KeyShape) -> Result<Vec<Buffer>> {
    rings.iter().map(|ring| ring.empty_key(shape).map(KeyBuf::buf)).collect()
}
