//! The library as programs use it: everything in memory, through readers and writers, and errors
//! told apart by their variants.
#![allow(missing_docs, clippy::unwrap_used)]

use he::Device;
use he_core::aes::container::UserKey;
use he_core::bfv::Bfv;
use he_core::ckks::CkksParams;
use he_core::exact::Params;
use he_core::tfhe::presets;
use he_files::Error;
use he_files::aes_file::{self, FileCipher, Sealed, Secret, Source, Target};
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::images::{self, Filter};
use he_files::contents::integers::{self, Aggregate};
use he_files::contents::options::TableFlags;
use he_files::contents::over_rows::OverRows;
use he_files::contents::tables::Statistic;
use he_files::contents::{Contents, encrypt};
use he_files::data::picture::Format;
use he_files::data::table::TableOptions;
use he_files::error::{AesFileError, ContentError, FileError, PassphraseError, Problem, TableError};
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_set::KeySet;
use he_files::needs::{IntegerNeeds, RealNeeds};
use he_files::note::{Content, Payload};
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, Rotations, Scheme};
use he_files::team::Team;
use he_files::tfhe::columns::{self, ReadOptions};
use he_files::watch::Progress;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// Bytes in memory that a writer fills.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn output(&self) -> Output {
        Output::to_writer("memory", self.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A team of the CPU with a fresh key set.
fn keys<S: Scheme>(params: &S::Params, rotations: &Rotations) -> (Team<S>, KeySet<S>) {
    let team = Team::new(params, &[Device::cpu()]).unwrap();
    let keys = KeySet::generate(team.lead(), rotations, &mut rng().unwrap()).unwrap();
    (team, keys)
}

/// Encrypts data in memory by the public key.
fn encrypted<S: Contents>(team: &Team<S>, keys: &KeySet<S>, data: &[u8]) -> Vec<u8> {
    let params = &team.lead().params;
    let input = Input::from_reader("data", io::Cursor::new(data.to_vec()));
    let clear = Clear::read::<S>(input, TableFlags::default(), None, &()).unwrap();
    let content = S::describe(&clear, params, None, &()).unwrap();
    let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
    let file = Memory::default();
    let mut rng = rng().unwrap();
    encrypt::by_public_key(team, &keys.public, &clear, &payload, file.output(), &mut rng).unwrap();
    file.bytes()
}

fn reader<S: Scheme>(file: &[u8]) -> Result<CipherReader<S>, Error> {
    CipherReader::new(Input::from_reader("file", io::Cursor::new(file.to_vec())))
}

/// Decrypts a file in memory to what it was encrypted from.
fn decrypt<S: Contents>(team: &Team<S>, keys: &KeySet<S>, file: &[u8]) -> Plain {
    Plain::decrypt(team, &keys.secret, &mut reader::<S>(file).unwrap(), View::Light).unwrap()
}

fn csv(plain: &Plain) -> String {
    let mut text = Vec::new();
    plain.write(Format::Png, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A gradient as PNG.
fn picture() -> Vec<u8> {
    let picture = image::GrayImage::from_fn(20, 10, |x, y| image::Luma([(10 * x + y) as u8]));
    let mut png = io::Cursor::new(Vec::new());
    picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
    png.into_inner()
}

#[test]
fn an_image_is_encrypted_inverted_and_decrypted() {
    let params = CkksParams::for_depth(1).build().unwrap();
    let (team, keys) = keys::<Ckks>(&params, &images::rotations(&params, 1).unwrap());
    let file = encrypted(&team, &keys, &picture());
    let input = reader::<Ckks>(&file).unwrap();
    let Content::Image(note) = &input.payload.content else { panic!("an image") };
    let invert = Filter::Affine(he_core::circuits::ckks::Affine::invert());
    let content = Content::Image(invert.describe(note, None, &params).unwrap());
    let payload = input.payload.after("invert", content);
    let inverted = Memory::default();
    let evaluation = [keys.evaluation];
    invert.evaluate(&team, &evaluation, input, None, &payload, inverted.output()).unwrap();
    let [evaluation] = evaluation;
    let keys = KeySet { evaluation, ..keys };
    let Plain::Picture(plain) = decrypt(&team, &keys, &inverted.bytes()) else { panic!("a picture") };
    for y in 0..10 {
        let row = plain.samples_of(0, 20 * y..20 * (y + 1));
        let expected: Vec<u16> = (0..20).map(|x| 255 - (10 * x + y) as u16).collect();
        assert_eq!(row, expected, "row {y}");
    }
}

#[test]
fn a_table_is_summed_and_progress_is_told() {
    let params = CkksParams::for_depth(1).build().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (team, keys) = keys::<Ckks>(&params, &images::rotations(&params, 0).unwrap());
    let log = Arc::clone(&told);
    let team = team.watched(Arc::new(move |progress: Progress| log.lock().unwrap().push(progress)));
    let file = encrypted(&team, &keys, b"a,b\n1.5,-2\n2.25,4\n");
    let input = reader::<Ckks>(&file).unwrap();
    let Content::Table(note) = &input.payload.content else { panic!("a table") };
    let content = Content::Table(Statistic::Sum.describe(&input, note).unwrap());
    let (payload, sums) = (input.payload.after("sum", content), Memory::default());
    Statistic::Sum.evaluate(&team, &keys.evaluation, input, &payload, true, sums.output()).unwrap();
    assert_eq!(csv(&decrypt(&team, &keys, &sums.bytes())), "a,b\n3.75,2\n");
    let told = told.lock().unwrap();
    let started = told.iter().filter(|told| matches!(told, Progress::Started { .. })).count();
    let ended = told.iter().filter(|told| matches!(told, Progress::Ended)).count();
    assert!(started == 3 && ended == 3, "{told:?}");
}

#[test]
fn integers_are_exact() {
    let t = he_core::exact::PlainModulus::for_bits(20).unwrap().value();
    let params: Params<Bfv> = Params::for_depth(t, 1).slots().margin_bits(26).build().unwrap();
    let (team, keys) = keys::<Bfv>(&params, &integers::rotations(&params));
    let text = "n\n17\n-4\n100000\n";
    let file = encrypted(&team, &keys, text.as_bytes());
    assert_eq!(csv(&decrypt(&team, &keys, &file)), text);
    let input = reader::<Bfv>(&file).unwrap();
    let Content::Integers(note) = &input.payload.content else { panic!("integers") };
    let content = Content::Integers(Aggregate::Sum.describe(&input, note).unwrap());
    let (payload, sums) = (input.payload.after("sum", content), Memory::default());
    Aggregate::Sum.evaluate(&team, &keys.evaluation, input, &payload, true, sums.output()).unwrap();
    assert_eq!(csv(&decrypt(&team, &keys, &sums.bytes())), "n\n100013\n");
    // A file of BFV is none of CKKS.
    let wrong = reader::<Ckks>(&file).err().unwrap();
    assert!(matches!(wrong, Error::File(FileError::Scheme { scheme: "bfv", key: "ckks", .. })), "{wrong}");
}

#[test]
fn files_are_encrypted_under_aes() {
    let data: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    let source = || Source::Input(Input::from_reader("data", io::Cursor::new(data.clone())));
    let key = UserKey::generate(&mut rng().unwrap());
    let file = Memory::default();
    aes_file::encrypt(source(), file.output(), Secret::Key(&key), FileCipher::cpu(), &()).unwrap();
    let sealed = |bytes: Vec<u8>| Sealed::read(Input::from_reader("file", io::Cursor::new(bytes)));
    let open = |bytes: Vec<u8>, secret: Secret<'_>| {
        let plain = Memory::default();
        let target = Target::File(plain.output());
        sealed(bytes)?.decrypt(secret, target, None, |_| Ok(FileCipher::cpu()), &()).map(|_| plain.bytes())
    };
    assert!(open(file.bytes(), Secret::Key(&key)).unwrap() == data);
    let mut cut = file.bytes();
    cut.truncate(cut.len() - 1);
    assert!(matches!(open(cut, Secret::Key(&key)), Err(Error::InFile { source, .. })
        if matches!(*source, Error::Container(_))));
    let cut = sealed(file.bytes()[..20].to_vec()).err().unwrap();
    assert!(matches!(cut, Error::AesFile(AesFileError::Truncated { .. })), "{cut}");
    // By a passphrase, which a closure provides; and its errors come through.
    let phrase = |_: Purpose, _: &str| Passphrase::new(Zeroizing::new(b"six words".to_vec()));
    let none = |_: Purpose, _: &str| Passphrase::new(Zeroizing::new(Vec::new()));
    let by_phrase = open(file.bytes(), Secret::Passphrase(&phrase)).err().unwrap();
    assert!(matches!(by_phrase, Error::AesFile(AesFileError::NeedsKey { .. })), "{by_phrase}");
    let locked = Memory::default();
    let secret = Secret::Passphrase(&phrase);
    aes_file::encrypt(source(), locked.output(), secret, FileCipher::cpu(), &()).unwrap();
    assert!(open(locked.bytes(), secret).unwrap() == data);
    let empty = open(locked.bytes(), Secret::Passphrase(&none)).err().unwrap();
    assert!(matches!(empty, Error::Passphrase(PassphraseError::Empty)), "{empty}");
}

#[test]
fn errors_have_values() {
    let read = |text: &str| {
        let input = Input::from_reader("data.csv", io::Cursor::new(text.as_bytes().to_vec()));
        Clear::read::<Ckks>(input, TableFlags::default(), None, &()).err().unwrap()
    };
    match read("a,b\n1,2\n3,x\n") {
        Error::Table(TableError::Field { place, problem: Problem::Text, .. }) => {
            assert_eq!((place.line, place.column, place.title.as_deref()), (3, 2, Some("\"b\"")));
        }
        other => panic!("{other}"),
    }
    assert!(matches!(read("\0\0\0"), Error::Content(ContentError::Unknown { name }) if name == "data.csv"));
    let error = read("");
    assert!(error.hint().is_some(), "{error}");
}

/// Evaluation keys that transcipher are passed on as they arrive; public and sensor keys are not,
/// the latter in the clear or encrypted.
#[test]
fn keys_of_transciphering_on_their_way() {
    use he_core::aes::KeySize;
    use he_core::tfhe::{CompactPublicKey, TfheSecretKey};
    use he_core::transcipher::SensorKey;
    use he_core::wire::Wire;
    use he_files::key_file::write_aes_key;
    use he_files::note::KeyId;
    use he_files::scan::{Scan, Scanned};
    use he_files::tfhe::keys::{write_evaluation, write_key, write_sensor};

    let rng = &mut rng().unwrap();
    let circuit = he_files::transcipher::params(true, false).unwrap();
    let (id, params) = (KeyId::random(rng), circuit.tfhe());
    let (secret, sensor) = (TfheSecretKey::generate(params, rng), SensorKey::generate(KeySize::Bits256, rng));
    let [mut plain, mut both, mut hidden, mut public, mut key, mut encrypted] = [(); 6].map(|()| Vec::new());
    write_evaluation(&mut plain, &secret, (1, None), &id, rng, "key").unwrap();
    write_evaluation(&mut both, &secret, (4, Some(&circuit)), &id, rng, "key").unwrap();
    write_key(&mut hidden, params, &id, secret.to_frame(params).unwrap(), "key").unwrap();
    let frame = CompactPublicKey::generate(&secret, rng).to_frame(params).unwrap();
    write_key(&mut public, params, &id, frame, "key").unwrap();
    write_aes_key(&mut key, &sensor.to_frame(), "key").unwrap();
    write_sensor(&mut encrypted, &secret, &sensor, &id, rng, "key").unwrap();
    for (file, passes) in
        [(plain, true), (both, true), (hidden, false), (public, false), (key, false), (encrypted, false)]
    {
        let (mut scan, mut passed) = (Scan::new("key", Scanned::EvaluationKeys), Vec::new());
        let mut pieces = file.chunks(777);
        let scanned = pieces.try_for_each(|piece| scan.push(piece, |bytes| passed.extend_from_slice(bytes)));
        assert_eq!(scanned.is_ok(), passes, "{scanned:?}");
        assert!(if passes { passed == file && scan.end().is_ok() } else { passed.is_empty() });
    }
}

/// Names choose columns, offsets and categories, and are in no description of a file.
#[test]
fn names_are_left_out_where_they_are_public() {
    const TABLE: &[u8] = b"secret a,secret b\n1,2\n300,4\n";
    let input = || Input::from_bytes("table", TABLE.to_vec());
    let table = TableOptions { nameless: true, ..TableOptions::default() };
    let (of_a, b) = ("secret a=none".parse().unwrap(), "secret b".parse().unwrap());
    let (offsets, categories) = ([of_a], [b]);
    let flags = TableFlags { options: table, ..TableFlags::default() };
    let ckks = RealNeeds { depth: 0, ..RealNeeds::default() }.params().unwrap();
    let clear = Clear::read::<Ckks>(input(), TableFlags { offsets: &offsets, ..flags }, None, &()).unwrap();
    let real = Ckks::describe(&clear, &ckks, None, &()).unwrap().json();
    let bfv = IntegerNeeds { depth: 0, bits: 16, ..IntegerNeeds::default() }.params::<Bfv>().unwrap();
    let flags = TableFlags { categories: &categories, ..flags };
    let clear = Clear::read::<Bfv>(input(), flags, None, &()).unwrap();
    let exact = Bfv::describe(&clear, &bfv, None, &()).unwrap().json();
    let tfhe = presets::digits_2m128().unwrap();
    let options = ReadOptions { table, ..ReadOptions::default() };
    let clear = columns::Clear::read(input(), options, &tfhe, &()).unwrap();
    let digits = serde_json::to_value(clear.describe(&tfhe).unwrap()).unwrap();
    for told in [real, exact, digits] {
        assert_eq!(told["columns"].as_array().unwrap().len(), 2);
        assert!(!told.to_string().contains("secret"), "{told}");
    }
}
