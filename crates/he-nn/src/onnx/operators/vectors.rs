//! Support vector machines: sums of kernels of an input and support vectors.

use super::super::node::View;
use super::super::{Reader, Value, take};
use super::{activations, learning, one_vs_rest};
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Decision, Dense, Op};
use crate::pairs as of_pairs;

const KERNELS: &str = "use a linear kernel, RBF with a positive gamma, a polynomial of degree 1 to 16, or a \
                       sigmoid";

/// The kernels of an input and each of the support vectors.
fn kernels<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    input: usize,
    count: usize,
    support: &[f64],
) -> Result<usize> {
    let vectors = support.len() / count;
    let kernel = view.text("kernel_type")?.unwrap_or("LINEAR");
    let parameters = view.numbers("kernel_params")?.unwrap_or_default();
    // gamma x v + offset for each vector v.
    let products = |reader: &mut Reader<'a>, gamma: f64, bias: Vec<f64>| {
        let weights = support.iter().map(|v| gamma * v).collect();
        let dense = Dense { outputs: vectors, inputs: count, weights, bias };
        reader.push(view, Op::Dense(dense), vec![input], vec![vectors])
    };
    match (kernel, &parameters[..]) {
        ("LINEAR", _) => products(reader, 1.0, vec![0.0; vectors]),
        // exp(-gamma |x - v|^2), by |x|^2 - 2 x v + |v|^2.
        ("RBF", &[gamma, ..]) if gamma > 0.0 => {
            let squares = activations::of(reader, view, input, Function::square())?;
            let weights = vec![-gamma; vectors * count];
            let norms = Dense { outputs: vectors, inputs: count, weights, bias: vec![0.0; vectors] };
            let norms = reader.push(view, Op::Dense(norms), vec![squares], vec![vectors])?;
            let bias = support.chunks(count).map(|v| -gamma * v.iter().map(|x| x * x).sum::<f64>()).collect();
            let products = products(reader, 2.0 * gamma, bias)?;
            let exponents = reader.push(view, Op::Add, vec![norms, products], vec![vectors])?;
            activations::of(reader, view, exponents, Function::named(Named::Exp))
        }
        ("POLY", &[gamma, offset, degree]) if (1.0..=16.0).contains(&degree) && degree.fract() == 0.0 => {
            let products = products(reader, gamma, vec![offset; vectors])?;
            let x = Function::x();
            let power = (1..degree as usize).fold(x.clone(), |power, _| power.product(&x));
            activations::of(reader, view, products, power)
        }
        ("SIGMOID", &[gamma, offset, ..]) => {
            let products = products(reader, gamma, vec![offset; vectors])?;
            activations::of(reader, view, products, Function::named(Named::Tanh))
        }
        _ => Err(view.unsupported(format!("its kernel is {kernel} with parameters {parameters:?}"), KERNELS)),
    }
}

/// sum_j c_j k(x, v_j) + rho, for support vectors v_j and a kernel k.
pub fn regressor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let (input, count) = learning::features(reader, view)?;
    let vectors = learning::count(view, "n_supports", 0)?;
    let coefficients = view.numbers("coefficients")?.unwrap_or_default();
    let support = view.numbers("support_vectors")?.unwrap_or_default();
    let rho = view.numbers("rho")?.unwrap_or_default();
    view.only("one_class", 0, "outliers are decided by comparisons")?;
    learning::no_transform(view)?;
    let wrong = || view.wrong(format!("{} coefficients for {vectors} vectors", coefficients.len()));
    let &[rho] = rho.as_slice() else { return Err(wrong()) };
    if vectors == 0 {
        // A linear kernel by its weights.
        let kernel = view.text("kernel_type")?.unwrap_or("LINEAR");
        view.numbers("kernel_params")?;
        if kernel != "LINEAR" || coefficients.len() != count || !support.is_empty() {
            return Err(wrong());
        }
        let dense = Dense { outputs: 1, inputs: count, weights: coefficients, bias: vec![rho] };
        return reader.push(view, Op::Dense(dense), vec![input], vec![1]);
    }
    if coefficients.len() != vectors || vectors.checked_mul(count) != Some(support.len()) {
        return Err(wrong());
    }
    let kernels = kernels(reader, view, input, count, &support)?;
    let sum = Dense { outputs: 1, inputs: vectors, weights: coefficients, bias: vec![rho] };
    reader.push(view, Op::Dense(sum), vec![kernels], vec![1])
}

/// Labels by votes of pairs of classes, and the scores of pairs, or probabilities of classes.
pub fn classifier<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    let classes = learning::check_classes(reader, view, "classlabels_ints", "classlabels_strings")?;
    let (input, count) = learning::features(reader, view)?;
    let coefficients = view.numbers("coefficients")?.unwrap_or_default();
    let support = view.numbers("support_vectors")?.unwrap_or_default();
    let rho = view.numbers("rho")?.unwrap_or_default();
    let (a, b) = (view.numbers("prob_a")?.unwrap_or_default(), view.numbers("prob_b")?.unwrap_or_default());
    let of_class = view.integers("vectors_per_class")?.unwrap_or_default();
    if learning::transform(view)? != "NONE" {
        return Err(
            view.unsupported(format!("post_transform is {:?}", learning::transform(view)?), "use NONE")
        );
    }
    if support.is_empty() {
        return Err(view.unsupported(
            "it has no support vectors",
            "export an SVC; a linear model by its weights is a LinearClassifier",
        ));
    }
    let of_class: Option<Vec<usize>> = of_class.iter().map(|&n| usize::try_from(n).ok()).collect();
    let of_class = of_class.unwrap_or_default();
    let vectors = of_class.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)).unwrap_or(usize::MAX);
    let pairs = classes * (classes - 1) / 2;
    let fits = classes >= 2
        && of_class.len() == classes
        && vectors.checked_mul(count) == Some(support.len())
        && vectors.checked_mul(classes - 1) == Some(coefficients.len())
        && rho.len() == pairs
        && a.len() == b.len()
        && (a.is_empty() || a.len() == pairs);
    if !fits {
        let (coefficients, support) = (coefficients.len(), support.len());
        return Err(view.wrong(format!(
            "{coefficients} coefficients and {support} numbers of support vectors for {classes} classes of {of_class:?} vectors with {count} features"
        )));
    }
    if coefficients.iter().all(|&c| c >= 0.0) {
        return Err(view
            .unsupported("none of its coefficients is negative", "train it on examples of several classes"));
    }
    let kernels = kernels(reader, view, input, count, &support)?;
    let starts: Vec<usize> = (0..classes).map(|class| of_class[..class].iter().sum()).collect();
    take(&mut reader.left.lists, pairs.saturating_mul(vectors), view)?;
    let mut weights = vec![0.0; pairs * vectors];
    for ((i, j), row) in of_pairs::of(classes).zip(weights.chunks_mut(vectors)) {
        // The vectors of class i have their coefficients against j in row j - 1, and the other way
        // round.
        for (class, from) in [(i, j - 1), (j, i)] {
            let range = starts[class]..starts[class] + of_class[class];
            row[range.clone()].copy_from_slice(&coefficients[from * vectors..][range]);
        }
    }
    if classes > 2 {
        let sums = Dense { outputs: pairs, inputs: vectors, weights, bias: rho };
        let scores = reader.push(view, Op::Dense(sums), vec![kernels], vec![pairs])?;
        let label = Value::Decided(scores, Decision::Votes);
        if a.is_empty() {
            one_vs_rest::follow(reader, view, scores)?;
            return Ok(vec![label, Value::Node(scores)]);
        }
        let sigmoids = Op::Affine(Affine { run: 1, factors: a, offsets: b });
        let arguments = reader.push(view, sigmoids, vec![scores], vec![pairs])?;
        return Ok(vec![label, Value::Decided(arguments, Decision::Coupling)]);
    }
    // A positive sum s is a vote for class 0, whose score is -s. Its probability is
    // 1 / (1 + exp(a s + b)), which may be less than one half: the label is still that of the vote.
    let both = |reader: &mut Reader<'a>, rows: [(f64, f64); 2]| {
        let weights = rows.iter().flat_map(|(factor, _)| weights.iter().map(move |w| factor * w)).collect();
        let bias = rows.map(|(factor, offset)| factor * rho[0] + offset).to_vec();
        let dense = Dense { outputs: 2, inputs: vectors, weights, bias };
        reader.push(view, Op::Dense(dense), vec![kernels], vec![2])
    };
    let label = Value::Decided(both(reader, [(1.0, 0.0), (-1.0, 0.0)])?, Decision::ArgMax);
    let (&[a], &[b]) = (&a[..], &b[..]) else {
        return Ok(vec![label, Value::Node(both(reader, [(-1.0, 0.0), (1.0, 0.0)])?)]);
    };
    let arguments = both(reader, [(-a, -b), (a, b)])?;
    let probabilities = activations::of(reader, view, arguments, Function::named(Named::Sigmoid))?;
    Ok(vec![label, Value::Node(probabilities)])
}
