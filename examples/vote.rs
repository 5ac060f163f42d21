//! Ballots are added while they are encrypted, and only the counts are decrypted.
//! `cargo run --release --example vote`

use he::{backend::Cpu, bfv::*, rand, ring::Ring, rlwe::*};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    const CANDIDATES: usize = 3;
    let votes: Vec<usize> = (0..40).map(|voter| voter * voter % 7 % CANDIDATES).collect();

    // The electoral board. t = 65537 bounds the counts; sums need no multiplication, so a depth of
    // 0 is enough.
    let mut rng = rand::rng();
    let params = BfvParams::for_depth(65537, 0).slots().build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;

    // Each voter encrypts a one in the candidate's slot. Nothing here proves that a ballot holds a
    // single one: voters are trusted to follow the rules, or prove it by other means.
    let encryptor = BfvEncryptor::new(&params, &public)?;
    let ballots = votes.iter().map(|&vote| {
        let mut ballot = [0u64; CANDIDATES];
        ballot[vote] = 1;
        encryptor.encrypt_slots(&ballot, &mut rng)
    });
    let ballots: Vec<BfvCiphertext> = ballots.collect::<Result<_, _>>()?;

    // The counting office, which learns nothing. It needs no keys at all.
    let ev = BfvEvaluator::new(&params, &ring)?;
    let mut sum = ballots[0].clone();
    for ballot in &ballots[1..] {
        ev.add_assign(&mut sum, ballot)?;
    }

    // The board decrypts the sum, never a ballot.
    let counts: Vec<u64> = BfvDecryptor::new(&params, &secret, &ring)?.decrypt_slots(&sum)?;
    println!("{} ballots: {:?}", votes.len(), &counts[..CANDIDATES]);
    for candidate in 0..CANDIDATES {
        let expected = votes.iter().filter(|&&vote| vote == candidate).count();
        assert_eq!(counts[candidate], expected as u64);
    }
    Ok(())
}
