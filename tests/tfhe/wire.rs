//! Objects that are written are read back, mean what `docs/format.md` says, and nothing else is
//! read.

use super::{CPU, keys};
use crate::seeds::for_seeds;
use he::ring::Seed;
use he::tfhe::{
    BootstrapKey, Carry, CompactBits, CompactFlags, CompactInt, CompactPublicKey, CompactUint, EncryptedBits,
    EncryptedFlags, EncryptedUint, Gadget, GateEvaluator, GlweMasks, IntegerEvaluator, LweBatch, SeededBits,
    SeededFlags, SeededUint, TfheParams, TfheSecretKey, TfheSpec, presets,
};
use he::wire::{self, Frame, FrameKind, FrameReader, FrameWriter, WireError};
use he::wire::{Wire, WireParams};
use he::{Error, Result};
use num_bigint::BigUint;
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

const BITS: [bool; 3] = [true, false, true];
const SIGMA_LOG2: f64 = -20.0;

/// Tiny: 71 bits of secrets, so that the key has padding.
fn spec() -> TfheSpec {
    TfheSpec {
        lwe_dimension: 7,
        lwe_sigma_log2: SIGMA_LOG2,
        glwe_dimension: 2,
        log_degree: 5,
        glwe_sigma_log2: -40.0,
        bootstrap: Gadget { base_log: 6, levels: 2 },
        switch: Gadget { base_log: 3, levels: 3 },
    }
}

struct World {
    params: TfheParams,
    secret: TfheSecretKey,
    key: BootstrapKey,
    rng: ChaCha20Rng,
}

fn world() -> World {
    let params = TfheParams::insecure(spec()).unwrap();
    let (secret, key, rng) = keys(&params, 25);
    World { params, secret, key, rng }
}

/// One frame of each kind, in the order of their numbers.
fn frames(w: &mut World) -> Vec<Frame> {
    let cpu = &CPU();
    let bits = w.secret.encrypt_bits(cpu, &BITS, &mut w.rng).unwrap();
    let values = [BigUint::from(0xb7u8), BigUint::from(2u8)];
    let uint = w.secret.encrypt_uint(cpu, &values, 8, &mut w.rng).unwrap();
    let flags = w.secret.encrypt(cpu, &[0, 1 << 59], &mut w.rng).unwrap();
    vec![
        w.params.to_frame(),
        w.secret.to_frame(&w.params).unwrap(),
        w.key.to_frame(&w.params).unwrap(),
        bits.to_frame(&w.params).unwrap(),
        uint.to_frame(&w.params).unwrap(),
        EncryptedFlags::from_ciphertexts(flags).to_frame(&w.params).unwrap(),
    ]
}

/// One frame of each seeded kind, in the order of their numbers.
fn seeded_frames(w: &mut World) -> Vec<Frame> {
    let bits = w.secret.encrypt_bits_seeded(&BITS, &mut w.rng).unwrap();
    let uint = w.secret.encrypt_u64_seeded(&[0xb7, 2], 8, &mut w.rng).unwrap();
    let flags = w.secret.encrypt_flags_seeded(&[false, true], &mut w.rng).unwrap();
    vec![
        bits.to_frame(&w.params).unwrap(),
        uint.to_frame(&w.params).unwrap(),
        flags.to_frame(&w.params).unwrap(),
    ]
}

/// The public key, and one frame of each kind of compact lists, in the order of their numbers. The
/// integers have 40 digits, of which 32 share a mask.
fn compact_frames(w: &mut World) -> Vec<Frame> {
    let public = CompactPublicKey::generate(&w.secret, &mut w.rng);
    let bits = public.encrypt_bits(&BITS, &mut w.rng).unwrap();
    let uint = public.encrypt_u64(&[0xb7, 2], 40, &mut w.rng).unwrap();
    let flags = public.encrypt_flags(&[false, true], &mut w.rng).unwrap();
    vec![
        public.to_frame(&w.params).unwrap(),
        bits.to_frame(&w.params).unwrap(),
        uint.to_frame(&w.params).unwrap(),
        flags.to_frame(&w.params).unwrap(),
    ]
}

/// Decodes a frame by its kind.
fn decode(params: &TfheParams, frame: &Frame) -> Result<()> {
    match frame.kind {
        FrameKind::TfheParams => TfheParams::from_frame_insecure(frame).map(drop),
        FrameKind::TfheSecretKey => TfheSecretKey::from_frame(params, (), frame).map(drop),
        FrameKind::TfheBootstrapKey => BootstrapKey::from_frame(params, (), frame).map(drop),
        FrameKind::TfheBits => EncryptedBits::from_frame(params, &CPU(), frame).map(drop),
        FrameKind::TfhePublicKey => CompactPublicKey::from_frame(params, (), frame).map(drop),
        FrameKind::TfheCompactBits => CompactBits::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        FrameKind::TfheCompactUint => CompactUint::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        FrameKind::TfheCompactFlags => CompactFlags::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        FrameKind::TfheUint => EncryptedUint::from_frame(params, &CPU(), frame).map(drop),
        FrameKind::TfheSeededBits => SeededBits::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        FrameKind::TfheSeededUint => SeededUint::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        FrameKind::TfheSeededFlags => SeededFlags::from_frame(params, (), frame)?.expand(&CPU()).map(drop),
        _ => EncryptedFlags::from_frame(params, &CPU(), frame).map(drop),
    }
}

fn with(frame: &Frame, at: usize, bytes: &[u8]) -> Frame {
    let mut body = frame.body.clone();
    body[at..at + bytes.len()].copy_from_slice(bytes);
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
}

/// Keys and ciphertexts that were read compute what the originals do, word for word.
#[test]
fn objects_come_back() {
    let cpu = &CPU();
    let params = presets::insecure_small().unwrap();
    let (secret, key, mut rng) = keys(&params, 7);
    let read = TfheParams::from_frame_insecure(&params.to_frame()).unwrap();
    assert_eq!((&read, read.spec()), (&params, params.spec()));
    assert!(matches!(TfheParams::from_frame(&params.to_frame()), Err(Error::InvalidParams(_))));
    let safe = presets::gates_2m128().unwrap();
    assert!(TfheParams::from_frame(&safe.to_frame()).unwrap().is_secure());

    let frame = secret.to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, params.key_frame_limit(frame.kind));
    let secret_read = TfheSecretKey::from_frame(&params, (), &frame).unwrap();
    let frame = key.to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, params.key_frame_limit(frame.kind));
    let key_read = BootstrapKey::from_frame(&params, (), &frame).unwrap();

    let a = secret.encrypt_bits(cpu, &BITS, &mut rng).unwrap();
    let frame = a.to_frame(&params).unwrap();
    // The longest fields are those of integers.
    assert_eq!(frame.body.len() as u64 + 2, params.ciphertext_frame_limit(3));
    let a_read = EncryptedBits::from_frame(&params, cpu, &frame).unwrap();
    assert_eq!(secret_read.decrypt_bits(&a_read).unwrap(), BITS);
    let words = |bits: &EncryptedBits<_>| bits.ciphertexts().download().unwrap();
    let [ev, ev_read] = [&key, &key_read].map(|key| GateEvaluator::new(cpu, key).unwrap());
    assert_eq!(words(&ev.nand(&a, &a).unwrap()), words(&ev_read.nand(&a_read, &a_read).unwrap()));

    let values: Vec<BigUint> = [0u32, 0xdead_beef, 77].map(BigUint::from).to_vec();
    let x = secret.encrypt_uint(cpu, &values, 32, &mut rng).unwrap();
    let frame = x.to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, params.ciphertext_frame_limit(16 * 3));
    let x_read = EncryptedUint::from_frame(&params, cpu, &frame).unwrap();
    assert_eq!((x_read.bits(), x_read.batch()), (32, 3));
    assert_eq!(secret_read.decrypt_uint(&x_read).unwrap(), values);
    let ev = IntegerEvaluator::new(cpu, &key_read, Carry::Ripple).unwrap();
    let sum = secret.decrypt_uint(&ev.add(&x, &x_read).unwrap()).unwrap();
    let expected: Vec<BigUint> = [0u32, 0xdead_beef, 77].map(|x| x.wrapping_mul(2).into()).to_vec();
    assert_eq!(sum, expected);
    let less = ev.lt(&x_read, &ev.add(&x, &x_read).unwrap()).unwrap();
    let frame = less.to_frame(&params).unwrap();
    let less = EncryptedFlags::from_frame(&params, cpu, &frame).unwrap();
    assert_eq!(secret_read.decrypt_flags(&less).unwrap(), [false, false, true]);
    // Conditions that were read select: they keep their noise.
    let least = ev.select(&less, &x, &x_read).unwrap();
    assert_eq!(secret_read.decrypt_uint(&least).unwrap(), values);
}

/// A file of a bootstrapping key is less than half of the key that a device uses, by the masks.
#[test]
fn masks_travel_as_their_seed() {
    for (params, least) in [(presets::gates_2m128(), 4.0), (presets::digits_2m128(), 2.0)] {
        let params = params.unwrap();
        let spec = params.spec();
        let (k, l) = (spec.glwe_dimension, spec.bootstrap.levels as usize);
        let ggsw = spec.lwe_dimension * (k + 1) * l * (k + 1) * params.degree() * 8;
        let switch = params.dimension() * spec.switch.levels as usize * (spec.lwe_dimension + 1) * 4;
        let file = params.key_frame_limit(FrameKind::TfheBootstrapKey);
        assert!((ggsw + switch) as f64 > least * file as f64, "{file} of {ggsw} + {switch}");
    }
}

/// A reader that knows `docs/format.md` and ChaCha20 only.
struct Plain<'a> {
    body: &'a [u8],
    /// Small, then large.
    secret: Vec<u64>,
}

impl Plain<'_> {
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.body[at..at + 8].try_into().unwrap())
    }

    fn stream(&self, kind: u64, index: usize) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(self.body[..32].try_into().unwrap());
        rng.set_stream(kind << 56 | index as u64);
        rng
    }
}

fn secret_of(frame: &Frame, count: usize) -> Vec<u64> {
    (0..count).map(|i| u64::from(frame.body[i / 8] >> (i % 8) & 1)).collect()
}

#[test]
fn bytes_mean_what_the_specification_says() {
    let mut w = world();
    let all = frames(&mut w);
    let TfheSpec { lwe_dimension: n, glwe_dimension: k, .. } = spec();
    let (degree, large) = (32, 64);
    let secret = secret_of(&all[1], n + large);
    assert!(secret.contains(&0) && secret.contains(&1));
    let dot = |a: &[u64]| a.iter().zip(&secret[n..]).fold(0u64, |sum, (a, s)| sum.wrapping_add(a * s));
    let near = |what: &str, found: u64, expected: u64, sigma_log2: f64| {
        let error = (found.wrapping_sub(expected) as i64 as f64).abs() / 2f64.powi(64);
        assert!(error < 7.0 * sigma_log2.exp2(), "{what}: off by {error:e}");
    };
    let phases = |frame: &Frame, fields: usize| -> Vec<u64> {
        let plain = Plain { body: &frame.body, secret: secret.clone() };
        let ciphertexts = (frame.body.len() - fields) / (8 * (large + 1));
        (0..ciphertexts)
            .map(|c| {
                let words: Vec<u64> =
                    (0..=large).map(|i| plain.word(fields + 8 * (c * (large + 1) + i))).collect();
                words[large].wrapping_sub(dot(&words[..large]))
            })
            .collect()
    };
    assert_eq!(all[3].body[..4], [3, 0, 0, 0]);
    for (phase, bit) in phases(&all[3], 4).into_iter().zip(BITS) {
        near("bit", phase, if bit { 1 << 61 } else { 7 << 61 }, -40.0);
    }
    assert_eq!(all[4].body[..6], [8, 0, 2, 0, 0, 0]);
    // Digits of 0xb7 and 2, the lowest first, both numbers of a digit together.
    for (phase, digit) in phases(&all[4], 6).into_iter().zip([3, 2, 1, 0, 3, 0, 2, 0u64]) {
        near("digit", phase, digit << 59, -40.0);
    }
    for (phase, digit) in phases(&all[5], 4).into_iter().zip([0, 1u64]) {
        near("condition", phase, digit << 59, -40.0);
    }

    // The bootstrapping key, row by row, by schoolbook products.
    let plain = Plain { body: &all[2].body, secret: secret.clone() };
    let (levels, base_log, mut at) = (2, 6, 32);
    for index in 0..n * (k + 1) * levels {
        let (i, r, j) = (index / ((k + 1) * levels), index / levels % (k + 1), index % levels + 1);
        let mut stream = plain.stream(16, index);
        let mask: Vec<u64> = (0..large).map(|_| stream.next_u64()).collect();
        let mut expected = vec![0u64; degree];
        for (a, s) in mask.chunks(degree).zip(plain.secret[n..].chunks(degree)) {
            for (x, a) in a.iter().enumerate() {
                for (y, s) in s.iter().enumerate() {
                    let term = if x + y < degree { a * s } else { (a * s).wrapping_neg() };
                    let sum = &mut expected[(x + y) % degree];
                    *sum = sum.wrapping_add(term);
                }
            }
        }
        let factor = plain.secret[i] << (64 - j * base_log);
        if r == k {
            expected[0] = expected[0].wrapping_add(factor);
        } else {
            for (sum, s) in expected.iter_mut().zip(&plain.secret[n + r * degree..]) {
                *sum = sum.wrapping_sub(factor * s);
            }
        }
        for expected in expected {
            near("bootstrapping row", plain.word(at), expected, -40.0);
            at += 8;
        }
    }
    let (levels, base_log) = (3, 3);
    for index in 0..large * levels {
        let (i, j) = (index / levels, index % levels + 1);
        let mut stream = plain.stream(18, index);
        let product = plain.secret[..n]
            .iter()
            .fold(0u32, |sum, s| sum.wrapping_add(stream.next_u32().wrapping_mul(*s as u32)));
        let expected = product.wrapping_add((plain.secret[n + i] as u32) << (32 - j * base_log));
        let found = u32::from_le_bytes(plain.body[at..at + 4].try_into().unwrap());
        near("switching row", u64::from(found) << 32, u64::from(expected) << 32, SIGMA_LOG2);
        at += 4;
    }
    assert_eq!(at, plain.body.len());
}

#[test]
fn files_of_frames() {
    let mut w = world();
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames(&mut w) {
        writer.write(&frame).unwrap();
    }
    let bytes = writer.finish(w.params.fingerprint()).unwrap();
    let limit = |kind, _| match kind {
        FrameKind::TfheBits | FrameKind::TfheUint | FrameKind::TfheFlags => {
            w.params.ciphertext_frame_limit(8)
        }
        kind => w.params.key_frame_limit(kind).max(wire::first_frame_limit(kind)),
    };
    let mut reader = FrameReader::new(&bytes[..]);
    let mut kinds = Vec::new();
    while let Some(frame) = reader.next_frame(limit).unwrap() {
        decode(&w.params, &frame).unwrap();
        kinds.push(frame.kind as u16);
    }
    assert_eq!(kinds, [25, 26, 27, 28, 29, 30]);
    let first =
        FrameReader::new(&bytes[..]).next_frame(|kind, _| wire::first_frame_limit(kind)).unwrap().unwrap();
    assert_eq!(TfheParams::from_frame_insecure(&first).unwrap(), w.params);
    // These are the bytes of the first version of these kinds: a change to them needs another
    // version.
    let hash = blake3::hash(&bytes).to_hex();
    assert_eq!(&hash[..32], "7bd83fc38fad3244d1b02a529133919b");
    // A file that is cut anywhere, or has any byte changed, is not a file.
    for length in (0..bytes.len()).step_by(97) {
        let mut reader = FrameReader::new(&bytes[..length]);
        let error = loop {
            match reader.next_frame(limit) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{length} bytes were taken for a file"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, WireError::Truncated), "{length}: {error}");
    }
    for at in (0..bytes.len()).step_by(61) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let mut reader = FrameReader::new(&bytes[..]);
        let refused = std::iter::repeat_with(|| reader.next_frame(limit)).find_map(|frame| {
            frame.map(|frame| frame.is_none()).map_or(Some(true), |end| end.then_some(false))
        });
        assert_eq!(refused, Some(true), "byte {at}");
    }
}

/// Every bit of every body, and bodies of every other length.
#[test]
fn broken_bodies() {
    let mut w = world();
    for frame in frames(&mut w) {
        let count = frame.body.len();
        let (mut accepted, mut refused) = (0, 0);
        for bit in 0..8 * count.min(60) {
            let changed = with(&frame, bit / 8, &[frame.body[bit / 8] ^ 1 << (bit % 8)]);
            match decode(&w.params, &changed) {
                Ok(()) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
        match frame.kind {
            // A fingerprint covers every field.
            FrameKind::TfheParams => assert_eq!(accepted, 0),
            // One bit of padding; every other is a secret's.
            FrameKind::TfheSecretKey => assert_eq!((refused, accepted), (1, 71)),
            // Seeds and torus elements are all valid.
            FrameKind::TfheBootstrapKey => assert_eq!(refused, 0),
            // Every bit of the fields.
            FrameKind::TfheUint => assert_eq!(refused, 48),
            _ => assert_eq!(refused, 32),
        }
        for length in (0..count).step_by(7).chain([count - 1, count + 1, count + 8, 2 * count]) {
            let mut body = frame.body.clone();
            body.resize(length, 0);
            let error = decode(&w.params, &Frame { kind: frame.kind, fingerprint: frame.fingerprint, body });
            assert!(matches!(error, Err(Error::Wire(_))), "{} of {length} bytes: {error:?}", frame.kind);
        }
    }
}

#[test]
fn impossible_fields() {
    let mut w = world();
    let all = frames(&mut w);
    for (frame, at, bytes, field) in [
        (&all[1], 8, &[0x80][..], "padding"),
        (&all[3], 0, &[0; 4], "batch"),
        (&all[4], 2, &[0; 4], "batch"),
        (&all[5], 0, &[0; 4], "batch"),
        (&all[4], 0, &[0; 2], "width"),
        (&all[4], 0, &[9, 0], "width"),
        (&all[4], 0, &[6, 0], "width"),
        (&all[4], 0, &[2, 1], "width"),
        (&all[4], 0, &[255; 2], "width"),
    ] {
        let error = decode(&w.params, &with(frame, at, bytes));
        assert!(
            matches!(&error, Err(Error::Wire(WireError::Field { field: found, .. })) if *found == field),
            "{field}: {error:?}"
        );
    }
    // Nothing is allocated for four thousand million entries in a short body, or for a wider
    // number.
    for (frame, at, bytes) in
        [(&all[3], 0, &[255; 4][..]), (&all[4], 2, &[255; 4]), (&all[5], 0, &[255; 4]), (&all[4], 0, &[0, 1])]
    {
        let error = decode(&w.params, &with(frame, at, bytes));
        assert!(matches!(error, Err(Error::Wire(WireError::Length { .. }))), "{error:?}");
    }
    // The same integers in another shape: eight digits are one number of 16 bits or two of 8.
    // Widths are neither secret nor authenticated.
    let one = with(&all[4], 0, &[16, 0, 1, 0, 0, 0]);
    let one = EncryptedUint::from_frame(&w.params, &CPU(), &one).unwrap();
    assert_eq!((one.bits(), one.batch()), (16, 1));
    // Frames of other parameters and other kinds.
    let other = TfheParams::insecure(TfheSpec { lwe_sigma_log2: -21.0, ..spec() }).unwrap();
    for frame in &all[1..] {
        let error = decode(&other, frame);
        assert!(matches!(error, Err(Error::Wire(WireError::WrongParams { .. }))), "{error:?}");
        assert!(matches!(TfheParams::from_frame(frame), Err(Error::Wire(WireError::UnexpectedKind { .. }))));
    }
    let crossed =
        Frame { kind: FrameKind::TfheFlags, fingerprint: all[3].fingerprint, body: all[3].body.clone() };
    let error = EncryptedBits::from_frame(&w.params, &CPU(), &crossed);
    assert!(matches!(error, Err(Error::Wire(WireError::UnexpectedKind { .. }))));
    // Parameters that do not exist, under a fingerprint of their own or not: never an object, never
    // a panic.
    for (at, bytes) in [
        (0, &[0, 0][..]),
        (0, &[255, 255]),
        (2, &[0]),
        (2, &[255]),
        (3, &[0]),
        (3, &[64]),
        (4, &f64::NAN.to_bits().to_le_bytes()),
        (12, &f64::INFINITY.to_bits().to_le_bytes()),
        (20, &[0, 0]),
        (20, &[255, 255]),
        (22, &[255, 255]),
    ] {
        let error = decode(&w.params, &with(&all[0], at, bytes));
        assert!(matches!(error, Err(Error::InvalidParams(_))), "{at}: {error:?}");
    }
}

/// Random bodies under a valid header.
#[test]
fn random_bodies() {
    let mut w = world();
    let mut all = frames(&mut w);
    all.extend(seeded_frames(&mut w));
    all.extend(compact_frames(&mut w));
    let kinds = all.iter().map(|frame| (frame.kind, frame.body.len())).collect::<Vec<_>>();
    for_seeds(1, |seed| {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        for (kind, length) in &kinds {
            for _ in 0..100 {
                let count = if rng.random() { *length } else { rng.random_range(0..2 * length) };
                let body = (0..count).map(|_| rng.random()).collect();
                // Whatever it is: no panic.
                let _ = decode(&w.params, &Frame { kind: *kind, fingerprint: w.params.fingerprint(), body });
            }
        }
    });
}

/// Objects that were written seeded are read back to the words of the whole ciphertexts, and are
/// smaller by the masks.
#[test]
fn seeded_objects_come_back() {
    let cpu = &CPU();
    let params = presets::insecure_small().unwrap();
    let [(secret, _, mut a), (_, _, mut b)] = [9, 9].map(|seed| keys(&params, seed));
    let words = |batch: &LweBatch<_>| batch.download().unwrap();
    let frame = secret.encrypt_bits_seeded(&BITS, &mut a).unwrap().to_frame(&params).unwrap();
    assert_eq!(frame.body.len(), 4 + 32 + 8 * 3);
    let read = SeededBits::from_frame(&params, (), &frame).unwrap().expand(cpu).unwrap();
    let whole = secret.encrypt_bits(cpu, &BITS, &mut b).unwrap();
    assert!(words(read.ciphertexts()) == words(whole.ciphertexts()));

    let values: Vec<u64> = (0..32u64).map(|i| i * 0x0101_0101).collect();
    let frame = secret.encrypt_u64_seeded(&values, 32, &mut a).unwrap().to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, wire::tfhe::fresh_frame_limit::<Seed>(&params, 16 * 32));
    assert_eq!(frame.body.len(), 6 + 32 + 8 * 16 * 32);
    let read = SeededUint::from_frame(&params, (), &frame).unwrap();
    assert_eq!((read.bits(), read.batch()), (32, 32));
    let read = read.expand(cpu).unwrap();
    let whole = secret.encrypt_u64(cpu, &values, 32, &mut b).unwrap();
    assert!(words(read.ciphertexts()) == words(whole.ciphertexts()));
    assert_eq!(secret.decrypt_u64(&read).unwrap(), values);

    let flags = [true, false];
    let frame = secret.encrypt_flags_seeded(&flags, &mut a).unwrap().to_frame(&params).unwrap();
    let read = SeededFlags::from_frame(&params, (), &frame).unwrap().expand(cpu).unwrap();
    assert!(
        words(read.ciphertexts()) == words(secret.encrypt_flags(cpu, &flags, &mut b).unwrap().ciphertexts())
    );
    assert_eq!(secret.decrypt_flags(&read).unwrap(), flags);
}

#[test]
fn seeded_bytes_mean_what_the_specification_says() {
    let mut w = world();
    let secret = secret_of(&frames(&mut w)[1], 7 + 64)[7..].to_vec();
    let all = seeded_frames(&mut w);
    let (one, digit) = (1u64 << 61, 1u64 << 59);
    let digits = [3, 2, 1, 0, 3, 0, 2, 0].map(|d: u64| d * digit);
    for (frame, kind, fields, messages) in [
        (&all[0], 32, &[3, 0, 0, 0][..], &[one, one.wrapping_neg(), one][..]),
        (&all[1], 33, &[8, 0, 2, 0, 0, 0], &digits),
        (&all[2], 34, &[2, 0, 0, 0], &[0, digit]),
    ] {
        assert_eq!((frame.kind as u16, &frame.body[..fields.len()]), (kind, fields));
        let (seed, bodies) = frame.body[fields.len()..].split_at(32);
        assert_eq!(bodies.len(), 8 * messages.len());
        for (i, (body, &message)) in bodies.chunks(8).zip(messages).enumerate() {
            let mut stream = ChaCha20Rng::from_seed(seed.try_into().unwrap());
            stream.set_stream(20 << 56 | i as u64);
            let product = secret.iter().fold(0u64, |sum, s| sum.wrapping_add(stream.next_u64() * s));
            let phase = u64::from_le_bytes(body.try_into().unwrap()).wrapping_sub(product);
            let error = (phase.wrapping_sub(message) as i64 as f64).abs() / 2f64.powi(64);
            assert!(error < 7.0 * (-40f64).exp2(), "kind {kind}, ciphertext {i}: off by {error:e}");
        }
    }
}

/// Public keys and compact lists keep their words, are as long as limits say, and encrypt.
#[test]
fn compact_objects_come_back() {
    let cpu = &CPU();
    for params in [presets::insecure_small().unwrap(), presets::gates_2m40().unwrap()] {
        let n = params.degree();
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let secret = TfheSecretKey::generate(&params, &mut rng);
        let public = CompactPublicKey::generate(&secret, &mut rng);
        let frame = public.to_frame(&params).unwrap();
        assert_eq!(frame.body.len() as u64, params.key_frame_limit(frame.kind));
        assert_eq!(frame.body.len(), 32 + 8 * params.dimension());
        let read = CompactPublicKey::from_frame(&params, (), &frame).unwrap();
        let words = |batch: &LweBatch<_>| batch.download().unwrap();

        let bits: Vec<bool> = (0..2 * n + 5).map(|i| i % 3 == 0).collect();
        let [mut a, mut b] = [1, 1].map(ChaCha20Rng::seed_from_u64);
        let list = public.encrypt_bits(&bits, &mut a).unwrap();
        let again = read.encrypt_bits(&bits, &mut b).unwrap();
        let frame = list.to_frame(&params).unwrap();
        assert_eq!(frame.body.len(), 4 + 8 * (3 * params.dimension() + 2 * n + 5));
        assert!(frame.body == again.to_frame(&params).unwrap().body);
        let list = list.expand(cpu).unwrap();
        let found = CompactBits::from_frame(&params, (), &frame).unwrap().expand(cpu).unwrap();
        assert!(words(found.ciphertexts()) == words(list.ciphertexts()));
        assert_eq!(secret.decrypt_bits(&found).unwrap(), bits);

        let values = [0, -1, i64::MIN, i64::MAX];
        let frame = read.encrypt_i64(&values, 64, &mut a).unwrap().to_frame(&params).unwrap();
        let limit = wire::tfhe::fresh_frame_limit::<GlweMasks>(&params, 4 * 32);
        assert_eq!(frame.body.len() as u64, limit);
        // The sign is not part of a frame, as in frames of whole integers.
        let found = CompactInt::from_frame(&params, (), &frame).unwrap();
        assert_eq!((found.bits(), found.batch()), (64, 4));
        assert_eq!(secret.decrypt_i64(&found.expand(cpu).unwrap()).unwrap(), values);
        let found = CompactUint::from_frame(&params, (), &frame).unwrap().expand(cpu).unwrap();
        assert_eq!(secret.decrypt_u64(&found).unwrap(), values.map(|value| value as u64));

        let flags = [true, false];
        let frame = read.encrypt_flags(&flags, &mut a).unwrap().to_frame(&params).unwrap();
        let found = CompactFlags::from_frame(&params, (), &frame).unwrap().expand(cpu).unwrap();
        assert_eq!(secret.decrypt_flags(&found).unwrap(), flags);
    }
}

/// Products are those of the specification, not of the library.
#[test]
fn compact_bytes_mean_what_the_specification_says() {
    let mut w = world();
    let secret = secret_of(&frames(&mut w)[1], 7 + 64)[7..].to_vec();
    let all = compact_frames(&mut w);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    // Coefficient h of the sum of a_c S_c modulo X^32 + 1.
    let product = |a: &[u64], h: usize| {
        (0..64).fold(0u64, |sum, at| {
            let (c, j) = (at / 32 * 32, at % 32);
            let term = a[c + (h + 32 - j) % 32].wrapping_mul(secret[at]);
            if j <= h { sum.wrapping_add(term) } else { sum.wrapping_sub(term) }
        })
    };
    let small = |phase: u64, message: u64, what: &str| {
        let error = (phase.wrapping_sub(message) as i64 as f64).abs() / 2f64.powi(64);
        assert!(error < 7.0 * (-40f64).exp2() * 76f64.sqrt(), "{what}: off by {error:e}");
    };
    let (seed, bodies) = all[0].body.split_at(32);
    assert_eq!((all[0].kind as u16, bodies.len()), (53, 8 * 64));
    for (at, body) in bodies.chunks(8).enumerate() {
        let mut stream = ChaCha20Rng::from_seed(seed.try_into().unwrap());
        stream.set_stream(26 << 56 | (at / 32) as u64);
        let mask: Vec<u64> = (0..64).map(|_| stream.next_u64()).collect();
        small(number(body).wrapping_sub(product(&mask, at % 32)), 0, &format!("public key, {at}"));
    }
    let (one, digit) = (1u64 << 61, 1u64 << 59);
    let mut digits = [3, 2, 1, 0, 3, 0, 2, 0].map(|d: u64| d * digit).to_vec();
    digits.resize(40, 0);
    for (frame, kind, fields, messages) in [
        (&all[1], 54, &[3, 0, 0, 0][..], &[one, one.wrapping_neg(), one][..]),
        (&all[2], 55, &[40, 0, 2, 0, 0, 0], &digits),
        (&all[3], 56, &[2, 0, 0, 0], &[0, digit]),
    ] {
        assert_eq!((frame.kind as u16, &frame.body[..fields.len()]), (kind, fields));
        let words: Vec<u64> = frame.body[fields.len()..].chunks(8).map(number).collect();
        let (masks, bodies) = words.split_at(64 * messages.len().div_ceil(32));
        assert_eq!(bodies.len(), messages.len());
        for (i, (body, &message)) in bodies.iter().zip(messages).enumerate() {
            let mask = &masks[i / 32 * 64..][..64];
            small(body.wrapping_sub(product(mask, i % 32)), message, &format!("kind {kind}, ciphertext {i}"));
        }
    }
}

/// Every bit of the fields, bodies of every other length, and counts that nothing is allocated for.
#[test]
fn broken_fresh_bodies() {
    let mut w = world();
    let compact = compact_frames(&mut w);
    for frame in seeded_frames(&mut w).into_iter().chain(compact.into_iter().skip(1)) {
        let integers = [FrameKind::TfheSeededUint, FrameKind::TfheCompactUint];
        let fields = if integers.contains(&frame.kind) { 6 } else { 4 };
        for bit in 0..8 * frame.body.len() {
            let changed = with(&frame, bit / 8, &[frame.body[bit / 8] ^ 1 << (bit % 8)]);
            // Every seed, every mask and every body is one.
            assert_eq!(decode(&w.params, &changed).is_err(), bit < 8 * fields, "{} bit {bit}", frame.kind);
        }
        let count = frame.body.len();
        for length in (0..count).chain([count + 1, count + 8, 2 * count]) {
            let mut body = frame.body.clone();
            body.resize(length, 0);
            let error = decode(&w.params, &Frame { kind: frame.kind, fingerprint: frame.fingerprint, body });
            assert!(matches!(error, Err(Error::Wire(_))), "{} of {length} bytes: {error:?}", frame.kind);
        }
        let error = decode(&w.params, &with(&frame, fields - 4, &[255; 4]));
        assert!(matches!(error, Err(Error::Wire(WireError::Length { .. }))), "{error:?}");
        let error = decode(&w.params, &with(&frame, fields - 4, &[0; 4]));
        assert!(matches!(error, Err(Error::Wire(WireError::Field { field: "batch", .. }))), "{error:?}");
        let other = TfheParams::insecure(TfheSpec { lwe_sigma_log2: -21.0, ..spec() }).unwrap();
        assert!(matches!(decode(&other, &frame), Err(Error::Wire(WireError::WrongParams { .. }))));
        assert!(matches!(
            EncryptedUint::from_frame(&w.params, &CPU(), &frame),
            Err(Error::Wire(WireError::UnexpectedKind { .. }))
        ));
    }
}

/// A public key of another length, of other parameters, or in a frame of another kind.
#[test]
fn broken_public_keys() {
    let mut w = world();
    let frame = compact_frames(&mut w).remove(0);
    let count = frame.body.len();
    let of = |kind, body| Frame { kind, fingerprint: w.params.fingerprint(), body };
    for length in (0..count).chain([count + 1, count + 8, 2 * count]) {
        let mut body = frame.body.clone();
        body.resize(length, 0);
        let error = decode(&w.params, &of(frame.kind, body));
        assert!(matches!(error, Err(Error::Wire(WireError::Length { .. }))), "{length}: {error:?}");
    }
    let other = TfheParams::insecure(TfheSpec { lwe_sigma_log2: -21.0, ..spec() }).unwrap();
    assert!(matches!(decode(&other, &frame), Err(Error::Wire(WireError::WrongParams { .. }))));
    let key = CompactPublicKey::from_frame(&w.params, (), &of(FrameKind::PublicKey, frame.body.clone()));
    assert!(matches!(key, Err(Error::Wire(WireError::UnexpectedKind { .. }))));
    let key = CompactPublicKey::from_frame(&w.params, (), &frame).unwrap();
    assert!(matches!(key.to_frame(&other), Err(Error::ParamsMismatch { .. })));
    let list = key.encrypt_bits(&BITS, &mut w.rng).unwrap();
    assert!(matches!(list.to_frame(&other), Err(Error::ParamsMismatch { .. })));
}
