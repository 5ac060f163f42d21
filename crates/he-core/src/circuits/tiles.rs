//! Images in slots, as tiles with a halo.

use crate::error::{Error, Result};
use num_complex::Complex64;
use std::ops::Range;

/// The way in which tiles share a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// One tile, in the real parts, as is necessary to multiply images.
    Real,
    /// Two neighbouring tiles, one in the real and one in the imaginary parts, which halves the
    /// ciphertexts for circuits that are linear over the reals. They lie side by side, or one above
    /// the other ([`TileSpec::stacked`]).
    Complex,
}

impl Packing {
    /// Tiles in one vector of slots.
    pub const fn tiles(self) -> usize {
        match self {
            Self::Real => 1,
            Self::Complex => 2,
        }
    }
}

/// A plain, unchecked description of a [`TileLayout`], as files hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSpec {
    /// The columns of the image.
    pub width: usize,
    /// The rows of the image.
    pub height: usize,
    /// The columns of a tile: a power of two.
    pub tile_w: usize,
    /// The rows of a tile: a power of two.
    pub tile_h: usize,
    /// The pixels on each side of a tile that repeat those of its neighbours.
    pub halo: usize,
    /// The pixels of the halo that filters have not consumed yet, counted from the useful part.
    pub halo_left: usize,
    /// The way in which tiles share a ciphertext.
    pub packing: Packing,
    /// Whether the two tiles of a complex vector lie one above the other, not side by side.
    pub stacked: bool,
}

/// The cut of an image into tiles of `tile_w` x `tile_h` slots, row by row.
///
/// The outer `halo` pixels of a tile repeat the neighbours' pixels (beyond the image: its nearest
/// pixel), so that the tiles' useful parts, (tile_w - 2 halo) x (tile_h - 2 halo), lie side by side
/// and cover the image. A filter of radius r is a sum of rotations of the whole tile: it needs no
/// mask, and the outermost r pixels, which it spoils, are halo. Every filter therefore consumes its
/// radius of the halo, and a sequence consumes the sum of the radii: [`halo_left`](Self::halo_left)
/// counts what remains, and [`after_filter`](Self::after_filter) gives the layout of the result.
/// The layouts for cutting the image and for reading the result differ in nothing else.
///
/// Two filters in sequence see the border as one filter with both radii does
/// ([`Kernel::then`](super::Kernel::then)): the image is continued only once, before the first.
///
/// A row of tiles, or two rows if the tiles of a vector are stacked, is a *band*. Images are packed
/// and unpacked band by band, so a large one is never in memory as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileLayout {
    spec: TileSpec,
}

impl TryFrom<TileSpec> for TileLayout {
    type Error = Error;

    /// [`Error::Argument`] for anything that is not a layout: sizes of 0 or beyond
    /// [`TileLayout::MAX_SIDE`], tiles that are not powers of two or are larger than
    /// [`TileLayout::MAX_SLOTS`], a halo that leaves nothing useful, real tiles that are stacked.
    fn try_from(spec: TileSpec) -> Result<Self> {
        check_size(spec.width, spec.height)?;
        let TileSpec { tile_w, tile_h, halo, halo_left, .. } = spec;
        for side in [tile_w, tile_h] {
            if !side.is_power_of_two() || side > Self::MAX_SLOTS {
                return Err(Error::domain("tile", format!("a side of {side}"), "a power of two is needed"));
            }
        }
        if tile_w > Self::MAX_SLOTS / tile_h {
            let limit = Self::MAX_SLOTS;
            return Err(Error::domain(
                "tile",
                format!("{tile_w} x {tile_h} slots"),
                format!("at most {limit} are possible"),
            ));
        }
        let smaller = tile_w.min(tile_h);
        if halo >= smaller.div_ceil(2) {
            return Err(Error::argument(
                "halo",
                format!("{halo} pixels leave nothing of a {tile_w} x {tile_h} tile"),
            ));
        }
        if halo_left > halo {
            return Err(Error::argument("halo", format!("{halo_left} of {halo} pixels cannot be left")));
        }
        if spec.stacked && spec.packing == Packing::Real {
            return Err(Error::domain("tile", "real tiles are stacked", "only two tiles of one vector are"));
        }
        Ok(Self { spec })
    }
}

fn check_size(width: usize, height: usize) -> Result<()> {
    let limit = TileLayout::MAX_SIDE;
    if !(1..=limit).contains(&width) || !(1..=limit).contains(&height) {
        return Err(Error::domain(
            "image",
            format!("{width} x {height} pixels"),
            format!("sides from 1 to {limit} are possible"),
        ));
    }
    Ok(())
}

impl TileLayout {
    /// The largest side of an image.
    pub const MAX_SIDE: usize = 1 << 16;
    /// The most slots of a tile.
    pub const MAX_SLOTS: usize = 1 << 16;

    /// Cuts an image into tiles of `slots` slots each, of the shape (and, for complex vectors, with
    /// the neighbours side by side or stacked) that gives the fewest vectors over the whole image.
    /// Among several, it prefers side by side over stacked, then the one nearest to a square, then
    /// wide over high. An image and its transpose take equally many vectors.
    ///
    /// # Errors
    /// [`Error::Argument`] for an impossible image size, a number of slots that is not a power of
    /// two, or a halo too large for any shape.
    pub fn new(width: usize, height: usize, slots: usize, halo: usize, packing: Packing) -> Result<Self> {
        check_size(width, height)?;
        if !slots.is_power_of_two() || slots > Self::MAX_SLOTS {
            return Err(Error::SlotCount { found: slots, capacity: Self::MAX_SLOTS });
        }
        let log_slots = slots.ilog2();
        let spec = |log_w: u32, stacked: bool| {
            let (tile_w, tile_h) = (1 << log_w, slots >> log_w);
            TileSpec { width, height, tile_w, tile_h, halo, halo_left: halo, packing, stacked }
        };
        (0..=log_slots)
            .flat_map(|log_w| [(log_w, false), (log_w, true)])
            .filter_map(|(log_w, stacked)| Some((log_w, Self::try_from(spec(log_w, stacked)).ok()?)))
            .min_by_key(|(log_w, layout)| {
                (layout.vectors(), layout.spec.stacked, (2 * log_w).abs_diff(log_slots), log_slots - log_w)
            })
            .map(|(_, layout)| layout)
            .ok_or_else(|| {
                let most = ((1usize << (log_slots / 2)) - 1) / 2;
                Error::domain(
                    "halo",
                    format!("{halo} pixels do not fit tiles of {slots} slots, {most} do"),
                    "use a smaller filter or parameters with more slots",
                )
            })
    }

    /// The plain description.
    pub fn spec(&self) -> TileSpec {
        self.spec
    }

    /// The columns of the image.
    pub fn width(&self) -> usize {
        self.spec.width
    }

    /// The rows of the image.
    pub fn height(&self) -> usize {
        self.spec.height
    }

    /// The columns of a tile.
    pub fn tile_w(&self) -> usize {
        self.spec.tile_w
    }

    /// The rows of a tile.
    pub fn tile_h(&self) -> usize {
        self.spec.tile_h
    }

    /// The slots of a tile.
    pub fn slots(&self) -> usize {
        self.spec.tile_w * self.spec.tile_h
    }

    /// The pixels on each side of a tile that repeat those of its neighbours.
    pub fn halo(&self) -> usize {
        self.spec.halo
    }

    /// The radius of filters that can still be applied.
    pub fn halo_left(&self) -> usize {
        self.spec.halo_left
    }

    /// The way in which tiles share a ciphertext.
    pub fn packing(&self) -> Packing {
        self.spec.packing
    }

    /// The columns of a tile's useful part.
    pub fn useful_w(&self) -> usize {
        self.spec.tile_w - 2 * self.spec.halo
    }

    /// The rows of a tile's useful part.
    pub fn useful_h(&self) -> usize {
        self.spec.tile_h - 2 * self.spec.halo
    }

    /// The rows of tiles in a band.
    fn tile_rows(&self) -> usize {
        if self.spec.stacked { 2 } else { 1 }
    }

    /// The number of tiles side by side.
    fn tile_columns(&self) -> usize {
        self.width().div_ceil(self.useful_w())
    }

    /// The rows of a band's useful part.
    fn band_h(&self) -> usize {
        self.tile_rows() * self.useful_h()
    }

    /// Bands.
    pub fn bands(&self) -> usize {
        self.height().div_ceil(self.band_h())
    }

    /// The number of tiles in a band; the lower ones of stacked tiles may lie below the image.
    pub fn tiles_per_band(&self) -> usize {
        self.tile_rows() * self.tile_columns()
    }

    /// The vectors of slots in a band, which are its batch.
    pub fn vectors_per_band(&self) -> usize {
        self.tiles_per_band().div_ceil(self.packing().tiles())
    }

    /// The vectors of slots of the whole image.
    pub fn vectors(&self) -> usize {
        self.bands() * self.vectors_per_band()
    }

    /// The vector of a tile, by its column and row in the band, and whether it lies in the
    /// imaginary parts.
    fn place(&self, column: usize, row: usize) -> (usize, bool) {
        match self.packing() {
            Packing::Real => (column, false),
            Packing::Complex if self.spec.stacked => (column, row == 1),
            Packing::Complex => (column / 2, column % 2 == 1),
        }
    }

    /// The layout after a filter of this radius, which leaves that much less halo.
    ///
    /// # Errors
    /// [`Error::Argument`] if less is left.
    pub fn after_filter(&self, radius: usize) -> Result<Self> {
        let left = self.halo_left();
        let halo_left = left.checked_sub(radius).ok_or_else(|| {
            Error::domain(
                "halo",
                format!(
                    "a filter of radius {radius} needs as many pixels around each tile and {left} are left"
                ),
                "encrypt the image with a larger halo",
            )
        })?;
        Ok(Self { spec: TileSpec { halo_left, ..self.spec } })
    }

    fn check_band(&self, band: usize) -> Result<()> {
        let bands = self.bands();
        if band < bands {
            return Ok(());
        }
        Err(Error::argument("band", format!("number {band} of {bands} does not exist")))
    }

    /// The rows of the image that lie in a band.
    ///
    /// # Errors
    /// [`Error::Argument`] for a band that does not exist.
    pub fn useful_rows(&self, band: usize) -> Result<Range<usize>> {
        self.check_band(band)?;
        let start = band * self.band_h();
        Ok(start..(start + self.band_h()).min(self.height()))
    }

    /// The rows of the image that [`pack_band`](Self::pack_band) reads, including the halo, as far
    /// as the image goes.
    ///
    /// # Errors
    /// [`Error::Argument`] for a band that does not exist.
    pub fn rows_needed(&self, band: usize) -> Result<Range<usize>> {
        let start = self.useful_rows(band)?.start;
        Ok(start.saturating_sub(self.halo())..(start + self.band_h() + self.halo()).min(self.height()))
    }

    /// The vectors of a band, tiles from left to right. `read(y, row)` fills `row`, as wide as the
    /// image, with row y; it is called once for each of [`rows_needed`](Self::rows_needed), in
    /// ascending order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a band that does not exist.
    pub fn pack_band(
        &self,
        band: usize,
        mut read: impl FnMut(usize, &mut [f64]),
    ) -> Result<Vec<Vec<Complex64>>> {
        let start = self.useful_rows(band)?.start;
        let TileSpec { width, height, tile_w, tile_h, halo, .. } = self.spec;
        let (useful_w, useful_h, columns) = (self.useful_w(), self.useful_h(), self.tile_columns());
        let mut vectors = vec![vec![Complex64::ZERO; self.slots()]; self.vectors_per_band()];
        let (mut row, mut loaded) = (vec![0.0; width], None);
        // One row with its border on both sides; position x holds column x - halo.
        let mut padded = vec![0.0; columns * useful_w + 2 * halo];
        for r in 0..self.band_h() + 2 * halo {
            let y = (start + r).saturating_sub(halo).min(height - 1);
            if loaded != Some(y) {
                read(y, &mut row);
                padded[..halo].fill(row[0]);
                padded[halo..halo + width].copy_from_slice(&row);
                padded[halo + width..].fill(row[width - 1]);
                loaded = Some(y);
            }
            // The rows of the halo between two tiles belong to both.
            let tile_rows = (0..self.tile_rows()).filter_map(|at| Some((at, r.checked_sub(at * useful_h)?)));
            for (tile_row, r) in tile_rows.filter(|&(_, r)| r < tile_h) {
                for column in 0..columns {
                    let (vector, imaginary) = self.place(column, tile_row);
                    let source = &padded[column * useful_w..][..tile_w];
                    let target = &mut vectors[vector][r * tile_w..][..tile_w];
                    for (slot, &value) in target.iter_mut().zip(source) {
                        *part(slot, imaginary) = value;
                    }
                }
            }
        }
        Ok(vectors)
    }

    /// The useful parts of a band's vectors: `write(y, row)` gets each row of the image that lies
    /// in the band, in ascending order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a band that does not exist, another number of vectors or vectors of
    /// another length.
    pub fn unpack_band(
        &self,
        band: usize,
        vectors: &[Vec<Complex64>],
        mut write: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let rows = self.useful_rows(band)?;
        let (found, needed, slots) = (vectors.len(), self.vectors_per_band(), self.slots());
        if found != needed {
            return Err(Error::argument("band", format!("{found} vectors given, its tiles fill {needed}")));
        }
        if let Some(vector) = vectors.iter().find(|vector| vector.len() != slots) {
            return Err(Error::argument(
                "band",
                format!("a vector of {} slots, tiles have {slots}", vector.len()),
            ));
        }
        let TileSpec { tile_w, halo, .. } = self.spec;
        let mut row = vec![0.0; self.width()];
        for (r, y) in rows.enumerate() {
            let (tile_row, r) = (r / self.useful_h(), r % self.useful_h());
            for (column, target) in row.chunks_mut(self.useful_w()).enumerate() {
                let (vector, imaginary) = self.place(column, tile_row);
                let source = &vectors[vector][(r + halo) * tile_w + halo..];
                for (value, &slot) in target.iter_mut().zip(source) {
                    let mut slot = slot;
                    *value = *part(&mut slot, imaginary);
                }
            }
            write(y, &row);
        }
        Ok(())
    }
}

/// The part of a slot that holds the value of a tile.
fn part(slot: &mut Complex64, imaginary: bool) -> &mut f64 {
    if imaginary { &mut slot.im } else { &mut slot.re }
}

#[cfg(test)]
mod tests {
    use super::super::testing::seeded;
    use super::*;
    use rand::RngExt;

    /// The value that a slot must hold: the pixel, or the nearest one of the image.
    fn check_round_trip(layout: &TileLayout, image: &[f64]) {
        let (width, height, halo) = (layout.width(), layout.height(), layout.halo());
        let mut back = vec![f64::NAN; image.len()];
        for band in 0..layout.bands() {
            let mut asked = Vec::new();
            let vectors = layout
                .pack_band(band, |y, row| {
                    asked.push(y);
                    row.copy_from_slice(&image[y * width..][..width]);
                })
                .unwrap();
            assert_eq!(asked, layout.rows_needed(band).unwrap().collect::<Vec<_>>(), "{layout:?}");
            let tile_rows = if layout.spec().stacked { 2 } else { 1 };
            let columns = layout.tiles_per_band() / tile_rows;
            for (tile_row, column) in (0..tile_rows).flat_map(|row| (0..columns).map(move |x| (row, x))) {
                let tile = if tile_rows == 2 { 2 * column + tile_row } else { column };
                for slot in 0..layout.slots() {
                    let top = (band * tile_rows + tile_row) * layout.useful_h();
                    let y = (top + slot / layout.tile_w()) as i64 - halo as i64;
                    let x = (column * layout.useful_w() + slot % layout.tile_w()) as i64 - halo as i64;
                    let (y, x) = (y.clamp(0, height as i64 - 1), x.clamp(0, width as i64 - 1));
                    let found = vectors[tile / layout.packing().tiles()][slot];
                    let found =
                        if tile.is_multiple_of(layout.packing().tiles()) { found.re } else { found.im };
                    assert_eq!(found, image[y as usize * width + x as usize], "{layout:?} {tile} {slot}");
                }
            }
            layout
                .unpack_band(band, &vectors, |y, row| {
                    back[y * width..][..width].copy_from_slice(row);
                })
                .unwrap();
        }
        assert_eq!(back, image, "{layout:?}");
    }

    #[test]
    fn every_size_comes_back() {
        let mut rng = seeded();
        let sizes = [
            (1, 1),
            (1, 2),
            (2, 1),
            (1, 300),
            (300, 1),
            (3, 3),
            (7, 13),
            (16, 16),
            (17, 16),
            (33, 65),
            (100, 37),
        ];
        let random = (0..20).map(|_| (rng.random_range(1..90), rng.random_range(1..90))).collect::<Vec<_>>();
        for (width, height) in sizes.into_iter().chain(random) {
            let image: Vec<f64> = (0..width * height).map(|_| rng.random_range(0.0..1.0)).collect();
            for halo in 0..=3 {
                for slots in [1, 2, 64, 128, 1024] {
                    for packing in [Packing::Real, Packing::Complex] {
                        match TileLayout::new(width, height, slots, halo, packing) {
                            Ok(layout) => {
                                assert_eq!(layout.slots(), slots);
                                check_round_trip(&layout, &image);
                                assert_eq!(TileLayout::try_from(layout.spec()).unwrap(), layout);
                                // The other neighbours, too.
                                let stacked = packing == Packing::Complex && !layout.spec().stacked;
                                let other = TileSpec { stacked, ..layout.spec() };
                                check_round_trip(&TileLayout::try_from(other).unwrap(), &image);
                            }
                            Err(error) => {
                                assert!(slots <= 2 && halo > 0, "{width} {height} {slots} {halo} {error}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn shapes_follow_the_image() {
        let shape = |width, height, slots, halo| {
            let layout = TileLayout::new(width, height, slots, halo, Packing::Complex).unwrap();
            (layout.tile_w(), layout.tile_h(), layout.bands() * layout.vectors_per_band())
        };
        assert_eq!(shape(512, 512, 8192, 1), (64, 128, 25));
        assert_eq!(shape(1, 8192, 8192, 0), (1, 8192, 1));
        assert_eq!(shape(16384, 1, 8192, 0), (8192, 1, 1));
        assert_eq!(shape(1, 1, 8192, 3), (128, 64, 1));
        assert_eq!(shape(128, 64, 8192, 0), (128, 64, 1));
    }

    #[test]
    fn turned_images_take_as_many_vectors() {
        let mut rng = seeded();
        let narrow = [(1, 5000), (10, 4000), (40, 4000), (62, 9000), (130, 131), (3, 20), (1000, 4000)];
        let random = (0..300).map(|_| (rng.random_range(1..400), rng.random_range(1..6000)));
        for (width, height) in narrow.into_iter().chain(random) {
            for (slots, halo) in [(4096, 2), (4096, 0), (8192, 1), (16384, 9), (1024, 5)] {
                for packing in [Packing::Real, Packing::Complex] {
                    let layout = |w, h| TileLayout::new(w, h, slots, halo, packing).unwrap();
                    let (tall, flat) = (layout(width, height), layout(height, width));
                    let what = format!("{width} x {height}, {slots} slots, halo {halo}, {packing:?}");
                    assert_eq!(tall.vectors(), flat.vectors(), "{what}");
                    // No other shape takes fewer, and none can take fewer than its useful part
                    // allows.
                    let shapes = (0..=slots.ilog2()).flat_map(|bit| [(bit, false), (bit, true)]);
                    let all = shapes.filter_map(|(bit, stacked)| {
                        let (tile_w, tile_h) = (1 << bit, slots >> bit);
                        TileLayout::try_from(TileSpec { tile_w, tile_h, stacked, ..tall.spec() }).ok()
                    });
                    assert_eq!(all.map(|layout| layout.vectors()).min(), Some(tall.vectors()), "{what}");
                    let pixels = packing.tiles() * tall.useful_w() * tall.useful_h();
                    assert!(tall.vectors() * pixels >= width * height, "{what}");
                }
            }
        }
        // The image is one tile wide, and two tiles share a vector all the same.
        let vectors = |w, h| TileLayout::new(w, h, 4096, 2, Packing::Complex).unwrap().vectors();
        assert_eq!((vectors(10, 4000), vectors(4000, 10)), (8, 8));
    }

    #[test]
    fn a_large_image_is_only_arithmetic() {
        let side = TileLayout::MAX_SIDE;
        let layout = TileLayout::new(side, side, 1 << 15, 3, Packing::Complex).unwrap();
        let last = layout.bands() - 1;
        assert_eq!(layout.useful_rows(last).unwrap().end, side);
        assert!(layout.rows_needed(layout.bands()).is_err());
        // Two rows of tiles of a 24-megapixel photograph are far smaller than the photograph.
        let photo = TileLayout::new(6000, 4000, 8192, 2, Packing::Complex).unwrap();
        assert!(photo.vectors_per_band() * photo.slots() < 6000 * 4000 / 10);
    }

    #[test]
    fn hostile_descriptions_are_refused() {
        let good = TileSpec {
            width: 10,
            height: 10,
            tile_w: 8,
            tile_h: 16,
            halo: 3,
            halo_left: 1,
            packing: Packing::Complex,
            stacked: false,
        };
        assert!(TileLayout::try_from(good).is_ok());
        for bad in [
            TileSpec { width: 0, ..good },
            TileSpec { height: 0, ..good },
            TileSpec { width: (1 << 16) + 1, ..good },
            TileSpec { height: usize::MAX, ..good },
            TileSpec { tile_w: 0, ..good },
            TileSpec { tile_w: 12, ..good },
            TileSpec { tile_w: 1 << 63, tile_h: 2, halo: 0, halo_left: 0, ..good },
            TileSpec { tile_w: 1 << 10, tile_h: 1 << 10, ..good },
            TileSpec { halo: 4, ..good },
            TileSpec { halo: usize::MAX, halo_left: 0, ..good },
            TileSpec { halo_left: 4, ..good },
            TileSpec { packing: Packing::Real, stacked: true, ..good },
        ] {
            assert!(matches!(TileLayout::try_from(bad), Err(Error::Argument { .. })), "{bad:?}");
        }
        assert!(TileLayout::new(10, 10, 48, 0, Packing::Real).is_err());
        assert!(TileLayout::new(10, 10, 0, 0, Packing::Real).is_err());
        let error = TileLayout::new(10, 10, 128, 4, Packing::Real).unwrap_err().to_string();
        assert!(error.contains("4 pixels do not fit tiles of 128 slots, 3 do"), "{error}");
        let layout = TileLayout::try_from(good).unwrap();
        assert!(layout.unpack_band(0, &[], |_, _| ()).is_err());
        let short = vec![vec![Complex64::ZERO; 127]; layout.vectors_per_band()];
        assert!(layout.unpack_band(0, &short, |_, _| ()).is_err());
    }

    #[test]
    fn filters_consume_the_halo() {
        let layout = TileLayout::new(10, 10, 256, 3, Packing::Real).unwrap();
        let after = layout.after_filter(2).unwrap();
        assert_eq!((after.halo(), after.halo_left(), after.useful_w()), (3, 1, layout.useful_w()));
        let error = after.after_filter(2).unwrap_err().to_string();
        assert!(error.contains("radius 2") && error.contains("1 are left"), "{error}");
    }
}
