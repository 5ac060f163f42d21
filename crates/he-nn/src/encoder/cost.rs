//! The operations that an encoder takes on ciphertexts of 2^16 real numbers, by its sizes alone.
//!
//! Values lie as token x 512 + feature; tokens 0 to 63 are real and tokens 64 to 127 imaginary
//! parts. A linear layer is a sum of diagonals by the offset of a feature, in + out - 1 of them for
//! each block of 512 by 512, with 64 rotations that share their first step, and further ones for
//! each output. In attention a ciphertext holds one feature of a head for all tokens and heads,
//! repeated: products by diagonals, one relinearisation for 16 tokens.

use std::ops::{Add, AddAssign, MulAssign};

/// Features that lie beside each other.
const PERIOD: usize = 512;
/// Rotations of an input that share their first step.
const BABY: usize = 64;
/// Real numbers of a ciphertext, its imaginary parts counted.
const NUMBERS: usize = 1 << 16;
/// Bytes of a row of residues.
const ROW: u64 = (1 << 16) * 8;

/// The sizes of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers.
    pub layers: usize,
    /// Tokens of a sentence: 128 at most.
    pub tokens: usize,
    /// Features of a token.
    pub width: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Hidden units.
    pub hidden: usize,
}

/// Counts of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rotations that share their first step, still multiplied by P.
    pub baby: usize,
    /// Rotations that share their first step.
    pub hoisted: usize,
    /// Rotations by themselves.
    pub rotations: usize,
    /// Products with plaintexts.
    pub plain: usize,
    /// Products of ciphertexts that are relinearised.
    pub products: usize,
    /// Products of ciphertexts whose sums are relinearised later.
    pub sums: usize,
    /// Refreshes of ciphertexts.
    pub refreshes: usize,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            baby: self.baby + other.baby,
            hoisted: self.hoisted + other.hoisted,
            rotations: self.rotations + other.rotations,
            plain: self.plain + other.plain,
            products: self.products + other.products,
            sums: self.sums + other.sums,
            refreshes: self.refreshes + other.refreshes,
        }
    }
}

impl MulAssign<usize> for Counts {
    fn mul_assign(&mut self, by: usize) {
        let Self { baby, hoisted, rotations, plain, products, sums, refreshes } = self;
        for count in [baby, hoisted, rotations, plain, products, sums, refreshes] {
            *count *= by;
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The sizes of blocks of features.
fn blocks(features: usize) -> impl Iterator<Item = usize> + Clone {
    (0..features).step_by(PERIOD).map(move |start| PERIOD.min(features - start))
}

/// Linear layers on one input, with these numbers of outputs.
fn linear(inputs: usize, outputs: &[usize]) -> Counts {
    let mut counts = Counts { baby: blocks(inputs).count() * BABY, ..Counts::default() };
    for block in outputs.iter().flat_map(|&outputs| blocks(outputs)) {
        let offsets = blocks(inputs).map(|input| input + block - 1);
        counts.plain += offsets.clone().sum::<usize>();
        counts.rotations += offsets.max().unwrap_or(0).div_ceil(BABY);
    }
    counts
}

impl Shape {
    /// The ciphertexts of a value of so many features of each token.
    fn ciphertexts(&self, features: usize) -> usize {
        (features * self.tokens).div_ceil(NUMBERS)
    }

    /// The operations of each part of a layer.
    pub fn parts(&self) -> [(&'static str, Counts); 9] {
        let Self { width, heads, hidden, .. } = *self;
        let inner = width / heads.max(1);
        let halves = inner.div_ceil(16);
        let none = Counts::default();
        let queries = Counts { baby: 31 * halves, plain: 16 * inner, rotations: halves, ..none };
        let keys = Counts { baby: 256 * halves, plain: 16 * inner, rotations: halves, ..none };
        let by_diagonals = Counts { hoisted: 7 * inner, sums: 8 * inner, ..none };
        let scores = queries + keys + by_diagonals + Counts { products: 8, ..none };
        let values =
            keys + by_diagonals + Counts { products: inner, rotations: 4 * inner, plain: inner, ..none };
        // Two stages: exp and squarings on 8 ciphertexts, the mask, two reciprocals on one, a
        // square and two products.
        let softmax = Counts { products: 8 * 10 + 8 + 2 * 10 + 8 + 16 + 14, rotations: 16, plain: 8, ..none };
        let groups = (hidden * self.tokens).div_ceil(NUMBERS / 2);
        let wide = (groups / 6).max(1);
        let gelu =
            Counts { products: (groups - wide.min(groups)) * 7 + wide * 17, rotations: groups, ..none };
        let real = width.div_ceil(PERIOD / 2);
        let norms = Counts { rotations: 2 * 20, products: 2 * (2 * real + 10), plain: 2 * 2 * real, ..none };
        let refreshes = Counts { refreshes: 4 * self.ciphertexts(width) + 2, ..none };
        [
            ("queries, keys, values", linear(width, &[width; 3])),
            ("scores", scores),
            ("softmax", softmax),
            ("attention", values),
            ("output of attention", linear(width, &[width])),
            ("hidden units", linear(width, &[hidden])),
            ("activation", gelu),
            ("output of hidden units", linear(hidden, &[width])),
            ("normalisations", norms + refreshes),
        ]
    }

    /// The operations of a layer.
    pub fn layer(&self) -> Counts {
        self.parts().into_iter().fold(Counts::default(), |sum, (_, counts)| sum + counts)
    }

    /// The diagonals of the weights of all linear layers.
    pub fn diagonals(&self) -> usize {
        let (width, hidden) = (self.width, self.hidden);
        let all = [linear(width, &[width; 4]), linear(width, &[hidden]), linear(hidden, &[width])];
        self.layers * all.iter().map(|counts| counts.plain).sum::<usize>()
    }

    /// The bytes of these diagonals at so many primes, each kept once for all tokens.
    pub fn weight_bytes(&self, primes: usize) -> u64 {
        self.diagonals() as u64 * primes as u64 * ROW / 64
    }
}
