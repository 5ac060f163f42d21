//! The key stream of AES-CTR on an encrypted key.

use super::EncryptedAesKey;
use crate::aes::{BLOCK, MIX, S_BOX, mul};
use crate::backend::Cpu;
use crate::error::Result;
use crate::tfhe::{BitTables, CircuitBootstrapper, Combination, HALF, LweBatch, LweOps, UnpaddedBits};
use std::collections::HashMap;

/// The bits of a byte.
const BITS: usize = 8;
/// The multiples in the lookup tables of a byte x: S(x), 2 S(x) and 3 S(x), the multiples in
/// MixColumns.
const MULTIPLES: [u8; 3] = [1, 2, 3];
/// The blocks that go through the rounds together: 4096 bootstraps per round, which fill a GPU.
pub const BLOCKS: usize = 32;

/// Computes AES-CTR key streams of one encrypted key.
///
/// # Cost
/// A block of AES-128 takes 1280 bootstraps, of AES-256 1792, and 128 for its bits as integers or
/// operands of gates. In sequence there are as many as rounds. Bytes that are the same in several
/// blocks are looked up once: of blocks with counters in sequence, most of the first round and
/// three quarters of the second.
#[derive(Debug)]
pub struct Transcipher<'a, B: LweOps = Cpu> {
    boot: &'a CircuitBootstrapper<B>,
    round_keys: UnpaddedBits<B>,
    rounds: usize,
    inner: BitTables<B>,
    last: BitTables<B>,
}

/// S(x) and its multiples as words of unpadded bits, the lowest bit first.
fn entries(multiples: &[u8]) -> Vec<Vec<u64>> {
    let bits = |byte: u8| (0..BITS).map(move |bit| u64::from(byte >> bit) << 63);
    let entry = |&s: &u8| multiples.iter().flat_map(|&factor| bits(mul(s, factor))).collect();
    S_BOX.iter().map(entry).collect()
}

/// The state of all blocks: which byte of a batch of bytes each of them is.
struct State {
    /// `[block][byte]`.
    places: Vec<usize>,
    /// The terms of the sum that is each byte of the batch.
    sums: Vec<Sum>,
}

/// A byte: multiples of looked-up bytes, as (multiple, byte), plus a byte of the round keys, plus a
/// known one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sum {
    terms: Vec<(usize, usize)>,
    key: usize,
    known: u8,
}

impl State {
    /// Bytes that are equal sums stand in the batch once.
    fn new(sums: impl Iterator<Item = Sum>) -> Self {
        let (mut found, mut places) = (HashMap::new(), Vec::new());
        let mut all: Vec<Sum> = Vec::new();
        for sum in sums {
            let place = *found.entry(sum.clone()).or_insert_with(|| {
                all.push(sum);
                all.len() - 1
            });
            places.push(place);
        }
        Self { places, sums: all }
    }

    /// The state before the first round.
    fn begin(counters: &[[u8; BLOCK]]) -> Self {
        let bytes = counters.iter().flat_map(|counter| counter.iter().enumerate());
        Self::new(bytes.map(|(key, &known)| Sum { terms: Vec::new(), key, known }))
    }

    /// SubBytes has been looked up; ShiftRows, MixColumns unless it is the last round, AddRoundKey.
    fn round(&self, round: usize, last: bool) -> Self {
        let bytes = (0..self.places.len()).map(|at| {
            let (first, byte) = (at / BLOCK * BLOCK, at % BLOCK);
            let (row, column) = (byte % 4, byte / 4);
            // Row r of a column comes from r columns further.
            let source = |row: usize| self.places[first + row + 4 * ((column + row) % 4)];
            let terms = if last {
                vec![(0, source(row))]
            } else {
                let multiple = |from: usize| usize::from(MIX[(4 + from - row) % 4]) - 1;
                (0..4).map(|from| (multiple(from), source(from))).collect()
            };
            Sum { terms, key: round * BLOCK + byte, known: 0 }
        });
        Self::new(bytes)
    }

    /// The bits of all bytes of the batch, or of each block's if `whole`: combinations of looked-up
    /// bits, `outputs` per byte, and of the round keys behind them.
    fn combinations(&self, outputs: usize, keys: usize, whole: bool) -> Vec<Combination> {
        let bit = |sum: &Sum, bit: usize| Combination {
            constant: u64::from(sum.known >> bit & 1) * HALF,
            terms: sum
                .terms
                .iter()
                .map(|&(multiple, byte)| (1, byte * outputs + multiple * BITS + bit))
                .chain([(1, keys + sum.key * BITS + bit)])
                .collect(),
        };
        let bits = |sum| (0..BITS).map(move |at| bit(sum, at));
        if whole {
            self.places.iter().flat_map(|&place| bits(&self.sums[place])).collect()
        } else {
            self.sums.iter().flat_map(bits).collect()
        }
    }
}

impl<'a, B: LweOps> Transcipher<'a, B> {
    /// Expands the round keys on the device.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::error::Error::Argument) for parameters under which AES would fail
    /// more often than in one of 2^32 lookups;
    /// [`Error::ParamsMismatch`](crate::error::Error::ParamsMismatch),
    /// [`Error::KeyMismatch`](crate::error::Error::KeyMismatch); device errors.
    pub fn new(boot: &'a CircuitBootstrapper<B>, key: &EncryptedAesKey) -> Result<Self> {
        let (params, backend) = (boot.params(), boot.bootstrapper().backend());
        params.tfhe().check_same(key.params(), "encrypted AES key")?;
        params.expect_rare_failures(BITS, MIX.len())?;
        crate::key_set::common("encrypted AES key", key.key_set(), boot.bootstrapper().key_set())?;
        let table = |multiples| BitTables::new(backend, params.tfhe(), &entries(multiples));
        let (inner, last) = (table(&MULTIPLES)?, table(&MULTIPLES[..1])?);
        Ok(Self { boot, round_keys: key.expand(backend)?, rounds: key.size().rounds(), inner, last })
    }

    /// The encryptions of counter blocks under AES: `[block][byte][bit]`, the lowest bit first.
    ///
    /// # Errors
    /// Device errors.
    pub fn key_stream(&self, counters: &[[u8; BLOCK]]) -> Result<UnpaddedBits<B>> {
        self.batches(counters, &vec![0; counters.len() * BLOCK])
    }

    /// The message that AES-CTR encrypted to `ciphertext` with this first counter block, which
    /// counts as a number of 128 bits (NIST SP 800-38A): `[byte][bit]`, the lowest bit first.
    ///
    /// # Errors
    /// Device errors.
    pub fn decrypt(&self, counter: &[u8; BLOCK], ciphertext: &[u8]) -> Result<UnpaddedBits<B>> {
        let first = u128::from_be_bytes(*counter);
        let blocks = ciphertext.len().div_ceil(BLOCK) as u128;
        let counters: Vec<_> = (0..blocks).map(|block| first.wrapping_add(block).to_be_bytes()).collect();
        self.batches(&counters, ciphertext)
    }

    /// The sum of the key stream and as many bytes.
    fn batches(&self, counters: &[[u8; BLOCK]], bytes: &[u8]) -> Result<UnpaddedBits<B>> {
        let batches = counters.chunks(BLOCKS).zip(bytes.chunks(BLOCKS * BLOCK));
        let parts =
            batches.map(|(counters, bytes)| self.batch(counters, bytes)).collect::<Result<Vec<_>>>()?;
        let (backend, params) = (self.boot.bootstrapper().backend(), self.boot.params().tfhe());
        let none = LweBatch::zeros(backend, params, 0)?;
        let parts: Vec<_> = [&none].into_iter().chain(&parts).collect();
        Ok(UnpaddedBits::from_ciphertexts(LweBatch::concat(&parts)?))
    }

    fn batch(&self, counters: &[[u8; BLOCK]], bytes: &[u8]) -> Result<LweBatch<B>> {
        let (boot, keys) = (self.boot.bootstrapper(), self.round_keys.ciphertexts());
        let mut state = State::begin(counters);
        let mut bits = boot.combine(keys, &state.combinations(0, 0, false))?;
        for round in 1..=self.rounds {
            let last = round == self.rounds;
            let tables = if last { &self.last } else { &self.inner };
            let found = self.boot.lookup(&bits, tables)?;
            state = state.round(round, last);
            let pool = LweBatch::concat(&[&found, keys])?;
            let mut sums = state.combinations(tables.outputs(), found.count(), last);
            if last {
                sums.truncate(bytes.len() * BITS);
                for (at, sum) in sums.iter_mut().enumerate() {
                    let bit = u64::from(bytes[at / BITS] >> (at % BITS) & 1);
                    sum.constant = sum.constant.wrapping_add(bit * HALF);
                }
            }
            bits = boot.combine(&pool, &sums)?;
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::{Bulk, BulkCipher, Key, KeySize, Reference};
    use crate::error::Error;
    use crate::testing::seeded;
    use crate::tfhe::{
        BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, GateEvaluator, TfheSecretKey, presets,
    };
    use rand::{Rng, rngs::ChaCha20Rng};

    fn small() -> CircuitParams {
        let tfhe = presets::insecure_phases().unwrap();
        CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap()
    }

    struct Keys {
        secret: TfheSecretKey,
        key: BootstrapKey,
        boot: CircuitBootstrapper,
        rng: ChaCha20Rng,
    }

    impl Keys {
        fn new() -> Self {
            let (mut rng, params) = (seeded(), small());
            let secret = TfheSecretKey::generate(params.tfhe(), &mut rng);
            let key = BootstrapKey::generate(&secret, &mut rng);
            let circuit = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
            let boot = CircuitBootstrapper::new(&Cpu::new(), &key, &circuit).unwrap();
            Self { secret, key, boot, rng }
        }

        fn bytes(&self, bits: &UnpaddedBits) -> Vec<u8> {
            let bits = self.secret.decrypt_unpadded(bits).unwrap();
            let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| 2 * byte + u8::from(bit));
            bits.chunks_exact(8).map(byte).collect()
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// NIST SP 800-38A, F.5.1 and F.5.5: keys, ciphertexts, one plaintext and counter.
    #[test]
    fn nist_vectors_are_decrypted() {
        let mut keys = Keys::new();
        let counter: [u8; 16] = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").try_into().unwrap();
        let plaintext = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        for (key, ciphertext) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff",
            ),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5",
            ),
        ] {
            let key = Key::from_slice(&hex(key)).unwrap();
            let encrypted = EncryptedAesKey::generate(&keys.secret, &key, &mut keys.rng).unwrap();
            assert_eq!((encrypted.size(), encrypted.key_set()), (key.size(), Some(keys.secret.key_set())));
            let transcipher = Transcipher::new(&keys.boot, &encrypted).unwrap();
            let found = transcipher.decrypt(&counter, &hex(ciphertext)).unwrap();
            assert_eq!(keys.bytes(&found), plaintext);
        }
    }

    /// Random keys of all sizes, and lengths that are not whole blocks, against the reference, with
    /// a counter that overflows; then the bits as operands of gates and as integers.
    #[test]
    fn messages_are_those_of_the_reference() {
        let mut keys = Keys::new();
        for (size, length) in [(KeySize::Bits128, 44), (KeySize::Bits192, 6), (KeySize::Bits256, 0)] {
            let key = Key::generate(size, &mut keys.rng);
            let mut message = vec![0; length];
            keys.rng.fill_bytes(&mut message);
            let mut counter = [0xff; 16];
            counter[0] = keys.rng.next_u32() as u8 | 1;
            let counter = if length == 44 { [0xff; 16] } else { counter };
            let mut sent = message.clone();
            Reference::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut sent)).unwrap();
            let encrypted = EncryptedAesKey::generate(&keys.secret, &key, &mut keys.rng).unwrap();
            let transcipher = Transcipher::new(&keys.boot, &encrypted).unwrap();
            let bits = transcipher.decrypt(&counter, &sent).unwrap();
            assert_eq!(keys.bytes(&bits), message, "{size:?}");

            let boot = keys.boot.bootstrapper();
            if length == 44 {
                let numbers = message.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
                let numbers: Vec<u64> = numbers.map(u64::from).collect();
                let x = bits.integers(boot, 32).unwrap();
                assert_eq!(keys.secret.decrypt_u64(&x).unwrap(), numbers);
                assert!(matches!(
                    bits.integers(boot, 20),
                    Err(Error::BatchMismatch { left: 352, right: 340 })
                ));
                assert!(matches!(bits.integers(boot, 7), Err(Error::Argument { .. })));
            }
            let gates = GateEvaluator::new(&Cpu::new(), &keys.key).unwrap();
            let padded = bits.padded(boot).unwrap();
            let inverted = keys.secret.decrypt_bits(&gates.not(&padded).unwrap()).unwrap();
            let bit = |at: usize| message[at / 8] >> (at % 8) & 1 == 0;
            assert_eq!(inverted, (0..8 * length).map(bit).collect::<Vec<_>>());
        }
    }

    /// Equal bytes are looked up once, whichever blocks they are in.
    #[test]
    fn bytes_that_agree_are_computed_once() {
        let counters: Vec<[u8; 16]> = (0..32u128).map(|i| (1000 + i).to_be_bytes()).collect();
        let mut state = State::begin(&counters);
        let mut bytes = vec![state.sums.len()];
        for round in 1..4 {
            state = state.round(round, round == 3);
            bytes.push(state.sums.len());
        }
        // 1000 + i for i < 24 has the byte before the last in common, and then another one.
        assert_eq!(bytes, [14 + 2 + 32, 8 + 2 * 4 + 32 * 4, 512, 512]);
    }

    #[test]
    fn keys_of_others_are_refused() {
        let mut keys = Keys::new();
        let key = Key::generate(KeySize::Bits128, &mut keys.rng);
        let stranger = TfheSecretKey::generate(small().tfhe(), &mut keys.rng);
        let encrypted = EncryptedAesKey::generate(&stranger, &key, &mut keys.rng).unwrap();
        assert!(matches!(Transcipher::new(&keys.boot, &encrypted), Err(Error::KeyMismatch { .. })));
        let other = TfheSecretKey::generate(&presets::insecure_small().unwrap(), &mut keys.rng);
        let encrypted = EncryptedAesKey::generate(&other, &key, &mut keys.rng).unwrap();
        assert!(matches!(Transcipher::new(&keys.boot, &encrypted), Err(Error::ParamsMismatch { .. })));
    }
}
