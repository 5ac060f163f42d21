//! The ring, the digits of key switching and the security, which all RLWE parameters have.

use crate::params::{Fingerprint, ParamsError, Security, max_log_qp, security_of};
use crate::ring::{RingSpec, Span};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug)]
struct Inner {
    ring: RingSpec,
    digits: Vec<Range<usize>>,
    security: Security,
    fingerprint: Fingerprint,
}

/// Checked parameters of the RLWE layer, as a cheap handle. Secrets are uniform ternary, and errors
/// are centred binomial of deviation 3.24.
#[derive(Clone, Debug)]
pub struct RlweParams(Arc<Inner>);

impl PartialEq for RlweParams {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}

impl Eq for RlweParams {}

impl RlweParams {
    /// Accepts parameters of at least 128-bit security by the table of 2024. `digits` are the
    /// ranges of chain primes that form the digits of key switching.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits; [`ParamsError::Digits`] if the digits do not cover
    /// the chain in order or one of them is wider than the special modulus (by more than half a
    /// bit).
    pub fn new(ring: RingSpec, digits: Vec<Range<usize>>) -> Result<Self, ParamsError> {
        let params = Self::insecure(ring, digits)?;
        if params.security() == Security::Insecure {
            let (log_n, log_qp) = (params.ring().log_n(), params.ring().log_qp());
            let limit = max_log_qp(log_n, Security::Bits128).unwrap_or(0);
            return Err(ParamsError::Insecure { log_n, log_qp, limit });
        }
        Ok(params)
    }

    /// Accepts parameters of any security; for experiments and tests only.
    ///
    /// # Errors
    /// [`ParamsError::Digits`] as for [`new`](Self::new).
    pub fn insecure(ring: RingSpec, digits: Vec<Range<usize>>) -> Result<Self, ParamsError> {
        let params = Self::of_any_digits(ring, digits)?;
        let width = |primes: &[u64]| primes.iter().map(|&prime| libm::log2(prime as f64)).sum::<f64>();
        let log_p = width(params.ring().p());
        for digit in params.digits() {
            let log_d = width(&params.ring().q()[digit.clone()]);
            if log_d > log_p + 0.5 {
                let why =
                    format!("a digit of {log_d:.1} bits exceeds the special modulus of {log_p:.1} bits");
                return Err(ParamsError::Digits { why });
            }
        }
        Ok(params)
    }

    /// Parameters whose only digit is the whole chain, wider than the special modulus as it may be:
    /// for keys that switch polynomials known to be small, each of which is its own digit.
    pub(crate) fn undivided(ring: RingSpec) -> Result<Self, ParamsError> {
        let whole = 0..ring.q().len();
        Self::of_any_digits(ring, vec![whole])
    }

    /// The parameters over the first `q` primes of the chain and all special ones, with the digits
    /// as far as they go: those of keys for ciphertexts over no more primes.
    ///
    /// # Errors
    /// [`ParamsError::ChainLength`] for no prime, or more than there are.
    pub fn up_to_primes(&self, q: usize) -> Result<Self, ParamsError> {
        let ring = self.ring();
        let highest = ring.q().len();
        let too_many = ParamsError::ChainLength { chain: "chain", found: q, lowest: 1, highest };
        let prefix = ring.prefix(q, ring.p().len()).ok_or(too_many)?;
        let digits = self.digits().iter().filter(|digit| digit.start < q);
        Self::of_any_digits(prefix, digits.map(|digit| digit.start..digit.end.min(q)).collect())
    }

    fn of_any_digits(ring: RingSpec, digits: Vec<Range<usize>>) -> Result<Self, ParamsError> {
        let mut next = 0;
        for digit in &digits {
            next = if digit.start == next && !digit.is_empty() { digit.end } else { usize::MAX };
        }
        // Without special primes there is no key switching and there are no digits.
        if next != ring.q().len() && !(ring.p().is_empty() && digits.is_empty()) {
            let why = format!("{digits:?} do not cover 0..{} in order", ring.q().len());
            return Err(ParamsError::Digits { why });
        }
        let security = security_of(ring.log_n(), ring.log_qp());
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he rlwe parameters 1");
        hasher.update(&ring.log_n().to_le_bytes());
        for list in [ring.q(), ring.p()] {
            hasher.update(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|prime| {
                hasher.update(&prime.to_le_bytes());
            });
        }
        for digit in &digits {
            hasher.update(&(digit.end as u64).to_le_bytes());
        }
        let fingerprint = Fingerprint(*hasher.finalize().as_bytes());
        Ok(Self(Arc::new(Inner { ring, digits, security, fingerprint })))
    }

    /// Makes digits of as many consecutive primes as fit the special modulus.
    pub fn greedy_digits(q: &[u64], p: &[u64]) -> Vec<Range<usize>> {
        Self::greedy_digits_up_to(q, p, q.len())
    }

    /// Makes such digits with at most `most` primes in each, of which there is at least one.
    pub(crate) fn greedy_digits_up_to(q: &[u64], p: &[u64], most: usize) -> Vec<Range<usize>> {
        if p.is_empty() {
            return Vec::new();
        }
        let log_p: f64 = p.iter().map(|&p| libm::log2(p as f64)).sum();
        let mut digits = Vec::new();
        let (mut start, mut width) = (0, 0.0);
        for (i, &prime) in q.iter().enumerate() {
            let bits = libm::log2(prime as f64);
            if i > start && (width + bits > log_p + 0.5 || i - start == most) {
                digits.push(start..i);
                (start, width) = (i, 0.0);
            }
            width += bits;
        }
        digits.push(start..q.len());
        digits
    }

    /// Makes digits of ceil(len / dnum) primes each; the last one may be shorter.
    pub fn even_digits(len: usize, dnum: usize) -> Vec<Range<usize>> {
        let alpha = len.div_ceil(dnum.max(1)).max(1);
        (0..len).step_by(alpha).map(|start| start..len.min(start + alpha)).collect()
    }

    /// The explanation that a builder gives for its choice of digits: `special` special primes of a
    /// chain of `chain` primes, beside the least choice.
    pub(crate) fn explain_digits(log_n: u32, chain: usize, special: usize) -> String {
        let products = |special| Self::key_switch_products(log_n, chain, special);
        let digits = Self::even_digits(chain, chain.div_ceil(special)).len();
        let line = format!(
            "{digits} digit(s) of key switching: {:.0} modular products per coefficient",
            products(special)
        );
        if special == 1 { line } else { format!("{line}, {:.0} with one special prime", products(1)) }
    }

    /// The lengths of digits that builders try for a chain, which are those of the special primes,
    /// in order: at most a third of the chain, the longest of which no shorter one takes 5 % fewer
    /// products. Longer digits are fewer and take more of the modulus, and have smaller keys.
    pub(crate) fn digit_lengths(log_n: u32, chain: usize) -> impl Iterator<Item = usize> {
        let products = move |length| Self::key_switch_products(log_n, chain, length);
        let longest = move |most: usize| {
            let least = (1..=most).map(products).fold(f64::INFINITY, f64::min);
            (1..=most).rev().find(|&length| products(length) <= 1.05 * least)
        };
        std::iter::successors(longest(chain.div_ceil(3)), move |&length| longest(length - 1))
    }

    /// The modular products per coefficient of a key switch with even digits and its division by
    /// the special primes, by which builders weigh digits.
    fn key_switch_products(log_n: u32, chain: usize, special: usize) -> f64 {
        let digits = Self::even_digits(chain, chain.div_ceil(special));
        let limbs = chain + special;
        // The conversion of a single prime takes no product.
        let conversion = |from: usize, to: usize| if from == 1 { 0 } else { from * to };
        let lifted: usize = digits.iter().map(|digit| conversion(digit.len(), limbs - digit.len())).sum();
        let inner = 2 * digits.len() * limbs;
        let divided = 2 * conversion(special, chain);
        let transforms = digits.len() * limbs + 2 * limbs;
        (lifted + inner + divided) as f64 + (transforms as f64) * f64::from(log_n) / 2.0
    }

    /// The degree and the primes.
    pub fn ring(&self) -> &RingSpec {
        &self.0.ring
    }

    /// The digits of key switching, as ranges of chain primes.
    pub fn digits(&self) -> &[Range<usize>] {
        &self.0.digits
    }

    /// The security by the table.
    pub fn security(&self) -> Security {
        self.0.security
    }

    /// The identity of these parameters in files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// All primes, including the special ones, over which keys are defined.
    pub fn key_span(&self) -> Span {
        Span::extended(self.ring().q().len(), self.ring().p().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;

    /// The lengths that builders try take few products, and no length is left out that takes fewer
    /// than all that are tried after it.
    #[test]
    fn digits_are_weighed() {
        // Two digits of one prime over three limbs: 6 + 6 transforms of 6 products, and 12 products
        // by the key.
        assert_eq!(RlweParams::key_switch_products(12, 2, 1), 84.0);
        // One digit of two primes over four limbs: 4 products of the conversion, 8 by the key, 8 of
        // the division, and 4 + 8 transforms.
        assert_eq!(RlweParams::key_switch_products(12, 2, 2), 4.0 + 8.0 + 8.0 + 12.0 * 6.0);
        for log_n in 12..=16 {
            for chain in 1..=60usize {
                let products = |length| RlweParams::key_switch_products(log_n, chain, length);
                let lengths: Vec<usize> = RlweParams::digit_lengths(log_n, chain).collect();
                assert!(lengths.is_sorted_by(|a, b| a > b) && lengths.last() == Some(&1), "{lengths:?}");
                for most in 1..=chain.div_ceil(3) {
                    let least = (1..=most).map(products).fold(f64::INFINITY, f64::min);
                    let chosen = *lengths.iter().find(|&&length| length <= most).unwrap();
                    assert!(products(chosen) <= 1.05 * least, "2^{log_n}, {chain} primes, at most {most}");
                }
            }
        }
        // Four digits either way, of 5 + 5 + 5 + 1 or 4 + 4 + 4 + 4 primes.
        let lengths: Vec<usize> = RlweParams::digit_lengths(16, 16).collect();
        assert_eq!(lengths, [6, 4, 3, 2, 1]);
        let explained = RlweParams::explain_digits(15, 15, 3);
        assert!(explained.starts_with("5 digit(s) of key switching: "), "{explained}");
        assert!(explained.ends_with(" with one special prime"), "{explained}");
    }

    #[test]
    fn digits_and_security_are_checked() {
        let q = ntt_primes_below(40, 13, 4, &[]).unwrap();
        let p = ntt_primes_below(45, 13, 2, &q).unwrap();
        assert_eq!(RlweParams::greedy_digits(&q, &p[..1]), [0..1, 1..2, 2..3, 3..4]);
        assert_eq!(RlweParams::greedy_digits(&q, &p), [0..2, 2..4]);
        assert_eq!(RlweParams::even_digits(7, 3), [0..3, 3..6, 6..7]);
        let ring = |p: &[u64]| RingSpec::new(13, q.clone(), p.to_vec()).unwrap();
        assert!(RlweParams::new(ring(&p[..1]), RlweParams::even_digits(4, 4)).is_ok());
        let insecure = RlweParams::new(ring(&p), RlweParams::even_digits(4, 2));
        assert!(matches!(insecure, Err(ParamsError::Insecure { limit: 214, .. })), "{insecure:?}");
        let params = RlweParams::insecure(ring(&p), RlweParams::even_digits(4, 2)).unwrap();
        assert_eq!(params.security(), Security::Insecure);
        let bad: [&[(usize, usize)]; 6] =
            [&[], &[(0, 4)], &[(0, 2)], &[(0, 2), (3, 4)], &[(1, 2), (2, 4)], &[(0, 2), (2, 5)]];
        for digits in bad {
            let error =
                RlweParams::insecure(ring(&p), digits.iter().map(|&(start, end)| start..end).collect());
            assert!(matches!(error, Err(ParamsError::Digits { .. })), "{digits:?}");
        }
    }
}
