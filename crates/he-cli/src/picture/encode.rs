//! Writing pictures to files.

use std::borrow::Cow;
use std::io::{self, Cursor, Write};

use image::codecs::bmp::BmpEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::tiff::TiffEncoder;
use image::codecs::webp::WebPEncoder;
use image::{EncodableLayout, ExtendedColorType, ImageEncoder, ImageError};

use super::{Channels, Depth, Format, Picture, Samples};
use crate::error::{CliError, Result, lower_first};

/// Quality of JPEG files, of 100: visibly perfect, and still small.
const JPEG_QUALITY: u8 = 95;

impl Picture {
    /// Writes the picture, of at most one more copy of the samples in memory. All formats but JPEG are without loss.
    ///
    /// # Errors
    /// The format cannot hold the picture ([`Format::check`]), or `out` cannot be written.
    pub fn encode(&self, format: Format, out: &mut impl Write) -> Result<()> {
        format.check(self.width, self.height, self.channels, self.depth())?;
        let (width, height) = (self.width, self.height);
        let widened = match (format, self.channels) {
            // These know no gray with alpha (the BMP encoder would drop the alpha silently).
            (Format::Bmp | Format::Tiff, Channels::GrayAlpha) => Cow::Owned(self.gray_to_rgb()?),
            _ => Cow::Borrowed(self),
        };
        let mut out = Remembering { inner: out, error: None };
        let color = color_of(widened.channels, widened.depth());
        let bytes = match &widened.samples {
            Samples::Eight(s) => s.as_slice(),
            Samples::Sixteen(s) => s.as_slice().as_bytes(),
        };
        let written = match format {
            Format::Png => PngEncoder::new(&mut out).write_image(bytes, width, height, color),
            Format::Jpeg => {
                JpegEncoder::new_with_quality(&mut out, JPEG_QUALITY).write_image(bytes, width, height, color)
            }
            Format::Bmp => BmpEncoder::new(&mut out).write_image(bytes, width, height, color),
            Format::WebP => WebPEncoder::new_lossless(&mut out).write_image(bytes, width, height, color),
            Format::Tiff => {
                // TIFF goes back to fill in its offsets, which a pipe cannot.
                let mut file = Cursor::new(Vec::new());
                TiffEncoder::new(&mut file)
                    .write_image(bytes, width, height, color)
                    .and_then(|()| out.write_all(file.get_ref()).map_err(ImageError::IoError))
            }
        };
        written.map_err(|error| match (out.error, error) {
            (Some(e), _) | (None, ImageError::IoError(e)) => CliError::from_io(&e, "write", "the picture"),
            (None, other) => CliError::new(format!(
                "cannot write the picture as {}: {}",
                format.name(),
                lower_first(&other.to_string())
            ))
            .hint("write it as .png"),
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
            assert_eq!(error.message(), "cannot write the picture: no storage space", "{format:?}");
            assert!(error.hint_text().is_some());
        }
    }
}
