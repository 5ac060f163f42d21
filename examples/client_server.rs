//! A client and a server that share nothing but the bytes that would be sent over a network.
//! `cargo run --release --example client_server`

use he::{Error, backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

/// The client sends three byte strings, in the format of docs/format.md.
struct Request {
    params: Vec<u8>,
    keys: Vec<u8>,
    numbers: Vec<u8>,
}

/// The server computes x^2 + x of what it receives. It never holds a secret and trusts no byte.
/// Memory is a small multiple of the bytes, so limiting their length on arrival is enough.
fn serve(request: &Request) -> Result<Vec<u8>, Error> {
    // Parameters of less than 128-bit security are refused here.
    let params = CkksParams::from_bytes(&request.params)?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let keys = EvaluationKeys::from_bytes(&params, &ring, &request.keys)?;
    let x = SeededCiphertext::from_bytes(&params, &ring, &request.numbers)?.expand()?;

    let ev = Evaluator::new(&params, &ring)?;
    ev.add(&ev.square(&x, &keys)?, &x)?.to_bytes(&params)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = [0.5, -1.25, 3.0];

    // The client keeps the secret key, and sends parameters, the keys to compute with, and the
    // encrypted numbers: half the bytes, because the holder of the secret key can send a seed.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(1).build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, KeyRequirements::new().relinearisation(), &mut rng)?;
    let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt_real(&numbers, &mut rng)?;
    let request =
        Request { params: params.to_bytes()?, keys: keys.to_bytes(&params)?, numbers: x.to_bytes(&params)? };

    let answer = serve(&request)?;
    let sent = [&request.params, &request.keys, &request.numbers].map(|bytes| bytes.len());
    println!("{sent:?} bytes to the server, {} back", answer.len());

    let y = Ciphertext::from_bytes(&params, &ring, &answer)?;
    let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
    for (x, y) in numbers.iter().zip(&y) {
        println!("{x}^2 + {x} = {y:.6}");
        assert!((y - (x * x + x)).abs() < 1e-4);
    }

    // Damaged bytes are refused, and so are the keys of another client.
    let mut damaged = Request { numbers: request.numbers.clone(), ..request };
    let middle = damaged.numbers.len() / 2;
    damaged.numbers[middle] ^= 1;
    let refusal = serve(&damaged).expect_err("a changed bit is noticed");
    println!("one bit changed: {refusal}");
    let other = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&other, &ring, KeyRequirements::new().relinearisation(), &mut rng)?;
    let mixed = Request { keys: keys.to_bytes(&params)?, numbers: x.to_bytes(&params)?, ..damaged };
    let refusal = serve(&mixed).expect_err("keys of another client are noticed");
    println!("keys of another client: {refusal}");
    assert!(matches!(refusal, Error::KeyMismatch { .. }));
    Ok(())
}
