//! Databases in the clear, which are searched by an encrypted query.

use crate::error::Result;
use crate::plan::Params;
use crate::segment::Occupancy;
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::{Encoder, Plaintext};

/// Up to N / 2 records in the clear: the columns of a [`Segment`](crate::Segment) as plaintexts.
#[derive(Debug)]
pub struct PublicSegment<B: RingOps = Cpu> {
    /// The slots with records.
    pub occupancy: Occupancy,
    pub(crate) columns: Vec<Plaintext<B>>,
}

impl<B: RingOps> PublicSegment<B> {
    /// Encodes vectors, from slot 0 on. Their bytes in memory are those of
    /// [`Facts`](crate::Facts), halved.
    ///
    /// # Errors
    /// [`Error::SegmentFull`](crate::Error::SegmentFull) for more vectors than slots;
    /// [`Error::Dimension`](crate::Error::Dimension),
    /// [`Error::Coordinate`](crate::Error::Coordinate), [`Error::Norm`](crate::Error::Norm) for a
    /// vector that is not of the index; device errors.
    pub fn encode<V: AsRef<[f64]>>(params: &Params, encoder: &Encoder<B>, vectors: &[V]) -> Result<Self> {
        let occupancy = Occupancy::new(params, 0, vectors.len())?;
        let to = params.ckks().encoding();
        let columns = columns(params, 0, vectors)?;
        let columns = columns.iter().map(|column| encoder.encode_real(column, to));
        Ok(Self { occupancy, columns: columns.collect::<he_core::Result<_>>()? })
    }
}

/// The columns of vectors, from a slot on.
pub(crate) fn columns<V: AsRef<[f64]>>(
    params: &Params,
    start: usize,
    vectors: &[V],
) -> Result<Vec<Vec<f64>>> {
    let plan = params.plan();
    let mut columns = vec![vec![0.0; start + vectors.len()]; params.columns()];
    for (i, vector) in vectors.iter().enumerate() {
        let record = plan.metric.record(i, vector.as_ref(), plan.dimension)?;
        columns.iter_mut().zip(record).for_each(|(column, x)| column[start + i] = x);
    }
    Ok(columns)
}
