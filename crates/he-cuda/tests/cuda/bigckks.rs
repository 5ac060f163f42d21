//! CKKS modulo powers of two on the device: word by word as on the CPU, near plain float64, and in
//! any order of threads.

use super::devices::{emulated, emulator, gpu_or_skip};
use gpu::Gpu;
use gpu_emulator::Order;
use he_core::Result;
use he_core::backend::{Backend, Cpu, WideOps, WideRows};
use he_core::bigckks::{
    BigCkksParams, BigCkksSpec, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator,
    KeyRequirements, PublicKey, SecretDistribution, SecretKey, WidePoly,
};
use he_core::conformance::Mirror;
use he_core::ring::{Ring, Seed};
use he_core::rlwe::Flooding;
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Parameters, the slots of a vector as a fraction of all, and a batch.
#[derive(Clone, Copy, Debug)]
struct Shape {
    spec: BigCkksSpec,
    gap: usize,
    batch: usize,
}

const fn shape(log_n: u32, log_q: u32, scale_log2: u32, digits: u32, gap: usize, batch: usize) -> Shape {
    Shape { spec: BigCkksSpec::new(log_n, log_q, scale_log2).with_digits(digits), gap, batch }
}

const SMALL: [Shape; 5] = [
    shape(2, 120, 35, 2, 1, 3),
    shape(5, 150, 40, 1, 2, 1),
    Shape { spec: SPARSE, gap: 1, batch: 1 },
    shape(8, 200, 45, 3, 1, 2),
    shape(10, 300, 70, 4, 8, 1),
];

const SPARSE: BigCkksSpec =
    BigCkksSpec::new(6, 256, 50).with_secret(SecretDistribution::Sparse { weight: 16 });

/// P1's degree and modulus with one, two and three digits; the widest modulus and many primes;
/// large batches.
const LARGE: [Shape; 6] = [
    shape(14, 438, 50, 2, 1, 1),
    shape(14, 438, 50, 1, 1, 1),
    shape(14, 438, 50, 3, 2, 3),
    shape(12, 1200, 60, 1, 1, 1),
    shape(11, 109, 30, 2, 1, 65),
    shape(15, 600, 50, 2, 1, 1),
];

/// A seed, or the one of HE_TEST_SEED.
fn seed() -> u64 {
    let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| he_core::rand::rng().random())
}

/// Vectors of slots.
type Values = Vec<Vec<Complex64>>;

/// The results of a program: the words of each polynomial, with a name.
type Made = Vec<(&'static str, Vec<u64>)>;

/// Checks that vectors are as expected.
fn near(what: &str, found: &[Vec<Complex64>], expected: &[Vec<Complex64>], tolerance: f64) {
    let worst = found
        .iter()
        .flatten()
        .zip(expected.iter().flatten())
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max);
    assert!(worst < tolerance, "{what}: {worst:e}, at most {tolerance:e} is expected");
}

/// Every operation of the scheme, from keys to decoded vectors.
fn run<B: WideOps>(backend: &B, shape: &Shape, seed: u64) -> Result<Made> {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let params = BigCkksParams::insecure(shape.spec)?;
    let ring = Ring::new(backend.clone(), params.ring().clone())?;
    let mut made = Made::new();
    let secret = SecretKey::generate(&params, rng);
    let public = PublicKey::generate(&secret, &ring, rng)?;
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -2]).conjugation(),
        rng,
    )?;
    made.push(("public key", public.body()?.to_words()?));
    made.push(("relinearisation key", keys.relin()?.body(0)?.to_words()?));
    for (_, key) in keys.galois_keys() {
        made.push(("Galois key", key.body(params.digits(params.log_q()) - 1)?.to_words()?));
    }
    let ev = Evaluator::new(&params, &ring)?;
    let (encoder, to) = (ev.encoder(), params.encoding().slots(params.slots() / shape.gap));
    let encryptor = Encryptor::new(&params, &public)?;
    let decryptor = Decryptor::new(&params, &secret, &ring)?;
    let slots = params.slots() / shape.gap;
    let mut value = || Complex64::new(rng.random_range(-0.7..0.7), rng.random_range(-0.7..0.7));
    let mut values =
        || -> Values { (0..shape.batch).map(|_| (0..slots).map(|_| value()).collect()).collect() };
    let (xs, ys) = (values(), values());
    let encode = |values: &[Vec<Complex64>]| {
        encoder.encode_batch(&values.iter().map(Vec::as_slice).collect::<Vec<_>>(), to)
    };
    let plain = encode(&ys)?;
    let one = encoder.encode(&ys[0], to)?;
    let x = encryptor.encrypt(&encode(&xs)?, rng)?;
    let y = encryptor.encrypt(&plain, rng)?;
    made.push(("encoded", plain.poly().to_words()?));

    let zip = |f: &dyn Fn(Complex64, Complex64) -> Complex64| -> Values {
        xs.iter().zip(&ys).map(|(x, y)| x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()).collect()
    };
    let turned = |step: usize| -> Values {
        xs.iter().map(|x| (0..slots).map(|i| x[(i + step) % slots]).collect()).collect()
    };
    let c = Complex64::new(0.3, -1.25);
    let product = ev.mul(&x, &y, &keys)?;
    let rescaled = ev.rescale(&product, params.scale_log2() - 3)?;
    let mut sum = ev.tensor(&x, &y)?;
    ev.add_products(&mut sum, &ev.tensor(&x, &x)?)?;
    let results: Vec<(&'static str, Ciphertext<B>, Values)> = vec![
        ("add", ev.add(&x, &y)?, zip(&|x, y| x + y)),
        ("mixed difference", ev.sub(&x, &rescaled)?, zip(&|x, y| x - x * y)),
        ("neg", ev.neg(&x)?, zip(&|x, _| -x)),
        ("rotate", ev.rotate(&x, 1, &keys)?, turned(1)),
        ("rotate back", ev.rotate(&x, -2, &keys)?, turned(2 * slots - 2)),
        ("conjugate", ev.conjugate(&x, &keys)?, zip(&|x, _| x.conj())),
        ("square", ev.square(&x, &keys)?, zip(&|x, _| x * x)),
        ("sum of products", ev.relinearize(&sum, &keys)?, zip(&|x, y| x * y + x * x)),
        ("add plain", ev.add_plain(&rescaled, &plain)?, zip(&|x, y| x * y + y)),
        ("mul plain", ev.mul_plain(&x, &plain)?, zip(&|x, y| x * y)),
        ("add constant", ev.add_scalar(&x, c)?, zip(&|x, _| x + c)),
        ("mul constant", ev.mul_scalar(&x, -0.375, 20)?, zip(&|x, _| x * -0.375)),
        ("mul integer", ev.mul_integer(&x, -3)?, zip(&|x, _| x * -3.0)),
        ("scale up", ev.scale_up(&x, 11)?, xs.clone()),
        ("mod down", ev.drop_to_bits(&x, params.scale_log2() + 9)?, xs.clone()),
        ("mul", product, zip(&|x, y| x * y)),
        ("rescale", rescaled, zip(&|x, y| x * y)),
    ];
    // 2^-7 is far above the noise, and far below the effect of a wrong word.
    let tolerance = 2f64.powi(-7);
    for (what, ct, expected) in &results {
        for part in ct.parts() {
            made.push((what, part.to_words()?));
        }
        let decrypted = decryptor.decrypt(ct)?;
        made.push((what, decrypted.poly().to_words()?));
        let decoded = encoder.decode(&decrypted)?;
        near(what, &decoded, expected, tolerance);
        made.push((what, decoded.iter().flatten().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()));
    }
    let one = ev.mul_plain(&x, &one)?;
    made.push(("mul one plain", one.parts()[1].to_words()?));
    let flooded = decryptor.decrypt_flooded(&x, Flooding::Bits(9), rng)?;
    made.push(("flooded", flooded.poly().to_words()?));
    let again = Ciphertext::concat(&[&y, &x.slice_batch(0..1)?])?;
    made.push(("slices", again.parts()[0].to_words()?));
    let numbers: Vec<i64> = (0..ring.n() as i64).map(|i| (i - 1) << (i % 50)).collect();
    let wide = WidePoly::from_signed(&ring, params.log_q(), 1, &numbers)?;
    made.push(("product of polynomials", x.parts()[0].mul(&wide)?.to_words()?));
    Ok(made)
}

fn run_or_panic<B: WideOps>(backend: &B, shape: &Shape, seed: u64) -> Made {
    run(backend, shape, seed)
        .unwrap_or_else(|error| panic!("{error}; {shape:?}, HE_TEST_SEED={seed}, {}", backend.name()))
}

/// Keys, ciphertexts and vectors of one seed.
fn same_words(cuda: &Cuda, shapes: &[Shape]) {
    let seed = seed();
    for shape in shapes {
        let expected = run_or_panic(&Cpu::new(), shape, seed);
        let found = run_or_panic(cuda, shape, seed);
        assert_eq!(found.len(), expected.len());
        for ((what, found), (_, expected)) in found.iter().zip(&expected) {
            assert!(found == expected, "{what}: {shape:?}, HE_TEST_SEED={seed}");
        }
    }
}

#[test]
fn emulated_words_are_those_of_the_cpu() {
    same_words(&emulated(Arithmetic::Float), &SMALL);
    same_words(&emulated(Arithmetic::Integer), &SMALL[..3]);
    same_words(&emulated(Arithmetic::Float), &[shape(12, 250, 45, 2, 1, 1)]);
}

/// Every operation runs on both sides, and every word is compared.
#[test]
fn emulated_mirror() {
    let seed = seed();
    for shape in &SMALL {
        run_or_panic(&Mirror::new(Cpu::new(), emulated(Arithmetic::Float)), shape, seed);
    }
}

#[test]
fn device_words_are_those_of_the_cpu() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        same_words(&cuda, &SMALL);
        same_words(&cuda, &LARGE);
    }
}

#[test]
fn device_words_in_integers_are_those_of_the_cpu() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Integer) {
        same_words(&cuda, &SMALL);
        same_words(&cuda, &LARGE[..1]);
    }
}

/// The threads of a block and the blocks of a grid run in other orders, so that a missing barrier
/// changes words.
#[test]
fn emulated_orders_give_the_same_words() {
    let seed = seed();
    let shape = &SMALL[3];
    let expected = run_or_panic(&Cpu::new(), shape, seed);
    for order in [Order::Reverse, Order::Shuffled(1), Order::Shuffled(2)] {
        let emulator = emulator();
        emulator.set_order(order);
        let cuda = Cuda::on(&Gpu::from_driver(emulator.clone())).expect("the emulator opens");
        let found = run_or_panic(&cuda.arithmetic(Arithmetic::Float), shape, seed);
        assert!(found == expected, "{order:?}, HE_TEST_SEED={seed}");
        assert_eq!(emulator.take_errors(), Vec::<String>::new(), "{order:?}");
    }
}

/// Compares products through primes with the definition, on the device only.
fn products_are_those_of_the_definition(cuda: &Cuda, log_n: u32) -> Result<()> {
    for (log_q, batch) in [(2, 1), (64, 3), (130, 2), (438, 1), (600, 1)] {
        let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, log_q, 1))?;
        let ring = Ring::new(cuda.clone(), params.ring().clone())?;
        let random = |index| WidePoly::uniform(&ring, log_q, batch, &Seed([7; 32]), index);
        let (a, b) = (random(0)?, random(1)?);
        let [a_words, b_words] = [cuda.upload(&a.to_words()?)?, cuda.upload(&b.to_words()?)?];
        let rows = WideRows::new(log_q, batch);
        let product = ring.prepared().wide_schoolbook(rows, &a_words, &b_words)?;
        let words = cuda.download(&product, 0..rows.count() * ring.n())?;
        assert!(a.mul(&b)?.to_words()? == words, "N = 2^{log_n}, modulo 2^{log_q}, batch {batch}");
    }
    Ok(())
}

#[test]
fn emulated_products_are_those_of_the_definition() {
    for log_n in [2, 5, 8] {
        products_are_those_of_the_definition(&emulated(Arithmetic::Float), log_n)
            .expect("the emulator works");
    }
}

#[test]
fn device_products_are_those_of_the_definition() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        for log_n in [5, 11, 13] {
            products_are_those_of_the_definition(&cuda, log_n).expect("the device works");
        }
    }
}
