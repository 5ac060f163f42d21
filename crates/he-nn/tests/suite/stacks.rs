//! Models with a ciphertext for each number of an example, against plain inference.

use crate::build::{Model, ints, tensor};
use crate::inference::{Lab, difference, examples, toy, weights};
use he_core::circuits::ckks::NeverRefresh;
use he_nn::{Arrangement, CompiledModel, Error, Graph, Options};

/// 16-8-4 with squares between, and a bias in each layer.
fn dense() -> Graph {
    let model = Model::new(&[0, 1, 4, 4])
        .node("Flatten", &["x"], "f")
        .with(tensor("w1", &[16, 8], &weights(1, 128)))
        .with(tensor("b1", &[8], &weights(2, 8)))
        .node("MatMul", &["f", "w1"], "h")
        .node("Add", &["h", "b1"], "a")
        .node("Mul", &["a", "a"], "s")
        .with(tensor("w2", &[4, 8], &weights(3, 32)))
        .with(tensor("b2", &[4], &weights(4, 4)))
        .node_of("Gemm", &["s", "w2", "b2"], "y", vec![crate::build::int("transB", 1)]);
    Graph::from_onnx(&model.bytes()).unwrap()
}

/// Convolutions of 1 x 1, whose matrix is that of each position, a sum of branches, a product and
/// averages of planes.
fn pointwise() -> Graph {
    let model = Model::new(&[0, 3, 2, 3])
        .with(tensor("w1", &[4, 3, 1, 1], &weights(5, 12)))
        .with(tensor("b1", &[4], &weights(6, 4)))
        .node("Conv", &["x", "w1", "b1"], "c")
        .node("Mul", &["c", "c"], "s")
        .with(tensor("w2", &[4, 4, 1, 1], &weights(7, 16)))
        .node("Conv", &["s", "w2"], "d")
        .node("Add", &["d", "c"], "e")
        .node("Mul", &["e", "c"], "p")
        .node_of("AveragePool", &["p"], "q", vec![ints("kernel_shape", &[2, 3])])
        .node("Flatten", &["q"], "y");
    Graph::from_onnx(&model.bytes()).unwrap()
}

fn stacked(graph: Graph, data: &[Vec<f64>]) -> CompiledModel {
    let options = Options { bits: 16, margin: 0.25 };
    CompiledModel::arranged_for(graph, data, options, toy(6, 8), Arrangement::Stacks).unwrap()
}

#[test]
fn batches_agree_with_plain_inference() {
    for (graph, elements) in [(dense(), 16), (pointwise(), 18)] {
        let model = stacked(graph.clone(), &examples(8, 100, elements));
        assert_eq!((model.examples(), model.ciphertexts()), (32, elements));
        let facts = model.facts().unwrap();
        assert_eq!(facts.arrangement, Arrangement::Stacks);
        assert!(facts.layers.iter().all(|layer| layer.rotations == 0 && layer.diagonals == 0));
        // Part of the slots, all of them, and three groups, the last of which is not full.
        let mut lab = Lab::new(&model);
        assert_eq!(lab.keys.galois_keys().count(), 0);
        let prepared = model.prepare(&lab.ev).unwrap();
        assert!(prepared.bytes() > 0);
        for count in [1, 32, 70] {
            let data = examples(9, count, elements);
            let inputs = lab.encrypt(&model, &data);
            assert_eq!(inputs[0].batch(), count.div_ceil(32));
            let outputs = prepared.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
            let found = lab.decrypt(&model, &outputs, count);
            let worst = difference(&graph, &data, &found);
            assert!(worst < 1e-4, "{count} examples: {worst:e}");
        }
    }
}

#[test]
fn inputs_are_stacks_of_one_size() {
    let model = stacked(dense(), &examples(8, 100, 16));
    let mut lab = Lab::new(&model);
    let mut inputs = lab.encrypt(&model, &examples(9, 40, 16));
    inputs[3] = inputs[3].slice_batch(0..1).unwrap();
    let infer = |inputs: &[_]| model.infer(&lab.ev, inputs, &lab.keys, &NeverRefresh);
    let error = infer(&inputs).unwrap_err().to_string();
    assert!(error.contains("batches of [1, 2]"), "{error}");
    assert!(infer(&inputs[1..]).unwrap_err().to_string().contains("16 ciphertexts, and 15 are given"));
}

/// Slots serve a few examples and large convolutions, stacks serve many examples.
#[test]
fn the_number_of_examples_decides() {
    let data = examples(8, 100, 16);
    let compiled =
        |batch| CompiledModel::compile_for_batch(dense(), &data, Options::default(), batch).unwrap();
    let (one, comparison) = compiled(1);
    assert_eq!((one.arrangement(), comparison.chosen()), (Arrangement::Slots, Arrangement::Slots));
    let (many, comparison) = compiled(5000);
    assert_eq!((many.arrangement(), comparison.examples), (Arrangement::Stacks, 5000));
    let stacks = comparison.stacks.clone().unwrap();
    assert!(stacks.work < comparison.slots.work && stacks.key_bytes < comparison.slots.key_bytes);
    assert_eq!(stacks.levels, 3);
    let groups = 5000usize.div_ceil(many.examples()) as f64;
    assert_eq!(stacks.work, groups * many.facts().unwrap().work);
}

#[test]
fn values_of_too_many_elements_have_no_stacks() {
    let model = Model::new(&[0, 1, 80, 80]).node("Mul", &["x", "x"], "y");
    let graph = Graph::from_onnx(&model.bytes()).unwrap();
    let data = examples(8, 2, 6400);
    let arranged =
        CompiledModel::arranged_for(graph, &data, Options::default(), toy(6, 2), Arrangement::Stacks);
    let error = arranged.unwrap_err();
    assert!(matches!(&error, Error::Parameters { why } if why.contains("6400 elements")), "{error}");
}

/// They come back as they were, under a version of their own; actions that there are not are
/// refused.
#[test]
fn stacks_are_kept_in_files() {
    let model = stacked(dense(), &examples(8, 100, 16));
    let bytes = model.to_bytes().unwrap();
    assert_eq!(bytes[8], 3);
    let back = CompiledModel::from_bytes_insecure(&bytes).unwrap();
    assert_eq!(back.to_bytes().unwrap(), bytes);
    assert_eq!((back.arrangement(), back.outputs()), (Arrangement::Stacks, model.outputs()));
    assert_eq!(back.facts().unwrap(), model.facts().unwrap());
    assert!(CompiledModel::from_bytes(&bytes).is_err());
    // A length, and a kind, a layer and a level of each of three layers.
    let start = bytes.len() - 10;
    assert_eq!(bytes[start], 3);
    for (at, value) in [(0, 2), (0, 4), (1, 0), (2, 2), (3, 9), (9, 0)] {
        let mut changed = bytes.clone();
        changed[start + at] = value;
        let hash = blake3::hash(&changed[44..]);
        changed[12..44].copy_from_slice(hash.as_bytes());
        assert!(CompiledModel::from_bytes_insecure(&changed).is_err(), "{at}: {value}");
    }
    // The same bytes as a model in slots.
    let mut other = bytes;
    other[8] = 2;
    assert!(CompiledModel::from_bytes_insecure(&other).is_err());
}
