//! The description of a file: its kind, its parameters, its contents, and the levels or budget left
//! to compute with.

use crate::aes_file::{self, Sealed};
use crate::bootstrap::{self, Refreshing};
use crate::cipher_file::CipherReader;
use crate::data::picture::metadata::Metadata;
use crate::data::table::header::HeaderGuess;
use crate::error::{ContentError, Error, InFile, KeyError, Result, Wanted};
use crate::file_start::{AnyStart, check_start, read_start};
use crate::io::input::Input;
use crate::key_file::{AesKey, AnyKey, Key, KeyFile, KeyFiles};
use crate::note::{Content, IntegerColumnNote, KeyId, Note, rows_and_columns};
use crate::party::Outline;
use crate::passphrase::{self, Passphrases};
use crate::scheme::{KeyPart, OneOf, Scheme, Start, State, Taken};
use crate::tfhe::{self, note::ColumnsNote};
use crate::trace::{self, Opening, Trace};
use crate::transcipher::{self, SensorFile};
use crate::units;
use crate::{on_refreshing, on_scheme};
use he::Device;
use he_core::aes::container::{self, Lock};
use he_core::exact::{Decryptor, Params};
use he_core::ring::Ring;
use he_core::tfhe::TfheParams;
use he_core::transcipher::SensorKey;
use he_core::wire::{Frame, FrameReader};
use serde_json::{Map, Value, json};
use std::io::BufReader;

/// Parameters for programs, and for people: lines of a name and a text.
pub type Parameters = (Value, Vec<(&'static str, String)>);

/// The description of a file.
#[derive(Debug)]
pub struct Description {
    /// Its parameters: `None` for AES, and unknown for a sealed key that is not opened.
    pub params: Option<Parameters>,
    /// Each fact with its name, for programs and for people.
    pub facts: Vec<(&'static str, Value, String)>,
}

impl Description {
    /// For programs: one object, the parameters among the facts.
    pub fn json(self) -> Value {
        let facts = self.facts.into_iter().map(|(name, value, _)| (name.replace(' ', "_"), value));
        let mut object: Map<String, Value> = facts.collect();
        if let Some((params, _)) = self.params {
            object.insert("parameters".to_owned(), params);
        }
        Value::Object(object)
    }
}

/// Describes a file: a key, an encrypted file of any scheme, a file under AES, a transcript of a
/// party, or a trace. All of a file of frames is read and its checksums are verified. A sealed key
/// is opened if there is a passphrase.
///
/// With a secret key, the noise budget of a file of BFV or BGV is measured, which takes variable
/// time.
///
/// # Errors
/// It is not one of these, or damaged; there is a key, and the file has no noise budget to measure
/// or belongs to another key set; the passphrase is wrong.
pub fn describe(
    mut input: Input,
    key: Option<OneOf<KeyFiles>>,
    passphrase: Option<&dyn Passphrases>,
) -> Result<Description> {
    let start = input.peek(SNIFF_LEN)?;
    let is_other = [aes_file::is_container, transcipher::is_sensor_file, passphrase::is_sealed];
    let is_trace = start.starts_with(trace::MAGIC);
    let is_opening = start.starts_with(trace::OPENING_MAGIC);
    match (is_other.iter().any(|is| is(start)), key) {
        (_, None) if is_trace => describe_trace(input),
        (_, None) if is_opening => describe_opening(input),
        (_, Some(_)) if is_trace || is_opening => Err(no_budget(input.name().to_owned())),
        (false, key) if Outline::is_of(&mut input)? => match key {
            None => describe_transcript(input),
            Some(_) => Err(no_budget(input.name().to_owned())),
        },
        (false, key) => describe_frames(input, key),
        (true, None) => describe_other(input, passphrase),
        (true, Some(_)) => Err(no_budget(input.name().to_owned())),
    }
}

/// Bytes by which all of these files are recognised.
const SNIFF_LEN: usize = 8;

/// A file without a noise budget, and a key to measure it.
fn no_budget(name: String) -> Error {
    ContentError::NoBudget { name }.into()
}

/// A file under AES, a sensor file, or a sealed key.
fn describe_other(mut input: Input, passphrase: Option<&dyn Passphrases>) -> Result<Description> {
    let size = input.known_len();
    if aes_file::is_container(input.peek(aes_file::SNIFF_LEN)?) {
        return describe_file(&Sealed::read(input)?, size);
    }
    if transcipher::is_sensor_file(input.peek(transcipher::SNIFF_LEN)?) {
        return Ok(describe_sensor_file(&SensorFile::read(input)?, size));
    }
    if let Some(passphrase) = passphrase {
        return Ok(match AnyKey::read_sealed(input, passphrase)? {
            AnyKey::Scheme(file) => on_scheme!(file, file => describe_key(&file, size)),
            AnyKey::Tfhe(file) => describe_tfhe_key(&file, size),
            AnyKey::Aes(key) => describe_aes_key(&key, size),
            AnyKey::Sensor(key) => describe_sensor_key(&key, size),
        });
    }
    let mut facts = vec![("file", json!("sealed secret key"), "sealed secret key".to_owned())];
    facts.extend(size.map(size_fact));
    facts.push(sealed_fact(true));
    Ok(Description { params: None, facts })
}

/// Describes the computation that a party repeated, which only the parties of its session can
/// check.
fn describe_transcript(input: Input) -> Result<Description> {
    let size = input.known_len();
    let Outline { params, id, party, inputs, steps, results } = Outline::read(input)?;
    let names: Vec<_> = steps.iter().map(|step| step.operation.name()).collect();
    let parties = inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let program = if names.is_empty() { "no operation".to_owned() } else { names.join(", ") };
    let mut facts = vec![
        ("file", json!("transcript"), "transcript".to_owned()),
        ("party", json!(party), party.to_string()),
        ("inputs", json!(inputs), format!("{}, of parties {parties}", inputs.len())),
        ("program", json!(names), program),
        ("ciphertexts", json!(results), format!("{results} in the result")),
        key_set_fact(&id),
    ];
    facts.extend(size.map(size_fact));
    Ok(Description { params: Some(params), facts })
}

/// Describes opened operations of a trace. Whether they belong to its root is for an audit.
fn describe_opening(input: Input) -> Result<Description> {
    let size = input.known_len();
    let opening = Opening::read(input)?;
    let (program, root) = (opening.program().to_string(), trace::hex(&opening.root()));
    let (opened, all) = (opening.opened().len(), opening.operations());
    let mut facts = vec![
        ("file", json!("trace_opening"), "operations of a trace".to_owned()),
        ("program", json!(program), program),
        ("operations", json!(all), all.to_string()),
        ("opened", json!(opened), opened.to_string()),
        ("root", json!(root), root),
    ];
    facts.extend(size.map(size_fact));
    Ok(Description { params: None, facts })
}

/// Describes the operations to which a trace binds whoever computed them.
fn describe_trace(input: Input) -> Result<Description> {
    let size = input.known_len();
    let trace = Trace::read(input)?;
    let (program, root) = (trace.program().to_string(), trace::hex(&trace.root()));
    let (files, operations) = (trace.files().len(), trace.operations().len());
    let mut facts = vec![
        ("file", json!("trace"), "trace".to_owned()),
        ("program", json!(program), program),
        ("inputs", json!(files), format!("{files} files, keys among them")),
        ("operations", json!(operations), operations.to_string()),
        ("root", json!(root), root),
    ];
    facts.extend(size.map(size_fact));
    Ok(Description { params: None, facts })
}

/// A file of frames; the key measures its noise budget.
fn describe_frames(mut input: Input, key: Option<OneOf<KeyFiles>>) -> Result<Description> {
    let (name, size) = (input.name().to_owned(), input.known_len());
    check_start(&mut input, "a key or an encrypted file", Wanted::Either)?;
    let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
    let start = match read_start(&mut reader, &name)? {
        AnyStart::Scheme(start) => start,
        AnyStart::Aes(_) | AnyStart::Sensor(_) | AnyStart::Tfhe(_) | AnyStart::Bootstrap(..)
            if key.is_some() =>
        {
            return Err(no_budget(name));
        }
        AnyStart::Tfhe((params, Note::Payload(payload))) => {
            return describe_tfhe_table(tfhe::file::Reader::read_rest(reader, params, payload, &name), size);
        }
        AnyStart::Tfhe(start) => {
            let file = tfhe::keys::KeyFile::read_rest(reader, start, &name, false)?;
            return Ok(describe_tfhe_key(&file, size));
        }
        AnyStart::Bootstrap(params, id) => {
            return on_refreshing!(params, params => {
                let file = bootstrap::keys::KeyFile::read_rest(reader, params, id, &name);
                describe_bootstrap_key(file, size)
            });
        }
        AnyStart::Aes(key) => return Ok(describe_aes_key(&AesKey { name, key, sealed: false }, size)),
        AnyStart::Sensor(key) => return Ok(describe_sensor_key(&AesKey { name, key, sealed: false }, size)),
    };
    let file = File { reader, name, size };
    match (start, key) {
        (start, None) => on_scheme!(start, S, start => file.describe::<S>(start, None)),
        (Start::Bfv(start), Some(OneOf::Bfv(key))) => file.measure(start, key),
        (Start::Bgv(start), Some(OneOf::Bgv(key))) => file.measure(start, key),
        (Start::Ckks(_) | Start::BigCkks(_), Some(_)) => Err(no_budget(file.name)),
        (_, Some(key)) => on_scheme!(key, key => {
            Err(KeyError::Other { name: file.name, key: key.name }.into())
        }),
    }
}

/// A file whose beginning was read.
struct File {
    reader: FrameReader<BufReader<Input>>,
    name: String,
    size: Option<u64>,
}

/// Measures the noise budget that is left of a frame of ciphertexts, in bits.
type Gauge = Box<dyn Fn(&Frame) -> he_core::Result<f64>>;

/// Measures noise budgets with this secret key. It takes variable time, for the holder of the key.
fn gauge<E: Taken>(key: &KeyFile<E>) -> Result<Gauge> {
    let (params, secret) = (key.params.clone(), key.secret()?);
    let ring = Ring::new(Device::cpu(), params.rlwe().ring().clone())?;
    let decryptor = Decryptor::<E, Device>::new(&params, secret, &ring)?;
    Ok(Box::new(move |frame| {
        let budgets = decryptor.noise_budget(&<E as Scheme>::decode(&params, &ring, frame)?)?;
        Ok(budgets.into_iter().fold(f64::INFINITY, f64::min))
    }))
}

impl File {
    /// With the noise budget that is actually left.
    fn measure<E: Taken>(self, start: (Params<E>, Note), key: KeyFile<E>) -> Result<Description> {
        let gauge = gauge(&key)?;
        self.describe(start, Some((key, gauge)))
    }

    fn describe<S: Scheme>(
        self,
        (params, note): (S::Params, Note),
        measure: Option<(KeyFile<S>, Gauge)>,
    ) -> Result<Description> {
        let Self { reader, name, size } = self;
        match note {
            Note::Payload(payload) => {
                let reader = CipherReader::<S>::read_rest(reader, params, payload, &name);
                describe_ciphertexts(reader, size, measure)
            }
            Note::Key(_) if measure.is_some() => Err(no_budget(name)),
            note => Ok(describe_key(&KeyFile::<S>::read_rest(reader, (params, note), &name, false)?, size)),
        }
    }
}

fn parameters<S: Scheme>(params: &S::Params) -> Option<Parameters> {
    Some((S::params_json(params), S::params_text(params)))
}

fn size_fact(size: u64) -> (&'static str, Value, String) {
    ("bytes", json!(size), units::bytes(size))
}

fn key_set_fact(id: &KeyId) -> (&'static str, Value, String) {
    ("key set", json!(id.short()), id.short().to_owned())
}

fn history_fact(history: &[String]) -> (&'static str, Value, String) {
    let text = if history.is_empty() { "fresh".to_owned() } else { history.join(", ") };
    ("history", json!(history), text)
}

fn describe_key<S: Scheme>(file: &KeyFile<S>, size: Option<u64>) -> Description {
    let (_, kind) = file.kind().split_once(' ').unwrap_or_default();
    let mut facts = vec![("file", json!(kind), kind.to_owned()), key_set_fact(&file.id)];
    facts.extend(size.map(size_fact));
    match &file.key {
        Key::Secret(_) => facts.push(sealed_fact(file.sealed)),
        Key::Public(_) => {}
        Key::Evaluation(frames) => {
            let rotations = frames.iter().filter(|frame| S::key_part(frame) == Some(KeyPart::Galois)).count();
            facts.push(("rotations", json!(rotations), rotations.to_string()));
            let relin = rotations < frames.len();
            let text = if relin { "relinearisation key present" } else { "no relinearisation key" };
            facts.push(("products", json!(relin), text.to_owned()));
        }
    }
    Description { params: parameters::<S>(&file.params), facts }
}

fn sealed_fact(sealed: bool) -> (&'static str, Value, String) {
    ("sealed", json!(sealed), if sealed { "by a passphrase" } else { "no" }.to_owned())
}

fn describe_aes_key(file: &AesKey, size: Option<u64>) -> Description {
    let kind = ("file", json!("AES key"), "AES key, 256 bits".to_owned());
    one_key(kind, file.key.id(), size, file.sealed)
}

fn describe_sensor_key(file: &AesKey<SensorKey>, size: Option<u64>) -> Description {
    let bits = file.key.key().size().bits();
    let kind = ("file", json!("sensor key"), "sensor key".to_owned());
    let mut description = one_key(kind, file.key.id(), size, file.sealed);
    description.facts.push(("bits", json!(bits), bits.to_string()));
    description
}

/// A key of AES, which has an identity of its own.
fn one_key(
    kind: (&'static str, Value, String),
    id: container::KeyId,
    size: Option<u64>,
    sealed: bool,
) -> Description {
    let mut facts = vec![kind, ("key", json!(id.to_string()), id.to_string())];
    facts.extend(size.map(size_fact));
    facts.push(sealed_fact(sealed));
    Description { params: None, facts }
}

/// The header of a sensor file, which nobody can verify, and its length.
fn describe_sensor_file(file: &SensorFile, size: Option<u64>) -> Description {
    let (content, key) = (&file.header.content, file.header.key.to_string());
    let mut facts = vec![
        ("file", json!("sensor file"), "sensor file".to_owned()),
        ("cipher", json!("AES-CTR"), "AES-CTR, without authentication".to_owned()),
        ("key", json!(key), key.clone()),
    ];
    facts.extend(columns_facts(content));
    facts.extend(size.map(size_fact));
    Description { params: None, facts }
}

fn tfhe_parameters(params: &TfheParams) -> Option<Parameters> {
    Some((tfhe::params_json(params), tfhe::params_text(params)))
}

fn describe_tfhe_key(file: &tfhe::keys::KeyFile, size: Option<u64>) -> Description {
    let (_, kind) = file.kind().split_once(' ').unwrap_or_default();
    let mut facts = vec![("file", json!(kind), kind.to_owned()), key_set_fact(&file.id)];
    facts.extend(size.map(size_fact));
    match &file.key {
        tfhe::keys::Key::Secret(_) => facts.push(sealed_fact(file.sealed)),
        tfhe::keys::Key::Public(_) => {}
        tfhe::keys::Key::Evaluation(key, circuit) => {
            let text = match key.group() {
                1 => "a bit at a time".to_owned(),
                group => format!("{group} bits at a time"),
            };
            facts.push(("multi bit", json!(key.group()), text));
            let text = if circuit.is_some() { "yes" } else { "no" };
            facts.push(("transciphers", json!(circuit.is_some()), text.to_owned()));
        }
        tfhe::keys::Key::Sensor(key, sensor) => {
            let (bits, id) = (key.size().bits(), sensor.short());
            facts.push(("sensor key", json!(id), id.to_owned()));
            facts.push(("bits", json!(bits), bits.to_string()));
        }
    }
    Description { params: tfhe_parameters(&file.params), facts }
}

/// All keys are read, one by one, so that the description is that of an undamaged file.
fn describe_bootstrap_key<P: Refreshing>(
    file: bootstrap::keys::KeyFile<P>,
    size: Option<u64>,
) -> Result<Description> {
    let mut facts =
        vec![("file", json!("bootstrapping key"), "bootstrapping key".to_owned()), key_set_fact(&file.id)];
    facts.extend(size.map(size_fact));
    facts.extend(file.params.facts());
    let params = parameters::<P::Scheme>(file.params.programs());
    let keys = file.count()?;
    facts.push(("keys", json!(keys), keys.to_string()));
    Ok(Description { params, facts })
}

/// All columns are read, so that the description is that of an undamaged file.
fn describe_tfhe_table(mut reader: tfhe::file::Reader, size: Option<u64>) -> Result<Description> {
    let (cpu, note) = (Device::cpu(), reader.payload.content.clone());
    for _ in &note.columns {
        reader.column(&cpu)?;
    }
    reader.end()?;
    let kind = if note.picture.is_some() { "encrypted image" } else { "encrypted table" };
    let mut facts = vec![("file", json!(kind), kind.to_owned())];
    facts.extend(columns_facts(&note));
    facts.extend([history_fact(&reader.payload.history), key_set_fact(&reader.payload.key_id)]);
    facts.extend(size.map(size_fact));
    Ok(Description { params: tfhe_parameters(&reader.params), facts })
}

/// The numbers of a file of TFHE, or of a sensor file.
fn columns_facts(note: &ColumnsNote) -> [(&'static str, Value, String); 2] {
    let names: Vec<Option<&str>> = note.columns.iter().map(Option::as_deref).collect();
    let (name, text) = match note.picture {
        Some(_) => ("image", note.shape()),
        None => ("table", table_text(note.rows, &names)),
    };
    let table = serde_json::to_value(note).unwrap_or_default();
    [(name, table, text), ("width", json!(note.width), note.width_text())]
}

/// The header of a file under AES, which nobody can verify without the key.
fn describe_file(file: &Sealed, size: Option<u64>) -> Result<Description> {
    let header = &file.header;
    let kind = match header.content() {
        container::Content::Bytes => "encrypted file",
        container::Content::Tar => "encrypted folder",
    };
    let mut facts = vec![
        ("file", json!(kind), kind.to_owned()),
        ("cipher", json!("AES-256-GCM"), "AES-256-GCM".to_owned()),
    ];
    match header.lock() {
        Lock::Key => facts.push(("key", json!(header.id().to_string()), header.id().to_string())),
        Lock::Passphrase(cost) => {
            let memory = units::bytes(u64::from(cost.memory_kib) << 10);
            let text = format!("Argon2id, {memory}, passes: {}, lanes: {}", cost.passes, cost.lanes);
            let value = json!({ "memory_kib": cost.memory_kib, "passes": cost.passes, "lanes": cost.lanes });
            facts.push(("passphrase", value, text));
        }
    }
    let chunk = header.layout().chunk_len() as u64;
    facts.push(("chunk", json!(chunk), units::bytes(chunk)));
    if let Some(extent) = file.extent()? {
        facts.push(("content", json!(extent.plain), units::bytes(extent.plain)));
    }
    facts.extend(size.map(size_fact));
    Ok(Description { params: None, facts })
}

/// The interpretation of the first row, if it was not certain.
fn header_fact(guess: Option<HeaderGuess>) -> Option<(&'static str, Value, String)> {
    guess.map(|guess| ("header", json!(guess), format!("guessed: {}", guess.text())))
}

/// Rows, columns and their names.
fn table_text(rows: u64, names: &[Option<&str>]) -> String {
    let mut text = rows_and_columns(rows, names.len());
    let names: Vec<&str> = names.iter().copied().flatten().collect();
    if !names.is_empty() {
        text += &format!(": {}", names.join(", "));
    }
    text
}

/// The description of an image, without the facts that are shown separately.
fn image_json(note: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(note).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.remove("profile");
        object.remove("resolution");
    }
    value
}

/// The metadata of the picture's file, which are public.
fn metadata_facts(metadata: &Metadata) -> Vec<(&'static str, Value, String)> {
    let mut facts = Vec::new();
    if let Some(profile) = &metadata.profile {
        let len = profile.bytes().len();
        facts.push((
            "profile",
            json!({ "kind": "ICC", "bytes": len }),
            format!("ICC, {}", units::bytes(len as u64)),
        ));
    }
    if let Some(resolution) = metadata.resolution {
        facts.push(("resolution", json!(resolution), resolution.text()));
    }
    facts
}

/// The content of the description of an encrypted file.
fn describe_content(content: &Content) -> Vec<(&'static str, Value, String)> {
    let kind = content.name().trim_start_matches("an ").to_owned();
    let mut facts = vec![("file", json!(kind), kind.clone())];
    match content {
        Content::Image(image) => {
            facts.push(("image", image_json(image), content.shape()));
            facts.extend(metadata_facts(&image.metadata()));
            let text = format!("{} of {} pixels left for filters", image.halo_left, image.halo);
            facts.push(("halo", json!(image.halo_left), text));
            let text = format!("{:.3} to {:.3} (white is 1)", image.low, image.high);
            facts.push(("range", json!([image.low, image.high]), text));
        }
        Content::Table(table) => {
            let names: Vec<Option<&str>> = table.columns.iter().map(|c| c.name.as_deref()).collect();
            let text = table_text(table.rows, &names);
            facts.push(("table", serde_json::to_value(table).unwrap_or_default(), text));
            facts.extend(header_fact(table.header));
            let offsets: Vec<f64> = table.columns.iter().map(|c| c.offset).collect();
            if offsets.iter().any(|&offset| offset != 0.0) {
                let text = offsets.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
                facts.push(("offset", json!(offsets), text));
            }
        }
        Content::Samples(image) => {
            facts.push(("image", image_json(image), content.shape()));
            facts.extend(metadata_facts(&image.metadata()));
            let text = format!("{} to {} (white is {})", image.low, image.high, image.white);
            facts.push(("range", json!([image.low, image.high]), text));
        }
        Content::Integers(table) => {
            let names: Vec<Option<&str>> = table.columns.iter().map(|c| c.name.as_deref()).collect();
            let text = table_text(table.rows, &names);
            facts.push(("table", serde_json::to_value(table).unwrap_or_default(), text));
            facts.extend(header_fact(table.header));
            let range = |column: &IntegerColumnNote| match &column.categories {
                Some(names) => format!("{} categories", names.len()),
                None => format!("{} to {}", column.low, column.high),
            };
            let text = table.columns.iter().map(range).collect::<Vec<_>>().join(", ");
            let bounds: Vec<[i64; 2]> = table.columns.iter().map(|c| [c.low, c.high]).collect();
            facts.push(("range", json!(bounds), text));
        }
        Content::Digits(note) => {
            let names: Vec<Option<&str>> = note.columns.iter().map(Option::as_deref).collect();
            let text = table_text(note.rows, &names);
            facts.push(("table", serde_json::to_value(note).unwrap_or_default(), text));
            facts.push(("width", json!(note.width), note.width_text()));
        }
        Content::Examples(note) => {
            facts.push(("examples", json!(note.examples), content.shape()));
            facts.push(("model", json!(note.model), note.model.chars().take(16).collect()));
            if !note.masks.is_empty() {
                let lengths: Vec<String> = note.masks.iter().map(|mask| mask.kept().to_string()).collect();
                facts.push(("masks", json!(note.masks), format!("{} tokens, public", lengths.join(", "))));
            }
            if let Some(outputs) = &note.outputs {
                let [low, high] = outputs.range;
                facts.push(("range", json!([low, high]), format!("{low:.3} to {high:.3} where calibrated")));
                facts.push(("decision", json!(outputs.decision.name()), outputs.decision.name().to_owned()));
            }
        }
        Content::Search(note) => {
            facts.push(("search", serde_json::to_value(note).unwrap_or_default(), content.shape()));
        }
    }
    facts
}

fn describe_ciphertexts<S: Scheme>(
    mut reader: CipherReader<S>,
    size: Option<u64>,
    measure: Option<(KeyFile<S>, Gauge)>,
) -> Result<Description> {
    if let Some((key, _)) = &measure {
        key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    }
    let mut facts = describe_content(&reader.payload.content);
    facts.push(history_fact(&reader.payload.history));
    facts.push(key_set_fact(&reader.payload.key_id));
    // All frames are read, so that the description is that of an undamaged file.
    let (mut count, mut worst, mut seeded) = (0u64, None, false);
    let mut measured: Option<f64> = None;
    while let Some(frame) = reader.verified()? {
        let header = S::header(&reader.params, &frame).in_file(&reader.name)?;
        count += header.batch as u64;
        seeded |= Some(frame.kind) == S::CIPHERTEXTS.1;
        worst = Some(worst.map_or(header.state, |worst: State| worst.or_less(header.state)));
        if let Some((_, gauge)) = &measure {
            let budget = gauge(&frame).in_file(&reader.name)?;
            measured = Some(measured.map_or(budget, |least| least.min(budget)));
        }
    }
    let text = format!("{count}{}", if seeded { ", the second half of each as a seed" } else { "" });
    facts.push(("ciphertexts", json!(count), text));
    match worst {
        Some(State::Level { level, of, scale_log2 }) => {
            facts.push(("level", json!(level), format!("{level} of {of}")));
            let told = json!(units::four_decimals(scale_log2));
            facts.push(("scale log2", told, format!("{scale_log2:.4}")));
        }
        Some(State::Budget { level, of, bits }) => {
            facts.push(("level", json!(level), format!("{level} of {of}")));
            facts.push(("predicted", json!(bits), format!("{bits:.1} bits of noise budget at least")));
        }
        Some(State::Bits { log_q, of, scale_log2 }) => {
            facts.push(("bits left", json!(log_q), format!("{log_q} of {of}")));
            facts.push(("scale log2", json!(scale_log2), scale_log2.to_string()));
        }
        None => {}
    }
    if let Some(bits) = measured {
        facts.push(("budget", json!(bits), format!("{bits:.1} bits of noise budget measured")));
    }
    facts.extend(size.map(size_fact));
    Ok(Description { params: parameters::<S>(&reader.params), facts })
}
