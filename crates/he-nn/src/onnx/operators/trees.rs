//! Ensembles of decision trees: regressors and classifiers of `ai.onnx.ml`.
//!
//! All comparisons of all trees are one vector of steps. A leaf is reached if all conditions on the
//! path to it hold: their number, less the length of the path, is 0 there and a negative integer at
//! every other leaf of the tree. The polynomial prod_k (x + k) / k over k = 1, 2 ... depth is 1 at
//! 0 and 0 at these integers; 3 y^2 - 2 y^3, which is flat at 0 and at 1, takes the errors of the
//! comparisons away from it. Outputs are sums of the results with the weights of the leaves. Each
//! tree has as many places as the one with the most leaves, so that the maps between comparisons
//! and leaves have as few diagonals as that of a single tree.

use super::super::node::View;
use super::super::tensor::Tensor;
use super::super::{Reader, Value, take};
use super::{activations, learning};
use crate::error::{Error, Result};
use crate::function::{Function, Named};
use crate::graph::{Decision, Dense, MAX_ELEMENTS, Op, Row};
use std::collections::HashMap;

/// The longest paths: numbers of a longer one's conditions are too close to each other.
const MAX_DEPTH: usize = 40;

const SMALLER: &str = "train with fewer or less deep trees, such as max_depth=6";
const WHOLE: &str = "export the model again: each tree needs a root, and nodes that it leads to";

/// A node with two branches.
#[derive(Clone, Copy)]
struct Branch {
    feature: usize,
    threshold: f64,
    mode: Mode,
    /// The children if the condition holds, and if not.
    to: [Child; 2],
}

#[derive(Clone, Copy)]
enum Child {
    Branch(usize),
    Leaf(usize),
}

/// The comparison of a feature with a threshold.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
}

impl Mode {
    fn of(view: &View<'_>, name: &str) -> Result<Self> {
        Ok(match name {
            "BRANCH_LEQ" => Self::LessOrEqual,
            "BRANCH_LT" => Self::Less,
            "BRANCH_GTE" => Self::GreaterOrEqual,
            "BRANCH_GT" => Self::Greater,
            _ => {
                return Err(view.unsupported(
                    format!("a node of its trees is of the mode {name:?}"),
                    "use trees whose nodes compare a feature with a threshold",
                ));
            }
        })
    }

    /// The sign of the feature in the argument of the step, and the step's value if the condition
    /// holds.
    fn step(self) -> (f64, bool) {
        match self {
            Self::LessOrEqual => (-1.0, true),
            Self::Less => (1.0, false),
            Self::GreaterOrEqual => (1.0, true),
            Self::Greater => (-1.0, false),
        }
    }
}

/// Trees, in the form that all operators share.
struct Ensemble {
    branches: Vec<Branch>,
    /// The numbers that each leaf adds to outputs.
    leaves: Vec<Vec<(usize, f64)>>,
    roots: Vec<Child>,
}

/// A tree by its paths.
#[derive(Default)]
struct Tree {
    /// The branches, each with a place of its own.
    tests: Vec<usize>,
    /// The leaves: which one, and the conditions that lead there, by their places.
    paths: Vec<(usize, Vec<(usize, bool)>)>,
}

impl Ensemble {
    /// The paths of all trees.
    fn trees(&self, reader: &mut Reader<'_>, view: &View<'_>) -> Result<Vec<Tree>> {
        let mut seen = [vec![false; self.branches.len()], vec![false; self.leaves.len()]];
        let mut trees = Vec::with_capacity(self.roots.len());
        for &root in &self.roots {
            let mut tree = Tree::default();
            let mut open = vec![(root, Vec::new())];
            while let Some((child, path)) = open.pop() {
                take(&mut reader.left.lists, 2 + path.len(), view)?;
                match child {
                    Child::Leaf(leaf) => {
                        seen[1][leaf] = true;
                        tree.paths.push((leaf, path));
                    }
                    Child::Branch(at) => {
                        if path.len() == MAX_DEPTH {
                            let why = format!("a tree has paths of more than {MAX_DEPTH} comparisons");
                            return Err(view.unsupported(why, SMALLER));
                        }
                        seen[0][at] = true;
                        let place = tree.tests.len();
                        tree.tests.push(at);
                        for (to, outcome) in self.branches[at].to.into_iter().zip([true, false]).rev() {
                            open.push((to, [&path[..], &[(place, outcome)]].concat()));
                        }
                    }
                }
            }
            trees.push(tree);
        }
        match seen.iter().flatten().all(|&seen| seen) {
            true => Ok(trees),
            false => Err(Error::Model {
                why: format!("has trees in {:?} with nodes that no root leads to", view.name),
                hint: WHOLE,
            }),
        }
    }

    /// The sums of leaves, times a factor, plus offsets.
    fn outputs<'a>(
        &self,
        reader: &mut Reader<'a>,
        view: &View<'a>,
        factor: f64,
        offsets: Vec<f64>,
    ) -> Result<usize> {
        let (input, features) = learning::features(reader, view)?;
        if let Some(branch) = self.branches.iter().find(|branch| branch.feature >= features) {
            return Err(view.wrong(format!("it compares feature {} of {features}", branch.feature)));
        }
        let trees = self.trees(reader, view)?;
        let depth = trees.iter().flat_map(|tree| &tree.paths).map(|(_, path)| path.len()).max().unwrap_or(0);
        let width = trees.iter().map(|tree| tree.paths.len()).max().unwrap_or(0);
        let places = trees.len() * width;
        let outputs = offsets.len();
        let listed = (places.max(features)).checked_mul(outputs + 2);
        if listed.is_none_or(|count| count > MAX_ELEMENTS) {
            let why = format!("its {} trees of up to {width} leaves are too many", trees.len());
            return Err(view.unsupported(why, SMALLER));
        }
        let mut sums = Dense { outputs, inputs: places, weights: vec![], bias: offsets };
        if depth == 0 {
            // Trees of one leaf each.
            let leaves = trees.iter().flat_map(|tree| &tree.paths).flat_map(|(leaf, _)| &self.leaves[*leaf]);
            leaves.for_each(|&(output, weight)| sums.bias[output] += factor * weight);
            let dense = Dense { inputs: features, weights: vec![0.0; outputs * features], ..sums };
            return reader.push(view, Op::Dense(dense), vec![input], vec![outputs]);
        }
        sums.weights = vec![0.0; outputs * places];
        // Places without a comparison or a leaf hold constants that weigh nothing.
        let mut tests = vec![Row { entries: vec![], offset: 1.0 }; places];
        let mut counts = vec![Row { entries: vec![], offset: -1.0 }; places];
        let half = depth as f64 / 2.0;
        for (first, tree) in (0..).step_by(width).zip(&trees) {
            for (place, &at) in tree.tests.iter().enumerate() {
                let branch = &self.branches[at];
                let (sign, _) = branch.mode.step();
                let feature = branch.feature as u32;
                tests[first + place] =
                    Row { entries: vec![(feature, sign)], offset: -sign * branch.threshold };
            }
            for (at, (leaf, path)) in tree.paths.iter().enumerate() {
                let row = &mut counts[first + at];
                // The count is scaled to lie between -1, for -depth, and 1, for 0.
                row.offset = 1.0 - path.len() as f64 / half;
                for &(place, outcome) in path {
                    let (_, of_step) = self.branches[tree.tests[place]].mode.step();
                    let weight = if of_step == outcome { 1.0 } else { -1.0 };
                    row.offset += if weight < 0.0 { 1.0 / half } else { 0.0 };
                    row.entries.push(((first + place) as u32, weight / half));
                }
                for &(output, weight) in &self.leaves[*leaf] {
                    sums.weights[output * places + first + at] += factor * weight;
                }
            }
        }
        let tests = reader.push(view, Op::Sparse(tests), vec![input], vec![places])?;
        let steps = activations::of(reader, view, tests, Function::named(Named::Step))?;
        let counts = reader.push(view, Op::Sparse(counts), vec![steps], vec![places])?;
        // The product of (k + x) / k for x = half (v - 1).
        let factor = |k: usize| Function::affine(half / k as f64, 1.0 - half / k as f64);
        let reached = (2..=depth).fold(factor(1), |product, k| product.product(&factor(k)));
        let reached = activations::of(reader, view, counts, reached)?;
        let flat = Function::square().product(&Function::affine(-2.0, 3.0));
        let reached = activations::of(reader, view, reached, flat)?;
        reader.push(view, Op::Dense(sums), vec![reached], vec![outputs])
    }
}

/// Numbers that are an attribute, or a tensor in its place.
fn numbers(view: &View<'_>, name: &'static str, tensor: &'static str) -> Result<Option<Vec<f64>>> {
    let list = view.numbers(name)?;
    if view.opset < 3 {
        return Ok(list);
    }
    match (list, tensor_of(view, tensor)?) {
        (Some(list), Some(_)) if !list.is_empty() => {
            Err(view.wrong(format!("it has both {name} and {tensor}")))
        }
        (_, Some(tensor)) => Ok(Some(reals(view, &tensor, name)?)),
        (list, None) => Ok(list),
    }
}

fn tensor_of(view: &View<'_>, name: &'static str) -> Result<Option<Tensor>> {
    view.tensor(name)?.map(Tensor::read).transpose()
}

fn reals(view: &View<'_>, tensor: &Tensor, what: &str) -> Result<Vec<f64>> {
    let found =
        || Error::ElementType { tensor: format!("{what} of {}", view.name), found: tensor.element.name() };
    Ok(tensor.as_reals().ok_or_else(found)?.to_vec())
}

/// An index that a list states.
fn index(view: &View<'_>, what: &str, index: i64, count: usize) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|&index| index < count);
    found.ok_or_else(|| view.wrong(format!("{what} {index} of {count}")))
}

/// Lists that must be of one length.
fn same_length(view: &View<'_>, lists: &[(&str, usize)]) -> Result<usize> {
    let (first, count) = lists[0];
    match lists.iter().find(|(_, length)| *length != count) {
        Some((name, length)) => Err(view.wrong(format!("{length} {name} for {count} {first}"))),
        None => Ok(count),
    }
}

/// The trees of the operators of opset 1 to 3: nodes by the number of their tree and their own.
/// `leaves` names the attributes with the numbers that leaves add to which of so many outputs.
fn of_nodes(view: &View<'_>, leaves: [&'static str; 5], outputs: usize) -> Result<Ensemble> {
    let ints = |name| Ok::<_, Error>(view.integers(name)?.unwrap_or_default());
    // They say how often a branch was taken in training, and where values that are missing lead.
    view.numbers("nodes_hitrates")?;
    if view.opset >= 3 {
        tensor_of(view, "nodes_hitrates_as_tensor")?;
    }
    ints("nodes_missing_value_tracks_true")?;
    let [trees, nodes] = [ints("nodes_treeids")?, ints("nodes_nodeids")?];
    let [features, if_true] = [ints("nodes_featureids")?, ints("nodes_truenodeids")?];
    let if_false = ints("nodes_falsenodeids")?;
    let modes = view.texts("nodes_modes")?.unwrap_or_default();
    let values = numbers(view, "nodes_values", "nodes_values_as_tensor")?.unwrap_or_default();
    let count = same_length(
        view,
        &[
            ("nodes_nodeids", nodes.len()),
            ("nodes_treeids", trees.len()),
            ("nodes_featureids", features.len()),
            ("nodes_truenodeids", if_true.len()),
            ("nodes_falsenodeids", if_false.len()),
            ("nodes_modes", modes.len()),
            ("nodes_values", values.len()),
        ],
    )?;
    // Branches and leaves have numbers of their own.
    let mut child_of = HashMap::with_capacity(count);
    let mut ensemble = Ensemble { branches: vec![], leaves: vec![], roots: vec![] };
    for (at, mode) in modes.iter().enumerate() {
        let child = match mode == "LEAF" {
            true => {
                ensemble.leaves.push(vec![]);
                Child::Leaf(ensemble.leaves.len() - 1)
            }
            false => {
                let feature = index(view, "feature", features[at], usize::MAX)?;
                let (threshold, mode) = (values[at], Mode::of(view, mode)?);
                ensemble.branches.push(Branch { feature, threshold, mode, to: [Child::Leaf(0); 2] });
                Child::Branch(ensemble.branches.len() - 1)
            }
        };
        if child_of.insert((trees[at], nodes[at]), child).is_some() {
            return Err(view.wrong(format!("tree {} has two nodes {}", trees[at], nodes[at])));
        }
    }
    let node = |tree: i64, node: i64| {
        let found = child_of.get(&(tree, node)).copied();
        found.ok_or_else(|| view.wrong(format!("tree {tree} has no node {node}")))
    };
    let mut led_to = std::collections::HashSet::new();
    for (at, &tree) in trees.iter().enumerate() {
        let Child::Branch(branch) = node(tree, nodes[at])? else { continue };
        for (side, to) in [if_true[at], if_false[at]].into_iter().enumerate() {
            ensemble.branches[branch].to[side] = node(tree, to)?;
            led_to.insert((tree, to));
        }
    }
    let mut rooted = std::collections::HashSet::new();
    for (&tree, &node_id) in trees.iter().zip(nodes) {
        if led_to.contains(&(tree, node_id)) {
            continue;
        }
        if !rooted.insert(tree) {
            return Err(view.wrong(format!("tree {tree} has two roots")));
        }
        ensemble.roots.push(node(tree, node_id)?);
    }
    let [of_tree, of_node, of_output, weights, tensor] = leaves;
    let (of_tree, of_node, ids) = (ints(of_tree)?, ints(of_node)?, ints(of_output)?);
    let weights = numbers(view, weights, tensor)?.unwrap_or_default();
    let lists = [
        ("weights", weights.len()),
        ("trees", of_tree.len()),
        ("nodes", of_node.len()),
        ("outputs", ids.len()),
    ];
    same_length(view, &lists)?;
    for (at, weight) in weights.into_iter().enumerate() {
        let Child::Leaf(leaf) = node(of_tree[at], of_node[at])? else {
            return Err(view.wrong(format!(
                "node {} of tree {} has weights, and is not a leaf",
                of_node[at], of_tree[at]
            )));
        };
        ensemble.leaves[leaf].push((index(view, "output", ids[at], outputs)?, weight));
    }
    Ok(ensemble)
}

/// The factor by which the sums of trees are multiplied.
fn aggregation(view: &View<'_>, name: &str, trees: usize) -> Result<f64> {
    match name {
        "SUM" => Ok(1.0),
        "AVERAGE" => Ok(1.0 / trees.max(1) as f64),
        other => Err(view.unsupported(
            format!("it takes the {other} of its trees"),
            "use trees whose outputs are added up or averaged",
        )),
    }
}

/// The sums of leaves for each target.
pub fn regressor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let targets = learning::count(view, "n_targets", 1)?;
    let ensemble = of_nodes(
        view,
        ["target_treeids", "target_nodeids", "target_ids", "target_weights", "target_weights_as_tensor"],
        targets,
    )?;
    let base = numbers(view, "base_values", "base_values_as_tensor")?.unwrap_or_default();
    let base = match base.len() {
        0 => vec![0.0; targets],
        length if length == targets => base,
        length => return Err(view.wrong(format!("{length} base values for {targets} targets"))),
    };
    let name = view.text("aggregate_function")?.unwrap_or("SUM");
    let factor = aggregation(view, name, ensemble.roots.len())?;
    learning::no_transform(view)?;
    ensemble.outputs(reader, view, factor, base)
}

/// Labels, and scores or probabilities.
pub fn classifier<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    let classes = learning::check_classes(reader, view, "classlabels_int64s", "classlabels_strings")?;
    let ensemble = of_nodes(
        view,
        ["class_treeids", "class_nodeids", "class_ids", "class_weights", "class_weights_as_tensor"],
        classes,
    )?;
    let base = numbers(view, "base_values", "base_values_as_tensor")?.unwrap_or_default();
    let weights = || ensemble.leaves.iter().flatten();
    let positive = weights().all(|&(_, weight)| weight >= 0.0);
    if classes < 2 {
        return Err(view.unsupported("it has one class", "train it on examples of several classes"));
    }
    if classes == 2 {
        if base.len() > 1 || weights().any(|&(class, _)| class != 0) {
            return Err(view.unsupported(
                "it has two classes with scores of their own",
                "give one score, of class 0 in the file, as scikit-learn's converter does",
            ));
        }
        // The score of the second class.
        let score = |sign: f64, offset: f64| (sign, offset + sign * base.first().copied().unwrap_or(0.0));
        let rows = |reader: &mut Reader<'a>, rows: [(f64, f64); 2]| {
            let leaves = ensemble.leaves.iter().map(|leaf| {
                let sum: f64 = leaf.iter().map(|(_, weight)| weight).sum();
                rows.iter().enumerate().map(|(output, (sign, _))| (output, sign * sum)).collect()
            });
            let both = Ensemble {
                branches: ensemble.branches.clone(),
                leaves: leaves.collect(),
                roots: ensemble.roots.clone(),
            };
            both.outputs(reader, view, 1.0, rows.iter().map(|row| row.1).collect())
        };
        // A sum of shares is that of the second class; other scores are for or against it.
        let shares = if positive { 1.0 } else { 0.0 };
        return match learning::transform(view)? {
            "NONE" => {
                let scores = rows(reader, [score(-1.0, shares), score(1.0, 0.0)])?;
                Ok(vec![Value::Decided(scores, Decision::ArgMax), Value::Node(scores)])
            }
            "LOGISTIC" if !positive => {
                let scores = rows(reader, [score(-1.0, 0.0), score(1.0, 0.0)])?;
                let sigmoid = Function::named(Named::Sigmoid);
                let probabilities = activations::of(reader, view, scores, sigmoid)?;
                Ok(vec![Value::Decided(scores, Decision::ArgMax), Value::Node(probabilities)])
            }
            "LOGISTIC" => Err(view.unsupported(
                "its weights are shares of a class, with post_transform \"LOGISTIC\"",
                "export the model with post_transform NONE",
            )),
            other => Err(learning::no_transform_of_one(view, other)),
        };
    }
    let scored = base.len() == classes || {
        // Each class has a score if some tree has one for it in each of its leaves.
        let trees = ensemble.trees(reader, view)?;
        let in_all = |tree: &Tree, class: usize| {
            tree.paths.iter().all(|(leaf, _)| ensemble.leaves[*leaf].iter().any(|(of, _)| *of == class))
        };
        (0..classes).all(|class| trees.iter().any(|tree| in_all(tree, class)))
    };
    if !positive && !scored {
        return Err(view.unsupported(
            "its weights may be negative, and leave classes without a score",
            "give every class a weight in each leaf, or a base value",
        ));
    }
    let base = match base.len() {
        0 => vec![0.0; classes],
        length if length == classes => base,
        length => return Err(view.wrong(format!("{length} base values for {classes} classes"))),
    };
    let scores = ensemble.outputs(reader, view, 1.0, base)?;
    learning::classified(reader, view, scores)
}

/// The operator of opset 5: branches and leaves in lists of their own.
pub fn ensemble<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let ints = |name| Ok::<_, Error>(view.integers(name)?.unwrap_or_default());
    let needed =
        |name: &'static str| tensor_of(view, name)?.ok_or_else(|| view.wrong(format!("it has no {name}")));
    tensor_of(view, "nodes_hitrates")?;
    ints("nodes_missing_value_tracks_true")?;
    let targets = learning::count(view, "n_targets", 0)?;
    let features = ints("nodes_featureids")?;
    let splits = reals(view, &needed("nodes_splits")?, "nodes_splits")?;
    let modes = needed("nodes_modes")?;
    let modes: Vec<i64> = modes
        .cast(super::super::element::Element::INT64)
        .ok()
        .and_then(|modes| modes.as_list())
        .unwrap_or_default();
    let (if_true, if_false) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
    let (true_leaf, false_leaf) = (ints("nodes_trueleafs")?, ints("nodes_falseleafs")?);
    let count = same_length(
        view,
        &[
            ("nodes_featureids", features.len()),
            ("nodes_splits", splits.len()),
            ("nodes_modes", modes.len()),
            ("nodes_truenodeids", if_true.len()),
            ("nodes_falsenodeids", if_false.len()),
            ("nodes_trueleafs", true_leaf.len()),
            ("nodes_falseleafs", false_leaf.len()),
        ],
    )?;
    let ids = ints("leaf_targetids")?;
    let weights = reals(view, &needed("leaf_weights")?, "leaf_weights")?;
    let leaf_count = same_length(view, &[("leaf_weights", weights.len()), ("leaf_targetids", ids.len())])?;
    let leaf = |at: usize| Ok(vec![(index(view, "target", ids[at], targets)?, weights[at])]);
    let child = |leaf: i64, to: i64| match leaf {
        0 => index(view, "node", to, count).map(Child::Branch),
        1 => index(view, "leaf", to, leaf_count).map(Child::Leaf),
        other => Err(view.wrong(format!("nodes_trueleafs or nodes_falseleafs is {other}"))),
    };
    const MODES: [&str; 7] =
        ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"];
    let branch = |at: usize| {
        let mode = Mode::of(view, MODES[index(view, "mode", modes[at], MODES.len())?])?;
        let to = [child(true_leaf[at], if_true[at])?, child(false_leaf[at], if_false[at])?];
        let feature = index(view, "feature", features[at], usize::MAX)?;
        Ok(Branch { feature, threshold: splits[at], mode, to })
    };
    let root = |&root: &i64| index(view, "root", root, count).map(Child::Branch);
    let ensemble = Ensemble {
        branches: (0..count).map(branch).collect::<Result<_>>()?,
        leaves: (0..leaf_count).map(leaf).collect::<Result<_>>()?,
        roots: ints("tree_roots")?.iter().map(root).collect::<Result<_>>()?,
    };
    const AGGREGATIONS: [&str; 4] = ["AVERAGE", "SUM", "MIN", "MAX"];
    let at = view.integer("aggregate_function", 1)?;
    let name = AGGREGATIONS[index(view, "aggregate_function", at, AGGREGATIONS.len())?];
    let factor = aggregation(view, name, ensemble.roots.len())?;
    view.only("post_transform", 0, "targets are changed by functions")?;
    ensemble.outputs(reader, view, factor, vec![0.0; targets])
}
