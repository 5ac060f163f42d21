//! The plain description of a ring: degree and primes, checked.

use super::Span;
use crate::arith::{Modulus, is_prime};
use crate::params::ParamsError;

/// The checked degree and primes of a ring: 2^2 <= N <= 2^17, distinct primes of at most 61 bits
/// equal to 1 mod 2N.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingSpec {
    log_n: u32,
    /// The primes of the chain, then the special ones.
    primes: Vec<u64>,
    /// The same primes with their constants.
    moduli: Vec<Modulus>,
    /// Number of primes in the chain.
    chain: usize,
}

impl RingSpec {
    /// log2 of the smallest degree.
    pub const MIN_LOG_N: u32 = 2;
    /// log2 of the largest degree.
    pub const MAX_LOG_N: u32 = 17;
    /// The greatest number of primes in the chain, and of special ones.
    pub const MAX_PRIMES: usize = 64;

    /// Checks degree and primes. `q` is the chain, and `p` are the special primes, of which there
    /// may be none.
    ///
    /// # Errors
    /// The [`ParamsError`] that says which number is out of range, not prime, not 1 mod 2N, or
    /// repeated.
    pub fn new(log_n: u32, q: Vec<u64>, p: Vec<u64>) -> Result<Self, ParamsError> {
        if !(Self::MIN_LOG_N..=Self::MAX_LOG_N).contains(&log_n) {
            return Err(ParamsError::Degree {
                found: log_n,
                lowest: Self::MIN_LOG_N,
                highest: Self::MAX_LOG_N,
            });
        }
        for (chain, found, lowest) in [("modulus chain", q.len(), 1), ("special chain", p.len(), 0)] {
            if !(lowest..=Self::MAX_PRIMES).contains(&found) {
                return Err(ParamsError::ChainLength { chain, found, lowest, highest: Self::MAX_PRIMES });
            }
        }
        let (chain, mut primes) = (q.len(), q);
        primes.extend(p);
        let mut moduli = Vec::with_capacity(primes.len());
        for (i, &prime) in primes.iter().enumerate() {
            let modulus = Modulus::new(prime)?;
            if prime % (2 << log_n) != 1 || !is_prime(prime) {
                return Err(ParamsError::NotNttPrime { found: prime, log_n });
            }
            if primes[..i].contains(&prime) {
                return Err(ParamsError::RepeatedPrime { found: prime });
            }
            moduli.push(modulus);
        }
        Ok(Self { log_n, primes, moduli, chain })
    }

    /// The ring over the first `q` primes of the chain and the first `p` special ones; `None` if
    /// there are fewer, or if `q` is 0.
    pub fn prefix(&self, q: usize, p: usize) -> Option<Self> {
        let moduli = [self.q_moduli().get(..q)?, self.p_moduli().get(..p)?].concat();
        let primes = moduli.iter().map(Modulus::value).collect();
        (q > 0).then_some(Self { log_n: self.log_n, primes, moduli, chain: q })
    }

    /// The ring over the first `q + p` primes, of which the first `q` are its chain and the others,
    /// be they of this chain or special here, its special primes; `None` if there are fewer, or if
    /// `q` is 0.
    pub fn split(&self, q: usize, p: usize) -> Option<Self> {
        let moduli = self.moduli.get(..q.checked_add(p)?)?.to_vec();
        let primes = moduli.iter().map(Modulus::value).collect();
        let fits = q > 0 && q.max(p) <= Self::MAX_PRIMES;
        fits.then_some(Self { log_n: self.log_n, primes, moduli, chain: q })
    }

    /// Whether this is a [`prefix`](Self::prefix) of `other`.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        self.log_n == other.log_n && other.q().starts_with(self.q()) && other.p().starts_with(self.p())
    }

    /// log2 of the degree.
    pub const fn log_n(&self) -> u32 {
        self.log_n
    }

    /// The degree N.
    pub const fn n(&self) -> usize {
        1 << self.log_n
    }

    /// The chain's primes.
    pub fn q(&self) -> &[u64] {
        &self.primes[..self.chain]
    }

    /// The special primes.
    pub fn p(&self) -> &[u64] {
        &self.primes[self.chain..]
    }

    /// All primes: the chain's, then the special ones.
    pub fn primes(&self) -> impl Iterator<Item = u64> + '_ {
        self.primes.iter().copied()
    }

    /// The chain's primes as moduli.
    pub fn q_moduli(&self) -> &[Modulus] {
        &self.moduli[..self.chain]
    }

    /// The special primes as moduli.
    pub fn p_moduli(&self) -> &[Modulus] {
        &self.moduli[self.chain..]
    }

    /// All primes as moduli, in the order of [`primes`](Self::primes).
    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// The modulus of limb `limb` of a span.
    ///
    /// # Panics
    /// If the ring does not have that prime.
    #[inline(always)]
    pub fn modulus(&self, span: Span, limb: usize) -> &Modulus {
        &self.moduli[span.prime(limb, self.chain)]
    }

    /// The moduli of a span, limb by limb.
    ///
    /// # Panics
    /// If the ring does not have these primes.
    pub fn moduli_of(&self, span: Span) -> impl Iterator<Item = &Modulus> + Clone {
        (0..span.limbs()).map(move |limb| self.modulus(span, limb))
    }

    /// log2 of the product of all primes.
    pub fn log_qp(&self) -> f64 {
        self.primes().map(|q| libm::log2(q as f64)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_each_defect() {
        let ok = |q: Vec<u64>, p: Vec<u64>| RingSpec::new(3, q, p);
        assert!(ok(vec![17, 97], vec![113]).is_ok());
        assert!(matches!(RingSpec::new(1, vec![17], vec![]), Err(ParamsError::Degree { found: 1, .. })));
        assert!(matches!(RingSpec::new(18, vec![17], vec![]), Err(ParamsError::Degree { .. })));
        assert!(matches!(ok(vec![], vec![]), Err(ParamsError::ChainLength { found: 0, .. })));
        assert!(matches!(ok(vec![17; 65], vec![]), Err(ParamsError::ChainLength { found: 65, .. })));
        assert!(matches!(ok(vec![17], vec![17]), Err(ParamsError::RepeatedPrime { found: 17 })));
        assert!(matches!(ok(vec![49], vec![]), Err(ParamsError::NotNttPrime { found: 49, .. })));
        assert!(matches!(ok(vec![19], vec![]), Err(ParamsError::NotNttPrime { found: 19, .. })));
        assert!(matches!(ok(vec![0], vec![]), Err(ParamsError::ModulusRange { found: 0 })));
    }

    #[test]
    fn prefixes_are_rings_of_the_first_primes() {
        let spec = RingSpec::new(3, vec![17, 97, 193], vec![113, 241]).unwrap();
        for (q, p) in [(1, 0), (1, 1), (3, 0), (2, 2), (3, 2)] {
            let prefix = spec.prefix(q, p).unwrap();
            assert_eq!(prefix, RingSpec::new(3, spec.q()[..q].to_vec(), spec.p()[..p].to_vec()).unwrap());
            assert!(prefix.is_prefix_of(&spec));
            assert_eq!(spec.is_prefix_of(&prefix), (q, p) == (3, 2));
        }
        for (q, p) in [(0, 1), (4, 0), (1, 3), (usize::MAX, 0)] {
            assert_eq!(spec.prefix(q, p), None, "{q}, {p}");
        }
        let other = RingSpec::new(3, vec![97, 17], vec![113]).unwrap();
        assert!(!other.is_prefix_of(&spec));
    }

    #[test]
    fn splits_are_rings_of_the_first_primes() {
        let spec = RingSpec::new(3, vec![17, 97, 193], vec![113, 241]).unwrap();
        let primes: Vec<u64> = spec.primes().collect();
        for (q, p) in [(1, 0), (1, 4), (2, 2), (3, 2), (4, 1), (5, 0)] {
            let split = spec.split(q, p).unwrap();
            assert_eq!(split, RingSpec::new(3, primes[..q].to_vec(), primes[q..q + p].to_vec()).unwrap());
        }
        for (q, p) in [(0, 1), (3, 3), (6, 0), (1, usize::MAX)] {
            assert_eq!(spec.split(q, p), None, "{q}, {p}");
        }
    }

    /// Every limb of every span has the modulus of its prime.
    #[test]
    fn owns_the_moduli_of_its_primes() {
        let spec = RingSpec::new(3, vec![17, 97, 193], vec![113, 241]).unwrap();
        assert_eq!((spec.q(), spec.p()), (&[17, 97, 193][..], &[113, 241][..]));
        let moduli = |primes: &[u64]| -> Vec<Modulus> {
            primes.iter().map(|&prime| Modulus::new(prime).unwrap()).collect()
        };
        assert_eq!(spec.q_moduli(), moduli(spec.q()));
        assert_eq!(spec.p_moduli(), moduli(spec.p()));
        assert_eq!(spec.moduli(), moduli(&spec.primes().collect::<Vec<_>>()));
        for (span, primes) in [
            (Span::chain(2), &[17, 97][..]),
            (Span::digit(1, 3), &[97, 193]),
            (Span::special(2), &[113, 241]),
            (Span::extended(2, 1), &[17, 97, 113]),
            (Span::chain(0), &[]),
        ] {
            assert_eq!(spec.moduli_of(span).copied().collect::<Vec<_>>(), moduli(primes), "{span}");
            for (limb, &prime) in primes.iter().enumerate() {
                assert_eq!(spec.modulus(span, limb).value(), prime, "{span}, limb {limb}");
            }
        }
    }
}
