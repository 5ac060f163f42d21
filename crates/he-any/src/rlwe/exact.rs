//! BFV and BGV on a device.

use crate::params::Params;
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact;
use he_core::ring::Ring;
use he_core::wire::WireScheme;

/// BFV or BGV on a device.
#[derive(Debug)]
pub struct Exact<S: WireScheme> {
    /// The parameters.
    pub params: exact::Params<S>,
    /// The ring.
    pub ring: Ring<Device>,
    /// The arithmetic.
    pub ev: exact::Evaluator<S, Device>,
}

impl<S: WireScheme> Exact<S> {
    /// Prepares the parameters.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(params: &exact::Params<S>, device: Device) -> he_core::Result<Self> {
        let ring = Ring::new(device, params.rlwe().ring().clone())?;
        let ev = exact::Evaluator::new(params, &ring)?;
        Ok(Self { params: params.clone(), ring, ev })
    }
}

/// A scheme of integers modulo t, as one of those that are chosen when the program runs.
pub trait Integral: WireScheme {
    /// Its parameters.
    fn params(params: exact::Params<Self>) -> Params;
}

impl Integral for Bfv {
    fn params(params: exact::Params<Self>) -> Params {
        Params::Bfv(params)
    }
}

impl Integral for Bgv {
    fn params(params: exact::Params<Self>) -> Params {
        Params::Bgv(params)
    }
}
