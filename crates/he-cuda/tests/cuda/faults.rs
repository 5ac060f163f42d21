//! Devices that fail: every operation ends in a typed error with a hint whichever call of the
//! driver fails, nothing leaks, and what is repaired or opened anew gives the same words as before.

use super::devices::emulator;
use super::program::{MIXED, SINGLE, Session, values};
use gpu::Gpu;
use gpu_emulator::{Fault, Faulty, Live};
use he_core::Result;
use he_core::backend::Backend;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::{self, BigCkksParams, BigCkksSpec};
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper, presets::Preset};
use he_core::ckks::{self, Ciphertext, Decryptor, Encryptor, SecretEncryptor};
use he_core::exact::{self, ExactSpec, Scheme, SlotEncoder};
use he_core::num_complex::Complex64;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_core::tfhe::{BootstrapKey, Carry, GateEvaluator, IntegerEvaluator, TfheSecretKey, presets};
use he_core::wire::Wire;
use he_cuda::{Arithmetic, Cuda};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::Arc;

/// So many of the first calls of an operation fail one by one, and then fewer and fewer.
const MANY: u64 = 250;
/// The first calls that fail one by one in operations that take long.
const FEW: u64 = 12;

/// The faults after which a device does no more work.
const FINAL: [Fault; 4] =
    [Fault::DeviceUnavailable, Fault::EccUncorrectable, Fault::LaunchFailed, Fault::IllegalAddress];

/// The numbers of the calls that fail, without end.
fn calls(first: u64) -> impl Iterator<Item = u64> {
    let mut call = 0u64;
    std::iter::repeat_with(move || {
        call += 1 + call.saturating_sub(first) / 2;
        call
    })
}

/// A device of its own on the emulator, and what counts its handles.
fn device() -> (Arc<Faulty>, Gpu) {
    let faulty = Faulty::new(emulator());
    (faulty.clone(), Gpu::from_driver(faulty))
}

fn open(gpu: &Gpu) -> Result<Cuda> {
    Ok(Cuda::on(gpu)?.arithmetic(Arithmetic::Float))
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(19)
}

/// Panics unless an error is that of a fault, with something to do about it.
fn assert_is(error: &he_core::Error, fault: Fault, case: &str) {
    let he_core::Error::Backend { source, .. } = error else { panic!("{case}: {error}") };
    let source = source.downcast_ref::<gpu::Error>().unwrap_or_else(|| panic!("{case}: {error}"));
    let expected = match source {
        gpu::Error::OutOfMemory { .. } => !fault.is_final(),
        gpu::Error::DeviceFailed { .. } => fault.is_final(),
        _ => false,
    };
    assert!(expected, "{case}: {error}");
    assert!(source.hint().is_some_and(|hint| !hint.is_empty()), "{case}: {error}");
}

/// Fails the calls of an operation in turn. It is repeated on the same device after each fault, and
/// gives the same bytes.
fn survives<S>(
    name: &str,
    first: u64,
    prepare: impl Fn(&Cuda) -> Result<S>,
    operation: impl Fn(&Cuda, &S) -> Result<Vec<u8>>,
) {
    let (faulty, gpu) = device();
    let cuda = open(&gpu).expect("the emulator opens");
    let state = prepare(&cuda).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut expected, mut faults) = (None, 0);
    for series in [Some(Fault::OutOfMemory), Some(Fault::OutOfMemoryOnce), None] {
        for call in calls(first) {
            let fault = series.unwrap_or(FINAL[call as usize % FINAL.len()]);
            faulty.fail(call, fault);
            let done = operation(&cuda, &state);
            let after = if fault.is_final() { cuda.synchronize() } else { Ok(()) };
            let Some(function) = faulty.mend() else {
                expected = Some(done.unwrap_or_else(|error| panic!("{name}: {error}")));
                break;
            };
            faults += 1;
            let case = format!("{name}, {fault:?} in call {call}, {function}");
            match &done {
                Err(error) => assert_is(error, fault, &case),
                // Something was done otherwise, or the results were there before it failed.
                Ok(bytes) => {
                    assert!(expected.get_or_insert_with(|| bytes.clone()) == bytes, "{case}: other words");
                    if let Err(error) = after {
                        assert_is(&error, fault, &case);
                    }
                }
            }
            let again = operation(&cuda, &state).unwrap_or_else(|error| panic!("after {case}: {error}"));
            assert!(*expected.get_or_insert_with(|| again.clone()) == again, "after {case}: other words");
        }
    }
    println!("{name}: {faults} faults");
    assert!(faults > 8, "{name}: only {faults} calls failed");
    drop((state, cuda, gpu));
    assert_eq!(faulty.live(), Live::default(), "{name}");
    assert_eq!(Arc::strong_count(&faulty), 1, "{name}: the driver is still in use");
}

/// Runs a whole program with each fault, each time on a device of its own: what fails for good
/// stays so, everything is released, and the next device gives the same bytes.
fn survives_anew(name: &str, program: impl Fn(&Gpu) -> Result<Vec<u8>>) {
    let expected = program(&device().1).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut faults = 0;
    for series in [Some(Fault::OutOfMemory), None] {
        for call in calls(MANY) {
            let fault = series.unwrap_or(FINAL[call as usize % FINAL.len()]);
            let (faulty, gpu) = device();
            faulty.fail(call, fault);
            let done = program(&gpu);
            drop(gpu);
            let function = faulty.mend();
            let case = format!("{name}, {fault:?} in call {call}, {function:?}");
            assert_eq!(faulty.live(), Live::default(), "{case}");
            assert_eq!(Arc::strong_count(&faulty), 1, "{case}: the driver is still in use");
            match done {
                Err(error) => assert_is(&error, fault, &case),
                Ok(bytes) => assert!(bytes == expected, "{case}: other words"),
            }
            if function.is_none() {
                break;
            }
            faults += 1;
        }
    }
    println!("{name}: {faults} faults");
    assert!(program(&device().1).is_ok_and(|bytes| bytes == expected), "{name}: the next device");
}

// ---- CKKS ----

struct Ckks {
    session: Session<Cuda>,
    x: Ciphertext<Cuda>,
    y: Ciphertext<Cuda>,
    product: Ciphertext<Cuda>,
    triple: ckks::Product<Cuda>,
}

impl Ckks {
    fn new(cuda: &Cuda) -> Result<Self> {
        let mut session = Session::new(cuda, &SINGLE, 7)?;
        let (x, y) = (session.input()?.1, session.input()?.1);
        let triple = session.ev.tensor(&x, &y)?;
        let product = session.ev.relinearize(&triple, &session.keys)?;
        Ok(Self { session, x, y, product, triple })
    }

    fn bytes(&self, ct: Result<Ciphertext<Cuda>>) -> Result<Vec<u8>> {
        Ok(ct?.to_frame(&self.session.params)?.body.to_vec())
    }
}

fn bytes_of(vectors: &[Vec<Complex64>]) -> Vec<u8> {
    let bits = |z: &Complex64| [z.re.to_bits(), z.im.to_bits()];
    vectors.iter().flatten().flat_map(bits).flat_map(u64::to_le_bytes).collect()
}

#[test]
fn emulated_faults_of_ckks() {
    let check = |name: &str, operation: &dyn Fn(&Ckks) -> Result<Ciphertext<Cuda>>| {
        survives(name, MANY, Ckks::new, |_, state| state.bytes(operation(state)));
    };
    let plain = |s: &Session<Cuda>| s.encode(&values(&mut rng(), 1, s.params.slots()));
    check("encrypt", &|Ckks { session: s, .. }| {
        Encryptor::new(&s.params, &s.public)?.encrypt(&plain(s)?, &mut rng())
    });
    check("encrypt by secret key", &|Ckks { session: s, .. }| {
        SecretEncryptor::new(&s.params, &s.secret, &s.ring)?.encrypt(&plain(s)?, &mut rng())?.expand()
    });
    check("add", &|c| c.session.ev.add(&c.x, &c.y));
    check("mul", &|c| c.session.ev.mul(&c.x, &c.y, &c.session.keys));
    check("mul_plain", &|c| c.session.ev.mul_plain(&c.x, &plain(&c.session)?));
    check("rotate", &|c| c.session.ev.rotate(&c.x, 1, &c.session.keys));
    check("conjugate", &|c| c.session.ev.conjugate(&c.x, &c.session.keys));
    check("rescale", &|c| c.session.ev.rescale(&c.product));
    check("relinearize", &|c| c.session.ev.relinearize(&c.triple, &c.session.keys));
    check("inner_sum", &|c| c.session.ev.inner_sum(&c.x, 8, &c.session.keys));
    check("rotate_many", &|c| {
        let mut all = c.session.ev.rotate_many(&c.x, &[1, 2, 4], &c.session.keys)?;
        Ok(all.remove(2))
    });
    check("sum_of_rotations", &|c| {
        c.session.ev.sum_of_rotations(&c.x, &[(0, 0.5), (1, -0.75), (2, 1.5)], &c.session.keys)
    });
    survives("decrypt", MANY, Ckks::new, |_, c| {
        let s = &c.session;
        let plaintext = Decryptor::new(&s.params, &s.secret, &s.ring)?.decrypt(&c.product)?;
        Ok(bytes_of(&s.ev.encoder().decode(&plaintext)?))
    });
}

/// Vectors in page-locked memory that kernels read in place, and a short one for many primes, which
/// is copied.
#[test]
fn emulated_faults_of_host_vectors() {
    for (shape, first) in [(SINGLE.of(13, 1), MANY), (MIXED.of(12, 1), FEW)] {
        let prepare = |cuda: &Cuda| {
            let params = shape.params();
            ckks::Encoder::new(&params, &Ring::new(cuda.clone(), params.rlwe().ring().clone())?)
        };
        survives(&format!("host vectors of {shape:?}"), first, prepare, |_, encoder| {
            let params = encoder.params();
            let mut vector = encoder.host_vector(params.slots())?;
            let mut bytes = Vec::new();
            for values in values(&mut rng(), 2, params.slots()) {
                vector.numbers_mut()?.copy_from_slice(&values);
                let plaintext = encoder.encode_host_vector(&vector, params.encoding())?;
                bytes.extend(bytes_of(&encoder.decode(&plaintext)?));
            }
            Ok(bytes)
        });
    }
}

/// From opening the device to a decrypted result, with the keys of everything.
#[test]
fn emulated_faults_from_the_start() {
    survives_anew("CKKS from the start", |gpu| {
        let c = Ckks::new(&open(gpu)?)?;
        c.bytes(c.session.ev.rotate(&c.product, 1, &c.session.keys))
    });
}

/// Transfers that pass page-locked memory, up and down.
#[test]
fn emulated_faults_of_transfers() {
    let words: Vec<u64> = (0..70_000).collect();
    survives(
        "transfers",
        MANY,
        |_| Ok(()),
        |cuda, ()| {
            let mut buf = cuda.upload(&words)?;
            let mut found = cuda.download(&buf, 1..words.len())?;
            found.extend(cuda.take(&mut buf)?);
            assert!(found[..words.len() - 1] == words[1..] && found[words.len() - 1..] == words);
            Ok(Vec::new())
        },
    );
}

// ---- Integers ----

struct Exact<S: Scheme> {
    params: exact::Params<S>,
    ev: exact::Evaluator<S, Cuda>,
    secret: SecretKey,
    public: PublicKey<Cuda>,
    keys: EvaluationKeys<Cuda>,
    x: exact::Ciphertext<S, Cuda>,
}

impl<S: Scheme> Exact<S> {
    fn new(cuda: &Cuda) -> Result<Self> {
        let mut rng = rng();
        let params = exact::Params::<S>::insecure(ExactSpec::from_bits(4, &[50, 50, 50], &[50], 97)?)?;
        let ring = Ring::new(cuda.clone(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        let wanted = KeyRequirements::new().relinearisation().rotations([1]);
        let keys = EvaluationKeys::generate(&secret, &ring, wanted, &mut rng)?;
        let ev = exact::Evaluator::new(&params, &ring)?;
        let row: Vec<u64> = (0..16).collect();
        let x = exact::Encryptor::new(&params, &public)?
            .encrypt(&ev.encoder().encode_batch(&[&row[..]])?, &mut rng)?;
        Ok(Self { params, ev, secret, public, keys, x })
    }
}

fn faults_of_integers<S: Scheme>()
where
    exact::Ciphertext<S, Cuda>: Wire<exact::Params<S>>,
{
    type Ct<S> = Result<exact::Ciphertext<S, Cuda>>;
    let check = |name: &str, operation: &dyn Fn(&Exact<S>) -> Ct<S>| {
        survives(&format!("{} {name}", S::NAME), MANY, Exact::<S>::new, |_, state| {
            Ok(operation(state)?.to_frame(&state.params)?.body.to_vec())
        });
    };
    check("encrypt on the device", &|c| {
        let row: Vec<u64> = (0..16).collect();
        let message = SlotEncoder::new(&c.params, c.ev.ring())?.encode(&[&row[..]])?;
        exact::Encryptor::new(&c.params, &c.public)?.encrypt_message(&message, &mut rng())
    });
    check("mul", &|c| c.ev.mul(&c.x, &c.x, &c.keys));
    check("rotate", &|c| c.ev.rotate(&c.x, 1, &c.keys));
    let row: Vec<u64> = (0..16).collect();
    check("times a plaintext", &|c| c.ev.mul_plain(&c.x, &c.ev.encoder().encode(&row)?));
    check("times a prepared plaintext", &|c| {
        let message = SlotEncoder::new(&c.params, c.ev.ring())?.encode(&[&row[..]])?;
        c.ev.mul_prepared(&c.x, &c.ev.prepare_message(&message, c.x.level())?)
    });
    survives(&format!("{} decrypt", S::NAME), MANY, Exact::<S>::new, |_, c| {
        let decryptor = exact::Decryptor::new(&c.params, &c.secret, c.ev.ring())?;
        let message = decryptor.decrypt_message(&c.x)?;
        let slots = SlotEncoder::new(&c.params, c.ev.ring())?.decode::<u64>(message)?;
        assert!(slots[0] == (0..16).collect::<Vec<_>>());
        Ok(Vec::new())
    });
}

#[test]
fn emulated_faults_of_integers() {
    faults_of_integers::<Bfv>();
    faults_of_integers::<Bgv>();
}

// ---- CKKS modulo powers of two ----

#[test]
fn emulated_faults_of_bigckks() {
    let prepare = |cuda: &Cuda| {
        let mut rng = rng();
        let params = BigCkksParams::insecure(BigCkksSpec::new(3, 120, 35).with_digits(2))?;
        let ring = Ring::new(cuda.clone(), params.ring().clone())?;
        let secret = bigckks::SecretKey::generate(&params, &mut rng);
        let public = bigckks::PublicKey::generate(&secret, &ring, &mut rng)?;
        let wanted = KeyRequirements::new().relinearisation().rotations([1]);
        let keys = bigckks::EvaluationKeys::generate(&secret, &ring, wanted, &mut rng)?;
        let ev = bigckks::Evaluator::new(&params, &ring)?;
        Ok((params, secret, public, keys, ev))
    };
    survives("bigckks", MANY, prepare, |_, (params, secret, public, keys, ev)| {
        let value = vec![Complex64::new(0.5, -0.25); params.slots()];
        let plain = ev.encoder().encode(&value, params.encoding().slots(params.slots()))?;
        let x = bigckks::Encryptor::new(params, public)?.encrypt(&plain, &mut rng())?;
        let product = ev.rotate(&ev.mul(&x, &x, keys)?, 1, keys)?;
        let decryptor = bigckks::Decryptor::new(params, secret, ev.ring())?;
        Ok(bytes_of(&ev.encoder().decode(&decryptor.decrypt(&product)?)?))
    });
}

// ---- TFHE ----

#[test]
fn emulated_faults_of_tfhe() {
    let prepare = |cuda: &Cuda| {
        let mut rng = rng();
        let params = presets::insecure_small()?;
        let secret = TfheSecretKey::generate(&params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let gates = GateEvaluator::new(cuda, &key)?;
        let integers = IntegerEvaluator::new(cuda, &key, Carry::Ripple)?;
        Ok((secret, key, gates, integers))
    };
    survives("TFHE keys", MANY, prepare, |cuda, (_, key, ..)| {
        GateEvaluator::new(cuda, key)?;
        cuda.synchronize()?;
        Ok(Vec::new())
    });
    survives("TFHE gates", FEW, prepare, |cuda, (secret, _, gates, _)| {
        let bits = [true, false, true];
        let [a, b] = [(); 2].map(|()| secret.encrypt_bits(cuda, &bits, &mut rng()));
        let (a, b) = (a?, b?);
        assert_eq!(secret.decrypt_bits(&gates.nand(&a, &b)?)?, [false, true, false]);
        let words = gates.mux(&a, &b, &a)?.ciphertexts().download()?;
        Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
    });
    survives("TFHE integers", FEW, prepare, |cuda, (secret, _, _, integers)| {
        let a = secret.encrypt_uint(cuda, &[200_u8.into()], 8, &mut rng())?;
        let sum: u128 = secret.decrypt_uint(&integers.add(&a, &a)?)?.remove(0).try_into().unwrap_or(0);
        assert_eq!(sum, 144);
        Ok(Vec::new())
    });
}

// ---- Bootstrapping ----

#[test]
fn emulated_faults_of_bootstrapping() {
    let prepare = |cuda: &Cuda| {
        let mut rng = rng();
        let spec = BootstrapSpec { log_n: 6, log_slots: 4, ..Preset::Small.spec() };
        let params = BootstrapParams::insecure(spec)?;
        let ring = params.ring(cuda.clone())?;
        let program = params.params();
        let secret = SecretKey::generate(program.rlwe(), &mut rng);
        let keys = BootstrapKeys::generate(&secret, &params, &ring, &mut rng)?;
        let bootstrapper = Bootstrapper::new(&params, &ring)?;
        let ev = ckks::Evaluator::new(program, &ring)?;
        let to = program.encoding().slots(params.slots()).at_level(program, params.input_level())?;
        let plain = ev.encoder().encode(&vec![Complex64::new(0.5, 0.25); params.slots()], to)?;
        let ct = SecretEncryptor::new(program, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
        Ok((params, bootstrapper, keys, ct))
    };
    survives("bootstrapping", FEW, prepare, |_, (params, bootstrapper, keys, ct)| {
        let fresh = bootstrapper.refresh(ct, keys)?;
        Ok(fresh.to_frame(params.params())?.body.to_vec())
    });
}
