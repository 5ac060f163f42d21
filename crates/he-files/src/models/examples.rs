//! Examples in the clear: rows of a table, or pictures of a folder.

use crate::data::picture::{Channels, Format, Picture};
use crate::data::table::{Table, TableOptions};
use crate::error::{Error, ModelError, Result};
use crate::io::input::Input;
use crate::watch::{Remedy, Warning, Watch};
use he_nn::Graph;
use std::path::{Path, PathBuf};

/// The most examples that are read at once.
const MOST: usize = 1 << 20;

/// Examples, and what they are called.
#[derive(Debug)]
pub struct Examples {
    /// The numbers of each, in the order of the model's input.
    pub rows: Vec<Vec<f64>>,
    /// The name of each: a picture's file, or the number of a row.
    pub names: Vec<String>,
    /// The bytes of what was read.
    pub bytes: u64,
    /// The rows of a table that were left out, counted from 1 on.
    pub left_out: Vec<usize>,
}

impl Examples {
    /// Reads a table, a row for each example, or a folder of pictures in the order of their names.
    ///
    /// # Errors
    /// It is neither; it does not fit the input of the model; it cannot be read.
    pub fn read(path: &Path, graph: &Graph, options: TableOptions<'_>, watch: &dyn Watch) -> Result<Self> {
        match path.is_dir() {
            true => Self::pictures(path, graph),
            false => Self::table(Input::open(path)?, graph, options, watch),
        }
    }

    /// Numbers in the order of the model's input, one example behind the other.
    pub fn of(numbers: &[f64], graph: &Graph) -> Self {
        let rows: Vec<Vec<f64>> = numbers.chunks(graph.input_elements()).map(<[f64]>::to_vec).collect();
        let names = (1..=rows.len()).map(|number| format!("example {number}")).collect();
        Self { rows, names, bytes: size_of_val(numbers) as u64, left_out: Vec::new() }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// It is not a table, or has another number of columns than the model takes numbers.
    pub fn table(input: Input, graph: &Graph, options: TableOptions<'_>, watch: &dyn Watch) -> Result<Self> {
        let (name, length) = (input.name().to_owned(), input.length());
        let table = Table::read(input, &name, options)?;
        table.tell_guess(&name, watch);
        let (found, expected) = (table.columns().len(), graph.input_elements());
        if found != expected {
            let inputs = super::inputs_in_words(graph);
            return Err(ModelError::Columns { name, found, expected, inputs }.into());
        }
        let row = |row: usize| table.columns().iter().map(|column| column[row]).collect();
        let rows: Vec<Vec<f64>> = (0..table.rows()).map(row).collect();
        let left_out = table.skipped().to_vec();
        if !left_out.is_empty() {
            let (count, all) = (left_out.len(), left_out.len() + rows.len());
            let message = format!(
                "{name}: {count} of {all} rows are left out, because something is missing in them: {}",
                listed(&left_out)
            );
            watch.warn(&Warning { message, remedy: Remedy::OutputsLeft });
        }
        let is_left_out = |row: &usize| left_out.binary_search(row).is_ok();
        let kept = (1..=rows.len() + left_out.len()).filter(|row| !is_left_out(row));
        let names = kept.map(|row| format!("row {row}")).collect();
        Ok(Self { rows, names, bytes: length.bytes(), left_out })
    }

    /// Reads all pictures of a folder; black is 0 and white is 1.
    fn pictures(folder: &Path, graph: &Graph) -> Result<Self> {
        let name = folder.display().to_string();
        let [planes, height, width] = graph.nodes[0].shape[..] else {
            return Err(ModelError::NotPictures { name, shape: graph.nodes[0].shape.clone() }.into());
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| Error::io(error, "read", &name))? {
            let path = entry.map_err(|error| Error::io(error, "read", &name))?.path();
            if path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        let mut examples = Self { rows: Vec::new(), names: Vec::new(), bytes: 0, left_out: Vec::new() };
        for path in paths {
            let mut input = Input::open(&path)?;
            if Format::sniff(input.peek(64)?).is_none() {
                continue;
            }
            let (picture_name, length) = (input.name().to_owned(), input.length());
            let picture = Picture::read(input, None)?;
            examples.rows.push(numbers(&picture, [planes, height, width], &picture_name)?);
            examples.names.push(picture_name);
            examples.bytes += length.bytes();
            if examples.rows.len() > MOST {
                return Err(ModelError::TooMany { name, most: MOST }.into());
            }
        }
        match examples.rows.is_empty() {
            true => Err(ModelError::NoPictures { name }.into()),
            false => Ok(examples),
        }
    }
}

/// The first of some rows, for people.
fn listed(rows: &[usize]) -> String {
    const MOST: usize = 20;
    let first: Vec<String> = rows.iter().take(MOST).map(usize::to_string).collect();
    let more = rows.len().saturating_sub(MOST);
    match more {
        0 => format!("row {}", first.join(", ")),
        more => format!("row {} and {more} more", first.join(", ")),
    }
}

/// The planes of a picture: gray for a model of one, red, green and blue for a model of three.
fn numbers(picture: &Picture, shape: [usize; 3], name: &str) -> Result<Vec<f64>> {
    let [planes, height, width] = shape;
    let light = match picture.channels() {
        Channels::Gray | Channels::GrayAlpha => 1,
        Channels::Rgb | Channels::Rgba => 3,
    };
    if (picture.height() as usize, picture.width() as usize) != (height, width) || ![1, 3].contains(&planes) {
        let found = [light, picture.height() as usize, picture.width() as usize];
        return Err(ModelError::Picture { name: name.to_owned(), found, expected: shape }.into());
    }
    let plane = |channel: usize| {
        let mut values = vec![0.0; width * height];
        picture.read_rows(channel, 0..height as u32, &mut values);
        values
    };
    Ok(match (light, planes) {
        (1, _) => plane(0).repeat(planes),
        (_, 3) => (0..3).flat_map(plane).collect(),
        // Luma of ITU-R BT.601, as programs that turn pictures gray compute it.
        _ => {
            let [red, green, blue] = [0, 1, 2].map(plane);
            (0..width * height).map(|at| 0.299 * red[at] + 0.587 * green[at] + 0.114 * blue[at]).collect()
        }
    })
}
