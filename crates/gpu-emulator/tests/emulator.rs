//! The emulator runs correct kernels correctly and finds the errors of wrong ones.
#![allow(unsafe_code)] // The driver's functions; every use has its SAFETY line.
#![allow(clippy::unwrap_used)]

use gpu::{Driver, Error, Handle, Launch};
use gpu_emulator::{Emulator, Order};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn out() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("selftest")
}

/// Each test has its own device.
fn device() -> Arc<Emulator> {
    static DEVICE: OnceLock<Arc<Emulator>> = OnceLock::new();
    let build = || Emulator::build_from(&kernels(), &kernels().join("host/selftest"), &out()).unwrap();
    let device = DEVICE.get_or_init(build).with_memory(1 << 28);
    device.set_order(Order::Forward);
    device
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Copy3 {
    from: u64,
    to: u64,
    count: u64,
}

#[repr(C)]
struct Floats {
    x: u64,
    y: u64,
    z: u64,
    to: u64,
    count: u64,
}

fn upload<T: Copy>(device: &Emulator, values: &[T]) -> u64 {
    let bytes = size_of_val(values);
    let address = device.alloc(bytes).unwrap();
    // SAFETY: the allocation has the size of the values.
    unsafe { device.write(0, address, values.as_ptr().cast(), bytes) }.unwrap();
    address
}

fn download(device: &Emulator, address: u64, count: usize) -> Result<Vec<u64>, Error> {
    let mut values = vec![0u64; count];
    // SAFETY: the vector has this many bytes; the device checks its range.
    unsafe { device.read(0, address, values.as_mut_ptr().cast(), count * 8) }?;
    Ok(values)
}

fn function(device: &Emulator, name: &str, shared: u32) -> Result<Handle, Error> {
    let module = device.load("selftest", "")?;
    // SAFETY: the module is this device's.
    unsafe { device.function(module, name, shared) }
}

fn launch<T>(
    device: &Emulator,
    name: &str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    mut argument: T,
) -> Result<(), Error> {
    let function = function(device, name, shared).unwrap();
    let launch = Launch { function, grid, block, shared, waits: false, branch: None };
    // SAFETY: the argument has the kernel's type, and its addresses are the device's.
    unsafe { device.launch(0, &launch, (&raw mut argument).cast()) }
}

const ORDERS: [Order; 4] = [Order::Forward, Order::Reverse, Order::Shuffled(1), Order::Shuffled(2)];

/// The result of a kernel for the numbers 0, 3, 6, ... in each order.
fn results(name: &str, grid: u32, block: u32, count: usize) -> Vec<Vec<u64>> {
    let device = device();
    let from: Vec<u64> = (0..u64::from(grid * block)).map(|i| 3 * i).collect();
    ORDERS
        .map(|order| {
            device.set_order(order);
            let argument = Copy3 {
                from: upload(&device, &from),
                to: upload(&device, &vec![0u64; count]),
                count: count as u64,
            };
            launch(&device, name, [grid, 1, 1], [block, 1, 1], 16 * block, argument).unwrap();
            download(&device, argument.to, count).unwrap()
        })
        .to_vec()
}

#[test]
fn shared_memory_and_barriers() {
    for (grid, block) in [(1, 1), (7, 33), (5, 256), (3, 1024)] {
        let n = u64::from(block);
        let want: Vec<u64> = (0..u64::from(grid) * n).map(|i| 3 * (i / n * n + n - 1 - i % n)).collect();
        for got in results("reverse_shared", grid, block, want.len()) {
            assert_eq!(got, want);
        }
    }
}

#[test]
fn blocks_of_a_cluster_write_to_each_other() {
    for (grid, block) in [(3, 1), (6, 33), (9, 256)] {
        let from = |i: u64| (i / block / 3 * 3 + (i / block + 2) % 3) * block + i % block;
        let want: Vec<u64> = (0..grid * block).map(|i| 3 * from(i)).collect();
        for got in results("pass_on", grid as u32, block as u32, want.len()) {
            assert_eq!(got, want);
        }
    }
}

#[test]
fn orders_show_a_missing_barrier() {
    let got = results("reverse_racy", 4, 128, 512);
    assert!(got[1..].iter().any(|result| *result != got[0]));
}

#[test]
fn orders_show_a_dependence_between_blocks() {
    let got = results("last_block", 16, 32, 1);
    assert_eq!((got[0][0], got[1][0]), (15, 0));
}

#[test]
fn prefix_sum_with_threads_that_leave_early() {
    let count = 3 * 256 - 100;
    for got in results("prefix_sum", 3, 256, count) {
        for (i, sum) in got.iter().enumerate() {
            let first = i / 256 * 256;
            assert_eq!(*sum, (first..=i).map(|i| 3 * i as u64).sum::<u64>(), "element {i}");
        }
    }
}

#[test]
fn warp_barriers() {
    for got in results("warp_sum", 2, 512, 32) {
        for (warp, sum) in got.iter().enumerate() {
            assert_eq!(*sum, (0..32).map(|lane| 3 * (32 * warp + lane) as u64).sum::<u64>());
        }
    }
}

#[test]
fn grids_of_three_dimensions() {
    let (device, count) = (device(), 4 * 3 * 5 * 60);
    for order in ORDERS {
        device.set_order(order);
        let argument = Copy3 { from: 0, to: device.alloc(8 * count).unwrap(), count: 0 };
        launch(&device, "number_threads", [4, 3, 5], [5, 3, 4], 0, argument).unwrap();
        assert_eq!(download(&device, argument.to, count).unwrap(), (0..count as u64).collect::<Vec<_>>());
    }
}

#[test]
fn atomics() {
    for got in results("reduce_atomic", 8, 1024, 3) {
        assert_eq!(got, [3 * 8191, 3 * 8191 * 8192 / 2, (0..8192).fold(0, |or, i| or | (3 * i))]);
    }
}

#[test]
fn writes_next_to_an_allocation_are_reported_once() {
    let device = device();
    let argument = Copy3 { from: 0, to: device.alloc(64 * 8).unwrap(), count: 0 };
    launch(&device, "write_behind", [1, 1, 1], [64, 1, 1], 0, argument).unwrap();
    let error = download(&device, argument.to, 64).unwrap_err().to_string();
    assert!(error.contains("behind the 512 bytes") && error.contains("write_behind"), "{error}");
    assert_eq!(download(&device, argument.to, 64).unwrap()[63], 62);

    let before = Copy3 { to: argument.to - 64, ..argument };
    launch(&device, "write_behind", [1, 1, 1], [2, 1, 1], 0, before).unwrap();
    // SAFETY: stream 0 always exists.
    let error = unsafe { device.synchronize(0) }.unwrap_err().to_string();
    assert!(error.contains("56 bytes in front of"), "{error}");

    launch(&device, "write_behind_shared", [1, 1, 1], [64, 1, 1], 512, argument).unwrap();
    // SAFETY: stream 0 always exists.
    let error = unsafe { device.synchronize(0) }.unwrap_err().to_string();
    assert!(error.contains("behind its shared memory"), "{error}");
    // SAFETY: the allocation is not used any more.
    unsafe { device.free(argument.to) };
    assert!(device.take_errors().is_empty());
}

#[test]
fn unwritten_memory_shows() {
    let device = device();
    let argument = Copy3 { from: 0, to: device.alloc(64 * 8).unwrap(), count: 0 };
    assert_eq!(download(&device, argument.to, 64).unwrap(), [0xA5A5_A5A5_A5A5_A5A5; 64]);
    // SAFETY: the range is the allocation's.
    unsafe { device.fill_zero(0, argument.to, 64 * 8) }.unwrap();
    launch(&device, "read_unwritten", [1, 1, 1], [64, 1, 1], 512, argument).unwrap();
    assert_eq!(download(&device, argument.to, 64).unwrap(), [0xA5A5_A5A5_A5A5_A5A5; 64]);
}

#[test]
fn different_barriers_are_reported_and_the_device_goes_on() {
    let device = device();
    let argument = Copy3 { from: 0, to: device.alloc(64 * 8).unwrap(), count: 0 };
    launch(&device, "two_barriers", [1, 1, 1], [64, 1, 1], 0, argument).unwrap();
    let error = download(&device, argument.to, 64).unwrap_err().to_string();
    assert!(error.contains("different __syncthreads()") && error.contains("two_barriers"), "{error}");
    shared_memory_and_barriers();
}

#[test]
fn float64_is_exact() {
    let device = device();
    let values = |seed: u64| -> Vec<f64> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 12) as f64
        };
        (0..1000).map(next).collect()
    };
    let (x, y, z) = (values(1), values(2), values(3));
    let to = device.alloc(4 * 8 * 1000).unwrap();
    let argument =
        Floats { x: upload(&device, &x), y: upload(&device, &y), z: upload(&device, &z), to, count: 1000 };
    launch(&device, "float64", [4, 1, 1], [256, 1, 1], 0, argument).unwrap();
    let got: Vec<f64> = download(&device, to, 4000).unwrap().into_iter().map(f64::from_bits).collect();
    for i in 0..1000 {
        let product = x[i] * y[i];
        let want = [x[i].mul_add(y[i], z[i]), product + z[i], x[i].mul_add(y[i], -product), x[i] + z[i]];
        assert_eq!(got[4 * i..4 * i + 4], want, "element {i}");
    }
}

#[test]
fn built_in_functions() {
    let device = device();
    let (x, y) = (0x0123_4567_89AB_CDEFu64, 2.5f64.to_bits());
    let argument = Copy3 { from: upload(&device, &[x, y]), to: device.alloc(12 * 8).unwrap(), count: 0 };
    launch(&device, "built_ins", [1, 1, 1], [1, 1, 1], 0, argument).unwrap();
    let high = ((u128::from(x) * u128::from(y)) >> 64) as u64;
    let want = [
        high,
        x.reverse_bits(),
        u64::from((x as u32).reverse_bits()),
        u64::from(x.count_ones()) << 32 | u64::from((x as u32).count_ones()),
        u64::from((x.rotate_left(7) >> 32) as u32),
        (x as f64).to_bits(),
        2,
        high,
        x,
        y,
        x.min(y),
        x.max(y),
    ];
    assert_eq!(download(&device, argument.to, 12).unwrap(), want);
}

#[test]
fn limits_of_a_device() {
    let device = device();
    let argument = Copy3 { from: 0, to: device.alloc(8).unwrap(), count: 0 };
    let refused = |grid, block, shared| launch(&device, "nothing", grid, block, shared, argument).is_err();
    assert!(!refused([1, 1, 1], [1024, 1, 1], 0));
    assert!(refused([1, 1, 1], [1025, 1, 1], 0));
    assert!(refused([1, 1, 1], [1, 1, 65], 0));
    assert!(refused([1, 1, 1], [0, 1, 1], 0));
    assert!(refused([0, 1, 1], [1, 1, 1], 0));
    assert!(refused([1, 65536, 1], [1, 1, 1], 0));
    assert!(launch(&device, "prefix_sum", [1, 1, 1], [257, 1, 1], 0, argument).is_err());
    assert!(matches!(
        function(&device, "nothing", device.info().shared_memory + 1),
        Err(Error::Driver { .. })
    ));
    assert!(matches!(function(&device, "missing", 0), Err(Error::Module { .. })));
    let function = function(&device, "nothing", 1024).unwrap();
    let nothing =
        Launch { function, grid: [1; 3], block: [1; 3], shared: 60 << 10, waits: false, branch: None };
    // SAFETY: the kernel does not use its argument.
    let result = unsafe { device.launch(0, &nothing, (&raw const argument).cast_mut().cast()) };
    assert!(matches!(result, Err(Error::Driver { .. })), "{result:?}");

    let volta = device.with_compute_capability((7, 0));
    assert_eq!((volta.info().compute_capability, volta.info().shared_memory), ((7, 0), 96 << 10));
    assert!(volta.info().full_rate_fp64() && !device.with_compute_capability((8, 9)).info().full_rate_fp64());
}

#[test]
fn memory_is_counted_and_checked() {
    let device = device().with_memory(1 << 20);
    let address = device.alloc(1 << 19).unwrap();
    assert_eq!(address % 256, 0);
    assert_eq!(device.alloc((1 << 19) + 1), Err(Error::OutOfMemory { bytes: (1 << 19) + 1 }));
    assert_eq!(device.alloc(usize::MAX), Err(Error::OutOfMemory { bytes: usize::MAX }));
    assert_eq!(device.memory().unwrap(), (1 << 19, 1 << 20));
    assert!(download(&device, address + (1 << 19) - 8, 2).is_err());
    // SAFETY: nothing uses the allocation; the emulator refuses the others.
    unsafe {
        device.free(address);
        device.free(address);
        device.free(12345);
    }
    assert_eq!(device.memory().unwrap(), (1 << 20, 1 << 20));
    assert_eq!(device.take_errors().len(), 2);
}

#[test]
fn streams_side_by_side() {
    let device = device();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let device = &device;
            scope.spawn(move || {
                let stream = device.create_stream().unwrap();
                let function = function(device, "reverse_shared", 8 * 64).unwrap();
                let reverse = Launch {
                    function,
                    grid: [10, 1, 1],
                    block: [64, 1, 1],
                    shared: 512,
                    waits: false,
                    branch: None,
                };
                let from: Vec<u64> = (0..640).map(|i| i + thread).collect();
                for _ in 0..20 {
                    let mut argument =
                        Copy3 { from: upload(device, &from), to: device.alloc(640 * 8).unwrap(), count: 0 };
                    let back = Copy3 { from: argument.to, to: argument.from, count: 0 };
                    // SAFETY: the arguments are right, and the stream is this thread's.
                    unsafe {
                        device.launch(stream, &reverse, (&raw mut argument).cast()).unwrap();
                        argument = back;
                        device.launch(stream, &reverse, (&raw mut argument).cast()).unwrap();
                        device.synchronize(stream).unwrap();
                    }
                    assert_eq!(download(device, back.to, 640).unwrap(), from);
                    // SAFETY: all work on both is done.
                    unsafe {
                        device.free(back.to);
                        device.free(back.from);
                    }
                }
                // SAFETY: the stream is this thread's.
                unsafe { device.destroy_stream(stream) };
                // SAFETY: the emulator refuses a stream that ended.
                assert!(unsafe { device.synchronize(stream) }.is_err());
            });
        }
    });
    assert!(device.take_errors().is_empty());
}

#[test]
fn a_kernel_that_does_not_compile() {
    let folder = out().join("broken");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("broken.cu"), "#include \"launch.cuh\"\nthis is not a kernel\n").unwrap();
    let error = Emulator::build_from(&kernels(), &folder, &folder).unwrap_err();
    assert!(matches!(&error, Error::Module { reason, .. } if reason.contains("broken.cu:2")), "{error}");
}

#[test]
#[ignore = "prints times"]
fn times() {
    let device = device();
    let argument = |count| Copy3 { from: 0, to: 0, count };
    for threads in [32, 64, 256, 1024] {
        let time = |name, grid, count| {
            launch(&device, name, [1; 3], [threads, 1, 1], 0, argument(1)).unwrap();
            let start = Instant::now();
            launch(&device, name, [grid, 1, 1], [threads, 1, 1], 0, argument(count)).unwrap();
            start.elapsed().as_nanos() as f64
        };
        let barrier = time("many_barriers", 1, 20_000) / 20_000.0;
        let one = time("many_barriers", 2_000, 1) / 2_000.0;
        let block = time("nothing", 20_000, 0) / 20_000.0;
        println!(
            "{threads} threads: {:.1} ns a thread and barrier, {:.0} ns a block with one, {block:.0} ns a block without ({:.1} a thread)",
            barrier / f64::from(threads),
            one,
            block / f64::from(threads)
        );
    }
    let start = Instant::now();
    for _ in 0..10_000 {
        launch(&device, "nothing", [1; 3], [1; 3], 0, argument(0)).unwrap();
    }
    println!("{:.1} us a launch", start.elapsed().as_micros() as f64 / 1e4);
}
