//! Predefined parameters with bootstrapping, of 128-bit security.
//!
//! All presets remove every integer that a secret of weight 32 can leave (|I| <= 16), but not all
//! of them equally well: the probability of failure is that of an error above 2^-10 in any value
//! of a bootstrapped ciphertext ([`BootstrapParams::failure_log2`]). [`Preset::facts`] has all that
//! is stated here as numbers.
//!
//! Security: log2(QP) is within the table for the uniform ternary secret of programs. Under the
//! sparse secret there is one key modulo q_0 p_0, of 100 bits at N = 2^16 and 96 at 2^15, where the
//! table of [`max_sparse_log_qp`](crate::params::max_sparse_log_qp) allows 340 and 185.
//!
//! Precision is -log2 of the error of a real or imaginary part, for numbers uniform in the square
//! of real and imaginary parts up to one: the root mean square, and the worst of 100 bootstraps or
//! more (docs/benchmarks.md, 2026-11-22 to 2026-11-27).

use super::{BootstrapParams, BootstrapSpec, EvalModShape, LevelRun, Precision};
use crate::ckks::CkksParams;
use crate::params::ParamsError;
use std::fmt;

/// The predefined parameters, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// [`fast`].
    Fast,
    /// [`precise`].
    Precise,
    /// [`exact_bound`].
    ExactBound,
    /// [`small`].
    Small,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Precise, Self::ExactBound, Self::Small];

    /// The parameters.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn params(self) -> Result<BootstrapParams, ParamsError> {
        BootstrapParams::try_from(self.spec())
    }

    /// Their plain description.
    pub fn spec(self) -> BootstrapSpec {
        match self {
            Self::Fast => fast_spec(),
            Self::Precise => precise_spec(),
            Self::ExactBound => exact_bound_spec(),
            Self::Small => small_spec(),
        }
    }

    /// The precision, as measured: see the [module](self).
    pub fn precision(self) -> Precision {
        let (rms_bits, worst_bits) = match self {
            Self::Fast => (18.2, 14.2),
            Self::Precise => (28.5, 24.5),
            Self::ExactBound => (27.3, 23.7),
            Self::Small => (18.4, 15.9),
        };
        Precision { rms_bits, worst_bits }
    }

    /// The one of this [name](Self::name), if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name: `fast`, `precise`, `exact_bound` or `small`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Precise => "precise",
            Self::ExactBound => "exact_bound",
            Self::Small => "small",
        }
    }
}

impl CkksParams {
    /// Parameters whose ciphertexts can be refreshed, for programs of any depth: programs compute
    /// with [`BootstrapParams::params`].
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn bootstrappable(preset: Preset) -> Result<BootstrapParams, ParamsError> {
        preset.params()
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// N = 2^16, 32 768 slots, 16 levels at 2^40 after a bootstrap: the fastest for full vectors.
///
/// log2(QP) = 1716 of 1746 bits. The sine alone stands for the reduction, so the error of a value
/// m has a part of m (2 pi m / 2^10)^2 / 6: 2^-17.3 for magnitude one. Precision: 18.2 bits, 14.2
/// at worst. Failure: 2^-105.7. Keys: 8.09 GB.
///
/// # Errors
/// None in practice: the primes exist.
pub fn fast() -> Result<BootstrapParams, ParamsError> {
    Preset::Fast.params()
}

/// N = 2^16, 32 768 slots, 11 levels at 2^44 after a bootstrap, for high precision: the modular
/// reduction has scale 2^60, of two primes per level, and ends with the arcsine.
///
/// log2(QP) = 1743 of 1746 bits. Integers up to 10 are removed to 2^-38 of q_0; 11 and more, which
/// occur in one of 2^36 numbers, less exactly. Precision: 28.5 bits, 24.5 at worst.
/// Failure: 2^-105.7. Keys: 9.53 GB.
///
/// # Errors
/// None in practice: the primes exist.
pub fn precise() -> Result<BootstrapParams, ParamsError> {
    Preset::Precise.params()
}

/// As [`precise`], with 10 levels at 2^42 after a bootstrap, where every integer is removed to
/// 2^-42 of q_0: no slot is worse than another.
///
/// log2(QP) = 1739 of 1746 bits. Precision: 27.3 bits, 23.7 at worst. Failure: none.
/// Keys: 9.74 GB.
///
/// # Errors
/// None in practice: the primes exist.
pub fn exact_bound() -> Result<BootstrapParams, ParamsError> {
    Preset::ExactBound.params()
}

/// N = 2^15, 1024 slots, 4 levels at 2^38 after a bootstrap: the least memory and time.
///
/// Real and imaginary parts are reduced in one ciphertext. log2(QP) = 866 of 868 bits. Precision:
/// 18.4 bits, 15.9 at worst. Failure: 2^-110.7. Keys: 3.19 GB.
///
/// # Errors
/// None in practice: the primes exist.
pub fn small() -> Result<BootstrapParams, ParamsError> {
    Preset::Small.params()
}

/// The scale of levels whose primes have 50 bits: a little below 2^50, so that the primes nearest
/// to it are below 2^50 as well, where arithmetic is fastest.
const WIDE: f64 = 49.97;

/// The greatest integer that a sparse secret of weight 32 leaves: 33 numbers below 1/2.
const BOUND: u32 = 16;

const SPARSE_WEIGHT: usize = 32;

fn fast_spec() -> BootstrapSpec {
    BootstrapSpec {
        log_n: 16,
        log_slots: 15,
        base_bits: 50,
        base_scale_log2: 40.0,
        slots_to_coeffs: vec![42; 3],
        program: LevelRun::new(16, 40.0, &[40]),
        join: None,
        eval_mod_levels: vec![LevelRun::new(8, WIDE, &[50])],
        coeffs_to_slots: LevelRun::new(4, WIDE, &[50]),
        special: vec![50; 6],
        slots_to_coeffs_special: 2,
        borrowed: vec![0, 1, 1, 2],
        eval_mod: EvalModShape { bound: BOUND, degree: 28, doublings: 3, arcsine: false, focus: 0.35 },
        sparse_weight: SPARSE_WEIGHT,
    }
}

/// Squaring at scale s leaves s^2 over the level's primes: the scale slides from 2^59 to 2^50 in
/// the last doublings, so that the arcsine's levels are of one prime each.
fn sliding(doublings: usize) -> Vec<LevelRun> {
    let mut levels = vec![
        LevelRun::new(2, WIDE, &[50]),
        LevelRun::new(1, 56.0, &[31, 31]),
        LevelRun::new(1, 58.0, &[30, 30]),
        LevelRun::new(1, 59.0, &[30, 30]),
        LevelRun::new(1, 60.0, &[31, 30]),
    ];
    levels.push(LevelRun::new(doublings + 1, 60.0, &[30, 30]));
    levels
}

fn precise_spec() -> BootstrapSpec {
    BootstrapSpec {
        program: LevelRun::new(11, 44.0, &[44]),
        eval_mod_levels: sliding(3),
        coeffs_to_slots: LevelRun::new(4, 60.0, &[50]),
        borrowed: vec![0, 2, 2, 3],
        eval_mod: EvalModShape { bound: BOUND, degree: 30, doublings: 3, arcsine: true, focus: 0.5 },
        ..fast_spec()
    }
}

/// One doubling more, and a fit that all integers have an equal part in.
fn exact_bound_spec() -> BootstrapSpec {
    BootstrapSpec {
        program: LevelRun::new(10, 42.0, &[42]),
        eval_mod_levels: sliding(4),
        borrowed: vec![0, 2, 2, 3],
        eval_mod: EvalModShape { bound: BOUND, degree: 30, doublings: 4, arcsine: true, focus: 0.0 },
        ..precise_spec()
    }
}

fn small_spec() -> BootstrapSpec {
    BootstrapSpec {
        log_n: 15,
        log_slots: 10,
        base_bits: 48,
        base_scale_log2: 38.0,
        slots_to_coeffs: vec![32; 2],
        program: LevelRun::new(4, 38.0, &[38]),
        join: Some(26),
        eval_mod_levels: vec![LevelRun::new(8, 48.0, &[48])],
        coeffs_to_slots: LevelRun::new(2, 48.0, &[48]),
        special: vec![48; 2],
        slots_to_coeffs_special: 2,
        borrowed: vec![1, 2],
        ..fast_spec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains as the documentation states them.
    #[test]
    fn presets_are_secure_and_as_stated() {
        for (preset, primes, log_qp, limit, levels) in [
            (Preset::Fast, 32, 1716.0, 1746.0, 16),
            (Preset::Precise, 37, 1743.0, 1746.0, 11),
            (Preset::ExactBound, 38, 1739.0, 1746.0, 10),
            (Preset::Small, 18, 866.0, 868.0, 4),
        ] {
            let params = preset.params().unwrap();
            let ring = params.ring_spec();
            assert_eq!(ring.q().len(), primes, "{preset}");
            assert!((ring.log_qp() - log_qp).abs() < 1.0 && log_qp <= limit, "{preset}: {}", ring.log_qp());
            assert!(ring.primes().all(|q| q < 1 << 50), "{preset}");
            assert_eq!(params.output_level() - params.input_level(), levels, "{preset}");
            assert_eq!(Preset::by_name(preset.name()), Some(preset));
            let program = params.params();
            let ratio = ring.q()[0] as f64 / program.levels()[0].scale;
            assert!((libm::log2(ratio) - 10.0).abs() < 0.01, "{preset}: {ratio}");
            let stages = params.maps().iter().chain([params.reduction(), program]);
            let lengths = |params: &CkksParams| -> Vec<usize> {
                params.rlwe().digits().iter().map(ExactSizeIterator::len).collect()
            };
            let digits: Vec<_> = stages.map(lengths).collect();
            println!("{preset}: log QP {:.1}, digits {digits:?}", ring.log_qp());
        }
        assert_eq!(Preset::by_name("fastest"), None);
    }
}
