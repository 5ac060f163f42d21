//! CKKS on a device.

use crate::error::{Error, Result};
use he::Device;
use he_core::bootstrapping::{BootstrapParams, Bootstrapper};
use he_core::ckks::{CkksParams, Evaluator};
use he_core::ring::Ring;
use std::sync::{Arc, Mutex, PoisonError};

/// CKKS on a device.
#[derive(Debug)]
pub struct Ckks {
    /// The parameters of programs.
    pub params: CkksParams,
    /// The ring: that of all primes where there is bootstrapping.
    pub ring: Ring<Device>,
    /// The arithmetic.
    pub ev: Evaluator<Device>,
    /// The parameters with bootstrapping.
    pub bootstrapping: Option<BootstrapParams>,
    /// Made when it is first needed.
    bootstrapper: Mutex<Option<Arc<Bootstrapper<Device>>>>,
}

impl Ckks {
    /// Prepares the parameters.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(
        params: &CkksParams,
        bootstrapping: Option<&BootstrapParams>,
        device: Device,
    ) -> he_core::Result<Self> {
        let ring = match bootstrapping {
            Some(bootstrapping) => bootstrapping.ring(device)?,
            None => Ring::new(device, params.rlwe().ring().clone())?,
        };
        let ev = Evaluator::new(params, &ring)?;
        let (params, bootstrapping) = (params.clone(), bootstrapping.cloned());
        Ok(Self { params, ring, ev, bootstrapping, bootstrapper: Mutex::default() })
    }

    /// The circuit that refreshes ciphertexts.
    ///
    /// # Errors
    /// [`Error::NoBootstrapping`] for other parameters; the device fails.
    pub fn bootstrapper(&self) -> Result<Arc<Bootstrapper<Device>>> {
        let params = self.bootstrapping.as_ref().ok_or(Error::NoBootstrapping)?;
        let mut made = self.bootstrapper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bootstrapper) = &*made {
            return Ok(Arc::clone(bootstrapper));
        }
        let bootstrapper = Arc::new(Bootstrapper::new(params, &self.ring)?);
        Ok(Arc::clone(made.insert(bootstrapper)))
    }
}

/// The greatest magnitude of numbers that a ciphertext of CKKS holds at a level and a scale:
/// coefficients are at most as large as the numbers in slots.
pub fn capacity(params: &CkksParams, level: usize, scale: f64) -> f64 {
    (params.log_q(level) - 1.0).exp2() / scale
}
