//! The filters of images behind the names of operations.

use super::Operation;
use crate::contents::images::{MAX_SLOTS, most_halo};
use crate::error::{Error, OperationError, Result};
use he_core::circuits::Kernel;
use he_core::circuits::ckks::Affine;

impl Operation {
    /// The convolution, if it is one.
    pub(super) fn kernel(&self) -> Result<Option<Kernel>> {
        Ok(Some(match self {
            Self::Blur { radius, sigma } => blur(*radius, *sigma)?,
            Self::Sharpen {} => Kernel::sharpen(),
            Self::Edges {} => Kernel::edges(),
            Self::Kernel { matrix } => usable(matrix.parse())?,
            _ => return Ok(None),
        }))
    }

    /// The map of pixels, if it is one.
    pub(super) fn affine(&self) -> Result<Option<Affine>> {
        Ok(Some(match self {
            Self::Brightness { by } => usable(Affine::brightness(*by))?,
            Self::Contrast { by } => usable(Affine::contrast(*by))?,
            Self::Invert {} => Affine::invert(),
            _ => return Ok(None),
        }))
    }
}

/// The error that a number or matrix that was asked for cannot be used.
fn usable<T>(result: he_core::Result<T>) -> Result<T> {
    result.map_err(|error| OperationError::Value { source: Box::new(Error::from(error)) }.into())
}

/// The mean over a square, or a Gaussian, whose square follows from sigma unless its radius is
/// given.
fn blur(radius: Option<usize>, sigma: Option<f64>) -> Result<Kernel> {
    let Some(sigma) = sigma else {
        return usable(Kernel::box_blur(radius.unwrap_or(1)));
    };
    let most = most_halo(MAX_SLOTS);
    match radius.unwrap_or_else(|| Kernel::gaussian_radius(sigma)) {
        wide if radius.is_none() && wide > most && sigma.is_finite() => {
            Err(OperationError::WideGaussian { sigma, wide, most }.into())
        }
        radius => usable(Kernel::gaussian(radius, sigma)),
    }
}
