//! Files that SEAL wrote (`tests/data/seal`): their messages, by SEAL's own secret keys, and the
//! same bytes written again.
#![allow(missing_docs, clippy::unwrap_used)]

use he::Device;
use he_any::rlwe::{Cipher, Engine};
use he_any::{Engine as Any, Params};
use he_core::ring::{Eval, Poly, Ring, Span};
use he_core::rlwe::RlweCiphertext;
use he_files::Error;
use he_files::error::SealError;
use he_files::seal::{read_ciphertext, read_params, slot_order, write_ciphertext};
use std::path::Path;

const N: usize = 64;

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/seal");
    std::fs::read(folder.join(name)).unwrap()
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
        let residues = phase(engine.ring(), ckks.pair(), "ckks_secret_key.seal");
        let q = engine.ring().spec().q()[0];
        let message: Vec<f64> = residues[0].iter().map(|&x| centred(x, q) / ckks.scale()).collect();
        let mut exponent = 1;
        for &place in &order {
            let expected = place as f64 / 8.0 - 2.0;
            let found = at_root(&message, exponent);
            assert!((found - expected).abs() < 1e-4, "{name}: {found} for {expected}");
            exponent = exponent * 5 % (2 * N);
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
    let Some(engine @ Engine::Bfv(of)) = any.rlwe() else { panic!("of another scheme") };
    let ct = read_ciphertext(engine, &file("bfv_ciphertext.seal")).unwrap();
    let Cipher::Bfv(bfv) = &ct else { panic!("of another scheme") };
    // round(t phase / q) modulo t, coefficient by coefficient.
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
    // The least root of order 128 modulo 257, and the values at its powers.
    let power = |base: i128, exponent: usize| (0..exponent).fold(1, |x, _| x * base % t);
    let root = (2..t).find(|&z| power(z, N) == t - 1).unwrap();
    let value = |exponent: usize| {
        let z = power(root, exponent);
        message.iter().rev().fold(0, |sum, c| (sum * z + c) % t)
    };
    let order = slot_order(&params);
    let mut exponent = 1;
    for j in 0..N / 2 {
        for (at, exponent) in [(j, exponent), (j + N / 2, 2 * N - exponent)] {
            assert_eq!(value(exponent), (3 * order[at] as i128 - 90).rem_euclid(t), "slot {at}");
        }
        exponent = exponent * 5 % (2 * N);
    }
    assert_eq!(write_ciphertext(engine, &ct).unwrap(), file("bfv_ciphertext.seal"));
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
    assert!(matches!(refused(&bfv, "ckks_ciphertext.seal"), SealError::Length { .. }));
    assert!(matches!(refused(&ckks, "ckks_parameters.seal"), SealError::Length { .. }));
    assert!(read_params(&file("ckks_parameters.seal"), None, false).is_err(), "64 is no secure degree");
    assert!(read_params(&file("ckks_parameters.seal"), Some(10.0), true).is_err(), "primes of 30 bits");
}

#[test]
fn seeds_of_another_generator_are_refused() {
    let (head, compressed) = (16, file("ckks_ciphertext_seeded.seal"));
    let mut bytes = vec![0; head];
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&compressed[head..]).unwrap();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).unwrap();
    let size = (bytes.len() as u64).to_le_bytes();
    bytes[..head].copy_from_slice(&[&[0x5E, 0xA1, 16, 4, 1, 0, 0, 0][..], &size].concat());
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
    let read = |name: &str, bytes: &[u8]| match name.contains("parameters") {
        true => read_params(bytes, None, true).map(drop),
        false => read_ciphertext(engine, bytes).map(drop),
    };
    let names = ["ckks_parameters", "ckks_parameters_zlib", "ckks_parameters_zstd"];
    let names = names.into_iter().chain(["ckks_ciphertext", "ckks_ciphertext_zlib", "ckks_ciphertext_zstd"]);
    let names = names.chain(["ckks_ciphertext_seeded"]);
    for name in names {
        let bytes = file(&format!("{name}.seal"));
        for length in (0..bytes.len()).step_by(13) {
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
