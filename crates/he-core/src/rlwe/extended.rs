//! Ciphertexts modulo Q P, before the division by P that ends a key switch.

use super::requirements::missing;
use super::work::{self, tell};
use super::{Decomposed, EvaluationKeys, KEY, RlweCiphertext, RlweParams, SwitchKey, SwitchSource};
use crate::backend::{
    Backend, Cpu, GiantStep, KeySwitchOps, PolyOps, RingOps, Rotation, RotationBlocks, Weight,
    special_product,
};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, key_set_accessors};
use crate::ring::{Eval, Poly, Ring, Rows, Span, galois_conjugation};
use derive_where::derive_where;

/// The name of a ciphertext in errors about combining it with another one.
const OPERAND: &str = "other ciphertext";

/// (c0, c1) in evaluation form over a prefix of the chain and special primes, decrypting to P times
/// its message: c0 + c1 s = P m + e modulo Q P, P the product of those special primes.
///
/// Key switches end by a division by P, which takes most of their time once the digits are shared.
/// Sums of rotations, weighted by plaintexts modulo Q P, need only one for all of them: rotate
/// without the division ([`RlweCiphertext::automorphism_extended`]), multiply and add, and divide
/// the sum ([`mod_down`](Self::mod_down)), by P and primes of the chain together (double hoisting:
/// Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, *Efficient Bootstrapping for Approximate
/// Homomorphic Encryption with Non-Sparse Keys*, Eurocrypt 2021, section 4; Halevi, Shoup, *Faster
/// Homomorphic Linear Transformations in HElib*, Crypto 2018). A key switch adds the noise sum_j
/// digit_j e_j to e, a bound on which is in [`SwitchKey`]'s module; the division divides e by P and
/// adds the rounding's sqrt((1 + 2N/3) / 12).
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct ExtendedCiphertext<B: RingOps = Cpu> {
    c: [Poly<Eval, B>; 2],
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: RingOps] ExtendedCiphertext<B> { key_set }
}

impl<B: RingOps> ExtendedCiphertext<B> {
    /// From its two polynomials over a prefix of the chain and special primes, of no known key set.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for other primes; mismatch of ring or batch.
    pub fn new(c0: Poly<Eval, B>, c1: Poly<Eval, B>) -> Result<Self> {
        let found = c0.span();
        let expected = Span::extended(found.q.max(1), found.p.max(1));
        if found != expected {
            return Err(Error::SpanMismatch { left: found, right: expected });
        }
        let RlweCiphertext { c, key_set } = RlweCiphertext::new(c0, c1)?;
        Ok(Self { c, key_set })
    }

    /// Zero, for sums to start from: `batch` of them over the first `q` primes of the chain and the
    /// special ones.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] without special primes, or for more primes than there are; an empty
    /// batch; device errors.
    pub fn zeros(ring: &Ring<B>, q: usize, batch: usize) -> Result<Self> {
        let span = Span::extended(q, ring.spec().p().len());
        Self::new(Poly::zeros(ring, span, batch)?, Poly::zeros(ring, span, batch)?)
    }

    /// P times a ciphertext: the same message, to be added to others over Q P.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] without special primes; device errors.
    pub fn lifted(ct: &RlweCiphertext<B>) -> Result<Self> {
        let mut sum = Self::zeros(ct.ring(), ct.chain_limbs(), ct.batch())?;
        for (sum, c) in sum.c.iter_mut().zip(ct.parts()) {
            add_lifted(sum, c)?;
        }
        Ok(sum.of(ct.key_set()))
    }

    pub(crate) fn of(self, key_set: Option<KeySetId>) -> Self {
        Self { key_set, ..self }
    }

    /// From the two polynomials of a pair, likewise.
    pub(crate) fn of_pair(pair: RlweCiphertext<B>) -> Result<Self> {
        let RlweCiphertext { c: [c0, c1], key_set } = pair;
        Ok(Self::new(c0, c1)?.of(key_set))
    }

    /// The two polynomials as a pair, which means nothing to operations on ciphertexts over the
    /// chain.
    pub(crate) fn into_pair(self) -> RlweCiphertext<B> {
        RlweCiphertext { c: self.c, key_set: self.key_set }
    }

    /// Both polynomials.
    pub fn parts(&self) -> [&Poly<Eval, B>; 2] {
        self.c.each_ref()
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.c[0].ring()
    }

    /// The number of ciphertexts in the batch.
    pub fn batch(&self) -> usize {
        self.c[0].batch()
    }

    /// The number of primes of the chain.
    pub fn chain_limbs(&self) -> usize {
        self.c[0].span().q
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    pub fn duplicate(&self) -> Result<Self> {
        let [c0, c1] = &self.c;
        Ok(Self { c: [c0.duplicate()?, c1.duplicate()?], key_set: self.key_set })
    }

    /// self <- self + rhs. `rhs` may have a batch of one.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn add_assign(&mut self, rhs: &Self) -> Result<()> {
        self.join(rhs)?;
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.add_assign(b))
    }

    /// self <- self - rhs, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn sub_assign(&mut self, rhs: &Self) -> Result<()> {
        self.join(rhs)?;
        self.c.iter_mut().zip(&rhs.c).try_for_each(|(a, b)| a.sub_assign(b))
    }

    /// self <- self plain for plaintexts over the same primes, one for each of the batch or one for
    /// all.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    pub fn mul_assign(&mut self, plain: &Poly<Eval, B>) -> Result<()> {
        self.c.iter_mut().try_for_each(|c| c.mul_assign(plain))
    }

    /// self <- self + ct plain, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, primes, batch or key sets; device errors.
    pub fn mul_add_assign(&mut self, ct: &Self, plain: &Poly<Eval, B>) -> Result<()> {
        self.join(ct)?;
        self.c.iter_mut().zip(&ct.c).try_for_each(|(sum, c)| sum.mul_add_assign(c, plain))
    }

    /// Checks that this and another ciphertext fit each other, and joins their key sets.
    fn join(&mut self, rhs: &Self) -> Result<()> {
        self.c.iter().zip(&rhs.c).try_for_each(|(a, b)| a.check(b))?;
        self.key_set = common(OPERAND, rhs.key_set, self.key_set)?;
        Ok(())
    }

    /// The image under X -> X^g by the Galois key for g, undivided. One division by P, of the
    /// second part, whose quotient is decomposed; the first part is never divided.
    ///
    /// # Errors
    /// [`Error::Argument`] for an even g; mismatch of parameters; device errors.
    pub fn automorphism(&self, params: &RlweParams, key: &SwitchKey<B>, g: u64) -> Result<Self> {
        let [c0, c1] = &self.c;
        if g.is_multiple_of(2) {
            return Err(Error::argument("Galois element", format!("{g} is even")));
        }
        key.check_source(SwitchSource::Image(g))?;
        let key_set = common(KEY, key.key_set(), self.key_set)?;
        let quotient = c1.duplicate()?.mod_down(self.chain_limbs())?;
        tell(c1.ring(), c1.batch(), work::divide(quotient.span().q, c1.span().p));
        let [mut sum, switched] = Decomposed::new(params, &quotient)?.product(key)?;
        sum.add_assign(c0)?;
        Ok(Self::new(sum.automorphism(g)?, switched.automorphism(g)?)?.of(key_set))
    }

    /// Division with rounding by P and the primes of the chain after the first `keep`, in one: P m
    /// becomes m, divided by those primes; `keep` = all primes divides by P alone.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] if nothing is kept, or more than there is; device errors.
    pub fn mod_down(self, keep: usize) -> Result<RlweCiphertext<B>> {
        let [c0, c1] = self.c;
        RlweCiphertext { c: [c0, c1], key_set: self.key_set }.mod_down(keep)
    }
}

/// A Galois element, and the key for it unless it is 1.
pub(crate) type KeyedElement<'a, B> = (u64, Option<&'a SwitchKey<B>>);

/// A giant step, and the weights of its baby steps by their index.
pub(crate) type WeightedStep<'a, B> = (KeyedElement<'a, B>, Vec<(usize, Weight<'a, <B as Backend>::Buf>)>);

/// The factor of an image in a sum: X^(N/2) multiplies slots of complex numbers by i.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    One,
    I,
    MinusI,
}

/// X^(N/2) and its negative over Q P in evaluation form, each of which has one value in either half
/// of its words: `[limb][half]`.
#[derive_where(Clone; B::Buf)]
struct Units<B: RingOps> {
    span: Span,
    i: B::Buf,
    minus_i: B::Buf,
}

impl<B: RingOps> Units<B> {
    /// The same values over fewer primes of the chain.
    fn shortened(&self, span: Span, backend: &B) -> Result<Self> {
        if span.q > self.span.q || span.p != self.span.p {
            return Err(Error::SpanMismatch { left: self.span, right: span });
        }
        let shortened = |words: &B::Buf| {
            let mut shorter = backend.scratch(2 * span.limbs())?;
            backend.copy(words, 0, &mut shorter, 0, 2 * span.q)?;
            backend.copy(words, 2 * self.span.q, &mut shorter, 2 * span.q, 2 * span.p)?;
            Ok::<_, Error>(shorter)
        };
        Ok(Self { span, i: shortened(&self.i)?, minus_i: shortened(&self.minus_i)? })
    }
}

/// Images of a ciphertext under X -> X^g, and sums of them.
#[derive_where(Clone; B::Buf)]
pub(crate) struct ImageSums<B: RingOps> {
    elements: Vec<u64>,
    /// The factor of each image, for each sum.
    sums: Vec<Vec<Factor>>,
    /// The factors other than one.
    units: Option<Units<B>>,
}

impl<B: RingOps> std::fmt::Debug for ImageSums<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ImageSums {{ {:?}, {:?} }}", self.elements, self.sums)
    }
}

impl<B: RingOps> ImageSums<B> {
    /// The sum of the images under X -> X^g for these elements g.
    pub(crate) fn one(elements: Vec<u64>) -> Self {
        let factors = vec![Factor::One; elements.len()];
        Self { elements, sums: vec![factors], units: None }
    }

    /// y + conj(y) and i conj(y) - i y: 2 Re(y), then 2 Im(y), for ciphertexts over the chain of a
    /// ring.
    ///
    /// # Errors
    /// Device errors.
    pub(crate) fn parts(ring: &Ring<B>) -> Result<Self> {
        let (spec, n) = (ring.spec(), ring.n());
        let span = Span::extended(spec.q().len(), spec.p().len());
        let i = Poly::<Eval, B>::monomial(ring, span, n / 2)?;
        let mut minus_i = i.duplicate()?;
        minus_i.neg_assign()?;
        let [i, minus_i] = [i.into_runs(spec.log_n() - 1)?, minus_i.into_runs(spec.log_n() - 1)?];
        Ok(Self {
            elements: vec![1, galois_conjugation(spec.log_n())],
            sums: vec![vec![Factor::One; 2], vec![Factor::MinusI, Factor::I]],
            units: Some(Units { span, i, minus_i }),
        })
    }

    /// The number of images in each sum.
    pub(crate) fn images(&self) -> usize {
        self.elements.len()
    }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// sum_i giant_i(sum_j weight_ij baby_j(self)) over Q P, before the last division by P: see
    /// [`KeySwitchOps::rotate_and_sum`]. `giants` has for each giant step its weights by the index
    /// of the baby step.
    ///
    /// # Errors
    /// Mismatch of parameters, ring or key sets; device errors.
    pub(crate) fn sum_of_rotations<'a>(
        &self,
        digits: &Decomposed<B>,
        babies: &[KeyedElement<'a, B>],
        giants: Vec<WeightedStep<'a, B>>,
    ) -> Result<ExtendedCiphertext<B>> {
        let blocks = RotationBlocks::one(babies.len(), giants.len());
        self.sums_of_rotations(digits, &blocks, babies, giants)
    }

    /// Sums of rotations for several groups of the batch, which are rotated each by its own baby
    /// steps, to several sums, which are the groups of the result.
    ///
    /// # Errors
    /// The same as for [`sum_of_rotations`](Self::sum_of_rotations).
    pub(crate) fn sums_of_rotations<'a>(
        &self,
        digits: &Decomposed<B>,
        blocks: &RotationBlocks,
        babies: &[KeyedElement<'a, B>],
        giants: Vec<WeightedStep<'a, B>>,
    ) -> Result<ExtendedCiphertext<B>> {
        let mut key_set = self.key_set;
        let keys = babies.iter().chain(giants.iter().map(|(element, _)| element));
        for key in keys.filter_map(|(_, key)| *key) {
            digits.check(key)?;
            key_set = common(KEY, key.key_set(), key_set)?;
        }
        let rotation = |(g, key): KeyedElement<'a, B>| Rotation { g, key: key.map(SwitchKey::buf) };
        let babies: Vec<_> = babies.iter().map(|&element| rotation(element)).collect();
        let step = |(element, terms)| GiantStep { rotation: rotation(element), terms };
        let giants: Vec<_> = giants.into_iter().map(step).collect();
        let (ring, shape) = (self.ring(), digits.shape());
        let parts = self.parts().map(Poly::buf);
        let sums = ring.prepared().rotate_and_sum(shape, blocks, parts, digits.buf(), &babies, &giants)?;
        let group = blocks.group(shape).batch;
        tell(ring, group, work::rotations(shape, &babies, &giants));
        let batch = group * blocks.outputs;
        let [c0, c1] = sums.map(|buf| Poly::from_buf(ring, shape.span(), batch, buf));
        Ok(ExtendedCiphertext::new(c0, c1)?.of(key_set))
    }

    /// Sums of images, one after the other in the batch, divided by the primes of the chain after
    /// the first `keep` as well: one decomposition, and one division for each sum.
    ///
    /// # Errors
    /// [`Error::Argument`] for an element other than 1 without a key; [`Error::SpanMismatch`] for
    /// more primes than the sums were made for, or if nothing is kept; mismatch of parameters, ring
    /// or key sets; device errors.
    pub(crate) fn sums_of_images(
        &self,
        images: &ImageSums<B>,
        keys: &EvaluationKeys<B>,
        keep: usize,
    ) -> Result<Self> {
        let keyed = |&g: &u64| match g {
            1 => Ok((1, None)),
            g => Ok((g, Some(keys.galois(g).ok_or_else(|| missing(g))?))),
        };
        let elements: Vec<KeyedElement<'_, B>> = images.elements.iter().map(keyed).collect::<Result<_>>()?;
        let (ring, span) = (self.ring(), Span::extended(self.chain_limbs(), keys.params().ring().p().len()));
        let fewer = images.units.as_ref().filter(|units| units.span != span);
        let fewer = fewer.map(|units| units.shortened(span, ring.backend())).transpose()?;
        let units = fewer.as_ref().or(images.units.as_ref());
        let log_run = ring.spec().log_n() - 1;
        let weight = |factor: Factor| match (factor, units) {
            (Factor::I, Some(units)) => Weight::Poly { words: &units.i, log_run },
            (Factor::MinusI, Some(units)) => Weight::Poly { words: &units.minus_i, log_run },
            _ => Weight::Scalar(vec![1; span.limbs()]),
        };
        let sum = |factors: &Vec<Factor>| {
            let terms = factors.iter().enumerate().map(|(image, &factor)| (image, weight(factor)));
            ((1, None), terms.collect())
        };
        let blocks = RotationBlocks {
            outputs: images.sums.len(),
            of_giant: (0..images.sums.len()).collect(),
            ..RotationBlocks::one(elements.len(), images.sums.len())
        };
        ring.backend().batched(|| {
            let digits = Decomposed::new(keys.params(), self.parts()[1])?;
            let sums = images.sums.iter().map(sum).collect();
            self.sums_of_rotations(&digits, &blocks, &elements, sums)?.mod_down(keep)
        })
    }

    /// The image under X -> X^g over Q P, before the division by P, by the digits of the second
    /// part and the Galois key for g. One inner product; nothing is divided.
    ///
    /// # Errors
    /// [`Error::Argument`] for an even g; mismatch of parameters or batch; device errors.
    pub fn automorphism_extended(
        &self,
        digits: &Decomposed<B>,
        key: &SwitchKey<B>,
        g: u64,
    ) -> Result<ExtendedCiphertext<B>> {
        let key_set = self.check_switch(digits.shape(), key, g)?;
        let [mut sum, switched] = digits.product(key)?;
        add_lifted(&mut sum, &self.c[0])?;
        Ok(ExtendedCiphertext::new(sum.automorphism(g)?, switched.automorphism(g)?)?.of(key_set))
    }
}

/// sum <- sum + P c, for c over the primes of the chain that sum has.
fn add_lifted<B: RingOps>(sum: &mut Poly<Eval, B>, c: &Poly<Eval, B>) -> Result<()> {
    let (ring, span) = (sum.ring().clone(), sum.span());
    if !ring.shares(c.ring()) {
        return Err(Error::RingMismatch);
    }
    let factors = special_product(ring.spec(), span.q, span.p);
    let rows = Rows::new(Span::chain(span.q), sum.batch());
    ring.prepared().scale_add_assign(rows, sum.buf_mut(), c.operand(), &factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{CkksParams, CkksSpec};
    use crate::ring::{Coeff, Seed, galois_rotation};
    use crate::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    struct World {
        params: RlweParams,
        ring: Ring<Cpu>,
        keys: EvaluationKeys<Cpu>,
        rng: ChaCha20Rng,
    }

    impl World {
        fn new(seed: u64, special: usize) -> Self {
            let spec = CkksSpec::from_bits(5, &[50, 40, 40], &vec![50; special], 40.0).unwrap();
            let params = CkksParams::insecure(spec).unwrap().rlwe().clone();
            let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let secret = SecretKey::generate(&params, &mut rng);
            let needs = KeyRequirements::new().rotations([1, 3]).conjugation();
            let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng).unwrap();
            Self { params, ring, keys, rng }
        }

        fn poly(&mut self, span: Span, batch: usize) -> Poly<Eval, Cpu> {
            Poly::uniform(&self.ring, span, batch, &Seed(self.rng.random()), 0).unwrap()
        }

        fn pair(&mut self, q: usize, batch: usize) -> RlweCiphertext<Cpu> {
            RlweCiphertext::new(self.poly(Span::chain(q), batch), self.poly(Span::chain(q), batch)).unwrap()
        }

        fn small(&mut self, q: usize) -> [Poly<Eval, Cpu>; 2] {
            let numbers: Vec<i64> = (0..self.ring.n()).map(|_| self.rng.random_range(-9..=9)).collect();
            [Span::chain(q), Span::extended(q, self.params.ring().p().len())].map(|span| {
                let poly = Poly::<Coeff, Cpu>::from_signed(&self.ring, span, 1, &numbers).unwrap();
                poly.into_eval().unwrap()
            })
        }
    }

    fn words(ct: &RlweCiphertext<Cpu>) -> [Vec<u64>; 2] {
        ct.parts().map(|c| c.to_words().unwrap())
    }

    /// Sums of images have the words of their definition: each image over Q P by itself, times its
    /// power of X^(N/2), the sums divided once. For all primes of the chain, and for fewer.
    #[test]
    fn sums_of_images_are_those_of_each() {
        for seed in 0..4 {
            let w = &mut World::new(seed, 1 + seed as usize % 2);
            let (ring, log_n) = (w.ring.clone(), w.ring.spec().log_n());
            let elements = vec![1, galois_rotation(1, log_n), galois_rotation(3, log_n)];
            for (q, keep) in [(3, 3), (3, 2), (2, 1)] {
                let ct = w.pair(q, 2);
                let digits = Decomposed::new(&w.params, ct.parts()[1]).unwrap();
                let image = |g: u64| match g {
                    1 => ExtendedCiphertext::lifted(&ct).unwrap(),
                    g => ct.automorphism_extended(&digits, w.keys.galois(g).unwrap(), g).unwrap(),
                };
                let mut expected = image(elements[0]);
                elements[1..].iter().for_each(|&g| expected.add_assign(&image(g)).unwrap());
                let expected = expected.mod_down(keep).unwrap();
                let found = ct.sums_of_images(&ImageSums::one(elements.clone()), &w.keys, keep).unwrap();
                assert_eq!(words(&found), words(&expected), "seed {seed}, {q} primes, {keep} kept");

                let (mut real, mut imaginary) = (image(1), image(galois_conjugation(log_n)));
                real.add_assign(&imaginary).unwrap();
                imaginary.sub_assign(&image(1)).unwrap();
                let i = Poly::monomial(&ring, Span::extended(q, w.params.ring().p().len()), ring.n() / 2)
                    .unwrap();
                imaginary.mul_assign(&i).unwrap();
                let parts = [real, imaginary].map(|part| part.mod_down(keep).unwrap());
                let found = ct.sums_of_images(&ImageSums::parts(&ring).unwrap(), &w.keys, keep).unwrap();
                for (i, part) in parts.iter().enumerate() {
                    let found = found.slice_batch(2 * i..2 * i + 2).unwrap();
                    assert_eq!(words(&found), words(part), "seed {seed}, {q} primes, {keep} kept, part {i}");
                }
            }
            let none = ImageSums::one(vec![1, galois_rotation(2, log_n)]);
            let error = w.pair(3, 1).sums_of_images(&none, &w.keys, 3).unwrap_err();
            assert!(matches!(error, Error::Argument { .. }), "{error}");
        }
    }

    /// P m divided by P is m, with products by plaintexts and sums in between.
    #[test]
    fn lifted_ciphertexts_compute_alike() {
        for seed in 0..4 {
            let w = &mut World::new(seed, 1 + seed as usize % 2);
            for q in 1..=3 {
                let (a, b) = (w.pair(q, 2), w.pair(q, 2));
                let [short, long] = w.small(q);
                let mut sum = ExtendedCiphertext::lifted(&a).unwrap();
                sum.mul_assign(&long).unwrap();
                sum.add_assign(&ExtendedCiphertext::lifted(&b).unwrap()).unwrap();
                sum.mul_add_assign(&ExtendedCiphertext::lifted(&b).unwrap(), &long).unwrap();
                assert_eq!((sum.chain_limbs(), sum.batch()), (q, 2));
                let times = |c: &Poly<Eval, Cpu>| {
                    let mut c = c.duplicate()?;
                    c.mul_assign(&short)?;
                    Ok(c)
                };
                let expected = a.map(times).unwrap().add(&b).unwrap().add(&b.map(times).unwrap()).unwrap();
                let divided = sum.duplicate().unwrap().mod_down(q).unwrap();
                assert_eq!(words(&divided), words(&expected), "seed {seed}, {q} primes");
                if q > 1 {
                    // P and a prime in one division: the prime's own rounding.
                    let both = sum.mod_down(q - 1).unwrap();
                    assert_eq!(words(&both), words(&expected.mod_down(q - 1).unwrap()), "seed {seed}");
                }
            }
        }
    }

    /// An undivided rotation is, divided, the rotation, to the word; and so is one of what is
    /// itself undivided.
    #[test]
    fn undivided_rotations_are_rotations() {
        for seed in 0..4 {
            let w = &mut World::new(seed, 1 + seed as usize % 2);
            for (q, step) in [(1, 1), (2, 3), (3, 1)] {
                let g = galois_rotation(step, 5);
                let (ct, key) = (w.pair(q, 2), w.keys.galois(g).unwrap());
                let digits = Decomposed::new(&w.params, ct.parts()[1]).unwrap();
                let expected = ct.automorphism(&digits, key, g).unwrap();
                let rotated = ct.automorphism_extended(&digits, key, g).unwrap();
                assert_eq!(words(&rotated.mod_down(q).unwrap()), words(&expected), "seed {seed}");
                let lifted = ExtendedCiphertext::lifted(&ct).unwrap();
                let rotated = lifted.automorphism(&w.params, key, g).unwrap();
                assert_eq!(words(&rotated.mod_down(q).unwrap()), words(&expected), "seed {seed}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let w = &mut World::new(9, 2);
        let (ct, other) = (w.pair(2, 1), World::new(10, 2).pair(2, 1));
        let mut lifted = ExtendedCiphertext::lifted(&ct).unwrap();
        let foreign = ExtendedCiphertext::lifted(&other).unwrap();
        assert!(matches!(lifted.add_assign(&foreign), Err(Error::RingMismatch)));
        let shorter = ExtendedCiphertext::zeros(&w.ring, 1, 1).unwrap();
        assert!(matches!(lifted.add_assign(&shorter), Err(Error::SpanMismatch { .. })));
        let [short, _] = w.small(2);
        assert!(matches!(lifted.mul_assign(&short), Err(Error::SpanMismatch { .. })));
        for q in [0, 4] {
            assert!(ExtendedCiphertext::zeros(&w.ring, q, 1).is_err());
        }
        for span in [Span::chain(2), Span::digit(1, 2), Span::special(2)] {
            let (c0, c1) = (w.poly(span, 1), w.poly(span, 1));
            assert!(matches!(ExtendedCiphertext::new(c0, c1), Err(Error::SpanMismatch { .. })));
        }
        let key = w.keys.galois(galois_rotation(1, 5)).unwrap();
        let digits = Decomposed::new(&w.params, ct.parts()[1]).unwrap();
        assert!(matches!(ct.automorphism_extended(&digits, key, 4), Err(Error::Argument { .. })));
        let longer = w.pair(3, 1);
        let key = w.keys.galois(galois_rotation(1, 5)).unwrap();
        assert!(longer.automorphism_extended(&digits, key, 5).is_err());
        for keep in [0, 3] {
            assert!(lifted.duplicate().unwrap().mod_down(keep).is_err());
        }
        let none = CkksParams::insecure(CkksSpec::from_bits(5, &[50], &[], 40.0).unwrap()).unwrap();
        let ring = Ring::new(Cpu::new(), none.rlwe().ring().clone()).unwrap();
        assert!(matches!(ExtendedCiphertext::zeros(&ring, 1, 1), Err(Error::SpanMismatch { .. })));
    }
}
