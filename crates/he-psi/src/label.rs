//! Labels as residues.

/// The parts of a label of so many bytes, `width` bits each.
pub(crate) fn parts(bytes: usize, width: u32) -> usize {
    (8 * bytes).div_ceil(width as usize)
}

/// Bytes as numbers of `width` bits, at most 57, lowest bits first.
pub(crate) fn split(bytes: &[u8], width: u32) -> Vec<u64> {
    let (mut waiting, mut bits, mut numbers) = (0u64, 0, Vec::with_capacity(parts(bytes.len(), width)));
    for &byte in bytes {
        waiting |= u64::from(byte) << bits;
        bits += 8;
        while bits >= width {
            numbers.push(waiting & ((1 << width) - 1));
            waiting >>= width;
            bits -= width;
        }
    }
    if bits > 0 {
        numbers.push(waiting);
    }
    numbers
}

/// The bytes of such numbers.
pub(crate) fn join(numbers: &[u64], width: u32, bytes: usize) -> Vec<u8> {
    let bit = |at: usize| (numbers[at / width as usize] >> (at % width as usize) & 1) as u8;
    (0..bytes).map(|byte| (0..8).map(|i| bit(8 * byte + i) << i).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_split_and_joined() {
        for width in [5, 8, 13, 16, 27, 40, 56] {
            for length in 0..40 {
                let bytes: Vec<u8> = (0..length).map(|i| (i * 89 + 200) as u8).collect();
                let numbers = split(&bytes, width);
                assert_eq!(numbers.len(), parts(length, width));
                assert!(numbers.iter().all(|number| number >> width == 0));
                assert_eq!(join(&numbers, width, length), bytes);
            }
        }
    }
}
