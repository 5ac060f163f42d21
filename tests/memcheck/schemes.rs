//! The five schemes: key generation, encryption, decryption and decoding, for every set of
//! instructions that valgrind knows. Keys of servers and ciphertexts become public as frames.

use super::Secret;
use super::valgrind::{public, secret};
use he::Publisher;
use he::aes::{Key, KeySize};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{self, BigCkksParams, BigCkksSpec, SecretDistribution};
use he::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he::ckks::{self, CkksParams, CkksSpec, Complex64, LevelGroup};
use he::exact::{self, DECRYPTION_MARGIN, ExactSpec, Scheme};
use he::mhe::{
    Aggregate, Decryption, Digest, EphemeralKey, GaloisKeyGeneration, PartyKey, Protocol,
    PublicKeyGeneration, RecipientKey, ReencryptionKey, Refresh, RelinearisationRound1,
    RelinearisationRound2, SecretShare, Session, Share, ShareKind, ThresholdAggregate, ThresholdKey,
    Transcript,
};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, RlweParams, SecretKey};
use he::switching::{FromTfheKey, FromTfheParams, SwitchingParams, ToTfheKey};
use he::tfhe::{
    BootstrapKey, CircuitKey, CircuitParams, CircuitSpec, CompactPublicKey, TfheParams, TfheSecretKey,
    TfheSpec, presets,
};
use he::transcipher::EncryptedAesKey;
use he::transcipher::packed::PackedAesKey;
use he::wire::{SchemeParams, Wire};

/// Small rings: what a branch depends on does not depend on their size.
const LOG_N: u32 = 6;

/// The object as it is read by someone to whom it was sent.
fn sent<P, T: Wire<P>>(params: &P, place: T::Place<'_>, object: &T) -> T {
    let mut frame = object.to_frame(params).unwrap();
    public(&mut frame.body);
    T::from_frame(params, place, &frame).unwrap()
}

/// The secret key as its owner writes and reads it.
fn stored<P, T: for<'a> Wire<P, Place<'a> = ()>>(params: &P, key: &T) -> T {
    T::from_frame(params, (), &key.to_frame(params).unwrap()).unwrap()
}

/// Values as decrypted, once they are shown.
fn shown<T>(mut values: Vec<T>) -> Vec<T> {
    public(&mut values);
    values
}

fn close(found: &[f64], expected: &[f64], error: f64) {
    assert!(found.len() >= expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < error, "slot {i}: {found}, {expected}");
    }
}

fn needs() -> KeyRequirements {
    KeyRequirements::new().relinearisation().rotations([1]).conjugation()
}

/// The keys of a scheme over RNS rings.
fn rlwe_keys<P: SchemeParams>(
    params: &P,
    rlwe: &RlweParams,
    ring: &Ring<Cpu>,
    rng: &mut Secret,
) -> (SecretKey, PublicKey<Cpu>, EvaluationKeys<Cpu>)
where
    PublicKey<Cpu>: for<'a> Wire<P, Place<'a> = &'a Ring<Cpu>>,
    SecretKey: for<'a> Wire<P, Place<'a> = ()>,
{
    let secret = stored(params, &SecretKey::generate(rlwe, rng));
    let public = sent(params, ring, &PublicKey::generate(&secret, ring, rng).unwrap());
    let keys = EvaluationKeys::generate(&secret, ring, needs(), rng).unwrap();
    (secret, public, keys)
}

fn ckks(cpu: &Cpu, bits: u32) {
    let mut rng = Secret::new(u64::from(bits));
    let spec = CkksSpec::from_bits(LOG_N, &[bits + 5, bits], &[60.min(bits + 6)], f64::from(bits)).unwrap();
    let params = CkksParams::insecure(spec).unwrap();
    let ring = Ring::new(cpu.clone(), params.rlwe().ring().clone()).unwrap();
    let (key, public_key, _) = rlwe_keys(&params, params.rlwe(), &ring, &mut rng);
    let encoder = ckks::Encoder::new(&params, &ring).unwrap();
    let decryptor = ckks::Decryptor::new(&params, &key, &ring).unwrap();
    let encryptor = ckks::Encryptor::new(&params, &public_key).unwrap();
    let values: Vec<f64> = (0..params.slots()).map(|i| i as f64 / 17.0 - 0.9).collect();
    let mut message = values.clone();
    secret(&mut message);
    let plain = encoder.encode_real(&message, params.encoding()).unwrap();
    let ct = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap());
    let found = encoder.decode_real(&decryptor.decrypt(&ct).unwrap()).unwrap().concat();
    close(&shown(found), &values, 1e-3);
    let encryptor = ckks::SecretEncryptor::new(&params, &key, &ring).unwrap();
    let ct = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap());
    let flooded = decryptor.decrypt_flooded(&ct, Flooding::Bits(bits - 8), &mut rng).unwrap();
    close(&shown(encoder.decode_real(&flooded).unwrap().concat()), &values, 0.3);
}

#[test]
fn ckks_of_30_bits() {
    Cpu::all().for_each(|cpu| ckks(&cpu, 30));
}

#[test]
fn ckks_of_45_bits() {
    Cpu::all().for_each(|cpu| ckks(&cpu, 45));
}

#[test]
fn ckks_of_54_bits() {
    Cpu::all().for_each(|cpu| ckks(&cpu, 54));
}

/// Encoding and decoding in numbers of 106 bits.
#[test]
fn ckks_of_70_bits() {
    let mut rng = Secret::new(70);
    let group = LevelGroup { levels: 2, scale_log2: 70.0 };
    let spec = CkksSpec::from_level_bits(LOG_N, &[50, 40], &[vec![35, 35]], &[55], &[group]).unwrap();
    let params = CkksParams::insecure(spec).unwrap();
    for cpu in Cpu::all() {
        let ring = Ring::new(cpu, params.rlwe().ring().clone()).unwrap();
        let (key, public_key, _) = rlwe_keys(&params, params.rlwe(), &ring, &mut rng);
        let (encryptor, decryptor) = (
            ckks::Encryptor::new(&params, &public_key).unwrap(),
            ckks::Decryptor::new(&params, &key, &ring).unwrap(),
        );
        let values = vec![0.25, -1.5, 3.0];
        let mut message = values.clone();
        secret(&mut message);
        let ct = sent(&params, &ring, &encryptor.encrypt_real(&message, &mut rng).unwrap());
        close(&shown(decryptor.decrypt_real(&ct).unwrap()), &values, 1e-12);
    }
}

/// Keys of a sparse secret that exists for them alone.
#[test]
fn bootstrapping_keys() {
    let spec = BootstrapSpec {
        log_n: 8,
        log_slots: 1,
        base_bits: 46,
        base_scale_log2: 36.0,
        slots_to_coeffs: vec![38],
        program: LevelRun::new(1, 36.0, &[36]),
        join: None,
        eval_mod_levels: vec![LevelRun::new(3, 46.0, &[46])],
        coeffs_to_slots: LevelRun::new(1, 46.0, &[46]),
        special: vec![47; 2],
        slots_to_coeffs_special: 1,
        borrowed: vec![1],
        eval_mod: EvalModShape { bound: 1, degree: 6, doublings: 0, arcsine: false, focus: 0.5 },
        sparse_weight: 64,
    };
    let params = BootstrapParams::insecure(spec).unwrap();
    let mut rng = Secret::new(6);
    let key = SecretKey::generate(params.params().rlwe(), &mut rng);
    for cpu in Cpu::all() {
        let ring = params.ring(cpu).unwrap();
        BootstrapKeys::generate(&key, &params, &ring, &mut rng).unwrap();
    }
}

fn exact<S: Scheme>(cpu: &Cpu, bits: u32, t: u64)
where
    exact::Params<S>: SchemeParams,
    exact::Ciphertext<S, Cpu>: for<'a> Wire<exact::Params<S>, Place<'a> = &'a Ring<Cpu>>,
    PublicKey<Cpu>: for<'a> Wire<exact::Params<S>, Place<'a> = &'a Ring<Cpu>>,
    SecretKey: for<'a> Wire<exact::Params<S>, Place<'a> = ()>,
{
    let mut rng = Secret::new(t);
    let spec = ExactSpec::from_bits(LOG_N, &[bits, bits], &[60], t).unwrap();
    let params = exact::Params::<S>::insecure(spec).unwrap();
    let ring = Ring::new(cpu.clone(), params.rlwe().ring().clone()).unwrap();
    let (key, public_key, _) = rlwe_keys(&params, params.rlwe(), &ring, &mut rng);
    let encoder = exact::Encoder::new(&params).unwrap();
    let decryptor = exact::Decryptor::new(&params, &key, &ring).unwrap();
    let encryptor = exact::Encryptor::new(&params, &public_key).unwrap();
    let n = ring.n() as u64;
    let values: Vec<u64> = (0..n).map(|i| i * 5 % t).collect();
    let mut message = values.clone();
    secret(&mut message);
    let plain = encoder.encode(&message).unwrap();
    let ct = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap());
    let found = encoder.decode::<u64>(&decryptor.decrypt(&ct).unwrap()).unwrap().concat();
    assert_eq!(shown(found), values);
    let mut message: Vec<i64> = (0..n as i64).map(|i| i % 9 - 4).collect();
    secret(&mut message);
    let plain = encoder.encode_coefficients(&message).unwrap();
    let encryptor = exact::SecretEncryptor::new(&params, &key, &ring).unwrap();
    let ct = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap());
    let plain = decryptor.decrypt_checked(&ct, DECRYPTION_MARGIN).unwrap();
    assert_eq!(shown(encoder.decode_coefficients::<i64>(&plain).unwrap().concat()), shown(message));
}

#[test]
fn bfv() {
    for cpu in Cpu::all() {
        exact::<Bfv>(&cpu, 45, 257);
        exact::<Bfv>(&cpu, 58, 65537);
    }
}

#[test]
fn bgv() {
    for cpu in Cpu::all() {
        exact::<Bgv>(&cpu, 45, 257);
        exact::<Bgv>(&cpu, 58, 65537);
    }
}

fn bigckks(cpu: &Cpu, distribution: SecretDistribution) {
    let mut rng = Secret::new(4);
    let spec = BigCkksSpec { secret: distribution, ..BigCkksSpec::new(LOG_N, 150, 40) };
    let params = BigCkksParams::insecure(spec).unwrap();
    let ring = Ring::new(cpu.clone(), params.ring().clone()).unwrap();
    let key = stored(&params, &bigckks::SecretKey::generate(&params, &mut rng));
    let public_key = sent(&params, &ring, &bigckks::PublicKey::generate(&key, &ring, &mut rng).unwrap());
    bigckks::EvaluationKeys::generate(&key, &ring, needs(), &mut rng).unwrap();
    let encoder = bigckks::Encoder::new(&params, &ring).unwrap();
    let encryptor = bigckks::Encryptor::new(&params, &public_key).unwrap();
    let decryptor = bigckks::Decryptor::new(&params, &key, &ring).unwrap();
    let values: Vec<f64> = (0..params.slots()).map(|i| 0.8 - i as f64 / 23.0).collect();
    let mut message: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, -x)).collect();
    secret(&mut message);
    let plain = encoder.encode(&message, params.encoding()).unwrap();
    let ct = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap());
    let found = encoder.decode_real(&decryptor.decrypt(&ct).unwrap()).unwrap().concat();
    close(&shown(found), &values, 1e-3);
    let flooded = decryptor.decrypt_flooded(&ct, Flooding::Bits(100), &mut rng).unwrap();
    shown(encoder.decode_real(&flooded).unwrap().concat());
}

#[test]
fn bigckks_of_uniform_secrets() {
    Cpu::all().for_each(|cpu| bigckks(&cpu, SecretDistribution::UniformTernary));
}

#[test]
fn bigckks_of_sparse_secrets() {
    Cpu::all().for_each(|cpu| bigckks(&cpu, SecretDistribution::Sparse { weight: 16 }));
}

#[test]
fn tfhe() {
    let mut rng = Secret::new(5);
    let (params, cpu) = (presets::insecure_small().unwrap(), Cpu::new());
    let key = stored(&params, &TfheSecretKey::generate(&params, &mut rng));
    BootstrapKey::generate(&key, &mut rng);
    BootstrapKey::generate_multi_bit(&key, 4, &mut rng).unwrap();
    let bits = vec![true, false, true, true];
    let mut message = bits.clone();
    secret(&mut message);
    let ct = sent(&params, &cpu, &key.encrypt_bits(&cpu, &message, &mut rng).unwrap());
    assert_eq!(shown(key.decrypt_bits(&ct).unwrap()), bits);
    let ct = sent(&params, (), &key.encrypt_bits_seeded(&message, &mut rng).unwrap());
    assert_eq!(shown(key.decrypt_bits(&ct.expand(&cpu).unwrap()).unwrap()), bits);
    let numbers = vec![0u64, 77, 65535];
    let mut message = numbers.clone();
    secret(&mut message);
    let ct = sent(&params, &cpu, &key.encrypt_u64(&cpu, &message, 16, &mut rng).unwrap());
    assert_eq!(shown(key.decrypt_u64(&ct).unwrap()), numbers);
    let mut flags = vec![true, false];
    secret(&mut flags);
    let ct = key.encrypt_flags(&cpu, &flags, &mut rng).unwrap();
    assert_eq!(shown(key.decrypt_flags(&ct).unwrap()), [true, false]);
    // A decryption that fails says so without saying where.
    let mut wrong = key.encrypt(&cpu, &[3 << 61], &mut rng).unwrap();
    wrong.set_key_set(None);
    assert!(key.decrypt_bits(&he::tfhe::EncryptedBits::from_ciphertexts(wrong)).is_err());
}

/// The public key, and its compact lists of everything that the secret key encrypts, too.
#[test]
fn public_keys_of_tfhe() {
    let mut rng = Secret::new(6);
    for glwe_dimension in [1, 3] {
        let spec = TfheSpec { glwe_dimension, log_degree: 6, ..*presets::insecure_small().unwrap().spec() };
        let (params, cpu) = (TfheParams::insecure(spec).unwrap(), Cpu::new());
        let key = stored(&params, &TfheSecretKey::generate(&params, &mut rng));
        let public_key = sent(&params, (), &CompactPublicKey::generate(&key, &mut rng));
        let bits = vec![true, false, true, true];
        let mut message = bits.clone();
        secret(&mut message);
        let list = sent(&params, (), &public_key.encrypt_bits(&message, &mut rng).unwrap());
        assert_eq!(shown(key.decrypt_bits(&list.expand(&cpu).unwrap()).unwrap()), bits);
        let list = sent(&params, (), &public_key.encrypt_flags(&message, &mut rng).unwrap());
        assert_eq!(shown(key.decrypt_flags(&list.expand(&cpu).unwrap()).unwrap()), bits);
        // 96 digits under two masks.
        let numbers = vec![0u64, 77, u64::MAX];
        let mut message = numbers.clone();
        secret(&mut message);
        let list = sent(&params, (), &public_key.encrypt_u64(&message, 64, &mut rng).unwrap());
        assert_eq!(shown(key.decrypt_u64(&list.expand(&cpu).unwrap()).unwrap()), numbers);
        let numbers = vec![0i64, -77, i64::from(i16::MAX)];
        let mut message = numbers.clone();
        secret(&mut message);
        let list = sent(&params, (), &public_key.encrypt_i64(&message, 16, &mut rng).unwrap());
        assert_eq!(shown(key.decrypt_i64(&list.expand(&cpu).unwrap()).unwrap()), numbers);
    }
}

/// The key of circuit bootstrapping, and an AES key under TFHE.
#[test]
fn transciphering_keys() {
    let mut rng = Secret::new(8);
    let spec = TfheSpec { log_degree: 5, ..*presets::insecure_small().unwrap().spec() };
    let tfhe = TfheParams::insecure(spec).unwrap();
    let params = CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap();
    let key = stored(&tfhe, &TfheSecretKey::generate(&tfhe, &mut rng));
    sent(&tfhe, (), &CircuitKey::generate(&key, &params, &mut rng).unwrap());
    for size in KeySize::ALL {
        let aes = Key::generate(size, &mut rng);
        sent(&tfhe, (), &EncryptedAesKey::generate(&key, &aes, &mut rng).unwrap());
    }
    let mut bits = vec![true, false];
    secret(&mut bits);
    let ct = key.encrypt_unpadded(&Cpu::new(), &bits, &mut rng).unwrap();
    assert_eq!(shown(key.decrypt_unpadded(&ct).unwrap()), [true, false]);
}

/// An AES key under CKKS, of which every round key takes 64 slots.
#[test]
fn packed_aes_keys() {
    let mut rng = Secret::new(9);
    let params = CkksParams::insecure(CkksSpec::from_bits(7, &[46, 40], &[50], 40.0).unwrap()).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let key = stored(&params, &SecretKey::generate(params.rlwe(), &mut rng));
    for size in KeySize::ALL {
        let aes = Key::generate(size, &mut rng);
        let encrypted = PackedAesKey::generate(&params, &key, &ring, &aes, &mut rng).unwrap();
        sent(&params, &ring, encrypted.ciphertexts());
    }
}

/// Keys between CKKS and TFHE, which hold the secrets of both.
#[test]
fn switching_keys() {
    let mut rng = Secret::new(7);
    let params = CkksParams::insecure(CkksSpec::from_bits(LOG_N, &[46, 40], &[50], 40.0).unwrap()).unwrap();
    let spec = TfheSpec { log_degree: 5, ..*presets::insecure_small().unwrap().spec() };
    let tfhe = TfheParams::insecure(spec).unwrap();
    let to = SwitchingParams::insecure(params.rlwe(), 1, &tfhe).unwrap();
    let from = FromTfheParams::new(&tfhe, params.rlwe()).unwrap();
    let key = stored(&params, &SecretKey::generate(params.rlwe(), &mut rng));
    let torus_key = stored(&tfhe, &TfheSecretKey::generate(&tfhe, &mut rng));
    for cpu in Cpu::all() {
        let (ring, there) =
            (Ring::new(cpu.clone(), params.rlwe().ring().clone()).unwrap(), to.ring(cpu).unwrap());
        let sent_key = ToTfheKey::generate(&key, &torus_key, &to, &there, &mut rng).unwrap();
        sent(&to, &there, &sent_key);
        sent(&from, &ring, &FromTfheKey::generate(&torus_key, &key, &from, &ring, &mut rng).unwrap());
    }
}

/// The sum of shares that were sent.
fn summed<P: Protocol<Backend = Cpu>>(
    params: &exact::Params<Bfv>,
    protocol: &P,
    shares: impl IntoIterator<Item = Share<P::Kind, Cpu>>,
) -> P::Output
where
    P::Kind: ShareKind,
{
    let mut all = Aggregate::new(protocol);
    shares.into_iter().for_each(|share| all.add(&sent(params, protocol.ring(), &share)).unwrap());
    all.finish().unwrap()
}

/// Two parties: keys, what they deal, a decryption and a refresh; and a proxy.
#[test]
fn parties() {
    let mut rng = Secret::new(8);
    let spec = ExactSpec::from_bits(LOG_N, &[50, 50, 50], &[52], 257).unwrap();
    let params = exact::Params::<Bfv>::insecure(spec).unwrap().for_parties(2);
    for cpu in Cpu::all() {
        let ring = Ring::new(cpu, params.rlwe().ring().clone()).unwrap();
        let session = Session::new(params.rlwe(), [1, 2], 1, [9; 32]).unwrap();
        let keys = [1, 2].map(|party| {
            let key = PartyKey::generate(&session, party, &mut rng).unwrap();
            PartyKey::from_frame(&params, &session, &key.to_frame(&params).unwrap()).unwrap()
        });
        let run = PublicKeyGeneration::new(&session, &ring).unwrap();
        let public_key = summed(&params, &run, keys.each_ref().map(|key| run.share(key, &mut rng).unwrap()));
        let run = RelinearisationRound1::new(&session, &ring).unwrap();
        let first = keys.each_ref().map(|key| run.share(key, &mut rng).unwrap());
        let (shares, kept): (Vec<_>, Vec<_>) = first.into_iter().unzip();
        let sums = summed(&params, &run, shares);
        let run = RelinearisationRound2::new(&session, &ring, &sums).unwrap();
        let second = keys.iter().zip(kept).map(|(key, kept)| {
            let kept = kept.to_frame(&params).unwrap();
            let kept = EphemeralKey::from_frame(&params, &session, &kept).unwrap();
            run.share(key, kept, &mut rng).unwrap()
        });
        summed(&params, &run, second.collect::<Vec<_>>());
        let run = GaloisKeyGeneration::new(&session, &ring, 3).unwrap();
        summed(&params, &run, keys.each_ref().map(|key| run.share(key, &mut rng).unwrap()));

        let mut sum = ThresholdAggregate::new(&session, 2).unwrap();
        for key in &keys {
            let share = key.deal(&ring, &mut rng).unwrap().pop().unwrap().to_frame(&params).unwrap();
            sum.add(SecretShare::from_frame(&params, (&session, &ring), &share).unwrap()).unwrap();
        }
        let key = sum.finish().unwrap().to_frame(&params).unwrap();
        let key = ThresholdKey::from_frame(&params, (&session, &ring), &key).unwrap();
        let own = key.share(&[2]).unwrap();
        let encoder = exact::Encoder::new(&params).unwrap();
        let encryptor = exact::Encryptor::new(&params, &public_key).unwrap();
        let mut message = vec![5u64; 16];
        secret(&mut message);
        let plain = encoder.encode_coefficients(&message).unwrap();
        let x = sent(&params, &ring, &encryptor.encrypt(&plain, &mut rng).unwrap());
        let publisher = || Publisher::new(20, 4).unwrap();
        let flooding = publisher().flooding();
        let inputs = [(1, Digest::of(&x).unwrap())];
        let transcript =
            Transcript::recompute(&session, b"x", &inputs, || Ok::<_, he::Error>(vec![inputs[0].1]));
        let transcript = transcript.unwrap();
        let tag = transcript.tag(&keys[1]).unwrap();
        Transcript::kept(&session, b"x", &inputs, &[inputs[0].1], (&keys[1], &tag)).unwrap();
        let stated = [transcript.statement(1).unwrap()];
        let run = Decryption::new(&transcript, &params, &x, &[2], flooding).unwrap();
        let found = summed(&params, &run, [run.share(&own, &stated, &mut publisher(), &mut rng).unwrap()]);
        assert_eq!(found.coefficients()[..16], [5; 16]);
        let run = Refresh::new(&transcript, &params, &x, &[2], flooding, 0).unwrap();
        summed(&params, &run, [run.share(&own, &stated, &mut publisher(), &mut rng).unwrap()]);

        let theirs = SecretKey::generate(params.rlwe(), &mut rng);
        let to = sent(&params, &ring, &RecipientKey::generate(&theirs, &ring, &mut rng).unwrap());
        let key = ReencryptionKey::generate(keys[0].secret(), &to, &mut rng).unwrap();
        sent(&params, &ring, &key);
    }
}
