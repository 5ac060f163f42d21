//! What the application says about an encrypted file or a key, in the attachment frame behind the
//! parameters.

use crate::contents::options::View;
use crate::contents::packing::Places;
use crate::data::picture::metadata::{Metadata, Profile, Resolution};
use crate::data::picture::{Channels, Depth, check_size};
use crate::data::table::header::HeaderGuess;
use crate::error::{ContentError, Error, NoteError, Result};
use he_core::KeySetId;
use he_core::circuits::{Packing, TileLayout, TileSpec};
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameKind};
use rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::RangeInclusive;

/// The largest batch in a file.
const MAX_BATCH: u32 = 64;
/// Exponents of columns: those of every number, and room for what results take.
pub const EXPONENT: RangeInclusive<i32> = -1100..=1100;
/// Bits of precision of a table.
const PRECISION: RangeInclusive<f64> = -200.0..=200.0;

/// Sixteen random bytes, in hexadecimal, which are shared by the keys of one `keygen` and
/// everything that was encrypted with them: parameters alone do not distinguish the keys of two
/// people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// A fresh one.
    pub fn random(rng: &mut impl Rng) -> Self {
        Self(format!("{:032x}", (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64())))
    }

    fn check(&self) -> Result<()> {
        if self.0.len() == 32 && self.0.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(())
        } else {
            Err(bad("key id"))
        }
    }

    /// The form that the library compares: the same sixteen bytes, of an id that was checked.
    pub fn key_set(&self) -> Option<KeySetId> {
        self.0.parse().ok()
    }

    /// The form for people: the first eight digits.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or_default()
    }
}

/// The information in a key file besides the key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNote {
    /// The key set.
    pub key_id: KeyId,
}

/// The information in an encrypted file besides its ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload<C = Content> {
    /// The key set.
    pub key_id: KeyId,
    /// The operations that were computed, the oldest first.
    pub history: Vec<String>,
    /// The content.
    pub content: C,
}

impl<C> Payload<C> {
    /// The description of the result of an operation.
    pub fn after(&self, operation: &str, content: C) -> Self {
        let mut history = self.history.clone();
        history.push(operation.to_owned());
        Self { key_id: self.key_id.clone(), history, content }
    }
}

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
        }) as usize
    }

    /// How many numbers it holds: samples of pixels, or fields of a table.
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
        }
    }

    /// Its size, for people.
    pub fn shape(&self) -> String {
        match self {
            Self::Image(note) => pixels(note.width, note.height, &note.channels, note.depth),
            Self::Table(note) => rows_and_columns(note.rows, note.columns.len()),
            Self::Samples(note) => pixels(note.width, note.height, &note.channels, note.depth),
            Self::Integers(note) => rows_and_columns(note.rows, note.columns.len()),
        }
    }

    /// With its article, as a person calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Image(_) | Self::Samples(_) => "an encrypted image",
            Self::Table(_) | Self::Integers(_) => "an encrypted table",
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
        })
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
        }
    }
}

/// An encrypted image of schemes without filters: channel after channel, in each the samples row by
/// row from the top, in vectors of all slots, in batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplesNote {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Samples of a pixel, as of an image in tiles.
    pub channels: String,
    /// Bits in a sample.
    pub depth: u32,
    /// Vectors in a full batch.
    pub batch: u32,
    /// The number that white stands for: 1, or the largest sample, or of a product the product of
    /// those.
    pub white: u64,
    /// Bounds of the light channels' numbers.
    pub low: i64,
    /// The upper one.
    pub high: i64,
    /// The ICC profile of the picture, if it had one: public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Its pixels per length, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

impl SamplesNote {
    /// Pixels of the image.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Channels and depth.
    ///
    /// # Errors
    /// There are no such channels or depth.
    pub fn format(&self) -> Result<(Channels, Depth)> {
        pixel_format(&self.channels, self.depth)
    }

    /// What the picture's file says beside.
    pub fn metadata(&self) -> Metadata {
        Metadata { profile: self.profile.clone(), resolution: self.resolution }
    }

    /// Channels and depth of the picture that comes back: raw numbers beyond 8 bits take 16.
    ///
    /// # Errors
    /// There are no such channels or depth.
    pub fn shown(&self, view: View) -> Result<(Channels, Depth)> {
        let (channels, depth) = self.format()?;
        // Where white is 1, numbers are so many whites.
        let step = if self.white == 1 { i64::from(depth.peak()) } else { 1 };
        let wide = view == View::Raw && self.high.saturating_mul(step) > i64::from(Depth::Eight.peak());
        Ok((channels, if wide { Depth::Sixteen } else { depth }))
    }

    /// Checks that all numbers are possible.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self) -> Result<()> {
        check_size(self.width, self.height).map_err(|_| bad("size"))?;
        let (_, depth) = self.format()?;
        if !(1..=MAX_BATCH).contains(&self.batch) {
            return Err(bad("batch"));
        }
        // 1, or a power of the largest sample.
        let mut white = self.white;
        while white > 1 && white.is_multiple_of(u64::from(depth.peak())) {
            white /= u64::from(depth.peak());
        }
        if white != 1 {
            return Err(bad("white"));
        }
        if !check_bounds(self.low, self.high) {
            return Err(bad("range of values"));
        }
        check_resolution(self.resolution)
    }
}

/// Encrypted columns of integers modulo t: column after column, in batches of vectors of all slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegersNote {
    /// Rows.
    pub rows: u64,
    /// Vectors in a full batch.
    pub batch: u32,
    /// Whether all rows were summed into one, which then stands in every row of the vector, or in
    /// the first of the column's block.
    pub summed: bool,
    /// Rows of the block that each column has in vectors that several share; none if every column
    /// has vectors of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<u64>,
    /// The columns.
    pub columns: Vec<IntegerColumnNote>,
    /// What the first row of the table was taken for, if that was not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderGuess>,
}

/// One column of integers, or of categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerColumnNote {
    /// Its name, if the table has a header.
    pub name: Option<String>,
    /// Least possible value: public.
    pub low: i64,
    /// Greatest possible value: public.
    pub high: i64,
    /// The categories, whose names are public. A row takes the next power of two of slots, of which
    /// the one of its category is 1 and the others are 0; once summed each slot is a count.
    pub categories: Option<Vec<String>>,
}

impl IntegerColumnNote {
    /// Slots that a row takes.
    pub fn stride(&self) -> usize {
        self.categories.as_ref().map_or(1, |names| names.len().next_power_of_two())
    }

    /// Rows that fit a vector of so many slots.
    pub fn rows_per_vector(&self, slots: usize) -> usize {
        slots / self.stride()
    }

    /// Vectors of so many rows.
    pub fn vectors(&self, rows: u64, slots: usize) -> usize {
        rows.div_ceil(self.rows_per_vector(slots) as u64) as usize
    }
}

impl IntegersNote {
    /// Where columns lie in vectors of so many slots, if several share one.
    pub fn places(&self, slots: usize) -> Option<Places> {
        let packed = self.packed? as usize;
        let kind = |column: &IntegerColumnNote| (column.categories.is_some(), column.stride());
        Some(Places::new(self.columns.iter().map(|column| (kind(column), packed * column.stride())), slots))
    }

    /// Checks that all numbers are possible, for vectors of this many slots.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, slots: usize) -> Result<()> {
        let values = self.rows.checked_mul(self.columns.len() as u64);
        if values.is_none_or(|v| v == 0 || v > crate::data::table::MAX_VALUES as u64)
            || !(1..=MAX_BATCH).contains(&self.batch)
        {
            return Err(bad("number of rows or batch"));
        }
        if let Some(packed) = self.packed {
            let fits = |column: &IntegerColumnNote| column.stride() as u64 <= slots as u64 / 2 / packed;
            check_packed(packed, self.rows, self.batch, slots as u64 / 2)?;
            if !self.columns.iter().all(fits) {
                return Err(bad("number of categories"));
            }
        }
        // Sums are of numbers, or of categories.
        let counts = self.columns.iter().filter(|column| column.categories.is_some()).count();
        if self.summed && (self.rows != 1 || counts != 0 && counts != self.columns.len()) {
            return Err(bad("sum"));
        }
        for column in &self.columns {
            // Sums over categories rotate rows of half of the slots.
            if column.categories.as_ref().is_some_and(|c| c.is_empty() || c.len() > slots / 2) {
                return Err(bad("number of categories"));
            }
            if !check_bounds(column.low, column.high) {
                return Err(bad("range of values"));
            }
        }
        Ok(())
    }
}

/// Blocks of a power of two of rows, that hold all rows and fit a vector.
fn check_packed(packed: u64, rows: u64, batch: u32, most: u64) -> Result<()> {
    if packed.is_power_of_two() && packed <= most && rows <= packed && batch == 1 {
        return Ok(());
    }
    Err(bad("layout of columns"))
}

/// Bounds in order, and not so wide that their difference has no number.
fn check_bounds(low: i64, high: i64) -> bool {
    low <= high && high.checked_sub(low).is_some()
}

fn check_resolution(resolution: Option<Resolution>) -> Result<()> {
    if resolution.is_none_or(|resolution| resolution.is_possible()) { Ok(()) } else { Err(bad("resolution")) }
}

fn pixel_format(channels: &str, depth: u32) -> Result<(Channels, Depth)> {
    let all = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];
    let channels =
        all.into_iter().find(|known| known.name() == channels).ok_or_else(|| bad("kind of pixels"))?;
    let depths = [Depth::Eight, Depth::Sixteen];
    let depth = depths.into_iter().find(|known| known.bits() == depth).ok_or_else(|| bad("depth"))?;
    Ok((channels, depth))
}

/// An encrypted image: bands of tiles, top to bottom; in a band, channel after channel; in a
/// channel, tiles left to right, in batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageNote {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Samples of a pixel: gray, gray-alpha, rgb, rgba.
    pub channels: String,
    /// Bits in a sample.
    pub depth: u32,
    /// Pixels of a tile, halo included.
    pub tile_width: u32,
    /// Rows of a tile, halo included.
    pub tile_height: u32,
    /// Pixels around the useful part of a tile.
    pub halo: u32,
    /// Pixels of the halo that filters have not used up.
    pub halo_left: u32,
    /// Whether the two tiles of a ciphertext lie one above the other, in two rows of tiles that
    /// make up a band, not side by side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
    /// Ciphertexts in a full batch.
    pub batch: u32,
    /// Bounds of the light channels' values (black is 0, white is 1).
    pub low: f64,
    /// The upper one.
    pub high: f64,
    /// The ICC profile of the picture, if it had one: public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Its pixels per length, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

impl ImageNote {
    /// The geometry, checked against the slots of a vector.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn layout(&self, slots: usize) -> Result<TileLayout> {
        let layout = TileLayout::try_from(TileSpec {
            width: self.width as usize,
            height: self.height as usize,
            tile_w: self.tile_width as usize,
            tile_h: self.tile_height as usize,
            halo: self.halo as usize,
            halo_left: self.halo_left as usize,
            packing: Packing::Complex,
            stacked: self.stacked,
        })?;
        if layout.slots() != slots {
            return Err(bad("tile size"));
        }
        Ok(layout)
    }

    /// Channels and depth.
    ///
    /// # Errors
    /// There are no such channels or depth.
    pub fn format(&self) -> Result<(Channels, Depth)> {
        pixel_format(&self.channels, self.depth)
    }

    /// What the picture's file says beside.
    pub fn metadata(&self) -> Metadata {
        Metadata { profile: self.profile.clone(), resolution: self.resolution }
    }

    /// Channels and depth of the picture that comes back: raw numbers beyond 8 bits take 16.
    ///
    /// # Errors
    /// There are no such channels or depth.
    pub fn shown(&self, view: View) -> Result<(Channels, Depth)> {
        let (channels, depth) = self.format()?;
        let wide = view == View::Raw && self.high * f64::from(depth.peak()) > f64::from(Depth::Eight.peak());
        Ok((channels, if wide { Depth::Sixteen } else { depth }))
    }

    /// Checks that all numbers are possible, for vectors of this many slots.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, slots: usize) -> Result<()> {
        check_size(self.width, self.height).map_err(|_| bad("size"))?;
        self.layout(slots).map_err(|_| bad("tile or halo"))?;
        self.format()?;
        if !(1..=MAX_BATCH).contains(&self.batch) {
            return Err(bad("batch"));
        }
        if !(self.low <= self.high && self.low.is_finite() && self.high.is_finite()) {
            return Err(bad("range of values"));
        }
        check_resolution(self.resolution)
    }
}

/// Encrypted columns: column after column, in batches of vectors of real slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableNote {
    /// Rows.
    pub rows: u64,
    /// Slots of a vector.
    pub slots: u64,
    /// Ciphertexts in a full batch.
    pub batch: u32,
    /// -log2 of six standard deviations of a value's error, before the column's exponent.
    pub precision_bits: f64,
    /// Slots of the block that each column has in vectors that several share; none if every column
    /// has vectors of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnNote>,
    /// What the first row of the table was taken for, if that was not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderGuess>,
}

impl TableNote {
    /// Checks that all numbers are possible, for vectors of at most this many slots.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, slots: usize) -> Result<()> {
        let values = self.rows.checked_mul(self.columns.len() as u64);
        if values.is_none_or(|v| v == 0 || v > crate::data::table::MAX_VALUES as u64)
            || !(1..=MAX_BATCH).contains(&self.batch)
        {
            return Err(bad("number of rows or batch"));
        }
        if !self.slots.is_power_of_two() || self.slots > slots as u64 {
            return Err(bad("number of slots"));
        }
        if let Some(packed) = self.packed {
            check_packed(packed, self.rows, self.batch, self.slots)?;
        }
        let possible = |column: &ColumnNote| {
            EXPONENT.contains(&column.exponent)
                && column.count > 0
                && column.offset.is_finite()
                && PRECISION.contains(&self.bits(column))
        };
        if !self.columns.iter().all(possible) || !PRECISION.contains(&self.precision_bits) {
            return Err(bad("column"));
        }
        Ok(())
    }

    /// Where columns lie, if several share a vector.
    pub fn places(&self) -> Option<Places> {
        let packed = self.packed? as usize;
        Some(Places::new(self.columns.iter().map(|_| ((), packed)), self.slots as usize))
    }

    /// A bound on the magnitudes of all columns.
    pub fn largest(&self) -> u64 {
        self.columns.iter().map(|column| column.count).max().unwrap_or(1)
    }

    /// Bits of precision of a column's values, before its exponent.
    pub fn bits(&self, column: &ColumnNote) -> f64 {
        column.precision_bits.unwrap_or(self.precision_bits)
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnNote {
    /// Its name, if the table has a header.
    pub name: Option<String>,
    /// Values are the encrypted ones times 2^exponent, and more by the offset: public.
    pub exponent: i32,
    /// A bound on the magnitude of the encrypted ones: 1 when fresh, the number of rows in a sum.
    pub count: u64,
    /// What values exceed the encrypted ones times 2^exponent by: public. Not zero in columns that
    /// lie far from zero beside their spread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// -log2 of six standard deviations of a value's error, before the exponent, where it differs
    /// from the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_bits: Option<f64>,
}

impl ColumnNote {
    /// The offset in units of 2^exponent.
    pub fn shift(&self) -> f64 {
        scale(self.offset, -self.exponent)
    }
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// x 2^exponent without overflow on the way.
pub fn scale(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * f64::from(half).exp2() * f64::from(exponent - half).exp2()
}

/// What the product or another mix of two columns is called.
pub fn pair_name(a: &Option<String>, b: &Option<String>) -> Option<String> {
    Some(format!("{} {}", a.as_ref()?, b.as_ref()?))
}

/// The description holds something that cannot be.
pub fn bad(what: &'static str) -> Error {
    NoteError::Impossible { what }.into()
}

/// A description as an attachment.
///
/// # Errors
/// The description is too long, because the table has very many columns.
pub fn to_frame(fingerprint: Fingerprint, note: &impl Serialize) -> Result<Frame> {
    let bytes = serde_json::to_vec(note).map_err(|_| bad("value"))?;
    if bytes.len() as u64 > Frame::MAX_ATTACHMENT {
        return Err(NoteError::TooLong.into());
    }
    Ok(Frame::attachment(fingerprint, bytes)?)
}

/// What the attachment behind the parameters says.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Note<C = Content> {
    /// The file is a key.
    Key(KeyNote),
    /// The file is encrypted content.
    Payload(Payload<C>),
}

impl<C: DeserializeOwned> Note<C> {
    /// From its frame behind parameters of this fingerprint, the content checked.
    ///
    /// # Errors
    /// The frame is not a description, or holds impossible numbers.
    pub fn checked(
        fingerprint: Fingerprint,
        frame: &Frame,
        check: impl FnOnce(&C) -> Result<()>,
    ) -> Result<Self> {
        if frame.kind != FrameKind::Attachment || frame.fingerprint != fingerprint {
            return Err(NoteError::Missing.into());
        }
        let note: Self = serde_json::from_slice(&frame.body).map_err(|_| bad("field"))?;
        match &note {
            Self::Key(note) => note.key_id.check()?,
            Self::Payload(payload) => {
                payload.key_id.check()?;
                check(&payload.content)?;
            }
        }
        Ok(note)
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
        Content::Image(_) | Content::Table(_) => Ok(()),
    }
}

/// The name of a column for people, or its number from 1 on.
pub fn title(column: &IntegerColumnNote, index: usize) -> String {
    column.name.clone().unwrap_or_else(|| (index + 1).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// A file's key set and that of its objects are the same bytes, and nothing that is read meets
    /// objects of another set.
    #[test]
    fn ids_are_identities_of_the_library() {
        use crate::scheme::OfKeySet;
        use he_core::tfhe::{TfheSecretKey, presets};
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let (id, other) = (KeyId::random(rng), KeyId::random(rng));
        assert_eq!(id.key_set().map(|id| id.to_string()), Some(id.0.clone()));
        assert_eq!(KeyId("x".repeat(32)).key_set(), None);
        let params = presets::insecure_small().expect("a preset");
        let secret = TfheSecretKey::generate(&params, rng).of(&id);
        assert_eq!(Some(secret.key_set()), id.key_set());
        let flags = secret.encrypt(&he_core::backend::Cpu::new(), &[0], rng).expect("a digit");
        let flags = he_core::tfhe::EncryptedFlags::from_ciphertexts(flags).of(&other);
        let refused = secret.decrypt_flags(&flags);
        assert!(matches!(refused, Err(he_core::Error::KeyMismatch { .. })));
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let column = ColumnNote { name: None, exponent: 0, count: 1, offset: 0.0, precision_bits: None };
        let table = |packed: Option<u64>, rows: u64, batch: u32| TableNote {
            rows,
            slots: 64,
            batch,
            precision_bits: 20.0,
            packed,
            columns: vec![column.clone(); 5],
            header: None,
        };
        assert!(table(Some(16), 16, 1).check(64).is_ok() && table(None, 1000, 64).check(64).is_ok());
        for (packed, rows, batch) in
            [(0, 1, 1), (3, 3, 1), (128, 3, 1), (16, 17, 1), (16, 16, 2), (u64::MAX, 1, 1)]
        {
            assert!(table(Some(packed), rows, batch).check(64).is_err(), "{packed}, {rows}, {batch}");
        }
        let offset = |offset| TableNote {
            columns: vec![ColumnNote { offset, ..column.clone() }],
            ..table(None, 1, 1)
        };
        assert!(offset(-1e300).check(64).is_ok() && offset(f64::NAN).check(64).is_err());
        let categories = |count: usize| Some((0..count).map(|i| i.to_string()).collect());
        let integers = |packed: u64, rows: u64, count: usize| IntegersNote {
            rows,
            batch: 1,
            summed: false,
            packed: Some(packed),
            columns: vec![
                IntegerColumnNote { name: None, low: 0, high: 1, categories: categories(count) },
                IntegerColumnNote { name: None, low: 0, high: 1, categories: None },
            ],
            header: None,
        };
        assert!(integers(8, 5, 4).check(64).is_ok());
        for (packed, rows, count) in [(8, 5, 5), (8, 9, 1), (0, 0, 1), (5, 5, 1), (64, 5, 1), (1 << 63, 5, 1)]
        {
            assert!(integers(packed, rows, count).check(64).is_err(), "{packed}, {rows}, {count}");
        }
    }

    #[test]
    fn old_descriptions_load_and_are_written_again() {
        let table = r#"{"type":"table","rows":2,"slots":2,"batch":64,"precision_bits":25.5,"columns":[{"name":"a","exponent":2,"count":1}]}"#;
        let integers = r#"{"type":"integers","rows":2,"batch":64,"summed":false,"columns":[{"name":null,"low":-4,"high":3,"categories":null}]}"#;
        for text in [table, integers] {
            let content: Content = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&content).unwrap(), text);
        }
        // Offsets come back to the last bit.
        for offset in [1e4, -0.1, 1.0 / 3.0, 12_345_678.901_234_567, f64::MAX, 5e-324] {
            let column =
                ColumnNote { name: None, exponent: 3, count: 1, offset, precision_bits: Some(offset) };
            let back: ColumnNote = serde_json::from_str(&serde_json::to_string(&column).unwrap()).unwrap();
            assert_eq!(back.offset.to_bits(), offset.to_bits());
        }
    }
}
