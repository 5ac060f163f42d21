//! The definitions, implemented as they read, and as slowly.

mod matrix;
mod wide;

use crate::backend::{Backend, CkksOps, ExactOps, KeySwitchOps, PolyOps, PreparedRing};
use crate::error::Result;
use crate::params::ParamsError;
use crate::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span, error_row, ternary_row, uniform_row};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use std::ops::Range;

/// A back end that follows the definitions: the O(N^2) transform, remainders of 128-bit words, big
/// integers for the conversion of bases, substitution of coefficients for automorphisms. The
/// samplers are those of [`ring`](crate::ring), which are the definition
/// (`tests/vectors/sampler.py` is their independent check); the coarse operations have their
/// provided bodies. It is useful up to about N = 2^8; operations without transforms work at any
/// degree. Nothing here is constant time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naive;

/// One prime and the powers of its root.
#[derive(Debug)]
struct Prime {
    q: u64,
    /// psi^e for e < 2N, psi the least x with x^N = -1.
    powers: Vec<u64>,
}

/// A ring for [`Naive`].
#[derive(Debug)]
pub struct NaiveRing {
    spec: RingSpec,
    primes: Vec<Prime>,
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn add(a: u64, b: u64, q: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(q)) as u64
}

fn neg(a: u64, q: u64) -> u64 {
    (q - a) % q
}

fn pow(x: u64, e: u64, q: u64) -> u64 {
    let mut result = 1 % q;
    for bit in (0..64).rev() {
        result = mul(result, result, q);
        if e >> bit & 1 == 1 {
            result = mul(result, x, q);
        }
    }
    result
}

fn inverse(x: u64, q: u64) -> u64 {
    pow(x, q - 2, q)
}

fn signed(x: i64, q: u64) -> u64 {
    i128::from(x).rem_euclid(i128::from(q)) as u64
}

/// i with its lowest `bits` bits in reverse.
fn reverse(i: usize, bits: u32) -> usize {
    (0..bits).map(|bit| (i >> bit & 1) << (bits - 1 - bit)).sum()
}

impl Prime {
    fn new(q: u64, log_n: u32) -> Result<Self> {
        let n = 1u64 << log_n;
        let some_root = (2..q).map(|g| pow(g, (q - 1) / (2 * n), q)).find(|&x| pow(x, n, q) == q - 1);
        let roots = some_root.into_iter().flat_map(|x| (0..n).map(move |i| pow(x, 2 * i + 1, q)));
        let psi = roots.min().ok_or(ParamsError::NotNttPrime { found: q, log_n })?;
        Ok(Self { q, powers: (0..2 * n).map(|e| pow(psi, e, q)).collect() })
    }

    /// psi^e for an exponent modulo 2N.
    fn power(&self, e: usize) -> u64 {
        self.powers[e % self.powers.len()]
    }

    /// A[i] = sum_k a[k] psi^((2 brv(i) + 1) k).
    fn evaluate(&self, a: &[u64]) -> Vec<u64> {
        let bits = a.len().ilog2();
        (0..a.len())
            .map(|i| {
                let e = 2 * reverse(i, bits) + 1;
                a.iter()
                    .enumerate()
                    .fold(0, |sum, (k, &a)| add(sum, mul(a, self.power(e * k), self.q), self.q))
            })
            .collect()
    }

    /// a[k] = N^-1 sum_i A[i] psi^(-(2 brv(i) + 1) k).
    fn interpolate(&self, values: &[u64]) -> Vec<u64> {
        let (n, bits) = (values.len(), values.len().ilog2());
        let n_inverse = inverse(n as u64 % self.q, self.q);
        (0..n)
            .map(|k| {
                let sum = values.iter().enumerate().fold(0, |sum, (i, &value)| {
                    let e = (2 * reverse(i, bits) + 1) * k % (2 * n);
                    add(sum, mul(value, self.power(2 * n - e), self.q), self.q)
                });
                mul(sum, n_inverse, self.q)
            })
            .collect()
    }

    /// a(X^g) mod X^N + 1.
    fn substitute(&self, g: u64, a: &[u64]) -> Vec<u64> {
        let n = a.len();
        let mut image = vec![0; n];
        for (k, &a) in a.iter().enumerate() {
            let exponent = (u128::from(g) * k as u128 % (2 * n as u128)) as usize;
            image[exponent % n] = if exponent < n { a } else { neg(a, self.q) };
        }
        image
    }
}

impl NaiveRing {
    /// Index in the ring of the prime of limb `limb`.
    fn index(&self, span: Span, limb: usize) -> usize {
        let chain = span.q - span.start;
        if limb < chain { span.start + limb } else { self.spec.q().len() + limb - chain }
    }

    fn prime(&self, span: Span, limb: usize) -> &Prime {
        &self.primes[self.index(span, limb)]
    }

    /// Calls f(prime, limb, batch entry, row) for every row.
    fn rows(&self, rows: Rows, words: &mut [u64], mut f: impl FnMut(&Prime, usize, usize, &mut [u64])) {
        let n = self.spec.n();
        for limb in 0..rows.span.limbs() {
            for entry in 0..rows.batch {
                let at = rows.at + (limb * rows.batch + entry) * n;
                f(self.prime(rows.span, limb), limb, entry, &mut words[at..at + n]);
            }
        }
    }

    /// word <- f(prime, limb, word, x, y) for every word, with the words x and y of the operands.
    fn words(
        &self,
        rows: Rows,
        words: &mut [u64],
        x: Operand<'_, Vec<u64>>,
        y: Operand<'_, Vec<u64>>,
        f: impl Fn(u64, u64, u64, u64) -> u64,
    ) {
        let n = self.spec.n();
        self.rows(rows, words, |prime, limb, entry, row| {
            for (k, word) in row.iter_mut().enumerate() {
                *word = f(prime.q, *word, word_of(x, n, limb, entry, k), word_of(y, n, limb, entry, k));
            }
        });
    }

    fn fill_signed(&self, rows: Rows, dst: &mut [u64], mut fill: impl FnMut(usize, &mut [i64])) {
        let n = self.spec.n();
        let mut row = vec![0; n];
        self.rows(rows, dst, |prime, _, entry, out| {
            fill(entry * n, &mut row);
            for (out, &x) in out.iter_mut().zip(&row) {
                *out = signed(x, prime.q);
            }
        });
    }
}

fn word_of(x: Operand<'_, Vec<u64>>, n: usize, limb: usize, entry: usize, k: usize) -> u64 {
    let entry = if x.batch == 1 { 0 } else { entry };
    x.buf[x.at + (limb * x.batch + entry) * n + k]
}

/// Numbers modulo D = d_1 ... d_k from their residues, and to residues modulo other primes.
struct Composition {
    primes: Vec<u64>,
    product: BigUint,
    /// D / d_i.
    hats: Vec<BigUint>,
    /// (D / d_i)^-1 mod d_i.
    hat_inverses: Vec<u64>,
}

impl Composition {
    fn new(primes: Vec<u64>) -> Self {
        let product: BigUint = primes.iter().map(|&d| BigUint::from(d)).product();
        let hats: Vec<BigUint> = primes.iter().map(|&d| &product / d).collect();
        let hat_inverses = hats.iter().zip(&primes).map(|(hat, &d)| inverse(residue(hat, d), d)).collect();
        Self { primes, product, hats, hat_inverses }
    }

    /// x in [0, D), and how often D must be subtracted: 1 for the negative half, else 0.
    ///
    /// Within 2^-40 D of D/2, the contract leaves the choice of the neighbour to the rounding of a
    /// float64 sum, which every back end must compute in the same way, and which is also used here.
    #[expect(clippy::disallowed_methods, reason = "the oracle is not constant time")]
    fn compose(&self, residues: &[u64]) -> (BigUint, u64) {
        let y: Vec<u64> =
            (0..residues.len()).map(|i| mul(residues[i], self.hat_inverses[i], self.primes[i])).collect();
        let sum: BigUint = y.iter().zip(&self.hats).map(|(&y, hat)| hat * y).sum();
        let (quotient, x) = (&sum / &self.product, &sum % &self.product);
        let twice = &x << 1u32;
        let negative = twice >= self.product;
        let distance = if negative { &twice - &self.product } else { &self.product - &twice };
        if (distance << 40u32) >= self.product {
            return (x, u64::from(negative));
        }
        let mut rounded = 0f64;
        for (&y, &d) in y.iter().zip(&self.primes) {
            rounded += y as f64 * (1.0 / d as f64);
        }
        let v = rounded.round_ties_even() as u64;
        // sum = quotient D + x, and v is the quotient or one more.
        (x, v - quotient.to_u64().unwrap_or(v))
    }
}

/// x mod q.
fn residue(x: &BigUint, q: u64) -> u64 {
    // A remainder below a word fits a word.
    (x % q).to_u64().unwrap_or(0)
}

impl Backend for Naive {
    type Buf = Vec<u64>;
    type Ring = NaiveRing;

    fn name(&self) -> String {
        "naive".into()
    }

    fn prepare(&self, spec: &RingSpec) -> Result<NaiveRing> {
        let primes = spec.primes().map(|q| Prime::new(q, spec.log_n())).collect::<Result<_>>()?;
        Ok(NaiveRing { spec: spec.clone(), primes })
    }

    fn zeros(&self, words: usize) -> Result<Vec<u64>> {
        Ok(vec![0; words])
    }

    fn upload(&self, words: &[u64]) -> Result<Vec<u64>> {
        Ok(words.to_vec())
    }

    fn download(&self, buf: &Vec<u64>, range: Range<usize>) -> Result<Vec<u64>> {
        Ok(buf[range].to_vec())
    }

    fn copy(
        &self,
        src: &Vec<u64>,
        src_at: usize,
        dst: &mut Vec<u64>,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        dst[dst_at..dst_at + words].copy_from_slice(&src[src_at..src_at + words]);
        Ok(())
    }

    fn words(&self, buf: &Vec<u64>) -> usize {
        buf.len()
    }

    fn truncate(&self, buf: &mut Vec<u64>, words: usize) {
        buf.truncate(words);
    }

    fn wipe(&self, buf: &mut Vec<u64>) {
        zeroize::Zeroize::zeroize(buf.as_mut_slice());
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl PreparedRing for NaiveRing {
    type Buf = Vec<u64>;
    type Backend = Naive;

    fn backend(&self) -> &Naive {
        &Naive
    }

    fn spec(&self) -> &RingSpec {
        &self.spec
    }
}

impl PolyOps for NaiveRing {
    fn ntt(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.rows(rows, a, |prime, _, _, row| row.copy_from_slice(&prime.evaluate(row)));
        Ok(())
    }

    fn intt(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.rows(rows, a, |prime, _, _, row| row.copy_from_slice(&prime.interpolate(row)));
        Ok(())
    }

    fn add_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        self.words(rows, a, b, b, |q, a, b, _| add(a, b, q));
        Ok(())
    }

    fn sub_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        self.words(rows, a, b, b, |q, a, b, _| add(a, neg(b, q), q));
        Ok(())
    }

    fn neg_assign(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.rows(rows, a, |prime, _, _, row| row.iter_mut().for_each(|a| *a = neg(*a, prime.q)));
        Ok(())
    }

    fn mul_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        self.words(rows, a, b, b, |q, a, b, _| mul(a, b, q));
        Ok(())
    }

    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut Vec<u64>,
        x: Operand<'_, Vec<u64>>,
        y: Operand<'_, Vec<u64>>,
    ) -> Result<()> {
        self.words(rows, acc, x, y, |q, acc, x, y| add(acc, mul(x, y, q), q));
        Ok(())
    }

    fn scale_assign(&self, rows: Rows, a: &mut Vec<u64>, factors: &[u64]) -> Result<()> {
        self.rows(rows, a, |prime, limb, _, row| {
            row.iter_mut().for_each(|a| *a = mul(*a, factors[limb], prime.q));
        });
        Ok(())
    }

    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut Vec<u64>,
        x: Operand<'_, Vec<u64>>,
        factors: &[u64],
    ) -> Result<()> {
        let n = self.spec.n();
        self.rows(rows, acc, |prime, limb, entry, row| {
            for (k, acc) in row.iter_mut().enumerate() {
                let product = mul(word_of(x, n, limb, entry, k), factors[limb], prime.q);
                *acc = add(*acc, product, prime.q);
            }
        });
        Ok(())
    }

    fn add_scalar_assign(&self, rows: Rows, a: &mut Vec<u64>, terms: &[u64]) -> Result<()> {
        self.rows(rows, a, |prime, limb, _, row| {
            row.iter_mut().for_each(|a| *a = add(*a, terms[limb], prime.q));
        });
        Ok(())
    }

    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Vec<u64>>,
        dst: &mut Vec<u64>,
    ) -> Result<()> {
        let n = self.spec.n();
        self.rows(rows, dst, |prime, limb, entry, row| {
            let src: Vec<u64> = (0..n).map(|k| word_of(src, n, limb, entry, k)).collect();
            let image = match domain {
                DomainKind::Coeff => prime.substitute(g, &src),
                DomainKind::Eval => prime.evaluate(&prime.substitute(g, &prime.interpolate(&src))),
            };
            row.copy_from_slice(&image);
        });
        Ok(())
    }

    fn convert_basis(&self, from: Rows, src: &Vec<u64>, to: Rows, dst: &mut Vec<u64>) -> Result<()> {
        let n = self.spec.n();
        let source = Operand::at(src, from.batch, from.at);
        let composition =
            Composition::new((0..from.span.limbs()).map(|i| self.prime(from.span, i).q).collect());
        let numbers: Vec<(BigUint, u64)> = (0..from.batch * n)
            .map(|j| {
                let word = |i| word_of(source, n, i, j / n, j % n);
                composition.compose(&(0..from.span.limbs()).map(word).collect::<Vec<_>>())
            })
            .collect();
        self.rows(to, dst, |prime, _, entry, row| {
            let product = residue(&composition.product, prime.q);
            for (k, out) in row.iter_mut().enumerate() {
                let (x, negative) = &numbers[entry * n + k];
                let negative = neg(mul(product, *negative, prime.q), prime.q);
                *out = add(residue(x, prime.q), negative, prime.q);
            }
        });
        Ok(())
    }

    fn reduce_signed(&self, rows: Rows, src: &Vec<u64>, dst: &mut Vec<u64>) -> Result<()> {
        self.fill_signed(rows, dst, |first, row| {
            for (out, &word) in row.iter_mut().zip(&src[first..]) {
                *out = word as i64;
            }
        });
        Ok(())
    }

    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        let n = self.spec.n();
        self.rows(rows, dst, |_, limb, entry, row| {
            let prime = self.index(rows.span, limb);
            uniform_row(seed, index, prime, &self.spec.moduli()[prime], entry * n, row);
        });
        Ok(())
    }

    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        self.fill_signed(rows, dst, |first, row| ternary_row(seed, index, first, row));
        Ok(())
    }

    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        self.fill_signed(rows, dst, |first, row| error_row(seed, index, first, row));
        Ok(())
    }
}

impl KeySwitchOps for NaiveRing {}

impl CkksOps for NaiveRing {}

impl ExactOps for NaiveRing {}
