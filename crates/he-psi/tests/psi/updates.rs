//! Items that come and go.

use crate::setup::{Parties, items, labels, plain, rng};
use he_psi::{Error, Plan};

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
