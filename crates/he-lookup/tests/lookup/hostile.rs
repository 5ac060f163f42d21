//! Refusals: objects that do not belong together, and bytes that somebody changed.

use crate::setup::{ask, client, database, ring, rng};
use he_core::rand::RngExt;
use he_lookup::{Answer, ClientKey, Database, Description, Error, Pack, Passage, Plan, Query, Server};

fn plan() -> Plan {
    Plan::index(150, 4).insecure_log_n(5)
}

#[test]
fn objects_of_other_databases_are_refused() {
    let mut rng = rng();
    let (ring, records, mut here) = database(plan(), &mut rng);
    let own = client(here.description(), &ring, &mut rng);
    let old = own.query(3, &mut rng).unwrap();
    let sent = old.to_bytes(here.description().params());
    let answer = ask(&own, &here, &ring, 3, &mut rng);
    let foreign = client(here.description(), &ring, &mut rng);
    assert!(matches!(foreign.read(&answer, 3).unwrap_err(), Error::ForeignAnswer));
    assert!(matches!(own.read(&answer, 4).unwrap_err(), Error::ForeignAnswer));
    assert_eq!(own.read(&answer, 3).unwrap(), records[3]);

    here.update(&[(5, [0; 4])], &ring).unwrap();
    let server = Server::new(here.description(), &ring, here.packs(), 1).unwrap();
    let is_other = |error: Error| matches!(error, Error::OtherDatabase { .. });
    assert!(is_other(server.answer(std::slice::from_ref(&old)).unwrap_err()));
    assert!(is_other(Query::from_bytes(here.description(), &sent).unwrap_err()));
    assert!(is_other(Passage::new(here.description(), &ring, &[old]).unwrap_err()));
    let newer = client(here.description(), &ring, &mut rng);
    assert!(is_other(newer.read(&answer, 3).unwrap_err()));

    let other = self::ring(&plan().insecure_log_n(6));
    assert!(matches!(
        Server::new(here.description(), &other, here.packs(), 1).unwrap_err(),
        Error::Core(he_core::Error::RingMismatch)
    ));
    assert!(matches!(own.query(150, &mut rng).unwrap_err(), Error::NoRecord { found: 150, records: 150 }));
    assert!(matches!(own.query_key(b"x", &mut rng).unwrap_err(), Error::Way { .. }));
    let two = [own.query(1, &mut rng).unwrap(), own.query(2, &mut rng).unwrap()];
    assert!(matches!(server.answer(&two).unwrap_err(), Error::Queries { found: 2, most: 1 }));
    assert!(matches!(server.answer(&[]).unwrap_err(), Error::Queries { found: 0, most: 1 }));
}

#[test]
fn changes_that_do_not_fit_change_nothing() {
    let mut rng = rng();
    let (ring, _, mut here) = database(plan(), &mut rng);
    let before = here.clone();
    assert!(matches!(here.append(&[[0; 4]], &ring).unwrap_err(), Error::Full { found: 151, planned: 150 }));
    assert!(matches!(here.update(&[(150, [0; 4])], &ring).unwrap_err(), Error::NoRecord { .. }));
    let long = here.update(&[(1, vec![0; 4]), (2, vec![0; 5])], &ring).unwrap_err();
    assert!(matches!(long, Error::RecordBytes { record: 2, found: 5, expected: 4 }), "{long}");
    assert_eq!(here, before);
}

/// A server cannot talk clients into parameters that hide nothing.
#[test]
fn insecure_descriptions_are_refused() {
    let of = |plan: &Plan| Description::new(plan, [1; 32]).unwrap();
    let weak = Description::from_bytes(&of(&plan()).to_bytes()).unwrap_err();
    assert!(matches!(weak, Error::Insecure { log_n: 5 }), "{weak}");
    let secure = of(&Plan::index(150, 4));
    assert_eq!(Description::from_bytes(&secure.to_bytes()).unwrap(), secure);
}

/// Every byte that is changed, and every end that is cut off, is one error and never a panic.
#[test]
fn damaged_bytes_are_refused() {
    let mut rng = rng();
    let (ring, _, here) = database(plan(), &mut rng);
    let description = here.description();
    let own = client(description, &ring, &mut rng);
    let query = own.query(3, &mut rng).unwrap();
    let answer = ask(&own, &here, &ring, 3, &mut rng);
    let key = ClientKey::generate(&mut rng).expose_bytes().to_vec();
    type Read<'a> = Box<dyn Fn(&[u8]) -> Result<(), Error> + 'a>;
    let objects: [(Vec<u8>, Read<'_>); 5] = [
        (description.to_bytes(), Box::new(|bytes| Description::from_bytes_insecure(bytes).map(|_| ()))),
        (
            query.to_bytes(description.params()),
            Box::new(|bytes| Query::from_bytes(description, bytes).map(|_| ())),
        ),
        (
            answer.to_bytes(description.params()),
            Box::new(|bytes| Answer::from_bytes(description, bytes).map(|_| ())),
        ),
        (
            here.packs()[0].to_bytes(description),
            Box::new(|bytes| Pack::from_bytes(description, 0, bytes).map(|_| ())),
        ),
        (key, Box::new(|bytes| ClientKey::from_bytes(bytes).map(|_| ()))),
    ];
    for (bytes, read) in &objects {
        read(bytes).unwrap();
        for _ in 0..40 {
            let mut changed = bytes.clone();
            let at = rng.random_range(0..bytes.len());
            changed[at] ^= 1 << rng.random_range(0..8);
            assert!(matches!(read(&changed).unwrap_err(), Error::Damaged { .. }), "byte {at}");
            assert!(matches!(read(&bytes[..at]).unwrap_err(), Error::Damaged { .. }), "{at} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(read(&longer).unwrap_err(), Error::Damaged { .. }));
        for (others, _) in &objects {
            assert!(others == bytes || read(others).is_err());
        }
    }
    assert_eq!(Query::database_of(&objects[1].0).unwrap(), description.identity());
    assert!(Query::database_of(&objects[4].0).is_err(), "a key is not sent as a query");
    assert!(Pack::from_bytes(description, 1, &objects[3].0).is_err());
    let (first, rest) = here.packs().split_first().unwrap();
    assert!(Database::from_packs(description.clone(), rest.to_vec()).is_err());
    let swapped = [rest, std::slice::from_ref(first)].concat();
    assert!(rest.is_empty() || Database::from_packs(description.clone(), swapped).is_err());
}
