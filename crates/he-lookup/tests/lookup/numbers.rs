//! Records by their numbers.

use crate::setup::{ask, client, database, records, ring, rng};
use he_core::rand::RngExt;
use he_lookup::{Answer, Database, Pack, Passage, Plan, Query, Server};

/// Shapes of one shelf and of many, of records that lie in one pack and in several, and of the
/// least sizes.
#[test]
fn every_shape_returns_its_records() {
    let mut rng = rng();
    for (count, bytes) in [(300, 3), (70, 100), (1, 1), (64, 64), (5, 300)] {
        let plan = Plan::index(count, bytes).insecure_log_n(6);
        let (ring, records, database) = database(plan, &mut rng);
        let client = client(database.description(), &ring, &mut rng);
        for record in [0, count - 1, rng.random_range(0..count)] {
            let answer = ask(&client, &database, &ring, record, &mut rng);
            assert_eq!(client.read(&answer, record).unwrap(), records[record as usize], "{count} x {bytes}");
        }
    }
}

#[test]
fn queries_of_many_clients_share_a_scan() {
    let mut rng = rng();
    let (ring, records, database) = database(Plan::index(200, 5).insecure_log_n(6), &mut rng);
    let description = database.description();
    let clients = [(); 5].map(|()| client(description, &ring, &mut rng));
    let numbers = [(); 5].map(|()| rng.random_range(0..200));
    let asked = clients.iter().zip(numbers);
    let queries: Vec<Query> = asked.map(|(client, number)| client.query(number, &mut rng).unwrap()).collect();
    let together = Server::new(description, &ring, database.packs(), 6).unwrap().answer(&queries).unwrap();
    let alone = Server::new(description, &ring, database.packs(), 1).unwrap();
    for ((client, number), (query, answer)) in clients.iter().zip(numbers).zip(queries.iter().zip(&together))
    {
        assert_eq!(client.read(answer, number).unwrap(), records[number as usize]);
        assert_eq!(&alone.answer(std::slice::from_ref(query)).unwrap()[0], answer);
    }
    let mut passage = Passage::new(description, &ring, &queries).unwrap();
    database.packs().iter().for_each(|pack| passage.add(pack).unwrap());
    assert_eq!(passage.finish().unwrap(), together);
}

/// A database that grew and changed has the same packs as one that was prepared so.
#[test]
fn changes_prepare_only_what_they_touch() {
    let mut rng = rng();
    let plan = Plan::index(2000, 40).insecure_log_n(6);
    let ring = ring(&plan);
    let mut records = records(2000, 40, &mut rng);
    let seed = rng.random();
    let mut grown = Database::of_records(&plan, seed, &records[..10], &ring).unwrap();
    let packs = grown.packs().len();
    assert!(packs > 3, "{packs}");
    assert!(grown.append(&records[10..12], &ring).unwrap().len() <= 2);
    grown.append(&records[12..], &ring).unwrap();
    records[333] = vec![7; 40];
    let changed = grown.update(&[(333, &records[333])], &ring).unwrap();
    assert!((1..=2).contains(&changed.len()), "{changed:?}");
    let fresh = Database::of_records(&plan, seed, &records, &ring).unwrap();
    assert_eq!(grown.packs(), fresh.packs());
    assert_eq!(grown.description().digest(), fresh.description().digest());
    assert_eq!((grown.description().version(), fresh.description().version()), (4, 1));
    let client = client(grown.description(), &ring, &mut rng);
    let answer = ask(&client, &grown, &ring, 333, &mut rng);
    assert_eq!(client.read(&answer, 333).unwrap(), records[333]);
}

#[test]
fn objects_survive_their_bytes() {
    let mut rng = rng();
    let (ring, records, database) = database(Plan::index(100, 9).insecure_log_n(6), &mut rng);
    let description = database.description();
    let params = description.params();
    assert_eq!(database.packs()[0].to_bytes(description).len() as u64, Pack::bytes(params));
    let packs = database
        .packs()
        .iter()
        .enumerate()
        .map(|(i, pack)| Pack::from_bytes(description, i, &pack.to_bytes(description)).unwrap());
    assert_eq!(Database::from_packs(description.clone(), packs.collect()).unwrap(), database);
    let client = client(description, &ring, &mut rng);
    let query = client.query(42, &mut rng).unwrap();
    let sent = query.to_bytes(params);
    assert_eq!(Query::from_bytes(description, &sent).unwrap(), query);
    let server = Server::new(description, &ring, database.packs(), 1).unwrap();
    let answer = server.answer(&[query]).unwrap().remove(0);
    let returned = answer.to_bytes(params);
    let facts = he_lookup::Facts::of(params);
    assert_eq!((sent.len() as u64, returned.len() as u64), (facts.query_bytes, facts.answer_bytes));
    let answer = Answer::from_bytes(description, &returned).unwrap();
    assert_eq!(client.read(&answer, 42).unwrap(), records[42]);
}

/// The parameters of 128-bit security, once.
#[test]
fn secure_parameters_return_a_record() {
    let mut rng = rng();
    let plan = Plan::index(4000, 256);
    let (ring, records, database) = database(plan, &mut rng);
    let client = client(database.description(), &ring, &mut rng);
    let answer = ask(&client, &database, &ring, 3999, &mut rng);
    assert_eq!(client.read(&answer, 3999).unwrap(), records[3999]);
}
