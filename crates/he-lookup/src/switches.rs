//! The order of the key switches by which masks under all rotations of a secret become one mask
//! under the secret.
//!
//! The secret s is seen through all N automorphisms X -> X^t, t odd: t = 5^k and t = -5^k modulo
//! 2N. A key for the rotation by 5, itself rotated by 5^(k-1), switches from 5^k to 5^(k-1), and so
//! on down to 1; its conjugates do the same for -5^k; and a key for the conjugation switches from
//! -1 to 1 (InspiRING, in Mahdavi, Patel, Seo, Yeo, *InsPIRe*, 2025).

use he_core::ring::{galois_conjugation, galois_rotation};

/// Two switches at once: from the automorphisms [t, -t] to those under which the key's parts are
/// rotated, t = 5^k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The number k of the rotation.
    pub(crate) k: usize,
    /// The automorphisms of the key, 5^(k-1) and -5^(k-1): those of the masks that are left.
    pub(crate) to: [u64; 2],
}

fn both(k: usize, log_n: u32) -> [u64; 2] {
    let (rotation, all) = (galois_rotation(k as i64, log_n), 2u64 << log_n);
    [rotation, all - rotation]
}

/// The first masks, under 5^(N/2-1) and its negative.
pub(crate) fn first(log_n: u32) -> [u64; 2] {
    both((1 << (log_n - 1)) - 1, log_n)
}

/// The N/2 - 1 steps, from the first masks on. The conjugation comes after them.
pub(crate) fn steps(log_n: u32) -> impl Iterator<Item = Step> {
    (1..1usize << (log_n - 1)).rev().map(move |k| Step { k, to: both(k - 1, log_n) })
}

/// The automorphisms that the key's rotations go through, [`galois_rotation`] by 1 first.
pub(crate) fn keys(log_n: u32) -> [u64; 2] {
    [galois_rotation(1, log_n), galois_conjugation(log_n)]
}

impl Step {
    /// The numbers of the two switches among all N - 1, of which the conjugation is the last.
    pub(crate) fn first_switch(self) -> usize {
        2 * (self.k - 1)
    }
}
