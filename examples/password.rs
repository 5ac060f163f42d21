//! Two thousand leaked passwords, and one that nobody sees: whoever has the list says how often the
//! password was leaked, and learns neither the password nor the number.
//! `cargo run --release --example password`

use he::{backend::Cpu, rand, ring::Ring};
use he_lookup::{Client, ClientKey, Database, Facts, Plan, Server};

/// Passwords, and how often each was leaked.
fn leaked() -> Vec<(String, [u8; 4])> {
    let words = ["dragon", "monkey", "shadow", "summer", "winter", "master", "hunter", "flower"];
    let all = words.iter().flat_map(|word| (0..250u32).map(move |year| (word, year)));
    all.map(|(word, year)| (format!("{word}{year}"), (year * year + 1).to_le_bytes())).collect()
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server prepares its list once, and publishes the description.
    let list = leaked();
    let plan = Plan::keyword(list.len() as u64, 4);
    let ring = Ring::new(Cpu::new(), plan.params()?.rlwe().ring().clone())?;
    let mut rng = rand::rng();
    let database = Database::of_entries(&plan, rand::random(), &list, &ring)?;
    println!("{}", Facts::of(database.description().params()));

    // The client asks about two passwords.
    let client = Client::new(database.description(), ClientKey::generate(&mut rng), &ring)?;
    let asked = ["hunter2", "correct horse battery staple"];
    let queries =
        [client.query_key(asked[0].as_bytes(), &mut rng)?, client.query_key(asked[1].as_bytes(), &mut rng)?];

    // The server answers both in one scan.
    let answers = Server::new(database.description(), &ring, database.packs(), 2)?.answer(&queries)?;

    let found = client.read_key(&answers[0], asked[0].as_bytes())?;
    let absent = client.read_key(&answers[1], asked[1].as_bytes())?;
    println!("{}: {found:?}; {}: {absent:?}", asked[0], asked[1]);
    assert_eq!(found, Some(5u32.to_le_bytes().to_vec()));
    assert_eq!(absent, None);
    Ok(())
}
