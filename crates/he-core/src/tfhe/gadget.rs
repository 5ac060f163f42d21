//! Gadget decomposition: x = sum of d_j 2^(64 - j b) up to rounding, digits d_j in [-B/2, B/2),
//! B = 2^b (Chillotti, Gama, Georgieva, Izabachene 2020, algorithm 1).

/// Base 2^`base_log`, `levels` digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gadget {
    /// b = log2 of the base.
    pub base_log: u32,
    /// The number of digits.
    pub levels: u32,
}

impl Gadget {
    /// The number of bits that are kept.
    pub const fn bits(self) -> u32 {
        self.base_log * self.levels
    }

    /// The number added to a word so that its rounded digits can be read off without carries: B/2
    /// at each digit, and half of the last place.
    pub fn offset(self) -> u64 {
        let half = 1u64 << (63 - self.bits());
        (1..=self.levels).fold(half, |sum, j| sum.wrapping_add(1 << (63 - (j - 1) * self.base_log)))
    }

    /// The [offset](Self::offset) of coefficients of even index, which rounds ties up, and of odd
    /// index, which rounds them down. Coefficients of products have few bits below the last digit,
    /// so that ties are frequent: if all were rounded up, these errors would have a mean, which the
    /// secret, whose mean is 1/2, multiplies by N/2 instead of sqrt(N/2). So they alternate.
    pub(super) fn alternating_offsets(self) -> [u64; 2] {
        [self.offset(), self.offset() - 1]
    }

    /// The place of digit j = 1, 2, ...: 64 - j b.
    pub const fn shift(self, j: u32) -> u32 {
        64 - j * self.base_log
    }

    /// Digit j of a word to which [`offset`](Self::offset) was added, plus B/2.
    #[inline(always)]
    pub(super) const fn digit(self, shifted: u64, j: u32) -> u64 {
        (shifted >> self.shift(j)) & ((1 << self.base_log) - 1)
    }

    /// E[d^2] for a uniform word: (B^2 + 2) / 12.
    pub(super) fn digit_square(self) -> f64 {
        (libm::exp2(2.0 * f64::from(self.base_log)) + 2.0) / 12.0
    }

    /// Variance of the rounding error of a uniform word, on the torus: 2^(-2 b l) / 12.
    pub(super) fn rounding_variance(self) -> f64 {
        libm::exp2(-2.0 * f64::from(self.bits())) / 12.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_recompose(x: u64, base_log in 1u32..=30, levels in 1u32..=8) {
            let gadget = Gadget { base_log, levels };
            prop_assume!(gadget.bits() <= 52);
            let shifted = x.wrapping_add(gadget.offset());
            let half = 1i64 << (base_log - 1);
            let mut sum = 0u64;
            for j in 1..=levels {
                let digit = gadget.digit(shifted, j) as i64 - half;
                prop_assert!((-half..half).contains(&digit));
                sum = sum.wrapping_add((digit as u64).wrapping_mul(1 << gadget.shift(j)));
            }
            let error = x.wrapping_sub(sum) as i64;
            prop_assert!(error.unsigned_abs() <= 1 << (63 - gadget.bits()));
        }
    }
}
