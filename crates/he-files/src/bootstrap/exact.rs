//! BFV and BGV with bootstrapping: what files of integers take, and what they are left with.

use super::Refreshing;
use crate::error::Result;
use crate::needs::IntegerNeeds;
use crate::note::Content;
use crate::scheme::{State, Taken};
use he::Device;
use he_core::Error as Core;
use he_core::backend::Tally;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams as Circuit};
use he_core::exact::bootstrapping::{BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::exact::{Ciphertext, Params};
use he_core::ring::Ring;
use serde_json::{Value, json};

/// The chain that `keygen bfv --bootstrap` or `keygen bgv --bootstrap` chooses, at N = 2^10.
///
/// # Errors
/// None in practice: there are such parameters.
pub fn toy<E: Taken>() -> Result<BootstrapParams<E>> {
    const LOG_N: u32 = 10;
    let IntegerNeeds { depth, .. } = IntegerNeeds::default();
    let spec = BootstrapSpec::insecure_for_depth::<E>(IntegerNeeds::default().modulus()?, depth, LOG_N)?;
    Ok(BootstrapParams::insecure(spec)?)
}

impl<E: Taken> Refreshing for BootstrapParams<E> {
    type Scheme = E;
    type Bootstrapper = Bootstrapper<E, Device>;

    fn toy() -> Option<&'static Self> {
        E::toy()
    }

    fn programs(&self) -> &Params<E> {
        self.params()
    }

    fn circuit(&self) -> &Circuit {
        self.circuit()
    }

    fn facts(&self) -> Vec<(&'static str, Value, String)> {
        let (needed, left, iterations) =
            (self.needed_budget(), self.refreshed_budget(), self.spec().iterations);
        vec![
            ("bits needed", json!(needed), format!("{needed:.1} of noise budget before a refresh")),
            ("bits left", json!(left), format!("{left:.1} of noise budget after a refresh")),
            ("bootstraps", json!(iterations), format!("{iterations} for a refresh, at most")),
        ]
    }

    /// All coefficients are refreshed, whatever they hold.
    fn check_content(&self, _content: &Content) -> Result<()> {
        Ok(())
    }

    fn check_left(&self, state: State) -> he_core::Result<()> {
        let needed_bits = self.needed_budget();
        match state {
            State::Budget { bits: left_bits, .. } if left_bits < needed_bits => {
                Err(Core::BudgetTooLow { left_bits, needed_bits })
            }
            _ => Ok(()),
        }
    }

    fn bootstrapper(&self, ring: &Ring<Device>) -> he_core::Result<Bootstrapper<E, Device>> {
        Bootstrapper::new(self, ring)
    }

    /// The content itself: integers are exact.
    fn refreshed(_bootstrapper: &Bootstrapper<E, Device>, content: Content) -> Content {
        content
    }

    fn refresh(
        &self,
        bootstrapper: &Bootstrapper<E, Device>,
        ct: Ciphertext<E, Device>,
        keys: &BootstrapKeys<Device>,
    ) -> he_core::Result<Ciphertext<E, Device>> {
        bootstrapper.refresh(&ct, keys)
    }

    fn work(&self, ct: &Ciphertext<E, Device>) -> he_core::Result<u64> {
        let tally = Tally::default();
        let ring = self.ring(tally.clone())?;
        let keys = BootstrapKeys::hollow(self.circuit(), &ring)?;
        Bootstrapper::new(self, &ring)?.refresh(&ct.to(&ring)?, &keys)?;
        Ok(tally.work())
    }
}
