//! What the decoder of JPEG does not say: whether a file is whole, and its pixels per length.

use super::metadata::{Resolution, Unit};

/// Walks a JPEG's segments and its entropy-coded data up to the end marker. An end marker inside a
/// segment (a thumbnail's) does not count.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        // Entropy-coded data and padding: on to the next marker. FF 00 is a stuffed byte, FF D0 ..
        // D7 a restart.
        let marker = loop {
            match (bytes.get(at), bytes.get(at + 1)) {
                (Some(0xff), Some(&marker)) if !matches!(marker, 0x00 | 0xff | 0xd0..=0xd7) => break marker,
                (Some(_), Some(_)) => at += 1,
                _ => return false,
            }
        };
        at += 2;
        match marker {
            0xd9 => return true,
            // Markers that stand alone.
            0x01 | 0xd8 => {}
            _ => match bytes.get(at..at + 2) {
                Some(length) => at += usize::from(u16::from_be_bytes([length[0], length[1]])),
                None => return false,
            },
        }
    }
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
    use crate::data::picture::tests::{encoded, painted};
    use crate::data::picture::{Channels, Depth, Format};

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
}
