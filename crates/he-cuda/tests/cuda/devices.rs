//! Devices to test on.

use gpu::Gpu;
use gpu_emulator::{Emulator, Order};
use he_cuda::{Arithmetic, Cuda, CudaGroup};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The first of two sizes, or with `HE_DEEP=1`, which `tests/deep.sh` sets, the second.
pub fn sized(quick: u32, deep: u32) -> u32 {
    if std::env::var_os("HE_DEEP").is_some_and(|value| value == "1") { deep } else { quick }
}

/// The kernels, compiled for the host.
pub fn emulator() -> Arc<Emulator> {
    static LIBRARY: OnceLock<Arc<Emulator>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        Emulator::build(&kernels, Path::new(env!("CARGO_TARGET_TMPDIR")))
            .expect("the kernels compile for the host")
    });
    // Its own memory for each test.
    library.with_compute_capability((9, 0))
}

/// A back end whose kernels run on the host.
pub fn emulated(arithmetic: Arithmetic) -> Cuda {
    Cuda::on(&Gpu::from_driver(emulator())).expect("the emulator opens").arithmetic(arithmetic)
}

/// A group of such devices, each with a memory of its own, that splits rings of all degrees.
pub fn emulated_group(count: usize, arithmetic: Arithmetic) -> CudaGroup {
    let devices = (0..count).map(|_| emulated(arithmetic)).collect();
    CudaGroup::on(devices).expect("the emulators connect").split_from(0)
}

/// The multiprocessors of a device that little work fills.
pub const FEW: u32 = 4;

/// A device with [`FEW`] multiprocessors: few polynomials or ciphertexts reach the kernels that
/// fill a device.
pub fn emulated_small(arithmetic: Arithmetic) -> Cuda {
    let device = emulator().with_multiprocessors(FEW);
    Cuda::on(&Gpu::from_driver(device)).expect("the emulator opens").arithmetic(arithmetic)
}

/// Such devices with threads in other orders than their own: they expose missing barriers.
pub fn in_other_orders() -> impl Iterator<Item = Cuda> {
    [Order::Reverse, Order::Shuffled(7)].into_iter().map(|order| {
        let driver = emulator().with_multiprocessors(FEW);
        driver.set_order(order);
        Cuda::on(&Gpu::from_driver(driver)).expect("the emulator opens")
    })
}

/// Two devices as a group that splits rings of all degrees; two streams of one device if there is
/// one. Without any, the same as [`gpu_or_skip`].
pub fn group_or_skip(arithmetic: Arithmetic) -> Option<CudaGroup> {
    let first = gpu_or_skip(arithmetic)?;
    let second = match Gpu::count() {
        Ok(2..) => Cuda::open(1).map(|cuda| cuda.arithmetic(arithmetic)),
        _ => first.another(),
    };
    let devices = vec![first, second.expect("the device opens")];
    Some(CudaGroup::on(devices).expect("the devices connect").split_from(0))
}

/// The first device. Without one, prints that tests are skipped; with `HE_REQUIRE_GPU=1` a missing
/// device is a failure.
pub fn gpu_or_skip(arithmetic: Arithmetic) -> Option<Cuda> {
    match Cuda::open(0) {
        Ok(cuda) => Some(cuda.arithmetic(arithmetic)),
        Err(error) if std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
            panic!("HE_REQUIRE_GPU=1, and there is no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: no CUDA device ({error})");
            None
        }
    }
}
