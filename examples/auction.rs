//! A sealed-bid auction with TFHE finds the highest bid and who made it, exactly, without opening
//! any other bid. `cargo run --release --example auction`

use he::backend::Cpu;
use he::num_bigint::BigUint;
use he::rand;
use he::tfhe::{
    BootstrapKey, Carry, CompactPublicKey, EncryptedFlags, EncryptedUint, IntegerEvaluator, TfheSecretKey,
    presets,
};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bids = [120u32, 87, 214, 153];
    const BITS: usize = 8;

    // A notary holds the secret key, and bidders have the public one. Results are wrong with a
    // probability of less than 2^-40 per lookup; with `digits_2m128` it is below 2^-128.
    let (cpu, mut rng) = (Cpu::new(), rand::rng());
    let secret = TfheSecretKey::generate(&presets::digits_2m40()?, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let public = CompactPublicKey::generate(&secret, &mut rng);
    let sent = bids.iter().map(|&bid| public.encrypt_uint(&[BigUint::from(bid)], BITS, &mut rng));
    let sent: Vec<_> = sent.collect::<Result<_, _>>()?;

    // The auctioneer, who has only the bootstrapping key, computes the maximum and then who bid it.
    let ev = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    let encrypted: Vec<EncryptedUint> = sent.iter().map(|bid| bid.expand(&cpu)).collect::<Result<_, _>>()?;
    let mut highest = encrypted[0].clone();
    for bid in &encrypted[1..] {
        highest = ev.max(&highest, bid)?;
    }
    let wins = encrypted.iter().map(|bid| ev.eq(bid, &highest));
    let wins: Vec<EncryptedFlags> = wins.collect::<Result<_, _>>()?;

    // The notary opens the result and nothing else.
    let price = secret.decrypt_uint(&highest)?.remove(0);
    let wins = wins.iter().map(|flag| Ok(secret.decrypt_flags(flag)?[0]));
    let wins: Vec<bool> = wins.collect::<he::Result<_>>()?;
    println!("sold for {price}; winners: {wins:?}");
    assert_eq!(price, BigUint::from(214u32));
    assert_eq!(wins, [false, false, true, false]);
    Ok(())
}
