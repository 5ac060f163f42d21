//! Reading pictures from files, recognised by content and bounded before anything is allocated.

use crate::error::{Error, IoContext, PictureError, Result, io_text, lower_first};
use std::io::{self, Cursor};

use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageReader, Limits};

use super::animation::{self, Frame};
use super::format::SNIFF_LEN;
use super::metadata::{Metadata, Profile};
use super::orientation::{is_sideways, upright};
use super::png::{Chunks, Moving};
use super::tiff::Pages;
use super::{
    Channels, Format, MAX_PIXELS, MAX_SIDE, Picture, Samples, bmp, check_size, jpeg, room_for, webp, zeros,
};
use crate::io::input::{Input, ReadSeek};

/// The largest file that is read: the largest picture without compression, and as much again for
/// the rest.
const MAX_FILE: u64 = 4 << 30;
/// The pixels of the frames that are drawn, altogether: some thousands of large ones.
const MAX_DRAWN: u64 = 64 * MAX_PIXELS;
/// The memory that a decoder may allocate in addition to the picture (tables, rows, metadata).
const MAX_ASIDE: u64 = 64 << 20;

impl Picture {
    /// Reads a picture of any known format; from an animation or several pages, the frame with this
    /// number, from 1 on.
    ///
    /// Peak memory is about twice the samples (decoders of some formats keep a copy of their own;
    /// turning a picture by its EXIF orientation makes one), of an animation 16 bytes per pixel
    /// more.
    ///
    /// # Errors
    /// The file is not a picture, or of a kind that is not supported (palettes of TIFF, floating
    /// point), too large, truncated or damaged; it holds several, and none is chosen, or one that
    /// it does not hold; there is not enough memory.
    pub fn read(mut input: Input, frame: Option<u32>) -> Result<Self> {
        let name = input.name().to_owned();
        let start = input.peek(SNIFF_LEN)?;
        let Some(format) = Format::sniff(start) else {
            return Err(unknown(&name, start));
        };
        let file = open(input, format)?;
        let index = chosen(file.frames, frame, &name)?;
        let read = match file.source {
            Source::Still(source) => decode(source, format, file.aside),
            Source::Gray(source) => {
                decode(source, format, file.aside).and_then(|picture| Ok(gray(&picture)?))
            }
            Source::Pages(pages, mut source) => {
                let aside = pages.metadata(&mut source, index);
                source.rewind().at(&name)?;
                decode(pages.select(source, index), format, aside)
            }
            Source::Animation(mut source) => decode_frame(&mut *source, format, index, file.aside),
        };
        read.map_err(|problem| problem.with_name(&name))
    }
}

/// A file of pictures that has been inspected.
struct Opened {
    source: Source,
    frames: u32,
    /// The information that the decoder does not give.
    aside: Metadata,
}

/// The source of its pictures.
enum Source {
    /// There is one, or the first is read as if there were.
    Still(Box<dyn ReadSeek>),
    /// There is one, which the decoder reads as RGB, and all its colours are gray.
    Gray(Box<dyn ReadSeek>),
    /// Page by page.
    Pages(Pages, Box<dyn ReadSeek>),
    /// Each frame on top of those before it.
    Animation(Box<dyn ReadSeek>),
}

fn open(input: Input, format: Format) -> Result<Opened> {
    let name = input.name().to_owned();
    let sized = |resolution| Metadata { profile: None, resolution };
    let still = |source| Opened { source: Source::Still(source), frames: 1, aside: sized(None) };
    let incomplete = || damaged(&name, "the end of the image is missing");
    if format == Format::Jpeg {
        // The decoder silently fills missing parts with gray, so look for the end first.
        let bytes = input.read_all(MAX_FILE)?;
        if !jpeg::is_complete(&bytes) {
            return Err(incomplete());
        }
        if !jpeg::is_first_finest(&bytes) {
            let reason = "a component has more samples than the first".to_owned();
            return Err(PictureError::Unsupported { name, reason }.into());
        }
        let aside = sized(jpeg::resolution(&bytes));
        return Ok(Opened { aside, ..still(Box::new(Cursor::new(bytes))) });
    }
    let mut source = input.into_seekable(MAX_FILE)?;
    let opened = match format {
        Format::Png => {
            let chunks = Chunks::read(&mut source).at(&name)?;
            source.rewind().at(&name)?;
            let (frames, aside) = (chunks.frames.max(1), sized(chunks.resolution));
            let source = if frames > 1 { Source::Animation(source) } else { Source::Still(source) };
            Opened { source, frames, aside }
        }
        Format::WebP => {
            let Some(frames) = webp::frames(&mut source).at(&name)? else { return Err(incomplete()) };
            source.rewind().at(&name)?;
            // A single frame is drawn on a canvas, too.
            let source = if frames > 0 { Source::Animation(source) } else { Source::Still(source) };
            Opened { source, frames: frames.max(1), aside: sized(None) }
        }
        Format::Tiff => {
            let pages = Pages::read(&mut source).at(&name)?;
            source.rewind().at(&name)?;
            let frames = u32::try_from(pages.count()).unwrap_or(u32::MAX).max(1);
            Opened { source: Source::Pages(pages, source), frames, aside: sized(None) }
        }
        Format::Bmp => {
            let gray = bmp::is_gray(&mut *source).at(&name)?;
            source.rewind().at(&name)?;
            let source = if gray { Source::Gray(source) } else { Source::Still(source) };
            Opened { source, frames: 1, aside: sized(None) }
        }
        Format::Jpeg => still(source),
    };
    Ok(opened)
}

/// The index of the frame that is to be read.
fn chosen(frames: u32, frame: Option<u32>, name: &str) -> Result<usize> {
    match frame {
        None if frames > 1 => Err(PictureError::Several { name: name.to_owned(), frames }.into()),
        Some(frame) if frame > frames => {
            Err(PictureError::NoFrame { name: name.to_owned(), frames, frame }.into())
        }
        frame => Ok(frame.unwrap_or(1).saturating_sub(1) as usize),
    }
}

/// An error before the file is known.
enum Problem {
    Ours(Error),
    Theirs(ImageError),
}

impl From<ImageError> for Problem {
    fn from(error: ImageError) -> Self {
        Self::Theirs(error)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl Problem {
    fn with_name(self, name: &str) -> Error {
        match self {
            Self::Ours(error) => Error::Unreadable { name: name.to_owned(), source: Box::new(error) },
            Self::Theirs(ImageError::Limits(_)) => {
                PictureError::DecoderLimit { name: name.to_owned() }.into()
            }
            Self::Theirs(ImageError::Unsupported(error)) => {
                PictureError::Unsupported { name: name.to_owned(), reason: lower_first(&error.to_string()) }
                    .into()
            }
            Self::Theirs(ImageError::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                damaged(name, "the end of the image is missing")
            }
            Self::Theirs(ImageError::IoError(error)) => damaged(name, &io_text(&error)),
            Self::Theirs(error) => damaged(name, &lower_first(&error.to_string())),
        }
    }
}

/// The properties that a decoder states before it decodes.
struct Begun {
    width: u32,
    height: u32,
    channels: Channels,
    orientation: Orientation,
    profile: Option<Profile>,
}

/// Begins to decode, within limits.
fn begin<'a>(
    source: impl ReadSeek + 'a,
    format: Format,
    known: Option<Profile>,
) -> Result<(impl ImageDecoder + 'a, Begun), Problem> {
    let mut reader = ImageReader::with_format(source, image_format(format));
    reader.limits(limits(0));
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    let color = decoder.color_type();
    let Some(channels) = channels_of(color) else {
        return Err(Error::from(PictureError::SampleKind { kind: format!("{color:?}") }).into());
    };
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let profile = profile_of(known, &mut decoder, channels);
    Ok((decoder, Begun { width, height, channels, orientation, profile }))
}

/// The limits of a decoder of so many bytes of samples.
fn limits(total: u64) -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    // Twice, for CMYK becomes RGB by way of a larger copy.
    limits.max_alloc = Some(MAX_ASIDE + 2 * total);
    limits
}

fn decode(source: impl ReadSeek, format: Format, aside: Metadata) -> Result<Picture, Problem> {
    let (mut decoder, begun) = begin(source, format, aside.profile)?;
    let Begun { width, height, channels, orientation, profile } = begun;
    let total = decoder.total_bytes();
    decoder.set_limits(limits(total))?;
    let count = width as usize * height as usize * channels.count();
    let sixteen = total > count as u64;
    let mut samples = if sixteen { Samples::Sixteen(zeros(count)?) } else { Samples::Eight(zeros(count)?) };
    if !matches!(format, Format::Png | Format::Bmp) {
        // Decoders that keep a copy do not check whether there is room for it.
        drop(room_for::<u8>(usize::try_from(total).unwrap_or(usize::MAX))?);
    }
    match &mut samples {
        Samples::Eight(s) => decoder.read_image(s)?,
        Samples::Sixteen(s) => decoder.read_image(bytemuck::cast_slice_mut(s))?,
    }
    let picture = Picture::new(width, height, channels, samples)?;
    finished(picture, orientation, Metadata { profile, ..aside })
}

/// A picture turned upright, with the metadata of its file.
fn finished(picture: Picture, orientation: Orientation, metadata: Metadata) -> Result<Picture, Problem> {
    let sideways = is_sideways(orientation);
    let resolution =
        metadata.resolution.map(|resolution| if sideways { resolution.turned() } else { resolution });
    let Picture { width, height, channels, samples, .. } = picture;
    let (width, height, samples) = upright(width, height, channels.count(), samples, orientation)?;
    Ok(Picture::new(width, height, channels, samples)?.with_metadata(Metadata { resolution, ..metadata }))
}

/// The first channel of a picture whose channels are alike.
fn gray(picture: &Picture) -> Result<Picture> {
    let step = picture.channels.count();
    let samples = match &picture.samples {
        Samples::Eight(samples) => {
            let mut kept = room_for(samples.len() / step)?;
            kept.extend(samples.iter().step_by(step));
            Samples::Eight(kept)
        }
        Samples::Sixteen(samples) => {
            let mut kept = room_for(samples.len() / step)?;
            kept.extend(samples.iter().step_by(step));
            Samples::Sixteen(kept)
        }
    };
    Picture::new(picture.width, picture.height, Channels::Gray, samples)
}

/// The profile, if it is one of these channels; CMYK, for instance, became RGB.
fn profile_of(
    known: Option<Profile>,
    decoder: &mut impl ImageDecoder,
    channels: Channels,
) -> Option<Profile> {
    let profile = known.or_else(|| Profile::new(decoder.icc_profile().ok()??));
    profile.filter(|profile| profile.fits(channels))
}

/// A frame of an animation, as players show it: drawn with those before it.
fn decode_frame(
    source: &mut dyn ReadSeek,
    format: Format,
    index: usize,
    aside: Metadata,
) -> Result<Picture, Problem> {
    let (_, begun) = begin(&mut *source, format, aside.profile.clone())?;
    let Begun { width, height, channels, orientation, profile } = begun;
    let (mut next, mut drawn) = (0..=index, 0);
    let mut take = |frame: io::Result<Frame>| -> Result<Option<Frame>, Problem> {
        let frame = frame.map_err(ImageError::IoError)?;
        drawn += frame.size.iter().map(|&side| u64::from(side)).product::<u64>();
        match drawn <= MAX_DRAWN {
            true => Ok(Some(frame)),
            false => Err(ImageError::Limits(image::error::LimitError::from_kind(
                image::error::LimitErrorKind::DimensionError,
            ))
            .into()),
        }
    };
    let still = |frame: &mut Frame| {
        decode(Cursor::new(std::mem::take(&mut frame.still)), format, Metadata::default())
    };
    let wrong = || {
        let error = io::Error::new(io::ErrorKind::InvalidData, "a frame that does not fit");
        Problem::from(ImageError::IoError(error))
    };
    let picture = if format == Format::Png {
        let mut frames = Moving::new(source).map_err(ImageError::IoError)?;
        let next = || next.next().map_or(Ok(None), |_| take(frames.frame()));
        animation::shown([width, height], channels, next, still, wrong)?
    } else {
        let mut frames = webp::Chunks::of_animation(source).map_err(ImageError::IoError)?;
        let next = || next.next().map_or(Ok(None), |_| take(frames.frame()));
        animation::shown([width, height], channels, next, still, wrong)?
    };
    let profile = profile.filter(|profile| profile.fits(picture.channels));
    finished(picture, orientation, Metadata { profile, ..aside })
}

fn channels_of(color: ColorType) -> Option<Channels> {
    match color {
        ColorType::L8 | ColorType::L16 => Some(Channels::Gray),
        ColorType::La8 | ColorType::La16 => Some(Channels::GrayAlpha),
        ColorType::Rgb8 | ColorType::Rgb16 => Some(Channels::Rgb),
        ColorType::Rgba8 | ColorType::Rgba16 => Some(Channels::Rgba),
        _ => None,
    }
}

fn image_format(format: Format) -> image::ImageFormat {
    match format {
        Format::Png => image::ImageFormat::Png,
        Format::Jpeg => image::ImageFormat::Jpeg,
        Format::Bmp => image::ImageFormat::Bmp,
        Format::Tiff => image::ImageFormat::Tiff,
        Format::WebP => image::ImageFormat::WebP,
    }
}

fn damaged(name: &str, what: &str) -> Error {
    PictureError::Damaged { name: name.to_owned(), what: what.to_owned() }.into()
}

fn unknown(name: &str, start: &[u8]) -> Error {
    if start.is_empty() {
        return PictureError::Empty { name: name.to_owned() }.into();
    }
    match Format::sniff_foreign(start) {
        Some(kind) => PictureError::Foreign { name: name.to_owned(), kind }.into(),
        None => PictureError::NotAPicture { name: name.to_owned() }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL_CHANNELS, encoded, painted};
    use super::super::{Depth, PictureBuilder};
    use super::*;

    fn read(bytes: Vec<u8>) -> Result<Picture> {
        Picture::read(Input::from_bytes("photo", bytes), None)
    }

    /// Every picture that a format can hold, encoded.
    fn all_encoded() -> impl Iterator<Item = (Format, Picture, Vec<u8>)> {
        Format::ALL.into_iter().flat_map(|format| {
            ALL_CHANNELS.into_iter().flat_map(move |channels| {
                [Depth::Eight, Depth::Sixteen].into_iter().filter_map(move |depth| {
                    format.check(7, 5, channels, depth).ok()?;
                    let picture = painted(7, 5, channels, depth);
                    let bytes = encoded(&picture, format);
                    Some((format, picture, bytes))
                })
            })
        })
    }

    #[test]
    fn everything_comes_back() {
        let mut count = 0;
        for (format, picture, bytes) in all_encoded() {
            count += 1;
            let back = read(bytes).unwrap();
            let what = format!("{format:?} {:?} {:?}", picture.channels(), picture.depth());
            assert_eq!((back.width(), back.height(), back.depth()), (7, 5, picture.depth()), "{what}");
            // The formats' documentation says which channels come back.
            let expected = match (format, picture.channels()) {
                (Format::WebP, Channels::Gray) => Channels::Rgb,
                (Format::Bmp | Format::WebP | Format::Tiff, Channels::GrayAlpha) => Channels::Rgba,
                (_, same) => same,
            };
            assert_eq!(back.channels(), expected, "{what}");
            for channel in 0..expected.count() {
                let widened = expected != picture.channels();
                let original = match (widened, channel) {
                    (true, 3) => 1,
                    (true, _) => 0,
                    (false, same) => same,
                };
                let (mut a, mut b) = ([0.0; 35], [0.0; 35]);
                picture.read_rows(original, 0..5, &mut a);
                back.read_rows(channel, 0..5, &mut b);
                if format == Format::Jpeg {
                    assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 0.25), "{what} {channel}");
                } else {
                    assert_eq!(a, b, "{what} {channel}");
                }
            }
        }
        // PNG 8, JPEG 2, BMP 4, TIFF 8, WebP 4.
        assert_eq!(count, 26);
    }

    #[test]
    fn a_smooth_jpeg_is_close() {
        let ramp: Vec<f64> = (0..64 * 64).map(|i| f64::from(i % 64 + i / 64) / 126.0).collect();
        let mut builder = PictureBuilder::new(64, 64, Channels::Rgb, Depth::Eight).unwrap();
        (0..3).for_each(|channel| builder.write_rows(channel, 0, &ramp));
        let back = read(encoded(&builder.finish(), Format::Jpeg)).unwrap();
        let mut psnr = crate::data::psnr::Psnr::new();
        let mut values = vec![0.0; 64 * 64];
        for channel in 0..3 {
            back.read_rows(channel, 0..64, &mut values);
            psnr.push(&ramp, &values);
        }
        assert!(psnr.db() > 40.0, "{}", psnr.db());
    }

    #[test]
    fn truncation_never_gives_another_picture() {
        for (format, _, bytes) in all_encoded() {
            let whole = read(bytes.clone()).unwrap();
            for len in 0..bytes.len() {
                match read(bytes[..len].to_vec()) {
                    Ok(picture) => assert_eq!(picture, whole, "{format:?} cut at {len} of {}", bytes.len()),
                    Err(error) => assert!(error.to_string().starts_with("cannot read photo: "), "{error}"),
                }
            }
            assert!(read(bytes[..bytes.len() / 2].to_vec()).is_err(), "{format:?}");
        }
    }

    #[test]
    fn damage_never_panics() {
        for (_, _, bytes) in all_encoded() {
            for at in 0..bytes.len() {
                for flip in [0x01, 0x80, 0xff] {
                    let mut broken = bytes.clone();
                    broken[at] ^= flip;
                    let _ = read(broken);
                }
            }
        }
    }

    /// A file of a few bytes that claims `width` x `height`.
    fn bomb(format: Format, width: u32, height: u32) -> Vec<u8> {
        let picture = painted(7, 5, Channels::Rgb, Depth::Eight);
        let mut bytes = encoded(&picture, format);
        match format {
            Format::Png => {
                bytes[16..20].copy_from_slice(&width.to_be_bytes());
                bytes[20..24].copy_from_slice(&height.to_be_bytes());
                let crc = crc32(&bytes[12..29]);
                bytes[29..33].copy_from_slice(&crc.to_be_bytes());
            }
            Format::Bmp => {
                bytes[18..22].copy_from_slice(&width.to_le_bytes());
                bytes[22..26].copy_from_slice(&height.to_le_bytes());
            }
            _ => unreachable!("not used"),
        }
        bytes
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
        })
    }

    #[test]
    fn hostile_sizes_are_refused() {
        for format in [Format::Png, Format::Bmp] {
            for (width, height) in [(70_000, 5), (5, 70_000), (65_536, 65_536), (0x7fff_ffff, 0x7fff_ffff)] {
                let error = read(bomb(format, width, height)).unwrap_err();
                assert!(
                    error.to_string().contains("too large") || format == Format::Bmp,
                    "{format:?}: {error}"
                );
            }
            // The size is within the limits, but the pixels are missing.
            let error = read(bomb(format, 3000, 2000)).unwrap_err();
            assert!(error.to_string().contains("truncated or damaged"), "{error}");
            assert!(read(bomb(format, 0, 5)).is_err());
        }
    }

    #[test]
    fn strangers_are_named() {
        let text = |bytes: &[u8]| read(bytes.to_vec()).unwrap_err().to_string().to_owned();
        assert_eq!(text(b""), "cannot read photo: it is empty");
        assert_eq!(text(b"1,2\n3,4\n"), "cannot read photo: it is not a picture");
        assert_eq!(text(b"GIF89a......"), "cannot read photo: GIF pictures are not supported");
    }

    #[test]
    fn floating_point_is_refused() {
        let image = image::DynamicImage::ImageRgb32F(image::Rgb32FImage::new(3, 2));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, image::ImageFormat::Tiff).unwrap();
        let error = read(bytes.into_inner()).unwrap_err();
        assert_eq!(error.to_string(), "cannot read photo: samples of the kind Rgb32F are not supported");
        assert!(error.hint().is_some());
    }

    #[test]
    fn orientation_is_applied() {
        // A little-endian EXIF block whose only entry is orientation 6: turn right by 90 degrees to
        // view.
        let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0".to_vec();
        exif.extend([0; 4]);
        let picture = painted(7, 5, Channels::Gray, Depth::Eight);
        let png = encoded(&picture, Format::Png);
        let mut chunk = b"eXIf".to_vec();
        chunk.extend(&exif);
        let crc = crc32(&chunk);
        // Signature 8 bytes, IHDR chunk 25: the block goes after them.
        let mut turned = png[..33].to_vec();
        turned.extend((exif.len() as u32).to_be_bytes());
        turned.extend(&chunk);
        turned.extend(crc.to_be_bytes());
        turned.extend(&png[33..]);
        let back = read(turned).unwrap();
        assert_eq!((back.width(), back.height()), (5, 7));
        let (Samples::Eight(a), Samples::Eight(b)) = (picture.samples(), back.samples()) else {
            panic!("8 bits expected")
        };
        for y in 0..7 {
            for x in 0..5 {
                assert_eq!(b[y * 5 + x], a[(4 - x) * 7 + y]);
            }
        }
    }

    #[test]
    fn the_name_of_the_file_plays_no_part() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lies.jpg");
        let picture = painted(7, 5, Channels::Rgba, Depth::Sixteen);
        std::fs::write(&path, encoded(&picture, Format::Tiff)).unwrap();
        assert_eq!(Picture::read(Input::open(&path).unwrap(), None).unwrap(), picture);
    }
}
