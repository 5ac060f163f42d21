//! The table of levels: their primes, their groups, and the exact scale of each.

use super::extended::EXTENDED_LOG2;
use crate::arith::DoubleDouble;
use crate::params::ParamsError;

/// One level: the primes of a ciphertext, and the exact scale that the aligning operations keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Primes of the chain.
    pub primes: usize,
    /// The scale.
    pub scale: f64,
}

/// Consecutive levels of one nominal scale.
///
/// Every level's exact scale lies within one bit of its group's nominal scale. With S the scale of
/// a level and D the product of the primes that the step below it drops, the next scale is S^2 / D
/// inside a group, so that a product of two ciphertexts is, rescaled, exactly at the next level's
/// scale. From the lowest level of a group to the highest of the next it is S^2 / D as well if that
/// lies within a quarter of a bit of the next group's nominal scale; otherwise the next group
/// starts at exactly its nominal scale. Then products of two ciphertexts do not fit the step: the
/// evaluator makes them one level lower. All other operations take such a step as any other:
/// ciphertexts are brought to the next scale S' by the constant round(S' D / S), and plaintexts and
/// constants are encoded at S' D / S for it
/// ([`multiplier_scale`](super::CkksParams::multiplier_scale)). So levels that serve linear maps
/// alone, whose primes need not be as wide as the scale, are groups of one level each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelGroup {
    /// The number of levels.
    pub levels: usize,
    /// log2 of the nominal scale.
    pub scale_log2: f64,
}

/// log2 of the least constant that a ciphertext is multiplied by on its way to another scale: it is
/// rounded to an integer, with a relative error of at most 2^-21.
pub(super) const LEAST_CONSTANT_LOG2: f64 = 20.0;

/// The greatest distance, in bits, at which a product may land from the nominal scale of the next
/// group and still give that group its first scale.
const LANDING_BITS: f64 = 0.25;

/// All levels, level 0 first.
#[derive(Clone, Debug)]
pub(super) struct LevelTable {
    pub levels: Vec<Level>,
    pub groups: Vec<LevelGroup>,
    /// The rest of the levels' scales beyond doubles; zeros unless values are finer than doubles.
    rests: Vec<f64>,
    /// The group that each level belongs to.
    group_of: Vec<usize>,
    /// Whether the step below each level takes products of two ciphertexts.
    products: Vec<bool>,
}

/// log2 of the widest scale.
pub(super) const MAX_SCALE_LOG2: f64 = 120.0;

impl LevelTable {
    /// For a chain, the primes of each level (ascending, the last the chain's length), and the
    /// groups, that of level 0 first.
    pub fn new(q: &[u64], level_primes: &[usize], groups: &[LevelGroup]) -> Result<Self, ParamsError> {
        let (found, highest) = (level_primes.len(), q.len());
        let ascending = level_primes.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending
            || level_primes.first().is_none_or(|&first| first == 0)
            || level_primes.last() != Some(&highest)
        {
            return Err(ParamsError::ChainLength { chain: "list of levels", found, lowest: 1, highest });
        }
        let group_of = group_indices(groups, level_primes.len())?;
        for group in groups {
            if !(1.0..=MAX_SCALE_LOG2).contains(&group.scale_log2) {
                return Err(ParamsError::OutOfRange {
                    what: "log2(scale)",
                    found: group.scale_log2,
                    lowest: 1.0,
                    highest: MAX_SCALE_LOG2,
                });
            }
        }
        let mut table = Self {
            levels: level_primes.iter().map(|&primes| Level { primes, scale: 0.0 }).collect(),
            groups: groups.to_vec(),
            rests: vec![0.0; level_primes.len()],
            group_of,
            products: vec![false; level_primes.len()],
        };
        table.fill_scales(q)?;
        if table.is_extended() {
            table.fill_rests(q);
        }
        Ok(table)
    }

    /// The levels up to this one, with the scales that they have here.
    pub fn up_to(&self, level: usize) -> Self {
        let count = level + 1;
        let mut left = count;
        let taken = |group: &LevelGroup| {
            let levels = group.levels.min(left);
            left -= levels;
            (levels > 0).then_some(LevelGroup { levels, ..*group })
        };
        Self {
            levels: self.levels[..count].to_vec(),
            groups: self.groups.iter().map_while(taken).collect(),
            rests: self.rests[..count].to_vec(),
            group_of: self.group_of[..count].to_vec(),
            products: self.products[..count].to_vec(),
        }
    }

    /// From the top level down.
    fn fill_scales(&mut self, q: &[u64]) -> Result<(), ParamsError> {
        let mut scale = self.scale_log2().exp2();
        for level in (0..self.levels.len()).rev() {
            self.levels[level].scale = scale;
            self.check_scale(q, level)?;
            if level == 0 {
                break;
            }
            let (dropped, below) = (self.dropped(q, level), self.nominal_log2(level - 1));
            let inside = self.same_group(level, level - 1);
            let next = next_scale(scale, dropped, inside, below);
            self.products[level] = next == scale * scale / dropped;
            let constant_log2 = libm::log2(next * dropped / scale);
            if !self.products[level] && constant_log2 < LEAST_CONSTANT_LOG2 {
                let lowest_log2 = LEAST_CONSTANT_LOG2;
                return Err(ParamsError::GroupBorder { level, constant_log2, lowest_log2 });
            }
            scale = next;
        }
        Ok(())
    }

    /// Whether the scale of a level is near its group's, and fits the modulus.
    fn check_scale(&self, q: &[u64], level: usize) -> Result<(), ParamsError> {
        let nominal_log2 = self.nominal_log2(level);
        let scale_log2 = libm::log2(self.levels[level].scale);
        let log_q: f64 = q[..self.levels[level].primes].iter().map(|&q| libm::log2(q as f64)).sum();
        if (scale_log2 - nominal_log2).abs() > 1.0 {
            return Err(ParamsError::ScaleDrift { level, scale_log2, default_log2: nominal_log2 });
        }
        if scale_log2 + 1.0 > log_q {
            return Err(ParamsError::OutOfRange {
                what: "log2(scale)",
                found: nominal_log2,
                lowest: 1.0,
                highest: log_q - 1.0,
            });
        }
        Ok(())
    }

    fn fill_rests(&mut self, q: &[u64]) {
        let mut exact = DoubleDouble::from(self.scale_log2().exp2());
        for level in (0..self.levels.len()).rev() {
            self.rests[level] = (exact - self.levels[level].scale.into()).to_f64();
            if level > 0 {
                exact = if self.products[level] {
                    (exact * exact).divide(self.exactly_dropped(q, level))
                } else {
                    self.levels[level - 1].scale.into()
                };
            }
        }
    }

    /// log2 of the nominal scale at a level.
    pub fn nominal_log2(&self, level: usize) -> f64 {
        self.groups[self.group_of[level]].scale_log2
    }

    /// log2 of the scale at the top level.
    pub fn scale_log2(&self) -> f64 {
        self.groups.last().map_or(0.0, |group| group.scale_log2)
    }

    /// Whether values are finer than doubles in any group.
    pub fn is_extended(&self) -> bool {
        self.groups.iter().any(|group| group.scale_log2 > EXTENDED_LOG2)
    }

    /// Whether both levels are of one group.
    pub fn same_group(&self, a: usize, b: usize) -> bool {
        self.group_of[a] == self.group_of[b]
    }

    /// Whether the step below a level takes products of two ciphertexts to the next level's scale.
    pub fn takes_products(&self, level: usize) -> bool {
        self.products[level]
    }

    /// The scale in 106 bits for a double: that of a level, or the double itself.
    pub fn exact_scale(&self, scale: f64) -> DoubleDouble {
        let level = self.levels.iter().position(|level| level.scale == scale);
        DoubleDouble::new(scale, level.map_or(0.0, |level| self.rests[level]))
    }

    /// The primes that the step below a level drops.
    fn dropped_primes<'a>(&self, q: &'a [u64], level: usize) -> &'a [u64] {
        &q[self.levels[level - 1].primes..self.levels[level].primes]
    }

    /// Their product in doubles.
    pub fn dropped(&self, q: &[u64], level: usize) -> f64 {
        self.dropped_primes(q, level).iter().fold(1.0, |product, &q| product * q as f64)
    }

    /// Their product in 106 bits.
    pub fn exactly_dropped(&self, q: &[u64], level: usize) -> DoubleDouble {
        let one = DoubleDouble::from(1.0);
        self.dropped_primes(q, level).iter().fold(one, |product, &q| product * DoubleDouble::from_u64(q))
    }
}

/// The scale below a level of this scale, whose step divides by `dropped`: S^2 / D inside a group
/// and where that fits the nominal scale below, otherwise the latter.
pub(super) fn next_scale(scale: f64, dropped: f64, inside: bool, below_log2: f64) -> f64 {
    let product = scale * scale / dropped;
    if inside || (libm::log2(product) - below_log2).abs() <= LANDING_BITS {
        product
    } else {
        below_log2.exp2()
    }
}

/// The group of each of `levels` levels.
pub(super) fn group_indices(groups: &[LevelGroup], levels: usize) -> Result<Vec<usize>, ParamsError> {
    let found = groups.iter().fold(0usize, |sum, group| sum.saturating_add(group.levels));
    if found != levels || groups.iter().any(|group| group.levels == 0) {
        return Err(ParamsError::LevelGroups { found, levels });
    }
    let indices = groups.iter().enumerate();
    Ok(indices.flat_map(|(index, group)| std::iter::repeat_n(index, group.levels)).collect())
}
