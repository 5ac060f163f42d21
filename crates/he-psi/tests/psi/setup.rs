//! Two parties in one process, and the plain intersection.

use he_core::backend::Cpu;
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use he_psi::{Answer, Client, Items, Match, Params, Placed, Plan, Result, Server, ServerKey};
use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use std::collections::HashMap;

/// A generator whose seed is printed.
pub fn rng() -> ChaCha8Rng {
    let seed = he_core::rand::rng().random();
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

pub struct Parties {
    pub params: Params,
    pub ring: Ring<Cpu>,
    pub secret: SecretKey,
    pub client: Client,
    pub server: Server,
}

impl Parties {
    pub fn new(plan: Plan, rng: &mut ChaCha8Rng) -> Self {
        let params = plan.params().unwrap();
        let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.bfv().rlwe(), rng);
        let client = Client::new(&params, &secret, &ring).unwrap();
        let server = Server::new(&params, ServerKey::generate(rng), &ring).unwrap();
        Self { params, ring, secret, client, server }
    }

    /// Both rounds, up to the answer.
    pub fn asked(&self, items: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Result<(Placed, Answer)> {
        let items = Items::new(&self.params, items, seed(rng))?;
        let response = self.server.respond(&items.request(&self.params))?;
        let placed = items.placed(&self.params, &response)?;
        let query = self.client.query(&placed, &self.secret, rng)?;
        let answer = self.server.answer(query)?;
        Ok((placed, answer))
    }

    pub fn intersect(&self, items: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Result<Vec<Match>> {
        let (placed, answer) = self.asked(items, rng)?;
        self.client.read(&placed, &answer)
    }
}

pub fn seed(rng: &mut ChaCha8Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    seed
}

/// Random items of random lengths, which all differ.
pub fn items(count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    let item = |i: usize, rng: &mut ChaCha8Rng| {
        let mut item = vec![0; rng.random_range(0..20)];
        rng.fill_bytes(&mut item);
        item.extend((i as u32).to_le_bytes());
        item
    };
    (0..count).map(|i| item(i, rng)).collect()
}

pub fn labels(count: usize, bytes: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    let label = |_| {
        let mut label = vec![0; bytes];
        rng.fill_bytes(&mut label);
        label
    };
    (0..count).map(label).collect()
}

/// The intersection by a table of the standard library.
pub fn plain(server: &[Vec<u8>], labels: &[Vec<u8>], client: &[Vec<u8>]) -> Vec<Match> {
    let known: HashMap<&Vec<u8>, usize> = server.iter().enumerate().map(|(i, item)| (item, i)).collect();
    let found = |(item, bytes)| {
        let at = *known.get(bytes)?;
        Some(Match { item, label: labels.get(at).cloned().unwrap_or_default() })
    };
    client.iter().enumerate().filter_map(found).collect()
}
