//! Integers modulo t on the device are encrypted, decrypted and encoded correctly, word by word as
//! on the CPU.

use super::devices::{emulated, gpu_or_skip};
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::conformance::Mirror;
use he_core::exact::{
    Ciphertext, Decryptor, Encoder, Encryptor, Evaluator, ExactSpec, Message, Params, Plaintext, Scheme,
    SecretEncryptor, SlotEncoder,
};
use he_core::ring::Ring;
use he_core::rlwe::{PublicKey, SecretKey};
use he_core::{Error, Result};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Degree, widths of the chain, t, batch.
type Shape = (u32, &'static [u32], u64, usize);

const SMALL: [Shape; 6] = [
    (2, &[32], 1 << 16, 1000),
    (3, &[32], 1 << 16, 50),
    (4, &[32], 65521, 1000),
    (4, &[61, 40], 97, 130),
    (8, &[30, 55, 30], 7681, 3),
    (11, &[50, 36], 786_433, 1),
];
const LARGE: [Shape; 3] =
    [(12, &[36, 36], 65537, 2), (12, &[55, 61], (1 << 61) - 1, 1), (13, &[43, 44], 65537, 1)];

fn program<S: Scheme, B: RingOps>(backend: B, (log_n, q, t, batch): Shape) -> Result<()> {
    let case = format!("{} at {:?}", S::NAME, (log_n, q, t, batch));
    let spec = ExactSpec::from_bits(log_n, q, &[], t)?;
    let params = Params::<S>::insecure(spec)?;
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let ring = Ring::new(backend, params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let decryptor = Decryptor::new(&params, &secret, &ring)?;
    let encryptor = Encryptor::new(&params, &public)?;
    let values: Vec<Vec<u64>> =
        (0..batch).map(|_| (0..ring.n()).map(|_| rng.random_range(0..t)).collect()).collect();
    let rows: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();

    let encoder = Encoder::new(&params)?;
    let plaintext = encoder.encode_coefficients_batch(&rows)?;
    let by_public = encryptor.encrypt(&plaintext, &mut rng)?;
    let by_secret = SecretEncryptor::new(&params, &secret, &ring)?;
    let by_secret = by_secret.encrypt(&plaintext, &mut rng)?.expand()?;
    for ct in [&by_public, &by_secret] {
        assert!(decryptor.decrypt(ct)? == plaintext, "{case}");
    }

    products(&Evaluator::new(&params, &ring)?, &by_public, &plaintext, &decryptor, &case)?;

    if params.has_slots() {
        let slots = SlotEncoder::new(&params, &ring)?;
        let (message, again) = (slots.encode(&rows)?, slots.encode(&rows)?);
        assert!(again.into_plaintext()? == encoder.encode_batch(&rows)?, "{case}");
        let ct = encryptor.encrypt_message(&message, &mut rng)?;
        let message: Message<B> = decryptor.decrypt_message(&ct)?;
        assert_eq!(slots.decode::<u64>(message)?, values, "{case}");
    }
    Ok(())
}

/// X times a ciphertext, and its product with its own plaintext, prepared or not, which may need
/// more of a modulus than there is.
fn products<S: Scheme, B: RingOps>(
    ev: &Evaluator<S, B>,
    ct: &Ciphertext<S, B>,
    plaintext: &Plaintext,
    decryptor: &Decryptor<S, B>,
    case: &str,
) -> Result<()> {
    let (n, t) = (ev.ring().n(), ev.params().plain().value());
    let turned = ev.mul_plain(ct, &ev.encoder().encode_coefficients(&[0_u64, 1])?)?;
    let shift = |row: &[u64]| -> Vec<u64> {
        [(t - row[n - 1]) % t].into_iter().chain(row[..n - 1].iter().copied()).collect()
    };
    let expected: Vec<u64> = plaintext.coefficients().chunks_exact(n).flat_map(shift).collect();
    assert!(decryptor.decrypt(&turned)?.coefficients() == expected, "{case}");
    let prepared = [
        ev.prepare(plaintext, ct.level())?,
        ev.prepare_message(&Message::new(ev.ring(), plaintext)?, ct.level())?,
    ];
    let [first, other] = prepared.each_ref().map(|prepared| ev.mul_prepared(ct, prepared));
    for product in [ev.mul_plain(ct, plaintext), other] {
        match (&first, product) {
            (Ok(first), Ok(product)) => {
                assert!(decryptor.decrypt(first)? == decryptor.decrypt(&product)?, "{case}");
            }
            (Err(Error::BudgetSpent { .. }), Err(Error::BudgetSpent { .. })) => {}
            (first, product) => panic!("{case}: {first:?} {product:?}"),
        }
    }
    Ok(())
}

fn mirrored(cuda: &Cuda, shapes: &[Shape]) {
    for &shape in shapes {
        program::<Bfv, _>(Mirror::new(Cpu::new(), cuda.clone()), shape).expect("the same words");
        program::<Bgv, _>(Mirror::new(Cpu::new(), cuda.clone()), shape).expect("the same words");
    }
}

#[test]
fn emulated_small_degrees() {
    mirrored(&emulated(Arithmetic::Float), &SMALL);
}

#[test]
fn emulated_small_degrees_in_integers() {
    mirrored(&emulated(Arithmetic::Integer), &SMALL[2..]);
}

#[test]
fn emulated_large_degrees() {
    mirrored(&emulated(Arithmetic::Float), &LARGE);
}

#[test]
fn on_a_device() {
    for arithmetic in [Arithmetic::Auto, Arithmetic::Integer] {
        if let Some(cuda) = gpu_or_skip(arithmetic) {
            mirrored(&cuda, &SMALL);
            mirrored(&cuda, &LARGE);
            mirrored(&cuda, &[(14, &[49; 7], 65537, 3), (15, &[49; 15], 65537, 1)]);
        }
    }
}
