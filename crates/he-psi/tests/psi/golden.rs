//! Bytes of every object as version 1 writes them: they are still written, where they follow from
//! seeds, and still read.

use he_core::backend::Cpu;
use he_core::ring::Ring;
use he_psi::{Answer, ClientState, Params, Plan, PreparedSet, Query, Request, Response, Server, ServerKey};
use rand::SeedableRng as _;
use rand::rngs::ChaCha8Rng;

const ITEMS: [&str; 3] = ["ann", "bob", "cho"];
const LABELS: [[u8; 2]; 3] = [[1, 2], [3, 4], [5, 6]];

fn small() -> (Params, Ring<Cpu>) {
    let params = Plan::new(3, 2).labels(2).insecure_log_n(6).params().unwrap();
    let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone()).unwrap();
    (params, ring)
}

/// A set of three items and the messages of one run, under seeds that do not change.
fn objects() -> [(&'static str, Vec<u8>); 8] {
    let (params, ring) = small();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut server = Server::new(&params, ServerKey::generate(rng), &ring).unwrap();
    server.append(&ITEMS, &LABELS, rng).unwrap();
    let state = ClientState::new(&params, &["bob", "dan"], rng).unwrap();
    let request = state.request(&params).unwrap();
    let response = server.respond(&request).unwrap();
    let query = state.query(&params, &ring, &response, rng).unwrap();
    let sent = query.to_bytes(&params).unwrap();
    let answer = server.answer(query).unwrap().to_bytes(&params).unwrap();
    [
        ("plan", Plan::new(1000, 10).labels(5).params().unwrap().to_bytes()),
        ("set", server.to_bytes().to_vec()),
        ("state", state.to_bytes(&params).to_vec()),
        ("request", request.to_bytes()),
        ("response", response.to_bytes()),
        ("query", sent),
        ("answer", answer),
        ("prepared", server.prepared_bytes()),
    ]
}

fn path(name: &str) -> String {
    format!("{}/tests/psi/golden/{name}.v1", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn version_1_is_written_and_read() {
    let [plan, set, state, request, response, query, answer, prepared] = objects().map(|(name, bytes)| {
        let stored = std::fs::read(path(name)).unwrap();
        assert!(bytes == stored, "{name} is written in another way");
        stored
    });
    assert_eq!(Params::from_bytes(&plan).unwrap().plan(), &Plan::new(1000, 10).labels(5));
    let (params, ring) = small();
    let server = Server::from_bytes(&params, &ring, &set, &mut he_core::rand::rng()).unwrap();
    assert_eq!(server.len(), 3);
    let read = server.respond(&Request::from_bytes(&params, &request).unwrap()).unwrap();
    assert_eq!(read.to_bytes(), response);
    assert_eq!(ServerKey::of_set(&params, &set).unwrap().id(), server.key());
    let state = ClientState::from_bytes(&params, &state).unwrap();
    let response = Response::from_bytes(&params, &response).unwrap();
    let prepared = PreparedSet::from_bytes(&params, &ring, &prepared).unwrap();
    for answer in [
        prepared.answer(Query::from_bytes(&params, &ring, &query).unwrap()).unwrap(),
        Answer::from_bytes(&params, &ring, &answer).unwrap(),
        server.answer(Query::from_bytes(&params, &ring, &query).unwrap()).unwrap(),
    ] {
        let found = state.read(&params, &ring, &response, &answer).unwrap();
        assert_eq!((found.len(), found[0].item, &found[0].label[..]), (1, 0, &[3, 4][..]));
    }
}

/// Run it once for a new version.
#[test]
#[ignore = "writes the golden files"]
fn write_golden_files() {
    objects().iter().for_each(|(name, bytes)| std::fs::write(path(name), bytes).unwrap());
}
