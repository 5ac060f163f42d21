//! Composition to a greater degree, and decomposition.

use crate::common::{World, numbers, seeded};
use he_core::Error;
use he_core::ckks::{CkksParams, CkksSpec};
use he_core::rlwe::{RlweParams, SwitchKey};
use rand::{RngExt, rngs::ChaCha20Rng};

/// Parameters of degree 2^6 and 2^4 over the same primes, the greater with a level more.
fn pair(rng: &mut ChaCha20Rng) -> [World; 2] {
    let large = CkksSpec::from_bits(6, &[50, 40, 40], &[51], 40.0).unwrap();
    let scale = CkksParams::insecure(large.clone()).unwrap().levels()[1].scale.log2();
    let mut small = CkksSpec::from_bits(4, &[50, 40], &[51], scale).unwrap();
    (small.q, small.p) = (large.q[..2].to_vec(), large.p.clone());
    [small, large].map(|spec| World::new(CkksParams::insecure(spec).unwrap(), rng))
}

/// The parameters of a key of the greater degree over the primes of the smaller.
fn over_small_primes(small: &World, large: &World) -> (RlweParams, he_core::ring::Ring) {
    let ring = large.ring.prefix(small.params.rlwe().ring().q().len(), 1).unwrap();
    let params = RlweParams::insecure(ring.spec().clone(), small.params.rlwe().digits().to_vec()).unwrap();
    (params, ring)
}

/// Coefficient i + k j of entry e is coefficient j of row i b + e.
fn interleaved(rows: &[Vec<f64>], k: usize) -> Vec<Vec<f64>> {
    let b = rows.len() / k;
    let entry = |e: usize| (0..k * rows[0].len()).map(|c| rows[c % k * b + e][c / k]).collect();
    (0..b).map(entry).collect()
}

#[test]
fn coefficients_interleave_and_part() {
    let mut rng = seeded();
    let [small, large] = pair(&mut rng);
    let (params, ring) = over_small_primes(&small, &large);
    for batch in [1, 3] {
        let rows: Vec<_> = (0..4 * batch).map(|_| numbers(16, &mut rng)).collect();
        let key = SwitchKey::for_composition(&small.secret, &large.secret, &params, &ring, &mut rng).unwrap();
        let ct = small.encrypt(&rows, rng.random(), &mut rng);
        let composed = large.ev.compose(&ct, &key).unwrap();
        assert_eq!((composed.batch(), composed.level(), composed.scale()), (batch, 1, ct.scale()));
        assert_eq!(composed.key_set(), Some(large.secret.key_set()));
        large.assert_within_noise(&composed, &interleaved(&rows, 4));

        let back = SwitchKey::for_decomposition(&large.secret, &small.secret, &params, &ring, &mut rng);
        let back = back.unwrap();
        let parted = large.ev.decompose_into(&composed, &back, &small.ev).unwrap();
        assert_eq!((parted.level(), parted.key_set()), (ct.level(), ct.key_set()));
        small.assert_within_noise(&parted, &rows);
        // It goes on as any other.
        let sum = small.ev.add(&parted, &ct).unwrap();
        let twice: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|x| 2.0 * x).collect()).collect();
        small.assert_within_noise(&sum, &twice);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = seeded();
    let [small, large] = pair(&mut rng);
    let (params, ring) = over_small_primes(&small, &large);
    let key = SwitchKey::for_composition(&small.secret, &large.secret, &params, &ring, &mut rng).unwrap();
    let rows: Vec<_> = (0..6).map(|_| numbers(16, &mut rng)).collect();
    let six = small.encrypt(&rows, false, &mut rng);
    let found = large.ev.compose(&six, &key);
    assert!(matches!(found, Err(Error::MatrixRows { found: 6, needed: 8 })), "{found:?}");
    let four = six.slice_batch(0..4).unwrap();
    let found = small.ev.compose(&large.encrypt(&[numbers(64, &mut rng)], false, &mut rng), &key);
    assert!(matches!(found, Err(Error::RingMismatch)), "{found:?}");
    let [stranger, _] = pair(&mut rng);
    let found = large.ev.compose(&stranger.encrypt(&rows[..4], false, &mut rng), &key);
    assert!(matches!(found, Err(Error::KeyMismatch { .. })), "{found:?}");
    // Under the secret of the small degree, a key has no greater modulus than that allows.
    let all = large.params.rlwe();
    let found =
        SwitchKey::for_decomposition(&large.secret, &small.secret, all, &large.ring, &mut rng).unwrap_err();
    assert!(matches!(found, Error::Argument { what: "parameters of a key", .. }), "{found}");
    let found =
        SwitchKey::for_composition(&large.secret, &small.secret, small.params.rlwe(), &small.ring, &mut rng);
    assert!(matches!(found, Err(Error::Argument { what: "parameters of a key", .. })), "{found:?}");
    // A ciphertext above the levels of the small parameters.
    let back = SwitchKey::for_decomposition(&large.secret, &small.secret, &params, &ring, &mut rng).unwrap();
    let high = large.encrypt(&[numbers(64, &mut rng)], false, &mut rng);
    assert!(large.ev.decompose_into(&high, &back, &small.ev).is_err());
    let composed = large.ev.compose(&four, &key).unwrap();
    assert!(large.ev.decompose_into(&composed, &key, &small.ev).is_err());
}
