//! Compiled models as bytes.

use crate::build::{Model, ints, tensor};
use crate::inference::toy;
use he_nn::{CompiledModel, Error, Graph, Options};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

fn model() -> CompiledModel {
    let model = Model::new(&[0, 1, 4, 4])
        .with(tensor("w", &[2, 1, 2, 2], &[0.5, 1.0, -0.5, 0.25, 1.0, 0.0, 0.0, -1.0]))
        .node_of("Conv", &["x", "w"], "c", vec![ints("strides", &[2, 2])])
        .node("Tanh", &["c"], "t")
        .node("Flatten", &["t"], "f")
        .with(tensor("v", &[8, 3], &[0.125; 24]))
        .node("MatMul", &["f", "v"], "y");
    let graph = Graph::from_onnx(&model.bytes()).unwrap();
    let data: Vec<Vec<f64>> =
        (0..4).map(|i| (0..16).map(|j| f64::from((i * j) % 7) / 7.0).collect()).collect();
    CompiledModel::compile_for(graph, &data, Options { bits: 8, margin: 0.25 }, toy(8, 8)).unwrap()
}

#[test]
fn models_come_back_as_they_were() {
    let model = model();
    let bytes = model.to_bytes().unwrap();
    let back = CompiledModel::from_bytes_insecure(&bytes).unwrap();
    assert_eq!(back.to_bytes().unwrap(), bytes);
    assert_eq!(back.graph(), model.graph());
    assert_eq!(back.outputs(), model.outputs());
    assert_eq!(back.facts().unwrap(), model.facts().unwrap());
    assert_eq!(back.requirements(), model.requirements());
    // Insecure parameters are refused unless they are asked for.
    assert!(CompiledModel::from_bytes(&bytes).is_err());
}

/// Every cut and every changed bit is seen; with a checksum that fits, nothing impossible is built.
#[test]
fn hostile_models_are_refused() {
    let bytes = model().to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(
            matches!(CompiledModel::from_bytes_insecure(&bytes[..length]), Err(Error::Format { .. })),
            "{length}"
        );
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(matches!(CompiledModel::from_bytes_insecure(&changed), Err(Error::Format { .. })), "{at}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(CompiledModel::from_bytes_insecure(&longer).is_err());
    for seed in 0..1500 {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let mut changed = bytes.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(44..changed.len());
            changed[at] = rng.random();
        }
        let hash = blake3::hash(&changed[44..]);
        changed[12..44].copy_from_slice(hash.as_bytes());
        println!("seed {seed}");
        if let Ok(model) = CompiledModel::from_bytes_insecure(&changed) {
            model.facts().unwrap();
        }
    }
}
