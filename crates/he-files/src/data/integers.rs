//! Integers of a width, with or without a sign, as numbers and as bits.

use num_bigint::{BigInt, BigUint, Sign};

/// The integers of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    /// Bits of each.
    pub bits: u32,
    /// Whether they have a sign: two's complement.
    pub signed: bool,
}

impl Integers {
    /// Integers from 0 on.
    pub fn unsigned(bits: u32) -> Self {
        Self { bits, signed: false }
    }

    /// Whether a number is one of them.
    pub fn hold(self, number: &BigInt) -> bool {
        match (number.sign(), self.signed) {
            (Sign::Minus, false) => false,
            (Sign::Minus, true) => (number + 1u32).bits() < u64::from(self.bits),
            (_, signed) => number.bits() <= u64::from(self.bits) - u64::from(signed),
        }
    }

    /// The bits of a number that is one of them.
    pub fn bits_of(self, number: &BigInt) -> BigUint {
        match number.sign() {
            Sign::Minus => (BigUint::from(1u8) << self.bits) - number.magnitude(),
            _ => number.magnitude().clone(),
        }
    }

    /// The one of these bits.
    pub fn number_of(self, bits: BigUint) -> BigInt {
        if self.signed && bits.bit(u64::from(self.bits) - 1) {
            return BigInt::from(bits) - (BigInt::from(1u8) << self.bits);
        }
        bits.into()
    }

    /// Describes the integers for people.
    pub fn text(self) -> String {
        format!("{} bits{}", self.bits, if self.signed { " with a sign" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_width() {
        for (bits, signed, least, most) in
            [(8, false, 0, 255), (8, true, -128, 127), (32, true, i64::from(i32::MIN), i64::from(i32::MAX))]
        {
            let integers = Integers { bits, signed };
            for (number, held) in
                [(least, true), (most, true), (0, true), (least - 1, false), (most + 1, false)]
            {
                assert_eq!(integers.hold(&number.into()), held, "{number}: {}", integers.text());
            }
            let word = |number: i64| u64::try_from(integers.bits_of(&number.into())).unwrap();
            assert_eq!([word(least), word(most)], [least, most].map(|x| x as u64 & ((1 << bits) - 1)));
            for number in [least, most, 0].map(BigInt::from) {
                assert_eq!(integers.number_of(integers.bits_of(&number)), number);
            }
        }
    }
}
