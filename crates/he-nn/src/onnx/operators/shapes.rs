//! Operators that move elements and count dimensions, alike for constants and for values that
//! depend on the input.

use super::super::arrangement::{Arrangement, Axis, From, broadcast, expansion};
use super::super::node::View;
use super::super::tensor::{LIMIT, Tensor};
use super::super::{Batch, Reader, Value};
use super::{attention, decisions, rows};
use crate::error::Result;
use crate::graph::{Affine, MAX_ELEMENTS, Op};
use std::rc::Rc;

/// The values that the node makes, if its operator is one of these.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Vec<Value>>> {
    let decided = matches!(
        view.operator,
        "Identity" | "Dropout" | "Cast" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze"
    );
    if decided && let Value::Decided(id, decision) = reader.value(view, 0)? {
        return decisions::moved(reader, view, id, decision).map(|value| Some(vec![value]));
    }
    let one = match view.operator {
        "Identity" => reader.value(view, 0)?,
        "Dropout" => dropout(reader, view)?,
        "Cast" | "CastLike" => cast(reader, view)?,
        "Shape" => shape(reader, view)?,
        "Size" => size(reader, view)?,
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => reshape(reader, view)?,
        "Transpose" => transpose(reader, view)?,
        "Slice" => slice(reader, view)?,
        "Pad" => pad(reader, view)?,
        "Gather" => gather(reader, view)?,
        "Expand" => expand(reader, view)?,
        "Tile" => tile(reader, view)?,
        "DepthToSpace" | "SpaceToDepth" => depth_and_space(reader, view)?,
        "Concat" => concat(reader, view)?,
        "Split" => return split(reader, view).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(vec![one]))
}

/// Nothing in inference; in training, which is refused, numbers at random.
fn dropout<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let training = match view.opset {
        ..7 => {
            view.number("ratio", 0.5)?;
            !view.flag("is_test", false)?
        }
        7..12 => {
            view.number("ratio", 0.5)?;
            false
        }
        _ => {
            view.integer("seed", 0)?;
            if view.has(1) {
                reader.constant(view, 1, "ratio")?;
            }
            view.has(2) && {
                let flag = reader.constant(view, 2, "training_mode")?;
                flag.cast(super::super::element::Element::Bool)
                    .is_ok_and(|flag| flag.as_bits() != Some(vec![false]))
            }
        }
    };
    if training {
        return Err(view.unsupported(
            "it is in training mode, where it drops values at random",
            "export the model for inference: model.eval() in PyTorch, is_test = 1 before opset 7",
        ));
    }
    reader.value(view, 0)
}

fn cast<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    use super::super::element::Element;
    use rten_onnx::onnx::DataType;
    let value = reader.value(view, 0)?;
    let (to, name) = match view.operator {
        "Cast" if view.opset < 6 => {
            let name = view.text("to")?.unwrap_or_default().to_uppercase();
            let to = (1..=16).map(DataType).find(|kind| kind.name() == Some(&name));
            (to.and_then(Element::of), name)
        }
        "Cast" => {
            let to = view.integer("to", 0)?;
            let kind = DataType(i32::try_from(to).unwrap_or(0));
            let name = kind.name().map_or_else(|| format!("number {to}"), str::to_owned);
            (Element::of(kind), name)
        }
        _ => {
            let like = reader.constant(view, 1, "type")?;
            (Some(like.element), like.element.name())
        }
    };
    // Both are about types of eight bits, which are refused.
    if view.opset >= 19 {
        view.flag("saturate", true)?;
    }
    if view.opset >= 24 {
        view.text("round_mode")?;
    }
    let Some(to) = to else {
        let hint = "cast to a type of numbers of 16 bits or more, or to BOOL";
        return Err(view.unsupported(format!("it casts to {name}"), hint));
    };
    match value {
        Value::Constant(tensor) => tensor
            .cast(to)
            .map(Value::constant)
            .map_err(|why| view.unsupported(why, "cast numbers of the type")),
        Value::Rows(id) => Err(super::of_rows(view, reader.shape(id))),
        Value::Node(id) if attention::is_public(reader, id) => attention::cast(reader, view, id, to),
        Value::Node(id) if to.is_real() => Ok(Value::Node(id)),
        Value::Node(_) => Err(view.unsupported(
            format!("it casts values that depend on the input to {name}"),
            "encrypted values are real numbers, which cannot be cut off: leave this out of the model",
        )),
        Value::Decided(_, decision) => Err(super::super::after(view, decision)),
    }
}

fn shape<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    let bound = |x: i64| {
        let x = if x < 0 { x.saturating_add(dims.len() as i64) } else { x };
        x.clamp(0, dims.len() as i64) as usize
    };
    let (start, end) = match view.opset {
        ..15 => (0, dims.len()),
        _ => (bound(view.integer("start", 0)?), bound(view.integer("end", i64::MAX)?)),
    };
    let kept = dims.get(start..end.max(start)).unwrap_or_default();
    Ok(Value::constant(Tensor::list(kept.iter().map(|&dim| dim as i64))))
}

fn size<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let size =
        reader.dims(&value).iter().try_fold(1i64, |size, &dim| size.checked_mul(i64::try_from(dim).ok()?));
    let size = size.ok_or_else(|| view.wrong("its input has too many elements"))?;
    Ok(Value::constant(Tensor::list([size]).reshaped(vec![])))
}

/// The dimensions that a reshape leaves: 0 keeps one, unless it means itself, and one of -1 takes
/// the rest.
fn reshaped(from: &[usize], to: &[i64], zero_is_zero: bool) -> Option<Vec<usize>> {
    let product = |dims: &[usize]| dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    let elements = product(from)?;
    let known = |(axis, &dim): (usize, &i64)| match dim {
        -1 => Some(1),
        0 if !zero_is_zero => from.get(axis).copied(),
        dim => usize::try_from(dim).ok(),
    };
    let mut dims: Vec<usize> = to.iter().enumerate().map(known).collect::<Option<_>>()?;
    if let Some(rest) = to.iter().position(|&dim| dim == -1) {
        dims[rest] = elements.checked_div(product(&dims)?)?;
    }
    (product(&dims)? == elements && to.iter().filter(|&&dim| dim == -1).count() <= 1).then_some(dims)
}

fn reshape<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let from = reader.dims(&value);
    let to: Vec<usize> = match view.operator {
        "Flatten" => {
            let axis = view.integer("axis", 1)?;
            let axis = if axis == from.len() as i64 { from.len() } else { view.axis(axis, from.len())? };
            let product = |dims: &[usize]| dims.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
            let both = product(&from[..axis]).zip(product(&from[axis..]));
            let (rows, columns) = both.ok_or_else(|| view.wrong("its input has too many elements"))?;
            vec![rows, columns]
        }
        "Reshape" => {
            let to = reader.moved_list(view, "shape", 5, 1)?.unwrap_or_default();
            let zero = view.opset >= 14 && view.flag("allowzero", false)?;
            let dims = reshaped(&from, &to, zero);
            dims.ok_or_else(|| view.wrong(format!("an input of {from:?} cannot become {to:?}")))?
        }
        "Squeeze" => {
            let axes = reader.moved_list(view, "axes", 13, 1)?;
            let axes = axes.map(|axes| view.axes(&axes, from.len())).transpose()?;
            let encrypted = matches!(value, Value::Node(_));
            if encrypted && axes.is_none() && matches!(reader.batch, Batch::Fixed(1)) {
                let hint = "state its axes, without that of the batch";
                return Err(view.unsupported("it removes the dimension of the batch", hint));
            }
            let gone = |axis: usize| match &axes {
                None => from[axis] == 1 && !(encrypted && axis == 0),
                Some(axes) => axes.contains(&axis),
            };
            if (0..from.len()).any(|axis| gone(axis) && from[axis] != 1) {
                return Err(view.wrong(format!("it squeezes axes {axes:?} of {from:?}")));
            }
            (0..from.len()).filter(|&axis| !gone(axis)).map(|axis| from[axis]).collect()
        }
        _ => {
            let Some(axes) = reader.moved_list(view, "axes", 13, 1)? else {
                return Err(view.wrong("it has no axes"));
            };
            let count = from.len() + axes.len();
            let axes = view.axes(&axes, count)?;
            let mut rest = from.iter().copied();
            (0..count).map_while(|axis| if axes.contains(&axis) { Some(1) } else { rest.next() }).collect()
        }
    };
    in_dims(reader, view, value, to)
}

/// Gives the elements of a value other dimensions.
fn in_dims<'a>(reader: &mut Reader<'a>, view: &View<'a>, value: Value, to: Vec<usize>) -> Result<Value> {
    let from = reader.dims(&value);
    if from == to {
        return Ok(value);
    }
    match (value, to.split_first()) {
        (Value::Constant(tensor), _) => Ok(Value::constant(tensor.reshaped(to))),
        (Value::Node(id) | Value::Rows(id), Some((&first, rest)))
            if first == reader.batch.size() && !rest.is_empty() =>
        {
            match *reader.shape(id) == *rest {
                true => Ok(Value::Node(id)),
                false => reader.push(view, Op::Reshape, vec![id], rest.to_vec()).map(Value::Node),
            }
        }
        (Value::Node(id) | Value::Rows(id), Some(_)) if rows::is_one(reader) && to.len() >= 2 => {
            match *reader.shape(id) == to {
                true => Ok(Value::Rows(id)),
                false => reader.push(view, Op::Reshape, vec![id], to).map(Value::Rows),
            }
        }
        (Value::Decided(_, decision), _) => Err(super::super::after(view, decision)),
        _ => Err(view.unsupported(
            format!("it makes {to:?} of {from:?}, which moves the batch"),
            "keep the batch as the first dimension, and one more",
        )),
    }
}

/// A value's elements in other places, with a number where there is none.
fn arranged<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    value: Value,
    arrangement: &Arrangement,
    fill: Option<Rc<Tensor>>,
) -> Result<Value> {
    let id = match value {
        Value::Constant(tensor) => {
            let arranged = tensor.arranged(arrangement, fill.as_deref());
            return arranged.map(Value::constant).map_err(|why| view.wrong(why));
        }
        Value::Decided(_, decision) => return Err(super::super::after(view, decision)),
        Value::Rows(id) => return Err(super::of_rows(view, reader.shape(id))),
        Value::Node(id) => id,
    };
    let Some(inner) = arrangement.within_examples() else {
        return Err(view.unsupported(
            "it moves values from one example of the batch to another",
            "leave dimension 0, which is the batch, as it is",
        ));
    };
    let source = reader.shape(id).clone();
    gathered(reader, view, id, &inner, &source, fill.as_deref()).map(Value::Node)
}

/// The elements of a value, seen in dimensions `source`, in other places.
pub fn gathered<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    id: usize,
    inner: &Arrangement,
    source: &[usize],
    fill: Option<&Tensor>,
) -> Result<usize> {
    let shape = inner.dims(source);
    let count = shape.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim));
    if count.is_none_or(|count| count == 0 || count > MAX_ELEMENTS) {
        return Err(view.wrong(format!("its value of dimensions {shape:?} is empty or too large")));
    }
    let places = inner.places(source);
    if places.iter().enumerate().all(|(at, &from)| from == Some(at))
        && places.len() == source.iter().product()
    {
        return match *reader.shape(id) == shape {
            true => Ok(id),
            false => reader.push(view, Op::Reshape, vec![id], shape),
        };
    }
    let filled: Vec<bool> = places.iter().map(Option::is_none).collect();
    let places = places.into_iter().map(|place| place.map(|place| place as u32)).collect();
    let moved = reader.push(view, Op::Gather(places), vec![id], shape.clone())?;
    let fill = match fill {
        Some(fill) => super::super::reals(fill, view, 2)?[0],
        None => 0.0,
    };
    if fill == 0.0 {
        return Ok(moved);
    }
    let offsets = filled.into_iter().map(|filled| if filled { fill } else { 0.0 }).collect();
    reader.push(view, Op::Affine(Affine { run: 1, factors: vec![1.0], offsets }), vec![moved], shape)
}

fn transpose<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let count = reader.dims(&value).len();
    let order = match view.integers("perm")? {
        Some(perm) => view.axes(perm, count)?,
        None => (0..count).rev().collect(),
    };
    if order.len() != count {
        return Err(view.wrong(format!("its perm {order:?} is not an order of {count} axes")));
    }
    let arrangement = Arrangement(order.into_iter().map(Axis::whole).collect());
    arranged(reader, view, value, &arrangement, None)
}

/// The length of an axis for ranges that reach to its end: a batch of any size ends where exporters
/// say so for every axis.
fn length<'a>(reader: &Reader<'a>, value: &Value, axis: usize) -> usize {
    match (value, reader.batch, axis) {
        (Value::Node(_), Batch::Any, 0) => i32::MAX as usize,
        _ => reader.dims(value)[axis],
    }
}

/// The entry of an axis in a list with an entry for each axis, or the default without a list.
fn along<T: Copy>(list: &Option<Vec<T>>, at: usize, default: T) -> T {
    list.as_ref().map_or(default, |list| list[at])
}

fn slice<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let count = reader.dims(&value).len();
    let starts = reader.moved_list(view, "starts", 10, 1)?;
    let ends = reader.moved_list(view, "ends", 10, 2)?;
    let axes = reader.moved_list(view, "axes", 10, 3)?;
    let steps = match view.opset >= 10 && view.has(4) {
        true => Some(reader.list(view, 4, "steps")?),
        false => None,
    };
    let (Some(starts), Some(ends)) = (starts, ends) else {
        return Err(view.wrong("it has no starts or no ends"));
    };
    let axes = match axes {
        Some(axes) => view.axes(&axes, count)?,
        None => (0..starts.len()).collect(),
    };
    let lengths = [starts.len(), ends.len(), steps.as_ref().map_or(axes.len(), Vec::len)];
    if lengths != [axes.len(); 3] || axes.len() > count {
        return Err(view.wrong("its starts, ends, axes and steps are of different lengths"));
    }
    let mut arrangement = Arrangement::identity(count);
    for (at, &axis) in axes.iter().enumerate() {
        let length = length(reader, &value, axis) as i64;
        let step = along(&steps, at, 1);
        if step == 0 {
            return Err(view.wrong("a step is 0"));
        }
        let from_end = |x: i64| if x < 0 { x.saturating_add(length) } else { x };
        let (start, end) = match step > 0 {
            true => (from_end(starts[at]).clamp(0, length), from_end(ends[at]).clamp(0, length)),
            false => (from_end(starts[at]).clamp(-1, length - 1), from_end(ends[at]).clamp(-1, length - 1)),
        };
        if (start, end, step) == (0, length, 1) {
            continue;
        }
        if axis == 0 && matches!(value, Value::Node(_)) {
            return Err(view.unsupported("it takes a part of the batch", "leave dimension 0 as it is"));
        }
        let span = if step > 0 { end - start } else { start - end };
        let taken = usize::try_from(span.max(0)).unwrap_or(0).div_ceil(step.unsigned_abs() as usize);
        let places = (0..taken).map(|at| usize::try_from(start + at as i64 * step).ok()).collect();
        arrangement.0[axis] = Axis { source: Some(axis), from: From::Places(places) };
    }
    arranged(reader, view, value, &arrangement, None)
}

fn pad<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    let pads = match view.opset {
        ..2 => view.integers("paddings")?.map(<[i64]>::to_vec),
        _ => reader.moved_list(view, "pads", 11, 1)?,
    };
    let pads = pads.ok_or_else(|| view.wrong("it has no pads"))?;
    let fill = match view.opset {
        ..11 => {
            let number = view.number("value", 0.0)?;
            let tensor = Tensor::reals("value", vec![], super::super::element::Real::Double, vec![number])?;
            Some(Rc::new(tensor))
        }
        _ if view.has(2) => Some(reader.constant(view, 2, "value")?),
        _ => None,
    };
    if fill.as_ref().is_some_and(|fill| fill.len() != 1) {
        return Err(view.wrong("its value is not one number"));
    }
    if let (Value::Constant(tensor), Some(fill)) = (&value, &fill)
        && (tensor.element.is_real() != fill.element.is_real()
            || view.opset >= 11 && tensor.element != fill.element)
    {
        return Err(view.wrong("its value is of another type than its input"));
    }
    let axes = match view.opset >= 18 && view.has(3) {
        true => view.axes(&reader.list(view, 3, "axes")?, dims.len())?,
        false => (0..dims.len()).collect(),
    };
    let mode = view.text("mode")?.unwrap_or("constant");
    if pads.len() != 2 * axes.len() {
        return Err(view.wrong(format!("it has {} pads for {} axes", pads.len(), axes.len())));
    }
    let mut arrangement = Arrangement::identity(dims.len());
    for (at, &axis) in axes.iter().enumerate() {
        let (before, after) = (pads[at], pads[at + axes.len()]);
        let length = dims[axis] as i64;
        if (before, after) == (0, 0) {
            continue;
        }
        let most = LIMIT as i64;
        if axis == 0 && matches!(value, Value::Node(_)) {
            return Err(view.unsupported("it pads the batch", "leave dimension 0 as it is"));
        }
        if !(-most..=most).contains(&before) || !(-most..=most).contains(&after) {
            return Err(view.wrong(format!("it pads by {pads:?}")));
        }
        // Pads that are less than 0 cut off; then nothing is left to be reflected.
        if mode != "constant" && (before < 0 || after < 0 || length == 0) {
            return Err(view.unsupported("it pads by less than 0", "cut values off with Slice"));
        }
        let place = |x: i64| -> Result<Option<usize>> {
            let found = match mode {
                "constant" => Some(x).filter(|x| (0..length).contains(x)),
                "edge" => Some(x.clamp(0, length - 1)),
                "wrap" if view.opset >= 19 => Some(x.rem_euclid(length)),
                "reflect" => {
                    let mirrored = if x < 0 {
                        -x
                    } else if x >= length {
                        2 * (length - 1) - x
                    } else {
                        x
                    };
                    if !(0..length).contains(&mirrored) {
                        return Err(view.wrong("it reflects more than there is"));
                    }
                    Some(mirrored)
                }
                other => return Err(view.wrong(format!("mode is {other:?}"))),
            };
            Ok(found.map(|x| x as usize))
        };
        let places = (-before..length + after).map(place).collect::<Result<_>>()?;
        arrangement.0[axis] = Axis { source: Some(axis), from: From::Places(places) };
    }
    arranged(reader, view, value, &arrangement, fill)
}

fn gather<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    let axis = view.axis(view.integer("axis", 0)?, dims.len())?;
    if let (Value::Constant(table), Value::Node(ids)) = (&value, reader.value(view, 1)?) {
        return attention::lookup(reader, view, table, axis, ids).map(Value::Node);
    }
    let indices = reader.constant(view, 1, "indices")?;
    let list = indices.as_list().ok_or_else(|| view.wrong("its indices are not of type INT32 or INT64"))?;
    let length = dims[axis] as i64;
    let place = |&index: &i64| {
        let place = if index < 0 { index + length } else { index };
        let found = Some(place).filter(|place| (0..length).contains(place));
        found
            .map(|place| Some(place as usize))
            .ok_or_else(|| view.wrong(format!("it asks for index {index} of {length} on axis {axis}")))
    };
    let places: Vec<Option<usize>> = list.iter().map(place).collect::<Result<_>>()?;
    let mut arrangement = Arrangement::identity(dims.len());
    arrangement.0[axis] = match (&value, axis) {
        (Value::Node(_), 0) => Axis { source: Some(0), from: From::Places(places) },
        _ => Axis::places(axis, dims[axis], places),
    };
    let moved = arranged(reader, view, value, &arrangement, None)?;
    let to = [&dims[..axis], &indices.dims, &dims[axis + 1..]].concat();
    in_dims(reader, view, moved, to)
}

fn expand<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    let to = reader.list(view, 1, "dimensions")?;
    let to: Option<Vec<usize>> = to.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let to = to.and_then(|to| broadcast(&dims, &to));
    let Some(to) = to.filter(|to| to.iter().all(|&dim| dim <= LIMIT)) else {
        return Err(view.wrong(format!("an input of {dims:?} does not expand to its dimensions")));
    };
    arranged(reader, view, value, &expansion(&dims, &to), None)
}

fn tile<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    if view.opset < 6 {
        let hint = "convert the model: onnx.version_converter.convert_version(model, 21)";
        return Err(view.unsupported("it repeats along one axis, as before opset 6", hint));
    }
    let repeats = reader.list(view, 1, "repeats")?;
    if repeats.len() != dims.len() {
        return Err(view.wrong(format!("it has {} repeats for {} axes", repeats.len(), dims.len())));
    }
    let axis = |(axis, &times): (usize, &i64)| match times {
        1 => Ok(Axis::whole(axis)),
        times => {
            let times = usize::try_from(times).ok();
            let all = times.and_then(|times| times.checked_mul(dims[axis])).filter(|&all| all <= LIMIT);
            let all = all.ok_or_else(|| view.wrong(format!("it repeats by {repeats:?}")))?;
            let places = (0..all).map(|at| Some(at % dims[axis].max(1))).collect();
            Ok(Axis { source: Some(axis), from: From::Places(places) })
        }
    };
    let arrangement = Arrangement(repeats.iter().enumerate().map(axis).collect::<Result<_>>()?);
    arranged(reader, view, value, &arrangement, None)
}

/// Blocks of pixels as channels, or the other way round: a transposition of six axes.
fn depth_and_space<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    let block = usize::try_from(view.integer("blocksize", 0)?).unwrap_or(0);
    let (&[batch, channels, rows, columns], 1..) = (&dims[..], block) else {
        return Err(view.wrong(format!("it takes blocks of {block} from dimensions {dims:?}")));
    };
    let deep = view.operator == "DepthToSpace";
    let has_mode = view.opset >= if deep { 11 } else { 28 };
    let mode = if has_mode { view.text("mode")?.unwrap_or("DCR") } else { "DCR" };
    let fits = match deep {
        true => channels.is_multiple_of(block.saturating_mul(block)),
        false => rows.is_multiple_of(block) && columns.is_multiple_of(block),
    };
    if !fits || !["DCR", "CRD"].contains(&mode) {
        return Err(view.wrong(format!("it takes blocks of {block} from dimensions {dims:?}, by {mode:?}")));
    }
    let (middle, order, to): (Vec<usize>, [usize; 6], _) = match (deep, mode) {
        (true, "DCR") => {
            let rest = channels / block / block;
            let to = vec![batch, rest, rows * block, columns * block];
            (vec![batch, block, block, rest, rows, columns], [0, 3, 4, 1, 5, 2], to)
        }
        (true, _) => {
            let rest = channels / block / block;
            let to = vec![batch, rest, rows * block, columns * block];
            (vec![batch, rest, block, block, rows, columns], [0, 1, 4, 2, 5, 3], to)
        }
        (false, mode) => {
            let (rows, columns) = (rows / block, columns / block);
            let to = vec![batch, channels * block * block, rows, columns];
            let order = if mode == "DCR" { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
            (vec![batch, channels, rows, block, columns, block], order, to)
        }
    };
    let value = in_dims(reader, view, value, middle)?;
    let arrangement = Arrangement(order.into_iter().map(Axis::whole).collect());
    let value = arranged(reader, view, value, &arrangement, None)?;
    in_dims(reader, view, value, to)
}

fn split<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Vec<Value>> {
    let value = reader.value(view, 0)?;
    let dims = reader.dims(&value);
    if view.opset < 2 && view.has(1) {
        let hint = "convert the model: onnx.version_converter.convert_version(model, 21)";
        return Err(view.unsupported("its parts are an input, as in opset 1", hint));
    }
    let axis = view.axis(view.integer("axis", 0)?, dims.len())?;
    let parts = reader.moved_list(view, "split", 13, 1)?;
    let count = match view.opset >= 18 {
        true => view.integer("num_outputs", view.outputs() as i64)?,
        false => view.outputs() as i64,
    };
    let length = dims[axis];
    let wrong = || view.wrong(format!("it does not divide {length} into {} parts", view.outputs()));
    if count != view.outputs() as i64 || count < 1 {
        return Err(wrong());
    }
    let lengths: Vec<usize> = match parts {
        Some(parts) => {
            parts.iter().map(|&part| usize::try_from(part).map_err(|_| wrong())).collect::<Result<_>>()?
        }
        None => {
            let count = count as usize;
            let each = length.div_ceil(count);
            // Until opset 18, all parts are of one length.
            if view.opset < 18 && !length.is_multiple_of(count) {
                return Err(wrong());
            }
            (0..count).map(|at| length.min((at + 1) * each) - length.min(at * each)).collect()
        }
    };
    if lengths.len() != view.outputs()
        || lengths.iter().try_fold(0usize, |a, &b| a.checked_add(b)) != Some(length)
    {
        return Err(wrong());
    }
    if axis == 0 && matches!(value, Value::Node(_)) {
        return Err(view.unsupported("it divides the batch", "leave dimension 0 as it is"));
    }
    let mut start = 0;
    let mut values = Vec::new();
    for part in lengths {
        let mut arrangement = Arrangement::identity(dims.len());
        let places = (start..start + part).map(Some).collect();
        arrangement.0[axis] = Axis::places(axis, length, places);
        values.push(arranged(reader, view, value.clone(), &arrangement, None)?);
        start += part;
    }
    Ok(values)
}

/// Constants one behind the other, or the sum of values that each are 0 where the others are.
fn concat<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Value> {
    let values = reader.all(view)?;
    let dims: Vec<Vec<usize>> = values.iter().map(|value| reader.dims(value)).collect();
    let axis = match view.opset {
        ..4 => view.integer("axis", 1)?,
        _ if view.has_attribute("axis") => view.integer("axis", 0)?,
        _ => return Err(view.wrong("it has no axis")),
    };
    let axis = view.axis(axis, dims[0].len())?;
    let mut to = dims[0].clone();
    for other in &dims[1..] {
        let fits = other.len() == to.len() && (0..to.len()).all(|at| at == axis || other[at] == to[at]);
        if !fits {
            return Err(view.wrong(format!("its inputs have dimensions {dims:?}")));
        }
        to[axis] = to[axis]
            .checked_add(other[axis])
            .filter(|&all| all <= LIMIT)
            .ok_or_else(|| view.wrong("its value is too large"))?;
    }
    let constants: Option<Vec<&Rc<Tensor>>> = values
        .iter()
        .map(|value| if let Value::Constant(tensor) = value { Some(tensor) } else { None })
        .collect();
    if let Some(tensors) = constants {
        return Tensor::concat(&tensors, axis, to).map(Value::constant).map_err(|why| view.wrong(why));
    }
    if axis == 0 || to.len() < 2 {
        let hint = "leave dimension 0, which is the batch, as it is";
        return Err(view.unsupported("it makes a larger batch", hint));
    }
    let elements = to[1..].iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
    let Some(elements) = elements.filter(|&elements| elements <= MAX_ELEMENTS) else {
        return Err(view.wrong(format!("its value of dimensions {to:?} is too large")));
    };
    let (length, mut start) = (to[axis], 0);
    let mut parts: Vec<usize> = Vec::new();
    let mut offsets = vec![0.0; elements];
    for (index, (value, dims)) in values.into_iter().zip(&dims).enumerate() {
        let mut arrangement = Arrangement::identity(to.len());
        let at = |at: usize| at.checked_sub(start).filter(|&at| at < dims[axis]);
        arrangement.0[axis] = Axis { source: Some(axis), from: From::Places((0..length).map(at).collect()) };
        start += dims[axis];
        match value {
            Value::Constant(tensor) => {
                if dims[0] != 1 {
                    let hint = "use the same constant for every example";
                    return Err(view.unsupported("a constant is different for each example", hint));
                }
                let numbers = super::super::reals(&tensor, view, index)?;
                let places = arrangement.places(dims);
                offsets.iter_mut().zip(places).for_each(|(offset, place)| {
                    *offset += place.map_or(0.0, |place| numbers[place]);
                });
            }
            other => match arranged(reader, view, other, &arrangement, None)? {
                Value::Node(id) => parts.push(id),
                _ => return Err(view.wrong("its inputs are not all values")),
            },
        }
    }
    let shape = to[1..].to_vec();
    let mut sum = parts[0];
    for &part in &parts[1..] {
        sum = reader.push(view, Op::Add, vec![sum, part], shape.clone())?;
    }
    if offsets.iter().any(|&offset| offset != 0.0) {
        let affine = Affine { run: 1, factors: vec![1.0], offsets };
        sum = reader.push(view, Op::Affine(affine), vec![sum], shape)?;
    }
    Ok(Value::Node(sum))
}
