//! Numbers modulo powers of two as big integers.

use super::{Composition, NaiveRing, residue};
use crate::backend::{WidePolyOps, WideRows};
use crate::error::Result;
use crate::ring::{Operand, Rows};
use num_bigint::BigUint;
use num_traits::{One, Zero};

/// Coefficient k of a batch entry, modulo 2^bits.
fn number(x: Operand<'_, Vec<u64>>, rows: WideRows, n: usize, entry: usize, k: usize) -> BigUint {
    let entry = if x.batch == 1 { 0 } else { entry };
    let words = (0..rows.words()).map(|w| x.buf[x.at + (w * x.batch + entry) * n + k]);
    let halves: Vec<u32> = words.flat_map(|word| [word as u32, (word >> 32) as u32]).collect();
    BigUint::new(halves) % modulus(rows)
}

fn modulus(rows: WideRows) -> BigUint {
    BigUint::one() << rows.bits
}

/// Writes f(entry, k) modulo 2^bits to every coefficient.
fn fill(dst: &mut [u64], rows: WideRows, n: usize, f: impl Fn(usize, usize) -> BigUint) {
    for entry in 0..rows.batch {
        for k in 0..n {
            let mut digits = (f(entry, k) % modulus(rows)).to_u64_digits();
            digits.resize(rows.words(), 0);
            for (w, digit) in digits.into_iter().enumerate() {
                dst[rows.at + (w * rows.batch + entry) * n + k] = digit;
            }
        }
    }
}

/// a <- f(a) for every number.
fn update(n: usize, rows: WideRows, a: &mut [u64], f: impl Fn(BigUint, usize, usize) -> BigUint) {
    let old = a.to_vec();
    let old = Operand::at(&old, rows.batch, rows.at);
    fill(a, rows, n, |entry, k| f(number(old, rows, n, entry, k), entry, k));
}

impl WidePolyOps for NaiveRing {
    fn wide_add_assign(&self, rows: WideRows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        update(self.spec.n(), rows, a, |x, entry, k| x + number(b, rows, self.spec.n(), entry, k));
        Ok(())
    }

    fn wide_sub_assign(&self, rows: WideRows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        update(self.spec.n(), rows, a, |x, entry, k| {
            x + modulus(rows) - number(b, rows, self.spec.n(), entry, k)
        });
        Ok(())
    }

    fn wide_neg_assign(&self, rows: WideRows, a: &mut Vec<u64>) -> Result<()> {
        update(self.spec.n(), rows, a, |x, _, _| modulus(rows) - x);
        Ok(())
    }

    fn wide_scale_assign(&self, rows: WideRows, a: &mut Vec<u64>, factor: &[u64]) -> Result<()> {
        let factor = factor.iter().rev().fold(BigUint::zero(), |c, &word| (c << 64u32) + word);
        update(self.spec.n(), rows, a, |x, _, _| x * &factor);
        Ok(())
    }

    fn wide_shift_round(
        &self,
        from: WideRows,
        src: &Vec<u64>,
        shift: u32,
        to: WideRows,
        dst: &mut Vec<u64>,
    ) -> Result<()> {
        let (n, src) = (self.spec.n(), Operand::at(src, from.batch, from.at));
        // floor((2 x + 2^s) / 2^(s + 1)).
        fill(dst, to, n, |entry, k| {
            ((number(src, from, n, entry, k) << 1u32) + (BigUint::one() << shift)) >> (shift + 1)
        });
        Ok(())
    }

    fn wide_automorphism(
        &self,
        rows: WideRows,
        g: u64,
        src: Operand<'_, Vec<u64>>,
        dst: &mut Vec<u64>,
    ) -> Result<()> {
        let n = self.spec.n();
        let mut sources = vec![0; n];
        for k in 0..n {
            let exponent = (u128::from(g) * k as u128 % (2 * n as u128)) as usize;
            sources[exponent % n] = if exponent < n { k } else { n + k };
        }
        fill(dst, rows, n, |entry, k| {
            let x = number(src, rows, n, entry, sources[k] % n);
            if sources[k] < n { x } else { modulus(rows) - x }
        });
        Ok(())
    }

    fn wide_residues(&self, wide: WideRows, src: &Vec<u64>, rows: Rows, dst: &mut Vec<u64>) -> Result<()> {
        let (n, src) = (self.spec.n(), Operand::at(src, wide.batch, wide.at));
        self.rows(rows, dst, |prime, _, entry, row| {
            for (k, out) in row.iter_mut().enumerate() {
                let x = number(src, wide, n, entry, k);
                *out = if &x + &x < modulus(wide) {
                    residue(&x, prime.q)
                } else {
                    (prime.q - residue(&(modulus(wide) - x), prime.q)) % prime.q
                };
            }
        });
        Ok(())
    }

    fn wide_compose(&self, rows: Rows, src: &Vec<u64>, wide: WideRows, dst: &mut Vec<u64>) -> Result<()> {
        let n = self.spec.n();
        let composition =
            Composition::new((0..rows.span.limbs()).map(|limb| self.prime(rows.span, limb).q).collect());
        fill(dst, wide, n, |entry, k| {
            let terms = (0..rows.span.limbs()).map(|i| {
                let x = src[rows.at + (i * rows.batch + entry) * n + k];
                &composition.hats[i] * super::mul(x, composition.hat_inverses[i], composition.primes[i])
            });
            let x = terms.sum::<BigUint>() % &composition.product;
            if &x + &x < composition.product {
                x
            } else {
                let below = (&composition.product - x) % modulus(wide);
                modulus(wide) - below
            }
        });
        Ok(())
    }
}
