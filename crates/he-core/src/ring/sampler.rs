//! Random polynomials from a seed: the same words on every back end.
//!
//! Each distribution reads its own ChaCha20 stream (djb's variant: 64-bit stream, 64-bit counter)
//! under the 32-byte seed. The stream number is `kind << 56 | prime << 40 | index`, so that limbs,
//! polynomials and distributions never share a word, and element e of a row reads a fixed number of
//! bytes at a fixed place. There is no rejection, sampling is constant time, and any part can be
//! computed separately (on a GPU, by any thread).

use crate::arith::Modulus;
use crate::secret_words::wipe_stack;
use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use rand::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A 32-byte seed. It is wiped on drop, and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// Draws a fresh seed from the caller's generator.
    pub fn random(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        // This is done in place, because moving the bytes would leave a copy behind.
        let mut seed = Self([0; 32]);
        rng.fill_bytes(&mut seed.0);
        seed
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed { .. }")
    }
}

/// A bound that |e| of [`error_row`] never exceeds.
pub const ERROR_BOUND: i64 = 21;
/// The variance of [`error_row`]: 21 / 2, a deviation of 3.24.
pub const ERROR_VARIANCE: f64 = 10.5;

#[derive(Clone, Copy)]
enum Kind {
    Uniform = 1,
    Ternary = 2,
    Error = 3,
    WideUniform = 4,
}

/// The bytes drawn at a time: a multiple of the width of every element.
const CHUNK: usize = 4096;

/// Calls `f(i, bytes)` for each of `count` elements of `WIDTH` bytes of a stream, the first of
/// which is element `first`. The generator, its output and their copies on the stack are wiped.
pub(crate) fn for_each_element<const WIDTH: usize>(
    seed: &Seed,
    stream: u64,
    first: usize,
    count: usize,
    f: impl FnMut(usize, [u8; WIDTH]),
) {
    draw(seed, stream, first, count, f);
    // The generator takes its seed by value and is itself returned by value: both moves may leave
    // copies, on the stack of whichever thread samples.
    wipe_stack();
}

/// Its frame lies where [`wipe_stack`] writes.
#[inline(never)]
fn draw<const WIDTH: usize>(
    seed: &Seed,
    stream: u64,
    first: usize,
    count: usize,
    mut f: impl FnMut(usize, [u8; WIDTH]),
) {
    let mut rng = ChaCha20Rng::from_seed(seed.0);
    rng.set_stream(stream);
    rng.set_word_pos(first as u128 * (WIDTH as u128 / 4));
    let mut bytes = [0u8; CHUNK];
    let per_chunk = CHUNK / WIDTH;
    for start in (0..count).step_by(per_chunk) {
        let end = count.min(start + per_chunk);
        let used = &mut bytes[..(end - start) * WIDTH];
        rng.fill_bytes(used);
        let (elements, _) = used.as_chunks::<WIDTH>();
        for (i, element) in elements.iter().enumerate() {
            f(start + i, *element);
        }
    }
    bytes.zeroize();
}

fn stream(kind: Kind, prime: usize, index: u32) -> u64 {
    (kind as u64) << 56 | (prime as u64) << 40 | u64::from(index)
}

/// Uniform residues: 128 bits modulo q, at statistical distance below 2^-66 from uniform. `prime`
/// is the prime's index in the ring, `index` the polynomial's number under this seed, `first` the
/// position of `out[0]` (b N for batch entry b).
pub fn uniform_row(seed: &Seed, index: u32, prime: usize, q: &Modulus, first: usize, out: &mut [u64]) {
    let count = out.len();
    for_each_element::<16>(seed, stream(Kind::Uniform, prime, index), first, count, |i, bytes| {
        out[i] = q.reduce_u128(u128::from_le_bytes(bytes));
    });
}

/// Uniform words: word `word` (the least is 0) of the numbers that polynomial `index` has modulo
/// powers of two. Each word reads a stream of its own, eight bytes per element, so that fewer words
/// of the same numbers are the same words.
pub fn wide_uniform_row(seed: &Seed, index: u32, word: usize, first: usize, out: &mut [u64]) {
    let count = out.len();
    for_each_element::<8>(seed, stream(Kind::WideUniform, word, index), first, count, |i, bytes| {
        out[i] = u64::from_le_bytes(bytes);
    });
}

/// floor(3 w / 2^64) - 1 for a 64-bit word w: uniform in {-1, 0, 1}, at distance below 2^-62.
pub(crate) fn ternary(bytes: [u8; 8]) -> i64 {
    ((u128::from(u64::from_le_bytes(bytes)) * 3) >> 64) as i64 - 1
}

/// Uniform coefficients in {-1, 0, 1}: floor(3 w / 2^64) - 1 for a 64-bit word w, at distance below
/// 2^-62 per coefficient.
pub fn ternary_row(seed: &Seed, index: u32, first: usize, out: &mut [i64]) {
    let count = out.len();
    for_each_element(seed, stream(Kind::Ternary, 0, index), first, count, |i, bytes| {
        out[i] = ternary(bytes);
    });
}

/// Centred binomial errors: the difference of two sums of 21 bits; deviation 3.24, tails cut at
/// [`ERROR_BOUND`] by construction (P(|e| = 21) = 2^-41).
pub fn error_row(seed: &Seed, index: u32, first: usize, out: &mut [i64]) {
    const MASK: u64 = (1 << 21) - 1;
    let count = out.len();
    for_each_element::<8>(seed, stream(Kind::Error, 0, index), first, count, |i, bytes| {
        let word = u64::from_le_bytes(bytes);
        out[i] = i64::from((word & MASK).count_ones()) - i64::from((word >> 21 & MASK).count_ones());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 1 << 18;

    #[test]
    fn parts_equal_the_whole() {
        let seed = Seed([5; 32]);
        let q = Modulus::new((1 << 50) - 27).unwrap();
        let mut whole = vec![0; 5000];
        uniform_row(&seed, 3, 2, &q, 0, &mut whole);
        let mut errors = vec![0; 5000];
        error_row(&seed, 3, 0, &mut errors);
        for (first, count) in [(0, 1), (1, 1), (255, 700), (4097, 903)] {
            let mut part = vec![0; count];
            uniform_row(&seed, 3, 2, &q, first, &mut part);
            assert_eq!(part, whole[first..first + count]);
            let mut part = vec![0; count];
            error_row(&seed, 3, first, &mut part);
            assert_eq!(part, errors[first..first + count]);
        }
        let mut other = vec![0; 5000];
        uniform_row(&seed, 3, 1, &q, 0, &mut other);
        assert_ne!(other, whole);
        uniform_row(&seed, 4, 2, &q, 0, &mut other);
        assert_ne!(other, whole);
    }

    /// Fixed seeds; each bound is six deviations of its statistic: a correct sampler fails for one
    /// seed in 10^8.
    #[test]
    fn moments_are_as_documented() {
        for seed in [Seed([1; 32]), Seed([2; 32])] {
            let n = COUNT as f64;
            let mut e = vec![0; COUNT];
            error_row(&seed, 0, 0, &mut e);
            let mean = e.iter().sum::<i64>() as f64 / n;
            let variance = e.iter().map(|&e| (e * e) as f64).sum::<f64>() / n;
            assert!(mean.abs() < 6.0 * (ERROR_VARIANCE / n).sqrt(), "{mean}");
            // Var(e^2) = 2 sigma^4 (1 - 1/42) for a sum of 42 signed halves.
            assert!(
                (variance - ERROR_VARIANCE).abs() < 6.0 * (2.0 * ERROR_VARIANCE.powi(2) / n).sqrt(),
                "{variance}"
            );
            assert!(e.iter().all(|e| e.abs() <= ERROR_BOUND));

            let mut s = vec![0; COUNT];
            ternary_row(&seed, 0, 0, &mut s);
            for value in -1..=1 {
                let count = s.iter().filter(|&&s| s == value).count() as f64;
                assert!((count - n / 3.0).abs() < 6.0 * (n * 2.0 / 9.0).sqrt(), "{value}: {count}");
            }

            // Chi-square over 64 equal bins: mean 63, deviation sqrt(126).
            let q = Modulus::new(3 << 58 | 1).unwrap();
            let mut u = vec![0; COUNT];
            uniform_row(&seed, 0, 0, &q, 0, &mut u);
            let mut bins = [0f64; 64];
            for u in u {
                assert!(u < q.value());
                bins[(u128::from(u) * 64 / u128::from(q.value())) as usize] += 1.0;
            }
            let chi: f64 = bins.iter().map(|b| (b - n / 64.0).powi(2) / (n / 64.0)).sum();
            assert!((chi - 63.0).abs() < 6.0 * 126f64.sqrt(), "{chi}");
        }
    }

    /// First words under the seed of 32 sevens. Origin: the ChaCha20 of an independent program,
    /// `tests/vectors/sampler.py`.
    #[test]
    fn known_first_words() {
        let seed = Seed([7; 32]);
        let q = Modulus::new(1_152_921_504_606_830_593).unwrap();
        let (mut u, mut s, mut e) = ([0; 8], [0; 24], [0; 24]);
        uniform_row(&seed, 9, 1, &q, 0, &mut u);
        ternary_row(&seed, 9, 0, &mut s);
        error_row(&seed, 9, 0, &mut e);
        #[rustfmt::skip]
        assert_eq!(u, [
            474664899871485198, 168707037915852609, 1043868428204699219, 207687383673876243,
            324204982046207170, 624640370234627338, 895565396147333578, 974945682757632178,
        ]);
        assert_eq!(s, [-1, -1, 1, -1, -1, -1, 1, -1, 1, 0, 0, 1, 0, 0, 1, 1, -1, 0, 0, 1, 0, 1, -1, 1]);
        assert_eq!(e, [6, -2, 0, 6, 8, -2, 1, -2, 4, -1, -2, 6, -2, 2, -2, 2, -1, 3, 1, 1, 2, 1, -5, 2]);
        // Far into the stream: `sampler.py --first 1000003 --uniform-count 2 --count 2`.
        let (mut u, mut e) = ([0; 2], [0; 2]);
        uniform_row(&seed, 9, 1, &q, 1_000_003, &mut u);
        error_row(&seed, 9, 1_000_003, &mut e);
        assert_eq!((u, e), ([801200004316170515, 706488248870128108], [6, -4]));
    }
}
