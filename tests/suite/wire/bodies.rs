//! Bodies with impossible fields under correct checksums.

use super::*;

#[track_caller]
fn field(result: Result<Frame>, expected: &str) {
    match result {
        Err(Error::Wire(WireError::Field { field, .. })) => assert_eq!(field, expected),
        other => panic!("{expected}: {other:?}"),
    }
}

#[test]
fn bodies_of_every_wrong_length() {
    for zoo in [&*SMALL, &*ZOO] {
        for (index, frame) in zoo.frames.iter().enumerate().take(POLYNOMIALS.end) {
            let mut longer = frame.body.to_vec();
            longer.extend([0; 40]);
            for length in (0..frame.body.len()).chain([frame.body.len() + 1, frame.body.len() + 40]) {
                let result = zoo.recode(&zoo.with_body(index, &longer[..length]));
                let refused = matches!(
                    result,
                    Err(Error::Wire(WireError::Field { .. } | WireError::Length { .. })
                        | Error::InvalidParams(_))
                );
                assert!(refused, "{frame:?} of {length} bytes: {result:?}");
            }
        }
    }
}

#[test]
fn ciphertext_fields_with_extreme_values() {
    let zoo = &*ZOO;
    let kinds = [CIPHERTEXT, SEEDED];
    for index in kinds {
        let good = zoo.frames[index].body.to_vec();
        let with = |at: usize, bytes: &[u8]| {
            let mut body = good.clone();
            body[at..at + bytes.len()].copy_from_slice(bytes);
            zoo.recode(&zoo.with_body(index, &body))
        };
        assert!(equal(&with(0, &[]).unwrap(), &zoo.frames[index]));
        for level in 0..=u16::MAX {
            match level {
                2 => assert!(with(0, &level.to_le_bytes()).is_ok()),
                // An existing level with the bytes of another.
                0 | 1 => {
                    let result = with(0, &level.to_le_bytes());
                    assert!(matches!(result, Err(Error::Wire(WireError::Length { .. }))), "{result:?}");
                }
                _ if level > 300 && level % 1021 != 0 && level != u16::MAX => {}
                _ => field(with(0, &level.to_le_bytes()), "level"),
            }
        }
        for log_slots in 0..=u8::MAX {
            let result = with(2, &[log_slots]);
            if log_slots <= 4 { assert!(result.is_ok()) } else { field(result, "number of slots") }
        }
        field(with(3, &0u32.to_le_bytes()), "batch");
        for batch in [1, 3, 4, 255, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX] {
            let Err(Error::Wire(WireError::Length { found, expected, .. })) = with(3, &batch.to_le_bytes())
            else {
                panic!("{batch}")
            };
            assert_eq!(expected / u64::from(batch) * 2, found, "{batch}");
        }
        for scale in [
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            -1.0,
            -zoo.world.scale(2),
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::MAX,
            2f64.powi(200),
        ] {
            let result = with(7, &scale.to_bits().to_le_bytes());
            assert!(matches!(result, Err(Error::ScaleRange { .. })), "{scale}: {result:?}");
        }
    }
}

/// A residue of every limb of every object at its prime, and beyond; padding that is not zero.
#[test]
fn residues_beyond_their_prime_and_padding() {
    for zoo in [&*SMALL, &*ZOO] {
        let ring = zoo.world.ring.spec();
        let n = ring.n();
        let chain: Vec<u64> = ring.q().to_vec();
        let all: Vec<u64> = ring.primes().collect();
        let digits: Vec<u64> = zoo.world.params.rlwe().digits().iter().flat_map(|_| all.clone()).collect();
        // Frame, bytes before the polynomials, and the limbs with their batch.
        let layouts: [(usize, usize, Vec<u64>, usize); 6] = [
            (PUBLIC, 32, chain.clone(), 1),
            (3, 32, digits.clone(), 1),
            (GALOIS, 40, digits, 1),
            (CIPHERTEXT, 15, [chain.clone(), chain.clone()].concat(), 2),
            (6, 15, vec![chain[0]; 2], 1),
            (SEEDED, 47, chain, 2),
        ];
        for (index, mut at, limbs, batch) in layouts {
            let good = zoo.frames[index].body.to_vec();
            for (limb, &q) in limbs.iter().enumerate() {
                let width = 64 - q.leading_zeros() as usize;
                let row = (n * width).div_ceil(8);
                for entry in 0..batch {
                    let result = |change: &dyn Fn(&mut [u8])| {
                        let mut body = good.clone();
                        change(&mut body[at + entry * row..][..row]);
                        zoo.recode(&zoo.with_body(index, &body))
                    };
                    for k in [0, 1, n - 1] {
                        for value in [q, q + 1, (1 << width) - 1] {
                            let bad = result(&|row| set_bits(row, k * width, width, value));
                            let Err(Error::Wire(WireError::Residue { limb: found, .. })) = bad else {
                                panic!("frame {index}, limb {limb}, coefficient {k}: {bad:?}")
                            };
                            assert_eq!(
                                all[found % all.len().min(limbs.len())].min(q),
                                q.min(all[found]),
                                "limb"
                            );
                        }
                        assert!(result(&|row| set_bits(row, k * width, width, q - 1)).is_ok());
                    }
                    for bit in n * width..row * 8 {
                        let bad = result(&|row| row[bit / 8] |= 1 << (bit % 8));
                        assert!(
                            matches!(bad, Err(Error::Wire(WireError::Residue { .. }))),
                            "padding bit {bit}"
                        );
                    }
                }
                at += row * batch;
            }
            assert_eq!(at, good.len());
        }
    }
    // Only the small ring has padding.
    let q = SMALL.world.ring.spec().q()[0];
    assert_ne!((64 - q.leading_zeros()) as usize * 4 % 8, 0);
}

#[test]
fn secret_and_galois_keys_with_impossible_fields() {
    let zoo = &*ZOO;
    let good = zoo.frames[SECRET].body.to_vec();
    for byte in 0..good.len() {
        for four in 0..=u8::MAX {
            let mut body = good.clone();
            body[byte] = four;
            let result = zoo.recode(&zoo.with_body(SECRET, &body));
            if (0..4).any(|i| four >> (2 * i) & 3 == 3) {
                field(result, "coefficient");
            } else {
                assert_eq!(result.unwrap().body.as_slice(), body.as_slice());
            }
        }
    }
    let good = zoo.frames[GALOIS].body.to_vec();
    let n = zoo.world.ring.n() as u64;
    for g in (0..4 * n).chain([u64::from(u32::MAX), 1 << 63, u64::MAX]) {
        let mut body = good.clone();
        body[..8].copy_from_slice(&g.to_le_bytes());
        let result = zoo.recode(&zoo.with_body(GALOIS, &body));
        if g % 2 == 1 && g < 2 * n { assert!(result.is_ok(), "{g}") } else { field(result, "galois element") }
    }
}

/// Every field of parameters, and every byte: refused, or another set of parameters whose
/// fingerprint is not the frame's.
#[test]
fn changed_parameters_are_refused() {
    let zoo = &*ZOO;
    let good = zoo.frames[PARAMS].body.to_vec();
    let fits = |body: &[u8]| {
        let frame = zoo.with_body(PARAMS, body);
        (CkksParams::from_frame_insecure(&frame), CkksParams::from_frame(&frame))
    };
    assert!(fits(&good).0.is_ok());
    for at in 0..good.len() {
        for byte in 0..=u8::MAX {
            let mut body = good.clone();
            body[at] = byte;
            if body == good {
                continue;
            }
            for result in [fits(&body).0, fits(&body).1] {
                // A degree of 0 stands before the number of a version.
                if (at, byte) == (0, 0) {
                    let next = body[1];
                    let by_number = matches!(
                        result,
                        Err(Error::Wire(WireError::UnsupportedBody { found, supported: 2, .. })) if found == next
                    );
                    assert!(by_number, "{result:?}");
                    continue;
                }
                let refused = matches!(
                    result,
                    Err(Error::InvalidParams(_)
                        | Error::Wire(WireError::Field { .. } | WireError::WrongParams { .. }))
                );
                assert!(refused, "byte {at} = {byte}: {result:?}");
            }
        }
    }
    // Counts that promise more than there is.
    for at in [1, 1 + 2 + 24, 1 + 2 + 24 + 2 + 8, 1 + 2 + 24 + 2 + 8 + 2 + 6] {
        for count in [4u16, 64, 65, 1000, u16::MAX] {
            let mut body = good.clone();
            body[at..at + 2].copy_from_slice(&count.to_le_bytes());
            assert!(fits(&body).0.is_err());
            // With as many entries as promised.
            body.resize(2048, 1);
            assert!(fits(&body).0.is_err());
        }
    }
    for scale in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 0.99, 120.1] {
        let mut body = good.clone();
        let at = body.len() - 8;
        body[at..].copy_from_slice(&scale.to_bits().to_le_bytes());
        let result = fits(&body).0;
        assert!(matches!(result, Err(Error::InvalidParams(_))), "{scale}: {result:?}");
    }
}

#[test]
fn headers_are_read_without_their_polynomials() {
    let (params, scale) = (&ZOO.world.params, ZOO.world.scale(2));
    for index in [CIPHERTEXT, SEEDED] {
        let header = wire::CiphertextHeader::from_frame(params, &ZOO.frames[index]).unwrap();
        assert_eq!(header, wire::CiphertextHeader { level: 2, slots: 16, batch: 2, scale });
    }
    for (index, frame) in ZOO.frames.iter().enumerate() {
        let result = wire::CiphertextHeader::from_frame(params, frame);
        assert_eq!(result.is_ok(), [CIPHERTEXT, 6, SEEDED].contains(&index), "{result:?}");
    }
    assert!(matches!(zoo_header(0, 3), Err(Error::Wire(WireError::Field { field: "level", .. }))));
    assert!(matches!(zoo_header(3, 0), Err(Error::Wire(WireError::Field { field: "batch", .. }))));
    let other = &SMALL.world.params;
    let result = wire::CiphertextHeader::from_frame(other, &ZOO.frames[CIPHERTEXT]);
    assert!(matches!(result, Err(Error::Wire(WireError::WrongParams { .. }))));
}
