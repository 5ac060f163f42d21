use super::*;
use crate::aes::{Bulk, BulkCipher, Key, KeySchedule, KeySize, MIX, Reference, S_BOX, mul};
use crate::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper, presets};
use crate::ckks::{Decryptor, SecretEncryptor, SeededCiphertext};
use crate::ring::Ring;
use crate::rlwe::{KeyRequirements, SecretKey};
use crate::testing::seeded;
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

struct Keys {
    boot: BootstrapParams,
    ring: Ring<Cpu>,
    secret: SecretKey,
    keys: EvaluationKeys<Cpu>,
    boot_keys: BootstrapKeys<Cpu>,
    rng: ChaCha20Rng,
}

impl Keys {
    fn new(log_n: u32) -> Self {
        let mut rng = seeded();
        let spec = BootstrapSpec { log_n, log_slots: log_n - 1, ..presets::Preset::Fast.spec() };
        let boot = BootstrapParams::insecure(spec).unwrap();
        let ring = boot.ring(Cpu::new()).unwrap();
        let secret = SecretKey::generate(boot.params().rlwe(), &mut rng);
        let keys = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), &mut rng).unwrap();
        let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng).unwrap();
        Self { boot, ring, secret, keys, boot_keys, rng }
    }

    fn encrypted(&mut self, key: &Key) -> PackedAesKey {
        PackedAesKey::generate(self.boot.params(), &self.secret, &self.ring, key, &mut self.rng).unwrap()
    }

    fn decrypted(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<f64>> {
        let decryptor = Decryptor::new(self.boot.params(), &self.secret, &self.ring).unwrap();
        let plain = decryptor.decrypt(ct).unwrap();
        crate::ckks::Encoder::new(self.boot.params(), &self.ring).unwrap().decode_real(&plain).unwrap()
    }
}

/// All slots filled, a counter that overflows, a message that ends inside a block: the numbers are
/// those of the reference, and every bit of the key stream is right to 2^-12.
#[test]
fn messages_are_those_of_the_reference() {
    let mut keys = Keys::new(8);
    let slots = keys.boot.params().slots();
    let key = Key::generate(KeySize::Bits128, &mut keys.rng);
    let mut counter = [0xff; 16];
    counter[15] = keys.rng.random();
    let mut message = vec![0; slots * 16 - 4];
    keys.rng.fill_bytes(&mut message);
    let mut stream = vec![0; slots * 16];
    Reference::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut stream)).unwrap();
    let sent: Vec<u8> = message.iter().zip(&stream).map(|(message, key)| message ^ key).collect();

    let encrypted = keys.encrypted(&key);
    let ev = Evaluator::new(keys.boot.params(), &keys.ring).unwrap();
    let bootstrapper = Bootstrapper::new(&keys.boot, &keys.ring).unwrap();
    let refresher = bootstrapper.with_keys(&keys.boot_keys);
    let transcipher = PackedTranscipher::new(&ev, &keys.keys, &refresher, &encrypted).unwrap();
    let found = transcipher.key_stream(&counter, slots).unwrap();
    for bit in 0..8 {
        for (byte, values) in keys.decrypted(found.bits(bit).unwrap()).iter().enumerate() {
            for (block, value) in values.iter().enumerate() {
                let expected = f64::from(stream[16 * block + byte] >> bit & 1);
                assert!((value - expected).abs() < 1.0 / 4096.0, "{block} {byte} {bit}: {value}");
            }
        }
    }
    assert!(matches!(found.bits(8), Err(Error::BatchRange { start: 8, .. })));

    let signed = NumberFormat::signed(16).unwrap().with_fraction(15);
    let numbers = keys.decrypted(&transcipher.decrypt(&found, &sent, signed).unwrap());
    assert_eq!(numbers.len(), 8);
    for i in 0..8 * slots {
        let bytes = message.get(2 * i..2 * i + 2);
        let expected = bytes.map_or(0.0, |b| f64::from(i16::from_le_bytes([b[0], b[1]])) / 32768.0);
        assert!((numbers[i % 8][i / 8] - expected).abs() < 1e-3, "{i}");
    }
    let bytes =
        keys.decrypted(&transcipher.decrypt(&found, &sent, NumberFormat::unsigned(8).unwrap()).unwrap());
    for (i, &expected) in message.iter().enumerate() {
        assert!((bytes[i % 16][i / 16] - f64::from(expected)).abs() < 0.1, "{i}");
    }
    let odd = transcipher.decrypt(&found, &sent[1..], signed);
    assert!(matches!(odd, Err(Error::Argument { .. })));
}

/// All bytes of a bit in one ciphertext: a sixteenth of the blocks, a counter that overflows, a
/// message that ends inside a block; the key stream and the numbers are those of the reference.
#[test]
fn planes_agree_with_the_reference() {
    let mut keys = Keys::new(8);
    let params = keys.boot.params().clone();
    let blocks = params.slots() / 16;
    let key = Key::generate(KeySize::Bits128, &mut keys.rng);
    let mut counter = [0xff; 16];
    counter[15] = keys.rng.random();
    let mut message = vec![0; blocks * 16 - 4];
    keys.rng.fill_bytes(&mut message);
    let mut stream = vec![0; blocks * 16];
    Reference::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut stream)).unwrap();
    let sent: Vec<u8> = message.iter().zip(&stream).map(|(message, key)| message ^ key).collect();

    let encrypted = keys.encrypted(&key);
    let ev = Evaluator::new(&params, &keys.ring).unwrap();
    let bootstrapper = Bootstrapper::new(&keys.boot, &keys.ring).unwrap();
    let refresher = bootstrapper.with_keys(&keys.boot_keys);
    let few = PlaneTranscipher::new(&ev, &keys.keys, &refresher, &encrypted).map(drop);
    assert!(matches!(few, Err(Error::MissingGaloisKey { .. })), "{few:?}");
    let needs = PackedAesKey::plane_requirements(&params);
    let plane_keys = EvaluationKeys::generate(&keys.secret, &keys.ring, needs, &mut keys.rng).unwrap();
    let transcipher = PlaneTranscipher::new(&ev, &plane_keys, &refresher, &encrypted).unwrap();
    assert_eq!(transcipher.capacity(), blocks);
    let found = transcipher.key_stream(&counter, blocks + 1).map(drop);
    assert!(matches!(found, Err(Error::TooManyValues { capacity, .. }) if capacity == blocks), "{found:?}");
    let found = transcipher.key_stream(&counter, blocks).unwrap();
    for bit in 0..8 {
        let values = &keys.decrypted(found.bits(bit).unwrap())[0];
        for (slot, value) in values.iter().enumerate() {
            let (byte, block) = (slot / blocks, slot % blocks);
            let expected = f64::from(stream[16 * block + byte] >> bit & 1);
            assert!((value - expected).abs() < 1.0 / 4096.0, "{block} {byte} {bit}: {value}");
        }
    }
    assert!(matches!(found.bits(8), Err(Error::BatchRange { start: 8, .. })));

    let signed = NumberFormat::signed(16).unwrap().with_fraction(15);
    for (format, width, most) in [(signed, 2, 1e-3), (NumberFormat::unsigned(8).unwrap(), 1, 0.1)] {
        let numbers = &keys.decrypted(&transcipher.decrypt(&found, &sent, format).unwrap())[0];
        for (slot, value) in numbers.iter().enumerate() {
            let (byte, block) = (slot / blocks, slot % blocks);
            let bytes = message.get(16 * block + byte..16 * block + byte + width);
            let expected = match bytes.filter(|_| byte % width == 0) {
                None => 0.0,
                Some(&[byte]) => f64::from(byte),
                Some(bytes) => f64::from(i16::from_le_bytes([bytes[0], bytes[1]])) / 32768.0,
            };
            assert!((value - expected).abs() < most, "byte {byte} of block {block}: {value}");
        }
    }
    let odd = transcipher.decrypt(&found, &sent[1..], signed);
    assert!(matches!(odd, Err(Error::Argument { .. })));
    let long = transcipher.decrypt(&found, &vec![0; 16 * (blocks + 1)], signed);
    assert!(matches!(long, Err(Error::TooManyValues { .. })));
}

/// Every bit of every round key of all sizes, in all slots.
#[test]
fn round_keys_are_expanded() {
    let mut keys = Keys::new(8);
    let ev = Evaluator::new(keys.boot.params(), &keys.ring).unwrap();
    for size in [KeySize::Bits128, KeySize::Bits192, KeySize::Bits256] {
        let key = Key::generate(size, &mut keys.rng);
        let schedule = KeySchedule::new(&key);
        let encrypted = keys.encrypted(&key);
        assert_eq!((encrypted.size(), encrypted.key_set()), (size, Some(keys.secret.key_set())));
        // As a file carries it.
        let params = keys.boot.params();
        let bytes = encrypted.ciphertexts().to_bytes(params).unwrap();
        let read = SeededCiphertext::from_bytes(params, &keys.ring, &bytes).unwrap();
        let encrypted = PackedAesKey::from_ciphertexts(read).unwrap();
        assert_eq!(encrypted.size(), size);
        let expanded = RoundKeys::new(&ev, &encrypted).unwrap();
        for (round, expected) in schedule.expose_round_keys().iter().enumerate() {
            let level = 19 - round % 4 * 5;
            let found = expanded.expand(&ev, &keys.keys, round, level).unwrap();
            for (bit, found) in found.iter().enumerate() {
                assert_eq!((found.0.level(), found.0.slots()), (level, keys.boot.params().slots()));
                for (values, byte) in keys.decrypted(&found.0).iter().zip(expected) {
                    let expected = f64::from(byte >> bit & 1);
                    assert!(values.iter().all(|value| (value - expected).abs() < 1e-6), "{size:?} {round}");
                }
            }
        }
    }
}

/// x (1 - y) + y (1 - x), x^2 (3 - 2x), SubBytes and MixColumns, on all bytes against tables.
#[test]
fn steps_are_those_of_aes() {
    let mut keys = Keys::new(8);
    let ev = Evaluator::new(keys.boot.params(), &keys.ring).unwrap();
    let bits = Bits { ev: &ev, keys: &keys.keys };
    // Each byte of 128 blocks has 128 values in sequence, which together are all.
    let byte = |block: usize, byte: usize| (16 * byte + block) as u8;
    let encryptor = SecretEncryptor::new(keys.boot.params(), &keys.secret, &keys.ring).unwrap();
    let slots = keys.boot.params().slots();
    let mut rng = ChaCha20Rng::seed_from_u64(keys.rng.random());
    let state = each_bit(|bit| {
        let value = |at: usize| f64::from(byte(at % slots, at / slots) >> bit & 1);
        let values: Vec<f64> = (0..16 * slots).map(value).collect();
        encryptor.encrypt_real(&values, &mut rng)?.expand().map(Bytes)
    });
    let state = state.unwrap();
    let check = |found: &[Bytes<Cpu>; 8], expected: &dyn Fn(usize) -> [u8; 16], what: &str| {
        for (bit, found) in found.iter().enumerate() {
            for (at, values) in keys.decrypted(&found.0).iter().enumerate() {
                for (block, value) in values.iter().enumerate() {
                    let expected = f64::from(expected(block)[at] >> bit & 1);
                    assert!((value - expected).abs() < 1e-5, "{what}: block {block}, byte {at}, bit {bit}");
                }
            }
        }
    };
    let block = |block: usize| std::array::from_fn(|at| byte(block, at));
    check(&state, &block, "encryption");
    check(&bits.clean(&state).unwrap(), &block, "cleaning");
    let substituted = |of: usize| block(of).map(|byte| S_BOX[usize::from(byte)]);
    let found = bits.substitute(&state).unwrap();
    assert_eq!(found[0].0.level() + Bits::<Cpu>::SUBSTITUTE, state[0].0.level());
    check(&found, &substituted, "SubBytes");
    let shifted = |of: usize| std::array::from_fn(|at| block(of)[(at + 4 * (at % 4)) % 16]);
    check(&bits.shift_rows(&state).unwrap(), &shifted, "ShiftRows");
    let mixed = |of: usize| {
        std::array::from_fn(|at| {
            let (column, row) = (at / 4 * 4, at % 4);
            let term = |from: usize| mul(block(of)[column + from], MIX[(4 + from - row) % 4]);
            (0..4).fold(block(of)[at], |sum, from| sum ^ term(from))
        })
    };
    let found = bits.mix_and_add(&state, &state).unwrap();
    assert_eq!(found[0].0.level() + Bits::<Cpu>::MIX, state[0].0.level());
    check(&found, &mixed, "MixColumns");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut keys = Keys::new(8);
    let (key, params) = (Key::generate(KeySize::Bits128, &mut keys.rng), keys.boot.params().clone());
    let encrypted = keys.encrypted(&key);
    let ev = Evaluator::new(&params, &keys.ring).unwrap();
    let bootstrapper = Bootstrapper::new(&keys.boot, &keys.ring).unwrap();
    let refresher = bootstrapper.with_keys(&keys.boot_keys);
    let transcipher = PackedTranscipher::new(&ev, &keys.keys, &refresher, &encrypted).unwrap();
    let slots = params.slots();
    let found = transcipher.key_stream(&[0; 16], slots + 1);
    assert!(matches!(found, Err(Error::TooManyValues { capacity, .. }) if capacity == slots));

    // A key of other evaluation keys, evaluation keys that lack some, and too few levels.
    let stranger = SecretKey::generate(params.rlwe(), &mut keys.rng);
    let other = PackedAesKey::generate(&params, &stranger, &keys.ring, &key, &mut keys.rng).unwrap();
    let found = PackedTranscipher::new(&ev, &keys.keys, &refresher, &other).map(drop);
    assert!(matches!(found, Err(Error::KeyMismatch { .. })), "{found:?}");
    let few = KeyRequirements::new().relinearisation().conjugation();
    let few = EvaluationKeys::generate(&keys.secret, &keys.ring, few, &mut keys.rng).unwrap();
    let found = PackedTranscipher::new(&ev, &few, &refresher, &encrypted).map(drop);
    assert!(matches!(found, Err(Error::MissingGaloisKey { .. })), "{found:?}");
    let spec = BootstrapSpec { log_n: 8, log_slots: 7, join: None, ..presets::Preset::Small.spec() };
    let small = BootstrapParams::insecure(spec).unwrap();
    let ring = small.ring(Cpu::new()).unwrap();
    let secret = SecretKey::generate(small.params().rlwe(), &mut keys.rng);
    let eval = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), &mut keys.rng).unwrap();
    let boot_keys = BootstrapKeys::generate(&secret, &small, &ring, &mut keys.rng).unwrap();
    let ev = Evaluator::new(small.params(), &ring).unwrap();
    let bootstrapper = Bootstrapper::new(&small, &ring).unwrap();
    let encrypted = PackedAesKey::generate(small.params(), &secret, &ring, &key, &mut keys.rng).unwrap();
    let refresher = bootstrapper.with_keys(&boot_keys);
    let found = PackedTranscipher::new(&ev, &eval, &refresher, &encrypted).map(drop);
    assert!(matches!(found, Err(Error::LevelExhausted { needed: 9, left: 4 })), "{found:?}");

    // Ciphertexts that are not of a key.
    let encryptor = SecretEncryptor::new(&params, &keys.secret, &keys.ring).unwrap();
    let full = encryptor.encrypt_real(&vec![0.0; 11 * slots], &mut keys.rng).unwrap();
    let found = PackedAesKey::from_ciphertexts(full).map(drop);
    assert!(matches!(found, Err(Error::SlotCount { found: 128, capacity: 64 })), "{found:?}");
    let encoder = crate::ckks::Encoder::new(&params, &keys.ring).unwrap();
    let plain = encoder.encode_batch(&[&[Complex64::ONE][..]; 12], params.encoding().slots(64)).unwrap();
    let found = PackedAesKey::from_ciphertexts(encryptor.encrypt(&plain, &mut keys.rng).unwrap()).map(drop);
    assert!(matches!(found, Err(Error::Argument { .. })), "{found:?}");
    assert!(matches!(NumberFormat::signed(24), Err(Error::Argument { .. })));
}
