//! Polynomials of plaintexts, which are wiped if they come from a decryption.

use super::Poly;
use crate::backend::RingOps;
use crate::ring::Domain;
use std::ops::{Deref, DerefMut};

/// Polynomials whose words can be overwritten.
pub(crate) trait Wipe {
    /// Overwrites every word with zero.
    fn wipe(&mut self);
}

impl<D: Domain, B: RingOps> Wipe for Poly<D, B> {
    fn wipe(&mut self) {
        Poly::wipe(self);
    }
}

/// The polynomial of a plaintext. The result of a decryption, the message with its noise, reveals
/// the secret key to anyone who also has the ciphertext; it is wiped when dropped. Encoded
/// plaintexts are not.
#[derive(Clone)]
pub(crate) struct PlainPoly<P: Wipe> {
    poly: P,
    decrypted: bool,
}

impl<P: Wipe> PlainPoly<P> {
    pub(crate) fn encoded(poly: P) -> Self {
        Self { poly, decrypted: false }
    }

    pub(crate) fn decrypted(poly: P) -> Self {
        Self { poly, decrypted: true }
    }

    /// Whether it is the result of a decryption.
    pub(crate) fn is_decrypted(&self) -> bool {
        self.decrypted
    }
}

impl<P: Wipe> Deref for PlainPoly<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.poly
    }
}

impl<P: Wipe> DerefMut for PlainPoly<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.poly
    }
}

impl<P: Wipe> Drop for PlainPoly<P> {
    fn drop(&mut self) {
        if self.decrypted {
            self.poly.wipe();
        }
    }
}

impl<P: Wipe + std::fmt::Debug> std::fmt::Debug for PlainPoly<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.poly.fmt(f)
    }
}
