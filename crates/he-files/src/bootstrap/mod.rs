//! CKKS with bootstrapping: the parameters that files can have, by name.

pub mod keys;
pub mod refresh;

use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec};
use he_core::ckks::CkksParams;
use he_core::params::ParamsError;
use he_core::rlwe::Fingerprint;
use he_core::wire::WireParams;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// The name of the file with these keys.
pub const KEY_NAME: &str = "bootstrap.key";

/// Parameters with bootstrapping, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Those of the library.
    Preset(Preset),
    /// The chain of `fast` at N = 2^10, which protects nothing: for tests, and for a first look.
    InsecureToy,
}

impl Named {
    const TOY: &'static str = "insecure_toy";

    /// All of them, the toy last.
    pub fn all() -> impl Iterator<Item = Self> {
        Preset::ALL.into_iter().map(Self::Preset).chain([Self::InsecureToy])
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preset(preset) => preset.name(),
            Self::InsecureToy => Self::TOY,
        }
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

static TOY: LazyLock<Option<BootstrapParams>> = LazyLock::new(|| Named::InsecureToy.params().ok());

/// Whether these are the parameters of programs that the toy has, which protect nothing.
pub fn is_toy(params: Fingerprint) -> bool {
    toy_programs(params).is_some()
}

/// The toy parameters, if these are theirs. They are the only insecure ones that files may have:
/// whoever makes such keys asks for them by name.
pub(crate) fn toy(fingerprint: Fingerprint) -> Option<&'static BootstrapParams> {
    TOY.as_ref().filter(|toy| toy.fingerprint() == fingerprint)
}

/// The parameters of the toy's programs, likewise.
pub(crate) fn toy_programs(fingerprint: Fingerprint) -> Option<&'static CkksParams> {
    TOY.as_ref().map(BootstrapParams::params).filter(|toy| toy.fingerprint() == fingerprint)
}
