//! Encoders of sentences: three spellings of one model become one graph, which computes what
//! onnxruntime computes.

use crate::build::{Model, float, int, integers, tensor};
use he_nn::encoder::softmax::{self, Shift};
use he_nn::encoder::{Encoder, norm};
use he_nn::graph::{LayerNorm, Op, Public};
use he_nn::onnx::{self, Reading};
use he_nn::{CompiledModel, Error, Graph, Options};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

const SPELLINGS: [&str; 3] = ["torch", "optimum", "tensorflow"];

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/encoders").join(name)
}

fn table(name: &str) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    text.lines().map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

fn bytes(spelling: &str) -> Vec<u8> {
    std::fs::read(data(&format!("{spelling}.onnx"))).unwrap()
}

pub fn graph(spelling: &str) -> Graph {
    let dimensions = [("sequence_length".to_owned(), 6)];
    let dimensions = if spelling == "torch" { &dimensions[..] } else { &[] };
    let reading = Reading { dimensions, ..Reading::default() };
    onnx::Model::with(&bytes(spelling), &reading).unwrap().graph
}

#[test]
fn spellings_compute_what_onnxruntime_computes() {
    for spelling in SPELLINGS {
        let graph = graph(spelling);
        assert_eq!(graph.input_elements(), 18);
        for (input, wanted) in table("inputs.csv").iter().zip(table("outputs.csv")) {
            let found = graph.apply_plain(input).unwrap();
            assert_eq!(found.len(), wanted.len());
            for (x, y) in found.iter().zip(&wanted) {
                assert!((x - y).abs() < 1e-6, "{spelling}: {x} and {y}");
            }
        }
    }
}

/// The kinds of the nodes, which nodes they take, and their dimensions.
fn outline(graph: &Graph) -> Vec<String> {
    let kind = |op: &Op| format!("{op:?}").split(['(', ' ']).next().unwrap_or_default().to_owned();
    graph.nodes.iter().map(|node| format!("{} {:?} {:?}", kind(&node.op), node.inputs, node.shape)).collect()
}

#[test]
fn spellings_become_one_graph() {
    let first = graph(SPELLINGS[0]);
    let count = |name: &str| outline(&first).iter().filter(|line| line.starts_with(name)).count();
    let kinds = ["Public", "Lookup", "LayerNorm", "Dense", "Contract", "Softmax", "Function", "Add"];
    assert_eq!(kinds.map(count), [3, 2, 3, 6, 2, 1, 1, 3], "{:#?}", outline(&first));
    assert_eq!([count("MaskedMean"), count("UnitLength"), count("Product")], [1, 1, 0]);
    let roles: Vec<&Op> = first.inputs().map(|(id, _)| &first.nodes[id].op).collect();
    let wanted = [Public::Ids(11), Public::Ids(2), Public::Mask].map(Op::Public);
    assert!(roles.iter().zip(&wanted).all(|(role, wanted)| *role == wanted));
    for spelling in &SPELLINGS[1..] {
        let other = graph(spelling);
        assert_eq!(outline(&first), outline(&other), "{spelling}");
        for (a, b) in first.nodes.iter().zip(&other.nodes) {
            assert_same(&a.op, &b.op, spelling);
        }
    }
}

/// Equal operations, up to constants that a spelling rounds to single precision.
fn assert_same(a: &Op, b: &Op, spelling: &str) {
    match (a, b) {
        (Op::Contract(a), Op::Contract(b)) => assert!((a.factor - b.factor).abs() < 1e-7, "{spelling}"),
        (a, b) => assert!(a == b, "{spelling}: {a:?} and {b:?}"),
    }
}

#[test]
fn hostile_examples_are_refused() {
    let graph = graph("torch");
    let good = table("inputs.csv").remove(0);
    let changed = |at: usize, value: f64| {
        let mut example = good.clone();
        example[at] = value;
        graph.apply_plain(&example)
    };
    for (at, value) in [(0, 11.0), (1, -1.0), (2, 0.5), (6, 2.0), (12, 2.0), (13, 1e300)] {
        let found = changed(at, value);
        assert!(matches!(found, Err(Error::InputId { at: place, .. }) if place == at), "{found:?}");
    }
    assert!(matches!(changed(0, f64::NAN), Err(Error::InputValue { at: 0, .. })));
    let mut empty = good.clone();
    empty[12..].fill(0.0);
    assert!(matches!(graph.apply_plain(&empty), Err(Error::EmptyMask { example: 0 })));
    assert!(matches!(graph.apply_plain(&good[1..]), Err(Error::InputLength { found: 17, expected: 18, .. })));
}

#[test]
fn plans_name_what_they_do_not_have() {
    let examples = table("inputs.csv");
    for spelling in SPELLINGS {
        let error = CompiledModel::compile(graph(spelling), &examples, Options::default()).unwrap_err();
        assert!(matches!(&error, Error::Unplanned { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn dynamic_dimensions_ask_for_a_number() {
    let unknown = [("tokens".to_owned(), 6)];
    let reading = Reading { dimensions: &unknown, ..Reading::default() };
    let error = onnx::Model::with(&bytes("torch"), &reading).unwrap_err();
    assert!(matches!(&error, Error::Model { why, .. } if why.contains("\"tokens\"")), "{error}");
    let error = Graph::from_onnx(&bytes("torch")).unwrap_err();
    assert!(
        matches!(&error, Error::DynamicShape { axis: 1, dimension, .. } if dimension == "sequence_length"),
        "{error}"
    );
}

/// Every prefix and many changes of a file end in an error or in a graph, never in a panic.
#[test]
fn damaged_encoders_do_not_panic() {
    let whole = bytes("optimum");
    (0..whole.len()).step_by(97).for_each(|length| assert!(Graph::from_onnx(&whole[..length]).is_err()));
    let example = table("inputs.csv").remove(0);
    let mut state = seed() | 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        if let Ok(graph) = Graph::from_onnx(&bytes) {
            let _ = graph.apply_plain(&example);
        }
    }
}

#[test]
fn attributes_and_shapes_of_encoders_are_read_or_refused() {
    let norm = |attributes| {
        Model::new(&[0, 3, 4])
            .with(tensor("s", &[4], &[1.0, 2.0, 3.0, 4.0]))
            .node_of("LayerNormalization", &["x", "s"], "y", attributes)
            .bytes()
    };
    assert!(Graph::from_onnx(&norm(vec![int("axis", -1), float("epsilon", 1e-5)])).is_ok());
    for attributes in [vec![int("axis", 1)], vec![float("epsilon", 0.0)], vec![int("unknown", 1)]] {
        assert!(Graph::from_onnx(&norm(attributes)).is_err());
    }
    let product = |to: &[i64]| {
        Model::new(&[0, 4, 4])
            .with(integers("to", to))
            .node("Tanh", &["x"], "t")
            .node("Reshape", &["t", "to"], "r")
            .node("MatMul", &["t", "r"], "y")
            .bytes()
    };
    assert!(Graph::from_onnx(&product(&[0, 4, 4])).is_ok());
    for to in [&[0, 2, 8][..], &[0, 16], &[0, 1, 4, 4]] {
        assert!(matches!(Graph::from_onnx(&product(to)), Err(Error::Unsupported { .. })), "{to:?}");
    }
}

/// A division by the root of the mean of squares has no mean that it subtracts, and is no layer
/// normalisation, even of a single row.
#[test]
fn means_of_squares_are_no_normalisation() {
    let model = Model::new(&[0, 4])
        .node("Mul", &["x", "x"], "q")
        .with(integers("axes", &[-1]))
        .node("ReduceMean", &["q", "axes"], "m")
        .with(tensor("e", &[], &[1e-5]))
        .node("Add", &["m", "e"], "v")
        .node("Sqrt", &["v"], "r")
        .node("Div", &["x", "r"], "n")
        .with(tensor("s", &[4], &[0.5, -1.0, 2.0, 3.0]))
        .node("Mul", &["n", "s"], "y");
    let graph = Graph::from_onnx(&model.bytes()).unwrap();
    let x = [0.3f64, -1.5, 0.7, 2.0];
    let root = (x.iter().map(|x| x * x).sum::<f64>() / 4.0 + 1e-5).sqrt();
    let found = graph.apply_plain(&x).unwrap();
    for ((x, s), y) in x.iter().zip([0.5, -1.0, 2.0, 3.0]).zip(found) {
        assert!((x / root * s - y).abs() < 1e-6, "{y}");
    }
}

/// x / y of two encrypted values is x times a function of y.
#[test]
fn quotients_of_values_are_products() {
    let model = Model::new(&[0, 3]).node("Exp", &["x"], "e").node("Div", &["x", "e"], "y");
    let found = Graph::from_onnx(&model.bytes()).unwrap().apply_plain(&[0.5, -1.0, 2.0]).unwrap();
    for (x, y) in [0.5f64, -1.0, 2.0].into_iter().zip(found) {
        assert!((x / libm::exp(x) - y).abs() < 1e-12);
    }
}

pub fn seed() -> u64 {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed {seed}");
    seed
}

/// Examples of random words and lengths.
pub fn sentences(rng: &mut ChaCha20Rng, count: usize) -> Vec<Vec<f64>> {
    let sentence = |rng: &mut ChaCha20Rng| {
        let length = rng.random_range(1..=6);
        let words = (0..6).map(|_| f64::from(rng.random_range(0..11))).collect::<Vec<f64>>();
        let types = (0..6).map(|_| f64::from(rng.random_range(0..2))).collect();
        let mask = (0..6).map(|at| f64::from(u8::from(at < length))).collect();
        [words, types, mask].concat()
    };
    (0..count).map(|_| sentence(rng)).collect()
}

pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Sentences outside of the calibration end near the exact ones or in a refusal with a name, never
/// in NaN.
#[test]
fn simulated_encoders_are_near_or_refuse() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let encoder = Encoder::calibrate(graph("torch"), &sentences(rng, 400)).unwrap();
    assert_eq!(encoder.approximations().count(), 4);
    let mut near = 0;
    for (index, sentence) in sentences(rng, 60).iter().enumerate() {
        let exact = encoder.graph().apply_plain(sentence).unwrap();
        match encoder.simulate(index, sentence) {
            Ok(found) => {
                near += 1;
                assert!(cosine(&found, &exact) > 0.995, "{}", cosine(&found, &exact));
            }
            Err(error) => assert!(matches!(&error, Error::OutOfRange { .. }), "{error}"),
        }
    }
    assert!(near >= 45, "{near} of 60");
}

#[test]
fn narrow_samples_warn_and_refuse() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let all = sentences(rng, 40);
    // Three sentences of one word, and one of six that tests them.
    let mut narrow = vec![all[0].clone(); 4];
    narrow.iter_mut().for_each(|sentence| sentence[13..].fill(0.0));
    narrow[3] = table("inputs.csv").remove(0);
    let encoder = Encoder::calibrate(graph("optimum"), &narrow).unwrap();
    let [first, ..] = encoder.warnings() else { panic!("no warning") };
    assert_eq!((first.examples, first.of), (1, 1));
    let alone = Encoder::calibrate(graph("optimum"), &narrow[..1]).unwrap();
    let refusals = all.iter().filter_map(|sentence| alone.simulate(0, sentence).err());
    let texts: Vec<String> = refusals.map(|error| error.to_string()).collect();
    assert!(!texts.is_empty() && texts.iter().all(|text| text.contains("calibration covered")), "{texts:?}");
    assert!(matches!(Encoder::calibrate(graph("optimum"), &[]), Err(Error::NoExamples)));
}

/// A head that looks at the token before, with scores of very different sizes in each row.
#[test]
fn heads_of_neighbours_get_a_shift() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let tokens = 8usize;
    let scores = |rng: &mut ChaCha20Rng| {
        let mut scores: Vec<f64> = (0..tokens * tokens).map(|_| rng.random_range(-2.0..2.0)).collect();
        for at in 0..tokens {
            let level = rng.random_range(0.0..40.0);
            scores[at * tokens + at.saturating_sub(1)] = level + 8.0;
            let row = &mut scores[at * tokens..][..tokens];
            row.iter_mut()
                .enumerate()
                .filter(|(j, _)| *j != at.saturating_sub(1))
                .for_each(|(_, s)| *s += level);
        }
        scores
    };
    let mut seen = softmax::Seen::new(1, tokens);
    (0..200).for_each(|_| seen.see(&scores(rng), None));
    let approximate = softmax::Approximate::new(&seen);
    assert_eq!(approximate.heads[0].shift, Shift::Previous);
    let sample = scores(rng);
    let found = approximate.apply(0, &sample, None).unwrap();
    for (scores, found) in sample.chunks(tokens).zip(found.chunks(tokens)) {
        let sum: f64 = scores.iter().map(|s| libm::exp(*s)).sum();
        let far = scores.iter().zip(found).map(|(s, p)| (libm::exp(*s) / sum - p).abs());
        assert!(far.fold(0.0, f64::max) < 2e-3);
    }
}

/// The greatest sums of all heads are a little below 1, whatever their scores, so that noise, which
/// is the same for all, spoils none.
#[test]
fn greatest_sums_of_all_heads_are_near_one() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let (tokens, ranges) = (8, [-1.0..1.0, -40.0..5.0, 20.0..21.0]);
    let mut head = |range: std::ops::Range<f64>| -> Vec<f64> {
        (0..tokens * tokens).map(|_| rng.random_range(range.clone())).collect()
    };
    let samples: Vec<Vec<Vec<f64>>> = (0..50).map(|_| ranges.clone().map(&mut head).to_vec()).collect();
    let mut seen = softmax::Seen::new(ranges.len(), tokens);
    samples.iter().for_each(|sample| seen.see(&sample.concat(), None));
    let approximate = softmax::Approximate::new(&seen);
    for (at, head) in approximate.heads.iter().enumerate().filter(|(_, head)| head.shift == Shift::None) {
        let rows = samples.iter().flat_map(|sample| sample[at].chunks(tokens));
        let sum = |row: &[f64]| row.iter().map(|s| libm::exp(0.5 * (s - head.offset))).sum::<f64>();
        let most = rows.map(sum).fold(0.0, f64::max);
        assert!((0.4..1.0).contains(&most), "head {at}: {most}");
        assert!(head.scores.high <= head.offset && head.sums.high == 0.0);
    }
}

/// One row of variances far from all others gets a factor, and the polynomial stays of low degree.
#[test]
fn outlier_rows_get_a_factor() {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed());
    let norm = LayerNorm { epsilon: 1e-12, scale: vec![1.0; 32], shift: vec![0.5; 32] };
    let value = |rng: &mut ChaCha20Rng| -> Vec<f64> {
        (0..4 * 32).map(|at| rng.random_range(-1.0..1.0) * if at < 32 { 30.0 } else { 1.0 }).collect()
    };
    let mut seen = norm::Seen::new(4);
    (0..50).for_each(|_| seen.see(&norm, &value(rng)));
    let approximate = norm::Approximate::new(&seen);
    assert_eq!(approximate.outliers(), 1);
    assert!(approximate.factors[0] < 0.01 && approximate.ratio() < 40.0);
    let sample = value(rng);
    let found = approximate.apply(0, &norm, &sample).unwrap();
    for (row, found) in sample.chunks(32).zip(found.chunks(32)) {
        let mean = row.iter().sum::<f64>() / 32.0;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 32.0;
        let far = row.iter().zip(found).map(|(x, y)| ((x - mean) / variance.sqrt() + 0.5 - y).abs());
        assert!(far.fold(0.0, f64::max) < 0.02);
    }
    let far: Vec<f64> = sample.iter().map(|x| 100.0 * x).collect();
    assert!(approximate.apply(0, &norm, &far).is_err());
}
