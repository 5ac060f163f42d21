//! One device for several rings, threads and streams; a device that is full or absent.

use super::devices::{emulated, emulator, gpu_or_skip};
use super::program::{MIXED, NARROW, SINGLE, Session, Shape, run, run_or_panic, seed, values};
use gpu::Gpu;
use he_core::backend::{Backend, Cpu, RingOps};
use he_core::ckks::{Ciphertext, CkksParams, Encoder, Evaluator, scatter};
use he_core::ring::Ring;
use he_core::rlwe::EvaluationKeys;
use he_core::wire::Wire;
use he_core::{Error, Result};
use he_cuda::{Arithmetic, Cuda};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::thread;

/// Panics with the seed on an error.
fn checked(seed: u64, result: Result<()>) {
    result.unwrap_or_else(|error| panic!("{error}; HE_TEST_SEED={seed}"));
}

/// A body as one test on emulated kernels and one on a device, with the shapes of each.
macro_rules! on_both {
    ($body:ident: $emulated:ident($($small:expr),+), $device:ident($($large:expr),+)) => {
        #[test]
        fn $emulated() {
            let seed = seed();
            checked(seed, $body(&emulated(Arithmetic::Float), &[$($small),+], seed));
        }

        #[test]
        fn $device() {
            if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
                let seed = seed();
                checked(seed, $body(&cuda, &[$($large),+], seed));
            }
        }
    };
}

// ---- Vectors ----

/// Vectors in memory that this device, a second stream of it, another device or the CPU handed out
/// are encoded alike.
fn vectors_of(devices: &[&Cuda], shapes: &[Shape], seed: u64) -> Result<()> {
    for shape in shapes {
        let params = shape.params();
        let values = values(&mut ChaCha20Rng::seed_from_u64(seed), 1, params.slots()).remove(0);
        let (encoder, on_cpu) = (encoder(&params, devices[0])?, encoder(&params, &Cpu::new())?);
        let expected = encoder.encode(&values, params.encoding())?.poly().to_words()?;
        let vectors = devices.iter().map(|cuda| cuda.host_vector(values.len()));
        for (i, vector) in vectors.chain([Cpu::new().host_vector(values.len())]).enumerate() {
            let mut vector = vector?;
            vector.numbers_mut()?.copy_from_slice(&values);
            let found = encoder.encode_host_vector(&vector, params.encoding())?;
            assert!(found.poly().to_words()? == expected, "{shape:?}, vector {i}; HE_TEST_SEED={seed}");
            let found = on_cpu.encode_host_vector(&vector, params.encoding())?;
            assert!(found.poly().to_words()? == expected, "{shape:?}, CPU, vector {i}; HE_TEST_SEED={seed}");
        }
    }
    Ok(())
}

fn vectors_of_two_streams(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    vectors_of(&[cuda, &cuda.another()?], shapes, seed)
}

on_both!(vectors_of_two_streams:
    emulated_vectors_of_two_streams(NARROW.of(13, 1), MIXED.of(12, 1)),
    device_vectors_of_two_streams(NARROW.of(13, 1), MIXED.of(12, 1), NARROW.of(16, 1)));

#[test]
fn emulated_vectors_of_two_devices() {
    let [first, second] = [(); 2].map(|()| emulated(Arithmetic::Float));
    let seed = seed();
    checked(seed, vectors_of(&[&first, &second], &[NARROW.of(13, 1)], seed));
}

fn encoder<B: RingOps>(params: &CkksParams, backend: &B) -> Result<Encoder<B>> {
    Encoder::new(params, &Ring::new(backend.clone(), params.rlwe().ring().clone())?)
}

// ---- Rings ----

/// Products and rotations of several parameter sets in turn, all in flight on one stream.
fn rings_in_turn(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    fn bytes<B: RingOps>(backend: &B, shapes: &[Shape], seed: u64) -> Result<Vec<Vec<u8>>> {
        let mut sessions =
            shapes.iter().map(|shape| Session::new(backend, shape, seed)).collect::<Result<Vec<_>>>()?;
        let mut inputs = Vec::new();
        for session in &mut sessions {
            inputs.push(session.input()?.1);
        }
        let mut products = Vec::new();
        for (session, x) in sessions.iter().zip(&inputs) {
            products.push(session.ev.mul(x, x, &session.keys)?);
        }
        let mut results = Vec::new();
        for (session, product) in sessions.iter().zip(&products) {
            results.push(session.ev.rotate(product, session.composed_step(), &session.keys)?);
        }
        let frames = sessions.iter().zip(&results).map(|(s, ct)| ct.to_frame(&s.params));
        frames.map(|frame| Ok(frame?.body.to_vec())).collect()
    }
    let (expected, found) = (bytes(&Cpu::new(), shapes, seed)?, bytes(cuda, shapes, seed)?);
    assert!(found == expected, "{shapes:?}, HE_TEST_SEED={seed}");
    Ok(())
}

on_both! {
    rings_in_turn:
    emulated_rings_in_turn(SINGLE.of(4, 3), NARROW.of(4, 1), SINGLE.of(11, 1)),
    device_rings_in_turn(SINGLE.of(4, 130), MIXED.of(12, 3), NARROW.of(14, 1), SINGLE.of(13, 16))
}

/// Objects move between rings: to another stream of the device, and to the CPU.
fn objects_move(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    for shape in shapes {
        let mut home = Session::new(cuda, shape, seed)?;
        let x = home.input()?.1;
        let there = Ring::new(cuda.another()?, home.ring.spec().clone())?;
        let host = Ring::new(Cpu::new(), home.ring.spec().clone())?;
        assert!(matches!(Evaluator::new(&home.params, &there)?.add(&x, &x), Err(Error::RingMismatch)));
        let step = home.composed_step();
        fn work<B: RingOps>(
            home: &Session<Cuda>,
            ring: &Ring<B>,
            x: &Ciphertext<B>,
            keys: &EvaluationKeys<B>,
            step: i64,
        ) -> Result<Ciphertext<B>> {
            let ev = Evaluator::new(&home.params, ring)?;
            ev.rotate(&ev.mul(x, x, keys)?, step, keys)
        }
        let expected = work(&home, &host, &x.to(&host)?, &home.keys.to(&host)?, step)?;
        let here = work(&home, &home.ring, &x, &home.keys, step)?;
        let away = work(&home, &there, &x.to(&there)?, &home.keys.to(&there)?, step)?;
        // From the host, where the keys were, to the second stream and back.
        let keys = home.keys.to(&host)?.to(&there)?;
        let around = work(&home, &there, &x.to(&host)?.to(&there)?, &keys, step)?.to(&home.ring)?;
        let expected = expected.to_frame(&home.params)?;
        for (what, ct) in [("here", &here), ("away", &away), ("around", &around)] {
            let found = ct.to_frame(&home.params)?;
            assert!(found.body == expected.body, "{what}; {shape:?}, HE_TEST_SEED={seed}");
        }
        // Results of one stream are combined with those of another.
        let sum = home.ev.sub(&here, &away.to(&home.ring)?)?;
        let zero = sum.pair().parts()[0].to_words()?;
        assert!(zero.iter().all(|&word| word == 0), "{shape:?}, HE_TEST_SEED={seed}");
    }
    Ok(())
}

on_both! {
    objects_move:
    emulated_objects_move(SINGLE.of(4, 3), NARROW.of(5, 1)),
    device_objects_move(SINGLE.of(4, 130), MIXED.of(13, 3))
}

// ---- Threads ----

const THREADS: u64 = 4;

/// Whole programs run in four threads, each with the back end that it is given.
fn programs_of_threads(shape: &Shape, seed: u64, backend: impl Fn(u64) -> Result<Cuda> + Sync) {
    let expected: Vec<_> =
        (0..THREADS).map(|i| run_or_panic(&Cpu::new(), shape, seed.wrapping_add(i), true)).collect();
    thread::scope(|scope| {
        for (i, expected) in (0..THREADS).zip(&expected) {
            let backend = &backend;
            scope.spawn(move || {
                let seed = seed.wrapping_add(i);
                let cuda = backend(i).expect("there is another stream");
                let found = run_or_panic(&cuda, shape, seed, true);
                found.assert_same(expected, &format!("thread {i}, {shape:?}, HE_TEST_SEED={seed}"));
            });
        }
    });
}

fn threads_share_a_stream(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    shapes.iter().for_each(|shape| programs_of_threads(shape, seed, |_| Ok(cuda.clone())));
    Ok(())
}

on_both! {
    threads_share_a_stream:
    emulated_threads_share_a_stream(SINGLE.of(4, 3), SINGLE.of(11, 1)),
    device_threads_share_a_stream(SINGLE.of(4, 130), SINGLE.of(12, 3), MIXED.of(13, 1))
}

fn threads_have_streams(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    shapes.iter().for_each(|shape| programs_of_threads(shape, seed, |_| cuda.another()));
    Ok(())
}

on_both! {
    threads_have_streams:
    emulated_threads_have_streams(SINGLE.of(4, 3), SINGLE.of(11, 1)),
    device_threads_have_streams(SINGLE.of(4, 130), SINGLE.of(12, 3), MIXED.of(13, 1))
}

/// Four threads with one evaluator, one set of keys and one ciphertext.
fn threads_share_objects(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    fn work<B: RingOps>(s: &Session<B>, x: &Ciphertext<B>, thread: u64) -> Result<Vec<Vec<u8>>> {
        let mut power = s.ev.mul_integer(x, thread as i64 + 1)?;
        let mut bytes = Vec::new();
        for step in 0..6 {
            power = s.ev.add(&power, &s.ev.rotate(x, step, &s.keys)?)?;
            let square = s.ev.square(&power, &s.keys)?;
            bytes.push(square.to_frame(&s.params)?.body.to_vec());
        }
        Ok(bytes)
    }
    for shape in shapes {
        let (mut host, mut device) =
            (Session::new(&Cpu::new(), shape, seed)?, Session::new(cuda, shape, seed)?);
        let (expected, x) = (host.input()?.1, device.input()?.1);
        let expected = (0..THREADS).map(|i| work(&host, &expected, i)).collect::<Result<Vec<_>>>()?;
        thread::scope(|scope| {
            for (i, expected) in (0..THREADS).zip(&expected) {
                let (device, x) = (&device, &x);
                scope.spawn(move || {
                    let case = format!("thread {i}, {shape:?}, HE_TEST_SEED={seed}");
                    let found = work(device, x, i).unwrap_or_else(|error| panic!("{error}; {case}"));
                    assert!(&found == expected, "{case}");
                });
            }
        });
    }
    Ok(())
}

on_both! {
    threads_share_objects:
    emulated_threads_share_objects(SINGLE.of(4, 3), SINGLE.of(11, 1)),
    device_threads_share_objects(SINGLE.of(4, 130), NARROW.of(11, 3), SINGLE.of(14, 3))
}

// ---- Several devices ----

/// A batch distributed over back ends, compared with the same batch on the CPU.
fn batch_is_scattered(cudas: &[Cuda], shapes: &[Shape], seed: u64) -> Result<()> {
    fn work<B: RingOps>(
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
        x: &Ciphertext<B>,
    ) -> Result<Ciphertext<B>> {
        ev.mul(x, &ev.rotate(x, 1, keys)?, keys)
    }
    for shape in shapes {
        let mut host = Session::new(&Cpu::new(), shape, seed)?;
        let x = host.input()?.1;
        let expected = work(&host.ev, &host.keys, &x)?.to_frame(&host.params)?;
        let rings = cudas.iter().map(|cuda| Ring::new(cuda.clone(), host.ring.spec().clone()));
        let rings = rings.collect::<Result<Vec<_>>>()?;
        let evs = rings.iter().map(|ring| Evaluator::new(&host.params, ring)).collect::<Result<Vec<_>>>()?;
        let keys = rings.iter().map(|ring| host.keys.to(ring)).collect::<Result<Vec<_>>>()?;
        for home in &rings {
            let found = scatter(&rings, &x.to(home)?, |i, part| work(&evs[i], &keys[i], &part))?;
            assert!(found.pair().ring().same(home));
            let found = found.to_frame(&host.params)?;
            assert!(found.body == expected.body, "{} back ends, {shape:?}, HE_TEST_SEED={seed}", cudas.len());
        }
    }
    Ok(())
}

#[test]
fn emulated_batch_is_scattered() {
    let seed = seed();
    // Two devices, each with memory of its own, and a second stream of the first.
    let devices = [emulated(Arithmetic::Float), emulated(Arithmetic::Integer)];
    let streams = [devices[0].clone(), devices[1].clone(), devices[0].another().expect("there are streams")];
    checked(seed, batch_is_scattered(&streams, &[SINGLE.of(4, 7), SINGLE.of(5, 2), NARROW.of(4, 3)], seed));
}

#[test]
fn device_batch_is_scattered() {
    if gpu_or_skip(Arithmetic::Auto).is_none() {
        return;
    }
    let seed = seed();
    let devices = (0..Gpu::count().expect("there is a driver")).map(Cuda::open);
    let devices = devices.collect::<Result<Vec<_>>>().expect("every device opens");
    eprintln!("a batch on {} device(s), two streams each", devices.len());
    let second = devices.iter().map(|device| device.another().expect("there is another stream"));
    let streams: Vec<Cuda> = devices.iter().cloned().chain(second).collect();
    let shapes = [SINGLE.of(4, 130), MIXED.of(12, 3), NARROW.of(13, 7), SINGLE.of(14, 16)];
    checked(seed, batch_is_scattered(&streams, &shapes, seed));
}

// ---- Devices that are full or absent ----

/// The bytes that a device did not have.
fn missing_bytes(error: &Error) -> usize {
    let Error::Backend { source, .. } = error else { panic!("{error}") };
    match source.downcast_ref::<gpu::Error>() {
        Some(gpu::Error::OutOfMemory { bytes }) => *bytes,
        _ => panic!("{error}"),
    }
}

/// More memory than the device has is refused; less is not, before and afterwards.
fn more_than_there_is(cuda: &Cuda, shapes: &[Shape], seed: u64) -> Result<()> {
    let words = cuda.gpu().info().memory / 8 + 1;
    for shape in shapes {
        let expected = run(&Cpu::new(), shape, seed, true)?;
        for result in [cuda.zeros(words), cuda.scratch(words)] {
            let error = result.expect_err("the device has less");
            assert!(missing_bytes(&error) >= 8 * words, "{error}");
        }
        run(cuda, shape, seed, true)?.assert_same(&expected, "after a refused allocation");
    }
    Ok(())
}

#[test]
fn emulated_memory_runs_out() {
    let seed = seed();
    let gpu = Gpu::from_driver(emulator().with_memory(16 << 20));
    let cuda = Cuda::on(&gpu).expect("the emulator opens").arithmetic(Arithmetic::Float);
    checked(seed, more_than_there_is(&cuda, &[SINGLE.of(4, 1)], seed));
    // The keys of this degree alone need more; everything made until then is freed.
    for _ in 0..2 {
        let error = run(&cuda, &MIXED.of(12, 1), seed, false).expect_err("16 MiB do not suffice");
        let bytes = missing_bytes(&error);
        assert!((1 << 15..16 << 20).contains(&bytes), "{error}");
        checked(seed, more_than_there_is(&cuda, &[SINGLE.of(4, 3)], seed));
    }
}

#[test]
fn device_memory_runs_out() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        let seed = seed();
        checked(seed, more_than_there_is(&cuda, &[SINGLE.of(4, 3), SINGLE.of(12, 1)], seed));
    }
}

/// With too little memory, in many sizes, a program fails for that reason and no other.
#[test]
fn emulated_memory_runs_out_anywhere() {
    let (seed, shape) = (seed(), SINGLE.of(9, 1));
    let (mut failed, mut step) = (0, 256 << 10);
    let mut memory = step;
    loop {
        let gpu = Gpu::from_driver(emulator().with_memory(memory));
        let result =
            Cuda::on(&gpu).and_then(|cuda| run(&cuda.arithmetic(Arithmetic::Float), &shape, seed, false));
        match result {
            Ok(_) => break,
            Err(error) => assert!(missing_bytes(&error) > 0, "{error}; {memory} bytes, HE_TEST_SEED={seed}"),
        }
        (failed, step) = (failed + 1, step + (32 << 10));
        memory += step;
        assert!(memory < 1 << 30, "the program never ends");
    }
    assert!(failed >= 3, "the program needs less than {memory} bytes");
}

#[test]
fn a_device_that_is_absent_is_named() {
    let error = Cuda::open(99).expect_err("nobody has so many devices");
    let Error::Backend { op: "open", source } = &error else { panic!("{error}") };
    match source.downcast_ref::<gpu::Error>() {
        Some(gpu::Error::NoDriver) => {}
        Some(gpu::Error::NoDevice { ordinal: 99, found }) => assert!(*found <= 99, "{error}"),
        _ => panic!("{error}"),
    }
}
