//! Private look-ups: what a device prepares and answers are the words of the CPU.

use super::cuda::{emulated, gpu_or_skip};
use he::Device;
use he::ring::Ring;
use he_lookup::{Client, ClientKey, Database, Plan, Server};
use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::ChaCha20Rng};

fn agrees_with_cpu(device: Device, plan: Plan, counts: &[usize]) {
    let seed: u64 = he::rand::random();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let spec = plan.params().unwrap().rlwe().ring().clone();
    let [here, there] = [Device::cpu(), device].map(|device| Ring::new(device, spec.clone()).unwrap());
    let mut records = vec![vec![0; plan.record_bytes]; plan.records as usize];
    records.iter_mut().for_each(|record| rng.fill_bytes(record));
    let seed = rng.random();
    let database = Database::of_records(&plan, seed, &records, &there).unwrap();
    assert!(database == Database::of_records(&plan, seed, &records, &here).unwrap(), "preparation");
    let description = database.description();
    let client = Client::new(description, ClientKey::generate(&mut rng), &here).unwrap();
    for &count in counts {
        let numbers: Vec<u64> = (0..count).map(|_| rng.random_range(0..plan.records)).collect();
        let queries: Vec<_> = numbers.iter().map(|&number| client.query(number, &mut rng).unwrap()).collect();
        let server = |ring| Server::new(description, ring, database.packs(), count).unwrap();
        let answers = server(&there).answer(&queries).unwrap();
        assert!(answers == server(&here).answer(&queries).unwrap(), "{count} queries");
        for (answer, number) in answers.iter().zip(numbers) {
            assert_eq!(client.read(answer, number).unwrap(), records[number as usize]);
        }
    }
}

#[test]
fn an_emulated_device_answers_as_the_cpu() {
    agrees_with_cpu(emulated(), Plan::index(40, 20).insecure_log_n(4), &[1, 3]);
}

#[test]
fn a_gpu_answers_as_the_cpu() {
    let Some(device) = gpu_or_skip() else { return };
    agrees_with_cpu(device, Plan::index(4000, 256), &[1, 16, 64]);
}
