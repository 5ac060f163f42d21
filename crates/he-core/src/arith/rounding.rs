//! Nearest integers of doubles and fused multiply-adds, by operations that take the same time for
//! every value.
//!
//! `f64::round_ties_even` and `f64::mul_add` are single instructions only where the compilation
//! target has SSE4.1 and FMA. On baseline x86-64 they are calls to library functions that branch on
//! their arguments, so that code which rounds a secret with them reveals it through its time.
//! Additions, subtractions, multiplications and bit operations are never such calls, on any target,
//! and everything here consists of them. Their time is independent of the values as long as none is
//! subnormal, infinite or NaN.

/// 3 2^51: the unit in the last place of the sum of this and a double of magnitude at most 2^51 is
/// one.
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0;

const SIGN: u64 = 1 << 63;

/// The integer nearest to x, ties to even, for |x| <= 2^51.
#[inline(always)]
pub(crate) fn round_i64(x: f64) -> i64 {
    (x + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i64
}

/// [`round_i64`] as a double; a zero has the sign of x.
#[inline(always)]
pub(crate) fn round(x: f64) -> f64 {
    let rounded = (x + ROUND) - ROUND;
    f64::from_bits(rounded.to_bits() | x.to_bits() & SIGN)
}

/// The integer nearest to x, ties to even, for |x| < 2^62.
#[inline(always)]
pub(crate) fn round_wide(x: f64) -> i64 {
    const BASE: f64 = (1u64 << 32) as f64;
    let high = round(x * (1.0 / BASE));
    // Exact: a multiple of the last place of x, of magnitude at most 2^31.
    let low = x - high * BASE;
    (round_i64(high) << 32) + round_i64(low)
}

/// The integer nearest to x, ties to even, for |x| < 2^126.
#[inline(always)]
pub(crate) fn round_i128(x: f64) -> i128 {
    const BASE: f64 = (1u64 << 48) as f64;
    let high = round(x * (1.0 / (BASE * BASE)));
    let x = x - high * (BASE * BASE);
    let middle = round(x * (1.0 / BASE));
    let low = x - middle * BASE;
    (i128::from(round_i64(high)) << 96) + (i128::from(round_i64(middle)) << 48) + i128::from(round_i64(low))
}

/// a b + c, rounded once to nearest. The magnitudes of the operands lie below 2^500, and those of a
/// b and c that are not 0 above 2^-800; a zero result may have either sign.
#[cfg_attr(target_arch = "aarch64", allow(dead_code))]
#[inline(always)]
pub(crate) fn mul_add(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(any(target_feature = "fma", target_arch = "aarch64"))]
    {
        #[allow(clippy::disallowed_methods, reason = "an instruction of this target")]
        a.mul_add(b, c)
    }
    #[cfg(not(any(target_feature = "fma", target_arch = "aarch64")))]
    mul_add_emulated(a, b, c)
}

/// [`mul_add`] by the algorithm of Boldo and Melquiond (Emulation of FMA and correctly rounded
/// sums: proved algorithms using rounding to odd, IEEE Transactions on Computers 57, 2008, section
/// 5).
#[cfg_attr(any(target_feature = "fma", target_arch = "aarch64"), allow(dead_code))]
#[inline(always)]
fn mul_add_emulated(a: f64, b: f64, c: f64) -> f64 {
    let (product, product_error) = two_product(a, b);
    let (sum, sum_error) = two_sum(c, product_error);
    let (high, high_error) = two_sum(product, sum);
    high + sum_to_odd(sum_error, high_error)
}

/// a + b rounded, and the rounding error (Knuth, TAOCP 4.2.2, theorem B).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a b rounded, and the rounding error (Dekker 1971).
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    /// 2^27 + 1.
    const SPLIT: f64 = 134_217_729.0;
    let halves = |x: f64| {
        let scaled = SPLIT * x;
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let product = a * b;
    let error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, error)
}

/// a + b rounded to odd: exact sums are unchanged; of the two neighbours of any other sum, this is
/// the one whose last bit is 1.
#[inline(always)]
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    let bits = sum.to_bits();
    // An error other than 0 is a normal number here, so its bits without the sign are not 0.
    let inexact = u64::from(error.to_bits() & !SIGN != 0);
    let step = inexact & !bits & 1;
    // Round away from zero if the error has the sign of the sum, otherwise towards zero.
    let down = ((bits ^ error.to_bits()) >> 63).wrapping_neg();
    f64::from_bits(bits.wrapping_add((step ^ down).wrapping_sub(down)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the library's functions are the oracle")]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// Random doubles of random magnitudes up to 2^bits, and integers, halves and their neighbours.
    fn doubles(seed: u64, bits: i32) -> impl Iterator<Item = f64> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let one = move |i: usize| {
            let x = rng.random_range(-1.0..1.0) * f64::from(rng.random_range(-4..=bits)).exp2();
            let near = match i % 4 {
                0 => x,
                1 => x.round(),
                2 => x.trunc() + 0.5,
                _ => f64::from_bits((x.trunc() + 0.5).to_bits() ^ rng.next_u64() & 1),
            };
            near.clamp(-f64::from(bits).exp2(), f64::from(bits).exp2())
        };
        let edges = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, f64::from(bits).exp2()];
        edges.into_iter().chain((0..200_000).map(one))
    }

    #[test]
    fn rounding_agrees_with_the_library() {
        let seed = 5;
        for x in doubles(seed, 51) {
            assert_eq!(round_i64(x), x.round_ties_even() as i64, "seed {seed}: {x}");
            assert_eq!(round(x).to_bits(), x.round_ties_even().to_bits(), "seed {seed}: {x}");
        }
        for x in doubles(seed, 62) {
            let x = x * (1.0 - f64::EPSILON);
            assert_eq!(round_wide(x), x.round_ties_even() as i64, "seed {seed}: {x}");
        }
        for x in doubles(seed, 126) {
            let x = x * (1.0 - f64::EPSILON);
            assert_eq!(round_i128(x), x.round_ties_even() as i128, "seed {seed}: {x}");
        }
    }

    /// The library's function is correctly rounded (IEEE 754), by an instruction or not.
    #[test]
    fn multiply_adds_are_rounded_once() {
        let seed = 6;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut number = |spread: i32| {
            // Half of the time with few bits, for exact sums and ties.
            let mantissa = match rng.next_u64() % 4 {
                0 => f64::from(rng.random_range(-8i32..=8)),
                1 => f64::from(rng.random_range(-(1i32 << 26)..1 << 26)) + 0.5,
                _ => rng.random_range(-1.0..1.0),
            };
            mantissa * f64::from(rng.random_range(-spread..=spread)).exp2()
        };
        for i in 0..1_000_000 {
            let (a, b) = (number(60), number(60));
            // Sums that cancel, nearly cancel, or differ in magnitude.
            let c = match i % 4 {
                0 => -(a * b),
                1 => -(a * b) * (1.0 + f64::EPSILON * number(3).trunc()),
                _ => number(120),
            };
            let (found, expected) = (mul_add_emulated(a, b, c), a.mul_add(b, c));
            assert!(found == expected, "seed {seed}: {a:e} {b:e} {c:e}: {found:e}, not {expected:e}");
        }
    }
}
