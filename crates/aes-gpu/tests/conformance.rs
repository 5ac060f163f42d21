//! The contract of bulk encryption, with kernels that run on the host (always) and on a device (if
//! there is one).

mod devices;

use aes_gpu::{AesGpu, Tables};
use devices::{emulator, gpu_or_skip, narrow, wide};
use gpu::Gpu;
use gpu_emulator::Order;
use he_core::aes::conformance;

fn on(gpus: &[Gpu]) -> AesGpu {
    AesGpu::on(gpus).expect("the kernels load")
}

#[test]
fn emulated_wide() {
    conformance::suite(&on(&[wide()]), 11);
}

/// With slices of 4112 bytes, pieces end within segments, rows and units, and lanes race.
#[test]
fn emulated_small_slices() {
    let aes = on(&[wide()]).slices(4112, 3);
    conformance::known_answers(&aes);
    conformance::counter_carries(&aes, 12);
    conformance::gcm_chunks(&aes, 13);
    conformance::tampering(&aes, 14);
}

#[test]
fn emulated_narrow() {
    conformance::suite(&on(&[narrow()]), 15);
}

/// The order of threads and blocks makes no difference. Counters that carry, which are two thirds
/// of the time, meet one other order, and with `HE_DEEP=1`, which `tests/deep.sh` sets, both.
#[test]
fn emulated_orders() {
    let deep = std::env::var_os("HE_DEEP").is_some_and(|value| value == "1");
    for (order, seed, carries) in [(Order::Reverse, 16, true), (Order::Shuffled(5), 17, deep)] {
        let emulator = emulator((9, 0));
        emulator.set_order(order);
        let aes = on(&[Gpu::from_driver(emulator)]);
        conformance::known_answers(&aes);
        conformance::gcm_chunks(&aes, seed);
        if carries {
            conformance::counter_carries(&aes, seed);
        }
    }
}

/// Several devices, of different kinds, share every call.
#[test]
fn emulated_several() {
    let aes = on(&[wide(), narrow(), wide()]).slices(1 << 14, 2);
    conformance::counter_carries(&aes, 18);
    conformance::gcm(&aes, 19);
    conformance::gcm_chunks(&aes, 20);
    conformance::tampering(&aes, 21);
}

#[test]
fn device() {
    if let Some(gpu) = gpu_or_skip() {
        conformance::suite(&on(std::slice::from_ref(&gpu)), 22);
        conformance::suite(&on(std::slice::from_ref(&gpu)).tables(Tables::Two), 23);
        conformance::suite(&on(&[gpu.clone(), gpu]).slices(50_000, 3), 24);
    }
}
