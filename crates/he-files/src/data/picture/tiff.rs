//! Directories of TIFF files, one per page. The decoder reads the first, and the encoder writes no
//! resolution.

use super::metadata::{MAX_PROFILE, Metadata, Profile, Resolution, Unit};
use crate::io::input::ReadSeek;
use std::collections::HashSet;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

/// The most directories that are read.
const MAX_PAGES: usize = 1 << 16;
/// Denominator of resolutions that are not whole.
const FINE: f64 = 10_000.0;

const SUBFILE_TYPE: u16 = 254;
const X_RESOLUTION: u16 = 282;
const Y_RESOLUTION: u16 = 283;
const RESOLUTION_UNIT: u16 = 296;
const ICC_PROFILE: u16 = 34_675;

/// Types of values.
const BYTE: u64 = 1;
const SHORT: u64 = 3;
const LONG: u64 = 4;
const RATIONAL: u64 = 5;
const UNDEFINED: u64 = 7;

/// Units of length.
const INCH: u64 = 2;
const CENTIMETRE: u64 = 3;

/// The form of numbers: Intel's or Motorola's order, offsets of 4 or 8 bytes (BigTIFF).
#[derive(Clone, Copy, Debug)]
struct Layout {
    little: bool,
    big: bool,
}

impl Layout {
    /// By the first four bytes.
    fn of(start: &[u8]) -> Option<Self> {
        let (little, version) = match start.get(..4)? {
            [b'I', b'I', version, 0] => (true, *version),
            [b'M', b'M', 0, version] => (false, *version),
            _ => return None,
        };
        matches!(version, 42 | 43).then_some(Self { little, big: version == 43 })
    }

    fn number(self, bytes: &[u8]) -> u64 {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
    }

    /// Bytes of an offset.
    fn offset(self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// The place of the offset of the first directory.
    fn first(self) -> usize {
        self.offset()
    }

    /// Bytes of the number of entries.
    fn count(self) -> usize {
        if self.big { 8 } else { 2 }
    }

    /// Bytes of an entry: tag, type, number of values, and the value or its offset.
    fn entry(self) -> usize {
        if self.big { 20 } else { 12 }
    }
}

/// Entries of a directory that are looked at: those of any picture are fewer.
const MAX_ENTRIES: u64 = 256;

/// The entries of a directory that matter here.
#[derive(Debug, Default)]
struct Directory {
    /// The place of the next one; 0 after the last.
    next: u64,
    /// A smaller copy of another page, or its mask.
    is_aside: bool,
    /// The places of the numbers of pixels across and down per unit: two u32 each, numerator and
    /// denominator.
    resolution: [Option<u64>; 2],
    /// The place of the unit: 2 is an inch, 3 a centimetre.
    unit: Option<u64>,
    /// The place of the ICC profile, and its bytes.
    profile: Option<(u64, u64)>,
}

impl Directory {
    fn read(source: &mut (impl Read + Seek + ?Sized), layout: Layout, at: u64) -> io::Result<Self> {
        let mut found = Self::default();
        let mut buffer = [0; 20];
        source.seek(SeekFrom::Start(at))?;
        source.read_exact(&mut buffer[..layout.count()])?;
        let count = layout.number(&buffer[..layout.count()]);
        let mut end = at.saturating_add(layout.count() as u64);
        for _ in 0..count.min(MAX_ENTRIES) {
            let entry = &mut buffer[..layout.entry()];
            source.read_exact(entry)?;
            end = end.saturating_add(layout.entry() as u64);
            // The value itself if it fits, otherwise its offset.
            let value = end - layout.offset() as u64;
            let field = &entry[layout.entry() - layout.offset()..];
            match (layout.number(&entry[..2]) as u16, layout.number(&entry[2..4])) {
                (SUBFILE_TYPE, LONG) => found.is_aside = layout.number(&field[..4]) & 5 != 0,
                (tag @ (X_RESOLUTION | Y_RESOLUTION), RATIONAL) => {
                    let place = if layout.big { value } else { layout.number(field) };
                    found.resolution[usize::from(tag - X_RESOLUTION)] = Some(place);
                }
                (RESOLUTION_UNIT, SHORT) => found.unit = Some(value),
                (ICC_PROFILE, BYTE | UNDEFINED) => {
                    let len = layout.number(&entry[4..][..layout.offset()]);
                    found.profile = Some((layout.number(field), len));
                }
                _ => {}
            }
        }
        let skipped = count.saturating_sub(MAX_ENTRIES).saturating_mul(layout.entry() as u64);
        source.seek(SeekFrom::Start(end.saturating_add(skipped)))?;
        source.read_exact(&mut buffer[..layout.offset()])?;
        found.next = layout.number(&buffer[..layout.offset()]);
        Ok(found)
    }
}

/// Reads the bytes at a place; nothing beyond the end.
fn bytes_at<const N: usize>(source: &mut (impl Read + Seek + ?Sized), at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.seek(SeekFrom::Start(at))?;
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The pages of a file.
pub struct Pages {
    layout: Layout,
    directories: Vec<(u64, Directory)>,
}

impl Pages {
    /// Finds them, without the companions of a page (its thumbnail). Damage is left to the decoder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(source: &mut dyn ReadSeek) -> io::Result<Self> {
        let start: [u8; 16] = match bytes_at(source, 0) {
            Ok(start) => start,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => [0; 16],
            Err(error) => return Err(error),
        };
        let mut pages = Self { layout: Layout { little: true, big: false }, directories: Vec::new() };
        let Some(layout) = Layout::of(&start) else { return Ok(pages) };
        pages.layout = layout;
        let (mut next, mut seen) =
            (layout.number(&start[layout.first()..][..layout.offset()]), HashSet::new());
        while next != 0 && seen.len() < MAX_PAGES && seen.insert(next) {
            let directory = match Directory::read(source, layout, next) {
                Ok(directory) => directory,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            };
            let at = std::mem::replace(&mut next, directory.next);
            if pages.directories.is_empty() || !directory.is_aside {
                pages.directories.push((at, directory));
            }
        }
        Ok(pages)
    }

    /// The number of directories.
    pub fn count(&self) -> usize {
        self.directories.len()
    }

    /// The metadata of page `index`. (The decoder reads no profile that is longer than the
    /// samples.)
    pub fn metadata(&self, source: &mut dyn ReadSeek, index: usize) -> Metadata {
        Metadata { profile: self.profile(source, index), resolution: self.resolution(source, index) }
    }

    fn profile(&self, source: &mut dyn ReadSeek, index: usize) -> Option<Profile> {
        let (at, len) = self.directories.get(index)?.1.profile?;
        let mut bytes = vec![0; usize::try_from(len).ok().filter(|&len| len <= MAX_PROFILE)?];
        source.seek(SeekFrom::Start(at)).ok()?;
        source.read_exact(&mut bytes).ok()?;
        Profile::new(bytes)
    }

    fn resolution(&self, source: &mut dyn ReadSeek, index: usize) -> Option<Resolution> {
        let (_, directory) = self.directories.get(index)?;
        let mut number = |place: Option<u64>| {
            let bytes: [u8; 8] = bytes_at(source, place?).ok()?;
            let [above, below] = [&bytes[..4], &bytes[4..]].map(|part| self.layout.number(part) as f64);
            Some(above / below)
        };
        let [x, y] = [number(directory.resolution[0])?, number(directory.resolution[1])?];
        let unit = match directory.unit {
            // Inches if not stated.
            None => INCH,
            Some(place) => self.layout.number(&bytes_at::<2>(source, place).ok()?),
        };
        match unit {
            INCH => Resolution::new(x, y, Unit::Inch),
            CENTIMETRE => Resolution::new(x, y, Unit::Centimetre),
            // Without a unit, it is the shape of a pixel.
            _ => None,
        }
    }

    /// The file with page `index` as its first.
    pub fn select(&self, source: Box<dyn ReadSeek>, index: usize) -> Box<dyn ReadSeek> {
        match self.directories.get(index) {
            Some((at, _)) if index > 0 => {
                let (little, big) = (at.to_le_bytes(), at.to_be_bytes());
                let len = self.layout.offset();
                let offset = if self.layout.little { &little[..len] } else { &big[8 - len..] };
                let first = self.layout.first() as u64;
                Box::new(BufReader::new(Redirected { inner: source, first, offset: offset.to_vec(), at: 0 }))
            }
            _ => source,
        }
    }
}

/// A file with other bytes at one place.
struct Redirected {
    inner: Box<dyn ReadSeek>,
    first: u64,
    offset: Vec<u8>,
    at: u64,
}

impl Read for Redirected {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.inner.seek(SeekFrom::Start(self.at))?;
        let count = self.inner.read(out)?;
        for (byte, place) in out[..count].iter_mut().zip(self.at..) {
            let inside = place.checked_sub(self.first).and_then(|index| self.offset.get(index as usize));
            *byte = inside.copied().unwrap_or(*byte);
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Redirected {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Current(by) => self.at.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?,
            elsewhere => self.inner.seek(elsewhere)?,
        };
        Ok(self.at)
    }
}

/// Writes a resolution into a file of one page as the encoder makes it, which has room for one.
///
/// # Errors
/// It has no room.
pub fn set_resolution(file: &mut [u8], resolution: Resolution) -> io::Result<()> {
    let pages = Pages::read(&mut Cursor::new(&*file))?;
    let (layout, Some((_, directory))) = (pages.layout, pages.directories.first()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let unit = if resolution.unit == Unit::Inch { Unit::Inch } else { Unit::Centimetre };
    let number = |value: u32| if layout.little { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut put = |place: Option<u64>, bytes: &[u8]| {
        let start = usize::try_from(place.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let target = start.checked_add(bytes.len()).and_then(|end| file.get_mut(start..end));
        target.map(|target| target.copy_from_slice(bytes)).ok_or(io::ErrorKind::InvalidData)
    };
    for (place, value) in directory.resolution.iter().zip(resolution.per(unit)) {
        let below = if value.fract() == 0.0 || value > 1e5 { 1.0 } else { FINE };
        // The number is rounded, and the cast saturates.
        put(*place, &[number((value * below + 0.5) as u32), number(below as u32)].concat())?;
    }
    let code = if unit == Unit::Inch { INCH } else { CENTIMETRE } as u16;
    put(directory.unit, &if layout.little { code.to_le_bytes() } else { code.to_be_bytes() })?;
    Ok(())
}
