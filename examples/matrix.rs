//! Multiplies a plain matrix by an encrypted vector: a layer of a network, a change of coordinates,
//! a projection. `cargo run --release --example matrix`

use he::circuits::ckks::LinearTransform;
use he::{backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rows, columns) = (10, 100);
    let entries: Vec<f64> = (0..rows * columns).map(|i| f64::from(i * 37 % 101) / 50.5 - 1.0).collect();
    let entries = entries.as_slice();
    let vector: Vec<f64> = (0..columns).map(|j| (f64::from(j) / 10.0).sin()).collect();

    // Any shape is padded to powers of two inside: 16 x 128 here.
    let matrix = LinearTransform::rectangular(rows as usize, columns as usize, entries)?;
    let needs = matrix.requirements();

    // The client encrypts the vector in as many slots as the matrix requires.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(needs.depth).build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    println!("{rows} x {columns}: {} rotations", needs.keys.rotation_steps().len());
    let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
    let ev = Evaluator::new(&params, &ring)?;
    let x = ev.encoder().encode_real(&vector, params.encoding().slots(matrix.input_slots()))?;
    let x = Encryptor::new(&params, &public)?.encrypt(&x, &mut rng)?;

    // The server can encode the matrix once for many vectors.
    let y = matrix.prepare(&ev, x.level())?.apply(&ev, &x, &keys)?;

    let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
    for (row, entries) in entries.chunks_exact(columns as usize).enumerate() {
        let expected: f64 = entries.iter().zip(&vector).map(|(a, x)| a * x).sum();
        println!("row {row}: {:9.5}, in the clear {expected:9.5}", y[row]);
        assert!((y[row] - expected).abs() < 1e-3);
    }
    Ok(())
}
