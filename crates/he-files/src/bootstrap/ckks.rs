//! CKKS with bootstrapping: the parameters that files can have, by name.

use super::{Refreshing, TOY};
use crate::error::{ContentError, Result};
use crate::note::Content;
use crate::scheme::{Ckks, Scheme, State};
use he::Device;
use he_core::Error as Core;
use he_core::backend::{RingOps, Tally};
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::ckks::{Ciphertext, CkksParams};
use he_core::params::ParamsError;
use he_core::ring::Ring;
use he_core::rlwe::Fingerprint;
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// The greatest magnitude that is refreshed: one, and what rounding adds to bounds.
const GREATEST: f64 = 1.0 + 1e-9;

/// Parameters with bootstrapping, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A preset of the library.
    Preset(Preset),
    /// The chain of `fast` at N = 2^10, which protects nothing: for tests, and for a first look.
    InsecureToy,
}

impl Named {
    /// All of them, the toy last.
    pub fn all() -> impl Iterator<Item = Self> {
        Preset::ALL.into_iter().map(Self::Preset).chain([Self::InsecureToy])
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preset(preset) => preset.name(),
            Self::InsecureToy => TOY,
        }
    }

    /// The one whose programs compute with these parameters, if there is one.
    pub fn of(params: &CkksParams) -> Option<Self> {
        static PROGRAMS: LazyLock<Vec<(Fingerprint, Named)>> = LazyLock::new(|| {
            let fingerprint = |named: Named| Some((named.params().ok()?.params().fingerprint(), named));
            Named::all().filter_map(fingerprint).collect()
        });
        let fingerprint = params.fingerprint();
        PROGRAMS.iter().find(|(of, _)| *of == fingerprint).map(|&(_, named)| named)
    }

    /// Whether they compute on integers in digits: vectors are full, and there are levels for the
    /// largest look-ups.
    pub fn has_integers(self) -> bool {
        matches!(self, Self::Preset(Preset::Fast) | Self::InsecureToy)
    }

    /// The parameters.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn params(self) -> Result<BootstrapParams, ParamsError> {
        match self {
            Self::Preset(preset) => preset.params(),
            Self::InsecureToy => {
                BootstrapParams::insecure(BootstrapSpec { log_n: 10, log_slots: 9, ..Preset::Fast.spec() })
            }
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
        Self::all().find(|named| named.name() == text).ok_or_else(|| format!("there are {}", names()))
    }
}

impl Refreshing for BootstrapParams {
    type Scheme = Ckks;
    type Bootstrapper = Bootstrapper<Device>;

    fn toy() -> Option<&'static Self> {
        static TOY: LazyLock<Option<BootstrapParams>> = LazyLock::new(|| Named::InsecureToy.params().ok());
        TOY.as_ref()
    }

    fn programs(&self) -> &CkksParams {
        self.params()
    }

    fn circuit(&self) -> &BootstrapParams {
        self
    }

    fn facts(&self) -> Vec<(&'static str, Value, String)> {
        let (levels, slots) = (self.output_level() - self.input_level(), self.slots());
        vec![
            ("levels left", json!(levels), format!("{levels} after a refresh")),
            ("refreshed", json!(slots), format!("vectors of up to {slots} values")),
        ]
    }

    fn check_content(&self, content: &Content) -> Result<()> {
        let full = Ckks::slots(self.params());
        let (found, most) = (content.slots(full), self.slots());
        if found > most {
            return Err(ContentError::RefreshSlots { found, most }.into());
        }
        if let Content::Digits(_) = content {
            return Err(ContentError::RefreshDigits.into());
        }
        let parts = content.batches(full)?.map(|(part, _)| bound(content, part));
        let greatest = parts.fold(0.0, f64::max);
        if greatest > GREATEST {
            return Err(ContentError::RefreshRange { bound: greatest }.into());
        }
        Ok(())
    }

    fn check_left(&self, state: State) -> he_core::Result<()> {
        let needed = self.input_level();
        match state {
            State::Level { level: left, .. } if left < needed => Err(Core::LevelExhausted { needed, left }),
            _ => Ok(()),
        }
    }

    fn bootstrapper(&self, ring: &Ring<Device>) -> he_core::Result<Bootstrapper<Device>> {
        Bootstrapper::new(self, ring)
    }

    fn refreshed(bootstrapper: &Bootstrapper<Device>, content: Content) -> Content {
        match content {
            Content::Table(mut note) => {
                let bits = precision_bits(bootstrapper);
                let lowered = |own: f64| -0.5 * ((-2.0 * own).exp2() + (-2.0 * bits).exp2()).log2();
                for column in &mut note.columns {
                    column.precision_bits = column.precision_bits.map(lowered);
                }
                note.precision_bits = lowered(note.precision_bits);
                Content::Table(note)
            }
            content => content,
        }
    }

    fn refresh(
        &self,
        bootstrapper: &Bootstrapper<Device>,
        ct: Ciphertext<Device>,
        keys: &BootstrapKeys<Device>,
    ) -> he_core::Result<Ciphertext<Device>> {
        refreshed(bootstrapper, ct, keys)
    }

    fn work(&self, ct: &Ciphertext<Device>) -> he_core::Result<u64> {
        let tally = Tally::default();
        let ring = self.ring(tally.clone())?;
        refreshed(&Bootstrapper::new(self, &ring)?, ct.to(&ring)?, &BootstrapKeys::hollow(self, &ring)?)?;
        Ok(tally.work())
    }
}

/// Fresh ciphertexts of as many slots.
fn refreshed<B: RingOps>(
    bootstrapper: &Bootstrapper<B>,
    ct: Ciphertext<B>,
    keys: &BootstrapKeys<B>,
) -> he_core::Result<Ciphertext<B>> {
    let params = bootstrapper.params();
    let slots = ct.slots();
    let fresh = bootstrapper.refresh(&with_slots(params.params(), ct, params.slots())?, keys)?;
    with_slots(params.params(), fresh, slots)
}

/// A bound on the magnitude of the numbers of a part, in the real as in the imaginary parts of
/// slots.
fn bound(content: &Content, part: usize) -> f64 {
    match content {
        Content::Image(note) => note.low.abs().max(note.high.abs()),
        content => content.bound(part),
    }
}

/// -log2 of six standard deviations of the error that a refresh adds to a real or imaginary part.
fn precision_bits(bootstrapper: &Bootstrapper<Device>) -> f64 {
    let params = bootstrapper.params();
    let scale = params.params().levels()[params.output_level()].scale;
    // N coefficients add up to a slot, whose real part has half of the square.
    let parts = (params.ring_spec().n() as f64 / 2.0).sqrt();
    (scale / (6.0 * parts)).log2() - bootstrapper.added_noise().rms_log2
}

/// The same ciphertext with another number of slots: a short vector is a long one that repeats it.
fn with_slots<B: RingOps>(
    params: &CkksParams,
    ct: Ciphertext<B>,
    slots: usize,
) -> he_core::Result<Ciphertext<B>> {
    if ct.slots() == slots {
        return Ok(ct);
    }
    let (level, scale, key_set) = (ct.level(), ct.scale(), ct.key_set());
    let mut ct = Ciphertext::from_parts(params, ct.pair().duplicate()?, level, scale, slots)?;
    ct.set_key_set(key_set);
    Ok(ct)
}
