//! GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS-197, section 4), and the S-box by its definition.
//!
//! Everything is arithmetic without branches or look-ups, so its time does not depend on the
//! values. Everything is `const`, so the compiler derives tables from it.

/// x a (FIPS-197, 4.3).
pub(super) const fn xtime(a: u8) -> u8 {
    (a << 1) ^ ((a >> 7) * 0x1b)
}

/// The product a b.
pub(crate) const fn mul(a: u8, b: u8) -> u8 {
    mul_low(a, b, 8)
}

/// The product of a and the lowest bits of b.
const fn mul_low(a: u8, b: u8, bits: u32) -> u8 {
    let (mut product, mut power, mut bit) = (0, a, 0);
    while bit < bits {
        product ^= power & ((b >> bit) & 1).wrapping_neg();
        power = xtime(power);
        bit += 1;
    }
    product
}

/// a^254: the inverse, and 0 for 0. 254 = 2 + 4 + ... + 128.
const fn inverse(a: u8) -> u8 {
    let (mut square, mut product, mut i) = (mul(a, a), 1, 0);
    while i < 7 {
        product = mul(product, square);
        square = mul(square, square);
        i += 1;
    }
    product
}

/// SubBytes of one byte (FIPS-197, 5.1.1): the inverse, then an affine map over bits.
pub(super) const fn sub(a: u8) -> u8 {
    let b = inverse(a);
    b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63
}

/// InvSubBytes of one byte (FIPS-197, 5.3.2).
pub(super) const fn inv_sub(a: u8) -> u8 {
    inverse(a.rotate_left(1) ^ a.rotate_left(3) ^ a.rotate_left(6) ^ 0x05)
}

/// A column times the circulant matrix with this first row: MixColumns for (2, 3, 1, 1),
/// InvMixColumns for (14, 11, 13, 9).
pub(super) const fn mix_column(column: [u8; 4], row: [u8; 4]) -> [u8; 4] {
    let mut mixed = [0; 4];
    let mut i = 0;
    while i < 4 {
        let mut j = 0;
        while j < 4 {
            // Both rows are below 16.
            mixed[i] ^= mul_low(column[j], row[(4 + j - i) % 4], 4);
            j += 1;
        }
        i += 1;
    }
    mixed
}

/// First row of MixColumns (FIPS-197, 5.1.3).
pub(crate) const MIX: [u8; 4] = [2, 3, 1, 1];
/// First row of InvMixColumns (FIPS-197, 5.3.3).
pub(crate) const INV_MIX: [u8; 4] = [14, 11, 13, 9];

/// SubBytes of every byte (FIPS-197, figure 7).
pub(crate) const S_BOX: [u8; 256] = {
    let (mut table, mut a) = ([0; 256], 0);
    while a < 256 {
        table[a] = sub(a as u8);
        a += 1;
    }
    table
};

/// InvSubBytes of every byte (FIPS-197, figure 14).
pub(crate) const INV_S_BOX: [u8; 256] = {
    let (mut table, mut a) = ([0; 256], 0);
    while a < 256 {
        table[a] = inv_sub(a as u8);
        a += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS-197, 4.2, 4.2.1 and 5.1.1.
    #[test]
    fn fips_197_examples() {
        assert_eq!(mul(0x57, 0x83), 0xc1);
        assert_eq!(mul(0x57, 0x13), 0xfe);
        assert_eq!(sub(0x53), 0xed);
        assert_eq!(mix_column([0xd4, 0xbf, 0x5d, 0x30], MIX), [0x04, 0x66, 0x81, 0xe5]);
    }

    #[test]
    fn inverses() {
        for a in 0..=255 {
            assert_eq!(inv_sub(sub(a)), a);
            assert_eq!(mul(a, inverse(a)), u8::from(a != 0));
            let column = [a, 1, a ^ 0x5a, 3];
            assert_eq!(mix_column(mix_column(column, MIX), INV_MIX), column);
        }
    }
}
