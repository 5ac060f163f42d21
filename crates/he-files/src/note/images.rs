//! Descriptions of encrypted images.

use super::{MAX_BATCH, bad, check_bounds};
use crate::contents::view::View;
use crate::data::picture::metadata::{Metadata, Profile, Resolution};
use crate::data::picture::{Channels, Depth, check_size};
use crate::error::Result;
use he_core::circuits::{Packing, TileLayout, TileSpec};
use serde::{Deserialize, Serialize};

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

    /// The metadata of the picture's file.
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

    /// The metadata of the picture's file.
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

fn check_resolution(resolution: Option<Resolution>) -> Result<()> {
    if resolution.is_none_or(|resolution| resolution.is_possible()) { Ok(()) } else { Err(bad("resolution")) }
}

pub(super) fn pixel_format(channels: &str, depth: u32) -> Result<(Channels, Depth)> {
    let all = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];
    let channels =
        all.into_iter().find(|known| known.name() == channels).ok_or_else(|| bad("kind of pixels"))?;
    let depths = [Depth::Eight, Depth::Sixteen];
    let depth = depths.into_iter().find(|known| known.bits() == depth).ok_or_else(|| bad("depth"))?;
    Ok((channels, depth))
}
