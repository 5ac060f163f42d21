//! Jobs on bits in the slots of BGV or BFV, as many numbers at once as fit: parameters for the job,
//! keys, random numbers, and a check of every result.

use super::keys::rng;
use super::measure::{Id, Lab, Lazy, Place};
use super::report::Value;
use crate::error::Result;
use he_core::Error;
use he_core::backend::RingOps;
use he_core::bootstrapping::BootstrapKeys;
use he_core::circuits::bits::packed::{
    Arithmetic, Bit, Encrypted, ParamsChoice, SlotGates, WordGates, WordLayout, params_for,
};
use he_core::circuits::bits::{Builder, Circuit, less_than};
use he_core::exact::bootstrapping::{BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::exact::{Ciphertext, Decryptor, Encryptor, Evaluator, Params, Scheme};
use he_core::params::ParamsError;
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_cuda::gpu;
use rand::{RngExt, rngs::ChaCha20Rng};
use std::cell::Cell;
use std::fmt;
use std::time::Instant;

/// The kind of computation.
#[derive(Clone, Debug)]
pub enum Job {
    /// The sum of numbers, the bits of each side by side: by full adders or by counting the bits of
    /// a column, then by a Kogge-Stone adder.
    Sum { count: usize, width: usize, by_counting: bool },
    /// Two numbers with the same sum as three, the bits of each side by side.
    FullAdder { width: usize },
    /// x < y, the bits of each side by side.
    Less { width: usize },
    /// x < y by a circuit, with one ciphertext per bit.
    Sliced { width: usize, less: Circuit },
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum { count, width, by_counting } => {
                let way = if *by_counting { "counting" } else { "full adders" };
                write!(f, "sum of {count} numbers of {width} bits by {way}")
            }
            Self::FullAdder { width } => write!(f, "full adder of {width} bits"),
            Self::Less { width } => write!(f, "comparison of {width} bits"),
            Self::Sliced { width, .. } => write!(f, "comparison of {width} bits, a ciphertext a bit"),
        }
    }
}

/// A number: its bits, the lowest first.
type Number = Vec<bool>;

impl Job {
    /// x < y, with one ciphertext per bit.
    pub fn sliced(width: usize) -> Self {
        let mut c = Builder::new(2 * width).with_multiplexers();
        let (x, y) = (c.input(0..width), c.input(width..2 * width));
        let less = less_than(&mut c, &x, &y);
        Self::Sliced { width, less: c.finish(&[less]) }
    }

    /// The number of operands of a result, and their bits.
    fn operands(&self) -> (usize, usize) {
        match *self {
            Self::Sum { count, width, .. } => (count, width),
            Self::FullAdder { width } => (3, width),
            Self::Less { width } | Self::Sliced { width, .. } => (2, width),
        }
    }

    /// Vectors of slots that hold the operands.
    fn inputs(&self) -> usize {
        match self {
            Self::Sliced { less, .. } => less.inputs(),
            _ => self.operands().0,
        }
    }

    /// The vectors that are in memory at a time, without temporaries.
    fn vectors(&self) -> usize {
        match self {
            Self::Sliced { less, .. } => less.inputs() + less.gate_count(),
            _ => 2 * self.inputs(),
        }
    }

    /// The layout of numbers in slots; one bit per slot has no layout.
    fn layout(&self, slots: usize) -> he_core::Result<Option<WordLayout>> {
        match *self {
            Self::Sum { count, width, .. } => WordLayout::for_sum(slots, count, width).map(Some),
            Self::FullAdder { width } => WordLayout::for_sum(slots, 3, width).map(Some),
            Self::Less { width } => WordLayout::for_comparison(slots, width).map(Some),
            Self::Sliced { .. } => Ok(None),
        }
    }

    /// The rotations that it takes.
    fn steps(&self, layout: WordLayout) -> Vec<i64> {
        if matches!(self, Self::Less { .. }) { layout.comparison_steps() } else { layout.addition_steps() }
    }

    /// Runs on ciphertexts, or on predictions of their noise.
    fn run<A: Arithmetic>(
        &self,
        gates: SlotGates<A>,
        layout: Option<WordLayout>,
        bits: &Vec<Bit<A::Batch>>,
    ) -> he_core::Result<Vec<Bit<A::Batch>>> {
        let Some(layout) = layout else {
            return match self {
                Self::Sliced { less, .. } => less.run(&gates, bits),
                _ => Err(Error::argument("layout of words", "there is none")),
            };
        };
        let words = WordGates::new(gates, layout);
        match self {
            Self::Sum { by_counting: false, .. } => Ok(vec![words.sum(bits)?]),
            Self::Sum { by_counting: true, .. } => Ok(vec![words.sum_by_counting(bits)?]),
            Self::FullAdder { .. } => words.carry_save(bits),
            Self::Less { .. } => Ok(vec![words.less_than(&bits[0], &bits[1])?]),
            Self::Sliced { less, .. } => less.run(words.gates(), bits),
        }
    }

    /// The slots of every input, from `operands[operand][instance]`.
    fn pack(&self, layout: Option<WordLayout>, operands: &[Vec<Number>]) -> he_core::Result<Vec<Vec<u64>>> {
        match layout {
            Some(layout) => operands.iter().map(|numbers| layout.pack(numbers)).collect(),
            None => {
                let bits = |numbers: &Vec<Number>, bit: usize| {
                    numbers.iter().map(|number| u64::from(number[bit])).collect()
                };
                let width = self.operands().1;
                Ok(operands.iter().flat_map(|numbers| (0..width).map(|bit| bits(numbers, bit))).collect())
            }
        }
    }

    /// Random numbers, `[operand][instance]`. Every other pair to compare differs in its lowest bit
    /// at most.
    fn random(&self, instances: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<Number>> {
        let (count, width) = self.operands();
        let mut number = || (0..width).map(|_| rng.random()).collect();
        let mut operands: Vec<Vec<Number>> =
            (0..count).map(|_| (0..instances).map(|_| number()).collect()).collect();
        if let (Self::Less { .. } | Self::Sliced { .. }, [x, y]) = (self, operands.as_mut_slice()) {
            for (x, y) in x.iter().zip(y).step_by(2) {
                y.clone_from(x);
                y[0] = rng.random();
            }
        }
        operands
    }

    /// The number of wrong instances in the slots of the results.
    fn wrong(
        &self,
        layout: Option<WordLayout>,
        operands: &[Vec<Number>],
        results: &[Vec<u64>],
    ) -> he_core::Result<usize> {
        let cells = |slots| -> he_core::Result<Vec<&[u64]>> {
            match layout {
                Some(layout) => layout.unpack(slots),
                None => Ok(slots.chunks(1).collect()),
            }
        };
        let results: Vec<Vec<&[u64]>> =
            results.iter().map(|slots| cells(slots)).collect::<he_core::Result<_>>()?;
        let right = |instance: usize| match self {
            Self::Less { .. } | Self::Sliced { .. } => {
                let [x, y] = [0, 1].map(|operand: usize| operands[operand][instance].iter().rev());
                results[0][instance][0] == u64::from(x.lt(y))
            }
            Self::Sum { .. } | Self::FullAdder { .. } => {
                let expected: u128 = operands
                    .iter()
                    .map(|numbers| value(numbers[instance].iter().map(|&bit| u64::from(bit))))
                    .sum();
                let bits = results.iter().flat_map(|words| words[instance]);
                let found = results.iter().map(|words| value(words[instance].iter().copied())).sum();
                bits.max() <= Some(&1) && expected == found
            }
        };
        Ok((0..operands[0].len()).filter(|&instance| !right(instance)).count())
    }
}

/// The number with these bits, the lowest first.
fn value(bits: impl DoubleEndedIterator<Item = u64>) -> u128 {
    bits.rev().fold(0, |all, bit| all << 1 | u128::from(bit))
}

/// The source of the depth of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Parameters that are as long as the job takes.
    Parameters,
    /// Refreshes, on the same parameters for all jobs.
    Refreshes,
}

/// The least prime that is 1 modulo 2N for N = 2^16, the degree of parameters with bootstrapping:
/// the plaintext modulus of refreshed bits.
const REFRESHED_PLAIN: u64 = 786_433;
/// The successive products between two refreshes. With more, a refresh takes longer by as much.
const REFRESHED_DEPTH: usize = 1;

/// Keys and encrypted numbers of one job on one device.
struct World<S: Scheme, B: RingOps> {
    refreshes: Option<(Bootstrapper<S, B>, BootstrapKeys<B>)>,
    layout: Option<WordLayout>,
    decryptor: Decryptor<S, B>,
    keys: EvaluationKeys<B>,
    ev: Evaluator<S, B>,
    operands: Vec<Vec<Number>>,
    inputs: Vec<Bit<Ciphertext<S, B>>>,
}

/// Vectors that are encrypted, and that sums work on, at a time.
const BATCH: usize = 32;
/// The memory of the host that the ciphertexts and keys of a job may take; a GPU itself reports
/// what does not fit.
const HOST_BYTES: usize = 8 << 30;

impl<S: Scheme, B: RingOps> World<S, B> {
    /// Searches degrees from 2^`log_n` on.
    fn new(place: &Place<B>, job: &Job, log_n: u32) -> he_core::Result<Self> {
        let choice = ParamsChoice { log_n: log_n..=16, ..ParamsChoice::default() };
        let params = params_for::<S>(&choice, |prediction| {
            let gates = SlotGates::new(prediction);
            let bits = gates.bits(gates.arithmetic().fresh(job.inputs()));
            job.run(gates, job.layout(1 << 12)?, &bits).map(drop)
        })?;
        let ring = params.rlwe().ring();
        if !place.apart {
            let steps = job.layout(ring.n())?.map_or(0, |layout| job.steps(layout).len());
            let digits = params.rlwe().digits().len() * (steps + 1);
            let rows = job.vectors() * ring.q().len() + digits * (ring.q().len() + ring.p().len());
            if rows.saturating_mul(16 * ring.n()) > HOST_BYTES {
                return Err(Error::Backend { op: "a job", source: Box::new(TooLarge) });
            }
        }
        let ring = Ring::new(place.backend.clone(), ring.clone())?;
        Self::with_params(&params, ring, job, |_| Ok(None))
    }

    /// Numbers whose products are refreshed: N = 2^16. Refreshed ones are added to others, so the
    /// correction factors of all are 1.
    fn refreshing(place: &Place<B>, job: &Job) -> he_core::Result<Self> {
        let spec = BootstrapSpec::longest_for_depth::<S>(REFRESHED_PLAIN, REFRESHED_DEPTH)?;
        let boot = BootstrapParams::<S>::with_unit_correction_factors(spec)?;
        let ring = boot.ring(place.backend.clone())?;
        Self::with_params(boot.params(), ring.clone(), job, |secret| {
            let keys = BootstrapKeys::generate(secret, boot.circuit(), &ring, &mut rng())?;
            Ok(Some((Bootstrapper::new(&boot, &ring)?, keys)))
        })
    }

    fn with_params(
        params: &Params<S>,
        ring: Ring<B>,
        job: &Job,
        refreshes: impl FnOnce(&SecretKey) -> he_core::Result<Option<(Bootstrapper<S, B>, BootstrapKeys<B>)>>,
    ) -> he_core::Result<Self> {
        let layout = job.layout(ring.n())?;
        let steps = layout.map_or(Vec::new(), |layout| job.steps(layout));
        let rng = &mut rng();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng)?;
        let needs = KeyRequirements::new().relinearisation().rotations(steps);
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng)?;
        let refreshes = refreshes(&secret)?;
        let decryptor = Decryptor::new(params, &secret, &ring)?;
        let ev = Evaluator::new(params, &ring)?;
        let encryptor = Encryptor::new(params, &public)?;
        let operands = job.random(layout.map_or(ring.n(), |layout| layout.capacity()), rng);
        let mut inputs = Vec::new();
        for vectors in job.pack(layout, &operands)?.chunks(BATCH) {
            let rows: Vec<&[u64]> = vectors.iter().map(Vec::as_slice).collect();
            let ct = encryptor.encrypt(&ev.encoder().encode_batch(&rows)?, rng)?;
            inputs.extend(SlotGates::new(Encrypted::new(&ev, &keys)).bits(ct));
        }
        Ok(Self { refreshes, layout, decryptor, keys, ev, operands, inputs })
    }

    fn gates(&self) -> SlotGates<Encrypted<'_, S, B>> {
        let arithmetic = Encrypted::new(&self.ev, &self.keys);
        let arithmetic = match &self.refreshes {
            Some((bootstrapper, keys)) => arithmetic.with_refreshes(bootstrapper.with_keys(keys)),
            None => arithmetic,
        };
        SlotGates::new(arithmetic).with_batch(BATCH)
    }

    /// The error if results are wrong.
    fn check(&self, job: &Job, results: &[Bit<Ciphertext<S, B>>]) -> Result<()> {
        let wrong = job.wrong(self.layout, &self.operands, &self.decrypted(results)?)?;
        if wrong > 0 {
            let of = self.operands[0].len();
            let what = format!("{wrong} of {of} results of {job} are wrong ({})", S::NAME);
            return Err(crate::Error::WrongResult { what });
        }
        Ok(())
    }

    fn decrypted(&self, bits: &[Bit<Ciphertext<S, B>>]) -> he_core::Result<Vec<Vec<u64>>> {
        let (gates, n) = (self.gates(), self.ev.ring().n());
        let slots = |bit: &Bit<_>| match (bit, gates.vector(bit)?) {
            (_, Some(ct)) => Ok(self.ev.encoder().decode(&self.decryptor.decrypt(&ct)?)?.remove(0)),
            (Bit::Constant(true), None) => Ok(vec![1; n]),
            (_, None) => Ok(vec![0; n]),
        };
        bits.iter().map(slots).collect()
    }

    /// Degree, primes of the chain and special ones, log2 of their product.
    fn chain(&self) -> String {
        let ring = self.ev.params().rlwe().ring();
        format!("2^{}, {}+{}, {:.0}", ring.log_n(), ring.q().len(), ring.p().len(), ring.log_qp())
    }
}

/// There is not enough memory on the host.
#[derive(Debug, thiserror::Error)]
#[error("more than {} GiB of memory", HOST_BYTES >> 30)]
struct TooLarge;

/// `None` if no parameters are large enough, or memory is too small.
fn if_it_fits<T>(result: he_core::Result<T>) -> he_core::Result<Option<T>> {
    use ParamsError::{DepthUnreachable, NotEnoughPrimes};
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::InvalidParams(DepthUnreachable { .. } | NotEnoughPrimes { .. })) => Ok(None),
        Err(Error::Backend { source, .. })
            if source.is::<TooLarge>()
                || matches!(source.downcast_ref(), Some(gpu::Error::OutOfMemory { .. })) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A job that was run.
#[derive(Clone, Debug)]
pub struct Point {
    /// The seconds in each place.
    pub times: Vec<Value>,
    /// Numbers at once, and degree, primes of the chain and special ones, log QP; `None` if it was
    /// not run.
    pub shape: Option<(usize, String)>,
}

/// Jobs of increasing size in places that share memory. After a job that took too long, whose keys
/// and inputs took too long, or that did not fit, the following ones are not run, because they
/// would be worse.
pub struct Series<'a, B> {
    places: Vec<&'a Place<B>>,
    depth: Depth,
    /// The names of the table and, without a place, of the columns.
    names: [String; 2],
    last: Vec<Value>,
    /// The first of a series is the smallest, and may load a device's kernels.
    first: bool,
    /// log2 of the degree so far: larger jobs do not take a smaller one, and skipping degrees saves
    /// most of the time for choosing parameters.
    log_n: u32,
}

/// The seconds of a job, whose results are checked.
fn time<S: Scheme, B: RingOps, F: Fn() -> Result<Option<World<S, B>>>>(
    lab: &Lab,
    id: &Id,
    place: &Place<B>,
    job: &Job,
    world: &Lazy<Option<World<S, B>>, F>,
) -> Result<Value> {
    let fits = Cell::new(true);
    let call = || -> Result<_> {
        let Some(world) = world.get()? else { return Ok(None) };
        Ok(if_it_fits(job.run(world.gates(), world.layout, &world.inputs))?)
    };
    let check = |results: Option<Vec<_>>| match (world.get()?, results) {
        (Some(world), Some(results)) => world.check(job, &results),
        _ => {
            fits.set(false);
            Ok(())
        }
    };
    let time = lab.time_checked(id, place, call, check)?;
    Ok(if fits.get() { time } else { Value::Nothing })
}

/// The outcome of a job whose predecessor gave `previous`, unless it is worth running.
fn skipped(lab: &Lab, previous: Value) -> Option<Value> {
    match previous {
        Value::Number(seconds) if !lab.is_long(seconds) => None,
        Value::Number(_) | Value::NotRun => Some(Value::NotRun),
        Value::Nothing => Some(Value::Nothing),
    }
}

impl<'a, B: RingOps> Series<'a, B> {
    /// Starts without jobs.
    pub fn new(
        places: impl IntoIterator<Item = &'a Place<B>>,
        depth: Depth,
        table: &str,
        column: &str,
    ) -> Self {
        let places: Vec<_> = places.into_iter().collect();
        let (last, names) = (vec![Value::Number(0.0); places.len()], [table, column].map(str::to_owned));
        Self { last, places, depth, names, first: true, log_n: 12 }
    }

    /// The seconds of the next job in every place; results are decrypted and checked.
    ///
    /// # Errors
    /// A result is wrong; device errors.
    pub fn run<S: Scheme>(&mut self, lab: &Lab, job: &Job) -> Result<Point> {
        let skip: Vec<Option<Value>> = self.last.iter().map(|&last| skipped(lab, last)).collect();
        let everywhere = |times| Ok(Point { times, shape: None });
        let all: Option<Vec<Value>> = skip.iter().copied().collect();
        let (Some(place), None) = (self.places.last(), &all) else {
            return everywhere(all.unwrap_or_default());
        };
        lab.announce(&format!("{job} ({})", S::NAME));
        let (begin, log_n, depth, [table, column]) = (Instant::now(), self.log_n, self.depth, &self.names);
        let id = |place: &Place<B>| Id::new(table, &format!("{column}, {}", place.name), job);
        // The keys on one place, which runs the job on all that share its memory.
        let world = Lazy::new(|| {
            Ok(if_it_fits(match depth {
                Depth::Parameters => World::new(place, job, log_n),
                Depth::Refreshes => World::refreshing(place, job),
            })?)
        });
        if lab.is_metered() {
            for place in &self.places {
                place.on(|| time::<S, B, _>(lab, &id(place), place, job, &world))?;
            }
            return everywhere(vec![Value::Nothing; self.places.len()]);
        }
        place.on(|| world.get().map(drop))?;
        let slow = !self.first && lab.is_long_setup(begin.elapsed().as_secs_f64());
        self.first = false;
        let times = self.places.iter().zip(&skip).map(|(place, skip)| match skip {
            Some(value) => Ok(*value),
            None => place.on(|| time(lab, &id(place), place, job, &world)),
        });
        let Some(world) = world.get()? else {
            self.last.fill(Value::Nothing);
            return everywhere(self.last.clone());
        };
        let times: Vec<Value> = times.collect::<Result<_>>()?;
        self.log_n = world.ev.params().rlwe().ring().log_n();
        self.last = if slow { vec![Value::NotRun; times.len()] } else { times.clone() };
        Ok(Point { times, shape: Some((world.operands[0].len(), world.chain())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::backend::Cpu;
    use he_core::bfv::Bfv;
    use he_core::bgv::Bgv;
    use std::time::Duration;

    fn lab(limit: f64) -> Lab {
        Lab::new(None, true, Some(Duration::from_secs_f64(limit))).unwrap()
    }

    fn jobs(count: usize) -> [Job; 5] {
        let sum = |by_counting| Job::Sum { count, width: 3, by_counting };
        [sum(false), sum(true), Job::FullAdder { width: 3 }, Job::Less { width: 4 }, Job::sliced(3)]
    }

    /// The result of [`Job::wrong`] for slots computed from integers.
    #[test]
    fn results_are_checked_in_every_instance() {
        for job in jobs(5) {
            let layout = job.layout(1 << 12).unwrap();
            let operands = job.random(layout.map_or(1 << 12, |layout| layout.capacity()), &mut rng());
            assert_eq!(operands.len(), job.operands().0, "{job:?}");
            let number = |bits: &Number| value(bits.iter().map(|&bit| u64::from(bit)));
            let bits = |number: u128| (0..8).map(|i| number >> i & 1 == 1).collect::<Number>();
            let results: Vec<Number> = (0..operands[0].len())
                .map(|i| match job {
                    Job::Less { .. } | Job::Sliced { .. } => {
                        bits(u128::from(number(&operands[0][i]) < number(&operands[1][i])))
                    }
                    _ => bits(operands.iter().map(|numbers| number(&numbers[i])).sum()),
                })
                .collect();
            let mut slots: Vec<u64> = match layout {
                Some(layout) => {
                    let numbers: Vec<&[bool]> =
                        results.iter().map(|bits| &bits[..layout.stride().min(8)]).collect();
                    layout.pack(&numbers).unwrap()
                }
                None => results.iter().map(|bits| u64::from(bits[0])).collect(),
            };
            assert_eq!(job.wrong(layout, &operands, std::slice::from_ref(&slots)).unwrap(), 0, "{job:?}");
            slots[0] ^= 1;
            assert_eq!(job.wrong(layout, &operands, &[slots]).unwrap(), 1, "{job:?}");
        }
    }

    #[test]
    fn jobs_run_in_all_places_and_are_right() {
        let lab = lab(1e-3);
        let places = || [&lab.serial, &lab.threads];
        let check = |job: &Job, point: Result<Point>| {
            let point = point.unwrap();
            assert!(point.times.iter().all(|time| time.number() > Some(0.0)), "{job}: {point:?}");
            assert!(point.shape.is_some_and(|(numbers, chain)| numbers > 1 && chain.starts_with("2^")));
        };
        for job in jobs(3) {
            check(&job, Series::new(places(), Depth::Parameters, "t", "packed").run::<Bgv>(&lab, &job));
        }
        let job = Job::Less { width: 4 };
        check(&job, Series::new(places(), Depth::Parameters, "t", "packed").run::<Bfv>(&lab, &job));
    }

    #[test]
    fn what_follows_a_long_job_is_not_run() {
        let lab = lab(1e-3);
        let skip = |value| skipped(&lab, value);
        assert_eq!(skip(Value::Number(9e-4)), None);
        assert_eq!(skip(Value::Number(2e-3)), Some(Value::NotRun));
        assert_eq!(skip(Value::NotRun), Some(Value::NotRun));
        assert_eq!(skip(Value::Nothing), Some(Value::Nothing));
        let mut series = Series::new([&lab.threads], Depth::Parameters, "t", "packed");
        assert!(series.run::<Bgv>(&lab, &Job::Less { width: 2 }).unwrap().shape.is_some());
        for width in [4, 8] {
            let point = series.run::<Bgv>(&lab, &Job::Less { width }).unwrap();
            assert!(point.times == [Value::NotRun] && point.shape.is_none());
        }
        let mut nowhere = Series::<Cpu>::new([], Depth::Parameters, "t", "packed");
        assert!(nowhere.run::<Bgv>(&lab, &Job::Less { width: 2 }).unwrap().times.is_empty());
    }

    /// A chain beyond N = 2^16, and more ciphertexts than the host should hold.
    #[test]
    fn what_does_not_fit_is_no_error() {
        let lab = lab(20.0);
        for job in [Job::Sum { count: 1024, width: 64, by_counting: false }, Job::sliced(1024)] {
            let mut series =
                Series { log_n: 16, ..Series::new([&lab.threads], Depth::Parameters, "t", "packed") };
            for _ in 0..2 {
                let point = series.run::<Bgv>(&lab, &job).unwrap();
                assert!(point.times == [Value::Nothing] && point.shape.is_none(), "{job}");
            }
        }
        let other = Error::Backend { op: "a kernel", source: "it broke".into() };
        assert!(if_it_fits::<()>(Err(other)).is_err());
    }
}
