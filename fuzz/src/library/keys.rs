//! Keys of every scheme, and AES keys.
//!
//! Must hold: the body of a frame is refused or is a key that is written to the same bytes, and
//! that encrypts, switches and finds its key set.
//!
//! Bytes: the number of the key below, the scheme modulo 3 (CKKS, BFV, BGV), then the body.

use super::world::{self, Rlwe, recode};
use he_core::KeySetId;
use he_core::aes::Key;
use he_core::aes::container::UserKey;
use he_core::backend::Cpu;
use he_core::rlwe::{EvaluationKeys, Fingerprint, PublicKey, SecretKey};
use he_core::tfhe::{
    BitTables, BootstrapKey, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, CompactPublicKey,
    TfheSecretKey,
};
use he_core::transcipher::{EncryptedAesKey, SensorKey};
use he_core::wire::{Frame, FrameKind, SchemeParams, SwitchKeyUse, Wire, WireKeys, WireParams};
use he_core::{bigckks, tfhe};

const KINDS: [FrameKind; 19] = [
    FrameKind::SecretKey,
    FrameKind::PublicKey,
    FrameKind::RelinKey,
    FrameKind::GaloisKey,
    FrameKind::AesKey,
    FrameKind::BigCkksSecretKey,
    FrameKind::BigCkksPublicKey,
    FrameKind::BigCkksSwitchKey,
    FrameKind::TfheSecretKey,
    FrameKind::TfheBootstrapKey,
    FrameKind::KeySet,
    FrameKind::TfheCircuitKey,
    FrameKind::EncryptedAesKey,
    FrameKind::SensorKey,
    FrameKind::TfhePublicKey,
    FrameKind::TfheMultiBitKey,
    FrameKind::UnseededPublicKey,
    FrameKind::UnseededRelinKey,
    FrameKind::UnseededGaloisKey,
];

pub fn run(data: &[u8]) {
    let [selector, scheme, body @ ..] = data else { return };
    let kind = KINDS[usize::from(*selector) % KINDS.len()];
    let frame = |fingerprint| Frame { kind, fingerprint, body: body.to_vec() };
    match kind {
        FrameKind::SecretKey
        | FrameKind::PublicKey
        | FrameKind::RelinKey
        | FrameKind::GaloisKey
        | FrameKind::UnseededPublicKey
        | FrameKind::UnseededRelinKey
        | FrameKind::UnseededGaloisKey => match scheme % 3 {
            0 => of_rlwe(world::ckks(), &frame(world::ckks().params.fingerprint())),
            1 => of_rlwe(world::bfv(), &frame(world::bfv().params.fingerprint())),
            _ => of_rlwe(world::bgv(), &frame(world::bgv().params.fingerprint())),
        },
        FrameKind::AesKey => {
            // The frame has the right fingerprint, or another one.
            let own = <[u8; 32]>::try_from(body).ok().filter(|_| scheme & 1 == 0);
            let fingerprint = own.map_or([3; 32], |bytes| UserKey::new(&bytes).fingerprint());
            let frame = frame(Fingerprint(fingerprint));
            let read = UserKey::from_frame(&frame);
            assert_eq!(read.is_ok(), own.is_some());
            assert!(read.is_ok_and(|key| key.to_frame().body == frame.body) || own.is_none());
        }
        FrameKind::SensorKey => {
            let own = Key::from_slice(body).ok().filter(|_| scheme & 1 == 0).map(SensorKey::new);
            let fingerprint = own.as_ref().map_or([3; 32], SensorKey::fingerprint);
            let frame = frame(Fingerprint(fingerprint));
            let read = SensorKey::from_frame(&frame);
            assert_eq!(read.is_ok(), own.is_some());
            assert!(read.is_ok_and(|key| key.to_frame().body == frame.body) || own.is_none());
        }
        FrameKind::KeySet => {
            let fingerprint = Fingerprint([5; 32]);
            let frame = frame(fingerprint);
            match KeySetId::from_frame(fingerprint, &frame) {
                Ok(id) => assert!(id.to_frame(fingerprint).body == frame.body),
                Err(_) => assert_ne!(body.len(), KeySetId::LEN),
            }
        }
        FrameKind::TfheSecretKey
        | FrameKind::TfheBootstrapKey
        | FrameKind::TfheMultiBitKey
        | FrameKind::TfheCircuitKey
        | FrameKind::TfhePublicKey
        | FrameKind::EncryptedAesKey => of_tfhe(&frame(world::tfhe().params.fingerprint())),
        _ => of_bigckks(&frame(world::bigckks().params.fingerprint())),
    }
}

/// Reads a key among evaluation keys, and finds it there.
fn inserted<P: WireParams, K: WireKeys<P>>(
    params: &P,
    place: K::Place<'_>,
    frame: &Frame,
) -> Option<(K, SwitchKeyUse)> {
    let mut keys = K::empty(params, place).expect("no keys");
    let purpose = keys.insert_frame(params, frame).ok()?;
    let again: Vec<Frame> =
        keys.to_frames(params).map(|frame| frame.expect("what was read is written")).collect();
    assert!(again.len() == 1 && again[0].kind == frame.kind && again[0].body == frame.body, "{frame:?}");
    Some((keys, purpose))
}

fn of_rlwe<P: SchemeParams>(w: &Rlwe<P, Cpu>, frame: &Frame) {
    match frame.kind {
        FrameKind::SecretKey => {
            if let Some(key) = recode::<_, SecretKey>(&w.params, (), frame) {
                let public = PublicKey::generate(&key, &w.ring, &mut world::rng(1)).expect("a public key");
                assert_eq!(public.key_set(), Some(key.key_set()));
            }
        }
        FrameKind::PublicKey | FrameKind::UnseededPublicKey => {
            drop(recode::<_, PublicKey<Cpu>>(&w.params, &w.ring, frame));
        }
        _ => {
            if let Some((keys, SwitchKeyUse::Galois(_))) =
                inserted::<_, EvaluationKeys<Cpu>>(&w.params, &w.ring, frame)
            {
                assert_eq!(keys.galois_keys().count(), 1);
                let _ = keys.rotation_path(3);
            }
        }
    }
}

fn of_bigckks(frame: &Frame) {
    let w = world::bigckks();
    match frame.kind {
        FrameKind::BigCkksSecretKey => {
            if let Some(key) = recode::<_, bigckks::SecretKey>(&w.params, (), frame) {
                bigckks::PublicKey::generate(&key, &w.ring, &mut world::rng(1)).expect("a public key");
            }
        }
        FrameKind::BigCkksPublicKey => drop(recode::<_, bigckks::PublicKey<Cpu>>(&w.params, &w.ring, frame)),
        _ => drop(inserted::<_, bigckks::EvaluationKeys<Cpu>>(&w.params, &w.ring, frame)),
    }
}

fn of_tfhe(frame: &Frame) {
    let (w, cpu) = (world::tfhe(), &Cpu::new());
    match frame.kind {
        FrameKind::TfheSecretKey => {
            if let Some(key) = recode::<_, TfheSecretKey>(&w.params, (), frame) {
                let bits = key.encrypt_bits(cpu, &[true, false], &mut world::rng(1)).expect("encrypted bits");
                assert_eq!(key.decrypt_bits(&bits).expect("bits of the key"), [true, false]);
            }
        }
        FrameKind::TfheBootstrapKey | FrameKind::TfheMultiBitKey => {
            if let Some(key) = recode::<_, BootstrapKey>(&w.params, (), frame) {
                tfhe::Bootstrapper::new(cpu, &key).expect("a key of these parameters");
            }
        }
        FrameKind::TfhePublicKey => {
            if let Some(key) = recode::<_, CompactPublicKey>(&w.params, (), frame) {
                let bits = key.encrypt_bits(&[true, false], &mut world::rng(1)).expect("encrypted bits");
                assert_eq!(bits.expand(cpu).expect("masks of all bits").count(), 2);
            }
        }
        FrameKind::TfheCircuitKey => {
            if let Some(key) = recode::<_, CircuitKey>(&w.params, (), frame) {
                let boot = CircuitBootstrapper::new(cpu, &w.key, &key).expect("keys of these parameters");
                let tables = BitTables::new(cpu, &w.params, &[vec![1], vec![2]]).expect("a table");
                let bit = w.secret.encrypt(cpu, &[1 << 63], &mut world::rng(1)).expect("a bit");
                assert_eq!(boot.lookup(&bit, &tables).expect("a result").count(), 1);
            }
        }
        _ => {
            if let Some(key) = recode::<_, EncryptedAesKey>(&w.params, (), frame) {
                assert_eq!(key.ciphertexts().count(), EncryptedAesKey::bits_of(key.size()));
            }
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    fn of<P: SchemeParams>(w: &Rlwe<P, Cpu>, scheme: u8, seeds: &mut Vec<Vec<u8>>) {
        let mut frames = vec![w.secret.to_frame(&w.params), w.public.to_frame(&w.params)];
        frames.extend(w.keys.to_frames(&w.params).take(2));
        for (number, frame) in (0u8..).zip(frames) {
            seeds.push([&[number, scheme][..], &frame.expect("a frame").body].concat());
        }
    }
    let mut seeds = Vec::new();
    of(world::ckks(), 0, &mut seeds);
    of(world::bfv(), 1, &mut seeds);
    of(world::bgv(), 2, &mut seeds);
    let (wide, tfhe) = (world::bigckks(), world::tfhe());
    let circuit = CircuitParams::new(&tfhe.params, CircuitSpec::default()).expect("parameters");
    let circuit = CircuitKey::generate(&tfhe.secret, &circuit, &mut world::rng(1)).expect("a key");
    let aes = Key::from_slice(&[7; 16]).expect("a key");
    let aes = EncryptedAesKey::generate(&tfhe.secret, &aes, &mut world::rng(1)).expect("a key");
    let public = CompactPublicKey::generate(&tfhe.secret, &mut world::rng(1));
    let multi_bit = BootstrapKey::generate_multi_bit(&tfhe.secret, 3, &mut world::rng(1)).expect("a key");
    let frames = [
        (5, wide.secret.to_frame(&wide.params)),
        (6, wide.public.to_frame(&wide.params)),
        (7, wide.keys.to_frames(&wide.params).next().expect("a key")),
        (7, wide.keys.to_frames(&wide.params).nth(1).expect("a key")),
        (8, tfhe.secret.to_frame(&tfhe.params)),
        (9, tfhe.key.to_frame(&tfhe.params)),
        (11, circuit.to_frame(&tfhe.params)),
        (12, aes.to_frame(&tfhe.params)),
        (14, public.to_frame(&tfhe.params)),
        (15, multi_bit.to_frame(&tfhe.params)),
    ];
    seeds.extend(frames.map(|(number, frame)| [&[number, 0][..], &frame.expect("a frame").body].concat()));
    seeds.extend([vec![4; 34], vec![10; 18]]);
    // Keys of every size, and one of none.
    seeds.extend([16, 24, 32, 17].map(|length| [vec![13, 0], vec![7; length]].concat()));
    seeds
}
