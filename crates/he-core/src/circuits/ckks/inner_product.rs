//! Inner products with plain vectors.

use crate::backend::RingOps;
use crate::circuits::{Requirements, doubling_steps};
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};

/// The requirements of [`inner_product`] for vectors of `slots` slots: one level, and rotations by
/// the smaller powers of two.
pub fn inner_product_requirements(slots: usize) -> Requirements {
    Requirements { depth: 1, keys: KeyRequirements::new().rotations(doubling_steps(slots)) }
}

/// The sum of weight_i x_i over a whole batch, entry by entry; missing weights are zero. The result
/// is in every slot of a batch of one. For two encrypted vectors there is [`dot`](super::dot).
///
/// It takes one level, one rescale and log2(slots) rotations. The magnitude is up to sum |weight|
/// times the values' and must stay below Q / (2 scale) of the result's level, on level 0
/// [`CkksParams::range`](crate::ckks::CkksParams::range); noise grows likewise.
///
/// # Errors
/// [`Error::TooManyValues`] for more weights than slots; [`Error::NotFinite`],
/// [`Error::ValueTooLarge`] for weights; [`Error::LevelExhausted`], [`Error::MissingGaloisKey`],
/// [`Error::ParamsMismatch`]; device errors.
pub fn inner_product<B: RingOps>(
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    weights: &[f64],
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    let slots = ct.slots();
    let capacity = ct.batch() * slots;
    if weights.len() > capacity {
        return Err(Error::TooManyValues { found: weights.len(), capacity });
    }
    inner_product_requirements(slots).check(ct.level(), keys)?;
    // Without weights, the first entry is multiplied by zeros.
    let chunks = weights.chunks(slots).chain(weights.is_empty().then_some(weights)).enumerate();
    let encoding = ev.params().encoding_for(ct);
    let terms = chunks
        .map(|(at, chunk)| Ok((ct.slice_batch(at..at + 1)?, ev.encoder().encode_real(chunk, encoding)?)))
        .collect::<Result<Vec<_>>>()?;
    let terms: Vec<_> = terms.iter().map(|(entry, plain)| (entry, plain)).collect();
    ev.inner_sum(&ev.plain_combination(&terms)?, slots, keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::pack_column;
    use crate::circuits::testing::Fixture;
    use rand::RngExt;

    #[test]
    fn matches_the_plain_product() {
        let mut fixture = Fixture::new(8, 1);
        for slots in [1, 16, 128] {
            let requirements = inner_product_requirements(slots);
            let keys = fixture.keys(&requirements);
            for (values, weights) in
                [(1, 1), (slots, slots), (3 * slots, 3 * slots), (3 * slots, slots), (5, 0)]
            {
                let mut vector =
                    |length| (0..length).map(|_| fixture.rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
                let (x, w) = (vector(values), vector(weights));
                let ct = fixture.encrypt(&pack_column(&x, slots).unwrap(), slots);
                let out = inner_product(&fixture.ev, &ct, &w, &keys).unwrap();
                assert_eq!(ct.level() - out.level(), requirements.depth);
                let expected: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
                let found = fixture.decrypt(&out);
                assert_eq!((found.len(), found[0].len()), (1, slots));
                for z in &found[0] {
                    assert!((z - expected).norm() < 1e-6, "{values} values in {slots}: {z}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut fixture = Fixture::new(8, 1);
        let ct = fixture.encrypt(&pack_column(&[1.0; 8], 4).unwrap(), 4);
        let none = fixture.keys(KeyRequirements::new());
        let keys = fixture.keys(inner_product_requirements(4));
        let ev = &fixture.ev;
        let result = inner_product(ev, &ct, &[1.0; 9], &keys);
        assert!(matches!(result, Err(Error::TooManyValues { found: 9, capacity: 8 })));
        assert!(matches!(inner_product(ev, &ct, &[f64::NAN], &keys), Err(Error::NotFinite { index: 0 })));
        assert!(matches!(inner_product(ev, &ct, &[1.0], &none), Err(Error::MissingGaloisKey { step: 1 })));
        let bottom = ev.mod_switch_to(&ct, 0).unwrap();
        let result = inner_product(ev, &bottom, &[1.0], &keys);
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })));
    }
}
