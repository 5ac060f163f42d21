//! The generator of the golden files: smallest parameters that are secure, fixed seeds, and the
//! code that writes every file.

use he::Device;
use he_core::aes::container::{Content as Kept, Cost, Header, Layout, UserKey};
use he_core::aes::{Bulk, Cpu, KeySize};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::BigCkksParams;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec};
use he_core::ckks::CkksParams;
use he_core::exact::Params;
use he_core::tfhe::{CompactPublicKey, EncryptedFlags, Gadget, TfheParams, TfheSecretKey, TfheSpec};
use he_core::transcipher::SensorKey;
use he_core::wire::{Wire, WireKeys, WireParams};
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::Clear;
use he_files::contents::digits::{DigitTable, ReadOptions};
use he_files::contents::options::{ColumnCategories, TableFlags};
use he_files::contents::{Contents, encrypt};
use he_files::data::table::TableOptions;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_file::{AnyKey, Key, KeyFile, write_aes_key, write_frames, write_key};
use he_files::key_set::{KeySet, secret_file};
use he_files::models::examples::Examples;
use he_files::models::{self, ModelFile};
use he_files::note::{Content, KeyId, KeyNote, Payload};
use he_files::passphrase::{Passphrase, seal_with};
use he_files::scheme::{BigCkks, Ckks, OfKeySet, Rotations, Scheme, Taken};
use he_files::search::{IndexFolder, Record, Wanted, answer, append};
use he_files::team::Team;
use he_files::tfhe::{self, columns, file::Column, keys::Encryptor, note::Integers};
use he_files::trace::{self, Parts, Program, Role, Trace, Value};
use he_files::transcipher;
use he_nn::encoder::Encoder;
use he_nn::graph::{Decision, Dense, Graph, Node, Op};
use he_nn::{AnyModel, Arrangement, CompiledModel, Options, Parameters};
use he_search::{Metric, Plan, Position};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// Numbers of a table of CKKS and of bigckks.
pub const REALS: &str = "a,b\n1.5,-2\n-0.25,4\n";
/// Numbers of a table of BFV.
pub const INTEGERS: &str = "n\n17\n-4\n100\n";
/// Categories of a table of BGV.
pub const CATEGORIES: &str = "kind\nred\nblue\nred\n";
/// Numbers of a table of TFHE, of 8 bits.
pub const UNSIGNED: &str = "x,y\n200,7\n";
/// Numbers of a table of TFHE with a sign: the least and the greatest.
pub const SIGNED: &str = "x,y\n-128,127\n";
/// Numbers of a sensor, of 16 bits with a sign; the block of AES ends within the second column.
pub const READINGS: &str = "in,out\n2150,-340\n-1,32767\n0,-32768\n1875,12\n7,8\n";
/// Examples of the model, a row each.
pub const EXAMPLES: [f64; 6] = [0.5, -1.0, 0.25, 1.0, 0.0, -0.5];
/// The passphrase of sealed files.
pub const PASSPHRASE: &[u8] = b"correct horse";
/// The files of the archive.
pub const ENTRIES: [(&str, &[u8]); 2] = [("one", b"first\n"), ("sub/two", b"second\n")];

/// A golden file: its name and its bytes.
pub type File = (String, Vec<u8>);

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// The smallest secure parameters, of few bits of precision.
pub fn ckks() -> CkksParams {
    CkksParams::for_depth(0).precision_bits(4).range_bits(1).build().unwrap()
}

/// The smallest secure parameters of one product, for the model.
pub fn ckks_of_model() -> CkksParams {
    CkksParams::for_depth(1).precision_bits(4).range_bits(1).build().unwrap()
}

pub fn exact<E: Taken>() -> Params<E> {
    Params::for_depth(40961, 0).slots().build().unwrap()
}

pub fn bigckks() -> BigCkksParams {
    BigCkksParams::for_depth_bits(0).precision_bits(4).range_bits(0).build().unwrap()
}

/// A gradient in gray of 7 by 5 pixels.
pub fn sample(x: u32, y: u32) -> u8 {
    (30 * x + 10 * y) as u8
}

fn picture() -> Vec<u8> {
    let picture = image::GrayImage::from_fn(7, 5, |x, y| image::Luma([sample(x, y)]));
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
    png.into_inner()
}

/// Bytes in memory that a writer fills.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes that are written into an output.
fn written<T>(write: impl FnOnce(Output) -> T) -> Vec<u8> {
    let memory = Memory::default();
    write(Output::to_writer("memory", memory.clone()));
    std::mem::take(&mut *memory.0.lock().unwrap())
}

fn input(bytes: &[u8]) -> Input {
    Input::from_reader("golden", Cursor::new(bytes.to_vec()))
}

/// The key files of a scheme, and what is encrypted by its secret or public key.
fn scheme<S: Contents>(params: &S::Params, seed: u64, contents: &[(&str, &[u8])]) -> Vec<File> {
    let rng = &mut rng(seed);
    let team = Team::<S>::new(params, &[Device::cpu()]).unwrap();
    let keys = KeySet::generate(team.lead(), &Rotations::default(), rng).unwrap();
    let secret = secret_file::<S>(&keys.secret, params, &keys.id, None, "golden").unwrap().to_vec();
    let (mut public, mut evaluation) = (Vec::new(), Vec::new());
    write_key::<S>(&mut public, params, &keys.id, [keys.public.to_frame(params)], "golden").unwrap();
    let frames = keys.evaluation.to_frames(params);
    write_key::<S>(&mut evaluation, params, &keys.id, frames, "golden").unwrap();
    let name = |file: &str| format!("{}_{file}.he", <S as Scheme>::NAME);
    let mut files = vec![
        (name("secret_key"), secret),
        (name("public_key"), public),
        (name("evaluation_key"), evaluation),
    ];
    for &(content, data) in contents {
        // Words are categories.
        let kinds = ColumnCategories { column: "kind".to_owned(), names: None };
        let categories = if data == CATEGORIES.as_bytes() { &[kinds][..] } else { &[] };
        let flags = TableFlags { categories, ..TableFlags::default() };
        let clear = Clear::read::<S>(input(data), flags, None, &()).unwrap();
        let described = S::describe(&clear, params, None, &()).unwrap();
        let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content: described };
        files.push((
            name(content),
            written(|output| match <S as Scheme>::CIPHERTEXTS.1 {
                // A ciphertext with a seed is half as large.
                Some(_) => {
                    encrypt::by_secret_key(&team, &keys.secret, &clear, &payload, output, rng).unwrap()
                }
                None => encrypt::by_public_key(&team, &keys.public, &clear, &payload, output, rng).unwrap(),
            }),
        ));
    }
    files
}

/// Integers in digits, under the keys of CKKS. Parameters of computations are a thousand times as
/// large.
fn digits() -> File {
    let (params, keys_rng) = (ckks(), &mut rng(1));
    let team = Team::<Ckks>::new(&params, &[Device::cpu()]).unwrap();
    let keys = KeySet::generate(team.lead(), &Rotations::default(), keys_rng).unwrap();
    let options =
        ReadOptions { table: TableOptions::default(), integers: Integers { bits: 8, signed: true } };
    let table = DigitTable::read(input(SIGNED.as_bytes()), options, &()).unwrap();
    let content = Content::Digits(table.note());
    let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
    let (name, key) = ("golden".to_owned(), Key::Secret(keys.secret));
    let key = KeyFile { name, params: params.clone(), id: keys.id, key, sealed: false };
    let batches = table.pack(<Ckks as Scheme>::slots(&params));
    let write = |output| encrypt::batches(&team, &key, batches, &payload, output, &mut rng(12)).unwrap();
    ("ckks_digits.he".to_owned(), written(write))
}

/// Secure parameters for digits that do not follow the presets.
const TFHE: TfheSpec = TfheSpec {
    lwe_dimension: 860,
    lwe_sigma_log2: -19.25,
    glwe_dimension: 1,
    log_degree: 11,
    glwe_sigma_log2: -49.75,
    bootstrap: Gadget { base_log: 23, levels: 1 },
    switch: Gadget { base_log: 3, levels: 5 },
};

/// A secret and a public key, columns of integers that either encrypts, and one of conditions.
fn tfhe() -> Vec<File> {
    let (rng, device) = (&mut rng(5), Device::cpu());
    let params = TfheParams::try_from(TFHE).unwrap();
    let (id, key) = (KeyId::random(rng), TfheSecretKey::generate(&params, rng));
    let mut secret = Vec::new();
    tfhe::keys::write_key(&mut secret, &params, &id, key.to_frame(&params).unwrap(), "golden").unwrap();
    let key = key.of(&id);
    let encrypted = |by: Encryptor<'_>, text: &str, integers: Integers, rng: &mut ChaCha20Rng| {
        let table = columns::read(input(text.as_bytes()), TableOptions::default(), integers, &()).unwrap();
        let content = columns::describe(&table, integers, None, &params).unwrap();
        let payload = Payload { key_id: id.clone(), history: Vec::new(), content };
        let bytes = written(|output| {
            let writer = tfhe::file::Writer::new(output, &params, &payload).unwrap();
            columns::encrypt(by, &table, integers, writer, rng, &()).unwrap()
        });
        (payload, bytes)
    };
    let (payload, integers) = encrypted(Encryptor::Secret(&key), UNSIGNED, Integers::unsigned(8), rng);
    let mut content = payload.content.conditions();
    content.columns.truncate(1);
    let payload = Payload { history: vec!["lt".to_owned()], content, ..payload };
    let conditions = written(|output| {
        let mut writer = tfhe::file::Writer::new(output, &params, &payload).unwrap();
        // 1 / 32 of the torus: the condition holds.
        let flags = EncryptedFlags::from_ciphertexts(key.encrypt(&device, &[1 << 59], rng).unwrap());
        writer.column(&Column::Conditions(flags.of(&id))).unwrap();
        writer.commit().unwrap()
    });
    let of_sign = Integers { bits: 8, signed: true };
    let (_, signed) = encrypted(Encryptor::Secret(&key), SIGNED, of_sign, rng);
    let public_key = CompactPublicKey::generate(&key, rng);
    let mut public = Vec::new();
    let frame = public_key.to_frame(&params).unwrap();
    tfhe::keys::write_key(&mut public, &params, &id, frame, "golden").unwrap();
    let (_, compact) = encrypted(Encryptor::Public(&public_key), SIGNED, of_sign, rng);
    [
        ("secret_key", secret),
        ("integers", integers),
        ("conditions", conditions),
        ("signed_integers", signed),
        ("public_key", public),
        ("compact_integers", compact),
    ]
    .map(|(name, bytes)| (format!("tfhe_{name}.he"), bytes))
    .into()
}

/// A sensor key, what it encrypts, and the key itself and an image under TFHE.
fn transcipher() -> Vec<File> {
    let rng = &mut rng(8);
    let params = TfheParams::try_from(TFHE).unwrap();
    let AnyKey::Tfhe(file) = AnyKey::read(input(&tfhe().swap_remove(0).1), "a secret key", None).unwrap()
    else {
        panic!("a key of TFHE")
    };
    let (secret, sensor) = (file.secret().unwrap(), SensorKey::generate(KeySize::Bits192, rng));
    let (mut key, mut encrypted) = (Vec::new(), Vec::new());
    write_aes_key(&mut key, &sensor.to_frame(), "golden").unwrap();
    tfhe::keys::write_sensor(&mut encrypted, secret, &sensor, &file.id, rng, "golden").unwrap();
    let read = |bytes: &[u8], width, signed| {
        let options = columns::ReadOptions { width, signed, ..columns::ReadOptions::default() };
        columns::Clear::read(input(bytes), options, &params, &()).unwrap()
    };
    let (table, image) = (read(READINGS.as_bytes(), Some(16), true), read(&picture(), None, false));
    let mut sent = |clear: &columns::Clear| {
        written(|output| transcipher::columns::encrypt(&sensor, clear, output, rng, &()).unwrap())
    };
    let (sent_table, sent_image) = (sent(&table), sent(&image));
    let content = image.describe(&params).unwrap();
    let payload = Payload { key_id: file.id.clone(), history: vec!["transcipher".to_owned()], content };
    let bytes = written(|output| {
        let writer = tfhe::file::Writer::new(output, &params, &payload).unwrap();
        columns::encrypt(Encryptor::Secret(secret), &image.table, image.integers, writer, rng, &()).unwrap()
    });
    [
        ("sensor_key", key),
        ("sensor_table", sent_table),
        ("sensor_image", sent_image),
        ("tfhe_sensor_key", encrypted),
        ("tfhe_image", bytes),
    ]
    .map(|(name, bytes)| (format!("{name}.he"), bytes))
    .into()
}

/// Three numbers to two, without a function between.
fn graph() -> Graph {
    let node = |name: &str, operator: &str, op, inputs, shape| Node {
        name: name.to_owned(),
        operator: operator.to_owned(),
        op,
        inputs,
        shape,
    };
    let weights = vec![0.5, -0.25, 1.0, 0.125, 0.75, -1.0];
    let dense = Dense { outputs: 2, inputs: 3, weights, bias: vec![0.25, -0.5] };
    let nodes = vec![
        node("x", "Input", Op::Input, vec![], [3].as_slice().into()),
        node("y", "Gemm", Op::Dense(dense), vec![0], [2].as_slice().into()),
    ];
    Graph { nodes, output: 1, decision: Decision::None }
}

/// The two numbers of each example.
pub fn outputs() -> Vec<[f64; 2]> {
    EXAMPLES
        .chunks(3)
        .map(|x| [0.5 * x[0] - 0.25 * x[1] + x[2] + 0.25, 0.125 * x[0] + 0.75 * x[1] - x[2] - 0.5])
        .collect()
}

/// A compiled model, in slots and in stacks, a secret key for it, and examples.
fn model() -> Vec<File> {
    let params = ckks_of_model();
    let examples: Vec<Vec<f64>> = EXAMPLES.chunks(3).map(<[f64]>::to_vec).collect();
    let compiled = CompiledModel::compile_for(
        graph(),
        &examples,
        Options::default(),
        Parameters::Leveled(params.clone()),
    );
    let plan = compiled.unwrap().to_bytes().unwrap();
    let stacks = CompiledModel::arranged_for(
        graph(),
        &examples,
        Options::default(),
        Parameters::Leveled(params.clone()),
        Arrangement::Stacks,
    );
    let stacks = stacks.unwrap().to_bytes().unwrap();
    let rng = &mut rng(6);
    let (id, secret) = (KeyId::random(rng), Ckks::secret(&params, rng));
    let secret = secret_file::<Ckks>(&secret, &params, &id, None, "golden").unwrap().to_vec();
    let model = ModelFile::from_bytes("golden", &plan).unwrap();
    let Ok(AnyKey::Scheme(he_files::scheme::OneOf::Ckks(key))) =
        AnyKey::read(input(&secret), "a secret key", None)
    else {
        panic!("a key of CKKS")
    };
    let examples = Examples::of(&EXAMPLES, model.model.graph());
    let encrypted =
        written(|output| models::encrypt(&model, &key, &examples, Device::cpu(), output, rng, &()).unwrap());
    [("secret_key", secret), ("plan", plan), ("stacks_plan", stacks), ("examples", encrypted)]
        .map(|(name, bytes)| (format!("model_{name}.he"), bytes))
        .into()
}

/// The sentences of the golden encoder, as an example each: ids, types and mask.
pub const SENTENCES: [[f64; 18]; 2] = [
    [3., 4., 4., 2., 8., 4., 1., 1., 0., 1., 0., 1., 1., 1., 1., 1., 1., 1.],
    [6., 9., 2., 10., 7., 0., 1., 0., 1., 0., 0., 0., 1., 1., 1., 0., 0., 0.],
];

/// The plan of an encoder of six tokens, and encrypted sentences.
fn encoder() -> Vec<File> {
    let onnx = concat!(env!("CARGO_MANIFEST_DIR"), "/../he-nn/tests/data/encoders/optimum.onnx");
    let graph = Graph::from_onnx(&std::fs::read(onnx).unwrap()).unwrap();
    let examples = SENTENCES.map(Vec::from);
    let toy = BootstrapSpec { log_n: 10, log_slots: 9, ..Preset::Fast.spec() };
    let parameters = Parameters::Refreshed(BootstrapParams::insecure(toy).unwrap());
    let plan = Encoder::calibrate(graph, &examples).unwrap().plan(parameters).unwrap();
    let plan = AnyModel::from(plan).to_bytes().unwrap();
    let model = ModelFile::from_bytes("golden", &plan).unwrap();
    let rng = &mut rng(9);
    let (id, secret) = (KeyId::random(rng), Ckks::secret(model.params(), rng));
    let secret = secret_file::<Ckks>(&secret, model.params(), &id, None, "golden").unwrap().to_vec();
    let Ok(AnyKey::Scheme(he_files::scheme::OneOf::Ckks(key))) =
        AnyKey::read(input(&secret), "a secret key", None)
    else {
        panic!("a key of CKKS")
    };
    let numbers = examples[..1].concat();
    let examples = Examples::of(&numbers, model.model.graph());
    let encrypted =
        written(|output| models::encrypt(&model, &key, &examples, Device::cpu(), output, rng, &()).unwrap());
    [("secret_key", secret), ("plan", plan), ("examples", encrypted)]
        .map(|(name, bytes)| (format!("encoder_{name}.he"), bytes))
        .into()
}

fn digest(name: &str) -> [u8; 32] {
    *blake3::hash(name.as_bytes()).as_bytes()
}

fn trace_file(role: Role, frames: &[&str]) -> trace::File {
    trace::File { role, frames: frames.iter().map(|frame| digest(frame)).collect() }
}

fn operation(name: &str, of: &[Value], results: &[&str]) -> trace::Operation {
    let results = results.iter().map(|result| digest(result)).collect();
    trace::Operation { name: name.to_owned(), of: of.to_vec(), results }
}

fn frame(file: u32, frame: u32) -> Value {
    Value::Frame { file, frame }
}

fn result(operation: u32, part: u32) -> Value {
    Value::Result { operation, part }
}

/// A trace of three operations: the digests are hashes of names, because traces hold no others.
fn trace() -> Trace {
    let parts = Parts {
        program: Program::Model(digest("model")),
        files: vec![
            trace_file(Role::Input, &["parameters", "description", "first", "second"]),
            trace_file(Role::Key, &["parameters", "key set", "key"]),
        ],
        operations: vec![
            operation("one", &[frame(0, 2), frame(0, 3)], &["x"]),
            operation("two", &[result(0, 0)], &["y", "z"]),
            operation("three", &[result(1, 1), result(0, 0)], &["w"]),
        ],
        head: ["parameters", "result"].map(digest),
        result: vec![result(2, 0), result(1, 0)],
    };
    Trace::new(parts).unwrap()
}

/// The second operation of that trace in parts.
fn trace_parts() -> Trace {
    let parts = Parts {
        program: Program::Parts { context: trace().context(), operation: 1 },
        files: vec![trace_file(Role::Input, &["parameters", "result", "x"])],
        operations: vec![
            operation("turned", &[frame(0, 2)], &["x turned"]),
            operation("product", &[result(0, 0)], &["y"]),
            operation("sum", &[result(0, 0), result(1, 0)], &["z"]),
        ],
        head: ["parameters", "result"].map(digest),
        result: vec![result(1, 0), result(2, 0)],
    };
    Trace::new(parts).unwrap()
}

/// The trace, its first operation opened, with those that make the result, and its second in parts.
fn traces() -> [File; 3] {
    let trace = trace();
    let opening = trace.open(&[0]).unwrap();
    [
        ("trace.he", trace.to_bytes()),
        ("trace_opening.he", opening.to_bytes()),
        ("trace_parts.he", trace_parts().to_bytes()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes.unwrap()))
}

/// The vectors of an index, the second of which is deleted, and a query.
pub const VECTORS: [[f64; 2]; 4] = [[3.0, 4.0], [1.0, 0.0], [-2.0, 0.0], [1.0, 1.0]];

/// A secret key for an index that ranks by the cosine, a query to it, and the answer.
fn search() -> Vec<File> {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::ranking(2, Metric::Cosine).records(4);
    let mut index = IndexFolder::create(&folder.path().join("index"), &plan).unwrap();
    let (params, rng) = (index.params().clone(), &mut rng(8));
    let engine = he_files::search::engine(&params, Device::cpu()).unwrap();
    let keys = KeySet::<Ckks>::generate(&engine, &he_files::search::rotations(&params), rng).unwrap();
    let secret = secret_file::<Ckks>(&keys.secret, params.ckks(), &keys.id, None, "golden").unwrap().to_vec();
    let ckks = |bytes: &[u8]| match AnyKey::read(input(bytes), "a key", None).unwrap().scheme("a key") {
        Ok(he_files::scheme::OneOf::Ckks(key)) => key,
        _ => panic!("a key of CKKS"),
    };
    let key = ckks(&secret);
    let records: Vec<Record> =
        VECTORS.iter().map(|x| Record { vector: x.to_vec(), payload: Vec::new() }).collect();
    append(&mut index, &key, &records, &engine, rng, &()).unwrap();
    index.delete(&[Position { segment: 0, slot: 1 }]).unwrap();
    let query =
        written(|output| he_files::search::query(&index, &key, &[1.0, 0.0], &engine, output, rng).unwrap());
    let mut evaluation = Vec::new();
    let note = KeyNote::of(&keys.id);
    let frames = keys.evaluation.to_frames(params.ckks());
    write_frames(&mut evaluation, &params.ckks().to_frame(), &note, frames, "golden").unwrap();
    let reader = CipherReader::<Ckks>::new(Input::from_bytes("golden", query.clone())).unwrap();
    let answer = written(|output| {
        answer(&index, reader, ckks(&evaluation), Wanted::Scores, &engine, output, &()).unwrap()
    });
    [("secret_key", secret), ("query", query), ("answer", answer)]
        .map(|(name, bytes)| (format!("search_{name}.he"), bytes))
        .into()
}

/// The passphrase of sealed files.
pub fn passphrase() -> Passphrase {
    Passphrase::new(Zeroizing::new(PASSPHRASE.to_vec())).unwrap()
}

/// A key of AES, the same sealed, and a folder under it.
fn aes() -> Vec<File> {
    let rng = &mut rng(7);
    let user = UserKey::generate(rng);
    let mut key = Vec::new();
    write_aes_key(&mut key, &user.to_frame(), "golden").unwrap();
    let cost = Cost { memory_kib: 19 << 10, passes: 1, lanes: 1 };
    let sealed = seal_with(cost, &key, &passphrase(), rng).unwrap();

    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, kind: tar::EntryType, mode: u32, data: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(data.len() as u64);
        archive.append_data(&mut header, name, data).unwrap();
    };
    add("sub", tar::EntryType::Directory, 0o755, b"");
    ENTRIES.iter().for_each(|(name, data)| add(name, tar::EntryType::Regular, 0o644, data));
    let mut data = archive.into_inner().unwrap();
    let (header, key_of_file) = Header::with_key(&user, Layout::new(12).unwrap(), Kept::Tar, rng);
    let mut tags = vec![[0; 16]; data.len().div_ceil(1 << 12)];
    key_of_file.seal(&Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags).unwrap();
    let mut folder = header.to_bytes().to_vec();
    for (chunk, tag) in data.chunks(1 << 12).zip(&tags) {
        folder.extend([chunk, tag].concat());
    }
    [("key", key), ("sealed_key", sealed), ("folder", folder)]
        .map(|(name, bytes)| (format!("aes_{name}.he"), bytes))
        .into()
}

/// A public key as three parties make it, whose description says how many they were: that of the
/// keys of BGV, otherwise.
fn collective() -> File {
    let team = Team::<Bgv>::new(&exact(), &[Device::cpu()]).unwrap();
    let keys = KeySet::generate(team.lead(), &Rotations::default(), &mut rng(3)).unwrap();
    let (params, note) = (exact::<Bgv>(), KeyNote { parties: Some(3), ..KeyNote::of(&keys.id) });
    let mut bytes = Vec::new();
    let frames = [keys.public.to_frame(&params)];
    write_frames(&mut bytes, &params.to_frame(), &note, frames, "golden").unwrap();
    ("bgv_collective_public_key.he".to_owned(), bytes)
}

/// All golden files.
pub fn files() -> Vec<File> {
    let picture = &picture()[..];
    let mut files = scheme::<Ckks>(&ckks(), 1, &[("image", picture), ("table", REALS.as_bytes())]);
    files.extend(scheme::<Bfv>(&exact(), 2, &[("image", picture), ("table", INTEGERS.as_bytes())]));
    // Its other keys are frames of the same kinds as those of BFV.
    let bgv = scheme::<Bgv>(&exact(), 3, &[("table", CATEGORIES.as_bytes())]);
    files
        .extend(bgv.into_iter().filter(|(name, _)| ["bgv_secret_key.he", "bgv_table.he"].contains(&&**name)));
    files.push(collective());
    files.push(digits());
    files.extend(scheme::<BigCkks>(&bigckks(), 4, &[("table", REALS.as_bytes())]));
    files.extend(tfhe());
    files.extend(transcipher());
    files.extend(model());
    files.extend(encoder());
    files.extend(traces());
    files.extend(aes());
    files.extend(search());
    files
}
