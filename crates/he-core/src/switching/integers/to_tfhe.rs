//! From the coefficients of BFV and BGV to large ciphertexts of TFHE, and to its integers.

use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::exact::{Ciphertext, Params, Scheme, TAIL};
use crate::params::ParamsError;
use crate::ring::Ring;
use crate::rlwe::KeyParams as _;
use crate::switching::{SwitchingParams, ToTfhe, ToTfheKey};
use crate::tfhe::{EncryptedInt, IntegerEvaluator, LweBatch, LweOps, Rounding};

/// A little less than the 6.34 deviations that a Gaussian exceeds with probability 2^-32.
///
/// [`IntegerEvaluator::rounded`] accepts noise up to those 6.34. The noise that stands for an
/// offset has to leave less room there than there is, also if the offset is nearly the whole
/// margin: by more than 6.34, such an offset would leave room that there is not.
const DEVIATIONS: f64 = 6.33;

/// A little more than these deviations, which noise must keep to here.
const MOST_DEVIATIONS: f64 = 6.35;

/// More bits than any noise leaves, and the most that [`IntegerEvaluator::rounded`] takes.
const MOST_BITS: u32 = 32;

/// Switches coefficients of BFV and BGV to TFHE; knows no secret.
///
/// Integers m of `bits` bits, -2^(bits - 1) to 2^(bits - 1) - 1 modulo t, become phases m / 2^bits:
/// the ciphertext is multiplied by s = round(t / 2^bits), and by what makes its correction factor f
/// equal to -Q, whereupon its phase is s m / t of the torus (see [`exact`](crate::exact)). In BFV f
/// is -Q already. In BGV the multiplier is about t / 2, and takes log2(t) - 1 bits of the noise
/// budget; [`switch`](Self::switch) multiplies before it lowers the level, where they are.
///
/// s m / t is m / 2^bits exactly if 2^bits divides t. Otherwise it is off by up to
/// [`offset`](Self::offset), at most 2^(bits - 2) / t of the torus, which counts as noise: little
/// for t = 65537, and too much for a t that is next to no multiple of 2^bits and not far above it.
///
/// ```
/// use he_core::{backend::Cpu, bgv::*, ring::Ring, rlwe::*, switching::*, tfhe};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = BgvParams::for_depth(65537, 1).build()?;
/// // Small parameters without security; otherwise `tfhe::presets::phases_2m128()` and
/// // `SwitchingParams::new`. The base is the one prime of level 0.
/// let small = tfhe::presets::insecure_phases()?;
/// let switching = SwitchingParams::insecure(params.rlwe(), 1, &small)?;
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let there = switching.ring(Cpu::new())?;
/// let mut rng = he_core::rand::rng();
/// let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// let torus_secret = tfhe::TfheSecretKey::generate(&small, &mut rng);
/// let key = ToTfheKey::generate(&secret, &torus_secret, &switching, &there, &mut rng)?;
/// let boot = tfhe::BootstrapKey::generate(&torus_secret, &mut rng);
/// let integers = tfhe::IntegerEvaluator::new(&Cpu::new(), &boot, tfhe::Carry::Ripple)?;
///
/// let ev = BgvEvaluator::new(&params, &ring)?;
/// let plain = ev.encoder().encode_coefficients(&[3i64, -100, 77])?;
/// let x = BgvSecretEncryptor::new(&params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
/// let switcher = IntegersToTfhe::new(&params, &switching, &there, 8)?;
/// let x = switcher.integers(&x, &[0, 1, 2], &key, &integers)?;
/// assert_eq!(torus_secret.decrypt_i64(&x)?, [3, -100, 77]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IntegersToTfhe<S: Scheme, B: RingOps + LweOps = Cpu> {
    params: Params<S>,
    bits: u32,
    to: ToTfhe<B>,
}

/// round(t / 2^bits).
fn scale(t: u64, bits: u32) -> u64 {
    ((u128::from(t) + (1 << bits >> 1)) >> bits) as u64
}

/// The most that s m / t is away from m / 2^bits.
fn offset(t: u64, bits: u32) -> f64 {
    let (s, unit) = (i128::from(scale(t, bits)), libm::exp2(f64::from(bits)));
    // 2^(bits - 1) |s / t - 2^-bits|, of which the numerator is exact.
    let difference = ((s << bits) - i128::from(t)).unsigned_abs() as f64;
    difference / unit / (t as f64) * (unit / 2.0)
}

/// log2 of the deviation of noise that is refused whenever noise of `deviation_log2` with an offset
/// would have to be.
///
/// With an offset o, noise of variance v is within a margin h if k^2 v <= (h - o)^2, k being
/// [`DEVIATIONS`]. That is k^2 (v + (2 h - o) o / k^2) <= h^2, whatever else is part of v.
fn with_offset(deviation_log2: f64, offset: f64, margin: f64) -> f64 {
    let added = (2.0 * margin - offset) * offset / (DEVIATIONS * DEVIATIONS);
    libm::log2(libm::exp2(2.0 * deviation_log2) + added) / 2.0
}

/// Half of a unit of integers of that many bits, on the torus.
fn margin(bits: u32) -> f64 {
    libm::exp2(-f64::from(bits) - 1.0)
}

/// By how many bits this deviation is too great for 2^-32, or, if negative, too small.
fn excess_bits(t: u64, bits: u32, deviation_log2: f64) -> f64 {
    let (margin, offset) = (margin(bits), offset(t, bits));
    if offset >= margin {
        return f64::INFINITY;
    }
    with_offset(deviation_log2, offset, margin) + libm::log2(MOST_DEVIATIONS / margin)
}

impl<S: Scheme, B: RingOps + LweOps> IntegersToTfhe<S, B> {
    /// For integers of `bits` bits; `ring` is that of [`SwitchingParams::ring`].
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for more bits than t has, or than the noise of the switch and
    /// the offset leave right with probability 1 - 2^-32; [`Error::ParamsMismatch`] for a switch
    /// from other parameters, [`Error::RingMismatch`] for another ring.
    pub fn new(params: &Params<S>, switching: &SwitchingParams, ring: &Ring<B>, bits: usize) -> Result<Self> {
        switching.source().check_same(params.rlwe(), "parameters of the switch")?;
        let to = ToTfhe::new(switching, ring)?;
        let t = params.plain().value();
        let possible = |bits: u32| scale(t, bits) > 0 && excess_bits(t, bits, switching.noise_log2()) <= 0.0;
        let fits = u32::try_from(bits).ok().filter(|&bits| (1..=MOST_BITS).contains(&bits) && possible(bits));
        let Some(bits) = fits else {
            let highest = (1..=MOST_BITS).rev().find(|&bits| possible(bits)).unwrap_or(0);
            let (what, found, highest) = ("bits of integers for TFHE", bits as f64, f64::from(highest));
            return Err(ParamsError::OutOfRange { what, found, lowest: 1.0, highest }.into());
        };
        Ok(Self { params: params.clone(), bits, to })
    }

    /// The bits of integers.
    pub fn bits(&self) -> usize {
        self.bits as usize
    }

    /// The parameters of the switch.
    pub fn switching(&self) -> &SwitchingParams {
        self.to.params()
    }

    /// The most by which a phase is away from m / 2^bits because 2^bits does not divide t.
    pub fn offset(&self) -> f64 {
        offset(self.params.plain().value(), self.bits)
    }

    /// The factor of the ciphertext: s -Q / f modulo t, in `[-t/2, t/2)`.
    fn multiplier(&self, ct: &Ciphertext<S, B>) -> Result<i64> {
        let (plain, f) = (self.params.plain(), ct.correction_factor());
        let t = plain.modulus();
        let why = || format!("{f} is not a unit modulo {}", plain.value());
        let inverse = plain.invert(f).ok_or_else(|| Error::argument("correction factor", why()))?;
        let minus_q = t.neg(t.product_of(&self.params.rlwe().ring().q_moduli()[..ct.meta.primes]));
        Ok(plain.center(t.mul(t.mul(minus_q, inverse), t.reduce(scale(plain.value(), self.bits)))))
    }

    /// log2 of the deviation of the phases of a switched ciphertext from m / 2^bits, on the torus:
    /// what [`IntegerEvaluator::rounded`] and its like ask for. It comes from the predicted noise,
    /// the switch ([`SwitchingParams::noise_log2`]), and the [`offset`](Self::offset), which counts
    /// as what makes lookups fail as often.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] for a ciphertext over fewer primes than the base of the switch;
    /// [`Error::BudgetSpent`] if integers would be taken for others with a probability above 2^-32;
    /// mismatch of parameters.
    pub fn deviation_log2(&self, ct: &Ciphertext<S, B>) -> Result<f64> {
        ct.check(&self.params)?;
        let (base, primes) = (self.switching().base(), ct.meta.primes);
        if primes < base {
            return Err(Error::LevelExhausted { needed: base - 1, left: primes - 1 });
        }
        let (model, multiplier) = (self.params.noise(), self.multiplier(ct)?.unsigned_abs());
        let multiplied = ct.meta.noise.scale(libm::log2(multiplier as f64));
        let noise = model.switched(multiplied, primes, base);
        // Some coefficients may have more noise than their root mean square says, and the
        // representative of the message over t is one more half.
        let noise = noise.rms_log2.max(noise.peak_log2 - libm::log2(TAIL));
        let square = |log2: f64| libm::exp2(2.0 * log2);
        let variance = (square(noise) + 1.0 / 12.0) * square(-model.log_q(base));
        let deviation = libm::log2(variance + square(self.switching().noise_log2())) / 2.0;
        let excess_bits = excess_bits(self.params.plain().value(), self.bits, deviation);
        if excess_bits > 0.0 {
            return Err(Error::BudgetSpent { excess_bits });
        }
        Ok(with_offset(deviation, self.offset(), margin(self.bits)))
    }

    /// Large ciphertexts whose phases are these coefficients over 2^bits: `[entry][index]` for a
    /// batch. Coefficients of one are switched together, so that more of them cost little.
    ///
    /// # Errors
    /// The errors of [`deviation_log2`](Self::deviation_log2); [`Error::Argument`] for an index
    /// that is not below N or a key of other parameters; [`Error::KeyMismatch`]; device errors.
    pub fn switch(
        &self,
        ct: &Ciphertext<S, B>,
        coefficients: &[usize],
        key: &ToTfheKey<B>,
    ) -> Result<LweBatch<B>> {
        self.deviation_log2(ct)?;
        self.to.check(coefficients, key)?;
        let (multiplier, mut pair) = (self.multiplier(ct)?, ct.pair.duplicate()?);
        if multiplier != 1 {
            let moduli = &self.params.rlwe().ring().q_moduli()[..ct.meta.primes];
            let factors: Vec<u64> = moduli.iter().map(|q| q.reduce_i64(multiplier)).collect();
            pair.c.iter_mut().try_for_each(|part| part.scale_assign(&factors))?;
        }
        let base = self.switching().base();
        let lowered = if base < ct.meta.primes { pair.mod_down(base)? } else { pair };
        self.to.switch(&lowered, coefficients, key)
    }

    /// These coefficients as integers of TFHE, of an even number of bits from 8 on: 3/2 bits
    /// bootstraps each ([`IntegerEvaluator::rounded`]).
    ///
    /// # Errors
    /// The errors of [`switch`](Self::switch) and of [`IntegerEvaluator::rounded`].
    pub fn integers(
        &self,
        ct: &Ciphertext<S, B>,
        coefficients: &[usize],
        key: &ToTfheKey<B>,
        evaluator: &IntegerEvaluator<B>,
    ) -> Result<EncryptedInt<B>> {
        let (deviation, phases) = (self.deviation_log2(ct)?, self.switch(ct, coefficients, key)?);
        Ok(evaluator.rounded(&phases, self.bits(), deviation, Rounding::Nearest)?.reinterpret())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_the_nearest() {
        for (t, bits, expected) in
            [(256, 8, 1), (257, 8, 1), (65537, 8, 256), (65537, 14, 4), (12289, 13, 2), (3, 2, 1), (3, 3, 0)]
        {
            assert_eq!(scale(t, bits), expected, "{t}, {bits} bits");
        }
    }

    /// The offset against all integers.
    #[test]
    fn offsets_bound_what_phases_are_off() {
        for (t, bits) in [(256u64, 8), (257, 8), (65537, 10), (12289, 9), (786_433, 12)] {
            let most = (0..1i64 << (bits - 1))
                .map(|m| (m + 1) as f64)
                .map(|m| (scale(t, bits) as f64 * m / t as f64 - m / f64::exp2(bits.into())).abs())
                .fold(0.0, f64::max);
            assert!((most - offset(t, bits)).abs() < 1e-12, "{t}: {most}, {}", offset(t, bits));
        }
        // Noise that just fits beside an offset just fits with what stands for both.
        for offset in [0.0, 1e-4, 3e-4] {
            let margin = margin(10);
            let left = (margin - offset) / DEVIATIONS;
            let both = with_offset(left.log2(), offset, margin);
            assert!((both.exp2() * DEVIATIONS / margin - 1.0).abs() < 1e-9, "{offset}");
        }
        // The offset of 8 bits modulo 257 is 255/256 of the margin: it is refused here, and by what
        // rounds its phases.
        let (margin, offset) = (margin(8), offset(257, 8));
        let alone = with_offset(f64::NEG_INFINITY, offset, margin).exp2();
        assert!(libm::erfc(margin / alone / 2f64.sqrt()).log2() > -32.0);
        assert!(excess_bits(257, 8, -60.0) > 0.0 && excess_bits(257, 7, -60.0) < 0.0);
    }
}
