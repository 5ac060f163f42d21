//! The operators of `ai.onnx.ml` that scikit-learn's converter writes: scaling, linear models, and
//! the steps that turn the scores of classifiers into labels.

use super::super::node::View;
use super::super::{Reader, Value, after};
use super::{activations, pooling, trees, vectors};
use crate::error::{Error, Result};
use crate::function::{Function, Named};
use crate::graph::{Affine, Decision, Dense, MAX_ELEMENTS, Op};
use crate::pairs;

/// The values of the outputs of a node.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    Ok(match view.operator {
        "Scaler" => vec![Value::Node(scaler(reader, view)?)],
        "LinearRegressor" => vec![Value::Node(linear_regressor(reader, view)?)],
        "LinearClassifier" => linear_classifier(reader, view)?,
        "SVMRegressor" => vec![Value::Node(vectors::regressor(reader, view)?)],
        "SVMClassifier" => vectors::classifier(reader, view)?,
        "TreeEnsemble" => vec![Value::Node(trees::ensemble(reader, view)?)],
        "TreeEnsembleRegressor" => vec![Value::Node(trees::regressor(reader, view)?)],
        "TreeEnsembleClassifier" => trees::classifier(reader, view)?,
        "Normalizer" => vec![normalizer(reader, view)?],
        "ZipMap" => vec![zip_map(reader, view)?],
        "ArrayFeatureExtractor" => vec![extractor(reader, view)?],
        _ => {
            return Err(view.unsupported(
                "there is no way to compute it on encrypted values here",
                "do it in the clear before encryption, and convert the rest of the pipeline alone",
            ));
        }
    })
}

/// The first input, which must be one list of features for each example.
pub fn features<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<(usize, usize)> {
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
    weights: Vec<f64>,
    intercepts: Option<Vec<f64>>,
) -> Result<usize> {
    let (input, count) = features(reader, view)?;
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

/// A number of outputs or vectors.
pub fn count(view: &View<'_>, name: &'static str, default: i64) -> Result<usize> {
    let found = view.integer(name, default)?;
    let count = usize::try_from(found).ok().filter(|&count| count <= MAX_ELEMENTS);
    count.ok_or_else(|| view.wrong(format!("{name} is {found}")))
}

/// The name of the transform of scores at the end; `NONE` leaves them as they are.
pub fn transform<'v>(view: &View<'v>) -> Result<&'v str> {
    Ok(view.text("post_transform")?.unwrap_or("NONE"))
}

pub fn no_such_transform(view: &View<'_>, name: &str) -> Error {
    let why = match name {
        "SOFTMAX_ZERO" => ": whether a score is exactly 0 cannot be seen on encrypted values",
        "PROBIT" => ": it has no value for scores beyond 0 to 1",
        _ => "",
    };
    view.unsupported(format!("post_transform is {name:?}{why}"), "use NONE, LOGISTIC or SOFTMAX")
}

/// A transform of the one score of two classes.
pub fn no_transform_of_one(view: &View<'_>, name: &str) -> Error {
    match name {
        "SOFTMAX" => view.unsupported("post_transform is \"SOFTMAX\" of one score", "use NONE or LOGISTIC"),
        other => no_such_transform(view, other),
    }
}

/// Refuses every transform of the outputs.
pub fn no_transform(view: &View<'_>) -> Result<()> {
    match transform(view)? {
        "NONE" => Ok(()),
        other => {
            let why = format!("post_transform is {other:?}, and the outputs are no classes");
            Err(view.unsupported(why, "use NONE"))
        }
    }
}

fn linear_regressor<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let outputs = count(view, "targets", 1)?;
    let weights = view.numbers("coefficients")?.unwrap_or_default();
    let intercepts = view.numbers("intercepts")?;
    no_transform(view)?;
    linear(reader, view, outputs, weights, intercepts)
}

/// The number of classes. Where the first output is used, their labels must be their numbers, since
/// a decision is one.
pub fn check_classes(
    reader: &Reader<'_>,
    view: &View<'_>,
    integers: &'static str,
    texts: &'static str,
) -> Result<usize> {
    let used = reader.is_used(view, 0);
    let (labels, texts) =
        (view.integers(integers)?.unwrap_or_default(), view.texts(texts)?.unwrap_or_default());
    if labels.is_empty() == texts.is_empty() {
        let (labels, texts) = (labels.len(), texts.len());
        return Err(
            view.wrong(format!("it has {labels} labels that are integers and {texts} that are texts"))
        );
    }
    if !used {
        return Ok(labels.len().max(texts.len()));
    }
    if !texts.is_empty() {
        return Err(view.unsupported(
            format!("its labels are texts, such as {:?}", texts[0]),
            "train with labels 0, 1, 2, ..., or ask for the output of scores",
        ));
    }
    match labels.iter().copied().eq(0..labels.len() as i64) {
        true => Ok(labels.len()),
        false => Err(view.unsupported(
            format!("its labels are {labels:?}"),
            "train with labels 0, 1, 2, ..., or ask for the output of scores",
        )),
    }
}

/// Labels, and scores or probabilities.
fn linear_classifier<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    let classes = check_classes(reader, view, "classlabels_ints", "classlabels_strings")?;
    // It says how the classifier was trained.
    view.flag("multi_class", false)?;
    let weights = view.numbers("coefficients")?.unwrap_or_default();
    let intercepts = view.numbers("intercepts")?;
    let (_, features) = features(reader, view)?;
    if classes == 2 && weights.len() == features {
        return linear_of_one(reader, view, &weights, intercepts);
    }
    let scores = linear(reader, view, classes, weights, intercepts)?;
    classified(reader, view, scores)
}

/// A classifier of two classes that has the score s of the second one alone, which is chosen if s
/// is positive. Without a transform, that of the first one is 1 - s.
fn linear_of_one<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    weights: &[f64],
    intercepts: Option<Vec<f64>>,
) -> Result<Vec<Value>> {
    let intercept = match intercepts.as_deref() {
        None | Some([]) => 0.0,
        Some(&[intercept]) => intercept,
        Some(list) => return Err(view.wrong(format!("{} intercepts for one score", list.len()))),
    };
    let both = |reader: &mut Reader<'a>, one: f64| {
        let weights = weights.iter().map(|w| -w).chain(weights.iter().copied()).collect();
        linear(reader, view, 2, weights, Some(vec![one - intercept, intercept]))
    };
    let scores = both(reader, 0.0)?;
    let outputs = match transform(view)? {
        "NONE" => both(reader, 1.0)?,
        "LOGISTIC" => activations::of(reader, view, scores, Function::named(Named::Sigmoid))?,
        other => return Err(no_transform_of_one(view, other)),
    };
    Ok(vec![Value::Decided(scores, Decision::ArgMax), Value::Node(outputs)])
}

/// The label of the greatest score, and the scores or probabilities.
pub fn classified<'a>(reader: &mut Reader<'a>, view: &View<'a>, scores: usize) -> Result<Vec<Value>> {
    let label = Value::Decided(scores, Decision::ArgMax);
    let probabilities = match transform(view)? {
        "NONE" => Value::Node(scores),
        "SOFTMAX" => Value::Decided(scores, Decision::Softmax),
        "LOGISTIC" => Value::Node(activations::of(reader, view, scores, Function::named(Named::Sigmoid))?),
        other => return Err(no_such_transform(view, other)),
    };
    Ok(vec![label, probabilities])
}

/// x divided by its norm: sqrt(sum x^2), sum |x| or max x.
fn normalizer<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let norm = view.text("norm")?.unwrap_or("MAX");
    match reader.value(view, 0)? {
        // Their sum is 1.
        Value::Decided(id, decision @ (Decision::Softmax | Decision::Coupling)) if norm == "L1" => {
            Ok(Value::Decided(id, decision))
        }
        Value::Decided(_, decision) => Err(after(view, decision)),
        Value::Constant(_) => Err(view.wrong("it normalises a constant")),
        Value::Node(_) | Value::Rows(_) => normalised(reader, view, norm).map(Value::Node),
    }
}

/// The reciprocal of the norm is a function of one number, over the range that calibration sees.
fn normalised<'a>(reader: &mut Reader<'a>, view: &View<'a>, norm: &str) -> Result<usize> {
    let (input, count) = features(reader, view)?;
    let one = Function::named;
    let sum = |reader: &mut Reader<'a>, of: Function| {
        let values = activations::of(reader, view, input, of)?;
        let ones = Dense { outputs: 1, inputs: count, weights: vec![1.0; count], bias: vec![0.0] };
        reader.push(view, Op::Dense(ones), vec![values], vec![1])
    };
    let reciprocal = one(Named::Reciprocal);
    let (norm, factor) = match norm {
        "L2" => (sum(reader, Function::square())?, reciprocal.of(&one(Named::Sqrt))),
        "L1" => (sum(reader, one(Named::Abs))?, reciprocal),
        "MAX" => (pooling::greatest(reader, view, input)?, reciprocal),
        other => return Err(view.wrong(format!("its norm is {other:?}"))),
    };
    let factor = activations::of(reader, view, norm, factor)?;
    let factors = reader.push(view, Op::Gather(vec![Some(0); count]), vec![factor], vec![count])?;
    reader.push(view, Op::Product, vec![input, factors], vec![count])
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
        Value::Decided(id, Decision::Coupling | Decision::OneVsRest)
            if pairs::classes(reader.shape(*id)[0]) == count =>
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
