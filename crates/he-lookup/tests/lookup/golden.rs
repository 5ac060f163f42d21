//! Bytes of every object as version 1 writes them: they are still written and still read.

use he_core::backend::Cpu;
use he_core::rand::{SeedableRng, rngs::ChaCha20Rng};
use he_core::ring::Ring;
use he_lookup::{Answer, Client, ClientKey, Database, Description, Pack, Plan, Query, Server};

/// A database of nine records and the objects of one query, under seeds that do not change.
fn objects() -> [(&'static str, Vec<u8>); 5] {
    let plan = Plan::index(20, 3).insecure_log_n(4);
    let ring = ring(&plan);
    let database = Database::of_records(&plan, [3; 32], &records(), &ring).unwrap();
    let (description, params) = (database.description(), database.description().params());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let key = ClientKey::generate(&mut rng);
    let key_bytes = key.expose_bytes().to_vec();
    let query = Client::new(description, key, &ring).unwrap().query(4, &mut rng).unwrap();
    let server = Server::new(description, &ring, database.packs(), 1).unwrap();
    let answer = server.answer(std::slice::from_ref(&query)).unwrap().remove(0);
    [
        ("description", description.to_bytes()),
        ("key", key_bytes),
        ("pack", database.packs()[0].to_bytes(description)),
        ("query", query.to_bytes(params)),
        ("answer", answer.to_bytes(params)),
    ]
}

fn records() -> Vec<[u8; 3]> {
    (0..9u8).map(|i| [i, 10 * i, 255 - i]).collect()
}

fn ring(plan: &Plan) -> Ring<Cpu> {
    Ring::new(Cpu::new(), plan.params().unwrap().rlwe().ring().clone()).unwrap()
}

fn path(name: &str) -> String {
    format!("{}/tests/lookup/golden/{name}.v1", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn version_1_is_written_and_read() {
    let stored = objects().map(|(name, bytes)| {
        let stored = std::fs::read(path(name)).unwrap();
        assert!(bytes == stored, "{name} is written in another way");
        stored
    });
    let [description, key, pack, query, answer] = stored;
    let description = Description::from_bytes_insecure(&description).unwrap();
    let params = description.params();
    assert_eq!((description.records(), description.version(), params.packs()), (9, 1, 1));
    let pack = Pack::from_bytes(&description, 0, &pack).unwrap();
    Database::from_packs(description.clone(), vec![pack]).unwrap();
    Query::from_bytes(&description, &query).unwrap();
    let ring = ring(params.plan());
    let client = Client::new(&description, ClientKey::from_bytes(&key).unwrap(), &ring).unwrap();
    let answer = Answer::from_bytes(&description, &answer).unwrap();
    assert_eq!(client.read(&answer, 4).unwrap(), records()[4]);
}

/// Run it once for a new version.
#[test]
#[ignore = "writes the golden files"]
fn write_golden_files() {
    objects().iter().for_each(|(name, bytes)| std::fs::write(path(name), bytes).unwrap());
}
