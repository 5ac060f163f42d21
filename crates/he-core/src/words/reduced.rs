//! Products modulo a power of two, which take the fewest bytes.

use super::role::{Product, Role as _};
use super::{WordParams, Words};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::ring::{Coeff, Eval, Poly, Ring, Span};
use crate::rlwe::{Fingerprint, RlweCiphertext};

/// A batch of products whose coefficients were divided by q / 2^b and rounded, for the b bits of
/// [`WordSpec::result_bits`](super::WordSpec::result_bits). It can only be decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReducedWords {
    fingerprint: Fingerprint,
    bits: u32,
    degree: usize,
    parts: [Vec<u64>; 2],
}

/// Below this many coefficients, threads cost more than they save.
const PIECE: usize = 1 << 12;

impl ReducedWords {
    /// Reduces products, which lose their key set. Adds a rounding noise of variance (1 + 2N/3) /
    /// 12 per coefficient.
    ///
    /// # Errors
    /// [`Error::TooManyTerms`], [`Error::RingMismatch`]; device errors.
    pub fn new<B: RingOps>(params: &WordParams, products: Words<Product, B>) -> Result<Self> {
        let ring = products.pair.ring().clone();
        if ring.spec() != params.ckks().rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        products.check(params, &ring)?;
        let (bits, q) = (params.spec().result_bits, ring.spec().q()[0]);
        let [c0, c1] = products.pair.c;
        let reduced = |part: Poly<Eval, B>| -> Result<Vec<u64>> {
            let mut words = part.into_coeff()?.to_words()?;
            reduce(&mut words, q, bits);
            Ok(words)
        };
        let (parts, degree) = ([reduced(c0)?, reduced(c1)?], ring.n());
        Ok(Self { fingerprint: params.ckks().fingerprint(), bits, degree, parts })
    }

    /// Makes it from the coefficients of its polynomials, batch entry by batch entry.
    ///
    /// # Errors
    /// [`Error::Argument`] unless both have a positive multiple of N coefficients below 2^b.
    pub fn from_parts(params: &WordParams, parts: [Vec<u64>; 2]) -> Result<Self> {
        let (degree, bits) = (params.ckks().rlwe().ring().n(), params.spec().result_bits);
        let [first, second] = parts.each_ref().map(Vec::len);
        if first == 0 || first != second || !first.is_multiple_of(degree) {
            let why = format!("{first} and {second} given, where multiples of {degree} are needed");
            return Err(Error::argument("coefficients", why));
        }
        if parts.iter().flatten().any(|c| c >> bits > 0) {
            return Err(Error::argument("coefficients", format!("one has more than {bits} bits")));
        }
        Ok(Self { fingerprint: params.ckks().fingerprint(), bits, degree, parts })
    }

    /// The coefficients of both polynomials, batch entry by batch entry.
    pub fn parts(&self) -> [&[u64]; 2] {
        self.parts.each_ref().map(Vec::as_slice)
    }

    /// The bits of a coefficient.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of ciphertexts in the batch.
    pub fn batch(&self) -> usize {
        self.parts[0].len() / self.degree
    }

    /// The parameters that it belongs to, as in [`CkksParams::fingerprint`].
    ///
    /// [`CkksParams::fingerprint`]: crate::ckks::CkksParams::fingerprint
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Checks that it belongs to these parameters.
    pub(crate) fn check(&self, params: &WordParams) -> Result<()> {
        let expected = params.ckks().fingerprint();
        if self.fingerprint != expected || self.bits != params.spec().result_bits {
            let (found, expected) = (self.fingerprint.to_string(), expected.to_string());
            return Err(Error::ParamsMismatch { what: "reduced product", found, expected });
        }
        Ok(())
    }

    /// The scale of reduced products of these parameters.
    pub(crate) fn scale_of(params: &WordParams) -> f64 {
        let q = params.ckks().rlwe().ring().q()[0] as f64;
        Product::scale(params) / q * libm::exp2(f64::from(params.spec().result_bits))
    }

    /// The same integers modulo the prime of a ring.
    pub(super) fn lifted<B: RingOps>(&self, ring: &Ring<B>) -> Result<RlweCiphertext<B>> {
        let lifted = |part: &Vec<u64>| {
            Poly::<Coeff, B>::from_words(ring, Span::chain(1), self.batch(), part)?.into_eval()
        };
        let [c0, c1] = &self.parts;
        RlweCiphertext::new(lifted(c0)?, lifted(c1)?)
    }
}

/// Residues modulo q to round(2^bits x / q) modulo 2^bits, where 2^bits < q.
fn reduce(words: &mut [u64], q: u64, bits: u32) {
    let factor = ((1u128 << (64 + bits)) + u128::from(q) / 2) / u128::from(q);
    let mask = (1u64 << bits) - 1;
    words.par_chunks_mut(PIECE).for_each(|words| {
        for word in words {
            *word = ((u128::from(*word) * factor + (1 << 63)) >> 64) as u64 & mask;
        }
    });
}
