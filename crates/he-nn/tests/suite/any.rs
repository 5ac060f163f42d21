//! Models of either kind behind one type: as bytes, and on ciphertexts.

use crate::encoders::{graph, seed, sentences};
use crate::encrypted_encoders::{accepted, greatest_difference, levels};
use he_core::backend::Cpu;
use he_core::circuits::ckks::NeverRefresh;
use he_core::ckks::{Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_nn::encoder::Encoder;
use he_nn::graph::{Decision, Op};
use he_nn::{AnyModel, CompiledModel, Error, Wishes};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

const HEADER: usize = 8 + 4 + 32;

fn plan(spelling: &str, log_n: u32, rng: &mut ChaCha20Rng) -> AnyModel {
    let encoder = Encoder::calibrate(graph(spelling), &sentences(rng, 200)).unwrap();
    encoder.plan(levels(&encoder, log_n)).unwrap().into()
}

/// Plans come back as they were, whatever program has exported the model.
#[test]
fn plans_are_their_bytes() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    for spelling in ["torch", "optimum", "tensorflow"] {
        let model = plan(spelling, 8, rng);
        let bytes = model.to_bytes().unwrap();
        assert!(AnyModel::from_bytes(&bytes).is_err(), "parameters of degree 256 are insecure");
        let back = AnyModel::from_bytes_insecure(&bytes).unwrap();
        assert_eq!(back.to_bytes().unwrap(), bytes);
        assert_eq!(back.facts().unwrap(), model.facts().unwrap());
        assert_eq!((back.outputs(), back.masked_tokens()), (model.outputs(), Some(6)));
        assert_eq!(back.outputs().decision, Decision::UnitLength);
        let refused = CompiledModel::from_bytes_insecure(&bytes);
        assert!(matches!(refused, Err(Error::Format { .. })), "{refused:?}");
    }
}

/// Plans that are cut or damaged are refused, also under a checksum that matches; what is read
/// checks and packs sentences, or refuses them.
#[test]
fn damaged_plans_are_refused() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let bytes = plan("optimum", 6, rng).to_bytes().unwrap();
    let sentence = sentences(rng, 1).remove(0);
    for length in (0..HEADER).chain([HEADER + 1, bytes.len() - 1]) {
        assert!(AnyModel::from_bytes_insecure(&bytes[..length]).is_err());
    }
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(HEADER..bytes.len());
            damaged[at] ^= rng.random_range(1..=255);
        }
        let hash = blake3::hash(&damaged[HEADER..]);
        damaged[HEADER - 32..HEADER].copy_from_slice(hash.as_bytes());
        if let Ok(model) = AnyModel::from_bytes_insecure(&damaged) {
            let _ = model.check(0, &sentence);
            let _ = model.pack(std::slice::from_ref(&sentence));
            let _ = model.masks(std::slice::from_ref(&sentence));
        }
    }
}

/// A plan whose mask is not an input would tell what it is computed from: it is refused.
#[test]
fn masks_are_inputs() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let model = plan("optimum", 6, rng);
    let AnyModel::Encoder(plan) = &model else { panic!("an encoder") };
    let mut other = plan.encoder().graph().clone();
    let ids = other.nodes[0].shape.clone();
    let mean = other.nodes.iter_mut().find(|node| node.op == Op::MaskedMean).unwrap();
    mean.inputs[1] = 0;
    assert_eq!(ids, [6]);
    let encoder = Encoder::calibrate(other, &sentences(rng, 20)).unwrap();
    // The mask of the softmax is another one.
    assert!(matches!(encoder.plan(model.parameters().clone()), Err(Error::Unplanned { .. })));
}

/// Sentences of a batch, in ciphertexts of two vectors each, become what they are in the clear.
#[test]
fn batches_of_sentences_run_on_ciphertexts() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("optimum"), &sentences(rng, 400)).unwrap();
    let rows = accepted(&encoder, rng, 2);
    let model: AnyModel = encoder.plan(levels(&encoder, 6)).unwrap().into();
    assert_eq!((model.ciphertexts(), model.examples()), (2, 1));
    let params = model.parameters().params();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, &ring, model.requirements().unwrap(), rng).unwrap();
    let ev = Evaluator::new(params, &ring).unwrap();
    let encryptor = SecretEncryptor::new(params, &secret, &ring).unwrap();
    let mut inputs = Vec::new();
    for part in model.pack(&rows).unwrap() {
        let complex = |vector: &Vec<f64>| vector.iter().map(|&x| x.into()).collect();
        let vectors: Vec<Vec<Complex64>> = part.iter().map(complex).collect();
        let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_batch(&vectors, params.encoding()).unwrap();
        inputs.push(encryptor.encrypt(&plain, rng).unwrap().expand().unwrap());
    }
    let masks = model.masks(&rows).unwrap();
    let mut reached = 0;
    let mut infer = |masks: &[Vec<bool>]| {
        model.infer_watched(&ev, &inputs, masks, &keys, &NeverRefresh, &mut |work| reached += work)
    };
    for wrong in [&masks[..1], &[], &[masks[0].clone(), masks[1][1..].to_vec()]] {
        assert!(matches!(infer(wrong), Err(Error::Parameters { .. })));
    }
    let outputs = infer(&masks).unwrap();
    assert!(reached > 0);
    let decryptor = Decryptor::new(params, &secret, &ring).unwrap();
    let vectors = outputs.iter().map(|ct| ev.encoder().decode_real(&decryptor.decrypt(ct).unwrap()).unwrap());
    let found = model.outputs().unpack(&vectors.collect::<Vec<_>>(), 2).unwrap();
    for (outputs, row) in found.iter().zip(&rows) {
        let difference = greatest_difference(&outputs.decided, &encoder.simulate(0, row).unwrap());
        assert!(difference < 1e-3, "{difference}");
    }
}

/// Wishes of other models are refused; the ranges of encoders are found from sentences alone.
#[test]
fn encoders_have_no_wishes() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let examples = sentences(rng, 4);
    let usual = Wishes::default();
    for (wishes, name) in [
        (Wishes { bits: Some(10), ..usual.clone() }, "bits"),
        (Wishes { margin: Some(0.5), ..usual.clone() }, "margin"),
        (Wishes { batch: Some(2), ..usual.clone() }, "batch"),
    ] {
        let refused = AnyModel::compile(graph("optimum"), &examples, &wishes);
        assert!(matches!(refused, Err(Error::Wish { what }) if what == name));
    }
    let compiled = AnyModel::compile(graph("optimum"), &examples, &usual).unwrap();
    let facts = compiled.model.facts().unwrap();
    assert!(facts.refreshes > 0 && facts.log_n == 16 && facts.bootstrap_key_bytes > 0);
    let first = &facts.layers[0];
    assert!(first.depth > 0 && first.level <= facts.levels, "{first:?}");
}
