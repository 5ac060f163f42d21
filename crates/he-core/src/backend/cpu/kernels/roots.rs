//! Roots of one prime in the layouts that the vector loops read.

use crate::arith::{Modulus, ShoupFactor};
use crate::ring::NttTable;
use std::sync::OnceLock;

/// The roots of a prime as the mathematics has them, and in the layouts of vector code, each of
/// which is made when it is first asked for.
#[derive(Debug)]
pub(in crate::backend::cpu) struct NttRoots {
    table: NttTable,
    interleaved: OnceLock<[Vec<RootLine>; 2]>,
    doubles: OnceLock<[Vec<f64>; 2]>,
}

/// Eight consecutive roots, then their quotients: 52 bits of them for a prime below 2^50, else 64.
#[derive(Debug)]
#[repr(align(128))]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
pub(super) struct RootLine(pub [u64; 16]);

impl NttRoots {
    pub(in crate::backend::cpu) const fn new(table: NttTable) -> Self {
        Self { table, interleaved: OnceLock::new(), doubles: OnceLock::new() }
    }

    /// The roots in the order of the butterflies.
    pub(super) const fn table(&self) -> &NttTable {
        &self.table
    }

    /// The prime.
    #[inline(always)]
    pub(in crate::backend::cpu) const fn modulus(&self) -> &Modulus {
        self.table.modulus()
    }

    /// The roots and the inverse roots in groups of eight, each followed by their quotients, for
    /// N >= 8.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
    pub(super) fn interleaved(&self) -> &[Vec<RootLine>; 2] {
        self.interleaved.get_or_init(|| {
            let unused_bits = if self.modulus().bits() <= 50 { 12 } else { 0 };
            [self.table.roots(), self.table.inverse_roots()].map(|roots| {
                let (groups, _) = roots.as_chunks::<8>();
                let line = |group: &[ShoupFactor; 8]| {
                    RootLine(std::array::from_fn(|i| match i {
                        0..8 => group[i].value,
                        _ => group[i - 8].quotient >> unused_bits,
                    }))
                };
                groups.iter().map(line).collect()
            })
        })
    }

    /// The centred roots and inverse roots as doubles, for primes below 2^53 and N >= 16. In the
    /// second half, whose roots are the children in the last level, the four even ones of each
    /// eight stand before the odd ones.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
    pub(super) fn doubles(&self) -> &[Vec<f64>; 2] {
        self.doubles.get_or_init(|| {
            [self.table.roots(), self.table.inverse_roots()].map(|roots| {
                let mut w: Vec<f64> = roots.iter().map(|w| self.modulus().center(w.value) as f64).collect();
                let half = w.len() / 2;
                for eight in w[half..].as_chunks_mut::<8>().0 {
                    let [e0, o0, e1, o1, e2, o2, e3, o3] = *eight;
                    *eight = [e0, e1, e2, e3, o0, o1, o2, o3];
                }
                w
            })
        })
    }
}
