//! Every object is read back as it was written.

use super::*;

#[test]
fn every_object_comes_back() {
    for_seeds(1, |rng| {
        for (name, params) in shapes() {
            let w = World::new(&params, [1, -2], rng);
            let mut frames = vec![
                params.to_frame(),
                w.secret.to_frame(&params).unwrap(),
                w.public.to_frame(&params).unwrap(),
            ];
            frames.extend(w.keys.to_frames(&params).map(Result::unwrap));
            for frame in &frames {
                // Fixed lengths, exactly those that are allowed.
                if frame.kind == FrameKind::CkksParams {
                    assert!(frame.body.len() as u64 <= wire::first_frame_limit(frame.kind));
                } else {
                    assert_eq!(frame.body.len() as u64, params.key_frame_limit(frame.kind), "{name}");
                    assert_eq!(wire::first_frame_limit(frame.kind), 0);
                }
            }
            let secret_encryptor = SecretEncryptor::new(&params, &w.secret, &w.ring).unwrap();
            for level in 0..=w.top() {
                for (batch, slots) in [(1, params.slots()), (3, params.slots()), (2, 1)] {
                    let sample = w.random(batch, slots, level, rng);
                    let seeded = secret_encryptor.encrypt(&w.encode(&sample.values, level), rng).unwrap();
                    let first = sample.ct.to_frame(&params).unwrap();
                    let second = seeded.to_frame(&params).unwrap();
                    let limit = params.ciphertext_frame_limit(batch);
                    assert!(first.body.len() as u64 <= limit && second.body.len() as u64 <= limit, "{name}");
                    if level == w.top() && batch > 1 {
                        assert!(first.body.len() as u64 > params.ciphertext_frame_limit(batch - 1));
                    }
                    let read = Ciphertext::from_frame(&params, &w.ring, &first).unwrap();
                    assert_eq!(words(&read), words(&sample.ct), "{name}, level {level}");
                    w.check(name, &Sample { ct: read, ..sample.duplicate() }, level);
                    let read = SeededCiphertext::from_frame(&params, &w.ring, &second).unwrap();
                    assert_eq!(words(&read.expand().unwrap()), words(&seeded.expand().unwrap()), "{name}");
                    frames.extend([first, second]);
                }
            }
            let bytes = write(&frames, params.fingerprint());
            let back = read(&bytes).unwrap();
            assert_eq!(back.len(), frames.len());
            for (frame, back) in frames.iter().zip(&back) {
                assert!(
                    equal(frame, back) && equal(frame, &recode(&params, &w.ring, back).unwrap()),
                    "{name}"
                );
            }
            // The keys that were read compute the same.
            let secret = SecretKey::from_frame(&params, (), &back[1]).unwrap();
            assert_eq!(secret.expose_coefficients(), w.secret.expose_coefficients());
            let public = PublicKey::from_frame(&params, &w.ring, &back[2]).unwrap();
            let mut keys = EvaluationKeys::empty(params.rlwe(), &w.ring).unwrap();
            for frame in back[3..].iter().take(1 + w.keys.galois_keys().count()) {
                keys.insert_frame(&params, frame).unwrap();
            }
            let values = random_values(rng, 1, params.slots());
            let same: Vec<_> = [&public, &w.public]
                .into_iter()
                .map(|key| {
                    let encryptor = he::ckks::Encryptor::new(&params, key).unwrap();
                    encryptor
                        .encrypt(&w.encode(&values, w.top()), &mut super::super::common::rng(41))
                        .unwrap()
                })
                .collect();
            assert_eq!(words(&same[0]), words(&same[1]));
            let ct = &same[0];
            assert_eq!(words(&w.ev.mul(ct, ct, &keys).unwrap()), words(&w.ev.mul(ct, ct, &w.keys).unwrap()));
            assert_eq!(
                words(&w.ev.rotate(ct, 1, &keys).unwrap()),
                words(&w.ev.rotate(ct, 1, &w.keys).unwrap())
            );
            assert_eq!(
                words(&w.ev.conjugate(ct, &keys).unwrap()),
                words(&w.ev.conjugate(ct, &w.keys).unwrap())
            );
        }
    });
}

/// A scale set by hand, any positive number that fits, comes back to the bit.
#[test]
fn scales_come_back_to_the_bit() {
    let (w, rng) = (&ZOO.world, &mut rng(42));
    for scale in [
        1.0,
        1e-9,
        std::f64::consts::PI * 1e7,
        w.scale(2) * w.scale(2),
        f64::from_bits(w.scale(2).to_bits() + 1),
    ] {
        let mut ct = w.random(1, 4, 2, rng).ct;
        ct.set_scale(scale);
        let frame = ct.to_frame(&w.params).unwrap();
        let back = Ciphertext::from_frame(&w.params, &w.ring, &frame).unwrap();
        assert_eq!((back.scale().to_bits(), back.slots(), back.level()), (scale.to_bits(), 4, 2));
    }
}

#[test]
fn parameters_of_all_kinds_come_back() {
    let secure = [
        presets::ckks_n12_d1(),
        presets::ckks_n13_d3(),
        presets::ckks_n16_d28(),
        CkksParams::for_depth(3).build(),
    ];
    for params in secure.map(|params| params.unwrap()) {
        let frame = params.to_frame();
        assert_eq!(CkksParams::from_frame(&frame).unwrap(), params);
        assert_eq!(CkksParams::from_frame(&frame).unwrap().spec(), params.spec());
        assert_eq!(CkksParams::from_frame_insecure(&frame).unwrap(), params);
    }
    let largest = CkksSpec::from_bits(2, &[60; 64], &[61; 64], 60.0).unwrap();
    let mut insecure: Vec<CkksParams> = shapes().into_iter().map(|(_, params)| params).collect();
    insecure.push(CkksParams::insecure(largest.with_levels((2..=64).collect(), 60.0)).unwrap());
    insecure.push(CkksParams::insecure(CkksSpec::from_bits(3, &[45, 36], &[], 36.0).unwrap()).unwrap());
    for params in insecure {
        let frame = params.to_frame();
        assert!(frame.body.len() as u64 <= wire::first_frame_limit(FrameKind::CkksParams));
        assert_eq!(CkksParams::from_frame_insecure(&frame).unwrap().spec(), params.spec());
        let refused = CkksParams::from_frame(&frame);
        assert!(matches!(refused, Err(Error::InvalidParams(he::params::ParamsError::Insecure { .. }))));
    }
}

/// Readers that return one byte at a time or are interrupted, and writers and readers that fail.
#[test]
fn slow_and_failing_streams() {
    struct Slow<'a>(&'a [u8], bool);
    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }
    let frames = read_with(Slow(&SMALL.bytes, false), |_| 1 << 20).unwrap();
    assert!(frames.iter().zip(&SMALL.frames).all(|(a, b)| equal(a, b)));

    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.0);
            if count == 0 {
                return Err(io::Error::other("the disk is gone"));
            }
            buffer[..count].copy_from_slice(&SMALL.bytes[SMALL.bytes.len() - self.0..][..count]);
            self.0 -= count;
            Ok(count)
        }
    }
    impl Write for Broken {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.0);
            self.0 -= count;
            if count == 0 { Err(io::Error::other("the disk is full")) } else { Ok(count) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("the disk is full"))
        }
    }
    let error = read_with(Broken(0), |_| 1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
    let all = SMALL.bytes.len();
    for space in (0..all).step_by(97).chain([all]) {
        let mut writer = FrameWriter::new(Broken(space));
        let result = SMALL.frames.iter().try_for_each(|frame| writer.write(frame).map(drop));
        let result = result.and_then(|()| writer.finish(SMALL.world.params.fingerprint()).map(drop));
        assert_eq!(result.unwrap_err().to_string(), "the disk is full", "{space} bytes");
    }
}

/// The places of all frames, without their bodies.
fn places(bytes: &[u8]) -> Result<Vec<FramePlace>, WireError> {
    let mut reader = FrameReader::new(io::Cursor::new(bytes));
    std::iter::from_fn(|| reader.skip_frame(|_, _| 1 << 20).transpose()).collect()
}

/// Frames can be read one by one from their places, in any order; sequences that cannot be read
/// have no places, and what changed since is not read.
#[test]
fn frames_are_found_without_their_bodies() {
    let Zoo { frames, bytes, .. } = Zoo::new(3);
    let found = places(&bytes).unwrap();
    assert_eq!(found.len(), frames.len());
    for (place, frame) in found.iter().zip(&frames).rev() {
        assert_eq!(place.bytes, Frame::size(frame.body.len() as u64));
        let read = place.read(io::Cursor::new(&bytes)).unwrap();
        assert_eq!((read.kind, read.fingerprint, &read.body), (frame.kind, frame.fingerprint, &frame.body));
        let start = place.start as usize;
        for at in [start, start + 40, start + HEADER, start + place.bytes as usize - 1] {
            let mut broken = bytes.clone();
            broken[at] ^= 1;
            assert!(place.read(io::Cursor::new(&broken)).is_err(), "byte {at}");
            let is_body = at == start + HEADER && frame.body.len() > 1;
            assert_eq!(places(&broken).is_ok(), is_body, "byte {at}");
        }
    }
    // Another frame of the same length, with a checksum of its own.
    let mut other = raws(&bytes);
    other[0].body()[0] ^= 1;
    assert!(found[0].read(io::Cursor::new(other[0].bytes())).is_err());
    for length in [0, 3, HEADER, bytes.len() - 1] {
        assert!(places(&bytes[..length]).is_err(), "{length} bytes");
    }
    let mut swapped = raws(&bytes);
    swapped.swap(0, 1);
    let swapped: Vec<u8> = swapped.iter().flat_map(Raw::bytes).collect();
    assert!(matches!(
        places(&[&swapped[..], &end_mark(&raws(&bytes)).bytes()].concat()),
        Err(WireError::Sequence)
    ));
    assert!(matches!(places(&[&bytes[..], b"x"].concat()), Err(WireError::Trailing)));
}
