//! Parameters of a key set, and their predictions about ciphertexts before there are any: the
//! level, the depth and the predicted noise of every result.

use crate::column::{CellType, NoiseState, Progress};
use crate::error::Result;
use he_core::bfv::BfvParams;
use he_core::bgv::BgvParams;
use he_core::circuits::ckks::Polynomial;
use he_core::ckks::CkksParams;
use he_core::exact::{self, Noise, Scheme, State};
use he_core::tfhe::TfheParams;
use he_core::wire::{FrameKind, FrameReader, WireError, first_frame_limit};
use std::collections::BTreeMap;

/// The parameters of one scheme.
#[derive(Clone, Debug)]
pub enum Params {
    /// Real numbers.
    Ckks(CkksParams),
    /// Integers modulo t.
    Bfv(BfvParams),
    /// Integers modulo t.
    Bgv(BgvParams),
    /// Integers of a width.
    Tfhe(TfheParams),
}

/// A clear operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
}

impl Params {
    /// Reads the bytes of [`to_bytes`](Self::to_bytes), of at least 128-bit security.
    ///
    /// # Errors
    /// The bytes are not those of parameters of a scheme that columns can have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let first = FrameReader::new(bytes).next_frame(|kind, _| first_frame_limit(kind))?;
        Ok(match first.ok_or(WireError::Sequence)?.kind {
            FrameKind::CkksParams => Self::Ckks(CkksParams::from_bytes(bytes)?),
            FrameKind::BfvParams => Self::Bfv(BfvParams::from_bytes(bytes)?),
            FrameKind::BgvParams => Self::Bgv(BgvParams::from_bytes(bytes)?),
            FrameKind::TfheParams => Self::Tfhe(TfheParams::from_bytes(bytes)?),
            found => return Err(WireError::UnexpectedKind { found, expected: FrameKind::BfvParams }.into()),
        })
    }

    /// The parameters as bytes.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Ckks(params) => params.to_bytes()?,
            Self::Bfv(params) => params.to_bytes()?,
            Self::Bgv(params) => params.to_bytes()?,
            Self::Tfhe(params) => params.to_bytes()?,
        })
    }

    /// `ckks`, `bfv`, `bgv` or `tfhe`.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Ckks(_) => "ckks",
            Self::Bfv(_) => "bfv",
            Self::Bgv(_) => "bgv",
            Self::Tfhe(_) => "tfhe",
        }
    }

    /// The fingerprint that stands for the parameters in the metadata of columns.
    pub fn fingerprint(&self) -> String {
        let found = match self {
            Self::Ckks(params) => params.fingerprint(),
            Self::Bfv(params) => params.fingerprint(),
            Self::Bgv(params) => params.fingerprint(),
            Self::Tfhe(params) => params.fingerprint(),
        };
        found.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// log2 of the ring's degree; 0 under TFHE.
    pub fn log_n(&self) -> u32 {
        match self {
            Self::Ckks(params) => params.rlwe().ring().log_n(),
            Self::Bfv(params) => params.rlwe().ring().log_n(),
            Self::Bgv(params) => params.rlwe().ring().log_n(),
            Self::Tfhe(_) => 0,
        }
    }

    /// The slots of a ciphertext: values that it can hold. Cells of TFHE are batches of any size.
    pub fn slots(&self) -> usize {
        match self {
            Self::Ckks(params) => params.slots(),
            Self::Bfv(_) | Self::Bgv(_) => 1 << self.log_n(),
            Self::Tfhe(_) => usize::MAX,
        }
    }

    /// The approximate number of bytes of a ciphertext.
    pub fn ciphertext_bytes(&self) -> usize {
        let primes = match self {
            Self::Ckks(params) => params.rlwe().ring().q().len(),
            Self::Bfv(params) => params.rlwe().ring().q().len(),
            Self::Bgv(params) => params.rlwe().ring().q().len(),
            // 16 digits.
            Self::Tfhe(params) => return 16 * 8 * params.dimension(),
        };
        (16 * primes) << self.log_n()
    }

    /// A fresh encryption by public key.
    pub fn fresh(&self) -> Progress {
        match self {
            Self::Ckks(params) => Progress { depth: 0, level: params.max_level(), noise: None },
            Self::Bfv(params) => progress(params.fresh_state(), 0),
            Self::Bgv(params) => progress(params.fresh_state(), 0),
            Self::Tfhe(_) => Progress { depth: 0, level: 0, noise: None },
        }
    }

    /// The progress of a column, which is fresh unless its metadata say more.
    pub fn of(&self, column: &CellType) -> Progress {
        column.progress.unwrap_or_else(|| self.fresh())
    }

    /// The bits of noise that a column can still take, under BFV and BGV.
    pub fn budget(&self, of: &Progress) -> Option<f64> {
        match self {
            Self::Bfv(params) => state(params, of).ok().map(|state| params.budget_of(state)),
            Self::Bgv(params) => state(params, of).ok().map(|state| params.budget_of(state)),
            Self::Ckks(_) | Self::Tfhe(_) => None,
        }
    }

    /// The greatest magnitude of values that a column can hold at its level: (t - 1) / 2 under BFV
    /// and BGV.
    pub fn holds(&self, of: &Progress) -> f64 {
        match self {
            Self::Ckks(params) => match params.levels().get(of.level) {
                Some(level) => (params.log_q(of.level) - 1.0).exp2() / level.scale,
                None => 0.0,
            },
            Self::Bfv(params) => (params.plain().value() / 2) as f64,
            Self::Bgv(params) => (params.plain().value() / 2) as f64,
            Self::Tfhe(_) => f64::INFINITY,
        }
    }

    /// A sum or a difference.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn sum(&self, a: &Progress, b: &Progress) -> he_core::Result<Progress> {
        let depth = a.depth.max(b.depth);
        self.exact(
            |_| Ok(Progress { depth, level: a.level.min(b.level), noise: None }),
            |params| params.state_of_sum(state(params, a)?, state(params, b)?),
            |params| params.state_of_sum(state(params, a)?, state(params, b)?),
            depth,
        )
    }

    /// A sum of this many.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn total(&self, a: &Progress, count: u64) -> he_core::Result<Progress> {
        self.exact(
            |_| Ok(*a),
            |params| params.state_of_total(state(params, a)?, count),
            |params| params.state_of_total(state(params, a)?, count),
            a.depth,
        )
    }

    /// A product of two ciphertexts, which needs the relinearisation key.
    ///
    /// # Errors
    /// Nothing would be left to decrypt, or there is no level left.
    pub fn product(&self, a: &Progress, b: &Progress) -> he_core::Result<Progress> {
        let depth = a.depth.max(b.depth) + 1;
        self.exact(
            |params| {
                let left = a.level.min(b.level);
                let level = (1..=left).rev().find(|&level| params.takes_products(level));
                let level = level.ok_or(he_core::Error::LevelExhausted { needed: 1, left })?;
                Ok(Progress { depth, level: level - 1, noise: None })
            },
            |params| params.state_of_product(state(params, a)?, state(params, b)?),
            |params| params.state_of_product(state(params, a)?, state(params, b)?),
            depth,
        )
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
        self.exact(
            |_| match real {
                false => Ok(*a),
                true => below(a, 1),
            },
            |params| params.state_scaled(state(params, a)?, factor(params.plain().value())),
            |params| params.state_scaled(state(params, a)?, factor(params.plain().value())),
            a.depth,
        )
    }

    /// A sum with a clear number.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn shifted(&self, a: &Progress) -> he_core::Result<Progress> {
        self.exact(
            |_| Ok(*a),
            |params| params.state_with_constant(state(params, a)?),
            |params| params.state_with_constant(state(params, a)?),
            a.depth,
        )
    }

    /// A rotation, or several in sequence.
    ///
    /// # Errors
    /// Nothing would be left to decrypt.
    pub fn rotated(&self, a: &Progress, switches: usize) -> he_core::Result<Progress> {
        self.exact(
            |_| Ok(*a),
            |params| params.state_rotated(state(params, a)?, switches),
            |params| params.state_rotated(state(params, a)?, switches),
            a.depth,
        )
    }

    /// Levels further down, under CKKS.
    ///
    /// # Errors
    /// There are too few left.
    pub fn lowered(&self, a: &Progress, levels: usize) -> he_core::Result<Progress> {
        match self {
            Self::Ckks(_) => below(a, levels),
            _ => Ok(*a),
        }
    }

    /// A polynomial with these coefficients, that of the lowest degree first.
    ///
    /// # Errors
    /// Nothing would be left to decrypt, or there are too few levels; coefficients that are not
    /// finite.
    pub fn polynomial(&self, a: &Progress, coefficients: &[Number]) -> he_core::Result<Progress> {
        if let Self::Ckks(_) = self {
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

    fn exact(
        &self,
        other: impl FnOnce(&CkksParams) -> he_core::Result<Progress>,
        bfv: impl FnOnce(&BfvParams) -> he_core::Result<State>,
        bgv: impl FnOnce(&BgvParams) -> he_core::Result<State>,
        depth: u32,
    ) -> he_core::Result<Progress> {
        match self {
            Self::Ckks(params) => other(params),
            Self::Bfv(params) => Ok(progress(bfv(params)?, depth)),
            Self::Bgv(params) => Ok(progress(bgv(params)?, depth)),
            // Every operation of TFHE renews its results.
            Self::Tfhe(_) => Ok(self.fresh()),
        }
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

/// Coefficients as real numbers.
pub fn reals(coefficients: &[Number]) -> Vec<f64> {
    let real = |number: &Number| match *number {
        Number::Integer(value) => value as f64,
        Number::Real(value) => value,
    };
    coefficients.iter().map(real).collect()
}

/// A polynomial by its powers, each the product of two of half of its exponent: of depth
/// ceil(log2 d). The steps are the same on ciphertexts and on predictions of them.
pub fn power_sum<T: Clone>(
    x: &T,
    coefficients: &[Number],
    product: impl Fn(&T, &T) -> he_core::Result<T>,
    scale: impl Fn(&T, Number) -> he_core::Result<T>,
    sum: impl Fn(&T, &T) -> he_core::Result<T>,
    shift: impl Fn(&T, Number) -> he_core::Result<T>,
) -> he_core::Result<T> {
    fn power<T: Clone>(
        powers: &mut BTreeMap<usize, T>,
        exponent: usize,
        product: &impl Fn(&T, &T) -> he_core::Result<T>,
    ) -> he_core::Result<T> {
        if let Some(found) = powers.get(&exponent) {
            return Ok(found.clone());
        }
        let half = power(powers, exponent / 2, product)?;
        let other = power(powers, exponent - exponent / 2, product)?;
        let made = product(&half, &other)?;
        powers.insert(exponent, made.clone());
        Ok(made)
    }
    let mut powers = BTreeMap::from([(1, x.clone())]);
    let mut result: Option<T> = None;
    for (exponent, &coefficient) in coefficients.iter().enumerate().skip(1) {
        if coefficient == Number::Integer(0) {
            continue;
        }
        let term = power(&mut powers, exponent, &product)?;
        let term = if coefficient == Number::Integer(1) { term } else { scale(&term, coefficient)? };
        result = Some(match result {
            Some(so_far) => sum(&so_far, &term)?,
            None => term,
        });
    }
    let result = match result {
        Some(result) => result,
        None => scale(x, Number::Integer(0))?,
    };
    match coefficients.first() {
        None | Some(Number::Integer(0)) => Ok(result),
        Some(&constant) => shift(&result, constant),
    }
}
