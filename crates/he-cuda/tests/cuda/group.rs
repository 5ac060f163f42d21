//! Several devices as one back end: the words are those of one, whatever they do next to each other
//! and wherever their words are, and what fails is an error.

use super::devices::{emulated, emulated_group, emulated_small, emulator, gpu_or_skip, group_or_skip, sized};
use super::program::{
    LONG, MIXED, NARROW, ONE_DIGIT, PAIRS, SINGLE, Session, Shape, WIDE, run_or_panic, seed,
};
use gpu::Gpu;
use gpu_emulator::{Fault, Faulty, Live};
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, PolyOps, RingOps};
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::conformance::Mirror;
use he_core::ring::{DomainKind, Operand, Ring, RingSpec, Rows, Span};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::Wire;
use he_core::{Error, Result};
use he_cuda::{Arithmetic, Cuda, CudaGroup};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

// ---- Programs ----

/// Every operation runs on the CPU and on the group, and every word is compared.
fn mirrored(group: &CudaGroup, shapes: &[Shape]) {
    let seed = seed();
    for shape in shapes {
        run_or_panic(&Mirror::new(Cpu::new(), group.clone()), shape, seed, false);
    }
}

#[test]
fn emulated_mirror_of_two() {
    let shapes = [SINGLE.of(4, 1), NARROW.of(4, 3), MIXED.of(5, 1), ONE_DIGIT.of(4, 3), PAIRS.of(4, 1)];
    mirrored(&emulated_group(2, Arithmetic::Float), &shapes);
    mirrored(&emulated_group(2, Arithmetic::Integer), &[SINGLE.of(4, 3), MIXED.of(4, 1)]);
}

#[test]
fn emulated_mirror_of_three() {
    let shapes = [SINGLE.of(5, 3), NARROW.of(4, 1), WIDE.of(5, 3), MIXED.of(4, 3), ONE_DIGIT.of(5, 1)];
    mirrored(&emulated_group(3, Arithmetic::Float), &shapes);
}

#[test]
fn emulated_mirror_of_larger_degrees() {
    mirrored(&emulated_group(2, Arithmetic::Float), &[SINGLE.of(12, 1), ONE_DIGIT.of(13, 1)]);
}

/// Multiplication in the matrix units, and transforms that fill the device.
#[test]
fn emulated_mirror_of_full_devices() {
    let devices = vec![emulated_small(Arithmetic::Float), emulated_small(Arithmetic::Float)];
    mirrored(
        &CudaGroup::on(devices).expect("the emulators connect").split_from(0),
        &[NARROW.of(sized(12, 14), 1)],
    );
}

/// A group leaves small rings to its lead, and so does one of a single device with all rings.
#[test]
fn emulated_mirror_of_rings_that_are_not_split() {
    mirrored(&emulated_group(2, Arithmetic::Float).split_from(5), &[NARROW.of(4, 3)]);
    mirrored(&emulated_group(1, Arithmetic::Float), &[NARROW.of(4, 3), SINGLE.of(11, 1)]);
    mirrored(&emulated_group(4, Arithmetic::Float), &[SINGLE.of(4, 1)]);
}

#[test]
fn device_mirror_of_a_group() {
    let Some(group) = group_or_skip(Arithmetic::Auto) else { return };
    mirrored(
        &group,
        &[SINGLE.of(4, 130), NARROW.of(12, 3), MIXED.of(14, 1), WIDE.of(15, 3), PAIRS.of(14, 3)],
    );
}

/// A product, rotations and a sum of rotations.
fn results<B: RingOps>(
    home: &Session<Cuda>,
    ring: &Ring<B>,
    x: &Ciphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Vec<Ciphertext<B>>> {
    let ev = Evaluator::new(&home.params, ring)?;
    let product = ev.mul(x, x, keys)?;
    let mut all = ev.rotate_many(&product, &[1, 2, 4], keys)?;
    all.push(ev.rotate(x, 1, keys)?);
    all.push(ev.rotate(&product, home.composed_step(), keys)?);
    all.push(ev.sum_of_rotations(x, &[(0, 0.5), (1, -0.75), (2, 1.5)], keys)?);
    all.push(product);
    Ok(all)
}

/// Objects that were made on one device move to the group, which computes the same words from them.
fn same_words_as_one(one: &Cuda, group: &CudaGroup, shape: &Shape) -> Result<()> {
    let seed = seed();
    let mut home = Session::new(one, shape, seed)?;
    let x = home.input()?.1;
    let there = Ring::new(group.clone(), home.ring.spec().clone())?;
    let expected = results(&home, &home.ring, &x, &home.keys)?;
    let found = results(&home, &there, &x.to(&there)?, &home.keys.to(&there)?)?;
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let [found, expected] = [found.to_frame(&home.params)?, expected.to_frame(&home.params)?];
        assert!(found.body == expected.body, "result {i}; {shape:?}, HE_TEST_SEED={seed}");
    }
    Ok(())
}

#[test]
fn emulated_objects_move_to_a_group() {
    let (one, group) = (emulated(Arithmetic::Float), emulated_group(2, Arithmetic::Float));
    same_words_as_one(&one, &group, &MIXED.of(5, 3)).unwrap();
    same_words_as_one(&one, &group, &LONG.of(4, 1)).unwrap();
}

#[test]
fn device_group_at_the_largest_degrees() {
    let Some(group) = group_or_skip(Arithmetic::Auto) else { return };
    let one = gpu_or_skip(Arithmetic::Auto).expect("the group has it");
    println!("{}", group.name());
    for log_n in [16, 17] {
        same_words_as_one(&one, &group, &LONG.of(log_n, 1)).unwrap();
    }
}

/// Threads that share a group.
#[test]
fn emulated_threads_share_a_group() {
    let (one, group) = (emulated(Arithmetic::Float), emulated_group(2, Arithmetic::Float));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| same_words_as_one(&one, &group, &NARROW.of(4, 1)).unwrap());
        }
    });
}

// ---- Where words are ----

/// Operations on parts of buffers, which place them one way and another: other spans, other
/// batches, rows from the middle, copies, truncations.
fn placements(count: usize, seed: u64) -> Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let primes = ntt_primes_below(40, 3, 9, &[])?;
    let spec = RingSpec::new(3, primes[..6].to_vec(), primes[6..].to_vec())?;
    let mirror = Mirror::new(Cpu::new(), emulated_group(count, Arithmetic::Float));
    let ring = mirror.prepare(&spec)?;
    let n = spec.n();
    let random_span = |rng: &mut ChaCha20Rng| {
        let start = rng.random_range(0..6);
        let q = rng.random_range(start..=6);
        Span { start, q, p: if q == start { rng.random_range(1..=3) } else { rng.random_range(0..=3) } }
    };
    // Small numbers are residues modulo any prime.
    let words = |rng: &mut ChaCha20Rng, count: usize| -> Vec<u64> {
        (0..count).map(|_| rng.random_range(0..1 << 20)).collect()
    };
    for _ in 0..40 {
        let (span, batch) = (random_span(&mut rng), rng.random_range(1..4));
        let rows = Rows::new(span, batch);
        let total = rows.count() * n;
        let mut a = match rng.random_range(0..3) {
            0 => mirror.zeros(total)?,
            _ => mirror.upload(&words(&mut rng, total))?,
        };
        let small = rng.random_bool(0.5);
        let b_batch = if small { 1 } else { batch };
        let b = mirror.upload(&words(&mut rng, span.limbs() * b_batch * n))?;
        for _ in 0..6 {
            // Some limbs of the chain, or from there to the end.
            let first = rng.random_range(0..=span.chain_limbs());
            let tail = span.tail(first);
            let some = match rng.random_bool(0.5) {
                true => tail,
                false => Span { q: tail.start + rng.random_range(0..=tail.chain_limbs()), p: 0, ..tail },
            };
            let part = Rows::new(some, batch).at(first * batch * n);
            let x = Operand::at(&b, b_batch, first * b_batch * n);
            let factors = words(&mut rng, some.limbs());
            match rng.random_range(0..7) {
                0 => ring.add_assign(part, &mut a, x)?,
                1 => ring.mul_add_assign(part, &mut a, x, x)?,
                2 => ring.scale_assign(part, &mut a, &factors)?,
                3 => ring.ntt(part, &mut a)?,
                4 => {
                    let mut image = mirror.zeros(total)?;
                    let src = Operand::at(&a, batch, part.at);
                    ring.automorphism(part, DomainKind::Coeff, 5, src, &mut image)?;
                    a = image;
                }
                5 => {
                    let mut copy = mirror.zeros(total)?;
                    let (from, to) = (rng.random_range(0..=total), rng.random_range(0..=total));
                    let most = total - from.max(to);
                    // Words in other places may not be residues there: look at them alone.
                    mirror.copy(&a, from, &mut copy, to, rng.random_range(0..=most))?;
                    let at = first * batch * n;
                    let mut same = mirror.scratch(total)?;
                    mirror.copy(&a, 0, &mut same, 0, total)?;
                    mirror.copy(&a, at, &mut same, at, some.limbs() * batch * n)?;
                    a = same;
                }
                _ => {
                    let whole = Operand::new(&b, b_batch);
                    if !small {
                        let [sum, _] = ring.add_pairs(rows, [whole; 2], [whole; 2])?;
                        a = sum;
                    }
                }
            }
        }
        let keep = rng.random_range(0..=total);
        mirror.truncate(&mut a, if rng.random_bool(0.5) { keep - keep % (batch * n) } else { keep });
        let left = mirror.words(&a);
        mirror.download(&a, 0..left)?;
        mirror.wipe(&mut a);
        assert_eq!(mirror.take(&mut a)?, vec![0; left]);
    }
    Ok(())
}

#[test]
fn emulated_words_are_the_same_wherever_they_are() {
    let first = seed();
    for (i, count) in [2, 2, 3, 5].into_iter().enumerate() {
        let seed = first.wrapping_add(i as u64);
        placements(count, seed).unwrap_or_else(|error| panic!("{error}; {count}, HE_TEST_SEED={seed}"));
    }
}

/// Once an input has been used, operations on ciphertexts move nothing between the devices but what
/// they exchange: with large degrees kernels store that, and no rows are copied.
#[test]
fn emulated_programs_move_nothing_but_what_they_exchange() {
    let drivers = [Faulty::new(emulator()), Faulty::new(emulator())];
    let open = |driver: &std::sync::Arc<Faulty>| Cuda::on(&Gpu::from_driver(driver.clone())).unwrap();
    let group = CudaGroup::on(drivers.iter().map(open).collect()).unwrap().split_from(0);
    let copies = || drivers.iter().map(|driver| driver.count("copy_rows")).sum::<u64>();
    for (shape, copied) in [(SINGLE.of(14, 1), false), (SINGLE.of(4, 1), true)] {
        let mut s = Session::new(&group, &shape, 7).unwrap();
        let x = s.input().unwrap().1;
        let run = || -> Result<()> {
            let product = s.ev.mul(&x, &x, &s.keys)?;
            let turned = s.ev.rotate(&product, 1, &s.keys)?;
            let sum = s.ev.add(&turned, &s.ev.conjugate(&product, &s.keys)?)?;
            s.ev.rotate_many(&sum, &[1, 2, 4], &s.keys)?;
            s.ev.inner_sum(&sum, 8, &s.keys)?;
            s.ev.sum_of_rotations(&sum, &[(0, 0.5), (1, -0.75), (2, 1.5)], &s.keys)?;
            s.ev.rescale(&s.ev.relinearize(&s.ev.tensor(&x, &x)?, &s.keys)?)?;
            Ok(())
        };
        run().unwrap();
        let before = copies();
        run().unwrap();
        assert_eq!(copies() > before, copied, "{} copies", copies() - before);
    }
}

// ---- Failures ----

#[test]
fn a_group_has_devices() {
    let error = CudaGroup::on(Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Argument { what: "devices", .. }), "{error}");
    let one = emulated(Arithmetic::Float);
    let group = CudaGroup::on(vec![one.clone(), one.another().unwrap()]).unwrap();
    assert_eq!((group.devices().len(), group.name()), (2, "cuda:0+0 (emulator)".to_owned()));
}

/// Each call of the second device fails in turn: the error is that device's, nothing leaks, and
/// when it is repaired, the same group gives the same words.
#[test]
fn emulated_faults_of_a_group() {
    let mut failed = std::collections::BTreeSet::new();
    for fault in [Fault::EccUncorrectable, Fault::OutOfMemoryOnce] {
        let faulty = Faulty::new(emulator());
        let second = Cuda::on(&Gpu::from_driver(faulty.clone())).unwrap().arithmetic(Arithmetic::Float);
        let group = CudaGroup::on(vec![emulated(Arithmetic::Float), second]).unwrap().split_from(0);
        let mut s = Session::new(&group, &SINGLE, 7).unwrap();
        let x = s.input().unwrap().1;
        let bytes = || -> Result<Vec<u8>> {
            let product = s.ev.mul(&x, &x, &s.keys)?;
            let ct = s.ev.rotate(&product, 1, &s.keys)?;
            Ok(ct.to_frame(&s.params)?.body.to_vec())
        };
        let expected = bytes().unwrap();
        for call in 1.. {
            faulty.fail(call, fault);
            let done = bytes();
            let Some(function) = faulty.mend() else { break };
            failed.insert(function);
            match done {
                Err(Error::Backend { source, .. }) => {
                    let error = source.downcast_ref::<gpu::Error>().expect("an error of the device");
                    assert!(error.hint().is_some(), "{function}: {error}");
                    if fault.is_final() {
                        assert_eq!(*error, fault.error(function, 0), "{call}");
                    }
                }
                Err(error) => panic!("{function}: {error}"),
                Ok(bytes) => assert!(bytes == expected, "{function} in call {call}: other words"),
            }
            assert!(bytes().is_ok_and(|bytes| bytes == expected), "after {function} in call {call}");
        }
        drop((s, x, group));
        assert_eq!(faulty.live(), Live::default());
    }
    assert!(["copy_rows", "wait_event", "record_event", "launch"].iter().all(|call| failed.contains(call)));
}
