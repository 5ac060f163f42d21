//! Frames of other kinds and other parameters are refused, and what errors say.

use super::*;

#[test]
fn wrong_kinds_and_wrong_parameters_are_named() {
    let zoo = &*SMALL;
    let (params, ring) = (&zoo.world.params, &zoo.world.ring);
    type Decode<'a> = &'a dyn Fn(&Frame) -> Result<()>;
    let keys = || EvaluationKeys::empty(params.rlwe(), ring).unwrap();
    // Keys with a seed and without one are read by one method, and so are all evaluation keys.
    let reader = |kind| match kind {
        FrameKind::UnseededPublicKey => FrameKind::PublicKey,
        FrameKind::RelinKey | FrameKind::UnseededRelinKey | FrameKind::UnseededGaloisKey => {
            FrameKind::GaloisKey
        }
        kind => kind,
    };
    let decoders: [(FrameKind, Decode<'_>); 8] = [
        (FrameKind::CkksParams, &|f| CkksParams::from_frame_insecure(f).map(drop)),
        (FrameKind::SecretKey, &|f| SecretKey::from_frame(params, (), f).map(drop)),
        (FrameKind::PublicKey, &|f| PublicKey::from_frame(params, ring, f).map(drop)),
        (FrameKind::GaloisKey, &|f| keys().insert_frame(params, f).map(drop)),
        (FrameKind::UnseededPublicKey, &|f| PublicKey::from_frame(params, ring, f).map(drop)),
        (FrameKind::UnseededGaloisKey, &|f| keys().insert_frame(params, f).map(drop)),
        (FrameKind::CkksCiphertext, &|f| Ciphertext::from_frame(params, ring, f).map(drop)),
        (FrameKind::CkksSeededCiphertext, &|f| SeededCiphertext::from_frame(params, ring, f).map(drop)),
    ];
    for frame in &zoo.frames {
        for (kind, decode) in decoders {
            match decode(frame) {
                Ok(()) => assert_eq!(reader(kind), reader(frame.kind)),
                Err(Error::Wire(error @ WireError::UnexpectedKind { found, expected })) => {
                    assert_eq!((found, expected), (frame.kind, reader(kind)));
                    assert_ne!(found, expected);
                    assert_eq!(error.to_string(), format!("a {found} where a {expected} is needed"));
                }
                Err(error) => panic!("{error}"),
            }
            if kind == frame.kind {
                let other = Frame { kind, fingerprint: Fingerprint([7; 32]), body: frame.body.clone() };
                let Err(Error::Wire(error @ WireError::WrongParams { .. })) = decode(&other) else {
                    panic!("{kind}")
                };
                let text = error.to_string();
                let expected = format!("fingerprint 0707070707070707, expected {}", params.fingerprint());
                assert!(text.contains(&expected) && text.contains(&kind.to_string()), "{text}");
            }
        }
    }
    // Objects of other parameters are not written, nor read into other rings.
    let other = &Zoo::new(3).world;
    let mut keys = other.keys.to_frames(params);
    let ct = other.random(1, 1, 0, &mut rng(43)).ct;
    for (what, result) in [
        ("secret key", other.secret.to_frame(params)),
        ("public key", other.public.to_frame(params)),
        ("evaluation key", keys.next().unwrap()),
        ("evaluation key", keys.next().unwrap()),
    ] {
        let Err(Error::ParamsMismatch { what: found, .. }) = result else { panic!("{what}") };
        assert_eq!(found, what);
    }
    assert!(matches!(ct.to_frame(params), Err(Error::RingMismatch)));
    for frame in &zoo.frames[POLYNOMIALS] {
        let result = recode(params, &other.ring, frame);
        let refused =
            matches!(result, Err(Error::RingMismatch | Error::SpanMismatch { .. } | Error::Argument { .. }));
        assert!(refused, "{frame:?}: {result:?}");
    }
}

/// A ciphertext of another division of the same chain into levels is none of these parameters,
/// though the ring is the same.
#[test]
fn ciphertexts_of_other_levels_are_not_written() {
    let w = &ZOO.world;
    let spec = w.params.spec().with_levels(vec![2, 3], w.params.scale_log2());
    let other = CkksParams::insecure(spec).unwrap();
    let ct = w.random(1, 4, 0, &mut rng(44)).ct;
    let result = ct.to_frame(&other);
    assert!(matches!(result, Err(Error::SpanMismatch { .. })), "{result:?}");
    let top = w.random(1, 4, 2, &mut rng(44)).ct;
    assert!(matches!(top.to_frame(&other), Err(Error::LevelTooHigh { .. })));
}

/// The texts that the user reads.
#[test]
fn texts_of_the_errors() {
    let text = |error: WireError, expected: &str| assert_eq!(error.to_string(), expected);
    text(read(b"junk").unwrap_err(), "these bytes are not a homomorphic-encryption file");
    text(
        read(&SMALL.bytes[..100]).unwrap_err(),
        "the bytes end in the middle of a frame or without an end mark: the file is truncated",
    );
    let mut bytes = SMALL.bytes.clone();
    bytes[60] ^= 1;
    text(
        read(&bytes).unwrap_err(),
        "the checksum of a set of ckks parameters does not match: the bytes are damaged",
    );
    let mut bytes = SMALL.bytes.clone();
    bytes.push(0);
    text(read(&bytes).unwrap_err(), "there are bytes after the end mark");
    let mut frames = raws(&SMALL.bytes);
    frames[0].0[4] = 2;
    text(
        read(&seal(&frames)).unwrap_err(),
        "format version 2 is unknown, this program reads 1 to 1; update the program",
    );
    let mut frames = raws(&SMALL.bytes);
    frames[0].kind(99);
    text(
        read(&seal(&frames)).unwrap_err(),
        "frame kind 99 is unknown, this program reads kinds up to 61; update the program, or get an undamaged copy",
    );
    let frames = raws(&SMALL.bytes);
    let doubled: Vec<u8> =
        [&frames[0], &frames[0], &end_mark(&frames[..1])].into_iter().flat_map(Raw::bytes).collect();
    text(read(&doubled).unwrap_err(), "frames are missing, repeated or out of order");
    text(
        read_with(SMALL.bytes.as_slice(), |_| 5).unwrap_err(),
        &format!("a set of ckks parameters of {} bytes, where 5 are possible", SMALL.frames[0].body.len()),
    );
    let mut body = ZOO.frames[CIPHERTEXT].body.to_vec();
    body[2] = 9;
    let error = ZOO.recode(&ZOO.with_body(CIPHERTEXT, &body)).unwrap_err();
    assert_eq!(error.to_string(), "a ckks ciphertext holds an impossible number of slots");
    let mut body = ZOO.frames[CIPHERTEXT].body.to_vec();
    body[15..20].fill(0xff);
    body[20] |= 0x3f;
    let error = ZOO.recode(&ZOO.with_body(CIPHERTEXT, &body)).unwrap_err();
    assert_eq!(error.to_string(), "limb 0 of a ckks ciphertext holds a number that is not below its prime");
    let Err(error) = zoo_header(2, 9) else { panic!() };
    assert_eq!(error.to_string(), "a ckks ciphertext holds an impossible number of slots");
    // A frame shows its kind, never its bytes.
    let shown = format!("{:?}", ZOO.frames[SECRET]);
    assert_eq!(shown, format!("Frame {{ secret key, {}, 8 bytes }}", ZOO.world.params.fingerprint()));
}
