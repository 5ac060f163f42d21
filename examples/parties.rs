//! Three hospitals compute the mean of a column over all their tables; none of them can decrypt
//! alone, and nobody ever has the key: `cargo run --release --example parties`.
//!
//! Each number of this program that says bytes is what one party sends, or receives from whoever
//! adds the shares up.

use he::backend::Cpu;
use he::ckks::{CkksParams, Encoder, Encryptor, Evaluator};
use he::mhe::{
    Aggregate, Decryption, Digest, GaloisKeyGeneration, PartyKey, Protocol, PublicKeyGeneration, Refresh,
    RelinearisationRound1, RelinearisationRound2, Session, Share, Statement, Transcript,
};
use he::rand::RngExt;
use he::ring::{Ring, galois_rotation};
use he::rlwe::EvaluationKeys;
use he::wire::{Frame, Wire};
use he::{Publisher, Result};
use std::time::Instant;

const PARTIES: [u32; 3] = [1, 2, 3];
/// Bits of statistical security, and the decryptions that share them.
const SECURITY: u32 = 40;
const DECRYPTIONS: u64 = 1024;

/// One run of a protocol: every party's share as it travels, and their sum.
fn run<P: Protocol<Backend = Cpu>>(
    params: &CkksParams,
    protocol: &P,
    keys: &[PartyKey],
    mut share: impl FnMut(&PartyKey) -> Result<Share<P::Kind>>,
) -> Result<(P::Output, u64)> {
    let (mut all, mut bytes) = (Aggregate::new(protocol), 0);
    for key in keys {
        let frame = share(key)?.to_frame(params)?;
        bytes = Frame::size(frame.body.len() as u64);
        all.add(&Share::from_frame(params, protocol.ring(), &frame)?)?;
    }
    Ok((all.finish()?, bytes))
}

/// Runs the example.
pub fn main() -> Result<()> {
    let mut rng = he::rand::rng();
    // With a level for a product, which a mean does not take.
    let params = CkksParams::for_depth(1).precision_bits(20).published(SECURITY, DECRYPTIONS).log_n(14);
    let params = params.build()?.for_parties(PARTIES.len());
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let log_n = ring.spec().log_n();
    println!("N = 2^{log_n}, log2(QP) = {:.0}", ring.spec().log_qp());

    let start = Instant::now();
    let session = Session::new(params.rlwe(), PARTIES, PARTIES.len(), rng.random())?;
    let keys: Vec<PartyKey> =
        PARTIES.iter().map(|&party| PartyKey::generate(&session, party, &mut rng)).collect::<Result<_>>()?;
    let generation = PublicKeyGeneration::new(&session, &ring)?;
    let (public, bytes) = run(&params, &generation, &keys, |key| generation.share(key, &mut rng))?;
    println!("public key: {bytes} bytes per party");

    let mut evaluation = EvaluationKeys::empty(params.rlwe(), &ring)?;
    let first = RelinearisationRound1::new(&session, &ring)?;
    let mut kept = Vec::new();
    let (sums, bytes) = run(&params, &first, &keys, |key| {
        let (share, ephemeral) = first.share(key, &mut rng)?;
        kept.push(ephemeral);
        Ok(share)
    })?;
    let second = RelinearisationRound2::new(&session, &ring, &sums)?;
    let mut kept = kept.into_iter();
    let (relin, more) = run(&params, &second, &keys, |key| {
        // Each party has kept one.
        second.share(key, kept.next().expect("a secret of the first round"), &mut rng)
    })?;
    println!("relinearisation key: {bytes} and {more} bytes per party");
    evaluation.insert_relin(relin)?;
    let mut each = 0;
    for k in 0..log_n - 1 {
        let g = galois_rotation(1 << k, log_n);
        let generation = GaloisKeyGeneration::new(&session, &ring, g)?;
        let (key, bytes) = run(&params, &generation, &keys, |key| generation.share(key, &mut rng))?;
        evaluation.insert_galois(g, key)?;
        each = bytes;
    }
    println!("Galois keys: {} of {each} bytes per party", log_n - 1);
    let made = start.elapsed();

    // Every hospital encrypts a column; anybody adds them up and divides by the number of rows.
    let columns: Vec<Vec<f64>> = PARTIES
        .iter()
        .map(|_| (0..params.slots()).map(|_| rng.random_range(20.0..90.0) / 100.0).collect())
        .collect();
    let start = Instant::now();
    let encryptor = Encryptor::new(&params, &public)?;
    let ev = Evaluator::new(&params, &ring)?;
    let inputs: Vec<_> =
        columns.iter().map(|column| encryptor.encrypt_real(column, &mut rng)).collect::<Result<_>>()?;
    let rows = (PARTIES.len() * params.slots()) as f64;
    let compute = || {
        let mut sum = inputs[0].duplicate()?;
        inputs[1..].iter().try_for_each(|input| ev.add_assign(&mut sum, input))?;
        let mut mean = ev.inner_sum(&sum, params.slots(), &evaluation)?;
        // A division by a public number is one of the scale.
        mean.set_scale(mean.scale() * rows);
        Ok::<_, he::Error>([sum, mean])
    };
    let [sum, mean] = compute()?;
    let computed = start.elapsed();

    // Each party computes the same again, because a share of a ciphertext that somebody chose would
    // be its secret, and tells the others. Here one of them does it for all.
    let digests = inputs.iter().map(Digest::of).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<_> = PARTIES.into_iter().zip(digests).collect();
    let transcript = Transcript::recompute(&session, b"sum and mean", &inputs, || {
        compute()?.iter().map(Digest::of).collect::<Result<Vec<_>>>()
    })?;
    let statements: Vec<Statement> =
        PARTIES.iter().map(|&party| transcript.statement(party)).collect::<Result<_>>()?;

    let start = Instant::now();
    let flooding = Publisher::new(SECURITY, DECRYPTIONS)?.flooding();
    let decryption = Decryption::new(&transcript, &params, &mean, &PARTIES, flooding)?;
    let (plain, bytes) = run(&params, &decryption, &keys, |key| {
        // Every party counts for itself.
        let mut publisher = Publisher::new(SECURITY, DECRYPTIONS)?;
        decryption.share(&key.share(&ring)?, &statements, &mut publisher, &mut rng)
    })?;
    println!("decryption: {bytes} bytes per party, floods of {} bits", decryption.flood_bits());
    let found = Encoder::new(&params, &ring)?.decode_real(&plain)?[0][0];
    let decrypted = start.elapsed();
    let expected = columns.iter().flatten().sum::<f64>() / rows;
    println!("mean {found:.6}, in the clear {expected:.6}");
    assert!((found - expected).abs() < 1e-3);
    println!("keys {made:.0?}, mean {computed:.0?}, decryption {decrypted:.0?}");
    println!("together {:.0?}", made + computed + decrypted);

    let start = Instant::now();
    let refresh = Refresh::new(&transcript, &params, &sum, &PARTIES, flooding, 0);
    if let Ok(refresh) = refresh {
        let (fresh, bytes) = run(&params, &refresh, &keys, |key| {
            let mut publisher = Publisher::new(SECURITY, DECRYPTIONS)?;
            refresh.share(&key.share(&ring)?, &statements, &mut publisher, &mut rng)
        })?;
        println!("refresh to level {}: {bytes} bytes per party, {:.0?}", fresh.level(), start.elapsed());
    }
    Ok(())
}
