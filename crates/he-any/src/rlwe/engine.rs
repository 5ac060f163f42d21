//! A scheme over RLWE on a device.

use super::{Ckks, Exact};
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::ring::Ring;

/// The parameters of a scheme over RLWE on a device, ready to compute.
#[derive(Debug)]
pub enum Engine {
    /// Real and complex numbers.
    Ckks(Ckks),
    /// Integers modulo t.
    Bfv(Exact<Bfv>),
    /// Integers modulo t.
    Bgv(Exact<Bgv>),
}

impl Engine {
    /// CKKS, if it is that.
    pub fn ckks(&self) -> Option<&Ckks> {
        on_each!(Self, self, ckks engine => Some(engine), exact _ => None)
    }

    /// Whether values are integers modulo t.
    pub fn is_exact(&self) -> bool {
        self.ckks().is_none()
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<Device> {
        on_each!(Self, self, engine => &engine.ring)
    }

    /// The slots of the longest vectors.
    pub fn slots(&self) -> usize {
        on_each!(Self, self, ckks engine => engine.params.slots(), exact engine => engine.ring.n())
    }
}
