//! Several engines that share the work of a file: streams of one device, or of several.

use crate::chosen::Chosen;
use crate::error::{Error, Result};
use crate::scheme::engine::Engine;
use crate::scheme::{KeyMaker, Scheme};
use crate::watch::Watch;
use he::Device;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The streams per CUDA device: while one computes, others pack, copy and unpack.
const STREAMS: usize = 3;

/// A parameter set on one or more streams.
pub struct Team<S: Scheme> {
    engines: Vec<Engine<S>>,
    watch: Arc<dyn Watch>,
    chosen: Chosen,
}

impl<S: Scheme> Team<S> {
    /// Prepares the parameters on each device: once on the CPU, and on a CUDA device on as many
    /// streams as keep it busy while the host works on files.
    ///
    /// # Errors
    /// There is no device; a device fails.
    pub fn new(params: &S::Params, devices: &[Device]) -> Result<Self> {
        let engines = streams(devices)?.into_iter().map(|device| Engine::new(params, device));
        let engines = engines.collect::<Result<Vec<_>>>()?;
        if engines.is_empty() {
            return Err(Error::NoDevice);
        }
        Ok(Self { engines, watch: Arc::new(()), chosen: Chosen::default() })
    }

    /// Reports the progress of the work to `watch`.
    #[must_use]
    pub fn watched(self, watch: Arc<dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Computes these parts of results alone.
    #[must_use]
    pub fn choosing(self, chosen: Chosen) -> Self {
        Self { chosen, ..self }
    }

    /// Whether a frame of the result is computed.
    pub fn computes(&self, frame: usize) -> bool {
        self.chosen.has(frame)
    }

    /// The receiver of progress reports.
    pub fn watch(&self) -> &dyn Watch {
        &*self.watch
    }

    /// The engines, at least one.
    pub fn engines(&self) -> &[Engine<S>] {
        &self.engines
    }

    /// The engine of work that is not shared.
    pub fn lead(&self) -> &Engine<S> {
        &self.engines[0]
    }

    /// Makes something for each engine.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn each<'a, T>(&'a self, make: impl FnMut(&'a Engine<S>) -> Result<T>) -> Result<Vec<T>> {
        self.engines.iter().map(make).collect()
    }

    /// The evaluation keys of the lead on each engine.
    ///
    /// # Errors
    /// The device fails.
    pub fn share(&self, keys: &S::Evaluation) -> Result<Vec<S::Evaluation>> {
        self.each(|engine| Ok(S::Secret::evaluation_to(keys, &engine.ring)?))
    }

    /// Runs jobs: `source` hands them out, `work(engine, job)` does them on the engines in turn,
    /// and `sink` takes the results in the order of the jobs. Each engine has a thread, and so has
    /// the source; the sink runs on the calling one. At most three jobs per engine exist at a time.
    /// Where there are no threads, everything runs on the calling one, job by job.
    ///
    /// # Errors
    /// The first error in the order of the jobs.
    pub fn run<J: Send, R: Send>(
        &self,
        source: impl FnOnce(&mut Jobs<'_, J>) -> Result<()> + Send,
        work: impl Fn(usize, J) -> Result<R> + Sync,
        sink: impl FnMut(R) -> Result<()>,
    ) -> Result<()> {
        if cfg!(target_family = "wasm") {
            self.run_here(source, work, sink)
        } else {
            self.run_on_threads(source, work, sink)
        }
    }

    fn run_on_threads<J: Send, R: Send>(
        &self,
        source: impl FnOnce(&mut Jobs<'_, J>) -> Result<()> + Send,
        work: impl Fn(usize, J) -> Result<R> + Sync,
        mut sink: impl FnMut(R) -> Result<()>,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let work = &work;
            let mut engines = Vec::new();
            let mut results: Vec<Receiver<Result<R>>> = Vec::new();
            for engine in 0..self.engines.len() {
                let (give, todo) = sync_channel::<J>(1);
                let (done, take) = sync_channel(1);
                engines.push(give);
                results.push(take);
                scope.spawn(move || {
                    for job in todo {
                        let result = work(engine, job);
                        let failed = result.is_err();
                        // Nobody takes it: another job has failed.
                        if done.send(result).is_err() || failed {
                            break;
                        }
                    }
                });
            }
            let source = scope.spawn(move || source(&mut Jobs { to: To::Threads(engines), next: 0 }));
            for take in results.iter().cycle() {
                // The engine whose turn it is has ended: there are no more jobs.
                let Ok(result) = take.recv() else { break };
                sink(result?)?;
            }
            source.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn run_here<J, R>(
        &self,
        source: impl FnOnce(&mut Jobs<'_, J>) -> Result<()>,
        work: impl Fn(usize, J) -> Result<R>,
        mut sink: impl FnMut(R) -> Result<()>,
    ) -> Result<()> {
        let mut first = Ok(());
        let mut take = |at: usize, job: J| {
            first = work(at % self.engines.len(), job).and_then(&mut sink);
            first.is_ok()
        };
        let given = source(&mut Jobs { to: To::Here(&mut take), next: 0 });
        first.and(given)
    }
}

/// The devices, each CUDA device several times; streams of one device are not neighbours.
fn streams(devices: &[Device]) -> Result<Vec<Device>> {
    let gpus = || devices.iter().filter(|device| !device.is_cpu());
    let more: Vec<Device> =
        (1..STREAMS).flat_map(|_| gpus().map(Device::another)).collect::<he_core::Result<_>>()?;
    Ok(devices.iter().cloned().chain(more).collect())
}

/// The destination of the jobs of a source.
pub struct Jobs<'a, J> {
    to: To<'a, J>,
    next: usize,
}

enum To<'a, J> {
    /// The engines, each on a thread of its own.
    Threads(Vec<SyncSender<J>>),
    /// A function that does a job of this number at once, and says whether there may be more.
    Here(&'a mut dyn FnMut(usize, J) -> bool),
}

impl<J> Jobs<'_, J> {
    /// Gives a job to the engine whose turn it is; waits while it has enough.
    ///
    /// # Errors
    /// The work has stopped: its own error is the one that counts.
    pub fn give(&mut self, job: J) -> Result<()> {
        let at = self.next;
        self.next += 1;
        let given = match &mut self.to {
            To::Threads(engines) => engines[at % engines.len()].send(job).is_ok(),
            To::Here(take) => take(at, job),
        };
        if given { Ok(()) } else { Err(Error::Stopped) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Ckks;
    use he_core::ckks::{CkksParams, CkksSpec};
    use std::time::Duration;

    fn team(engines: usize) -> Team<Ckks> {
        let spec = CkksSpec::from_bits(4, &[45, 36], &[46], 36.0).unwrap();
        Team::new(&CkksParams::insecure(spec).unwrap(), &vec![Device::cpu(); engines]).unwrap()
    }

    fn numbers(count: u64) -> impl FnOnce(&mut Jobs<'_, u64>) -> Result<()> + Send {
        move |jobs| (0..count).try_for_each(|job| jobs.give(job))
    }

    #[test]
    fn results_come_in_order_from_every_engine() {
        for engines in 1..=4 {
            for count in [0, 1, 3, 4, 50] {
                let work = |engine: usize, job: u64| {
                    // Early jobs last longer than late ones.
                    std::thread::sleep(Duration::from_micros(500 / (job + 1)));
                    Ok((engine, job))
                };
                let expected: Vec<_> = (0..count).map(|job| (job as usize % engines, job)).collect();
                let (team, mut results) = (team(engines), Vec::new());
                let sink = |result| {
                    results.push(result);
                    Ok(())
                };
                team.run_on_threads(numbers(count), work, sink).unwrap();
                assert_eq!(results, expected);
                results.clear();
                let sink = |result| {
                    results.push(result);
                    Ok(())
                };
                team.run_here(numbers(count), work, sink).unwrap();
                assert_eq!(results, expected);
            }
        }
    }

    #[test]
    fn the_first_error_counts_wherever_it_is() {
        type Source = fn(&mut Jobs<'_, u64>) -> Result<()>;
        type Work = fn(usize, u64) -> Result<u64>;
        type Sink<'a> = &'a mut dyn FnMut(u64) -> Result<()>;
        fn bad(what: &str) -> Error {
            Error::InFile { name: what.to_owned(), source: Box::new(Error::NoDevice) }
        }
        let named = |error: Error| match error {
            Error::InFile { name, .. } => name,
            other => panic!("{other}"),
        };
        for (engines, threads) in [1, 2, 3].into_iter().flat_map(|n| [(n, true), (n, false)]) {
            let team = team(engines);
            let run = |source: Source, work: Work, sink: Sink<'_>| match threads {
                true => team.run_on_threads(source, work, sink),
                false => team.run_here(source, work, sink),
            };
            let mut taken = 0;
            let work: Work = |_, job| if job >= 7 { Err(bad(&job.to_string())) } else { Ok(job) };
            let error = run(|jobs| numbers(1000)(jobs), work, &mut |_| {
                taken += 1;
                Ok(())
            });
            assert_eq!((named(error.unwrap_err()), taken), ("7".to_owned(), 7));
            let error = run(|jobs| numbers(1000)(jobs), |_, job| Ok(job), &mut |job| match job {
                5 => Err(bad("sink")),
                _ => Ok(()),
            });
            assert_eq!(named(error.unwrap_err()), "sink");
            let mut taken = Vec::new();
            let source: Source = |jobs| {
                numbers(4)(jobs)?;
                Err(bad("source"))
            };
            let error = run(source, |_, job| Ok(job), &mut |job| {
                taken.push(job);
                Ok(())
            });
            assert_eq!((named(error.unwrap_err()), taken), ("source".to_owned(), vec![0, 1, 2, 3]));
        }
    }

    /// A thread that panics ends the work with its panic, wherever it is; the team goes on.
    #[test]
    fn panics_come_through() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        for (engines, at) in (1..=4).flat_map(|engines| [0, 1, 5, 17].map(|at| (engines, at))) {
            let team = team(engines);
            for stage in 0..3 {
                let panics = |found: usize, job: u64| {
                    assert!(found != stage || job != at, "on purpose");
                };
                let source = |jobs: &mut Jobs<'_, u64>| {
                    (0..100).try_for_each(|job| {
                        panics(0, job);
                        jobs.give(job)
                    })
                };
                let work = |_: usize, job: u64| {
                    panics(1, job);
                    Ok(job)
                };
                let mut taken = Vec::new();
                let sink = |job| {
                    panics(2, job);
                    taken.push(job);
                    Ok(())
                };
                let done = catch_unwind(AssertUnwindSafe(|| team.run_on_threads(source, work, sink)));
                assert!(done.is_err(), "{engines} engines, stage {stage}, job {at}");
                assert!(taken.len() as u64 <= at && taken.iter().copied().eq(0..taken.len() as u64));
                let mut taken = 0;
                let sink = |_| {
                    taken += 1;
                    Ok(())
                };
                team.run_on_threads(numbers(50), |_, job| Ok(job), sink).unwrap();
                assert_eq!(taken, 50);
            }
        }
    }

    #[test]
    fn a_team_has_someone() {
        let spec = CkksSpec::from_bits(4, &[45, 36], &[46], 36.0).unwrap();
        assert!(Team::<Ckks>::new(&CkksParams::insecure(spec).unwrap(), &[]).is_err());
    }
}
