//! Key sets, tables and answers of tests.

#![allow(dead_code)] // Each test takes a part.

pub mod cluster;
pub mod server;

use he::Device;
use he_core::exact::Params;
use he_core::tfhe::{BootstrapKey, CompactPublicKey, TfheSecretKey, presets};
use he_core::wire::Wire;
use he_files::io::output::{Output, OutputOptions};
use he_files::key_set::KeyFiles;
use he_files::needs::IntegerNeeds;
use he_files::note::KeyId;
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::engine::Engine;
use he_files::scheme::{OfKeySet, Rotations, Scheme, Taken};
use he_sql::csv_table::{self, Encryption};
use he_sql::keys::KeySet;
use he_sql::owner::OwnerKey;
use he_sql::session::{Options, Session};
use he_sql::table;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::path::{Path, PathBuf};

/// A folder with the keys of one set, and tables.
pub struct World {
    folder: tempfile::TempDir,
}

fn no_passphrase(_: Purpose, _: &str) -> he_files::Result<Passphrase> {
    panic!("no key of these tests is sealed")
}

/// Parameters as `keygen --bits BITS --depth DEPTH` makes them.
pub fn integers<E: Taken>(bits: u32, depth: usize) -> Params<E> {
    IntegerNeeds { depth, bits, ..IntegerNeeds::default() }.params().unwrap()
}

/// Powers of two up to a row of slots, and the exchange of rows.
pub fn all_sums(log_row: u32) -> Rotations {
    Rotations { steps: (0..log_row).map(|bit| 1 << bit).collect(), conjugation: true }
}

impl World {
    pub fn new<S: Scheme>(params: &S::Params, rotations: &Rotations, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::<S>::new(params, Device::cpu()).unwrap();
        let keys =
            he_files::key_set::KeySet::generate(&engine, rotations, &mut ChaCha20Rng::seed_from_u64(seed));
        KeyFiles::create(folder.path(), false).unwrap().write::<S>(&keys.unwrap(), params, None).unwrap();
        Self { folder }
    }

    pub fn tfhe(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let params = presets::digits_2m40().unwrap();
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let id = KeyId::random(rng);
        let secret = TfheSecretKey::generate(&params, rng).of(&id);
        let write = |name: &str, frame| {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            he_files::tfhe::keys::write_key(file, &params, &id, frame, name).unwrap();
        };
        write("secret.key", secret.to_frame(&params).unwrap());
        write("public.key", CompactPublicKey::generate(&secret, rng).to_frame(&params).unwrap());
        write("eval.key", BootstrapKey::generate(&secret, rng).to_frame(&params).unwrap());
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn url(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub fn set(&self) -> KeySet {
        KeySet::open(&self.url("eval.key")).unwrap()
    }

    pub fn owner(&self) -> OwnerKey {
        OwnerKey::open(&self.path("secret.key"), &no_passphrase).unwrap()
    }

    /// Encrypts columns of a table by the key that clients have.
    pub fn encrypt(&self, name: &str, csv: &str, columns: &[&str], how: Encryption) -> usize {
        let key = OwnerKey::open(&self.path("public.key"), &no_passphrase).unwrap();
        let how = Encryption { columns: columns.iter().map(|&name| name.to_owned()).collect(), ..how };
        csv_table::encrypt(csv.as_bytes(), "t.csv", output(&self.path(name)), &key, &how).unwrap()
    }

    /// Sessions with some tables of this folder.
    pub async fn session(&self, tables: &[(&str, &str)], options: Options) -> Session {
        let mut session = Session::local(&self.set(), options).unwrap();
        for (name, file) in tables {
            session.register(name, &self.url(file)).await.unwrap();
        }
        session
    }

    /// The answer of a query as the owner of the keys reads it, without the line of names.
    pub async fn answer(&self, session: &mut Session, query: &str) -> Vec<Vec<String>> {
        let path = self.path("answer.parquet");
        let frame = session.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        let stream = frame.execute_stream().await.unwrap();
        table::write(output(&path), stream).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        decrypted(&self.owner(), &path)
    }

    /// The planner's message about a query that it refuses.
    pub async fn refusal(&self, session: &mut Session, query: &str) -> String {
        match session.sql(query).await {
            Ok(frame) => panic!("{query} was planned:\n{}", frame.logical_plan()),
            Err(error) => error.to_string(),
        }
    }
}

/// A file that replaces one of its name.
fn output(path: &Path) -> Output {
    let options = OutputOptions { force: true, ..OutputOptions::default() };
    Output::create(path, options, &[]).unwrap()
}

/// The rows of an answer.
pub fn decrypted(owner: &OwnerKey, path: &Path) -> Vec<Vec<String>> {
    let mut csv = Vec::new();
    csv_table::decrypt(path, &mut csv, owner).unwrap();
    let text = String::from_utf8(csv).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Partitions of a query.
pub fn partitions(count: usize) -> Options {
    Options { partitions: Some(count), ..Options::default() }
}
