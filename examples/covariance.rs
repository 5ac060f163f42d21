//! Fits a plane to an encrypted table: the server computes means and covariances of all columns,
//! and the owner of the table solves for the coefficients.
//! `cargo run --release --example covariance`

use he::circuits::ckks::{Statistic, dot, mean};
use he::{backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

/// Rooms and age of a flat, in tens and decades, and its rent in thousands.
fn table(rows: u32) -> [Vec<f64>; 3] {
    let rooms: Vec<f64> = (0..rows).map(|i| f64::from(1 + i * 7 % 6) / 10.0).collect();
    let age: Vec<f64> = (0..rows).map(|i| f64::from(i * 31 % 97) / 10.0).collect();
    let noise = |i: usize| (i * 13 % 11) as f64 / 100.0 - 0.05;
    let rent = |i: usize| 0.3 + 2.5 * rooms[i] - 0.04 * age[i] + noise(i);
    let rents = (0..rows as usize).map(rent).collect();
    [rooms, age, rents]
}

/// The coefficients of the plane and its constant, by Cramer's rule, from the means of x, y and z,
/// and the covariances xx, xy, xz, yy and yz.
fn plane([x, y, z]: [f64; 3], [xx, xy, xz, yy, yz]: [f64; 5]) -> [f64; 3] {
    let determinant = xx * yy - xy * xy;
    let (a, b) = ((xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant);
    [a, b, z - a * x - b * y]
}

const PAIRS: [[usize; 2]; 5] = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]];

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let columns = table(2000);
    let rows = columns[0].len();

    // The owner encrypts each column into its own ciphertexts.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(2).build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let needs = Statistic::Variance.requirements(params.slots());
    let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
    let encryptor = Encryptor::new(&params, &public)?;
    let encrypted = columns
        .iter()
        .map(|column| encryptor.encrypt_real(column, &mut rng))
        .collect::<he::Result<Vec<_>>>()?;

    // The server computes E[x y] - E[x] E[y].
    let ev = Evaluator::new(&params, &ring)?;
    let means =
        encrypted.iter().map(|column| mean(&ev, column, rows, &keys)).collect::<he::Result<Vec<_>>>()?;
    let covariance = |[x, y]: [usize; 2]| {
        let products = dot(&ev, &encrypted[x], &encrypted[y], &keys)?;
        let products = ev.mul_scalar(&products, 1.0 / rows as f64)?;
        ev.sub(&products, &ev.mul(&means[x], &means[y], &keys)?)
    };
    let covariances = PAIRS.into_iter().map(covariance).collect::<he::Result<Vec<_>>>()?;

    // The owner again. Every slot of a result holds the same number.
    let decryptor = Decryptor::new(&params, &secret, &ring)?;
    let number = |ct: &Ciphertext| -> he::Result<f64> { Ok(decryptor.decrypt_real(ct)?[0]) };
    let numbers = |cts: &[Ciphertext]| cts.iter().map(number).collect::<he::Result<Vec<f64>>>();
    let (means, covariances) = (numbers(&means)?, numbers(&covariances)?);
    let found = plane(means[..].try_into()?, covariances[..].try_into()?);
    let [rooms, age, base] = found;
    println!("rent = {base:.3} + {rooms:.3} rooms / 10 + {age:.4} age / 10, in thousands");

    let average = |x: &[f64]| x.iter().sum::<f64>() / rows as f64;
    let centres = columns.each_ref().map(|column| average(column));
    let exact = PAIRS.map(|[x, y]| {
        let products = columns[x].iter().zip(&columns[y]).map(|(a, b)| (a - centres[x]) * (b - centres[y]));
        products.sum::<f64>() / rows as f64
    });
    for (found, expected) in found.iter().zip(plane(centres, exact)) {
        assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    }
    Ok(())
}
