//! The two families of schemes.

/// One of two things that correspond to each other: that of the schemes over RLWE, whose
/// ciphertexts hold vectors (CKKS, BFV and BGV), or that of TFHE, whose ciphertexts are integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family<R, T> {
    /// CKKS, BFV or BGV.
    Rlwe(R),
    /// TFHE.
    Tfhe(T),
}

impl<R, T> Family<R, T> {
    /// The one of CKKS, BFV and BGV.
    pub fn rlwe(&self) -> Option<&R> {
        match self {
            Self::Rlwe(of) => Some(of),
            Self::Tfhe(_) => None,
        }
    }

    /// The one of TFHE.
    pub fn tfhe(&self) -> Option<&T> {
        match self {
            Self::Rlwe(_) => None,
            Self::Tfhe(of) => Some(of),
        }
    }
}

/// The error of operands of two schemes or kinds, and of keys of another scheme: callers see to it
/// that parameters and kinds agree.
pub(crate) fn mixed() -> he_core::Error {
    he_core::Error::argument("operands", "ciphertexts of two schemes or kinds, or keys of another scheme")
}
