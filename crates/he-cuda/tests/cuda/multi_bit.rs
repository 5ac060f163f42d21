//! Lookups by multi-bit keys and by others, beside each other: the least times of several calls,
//! whose results are checked. RAYON_NUM_THREADS=1 measures one thread of a processor.

#![allow(clippy::unwrap_used)] // This also holds in helpers of tests.

use super::devices::gpu_or_skip;
use he_core::Overseer;
use he_core::aes::{Bulk, BulkCipher, Key, KeySize, Reference};
use he_core::backend::Cpu;
use he_core::tfhe::{
    BootstrapKey, Bootstrapper, Carry, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec,
    EncryptedBits, EncryptedUint, GateEvaluator, IntegerEvaluator, LookupTables, LweOps, Sum, TfheParams,
    TfheSecretKey, presets,
};
use he_core::transcipher::{EncryptedAesKey, Transcipher};
use he_cuda::{Arithmetic, Cuda};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A name, parameters, and the bits of a group.
type Case = (&'static str, TfheParams, usize);

const RUNS: usize = 5;

/// How a call is timed.
type Clock = fn() -> f64;

fn wall_seconds() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// The seconds that all threads of this program have run, in steps of 10 ms (Linux).
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn keys((_, params, group): &Case) -> (TfheSecretKey, BootstrapKey, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(900);
    let secret = TfheSecretKey::generate(params, &mut rng);
    let key = match group {
        1 => BootstrapKey::generate(&secret, &mut rng),
        _ => BootstrapKey::generate_multi_bit(&secret, *group, &mut rng).unwrap(),
    };
    (secret, key, rng)
}

/// The seconds of a call, the least mean of several runs of so many calls.
fn least_of<B: LweOps, R>(backend: &B, (clock, calls): (Clock, usize), mut call: impl FnMut() -> R) -> f64 {
    let run = |_| {
        backend.synchronize().unwrap();
        let start = clock();
        let results: Vec<R> = (0..calls).map(|_| call()).collect();
        backend.synchronize().unwrap();
        let seconds = (clock() - start) / calls as f64;
        drop(results);
        seconds
    };
    (0..RUNS).map(run).fold(f64::INFINITY, f64::min)
}

/// A random table of digits, for batches of these sizes.
fn lookups<B: LweOps>(backend: &B, case: &Case, counts: &[usize], time: (Clock, usize)) {
    let (secret, key, mut rng) = keys(case);
    let boot = Bootstrapper::new(backend, &key).unwrap();
    let table: Vec<u64> = (0..16).map(|_| rng.random_range(0..16)).collect();
    let entries: Vec<u64> = table.iter().map(|entry| entry << 59).collect();
    let tables = LookupTables::new(backend, &case.1, &[entries]).unwrap();
    for &count in counts {
        let messages: Vec<usize> = (0..count).map(|_| rng.random_range(0..16)).collect();
        let words: Vec<u64> = messages.iter().map(|&m| (m as u64) << 59).collect();
        let fresh = secret.encrypt(backend, &words, &mut rng).unwrap();
        let which = vec![0; count];
        let call = || boot.bootstrap(&fresh, &tables, &which).unwrap();
        let phases = secret.phases(&call()).unwrap();
        for (phase, &m) in phases.iter().zip(&messages) {
            assert_eq!((phase.wrapping_add(1 << 58)) >> 59 & 31, table[m], "{}: {m}", case.0);
        }
        let seconds = least_of(backend, time, call);
        let (name, group) = (case.0, case.2);
        println!(
            "{name}, groups of {group}: {count} lookups in {:.3} ms, {:.0} per second",
            1e3 * seconds,
            count as f64 / seconds
        );
    }
}

fn nand<B: LweOps>(backend: &B, case: &Case, counts: &[usize], time: (Clock, usize)) {
    let (secret, key, mut rng) = keys(case);
    let gates = GateEvaluator::new(backend, &key).unwrap();
    for &count in counts {
        let mut bits = || (0..count).map(|_| rng.random()).collect::<Vec<bool>>();
        let (x, y) = (bits(), bits());
        let mut encrypt =
            |bits: &[bool]| -> EncryptedBits<B> { secret.encrypt_bits(backend, bits, &mut rng).unwrap() };
        let (a, b) = (encrypt(&x), encrypt(&y));
        let expected: Vec<bool> = x.iter().zip(&y).map(|(x, y)| !(x & y)).collect();
        assert_eq!(secret.decrypt_bits(&gates.nand(&a, &b).unwrap()).unwrap(), expected, "{}", case.0);
        let seconds = least_of(backend, time, || gates.nand(&a, &b).unwrap());
        let (name, group) = (case.0, case.2);
        println!(
            "{name}, groups of {group}: {count} NAND in {:.3} ms, {:.0} per second",
            1e3 * seconds,
            count as f64 / seconds
        );
    }
}

/// Counts the steps of a program, which follow each other, and the lookups of all.
#[derive(Default)]
struct Steps {
    steps: AtomicUsize,
    lookups: AtomicUsize,
}

impl Overseer for Steps {
    fn looked_up(&self, count: usize) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.lookups.fetch_add(count, Ordering::Relaxed);
    }
}

/// One sum, product and quotient of 64 bits.
fn integers(cuda: &Cuda, case: &Case) {
    let (secret, key, mut rng) = keys(case);
    let counter = Arc::new(Steps::default());
    let backend = cuda.overseen(Arc::clone(&counter) as _);
    let evaluator = IntegerEvaluator::new(&backend, &key, Carry::Prefix).unwrap();
    let (x, y) = (rng.next_u64(), rng.next_u64() >> 20);
    let mut encrypt = |x: u64| secret.encrypt_u64(&backend, &[x], 64, &mut rng).unwrap();
    let (a, b) = (encrypt(x), encrypt(y));
    type Operation<'a, T> = (&'static str, u64, &'a dyn Fn() -> T);
    let add = || evaluator.add(&a, &b).unwrap();
    let mul = || evaluator.mul(&a, &b).unwrap();
    let div = || evaluator.div(&a, &b).unwrap();
    let all: [Operation<'_, _>; 3] =
        [("sum", x.wrapping_add(y), &add), ("product", x.wrapping_mul(y), &mul), ("quotient", x / y, &div)];
    for (what, expected, call) in all {
        let before = [&counter.steps, &counter.lookups].map(|count| count.load(Ordering::Relaxed));
        let found = secret.decrypt_u64(&call()).unwrap();
        assert_eq!(found, [expected], "{what}");
        let after = [&counter.steps, &counter.lookups].map(|count| count.load(Ordering::Relaxed));
        let seconds = least_of(&backend, (wall_seconds, 1), call);
        println!(
            "{}, groups of {}: {what} of 64 bits in {:.3} ms, {} lookups in {} steps",
            case.0,
            case.2,
            1e3 * seconds,
            after[1] - before[1],
            after[0] - before[0]
        );
    }
}

/// The balances after a transfer of an amount, if the first covers it.
fn transfer<B: LweOps>(
    evaluator: &IntegerEvaluator<B>,
    [from, to, amount]: &[EncryptedUint<B>; 3],
) -> Vec<EncryptedUint<B>> {
    let covered = evaluator.ge(from, amount).unwrap();
    let moved = evaluator.select_or_zero(&covered, amount).unwrap();
    evaluator.sums(&[Sum::Sub(from, &moved), Sum::Add(to, &moved)]).unwrap()
}

/// Transfers of 64 bits by both kinds of keys, each for the batches that suit it.
fn transfers(cuda: &Cuda, counts: &[usize]) {
    let params = presets::digits_2m128_multibit().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(901);
    let secret = TfheSecretKey::generate(&params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let few = BootstrapKey::generate_multi_bit(&secret, 4, &mut rng).unwrap();
    let carry = Carry::PrefixUpTo(16);
    let evaluator = IntegerEvaluator::new(cuda, &key, carry).unwrap().with_multi_bit(&few, 512).unwrap();
    for &count in counts {
        let mut numbers = || (0..count).map(|_| rng.next_u64() >> 1).collect::<Vec<_>>();
        let all = [numbers(), numbers(), numbers()];
        let sealed = all.each_ref().map(|x| secret.encrypt_u64(cuda, x, 64, &mut rng).unwrap());
        let [from, to, amount] = all;
        let moved = |i: usize| if from[i] >= amount[i] { amount[i] } else { 0 };
        let found = transfer(&evaluator, &sealed);
        let expected: [Vec<u64>; 2] = [
            (0..count).map(|i| from[i] - moved(i)).collect(),
            (0..count).map(|i| to[i] + moved(i)).collect(),
        ];
        assert_eq!([0, 1].map(|i| secret.decrypt_u64(&found[i]).unwrap()), expected);
        let seconds = least_of(cuda, (wall_seconds, 1), || transfer(&evaluator, &sealed));
        println!("{count} transfers in {:.3} ms, {:.0} per second", 1e3 * seconds, count as f64 / seconds);
    }
}

/// Blocks of AES-128-CTR as encrypted bits, and as integers of 32 bits.
fn blocks(cuda: &Cuda, case: &Case, counts: &[usize]) {
    let (secret, key, mut rng) = keys(case);
    let params = CircuitParams::new(&case.1, CircuitSpec::default()).unwrap();
    let circuit = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
    let boot = CircuitBootstrapper::new(cuda, &key, &circuit).unwrap();
    let aes = Key::generate(KeySize::Bits128, &mut rng);
    let encrypted = EncryptedAesKey::generate(&secret, &aes, &mut rng).unwrap();
    let transcipher = Transcipher::new(&boot, &encrypted).unwrap();
    for &count in counts {
        let mut message = vec![0; 16 * count];
        rng.fill_bytes(&mut message);
        let (counter, mut sent) = ([7; 16], message.clone());
        Reference::new().hazmat_ctr(&aes, &counter, Bulk::in_place(&mut sent)).unwrap();
        let bits = transcipher.decrypt(&counter, &sent).unwrap();
        let integers = || bits.integers(boot.bootstrapper(), 32).unwrap();
        let expected: Vec<u64> =
            message.as_chunks::<4>().0.iter().map(|&x| u64::from(u32::from_le_bytes(x))).collect();
        assert_eq!(secret.decrypt_u64(&integers()).unwrap(), expected, "{}, {count}", case.0);
        let [first, then] = [
            least_of(cuda, (wall_seconds, 1), || transcipher.decrypt(&counter, &sent).unwrap()),
            least_of(cuda, (wall_seconds, 1), integers),
        ];
        println!(
            "{}, groups of {}: {count} blocks in {:.2} ms, as integers of 32 bits in {:.2} ms more, {:.1} per second",
            case.0,
            case.2,
            1e3 * first,
            1e3 * then,
            count as f64 / (first + then)
        );
    }
}

fn digit_cases() -> Vec<Case> {
    let of = |group| ("digits_2m128_multibit", presets::digits_2m128_multibit().unwrap(), group);
    let classical = ("digits_2m128", presets::digits_2m128().unwrap(), 1);
    std::iter::once(classical).chain((2..=4).map(of)).collect()
}

fn gate_cases() -> [Case; 3] {
    let multi_bit = presets::gates_2m128_multibit().unwrap();
    [
        ("gates_2m128", presets::gates_2m128().unwrap(), 1),
        ("gates_2m128_multibit", multi_bit.clone(), 2),
        ("gates_2m128_multibit", multi_bit, 4),
    ]
}

#[test]
#[ignore = "measures; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture device_times"]
fn device_times() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for case in digit_cases() {
        lookups(&cuda, &case, &[1, 8, 64, 512, 4096], (wall_seconds, 1));
        if case.2 != 2 && case.2 != 3 {
            integers(&cuda, &case);
        }
    }
    for case in gate_cases() {
        nand(&cuda, &case, &[1, 8, 64, 512, 4096], (wall_seconds, 1));
    }
}

#[test]
#[ignore = "measures; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture device_integers"]
fn device_integers() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for case in digit_cases().iter().filter(|case| case.2 == 4) {
        lookups(&cuda, case, &[1, 132, 528, 4096], (wall_seconds, 1));
        integers(&cuda, case);
    }
    transfers(&cuda, &[1, 16, 1024]);
}

#[test]
#[ignore = "measures; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture device_blocks"]
fn device_blocks() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    let of = |group| ("phases_2m128_multibit", presets::phases_2m128_multibit().unwrap(), group);
    let classical = ("phases_2m128", presets::phases_2m128().unwrap(), 1);
    for case in [classical, of(3), of(4)] {
        blocks(&cuda, &case, &[1, 8, 32]);
    }
}

#[test]
#[ignore = "measures; cargo test --release -p he-cuda --test cuda -- --ignored --nocapture processor_times"]
fn processor_times() {
    for case in digit_cases() {
        lookups(&Cpu::new(), &case, &[1, 8], (processor_seconds, 4));
    }
    for case in gate_cases() {
        nand(&Cpu::new(), &case, &[1, 8], (processor_seconds, 4));
    }
}
