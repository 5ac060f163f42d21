//! Rings that share the tables of a larger one.

use super::lab::{Lab, WIDTHS, in_case};
use crate::backend::{PreparedRing, RingOps};
use crate::conformance::{Mirror, Naive};
use crate::error::Result;
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
            in_case(compare(&lab, &whole, q, p), || lab.case((q, p)))?;
        }
    }
    Ok(())
}

fn compare<B: RingOps>(lab: &Lab<B>, whole: &Ring<B>, q: usize, p: usize) -> Result<()> {
    let prefix = whole.prefix(q, p)?;
    let alone = Ring::new(whole.backend().clone(), prefix.spec().clone())?;
    let span = Span::extended(q, p);
    let seed = |byte| Seed([byte; 32]);

    let values = |ring: &Ring<B>| -> Result<Vec<u64>> {
        let mut x: Poly<Eval, B> = Poly::uniform(ring, span, 2, &seed(1), 7)?;
        let y: Poly<Coeff, B> = Poly::error(ring, span, 1, &seed(2), 8)?;
        x.mul_assign(&y.into_eval()?)?;
        let x = x.automorphism(5)?;
        let x = if q + p > 1 { x.mod_down(q.min(q + p - 1))? } else { x };
        x.into_coeff()?.to_words()
    };
    lab.expect("prefix", "those of a ring of these primes", &values(&prefix)?, &values(&alone)?)?;

    // Operands of the whole ring, over the primes of both.
    let chain = Span::chain(q);
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

    let digits = RlweParams::greedy_digits(prefix.spec().q(), prefix.spec().p());
    let params = RlweParams::insecure(prefix.spec().clone(), digits)?;
    let pair = |ring: &Ring<B>| -> Result<RlweCiphertext<B>> {
        RlweCiphertext::new(
            Poly::uniform(ring, chain, 2, &seed(5), 0)?,
            Poly::uniform(ring, chain, 2, &seed(5), 1)?,
        )
    };
    // The ciphertext is one of the whole ring, the key one of the prefix.
    let switched = |ciphertexts: &Ring<B>, keys: &Ring<B>| -> Result<Vec<Vec<u64>>> {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let [from, to] = [(); 2].map(|()| SecretKey::generate(&params, &mut rng));
        let key = SwitchKey::generate(&from, &to, &params, keys, &mut rng)?;
        let result = pair(ciphertexts)?.switch(&key)?;
        let bodies = (0..params.digits().len()).map(|digit| key.body_words(digit));
        bodies.chain(result.parts().map(Poly::to_words)).collect()
    };
    let (found, expected) = (switched(whole, &prefix)?, switched(&alone, &alone)?);
    lab.expect(
        "prefix",
        "the key and the switch of a ring of these primes",
        &found.concat(),
        &expected.concat(),
    )
}
