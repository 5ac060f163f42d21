//! Windows over planes, and reductions along axes.

use super::super::arrangement::{Arrangement, Axis};
use super::super::node::View;
use super::super::{Reader, maximum};
use super::activations;
use super::shapes::gathered;
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Dense, Op, Shape, Window};

/// The first input of a node as channels of planes, which may be lines.
pub struct Planes {
    input: usize,
    pub channels: usize,
    /// Rows and columns; lines have one row.
    pub size: [usize; 2],
    /// The axes of a plane: 1 for lines.
    pub axes: usize,
}

impl Planes {
    pub fn of<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Self> {
        let input = reader.encrypted(view, 0)?;
        match reader.shape(input)[..] {
            [channels, rows, columns] => Ok(Self { input, channels, size: [rows, columns], axes: 2 }),
            [channels, columns] => Ok(Self { input, channels, size: [1, columns], axes: 1 }),
            _ => Err(view.unsupported(
                format!("its input has dimensions {:?} besides the batch", reader.shape(input)),
                "channels of planes or of lines are supported, thus three or two dimensions besides the batch",
            )),
        }
    }

    /// The node with three dimensions.
    pub fn id<'a>(&self, reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
        let [rows, columns] = self.size;
        match self.axes {
            2 => Ok(self.input),
            _ => reader.push(view, Op::Reshape, vec![self.input], vec![self.channels, rows, columns]),
        }
    }

    /// A value of three dimensions in as many as the input has.
    pub fn back<'a>(&self, reader: &mut Reader<'a>, view: &View<'a>, id: usize) -> Result<usize> {
        match reader.shape(id)[..] {
            [channels, 1, columns] if self.axes == 1 => {
                reader.push(view, Op::Reshape, vec![id], vec![channels, columns])
            }
            _ => Ok(id),
        }
    }

    /// Positive numbers along the axes of a plane.
    pub fn pair(&self, view: &View<'_>, name: &'static str, default: [usize; 2]) -> Result<[usize; 2]> {
        let Some(found) = view.integers(name)? else { return Ok(default) };
        let positive = |&x: &i64| usize::try_from(x).ok().filter(|&x| (1..=1 << 16).contains(&x));
        match (found.iter().map(positive).collect::<Option<Vec<_>>>().as_deref(), self.axes) {
            (Some(&[a, b]), 2) => Ok([a, b]),
            (Some(&[b]), 1) => Ok([1, b]),
            _ => Err(view.wrong(format!(
                "{name} is {found:?}, and must be {} positive numbers up to 2^16",
                self.axes
            ))),
        }
    }
}

/// The window of a node, of this kernel and these dilations.
pub fn window(
    view: &View<'_>,
    planes: &Planes,
    kernel: [usize; 2],
    dilations: [usize; 2],
    count_border: bool,
) -> Result<Window> {
    let strides = planes.pair(view, "strides", [1, 1])?;
    let (mut before, mut after) = ([0; 2], [0; 2]);
    let pads = view.integers("pads")?;
    let auto = view.text("auto_pad")?.unwrap_or("NOTSET");
    if auto != "NOTSET" && pads.is_some_and(|pads| pads.iter().any(|&pad| pad != 0)) {
        return Err(view.wrong(format!("it has both auto_pad {auto:?} and pads")));
    }
    match auto {
        "NOTSET" => {
            if let Some(pads) = pads {
                let pad = |&x: &i64| usize::try_from(x).ok().filter(|&x| x <= 1 << 16);
                match (pads.iter().map(pad).collect::<Option<Vec<_>>>().as_deref(), planes.axes) {
                    (Some(&[top, left, bottom, right]), 2) => {
                        (before, after) = ([top, left], [bottom, right])
                    }
                    (Some(&[left, right]), 1) => (before, after) = ([0, left], [0, right]),
                    _ => return Err(view.wrong(format!("pads are {pads:?}"))),
                }
            }
        }
        "VALID" => {}
        same @ ("SAME_UPPER" | "SAME_LOWER") => {
            // Programs differ in whether dilations count for the border.
            if (0..2).any(|axis| kernel[axis] > 1 && dilations[axis] > 1) {
                let why = format!("auto_pad is {auto:?} of a window with dilations {dilations:?}");
                return Err(view.unsupported(why, "state the border as pads"));
            }
            for axis in 0..2 {
                let steps = planes.size[axis].div_ceil(strides[axis]) - 1;
                let reach = dilations[axis] * (kernel[axis] - 1) + 1;
                let total = (steps * strides[axis] + reach).saturating_sub(planes.size[axis]);
                let (small, large) = (total / 2, total - total / 2);
                (before[axis], after[axis]) =
                    if same == "SAME_UPPER" { (small, large) } else { (large, small) };
            }
        }
        other => return Err(view.wrong(format!("auto_pad is {other:?}"))),
    }
    Ok(Window { kernel, strides, before, after, dilations, count_border })
}

/// The size of the planes that a window leaves.
pub fn outcome(view: &View<'_>, window: &Window, plane: [usize; 2]) -> Result<[usize; 2]> {
    window.output(plane).ok_or_else(|| {
        view.wrong(format!("a window of {:?} does not fit planes of {plane:?}", window.kernel))
    })
}

/// The most entries of all windows of a pooling, with those of the border: they are walked one by
/// one, and a file of a few bytes can ask for any number.
const MOST_WINDOW_ENTRIES: usize = 1 << 28;

/// The window and the dimensions of the result of pooling.
fn pooling(view: &View<'_>, planes: &Planes, dilations_since: i64) -> Result<(Window, Shape)> {
    let kernel = planes.pair(view, "kernel_shape", [0, 0])?;
    if kernel.contains(&0) {
        return Err(view.wrong("it has no kernel_shape"));
    }
    let dilations = match view.opset >= dilations_since {
        true => planes.pair(view, "dilations", [1, 1])?,
        false => [1, 1],
    };
    let counts =
        view.operator == "AveragePool" && view.opset >= 7 && view.flag("count_include_pad", false)?;
    let window = window(view, planes, kernel, dilations, counts)?;
    let [height, width] = outcome(view, &window, planes.size)?;
    if view.opset >= 10 && view.flag("ceil_mode", false)? {
        // Rounding up matters only where the last window would hang over.
        let exact = |axis: usize| {
            let padded = planes.size[axis] + window.before[axis] + window.after[axis];
            let reach = window.dilations[axis] * (window.kernel[axis] - 1) + 1;
            (padded - reach).is_multiple_of(window.strides[axis])
        };
        if !exact(0) || !exact(1) {
            return Err(view.unsupported("windows hang over the border", "leave ceil_mode at 0"));
        }
    }
    let sizes = [planes.channels, height, width, kernel[0], kernel[1]];
    let entries = sizes.into_iter().try_fold(1, usize::checked_mul);
    if entries.is_none_or(|entries| entries > MOST_WINDOW_ENTRIES) {
        let channels = planes.channels;
        return Err(view.unsupported(
            format!("{channels} x {height} x {width} windows of {kernel:?} have more than 2^28 entries"),
            "use smaller windows, and pad by less than a window",
        ));
    }
    let mut places = (0..height * width).map(|at| window.places(planes.size, [at / width, at % width]));
    if !counts && places.any(|mut places| places.next().is_none()) {
        return Err(view.wrong("a window lies in the border"));
    }
    drop(places);
    Ok((window, vec![planes.channels, height, width]))
}

pub fn average<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let planes = Planes::of(reader, view)?;
    let (window, shape) = pooling(view, &planes, 19)?;
    let input = planes.id(reader, view)?;
    let id = reader.push(view, Op::Pool(window), vec![input], shape)?;
    planes.back(reader, view, id)
}

pub fn maximum<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let planes = Planes::of(reader, view)?;
    if view.opset >= 8 {
        // The order of indices, which are not computed.
        view.flag("storage_order", false)?;
    }
    let (window, shape) = pooling(view, &planes, 10)?;
    let input = planes.id(reader, view)?;
    let id = maximum::of_windows(reader, view, input, &window, shape)?;
    planes.back(reader, view, id)
}

fn global_window([rows, columns]: [usize; 2]) -> Window {
    let (zero, one) = ([0; 2], [1; 2]);
    let kernel = [rows, columns];
    Window { kernel, strides: one, before: zero, after: zero, dilations: one, count_border: false }
}

pub fn global_average<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let planes = Planes::of(reader, view)?;
    let input = planes.id(reader, view)?;
    let shape = vec![planes.channels, 1, 1];
    let id = reader.push(view, Op::Pool(global_window(planes.size)), vec![input], shape)?;
    planes.back(reader, view, id)
}

pub fn global_maximum<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let planes = Planes::of(reader, view)?;
    let input = planes.id(reader, view)?;
    let shape = vec![planes.channels, 1, 1];
    let id = maximum::of_windows(reader, view, input, &global_window(planes.size), shape)?;
    planes.back(reader, view, id)
}

/// The axes that a reduction takes, of a value of so many dimensions with the batch, and whether it
/// keeps them with length one; no axes if it does nothing.
pub fn reduced_axes<'a>(reader: &mut Reader<'a>, view: &View<'a>, dims: usize) -> Result<(Vec<usize>, bool)> {
    let since = if view.operator == "ReduceSum" { 13 } else { 18 };
    let axes = reader.moved_list(view, "axes", since, 1)?.unwrap_or_default();
    let nothing = view.opset >= since && view.flag("noop_with_empty_axes", false)?;
    let keep = view.flag("keepdims", true)?;
    let axes = match (axes.is_empty(), nothing) {
        (true, false) => (0..dims).collect(),
        _ => view.axes(&axes, dims)?,
    };
    Ok((axes, keep))
}

/// A sum, a mean or an extreme value along some axes.
pub fn reduction<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<usize> {
    let mut input = reader.encrypted(view, 0)?;
    let shape = reader.shape(input).clone();
    let (axes, keep) = reduced_axes(reader, view, shape.len() + 1)?;
    if axes.contains(&0) {
        // Axes that were left over, such as an attribute that became an input, say it better.
        view.finish()?;
        return Err(
            view.unsupported("it reduces the batch", "state its axes, without 0, which is that of the batch")
        );
    }
    let axes: Vec<usize> = axes.iter().map(|axis| axis - 1).collect();
    input = match view.operator {
        "ReduceSumSquare" | "ReduceL2" => activations::of(reader, view, input, Function::square())?,
        "ReduceL1" => activations::of(reader, view, input, Function::named(Named::Abs))?,
        _ => input,
    };
    if axes.is_empty() {
        // The length of one number is its magnitude.
        return match view.operator {
            "ReduceL2" => activations::of(reader, view, input, Function::named(Named::Sqrt)),
            _ => Ok(input),
        };
    }
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    let to: Shape = match keep {
        true => (0..shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect(),
        false => kept.iter().map(|&axis| shape[axis]).collect(),
    };
    if to.is_empty() {
        let hint = "set keepdims to 1";
        return Err(view.unsupported("it leaves no dimension besides the batch", hint));
    }
    let extreme = ["ReduceMax", "ReduceMin"].contains(&view.operator);
    // Averages of whole planes are windows, which packing knows.
    if let (&[channels, rows, columns], [1, 2], true) =
        (&shape[..], &sorted[..], extreme || view.operator == "ReduceMean")
    {
        let (window, planes) = (global_window([rows, columns]), vec![channels, 1, 1]);
        let id = match view.operator {
            "ReduceMean" => reader.push(view, Op::Pool(window), vec![input], planes)?,
            _ => extreme_of_windows(reader, view, input, &window, planes)?,
        };
        return in_shape(reader, view, id, to);
    }
    let count: usize = axes.iter().map(|&axis| shape[axis]).product();
    let rest: usize = kept.iter().map(|&axis| shape[axis]).product();
    let order = Arrangement(kept.iter().chain(&sorted).map(|&axis| Axis::whole(axis)).collect());
    let moved = gathered(reader, view, input, &order, &shape, None)?;
    let id = if extreme {
        let lines = in_shape(reader, view, moved, vec![rest, 1, count])?;
        extreme_of_windows(reader, view, lines, &global_window([1, count]), vec![rest, 1, 1])?
    } else {
        let rows = in_shape(reader, view, moved, vec![rest, count])?;
        let weight = if view.operator == "ReduceMean" { 1.0 / count as f64 } else { 1.0 };
        let sum = Dense { outputs: 1, inputs: count, weights: vec![weight; count], bias: vec![0.0] };
        reader.push(view, Op::Dense(sum), vec![rows], vec![rest, 1])?
    };
    let id = match view.operator {
        "ReduceL2" => activations::of(reader, view, id, Function::named(Named::Sqrt))?,
        _ => id,
    };
    in_shape(reader, view, id, to)
}

fn in_shape<'a>(reader: &mut Reader<'a>, view: &View<'a>, id: usize, shape: Shape) -> Result<usize> {
    match *reader.shape(id) == shape {
        true => Ok(id),
        false => reader.push(view, Op::Reshape, vec![id], shape),
    }
}

/// The greatest of a list of features.
pub fn greatest<'a>(reader: &mut Reader<'a>, view: &View<'a>, input: usize) -> Result<usize> {
    let count = reader.shape(input)[0];
    let line = in_shape(reader, view, input, vec![1, 1, count])?;
    let greatest = maximum::of_windows(reader, view, line, &global_window([1, count]), vec![1, 1, 1])?;
    in_shape(reader, view, greatest, vec![1])
}

/// The greatest element under each window, or for ReduceMin the smallest.
fn extreme_of_windows<'a>(
    reader: &mut Reader<'a>,
    view: &View<'a>,
    input: usize,
    window: &Window,
    shape: Shape,
) -> Result<usize> {
    if view.operator == "ReduceMax" {
        return maximum::of_windows(reader, view, input, window, shape);
    }
    let minus = maximum::negated(reader, view, input)?;
    let greatest = maximum::of_windows(reader, view, minus, window, shape)?;
    maximum::negated(reader, view, greatest)
}
