//! Overseers end every operation at every question, and change no word.

use super::*;
use he_core::backend::{RingOps, Tally};
use he_core::circuits::ckks::{LinearTransform, Polynomial};
use he_core::ckks::{Ciphertext, CkksParams, CkksSpec, Evaluator, SecretEncryptor};
use he_core::ring::{Poly, Ring, Seed, Span};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::tfhe::{
    Bootstrapper, Carry, CircuitParams, CircuitSpec, EncryptedInteger, EncryptedUint, Gadget,
    IntegerEvaluator, LweBatch, TfheSecretKey, TfheSpec, presets,
};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Answers so many questions with yes; then it ends the work.
#[derive(Default)]
struct Limited {
    left: AtomicUsize,
    asked: AtomicUsize,
    lookups: AtomicUsize,
    work: AtomicU64,
}

impl Limited {
    fn new(questions: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(questions), ..Self::default() })
    }
}

impl Overseer for Limited {
    fn goes_on(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn looked_up(&self, count: usize) {
        self.lookups.fetch_add(count, Ordering::Relaxed);
    }

    fn worked(&self, work: u64) {
        self.work.fetch_add(work, Ordering::Relaxed);
    }
}

/// Runs work that is ended at its questions, of many at some: it ends in the error every time, and
/// in the words of work that nobody oversees when it is not ended. Returns the questions and the
/// lookups of that time.
fn ended_everywhere(work: impl Fn(&Device) -> Result<Vec<u64>>) -> (usize, usize) {
    let expected = work(&Device::cpu()).unwrap();
    let all = Limited::new(usize::MAX);
    assert!(work(&Device::cpu().overseen(Arc::clone(&all) as _)).unwrap() == expected);
    let (asked, lookups) = (all.asked.load(Ordering::Relaxed), all.lookups.load(Ordering::Relaxed));
    for questions in (0..asked).step_by(asked / 32 + 1) {
        let error = work(&Device::cpu().overseen(Limited::new(questions))).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{questions} of {asked}: {error}");
    }
    (asked, lookups)
}

#[test]
fn operations_of_rings_end() {
    let spec = RingSpec::new(3, vec![97, 113], vec![]).unwrap();
    let (asked, lookups) = ended_everywhere(|device| {
        let ring = Ring::new(device.clone(), spec.clone())?;
        let mut a = Poly::uniform(&ring, Span::chain(2), 1, &Seed([1; 32]), 0)?;
        a.mul_assign(&Poly::error(&ring, Span::chain(2), 1, &Seed([2; 32]), 0)?.into_eval()?)?;
        a.to_words()
    });
    assert!((4..20).contains(&asked) && lookups == 0, "{asked} {lookups}");
}

#[test]
fn operations_of_tfhe_end_between_ciphertexts() {
    let bootstrap = Gadget { base_log: 15, levels: 2 };
    let spec = TfheSpec { bootstrap, glwe_sigma_log2: -52.0, ..*presets::insecure_small().unwrap().spec() };
    let params = TfheParams::insecure(spec).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = TfheSecretKey::generate(&params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let circuit = CircuitParams::new(&params, CircuitSpec::default()).unwrap();
    let circuit = CircuitKey::generate(&secret, &circuit, &mut rng).unwrap();
    let fresh = secret.encrypt_seeded(&[1 << 60; 3], &mut rng).unwrap();
    let bits = secret.encrypt_bits(&Device::cpu(), &[true, false, true], &mut rng).unwrap();
    let bits = bits.ciphertexts().download().unwrap();

    let keys = ended_everywhere(|device| {
        Bootstrapper::new(device, &key)?;
        Ok(vec![])
    });
    // A question for each part of the key.
    assert!(keys.0 > params.spec().lwe_dimension + params.dimension(), "{keys:?}");

    // The keys are made by somebody else.
    let boot = Device::cpu().lwe_key(&key).unwrap();
    let of_circuit = Device::cpu().circuit_key(&circuit).unwrap();
    let table = Device::cpu().upload(&vec![1 << 60; params.degree()]).unwrap();
    let (asked, lookups) = ended_everywhere(|device| {
        let batch = fresh.expand(device)?;
        let words = device.upload(&batch.download()?)?;
        let one = Combination { constant: 1, terms: vec![(2, 0), (-1, 2)] };
        let sums = device.lwe_combine(&params, &words, &[one.clone(), one.clone(), one])?;
        let small = device.key_switch(&boot, &sums, 3)?;
        let rotated = device.blind_rotate(&boot, &small, 3, &table, &[0; 3], 1)?;
        device.download(&rotated, 0..device.words(&rotated))
    });
    // Each operation at its beginning, and for each ciphertext or group of them.
    assert!((3 + 4 + 2 + 2..30).contains(&asked) && lookups == 3, "{asked} {lookups}");

    let (asked, _) = ended_everywhere(|device| {
        let samples = device.upload(&bits.repeat(circuit.params().spec().select.levels as usize))?;
        let found = device.lookup_bits(&of_circuit, &samples, 1, 3, &table, 1)?;
        device.download(&found, 0..device.words(&found))
    });
    assert_eq!(asked, 1 + 3);
}

/// A back end that counts finds the lookups of one that computes.
#[test]
fn a_tally_has_the_lookups_of_a_device() {
    let params = presets::insecure_small().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let secret = TfheSecretKey::generate(&params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    fn program<B: LweOps>(evaluator: &IntegerEvaluator<B>, x: &EncryptedUint<B>) -> Result<()> {
        evaluator.add(x, x)?;
        evaluator.mul(x, x)?;
        evaluator.min_max(x, x)?;
        evaluator.get_plain(&[3u8, 7, 200].map(Into::into), 8, x)?;
        evaluator.sum_batch(x)?;
        evaluator.div_rem(x, x).map(drop)
    }
    let rows = 3;
    let all = Limited::new(usize::MAX);
    let device = Device::cpu().overseen(Arc::clone(&all) as _);
    let evaluator = IntegerEvaluator::new(&device, &key, Carry::Ripple).unwrap();
    program(&evaluator, &secret.encrypt_u64(&device, &[1, 2, 250], 8, &mut rng).unwrap()).unwrap();
    let tally = Tally::default();
    let evaluator = IntegerEvaluator::new(&tally, &key, Carry::Ripple).unwrap();
    let digits = LweBatch::zeros(&tally, &params, 4 * rows).unwrap();
    program(&evaluator, &EncryptedInteger::from_ciphertexts(digits, 8).unwrap()).unwrap();
    assert_eq!(tally.lookups(), all.lookups.load(Ordering::Relaxed) as u64);
    assert!(tally.lookups() > 100);
}

/// A back end that counts finds the work of rings, operation by operation, of one that computes.
#[test]
fn a_tally_has_the_work_of_a_device() {
    fn program<B: RingOps>(
        ev: &Evaluator<B>,
        x: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        worked: &dyn Fn() -> u64,
    ) -> Result<Vec<u64>> {
        let matrix = LinearTransform::from_real(8, &(0..64).map(f64::from).collect::<Vec<_>>())?;
        let few = matrix.clone().with_few_keys();
        let mut counts = Vec::new();
        let mut count = |result: Ciphertext<B>| {
            counts.push(worked());
            result
        };
        let square = count(ev.mul(x, x, keys)?);
        count(ev.rotate(&square, 1, keys)?);
        ev.rotate_many(x, &[1, 2], keys)?.into_iter().for_each(|rotated| drop(count(rotated)));
        count(ev.mod_switch_to(x, 0)?);
        count(matrix.apply(ev, x, keys)?);
        count(few.apply(ev, x, keys)?);
        count(ev.relinearize(&ev.tensor(&square, &square)?, keys)?);
        count(Polynomial::power(&[0.1, 0.2, 0.3, 0.4])?.apply(ev, x, keys)?);
        Ok(counts)
    }
    let params = CkksParams::insecure(CkksSpec::from_bits(6, &[50, 40, 40, 40], &[51, 51], 40.0).unwrap());
    let (params, mut rng) = (params.unwrap(), ChaCha20Rng::seed_from_u64(3));
    let all = Limited::new(usize::MAX);
    let device = Device::cpu().overseen(Arc::clone(&all) as _);
    let ring = Ring::new(device, params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations(1..8),
        &mut rng,
    );
    let keys = keys.unwrap();
    let to = params.encoding().slots(8);
    let ev = Evaluator::new(&params, &ring).unwrap();
    let x = ev.encoder().encode_real(&[0.5; 8], to).unwrap();
    let x = SecretEncryptor::new(&params, &secret, &ring).unwrap().encrypt(&x, &mut rng).unwrap();
    let x = x.expand().unwrap();
    let x = Ciphertext::concat(&[&x, &x]).unwrap();
    let told = program(&ev, &x, &keys, &|| all.work.load(Ordering::Relaxed)).unwrap();

    let tally = Tally::default();
    let ring = Ring::new(tally.clone(), params.rlwe().ring().clone()).unwrap();
    let (x, keys) = (x.to(&ring).unwrap(), keys.to(&ring).unwrap());
    let ev = Evaluator::new(&params, &ring).unwrap();
    assert_eq!(program(&ev, &x, &keys, &|| tally.work()).unwrap(), told);
    // Both rotations at once are told before the first result; a switch to fewer primes is free.
    assert!(told.is_sorted() && told[0] > 0 && told[8] > told[7], "{told:?}");
    assert_eq!(tally.lookups(), 0);
}
