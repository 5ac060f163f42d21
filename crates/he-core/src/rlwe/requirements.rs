//! The evaluation keys that a computation needs.

use super::EvaluationKeys;
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::{galois_conjugation, galois_rotation};

/// The evaluation keys that a computation needs, for every scheme, since the keys are the same.
///
/// ```
/// use he_core::rlwe::KeyRequirements;
/// let products = KeyRequirements::new().relinearisation();
/// let sums = KeyRequirements::new().rotations([1, 2, 4]).conjugation();
/// let both = products.union(&sums);
/// assert!(both.needs_relinearisation() && both.needs_conjugation());
/// assert_eq!(both.rotation_steps(), [1, 2, 4]);
/// ```
///
/// `EvaluationKeys::generate` makes exactly these keys: first the relinearisation key, then the
/// Galois keys in the order of [`galois_elements`](Self::galois_elements). Circuits state what they
/// need in their `requirements`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRequirements {
    relinearisation: bool,
    rotations: Vec<i64>,
    conjugation: bool,
    elements: Vec<u64>,
}

/// Appends the items that are not there yet.
fn append<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

impl KeyRequirements {
    /// No keys, which suffices for sums and for products with plaintexts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the relinearisation key, which products of ciphertexts need.
    #[must_use]
    pub fn relinearisation(mut self) -> Self {
        self.relinearisation = true;
        self
    }

    /// Adds Galois keys for rotations by these steps. Keys for powers of two serve every step, at
    /// one key switch per digit of its signed binary expansion.
    #[must_use]
    pub fn rotations(mut self, steps: impl IntoIterator<Item = i64>) -> Self {
        append(&mut self.rotations, steps);
        self
    }

    /// Adds the Galois key of the conjugation, which conjugates complex slots in CKKS and exchanges
    /// the two rows of slots in BFV and BGV.
    #[must_use]
    pub fn conjugation(mut self) -> Self {
        self.conjugation = true;
        self
    }

    /// Adds Galois keys for X -> X^g for these elements g, which must be odd and below 2N.
    #[must_use]
    pub fn elements(mut self, elements: impl IntoIterator<Item = u64>) -> Self {
        append(&mut self.elements, elements);
        self
    }

    /// Adds Galois keys for [`expand`](super::RlweCiphertext::expand) to `count` coefficients in a
    /// ring of degree 2^log_n: log2(count) of them, for the elements N / 2^j + 1.
    ///
    /// ```
    /// use he_core::rlwe::KeyRequirements;
    /// let needs = KeyRequirements::new().expansion(12, 8);
    /// assert_eq!(needs.galois_elements(12), [4097, 2049, 1025]);
    /// ```
    #[must_use]
    pub fn expansion(self, log_n: u32, count: usize) -> Self {
        self.elements(expansion_elements(log_n, count))
    }

    /// The keys of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.relinearisation |= other.relinearisation;
        both.conjugation |= other.conjugation;
        append(&mut both.rotations, other.rotations.iter().copied());
        append(&mut both.elements, other.elements.iter().copied());
        both
    }

    /// Whether the relinearisation key is needed.
    pub fn needs_relinearisation(&self) -> bool {
        self.relinearisation
    }

    /// Whether the conjugation key is needed.
    pub fn needs_conjugation(&self) -> bool {
        self.conjugation
    }

    /// The steps of rotations, each once, in the order in which they were requested.
    pub fn rotation_steps(&self) -> &[i64] {
        &self.rotations
    }

    /// The Galois elements that need a key in a ring of degree 2^log_n: those of the rotations, of
    /// the conjugation, and those given as elements, in this order. Equivalent steps have the same
    /// element; 1, the rotation by nothing, needs no key.
    pub fn galois_elements(&self, log_n: u32) -> Vec<u64> {
        let mut elements = Vec::new();
        append(&mut elements, self.rotations.iter().map(|&step| galois_rotation(step, log_n)));
        append(&mut elements, self.conjugation.then(|| galois_conjugation(log_n)));
        append(&mut elements, self.elements.iter().copied());
        elements
    }

    /// Checks that these keys suffice. Rotations may be composed of others, as
    /// [`rotation_path`](EvaluationKeys::rotation_path) says.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`], [`Error::MissingConjugationKey`], [`Error::MissingGaloisKey`];
    /// [`Error::Argument`] for a Galois element without a key.
    pub fn check<B: RingOps>(&self, keys: &EvaluationKeys<B>) -> Result<()> {
        if self.relinearisation {
            keys.relin()?;
        }
        if self.conjugation && keys.galois(galois_conjugation(keys.ring().spec().log_n())).is_none() {
            return Err(Error::MissingConjugationKey);
        }
        self.rotations.iter().try_for_each(|&step| keys.rotation_path(step).map(drop))?;
        match self.elements.iter().find(|&&g| g != 1 && keys.galois(g).is_none()) {
            None => Ok(()),
            Some(&g) => Err(missing(g)),
        }
    }
}

/// The Galois elements of the rounds of an expansion to `count` coefficients: N / 2^j + 1.
pub(super) fn expansion_elements(log_n: u32, count: usize) -> impl Iterator<Item = u64> {
    (0..count.max(1).ilog2().min(log_n)).map(move |j| (1 << (log_n - j)) + 1)
}

/// The error for a Galois element without a key.
pub(super) fn missing(g: u64) -> Error {
    Error::domain("evaluation keys", format!("there is no key for the Galois element {g}"), "generate one")
}

impl AsRef<Self> for KeyRequirements {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use crate::backend::Cpu;
    use crate::ring::{Ring, RingSpec};
    use crate::rlwe::{RlweParams, SecretKey};
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn keys_come_in_order_and_once() {
        let a = KeyRequirements::new().rotations([4, -3, 4]);
        let b = KeyRequirements::new().rotations([1, -3]).relinearisation().conjugation().elements([3, 5]);
        let both = a.union(&b);
        assert_eq!(both.rotation_steps(), [4, -3, 1]);
        assert!(both.needs_relinearisation() && both.needs_conjugation());
        assert!(!a.needs_relinearisation() && !a.needs_conjugation());
        let log_n = 6;
        let [four, minus_three] = [4, -3].map(|step| galois_rotation(step, log_n));
        // 5 is the rotation by one, 2N - 1 the conjugation.
        assert_eq!(both.galois_elements(log_n), [four, minus_three, 5, 127, 3]);
        // -28 rotates 32 slots as 4 does.
        assert_eq!(a.rotations([-28]).galois_elements(log_n), [four, minus_three]);
        assert_eq!(KeyRequirements::new().galois_elements(log_n), [0; 0]);
    }

    /// The same seeds give the keys that the single steps give, and no others.
    #[test]
    fn exactly_these_keys_are_generated() {
        let primes = ntt_primes_below(50, 6, 3, &[]).unwrap();
        let spec = RingSpec::new(6, primes[..2].to_vec(), primes[2..].to_vec()).unwrap();
        let params = &RlweParams::insecure(spec, RlweParams::even_digits(2, 2)).unwrap();
        let rng = || ChaCha20Rng::seed_from_u64(1);
        let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        let secret = SecretKey::generate(params, &mut rng());
        let words = |keys: &EvaluationKeys<Cpu>| {
            let relin = keys.relin().ok().map(|key| key.body_words(0).unwrap());
            let galois = keys.galois_keys().map(|(g, key)| (g, key.body_words(0).unwrap()));
            (relin, galois.collect::<Vec<_>>())
        };
        let rotations = KeyRequirements::new().rotations([3, -1]);
        let all = rotations.clone().relinearisation().conjugation().elements([7]);
        for needs in [KeyRequirements::new(), rotations, all] {
            let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng()).unwrap();
            let (mut rng, mut one_by_one) = (rng(), EvaluationKeys::empty(params, &ring).unwrap());
            if needs.needs_relinearisation() {
                one_by_one.add_relin(&secret, &mut rng).unwrap();
            }
            for &step in needs.rotation_steps() {
                one_by_one.add_galois(&secret, [galois_rotation(step, 6)], &mut rng).unwrap();
            }
            if needs.needs_conjugation() {
                one_by_one.add_galois(&secret, [127, 7], &mut rng).unwrap();
            }
            assert_eq!(words(&keys), words(&one_by_one), "{needs:?}");
            assert!(needs.check(&keys).is_ok());
        }
        let none = EvaluationKeys::empty(params, &ring).unwrap();
        let needs = KeyRequirements::new();
        assert!(matches!(needs.clone().relinearisation().check(&none), Err(Error::MissingRelinKey)));
        assert!(matches!(needs.clone().conjugation().check(&none), Err(Error::MissingConjugationKey)));
        let rotation = needs.clone().rotations([2]).check(&none);
        assert!(matches!(rotation, Err(Error::MissingGaloisKey { step: 2 })));
        assert!(needs.clone().elements([1]).check(&none).is_ok());
        let error = needs.clone().elements([7]).check(&none).unwrap_err().to_string();
        assert!(error.contains("Galois element 7"), "{error}");
        let even = EvaluationKeys::generate(&secret, &ring, needs.elements([4]), &mut rng());
        assert!(matches!(even, Err(Error::Argument { what: "Galois element", .. })), "{even:?}");
    }
}
