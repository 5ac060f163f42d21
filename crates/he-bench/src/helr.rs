//! Logistic regression, trained on encrypted digits: time per iteration, accuracy, keys.

use super::bootstrap::Subject;
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use flate2::read::GzDecoder;
use he_core::backend::RingOps;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper};
use he_core::circuits::ckks::{Examples, LogisticRegression, TrainingBatch, TrainingLayout};
use he_core::ckks::{Ciphertext, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, SecretKey};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The data and the settings of a training.
#[derive(Clone, Debug)]
pub struct Training {
    /// The folder with `train.gz` and `test.gz` (models/mnist).
    pub data: PathBuf,
    /// Iterations.
    pub iterations: usize,
    /// Examples of each, a power of two.
    pub batch: usize,
}

/// The digits that are told apart.
const DIGITS: [u8; 2] = [3, 8];
/// Pixels of a digit along each side, of which each four are averaged.
const SIDE: usize = 28;
const FEATURES: usize = SIDE * SIDE / 4;
/// The rate of every iteration, the polynomial's degree, and the range in which it is the sigmoid:
/// inner products on the training set reach 12.
const RATE: f64 = 1.0;
const DEGREE: usize = 7;
const RANGE: f64 = 16.0;
/// Iterations in which maps are encoded and batches lowered to their levels.
const FIRST: usize = 4;

const TIMES: &str = "helr";
const ACCURACY: &str = "helr-accuracy";

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![TIMES.to_owned(), ACCURACY.to_owned()]
}

/// The tables of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The data cannot be read; the device fails; the errors of `show`.
pub fn tables(lab: &Lab, subject: &Subject, training: &Training, show: &mut Show<'_>) -> Result<()> {
    lab.announce(&format!("training on encrypted digits, {}", subject.name));
    let train = digits(&training.data.join("train.gz"))?;
    let test = digits(&training.data.join("test.gz"))?;
    let (device, measured) = match &lab.gpu {
        Some(gpu) => (&gpu.name, measure(gpu, &subject.params, training, &train)?),
        None => (&lab.threads.name, measure(&lab.threads, &subject.params, training, &train)?),
    };
    show(measured.times(subject, training, device))?;
    show(measured.accuracy(device, &train, &test))
}

/// The digits that are told apart, of a file of records of a label and 784 grey values.
fn digits(path: &Path) -> Result<Examples> {
    let read = |source| Error::Read { name: path.display().to_string(), source };
    let mut bytes = Vec::new();
    // The training set has 9000 records; many times as much is not one of these files.
    let limit = 1 << 26;
    let file = File::open(path).map_err(read)?;
    GzDecoder::new(file).take(limit).read_to_end(&mut bytes).map_err(read)?;
    let record = 1 + SIDE * SIDE;
    if bytes.is_empty() || bytes.len() % record != 0 || bytes.len() as u64 == limit {
        let reason = format!("{} bytes are not records of {record}", bytes.len());
        return Err(Error::Data { name: path.display().to_string(), reason });
    }
    let mut examples = Examples { features: Vec::new(), labels: Vec::new() };
    for digit in bytes.chunks_exact(record).filter(|digit| DIGITS.contains(&digit[0])) {
        examples.labels.push(digit[0] == DIGITS[1]);
        let grey = |y: usize, x: usize| f64::from(digit[1 + y * SIDE + x]);
        let half = SIDE / 2;
        examples.features.extend((0..half * half).map(|i| {
            let (y, x) = (i / half * 2, i % half * 2);
            (grey(y, x) + grey(y, x + 1) + grey(y + 1, x) + grey(y + 1, x + 1)) / (4.0 * 255.0)
        }));
    }
    if examples.labels.is_empty() {
        let reason = format!("there is no {} or {} in it", DIGITS[0], DIGITS[1]);
        return Err(Error::Data { name: path.display().to_string(), reason });
    }
    Ok(examples)
}

/// All examples in batches of equal size; the last one is filled from the start.
fn batches(all: &Examples, size: usize) -> Vec<Examples> {
    let count = all.labels.len();
    let batch = |first: usize| {
        let indices = || (first..first + size).map(|i| i % count);
        Examples {
            features: indices().flat_map(|i| &all.features[i * FEATURES..][..FEATURES]).copied().collect(),
            labels: indices().map(|i| all.labels[i]).collect(),
        }
    };
    (0..count).step_by(size).map(batch).collect()
}

/// The share of examples whose side of the plane is that of their label.
fn accuracy(weights: &[f64], examples: &Examples) -> f64 {
    let side = |x: &[f64]| weights[0] + x.iter().zip(&weights[1..]).map(|(x, w)| x * w).sum::<f64>();
    let sides = examples.features.chunks_exact(FEATURES).map(|x| side(x) > 0.0);
    let right = sides.zip(&examples.labels).filter(|(side, label)| side == *label).count();
    right as f64 / examples.labels.len() as f64
}

/// Times of every iteration and of what comes before, and the weights of all ways of training.
struct Measured {
    iterations: Vec<Duration>,
    keys: Duration,
    encryption: Duration,
    batches: usize,
    /// Bytes of the keys of evaluation, and of bootstrapping.
    key_bytes: [usize; 2],
    data_bytes: usize,
    /// By the sigmoid, by the polynomial, and encrypted.
    weights: [Vec<f64>; 3],
}

fn measure<B: RingOps>(
    place: &Place<B>,
    params: &BootstrapParams,
    training: &Training,
    train: &Examples,
) -> Result<Measured>
where
    Place<B>: Sync,
{
    place.on(|| runs(&place.backend, params, training, train))
}

fn runs<B: RingOps>(
    device: &B,
    params: &BootstrapParams,
    training: &Training,
    train: &Examples,
) -> Result<Measured> {
    let (ring, program, rng) = (params.ring(device.clone())?, params.params(), &mut rng());
    let timed = |begin: Instant| -> he_core::Result<Duration> {
        device.synchronize()?;
        // Never zero, whatever the clock says.
        Ok(begin.elapsed().max(Duration::from_nanos(1)))
    };
    let layout = TrainingLayout::new(training.batch, FEATURES, params.slots())?;
    let model = LogisticRegression::new(layout, vec![RATE; training.iterations], DEGREE, RANGE)?;
    let batches = batches(train, training.batch);
    let begin = Instant::now();
    let secret = SecretKey::generate(program.rlwe(), rng);
    let refresh_keys = BootstrapKeys::generate(&secret, params, &ring, rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, model.requirements(), rng)?;
    let key_time = timed(begin)?;
    let bootstrapper = Bootstrapper::new(params, &ring)?;

    let ev = Evaluator::new(program, &ring)?;
    let encryptor = SecretEncryptor::new(program, &secret, &ring)?;
    let rng = RefCell::new(rng);
    let encrypt = |slots: &Vec<f64>| -> he_core::Result<Ciphertext<B>> {
        let plain = ev.encoder().encode_real(slots, program.encoding().slots(params.slots()))?;
        encryptor.encrypt(&plain, &mut **rng.borrow_mut())?.expand()
    };
    let begin = Instant::now();
    let encrypted = batches
        .iter()
        .map(|batch| layout.pack(batch)?.try_map(encrypt))
        .collect::<he_core::Result<Vec<TrainingBatch<_>>>>()?;
    let start = encrypt(&model.weight_slots(&vec![0.0; FEATURES + 1])?)?;
    let encryption = timed(begin)?;

    let (mut iterations, mut last) = (Vec::new(), Instant::now());
    let refresher = bootstrapper.with_keys(&refresh_keys);
    let out = model.train_observed(&ev, &encrypted, &start, &keys, &refresher, |_, _| {
        iterations.push(timed(last)?);
        last = Instant::now();
        Ok(())
    })?;
    let slots = Decryptor::new(program, &secret, &ring)?.decrypt_real(&out)?;
    let rlwe = program.rlwe();
    let words = |primes: usize| 2 * primes * rlwe.ring().n() * size_of::<u64>();
    let key_count = keys.galois_keys().count() + 1;
    let of_data = layout.ciphertexts().iter().sum::<usize>() * batches.len();
    Ok(Measured {
        iterations,
        keys: key_time,
        encryption,
        batches: batches.len(),
        key_bytes: [
            key_count * rlwe.digits().len() * words(rlwe.ring().q().len() + rlwe.ring().p().len()),
            refresh_keys.bytes(),
        ],
        data_bytes: of_data * words(program.levels()[program.max_level()].primes),
        weights: [model.train_exactly(&batches)?, model.train_plain(&batches)?, model.weights(&slots)?],
    })
}

impl Measured {
    fn times(&self, subject: &Subject, training: &Training, device: &str) -> Table {
        let rows = ["an iteration, mean", "an iteration, least", "an iteration, greatest", "all iterations"];
        let mut table =
            Table::new(TIMES, "Logistic regression on encrypted digits", "what", Unit::Milliseconds)
                .categories(rows);
        // The first iterations make what the others use again.
        let steady = &self.iterations[self.iterations.len().min(FIRST)..];
        let steady = if steady.is_empty() { &self.iterations } else { steady };
        let seconds =
            |time: Option<Duration>| time.map_or(Value::Nothing, |time| Value::Number(time.as_secs_f64()));
        let mean = steady.iter().sum::<Duration>() / steady.len().max(1) as u32;
        let whole = self.iterations.iter().sum();
        table.paper("Cheddar, H100", [40.7, f64::NAN, f64::NAN, f64::NAN]);
        let (least, greatest) = (steady.iter().min().copied(), steady.iter().max().copied());
        table.measured(device, [Some(mean), least, greatest, Some(whole)].map(seconds));
        table.compare("Cheddar, H100", device);
        let params = &subject.params;
        let security = if params.is_secure() { "128-bit security" } else { "INSECURE" };
        table.note(format!(
            "{}: {} iterations of {} examples of {FEATURES} features from {} batches, degree {DEGREE} on \
             [-{RANGE}, {RANGE}], refreshes included; mean, least and greatest without the first {FIRST}; \
             {security}",
            subject.name, training.iterations, training.batch, self.batches
        ));
        let giga = |bytes: usize| bytes as f64 / 1e9;
        table.note(format!(
            "keys: {:.3} GB and {:.3} GB for bootstrapping, made in {:.2?}; data: {:.3} GB, encrypted in \
             {:.2?}",
            giga(self.key_bytes[0]),
            giga(self.key_bytes[1]),
            self.keys,
            giga(self.data_bytes),
            self.encryption
        ));
        table
    }

    fn accuracy(&self, device: &str, train: &Examples, test: &Examples) -> Table {
        let sets = [("training set", train), ("test set", test)];
        let title = format!("Logistic regression, {} and {} told apart", DIGITS[0], DIGITS[1]);
        let mut table =
            Table::new(ACCURACY, title, "examples", Unit::Percent).categories(sets.map(|(name, _)| name));
        let ways = ["plain, sigmoid", "plain, polynomial", &format!("encrypted, {device}")];
        for (way, weights) in ways.into_iter().zip(&self.weights) {
            table.measured(way, sets.map(|(_, set)| Value::Number(accuracy(weights, set))));
        }
        let differences = self.weights[1].iter().zip(&self.weights[2]).map(|(a, b)| (a - b).abs());
        let worst = differences.fold(0.0, f64::max);
        let largest = self.weights[1].iter().fold(0.0f64, |most, w| most.max(w.abs()));
        table.note(format!(
            "{} and {} examples; encrypted weights differ from those by the polynomial by at most \
             {worst:.2e}, the largest being {largest:.3}",
            train.labels.len(),
            test.labels.len()
        ));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mnist").join(name)
    }

    /// The records are read, the two digits found, and a few iterations in float64 tell them apart.
    #[test]
    fn digits_are_told_apart() {
        let (train, test) = (digits(&data("train.gz")).unwrap(), digits(&data("test.gz")).unwrap());
        assert_eq!((train.labels.len(), test.labels.len()), (918 + 849, 114 + 95));
        assert_eq!(train.features.len(), train.labels.len() * FEATURES);
        assert!(train.features.iter().all(|x| (0.0..=1.0).contains(x)));
        let batches = batches(&train, 1024);
        assert_eq!(batches.len(), 2);
        assert_eq!(batches[1].labels[743], train.labels[0]);
        let layout = TrainingLayout::new(1024, FEATURES, 1 << 15).unwrap();
        assert_eq!(layout.ciphertexts(), [7, 8]);
        let model = LogisticRegression::new(layout, vec![RATE; 32], DEGREE, RANGE).unwrap();
        let weights = [model.train_exactly(&batches).unwrap(), model.train_plain(&batches).unwrap()];
        let [exact, plain] = weights.map(|weights| accuracy(&weights, &test));
        assert!(exact > 0.95 && (exact - plain).abs() < 0.005, "{exact} {plain}");
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(digits(&data("none.gz")), Err(Error::Read { .. })));
        assert!(matches!(digits(&data("README.md")), Err(Error::Read { .. })));
    }
}
