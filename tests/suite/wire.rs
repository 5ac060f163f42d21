//! The wire format: what is written is read back, and nothing else is. Hostile bytes give an error,
//! never a panic or a wrong object.

use super::common::*;
use he::arith::Modulus;
use he::backend::Cpu;
use he::ckks::SeededCiphertext;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, SecretEncryptor, presets};
use he::ring::Ring;
use he::rlwe::Fingerprint;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he::wire::{self, Frame, FrameKind, FrameReader, FrameWriter, WireError};
use he::wire::{Wire, WireKeys, WireParams};
use he::{Error, Result};
use proptest::prelude::*;
use rand::{RngExt, rngs::ChaCha20Rng};
use std::io::{self, Read, Write};
use std::sync::LazyLock;

const HEADER: usize = 48;
const CHECKSUM: usize = 32;

// --- helpers --------------------------------------------------------------------------------

fn write(frames: &[Frame], fingerprint: Fingerprint) -> Vec<u8> {
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames {
        let before = Frame::size(frame.body.len() as u64);
        assert_eq!(writer.write(frame).unwrap(), before);
    }
    writer.finish(fingerprint).unwrap()
}

fn read_with(bytes: impl Read, limit: impl Fn(FrameKind) -> u64) -> Result<Vec<Frame>, WireError> {
    let mut reader = FrameReader::new(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame(|kind, _| limit(kind))? {
        frames.push(frame);
    }
    // The end stays the end.
    assert!(reader.next_frame(|_, _| u64::MAX).unwrap().is_none());
    Ok(frames)
}

fn read(bytes: &[u8]) -> Result<Vec<Frame>, WireError> {
    read_with(bytes, |_| 1 << 20)
}

/// A frame as its bytes, for breaking: everything but the checksum, which is always right.
#[derive(Clone)]
struct Raw(Vec<u8>);

impl Raw {
    fn body(&mut self) -> &mut [u8] {
        &mut self.0[HEADER..]
    }

    fn kind(&mut self, kind: u16) -> &mut Self {
        self.0[6..8].copy_from_slice(&kind.to_le_bytes());
        self
    }

    /// Another body, the length in the header with it.
    fn set_body(&mut self, body: &[u8]) -> &mut Self {
        self.0.truncate(HEADER);
        self.0.extend(body);
        self.0[40..48].copy_from_slice(&(body.len() as u64).to_le_bytes());
        self
    }

    fn checksum(&self) -> [u8; CHECKSUM] {
        *blake3::hash(&self.0).as_bytes()
    }

    fn bytes(&self) -> Vec<u8> {
        [&self.0[..], &self.checksum()].concat()
    }
}

/// The frames of a file, without the end mark.
fn raws(bytes: &[u8]) -> Vec<Raw> {
    let (mut at, mut frames) = (0, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 40..at + 48].try_into().unwrap()) as usize;
        let end = at + HEADER + length;
        frames.push(Raw(bytes[at..end].to_vec()));
        at = end + CHECKSUM;
    }
    frames.pop();
    frames
}

fn end_mark(frames: &[Raw]) -> Raw {
    let mut chain = blake3::Hasher::new();
    frames.iter().for_each(|frame| {
        chain.update(&frame.checksum());
    });
    let mut mark = Raw(frames.first().map_or(vec![0; HEADER], |frame| frame.0[..HEADER].to_vec()));
    mark.0[..6].copy_from_slice(b"HEWF\x01\x00");
    let body = [&(frames.len() as u64).to_le_bytes()[..], chain.finalize().as_bytes()].concat();
    mark.kind(9).set_body(&body);
    mark
}

/// Frames with right checksums and a right end mark.
fn seal(frames: &[Raw]) -> Vec<u8> {
    frames.iter().chain([&end_mark(frames)]).flat_map(Raw::bytes).collect()
}

/// One set of parameters with one of each object.
struct Zoo {
    world: World,
    frames: Vec<Frame>,
    bytes: Vec<u8>,
}

impl Zoo {
    fn new(log_n: u32) -> Self {
        let rng = &mut rng(40);
        // Widths of 45, 36 and 37 bits: rows of N = 4 end within a byte.
        let spec = chain(log_n, &[45.0, 35.9, 36.1], &[46], &[1, 2, 3], 36.0);
        let world = World::new(&CkksParams::insecure(spec).unwrap(), [1], rng);
        let params = &world.params;
        let slots = params.slots();
        let plain = world.encode(&random_values(rng, 2, slots), 2);
        let ct = world.encrypt_plain(&plain, rng);
        let low = world.random(1, 1, 0, rng).ct;
        let seeded =
            SecretEncryptor::new(params, &world.secret, &world.ring).unwrap().encrypt(&plain, rng).unwrap();
        let mut keys = world.keys.to_frames(params);
        let frames = vec![
            params.to_frame(),
            world.secret.to_frame(params).unwrap(),
            world.public.to_frame(params).unwrap(),
            keys.next().unwrap().unwrap(),
            keys.next().unwrap().unwrap(),
            ct.to_frame(params).unwrap(),
            low.to_frame(params).unwrap(),
            seeded.to_frame(params).unwrap(),
            Frame::attachment(params.fingerprint(), b"a note of the application".to_vec()).unwrap(),
        ];
        let bytes = write(&frames, params.fingerprint());
        drop(keys);
        Self { world, frames, bytes }
    }

    /// Decodes a frame by its kind and encodes the object again.
    fn recode(&self, frame: &Frame) -> Result<Frame> {
        recode(&self.world.params, &self.world.ring, frame)
    }

    /// A frame of another body, right in everything else.
    fn with_body(&self, index: usize, body: &[u8]) -> Frame {
        let mut raw = raws(&self.bytes)[index].clone();
        raw.set_body(body);
        read(&seal(&[raw])).unwrap().remove(0)
    }
}

fn recode(params: &CkksParams, ring: &Ring<Cpu>, frame: &Frame) -> Result<Frame> {
    match frame.kind {
        FrameKind::CkksParams => Ok(CkksParams::from_frame_insecure(frame)?.to_frame()),
        FrameKind::SecretKey => SecretKey::from_frame(params, (), frame)?.to_frame(params),
        FrameKind::PublicKey => PublicKey::from_frame(params, ring, frame)?.to_frame(params),
        FrameKind::RelinKey | FrameKind::GaloisKey => {
            let mut keys = EvaluationKeys::empty(params.rlwe(), ring)?;
            keys.insert_frame(params, frame)?;
            let mut frames = keys.to_frames(params);
            frames.next().unwrap()
        }
        FrameKind::CkksCiphertext => Ciphertext::from_frame(params, ring, frame)?.to_frame(params),
        FrameKind::CkksSeededCiphertext => {
            SeededCiphertext::from_frame(params, ring, frame)?.to_frame(params)
        }
        _ => Ok(Frame::attachment(frame.fingerprint, frame.body.to_vec())?),
    }
}

/// N = 4: the file is short enough for every length and every byte.
static SMALL: LazyLock<Zoo> = LazyLock::new(|| Zoo::new(2));
/// N = 32, no row ends within a byte.
static ZOO: LazyLock<Zoo> = LazyLock::new(|| Zoo::new(5));

fn equal(a: &Frame, b: &Frame) -> bool {
    a.kind == b.kind && a.fingerprint == b.fingerprint && a.body == b.body
}

// --- round trips ----------------------------------------------------------------------------

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
                    encryptor.encrypt(&w.encode(&values, w.top()), &mut super::common::rng(41)).unwrap()
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

// --- hostile files --------------------------------------------------------------------------

#[test]
fn a_file_cut_anywhere_is_truncated() {
    for zoo in [&*SMALL, &*ZOO] {
        assert_eq!(read(&zoo.bytes).unwrap().len(), zoo.frames.len());
        for length in 0..zoo.bytes.len() {
            let result = read(&zoo.bytes[..length]);
            assert!(matches!(result, Err(WireError::Truncated)), "{length}: {result:?}");
        }
    }
}

#[test]
fn a_changed_byte_is_found() {
    let zoo = &*SMALL;
    for at in 0..zoo.bytes.len() {
        for change in [0x01, 0x80, 0xff, zoo.bytes[at]] {
            let mut bytes = zoo.bytes.clone();
            bytes[at] ^= change;
            if bytes == zoo.bytes {
                continue;
            }
            let result = read(&bytes);
            assert!(result.is_err(), "byte {at} ^ {change:#x} went unnoticed");
        }
    }
}

#[test]
fn inserted_and_deleted_bytes_are_found() {
    let zoo = &*SMALL;
    for at in 0..=zoo.bytes.len() {
        let mut longer = zoo.bytes.clone();
        longer.insert(at, 0);
        let result = read(&longer);
        assert!(result.is_err(), "inserted at {at}");
        if at < zoo.bytes.len() {
            let mut shorter = zoo.bytes.clone();
            shorter.remove(at);
            assert!(read(&shorter).is_err(), "deleted at {at}");
        }
    }
    for tail in [&b"\0"[..], b"HEWF", b"anything", &zoo.bytes] {
        let bytes = [&zoo.bytes, tail].concat();
        assert!(matches!(read(&bytes), Err(WireError::Trailing)));
    }
}

#[test]
fn other_formats_are_no_homomorphic_files() {
    for bytes in [
        &b"\x89PNG\r\n\x1a\n"[..],
        b"PK\x03\x04",
        b"hewf",
        b"x",
        b"HX",
        b"HEWX and more than a header of other bytes, so that nothing is missing here",
        b"-----BEGIN PRIVATE KEY-----",
    ] {
        assert!(matches!(read(bytes), Err(WireError::NotThisFormat)), "{bytes:?}");
    }
    for bytes in [&b""[..], b"H", b"HEW", b"HEWF", b"HEWF\x01\x00"] {
        assert!(matches!(read(bytes), Err(WireError::Truncated)), "{bytes:?}");
    }
}

#[test]
fn frames_may_not_be_moved() {
    let frames = raws(&SMALL.bytes);
    assert_eq!(seal(&frames), SMALL.bytes, "the helper writes what the library writes");
    let mark = end_mark(&frames).bytes();
    let join = |frames: &[Raw]| [frames.iter().flat_map(Raw::bytes).collect(), mark.clone()].concat();
    for i in 0..frames.len() {
        let mut missing = frames.clone();
        missing.remove(i);
        let mut repeated = frames.clone();
        repeated.insert(i, frames[i].clone());
        let mut orders = vec![missing, repeated];
        for j in 0..i {
            let mut swapped = frames.clone();
            swapped.swap(i, j);
            orders.push(swapped);
        }
        for order in orders {
            assert!(matches!(read(&join(&order)), Err(WireError::Sequence)));
            // With an end mark of its own it is a file like any other: it says nothing about what
            // was left out.
            assert_eq!(read(&seal(&order)).unwrap().len(), order.len());
        }
    }
    // No frames, and no end mark.
    assert!(matches!(read(&mark), Err(WireError::Sequence)));
    assert!(read(&seal(&[])).unwrap().is_empty());
    let unfinished: Vec<u8> = frames.iter().flat_map(Raw::bytes).collect();
    assert!(matches!(read(&unfinished), Err(WireError::Truncated)));
    // An end mark with another count, another hash, another length.
    let good = end_mark(&frames);
    for at in 0..40 {
        let mut bad = good.clone();
        bad.body()[at] ^= 1;
        let bytes: Vec<u8> = frames.iter().chain([&bad]).flat_map(Raw::bytes).collect();
        assert!(matches!(read(&bytes), Err(WireError::Sequence)), "byte {at}");
    }
    for length in [0, 8, 39, 41, 1000] {
        let mut bad = good.clone();
        let body: Vec<u8> = good.0[HEADER..].iter().copied().chain([0; 1000]).take(length).collect();
        bad.set_body(&body);
        let bytes: Vec<u8> = frames.iter().chain([&bad]).flat_map(Raw::bytes).collect();
        match read(&bytes) {
            Err(WireError::Sequence) => assert!(length < 40),
            Err(WireError::Length { kind: FrameKind::End, found, expected: 40 }) => {
                assert!(length > 40 && found == length as u64);
            }
            other => panic!("{length}: {other:?}"),
        }
    }
    // Two files are not one file.
    let twice = [&SMALL.bytes[..], &SMALL.bytes].concat();
    assert!(matches!(read(&twice), Err(WireError::Trailing)));
}

#[test]
fn every_header_field_with_extreme_values() {
    for frame in raws(&SMALL.bytes) {
        let with = |change: &dyn Fn(&mut Raw)| {
            let mut frame = frame.clone();
            change(&mut frame);
            read(&seal(&[frame]))
        };
        for version in [0, 2, 3, 255, 256, 0x8000, u16::MAX] {
            let result = with(&|f| f.0[4..6].copy_from_slice(&version.to_le_bytes()));
            let Err(error @ WireError::UnsupportedVersion { found, supported: 1 }) = result else { panic!() };
            assert_eq!(found, version);
            assert!(error.to_string().contains(&format!("version {version} ")), "{error}");
        }
        for kind in 0..=u16::MAX {
            let change = |f: &mut Raw| {
                f.kind(kind);
            };
            match with(&change) {
                Ok(frames) => {
                    assert!(matches!(kind, 1..=8 | 10..=16 | 20..=34) && frames[0].kind as u16 == kind);
                }
                Err(WireError::UnknownKind { found }) => {
                    assert!(found == kind && !matches!(kind, 1..=16 | 20..=34));
                }
                Err(WireError::Sequence | WireError::Length { kind: FrameKind::End, .. }) => {
                    assert_eq!(kind, 9)
                }
                other => panic!("{kind}: {other:?}"),
            }
        }
        let kind = read(&seal(std::slice::from_ref(&frame))).unwrap()[0].kind;
        let length = (frame.0.len() - HEADER) as u64;
        let near = [0, 1, length - 1, length + 1, length + 32].into_iter().filter(|&claim| claim != length);
        for claim in near.chain([1 << 19, (1 << 20) + 1, 1 << 40, 1 << 63, u64::MAX]) {
            match with(&|f| f.0[40..48].copy_from_slice(&claim.to_le_bytes())) {
                Err(WireError::Length { kind: found_kind, found, expected }) => {
                    assert_eq!((found_kind, found, expected), (kind, claim, 1 << 20));
                    assert!(claim > 1 << 20);
                }
                Err(WireError::Truncated) => assert!(claim > length && claim <= 1 << 20),
                Err(WireError::Checksum { kind: found }) => assert!(found == kind && claim <= 1 << 20),
                other => panic!("{claim}: {other:?}"),
            }
        }
        // Exactly the limit passes, one less does not.
        let bytes = seal(std::slice::from_ref(&frame));
        assert!(read_with(bytes.as_slice(), |_| length).is_ok());
        let result = read_with(bytes.as_slice(), |_| length - 1);
        let Err(WireError::Length { found, expected, .. }) = result else { panic!() };
        assert_eq!((found, expected), (length, length - 1));
        for at in 0..4 {
            assert!(matches!(with(&|f| f.0[at] ^= 0x20), Err(WireError::NotThisFormat)));
        }
    }
}

#[test]
fn wrong_kinds_and_wrong_parameters_are_named() {
    let zoo = &*SMALL;
    let (params, ring) = (&zoo.world.params, &zoo.world.ring);
    type Decode<'a> = &'a dyn Fn(&Frame) -> Result<()>;
    let keys = || EvaluationKeys::empty(params.rlwe(), ring).unwrap();
    let decoders: [(FrameKind, Decode<'_>); 6] = [
        (FrameKind::CkksParams, &|f| CkksParams::from_frame_insecure(f).map(drop)),
        (FrameKind::SecretKey, &|f| SecretKey::from_frame(params, (), f).map(drop)),
        (FrameKind::PublicKey, &|f| PublicKey::from_frame(params, ring, f).map(drop)),
        (FrameKind::GaloisKey, &|f| keys().insert_frame(params, f).map(drop)),
        (FrameKind::CkksCiphertext, &|f| Ciphertext::from_frame(params, ring, f).map(drop)),
        (FrameKind::CkksSeededCiphertext, &|f| SeededCiphertext::from_frame(params, ring, f).map(drop)),
    ];
    for frame in &zoo.frames {
        for (kind, decode) in decoders {
            match decode(frame) {
                // Evaluation keys are read by one method.
                Ok(()) => assert!(kind == frame.kind || frame.kind == FrameKind::RelinKey),
                Err(Error::Wire(error @ WireError::UnexpectedKind { found, expected })) => {
                    assert_eq!((found, expected), (frame.kind, kind));
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
    for frame in &zoo.frames[2..8] {
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

// --- hostile bodies with right checksums ----------------------------------------------------

const PARAMS: usize = 0;
const SECRET: usize = 1;
const PUBLIC: usize = 2;
const GALOIS: usize = 4;
const CIPHERTEXT: usize = 5;
const SEEDED: usize = 7;

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
        for (index, frame) in zoo.frames.iter().enumerate().take(8) {
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

/// Sets bits `at .. at + count` of a little-endian bit string.
fn set_bits(bytes: &mut [u8], at: usize, count: usize, value: u64) {
    for i in 0..count {
        let (byte, bit) = ((at + i) / 8, (at + i) % 8);
        bytes[byte] = bytes[byte] & !(1 << bit) | ((value >> i & 1) as u8) << bit;
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

/// The header of a ciphertext with one byte changed.
fn zoo_header(at: usize, byte: u8) -> Result<wire::CiphertextHeader> {
    let mut body = ZOO.frames[CIPHERTEXT].body.to_vec();
    body[at] = byte;
    wire::CiphertextHeader::from_frame(&ZOO.world.params, &ZOO.with_body(CIPHERTEXT, &body))
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

#[test]
fn attachments_are_bounded() {
    let fingerprint = SMALL.world.params.fingerprint();
    let most = Frame::MAX_ATTACHMENT as usize;
    let frame = Frame::attachment(fingerprint, vec![7; most]).unwrap();
    let bytes = write(&[frame], fingerprint);
    assert_eq!(read_with(bytes.as_slice(), |_| u64::MAX).unwrap()[0].body.len(), most);
    let result = Frame::attachment(fingerprint, vec![7; most + 1]);
    let Err(WireError::Length { kind: FrameKind::Attachment, found, expected }) = result else { panic!() };
    assert_eq!((found, expected), (most as u64 + 1, most as u64));
    let mut raw = raws(&bytes).remove(0);
    raw.set_body(&vec![7; most + 1]);
    assert!(matches!(
        read_with(seal(&[raw]).as_slice(), |_| u64::MAX),
        Err(WireError::Length { kind: FrameKind::Attachment, .. })
    ));
    // Nothing but parameters is expected before there are parameters.
    let result = read_with(SMALL.bytes.as_slice(), wire::first_frame_limit);
    assert!(matches!(result, Err(WireError::Length { kind: FrameKind::SecretKey, expected: 0, .. })));
}

#[test]
fn limits_do_not_overflow() {
    let params = presets::ckks_n16_d28().unwrap();
    let mut last = 0;
    for batch in [0, 1, 1000, 1 << 32, 1 << 50, usize::MAX / 2, usize::MAX] {
        let limit = params.ciphertext_frame_limit(batch);
        assert!(limit >= last, "{batch}");
        last = limit;
    }
    assert_eq!(last, u64::MAX);
}

/// What the user reads.
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
    text(read(&seal(&frames)).unwrap_err(), "frame kind 99 does not exist");
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

// --- fuzz -----------------------------------------------------------------------------------

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
    fn random_bodies_never_panic(index in 0usize..9, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        accepted_bytes_are_canonical(&SMALL, &SMALL.with_body(index, &bytes));
    }

    #[test]
    fn spliced_bodies_never_panic(
        index in 0usize..9, other in 0usize..9, at in any::<prop::sample::Index>(), count in 0usize..64,
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
            w.ev.lower_to(&ct, 0),
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

#[test]
fn sealed_frames_are_the_same_bytes() {
    let zoo = &*ZOO;
    let fingerprint = zoo.world.params.fingerprint();
    let (mut plain, mut sealed) = (FrameWriter::new(Vec::new()), FrameWriter::new(Vec::new()));
    let mut reader = FrameReader::new(zoo.bytes.as_slice());
    for frame in &zoo.frames {
        // Memory of other sizes and contents changes nothing.
        reader.recycle(vec![0xa5; frame.body.len() / 2]);
        let found = reader.next_sealed(|_, _| 1 << 20).unwrap().unwrap();
        assert_eq!(found.size(), plain.write(frame).unwrap());
        assert_eq!(found.size(), sealed.write_sealed(&found).unwrap());
        assert!(equal(&found.open().unwrap(), frame));
    }
    assert!(reader.next_sealed(|_, _| 1 << 20).unwrap().is_none());
    assert!(plain.finish(fingerprint).unwrap() == zoo.bytes);
    assert!(sealed.finish(fingerprint).unwrap() == zoo.bytes);
}

#[test]
fn damage_shows_where_a_frame_is_opened() {
    let zoo = &*ZOO;
    let mut start = 0;
    for frame in &zoo.frames {
        let size = Frame::size(frame.body.len() as u64) as usize;
        // In the body, and in the checksum.
        for at in [start + HEADER, start + size - 1] {
            let mut bytes = zoo.bytes.clone();
            bytes[at] ^= 1;
            let mut reader = FrameReader::new(bytes.as_slice());
            let mut frames = Vec::new();
            let end = loop {
                match reader.next_sealed(|_, _| 1 << 20) {
                    Ok(Some(sealed)) => frames.push(sealed),
                    end => break end.map(|_| ()),
                }
            };
            // The end mark depends on the checksums alone.
            assert_eq!(matches!(end, Err(WireError::Sequence)), at != start + HEADER, "{}", frame.kind);
            assert_eq!(frames.len(), zoo.frames.len());
            for (sealed, original) in frames.into_iter().zip(&zoo.frames) {
                let is_damaged = std::ptr::eq(original, frame);
                match sealed.open() {
                    Ok(found) => assert!(!is_damaged && equal(&found, original)),
                    Err(error) => assert!(is_damaged && matches!(error, WireError::Checksum { .. })),
                }
            }
        }
        start += size;
    }
}

/// The end mark belongs to the parameters of the frames before it.
#[test]
fn the_end_mark_has_the_fingerprint_of_the_first_frame() {
    let (own, other) = (Fingerprint([7; 32]), Fingerprint([8; 32]));
    let frame = || Frame::attachment(own, b"x".to_vec()).unwrap();
    for count in 1..4 {
        let frames: Vec<Frame> = (0..count).map(|_| frame()).collect();
        assert_eq!(read(&write(&frames, own)).unwrap().len(), count);
        let refused = read(&write(&frames, other));
        let Err(WireError::WrongParams { kind: FrameKind::End, found, expected }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((found, expected), (other.to_string(), own.to_string()));
    }
    // Without frames there is nothing to compare with.
    assert!(read(&write(&[], other)).unwrap().is_empty());
}
