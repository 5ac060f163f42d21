//! The operations of an encoder on ciphertexts.

use crate::work;
use he_core::ckks::CkksParams;
use std::ops::{Add, AddAssign, MulAssign};

/// Counts of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rotations that share their first step, still multiplied by P.
    pub baby: usize,
    /// Rotations that share their first step.
    pub hoisted: usize,
    /// Rotations by themselves.
    pub rotations: usize,
    /// Products with plaintexts.
    pub plain: usize,
    /// Products of ciphertexts that are relinearised.
    pub products: usize,
    /// Products of ciphertexts whose sums are relinearised later.
    pub sums: usize,
    /// Refreshes of ciphertexts.
    pub refreshes: usize,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            baby: self.baby + other.baby,
            hoisted: self.hoisted + other.hoisted,
            rotations: self.rotations + other.rotations,
            plain: self.plain + other.plain,
            products: self.products + other.products,
            sums: self.sums + other.sums,
            refreshes: self.refreshes + other.refreshes,
        }
    }
}

impl MulAssign<usize> for Counts {
    fn mul_assign(&mut self, by: usize) {
        let Self { baby, hoisted, rotations, plain, products, sums, refreshes } = self;
        for count in [baby, hoisted, rotations, plain, products, sums, refreshes] {
            *count *= by;
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Counts {
    /// The work of the operations on a level, in butterflies of transforms, for refreshes of this
    /// work.
    pub(super) fn work(&self, params: &CkksParams, level: usize, refresh: f64) -> f64 {
        let Self { baby, hoisted, rotations, plain, products, sums, refreshes } = *self;
        (baby + hoisted) as f64 * work::map_rotation(params, level)
            + rotations as f64 * work::key_switch(params, level)
            + (plain + sums) as f64 * work::plain_product(params, level)
            + products as f64 * work::function_product(params, level)
            + refreshes as f64 * refresh
    }
}
