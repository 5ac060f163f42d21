//! Random and spliced bytes.

use super::*;

/// Random residues below their primes are a ciphertext; everything is canonical: whatever is
/// accepted is written the same.
fn accepted_bytes_are_canonical(zoo: &Zoo, frame: &Frame) {
    if let Ok(again) = zoo.recode(frame) {
        assert!(equal(&again, frame), "{frame:?} is accepted and written differently");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read(&bytes).is_err());
        prop_assert!(read(&[b"HEWF\x01\x00", bytes.as_slice()].concat()).is_err());
    }

    #[test]
    fn random_headers_are_refused(
        kind in 0u16..12, length in prop_oneof![0u64..200, any::<u64>()],
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut header = b"HEWF\x01\x00".to_vec();
        header.extend(kind.to_le_bytes());
        header.extend([1; 32]);
        header.extend(length.to_le_bytes());
        header.extend(bytes);
        prop_assert!(read(&header).is_err());
    }

    #[test]
    fn random_bodies_never_panic(index in 0usize..12, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        accepted_bytes_are_canonical(&SMALL, &SMALL.with_body(index, &bytes));
    }

    #[test]
    fn spliced_bodies_never_panic(
        index in 0usize..12, other in 0usize..12, at in any::<prop::sample::Index>(), count in 0usize..64,
        from in any::<prop::sample::Index>(), change in any::<(prop::sample::Index, u8)>(),
    ) {
        let source = &SMALL.frames[other].body;
        let mut body = SMALL.frames[index].body.to_vec();
        let (at, from) = (at.index(body.len()), from.index(source.len()));
        let piece = &source[from..source.len().min(from + count)];
        body.splice(at..body.len().min(at + count), piece.iter().copied());
        if !body.is_empty() {
            let at = change.0.index(body.len());
            body[at] = change.1;
        }
        accepted_bytes_are_canonical(&SMALL, &SMALL.with_body(index, &body));
    }

    #[test]
    fn spliced_files_are_refused(
        at in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), count in 1usize..500,
    ) {
        let bytes = &SMALL.bytes;
        let (at, from) = (at.index(bytes.len()), from.index(bytes.len()));
        let mut spliced = bytes.clone();
        spliced.splice(at..bytes.len().min(at + count), bytes[from..bytes.len().min(from + count)].iter().copied());
        prop_assert!(spliced == *bytes || read(&spliced).is_err());
    }

    /// Random parameters, mostly impossible ones.
    #[test]
    fn random_parameters_never_panic(
        log_n in any::<u8>(), q in proptest::collection::vec(any::<u64>(), 0..6), p in proptest::collection::vec(any::<u64>(), 0..3),
        levels in proptest::collection::vec(any::<u16>(), 0..6), digits in proptest::collection::vec(0u16..8, 0..6),
        scale in any::<f64>(), good in any::<[bool; 4]>(),
    ) {
        let spec = SMALL.world.params.spec();
        let mut body = vec![if good[0] { 2 } else { log_n }];
        let (q, p) = if good[1] { (spec.q.clone(), spec.p.clone()) } else { (q, p) };
        for primes in [&q, &p] {
            body.extend((primes.len() as u16).to_le_bytes());
            primes.iter().for_each(|prime| body.extend(prime.to_le_bytes()));
        }
        let levels = if good[2] { vec![1, 2, 3] } else { levels };
        for list in [&levels, &digits] {
            body.extend((list.len() as u16).to_le_bytes());
            list.iter().for_each(|x| body.extend(x.to_le_bytes()));
        }
        body.extend(if good[3] { 36f64 } else { scale }.to_bits().to_le_bytes());
        accepted_bytes_are_canonical(&SMALL, &SMALL.with_body(PARAMS, &body));
    }
}

/// Ciphertexts of random residues with random fields compute or are refused; whatever comes out is
/// a ciphertext.
#[test]
fn hostile_ciphertexts_do_not_upset_the_evaluator() {
    for_seeds(20, |rng: &mut ChaCha20Rng| {
        let w = &ZOO.world;
        let mut body = ZOO.frames[CIPHERTEXT].body.to_vec();
        let scale = f64::from_bits(rng.random::<u64>() >> 1);
        let scale = if rng.random() { scale } else { rng.random_range(-70f64..130.0).exp2() };
        body[2] = rng.random_range(0..5);
        body[7..15].copy_from_slice(&scale.to_bits().to_le_bytes());
        let n = w.ring.n();
        let mut at = 15;
        for _ in 0..2 {
            for &q in w.ring.spec().q() {
                assert!(Modulus::new(q).is_ok());
                let width = 64 - q.leading_zeros() as usize;
                for row in 0..2 {
                    for k in 0..n {
                        let bytes = &mut body[at + row * n * width / 8..][..n * width / 8];
                        set_bits(bytes, k * width, width, rng.random_range(0..q));
                    }
                }
                at += 2 * n * width / 8;
            }
        }
        let Ok(ct) = Ciphertext::from_frame(&w.params, &w.ring, &ZOO.with_body(CIPHERTEXT, &body)) else {
            return;
        };
        let own = w.random(2, w.params.slots(), 2, rng).ct;
        let results: Vec<Result<Ciphertext<Cpu>>> = vec![
            w.ev.add(&ct, &own),
            w.ev.sub(&own, &ct),
            w.ev.mul(&ct, &own, &w.keys),
            w.ev.square(&ct, &w.keys),
            w.ev.mul_scalar(&ct, 0.5),
            w.ev.add_scalar(&ct, he::ckks::Complex64::I),
            w.ev.rotate(&ct, 1, &w.keys),
            w.ev.conjugate(&ct, &w.keys),
            w.ev.rescale(&ct),
            w.ev.mod_switch_to(&ct, 0),
            w.ev.drop_to_level(&ct, 0),
            w.ev.sum_of_rotations(&ct, &[(0, 0.5), (1, 1.0)], &w.keys),
            w.ev.linear_combination(&[(&ct, 0.5), (&own, 1.0)]),
            Ok(ct),
        ];
        for ct in results.into_iter().flatten() {
            let values = w.decrypt(&ct);
            assert_eq!((values.len(), values[0].len()), (2, ct.slots()));
            assert!(Ciphertext::from_frame(&w.params, &w.ring, &ct.to_frame(&w.params).unwrap()).is_ok());
        }
    });
}
