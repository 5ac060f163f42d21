//! Polynomials of CKKS, with refreshes where they are possible.

use super::{Ct, Keys};
use crate::error::Result;
use crate::layout::Layout;
use crate::rlwe::Ckks;
use he::Device;
use he_core::circuits::ckks::{NeverRefresh, Polynomial, Refresher};
use he_core::ckks::Ciphertext;
use std::collections::{BTreeMap, BTreeSet};

/// Whether integer multiples of powers save a level: the degree is a power of two, and all
/// coefficients are integers, by which products take none.
fn is_shallow(polynomial: &Polynomial) -> bool {
    let integer = |c: &f64| c.fract() == 0.0 && c.abs() <= f64::from(1 << 20);
    let degree = polynomial.degree();
    matches!(degree, 1 | 2 | 4 | 8) && polynomial.coefficients().iter().all(integer)
}

/// The sum of integer multiples of powers, on level ceil(log2(degree)) below.
fn by_powers(engine: &Ckks, keys: &Keys, coefficients: &[f64], ct: &Ct) -> Result<Ct> {
    let mut powers: BTreeMap<usize, Ct> = BTreeMap::from([(1, ct.duplicate()?)]);
    let mut wanted: BTreeSet<usize> = (2..coefficients.len()).filter(|&k| coefficients[k] != 0.0).collect();
    for k in (2..coefficients.len()).rev() {
        if wanted.contains(&k) {
            wanted.extend([k / 2, k - k / 2]);
        }
    }
    for k in wanted.into_iter().filter(|&k| k > 1) {
        let power = engine.ev.mul(&powers[&(k / 2)], &powers[&(k - k / 2)], keys)?;
        powers.insert(k, power);
    }
    let mut sum: Option<Ct> = None;
    for (k, power) in powers.iter().rev().filter(|&(&k, _)| coefficients.get(k).is_some_and(|&c| c != 0.0)) {
        let term = engine.ev.mul_integer(power, coefficients[*k] as i64)?;
        sum = Some(match sum {
            None => term,
            Some(sum) => engine.ev.add(&sum, &term)?,
        });
    }
    let sum = match sum {
        Some(sum) => sum,
        None => engine.ev.mul_integer(ct, 0)?,
    };
    Ok(engine.ev.add_scalar(&sum, coefficients[0].into())?)
}

/// A polynomial of every value, with refreshes if there is a refresher; `powers` says that it is
/// one of powers and not a Chebyshev series.
///
/// # Errors
/// The levels are spent; a key is missing; the errors of the refresher.
pub fn polynomial(
    engine: &Ckks,
    keys: &Keys,
    (polynomial, powers): (&Polynomial, bool),
    (ct, layout): (&Ct, &Layout),
    refresher: Option<&impl Refresher<Device>>,
) -> Result<(Ct, Layout)> {
    let all = engine.params.slots();
    let result = match refresher {
        None if powers && is_shallow(polynomial) => by_powers(engine, keys, polynomial.coefficients(), ct)?,
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
