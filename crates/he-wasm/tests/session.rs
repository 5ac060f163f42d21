//! The files that a session makes step by step are those that he-files makes of the same seed, and
//! those that WebAssembly makes of it (`web/client/tests`) have the digests that are compared here.
#![allow(missing_docs, clippy::unwrap_used)]

use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::tfhe::{BootstrapKey, TfheSecretKey, presets};
use he_core::wire::{Wire, WireKeys};
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::options::TableFlags;
use he_files::contents::{Contents, encrypt, images, integers};
use he_files::data::picture::{Channels, Picture, Samples};
use he_files::data::table::{Cell, Table};
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_file::{AnyKey, Key, KeyFile, write_key};
use he_files::key_set::KeySet;
use he_files::models::examples::Examples;
use he_files::models::{self, Inference, ModelFile};
use he_files::needs::{IntegerNeeds, RealNeeds};
use he_files::note::{KeyId, Payload};
use he_files::scheme::{Ckks, Rotations, Scheme};
use he_files::team::Team;
use he_files::tfhe::{self, keys::Encryptor, note::Integers};
use he_files::watch::Watch;
use he_nn::graph::{Decision, Dense, Graph, Node, Op};
use he_nn::{CompiledModel, Options};
use he_wasm::options::KeyOptions;
use he_wasm::session::{Column, FileSecret, Making, info};
use he_wasm::table::{self, ReadOptions};
use he_wasm::task::{Step, Task, Written};
use he_wasm::{Error, Session};
use num_bigint::BigInt;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use zeroize::Zeroizing;

const SEED: u64 = 20_261_122;
const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/client/tests/digests.json");

fn seeded() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(SEED)
}

fn finish<T>(task: &mut Task<T>) -> Result<T, Error> {
    loop {
        match task.step()? {
            Step::Done(result) => return Ok(result),
            Step::Working => {}
            Step::Hungry => panic!("nobody feeds this task"),
        }
    }
}

fn made(mut making: Making) -> Vec<u8> {
    let mut file = Vec::new();
    loop {
        let step = making.task.step().unwrap();
        file.extend(making.written.take());
        if let Step::Done(facts) = step {
            assert_eq!(facts["bytes"], file.len());
            return file;
        }
    }
}

/// Feeds a task in pieces.
fn fed<T>(task: &mut Task<T>, file: &[u8], piece: usize) -> Result<T, Error> {
    let mut pieces = file.chunks(piece);
    loop {
        match task.step()? {
            Step::Done(result) => return Ok(result),
            Step::Working => {}
            Step::Hungry => match pieces.next() {
                Some(piece) => task.feed.push(piece),
                None => task.feed.end(),
            },
        }
    }
}

fn session(options: &Value) -> Session {
    let session = Session::new();
    let mut options = options.clone();
    options["insecureSeed"] = json!(SEED);
    let (mut task, tell) = session.generate(&KeyOptions::parse(&options.to_string()).unwrap()).unwrap();
    finish(&mut task).unwrap();
    assert_eq!(tell.done_of().0, tell.done_of().1);
    session
}

/// A gradient of so many channels.
fn pixels(channels: usize) -> Vec<u8> {
    (0..100 * 70 * channels).map(|i| (i * 7 % 251) as u8).collect()
}

fn picture() -> Picture {
    Picture::new(100, 70, Channels::Rgb, Samples::Eight(pixels(3))).unwrap()
}

const CSV: &str = "a,b\n1,-2\n3,40\n500,6\n";

fn columns(real: bool) -> (Option<Vec<String>>, Vec<Column>) {
    let columns = [vec![1i64, 3, 500], vec![-2, 40, 6]];
    let column = |values: Vec<i64>| match real {
        true => Column::Real(values.into_iter().map(|x| x as f64).collect()),
        false => Column::Integer(values),
    };
    (Some(vec!["a".to_owned(), "b".to_owned()]), columns.into_iter().map(column).collect())
}

/// The five files that he-files makes of the seed.
fn expected<S: Contents>(params: &S::Params, rotations: &Rotations) -> BTreeMap<&'static str, Vec<u8>> {
    let team = Team::<S>::new(params, &[Device::cpu()]).unwrap();
    let keys = KeySet::<S>::generate(team.lead(), rotations, &mut seeded()).unwrap();
    let (mut secret, mut public, mut evaluation) = (Vec::new(), Vec::new(), Vec::new());
    write_key::<S>(&mut secret, params, &keys.id, [keys.secret.to_frame(params)], "").unwrap();
    write_key::<S>(&mut public, params, &keys.id, [keys.public.to_frame(params)], "").unwrap();
    write_key::<S>(&mut evaluation, params, &keys.id, keys.evaluation.to_frames(params), "").unwrap();
    let encrypted = |clear: Clear<S::Table>| {
        let content = S::describe(&clear, params, None, &()).unwrap();
        let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
        let file = Written::default();
        let (output, mut rng) = (Output::to_writer("file", file.clone()), seeded());
        encrypt::by_secret_key(&team, &keys.secret, &clear, &payload, output, &mut rng).unwrap();
        file.take()
    };
    let table = Clear::read::<S>(Input::from_reader("t", CSV.as_bytes()), TableFlags::default(), None, &());
    [
        ("secret", secret),
        ("public", public),
        ("evaluation", evaluation),
        ("image", encrypted(Clear::Picture(picture()))),
        ("table", encrypted(table.unwrap())),
    ]
    .into()
}

/// The files that a session makes of the seed.
fn found(session: &Session, real: bool) -> BTreeMap<&'static str, Vec<u8>> {
    let (names, columns) = columns(real);
    [
        ("secret", session.save(None).unwrap().to_vec()),
        ("public", session.public_key().unwrap()),
        ("evaluation", made(session.evaluation_key().unwrap())),
        ("image", made(session.encrypt_image(100, 70, 3, pixels(3), None).unwrap())),
        ("table", made(session.encrypt_table(names, columns, None).unwrap())),
    ]
    .into()
}

fn sha256(file: &[u8]) -> String {
    Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digests(files: &BTreeMap<&'static str, Vec<u8>>) -> Value {
    files.iter().map(|(name, file)| (name.to_string(), json!(sha256(file)))).collect()
}

/// Compares the files of he-files with those of the session and with the digests that the tests of
/// the client compare. `HE_BLESS=1` writes these anew.
fn compare(options: &Value, expected: &BTreeMap<&'static str, Vec<u8>>, session: &Session, real: bool) {
    let name = options["scheme"].as_str().unwrap();
    for (what, file) in found(session, real) {
        assert!(expected[what] == file, "{what} of {name}");
    }
    record(name, options, expected);
}

/// Compares digests with those that the tests of the client compare.
fn record(name: &str, options: &Value, expected: &BTreeMap<&'static str, Vec<u8>>) {
    let recorded = std::fs::read_to_string(DIGESTS).unwrap_or_else(|_| "{}".to_owned());
    let mut recorded: Value = serde_json::from_str(&recorded).unwrap();
    let own = json!({ "options": options, "files": digests(expected) });
    if std::env::var_os("HE_BLESS").is_some() {
        recorded["seed"] = json!(SEED);
        recorded[name] = own;
        std::fs::write(DIGESTS, format!("{recorded:#}\n")).unwrap();
    } else {
        assert_eq!(recorded[name], own, "the digests of web/client/tests");
    }
}

#[test]
fn files_of_ckks_are_those_of_the_library() {
    let options = json!({ "scheme": "ckks", "for": "images", "depth": 1, "precision": 20 });
    let params = RealNeeds { depth: 1, precision: 20, ..RealNeeds::default() }.params().unwrap();
    let rotations = images::rotations(&params, 1).unwrap();
    let (session, files) = (session(&options), expected::<Ckks>(&params, &rotations));
    compare(&options, &files, &session, true);
    round_trips(&session, &files, "ckks");
}

#[test]
fn files_of_bfv_and_bgv_are_those_of_the_library() {
    let needs = IntegerNeeds { depth: 1, bits: 16, ..IntegerNeeds::default() };
    let options = |scheme: &str| json!({ "scheme": scheme, "for": "tables", "depth": 1, "bits": 16 });
    let params = needs.params::<Bfv>().unwrap();
    let files = expected::<Bfv>(&params, &integers::rotations(&params));
    let (bfv, bgv) = (session(&options("bfv")), session(&options("bgv")));
    compare(&options("bfv"), &files, &bfv, false);
    round_trips(&bfv, &files, "bfv");
    let params = needs.params::<Bgv>().unwrap();
    let files = expected::<Bgv>(&params, &integers::rotations(&params));
    compare(&options("bgv"), &files, &bgv, false);
    round_trips(&bgv, &files, "bgv");
    // Keys of one scheme do not open the files of another, in words that say so.
    let (mut task, _) = bgv.decrypt(View::Light).unwrap();
    let foreign = made(bfv.encrypt_table(None, columns(false).1, None).unwrap());
    let error = fed(&mut task, &foreign, 1 << 20).err().unwrap();
    assert!(error.to_string().contains("bfv") && error.hint().is_some(), "{error}");
}

fn round_trips(session: &Session, files: &BTreeMap<&'static str, Vec<u8>>, name: &str) {
    for piece in [1 << 30, 10_007] {
        let (mut task, _) = session.decrypt(View::Light).unwrap();
        let Plain::Picture(found) = fed(&mut task, &files["image"], piece).unwrap() else {
            panic!("a picture")
        };
        assert!(found == picture(), "{name}, {piece} bytes at a time");
        let (mut task, _) = session.decrypt(View::Light).unwrap();
        let table = fed(&mut task, &files["table"], piece).unwrap();
        let mut text = Vec::new();
        table.write(he_files::data::picture::Format::Png, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), CSV, "{name}");
    }
    // Cut anywhere, changed anywhere: an error, never a picture.
    let file = &files["image"];
    for cut in [0, 1, 47, 48, 200, file.len() / 2, file.len() - 1] {
        let (mut task, _) = session.decrypt(View::Light).unwrap();
        assert!(fed(&mut task, &file[..cut], 4096).is_err(), "{cut} bytes of {name}");
    }
    for at in [0, 5, 44, 60, 500, file.len() / 2, file.len() - 10] {
        let mut changed = file.clone();
        changed[at] ^= 0x41;
        let (mut task, _) = session.decrypt(View::Light).unwrap();
        assert!(fed(&mut task, &changed, 65_536).is_err(), "byte {at} of {name}");
    }
    // The secret key alone makes the others anew.
    let loaded = Session::new();
    let sealed = session.save(Some(phrase("three words"))).unwrap();
    assert!(loaded.load(sealed.clone(), Some(phrase("other words")), None).is_err());
    assert!(loaded.load(sealed.clone(), None, None).is_err());
    assert!(matches!(loaded.keys_info(), Err(Error::NoKeys)));
    let told = loaded.load(sealed, Some(phrase("three words")), None).unwrap();
    assert_eq!(told["keySet"], session.keys_info().unwrap()["keySet"]);
    let (mut task, _) = loaded.decrypt(View::Light).unwrap();
    assert!(matches!(fed(&mut task, file, 1 << 20), Ok(Plain::Picture(found)) if found == picture()));
    let (public, evaluation) = (loaded.public_key().unwrap(), made(loaded.evaluation_key().unwrap()));
    assert_eq!((public.len(), evaluation.len()), (files["public"].len(), files["evaluation"].len()));
    assert!(public != files["public"] && evaluation != files["evaluation"]);
    let told = info(Input::from_reader("key", std::io::Cursor::new(evaluation)), None).unwrap();
    assert_eq!((&told["file"], &told["products"]), (&json!("evaluation key"), &json!(true)));
    loaded.forget();
    assert!(matches!(loaded.public_key(), Err(Error::NoKeys)));
}

fn phrase(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(text.as_bytes().to_vec())
}

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/client/tests/model.plan");

/// Two examples of four numbers.
const EXAMPLES: [f64; 8] = [0.5, -0.25, 1.0, 0.0, -1.0, 0.75, 0.125, 0.5];

/// y = B (A x)^2 for small matrices A and B.
fn tiny() -> CompiledModel {
    let dense = |outputs: usize, seed: usize| {
        let weights = (0..outputs * 4).map(|i| ((i * seed) % 7) as f64 / 4.0 - 0.75).collect();
        Op::Dense(Dense { outputs, inputs: 4, weights, bias: vec![0.125; outputs] })
    };
    let node = |name: &str, op: Op, inputs: &[usize], shape: usize| Node {
        name: name.to_owned(),
        operator: name.to_owned(),
        op,
        inputs: inputs.to_vec(),
        shape: vec![shape],
    };
    let nodes = vec![
        node("Input", Op::Input, &[], 4),
        node("Gemm", dense(4, 3), &[0], 4),
        node("Mul", Op::Product, &[1, 1], 4),
        node("Gemm", dense(3, 5), &[2], 3),
    ];
    let graph = Graph { nodes, output: 3, decision: Decision::None };
    let examples: Vec<Vec<f64>> = EXAMPLES.chunks(4).map(<[f64]>::to_vec).collect();
    CompiledModel::compile(graph, &examples, Options::default()).unwrap()
}

#[test]
fn files_of_a_model_are_those_of_the_library() {
    if std::env::var_os("HE_BLESS").is_some() {
        std::fs::write(MODEL, tiny().to_bytes().unwrap()).unwrap();
    }
    let plan = std::fs::read(MODEL).unwrap();
    let model = ModelFile::from_bytes("the model", &plan).unwrap();
    let engine = model.engine(Device::cpu()).unwrap();
    let keys = KeySet::<Ckks>::generate(&engine, &model.rotations().unwrap(), &mut seeded()).unwrap();
    let params = model.params();
    let (mut secret, mut evaluation) = (Vec::new(), Vec::new());
    write_key::<Ckks>(&mut secret, params, &keys.id, [keys.secret.to_frame(params)], "").unwrap();
    write_key::<Ckks>(&mut evaluation, params, &keys.id, keys.evaluation.to_frames(params), "").unwrap();
    let of = |key| KeyFile {
        name: String::new(),
        params: params.clone(),
        id: keys.id.clone(),
        key,
        sealed: false,
    };
    let own = of(Key::Secret(keys.secret));
    let (examples, file) = (Examples::of(&EXAMPLES, model.model.graph()), Written::default());
    let (output, mut rng) = (Output::to_writer("file", file.clone()), seeded());
    models::encrypt(&model, &own, &examples, Device::cpu(), output, &mut rng, &()).unwrap();
    let encrypted = file.take();

    let session = Session::new();
    let options = json!({ "scheme": "ckks", "for": "model", "insecureSeed": SEED });
    let generate = |options: &Value| {
        let (mut task, _) = session.generate(&KeyOptions::parse(&options.to_string()).unwrap()).unwrap();
        finish(&mut task)
    };
    assert!(matches!(generate(&options), Err(Error::NoModel)));
    let told = session.load_model(&plan).unwrap();
    assert_eq!((&told["input"], &told["outputs"], &told["numbers"]), (&json!([4]), &json!(3), &json!(4)));
    assert_eq!(told["evaluation_key_bytes"], evaluation.len());
    assert_eq!(told["hash"], model.hash);
    generate(&options).unwrap();
    assert!(session.save(None).unwrap()[..] == secret);
    assert!(made(session.evaluation_key().unwrap()) == evaluation);
    assert!(made(session.encrypt_examples(&EXAMPLES).unwrap()) == encrypted);

    // The outputs, computed by the library and decrypted by the session.
    let inference = Inference::new(&model, reader(&encrypted)).unwrap();
    let key = of(Key::Evaluation(keys.evaluation.to_frames(params).collect::<Result<_, _>>().unwrap()));
    let file = Written::default();
    let nobody: Arc<dyn Watch> = Arc::new(());
    inference.evaluate(key, None, Device::cpu(), &nobody, Output::to_writer("file", file.clone())).unwrap();
    let outputs = file.take();
    let (mut task, _) = session.decrypt(View::Light).unwrap();
    let Plain::Table(table) = fed(&mut task, &outputs, 999).unwrap() else { panic!("a table") };
    assert_eq!((table.columns().len(), table.rows()), (3, 2));
    for (row, example) in EXAMPLES.chunks(4).enumerate() {
        for (column, expected) in model.model.apply_plain(example).unwrap().into_iter().enumerate() {
            let found = table.columns()[column][row];
            assert!((found - expected).abs() < 1e-2, "{found} for {expected}");
        }
    }
    let files =
        [("evaluation", evaluation), ("examples", encrypted), ("outputs", outputs), ("secret", secret)];
    record("model", &json!({ "scheme": "ckks", "for": "model" }), &files.into());

    // A secret key that is loaded makes the evaluation keys of the model.
    let sealed = session.save(Some(phrase("three words"))).unwrap();
    session.forget();
    assert!(matches!(session.encrypt_examples(&EXAMPLES), Err(Error::NoKeys)));
    assert_eq!(
        session.load(sealed, Some(phrase("three words")), None).unwrap()["rotations"],
        told["rotations"].as_array().unwrap().len()
    );
    made(session.encrypt_examples(&EXAMPLES[..4]).unwrap());
}

fn reader(file: &[u8]) -> CipherReader<Ckks> {
    CipherReader::new(Input::from_reader("file", std::io::Cursor::new(file.to_vec()))).unwrap()
}

#[test]
fn what_is_not_for_a_model_is_refused() {
    let plan = std::fs::read(MODEL).unwrap();
    let session = session(&json!({ "scheme": "bfv", "for": "tables", "depth": 1, "bits": 16 }));
    for at in [0, 9, 20, 60, plan.len() - 1] {
        let mut changed = plan.clone();
        changed[at] ^= 1;
        assert!(session.load_model(&changed).unwrap_err().hint().is_some(), "byte {at}");
    }
    assert!(session.load_model(&plan[..plan.len() / 2]).is_err() && session.load_model(&[]).is_err());
    session.load_model(&plan).unwrap();
    assert!(matches!(session.encrypt_examples(&EXAMPLES), Err(Error::NotForModels)));
    // Keys of other parameters; half an example; none; one beyond the calibration.
    let load = |options: Value| {
        let (mut task, _) = session.generate(&KeyOptions::parse(&options.to_string()).unwrap()).unwrap();
        finish(&mut task).unwrap();
    };
    let fails = |numbers: &[f64]| {
        let error = finish(&mut session.encrypt_examples(numbers).unwrap().task).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    };
    load(json!({ "scheme": "ckks", "for": "tables", "depth": 1, "precision": 20 }));
    assert!(fails(&EXAMPLES).contains("other parameters"));
    load(json!({ "scheme": "ckks", "for": "model" }));
    assert!(fails(&EXAMPLES[..6]).contains('4') && fails(&[]).contains("no examples"));
    assert!(fails(&[f64::NAN, 0.0, 0.0, 0.0]).contains("example 1"));
    let why = |options: Value| KeyOptions::parse(&options.to_string()).err().unwrap().to_string();
    assert!(
        why(json!({ "scheme": "ckks", "for": "model", "depth": 2 }))
            .contains("depth is what the model chooses")
    );
    assert!(why(json!({ "scheme": "bfv", "for": "model" })).contains("under ckks"));
}

#[test]
fn files_of_tfhe_are_those_of_the_library() {
    let options = json!({ "scheme": "tfhe", "for": "tables" });
    let session = session(&options);
    let params = presets::digits_2m128().unwrap();
    let mut rng = seeded();
    let (id, key) = (KeyId::random(&mut rng), TfheSecretKey::generate(&params, &mut rng));
    let mut secret = Vec::new();
    tfhe::keys::write_key(&mut secret, &params, &id, key.to_frame(&params).unwrap(), "").unwrap();
    assert!(session.save(None).unwrap()[..] == secret);
    let mut evaluation = Vec::new();
    let frame = BootstrapKey::generate(&key, &mut rng).to_frame(&params).unwrap();
    tfhe::keys::write_key(&mut evaluation, &params, &id, frame, "").unwrap();
    assert!(made(session.evaluation_key().unwrap()) == evaluation);
    println!("the evaluation key of tfhe has {} bytes", evaluation.len());

    let numbers = vec![Column::Integer(vec![0, 5, 4_000_000_000])];
    let file = made(session.encrypt_table(Some(vec!["n".to_owned()]), numbers, None).unwrap());
    for piece in [1 << 20, 999] {
        let (mut task, _) = session.decrypt(View::Light).unwrap();
        let Plain::Cells(table) = fed(&mut task, &file, piece).unwrap() else { panic!("a table") };
        assert_eq!(table.columns(), [[0, 5, 4_000_000_000].map(Cell::Number)]);
    }
    for wrong in [vec![Column::Integer(vec![-1])], vec![Column::Integer(vec![1 << 32])], columns(true).1] {
        let making = session.encrypt_table(None, wrong, None).unwrap();
        assert!(matches!(finish(&mut { making.task }), Err(Error::Column { .. })));
    }
    assert!(session.encrypt_image(100, 70, 3, pixels(3), None).is_err());

    // A public key of this key set, whose lists the session decrypts.
    let public = session.public_key().unwrap();
    let input = Input::from_bytes("public.key", public);
    let file = AnyKey::read(input, "a public key", None).unwrap().tfhe("a public key").unwrap();
    assert_eq!((&file.params, &file.id), (&params, &id));
    let Encryptor::Public(public) = file.encryptor().unwrap() else { panic!("not a public key") };
    let table = Table::new(None, vec![vec![BigInt::from(7), BigInt::from(250)]]).unwrap();
    let content = tfhe::columns::describe(&table, Integers::unsigned(8), None, &params).unwrap();
    let payload = Payload { key_id: id.clone(), history: Vec::new(), content };
    let file = Written::default();
    let output = Output::to_writer("file", file.clone());
    let writer = tfhe::file::Writer::new(output, &params, &payload).unwrap();
    let by = Encryptor::Public(public);
    tfhe::columns::encrypt(by, &table, Integers::unsigned(8), writer, &mut rng, &()).unwrap();
    let (mut task, _) = session.decrypt(View::Light).unwrap();
    let Plain::Cells(table) = fed(&mut task, &file.take(), 999).unwrap() else { panic!("a table") };
    assert_eq!(table.columns(), [[7, 250].map(Cell::Number)]);
}

#[test]
fn files_under_aes_come_back() {
    let session = Session::new();
    let data: Vec<u8> = (0..2_500_000u32).map(|i| (i % 251) as u8).collect();
    let by_phrase = |text: &str| FileSecret::Passphrase(phrase(text));
    let key = he_wasm::session::file_key(Some(phrase("k"))).unwrap();
    let by_key = || FileSecret::Key(key.clone(), Some(phrase("k")));
    for words in [None, Some("six words")] {
        let secret = || words.map_or_else(by_key, by_phrase);
        let mut making = session.encrypt_file(secret()).unwrap();
        fed(&mut making.task, &data, 300_000).unwrap();
        let file = making.written.take();
        let mut making = session.decrypt_file(secret()).unwrap();
        fed(&mut making.task, &file, 77_777).unwrap();
        assert!(making.written.take() == data);
        for cut in [0, 100, 120, file.len() - 1] {
            let mut making = session.decrypt_file(secret()).unwrap();
            assert!(fed(&mut making.task, &file[..cut], 1 << 20).is_err(), "{cut} bytes");
        }
    }
}

#[test]
fn options_are_checked() {
    let why = |options: Value| KeyOptions::parse(&options.to_string()).err().unwrap().to_string();
    assert!(why(json!({ "scheme": "rot13" })).contains("rot13"));
    assert!(why(json!({ "scheme": "ckks", "depht": 1 })).contains("depht"));
    assert!(why(json!({ "scheme": "ckks", "bits": 8 })).contains("bits is for keys of another scheme"));
    assert!(why(json!({ "scheme": "bfv", "precision": 8 })).contains("precision"));
    assert!(why(json!({ "scheme": "tfhe", "depth": 1 })).contains("depth"));
    let (mut task, _) =
        Session::new().generate(&KeyOptions::parse(r#"{"scheme":"ckks","depth":5000}"#).unwrap()).unwrap();
    assert!(finish(&mut task).err().unwrap().hint().is_some());
    assert!(matches!(Session::new().decrypt(View::Light), Err(Error::NoKeys)));
}

/// The scheme's own names are those of the options.
#[test]
fn names_agree() {
    for name in [Ckks::NAME, <Bfv as Scheme>::NAME, <Bgv as Scheme>::NAME, tfhe::NAME] {
        let options = KeyOptions::parse(&json!({ "scheme": name }).to_string()).unwrap();
        assert_eq!(options.scheme.name(), name);
    }
}

#[test]
fn keys_that_do_not_suit_are_refused_when_they_are_loaded() {
    let ckks = |depth: usize| json!({ "scheme": "ckks", "for": "tables", "depth": depth, "precision": 16 });
    let tfhe = json!({ "scheme": "tfhe", "for": "tables" });
    let model = json!({ "scheme": "ckks", "for": "model" });
    let own = session(&ckks(1));
    let before = own.keys_info().unwrap()["keySet"].clone();
    let loaded = |file: &Zeroizing<Vec<u8>>, needs: &Value| {
        own.load(file.clone(), None, Some(&KeyOptions::parse(&needs.to_string()).unwrap()))
    };
    let file = |session: &Session| session.save(None).unwrap();
    let (shallow, integers) = (file(&own), file(&session(&tfhe)));
    for (file, needs, said) in [
        (&integers, &ckks(1), "these are keys of tfhe, and keys of ckks are needed"),
        (&shallow, &tfhe, "these are keys of ckks, and keys of tfhe are needed"),
        (&shallow, &ckks(2), "these are keys of depth 1, and keys of depth 2 are needed"),
        (&shallow, &model, "there is no model"),
    ] {
        let error = loaded(file, needs).unwrap_err();
        assert_eq!(error.to_string(), said);
        assert!(error.hint().is_some());
    }
    own.load_model(&std::fs::read(MODEL).unwrap()).unwrap();
    let error = loaded(&shallow, &model).unwrap_err().to_string();
    assert_eq!(error, "these are keys of other parameters, and keys for the model are needed");
    // The keys before are still there.
    assert_eq!(own.keys_info().unwrap()["keySet"], before);
    loaded(&shallow, &ckks(1)).unwrap();
    loaded(&integers, &tfhe).unwrap();
    assert!(matches!(own.encrypt_image(1, 1, 1, vec![0], None), Err(Error::NoImages)));
}

#[test]
fn halos_are_chosen_and_names_left_out() {
    let session = session(&json!({ "scheme": "ckks", "for": "images", "depth": 1, "precision": 16 }));
    let told = |file: Vec<u8>| info(Input::from_bytes("file", file), None).unwrap();
    let image = told(made(session.encrypt_image(100, 70, 3, pixels(3), Some(5)).unwrap()));
    assert_eq!(image["image"]["halo"], 5);
    assert!(finish(&mut session.encrypt_image(100, 70, 3, pixels(3), Some(500)).unwrap().task).is_err());
    let table = told(made(session.encrypt_table(None, columns(true).1, None).unwrap()));
    let columns = table["table"]["columns"].as_array().unwrap();
    assert!(columns.len() == 2 && columns.iter().all(|column| column["name"].is_null()), "{table}");
}

#[test]
fn tables_are_read_as_the_command_line_reads_them() {
    let read = |text: &str, options: Value| {
        table::read(text.as_bytes(), "the table", &ReadOptions::parse(&options.to_string()).unwrap())
    };
    let real = |columns: &[&[f64]]| columns.iter().map(|c| Column::Real(c.to_vec())).collect::<Vec<_>>();
    // Semicolons, decimal commas, gaps, a column of words.
    let text = "\u{feff}city;height;weight\nUlm;1,5;70\nBonn;;80\nKiel;2,25;NA\nRom;-3;90,5\n";
    let chosen = json!(["weight", "2"]);
    let found = read(text, json!({ "columns": chosen, "missing": "skip" })).unwrap();
    assert_eq!(found.names.unwrap(), ["weight", "height"]);
    assert_eq!(found.columns, real(&[&[70.0, 90.5], &[1.5, -3.0]]));
    assert!(found.warnings[0]["message"].as_str().unwrap().contains("2 of 4 rows are left out"));
    let found = read(text, json!({ "columns": chosen, "missing": "zero" })).unwrap();
    assert_eq!(found.columns, real(&[&[70.0, 80.0, 0.0, 90.5], &[1.5, 0.0, 2.25, -3.0]]));
    let found = read("1,5|2\n", json!({ "delimiter": "|", "decimal": "comma", "header": "no" })).unwrap();
    assert_eq!((found.names, found.columns), (None, real(&[&[1.5], &[2.0]])));
    let found = read("n\n-7\n", json!({ "integers": true })).unwrap();
    assert_eq!(found.columns, [Column::Integer(vec![-7])]);

    for (text, options, said) in [
        (text, json!({}), "the table, line 2, column 1 (\"city\"): \"Ulm\" is not a number"),
        ("a\n1\n\n,\n", json!({}), "the table, line 4: 2 fields where the first row has 1"),
        ("a;b\n1,500;2\n", json!({}), "the table, line 2, column 1"),
        ("a\n1.5\n", json!({ "integers": true }), "is not a whole number"),
        ("", json!({}), "the table is empty"),
        (text, json!({ "columns": ["x"] }), "there is no column x"),
    ] {
        let error = read(text, options).unwrap_err();
        assert!(error.to_string().contains(said) && error.hint().is_some(), "{error}");
    }
    for wrong in [json!({ "mising": "skip" }), json!({ "missing": "maybe" }), json!({ "delimiter": "a" })] {
        assert!(matches!(ReadOptions::parse(&wrong.to_string()), Err(Error::Reading { .. })), "{wrong}");
    }
}

#[test]
fn files_that_are_not_text_are_not_tables() {
    let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF\0".as_slice();
    // A workbook; UTF-16; another encoding; text that becomes something else.
    for bytes in [jpeg, b"PK\x03\x04", b"\xff\xfe1\0,\x002\0", b"gr\xf6\xdfe\n1\n", b"a\n1\n\0"] {
        for error in [
            table::text(bytes, "photo.jpg").unwrap_err(),
            table::read(bytes, "photo.jpg", &ReadOptions::default()).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "photo.jpg is not a table");
            assert!(error.hint().is_some());
        }
    }
    assert_eq!(table::text("\u{feff}größe\n1\n".as_bytes(), "x").unwrap(), "größe\n1\n");
}
