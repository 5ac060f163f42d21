//! Frames of BFV and BGV: round trips, and bytes that were damaged or made up.

use crate::common::{World, for_seeds, shapes};
use he::Error;
use he::backend::Cpu;
use he::bfv::{Bfv, presets};
use he::bgv::Bgv;
use he::exact::{ExactSpec, Params, Scheme, SecretEncryptor};
use he::ring::Ring;
use he::wire::{self, Frame, FrameKind, FrameReader, FrameWriter, WireError};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Limits as a reader of these parameters sets them.
fn limit<S: Scheme>(params: &Params<S>, kind: FrameKind) -> u64 {
    match kind {
        kind if kind == S::FRAMES[0] => wire::params_frame_limit(kind),
        kind if S::FRAMES[1..].contains(&kind) => wire::ciphertext_frame_limit(params, 8),
        kind => wire::scheme_key_frame_limit(params, kind),
    }
}

/// All frames of a world, through bytes.
fn frames<S: Scheme>(world: &World<S>, rng: &mut ChaCha20Rng) -> Vec<Frame> {
    let params = &world.params;
    let messages = [world.random(rng), world.random(rng)];
    let ct = world.encrypt(&messages, rng);
    let seeded = SecretEncryptor::new(params, &world.secret, &world.ring).unwrap();
    let seeded = seeded.encrypt(&world.plaintext(&messages), rng).unwrap();
    let mut frames = vec![
        wire::encode_exact_params(params),
        wire::encode_secret_key(params, &world.secret).unwrap(),
        wire::encode_public_key(params, &world.public).unwrap(),
        wire::encode_relin_key(params, world.keys.relin().unwrap()).unwrap(),
        wire::encode_exact_ciphertext(params, &ct).unwrap(),
        wire::encode_exact_seeded_ciphertext(params, &seeded).unwrap(),
    ];
    if ct.level() > 0 {
        let low = world.ev.mod_switch(&ct, ct.level() - 1).unwrap();
        frames.push(wire::encode_exact_ciphertext(params, &low).unwrap());
    }
    frames.extend(world.keys.galois_keys().map(|(g, key)| wire::encode_galois_key(params, g, key).unwrap()));
    let mut writer = FrameWriter::new(Vec::new());
    for frame in &frames {
        writer.write(frame).unwrap();
    }
    let bytes = writer.finish(params.fingerprint()).unwrap();
    let mut reader = FrameReader::new(bytes.as_slice());
    let mut back = Vec::new();
    while let Some(frame) = reader.next_frame(|kind, _| limit(params, kind)).unwrap() {
        back.push(frame);
    }
    assert_eq!(back.len(), frames.len());
    for (frame, back) in frames.iter().zip(&back) {
        assert_eq!((frame.kind, &frame.body), (back.kind, &back.body));
    }
    back
}

/// Decodes a frame and encodes it again.
fn again<S: Scheme>(params: &Params<S>, ring: &Ring<Cpu>, frame: &Frame) -> he::Result<Frame> {
    match frame.kind {
        FrameKind::SecretKey => wire::encode_secret_key(params, &wire::decode_secret_key(params, frame)?),
        FrameKind::PublicKey => {
            wire::encode_public_key(params, &wire::decode_public_key(params, ring, frame)?)
        }
        FrameKind::RelinKey => wire::encode_relin_key(params, &wire::decode_relin_key(params, ring, frame)?),
        FrameKind::GaloisKey => {
            let (g, key) = wire::decode_galois_key(params, ring, frame)?;
            wire::encode_galois_key(params, g, &key)
        }
        kind if kind == S::FRAMES[0] => {
            Ok(wire::encode_exact_params(&wire::decode_exact_params_insecure::<S>(frame)?))
        }
        kind if kind == S::FRAMES[1] => {
            wire::encode_exact_ciphertext(params, &wire::decode_exact_ciphertext(params, ring, frame)?)
        }
        _ => {
            let ct = wire::decode_exact_seeded_ciphertext(params, ring, frame)?;
            wire::encode_exact_seeded_ciphertext(params, &ct)
        }
    }
}

fn round_trips<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in [2, 65537, (1 << 60) - 93] {
        for params in shapes::<S>(t, 150) {
            let world = World::new(params, rng);
            let frames = frames(&world, rng);
            for frame in &frames {
                let again = again(&world.params, &world.ring, frame).unwrap();
                assert_eq!(
                    (again.kind, again.fingerprint, &again.body),
                    (frame.kind, frame.fingerprint, &frame.body)
                );
            }
            // Another party computes with what it read.
            let read = wire::decode_exact_params_insecure::<S>(&frames[0]).unwrap();
            assert_eq!(read, world.params);
            let ring = Ring::new(Cpu::new(), read.rlwe().ring().clone()).unwrap();
            let ct = wire::decode_exact_ciphertext(&read, &ring, &frames[4]).unwrap();
            let header = wire::exact_header(&read, &frames[4]).unwrap();
            assert_eq!((header.level, header.batch), (ct.level(), ct.batch()));
            assert_eq!((header.factor, header.noise), (ct.factor(), ct.noise()));
            let secret = wire::decode_secret_key(&read, &frames[1]).unwrap();
            let decryptor = he::exact::Decryptor::new(&read, &secret, &ring).unwrap();
            let seeded = wire::decode_exact_seeded_ciphertext(&read, &ring, &frames[5]).unwrap();
            let found = decryptor.decrypt(&ct).unwrap();
            assert_eq!(found, decryptor.decrypt(&seeded.expand().unwrap()).unwrap());
            let here = wire::decode_exact_ciphertext(&world.params, &world.ring, &frames[4]).unwrap();
            assert_eq!(found, world.decryptor.decrypt(&here).unwrap());
        }
    }
}

/// Bodies cut, extended, and with random bytes replaced: an error, or an object that encodes to
/// these very bytes.
fn hostile<S: Scheme>(rng: &mut ChaCha20Rng) {
    for params in shapes::<S>(65537, 120).into_iter().take(4) {
        let world = World::new(params, rng);
        for frame in frames(&world, rng) {
            let length = frame.body.len();
            for trial in 0..60 {
                let mut body = frame.body.to_vec();
                match trial % 4 {
                    0 => body.truncate(rng.random_range(0..length)),
                    1 => body.extend(vec![0; rng.random_range(1..9)]),
                    2 => {
                        // Fields come first.
                        let at = rng.random_range(0..length.min(40));
                        body[at] ^= 1 << rng.random_range(0..8);
                    }
                    _ => {
                        let at = rng.random_range(0..length);
                        let end = length.min(at + 8);
                        rng.fill_bytes(&mut body[at..end]);
                    }
                }
                let bad = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
                match again(&world.params, &world.ring, &bad) {
                    Ok(same) => assert_eq!(same.body, bad.body),
                    Err(Error::Wire(_) | Error::InvalidParams(_)) => assert!(trial % 4 != 0 || length > 0),
                    Err(error) => panic!("{}: {error}", frame.kind),
                }
            }
            // Of other parameters, or of another kind.
            let other = Frame {
                kind: frame.kind,
                fingerprint: he::rlwe::Fingerprint([7; 32]),
                body: frame.body.clone(),
            };
            assert!(matches!(
                again(&world.params, &world.ring, &other),
                Err(Error::Wire(WireError::WrongParams { .. }))
            ));
        }
    }
}

#[test]
fn fields_out_of_range_are_named() {
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let world = World::<Bgv>::new(shapes::<Bgv>(1 << 16, 120).remove(1), rng);
    let ct = world.encrypt(&[world.random(rng)], rng);
    let frame = wire::encode_exact_ciphertext(&world.params, &ct).unwrap();
    let nan = f64::NAN.to_bits().to_le_bytes();
    let infinite = f64::INFINITY.to_bits().to_le_bytes();
    for (at, bytes) in [
        (0, &[9, 0][..]),
        (0, &[255, 255]),
        (2, &[0, 0, 0, 0]),
        (6, &[2, 0, 0, 0, 0, 0, 0, 0]),
        (6, &[0; 8]),
        (6, &[1, 0, 1, 0, 0, 0, 0, 0]),
        (14, &nan),
        (14, &infinite),
        (22, &nan),
        (30, &[255, 255]),
    ] {
        let mut body = frame.body.to_vec();
        body[at..at + bytes.len()].copy_from_slice(bytes);
        let bad = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
        let error = wire::decode_exact_ciphertext(&world.params, &world.ring, &bad).unwrap_err();
        assert!(matches!(error, Error::Wire(WireError::Field { .. })), "{at}: {error}");
        assert!(wire::exact_header(&world.params, &bad).is_err());
    }
    // A batch that the body does not hold costs no memory.
    let mut body = frame.body.to_vec();
    body[2..6].copy_from_slice(&u32::MAX.to_le_bytes());
    let bad = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
    let error = wire::decode_exact_ciphertext(&world.params, &world.ring, &bad).unwrap_err();
    assert!(matches!(error, Error::Wire(WireError::Length { .. })), "{error}");
}

#[test]
fn parameters_are_secure_by_default_and_schemes_do_not_mix() {
    let params = presets::bfv_n12_d1().unwrap();
    let frame = wire::encode_exact_params(&params);
    assert_eq!(wire::decode_exact_params::<Bfv>(&frame).unwrap(), params);
    let error = wire::decode_exact_params::<Bgv>(&frame).unwrap_err();
    assert!(matches!(error, Error::Wire(WireError::UnexpectedKind { .. })));
    assert!(matches!(wire::decode_params(&frame), Err(Error::Wire(WireError::UnexpectedKind { .. }))));
    let spec = ExactSpec::from_bits(4, &[40], &[41], 97).unwrap();
    let insecure = Params::<Bfv>::insecure(spec.clone()).unwrap();
    let frame = wire::encode_exact_params(&insecure);
    assert!(matches!(wire::decode_exact_params::<Bfv>(&frame), Err(Error::InvalidParams(_))));
    assert_eq!(wire::decode_exact_params_insecure::<Bfv>(&frame).unwrap().spec(), spec);
    // The same chain is another parameter set in each scheme, and for each plaintext modulus.
    let bgv = Params::<Bgv>::insecure(spec.clone()).unwrap();
    assert_ne!(bgv.fingerprint(), insecure.fingerprint());
    let other = Params::<Bfv>::insecure(ExactSpec { plain_modulus: 17, ..spec }).unwrap();
    assert_ne!(other.fingerprint(), insecure.fingerprint());
    assert_eq!(other.rlwe(), insecure.rlwe());
}

#[test]
fn bfv_frames_round_trip() {
    for_seeds(1, round_trips::<Bfv>);
}

#[test]
fn bgv_frames_round_trip() {
    for_seeds(1, round_trips::<Bgv>);
}

#[test]
fn hostile_bytes_end_in_one_error() {
    for_seeds(1, hostile::<Bfv>);
    for_seeds(1, hostile::<Bgv>);
}
