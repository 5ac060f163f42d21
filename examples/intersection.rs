//! An address book and a service: which contacts use the service, and what are their keys? The
//! service sees none of them, and the person with the address book no other users.
//! `cargo run --release --example intersection`

use he::{backend::Cpu, rand, rand::RngExt as _, ring::Ring, rlwe::SecretKey};
use he_psi::{Answer, Client, Items, Plan, Query, Request, Response, Server, ServerKey};

/// The number of a user.
fn number(i: u32) -> String {
    format!("+1 555 {:07}", i.wrapping_mul(2_654_435_761) % 10_000_000)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = Plan::new(2000, 20).labels(16);
    let params = plan.params()?;
    println!("{}", params.facts());
    let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone())?;
    let mut rng = rand::rng();

    // The service: users with their keys, prepared once.
    let users: Vec<String> = (0..2000).map(number).collect();
    let keys: Vec<[u8; 16]> = (0..2000u128).map(|i| (i * i).to_le_bytes()).collect();
    let mut server = Server::new(&params, ServerKey::generate(&mut rng), &ring)?;
    server.append(&users, &keys, &mut rng)?;

    // The person: twelve contacts, of which four use the service. Only bytes leave either party.
    let contacts: Vec<String> = (1996..2008).map(number).collect();
    let secret = SecretKey::generate(params.bfv().rlwe(), &mut rng);
    let client = Client::new(&params, &secret, &ring)?;
    let items = Items::new(&params, &contacts, rng.random())?;
    let request = items.request(&params).to_bytes();

    let response = server.respond(&Request::from_bytes(&params, &request)?)?.to_bytes();

    let placed = items.placed(&params, &Response::from_bytes(&params, &response)?)?;
    let query = client.query(&placed, &secret, &mut rng)?.to_bytes(&params)?;
    println!("query of {} KB", query.len() / 1000);

    let answer = server.answer(Query::from_bytes(&params, &ring, &query)?)?.to_bytes(&params)?;
    println!("answer of {} KB", answer.len() / 1000);

    let matches = client.read(&placed, &Answer::from_bytes(&params, &ring, &answer)?)?;
    for found in &matches {
        println!("{} has key {:02x?}", contacts[found.item], &found.label[..4]);
    }
    let expected: Vec<usize> = (0..contacts.len()).filter(|&i| users.contains(&contacts[i])).collect();
    assert_eq!(matches.iter().map(|found| found.item).collect::<Vec<_>>(), expected);
    assert!(matches.iter().all(|found| found.label == keys[1996 + found.item]));
    Ok(())
}
