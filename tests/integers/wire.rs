//! Frames of BFV and BGV: round trips, and bytes that were damaged or made up.

use super::common::{World, for_seeds, shapes};
use he::Error;
use he::backend::Cpu;
use he::bfv::{Bfv, presets};
use he::bgv::Bgv;
use he::ckks::CkksParams;
use he::exact::{self, ExactSpec, Params, SecretEncryptor};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he::wire::{
    self, Frame, FrameKind, FrameReader, FrameWriter, Wire, WireError, WireKeys, WireParams, WireScheme,
};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Limits as a reader of these parameters sets them.
fn limit<S: WireScheme>(params: &Params<S>, kind: FrameKind) -> u64 {
    match kind {
        kind if kind == S::FRAMES[0] => wire::first_frame_limit(kind),
        kind if S::FRAMES[1..].contains(&kind) => params.ciphertext_frame_limit(8),
        kind => params.key_frame_limit(kind),
    }
}

/// All frames of a world, through bytes.
fn frames<S: WireScheme>(world: &World<S>, rng: &mut ChaCha20Rng) -> Vec<Frame> {
    let params = &world.params;
    let messages = [world.random(rng), world.random(rng)];
    let ct = world.encrypt(&messages, rng);
    let seeded = SecretEncryptor::new(params, &world.secret, &world.ring).unwrap();
    let seeded = seeded.encrypt(&world.plaintext(&messages), rng).unwrap();
    let mut keys = world.keys.to_frames(params).map(Result::unwrap);
    let mut frames = vec![
        params.to_frame(),
        world.secret.to_frame(params).unwrap(),
        world.public.to_frame(params).unwrap(),
        keys.next().unwrap(),
        ct.to_frame(params).unwrap(),
        seeded.to_frame(params).unwrap(),
    ];
    if ct.level() > 0 {
        let low = world.ev.mod_switch_to(&ct, ct.level() - 1).unwrap();
        frames.push(low.to_frame(params).unwrap());
    }
    frames.extend(keys);
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
fn again<S: WireScheme>(params: &Params<S>, ring: &Ring<Cpu>, frame: &Frame) -> he::Result<Frame> {
    match frame.kind {
        FrameKind::SecretKey => SecretKey::from_frame(params, (), frame)?.to_frame(params),
        FrameKind::PublicKey => PublicKey::from_frame(params, ring, frame)?.to_frame(params),
        FrameKind::RelinKey | FrameKind::GaloisKey => {
            let mut keys = EvaluationKeys::empty(params.rlwe(), ring)?;
            keys.insert_frame(params, frame)?;
            let mut frames = keys.to_frames(params);
            frames.next().unwrap()
        }
        kind if kind == S::FRAMES[0] => Ok((Params::<S>::from_frame_insecure(frame)?).to_frame()),
        kind if kind == S::FRAMES[1] => exact::Ciphertext::from_frame(params, ring, frame)?.to_frame(params),
        _ => {
            let ct = exact::SeededCiphertext::from_frame(params, ring, frame)?;
            ct.to_frame(params)
        }
    }
}

fn round_trips<S: WireScheme>(rng: &mut ChaCha20Rng) {
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
            let read = Params::<S>::from_frame_insecure(&frames[0]).unwrap();
            assert_eq!(read, world.params);
            let ring = Ring::new(Cpu::new(), read.rlwe().ring().clone()).unwrap();
            let ct = exact::Ciphertext::from_frame(&read, &ring, &frames[4]).unwrap();
            let header = wire::ExactHeader::from_frame(&read, &frames[4]).unwrap();
            assert_eq!((header.level, header.batch), (ct.level(), ct.batch()));
            assert_eq!((header.correction_factor, header.noise), (ct.correction_factor(), ct.noise()));
            let secret = SecretKey::from_frame(&read, (), &frames[1]).unwrap();
            let decryptor = exact::Decryptor::new(&read, &secret, &ring).unwrap();
            let seeded = exact::SeededCiphertext::from_frame(&read, &ring, &frames[5]).unwrap();
            let found = decryptor.decrypt(&ct).unwrap();
            assert_eq!(found, decryptor.decrypt(&seeded.expand().unwrap()).unwrap());
            let here = exact::Ciphertext::from_frame(&world.params, &world.ring, &frames[4]).unwrap();
            assert_eq!(found, world.decryptor.decrypt(&here).unwrap());
        }
    }
}

/// Bodies cut, extended, and with random bytes replaced: an error, or an object that encodes to
/// these very bytes.
fn hostile<S: WireScheme>(rng: &mut ChaCha20Rng) {
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
            // The frame is of other parameters, or of another kind.
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
    let frame = ct.to_frame(&world.params).unwrap();
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
        let error = exact::Ciphertext::from_frame(&world.params, &world.ring, &bad).unwrap_err();
        assert!(matches!(error, Error::Wire(WireError::Field { .. })), "{at}: {error}");
        assert!(wire::ExactHeader::from_frame(&world.params, &bad).is_err());
    }
    // A batch that the body does not hold costs no memory.
    let mut body = frame.body.to_vec();
    body[2..6].copy_from_slice(&u32::MAX.to_le_bytes());
    let bad = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
    let error = exact::Ciphertext::from_frame(&world.params, &world.ring, &bad).unwrap_err();
    assert!(matches!(error, Error::Wire(WireError::Length { .. })), "{error}");
}

#[test]
fn parameters_are_secure_by_default_and_schemes_do_not_mix() {
    let params = presets::bfv_n12_d1().unwrap();
    let frame = params.to_frame();
    assert_eq!(Params::<Bfv>::from_frame(&frame).unwrap(), params);
    let error = Params::<Bgv>::from_frame(&frame).unwrap_err();
    assert!(matches!(error, Error::Wire(WireError::UnexpectedKind { .. })));
    assert!(matches!(CkksParams::from_frame(&frame), Err(Error::Wire(WireError::UnexpectedKind { .. }))));
    let spec = ExactSpec::from_bits(4, &[40], &[41], 97).unwrap();
    let insecure = Params::<Bfv>::insecure(spec.clone()).unwrap();
    let frame = insecure.to_frame();
    assert!(matches!(Params::<Bfv>::from_frame(&frame), Err(Error::InvalidParams(_))));
    assert_eq!(Params::<Bfv>::from_frame_insecure(&frame).unwrap().spec(), spec);
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
