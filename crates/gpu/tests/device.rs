//! Tests on a device. Without one they are skipped, unless the environment has HE_REQUIRE_GPU=1.
#![allow(unsafe_code, missing_docs)]

use gpu::{Error, Gpu, Kernel, Stream};

/// Adds `add` to `words` words.
const PTX: &str = r"
.version 8.0
.target sm_70
.address_size 64

.visible .entry add(.param .align 8 .b8 args[24])
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %d<8>;

    ld.param.u64 %d1, [args];
    ld.param.u64 %d2, [args+8];
    ld.param.u64 %d3, [args+16];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %d4, %r4;
    setp.ge.u64 %p, %d4, %d2;
    @%p bra DONE;
    cvta.to.global.u64 %d5, %d1;
    shl.b64 %d6, %d4, 3;
    add.u64 %d5, %d5, %d6;
    ld.global.u64 %d7, [%d5];
    add.u64 %d7, %d7, %d3;
    st.global.u64 [%d5], %d7;
DONE:
    ret;
}
";

#[derive(Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct Args {
    address: u64,
    words: u64,
    add: u64,
}

fn gpu_or_skip() -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let required = std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "HE_REQUIRE_GPU=1: {error}");
            println!("skipped: no CUDA device");
            None
        }
    }
}

fn add(stream: &Stream, kernel: &Kernel, buffer: &mut gpu::Buffer, add: u64) -> gpu::Result<()> {
    let args = Args { address: buffer.address(), words: buffer.words() as u64, add };
    let blocks = buffer.words().div_ceil(128) as u32;
    // SAFETY: the kernel has this one parameter and stays within the buffer, which is the stream's.
    unsafe { stream.launch(kernel, [blocks, 1, 1], [128, 1, 1], 0, &args) }
}

fn kernel(gpu: &Gpu) -> Kernel {
    gpu.load("add", PTX).and_then(|module| module.kernel("add", 0)).expect("the kernel loads")
}

fn words(stream: &Stream, buffer: &gpu::Buffer) -> Vec<u64> {
    let mut words = vec![u64::MAX; buffer.words()];
    stream.read(buffer, 0, &mut words).expect("the device works");
    words
}

#[test]
fn information_is_plausible() {
    let Some(gpu) = gpu_or_skip() else { return };
    let info = gpu.info();
    println!("{info:?}");
    assert!(!info.name.is_empty() && info.multiprocessors > 0 && info.shared_memory >= 48 << 10);
    assert!(info.compute_capability >= (5, 0) && info.driver >= (12, 0));
    let (free, all) = gpu.memory().unwrap();
    assert!(free <= all && all > 1 << 28);
    let found = Gpu::count().unwrap();
    assert_eq!(Gpu::open(found).err(), Some(Error::NoDevice { ordinal: found, found }));
}

#[test]
fn kernels_run() {
    let Some(gpu) = gpu_or_skip() else { return };
    let (stream, kernel) = (gpu.stream().unwrap(), kernel(&gpu));
    let start: Vec<u64> = (0..1000).collect();
    let mut buffer = stream.upload(&start).unwrap();
    add(&stream, &kernel, &mut buffer, 1 << 40).unwrap();
    let expected: Vec<u64> = start.iter().map(|word| word + (1 << 40)).collect();
    assert_eq!(words(&stream, &buffer), expected);
    // SAFETY: an empty grid runs nothing.
    let empty =
        unsafe { stream.launch(&kernel, [0, 1, 1], [1; 3], 0, &Args { address: 0, words: 0, add: 0 }) };
    let Err(Error::Driver { call, reason }) = empty else { panic!("{empty:?}") };
    assert!(call == "cuLaunchKernel" && reason.contains("CUDA_ERROR_INVALID_VALUE"), "{reason}");
    assert_eq!(words(&stream, &buffer), expected);
}

#[test]
fn modules_that_do_not_load_say_why() {
    let Some(gpu) = gpu_or_skip() else { return };
    let load = |ptx: &str| gpu.load("name", ptx).err().unwrap();
    let wrong = load(&PTX.replace("ret;", "nonsense;"));
    let Error::Module { module, reason } = &wrong else { panic!("{wrong:?}") };
    assert!(
        module == "name" && reason.contains("CUDA_ERROR_INVALID_PTX") && reason.contains("ptxas"),
        "{reason}"
    );
    assert!(matches!(load(&PTX.replace(".version 8.0", ".version 99.0")), Error::UnsupportedPtx { .. }));
    assert!(matches!(load(&PTX.replace("sm_70", "sm_999")), Error::UnsupportedDevice { .. }));
    assert!(matches!(load(""), Error::Module { .. }));
    let module = gpu.load("add", PTX).unwrap();
    assert!(matches!(module.kernel("none", 0), Err(Error::Module { .. })));
    assert!(module.kernel("add", gpu.info().shared_memory).is_ok());
    assert!(matches!(module.kernel("add", u32::MAX), Err(Error::Driver { .. })));
}

#[test]
fn copies_and_zeros() {
    let Some(gpu) = gpu_or_skip() else { return };
    let stream = gpu.stream().unwrap();
    let mut a = stream.upload(&[1, 2, 3, 4, 5]).unwrap();
    let mut b = stream.zeros(5).unwrap();
    stream.copy(&a, 1, &mut b, 2, 3).unwrap();
    stream.fill_zero(&mut a, 1, 2).unwrap();
    stream.write(&[7], &mut a, 4).unwrap();
    assert_eq!(words(&stream, &a), [1, 0, 0, 4, 7]);
    assert_eq!(words(&stream, &b), [0, 0, 2, 3, 4]);
    let other = gpu.stream().unwrap();
    let mut c = other.alloc(5).unwrap();
    other.copy(&a, 0, &mut c, 0, 5).unwrap();
    drop(a);
    assert_eq!(words(&stream, &c), [1, 0, 0, 4, 7]);
    assert!(stream.fill_zero(&mut b, 3, 3).is_err());
}

#[test]
fn pageable_and_pinned_sources_may_change_at_once() {
    let Some(gpu) = gpu_or_skip() else { return };
    let stream = gpu.stream().unwrap();
    let words_of = 1 << 20;
    let mut pinned = gpu.pinned(words_of).unwrap();
    let mut host = vec![0; words_of];
    let mut buffer = stream.alloc(words_of).unwrap();
    for round in 1..10 {
        host.fill(round);
        stream.write(&host, &mut buffer, 0).unwrap();
        host.fill(0);
        assert!(words(&stream, &buffer).iter().all(|word| *word == round));
        pinned.as_mut_slice().unwrap().fill(100 * round);
        stream.write(pinned.as_slice().unwrap(), &mut buffer, 0).unwrap();
        pinned.as_mut_slice().unwrap().fill(0);
        assert!(words(&stream, &buffer).iter().all(|word| *word == 100 * round));
        pinned.as_mut_slice().unwrap().fill(1000 * round);
        stream.write_pinned(&pinned, 0, &mut buffer, 0, words_of).unwrap();
        pinned.as_mut_slice().unwrap().fill(0);
        stream.read_pinned(&buffer, 0, &mut pinned, 0, words_of).unwrap();
        assert!(pinned.as_slice().unwrap().iter().all(|word| *word == 1000 * round));
    }
}

#[test]
fn events_take_time() {
    let Some(gpu) = gpu_or_skip() else { return };
    let (a, b) = (gpu.stream().unwrap(), gpu.stream().unwrap());
    let kernel = kernel(&gpu);
    let mut buffer = a.zeros(1 << 20).unwrap();
    let first = a.record().unwrap();
    for _ in 0..100 {
        add(&a, &kernel, &mut buffer, 1).unwrap();
    }
    let second = a.record().unwrap();
    b.wait(&second).unwrap();
    let third = b.record().unwrap();
    third.synchronize().unwrap();
    let time = first.elapsed_ms(&second).unwrap();
    assert!(time > 0.0 && time < 10_000.0, "{time} ms");
    assert!(words(&a, &buffer).iter().all(|word| *word == 100));
}

#[test]
fn graphs_repeat_the_work() {
    let Some(gpu) = gpu_or_skip() else { return };
    let (stream, kernel) = (gpu.stream().unwrap(), kernel(&gpu));
    let mut buffer = stream.upload(&[1; 1000]).unwrap();
    let mut sum = stream.zeros(1000).unwrap();
    let graph = stream
        .capture(|| {
            let mut temporary = stream.zeros(1000)?;
            stream.copy(&buffer, 0, &mut temporary, 0, 1000)?;
            add(&stream, &kernel, &mut temporary, 5)?;
            stream.copy(&temporary, 0, &mut buffer, 0, 1000)?;
            assert!(stream.synchronize().is_err() && stream.record().is_err());
            add(&stream, &kernel, &mut sum, 1)
        })
        .unwrap();
    assert_eq!(words(&stream, &buffer), [1; 1000]);
    let other = gpu.stream().unwrap();
    for round in 1..=20 {
        // Nothing else uses the memory of the graph.
        let witness = stream.upload(&[77; 1000]).unwrap();
        graph.launch(if round % 2 == 0 { &stream } else { &other }).unwrap();
        assert_eq!(words(&stream, &buffer), vec![1 + 5 * round; 1000]);
        assert_eq!(words(&stream, &sum), vec![round; 1000]);
        assert_eq!(words(&stream, &witness), [77; 1000]);
    }
    drop((buffer, sum));
    graph.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert!(stream.capture(|| Err(Error::NoDriver)).is_err());
    assert_eq!(words(&stream, &stream.zeros(3).unwrap()), [0; 3]);
}

#[test]
fn memory_is_used_again() {
    let Some(gpu) = gpu_or_skip() else { return };
    let stream = gpu.stream().unwrap();
    let address = stream.alloc(1 << 20).unwrap().address();
    assert!(address != 0 && address.is_multiple_of(256));
    assert_eq!(stream.pooled_bytes(), 8 << 20);
    assert_eq!(stream.alloc((1 << 20) - 1).unwrap().address(), address);
    stream.trim();
    assert_eq!(stream.pooled_bytes(), 0);
}

#[test]
fn too_much_memory_is_refused() {
    let Some(gpu) = gpu_or_skip() else { return };
    let stream = gpu.stream().unwrap();
    drop(stream.alloc(1 << 20).unwrap());
    let result = stream.alloc(gpu.info().memory / 8 + (1 << 20));
    assert!(matches!(result, Err(Error::OutOfMemory { bytes }) if bytes > gpu.info().memory), "{result:?}");
    assert_eq!(stream.pooled_bytes(), 0);
    assert_eq!(words(&stream, &stream.upload(&[1]).unwrap()), [1]);
}

#[test]
fn threads_share_a_stream() {
    let Some(gpu) = gpu_or_skip() else { return };
    let (stream, kernel) = (gpu.stream().unwrap(), kernel(&gpu));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (stream, kernel) = (&stream, &kernel);
            scope.spawn(move || {
                for round in 0..200 {
                    let mut buffer = stream.upload(&[thread; 300]).unwrap();
                    add(stream, kernel, &mut buffer, 10 * round).unwrap();
                    assert_eq!(words(stream, &buffer), [thread + 10 * round; 300]);
                }
            });
        }
    });
}
