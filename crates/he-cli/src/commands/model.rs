//! `compile`, `infer`, and what `keygen` and `encrypt` do for a model.

use super::{audit, keygen};
use crate::args::{Compile, CsvFlags, Encrypt, Infer, Keygen};
use crate::error::{CliError, IoContext, Result, warn};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, growth, shown, time};
use he_files::audit::{InferenceFiles, RecordedInference};
use he_files::bootstrap::{self, keys::KeyFile as BootstrapFile};
use he_files::cipher_file::CipherReader;
use he_files::io::input::Input;
use he_files::io::output::{OutputOptions, create_dir};
use he_files::key_file::{AnyKey, KeyFile};
use he_files::key_set::{KEY_NAMES, KeyFiles};
use he_files::models::examples::Examples;
use he_files::models::{Inference, ModelFile};
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, OneOf, Scheme};
use he_files::watch::Watch;
use he_files::{models, units};
use he_nn::{AnyModel, Comparison, Costs, Facts, Graph, Wishes, onnx};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Reads, calibrates and plans a model.
pub(super) fn compile(args: &Compile) -> Result<Summary> {
    stdin_once([&*args.model, &*args.calibrate])?;
    let input = Input::open(&args.model)?;
    let name = input.name().to_owned();
    let bytes = input.read_all(onnx::MAX_BYTES as u64)?;
    let in_model = |error: he_nn::Error| CliError::from(he_files::Error::from(error).in_file_of(&name));
    let folder = (args.model.as_os_str() != "-").then(|| folder_of(&args.model));
    let reading = onnx::Reading { output: args.output_name.as_deref(), folder, dimensions: &args.dimension };
    let read = onnx::Model::with(&bytes, &reading);
    let onnx::Model { graph, output: computed, others } = read.map_err(in_model)?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let mut output = stdio::create(&args.output, options, Text::No, &[&args.model, &args.calibrate])?;
    let examples = examples(&args.calibrate, &args.csv, &graph)?;
    let devices = args.device.open()?;
    let batch = args.batch.map(|batch| batch as usize);
    let wishes = Wishes { bits: args.bits, margin: args.margin, batch };
    let compiled = AnyModel::compile(graph, &examples.rows, &wishes).map_err(in_model)?;
    let (model, comparison) = (compiled.model, compiled.comparison);
    for warning in &compiled.warnings {
        warn(&warning.to_string(), "calibrate with more sentences, and of more kinds");
    }
    let facts = model.facts().map_err(in_model)?;
    let engine = models::engine(model.parameters(), devices.lead().clone())?;
    let speed = he_nn::speed(&engine.evaluator, &mut rng()?).map_err(he_files::Error::from)?;
    let bytes = model.to_bytes().map_err(in_model)?;
    output.write_all(&bytes).writing(output.name())?;
    output.commit()?;
    let seconds = facts.work / speed;
    let written = format!("{}: {}, in {}", shown(&args.output), units::bytes(bytes.len() as u64), time());
    let mut summary = Summary::new("compile")
        .path("input", &args.model)
        .output(&args.output)
        .fact("bytes", bytes.len())
        .fact("calibrated_with", examples.rows.len())
        .fact("rows_left_out", &*examples.left_out)
        .fact("device", devices.name())
        .fact("parameters", Ckks::params_json(model.parameters().params()))
        .fact("decision", model.outputs().decision.name())
        .fact("warnings", compiled.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
        .fact("arrangement", model.arrangement().name())
        .fact("computed_output", &*computed)
        .fact("other_outputs", &*others);
    for line in table(&facts) {
        summary = summary.line(line);
    }
    if let Some(comparison) = comparison {
        summary = summary.fact("batch", compared(&comparison, speed)).line(why(&comparison, speed));
    }
    for (name, value, text) in totals(&facts, seconds) {
        summary = summary.fact(name, value).line(format!("{:<20}{text}", name.replace('_', " ")));
    }
    if !others.is_empty() {
        let others = others.join(", ");
        summary = summary.line(format!("computes output {computed}; --output-name chooses others: {others}"));
    }
    Ok(summary.fact("layers", layers(&facts)).line(written))
}

/// The folder of a file.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads examples for a model.
fn examples(path: &Path, csv: &CsvFlags, graph: &Graph) -> Result<Examples> {
    if let Some(flag) = csv.given().filter(|_| path.is_dir()) {
        let message = format!("{flag} is for tables, and {} is a folder", path.display());
        return Err(CliError::usage(message).hint("leave it out"));
    }
    Ok(Examples::read(path, graph, csv.options(), &Shown::default())?)
}

/// The layers, for people.
fn table(facts: &Facts) -> Vec<String> {
    let head = format!(
        "{:<44} {:>14} {:>5} {:>6} {:>9} {:>9} {:>9}",
        "layer", "values", "level", "levels", "rotations", "diagonals", "refreshes"
    );
    let row = |layer: &he_nn::LayerFacts| {
        let shape = layer.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let what: String = layer.what.chars().take(44).collect();
        let (level, depth) = (layer.level, layer.depth);
        format!(
            "{what:<44} {shape:>14} {level:>5} {depth:>6} {:>9} {:>9} {:>9}",
            layer.rotations, layer.diagonals, layer.refreshes
        )
    };
    std::iter::once(head).chain(facts.layers.iter().map(row)).collect()
}

/// The layers, for programs.
fn layers(facts: &Facts) -> Vec<Value> {
    let layer = |layer: &he_nn::LayerFacts| {
        json!({
            "nodes": layer.nodes,
            "what": layer.what,
            "shape": layer.shape,
            "level": layer.level,
            "depth": layer.depth,
            "rotations": layer.rotations,
            "diagonals": layer.diagonals,
            "refreshes": layer.refreshes,
        })
    };
    facts.layers.iter().map(layer).collect()
}

/// The costs of both arrangements for programs: of a device that does so many butterflies in a
/// second.
fn compared(comparison: &Comparison, speed: f64) -> Value {
    let costs = |costs: &Costs| {
        json!({
            "estimated_seconds": costs.work / speed,
            "degree": 1u64 << costs.log_n,
            "levels": costs.levels,
            "key_bytes": costs.key_bytes,
        })
    };
    let stacks = comparison.stacks.as_ref().map_or_else(|why| json!({ "impossible": why }), costs);
    json!({ "examples": comparison.examples, "slots": costs(&comparison.slots), "stacks": stacks })
}

/// The costs of both arrangements for people, as the reason for the one that was chosen.
fn why(comparison: &Comparison, speed: f64) -> String {
    let costs = |costs: &Costs| {
        let (time, keys) = (lasting(costs.work / speed), units::bytes(costs.key_bytes));
        format!("about {time} at 2^{} with {} levels and {keys} of keys", costs.log_n, costs.levels)
    };
    let stacks = comparison.stacks.as_ref().map_or_else(|why| format!("impossible: {why}"), costs);
    format!(
        "{:<20}{}; {} examples take {} in slots; in stacks {stacks}",
        "arrangement",
        comparison.chosen().name(),
        comparison.examples,
        costs(&comparison.slots),
    )
}

fn lasting(seconds: f64) -> String {
    units::duration(std::time::Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

/// The needs of inference: names, values for programs, texts for people.
fn totals(facts: &Facts, seconds: f64) -> Vec<(&'static str, Value, String)> {
    let keys = facts.key_bytes + facts.bootstrap_key_bytes;
    let duration = lasting(seconds);
    let number = |value: usize| (json!(value), value.to_string());
    let (levels, levels_text) = number(facts.levels);
    let (refreshes, refreshes_text) = number(facts.refreshes);
    let (shared, shared_text) = number(facts.examples);
    vec![
        ("degree", json!(1u64 << facts.log_n), format!("2^{}", facts.log_n)),
        ("levels", levels, levels_text),
        ("refreshes", refreshes, refreshes_text),
        ("examples_together", shared, format!("{shared_text} in a ciphertext, at the cost of one")),
        ("estimated_seconds", json!(seconds), format!("about {duration} on this device")),
        ("memory_bytes", json!(facts.memory()), units::bytes(facts.memory())),
        ("key_bytes", json!(keys), units::bytes(keys)),
    ]
}

/// The keys that a model needs.
pub(super) fn keygen(args: &Keygen, plan: &Path, output: &Path) -> Result<Summary> {
    let model = ModelFile::open(Input::open(plan)?)?;
    let folder = create_dir(output)?;
    let files = KeyFiles::create(folder.path(), args.options.force)?;
    let files = match model.bootstrapping() {
        Some(_) => files.with_bootstrapping(folder.path(), args.options.force)?,
        None => files,
    };
    let devices = args.options.device.open()?;
    let passphrase = args.options.seal.obtain(&output.join(KEY_NAMES[0]).display().to_string())?;
    warn_of_toy(&model);
    let mut rng = rng()?;
    let (engine, rotations) = (model.engine(devices.lead().clone())?, model.rotations()?);
    let (passphrase, shown) = (passphrase.as_ref(), Shown::default());
    let (id, sizes) = match model.bootstrapping() {
        None => {
            let (id, sizes) = files.generate(&engine, &rotations, passphrase, &mut rng, &shown)?;
            (id, sizes.to_vec())
        }
        Some(boot) => {
            let (id, sizes) =
                files.generate_with_bootstrapping(boot, &engine, &rotations, passphrase, &mut rng, &shown)?;
            (id, sizes.to_vec())
        }
    };
    folder.keep();
    let names = KEY_NAMES.into_iter().chain([bootstrap::KEY_NAME]);
    let made = keygen::summary(Ckks::NAME, output, names.zip(sizes), passphrase.is_some());
    Ok(made
        .fact("key_set", id.short())
        .fact("device", devices.name())
        .fact("rotations", rotations.steps.len())
        .fact("model", model.hash.clone())
        .fact("parameters", Ckks::params_json(model.params())))
}

fn warn_of_toy(model: &ModelFile) {
    if !Ckks::is_secure(model.params()) {
        warn(&format!("keys of {} protect nothing", bootstrap::TOY), "compile models for data without them");
    }
}

/// A key of CKKS.
fn ckks(path: &Path, needed: &str, args: Option<&Encrypt>) -> Result<KeyFile<Ckks>> {
    let passphrase = args.map(|args| &args.unlock.opening as _);
    match AnyKey::read(Input::open(path)?, needed, passphrase)?.scheme(needed)? {
        OneOf::Ckks(key) => Ok(key),
        _ => Err(CliError::new(format!("{} is not a key of ckks", path.display()))
            .hint("he-cli keygen MODEL.plan makes the keys of a model")),
    }
}

/// Encrypts examples for a model.
pub(super) fn encrypt(args: &Encrypt, model: &Path) -> Result<Summary> {
    let (flag, halo) = (args.table.of_columns(), args.halo.map(|_| "--halo"));
    let other = args.frame.map(|_| "--frame").or(args.width.map(|_| "--width"));
    let other = other.or(args.signed.then_some("--signed"));
    if let Some(flag) = flag.or(halo).or(other) {
        return Err(CliError::usage(format!("{flag} is not for examples of a model")).hint("leave it out"));
    }
    let Some(path) = &args.unlock.key else {
        return Err(CliError::usage("examples of a model are encrypted by a key").hint("give one with -k"));
    };
    stdin_once([&*args.input, path, model])?;
    let key = ckks(path, "a public or secret key", Some(args))?;
    let model = ModelFile::open(Input::open(model)?)?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let examples = examples(&args.input, &args.table.csv, model.model.graph())?;
    warn_of_toy(&model);
    let devices = args.device.open()?;
    let device = devices.lead().clone();
    let written = models::encrypt(&model, &key, &examples, device, output, &mut rng()?, &Shown::default())?;
    let (sizes, count) = (growth(examples.bytes, written.bytes), examples.rows.len());
    let line = format!("{}: {sizes}, in {}; {count} examples", shown(&args.output), time());
    Ok(Summary::new("encrypt")
        .path("input", &args.input)
        .fact("input_bytes", examples.bytes)
        .output(&args.output)
        .fact("values", count * model.model.input_elements())
        .fact("rows_left_out", &*examples.left_out)
        .fact("device", devices.name())
        .facts(written.facts)
        .line(line))
}

/// Computes the encrypted outputs of encrypted examples.
pub(super) fn infer(args: &Infer) -> Result<Summary> {
    #[cfg(feature = "client")]
    if let Some(url) = &args.server.server {
        return infer_there(args, url);
    }
    let Some(path) = &args.model else {
        return Err(CliError::usage("a compiled model is needed").hint("give one with --model"));
    };
    stdin_once([&*args.input, path, &*args.key])?;
    let model = ModelFile::open(Input::open(path)?)?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path, &args.key])?;
    let bootstrap = match (&args.bootstrap_key, model.bootstrapping()) {
        (_, None) => None,
        (Some(path), _) => Some(Input::open(path)?),
        (None, _) => Some(Input::open(args.key.with_file_name(bootstrap::KEY_NAME))?),
    };
    let watch: Arc<dyn Watch> = Arc::new(Shown::default());
    let (written, devices, trace) = match &args.record {
        None => {
            let inference = Inference::new(&model, CipherReader::new(Input::open(&args.input)?)?)?;
            let bootstrap = bootstrap.map(BootstrapFile::open).transpose()?;
            let key = ckks(&args.key, "an evaluation key", None)?;
            let devices = args.device.open()?;
            let device = devices.lead().clone();
            (inference.evaluate(key, bootstrap, device, &watch, output)?, devices, None)
        }
        Some(record) => {
            let (examples, key) = (Input::open(&args.input)?, Input::open(&args.key)?);
            let files = InferenceFiles { examples, key, bootstrap };
            let mut inference = RecordedInference::new(&model, files)?;
            if let Some(folder) = &args.keep {
                let made = create_dir(folder)?;
                inference = inference.keeping(made.path());
                made.keep();
            }
            let file = audit::output(record, args.force, &[&args.input, path, &args.key])?;
            let devices = args.device.open()?;
            let (written, trace) = inference.evaluate(devices.lead().clone(), &watch, output)?;
            (written, devices, Some((trace, file, record)))
        }
    };
    let size = units::bytes(written.bytes);
    let line = format!("{}: {size}, in {}; {} left", shown(&args.output), time(), written.left);
    let summary = Summary::new("infer")
        .path("input", &args.input)
        .output(&args.output)
        .fact("device", devices.name())
        .facts(written.facts)
        .line(line);
    match trace {
        None => Ok(summary),
        Some((trace, file, record)) => audit::recorded(&trace, file, record, summary),
    }
}

/// Computes the encrypted outputs by a model of a service.
#[cfg(feature = "client")]
fn infer_there(args: &Infer, url: &str) -> Result<Summary> {
    use crate::remote::{Remote, Upload};
    use he_files::scan::Scanned;
    stdin_once([&*args.input, &*args.key])?;
    let mut key = Upload::open(&args.key, Scanned::EvaluationKeys)?;
    let mut examples = [Upload::open(&args.input, Scanned::Encrypted)?];
    // A name, or the file that the service has as well.
    let name =
        args.model.as_deref().map(|path| match path.extension().is_some_and(|end| end == models::ENDING) {
            true => path.file_stem().unwrap_or_default().to_string_lossy(),
            false => path.to_string_lossy(),
        });
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let inputs: [&Path; 2] = [&args.input, &args.key];
    let asked = audit::Asked::new(args.record.as_deref(), args.signed.as_deref(), args.force, &inputs)?;
    let output = stdio::create(&args.output, options, Text::No, &inputs)?;
    let service = Remote::open(url, &args.server)?;
    let (name, model) = service.model(name.as_deref())?;
    let beside = args.key.with_file_name(bootstrap::KEY_NAME);
    let mut bootstrap = match model["bootstrap_key_bytes"].is_null() {
        true => None,
        false => {
            let path = args.bootstrap_key.as_deref().unwrap_or(&beside);
            Some(Upload::open(path, Scanned::EvaluationKeys)?)
        }
    };
    let request = json!({ "name": "infer", "model": name });
    let done =
        service.evaluate(&request, &mut examples, &mut key, bootstrap.as_mut(), output, asked.is_wanted())?;
    let size = units::bytes(done.received);
    let line = format!("{}: {size}, in {}, on {url}", shown(&args.output), time());
    let summary = Summary::new("infer")
        .path("input", &args.input)
        .output(&args.output)
        .fact("server", url)
        .fact("model", name)
        .fact("sent_bytes", done.sent)
        .fact("bytes", done.received)
        .fact("info", done.info.clone())
        .line(line);
    asked.write(&done, summary)
}
