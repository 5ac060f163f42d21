//! Sums in scalar code.

/// The sums of the products of the bytes of each row and the words, which lie two in a word of the
/// buffer, modulo 2^32.
pub(super) fn sums(rows: [&[u64]; super::ROWS], words: &[u64]) -> [u32; super::ROWS] {
    rows.map(|row| {
        let mut lanes = [0u32; 8];
        for (bytes, words) in row.iter().zip(words.as_chunks::<4>().0) {
            let bytes = bytes.to_le_bytes();
            for (i, word) in words.iter().enumerate() {
                lanes[2 * i] = lanes[2 * i].wrapping_add(u32::from(bytes[2 * i]).wrapping_mul(*word as u32));
                let upper = u32::from(bytes[2 * i + 1]).wrapping_mul((word >> 32) as u32);
                lanes[2 * i + 1] = lanes[2 * i + 1].wrapping_add(upper);
            }
        }
        lanes.into_iter().fold(0, u32::wrapping_add)
    })
}
