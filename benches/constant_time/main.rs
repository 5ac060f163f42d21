//! Tests whether the time of key generation, encoding, encryption, decryption and decoding depends
//! on secrets, with one experiment per claim of constant time, on every set of instructions that
//! this processor has.
//!
//! `cargo bench --bench constant_time -- [PART OF A NAME] [SAMPLES] [SECONDS]`, on one thread; 20
//! 000 calls per experiment or 20 seconds unless given. Vector code is chosen at run time; how the
//! rest is compiled depends on the target, so measure both baseline x86-64 and
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"`, and the bitsliced AES with
//! `RUSTFLAGS='--cfg aes_backend="soft"'`. On a machine that does other work, null experiments may
//! look suspicious, too. The rows are a table in Markdown. The exit status is 1 if a claim is
//! refuted (|t| of 10 or more where the null experiment has less), or if the control is not found.

mod welch;

use he::wire::Wire;
use he_core::arith::{Modulus, ntt_primes_below};
use he_core::backend::{Backend, Cpu};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::{self, BigCkksParams, BigCkksSpec, SecretDistribution};
use he_core::ckks::{self, CkksParams, CkksSpec};
use he_core::exact::{self, ExactSpec, Scheme};
use he_core::ring::{Coeff, NttTable, Poly, Ring, RingSpec, Seed, Span, error_row, ternary_row, uniform_row};
use he_core::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, RlweParams, SecretKey};
use he_core::tfhe::{BootstrapKey, CompactPublicKey, TfheParams, TfheSecretKey, presets};
use he_core::{aes, wire};
use num_complex::Complex64;
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use welch::{Inputs, Session, zeros};
use zeroize::Zeroizing;

type Outcome = Result<(), Box<dyn Error>>;

/// The degree of the rings is small, so that a coefficient is a large part of the time.
const LOG_N: u32 = 9;

fn main() -> ExitCode {
    // Cargo adds --bench.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let filter = arguments.next().unwrap_or_default();
    let mut number = |otherwise| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (samples, seconds) = (number(20_000), number(20));
    let limit = Duration::from_secs(seconds as u64);
    let mut session = Session { filter, unit: "portable".to_owned(), samples, limit, leaks: 0 };
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the pool is built once");
    match measure(&mut session) {
        Ok(()) if session.leaks == 0 => ExitCode::SUCCESS,
        Ok(()) => {
            eprintln!("{} claims are refuted", session.leaks);
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(session: &mut Session) -> Outcome {
    session.head();
    control(session)?;
    arithmetic(session)?;
    for cpu in Cpu::all() {
        session.unit = cpu.name();
        transforms(session, &cpu)?;
        for bits in [30, 55] {
            ckks(session, &cpu, bits)?;
        }
        exact::<Bfv>(session, &cpu, "BFV", 50, 257)?;
        exact::<Bfv>(session, &cpu, "BFV", 58, 65537)?;
        exact::<Bgv>(session, &cpu, "BGV", 50, 257)?;
        bigckks(session, &cpu, SecretDistribution::UniformTernary)?;
        bigckks(session, &cpu, SecretDistribution::Sparse { weight: 64 })?;
    }
    session.unit = "best".to_owned();
    tfhe(session)?;
    aes(session)
}

/// A leak that must be found: a comparison that stops at the first difference. Each byte is hidden
/// from the compiler, so that the loop cannot become one without a branch.
fn control(session: &mut Session) -> Outcome {
    if !CONTROL.contains(&session.filter) {
        return Ok(());
    }
    let mut rng = generator();
    let inputs = Inputs::new(
        || zeros(4096),
        || {
            let mut bytes = vec![0u8; 4096];
            rng.fill_bytes(&mut bytes);
            bytes
        },
    );
    let stops = |bytes: &mut Vec<u8>| bytes.iter().position(|byte| std::hint::black_box(*byte) != 0);
    if !session.claim(CONTROL, &inputs, Clone::clone, stops) {
        return Err("the control does not leak: nothing can be measured on this machine".into());
    }
    session.leaks -= 1;
    Ok(())
}

/// The name of the control.
const CONTROL: &str = "control: stops early, must leak";

/// Words modulo a prime, the portable transform, and samplers.
fn arithmetic(session: &mut Session) -> Outcome {
    let n = 1usize << LOG_N;
    for bits in [30, 50, 61] {
        let q = Modulus::new(ntt_primes_below(bits, LOG_N, 1, &[])?[0])?;
        let mut rng = generator();
        let words = Inputs::new(|| zeros(n), || (0..n).map(|_| rng.random_range(0..q.value())).collect());
        let (factor, w) = (q.value() / 3, q.shoup(q.value() / 3));
        let mut each = |name: &str, f: &dyn Fn(u64) -> u64| {
            session.claim(&format!("arithmetic, {bits} bits, {name}"), &words, Clone::clone, |words| {
                words.iter_mut().for_each(|x| *x = f(*x));
            });
        };
        each("add", &|x| q.add(x, factor));
        each("sub", &|x| q.sub(x, factor));
        each("neg", &|x| q.neg(x));
        each("mul", &|x| q.mul(x, factor));
        each("mul_add", &|x| q.mul_add(x, factor, x));
        each("mul_shoup", &|x| q.mul_shoup(x, w));
        each("reduce", &|x| q.reduce(x << 2));
        each("reduce_u128", &|x| q.reduce_u128(u128::from(x) << 60));
        each("reduce_i64", &|x| q.reduce_i64(x as i64 - factor as i64));
        each("reduce_i128", &|x| q.reduce_i128((i128::from(x) << 60) - i128::from(factor)));
        each("center", &|x| q.center(x) as u64);
        let table = NttTable::new(q, LOG_N)?;
        session.claim(&format!("NTT, {bits} bits"), &words, Clone::clone, |words| table.forward(words));
        session.claim(&format!("inverse NTT, {bits} bits"), &words, Clone::clone, |words| {
            table.inverse(words);
        });
        let seed = |bytes: &[u8; 32]| (Seed(*bytes), vec![0; n]);
        session.claim(&format!("sampler, uniform, {bits} bits"), &seeds(), seed, |(seed, row)| {
            uniform_row(seed, 0, 0, &q, 0, row);
        });
    }
    let seed = |bytes: &[u8; 32]| (Seed(*bytes), vec![0; n]);
    session.claim("sampler, ternary", &seeds(), seed, |(seed, row)| ternary_row(seed, 0, 0, row));
    session.claim("sampler, error", &seeds(), seed, |(seed, row)| error_row(seed, 0, 0, row));
    Ok(())
}

/// Secrets to residues, and both transforms, as a back end runs them.
fn transforms(session: &mut Session, cpu: &Cpu) -> Outcome {
    for bits in [30, 45, 50, 58] {
        let special = ntt_primes_below(61, LOG_N, 1, &[])?;
        let spec = RingSpec::new(LOG_N, ntt_primes_below(bits, LOG_N, 2, &[])?, special)?;
        let params = RlweParams::insecure(spec, RlweParams::even_digits(2, 2))?;
        let (ring, span) = (Ring::new(cpu.clone(), params.ring().clone())?, Span::chain(2));
        let secrets = secrets(&params);
        let wide = |secret: &Vec<i8>| secret.iter().map(|&c| i64::from(c)).collect::<Vec<i64>>();
        let poly = |secret: &Vec<i64>| -> Poly<Coeff, Cpu> {
            Poly::from_signed(&ring, span, 1, secret).expect("the CPU does not fail")
        };
        let name = format!("ring, {bits} bits");
        session.claim(&format!("{name}, residues of a secret"), &secrets, wide, |secret| poly(secret));
        session.claim(
            &format!("{name}, NTT of a secret"),
            &secrets,
            |secret| Some(poly(&wide(secret))),
            |poly| poly.take().map(|poly| poly.into_eval().expect("the CPU does not fail")),
        );
        session.claim(
            &format!("{name}, inverse NTT to a secret"),
            &secrets,
            |secret| Some(poly(&wide(secret)).into_eval().expect("the CPU does not fail")),
            |poly| poly.take().map(|poly| poly.into_coeff().expect("the CPU does not fail")),
        );
    }
    Ok(())
}

fn generator() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(3)
}

/// Seeds of generators, since key generation draws its secret.
fn seeds() -> Inputs<[u8; 32]> {
    let mut rng = generator();
    Inputs::new(|| [7; 32], || rng.random())
}

/// Secrets of zeros, and random ones.
fn secrets(params: &RlweParams) -> Inputs<Vec<i8>> {
    let (n, mut rng) = (params.ring().n(), generator());
    Inputs::new(|| zeros(n), || SecretKey::generate(params, &mut rng).expose_coefficients().to_vec())
}

fn secret(params: &RlweParams, coefficients: &[i8]) -> SecretKey {
    SecretKey::from_coefficients_insecure(params, Zeroizing::new(coefficients.to_vec()))
        .expect("a valid secret")
}

/// Key generation of RLWE, which three schemes share.
fn rlwe_keys(session: &mut Session, name: &str, params: &RlweParams, ring: &Ring<Cpu>) {
    session.claim(
        &format!("{name}, secret key by seed"),
        &seeds(),
        |seed| ChaCha20Rng::from_seed(*seed),
        |rng| SecretKey::generate(params, rng),
    );
    let (secrets, mut rng) = (secrets(params), generator());
    session.claim(
        &format!("{name}, public key by secret"),
        &secrets,
        |coefficients| secret(params, coefficients),
        |key| PublicKey::generate(key, ring, &mut rng).expect("the CPU does not fail"),
    );
    session.claim(
        &format!("{name}, evaluation keys by secret"),
        &secrets,
        |coefficients| secret(params, coefficients),
        |key| {
            EvaluationKeys::generate(
                key,
                ring,
                KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
                &mut rng,
            )
            .expect("the CPU does not fail")
        },
    );
}

/// Vectors of zeros, and of random numbers in [-1, 1).
fn vectors(slots: usize) -> Inputs<Vec<f64>> {
    let mut rng = generator();
    Inputs::new(|| zeros(slots), || (0..slots).map(|_| rng.random_range(-1.0..1.0)).collect())
}

/// The same vectors with 1 in the first slot: encoding reveals the exponent of the greatest
/// magnitude.
fn peaked(vectors: &Inputs<Vec<f64>>) -> Inputs<Vec<f64>> {
    let peak = |values: &Vec<f64>| [&[1.0], &values[1..]].concat();
    let set = |vectors: &[Vec<f64>]| vectors.iter().map(peak).collect();
    Inputs {
        special: set(&vectors.special),
        random: set(&vectors.random),
        other_random: set(&vectors.other_random),
    }
}

fn ckks(session: &mut Session, cpu: &Cpu, bits: u32) -> Outcome {
    let name = format!("CKKS, {bits} bits");
    let spec = CkksSpec::from_bits(LOG_N, &[bits + 5, bits], &[60.min(bits + 6)], f64::from(bits))?;
    let params = CkksParams::insecure(spec)?;
    let (rlwe, ring) = (params.rlwe(), Ring::new(cpu.clone(), params.rlwe().ring().clone())?);
    rlwe_keys(session, &name, rlwe, &ring);
    let mut rng = generator();
    let key = SecretKey::generate(rlwe, &mut rng);
    let public = PublicKey::generate(&key, &ring, &mut rng)?;
    let encoder = ckks::Encoder::new(&params, &ring)?;
    let (encryptor, decryptor) =
        (ckks::Encryptor::new(&params, &public)?, ckks::Decryptor::new(&params, &key, &ring)?);
    let encode = |values: &Vec<f64>| encoder.encode_real(values, params.encoding()).expect("they fit");
    let messages = vectors(params.slots());
    session.claim(
        &format!("{name}, encode by message"),
        &peaked(&messages),
        |values| values.iter().map(|&x| Complex64::new(x, 0.0)).collect::<Vec<_>>(),
        |values| encoder.encode(values, params.encoding()).expect("they fit"),
    );
    session.claim(&format!("{name}, encrypt by message"), &messages, encode, |x| {
        encryptor.encrypt(x, &mut rng).expect("the CPU does not fail")
    });
    let (secrets, half) = (secrets(rlwe), encode(&vec![0.5; 10]));
    session.claim(
        &format!("{name}, secret encrypt by secret"),
        &secrets,
        |coefficients| {
            ckks::SecretEncryptor::new(&params, &secret(rlwe, coefficients), &ring).expect("its parameters")
        },
        |encryptor| encryptor.encrypt(&half, &mut rng).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    let mut ciphertext = encryptor.encrypt(&half, &mut rng)?;
    // The ciphertext meets other secrets.
    ciphertext.set_key_set(None);
    session.claim(
        &format!("{name}, decrypt by secret"),
        &secrets,
        |coefficients| {
            ckks::Decryptor::new(&params, &secret(rlwe, coefficients), &ring).expect("its parameters")
        },
        |decryptor| decryptor.decrypt(&ciphertext).expect("the CPU does not fail"),
    );
    let mut floods = generator();
    session.claim(
        &format!("{name}, flooded decryption by secret"),
        &secrets,
        |coefficients| {
            ckks::Decryptor::new(&params, &secret(rlwe, coefficients), &ring).expect("its parameters")
        },
        |decryptor| decryptor.decrypt_flooded(&ciphertext, Flooding::Bits(20), &mut floods).expect("it fits"),
    );
    session.claim(
        &format!("{name}, decrypt by message"),
        &messages,
        |values| encryptor.encrypt(&encode(values), &mut rng).expect("the CPU does not fail"),
        |x| decryptor.decrypt(x).expect("the CPU does not fail"),
    );
    session.claim(&format!("{name}, decode by message"), &messages, encode, |x| {
        encoder.decode(x).expect("the CPU does not fail")
    });
    Ok(())
}

fn exact<S: Scheme>(session: &mut Session, cpu: &Cpu, scheme: &str, bits: u32, t: u64) -> Outcome {
    let name = format!("{scheme}, {bits} bits");
    let params = exact::Params::<S>::insecure(ExactSpec::from_bits(LOG_N, &[bits, bits], &[60], t)?)?;
    let (rlwe, ring) = (params.rlwe(), Ring::new(cpu.clone(), params.rlwe().ring().clone())?);
    let n = ring.n();
    let mut rng = generator();
    let key = SecretKey::generate(rlwe, &mut rng);
    let public = PublicKey::generate(&key, &ring, &mut rng)?;
    let encoder = exact::Encoder::new(&params)?;
    let (encryptor, decryptor) =
        (exact::Encryptor::new(&params, &public)?, exact::Decryptor::new(&params, &key, &ring)?);
    let messages = {
        let mut rng = generator();
        Inputs::new(|| zeros(n), || (0..n).map(|_| rng.random_range(0..t)).collect())
    };
    let encode = |values: &Vec<u64>| encoder.encode_coefficients(values).expect("they fit");
    if t % (2 * n as u64) == 1 {
        session.claim(&format!("{name}, encode slots by message"), &messages, Clone::clone, |values| {
            encoder.encode(values).expect("they fit")
        });
        session.claim(&format!("{name}, decode slots by message"), &messages, encode, |x| {
            encoder.decode::<u64>(x).expect("slots")
        });
    }
    session.claim(&format!("{name}, encrypt by message"), &messages, encode, |x| {
        encryptor.encrypt(x, &mut rng).expect("the CPU does not fail")
    });
    let (secrets, one) = (secrets(rlwe), encode(&vec![1]));
    session.claim(
        &format!("{name}, secret encrypt by secret"),
        &secrets,
        |coefficients| {
            exact::SecretEncryptor::new(&params, &secret(rlwe, coefficients), &ring).expect("its parameters")
        },
        |encryptor| encryptor.encrypt(&one, &mut rng).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    let mut ciphertext = encryptor.encrypt(&one, &mut rng)?;
    ciphertext.set_key_set(None);
    session.claim(
        &format!("{name}, decrypt by secret"),
        &secrets,
        |coefficients| {
            exact::Decryptor::new(&params, &secret(rlwe, coefficients), &ring).expect("its parameters")
        },
        |decryptor| decryptor.decrypt(&ciphertext).expect("the CPU does not fail"),
    );
    session.claim(
        &format!("{name}, decrypt by message"),
        &messages,
        |values| encryptor.encrypt(&encode(values), &mut rng).expect("the CPU does not fail"),
        |x| decryptor.decrypt(x).expect("the CPU does not fail"),
    );
    session.claim(
        &format!("{name}, checked decryption by message"),
        &messages,
        |values| encryptor.encrypt(&encode(values), &mut rng).expect("the CPU does not fail"),
        |x| decryptor.decrypt_checked(x, exact::DECRYPTION_MARGIN).expect("it has a budget"),
    );
    Ok(())
}

fn bigckks(session: &mut Session, cpu: &Cpu, distribution: SecretDistribution) -> Outcome {
    let sparse = matches!(distribution, SecretDistribution::Sparse { .. });
    let name = if sparse { "bigckks, sparse" } else { "bigckks" };
    let spec = BigCkksSpec { secret: distribution, ..BigCkksSpec::new(LOG_N, 150, 40) };
    let params = BigCkksParams::insecure(spec)?;
    let ring = Ring::new(cpu.clone(), params.ring().clone())?;
    session.claim(
        &format!("{name}, secret key by seed"),
        &seeds(),
        |seed| ChaCha20Rng::from_seed(*seed),
        |rng| bigckks::SecretKey::generate(&params, rng),
    );
    let mut rng = generator();
    // Sparse secrets have their weight: the special ones are the first places.
    let secrets = {
        let (n, mut rng) = (ring.n(), generator());
        let special = || (0..n).map(|i| i8::from(sparse && i < 64)).collect();
        Inputs::new(special, || {
            bigckks::SecretKey::generate(&params, &mut rng).expose_coefficients().to_vec()
        })
    };
    let secret = |coefficients: &Vec<i8>| {
        bigckks::SecretKey::from_coefficients_insecure(&params, Zeroizing::new(coefficients.clone()))
            .expect("valid")
    };
    session.claim(&format!("{name}, public key by secret"), &secrets, secret, |key| {
        bigckks::PublicKey::generate(key, &ring, &mut rng).expect("the CPU does not fail")
    });
    session.claim(&format!("{name}, evaluation keys by secret"), &secrets, secret, |key| {
        bigckks::EvaluationKeys::generate(
            key,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
            &mut rng,
        )
        .expect("the CPU does not fail")
    });
    let key = bigckks::SecretKey::generate(&params, &mut rng);
    let public = bigckks::PublicKey::generate(&key, &ring, &mut rng)?;
    let encoder = bigckks::Encoder::new(&params, &ring)?;
    let encryptor = bigckks::Encryptor::new(&params, &public)?;
    let decryptor = bigckks::Decryptor::new(&params, &key, &ring)?;
    let encode = |values: &Vec<f64>| encoder.encode_real(values, params.encoding()).expect("they fit");
    let messages = vectors(params.slots());
    session.claim(
        &format!("{name}, encode by message"),
        &peaked(&messages),
        |values| values.iter().map(|&x| Complex64::new(x, 0.0)).collect::<Vec<_>>(),
        |values| encoder.encode(values, params.encoding()).expect("they fit"),
    );
    session.claim(&format!("{name}, encrypt by message"), &messages, encode, |x| {
        encryptor.encrypt(x, &mut rng).expect("the CPU does not fail")
    });
    let mut rng = generator();
    let mut ciphertext = encryptor.encrypt(&encode(&vec![0.5; 10]), &mut rng)?;
    ciphertext.set_key_set(None);
    session.claim(
        &format!("{name}, decrypt by secret"),
        &secrets,
        |coefficients| bigckks::Decryptor::new(&params, &secret(coefficients), &ring).expect("valid"),
        |decryptor| decryptor.decrypt(&ciphertext).expect("the CPU does not fail"),
    );
    session.claim(
        &format!("{name}, decrypt by message"),
        &messages,
        |values| encryptor.encrypt(&encode(values), &mut rng).expect("the CPU does not fail"),
        |x| decryptor.decrypt(x).expect("the CPU does not fail"),
    );
    session.claim(&format!("{name}, decode by message"), &messages, encode, |x| {
        encoder.decode(x).expect("the CPU does not fail")
    });
    Ok(())
}

fn tfhe(session: &mut Session) -> Outcome {
    let (params, cpu) = (presets::insecure_small()?, Cpu::new());
    session.claim(
        "TFHE, secret key by seed",
        &seeds(),
        |seed| ChaCha20Rng::from_seed(*seed),
        |rng| TfheSecretKey::generate(&params, rng),
    );
    // Secrets of zeros are made from their file's bytes.
    let encoded = |params: &TfheParams, rng: &mut ChaCha20Rng| {
        TfheSecretKey::generate(params, rng).to_frame(params).expect("the key is of these parameters")
    };
    let mut rng = generator();
    let frame = encoded(&params, &mut rng);
    let length = frame.body.len();
    let bodies = Inputs::new(|| zeros(length), || encoded(&params, &mut rng).body.to_vec());
    let mut rng = generator();
    let secret = |body: &Vec<u8>| {
        let frame = wire::Frame { kind: frame.kind, fingerprint: frame.fingerprint, body: body.clone() };
        TfheSecretKey::from_frame(&params, (), &frame).expect("a valid key")
    };
    session.claim("TFHE, bootstrapping key by secret", &bodies, secret, |key| {
        BootstrapKey::generate(key, &mut rng)
    });
    session.claim("TFHE, encrypt by secret", &bodies, secret, |key| {
        key.encrypt_bits(&cpu, &[true; 2], &mut rng).expect("the CPU does not fail")
    });
    let mut bits = secret(&bodies.random[0]).encrypt_bits(&cpu, &[true; 8], &mut rng)?;
    bits.set_key_set(None);
    session.claim("TFHE, phases by secret", &bodies, secret, |key| {
        key.phases(bits.ciphertexts()).expect("the CPU does not fail")
    });
    let key = secret(&bodies.random[0]);
    let messages = {
        let mut rng = generator();
        Inputs::new(|| [false; 8], || rng.random::<[bool; 8]>())
    };
    session.claim(
        "TFHE, encrypt by message",
        &messages,
        |bits| *bits,
        |bits| key.encrypt_bits(&cpu, bits, &mut rng).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    session.claim(
        "TFHE, decrypt by message",
        &messages,
        |bits| key.encrypt_bits(&cpu, bits, &mut rng).expect("the CPU does not fail"),
        |bits| key.decrypt_bits(bits).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    let numbers = Inputs::new(|| [0u64; 4], || rng.random::<[u64; 4]>());
    let mut rng = generator();
    session.claim(
        "TFHE, encrypt integers by message",
        &numbers,
        |numbers| *numbers,
        |numbers| key.encrypt_u64(&cpu, numbers, 64, &mut rng).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    session.claim(
        "TFHE, decrypt integers by message",
        &numbers,
        |numbers| key.encrypt_u64(&cpu, numbers, 64, &mut rng).expect("the CPU does not fail"),
        |numbers| key.decrypt_u64(numbers).expect("the CPU does not fail"),
    );
    let mut rng = generator();
    session.claim("TFHE public key, by secret", &bodies, secret, |key| {
        CompactPublicKey::generate(key, &mut rng)
    });
    let public = CompactPublicKey::generate(&key, &mut rng);
    session.claim(
        "TFHE public key, encrypt by message",
        &messages,
        |bits| *bits,
        |bits| public.encrypt_bits(bits, &mut rng).expect("fewer than 2^32"),
    );
    session.claim(
        "TFHE public key, encrypt integers by message",
        &numbers,
        |numbers| *numbers,
        |numbers| public.encrypt_u64(numbers, 64, &mut rng).expect("they fit"),
    );
    session.claim(
        "TFHE public key, encrypt by seed",
        &seeds(),
        |seed| ChaCha20Rng::from_seed(*seed),
        |rng| public.encrypt_bits(&[true; 8], rng).expect("fewer than 2^32"),
    );
    Ok(())
}

fn aes(session: &mut Session) -> Outcome {
    use aes::container::{Content, Header, Layout, UserKey};
    use aes::{Bulk, BulkCipher, Direction, Key, KeySchedule, KeySize, XtsKey};
    let cpu = aes::Cpu::new();
    let mut rng = generator();
    let mut message = vec![0u8; 1024];
    rng.fill_bytes(&mut message);
    let keys = Inputs::new(|| [0u8; 32], || rng.random());
    let key = |bytes: &[u8; 32]| Key::from_slice(bytes).expect("32 bytes");
    session.claim("AES-256, key schedule by key", &keys, key, |key| KeySchedule::new(key));
    let seal = |key: &Key, data: &mut Vec<u8>| {
        cpu.gcm_seal(key, &[1; 12], &[], Bulk::in_place(data)).expect("a valid length")
    };
    session.claim(
        "AES-256-GCM, 1 KiB by key",
        &keys,
        |bytes| (key(bytes), message.clone()),
        |state| seal(&state.0, &mut state.1),
    );
    let fixed = key(&[9; 32]);
    let mut rng = generator();
    let messages = Inputs::new(
        || zeros(1024),
        || {
            let mut bytes = vec![0u8; 1024];
            rng.fill_bytes(&mut bytes);
            bytes
        },
    );
    session.claim("AES-256-GCM, 1 KiB by message", &messages, Clone::clone, |data| seal(&fixed, data));
    for size in [KeySize::Bits128, KeySize::Bits192, KeySize::Bits256] {
        let bits = size.bits();
        let key = |bytes: &[u8; 32]| Key::from_slice(&bytes[..bits / 8]).expect("a length of keys");
        let both = |bytes: &[u8; 32]| (key(bytes), message.clone());
        session.claim(&format!("AES-{bits}-CTR, 1 KiB by key"), &keys, both, |(key, data)| {
            cpu.hazmat_ctr(key, &[9; 16], Bulk::in_place(data)).expect("a valid length")
        });
        session.claim(&format!("AES-{bits}-ECB decryption, 1 KiB by key"), &keys, both, |(key, data)| {
            cpu.hazmat_ecb(key, Direction::Decrypt, Bulk::in_place(data)).expect("a valid length")
        });
    }
    let pairs = |bytes: &[u8; 32]| {
        // The halves must differ.
        let mut other = *bytes;
        other[0] ^= 1;
        (XtsKey::new(key(bytes), key(&other)).expect("two keys"), message.clone())
    };
    session.claim("AES-256-XTS, 1 KiB by key", &keys, pairs, |(keys, data)| {
        cpu.xts(keys, 5, 512, Direction::Encrypt, Bulk::in_place(data)).expect("valid units")
    });
    // A wrong tag, by the place of its first wrong byte: a comparison that stops there would tell.
    let mut sealed = message.clone();
    let tag = seal(&fixed, &mut sealed);
    let mut rng = generator();
    let tags = Inputs::new(
        || {
            let mut wrong = tag;
            wrong[15] ^= 1;
            wrong
        },
        || rng.random(),
    );
    session.claim(
        "AES-256-GCM, wrong tag",
        &tags,
        |tag| (*tag, sealed.clone()),
        |(tag, data)| cpu.gcm_open(&fixed, &[1; 12], &[], tag, Bulk::in_place(data)).is_err(),
    );
    // A wrong key of a container, likewise: keys are compared by their identities.
    let right = UserKey::new(&[7; 32]);
    let mut rng = generator();
    let (header, _) = Header::with_key(&right, Layout::new(12)?, Content::Bytes, &mut rng);
    session.claim("AES container, wrong key", &keys, UserKey::new, |key| header.open(key).is_err());
    Ok(())
}
