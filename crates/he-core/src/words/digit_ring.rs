//! R[X] / (X^k - X + 2), in which words are polynomials evaluated at 2: its roots, the polynomials
//! of words, and the norms that bound noise.

use crate::secret_words::SecretWords;
use num_complex::Complex64;

/// The steps of the fixed point of a root. Each divides the error by k / 2 at least.
const STEPS: usize = 40;

/// The directions in which values are bounded.
const DIRECTIONS: usize = 64;

/// The least error of digits that says nothing of a word any more.
const UNSURE: f64 = 0.25;

/// The ring for words of k bits.
#[derive(Clone, Debug)]
pub(super) struct DigitRing {
    bits: usize,
    roots: Vec<Complex64>,
    /// r^m for root j at j k + m.
    powers: Vec<Complex64>,
    /// The weight of the value at root j in coefficient m, at m k/2 + j: the coefficient is the sum
    /// of the real parts of weight times value.
    weights: Vec<Complex64>,
    norms: Norms,
}

/// Bounds over all words, of all digits of a product where a digit has a bound of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norms {
    /// sum_j |w_j x_j|^2 for the values x of a multiplicand and the weights w of a digit.
    pub multiplicand: f64,
    /// The same for a multiplier.
    pub multiplier: f64,
    /// sum_j |w_j|^2.
    pub weights: f64,
    /// The mean square of the values of a product.
    pub product: f64,
}

impl DigitRing {
    /// The ring for words of so many bits, an even number up to 64.
    pub(super) fn new(bits: u32) -> Self {
        let k = bits as usize;
        let roots: Vec<Complex64> = (0..k / 2).map(|m| root(k, m)).collect();
        let powers = roots.iter().flat_map(|&r| powers(r, k)).collect();
        let columns: Vec<Vec<Complex64>> = roots.iter().map(|&r| interpolation(r, k)).collect();
        let weights = (0..k).flat_map(|m| columns.iter().map(move |column| column[m])).collect();
        let norms = Norms::default();
        let ring = Self { bits: k, roots, powers, weights, norms };
        Self { norms: ring.bounds(), ..ring }
    }

    /// Bounds over all words.
    pub(super) fn norms(&self) -> Norms {
        self.norms
    }

    /// k.
    pub(super) fn bits(&self) -> usize {
        self.bits
    }

    /// k/2, the slots of a word.
    pub(super) fn slots(&self) -> usize {
        self.bits / 2
    }

    /// The word times 2^(64 - k), whose sums and products modulo 2^64 are those modulo 2^k.
    fn raised(&self, word: u64) -> u64 {
        word << (64 - self.bits)
    }

    /// 2^64 times the coefficients of a / t in [-1/2, 1/2): -a (2^(k-1-m) - [m = 0]) / 2^k modulo
    /// 1. Constant time.
    fn fraction(&self, raised: u64, m: usize) -> i64 {
        let shifted = raised << (self.bits - 1 - m);
        shifted.wrapping_sub(raised & u64::from(m == 0).wrapping_neg()).wrapping_neg() as i64
    }

    /// The coefficients of a / t, m = 0 first. Constant time.
    pub(super) fn divided(&self, word: u64) -> impl Iterator<Item = f64> + '_ {
        let raised = self.raised(word);
        (0..self.bits).map(move |m| self.fraction(raised, m) as f64 * (-64f64).exp2())
    }

    /// The coefficients of the integer polynomial t (a / t), which lie in -2..=2 and whose value at
    /// 2 is a modulo 2^k. Constant time.
    pub(super) fn digits(&self, word: u64) -> impl Iterator<Item = f64> + '_ {
        let raised = self.raised(word);
        let fraction = move |m: usize| i128::from(self.fraction(raised, m));
        (0..self.bits).map(move |m| {
            let below = if m == 0 { 0 } else { fraction(m - 1) };
            // X^k = X - 2.
            let around = match m {
                0 => -2 * fraction(self.bits - 1),
                1 => fraction(self.bits - 1),
                _ => 0,
            };
            ((below - 2 * fraction(m) + around) >> 64) as f64
        })
    }

    /// Evaluates polynomials side by side: coefficient m of polynomial w at m `count` + w, the
    /// value at root j at j `count` + w.
    pub(super) fn evaluate(&self, coefficients: &[f64], values: &mut [Complex64]) {
        let count = coefficients.len() / self.bits;
        for (values, powers) in values.chunks_exact_mut(count).zip(self.powers.chunks_exact(self.bits)) {
            values.fill(Complex64::default());
            for (row, power) in coefficients.chunks_exact(count).zip(powers) {
                for (value, &c) in values.iter_mut().zip(row) {
                    value.re += power.re * c;
                    value.im += power.im * c;
                }
            }
        }
    }

    /// The weights of the values at the roots in coefficient m, of t times the polynomial if it is
    /// `divided`.
    pub(super) fn weights(&self, m: usize, divided: bool) -> impl Iterator<Item = Complex64> + '_ {
        let weights = self.weights[m * self.slots()..][..self.slots()].iter().zip(&self.roots);
        weights.map(move |(&weight, &root)| if divided { weight * (root - 2.0) } else { weight })
    }

    /// The words of polynomials whose values are laid out as those of [`evaluate`](Self::evaluate),
    /// the real parts before the imaginary ones, multiplied by t first if they are `divided`; and
    /// how many digits are a quarter and more away from integers. Constant time.
    pub(super) fn words(&self, values: [&[f64]; 2], divided: bool, words: &mut [u64]) -> usize {
        let count = words.len();
        words.fill(0);
        let (mut digits, mut bad) = (SecretWords::zeros(count), 0);
        for m in 0..self.bits {
            digits.fill(0.0);
            for (j, weight) in self.weights(m, divided).enumerate() {
                let (re, im) = (&values[0][j * count..][..count], &values[1][j * count..][..count]);
                for (digit, (&re, &im)) in digits.iter_mut().zip(re.iter().zip(im)) {
                    *digit += weight.re * re - weight.im * im;
                }
            }
            for (word, &digit) in words.iter_mut().zip(digits.iter()) {
                let (nearest, away) = rounded(digit);
                *word = word.wrapping_add((nearest as u64) << m);
                bad += usize::from(away >= UNSURE);
            }
        }
        let mask = u64::MAX >> (64 - self.bits);
        words.iter_mut().for_each(|word| *word &= mask);
        bad
    }

    /// The bounds. Coefficients A_m of a / t with m > 0 have A_(m-1) = T(A_m) for the map T(x) = 2
    /// x modulo 1 in [-1/2, 1/2). With g(x) = (4 |x| - 3 x^2) / 9, x^2 + g(T(x)) - g(x) is at most
    /// 1/9 for all x, and with h(x) = |x| / 3, |x| + h(T(x)) - h(x) is at most 1/3. Summed up, A
    /// has a squared norm of at most k/9 + 5/18, and a sum of w_m |A_m| with w_m >= 0 is at most
    /// sum w_m / 3 + (w_(k-1) + sum max(w_m - w_(m+1), 0)) / 6 + w_0 / 2. Digits are -1 to 1 but
    /// for two of -2 to 2. Sums over the roots are quadratic forms in the coefficients, whose norms
    /// the greatest sum of a row bounds.
    fn bounds(&self) -> Norms {
        let k = self.bits as f64;
        let (fractions, digits) = (k / 9.0 + 5.0 / 18.0, k + 6.0);
        let squares = |m| -> Vec<f64> { self.weights(m, true).map(|weight| weight.norm_sqr()).collect() };
        let most = |f: &dyn Fn(usize) -> f64| (0..self.bits).map(f).fold(0.0, f64::max);
        let form = most(&|m| self.form_norm(&squares(m)));
        let weights = most(&|m| squares(m).iter().sum());
        let even = vec![1.0 / self.slots() as f64; self.slots()];
        let peak = self.powers.chunks_exact(self.bits).map(peak).fold(0.0, f64::max);
        Norms {
            multiplicand: form * fractions,
            multiplier: form * digits,
            weights,
            product: peak * peak * self.form_norm(&even) * digits,
        }
    }

    /// A bound on sum_j s_j |P(r_j)|^2 over all polynomials P of squared norm 1.
    fn form_norm(&self, squares: &[f64]) -> f64 {
        let entry = |a: usize, b: usize| -> f64 {
            let rows = self.powers.chunks_exact(self.bits).zip(squares);
            rows.map(|(row, s)| s * (row[a] * row[b].conj()).re).sum()
        };
        let row = |a: usize| (0..self.bits).map(|b| entry(a, b).abs()).sum();
        (0..self.bits).map(row).fold(0.0, f64::max)
    }
}

/// Root m of X^k - X + 2 in the upper half plane: the fixed point of r -> (r - 2)^(1/k) with an
/// argument between 2 pi m / k and pi (2 m + 1) / k.
fn root(k: usize, m: usize) -> Complex64 {
    let turn = core::f64::consts::TAU * m as f64;
    let step = |r: Complex64| {
        let (re, im) = (r.re - 2.0, r.im);
        let magnitude = libm::exp(libm::log(libm::hypot(re, im)) / k as f64);
        let (sin, cos) = libm::sincos((libm::atan2(im, re) + turn) / k as f64);
        Complex64::new(magnitude * cos, magnitude * sin)
    };
    let first = (turn + 1.0) / k as f64;
    (0..STEPS).fold(Complex64::new(libm::cos(first), libm::sin(first)), |r, _| step(r))
}

/// 1, r, ... r^(k-1).
fn powers(r: Complex64, k: usize) -> impl Iterator<Item = Complex64> {
    std::iter::successors(Some(Complex64::new(1.0, 0.0)), move |power| Some(power * r)).take(k)
}

/// Twice the coefficients of Lagrange's polynomial of a root, (X^k - X + 2) / ((X - r) f'(r)). The
/// quotient's are r^(k-1-m), less 1 for m = 0.
fn interpolation(r: Complex64, k: usize) -> Vec<Complex64> {
    let mut quotient: Vec<Complex64> = powers(r, k).collect();
    let derivative = quotient[k - 1] * k as f64 - 1.0;
    quotient.reverse();
    quotient[0] -= 1.0;
    quotient.into_iter().map(|c| c * 2.0 / derivative).collect()
}

/// The bound on |A(r)| for the powers of a root: the greatest in any direction. Directions are
/// tried in steps, and |A(r)| is at most 1 / cos(step / 2) of its part in the nearest.
fn peak(powers: &[Complex64]) -> f64 {
    let step = core::f64::consts::PI / DIRECTIONS as f64;
    let part = |i: usize| {
        let (sin, cos) = libm::sincos(step * i as f64);
        let sizes: Vec<f64> = powers[1..].iter().map(|r| (r.re * cos - r.im * sin).abs()).collect();
        let falls: f64 = sizes.windows(2).map(|pair| (pair[0] - pair[1]).max(0.0)).sum();
        sizes.iter().sum::<f64>() / 3.0 + (falls + sizes[sizes.len() - 1]) / 6.0 + 0.5
    };
    (0..DIRECTIONS).map(part).fold(0.0, f64::max) / libm::cos(step / 2.0)
}

/// The nearest integer of a number below 2^51, and its distance. Constant time.
fn rounded(x: f64) -> (i64, f64) {
    // The unit of numbers of this magnitude is 1.
    const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
    let shifted = x + SHIFT;
    ((shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64), (x - (shifted - SHIFT)).abs())
}
