//! Neural networks on encrypted inputs: their accuracy in the clear and encrypted, time, memory.

use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use flate2::read::GzDecoder;
use he_core::backend::RingOps;
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::circuits::ckks::NeverRefresh;
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_core::wire::Wire;
use he_files::audit::Digests;
use he_nn::graph::argmax;
use he_nn::program::Made;
use he_nn::{CompiledModel, Graph, Options, Outputs, Parameters};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// The table of this subject.
const TABLE: &str = "nn";

/// The models, in the order of the table.
pub const MODELS: [&str; 5] = ["breast_cancer", "wine", "lenet5_square", "lenet5_relu", "resnet20"];

/// The largest mark of the bits that activations have.
const BITS: u32 = 10;

/// The amount of measuring.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Examples whose outputs are compared with plain ones.
    pub examples: usize,
    /// Ciphertexts of examples that are computed together.
    pub batch: usize,
}

/// A model with its data.
struct Subject {
    graph: Graph,
    calibration: Vec<Vec<f64>>,
    tests: Vec<(usize, Vec<f64>)>,
}

fn unreadable(path: &Path, reason: impl ToString) -> Error {
    Error::Model { name: path.display().to_string(), reason: reason.to_string() }
}

/// A table of numbers; its first row holds names.
fn table(path: &Path) -> Result<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    let row = |line: &str| line.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    text.lines().skip(1).map(row).collect::<Result<_, _>>().map_err(|error| unreadable(path, error))
}

/// The first records of a file: a label, and bytes from black to white.
fn records(path: &Path, pixels: usize, most: usize) -> Result<Vec<(usize, Vec<f64>)>> {
    let file = File::open(path).map_err(|error| unreadable(path, error))?;
    let mut bytes = Vec::new();
    let limit = (most * (pixels + 1)) as u64;
    GzDecoder::new(file).take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    let record =
        |record: &[u8]| (usize::from(record[0]), record[1..].iter().map(|&x| f64::from(x) / 255.0).collect());
    Ok(bytes.chunks_exact(pixels + 1).map(record).collect())
}

impl Subject {
    fn read(name: &str, folder: &Path, examples: usize) -> Result<Self> {
        let path = folder.join(format!("{name}.onnx"));
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, error))?;
        let graph = Graph::from_onnx(&bytes).map_err(|error| unreadable(&path, error))?;
        let pictures = |train: &str, test: &str| {
            let pixels = graph.input_elements();
            let calibration = records(&folder.join(train), pixels, 100)?;
            let calibration = calibration.into_iter().map(|(_, example)| example).collect();
            Ok::<_, Error>((calibration, records(&folder.join(test), pixels, examples)?))
        };
        let (calibration, tests) = match name {
            "resnet20" => pictures("resnet20_train.gz", "resnet20_test.gz")?,
            "lenet5_square" | "lenet5_relu" => pictures("mnist/train.gz", "mnist/test.gz")?,
            _ => {
                let labels = table(&folder.join(format!("{name}_test_labels.csv")))?;
                let rows = table(&folder.join(format!("{name}_test.csv")))?;
                let tests = labels.iter().map(|label| label[0] as usize).zip(rows).take(examples);
                (table(&folder.join(format!("{name}_train.csv")))?, tests.collect())
            }
        };
        Ok(Self { graph, calibration, tests })
    }
}

/// The measured times of a model.
struct Measured {
    /// One ciphertext of examples, from ciphertext to ciphertext.
    one: Duration,
    /// The same with the digests of a trace.
    recorded: Duration,
    /// An example of a batch.
    amortised: Duration,
    /// In the clear, encrypted, and where both agree: of so many examples.
    right: [usize; 3],
    examples: usize,
    /// Examples beyond the calibrated ranges, which are left out.
    outside: usize,
    /// The largest difference of an output, of the greatest plain output.
    error: f64,
    /// Facts for the notes.
    facts: he_nn::Facts,
    prepared: Duration,
    keys: Duration,
}

/// The table of the models named, of `folder`.
///
/// # Errors
/// A model or its data cannot be read or compiled; the device fails; the errors of `show`.
pub fn tables(
    lab: &Lab,
    folder: &Path,
    models: &[String],
    effort: Effort,
    show: &mut Show<'_>,
) -> Result<()> {
    let mut rows: Vec<(String, Measured)> = Vec::new();
    for name in models {
        lab.announce(&format!("{name} on encrypted inputs"));
        let subject = Subject::read(name, folder, effort.examples)?;
        let measured = match &lab.gpu {
            Some(gpu) => on(gpu, &subject, effort)?,
            None => on(&lab.threads, &subject, effort)?,
        };
        rows.push((name.clone(), measured));
    }
    let device = lab.gpu.as_ref().map_or(&lab.threads.name, |gpu| &gpu.name);
    let title = format!("Models on encrypted inputs, {device}");
    let mut table =
        Table::new(TABLE, title, "model", Unit::Milliseconds).categories(rows.iter().map(|(name, _)| name));
    let value = |time: Duration| Value::Number(time.as_secs_f64());
    table.measured("one ciphertext", rows.iter().map(|(_, m)| value(m.one)));
    table.measured("with a trace", rows.iter().map(|(_, m)| value(m.recorded)));
    table.measured("an example of a batch", rows.iter().map(|(_, m)| value(m.amortised)));
    let share = |count: usize, of: usize| format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64);
    for (at, title) in ["right in the clear", "right encrypted", "both agree"].into_iter().enumerate() {
        table.remark(title, rows.iter().map(|(_, m)| share(m.right[at], m.examples)));
    }
    table.remark("largest error", rows.iter().map(|(_, m)| format!("{:.1e}", m.error)));
    let giga = |bytes: u64| format!("{:.2} GB", bytes as f64 / 1e9);
    table.remark("memory", rows.iter().map(|(_, m)| giga(m.facts.memory())));
    table.remark("keys", rows.iter().map(|(_, m)| giga(m.facts.key_bytes + m.facts.bootstrap_key_bytes)));
    for (name, m) in &rows {
        table.note(format!(
            "{name}: N = 2^{}, {} levels, {} refreshes, {} examples in a ciphertext; {} examples, {} left out; \
             keys made in {:.1?}, maps encoded in {:.1?}",
            m.facts.log_n,
            m.facts.levels,
            m.facts.refreshes,
            m.facts.examples,
            m.examples,
            m.outside,
            m.keys,
            m.prepared
        ));
    }
    show(table)
}

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![TABLE.to_owned()]
}

/// A call that sees the value of each step.
type MadeStep<'a, B> = dyn FnMut(Made<'_, B>) -> he_nn::Result<()> + 'a;

/// Gives the value of a step to the threads that hash it.
fn hash<B: RingOps>(
    digests: &mut Digests,
    params: &CkksParams,
    value: &[Ciphertext<B>],
) -> he_nn::Result<()> {
    let copies = value.iter().map(Ciphertext::duplicate).collect::<he_core::Result<Vec<_>>>()?;
    let frames = copies.into_iter().map(|ct| {
        let params = params.clone();
        move || Ok(ct.to_frame(&params)?.seal())
    });
    // The error of the device comes again from the next step.
    digests.add(frames).map_err(|_| he_nn::Error::Core(he_core::Error::Cancelled))
}

fn on<B: RingOps>(place: &Place<B>, subject: &Subject, effort: Effort) -> Result<Measured>
where
    Place<B>: Sync,
{
    place.on(|| measure(&place.backend, subject, effort))
}

fn measure<B: RingOps>(device: &B, subject: &Subject, effort: Effort) -> Result<Measured> {
    let options = Options { bits: BITS, ..Options::default() };
    let model = CompiledModel::compile(subject.graph.clone(), &subject.calibration, options)?;
    let facts = model.facts()?;
    let rng = &mut rng();
    let ring = match model.parameters() {
        Parameters::Leveled(params) => Ring::new(device.clone(), params.rlwe().ring().clone())?,
        Parameters::Refreshed(boot) => boot.ring(device.clone())?,
    };
    let params = model.parameters().params();
    let timed = |begin: Instant| -> Result<Duration> {
        device.synchronize()?;
        Ok(begin.elapsed().max(Duration::from_nanos(1)))
    };
    let begin = Instant::now();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, &ring, model.requirements()?, rng)?;
    let refreshing = match model.parameters().bootstrapping() {
        Some(boot) => {
            let boot_keys = BootstrapKeys::generate(&secret, boot, &ring, rng)?;
            Some((Bootstrapper::new(boot, &ring)?, boot_keys))
        }
        None => None,
    };
    let key_time = timed(begin)?;
    let ev = Evaluator::new(params, &ring)?;
    let begin = Instant::now();
    let prepared = model.prepare(&ev)?;
    let prepare_time = timed(begin)?;
    let infer = |inputs: &[Ciphertext<B>], made: &mut MadeStep<'_, B>| -> Result<Vec<Ciphertext<B>>> {
        Ok(match &refreshing {
            None => prepared.infer_recorded(&ev, inputs, &keys, &NeverRefresh, made)?,
            Some((bootstrapper, own)) => {
                prepared.infer_recorded(&ev, inputs, &keys, &bootstrapper.with_keys(own), made)?
            }
        })
    };
    let plainly = |inputs: &[Ciphertext<B>]| -> Result<(Vec<Ciphertext<B>>, Duration)> {
        device.synchronize()?;
        let begin = Instant::now();
        let outputs = infer(inputs, &mut |_| Ok(()))?;
        Ok((outputs, timed(begin)?))
    };
    let recorded = |inputs: &[Ciphertext<B>]| -> Result<Duration> {
        device.synchronize()?;
        let begin = Instant::now();
        let mut digests = Digests::new(None)?;
        infer(inputs, &mut |made| hash(&mut digests, params, made.value))?;
        digests.finish()?;
        timed(begin)
    };
    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let mut encrypt = |examples: &[Vec<f64>]| -> Result<Vec<Ciphertext<B>>> {
        let mut inputs = Vec::new();
        for part in model.pack(examples)? {
            let complex = |vector: &Vec<f64>| vector.iter().map(|&x| x.into()).collect();
            let vectors: Vec<Vec<Complex64>> = part.iter().map(complex).collect();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = ev.encoder().encode_batch(&vectors, params.encoding())?;
            inputs.push(encryptor.encrypt(&plain, rng)?.expand()?);
        }
        Ok(inputs)
    };
    let inside: Vec<&(usize, Vec<f64>)> =
        subject.tests.iter().filter(|(_, example)| model.check(0, example).is_ok()).collect();
    let examples: Vec<Vec<f64>> = inside.iter().map(|(_, example)| example.clone()).collect();
    let Some(first) = examples.first() else {
        return Err(Error::WrongResult { what: "no example is within the calibrated ranges".to_owned() });
    };
    // One ciphertext, after a first run that loads what is loaded once.
    let single = encrypt(std::slice::from_ref(first))?;
    let (mut one, mut with_trace) = (plainly(&single)?.1, recorded(&single)?);
    for _ in 0..3 {
        (one, with_trace) = (one.min(plainly(&single)?.1), with_trace.min(recorded(&single)?));
    }
    let (mut found, mut amortised): (Vec<Outputs>, Option<Duration>) = (Vec::new(), None);
    for chunk in examples.chunks(effort.batch * model.examples()) {
        let inputs = encrypt(chunk)?;
        let (outputs, time) = plainly(&inputs)?;
        let parts = outputs.iter().map(|ct| ev.encoder().decode_real(&decryptor.decrypt(ct)?));
        let parts: Vec<Vec<Vec<f64>>> = parts.collect::<he_core::Result<_>>()?;
        found.extend(model.outputs().unpack(&parts, chunk.len())?);
        let each = time.div_f64(chunk.len() as f64);
        amortised = Some(amortised.map_or(each, |least| least.min(each)));
    }
    let (mut right, mut worst, mut greatest) = ([0; 3], 0f64, 0f64);
    for ((label, example), found) in inside.iter().zip(&found) {
        let mut values = model.graph().values(0, example)?;
        let plain = values.swap_remove(model.graph().output);
        let (clear, encrypted) = (argmax(&plain), argmax(&found.values));
        right[0] += usize::from(clear == *label);
        right[1] += usize::from(encrypted == *label);
        right[2] += usize::from(clear == encrypted);
        for (plain, found) in plain.iter().zip(&found.values) {
            greatest = greatest.max(plain.abs());
            worst = worst.max((plain - found).abs());
        }
    }
    Ok(Measured {
        one,
        recorded: with_trace,
        amortised: amortised.unwrap_or(one),
        right,
        examples: found.len(),
        outside: subject.tests.len() - inside.len(),
        error: worst / greatest,
        facts,
        prepared: prepare_time,
        keys: key_time,
    })
}
