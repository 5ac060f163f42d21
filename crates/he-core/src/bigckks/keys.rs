//! Secret and evaluation keys: those of the RLWE layer over this scheme's switching keys.

use super::BigCkksParams;
use crate::backend::Cpu;
use crate::rlwe::{KeyTable, TernarySecret};

/// The secret key of `bigckks`.
///
/// Parameters can be copied and compared:
/// ```
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn copies(params: &BigCkksParams, secret: &SecretKey) -> bool {
///     let copy = Clone::clone(params);
///     PartialEq::eq(&copy, params)
/// }
/// ```
/// a secret cannot,
/// ```compile_fail
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn copies(params: &BigCkksParams, secret: &SecretKey) {
///     let copy: SecretKey = Clone::clone(secret);
/// }
/// ```
/// ```compile_fail
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn compares(params: &BigCkksParams, secret: &SecretKey) -> bool {
///     PartialEq::eq(secret, secret)
/// }
/// ```
/// and what a server holds takes none:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, bigckks::{Ciphertext, Evaluator, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, secret: &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, secret).map(drop)
/// }
/// ```
pub type SecretKey = TernarySecret<BigCkksParams>;

/// The evaluation keys of `bigckks`: the relinearisation key (evk of the paper) and Galois keys.
pub type EvaluationKeys<B = Cpu> = KeyTable<BigCkksParams, B>;
