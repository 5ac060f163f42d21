//! Parameters of exact arithmetic with bootstrapping.

use crate::backend::RingOps;
use crate::bootstrapping::{self, LevelRun, Order, added_to_coefficients, presets::Preset};
use crate::error::{Error, Result};
use crate::exact::params::{after_products, unit_prime};
use crate::exact::{Noise, Params, PlainModulus, Scheme, TAIL};
use crate::params::{ParamsError, Security, max_log_qp};
use crate::ring::{Ring, RingSpec};
use std::fmt;
use std::sync::Arc;

/// The widths of programs' primes that [`BootstrapSpec::for_depth`] tries. BGV divides by whole
/// primes between products, and wastes less if they are narrow.
const WIDTHS: [u32; 4] = [50, 44, 38, 32];
/// The most primes of programs that it tries, and how many more than the fewest that suffice it
/// tries to save an iteration by.
const MAX_PRIMES: usize = 12;
const MORE_PRIMES: usize = 2;
/// More levels than any secure chain has.
const MAX_LEVELS: usize = 64;
/// log2 of the scale of level 0. The nearer it is to q_0, the less budget a refresh needs, and the
/// greater is the arcsine's error, of the fourth power of its argument: twice as near, it would be
/// a part of the noise that is left.
const BASE_SCALE: f64 = 41.0;
/// log2 of the scale that SlotsToCoeffs ends at: its rounding is far below the noise of the
/// reduction, and the integer by which the result is multiplied is smaller by as much.
const OUTPUT_SCALE: f64 = 46.0;
/// The special primes that [`BootstrapSpec::for_depth`] tries: with ten, the chain has three digits
/// instead of five, and a refresh takes two thirds of the time. Security leaves no room for ten
/// where the chain is long.
const SPECIAL: [usize; 2] = [10, 6];
/// The special primes of SlotsToCoeffs and of programs.
const FEW_SPECIAL: usize = 3;
/// The bits by which the integer that multiplies a bootstrap's result exceeds its precision, so
/// that rounding it to an integer costs nothing.
const FACTOR_BITS: f64 = 3.0;
/// The bits that products between two refreshes leave beside what a refresh needs: for sums and
/// rotations, as in parameters without bootstrapping.
pub(super) const MARGIN_BITS: f64 = 10.0;
/// The bits of each bootstrap's precision that are lost by working with powers of two.
const LOST_BITS: f64 = 1.0;

/// A plain, unchecked description of parameters with bootstrapping.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSpec {
    /// The circuit. From the bottom of its chain to its top: the base q_0; the levels of programs,
    /// whose scale is that of the result of SlotsToCoeffs; the levels of SlotsToCoeffs; those of
    /// the modular reduction; those of CoeffsToSlots. Programs have the special primes of
    /// SlotsToCoeffs. The ratio of q_0 to its scale is the budget that a bootstrap needs, twice.
    pub circuit: bootstrapping::BootstrapSpec,
    /// The plaintext modulus t.
    pub plain_modulus: u64,
    /// The bootstraps of which the precision adds up in a refresh: see
    /// [`BootstrapParams::refreshed_budget`].
    pub iterations: usize,
}

impl BootstrapSpec {
    /// N = 2^16 and at least 128-bit security, for `depth` successive products of ciphertexts
    /// modulo t between two refreshes, and ten bits of budget for sums and rotations: the fewest
    /// iterations, up to two primes of programs more than the least number that suffices, then the
    /// fewest primes, and of those the widest.
    ///
    /// # Errors
    /// [`ParamsError::ModulusRange`] unless 2 <= t < 2^61; [`ParamsError::DepthUnreachable`] for
    /// more products than the chain has room for.
    pub fn for_depth<S: Scheme>(plain_modulus: u64, depth: usize) -> Result<Self> {
        Self::chosen(plain_modulus, depth, Preset::ExactBound.spec().log_n, BootstrapParams::<S>::try_from)
    }

    /// [`for_depth`](Self::for_depth) with as many primes of programs as security leaves room for:
    /// for programs whose first products, of fresh ciphertexts, are many and whose last ones are
    /// few, such as sums, so that only the last ones are refreshed. A refresh leaves the same
    /// budget, and takes longer.
    ///
    /// # Errors
    /// The same as for [`for_depth`](Self::for_depth).
    pub fn longest_for_depth<S: Scheme>(plain_modulus: u64, depth: usize) -> Result<Self> {
        let mut longest = Self::for_depth::<S>(plain_modulus, depth)?;
        let few = *SPECIAL.iter().min().unwrap_or(&0);
        longest.circuit.special.truncate(few);
        while longest.circuit.program.levels < MAX_LEVELS {
            let mut longer = longest.clone();
            longer.circuit.program.levels += 1;
            if BootstrapParams::<S>::try_from(longer.clone()).is_err() {
                break;
            }
            longest = longer;
        }
        Ok(longest)
    }

    /// The same as [`for_depth`](Self::for_depth) at another degree 2^`log_n`, whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// The same as for [`for_depth`](Self::for_depth).
    pub fn insecure_for_depth<S: Scheme>(plain_modulus: u64, depth: usize, log_n: u32) -> Result<Self> {
        Self::chosen(plain_modulus, depth, log_n, BootstrapParams::<S>::insecure)
    }

    fn chosen<S: Scheme>(
        plain_modulus: u64,
        depth: usize,
        log_n: u32,
        params: impl Fn(Self) -> Result<BootstrapParams<S>>,
    ) -> Result<Self> {
        PlainModulus::new(plain_modulus)?;
        let mut best: Option<(usize, Self)> = None;
        for primes in 2..=MAX_PRIMES {
            if best.as_ref().is_some_and(|(fewest, _)| primes > fewest + MORE_PRIMES) {
                break;
            }
            for bits in WIDTHS {
                // Primes may be too narrow for t, or too few, and special ones too many.
                let Some(params) = SPECIAL.into_iter().find_map(|special| {
                    let circuit = circuit(log_n, (primes, bits), special);
                    params(Self { circuit, plain_modulus, iterations: 1 }).ok()
                }) else {
                    continue;
                };
                let fewer = best.as_ref().map_or(usize::MAX, |(_, best)| best.iterations);
                let found = (1..=params.most_iterations()).find(|&i| i < fewer && params.allows(i, depth));
                if let Some(iterations) = found {
                    let fewest = best.map_or(primes, |(fewest, _)| fewest);
                    best = Some((fewest, Self { iterations, ..params.spec().clone() }));
                }
            }
        }
        if let Some((_, spec)) = best {
            return Ok(spec);
        }
        let limit = max_log_qp(log_n, Security::Bits128).unwrap_or(0);
        Err(ParamsError::DepthUnreachable { depth, plain_modulus, log_n, limit }.into())
    }
}

/// The circuit for that many primes of programs, q_0 and others of that width, and that many
/// special ones: all integers are removed alike, since noise has a bound that none may exceed.
fn circuit(log_n: u32, (primes, bits): (usize, u32), special: usize) -> bootstrapping::BootstrapSpec {
    bootstrapping::BootstrapSpec {
        log_n,
        log_slots: log_n.saturating_sub(1),
        base_scale_log2: BASE_SCALE,
        slots_to_coeffs: vec![50; 3],
        slots_to_coeffs_special: FEW_SPECIAL,
        program: LevelRun::new(primes - 1, OUTPUT_SCALE, &[bits]),
        special: vec![50; special],
        ..Preset::ExactBound.spec()
    }
}

#[derive(Debug)]
struct Inner<S: Scheme> {
    spec: BootstrapSpec,
    params: Params<S>,
    circuit: bootstrapping::BootstrapParams,
    /// Root mean square and bound of a bootstrap's error, relative to its greatest message.
    error: (f64, f64),
}

/// Checked parameters of exact arithmetic with bootstrapping, as a cheap handle.
///
/// Programs compute with [`params`](Self::params), which are ordinary parameters. Their ring is a
/// prefix of the one that bootstrapping computes in: [`ring`](Self::ring) has all primes.
pub struct BootstrapParams<S: Scheme>(Arc<Inner<S>>);

impl<S: Scheme> Clone for BootstrapParams<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Scheme> fmt::Debug for BootstrapParams<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BootstrapParams").field(&self.0.spec).finish()
    }
}

impl<S: Scheme> PartialEq for BootstrapParams<S> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        a.params == b.params && a.circuit == b.circuit && a.spec.iterations == b.spec.iterations
    }
}

impl<S: Scheme> TryFrom<BootstrapSpec> for BootstrapParams<S> {
    type Error = Error;

    /// Accepts parameters of at least 128-bit security, as
    /// [`bootstrapping::BootstrapParams`] does.
    fn try_from(spec: BootstrapSpec) -> Result<Self> {
        Self::build(spec, true)
    }
}

impl<S: Scheme> BootstrapParams<S> {
    /// Parameters of 128-bit security for this plaintext modulus and that many successive products
    /// between two refreshes: see [`BootstrapSpec::for_depth`].
    ///
    /// # Errors
    /// The same as for [`BootstrapSpec::for_depth`].
    pub fn for_depth(plain_modulus: u64, depth: usize) -> Result<Self> {
        Self::try_from(BootstrapSpec::for_depth::<S>(plain_modulus, depth)?)
    }

    /// Accepts any degree, whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// Any [`ParamsError`] but those of security.
    pub fn insecure(spec: BootstrapSpec) -> Result<Self> {
        Self::build(spec, false)
    }

    /// Parameters of at least 128-bit security over given primes, those of the chain and the
    /// special ones, which have the widths of the description within one bit.
    ///
    /// # Errors
    /// [`ParamsError::ChainLength`] for another number of primes, [`ParamsError::OutOfRange`] for
    /// one of another width, and any other [`ParamsError`].
    pub fn over_primes(spec: BootstrapSpec, q: Vec<u64>, p: Vec<u64>) -> Result<Self> {
        Self::build_over(spec, q, p, true)
    }

    /// Makes such parameters whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// The same as for [`over_primes`](Self::over_primes), but for those of security.
    pub fn over_primes_insecure(spec: BootstrapSpec, q: Vec<u64>, p: Vec<u64>) -> Result<Self> {
        Self::build_over(spec, q, p, false)
    }

    /// Parameters of at least 128-bit security whose primes of programs, but for q_0, are 1 modulo
    /// t: see [`ExactSpec::with_unit_correction_factors`](crate::exact::ExactSpec), which says what
    /// BGV gains by it. The others are those of the description.
    ///
    /// # Errors
    /// [`ParamsError::NotEnoughPrimes`] if there are too few of that width, and any other
    /// [`ParamsError`].
    pub fn with_unit_correction_factors(spec: BootstrapSpec) -> Result<Self> {
        let others = Self::try_from(spec.clone())?;
        let ring = others.ring_spec();
        let (mut q, p) = (ring.q().to_vec(), ring.p().to_vec());
        let mut taken = ring.primes().collect::<Vec<_>>();
        let (log_n, count) = (spec.circuit.log_n, spec.circuit.program.levels);
        // Levels of programs have one prime each.
        let widths = spec.circuit.program.primes.iter().cycle();
        for (prime, &bits) in q[1..=count].iter_mut().zip(widths) {
            let found = unit_prime(log_n, bits, spec.plain_modulus, &taken);
            *prime = found.ok_or(ParamsError::NotEnoughPrimes { bits, log_n, count })?;
            taken.push(*prime);
        }
        Self::over_primes(spec, q, p)
    }

    fn build_over(spec: BootstrapSpec, q: Vec<u64>, p: Vec<u64>, secure: bool) -> Result<Self> {
        let (circuit, order) = (spec.circuit.clone(), Order::CoefficientsFirst);
        Self::around(spec, bootstrapping::BootstrapParams::build_over(circuit, order, q, p, secure)?)
    }

    fn build(spec: BootstrapSpec, secure: bool) -> Result<Self> {
        let (circuit, order) = (spec.circuit.clone(), Order::CoefficientsFirst);
        Self::around(spec, bootstrapping::BootstrapParams::build(circuit, order, secure)?)
    }

    fn around(spec: BootstrapSpec, circuit: bootstrapping::BootstrapParams) -> Result<Self> {
        let rlwe = circuit.params().rlwe().clone();
        let params = Params::with_rlwe(rlwe, spec.plain_modulus, String::new())?;
        let error = added_to_coefficients(&circuit)?;
        let params = Self(Arc::new(Inner { spec, params, circuit, error }));
        let (found, highest) = (params.spec().iterations, params.most_iterations());
        if !(1..=highest).contains(&found) {
            let (what, lowest) = ("number of iterations", 1.0);
            return Err(ParamsError::OutOfRange {
                what,
                found: found as f64,
                lowest,
                highest: highest as f64,
            }
            .into());
        }
        Ok(params)
    }

    /// The plain description.
    pub fn spec(&self) -> &BootstrapSpec {
        &self.0.spec
    }

    /// The parameters that programs compute with.
    pub fn params(&self) -> &Params<S> {
        &self.0.params
    }

    /// The circuit, which bootstrapping keys are generated for
    /// ([`BootstrapKeys::generate`](bootstrapping::BootstrapKeys::generate)).
    pub fn circuit(&self) -> &bootstrapping::BootstrapParams {
        &self.0.circuit
    }

    /// Prepares the ring on a device: that of [`params`](Self::params), as a prefix of the one of
    /// all primes, which what bootstraps finds behind it.
    ///
    /// # Errors
    /// Device errors.
    pub fn ring<B: RingOps>(&self, backend: B) -> Result<Ring<B>> {
        self.circuit().ring(backend)
    }

    /// All primes.
    pub fn ring_spec(&self) -> &RingSpec {
        self.circuit().ring_spec()
    }

    /// The predicted budget, in bits, that a ciphertext needs to be refreshed: log2 of q_0 over its
    /// scale, less one.
    pub fn needed_budget(&self) -> f64 {
        self.ratio_log2() - 1.0
    }

    /// The predicted budget, in bits, that a refresh leaves at least:
    /// [`needed_budget`](Self::needed_budget) and the precision of each iteration.
    pub fn refreshed_budget(&self) -> f64 {
        self.budget_after(self.spec().iterations)
    }

    /// log2 of q_0 over its scale, which is that of the greatest w.
    fn ratio_log2(&self) -> f64 {
        libm::log2(self.ring_spec().q()[0] as f64 / self.circuit().params().levels()[0].scale)
    }

    /// The bits that an iteration adds, by the bound on its error.
    fn bits_per_iteration(&self) -> f64 {
        -libm::log2(self.0.error.1) - LOST_BITS
    }

    fn budget_after(&self, iterations: usize) -> f64 {
        self.needed_budget() + iterations as f64 * self.bits_per_iteration()
    }

    /// log2 of the greatest factor that w may be multiplied by before a bootstrap, so that what
    /// multiplies the result is still a great integer.
    pub(super) fn greatest_shift(&self) -> f64 {
        self.factor_log2() - self.bits_per_iteration() - FACTOR_BITS
    }

    /// log2 of what multiplies the result of a bootstrap of w itself: Q / (q_0 t gain).
    fn factor_log2(&self) -> f64 {
        let model = self.params().noise();
        let gain = libm::log2(self.circuit().coefficient_gain());
        model.log_q(model.chain()) - model.log_q(1) - model.t_log2() - gain
    }

    /// The iterations whose precision the modulus of programs can hold; none for a circuit without
    /// precision.
    fn most_iterations(&self) -> usize {
        let (shift, bits) = (self.greatest_shift(), self.bits_per_iteration());
        if bits >= 1.0 && shift >= 0.0 { (shift / bits) as usize + 1 } else { 0 }
    }

    /// The noise that a budget leaves room for, of a ciphertext at the top level.
    fn noise_of(&self, budget: f64) -> Noise {
        let model = self.params().noise();
        let peak_log2 = model.log_q(model.chain()) - 1.0 - model.t_log2() - budget;
        Noise { rms_log2: peak_log2 - libm::log2(TAIL), peak_log2, degree: 1 }
    }

    /// Whether that many products fit between two refreshes of that many iterations, with a margin.
    fn allows(&self, iterations: usize, depth: usize) -> bool {
        if iterations > self.most_iterations() {
            return false;
        }
        let noise = self.noise_of(self.budget_after(iterations));
        let left = self.budget_after_products(noise, self.params().noise().chain(), depth);
        left >= self.needed_budget() + MARGIN_BITS
    }

    /// The predicted budget that successive products leave of such a ciphertext, in bits; none if
    /// they lose the message.
    pub(super) fn budget_after_products(&self, noise: Noise, primes: usize, depth: usize) -> f64 {
        let model = self.params().noise();
        after_products::<S>(model, noise, primes, depth)
            .map_or(0.0, |(primes, noise)| model.budget(noise, primes))
    }

    /// The greatest noise of a refreshed ciphertext.
    pub(super) fn refreshed_noise(&self) -> Noise {
        self.noise_of(self.refreshed_budget())
    }

    /// Root mean square and bound of the error of a bootstrap, relative to its greatest message.
    pub(super) fn error(&self) -> (f64, f64) {
        self.0.error
    }
}
