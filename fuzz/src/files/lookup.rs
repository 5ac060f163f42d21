//! Objects of private look-ups: descriptions, queries, answers, packs and keys.
//!
//! Must hold: bytes are refused or are those of the object that was read; queries that are read are
//! answered, and answers that are read are refused by a client who asked for something else.

use he::Device;
use he_core::ring::Ring;
use he_lookup::{Answer, Client, ClientKey, Database, Description, Facts, Pack, Plan, Query, Server};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::OnceLock;

/// The bytes before a body, and its checksum.
const HEADER: usize = 6;
const CHECKSUM: usize = 16;

/// A database of nine records, and who asks it.
struct World {
    database: Database,
    ring: Ring<Device>,
    server: Server<Device>,
    client: Client<Device>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let plan = Plan::index(20, 3).insecure_log_n(4);
        let spec = plan.params().expect("a plan").rlwe().ring().clone();
        let ring = Ring::new(Device::cpu(), spec).expect("a ring");
        let records: Vec<[u8; 3]> = (0..9u8).map(|i| [i, 10 * i, 255 - i]).collect();
        let database = Database::of_records(&plan, [3; 32], &records, &ring).expect("a database");
        let server = Server::new(database.description(), &ring, database.packs(), 1).expect("a server");
        let key = ClientKey::generate(&mut ChaCha20Rng::seed_from_u64(1));
        let client = Client::new(database.description(), key, &ring).expect("a client");
        World { database, ring, server, client }
    })
}

/// The bytes with a header and a checksum that are right, and numbers of descriptions that are
/// small: plans of terabytes take seconds.
fn repaired(data: &[u8]) -> Option<Vec<u8>> {
    let (kind, body) = data.split_first()?;
    let kind = 1 + kind % 5;
    let mut bytes = [&b"HELK"[..], &[kind, 1], body].concat();
    if kind == 1 {
        let numbers = bytes.get_mut(HEADER..HEADER + 32)?;
        numbers[2..8].fill(0);
        numbers[9..16].fill(0);
        numbers[24] = 4 + numbers[24] % 3;
    }
    let sum = blake3::hash(&bytes);
    bytes.extend(&sum.as_bytes()[..CHECKSUM]);
    Some(bytes)
}

pub fn run(data: &[u8]) {
    read(data);
    if let Some(repaired) = repaired(data) {
        read(&repaired);
    }
}

fn read(bytes: &[u8]) {
    let world = world();
    let (own, params) = (world.database.description(), world.database.description().params());
    if let Ok(description) = Description::from_bytes_insecure(bytes) {
        assert_eq!(description.to_bytes(), bytes);
        let insecure = description.params().plan().insecure_log_n;
        assert_eq!(Description::from_bytes(bytes).is_ok(), insecure.is_none());
        let facts = Facts::of(description.params());
        assert!(facts.query_bytes > 0 && facts.log2_failure <= -40.0);
        assert!(description.records() <= description.params().plan().records);
    }
    if let Ok(query) = Query::from_bytes(own, bytes) {
        assert_eq!(query.to_bytes(params), bytes);
        world.server.answer(&[query]).expect("an answer");
    }
    if let Ok(answer) = Answer::from_bytes(own, bytes) {
        assert_eq!(answer.to_bytes(params), bytes);
        world.client.read(&answer, 5).expect_err("nobody has asked for this record");
    }
    if let Ok(pack) = Pack::from_bytes(own, 0, bytes) {
        assert_eq!(pack.to_bytes(own), bytes);
        Server::new(own, &world.ring, [pack], 1).expect("a server of one pack");
    }
    if let Ok(key) = ClientKey::from_bytes(bytes) {
        assert_eq!(&key.expose_bytes()[..], bytes);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let world = world();
    let (own, rng) = (world.database.description(), &mut ChaCha20Rng::seed_from_u64(2));
    let query = world.client.query(4, rng).expect("a query");
    let answer = world.server.answer(std::slice::from_ref(&query)).expect("an answer").remove(0);
    let objects = [
        own.to_bytes(),
        query.to_bytes(own.params()),
        answer.to_bytes(own.params()),
        ClientKey::generate(rng).expose_bytes().to_vec(),
        world.database.packs()[0].to_bytes(own),
    ];
    // A kind and a body, which get a header and a checksum again.
    let body = |(kind, bytes): (u8, &Vec<u8>)| [&[kind], &bytes[HEADER..bytes.len() - CHECKSUM]].concat();
    (0..).zip(&objects).map(body).chain(objects.iter().cloned()).collect()
}
