//! Slots of BFV and BGV to coefficients, and back.

use super::transform::{Diagonals, Direction, Transform};
use crate::arith::primitive_root_2n;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::exact::{Ciphertext, Evaluator, PreparedPlaintext, Scheme};
use crate::params::ParamsError;
use crate::ring::bit_reverse;
use crate::rlwe::{EvaluationKeys, KeyRequirements};

/// A giant step, and the weights of the baby rotations, by their indices, whose sum it rotates.
type Giant<B> = (i64, Vec<(usize, PreparedPlaintext<B>)>);

/// A matrix, ready to be applied.
#[derive(Debug)]
struct Prepared<B: RingOps> {
    babies: Vec<i64>,
    giants: Vec<Giant<B>>,
}

/// Takes the values in slots of BFV and BGV to coefficients, where [`IntegersToTfhe`] finds them,
/// or coefficients to slots; knows no secret.
///
/// [`IntegersToTfhe`]: super::IntegersToTfhe
///
/// 2^`log_slots` values in each of the two rows are taken there by a transform modulo t, of which
/// `log_slots` stages (radix 2) are merged into the given number of matrices. One of s stages has
/// fewer than 2^(s + 1) diagonals, and takes about 2^(s/2 + 2) rotations. It costs as much of the
/// noise budget as a product by a plaintext of arbitrary slots, log2(t sqrt(N)) bits, and log2 of
/// the number of its diagonals; exchanging the rows costs log2(t) bits. See
/// [`cost_log2`](Self::cost_log2). After each step ciphertexts are brought to the [lowest
/// level](Evaluator::lowest_level) that costs nothing.
///
/// All slots with t = 65537, encoded in less than a second, on 2 cores of an AMD EPYC (2026-11-23,
/// `slots_at_full_degree` of the tests):
///
/// | N | matrices | rotations | budget: predicted before and after; measured after | ms |
/// |---|---|---|---|---|
/// | 2^13 | 2 | 42 | 89.3, 13.9; 23.9 bits | 22 |
/// | 2^14 | 2 | 50 | 95.3, 17.2; 27.2 bits | 59 |
/// | 2^15 | 3 | 38 | 128.3, 27.3; 40.5 bits | 72 |
///
/// ```
/// use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*, switching::*};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = BfvParams::for_depth(65537, 2).margin_bits(40).slots().build()?;
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let ev = BfvEvaluator::new(&params, &ring)?;
/// // Eight slots of each row, in one matrix.
/// let transform = SlotTransform::to_coefficients(&ev, 3, 1, params.max_level())?;
/// let mut rng = he_core::rand::rng();
/// let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// let keys = EvaluationKeys::generate(&secret, &ring, transform.requirements(), &mut rng)?;
/// let encryptor = BfvSecretEncryptor::new(&params, &secret, &ring)?;
/// let x = encryptor.encrypt_slots(&[3i64, -5, 7, 11, 0, 1, 2, -300], &mut rng)?.expand()?;
/// let y = transform.apply(&ev, &x, &keys)?;
/// let plain = BfvDecryptor::new(&params, &secret, &ring)?.decrypt(&y)?;
/// let found: Vec<Vec<i64>> = ev.encoder().decode_coefficients(&plain)?;
/// let places = transform.coefficients();
/// assert_eq!([0, 1, 7, 8].map(|slot| found[0][places[slot]]), [3, -5, -300, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SlotTransform<B: RingOps = Cpu> {
    direction: Direction,
    log_n: u32,
    log_slots: u32,
    /// By which values fill the rows, to repeat.
    repeat: Vec<i64>,
    mixing: [PreparedPlaintext<B>; 2],
    matrices: Vec<Prepared<B>>,
    requirements: KeyRequirements,
    cost_log2: f64,
}

impl<B: RingOps> SlotTransform<B> {
    /// From the first 2^`log_slots` slots of each row, the others being zero, for ciphertexts of up
    /// to this level. Values become every coefficient of [`coefficients`](Self::coefficients), and
    /// the others are zero.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`]; [`Error::SlotCount`] for more slots than a row has, or just one;
    /// [`Error::Argument`] for a number of matrices other than 1 to `log_slots`;
    /// [`Error::LevelTooHigh`]; device errors.
    pub fn to_coefficients<S: Scheme>(
        ev: &Evaluator<S, B>,
        log_slots: u32,
        matrices: usize,
        level: usize,
    ) -> Result<Self> {
        Self::new(ev, log_slots, matrices, level, Direction::ToCoefficients)
    }

    /// From [`coefficients`](Self::coefficients), the others being zero, to the first 2^`log_slots`
    /// slots of each row, from where on they repeat.
    ///
    /// # Errors
    /// The same as for [`to_coefficients`](Self::to_coefficients).
    pub fn to_slots<S: Scheme>(
        ev: &Evaluator<S, B>,
        log_slots: u32,
        matrices: usize,
        level: usize,
    ) -> Result<Self> {
        Self::new(ev, log_slots, matrices, level, Direction::ToSlots)
    }

    fn new<S: Scheme>(
        ev: &Evaluator<S, B>,
        log_slots: u32,
        matrices: usize,
        level: usize,
        direction: Direction,
    ) -> Result<Self> {
        let (params, log_n) = (ev.params(), ev.params().rlwe().ring().log_n());
        let t = *params.plain().modulus();
        if !params.has_slots() {
            return Err(ParamsError::NoSlots { found: t.value(), log_n }.into());
        }
        let capacity = 1usize << (log_n - 1);
        if !(1..log_n).contains(&log_slots) {
            return Err(Error::SlotCount { found: 1 << log_slots.min(62), capacity });
        }
        if !(1..=log_slots as usize).contains(&matrices) {
            let found = format!("{matrices} for a transform of 2^{log_slots} slots");
            return Err(Error::domain("number of matrices", found, format!("1 to {log_slots} are possible")));
        }
        let n = 1usize << log_slots;
        // The root of the slots, to the power of N / 2n.
        let root = t.pow(primitive_root_2n(&t, log_n)?, (capacity / n) as u64);
        let transform = Transform::new(t, log_slots, root, direction);
        let prepare = |rows: [&[u64]; 2]| {
            let slots = rows.map(|row| row.repeat(capacity / row.len())).concat();
            ev.prepare(&ev.encoder().encode(&slots)?, level)
        };
        let [own, other] = transform.mixing();
        let mixing = [prepare([&own[..1], &own[1..]])?, prepare([&other[..1], &other[1..]])?];
        let prepared = |matrix| prepared(&matrix, n, prepare);
        let matrices = transform.matrices(matrices).into_iter().map(prepared).collect::<Result<Vec<_>>>()?;

        let doublings = match direction {
            Direction::ToCoefficients => log_slots..log_n - 1,
            Direction::ToSlots => 0..0,
        };
        let repeat: Vec<i64> = doublings.map(|i| 1 << i).collect();
        let steps = matrices.iter().flat_map(|matrix| {
            matrix.babies.iter().copied().chain(matrix.giants.iter().map(|(giant, _)| *giant))
        });
        let steps = steps.chain(repeat.iter().copied()).filter(|&step| step != 0);
        let requirements = KeyRequirements::new().conjugation().rotations(steps);
        let sum = |gains: &mut dyn Iterator<Item = f64>| libm::log2(gains.map(libm::exp2).sum());
        let mut cost_log2 = repeat.len() as f64 + sum(&mut mixing.iter().map(|plain| plain.gain_log2()));
        for matrix in &matrices {
            let plains = matrix.giants.iter().flat_map(|(_, terms)| terms);
            cost_log2 += sum(&mut plains.map(|(_, plain)| plain.gain_log2()));
        }
        Ok(Self { direction, log_n, log_slots, repeat, mixing, matrices, requirements, cost_log2 })
    }

    /// The rotations, and the exchange of the rows.
    pub fn requirements(&self) -> &KeyRequirements {
        &self.requirements
    }

    /// The bits of the noise budget that it costs at most, as far as noise is that of the
    /// ciphertext and not of key switches: a bound by the triangle inequality, as that of
    /// [`Evaluator`] for sums.
    pub fn cost_log2(&self) -> f64 {
        self.cost_log2
    }

    /// The rotations that it takes, and exchanges of rows.
    pub fn rotations(&self) -> usize {
        let steps = |matrix: &Prepared<B>| {
            let giants = matrix.giants.iter().map(|(giant, _)| giant);
            matrix.babies.iter().chain(giants).filter(|&&step| step != 0).count()
        };
        self.repeat.len() + 1 + self.matrices.iter().map(steps).sum::<usize>()
    }

    /// The coefficient of each slot, those of the first row before those of the second.
    pub fn coefficients(&self) -> Vec<usize> {
        let half = 1usize << (self.log_n - 1);
        let step = half >> self.log_slots;
        let row = (0..1usize << self.log_slots).map(|slot| step * bit_reverse(slot, self.log_slots));
        row.clone().chain(row.map(|place| half + place)).collect()
    }

    /// The transform of a ciphertext.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`]; [`Error::SpanMismatch`] for a ciphertext above the level that it was
    /// made for; [`Error::MissingGaloisKey`], [`Error::MissingConjugationKey`]; mismatch of
    /// parameters, ring or key sets; device errors.
    pub fn apply<S: Scheme>(
        &self,
        ev: &Evaluator<S, B>,
        ct: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.requirements.check(keys)?;
        let mut x = ct.duplicate()?;
        for &step in &self.repeat {
            let rotated = ev.rotate(&x, step, keys)?;
            ev.add_assign(&mut x, &rotated)?;
        }
        if self.direction == Direction::ToCoefficients {
            x = self.mixed(ev, &x, keys)?;
        }
        for matrix in &self.matrices {
            x = lowered(ev, matrix.apply(ev, &x, keys)?)?;
        }
        if self.direction == Direction::ToSlots {
            x = self.mixed(ev, &x, keys)?;
        }
        Ok(x)
    }

    fn mixed<S: Scheme>(
        &self,
        ev: &Evaluator<S, B>,
        x: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        let [own, other] = &self.mixing;
        let swapped = ev.mul_prepared(&ev.swap_rows(x, keys)?, other)?;
        lowered(ev, ev.add(&ev.mul_prepared(x, own)?, &swapped)?)
    }
}

fn lowered<S: Scheme, B: RingOps>(ev: &Evaluator<S, B>, ct: Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
    match ev.lowest_level(&ct) {
        level if level < ct.level() => ev.mod_switch_to(&ct, level),
        _ => Ok(ct),
    }
}

/// Diagonals in baby steps and giant steps, all of them multiples of one stride.
fn prepared<B: RingOps>(
    matrix: &Diagonals,
    n: usize,
    prepare: impl Fn([&[u64]; 2]) -> Result<PreparedPlaintext<B>>,
) -> Result<Prepared<B>> {
    let lowest_bits = matrix.keys().filter(|&&k| k > 0).map(|k| 1 << k.trailing_zeros());
    let stride = lowest_bits.fold(n, usize::min);
    // By the shorter way round.
    let signed = |k: usize| if 2 * k > n { k as i64 - n as i64 } else { k as i64 };
    let width = (stride << (matrix.len().ilog2() + 1).div_ceil(2)) as i64;
    let (mut babies, mut giants) = (Vec::new(), Vec::<Giant<B>>::new());
    let mut ordered: Vec<_> = matrix.iter().map(|(&k, diagonal)| (signed(k), diagonal)).collect();
    ordered.sort_by_key(|&(k, _)| k);
    for (k, diagonal) in ordered {
        let (baby, giant) = (k.rem_euclid(width), k - k.rem_euclid(width));
        let index = babies.iter().position(|&b| b == baby).unwrap_or_else(|| {
            babies.push(baby);
            babies.len() - 1
        });
        // The sum is rotated by the giant step, and its weights with it.
        let mut rows = diagonal.clone();
        rows.iter_mut().for_each(|row| row.rotate_right(giant.rem_euclid(n as i64) as usize));
        let plain = prepare([&rows[0], &rows[1]])?;
        match giants.last_mut() {
            Some((step, terms)) if *step == giant => terms.push((index, plain)),
            _ => giants.push((giant, vec![(index, plain)])),
        }
    }
    Ok(Prepared { babies, giants })
}

impl<B: RingOps> Prepared<B> {
    fn apply<S: Scheme>(
        &self,
        ev: &Evaluator<S, B>,
        x: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        let rotated = ev.rotate_many(x, &self.babies, keys)?;
        let mut sum: Option<Ciphertext<S, B>> = None;
        for (giant, terms) in &self.giants {
            let mut inner: Option<Ciphertext<S, B>> = None;
            for (baby, plain) in terms {
                add_to(ev, &mut inner, ev.mul_prepared(&rotated[*baby], plain)?)?;
            }
            if let Some(inner) = inner {
                let inner = if *giant == 0 { inner } else { ev.rotate(&inner, *giant, keys)? };
                add_to(ev, &mut sum, inner)?;
            }
        }
        sum.ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })
    }
}

fn add_to<S: Scheme, B: RingOps>(
    ev: &Evaluator<S, B>,
    sum: &mut Option<Ciphertext<S, B>>,
    term: Ciphertext<S, B>,
) -> Result<()> {
    match sum {
        Some(sum) => ev.add_assign(sum, &term),
        None => {
            *sum = Some(term);
            Ok(())
        }
    }
}
