//! A bootstrapper as what circuits refresh with.

use super::{BootstrapKeys, Bootstrapper};
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::Refresher;
use crate::ckks::Ciphertext;
use crate::error::Result;

/// A bootstrapper and its keys, for circuits of any depth ([`Refresher`]).
#[derive(Debug)]
pub struct RefreshWith<'a, B: RingOps = Cpu> {
    bootstrapper: &'a Bootstrapper<B>,
    keys: &'a BootstrapKeys<B>,
}

impl<B: RingOps> Bootstrapper<B> {
    /// Pairs the bootstrapper with its keys, as a refresher for circuits of any depth.
    pub fn with_keys<'a>(&'a self, keys: &'a BootstrapKeys<B>) -> RefreshWith<'a, B> {
        RefreshWith { bootstrapper: self, keys }
    }
}

impl<B: RingOps> Refresher<B> for RefreshWith<'_, B> {
    /// The levels of SlotsToCoeffs.
    fn reserve(&self) -> usize {
        self.bootstrapper.params().input_level()
    }

    fn top(&self) -> Option<usize> {
        Some(self.bootstrapper.params().output_level())
    }

    fn check(&self, ct: &Ciphertext<B>) -> Result<()> {
        self.bootstrapper.check(ct, self.keys)
    }

    fn refresh(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.bootstrapper.refresh(ct, self.keys)
    }

    fn refresh_real(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.bootstrapper.refresh_real(ct, self.keys)
    }

    fn refresh_pairs(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.bootstrapper.refresh_pairs(ct, self.keys)
    }
}
