//! Files that SEAL wrote (`tests/data/seal`): their messages, by SEAL's own secret keys, and the
//! same bytes written again.
#![allow(missing_docs, clippy::unwrap_used)]

use he::Device;
use he_any::rlwe::{Cipher, Engine};
use he_any::{Engine as Any, Params};
use he_core::ckks;
use he_core::ring::{Eval, Poly, Ring, Span};
use he_core::rlwe::{PublicKey, RlweCiphertext};
use he_files::Error;
use he_files::error::SealError;
use he_files::seal::{
    read_ciphertext, read_galois_keys, read_params, read_public_key, read_relin_key, rotate, slot_order,
    write_ciphertext, write_params,
};
use std::path::Path;
use std::slice;

const N: usize = 64;

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/seal");
    std::fs::read(folder.join(name)).unwrap()
}

/// A file without its compression, as SEAL writes it without one.
fn uncompressed(name: &str) -> Vec<u8> {
    let bytes = file(name);
    let members = match bytes[5] {
        0 => return bytes,
        1 => miniz_oxide::inflate::decompress_to_vec_zlib(&bytes[16..]).unwrap(),
        _ => {
            let (mut decoder, mut members) =
                (ruzstd::decoding::StreamingDecoder::new(&bytes[16..]).unwrap(), Vec::new());
            std::io::Read::read_to_end(&mut decoder, &mut members).unwrap();
            members
        }
    };
    let size = (members.len() as u64 + 16).to_le_bytes();
    [&[0x5E, 0xA1, 16, 4, 1, 0, 0, 0][..], &size, &members].concat()
}

fn params(name: &str) -> Params {
    read_params(&file(name), None, true).unwrap()
}

fn any(params: &Params) -> Any {
    Any::new(params, Device::cpu()).unwrap()
}

/// The phases c0 + c1 s, by the words of SEAL's secret key at the end of its file: values at the
/// roots of every prime, the special one last.
fn phase(ring: &Ring<Device>, pair: &RlweCiphertext<Device>, secret: &str) -> Vec<Vec<u64>> {
    let key = file(secret);
    let primes = ring.spec().q().len() + ring.spec().p().len();
    let words: Vec<u64> = key[key.len() - 8 * primes * N..]
        .chunks(8)
        .map(|x| u64::from_le_bytes(x.try_into().unwrap()))
        .collect();
    let count = pair.chain_limbs();
    let span = Span::chain(count);
    let s = Poly::<Eval, Device>::from_words(ring, span, 1, &words[..count * N]).unwrap();
    let mut phase = pair.parts()[0].duplicate().unwrap();
    phase.mul_add_assign(pair.parts()[1], &s).unwrap();
    phase.into_coeff().unwrap().to_words().unwrap().chunks(N).map(<[u64]>::to_vec).collect()
}

/// The representative nearest to 0 of what is small, from its residues modulo the first prime.
fn centred(residue: u64, q: u64) -> f64 {
    if residue > q / 2 { -((q - residue) as f64) } else { residue as f64 }
}

/// The value of a polynomial at z^exponent, z = exp(i pi / N): its real part.
fn at_root(coefficients: &[f64], exponent: usize) -> f64 {
    let angle = |k: usize| std::f64::consts::PI * ((k * exponent) % (2 * N)) as f64 / N as f64;
    coefficients.iter().enumerate().map(|(k, c)| c * angle(k).cos()).sum()
}

/// The message of a place in the files of CKKS.
const VALUE: fn(usize) -> f64 = |place| place as f64 / 8.0 - 2.0;

/// The values of a ciphertext of CKKS in each slot of this library, by SEAL's secret key.
fn ckks_slots(engine: &Engine, ct: &Cipher) -> Vec<f64> {
    let Cipher::Ckks(ckks) = ct else { panic!("of another scheme") };
    let residues = phase(engine.ring(), ckks.pair(), "ckks_secret_key.seal");
    let q = engine.ring().spec().q()[0];
    let message: Vec<f64> = residues[0].iter().map(|&x| centred(x, q) / ckks.scale()).collect();
    let exponents = std::iter::successors(Some(1), |exponent| Some(exponent * 5 % (2 * N))).take(N / 2);
    exponents.map(|exponent| at_root(&message, exponent)).collect()
}

/// The values of a ciphertext of BFV in each slot of this library, by SEAL's secret key:
/// round(t phase / q) modulo t, coefficient by coefficient, at the powers of the least root.
fn bfv_slots(engine: &Engine, ct: &Cipher) -> Vec<i128> {
    let (Engine::Bfv(of), Cipher::Bfv(bfv)) = (engine, ct) else { panic!("of another scheme") };
    let residues = phase(engine.ring(), bfv.pair(), "bfv_secret_key.seal");
    let (t, primes) = (257i128, engine.ring().spec().q());
    let (q0, q1) = (i128::from(primes[0]), i128::from(primes[1]));
    let inverse = i128::from(of.params.rlwe().ring().q_moduli()[1].inv(primes[0] % primes[1]));
    let message: Vec<i128> = (0..N)
        .map(|k| {
            let (a, b) = (i128::from(residues[0][k]), i128::from(residues[1][k]));
            let phase = a + q0 * ((b - a).rem_euclid(q1) * inverse % q1);
            ((2 * t * phase + q0 * q1) / (2 * q0 * q1)).rem_euclid(t)
        })
        .collect();
    // The least root of order 128 modulo 257.
    let power = |base: i128, exponent: usize| (0..exponent).fold(1, |x, _| x * base % t);
    let root = (2..t).find(|&z| power(z, N) == t - 1).unwrap();
    let value = |exponent: usize| {
        let z = power(root, exponent);
        message.iter().rev().fold(0, |sum, c| (sum * z + c) % t)
    };
    let row: Vec<usize> =
        std::iter::successors(Some(1), |exponent| Some(exponent * 5 % (2 * N))).take(N / 2).collect();
    row.iter().map(|&exponent| value(exponent)).chain(row.iter().map(|&e| value(2 * N - e))).collect()
}

/// The message of a place in the files of BFV.
const INTEGER: fn(usize) -> i128 = |place| (3 * place as i128 - 90).rem_euclid(257);

fn of_bfv() -> Any {
    any(&params("bfv_parameters.seal"))
}

fn of_ckks() -> Any {
    any(&params("ckks_parameters.seal"))
}

#[test]
fn ciphertexts_of_ckks_hold_their_messages() {
    let params = params("ckks_parameters.seal");
    assert_eq!((params.log_n(), params.slots(), params.depth()), (Some(6), Some(32), Some(2)));
    let any = any(&params);
    let engine = any.rlwe().unwrap();
    let order = slot_order(&params);
    let files =
        [("ckks_ciphertext.seal", 2), ("ckks_ciphertext_lower.seal", 1), ("ckks_ciphertext_seeded.seal", 2)];
    for (name, level) in files {
        let ct = read_ciphertext(engine, &file(name)).unwrap();
        let Cipher::Ckks(ckks) = &ct else { panic!("of another scheme") };
        assert_eq!((ckks.level(), ckks.scale()), (level, 30f64.exp2()));
        for (found, &place) in ckks_slots(engine, &ct).into_iter().zip(&order) {
            let expected = VALUE(place);
            assert!((found - expected).abs() < 1e-4, "{name}: {found} for {expected}");
        }
        // The words of a seed are written out.
        assert!(name.contains("seeded") || write_ciphertext(engine, &ct).unwrap() == file(name));
    }
}

#[test]
fn ciphertexts_of_bfv_hold_their_messages() {
    let params = params("bfv_parameters.seal");
    assert_eq!((params.log_n(), params.plain_modulus()), (Some(6), Some(257)));
    let any = any(&params);
    let engine = any.rlwe().unwrap();
    let ct = read_ciphertext(engine, &file("bfv_ciphertext.seal")).unwrap();
    let expected: Vec<i128> = slot_order(&params).into_iter().map(INTEGER).collect();
    assert_eq!(bfv_slots(engine, &ct), expected);
    assert_eq!(write_ciphertext(engine, &ct).unwrap(), file("bfv_ciphertext.seal"));
}

/// Encryptions by SEAL's public keys are decrypted by its secret keys, also after the key was a
/// frame.
#[test]
fn public_keys_encrypt() {
    let mut rng = he_core::rand::rng();
    let any = of_ckks();
    let engine = any.rlwe().unwrap();
    let Engine::Ckks(of) = engine else { panic!("of another scheme") };
    for name in ["ckks_public_key.seal", "ckks_public_key_seeded.seal"] {
        let key = read_public_key(engine, &file(name)).unwrap();
        assert!(key.seed().is_none() && key.key_set().is_none());
        let bytes = key.to_bytes(&of.params).unwrap();
        let key = PublicKey::from_bytes(&of.params, &of.ring, &bytes).unwrap();
        let values: Vec<f64> = (0..N / 2).map(|i| (i as f64 - 7.0) / 16.0).collect();
        let ct = ckks::Encryptor::new(&of.params, &key).unwrap().encrypt_real(&values, &mut rng).unwrap();
        for (found, expected) in ckks_slots(engine, &Cipher::Ckks(ct)).iter().zip(&values) {
            assert!((found - expected).abs() < 1e-4, "{name}: {found} for {expected}");
        }
    }
    let any = of_bfv();
    let engine = any.rlwe().unwrap();
    let key = read_public_key(engine, &file("bfv_public_key.seal")).unwrap();
    let values: Vec<i64> = (0..N as i64).map(|i| (7 * i) % 257 - 128).collect();
    let ct = engine.encrypt(&key, &engine.encode(&[&values[..]]).unwrap(), &mut rng).unwrap();
    assert_eq!(
        bfv_slots(engine, &ct),
        values.iter().map(|&x| i128::from(x).rem_euclid(257)).collect::<Vec<_>>()
    );
}

#[test]
fn relinearisation_keys_multiply() {
    let any = of_ckks();
    let engine = any.rlwe().unwrap();
    let keys = read_relin_key(engine, &file("ckks_relin_keys.seal")).unwrap();
    let ct = read_ciphertext(engine, &file("ckks_ciphertext.seal")).unwrap();
    let square = engine.mul(&ct, &ct, &keys).unwrap();
    let order = slot_order(&params("ckks_parameters.seal"));
    for (found, &place) in ckks_slots(engine, &square).iter().zip(&order) {
        assert!((found - VALUE(place).powi(2)).abs() < 1e-3, "{found} at {place}");
    }
    // Both primes of ciphertexts are one digit here, and two of SEAL's.
    let any = of_bfv();
    let engine = any.rlwe().unwrap();
    let keys = read_relin_key(engine, &file("bfv_relin_keys.seal")).unwrap();
    assert_eq!(keys.params().digits(), slice::from_ref(&(0..2)));
    let ct = read_ciphertext(engine, &file("bfv_ciphertext.seal")).unwrap();
    let square = bfv_slots(engine, &engine.mul(&ct, &ct, &keys).unwrap());
    let order = slot_order(&params("bfv_parameters.seal"));
    assert_eq!(square, order.into_iter().map(|place| INTEGER(place).pow(2) % 257).collect::<Vec<_>>());
}

#[test]
fn galois_keys_rotate() {
    let any = of_ckks();
    let engine = any.rlwe().unwrap();
    let keys = read_galois_keys(engine, &file("ckks_galois_keys.seal")).unwrap();
    let elements: Vec<u64> = keys.galois_keys().map(|(element, _)| element).collect();
    assert_eq!(elements, [3, 9]);
    let ct = read_ciphertext(engine, &file("ckks_ciphertext.seal")).unwrap();
    let order = slot_order(&params("ckks_parameters.seal"));
    for steps in [0usize, 1, 2, 3, 33] {
        let rotated = rotate(engine, &ct, steps as i64, &keys).unwrap();
        for (found, &place) in ckks_slots(engine, &rotated).iter().zip(&order) {
            let expected = VALUE((place + steps) % (N / 2));
            assert!((found - expected).abs() < 1e-3, "{found} for {expected}, {steps} steps");
        }
    }
    let missing = rotate(engine, &ct, 5, &keys);
    assert!(matches!(missing, Err(Error::Core(he_core::Error::MissingGaloisKey { step: 5 }))), "{missing:?}");
    let any = of_bfv();
    let engine = any.rlwe().unwrap();
    let keys = read_galois_keys(engine, &file("bfv_galois_keys.seal")).unwrap();
    let ct = read_ciphertext(engine, &file("bfv_ciphertext.seal")).unwrap();
    let rotated = bfv_slots(engine, &rotate(engine, &ct, 1, &keys).unwrap());
    let row = |place: usize| place / (N / 2) * (N / 2) + (place + 1) % (N / 2);
    let order = slot_order(&params("bfv_parameters.seal"));
    assert_eq!(rotated, order.into_iter().map(|place| INTEGER(row(place))).collect::<Vec<_>>());
}

#[test]
fn parameters_are_written_as_seal_writes_them() {
    for name in ["ckks_parameters.seal", "bfv_parameters.seal"] {
        assert_eq!(write_params(&params(name)).unwrap(), file(name));
    }
}

#[test]
fn compressed_files_hold_the_same() {
    let plain = params("ckks_parameters.seal");
    for compressed in ["ckks_parameters_zlib.seal", "ckks_parameters_zstd.seal"] {
        assert_eq!(params(compressed), plain);
    }
    let any = any(&plain);
    let written = |name| {
        write_ciphertext(any.rlwe().unwrap(), &read_ciphertext(any.rlwe().unwrap(), &file(name)).unwrap())
    };
    for compressed in ["ckks_ciphertext_zlib.seal", "ckks_ciphertext_zstd.seal"] {
        assert_eq!(written(compressed).unwrap(), file("ckks_ciphertext.seal"));
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let ckks = params("ckks_parameters.seal");
    let (ckks, bfv) = (any(&ckks), any(&params("bfv_parameters.seal")));
    let refused = |any: &Any, name| match read_ciphertext(any.rlwe().unwrap(), &file(name)) {
        Err(Error::Seal(error)) => error,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(refused(&ckks, "ckks_product.seal"), SealError::Size { found: 3 });
    assert!(matches!(refused(&ckks, "ckks_public_key.seal"), SealError::Field { .. }));
    let engine = ckks.rlwe().unwrap();
    let key = |name| read_public_key(engine, &file(name)).map(drop);
    let relin = |name| read_relin_key(engine, &file(name)).map(drop);
    let galois = |name| read_galois_keys(engine, &file(name)).map(drop);
    for refused in [
        key("ckks_ciphertext.seal"),
        key("bfv_public_key.seal"),
        key("ckks_relin_keys.seal"),
        relin("ckks_galois_keys.seal"),
        relin("bfv_relin_keys.seal"),
        galois("ckks_relin_keys.seal"),
        galois("ckks_public_key.seal"),
    ] {
        assert!(matches!(refused, Err(Error::Seal(_))), "{refused:?}");
    }
    assert!(matches!(refused(&bfv, "ckks_ciphertext.seal"), SealError::Length { .. }));
    assert!(matches!(refused(&ckks, "ckks_parameters.seal"), SealError::Length { .. }));
    assert!(read_params(&file("ckks_parameters.seal"), None, false).is_err(), "64 is no secure degree");
    assert!(read_params(&file("ckks_parameters.seal"), Some(10.0), true).is_err(), "primes of 30 bits");
}

#[test]
fn seeds_of_another_generator_are_refused() {
    let mut bytes = uncompressed("ckks_ciphertext_seeded.seal");
    let any = any(&params("ckks_parameters.seal"));
    let read = |bytes: &[u8]| read_ciphertext(any.rlwe().unwrap(), bytes);
    assert!(read(&bytes).is_ok());
    // SHAKE256, before the 64 bytes of the seed.
    let at = bytes.len() - 65;
    assert_eq!(bytes[at], 1);
    bytes[at] = 2;
    assert!(matches!(read(&bytes), Err(Error::Seal(SealError::Generator { found: 2 }))));
}

/// Whatever happens to a file, reading it ends in an error or in an object, and never takes more
/// than the file states.
#[test]
fn damaged_files_are_refused() {
    let any = any(&params("ckks_parameters.seal"));
    let engine = any.rlwe().unwrap();
    let read = |name: &str, bytes: &[u8]| match name.trim_start_matches("ckks_") {
        name if name.starts_with("parameters") => read_params(bytes, None, true).map(drop),
        name if name.starts_with("public_key") => read_public_key(engine, bytes).map(drop),
        "relin_keys" => read_relin_key(engine, bytes).map(drop),
        "galois_keys" => read_galois_keys(engine, bytes).map(drop),
        _ => read_ciphertext(engine, bytes).map(drop),
    };
    let names = ["ckks_parameters", "ckks_parameters_zlib", "ckks_parameters_zstd"];
    let names = names.into_iter().chain(["ckks_ciphertext", "ckks_ciphertext_zlib", "ckks_ciphertext_zstd"]);
    let names = names.chain(["ckks_ciphertext_seeded", "ckks_public_key_seeded"]);
    let names = names.map(|name| (name, file(&format!("{name}.seal"))));
    let keys = ["ckks_public_key", "ckks_relin_keys", "ckks_galois_keys"];
    let keys = keys.map(|name| (name, uncompressed(&format!("{name}.seal"))));
    for (name, bytes) in names.chain(keys) {
        assert!(read(name, &bytes).is_ok(), "{name}");
        for length in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            assert!(read(name, &bytes[..length]).is_err(), "{name}: {length} bytes");
        }
        assert!(read(name, &[&bytes[..], &[0]].concat()).is_err(), "{name}: a byte more");
        for at in (0..bytes.len().min(200)).chain([bytes.len() - 1]) {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let _ = read(name, &damaged);
            }
        }
    }
    // Compressed zeros, a thousand times as long as what the parameters allow.
    let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 1 << 24], 9);
    let size = (bomb.len() as u64 + 16).to_le_bytes();
    let bomb = [&[0x5E, 0xA1, 16, 4, 1, 1, 0, 0][..], &size, &bomb].concat();
    assert!(matches!(read_params(&bomb, None, true), Err(Error::Seal(SealError::Damaged { .. }))));
}
