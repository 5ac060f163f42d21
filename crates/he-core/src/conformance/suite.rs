//! Test bodies for any back end; [`conformance_suite!`](crate::conformance_suite) makes them tests.
//!
//! Each body takes the back end and log2 of the largest degree to try, and returns the first
//! failure as an [`Error::Backend`](crate::Error::Backend) that names the operation, the word and
//! the case. Small degrees (2^2 to 2^6) are compared with [`Naive`](super::Naive) through a
//! [`Mirror`](super::Mirror), large ones (2^10 up) with the provided bodies and with laws that need
//! no second back end.
//!
//! Inputs are painted: word i depends on i mod 251, a prime, so that swapped or shifted blocks
//! cannot cancel. Destinations are painted, too, and every buffer has words around the rows that no
//! operation may touch. Offsets are multiples of N, like all those that the library uses.

mod coarse;
mod exact;
mod lab;
mod matrix;
mod prefix;
mod small;
mod whole;
mod wide;

pub use coarse::{
    decompositions, divisions, divisions_are_exact, embeddings, embeddings_of_degree, fused_equal_provided,
    key_products, key_switching_is_exact, keys, rotations, switches, tensors,
};
pub use exact::{encryptions, gathers, greatest_values, phases_mod_t, scaled_tensors};
pub use matrix::matrices;
pub use prefix::{prefix_rings, split_rings};
pub use small::{
    automorphisms, conversion_edges, conversions, elementwise, samplers, signed_words, transforms,
    transforms_obey_laws, transforms_of_degree,
};
pub use whole::{known_answers, memory, programs, threads};
pub use wide::{wide_embeddings, wide_operations, wide_products};

/// Makes the conformance suite of one back end: a module of `#[test]` functions, one per body of
/// [`suite`](crate::conformance::suite).
///
/// ```
/// use he_core::backend::Cpu;
/// # fn open_device() -> Option<Cpu> { None }
///
/// he_core::conformance_suite!(cpu, Cpu::new());
/// // Large degrees go up to 2^13; to stop earlier, or to go further:
/// he_core::conformance_suite!(cpu_further, Cpu::new(), log_n <= 14);
/// // A device that may be absent, whose expression says so where it is: `None` passes.
/// he_core::conformance_suite!(device, optional open_device());
/// // Operations modulo powers of two (`WideOps`), of back ends that have them.
/// he_core::conformance_suite!(wide cpu_wide, Cpu::new(), log_n <= 12);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance_suite {
    (@tests $name:ident, $backend:expr, $log_n:expr, $($test:ident)+) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $(#[test]
            fn $test() {
                if let Some(backend) = $backend
                    && let Err(error) = $crate::conformance::suite::$test(&backend, $log_n)
                {
                    panic!("{error}");
                }
            })+
        }
    };
    (@all $name:ident, $backend:expr, $log_n:expr) => {
        $crate::conformance_suite!(@tests $name, $backend, $log_n,
            memory known_answers elementwise transforms transforms_obey_laws automorphisms conversions
            conversion_edges signed_words samplers tensors decompositions keys key_products divisions
            divisions_are_exact rotations switches key_switching_is_exact fused_equal_provided scaled_tensors encryptions phases_mod_t greatest_values gathers embeddings matrices programs
            prefix_rings split_rings threads
        );
    };
    // Back ends that implement `WideOps` request its tests separately.
    (wide $name:ident, optional $backend:expr, log_n <= $log_n:expr) => {
        $crate::conformance_suite!(@tests $name, $backend, $log_n, wide_operations wide_products wide_embeddings);
    };
    (wide $name:ident, $backend:expr, log_n <= $log_n:expr) => {
        $crate::conformance_suite!(@tests $name, Some($backend), $log_n, wide_operations wide_products wide_embeddings);
    };
    ($name:ident, optional $backend:expr, log_n <= $log_n:expr) => {
        $crate::conformance_suite!(@all $name, $backend, $log_n);
    };
    ($name:ident, optional $backend:expr) => {
        $crate::conformance_suite!(@all $name, $backend, 13);
    };
    ($name:ident, $backend:expr, log_n <= $log_n:expr) => {
        $crate::conformance_suite!(@all $name, Some($backend), $log_n);
    };
    ($name:ident, $backend:expr) => {
        $crate::conformance_suite!(@all $name, Some($backend), 13);
    };
}
