//! P3's jobs (HElib, TFHE and SEAL, 2018) on bits packed in the slots of BGV: additions, sums and
//! comparisons of numbers whose bits lie side by side.
//!
//! `cargo bench --bench p3 -- cpu` or `-- cuda`; `RAYON_NUM_THREADS=1` for one thread. Both of the
//! paper's tables at every size, by BGV and BFV and beside the paper's figures, are measured by
//! `he-cli bench papers p3`, which also checks every result.
#![allow(missing_docs)]

#[path = "common/timing.rs"]
mod timing;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::Result;
use he::backend::{Cpu, RingOps};
use he::bgv::{Bgv, BgvParams};
use he::circuits::bits::packed::{
    Arithmetic, Bit, Encrypted, ParamsChoice, SlotGates, WordGates, WordLayout, params_for,
};
use he::exact::{Encryptor, Evaluator};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::time::Duration;

const WIDTH: usize = 32;

#[derive(Clone, Copy)]
enum Job {
    Less,
    Sum(usize),
    Count(usize),
}

impl Job {
    fn name(self) -> &'static str {
        match self {
            Self::Less => "less-than",
            Self::Sum(_) => "sum-by-full-adders",
            Self::Count(_) => "sum-by-counting",
        }
    }

    fn numbers(self) -> usize {
        match self {
            Self::Less => 2,
            Self::Sum(count) | Self::Count(count) => count,
        }
    }

    fn layout(self, slots: usize) -> Result<WordLayout> {
        match self {
            Self::Less => WordLayout::for_comparison(slots, WIDTH),
            Self::Sum(count) | Self::Count(count) => WordLayout::for_sum(slots, count, WIDTH),
        }
    }

    fn run<A: Arithmetic>(self, gates: &WordGates<A>, words: &[Bit<A::Batch>]) -> Result<Bit<A::Batch>> {
        match self {
            Self::Less => gates.less_than(&words[0], &words[1]),
            Self::Sum(_) => gates.sum(words),
            Self::Count(_) => gates.sum_by_counting(words),
        }
    }

    fn params(self) -> Result<BgvParams> {
        params_for::<Bgv>(&ParamsChoice::default(), |prediction| {
            let gates = SlotGates::new(prediction);
            let words = gates.bits(gates.arithmetic().fresh(self.numbers()));
            self.run(&WordGates::new(gates, self.layout(1 << 12)?), &words).map(drop)
        })
    }
}

fn measure<B: RingOps>(c: &mut Criterion, device: &str, backend: &B, job: Job) -> Result<()> {
    let (params, rng) = (job.params()?, &mut ChaCha20Rng::seed_from_u64(2018));
    let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
    let layout = job.layout(ring.n())?;
    let steps = match job {
        Job::Less => layout.comparison_steps(),
        Job::Sum(_) | Job::Count(_) => layout.addition_steps(),
    };
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng)?;
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations(steps),
        rng,
    )?;
    let ev = Evaluator::new(&params, &ring)?;
    let number: Vec<bool> = (0..WIDTH).map(|bit| bit % 3 == 0).collect();
    let slots = layout.pack(&vec![number; layout.capacity()])?;
    let plain = ev.encoder().encode_batch(&vec![slots.as_slice(); job.numbers()])?;
    let inputs = Encryptor::new(&params, &public)?.encrypt(&plain, rng)?;
    let gates = WordGates::new(SlotGates::new(Encrypted::new(&ev, &keys)).with_batch(32), layout);
    let words = gates.gates().bits(inputs);

    let mut group = c.benchmark_group(format!("p3-{device}-{}", job.name()));
    group.throughput(Throughput::Elements(layout.capacity() as u64));
    group.bench_function(BenchmarkId::from_parameter(job.numbers()), |b| {
        b.iter_custom(|iters| {
            timing::time(backend, iters, || {
                let result = job.run(&gates, &words)?;
                backend.synchronize()?;
                Ok(result)
            })
        });
    });
    Ok(())
}

fn cpu(c: &mut Criterion) {
    for job in [Job::Less, Job::Sum(2), Job::Sum(3)] {
        measure(c, "cpu", &Cpu::new(), job).expect("the CPU works");
    }
}

fn cuda(c: &mut Criterion) {
    let Some(cuda) = timing::cuda() else { return };
    for job in [Job::Less, Job::Sum(2), Job::Sum(3), Job::Sum(32), Job::Count(32), Job::Count(256)] {
        measure(c, "cuda", &cuda, job).expect("the device works");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = cpu, cuda
}
criterion_main!(benches);
