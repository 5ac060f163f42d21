//! The widths of integers, and their digits.

use crate::arith::round_i64;
use crate::error::{Error, Result};
use crate::reveal;
use zeroize::Zeroizing;

/// The bits of a digit.
pub(super) const DIGIT_BITS: usize = 4;
/// The number of values of a digit.
pub(super) const RADIX: usize = 1 << DIGIT_BITS;
/// The greatest distance of a decrypted digit from the integer that it stands for.
const GREATEST_OFFSET: f64 = 0.25;

/// The width of integers, and whether they have a sign, which is then that of two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Width {
    /// 8 bits: 2 digits.
    U8,
    /// 16 bits: 4 digits.
    U16,
    /// 32 bits: 8 digits.
    U32,
    /// 64 bits: 16 digits.
    U64,
    /// 8 bits with a sign.
    I8,
    /// 16 bits with a sign.
    I16,
    /// 32 bits with a sign.
    I32,
    /// 64 bits with a sign.
    I64,
}

impl Width {
    /// All widths.
    pub const ALL: [Self; 8] =
        [Self::U8, Self::U16, Self::U32, Self::U64, Self::I8, Self::I16, Self::I32, Self::I64];

    /// The number of bits.
    pub fn bits(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 => 16,
            Self::U32 | Self::I32 => 32,
            Self::U64 | Self::I64 => 64,
        }
    }

    /// Whether integers have a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// All bits set: 2^bits - 1.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Two's complement of signed integers, as words below 2^bits. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for an integer beyond the width, and for a width without sign.
    pub(super) fn words(self, values: &[i64]) -> Result<Zeroizing<Vec<u64>>> {
        if !self.is_signed() {
            let hint = "choose a signed width, or encrypt numbers without sign";
            return Err(Error::domain("width", format!("{} bits without sign", self.bits()), hint));
        }
        // Bits from the sign on are all alike.
        let spread = |value: &i64| (value ^ (value >> 63)) as u64 >> (self.bits() - 1);
        let beyond = values.iter().fold(0, |beyond, value| beyond | spread(value));
        self.check(beyond)?;
        Ok(Zeroizing::new(values.iter().map(|&value| value as u64 & self.mask()).collect()))
    }

    /// The signed integers of words.
    pub(super) fn signed(self, words: Vec<u64>) -> Vec<i64> {
        let shift = 64 - self.bits();
        words.into_iter().map(|word| (word << shift) as i64 >> shift).collect()
    }

    fn check(self, beyond: u64) -> Result<()> {
        if reveal::word(beyond) == 0 {
            return Ok(());
        }
        let bits = self.bits();
        Err(Error::domain("integers", "one is too great", format!("they have {bits} bits")))
    }

    /// The number of digits.
    pub fn digits(self) -> usize {
        self.bits() / DIGIT_BITS
    }

    /// The digits of values, the lowest first, each as one vector over all values: two's complement
    /// for a signed width. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`] for a value beyond the width.
    pub fn split(self, values: &[u64]) -> Result<Vec<Zeroizing<Vec<f64>>>> {
        self.check(values.iter().fold(0, |beyond, value| beyond | (value & !self.mask())))?;
        let digit = |value: &u64, i: usize| (value >> (DIGIT_BITS * i)) as usize % RADIX;
        let digits = |i: usize| values.iter().map(|value| digit(value, i) as f64).collect::<Vec<_>>();
        Ok((0..self.digits()).map(|i| Zeroizing::new(digits(i))).collect())
    }
}

/// The values of decrypted digits, the lowest first: two's complement of signed integers. Constant
/// time.
///
/// # Errors
/// [`Error::BadDigits`] for digits that are not near an integer from 0 to 15.
pub fn join(digits: &[Zeroizing<Vec<f64>>]) -> Result<Vec<u64>> {
    let mut values = vec![0; digits.first().map_or(0, |digit| digit.len())];
    let mut bad = 0;
    for (i, digit) in digits.iter().enumerate() {
        for (value, &x) in values.iter_mut().zip(digit.iter()) {
            let (nearest, is_bad) = message(x, RADIX as u64);
            bad += is_bad;
            *value |= (nearest % RADIX as u64) << (DIGIT_BITS * i);
        }
    }
    checked(values, bad, digits.len())
}

/// The conditions of decrypted messages. Constant time.
///
/// # Errors
/// [`Error::BadDigits`] for messages that are near neither zero nor one.
pub fn join_flags(flags: &[f64]) -> Result<Vec<bool>> {
    let messages: Vec<_> = flags.iter().map(|&x| message(x, 2)).collect();
    let bad = messages.iter().fold(0, |bad, (_, is_bad)| bad + is_bad);
    checked(messages.iter().map(|(nearest, _)| nearest & 1 == 1).collect(), bad, 1)
}

/// The integer that a decrypted message is nearest to, and one if it is not near an integer from 0
/// on below `entries`.
fn message(x: f64, entries: u64) -> (u64, u64) {
    let nearest = round_i64(x);
    let off = (x - nearest as f64).abs();
    // Both are computed, so that the time does not depend on digits.
    (nearest as u64, u64::from(off > GREATEST_OFFSET) | u64::from(nearest as u64 >= entries))
}

/// The values, unless some of their messages are bad, of so many for each.
fn checked<T>(values: Vec<T>, bad: u64, messages: usize) -> Result<Vec<T>> {
    match reveal::word(bad) as usize {
        0 => Ok(values),
        bad => Err(Error::BadDigits { bad, count: values.len() * messages }),
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
        assert_eq!(join(&Width::U64.split(&[u64::MAX, 1 << 63]).unwrap()).unwrap(), [u64::MAX, 1 << 63]);
        assert!(Width::U8.split(&[255]).is_ok());
        assert!(matches!(Width::U8.split(&[256]), Err(Error::Argument { .. })));
        let bad = join(&[vec![1.1, 7.4, 16.0], vec![0.0, -1.0, 1e60]].map(Zeroizing::new));
        assert!(matches!(bad, Err(Error::BadDigits { bad: 4, count: 6 })), "{bad:?}");
    }

    /// Rust's casts, there and back.
    #[test]
    fn signs_are_those_of_rust() {
        for value in [0, 1, -1, 127, -128] {
            let words = Width::I8.words(&[value]).unwrap();
            assert_eq!(words[0], u64::from(value as i8 as u8));
            assert_eq!(Width::I8.signed(words.to_vec()), [value]);
            assert_eq!(Width::I64.signed(Width::I64.words(&[value << 56]).unwrap().to_vec()), [value << 56]);
        }
        for beyond in [128, -129, i64::MIN] {
            assert!(matches!(Width::I8.words(&[beyond]), Err(Error::Argument { .. })));
        }
        assert!(matches!(Width::U8.words(&[1]), Err(Error::Argument { .. })));
    }
}
