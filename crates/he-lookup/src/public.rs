//! The uniform parts of queries and of their keys, which follow from the public seed.

use crate::description::Description;
use crate::error::Result;
use crate::plan::Params;
use he_core::backend::RingOps;
use he_core::ring::{Eval, Poly, Ring, Seed};

const OF_QUERIES: u32 = 0;
const OF_KEYS: u32 = 1;

/// The uniform polynomials, one for each N columns.
pub(crate) fn of_queries<B: RingOps>(description: &Description, ring: &Ring<B>) -> Result<Poly<Eval, B>> {
    uniform(description, ring, description.params().blocks(), OF_QUERIES)
}

/// The uniform polynomials of the keys: of the rotation, and of the conjugation.
pub(crate) fn of_keys<B: RingOps>(description: &Description, ring: &Ring<B>) -> Result<Poly<Eval, B>> {
    uniform(description, ring, 2, OF_KEYS)
}

fn uniform<B: RingOps>(
    description: &Description,
    ring: &Ring<B>,
    batch: usize,
    index: u32,
) -> Result<Poly<Eval, B>> {
    let (params, seed) = (description.params(), Seed(*description.seed()));
    check_ring(params, ring)?;
    Ok(Poly::uniform(ring, params.span(), batch, &seed, index)?)
}

/// Checks that a ring is that of the parameters.
pub(crate) fn check_ring<B: RingOps>(params: &Params, ring: &Ring<B>) -> Result<()> {
    if ring.spec() == params.rlwe().ring() { Ok(()) } else { Err(he_core::Error::RingMismatch.into()) }
}
