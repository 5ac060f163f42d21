//! Proxy re-encryption.

use super::*;
use crate::bfv::Bfv;
use crate::ckks;
use crate::error::Error;
use crate::exact;

#[test]
fn ckks_reaches_the_recipient() {
    let mut rng = seeded(31);
    let params = ckks(9);
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate(params.rlwe(), &mut rng));
    let recipient = RecipientKey::generate(&theirs, &ring, &mut rng).unwrap();
    let key = ReencryptionKey::generate(&ours, &recipient, &mut rng).unwrap();
    assert_eq!((key.source(), key.key_set()), (Some(ours.key_set()), Some(theirs.key_set())));
    let values: Vec<f64> = (0..params.slots()).map(|i| (i as f64).cos()).collect();
    let x = ckks::SecretEncryptor::new(&params, &ours, &ring).unwrap();
    let x = x.encrypt_real(&values, &mut rng).unwrap().expand().unwrap();
    let mut publisher = publisher();
    let y = key.reencrypt(&params, &x, &recipient, &mut publisher, &mut rng).unwrap();
    assert_eq!((publisher.left(), y.key_set()), (DECRYPTIONS - 1, Some(theirs.key_set())));
    let decryptor = ckks::Decryptor::new(&params, &theirs, &ring).unwrap();
    let found = decryptor.decrypt_real(&y).unwrap();
    let off = found.iter().zip(&values).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off < 1e-2, "{off}");

    // The noise is the flood: of its width, and 2^16 times what the switch alone leaves.
    let chain = Span::chain(x.pair().chain_limbs());
    let [from, to] = [&ours, &theirs].map(|secret| secret.on(&ring, chain).unwrap());
    let phase = x.pair().message(&from).unwrap();
    let flooded = rms(&noise(y.pair(), &to, Some(&phase)));
    let switched = rms(&noise(&x.pair().switch(&key.key).unwrap(), &to, Some(&phase)));
    let excess = ReencryptionKey::<Cpu>::excess_log2(ring.n() as f64);
    let stated = params.noise().switched(x.noise().unwrap(), chain.q, excess);
    assert!(switched.log2() < stated.rms_log2 && switched.log2() > stated.rms_log2 - 4.0, "{switched}");
    assert!(flooded > switched * f64::from(SECURITY).exp2(), "{flooded} and {switched}");
    // The stated noise is the width of the flood, and a little for the rest.
    let bits = f64::from(y.noise().unwrap().rms_log2 as u32);
    let found = flooded / (bits.exp2() / 3f64.sqrt());
    assert!((0.87..1.13).contains(&found), "{found}");
    // The sender's key does not open it.
    let mut unnamed = y.duplicate().unwrap();
    unnamed.set_key_set(None);
    let sender = ckks::Decryptor::new(&params, &ours, &ring).unwrap();
    assert!(sender.decrypt_real(&unnamed).is_err());
}

#[test]
fn bfv_reaches_the_recipient() {
    let mut rng = seeded(32);
    let params = exact::<Bfv>(9);
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate(params.rlwe(), &mut rng));
    let recipient = RecipientKey::generate(&theirs, &ring, &mut rng).unwrap();
    let key = ReencryptionKey::generate(&ours, &recipient, &mut rng).unwrap();
    let x = exact::SecretEncryptor::new(&params, &ours, &ring).unwrap();
    let values: Vec<u64> = (0..512).collect();
    let x = x.encrypt_slots(&values, &mut rng).unwrap().expand().unwrap();
    let y = key.reencrypt(&params, &x, &recipient, &mut publisher(), &mut rng).unwrap();
    let decryptor = exact::Decryptor::new(&params, &theirs, &ring).unwrap();
    assert_eq!(decryptor.decrypt_slots::<u64>(&y).unwrap(), values);
    assert!(decryptor.noise_budget(&y).unwrap()[0] >= y.predicted_budget(&params) - 0.1);
}

#[test]
fn what_does_not_belong_is_refused() {
    let mut rng = seeded(33);
    let params = ckks(5);
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let [ours, theirs, others] = [(); 3].map(|()| SecretKey::generate(params.rlwe(), &mut rng));
    let [recipient, other] = [&theirs, &others].map(|s| RecipientKey::generate(s, &ring, &mut rng).unwrap());
    let key = ReencryptionKey::generate(&ours, &recipient, &mut rng).unwrap();
    let encrypt = |secret: &SecretKey, rng: &mut ChaCha20Rng| {
        let encryptor = ckks::SecretEncryptor::new(&params, secret, &ring).unwrap();
        encryptor.encrypt_real(&[1.0], rng).unwrap().expand().unwrap()
    };
    let (x, foreign) = (encrypt(&ours, &mut rng), encrypt(&others, &mut rng));
    let mut refused = |ct: &ckks::Ciphertext, to: &RecipientKey, publisher: &mut Publisher| {
        key.reencrypt(&params, ct, to, publisher, &mut rng).unwrap_err()
    };
    assert!(matches!(refused(&foreign, &recipient, &mut publisher()), Error::KeyMismatch { .. }));
    assert!(matches!(refused(&x, &other, &mut publisher()), Error::KeyMismatch { .. }));
    let mut unknown = x.duplicate().unwrap();
    unknown.set_noise(None);
    assert!(matches!(refused(&unknown, &recipient, &mut publisher()), Error::NoiseUnknown));
    let mut spent = Publisher::resume(SECURITY, DECRYPTIONS, 0).unwrap();
    assert!(matches!(refused(&x, &recipient, &mut spent), Error::DecryptionsSpent { .. }));
    let mut wide = Publisher::new(256, u64::MAX).unwrap();
    assert!(matches!(refused(&x, &recipient, &mut wide), Error::FloodTooWide { .. }));
    assert_eq!(wide.left(), u64::MAX);
    // Its second parts come from no seed, and it says so.
    assert!(key.key.seed().is_none() && key.key.known_seed().is_err());
}
