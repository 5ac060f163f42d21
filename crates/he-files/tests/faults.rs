//! Readers and writers that give or take a few bytes at a time, are interrupted, and fail at any
//! byte: every kind of file is read and written whole, or there is one clear error.
#![allow(missing_docs, clippy::unwrap_used)]

use he::Device;
use he_core::aes::container::UserKey;
use he_core::ckks::CkksParams;
use he_files::Error;
use he_files::aes_file::{self, FileCipher, Sealed, Secret, Source, Target};
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::images;
use he_files::contents::options::TableFlags;
use he_files::contents::over_rows::OverRows;
use he_files::contents::tables::Statistic;
use he_files::contents::{Contents, encrypt};
use he_files::data::picture::Format;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_set::KeySet;
use he_files::note::{Content, Payload};
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::team::Team;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, OnceLock};

/// A seed, or the one of HE_TEST_SEED; shown if the test fails.
fn seed() -> u64 {
    let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| rng().unwrap().random());
    println!("HE_TEST_SEED={seed}");
    seed
}

/// The other end of a transfer, which misbehaves.
struct Flaky {
    rng: ChaCha20Rng,
    /// The bytes that pass before it fails.
    left: Option<usize>,
    kind: ErrorKind,
}

impl Flaky {
    /// The number of bytes that pass now, of so many.
    fn pass(&mut self, asked: usize) -> io::Result<usize> {
        if asked == 0 {
            return Ok(0);
        }
        if self.rng.random_range(0..3) == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let most = if self.rng.random() { 1 << 16 } else { 7 };
        let count = self.rng.random_range(1..=asked.min(most));
        match &mut self.left {
            None => Ok(count),
            Some(0) => Err(self.kind.into()),
            Some(left) => {
                let count = count.min(*left);
                *left -= count;
                Ok(count)
            }
        }
    }
}

#[derive(Clone)]
struct FlakyWriter(Arc<Mutex<(Flaky, Vec<u8>)>>);

impl FlakyWriter {
    fn new(seed: u64, left: Option<usize>, kind: ErrorKind) -> Self {
        let flaky = Flaky { rng: ChaCha20Rng::seed_from_u64(seed), left, kind };
        Self(Arc::new(Mutex::new((flaky, Vec::new()))))
    }

    fn output(&self) -> Output {
        Output::to_writer("the pipe", self.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Write for FlakyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (flaky, taken) = &mut *self.0.lock().unwrap();
        let count = flaky.pass(bytes.len())?;
        taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct FlakyReader(Flaky, io::Cursor<Vec<u8>>);

impl FlakyReader {
    fn input(bytes: &[u8], seed: u64, left: Option<usize>) -> Input {
        let flaky = Flaky { rng: ChaCha20Rng::seed_from_u64(seed), left, kind: ErrorKind::ConnectionReset };
        Input::from_reader("the source", Self(flaky, io::Cursor::new(bytes.to_vec())))
    }
}

impl Read for FlakyReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = self.1.get_ref().len() - self.1.position() as usize;
        let count = self.0.pass(out.len().min(rest))?;
        self.1.read_exact(&mut out[..count])?;
        Ok(count)
    }
}

struct World {
    team: Team<Ckks>,
    keys: KeySet<Ckks>,
    aes: UserKey,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let params = CkksParams::for_depth(1).build().unwrap();
        let team = Team::new(&params, &[Device::cpu()]).unwrap();
        let rotations = images::rotations(&params, 0).unwrap();
        let mut rng = rng().unwrap();
        let keys = KeySet::generate(team.lead(), &rotations, &mut rng).unwrap();
        World { team, keys, aes: UserKey::generate(&mut rng) }
    })
}

const TABLE: &[u8] = b"a,b\n1.5,-2\n2.25,4\n";

fn encrypt_table(input: Input, output: Output) -> Result<(), Error> {
    let World { team, keys, .. } = world();
    let clear = Clear::read::<Ckks>(input, TableFlags::default(), None, &())?;
    let content = Ckks::describe(&clear, &team.lead().params, None, &())?;
    let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
    encrypt::by_public_key(team, &keys.public, &clear, &payload, output, &mut rng()?).map(drop)
}

fn sum_table(input: Input, output: Output) -> Result<(), Error> {
    let World { team, keys, .. } = world();
    let input: CipherReader<Ckks> = CipherReader::new(input)?;
    let Content::Table(note) = &input.payload.content else { panic!("a table") };
    let content = Content::Table(Statistic::Sum.describe(&input, note)?);
    let payload = input.payload.after("sum", content);
    Statistic::Sum.evaluate(team, &keys.evaluation, input, &payload, true, output).map(drop)
}

fn decrypt_table(input: Input, mut output: Output) -> Result<(), Error> {
    let World { team, keys, .. } = world();
    let plain = Plain::decrypt(team, &keys.secret, &mut CipherReader::new(input)?, View::Light)?;
    plain.write(Format::Png, &mut output)?;
    output.commit()
}

fn seal(input: Input, output: Output) -> Result<(), Error> {
    aes_file::encrypt(Source::Input(input), output, Secret::Key(&world().aes), FileCipher::cpu(), &())
        .map(drop)
}

fn open(input: Input, output: Output) -> Result<(), Error> {
    let secret = Secret::Key(&world().aes);
    Sealed::read(input)?.decrypt(secret, Target::File(output), None, |_| Ok(FileCipher::cpu()), &()).map(drop)
}

type Operation = fn(Input, Output) -> Result<(), Error>;

/// The result of an operation with a source and a destination that are in order.
fn plainly(operation: Operation, bytes: &[u8]) -> Vec<u8> {
    let out = Arc::new(Mutex::new(Vec::new()));
    struct Whole(Arc<Mutex<Vec<u8>>>);
    impl Write for Whole {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let input = Input::from_reader("the source", io::Cursor::new(bytes.to_vec()));
    operation(input, Output::to_writer("the pipe", Whole(Arc::clone(&out)))).unwrap();
    out.lock().unwrap().clone()
}

/// Each operation with what it reads, and what makes its results plain again.
fn operations() -> Vec<(&'static str, Operation, Vec<u8>, Vec<Operation>)> {
    let data: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    let table = plainly(encrypt_table, TABLE);
    let sealed = plainly(seal, &data);
    vec![
        ("encrypt a table", encrypt_table, TABLE.to_vec(), vec![decrypt_table]),
        ("add its rows", sum_table, table.clone(), vec![decrypt_table]),
        ("decrypt it", decrypt_table, table, vec![]),
        ("encrypt under AES", seal, data, vec![open]),
        ("decrypt under AES", open, sealed, vec![]),
    ]
}

/// The results of an operation in plain.
fn plain(operations: &[Operation], bytes: Vec<u8>) -> Vec<u8> {
    operations.iter().fold(bytes, |bytes, operation| plainly(*operation, &bytes))
}

/// Few bytes at a time and interruptions change nothing.
#[test]
fn short_and_interrupted_transfers_are_continued() {
    let seed = seed();
    for (name, operation, bytes, back) in operations() {
        let expected = plain(&back, plainly(operation, &bytes));
        for round in 0..3 {
            let out = FlakyWriter::new(seed + round, None, ErrorKind::Other);
            operation(FlakyReader::input(&bytes, seed ^ round, None), out.output())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(plain(&back, out.bytes()) == expected, "{name}");
        }
    }
}

/// The places at which a transfer may end: at each of the first bytes, at some in between, and
/// before the last.
fn cuts(seed: u64, length: usize) -> impl Iterator<Item = usize> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let some: Vec<usize> = (0..12).map(|_| rng.random_range(0..length)).collect();
    (0..8.min(length)).chain(some).chain([length - 1])
}

/// A full disk is named with the destination, at whatever byte it is full.
#[test]
fn full_disks_are_named() {
    let seed = seed();
    for (name, operation, bytes, _) in operations() {
        let length = plainly(operation, &bytes).len();
        for cut in cuts(seed, length) {
            for (kind, said) in [
                (ErrorKind::StorageFull, "cannot write the pipe: no storage space"),
                (ErrorKind::QuotaExceeded, "cannot write the pipe: quota exceeded"),
            ] {
                let out = FlakyWriter::new(seed, Some(cut), kind);
                let input = Input::from_reader("the source", io::Cursor::new(bytes.clone()));
                let error = operation(input, out.output()).expect_err(name);
                // A plain table does not know where it is written.
                let what = if name == "decrypt it" { "the table" } else { "the pipe" };
                let said = said.replace("the pipe", what);
                assert_eq!(error.to_string(), said, "{name}, full after {cut} bytes of {length}");
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{name}: {error}");
                assert_eq!(out.bytes().len(), cut, "{name}");
            }
        }
    }
}

/// A source that fails is named, at whatever byte it does.
#[test]
fn sources_that_fail_are_named() {
    let seed = seed();
    for (name, operation, bytes, _) in operations() {
        for cut in cuts(seed, bytes.len()) {
            let out = FlakyWriter::new(seed, None, ErrorKind::Other);
            let input = FlakyReader::input(&bytes, seed, Some(cut));
            let error = operation(input, out.output()).expect_err(name);
            let said = error.to_string();
            assert_eq!(said, "cannot read the source: connection reset", "{name}, after {cut} bytes");
        }
    }
}
