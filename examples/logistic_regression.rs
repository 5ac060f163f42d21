//! Logistic regression on encrypted features: p = 1 / (1 + exp(-(w x + b))) for thousands of people
//! at once. `cargo run --release --example logistic_regression`

use he::circuits::ckks::Polynomial;
use he::{backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server's model, and an approximation of the sigmoid on the interval of the scores.
    let (weights, bias) = ([1.5, -2.0, 0.75], 0.25);
    let approximation = Polynomial::chebyshev_fit(sigmoid, 15, -8.0, 8.0)?;

    // The client encrypts one ciphertext per feature, with one person per slot.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(1 + approximation.requirements().depth).build()?;
    let people = params.slots() as i32;
    let feature = |k: i32| -> Vec<f64> {
        (0..people).map(|person| f64::from((person * 7919 + k * 104_729) % 2001) / 1000.0 - 1.0).collect()
    };
    let features: Vec<Vec<f64>> = (0..3).map(feature).collect();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let needs = KeyRequirements::new().relinearisation(); // for products; no rotations
    let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    let encryptor = Encryptor::new(&params, &public)?;
    let encrypted = features.iter().map(|column| encryptor.encrypt_real(column, &mut rng));
    let encrypted: Vec<Ciphertext> = encrypted.collect::<Result<_, _>>()?;

    // The server computes a linear combination (one level), adds the bias (none), and evaluates the
    // polynomial.
    let ev = Evaluator::new(&params, &ring)?;
    let terms: Vec<_> = encrypted.iter().zip(weights).collect();
    let score = ev.add_scalar(&ev.linear_combination(&terms)?, bias.into())?;
    let probability = approximation.apply(&ev, &score, &keys)?;

    let found = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&probability)?;
    let mut worst = (0f64, 0f64);
    for (person, found) in found.iter().enumerate() {
        let score = (0..3).map(|k| weights[k] * features[k][person]).sum::<f64>() + bias;
        let encrypted = (found - approximation.apply_plain(score)).abs();
        worst = (worst.0.max(encrypted), worst.1.max((found - sigmoid(score)).abs()));
    }
    println!(
        "{people} people: error by encryption {:.1e}, with the approximation's {:.1e}",
        worst.0, worst.1
    );
    assert!(worst.0 < 1e-4 && worst.1 < 2e-2);
    Ok(())
}
