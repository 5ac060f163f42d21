//! What the application says about an encrypted file or a key, in the attachment frame behind the parameters.

use crate::core_error::DAMAGED;
use crate::error::{CliError, Result};
use crate::picture::{Channels, Depth, check_size};
use he_core::circuits::{Packing, TileLayout, TileSpec};
use he_core::ckks::CkksParams;
use he_core::wire::{Frame, FrameKind};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Largest batch in a file.
const MAX_BATCH: u32 = 64;
/// Exponents of columns: those of every number, and room for what results take.
pub const EXPONENT: RangeInclusive<i32> = -1100..=1100;
/// Bits of precision of a table.
const PRECISION: RangeInclusive<f64> = -200.0..=200.0;

/// Sixteen random bytes, in hexadecimal, that the keys of one `keygen` and all that was encrypted with them share: parameters alone
/// do not tell one person's keys from another's.
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

    /// What people see: the first eight digits.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or_default()
    }
}

/// What a key file says besides the key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNote {
    /// The key set.
    pub key_id: KeyId,
}

/// What an encrypted file says besides its ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// The key set.
    pub key_id: KeyId,
    /// What was computed, oldest first.
    pub history: Vec<String>,
    /// The content.
    pub content: Content,
}

/// The kinds of content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Content {
    /// An image.
    Image(ImageNote),
    /// Columns of numbers.
    Table(TableNote),
}

impl Content {
    /// Slots of each vector.
    pub fn slots(&self, params: &CkksParams) -> usize {
        match self {
            Self::Image(_) => params.slots(),
            Self::Table(table) => table.slots as usize,
        }
    }

    /// The largest batch.
    pub fn batch(&self) -> usize {
        match self {
            Self::Image(image) => image.batch as usize,
            Self::Table(table) => table.batch as usize,
        }
    }
}

/// An encrypted image: bands of tiles, top to bottom; in a band, channel after channel; in a channel, tiles left to right, in batches.
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
    /// Ciphertexts in a full batch.
    pub batch: u32,
    /// Bounds of the light channels' values (black is 0, white is 1).
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl ImageNote {
    /// The geometry, checked against the parameters.
    ///
    /// # Errors
    /// A geometry that cannot be.
    pub fn layout(&self, params: &CkksParams) -> Result<TileLayout> {
        let layout = TileLayout::try_from(TileSpec {
            width: self.width as usize,
            height: self.height as usize,
            tile_w: self.tile_width as usize,
            tile_h: self.tile_height as usize,
            halo: self.halo as usize,
            halo_left: self.halo_left as usize,
            packing: Packing::Complex,
        })?;
        if layout.slots() != params.slots() {
            return Err(bad("tile size"));
        }
        Ok(layout)
    }

    /// Channels and depth.
    ///
    /// # Errors
    /// There are none such.
    pub fn format(&self) -> Result<(Channels, Depth)> {
        let all = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];
        let channels = all
            .into_iter()
            .find(|channels| channels.name() == self.channels)
            .ok_or_else(|| bad("kind of pixels"))?;
        let depths = [Depth::Eight, Depth::Sixteen];
        let depth =
            depths.into_iter().find(|depth| depth.bits() == self.depth).ok_or_else(|| bad("depth"))?;
        Ok((channels, depth))
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
    /// The columns.
    pub columns: Vec<ColumnNote>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnNote {
    /// Its name, if the table has a header.
    pub name: Option<String>,
    /// Values are the encrypted ones times 2^exponent, so that those are at most one: public.
    pub exponent: i32,
    /// ... and times this whole number: the count behind a sum.
    pub count: u64,
}

fn bad(what: &str) -> CliError {
    CliError::new(format!("the description of the file holds an impossible {what}"))
        .hint("get an undamaged copy of the file, or a newer he-cli")
}

/// A description as an attachment.
///
/// # Errors
/// It is too long: a table with very many columns.
pub fn to_frame(params: &CkksParams, note: &impl Serialize) -> Result<Frame> {
    let bytes = serde_json::to_vec(note).map_err(|_| bad("value"))?;
    if bytes.len() as u64 > Frame::MAX_ATTACHMENT {
        return Err(CliError::new("the names and scales of the columns do not fit the encrypted file")
            .hint("cut the table into parts of fewer columns"));
    }
    Ok(Frame::attachment(params.fingerprint(), bytes)?)
}

/// What the attachment behind the parameters says.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Note {
    /// The file is a key.
    Key(KeyNote),
    /// The file is encrypted content.
    Payload(Payload),
}

impl Note {
    /// From its frame, every number of it checked.
    ///
    /// # Errors
    /// It is none, or holds impossible numbers.
    pub fn from_frame(params: &CkksParams, frame: &Frame) -> Result<Self> {
        if frame.kind != FrameKind::Attachment || frame.fingerprint != params.fingerprint() {
            return Err(CliError::new("the description of the file is missing").hint(DAMAGED));
        }
        let note: Self = serde_json::from_slice(&frame.body).map_err(|_| bad("field"))?;
        match &note {
            Self::Key(note) => note.key_id.check()?,
            Self::Payload(payload) => payload.check(params)?,
        }
        Ok(note)
    }
}

impl Payload {
    fn check(&self, params: &CkksParams) -> Result<()> {
        self.key_id.check()?;
        match &self.content {
            Content::Image(image) => {
                check_size(image.width, image.height).map_err(|_| bad("size"))?;
                image.layout(params).map_err(|_| bad("tile or halo"))?;
                image.format()?;
                if !(1..=MAX_BATCH).contains(&image.batch) {
                    return Err(bad("batch"));
                }
                if !(image.low <= image.high && image.low.is_finite() && image.high.is_finite()) {
                    return Err(bad("range of values"));
                }
            }
            Content::Table(table) => {
                let values = table.rows.checked_mul(table.columns.len() as u64);
                if values.is_none_or(|v| v == 0 || v > crate::table::MAX_VALUES as u64)
                    || !(1..=MAX_BATCH).contains(&table.batch)
                {
                    return Err(bad("number of rows or batch"));
                }
                if !table.slots.is_power_of_two() || table.slots > params.slots() as u64 {
                    return Err(bad("number of slots"));
                }
                let exponents = |column: &ColumnNote| EXPONENT.contains(&column.exponent) && column.count > 0;
                if !table.columns.iter().all(exponents) || !PRECISION.contains(&table.precision_bits) {
                    return Err(bad("column"));
                }
            }
        }
        Ok(())
    }
}
