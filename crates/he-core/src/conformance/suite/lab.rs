//! Rings, buffers and inputs of the test bodies.

use crate::arith::ntt_primes_below;
use crate::backend::{KeyBuf, KeyShape, KeySwitchOps, KeySwitchShape, PreparedRing, RingOps};
use crate::conformance::mirror::first_difference;
use crate::conformance::{Mirror, MirrorMismatch, Naive};
use crate::error::{Error, Result};
use crate::ring::{RingSpec, Rows, Span};
use std::ops::Range;

/// A failure with the case in which it happened.
#[derive(Debug, thiserror::Error)]
#[error("{source} ({case})")]
struct CaseFailure {
    case: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

pub(super) fn in_case<T>(result: Result<T>, case: impl FnOnce() -> String) -> Result<T> {
    result.map_err(|error| match error {
        Error::Backend { op, source } => {
            Error::Backend { op, source: Box::new(CaseFailure { case: case(), source }) }
        }
        other => other,
    })
}

/// Widths of the primes of a ring.
pub(super) struct Widths {
    name: &'static str,
    chain: [u32; 6],
    special: [u32; 3],
}

/// Widths at and around those that kernels distinguish: 25 to 61 bits together, at most 50, and all
/// of the greatest.
pub(super) const WIDTHS: [Widths; 3] = [
    Widths { name: "mixed", chain: [61, 50, 25, 51, 40, 60], special: [61, 50, 30] },
    Widths { name: "narrow", chain: [50, 40, 50, 30, 49, 36], special: [50, 50, 49] },
    Widths { name: "wide", chain: [61; 6], special: [61; 3] },
];

pub(super) const SMALL: [u32; 5] = [2, 3, 4, 5, 6];

/// The large degrees to try.
pub(super) fn large(log_n: u32) -> Range<u32> {
    log_n.min(10)..log_n + 1
}

/// Limb counts 1, 2, 3, 5, 4 and 8; with a start, with special primes, and both.
pub(super) const SPANS: [Span; 9] = [
    Span::chain(1),
    Span::chain(2),
    Span::chain(3),
    Span::chain(5),
    Span::digit(1, 3),
    Span::special(1),
    Span { start: 2, q: 5, p: 2 },
    Span::extended(3, 1),
    Span::extended(5, 3),
];

/// Rows of every span at the start of a buffer and within it, and a large batch.
pub(super) fn shapes(log_n: u32) -> Vec<Rows> {
    let n = 1usize << log_n;
    let mut shapes: Vec<Rows> = SPANS
        .iter()
        .flat_map(|&span| [Rows::new(span, 1), Rows::new(span, 3).at(5 * n), Rows::new(span, 3)])
        .collect();
    if log_n == 2 || log_n == 4 {
        shapes.push(Rows::new(Span::chain(2), 130).at(n));
        shapes.push(Rows::new(Span { start: 2, q: 5, p: 2 }, 130));
    }
    shapes
}

/// The contents of the rows of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fill {
    /// Words of the whole range with period 251, different for each number.
    Paint(u64),
    /// q - 1.
    Top,
    /// 0.
    Zero,
    /// 0, q - 1, 1, (q - 1) / 2 and (q + 1) / 2 in turn.
    Edges,
}

pub(super) fn paint(salt: u64, i: usize) -> u64 {
    (i as u64 % 251 + 1 + 251 * salt).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Fill {
    pub(super) fn word(self, i: usize, q: u64) -> u64 {
        match self {
            Self::Paint(salt) => paint(salt, i) % q,
            Self::Top => q - 1,
            Self::Zero => 0,
            Self::Edges => [0, q - 1, 1, (q - 1) / 2, q.div_ceil(2)][i % 5],
        }
    }
}

pub(super) fn product(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

pub(super) fn power(x: u64, e: u64, q: u64) -> u64 {
    (0..e.checked_ilog2().map_or(0, |top| top + 1)).rev().fold(1, |y, bit| {
        let square = product(y, y, q);
        if e >> bit & 1 == 1 { product(square, x, q) } else { square }
    })
}

/// A back end with a ring.
pub(super) struct Lab<B: RingOps> {
    pub(super) backend: B,
    pub(super) ring: B::Ring,
    pub(super) n: usize,
    pub(super) log_n: u32,
    pub(super) widths: &'static str,
    pub(super) chain: Vec<u64>,
    pub(super) special: Vec<u64>,
}

impl<B: RingOps> Lab<B> {
    pub(super) fn new(backend: B, widths: &Widths, log_n: u32) -> Result<Self> {
        let mut taken = Vec::new();
        for &bits in widths.chain.iter().chain(&widths.special) {
            let prime = ntt_primes_below(bits, log_n, 1, &taken)?;
            taken.extend(prime);
        }
        let special = taken.split_off(widths.chain.len());
        Self::with_spec(backend, widths.name, &RingSpec::new(log_n, taken, special)?)
    }

    pub(super) fn with_spec(backend: B, widths: &'static str, spec: &RingSpec) -> Result<Self> {
        let ring = backend.prepare(spec)?;
        if ring.spec() != spec {
            return Err(Error::RingMismatch);
        }
        Ok(Self {
            backend,
            ring,
            n: spec.n(),
            log_n: spec.log_n(),
            widths,
            chain: spec.q().to_vec(),
            special: spec.p().to_vec(),
        })
    }

    pub(super) fn case(&self, details: impl std::fmt::Debug) -> String {
        format!("N = 2^{}, {} primes, {details:?}", self.log_n, self.widths)
    }

    /// The prime of a limb.
    pub(super) fn q(&self, span: Span, limb: usize) -> u64 {
        let chain = span.q - span.start;
        if limb < chain { self.chain[span.start + limb] } else { self.special[limb - chain] }
    }

    pub(super) fn primes(&self, span: Span) -> Vec<u64> {
        (0..span.limbs()).map(|limb| self.q(span, limb)).collect()
    }

    /// Words with the rows filled, paint before them and a row of paint after them.
    pub(super) fn words(&self, rows: Rows, fill: Fill) -> Vec<u64> {
        let end = rows.at + rows.count() * self.n;
        (0..end + self.n)
            .map(|i| {
                if (rows.at..end).contains(&i) {
                    fill.word(i, self.q(rows.span, (i - rows.at) / (rows.batch * self.n)))
                } else {
                    paint(99, i)
                }
            })
            .collect()
    }

    pub(super) fn buffer(&self, rows: Rows, fill: Fill) -> Result<B::Buf> {
        self.backend.upload(&self.words(rows, fill))
    }

    /// A filled buffer that ends with the rows.
    pub(super) fn exact(&self, rows: Rows, fill: Fill) -> Result<B::Buf> {
        self.backend.upload(&self.words(rows, fill)[..rows.at + rows.count() * self.n])
    }

    pub(super) fn constants(&self, span: Span, fill: Fill) -> Vec<u64> {
        // One more than there are limbs, since callers may pass those of a longer span.
        (0..span.limbs()).map(|limb| fill.word(limb, self.q(span, limb))).chain([7]).collect()
    }

    /// Words of every limb, one for each run of 2^`log_run` neighbours, paint after them.
    pub(super) fn runs(&self, span: Span, fill: Fill, log_run: u32) -> Result<B::Buf> {
        let kept = self.n >> log_run;
        let end = span.limbs() * kept;
        let word = |i: usize| if i < end { fill.word(i, self.q(span, i / kept)) } else { paint(99, i) };
        self.backend.upload(&(0..end + kept).map(word).collect::<Vec<_>>())
    }

    pub(super) fn read(&self, buf: &B::Buf) -> Result<Vec<u64>> {
        self.backend.download(buf, 0..self.backend.words(buf))
    }

    /// The words of rows that start the buffer.
    pub(super) fn read_rows(&self, buf: &B::Buf, rows: Rows) -> Result<Vec<u64>> {
        self.backend.download(buf, rows.at..rows.at + rows.count() * self.n)
    }

    pub(super) fn expect(&self, op: &'static str, rule: &str, found: &[u64], expected: &[u64]) -> Result<()> {
        match first_difference(found, expected) {
            None => Ok(()),
            Some(index) => Err(Error::Backend {
                op,
                source: Box::new(MirrorMismatch {
                    left: self.backend.name(),
                    right: rule.into(),
                    op,
                    output: 0,
                    index,
                    left_word: found.get(index).copied(),
                    right_word: expected.get(index).copied(),
                }),
            }),
        }
    }

    /// A key for a shape: a uniform row for each digit, part and prime, then another digit that the
    /// shape does not use.
    pub(super) fn painted_key(&self, shape: &KeySwitchShape, salt: u64) -> Result<KeyBuf<B::Buf>> {
        let rows = Rows::new(Span::extended(shape.key_q, shape.p), 1);
        let digits = shape.digits.len() + 1;
        self.key(&KeyShape { digits, span: rows.span }, |digit, part| {
            Ok(self.words(rows, Fill::Paint(salt + (2 * digit + part) as u64)))
        })
    }

    /// A key of polynomials over the primes of the shape, by digit and part.
    pub(super) fn key(
        &self,
        shape: &KeyShape,
        words: impl Fn(usize, usize) -> Result<Vec<u64>>,
    ) -> Result<KeyBuf<B::Buf>> {
        let mut key = self.ring.empty_key(shape)?;
        for (digit, part) in (0..shape.digits).flat_map(|digit| [(digit, 0), (digit, 1)]) {
            let poly = self.backend.upload(&words(digit, part)?[..shape.span.limbs() * self.n])?;
            self.ring.write_key(shape, key.as_mut(), digit, part, &poly)?;
        }
        Ok(key)
    }
}

/// Calls `body` on a mirror of the back end and [`Naive`] for each small ring.
pub(super) fn small_rings<B: RingOps>(
    backend: &B,
    log_n: u32,
    body: impl Fn(&Lab<Mirror<B, Naive>>) -> Result<()>,
) -> Result<()> {
    for log_n in SMALL.into_iter().filter(|&small| small <= log_n) {
        for widths in &WIDTHS {
            body(&Lab::new(Mirror::new(backend.clone(), Naive), widths, log_n)?)?;
        }
    }
    Ok(())
}

/// Calls `body` on the back end for each large ring.
pub(super) fn large_rings<B: RingOps>(
    backend: &B,
    log_n: u32,
    body: impl Fn(&Lab<B>) -> Result<()>,
) -> Result<()> {
    for log_n in large(log_n) {
        for widths in &WIDTHS {
            body(&Lab::new(backend.clone(), widths, log_n)?)?;
        }
    }
    Ok(())
}
