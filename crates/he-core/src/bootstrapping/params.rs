//! Parameters of bootstrapping: the chain, and how it is spent.

use super::{BootstrapKeyUse, EvalModShape};
use crate::backend::RingOps;
use crate::ckks::{CkksParams, CkksSpec, LevelGroup};
use crate::error::{Error, Result};
use crate::params::{ParamsError, max_sparse_log_qp};
use crate::ring::{Ring, RingSpec};
use crate::rlwe::{RlweParams, SecretKey};
use rand::CryptoRng;
use std::sync::{Arc, OnceLock};

/// The greatest weight of a sparse secret: the exact probabilities of what it leaves take time
/// that grows with its third power.
const MAX_WEIGHT: usize = 256;
/// The greatest degree of the cosine's polynomial, its greatest number of doublings, and the
/// greatest focus of its fit.
const MAX_DEGREE: usize = 255;
const MAX_DOUBLINGS: usize = 8;
const MAX_FOCUS: f64 = 4.0;
/// The most primes of a digit over borrowed special primes: conversions from more are slow on GPUs.
const LONGEST_DIGIT: usize = 9;

/// Levels of one scale and of primes of the same widths.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRun {
    /// The number of levels.
    pub levels: usize,
    /// log2 of their scale.
    pub scale_log2: f64,
    /// The widths of the primes that each of them adds.
    pub primes: Vec<u32>,
}

impl LevelRun {
    /// That many levels at this scale, of primes of these widths each.
    pub fn new(levels: usize, scale_log2: f64, primes: &[u32]) -> Self {
        Self { levels, scale_log2, primes: primes.to_vec() }
    }

    fn widths(&self) -> impl Iterator<Item = Vec<u32>> {
        std::iter::repeat_n(self.primes.clone(), self.levels)
    }
}

/// The order of the linear maps, and hence the choice of what is refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// SlotsToCoeffs on the lowest levels, where it is cheapest: the values in the slots of a
    /// ciphertext of CKKS are refreshed.
    SlotsFirst,
    /// SlotsToCoeffs after the modular reduction, above the levels of programs: the coefficients
    /// are refreshed, wherever the slots are, as noise needs it
    /// ([`exact::bootstrapping`](crate::exact::bootstrapping)).
    CoefficientsFirst,
}

/// A plain, unchecked description of parameters with bootstrapping.
///
/// From the bottom of the chain to its top: the base q_0; the levels of SlotsToCoeffs; those that
/// programs compute with; the one that joins parts, if any; those of the modular reduction; those
/// of CoeffsToSlots.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSpec {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// log2 of the number of slots of a bootstrapped ciphertext, up to `log_n` - 1.
    pub log_slots: u32,
    /// The width of the base prime q_0.
    pub base_bits: u32,
    /// log2 of the scale of level 0: q_0 over this scale is the ratio of modulus to message.
    pub base_scale_log2: f64,
    /// The widths of the primes of SlotsToCoeffs, one per matrix.
    pub slots_to_coeffs: Vec<u32>,
    /// The levels of programs.
    pub program: LevelRun,
    /// The width of the prime of one more level, where real and imaginary parts are joined after
    /// their reduction in one ciphertext, as slots of their own: for up to N/4 slots. Without it
    /// they are reduced in two ciphertexts, at twice the cost.
    pub join: Option<u32>,
    /// The levels of the modular reduction, bottom first.
    pub eval_mod_levels: Vec<LevelRun>,
    /// The levels of CoeffsToSlots, one per matrix; their scale is that of what arrives at the
    /// modular reduction.
    pub coeffs_to_slots: LevelRun,
    /// The widths of the special primes.
    pub special: Vec<u32>,
    /// The number of them that the keys of SlotsToCoeffs have.
    pub slots_to_coeffs_special: usize,
    /// The numbers of special primes beyond `special` that the keys of each matrix of CoeffsToSlots
    /// after the first have, and those of the modular reduction, which come last. They are primes
    /// of levels that have been left: digits are longer and fewer, under the same modulus.
    ///
    /// Source: Hwang, Seo, Song, *Optimizing HE operations via Level-aware Key-switching
    /// Framework*, 2023.
    pub borrowed: Vec<usize>,
    /// The modular reduction.
    pub eval_mod: EvalModShape,
    /// The Hamming weight of the ephemeral secret.
    pub sparse_weight: usize,
}

impl BootstrapSpec {
    /// The groups of levels above those of programs. Levels of linear maps are groups of their own,
    /// because their primes may be narrower than the scale.
    fn upper_groups(&self) -> impl Iterator<Item = LevelGroup> {
        let join = self.join.map(|_| (1, self.landing_log2()));
        let eval_mod = self.eval_mod_levels.iter().map(|run| (run.levels, run.scale_log2));
        let maps = std::iter::repeat_n((1, self.coeffs_to_slots.scale_log2), self.coeffs_to_slots.levels);
        let all = join.into_iter().chain(eval_mod).chain(maps);
        all.map(|(levels, scale_log2)| LevelGroup { levels, scale_log2 })
    }

    /// log2 of the scale that the lowest level of the modular reduction leaves.
    fn landing_log2(&self) -> f64 {
        let lowest = self.eval_mod_levels.first().unwrap_or(&self.coeffs_to_slots);
        2.0 * lowest.scale_log2 - lowest.primes.iter().map(|&bits| f64::from(bits)).sum::<f64>()
    }

    /// The groups of levels of programs, and of SlotsToCoeffs on either side of them. A linear
    /// map's levels have primes of another width than the scale, so that each is a group of its
    /// own; where coefficients come first, programs do not use scales.
    fn program_groups(&self, order: Order) -> Vec<LevelGroup> {
        let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
        let (maps, levels, scale_log2) =
            (self.slots_to_coeffs.len(), self.program.levels, self.program.scale_log2);
        let (alone, together) = match order {
            Order::SlotsFirst => (maps - 1, Some(levels + 1)),
            Order::CoefficientsFirst => (maps + levels, None),
        };
        let mut groups = vec![group(1, self.base_scale_log2)];
        groups.extend((0..alone).map(|_| group(1, scale_log2)));
        groups.extend(together.map(|levels| group(levels, scale_log2)));
        groups
    }

    /// The levels above those of programs.
    fn upper_runs(&self) -> impl Iterator<Item = &LevelRun> {
        self.eval_mod_levels.iter().chain([&self.coeffs_to_slots])
    }

    /// The widths of the primes of every level above level 0.
    fn widths(&self, order: Order) -> impl Iterator<Item = Vec<u32>> {
        let maps: Vec<Vec<u32>> = self.slots_to_coeffs.iter().map(|&bits| vec![bits]).collect();
        let program: Vec<Vec<u32>> = self.program.widths().collect();
        let (first, second) = match order {
            Order::SlotsFirst => (maps, program),
            Order::CoefficientsFirst => (program, maps),
        };
        let join = self.join.map(|bits| vec![bits]);
        first.into_iter().chain(second).chain(join).chain(self.upper_runs().flat_map(LevelRun::widths))
    }

    /// The level of programs' top: what a bootstrap leaves.
    fn top(&self, order: Order) -> usize {
        match order {
            Order::SlotsFirst => self.slots_to_coeffs.len() + self.program.levels,
            Order::CoefficientsFirst => self.program.levels,
        }
    }

    /// Whether the parts fit each other; primes and scales are checked with the chain.
    fn check(&self, order: Order) -> Result<(), ParamsError> {
        // Before anything is computed from it.
        let (found, lowest, highest) = (self.log_n, RingSpec::MIN_LOG_N, RingSpec::MAX_LOG_N);
        if !(lowest..=highest).contains(&found) {
            return Err(ParamsError::Degree { found, lowest, highest });
        }
        let highest = self.log_n.saturating_sub(1);
        let matrices = self.log_slots.max(1) as usize;
        let range = |what, found: usize, lowest: usize, highest: usize| {
            if (lowest..=highest).contains(&found) {
                return Ok(());
            }
            let [found, lowest, highest] = [found, lowest, highest].map(|value| value as f64);
            Err(ParamsError::OutOfRange { what, found, lowest, highest })
        };
        // All coefficients of a ciphertext have noise.
        let fewest = if order == Order::CoefficientsFirst { highest } else { 0 };
        range("log2(slots)", self.log_slots as usize, fewest as usize, highest as usize)?;
        range("number of matrices of SlotsToCoeffs", self.slots_to_coeffs.len(), 1, matrices)?;
        range("number of matrices of CoeffsToSlots", self.coeffs_to_slots.levels, 1, matrices)?;
        if self.join.is_some() {
            let highest = highest.saturating_sub(1) as usize;
            range("log2(slots) of parts in one ciphertext", self.log_slots as usize, 0, highest)?;
        }
        let special = self.special.len();
        range("number of special primes", special, 1, RingSpec::MAX_PRIMES)?;
        range("number of special primes of SlotsToCoeffs", self.slots_to_coeffs_special, 1, special)?;
        let (maps, each) = (self.coeffs_to_slots.levels, self.coeffs_to_slots.primes.len());
        range("number of stages that borrow special primes", self.borrowed.len(), maps, maps)?;
        for (done, &borrowed) in (1..).zip(&self.borrowed) {
            range("number of borrowed special primes", borrowed, 0, done * each)?;
        }
        range("number of levels of programs", self.program.levels, 0, RingSpec::MAX_PRIMES)?;
        range("weight of the sparse secret", self.sparse_weight, 1, MAX_WEIGHT.min(1 << highest))?;
        let EvalModShape { bound, degree, doublings, focus, .. } = self.eval_mod;
        range("greatest integer that is removed", bound as usize, 1, MAX_WEIGHT / 2)?;
        // The fit has more points than coefficients.
        range("degree of the modular reduction", degree, 2, MAX_DEGREE.min(12 * bound as usize + 4))?;
        range("number of doublings of the angle", doublings as usize, 0, MAX_DOUBLINGS)?;
        if !(0.0..=MAX_FOCUS).contains(&focus) {
            let (what, lowest, highest) = ("focus of the modular reduction", 0.0, MAX_FOCUS);
            return Err(ParamsError::OutOfRange { what, found: focus, lowest, highest });
        }
        let depth = self.eval_mod.depth();
        let levels = self.eval_mod_levels.iter().map(|run| run.levels).sum();
        range("number of levels of the modular reduction", levels, depth, depth)
    }
}

#[derive(Debug)]
struct Inner {
    spec: BootstrapSpec,
    order: Order,
    params: CkksParams,
    lower: CkksParams,
    /// One for each matrix of CoeffsToSlots.
    maps: Vec<CkksParams>,
    reduction: CkksParams,
    sparse: RlweParams,
    raise: RlweParams,
    secure: bool,
    /// The purposes of the keys, once they were asked for.
    key_uses: OnceLock<Vec<BootstrapKeyUse>>,
}

/// Checked parameters with bootstrapping, as a cheap handle.
///
/// Programs compute with [`params`](Self::params), which are ordinary CKKS parameters. Their ring
/// is a prefix of the one that bootstrapping computes in: [`ring`](Self::ring) has all primes.
#[derive(Clone, Debug)]
pub struct BootstrapParams(Arc<Inner>);

impl PartialEq for BootstrapParams {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        a.spec == b.spec && a.order == b.order && a.maps == b.maps
    }
}

impl TryFrom<BootstrapSpec> for BootstrapParams {
    type Error = ParamsError;

    /// Accepts parameters of at least 128-bit security: log2(QP) of all primes for the uniform
    /// ternary secret, log2(q_0 p_0) for the sparse one, each by its own table.
    fn try_from(spec: BootstrapSpec) -> Result<Self, ParamsError> {
        Self::build(spec, Order::SlotsFirst, true)
    }
}

impl BootstrapParams {
    /// Accepts any degree, whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// Any [`ParamsError`] but those of security.
    pub fn insecure(spec: BootstrapSpec) -> Result<Self, ParamsError> {
        Self::build(spec, Order::SlotsFirst, false)
    }

    pub(crate) fn build(spec: BootstrapSpec, order: Order, secure: bool) -> Result<Self, ParamsError> {
        spec.check(order)?;
        let groups = spec.program_groups(order).into_iter().chain(spec.upper_groups());
        let groups: Vec<LevelGroup> = groups.collect();
        let widths: Vec<Vec<u32>> = spec.widths(order).collect();
        let whole =
            CkksSpec::from_level_bits(spec.log_n, &[spec.base_bits], &widths, &spec.special, &groups)?;
        Self::assemble(spec, order, whole, secure)
    }

    /// Parameters of at least 128-bit security over given primes, those of the chain and the
    /// special ones, which have the widths of the description within one bit.
    ///
    /// # Errors
    /// [`ParamsError::ChainLength`] for another number of primes, [`ParamsError::OutOfRange`] for
    /// one of another width, and any other [`ParamsError`].
    pub fn over_primes(spec: BootstrapSpec, q: Vec<u64>, p: Vec<u64>) -> Result<Self, ParamsError> {
        Self::build_over(spec, Order::SlotsFirst, q, p, true)
    }

    /// Makes such parameters whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// The same as for [`over_primes`](Self::over_primes), but for those of security.
    pub fn over_primes_insecure(spec: BootstrapSpec, q: Vec<u64>, p: Vec<u64>) -> Result<Self, ParamsError> {
        Self::build_over(spec, Order::SlotsFirst, q, p, false)
    }

    pub(crate) fn build_over(
        spec: BootstrapSpec,
        order: Order,
        q: Vec<u64>,
        p: Vec<u64>,
        secure: bool,
    ) -> Result<Self, ParamsError> {
        spec.check(order)?;
        let level_primes: Vec<usize> = std::iter::once(1)
            .chain(spec.widths(order).map(|widths| widths.len()))
            .scan(0, |primes, level| {
                *primes += level;
                Some(*primes)
            })
            .collect();
        // The last prime of a level, which compensates for the others, comes first.
        let widths = spec.widths(order).flat_map(|widths| widths.into_iter().rev());
        let chain: Vec<u32> = std::iter::once(spec.base_bits).chain(widths).collect();
        for (what, primes, widths) in [("chain", &q, &chain), ("special chain", &p, &spec.special)] {
            let (found, needed) = (primes.len(), widths.len());
            if found != needed {
                return Err(ParamsError::ChainLength { chain: what, found, lowest: needed, highest: needed });
            }
            for (&prime, &bits) in primes.iter().zip(widths) {
                let (what, found, bits) = ("log2(prime)", libm::log2(prime as f64), f64::from(bits));
                let (lowest, highest) = (bits - 1.0, bits + 1.0);
                if !(lowest..=highest).contains(&found) {
                    return Err(ParamsError::OutOfRange { what, found, lowest, highest });
                }
            }
        }
        let groups = spec.program_groups(order).into_iter().chain(spec.upper_groups()).collect();
        let (log_n, digits) = (spec.log_n, RlweParams::greedy_digits(&q, &p));
        Self::assemble(spec, order, CkksSpec { log_n, q, p, level_primes, digits, groups }, secure)
    }

    /// The parts, each over a part of the whole chain.
    fn assemble(
        spec: BootstrapSpec,
        order: Order,
        whole: CkksSpec,
        secure: bool,
    ) -> Result<Self, ParamsError> {
        let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
        let (top, maps) = (spec.top(order), spec.slots_to_coeffs.len());
        let checked =
            |spec: CkksSpec| if secure { CkksParams::try_from(spec) } else { CkksParams::insecure(spec) };
        let part = |levels: std::ops::Range<usize>, special: usize, groups: Vec<LevelGroup>| {
            let level_primes = whole.level_primes[levels].to_vec();
            let q = whole.q[..level_primes.last().copied().unwrap_or(0)].to_vec();
            let p = whole.p[..special].to_vec();
            let digits = RlweParams::greedy_digits(&q, &p);
            checked(CkksSpec { log_n: whole.log_n, q, p, level_primes, digits, groups })
        };
        let (few, all) = (spec.slots_to_coeffs_special, whole.p.len());
        let groups = spec.program_groups(order);
        let (params, lower, landed) = match order {
            Order::SlotsFirst => {
                let params = part(0..top + 1, all, groups)?;
                let mut lower_groups: Vec<LevelGroup> = params.groups()[..maps].to_vec();
                lower_groups.push(group(1, libm::log2(params.levels()[maps].scale)));
                let lower = part(0..maps + 1, few, lower_groups)?;
                (params, lower, top)
            }
            Order::CoefficientsFirst => {
                let params = part(0..top + 1, few, groups[..top + 1].to_vec())?;
                (params, part(top..top + maps + 1, few, groups[top..].to_vec())?, top + maps)
            }
        };
        // The remainder comes at the end, at the number of primes of the level that takes it.
        let mut upper_groups = vec![group(1, spec.landing_log2())];
        upper_groups.extend(spec.upper_groups());
        let upper = part(landed..whole.level_primes.len(), all, upper_groups)?;
        let ring = upper.rlwe().ring().clone();
        let mut maps = vec![upper];
        for (done, borrowed) in (1..).zip(&spec.borrowed) {
            maps.push(checked(without_highest(&maps[0], done, all + borrowed)?)?);
        }
        // The stage after all matrices, of which there is one at least.
        let reduction = maps.remove(spec.coeffs_to_slots.levels);
        let sparse = sparse_params(&ring)?;
        let raise = RlweParams::undivided(ring)?;
        if secure {
            check_sparse(&sparse, spec.sparse_weight)?;
        }
        Ok(Self(Arc::new(Inner {
            spec,
            order,
            params,
            lower,
            maps,
            reduction,
            sparse,
            raise,
            secure,
            key_uses: OnceLock::new(),
        })))
    }

    /// The plain description.
    pub fn spec(&self) -> &BootstrapSpec {
        &self.0.spec
    }

    /// The order of the linear maps, and hence the quantities that are refreshed.
    pub(crate) fn order(&self) -> Order {
        self.0.order
    }

    /// The parameters that programs compute with: level 0, those of SlotsToCoeffs, and those of
    /// programs, which end at [`input_level`](Self::input_level).
    pub fn params(&self) -> &CkksParams {
        &self.0.params
    }

    /// The lowest level that can be bootstrapped, from which SlotsToCoeffs goes down to level 0.
    pub fn input_level(&self) -> usize {
        match self.order() {
            Order::SlotsFirst => self.0.spec.slots_to_coeffs.len(),
            Order::CoefficientsFirst => 0,
        }
    }

    /// The level of a bootstrapped ciphertext, which is the highest one of [`params`](Self::params).
    pub fn output_level(&self) -> usize {
        self.0.params.max_level()
    }

    /// The scale of a bootstrapped ciphertext: what a message of one is multiplied by.
    pub(crate) fn output_scale(&self) -> f64 {
        self.params().levels()[self.output_level()].scale
    }

    /// The factor that the phase of a ciphertext modulo q_0 gains where coefficients are refreshed.
    pub(crate) fn coefficient_gain(&self) -> f64 {
        self.output_scale() / self.params().levels()[0].scale
    }

    /// The slots of ciphertexts that are bootstrapped.
    pub fn slots(&self) -> usize {
        1 << self.0.spec.log_slots
    }

    /// Whether log2(QP) of all primes is within the table of 128-bit security for uniform ternary
    /// secrets, and log2(q_0 p_0) within that for the sparse one.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// All primes: the ring that bootstrapping computes in.
    pub fn ring_spec(&self) -> &RingSpec {
        self.upper().rlwe().ring()
    }

    /// Prepares the ring on a device: that of [`params`](Self::params), as a prefix of the one of
    /// all primes, which what bootstraps finds behind it.
    ///
    /// # Errors
    /// Device errors.
    pub fn ring<B: RingOps>(&self, backend: B) -> Result<Ring<B>> {
        part(&Ring::new(backend, self.ring_spec().clone())?, self.params().rlwe())
    }

    /// The ring of all primes behind that of programs.
    pub(super) fn whole<B: RingOps>(&self, ring: &Ring<B>) -> Result<Ring<B>> {
        let whole = ring.whole();
        if ring.spec() != self.params().rlwe().ring() || whole.spec() != self.ring_spec() {
            return Err(Error::RingMismatch);
        }
        Ok(whole)
    }

    /// A fresh ephemeral secret.
    pub(super) fn sparse_secret(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<SecretKey> {
        let weight = self.spec().sparse_weight;
        if self.is_secure() {
            return SecretKey::generate_sparse(self.sparse(), weight, rng);
        }
        SecretKey::generate_sparse_insecure(self.sparse(), weight, rng)
    }

    /// The levels of SlotsToCoeffs, over fewer special primes.
    pub(super) fn lower(&self) -> &CkksParams {
        &self.0.lower
    }

    /// From the level that takes what the modular reduction leaves, as level 0, to the top:
    /// CoeffsToSlots and the modular reduction, over all primes.
    pub(super) fn upper(&self) -> &CkksParams {
        &self.0.maps[0]
    }

    /// The parameters up to the level of each matrix of CoeffsToSlots: the first, which is
    /// [`upper`](Self::upper), and those that borrow special primes.
    pub(super) fn maps(&self) -> &[CkksParams] {
        &self.0.maps
    }

    /// The parameters up to the level where the modular reduction begins.
    pub(super) fn reduction(&self) -> &CkksParams {
        &self.0.reduction
    }

    /// The purposes of the keys, which takes matrices to find.
    pub(super) fn known_key_uses(&self) -> &OnceLock<Vec<BootstrapKeyUse>> {
        &self.0.key_uses
    }

    /// All primes in one digit: what the key from the sparse secret back is over. It switches
    /// polynomials below q_0.
    pub(super) fn raise(&self) -> &RlweParams {
        &self.0.raise
    }

    /// q_0 and one special prime: what keys of the sparse secret are over.
    pub(super) fn sparse(&self) -> &RlweParams {
        &self.0.sparse
    }
}

/// The ring of parameters over a part of all primes, on the same constants.
pub(super) fn part<B: RingOps>(whole: &Ring<B>, rlwe: &RlweParams) -> Result<Ring<B>> {
    let (q, p) = (rlwe.ring().q().len(), rlwe.ring().p().len());
    if rlwe.ring().is_prefix_of(whole.spec()) { whole.prefix(q, p) } else { whole.split(q, p) }
}

/// The levels of `upper` without those of the first `done` matrices of CoeffsToSlots, each of which
/// is a group, with so many of the primes above them as special primes.
fn without_highest(upper: &CkksParams, done: usize, special: usize) -> Result<CkksSpec, ParamsError> {
    let levels = &upper.levels()[..upper.levels().len() - done];
    let mut groups = upper.groups()[..upper.groups().len() - done].to_vec();
    let (highest, ring) = (levels[levels.len() - 1], upper.rlwe().ring());
    let (chain, found) = ("special chain", ring.q().len() + ring.p().len() - highest.primes);
    let error = ParamsError::ChainLength { chain, found, lowest: special, highest: RingSpec::MAX_PRIMES };
    let ring = ring.split(highest.primes, special).ok_or(error)?;
    // The highest scale is that of its group: here the one that it has below the other levels.
    if let Some(last) = groups.last_mut() {
        last.scale_log2 = libm::log2(highest.scale);
    }
    Ok(CkksSpec {
        log_n: ring.log_n(),
        q: ring.q().to_vec(),
        p: ring.p().to_vec(),
        level_primes: levels.iter().map(|level| level.primes).collect(),
        digits: RlweParams::greedy_digits_up_to(ring.q(), ring.p(), LONGEST_DIGIT),
        groups,
    })
}

/// q_0 and p_0, whose only digit is q_0.
fn sparse_params(ring: &RingSpec) -> Result<RlweParams, ParamsError> {
    let (chain, found) = ("special chain", ring.p().len());
    let error = ParamsError::ChainLength { chain, found, lowest: 1, highest: RingSpec::MAX_PRIMES };
    let ring = ring.prefix(1, 1).ok_or(error)?;
    RlweParams::insecure(ring, RlweParams::even_digits(1, 1))
}

/// Whether a secret of this weight has 128 bits of security over these primes.
fn check_sparse(params: &RlweParams, weight: usize) -> Result<(), ParamsError> {
    let (log_n, log_qp) = (params.ring().log_n(), params.ring().log_qp());
    let limit = max_sparse_log_qp(log_n, weight).unwrap_or(0);
    if log_qp > f64::from(limit) {
        return Err(ParamsError::InsecureSecret { weight, log_n, log_qp, limit });
    }
    Ok(())
}
