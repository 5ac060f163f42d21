//! Parameters in bits: plain, checked, and chosen from needs.

#![expect(clippy::disallowed_methods, reason = "parameters are public")]

use super::Noise;
use crate::arith::ntt_primes_below;
use crate::backend::{KeyShape, WideSwitchShape, covering_span};
use crate::params::{ParamsError, Security, max_log_qp, security_of};
use crate::ring::{RingSpec, Span, SpecialFft};
use crate::rlwe::{Fingerprint, KeyParams, SecretDistribution, flood_cost_log2};
use std::sync::{Arc, OnceLock};

/// The width of the primes of the residue ring, for which every back end has a fast path.
const PRIME_BITS: u32 = 50;

/// A plain, unchecked description of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigCkksSpec {
    /// log2 of the ring degree, 2 ... 16.
    pub log_n: u32,
    /// log2 of the largest ciphertext modulus, 2 ... 1200.
    pub log_q: u32,
    /// log2 of the special modulus P, 1 ... 1200.
    pub log_p: u32,
    /// The bits of a digit of key switching, at most log P; those of log q for the one digit of the
    /// paper.
    pub digit_bits: u32,
    /// log2 of the scale of fresh encodings.
    pub scale_log2: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
}

impl BigCkksSpec {
    /// A uniform ternary secret and two digits of key switching, with P as wide as a digit.
    ///
    /// With D digits of l / D bits a key switch takes D + 2 transforms over about (1 + 2 / D) l
    /// bits of primes: (D + 2)^2 / D times l, 9 for the single digit of the paper, 8 for two and
    /// 8.3 for three. Two digits also need a P only half as wide.
    pub const fn new(log_n: u32, log_q: u32, scale_log2: u32) -> Self {
        let secret = SecretDistribution::UniformTernary;
        Self { log_n, log_q, log_p: log_q, digit_bits: log_q, scale_log2, secret }.with_digits(2)
    }

    /// Sets `digits` digits of equal width (the last may be narrower), with P as wide as one; 1 is
    /// the paper's key switching.
    #[must_use]
    pub const fn with_digits(mut self, digits: u32) -> Self {
        self.digit_bits = self.log_q.div_ceil(if digits == 0 { 1 } else { digits });
        self.log_p = self.digit_bits;
        self
    }

    /// Sets another distribution of the secret.
    #[must_use]
    pub const fn with_secret(mut self, secret: SecretDistribution) -> Self {
        self.secret = secret;
        self
    }
}

#[derive(Debug)]
struct Inner {
    spec: BigCkksSpec,
    ring: RingSpec,
    key_span: Span,
    security: Security,
    fingerprint: Fingerprint,
    explanation: String,
    /// The roots of the encoding's transform, once they are needed.
    fft: OnceLock<SpecialFft>,
}

/// Checked parameters, as a cheap handle. Errors are centred binomial of deviation 3.24.
#[derive(Clone, Debug)]
pub struct BigCkksParams(Arc<Inner>);

impl PartialEq for BigCkksParams {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}

impl Eq for BigCkksParams {}

impl TryFrom<BigCkksSpec> for BigCkksParams {
    type Error = ParamsError;

    /// Accepts parameters of at least 128-bit security by the table of 2024: log2(P q) for uniform
    /// ternary secrets.
    fn try_from(spec: BigCkksSpec) -> Result<Self, ParamsError> {
        Self::secure(spec, String::new())
    }
}

impl BigCkksParams {
    /// Accepts any degree from 2^2, any widths and any secret, whatever the security; for
    /// experiments and tests only.
    ///
    /// # Errors
    /// [`ParamsError::Degree`], [`ParamsError::OutOfRange`], [`ParamsError::Digits`].
    pub fn insecure(spec: BigCkksSpec) -> Result<Self, ParamsError> {
        Self::new(spec, String::new())
    }

    /// Parameters whose rescales may divide by 2^bits in total; see [`BigCkksBuilder`].
    pub const fn for_depth_bits(bits: u32) -> BigCkksBuilder {
        BigCkksBuilder {
            depth_bits: bits,
            precision_bits: 25,
            range_bits: 4,
            slots: 1,
            security: Security::Bits128,
            published: None,
        }
    }

    fn secure(spec: BigCkksSpec, explanation: String) -> Result<Self, ParamsError> {
        let params = Self::new(spec, explanation)?;
        if params.security() == Security::Insecure {
            let log_qp = f64::from(spec.log_q + spec.log_p);
            let limit = match spec.secret {
                SecretDistribution::UniformTernary => max_log_qp(spec.log_n, Security::Bits128).unwrap_or(0),
                SecretDistribution::Sparse { .. } => 0,
            };
            return Err(ParamsError::Insecure { log_n: spec.log_n, log_qp, limit });
        }
        Ok(params)
    }

    fn new(spec: BigCkksSpec, explanation: String) -> Result<Self, ParamsError> {
        let BigCkksSpec { log_n, log_q, log_p, digit_bits, scale_log2, secret } = spec;
        if !(RingSpec::MIN_LOG_N..=16).contains(&log_n) {
            return Err(ParamsError::Degree { found: log_n, lowest: RingSpec::MIN_LOG_N, highest: 16 });
        }
        let check = |what, found: f64, lowest: f64, highest: f64| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
        };
        check("log2(q)", f64::from(log_q), 2.0, 1200.0)?;
        check("log2(P)", f64::from(log_p), 1.0, 1200.0)?;
        check("log2(scale)", f64::from(scale_log2), 1.0, f64::from(log_q - 1))?;
        check("bits of a digit", f64::from(digit_bits), 1.0, f64::from(log_q))?;
        check("number of digits", f64::from(log_q.div_ceil(digit_bits)), 1.0, 64.0)?;
        if let SecretDistribution::Sparse { weight } = secret {
            check("weight of the secret", weight as f64, 1.0, f64::from(1 << log_n))?;
        }
        if digit_bits > log_p {
            let why = format!("a digit of {digit_bits} bits exceeds the special modulus of {log_p} bits");
            return Err(ParamsError::Digits { why });
        }
        let product_bits = product_bits(log_n, log_q, log_q) + 1;
        let key_bits = key_product_bits(&spec, log_q);
        let needed = product_bits.max(key_bits) + 2;
        // Primes just below 2^50 fall short of 50 bits by less than a tenth: there are thousands
        // above 2^49.9. There are at least two.
        let count = (f64::from(needed) / 49.9).ceil().max(2.0) as usize;
        let mut primes = ntt_primes_below(PRIME_BITS, log_n, count, &[])?;
        let special = primes.split_off(count.min(RingSpec::MAX_PRIMES));
        let ring = RingSpec::new(log_n, primes, special)?;
        let key_span = covering_span(&ring, key_bits).unwrap_or(Span::chain(ring.q().len()));
        let security = match secret {
            SecretDistribution::UniformTernary => security_of(log_n, f64::from(log_q + log_p)),
            SecretDistribution::Sparse { .. } => Security::Insecure,
        };
        let weight = match secret {
            SecretDistribution::UniformTernary => 0,
            SecretDistribution::Sparse { weight } => weight as u32,
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he bigckks parameters 1");
        [log_n, log_q, log_p, digit_bits, scale_log2, weight].iter().for_each(|number| {
            hasher.update(&number.to_le_bytes());
        });
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        let fft = OnceLock::new();
        Ok(Self(Arc::new(Inner { spec, ring, key_span, security, fingerprint, explanation, fft })))
    }

    /// The plain description.
    pub fn spec(&self) -> BigCkksSpec {
        self.0.spec
    }

    /// The encoding's transform, whose roots are computed once.
    pub(super) fn fft(&self) -> SpecialFft {
        self.0.fft.get_or_init(|| SpecialFft::new(self.slots())).clone()
    }

    /// The degree, and the primes through which products are computed. The primes are not part of
    /// the scheme, whose modulus is 2^(log q).
    pub fn ring(&self) -> &RingSpec {
        &self.0.ring
    }

    /// log2 of the largest ciphertext modulus.
    pub fn log_q(&self) -> u32 {
        self.0.spec.log_q
    }

    /// log2 of the special modulus.
    pub fn log_p(&self) -> u32 {
        self.0.spec.log_p
    }

    /// log2 of the scale of fresh encodings.
    pub fn scale_log2(&self) -> u32 {
        self.0.spec.scale_log2
    }

    /// The slots of a full plaintext: N/2.
    pub fn slots(&self) -> usize {
        self.ring().n() / 2
    }

    /// The security by the table; [`Security::Insecure`] for sparse secrets.
    pub fn security(&self) -> Security {
        self.0.security
    }

    /// The identity of these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// The reasons for the builder's choices; empty for parameters that were given.
    pub fn explanation(&self) -> &str {
        &self.0.explanation
    }

    /// The expected square of the secret's norm: 2N/3 or the weight.
    pub fn secret_weight(&self) -> f64 {
        self.0.spec.secret.weight(self.ring().n())
    }

    /// The bits of precision of values of magnitude one in a fresh encryption by public key: -log2
    /// of six standard deviations of a slot's error.
    pub fn fresh_precision_bits(&self) -> f64 {
        f64::from(self.scale_log2()) - Noise::new(self).fresh_slot_log2()
    }

    /// The digits of key switching of a ciphertext modulo 2^log_q.
    pub fn digits(&self, log_q: u32) -> usize {
        log_q.div_ceil(self.0.spec.digit_bits) as usize
    }

    /// The primes of keys.
    pub(crate) fn key_span(&self) -> Span {
        self.0.key_span
    }

    /// The shape of a key switch modulo 2^log_q.
    pub(crate) fn switch_shape(&self, log_q: u32, batch: usize) -> crate::Result<WideSwitchShape> {
        let spec = &self.0.spec;
        Ok(WideSwitchShape {
            bits: log_q,
            batch,
            digit_bits: spec.digit_bits,
            special_bits: spec.log_p,
            span: covering_span(self.ring(), key_product_bits(spec, log_q))?,
            key_span: self.0.key_span,
        })
    }
}

impl crate::rlwe::sealed::Sealed for BigCkksParams {}

impl KeyParams for BigCkksParams {
    fn key_ring(&self) -> &RingSpec {
        self.ring()
    }

    fn key_fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    fn distribution(&self) -> SecretDistribution {
        self.0.spec.secret
    }

    fn key_shape(&self) -> KeyShape {
        KeyShape { digits: self.digits(self.log_q()), span: self.key_span() }
    }

    fn key_security(&self) -> Security {
        self.security()
    }
}

/// The bits of the coefficients of a product of two polynomials with centred coefficients of `a`
/// and `b` bits: N 2^(a - 1) 2^(b - 1).
pub(crate) const fn product_bits(log_n: u32, a: u32, b: u32) -> u32 {
    log_n + a + b - 2
}

/// The bits of the sum of the digits' products with a key.
const fn key_product_bits(spec: &BigCkksSpec, log_q: u32) -> u32 {
    let digits = log_q.div_ceil(spec.digit_bits);
    product_bits(spec.log_n, spec.digit_bits, spec.log_q + spec.log_p)
        + digits.next_power_of_two().trailing_zeros()
}

/// Chooses the degree and the widths from needs.
///
/// Precision p means: after products of fresh values of magnitude one, six standard deviations of a
/// slot's error are at most 2^-p; the scale follows from it. q holds the scale, `range_bits` for
/// the magnitude of results, a sign, and the bits by which rescales divide. The builder takes the
/// smallest degree in 2^12 ... 2^16 that holds q and P with the required security, with two digits
/// of key switching or as many as make P narrow enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BigCkksBuilder {
    depth_bits: u32,
    precision_bits: u32,
    range_bits: u32,
    slots: usize,
    security: Security,
    /// The security and the decryptions of results that are published.
    published: Option<(u32, u64)>,
}

impl BigCkksBuilder {
    /// The bits of precision, 25 by default.
    #[must_use]
    pub const fn precision_bits(mut self, bits: u32) -> Self {
        self.precision_bits = bits;
        self
    }

    /// Results stay below 2^bits in magnitude; 4 by default.
    #[must_use]
    pub const fn range_bits(mut self, bits: u32) -> Self {
        self.range_bits = bits;
        self
    }

    /// Results are published ([`Decryptor::publish`](super::Decryptor::publish)), so many under one
    /// key with so many bits of statistical security for all of them together. Then the precision
    /// is that of published results: the scale is wider by what the flood costs, the sum of the
    /// security, log2 of the decryptions, log2 N and 2.2 bits.
    #[must_use]
    pub const fn published(mut self, security_bits: u32, decryptions: u64) -> Self {
        self.published = Some((security_bits, decryptions));
        self
    }

    /// The least number of slots; 1 by default.
    #[must_use]
    pub const fn slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// The security; 128 bits by default.
    #[must_use]
    pub const fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Chooses.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for numbers outside their domains;
    /// [`ParamsError::UnreachableBits`] if no degree suffices.
    pub fn build(&self) -> Result<BigCkksParams, ParamsError> {
        let check = |what, found: f64, lowest: f64, highest: f64| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
        };
        check("depth (bits)", f64::from(self.depth_bits), 0.0, 1200.0)?;
        check("precision (bits)", f64::from(self.precision_bits), 4.0, 45.0)?;
        check("range (bits)", f64::from(self.range_bits), 0.0, 64.0)?;
        check("number of slots", self.slots as f64, 1.0, f64::from(1 << 15))?;
        if let Some((security, decryptions)) = self.published {
            check("statistical security (bits)", f64::from(security), 1.0, 256.0)?;
            check("number of published decryptions", decryptions as f64, 1.0, u64::MAX as f64)?;
        }
        check("security (bits)", f64::from(self.security.bits()), 128.0, 256.0)?;
        let least = (usize::BITS - (self.slots - 1).leading_zeros() + 1).max(12);
        let mut reached = (least, 0, 0);
        for log_n in least..=16 {
            let limit = max_log_qp(log_n, self.security).unwrap_or(0);
            let noise = Noise::of_degree(log_n).fresh_slot_log2();
            let flood =
                self.published.map_or(0.0, |(security, count)| flood_cost_log2(security, count, log_n));
            let fresh = f64::from(self.precision_bits) + noise + flood;
            let growth = libm::log2(f64::from(self.depth_bits) / fresh + 1.0);
            let scale_log2 = (fresh + growth).ceil() as u32;
            let log_q = scale_log2 + self.range_bits + 1 + self.depth_bits;
            reached = (log_n, log_q + log_q.div_ceil(8), limit);
            if log_q > 1200 {
                continue;
            }
            for digits in 2..=8 {
                let spec = BigCkksSpec::new(log_n, log_q, scale_log2).with_digits(digits);
                let total = spec.log_q + spec.log_p;
                if total > limit {
                    continue;
                }
                let explanation = format!(
                    "degree 2^{log_n}: log2(q P) = {total} of {limit} bits that the table of 2024 grants for {} bits of security\n\
                     scale 2^{scale_log2}: {} bits of precision + {noise:.1} bits of encryption noise (6 sigma) + {growth:.1} bits for its growth + {flood:.1} bits for floods\n\
                     q of {log_q} bits: scale, {} bits for the magnitude of results, 1 for the sign, {} bits to rescale by\n\
                     P of {} bits, {digits} digits of key switching",
                    self.security.bits(),
                    self.precision_bits,
                    self.range_bits,
                    self.depth_bits,
                    spec.log_p,
                );
                return BigCkksParams::secure(spec, explanation);
            }
        }
        let (log_n, needed, limit) = reached;
        let (depth_bits, precision_bits) = (self.depth_bits, self.precision_bits);
        Err(ParamsError::UnreachableBits { depth_bits, precision_bits, needed, log_n, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_defect_is_refused() {
        let spec = BigCkksSpec::new(13, 140, 30);
        assert!(BigCkksParams::try_from(spec).is_ok());
        let insecure = BigCkksParams::try_from(BigCkksSpec::new(13, 150, 30));
        assert!(matches!(insecure, Err(ParamsError::Insecure { limit: 214, .. })), "{insecure:?}");
        let sparse = spec.with_secret(SecretDistribution::Sparse { weight: 64 });
        assert!(matches!(BigCkksParams::try_from(sparse), Err(ParamsError::Insecure { .. })));
        assert_eq!(BigCkksParams::insecure(sparse).unwrap().security(), Security::Insecure);
        for (bad, what) in [
            (BigCkksSpec { log_q: 1201, ..spec }, "log2(q)"),
            (BigCkksSpec { log_q: 1, ..spec }, "log2(q)"),
            (BigCkksSpec { log_p: 0, ..spec }, "log2(P)"),
            (BigCkksSpec { scale_log2: 140, ..spec }, "log2(scale)"),
            (BigCkksSpec { scale_log2: 0, ..spec }, "log2(scale)"),
            (BigCkksSpec { digit_bits: 0, ..spec }, "bits of a digit"),
            (BigCkksSpec { digit_bits: 2, ..spec }, "number of digits"),
            (spec.with_secret(SecretDistribution::Sparse { weight: 0 }), "weight of the secret"),
            (spec.with_secret(SecretDistribution::Sparse { weight: 8193 }), "weight of the secret"),
        ] {
            let error = BigCkksParams::insecure(bad);
            assert!(
                matches!(&error, Err(ParamsError::OutOfRange { what: found, .. }) if *found == what),
                "{error:?}"
            );
        }
        for log_n in [1, 17, u32::MAX] {
            let error = BigCkksParams::insecure(BigCkksSpec { log_n, ..spec });
            assert!(matches!(error, Err(ParamsError::Degree { .. })));
        }
        let wide = BigCkksSpec { digit_bits: spec.log_p + 1, ..spec };
        assert!(matches!(BigCkksParams::insecure(wide), Err(ParamsError::Digits { .. })));
    }

    #[test]
    fn every_width_has_its_primes() {
        for log_n in [2, 9, 16] {
            for log_q in [2, 60, 438, 1200] {
                for digits in [1, 2, 5] {
                    let params =
                        BigCkksParams::insecure(BigCkksSpec::new(log_n, log_q, 1).with_digits(digits))
                            .unwrap();
                    let bits = params.ring().log_qp();
                    let (n, q, p) = (f64::from(log_n), f64::from(log_q), f64::from(params.log_p()));
                    let digit = f64::from(params.spec().digit_bits);
                    assert!(bits > 2.0 * q + n + 1.0 && bits > digit + q + p + n, "{params:?}");
                    assert!(params.ring().primes().all(|prime| prime < 1 << 50));
                }
            }
        }
    }

    #[test]
    fn the_builder_meets_what_was_asked() {
        for depth_bits in [0, 1, 37, 200, 600] {
            for precision in [10, 25, 40] {
                let params = BigCkksParams::for_depth_bits(depth_bits)
                    .precision_bits(precision)
                    .slots(4096)
                    .build()
                    .unwrap();
                assert!(params.security() >= Security::Bits128 && params.slots() >= 4096);
                assert!(params.log_q() > params.scale_log2() + depth_bits);
                assert!(params.fresh_precision_bits() >= f64::from(precision));
                assert!(params.explanation().contains("rescale"));
            }
        }
        let secure = BigCkksParams::for_depth_bits(100).security(Security::Bits256).build().unwrap();
        assert_eq!(secure.security(), Security::Bits256);
        let error = BigCkksParams::for_depth_bits(1200).build();
        assert!(matches!(error, Err(ParamsError::UnreachableBits { depth_bits: 1200, .. })), "{error:?}");
        assert!(BigCkksParams::for_depth_bits(10).precision_bits(99).build().is_err());
        assert!(BigCkksParams::for_depth_bits(10).slots(0).build().is_err());
    }
}
