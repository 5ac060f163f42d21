//! Parameters of any scheme.

use crate::error::{Error, Result};
use crate::rlwe::Integral;
use he_core::bfv::BfvParams;
use he_core::bgv::BgvParams;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::CkksParams;
use he_core::exact;
use he_core::rlwe::{Fingerprint, RlweParams};
use he_core::tfhe::TfheParams;
use he_core::wire::{FrameKind, FrameReader, first_frame_limit};

/// The parameters of one scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    /// Real and complex numbers.
    Ckks(CkksParams),
    /// CKKS whose ciphertexts can be refreshed.
    Bootstrap(BootstrapParams),
    /// Integers modulo t.
    Bfv(BfvParams),
    /// Integers modulo t.
    Bgv(BgvParams),
    /// Integers of a width.
    Tfhe(TfheParams),
}

/// Does the same with the parameters of any scheme: those of CKKS, with bootstrapping or not, those
/// of BFV and BGV, for which the expression is compiled twice, and those of TFHE.
#[macro_export]
macro_rules! on_params {
    ($params:expr, ckks $ckks:pat => $of_ckks:expr, exact $exact:pat => $of_exact:expr,
     tfhe $tfhe:pat => $of_tfhe:expr $(,)?) => {
        match $params {
            $crate::Params::Ckks($ckks) => $of_ckks,
            $crate::Params::Bootstrap(all) => {
                let $ckks = all.params();
                $of_ckks
            }
            $crate::Params::Bfv($exact) => $of_exact,
            $crate::Params::Bgv($exact) => $of_exact,
            $crate::Params::Tfhe($tfhe) => $of_tfhe,
        }
    };
}

impl From<CkksParams> for Params {
    fn from(params: CkksParams) -> Self {
        Self::Ckks(params)
    }
}

impl From<TfheParams> for Params {
    fn from(params: TfheParams) -> Self {
        Self::Tfhe(params)
    }
}

impl<S: Integral> From<exact::Params<S>> for Params {
    fn from(params: exact::Params<S>) -> Self {
        S::params(params)
    }
}

impl Params {
    /// `ckks`, `bfv`, `bgv` or `tfhe`.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Ckks(_) | Self::Bootstrap(_) => "ckks",
            Self::Bfv(_) => "bfv",
            Self::Bgv(_) => "bgv",
            Self::Tfhe(_) => "tfhe",
        }
    }

    /// Whether the values are integers modulo t: under BFV and BGV.
    pub fn is_exact(&self) -> bool {
        self.plain_modulus().is_some()
    }

    /// The fingerprint that stands for the parameters in the frames of ciphertexts and keys.
    pub fn fingerprint(&self) -> Fingerprint {
        on_params!(self, ckks params => params.fingerprint(), exact params => params.fingerprint(),
            tfhe params => params.fingerprint())
    }

    /// All of the fingerprint in hexadecimal.
    pub fn fingerprint_text(&self) -> String {
        self.fingerprint().0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The parameters that CKKS programs compute with.
    pub fn ckks(&self) -> Option<&CkksParams> {
        on_params!(self, ckks params => Some(params), exact _ => None, tfhe _ => None)
    }

    /// The parameters with bootstrapping.
    pub fn bootstrapping(&self) -> Option<&BootstrapParams> {
        match self {
            Self::Bootstrap(params) => Some(params),
            _ => None,
        }
    }

    /// The ring and the digits; none under TFHE.
    pub fn rlwe(&self) -> Option<&RlweParams> {
        on_params!(self, ckks params => Some(params.rlwe()), exact params => Some(params.rlwe()),
            tfhe _ => None)
    }

    /// log2 of the ring's degree; none under TFHE.
    pub fn log_n(&self) -> Option<u32> {
        self.rlwe().map(|rlwe| rlwe.ring().log_n())
    }

    /// The values that a ciphertext can hold; none under TFHE, whose ciphertexts are batches of any
    /// size.
    pub fn slots(&self) -> Option<usize> {
        on_params!(self, ckks params => Some(params.slots()),
            exact params => Some(params.rlwe().ring().n()), tfhe _ => None)
    }

    /// The modulus of integers under BFV and BGV.
    pub fn plain_modulus(&self) -> Option<u64> {
        on_params!(self, ckks _ => None, exact params => Some(params.plain().value()), tfhe _ => None)
    }

    /// The levels that programs have; none under TFHE.
    pub fn depth(&self) -> Option<usize> {
        if let Some(params) = self.bootstrapping() {
            return Some(params.output_level() - params.input_level());
        }
        on_params!(self, ckks params => Some(params.max_level()),
            exact params => Some(params.max_level()), tfhe _ => None)
    }

    /// The bits of security; 0 for insecure parameters.
    pub fn security_bits(&self) -> u32 {
        match self {
            Self::Tfhe(params) => 128 * u32::from(params.is_secure()),
            Self::Bootstrap(params) if !params.is_secure() => 0,
            params => params.rlwe().map_or(0, |rlwe| rlwe.security().bits()),
        }
    }

    /// The greatest magnitude of results: under CKKS at level 0, under BFV and BGV below half of
    /// the modulus. None under TFHE.
    pub fn range(&self) -> Option<f64> {
        on_params!(self, ckks params => Some(params.range()),
            exact params => Some((params.plain().value() / 2) as f64), tfhe _ => None)
    }

    /// Why these parameters were chosen.
    pub fn explanation(&self) -> String {
        on_params!(self, ckks params => params.explanation().to_owned(),
        exact params => params.explanation().to_owned(),
        tfhe params => format!(
            "LWE dimension {}, GLWE degree {} x {}",
            params.dimension(),
            params.degree(),
            params.spec().glwe_dimension
        ))
    }

    /// The parameters as bytes.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> he_core::Result<Vec<u8>> {
        match self {
            Self::Bootstrap(params) => params.to_bytes(),
            params => on_params!(params, ckks params => params.to_bytes(),
                exact params => params.to_bytes(), tfhe params => params.to_bytes()),
        }
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes), of at least 128-bit security.
    ///
    /// # Errors
    /// [`Error::NoParams`] and [`Error::NotParams`] for other bytes; [`Error::Core`] for damaged
    /// and for insecure ones.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, false)
    }

    /// Reads parameters of any security: for experiments and tests only.
    ///
    /// # Errors
    /// The same as for [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, true)
    }

    fn read(bytes: &[u8], insecure: bool) -> Result<Self> {
        let first = FrameReader::new(bytes).next_frame(|kind, _| first_frame_limit(kind))?;
        macro_rules! read {
            ($variant:ident, $type:ty) => {
                Self::$variant(match insecure {
                    false => <$type>::from_bytes(bytes)?,
                    true => <$type>::from_bytes_insecure(bytes)?,
                })
            };
        }
        Ok(match first.ok_or(Error::NoParams)?.kind {
            FrameKind::CkksParams => read!(Ckks, CkksParams),
            FrameKind::CkksBootstrapParams => read!(Bootstrap, BootstrapParams),
            FrameKind::BfvParams => read!(Bfv, BfvParams),
            FrameKind::BgvParams => read!(Bgv, BgvParams),
            FrameKind::TfheParams => read!(Tfhe, TfheParams),
            found => return Err(Error::NotParams { found }),
        })
    }
}
