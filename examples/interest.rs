//! Adds compound interest to balances that the server never sees, with precision and depth in bits.
//! `cargo run --release --example interest`

use he::{prelude::*, rand};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let balances = [1200.0, 560.5, 98.25, 4300.0];
    let rates = [0.02, 0.035, 0.05, 0.0125];

    // The owner of the accounts chooses bits, not primes: results to about 30 bits, and 180 bits
    // for three rescales.
    let mut rng = rand::rng();
    let params = BigCkksParams::for_depth_bits(180).precision_bits(30).build()?;
    let ring = Ring::new(Device::auto(), params.ring().clone())?;
    let secret = bigckks::SecretKey::generate(&params, &mut rng);
    let public = bigckks::PublicKey::generate(&secret, &ring, &mut rng)?;
    let needs = KeyRequirements::new().relinearisation();
    let keys = bigckks::EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    let encryptor = bigckks::Encryptor::new(&params, &public)?;
    // Balances in thousands: the parameters are made for values near 1.
    let balance = encryptor.encrypt_real(&balances.map(|euros| euros / 1000.0), &mut rng)?;
    let rate = encryptor.encrypt_real(&rates, &mut rng)?;

    // The server computes balance (1 + rate)^4. A product adds up the scales, and a rescale takes
    // any number of bits off again: here those of one scale.
    let ev = bigckks::Evaluator::new(&params, &ring)?;
    let bits = params.scale_log2();
    let growth = ev.add_scalar(&rate, 1.0.into())?;
    let two_years = ev.rescale(&ev.mul(&growth, &growth, &keys)?, bits)?;
    let four_years = ev.rescale(&ev.mul(&two_years, &two_years, &keys)?, bits)?;
    let result = ev.rescale(&ev.mul(&four_years, &balance, &keys)?, bits)?;

    // The owner again.
    let result = bigckks::Decryptor::new(&params, &secret, &ring)?.decrypt_real(&result)?;
    for ((euros, rate), found) in balances.into_iter().zip(rates).zip(result) {
        let (expected, found) = (euros * (1.0 + rate).powi(4), found * 1000.0);
        println!("{euros:8.2} at {:.2} % for four years: {found:8.2}", rate * 100.0);
        assert!((found - expected).abs() < 1e-3, "{found} in place of {expected}");
    }
    Ok(())
}
