//! The contract of back ends, with kernels that run on the host (always) and on a device (if there
//! is one).

use super::devices::{emulated, emulated_group, gpu_or_skip, group_or_skip, sized};
use he_core::conformance::suite;
use he_core::conformance_suite;
use he_cuda::Arithmetic;

// One device reaches the largest degree of a transform in one block. Integers and groups differ
// from it in arithmetic and in the division of rows, at any degree. Larger degrees, which have
// kernels of their own, are in the tests of transforms below, of embeddings, and of batches that
// fill a device.
conformance_suite!(emulated_float, emulated(Arithmetic::Float), log_n <= sized(12, 14));
conformance_suite!(emulated_integer, emulated(Arithmetic::Integer), log_n <= sized(9, 12));
conformance_suite!(device, optional gpu_or_skip(Arithmetic::Auto), log_n <= 17);
conformance_suite!(device_integer, optional gpu_or_skip(Arithmetic::Integer), log_n <= 14);
conformance_suite!(emulated_group_of_2, emulated_group(2, Arithmetic::Float), log_n <= sized(10, 14));
conformance_suite!(emulated_group_of_3, emulated_group(3, Arithmetic::Integer), log_n <= sized(4, 11));
conformance_suite!(device_group, optional group_or_skip(Arithmetic::Auto), log_n <= 17);
conformance_suite!(wide emulated_group_wide, emulated_group(2, Arithmetic::Float), log_n <= 9);
conformance_suite!(wide emulated_wide_float, emulated(Arithmetic::Float), log_n <= sized(11, 12));
conformance_suite!(wide emulated_wide_integer, emulated(Arithmetic::Integer), log_n <= 9);
conformance_suite!(wide device_wide, optional gpu_or_skip(Arithmetic::Auto), log_n <= 14);
conformance_suite!(wide device_wide_integer, optional gpu_or_skip(Arithmetic::Integer), log_n <= 12);

/// The largest degrees, for transforms only, since the rest is the same code at any degree above
/// 2^13. The kind of the primes changes with the degree: the mixed ones of 2^15 have both
/// arithmetics in one ring.
#[test]
fn emulated_transforms_of_large_degrees() {
    let deep = sized(0, 1) == 1;
    for (arithmetic, log_n) in [(Arithmetic::Float, 17), (Arithmetic::Integer, 15)] {
        if deep {
            suite::transforms_obey_laws(&emulated(arithmetic), 17).unwrap();
        } else {
            suite::transforms_of_degree(&emulated(arithmetic), log_n).unwrap();
        }
    }
    for log_n in 13..=16 {
        suite::transforms_of_degree(&emulated(Arithmetic::Float), log_n).unwrap();
    }
}

/// Slots at a degree where their transform takes two tiles of the largest kind.
#[test]
fn emulated_embeddings_of_a_large_degree() {
    suite::embeddings_of_degree(&emulated(Arithmetic::Float), 16).unwrap();
}
