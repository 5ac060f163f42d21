//! Bootstrapping of files: parameters that have it, their keys, and files that get new levels or a
//! new noise budget by them.

pub mod ckks;
pub mod exact;
pub mod keys;
pub mod refresh;

use crate::error::Result;
use crate::note::Content;
use crate::scheme::{Bfv, Bgv, Scheme, State};
use he::Device;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams};
use he_core::ring::Ring;
use he_core::rlwe::{Fingerprint, SecretKey};
use he_core::wire::{Frame, WireParams};
use serde_json::Value;

pub use ckks::Named;

/// The name of the file with these keys.
pub const KEY_NAME: &str = "bootstrap.key";

/// The name of parameters that protect nothing: for tests, and for a first look.
pub const TOY: &str = "insecure_toy";

/// Parameters with bootstrapping, as files of their keys begin with them.
pub trait Refreshing: WireParams + Clone + Send + Sync + 'static {
    /// The scheme of the files that are refreshed.
    type Scheme: Scheme<Secret = SecretKey>;
    /// The circuit that refreshes ciphertexts.
    type Bootstrapper;

    /// The parameters of [`TOY`]. They are the only insecure ones that files may have: whoever
    /// makes such keys asks for them by name.
    fn toy() -> Option<&'static Self>;

    /// The parameters that programs compute with.
    fn programs(&self) -> &<Self::Scheme as Scheme>::Params;

    /// The parameters that the keys are made for.
    fn circuit(&self) -> &BootstrapParams;

    /// The facts about a refresh, its needs and its results: each with its name, for programs and
    /// for people.
    fn facts(&self) -> Vec<(&'static str, Value, String)>;

    /// Checks that a content can be refreshed.
    ///
    /// # Errors
    /// Its vectors are too long, or its numbers too large.
    fn check_content(&self, content: &Content) -> Result<()>;

    /// Checks that a ciphertext has enough left to be refreshed.
    ///
    /// # Errors
    /// It has not: the error says how much it takes.
    fn check_left(&self, state: State) -> he_core::Result<()>;

    /// Prepares the circuit; `ring` is that of all primes.
    ///
    /// # Errors
    /// The device fails.
    fn bootstrapper(&self, ring: &Ring<Device>) -> he_core::Result<Self::Bootstrapper>;

    /// The description of a content once it is refreshed.
    fn refreshed(bootstrapper: &Self::Bootstrapper, content: Content) -> Content;

    /// Refreshes ciphertexts.
    ///
    /// # Errors
    /// Too little is left of them; the device fails.
    fn refresh(
        &self,
        bootstrapper: &Self::Bootstrapper,
        ct: <Self::Scheme as Scheme>::Ciphertext,
        keys: &BootstrapKeys<Device>,
    ) -> he_core::Result<<Self::Scheme as Scheme>::Ciphertext>;

    /// The work of refreshing these ciphertexts, as devices tell of it
    /// ([`worked`](he_core::Overseer::worked)).
    ///
    /// # Errors
    /// The device that they are on fails.
    fn work(&self, ct: &<Self::Scheme as Scheme>::Ciphertext) -> he_core::Result<u64>;
}

/// Parameters with bootstrapping, of any scheme that has it.
pub enum AnyParams {
    /// RNS-CKKS.
    Ckks(BootstrapParams),
    /// BFV.
    Bfv(he_core::exact::bootstrapping::BootstrapParams<Bfv>),
    /// BGV.
    Bgv(he_core::exact::bootstrapping::BootstrapParams<Bgv>),
}

/// Calls a function that is generic over [`Refreshing`] with what is in an [`AnyParams`].
#[macro_export]
macro_rules! on_refreshing {
    ($any:expr, $params:ident => $call:expr) => {
        match $any {
            $crate::bootstrap::AnyParams::Ckks($params) => $call,
            $crate::bootstrap::AnyParams::Bfv($params) => $call,
            $crate::bootstrap::AnyParams::Bgv($params) => $call,
        }
    };
}

/// Parameters from their frame: insecure ones only if they are those of the toy, which is made only
/// if there is a use for it.
pub(crate) fn secure_or_toy<P: WireParams>(
    frame: &Frame,
    toy: impl FnOnce() -> Option<Fingerprint>,
) -> he_core::Result<P> {
    P::from_frame(frame).or_else(|error| match toy() {
        Some(toy) if toy == frame.fingerprint => P::from_frame_insecure(frame),
        _ => Err(error),
    })
}

/// Parameters with bootstrapping, likewise.
pub(crate) fn read_params<P: Refreshing>(frame: &Frame) -> he_core::Result<P> {
    secure_or_toy(frame, || P::toy().map(P::fingerprint))
}

/// The parameters of programs, likewise.
pub(crate) fn read_programs<P: Refreshing>(frame: &Frame) -> he_core::Result<<P::Scheme as Scheme>::Params> {
    secure_or_toy(frame, || P::toy().map(|toy| toy.programs().fingerprint()))
}
