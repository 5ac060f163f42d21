//! Indexes of encrypted vectors: answers are those of a folder, and what is refused.

use crate::client::Client;
use crate::fixtures::{Service, files, reader, written};
use he::Device;
use he_core::wire::WireKeys;
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, KeyFile, write_key};
use he_files::key_set::{KeySet, secret_file};
use he_files::note::{MetricName, PlanNote, TaskNote};
use he_files::scheme::engine::{Engine, rng};
use he_files::scheme::{Ckks, OneOf};
use he_files::search::{self, Found, IndexFolder, Position, Record, Wanted};
use he_server::settings::Settings;
use rand::RngExt;
use serde_json::{Value, json};
use std::sync::{Mutex, OnceLock};
use tempfile::TempDir;

const VECTORS: [[f64; 2]; 5] = [[3.0, 4.0], [1.0, 0.0], [-2.0, 0.0], [1.0, 1.0], [0.5, -0.1]];
const QUERY: [f64; 2] = [1.0, 0.2];

fn plan(dimension: u32) -> PlanNote {
    let (metric, wanted) = (MetricName::Cosine, TaskNote::Rank);
    PlanNote { dimension, metric, norm: None, records: 8192, wanted }
}

/// The owner of an index in a folder: two files of records, and the keys.
struct Owner {
    _folder: TempDir,
    index: IndexFolder,
    engine: Engine<Ckks>,
    secret: Vec<u8>,
    evaluation: Vec<u8>,
    query: Vec<u8>,
    /// A file of records under another key.
    foreign: Vec<u8>,
}

fn key(file: &[u8]) -> KeyFile<Ckks> {
    let any = AnyKey::read(Input::from_bytes("key", file.to_vec()), "a key", None).unwrap();
    let OneOf::Ckks(key) = any.scheme("a key").unwrap() else { panic!("a key of ckks") };
    key
}

fn records(vectors: &[[f64; 2]]) -> Vec<Record> {
    vectors.iter().map(|x| Record { vector: x.to_vec(), payload: Vec::new() }).collect()
}

impl Owner {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = |name: &str| IndexFolder::create(&folder.path().join(name), &plan(2).plan().unwrap());
        let (mut index, mut other) = (index("index").unwrap(), index("other").unwrap());
        let params = index.params().clone();
        let mut random = rng().unwrap();
        let engine = search::engine(&params, Device::cpu()).unwrap();
        let mut keys = || KeySet::<Ckks>::generate(&engine, &search::rotations(&params), &mut random);
        let (keys, stranger) = (keys().unwrap(), keys().unwrap());
        let file = |keys: &KeySet<Ckks>| {
            secret_file::<Ckks>(&keys.secret, params.ckks(), &keys.id, None, "").unwrap().to_vec()
        };
        let secret = file(&keys);
        let own = key(&secret);
        for some in [&VECTORS[..3], &VECTORS[3..]] {
            search::append(&mut index, &own, &records(some), &engine, &mut random, &()).unwrap();
        }
        let strange = key(&file(&stranger));
        search::append(&mut other, &strange, &records(&VECTORS[..1]), &engine, &mut random, &()).unwrap();
        let foreign = std::fs::read(other.path(0)).unwrap();
        let mut evaluation = Vec::new();
        let frames = keys.evaluation.to_frames(params.ckks());
        write_key::<Ckks>(&mut evaluation, params.ckks(), &keys.id, frames, "").unwrap();
        let query = written(|output| {
            search::query(&index, &own, &QUERY, &engine, output, &mut random).unwrap();
        });
        Self { _folder: folder, index, engine, secret, evaluation, query, foreign }
    }

    fn file(&self, number: u32) -> Vec<u8> {
        std::fs::read(self.index.path(number)).unwrap()
    }

    /// The answer of the folder.
    fn answer(&self) -> Vec<u8> {
        let (query, key) = (reader(&self.query), key(&self.evaluation));
        written(|output| {
            search::answer(&self.index, query, key, Wanted::Scores, &self.engine, output, &()).unwrap();
        })
    }

    fn read(&self, answer: &[u8]) -> Vec<(usize, f64)> {
        let read = search::read(reader(answer), &key(&self.secret), 9, Device::cpu()).unwrap();
        let Found::Ranking(ranking) = read else { panic!("a ranking") };
        ranking.nearest.into_iter().map(|found| (found.position.slot, found.value)).collect()
    }
}

fn owner() -> &'static Mutex<Owner> {
    static OWNER: OnceLock<Mutex<Owner>> = OnceLock::new();
    OWNER.get_or_init(|| Mutex::new(Owner::new()))
}

fn make(who: &Client, plan: &PlanNote, key_set: Option<&str>) -> String {
    let made = who.post("/v1/indexes", &json!({ "plan": plan, "key_set": key_set })).expect(201);
    let made_id = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location").unwrap(), format!("/v1/indexes/{made_id}"));
    made_id
}

fn append(who: &Client, index: &str, object: &str) -> crate::client::Answer {
    who.send("PUT", &format!("/v1/indexes/{index}/segments/{object}"), &[], b"")
}

fn search_job(who: &Client, want: Value, inputs: &[&str], keys: &str) -> Value {
    who.wait(&who.job(json!({ "name": "search", "want": want }), inputs, keys))
}

/// The cosines of the query with vectors, the greatest first, by plain numbers.
fn cosines(slots: &[usize]) -> Vec<(usize, f64)> {
    let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    let cosine = |x: [f64; 2]| dot(x, QUERY) / (dot(x, x) * dot(QUERY, QUERY)).sqrt();
    let mut all: Vec<_> = slots.iter().map(|&slot| (slot, cosine(VECTORS[slot]))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[test]
fn answers_are_those_of_a_folder() {
    let mut owner = owner().lock().unwrap();
    let service = Service::start();
    let alice = service.tenant("alice");
    let keys = alice.upload("/v1/key-sets", &owner.evaluation);
    let index = make(&alice, &plan(2), Some(&keys));
    let path = format!("/v1/indexes/{index}");
    let objects = [0, 1].map(|number| alice.upload("/v1/objects", &owner.file(number)));
    for object in &objects {
        append(&alice, &index, object).expect(200);
    }
    // The answer to a request may be lost, and the request sent again.
    append(&alice, &index, &objects[1]).expect(200);
    let query = alice.upload("/v1/objects", &owner.query);
    let done = search_job(&alice, Value::Null, &[&index, &query], &keys);
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(done["progress"], json!({ "done": 2, "of": 2 }));
    let answer = alice.content(done["result"].as_str().unwrap());
    assert!(answer == owner.answer());
    for (found, expected) in owner.read(&answer).iter().zip(cosines(&[0, 1, 2, 3, 4])) {
        assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-3, "{found:?} {expected:?}");
    }

    // Deleted records are left out, also after another start.
    let deletions = json!({ "positions": [[0, 3], [0, 1], [0, 3]] });
    let told = alice.post(&format!("{path}/deletions"), &deletions).expect(200).json();
    assert_eq!((&told["info"]["records"], &told["info"]["segments"]), (&json!(3), &json!(1)));
    alice.post(&format!("{path}/deletions"), &deletions).expect(200);
    let service = Service::on(service.stop(), Settings::default());
    let alice = Client { address: service.client.address, ..alice };
    owner.index.delete(&[Position { segment: 0, slot: 1 }, Position { segment: 0, slot: 3 }]).unwrap();
    let kept = alice.get(&path).expect(200).json();
    let described: Value = serde_json::from_slice(&owner.index.to_bytes()).unwrap();
    assert_eq!((&kept["info"]["index"], &kept["info"]["key_set"]), (&described, &json!(keys)));
    assert_eq!(kept["info"]["objects"], json!(objects));
    let done = search_job(&alice, json!("scores"), &[&index, &query], &keys);
    let answer = alice.content(done["result"].as_str().unwrap());
    assert!(answer == owner.answer());
    let slots: Vec<usize> = owner.read(&answer).into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(slots, cosines(&[0, 2, 4]).into_iter().map(|(slot, _)| slot).collect::<Vec<_>>());

    // Its files and its key are in use until it is gone.
    let [first, key_path] = [format!("/v1/objects/{}", objects[0]), format!("/v1/key-sets/{keys}")];
    for used in [&first, &key_path] {
        assert!(alice.delete(used).problem(409).contains("index"));
    }
    let listed = alice.get("/v1/indexes").expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    alice.delete(&path).expect(204);
    alice.get(&path).problem(404);
    for used in [&first, &key_path] {
        alice.delete(used).expect(204);
    }
}

#[test]
fn what_is_not_of_an_index_is_refused() {
    let owner = owner().lock().unwrap();
    let service = Service::start();
    let (alice, bob) = (service.tenant("alice"), service.tenant("bob"));
    let keys = alice.upload("/v1/key-sets", &owner.evaluation);
    let (index, wider) = (make(&alice, &plan(2), None), make(&alice, &plan(3), None));
    let upload = |file: &[u8]| alice.upload("/v1/objects", file);
    let (segment, query, foreign) = (upload(&owner.file(0)), upload(&owner.query), upload(&owner.foreign));
    let image = upload(&files().image);
    append(&alice, &index, &segment).expect(200);
    for (object, said) in [(&image, "ckks"), (&query, "a segment of an index"), (&foreign, "key set")] {
        let said_there = append(&alice, &index, object).problem(422);
        assert!(said_there.contains(said) || said == "ckks", "{said_there}");
    }
    assert!(append(&alice, &wider, &segment).problem(422).contains("another plan"));
    // Others know of none of it.
    let path = format!("/v1/indexes/{index}");
    bob.get(&path).problem(404);
    bob.delete(&path).problem(404);
    bob.post(&format!("{path}/deletions"), &json!({ "positions": [] })).problem(404);
    append(&bob, &index, &segment).problem(404);
    let own = make(&bob, &plan(2), None);
    append(&bob, &own, &segment).problem(404);
    bob.post("/v1/indexes", &json!({ "plan": plan(2), "key_set": keys })).problem(404);
    // Names of another kind.
    for (index, object) in [(&segment, &segment), (&index, &index), (&index, &keys)] {
        append(&alice, index, object).problem(404);
    }
    append(&alice, &index, "..").problem(404);
    // Deletions are all or none.
    for positions in [json!([[0, 1], [0, 3]]), json!([[1, 0]]), json!([[0, u64::MAX]])] {
        alice.post(&format!("{path}/deletions"), &json!({ "positions": positions })).problem(422);
    }
    for body in [json!({}), json!({ "positions": [[0]] }), json!({ "positions": [[0, -1]] }), json!([])] {
        assert!((400..=422).contains(&alice.post(&format!("{path}/deletions"), &body).status));
    }
    let records = alice.get(&path).expect(200).json()["info"]["records"].clone();
    assert_eq!(records, 3);
    // Plans that nobody can compute with.
    let good = serde_json::to_value(plan(2)).unwrap();
    for (name, value) in [
        ("dimension", json!(1)),
        ("dimension", json!(u32::MAX)),
        ("records", json!(0)),
        ("records", json!(u64::MAX)),
        ("metric", json!("hamming")),
        ("norm", json!(-1.0)),
        ("wanted", json!({ "task": "match", "bands": [-1.0, 0.5, 0.4, 1.0], "payload": 8 })),
        ("insecure_log_n", json!(5)),
    ] {
        let mut plan = good.clone();
        plan[name] = value;
        let answer = alice.post("/v1/indexes", &json!({ "plan": plan }));
        assert!([400, 422].contains(&answer.status), "{plan}: {}", answer.status);
    }
    // Jobs.
    for inputs in [vec![&query], vec![&query, &index], vec![&index, &index], vec![&segment, &query]] {
        let job = json!({ "operation": { "name": "search" }, "inputs": inputs, "key_set": keys });
        assert!([400, 404].contains(&alice.post("/v1/jobs", &job).status), "{job}");
    }
    let images = alice.upload("/v1/key-sets", &files().evaluation);
    for (want, inputs, key, said) in [
        ("count", [&index, &query], &keys, "do not serve matches"),
        ("scores", [&wider, &query], &keys, "another plan"),
        ("scores", [&index, &segment], &keys, "a query is needed"),
        ("scores", [&index, &image], &keys, ""),
        ("scores", [&index, &query], &images, "parameters"),
    ] {
        let failed = search_job(&alice, json!(want), &inputs.map(|id| &**id), key);
        assert_eq!(failed["state"], "failed", "{failed}");
        assert!(failed["error"]["detail"].as_str().unwrap().contains(said), "{failed}");
    }
}

/// Requests that come at the same time are all done, and quotas count the descriptions.
#[test]
fn changes_at_the_same_time_are_all_made() {
    let service = Service::start();
    let owner = owner().lock().unwrap();
    let alice = service.tenant("alice");
    let index = make(&alice, &plan(2), None);
    let used = || alice.get("/v1/info").expect(200).json()["used"]["bytes"].as_u64().unwrap();
    let segment = alice.upload("/v1/objects", &owner.file(0));
    append(&alice, &index, &segment).expect(200);
    let mut slots = [0, 1, 2];
    let first = rng().unwrap().random_range(0..3);
    slots.rotate_left(first);
    std::thread::scope(|scope| {
        for slot in slots {
            let (alice, path) = (&alice, format!("/v1/indexes/{index}/deletions"));
            scope.spawn(move || alice.post(&path, &json!({ "positions": [[0, slot]] })).expect(200));
        }
    });
    let told = alice.get(&format!("/v1/indexes/{index}")).expect(200).json();
    assert_eq!(told["info"]["records"], 0);
    assert_eq!(told["info"]["index"]["segments"][0]["occupancy"]["deleted"], json!([0, 1, 2]));
    assert_eq!(used(), told["bytes"].as_u64().unwrap() + owner.file(0).len() as u64);
    alice.delete(&format!("/v1/indexes/{index}")).expect(204);
    assert_eq!(used(), owner.file(0).len() as u64);

    let small = Service::with(Settings { segment_mib: Some(0), ..Settings::default() });
    let said = small.guest().post("/v1/indexes", &json!({ "plan": plan(2) })).problem(403);
    assert!(said.contains("bytes of memory"), "{said}");
}
