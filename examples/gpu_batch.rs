//! A batch of vectors goes through every operation together, on a GPU if there is one. The program
//! and the resulting bits are the same on both. `cargo run --release --example gpu_batch`

use he::{backend::Cpu, backend::RingOps, ckks::*, cuda::Cuda, rand, ring::Ring, rlwe::*};

/// The sum of x^2 for every number and its neighbour, written once for all devices.
fn program<B: RingOps>(device: B, columns: &[Vec<f64>]) -> he::Result<Vec<Vec<f64>>> {
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(1).build()?;
    let ring = Ring::new(device, params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1]),
        &mut rng,
    )?;

    // One ciphertext holds many vectors, and a launch on the GPU works on all of them.
    let ev = Evaluator::new(&params, &ring)?;
    let vectors: Vec<Vec<Complex64>> =
        columns.iter().map(|column| column.iter().map(|&x| x.into()).collect()).collect();
    let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_batch(&vectors, params.encoding())?;
    let x = Encryptor::new(&params, &public)?.encrypt(&plain, &mut rng)?;
    let squares = ev.square(&x, &keys)?;
    let sums = ev.add(&squares, &ev.rotate(&squares, 1, &keys)?)?;
    ev.encoder().decode_real(&Decryptor::new(&params, &secret, &ring)?.decrypt(&sums)?)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let columns: Vec<Vec<f64>> =
        (0..16).map(|k| (0..1000).map(|i| f64::from(i * 31 + k * 17) % 100.0 / 100.0).collect()).collect();
    let results = match Cuda::open(0) {
        Ok(cuda) => {
            println!("on the first CUDA device");
            program(cuda, &columns)?
        }
        Err(error) => {
            println!("on the CPU: {error}");
            program(Cpu::new(), &columns)?
        }
    };
    for (column, result) in columns.iter().zip(&results) {
        for i in 0..column.len() - 1 {
            let expected = column[i].powi(2) + column[i + 1].powi(2);
            assert!((result[i] - expected).abs() < 1e-4);
        }
    }
    println!("{} vectors of {} numbers", columns.len(), columns[0].len());
    Ok(())
}
