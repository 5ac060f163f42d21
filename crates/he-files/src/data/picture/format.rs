//! The file formats of pictures: their first bytes, and what each can hold.

use std::path::Path;

use super::metadata::Metadata;
use super::{Channels, Depth};
use crate::error::{PictureError, Result};

/// The number of bytes that [`Format::sniff`] needs.
pub const SNIFF_LEN: usize = 16;

/// A file format that is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// 8 and 16 bits, all channels.
    Png,
    /// 8 bits, gray and RGB; slightly lossy.
    Jpeg,
    /// 8 bits. Gray with alpha is written as RGBA; gray is written with a palette, and read by it.
    Bmp,
    /// 8 and 16 bits. Gray with alpha is written as RGBA.
    Tiff,
    /// 8 bits, written without loss. Reads as RGB or RGBA.
    WebP,
}

impl Format {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [Self; 5] = [Self::Png, Self::Jpeg, Self::Bmp, Self::Tiff, Self::WebP];

    /// The format of a file by its first bytes ([`SNIFF_LEN`] suffice); names are ignored.
    pub fn sniff(start: &[u8]) -> Option<Self> {
        // BigTIFF, whose offsets have 64 bits.
        if start.starts_with(b"II+\0") || start.starts_with(b"MM\0+") {
            return Some(Self::Tiff);
        }
        match image::guess_format(start).ok()? {
            image::ImageFormat::Png => Some(Self::Png),
            image::ImageFormat::Jpeg => Some(Self::Jpeg),
            image::ImageFormat::Bmp => Some(Self::Bmp),
            image::ImageFormat::Tiff => Some(Self::Tiff),
            image::ImageFormat::WebP => Some(Self::WebP),
            _ => None,
        }
    }

    /// The name of a picture format that is recognised but not read, such as GIF.
    pub fn sniff_foreign(start: &[u8]) -> Option<&'static str> {
        match image::guess_format(start).ok()? {
            image::ImageFormat::Gif => Some("GIF"),
            image::ImageFormat::Pnm => Some("PNM"),
            image::ImageFormat::Dds => Some("DDS"),
            image::ImageFormat::Hdr => Some("Radiance HDR"),
            image::ImageFormat::OpenExr => Some("OpenEXR"),
            image::ImageFormat::Farbfeld => Some("farbfeld"),
            image::ImageFormat::Avif => Some("AVIF"),
            image::ImageFormat::Qoi => Some("QOI"),
            image::ImageFormat::Ico => Some("ICO"),
            _ => None,
        }
    }

    /// The format to write under a name, by its ending; PNG for `-` and for names without one.
    ///
    /// # Errors
    /// The ending is not that of a format that is written, since a file must be what its name says.
    pub fn for_output(path: &Path) -> Result<Self> {
        let Some(ending) = path.extension() else { return Ok(Self::Png) };
        match ending.to_string_lossy().to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "jpg" | "jpeg" | "jpe" => Ok(Self::Jpeg),
            "bmp" => Ok(Self::Bmp),
            "tif" | "tiff" => Ok(Self::Tiff),
            "webp" => Ok(Self::WebP),
            _ => Err(PictureError::Ending { path: path.display().to_string() }.into()),
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::WebP => "WebP",
        }
    }

    /// Whether it holds an ICC profile, and a resolution.
    pub fn keeps(self) -> [bool; 2] {
        match self {
            Self::Png | Self::Jpeg | Self::Tiff => [true, true],
            Self::WebP => [true, false],
            Self::Bmp => [false, false],
        }
    }

    /// The part of the metadata that is not written.
    pub fn drops(self, metadata: Metadata) -> Metadata {
        let [profile, resolution] = self.keeps();
        Metadata {
            profile: metadata.profile.filter(|_| !profile),
            resolution: metadata.resolution.filter(|_| !resolution),
        }
    }

    /// Checks that a picture fits this format; call it before the work, not after it.
    ///
    /// # Errors
    /// The depth, the opacity or the size does not fit; the hint names a format that does.
    pub fn check(self, width: u32, height: u32, channels: Channels, depth: Depth) -> Result<()> {
        let name = self.name();
        if depth == Depth::Sixteen && !matches!(self, Self::Png | Self::Tiff) {
            return Err(PictureError::Depth { format: name }.into());
        }
        if channels.has_alpha() && self == Self::Jpeg {
            return Err(PictureError::Alpha.into());
        }
        let max_side = match self {
            Self::Jpeg => 65_535,
            Self::WebP => 16_383,
            Self::Png | Self::Bmp | Self::Tiff => super::MAX_SIDE,
        };
        if width > max_side || height > max_side {
            return Err(PictureError::Side { format: name, most: max_side, width, height }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_choose_the_output() {
        for (path, format) in [
            ("a.png", Format::Png),
            ("a.JPG", Format::Jpeg),
            ("x/a.jpeg", Format::Jpeg),
            ("a.bmp", Format::Bmp),
            ("a.tif", Format::Tiff),
            ("a.webp", Format::WebP),
            ("a.v2.PNG", Format::Png),
            ("-", Format::Png),
            ("png", Format::Png),
            (".png", Format::Png),
            ("x.y/a", Format::Png),
        ] {
            assert_eq!(Format::for_output(Path::new(path)).unwrap(), format, "{path}");
        }
        for path in ["a.xyz", "a.gif", "a.png.txt", "a.", "a.pn\u{e9}"] {
            assert!(Format::for_output(Path::new(path)).unwrap_err().hint().is_some(), "{path}");
        }
    }

    #[test]
    fn content_is_recognised() {
        assert_eq!(Format::sniff(b"\x89PNG\r\n\x1a\n...."), Some(Format::Png));
        assert_eq!(Format::sniff(b"\xff\xd8\xff\xe0"), Some(Format::Jpeg));
        assert_eq!(Format::sniff(b"BM......"), Some(Format::Bmp));
        assert_eq!(Format::sniff(b"II*\0"), Some(Format::Tiff));
        for start in [b"MM\0*", b"II+\0", b"MM\0+"] {
            assert_eq!(Format::sniff(start), Some(Format::Tiff));
        }
        assert_eq!(Format::sniff(b"RIFF\x10\0\0\0WEBPVP8L"), Some(Format::WebP));
        assert_eq!(Format::sniff(b"GIF89a"), None);
        assert_eq!(Format::sniff_foreign(b"GIF89a"), Some("GIF"));
        for other in [&b""[..], b"1,2,3\n", b"HESEALED", b"\0\0\0\0"] {
            assert_eq!((Format::sniff(other), Format::sniff_foreign(other)), (None, None));
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let text = |r: Result<()>| r.unwrap_err().to_string().to_owned();
        assert_eq!(
            text(Format::Jpeg.check(8, 8, Channels::Rgb, Depth::Sixteen)),
            "JPEG holds 8 bits a channel, this picture has 16"
        );
        assert!(text(Format::Jpeg.check(8, 8, Channels::Rgba, Depth::Eight)).contains("alpha"));
        assert!(text(Format::WebP.check(16_384, 8, Channels::Rgb, Depth::Eight)).contains("16383"));
        assert!(Format::Png.check(65_536, 8, Channels::GrayAlpha, Depth::Sixteen).is_ok());
    }
}
