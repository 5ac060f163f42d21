//! Functions on CKKS: depth, refreshes, time and errors of each.

use super::bootstrap::{Effort, Subject, least};
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::backend::RingOps;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper};
use he_core::circuits::Requirements;
use he_core::circuits::ckks::{Comparison, Function, GroupFunction, Groups, Refresher};
use he_core::ckks::{Ciphertext, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, SecretKey};
use rand::{RngExt, rngs::ChaCha20Rng};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// The name of the table of parameters.
fn id(subject: &Subject) -> String {
    format!("functions-{}", subject.name)
}

/// The names of the tables.
pub fn names(subjects: &[Subject]) -> Vec<String> {
    subjects.iter().map(id).collect()
}

/// The tables of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; the errors of `show`.
pub fn tables(lab: &Lab, subjects: &[Subject], effort: Effort, show: &mut Show<'_>) -> Result<()> {
    for subject in subjects.iter().filter(|subject| lab.wants(&id(subject))) {
        let (device, rows) = match &lab.gpu {
            Some(gpu) => (&gpu.name, measure(lab, gpu, subject, effort)?),
            None => (&lab.threads.name, measure(lab, &lab.threads, subject, effort)?),
        };
        show(table(subject, device, &rows, effort))?;
    }
    Ok(())
}

/// The functions of all slots.
enum Kind {
    One(Function),
    Two(Comparison),
    Groups(GroupFunction),
}

impl Kind {
    fn interval(&self) -> RangeInclusive<f64> {
        match self {
            Self::One(function) => function.interval(),
            Self::Two(comparison) => comparison.interval(),
            Self::Groups(function) => function.interval(),
        }
    }

    fn requirements(&self) -> Requirements {
        match self {
            Self::One(function) => function.requirements(),
            Self::Two(comparison) => comparison.requirements(),
            Self::Groups(function) => function.requirements(),
        }
    }

    fn relinearisations(&self) -> usize {
        match self {
            Self::One(function) => function.relinearisations(),
            Self::Two(comparison) => comparison.relinearisations(),
            Self::Groups(function) => function.relinearisations(),
        }
    }

    /// The largest error of the approximation.
    fn error(&self) -> f64 {
        match self {
            Self::One(function) => function.error(),
            Self::Two(comparison) => comparison.error(),
            Self::Groups(function) => function.error(),
        }
    }

    fn refreshes<B: RingOps>(&self, level: usize, refresher: &impl Refresher<B>) -> Result<usize> {
        let (refreshes, _) = match self {
            Self::One(function) => function.plan(level, refresher)?,
            Self::Two(comparison) => comparison.plan([level; 2], refresher)?,
            Self::Groups(function) => function.plan(level, refresher)?,
        };
        Ok(refreshes)
    }

    fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        [x, y]: [&Ciphertext<B>; 2],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        Ok(match self {
            Self::One(function) => function.apply(ev, x, keys, refresher)?,
            Self::Two(comparison) => comparison.apply(ev, x, y, keys, refresher)?,
            Self::Groups(function) => function.apply(ev, x, keys, refresher)?,
        })
    }

    /// Evaluates the function in float64.
    fn apply_plain(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        match self {
            Self::One(function) => function.apply_plain_all(x),
            Self::Two(comparison) => x.iter().zip(y).map(|(&x, &y)| comparison.apply_plain(x, y)).collect(),
            Self::Groups(function) => function.apply_plain(x),
        }
    }
}

/// A measured function.
struct Work {
    name: String,
    bits: u32,
    kind: Kind,
}

/// The functions that are measured, for vectors of this many slots.
fn works(slots: usize) -> Result<Vec<Work>> {
    let one = |name: &str, bits, function| Work { name: name.to_owned(), bits, kind: Kind::One(function) };
    let two =
        |name: &str, bits, comparison| Work { name: name.to_owned(), bits, kind: Kind::Two(comparison) };
    let half = slots / 2;
    let whole = Groups::consecutive(slots, slots)?;
    let few = Groups::strided(slots, 10, slots / 16)?;
    let mut list = vec![
        one("relu", 12, Function::relu(1.0, 12)?),
        one("abs", 12, Function::abs(1.0, 12)?),
        one("sign, gap 2^-8", 12, Function::sign(1.0, 1.0 / 256.0, 12)?),
        one("step, gap 2^-8", 12, Function::step(1.0, 1.0 / 256.0, 12)?),
        two("compare, gap 2^-8", 12, Comparison::compare(0.0..=1.0, 1.0 / 256.0, 12)?),
        two("max", 12, Comparison::max(0.0..=1.0, 12)?),
        two("min", 12, Comparison::min(0.0..=1.0, 12)?),
        one("inverse on [1/16, 1]", 12, Function::inverse(1.0 / 16.0..=1.0, 12)?),
        one("sqrt on [1/64, 1]", 12, Function::sqrt(1.0 / 64.0..=1.0, 12)?),
        one("inverse_sqrt on [1/64, 1]", 12, Function::inverse_sqrt(1.0 / 64.0..=1.0, 12)?),
        one("exp on [-8, 0]", 12, Function::exp(-8.0..=0.0, 12)?),
        one("log on [1/16, 1]", 12, Function::log(1.0 / 16.0..=1.0, 12)?),
        one("sigmoid on [-8, 8]", 12, Function::sigmoid(-8.0..=8.0, 12)?),
        one("tanh on [-4, 4]", 12, Function::tanh(-4.0..=4.0, 12)?),
        one("gelu on [-8, 8]", 12, Function::gelu(-8.0..=8.0, 12)?),
        one("silu on [-8, 8]", 12, Function::silu(-8.0..=8.0, 12)?),
    ];
    let groups = [
        ("softmax of 10 in [-8, 8]", 10, GroupFunction::softmax(few, -8.0..=8.0, 10)?),
        ("argmax of 10, gap 2^-5", 10, GroupFunction::argmax(few, 0.0..=1.0, 1.0 / 32.0, 10)?),
        ("top 3 of 10, gap 2^-5", 10, GroupFunction::top_k(few, 3, 0.0..=1.0, 1.0 / 32.0, 10)?),
    ];
    let more = |(name, bits, function): (&str, u32, GroupFunction)| Work {
        name: name.to_owned(),
        bits,
        kind: Kind::Groups(function),
    };
    list.extend(groups.map(more));
    let largest = GroupFunction::maximum(whole, 0.0..=1.0, 8)?;
    list.push(more((&format!("maximum of {slots}"), 8, largest)));
    let sort = GroupFunction::sort(Groups::consecutive(slots, half)?, 0.0..=1.0, 6)?;
    list.push(more((&format!("sort of 2 x {half}"), 6, sort)));
    Ok(list)
}

/// A function from some level: how often it is refreshed, and how long it takes.
#[derive(Clone, Copy)]
struct Timed {
    refreshes: usize,
    least: Value,
}

struct Row {
    name: String,
    bits: u32,
    depth: usize,
    relinearisations: usize,
    asked: f64,
    /// The largest difference from what is computed in float64.
    noise: Option<f64>,
    /// From all levels, and from one above the lowest.
    timed: [Timed; 2],
}

fn measure<B: RingOps>(lab: &Lab, place: &Place<B>, subject: &Subject, effort: Effort) -> Result<Vec<Row>>
where
    Place<B>: Sync,
{
    place.on(|| rows(lab, &place.backend, &subject.params, effort))
}

/// Numbers of an interval in all slots.
fn vector(interval: &RangeInclusive<f64>, slots: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..slots).map(|_| rng.random_range(interval.clone())).collect()
}

fn rows<B: RingOps>(lab: &Lab, device: &B, params: &BootstrapParams, effort: Effort) -> Result<Vec<Row>> {
    lab.announce("keys of bootstrapping");
    let (ring, program, rng) = (params.ring(device.clone())?, params.params(), &mut rng());
    let secret = SecretKey::generate(program.rlwe(), rng);
    let boot_keys = BootstrapKeys::generate(&secret, params, &ring, rng)?;
    let bootstrapper = Bootstrapper::new(params, &ring)?;
    let refresher = bootstrapper.with_keys(&boot_keys);
    let ev = Evaluator::new(program, &ring)?;
    let encryptor = SecretEncryptor::new(program, &secret, &ring)?;
    let decryptor = Decryptor::new(program, &secret, &ring)?;
    let encrypt = |values: &[f64], level, rng: &mut ChaCha20Rng| -> Result<Ciphertext<B>> {
        let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let batch = vec![slots.as_slice(); effort.batch];
        let plain = ev.encoder().encode_batch(&batch, program.encoding().slots(params.slots()))?;
        Ok(ev.mod_switch_to(&encryptor.encrypt(&plain, rng)?.expand()?, level)?)
    };
    let timed = |begin: Instant| -> Result<Duration> {
        device.synchronize()?;
        // Never zero, whatever the clock says.
        Ok(begin.elapsed().max(Duration::from_nanos(1)))
    };
    let zero = encrypt(&vec![0.0; params.slots()], params.input_level(), rng)?;
    drop(refresher.refresh(&zero)?);
    let begin = Instant::now();
    drop(refresher.refresh(&zero)?);
    let refresh = timed(begin)?.as_secs_f64();

    let mut rows = Vec::new();
    for work in works(params.slots())? {
        lab.announce(&work.name);
        let (kind, interval) = (&work.kind, work.kind.interval());
        let requirements = kind.requirements();
        let keys = EvaluationKeys::generate(&secret, &ring, &requirements, rng)?;
        let (x, y) = (vector(&interval, params.slots(), rng), vector(&interval, params.slots(), rng));
        let mut noise: Option<f64> = None;
        let mut timings = Vec::new();
        for level in [params.output_level(), params.input_level() + 1] {
            let refreshes = kind.refreshes(level, &refresher)?;
            if lab.is_long(refreshes as f64 * refresh) {
                timings.push(Timed { refreshes, least: Value::NotRun });
                continue;
            }
            let operands = [encrypt(&x, level, rng)?, encrypt(&y, level, rng)?];
            let [a, b] = operands.each_ref();
            let mut times = Vec::new();
            // Once more than asked: the first call may compile and allocate.
            for run in 0..=effort.runs {
                device.synchronize()?;
                let begin = Instant::now();
                let out = kind.apply(&ev, [a, b], &keys, &refresher)?;
                times.push(timed(begin)?);
                if run == 0 {
                    let found = ev.encoder().decode(&decryptor.decrypt(&out)?)?;
                    let expected = kind.apply_plain(&x, &y);
                    let differences = found.iter().flat_map(|z| z.iter().zip(&expected));
                    let largest = differences.map(|(z, y)| (z.re - y).abs()).fold(0.0, f64::max);
                    noise = Some(noise.unwrap_or(0.0).max(largest));
                }
                if lab.is_long(times.iter().sum::<Duration>().as_secs_f64()) {
                    break;
                }
            }
            timings.push(Timed { refreshes, least: Value::Number(least(&times).as_secs_f64()) });
        }
        let nothing = Timed { refreshes: 0, least: Value::Nothing };
        rows.push(Row {
            name: work.name.clone(),
            bits: work.bits,
            depth: requirements.depth,
            relinearisations: kind.relinearisations(),
            asked: kind.error(),
            noise,
            timed: [0, 1].map(|i| timings.get(i).copied().unwrap_or(nothing)),
        });
    }
    Ok(rows)
}

fn table(subject: &Subject, device: &str, rows: &[Row], effort: Effort) -> Table {
    let params = &subject.params;
    let levels = params.output_level() - params.input_level();
    let title = format!("Functions on CKKS, {}", subject.name);
    let mut table = Table::new(id(subject), title, "function", Unit::Milliseconds)
        .categories(rows.iter().map(|row| &row.name));
    for (i, left) in [levels, 1].into_iter().enumerate() {
        table.measured(&format!("{device}, levels: {left}"), rows.iter().map(|row| row.timed[i].least));
    }
    let mut remark = |name: &str, text: &dyn Fn(&Row) -> String| table.remark(name, rows.iter().map(text));
    remark("bits asked", &|row| row.bits.to_string());
    remark("depth", &|row| row.depth.to_string());
    remark("relinearisations", &|row| row.relinearisations.to_string());
    remark("refreshes", &|row| format!("{}, {}", row.timed[0].refreshes, row.timed[1].refreshes));
    remark("error", &|row| format!("{:.1e}", row.asked));
    remark("noise", &|row| row.noise.map_or_else(String::new, |noise| format!("{noise:.1e}")));
    table.note(format!(
        "N = 2^{}, {} slots, {levels} levels after a refresh; the least of {} runs, ciphertexts in each: {}",
        params.ring_spec().log_n(),
        params.slots(),
        effort.runs,
        effort.batch
    ));
    table.note("error: of the approximation, measured in float64; noise: what encryption and refreshes add");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_row_per_function() {
        let params = he_core::bootstrapping::presets::small().unwrap();
        let subject = Subject { name: "small", params };
        let works = works(1024).unwrap();
        let rows: Vec<Row> = works
            .iter()
            .map(|work| Row {
                name: work.name.clone(),
                bits: work.bits,
                depth: work.kind.requirements().depth,
                relinearisations: work.kind.relinearisations(),
                asked: work.kind.error(),
                noise: None,
                timed: [Timed { refreshes: 2, least: Value::Number(0.004) }; 2],
            })
            .collect();
        let table = table(&subject, "CPU", &rows, Effort { runs: 3, batch: 2 });
        assert_eq!((table.rows.len(), table.columns.len()), (works.len(), 2));
        assert_eq!(table.columns[1].values[0].number(), Some(4.0));
        assert_eq!(table.remarks[3].texts[0], "2, 2");
        assert!(rows.iter().all(|row| row.depth > 2 && row.relinearisations > 2 && row.asked < 0.02));
        assert_eq!(names(&[subject]), ["functions-small"]);
    }
}
