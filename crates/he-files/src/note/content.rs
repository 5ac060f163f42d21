//! The content of an encrypted file, of any kind.

use super::digits::DigitsNote;
use super::examples::ExamplesNote;
use super::images::{ImageNote, SamplesNote, pixel_format};
use super::integers::{IntegersNote, title};
use super::search::SearchNote;
use super::tables::TableNote;
use crate::error::{ContentError, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The size of an image, for people.
fn pixels(width: u32, height: u32, channels: &str, depth: u32) -> String {
    format!("{width} x {height}, {channels}, {depth} bits a sample")
}

/// The size of a table, for people.
pub fn rows_and_columns(rows: u64, columns: usize) -> String {
    let s = |count: u64| if count == 1 { "" } else { "s" };
    format!("{rows} row{}, {columns} column{}", s(rows), s(columns as u64))
}

/// The kinds of content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Content {
    /// An image in tiles, for filters.
    Image(ImageNote),
    /// Columns of real numbers.
    Table(TableNote),
    /// An image sample by sample.
    Samples(SamplesNote),
    /// Columns of integers and of categories.
    Integers(IntegersNote),
    /// Columns of machine integers in digits: from version 6 on.
    Digits(DigitsNote),
    /// Examples of a model, or their outputs.
    Examples(ExamplesNote),
    /// Encrypted records, a query to them, or its answer.
    Search(SearchNote),
}

impl Content {
    /// For programs: as it is in the file, without the bytes of a colour profile.
    pub fn json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.remove("profile");
        }
        value
    }

    /// Slots of each vector, of `full` there are.
    pub fn slots(&self, full: usize) -> usize {
        match self {
            Self::Table(table) => table.slots as usize,
            _ => full,
        }
    }

    /// The largest batch.
    pub fn batch(&self) -> usize {
        (match self {
            Self::Image(image) => image.batch,
            Self::Table(table) => table.batch,
            Self::Samples(image) => image.batch,
            Self::Integers(table) => table.batch,
            Self::Digits(note) => return note.digits(),
            Self::Examples(note) => note.batch,
            Self::Search(_) => 1,
        }) as usize
    }

    /// The number of values that it holds: samples of pixels, or fields of a table.
    pub fn values(&self) -> u64 {
        let samples = |width, height, channels: &str| {
            let count = pixel_format(channels, 8).map_or(0, |(channels, _)| channels.count());
            u64::from(width) * u64::from(height) * count as u64
        };
        match self {
            Self::Image(note) => samples(note.width, note.height, &note.channels),
            Self::Table(note) => note.rows * note.columns.len() as u64,
            Self::Samples(note) => samples(note.width, note.height, &note.channels),
            Self::Integers(note) => note.rows * note.columns.len() as u64,
            Self::Digits(note) => note.values(),
            Self::Examples(note) => note.examples.saturating_mul(note.numbers),
            Self::Search(note) => note.records().saturating_mul(note.plan.dimension.into()),
        }
    }

    /// Its size, for people.
    pub fn shape(&self) -> String {
        match self {
            Self::Image(note) => pixels(note.width, note.height, &note.channels, note.depth),
            Self::Table(note) => rows_and_columns(note.rows, note.columns.len()),
            Self::Samples(note) => pixels(note.width, note.height, &note.channels, note.depth),
            Self::Integers(note) => rows_and_columns(note.rows, note.columns.len()),
            Self::Digits(note) => {
                format!("{}, {}", rows_and_columns(note.rows, note.columns.len()), note.width_text())
            }
            Self::Examples(note) => note.shape(),
            Self::Search(note) => note.shape(),
        }
    }

    /// With its article, as a person calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Image(_) | Self::Samples(_) => "an encrypted image",
            Self::Table(_) | Self::Integers(_) => "an encrypted table",
            Self::Digits(_) => "an encrypted table in digits",
            Self::Examples(_) => "encrypted examples of a model",
            Self::Search(_) => "a part of an encrypted search",
        }
    }

    /// The batches in the order of the file: the number of the channel or column that each is of,
    /// or of the vector that columns share, and its size.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn batches(&self, full: usize) -> Result<Box<dyn Iterator<Item = (usize, usize)> + Send + '_>> {
        fn cut(part: usize, vectors: usize, batch: u32) -> impl Iterator<Item = (usize, usize)> + Send {
            let batch = batch as usize;
            (0..vectors).step_by(batch).map(move |start| (part, batch.min(vectors - start)))
        }
        Ok(match self {
            Self::Image(note) => {
                let (layout, channels) = (note.layout(full)?, note.format()?.0.count());
                let (bands, vectors) = (layout.bands(), layout.vectors_per_band());
                let band = move |_| (0..channels).flat_map(move |c| cut(c, vectors, note.batch));
                Box::new((0..bands).flat_map(band))
            }
            Self::Table(note) => {
                if let Some(places) = note.places() {
                    return Ok(Box::new((0..places.vectors.len()).map(|vector| (vector, 1))));
                }
                let vectors = note.rows.div_ceil(note.slots) as usize;
                Box::new((0..note.columns.len()).flat_map(move |c| cut(c, vectors, note.batch)))
            }
            Self::Samples(note) => {
                let (vectors, channels) = (note.pixels().div_ceil(full), note.format()?.0.count());
                Box::new((0..channels).flat_map(move |c| cut(c, vectors, note.batch)))
            }
            Self::Integers(note) => {
                if let Some(places) = note.places(full) {
                    return Ok(Box::new((0..places.vectors.len()).map(|vector| (vector, 1))));
                }
                let vectors = move |c: usize| note.columns[c].vectors(note.rows, full);
                Box::new((0..note.columns.len()).flat_map(move |c| cut(c, vectors(c), note.batch)))
            }
            Self::Digits(note) => {
                let frames = move |column| (0..note.vectors(full)).map(move |_| (column, note.digits()));
                Box::new((0..note.columns.len()).flat_map(frames))
            }
            Self::Examples(note) => {
                let parts = note.parts as usize;
                let batches = cut(0, note.groups(), note.batch);
                Box::new(batches.flat_map(move |(_, count)| (0..parts).map(move |part| (part, count))))
            }
            Self::Search(note) => Box::new((0..note.ciphertexts as usize).map(|part| (part, 1))),
        })
    }

    /// The vectors of all batches.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn vectors(&self, full: usize) -> Result<u64> {
        Ok(self.batches(full)?.map(|(_, count)| count as u64).sum())
    }

    /// A bound on the magnitude of the real numbers of a channel or column, or of all columns if
    /// they share vectors.
    pub fn bound(&self, part: usize) -> f64 {
        let widest = |low: f64, high: f64| low.abs().max(high.abs());
        match self {
            // A slot holds two values, as its real and imaginary parts.
            Self::Image(note) => widest(note.low, note.high) * std::f64::consts::SQRT_2,
            Self::Table(note) if note.packed.is_some() => note.largest() as f64,
            Self::Table(note) => note.columns.get(part).map_or(0.0, |column| column.count as f64),
            Self::Samples(note) => widest(note.low as f64, note.high as f64),
            Self::Integers(note) => {
                note.columns.get(part).map_or(0.0, |column| widest(column.low as f64, column.high as f64))
            }
            Self::Digits(note) => {
                if note.is_conditions() {
                    1.0
                } else {
                    15.0
                }
            }
            // Values are divided by their greatest magnitude.
            Self::Examples(_) | Self::Search(_) => 1.0,
        }
    }
}

/// Checks that all numbers are distinct modulo t.
///
/// # Errors
/// They may not be distinct.
pub fn check_range(t: u64, content: &Content) -> Result<()> {
    let check = |what: &str, low: i64, high: i64| {
        if i128::from(high) - i128::from(low) < i128::from(t) {
            return Ok(());
        }
        Err(ContentError::Modulus { what: what.to_owned(), low, high, t }.into())
    };
    match content {
        // Opacity is unchanged.
        Content::Samples(note) => {
            let peak = note.format().map_or(0, |(_, depth)| i64::from(depth.peak()));
            check("samples", note.low.min(0), note.high.max(peak))
        }
        Content::Integers(note) => note.columns.iter().enumerate().try_for_each(|(i, column)| {
            check(&format!("numbers of column {}", title(column, i)), column.low, column.high)
        }),
        Content::Image(_)
        | Content::Table(_)
        | Content::Digits(_)
        | Content::Examples(_)
        | Content::Search(_) => Ok(()),
    }
}
