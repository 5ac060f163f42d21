//! Objects that are written are read back, and nothing else is.

use super::common::*;
use he::backend::Cpu;
use he::bigckks;
use he::bigckks::{BigCkksParams, BigCkksSpec, Decryptor, EvaluationKeys, SecretDistribution};
use he::wire::{
    self, Frame, FrameKind, FrameReader, FrameWriter, SwitchKeyUse, Wire, WireError, WireKeys, WireParams,
};
use he::{Error, Result};
use rand::RngExt;

fn world() -> World {
    World::new(BigCkksSpec::new(4, 100, 30).with_digits(3), &mut rng(1))
}

/// One frame of each kind, in the order of their numbers.
fn frames(w: &World) -> Vec<Frame> {
    let x = w.encrypt(&random_values(&mut rng(2), 2, 8), &mut rng(3));
    // Galois keys follow the relinearisation key.
    let galois = w.keys.to_frames(&w.params).nth(1).unwrap().unwrap();
    vec![
        w.params.to_frame(),
        w.secret.to_frame(&w.params).unwrap(),
        w.public.to_frame(&w.params).unwrap(),
        galois,
        w.ev.drop_to_bits(&x, 71).unwrap().to_frame(&w.params).unwrap(),
    ]
}

/// Decodes a frame by its kind; true if it is an object.
fn decode(w: &World, frame: &Frame) -> Result<()> {
    match frame.kind {
        FrameKind::BigCkksParams => BigCkksParams::from_frame_insecure(frame).map(drop),
        FrameKind::BigCkksSecretKey => bigckks::SecretKey::from_frame(&w.params, (), frame).map(drop),
        FrameKind::BigCkksPublicKey => bigckks::PublicKey::from_frame(&w.params, &w.ring, frame).map(drop),
        FrameKind::BigCkksSwitchKey => {
            EvaluationKeys::empty(&w.params, &w.ring).unwrap().insert_frame(&w.params, frame).map(drop)
        }
        _ => bigckks::Ciphertext::from_frame(&w.params, &w.ring, frame).map(drop),
    }
}

#[test]
fn objects_come_back() {
    for spec in [
        BigCkksSpec::new(4, 100, 30).with_digits(3),
        BigCkksSpec::new(2, 64, 20).with_digits(1),
        BigCkksSpec::new(3, 33, 9).with_secret(SecretDistribution::Sparse { weight: 3 }),
        BigCkksSpec::new(9, 438, 40),
    ] {
        let w = World::new(spec, &mut rng(7));
        let params = BigCkksParams::from_frame_insecure(&w.params.to_frame()).unwrap();
        assert_eq!((&params, params.spec()), (&w.params, spec));
        assert!(matches!(BigCkksParams::from_frame(&w.params.to_frame()), Err(Error::InvalidParams(_))));
        let secret = w.secret.to_frame(&w.params).unwrap();
        let secret = bigckks::SecretKey::from_frame(&w.params, (), &secret).unwrap();
        assert_eq!(secret.expose_coefficients(), w.secret.expose_coefficients());
        let public = w.public.to_frame(&w.params).unwrap();
        let public = bigckks::PublicKey::from_frame(&w.params, &w.ring, &public).unwrap();
        let mut keys = EvaluationKeys::empty(&w.params, &w.ring).unwrap();
        let elements = w.keys.galois_keys().map(|(g, _)| SwitchKeyUse::Galois(g));
        let uses: Vec<_> = std::iter::once(SwitchKeyUse::Relin).chain(elements).collect();
        let frames: Vec<_> = w.keys.to_frames(&w.params).map(Result::unwrap).collect();
        assert_eq!(frames.len(), uses.len());
        for (frame, purpose) in frames.iter().zip(uses) {
            assert_eq!(frame.body.len() as u64, w.params.key_frame_limit(frame.kind));
            assert_eq!(keys.insert_frame(&w.params, frame).unwrap(), purpose);
        }
        // Objects that are read from a file compute the same as the originals.
        let original = World { keys, public, secret, ..World::new(spec, &mut rng(7)) };
        let values = random_values(&mut rng(8), 3, w.params.slots());
        let x = w.encrypt(&values, &mut rng(9));
        let frame = x.to_frame(&w.params).unwrap();
        assert_eq!(frame.body.len() as u64, w.params.ciphertext_frame_limit(3));
        let y = bigckks::Ciphertext::from_frame(&w.params, &w.ring, &frame).unwrap();
        assert_eq!(
            (y.log_q(), y.scale_log2(), y.slots(), y.batch()),
            (x.log_q(), x.scale_log2(), x.slots(), 3)
        );
        let words = |ct: &bigckks::Ciphertext<Cpu>| ct.parts().map(|part| part.to_words().unwrap());
        assert_eq!(words(&x), words(&y));
        // The keys that were read lie in the ring of `w`.
        let turned = [&original.keys, &w.keys].map(|keys| words(&w.ev.rotate(&y, 1, keys).unwrap()));
        assert_eq!(turned[0], turned[1]);
        let product = [&original.keys, &w.keys].map(|keys| words(&w.ev.mul(&y, &x, keys).unwrap()));
        assert_eq!(product[0], product[1]);
        let decryptor = Decryptor::new(&w.params, &original.secret, &w.ring).unwrap();
        assert_eq!(integers(decryptor.decrypt(&y).unwrap().poly()), w.message(&x));
        let zero = |key| {
            words(
                &bigckks::Encryptor::new(&w.params, key)
                    .unwrap()
                    .encrypt(&decryptor.decrypt(&x).unwrap(), &mut rng(4))
                    .unwrap(),
            )
        };
        assert_eq!(zero(&original.public), zero(&w.public));
    }
}

#[test]
fn files_of_frames() {
    let w = world();
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames(&w) {
        writer.write(&frame).unwrap();
    }
    let bytes = writer.finish(w.params.fingerprint()).unwrap();
    let limit = |kind, _| match kind {
        FrameKind::BigCkksCiphertext => w.params.ciphertext_frame_limit(2),
        kind => w.params.key_frame_limit(kind).max(wire::first_frame_limit(kind)),
    };
    let mut reader = FrameReader::new(&bytes[..]);
    let mut kinds = Vec::new();
    while let Some(frame) = reader.next_frame(limit).unwrap() {
        decode(&w, &frame).unwrap();
        kinds.push(frame.kind as u16);
    }
    assert_eq!(kinds, [20, 21, 22, 23, 24]);
    let first =
        FrameReader::new(&bytes[..]).next_frame(|kind, _| wire::first_frame_limit(kind)).unwrap().unwrap();
    assert_eq!(BigCkksParams::from_frame_insecure(&first).unwrap(), w.params);
    // These are the bytes of the first version of these kinds: a change to them needs another
    // version.
    let hash = blake3::hash(&bytes).to_hex();
    assert_eq!(&hash[..32], "17d2233d77dc706ae496259fd0972ada");
}

/// Every bit of every body: an error or another object, never a panic; and bodies of every other
/// length.
#[test]
fn broken_bodies() {
    let w = world();
    for frame in frames(&w) {
        let count = frame.body.len();
        let (mut accepted, mut refused) = (0, 0);
        for bit in 0..8 * count.min(60) {
            let mut body = frame.body.clone();
            body[bit / 8] ^= 1 << (bit % 8);
            match decode(&w, &Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }) {
                Ok(()) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
        match frame.kind {
            // A fingerprint covers every field.
            FrameKind::BigCkksParams => assert_eq!(accepted, 0),
            FrameKind::BigCkksSecretKey => assert!(refused > 0 && accepted > 0),
            // Seeds and numbers are all valid.
            FrameKind::BigCkksPublicKey => assert_eq!(refused, 0),
            _ => assert!(refused >= 4),
        }
        for length in (0..count).step_by(7).chain([count - 1, count + 1, count + 8, 2 * count]) {
            let mut body = frame.body.clone();
            body.resize(length, 0);
            let error = decode(&w, &Frame { kind: frame.kind, fingerprint: frame.fingerprint, body });
            assert!(matches!(error, Err(Error::Wire(_))), "{} of {length} bytes: {error:?}", frame.kind);
        }
    }
}

#[test]
fn impossible_fields() {
    let w = world();
    let all = frames(&w);
    let with = |frame: &Frame, at: usize, bytes: &[u8]| {
        let mut body = frame.body.clone();
        body[at..at + bytes.len()].copy_from_slice(bytes);
        Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
    };
    for (frame, at, bytes, field) in [
        (&all[4], 0, &0u16.to_le_bytes()[..], "modulus"),
        (&all[4], 0, &101u16.to_le_bytes(), "modulus"),
        (&all[4], 2, &[4], "number of slots"),
        (&all[4], 2, &[255], "number of slots"),
        (&all[4], 3, &[0; 4], "batch"),
        (&all[3], 0, &[4], "galois element"),
        (&all[3], 0, &[33], "galois element"),
        (&all[3], 0, &[255; 8], "galois element"),
        (&all[1], 0, &[3], "coefficient"),
    ] {
        let error = decode(&w, &with(frame, at, bytes));
        assert!(
            matches!(&error, Err(Error::Wire(WireError::Field { field: found, .. })) if *found == field),
            "{field}: {error:?}"
        );
    }
    // Nothing is allocated for four thousand million entries in a short body.
    let error = decode(&w, &with(&all[4], 3, &[255; 4]));
    assert!(matches!(error, Err(Error::Wire(WireError::Length { .. }))), "{error:?}");
    let error = decode(&w, &with(&all[4], 7, &71u16.to_le_bytes()));
    assert!(matches!(error, Err(Error::ScaleRange { .. })), "{error:?}");
    // Frames of other parameters and other kinds.
    let other = BigCkksParams::insecure(BigCkksSpec::new(4, 100, 31).with_digits(3)).unwrap();
    for frame in &all[1..] {
        let foreign = Frame { kind: frame.kind, fingerprint: other.fingerprint(), body: frame.body.clone() };
        assert!(matches!(decode(&w, &foreign), Err(Error::Wire(WireError::WrongParams { .. }))));
        assert!(matches!(
            BigCkksParams::from_frame(frame),
            Err(Error::Wire(WireError::UnexpectedKind { .. }))
        ));
    }
    let elsewhere = he::ring::Ring::new(Cpu::new(), other.ring().clone()).unwrap();
    assert_eq!(elsewhere.spec(), w.ring.spec(), "the scale does not concern the ring");
    let larger = BigCkksParams::insecure(BigCkksSpec::new(5, 100, 30)).unwrap();
    let larger = he::ring::Ring::new(Cpu::new(), larger.ring().clone()).unwrap();
    assert!(matches!(bigckks::Ciphertext::from_frame(&w.params, &larger, &all[4]), Err(Error::RingMismatch)));
    assert!(matches!(bigckks::PublicKey::from_frame(&w.params, &larger, &all[2]), Err(Error::RingMismatch)));
    assert!(matches!(EvaluationKeys::empty(&w.params, &larger), Err(Error::RingMismatch)));
}

/// Random bodies under a valid header.
#[test]
fn random_bodies() {
    let w = world();
    let kinds = frames(&w).iter().map(|frame| (frame.kind, frame.body.len())).collect::<Vec<_>>();
    for_seeds(1, |seed| {
        let rng = &mut rng(seed);
        for (kind, length) in &kinds {
            for _ in 0..300 {
                let count = if rng.random() { *length } else { rng.random_range(0..2 * length) };
                let body = (0..count).map(|_| rng.random()).collect();
                // Whatever it is: no panic.
                let _ = decode(&w, &Frame { kind: *kind, fingerprint: w.params.fingerprint(), body });
            }
        }
    });
}
