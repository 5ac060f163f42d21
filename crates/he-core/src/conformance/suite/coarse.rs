//! The operations with provided bodies.

use super::lab::{
    Fill, Lab, SMALL, WIDTHS, in_case, large, large_rings, paint, product, shapes, small_rings,
};
use crate::backend::{
    Backend, CkksOps, Cpu, DigitBuf, Embedding, GiantStep, KeyBuf, KeySwitchOps, KeySwitchShape, Multiple,
    PolyOps, RingOps, Rotation, RotationBlocks, Weight,
};
use crate::conformance::{Mirror, Naive, Provided};
use crate::error::{Error, Result};
use crate::ring::{DomainKind, Operand, Rows, Seed, Span, SpecialFft};
use num_complex::Complex64;

fn tensor_case<B: RingOps>(lab: &Lab<B>, rows: Rows, fills: [Fill; 4]) -> Result<()> {
    let n = lab.n;
    // Results lie at the start of their buffers; operands lie anywhere, with the batch of the rows
    // or a batch of one.
    let places = [rows, rows.at(3 * n), Rows { batch: 1, ..rows }.at(n), rows.at(2 * n)];
    let mut bufs = Vec::new();
    for (place, fill) in places.iter().zip(fills) {
        bufs.push(lab.buffer(*place, fill)?);
    }
    let operand = |i: usize| Operand::at(&bufs[i], places[i].batch, places[i].at);
    let pairs = [[operand(0), operand(1)], [operand(2), operand(3)]];
    lab.ring.tensor(rows, pairs[0], pairs[1])?;
    lab.ring.tensor(rows, pairs[1], pairs[0])?;
    // A square.
    lab.ring.tensor(rows, pairs[0], pairs[0])?;
    sum_case(lab, rows, operand)?;
    view_case(lab, rows, fills)?;
    for b in [[operand(1), operand(3)], [operand(2), operand(2)]] {
        lab.ring.add_pairs(rows, pairs[0], b)?;
        lab.ring.sub_pairs(rows, pairs[0], b)?;
        lab.ring.mul_pairs(rows, pairs[0], b)?;
        lab.ring.mul_add(rows, operand(3), b[0], b[1])?;
    }
    Ok(())
}

/// Operands that are entries of a larger batch.
fn view_case<B: RingOps>(lab: &Lab<B>, rows: Rows, fills: [Fill; 4]) -> Result<()> {
    let batch = rows.batch + 2;
    let bufs =
        fills.iter().map(|&fill| lab.buffer(Rows { batch, ..rows }, fill)).collect::<Result<Vec<_>>>()?;
    let view = |i: usize| Operand::entry(&bufs[i], batch, i % 3, lab.n);
    sum_case(lab, rows, view)?;
    let mut sum = lab.buffer(rows, fills[0])?;
    lab.ring.add_assign(rows, &mut sum, view(1))?;
    lab.ring.mul_add_assign(rows, &mut sum, view(2), view(3))
}

/// Sums of products and of multiples of four operands, with and without factors and constants, and
/// more of each than one launch of a device may take.
fn sum_case<'a, B: RingOps>(
    lab: &Lab<B>,
    rows: Rows,
    operand: impl Fn(usize) -> Operand<'a, B::Buf>,
) -> Result<()>
where
    B::Buf: 'a,
{
    let constants = |fill| lab.constants(rows.span, fill);
    let pair = |i: usize| [operand(i % 4), operand((i + 1) % 4)];
    let multiple = |i: usize| Multiple {
        pair: pair(i),
        factors: constants([Fill::Paint(7), Fill::Top, Fill::Edges][i % 3]),
    };
    let (factor, constant) = (constants(Fill::Top), constants(Fill::Paint(8)));
    for (products, multiples, scaled) in
        [(1, 0, false), (1, 1, true), (5, 9, true), (17, 3, true), (9, 0, false), (0, 1, false)]
    {
        let products: Vec<_> = (0..products).map(|i| [pair(i), pair(i + 2)]).collect();
        let multiples: Vec<_> = (0..multiples).map(multiple).collect();
        let (factor, constant) = if scaled { (&factor[..], &constant[..]) } else { (&[][..], &[][..]) };
        lab.ring.tensor_sum(rows, &products, factor, &multiples, constant)?;
        lab.ring.combine(rows, &multiples, constant)?;
    }
    Ok(())
}

/// Products and sums of pairs.
pub fn tensors<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let painted = [Fill::Paint(1), Fill::Paint(2), Fill::Paint(3), Fill::Paint(4)];
    small_rings(backend, log_n, |lab| {
        // Each shape takes both in turn, by degree.
        for (i, rows) in shapes(lab.log_n).into_iter().enumerate() {
            let fills = if (i + lab.log_n as usize).is_multiple_of(2) { painted } else { [Fill::Top; 4] };
            in_case(tensor_case(lab, rows.at(0), fills), || lab.case((rows, fills)))?;
        }
        Ok(())
    })
}

/// Key switches: even, uneven and single digits, keys with more primes, and no special prime at
/// all.
fn key_switches(log_n: u32) -> Vec<KeySwitchShape> {
    // Digits by their ends.
    let shape = |ends: &[usize], key_q, p, batch| KeySwitchShape {
        digits: ends.iter().enumerate().map(|(j, &end)| if j == 0 { 0 } else { ends[j - 1] }..end).collect(),
        q: ends.last().copied().unwrap_or(0),
        key_q,
        p,
        batch,
    };
    let mut shapes = vec![
        shape(&[2, 3], 3, 1, 1),
        shape(&[1, 2, 3], 5, 2, 3),
        shape(&[5], 6, 3, 1),
        shape(&[5, 6], 6, 2, 1),
        shape(&[2, 4, 5], 6, 2, 1),
        shape(&[1], 6, 1, 3),
        shape(&[3, 4, 6], 6, 3, 3),
        shape(&[1, 2], 2, 0, 1),
    ];
    if log_n == 2 || log_n == 4 {
        shapes.push(shape(&[2, 3], 4, 1, 130));
    }
    shapes
}

/// All shapes at the two smallest degrees, and a third of them at each larger one: automorphisms of
/// the reference take two slow transforms.
fn spread_key_switches(log_n: u32) -> impl Iterator<Item = KeySwitchShape> {
    let taken = move |i: usize| log_n <= 3 || i % 3 == log_n as usize % 3;
    key_switches(log_n).into_iter().enumerate().filter(move |&(i, _)| taken(i)).map(|(_, shape)| shape)
}

/// ModUp: digits of both kinds over the chain and the special primes.
pub fn decompositions<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in key_switches(lab.log_n) {
            for fill in [Fill::Paint(1), Fill::Top, Fill::Zero] {
                let rows = Rows::new(Span::chain(shape.q), shape.batch);
                let src = lab.buffer(rows, fill)?;
                let digits = lab.ring.decompose(&shape, &src);
                in_case(digits.map(drop), || lab.case((&shape, fill)))?;
                if shape.batch > 100 {
                    break;
                }
            }
        }
        Ok(())
    })
}

fn digits_rows(shape: &KeySwitchShape) -> Rows {
    Rows::new(shape.span(), shape.batch)
}

/// Digits are made by hand, so that only the operation under test runs.
fn painted_digits<B: RingOps>(lab: &Lab<B>, shape: &KeySwitchShape, fill: Fill) -> Result<DigitBuf<B::Buf>> {
    let rows = digits_rows(shape);
    let words: Vec<u64> = (0..shape.digits.len())
        .flat_map(|j| {
            let fill = if let Fill::Paint(salt) = fill { Fill::Paint(salt + j as u64) } else { fill };
            lab.words(rows, fill).into_iter().take(rows.count() * lab.n)
        })
        .collect();
    lab.backend.upload(&words).map(DigitBuf::new)
}

/// Polynomials that are put into a key, in any order, are read back from their places.
pub fn keys<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in key_switches(lab.log_n) {
            let (shape, rows) = (shape.key(), Rows::new(shape.key().span, 1));
            let check = || -> Result<()> {
                let mut key = lab.ring.empty_key(&shape)?;
                let parts: Vec<_> = (0..shape.digits).flat_map(|digit| [(digit, 1), (digit, 0)]).collect();
                let poly = |digit, part| lab.exact(rows, Fill::Paint((2 * digit + part) as u64));
                // Backwards, and all but the first.
                for &(digit, part) in parts[1..].iter().rev() {
                    lab.ring.write_key(&shape, key.as_mut(), digit, part, &poly(digit, part)?)?;
                }
                for (i, (digit, part)) in parts.into_iter().enumerate() {
                    let found = lab.read(&lab.ring.read_key(&shape, key.as_ref(), digit, part)?)?;
                    let mut expected = lab.read(&poly(digit, part)?)?;
                    if i == 0 {
                        expected.fill(0);
                    }
                    lab.expect("read_key", "what was put in", &found, &expected)?;
                }
                Ok(())
            };
            in_case(check(), || lab.case(shape))?;
        }
        Ok(())
    })
}

/// Inner products with keys.
pub fn key_products<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in key_switches(lab.log_n) {
            let check = || -> Result<()> {
                let key = lab.painted_key(&shape, 10)?;
                let digits = painted_digits(lab, &shape, Fill::Paint(1))?;
                lab.ring.key_product(&shape, digits.as_ref(), key.as_ref())?;
                // The greatest sums.
                let span = Span::extended(shape.key_q, shape.p);
                let row = lab.words(Rows::new(span, 1), Fill::Top);
                let key = lab.key(&shape.key(), |_, _| Ok(row.clone()))?;
                let digits = painted_digits(lab, &shape, Fill::Top)?;
                lab.ring.key_product(&shape, digits.as_ref(), key.as_ref()).map(drop)
            };
            in_case(check(), || lab.case(&shape))?;
        }
        Ok(())
    })
}

/// Divisions: special primes alone, with the last of the chain, chain primes alone; from a start
/// above zero.
const DIVISIONS: [(Span, usize); 8] = [
    (Span::extended(3, 2), 3),
    (Span::extended(3, 2), 2),
    (Span::extended(5, 1), 2),
    (Span::chain(2), 1),
    (Span::chain(5), 4),
    (Span::chain(5), 3),
    (Span { start: 1, q: 4, p: 1 }, 3),
    (Span { start: 2, q: 6, p: 3 }, 1),
];

/// ModDown and rescaling.
pub fn divisions<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let check = |lab: &Lab<Mirror<B, Naive>>, (span, keep), batch, fill| {
        let check = || -> Result<()> {
            let src = lab.exact(Rows::new(span, batch), fill)?;
            let other = lab.exact(Rows::new(span, batch), Fill::Paint(2))?;
            lab.ring.mod_down_pair(span, keep, batch, [&src, &other])?;
            for factors in [1, batch] {
                let factor = lab.exact(Rows::new(span, factors), Fill::Paint(3))?;
                let factor = Operand::new(&factor, factors);
                lab.ring.mul_mod_down_pair(span, keep, batch, [&src, &other], factor)?;
            }
            let quotient = lab.ring.mod_down(span, keep, batch, src)?;
            let words = lab.backend.words(&quotient) as u64;
            lab.expect("mod_down", "the kept words", &[words], &[(keep * batch * lab.n) as u64])
        };
        in_case(check(), || lab.case((span, keep, batch, fill)))
    };
    small_rings(backend, log_n, |lab| {
        for division in DIVISIONS {
            check(lab, division, 1, Fill::Top)?;
            check(lab, division, 1, Fill::Zero)?;
            check(lab, division, 1, Fill::Edges)?;
            check(lab, division, 3, Fill::Paint(1))?;
        }
        if lab.log_n == 2 || lab.log_n == 4 {
            check(lab, DIVISIONS[1], 130, Fill::Paint(1))?;
        }
        Ok(())
    })
}

/// (x D + r) / D = x for every |r| < D/2, at large degrees.
pub fn divisions_are_exact<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    large_rings(backend, log_n, |lab| {
        let (ops, n, batch) = (&lab.ring, lab.n, 2);
        for (span, keep) in DIVISIONS {
            let check = || -> Result<()> {
                let rows = Rows::new(span, batch);
                let kept = Rows::new(span.head(keep), batch);
                // The least prime has 25 bits: |r| < 2^23.
                let r: Vec<u64> =
                    (0..batch * n).map(|i| ((paint(3, i) >> 40) as i64 - (1 << 23)) as u64).collect();
                let mut words = vec![0; rows.count() * n];
                let x = lab.words(kept, Fill::Paint(1));
                words[..kept.count() * n].copy_from_slice(&x[..kept.count() * n]);
                let dropped = lab.primes(span.tail(keep));
                let d = |q: u64| dropped.iter().fold(1, |d, &p| product(d, p % q, q));
                let mut factors: Vec<u64> = lab.primes(kept.span).into_iter().map(d).collect();
                factors.resize(span.limbs(), 0);
                let mut src = lab.backend.upload(&words)?;
                ops.scale_assign(rows, &mut src, &factors)?;
                let mut remainder = lab.backend.zeros(rows.count() * n)?;
                ops.reduce_signed(rows, &lab.backend.upload(&r)?, &mut remainder)?;
                ops.ntt(rows, &mut remainder)?;
                ops.add_assign(rows, &mut src, Operand::new(&remainder, batch))?;
                let quotient = ops.mod_down(span, keep, batch, src)?;
                let expected = &words[..kept.count() * n];
                lab.expect("mod_down", "the multiple of D divided", &lab.read(&quotient)?, expected)
            };
            in_case(check(), || lab.case((span, keep)))?;
        }
        Ok(())
    })
}

/// A weighted sum of rotations with painted keys: constants and polynomials, with and without
/// rotation.
fn rotation_case<B: RingOps>(lab: &Lab<B>, shape: &KeySwitchShape, fill: Fill) -> Result<()> {
    let (ops, n) = (&lab.ring, lab.n as u64);
    let chain = Rows::new(Span::chain(shape.q), shape.batch);
    let weights = Rows::new(shape.span(), 1);
    let c = [lab.buffer(chain, fill)?, lab.buffer(chain, Fill::Paint(2))?];
    let c = [&c[0], &c[1]];
    let digits = painted_digits(lab, shape, Fill::Paint(3))?;
    let keys = [lab.painted_key(shape, 10)?, lab.painted_key(shape, 40)?];
    // All words, and those of runs: of pairs, of a quarter of a row, of a whole row.
    let runs = [0, 1, lab.log_n - 2, lab.log_n, 0];
    let polys = [Fill::Paint(4), Fill::Paint(7), Fill::Top, Fill::Edges, Fill::Top];
    let poly = |(fill, log_run)| lab.runs(weights.span, fill, log_run);
    let polys = polys.into_iter().zip(runs).map(poly).collect::<Result<Vec<_>>>()?;
    let scalar = |fill| Weight::Scalar(lab.constants(weights.span, fill));
    let rotation = |g, key: Option<usize>| Rotation { g, key: key.map(|i| keys[i].as_ref()) };
    let babies = [
        rotation(5, Some(0)),
        rotation(1, None),
        rotation(2 * n - 1, Some(1)),
        rotation(n + 1, Some(0)),
        rotation(3, Some(1)),
    ];
    let poly = |i: usize| Weight::Poly { words: &polys[i], log_run: runs[i] };
    let terms = || {
        [
            (0, poly(0)),
            (1, scalar(Fill::Paint(5))),
            (2, scalar(Fill::Top)),
            (1, poly(1)),
            (3, scalar(Fill::Edges)),
            (4, poly(4)),
            (2, poly(2)),
            (0, poly(3)),
        ]
    };
    let one = |terms| vec![GiantStep { rotation: rotation(1, None), terms }];
    let sum = |babies: &[Rotation<'_, B::Buf>], giants: &[GiantStep<'_, B::Buf>]| {
        let blocks = RotationBlocks::one(babies.len(), giants.len());
        ops.rotate_and_sum(shape, &blocks, c, digits.as_ref(), babies, giants)
    };
    // Groups of the batch to more and fewer sums, one of which is of nothing.
    let grouped = |babies: &[Rotation<'_, B::Buf>], giants: &[GiantStep<'_, B::Buf>], outputs: usize| {
        let blocks = RotationBlocks {
            inputs: shape.batch,
            outputs,
            of_baby: (0..babies.len()).map(|i| (2 * i + 1) % shape.batch).collect(),
            of_giant: (0..giants.len()).map(|i| i * 7 % outputs.saturating_sub(1).max(1)).collect(),
        };
        ops.rotate_and_sum(shape, &blocks, c, digits.as_ref(), babies, giants).map(drop)
    };
    // At large degrees the slow rings of this comparison bear few cases.
    let small = lab.log_n <= 4;
    let selections = [0..8, 0..1, 1..2, 2..3, 3..4, 6..7, 7..8, 0..0];
    for selected in selections.into_iter().take(if small { 8 } else { 1 }) {
        let giants = one(terms().into_iter().take(selected.end).skip(selected.start).collect());
        sum(&babies, &giants)?;
    }
    sum(&[], &[])?;
    if shape.p == 0 {
        // Nothing divides what a giant step decomposes.
        return Ok(());
    }
    // Giant steps with and without a rotation, of different numbers of babies; then more of both
    // than one launch of a device may take.
    let few = |g, key, range: std::ops::Range<usize>| GiantStep {
        rotation: rotation(g, key),
        terms: terms().into_iter().take(range.end).skip(range.start).collect(),
    };
    let giants = [few(1, None, 0..6), few(25, Some(1), 0..4), few(2 * n - 1, Some(0), 3..8)];
    sum(&babies, &giants)?;
    for outputs in [1, 2, 4] {
        grouped(&babies, &giants, outputs)?;
    }
    if small {
        sum(&babies, &giants[1..2])?;
        sum(&babies, &[few(5, Some(0), 0..0)])?;
        let babies: Vec<_> = (0..40).map(|i| rotation(2 * i + 3, Some(i as usize % 2))).collect();
        let giants: Vec<_> = (0..11)
            .map(|i| {
                let terms = (0..40).filter(|baby| (baby + i) % 3 != 0).map(|baby| (baby, poly(baby % 5)));
                let key = (i != 4).then_some(i % 2);
                GiantStep {
                    rotation: rotation(if i == 4 { 1 } else { 2 * i as u64 + 3 }, key),
                    terms: terms.collect(),
                }
            })
            .collect();
        sum(&babies, &giants)?;
        grouped(&babies, &giants, 12)?;
    }
    Ok(())
}

/// Runs longer than a row, and weights without the words of all limbs.
fn refused_weights<B: RingOps>(lab: &Lab<B>, shape: &KeySwitchShape) -> Result<()> {
    let rows = Rows::new(Span::chain(shape.q), shape.batch);
    let c = [lab.buffer(rows, Fill::Top)?, lab.buffer(rows, Fill::Top)?];
    let digits = painted_digits(lab, shape, Fill::Top)?;
    let limbs = shape.span().limbs();
    let few = lab.backend.upload(&vec![1; 2 * limbs - 1])?;
    let weights = [
        Weight::Poly { words: &few, log_run: lab.log_n + 1 },
        Weight::Poly { words: &few, log_run: lab.log_n - 1 },
        Weight::Scalar(vec![1; limbs - 1]),
    ];
    for (i, weight) in weights.into_iter().enumerate() {
        let step = [GiantStep { rotation: Rotation { g: 1, key: None }, terms: vec![(0, weight)] }];
        let baby = [Rotation { g: 1, key: None }];
        let blocks = RotationBlocks::one(1, 1);
        let sum = lab.ring.rotate_and_sum(shape, &blocks, [&c[0], &c[1]], digits.as_ref(), &baby, &step);
        if !matches!(sum, Err(Error::Argument { .. })) {
            let source = format!("weight {i} must be refused");
            return Err(Error::Backend { op: "rotate_and_sum", source: source.into() });
        }
    }
    Ok(())
}

/// Weighted sums of rotations.
pub fn rotations<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in spread_key_switches(lab.log_n) {
            let fill = if shape.q % 2 == 0 { Fill::Top } else { Fill::Paint(1) };
            in_case(rotation_case(lab, &shape, fill), || lab.case(&shape))?;
            in_case(refused_weights(lab, &shape), || lab.case(&shape))?;
        }
        Ok(())
    })
}

/// A whole key switch of a triple and of a product of pairs, with and without a division by chain
/// primes, and of a pair under automorphisms.
fn switch_case<B: RingOps>(lab: &Lab<B>, shape: &KeySwitchShape, fill: Fill) -> Result<()> {
    let (ops, n) = (&lab.ring, lab.n as u64);
    let chain = Rows::new(Span::chain(shape.q), shape.batch);
    let d =
        [lab.buffer(chain, fill)?, lab.buffer(chain, Fill::Paint(2))?, lab.buffer(chain, Fill::Paint(3))?];
    let key = lab.painted_key(shape, 10)?;
    for keep in 1..=shape.q {
        let pair = ops.relinearize(shape, [&d[0], &d[1], &d[2]], key.as_ref(), keep)?;
        let words = pair.map(|c| lab.backend.words(&c) as u64);
        lab.expect("relinearize", "the kept words", &words, &[(keep * shape.batch * lab.n) as u64; 2])?;
    }
    let placed = lab.buffer(chain.at(3 * lab.n), fill)?;
    let single = lab.buffer(Rows::new(chain.span, 1), Fill::Paint(4))?;
    let [x, y, z] = d.each_ref().map(|d| Operand::new(d, shape.batch));
    let (placed, single) = (Operand::at(&placed, shape.batch, 3 * lab.n), Operand::new(&single, 1));
    // Two pairs, a square, and a pair that is combined with every entry of another.
    let pairs = [([x, y], [placed, z]), ([placed, x], [placed, x]), ([y, placed], [single, single])];
    for ((a, b), keep) in pairs.into_iter().zip([shape.q, 1, shape.q]) {
        ops.multiply_relinearize(shape, a, b, key.as_ref(), keep)?;
    }
    let digits = painted_digits(lab, shape, fill)?;
    for g in [5, 2 * n - 1, n + 1, 1] {
        ops.switch_automorphism(shape, &d[0], digits.as_ref(), key.as_ref(), g)?;
        ops.apply_automorphism(shape, [&d[0], &d[1]], key.as_ref(), g)?;
    }
    Ok(())
}

/// Whole key switches.
pub fn switches<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in spread_key_switches(lab.log_n).filter(|shape| shape.p > 0) {
            let fill = if shape.q % 2 == 0 { Fill::Top } else { Fill::Paint(1) };
            in_case(switch_case(lab, &shape, fill), || lab.case(&shape))?;
        }
        Ok(())
    })
}

/// With a key without noise the switched ciphertext decrypts, before the division by P, to exactly
/// P times the expected message, at large degrees.
pub fn key_switching_is_exact<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    large_rings(backend, log_n, |lab| {
        for shape in key_switches(lab.log_n).into_iter().filter(|shape| shape.batch < 100) {
            in_case(exact_case(lab, &shape), || lab.case(&shape))?;
        }
        Ok(())
    })
}

fn exact_case<B: RingOps>(lab: &Lab<B>, shape: &KeySwitchShape) -> Result<()> {
    let (ops, n, batch) = (&lab.ring, lab.n, shape.batch);
    let rows = digits_rows(shape);
    let chain = Rows::new(Span::chain(shape.q), batch);
    let key_rows = Rows::new(Span::extended(shape.key_q, shape.p), 1);
    let special = |q: u64| (lab.special[..shape.p].iter()).fold(1, |p, &prime| product(p, prime % q, q));
    let secret = |rows: Rows| -> Result<B::Buf> {
        let mut s = lab.backend.zeros(rows.count() * n)?;
        ops.sample_ternary(rows, &Seed([3; 32]), 0, &mut s)?;
        ops.ntt(rows, &mut s)?;
        Ok(s)
    };
    let rotated = |rows: Rows, g: u64, src: &B::Buf| -> Result<B::Buf> {
        let mut image = lab.backend.zeros(rows.count() * n)?;
        let src = Operand::new(src, rows.batch);
        ops.automorphism(rows, DomainKind::Eval, g, src, &mut image)?;
        Ok(image)
    };
    // Digit j: (P g_j s - a_j s', a_j) with g_j = 1 modulo the digit's primes, 0 modulo the others,
    // and s' the inverse image of s. A key of more primes has the rest of them in the last digit.
    let key_for = |inverse: u64| -> Result<KeyBuf<B::Buf>> {
        let s = secret(key_rows)?;
        let image = rotated(key_rows, inverse, &s)?;
        let mut key = ops.empty_key(&shape.key())?;
        for (j, digit) in shape.digits.iter().enumerate() {
            let mut a = lab.backend.zeros(key_rows.count() * n)?;
            ops.sample_uniform(key_rows, &Seed([4; 32]), j as u32, &mut a)?;
            ops.write_key(&shape.key(), key.as_mut(), j, 1, &a)?;
            ops.mul_assign(key_rows, &mut a, Operand::new(&image, 1))?;
            ops.neg_assign(key_rows, &mut a)?;
            let end = if j + 1 == shape.digits.len() { shape.key_q } else { digit.end };
            let gadget: Vec<u64> = (lab.primes(key_rows.span).iter().enumerate())
                .map(|(i, &q)| if (digit.start..end).contains(&i) { special(q) } else { 0 })
                .collect();
            ops.scale_add_assign(key_rows, &mut a, Operand::new(&s, 1), &gadget)?;
            ops.write_key(&shape.key(), key.as_mut(), j, 0, &a)?;
        }
        Ok(key)
    };
    let s = secret(Rows { batch: 1, ..rows })?;
    let decrypted = |parts: &[B::Buf; 2], rows: Rows| -> Result<B::Buf> {
        let mut message = lab.backend.zeros(rows.count() * n)?;
        lab.backend.copy(&parts[0], 0, &mut message, 0, rows.count() * n)?;
        ops.mul_add_assign(rows, &mut message, Operand::new(&parts[1], batch), Operand::new(&s, 1))?;
        Ok(message)
    };
    let c = [lab.exact(chain, Fill::Paint(1))?, lab.exact(chain, Fill::Paint(2))?];
    let digits = ops.decompose(shape, &c[1])?;
    let p_factors: Vec<u64> = lab.primes(chain.span).into_iter().map(special).collect();

    // A switch from s to s: P c1 s.
    let identity = key_for(1)?;
    let sums = ops.key_product(shape, digits.as_ref(), identity.as_ref())?;
    let mut expected = lab.backend.zeros(rows.count() * n)?;
    lab.backend.copy(&c[1], 0, &mut expected, 0, chain.count() * n)?;
    ops.mul_assign(chain, &mut expected, Operand::new(&s, 1))?;
    ops.scale_assign(chain, &mut expected, &p_factors)?;
    let found = lab.read(&decrypted(&sums, rows)?)?;
    lab.expect("key_product", "P times the message", &found, &lab.read(&expected)?)?;

    // Rotations: P times the sum of the weighted rotations of c0 + c1 s.
    let message = decrypted(&c, chain)?;
    let weight_rows = Rows { batch: 1, ..rows };
    let poly = lab.buffer(weight_rows, Fill::Paint(5))?;
    let two_n = 2 * n as u64;
    let elements = [5, two_n - 1];
    let inverse = |g: u64| (0..lab.log_n).fold(1, |power, _| power * power % two_n * g % two_n);
    let keys = [key_for(inverse(elements[0]))?, key_for(inverse(elements[1]))?];
    let factors = lab.constants(rows.span, Fill::Paint(6));
    let babies = [
        Rotation { g: elements[0], key: Some(keys[0].as_ref()) },
        Rotation { g: 1, key: None },
        Rotation { g: elements[1], key: Some(keys[1].as_ref()) },
    ];
    let scalar = || Weight::Scalar(factors.clone());
    let terms = vec![(0, Weight::Poly { words: &poly, log_run: 0 }), (1, scalar()), (2, scalar())];
    let step = [GiantStep { rotation: Rotation { g: 1, key: None }, terms }];
    let blocks = RotationBlocks::one(babies.len(), step.len());
    let sums = ops.rotate_and_sum(shape, &blocks, [&c[0], &c[1]], digits.as_ref(), &babies, &step)?;
    let mut expected = lab.backend.zeros(rows.count() * n)?;
    for (baby, weight) in &step[0].terms {
        let image = rotated(chain, babies[*baby].g, &message)?;
        let image = Operand::new(&image, batch);
        match weight {
            Weight::Scalar(factors) => ops.scale_add_assign(chain, &mut expected, image, factors)?,
            Weight::Poly { words, .. } => {
                ops.mul_add_assign(chain, &mut expected, image, Operand::new(*words, 1))?;
            }
        }
    }
    ops.scale_assign(chain, &mut expected, &p_factors)?;
    let found = lab.read(&decrypted(&sums, rows)?)?;
    lab.expect("rotate_and_sum", "P times the sum of rotations", &found, &lab.read(&expected)?)
}

/// Compares the back end's own coarse operations with the provided bodies on the CPU, at large
/// degrees.
pub fn fused_equal_provided<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for log_n in large(log_n) {
        let mirror = Mirror::new(backend.clone(), Provided::new(Cpu::new()));
        let lab = Lab::new(mirror, &WIDTHS[log_n as usize % 3], log_n)?;
        let ops = &lab.ring;
        let painted = [Fill::Paint(1), Fill::Paint(2), Fill::Paint(3), Fill::Paint(4)];
        for rows in [Rows::new(Span::chain(5), 1), Rows::new(Span { start: 2, q: 5, p: 2 }, 3)] {
            in_case(tensor_case(&lab, rows, painted), || lab.case(rows))?;
        }
        for shape in key_switches(lab.log_n).into_iter().filter(|shape| shape.batch < 100) {
            let check = || -> Result<()> {
                let src = lab.buffer(Rows::new(Span::chain(shape.q), shape.batch), Fill::Paint(1))?;
                let digits = ops.decompose(&shape, &src)?;
                ops.key_product(&shape, digits.as_ref(), lab.painted_key(&shape, 10)?.as_ref())?;
                if shape.p > 0 {
                    switch_case(&lab, &shape, Fill::Paint(1))?;
                }
                rotation_case(&lab, &shape, Fill::Paint(1))
            };
            in_case(check(), || lab.case(&shape))?;
        }
        for (span, keep) in DIVISIONS {
            let src = lab.exact(Rows::new(span, 2), Fill::Paint(1))?;
            let other = lab.exact(Rows::new(span, 2), Fill::Paint(2))?;
            let pair = ops.mod_down_pair(span, keep, 2, [&src, &other]).map(drop);
            in_case(pair, || lab.case((span, keep)))?;
            let factor = lab.exact(Rows::new(span, 1), Fill::Paint(3))?;
            let products = ops.mul_mod_down_pair(span, keep, 2, [&src, &other], Operand::new(&factor, 1));
            in_case(products.map(drop), || lab.case((span, keep)))?;
            in_case(ops.mod_down(span, keep, 2, src).map(drop), || lab.case((span, keep)))?;
        }
        super::exact::fused(&lab)?;
    }
    Ok(())
}

/// A number of the unit square, different in each slot.
fn slot(salt: u64, i: usize) -> Complex64 {
    let part = |salt| paint(salt, i) as i64 as f64 * 2f64.powi(-63);
    Complex64::new(part(salt), part(salt + 1))
}

/// Encodes and decodes again, from the rows' place in a larger buffer.
fn embedding_case<B: RingOps>(
    lab: &Lab<B>,
    rows: Rows,
    vectors: &[&[Complex64]],
    to: Embedding<'_>,
) -> Result<()> {
    let (ops, words) = (&lab.ring, rows.count() * lab.n);
    let plaintext = ops.encode_slots(rows, vectors, to)?;
    lab.expect(
        "encode_slots",
        "the words of the rows",
        &[lab.backend.words(&plaintext) as u64],
        &[words as u64],
    )?;
    if let [values] = vectors {
        let mut vector = lab.backend.host_vector(values.len())?;
        vector.numbers_mut()?.copy_from_slice(values);
        ops.encode_host_vector(rows, &vector, to)?;
    }
    let mut larger = lab.buffer(rows.at(lab.n), Fill::Top)?;
    lab.backend.copy(&plaintext, 0, &mut larger, lab.n, words)?;
    ops.decode_slots(rows.at(lab.n), &larger, to).map(drop)
}

/// A vector in memory of the back end that is written again, and then dropped, while a device may
/// still read it.
fn reuse_of_host_vectors<B: RingOps>(lab: &Lab<B>, to: Embedding<'_>) -> Result<()> {
    let (ops, rows) = (&lab.ring, Rows::new(Span::chain(2), 1));
    let values = |salt| -> Vec<Complex64> { (0..to.slots).map(|i| slot(salt, i)).collect() };
    let mut vector = lab.backend.host_vector(to.slots)?;
    let zeros = vector.numbers().iter().all(|&z| z == Complex64::ZERO);
    lab.expect("host_vector", "zeros", &[zeros.into()], &[1])?;
    let mut plaintexts = Vec::new();
    for salt in 10..18 {
        vector.numbers_mut()?.copy_from_slice(&values(salt));
        plaintexts.push(ops.encode_host_vector(rows, &vector, to)?);
    }
    drop(vector);
    for (salt, plaintext) in (10..18).zip(&plaintexts) {
        let expected = ops.encode_slots(rows, &[&values(salt)], to)?;
        let (found, expected) = (lab.read(plaintext)?, lab.read(&expected)?);
        lab.expect("encode_host_vector", "encode_slots", &found, &expected)?;
    }
    Ok(())
}

/// Slots to plaintexts and back at one degree, against the provided bodies: every number of slots,
/// batches of 1 and 3, several levels, vectors that end early, coefficients at the borders of the
/// paths, and vectors that must be refused.
pub fn embeddings_of_degree<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let mirror = Mirror::new(backend.clone(), Provided::new(backend.clone()));
    let lab = Lab::new(mirror, &WIDTHS[log_n as usize % 3], log_n)?;
    let ops = &lab.ring;
    let fft = SpecialFft::new(lab.n / 2);
    let numbers: Vec<Complex64> = (0..3 * lab.n / 2).map(|i| slot(1, i)).collect();
    let is_small = log_n < 10;
    for log_slots in 0..log_n {
        let slots = 1usize << log_slots;
        // The least prime has 25 bits; the first alone at least 50.
        for (q, batch, scale) in
            [(1, 3, 2f64.powi(24)), (2, 1, 3e12), (3, 3, 2f64.powi(45)), (5, 1, 7e16), (6, 3, 1e15)]
        {
            // At large degrees one batch for every third number of slots, all of them for the
            // greatest.
            let is_one = log_slots % 3 == 0 && q == [2, 3, 5][(log_slots / 3) as usize % 3];
            if !is_small && log_slots + 1 < log_n && !is_one {
                continue;
            }
            let to = Embedding { fft: &fft, slots, scale, level: q };
            let rows = Rows::new(Span::chain(q), batch);
            let check = || -> Result<()> {
                let vectors: Vec<&[Complex64]> = numbers.chunks(slots).take(batch).collect();
                embedding_case(&lab, rows, &vectors, to)?;
                // Shorter vectors, an empty one among them.
                let shorter: Vec<&[Complex64]> = vectors
                    .iter()
                    .enumerate()
                    .map(|(i, v)| &v[..v.len() * (i + 1) % (v.len() + 1) / 2])
                    .collect();
                embedding_case(&lab, rows, &shorter, to)?;
                // Residues of any size.
                let any = lab.buffer(rows.at(lab.n), Fill::Paint(3))?;
                ops.decode_slots(rows.at(lab.n), &any, to).map(drop)
            };
            in_case(check(), || lab.case((rows, slots, scale)))?;
        }
    }

    // A single coefficient of the size of the scale, at the ends of words, of a level, and of the
    // whole modulus.
    let below = |x: f64| f64::from_bits(x.to_bits() - 1);
    let border = 2f64.powi(62);
    let scales = [below(border), border, border * 1.5, 2f64.powi(100), 2f64.powi(130), 0.5, 1.5, 2.5, 1e300];
    let signs = [Complex64::ONE, -Complex64::ONE, Complex64::I, Complex64::new(2.0, 1e10)];
    for slots in [1, lab.n / 2] {
        for &sign in if is_small { &signs[..] } else { &signs[3..] } {
            for (q, scale) in [1, 4].into_iter().flat_map(|q| scales.map(|scale| (q, scale))) {
                let vector = vec![sign; slots];
                let to = Embedding { fft: &fft, slots, scale, level: q };
                let rows = Rows::new(Span::chain(q), 1);
                match in_case(embedding_case(&lab, rows, &[&vector], to), || lab.case((rows, slots, scale))) {
                    Ok(()) | Err(Error::ValueTooLarge { .. }) => {}
                    Err(error) => return Err(error),
                }
                if !is_small && slots > 1 && scale == border {
                    break;
                }
            }
        }
    }

    let direct = Lab::new(backend.clone(), &WIDTHS[log_n as usize % 3], log_n)?;
    for slots in [1, lab.n / 4, lab.n / 2].into_iter().filter(|&slots| slots > 0) {
        let to = Embedding { fft: &fft, slots, scale: 3e12, level: 2 };
        in_case(reuse_of_host_vectors(&direct, to), || lab.case(slots))?;
    }

    // Values that must be refused, in the second of three vectors.
    let refused = |values: &[Complex64], slots: usize| {
        let vectors = [&numbers[..slots], values, &numbers[..slots]];
        let to = Embedding { fft: &fft, slots, scale: 1e9, level: 7 };
        ops.encode_slots(Rows::new(Span::chain(4), 3), &vectors, to).err()
    };
    let found = |error: Option<Error>| Error::Backend {
        op: "encode_slots",
        source: format!("a vector that must be refused: {error:?}").into(),
    };
    for slots in [1, lab.n / 4, lab.n / 2] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for bad in [Complex64::new(bad, 0.5), Complex64::new(0.5, bad)] {
                let mut values = numbers[..slots].to_vec();
                values[slots - 1] = bad;
                match refused(&values, slots) {
                    Some(Error::NotFinite { index }) if index == slots - 1 => {}
                    other => return Err(found(other)),
                }
            }
        }
        match refused(&numbers[..=slots], slots) {
            Some(Error::TooManyValues { found, capacity }) if (found, capacity) == (slots + 1, slots) => {}
            other => return Err(found(other)),
        }
        match refused(&vec![Complex64::new(f64::MAX, f64::MAX); slots], slots) {
            Some(Error::ValueTooLarge { needed_bits: 1025, level: 7, .. }) => {}
            other => return Err(found(other)),
        }
    }
    Ok(())
}

/// Slots to plaintexts and back.
pub fn embeddings<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for degree in SMALL.into_iter().chain(large(log_n)).filter(|&degree| degree <= log_n) {
        embeddings_of_degree(backend, degree)?;
    }
    Ok(())
}
