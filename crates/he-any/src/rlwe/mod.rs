//! The schemes over RLWE, whose ciphertexts hold vectors: CKKS, BFV and BGV.
//!
//! An operation on ciphertexts of two of them, or with an engine of another, is an
//! [`Argument`](he_core::Error::Argument): callers compare parameters before.

/// Does the same with the engine, the ciphertext or anything else of each scheme, whose results are
/// of one type.
macro_rules! on_each {
    ($of:ident, $any:expr, $one:ident => $body:expr) => {
        match $any {
            $of::Ckks($one) => $body,
            $of::Bfv($one) => $body,
            $of::Bgv($one) => $body,
        }
    };
    ($of:ident, $any:expr, ckks $ckks:pat => $of_ckks:expr, exact $exact:pat => $of_exact:expr) => {
        match $any {
            $of::Ckks($ckks) => $of_ckks,
            $of::Bfv($exact) => $of_exact,
            $of::Bgv($exact) => $of_exact,
        }
    };
}
pub(crate) use on_each;

/// Makes a ciphertext of those of the engine's scheme.
macro_rules! computed {
    (($engine:expr, $($any:expr),+), ($e:ident, $($ct:ident),+) => $body:expr) => {
        computed!(($engine, $($any),+),
            ckks ($e, $($ct),+) => $body, exact ($e, $($ct),+) => $body)
    };
    (($engine:expr, $($any:expr),+),
     ckks ($e:ident, $($c:pat),+) => $ckks:expr, exact ($f:ident, $($d:pat),+) => $exact:expr) => {
        match ($engine, $($any),+) {
            ($crate::rlwe::Engine::Ckks($e), $($crate::rlwe::Cipher::Ckks($c)),+) => {
                $ckks.map($crate::rlwe::Cipher::Ckks)
            }
            ($crate::rlwe::Engine::Bfv($f), $($crate::rlwe::Cipher::Bfv($d)),+) => {
                $exact.map($crate::rlwe::Cipher::Bfv)
            }
            ($crate::rlwe::Engine::Bgv($f), $($crate::rlwe::Cipher::Bgv($d)),+) => {
                $exact.map($crate::rlwe::Cipher::Bgv)
            }
            _ => Err($crate::family::mixed()),
        }
    };
}

mod arithmetic;
mod bytes;
mod cipher;
mod ckks;
mod engine;
mod exact;
mod owner;
mod plain;

pub use cipher::Cipher;
pub use ckks::{Ckks, capacity};
pub use engine::Engine;
pub use exact::{Exact, Integral};
pub use owner::Owner;
pub use plain::Plain;
