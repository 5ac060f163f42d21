//! A private look-up: a server finds an entry of its table without learning which one was
//! requested. `cargo run --release --example lookup`

use he::{backend::Cpu, bgv::*, rand, ring::Ring, rlwe::*};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server has a price in cents for each article.
    let prices: Vec<u64> = (0..1000).map(|article| 99 + article * 37 % 5000).collect();
    let wanted = 423;

    // The client chooses parameters for one multiplication by plain numbers. Sums over all slots
    // take rotations by powers of two, and the key that exchanges the two rows of slots.
    let mut rng = rand::rng();
    let params = BgvParams::for_depth(65537, 1).slots().build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let steps = (0..ring.spec().log_n() - 1).map(|log| 1 << log);
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations(steps).conjugation(),
        &mut rng,
    )?;
    let mut selection = vec![0u64; prices.len()];
    selection[wanted] = 1;
    // The holder of the secret key encrypts with it, which takes half the bytes of an encryption
    // with the public key.
    let query = BgvSecretEncryptor::new(&params, &secret, &ring)?.encrypt_slots(&selection, &mut rng)?;

    // The server computes the inner product of the query and the table, which leaves the price in
    // every slot.
    let ev = BgvEvaluator::new(&params, &ring)?;
    let chosen = ev.mul_plain(&query.expand()?, &ev.encoder().encode(&prices)?)?;
    let answer = ev.sum_all(&chosen, &keys)?;

    let price = BgvDecryptor::new(&params, &secret, &ring)?.decrypt_slots::<u64>(&answer)?[0];
    println!(
        "article {wanted} costs {price}; {:.0} bits of noise budget left",
        answer.predicted_budget(&params)
    );
    assert_eq!(price, prices[wanted]);
    Ok(())
}
