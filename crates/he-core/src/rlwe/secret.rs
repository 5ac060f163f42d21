//! Ternary secrets, dense and sparse.

use super::{Fingerprint, RlweParams};
use crate::backend::{KeyShape, RingOps};
use crate::error::{Error, Result};
use crate::key_set::KeySetId;
use crate::params::{ParamsError, Security, max_sparse_log_qp};
use crate::reveal;
use crate::ring::{Coeff, Eval, Poly, Ring, RingSpec, SecretPoly, Seed, Span, ternary_row};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// The distribution of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDistribution {
    /// Each coefficient uniform in {-1, 0, 1}: what the security table is made for.
    UniformTernary,
    /// `weight` coefficients are -1 or 1, the others 0: HWT(h) of Cheon, Kim, Kim and Song (2017).
    /// The security table does not cover it.
    Sparse {
        /// The Hamming weight h.
        weight: usize,
    },
}

impl SecretDistribution {
    /// Expected square of the norm of a secret of `n` coefficients: 2N/3, or the weight.
    pub fn weight(self, n: usize) -> f64 {
        match self {
            Self::UniformTernary => 2.0 * n as f64 / 3.0,
            Self::Sparse { weight } => weight as f64,
        }
    }

    /// A secret of `n` coefficients. Constant time.
    fn draw(self, n: usize, rng: &mut (impl CryptoRng + ?Sized)) -> Zeroizing<Vec<i8>> {
        let mut row = Zeroizing::new(vec![0i64; n]);
        match self {
            Self::UniformTernary => ternary_row(&Seed::random(rng), 0, 0, &mut row),
            Self::Sparse { weight } => sparse_row(weight, &mut row, rng),
        }
        Zeroizing::new(row.iter().map(|&c| c as i8).collect())
    }
}

/// Exactly `weight` signs at uniform places, to a bias of 2^-47 per coefficient: selection sampling
/// (Knuth, TAOCP 3.4.2, algorithm S), which takes coefficient k with probability (what is
/// missing) / (what is left). Constant time.
fn sparse_row(weight: usize, out: &mut [i64], rng: &mut (impl CryptoRng + ?Sized)) {
    let (n, mut missing) = (out.len() as u64, weight as u64);
    for (k, out) in (0u64..).zip(out) {
        let place = ((u128::from(rng.next_u64()) * u128::from(n - k)) >> 64) as u64;
        // 1 iff place < missing: both are below 2^63.
        let taken = place.wrapping_sub(missing) >> 63;
        let sign = 1 - 2 * (rng.next_u64() & 1) as i64;
        *out = taken as i64 * sign;
        missing -= taken;
    }
}

/// Keeps [`KeyParams`] and [`EvaluationKey`](super::EvaluationKey) to this crate.
pub(crate) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for RlweParams {}

/// Parameters that have keys: [`RlweParams`], and those of [`bigckks`](crate::bigckks).
pub trait KeyParams: Clone + PartialEq + std::fmt::Debug + sealed::Sealed {
    /// The ring that keys live in.
    fn key_ring(&self) -> &RingSpec;
    /// The fingerprint of the parameters in files.
    fn key_fingerprint(&self) -> Fingerprint;
    /// The distribution of their secrets.
    fn distribution(&self) -> SecretDistribution;
    /// The shape of their switching keys.
    fn key_shape(&self) -> KeyShape;
    /// Their security, which is that of secrets of their distribution.
    fn key_security(&self) -> Security;

    /// Whether something of `found` parameters belongs to these; `what` names it.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    fn check_same(&self, found: &Self, what: &'static str) -> Result<()> {
        if self == found {
            return Ok(());
        }
        let [found, expected] = [found, self].map(|params| params.key_fingerprint().to_string());
        Err(Error::ParamsMismatch { what, found, expected })
    }
}

impl KeyParams for RlweParams {
    fn key_ring(&self) -> &RingSpec {
        self.ring()
    }

    fn key_fingerprint(&self) -> Fingerprint {
        self.fingerprint()
    }

    fn distribution(&self) -> SecretDistribution {
        SecretDistribution::UniformTernary
    }

    fn key_shape(&self) -> KeyShape {
        KeyShape { digits: self.digits().len(), span: self.key_span() }
    }

    fn key_security(&self) -> Security {
        self.security()
    }
}

/// Whether each of -1, 0 and 1 occurs about as often as in a uniform ternary secret, as
/// [`TernarySecret::from_coefficients`] has it. Constant time.
fn looks_uniform(coefficients: &[i8]) -> bool {
    let n = coefficients.len() as i64;
    let count = |value: i8| coefficients.iter().map(|&c| i64::from(c == value)).sum::<i64>();
    let off = [-1, 0, 1].map(|value| 3 * count(value) - n);
    off.iter().fold(true, |all, off| all & (off * off <= 409 * n))
}

/// A ternary secret under parameters `P`, on the host; wiped on drop, never printed, not
/// comparable: [`SecretKey`](super::SecretKey) of `rlwe`, [`SecretKey`](crate::bigckks::SecretKey)
/// of `bigckks`.
///
/// Parameters can be copied:
/// ```
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn copies(params: &RlweParams, secret: &SecretKey) {
///     let copy = Clone::clone(params);
/// }
/// ```
/// a secret cannot:
/// ```compile_fail
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn copies(params: &RlweParams, secret: &SecretKey) {
///     let copy = Clone::clone(secret);
/// }
/// ```
/// Parameters can be compared:
/// ```
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn compares(params: &RlweParams, secret: &SecretKey) {
///     fn equal_to_itself<T: PartialEq>(x: &T) -> bool {
///         x == x
///     }
///     equal_to_itself(params);
/// }
/// ```
/// secrets cannot, in a time that would tell where they differ:
/// ```compile_fail
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn compares(params: &RlweParams, secret: &SecretKey) {
///     fn equal_to_itself<T: PartialEq>(x: &T) -> bool {
///         x == x
///     }
///     equal_to_itself(secret);
/// }
/// ```
/// A fingerprint can be shown:
/// ```
/// # use he_core::rlwe::{Fingerprint, SecretKey};
/// fn shows(fingerprint: &Fingerprint, secret: &SecretKey) -> String {
///     ToString::to_string(fingerprint)
/// }
/// ```
/// a secret cannot (its `Debug` output is `SecretKey { .. }`):
/// ```compile_fail
/// # use he_core::rlwe::{Fingerprint, SecretKey};
/// fn shows(fingerprint: &Fingerprint, secret: &SecretKey) -> String {
///     ToString::to_string(secret)
/// }
/// ```
/// The functions of a server take evaluation keys:
/// ```
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Evaluator}, rlwe::{EvaluationKeys, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, keys: &EvaluationKeys<Cpu>, secret:
/// &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, keys).map(drop)
/// }
/// ```
/// and never a secret:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Evaluator}, rlwe::{EvaluationKeys, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, keys: &EvaluationKeys<Cpu>, secret:
/// &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, secret).map(drop)
/// }
/// ```
pub struct TernarySecret<P: KeyParams> {
    params: P,
    coefficients: Zeroizing<Vec<i8>>,
    key_set: KeySetId,
}

/// The secret key of every scheme over RNS rings: CKKS, BFV and BGV.
pub type SecretKey = TernarySecret<RlweParams>;

impl<P: KeyParams> std::fmt::Debug for TernarySecret<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey { .. }")
    }
}

impl<P: KeyParams> TernarySecret<P> {
    /// A fresh secret of the parameters' distribution. Constant time.
    pub fn generate(params: &P, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        Self::named(params, params.distribution().draw(params.key_ring().n(), rng))
    }

    /// Makes a secret from coefficients in {-1, 0, 1}, which must look drawn: under parameters of
    /// at least 128-bit security, each of the three values occurs c times with
    /// (3 c - N)^2 <= 409 N. Constant time for secrets that are accepted.
    ///
    /// The security of parameters is that of uniform ternary secrets. In such a secret, by
    /// Hoeffding's inequality, a value occurs c times with |c - N/3| > d with probability 2 exp(-2
    /// d^2 / N) at most, so that the bound refuses one of 2^128: 6 exp(-2 x 409 / 9) < 2^-128. It
    /// refuses zero, constant and sparse secrets: at N = 8192, a weight below 4852.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of coefficients or other values, for another weight
    /// than that of sparse parameters, and for a secret that is not a uniform one.
    pub fn from_coefficients(params: &P, coefficients: Zeroizing<Vec<i8>>) -> Result<Self> {
        let secure = params.key_security() != Security::Insecure;
        let secret = Self::from_coefficients_insecure(params, coefficients)?;
        if secure && !reveal::bit(looks_uniform(&secret.coefficients)) {
            let found = "it is zero, constant or sparse, where a uniform one is needed";
            return Err(Error::domain("secret key", found, "use SecretKey::generate"));
        }
        Ok(secret)
    }

    /// Makes a secret from any coefficients in {-1, 0, 1}, however weak it is: for experiments and
    /// tests only.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of coefficients or other values, or another weight
    /// than that of sparse parameters.
    pub fn from_coefficients_insecure(params: &P, coefficients: Zeroizing<Vec<i8>>) -> Result<Self> {
        let n = params.key_ring().n();
        // One pass over everything, so that the time does not reveal where a bad value is.
        let outside = coefficients.iter().fold(0u8, |bad, &c| bad | u8::from(!(-1..=1).contains(&c)));
        let found: usize = coefficients.iter().map(|&c| usize::from(c & 1 != 0)).sum();
        let (weight_fits, of_weight) = match params.distribution() {
            SecretDistribution::UniformTernary => (true, ""),
            SecretDistribution::Sparse { weight } => (found == weight, ", of the parameters' weight,"),
        };
        if coefficients.len() != n || !reveal::bit((outside == 0) & weight_fits) {
            let why = format!("{n} coefficients in -1 ..= 1{of_weight} are needed");
            return Err(Error::argument("secret key", why));
        }
        Ok(Self::named(params, coefficients))
    }

    fn named(params: &P, coefficients: Zeroizing<Vec<i8>>) -> Self {
        let key_set = KeySetId::of_ternary(params.key_fingerprint(), &coefficients);
        Self { params: params.clone(), coefficients, key_set }
    }

    /// The identity of its key set, which all that is made with it carries: derived from the secret
    /// unless it was set.
    pub fn key_set(&self) -> KeySetId {
        self.key_set
    }

    /// Names its key set, for what is made with it from now on.
    pub fn set_key_set(&mut self, key_set: KeySetId) {
        self.key_set = key_set;
    }

    /// The parameters.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// The coefficients: the secret itself.
    pub fn expose_coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// The secret over the primes of a span on a device, in evaluation form; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring that is neither that of the parameters nor a prefix of
    /// it; [`Error::SpanMismatch`] for primes that the ring does not have; device errors.
    pub fn on<B: RingOps>(&self, ring: &Ring<B>, span: Span) -> Result<SecretPoly<Eval, B>> {
        if !ring.spec().is_prefix_of(self.params.key_ring()) {
            return Err(Error::RingMismatch);
        }
        Ok(self.values(ring, span)?.of(self.key_set))
    }

    /// The coefficients over any primes of the same degree.
    pub(super) fn values<B: RingOps>(&self, ring: &Ring<B>, span: Span) -> Result<SecretPoly<Eval, B>> {
        let wide: Zeroizing<Vec<i64>> =
            Zeroizing::new(self.coefficients.iter().map(|&c| i64::from(c)).collect());
        let poly: Poly<Coeff, B> = Poly::from_signed(ring, span, 1, &wide)?;
        Ok(SecretPoly::new(poly.into_eval()?))
    }
}

impl TernarySecret<RlweParams> {
    /// A fresh secret with exactly `weight` coefficients of -1 or 1, the others 0, for parameters
    /// whose whole modulus is small: the ephemeral secrets of bootstrapping (encapsulation;
    /// Bossuat, Troncoso-Pastoriza and Hubaux, *Bootstrapping for Approximate Homomorphic
    /// Encryption with Negligible Failure-Probability by Using Sparse-Secret Encapsulation*, 2022).
    /// Constant time.
    ///
    /// A sparse secret withstands a much smaller modulus than a uniform one: at weight 32 and
    /// degree 2^15, 185 bits of log2(QP) instead of 868. [`max_sparse_log_qp`] has the bounds. Give
    /// it parameters of its own over a [prefix](RingSpec::prefix) of the primes: no key under it
    /// can then have a larger modulus.
    ///
    /// # Errors
    /// [`ParamsError::InsecureSecret`], as [`Error::InvalidParams`], below 128 bits of security or
    /// where there is no estimate; [`ParamsError::OutOfRange`] for a weight above the degree.
    pub fn generate_sparse(
        params: &RlweParams,
        weight: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let (log_n, log_qp) = (params.ring().log_n(), params.ring().log_qp());
        let limit = max_sparse_log_qp(log_n, weight).unwrap_or(0);
        if log_qp > f64::from(limit) {
            return Err(ParamsError::InsecureSecret { weight, log_n, log_qp, limit }.into());
        }
        Self::generate_sparse_insecure(params, weight, rng)
    }

    /// The same secret, of the same key set, under parameters over more primes, for what these
    /// parameters allow. `found` are those that the secret must have.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters; [`Error::Argument`] unless it
    /// looks like a uniform one ([`from_coefficients`](Self::from_coefficients)) and at least half
    /// of its coefficients are other than 0: the security table does not cover sparse secrets.
    /// Below N = 392, where one uniform secret of hundreds has fewer, 7 standard deviations are
    /// allowed.
    pub(crate) fn widened(&self, found: &RlweParams, params: &RlweParams) -> Result<Self> {
        found.check_same(&self.params, "secret key")?;
        let n = self.coefficients.len() as i64;
        let weight: i64 = self.coefficients.iter().map(|&c| i64::from(c & 1)).sum();
        // The weight has the mean 2 N / 3 and the variance 2 N / 9.
        let off = 2 * n - 3 * weight;
        let sparse = (2 * weight < n) & (off * off > 98 * n);
        if reveal::bit(sparse | !looks_uniform(&self.coefficients)) {
            let why = "it is sparse, which is secure for small moduli alone";
            return Err(Error::domain("secret key", why, "use SecretKey::generate"));
        }
        Ok(self.under(params))
    }

    /// The same secret, of the same key set, under parameters over a prefix of its primes.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for parameters over other primes.
    pub(crate) fn narrowed(&self, params: &RlweParams) -> Result<Self> {
        if params.ring().is_prefix_of(self.params.ring()) {
            Ok(self.under(params))
        } else {
            Err(Error::RingMismatch)
        }
    }

    /// s(X^k), of the same key set, under parameters of k times the degree.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters of a lower degree.
    pub(super) fn spread(&self, params: &RlweParams) -> Result<Self> {
        let (small, large) = (self.coefficients.len(), params.ring().n());
        if large < small {
            let found = format!("degree {large} for a secret of degree {small}");
            return Err(Error::domain("parameters of a key", found, "use those of the greater ring"));
        }
        let mut coefficients = Zeroizing::new(vec![0; large]);
        let places = coefficients.iter_mut().step_by(large / small);
        places.zip(self.coefficients.iter()).for_each(|(place, &c)| *place = c);
        Ok(Self { params: params.clone(), coefficients, key_set: self.key_set })
    }

    fn under(&self, params: &RlweParams) -> Self {
        let (coefficients, key_set) = (self.coefficients.clone(), self.key_set);
        Self { params: params.clone(), coefficients, key_set }
    }

    /// [`generate_sparse`](Self::generate_sparse) whatever the security: for experiments and tests
    /// only.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`], as [`Error::InvalidParams`], for a weight of 0 or above the
    /// degree.
    pub fn generate_sparse_insecure(
        params: &RlweParams,
        weight: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let n = params.ring().n();
        if !(1..=n).contains(&weight) {
            let (found, highest) = (weight as f64, n as f64);
            let error = ParamsError::OutOfRange { what: "weight of the secret", found, lowest: 1.0, highest };
            return Err(error.into());
        }
        Ok(Self::named(params, SecretDistribution::Sparse { weight }.draw(n, rng)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bigckks;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// A secret of `minus` coefficients of -1 and `plus` of 1.
    fn of_counts(n: usize, minus: usize, plus: usize) -> Zeroizing<Vec<i8>> {
        let value = |k| -i8::from(k < minus) + i8::from((minus..minus + plus).contains(&k));
        Zeroizing::new((0..n).map(value).collect())
    }

    fn refuses_weak<P: KeyParams>(secure: &P, insecure: &P) {
        let n = secure.key_ring().n();
        // The greatest distance from N / 3 that is accepted.
        let most = (409.0 * n as f64).sqrt() as usize / 3 - 1;
        let (third, read) = (n / 3, |minus, plus| of_counts(n, minus, plus));
        for (minus, plus) in [(0, 0), (0, 1), (16, 16), (n, 0), (0, n), (0, 2 * third), (n / 2, n / 2)] {
            let error = TernarySecret::from_coefficients(secure, read(minus, plus)).unwrap_err();
            assert!(matches!(error, Error::Argument { what: "secret key", .. }), "{minus}, {plus}: {error}");
            let named = TernarySecret::from_coefficients_insecure(secure, read(minus, plus)).unwrap();
            assert_eq!(named.expose_coefficients(), &*read(minus, plus));
            assert!(TernarySecret::from_coefficients(insecure, of_counts(n, minus, plus)).is_ok());
        }
        for (minus, plus, fits) in [
            (third, third, true),
            (third - most, third, true),
            (third - most - 3, third, false),
            (third, third + most, true),
            (third, third + most + 3, false),
            (third + most / 2, third + most / 2, true),
            (third + most / 2 + 3, third + most / 2 + 3, false),
        ] {
            let found = TernarySecret::from_coefficients(secure, read(minus, plus)).is_ok();
            assert_eq!(found, fits, "{minus} and {plus} of {n}");
        }
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for _ in 0..20 {
            let drawn = TernarySecret::generate(secure, &mut rng);
            let coefficients = Zeroizing::new(drawn.expose_coefficients().to_vec());
            let again = TernarySecret::from_coefficients(secure, coefficients).unwrap();
            assert_eq!(again.key_set(), drawn.key_set());
        }
    }

    #[test]
    fn weak_secrets_are_refused_under_secure_parameters() {
        let primes = crate::arith::ntt_primes_below(25, 10, 2, &[]).unwrap();
        let ring = |count: usize| RingSpec::new(10, primes[..count].to_vec(), vec![]).unwrap();
        // Twice the modulus is beyond the table.
        let secure = RlweParams::new(ring(1), vec![]).unwrap();
        refuses_weak(&secure, &RlweParams::insecure(ring(2), vec![]).unwrap());
        let of = |log_q| bigckks::BigCkksSpec::new(12, log_q, 20);
        let secure = bigckks::BigCkksParams::try_from(of(40)).unwrap();
        let insecure = bigckks::BigCkksParams::insecure(of(200)).unwrap();
        assert_ne!(secure.security(), Security::Insecure);
        assert_eq!(insecure.security(), Security::Insecure);
        refuses_weak(&secure, &insecure);
    }

    /// A small degree has uniform secrets with fewer coefficients other than 0 than half: they are
    /// widened, those of 16 of 64 are not; from N = 392 on, half is the bound.
    #[test]
    fn small_degrees_widen_every_uniform_secret() {
        for (log_n, weights) in [(6, [18, 16]), (10, [512, 511])] {
            let primes = crate::arith::ntt_primes_below(25, log_n, 2, &[]).unwrap();
            let of = |count: usize| {
                let ring = RingSpec::new(log_n, primes[..count].to_vec(), vec![]).unwrap();
                RlweParams::insecure(ring, vec![]).unwrap()
            };
            let (low, high) = (of(1), of(2));
            for (weight, fits) in weights.into_iter().zip([true, false]) {
                let mut rng = ChaCha20Rng::seed_from_u64(1);
                let secret = SecretKey::generate_sparse_insecure(&low, weight, &mut rng).unwrap();
                assert_eq!(secret.widened(&low, &high).is_ok(), fits, "{weight} of 2^{log_n}");
            }
        }
    }

    /// Places are uniform: each is taken in weight / N of the draws, within six deviations.
    #[test]
    fn sparse_secrets_have_their_weight() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (n, weight) in [(4, 1), (16, 16), (64, 5), (1024, 64)] {
            let draws = 2000;
            let (mut taken, mut positive) = (vec![0f64; n], 0f64);
            for _ in 0..draws {
                let mut row = vec![7; n];
                sparse_row(weight, &mut row, &mut rng);
                assert!(row.iter().all(|c| (-1..=1).contains(c)));
                assert_eq!(row.iter().filter(|&&c| c != 0).count(), weight);
                taken.iter_mut().zip(&row).for_each(|(taken, &c)| *taken += f64::from(c != 0));
                positive += row.iter().filter(|&&c| c == 1).count() as f64;
            }
            let (p, draws) = (weight as f64 / n as f64, f64::from(draws));
            let deviation = (draws * p * (1.0 - p)).sqrt();
            assert!(taken.iter().all(|taken| (taken - draws * p).abs() <= 6.0 * deviation), "{n}, {weight}");
            let signs = draws * weight as f64;
            assert!((positive - signs / 2.0).abs() < 3.0 * signs.sqrt(), "{n}, {weight}: {positive}");
        }
    }
}
