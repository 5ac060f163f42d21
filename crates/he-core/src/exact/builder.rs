//! Parameters chosen from needs.

use super::params::{after_products, has_slots};
use super::{ExactSpec, NoiseModel, Params, PlainModulus, Scheme};
use crate::params::{ParamsError, Security, max_log_qp, security_of};
use crate::ring::RingSpec;
use crate::rlwe::RlweParams;
use std::marker::PhantomData;

/// The widths of chain primes that are tried: up to 50 bits, which every device multiplies fastest.
const WIDTHS: std::ops::RangeInclusive<u32> = 22..=50;

/// Chooses degree and primes from the plaintext modulus and the multiplicative depth.
///
/// Depth d means: encryptions by public key, multiplied pairwise and relinearised d times (a
/// product of 2^d of them), with `margin_bits` of predicted noise budget left: for sums (n terms
/// take log2(n) bits), rotations, and products by plaintexts (each takes about log2(t
/// sqrt(N)) + 1 bits). The builder takes the smallest degree in 2^12 ... 2^16 that holds this with
/// the required security, there the fewest primes, of those the narrowest, and the digits of key
/// switching that take the fewest modular products, up to 5 %, for which security leaves room: few
/// and long ones, at least three if there are that many primes.
#[derive(Clone, Debug, PartialEq)]
pub struct Builder<S> {
    plain_modulus: u64,
    depth: usize,
    margin_bits: u32,
    slots: bool,
    unit_correction_factors: bool,
    security: Security,
    log_n: Option<u32>,
    scheme: PhantomData<S>,
}

impl<S: Scheme> Params<S> {
    /// Parameters for `depth` successive products of integers in slots, whose results stay below
    /// 2^bits in magnitude, of either sign, modulo the t of [`PlainModulus::for_bits`]. See
    /// [`Builder`].
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] unless 1 <= bits <= 58.
    pub fn for_bits(bits: u32, depth: usize) -> Result<Builder<S>, ParamsError> {
        Ok(Self::for_depth(PlainModulus::for_bits(bits)?.value(), depth).slots())
    }

    /// Parameters for integers modulo `plain_modulus` and `depth` successive products; see
    /// [`Builder`].
    pub fn for_depth(plain_modulus: u64, depth: usize) -> Builder<S> {
        Builder {
            plain_modulus,
            depth,
            margin_bits: 10,
            slots: false,
            unit_correction_factors: false,
            security: Security::Bits128,
            log_n: None,
            scheme: PhantomData,
        }
    }
}

impl<S: Scheme> Builder<S> {
    /// The bits of noise budget that are left after the products; 10 by default.
    #[must_use]
    pub fn margin_bits(mut self, bits: u32) -> Self {
        self.margin_bits = bits;
        self
    }

    /// Demands slots: the plaintext modulus must be a prime equal to 1 modulo 2N.
    #[must_use]
    pub fn slots(mut self) -> Self {
        self.slots = true;
        self
    }

    /// Chooses chain primes that are 1 modulo t: see [`ExactSpec::with_unit_correction_factors`].
    #[must_use]
    pub fn unit_correction_factors(mut self) -> Self {
        self.unit_correction_factors = true;
        self
    }

    /// The security; 128 bits by default.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// A fixed degree 2^log_n instead of the smallest possible.
    #[must_use]
    pub fn log_n(mut self, log_n: u32) -> Self {
        self.log_n = Some(log_n);
        self
    }

    /// The budget after the products.
    fn budget(&self, model: &NoiseModel) -> f64 {
        after_products::<S>(model, model.public(), model.chain(), self.depth)
            .map_or(0.0, |(primes, noise)| model.budget(noise, primes))
    }

    /// The least width for which this many primes suffice, with `alpha` special primes of that
    /// width.
    fn width(&self, log_n: u32, count: usize, alpha: usize) -> Option<u32> {
        let enough = |bits: u32| {
            // The largest primes of a width may be a little below 2^bits.
            let widths = vec![f64::from(bits) - 0.05; count];
            let digits = RlweParams::even_digits(count, count.div_ceil(alpha));
            let log_p = (f64::from(bits) - 0.05) * alpha as f64;
            let n = f64::from(log_n).exp2();
            let model = NoiseModel::from_bits(n, self.plain_modulus, &widths, log_p, &digits);
            self.budget(&model) >= f64::from(self.margin_bits)
        };
        // Narrow primes do not exist at large degrees.
        let (mut low, mut high) = ((*WIDTHS.start()).max(log_n + 8), *WIDTHS.end());
        if !enough(high) {
            return None;
        }
        while low < high {
            let middle = (low + high) / 2;
            if enough(middle) { high = middle } else { low = middle + 1 }
        }
        Some(high)
    }

    /// Chooses.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for numbers outside their domains; [`ParamsError::NoSlots`] if
    /// slots are demanded that no degree has; [`ParamsError::DepthUnreachable`] if no degree
    /// suffices.
    pub fn build(&self) -> Result<Params<S>, ParamsError> {
        let check = |what, found: f64, lowest: f64, highest: f64| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
        };
        PlainModulus::new(self.plain_modulus)?;
        check("depth", self.depth as f64, 0.0, 60.0)?;
        check("margin (bits)", f64::from(self.margin_bits), 1.0, 1000.0)?;
        check("security (bits)", f64::from(self.security.bits()), 128.0, 256.0)?;
        if let Some(log_n) = self.log_n {
            check("log2 of the degree", f64::from(log_n), 12.0, 16.0)?;
        }
        let degrees = self.log_n.map_or(12..=16, |log_n| log_n..=log_n);
        let (t, first) = (self.plain_modulus, *degrees.start());
        let mut unreachable = ParamsError::NoSlots { found: t, log_n: first };
        for log_n in degrees {
            if self.slots && !has_slots(t, log_n) {
                continue;
            }
            let limit = max_log_qp(log_n, self.security).unwrap_or(0);
            unreachable = ParamsError::DepthUnreachable { depth: self.depth, plain_modulus: t, log_n, limit };
            // The chain and one special prime of the least width.
            let most = (limit / WIDTHS.start()).saturating_sub(1) as usize;
            for count in 1..=RingSpec::MAX_PRIMES.min(most) {
                let Some(params) = self.with_primes(log_n, count, limit)? else { continue };
                return Ok(params);
            }
        }
        Err(unreachable)
    }

    /// The parameters with this many chain primes, if they suffice and are secure.
    fn with_primes(&self, log_n: u32, count: usize, limit: u32) -> Result<Option<Params<S>>, ParamsError> {
        for alpha in RlweParams::digit_lengths(log_n, count) {
            if WIDTHS.start() * (count + alpha) as u32 > limit {
                continue;
            }
            let Some(least) = self.width(log_n, count, alpha) else { continue };
            for bits in least..=*WIDTHS.end() {
                // A special prime is as wide as the widest prime of a digit.
                let total = bits * (count + alpha) as u32;
                if total > limit {
                    break;
                }
                let chosen = if self.unit_correction_factors {
                    ExactSpec::with_unit_correction_factors
                } else {
                    ExactSpec::from_bits
                };
                let spec = chosen(log_n, &vec![bits; count], &vec![bits; alpha], self.plain_modulus);
                // There are too few primes of a narrow width; the next width has twice as many.
                let Ok(spec) = spec else { continue };
                let digits = RlweParams::even_digits(count, count.div_ceil(alpha));
                let ring = RingSpec::new(log_n, spec.q, spec.p)?;
                if security_of(log_n, ring.log_qp()) < self.security {
                    break;
                }
                // Narrow special primes may be too far below those of a digit.
                let Ok(rlwe) = RlweParams::new(ring, digits) else { continue };
                let model = NoiseModel::new(&rlwe, self.plain_modulus);
                let budget = self.budget(&model);
                if budget < f64::from(self.margin_bits) {
                    continue;
                }
                let explanation = format!(
                    "degree 2^{log_n}: log2(QP) = {total} of {limit} bits that the table of 2024 grants for {} bits of security\n\
                     {count} prime(s) of {bits} bits: {budget:.1} bits of noise budget after depth {} modulo {}\n\
                     {alpha} special prime(s), {}",
                    self.security.bits(),
                    self.depth,
                    self.plain_modulus,
                    RlweParams::explain_digits(log_n, count, alpha),
                );
                return Params::with_rlwe(rlwe, self.plain_modulus, explanation).map(Some);
            }
        }
        Ok(None)
    }
}
