//! Writes the golden files of the wire format, `tests/data/golden/*.he`:
//! `cargo run --release --example golden`.
//!
//! It uses tiny insecure parameters and fixed seeds. `tests/suite/golden.rs` makes the same bytes
//! in memory and compares: once released, the files of a version never change, and every later
//! program reads them.

use he::Publisher;
use he::aes::container::{Content, Cost, FileKey, Header, Layout, UserKey};
use he::aes::{self, Bulk};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{self, BigCkksParams, BigCkksSpec};
use he::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he::ckks::{CkksParams, CkksSpec, Complex64, Encoder, Encryptor, LevelGroup, SecretEncryptor};
use he::exact::{self, ExactSpec, Params, Scheme};
use he::mhe::{
    Aggregate, Decryption, GaloisKeyGeneration, PartyKey, PublicKeyGeneration, RecipientKey, ReencryptionKey,
    RelinearisationRound1, RelinearisationRound2, Session, ThresholdAggregate, Transcript,
};
use he::ring::{Eval, Poly, Ring};
use he::rlwe::{EvaluationKeys, Fingerprint, Flooding, KeyRequirements, PublicKey, SecretKey, SwitchKey};
use he::switching::{FromTfheKey, FromTfheParams, SwitchingParams, ToTfheKey};
use he::tfhe::{
    BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, CompactPublicKey, EncryptedFlags, Gadget,
    TfheParams, TfheSecretKey, TfheSpec,
};
use he::transcipher::EncryptedAesKey;
use he::wire::{Frame, FrameWriter, Wire, WireKeys, WireParams, WireScheme};
use he::words::{Multiplicand, Multiplier, ReducedWords, WordEncryptor, WordEvaluator, WordParams, WordSpec};
use num_bigint::BigUint;
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// N = 2^5, one prime per level, three digits of key switching. The primes are written out, because
/// how they were chosen is not part of the format.
pub fn params() -> Result<CkksParams> {
    Ok(CkksParams::insecure(CkksSpec {
        log_n: 5,
        q: vec![35_184_372_088_321, 68_719_474_049, 68_719_477_313],
        p: vec![70_368_744_177_601],
        level_primes: vec![1, 2, 3],
        digits: vec![0..1, 1..2, 2..3],
        groups: vec![LevelGroup { levels: 3, scale_log2: 36.0 }],
    })?)
}

/// Two groups of levels: two at 2^36 below one at 2^44, whose step takes no products.
pub fn grouped_params() -> Result<CkksParams> {
    let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
    Ok(CkksParams::insecure(CkksSpec { groups: vec![group(2, 36.0), group(1, 44.0)], ..params()?.spec() })?)
}

/// The two vectors in the golden ciphertexts.
pub fn values() -> [Vec<Complex64>; 2] {
    let slot = |i: u32| Complex64::new(f64::from(i) / 16.0, -f64::from(i % 4) / 4.0);
    [(0..16).map(slot).collect(), (0..16).map(|i| slot(15 - i) * 3.0).collect()]
}

/// N = 2^5, integers modulo 257, three digits of key switching.
pub fn exact_params<S: WireScheme>() -> Result<Params<S>> {
    Ok(Params::insecure(ExactSpec {
        log_n: 5,
        q: vec![35_184_372_088_321, 68_719_474_049, 68_719_477_313],
        p: vec![70_368_744_177_601],
        digits: vec![0..1, 1..2, 2..3],
        plain_modulus: 257,
    })?)
}

/// The two vectors of 32 slots in the golden ciphertexts of BFV and BGV.
pub fn integers() -> [Vec<u64>; 2] {
    [(0..32).map(|i| i * i % 257).collect(), (0..32).map(|i| 256 - 8 * i).collect()]
}

/// Words of 8 bits at N = 2^5.
pub fn word_params() -> Result<WordParams> {
    let spec = WordSpec { bits: 8, terms: 1, log_n: 5, q_bits: 30, p_bits: 31, result_bits: 20 };
    Ok(WordParams::insecure(spec)?)
}

/// The factors of the golden products, in two ciphertexts.
const FACTORS: [[u64; 8]; 2] = [[0, 1, 128, 255, 85, 170, 7, 99], [3, 255, 3, 255, 85, 85, 200, 101]];

/// The golden products.
pub fn word_products() -> Vec<u64> {
    FACTORS[0].iter().zip(FACTORS[1]).map(|(a, b)| a * b % 256).collect()
}

/// Reduced products of words, and the key that decrypts them.
fn word_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = word_params()?;
    let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng(70));
    let needs = KeyRequirements::new().relinearisation();
    let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng(71))?;
    let encryptor = WordEncryptor::new(&params, &secret, &ring)?;
    let a = encryptor.encrypt::<Multiplicand>(&FACTORS[0], &mut rng(72))?.expand()?;
    let b = encryptor.encrypt::<Multiplier>(&FACTORS[1], &mut rng(73))?.expand()?;
    let products = WordEvaluator::new(&params, &ring)?.multiply(&a, &b, &keys)?;
    let file = |frame: Frame| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.ckks().to_frame())?;
        writer.write(&frame)?;
        Ok(writer.finish(params.ckks().fingerprint())?)
    };
    let products = ReducedWords::new(&params, products)?.to_frame(&params)?;
    let secret = secret.to_frame(params.ckks())?;
    Ok(vec![("words_secret_key.he", file(secret)?), ("words_products.he", file(products)?)])
}

/// The contents of the golden files under AES: a little more than two chunks, and nothing.
pub fn contents() -> [Vec<u8>; 2] {
    [(0..9000u32).map(|i| (i * i) as u8).collect(), Vec::new()]
}

/// Argon2id (8 KiB, 1 pass, 1 lane) of the passphrase `correct horse` and the salt of
/// `aes_passphrase.he`, as the reference implementation (argon2-cffi 25.1) computed it: Argon2id is
/// not part of the library.
pub const STRETCHED: [u8; 32] = [
    0x97, 0x6e, 0x4a, 0xd1, 0x1a, 0xd0, 0x2b, 0xf0, 0x28, 0x02, 0x8b, 0x99, 0x3c, 0xde, 0x67, 0x00, 0xfa,
    0xc2, 0x6a, 0x9c, 0x90, 0x1a, 0x3c, 0xfc, 0x09, 0x36, 0x18, 0x77, 0x9f, 0xac, 0xf8, 0x9d,
];

/// A key, a file under it, and an empty file under a passphrase.
fn aes_files(mut rng: impl FnMut(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let sealed = |(header, key): (Header, FileKey), mut data: Vec<u8>| -> Result<Vec<u8>> {
        let chunk_len = key.layout().chunk_len();
        let mut tags = vec![[0; 16]; data.len().div_ceil(chunk_len).max(1)];
        key.seal(&aes::Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags)?;
        let mut file = header.to_bytes().to_vec();
        let mut chunks = data.chunks(chunk_len);
        for tag in tags {
            file.extend(chunks.next().unwrap_or_default());
            file.extend(tag);
        }
        Ok(file)
    };
    let (user, layout, [data, empty]) = (UserKey::generate(&mut rng(7)), Layout::new(12)?, contents());
    let mut writer = FrameWriter::new(Vec::new());
    writer.write(&user.to_frame())?;
    let key = writer.finish(Fingerprint(user.fingerprint()))?;
    let cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };
    let stretch = |_: &[u8; 32], _| -> Result<UserKey> { Ok(UserKey::new(&STRETCHED)) };
    Ok(vec![
        ("aes_key.he", key),
        ("aes_file.he", sealed(Header::with_key(&user, layout, Content::Bytes, &mut rng(8)), data)?),
        (
            "aes_passphrase.he",
            sealed(Header::with_passphrase(cost, layout, Content::Bytes, &mut rng(9), stretch)?, empty)?,
        ),
    ])
}

/// Parameters, secret key, and ciphertexts of BFV or BGV: fresh, at the lowest level, and seeded.
fn exact_files<S: WireScheme>(
    [parameters, secret_key, ciphertexts, seeded_ciphertexts]: [&'static str; 4],
    rng: impl Fn(u8) -> ChaCha20Rng,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = exact_params::<S>()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng(1));
    let public = PublicKey::generate(&secret, &ring, &mut rng(2))?;
    let ev = exact::Evaluator::new(&params, &ring)?;
    let [first, second] = integers();
    let batch = ev.encoder().encode_batch(&[&first, &second])?;
    let ciphertext = exact::Encryptor::new(&params, &public)?.encrypt(&batch, &mut rng(4))?;
    let low = ev.mod_switch_to(&ciphertext, 0)?;
    let seeded = exact::SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&batch, &mut rng(6))?;
    let file = |frames: &[Frame]| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.to_frame())?;
        for frame in frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(params.fingerprint())?)
    };
    let both = [ciphertext, low];
    let frames = both.iter().map(|ct| ct.to_frame(&params));
    Ok(vec![
        (parameters, file(&[])?),
        (secret_key, file(&[secret.to_frame(&params)?])?),
        (ciphertexts, file(&frames.collect::<std::result::Result<Vec<_>, _>>()?)?),
        (seeded_ciphertexts, file(&[seeded.to_frame(&params)?])?),
    ])
}

/// N = 2^5, a modulus of 2^100, three digits of key switching.
pub fn bigckks_params() -> Result<BigCkksParams> {
    Ok(BigCkksParams::insecure(BigCkksSpec::new(5, 100, 30).with_digits(3))?)
}

/// Parameters, keys, and ciphertexts of bigckks: fresh, and at a smaller modulus with fewer slots.
fn bigckks_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = bigckks_params()?;
    let ring = Ring::new(Cpu::new(), params.ring().clone())?;
    let secret = bigckks::SecretKey::generate(&params, &mut rng(1));
    let public = bigckks::PublicKey::generate(&secret, &ring, &mut rng(2))?;
    let keys = bigckks::EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -2]).conjugation(),
        &mut rng(3),
    )?;
    let ev = bigckks::Evaluator::new(&params, &ring)?;
    let encryptor = bigckks::Encryptor::new(&params, &public)?;
    let [first, second] = values();
    let batch = ev.encoder().encode_batch(&[&first, &second], params.encoding())?;
    let sparse = ev.encoder().encode(&first[..4], params.encoding().slots(4))?;
    let fresh = encryptor.encrypt(&batch, &mut rng(4))?;
    let sparse = ev.drop_to_bits(&encryptor.encrypt(&sparse, &mut rng(5))?, 71)?;
    let file = |frames: &[Frame]| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.to_frame())?;
        for frame in frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(params.fingerprint())?)
    };
    let evaluation = keys.to_frames(&params).collect::<he::Result<Vec<_>>>()?;
    let ciphertexts = [fresh.to_frame(&params)?, sparse.to_frame(&params)?];
    Ok(vec![
        ("bigckks_parameters.he", file(&[])?),
        ("bigckks_secret_key.he", file(&[secret.to_frame(&params)?])?),
        ("bigckks_public_key.he", file(&[public.to_frame(&params)?])?),
        ("bigckks_evaluation_keys.he", file(&evaluation)?),
        ("bigckks_ciphertexts.he", file(&ciphertexts)?),
    ])
}

/// 71 bits of secrets, so that the secret key has padding.
pub fn tfhe_params() -> Result<TfheParams> {
    Ok(TfheParams::insecure(TfheSpec {
        lwe_dimension: 7,
        lwe_sigma_log2: -24.0,
        glwe_dimension: 2,
        log_degree: 5,
        glwe_sigma_log2: -40.0,
        bootstrap: Gadget { base_log: 6, levels: 2 },
        switch: Gadget { base_log: 3, levels: 3 },
    })?)
}

/// These with a small secret of a whole number of groups.
pub fn multi_bit_params() -> Result<TfheParams> {
    Ok(TfheParams::insecure(TfheSpec { lwe_dimension: 6, ..*tfhe_params()?.spec() })?)
}

/// Parameters, secret key and multi-bit key.
fn multi_bit_file(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<u8>> {
    let params = multi_bit_params()?;
    let secret = TfheSecretKey::generate(&params, &mut rng(13));
    let key = BootstrapKey::generate_multi_bit(&secret, 3, &mut rng(14))?;
    let mut writer = FrameWriter::new(Vec::new());
    for frame in [params.to_frame(), secret.to_frame(&params)?, key.to_frame(&params)?] {
        writer.write(&frame)?;
    }
    Ok(writer.finish(params.fingerprint())?)
}

/// These with decompositions for circuit bootstrapping.
pub fn circuit_params() -> Result<CircuitParams> {
    let gadget = |base_log, levels| Gadget { base_log, levels };
    Ok(CircuitParams::new(&tfhe_params()?, CircuitSpec { select: gadget(5, 2), switch: gadget(8, 3) })?)
}

/// The AES key of the golden file of encrypted round keys: that of FIPS-197, appendix A.1.
pub const AES_KEY: [u8; 16] =
    [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];

/// The contents of the golden files of TFHE.
pub const BITS: [bool; 3] = [true, false, true];
/// Integers of 16 bits.
pub const UINTS: [u16; 2] = [0xb7c5, 2];

/// Parameters, keys, bits, integers and conditions of TFHE.
fn tfhe_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let (params, cpu) = (tfhe_params()?, &Cpu::new());
    let secret = TfheSecretKey::generate(&params, &mut rng(1));
    let key = BootstrapKey::generate(&secret, &mut rng(2));
    let bits = secret.encrypt_bits(cpu, &BITS, &mut rng(4))?;
    let uints = secret.encrypt_uint(cpu, &UINTS.map(BigUint::from), 16, &mut rng(5))?;
    // Conditions are digits 0 and 1, in units of 1/32.
    let digits = BITS.map(|bit| u64::from(bit) << 59);
    let flags = EncryptedFlags::from_ciphertexts(secret.encrypt(cpu, &digits, &mut rng(6))?);
    let circuit = CircuitKey::generate(&secret, &circuit_params()?, &mut rng(7))?;
    let aes = aes::Key::from_slice(&AES_KEY)?;
    let encrypted_aes_key = EncryptedAesKey::generate(&secret, &aes, &mut rng(8))?;
    let file = |frames: &[Frame]| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.to_frame())?;
        for frame in frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(params.fingerprint())?)
    };
    // The ciphertexts of the three files before, from the same seeds.
    let seeded = [
        secret.encrypt_bits_seeded(&BITS, &mut rng(4))?.to_frame(&params)?,
        secret.encrypt_u64_seeded(&UINTS.map(u64::from), 16, &mut rng(5))?.to_frame(&params)?,
        secret.encrypt_flags_seeded(&BITS, &mut rng(6))?.to_frame(&params)?,
    ];
    // 40 digits have two masks of 32 ciphertexts.
    let public = CompactPublicKey::generate(&secret, &mut rng(9));
    let compact = [
        public.encrypt_bits(&BITS, &mut rng(10))?.to_frame(&params)?,
        public.encrypt_u64(&UINTS.map(u64::from), 40, &mut rng(11))?.to_frame(&params)?,
        public.encrypt_flags(&BITS, &mut rng(12))?.to_frame(&params)?,
    ];
    Ok(vec![
        ("tfhe_parameters.he", file(&[])?),
        ("tfhe_secret_key.he", file(&[secret.to_frame(&params)?])?),
        ("tfhe_bootstrap_key.he", file(&[key.to_frame(&params)?])?),
        ("tfhe_bits.he", file(&[bits.to_frame(&params)?])?),
        ("tfhe_uints.he", file(&[uints.to_frame(&params)?])?),
        ("tfhe_flags.he", file(&[flags.to_frame(&params)?])?),
        ("tfhe_seeded_ciphertexts.he", file(&seeded)?),
        ("tfhe_circuit_key.he", file(&[circuit.to_frame(&params)?])?),
        ("tfhe_encrypted_aes_key.he", file(&[encrypted_aes_key.to_frame(&params)?])?),
        ("tfhe_public_key.he", file(&[public.to_frame(&params)?])?),
        ("tfhe_compact_ciphertexts.he", file(&compact)?),
        ("tfhe_multi_bit_key.he", multi_bit_file(&rng)?),
    ])
}

/// The primes of the golden parameters with bootstrapping, written out as those of the others.
const BOOTSTRAP_PRIMES: [u64; 10] = [
    70_368_744_177_601,
    274_877_906_753,
    68_719_476_577,
    1_073_741_441,
    70_368_744_177_377,
    70_368_744_176_833,
    70_368_744_176_321,
    70_368_744_175_841,
    70_368_744_175_649,
    70_368_744_175_553,
];
const BOOTSTRAP_SPECIAL: [u64; 4] =
    [140_737_488_355_201, 140_737_488_353_633, 140_737_488_353_569, 140_737_488_353_377];

/// N = 2^4, two slots, one matrix on each side, a sparse secret of weight 2; parts are reduced in
/// one ciphertext, with a special prime of the level before.
pub fn bootstrap_params() -> Result<BootstrapParams> {
    let spec = BootstrapSpec {
        log_n: 4,
        log_slots: 1,
        base_bits: 46,
        base_scale_log2: 36.0,
        slots_to_coeffs: vec![38],
        program: LevelRun::new(1, 36.0, &[36]),
        join: Some(30),
        eval_mod_levels: vec![LevelRun::new(5, 46.0, &[46])],
        coeffs_to_slots: LevelRun::new(1, 46.0, &[46]),
        special: vec![47; 4],
        slots_to_coeffs_special: 1,
        borrowed: vec![1],
        eval_mod: EvalModShape { bound: 2, degree: 14, doublings: 1, arcsine: false, focus: 0.5 },
        sparse_weight: 2,
    };
    Ok(BootstrapParams::over_primes_insecure(spec, BOOTSTRAP_PRIMES.to_vec(), BOOTSTRAP_SPECIAL.to_vec())?)
}

/// Parameters and keys of bootstrapping.
fn bootstrap_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = bootstrap_params()?;
    let ring = params.ring(Cpu::new())?;
    let secret = SecretKey::generate(params.params().rlwe(), &mut rng(1));
    let keys = BootstrapKeys::generate_to(&secret, &params, &ring, &mut rng(2), Vec::new())?;
    Ok(vec![
        ("bootstrapping_parameters.he", params.to_bytes()?),
        ("bootstrapping_secret_key.he", secret.to_bytes(params.params())?.to_vec()),
        ("bootstrapping_keys.he", keys),
    ])
}

/// The primes of the golden parameters with bootstrapping of BFV and BGV.
const INTEGER_PRIMES: [u64; 10] = [
    70_368_744_177_601,
    68_719_476_577,
    68_719_476_257,
    70_368_744_177_377,
    70_368_744_176_833,
    70_368_744_176_321,
    70_368_744_175_841,
    70_368_744_175_649,
    70_368_744_175_553,
    70_368_744_174_433,
];
const INTEGER_SPECIAL: [u64; 3] = [140_737_488_355_201, 140_737_488_353_633, 140_737_488_353_569];

/// N = 2^4 and t = 17: two primes of programs above q_0, one matrix on each side, a sparse secret
/// of weight 2, two iterations.
pub fn integer_bootstrap_params<S: Scheme>() -> Result<exact::bootstrapping::BootstrapParams<S>> {
    let circuit = BootstrapSpec {
        log_slots: 3,
        slots_to_coeffs: vec![46],
        program: LevelRun::new(2, 40.0, &[36]),
        join: None,
        special: vec![47; 3],
        slots_to_coeffs_special: 2,
        eval_mod: EvalModShape { focus: 0.0, ..bootstrap_params()?.spec().eval_mod },
        ..bootstrap_params()?.spec().clone()
    };
    let spec = exact::bootstrapping::BootstrapSpec { circuit, plain_modulus: 17, iterations: 2 };
    let (q, p) = (INTEGER_PRIMES.to_vec(), INTEGER_SPECIAL.to_vec());
    Ok(exact::bootstrapping::BootstrapParams::over_primes_insecure(spec, q, p)?)
}

/// Parameters and keys of bootstrapping for integers.
fn integer_bootstrap_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = integer_bootstrap_params::<Bfv>()?;
    let ring = params.ring(Cpu::new())?;
    let secret = SecretKey::generate(params.params().rlwe(), &mut rng(1));
    let keys = BootstrapKeys::generate_to(&secret, params.circuit(), &ring, &mut rng(2), Vec::new())?;
    Ok(vec![
        ("bfv_bootstrapping_parameters.he", params.to_bytes()?),
        ("bgv_bootstrapping_parameters.he", integer_bootstrap_params::<Bgv>()?.to_bytes()?),
        ("bfv_bootstrapping_secret_key.he", secret.to_bytes(params.params())?.to_vec()),
        ("bfv_bootstrapping_keys.he", keys),
    ])
}

/// Objects as byte strings, with the identity of their key set, and a ciphertext without one.
fn byte_strings(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = params()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng(1));
    let public = PublicKey::generate(&secret, &ring, &mut rng(2))?;
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
        &mut rng(3),
    )?;
    let plain = Encoder::new(&params, &ring)?.encode(&values()[0], params.encoding())?;
    let ciphertext = Encryptor::new(&params, &public)?.encrypt(&plain, &mut rng(4))?;
    let mut of_none = ciphertext.duplicate()?;
    of_none.set_key_set(None);
    let big = bigckks::SecretKey::generate(&bigckks_params()?, &mut rng(1));
    let tfhe = TfheSecretKey::generate(&tfhe_params()?, &mut rng(1));
    Ok(vec![
        ("bytes_parameters.he", params.to_bytes()?),
        ("bytes_secret_key.he", secret.to_bytes(&params)?.to_vec()),
        ("bytes_evaluation_keys.he", keys.to_bytes(&params)?),
        ("bytes_ciphertext.he", ciphertext.to_bytes(&params)?),
        ("bytes_ciphertext_of_none.he", of_none.to_bytes(&params)?),
        ("bytes_bigckks_secret_key.he", big.to_bytes(&bigckks_params()?)?.to_vec()),
        ("bytes_tfhe_secret_key.he", tfhe.to_bytes(&tfhe_params()?)?.to_vec()),
        (
            "bytes_tfhe_bits.he",
            tfhe.encrypt_bits(&Cpu::new(), &BITS, &mut rng(4))?.to_bytes(&tfhe_params()?)?,
        ),
    ])
}

/// N = 2^6, and the large secret of TFHE has degree 2^5.
pub fn switching_params() -> Result<(CkksParams, TfheParams)> {
    let ckks = CkksParams::insecure(CkksSpec {
        log_n: 6,
        q: vec![70_368_744_168_193, 68_719_474_049],
        p: vec![140_737_488_355_201],
        level_primes: vec![1, 2],
        digits: vec![0..1, 1..2],
        groups: vec![LevelGroup { levels: 2, scale_log2: 36.0 }],
    })?;
    let tfhe = TfheParams::insecure(TfheSpec { glwe_dimension: 1, ..*tfhe_params()?.spec() })?;
    Ok((ckks, tfhe))
}

/// Secret keys of both schemes, and the keys that lead from each to the other.
fn switching_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let (ckks, tfhe) = switching_params()?;
    let ring = Ring::new(Cpu::new(), ckks.rlwe().ring().clone())?;
    let to = SwitchingParams::insecure(ckks.rlwe(), 1, &tfhe)?;
    let from = FromTfheParams::new(&tfhe, ckks.rlwe())?;
    let secret = SecretKey::generate(ckks.rlwe(), &mut rng(1));
    let target = TfheSecretKey::generate(&tfhe, &mut rng(2));
    let there = ToTfheKey::generate(&secret, &target, &to, &to.ring(Cpu::new())?, &mut rng(3))?;
    let back = FromTfheKey::generate(&target, &secret, &from, &ring, &mut rng(4))?;
    let file = |frames: &[Frame]| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        for frame in frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(frames[0].fingerprint)?)
    };
    Ok(vec![
        ("switching_ckks_secret_key.he", file(&[ckks.to_frame(), secret.to_frame(&ckks)?])?),
        ("switching_tfhe_secret_key.he", file(&[tfhe.to_frame(), target.to_frame(&tfhe)?])?),
        ("switching_key_to_tfhe.he", file(&[there.to_frame(&to)?])?),
        ("switching_keys_from_tfhe.he", file(&[back.to_frame(&from)?])?),
    ])
}

/// The parameters of the other files at another scale, so that their fingerprint is their own.
pub fn party_params() -> Result<CkksParams> {
    let groups = vec![LevelGroup { levels: 3, scale_log2: 36.25 }];
    Ok(CkksParams::insecure(CkksSpec { groups, ..params()?.spec() })?)
}

/// The messages and secrets of three parties, any two of whom decrypt.
fn party_files(rng: impl Fn(u8) -> ChaCha20Rng) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = party_params()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let session = Session::new(params.rlwe(), [1, 2, 3], 2, [7; 32])?;
    let keys: Vec<PartyKey> = (1..=3)
        .map(|party| Ok(PartyKey::generate(&session, party, &mut rng(party as u8))?))
        .collect::<Result<_>>()?;
    let mut shares = Vec::new();
    let generation = PublicKeyGeneration::new(&session, &ring)?;
    let mut all = Aggregate::new(&generation);
    for key in &keys {
        let share = generation.share(key, &mut rng(10 + key.party() as u8))?;
        shares.push(share.to_frame(&params)?);
        all.add(&share)?;
    }
    let public = all.finish()?;
    let first = RelinearisationRound1::new(&session, &ring)?;
    let (mut all, mut ephemeral) = (Aggregate::new(&first), Vec::new());
    for key in &keys {
        let (share, secret) = first.share(key, &mut rng(20 + key.party() as u8))?;
        shares.push(share.to_frame(&params)?);
        all.add(&share)?;
        ephemeral.push(secret);
    }
    let mut kept = keys.iter().map(|key| key.to_frame(&params)).collect::<he::Result<Vec<_>>>()?;
    kept.extend(ephemeral.iter().map(|secret| secret.to_frame(&params)).collect::<he::Result<Vec<_>>>()?);
    let sums = all.finish()?;
    let second = RelinearisationRound2::new(&session, &ring, &sums)?;
    let mut all = Aggregate::new(&second);
    for (key, secret) in keys.iter().zip(ephemeral) {
        let share = second.share(key, secret, &mut rng(30 + key.party() as u8))?;
        shares.push(share.to_frame(&params)?);
        all.add(&share)?;
    }
    let mut evaluation = EvaluationKeys::empty(params.rlwe(), &ring)?;
    evaluation.insert_relin(all.finish()?)?;
    let generation = GaloisKeyGeneration::new(&session, &ring, 5)?;
    let mut all = Aggregate::new(&generation);
    for key in &keys {
        let share = generation.share(key, &mut rng(40 + key.party() as u8))?;
        shares.push(share.to_frame(&params)?);
        all.add(&share)?;
    }
    evaluation.insert_galois(5, all.finish()?)?;
    let mut sum = ThresholdAggregate::new(&session, 1)?;
    let mut secret_shares = Vec::new();
    for key in &keys {
        let share = key.deal(&ring, &mut rng(50 + key.party() as u8))?.remove(0);
        secret_shares.push(share.to_frame(&params)?);
        sum.add(share)?;
    }
    kept.push(sum.finish()?.to_frame(&params)?);
    let [first, _] = values();
    let plain = Encoder::new(&params, &ring)?.encode(&first, params.encoding())?;
    let x = Encryptor::new(&params, &public)?.encrypt(&plain, &mut rng(60))?;
    let transcript = Transcript::unchecked_insecure(&session);
    let decryption = Decryption::new(&transcript, &params, &x, &[1, 2, 3], Flooding::Bits(20))?;
    for key in &keys {
        let mut publisher = Publisher::new(40, 1)?;
        let share =
            decryption.share(&key.share(&ring)?, &[], &mut publisher, &mut rng(70 + key.party() as u8))?;
        shares.push(share.to_frame(&params)?);
    }

    // From the secret of the other files to one under parameters with groups of levels.
    let (sender, target) = (SecretKey::generate(params.rlwe(), &mut rng(1)), grouped_params()?);
    let recipient = SecretKey::generate(target.rlwe(), &mut rng(80));
    let to = RecipientKey::generate(&recipient, &ring, &mut rng(81))?;
    let key = ReencryptionKey::generate(&sender, &to, &mut rng(82))?;
    let file = |params: &CkksParams, frames: Vec<Frame>| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.to_frame())?;
        for frame in &frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(params.fingerprint())?)
    };
    let mut keys = vec![public.to_frame(&params)?];
    keys.extend(evaluation.to_frames(&params).collect::<he::Result<Vec<_>>>()?);
    keys.push(x.to_frame(&params)?);
    Ok(vec![
        ("party_session.he", file(&params, vec![session.to_frame(&params)?])?),
        ("party_secrets.he", file(&params, kept)?),
        ("party_secret_shares.he", file(&params, secret_shares)?),
        ("party_shares.he", file(&params, shares)?),
        ("party_keys.he", file(&params, keys)?),
        ("reencryption_secret_key.he", file(&target, vec![recipient.to_frame(&target)?])?),
        ("reencryption_keys.he", file(&target, vec![to.to_frame(&target)?, key.to_frame(&target)?])?),
    ])
}

/// The same keys as pairs of polynomials, as keys that another program made are.
pub fn unseeded(public: &PublicKey, keys: &EvaluationKeys) -> Result<(PublicKey, EvaluationKeys)> {
    let (params, ring) = (keys.params(), keys.ring());
    let pairs = |key: &SwitchKey| -> Result<SwitchKey> {
        let seed = key.seed().ok_or("a key without a seed")?;
        let pair = |digit: usize| -> Result<[Poly<Eval>; 2]> {
            let b = Poly::from_words(ring, params.key_span(), 1, &key.body_words(digit)?)?;
            Ok([b, Poly::uniform(ring, params.key_span(), 1, seed, digit as u32)?])
        };
        let pairs = (0..params.digits().len()).map(pair).collect::<Result<Vec<_>>>()?;
        Ok(SwitchKey::from_pairs(params, ring, &pairs)?)
    };
    let mut made = EvaluationKeys::empty(params, ring)?;
    made.insert_relin(pairs(keys.relin()?)?)?;
    keys.galois_keys()
        .try_for_each(|(g, key)| Ok::<_, Box<dyn std::error::Error>>(made.insert_galois(g, pairs(key)?)?))?;
    Ok((PublicKey::from_pair(params, [public.body().clone(), public.mask().clone()])?, made))
}

/// All files, by name.
pub fn files() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let params = params()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    // Each object has a seed of its own, so that changing one leaves the others as they are.
    let rng = |number: u8| ChaCha20Rng::from_seed([number; 32]);
    let secret = SecretKey::generate(params.rlwe(), &mut rng(1));
    let public = PublicKey::generate(&secret, &ring, &mut rng(2))?;
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -2]).conjugation(),
        &mut rng(3),
    )?;
    let encoder = Encoder::new(&params, &ring)?;
    let [first, second] = values();
    let batch = encoder.encode_batch(&[&first, &second], params.encoding())?;
    let low = encoder.encode(&first[..4], params.encoding().at_level(&params, 1)?.slots(4))?;
    let encryptor = Encryptor::new(&params, &public)?;
    let ciphertext = encryptor.encrypt(&batch, &mut rng(4))?;
    let sparse = encryptor.encrypt(&low, &mut rng(5))?;
    let seeded = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&batch, &mut rng(6))?;

    let file = |frames: Vec<Frame>| -> Result<Vec<u8>> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write(&params.to_frame())?;
        for frame in &frames {
            writer.write(frame)?;
        }
        Ok(writer.finish(params.fingerprint())?)
    };
    let evaluation = keys.to_frames(&params).collect::<he::Result<Vec<_>>>()?;
    let (unseeded_public, unseeded) = unseeded(&public, &keys)?;
    let without_seeds = std::iter::once(unseeded_public.to_frame(&params)).chain(unseeded.to_frames(&params));
    let without_seeds = without_seeds.collect::<he::Result<Vec<_>>>()?;
    let mut grouped = FrameWriter::new(Vec::new());
    grouped.write(&grouped_params()?.to_frame())?;
    let mut files = vec![
        ("parameters.he", file(vec![])?),
        ("grouped_parameters.he", grouped.finish(grouped_params()?.fingerprint())?),
        ("secret_key.he", file(vec![secret.to_frame(&params)?])?),
        ("public_key.he", file(vec![public.to_frame(&params)?])?),
        ("evaluation_keys.he", file(evaluation)?),
        (
            "ciphertexts.he",
            file(vec![
                Frame::attachment(params.fingerprint(), b"golden".to_vec())?,
                ciphertext.to_frame(&params)?,
                sparse.to_frame(&params)?,
            ])?,
        ),
        ("seeded_ciphertexts.he", file(vec![seeded.to_frame(&params)?])?),
        ("unseeded_keys.he", file(without_seeds)?),
    ];
    let names = ["bfv_parameters.he", "bfv_secret_key.he", "bfv_ciphertexts.he", "bfv_seeded_ciphertexts.he"];
    files.extend(exact_files::<Bfv>(names, rng)?);
    let names = ["bgv_parameters.he", "bgv_secret_key.he", "bgv_ciphertexts.he", "bgv_seeded_ciphertexts.he"];
    files.extend(exact_files::<Bgv>(names, rng)?);
    files.extend(bigckks_files(rng)?);
    files.extend(tfhe_files(rng)?);
    files.extend(bootstrap_files(rng)?);
    files.extend(integer_bootstrap_files(rng)?);
    files.extend(switching_files(rng)?);
    files.extend(party_files(rng)?);
    files.extend(byte_strings(rng)?);
    files.extend(aes_files(rng)?);
    files.extend(word_files(rng)?);
    Ok(files)
}

#[allow(dead_code)]
fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden");
    for (name, bytes) in files()? {
        std::fs::write(folder.join(name), &bytes)?;
        println!("{name}: {} bytes", bytes.len());
    }
    Ok(())
}
