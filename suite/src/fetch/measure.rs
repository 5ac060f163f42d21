//! The times of queries to a database that is made and encrypted in memory, of the harness'
//! distribution: what remains of a query when files are left out.

use super::dataset::PAYLOAD_BYTES;
use super::instance::Instance;
use super::ring;
use super::server::Server;
use crate::device::device;
use crate::error::Error;
use crate::progress::Progress;
use crate::series::Series;
use he::Device;
use he::backend::Backend as _;
use he::ckks::Evaluator;
use he::rlwe::{EvaluationKeys, SecretKey};
use he_search::{Answer, Client, Index};
use rayon::prelude::*;

/// How often a query is encrypted and answered.
const RUNS: usize = 5;
/// The records to each centre, about which half of them lie, and their distance.
const PER_CENTRE: u64 = 32;
const DISTANCE: f64 = 0.3;
/// The cosine beyond which records match.
const THRESHOLD: f64 = 0.8;

/// Makes a database on the device, and prints the times of several queries, whose answers are
/// checked against plain numbers.
pub(super) fn measure(instance: &Instance) -> Result<(), Error> {
    let (params, mut rng) = (&instance.params, he::rand::rng());
    let ring = ring(params, device()?)?;
    let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, params.requirements(), &mut rng)?;
    let (client, ev) = (Client::new(params, &secret, &ring)?, Evaluator::new(params.ckks(), &ring)?);
    let data = Data { dimension: params.plan().dimension, records: params.plan().records };
    println!("{}: {} records\n{}", ring.backend().name(), data.records, params.facts());

    let (mut index, mut series) = (Index::new(params), Series::default());
    let mut progress = Progress::new("encrypted records", data.records);
    let mut first = 0;
    for size in instance.segments() {
        let numbers = first..first + size as u64;
        let vectors: Vec<Vec<f64>> = numbers.clone().into_par_iter().map(|i| data.record(i)).collect();
        let payloads: Vec<_> =
            if instance.count_only { Vec::new() } else { numbers.clone().map(payload).collect() };
        index.append(client.segment(0, &vectors, &payloads, &mut rng)?.expand()?, &ev)?;
        first = numbers.end;
        progress.tell(first);
    }
    let server = Server::with_index(instance, ring, keys, ev, index)?;
    let vector = data.near(0, u64::MAX);
    let matches = data.matches(&vector);
    for _ in 0..RUNS {
        let query = client.query(&vector, &mut rng)?.expand()?;
        let search = series.time("expansion of the query", || server.expanded(params, &query))?;
        let answer =
            series.time("scores, threshold, answer", || server.compared(&search, instance.count_only))?;
        check(instance, &client, &answer, &matches)?;
    }
    print!("{series}");
    Ok(())
}

/// Checks an answer against the numbers of the records that match.
fn check(
    instance: &Instance,
    client: &Client<Device>,
    answer: &Answer<Device>,
    matches: &[u64],
) -> Result<(), Error> {
    let wrong = || Error::Server(format!("the answer to {} matches is wrong", matches.len()));
    let undecided = if instance.count_only {
        let count = client.count(answer)?;
        (count.matches == matches.len() as u64).then_some(count.undecided).ok_or_else(wrong)?
    } else {
        let answer = client.matches(answer)?;
        let mut found: Vec<&[u8]> = answer.found.iter().map(|found| &found.payload[..]).collect();
        let expected: Vec<_> = matches.iter().map(|&i| payload(i)).collect();
        let mut expected: Vec<&[u8]> = expected.iter().map(|payload| &payload[..]).collect();
        found.sort_unstable();
        expected.sort_unstable();
        (found == expected).then_some(answer.undecided).ok_or_else(wrong)?
    };
    println!("{} matches, {undecided} undecided slots", matches.len());
    Ok(())
}

/// The payload of a record.
fn payload(record: u64) -> [u8; PAYLOAD_BYTES] {
    (SplitMix(!record).next() >> 1).to_le_bytes()
}

/// Records by their numbers: half of them have random directions, the others lie about centres.
#[derive(Clone, Copy, Debug)]
struct Data {
    dimension: usize,
    records: u64,
}

impl Data {
    fn centres(self) -> u64 {
        (self.records / PER_CENTRE).max(1)
    }

    fn record(self, number: u64) -> Vec<f64> {
        let mut random = SplitMix(number << 20);
        match random.next() % (2 * self.centres()) {
            centre if centre < self.centres() => self.near(centre, number),
            _ => self.direction(random),
        }
    }

    /// A vector about a centre.
    fn near(self, centre: u64, number: u64) -> Vec<f64> {
        let centre = self.direction(SplitMix(!(centre << 20)));
        let beside = self.direction(SplitMix(number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        normalised(centre.iter().zip(beside).map(|(x, y)| x + DISTANCE * y).collect())
    }

    /// A random direction: sums of four uniform numbers are nearly normal ones.
    fn direction(self, mut random: SplitMix) -> Vec<f64> {
        let mut number = || {
            let lanes = random.next();
            let sum: u64 = (0..4).map(|lane| lanes >> (16 * lane) & 0xffff).sum();
            sum as f64 - f64::from(4 * 0x7fff + 2)
        };
        normalised((0..self.dimension).map(|_| number()).collect())
    }

    /// The records that match a vector.
    fn matches(self, vector: &[f64]) -> Vec<u64> {
        let score = |number: u64| -> f64 { self.record(number).iter().zip(vector).map(|(x, y)| x * y).sum() };
        (0..self.records).into_par_iter().filter(|&number| score(number) > THRESHOLD).collect()
    }
}

fn normalised(vector: Vec<f64>) -> Vec<f64> {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.into_iter().map(|x| x / norm).collect()
}

/// A generator of numbers without secrets (Steele, Lea, Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}
