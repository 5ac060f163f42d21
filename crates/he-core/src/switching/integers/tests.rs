//! Integers before and after, at degrees that are quick.

use super::{IntegersToTfhe, NoiseSquasher, SlotTransform, SquashSpec, TfheToIntegers, limbs};
use crate::Publisher;
use crate::backend::Cpu;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::bootstrapping::BootstrapKeys;
use crate::error::Error;
use crate::exact::bootstrapping::BootstrapParams;
use crate::exact::{Ciphertext, Decryptor, Evaluator, ExactSpec, Params, Scheme, SecretEncryptor};
use crate::mhe::{Aggregate, Decryption, Session, Transcript};
use crate::params::ParamsError;
use crate::ring::{Poly, Ring, Span};
use crate::rlwe::{EvaluationKeys, Flooding, KeyRequirements, SecretKey};
use crate::switching::{FromTfheKey, SwitchingParams, ToTfheKey};
use crate::testing::seeded;
use crate::tfhe::{
    BootstrapKey, Carry, IntegerEvaluator, LweBatch, TfheParams, TfheSecretKey, TfheSpec, presets,
};
use rand::{RngExt, rngs::ChaCha20Rng};

/// A word of the torus between -1/2 and 1/2.
fn centred(word: u64) -> f64 {
    (word as i64) as f64 * 64f64.exp2().recip()
}

/// Three primes of programs.
fn params<S: Scheme>(log_n: u32, t: u64) -> Params<S> {
    Params::insecure(ExactSpec::from_bits(log_n, &[45; 3], &[50, 50], t).unwrap()).unwrap()
}

/// Both schemes' keys, and how to encrypt.
struct World<S: Scheme> {
    params: Params<S>,
    ring: Ring<Cpu>,
    tfhe: TfheParams,
    secret: SecretKey,
    torus: TfheSecretKey,
    ev: Evaluator<S, Cpu>,
    rng: ChaCha20Rng,
}

impl<S: Scheme> World<S> {
    fn new(params: Params<S>, tfhe: TfheParams) -> Self {
        let mut rng = seeded();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let torus = TfheSecretKey::generate(&tfhe, &mut rng);
        let ev = Evaluator::new(&params, &ring).unwrap();
        Self { params, ring, tfhe, secret, torus, ev, rng }
    }

    fn encrypt(&mut self, values: &[&[i64]]) -> Ciphertext<S> {
        let plain = self.ev.encoder().encode_coefficients_batch(values).unwrap();
        let encryptor = SecretEncryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        encryptor.encrypt(&plain, &mut self.rng).unwrap().expand().unwrap()
    }

    fn decryptor(&self) -> Decryptor<S, Cpu> {
        Decryptor::new(&self.params, &self.secret, &self.ring).unwrap()
    }

    fn decrypt(&self, ct: &Ciphertext<S>) -> Vec<i64> {
        let plain = self.decryptor().decrypt(ct).unwrap();
        self.ev.encoder().decode_coefficients(&plain).unwrap().remove(0)
    }

    /// A switch from that many primes, with its key.
    fn to(&mut self, base: usize) -> (SwitchingParams, Ring<Cpu>, ToTfheKey) {
        let switching = SwitchingParams::insecure(self.params.rlwe(), base, &self.tfhe).unwrap();
        let there = switching.ring(Cpu::new()).unwrap();
        let key = ToTfheKey::generate(&self.secret, &self.torus, &switching, &there, &mut self.rng).unwrap();
        (switching, there, key)
    }

    fn from(&mut self) -> (TfheToIntegers<S>, FromTfheKey) {
        let packer = TfheToIntegers::new(&self.params, &self.tfhe, &self.ring).unwrap();
        let key = packer.key_params();
        let key = FromTfheKey::generate(&self.torus, &self.secret, key, &self.ring, &mut self.rng).unwrap();
        (packer, key)
    }

    fn integers(&mut self) -> IntegerEvaluator<Cpu> {
        let boot = BootstrapKey::generate(&self.torus, &mut self.rng);
        IntegerEvaluator::new(&Cpu::new(), &boot, Carry::Ripple).unwrap()
    }

    /// Random integers of that many bits.
    fn values(&mut self, bits: usize) -> Vec<i64> {
        let half = 1i64 << (bits - 1);
        (0..self.ring.n()).map(|_| self.rng.random_range(-half..half)).collect()
    }

    /// The root mean square and the greatest of the differences between phases and what they should
    /// be, on the torus.
    fn errors(&self, samples: &LweBatch, expected: impl Fn(usize) -> f64) -> (f64, f64) {
        let phases = self.torus.phases(samples).unwrap();
        let errors = phases.iter().enumerate().map(|(i, &phase)| {
            let expected = ((expected(i) * 63f64.exp2()) as i64 as u64).wrapping_mul(2);
            centred(phase.wrapping_sub(expected))
        });
        let (squares, greatest) =
            errors.fold((0.0, 0.0f64), |(squares, most), e| (squares + e * e, most.max(e.abs())));
        ((squares / phases.len() as f64).sqrt(), greatest)
    }
}

/// Phases of every coefficient, of fresh ciphertexts and of products with a budget of a few bits,
/// from bases of one prime and of two, for plaintext moduli of all kinds.
fn coefficients_are_phases<S: Scheme>() {
    for (log_n, t, bits, base) in
        [(10, 256, 8, 1), (10, 1 << 16, 12, 2), (9, 257, 5, 1), (11, 65537, 12, 1), (9, 786_433, 14, 1)]
    {
        let mut w = World::<S>::new(params(log_n, t), presets::insecure_small().unwrap());
        let (switching, there, key) = w.to(base);
        let switcher = IntegersToTfhe::new(&w.params, &switching, &there, bits).unwrap();
        assert!(switcher.offset() == 0.0 || !t.is_power_of_two());
        let values = [w.values(bits), w.values(bits)];
        let x = w.encrypt(&[&values[0], &values[1]]);
        let n = w.ring.n();
        let all: Vec<usize> = (0..n).collect();
        let expected = |i: usize| values[i / n][i % n] as f64 / (bits as f64).exp2();
        // At the top and on the level of the switch, which in BGV have different factors.
        let lowered = w.ev.mod_switch_to(&x, base).unwrap();
        for x in [&x, &lowered] {
            let samples = switcher.switch(x, &all, &key).unwrap();
            assert_eq!(samples.key_set(), Some(w.torus.key_set()));
            let (rms, greatest) = w.errors(&samples, expected);
            let predicted = switcher.deviation_log2(x).unwrap().exp2();
            println!(
                "{} N = 2^{log_n}, t = {t}, {bits} bits, base {base}, level {}: 2^{:.2} of 2^{:.2}",
                S::NAME,
                x.level(),
                rms.log2(),
                predicted.log2()
            );
            assert!(rms < 1.15 * predicted && rms > 0.3 * predicted, "{rms:e}, predicted {predicted:e}");
            assert!(greatest < 7.0 * predicted, "{greatest:e}, predicted {predicted:e}");
        }
    }
}

#[test]
fn coefficients_of_bfv_are_phases() {
    coefficients_are_phases::<Bfv>();
}

#[test]
fn coefficients_of_bgv_are_phases() {
    coefficients_are_phases::<Bgv>();
}

/// There, where they are compared and multiplied, and back, where they are added.
fn integers_go_there_and_back<S: Scheme>(t: u64) {
    let mut w = World::<S>::new(params(9, t), presets::insecure_phases().unwrap());
    let (switching, there, to_key) = w.to(1);
    let (packer, from_key) = w.from();
    let evaluator = w.integers();
    let switcher = IntegersToTfhe::new(&w.params, &switching, &there, 8).unwrap();
    let (x, y) = (w.values(8), w.values(8));
    let [cx, cy] = [&x, &y].map(|values| w.encrypt(&[values]));
    let places = [0, 1, 7, 200, 511];
    let [tx, ty] = [&cx, &cy].map(|ct| switcher.integers(ct, &places, &to_key, &evaluator).unwrap());
    let at = |values: &[i64]| places.map(|i| values[i]);
    assert_eq!(w.torus.decrypt_i64(&tx).unwrap(), at(&x));
    let greater = evaluator.max(&tx, &ty).unwrap();
    let packed = packer.integers(&greater, &evaluator, &from_key).unwrap();
    assert_eq!((packed.level(), packed.key_set()), (0, Some(w.secret.key_set())));
    // A sum with another one on a higher level.
    let (at_place, half) = (|i| packer.coefficient(5, i), t as i64 / 2);
    let mut added = vec![0; w.ring.n()];
    (0..5).for_each(|i| added[at_place(i)] = 3 * i as i64);
    let added = w.encrypt(&[&added]);
    let found = w.decrypt(&w.ev.add(&packed, &added).unwrap());
    let (x, y) = (at(&x), at(&y));
    for (place, &found) in found.iter().enumerate() {
        let index = (0..5).find(|&i| at_place(i) == place);
        let expected = index.map_or(0, |i| x[i].max(y[i]) + 3 * i as i64);
        let expected = (expected + half).rem_euclid(t as i64) - half;
        assert_eq!(found, expected, "{} t = {t}, coefficient {place}", S::NAME);
    }
}

#[test]
fn integers_of_bfv_go_there_and_back() {
    integers_go_there_and_back::<Bfv>(65537);
    integers_go_there_and_back::<Bfv>(1 << 10);
}

#[test]
fn integers_of_bgv_go_there_and_back() {
    integers_go_there_and_back::<Bgv>(256);
    integers_go_there_and_back::<Bgv>(12289);
}

/// The noise of what is packed against its prediction, for phases of known noise.
fn packed_noise_is_predicted<S: Scheme>() {
    // Packing dominates with the small noise, phases with the large one.
    for (log_n, t, sigma) in [(10, 257u64, -45.0), (11, 64, -45.0), (9, 1000, -20.0), (10, 7, -14.0)] {
        let spec = *presets::insecure_small().unwrap().spec();
        let tfhe = TfheParams::insecure(TfheSpec { glwe_sigma_log2: sigma, ..spec }).unwrap();
        let mut w = World::<S>::new(params(log_n, t), tfhe);
        let (packer, key) = w.from();
        for count in [1, 100, 1 << log_n] {
            let messages: Vec<u64> = (0..count).map(|_| w.rng.random_range(0..t)).collect();
            let phases: Vec<u64> = messages.iter().map(|m| m.wrapping_mul(packer.unit())).collect();
            let samples = w.torus.encrypt(&Cpu::new(), &phases, &mut w.rng).unwrap();
            let packed = packer.pack(&samples, sigma, &key).unwrap();
            assert_eq!(packed.state(), packer.state(sigma, &key).unwrap());
            let mut values = vec![0i64; w.ring.n()];
            for (i, &m) in messages.iter().enumerate() {
                let m = m as i64;
                values[packer.coefficient(count, i)] = if 2 * m >= t as i64 { m - t as i64 } else { m };
            }
            assert_eq!(w.decrypt(&packed), values, "t = {t}");
            // The noise that the phase has beside the message.
            let secret = w.secret.on(&w.ring, Span::chain(1)).unwrap();
            let mut noise: Poly<_> = packed.pair().message(&secret).unwrap();
            let plain = w.ev.encoder().encode_coefficients(&values).unwrap();
            let message = plain.phase(&w.params, &w.ring, 1, packed.correction_factor()).unwrap();
            noise.sub_assign(&message).unwrap();
            let q = &w.params.rlwe().ring().q_moduli()[0];
            let noise: Vec<f64> = (noise.into_coeff().unwrap().to_words().unwrap().iter())
                .map(|&word| q.center(word) as f64)
                .collect();
            let rms = (noise.iter().map(|e| e * e).sum::<f64>() / noise.len() as f64).sqrt().log2();
            let peak = noise.iter().fold(0.0f64, |most, e| most.max(e.abs())).log2();
            let predicted = packed.noise();
            println!(
                "{} N = 2^{log_n}, t = {t}, {count}: 2^{rms:.2} of 2^{:.2}, budget {:.2} of {:.2}",
                S::NAME,
                predicted.rms_log2,
                w.decryptor().noise_budget(&packed).unwrap()[0],
                packed.predicted_budget(&w.params)
            );
            assert!(rms < predicted.rms_log2 + 0.3 && peak < predicted.peak_log2);
            // Where some coefficients hold nothing, they have less noise.
            assert!(count < 1 << log_n || rms > predicted.rms_log2 - 0.5);
        }
    }
}

#[test]
fn packed_noise_of_bfv_is_predicted() {
    packed_noise_is_predicted::<Bfv>();
}

#[test]
fn packed_noise_of_bgv_is_predicted() {
    packed_noise_is_predicted::<Bgv>();
}

/// The most bits that the switch leaves of secure parameters.
#[test]
fn bits_at_secure_parameters_are_as_stated() {
    let tfhe = presets::phases_2m128().unwrap();
    for (log_n, t, expected) in [(13, 1 << 16, 15), (13, 65537, 14), (15, 1 << 16, 14), (15, 786_433, 14)] {
        let params = Params::<Bfv>::for_depth(t, 2).log_n(log_n).build().unwrap();
        let switching = SwitchingParams::new(params.rlwe(), 1, &tfhe).unwrap();
        let there = switching.ring(Cpu::new()).unwrap();
        let fits = |bits: usize| IntegersToTfhe::new(&params, &switching, &there, bits).is_ok();
        let found = (1..=20).rev().find(|&bits| fits(bits));
        println!("N = 2^{log_n}, t = {t}: {found:?} bits, 2^{:.2}", switching.noise_log2());
        assert_eq!(found, Some(expected), "N = 2^{log_n}, t = {t}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut w = World::<Bgv>::new(params(10, 65537), presets::insecure_small().unwrap());
    let (switching, there, key) = w.to(1);
    let highest = |params: &Params<Bgv>, bits: usize| {
        let switching = SwitchingParams::insecure(params.rlwe(), 1, &w.tfhe).unwrap();
        let there = switching.ring(Cpu::new()).unwrap();
        match IntegersToTfhe::new(params, &switching, &there, bits) {
            Err(Error::InvalidParams(ParamsError::OutOfRange { found, highest, .. }))
                if found == bits as f64 =>
            {
                highest
            }
            other => panic!("{bits} bits: {other:?}"),
        }
    };
    // The switch leaves a deviation of 2^-20.7, hence integers of 17 bits, where t has as many. The
    // one beyond 2^16 takes a bit.
    assert_eq!(highest(&params(10, 1 << 16), 17), 16.0);
    assert_eq!(highest(&w.params, 0), 15.0);
    assert_eq!(highest(&w.params, 16), 15.0);
    assert_eq!(highest(&params(10, 1 << 20), 18), 17.0);
    assert_eq!(highest(&params(10, 1 << 20), 4000), 17.0);
    // 6144.5 is next to no multiple of 2^12.
    assert_eq!(highest(&params(10, 12289), 13), 12.0);

    let switcher = IntegersToTfhe::new(&w.params, &switching, &there, 8).unwrap();
    let x = w.encrypt(&[&[1, 2, 3]]);
    let n = w.ring.n();
    assert!(matches!(switcher.switch(&x, &[n], &key), Err(Error::Argument { .. })));
    let other = SwitchingParams::insecure(params::<Bgv>(9, 257).rlwe(), 1, &w.tfhe).unwrap();
    let elsewhere = other.ring(Cpu::new()).unwrap();
    assert!(matches!(
        IntegersToTfhe::new(&w.params, &other, &elsewhere, 8),
        Err(Error::ParamsMismatch { .. })
    ));
    assert!(matches!(IntegersToTfhe::new(&w.params, &switching, &w.ring, 8), Err(Error::RingMismatch)));
    // Another base, and a ciphertext below it.
    let (switching, there_of_two, wide) = w.to(2);
    assert!(matches!(switcher.switch(&x, &[0], &wide), Err(Error::Argument { .. })));
    let low = w.ev.mod_switch_to(&x, 0).unwrap();
    let higher = IntegersToTfhe::new(&w.params, &switching, &there_of_two, 8).unwrap();
    let found = higher.switch(&low, &[0], &wide);
    assert!(matches!(found, Err(Error::LevelExhausted { needed: 1, left: 0 })), "{found:?}");
    // A budget that holds t, but not the multiplier of BGV.
    assert!(switcher.switch(&x, &[0], &key).is_ok());
    let mut spent = w.ev.mod_switch_to(&x, 0).unwrap();
    while let Ok(more) = w.ev.mul_scalar(&spent, 3) {
        spent = more;
    }
    assert!(matches!(switcher.switch(&spent, &[0], &key), Err(Error::BudgetSpent { .. })));
    // Ciphertexts of others, and keys to others.
    let foreign = SecretKey::generate(w.params.rlwe(), &mut w.rng);
    let theirs = ToTfheKey::generate(&foreign, &w.torus, switcher.switching(), &there, &mut w.rng);
    assert!(matches!(switcher.switch(&x, &[0], &theirs.unwrap()), Err(Error::KeyMismatch { .. })));
    let mut strangers = World::<Bgv>::new(params(10, 257), presets::insecure_small().unwrap());
    let strange = strangers.encrypt(&[&[1]]);
    assert!(matches!(
        switcher.switch(&strange, &[0], &key),
        Err(Error::RingMismatch | Error::Argument { .. })
    ));

    // Back: a t that the noise leaves no room for, before any work.
    let (packer, key) = w.from();
    let samples = w.torus.encrypt(&Cpu::new(), &[0; 3], &mut w.rng).unwrap();
    assert!(packer.pack(&samples, -25.0, &key).is_ok());
    assert!(matches!(packer.pack(&samples, -19.0, &key), Err(Error::BudgetSpent { .. })));
    assert!(matches!(packer.state(-19.0, &key), Err(Error::BudgetSpent { .. })));
    let evaluator = w.integers();
    let x = w.torus.encrypt_i64(&Cpu::new(), &[1], 8, &mut w.rng).unwrap();
    assert!(matches!(packer.integers(&x, &evaluator, &key), Err(Error::BudgetSpent { .. })));
    let none = samples.part(0..0).unwrap();
    assert!(matches!(packer.pack(&none, -25.0, &key), Err(Error::BatchRange { .. })));
    let foreign = TfheSecretKey::generate(&w.tfhe, &mut w.rng);
    let theirs = foreign.encrypt(&Cpu::new(), &[0], &mut w.rng).unwrap();
    assert!(matches!(packer.pack(&theirs, -25.0, &key), Err(Error::KeyMismatch { .. })));
    assert!(matches!(TfheToIntegers::new(&w.params, &w.tfhe, &elsewhere), Err(Error::RingMismatch)));
    let gates = presets::gates_2m128().unwrap();
    assert!(matches!(TfheToIntegers::new(&w.params, &gates, &w.ring), Err(Error::InvalidParams(_))));
}

/// Integers of TFHE, squashed and decrypted by several parties, under a dealer's keys.
fn shared_decryption<S: Scheme>(
    boot: &BootstrapParams<S>,
    tfhe: &TfheParams,
    spec: SquashSpec,
    publisher: impl Fn() -> Publisher,
    values: &[u64],
) {
    let mut rng = seeded();
    let (params, ring) = (boot.params(), boot.ring(Cpu::new()).unwrap());
    let parties: Vec<u32> = (1..=spec.parties as u32).collect();
    let session = Session::new(params.rlwe(), parties.clone(), spec.parties, rng.random()).unwrap();
    let squasher = NoiseSquasher::new(boot, tfhe, &ring).unwrap();
    let torus = TfheSecretKey::generate(tfhe, &mut rng);
    let mut secret = SecretKey::generate(params.rlwe(), &mut rng);
    secret.set_key_set(session.key_set());
    let key_params = squasher.packer().key_params();
    let key = FromTfheKey::generate(&torus, &secret, key_params, &ring, &mut rng).unwrap();
    let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng).unwrap();
    let dealt = session.deal_secret(&secret, &ring, &mut rng).unwrap();

    let tfhe_key = BootstrapKey::generate(&torus, &mut rng);
    let integers = IntegerEvaluator::new(&Cpu::new(), &tfhe_key, Carry::Ripple).unwrap();
    let x = torus.encrypt_u64(&Cpu::new(), values, 16, &mut rng).unwrap();
    let x = limbs(&x, 8).unwrap();
    let start = std::time::Instant::now();
    let packed = squasher.packer().integers(&x, &integers, &key).unwrap();
    let packing = start.elapsed();
    let squashed = squasher.bootstrapper().refresh(&packed, &boot_keys).unwrap();
    let refreshing = start.elapsed() - packing;
    let decryptor = Decryptor::new(params, &secret, &ring).unwrap();
    let bits = |ct: &Ciphertext<S>| {
        let (noise, all) = (ct.noise(), params.noise().log_q(ct.level() + 1));
        (noise.rms_log2 - all, ct.predicted_budget(params), decryptor.noise_budget(ct).unwrap()[0])
    };
    let security = |ct: &Ciphertext<S>| params.flood_security(ct.state(), 16, spec.parties);
    println!(
        "{} N = 2^{}, {} bootstraps: noise, budget and measured budget {:.1?} -> {:.1?}; security {:?} -> {:?}; {packing:.1?} and {refreshing:.1?}",
        S::NAME,
        params.rlwe().ring().log_n(),
        boot.spec().iterations,
        bits(&packed),
        bits(&squashed),
        security(&packed),
        security(&squashed),
    );
    for ct in [&packed, &squashed] {
        assert!(bits(ct).2 >= bits(ct).1);
    }
    // A ciphertext that is not squashed has no room for the flood, and a squashed one has.
    let transcript = Transcript::unchecked_insecure(&session);
    let before = Decryption::new(&transcript, params, &packed, &parties, spec.flooding);
    assert!(matches!(before, Err(Error::FloodTooWide { .. })));
    let decryption = Decryption::new(&transcript, params, &squashed, &parties, spec.flooding).unwrap();
    let mut all = Aggregate::new(&decryption);
    for key in &dealt {
        let share = key.share(&parties).unwrap();
        all.add(&decryption.share(&share, &[], &mut publisher(), &mut rng).unwrap()).unwrap();
    }
    let ev = Evaluator::<S, Cpu>::new(params, &ring).unwrap();
    let found = ev.encoder().decode_coefficients::<u64>(&all.finish().unwrap()).unwrap();
    let limb = |i: usize| found[0][squasher.packer().coefficient(x.batch(), i)];
    for (i, &value) in values.iter().enumerate() {
        assert_eq!(limb(i) + 256 * limb(values.len() + i), value, "{i}");
    }
}

fn publisher() -> Publisher {
    Publisher::new(40, 16).unwrap()
}

fn squash_spec(t: u64, parties: usize) -> SquashSpec {
    SquashSpec { plain_modulus: t, flooding: publisher().flooding(), parties }
}

#[test]
fn squashed_integers_are_decrypted_by_all_parties() {
    let tfhe = presets::insecure_phases().unwrap();
    let values = [0, 1, 255, 256, 65535, 12345, 40000];
    let spec = squash_spec(257, 3);
    shared_decryption::<Bfv>(&spec.insecure_params(9).unwrap(), &tfhe, spec, publisher, &values);
    let spec = squash_spec(1 << 10, 2);
    shared_decryption::<Bgv>(&spec.insecure_params(9).unwrap(), &tfhe, spec, publisher, &values);
}

/// The parameters that are chosen: as many bootstraps as the security needs.
#[test]
fn squashing_has_secure_parameters() {
    for (t, security, decryptions, parties, expected) in
        [(257, 40, 16, 3, (3, 3)), (1 << 12, 40, 1 << 20, 2, (4, 4)), (257, 80, 1, 10, (4, 4))]
    {
        let flooding = Flooding::Statistical { security_bits: security, decryptions };
        let spec = SquashSpec { plain_modulus: t, flooding, parties };
        let boot = spec.params::<Bfv>().unwrap();
        let found = (boot.spec().iterations, boot.params().max_level() + 1);
        println!(
            "t = {t}: {found:?}, log QP {:.1}, {:.1} bits",
            boot.ring_spec().log_qp(),
            boot.refreshed_budget()
        );
        assert!(boot.circuit().is_secure());
        assert_eq!(found, expected, "t = {t}, {security} bits");
    }
    let flooding = Flooding::Statistical { security_bits: 256, decryptions: 1 << 60 };
    let none = SquashSpec { plain_modulus: 257, flooding, parties: 2 }.params::<Bfv>();
    assert!(matches!(none, Err(Error::FloodTooWide { .. })), "{none:?}");
}

/// At N = 2^16, with `phases_2m128` (`cargo test --release -p he-toolkit-core --lib
/// squashed_at_full_degree -- --ignored --nocapture`).
#[test]
#[ignore = "takes a minute and some GiB"]
fn squashed_at_full_degree() {
    let tfhe = presets::phases_2m128().unwrap();
    let spec = squash_spec(257, 3);
    let values: Vec<u64> = (0..64).map(|i| i * 1021 % 65536).collect();
    shared_decryption::<Bfv>(&spec.params().unwrap(), &tfhe, spec, publisher, &values);
}

/// Words of other widths, and noise that leaves no room.
#[test]
fn what_cannot_be_squashed_is_refused() {
    let mut rng = seeded();
    let spec = squash_spec(257, 2);
    let boot = spec.insecure_params::<Bfv>(9).unwrap();
    let (params, ring) = (boot.params(), boot.ring(Cpu::new()).unwrap());
    let tfhe = presets::insecure_phases().unwrap();
    let squasher = NoiseSquasher::new(&boot, &tfhe, &ring).unwrap();
    let torus = TfheSecretKey::generate(&tfhe, &mut rng);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let key_params = squasher.packer().key_params();
    let key = FromTfheKey::generate(&torus, &secret, key_params, &ring, &mut rng).unwrap();
    let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng).unwrap();
    let samples = torus.encrypt(&Cpu::new(), &[0], &mut rng).unwrap();
    let found = squasher.squash_phases(&samples, -18.0, &key, &boot_keys);
    assert!(matches!(found, Err(Error::BudgetTooLow { .. })), "{found:?}");
    let found = squasher.squash_phases(&samples, -10.0, &key, &boot_keys);
    assert!(matches!(found, Err(Error::BudgetSpent { .. })), "{found:?}");
    let other = SecretKey::generate(params.rlwe(), &mut rng);
    let foreign = BootstrapKeys::generate(&other, boot.circuit(), &ring, &mut rng).unwrap();
    let found = squasher.squash_phases(&samples, -50.0, &key, &foreign);
    assert!(matches!(found, Err(Error::KeyMismatch { .. })), "{found:?}");
    // The session's secret has the session's name.
    let session = Session::new(params.rlwe(), [1, 2], 2, rng.random()).unwrap();
    let unnamed = session.deal_secret(&secret, &ring, &mut rng);
    assert!(matches!(unnamed, Err(Error::KeyMismatch { .. })));
    let x = torus.encrypt_u64(&Cpu::new(), &[1], 16, &mut rng).unwrap();
    for bits in [0, 2, 6, 12, 32] {
        assert!(matches!(limbs(&x, bits), Err(Error::Argument { .. })), "{bits} bits");
    }
}

/// Five primes, hence room for some matrices.
fn deep<S: Scheme>(log_n: u32, t: u64) -> Params<S> {
    Params::insecure(ExactSpec::from_bits(log_n, &[50; 5], &[50, 50], t).unwrap()).unwrap()
}

/// All slots, and some, by different numbers of matrices; and back.
fn slots_become_coefficients<S: Scheme>() {
    let mut w = World::<S>::new(deep(9, 12289), presets::insecure_small().unwrap());
    let (n, top) = (w.ring.n(), w.params.max_level());
    for (log_slots, matrices) in [(1, 1), (3, 2), (5, 1), (8, 2), (8, 3)] {
        let row = 1usize << log_slots;
        let forth = SlotTransform::to_coefficients(&w.ev, log_slots, matrices, top).unwrap();
        let back = SlotTransform::to_slots(&w.ev, log_slots, matrices, top).unwrap();
        let needs = forth.requirements().union(back.requirements());
        let keys = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
        let values = w.values(13);
        let mut slots = vec![0; n];
        let mut coefficients = vec![0; n];
        let places = forth.coefficients();
        assert_eq!((places.len(), &places), (2 * row, &back.coefficients()));
        for slot in 0..2 * row {
            slots[slot % row + slot / row * (n / 2)] = values[slot];
            coefficients[places[slot]] = values[slot];
        }
        let plain = w.ev.encoder().encode(&slots).unwrap();
        let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let x = encryptor.encrypt(&plain, &mut w.rng).unwrap().expand().unwrap();
        let y = forth.apply(&w.ev, &x, &keys).unwrap();
        assert_eq!(w.decrypt(&y), coefficients, "2^{log_slots} slots, {matrices} matrices");
        let budgets =
            |ct: &Ciphertext<S>| (ct.predicted_budget(&w.params), w.decryptor().noise_budget(ct).unwrap()[0]);
        let (before, after) = (budgets(&x), budgets(&y));
        println!(
            "{} 2^{log_slots} slots, {matrices} matrices, {} rotations: {before:.1?} -> {after:.1?}, cost {:.1}",
            S::NAME,
            forth.rotations(),
            forth.cost_log2()
        );
        // Key switches cost the rest, and roundings to lower levels.
        assert!(before.0 - after.0 < forth.cost_log2() + 12.0 && after.1 >= after.0);

        let x = w.encrypt(&[&coefficients]);
        let y = back.apply(&w.ev, &x, &keys).unwrap();
        let plain = w.decryptor().decrypt(&y).unwrap();
        let found = w.ev.encoder().decode::<i64>(&plain).unwrap().remove(0);
        for (slot, found) in found.into_iter().enumerate() {
            let expected = values[slot % (n / 2) % row + slot / (n / 2) * row];
            assert_eq!(found, expected, "slot {slot} of 2^{log_slots}");
        }
    }
}

#[test]
fn slots_of_bfv_become_coefficients() {
    slots_become_coefficients::<Bfv>();
}

#[test]
fn slots_of_bgv_become_coefficients() {
    slots_become_coefficients::<Bgv>();
}

/// The slots of both rows are switched.
#[test]
fn slots_become_integers_of_tfhe() {
    let mut w = World::<Bfv>::new(deep(9, 12289), presets::insecure_phases().unwrap());
    let (switching, there, to_key) = w.to(1);
    let evaluator = w.integers();
    let transform = SlotTransform::to_coefficients(&w.ev, 3, 1, w.params.max_level()).unwrap();
    let keys = EvaluationKeys::generate(&w.secret, &w.ring, transform.requirements(), &mut w.rng).unwrap();
    let mut slots = vec![0i64; w.ring.n()];
    let values = w.values(8)[..16].to_vec();
    let half = w.ring.n() / 2;
    slots[..8].copy_from_slice(&values[..8]);
    slots[half..half + 8].copy_from_slice(&values[8..]);
    let plain = w.ev.encoder().encode(&slots).unwrap();
    let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
    let x = encryptor.encrypt(&plain, &mut w.rng).unwrap().expand().unwrap();
    let x = transform.apply(&w.ev, &x, &keys).unwrap();
    let switcher = IntegersToTfhe::new(&w.params, &switching, &there, 8).unwrap();
    let x = switcher.integers(&x, &transform.coefficients(), &to_key, &evaluator).unwrap();
    assert_eq!(w.torus.decrypt_i64(&x).unwrap(), values);
}

#[test]
fn impossible_transforms_are_refused() {
    let mut w = World::<Bfv>::new(deep(9, 12289), presets::insecure_small().unwrap());
    let top = w.params.max_level();
    for log_slots in [0, 9, 70] {
        let found = SlotTransform::to_coefficients(&w.ev, log_slots, 1, top);
        assert!(matches!(found, Err(Error::SlotCount { .. })), "2^{log_slots} slots");
    }
    for matrices in [0, 4] {
        let found = SlotTransform::to_slots(&w.ev, 3, matrices, top);
        assert!(matches!(found, Err(Error::Argument { .. })), "{matrices} matrices");
    }
    let found = SlotTransform::to_slots(&w.ev, 3, 1, top + 1);
    assert!(matches!(found, Err(Error::LevelTooHigh { .. })), "{found:?}");
    let none = Evaluator::new(&deep::<Bfv>(9, 257), &Ring::new(Cpu::new(), w.ring.spec().clone()).unwrap());
    let found = SlotTransform::to_slots(&none.unwrap(), 3, 1, top);
    assert!(matches!(found, Err(Error::InvalidParams(ParamsError::NoSlots { .. }))), "{found:?}");
    // Without keys, above the level, and below the budget.
    let transform = SlotTransform::to_coefficients(&w.ev, 3, 1, 1).unwrap();
    let x = w.encrypt(&[&[1]]);
    let low = w.ev.mod_switch_to(&x, 1).unwrap();
    let empty = EvaluationKeys::generate(&w.secret, &w.ring, KeyRequirements::new(), &mut w.rng).unwrap();
    assert!(matches!(transform.apply(&w.ev, &low, &empty), Err(Error::MissingConjugationKey)));
    let keys = EvaluationKeys::generate(&w.secret, &w.ring, transform.requirements(), &mut w.rng).unwrap();
    assert!(matches!(transform.apply(&w.ev, &x, &keys), Err(Error::SpanMismatch { .. })));
    assert!(transform.apply(&w.ev, &low, &keys).is_ok());
    let lowest = w.ev.mod_switch_to(&x, 0).unwrap();
    assert!(matches!(transform.apply(&w.ev, &lowest, &keys), Err(Error::BudgetSpent { .. })));
}

/// All slots of secure parameters become integers of TFHE: what it costs (`cargo test --release -p
/// he-toolkit-core --lib slots_at_full_degree -- --ignored --nocapture`).
#[test]
#[ignore = "large parameters"]
fn slots_at_full_degree() {
    let tfhe = presets::phases_2m128().unwrap();
    for (log_n, matrices, margin) in [(13, 2, 80), (14, 2, 85), (15, 3, 120)] {
        let params = Params::<Bfv>::for_depth(65537, 0).log_n(log_n).margin_bits(margin).slots();
        let mut w = World::<Bfv>::new(params.build().unwrap(), tfhe.clone());
        let switching = SwitchingParams::new(w.params.rlwe(), 1, &tfhe).unwrap();
        let there = switching.ring(Cpu::new()).unwrap();
        let to_key = ToTfheKey::generate(&w.secret, &w.torus, &switching, &there, &mut w.rng).unwrap();
        let switcher = IntegersToTfhe::new(&w.params, &switching, &there, 12).unwrap();
        let top = w.params.max_level();
        let start = std::time::Instant::now();
        let transform = SlotTransform::to_coefficients(&w.ev, log_n - 1, matrices, top).unwrap();
        let encoding = start.elapsed();
        let needs = transform.requirements();
        let keys = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
        let values = w.values(12);
        let plain = w.ev.encoder().encode(&values).unwrap();
        let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let x = encryptor.encrypt(&plain, &mut w.rng).unwrap().expand().unwrap();
        let start = std::time::Instant::now();
        let y = transform.apply(&w.ev, &x, &keys).unwrap();
        let transforming = start.elapsed();
        let start = std::time::Instant::now();
        let samples = switcher.switch(&y, &transform.coefficients(), &to_key).unwrap();
        let switched = start.elapsed();
        let (rms, greatest) = w.errors(&samples, |slot| values[slot] as f64 / 4096.0);
        let predicted = switcher.deviation_log2(&y).unwrap();
        println!(
            "N = 2^{log_n}, log QP {:.1}, {matrices} matrices, {} rotations: cost {:.1}, predicted budget {:.1} -> {:.1}, measured {:.1?}; encoding {encoding:.1?}, transform {transforming:.2?}, switch {switched:.2?}; phases 2^{:.2} of 2^{predicted:.2}",
            w.params.rlwe().ring().log_qp(),
            transform.rotations(),
            transform.cost_log2(),
            x.predicted_budget(&w.params),
            y.predicted_budget(&w.params),
            w.decryptor().noise_budget(&y).unwrap(),
            rms.log2(),
        );
        assert!(rms < 1.15 * predicted.exp2() && greatest < 7.0 * predicted.exp2());
        let (some, evaluator) = (&transform.coefficients()[..8], w.integers());
        let integers = switcher.integers(&y, some, &to_key, &evaluator).unwrap();
        assert_eq!(w.torus.decrypt_i64(&integers).unwrap(), values[..8]);
    }
}
