//! Pictures for the tests, and what filters make of them in float64, computed in another way than
//! the program does.

use image::{DynamicImage, ExtendedColorType};
use std::path::Path;

/// Channels of real values, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    pub width: usize,
    pub height: usize,
    pub channels: Vec<Vec<f64>>,
}

/// Numbers that look random and are the same every time.
pub fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    }
}

/// A picture of 16 bits with 1, 2, 3 or 4 channels.
pub fn sixteen(width: u32, height: u32, channels: usize, seed: u64) -> DynamicImage {
    let mut next = noise(seed);
    let samples: Vec<u16> = (0..width as usize * height as usize * channels).map(|_| next() as u16).collect();
    match channels {
        1 => DynamicImage::ImageLuma16(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        2 => DynamicImage::ImageLumaA16(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        3 => DynamicImage::ImageRgb16(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        _ => DynamicImage::ImageRgba16(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
    }
}

/// A picture of 8 bits.
pub fn eight(width: u32, height: u32, channels: usize, seed: u64) -> DynamicImage {
    let mut next = noise(seed);
    let samples: Vec<u8> = (0..width as usize * height as usize * channels).map(|_| next() as u8).collect();
    match channels {
        1 => DynamicImage::ImageLuma8(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        2 => DynamicImage::ImageLumaA8(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        3 => DynamicImage::ImageRgb8(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
        _ => DynamicImage::ImageRgba8(image::ImageBuffer::from_raw(width, height, samples).unwrap()),
    }
}

impl Planes {
    pub fn of(picture: &DynamicImage) -> Self {
        let count = usize::from(picture.color().channel_count());
        let values: Vec<f64> = match picture.color().into() {
            ExtendedColorType::L8
            | ExtendedColorType::La8
            | ExtendedColorType::Rgb8
            | ExtendedColorType::Rgba8 => picture.as_bytes().iter().map(|&x| f64::from(x) / 255.0).collect(),
            _ => {
                let samples = picture.as_bytes().chunks_exact(2);
                samples.map(|x| f64::from(u16::from_ne_bytes([x[0], x[1]])) / 65535.0).collect()
            }
        };
        let channels = (0..count).map(|c| values.iter().skip(c).step_by(count).copied().collect()).collect();
        Self { width: picture.width() as usize, height: picture.height() as usize, channels }
    }

    pub fn read(path: &Path) -> Self {
        Self::of(&image::open(path).unwrap())
    }

    /// The first `light` channels mapped, the others as they are.
    pub fn map(&self, light: usize, f: impl Fn(f64) -> f64) -> Self {
        let channel = |(at, plane): (usize, &Vec<f64>)| {
            plane.iter().map(|&x| if at < light { f(x) } else { x }).collect()
        };
        Self { channels: self.channels.iter().enumerate().map(channel).collect(), ..*self }
    }

    /// With `border` pixels on each side, equal to the nearest ones.
    pub fn extended(&self, border: usize) -> Self {
        let (width, height) = (self.width + 2 * border, self.height + 2 * border);
        let near = |at: usize, size: usize| at.saturating_sub(border).min(size - 1);
        let pixel = |plane: &[f64], y: usize, x: usize| {
            plane[near(y, self.height) * self.width + near(x, self.width)]
        };
        let channel =
            |plane: &Vec<f64>| (0..width * height).map(|at| pixel(plane, at / width, at % width)).collect();
        Self { width, height, channels: self.channels.iter().map(channel).collect() }
    }

    /// Sums of shifted pictures, as far as the kernel fits inside: smaller by its radii.
    pub fn filtered(&self, kernel: &[&[f64]]) -> Self {
        let (width, height) = (self.width + 1 - kernel[0].len(), self.height + 1 - kernel.len());
        let channel = |plane: &Vec<f64>| {
            let mut sum = vec![0.0; width * height];
            for (dy, row) in kernel.iter().enumerate() {
                for (dx, weight) in row.iter().enumerate() {
                    for y in 0..height {
                        for x in 0..width {
                            sum[y * width + x] += weight * plane[(y + dy) * self.width + x + dx];
                        }
                    }
                }
            }
            sum
        };
        Self { width, height, channels: self.channels.iter().map(channel).collect() }
    }

    /// Without `dy` rows above and below and `dx` columns left and right.
    pub fn cropped(&self, dy: usize, dx: usize) -> Self {
        let (width, height) = (self.width - 2 * dx, self.height - 2 * dy);
        let channel = |plane: &Vec<f64>| {
            (0..width * height).map(|at| plane[(at / width + dy) * self.width + at % width + dx]).collect()
        };
        Self { width, height, channels: self.channels.iter().map(channel).collect() }
    }

    /// A filter of odd size at every pixel; the picture continues by its nearest pixels.
    pub fn convolved(&self, kernel: &[&[f64]]) -> Self {
        let (dy, dx) = (kernel.len() / 2, kernel[0].len() / 2);
        let border = dy.max(dx);
        self.extended(border).cropped(border - dy, border - dx).filtered(kernel)
    }

    /// Whether a decrypted picture shows these values, clamped to what it can show, within a step
    /// of `peak`.
    pub fn assert_shown(&self, shown: &Self, peak: f64, what: &str) {
        let shape = |planes: &Self| (planes.width, planes.height, planes.channels.len());
        assert_eq!(shape(self), shape(shown), "{what}");
        for (channel, (expected, found)) in self.channels.iter().zip(&shown.channels).enumerate() {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                let error = (expected.clamp(0.0, 1.0) - found).abs() * peak;
                let (y, x) = (at / self.width, at % self.width);
                assert!(
                    error < 0.75,
                    "{what}: channel {channel}, row {y}, column {x}: {found}, not {expected}"
                );
            }
        }
    }
}

/// A chunk of a PNG file.
pub fn chunk(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let named = [kind, body].concat();
    let sum = crc32fast::hash(&named).to_be_bytes();
    [&(body.len() as u32).to_be_bytes()[..], &named, &sum].concat()
}

/// The chunks of a PNG file: kinds and bodies.
pub fn chunks(png: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let (mut at, mut found) = (8, Vec::new());
    while at < png.len() {
        let len = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        found.push((png[at + 4..at + 8].try_into().unwrap(), png[at + 8..at + 8 + len].to_vec()));
        at += 12 + len;
    }
    found
}

/// A PNG file of such chunks.
pub fn png_of(chunks: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let body = chunks.iter().flat_map(|(kind, body)| chunk(kind, body));
    b"\x89PNG\r\n\x1a\n".iter().copied().chain(body).collect()
}

/// A picture in the bytes of a format.
pub fn encoded(picture: &DynamicImage, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}
