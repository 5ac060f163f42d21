//! The required operations.

use super::lab::{
    Fill, Lab, WIDTHS, in_case, large, large_rings, paint, power, product, shapes, small_rings,
};
use crate::backend::{Backend, PolyOps, RingOps};
use crate::conformance::{Mirror, Naive};
use crate::error::Result;
use crate::ring::{DomainKind, Operand, Rows, Seed, Span};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

fn elementwise_case<B: RingOps>(lab: &Lab<B>, rows: Rows, fills: [Fill; 3], spread: bool) -> Result<()> {
    let ops = &lab.ring;
    // Operands either like the rows, or at other places with a single batch entry for one of the
    // two.
    let (x_rows, y_rows) =
        if spread { (Rows { batch: 1, ..rows }.at(2 * lab.n), rows.at(lab.n)) } else { (rows, rows) };
    let (x, y) = (lab.buffer(x_rows, fills[1])?, lab.buffer(y_rows, fills[2])?);
    let (x, y) = (Operand::at(&x, x_rows.batch, x_rows.at), Operand::at(&y, y_rows.batch, y_rows.at));
    let start = || lab.buffer(rows, fills[0]);
    ops.neg_assign(rows, &mut start()?)?;
    for b in [x, y] {
        ops.add_assign(rows, &mut start()?, b)?;
        ops.sub_assign(rows, &mut start()?, b)?;
        ops.mul_assign(rows, &mut start()?, b)?;
    }
    ops.mul_add_assign(rows, &mut start()?, x, y)?;
    ops.mul_add_assign(rows, &mut start()?, y, x)?;
    for fill in [fills[1], Fill::Edges] {
        let constants = lab.constants(rows.span, fill);
        ops.scale_assign(rows, &mut start()?, &constants)?;
        ops.scale_add_assign(rows, &mut start()?, x, &constants)?;
        ops.add_scalar_assign(rows, &mut start()?, &constants)?;
    }
    Ok(())
}

/// Sums, differences, products and constants, word by word.
pub fn elementwise<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let fills = [
        [Fill::Paint(1), Fill::Paint(2), Fill::Paint(3)],
        [Fill::Top, Fill::Top, Fill::Top],
        [Fill::Zero, Fill::Zero, Fill::Top],
        [Fill::Edges, Fill::Paint(4), Fill::Edges],
    ];
    let check = |lab: &Lab<_>, rows, fills, spread| {
        in_case(elementwise_case(lab, rows, fills, spread), || lab.case((rows, fills, spread)))
    };
    small_rings(backend, log_n, |lab| {
        for (i, rows) in shapes(lab.log_n).into_iter().enumerate() {
            check(lab, rows, fills[0], i % 2 == 0)?;
            check(lab, rows, fills[1 + i % 3], i % 2 == 1)?;
        }
        // No limbs leave nothing to do, as for a chain without special primes.
        check(lab, Rows::new(Span::special(0), 1), fills[0], false)
    })?;
    for log_n in large(log_n) {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), &WIDTHS[log_n as usize % 3], log_n)?;
        check(&lab, Rows::new(Span { start: 2, q: 5, p: 2 }, 3).at(lab.n), fills[0], true)?;
        check(&lab, Rows::new(Span::extended(6, 3), 1), fills[1], false)?;
    }
    Ok(())
}

/// Compares both transforms with the definition.
pub fn transforms<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        let ops = &lab.ring;
        for rows in shapes(lab.log_n) {
            let fills: &[Fill] = match rows.batch {
                1 => &[Fill::Paint(1), Fill::Top, Fill::Edges, Fill::Zero],
                _ => &[Fill::Paint(1)],
            };
            for &fill in fills {
                let check = || -> Result<()> {
                    ops.intt(rows, &mut lab.buffer(rows, fill)?)?;
                    let mut a = lab.buffer(rows, fill)?;
                    ops.ntt(rows, &mut a)?;
                    ops.intt(rows, &mut a)?;
                    lab.expect("intt", "the input of ntt", &lab.read(&a)?, &lab.words(rows, fill))
                };
                in_case(check(), || lab.case((rows, fill)))?;
            }
        }
        Ok(())
    })
}

fn reversed(i: usize, bits: u32) -> u64 {
    if bits == 0 { 0 } else { i.reverse_bits() as u64 >> (usize::BITS - bits) }
}

/// Large transforms: values of X, some values of any polynomial, products by monomials, the
/// inverse.
pub fn transforms_obey_laws<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    large_rings(backend, log_n, laws)?;
    for log_n in large(log_n) {
        batch_entries(&Lab::new(backend.clone(), &WIDTHS[log_n as usize % 3], log_n)?)?;
    }
    Ok(())
}

/// The same at one degree, modulo primes of one of the three kinds.
pub fn transforms_of_degree<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let lab = Lab::new(backend.clone(), &WIDTHS[log_n as usize % 3], log_n)?;
    laws(&lab)?;
    batch_entries(&lab)
}

fn laws<B: RingOps>(lab: &Lab<B>) -> Result<()> {
    let (ops, n) = (&lab.ring, lab.n);
    let rows = Rows::new(Span::extended(6, 3), 1).at(n);
    let primes = lab.primes(rows.span);
    let monomial = |k: usize| -> Result<B::Buf> {
        let mut words = vec![0; rows.at + rows.count() * n];
        words[rows.at..].chunks_exact_mut(n).for_each(|row| row[k] = 1);
        let mut x = lab.backend.upload(&words)?;
        ops.ntt(rows, &mut x)?;
        Ok(x)
    };
    // The values of X are the roots in the order of the contract, psi the least of them.
    let x = lab.read_rows(&monomial(1)?, rows)?;
    for (row, &q) in x.chunks_exact(n).zip(&primes) {
        let psi = row.iter().copied().min().unwrap_or(0);
        lab.expect("ntt", "psi^N = -1", &[power(psi, n as u64, q)], &[q - 1])?;
        let mut powers = vec![1; 2 * n];
        for e in 1..2 * n {
            powers[e] = product(powers[e - 1], psi, q);
        }
        let expected: Vec<u64> = (0..n).map(|i| powers[2 * reversed(i, lab.log_n) as usize + 1]).collect();
        in_case(lab.expect("ntt", "the values of X", row, &expected), || lab.case(q))?;
    }
    for fill in [Fill::Paint(1), Fill::Top] {
        let check = || -> Result<()> {
            let input = lab.words(rows, fill);
            let mut a = lab.backend.upload(&input)?;
            ops.ntt(rows, &mut a)?;
            let values = lab.read(&a)?;
            for (limb, &q) in primes.iter().enumerate() {
                let at = rows.at + limb * n;
                for i in [0, 1, n / 2 - 1, n / 2, n * 2 / 3, n - 2, n - 1] {
                    let root = x[limb * n + i];
                    let horner = |sum: u64, &a: &u64| (product(sum, root, q) + a) % q;
                    let value = input[at..at + n].iter().rev().fold(0, horner);
                    lab.expect("ntt", "a value of the polynomial", &[values[at + i]], &[value])?;
                }
            }
            for k in [1, n / 2 + 3, n - 1] {
                let mut b = lab.backend.upload(&values)?;
                ops.mul_assign(rows, &mut b, Operand::at(&monomial(k)?, 1, rows.at))?;
                ops.intt(rows, &mut b)?;
                let expected: Vec<u64> = (0..rows.count() * n)
                    .map(|word| {
                        let (limb, i) = (word / n, word % n);
                        let row = &input[rows.at + limb * n..][..n];
                        if i >= k { row[i - k] } else { (primes[limb] - row[n + i - k]) % primes[limb] }
                    })
                    .collect();
                lab.expect("intt", "a times X^k", &lab.read_rows(&b, rows)?, &expected)?;
            }
            ops.intt(rows, &mut a)?;
            lab.expect("intt", "the input of ntt", &lab.read(&a)?, &input)
        };
        in_case(check(), || lab.case(fill))?;
    }
    Ok(())
}

/// Every batch entry is transformed as if it were the only one.
fn batch_entries<B: RingOps>(lab: &Lab<B>) -> Result<()> {
    let (ops, n) = (&lab.ring, lab.n);
    let rows = Rows::new(Span { start: 2, q: 5, p: 2 }, 3).at(2 * n);
    for forward in [true, false] {
        let transform = |rows: Rows, a: &mut B::Buf| {
            if forward { ops.ntt(rows, a) } else { ops.intt(rows, a) }
        };
        let mut a = lab.buffer(rows, Fill::Paint(5))?;
        transform(rows, &mut a)?;
        let mut expected = lab.words(rows, Fill::Paint(5));
        for limb in 0..rows.span.limbs() {
            let q = lab.q(rows.span, limb);
            let prime = |q: u64, primes: &[u64]| primes.iter().position(|&p| p == q);
            // A single prime is selected by a span of its own, or as the last special one of a
            // span.
            let (span, skip) = match prime(q, &lab.chain) {
                Some(i) => (Span::digit(i, i + 1), 0),
                None => {
                    let p = prime(q, &lab.special).unwrap_or(0);
                    (Span::special(p + 1), p)
                }
            };
            for entry in 0..rows.batch {
                let at = rows.at + (limb * rows.batch + entry) * n;
                let mut alone = vec![0; skip * n];
                alone.extend_from_slice(&expected[at..at + n]);
                let mut alone = lab.backend.upload(&alone)?;
                transform(Rows::new(span, 1), &mut alone)?;
                let row = lab.backend.download(&alone, skip * n..(skip + 1) * n)?;
                expected[at..at + n].copy_from_slice(&row);
            }
        }
        let op = if forward { "ntt" } else { "intt" };
        let found = lab.read(&a)?;
        in_case(lab.expect(op, "rows transformed alone", &found, &expected), || lab.case(rows))?;
    }
    Ok(())
}

/// Automorphisms in both domains: every element at N <= 2^4, some above; both domains agree at
/// large degrees.
pub fn automorphisms<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        let (ops, n) = (&lab.ring, lab.n);
        let all = 2 * n as u64;
        let apply = |rows: Rows, src_rows: Rows, g: u64, domain| {
            let check = || -> Result<()> {
                let src = lab.buffer(src_rows, Fill::Paint(1))?;
                let src = Operand::at(&src, src_rows.batch, src_rows.at);
                ops.automorphism(rows, domain, g, src, &mut lab.buffer(rows, Fill::Paint(2))?)
            };
            in_case(check(), || lab.case((rows, src_rows, g, domain)))
        };
        let elements: Vec<u64> =
            if n <= 16 { (1..all).step_by(2).collect() } else { vec![1, 3, 5, 25, all / 2 + 1, all - 1] };
        for domain in [DomainKind::Coeff, DomainKind::Eval] {
            for &g in &elements {
                let rows = Rows::new(Span { start: 2, q: 4, p: 1 }, 1);
                apply(rows, rows.at(n), g, domain)?;
            }
            for (i, rows) in shapes(lab.log_n).into_iter().enumerate() {
                let batch = if i % 4 == 0 { 1 } else { rows.batch };
                apply(rows, Rows { batch, ..rows }.at(i % 3 * n), [5, all - 1, 3][i % 3], domain)?;
            }
        }
        // Zero and q - 1: the negative of zero is zero.
        let rows = Rows::new(Span::extended(3, 1), 1);
        for fill in [Fill::Zero, Fill::Top, Fill::Edges] {
            let src = lab.buffer(rows, fill)?;
            let mut dst = lab.buffer(rows, Fill::Paint(2))?;
            ops.automorphism(rows, DomainKind::Coeff, all - 1, Operand::new(&src, 1), &mut dst)?;
        }
        Ok(())
    })?;
    large_rings(backend, log_n, |lab| {
        let (ops, n) = (&lab.ring, lab.n);
        let rows = Rows::new(Span { start: 2, q: 5, p: 2 }, 2).at(n);
        let words = lab.words(rows, Fill::Paint(1));
        for g in [5, 2 * n as u64 - 1, 3, n as u64 + 1] {
            let check = || -> Result<()> {
                let mut src = lab.backend.upload(&words)?;
                let mut image = lab.buffer(rows, Fill::Paint(2))?;
                ops.automorphism(rows, DomainKind::Coeff, g, Operand::at(&src, 2, rows.at), &mut image)?;
                let mut expected = lab.words(rows, Fill::Paint(2));
                for (i, &word) in words[rows.at..][..rows.count() * n].iter().enumerate() {
                    let (row, target) = (i / n, g as usize * (i % n) % (2 * n));
                    let q = lab.q(rows.span, row / rows.batch);
                    expected[rows.at + row * n + target % n] = if target < n { word } else { (q - word) % q };
                }
                lab.expect("automorphism", "a(X^g)", &lab.read(&image)?, &expected)?;
                ops.ntt(rows, &mut image)?;
                ops.ntt(rows, &mut src)?;
                let mut values = lab.buffer(rows, Fill::Paint(2))?;
                ops.automorphism(rows, DomainKind::Eval, g, Operand::at(&src, 2, rows.at), &mut values)?;
                lab.expect("automorphism", "a(X^g)", &lab.read(&values)?, &lab.read(&image)?)
            };
            in_case(check(), || lab.case((rows, g)))?;
        }
        Ok(())
    })
}

/// Compares base conversions with big integers.
pub fn conversions<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let pairs = [
        (Span::chain(1), Span::extended(3, 2)),
        (Span::digit(2, 3), Span::extended(6, 3)),
        (Span::special(1), Span::chain(3)),
        (Span::special(3), Span::chain(5)),
        (Span::digit(1, 3), Span::extended(5, 1)),
        (Span { start: 4, q: 6, p: 1 }, Span::digit(1, 4)),
        (Span::chain(5), Span::special(2)),
        (Span::extended(6, 3), Span { start: 1, q: 3, p: 2 }),
    ];
    let check = |lab: &Lab<Mirror<B, Naive>>, from: Rows, to: Rows, fill| {
        let check = || -> Result<()> {
            let src = lab.buffer(from, fill)?;
            let mut dst = lab.buffer(to, Fill::Paint(9))?;
            lab.ring.convert_basis(from, &src, to, &mut dst)
        };
        in_case(check(), || lab.case((from, to, fill)))
    };
    small_rings(backend, log_n, |lab| {
        let n = lab.n;
        for (from, to) in pairs {
            for (batch, at, to_at) in [(1, 0, 0), (3, 2 * n, 0), (3, 0, 3 * n)] {
                let (from, to) = (Rows::new(from, batch).at(at), Rows::new(to, batch).at(to_at));
                check(lab, from, to, Fill::Paint(1))?;
            }
            for fill in [Fill::Zero, Fill::Top, Fill::Edges] {
                check(lab, Rows::new(from, 1), Rows::new(to, 1), fill)?;
            }
        }
        if lab.log_n == 2 || lab.log_n == 4 {
            let (from, to) = (Rows::new(Span::digit(1, 4), 130), Rows::new(Span::extended(4, 1), 130));
            check(lab, from.at(n), to, Fill::Paint(1))?;
        }
        Ok(())
    })?;
    for log_n in large(log_n) {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), &WIDTHS[log_n as usize % 3], log_n)?;
        check(&lab, Rows::new(Span::digit(1, 3), 1).at(lab.n), Rows::new(Span::chain(3), 1), Fill::Paint(1))?;
    }
    Ok(())
}

/// Numbers around D/2, where the rounding of the sum of quotients decides the representative.
pub fn conversion_edges<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for widths in &WIDTHS {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), widths, log_n.min(6))?;
        for from in [Span::chain(1), Span::chain(2), Span::digit(1, 4), Span::special(3), Span::chain(6)] {
            let primes = lab.primes(from);
            let product: BigUint = primes.iter().map(|&d| BigUint::from(d)).product();
            let half = &product >> 1u32;
            // Distances of 0, 1, 2, ... and of multiples of D 2^-56 and D 2^-44.
            let numbers: Vec<BigUint> = (0..lab.n)
                .map(|k| {
                    let step = match k % 3 {
                        0 => BigUint::from(k as u64 / 6),
                        1 => (&product * (k as u64 / 6)) >> 56u32,
                        _ => (&product * (k as u64 / 6)) >> 44u32,
                    };
                    if k / 3 % 2 == 0 { (&half + 1u32 + step) % &product } else { &half - step }
                })
                .collect();
            let words: Vec<u64> = (primes.iter())
                .flat_map(|d| numbers.iter().map(move |x| (x % *d).to_u64().unwrap_or(0)))
                .collect();
            let (from, to) = (Rows::new(from, 1), Rows::new(Span::extended(6, 3), 1));
            let check = || -> Result<()> {
                let src = lab.backend.upload(&words)?;
                let mut dst = lab.buffer(to, Fill::Paint(9))?;
                lab.ring.convert_basis(from, &src, to, &mut dst)?;
                // For its own primes a number keeps its residues, whichever neighbour is chosen.
                let found = lab.read(&dst)?;
                for (limb, q) in lab.primes(to.span).iter().enumerate() {
                    if let Some(i) = primes.iter().position(|d| d == q) {
                        let (found, own) = (&found[limb * lab.n..][..lab.n], &words[i * lab.n..][..lab.n]);
                        lab.expect("convert_basis", "the identity", found, own)?;
                    }
                }
                Ok(())
            };
            in_case(check(), || lab.case(from))?;
        }
    }
    Ok(())
}

/// Signed words, the extreme ones too.
pub fn signed_words<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let edges = [i64::MIN, i64::MAX, -1, 0, 1, i64::MIN + 1, i64::MAX - 1];
    small_rings(backend, log_n, |lab| {
        for rows in shapes(lab.log_n) {
            let words: Vec<u64> = (0..rows.batch * lab.n)
                .map(|i| if i % 3 == 0 { edges[i / 3 % edges.len()] as u64 } else { paint(1, i) })
                .collect();
            let src = lab.backend.upload(&words)?;
            let mut dst = lab.buffer(rows, Fill::Paint(2))?;
            in_case(lab.ring.reduce_signed(rows, &src, &mut dst), || lab.case(rows))?;
        }
        Ok(())
    })
}

/// Compares samplers with the row functions, which `tests/vectors/sampler.py` checks.
pub fn samplers<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let sample = |lab: &Lab<Mirror<B, Naive>>, rows: Rows, byte: u8, index: u32| {
        let (ops, seed) = (&lab.ring, Seed([byte; 32]));
        let check = || -> Result<()> {
            let mut dst = lab.buffer(rows, Fill::Paint(1))?;
            ops.sample_uniform(rows, &seed, index, &mut dst)?;
            ops.sample_ternary(rows, &seed, index, &mut dst)?;
            ops.sample_error(rows, &seed, index, &mut dst)
        };
        in_case(check(), || lab.case((rows, byte, index)))
    };
    small_rings(backend, log_n, |lab| {
        for (i, rows) in shapes(lab.log_n).into_iter().enumerate() {
            sample(lab, rows, i as u8, [0, 1, u32::MAX][i % 3])?;
        }
        Ok(())
    })?;
    for log_n in large(log_n) {
        let lab = Lab::new(Mirror::new(backend.clone(), Naive), &WIDTHS[log_n as usize % 3], log_n)?;
        sample(&lab, Rows::new(Span { start: 2, q: 5, p: 2 }, 3).at(lab.n), 77, 1 << 31)?;
    }
    Ok(())
}
