//! Rings that share the tables of another one.

use super::lab::{Lab, WIDTHS, in_case};
use crate::backend::{PreparedRing, RingOps};
use crate::conformance::{Mirror, Naive};
use crate::error::{Error, Result};
use crate::ring::{Coeff, Eval, Poly, Ring, Seed, Span};
use crate::rlwe::{RlweCiphertext, RlweParams, SecretKey, SwitchKey};
use rand::{SeedableRng, rngs::ChaCha20Rng};

/// Polynomials, keys and key switches in a prefix of a ring have the words that they have in a ring
/// prepared for these primes alone, and meet polynomials of the whole ring.
///
/// # Errors
/// The first failure, or a device's error.
pub fn prefix_rings<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for (widths, degree) in WIDTHS.iter().zip([3, 5, 6]) {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), widths, degree.min(log_n))?;
        let whole = Ring::new(lab.backend.clone(), lab.ring.spec().clone())?;
        for (q, p) in [(1, 0), (1, 1), (2, 1), (3, 3), (6, 1), (6, 3)] {
            in_case(prefix(&lab, &whole, q, p), || lab.case((q, p)))?;
        }
    }
    Ok(())
}

/// Checks splits of a ring, into which polynomials go that have only primes of their chains.
///
/// # Errors
/// The first failure, or a device's error.
pub fn split_rings<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for (widths, degree) in WIDTHS.iter().zip([3, 5, 6]) {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), widths, degree.min(log_n))?;
        let whole = Ring::new(lab.backend.clone(), lab.ring.spec().clone())?;
        for (q, p) in [(1, 4), (2, 5), (4, 3), (5, 4), (6, 3)] {
            in_case(split(&lab, &whole, q, p), || lab.case((q, p)))?;
        }
    }
    Ok(())
}

/// The values that are computed in a ring from seeds.
fn values<B: RingOps>(ring: &Ring<B>) -> Result<Vec<u64>> {
    let (q, p) = (ring.spec().q().len(), ring.spec().p().len());
    let span = Span::extended(q, p);
    let mut x: Poly<Eval, B> = Poly::uniform(ring, span, 2, &Seed([1; 32]), 7)?;
    let y: Poly<Coeff, B> = Poly::error(ring, span, 1, &Seed([2; 32]), 8)?;
    x.mul_assign(&y.into_eval()?)?;
    let x = x.automorphism(5)?;
    let x = if q + p > 1 { x.mod_down(q.min(q + p - 1))? } else { x };
    x.into_coeff()?.to_words()
}

/// A key in a ring, and the switch of a ciphertext over so many primes of another one's chain.
fn switched<B: RingOps>(ciphertexts: &Ring<B>, chain: usize, keys: &Ring<B>) -> Result<Vec<u64>> {
    let digits = RlweParams::greedy_digits(keys.spec().q(), keys.spec().p());
    let params = RlweParams::insecure(keys.spec().clone(), digits)?;
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let [from, to] = [(); 2].map(|()| SecretKey::generate(&params, &mut rng));
    let key = SwitchKey::generate(&from, &to, &params, keys, &mut rng)?;
    let part = |index| -> Result<Poly<Eval, B>> {
        Poly::uniform(ciphertexts, Span::chain(chain), 2, &Seed([5; 32]), index)?.into_ring(keys)
    };
    let result = RlweCiphertext::new(part(0)?, part(1)?)?.switch(&key)?;
    let bodies = (0..params.digits().len()).map(|digit| key.body_words(digit));
    let words: Vec<Vec<u64>> = bodies.chain(result.parts().map(Poly::to_words)).collect::<Result<_>>()?;
    Ok(words.concat())
}

fn prefix<B: RingOps>(lab: &Lab<B>, whole: &Ring<B>, q: usize, p: usize) -> Result<()> {
    let prefix = whole.prefix(q, p)?;
    let alone = Ring::new(whole.backend().clone(), prefix.spec().clone())?;
    lab.expect("prefix", "those of a ring of these primes", &values(&prefix)?, &values(&alone)?)?;

    // Operands of the whole ring, over the primes of both.
    let (chain, seed) = (Span::chain(q), |byte| Seed([byte; 32]));
    let mut sum: Poly<Eval, B> = Poly::uniform(&prefix, chain, 1, &seed(3), 0)?;
    sum.add_assign(&Poly::uniform(whole, Span::chain(6), 1, &seed(4), 0)?)?;
    let mut expected: Poly<Eval, B> = Poly::uniform(&alone, chain, 1, &seed(3), 0)?;
    expected.add_assign(&Poly::uniform(&alone, chain, 1, &seed(4), 0)?)?;
    lab.expect("prefix", "a sum with the whole ring", &sum.to_words()?, &expected.to_words()?)?;
    let moved = sum.into_ring(whole)?;
    lab.expect("prefix", "the same words", &moved.to_words()?, &expected.to_words()?)?;
    if p == 0 {
        return Ok(());
    }
    let (found, expected) = (switched(whole, q, &prefix)?, switched(&alone, q, &alone)?);
    lab.expect("prefix", "the key and the switch of a ring of these primes", &found, &expected)
}

fn split<B: RingOps>(lab: &Lab<B>, whole: &Ring<B>, q: usize, p: usize) -> Result<()> {
    let split = whole.split(q, p)?;
    let alone = Ring::new(whole.backend().clone(), split.spec().clone())?;
    lab.expect("split", "those of a ring of these primes", &values(&split)?, &values(&alone)?)?;
    // It is prepared once, and not an operand of what it was split from.
    let (again, chain) = (whole.split(q, p)?, Span::chain(q.min(6)));
    let other: Poly<Eval, B> = Poly::uniform(whole, chain, 1, &Seed([3; 32]), 0)?;
    let mut sum: Poly<Eval, B> = Poly::uniform(&split, chain, 1, &Seed([3; 32]), 0)?;
    let mixes = sum.add_assign(&other).is_ok();
    if !again.same(&split)
        || mixes != split.shares(whole)
        || split.shares(whole) != (split.spec() == whole.spec())
    {
        return Err(Error::argument("split", "it is prepared anew, or mixed with other special primes"));
    }
    // One prime less than the chain as well.
    for chain in [q.min(6), q.min(6) - 1].into_iter().filter(|&chain| chain > 0) {
        let (found, expected) = (switched(whole, chain, &split)?, switched(&alone, chain, &alone)?);
        lab.expect("split", "the key and the switch of a ring of these primes", &found, &expected)?;
    }
    Ok(())
}
