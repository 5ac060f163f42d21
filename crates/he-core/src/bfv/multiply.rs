//! The scale-invariant product t c c' / Q, in residues.
//!
//! [`ExactOps::scaled_tensor`] through an auxiliary modulus R >= Q / 2, so that its rounding of the
//! second operand stays below that of one modulus switch. If a conversion takes the neighbour at
//! the edge of the centred representatives, t e' is added to the product, once.

use super::BfvParams;
use crate::arith::{Modulus, ntt_primes_below};
use crate::backend::{Cpu, ExactOps, RingOps, ScaledTensor};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::params::ParamsError;
use crate::ring::{Poly, Ring, RingSpec};
use crate::rlwe::{RlweCiphertext, RlweProduct};
use std::sync::Arc;

/// The data that products need on a device: a ring with the primes of the chain and, instead of the
/// special ones, those of R.
#[derive(Debug)]
pub struct Multiplier<B: RingOps = Cpu> {
    ring: Ring<B>,
    /// The shape of products of batch one modulo the first i + 1 primes of the chain, at i.
    shapes: Arc<[ScaledTensor]>,
}

impl<B: RingOps> Clone for Multiplier<B> {
    fn clone(&self) -> Self {
        Self { ring: self.ring.clone(), shapes: Arc::clone(&self.shapes) }
    }
}

/// As many primes as R needs for each prefix of the chain, with R at least Q / 2: they are 50 bits
/// wide for chains of such primes, and otherwise 61.
fn auxiliary_primes(spec: &RingSpec) -> Result<(Vec<u64>, Vec<usize>), ParamsError> {
    let narrow = spec.q().iter().all(|q| q >> 50 == 0);
    let bits = if narrow { 50 } else { Modulus::MAX_BITS };
    let mut primes: Vec<u64> = Vec::new();
    let (mut counts, mut log_q, mut log_r) = (vec![0], 0.0, 0.0);
    for &q in spec.q() {
        log_q += libm::log2(q as f64);
        while log_r < log_q - 1.0 {
            let taken: Vec<u64> = spec.q().iter().chain(&primes).copied().collect();
            let prime = ntt_primes_below(bits, spec.log_n(), 1, &taken)?[0];
            log_r += libm::log2(prime as f64);
            primes.push(prime);
        }
        counts.push(primes.len());
    }
    Ok((primes, counts))
}

impl<B: RingOps> Multiplier<B> {
    pub(super) fn new(params: &BfvParams, ring: &Ring<B>) -> Result<Self> {
        let spec = ring.spec();
        let (primes, auxiliary) = auxiliary_primes(spec)?;
        let spec = RingSpec::new(spec.log_n(), spec.q().to_vec(), primes)?;
        let t = params.plain().value();
        let shapes = (1..=spec.q().len()).map(|q| ScaledTensor::new(&spec, q, auxiliary[q], 1, t)).collect();
        Ok(Self { ring: Ring::new(ring.backend().clone(), spec)?, shapes })
    }

    pub(super) fn tensor(&self, a: &RlweCiphertext<B>, b: &RlweCiphertext<B>) -> Result<RlweProduct<B>> {
        // A single entry is combined with every entry of the other side.
        let (a, b) = if a.batch() >= b.batch() { (a, b) } else { (b, a) };
        if !a.ring().same(b.ring()) {
            return Err(Error::RingMismatch);
        }
        let span = a.parts()[0].span();
        if span != b.parts()[0].span() {
            return Err(Error::SpanMismatch { left: span, right: b.parts()[0].span() });
        }
        if a.batch() != b.batch() && b.batch() != 1 {
            return Err(Error::BatchMismatch { left: a.batch(), right: b.batch() });
        }
        let key_set = common("other ciphertext", b.key_set, a.key_set)?;
        let shape = ScaledTensor { batch: a.batch(), ..self.shapes[span.q - 1].clone() };
        let operands = [a, b].map(|ct| ct.parts().map(Poly::operand));
        let triple = self.ring.prepared().scaled_tensor(&shape, operands[0], operands[1])?;
        Ok(RlweProduct { d: triple.map(|buf| Poly::from_buf(a.ring(), span, a.batch(), buf)), key_set })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::exact::ExactSpec;
    use crate::ring::{Coeff, Eval, Seed, Span};
    use num_bigint::BigInt;
    use num_traits::{ToPrimitive, Zero};

    fn centred(x: &BigInt, q: &BigInt) -> BigInt {
        let x = ((x % q) + q) % q;
        if &x * 2 >= *q { x - q } else { x }
    }

    /// round(a / b); no halves, b is odd.
    fn rounded(a: &BigInt, b: &BigInt) -> BigInt {
        (a - centred(a, b)) / b
    }

    fn negacyclic(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
        let n = a.len();
        let mut product = vec![BigInt::zero(); n];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                if i + j < n { product[i + j] += x * y } else { product[i + j - n] -= x * y }
            }
        }
        product
    }

    /// A coefficient by its residues, which are those of known numbers.
    fn poly(ring: &Ring<Cpu>, span: Span, numbers: &[BigInt]) -> Poly<Eval, Cpu> {
        let residue = |x: &BigInt, q: u64| (((x % q) + q) % q).to_u64().unwrap();
        let words: Vec<u64> = ring.spec().q()[..span.q]
            .iter()
            .flat_map(|&q| numbers.iter().map(move |x| residue(x, q)))
            .collect();
        let batch = numbers.len() / ring.n();
        Poly::<Coeff, Cpu>::from_words(ring, span, batch, &words).unwrap().into_eval().unwrap()
    }

    /// Every word of round(t c round(R c' / Q) / R) mod Q, at every level; R is at least Q / 2, of
    /// the fewest primes.
    #[test]
    fn agrees_with_big_integers() {
        for (q_bits, t) in [
            (vec![40], 2),
            (vec![50, 50, 50], 65537),
            (vec![30, 30, 30, 30, 30], 17),
            (vec![61, 60, 55], 1 << 20),
            (vec![36, 36, 36, 36, 36, 36], (1 << 61) - 1),
        ] {
            let spec = ExactSpec::from_bits(3, &q_bits, &[62 - 1], t).unwrap();
            let Ok(params) = BfvParams::insecure(spec) else { panic!("{q_bits:?}, t = {t}") };
            let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
            let multiplier = Multiplier::new(&params, &ring).unwrap();
            let (n, spec) = (ring.n(), multiplier.ring.spec());
            for limbs in 1..=q_bits.len() {
                let span = Span::chain(limbs);
                let product = |primes: &[u64]| primes.iter().map(|&q| BigInt::from(q)).product::<BigInt>();
                let q = product(&spec.q()[..limbs]);
                let r = product(&spec.p()[..multiplier.shapes[limbs - 1].span.p]);
                let fewer = product(&spec.p()[..multiplier.shapes[limbs - 1].span.p - 1]);
                assert!(&r * 2 >= q && &fewer * 2 < q, "{q_bits:?}, {limbs} primes");
                for batches in [[1, 1], [3, 3], [1, 2], [2, 1]] {
                    let numbers = |part: u64, batch: usize| -> Vec<BigInt> {
                        let seed = Seed([part as u8 + 1; 32]);
                        let uniform = Poly::<Coeff, Cpu>::uniform(&ring, span, batch, &seed, 0).unwrap();
                        let words = uniform.to_words().unwrap();
                        let compose = |k: usize| {
                            let residues = (0..limbs).map(|i| words[i * batch * n + k]);
                            let terms = residues.zip(&spec.q()[..limbs]).map(|(x, &prime)| {
                                let hat = &q / prime;
                                let m = Modulus::new(prime).unwrap();
                                &hat * m.mul(x, m.inv((&hat % prime).to_u64().unwrap()))
                            });
                            centred(&terms.sum(), &q)
                        };
                        (0..batch * n).map(compose).collect()
                    };
                    let a = [0, 1].map(|part| numbers(part, batches[0]));
                    let b = [2, 3].map(|part| numbers(part, batches[1]));
                    let pair = |x: &[Vec<BigInt>; 2]| {
                        let [c0, c1] = x.each_ref().map(|c| poly(&ring, span, c));
                        RlweCiphertext::new(c0, c1).unwrap()
                    };
                    let found = multiplier.tensor(&pair(&a), &pair(&b)).unwrap();
                    // The side with more entries is the first operand.
                    let (a, b) = if batches[0] >= batches[1] { (a, b) } else { (b, a) };
                    let b =
                        b.map(|c| c.iter().map(|c| centred(&rounded(&(c * &r), &q), &r)).collect::<Vec<_>>());
                    let entry = |c: &[BigInt], entry: usize| {
                        let only = if c.len() == n { 0 } else { entry };
                        c[only * n..][..n].to_vec()
                    };
                    let terms: [&[(usize, usize)]; 3] = [&[(0, 0)], &[(0, 1), (1, 0)], &[(1, 1)]];
                    for (terms, found) in terms.into_iter().zip(found.parts()) {
                        let mut expected = Vec::new();
                        for e in 0..found.batch() {
                            let mut sum = vec![BigInt::zero(); n];
                            for &(i, j) in terms {
                                let product = negacyclic(&entry(&a[i], e), &entry(&b[j], e));
                                sum.iter_mut().zip(product).for_each(|(sum, x)| *sum += x);
                            }
                            expected.extend(sum.iter().map(|x| rounded(&(x * t), &r)));
                        }
                        let expected = poly(&ring, span, &expected).to_words().unwrap();
                        assert_eq!(expected, found.to_words().unwrap(), "{q_bits:?}, {limbs}, {batches:?}");
                    }
                }
            }
        }
    }
}
