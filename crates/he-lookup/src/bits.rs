//! Numbers of a fixed width, side by side in bytes, the first in the lowest bits.

/// The bytes of `count` numbers.
pub(crate) fn bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers below 2^width, width at most 56.
pub(crate) fn pack(numbers: impl IntoIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0u64, 0);
    for number in numbers {
        held |= number << count;
        count += width;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

/// The first `count` numbers in bytes that hold at least as many; `None` if bits after them are
/// set.
pub(crate) fn unpack(bytes: &[u8], count: usize, width: u32) -> Option<Vec<u64>> {
    let (mut held, mut have, mut next) = (0u64, 0, bytes.iter());
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        while have < width {
            held |= u64::from(*next.next()?) << have;
            have += 8;
        }
        numbers.push(held & ((1 << width) - 1));
        held >>= width;
        have -= width;
    }
    (held == 0 && next.next().is_none()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_nothing_else_is_taken() {
        for width in [1, 9, 12, 25, 32, 50, 56] {
            let top = (1u64 << width) - 1;
            let numbers: Vec<u64> = (0..11u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & top).collect();
            let mut packed = Vec::new();
            pack(numbers.iter().copied(), width, &mut packed);
            assert_eq!(packed.len(), bytes(11, width));
            assert_eq!(unpack(&packed, 11, width), Some(numbers));
            assert_eq!(unpack(&packed[1..], 11, width), None);
            packed.push(0);
            assert_eq!(unpack(&packed, 11, width), None);
            packed.pop();
            if !(11 * width).is_multiple_of(8) {
                *packed.last_mut().unwrap() |= 0x80;
                assert_eq!(unpack(&packed, 11, width), None);
            }
        }
    }
}
