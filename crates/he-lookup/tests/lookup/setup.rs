//! Small databases of random records, with seeds that are printed.

use he_core::backend::Cpu;
use he_core::rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use he_core::ring::Ring;
use he_lookup::{Answer, Client, ClientKey, Database, Description, Plan, Server};

pub fn rng() -> ChaCha20Rng {
    let seed: u64 = he_core::rand::random();
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn ring(plan: &Plan) -> Ring<Cpu> {
    Ring::new(Cpu::new(), plan.params().unwrap().rlwe().ring().clone()).unwrap()
}

pub fn records(count: usize, bytes: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<u8>> {
    let mut record = || {
        let mut record = vec![0; bytes];
        rng.fill_bytes(&mut record);
        record
    };
    (0..count).map(|_| record()).collect()
}

pub fn client(description: &Description, ring: &Ring<Cpu>, rng: &mut ChaCha20Rng) -> Client<Cpu> {
    Client::new(description, ClientKey::generate(rng), ring).unwrap()
}

/// A plan of degree 64, its ring, and a database of all records that it takes.
pub fn database(plan: Plan, rng: &mut ChaCha20Rng) -> (Ring<Cpu>, Vec<Vec<u8>>, Database) {
    let ring = ring(&plan);
    let records = records(plan.records as usize, plan.record_bytes, rng);
    let database = Database::of_records(&plan, rng.random(), &records, &ring).unwrap();
    (ring, records, database)
}

pub fn ask(
    client: &Client<Cpu>,
    database: &Database,
    ring: &Ring<Cpu>,
    record: u64,
    rng: &mut ChaCha20Rng,
) -> Answer {
    let server = Server::new(database.description(), ring, database.packs(), 1).unwrap();
    let query = client.query(record, rng).unwrap();
    server.answer(&[query]).unwrap().remove(0)
}
