//! Key sets: objects of two secrets under the same parameters cannot be combined.

use super::common::rng;
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::ckks::{self, CkksParams, CkksSpec};
use he::exact::{self, ExactSpec, Params, Scheme};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, RlweParams, SecretKey, SwitchKey};
use he::tfhe::{
    BootstrapKey, Carry, CompactPublicKey, EncryptedBits, EncryptedFlags, EncryptedUint, GateEvaluator,
    IntegerEvaluator, LweBatch, TfheSecretKey, presets,
};
use he::{Error, KeySetId, bigckks};
use num_bigint::BigUint;

/// Asserts that the error names both key sets, the expected one last.
#[track_caller]
fn refused<T>(result: he::Result<T>, found: KeySetId, expected: KeySetId) {
    match result {
        Err(Error::KeyMismatch { found: left, expected: right, .. }) => {
            assert_eq!((left, right), (found, expected));
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("objects of {found} and {expected} met"),
    }
}

fn ring_of(spec: &he::ring::RingSpec) -> Ring<Cpu> {
    Ring::new(Cpu::new(), spec.clone()).unwrap()
}

struct Rlwe {
    secret: SecretKey,
    public: PublicKey<Cpu>,
    keys: EvaluationKeys<Cpu>,
    id: KeySetId,
}

impl Rlwe {
    fn new(params: &RlweParams, ring: &Ring<Cpu>, seed: u64) -> Self {
        let rng = &mut rng(seed);
        let secret = SecretKey::generate(params, rng);
        let public = PublicKey::generate(&secret, ring, rng).unwrap();
        let keys = EvaluationKeys::generate(
            &secret,
            ring,
            KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation(),
            rng,
        )
        .unwrap();
        let id = secret.key_set();
        assert_eq!((public.key_set(), keys.key_set()), (Some(id), Some(id)));
        assert_eq!(keys.relin().unwrap().key_set(), Some(id));
        assert!(keys.galois_keys().all(|(_, key)| key.key_set() == Some(id)));
        Self { secret, public, keys, id }
    }
}

#[test]
fn identities_come_from_the_secret_and_the_parameters() {
    let spec = CkksSpec::from_bits(5, &[45, 30, 30], &[46], 30.0).unwrap();
    let params = CkksParams::insecure(spec.clone()).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let [a, b] = [1, 2].map(|seed| Rlwe::new(params.rlwe(), &ring, seed));
    assert_ne!(a.id, b.id);
    let read = |secret: &SecretKey| secret.expose_coefficients().to_vec().into();
    let again = SecretKey::from_coefficients(params.rlwe(), read(&a.secret)).unwrap();
    assert_eq!(again.key_set(), a.id);
    // The formula of docs/format.md.
    let mut hasher = blake3::Hasher::new_derive_key("he 2026-11 key set: identity of secret key, version 1");
    hasher.update(&params.rlwe().fingerprint().0);
    let bytes: Vec<u8> = a.secret.expose_coefficients().iter().map(|&c| (c + 1) as u8).collect();
    hasher.update(&bytes);
    assert_eq!(a.id.to_bytes(), hasher.finalize().as_bytes()[..16]);
    // The same coefficients under other parameters are another key set.
    let other = CkksParams::insecure(CkksSpec { digits: vec![0..1, 1..2, 2..3], ..spec.clone() }).unwrap();
    if other.rlwe() != params.rlwe() {
        let other = SecretKey::from_coefficients(other.rlwe(), read(&a.secret)).unwrap();
        assert_ne!(other.key_set(), a.id);
    }
    // A coefficient's change changes it.
    let mut changed = a.secret.expose_coefficients().to_vec();
    changed[31] = if changed[31] == 0 { 1 } else { 0 };
    let changed = SecretKey::from_coefficients(params.rlwe(), changed.into()).unwrap();
    assert_ne!(changed.key_set(), a.id);
}

/// The message names the object, its key set, the one that is needed, and what to do.
#[test]
fn the_message_names_both_sets() {
    let params = CkksParams::insecure(CkksSpec::from_bits(5, &[45, 30], &[46], 30.0).unwrap()).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let [a, b] = [1, 2].map(|seed| Rlwe::new(params.rlwe(), &ring, seed));
    let ev = ckks::Evaluator::new(&params, &ring).unwrap();
    let plain = ev.encoder().encode_real(&[0.5], params.encoding()).unwrap();
    let x = ckks::Encryptor::new(&params, &a.public).unwrap().encrypt(&plain, &mut rng(3)).unwrap();
    let error = ev.rotate(&x, 1, &b.keys).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the evaluation key belongs to key set {} where one of {} is needed; use keys and ciphertexts that come from one secret key",
            b.id, a.id
        )
    );
}

/// A switch takes a ciphertext to another key set, by keys over all primes or those of its level.
#[test]
fn switches_lead_to_another_set() {
    let spec = CkksSpec::from_bits(5, &[45, 30, 30], &[46], 30.0).unwrap();
    let params = CkksParams::insecure(spec).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let [a, b, c] = [1, 2, 3].map(|seed| Rlwe::new(params.rlwe(), &ring, seed));
    let ev = ckks::Evaluator::new(&params, &ring).unwrap();
    let encryptor = ckks::Encryptor::new(&params, &a.public).unwrap();
    let decryptor = ckks::Decryptor::new(&params, &b.secret, &ring).unwrap();
    let values = [0.5, -1.25, 3.0];
    let low = params.rlwe().ring().prefix(1, 1).unwrap();
    let low = RlweParams::insecure(low, RlweParams::even_digits(1, 1)).unwrap();
    let low_ring = ring.prefix(1, 1).unwrap();
    for (level, own, ring) in [
        (2, params.rlwe(), &ring),
        (1, params.rlwe(), &ring),
        (0, params.rlwe(), &ring),
        (0, &low, &low_ring),
    ] {
        let key = SwitchKey::generate(&a.secret, &b.secret, own, ring, &mut rng(5)).unwrap();
        let x = ev.mod_switch_to(&encryptor.encrypt_real(&values, &mut rng(4)).unwrap(), level).unwrap();
        let y = ev.switch(&x, &key).unwrap();
        assert_eq!((y.key_set(), y.level(), y.scale()), (Some(b.id), level, x.scale()));
        for (found, value) in decryptor.decrypt_real(&y).unwrap().iter().zip(values) {
            assert!((found - value).abs() < 1e-4, "level {level}: {found}, not {value}");
        }
        let [before, after] = [&x, &y].map(|ct| ct.noise().unwrap().rms_log2);
        assert!(after > before && after < before + 2.0, "level {level}: {before}, {after}");
        refused(decryptor.decrypt(&x), a.id, b.id);
        refused(ev.switch(&y, &key), b.id, a.id);
        // On with the keys of its new set, and with them alone.
        assert!(ev.rotate(&y, 1, &b.keys).is_ok());
        refused(ev.rotate(&y, 1, &a.keys), a.id, b.id);
        refused(ev.rotate(&y, 1, &c.keys), c.id, b.id);
    }
    // A key over the primes of level 0 is too short for level 1.
    let short = SwitchKey::generate(&a.secret, &b.secret, &low, &low_ring, &mut rng(5)).unwrap();
    let x = encryptor.encrypt_real(&values, &mut rng(4)).unwrap();
    assert!(matches!(ev.switch(&x, &short), Err(Error::SpanMismatch { .. })));
}

#[test]
fn ckks() {
    let params = CkksParams::insecure(CkksSpec::from_bits(5, &[45, 30, 30], &[46], 30.0).unwrap()).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let [a, b] = [1, 2].map(|seed| Rlwe::new(params.rlwe(), &ring, seed));
    let ev = ckks::Evaluator::new(&params, &ring).unwrap();
    let plain = ev.encoder().encode_real(&[0.5, -0.25], params.encoding()).unwrap();
    let encrypt = |set: &Rlwe| {
        ckks::Encryptor::new(&params, &set.public).unwrap().encrypt(&plain, &mut rng(3)).unwrap()
    };
    let (x, y) = (encrypt(&a), encrypt(&b));
    assert_eq!((x.key_set(), y.key_set()), (Some(a.id), Some(b.id)));
    let seeded = ckks::SecretEncryptor::new(&params, &a.secret, &ring).unwrap();
    let seeded = seeded.encrypt(&plain, &mut rng(4)).unwrap();
    assert_eq!(seeded.key_set(), Some(a.id));
    assert_eq!(seeded.expand().unwrap().key_set(), Some(a.id));

    // Two ciphertexts.
    refused(ev.add(&x, &y), b.id, a.id);
    refused(ev.sub(&x, &y), b.id, a.id);
    refused(ev.tensor(&x, &y), b.id, a.id);
    refused(ev.mul(&x, &y, &a.keys), b.id, a.id);
    refused(ev.linear_combination(&[(&x, 0.5), (&y, 0.5)]), b.id, a.id);
    refused(ev.plain_combination(&[(&x, &plain), (&y, &plain)]), b.id, a.id);
    refused(ckks::Ciphertext::concat(&[&x, &y]), b.id, a.id);
    let (mut p, q) = (ev.tensor(&x, &x).unwrap(), ev.tensor(&y, &y).unwrap());
    refused(ev.add_products(&mut p, &q), b.id, a.id);
    assert_eq!(p.key_set(), Some(a.id));

    // A ciphertext and evaluation keys.
    refused(ev.mul(&x, &x, &b.keys), b.id, a.id);
    refused(ev.square(&x, &b.keys), b.id, a.id);
    refused(ev.relinearize(&p, &b.keys), b.id, a.id);
    refused(ev.relinearize_rescale(&p, &b.keys), b.id, a.id);
    for step in [0, 1, 3] {
        refused(ev.rotate(&x, step, &b.keys), b.id, a.id);
        refused(ev.rotate_many(&x, &[step], &b.keys), b.id, a.id);
        refused(ev.sum_of_rotations(&x, &[(step, 0.5)], &b.keys), b.id, a.id);
    }
    let weight = ev.encode_weight(&[num_complex::Complex64::ONE], 2).unwrap();
    refused(ev.sum_of_masked_rotations(&x, &[(1, &weight)], &b.keys), b.id, a.id);
    refused(ev.conjugate(&x, &b.keys), b.id, a.id);
    refused(ev.inner_sum(&x, 4, &b.keys), b.id, a.id);
    // One foreign key among one's own.
    let mut mixed = a.keys.to(&ring).unwrap();
    let foreign = b.keys.relin().unwrap().to(&ring).unwrap();
    refused(x.pair().tensor(x.pair()).unwrap().relinearize(&foreign, 1), b.id, a.id);
    refused(mixed.insert_relin(foreign), b.id, a.id);
    assert!(ev.mul(&x, &x, &mixed).is_ok());
    assert!(ev.rotate(&x, 1, &mixed).is_ok());
    // More keys of another secret.
    refused(mixed.add_galois(&b.secret, [31], &mut rng(5)), b.id, a.id);
    refused(mixed.add_relin(&b.secret, &mut rng(5)), b.id, a.id);

    // A ciphertext and a secret.
    let decryptor = ckks::Decryptor::new(&params, &b.secret, &ring).unwrap();
    refused(decryptor.decrypt(&x), a.id, b.id);

    // A ciphertext stays in its key set, whatever is done to it.
    let home = ring_of(params.rlwe().ring());
    for result in [
        x.duplicate(),
        x.slice_batch(0..1),
        ckks::Ciphertext::concat(&[&x, &x]),
        x.to(&home),
        ev.add(&x, &x),
        ev.neg(&x),
        ev.add_plain(&x, &plain),
        ev.mul_plain(&x, &plain),
        ev.mul_scalar(&x, 0.5),
        ev.mul_integer(&x, 3),
        ev.plain_combination(&[(&x, &plain)]),
        ev.mod_switch_to(&x, 0),
        ev.drop_to_level(&x, 1),
        ev.rescale(&x),
        ev.mul(&x, &x, &a.keys),
        ev.rotate(&x, 3, &a.keys),
        ev.conjugate(&x, &a.keys),
        ev.sum_of_rotations(&x, &[(0, 0.5), (1, 0.5), (3, 0.5)], &a.keys),
        ev.inner_sum(&x, 4, &a.keys),
        ckks::scatter(std::slice::from_ref(&ring), &x, |_, x| Ok(x)),
    ] {
        assert_eq!(result.unwrap().key_set(), Some(a.id));
    }

    // An object without a key set can be combined with all, and takes the set of the other operand.
    let mut anybody = x.duplicate().unwrap();
    anybody.set_key_set(None);
    assert_eq!(anybody.duplicate().unwrap().key_set(), None);
    for (left, right) in [(&anybody, &y), (&y, &anybody)] {
        assert_eq!(ev.add(left, right).unwrap().key_set(), Some(b.id));
    }
    assert_eq!(ev.mul(&anybody, &anybody, &b.keys).unwrap().key_set(), Some(b.id));
    assert!(decryptor.decrypt(&anybody).is_ok());
    // An application's name for a set.
    let name = KeySetId::from_bytes([7; 16]);
    let mut named = Rlwe::new(params.rlwe(), &ring, 1);
    named.secret.set_key_set(name);
    let public = PublicKey::generate(&named.secret, &ring, &mut rng(2)).unwrap();
    assert_eq!(public.key_set(), Some(name));
    refused(named.keys.add_galois(&named.secret, [31], &mut rng(5)), name, a.id);
    named.keys.set_key_set(Some(name));
    named.keys.add_galois(&named.secret, [31], &mut rng(5)).unwrap();
    assert!(named.keys.galois_keys().all(|(_, key)| key.key_set() == Some(name)));
}

fn exact<S: Scheme>() {
    let spec = ExactSpec::from_bits(5, &[50, 50, 50], &[55], 257).unwrap();
    let params = Params::<S>::insecure(spec).unwrap();
    let ring = ring_of(params.rlwe().ring());
    let [a, b] = [1, 2].map(|seed| Rlwe::new(params.rlwe(), &ring, seed));
    let ev = exact::Evaluator::new(&params, &ring).unwrap();
    let plain = ev.encoder().encode(&[3i64, -5]).unwrap();
    let encrypt = |set: &Rlwe| {
        let encryptor = exact::Encryptor::<S, Cpu>::new(&params, &set.public).unwrap();
        encryptor.encrypt(&plain, &mut rng(3)).unwrap()
    };
    let (x, y) = (encrypt(&a), encrypt(&b));
    assert_eq!((x.key_set(), y.key_set()), (Some(a.id), Some(b.id)));
    let seeded = exact::SecretEncryptor::<S, Cpu>::new(&params, &a.secret, &ring).unwrap();
    let seeded = seeded.encrypt(&plain, &mut rng(4)).unwrap();
    assert_eq!((seeded.key_set(), seeded.expand().unwrap().key_set()), (Some(a.id), Some(a.id)));
    refused(ev.add(&x, &y), b.id, a.id);
    refused(ev.sub(&x, &y), b.id, a.id);
    refused(ev.tensor(&x, &y), b.id, a.id);
    refused(ev.mul(&x, &y, &a.keys), b.id, a.id);
    refused(exact::Ciphertext::concat(&[&x, &y]), b.id, a.id);
    let key = SwitchKey::generate(&a.secret, &b.secret, params.rlwe(), &ring, &mut rng(5)).unwrap();
    refused(ev.switch(&y, &key), b.id, a.id);
    let switched = ev.switch(&x, &key).unwrap();
    assert_eq!(switched.key_set(), Some(b.id));
    assert!(switched.noise().rms_log2 > x.noise().rms_log2);
    let decryptor = exact::Decryptor::<S, Cpu>::new(&params, &b.secret, &ring).unwrap();
    assert!(decryptor.decrypt(&switched).unwrap() == decryptor.decrypt(&y).unwrap());
    // The prediction holds.
    let budget = decryptor.noise_budget(&switched).unwrap()[0];
    assert!(budget >= switched.predicted_budget(&params), "{budget}");
    let (mut p, q) = (ev.tensor(&x, &x).unwrap(), ev.tensor(&y, &y).unwrap());
    refused(ev.add_products(&mut p, &q), b.id, a.id);
    refused(ev.sub_products(&mut p, &q), b.id, a.id);
    refused(ev.relinearize(&p, &b.keys), b.id, a.id);
    refused(ev.mul(&x, &x, &b.keys), b.id, a.id);
    for step in [0, 1, 3] {
        refused(ev.rotate(&x, step, &b.keys), b.id, a.id);
        refused(ev.rotate_many(&x, &[step], &b.keys), b.id, a.id);
    }
    refused(ev.swap_rows(&x, &b.keys), b.id, a.id);
    refused(ev.inner_sum(&x, 4, &b.keys), b.id, a.id);
    let decryptor = exact::Decryptor::<S, Cpu>::new(&params, &b.secret, &ring).unwrap();
    refused(decryptor.decrypt(&x), a.id, b.id);
    refused(decryptor.decrypt_message(&x), a.id, b.id);
    refused(decryptor.noise_budget(&x), a.id, b.id);
    for result in [
        x.duplicate(),
        x.slice_batch(0..1),
        exact::Ciphertext::concat(&[&x, &x]),
        x.to(&ring_of(params.rlwe().ring())),
        ev.add(&x, &ev.mod_switch_to(&x, 1).unwrap()),
        ev.neg(&x),
        ev.add_plain(&x, &plain),
        ev.mul_plain(&x, &plain),
        ev.add_scalar(&x, 3),
        ev.mul_scalar(&x, 3),
        ev.mod_switch_to(&x, 0),
        ev.mul(&x, &x, &a.keys),
        ev.rotate(&x, 3, &a.keys),
        ev.swap_rows(&x, &a.keys),
    ] {
        assert_eq!(result.unwrap().key_set(), Some(a.id));
    }
}

#[test]
fn bfv_and_bgv() {
    exact::<Bfv>();
    exact::<Bgv>();
}

#[test]
fn bigckks() {
    use bigckks::{
        BigCkksParams, BigCkksSpec, Ciphertext, Decryptor, Encryptor, Evaluator, SecretDistribution,
    };
    for secret in [SecretDistribution::UniformTernary, SecretDistribution::Sparse { weight: 5 }] {
        let spec = BigCkksSpec::new(5, 100, 25).with_secret(secret);
        let params = BigCkksParams::insecure(spec).unwrap();
        let ring = ring_of(params.ring());
        let make = |seed| {
            let rng = &mut rng(seed);
            let secret = bigckks::SecretKey::generate(&params, rng);
            let public = bigckks::PublicKey::generate(&secret, &ring, rng).unwrap();
            let keys = bigckks::EvaluationKeys::generate(
                &secret,
                &ring,
                KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation(),
                rng,
            )
            .unwrap();
            let id = secret.key_set();
            assert_eq!((public.key_set(), keys.key_set()), (Some(id), Some(id)));
            assert!(keys.galois_keys().all(|(_, key)| key.key_set() == Some(id)));
            (secret, public, keys, id)
        };
        let (secret_a, public_a, keys_a, a) = make(1);
        let (secret_b, public_b, mut keys_b, b) = make(2);
        assert_ne!(a, b);
        let ev = Evaluator::new(&params, &ring).unwrap();
        let plain = ev.encoder().encode_real(&[0.5, -0.25], params.encoding()).unwrap();
        let encrypt = |key| Encryptor::new(&params, key).unwrap().encrypt(&plain, &mut rng(3)).unwrap();
        let (x, y) = (encrypt(&public_a), encrypt(&public_b));
        assert_eq!((x.key_set(), y.key_set()), (Some(a), Some(b)));
        refused(ev.add(&x, &y), b, a);
        refused(ev.sub(&x, &y), b, a);
        refused(ev.tensor(&x, &y), b, a);
        refused(ev.mul(&x, &y, &keys_a), b, a);
        refused(Ciphertext::concat(&[&x, &y]), b, a);
        let (mut p, q) = (ev.tensor(&x, &x).unwrap(), ev.tensor(&y, &y).unwrap());
        refused(ev.add_products(&mut p, &q), b, a);
        refused(ev.relinearize(&p, &keys_b), b, a);
        refused(ev.mul(&x, &x, &keys_b), b, a);
        for step in [0, 1, 3] {
            refused(ev.rotate(&x, step, &keys_b), b, a);
        }
        refused(ev.conjugate(&x, &keys_b), b, a);
        refused(Decryptor::new(&params, &secret_b, &ring).unwrap().decrypt(&x), a, b);
        refused(keys_b.add_relin(&secret_a, &mut rng(5)), a, b);
        refused(keys_b.add_galois(&secret_a, [31], &mut rng(5)), a, b);
        refused(keys_b.insert_relin(keys_a.relin().unwrap().to(&ring).unwrap()), a, b);
        refused(keys_b.insert_galois(31, keys_a.relin().unwrap().to(&ring).unwrap()), a, b);
        for result in [
            x.duplicate(),
            x.slice_batch(0..1),
            Ciphertext::concat(&[&x, &x]),
            x.to(&ring_of(params.ring())),
            ev.add(&x, &x),
            ev.neg(&x),
            ev.add_plain(&x, &plain),
            ev.mul_plain(&x, &plain),
            ev.mul_scalar(&x, 0.5, 20),
            ev.mul_integer(&x, -3),
            ev.rescale(&x, 10),
            ev.drop_to_bits(&x, 60),
            ev.scale_up(&x, 10),
            ev.mul(&x, &x, &keys_a),
            ev.rotate(&x, 3, &keys_a),
            ev.conjugate(&x, &keys_a),
        ] {
            assert_eq!(result.unwrap().key_set(), Some(a));
        }
        let mut anybody = x.duplicate().unwrap();
        anybody.set_key_set(None);
        assert_eq!(ev.add(&anybody, &y).unwrap().key_set(), Some(b));
    }
}

#[test]
fn tfhe() {
    let cpu = &Cpu::new();
    let params = presets::insecure_small().unwrap();
    let make = |seed| {
        let rng = &mut rng(seed);
        let secret = TfheSecretKey::generate(&params, rng);
        let key = BootstrapKey::generate(&secret, rng);
        assert_eq!(key.key_set(), Some(secret.key_set()));
        assert_eq!(key.clone().key_set(), key.key_set());
        (secret, key)
    };
    let ((secret_a, key_a), (secret_b, _)) = (make(1), make(2));
    let (a, b) = (secret_a.key_set(), secret_b.key_set());
    assert_ne!(a, b);
    let rng = &mut rng(3);
    let x = secret_a.encrypt_bits(cpu, &[true, false], rng).unwrap();
    let y = secret_b.encrypt_bits(cpu, &[true, false], rng).unwrap();
    assert_eq!((x.key_set(), y.key_set()), (Some(a), Some(b)));
    let gates = GateEvaluator::new(cpu, &key_a).unwrap();
    refused(gates.nand(&x, &y), b, a);
    refused(gates.nand(&y, &y), b, a);
    refused(gates.not(&y), b, a);
    refused(gates.mux(&x, &x, &y), b, a);
    refused(secret_b.decrypt_bits(&x), a, b);
    refused(LweBatch::concat(&[x.ciphertexts(), y.ciphertexts()]), b, a);
    let nand = gates.nand(&x, &x).unwrap();
    assert_eq!(nand.key_set(), Some(a));
    assert_eq!(secret_a.decrypt_bits(&nand).unwrap(), [false, true]);
    // Constants belong to every key set.
    let ones = gates.constant(true, 2).unwrap();
    assert_eq!(gates.and(&ones, &x).unwrap().key_set(), Some(a));

    let ints = IntegerEvaluator::new(cpu, &key_a, Carry::Ripple).unwrap();
    let values = [BigUint::from(200u8), BigUint::from(3u8)];
    let u = secret_a.encrypt_uint(cpu, &values, 8, rng).unwrap();
    let v = secret_b.encrypt_uint(cpu, &values, 8, rng).unwrap();
    refused(ints.add(&u, &v), b, a);
    refused(ints.sub(&v, &v), b, a);
    refused(ints.lt(&u, &v), b, a);
    refused(ints.eq(&v, &v), b, a);
    refused(ints.min_max(&u, &v), b, a);
    refused(secret_b.decrypt_uint(&u), a, b);
    let less = ints.lt(&u, &ints.constant(&[BigUint::from(9u8), BigUint::from(9u8)], 8).unwrap()).unwrap();
    assert_eq!(less.key_set(), Some(a));
    assert_eq!(secret_a.decrypt_flags(&less).unwrap(), [false, true]);
    refused(secret_b.decrypt_flags(&less), a, b);
    let mut foreign = EncryptedFlags::from_ciphertexts(secret_b.encrypt(cpu, &[0, 0], rng).unwrap());
    refused(ints.select(&foreign, &u, &u), b, a);
    assert_eq!(ints.select(&less, &u, &u).unwrap().key_set(), Some(a));

    // Encryptions by a public key belong to the secret key's set.
    let public = CompactPublicKey::generate(&secret_a, rng);
    assert_eq!(public.key_set(), Some(a));
    let list = public.encrypt_u64(&[200, 3], 8, rng).unwrap();
    assert_eq!(list.key_set(), Some(a));
    let w = list.expand(cpu).unwrap();
    assert_eq!(ints.add(&u, &w).unwrap().key_set(), Some(a));
    refused(ints.add(&v, &w), a, b);
    refused(secret_b.decrypt_uint(&w), a, b);

    // Set by hand, and forgotten.
    foreign.set_key_set(None);
    assert!(ints.select(&foreign, &u, &u).is_ok());
    let mut gone = EncryptedUint::from_ciphertexts(v.ciphertexts().part(0..8).unwrap(), 8).unwrap();
    assert_eq!(gone.key_set(), Some(b));
    gone.set_key_set(Some(a));
    assert!(ints.add(&gone, &u).is_ok());
    let words = x.ciphertexts().download().unwrap();
    let bits = EncryptedBits::from_ciphertexts(LweBatch::upload(cpu, &params, &words).unwrap());
    assert_eq!(bits.key_set(), None);
    assert_eq!(secret_a.decrypt_bits(&bits).unwrap(), [true, false]);
}
