//! Measurements on a device that runs behind the host.

use he::backend::Backend;
use he::cuda::Cuda;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Opens the first GPU. Without one, says why, once.
pub fn cuda() -> Option<Cuda> {
    Cuda::open(0).inspect_err(|error| eprintln!("skipped: {error}")).ok()
}

/// Times `iters` calls in sequence, from an idle device until their work is complete. One call
/// before them is not counted: it loads kernels and fills memory pools.
pub fn time<T>(device: &impl Backend, iters: u64, mut call: impl FnMut() -> he::Result<T>) -> Duration {
    let mut call = || drop(black_box(call().expect("the device works")));
    let wait = || device.synchronize().expect("the device works");
    call();
    wait();
    let begin = Instant::now();
    for _ in 0..iters {
        call();
    }
    wait();
    begin.elapsed()
}
