//! Timing of calls on a device that may run behind the host.

use super::report::{Header, Value};
use crate::device::Device;
use crate::error::{CliError, Result};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use rayon::ThreadPool;
use std::hint::black_box;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A device with the host's threads that work for it.
pub struct Place<B> {
    /// What columns call it.
    pub name: String,
    /// The device.
    pub backend: B,
    /// Whether its memory is not the host's, so that copies are worth a column of their own.
    pub apart: bool,
    pool: ThreadPool,
}

impl<B: Backend> Place<B> {
    fn new(name: String, backend: B, apart: bool, threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| {
            CliError::new(format!("cannot start {threads} threads: {error}"))
                .hint("allow this program more threads, or fewer with RAYON_NUM_THREADS")
        })?;
        Ok(Self { name, backend, apart, pool })
    }

    /// What columns with copies are called.
    pub fn with_copies(&self) -> String {
        format!("{} with copies", self.name)
    }

    /// Works with this place's threads.
    pub fn on<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

/// Where and how long is measured.
pub struct Lab {
    /// Small sizes.
    pub quick: bool,
    /// One thread of the CPU.
    pub serial: Place<Cpu>,
    /// All threads of the CPU.
    pub threads: Place<Cpu>,
    /// The GPU, if one was chosen.
    pub gpu: Option<Place<Cuda>>,
    limit: Duration,
    repetitions: usize,
}

/// Runs code for every place that can do what its name says, in the order of the columns.
macro_rules! on_places {
    // RNS rings: CKKS, BFV, BGV.
    (ring $lab:expr, $place:ident => $work:expr) => {{
        on_places!(cpu $lab, $place => $work);
        on_places!(gpu $lab, $place => $work);
    }};
    // Multi-limb integers: `bigckks`. Both lines of `ring`, once he-cuda implements `WideOps`.
    (wide $lab:expr, $place:ident => $work:expr) => {{
        on_places!(cpu $lab, $place => $work);
    }};
    // TFHE. Both lines of `ring`, once he-cuda implements `LweOps`.
    (lwe $lab:expr, $place:ident => $work:expr) => {{
        on_places!(cpu $lab, $place => $work);
    }};
    (cpu $lab:expr, $place:ident => $work:expr) => {{
        for $place in [&$lab.serial, &$lab.threads] {
            $work
        }
    }};
    (gpu $lab:expr, $place:ident => $work:expr) => {{
        if let Some($place) = &$lab.gpu {
            $work
        }
    }};
}
pub(crate) use on_places;

/// Repetitions of short calls.
const REPETITIONS: usize = 51;
/// Calls shorter than this are timed several at once: clocks tick in tens of nanoseconds.
const SHORT: Duration = Duration::from_micros(20);

impl Lab {
    /// On a device, always with the CPU beside it.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn new(device: Device, quick: bool, limit: Option<Duration>) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        let gpu = match device {
            Device::Cpu(_) => None,
            Device::Cuda(devices) => devices.into_iter().next(),
        };
        Ok(Self {
            quick,
            serial: Place::new("CPU, 1 thread".to_owned(), Cpu::new(), false, 1)?,
            threads: Place::new(format!("CPU, {threads} thread{plural}"), Cpu::new(), false, threads)?,
            gpu: gpu.map(|cuda| Place::new("GPU".to_owned(), cuda, true, threads)).transpose()?,
            limit: limit.unwrap_or(Duration::from_secs(if quick { 1 } else { 20 })),
            repetitions: if quick { 3 } else { REPETITIONS },
        })
    }

    /// On which machine.
    pub fn header(&self) -> Header {
        Header::of_this_machine(
            self.threads.on(|| self.threads.backend.name()),
            self.gpu.as_ref().map(|place| place.backend.gpu().info()),
            self.quick,
        )
    }

    /// Says at a terminal what is measured now.
    pub fn announce(&self, what: &str) {
        let mut stderr = std::io::stderr().lock();
        if stderr.is_terminal() {
            // The work is worth doing, whether anybody follows it or not.
            let _ = writeln!(stderr, "he-cli: measuring {what}");
        }
    }

    /// Seconds of one call, from an idle device to an idle device: the median of repetitions after a call that loads kernels and fills memory
    /// pools; of a call that takes most of the limit, that one.
    ///
    /// # Errors
    /// Those of the call and of the device.
    pub fn time<T, E: Into<CliError>>(
        &self,
        device: &impl Backend,
        mut call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<f64> {
        let mut once = || -> Result<()> {
            drop(black_box(call().map_err(Into::into)?));
            Ok(device.synchronize()?)
        };
        let begin = Instant::now();
        once()?;
        let first = begin.elapsed();
        if first * 2 > self.limit {
            return Ok(first.as_secs_f64());
        }
        let begin = Instant::now();
        once()?;
        let warm = begin.elapsed().max(Duration::from_nanos(20));
        let at_once = SHORT.div_duration_f64(warm).ceil().max(1.0) as usize;
        let fit = (self.limit.saturating_sub(first)).div_duration_f64(warm * at_once as u32) as usize;
        let mut times = (0..self.repetitions.min(fit).max(1))
            .map(|_| {
                let begin = Instant::now();
                for _ in 0..at_once {
                    once()?;
                }
                Ok(begin.elapsed().as_secs_f64() / at_once as f64)
            })
            .collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// The time of a call that is expected to take some seconds, unless that is too long.
    ///
    /// # Errors
    /// Those of [`time`](Self::time).
    pub fn time_if_short<T, E: Into<CliError>>(
        &self,
        expected: f64,
        device: &impl Backend,
        call: impl FnMut() -> std::result::Result<T, E>,
    ) -> Result<Value> {
        if self.is_long(expected) {
            return Ok(Value::NotRun);
        }
        self.time(device, call).map(Value::Number)
    }

    /// Whether so many seconds are more than a figure may take.
    pub fn is_long(&self, expected: f64) -> bool {
        expected > self.limit.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(limit: f64) -> Lab {
        Lab::new(Device::Cpu(Cpu::new()), false, Some(Duration::from_secs_f64(limit))).unwrap()
    }

    #[test]
    fn long_calls_are_made_once_and_short_ones_often() {
        let cpu = Cpu::new();
        for (sleep, limit, most) in [(20, 0.03, 1), (5, 0.1, 21)] {
            let mut calls = 0;
            let seconds = lab(limit)
                .time(&cpu, || {
                    calls += 1;
                    std::thread::sleep(Duration::from_millis(sleep));
                    Ok::<_, CliError>(())
                })
                .unwrap();
            assert!(seconds >= sleep as f64 * 1e-3 && calls <= most, "{calls} calls, {seconds} s");
        }
        let mut calls = 0u64;
        let count = || {
            calls += 1;
            Ok::<_, CliError>(())
        };
        let seconds = lab(1.0).time(&cpu, count).unwrap();
        assert!(seconds > 0.0 && calls > REPETITIONS as u64);
    }

    #[test]
    fn what_would_take_too_long_is_not_run() {
        let (lab, cpu) = (lab(0.5), Cpu::new());
        let never = || -> Result<()> { unreachable!("it was called") };
        assert_eq!(lab.time_if_short(0.6, &cpu, never).unwrap(), Value::NotRun);
        assert!(matches!(lab.time_if_short(0.4, &cpu, || Ok::<_, CliError>(())), Ok(Value::Number(_))));
        assert!(lab.time(&cpu, || Err::<(), _>(CliError::new("no"))).is_err());
    }

    #[test]
    fn places_have_their_threads() {
        let lab = lab(1.0);
        assert_eq!(lab.serial.on(rayon::current_num_threads), 1);
        assert_eq!(lab.threads.on(rayon::current_num_threads), rayon::current_num_threads());
    }
}
