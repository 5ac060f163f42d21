//! Facts that the decoder of JPEG does not tell: whether a file is whole, and its pixels per
//! length.

use super::metadata::{Resolution, Unit};

/// A JPEG's markers with their segments, as far as there are any, over its entropy-coded data.
/// Bytes that look like a marker inside a segment (a thumbnail's) do not count.
fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        // Entropy-coded data and padding: on to the next marker. FF 00 is a stuffed byte, FF D0 ..
        // D7 a restart.
        let marker = loop {
            match (bytes.get(at)?, *bytes.get(at + 1)?) {
                (0xff, marker) if !matches!(marker, 0x00 | 0xff | 0xd0..=0xd7) => break marker,
                _ => at += 1,
            }
        };
        at += 2;
        // Markers that stand alone.
        if matches!(marker, 0x01 | 0xd8 | 0xd9) {
            return Some((marker, &[][..]));
        }
        let length = usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let segment = bytes.get(at + 2..at + length).unwrap_or_default();
        at += length;
        Some((marker, segment))
    })
}

/// Whether a JPEG has its end marker.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    segments(bytes).any(|(marker, _)| marker == 0xd9)
}

/// Whether no component has more samples than the first, as in all JPEGs that are in use. The
/// decoder panics for some of the others.
pub(super) fn is_first_finest(bytes: &[u8]) -> bool {
    let headers = segments(bytes).take_while(|(marker, _)| *marker != 0xd9);
    let mut headers =
        headers.filter(|(marker, _)| matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc));
    headers.all(|(_, header)| {
        // Depth, height, width and number of components, then of each its number, its samples
        // across and down, and its table.
        let mut sampling = header.get(6..).unwrap_or_default().chunks_exact(3).map(|component| component[1]);
        let first = sampling.next().unwrap_or_default();
        sampling.all(|other| other >> 4 <= first >> 4 && other & 15 <= first & 15)
    })
}

/// The pixels per length of a JPEG's JFIF header.
pub(super) fn resolution(bytes: &[u8]) -> Option<Resolution> {
    let mut at = 2;
    loop {
        let [0xff, marker, high, low] = *bytes.get(at..)?.first_chunk()? else { return None };
        let len = usize::from(u16::from_be_bytes([high, low]));
        match (marker, bytes.get(at + 4..at + 2 + len)?) {
            // Version, unit, numbers across and down, thumbnail.
            (0xe0, [b'J', b'F', b'I', b'F', 0, _, _, unit, x0, x1, y0, y1, ..]) => {
                let unit = match unit {
                    1 => Unit::Inch,
                    2 => Unit::Centimetre,
                    // Without a unit, it is the shape of a pixel.
                    _ => return None,
                };
                let [x, y] = [[*x0, *x1], [*y0, *y1]].map(|number| f64::from(u16::from_be_bytes(number)));
                return Resolution::new(x, y, unit);
            }
            // Other applications' segments may come first.
            (0xe0..=0xef | 0xfe, _) => at += 2 + len,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::picture::Picture;
    use crate::data::picture::tests::{encoded, painted};
    use crate::data::picture::{Channels, Depth, Format};
    use crate::io::input::Input;

    #[test]
    fn a_thumbnail_does_not_end_a_jpeg() {
        let bytes = encoded(&painted(7, 5, Channels::Gray, Depth::Eight), Format::Jpeg);
        assert!(is_complete(&bytes));
        assert!(!is_complete(&bytes[..bytes.len() - 1]));
        // An application segment that holds an end marker, then the file without its end.
        let mut tricky = bytes[..2].to_vec();
        tricky.extend([0xff, 0xe1, 0, 4, 0xff, 0xd9]);
        tricky.extend(&bytes[2..bytes.len() - 2]);
        assert!(!is_complete(&tricky));
        tricky.extend([0xff, 0xd9]);
        assert!(is_complete(&tricky));
    }
    /// Fuzzing found one of these on which the decoder panics.
    #[test]
    fn the_first_component_is_the_finest() {
        let bytes = encoded(&painted(7, 5, Channels::Rgb, Depth::Eight), Format::Jpeg);
        let header = bytes.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
        let with = |component: usize, sampling: u8| {
            let mut bytes = bytes.clone();
            bytes[header + 11 + 3 * component] = sampling;
            bytes
        };
        assert!(is_first_finest(&bytes) && is_first_finest(&with(0, 0x22)));
        for (component, sampling) in [(1, 0x31), (2, 0x13), (2, 0x44)] {
            let odd = with(component, sampling);
            assert!(!is_first_finest(&odd), "{component}");
            let error = Picture::read(Input::from_bytes("photo", odd), None).unwrap_err().to_string();
            assert!(error.starts_with("cannot read photo: "), "{error}");
        }
    }
}
