//! The needs of a program, from which parameters are chosen, with the defaults of `he-cli keygen`.

use crate::error::{ContentError, Error, Result};
use crate::scheme::Taken;
use crate::scheme::engine::security;
use he_core::ckks::CkksParams;
use he_core::exact::bootstrapping::BootstrapParams;
use he_core::exact::{Params, PlainModulus};
use he_core::params::ParamsError;

/// The bits of noise budget that keys for integers have in addition to the products, for sums over
/// millions of rows and their rotations.
pub(crate) const SUM_BITS: u32 = 26;

/// Twice the least degree whose slots are all of use.
const LEAST_ORDER: usize = 1 << 13;

/// The needs from which parameters of CKKS are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealNeeds {
    /// Filters, products or weighted sums that can follow one another.
    pub depth: usize,
    /// Bits of precision of a result of magnitude 1.
    pub precision: u32,
    /// Results stay below 2^range in magnitude.
    pub range: u32,
    /// Bits of security: 128, 192 or 256.
    pub security: u32,
    /// A ciphertext has room for at least this many values.
    pub slots: usize,
    /// Results are published, and the precision is what they keep then.
    pub published: Option<Published>,
}

impl Default for RealNeeds {
    fn default() -> Self {
        Self { depth: 2, precision: 25, range: 4, security: 128, slots: 1, published: None }
    }
}

/// The decryptions that others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The vectors of all files together, under one key.
    pub decryptions: u64,
    /// Bits of statistical security that all of them keep together.
    pub security_bits: u32,
}

impl RealNeeds {
    /// Chooses parameters.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params(&self) -> Result<CkksParams> {
        let builder = CkksParams::for_depth(self.depth)
            .precision_bits(self.precision)
            .range_bits(self.range)
            .slots(self.slots)
            .security(security(self.security)?);
        let builder = match self.published {
            Some(Published { decryptions, security_bits }) => builder.published(security_bits, decryptions),
            None => builder,
        };
        Ok(builder.build()?)
    }
}

/// The needs from which parameters of BFV and BGV are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerNeeds {
    /// Products that can follow one another; sums are free.
    pub depth: usize,
    /// Results stay below 2^bits in magnitude.
    pub bits: u32,
    /// The plaintext modulus itself, in place of `bits`.
    pub plain_modulus: Option<u64>,
    /// Bits of security: 128, 192 or 256.
    pub security: u32,
}

impl Default for IntegerNeeds {
    fn default() -> Self {
        Self { depth: 2, bits: 32, plain_modulus: None, security: 128 }
    }
}

impl IntegerNeeds {
    /// Chooses parameters with slots.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params<E: Taken>(&self) -> Result<Params<E>> {
        self.with_margin(SUM_BITS)
    }

    /// Chooses parameters with slots that leave so many bits of noise budget after the products.
    ///
    /// # Errors
    /// The same as for [`params`](Self::params).
    pub(crate) fn with_margin<E: Taken>(&self, bits: u32) -> Result<Params<E>> {
        let builder = Params::<E>::for_depth(self.modulus()?, self.depth).slots().margin_bits(bits);
        builder.security(security(self.security)?).build().map_err(|error| match error {
            ParamsError::NoSlots { found, .. } => {
                ContentError::NoSlots { modulus: found, order: LEAST_ORDER }.into()
            }
            error => refused(error),
        })
    }

    /// Chooses parameters with bootstrapping and with slots, of 128 bits of security: the products
    /// are those between two refreshes.
    ///
    /// # Errors
    /// The same as for [`params`](Self::params).
    pub fn bootstrapping<E: Taken>(&self) -> Result<BootstrapParams<E>> {
        let modulus = self.modulus()?;
        let boot = BootstrapParams::for_depth(modulus, self.depth).map_err(|error| match error {
            he_core::Error::InvalidParams(error) => refused(error),
            error => error.into(),
        })?;
        let params: &Params<E> = boot.params();
        if params.has_slots() {
            return Ok(boot);
        }
        Err(ContentError::NoSlots { modulus, order: 2 * params.rlwe().ring().n() }.into())
    }

    /// The plaintext modulus.
    ///
    /// # Errors
    /// There is none for so many bits.
    pub(crate) fn modulus(&self) -> Result<u64> {
        self.plain_modulus.map_or_else(|| plain_modulus(self.bits), Ok)
    }
}

fn refused(error: ParamsError) -> Error {
    match error {
        ParamsError::ModulusRange { found } => ContentError::PlainModulus { modulus: found }.into(),
        error => error.into(),
    }
}

/// The least prime t with slots at every degree for integers of this many bits.
fn plain_modulus(bits: u32) -> Result<u64> {
    let t = PlainModulus::for_bits(bits).map_err(|_| ContentError::IntegerBits { bits })?;
    Ok(t.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plaintext_moduli_hold_what_is_asked() {
        for bits in 1..=58 {
            let t = plain_modulus(bits).unwrap();
            assert!(t > 2 << bits && t % (1 << 17) == 1, "{bits} bits: {t}");
        }
        assert!(plain_modulus(0).is_err() && plain_modulus(59).is_err());
    }
}
