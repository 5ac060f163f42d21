//! The purposes of keys of bootstrapping.

use std::fmt;

/// The purpose of a key of bootstrapping. Keys are made and written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BootstrapKeyUse {
    /// ModRaise: from the secret of programs to the sparse one, over q_0 p_0 alone.
    ToSparse,
    /// ModRaise: from the sparse secret back, over all primes and in one digit.
    ToDense,
    /// Relinearisation in the modular reduction, over its primes and those that it borrows.
    Relin,
    /// X -> X^g in CoeffsToSlots, over the primes of its matrix and those that this borrows.
    CoeffsToSlots {
        /// The number of the matrix, in the order of their application.
        matrix: usize,
        /// The Galois element.
        g: u64,
    },
    /// X -> X^g for this element in SlotsToCoeffs, over the primes of its levels.
    SlotsToCoeffs(u64),
    /// X -> X^g for this element after the modular reduction, where parts are joined that were
    /// reduced in one ciphertext, over the primes of the relinearisation key.
    Join(u64),
}

impl fmt::Display for BootstrapKeyUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToSparse => f.write_str("the key to the sparse secret"),
            Self::ToDense => f.write_str("the key from the sparse secret"),
            Self::Relin => f.write_str("the relinearisation key"),
            Self::Join(g) => write!(f, "the key of the join for X -> X^{g}"),
            Self::CoeffsToSlots { matrix, g } => {
                write!(f, "the key of matrix {matrix} of CoeffsToSlots for X -> X^{g}")
            }
            Self::SlotsToCoeffs(g) => write!(f, "the key of SlotsToCoeffs for X -> X^{g}"),
        }
    }
}
