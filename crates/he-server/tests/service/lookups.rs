//! Databases for private look-ups: what the service tells of them, answers to clients by number and
//! by key, versions, and bodies that are not queries.

use crate::client::Client;
use crate::fixtures::Service;
use he::Device;
use he_core::rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use he_core::ring::Ring;
use he_files::io::input::Input;
use he_files::lookup::{self, LookupFolder};
use he_lookup::{Answer, ClientKey, Description, Plan, Query};
use he_server::app::{App, StartError};
use he_server::settings::{Config, Settings};
use serde_json::json;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A seed of its own for each run, which is printed.
fn rng() -> ChaCha20Rng {
    let seed: u64 = he_core::rand::random();
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// The record of a number.
fn record(number: u64) -> [u8; 8] {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()
}

fn numbered(folder: &Path, count: u64, planned: u64) -> LookupFolder {
    let bytes: Vec<u8> = (0..count).flat_map(record).collect();
    let (plan, input) = (Plan::index(planned, 8), Input::from_bytes("records", bytes));
    LookupFolder::of_records(folder, &plan, [1; 32], input, Device::cpu(), &()).unwrap()
}

fn keyed(folder: &Path) -> LookupFolder {
    let entry = |i: u64| (format!("key {i}").into_bytes(), record(i).to_vec());
    let entries: Vec<_> = (0..300).map(entry).collect();
    LookupFolder::of_entries(folder, &Plan::keyword(300, 8), [2; 32], &entries, Device::cpu()).unwrap()
}

/// A folder with one database of each kind, made once, and a file that is not one.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        numbered(&folder.path().join("squares"), 500, 500);
        keyed(&folder.path().join("words"));
        std::fs::write(folder.path().join("README.md"), "not a database").unwrap();
        folder
    });
    folder.path()
}

fn settings(place: &Path) -> Settings {
    Settings { lookups: Some(place.to_owned()), ..Settings::default() }
}

/// A client of the library that asks the service by HTTP.
struct Asker {
    http: Client,
    name: &'static str,
    client: he_lookup::Client<Device>,
    description: Description,
}

impl Asker {
    fn new(http: Client, name: &'static str, rng: &mut ChaCha20Rng) -> Self {
        let bytes = http.get(&format!("/v1/lookups/{name}/description")).expect(200).body;
        let description = Description::from_bytes(&bytes).unwrap();
        let ring: Ring<Device> = lookup::ring(description.params(), Device::cpu()).unwrap();
        let client = he_lookup::Client::new(&description, ClientKey::generate(rng), &ring).unwrap();
        Self { http, name, client, description }
    }

    fn post(&self, body: &[u8]) -> crate::client::Answer {
        self.http.send("POST", &format!("/v1/lookups/{}/answers", self.name), &[], body)
    }

    fn sent(&self, query: &Query) -> Answer {
        let answer = self.post(&query.to_bytes(self.description.params())).expect(200);
        Answer::from_bytes(&self.description, &answer.body).unwrap()
    }

    fn by_number(&self, number: u64, rng: &mut ChaCha20Rng) -> Vec<u8> {
        self.client.read(&self.sent(&self.client.query(number, rng).unwrap()), number).unwrap()
    }

    fn by_key(&self, key: &[u8], rng: &mut ChaCha20Rng) -> Option<Vec<u8>> {
        self.client.read_key(&self.sent(&self.client.query_key(key, rng).unwrap()), key).unwrap()
    }
}

#[test]
fn databases_are_listed_and_described() {
    let service = Service::with(settings(folder()));
    let (nobody, guest) = (service.nobody(), service.guest());
    assert_eq!(nobody.get("/v1/info").expect(200).json()["lookups"], json!(["squares", "words"]));
    let list = nobody.get("/v1/lookups").expect(200).json()["lookups"].clone();
    assert_eq!(guest.get("/v1/lookups/words").expect(200).json(), list[1]);
    let file = guest.get("/v1/lookups/squares/description").expect(200);
    let description = Description::from_bytes(&file.body).unwrap();
    let told = &list[0];
    assert_eq!(told["database"], description.identity().to_string());
    assert_eq!(file.header("etag").unwrap(), format!("\"{}\"", description.identity()));
    assert_eq!((&told["by"], &told["records"], &told["version"]), (&json!("number"), &json!(500), &json!(1)));
    let schemas = &nobody.get("/openapi.json").expect(200).json()["components"]["schemas"];
    let fields: Vec<&String> = told.as_object().unwrap().keys().collect();
    let known = schemas["Lookup"]["properties"].as_object().unwrap();
    assert_eq!(fields, known.keys().collect::<Vec<_>>());
    for path in ["", "/description"] {
        nobody.get(&format!("/v1/lookups/words{path}")).problem(401);
        for name in ["none", "README.md", "..%2Fwords", "%2e%2e%2fwords", "%00"] {
            guest.get(&format!("/v1/lookups/{name}{path}")).problem(404);
        }
    }
    nobody.send("POST", "/v1/lookups/words/answers", &[], b"x").problem(401);
    guest.send("POST", "/v1/lookups/none/answers", &[], b"x").problem(404);
    // One database by its folder, and none.
    let one = Service::with(settings(&folder().join("words")));
    assert_eq!(one.nobody().get("/v1/lookups").expect(200).json()["lookups"], json!([list[1]]));
    assert_eq!(Service::start().nobody().get("/v1/lookups").expect(200).json(), json!({ "lookups": [] }));
}

#[test]
fn many_clients_are_answered() {
    let service = Service::with(settings(folder()));
    let mut seeds = rng();
    let mut askers: Vec<_> = (0..6).map(|_| ChaCha20Rng::seed_from_u64(seeds.random())).collect();
    std::thread::scope(|scope| {
        for (i, rng) in askers.iter_mut().enumerate() {
            let guest = service.guest();
            scope.spawn(move || {
                let squares = Asker::new(guest.clone(), "squares", rng);
                let number = rng.random_range(0..500);
                assert_eq!(squares.by_number(number, rng), record(number));
                let words = Asker::new(guest, "words", rng);
                let found = words.by_key(format!("key {i}").as_bytes(), rng);
                assert_eq!(found.as_deref(), Some(&record(i as u64)[..]));
                assert_eq!(words.by_key(format!("no key {i}").as_bytes(), rng), None);
            });
        }
    });
    let (queries, scans) = (service.metric("lookups_total"), service.metric("scans_total"));
    assert!(queries == 18.0 && (2.0..=18.0).contains(&scans), "{queries} queries, {scans} scans");
}

#[test]
fn bodies_that_are_not_queries_are_refused() {
    let service = Service::with(settings(folder()));
    let mut rng = rng();
    let asker = Asker::new(service.guest(), "squares", &mut rng);
    let query = asker.client.query(7, &mut rng).unwrap().to_bytes(asker.description.params());
    let mut flipped = query.clone();
    flipped[rng.random_range(0..query.len())] ^= 1;
    let mut noise = vec![0; query.len()];
    rng.fill_bytes(&mut noise);
    let key = ClientKey::generate(&mut rng).expose_bytes().to_vec();
    let description = asker.description.to_bytes();
    for body in [&[][..], b"{}", &flipped, &noise, &query[..query.len() - 1], &key, &description] {
        assert!(asker.post(body).problem(422).contains("query is damaged"));
    }
    let long = [&query[..], &[0]].concat();
    assert!(asker.post(&long).problem(413).contains("more than"));
    assert!(asker.post(&vec![0; query.len() + 100_000]).problem(413).contains("more than"));
    // A query to the other database, and one to this name of the other database.
    let words = Asker::new(service.guest(), "words", &mut rng);
    let foreign = words.client.query_key(b"key 1", &mut rng).unwrap().to_bytes(words.description.params());
    let refused = asker.post(&foreign);
    assert!([409, 413].contains(&refused.status), "{}", refused.status);
    asker.http.get("/v1/lookups/squares/answers").problem(405);
    // All of that has cost no scan, and the service goes on.
    assert_eq!(service.metric("scans_total") as u64, 0);
    assert_eq!(asker.by_number(7, &mut rng), record(7));
}

#[test]
fn another_version_is_served_after_a_reload() {
    let place = tempfile::tempdir().unwrap();
    let mut database = numbered(&place.path().join("squares"), 499, 500);
    let service = Service::with(settings(place.path()));
    let mut rng = rng();
    let old = Asker::new(service.guest(), "squares", &mut rng);
    assert_eq!(old.by_number(498, &mut rng), record(498));
    let more = Input::from_bytes("more", record(499).to_vec());
    database.append(more, Device::cpu(), &()).unwrap();
    assert_eq!(old.by_number(1, &mut rng), record(1), "nothing changes without a reload");
    service.app().lookups.reload().unwrap();
    let query = old.client.query(1, &mut rng).unwrap().to_bytes(old.description.params());
    let refused = old.post(&query);
    assert_eq!(refused.json()["type"], "urn:he-server:database-version");
    assert!(refused.json()["hint"].as_str().unwrap().contains("present description"));
    refused.problem(409);
    let new = Asker::new(service.guest(), "squares", &mut rng);
    assert_eq!(new.by_number(499, &mut rng), record(499));
    // A folder that was damaged meanwhile changes nothing.
    std::fs::write(place.path().join("squares/packs.list"), b"x").unwrap();
    assert!(service.app().lookups.reload().is_err());
    assert_eq!(new.by_number(0, &mut rng), record(0));
}

#[test]
fn databases_that_cannot_be_served_are_told_at_the_start() {
    let start = |settings: Settings| {
        let data = tempfile::tempdir().unwrap();
        let settings = settings.or(Settings { data: Some(data.path().to_owned()), ..Settings::default() });
        let config = Config::new(settings, vec![Device::cpu()]).unwrap();
        let started = tokio::runtime::Runtime::new().unwrap().block_on(App::start(config));
        started.err().expect("an error")
    };
    let small = Settings { lookup_mib: Some(1), ..settings(folder()) };
    assert!(matches!(start(small), StartError::Lookups { most: 1_048_576, .. }));
    let place = tempfile::tempdir().unwrap();
    numbered(place.path().join("squares").as_path(), 10, 10);
    let pack = std::fs::read_dir(place.path().join("squares")).unwrap().map(|entry| entry.unwrap().path());
    let pack = pack.into_iter().find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    let damaged = start(settings(place.path())).to_string();
    assert!(damaged.contains("checksum"), "{damaged}");
    assert!(start(settings(&place.path().join("none"))).to_string().contains("none"));
}
