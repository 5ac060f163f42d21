//! Polynomials of CKKS, with refreshes where they are possible.

use super::{Ct, Keys};
use crate::error::Result;
use crate::layout::Layout;
use crate::rlwe::Ckks;
use he::Device;
use he_core::circuits::ckks::{NeverRefresh, Polynomial, Refresher};
use he_core::ckks::Ciphertext;

/// A polynomial of every value, with refreshes if there is a refresher.
///
/// # Errors
/// The levels are spent; a key is missing; the errors of the refresher.
pub fn polynomial(
    engine: &Ckks,
    keys: &Keys,
    polynomial: &Polynomial,
    (ct, layout): (&Ct, &Layout),
    refresher: Option<&impl Refresher<Device>>,
) -> Result<(Ct, Layout)> {
    let all = engine.params.slots();
    let result = match refresher {
        Some(refresher) => {
            let ct = with_slots(engine, ct, all)?;
            let result = polynomial.apply_refreshed(&engine.ev, &ct, keys, refresher)?;
            let slots = if result.batch() > 1 { all } else { layout.slots(all) };
            with_slots(engine, &result, slots)?
        }
        None => polynomial.apply_refreshed(&engine.ev, ct, keys, &NeverRefresh)?,
    };
    let padding = layout.padding.map(|x| polynomial.apply_plain(x)).filter(|x| x.is_finite());
    // Complex numbers are bounded by the sum of the powers of their magnitude alone.
    let bounds = layout.bounds.filter(|_| !layout.complex);
    let bounds = bounds.map(|of| of.polynomial(polynomial.degree(), |x| polynomial.apply_plain(x)));
    Ok((result, Layout { padding, bounds, ..*layout }))
}

/// The same ciphertext with another number of slots: a short vector is a long one that repeats it.
///
/// # Errors
/// A number of slots that vectors do not have; the device fails.
pub fn with_slots(engine: &Ckks, ct: &Ct, slots: usize) -> Result<Ct> {
    let mut copy = ct.duplicate()?;
    if ct.slots() != slots {
        copy = Ciphertext::from_parts(&engine.params, ct.pair().duplicate()?, ct.level(), ct.scale(), slots)?;
        copy.set_key_set(ct.key_set());
        copy.set_noise(ct.noise());
    }
    Ok(copy)
}
