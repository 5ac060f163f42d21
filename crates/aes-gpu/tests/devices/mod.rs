//! Devices to test on.
#![allow(dead_code)] // Each test program uses a part of this.

use gpu::Gpu;
use gpu_emulator::Emulator;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The kernels, compiled for the host, as a device with its own memory. Its few multiprocessors
/// divide the work as many would, and fill fewer tables.
pub fn emulator(compute_capability: (u32, u32)) -> Arc<Emulator> {
    static LIBRARY: OnceLock<Arc<Emulator>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        Emulator::build(&kernels, Path::new(env!("CARGO_TARGET_TMPDIR")))
            .expect("the kernels compile for the host")
    });
    library.with_compute_capability(compute_capability).with_multiprocessors(3)
}

/// An emulated H200: four tables of AES, eight of GHASH.
pub fn wide() -> Gpu {
    Gpu::from_driver(emulator((9, 0)))
}

/// An emulated T4 with 64 KiB of shared memory: two tables, one of GHASH.
pub fn narrow() -> Gpu {
    Gpu::from_driver(emulator((7, 5)))
}

/// The first device. Without one, prints that tests are skipped; with `HE_REQUIRE_GPU=1` a missing
/// device is a failure.
pub fn gpu_or_skip() -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
            panic!("HE_REQUIRE_GPU=1, and there is no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: no CUDA device ({error})");
            None
        }
    }
}
