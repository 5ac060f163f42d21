//! The widths of integers, and their digits.

use crate::arith::round_i64;
use crate::error::{Error, Result};
use crate::reveal;
use zeroize::Zeroizing;

/// The bits of a digit.
const DIGIT_BITS: usize = 4;
/// The number of values of a digit.
pub(super) const RADIX: usize = 1 << DIGIT_BITS;
/// The greatest distance of a decrypted digit from the integer that it stands for.
const GREATEST_OFFSET: f64 = 0.25;

/// The width of unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Width {
    /// 8 bits: 2 digits.
    U8,
    /// 16 bits: 4 digits.
    U16,
    /// 32 bits: 8 digits.
    U32,
}

impl Width {
    /// The number of bits.
    pub fn bits(self) -> usize {
        match self {
            Self::U8 => 8,
            Self::U16 => 16,
            Self::U32 => 32,
        }
    }

    /// The number of digits.
    pub fn digits(self) -> usize {
        self.bits() / DIGIT_BITS
    }

    /// The digits of values, the lowest first, each as one vector over all values.
    pub(super) fn split(self, values: &[u64]) -> Result<Vec<Zeroizing<Vec<f64>>>> {
        let beyond = values.iter().fold(0, |beyond, value| beyond | value >> self.bits());
        if reveal::word(beyond) != 0 {
            let bits = self.bits();
            return Err(Error::domain("integers", "one is too great", format!("they have {bits} bits")));
        }
        let digit = |value: &u64, i: usize| (value >> (DIGIT_BITS * i)) as usize % RADIX;
        let digits = |i: usize| values.iter().map(|value| digit(value, i) as f64).collect::<Vec<_>>();
        Ok((0..self.digits()).map(|i| Zeroizing::new(digits(i))).collect())
    }
}

/// The values of decrypted digits, the lowest first.
pub(super) fn join(digits: &[Zeroizing<Vec<f64>>]) -> Result<Vec<u64>> {
    let mut values = vec![0; digits.first().map_or(0, |digit| digit.len())];
    let mut bad = 0;
    for (i, digit) in digits.iter().enumerate() {
        for (value, &x) in values.iter_mut().zip(digit.iter()) {
            let nearest = round_i64(x);
            let off = (x - nearest as f64).abs();
            // Sums of both keep the time independent of digits.
            bad += u64::from(off > GREATEST_OFFSET) | u64::from(nearest as u64 >= RADIX as u64);
            *value |= (nearest as u64 % RADIX as u64) << (DIGIT_BITS * i);
        }
    }
    match reveal::word(bad) as usize {
        0 => Ok(values),
        bad => Err(Error::BadDigits { bad, count: values.len() * digits.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_values() {
        let values = [0, 1, 0xabcd, 0xffff];
        let digits = Width::U16.split(&values).unwrap();
        assert_eq!(*digits[0], [0.0, 1.0, 13.0, 15.0]);
        assert_eq!(*digits[3], [0.0, 0.0, 10.0, 15.0]);
        assert_eq!(join(&digits).unwrap(), values);
        assert!(Width::U8.split(&[255]).is_ok());
        assert!(matches!(Width::U8.split(&[256]), Err(Error::Argument { .. })));
        let bad = join(&[vec![1.1, 7.4, 16.0], vec![0.0, -1.0, 1e60]].map(Zeroizing::new));
        assert!(matches!(bad, Err(Error::BadDigits { bad: 4, count: 6 })), "{bad:?}");
    }
}
