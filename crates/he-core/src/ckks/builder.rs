//! CKKS parameters chosen from needs.

#![expect(clippy::disallowed_methods, reason = "parameters are public")]

use super::levels::MAX_SCALE_LOG2;
use super::params::fresh_noise_log2;
use super::{CkksParams, CkksSpec, LevelGroup};
use crate::params::{ParamsError, Security, max_log_qp};
use crate::ring::RingSpec;
use crate::rlwe::{RlweParams, flood_cost_log2};

/// The width of the widest prime that is chosen, in bits.
const PRIME_BITS: u32 = 60;
/// The precisions that can be requested, in bits.
const PRECISION: std::ops::RangeInclusive<u32> = 4..=60;
/// The ranges of results that can be requested, in bits.
const RANGE: std::ops::RangeInclusive<u32> = 0..=30;
/// The greatest depth that can be requested.
const MAX_DEPTH: usize = 60;

impl CkksParams {
    /// Parameters for `depth` successive multiplications; see [`CkksBuilder`].
    pub fn for_depth(depth: usize) -> CkksBuilder {
        CkksBuilder {
            depth,
            precision_bits: 25,
            range_bits: 4,
            slots: 1,
            security: Security::Bits128,
            log_n: None,
            below: Vec::new(),
            above: Vec::new(),
            published: None,
        }
    }
}

/// Chooses the degree and the primes from needs.
///
/// Precision p means: after a product of depth + 1 fresh values of magnitude one, six standard
/// deviations of a slot's error are at most 2^-p. The error of encryption has an exponential tail,
/// being a sum of products of normally distributed numbers: one slot in 23 000 exceeds six
/// deviations, and one in 2^30 exceeds twelve. The scale follows from p. The base leaves
/// `range_bits` for the magnitude of results. The base and each level take one prime, or several if
/// they exceed the 60 bits of one. The builder takes the smallest degree in 2^12 ... 2^16 that
/// holds everything with the required security, and there the digits of key switching that take the
/// fewest modular products, up to 5 %, for which security leaves room: few and long ones, at least
/// three if there are that many primes.
///
/// Vectors are doubles, which resolve 2^-53 of a value. Up to a scale of 2^61 (40 bits of precision
/// and more, depending on the degree) encoding and decoding are exact to about 2^-50 of the
/// greatest value; beyond that, values are the doubles themselves, ciphertexts keep the whole
/// precision, and a result is rounded once, when it is decoded. Out of 60 bits, a result of
/// magnitude one therefore shows 53, and a small difference of such results shows all.
#[derive(Clone, Debug, PartialEq)]
pub struct CkksBuilder {
    depth: usize,
    precision_bits: u32,
    range_bits: u32,
    slots: usize,
    security: Security,
    log_n: Option<u32>,
    /// Groups of levels below the chosen ones, the nearest first.
    below: Vec<Extra>,
    /// Groups of levels above them, the nearest first.
    above: Vec<Extra>,
    /// The security and the decryptions of results that are published.
    published: Option<(u32, u64)>,
}

/// Levels beside those that are chosen.
#[derive(Clone, Debug, PartialEq)]
struct Extra {
    group: LevelGroup,
    /// Widths of the primes of each level.
    primes: Vec<u32>,
}

impl Extra {
    fn widths(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        std::iter::repeat_n(self.primes.clone(), self.group.levels)
    }

    /// Groups in the order of the chain.
    fn bottom_first<'a>(below: &'a [Self], above: &'a [Self]) -> [Vec<&'a Self>; 2] {
        [below.iter().rev().collect(), above.iter().collect()]
    }
}

impl CkksBuilder {
    /// The bits of precision, 4 to 60; 25 by default.
    #[must_use]
    pub fn precision_bits(mut self, bits: u32) -> Self {
        self.precision_bits = bits;
        self
    }

    /// Results stay below 2^bits in magnitude, 0 to 30 bits; 4 by default.
    #[must_use]
    pub fn range_bits(mut self, bits: u32) -> Self {
        self.range_bits = bits;
        self
    }

    /// Results are published ([`Decryptor::publish`](super::Decryptor::publish)), so many under one
    /// key with so many bits of statistical security for all of them together. Then the precision
    /// is that of published results: the scale is wider by what the flood costs, the sum of the
    /// security, log2 of the decryptions, log2 N and 2.2 bits.
    #[must_use]
    pub fn published(mut self, security_bits: u32, decryptions: u64) -> Self {
        self.published = Some((security_bits, decryptions));
        self
    }

    /// The least number of slots; 1 by default.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// The security; 128 bits by default.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// A fixed degree 2^log_n instead of the smallest possible.
    #[must_use]
    pub fn log_n(mut self, log_n: u32) -> Self {
        self.log_n = Some(log_n);
        self
    }

    /// A group of levels below those that are chosen, and below those of earlier calls: how many,
    /// log2 of their scale, and the widths of the primes that each step down to one of them drops.
    /// So with `below(3, 42.0, &[42])` three steps of 42 bits lead from the lowest chosen level to
    /// level 0, as SlotsToCoeffs takes them. The base holds the lowest group's scale. The whole
    /// chain is then as deep as `depth` and these levels; [`LevelGroup`] says which steps between
    /// groups take products.
    #[must_use]
    pub fn below(mut self, levels: usize, scale_log2: f64, prime_bits: &[u32]) -> Self {
        let group = LevelGroup { levels, scale_log2 };
        self.below.push(Extra { group, primes: prime_bits.to_vec() });
        self
    }

    /// A group of levels above those that are chosen, and above those of earlier calls: how many,
    /// log2 of their scale, and the widths of the primes that each step down from one of them
    /// drops. So `above(8, 50.0, &[50])` adds eight levels of one prime each, and
    /// `above(1, 58.0, &[50])` one for a linear map, whose scale is wider than its prime.
    #[must_use]
    pub fn above(mut self, levels: usize, scale_log2: f64, prime_bits: &[u32]) -> Self {
        let group = LevelGroup { levels, scale_log2 };
        self.above.push(Extra { group, primes: prime_bits.to_vec() });
        self
    }

    /// Chooses.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for numbers outside their domains;
    /// [`ParamsError::PublishedScale`] if the floods of published results take a scale that is too
    /// wide; [`ParamsError::Unreachable`] if no degree suffices.
    pub fn build(&self) -> Result<CkksParams, ParamsError> {
        let check = |what, found: f64, lowest: f64, highest: f64| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(ParamsError::OutOfRange { what, found, lowest, highest }) }
        };
        let check_bits = |what, found: u32, domain: std::ops::RangeInclusive<u32>| {
            check(what, found.into(), (*domain.start()).into(), (*domain.end()).into())
        };
        check("depth", self.depth as f64, 0.0, MAX_DEPTH as f64)?;
        check_bits("precision (bits)", self.precision_bits, PRECISION)?;
        check_bits("range (bits)", self.range_bits, RANGE)?;
        check("number of slots", self.slots as f64, 1.0, f64::from(1 << 15))?;
        if let Some((security, decryptions)) = self.published {
            check("statistical security (bits)", f64::from(security), 1.0, 256.0)?;
            check("number of published decryptions", decryptions as f64, 1.0, u64::MAX as f64)?;
        }
        check("security (bits)", f64::from(self.security.bits()), 128.0, 256.0)?;
        for extra in self.below.iter().chain(&self.above) {
            check("levels of a group", extra.group.levels as f64, 1.0, RingSpec::MAX_PRIMES as f64)?;
            check("log2(scale)", extra.group.scale_log2, 1.0, MAX_SCALE_LOG2)?;
            check("primes of a level", extra.primes.len() as f64, 1.0, RingSpec::MAX_PRIMES as f64)?;
            for &bits in &extra.primes {
                check("width of a prime (bits)", f64::from(bits), 2.0, f64::from(PRIME_BITS))?;
            }
        }
        if let Some(log_n) = self.log_n {
            check("log2 of the degree", f64::from(log_n), 12.0, 16.0)?;
        }
        if let Some(params) = self.choose()? {
            return Ok(params);
        }
        let (first, last) = self.degrees();
        let most_precision = PRECISION.rev().find(|&bits| self.clone().precision_bits(bits).is_possible());
        let too_wide = |scale: &u32| f64::from(*scale) > MAX_SCALE_LOG2;
        let scale_log2 = (first..=last).map(|log_n| Widths::new(self, log_n, 0).scale).find(too_wide);
        if let (Some(scale_log2), Some((security_bits, decryptions))) = (scale_log2, self.published) {
            let secure = |&bits: &u32| self.clone().published(bits, decryptions).is_possible();
            return Err(ParamsError::PublishedScale {
                security_bits,
                decryptions,
                precision_bits: self.precision_bits,
                scale_log2,
                most: MAX_SCALE_LOG2 as u32,
                most_precision,
                most_security: (1..security_bits).rev().find(secure),
            });
        }
        Err(ParamsError::Unreachable {
            depth: self.depth,
            precision_bits: self.precision_bits,
            range_bits: self.range_bits,
            needed: Widths::new(self, last, u32::from(self.range_bits == 0)).needed(),
            log_n: last,
            limit: max_log_qp(last, self.security).unwrap_or(0),
            most_precision,
            most_depth: (0..=MAX_DEPTH).rev().find(|&depth| Self { depth, ..self.clone() }.is_possible()),
        })
    }

    /// The degrees that are tried: log2 of the first and of the last.
    fn degrees(&self) -> (u32, u32) {
        let least = (usize::BITS - (self.slots - 1).leading_zeros() + 1).max(12);
        self.log_n.map_or((least, 16), |log_n| (log_n.max(least), log_n.max(least)))
    }

    /// The parameters of the smallest degree that suffices, if one does with a possible scale.
    fn choose(&self) -> Result<Option<CkksParams>, ParamsError> {
        let (first, last) = self.degrees();
        for log_n in first..=last {
            let widths = Widths::new(self, log_n, 0);
            if f64::from(widths.scale) > MAX_SCALE_LOG2 {
                break;
            }
            let chosen = match self.at_degree(&widths, log_n) {
                // Primes are a little smaller than their width says: without range, a base may lack
                // the room for the sign.
                Err(ParamsError::OutOfRange { what: "log2(scale)", .. }) => {
                    self.at_degree(&Widths::new(self, log_n, 1), log_n)?
                }
                chosen => chosen?,
            };
            if chosen.is_some() {
                return Ok(chosen);
            }
        }
        Ok(None)
    }

    /// Whether there are parameters for these needs.
    fn is_possible(&self) -> bool {
        self.choose().is_ok_and(|chosen| chosen.is_some())
    }

    /// The parameters of one degree with these widths, if it suffices.
    fn at_degree(&self, widths: &Widths, log_n: u32) -> Result<Option<CkksParams>, ParamsError> {
        let limit = max_log_qp(log_n, self.security).unwrap_or(0);
        let q_bits = widths.chain();
        if widths.needed() > limit || q_bits.len() > RingSpec::MAX_PRIMES {
            return Ok(None);
        }
        for alpha in RlweParams::digit_lengths(log_n, q_bits.len()) {
            let widest = q_bits.windows(alpha).map(|digit| digit.iter().sum::<u32>()).max().unwrap_or(0);
            let width = widest.div_ceil(alpha as u32);
            let p_bits = vec![width; alpha];
            let total: u32 = q_bits.iter().chain(&p_bits).sum();
            if total > limit {
                continue;
            }
            let groups = self.groups(widths);
            let spec = CkksSpec::from_level_bits(log_n, &widths.base, &widths.levels, &p_bits, &groups)?;
            let digits = RlweParams::even_digits(q_bits.len(), q_bits.len().div_ceil(alpha));
            let explanation = format!(
                "degree 2^{log_n}: log2(QP) = {total} of {limit} bits that the table of 2024 grants for {} bits of security\n\
                 {}\n\
                 {alpha} special prime(s) of {width} bits, {}",
                self.security.bits(),
                self.explain(widths, log_n),
                RlweParams::explain_digits(log_n, q_bits.len(), alpha),
            );
            let ring = RingSpec::new(log_n, spec.q, spec.p)?;
            if crate::params::security_of(log_n, ring.log_qp()) < self.security {
                continue;
            }
            let rlwe = RlweParams::new(ring, digits)?;
            return CkksParams::with_rlwe(rlwe, &spec.level_primes, &groups, explanation).map(Some);
        }
        Ok(None)
    }

    /// The bits that a flood costs.
    fn flood_log2(&self, log_n: u32) -> f64 {
        self.published.map_or(0.0, |(security, decryptions)| flood_cost_log2(security, decryptions, log_n))
    }

    /// The groups of all levels, that of level 0 first.
    fn groups(&self, widths: &Widths) -> Vec<LevelGroup> {
        let chosen = LevelGroup { levels: self.depth + 1, scale_log2: f64::from(widths.scale) };
        let [below, above] = Extra::bottom_first(&self.below, &self.above)
            .map(|extras| extras.into_iter().map(|extra| extra.group).collect::<Vec<_>>());
        [below, vec![chosen], above].concat()
    }

    /// Explains how scale, base and levels are composed.
    fn explain(&self, widths: &Widths, log_n: u32) -> String {
        let Widths { scale, base, level, .. } = widths;
        let mut lines = vec![format!(
            "scale 2^{scale}: {} bits of precision + {:.1} bits of encryption noise (6 sigma) + {:.1} bits for depth {}",
            self.precision_bits,
            fresh_noise_log2(log_n),
            growth_log2(self.depth),
            self.depth,
        )];
        if let Some((security, decryptions)) = self.published {
            lines.push(format!(
                "and {:.1} bits for floods: {decryptions} published decryptions with {security} bits of security",
                self.flood_log2(log_n),
            ));
        }
        let primes = match base.as_slice() {
            [bits] => format!("base prime of {bits} bits"),
            several => {
                format!("base of {} bits in {} primes", several.iter().sum::<u32>(), several.len())
            }
        };
        lines.push(format!(
            "{primes}: scale, {} bits for the magnitude of results, 1 for the sign",
            self.range_bits
        ));
        if level.len() > 1 && self.depth > 0 {
            lines.push(format!("{} primes a level: one has at most {PRIME_BITS} bits", level.len()));
        }
        for (extras, place) in [(&self.below, "below"), (&self.above, "above")] {
            for Extra { group: LevelGroup { levels, scale_log2 }, primes } in extras {
                let bits: u32 = primes.iter().sum();
                lines.push(format!("{levels} level(s) {place} at scale 2^{scale_log2}, {bits} bits each"));
            }
        }
        if self.precision_bits > f64::MANTISSA_DIGITS {
            lines.push(format!(
                "values are doubles: of a result of magnitude one decryption shows {} bits, of small differences all",
                f64::MANTISSA_DIGITS
            ));
        }
        lines.join("\n")
    }
}

/// The widths of the chain's primes.
struct Widths {
    /// log2 of the scale.
    scale: u32,
    /// The primes of level 0.
    base: Vec<u32>,
    /// The primes that each chosen level adds.
    level: Vec<u32>,
    /// The primes of every level above 0.
    levels: Vec<Vec<u32>>,
}

/// The bits by which the error of a product of depth + 1 factors exceeds that of one factor.
fn growth_log2(depth: usize) -> f64 {
    libm::log2(depth as f64 + 1.0)
}

/// As few primes of nearly equal width as possible.
fn split(bits: u32) -> Vec<u32> {
    let count = bits.div_ceil(PRIME_BITS);
    (0..count).map(|i| (bits + i) / count).rev().collect()
}

impl Widths {
    /// The widths for these needs at a degree, with `spare` more bits in the base than necessary.
    fn new(needs: &CkksBuilder, log_n: u32, spare: u32) -> Self {
        let precision = f64::from(needs.precision_bits) + needs.flood_log2(log_n);
        let scale = (precision + fresh_noise_log2(log_n) + growth_log2(needs.depth)).ceil() as u32;
        let level = split(scale);
        let [below, above] = Extra::bottom_first(&needs.below, &needs.above);
        let lowest = below.first().map_or(scale, |extra| extra.group.scale_log2.ceil() as u32);
        let base = split(lowest + needs.range_bits + 1 + spare);
        let levels = below
            .into_iter()
            .flat_map(Extra::widths)
            .chain(std::iter::repeat_n(level.clone(), needs.depth))
            .chain(above.into_iter().flat_map(Extra::widths))
            .collect();
        Self { scale, base, level, levels }
    }

    /// All of the chain.
    fn chain(&self) -> Vec<u32> {
        self.base.iter().chain(self.levels.iter().flatten()).copied().collect()
    }

    /// The least possible log2(QP), with a special prime as wide as the widest.
    fn needed(&self) -> u32 {
        let chain = self.chain();
        chain.iter().sum::<u32>() + chain.iter().max().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_meets_what_was_asked() {
        for depth in [0, 1, 2, 5, 9, 16] {
            for precision in [10, 20, 25, 30] {
                for slots in [1, 4096, 32768] {
                    let params = CkksParams::for_depth(depth).precision_bits(precision).slots(slots).build();
                    let Ok(params) = params else {
                        assert!(matches!(params, Err(ParamsError::Unreachable { .. })), "{params:?}");
                        assert!(
                            depth * precision as usize >= 9 * 30,
                            "{depth} {precision} {slots}: {params:?}"
                        );
                        continue;
                    };
                    assert!(params.max_level() == depth && params.slots() >= slots);
                    assert!(params.rlwe().security() >= Security::Bits128);
                    let growth = libm::log2(depth as f64 + 1.0);
                    assert!(params.fresh_precision_bits() - growth >= f64::from(precision));
                    assert!(params.range() >= 15.9, "{}", params.range());
                    assert!(params.explanation().contains("precision"));
                }
            }
        }
        let secure = CkksParams::for_depth(2).security(Security::Bits256).build().unwrap();
        assert_eq!(secure.rlwe().security(), Security::Bits256);
        assert!(CkksParams::for_depth(2).precision_bits(61).build().is_err());
        assert!(CkksParams::for_depth(2).range_bits(31).build().is_err());
        assert!(CkksParams::for_depth(1000).build().is_err());
        assert!(CkksParams::for_depth(40).precision_bits(40).build().is_err());
    }

    /// A flood over a fresh encryption leaves the precision that was asked for, and the scale holds
    /// hardly more than that.
    #[test]
    fn published_results_keep_their_precision() {
        for (depth, precision, security, decryptions) in
            [(0, 10, 40, 1 << 10), (2, 20, 40, 1 << 10), (1, 12, 20, 2), (1, 4, 50, 1 << 20)]
        {
            let builder = CkksParams::for_depth(depth).precision_bits(precision);
            let params = builder.clone().published(security, decryptions).build().unwrap();
            let n = params.rlwe().ring().n();
            let fresh = fresh_noise_log2(params.rlwe().ring().log_n());
            // The deviation of a coefficient: that of a slot is the one of N / 2 of them.
            let rms = fresh - libm::log2(6.0 * libm::sqrt(n as f64 / 2.0)) + growth_log2(depth);
            let flooding = crate::rlwe::Flooding::Statistical { security_bits: security, decryptions };
            let bits = flooding.bits(n, 1, Some(rms)).unwrap();
            let error = f64::from(bits) + libm::log2(6.0 * libm::sqrt(n as f64 / 6.0)) - params.scale_log2();
            let kept = -error - f64::from(precision);
            assert!((0.0..3.0).contains(&kept), "{depth}, {precision}, {security}: {kept} bits more");
            assert!(params.explanation().contains("floods"), "{}", params.explanation());
            for wrong in [(0, 1), (257, 1), (40, 0)] {
                let refused = builder.clone().published(wrong.0, wrong.1).build();
                assert!(matches!(refused, Err(ParamsError::OutOfRange { .. })), "{refused:?}");
            }
            // More than the widest scale holds: what is offered instead is possible.
            let error = builder.clone().published(128, 1 << 40).build().unwrap_err();
            let ParamsError::PublishedScale { most_security, most_precision: None, most: 120, .. } = error
            else {
                panic!("{error}")
            };
            let most = most_security.unwrap();
            assert!(builder.clone().published(most, 1 << 40).build().is_ok(), "{error}");
            assert!(builder.clone().published(most + 1, 1 << 40).build().is_err(), "{error}");
            let wide = CkksParams::for_depth(0).precision_bits(60).published(64, 1 << 10);
            let error = wide.build().unwrap_err();
            let ParamsError::PublishedScale { most_precision: Some(most), precision_bits: 60, .. } = error
            else {
                panic!("{error}")
            };
            assert!(wide.clone().precision_bits(most).build().is_ok(), "{error}");
            assert!(wide.clone().precision_bits(most + 1).build().is_err(), "{error}");
        }
    }

    /// The choices made while every level was one prime of at most 60 bits: depth, precision,
    /// range, slots, security, log2 of the degree, and the first half of the fingerprint. Keys and
    /// files with these exist.
    const RECORDED: &str = include_str!("recorded_choices.txt");

    #[test]
    fn recorded_choices_stay() {
        let mut grid = std::collections::BTreeMap::new();
        for line in RECORDED.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let number = |i: usize| fields[i].parse::<u32>().unwrap();
            grid.insert([0, 1, 2, 3, 4].map(number), (number(5), fields[6]));
        }
        assert_eq!(grid.len(), 246);
        let mut wide = 0;
        let mut check = |depth: u32, precision: u32, range: u32, slots: u32, security: Security| {
            let builder = CkksParams::for_depth(depth as usize).precision_bits(precision).range_bits(range);
            let chosen = builder.slots(slots as usize).security(security).build();
            match (grid.remove(&[depth, precision, range, slots, security.bits()]), chosen) {
                (Some((log_n, fingerprint)), Ok(params)) => {
                    let hex: String =
                        params.fingerprint().0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!((params.rlwe().ring().log_n(), hex.as_str()), (log_n, fingerprint));
                }
                // Needs that were refused for the width of a prime, or without range, are possible
                // now; those that are still refused have no room.
                (None, Ok(params)) => {
                    assert!(params.levels()[0].primes > 1 || range == 0);
                    assert!(params.max_level() == depth as usize);
                    wide += 1;
                }
                (None, Err(ParamsError::Unreachable { needed, limit, .. })) => assert!(needed > limit),
                (recorded, chosen) => {
                    panic!("{depth} {precision} {range} {slots}: {recorded:?} {chosen:?}")
                }
            }
        };
        for depth in [0, 1, 2, 3, 5, 8, 12, 16, 24, 40] {
            for precision in [4, 10, 20, 25, 28, 30, 32, 33, 34, 35, 36, 38, 40] {
                for range in [0, 4, 7, 12, 20] {
                    check(depth, precision, range, 1, Security::Bits128);
                }
            }
        }
        for depth in [0, 2, 9] {
            for precision in [15, 30] {
                for security in [Security::Bits192, Security::Bits256] {
                    check(depth, precision, 4, 1, security);
                }
                for slots in [3000, 1 << 15] {
                    check(depth, precision, 4, slots, Security::Bits128);
                }
            }
        }
        assert!(grid.is_empty() && wide > 100, "{wide}");
    }

    /// Every width of scale and base that can be requested has its primes, and scales are as they
    /// should be.
    #[test]
    fn several_primes_a_level_meet_what_was_asked() {
        for precision in [36, 41, 42, 47, 53, 60] {
            for (depth, range) in [(0, 30), (1, 16), (4, 0), (9, 4)] {
                for slots in [1, 1 << 15] {
                    let builder = CkksParams::for_depth(depth).precision_bits(precision).range_bits(range);
                    let params = builder.slots(slots).build().unwrap();
                    assert!(params.max_level() == depth && params.slots() >= slots);
                    assert!(params.rlwe().security() >= Security::Bits128);
                    assert!(params.fresh_precision_bits() - growth_log2(depth) >= f64::from(precision));
                    assert!(params.range() >= f64::from(range).exp2() * 0.99, "{}", params.range());
                    assert!(params.rlwe().ring().primes().all(|q| q < (1 << 60) + (1 << 50)));
                    for level in params.levels() {
                        let drift = libm::log2(level.scale) - params.scale_log2();
                        assert!(drift.abs() < 0.01, "{precision} {depth}: {drift}");
                    }
                }
            }
        }
        assert_eq!(
            (split(60), split(61), split(117), split(121)),
            (vec![60], vec![31, 30], vec![59, 58], vec![41, 40, 40])
        );
    }

    /// The limits that an error names are the limits.
    #[test]
    fn what_is_refused_says_what_is_possible() {
        for (depth, precision, range) in [(8, 60, 30), (20, 60, 4), (25, 40, 1), (40, 25, 16), (60, 4, 4)] {
            let builder = |depth, precision| {
                CkksParams::for_depth(depth).precision_bits(precision).range_bits(range).build()
            };
            let error = match builder(depth, precision) {
                Ok(params) => {
                    assert!(params.rlwe().ring().log_qp() <= 1746.0);
                    continue;
                }
                Err(error) => error,
            };
            let ParamsError::Unreachable { most_precision, most_depth, log_n: 16, .. } = error else {
                panic!("{error}")
            };
            if let Some(bits) = most_precision {
                assert!(bits < precision && builder(depth, bits).is_ok(), "{error}");
                assert!(
                    error.to_string().contains(&format!("at most {bits} bits of precision at depth {depth}")),
                    "{error}"
                );
            }
            assert!(builder(depth, most_precision.map_or(4, |bits| bits + 1)).is_err(), "{error}");
            let most = most_depth.unwrap();
            assert!(most < depth && builder(most, precision).is_ok(), "{error}");
            assert!(builder(most + 1, precision).is_err(), "{error}");
        }
    }
}
