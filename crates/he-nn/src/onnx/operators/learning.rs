//! The operators of `ai.onnx.ml` that scikit-learn's converter writes: scaling, linear models,
//! support vector regression, and what turns the scores of classifiers into labels.

use super::super::node::View;
use super::super::{Reader, Value, after};
use super::activations;
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Decision, Dense, Op};

/// The values of the outputs of a node.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    Ok(match view.operator {
        "Scaler" => vec![Value::Node(scaler(reader, view)?)],
        "LinearRegressor" => vec![Value::Node(linear_regressor(reader, view)?)],
        "LinearClassifier" => linear_classifier(reader, view)?,
        "SVMRegressor" => vec![Value::Node(support_vector_regressor(reader, view)?)],
        "Normalizer" => vec![normalizer(reader, view)?],
        "ZipMap" => vec![zip_map(reader, view)?],
        "ArrayFeatureExtractor" => vec![extractor(reader, view)?],
        name if name.starts_with("TreeEnsemble") => {
            return Err(view.unsupported(
                "the branches of its trees depend on encrypted values",
                "train a linear model, a support vector regression or a neural network in its place",
            ));
        }
        "SVMClassifier" => {
            return Err(view.unsupported(
                "its votes are comparisons of encrypted values",
                "train LinearSVC, LogisticRegression or MLPClassifier in its place",
            ));
        }
        _ => {
            return Err(view.unsupported(
                "there is no way to compute it on encrypted values here",
                "do it in the clear before encryption, and convert the rest of the pipeline alone",
            ));
        }
    })
}

/// The first input, which must be one list of features for each example.
fn features<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<(usize, usize)> {
    let input = reader.encrypted(view, 0)?;
    match reader.shape(input)[..] {
        [features] => Ok((input, features)),
        _ => Err(view.wrong(format!("its input has dimensions {:?} besides the batch", reader.shape(input)))),
    }
}

/// (x - offset) scale.
fn scaler<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let (input, count) = features(reader, view)?;
    let list = |name| -> Result<Vec<f64>> {
        let list = view.numbers(name)?.ok_or_else(|| view.wrong(format!("it has no {name}")))?;
        match list.len() == 1 || list.len() == count {
            true => Ok((0..count).map(|at| list[at % list.len()]).collect()),
            false => Err(view.wrong(format!("{} numbers of {name} for {count} features", list.len()))),
        }
    };
    let (offset, scale) = (list("offset")?, list("scale")?);
    let offsets = offset.iter().zip(&scale).map(|(offset, scale)| -offset * scale).collect();
    reader.push(view, Op::Affine(Affine { run: 1, factors: scale, offsets }), vec![input], vec![count])
}

/// A linear map of coefficients [output][feature].
fn linear<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    outputs: usize,
    intercepts: Option<Vec<f64>>,
) -> Result<usize> {
    let (input, count) = features(reader, view)?;
    let weights = view.numbers("coefficients")?.unwrap_or_default();
    let bias = intercepts.unwrap_or_else(|| vec![0.0; outputs]);
    if outputs == 0 || outputs.checked_mul(count) != Some(weights.len()) || bias.len() != outputs {
        let (weights, biases) = (weights.len(), bias.len());
        let why = format!(
            "{weights} coefficients and {biases} intercepts for {outputs} outputs of {count} features"
        );
        return Err(view.wrong(why));
    }
    let dense = Dense { outputs, inputs: count, weights, bias };
    reader.push(view, Op::Dense(dense), vec![input], vec![outputs])
}

/// What is made of scores in the end, where it changes them.
fn transform<'v>(view: &View<'v>) -> Result<&'v str> {
    Ok(view.text("post_transform")?.unwrap_or("NONE"))
}

fn no_such_transform(view: &View<'_>, name: &str) -> crate::error::Error {
    view.unsupported(format!("post_transform is {name:?}"), "use NONE, LOGISTIC or SOFTMAX")
}

fn linear_regressor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let outputs = usize::try_from(view.integer("targets", 1)?).unwrap_or(0);
    let intercepts = view.numbers("intercepts")?;
    match transform(view)? {
        "NONE" => linear(reader, view, outputs, intercepts),
        other => Err(no_such_transform(view, other)),
    }
}

/// The labels of classes must be their numbers, since a decision is one.
fn check_classes(view: &View<'_>, integers: &'static str, texts: &'static str) -> Result<usize> {
    if let Some(texts) = view.texts(texts)?
        && !texts.is_empty()
    {
        return Err(view.unsupported(
            format!("its labels are texts, such as {:?}", texts[0]),
            "train with labels 0, 1, 2, ..., or ask for the output of scores",
        ));
    }
    let labels = view.integers(integers)?.unwrap_or_default();
    match labels.iter().copied().eq(0..labels.len() as i64) && !labels.is_empty() {
        true => Ok(labels.len()),
        false => Err(view.unsupported(
            format!("its labels are {labels:?}"),
            "train with labels 0, 1, 2, ..., or ask for the output of scores",
        )),
    }
}

/// Labels, and scores or probabilities.
fn linear_classifier<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    let classes = check_classes(view, "classlabels_ints", "classlabels_strings")?;
    // It says how the classifier was trained.
    view.flag("multi_class", false)?;
    let intercepts = view.numbers("intercepts")?;
    let scores = linear(reader, view, classes, intercepts)?;
    let label = Value::Decided(scores, Decision::ArgMax);
    let probabilities = match transform(view)? {
        "NONE" => Value::Node(scores),
        "SOFTMAX" => Value::Decided(scores, Decision::Softmax),
        "LOGISTIC" => Value::Node(activations::of(reader, view, scores, Function::named(Named::Sigmoid))?),
        other => return Err(no_such_transform(view, other)),
    };
    Ok(vec![label, probabilities])
}

/// sum_j c_j k(x, v_j) + rho, for support vectors v_j and a kernel k.
fn support_vector_regressor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let (input, count) = features(reader, view)?;
    let vectors = usize::try_from(view.integer("n_supports", 0)?).unwrap_or(0);
    let coefficients = view.numbers("coefficients")?.unwrap_or_default();
    let support = view.numbers("support_vectors")?.unwrap_or_default();
    let rho = view.numbers("rho")?.unwrap_or_default();
    let kernel = view.text("kernel_type")?.unwrap_or("LINEAR");
    let parameters = view.numbers("kernel_params")?.unwrap_or_default();
    view.only("one_class", 0, "outliers are decided by comparisons")?;
    if transform(view)? != "NONE" {
        return Err(no_such_transform(view, transform(view)?));
    }
    let wrong = || view.wrong(format!("{} coefficients for {vectors} vectors", coefficients.len()));
    let &[rho] = rho.as_slice() else { return Err(wrong()) };
    if vectors == 0 {
        // A linear kernel by its weights.
        if kernel != "LINEAR" || coefficients.len() != count || !support.is_empty() {
            return Err(wrong());
        }
        let dense = Dense { outputs: 1, inputs: count, weights: coefficients, bias: vec![rho] };
        return reader.push(view, Op::Dense(dense), vec![input], vec![1]);
    }
    if coefficients.len() != vectors || vectors.checked_mul(count) != Some(support.len()) {
        return Err(wrong());
    }
    let sum = Dense { outputs: 1, inputs: vectors, weights: coefficients.clone(), bias: vec![rho] };
    match (kernel, &parameters[..]) {
        ("LINEAR", _) => {
            let weight = |at: usize| (0..vectors).map(|j| coefficients[j] * support[j * count + at]).sum();
            let weights = (0..count).map(weight).collect();
            let dense = Dense { outputs: 1, inputs: count, weights, bias: vec![rho] };
            reader.push(view, Op::Dense(dense), vec![input], vec![1])
        }
        // exp(-gamma |x - v|^2), by |x|^2 - 2 x v + |v|^2.
        ("RBF", &[gamma, ..]) if gamma > 0.0 => {
            let squares = activations::of(reader, view, input, Function::square())?;
            let weights = vec![-gamma; vectors * count];
            let norms = Dense { outputs: vectors, inputs: count, weights, bias: vec![0.0; vectors] };
            let norms = reader.push(view, Op::Dense(norms), vec![squares], vec![vectors])?;
            let weights = support.iter().map(|v| 2.0 * gamma * v).collect();
            let bias = support.chunks(count).map(|v| -gamma * v.iter().map(|x| x * x).sum::<f64>()).collect();
            let products = Dense { outputs: vectors, inputs: count, weights, bias };
            let products = reader.push(view, Op::Dense(products), vec![input], vec![vectors])?;
            let exponents = reader.push(view, Op::Add, vec![norms, products], vec![vectors])?;
            let kernels = activations::of(reader, view, exponents, Function::named(Named::Exp))?;
            reader.push(view, Op::Dense(sum), vec![kernels], vec![1])
        }
        _ => Err(view.unsupported(
            format!("its kernel is {kernel} with parameters {parameters:?}"),
            "use a linear kernel, or RBF with a positive gamma",
        )),
    }
}

/// Probabilities are normalised already; anything else would have to be divided.
fn normalizer<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let norm = view.text("norm")?.unwrap_or("MAX");
    match reader.value(view, 0)? {
        Value::Decided(id, Decision::Softmax) if norm == "L1" => Ok(Value::Decided(id, Decision::Softmax)),
        Value::Decided(_, decision) => Err(after(view, decision)),
        _ => Err(view.unsupported(
            "it divides by a norm that depends on the input",
            "normalise in the clear before encryption, or ask for the output of labels",
        )),
    }
}

/// A name for each score: the scores stay in their order.
fn zip_map<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let (integers, texts) = (view.integers("classlabels_int64s")?, view.texts("classlabels_strings")?);
    let count = integers.map_or(0, <[i64]>::len) + texts.map_or(0, <[String]>::len);
    let value = reader.value(view, 0)?;
    match &value {
        Value::Node(id) | Value::Decided(id, Decision::Softmax | Decision::LogSoftmax)
            if *reader.shape(*id) == [count] =>
        {
            Ok(value)
        }
        _ => Err(view.wrong(format!("it names {count} classes of an input that is not as many scores"))),
    }
}

/// The label of a class by its number, where labels are the numbers.
fn extractor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let first = reader.value(view, 0)?;
    let second = reader.value(view, 1)?;
    match (first, second) {
        (Value::Constant(labels), Value::Decided(id, Decision::ArgMax)) => {
            let numbers = labels.as_list().unwrap_or_default();
            let classes = reader.shape(id)[0];
            match numbers.iter().copied().eq(0..classes as i64) {
                true => Ok(Value::Decided(id, Decision::ArgMax)),
                false => Err(view.unsupported(
                    "the labels are not the numbers of the classes",
                    "train with labels 0, 1, 2, ..., or ask for the output of scores",
                )),
            }
        }
        (Value::Node(id), Value::Constant(columns)) => {
            let &[count] = reader.shape(id).as_slice() else {
                return Err(view.wrong("its input is not one list of features"));
            };
            let place = |&column: &i64| usize::try_from(column).ok().filter(|&column| column < count);
            let columns: Option<Vec<usize>> =
                columns.as_list().unwrap_or_default().iter().map(place).collect();
            let columns = columns.ok_or_else(|| view.wrong(format!("it takes columns beyond {count}")))?;
            let shape = vec![columns.len()];
            let places = columns.into_iter().map(|column| Some(column as u32)).collect();
            reader.push(view, Op::Gather(places), vec![id], shape).map(Value::Node)
        }
        _ => Err(view.unsupported(
            "it takes features by numbers that depend on the input",
            "take features by constant numbers",
        )),
    }
}
