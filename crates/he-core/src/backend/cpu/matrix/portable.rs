//! Tiles in scalar code.

pub(super) const ROWS: usize = 2;
pub(super) const COLUMNS: usize = 4;

/// Products of pieces: a step has, for each piece of the left numbers, one of every row, and for
/// each of the right ones, one of every column, two signed ones in a word.
pub(super) fn multiply((left, right): (usize, usize), a: &[u64], b: &[u64], sums: &mut [i64]) {
    sums.fill(0);
    for (a, b) in a.chunks_exact(left * ROWS / 2).zip(b.chunks_exact(right * COLUMNS / 2)) {
        for (i, a) in a.chunks_exact(ROWS / 2).enumerate() {
            for (j, b) in b.chunks_exact(COLUMNS / 2).enumerate() {
                let sums = &mut sums[(i * right + j) * ROWS * COLUMNS..][..ROWS * COLUMNS];
                for (r, sums) in sums.chunks_exact_mut(COLUMNS).enumerate() {
                    let x = piece(a, r);
                    sums.iter_mut().enumerate().for_each(|(c, sum)| *sum += x * piece(b, c));
                }
            }
        }
    }
}

fn piece(words: &[u64], i: usize) -> i64 {
    i64::from((words[i / 2] >> (i % 2 * 32)) as i32)
}
