//! Files of every kind as they were first written: they are written again from the same seeds and
//! compared byte by byte, read by today's readers and by `tests/format/reader.py`, and refused by
//! number with another version.
#![allow(missing_docs, clippy::unwrap_used)]

mod generator;
mod versions;

use generator::{CATEGORIES, ENTRIES, EXAMPLES, INTEGERS, READINGS, REALS, SIGNED, UNSIGNED};
use he::Device;
use he_core::ring::Ring;
use he_files::aes_file::{FileCipher, Sealed, Secret, Target};
use he_files::cipher_file::CipherReader;
use he_files::contents::Contents;
use he_files::contents::clear::{Plain, View};
use he_files::data::picture::Format;
use he_files::io::input::Input;
use he_files::io::output::NewFolder;
use he_files::key_file::{AnyKey, KeyFile, KeyFiles};
use he_files::models::ModelFile;
use he_files::note::{Content, KeyId};
use he_files::on_scheme;
use he_files::passphrase::Purpose;
use he_files::scan::{Scan, Scanned};
use he_files::scheme::engine::Engine;
use he_files::scheme::{OneOf, Scheme};
use he_files::search::{self, Found};
use he_files::team::Team;
use he_files::tfhe::{columns, file::Reader, keys::Encryptor};
use he_files::transcipher::{self, SensorFile};
use he_nn::Arrangement;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden/files")
}

fn committed(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes the files that are missing, and none that is there: `cargo test --release -p he-files
/// --test golden missing -- --ignored`.
#[test]
#[ignore = "writes files into the repository"]
fn missing_files_are_written() {
    std::fs::create_dir_all(folder()).unwrap();
    for (name, bytes) in generator::files() {
        let path = folder().join(&name);
        println!("{name}: {} bytes", bytes.len());
        if !path.exists() {
            std::fs::write(path, bytes).unwrap();
        }
    }
}

#[test]
fn todays_code_writes_the_golden_bytes() {
    let mut names = Vec::new();
    for (name, bytes) in generator::files() {
        assert!(bytes == committed(&name), "{name} differs: the format changed without a new version");
        names.push(name);
    }
    names.sort();
    let mut there: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    assert_eq!(there, names);
}

fn input(bytes: Vec<u8>) -> Input {
    Input::from_reader("golden", Cursor::new(bytes))
}

fn any_key(name: &str) -> AnyKey {
    let asked = |purpose: Purpose, _: &str| {
        assert_eq!(purpose, Purpose::Open);
        Ok(generator::passphrase())
    };
    AnyKey::read(input(committed(name)), "a key", Some(&asked)).unwrap()
}

fn key(name: &str) -> OneOf<KeyFiles> {
    any_key(name).scheme("a key").unwrap()
}

/// Decrypts a file by a secret key.
fn decrypted(secret: &str, file: &str) -> Plain {
    fn of<S: Contents>(key: &KeyFile<S>, file: Vec<u8>) -> Plain {
        let team = Team::<S>::new(&key.params, &[Device::cpu()]).unwrap();
        let mut reader = CipherReader::<S>::new(input(file)).unwrap();
        key.check_owner(&reader.params, &reader.payload.key_id, "golden").unwrap();
        Plain::decrypt(&team, key.secret().unwrap(), &mut reader, View::Light).unwrap()
    }
    on_scheme!(key(secret), key => of(&key, committed(file)))
}

fn text(plain: &Plain) -> String {
    let mut text = Vec::new();
    plain.write(Format::Png, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The numbers of a table, and its first line.
fn numbers(text: &str) -> (&str, Vec<f64>) {
    let (names, rows) = text.split_once('\n').unwrap();
    (names, rows.lines().flat_map(|row| row.split(',').map(|x| x.parse().unwrap())).collect())
}

fn is_near(found: &str, expected: &str, error: f64) {
    let ((names, found), (expected_names, expected)) = (numbers(found), numbers(expected));
    assert_eq!((names, found.len()), (expected_names, expected.len()));
    let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < error);
    assert!(near, "{found:?} for {expected:?}");
}

#[test]
fn todays_readers_open_the_golden_files() {
    // Exact ones come back exactly, real ones to four bits of the greatest of a column.
    for (scheme, expected) in [("bfv", INTEGERS), ("bgv", CATEGORIES)] {
        let file = |name: &str| format!("{scheme}_{name}.he");
        assert_eq!(text(&decrypted(&file("secret_key"), &file("table"))), expected);
    }
    for scheme in ["ckks", "bigckks"] {
        let file = |name: &str| format!("{scheme}_{name}.he");
        is_near(&text(&decrypted(&file("secret_key"), &file("table"))), REALS, 0.25);
    }
    assert_eq!(text(&decrypted("ckks_secret_key.he", "ckks_digits.he")), SIGNED);
    for (scheme, steps) in [("bfv", 0), ("ckks", 6)] {
        let file = |name: &str| format!("{scheme}_{name}.he");
        let Plain::Picture(picture) = decrypted(&file("secret_key"), &file("image")) else { panic!() };
        for y in 0..5 {
            let row = picture.samples_of(0, 7 * y as usize..7 * (y as usize + 1));
            let near = |x: u32, found: u16| found.abs_diff(generator::sample(x, y).into()) <= steps;
            assert!((0..7).zip(&row).all(|(x, &found)| near(x, found)), "{scheme}, row {y}: {row:?}");
        }
    }
    // Keys for others are keys of their sets.
    fn ring<S: Scheme>(key: &KeyFile<S>) -> Ring<Device> {
        Engine::<S>::new(&key.params, Device::cpu()).unwrap().ring
    }
    for scheme in ["ckks", "bfv", "bigckks"] {
        let file = |name: &str| key(&format!("{scheme}_{name}.he"));
        let id = on_scheme!(file("public_key"), key => {
            assert_eq!(key.kind(), "a public key");
            key.public(&ring(&key)).unwrap();
            key.id
        });
        on_scheme!(file("evaluation_key"), key => {
            assert_eq!((&key.id, key.kind()), (&id, "an evaluation key"));
            let ring = ring(&key);
            key.evaluation(&ring).unwrap();
        });
    }
}

#[test]
fn todays_readers_open_the_golden_files_of_tfhe() {
    let AnyKey::Tfhe(key) = any_key("tfhe_secret_key.he") else { panic!("a key of TFHE") };
    let table = |name: &str| {
        let mut reader = Reader::new(input(committed(name))).unwrap();
        key.check_owner(&reader.params, &reader.payload.key_id, "golden").unwrap();
        let table = columns::decrypt(&Device::cpu(), key.secret().unwrap(), &mut reader, &()).unwrap();
        let mut text = Vec::new();
        table.table.write(&mut text, b',').unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(table("tfhe_integers.he"), UNSIGNED);
    assert_eq!(table("tfhe_conditions.he"), "x\n1\n");
    assert_eq!(table("tfhe_signed_integers.he"), SIGNED);
    assert_eq!(table("tfhe_compact_integers.he"), SIGNED);
    for name in ["tfhe_integers.he", "tfhe_conditions.he", "tfhe_compact_integers.he"] {
        let (mut scan, mut passed) = (Scan::new(name, Scanned::Encrypted), Vec::new());
        for piece in committed(name).chunks(999) {
            scan.push(piece, |bytes| passed.extend_from_slice(bytes)).unwrap();
        }
        scan.end().unwrap();
        assert!(passed == committed(name), "{name}");
    }
    let AnyKey::Tfhe(public) = any_key("tfhe_public_key.he") else { panic!("a key of TFHE") };
    assert!(matches!(public.encryptor().unwrap(), Encryptor::Public(_)) && public.id == key.id);
}

/// The readings of a sensor, and an image under TFHE.
#[test]
fn todays_readers_open_the_golden_sensor_files() {
    let key = any_key("sensor_key.he").sensor().unwrap();
    let text = |name: &str, view: View| {
        let file = SensorFile::read(input(committed(name))).unwrap();
        let clear = transcipher::columns::decrypt(file, &key.key, "golden", &()).unwrap();
        let mut text = Vec::new();
        clear.write(view, Format::Png, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(text("sensor_table.he", View::Light), READINGS);
    let pixels = (0..5).flat_map(|y| (0..7).map(move |x| format!("{x},{y},{}\n", generator::sample(x, y))));
    let pixels = "x,y,gray\n".to_owned() + &pixels.collect::<String>();
    assert_eq!(text("sensor_image.he", View::Numbers), pixels);

    let AnyKey::Tfhe(secret) = any_key("tfhe_secret_key.he") else { panic!("a key of TFHE") };
    let mut reader = Reader::new(input(committed("tfhe_image.he"))).unwrap();
    let clear = columns::decrypt(&Device::cpu(), secret.secret().unwrap(), &mut reader, &()).unwrap();
    let mut text = Vec::new();
    clear.write(View::Numbers, Format::Png, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), pixels);
    let AnyKey::Tfhe(encrypted) = any_key("tfhe_sensor_key.he") else { panic!("a key of TFHE") };
    let (bits, id) = encrypted.sensor().unwrap();
    assert_eq!((bits.size(), id), (key.key.key().size(), &KeyId::of_sensor(key.key.id())));
    secret.check_owner(&encrypted.params, &encrypted.id, "golden").unwrap();
}

/// The compiled model computes, and its examples are those that were encrypted for it.
#[test]
fn todays_readers_open_the_golden_model() {
    let plan = committed("model_plan.he");
    let model = ModelFile::from_bytes("golden", &plan).unwrap();
    assert_eq!(model.model.to_bytes().unwrap(), plan);
    for (x, expected) in EXAMPLES.chunks(3).zip(generator::outputs()) {
        let found = model.model.graph().values(0, x).unwrap().pop().unwrap();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
    let stacks = committed("model_stacks_plan.he");
    let stacked = ModelFile::from_bytes("golden", &stacks).unwrap().model;
    assert_eq!((stacked.to_bytes().unwrap(), stacked.graph()), (stacks, model.model.graph()));
    assert_eq!((stacked.arrangement(), stacked.ciphertexts()), (Arrangement::Stacks, 3));
    let OneOf::Ckks(key) = key("model_secret_key.he") else { panic!("a key of CKKS") };
    let mut reader =
        CipherReader::<he_files::scheme::Ckks>::new(input(committed("model_examples.he"))).unwrap();
    let Content::Examples(note) = reader.payload.content.clone() else { panic!("examples") };
    assert_eq!((note.examples, note.numbers, &note.model), (2, 3, &model.hash));
    let engine = model.engine(Device::cpu()).unwrap();
    let frame = reader.frame().unwrap();
    let ct = reader.decoder().decode(&engine.ring, frame, 1).unwrap();
    let decryptor =
        he_core::ckks::Decryptor::new(model.params(), key.secret().unwrap(), &engine.ring).unwrap();
    let found = decryptor.decrypt_complex(&ct).unwrap();
    let rows: Vec<Vec<f64>> = EXAMPLES.chunks(3).map(<[f64]>::to_vec).collect();
    let expected = &model.model.pack(&rows).unwrap()[0][0];
    assert!(found.iter().zip(expected).all(|(a, b)| (a.re - b).abs() < 0.05 && a.im.abs() < 0.05));
}

/// The plan of an encoder, and a sentence for it with its public mask.
#[test]
fn todays_readers_open_the_golden_encoder() {
    let plan = committed("encoder_plan.he");
    let model = ModelFile::from_bytes("golden", &plan).unwrap();
    assert_eq!(model.model.to_bytes().unwrap(), plan);
    assert_eq!((model.model.masked_tokens(), model.model.input_elements()), (Some(6), 18));
    let reader =
        CipherReader::<he_files::scheme::Ckks>::new(input(committed("encoder_examples.he"))).unwrap();
    let Content::Examples(note) = &reader.payload.content else { panic!("examples") };
    assert_eq!((note.examples, note.numbers, &note.model), (1, 18, &model.hash));
    let masks: Vec<Vec<bool>> = note.masks.iter().map(|mask| mask.mask()).collect();
    assert_eq!(masks, [[true; 6]]);
}

/// The answer ranks the records that are left, by their cosines.
#[test]
fn todays_readers_open_the_golden_answer() {
    let OneOf::Ckks(key) = key("search_secret_key.he") else { panic!("a key of CKKS") };
    let reader = |name| CipherReader::<he_files::scheme::Ckks>::new(input(committed(name))).unwrap();
    let found = search::read(reader("search_answer.he"), &key, 9, Device::cpu()).unwrap();
    let Found::Ranking(ranking) = found else { panic!("a ranking") };
    let slots: Vec<usize> = ranking.nearest.iter().map(|found| found.position.slot).collect();
    assert_eq!(slots, [3, 0, 2]);
    for (found, expected) in ranking.nearest.iter().zip([0.5f64.sqrt(), 0.6, -1.0]) {
        assert!((found.value - expected).abs() <= ranking.error);
    }
    let error = search::read(reader("search_query.he"), &key, 9, Device::cpu()).unwrap_err();
    assert!(error.to_string().contains("a query of dimension 2"), "{error}");
}

#[test]
fn todays_readers_open_the_golden_archive() {
    let [key, sealed] = ["aes_key.he", "aes_sealed_key.he"].map(|name| any_key(name).aes().unwrap());
    assert_eq!((key.sealed, sealed.sealed, key.key.id()), (false, true, sealed.key.id()));
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let target = Target::Folder(NewFolder::create(&out).unwrap());
    let file = Sealed::read(input(committed("aes_folder.he"))).unwrap();
    file.decrypt(Secret::Key(&key.key), target, None, |_| Ok(FileCipher::cpu()), &()).unwrap();
    for (name, content) in ENTRIES {
        assert_eq!(std::fs::read(out.join(name)).unwrap(), content, "{name}");
    }
}

/// `tests/format/reader.py`, which shares nothing with the library but docs/format.md, reads the
/// same values.
#[test]
fn another_program_reads_the_golden_files() {
    let reader = folder().join("../../../format/reader.py");
    let output = match Command::new("python3").arg(reader).arg(folder()).output() {
        Ok(output) => output,
        Err(error) => {
            return println!(
                "SKIPPED: python3 cannot be run ({error}): no other program read the golden files"
            );
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let values: BTreeMap<&str, &str> = told.lines().filter_map(|line| line.split_once(" = ")).collect();
    let near = |place: &str, expected: &[f64], error: f64| {
        let found: Vec<f64> = values[place].split(' ').map(|x| x.parse().unwrap()).collect();
        let same =
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < error);
        assert!(same, "{place}: {found:?} for {expected:?}");
    };
    for scheme in ["ckks", "bigckks"] {
        near(&format!("{scheme}_table.he column 0"), &[1.5, -0.25], 0.25);
        near(&format!("{scheme}_table.he column 1"), &[-2.0, 4.0], 0.25);
    }
    assert_eq!(values["bfv_table.he column 0"], "17 -4 100");
    near("search_answer.he segment 0", &[0.6, -1.0, 0.5f64.sqrt()], 1e-6);
    assert!(told.contains("bgv_table.he column 0 : red blue red\n"), "{told}");
    let samples: Vec<f64> =
        (0..5).flat_map(|y| (0..7).map(move |x| generator::sample(x, y).into())).collect();
    near("bfv_image.he channel 0", &samples, 0.5);
    near("ckks_image.he channel 0", &samples, 6.0);
    assert_eq!(values["tfhe_integers.he column 0"], "200");
    assert_eq!(values["tfhe_integers.he column 1"], "7");
    assert_eq!(values["tfhe_conditions.he column 0"], "1");
    for file in ["tfhe_signed_integers.he", "tfhe_compact_integers.he", "ckks_digits.he"] {
        assert_eq!(values[&*format!("{file} column 0")], "-128", "{file}");
        assert_eq!(values[&*format!("{file} column 1")], "127", "{file}");
    }
    assert_eq!(values["sensor_table.he column 0"], "2150 -1 0 1875 7");
    assert_eq!(values["sensor_table.he column 1"], "-340 32767 -32768 12 8");
    let samples: Vec<String> = samples.iter().map(|x| x.to_string()).collect();
    for image in ["sensor_image.he", "tfhe_image.he"] {
        assert_eq!(values[&*format!("{image} column 0")], samples.join(" "), "{image}");
    }
    assert!(told.contains("tfhe_sensor_key.he is sensor_key.he under TFHE\n"), "{told}");
    assert!(told.contains("model_examples.he 2 examples of 3 numbers for model_plan.he\n"), "{told}");
    let sentence = "encoder_examples.he 1 examples of 18 numbers for encoder_plan.he with masks 111111\n";
    assert!(told.contains(sentence), "{told}");
    assert!(told.contains("trace.he trace of 3 operations: one, two, three\n"), "{told}");
    assert!(told.contains("trace_opening.he operations 0, 1, 2 of 3\n"), "{told}");
    let parts = "trace_parts.he trace of 3 parts of operation 1 of trace.he: turned, product, sum\n";
    assert!(told.contains(parts), "{told}");
    assert!(told.contains("aes_sealed_key.he opens to aes_key.he\n"), "{told}");
    for (name, content) in ENTRIES {
        let content = String::from_utf8(content.to_vec()).unwrap();
        assert!(told.contains(&format!("aes_folder.he entry {name}: {content}")), "{told}");
    }
    // Every file was read, keys by what they must satisfy.
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(told.lines().any(|line| line.split(' ').next() == Some(&name)), "{name}");
    }
}
