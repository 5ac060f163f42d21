//! Every figure of the tables of `he-cli bench papers`, `ops`, `rings`, `matrices`, `aes` and
//! `gates` by Criterion: `cargo bench --bench workloads`, or some of them by a part of their names,
//! which are `table/column/row`:
//!
//! `cargo bench --bench workloads -- 'p4-ntt/cpu-1-thread'`, `-- 'bfv.*/rotate'`, `-- --list`.
//!
//! A first GPU is measured beside the CPU. The workloads run in a thread of their own and ask
//! Criterion, which cannot leave the main thread, how many calls to make.

use criterion::Criterion;
use he_bench::measure::{Id, Lab, Meter};
use he_bench::report::Show;
use he_bench::{Error, Result, aes, encrypted_matrices, gates, matrices, ops, papers, rings};
use he_cuda::Cuda;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

type Tables = fn(&Lab, &mut Show<'_>) -> Result<()>;

/// The workloads.
const SUBJECTS: [Tables; 7] = [
    |lab, show| papers::tables(lab, &[], show),
    ops::tables,
    rings::tables,
    matrices::tables,
    encrypted_matrices::tables,
    aes::tables,
    gates::tables,
];

/// The end of a channel that is in the thread of the workloads.
struct Remote {
    figures: Sender<Id>,
    /// Numbers of calls; none for the end of a figure.
    calls: Receiver<Option<u64>>,
    times: Sender<Duration>,
}

fn gone<T>(_: T) -> Error {
    Error::WrongResult { what: "Criterion has ended before the workloads".to_owned() }
}

impl Meter for Remote {
    fn measure(&mut self, id: &Id, run: &mut dyn FnMut(u32) -> Result<Duration>) -> Result<()> {
        self.figures.send(id.clone()).map_err(gone)?;
        while let Some(calls) = self.calls.recv().map_err(gone)? {
            let time = run(u32::try_from(calls).unwrap_or(u32::MAX))?;
            self.times.send(time).map_err(gone)?;
        }
        Ok(())
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let (figures, next) = channel::<Id>();
    let (ask, calls) = channel();
    let (times, answer) = channel();
    let workloads = std::thread::spawn(move || -> Result<()> {
        let gpu = Cuda::open(0).inspect_err(|error| eprintln!("no GPU: {error}")).ok();
        let lab = Lab::new(gpu, false, None)?.with_meter(Remote { figures, calls, times });
        let all = SUBJECTS.iter().try_for_each(|tables| tables(&lab, &mut |_| Ok(())));
        // Before the channels close, which ends the program.
        all.inspect_err(|error| eprintln!("error: {error}"))
    });
    for id in next {
        criterion.bench_function(id.name(), |bencher| {
            bencher.iter_custom(|calls| {
                let sent = ask.send(Some(calls)).ok();
                sent.and_then(|()| answer.recv().ok()).unwrap_or_else(|| std::process::exit(1))
            });
        });
        if ask.send(None).is_err() {
            break;
        }
    }
    criterion.final_summary();
    if !matches!(workloads.join(), Ok(Ok(()))) {
        std::process::exit(1);
    }
}
