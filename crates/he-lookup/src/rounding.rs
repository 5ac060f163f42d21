//! Numbers modulo q as fractions of 2^k.

use he_core::arith::Modulus;

/// round(x 2^bits / q) modulo 2^bits.
pub(crate) fn to_fraction(x: u64, bits: u32, q: &Modulus) -> u64 {
    let q = u128::from(q.value());
    (((u128::from(x) << bits) + q / 2) / q) as u64 & ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_the_nearest_ones() {
        let q = Modulus::new((1 << 50) - 27).unwrap();
        for i in 0..1000u64 {
            let x = q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for bits in [9, 25, 32] {
                let exact = x as f64 / q.value() as f64;
                let fraction = to_fraction(x, bits, &q) as f64 / (1u64 << bits) as f64;
                let off = (exact - fraction + 0.5).rem_euclid(1.0) - 0.5;
                assert!(off.abs() <= 0.5000001 / (1u64 << bits) as f64);
            }
        }
    }
}
