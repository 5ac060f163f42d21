//! Known answers: today's code writes the golden files, reads them back to the right values, and
//! they mean what `docs/format.md` says. The last is checked by a reader that shares no code with
//! the library: it knows only the specification, BLAKE3 and big integers.

use super::common::worst_difference;
use he::aes::container::UserKey;
use he::backend::Cpu;
use he::bigckks::{self, BigCkksParams};
use he::ckks::{Ciphertext, CkksParams, Complex64, Decryptor, Encoder, SeededCiphertext};
use he::exact::{self, Params};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he::tfhe::{
    BootstrapKey, CompactBits, CompactFlags, CompactPublicKey, CompactUint, EncryptedBits, EncryptedFlags,
    EncryptedUint, SeededBits, SeededFlags, SeededUint, TfheParams, TfheSecretKey,
};
use he::wire::{Frame, FrameReader, Wire, WireKeys, WireParams, WireScheme};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::path::PathBuf;

mod bootstrapping;
mod circuit;
mod multi_bit;
mod other_reader;
mod parties;
mod switching;

#[path = "../../examples/golden.rs"]
pub(super) mod generator;

fn committed(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn frames(name: &str) -> Vec<Frame> {
    let bytes = committed(name);
    let mut reader = FrameReader::new(bytes.as_slice());
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame(|_, _| 1 << 20).unwrap() {
        frames.push(frame);
    }
    frames
}

#[test]
fn the_generator_still_writes_the_committed_bytes() {
    for (name, bytes) in generator::files().unwrap() {
        assert!(bytes == committed(name), "{name} differs: the format changed without a new version");
    }
}

/// Keys without seeds hold the words of those with seeds.
fn unseeded_keys_are_the_same(params: &CkksParams, ring: &Ring<Cpu>, keys: &EvaluationKeys) {
    let read = frames("unseeded_keys.he");
    let key = PublicKey::from_frame(params, ring, &read[1]).unwrap();
    let seeded = PublicKey::from_frame(params, ring, &frames("public_key.he")[1]).unwrap();
    assert!(key.seed().is_none() && key.to_frame(params).unwrap().body == read[1].body);
    for (found, expected) in [(key.body(), seeded.body()), (key.mask(), seeded.mask())] {
        assert_eq!(found.to_words().unwrap(), expected.to_words().unwrap());
    }
    let mut others = EvaluationKeys::empty(params.rlwe(), ring).unwrap();
    for frame in &read[2..] {
        others.insert_frame(params, frame).unwrap();
    }
    let words = |keys: &EvaluationKeys, g: Option<u64>| {
        let key = g.map_or_else(|| keys.relin().unwrap(), |g| keys.galois(g).unwrap());
        (key.seed().is_some(), (0..3).map(|digit| key.body_words(digit).unwrap()).collect::<Vec<_>>())
    };
    for g in std::iter::once(None).chain(keys.galois_keys().map(|(g, _)| Some(g))) {
        let ((seeded, found), (unseeded, expected)) = (words(keys, g), words(&others, g));
        assert!(seeded && !unseeded && found == expected, "{g:?}");
    }
}

#[test]
fn golden_files_read_back() {
    let parameters = &frames("parameters.he")[0];
    let params = CkksParams::from_frame_insecure(parameters).unwrap();
    assert_eq!(params, generator::params().unwrap());
    assert!(matches!(CkksParams::from_frame(parameters), Err(he::Error::InvalidParams(_))));
    let grouped = CkksParams::from_frame_insecure(&frames("grouped_parameters.he")[0]).unwrap();
    assert_eq!(grouped, generator::grouped_params().unwrap());
    assert_eq!(grouped.spec(), generator::grouped_params().unwrap().spec());
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::from_frame(&params, (), &frames("secret_key.he")[1]).unwrap();
    PublicKey::from_frame(&params, &ring, &frames("public_key.he")[1]).unwrap();
    let mut keys = EvaluationKeys::empty(params.rlwe(), &ring).unwrap();
    for frame in &frames("evaluation_keys.he")[1..] {
        keys.insert_frame(&params, frame).unwrap();
    }
    unseeded_keys_are_the_same(&params, &ring, &keys);
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let encoder = Encoder::new(&params, &ring).unwrap();
    let decrypt = |ct| encoder.decode(&decryptor.decrypt(ct).unwrap()).unwrap();
    let contents = frames("ciphertexts.he");
    assert_eq!(contents[1].body.as_slice(), b"golden");
    let ct = Ciphertext::from_frame(&params, &ring, &contents[2]).unwrap();
    let values = generator::values();
    assert!(worst_difference(&decrypt(&ct), &values) < 1e-6);
    let sparse = Ciphertext::from_frame(&params, &ring, &contents[3]).unwrap();
    assert_eq!((sparse.level(), sparse.slots(), sparse.batch()), (1, 4, 1));
    assert!(worst_difference(&decrypt(&sparse), &[values[0][..4].to_vec()]) < 1e-6);
    let seeded = &frames("seeded_ciphertexts.he")[1];
    let seeded = SeededCiphertext::from_frame(&params, &ring, seeded).unwrap().expand().unwrap();
    assert!(worst_difference(&decrypt(&seeded), &values) < 1e-7);
    // The keys work on the objects that were read.
    let ev = he::ckks::Evaluator::new(&params, &ring).unwrap();
    let expected: Vec<Vec<Complex64>> =
        values.iter().map(|v| (0..16).map(|i| v[(i + 1) % 16].conj() * v[(i + 1) % 16]).collect()).collect();
    let turned = ev.rotate(&ct, 1, &keys).unwrap();
    let product = ev.mul(&turned, &ev.conjugate(&turned, &keys).unwrap(), &keys).unwrap();
    assert!(worst_difference(&decrypt(&product), &expected) < 1e-5);
}

#[test]
fn golden_files_of_words_read_back() {
    use he::words::{ReducedWords, WordDecryptor};
    let params = generator::word_params().unwrap();
    let read = CkksParams::from_frame_insecure(&frames("words_products.he")[0]).unwrap();
    assert_eq!(read, *params.ckks());
    let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone()).unwrap();
    let secret = SecretKey::from_frame(params.ckks(), (), &frames("words_secret_key.he")[1]).unwrap();
    let products = ReducedWords::from_frame(&params, &frames("words_products.he")[1]).unwrap();
    let words = WordDecryptor::new(&params, &secret, &ring).unwrap().decrypt_reduced(&products).unwrap();
    assert_eq!(*words, generator::word_products());
}

fn exact_files_read_back<S: WireScheme>() {
    use he::exact::{Decryptor, Encoder};
    let name = |file: &str| format!("{}_{file}.he", S::NAME);
    let parameters = &frames(&name("parameters"))[0];
    let params = Params::<S>::from_frame_insecure(parameters).unwrap();
    assert_eq!(params, generator::exact_params().unwrap());
    assert!(matches!(Params::<S>::from_frame(parameters), Err(he::Error::InvalidParams(_))));
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::from_frame(&params, (), &frames(&name("secret_key"))[1]).unwrap();
    let decryptor = Decryptor::<S, Cpu>::new(&params, &secret, &ring).unwrap();
    let encoder = Encoder::new(&params).unwrap();
    let contents = frames(&name("ciphertexts"));
    let fresh = exact::Ciphertext::from_frame(&params, &ring, &contents[1]).unwrap();
    let low = exact::Ciphertext::from_frame(&params, &ring, &contents[2]).unwrap();
    assert_eq!((fresh.level(), low.level(), low.batch()), (2, 0, 2));
    let seeded = &frames(&name("seeded_ciphertexts"))[1];
    let seeded = exact::SeededCiphertext::from_frame(&params, &ring, seeded).unwrap().expand().unwrap();
    for ct in [fresh, low, seeded] {
        let found = encoder.decode::<u64>(&decryptor.decrypt(&ct).unwrap()).unwrap();
        assert_eq!(found, generator::integers());
    }
}

#[test]
fn golden_files_of_integers_read_back() {
    exact_files_read_back::<he::bfv::Bfv>();
    exact_files_read_back::<he::bgv::Bgv>();
}

#[test]
fn golden_files_under_aes_read_back() {
    use he::aes::container::{HEADER, Header, Lock};
    use he::aes::{Bulk, Cpu};
    let user = UserKey::from_frame(&frames("aes_key.he")[0]).unwrap();
    let file = committed("aes_file.he");
    let header = Header::parse(file.first_chunk().unwrap()).unwrap();
    let key = header.open(&user).unwrap();
    let (mut data, mut tags) = (Vec::new(), Vec::new());
    for chunk in file[HEADER..].chunks(4096 + 16) {
        let (chunk, tag) = chunk.split_last_chunk().unwrap();
        data.extend(chunk);
        tags.push(*tag);
    }
    key.open(&Cpu::new(), 0, true, &tags, Bulk::in_place(&mut data)).unwrap();
    assert_eq!(data, generator::contents()[0]);
    let locked = Header::parse(committed("aes_passphrase.he").first_chunk().unwrap()).unwrap();
    assert!(matches!(locked.lock(), Lock::Passphrase(_)) && locked.open(&user).is_err());
}

#[test]
fn golden_files_of_bigckks_read_back() {
    use he::bigckks::{Decryptor, EvaluationKeys, Evaluator};
    let parameters = &frames("bigckks_parameters.he")[0];
    let params = BigCkksParams::from_frame_insecure(parameters).unwrap();
    assert_eq!(params, generator::bigckks_params().unwrap());
    assert!(matches!(BigCkksParams::from_frame(parameters), Err(he::Error::InvalidParams(_))));
    let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
    let secret = bigckks::SecretKey::from_frame(&params, (), &frames("bigckks_secret_key.he")[1]).unwrap();
    let public = &frames("bigckks_public_key.he")[1];
    let public = bigckks::PublicKey::from_frame(&params, &ring, public).unwrap();
    let mut keys = EvaluationKeys::empty(&params, &ring).unwrap();
    for frame in &frames("bigckks_evaluation_keys.he")[1..] {
        keys.insert_frame(&params, frame).unwrap();
    }
    let ev = Evaluator::new(&params, &ring).unwrap();
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let decrypt = |ct| ev.encoder().decode(&decryptor.decrypt(ct).unwrap()).unwrap();
    let contents = frames("bigckks_ciphertexts.he");
    let ct = bigckks::Ciphertext::from_frame(&params, &ring, &contents[1]).unwrap();
    let values = generator::values();
    assert!(worst_difference(&decrypt(&ct), &values) < 1e-5);
    let sparse = bigckks::Ciphertext::from_frame(&params, &ring, &contents[2]).unwrap();
    assert_eq!((sparse.log_q(), sparse.slots(), sparse.batch()), (71, 4, 1));
    assert!(worst_difference(&decrypt(&sparse), &[values[0][..4].to_vec()]) < 1e-5);
    // The keys work on the objects that were read, and the public key encrypts for the secret one.
    let expected: Vec<Vec<Complex64>> =
        values.iter().map(|v| (0..16).map(|i| v[(i + 1) % 16].conj() * v[(i + 1) % 16]).collect()).collect();
    let turned = ev.rotate(&ct, 1, &keys).unwrap();
    let product = ev.mul(&turned, &ev.conjugate(&turned, &keys).unwrap(), &keys).unwrap();
    assert!(worst_difference(&decrypt(&product), &expected) < 1e-4);
    let plain = ev.encoder().encode(&values[0], params.encoding()).unwrap();
    let mut rng = super::common::rng(1);
    let again = bigckks::Encryptor::new(&params, &public).unwrap().encrypt(&plain, &mut rng).unwrap();
    assert!(worst_difference(&decrypt(&again), &values[..1]) < 1e-5);
}

#[test]
fn golden_files_of_tfhe_read_back() {
    use he::tfhe::GateEvaluator;
    let cpu = &Cpu::new();
    let parameters = &frames("tfhe_parameters.he")[0];
    let params = TfheParams::from_frame_insecure(parameters).unwrap();
    assert_eq!(params, generator::tfhe_params().unwrap());
    assert!(matches!(TfheParams::from_frame(parameters), Err(he::Error::InvalidParams(_))));
    let read = |name: &str| frames(name).remove(1);
    let secret = TfheSecretKey::from_frame(&params, (), &read("tfhe_secret_key.he")).unwrap();
    let key = BootstrapKey::from_frame(&params, (), &read("tfhe_bootstrap_key.he")).unwrap();
    let bits = EncryptedBits::from_frame(&params, cpu, &read("tfhe_bits.he")).unwrap();
    assert_eq!(secret.decrypt_bits(&bits).unwrap(), generator::BITS);
    let uints = EncryptedUint::from_frame(&params, cpu, &read("tfhe_uints.he")).unwrap();
    let expected = generator::UINTS.map(num_bigint::BigUint::from);
    assert_eq!(secret.decrypt_uint(&uints).unwrap(), expected);
    let flags = EncryptedFlags::from_frame(&params, cpu, &read("tfhe_flags.he")).unwrap();
    assert_eq!(secret.decrypt_flags(&flags).unwrap(), generator::BITS);
    // The seeded ciphertexts are those of the other files.
    let seeded = frames("tfhe_seeded_ciphertexts.he");
    let words = |batch: &he::tfhe::LweBatch| batch.download().unwrap();
    let expanded = SeededBits::from_frame(&params, (), &seeded[1]).unwrap().expand(cpu).unwrap();
    assert!(words(expanded.ciphertexts()) == words(bits.ciphertexts()));
    let expanded = SeededUint::from_frame(&params, (), &seeded[2]).unwrap().expand(cpu).unwrap();
    assert!(words(expanded.ciphertexts()) == words(uints.ciphertexts()));
    let expanded = SeededFlags::from_frame(&params, (), &seeded[3]).unwrap().expand(cpu).unwrap();
    assert!(words(expanded.ciphertexts()) == words(flags.ciphertexts()));
    // Encryptions by the public key have its noise and the same messages.
    let public = CompactPublicKey::from_frame(&params, (), &read("tfhe_public_key.he")).unwrap();
    assert_eq!(public.to_frame(&params).unwrap().body, read("tfhe_public_key.he").body);
    let compact = frames("tfhe_compact_ciphertexts.he");
    let bits = CompactBits::from_frame(&params, (), &compact[1]).unwrap().expand(cpu).unwrap();
    assert_eq!(secret.decrypt_bits(&bits).unwrap(), generator::BITS);
    let uints = CompactUint::from_frame(&params, (), &compact[2]).unwrap().expand(cpu).unwrap();
    assert_eq!(secret.decrypt_uint(&uints).unwrap(), expected);
    let flags = CompactFlags::from_frame(&params, (), &compact[3]).unwrap().expand(cpu).unwrap();
    assert_eq!(secret.decrypt_flags(&flags).unwrap(), generator::BITS);
    let again = public.encrypt_bits(&generator::BITS, &mut super::common::rng(1)).unwrap();
    assert_eq!(secret.decrypt_bits(&again.expand(cpu).unwrap()).unwrap(), generator::BITS);
    // A gate of these parameters may fail, but the frame shows that the key is the one that was
    // written.
    GateEvaluator::new(cpu, &key).unwrap();
    assert_eq!(key.to_frame(&params).unwrap().body, read("tfhe_bootstrap_key.he").body);
}

/// Byte strings keep their key sets, which are what the specification derives from the secrets.
#[test]
fn golden_byte_strings_read_back() {
    use he::KeySetId;
    use he::ckks::Evaluator;
    const CONTEXT: &str = "he 2026-11 key set: identity of secret key, version 1";
    let derived = |fingerprint: [u8; 32], secret: &[u8]| {
        let whole = blake3::derive_key(CONTEXT, &[&fingerprint[..], secret].concat());
        KeySetId::from_bytes(whole[..16].try_into().unwrap())
    };
    let ternary = |frame: &Raw, n: usize| -> Vec<u8> {
        (0..n).map(|k| frame.body[k / 4] >> (2 * (k % 4)) & 3).collect()
    };
    let named = |name: &str| -> (KeySetId, Raw) {
        let mut frames = raw_frames(&committed(name)).into_iter();
        let id = frames.next().unwrap();
        assert_eq!((id.kind, id.body.len()), (31, 16));
        (KeySetId::from_bytes(id.body.try_into().unwrap()), frames.next().unwrap())
    };
    let params = CkksParams::from_bytes_insecure(&committed("bytes_parameters.he")).unwrap();
    assert_eq!(params, generator::params().unwrap());
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let (id, frame) = named("bytes_secret_key.he");
    assert_eq!(id, derived(params.rlwe().fingerprint().0, &ternary(&frame, 32)));
    let secret = SecretKey::from_bytes(&params, &committed("bytes_secret_key.he")).unwrap();
    let keys = EvaluationKeys::from_bytes(&params, &ring, &committed("bytes_evaluation_keys.he")).unwrap();
    let ct = Ciphertext::from_bytes(&params, &ring, &committed("bytes_ciphertext.he")).unwrap();
    assert_eq!((secret.key_set(), keys.key_set(), ct.key_set()), (id, Some(id), Some(id)));
    let of_none = Ciphertext::from_bytes(&params, &ring, &committed("bytes_ciphertext_of_none.he")).unwrap();
    assert_eq!(of_none.key_set(), None);
    let ev = Evaluator::new(&params, &ring).unwrap();
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let sum = ev.add(&of_none, &ev.rotate(&ct, 1, &keys).unwrap()).unwrap();
    let values = &generator::values()[0];
    let expected: Vec<Complex64> = (0..16).map(|i| values[i] + values[(i + 1) % 16]).collect();
    let found = ev.encoder().decode(&decryptor.decrypt(&sum).unwrap()).unwrap();
    assert!(worst_difference(&found, &[expected]) < 1e-6);

    let params = generator::bigckks_params().unwrap();
    let (id, frame) = named("bytes_bigckks_secret_key.he");
    assert_eq!(id, derived(params.fingerprint().0, &ternary(&frame, 32)));
    let secret = bigckks::SecretKey::from_bytes(&params, &committed("bytes_bigckks_secret_key.he"));
    assert_eq!(secret.unwrap().key_set(), id);

    let params = generator::tfhe_params().unwrap();
    let (id, frame) = named("bytes_tfhe_secret_key.he");
    let bits: Vec<u8> = (0..71).map(|i| frame.body[i / 8] >> (i % 8) & 1).collect();
    assert_eq!(id, derived(params.fingerprint().0, &bits));
    let secret = TfheSecretKey::from_bytes(&params, &committed("bytes_tfhe_secret_key.he")).unwrap();
    let bits = EncryptedBits::from_bytes(&params, &Cpu::new(), &committed("bytes_tfhe_bits.he")).unwrap();
    assert_eq!((secret.key_set(), bits.key_set()), (id, Some(id)));
    assert_eq!(secret.decrypt_bits(&bits).unwrap(), generator::BITS);
}

// --- a reader by the specification alone ---------------------------------------------------------

/// ChaCha20 with a 64-bit counter and a 64-bit stream (djb): one block of 64 bytes.
fn chacha20(seed: &[u8], stream: u64, counter: u64) -> [u8; 64] {
    let mut input = [0u32; 16];
    input[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (word, bytes) in input[4..12].iter_mut().zip(seed.chunks(4)) {
        *word = u32::from_le_bytes(bytes.try_into().unwrap());
    }
    (input[12], input[13]) = (counter as u32, (counter >> 32) as u32);
    (input[14], input[15]) = (stream as u32, (stream >> 32) as u32);
    let mut x = input;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        for (i, j, k, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            x[i] = x[i].wrapping_add(x[j]);
            x[k] = (x[k] ^ x[i]).rotate_left(turn);
        }
    };
    for _ in 0..10 {
        (0..4).for_each(|i| quarter(i, 4 + i, 8 + i, 12 + i));
        (0..4).for_each(|i| quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4));
    }
    let mut block = [0; 64];
    for (bytes, (x, input)) in block.chunks_mut(4).zip(x.iter().zip(input)) {
        bytes.copy_from_slice(&x.wrapping_add(input).to_le_bytes());
    }
    block
}

/// RFC 8439, appendix A.1, test vector 1: zero key, zero nonce, first block (where both variants
/// agree).
#[test]
fn chacha20_is_chacha20() {
    let block = chacha20(&[0; 32], 0, 0);
    assert_eq!(block[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    assert_eq!(block[56..], [0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86]);
}

fn uniform(seed: &[u8], prime: u64, index: u64, q: u64, first: u64, count: u64) -> Vec<u64> {
    (first..first + count)
        .map(|e| {
            let block = chacha20(seed, 1 << 56 | prime << 40 | index, e / 4);
            let at = (e % 4) as usize * 16;
            (u128::from_le_bytes(block[at..at + 16].try_into().unwrap()) % u128::from(q)) as u64
        })
        .collect()
}

/// A frame by its bytes: kind, fingerprint, body. Everything is checked by the table of the
/// specification.
struct Raw {
    kind: u16,
    fingerprint: [u8; 32],
    body: Vec<u8>,
}

fn raw_frames(bytes: &[u8]) -> Vec<Raw> {
    let (mut at, mut frames, mut chain) = (0, Vec::new(), blake3::Hasher::new());
    loop {
        let number = |from: usize, count: usize| {
            bytes[at + from..at + from + count].iter().rev().fold(0u64, |x, &b| x << 8 | u64::from(b))
        };
        assert_eq!(&bytes[at..at + 4], b"HEWF");
        assert_eq!(number(4, 2), 1);
        let (kind, length) = (number(6, 2) as u16, number(40, 8) as usize);
        let end = at + 48 + length;
        let checksum = blake3::hash(&bytes[at..end]);
        assert_eq!(checksum.as_bytes(), &bytes[end..end + 32]);
        let body = bytes[at + 48..end].to_vec();
        if kind == 9 {
            assert_eq!(body[..8], (frames.len() as u64).to_le_bytes());
            assert_eq!(&body[8..], chain.finalize().as_bytes());
            assert_eq!(end + 32, bytes.len(), "the end mark is the end");
            return frames;
        }
        chain.update(checksum.as_bytes());
        frames.push(Raw { kind, fingerprint: bytes[at + 8..at + 40].try_into().unwrap(), body });
        at = end + 32;
    }
}

/// Takes little-endian numbers off a body.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().rev().fold(0, |x, &b| x << 8 | u64::from(b))
    }

    fn list(&mut self, bytes: usize) -> Vec<u64> {
        (0..self.number(2)).map(|_| self.number(bytes)).collect()
    }

    /// A row of residues, bit by bit.
    fn row(&mut self, q: u64, n: usize) -> Vec<u64> {
        let width = 64 - q.leading_zeros() as usize;
        let bytes = self.bytes((n * width).div_ceil(8));
        let bit = |i: usize| u64::from(bytes[i / 8] >> (i % 8) & 1);
        assert!((n * width..bytes.len() * 8).all(|i| bit(i) == 0));
        let row: Vec<u64> = (0..n).map(|k| (0..width).fold(0, |x, i| x | bit(k * width + i) << i)).collect();
        assert!(row.iter().all(|&x| x < q));
        row
    }
}

struct Spec {
    n: usize,
    log_n: u32,
    q: Vec<u64>,
    p: Vec<u64>,
    levels: Vec<u64>,
}

fn read_params(frame: &Raw) -> Spec {
    let mut body = Cursor(&frame.body);
    let log_n = body.number(1) as u32;
    let (q, p) = (body.list(8), body.list(8));
    let (levels, digits) = (body.list(2), body.list(2));
    let scale = body.bytes(8);
    assert!(body.0.is_empty());
    // The fingerprint, as its section says.
    let mut ring = blake3::Hasher::new();
    ring.update(b"he rlwe parameters 1").update(&log_n.to_le_bytes());
    for list in [&q, &p] {
        ring.update(&(list.len() as u64).to_le_bytes());
        for x in list {
            ring.update(&x.to_le_bytes());
        }
    }
    for x in &digits {
        ring.update(&x.to_le_bytes());
    }
    let mut whole = blake3::Hasher::new();
    whole.update(b"he ckks parameters 1").update(ring.finalize().as_bytes());
    for x in &levels {
        whole.update(&x.to_le_bytes());
    }
    whole.update(scale);
    assert_eq!(whole.finalize().as_bytes(), &frame.fingerprint);
    Spec { n: 1 << log_n, log_n, q, p, levels }
}

fn pow(mut x: u64, mut e: u64, q: u64) -> u64 {
    let mut result = 1;
    while e > 0 {
        if e & 1 == 1 {
            result = (u128::from(result) * u128::from(x) % u128::from(q)) as u64;
        }
        x = (u128::from(x) * u128::from(x) % u128::from(q)) as u64;
        e >>= 1;
    }
    result
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

impl Spec {
    /// The points psi^(2 brv(i) + 1), psi the least primitive 2N-th root of unity.
    fn points(&self, q: u64) -> Vec<u64> {
        let n = self.n as u64;
        let generators = (2..).map(|g| pow(g, (q - 1) / (2 * n), q));
        let some = generators.into_iter().find(|&x| pow(x, n, q) == q - 1).unwrap();
        let psi = (0..n).map(|k| pow(some, 2 * k + 1, q)).min().unwrap();
        (0..n).map(|i| pow(psi, 2 * (i.reverse_bits() >> (64 - self.log_n)) + 1, q)).collect()
    }

    /// Values at the points to coefficients: a_k = 1/N sum_i A_i x_i^-k.
    fn interpolate(&self, values: &[u64], q: u64) -> Vec<u64> {
        let points = self.points(q);
        let inverse = pow(self.n as u64, q - 2, q);
        (0..self.n as u64)
            .map(|k| {
                let terms =
                    values.iter().zip(&points).map(|(&a, &x)| mul(a, pow(x, (q - 2) * k % (q - 1), q), q));
                mul(terms.fold(0, |sum, term| (sum + term) % q), inverse, q)
            })
            .collect()
    }

    /// Values of a polynomial with small coefficients.
    fn evaluate(&self, coefficients: &[i64], q: u64) -> Vec<u64> {
        let at = |x: u64| {
            coefficients.iter().rev().fold(0, |sum, &c| (mul(sum, x, q) + c.rem_euclid(q as i64) as u64) % q)
        };
        self.points(q).into_iter().map(at).collect()
    }

    /// Residues of each coefficient to the number of least magnitude.
    fn compose(&self, residues: &[Vec<u64>]) -> Vec<BigInt> {
        let moduli: Vec<BigInt> = self.q[..residues.len()].iter().map(|&q| BigInt::from(q)).collect();
        let product: BigInt = moduli.iter().product();
        (0..self.n)
            .map(|k| {
                let mut x = BigInt::from(0);
                for (q, row) in moduli.iter().zip(residues) {
                    let hat = &product / q;
                    x += &hat * (hat.modpow(&(q - 2), q) * row[k] % q);
                }
                x %= &product;
                if &x * 2 > product { x - &product } else { x }
            })
            .collect()
    }

    /// c0 + c1 s over the primes of a level, as numbers.
    fn decrypt(&self, c0: &[Vec<u64>], c1: &[Vec<u64>], s: &[i64]) -> Vec<BigInt> {
        let rows: Vec<Vec<u64>> = c0
            .iter()
            .zip(c1)
            .zip(&self.q)
            .map(|((c0, c1), &q)| {
                let s = self.evaluate(s, q);
                let values: Vec<u64> = (0..self.n).map(|i| (c0[i] + mul(c1[i], s[i], q)) % q).collect();
                self.interpolate(&values, q)
            })
            .collect();
        self.compose(&rows)
    }

    /// Slot j is m(zeta^(5^j)) / scale, zeta = exp(i pi / N).
    fn slots(&self, coefficients: &[BigInt], scale: f64, count: usize) -> Vec<Complex64> {
        let mut power = 1usize;
        (0..count)
            .map(|_| {
                let terms = coefficients.iter().enumerate().map(|(k, c)| {
                    let angle = std::f64::consts::PI * ((power * k) % (2 * self.n)) as f64 / self.n as f64;
                    Complex64::from_polar(1.0, angle) * c.to_f64().unwrap()
                });
                let slot = terms.sum::<Complex64>() / scale;
                power = power * 5 % (2 * self.n);
                slot
            })
            .collect()
    }
}

/// Parameters of BFV or BGV, and t.
fn read_exact_params(frame: &Raw, scheme: &str) -> (Spec, u64) {
    let mut body = Cursor(&frame.body);
    let log_n = body.number(1) as u32;
    let (q, p, digits) = (body.list(8), body.list(8), body.list(2));
    let t = body.number(8);
    assert!(body.0.is_empty());
    let mut ring = blake3::Hasher::new();
    ring.update(b"he rlwe parameters 1").update(&log_n.to_le_bytes());
    for list in [&q, &p] {
        ring.update(&(list.len() as u64).to_le_bytes());
        for x in list {
            ring.update(&x.to_le_bytes());
        }
    }
    for x in &digits {
        ring.update(&x.to_le_bytes());
    }
    let mut whole = blake3::Hasher::new();
    whole.update(format!("he {scheme} parameters 1").as_bytes()).update(ring.finalize().as_bytes());
    whole.update(&t.to_le_bytes());
    assert_eq!(whole.finalize().as_bytes(), &frame.fingerprint);
    (Spec { n: 1 << log_n, log_n, q, p, levels: Vec::new() }, t)
}

#[test]
fn the_specification_alone_reads_the_golden_integers() {
    for (scheme, kinds) in [("bfv", [11, 12, 13]), ("bgv", [14, 15, 16])] {
        let file = |name: &str| raw_frames(&committed(&format!("{scheme}_{name}.he")));
        let parameters = &file("parameters")[0];
        assert_eq!(parameters.kind, kinds[0]);
        let (spec, t) = read_exact_params(parameters, scheme);
        let s = read_secret(&file("secret_key")[1], spec.n);
        let n = spec.n as u64;
        // psi, the least primitive 2N-th root of unity modulo t; slot i of the rows is m(psi^(5^i))
        // and m(psi^(-5^i)).
        let psi = spec.points(t)[0];
        let mut exponents = vec![1u64];
        (1..n / 2).for_each(|i| exponents.push(exponents[i as usize - 1] * 5 % (2 * n)));
        exponents.extend_from_within(..);
        exponents[n as usize / 2..].iter_mut().for_each(|e| *e = 2 * n - *e);
        let mut seen = 0;
        for frame in file("ciphertexts")[1..].iter().chain(&file("seeded_ciphertexts")[1..]) {
            let mut body = Cursor(&frame.body);
            let (primes, batch) = (body.number(2) as usize + 1, body.number(4) as usize);
            let factor = body.number(8);
            let (rms, peak) = (f64::from_bits(body.number(8)), f64::from_bits(body.number(8)));
            assert!(rms <= peak && peak < 60.0 && body.number(2) <= 2);
            let seed = (frame.kind == kinds[2]).then(|| body.bytes(32));
            assert!(seed.is_some() || frame.kind == kinds[1]);
            let q = &spec.q[..primes];
            let mut polys = |_| -> Vec<Vec<Vec<u64>>> {
                q.iter().map(|&q| (0..batch).map(|_| body.row(q, spec.n)).collect()).collect()
            };
            let c0 = polys(0);
            let c1 = match seed {
                None => polys(1),
                Some(seed) => (0u64..)
                    .zip(q)
                    .map(|(i, &q)| (0..batch as u64).map(|b| uniform(seed, i, 0, q, b * n, n)).collect())
                    .collect(),
            };
            assert!(body.0.is_empty());
            // In BFV the factor is -Q modulo t, in fresh BGV 1.
            let big: BigInt = q.iter().map(|&q| BigInt::from(q)).product();
            if scheme == "bfv" {
                assert_eq!((&big + factor) % t, BigInt::from(0));
            } else if primes == spec.q.len() {
                assert_eq!(factor, 1);
            }
            for entry in 0..batch {
                let part =
                    |c: &Vec<Vec<Vec<u64>>>| c.iter().map(|limb| limb[entry].clone()).collect::<Vec<_>>();
                let phase = spec.decrypt(&part(&c0), &part(&c1), &s);
                let coefficients: Vec<u64> = phase
                    .iter()
                    .map(|x| {
                        // t times the phase is [f m]_t + t e.
                        let scaled = ((x * t) % &big + &big) % &big;
                        let scaled = if &scaled * 2 > big { scaled - &big } else { scaled };
                        let residue = ((scaled % t) + t) % t;
                        mul(residue.to_u64().unwrap(), pow(factor, t - 2, t), t)
                    })
                    .collect();
                let at = |x: u64| coefficients.iter().rev().fold(0, |sum, &c| (mul(sum, x, t) + c) % t);
                let slots: Vec<u64> = exponents.iter().map(|&e| at(pow(psi, e, t))).collect();
                assert_eq!(slots, generator::integers()[entry], "{scheme}, {primes} primes");
                seen += 1;
            }
        }
        assert_eq!(seen, 6);
    }
}

fn read_secret(frame: &Raw, n: usize) -> Vec<i64> {
    assert_eq!((frame.kind, frame.body.len()), (2, n / 4));
    (0..n).map(|k| i64::from(frame.body[k / 4] >> (2 * (k % 4)) & 3) - 1).collect()
}

#[test]
fn the_specification_alone_reads_the_golden_files() {
    let spec = read_params(&raw_frames(&committed("parameters.he"))[0]);
    let secret_frames = raw_frames(&committed("secret_key.he"));
    let fingerprint = secret_frames[0].fingerprint;
    let s = read_secret(&secret_frames[1], spec.n);
    assert!(s.iter().all(|c| (-1..=1).contains(c)) && s.contains(&1) && s.contains(&-1));
    let values = generator::values();
    let n = spec.n as u64;

    // Ciphertexts: level, log2 of the slots, batch, scale, c0, c1; limb after limb, entry after
    // entry.
    let frames = raw_frames(&committed("ciphertexts.he"));
    assert_eq!((frames[1].kind, frames[1].body.as_slice()), (8, b"golden".as_slice()));
    let seeded = raw_frames(&committed("seeded_ciphertexts.he"));
    let mut seen = 0;
    for frame in frames[2..].iter().chain(&seeded[1..]) {
        assert_eq!(frame.fingerprint, fingerprint);
        let mut body = Cursor(&frame.body);
        let (level, slots, batch) =
            (body.number(2) as usize, 1usize << body.number(1), body.number(4) as usize);
        let scale = f64::from_bits(body.number(8));
        let primes = &spec.q[..spec.levels[level] as usize];
        let seed = (frame.kind == 7).then(|| body.bytes(32));
        let mut polys = |_| -> Vec<Vec<Vec<u64>>> {
            primes.iter().map(|&q| (0..batch).map(|_| body.row(q, spec.n)).collect()).collect()
        };
        let c0 = polys(0);
        let c1 = match seed {
            None => polys(1),
            Some(seed) => primes
                .iter()
                .enumerate()
                .map(|(i, &q)| (0..batch as u64).map(|b| uniform(seed, i as u64, 0, q, b * n, n)).collect())
                .collect(),
        };
        assert!(body.0.is_empty());
        for entry in 0..batch {
            let part = |c: &Vec<Vec<Vec<u64>>>| c.iter().map(|limb| limb[entry].clone()).collect::<Vec<_>>();
            let found = spec.slots(&spec.decrypt(&part(&c0), &part(&c1), &s), scale, slots);
            assert!(worst_difference(&[found], &[values[entry][..slots].to_vec()]) < 1e-6);
            seen += 1;
        }
    }
    assert_eq!(seen, 5);

    // The public key: seed, b over the chain; b + a s is a small error.
    let public = &raw_frames(&committed("public_key.he"))[1];
    assert_eq!(public.kind, 3);
    let mut body = Cursor(&public.body);
    let seed = body.bytes(32);
    let b: Vec<Vec<u64>> = spec.q.iter().map(|&q| body.row(q, spec.n)).collect();
    let a: Vec<Vec<u64>> =
        spec.q.iter().enumerate().map(|(i, &q)| uniform(seed, i as u64, 0, q, 0, n)).collect();
    assert!(body.0.is_empty());
    let error = spec.decrypt(&b, &a, &s);
    assert!(error.iter().all(|e| e.magnitude() <= &21u32.into()), "{error:?}");
    assert!(error.iter().any(|e| e.magnitude() > &0u32.into()));

    // Switching keys: b_j + a_j s - P g_j t is a small error, modulo every prime; t = s^2, and s as
    // seen from Galois element g.
    let product = |x: &[i64], y: &[i64]| -> Vec<i64> {
        let mut z = vec![0; spec.n];
        for (i, x) in x.iter().enumerate() {
            for (j, y) in y.iter().enumerate() {
                let sign = if i + j < spec.n { 1 } else { -1 };
                z[(i + j) % spec.n] += sign * x * y;
            }
        }
        z
    };
    let image = |x: &[i64], g: usize| -> Vec<i64> {
        let mut z = vec![0; spec.n];
        for (k, x) in x.iter().enumerate() {
            let at = g * k % (2 * spec.n);
            z[at % spec.n] = if at < spec.n { *x } else { -x };
        }
        z
    };
    let frames = raw_frames(&committed("evaluation_keys.he"));
    assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [1, 4, 5, 5, 5]);
    let mut elements = Vec::new();
    for frame in &frames[1..] {
        let mut body = Cursor(&frame.body);
        // The key takes the message t under the secret u: for g, t = s and u = s(X^(1/g)), so that
        // X -> X^g leads back to s.
        let (message, under) = if frame.kind == 4 {
            (product(&s, &s), s.clone())
        } else {
            let g = body.number(8) as usize;
            elements.push(g);
            let inverse = (1..2 * spec.n).find(|h| g * h % (2 * spec.n) == 1).unwrap();
            (s.clone(), image(&s, inverse))
        };
        let seed = body.bytes(32);
        let primes: Vec<u64> = spec.q.iter().chain(&spec.p).copied().collect();
        for digit in 0..spec.q.len() {
            let mut first: Option<Vec<i64>> = None;
            for (i, &q) in primes.iter().enumerate() {
                let b = body.row(q, spec.n);
                let a = uniform(seed, i as u64, digit as u64, q, 0, n);
                let (u, t) = (spec.evaluate(&under, q), spec.evaluate(&message, q));
                let factor = if i == digit { spec.p.iter().fold(1, |x, &p| mul(x, p % q, q)) } else { 0 };
                let rest: Vec<u64> =
                    (0..spec.n).map(|k| (b[k] + mul(a[k], u[k], q) + q - mul(factor, t[k], q)) % q).collect();
                let centre = |x: u64| if x > q / 2 { x as i64 - q as i64 } else { x as i64 };
                let error: Vec<i64> = spec.interpolate(&rest, q).into_iter().map(centre).collect();
                assert!(error.iter().all(|e| e.abs() <= 21) && error.iter().any(|&e| e != 0), "{error:?}");
                // The same error modulo every prime.
                assert_eq!(first.get_or_insert_with(|| error.clone()), &error);
            }
        }
        assert!(body.0.is_empty());
    }
    // Rotation by 1 and by -2 (14), and conjugation.
    let power = |e: u32| (0..e).fold(1usize, |x, _| x * 5 % (2 * spec.n));
    let mut expected = vec![power(1), power(14), 2 * spec.n - 1];
    expected.sort_unstable();
    assert_eq!(elements, expected);
}

/// A file under AES by the specification: its content, if `user` is the key or the stretched
/// passphrase.
fn read_aes_file(file: &[u8], user: &[u8; 32]) -> Vec<u8> {
    use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit};
    let open = |key: &[u8], nonce: [u8; 12], aad: &[u8], sealed: &[u8]| {
        let (data, tag) = sealed.split_at(sealed.len() - 16);
        let (mut data, tag) = (data.to_vec(), <[u8; 16]>::try_from(tag).unwrap());
        let cipher = Aes256Gcm::new_from_slice(key).unwrap();
        cipher.decrypt_inout_detached(&nonce.into(), aad, data.as_mut_slice().into(), &tag.into()).unwrap();
        data
    };
    let (header, mut rest) = file.split_at(120);
    assert_eq!((&header[..8], header[8]), (&b"HEAESGCM"[..], 1));
    let fingerprint = blake3::derive_key("he 2026-01 aes file: fingerprint of user key, version 1", user);
    assert_eq!(header[56..72], fingerprint[..16]);
    let material = [user, &header[24..56]].concat();
    let wrapping =
        blake3::derive_key("he 2026-01 aes file: wrapping key of user key and salt, version 1", &material);
    let key = open(&wrapping, [0; 12], &header[..72], &header[72..]);
    let (mut content, mut number) = (Vec::new(), 0u64);
    while !rest.is_empty() {
        let (chunk, more) = rest.split_at(rest.len().min((1 << header[10]) + 16));
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(more.is_empty());
        content.extend(open(&key, nonce, b"", chunk));
        (rest, number) = (more, number + 1);
    }
    content
}

#[test]
fn files_under_aes_mean_what_the_specification_says() {
    let key = &raw_frames(&committed("aes_key.he"))[0];
    let user: [u8; 32] = key.body.as_slice().try_into().unwrap();
    assert_eq!(key.kind, 10);
    let fingerprint = blake3::derive_key("he 2026-01 aes file: fingerprint of user key, version 1", &user);
    assert_eq!(key.fingerprint, fingerprint);
    let [data, empty] = generator::contents();
    let file = committed("aes_file.he");
    assert_eq!((&file[9..12], &file[12..24]), (&[1, 12, 0][..], &[0; 12][..]));
    assert_eq!(read_aes_file(&file, &user), data);
    let file = committed("aes_passphrase.he");
    assert_eq!((&file[9..12], &file[12..24]), (&[2, 12, 0][..], &[8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0][..]));
    assert_eq!(read_aes_file(&file, &generator::STRETCHED), empty);
}
