//! Products of matrices by the kernels of each generation of devices.
#![allow(clippy::unwrap_used)]

use super::devices::{emulator, gpu_or_skip, in_other_orders};
use gpu::Gpu;
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, MatrixNumbers, MatrixOps, MatrixProduct, RingOps};
use he_core::conformance::suite;
use he_core::ring::{RingSpec, Span};
use he_cuda::{Arithmetic, Cuda};
use std::time::Instant;

/// The conformance suite has devices of compute capability 9.0.
#[test]
fn older_devices_multiply_matrices() {
    for capability in [(7, 5), (8, 0)] {
        let device = emulator().with_compute_capability(capability);
        suite::matrices(&Cuda::on(&Gpu::from_driver(device)).expect("the emulator opens"), 0).unwrap();
    }
}

#[test]
fn threads_multiply_matrices_in_any_order() {
    for cuda in in_other_orders() {
        suite::matrices(&cuda, 0).unwrap();
    }
}

/// A word that looks random.
fn word(i: usize) -> u64 {
    let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

/// The median of some calls, in seconds, from an idle device to an idle device.
fn seconds(backend: &impl Backend, mut call: impl FnMut()) -> f64 {
    let mut once = || {
        backend.synchronize().unwrap();
        let begin = Instant::now();
        call();
        backend.synchronize().unwrap();
        begin.elapsed().as_secs_f64()
    };
    let count = if once() > 0.5 { 1 } else { 7 };
    let mut times: Vec<f64> = (0..count).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[count / 2]
}

/// Prints what a product takes, and checks some of its numbers.
fn rate<B: RingOps>(backend: &B, bits: u32, numbers: MatrixNumbers, [rows, inner, columns]: [usize; 3]) {
    let q = ntt_primes_below(bits, 12, 1, &[]).unwrap()[0];
    let ring = backend.prepare(&RingSpec::new(12, vec![q], vec![]).unwrap()).unwrap();
    let product = MatrixProduct::new(numbers, rows, inner, columns).unwrap();
    let modulus = if numbers == MatrixNumbers::Bytes { 1 << 32 } else { q };
    let is_residues = matches!(numbers, MatrixNumbers::Residues(_));
    let left: Vec<u64> =
        (0..product.left_words()).map(|i| if is_residues { word(i) % modulus } else { word(i) }).collect();
    let right: Vec<u64> = (0..product.right_words()).map(|i| word(!i) % modulus).collect();
    let (a, b) = (backend.upload(&left).unwrap(), backend.upload(&right).unwrap());
    let mut c = backend.zeros(product.result_words()).unwrap();
    let packing = seconds(backend, || drop(ring.pack_left(&product, &a, 0).unwrap()));
    let packing_right = seconds(backend, || drop(ring.pack_right(&product, &b, 0).unwrap()));
    let (a, b) = (ring.pack_left(&product, &a, 0).unwrap(), ring.pack_right(&product, &b, 0).unwrap());
    let time = seconds(backend, || {
        ring.multiply_matrices(a.as_ref(), b.as_ref(), false, 0, &mut c).unwrap();
    });
    for i in (0..50).map(|i| word(i) as usize % product.result_words()).chain([0, product.result_words() - 1])
    {
        let (row, column) = (i / columns, i % columns);
        let x = |k: usize| match numbers {
            MatrixNumbers::Residues(_) => i128::from(left[row * inner + k]),
            _ => {
                let byte = left[(row * inner + k) / 8].to_le_bytes()[(row * inner + k) % 8];
                if numbers == MatrixNumbers::Bytes { byte.into() } else { byte.cast_signed().into() }
            }
        };
        let modulus = i128::from(modulus);
        let sum =
            (0..inner).fold(0, |sum, k| (sum + x(k) * i128::from(right[k * columns + column])) % modulus);
        let expected = sum.rem_euclid(modulus) as u64;
        assert_eq!(
            backend.download(&c, i..i + 1).unwrap(),
            [expected],
            "{product}: row {row}, column {column}"
        );
    }
    let rate = rows as f64 * inner as f64 * columns as f64 / time * 1e-12;
    println!(
        "{product}, {bits} bits: {:.4} ms, {rate:.4} T/s; packing {:.3} + {:.3} ms",
        time * 1e3,
        packing * 1e3,
        packing_right * 1e3
    );
}

/// Rates in 10^12 modular multiply-adds per second.
#[test]
#[ignore = "prints rates; HE_REQUIRE_GPU=1 cargo test --release -p he-cuda --test cuda -- --ignored --nocapture rates_of_matrices"]
fn rates_of_matrices() {
    let residues = MatrixNumbers::Residues(Span::chain(1));
    let signed = MatrixNumbers::SignedBytes(Span::chain(1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for cpu in Cpu::all() {
            println!("{}", cpu.name());
            for (bits, numbers) in [
                (31, residues),
                (50, residues),
                (61, residues),
                (31, signed),
                (50, signed),
                (32, MatrixNumbers::Bytes),
            ] {
                rate(&cpu, bits, numbers, [1024; 3]);
            }
        }
    });
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    println!("{}", cuda.name());
    for (bits, numbers, sizes) in [
        (31, residues, [1 << 12; 3]),
        (50, residues, [1 << 12; 3]),
        (61, residues, [1 << 12; 3]),
        (31, signed, [1 << 12, 1 << 12, 1 << 13]),
        (50, signed, [1 << 12, 1 << 12, 1 << 13]),
        (31, residues, [1 << 20, 1 << 8, 1]),
        (31, residues, [1 << 20, 1 << 8, 16]),
        (50, residues, [1 << 20, 1 << 8, 16]),
        (32, MatrixNumbers::Bytes, [1 << 16, 1 << 16, 1]),
        (32, MatrixNumbers::Bytes, [1 << 16, 1 << 16, 16]),
    ] {
        rate(&cuda, bits, numbers, sizes);
    }
}
