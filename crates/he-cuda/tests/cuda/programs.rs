//! Whole programs on the device give the same words as on the CPU, results near plain float64, and
//! do so in any order of threads.

use super::devices::{emulated, emulator, gpu_or_skip};
use super::program::{MIXED, NARROW, PAIRS, SINGLE, Shape, WIDE, run_or_panic, seed};
use gpu::Gpu;
use gpu_emulator::Order;
use he_core::backend::Cpu;
use he_core::conformance::Mirror;
use he_cuda::{Arithmetic, Cuda};

/// Every operation runs on the CPU and on the device, and every word is compared.
fn mirrored(cuda: &Cuda, shapes: &[Shape]) {
    let seed = seed();
    for shape in shapes {
        run_or_panic(&Mirror::new(Cpu::new(), cuda.clone()), shape, seed, false);
    }
}

/// Keys, ciphertexts and results of one seed as bytes.
fn same_bytes(cuda: &Cuda, shapes: &[Shape]) {
    let seed = seed();
    for shape in shapes {
        let expected = run_or_panic(&Cpu::new(), shape, seed, true);
        let found = run_or_panic(cuda, shape, seed, true);
        found.assert_same(&expected, &format!("{shape:?}, HE_TEST_SEED={seed}"));
    }
}

macro_rules! emulated_mirrors {
    ($($name:ident($arithmetic:ident): $($shape:expr),+;)+) => {
        $(#[test]
        fn $name() {
            mirrored(&emulated(Arithmetic::$arithmetic), &[$($shape),+]);
        })+
    };
}

emulated_mirrors! {
    emulated_mirror_of_batches(Float): SINGLE.of(4, 1), NARROW.of(4, 3), MIXED.of(4, 1), SINGLE.of(4, 130),
        MIXED.of(5, 130), WIDE.of(5, 3);
    emulated_mirror_in_integers(Integer): SINGLE.of(4, 3), NARROW.of(6, 1), MIXED.of(5, 3), NARROW.of(11, 1);
    emulated_mirror_of_pairs(Float): PAIRS.of(4, 3), PAIRS.of(11, 1);
    emulated_mirror_of_pairs_in_integers(Integer): PAIRS.of(5, 1);
    emulated_mirror_11(Float): SINGLE.of(11, 3), WIDE.of(11, 1);
    emulated_mirror_12(Float): SINGLE.of(12, 3), MIXED.of(12, 1);
    emulated_mirror_13(Float): NARROW.of(13, 1);
    emulated_mirror_14(Float): SINGLE.of(14, 1);
}

/// With a device: every degree and shape, including larger batches.
fn device_shapes() -> Vec<Shape> {
    let mut shapes: Vec<Shape> = [SINGLE, NARROW, MIXED, WIDE, PAIRS]
        .into_iter()
        .flat_map(|shape| {
            [(4, 1), (4, 130), (5, 3), (11, 3), (12, 3), (13, 1), (14, 3)].map(|(n, b)| shape.of(n, b))
        })
        .collect();
    shapes.extend([
        SINGLE.of(12, 40),
        SINGLE.of(13, 130),
        MIXED.of(15, 1),
        SINGLE.of(15, 32),
        WIDE.of(16, 3),
    ]);
    shapes
}

#[test]
fn device_mirror() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        mirrored(&cuda, &device_shapes());
    }
}

#[test]
fn device_mirror_in_integers() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Integer) {
        mirrored(&cuda, &[SINGLE.of(4, 130), NARROW.of(11, 3), MIXED.of(12, 3), SINGLE.of(14, 16)]);
    }
}

#[test]
fn emulated_bytes_are_those_of_the_cpu() {
    same_bytes(
        &emulated(Arithmetic::Float),
        &[SINGLE.of(4, 130), NARROW.of(5, 3), MIXED.of(11, 1), SINGLE.of(12, 1)],
    );
}

#[test]
fn device_bytes_are_those_of_the_cpu() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        same_bytes(&cuda, &device_shapes());
    }
}

/// The threads of a block and the blocks of a grid run in other orders, so that a missing barrier
/// changes words.
#[test]
fn emulated_orders_give_the_same_bytes() {
    let seed = seed();
    for shape in [SINGLE.of(4, 3), MIXED.of(5, 1), SINGLE.of(12, 1)] {
        let expected = run_or_panic(&Cpu::new(), &shape, seed, true);
        for order in [Order::Reverse, Order::Shuffled(1), Order::Shuffled(2)] {
            let emulator = emulator();
            emulator.set_order(order);
            let cuda = Cuda::on(&Gpu::from_driver(emulator.clone())).expect("the emulator opens");
            let found = run_or_panic(&cuda.arithmetic(Arithmetic::Float), &shape, seed, true);
            found.assert_same(&expected, &format!("{order:?}, {shape:?}, HE_TEST_SEED={seed}"));
            assert_eq!(emulator.take_errors(), Vec::<String>::new(), "{order:?}, {shape:?}");
        }
    }
}
