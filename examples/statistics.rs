//! Computes the mean and variance of a column that the server never sees.
//! `cargo run --release --example statistics`

use he::circuits::ckks::{Statistic, mean, variance};
use he::{backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Heights in centimetres. Subtracting a rough centre, which may be public, keeps the variance
    // precise; dividing brings the values near 1, for which the parameters are made.
    let (centre, unit) = (175.0, 25.0);
    let heights: Vec<f64> = (0..10_000).map(|i| 150.0 + f64::from(i * 7919 % 5000) / 100.0).collect();
    let column: Vec<f64> = heights.iter().map(|height| (height - centre) / unit).collect();

    // The owner of the data makes parameters and keys from the needs of the circuits.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(2).build()?;
    let needs = Statistic::Variance.requirements(params.slots());
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
    // A column longer than the slots is spread over a batch of ciphertexts.
    let encrypted = Encryptor::new(&params, &public)?.encrypt_real(&column, &mut rng)?;

    // The server has ciphertexts and evaluation keys, nothing else.
    let ev = Evaluator::new(&params, &ring)?;
    let encrypted_mean = mean(&ev, &encrypted, column.len(), &keys)?;
    let encrypted_variance = variance(&ev, &encrypted, column.len(), &keys)?;

    // The owner again. Every slot holds the result.
    let decryptor = Decryptor::new(&params, &secret, &ring)?;
    let mean = decryptor.decrypt_real(&encrypted_mean)?[0] * unit + centre;
    let variance = decryptor.decrypt_real(&encrypted_variance)?[0] * unit * unit;
    println!(
        "{} values in {} ciphertexts: mean {mean:.4}, variance {variance:.4}",
        heights.len(),
        encrypted.batch()
    );

    let count = heights.len() as f64;
    let expected_mean = heights.iter().sum::<f64>() / count;
    let expected_variance =
        heights.iter().map(|height| (height - expected_mean).powi(2)).sum::<f64>() / count;
    assert!((mean - expected_mean).abs() < 1e-3);
    assert!((variance - expected_variance).abs() < 1e-2);
    Ok(())
}
