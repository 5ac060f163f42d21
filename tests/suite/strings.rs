//! `to_bytes` and `from_bytes` of every object: what is written is read back and written again
//! alike, with its key set; hostile bytes give one typed error.

use super::common::rng;
use he::aes::container::UserKey;
use he::aes::{Key, KeySize};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{self, BigCkksParams, BigCkksSpec};
use he::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he::ckks::{self, CkksParams, CkksSpec};
use he::exact::{self, ExactSpec, Params};
use he::ring::{Ring, RingSpec};
use he::rlwe::{EvaluationKeys, Fingerprint, KeyRequirements, PublicKey, SecretKey};
use he::tfhe::{
    BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, CompactBits, CompactFlags, CompactInt,
    CompactPublicKey, EncryptedBits, EncryptedFlags, EncryptedUint, Gadget, SeededBits, SeededFlags,
    SeededUint, TfheParams, TfheSecretKey, TfheSpec,
};
use he::transcipher::{EncryptedAesKey, SensorKey};
use he::wire::{Frame, FrameKind, FrameReader, FrameWriter, WireError, WireScheme};
use he::{Error, KeySetId, Result};
use num_bigint::BigUint;
use rand::RngExt;
use std::sync::LazyLock;

/// Reads an object and writes it again; its key set.
type Reader = Box<dyn Fn(&[u8]) -> Result<(Vec<u8>, Option<KeySetId>)> + Send + Sync>;

struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    key_set: Option<KeySetId>,
    read: Reader,
}

fn ring_of(spec: &RingSpec) -> Ring<Cpu> {
    Ring::new(Cpu::new(), spec.clone()).unwrap()
}

/// A case of an object whose methods take parameters alone, or parameters and a ring.
macro_rules! case {
    ($name:expr, $object:expr, $type:ty, $params:expr $(, $ring:expr)?) => {{
        let (params, object) = ($params.clone(), &$object);
        $(let ring = $ring.clone();)?
        Case {
            name: $name,
            bytes: object.to_bytes(&params).unwrap().to_vec(),
            key_set: Option::from(object.key_set()),
            read: Box::new(move |bytes| {
                let object = <$type>::from_bytes(&params, $({ let _ = stringify!($ring); &ring },)? bytes)?;
                Ok((object.to_bytes(&params)?.to_vec(), Option::from(object.key_set())))
            }),
        }
    }};
}

/// A case of parameters.
macro_rules! params_case {
    ($name:expr, $params:expr, $type:ty) => {{
        let refused = <$type>::from_bytes(&$params.to_bytes().unwrap());
        assert!(matches!(refused, Err(Error::InvalidParams(_))), "{}", $name);
        Case {
            name: $name,
            bytes: $params.to_bytes().unwrap(),
            key_set: None,
            read: Box::new(|bytes| Ok((<$type>::from_bytes_insecure(bytes)?.to_bytes()?, None))),
        }
    }};
}

fn rlwe_spec() -> ([u32; 3], [u32; 1]) {
    ([45, 36, 36], [46])
}

fn ckks_cases(cases: &mut Vec<Case>) {
    let rng = &mut rng(1);
    let (q, p) = rlwe_spec();
    let params = CkksParams::insecure(CkksSpec::from_bits(4, &q, &p, 36.0).unwrap()).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -1]).conjugation(),
        rng,
    )
    .unwrap();
    let mut rotations = EvaluationKeys::empty(params.rlwe(), &ring).unwrap();
    rotations.add_galois(&secret, [5], rng).unwrap();
    let encoder = ckks::Encoder::new(&params, &ring).unwrap();
    let plain = encoder.encode_real(&[0.5, 2.0], params.encoding().slots(4)).unwrap();
    let ct = ckks::Encryptor::new(&params, &public).unwrap().encrypt(&plain, rng).unwrap();
    let mut unknown = ct.duplicate().unwrap();
    unknown.set_key_set(None);
    let seeded = ckks::SecretEncryptor::new(&params, &secret, &ring).unwrap().encrypt(&plain, rng).unwrap();
    cases.extend([
        params_case!("ckks parameters", params, CkksParams),
        case!("secret key", secret, SecretKey, params),
        case!("public key", public, PublicKey<Cpu>, params, ring),
        case!("evaluation keys", keys, EvaluationKeys<Cpu>, params, ring),
        case!("rotation keys", rotations, EvaluationKeys<Cpu>, params, ring),
        case!(
            "no keys",
            EvaluationKeys::empty(params.rlwe(), &ring).unwrap(),
            EvaluationKeys<Cpu>,
            params,
            ring
        ),
        case!("ckks ciphertext", ct, ckks::Ciphertext<Cpu>, params, ring),
        case!("ckks ciphertext of no set", unknown, ckks::Ciphertext<Cpu>, params, ring),
        case!("seeded ckks ciphertext", seeded, ckks::SeededCiphertext<Cpu>, params, ring),
    ]);
}

/// Two slots out of 8, one matrix on each side, and a reduction of few levels.
fn bootstrap_cases(cases: &mut Vec<Case>) {
    let rng = &mut rng(6);
    let spec = BootstrapSpec {
        log_n: 4,
        log_slots: 1,
        base_bits: 40,
        base_scale_log2: 30.0,
        slots_to_coeffs: vec![32],
        program: LevelRun::new(1, 30.0, &[30]),
        join: None,
        eval_mod_levels: vec![LevelRun::new(3, 40.0, &[40])],
        coeffs_to_slots: LevelRun::new(1, 40.0, &[40]),
        special: vec![41; 3],
        slots_to_coeffs_special: 1,
        borrowed: vec![1],
        eval_mod: EvalModShape { bound: 1, degree: 6, doublings: 0, arcsine: false, focus: 0.5 },
        sparse_weight: 2,
    };
    let params = BootstrapParams::insecure(spec).unwrap();
    let ring = params.ring(Cpu::new()).unwrap();
    let secret = SecretKey::generate(params.params().rlwe(), rng);
    let keys = BootstrapKeys::generate(&secret, &params, &ring, rng).unwrap();
    cases.extend([
        params_case!("bootstrapping parameters", params, BootstrapParams),
        case!("keys of ckks bootstrapping", keys, BootstrapKeys<Cpu>, params, ring),
    ]);
}

fn exact_cases<S: WireScheme>(cases: &mut Vec<Case>, names: [&'static str; 4]) {
    let rng = &mut rng(2);
    let (q, p) = rlwe_spec();
    let params = Params::<S>::insecure(ExactSpec::from_bits(4, &q, &p, 97).unwrap()).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let plain = exact::Encoder::new(&params).unwrap().encode(&[3i64, -5]).unwrap();
    let ct = exact::Encryptor::<S, Cpu>::new(&params, &public).unwrap().encrypt(&plain, rng).unwrap();
    let seeded = exact::SecretEncryptor::<S, Cpu>::new(&params, &secret, &ring).unwrap();
    let seeded = seeded.encrypt(&plain, rng).unwrap();
    cases.extend([
        params_case!(names[0], params, Params<S>),
        case!(names[1], secret, SecretKey, params),
        case!(names[2], ct, exact::Ciphertext<S, Cpu>, params, ring),
        case!(names[3], seeded, exact::SeededCiphertext<S, Cpu>, params, ring),
    ]);
}

fn bigckks_cases(cases: &mut Vec<Case>) {
    let rng = &mut rng(3);
    let params = BigCkksParams::insecure(BigCkksSpec::new(4, 100, 30).with_digits(3)).unwrap();
    let ring = ring_of(params.ring());
    let secret = bigckks::SecretKey::generate(&params, rng);
    let public = bigckks::PublicKey::generate(&secret, &ring, rng).unwrap();
    let keys = bigckks::EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -1]).conjugation(),
        rng,
    )
    .unwrap();
    let encoder = bigckks::Encoder::new(&params, &ring).unwrap();
    let plain = encoder.encode_real(&[0.5, 2.0], params.encoding()).unwrap();
    let ct = bigckks::Encryptor::new(&params, &public).unwrap().encrypt(&plain, rng).unwrap();
    cases.extend([
        params_case!("bigckks parameters", params, BigCkksParams),
        case!("bigckks secret key", secret, bigckks::SecretKey, params),
        case!("bigckks public key", public, bigckks::PublicKey<Cpu>, params, ring),
        case!("bigckks evaluation keys", keys, bigckks::EvaluationKeys<Cpu>, params, ring),
        case!("bigckks ciphertext", ct, bigckks::Ciphertext<Cpu>, params, ring),
    ]);
}

/// A batch of TFHE, on a device.
macro_rules! batch_case {
    ($name:expr, $batch:expr, $type:ty, $params:expr) => {{
        let (params, batch) = ($params.clone(), $batch);
        Case {
            name: $name,
            bytes: batch.to_bytes(&params).unwrap(),
            key_set: batch.key_set(),
            read: Box::new(move |bytes| {
                let batch = <$type>::from_bytes(&params, &Cpu::new(), bytes)?;
                Ok((batch.to_bytes(&params)?, batch.key_set()))
            }),
        }
    }};
}

fn tfhe_cases(cases: &mut Vec<Case>) {
    let (rng, cpu) = (&mut rng(4), &Cpu::new());
    let params = TfheParams::insecure(TfheSpec {
        lwe_dimension: 3,
        lwe_sigma_log2: -24.0,
        glwe_dimension: 1,
        log_degree: 5,
        glwe_sigma_log2: -40.0,
        bootstrap: Gadget { base_log: 6, levels: 1 },
        switch: Gadget { base_log: 3, levels: 1 },
    })
    .unwrap();
    let secret = TfheSecretKey::generate(&params, rng);
    let key = BootstrapKey::generate(&secret, rng);
    let bits = secret.encrypt_bits(cpu, &[true, false], rng).unwrap();
    let uint = secret.encrypt_uint(cpu, &[BigUint::from(200u8)], 8, rng).unwrap();
    let flags = EncryptedFlags::from_ciphertexts(secret.encrypt(cpu, &[0, 1 << 59], rng).unwrap());
    let circuit = CircuitParams::new(&params, CircuitSpec::default()).unwrap();
    let circuit = CircuitKey::generate(&secret, &circuit, rng).unwrap();
    let aes = EncryptedAesKey::generate(&secret, &Key::generate(KeySize::Bits128, rng), rng).unwrap();
    let public = CompactPublicKey::generate(&secret, rng);
    let seeded_bits = secret.encrypt_bits_seeded(&[true, false], rng).unwrap();
    let seeded_uint = secret.encrypt_u64_seeded(&[200, 1], 8, rng).unwrap();
    let seeded_flags = secret.encrypt_flags_seeded(&[true], rng).unwrap();
    let compact_bits = public.encrypt_bits(&[true, false], rng).unwrap();
    let compact_int = public.encrypt_i64(&[-100, 1], 8, rng).unwrap();
    let compact_flags = public.encrypt_flags(&[true; 40], rng).unwrap();
    let (own, of_key) = (params.clone(), params.clone());
    cases.extend([
        params_case!("tfhe parameters", params, TfheParams),
        Case {
            name: "tfhe secret key",
            bytes: secret.to_bytes(&params).unwrap().to_vec(),
            key_set: Some(secret.key_set()),
            read: Box::new(move |bytes| {
                let key = TfheSecretKey::from_bytes(&own, bytes)?;
                Ok((key.to_bytes(&own)?.to_vec(), Some(key.key_set())))
            }),
        },
        Case {
            name: "bootstrapping key",
            bytes: key.to_bytes(&params).unwrap(),
            key_set: key.key_set(),
            read: Box::new(move |bytes| {
                let key = BootstrapKey::from_bytes(&of_key, bytes)?;
                Ok((key.to_bytes(&of_key)?, key.key_set()))
            }),
        },
        case!("key of circuit bootstrapping", circuit, CircuitKey, params),
        case!("encrypted aes key", aes, EncryptedAesKey, params),
        case!("tfhe public key", public, CompactPublicKey, params),
        case!("seeded bits", seeded_bits, SeededBits, params),
        case!("seeded integers", seeded_uint, SeededUint, params),
        case!("seeded conditions", seeded_flags, SeededFlags, params),
        case!("compact bits", compact_bits, CompactBits, params),
        case!("compact integers", compact_int, CompactInt, params),
        case!("compact conditions", compact_flags, CompactFlags, params),
        batch_case!("bits", bits, EncryptedBits<Cpu>, params),
        batch_case!("integers", uint, EncryptedUint<Cpu>, params),
        batch_case!("conditions", flags, EncryptedFlags<Cpu>, params),
    ]);
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut cases = Vec::new();
    ckks_cases(&mut cases);
    bootstrap_cases(&mut cases);
    exact_cases::<Bfv>(
        &mut cases,
        ["bfv parameters", "bfv secret", "bfv ciphertext", "seeded bfv ciphertext"],
    );
    exact_cases::<Bgv>(
        &mut cases,
        ["bgv parameters", "bgv secret", "bgv ciphertext", "seeded bgv ciphertext"],
    );
    bigckks_cases(&mut cases);
    tfhe_cases(&mut cases);
    cases.push(Case {
        name: "aes key",
        bytes: UserKey::generate(&mut rng(5)).to_bytes().unwrap().to_vec(),
        key_set: None,
        read: Box::new(|bytes| Ok((UserKey::from_bytes(bytes)?.to_bytes()?.to_vec(), None))),
    });
    cases.push(Case {
        name: "sensor key",
        bytes: SensorKey::generate(KeySize::Bits192, &mut rng(6)).to_bytes().unwrap().to_vec(),
        key_set: None,
        read: Box::new(|bytes| Ok((SensorKey::from_bytes(bytes)?.to_bytes()?.to_vec(), None))),
    });
    cases
});

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut reader = FrameReader::new(bytes);
    std::iter::from_fn(|| reader.next_frame(|_, _| 1 << 20).unwrap()).collect()
}

fn copy(frame: &Frame) -> Frame {
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body: frame.body.clone() }
}

/// Frames with their checksums and an end mark.
fn sequence(frames: &[Frame]) -> Vec<u8> {
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames {
        writer.write(frame).unwrap();
    }
    writer.finish(frames.first().map_or(Fingerprint([0; 32]), |frame| frame.fingerprint)).unwrap()
}

#[test]
fn every_object_comes_back_with_its_key_set() {
    let mut kinds = Vec::new();
    for case in CASES.iter() {
        let (again, key_set) =
            (case.read)(&case.bytes).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(again == case.bytes, "{}", case.name);
        assert_eq!(key_set, case.key_set, "{}", case.name);
        let frames = frames(&case.bytes);
        assert_eq!(frames.first().is_some_and(|frame| frame.kind == FrameKind::KeySet), key_set.is_some());
        kinds.extend(frames.iter().map(|frame| frame.kind as u16));
    }
    kinds.sort_unstable();
    kinds.dedup();
    // All kinds but attachments, end marks, parameters of bootstrapping for integers, and reduced
    // words, whose frames he-core tests.
    let all = (1..=7).chain([10]).chain(11..=16).chain(20..=37);
    let all: Vec<u16> = all.chain(42..=43).chain(52..=56).collect();
    assert_eq!(kinds, all);
}

/// Without the frame of the key set, the object is read and has no key set; a secret key derives
/// its own.
#[test]
fn key_sets_are_optional() {
    for case in CASES.iter().filter(|case| case.key_set.is_some()) {
        let mut frames = frames(&case.bytes);
        let bare = frames.split_off(1);
        if bare.is_empty() {
            continue;
        }
        let (_, key_set) = (case.read)(&sequence(&bare)).unwrap();
        let secret = [FrameKind::SecretKey, FrameKind::BigCkksSecretKey, FrameKind::TfheSecretKey];
        let derived = secret.contains(&bare[0].kind).then_some(case.key_set).flatten();
        assert_eq!(key_set, derived, "{}", case.name);
        // Another name replaces it, of secret keys, too.
        let name = KeySetId::from_bytes([9; 16]);
        let mut named = vec![name.to_frame(bare[0].fingerprint)];
        named.extend(bare.iter().map(copy));
        assert_eq!((case.read)(&sequence(&named)).unwrap().1, Some(name), "{}", case.name);
    }
}

fn refuses(case: &Case, what: &str, bytes: &[u8]) -> WireError {
    match (case.read)(bytes) {
        Err(Error::Wire(error)) => error,
        Err(error) => panic!("{}, {what}: {error}", case.name),
        Ok(_) => panic!("{}, {what}: read", case.name),
    }
}

#[test]
fn cut_anywhere_they_are_truncated() {
    for case in CASES.iter() {
        let step = (case.bytes.len() / 2000).max(1);
        for length in (0..case.bytes.len()).step_by(step) {
            let error = refuses(case, &format!("{length} bytes"), &case.bytes[..length]);
            assert!(matches!(error, WireError::Truncated), "{}, {length} bytes: {error}", case.name);
        }
        let mut longer = case.bytes.clone();
        longer.push(0);
        assert!(matches!(refuses(case, "a byte more", &longer), WireError::Trailing));
        let twice = [&case.bytes[..], &case.bytes].concat();
        assert!(matches!(refuses(case, "twice", &twice), WireError::Trailing));
    }
}

#[test]
fn changed_anywhere_they_are_refused() {
    for case in CASES.iter() {
        let step = (case.bytes.len() / 2000).max(1);
        for at in (0..case.bytes.len()).step_by(step) {
            let mut bytes = case.bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            match (case.read)(&bytes) {
                // A changed fingerprint or end mark may be reported as a missing parameter.
                Err(Error::Wire(_) | Error::InvalidParams(_)) => {}
                Err(error) => panic!("{}, byte {at}: {error}", case.name),
                Ok(_) => panic!("{}, byte {at}: read", case.name),
            }
        }
    }
}

#[test]
fn nothing_is_read_as_something_else() {
    for case in CASES.iter() {
        for other in CASES.iter() {
            let same_kind = |case: &Case| frames(&case.bytes).last().map(|frame| frame.kind);
            let (own, foreign) = (same_kind(case), same_kind(other));
            // Rotation keys are evaluation keys, and empty keys belong to anybody, except for the
            // key set.
            if case.name == other.name || own.is_none() || foreign.is_none() || own == foreign {
                continue;
            }
            let result = (case.read)(&other.bytes);
            assert!(
                matches!(
                    result,
                    Err(Error::Wire(
                        WireError::UnexpectedKind { .. }
                            | WireError::WrongParams { .. }
                            | WireError::Sequence
                    ))
                ),
                "{} from {}: {:?}",
                case.name,
                other.name,
                result.map(drop)
            );
        }
    }
}

/// Every header with lengths that no memory can hold.
#[test]
fn false_lengths_take_no_memory() {
    for case in CASES.iter() {
        let mut at = 0;
        while at < case.bytes.len() {
            let body = u64::from_le_bytes(case.bytes[at + 40..at + 48].try_into().unwrap());
            for length in [u64::MAX, u64::MAX / 2 + 1, 1 << 40, 1 << 32, body + 1, body.wrapping_sub(1)] {
                let mut bytes = case.bytes.clone();
                bytes[at + 40..at + 48].copy_from_slice(&length.to_le_bytes());
                refuses(case, &format!("length {length}"), &bytes);
            }
            at += 48 + body as usize + 32;
        }
    }
}

/// Frames left out, repeated, exchanged, and key sets in the wrong place, with the right checksums.
#[test]
fn other_sequences_are_refused() {
    for case in CASES.iter() {
        let own = frames(&case.bytes);
        let Some(fingerprint) = own.first().map(|frame| frame.fingerprint) else { continue };
        let with = |change: &dyn Fn(&mut Vec<Frame>)| {
            let mut frames: Vec<Frame> = own.iter().map(copy).collect();
            change(&mut frames);
            sequence(&frames)
        };
        let id = || KeySetId::from_bytes([3; 16]).to_frame(fingerprint);
        let last = own.len() - 1;
        let several = case.name.contains("keys");
        refuses(case, "content twice", &with(&|f| f.push(copy(&own[last]))));
        refuses(case, "key set last", &with(&|f| f.push(id())));
        refuses(case, "two key sets", &with(&|f| drop(f.splice(0..0, [id(), id()]))));
        refuses(case, "attachment", &with(&|f| f.push(Frame::attachment(fingerprint, vec![1]).unwrap())));
        if !several {
            refuses(case, "key set alone", &sequence(&[id()]));
            refuses(case, "nothing", &sequence(&[]));
        }
        if case.key_set.is_some() {
            let foreign = KeySetId::from_bytes([3; 16]).to_frame(Fingerprint([1; 32]));
            refuses(case, "key set of other parameters", &with(&|f| f[0] = copy(&foreign)));
            for length in [0, 15, 17, 1000] {
                let body = vec![3; length];
                let bytes =
                    with(&|f| f[0] = Frame { kind: FrameKind::KeySet, fingerprint, body: body.clone() });
                assert!(matches!(refuses(case, "key set", &bytes), WireError::Length { .. }));
            }
        } else {
            // Parameters and AES keys belong to no key set.
            if own[0].kind != FrameKind::CkksCiphertext {
                refuses(case, "a key set", &with(&|f| f.insert(0, id())));
            }
        }
        if case.name.ends_with("evaluation keys") {
            refuses(case, "Galois keys exchanged", &with(&|f| f.swap(last - 1, last)));
            refuses(case, "relinearisation last", &with(&|f| f.swap(1, last)));
        }
    }
}

/// Bodies of any content under correct checksums give an object or one error, and objects are
/// written as they were read.
#[test]
fn hostile_bodies_give_an_object_or_an_error() {
    let mut rng = rng(6);
    for case in CASES.iter() {
        let own = frames(&case.bytes);
        for round in 0..200 {
            let mut changed: Vec<Frame> = own.iter().map(copy).collect();
            let Some(frame) = changed.last_mut() else { continue };
            match round % 4 {
                0 => frame.body.truncate(rng.random_range(0..=frame.body.len())),
                1 => frame.body.resize(frame.body.len() + rng.random_range(1..100), rng.random()),
                2 => {
                    let start = rng.random_range(0..frame.body.len().clamp(1, 40));
                    frame.body[start..].iter_mut().take(8).for_each(|byte| *byte = rng.random());
                }
                _ => frame.body.iter_mut().for_each(|byte| *byte = rng.random()),
            }
            let bytes = sequence(&changed);
            match (case.read)(&bytes) {
                Ok((again, _)) => assert!(again == bytes, "{}, round {round}", case.name),
                // A scale that does not fit its modulus is found when the ciphertext is put
                // together.
                Err(Error::Wire(_) | Error::InvalidParams(_) | Error::ScaleRange { .. }) => {}
                Err(error) => panic!("{}, round {round}: {error:?}", case.name),
            }
        }
    }
}
