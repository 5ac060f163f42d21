//! Messages that do not belong together.

use crate::setup::{Parties, items, labels, plain, rng, seed};
use he_psi::{
    Answer, ClientState, Error, Items, Params, Plan, PreparedSet, Query, Request, Response, Result, Server,
};
use rand::RngExt as _;

#[test]
fn messages_of_others_are_refused() {
    let mut rng = rng();
    let plan = Plan::new(30, 4).insecure_log_n(6);
    let [mut ours, mut theirs] = [(); 2].map(|()| Parties::new(plan, &mut rng));
    let other = Parties::new(plan.labels(1), &mut rng);
    let set = items(30, &mut rng);
    for parties in [&mut ours, &mut theirs] {
        parties.server.append(&set, &[[0u8; 0]; 0], &mut rng).unwrap();
    }
    let asked = Items::new(&ours.params, &set[..4], seed(&mut rng)).unwrap();
    let request = asked.request(&ours.params);
    assert!(matches!(other.server.respond(&request), Err(Error::Plan { .. })));
    let response = ours.server.respond(&request).unwrap();
    let few = Items::new(&ours.params, &set[..3], seed(&mut rng)).unwrap();
    let refused = few.placed(&ours.params, &response);
    assert!(matches!(refused, Err(Error::Shape { found: 4, expected: 3, .. })), "{refused:?}");
    assert!(matches!(asked.placed(&other.params, &response), Err(Error::Plan { .. })));

    let placed = asked.placed(&ours.params, &response).unwrap();
    let query = ours.client.query(&placed, &ours.secret, &mut rng).unwrap();
    assert!(matches!(theirs.server.answer(query), Err(Error::ServerKey { .. })));
    let query = ours.client.query(&placed, &ours.secret, &mut rng).unwrap();
    assert!(matches!(other.server.answer(query), Err(Error::Plan { .. })));
    // The answer to another client is of another key set.
    let query = ours.client.query(&placed, &ours.secret, &mut rng).unwrap();
    let answer = ours.server.answer(query).unwrap().to_bytes(&ours.params).unwrap();
    let answer = Answer::from_bytes(&theirs.params, &theirs.ring, &answer).unwrap();
    let refused = theirs.client.read(&placed, &answer);
    assert!(matches!(refused, Err(Error::Core(he_core::Error::KeyMismatch { .. }))), "{refused:?}");
}

#[test]
fn sizes_beyond_the_plan_are_refused() {
    let mut rng = rng();
    let parties = Parties::new(Plan::new(30, 4).insecure_log_n(6), &mut rng);
    let set = items(5, &mut rng);
    let refused = Items::new(&parties.params, &set, seed(&mut rng));
    assert!(matches!(refused, Err(Error::Size { found: 5, highest: 4, .. })), "{refused:?}");
    let refused = Items::new(&parties.params, &set[..0], seed(&mut rng));
    assert!(matches!(refused, Err(Error::Size { found: 0, lowest: 1, .. })), "{refused:?}");
    let refused = Items::new(&parties.params, &[vec![0; 70_000]], seed(&mut rng));
    assert!(matches!(refused, Err(Error::ItemLength { .. })), "{refused:?}");
}

/// Bytes that differ from those of a message in any place are refused, and so are shorter ones.
fn refuses<T>(bytes: &[u8], rng: &mut rand::rngs::ChaCha8Rng, read: impl Fn(&[u8]) -> Result<T>) {
    assert!(read(bytes).is_ok());
    for i in 0..80 {
        let at = if i < 40 { i } else { rng.random_range(0..bytes.len()) };
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1 << rng.random_range(0..8);
        assert!(read(&damaged).is_err(), "byte {at}");
        assert!(read(&bytes[..at]).is_err(), "{at} bytes");
    }
    assert!(read(&[bytes, &[0]].concat()).is_err());
    // The same with a checksum that is right: no panic, no memory beyond that of the bytes.
    for _ in 0..200 {
        let mut forged = bytes[..bytes.len() - 16].to_vec();
        let from = rng.random_range(8..forged.len().min(120));
        forged[from] = rng.random();
        forged.truncate(rng.random_range(8..=forged.len()));
        forged.extend(&blake3::hash(&forged).as_bytes()[..16].to_vec());
        let _ = read(&forged);
    }
}

#[test]
fn messages_are_read_back_and_damage_is_refused() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(30, 4).labels(3).insecure_log_n(6), &mut rng);
    let (set, all) = (items(30, &mut rng), labels(30, 3, &mut rng));
    parties.server.append(&set, &all, &mut rng).unwrap();
    let (params, ring) = (&parties.params, &parties.ring);
    let asked = Items::new(params, &set[..4], seed(&mut rng)).unwrap();

    let request = asked.request(params).to_bytes();
    refuses(&request, &mut rng, |bytes| Request::from_bytes(params, bytes));
    let response = parties.server.respond(&Request::from_bytes(params, &request).unwrap()).unwrap();
    let response = response.to_bytes();
    refuses(&response, &mut rng, |bytes| Response::from_bytes(params, bytes));
    let placed = asked.placed(params, &Response::from_bytes(params, &response).unwrap()).unwrap();
    let query = parties.client.query(&placed, &parties.secret, &mut rng).unwrap().to_bytes(params).unwrap();
    refuses(&query, &mut rng, |bytes| Query::from_bytes(params, ring, bytes));

    let kept = parties.server.prepared_bytes();
    refuses(&kept, &mut rng, |bytes| PreparedSet::from_bytes(params, ring, bytes));
    // The server goes through bytes, too.
    let stored = parties.server.to_bytes();
    let again = |bytes: &[u8]| Server::from_bytes(params, ring, bytes, &mut he_core::rand::rng());
    let server = again(&stored).unwrap();
    for at in [0, 7, 8, 30, 60, 70, stored.len() - 1] {
        let mut damaged = stored.to_vec();
        damaged[at] ^= 1;
        assert!(again(&damaged).is_err() && again(&stored[..at]).is_err(), "byte {at}");
    }
    let answer = server.answer(Query::from_bytes(params, ring, &query).unwrap()).unwrap();
    let answer = answer.to_bytes(params).unwrap();
    refuses(&answer, &mut rng, |bytes| Answer::from_bytes(params, ring, bytes));
    let answer = Answer::from_bytes(params, ring, &answer).unwrap();
    assert_eq!(parties.client.read(&placed, &answer).unwrap(), plain(&set, &all, &set[..4]));
    assert!(within_facts(params, [&request, &query]));
}

/// Whether messages are as long as predicted, but for headers.
fn within_facts(params: &Params, [request, query]: [&Vec<u8>; 2]) -> bool {
    let facts = params.facts();
    let near = |found: usize, expected: u64| (expected..expected + 1000).contains(&(found as u64));
    near(request.len(), facts.round_bytes) && near(query.len(), facts.query_bytes + facts.key_bytes)
}

#[test]
fn damaged_plans_and_states_are_refused() {
    let mut rng = rng();
    let secure = Plan::new(50, 3).labels(4).params().unwrap();
    refuses(&secure.to_bytes(), &mut rng, Params::from_bytes);
    let params = Plan::new(50, 3).insecure_log_n(6).params().unwrap();
    let insecure = Params::from_bytes(&params.to_bytes());
    assert!(matches!(insecure, Err(Error::Plan { .. })), "{insecure:?}");
    let state = ClientState::new(&params, &items(3, &mut rng), &mut rng).unwrap();
    refuses(&state.to_bytes(&params), &mut rng, |bytes| ClientState::from_bytes(&params, bytes));
    let other = ClientState::from_bytes(&secure, &state.to_bytes(&params));
    assert!(matches!(other, Err(Error::Plan { .. })), "{other:?}");
    let many = ClientState::new(&params, &items(4, &mut rng), &mut rng);
    assert!(matches!(many, Err(Error::Size { found: 4, highest: 3, .. })), "{many:?}");
}
