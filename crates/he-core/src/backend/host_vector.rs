//! Vectors in memory of the host that a device reads by itself.

use crate::error::Result;
use crate::secret_words::SecretWords;
use num_complex::Complex64;
use std::any::Any;

/// Memory of the host that a back end hands out because its device reads it where it lies.
///
/// The device may still read it when the call that asked for it has returned. Therefore
/// [`numbers_mut`](Self::numbers_mut) waits for the device, and so does dropping the memory.
pub trait HostMemory: Any + Send + Sync {
    /// The numbers, which the device may be reading.
    fn numbers(&self) -> &[Complex64];
    /// The numbers, once the device has read what earlier calls asked it to read.
    ///
    /// # Errors
    /// The error of the device if it has failed.
    fn numbers_mut(&mut self) -> Result<&mut [Complex64]>;
}

/// Complex numbers in memory of the host that suits a back end: page-locked on a GPU, which reads
/// it without the copy that it makes of other memory, and ordinary memory elsewhere. It is made by
/// [`Backend::host_vector`](super::Backend::host_vector) and wiped when it is dropped.
///
/// Any back end encodes any such vector, but only the one that made it saves the copy.
///
/// ```
/// use he_core::backend::{Backend, Cpu};
/// use he_core::ckks::Complex64;
///
/// let mut vector = Cpu::new().host_vector(4)?;
/// vector.numbers_mut()?[1] = Complex64::I;
/// assert_eq!(vector.numbers()[..2], [Complex64::ZERO, Complex64::I]);
/// # Ok::<(), he_core::Error>(())
/// ```
pub struct HostVector(Box<dyn HostMemory>);

impl HostVector {
    /// A vector in memory of a back end.
    pub fn new(memory: impl HostMemory) -> Self {
        Self(Box::new(memory))
    }

    /// Zeros in ordinary memory.
    pub(super) fn ordinary(count: usize) -> Self {
        Self::new(SecretWords::zeros(count))
    }

    /// The numbers.
    pub fn numbers(&self) -> &[Complex64] {
        self.0.numbers()
    }

    /// The numbers, for writing. Waits until the device has read those that earlier calls encode;
    /// with two vectors in turn, it rarely has to. Write through one slice, not through one call
    /// per number.
    ///
    /// # Errors
    /// The error of the device if it has failed.
    pub fn numbers_mut(&mut self) -> Result<&mut [Complex64]> {
        self.0.numbers_mut()
    }

    /// The memory, if it is of this type: how a back end knows its own.
    pub fn memory<M: HostMemory>(&self) -> Option<&M> {
        let memory: &dyn Any = &*self.0;
        memory.downcast_ref()
    }
}

/// Without the numbers, which may be secret.
impl std::fmt::Debug for HostVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostVector {{ {} numbers }}", self.numbers().len())
    }
}

impl HostMemory for SecretWords<Complex64> {
    fn numbers(&self) -> &[Complex64] {
        self
    }

    fn numbers_mut(&mut self) -> Result<&mut [Complex64]> {
        Ok(self)
    }
}
