//! Pictures turned as their EXIF orientation says.

use super::{Samples, room_for};
use crate::error::Result;
use image::metadata::Orientation;

/// Whether rows become columns.
pub(super) fn is_sideways(orientation: Orientation) -> bool {
    use Orientation as O;
    matches!(orientation, O::Rotate90 | O::Rotate270 | O::Rotate90FlipH | O::Rotate270FlipH)
}

/// Samples turned as the orientation says; the new sides with them.
pub(super) fn upright(
    width: u32,
    height: u32,
    step: usize,
    samples: Samples,
    orientation: Orientation,
) -> Result<(u32, u32, Samples)> {
    fn turn<T: Copy>(
        old: &[T],
        (width, step): (usize, usize),
        (across, down): (usize, usize),
        from: impl Fn(usize, usize) -> (usize, usize),
    ) -> Result<Vec<T>> {
        let mut new = room_for(old.len())?;
        for y in 0..down {
            for x in 0..across {
                let (x, y) = from(x, y);
                new.extend_from_slice(&old[(y * width + x) * step..][..step]);
            }
        }
        Ok(new)
    }
    use Orientation as O;
    let (w, h) = (width as usize, height as usize);
    let sideways = is_sideways(orientation);
    // The origin of the new pixel x, y.
    let from = |x: usize, y: usize| match orientation {
        O::NoTransforms => (x, y),
        O::FlipHorizontal => (w - 1 - x, y),
        O::FlipVertical => (x, h - 1 - y),
        O::Rotate180 => (w - 1 - x, h - 1 - y),
        O::Rotate90 => (y, h - 1 - x),
        O::Rotate270 => (w - 1 - y, x),
        O::Rotate90FlipH => (y, x),
        O::Rotate270FlipH => (w - 1 - y, h - 1 - x),
    };
    let size = if sideways { (h, w) } else { (w, h) };
    let samples = match samples {
        samples if orientation == O::NoTransforms => samples,
        Samples::Eight(old) => Samples::Eight(turn(&old, (w, step), size, from)?),
        Samples::Sixteen(old) => Samples::Sixteen(turn(&old, (w, step), size, from)?),
    };
    Ok(if sideways { (height, width, samples) } else { (width, height, samples) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::picture::tests::{ALL_CHANNELS, painted};
    use crate::data::picture::{Channels, Depth};

    #[test]
    fn every_orientation_is_that_of_the_library() {
        use Orientation as O;
        for channels in ALL_CHANNELS {
            let Samples::Sixteen(samples) = painted(5, 3, channels, Depth::Sixteen).samples().clone() else {
                panic!("16 bits expected")
            };
            let image =
                |width, height, samples: Vec<u16>| match channels {
                    Channels::Gray => image::ImageBuffer::from_raw(width, height, samples)
                        .map(image::DynamicImage::ImageLuma16),
                    Channels::GrayAlpha => image::ImageBuffer::from_raw(width, height, samples)
                        .map(image::DynamicImage::ImageLumaA16),
                    Channels::Rgb => image::ImageBuffer::from_raw(width, height, samples)
                        .map(image::DynamicImage::ImageRgb16),
                    Channels::Rgba => image::ImageBuffer::from_raw(width, height, samples)
                        .map(image::DynamicImage::ImageRgba16),
                };
            for orientation in [
                O::NoTransforms,
                O::Rotate90,
                O::Rotate180,
                O::Rotate270,
                O::FlipHorizontal,
                O::FlipVertical,
                O::Rotate90FlipH,
                O::Rotate270FlipH,
            ] {
                let mut expected = image(5, 3, samples.clone()).unwrap();
                expected.apply_orientation(orientation);
                let (width, height, found) =
                    upright(5, 3, channels.count(), Samples::Sixteen(samples.clone()), orientation).unwrap();
                let Samples::Sixteen(found) = found else { panic!("16 bits expected") };
                assert_eq!(image(width, height, found).unwrap(), expected, "{orientation:?} {channels:?}");
            }
        }
    }
}
