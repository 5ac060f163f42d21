//! The greatest of several elements, by comparisons: max(a, b) = relu(a - b) + b.
//!
//! The elements under each window are compared in a tree. All comparisons of one round are one
//! value, so that a round costs as much as one activation, and takes one level more for the
//! differences: two rounds for windows of 2 x 2, four for those of 3 x 3.

use super::Reader;
use super::node::View;
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Differences, Op, Shape, Window};

/// The rectifier of a value, plus another one of the same dimensions.
fn rectified_sum<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    difference: usize,
    rest: usize,
) -> Result<usize> {
    let shape = reader.shape(difference).clone();
    let relu = Op::Function(Function::named(Named::Relu));
    let relu = reader.push(view, relu, vec![difference], shape.clone())?;
    reader.push(view, Op::Add, vec![relu, rest], shape)
}

pub fn negated<'a>(reader: &mut Reader<'a>, view: &View<'a>, x: usize) -> Result<usize> {
    let shape = reader.shape(x).clone();
    let minus = Op::Affine(Affine { run: 1, factors: vec![-1.0], offsets: vec![0.0] });
    reader.push(view, minus, vec![x], shape)
}

/// The greater of two values element by element, or else the smaller one, which is
/// -max(-a, -b) = b - relu(b - a).
pub fn of_two<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    a: usize,
    b: usize,
    greater: bool,
) -> Result<usize> {
    let shape = reader.shape(a).clone();
    let (from, less) = if greater { (a, b) } else { (b, a) };
    let minus = negated(reader, view, less)?;
    let difference = reader.push(view, Op::Add, vec![from, minus], shape.clone())?;
    if greater {
        return rectified_sum(reader, view, difference, b);
    }
    let relu = Op::Function(Function::named(Named::Relu));
    let relu = reader.push(view, relu, vec![difference], shape.clone())?;
    let minus = negated(reader, view, relu)?;
    reader.push(view, Op::Add, vec![b, minus], shape)
}

/// The greatest element under each window, of the elements that are not in the border.
pub fn of_windows<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    input: usize,
    window: &Window,
    shape: Shape,
) -> Result<usize> {
    let &[channels, rows, columns] = reader.shape(input).as_slice() else {
        return Err(view.wrong("its input has no planes"));
    };
    let Some([height, width]) = window.output([rows, columns]) else {
        return Err(view.wrong("its window does not fit"));
    };
    let outputs = channels * height * width;
    let under = |output: usize| -> Vec<u32> {
        let (channel, at) = (output / (height * width), output % (height * width));
        let places = window.places([rows, columns], [at / width, at % width]);
        places.map(|(place, _)| (channel * rows * columns + place) as u32).collect()
    };
    let under: Vec<Vec<u32>> = (0..outputs).map(under).collect();
    if under.iter().any(Vec::is_empty) {
        return Err(view.wrong("a window lies in the border"));
    }
    // Each output gets the same number of places, some of them twice at the border.
    let most = under.iter().map(Vec::len).max().unwrap_or(1);
    let place = |at: usize| under.iter().map(|list| list[at.min(list.len() - 1)]).collect();
    let mut places: Vec<Vec<u32>> = (0..most).map(place).collect();
    let (mut value, mut strides) = (input, window.strides);
    while places.len() > 1 {
        let pairs: Vec<(&Vec<u32>, &Vec<u32>)> =
            places.chunks(2).map(|pair| (&pair[0], pair.last().unwrap_or(&pair[0]))).collect();
        let shape = vec![pairs.len() * channels, height, width];
        let different = pairs.iter().flat_map(|(a, b)| a.iter().zip(*b).map(|(&a, &b)| [a, b]));
        let different = Op::Differences(Differences { places: different.collect(), strides });
        let rest = Op::Gather(pairs.iter().flat_map(|(_, b)| b.iter().map(|&b| Some(b))).collect());
        let count = pairs.len();
        let different = reader.push(view, different, vec![value], shape.clone())?;
        let rest = reader.push(view, rest, vec![value], shape)?;
        value = rectified_sum(reader, view, different, rest)?;
        places =
            (0..count).map(|pair| (0..outputs).map(|at| (pair * outputs + at) as u32).collect()).collect();
        strides = [1, 1];
    }
    // A window of one element takes it, and averages may leave out axes of length one.
    let own = places.into_iter().next().unwrap_or_default();
    match value == input {
        true => reader.push(view, Op::Gather(own.into_iter().map(Some).collect()), vec![input], shape),
        false if *reader.shape(value) != shape => reader.push(view, Op::Reshape, vec![value], shape),
        false => Ok(value),
    }
}
