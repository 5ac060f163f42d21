//! Timing of calls on a device that may run behind the host.

use super::report::{Header, Value};
use crate::error::{Error, Result};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use rayon::ThreadPool;
use std::hint::black_box;
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
}

/// A call that is measured.
pub type Call<'a> = &'a mut dyn FnMut() -> he_core::Result<()>;

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
            repetitions: if quick { 3 } else { REPETITIONS },
        })
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

    /// The machine.
    pub fn header(&self) -> Header {
        Header::of_this_machine(
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
    /// within the limit, never including the first call, which loads kernels and fills memory
    /// pools.
    ///
    /// # Errors
    /// The errors of the call and of the device.
    pub fn time<T, E: Into<Error>>(
        &self,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<f64> {
        let (first, _) = once(device, &mut call, 1)?;
        self.repeated(device, first, call)
    }

    /// Times several calls, one after the other, as [`time`](Self::time) does one.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn times<const N: usize>(&self, device: &impl Backend, calls: [Call<'_>; N]) -> Result<[Value; N]> {
        let mut times = [Value::NotRun; N];
        for (time, call) in times.iter_mut().zip(calls) {
            *time = Value::Number(self.time(device, call)?);
        }
        Ok(times)
    }

    /// Times a call of known kernels that is expected to take some seconds. It is not run if that
    /// is too long, and not repeated if it took most of the limit.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn time_if_short<T, E: Into<Error>>(
        &self,
        expected: f64,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<Value> {
        if self.is_long(expected) {
            return Ok(Value::NotRun);
        }
        let (first, _) = once(device, &mut call, 1)?;
        let alone = first * 2 > self.limit;
        Ok(Value::Number(if alone { first.as_secs_f64() } else { self.repeated(device, first, call)? }))
    }

    /// The seconds of a call that may take long, and its result. It is not repeated if it took most
    /// of the limit, unless that may be the time of loading the kernels of a device.
    ///
    /// # Errors
    /// The errors of [`time`](Self::time).
    pub fn time_of<B: Backend, T, E: Into<Error>>(
        &self,
        place: &Place<B>,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<(f64, T)> {
        let (first, result) = once(&place.backend, &mut call, 1)?;
        let alone = first * 2 > self.limit && !(place.apart && first < LOADING);
        let seconds = if alone { first.as_secs_f64() } else { self.repeated(&place.backend, first, call)? };
        Ok((seconds, result))
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
            let seconds = lab(limit).time(&cpu, sleep).unwrap();
            assert!(seconds >= 0.02 && (2..=most).contains(&calls), "{calls} calls, {seconds} s");
        }
        let mut calls = 0u64;
        let count = || {
            calls += 1;
            Ok::<_, Error>(())
        };
        let seconds = lab(1.0).time(&cpu, count).unwrap();
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
        assert!(lab(0.01).time(&Cpu::new(), slow_at_first).unwrap() < 0.3);
    }

    #[test]
    fn what_would_take_too_long_is_not_run() {
        let (lab, cpu) = (lab(0.5), Cpu::new());
        let never = || -> Result<()> { unreachable!("it was called") };
        assert_eq!(lab.time_if_short(0.6, &cpu, never).unwrap(), Value::NotRun);
        assert!(matches!(lab.time_if_short(0.4, &cpu, || Ok::<_, Error>(())), Ok(Value::Number(_))));
        assert!(lab.time(&cpu, || Err::<(), _>(Error::WrongResult { what: "no".to_owned() })).is_err());
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
            let (seconds, first) = lab.time_of(&place, sleep).unwrap();
            assert!(seconds >= 0.02 && first == 1 && count == calls, "{count} calls, {seconds} s");
        }
        assert!(lab.is_long(0.04) && !lab.is_long_setup(0.04) && lab.is_long_setup(1.0));
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
