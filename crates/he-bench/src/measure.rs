//! Timing of calls on a device that may run behind the host.

use super::report::{Header, Value};
use crate::error::{Error, Result};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use rayon::ThreadPool;
use std::fmt::Display;
use std::hint::black_box;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A device with the threads of the host that work for it.
pub struct Place<B> {
    /// Its name in columns.
    pub name: String,
    /// The device.
    pub backend: B,
    /// Whether its memory is not that of the host, so that copies have a column of their own.
    pub apart: bool,
    pool: ThreadPool,
}

impl<B: Backend> Place<B> {
    fn new(name: String, backend: B, apart: bool, threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Threads { threads, reason: error.to_string() })?;
        Ok(Self { name, backend, apart, pool })
    }

    /// The name of columns with copies.
    pub fn with_copies(&self) -> String {
        format!("{} with copies", self.name)
    }

    /// Runs work with the threads of this place.
    pub fn on<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

/// The place of a figure: its table, column and row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    table: String,
    name: String,
}

impl Id {
    /// Names a figure by its table's name, and the names of its column and row.
    pub fn new(table: &str, column: &str, row: impl Display) -> Self {
        let name = [table, column, &row.to_string()].map(slug).join("/");
        Self { table: table.to_owned(), name }
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The three names in words of small letters, between slashes.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Small letters, with a dash in place of everything that separates words.
pub(crate) fn slug(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "+^.".contains(c);
    let words = name.split(|c: char| !kept(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Measures calls in place of a [`Lab`]'s own clock, such as Criterion.
pub trait Meter: Send {
    /// Measures a figure. `run` makes a number of calls, each of which starts and ends with an idle
    /// device, and returns their time; the inputs are made in its first use, if there is any.
    ///
    /// # Errors
    /// The errors of `run`.
    fn measure(&mut self, id: &Id, run: &mut dyn FnMut(u32) -> Result<Duration>) -> Result<()>;
}

/// Inputs that are made when they are first needed.
pub struct Lazy<T, F> {
    made: OnceLock<T>,
    make: F,
}

impl<T, F: Fn() -> Result<T>> Lazy<T, F> {
    /// Makes nothing yet.
    pub fn new(make: F) -> Self {
        Self { made: OnceLock::new(), make }
    }

    /// The inputs.
    ///
    /// # Errors
    /// The errors of making them.
    pub fn get(&self) -> Result<&T> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = (self.make)()?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// The places and the duration of measurements.
pub struct Lab {
    /// Small sizes.
    pub quick: bool,
    /// One thread of the CPU.
    pub serial: Place<Cpu>,
    /// All threads of the CPU.
    pub threads: Place<Cpu>,
    /// The GPU, if one was chosen.
    pub gpu: Option<Place<Cuda>>,
    cpu: bool,
    tell: Box<dyn Fn(&str) + Send + Sync>,
    only: Vec<String>,
    limit: Duration,
    repetitions: usize,
    meter: Option<Mutex<Box<dyn Meter>>>,
}

/// A call that is measured.
pub type Call<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Runs code for every place, in the order of the columns.
macro_rules! on_places {
    ($lab:expr, $place:ident => $work:expr) => {{
        for $place in $lab.cpus() {
            $work
        }
        if let Some($place) = &$lab.gpu {
            $work
        }
    }};
}
pub(crate) use on_places;

/// The repetitions of short calls.
const REPETITIONS: usize = 51;
/// Shorter calls are timed several at once, because clocks tick in tens of nanoseconds.
const SHORT: Duration = Duration::from_micros(20);
/// Longer calls have only as many repetitions as fit into this time, but at least a few.
const ENOUGH: Duration = Duration::from_millis(500);
const FEW: usize = 3;
/// A first call, which compiles the kernels of a GPU, takes about two seconds longer.
const LOADING: Duration = Duration::from_secs(3);
/// The keys and inputs of a figure may take this many times as long as the figure.
const SETUP: f64 = 5.0;

impl Lab {
    /// Measures on a GPU, if one is given, with the CPU beside it. A figure takes at most `limit`:
    /// 20 seconds if none is given, one with `quick`.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn new(gpu: Option<Cuda>, quick: bool, limit: Option<Duration>) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        Ok(Self {
            quick,
            serial: Place::new("CPU, 1 thread".to_owned(), Cpu::new(), false, 1)?,
            threads: Place::new(format!("CPU, {threads} thread{plural}"), Cpu::new(), false, threads)?,
            gpu: gpu.map(|cuda| Place::new("GPU".to_owned(), cuda, true, threads)).transpose()?,
            cpu: true,
            tell: Box::new(|_| {}),
            only: Vec::new(),
            limit: limit.unwrap_or(Duration::from_secs(if quick { 1 } else { 20 })),
            repetitions: if quick { 1 } else { REPETITIONS },
            meter: None,
        })
    }

    /// Hands every call to a meter; tables stay empty, and no call is judged by the limit.
    #[must_use]
    pub fn with_meter(mut self, meter: impl Meter + 'static) -> Self {
        self.meter = Some(Mutex::new(Box::new(meter)));
        self
    }

    /// Whether a meter measures, so that nothing is to be made before it is needed.
    pub fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    /// Calls `tell` with the next measurement.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// Omits the CPU if there is a GPU.
    #[must_use]
    pub fn without_cpu(mut self, without: bool) -> Self {
        self.cpu = !without || self.gpu.is_none();
        self
    }

    /// Omits tables with other names, if any names are given.
    #[must_use]
    pub fn with_tables(mut self, only: &[String]) -> Self {
        self.only = only.to_vec();
        self
    }

    /// Whether a table with this name is requested.
    pub fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == id)
    }

    /// One thread of the CPU and all of them, unless they are omitted.
    pub fn cpus(&self) -> impl Iterator<Item = &Place<Cpu>> {
        [&self.serial, &self.threads].into_iter().filter(|_| self.cpu)
    }

    /// The command, the time and the machine.
    pub fn header(&self, command: String) -> Header {
        Header::of_this_machine(
            command,
            self.threads.on(|| self.threads.backend.name()),
            self.gpu.as_ref().map(|place| place.backend.gpu().info()),
            self.quick,
        )
    }

    /// Reports the current measurement.
    pub fn announce(&self, what: &str) {
        (self.tell)(what);
    }

    /// The seconds of one call, from an idle device to an idle device: the median of repetitions
    /// within the limit, never including the first call, which makes inputs, loads kernels and
    /// fills memory pools. A figure of a table that is not wanted is not run.
    ///
    /// # Errors
    /// The errors of the call and of the device.
    pub fn time<T, E: Into<Error>>(
        &self,
        id: &Id,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<Value> {
        if !self.wants(&id.table) {
            return Ok(Value::NotRun);
        }
        if self.meter.is_some() {
            return self.metered(id, device, &mut call, &mut |_| Ok(()));
        }
        let (first, _) = once(device, &mut call, 1)?;
        Ok(Value::Number(self.repeated(device, first, call)?))
    }

    /// Times several calls, one after the other, as [`time`](Self::time) does one.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn times<const N: usize>(
        &self,
        device: &impl Backend,
        calls: [(Id, Call<'_>); N],
    ) -> Result<[Value; N]> {
        let mut times = [Value::NotRun; N];
        for (time, (id, call)) in times.iter_mut().zip(calls) {
            *time = self.time(&id, device, call)?;
        }
        Ok(times)
    }

    /// The seconds of a call outside of tables, by which others are judged.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn sample<T, E: Into<Error>>(
        &self,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<f64> {
        let (first, _) = once(device, &mut call, 1)?;
        self.repeated(device, first, call)
    }

    /// Times a call of known kernels that is expected to take some seconds, as
    /// [`time`](Self::time) does. It is not run if that is too long, and not repeated if it took
    /// most of the limit.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn time_if_short<T, E: Into<Error>>(
        &self,
        id: &Id,
        expected: f64,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<Value> {
        if self.meter.is_some() || !self.wants(&id.table) {
            return self.time(id, device, call);
        }
        if self.is_long(expected) {
            return Ok(Value::NotRun);
        }
        let (first, _) = once(device, &mut call, 1)?;
        let alone = first * 2 > self.limit;
        Ok(Value::Number(if alone { first.as_secs_f64() } else { self.repeated(device, first, call)? }))
    }

    /// Times a call that may take long, and checks its result. It is not repeated if it took most
    /// of the limit, unless that may be the time of loading the kernels of a device.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time) and of the check.
    pub fn time_checked<B: Backend, T, E: Into<Error>>(
        &self,
        id: &Id,
        place: &Place<B>,
        mut call: impl FnMut() -> std::result::Result<T, E>,
        mut check: impl FnMut(T) -> Result<()>,
    ) -> Result<Value> {
        if !self.wants(&id.table) {
            return Ok(Value::NotRun);
        }
        if self.meter.is_some() {
            return self.metered(id, &place.backend, &mut call, &mut check);
        }
        let (first, result) = once(&place.backend, &mut call, 1)?;
        check(result)?;
        let alone = first * 2 > self.limit && !(place.apart && first < LOADING);
        let seconds = if alone { first.as_secs_f64() } else { self.repeated(&place.backend, first, call)? };
        Ok(Value::Number(seconds))
    }

    /// Hands a call to the meter. The last result of every run is checked.
    fn metered<T, E: Into<Error>>(
        &self,
        id: &Id,
        device: &impl Backend,
        call: &mut impl FnMut() -> std::result::Result<T, E>,
        check: &mut impl FnMut(T) -> Result<()>,
    ) -> Result<Value> {
        let Some(meter) = &self.meter else { return Ok(Value::Nothing) };
        let mut meter = meter.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut warm = false;
        meter.measure(id, &mut |calls| {
            if !warm {
                drop(once(device, call, 1)?);
                warm = true;
            }
            let (time, result) = once(device, call, calls)?;
            check(result)?;
            Ok(time)
        })?;
        Ok(Value::Nothing)
    }

    /// The median of repetitions after a first call.
    fn repeated<T, E: Into<Error>>(
        &self,
        device: &impl Backend,
        first: Duration,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<f64> {
        let (warm, _) = once(device, &mut call, 1)?;
        let left = self.limit.saturating_sub(first + warm);
        let at_once = SHORT.div_duration_f64(warm).ceil().max(1.0) as u32;
        let calls = |time: Duration| time.div_duration_f64(warm * at_once) as usize;
        let fit = calls(left).min(calls(ENOUGH).max(FEW));
        if fit == 0 {
            return Ok(warm.as_secs_f64());
        }
        let mut times = (0..self.repetitions.min(fit))
            .map(|_| Ok(once(device, &mut call, at_once)?.0.as_secs_f64() / f64::from(at_once)))
            .collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// Whether this many seconds are more than a figure may take.
    pub fn is_long(&self, expected: f64) -> bool {
        expected > self.limit.as_secs_f64()
    }

    /// Whether this many seconds are more than the keys and inputs of a figure may take.
    pub fn is_long_setup(&self, seconds: f64) -> bool {
        self.is_long(seconds / SETUP)
    }
}

/// Makes some calls in sequence, each waited for; returns the time, which is never zero, whatever
/// the clock says, and the last result.
fn once<T, E: Into<Error>>(
    device: &impl Backend,
    call: &mut impl FnMut() -> std::result::Result<T, E>,
    calls: u32,
) -> Result<(Duration, T)> {
    let mut one = || -> Result<T> {
        let result = black_box(call().map_err(Into::into)?);
        device.synchronize()?;
        Ok(result)
    };
    device.synchronize()?;
    let begin = Instant::now();
    for _ in 1..calls {
        drop(one()?);
    }
    let result = one()?;
    Ok((begin.elapsed().max(Duration::from_nanos(1)), result))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Some figure.
    pub fn id() -> Id {
        Id::new("t", "CPU", 1)
    }

    /// Whether everything was measured.
    pub fn all_run(times: &[Value]) -> bool {
        times.iter().all(|time| time.number().is_some_and(|seconds| seconds > 0.0))
    }

    fn lab(limit: f64) -> Lab {
        Lab::new(None, false, Some(Duration::from_secs_f64(limit))).unwrap()
    }

    #[test]
    fn long_calls_are_repeated_rarely_and_short_ones_often() {
        let cpu = Cpu::new();
        for (limit, most) in [(0.03, 2), (0.2, 10)] {
            let mut calls = 0;
            let sleep = || {
                calls += 1;
                std::thread::sleep(Duration::from_millis(20));
                Ok::<_, Error>(())
            };
            let seconds = lab(limit).time(&id(), &cpu, sleep).unwrap().number().unwrap();
            assert!(seconds >= 0.02 && (2..=most).contains(&calls), "{calls} calls, {seconds} s");
        }
        let mut calls = 0u64;
        let count = || {
            calls += 1;
            Ok::<_, Error>(())
        };
        let seconds = lab(1.0).time(&id(), &cpu, count).unwrap().number().unwrap();
        assert!(seconds > 0.0 && calls > REPETITIONS as u64);
    }

    /// The first call of a GPU compiles kernels.
    #[test]
    fn a_slow_first_call_does_not_count() {
        let mut calls = 0;
        let slow_at_first = || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(if calls == 1 { 300 } else { 1 }));
            Ok::<_, Error>(())
        };
        let time = lab(0.01).time(&id(), &Cpu::new(), slow_at_first).unwrap();
        assert!(time.number() < Some(0.3), "{time:?}");
    }

    #[test]
    fn what_would_take_too_long_is_not_run() {
        let (lab, cpu) = (lab(0.5), Cpu::new());
        let never = || -> Result<()> { unreachable!("it was called") };
        assert_eq!(lab.time_if_short(&id(), 0.6, &cpu, never).unwrap(), Value::NotRun);
        assert!(matches!(lab.time_if_short(&id(), 0.4, &cpu, || Ok::<_, Error>(())), Ok(Value::Number(_))));
        assert!(
            lab.time(&id(), &cpu, || Err::<(), _>(Error::WrongResult { what: "no".to_owned() })).is_err()
        );
    }

    #[test]
    fn long_calls_keep_their_first_result() {
        let lab = lab(0.03);
        for (apart, calls) in [(false, 1), (true, 2)] {
            let place = Place::new("here".to_owned(), Cpu::new(), apart, 1).unwrap();
            let mut count = 0;
            let sleep = || {
                count += 1;
                std::thread::sleep(Duration::from_millis(20));
                Ok::<_, Error>(count)
            };
            let mut checked = Vec::new();
            let check = |result| {
                checked.push(result);
                Ok(())
            };
            let time = lab.time_checked(&id(), &place, sleep, check).unwrap();
            assert!(time.number() >= Some(0.02) && count == calls, "{count} calls, {time:?}");
            assert_eq!(checked, [1]);
        }
        assert!(lab.is_long(0.04) && !lab.is_long_setup(0.04) && lab.is_long_setup(1.0));
    }

    #[test]
    fn figures_of_other_tables_are_not_run() {
        let some = lab(1.0).with_tables(&["u".to_owned()]);
        let never = || -> Result<()> { unreachable!("it was called") };
        assert_eq!(some.time(&id(), &Cpu::new(), never).unwrap(), Value::NotRun);
        assert_eq!(some.time_if_short(&id(), 0.1, &Cpu::new(), never).unwrap(), Value::NotRun);
        assert_eq!(some.time_checked(&id(), &some.serial, never, |()| Ok(())).unwrap(), Value::NotRun);
    }

    /// Runs the figures of even length twice, with one and three calls.
    struct Even;

    impl Meter for Even {
        fn measure(&mut self, id: &Id, run: &mut dyn FnMut(u32) -> Result<Duration>) -> Result<()> {
            if id.name().len().is_multiple_of(2) {
                run(1)?;
                run(3)?;
            }
            Ok(())
        }
    }

    #[test]
    fn a_meter_decides_what_is_run_and_how_often() {
        let lab = lab(1e-9).with_meter(Even);
        let (mut made, mut calls, mut checked) = (0, 0, 0);
        for name in ["1", "22"] {
            let call = || {
                calls += 1;
                Ok::<_, Error>(name)
            };
            let check = |_| {
                checked += 1;
                Ok(())
            };
            let id = Id::new("t", "CPU, 1 thread", name);
            let value = lab.time_checked(&id, &lab.serial, call, check).unwrap();
            made += usize::from(value == Value::Nothing);
        }
        assert_eq!((made, calls, checked), (2, 5, 2));
        let wrong = |()| Err(Error::WrongResult { what: "no".to_owned() });
        let even = Id::new("t", "CPU", 10);
        assert!(lab.time_checked(&even, &lab.serial, || Ok::<_, Error>(()), wrong).is_err());
    }

    #[test]
    fn names_of_figures_are_words() {
        let id = Id::new("ckks-cpu-1-thread", "2^13, 3+1 primes", "multiply by a plaintext");
        assert_eq!(id.name(), "ckks-cpu-1-thread/2^13-3+1-primes/multiply-by-a-plaintext");
        assert_eq!(
            Id::new("p2", "GPU with copies, page-locked", 16).name(),
            "p2/gpu-with-copies-page-locked/16"
        );
    }

    #[test]
    fn inputs_are_made_once_and_only_if_needed() {
        let made = std::cell::Cell::new(0);
        let lazy = Lazy::new(|| {
            made.set(made.get() + 1);
            if made.get() == 1 { Err(Error::WrongResult { what: "not yet".to_owned() }) } else { Ok(7) }
        });
        assert_eq!(made.get(), 0);
        assert!(lazy.get().is_err());
        assert_eq!((*lazy.get().unwrap(), *lazy.get().unwrap(), made.get()), (7, 7, 2));
    }

    #[test]
    fn the_cpu_is_left_out_only_beside_a_gpu() {
        assert_eq!(lab(1.0).without_cpu(true).cpus().count(), 2);
        let mut without = lab(1.0);
        without.cpu = false;
        assert_eq!(without.cpus().count(), 0);
    }

    #[test]
    fn all_tables_are_wanted_or_those_of_some_names() {
        assert!(lab(1.0).wants("p1"));
        let some = lab(1.0).with_tables(&["p3-sums".to_owned(), "p1".to_owned()]);
        assert!(some.wants("p1") && some.wants("p3-sums") && !some.wants("p3-sums-64") && !some.wants("p3"));
    }

    #[test]
    fn places_have_their_threads() {
        let lab = lab(1.0);
        assert_eq!(lab.serial.on(rayon::current_num_threads), 1);
        assert_eq!(lab.threads.on(rayon::current_num_threads), rayon::current_num_threads());
    }
}
