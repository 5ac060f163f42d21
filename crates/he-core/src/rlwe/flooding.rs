//! Noise that hides the noise of a decryption.

use crate::arith::Modulus;
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::{Coeff, Eval, Poly, Ring, SecretPoly, Span};
use crate::rlwe::noise::public_log2;
use crate::secret_words::SecretWords;
use rand::CryptoRng;
use zeroize::Zeroize;

/// The noise that a decryption adds, so that those who see its result learn nothing of the
/// ciphertext's own noise, which depends on the secret key. A fresh uniform integer of `[-2^b,
/// 2^b)` is added to each coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flooding {
    /// As much noise as makes all decryptions together statistically close to ones whose noise does
    /// not depend on the key (Li, Micciancio, *On the Security of Homomorphic Encryption on
    /// Approximate Numbers*, 2021).
    ///
    /// A coefficient e moves a uniform integer of `[-2^b, 2^b)` by a statistical distance of
    /// |e| / 2^(b + 1). Over N coefficients and D decryptions, these distances sum to at most D N
    /// E / 2^(b + 1), E the root mean square of e, which bounds the mean of |e|. So
    /// b = ceil(security + log2 D + log2 N + log2 E - 1), with E eight times the ciphertext's
    /// [`NoiseEstimate`](crate::ckks::NoiseEstimate), which is an average over keys and
    /// encryptions.
    ///
    /// An estimate is a statement of somebody, and a flood is never narrower than for a fresh
    /// encryption by the public key: E is at least eight times that noise, of variance
    /// 10.5 (1 + k 4N/3) for a secret of k parties.
    Statistical {
        /// s: the distance is at most 2^-s; 40 or more against those who can observe, but not
        /// compute. At least 1, at most 256.
        security_bits: u32,
        /// D: the number of ciphertexts under one secret key whose decryptions others will ever
        /// see, counting each entry of a batch.
        decryptions: u64,
    },
    /// b itself, for those who know the noise of the ciphertext.
    Bits(u32),
}

/// log2 of the factor by which the mean of |e| may exceed the estimate of a ciphertext.
const MARGIN_LOG2: f64 = 3.0;

impl Flooding {
    /// # Errors
    /// [`Error::Argument`] for numbers out of range.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Statistical { security_bits, decryptions }
                if !(1..=256).contains(&security_bits) || decryptions == 0 =>
            {
                Err(Error::domain(
                    "flooding",
                    format!("{security_bits} bits of security over {decryptions} decryptions asked"),
                    "1 to 256 bits over at least one decryption are possible",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Computes b for ciphertexts of degree `n`, under a secret of so many parties, whose noise is
    /// stated to have this root mean square; it counts as that of a fresh encryption at least.
    ///
    /// # Errors
    /// [`Error::Argument`] for numbers out of range; [`Error::NoiseUnknown`] without a root mean
    /// square, or with one that is not a number or infinite, unless b is given.
    pub(crate) fn bits(self, n: usize, parties: usize, rms_log2: Option<f64>) -> Result<u32> {
        self.check()?;
        match self {
            Self::Bits(bits) => Ok(bits),
            Self::Statistical { security_bits, decryptions } => {
                // The maximum below would hide a statement that is not a number.
                let stated = rms_log2.filter(|rms| !rms.is_nan()).ok_or(Error::NoiseUnknown)?;
                let noise = stated.max(public_log2(n as f64, parties as f64));
                let sum = libm::log2(decryptions as f64) + libm::log2(n as f64) + noise + MARGIN_LOG2;
                let least = f64::from(security_bits) + sum - 1.0;
                if !least.is_finite() {
                    return Err(Error::NoiseUnknown);
                }
                // This rounds up, since a cast rounds down and stops at 0.
                let below = least as u32;
                Ok(below.saturating_add(u32::from(least > f64::from(below))))
            }
        }
    }
}

/// The widest b of `floods` floods that together take at most half of 2^`room_log2`, so that the
/// other half is left for what they hide: it depends on no statement about that.
pub(crate) fn widest_bits(room_log2: f64, floods: usize) -> u32 {
    // The cast rounds down and stops at 0.
    (room_log2 - 1.0 - libm::log2(floods as f64)) as u32
}

/// The floods of one decryption, which are added up.
#[derive(Clone, Copy, Debug)]
pub struct Floods {
    /// The number of floods.
    pub count: usize,
    /// The parties whose secrets sum to that of the ciphertext.
    pub parties: usize,
}

impl Floods {
    /// The floods of one owner of the secret.
    pub(crate) const ONE: Self = Self { count: 1, parties: 1 };
}

/// The use of a phase after floods are added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flooded {
    /// It is decrypted, and needs no more room than that.
    Plaintext,
    /// It is the phase of a ciphertext, whose own decryption is flooded in turn.
    Ciphertext,
}

/// The place of the floods of CKKS beside values and noise, modulo Q.
pub(crate) struct FloodRoom {
    /// The degree.
    pub n: usize,
    /// log2 of the greatest coefficient of values and noise, as stated.
    pub used_log2: f64,
    /// log2 of Q.
    pub log_q: f64,
    /// The floods.
    pub floods: Floods,
}

impl FloodRoom {
    /// The b of each flood that hides noise of this root mean square, if all fit below Q / 2.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`]; the same as for [`Flooding::bits`].
    pub(crate) fn flood(&self, flooding: Flooding, rms_log2: Option<f64>) -> Result<u32> {
        self.fitting(flooding.bits(self.n, self.floods.parties, rms_log2)?)
    }

    /// The b of each mask that hides values and noise together and is removed afterwards: at least
    /// the [widest](widest_bits), whatever is stated about values and noise.
    ///
    /// # Errors
    /// The same as for [`flood`](Self::flood).
    pub(crate) fn mask(&self, flooding: Flooding, hidden_log2: Option<f64>) -> Result<u32> {
        let needed_bits = flooding.bits(self.n, self.floods.parties, hidden_log2)?;
        let bits = match flooding {
            Flooding::Bits(_) => needed_bits,
            Flooding::Statistical { .. } => needed_bits.max(widest_bits(self.log_q - 1.0, self.floods.count)),
        };
        self.fitting(bits)
    }

    /// The same bits, if values and noise leave room for such floods.
    fn fitting(&self, needed_bits: u32) -> Result<u32> {
        let Self { used_log2, log_q, floods, .. } = *self;
        // Q / 2 - 2^used = Q / 2 (1 - 2^(used - log2 Q + 1)); nothing of it for a `used` that is
        // not a number.
        let left = log_q - 1.0 + libm::log2(1.0 - libm::exp2((used_log2 - log_q + 1.0).min(0.0)))
            - libm::log2(floods.count as f64);
        if f64::from(needed_bits) >= left {
            // The greatest integer below, since a cast rounds down and stops at 0.
            let below = left as u32;
            let whole = u32::from(f64::from(below) >= left);
            return Err(Error::FloodTooWide { needed_bits, available_bits: below.saturating_sub(whole) });
        }
        Ok(needed_bits)
    }
}

/// The bits of precision that a flood costs at most: by how many bits six standard deviations of a
/// slot's error grow, for any noise from that of a fresh encryption on. The variance of a uniform
/// integer of `[-2^b, 2^b)` is 4^b / 3, and b exceeds the noise by the sum of
/// [`Flooding::Statistical`], rounded up.
pub(crate) fn flood_cost_log2(security_bits: u32, decryptions: u64, log_n: u32) -> f64 {
    let sum = f64::from(security_bits + log_n) + libm::log2(decryptions as f64) + MARGIN_LOG2;
    sum - libm::log2(3.0) / 2.0
}

/// The words of an integer below 2^(bits + 1).
pub(crate) fn flood_words(bits: u32) -> usize {
    bits as usize / 64 + 1
}

/// A uniform integer of `[0, 2^(bits + 1))`, the least significant word first.
fn draw(bits: u32, words: &mut [u64], rng: &mut (impl CryptoRng + ?Sized)) {
    for word in words.iter_mut().rev() {
        *word = rng.next_u64();
    }
    if let Some(top) = words.last_mut() {
        *top >>= 63 - bits % 64;
    }
}

/// A batch of polynomials of fresh uniform integers of `[-2^bits, 2^bits)`. Constant time.
///
/// # Errors
/// Device errors.
pub(crate) fn flood_poly<B: RingOps>(
    ring: &Ring<B>,
    span: Span,
    batch: usize,
    bits: u32,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<SecretPoly<Eval, B>> {
    let primes: Vec<Modulus> = ring.spec().moduli_of(span).copied().collect();
    let flood = flood_residues(bits, batch * ring.n(), &primes, rng);
    // The flood would reveal the values to which it was added.
    let flood: Poly<Coeff, B> = Poly::from_words(ring, span, batch, &flood)?;
    Ok(SecretPoly::new(flood.into_eval()?))
}

/// `count` fresh uniform integers of `[-2^bits, 2^bits)` modulo each of the primes,
/// `[prime][integer]`. Constant time.
fn flood_residues(
    bits: u32,
    count: usize,
    primes: &[Modulus],
    rng: &mut (impl CryptoRng + ?Sized),
) -> SecretWords {
    let mut integer = SecretWords::zeros(flood_words(bits));
    let mut residues = SecretWords::zeros(primes.len() * count);
    let halves: Vec<u64> = primes.iter().map(|q| q.pow(2, u64::from(bits))).collect();
    for k in 0..count {
        draw(bits, &mut integer, rng);
        for (i, (q, &half)) in primes.iter().zip(&halves).enumerate() {
            let horner = |r: u64, &word: &u64| q.reduce_u128(u128::from(r) << 64 | u128::from(word));
            residues[i * count + k] = q.sub(integer.iter().rev().fold(0, horner), half);
        }
    }
    residues
}

/// `count` fresh uniform integers of `[-2^bits, 2^bits)` modulo 2^(64 words), `[word][integer]`
/// from the least significant word on. Constant time.
pub(crate) fn flood_planes(
    bits: u32,
    count: usize,
    words: usize,
    rng: &mut (impl CryptoRng + ?Sized),
) -> SecretWords {
    let mut integer = SecretWords::zeros(flood_words(bits));
    let mut planes = SecretWords::zeros(words * count);
    let (top, bit) = (bits as usize / 64, bits % 64);
    for k in 0..count {
        draw(bits, &mut integer, rng);
        // x - 2^bits: if bit `bits` of x is set, it is cleared; otherwise all bits from it on are
        // set.
        let sign = (integer[top] >> bit).wrapping_sub(1);
        integer[top] = (integer[top] & ((1 << bit) - 1)) | (sign << bit);
        for (w, plane) in planes.chunks_exact_mut(count).enumerate() {
            plane[k] = integer.get(w).copied().unwrap_or(sign);
        }
        integer.zeroize();
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// Both forms are the same integers, within their bounds, and reach both ends of them.
    #[test]
    fn residues_and_planes_are_the_same_integers() {
        let primes = crate::arith::ntt_primes_below(61, 4, 6, &[]).unwrap();
        let moduli: Vec<Modulus> = primes.iter().map(|&q| Modulus::new(q).unwrap()).collect();
        for seed in 0..3 {
            for bits in [0, 1, 30, 61, 62, 63, 64, 65, 127, 128, 200, 300] {
                let generator = || ChaCha20Rng::seed_from_u64(seed);
                let (count, words) = (500, 6);
                let residues = flood_residues(bits, count, &moduli, &mut generator());
                let planes = flood_planes(bits, count, words, &mut generator());
                let bound = BigInt::from(1) << bits;
                let (mut least, mut greatest) = (BigInt::ZERO, BigInt::ZERO);
                for k in 0..count {
                    let mut x = BigInt::ZERO;
                    (0..words).rev().for_each(|w| x = (&x << 64u32) + planes[w * count + k]);
                    if planes[(words - 1) * count + k] >> 63 == 1 {
                        x -= BigInt::from(1) << (64 * words);
                    }
                    assert!(-&bound <= x && x < bound, "seed {seed}, {bits} bits: {x}");
                    for (i, &q) in primes.iter().enumerate() {
                        assert_eq!(BigInt::from(residues[i * count + k]), ((&x % q) + q) % q, "{bits} bits");
                    }
                    least = least.min(x.clone());
                    greatest = greatest.max(x);
                }
                // Except with few integers, 500 of them miss the outer 16th on one side once in
                // 2^64.
                let outer: BigInt = &bound - (&bound >> 4u32);
                assert!(least <= -&outer && (bits == 0 || greatest >= outer - 1), "{bits} bits");
            }
        }
    }

    /// Floods are uniform, in their highest bits and in their lowest: Pearson's statistic over 64
    /// classes stays within six deviations of its mean of 63.
    #[test]
    fn floods_are_uniform() {
        let (count, classes) = (1 << 16, 64usize);
        for bits in [6, 45, 63, 64, 70, 130] {
            let planes = flood_planes(bits, count, 4, &mut ChaCha20Rng::seed_from_u64(bits.into()));
            let word = |k: usize, w: usize| u128::from(planes[w * count + k]);
            // The highest bits of the integer modulo 2^(bits + 1), which its two's complement
            // begins with.
            let highest = |k: usize| {
                let (low, bit) = ((bits as usize - 5) / 64, (bits - 5) % 64);
                ((word(k, low) | word(k, low + 1) << 64) >> bit) as usize % classes
            };
            let lowest = |k: usize| word(k, 0) as usize % classes;
            for class in [&highest as &dyn Fn(usize) -> usize, &lowest] {
                let mut found = vec![0f64; classes];
                (0..count).for_each(|k| found[class(k)] += 1.0);
                let expected = (count / classes) as f64;
                let statistic: f64 = found.iter().map(|n| (n - expected).powi(2) / expected).sum();
                let deviation = (2.0 * 63f64).sqrt();
                assert!((statistic - 63.0).abs() < 6.0 * deviation, "{bits} bits: {statistic}");
            }
        }
    }

    /// The noise of a fresh encryption of degree n by public key.
    fn fresh_log2(n: usize) -> f64 {
        (10.5 * (1.0 + 4.0 * n as f64 / 3.0)).log2() / 2.0
    }

    /// The sum of the distances, in the numbers of the documentation.
    #[test]
    fn distances_sum_to_less_than_asked() {
        for n in [1024usize, 1 << 15, 1 << 17] {
            for (security_bits, decryptions) in [(1, 1), (40, 1), (40, 1024), (64, 1 << 40), (128, u64::MAX)]
            {
                for rms_log2 in [f64::NEG_INFINITY, 0.0, 13.4, 40.0, 200.7] {
                    let flooding = Flooding::Statistical { security_bits, decryptions };
                    let bits = flooding.bits(n, 1, Some(rms_log2)).unwrap();
                    let e_log2 = rms_log2.max(fresh_log2(n)) + MARGIN_LOG2;
                    let sum = (decryptions as f64).log2() + (n as f64).log2() + e_log2 - f64::from(bits + 1);
                    assert!(
                        sum <= -f64::from(security_bits) + 1e-9,
                        "{n} {security_bits} {decryptions} {rms_log2}"
                    );
                    // And it is not much more than a bit smaller.
                    assert!(bits == 0 || sum > -f64::from(security_bits) - 1.0 - 1e-9);
                }
            }
        }
        // 40 bits over 2^10 decryptions at N = 2^15 need 64 bits above the noise, and three of
        // margin.
        let flooding = Flooding::Statistical { security_bits: 40, decryptions: 1 << 10 };
        assert_eq!(flooding.bits(1 << 15, 1, Some(20.0)).unwrap(), 87);
        // Less noise than that of a fresh encryption, 9.4 bits, and two more for 16 parties, counts
        // as much.
        for rms_log2 in [f64::NEG_INFINITY, -300.0, 0.0, 9.0] {
            assert_eq!(flooding.bits(1 << 15, 1, Some(rms_log2)).unwrap(), 77);
            assert_eq!(flooding.bits(1 << 15, 16, Some(rms_log2)).unwrap(), 79);
        }
        for (security_bits, decryptions) in [(0, 1), (257, 1), (40, 0)] {
            let flooding = Flooding::Statistical { security_bits, decryptions };
            assert!(matches!(
                flooding.bits(1024, 1, Some(1.0)),
                Err(Error::Argument { what: "flooding", .. })
            ));
        }
        assert!(matches!(flooding.bits(1024, 1, None), Err(Error::NoiseUnknown)));
        for rms in [f64::NAN, f64::INFINITY] {
            assert!(matches!(flooding.bits(1024, 1, Some(rms)), Err(Error::NoiseUnknown)));
        }
        assert_eq!(Flooding::Bits(7).bits(1024, 1, None).unwrap(), 7);
    }

    /// Six deviations of the flood, over six of the noise that it hides.
    #[test]
    fn floods_cost_what_is_said() {
        for log_n in [4u32, 12, 16] {
            for (security_bits, decryptions) in [(1, 1), (20, 2), (40, 1 << 10), (128, 1 << 40)] {
                for above in [0.0, 3.3, 40.9] {
                    let rms_log2 = fresh_log2(1 << log_n) + above;
                    let flooding = Flooding::Statistical { security_bits, decryptions };
                    let bits = flooding.bits(1 << log_n, 1, Some(rms_log2)).unwrap();
                    let deviation = f64::from(bits) - 3f64.log2() / 2.0;
                    let (found, most) =
                        (deviation - rms_log2, flood_cost_log2(security_bits, decryptions, log_n));
                    assert!(found <= most + 1e-9 && found > most - 1.0 - 1e-9, "{found} and {most} bits");
                }
            }
        }
    }

    #[test]
    fn floods_stay_below_half_the_modulus() {
        let room = |used_log2, log_q, parties| {
            let floods = Floods { count: parties, parties };
            FloodRoom { n: 1024, used_log2, log_q, floods }
        };
        let fits = |bits, used, log_q| room(used, log_q, 1).flood(Flooding::Bits(bits), None);
        assert_eq!(fits(43, 30.0, 45.0).unwrap(), 43);
        // With 2^44 = Q / 2, nothing is left for the values.
        assert!(matches!(
            fits(44, 30.0, 45.0),
            Err(Error::FloodTooWide { needed_bits: 44, available_bits: 43 })
        ));
        assert!(matches!(
            fits(1, 44.0, 45.0),
            Err(Error::FloodTooWide { needed_bits: 1, available_bits: 0 })
        ));
        assert!(matches!(fits(0, 60.0, 45.0), Err(Error::FloodTooWide { .. })));
        // Three floods of 2^42 stay below 2^44 - 2^30, and four do not.
        let several = |floods| room(30.0, 45.0, floods).flood(Flooding::Bits(42), None);
        assert_eq!(several(3).unwrap(), 42);
        assert!(matches!(several(4), Err(Error::FloodTooWide { needed_bits: 42, available_bits: 41 })));
        assert!(matches!(fits(0, f64::NAN, 45.0), Err(Error::FloodTooWide { .. })));

        // Masks take a quarter of Q, whatever is stated to be below them, or as much as they need.
        let flooding = Flooding::Statistical { security_bits: 10, decryptions: 1 };
        let mask = |hidden| room(hidden, 100.0, 3).mask(flooding, Some(hidden));
        for hidden in [f64::NEG_INFINITY, -1.0, 30.0, 74.0] {
            assert_eq!(mask(hidden).unwrap(), 96);
        }
        assert_eq!(mask(75.0).unwrap(), 97);
        assert!(matches!(mask(76.0), Err(Error::FloodTooWide { needed_bits: 98, available_bits: 97 })));
        assert!(matches!(mask(f64::NAN), Err(Error::NoiseUnknown)));
    }
}
