//! Frames of animations, drawn over one another as players show them.
//!
//! The formats hold each frame as a picture of its own, with the place where it goes. A canvas
//! starts transparent. Where a frame is drawn *over* it, light and opacity become
//!
//! ```text
//! A = a + d (1 - a),    C = (c a + e d (1 - a)) / A
//! ```
//!
//! for light c and opacity a of the frame, and e and d of the canvas, as fractions of the greatest
//! sample. This is the "over" of the specifications of PNG (13.16) and of WebP ("alpha-blending"),
//! and the results are rounded once, to nearest.

use super::{Channels, Depth, Picture, Samples, room_for, zeros};
use crate::error::{Error, Result};

/// A frame as its format holds it.
pub(super) struct Frame {
    /// A file of the same format that holds it alone.
    pub still: Vec<u8>,
    /// The distance right and down on the canvas.
    pub at: [u32; 2],
    /// Its width and height.
    pub size: [u32; 2],
    /// Whether it is drawn over what is there; otherwise it replaces that.
    pub over: bool,
    /// The treatment of the frame before the next one.
    pub dispose: Dispose,
}

/// The treatment of a frame before the next one is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dispose {
    /// It stays.
    Keep,
    /// Its place becomes transparent.
    Clear,
    /// Its place becomes what it was before.
    Restore,
}

/// Red, green, blue, opacity.
type Pixel = [u16; 4];

/// The picture that a player shows.
pub(super) struct Canvas {
    width: u32,
    height: u32,
    depth: Depth,
    pixels: Vec<Pixel>,
}

impl Canvas {
    /// A transparent one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(width: u32, height: u32, depth: Depth) -> Result<Self> {
        let pixels = zeros(width as usize * height as usize)?;
        Ok(Self { width, height, depth, pixels })
    }

    /// The depth of its samples.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether a frame lies on it as a whole.
    pub fn holds(&self, frame: &Frame) -> bool {
        let fits =
            |at: u32, size: u32, side: u32| size > 0 && at.checked_add(size).is_some_and(|end| end <= side);
        fits(frame.at[0], frame.size[0], self.width) && fits(frame.at[1], frame.size[1], self.height)
    }

    /// The pixels of each row of a frame's place.
    fn rows(&mut self, frame: &Frame) -> impl Iterator<Item = &mut [Pixel]> {
        let ([x, y], [width, height]) =
            (frame.at.map(|at| at as usize), frame.size.map(|size| size as usize));
        let rows = self.pixels.chunks_exact_mut(self.width as usize).skip(y).take(height);
        rows.map(move |row| &mut row[x..x + width])
    }

    /// Copies the pixels in a frame's place.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn copy(&mut self, frame: &Frame) -> Result<Vec<Pixel>> {
        let mut copy = room_for(frame.size[0] as usize * frame.size[1] as usize)?;
        self.rows(frame).for_each(|row| copy.extend_from_slice(row));
        Ok(copy)
    }

    /// Puts a copy back, or makes a frame's place transparent.
    pub fn dispose(&mut self, frame: &Frame, before: &[Pixel]) {
        let width = frame.size[0] as usize;
        match frame.dispose {
            Dispose::Keep => {}
            Dispose::Clear => self.rows(frame).for_each(|row| row.fill([0; 4])),
            Dispose::Restore => {
                self.rows(frame)
                    .zip(before.chunks_exact(width))
                    .for_each(|(row, old)| row.copy_from_slice(old));
            }
        }
    }

    /// Draws a frame, whose picture has its size and the canvas's depth.
    pub fn draw(&mut self, frame: &Frame, picture: &Picture) {
        let (peak, channels) = (self.depth.peak(), picture.channels());
        let step = channels.count();
        let pixel = |at: usize| -> Pixel {
            let sample = |channel: usize| match picture.samples() {
                Samples::Eight(samples) => u16::from(samples[at * step + channel]),
                Samples::Sixteen(samples) => samples[at * step + channel],
            };
            match channels {
                Channels::Gray => [sample(0), sample(0), sample(0), peak as u16],
                Channels::GrayAlpha => [sample(0), sample(0), sample(0), sample(1)],
                Channels::Rgb => [sample(0), sample(1), sample(2), peak as u16],
                Channels::Rgba => [sample(0), sample(1), sample(2), sample(3)],
            }
        };
        let width = frame.size[0] as usize;
        for (y, row) in self.rows(frame).enumerate() {
            for (x, below) in row.iter_mut().enumerate() {
                let above = pixel(y * width + x);
                *below = if frame.over { over(above, *below, peak) } else { above };
            }
        }
    }

    /// The picture that is shown: with the channels of the file, of which all frames are; and with
    /// opacity if any pixel is not opaque.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn into_picture(self, channels: Channels) -> Result<Picture> {
        let opaque = self.pixels.iter().all(|pixel| u32::from(pixel[3]) == self.depth.peak());
        let channels = match (channels, opaque) {
            (Channels::Gray, false) => Channels::GrayAlpha,
            (Channels::Rgb, false) => Channels::Rgba,
            (channels, _) => channels,
        };
        let kept: &[usize] = match channels {
            Channels::Gray => &[0],
            Channels::GrayAlpha => &[0, 3],
            Channels::Rgb => &[0, 1, 2],
            Channels::Rgba => &[0, 1, 2, 3],
        };
        let count = self.pixels.len() * kept.len();
        let values = self.pixels.iter().flat_map(|pixel| kept.iter().map(|&channel| pixel[channel]));
        let samples = match self.depth {
            Depth::Eight => {
                let mut samples = room_for(count)?;
                samples.extend(values.map(|value| value as u8));
                Samples::Eight(samples)
            }
            Depth::Sixteen => {
                let mut samples = room_for(count)?;
                samples.extend(values);
                Samples::Sixteen(samples)
            }
        };
        Picture::new(self.width, self.height, channels, samples)
    }
}

/// A pixel over another.
fn over(above: Pixel, below: Pixel, peak: u32) -> Pixel {
    let peak = u64::from(peak);
    let (a, d) = (u64::from(above[3]), u64::from(below[3]));
    if a == 0 {
        return below;
    }
    // A in units of 1 / peak^2. All products are below 2^48.
    let rest = d * (peak - a);
    let opacity = a * peak + rest;
    let rounded = |value: u64, by: u64| ((2 * value + by) / (2 * by)) as u16;
    let light = |channel: usize| {
        let (c, e) = (u64::from(above[channel]), u64::from(below[channel]));
        rounded(c * a * peak + e * rest, opacity)
    };
    [light(0), light(1), light(2), rounded(opacity, peak)]
}

/// Draws the frames that `next` gives one by one, by way of `decode`, and returns what is shown
/// after the last of them.
///
/// # Errors
/// The errors of both; `damaged()` if a frame does not fit the canvas or its own picture; there is
/// not enough memory.
pub(super) fn shown<E: From<Error>>(
    [width, height]: [u32; 2],
    channels: Channels,
    mut next: impl FnMut() -> Result<Option<Frame>, E>,
    decode: impl Fn(&mut Frame) -> Result<Picture, E>,
    damaged: impl Fn() -> E,
) -> Result<Picture, E> {
    let mut canvas: Option<Canvas> = None;
    let mut last: Option<(Frame, Vec<Pixel>)> = None;
    while let Some(mut frame) = next()? {
        let picture = decode(&mut frame)?;
        let canvas = match &mut canvas {
            Some(canvas) => canvas,
            none => none.insert(Canvas::new(width, height, picture.depth())?),
        };
        let alike = [picture.width(), picture.height()] == frame.size && picture.depth() == canvas.depth();
        if !alike || !canvas.holds(&frame) {
            return Err(damaged());
        }
        if let Some((last, before)) = &last {
            canvas.dispose(last, before);
        }
        let before = if frame.dispose == Dispose::Restore { canvas.copy(&frame)? } else { Vec::new() };
        canvas.draw(&frame, &picture);
        last = Some((frame, before));
    }
    Ok(canvas.ok_or_else(damaged)?.into_picture(channels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula in float64, for every pair of opacities and some of the light.
    #[test]
    fn pixels_are_blended_to_the_nearest() {
        for peak in [255u32, 65535] {
            let scale = peak / 255;
            for a in (0..=255).map(|a| a * scale) {
                for d in (0..=255).step_by(15).map(|d| d * scale) {
                    for (c, e) in [(0, peak), (peak, 0), (peak, peak), (37 * scale, 201 * scale), (1, 2)] {
                        let found = over([c as u16, 0, 0, a as u16], [e as u16, 0, 0, d as u16], peak);
                        let of = |x: u32| f64::from(x) / f64::from(peak);
                        let opacity = of(a) + of(d) * (1.0 - of(a));
                        let light = (of(c) * of(a) + of(e) * of(d) * (1.0 - of(a))) / opacity;
                        let near = |found: u16, expected: f64| {
                            (f64::from(found) - expected * f64::from(peak)).abs() <= 0.5 + 1e-6
                        };
                        let what = format!("{c} {a} over {e} {d} of {peak}: {found:?}");
                        if a == 0 {
                            assert_eq!(found, [e as u16, 0, 0, d as u16], "{what}");
                        } else {
                            assert!(near(found[0], light) && near(found[3], opacity), "{what}");
                        }
                        if a == peak {
                            assert_eq!([found[0], found[3]], [c as u16, a as u16], "{what}");
                        }
                    }
                }
            }
        }
    }
}
