//! Sums of products and of multiples.

use crate::constants::{Grid, per_limb};
use crate::elementwise::{at, holds_operand};
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::{NoUninit, Pod, Zeroable};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{Multiple, Pair};
use he_core::ring::{RingSpec, Rows};

/// The most products of one launch; more are added by further launches.
const MOST_PRODUCTS: usize = 2;

/// From so many products on, one launch takes all of them from a list in memory.
const LISTED: usize = 9;

/// The most multiples of one launch, likewise.
const MOST_MULTIPLES: usize = 4;

/// The most limbs whose constants a launch takes.
pub(crate) const MOST_LIMBS: usize = RingSpec::MAX_PRIMES;

/// Two polynomials as the kernel takes them.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Place {
    c: [u64; 2],
    batch: [u32; 2],
}

impl Place {
    fn new(pair: &Pair<'_, Buffer>) -> Self {
        Self { c: pair.map(|x| at(x.buf, x.at)), batch: pair.map(|x| x.batch as u32) }
    }
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Args {
    grid: Grid,
    d: [u64; 3],
    products: u32,
    multiples: u32,
    fresh: u32,
    scaled: u32,
    product: [[Place; 2]; MOST_PRODUCTS],
    multiple: [Place; MOST_MULTIPLES],
    factor: [u64; MOST_LIMBS],
    constant: [u64; MOST_LIMBS],
    multiplier: [[u64; MOST_LIMBS]; MOST_MULTIPLES],
}

/// The words of a listed product.
const LISTED_WORDS: usize = size_of::<[Place; 2]>() / size_of::<u64>();

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ListArgs {
    grid: Grid,
    d: [u64; 3],
    list: u64,
    products: u32,
    unused: u32,
}

impl CudaRing {
    /// The sum of the products times the factors, the multiples and the constant: two polynomials,
    /// or three with products. The rows have at most [`MOST_LIMBS`] limbs.
    pub(crate) fn sum_rows<const PARTS: usize>(
        &self,
        op: &'static str,
        rows: Rows,
        products: &[[Pair<'_, Buffer>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, Buffer>],
        constant: &[u64],
    ) -> Result<[Buffer; PARTS]> {
        let pairs = products.iter().flatten().chain(multiples.iter().map(|multiple| &multiple.pair));
        assert!(
            pairs.flatten().all(|x| holds_operand(self, rows, *x)) && rows.span.limbs() <= MOST_LIMBS,
            "{op}: an operand is too small, or there are too many limbs"
        );
        let words = rows.count() * self.n();
        let mut d = Vec::with_capacity(PARTS);
        for _ in 0..PARTS {
            d.push(self.cuda.scratch_buffer(op, words)?);
        }
        let mut addresses = [0; 3];
        for (address, buffer) in addresses.iter_mut().zip(&d) {
            *address = buffer.address();
        }
        let grid = self.grid(rows);
        let listed = products.len() >= LISTED;
        if listed {
            self.sum_listed(op, rows, products, addresses)?;
            if factors.is_empty() && multiples.is_empty() && constant.is_empty() {
                return Ok(crate::key_switch::to_array(d));
            }
        }
        let products = if listed { &[] } else { products };
        // The factors are applied when all products have been added; multiples follow.
        let product_launches = products.len().div_ceil(MOST_PRODUCTS).max(1);
        let launches = product_launches + multiples.len().div_ceil(MOST_MULTIPLES).saturating_sub(1);
        for launch in 0..launches {
            let mut products = products.chunks(MOST_PRODUCTS).nth(launch).unwrap_or_default().iter();
            let of_multiples = (launch + 1).checked_sub(product_launches);
            let chunk =
                of_multiples.and_then(|i| multiples.chunks(MOST_MULTIPLES).nth(i)).unwrap_or_default();
            let is_last_product = of_multiples == Some(0);
            let mut args = Args {
                grid,
                d: addresses,
                products: products.len() as u32,
                multiples: chunk.len() as u32,
                fresh: u32::from(launch == 0 && !listed),
                scaled: u32::from(is_last_product && !factors.is_empty()),
                product: Zeroable::zeroed(),
                multiple: Zeroable::zeroed(),
                factor: per_limb(factors),
                constant: if is_last_product { per_limb(constant) } else { [0; MOST_LIMBS] },
                multiplier: [[0; MOST_LIMBS]; MOST_MULTIPLES],
            };
            for (place, product) in args.product.iter_mut().zip(products.by_ref()) {
                *place = product.each_ref().map(Place::new);
            }
            for (i, multiple) in chunk.iter().enumerate() {
                args.multiple[i] = Place::new(&multiple.pair);
                args.multiplier[i] = per_limb(&multiple.factors);
            }
            // SAFETY: the buffers are live and hold the rows, as just checked.
            unsafe { self.cuda.launch_rows(op, Entry::TensorSum, grid.blocks(rows.span), &args)? };
        }
        Ok(crate::key_switch::to_array(d))
    }

    /// The sum of the products in one launch, which reads each once.
    fn sum_listed(
        &self,
        op: &'static str,
        rows: Rows,
        products: &[[Pair<'_, Buffer>; 2]],
        d: [u64; 3],
    ) -> Result<()> {
        let places: Vec<[Place; 2]> =
            products.iter().map(|product| product.each_ref().map(Place::new)).collect();
        let words: &[[u64; LISTED_WORDS]] = bytemuck::cast_slice(&places);
        let list = self.cuda.upload_words(op, words.as_flattened())?;
        let grid = self.grid(rows);
        let args = ListArgs { grid, d, list: list.address(), products: products.len() as u32, unused: 0 };
        // SAFETY: the buffers are live and hold the rows, as the caller checked, and the list has
        // the products.
        unsafe { self.cuda.launch_rows(op, Entry::TensorSumListed, grid.blocks(rows.span), &args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernel() {
        assert_eq!(size_of::<Place>(), 24);
        let offsets = [
            offset_of!(Args, products),
            offset_of!(Args, product),
            offset_of!(Args, multiple),
            offset_of!(Args, factor),
            offset_of!(Args, multiplier),
            size_of::<Args>(),
        ];
        assert_eq!(offsets, [56, 72, 168, 264, 1288, 3336]);
        assert_eq!((offset_of!(ListArgs, list), size_of::<ListArgs>()), (56, 72));
    }
}
