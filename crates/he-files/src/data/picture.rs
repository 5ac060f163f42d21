//! Pictures in memory: 8 or 16 bits, gray or colour, with or without alpha.
//!
//! The samples are kept as they were read, interleaved, in one allocation; computations take bands
//! of rows of one channel as real numbers in `[0, 1]`. [`decode`] and [`encode`] read and write
//! files, and [`mod@format`] says what the formats can hold. From a picture's [`metadata`], the ICC
//! profile and the resolution are kept; the EXIF orientation is applied when reading, and
//! everything else is dropped.

mod animation;
mod bmp;
pub mod decode;
pub mod encode;
pub mod format;
mod jpeg;
pub mod metadata;
mod orientation;
mod png;
mod tiff;
mod webp;

use crate::error::{Error, PictureError, Result};
use std::ops::Range;

pub use format::Format;

use self::metadata::Metadata;

/// The most pixels along one side.
pub const MAX_SIDE: u32 = 1 << 16;
/// The most pixels in total (256 Mpixel; 2 GiB as 16-bit RGBA).
pub const MAX_PIXELS: u64 = 1 << 28;

/// The meaning of a pixel's samples, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Luminance.
    Gray,
    /// Luminance and opacity.
    GrayAlpha,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, opacity.
    Rgba,
}

impl Channels {
    /// Samples in a pixel.
    pub fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    /// The channels with so many samples in a pixel.
    pub fn of_count(count: usize) -> Option<Self> {
        let all = [Self::Gray, Self::GrayAlpha, Self::Rgb, Self::Rgba];
        all.into_iter().find(|channels| channels.count() == count)
    }

    /// The names of the samples of a pixel, as names of columns of numbers.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Gray => &["gray"],
            Self::GrayAlpha => &["gray", "alpha"],
            Self::Rgb => &["red", "green", "blue"],
            Self::Rgba => &["red", "green", "blue", "alpha"],
        }
    }

    /// Whether the last sample is the opacity.
    pub fn has_alpha(self) -> bool {
        matches!(self, Self::GrayAlpha | Self::Rgba)
    }

    /// Number of samples that are light, without the opacity: 1 or 3.
    pub fn light(self) -> usize {
        self.count() - usize::from(self.has_alpha())
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gray => "gray",
            Self::GrayAlpha => "gray with alpha",
            Self::Rgb => "RGB",
            Self::Rgba => "RGBA",
        }
    }
}

/// Bits in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// 8 bits, peak 255.
    Eight,
    /// 16 bits, peak 65535.
    Sixteen,
}

impl Depth {
    /// Bits in a sample.
    pub fn bits(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// The largest sample: white.
    pub fn peak(self) -> u32 {
        (1 << self.bits()) - 1
    }
}

/// Interleaved samples, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Samples {
    /// 8-bit samples.
    Eight(Vec<u8>),
    /// 16-bit samples, native order.
    Sixteen(Vec<u16>),
}

impl Samples {
    fn len(&self) -> usize {
        match self {
            Self::Eight(s) => s.len(),
            Self::Sixteen(s) => s.len(),
        }
    }

    /// Fills up to this length with zeros.
    fn grow(&mut self, len: usize) {
        match self {
            Self::Eight(s) => s.resize(s.len().max(len), 0),
            Self::Sixteen(s) => s.resize(s.len().max(len), 0),
        }
    }
}

/// A picture. Its sides are at least 1, and within [`MAX_SIDE`] and [`MAX_PIXELS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    width: u32,
    height: u32,
    channels: Channels,
    samples: Samples,
    metadata: Metadata,
}

impl Picture {
    /// A picture from its samples.
    ///
    /// # Errors
    /// The size is outside the limits, or the number of samples is not `width * height * channels`.
    pub fn new(width: u32, height: u32, channels: Channels, samples: Samples) -> Result<Self> {
        let pixels = check_size(width, height)?;
        if samples.len() != pixels * channels.count() {
            return Err(PictureError::Samples {
                width,
                height,
                channels: channels.name(),
                expected: pixels * channels.count(),
                found: samples.len(),
            }
            .into());
        }
        Ok(Self { width, height, channels, samples, metadata: Metadata::default() })
    }

    /// The same picture with the metadata of its file.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// The metadata of its file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The samples of a pixel.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Bits in a sample.
    pub fn depth(&self) -> Depth {
        match self.samples {
            Samples::Eight(_) => Depth::Eight,
            Samples::Sixteen(_) => Depth::Sixteen,
        }
    }

    /// All samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Rows `rows` of one channel as real numbers in `[0, 1]` (sample / peak), row by row into
    /// `out`.
    ///
    /// # Panics
    /// If the channel or the rows are outside the picture, or `out` is not `rows * width` long.
    pub fn read_rows(&self, channel: usize, rows: Range<u32>, out: &mut [f64]) {
        let span = self.span(channel, &rows, out.len());
        let step = self.channels.count();
        match &self.samples {
            Samples::Eight(s) => {
                for (value, pixel) in out.iter_mut().zip(s[span].chunks_exact(step)) {
                    *value = f64::from(pixel[channel]) / 255.0;
                }
            }
            Samples::Sixteen(s) => {
                for (value, pixel) in out.iter_mut().zip(s[span].chunks_exact(step)) {
                    *value = f64::from(pixel[channel]) / 65535.0;
                }
            }
        }
    }

    /// Samples `range` of one channel, counted row by row from the top, as they are.
    ///
    /// # Panics
    /// If the channel or the range is outside the picture.
    pub fn samples_of(&self, channel: usize, range: Range<usize>) -> Vec<u16> {
        let step = self.channels.count();
        assert!(channel < step, "channel {channel} of a {} picture", self.channels.name());
        let span = range.start * step..range.end * step;
        match &self.samples {
            Samples::Eight(s) => s[span].chunks_exact(step).map(|pixel| u16::from(pixel[channel])).collect(),
            Samples::Sixteen(s) => s[span].chunks_exact(step).map(|pixel| pixel[channel]).collect(),
        }
    }

    /// The range of the samples of `rows`; checks the arguments of the accessors.
    fn span(&self, channel: usize, rows: &Range<u32>, len: usize) -> Range<usize> {
        assert!(channel < self.channels.count(), "channel {channel} of a {} picture", self.channels.name());
        assert!(rows.start <= rows.end && rows.end <= self.height, "rows {rows:?} of {}", self.height);
        let width = self.width as usize;
        assert_eq!(len, (rows.end - rows.start) as usize * width, "buffer for rows {rows:?}");
        let row = width * self.channels.count();
        rows.start as usize * row..rows.end as usize * row
    }
}

/// A picture that is filled band by band; the rest stays 0. It takes memory only as far down as it
/// is filled, so that a false size costs nothing.
#[derive(Debug)]
pub struct PictureBuilder {
    picture: Picture,
}

impl PictureBuilder {
    /// An all-zero picture.
    ///
    /// # Errors
    /// The size is outside the limits, or there is no memory for it.
    pub fn new(width: u32, height: u32, channels: Channels, depth: Depth) -> Result<Self> {
        let count = check_size(width, height)? * channels.count();
        let samples = match depth {
            Depth::Eight => Samples::Eight(room_for(count)?),
            Depth::Sixteen => Samples::Sixteen(room_for(count)?),
        };
        Ok(Self { picture: Picture { width, height, channels, samples, metadata: Metadata::default() } })
    }

    /// Sets rows of one channel, starting at `first_row`, from real numbers: clamped to `[0, 1]`,
    /// times the peak, rounded to nearest (halves away from zero). NaN becomes 0.
    ///
    /// # Panics
    /// If the channel or the rows are outside the picture, or `values` does not hold whole rows.
    pub fn write_rows(&mut self, channel: usize, first_row: u32, values: &[f64]) {
        let picture = &mut self.picture;
        let rows = values.len() / picture.width as usize;
        let end = u32::try_from(rows).ok().and_then(|rows| first_row.checked_add(rows));
        let end = end.unwrap_or(u32::MAX);
        let span = picture.span(channel, &(first_row..end), values.len());
        let step = picture.channels.count();
        picture.samples.grow(span.end);
        match &mut picture.samples {
            Samples::Eight(s) => {
                for (pixel, value) in s[span].chunks_exact_mut(step).zip(values) {
                    pixel[channel] = sample(*value, 255) as u8;
                }
            }
            Samples::Sixteen(s) => {
                for (pixel, value) in s[span].chunks_exact_mut(step).zip(values) {
                    pixel[channel] = sample(*value, 65535) as u16;
                }
            }
        }
    }

    /// Sets samples of one channel, counted row by row from the top, from `first` on: whole
    /// numbers, cut off at 0 and the peak.
    ///
    /// # Panics
    /// If the channel or the samples are outside the picture.
    pub fn write_samples(
        &mut self,
        channel: usize,
        first: usize,
        values: impl ExactSizeIterator<Item = i64>,
    ) {
        let picture = &mut self.picture;
        let (step, peak) = (picture.channels.count(), i64::from(picture.depth().peak()));
        let span = first * step..(first + values.len()) * step;
        assert!(channel < step && span.end <= picture.width as usize * picture.height as usize * step);
        picture.samples.grow(span.end);
        match &mut picture.samples {
            Samples::Eight(s) => {
                for (pixel, value) in s[span].chunks_exact_mut(step).zip(values) {
                    pixel[channel] = value.clamp(0, peak) as u8;
                }
            }
            Samples::Sixteen(s) => {
                for (pixel, value) in s[span].chunks_exact_mut(step).zip(values) {
                    pixel[channel] = value.clamp(0, peak) as u16;
                }
            }
        }
    }

    /// The picture.
    pub fn finish(mut self) -> Picture {
        let Picture { width, height, channels, samples, .. } = &mut self.picture;
        samples.grow(*width as usize * *height as usize * channels.count());
        self.picture
    }
}

/// value times peak as an integer of `0 ..= peak`, rounded to nearest, halves up; NaN gives 0.
/// `f64::round` is a call on processors that may lack the instruction.
pub fn sample(value: f64, peak: i32) -> i32 {
    let x = value * f64::from(peak);
    // The cast truncates and saturates.
    let whole = x as i32;
    whole.saturating_add(i32::from(x - f64::from(whole) >= 0.5)).clamp(0, peak)
}

/// Checks a size against the limits and returns the number of pixels.
///
/// # Errors
/// A side is 0 or beyond [`MAX_SIDE`], or there are more than [`MAX_PIXELS`].
pub fn check_size(width: u32, height: u32) -> Result<usize> {
    if width == 0 || height == 0 {
        return Err(PictureError::NoPixels { width, height }.into());
    }
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(PictureError::TooLarge { width, height, side: MAX_SIDE, mega: MAX_PIXELS >> 20 }.into());
    }
    usize::try_from(pixels).map_err(|_| no_memory())
}

fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut samples = Vec::new();
    samples.try_reserve_exact(count).map_err(|_| no_memory())?;
    Ok(samples)
}

/// Allocates this many zeros.
fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut samples = room_for(count)?;
    samples.resize(count, T::default());
    Ok(samples)
}

/// The error that a picture does not fit in memory.
pub fn no_memory() -> Error {
    PictureError::NoMemory.into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const ALL_CHANNELS: [Channels; 4] =
        [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];

    /// Samples with period 251, so that exchanged rows, columns or channels are noticed.
    pub fn painted(width: u32, height: u32, channels: Channels, depth: Depth) -> Picture {
        let count = width as usize * height as usize * channels.count();
        let samples = match depth {
            Depth::Eight => Samples::Eight((0..count).map(|i| (i % 251) as u8).collect()),
            Depth::Sixteen => Samples::Sixteen((0..count).map(|i| (i * 257 % 65521) as u16).collect()),
        };
        Picture::new(width, height, channels, samples).unwrap()
    }

    /// The file that a picture becomes.
    pub fn encoded(picture: &Picture, format: Format) -> Vec<u8> {
        let mut bytes = Vec::new();
        picture.encode(format, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_16_bit_value_survives_the_reals() {
        let samples = Samples::Sixteen((0..=u16::MAX).collect());
        let picture = Picture::new(256, 256, Channels::Gray, samples).unwrap();
        let mut values = vec![0.0; 65536];
        picture.read_rows(0, 0..256, &mut values);
        assert_eq!((values[0], values[65535]), (0.0, 1.0));
        let mut builder = PictureBuilder::new(256, 256, Channels::Gray, Depth::Sixteen).unwrap();
        builder.write_rows(0, 0, &values);
        assert_eq!(builder.finish(), picture);
    }

    #[test]
    fn bands_of_channels_rebuild_the_picture() {
        for channels in ALL_CHANNELS {
            for depth in [Depth::Eight, Depth::Sixteen] {
                let picture = painted(13, 10, channels, depth);
                let mut builder = PictureBuilder::new(13, 10, channels, depth).unwrap();
                for channel in 0..channels.count() {
                    for (start, end) in [(7, 10), (0, 3), (3, 7), (5, 5)] {
                        let mut band = vec![0.0; 13 * (end - start) as usize];
                        picture.read_rows(channel, start..end, &mut band);
                        builder.write_rows(channel, start, &band);
                    }
                }
                assert_eq!(builder.finish(), picture);
            }
        }
    }

    #[test]
    fn writing_rounds_and_clamps() {
        let mut builder = PictureBuilder::new(8, 1, Channels::Gray, Depth::Eight).unwrap();
        let values =
            [-0.5, 0.499 / 255.0, 0.5 / 255.0, 254.49 / 255.0, 254.51 / 255.0, 1.7, f64::NAN, f64::INFINITY];
        builder.write_rows(0, 0, &values);
        assert_eq!(builder.finish().samples, Samples::Eight(vec![0, 0, 1, 254, 255, 255, 0, 255]));
    }

    #[test]
    fn samples_are_rounded_as_numbers_are() {
        for peak in [255, 65535] {
            let near = (0..=peak).flat_map(|i| {
                let half = (f64::from(i) + 0.5) / f64::from(peak);
                [half.next_down(), half, half.next_up(), f64::from(i) / f64::from(peak)]
            });
            for value in near.chain([-1e300, -0.7, -0.0, 1.5, 1e9, 1e300, f64::NEG_INFINITY]) {
                let expected = (value * f64::from(peak)).round().clamp(0.0, f64::from(peak));
                assert_eq!(f64::from(sample(value, peak)), expected, "{value:e} of {peak}");
            }
        }
    }

    #[test]
    fn sizes_are_bounded() {
        assert!(check_size(65536, 4096).is_ok());
        for (width, height) in [(65537, 1), (1, 65537), (65536, 4097), (u32::MAX, u32::MAX)] {
            let error = PictureBuilder::new(width, height, Channels::Rgba, Depth::Sixteen).unwrap_err();
            assert!(error.to_string().ends_with("is too large"), "{error}");
        }
        assert!(check_size(0, 5).unwrap_err().to_string().ends_with("has no pixels"));
        assert!(Picture::new(2, 2, Channels::Rgb, Samples::Eight(vec![0; 11])).is_err());
    }
}
