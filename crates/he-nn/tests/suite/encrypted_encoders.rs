//! Encoders of sentences on ciphertexts, beside their evaluation in the clear.

use crate::encoders::{cosine, graph, seed, sentences};
use he_core::backend::Cpu;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::circuits::ckks::NeverRefresh;
use he_core::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_nn::encoder::plan::Made;
use he_nn::encoder::{Encoder, Plan};
use he_nn::{Error, Parameters};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Sentences that the encoder does not refuse.
pub fn accepted(encoder: &Encoder, rng: &mut ChaCha20Rng, count: usize) -> Vec<Vec<f64>> {
    let all = std::iter::repeat_with(|| sentences(rng, 1).remove(0));
    all.filter(|sentence| encoder.simulate(0, sentence).is_ok()).take(count).collect()
}

pub fn greatest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// As many levels as an encoder takes without refreshes, at a degree that is quick, and insecure.
pub fn levels(encoder: &Encoder, log_n: u32) -> Parameters {
    let depth = encoder.depth(1 << (log_n - 1)).unwrap();
    let q: Vec<u32> = std::iter::once(55).chain(std::iter::repeat_n(42, depth)).collect();
    let spec = CkksSpec::from_bits(log_n, &q, &[56; 4], 42.0).unwrap().with_dnum(q.len().div_ceil(4));
    Parameters::Leveled(CkksParams::insecure(spec).unwrap())
}

fn words(ct: &Ciphertext) -> [Vec<u64>; 2] {
    ct.pair().parts().map(|part| part.to_words().unwrap())
}

/// The output of a sentence through ciphertexts, whose steps are those of the plan.
fn encrypted(plan: &Plan, sentence: &[f64], rng: &mut ChaCha20Rng) -> Vec<f64> {
    let params = plan.parameters().params();
    let ring = match plan.parameters() {
        Parameters::Leveled(params) => Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap(),
        Parameters::Refreshed(boot) => boot.ring(Cpu::new()).unwrap(),
    };
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, &ring, plan.requirements(), rng).unwrap();
    let ev = Evaluator::new(params, &ring).unwrap();
    let packed = plan.pack(0, sentence).unwrap();
    let vectors: Vec<Vec<Complex64>> =
        packed.vectors.iter().map(|vector| vector.iter().map(|&x| x.into()).collect()).collect();
    let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_batch(&vectors, params.encoding()).unwrap();
    let encryptor = SecretEncryptor::new(params, &secret, &ring).unwrap();
    let input = encryptor.encrypt(&plain, rng).unwrap().expand().unwrap();
    let prepared = plan.prepare(&ev).unwrap();
    assert!(prepared.bytes() > 0);
    let (mut work, mut steps) = (0.0, 0);
    let mut watch = |made: Made<'_>, value: &[Ciphertext]| {
        (work, steps) = (work + made.work, steps + 1);
        assert!(!value.is_empty());
        Ok(())
    };
    let output = match plan.parameters() {
        Parameters::Leveled(_) => {
            let encoded_before =
                prepared.infer_watched(&ev, &input, &packed.mask, &keys, &NeverRefresh, &mut watch);
            let output = plan.infer(&ev, &input, &packed.mask, &keys, &NeverRefresh).unwrap();
            assert_eq!(words(&encoded_before.unwrap()), words(&output));
            Ok(output)
        }
        Parameters::Refreshed(boot) => {
            let boot_keys = BootstrapKeys::generate(&secret, boot, &ring, rng).unwrap();
            let bootstrapper = Bootstrapper::new(boot, &ring).unwrap();
            let refresher = bootstrapper.with_keys(&boot_keys);
            prepared.infer_watched(&ev, &input, &packed.mask, &keys, &refresher, &mut watch)
        }
    };
    assert!((work - plan.work()).abs() <= 1e-9 * work && steps > 50);
    let decryptor = Decryptor::new(params, &secret, &ring).unwrap();
    let decrypted = decryptor.decrypt(&output.unwrap()).unwrap();
    plan.unpack(&ev.encoder().decode_real(&decrypted).unwrap()).unwrap()
}

/// Compares an output through ciphertexts with the simulation and with the exact one.
fn assert_near(plan: &Plan, sentence: &[f64], most: f64, rng: &mut ChaCha20Rng) {
    let encoder = plan.encoder();
    let found = encrypted(plan, sentence, rng);
    let difference = greatest_difference(&found, &encoder.simulate(0, sentence).unwrap());
    let near = cosine(&found, &encoder.graph().apply_plain(sentence).unwrap());
    println!("{} levels, {:?}: {difference:.1e}, cosine {near}", plan.input_level(), plan.counts());
    assert!(difference < most, "{difference}");
    assert!(near > 0.995, "{near}");
}

/// The steps of a plan in the clear are the simulation, whatever the vectors.
#[test]
fn plans_compute_what_is_simulated() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("torch"), &sentences(rng, 400)).unwrap();
    // All tokens in one vector, and in vectors of four and of two.
    for log_n in [8, 6, 5] {
        let plan = encoder.plan(levels(&encoder, log_n)).unwrap();
        assert_eq!(plan.batch(), [1, 2, 4][(8 - log_n as usize).div_ceil(2)]);
        for sentence in accepted(&encoder, rng, 20) {
            let found = plan.apply_plain(0, &sentence).unwrap();
            let wanted = encoder.simulate(0, &sentence).unwrap();
            let difference = greatest_difference(&found, &wanted);
            assert!(difference < 1e-6, "{log_n}: {difference}");
        }
    }
}

/// A calibration that was written belongs to its model alone, and is all that a plan needs.
#[test]
fn calibrations_come_back_as_they_were() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("torch"), &sentences(rng, 400)).unwrap();
    let bytes = encoder.calibration_to_bytes().unwrap();
    let back = Encoder::from_calibration(graph("torch"), &bytes).unwrap();
    assert_eq!(back.calibration_to_bytes().unwrap(), bytes);
    for sentence in accepted(&encoder, rng, 5) {
        assert_eq!(back.simulate(0, &sentence).unwrap(), encoder.simulate(0, &sentence).unwrap());
    }
    let [plan, again] = [&encoder, &back].map(|encoder| encoder.plan(levels(encoder, 8)).unwrap());
    assert_eq!(plan.layers(), again.layers());
    let mut other = graph("torch");
    other.nodes[1].name.push('x');
    assert!(matches!(Encoder::from_calibration(other, &bytes), Err(Error::Format { .. })));
}

/// Calibrations that are cut, longer, of another version or damaged are refused, also under a
/// checksum that matches; what is read can be planned or is refused.
#[test]
fn damaged_calibrations_are_refused() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let of = graph("torch");
    let encoder = Encoder::calibrate(of.clone(), &sentences(rng, 100)).unwrap();
    let bytes = encoder.calibration_to_bytes().unwrap();
    let read = |bytes: &[u8]| Encoder::from_calibration(of.clone(), bytes);
    assert!(matches!(read(&[&bytes[..], &[0]].concat()), Err(Error::Format { .. })));
    for length in (0..80).chain([bytes.len() - 1]) {
        assert!(matches!(read(&bytes[..length]), Err(Error::Format { .. })));
    }
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert!(matches!(read(&newer), Err(Error::Version { found: 2, supported: 1 })));
    const BODY: usize = 8 + 4 + 32 + 32;
    let parameters = levels(&encoder, 8);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        let at = rng.random_range(BODY..bytes.len());
        damaged[at] ^= rng.random_range(1..=255);
        assert!(matches!(read(&damaged), Err(Error::Format { .. })));
        let hash = blake3::hash(&damaged[BODY..]);
        damaged[BODY - 32..BODY].copy_from_slice(hash.as_bytes());
        if let Ok(encoder) = read(&damaged) {
            let _ = encoder.plan(parameters.clone());
        }
    }
}

/// All tokens in one vector, and in vectors of four.
#[test]
fn encoders_run_on_ciphertexts() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("optimum"), &sentences(rng, 400)).unwrap();
    for log_n in [8, 6] {
        let plan = encoder.plan(levels(&encoder, log_n)).unwrap();
        let sentence = accepted(&encoder, rng, 1).remove(0);
        assert_near(&plan, &sentence, 1e-3, rng);
    }
}

/// Fewer levels than layers: values are refreshed on the way.
#[test]
fn encoders_are_refreshed() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("tensorflow"), &sentences(rng, 400)).unwrap();
    let spec = BootstrapSpec { log_n: 9, log_slots: 8, ..Preset::Fast.spec() };
    let plan = encoder.plan(Parameters::Refreshed(BootstrapParams::insecure(spec).unwrap())).unwrap();
    assert!(plan.counts().refreshes > 0);
    let sentence = accepted(&encoder, rng, 1).remove(0);
    assert_near(&plan, &sentence, 0.05, rng);
}
