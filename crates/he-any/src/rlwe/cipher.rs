//! Ciphertexts of vectors.

use super::Engine;
use crate::family::mixed;
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::{self, Noise};
use he_core::wire::WireScheme;
use he_core::{KeySetId, Result, ckks};
use std::ops::Range;

/// A batch of ciphertexts of vectors.
#[derive(Debug)]
pub enum Cipher {
    /// Real and complex numbers.
    Ckks(ckks::Ciphertext<Device>),
    /// Integers modulo t.
    Bfv(exact::Ciphertext<Bfv, Device>),
    /// Integers modulo t.
    Bgv(exact::Ciphertext<Bgv, Device>),
}

/// A ciphertext of those of each scheme.
macro_rules! made {
    ($any:expr, $ct:ident => $body:expr) => {
        match $any {
            Cipher::Ckks($ct) => $body.map(Cipher::Ckks),
            Cipher::Bfv($ct) => $body.map(Cipher::Bfv),
            Cipher::Bgv($ct) => $body.map(Cipher::Bgv),
        }
    };
}

impl Cipher {
    /// The ciphertext of CKKS, if it is one.
    pub fn ckks(&self) -> Option<&ckks::Ciphertext<Device>> {
        on_each!(Self, self, ckks ct => Some(ct), exact _ => None)
    }

    /// Whether values are integers modulo t.
    pub fn is_exact(&self) -> bool {
        self.ckks().is_none()
    }

    /// The vectors side by side.
    pub fn batch(&self) -> usize {
        on_each!(Self, self, ct => ct.batch())
    }

    /// The slots of each vector.
    pub fn slots(&self) -> usize {
        on_each!(Self, self, ckks ct => ct.slots(), exact ct => ct.pair().ring().n())
    }

    /// The level.
    pub fn level(&self) -> usize {
        on_each!(Self, self, ct => ct.level())
    }

    /// The key set, if it is known.
    pub fn key_set(&self) -> Option<KeySetId> {
        on_each!(Self, self, ct => ct.key_set())
    }

    /// The properties that must agree in ciphertexts which are added word by word: level, and
    /// correction factor or scale.
    pub fn alignment(&self) -> (usize, u64) {
        on_each!(Self, self, ckks ct => (ct.level(), ct.scale().to_bits()),
            exact ct => (ct.level(), ct.correction_factor()))
    }

    /// The predicted noise, under BFV and BGV.
    pub fn noise(&self) -> Option<Noise> {
        on_each!(Self, self, ckks _ => None, exact ct => Some(ct.noise()))
    }

    /// The approximate bytes in memory.
    pub fn size(&self) -> usize {
        on_each!(Self, self, ct => 16 * ct.batch() * (ct.level() + 1) * ct.pair().ring().n())
    }

    /// A copy.
    ///
    /// # Errors
    /// The device fails.
    pub fn duplicate(&self) -> Result<Self> {
        made!(self, ct => ct.duplicate())
    }

    /// Some entries of the batch.
    ///
    /// # Errors
    /// [`BatchRange`](he_core::Error::BatchRange) for entries that are not there; the device fails.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        made!(self, ct => ct.slice_batch(entries))
    }

    /// The entries of all parts in one batch.
    ///
    /// # Errors
    /// Parts of several schemes, levels, scales or key sets; no parts; the device fails.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        macro_rules! joined {
            ($variant:ident, $type:ty) => {{
                let parts = parts.iter().map(|part| match part {
                    Self::$variant(ct) => Ok(ct),
                    _ => Err(mixed()),
                });
                <$type>::concat(&parts.collect::<Result<Vec<_>>>()?).map(Self::$variant)
            }};
        }
        match parts.first() {
            Some(Self::Bfv(_)) => joined!(Bfv, exact::Ciphertext<Bfv, Device>),
            Some(Self::Bgv(_)) => joined!(Bgv, exact::Ciphertext<Bgv, Device>),
            _ => joined!(Ckks, ckks::Ciphertext<Device>),
        }
    }

    /// The same with another bound on its noise, under BFV and BGV.
    ///
    /// # Errors
    /// [`BudgetSpent`](he_core::Error::BudgetSpent) if the bound leaves nothing to decrypt.
    pub fn with_noise(self, engine: &Engine, noise: Noise) -> Result<Self> {
        fn renamed<S: WireScheme>(
            params: &exact::Params<S>,
            ct: &exact::Ciphertext<S, Device>,
            noise: Noise,
        ) -> Result<exact::Ciphertext<S, Device>> {
            let excess = -params.noise().budget(noise, ct.level() + 1);
            if excess >= 0.0 {
                return Err(he_core::Error::BudgetSpent { excess_bits: excess });
            }
            let (key_set, factor) = (ct.key_set(), ct.correction_factor());
            let mut named = exact::Ciphertext::from_parts(params, ct.pair().duplicate()?, factor, noise)?;
            named.set_key_set(key_set);
            Ok(named)
        }
        Ok(match (engine, self) {
            (Engine::Bfv(engine), Self::Bfv(ct)) => Self::Bfv(renamed(&engine.params, &ct, noise)?),
            (Engine::Bgv(engine), Self::Bgv(ct)) => Self::Bgv(renamed(&engine.params, &ct, noise)?),
            (_, ct) => ct,
        })
    }
}
