//! A client and a server that share nothing but bytes: what would travel over a network, as frames
//! of docs/format.md. `cargo run --release --example client_server`

use he::wire::{self, Frame, FrameKind, FrameReader, FrameWriter, WireError};
use he::{Error, backend::Cpu, ckks::*, rand, ring::Ring, rlwe::*};

/// Frames one after the other, with an end mark: what was cut short or reordered is refused.
fn message(params: &CkksParams, frames: &[Frame]) -> Result<Vec<u8>, WireError> {
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames {
        writer.write(frame)?;
    }
    writer.finish(params.fingerprint())
}

/// The next frame, which must be of one kind and no longer than `limit`: nothing is allocated for a
/// longer one.
fn next(reader: &mut FrameReader<&[u8]>, kind: FrameKind, limit: u64) -> Result<Frame, Error> {
    let frame = reader.next_frame(|found, _| if found == kind { limit } else { 0 })?;
    frame.ok_or_else(|| Error::Argument { what: "message", why: format!("no {kind} in it") })
}

/// The server: x^2 + x of whatever it is sent. It never holds a secret, and trusts no byte.
fn serve(request: &[u8]) -> Result<Vec<u8>, Error> {
    let mut reader = FrameReader::new(request);
    let limit = wire::key_frame_limit(None, FrameKind::CkksParams);
    // Parameters of less than 128-bit security are refused here.
    let params = wire::decode_params(&next(&mut reader, FrameKind::CkksParams, limit)?)?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let mut keys = EvaluationKeys::empty(params.rlwe(), &ring)?;
    let limit = wire::key_frame_limit(Some(&params), FrameKind::RelinKey);
    let relin = next(&mut reader, FrameKind::RelinKey, limit)?;
    keys.insert_relin(wire::decode_relin_key(&params, &ring, &relin)?);
    let limit = wire::ciphertext_frame_limit(&params, 16);
    let x = next(&mut reader, FrameKind::CkksSeededCiphertext, limit)?;
    let x = wire::decode_seeded_ciphertext(&params, &ring, &x)?.expand()?;

    let ev = Evaluator::new(&params, &ring)?;
    let y = ev.add(&ev.square(&x, &keys)?, &x)?;
    Ok(message(&params, &[wire::encode_ciphertext(&params, &y)?])?)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = [0.5, -1.25, 3.0];

    // The client keeps the secret key, and sends parameters, the keys to compute with, and the
    // encrypted numbers.
    let mut rng = rand::rng();
    let params = CkksParams::for_depth(1).build()?;
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, [], false, &mut rng)?;
    let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt_real(&numbers, &mut rng)?;
    let request = message(
        &params,
        &[
            wire::encode_params(&params),
            wire::encode_relin_key(&params, keys.relin()?)?,
            wire::encode_seeded_ciphertext(&params, &x)?,
        ],
    )?;

    let answer = serve(&request)?;
    println!("{} bytes to the server, {} bytes back", request.len(), answer.len());

    let limit = wire::ciphertext_frame_limit(&params, 1);
    let y = next(&mut FrameReader::new(&answer[..]), FrameKind::CkksCiphertext, limit)?;
    let y = wire::decode_ciphertext(&params, &ring, &y)?;
    let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
    for (x, y) in numbers.iter().zip(&y) {
        println!("{x}^2 + {x} = {y:.6}");
        assert!((y - (x * x + x)).abs() < 1e-4);
    }

    // Bytes that were damaged on the way are refused.
    let mut damaged = request;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let refusal = serve(&damaged).expect_err("a changed bit is noticed");
    println!("one bit changed: {refusal}");
    Ok(())
}
