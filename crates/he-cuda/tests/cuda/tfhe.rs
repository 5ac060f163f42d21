//! TFHE on kernels that run on the host (always) and on a device (where there is one): the words of
//! the CPU.

#![allow(clippy::unwrap_used)] // This also holds in helpers of tests.

use super::devices::{emulated, emulated_small, emulator, gpu_or_skip, in_other_orders};
use gpu::Gpu;
use he_core::backend::{Backend, Cpu};
use he_core::circuits::bits::{Builder, Circuit, Plain, less_than, sum};
use he_core::tfhe::{
    BootstrapKey, Carry, Combination, EncryptedBits, Gadget, GateEvaluator, IntegerEvaluator, LweBatch,
    LweOps, TfheParams, TfheSecretKey, TfheSpec, presets,
};
use he_core::{Error, Overseer};
use he_cuda::{Arithmetic, Cuda};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// n, k, log2 N, gadgets of the bootstrap and of the key switch.
type Shape = (usize, usize, u32, (u32, u32), (u32, u32));

fn params((lwe_dimension, glwe_dimension, log_degree, bootstrap, switch): Shape) -> TfheParams {
    let gadget = |(base_log, levels)| Gadget { base_log, levels };
    TfheParams::insecure(TfheSpec {
        lwe_dimension,
        lwe_sigma_log2: -20.0,
        glwe_dimension,
        log_degree,
        glwe_sigma_log2: -45.0,
        bootstrap: gadget(bootstrap),
        switch: gadget(switch),
    })
    .unwrap()
}

fn keys(params: &TfheParams, seed: u64) -> (TfheSecretKey, BootstrapKey, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = TfheSecretKey::generate(params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    (secret, key, rng)
}

/// Every operation on random words, for several sizes of batches.
fn same_words(cuda: &Cuda, params: &TfheParams, counts: &[usize], seed: u64) {
    let (_, key, rng) = keys(params, seed);
    same_words_of(cuda, &key, counts, rng, seed);
}

/// By a multi-bit key of these groups.
fn same_words_of_bundles(cuda: &Cuda, params: &TfheParams, group: usize, counts: &[usize], seed: u64) {
    let (secret, _, mut rng) = keys(params, seed);
    let key = BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap();
    same_words_of(cuda, &key, counts, rng, seed);
}

fn same_words_of(cuda: &Cuda, key: &BootstrapKey, counts: &[usize], mut rng: ChaCha20Rng, seed: u64) {
    let (cpu, params) = (Cpu::new(), key.params());
    let what = format!("{:?}, groups of {}, seed {seed}", params.spec(), key.group());
    let (on_cpu, on_cuda) = (cpu.lwe_key(key).unwrap(), cuda.lwe_key(key).unwrap());
    let mut tables: Vec<u64> = (0..3 * params.degree()).map(|_| rng.next_u64()).collect();
    // Half of the words of the last one are ties between digits.
    let half = 63 - params.spec().bootstrap.bits();
    tables[2 * params.degree()..].iter_mut().for_each(|word| *word = *word >> half << half);
    let (tables, cuda_tables) = (cpu.upload(&tables).unwrap(), cuda.upload(&tables).unwrap());
    let download = |buf| cuda.download(&buf, 0..cuda.words(&buf)).unwrap();
    for &count in counts {
        let words: Vec<u64> = (0..count * params.words()).map(|_| rng.next_u64()).collect();
        let (words, uploaded) = (cpu.upload(&words).unwrap(), cuda.upload(&words).unwrap());
        let combinations: Vec<Combination> = (0..count)
            .map(|i| Combination {
                constant: rng.next_u64(),
                terms: (0..i % 5)
                    .map(|_| (rng.next_u64() as i64 >> (i % 3 * 30), rng.random_range(0..count)))
                    .collect(),
            })
            .collect();
        let expected = cpu.lwe_combine(params, &words, &combinations).unwrap();
        let found = cuda.lwe_combine(params, &uploaded, &combinations).unwrap();
        assert!(*download(found) == *expected, "lwe_combine of {count}, {what}");

        let mut small = cpu.key_switch(&on_cpu, &words, count).unwrap();
        let found = cuda.key_switch(&on_cuda, &uploaded, count).unwrap();
        assert!(*download(found) == *small, "key_switch of {count}, {what}");

        // Powers of X at the ends of their range, and a ciphertext of zeros.
        let width = params.spec().lwe_dimension + 1;
        for (i, word) in [0, 1, u64::from(u32::MAX), 1 << 31, (1 << 31) - 1].into_iter().enumerate() {
            let at = i * 7 % small.len().max(1);
            if let Some(place) = small.get_mut(at) {
                *place = word;
            }
        }
        if count > 2 {
            small[width..2 * width].fill(0);
        }
        let which: Vec<u32> = (0..count).map(|_| rng.random_range(0..3)).collect();
        let on_device = cuda.upload(&small).unwrap();
        for functions in [1, 2, 8] {
            let expected = cpu.blind_rotate(&on_cpu, &small, count, &tables, &which, functions).unwrap();
            let found =
                cuda.blind_rotate(&on_cuda, &on_device, count, &cuda_tables, &which, functions).unwrap();
            assert!(*download(found) == *expected, "blind_rotate of {count}, {functions} functions, {what}");
        }
    }
}

/// Degrees and dimensions of presets: one ciphertext per block, and groups of them on a device of
/// four multiprocessors.
const TUNED: [Shape; 8] = [
    (5, 3, 9, (18, 1), (4, 3)),
    (4, 2, 10, (23, 1), (3, 5)),
    (3, 1, 11, (23, 1), (3, 5)),
    (3, 1, 11, (15, 2), (3, 5)),
    (4, 1, 10, (10, 3), (2, 8)),
    (3, 1, 9, (20, 1), (5, 4)),
    (2, 2, 9, (4, 6), (1, 1)),
    (2, 1, 11, (7, 1), (28, 1)),
];

/// Degrees from 2^5 to 2^12, and more components and levels than shared memory holds.
const OTHERS: [Shape; 9] = [
    (20, 1, 5, (28, 1), (3, 7)),
    (9, 3, 5, (3, 16), (8, 3)),
    (7, 8, 6, (1, 1), (1, 16)),
    (6, 2, 7, (13, 4), (15, 2)),
    (5, 3, 8, (17, 1), (4, 3)),
    (3, 3, 10, (13, 4), (6, 2)),
    (2, 8, 9, (6, 8), (4, 1)),
    (2, 2, 12, (11, 2), (4, 2)),
    (300, 1, 5, (10, 2), (2, 2)),
];

#[test]
fn emulated_words_of_tuned_kernels() {
    for (seed, shape) in TUNED.into_iter().enumerate() {
        same_words(&emulated_small(Arithmetic::Auto), &params(shape), &[0, 1, 3, 14, 27], seed as u64);
    }
}

#[test]
fn emulated_words_of_any_degree() {
    for (seed, shape) in OTHERS.into_iter().enumerate() {
        same_words(&emulated(Arithmetic::Auto), &params(shape), &[1, 2, 19], 100 + seed as u64);
    }
    // A device with less shared memory than some of the tuned kernels need.
    let small = Cuda::on(&Gpu::from_driver(emulator().with_compute_capability((7, 0)))).unwrap();
    for (seed, shape) in TUNED.into_iter().enumerate() {
        same_words(&small, &params(shape), &[2], 200 + seed as u64);
    }
}

/// Multi-bit keys: shapes of presets, and others.
const BUNDLES: [(Shape, usize); 7] = [
    ((4, 3, 9, (18, 1), (4, 3)), 4),
    ((4, 2, 10, (22, 1), (3, 5)), 2),
    ((4, 1, 11, (22, 1), (3, 6)), 4),
    ((4, 1, 11, (16, 2), (3, 5)), 2),
    ((6, 1, 5, (5, 4), (3, 7)), 3),
    ((4, 2, 6, (13, 2), (8, 3)), 2),
    ((8, 1, 7, (20, 1), (5, 4)), 4),
];

#[test]
fn emulated_words_of_bundles() {
    for (seed, (shape, group)) in BUNDLES.into_iter().enumerate() {
        let (params, seed) = (params(shape), 300 + seed as u64);
        same_words_of_bundles(&emulated_small(Arithmetic::Auto), &params, group, &[0, 1, 3], seed);
        for cuda in in_other_orders() {
            same_words_of_bundles(&cuda, &params, group, &[2], seed);
        }
    }
}

/// As many ciphertexts as have a kernel of their own for bundles.
#[test]
fn emulated_words_of_many_bundles() {
    for (seed, shape) in [(8, 2, 6, (13, 2), (8, 3)), (4, 3, 7, (17, 1), (4, 3))].into_iter().enumerate() {
        for cuda in in_other_orders().chain([emulated(Arithmetic::Auto)]) {
            same_words_of_bundles(&cuda, &params(shape), 4, &[33], 310 + seed as u64);
        }
    }
}

/// Another order of threads exposes missing barriers.
#[test]
fn emulated_words_in_any_order() {
    for cuda in in_other_orders() {
        for shape in TUNED[..5].iter().chain(&OTHERS[3..4]) {
            same_words(&cuda, &params(*shape), &[1, 14], 300);
        }
    }
}

fn circuit(inputs: usize, build: impl Fn(&mut Builder) -> Vec<he_core::circuits::bits::Signal>) -> Circuit {
    let mut builder = Builder::new(inputs);
    let outputs = build(&mut builder);
    builder.finish(&outputs)
}

/// x + y + z of `width` bits.
fn three_numbers(width: usize) -> Circuit {
    circuit(3 * width, |c| {
        let numbers = (0..3).map(|i| c.input(width * i..width * (i + 1))).collect();
        sum(c, numbers, width)
    })
}

/// x < y of `width` bits.
fn comparison(width: usize) -> Circuit {
    circuit(2 * width, |c| {
        let (x, y) = (c.input(0..width), c.input(width..2 * width));
        vec![less_than(c, &x, &y)]
    })
}

/// Gates and circuits decrypt to the correct results, with the words of the CPU.
fn gates(cuda: &Cuda, params: &TfheParams, circuits: &[Circuit], seed: u64) {
    let cpu = Cpu::new();
    let (secret, key, mut rng) = keys(params, seed);
    let (on_cpu, on_cuda) =
        (GateEvaluator::new(&cpu, &key).unwrap(), GateEvaluator::new(cuda, &key).unwrap());
    let mut encrypt = |bits: &[bool]| {
        let x = secret.encrypt_bits(&cpu, bits, &mut rng).unwrap();
        let words = x.ciphertexts().download().unwrap();
        (x, EncryptedBits::from_ciphertexts(LweBatch::upload(cuda, params, &words).unwrap()))
    };
    let [a, b, c] = [2, 1, 0].map(|bit| encrypt(&(0..8).map(|i| i >> bit & 1 == 1).collect::<Vec<_>>()));
    let same = |x: &EncryptedBits<Cpu>, y: &EncryptedBits<Cuda>, name: &str| {
        let (x, y) = (x.ciphertexts().download().unwrap(), y.ciphertexts().download().unwrap());
        assert!(x == y, "{name}, seed {seed}");
    };
    for table in 0..16 {
        let found = on_cuda.lookup(table, &a.1, &b.1).unwrap();
        same(&on_cpu.lookup(table, &a.0, &b.0).unwrap(), &found, "lookup");
        let bits = secret.decrypt_bits(&found).unwrap();
        assert!((0..8).all(|i| bits[i] == (table >> (i >> 1) & 1 == 1)), "{table:04b}, seed {seed}");
    }
    same(&on_cpu.not(&a.0).unwrap(), &on_cuda.not(&a.1).unwrap(), "not");
    same(&on_cpu.mux(&a.0, &b.0, &c.0).unwrap(), &on_cuda.mux(&a.1, &b.1, &c.1).unwrap(), "mux");
    let majority = on_cuda.majority(&a.1, &b.1, &c.1).unwrap();
    same(&on_cpu.majority(&a.0, &b.0, &c.0).unwrap(), &majority, "majority");
    same(&on_cpu.parity(&a.0, &b.0, &c.0).unwrap(), &on_cuda.parity(&a.1, &b.1, &c.1).unwrap(), "parity");
    for circuit in circuits {
        let bits: Vec<bool> = (0..circuit.inputs()).map(|i| (i * i + seed as usize) % 7 < 3).collect();
        let found = circuit.run(&on_cuda, &encrypt(&bits).1).unwrap();
        let expected = circuit.run(&Plain, &bits).unwrap();
        assert_eq!(secret.decrypt_bits(&found).unwrap(), expected, "seed {seed}");
    }
}

/// Integers decrypt to the correct results, and digits have the words of the CPU.
fn integers(cuda: &Cuda, params: &TfheParams, bits: usize, seed: u64) {
    let (secret, key, mut rng) = keys(params, seed);
    let modulus = u128::MAX >> (128 - bits);
    let [x, y] = [(); 2].map(|()| vec![rng.next_u64() as u128 & modulus, rng.next_u64() as u128 & modulus]);
    for carry in [Carry::Ripple, Carry::Prefix] {
        let ev = IntegerEvaluator::new(cuda, &key, carry).unwrap();
        let mut encrypt = |x: &[u128]| {
            let values: Vec<_> = x.iter().map(|&x| x.into()).collect();
            secret.encrypt_uint(cuda, &values, bits, &mut rng).unwrap()
        };
        let (a, b) = (encrypt(&x), encrypt(&y));
        let open = |x| -> Vec<u128> {
            let values = secret.decrypt_uint(&x).unwrap();
            values.into_iter().map(|x| x.try_into().unwrap()).collect()
        };
        let each = |f: fn(u128, u128) -> u128| -> Vec<u128> {
            x.iter().zip(&y).map(|(&x, &y)| f(x, y) & modulus).collect()
        };
        assert_eq!(open(ev.add(&a, &b).unwrap()), each(u128::wrapping_add), "seed {seed}");
        assert_eq!(open(ev.sub(&a, &b).unwrap()), each(u128::wrapping_sub), "seed {seed}");
        assert_eq!(open(ev.min(&a, &b).unwrap()), each(u128::min), "seed {seed}");
        let (least, most) = ev.min_max(&a, &b).unwrap();
        assert_eq!([open(least), open(most)], [each(u128::min), each(u128::max)], "seed {seed}");
        let less = secret.decrypt_flags(&ev.lt(&a, &b).unwrap()).unwrap();
        assert_eq!(less, [x[0] < y[0], x[1] < y[1]], "seed {seed}");
        assert_eq!(open(ev.mul(&a, &b).unwrap()), each(u128::wrapping_mul), "seed {seed}");
        let (quotient, remainder) = ev.div_rem(&a, &b).unwrap();
        let over = |x: u128, y: u128| x.checked_div(y).unwrap_or(u128::MAX);
        assert_eq!(open(quotient), each(over), "seed {seed}");
        assert_eq!(open(remainder), each(|x, y| x.checked_rem(y).unwrap_or(x)), "seed {seed}");
        let (quotient, remainder) = ev.div_rem_plain(&a, &100.into()).unwrap();
        assert_eq!(open(quotient), each(|x, _| x / 100), "seed {seed}");
        assert_eq!(open(remainder), each(|x, _| x % 100), "seed {seed}");
        let sum = ev.saturating_add(&a, &b).unwrap();
        let saturated = |(&x, &y): (&u128, &u128)| x.saturating_add(y).min(modulus);
        assert_eq!(open(sum), x.iter().zip(&y).map(saturated).collect::<Vec<_>>(), "seed {seed}");
        let shifted = ev.shl(&a, &b).unwrap();
        let by = |x: u128, y: u128| if y < 128 { x << y } else { 0 };
        assert_eq!(open(shifted), each(by), "seed {seed}");
    }
}

#[test]
fn emulated_gates_and_integers() {
    let cuda = emulated(Arithmetic::Auto);
    let small = presets::insecure_small().unwrap();
    gates(&cuda, &small, &[three_numbers(4), comparison(6)], 1);
    integers(&cuda, &small, 8, 2);
}

#[test]
fn device_words() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for (seed, shape) in TUNED.into_iter().chain(OTHERS).enumerate() {
        same_words(&cuda, &params(shape), &[1, 3, 131], 400 + seed as u64);
    }
    for (seed, params) in [
        presets::gates_2m128(),
        presets::digits_2m128(),
        presets::digits_2m40(),
        presets::insecure_lambda100(),
    ]
    .into_iter()
    .enumerate()
    {
        same_words(&cuda, &params.unwrap(), &[1, 7], 500 + seed as u64);
    }
    for (seed, (params, group)) in [
        (presets::gates_2m128_multibit(), 4),
        (presets::digits_2m40_multibit(), 3),
        (presets::digits_2m128_multibit(), 4),
        (presets::digits_2m128_multibit(), 2),
    ]
    .into_iter()
    .enumerate()
    {
        same_words_of_bundles(&cuda, &params.unwrap(), group, &[1, 7, 90], 520 + seed as u64);
    }
    // More than a wave of groups, and a remainder.
    same_words(&cuda, &params((12, 3, 9, (17, 1), (4, 3))), &[792, 797, 1500, 1700], 600);
    same_words(&cuda, &params((6, 1, 11, (23, 1), (3, 5))), &[400, 800], 601);
}

#[test]
fn device_gates_and_integers() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    gates(&cuda, &presets::gates_2m128().unwrap(), &[three_numbers(32), comparison(1024)], 3);
    gates(&cuda, &presets::gates_2m40().unwrap(), &[three_numbers(8)], 4);
    integers(&cuda, &presets::digits_2m128().unwrap(), 32, 5);
    integers(&cuda, &presets::digits_2m40().unwrap(), 64, 6);
}

/// The mean square of errors in units of 2^-64, on the torus, and the greatest error.
fn variance(errors: &[u64]) -> (f64, f64) {
    let errors = errors.iter().map(|&e| (e as i64) as f64 / 2f64.powi(64));
    let (sum, greatest) =
        errors.clone().fold((0.0, 0f64), |(sum, greatest), e| (sum + e * e, greatest.max(e.abs())));
    (sum / errors.len() as f64, greatest)
}

#[test]
#[ignore = "4 10^5 bootstraps; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture"]
fn device_noise_is_as_predicted() {
    noise_is_as_predicted([
        ("gates_2m128", presets::gates_2m128().unwrap(), 1),
        ("digits_2m128", presets::digits_2m128().unwrap(), 1),
    ]);
}

#[test]
#[ignore = "8 10^5 bootstraps; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture"]
fn device_noise_of_multi_bit_keys_is_as_predicted() {
    noise_is_as_predicted([
        ("digits_2m128_multibit", presets::digits_2m128_multibit().unwrap(), 4),
        ("digits_2m128_multibit", presets::digits_2m128_multibit().unwrap(), 2),
        ("digits_2m40_multibit", presets::digits_2m40_multibit().unwrap(), 4),
        ("gates_2m128_multibit", presets::gates_2m128_multibit().unwrap(), 4),
    ]);
}

/// Compares the errors of 10^5 bootstraps with the predicted variances: those of results, of the
/// results of a second function, with which they do not correlate, and of lookups.
fn noise_is_as_predicted<const CASES: usize>(cases: [(&str, TfheParams, usize); CASES]) {
    const BATCH: usize = 10_000;
    const BATCHES: usize = 10;
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    let cpu = Cpu::new();
    for (name, params, group) in cases {
        let (secret, mut key, mut rng) = keys(&params, 700);
        if group > 1 {
            key = BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap();
        }
        let on_cuda = cuda.lwe_key(&key).unwrap();
        let (degree, noise) = (params.degree(), key.noise());
        // 1/8 everywhere, and the phase itself.
        let step = 1u64 << (63 - params.spec().log_degree);
        let tables: Vec<u64> = (0..2 * degree as u64)
            .map(|p| if p < degree as u64 { 1 << 61 } else { (p - degree as u64) * step })
            .collect();
        let tables = cuda.upload(&tables).unwrap();
        let (mut results, mut seconds, mut lookups) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..BATCHES {
            // From 1/8 to 3/8, so that no error reaches the end of a table.
            let messages: Vec<u64> = (0..BATCH).map(|_| (1 << 61) + (rng.next_u64() >> 2)).collect();
            let fresh = secret.encrypt(&cpu, &messages, &mut rng).unwrap().download().unwrap();
            let small = cuda.key_switch(&on_cuda, &cuda.upload(&fresh).unwrap(), BATCH).unwrap();
            for table in 0..2 {
                let found =
                    cuda.blind_rotate(&on_cuda, &small, BATCH, &tables, &vec![table; BATCH], 2).unwrap();
                let found = cuda.download(&found, 0..cuda.words(&found)).unwrap();
                let phases = secret.phases(&LweBatch::upload(&cpu, &params, &found).unwrap()).unwrap();
                let (first, second) = phases.split_at(BATCH);
                if table == 0 {
                    results.extend(first.iter().map(|phase| phase.wrapping_sub(1 << 61)));
                    // 1/8 up to phases of 1/4, then -1/8.
                    let nearest = |phase: u64| if (phase as i64) < 0 { 7 << 61 } else { 1 << 61 };
                    seconds.extend(second.iter().map(|&phase| phase.wrapping_sub(nearest(phase))));
                } else {
                    lookups.extend(first.iter().zip(&messages).map(|(phase, m)| phase.wrapping_sub(*m)));
                }
            }
        }
        // The errors of the transform lie between zero and their bound.
        let inputs = noise.fresh + noise.key_switch + noise.modulus_switch;
        for (what, errors, switches) in
            [("result", &results, 0.0), ("second result", &seconds, 0.0), ("lookup", &lookups, inputs)]
        {
            let (found, greatest) = variance(errors);
            let (least, most) = (switches + noise.blind_rotation, switches + noise.bootstrapped());
            let sigmas = greatest / found.sqrt();
            println!(
                "{name}, groups of {group}, {what}: {} bootstraps, deviation 2^{:.3}, variance {:.4} of the prediction without the transform's errors, \
                 {:.4} of that with their bound; greatest error {sigmas:.2} deviations",
                errors.len(),
                found.log2() / 2.0,
                found / least,
                found / most,
            );
            // Six deviations of a chi-square; rounding terms depend on the numbers of ones in the
            // secrets.
            let spread = 6.0 * (2.0 / errors.len() as f64).sqrt() + 0.1;
            assert!(found > least * (1.0 - spread) && found < most * (1.0 + spread), "{name}, {what}");
            assert!(sigmas < 7.0, "{name}, {what}");
        }
        let product = |(e, f): (&u64, &u64)| (*e as i64) as f64 * (*f as i64) as f64 / 2f64.powi(128);
        let covariance = results.iter().zip(&seconds).map(product).sum::<f64>() / results.len() as f64;
        let correlation = covariance / (variance(&results).0 * variance(&seconds).0).sqrt();
        println!("{name}: correlation of the two results {correlation:.4}");
        assert!(correlation.abs() < 6.0 / (results.len() as f64).sqrt(), "{name}");
    }
}

/// Ends the work after so many ciphertexts, and counts them.
struct Limited {
    most: usize,
    lookups: AtomicUsize,
}

impl Overseer for Limited {
    fn goes_on(&self) -> bool {
        self.lookups.load(Ordering::Relaxed) < self.most
    }

    fn looked_up(&self, count: usize) {
        self.lookups.fetch_add(count, Ordering::Relaxed);
    }
}

/// A batch that somebody oversees is cut into pieces, with the same words, and ends between them.
#[test]
fn batches_that_are_overseen_end_between_launches() {
    let params = params((1, 1, 5, (10, 1), (8, 1)));
    let (_, key, mut rng) = keys(&params, 77);
    let count = (1 << 14) + 100;
    let small: Vec<u64> = (0..2 * count).map(|_| rng.next_u64() >> 32).collect();
    let table: Vec<u64> = (0..params.degree()).map(|_| rng.next_u64()).collect();
    let emulator = emulated(Arithmetic::Auto);
    let run = |cuda: &Cuda, small: &[u64]| {
        let count = small.len() / 2;
        let key = cuda.lwe_key(&key)?;
        let (small, table) = (cuda.upload(small)?, cuda.upload(&table)?);
        let found = cuda.blind_rotate(&key, &small, count, &table, &vec![0; count], 2)?;
        cuda.download(&found, 0..cuda.words(&found))
    };
    let overseen = |most: usize| {
        let limited = Arc::new(Limited { most, lookups: AtomicUsize::default() });
        let found = run(&emulator.overseen(Arc::clone(&limited) as _), &small);
        (found, limited.lookups.load(Ordering::Relaxed))
    };
    let (found, lookups) = overseen(usize::MAX);
    let found = found.unwrap();
    assert_eq!(lookups, count);
    // Look-ups on both sides of the border between the launches, and at the end, alone.
    let words = found.len() / (2 * count);
    for alone in [(1 << 14) - 30..(1 << 14) + 30, count - 5..count] {
        let expected = run(&emulator, &small[2 * alone.start..2 * alone.end]).unwrap();
        let of_both = found.chunks_exact(words * count);
        let found: Vec<u64> =
            of_both.flat_map(|all| &all[words * alone.start..words * alone.end]).copied().collect();
        assert!(found == expected, "{alone:?}");
    }
    let (ended, lookups) = overseen(1);
    assert!(matches!(ended, Err(Error::Cancelled)));
    assert_eq!(lookups, 1 << 14);
    assert!(matches!(overseen(0), (Err(Error::Cancelled), 0)));
}
