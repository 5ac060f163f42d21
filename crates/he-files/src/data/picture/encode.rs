//! Writing pictures to files.

use crate::error::{Error, PictureError, Result, lower_first};
use std::borrow::Cow;
use std::io::{self, Cursor, Write};

use image::codecs::bmp::BmpEncoder;
use image::codecs::jpeg::{JpegEncoder, PixelDensity, PixelDensityUnit};
use image::codecs::png::PngEncoder;
use image::codecs::tiff::TiffEncoder;
use image::codecs::webp::WebPEncoder;
use image::{EncodableLayout, ExtendedColorType, ImageEncoder, ImageError};

use super::metadata::{Profile, Resolution, Unit};
use super::png::WithResolution;
use super::{Channels, Depth, Format, Picture, Samples, tiff};

/// The quality of JPEG files, out of 100: visibly perfect, and still small.
const JPEG_QUALITY: u8 = 95;

impl Picture {
    /// Writes the picture, of at most one more copy of the samples in memory. All formats except
    /// JPEG are lossless. Profile and resolution are written as far as the format supports them
    /// ([`Format::keeps`]).
    ///
    /// # Errors
    /// The format cannot hold the picture ([`Format::check`]), or `out` cannot be written.
    pub fn encode(&self, format: Format, out: &mut impl Write) -> Result<()> {
        format.check(self.width, self.height, self.channels, self.depth())?;
        let (width, height) = (self.width, self.height);
        let widened = match (format, self.channels) {
            // These do not have gray with alpha (the BMP encoder would silently drop the alpha).
            (Format::Bmp | Format::Tiff, Channels::GrayAlpha) => Cow::Owned(self.gray_to_rgb()?),
            _ => Cow::Borrowed(self),
        };
        let mut out = Remembering { inner: out, error: None };
        let color = color_of(widened.channels, widened.depth());
        let bytes = match &widened.samples {
            Samples::Eight(s) => s.as_slice(),
            Samples::Sixteen(s) => s.as_slice().as_bytes(),
        };
        let profile = self.metadata.profile.as_ref().filter(|profile| profile.fits(self.channels));
        let resolution = self.metadata.resolution;
        let written = match format {
            Format::Png => {
                let mut out = WithResolution::new(&mut out, resolution);
                with_profile(PngEncoder::new(&mut out), profile).write_image(bytes, width, height, color)
            }
            Format::Jpeg => {
                let mut encoder = JpegEncoder::new_with_quality(&mut out, JPEG_QUALITY);
                if let Some(density) = resolution.and_then(density) {
                    encoder.set_pixel_density(density);
                }
                with_profile(encoder, profile).write_image(bytes, width, height, color)
            }
            Format::Bmp => BmpEncoder::new(&mut out).write_image(bytes, width, height, color),
            Format::WebP => {
                let encoder = WebPEncoder::new_lossless(&mut out);
                with_profile(encoder, profile).write_image(bytes, width, height, color)
            }
            Format::Tiff => {
                // TIFF goes back to fill in its offsets, which a pipe cannot.
                let mut file = Cursor::new(Vec::new());
                with_profile(TiffEncoder::new(&mut file), profile)
                    .write_image(bytes, width, height, color)
                    .and_then(|()| match resolution {
                        Some(resolution) => Ok(tiff::set_resolution(file.get_mut(), resolution)?),
                        None => Ok(()),
                    })
                    .and_then(|()| out.write_all(file.get_ref()).map_err(ImageError::IoError))
            }
        };
        written.map_err(|error| match (out.error, error) {
            (Some(e), _) | (None, ImageError::IoError(e)) => Error::io(e, "write", "the picture"),
            (None, other) => {
                PictureError::Encoder { format: format.name(), reason: lower_first(&other.to_string()) }
                    .into()
            }
        })
    }

    /// Gray with alpha as RGBA.
    fn gray_to_rgb(&self) -> Result<Self> {
        fn widen<T: Copy>(samples: &[T]) -> Vec<T> {
            samples.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        let samples = match &self.samples {
            Samples::Eight(s) => Samples::Eight(widen(s)),
            Samples::Sixteen(s) => Samples::Sixteen(widen(s)),
        };
        Self::new(self.width, self.height, Channels::Rgba, samples)
    }
}

/// An encoder that writes a profile, too.
fn with_profile<E: ImageEncoder>(mut encoder: E, profile: Option<&Profile>) -> E {
    if let Some(profile) = profile {
        // Only that of BMP refuses it, and it is not used here.
        let _ = encoder.set_icc_profile(profile.bytes().to_vec());
    }
    encoder
}

/// As in JPEG: whole numbers of 16 bits.
fn density(resolution: Resolution) -> Option<PixelDensity> {
    let (unit, named) = match resolution.unit {
        Unit::Centimetre => (Unit::Centimetre, PixelDensityUnit::Centimeters),
        Unit::Inch | Unit::Metre => (Unit::Inch, PixelDensityUnit::Inches),
    };
    // The number is rounded, and the cast saturates.
    let [x, y] = resolution.per(unit).map(|value| (value + 0.5) as u16);
    (x > 0 && y > 0).then_some(PixelDensity { density: (x, y), unit: named })
}

/// Keeps the error of its writer, of which encoders pass on no more than the text.
struct Remembering<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: Write> Remembering<W> {
    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}

impl<W: Write> Write for Remembering<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.remember(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.remember(result)
    }
}

fn color_of(channels: Channels, depth: Depth) -> ExtendedColorType {
    match (channels, depth) {
        (Channels::Gray, Depth::Eight) => ExtendedColorType::L8,
        (Channels::GrayAlpha, Depth::Eight) => ExtendedColorType::La8,
        (Channels::Rgb, Depth::Eight) => ExtendedColorType::Rgb8,
        (Channels::Rgba, Depth::Eight) => ExtendedColorType::Rgba8,
        (Channels::Gray, Depth::Sixteen) => ExtendedColorType::L16,
        (Channels::GrayAlpha, Depth::Sixteen) => ExtendedColorType::La16,
        (Channels::Rgb, Depth::Sixteen) => ExtendedColorType::Rgb16,
        (Channels::Rgba, Depth::Sixteen) => ExtendedColorType::Rgba16,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::painted;
    use super::*;

    #[test]
    fn metadata_come_back_from_every_format_that_has_them() {
        use super::super::metadata::{Metadata, tests::profile};
        use crate::io::input::Input;
        let sizes = [
            Resolution::new(300.0, 150.0, Unit::Inch),
            Resolution::new(118.0, 118.0, Unit::Centimetre),
            Resolution::new(2835.0, 11811.0, Unit::Metre),
            None,
        ];
        for format in Format::ALL {
            for channels in [Channels::Gray, Channels::Rgb, Channels::Rgba, Channels::GrayAlpha] {
                for resolution in sizes {
                    if format.check(5, 4, channels, Depth::Eight).is_err() {
                        continue;
                    }
                    let space = if channels.light() == 1 { b"GRAY" } else { b"RGB " };
                    let metadata = Metadata { profile: Some(profile(space, 70_000)), resolution };
                    let picture = painted(5, 4, channels, Depth::Eight).with_metadata(metadata.clone());
                    let mut bytes = Vec::new();
                    picture.encode(format, &mut bytes).unwrap();
                    let back = Picture::read(Input::from_bytes("x", bytes), None).unwrap();
                    let what = format!("{format:?} {channels:?} {resolution:?}");
                    // Gray that becomes colours loses its profile.
                    let [has_profile, has_resolution] = format.keeps();
                    let kept = has_profile && back.channels().light() == channels.light();
                    assert_eq!(back.metadata().profile, metadata.profile.filter(|_| kept), "{what}");
                    match (back.metadata().resolution, resolution.filter(|_| has_resolution)) {
                        (Some(found), Some(expected)) => {
                            for (found, expected) in
                                found.per(Unit::Inch).into_iter().zip(expected.per(Unit::Inch))
                            {
                                assert!((found / expected - 1.0).abs() < 0.005, "{what}: {found} {expected}");
                            }
                            assert!(found == expected || format != Format::Png || found.unit == Unit::Metre);
                        }
                        (found, expected) => assert_eq!(found, expected, "{what}"),
                    }
                }
            }
        }
    }

    #[test]
    fn refusals_come_before_the_first_byte() {
        let mut out = Vec::new();
        for (format, channels, depth) in [
            (Format::Jpeg, Channels::Rgba, Depth::Eight),
            (Format::Jpeg, Channels::Rgb, Depth::Sixteen),
            (Format::WebP, Channels::Rgb, Depth::Sixteen),
            (Format::Bmp, Channels::Gray, Depth::Sixteen),
        ] {
            assert!(painted(4, 4, channels, depth).encode(format, &mut out).is_err());
        }
        assert!(out.is_empty());
    }

    #[test]
    fn an_unwritable_output_is_an_error_everywhere() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for format in Format::ALL {
            let error = painted(4, 4, Channels::Rgb, Depth::Eight).encode(format, &mut Full).unwrap_err();
            assert_eq!(error.to_string(), "cannot write the picture: no storage space", "{format:?}");
            assert!(error.hint().is_some());
        }
    }
}
