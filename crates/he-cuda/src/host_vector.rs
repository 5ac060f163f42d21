//! Vectors in page-locked memory, which kernels and copies of the device read without the host.

use crate::cuda::{Cuda, failed};
use bytemuck::{cast_slice, cast_slice_mut};
use gpu::Pinned;
use he_core::Result;
use he_core::backend::{HostMemory, HostVector};
use num_complex::Complex64;

/// Two words per number. It is only ever read by the device.
pub(crate) struct PageLocked(Pinned);

impl PageLocked {
    pub(crate) const fn words(&self) -> &Pinned {
        &self.0
    }
}

impl HostMemory for PageLocked {
    fn numbers(&self) -> &[Complex64] {
        cast_slice(self.0.as_slice().expect("only a copy to these words can fail, and none is made"))
    }

    fn numbers_mut(&mut self) -> Result<&mut [Complex64]> {
        self.0.as_mut_slice().map(cast_slice_mut).map_err(failed("numbers_mut"))
    }
}

/// The numbers may be secret.
impl Drop for PageLocked {
    fn drop(&mut self) {
        self.0.zero();
    }
}

impl Cuda {
    /// Zeros in page-locked memory.
    pub(crate) fn page_locked_vector(&self, count: usize) -> Result<HostVector> {
        // A product that does not fit is more memory than there is, too.
        let words = self.gpu().pinned(count.saturating_mul(2)).map_err(failed("host_vector"))?;
        Ok(HostVector::new(PageLocked(words)))
    }
}
