//! Items that come and go.

use crate::setup::{Parties, items, labels, plain, rng, seed};
use he_psi::{Error, Items, Plan, PreparedSet, Query};

#[test]
fn items_are_added_and_removed() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(200, 6).labels(2).insecure_log_n(6), &mut rng);
    let (set, all) = (items(200, &mut rng), labels(200, 2, &mut rng));
    parties.server.append(&set[..150], &all[..150], &mut rng).unwrap();
    let asked = [0, 60, 149, 150, 199].map(|i| set[i].clone());
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), plain(&set[..150], &all, &asked));
    parties.server.append(&set[150..], &all[150..], &mut rng).unwrap();
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), plain(&set, &all, &asked));
    parties.server.remove(&set[..100], &mut rng).unwrap();
    assert_eq!(parties.server.len(), 100);
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), plain(&set[100..], &all[100..], &asked));
    // An item can come back with another label.
    parties.server.append(&set[..1], &all[1..2], &mut rng).unwrap();
    let found = parties.intersect(&asked[..1], &mut rng).unwrap();
    assert_eq!(found[0].label, all[1]);
}

/// A prepared set answers with the same bytes as the set that it was made of; one of another set
/// is refused by the name of its key.
#[test]
fn prepared_sets_answer_as_their_sets() {
    let mut rng = rng();
    let plan = Plan::new(200, 6).labels(2).insecure_log_n(6);
    let [mut parties, other] = [(); 2].map(|()| Parties::new(plan, &mut rng));
    let (set, all) = (items(200, &mut rng), labels(200, 2, &mut rng));
    parties.server.append(&set, &all, &mut rng).unwrap();
    parties.server.remove(&set[..20], &mut rng).unwrap();
    let (params, ring) = (&parties.params, &parties.ring);
    let kept = parties.server.prepared_bytes();
    let prepared = PreparedSet::from_bytes(params, ring, &kept).unwrap();
    let asked = Items::new(params, &set[17..23], seed(&mut rng)).unwrap();
    let placed = asked.placed(params, &parties.server.respond(&asked.request(params)).unwrap()).unwrap();
    let query = parties.client.query(&placed, &parties.secret, &mut rng).unwrap().to_bytes(params).unwrap();
    let query = || Query::from_bytes(params, ring, &query).unwrap();
    let answer = prepared.answer(query()).unwrap();
    let expected = parties.server.answer(query()).unwrap();
    assert_eq!(answer.to_bytes(params).unwrap(), expected.to_bytes(params).unwrap());
    let found = parties.client.read(&placed, &answer).unwrap();
    assert_eq!(found, plain(&set[20..], &all[20..], &set[17..23]));
    let foreign = PreparedSet::from_bytes(params, ring, &other.server.prepared_bytes()).unwrap();
    assert!(matches!(foreign.answer(query()), Err(Error::ServerKey { .. })));
}

#[test]
fn updates_that_are_refused_change_nothing() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(10, 4).labels(2).insecure_log_n(6), &mut rng);
    let (set, all) = (items(12, &mut rng), labels(12, 2, &mut rng));
    parties.server.append(&set[..8], &all[..8], &mut rng).unwrap();
    let server = &mut parties.server;
    let refused = server.append(&set[8..], &all[8..], &mut rng);
    assert!(matches!(refused, Err(Error::Size { found: 12, highest: 10, .. })), "{refused:?}");
    let refused = server.append(&[&set[9], &set[3]], &[&all[9], &all[9]], &mut rng);
    assert!(matches!(refused, Err(Error::LabelConflict { item: 1 })), "{refused:?}");
    let refused = server.append(&[&set[9], &set[9]], &[&all[9], &all[8]], &mut rng);
    assert!(matches!(refused, Err(Error::LabelConflict { item: 1 })), "{refused:?}");
    let refused = server.append(&set[8..10], &all[8..9], &mut rng);
    assert!(matches!(refused, Err(Error::Labels { found: 1, expected: 2 })), "{refused:?}");
    let refused = server.append(&set[8..9], &[b"abc"], &mut rng);
    assert!(matches!(refused, Err(Error::LabelLength { item: 0, found: 3, expected: 2 })), "{refused:?}");
    let refused = server.append(&[vec![0; 65536]], &all[..1], &mut rng);
    assert!(matches!(refused, Err(Error::ItemLength { item: 0, found: 65536, limit: 65535 })), "{refused:?}");
    let refused = server.remove(&[&set[1], &set[8]], &mut rng);
    assert!(matches!(refused, Err(Error::NoItem { item: 1 })), "{refused:?}");
    assert_eq!(server.len(), 8);
    let asked = [1, 3, 8, 9].map(|i| set[i].clone());
    let expected = plain(&set[..8], &all, &asked);
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), expected);
}
