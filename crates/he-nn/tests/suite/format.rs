//! Compiled models as bytes.

use crate::build::{Model, ints, tensor};
use crate::inference::{examples, network, toy};
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

/// The models have branches that meet, whose layouts are given, in one ciphertext and in several.
#[test]
fn models_come_back_as_they_were() {
    let data = examples(6, 4, 128);
    let compiled =
        |log_n| CompiledModel::compile_for(network(), &data, Options::default(), toy(log_n, 14)).unwrap();
    for model in [model(), compiled(8), compiled(12)] {
        let bytes = model.to_bytes().unwrap();
        let back = CompiledModel::from_bytes_insecure(&bytes).unwrap();
        assert_eq!(back.to_bytes().unwrap(), bytes);
        assert_eq!(back.graph(), model.graph());
        assert_eq!(back.outputs(), model.outputs());
        assert_eq!(back.facts().unwrap(), model.facts().unwrap());
        assert_eq!(back.requirements().unwrap(), model.requirements().unwrap());
        // Insecure parameters are refused unless they are asked for.
        assert!(CompiledModel::from_bytes(&bytes).is_err());
    }
}

/// The bytes with a checksum that fits.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = blake3::hash(&bytes[44..]);
    bytes[12..44].copy_from_slice(hash.as_bytes());
    bytes
}

/// Choices that there are not are refused; others that there are give a model, if a slower one.
/// They are at the end: examples, a length, and three numbers for each of two linear layers, then a
/// length, and three numbers for each of three layers that are run.
#[test]
fn choices_are_checked() {
    let bytes = model().to_bytes().unwrap();
    let start = bytes.len() - 18;
    assert_eq!((bytes[start + 1], bytes[start + 8]), (2, 3));
    let (mut read, mut refused) = (0, 0);
    for at in start..bytes.len() {
        for value in 0..=127 {
            let mut changed = bytes.clone();
            changed[at] = value;
            match CompiledModel::from_bytes_insecure(&signed(changed)) {
                Ok(model) => {
                    model.facts().unwrap();
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 18 && refused > 2000, "{read} read, {refused} refused");
    for (kept, more) in [(1, &[][..]), (8, &[]), (8, &[0]), (8, &[1, 1, 1, 8]), (18, &[1])] {
        let mut changed = bytes[..start + kept].to_vec();
        changed.extend(more);
        assert!(CompiledModel::from_bytes_insecure(&signed(changed)).is_err(), "{kept}");
    }
}

/// Another version is refused by its number, before anything else is looked at.
#[test]
fn other_versions_are_refused_by_number() {
    let start = &model().to_bytes().unwrap()[..8];
    for (found, hint) in [
        (0u32, "compile the model again"),
        (1, "compile the model again"),
        (5, "update the program"),
        (u32::MAX, "update the program"),
    ] {
        let error = CompiledModel::from_bytes(&[start, &found.to_le_bytes()].concat()).unwrap_err();
        let by_number = matches!(error, Error::Version { found: other, supported: 4 } if other == found);
        assert!(by_number && error.hint().as_deref() == Some(hint), "{error}");
        assert_eq!(
            error.to_string(),
            format!("version {found} of compiled models is unknown, this program reads 4")
        );
    }
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
        match CompiledModel::from_bytes_insecure(&changed) {
            Err(Error::Version { found, supported: 4 }) => {
                assert!((8..12).contains(&at) && ![2, 3, 4].contains(&found))
            }
            // Version 3 has no packing.
            Err(Error::Format { .. }) => assert!(at == 8 || !(8..12).contains(&at), "{at}"),
            other => panic!("{at}: {:?}", other.map(|_| ())),
        }
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
        println!("seed {seed}");
        if let Ok(model) = CompiledModel::from_bytes_insecure(&signed(changed)) {
            model.facts().unwrap();
        }
    }
}
