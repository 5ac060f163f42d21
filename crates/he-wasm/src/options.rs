//! The purposes of keys, as JavaScript states them.

use crate::error::{Error, Result};
use he_files::needs::{IntegerNeeds, RealNeeds};
use he_files::scheme::{Bfv, Bgv, Ckks, Scheme};
use he_files::tfhe;
use serde::Deserialize;

/// The schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemeName {
    /// Real numbers, approximately; filters of images.
    Ckks,
    /// Integers, exactly.
    Bfv,
    /// Integers, exactly.
    Bgv,
    /// Unsigned integers that are compared and sorted.
    Tfhe,
}

impl SchemeName {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ckks => <Ckks as Scheme>::NAME,
            Self::Bfv => <Bfv as Scheme>::NAME,
            Self::Bgv => <Bgv as Scheme>::NAME,
            Self::Tfhe => tfhe::NAME,
        }
    }
}

/// The data that are going to be encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Images, which filters need more keys for.
    #[default]
    Images,
    /// Tables.
    Tables,
    /// Examples of the model that was loaded, which chooses the parameters.
    Model,
}

/// The options of new keys. Options that are not given are as in `he-cli keygen`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KeyOptions {
    /// The scheme.
    pub scheme: SchemeName,
    /// The data that are going to be encrypted.
    #[serde(rename = "for", default)]
    pub purpose: Purpose,
    /// The largest radius of image filters that have a key for each weight.
    pub filters: Option<usize>,
    /// Operations that can follow one another.
    pub depth: Option<usize>,
    /// CKKS: bits of precision of a result of magnitude 1.
    pub precision: Option<u32>,
    /// CKKS: results stay below 2^range.
    pub range: Option<u32>,
    /// CKKS: values for which a ciphertext has room.
    pub slots: Option<usize>,
    /// BFV and BGV: results stay below 2^bits.
    pub bits: Option<u32>,
    /// BFV and BGV: the plaintext modulus itself.
    pub plain_modulus: Option<u64>,
    /// Bits of security.
    pub security: Option<u32>,
    /// **For tests only**: every operation of the session draws its randomness from this number.
    pub insecure_seed: Option<u64>,
}

impl KeyOptions {
    /// From JSON.
    ///
    /// # Errors
    /// [`Error::Options`]: there is no such option, or none with such a value.
    pub fn parse(json: &str) -> Result<Self> {
        let options: Self =
            serde_json::from_str(json).map_err(|error| Error::Options { why: error.to_string() })?;
        let real = [
            ("filters", options.filters.is_some()),
            ("precision", options.precision.is_some()),
            ("range", options.range.is_some()),
            ("slots", options.slots.is_some()),
        ];
        let integer = [("bits", options.bits.is_some()), ("plainModulus", options.plain_modulus.is_some())];
        let any = [("depth", options.depth.is_some()), ("security", options.security.is_some())];
        let all = || [&real[..], &integer, &any].concat();
        let for_model = options.purpose == Purpose::Model;
        let foreign: Vec<_> = match options.scheme {
            SchemeName::Ckks if for_model => all(),
            _ if for_model => return Err(Error::Options { why: "models compute under ckks".to_owned() }),
            SchemeName::Ckks => integer.to_vec(),
            SchemeName::Tfhe => all(),
            _ => real.to_vec(),
        };
        match foreign.into_iter().find(|&(_, given)| given) {
            None => Ok(options),
            Some((name, _)) if for_model => {
                Err(Error::Options { why: format!("{name} is what the model chooses") })
            }
            Some((name, _)) => Err(Error::Options { why: format!("{name} is for keys of another scheme") }),
        }
    }

    /// The needs of CKKS.
    pub fn real(&self) -> RealNeeds {
        let usual = RealNeeds::default();
        RealNeeds {
            depth: self.depth.unwrap_or(usual.depth),
            precision: self.precision.unwrap_or(usual.precision),
            range: self.range.unwrap_or(usual.range),
            security: self.security.unwrap_or(usual.security),
            slots: self.slots.unwrap_or(usual.slots),
            published: None,
        }
    }

    /// The needs of BFV and BGV.
    pub fn integer(&self) -> IntegerNeeds {
        let usual = IntegerNeeds::default();
        IntegerNeeds {
            depth: self.depth.unwrap_or(usual.depth),
            bits: self.bits.unwrap_or(usual.bits),
            plain_modulus: self.plain_modulus,
            security: self.security.unwrap_or(usual.security),
        }
    }

    /// The radius of filters that have a key for each weight.
    pub fn radius(&self) -> usize {
        self.filters.unwrap_or(usize::from(self.purpose == Purpose::Images))
    }
}
