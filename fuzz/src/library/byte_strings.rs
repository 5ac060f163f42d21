//! Byte strings of objects: `from_bytes` and `to_bytes` of every type.
//!
//! Must hold: bytes are refused or are an object that is written to the same bytes, unless it is a
//! secret key without the identity that belongs to it, which is written with it.
//!
//! Bytes: the number of the type below; flags (1: repair the checksums); then the byte string.

use super::target::repair_frames;
use super::world;
use he_core::aes::container::UserKey;
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::{self, BigCkksParams};
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::{self, CkksParams};
use he_core::exact::{self, Params};
use he_core::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he_core::tfhe::{
    BootstrapKey, CompactBits, CompactFlags, CompactInt, CompactPublicKey, EncryptedBits, EncryptedFlags,
    EncryptedUint, SeededBits, SeededFlags, SeededUint, TfheParams, TfheSecretKey,
};

/// Frames that a secret key may lack: the identity of its key set.
const IDENTITY: usize = 80 + 16;

macro_rules! types {
    ($bytes:ident, $number:expr; $([$read:expr, $write:expr],)*) => {{
        let mut number = usize::from($number);
        $(
            if number == 0 {
                if let Ok(object) = $read {
                    #[allow(clippy::redundant_closure_call)]
                    let again = ($write)(&object).expect("what was read is written");
                    let same = again[..] == $bytes[..];
                    let completed = again.len() == $bytes.len() + IDENTITY;
                    assert!(same || completed, "{} bytes became {}", $bytes.len(), again.len());
                }
                return;
            }
            number -= 1;
        )*
        let _ = number;
    }};
}

pub fn run(data: &[u8]) {
    let [number, flags, bytes @ ..] = data else { return };
    let mut bytes = bytes.to_vec();
    if flags & 1 == 1 {
        repair_frames(&mut bytes);
    }
    let (ck, bfv, bgv, big, tf) =
        (world::ckks(), world::bfv(), world::bgv(), world::bigckks(), world::tfhe());
    let cpu = &Cpu::new();
    types! { bytes, number % 34;
        [CkksParams::from_bytes_insecure(&bytes), |x: &CkksParams| x.to_bytes()],
        [Params::<Bfv>::from_bytes_insecure(&bytes), |x: &Params<Bfv>| x.to_bytes()],
        [Params::<Bgv>::from_bytes_insecure(&bytes), |x: &Params<Bgv>| x.to_bytes()],
        [BigCkksParams::from_bytes_insecure(&bytes), |x: &BigCkksParams| x.to_bytes()],
        [TfheParams::from_bytes_insecure(&bytes), |x: &TfheParams| x.to_bytes()],
        [BootstrapParams::from_bytes_insecure(&bytes), |x: &BootstrapParams| x.to_bytes()],
        [UserKey::from_bytes(&bytes), |x: &UserKey| x.to_bytes()],
        [SecretKey::from_bytes(&ck.params, &bytes), |x: &SecretKey| x.to_bytes(&ck.params)],
        [SecretKey::from_bytes(&bfv.params, &bytes), |x: &SecretKey| x.to_bytes(&bfv.params)],
        [bigckks::SecretKey::from_bytes(&big.params, &bytes), |x: &bigckks::SecretKey| x.to_bytes(&big.params)],
        [TfheSecretKey::from_bytes(&tf.params, &bytes), |x: &TfheSecretKey| x.to_bytes(&tf.params)],
        [PublicKey::from_bytes(&ck.params, &ck.ring, &bytes), |x: &PublicKey<Cpu>| x.to_bytes(&ck.params)],
        [PublicKey::from_bytes(&bgv.params, &bgv.ring, &bytes), |x: &PublicKey<Cpu>| x.to_bytes(&bgv.params)],
        [bigckks::PublicKey::from_bytes(&big.params, &big.ring, &bytes),
            |x: &bigckks::PublicKey<Cpu>| x.to_bytes(&big.params)],
        [EvaluationKeys::from_bytes(&ck.params, &ck.ring, &bytes),
            |x: &EvaluationKeys<Cpu>| x.to_bytes(&ck.params)],
        [EvaluationKeys::from_bytes(&bfv.params, &bfv.ring, &bytes),
            |x: &EvaluationKeys<Cpu>| x.to_bytes(&bfv.params)],
        [bigckks::EvaluationKeys::from_bytes(&big.params, &big.ring, &bytes),
            |x: &bigckks::EvaluationKeys<Cpu>| x.to_bytes(&big.params)],
        [BootstrapKey::from_bytes(&tf.params, &bytes), |x: &BootstrapKey| x.to_bytes(&tf.params)],
        [ckks::Ciphertext::from_bytes(&ck.params, &ck.ring, &bytes),
            |x: &ckks::Ciphertext<Cpu>| x.to_bytes(&ck.params)],
        [ckks::SeededCiphertext::from_bytes(&ck.params, &ck.ring, &bytes),
            |x: &ckks::SeededCiphertext<Cpu>| x.to_bytes(&ck.params)],
        [exact::Ciphertext::from_bytes(&bfv.params, &bfv.ring, &bytes),
            |x: &exact::Ciphertext<Bfv, Cpu>| x.to_bytes(&bfv.params)],
        [exact::SeededCiphertext::from_bytes(&bfv.params, &bfv.ring, &bytes),
            |x: &exact::SeededCiphertext<Bfv, Cpu>| x.to_bytes(&bfv.params)],
        [exact::Ciphertext::from_bytes(&bgv.params, &bgv.ring, &bytes),
            |x: &exact::Ciphertext<Bgv, Cpu>| x.to_bytes(&bgv.params)],
        [bigckks::Ciphertext::from_bytes(&big.params, &big.ring, &bytes),
            |x: &bigckks::Ciphertext<Cpu>| x.to_bytes(&big.params)],
        [EncryptedBits::from_bytes(&tf.params, cpu, &bytes), |x: &EncryptedBits<Cpu>| x.to_bytes(&tf.params)],
        [EncryptedUint::from_bytes(&tf.params, cpu, &bytes), |x: &EncryptedUint<Cpu>| x.to_bytes(&tf.params)],
        [EncryptedFlags::from_bytes(&tf.params, cpu, &bytes), |x: &EncryptedFlags<Cpu>| x.to_bytes(&tf.params)],
        [SeededBits::from_bytes(&tf.params, &bytes), |x: &SeededBits| x.to_bytes(&tf.params)],
        [SeededUint::from_bytes(&tf.params, &bytes), |x: &SeededUint| x.to_bytes(&tf.params)],
        [SeededFlags::from_bytes(&tf.params, &bytes), |x: &SeededFlags| x.to_bytes(&tf.params)],
        [CompactPublicKey::from_bytes(&tf.params, &bytes), |x: &CompactPublicKey| x.to_bytes(&tf.params)],
        [CompactBits::from_bytes(&tf.params, &bytes), |x: &CompactBits| x.to_bytes(&tf.params)],
        [CompactInt::from_bytes(&tf.params, &bytes), |x: &CompactInt| x.to_bytes(&tf.params)],
        [CompactFlags::from_bytes(&tf.params, &bytes), |x: &CompactFlags| x.to_bytes(&tf.params)],
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let (ck, bfv, bgv, big, tf) =
        (world::ckks(), world::bfv(), world::bgv(), world::bigckks(), world::tfhe());
    let (cpu, rng) = (&Cpu::new(), &mut world::rng(1));
    let bits = tf.secret.encrypt_bits(cpu, &[true], rng).expect("bits");
    let uint = tf.secret.encrypt_u64(cpu, &[77], 8, rng).expect("an integer");
    let public = CompactPublicKey::generate(&tf.secret, rng);
    let list = public.encrypt_i64(&[-77], 8, rng).expect("an integer");
    let strings = [
        (0, ck.params.to_bytes()),
        (1, bfv.params.to_bytes()),
        (2, bgv.params.to_bytes()),
        (3, big.params.to_bytes()),
        (4, tf.params.to_bytes()),
        (6, UserKey::new(&[5; 32]).to_bytes().map(|bytes| bytes.to_vec())),
        (7, ck.secret.to_bytes(&ck.params).map(|bytes| bytes.to_vec())),
        (9, big.secret.to_bytes(&big.params).map(|bytes| bytes.to_vec())),
        (10, tf.secret.to_bytes(&tf.params).map(|bytes| bytes.to_vec())),
        (11, ck.public.to_bytes(&ck.params)),
        (13, big.public.to_bytes(&big.params)),
        (14, ck.keys.to_bytes(&ck.params)),
        (16, big.keys.to_bytes(&big.params)),
        (17, tf.key.to_bytes(&tf.params)),
        (18, world::ckks_ciphertext(ck, 1).to_bytes(&ck.params)),
        (20, world::exact_ciphertext(bfv, 1).to_bytes(&bfv.params)),
        (22, world::exact_ciphertext(bgv, 1).to_bytes(&bgv.params)),
        (23, world::bigckks_ciphertext(big, 1).to_bytes(&big.params)),
        (24, bits.to_bytes(&tf.params)),
        (25, uint.to_bytes(&tf.params)),
        (30, public.to_bytes(&tf.params)),
        (32, list.to_bytes(&tf.params)),
    ];
    let with = |(number, bytes): (u8, he_core::Result<Vec<u8>>)| {
        let bytes = bytes.expect("bytes");
        [[&[number, 0][..], &bytes].concat(), [&[number, 1][..], &bytes].concat()]
    };
    strings.into_iter().flat_map(with).collect()
}
