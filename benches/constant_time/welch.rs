//! Tests whether the time of a function distinguishes two classes of inputs: Welch's t-test over
//! interleaved calls, as in dudect (Reparaz, Balasch, Verbauwhede, Dude, is my code constant time?,
//! DATE 2017).

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Below this no difference has been found; the null experiments stay below it, too.
const UNSUSPICIOUS: f64 = 4.5;
/// From here on, the classes are distinguished beyond doubt.
const LEAK: f64 = 10.0;
/// The least number of calls that say anything.
const ENOUGH: usize = 1000;
/// Calls before anything is recorded.
const WARM_UP: usize = 50;

/// Inputs of two kinds: those of one fixed or special value, and two independent sets of random
/// ones.
pub struct Inputs<I> {
    pub special: Vec<I>,
    pub random: Vec<I>,
    pub other_random: Vec<I>,
}

impl<I> Inputs<I> {
    /// As many of each as are needed to keep the processor from learning single inputs.
    const COUNT: usize = 64;

    /// Neighbours in memory are of different sets.
    pub fn new(mut special: impl FnMut() -> I, mut random: impl FnMut() -> I) -> Self {
        let mut inputs = Self { special: Vec::new(), random: Vec::new(), other_random: Vec::new() };
        for _ in 0..Self::COUNT {
            inputs.special.push(special());
            inputs.random.push(random());
            inputs.other_random.push(random());
        }
        inputs
    }
}

/// Zeros that were written: memory that never was is one page of zeros for all vectors, and a
/// smaller part of the caches.
pub fn zeros<T: Clone + Default>(count: usize) -> Vec<T> {
    (0..count).map(|_| black_box(T::default())).collect()
}

/// The experiments to measure, and the number of their samples.
pub struct Session {
    /// Part of the names of the experiments.
    pub filter: String,
    /// The instructions that are measured.
    pub unit: String,
    /// The recorded calls per experiment.
    pub samples: usize,
    /// The time after which an experiment ends with the samples that it has.
    pub limit: Duration,
    pub leaks: usize,
}

impl Session {
    /// Prints the head of the table.
    pub fn head(&self) {
        println!("| function | unit | calls | cycles | t | null t | difference | verdict |");
        println!("|---|---|---|---|---|---|---|---|");
    }

    /// Prints one row: |t| between random inputs (null experiment) and between special and random
    /// ones, and the difference of the means. `prepare` is not timed and builds its result at the
    /// same place in memory each time. Before each call that is timed there is one on a fixed
    /// input. Returns whether it leaks.
    pub fn claim<I, S, R>(
        &mut self,
        name: &str,
        inputs: &Inputs<I>,
        mut prepare: impl FnMut(&I) -> S,
        mut run: impl FnMut(&mut S) -> R,
    ) -> bool {
        if !name.contains(&self.filter) {
            return false;
        }
        let null = self.experiment([&inputs.random, &inputs.other_random], &mut prepare, &mut run);
        let found = self.experiment([&inputs.special, &inputs.random], &mut prepare, &mut run);
        let verdict = match found.t.abs() {
            _ if found.samples.min(null.samples) < ENOUGH => "too few calls",
            t if t >= LEAK && null.t.abs() < LEAK => {
                self.leaks += 1;
                "LEAK"
            }
            t if t >= UNSUSPICIOUS => "suspicious",
            _ => "ok",
        };
        println!(
            "| {name} | {} | {} | {} | {:.1} | {:.1} | {:+.1} | {verdict} |",
            self.unit,
            found.samples,
            found.median,
            found.t.abs(),
            null.t.abs(),
            found.difference,
        );
        verdict == "LEAK"
    }

    fn experiment<I, S, R>(
        &self,
        sets: [&[I]; 2],
        prepare: &mut impl FnMut(&I) -> S,
        run: &mut impl FnMut(&mut S) -> R,
    ) -> Found {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut times: [Vec<u64>; 2] = [(); 2].map(|()| Vec::with_capacity(self.samples));
        let start = Instant::now();
        let mut state = None;
        for call in 0..WARM_UP + self.samples {
            let class = usize::from(rng.random::<bool>());
            let set = sets[class];
            let input = &set[rng.next_u32() as usize % set.len()];
            // The memory of the last state is free when the next one is built.
            drop(state.take());
            let state = state.insert(prepare(input));
            // Building it left traces of its class in caches and predictors, which the work on one
            // random input covers.
            let mut cover = prepare(&sets[1][0]);
            drop(black_box(run(black_box(&mut cover))));
            drop(cover);
            let before = clock();
            let result = black_box(run(black_box(state)));
            let after = clock();
            drop(result);
            if call >= WARM_UP {
                times[class].push(after.wrapping_sub(before));
            }
            if start.elapsed() > self.limit {
                break;
            }
        }
        Found::of(&times)
    }
}

struct Found {
    samples: usize,
    median: u64,
    /// The largest in magnitude over all crops.
    t: f64,
    /// The difference of the means, at that crop.
    difference: f64,
}

impl Found {
    /// Over all times, and over those below several percentiles, since interrupts would hide what
    /// the fast calls reveal.
    fn of(times: &[Vec<u64>; 2]) -> Self {
        let mut all: Vec<u64> = times.iter().flatten().copied().collect();
        all.sort_unstable();
        let at =
            |part: f64| all.get((all.len().saturating_sub(1) as f64 * part) as usize).copied().unwrap_or(0);
        let mut found = Self { samples: all.len(), median: at(0.5), t: 0.0, difference: 0.0 };
        for part in [1.0, 0.99, 0.95, 0.9, 0.75, 0.5] {
            let cut = at(part);
            let [a, b] = times.each_ref().map(|times| Moments::of(times.iter().filter(|&&t| t <= cut)));
            let t = (a.mean - b.mean) / (a.variance / a.count + b.variance / b.count).sqrt();
            if t.is_finite() && t.abs() > found.t.abs() {
                (found.t, found.difference) = (t, a.mean - b.mean);
            }
        }
        found
    }
}

struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of<'a>(times: impl Iterator<Item = &'a u64> + Clone) -> Self {
        let count = times.clone().count() as f64;
        let mean = times.clone().map(|&t| t as f64).sum::<f64>() / count;
        let variance = times.map(|&t| (t as f64 - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { count, mean, variance }
    }
}

/// Cycles of the time-stamp counter where there is one, otherwise nanoseconds.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn clock() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: both instructions are part of every x86-64 processor and touch no memory.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn clock() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
