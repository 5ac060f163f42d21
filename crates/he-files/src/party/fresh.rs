//! Whether a table is an input, as encryption makes it.
//!
//! This refuses mistakes, and the plainest of attacks. It cannot tell a ciphertext that somebody
//! chose from an encryption in general, because the words of both can look uniform: only the word
//! of the party that encrypted an input does that.

use super::{Agreed, Shared};
use crate::error::{PartyError, Result};
use he::Device;
use he_core::ring::{Eval, Poly};

/// The parts of a modulus whose words are counted.
const PARTS: u64 = 256;
/// -log2 of the probability that a part of a uniform polynomial has too many words: 2^-64 for the
/// 2^8 parts of 2^32 polynomials and moduli.
const RARE: f64 = 64.0 + 8.0 + 32.0;

/// The most words of `n` that lie in one part: k, the least for which Chernoff's bound of the
/// probability of more is rare, n D(k / n, 1 / 256) >= RARE ln 2 with the divergence D.
fn most_in_a_part(n: usize) -> usize {
    let (size, p) = (n as f64, 1.0 / PARTS as f64);
    let term = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    let rare = |k: &usize| {
        let share = *k as f64 / size;
        size * (term(share, p) + term(1.0 - share, 1.0 - p)) >= RARE * std::f64::consts::LN_2
    };
    (n / PARTS as usize..n).find(rare).unwrap_or(n)
}

/// Refuses what is not at the top level with its scale, or states other noise than an encryption
/// by public key, and polynomials whose words or coefficients no uniform one has.
pub(super) fn check<S: Shared>(agreed: &Agreed<S>, name: &str, ct: &S::Ciphertext) -> Result<()> {
    if let Some((found, fresh)) = S::unlike_fresh(&agreed.params, ct)? {
        return Err(PartyError::NotFresh { name: name.to_owned(), found, fresh }.into());
    }
    for (polynomial, part) in S::polynomials(ct).parts().into_iter().enumerate() {
        let spread = |words: Vec<u64>| spread(name, polynomial, part, &words);
        spread(part.to_words()?)?;
        spread(part.duplicate()?.into_coeff()?.to_words()?)?;
    }
    Ok(())
}

/// Refuses words, those of a polynomial or its coefficients, of which too many lie in one part.
fn spread(name: &str, polynomial: usize, part: &Poly<Eval, Device>, words: &[u64]) -> Result<()> {
    let ring = part.ring().spec();
    let (of, most) = (ring.n(), most_in_a_part(ring.n()));
    for (modulus, words) in ring.moduli_of(part.span()).zip(words.chunks(of * part.batch())) {
        for words in words.chunks(of) {
            let mut counts = [0; PARTS as usize];
            for &word in words {
                let at = u128::from(word) * u128::from(PARTS) / u128::from(modulus.value());
                counts[at as usize] += 1;
            }
            let found = counts.into_iter().max().unwrap_or(0);
            if found > most {
                let name = name.to_owned();
                return Err(PartyError::Structured { name, polynomial, found, of, most }.into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact tail of the binomial distribution, against the bound.
    #[test]
    fn uniform_words_pass() {
        for n in [1usize << 12, 1 << 15] {
            let k = most_in_a_part(n);
            let p = 1.0 / PARTS as f64;
            let mut log = n as f64 * (1.0 - p).ln();
            let mut tail = 0.0f64;
            for i in 0..n {
                if i > k {
                    tail += log.exp();
                }
                log += ((n - i) as f64 / (i + 1) as f64 * p / (1.0 - p)).ln();
            }
            let found = tail.log2();
            assert!(found < -RARE && found > -RARE - 12.0, "{n}: {k}, 2^{found}");
        }
    }
}
