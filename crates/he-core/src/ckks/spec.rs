//! A plain description of CKKS parameters, and its primes from their widths.

use super::LevelGroup;
use super::levels::{group_indices, next_scale};
use crate::arith::{nearest_ntt_primes, ntt_primes_below};
use crate::params::ParamsError;
use crate::ring::RingSpec;
use crate::rlwe::RlweParams;
use std::ops::Range;

/// Whether a prime is so near to the one that leads to a nominal scale that it may take its place.
/// The scale is then a 256th away from it at most; at the next level it would be twice as far.
fn is_near(prime: u64, exact: f64) -> bool {
    (exact / prime as f64 - 1.0).abs() < 1.0 / 256.0
}

/// A plain, unchecked description of CKKS parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CkksSpec {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The modulus chain; the last prime is dropped first.
    pub q: Vec<u64>,
    /// The special primes for key switching. If there are none, there are no evaluation keys.
    pub p: Vec<u64>,
    /// The numbers of primes of the levels, level 0 first, ascending; the last is the length of the
    /// chain.
    pub level_primes: Vec<usize>,
    /// The digits of key switching, as ranges of chain primes.
    pub digits: Vec<Range<usize>>,
    /// The groups of levels of one nominal scale each, that of level 0 first; together all levels.
    pub groups: Vec<LevelGroup>,
}

impl CkksSpec {
    /// A chain by the widths of its primes, base first. The primes after the base are those nearest
    /// to the scale that keep every level's scale at its nominal value. There is one prime per
    /// level, and digits are as wide as the special modulus allows.
    ///
    /// Arithmetic is fastest below 2^50. So with a scale of 2^50 the primes are below it as long as
    /// scales are within a 256th of their nominal value: about twenty of them, then one above.
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`] and similar errors.
    pub fn from_bits(
        log_n: u32,
        q_bits: &[u32],
        p_bits: &[u32],
        scale_log2: f64,
    ) -> Result<Self, ParamsError> {
        check_degree(log_n)?;
        check_lengths(q_bits.len(), p_bits.len())?;
        let base = ntt_primes_below(q_bits[0], log_n, 1, &[])?;
        let levels: Vec<Vec<u32>> = q_bits[1..].iter().map(|&bits| vec![bits]).collect();
        let groups = [LevelGroup { levels: q_bits.len(), scale_log2 }];
        Self::above_base(log_n, base, &levels, p_bits, &groups, true)
    }

    /// Describes parameters with any number of primes per level and any groups of levels: the
    /// widths of the base's primes, those of the primes that each level adds (level 1 first), and
    /// the groups (that of level 0 first).
    ///
    /// Where the widths of a level allow products of two ciphertexts to end at the nominal scale
    /// below, within half a bit, its last prime is the one that leads there most exactly. Other
    /// borders of groups ([`LevelGroup`]) take the largest primes of their widths.
    ///
    /// ```
    /// use he_core::ckks::{CkksParams, CkksSpec, LevelGroup};
    /// # fn main() -> Result<(), he_core::params::ParamsError> {
    /// // Two multiplications at 2^60 above two at 2^40, and a linear map on top.
    /// let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
    /// let groups = [group(3, 40.0), group(2, 60.0), group(1, 60.0)];
    /// let widths = [vec![40], vec![40], vec![30, 30], vec![30, 30], vec![45]];
    /// let spec = CkksSpec::from_level_bits(14, &[50], &widths, &[55, 55], &groups)?;
    /// let params = CkksParams::try_from(spec)?;
    /// assert_eq!(params.max_level(), 5);
    /// assert_eq!(params.levels()[2].scale, 40f64.exp2());
    /// assert!(params.takes_products(2) && params.takes_products(4));
    /// assert!(!params.takes_products(3) && !params.takes_products(5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`]; [`ParamsError::LevelGroups`] unless the groups have one
    /// level more than there are widths.
    pub fn from_level_bits(
        log_n: u32,
        base_bits: &[u32],
        level_bits: &[Vec<u32>],
        p_bits: &[u32],
        groups: &[LevelGroup],
    ) -> Result<Self, ParamsError> {
        check_degree(log_n)?;
        let chain = base_bits.len() + level_bits.iter().map(Vec::len).sum::<usize>();
        check_lengths(if base_bits.is_empty() { 0 } else { chain }, p_bits.len())?;
        let mut base = Vec::with_capacity(base_bits.len());
        for &bits in base_bits {
            let prime = ntt_primes_below(bits, log_n, 1, &base)?[0];
            base.push(prime);
        }
        Self::above_base(log_n, base, level_bits, p_bits, groups, false)
    }

    /// From the primes of the base; with `prefer_short`, primes around 2^50 are below it where they
    /// may be.
    fn above_base(
        log_n: u32,
        mut q: Vec<u64>,
        level_bits: &[Vec<u32>],
        p_bits: &[u32],
        groups: &[LevelGroup],
        prefer_short: bool,
    ) -> Result<Self, ParamsError> {
        let mut p = Vec::new();
        for &bits in p_bits {
            let known: Vec<u64> = q.iter().chain(&p).copied().collect();
            p.push(ntt_primes_below(bits, log_n, 1, &known)?[0]);
        }
        let mut level_primes = vec![q.len()];
        for widths in level_bits {
            level_primes.push(level_primes[level_primes.len() - 1] + widths.len());
        }
        let group_of = group_indices(groups, level_primes.len())?;
        let nominal_log2 = |level: usize| groups[group_of[level]].scale_log2;
        // From the top level down: S' = S^2 / D, and D nearest to S^2 / 2^s leads to a nominal
        // scale of 2^s.
        let mut scale = nominal_log2(level_bits.len()).exp2();
        let mut chain: Vec<u64> = Vec::new();
        for (below, widths) in level_bits.iter().enumerate().rev() {
            let level = below + 1;
            let bits: f64 = widths.iter().map(|&bits| f64::from(bits)).sum();
            let inside = group_of[level] == group_of[below];
            let (above, below) = (nominal_log2(level), nominal_log2(below));
            let off = if inside { above - bits } else { 2.0 * above - below - bits };
            let known = |chain: &[u64]| -> Vec<u64> { q.iter().chain(&p).chain(chain).copied().collect() };
            if !inside && off.abs() >= 0.5 {
                for &bits in widths {
                    let prime = ntt_primes_below(bits, log_n, 1, &known(&chain))?[0];
                    chain.push(prime);
                }
            } else {
                let fits = off.abs() < 0.5;
                let mut target = if fits { scale * scale / below.exp2() } else { bits.exp2() };
                // All primes of a level except the last have their width, and the last compensates
                // for the rest.
                for (i, &bits) in widths.iter().enumerate() {
                    let last = i + 1 == widths.len();
                    let nearest = if last { target } else { f64::from(bits).exp2() };
                    let short = nearest < 0.99 * 50f64.exp2();
                    let below = |limit| nearest_ntt_primes(nearest, limit, log_n, 1, &known(&chain));
                    let prime = match below(50) {
                        Ok(prime) if short || prefer_short && last && fits && is_near(prime[0], nearest) => {
                            prime[0]
                        }
                        Err(error) if short => return Err(error),
                        _ => below(61)?[0],
                    };
                    target /= prime as f64;
                    chain.push(prime);
                }
            }
            let dropped = chain[chain.len() - widths.len()..].iter().fold(1.0, |d, &q| d * q as f64);
            scale = next_scale(scale, dropped, inside, below);
        }
        q.extend(chain.into_iter().rev());
        let digits = RlweParams::greedy_digits(&q, &p);
        Ok(Self { log_n, level_primes, q, p, digits, groups: groups.to_vec() })
    }

    /// With one group of all levels, of this scale at the top.
    #[must_use]
    pub fn with_scale(mut self, scale_log2: f64) -> Self {
        self.groups = vec![LevelGroup { levels: self.level_primes.len(), scale_log2 }];
        self
    }

    /// With other levels, by their numbers of primes, in one group.
    #[must_use]
    pub fn with_levels(mut self, level_primes: Vec<usize>, scale_log2: f64) -> Self {
        self.level_primes = level_primes;
        self.with_scale(scale_log2)
    }

    /// Sets `dnum` digits of equal length (the last may be shorter).
    #[must_use]
    pub fn with_dnum(mut self, dnum: usize) -> Self {
        self.digits = RlweParams::even_digits(self.q.len(), dnum);
        self
    }
}

fn check_degree(log_n: u32) -> Result<(), ParamsError> {
    let (lowest, highest) = (RingSpec::MIN_LOG_N, RingSpec::MAX_LOG_N);
    if (lowest..=highest).contains(&log_n) {
        return Ok(());
    }
    Err(ParamsError::Degree { found: log_n, lowest, highest })
}

fn check_lengths(q: usize, p: usize) -> Result<(), ParamsError> {
    let highest = RingSpec::MAX_PRIMES;
    for (chain, found, lowest) in [("modulus chain", q, 1), ("special chain", p, 0)] {
        if !(lowest..=highest).contains(&found) {
            return Err(ParamsError::ChainLength { chain, found, lowest, highest });
        }
    }
    Ok(())
}
