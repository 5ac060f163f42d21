//! CKKS bootstrapping: its stages, its precision, and its keys.

use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::backend::RingOps;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper, Stage};
use he_core::ckks::{Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::SecretKey;
use rand::RngExt;
use std::time::{Duration, Instant};

/// Parameters to be measured, by name.
pub struct Subject {
    /// The name, which is part of those of the tables.
    pub name: &'static str,
    /// The parameters.
    pub params: BootstrapParams,
}

/// The number of runs, and of ciphertexts at once.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Bootstraps, as long as they fit into the limit of a figure; at least one.
    pub runs: usize,
    /// Ciphertexts in each.
    pub batch: usize,
}

/// The table of all parameters that have peers.
const PEERS: &str = "bootstrap-peers";

/// The times of others for one ciphertext of as many levels and bits, in ms: on a GPU, and on one
/// thread of a CPU, with their names.
fn peers(name: &str) -> Option<[(f64, &'static str); 2]> {
    match name {
        "fast" => Some([(21.0, "Cheddar, H200"), (10_400.0, "Poulpy, 1 thread")]),
        "precise" => Some([(76.7, "HEonGPU, H200"), (19_600.0, "Lattigo, 1 thread")]),
        _ => None,
    }
}

/// The names of the tables.
pub fn names(subjects: &[Subject]) -> Vec<String> {
    let of_each = subjects.iter().flat_map(|subject| [stages_id(subject), precision_id(subject)]);
    let compared = subjects.iter().any(|subject| peers(subject.name).is_some());
    of_each.chain(compared.then(|| PEERS.to_owned())).collect()
}

fn stages_id(subject: &Subject) -> String {
    format!("bootstrap-{}", subject.name)
}

fn precision_id(subject: &Subject) -> String {
    format!("bootstrap-{}-precision", subject.name)
}

/// The tables of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; the errors of `show`.
pub fn tables(lab: &Lab, subjects: &[Subject], effort: Effort, show: &mut Show<'_>) -> Result<()> {
    let mut calls = Vec::new();
    for subject in subjects {
        let own = [stages_id(subject), precision_id(subject)].iter().any(|id| lab.wants(id));
        let beside_peers = lab.wants(PEERS) && peers(subject.name).is_some();
        if !own && !beside_peers {
            continue;
        }
        lab.announce(&format!("bootstrapping, {}", subject.name));
        let (device, measured) = match &lab.gpu {
            Some(gpu) => (&gpu.name, measure(lab, gpu, subject, effort)?),
            None => (&lab.threads.name, measure(lab, &lab.threads, subject, effort)?),
        };
        show(measured.stages(subject, device, effort)?)?;
        show(measured.precision(subject, device))?;
        calls.push((subject.name, least(&measured.calls).as_secs_f64() / effort.batch as f64));
    }
    let compared: Vec<_> = calls
        .into_iter()
        .filter_map(|(name, seconds)| Some((name, seconds, peers(name)?[usize::from(lab.gpu.is_none())])))
        .collect();
    if compared.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(PEERS, "CKKS bootstrapping, a ciphertext", "parameters", Unit::Milliseconds)
        .categories(compared.iter().map(|(name, _, _)| name));
    table.paper("peers", compared.iter().map(|(_, _, (figure, _))| *figure));
    table.measured("ours", compared.iter().map(|(_, seconds, _)| Value::Number(*seconds)));
    table.compare("peers", "ours");
    table.remark("peer", compared.iter().map(|(_, _, (_, name))| (*name).to_owned()));
    table.note("the peers were measured elsewhere: docs/benchmarks.md");
    show(table)
}

/// Times of every run, and the errors of every real and imaginary part.
struct Measured {
    stages: Vec<(Stage, Vec<Duration>)>,
    calls: Vec<Duration>,
    keys: Duration,
    key_bytes: usize,
    matrices: Duration,
    errors: Vec<f64>,
}

pub(crate) fn least(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn measure<B: RingOps>(lab: &Lab, place: &Place<B>, subject: &Subject, effort: Effort) -> Result<Measured>
where
    Place<B>: Sync,
{
    place.on(|| runs(lab, &place.backend, &subject.params, effort))
}

fn runs<B: RingOps>(lab: &Lab, device: &B, params: &BootstrapParams, effort: Effort) -> Result<Measured> {
    let (ring, program, rng) = (params.ring(device.clone())?, params.params(), &mut rng());
    let secret = SecretKey::generate(program.rlwe(), rng);
    let timed = |begin: Instant| -> Result<Duration> {
        device.synchronize()?;
        // Never zero, whatever the clock says.
        Ok(begin.elapsed().max(Duration::from_nanos(1)))
    };
    let begin = Instant::now();
    let keys = BootstrapKeys::generate(&secret, params, &ring, rng)?;
    let key_time = timed(begin)?;
    let begin = Instant::now();
    let bootstrapper = Bootstrapper::new(params, &ring)?;
    let matrices = timed(begin)?;

    let ev = Evaluator::new(program, &ring)?;
    let encryptor = SecretEncryptor::new(program, &secret, &ring)?;
    let decryptor = Decryptor::new(program, &secret, &ring)?;
    let mut all = Measured {
        stages: Vec::new(),
        calls: Vec::new(),
        keys: key_time,
        key_bytes: keys.bytes(),
        matrices,
        errors: Vec::new(),
    };
    for _ in 0..effort.runs {
        let mut real = || rng.random_range(-1.0..1.0);
        let vectors: Vec<Vec<Complex64>> = (0..effort.batch)
            .map(|_| (0..params.slots()).map(|_| Complex64::new(real(), real())).collect())
            .collect();
        let slices: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_batch(&slices, program.encoding().slots(params.slots()))?;
        let ct = ev.mod_switch_to(&encryptor.encrypt(&plain, rng)?.expand()?, params.input_level())?;
        device.synchronize()?;

        let begin = Instant::now();
        drop(bootstrapper.refresh(&ct, &keys)?);
        all.calls.push(timed(begin)?);

        let (mut last, mut stages) = (Instant::now(), Vec::new());
        let fresh = bootstrapper.refresh_observed(&ct, &keys, |stage, _| {
            device.synchronize()?;
            stages.push((stage, last.elapsed().max(Duration::from_nanos(1))));
            last = Instant::now();
            Ok(())
        })?;
        if all.stages.is_empty() {
            all.stages = stages.into_iter().map(|(stage, time)| (stage, vec![time])).collect();
        } else {
            all.stages.iter_mut().zip(stages).for_each(|((_, times), (_, time))| times.push(time));
        }
        let found = ev.encoder().decode(&decryptor.decrypt(&fresh)?)?;
        for (found, expected) in found.iter().flatten().zip(vectors.iter().flatten()) {
            all.errors.extend([(found.re - expected.re).abs(), (found.im - expected.im).abs()]);
        }
        if lab.is_long(all.calls.iter().sum::<Duration>().as_secs_f64()) {
            break;
        }
    }
    Ok(all)
}

impl Measured {
    /// Least and median times.
    fn stages(&self, subject: &Subject, device: &str, effort: Effort) -> Result<Table> {
        let params = &subject.params;
        let rows: Vec<(String, &[Duration])> = self
            .stages
            .iter()
            .map(|(stage, times)| (format!("{stage:?}"), times.as_slice()))
            .chain([("one call".to_owned(), self.calls.as_slice())])
            .collect();
        let title = format!("CKKS bootstrapping, {}", subject.name);
        let mut table = Table::new(stages_id(subject), title, "stage", Unit::Milliseconds)
            .categories(rows.iter().map(|(name, _)| name));
        let value = |time: Duration| Value::Number(time.as_secs_f64());
        table.measured(&format!("{device}, least"), rows.iter().map(|(_, times)| value(least(times))));
        table.measured(&format!("{device}, median"), rows.iter().map(|(_, times)| value(median(times))));
        let levels = params.output_level() - params.input_level();
        let security = if params.is_secure() { "128-bit security" } else { "INSECURE" };
        table.note(format!(
            "N = 2^{}, {} slots, {levels} levels left, {security}; runs: {}, ciphertexts in each: {}",
            params.ring_spec().log_n(),
            params.slots(),
            self.calls.len(),
            effort.batch
        ));
        let giga = |bytes: f64| bytes / 1e9;
        table.note(format!(
            "keys: {:.3} GB on the device, {:.3} GB in a file; made in {:.2?}; matrices in {:.2?}",
            giga(self.key_bytes as f64),
            giga(params.key_frames_bytes()? as f64),
            self.keys,
            self.matrices
        ));
        Ok(table)
    }

    /// The numbers of real and imaginary parts by bits of precision: -log2 of their error, rounded
    /// down, for numbers up to one.
    fn precision(&self, subject: &Subject, device: &str) -> Table {
        let bits = |error: f64| if error > 0.0 { -error.log2() } else { f64::INFINITY };
        let whole = |error: f64| bits(error).clamp(0.0, 64.0) as usize;
        let mut counts = [0u32; 65];
        self.errors.iter().for_each(|&error| counts[whole(error)] += 1);
        let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
        let last = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let title = format!("CKKS bootstrapping, {}, numbers by bits of precision", subject.name);
        let mut table = Table::new(precision_id(subject), title, "bits", Unit::Percent)
            .along((first..=last).map(|bits| (bits.to_string(), bits as f64)));
        let share = |&count: &u32| match count {
            0 => Value::Nothing,
            count => Value::Number(f64::from(count) / self.errors.len() as f64),
        };
        table.measured(device, counts[first..=last].iter().map(share));
        let worst = self.errors.iter().copied().fold(0.0, f64::max);
        let mean = self.errors.iter().map(|e| e * e).sum::<f64>() / self.errors.len() as f64;
        table.note(format!(
            "{:.1} bits at worst, {:.1} in the root mean square, of {} real and imaginary parts",
            bits(worst),
            bits(mean.sqrt()),
            self.errors.len()
        ));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_count_all_numbers() {
        let times = vec![Duration::from_millis(3), Duration::from_millis(1), Duration::from_millis(2)];
        let measured = Measured {
            stages: vec![(Stage::ModRaise, times.clone())],
            calls: times,
            keys: Duration::from_secs(1),
            key_bytes: 0,
            matrices: Duration::from_secs(1),
            errors: vec![0.3, 0.25, 0.01, 0.0],
        };
        assert_eq!(
            (least(&measured.calls), median(&measured.calls)),
            (Duration::from_millis(1), Duration::from_millis(2))
        );
        let params = he_core::bootstrapping::presets::small().unwrap();
        let subject = Subject { name: "small", params };
        let table = measured.precision(&subject, "CPU");
        // 1.7, 2, 6.6 bits, and exact.
        let shares: Vec<Option<f64>> = table.columns[0].values.iter().map(|value| value.number()).collect();
        assert_eq!((table.rows.len(), table.rows[0].name.as_str()), (64, "1"));
        assert_eq!(shares.iter().flatten().copied().collect::<Vec<_>>(), [25.0; 4]);
        assert_eq!([0, 1, 5, 63].map(|i| shares[i]), [Some(25.0); 4]);
        assert!(table.notes[0].starts_with("1.7 bits at worst"));
        let table = measured.stages(&subject, "CPU", Effort { runs: 3, batch: 2 }).unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_eq!(
            table.columns.iter().map(|c| c.values[0].number()).collect::<Vec<_>>(),
            [Some(1.0), Some(2.0)]
        );
        assert!(table.notes[0].contains("runs: 3, ciphertexts in each: 2"));
        assert_eq!(names(&[subject]), ["bootstrap-small", "bootstrap-small-precision"]);
    }
}
