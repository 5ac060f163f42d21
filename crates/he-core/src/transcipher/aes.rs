//! AES on an encrypted key: key streams of CTR, and decryption of single blocks.

use super::EncryptedAesKey;
use crate::aes::{BLOCK, INV_MIX, INV_S_BOX, MIX, S_BOX, mul};
use crate::backend::Cpu;
use crate::error::Result;
use crate::tfhe::{BitTables, CircuitBootstrapper, Combination, HALF, LweBatch, LweOps, UnpaddedBits};
use derive_where::derive_where;
use std::collections::HashMap;

/// The bits of a byte.
const BITS: usize = 8;
/// The blocks that go through the rounds together: 4096 bootstraps per round, which fill a GPU.
pub const BLOCKS: usize = 32;

/// The parts in which encryption of a block and the equivalent inverse cipher (FIPS-197, 5.3.5)
/// differ.
struct Cipher {
    s_box: &'static [u8; 256],
    /// The first row of the matrix of MixColumns.
    mix: [u8; 4],
    /// The multiples of a substituted byte in that matrix, which lookup tables yield.
    multiples: &'static [u8],
    /// The columns from which row 1 comes; row r comes from r times as many.
    shift: usize,
}

const ENCRYPTION: Cipher = Cipher { s_box: &S_BOX, mix: MIX, multiples: &[1, 2, 3], shift: 1 };
const DECRYPTION: Cipher = Cipher { s_box: &INV_S_BOX, mix: INV_MIX, multiples: &[9, 11, 13, 14], shift: 3 };

impl Cipher {
    /// Multiples of substituted bytes as words of unpadded bits, the lowest bit first.
    fn entries(&self, multiples: &[u8]) -> Vec<Vec<u64>> {
        let bits = |byte: u8| (0..BITS).map(move |bit| u64::from(byte >> bit & 1) << 63);
        let entry = |&s: &u8| multiples.iter().flat_map(|&factor| bits(mul(s, factor))).collect();
        self.s_box.iter().map(entry).collect()
    }

    /// The factor of row `from` of a column in row `to` after MixColumns.
    fn factor(&self, from: usize, to: usize) -> u8 {
        self.mix[(4 + from - to) % 4]
    }

    /// Where the tables have that factor among their multiples.
    fn multiple(&self, from: usize, to: usize) -> usize {
        let factor = self.factor(from, to);
        self.multiples.iter().position(|&multiple| multiple == factor).unwrap_or(0)
    }
}

/// A cipher on a device: its round keys in the order of their use, and its tables.
#[derive_where(Debug)]
struct Rounds<B: LweOps> {
    #[derive_where(skip)]
    cipher: &'static Cipher,
    keys: UnpaddedBits<B>,
    inner: BitTables<B>,
    last: BitTables<B>,
}

impl<B: LweOps> Rounds<B> {
    fn new(boot: &CircuitBootstrapper<B>, cipher: &'static Cipher, keys: UnpaddedBits<B>) -> Result<Self> {
        let (backend, params) = (boot.bootstrapper().backend(), boot.params().tfhe());
        let table = |multiples| BitTables::new(backend, params, &cipher.entries(multiples));
        let (inner, last) = (table(cipher.multiples)?, table(&[1])?);
        Ok(Self { cipher, keys, inner, last })
    }

    /// The round keys of the equivalent inverse cipher: in reverse order, those of inner rounds
    /// after InvMixColumns.
    fn inverse(boot: &CircuitBootstrapper<B>, keys: &UnpaddedBits<B>, rounds: usize) -> Result<Self> {
        let combinations = (0..=rounds).rev().flat_map(|round| {
            let inner = round > 0 && round < rounds;
            (0..BLOCK * BITS).map(move |at| inverse_key_bit(round, at / BITS, at % BITS, inner))
        });
        let combinations: Vec<_> = combinations.collect();
        let keys = boot.bootstrapper().combine(keys.ciphertexts(), &combinations)?;
        Self::new(boot, &DECRYPTION, UnpaddedBits::from_ciphertexts(keys))
    }
}

/// A bit of a round key, or of the round key after InvMixColumns, in bits of all round keys.
fn inverse_key_bit(round: usize, byte: usize, bit: usize, mixed: bool) -> Combination {
    let place = |byte: usize, bit: usize| (1, (round * BLOCK + byte) * BITS + bit);
    if !mixed {
        return Combination { constant: 0, terms: vec![place(byte, bit)] };
    }
    let (row, column) = (byte % 4, byte / 4);
    let terms = (0..4).flat_map(|from| {
        let factor = DECRYPTION.factor(from, row);
        let reaches = move |other: &usize| mul(1 << other, factor) >> bit & 1 == 1;
        (0..BITS).filter(reaches).map(move |other| place(4 * column + from, other))
    });
    Combination { constant: 0, terms: terms.collect() }
}

/// Computes AES on one encrypted key: key streams of AES-CTR, and decryption of blocks.
///
/// # Cost
/// A block of AES-128 takes 1280 bootstraps, of AES-256 1792, and 128 for its bits as integers or
/// operands of gates. In sequence there are as many as rounds. Bytes that are the same in several
/// blocks are looked up once: of blocks with counters in sequence, most of the first round and
/// three quarters of the second.
#[derive_where(Debug)]
pub struct Transcipher<'a, B: LweOps = Cpu> {
    boot: &'a CircuitBootstrapper<B>,
    encryption: Rounds<B>,
    rounds: usize,
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

    /// The state before the first round on these blocks.
    fn begin(blocks: &[[u8; BLOCK]]) -> Self {
        let bytes = blocks.iter().flat_map(|block| block.iter().enumerate());
        Self::new(bytes.map(|(key, &known)| Sum { terms: Vec::new(), key, known }))
    }

    /// SubBytes has been looked up; ShiftRows, MixColumns unless it is the last round, AddRoundKey.
    fn round(&self, cipher: &Cipher, round: usize, last: bool) -> Self {
        let bytes = (0..self.places.len()).map(|at| {
            let (first, byte) = (at / BLOCK * BLOCK, at % BLOCK);
            let (row, column) = (byte % 4, byte / 4);
            let source = |row: usize| self.places[first + row + 4 * ((column + cipher.shift * row) % 4)];
            let terms = if last {
                vec![(0, source(row))]
            } else {
                (0..4).map(|from| (cipher.multiple(from, row), source(from))).collect()
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
        params.expect_rare_failures(boot.bootstrapper().noise(), BITS, MIX.len())?;
        crate::key_set::common("encrypted AES key", key.key_set(), boot.bootstrapper().key_set())?;
        let encryption = Rounds::new(boot, &ENCRYPTION, key.expand(backend)?)?;
        Ok(Self { boot, encryption, rounds: key.size().rounds() })
    }

    /// The encryptions of counter blocks under AES: `[block][byte][bit]`, the lowest bit first.
    ///
    /// # Errors
    /// Device errors.
    pub fn key_stream(&self, counters: &[[u8; BLOCK]]) -> Result<UnpaddedBits<B>> {
        self.batches(&self.encryption, counters, &vec![0; counters.len() * BLOCK])
    }

    /// The blocks that AES encrypts to these: `[block][byte][bit]`, the lowest bit first. It takes
    /// as many bootstraps as a key stream, by tables of 32 bits instead of 24.
    ///
    /// Equal blocks of a message are equal ciphertexts, which everybody sees: modes of operation
    /// exist to prevent that, and [`decrypt`](Self::decrypt) has one. This is the building block of
    /// those that decrypt by the inverse cipher, and a way to read what was encrypted without one
    /// (ECB, NIST SP 800-38A, 6.1). The parameters' bound on failures holds here as well: results
    /// are sums of four lookups too, and of at most 19 fresh bits of the key, whose noise is
    /// smaller by far than that of a lookup.
    ///
    /// # Errors
    /// Device errors.
    pub fn decrypt_blocks(&self, blocks: &[[u8; BLOCK]]) -> Result<UnpaddedBits<B>> {
        let inverse = Rounds::inverse(self.boot, &self.encryption.keys, self.rounds)?;
        self.batches(&inverse, blocks, &vec![0; blocks.len() * BLOCK])
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
        self.batches(&self.encryption, &counters, ciphertext)
    }

    /// The sums of the results of a cipher on blocks and as many bytes.
    fn batches(&self, rounds: &Rounds<B>, blocks: &[[u8; BLOCK]], bytes: &[u8]) -> Result<UnpaddedBits<B>> {
        let batches = blocks.chunks(BLOCKS).zip(bytes.chunks(BLOCKS * BLOCK));
        let parts =
            batches.map(|(blocks, bytes)| self.batch(rounds, blocks, bytes)).collect::<Result<Vec<_>>>()?;
        let (backend, params) = (self.boot.bootstrapper().backend(), self.boot.params().tfhe());
        let none = LweBatch::zeros(backend, params, 0)?;
        let parts: Vec<_> = [&none].into_iter().chain(&parts).collect();
        Ok(UnpaddedBits::from_ciphertexts(LweBatch::concat(&parts)?))
    }

    fn batch(&self, rounds: &Rounds<B>, blocks: &[[u8; BLOCK]], bytes: &[u8]) -> Result<LweBatch<B>> {
        let (boot, keys) = (self.boot.bootstrapper(), rounds.keys.ciphertexts());
        let mut state = State::begin(blocks);
        let mut bits = boot.combine(keys, &state.combinations(0, 0, false))?;
        for round in 1..=self.rounds {
            let last = round == self.rounds;
            let tables = if last { &rounds.last } else { &rounds.inner };
            let found = self.boot.lookup(&bits, tables)?;
            state = state.round(rounds.cipher, round, last);
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
    use crate::aes::{Bulk, BulkCipher, Direction, Key, KeySize, Reference};
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

    /// FIPS-197, C.1 and C.3, and random blocks under a random key, against the reference.
    #[test]
    fn blocks_are_decrypted_by_the_inverse_cipher() {
        let mut keys = Keys::new();
        let plain: [u8; 16] = hex("00112233445566778899aabbccddeeff").try_into().unwrap();
        let mut random = [[0; 16]; 2];
        random.iter_mut().for_each(|block| keys.rng.fill_bytes(block));
        let mut bytes = [0; 24];
        keys.rng.fill_bytes(&mut bytes);
        let of_standard = |length: u8| (0..length).collect::<Vec<u8>>();
        for (key, blocks, expected) in [
            (of_standard(16), vec![plain], Some("69c4e0d86a7b0430d8cdb78070b4c55a")),
            (of_standard(32), vec![plain], Some("8ea2b7ca516745bfeafc49904b496089")),
            (bytes.to_vec(), random.to_vec(), None),
        ] {
            let key = Key::from_slice(&key).unwrap();
            let mut sent = blocks.clone();
            Reference::new()
                .hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(sent.as_flattened_mut()))
                .unwrap();
            assert!(expected.is_none_or(|expected| hex(expected) == sent[0]));
            let encrypted = EncryptedAesKey::generate(&keys.secret, &key, &mut keys.rng).unwrap();
            let transcipher = Transcipher::new(&keys.boot, &encrypted).unwrap();
            let found = transcipher.decrypt_blocks(&sent).unwrap();
            assert_eq!(keys.bytes(&found), blocks.as_flattened());
        }
    }

    /// Equal bytes are looked up once, whichever blocks they are in.
    #[test]
    fn bytes_that_agree_are_computed_once() {
        let counters: Vec<[u8; 16]> = (0..32u128).map(|i| (1000 + i).to_be_bytes()).collect();
        let mut state = State::begin(&counters);
        let mut bytes = vec![state.sums.len()];
        for round in 1..4 {
            state = state.round(&ENCRYPTION, round, round == 3);
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
