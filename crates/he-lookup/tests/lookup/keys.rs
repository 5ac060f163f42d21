//! Values by their keys, and keys that are absent.

use crate::setup::{client, ring, rng};
use he_core::rand::RngExt;
use he_lookup::{Database, Error, Plan, Server};
use std::collections::HashMap;

#[test]
fn keys_have_their_values_and_others_none() {
    let mut rng = rng();
    let plan = Plan::keyword(400, 6).insecure_log_n(6);
    let ring = ring(&plan);
    let entries: HashMap<Vec<u8>, [u8; 6]> =
        (0..400u32).map(|i| (format!("key {i}").into_bytes(), rng.random())).collect();
    let list: Vec<_> = entries.iter().collect();
    let database = Database::of_entries(&plan, rng.random(), &list, &ring).unwrap();
    assert!(database.description().params().shelves() > 1);
    let client = client(database.description(), &ring, &mut rng);
    let present = (0..400u32).step_by(13).map(|i| format!("key {i}").into_bytes());
    let absent = (0..30u32).map(|i| format!("no key {i}").into_bytes());
    let keys: Vec<Vec<u8>> = present.chain(absent).chain([vec![]]).collect();
    let server = Server::new(database.description(), &ring, database.packs(), keys.len()).unwrap();
    let queries: Vec<_> = keys.iter().map(|key| client.query_key(key, &mut rng).unwrap()).collect();
    for (key, answer) in keys.iter().zip(server.answer(&queries).unwrap()) {
        let found = client.read_key(&answer, key).unwrap();
        assert_eq!(found.as_deref(), entries.get(key).map(|value| &value[..]), "{key:?}");
    }
}

#[test]
fn lists_that_are_no_maps_are_refused() {
    let plan = Plan::keyword(10, 2).insecure_log_n(6);
    let ring = ring(&plan);
    let of = |entries: &[(&str, &[u8])]| Database::of_entries(&plan, [0; 32], entries, &ring);
    let twice = of(&[("a", b"xy"), ("b", b"xy"), ("a", b"zz")]).unwrap_err();
    assert!(matches!(twice, Error::SameKey { first: 0, second: 2 }), "{twice}");
    let long = of(&[("a", b"xyz")]).unwrap_err();
    assert!(matches!(long, Error::RecordBytes { record: 0, found: 3, expected: 2 }), "{long}");
    let names: Vec<String> = (0..11).map(|i| i.to_string()).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (&name[..], &b"xy"[..])).collect();
    assert!(matches!(of(&many).unwrap_err(), Error::Full { found: 11, planned: 10 }));
    assert!(of(&many[..10]).is_ok() && of(&[]).is_ok());
}
