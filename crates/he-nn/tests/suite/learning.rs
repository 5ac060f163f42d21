//! Models that scikit-learn learns: trees, support vector machines and norms, read, refused and
//! computed. The expected values of the folder `tests/data/onnx` are those of onnxruntime 1.32.0.

use crate::build::{Model, floats, int, ints, text, texts};
use crate::inference::{Lab, difference, examples, toy};
use he_core::circuits::ckks::NeverRefresh;
use he_nn::onnx::Model as Read;
use he_nn::{CompiledModel, Error, Graph, NearThreshold, Options};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use rten_onnx::onnx::{AttributeProto, ModelProto, NodeProto};
use rten_onnx::protobuf::{DecodeMessage, ValueReader};

/// A tree of two comparisons and three leaves, which are 1, 2 and 4: x0 against 0.5 by the mode
/// given, then x1 <= -0.25.
fn tree(mode: &str) -> Vec<AttributeProto> {
    vec![
        ints("nodes_treeids", &[0; 5]),
        ints("nodes_nodeids", &[0, 1, 2, 3, 4]),
        ints("nodes_featureids", &[0, 1, 0, 0, 0]),
        texts("nodes_modes", &[mode, "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]),
        floats("nodes_values", &[0.5, -0.25, 0.0, 0.0, 0.0]),
        ints("nodes_truenodeids", &[1, 3, 0, 0, 0]),
        ints("nodes_falsenodeids", &[2, 4, 0, 0, 0]),
        ints("nodes_missing_value_tracks_true", &[0; 5]),
        floats("nodes_hitrates", &[1.0; 5]),
        ints("target_treeids", &[0; 3]),
        ints("target_nodeids", &[2, 3, 4]),
        ints("target_ids", &[0; 3]),
        floats("target_weights", &[1.0, 2.0, 4.0]),
    ]
}

fn regressor(attributes: Vec<AttributeProto>) -> Result<Graph, Error> {
    Graph::from_onnx(&Model::new(&[0, 2]).learning(1, "TreeEnsembleRegressor", &["y"], attributes).bytes())
}

/// The attributes with another one in the place of that of its name.
fn with(mut attributes: Vec<AttributeProto>, other: AttributeProto) -> Vec<AttributeProto> {
    attributes.retain(|attribute| attribute.name != other.name);
    attributes.push(other);
    attributes
}

/// Whether the condition holds at the threshold itself depends on the mode.
#[test]
fn trees_follow_the_modes_of_their_nodes() {
    for (mode, below, at, above) in [
        ("BRANCH_LEQ", 2.0, 2.0, 1.0),
        ("BRANCH_LT", 2.0, 1.0, 1.0),
        ("BRANCH_GTE", 1.0, 2.0, 2.0),
        ("BRANCH_GT", 1.0, 1.0, 2.0),
    ] {
        let graph = regressor(tree(mode)).unwrap();
        let found = [0.4, 0.5, 0.6].map(|x| graph.apply_plain(&[x, -0.25]).unwrap()[0]);
        assert!(
            [below, at, above].iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-12),
            "{mode}: {found:?}"
        );
    }
    // Sums of two targets, a factor of one over the number of trees, and base values.
    let attributes = with(tree("BRANCH_LEQ"), ints("target_ids", &[0, 1, 0]));
    let more =
        [int("n_targets", 2), floats("base_values", &[10.0, 20.0]), text("aggregate_function", "AVERAGE")];
    let graph = regressor(attributes.into_iter().chain(more).collect()).unwrap();
    let found = [[1.0, 0.0], [0.0, -1.0], [0.0, 1.0]].map(|x| graph.apply_plain(&x).unwrap());
    let expected = [[11.0, 20.0], [10.0, 22.0], [14.0, 20.0]];
    let close = |(found, expected): (&Vec<f64>, &[f64; 2])| {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    assert!(found.iter().zip(&expected).all(close), "{found:?}");
}

#[test]
fn impossible_trees_are_refused() {
    let good = || tree("BRANCH_LEQ");
    for (attribute, what) in [
        (texts("nodes_modes", &["BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]), "BRANCH_EQ"),
        (ints("nodes_truenodeids", &[0, 3, 0, 0, 0]), "nodes that no root leads to"),
        (ints("nodes_truenodeids", &[1, 0, 0, 0, 0]), "nodes that no root leads to"),
        (ints("nodes_truenodeids", &[2, 3, 0, 0, 0]), "two roots"),
        (ints("nodes_truenodeids", &[7, 3, 0, 0, 0]), "no node 7"),
        (ints("nodes_nodeids", &[0, 1, 2, 3, 3]), "two nodes 3"),
        (ints("nodes_featureids", &[2, 1, 0, 0, 0]), "feature 2 of 2"),
        (ints("nodes_featureids", &[0, 1, 0]), "3 nodes_featureids for 5"),
        (ints("target_nodeids", &[2, 3, 1]), "node 1 of tree 0 has weights"),
        (ints("target_ids", &[0, 0, 1]), "output 1 of 1"),
        (floats("target_weights", &[1.0, 2.0]), "trees for 2 weights"),
        (text("post_transform", "LOGISTIC"), "post_transform"),
        (text("aggregate_function", "MIN"), "takes the MIN"),
        (floats("base_values", &[1.0, 2.0]), "2 base values for 1"),
        (int("nodes", 1), "nodes = 1"),
    ] {
        let name = attribute.name.clone();
        let error = regressor(with(good(), attribute)).unwrap_err().to_string();
        assert!(error.contains(what), "{name:?}: {error}");
    }
    // A path of more comparisons than are computed: a chain of branches.
    let count = 43;
    let ids: Vec<i64> = (0..2 * count + 1).collect();
    let modes: Vec<&str> = ids.iter().map(|&id| if id < count { "BRANCH_LEQ" } else { "LEAF" }).collect();
    let next = |id: &i64| if *id < count - 1 { id + 1 } else { 2 * count };
    let attributes = vec![
        ints("nodes_treeids", &vec![0; ids.len()]),
        ints("nodes_nodeids", &ids),
        ints("nodes_featureids", &vec![0; ids.len()]),
        texts("nodes_modes", &modes),
        floats("nodes_values", &vec![0.0; ids.len()]),
        ints("nodes_truenodeids", &ids.iter().map(next).collect::<Vec<_>>()),
        ints("nodes_falsenodeids", &ids.iter().map(|id| id + count).collect::<Vec<_>>()),
    ];
    let error = regressor(attributes).unwrap_err();
    assert!(error.to_string().contains("more than 40 comparisons"), "{error}");
    assert!(error.hint().unwrap().contains("max_depth"), "{error:?}");
}

/// Labels that are texts do not hinder scores, as the hint says.
#[test]
fn scores_are_read_whatever_labels_are_called() {
    let attributes = || {
        vec![
            texts("classlabels_strings", &["cat", "dog", "owl"]),
            floats("coefficients", &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
            floats("intercepts", &[0.0, 0.0, -1.0]),
        ]
    };
    let model = Model::new(&[0, 2]).learning(1, "LinearClassifier", &["label", "y"], attributes());
    let bytes = model.with_output("label").bytes();
    assert_eq!(Graph::from_onnx(&bytes).unwrap().apply_plain(&[2.0, 3.0]).unwrap(), [2.0, 3.0, 4.0]);
    let error = Read::read(&bytes, Some("label")).unwrap_err();
    assert!(error.to_string().contains("\"cat\""), "{error}");
    assert!(error.hint().unwrap().contains("ask for the output of scores"), "{error:?}");
    for (name, why) in [("SOFTMAX_ZERO", "exactly 0"), ("PROBIT", "beyond 0 to 1")] {
        let attributes = with(attributes(), text("post_transform", name));
        let model = Model::new(&[0, 2]).learning(1, "LinearClassifier", &["label", "y"], attributes);
        let error = Graph::from_onnx(&model.bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Three classes have three pairs; the greatest sum of them does not decide.
#[test]
fn votes_choose_classes() {
    use he_nn::graph::Decision::Votes;
    assert_eq!(Votes.apply(&[9.0, -0.1, 0.1]), [0.0]);
    assert_eq!(Votes.apply(&[-1.0, -9.0, 0.1]), [1.0]);
    assert_eq!(Votes.apply(&[1.0, -1.0, -1.0]), [2.0]);
    // Votes for all of the circle are equal.
    assert_eq!(Votes.apply(&[1.0, -1.0, 1.0]), [0.0]);
    assert_eq!(Votes.apply(&[-1.0; 6]), [3.0]);
}

/// Votes count first, and the sums of outputs order classes of equal votes.
#[test]
fn classes_have_scores_against_the_rest() {
    use he_nn::graph::Decision::{OneVsRest, Sign};
    let close = |found: Vec<f64>, expected: &[f64]| {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    // Sums of 1, -2 and 1; 1 / (3 * 2) = 1/6 and 2 / (3 * 3) = 2/9.
    let found = OneVsRest.apply(&[2.0, -1.0, 0.0]);
    assert!(close(found.clone(), &[7.0 / 6.0, 7.0 / 9.0, 7.0 / 6.0]), "{found:?}");
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let outputs: Vec<f64> = (0..10).map(|_| rng.random_range(-2.0..2.0)).collect();
    let pair = |i: usize, j: usize| (0..i).map(|i| 4 - i).sum::<usize>() + j - i - 1;
    let score = |class: usize| {
        let of = |other: usize| match class < other {
            true => outputs[pair(class, other)],
            false => -outputs[pair(other, class)],
        };
        let others: Vec<f64> = (0..5).filter(|&other| other != class).map(of).collect();
        let (votes, sum) = (others.iter().filter(|x| **x > 0.0).count(), others.iter().sum::<f64>());
        votes as f64 + sum / (3.0 * (sum.abs() + 1.0))
    };
    let expected: Vec<f64> = (0..5).map(score).collect();
    assert!(close(OneVsRest.apply(&outputs), &expected), "{outputs:?}");
    assert_eq!(Sign.apply(&[0.5, -0.0, 0.0, -1e-300]), [1.0, 0.0, 0.0, -1.0]);
}

/// The scores of classes are read from the operators of their formula; a model in which one of
/// these is another one is refused, and computed nowhere as if it were not.
#[test]
fn formulas_that_deviate_are_refused() {
    let bytes = include_bytes!("../data/onnx/skl_SVC_scores/m.onnx");
    let model = || ModelProto::decode(ValueReader::from_buf(bytes.as_slice())).unwrap();
    let read = |change: &dyn Fn(&mut ModelProto)| {
        let mut model = model();
        change(&mut model);
        Graph::from_onnx(&model.write_buf().unwrap())
    };
    assert_eq!(read(&|_| {}).unwrap().decision, he_nn::graph::Decision::OneVsRest);
    let nodes = model().graph.unwrap().node;
    let mut changed = 0;
    for (at, node) in nodes.iter().enumerate() {
        let other = match node.op_type.as_deref().unwrap() {
            "Neg" => "Identity",
            "Less" => "Greater",
            "Abs" => "Neg",
            "Div" | "Add" | "Sum" => "Sub",
            "Mul" => "Add",
            _ => continue,
        };
        changed += 1;
        let change = |model: &mut ModelProto| {
            model.graph.as_mut().unwrap().node[at].op_type = Some(other.to_owned());
        };
        let error = read(&change).expect_err(node.name.as_deref().unwrap());
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(!error.hint().unwrap_or_default().is_empty());
    }
    assert!(changed > 15, "{changed}");
    let is = |operator: &'static str| move |node: &&mut NodeProto| node.op_type.as_deref() == Some(operator);
    let nodes = |model: &mut ModelProto| std::mem::take(&mut model.graph.as_mut().unwrap().node);
    // Classes in another order, a pair twice, and an output in the middle of the formula.
    for (operator, from, to) in [("Concat", 0, 1), ("Sum", 0, 1)] {
        let change = |model: &mut ModelProto| {
            let mut list = nodes(model);
            let node = list.iter_mut().find(is(operator)).unwrap();
            node.input[to] = node.input[from].clone();
            model.graph.as_mut().unwrap().node = list;
        };
        assert!(read(&change).is_err(), "{operator}");
    }
    let change = |model: &mut ModelProto| {
        let list = nodes(model);
        let name =
            list.iter().find(|node| node.op_type.as_deref() == Some("Less")).unwrap().output[0].clone();
        let graph = model.graph.as_mut().unwrap();
        graph.node = list;
        graph.output[0].name = Some(name);
    };
    let error = read(&change).unwrap_err();
    assert!(error.to_string().contains("of comparisons"), "{error}");
    assert!(error.hint().unwrap().contains("ovo"), "{error:?}");
}

/// Probabilities of pairs that are those of classes lead back to these; others to the least sum of
/// squares among all probabilities.
#[test]
fn coupling_finds_probabilities_of_classes() {
    use he_nn::graph::Decision::Coupling;
    let outputs = |p: &[f64]| -> Vec<f64> {
        (0..p.len()).flat_map(|i| (i + 1..p.len()).map(move |j| (p[j] / p[i]).ln())).collect()
    };
    for p in [&[0.5, 0.25, 0.125, 0.125][..], &[0.9, 0.1], &[1e-6, 0.2, 0.8 - 1e-6]] {
        let found = Coupling.apply(&outputs(p));
        assert!(found.iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} for {p:?}");
    }
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for classes in [3usize, 5] {
        let t: Vec<f64> = (0..classes * (classes - 1) / 2).map(|_| rng.random_range(-3.0..3.0)).collect();
        let error = |p: &[f64]| -> f64 {
            let pairs = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j)));
            let of = |((i, j), t): ((usize, usize), &f64)| {
                let first = 1.0 / (1.0 + t.exp());
                ((1.0 - first) * p[i] - first * p[j]).powi(2)
            };
            pairs.zip(&t).map(of).sum()
        };
        let found = Coupling.apply(&t);
        assert!(
            (found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.iter().all(|&p| p > 0.0),
            "{found:?}"
        );
        for (more, less) in (0..classes).flat_map(|i| (0..classes).map(move |j| (i, j))) {
            let mut other = found.clone();
            other[more] += 1e-3;
            other[less] -= 1e-3;
            assert!(error(&other) >= error(&found), "{found:?}: {more}, {less}");
        }
    }
}

/// Encrypted trees give the leaves that plain ones do, but near thresholds, where examples are
/// refused if that changes an output.
#[test]
fn encrypted_trees_agree_beyond_the_gap() {
    let graph = regressor(tree("BRANCH_LEQ")).unwrap();
    let options = Options { bits: 7, margin: 0.25 };
    let mut data = examples(4, 40, 2);
    data.push(vec![-1.0, -1.0]);
    data.push(vec![1.0, 1.0]);
    let model = CompiledModel::compile_for(graph, &data, options.clone(), toy(6, 20)).unwrap();
    let again = CompiledModel::from_bytes_insecure(&model.to_bytes().unwrap()).unwrap();
    let inside: Vec<Vec<f64>> = data.into_iter().filter(|row| model.check(0, row).is_ok()).collect();
    assert!(inside.len() >= 38, "{}", inside.len());
    for model in [&model, &again] {
        let mut lab = Lab::new(model);
        let count = model.examples().min(inside.len());
        let inputs = lab.encrypt(model, &inside[..count]);
        let (prepared, mut done) = (model.prepare(&lab.ev).unwrap(), Vec::new());
        let watch = &mut |work| done.push(work);
        let outputs = prepared.infer_watched(&lab.ev, &inputs, &lab.keys, &NeverRefresh, watch).unwrap();
        // Comparisons, their arguments, counts, whether leaves are reached twice, and sums.
        assert!(done.len() == 6 && done.iter().all(|&work| work > 0), "{done:?}");
        assert_eq!(done.iter().sum::<u64>(), prepared.work().unwrap());
        let found = lab.decrypt(model, &outputs, count);
        let worst = difference(model.graph(), &inside[..count], &found);
        assert!(worst < 8.0 * 2f64.powi(-7), "{worst}");
    }
    // 0.5 - x0 is at most 1.5, and x1 + 0.25 at most 1.25.
    let gap = 2f64.powi(-7) * 1.25;
    for (row, value, distance) in [
        ([0.5, -1.0], 0, 0.0),
        ([0.5 - 0.3 * gap, 0.9], 0, 0.3 * gap),
        ([0.0, -0.25 + 0.2 * gap], 1, 0.2 * gap),
    ] {
        let error = model.check(3, &row).unwrap_err();
        let Error::NearThreshold(near) = error else { panic!("{error}") };
        let NearThreshold { example: 3, value: at, distance: found, width, .. } = *near else {
            panic!("{near}")
        };
        let most = if value == 0 { 1.5 } else { 1.25 };
        assert!(at == value && (found - distance).abs() < 1e-9 && (width - most * gap).abs() < 1e-9);
        assert!(model.check(3, &row).unwrap_err().hint().unwrap().contains("more bits"));
    }
    // With three bits more, the last example is beyond the gap: the hint helps.
    let graph = regressor(tree("BRANCH_LEQ")).unwrap();
    let finer = Options { bits: 10, ..options };
    let finer =
        CompiledModel::compile_for(graph, &[vec![-1.0, -1.0], vec![1.0, 1.0]], finer, toy(6, 26)).unwrap();
    finer.check(0, &[0.0, -0.25 + 0.2 * gap]).unwrap();
    // Near a threshold that the example does not come to, nothing changes.
    model.check(0, &[0.9, -0.25 + 0.6 * gap]).unwrap();
}
