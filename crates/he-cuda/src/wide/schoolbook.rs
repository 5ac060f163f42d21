//! The product by its definition.

use super::args::{Shape, holds, shape};
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::WideRows;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Args {
    shape: Shape,
    a: u64,
    b: u64,
    dst: u64,
}

impl CudaRing {
    /// a b modulo X^N + 1 and 2^bits by the definition of the product, as P1 (Reynaldi, 2023)
    /// computes it: with one thread per coefficient and N ceil(bits / 64)^2 / 2 products of words
    /// each. Both operands and the result are those of `rows`, from word 0 on. This is for
    /// comparison with the product through transforms, which leaves the same words.
    ///
    /// # Errors
    /// Device errors.
    ///
    /// # Panics
    /// If an operand holds fewer words.
    pub fn wide_schoolbook(&self, rows: WideRows, a: &Buffer, b: &Buffer) -> Result<Buffer> {
        let op = "wide_schoolbook";
        let rows = rows.at(0);
        assert!(holds(self, a, rows) && holds(self, b, rows), "{op}: an operand is too small");
        let product = self.cuda.scratch_buffer(op, rows.count() * self.n())?;
        let args = Args { shape: shape(self, rows), a: a.address(), b: b.address(), dst: product.address() };
        // SAFETY: the operands hold the rows, as just checked, and the product was made for them.
        unsafe { self.cuda.launch_wide(op, Entry::WideSchoolbook, rows.batch * self.n(), 1, &args)? };
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_kernel() {
        assert_eq!(size_of::<Args>(), 48);
    }
}
