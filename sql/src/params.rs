//! Predictions about ciphertexts before there are any: the level, the depth and the predicted noise
//! of every result.

use crate::column::{CellType, NoiseState, Progress};
use crate::error::Result;
use he_any::rlwe::capacity;
use he_any::{Number, Params, on_params, power_sum, reals};
use he_core::circuits::ckks::Polynomial;
use he_core::exact::{self, Noise, Scheme, State};
use he_core::wire::{FrameKind, WireError};

/// Reads parameters that columns can have, of at least 128-bit security.
///
/// # Errors
/// The bytes are those of something else.
pub fn read(bytes: &[u8]) -> Result<Params> {
    match Params::from_bytes(bytes)? {
        Params::Bootstrap(_) => {
            let found = FrameKind::CkksBootstrapParams;
            Err(WireError::UnexpectedKind { found, expected: FrameKind::BfvParams }.into())
        }
        params => Ok(params),
    }
}

/// The predictions of parameters.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a>(pub &'a Params);

impl Predictions<'_> {
    /// Whether the values are real numbers.
    pub fn of_reals(&self) -> bool {
        self.0.ckks().is_some()
    }

    /// The slots of a ciphertext: values that it can hold. Cells of TFHE are batches of any size.
    pub fn slots(&self) -> usize {
        self.0.slots().unwrap_or(usize::MAX)
    }

    /// The approximate number of bytes of a ciphertext.
    pub fn ciphertext_bytes(&self) -> usize {
        match (self.0, self.0.rlwe()) {
            // 16 digits.
            (Params::Tfhe(params), _) => 16 * 8 * params.dimension(),
            (_, rlwe) => rlwe.map_or(0, |rlwe| (16 * rlwe.ring().q().len()) << rlwe.ring().log_n()),
        }
    }

    /// A fresh encryption by public key.
    pub fn fresh(&self) -> Progress {
        on_params!(self.0, ckks params => Progress { depth: 0, level: params.max_level(), noise: None },
            exact params => progress(params.fresh_state(), 0),
            tfhe _ => Progress { depth: 0, level: 0, noise: None })
    }

    /// The progress of a column, which is fresh unless its metadata say more.
    pub fn of(&self, column: &CellType) -> Progress {
        column.progress.unwrap_or_else(|| self.fresh())
    }

    /// The bits of noise that a column can still take, under BFV and BGV.
    pub fn budget(&self, of: &Progress) -> Option<f64> {
        on_params!(self.0, ckks _ => None,
            exact params => state(params, of).ok().map(|state| params.budget_of(state)), tfhe _ => None)
    }

    /// The greatest magnitude of values that a column can hold at its level: (t - 1) / 2 under BFV
    /// and BGV.
    pub fn holds(&self, of: &Progress) -> f64 {
        on_params!(self.0,
            ckks params => match params.levels().get(of.level) {
                Some(level) => capacity(params, of.level, level.scale),
                None => 0.0,
            },
            exact params => (params.plain().value() / 2) as f64,
            tfhe _ => f64::INFINITY)
    }

    /// A sum or a difference.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn sum(&self, a: &Progress, b: &Progress) -> he_core::Result<Progress> {
        let depth = a.depth.max(b.depth);
        on_params!(self.0,
            ckks _ => Ok(Progress { depth, level: a.level.min(b.level), noise: None }),
            exact params => {
                Ok(progress(params.state_of_sum(state(params, a)?, state(params, b)?)?, depth))
            },
            tfhe _ => Ok(self.fresh()))
    }

    /// A sum of this many.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn total(&self, a: &Progress, count: u64) -> he_core::Result<Progress> {
        on_params!(self.0, ckks _ => Ok(*a),
            exact params => Ok(progress(params.state_of_total(state(params, a)?, count)?, a.depth)),
            tfhe _ => Ok(self.fresh()))
    }

    /// A product of two ciphertexts, which needs the relinearisation key.
    ///
    /// # Errors
    /// Nothing would be left to decrypt, or there is no level left.
    pub fn product(&self, a: &Progress, b: &Progress) -> he_core::Result<Progress> {
        let depth = a.depth.max(b.depth) + 1;
        on_params!(self.0,
            ckks params => {
                let left = a.level.min(b.level);
                let level = (1..=left).rev().find(|&level| params.takes_products(level));
                let level = level.ok_or(he_core::Error::LevelExhausted { needed: 1, left })?;
                Ok(Progress { depth, level: level - 1, noise: None })
            },
            exact params => {
                Ok(progress(params.state_of_product(state(params, a)?, state(params, b)?)?, depth))
            },
            tfhe _ => Ok(self.fresh()))
    }

    /// A product with a clear number; `None` is one that is not known yet, whose greatest magnitude
    /// is assumed. Under CKKS a real number takes a level and an integer none.
    ///
    /// # Errors
    /// Nothing would be left to decrypt, or there is no level left.
    pub fn scaled(&self, a: &Progress, number: Option<Number>, real: bool) -> he_core::Result<Progress> {
        let factor = |t: u64| match number {
            Some(Number::Integer(value)) => value,
            _ => i64::try_from(t / 2).unwrap_or(i64::MAX),
        };
        on_params!(self.0, ckks _ => if real { below(a, 1) } else { Ok(*a) },
            exact params => {
                let factor = factor(params.plain().value());
                Ok(progress(params.state_scaled(state(params, a)?, factor)?, a.depth))
            },
            tfhe _ => Ok(self.fresh()))
    }

    /// A sum with a clear number.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn shifted(&self, a: &Progress) -> he_core::Result<Progress> {
        on_params!(self.0, ckks _ => Ok(*a),
            exact params => Ok(progress(params.state_with_constant(state(params, a)?)?, a.depth)),
            tfhe _ => Ok(self.fresh()))
    }

    /// A rotation, or several in sequence.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn rotated(&self, a: &Progress, switches: usize) -> he_core::Result<Progress> {
        on_params!(self.0, ckks _ => Ok(*a),
            exact params => Ok(progress(params.state_rotated(state(params, a)?, switches)?, a.depth)),
            tfhe _ => Ok(self.fresh()))
    }

    /// Levels further down, under CKKS.
    ///
    /// # Errors
    /// There are too few left.
    pub fn lowered(&self, a: &Progress, levels: usize) -> he_core::Result<Progress> {
        if self.of_reals() { below(a, levels) } else { Ok(*a) }
    }

    /// A polynomial with these coefficients, that of the lowest degree first.
    ///
    /// # Errors
    /// Nothing would be left to decrypt, or there are too few levels; coefficients that are not
    /// finite.
    pub fn polynomial(&self, a: &Progress, coefficients: &[Number]) -> he_core::Result<Progress> {
        if self.of_reals() {
            let polynomial = Polynomial::power(&reals(coefficients))?;
            return below(a, polynomial.requirements().depth);
        }
        power_sum(
            a,
            coefficients,
            |a, b| self.product(a, b),
            |a, number| self.scaled(a, Some(number), false),
            |a, b| self.sum(a, b),
            |a, _| self.shifted(a),
        )
    }
}

fn below(a: &Progress, needed: usize) -> he_core::Result<Progress> {
    match a.level.checked_sub(needed) {
        Some(level) => Ok(Progress { depth: a.depth + needed as u32, level, noise: None }),
        None => Err(he_core::Error::LevelExhausted { needed, left: a.level }),
    }
}

fn progress(state: State, depth: u32) -> Progress {
    let Noise { rms_log2, peak_log2, degree } = state.noise();
    let noise = NoiseState { factor: state.correction_factor(), rms_log2, peak_log2, degree };
    Progress { depth, level: state.level(), noise: Some(noise) }
}

fn state<S: Scheme>(params: &exact::Params<S>, of: &Progress) -> he_core::Result<State> {
    match of.noise {
        None => Ok(params.fresh_state()),
        Some(NoiseState { factor, rms_log2, peak_log2, degree }) => {
            params.state(of.level, factor, Noise { rms_log2, peak_log2, degree })
        }
    }
}
