//! The frames of a file, by their checksums, as its bytes pass by: without a copy and without a
//! second hash.

use he_core::wire::{FrameHeader, FrameKind};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The checksum of a frame: BLAKE3 of its header and its body.
pub type Checksum = [u8; 32];

/// The part of a frame that is next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Header,
    /// So many bytes of the body.
    Body(u64),
    Checksum,
    /// Nothing follows an end mark, nor is anything known of what follows bytes that are not
    /// frames; whoever reads them says so.
    Nothing,
}

/// The frames that have passed by.
#[derive(Debug)]
struct Frames {
    next: Next,
    /// The beginning of a header or a checksum.
    part: Vec<u8>,
    checksums: Vec<Checksum>,
}

impl Frames {
    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.next {
                Next::Header => self.header(bytes),
                Next::Body(left) => self.body(left, bytes),
                Next::Checksum => self.checksum(bytes),
                Next::Nothing => return,
            };
        }
    }

    /// Takes bytes until there are `size` of them, and returns the others.
    fn gather<'a>(&mut self, bytes: &'a [u8], size: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(size - self.part.len()));
        self.part.extend_from_slice(taken);
        rest
    }

    fn header<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = self.gather(bytes, FrameHeader::SIZE);
        if let Some(header) = self.part.first_chunk() {
            self.next = match FrameHeader::parse(header) {
                Ok(header) if header.kind != FrameKind::End => Next::Body(header.length),
                _ => Next::Nothing,
            };
            self.part.clear();
        }
        rest
    }

    fn body<'a>(&mut self, left: u64, bytes: &'a [u8]) -> &'a [u8] {
        let taken = left.min(bytes.len() as u64);
        self.next = if taken == left { Next::Checksum } else { Next::Body(left - taken) };
        &bytes[taken as usize..]
    }

    fn checksum<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = self.gather(bytes, size_of::<Checksum>());
        if let Some(&checksum) = self.part.first_chunk() {
            self.checksums.push(checksum);
            self.part.clear();
            self.next = Next::Header;
        }
        rest
    }
}

/// A list of frames that grows while a file is read or written.
#[derive(Clone, Debug)]
pub struct Listing(Arc<Mutex<Frames>>);

impl Default for Listing {
    fn default() -> Self {
        let frames = Frames { next: Next::Header, part: Vec::new(), checksums: Vec::new() };
        Self(Arc::new(Mutex::new(frames)))
    }
}

impl Listing {
    fn pass(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pass(bytes);
    }

    /// The checksums of the frames so far, in order, without that of the end mark.
    pub fn checksums(&self) -> Vec<Checksum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).checksums.clone()
    }
}

/// A reader or a writer with a list of the frames that went through it.
#[derive(Debug)]
pub struct Listed<T> {
    inner: T,
    listing: Listing,
}

impl<T> Listed<T> {
    /// Lists the frames that pass through `inner` from now on.
    pub fn new(inner: T, listing: Listing) -> Self {
        Self { inner, listing }
    }

    /// The reader or writer, and the list.
    pub fn into_parts(self) -> (T, Listing) {
        (self.inner, self.listing)
    }
}

impl<R: Read> Read for Listed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.listing.pass(&out[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Listed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.listing.pass(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::rlwe::Fingerprint;
    use he_core::wire::{Frame, FrameReader, FrameWriter};
    use std::io::Cursor;

    /// A file of frames with bodies of these lengths.
    fn file(lengths: &[usize]) -> (Vec<u8>, Listing) {
        let (mut bytes, listing, fingerprint) = (Vec::new(), Listing::default(), Fingerprint([7; 32]));
        let mut writer = FrameWriter::new(Listed::new(&mut bytes, listing.clone()));
        for &length in lengths {
            let body = (0..length).map(|i| i as u8).collect();
            writer.write(&Frame { kind: FrameKind::RelinKey, fingerprint, body }).unwrap();
        }
        writer.finish(fingerprint).unwrap();
        (bytes, listing)
    }

    #[test]
    fn the_list_is_that_of_the_reader_however_bytes_come() {
        let lengths = [0, 1, 31, 32, 33, 48, 1000];
        let (bytes, written) = file(&lengths);
        let mut reader = FrameReader::new(Cursor::new(&bytes));
        let places = std::iter::from_fn(|| reader.skip_frame(|_, _| u64::MAX >> 1).unwrap());
        let expected: Vec<Checksum> = places.map(|place| place.checksum).collect();
        assert_eq!(written.checksums(), expected);
        for piece in [1, 7, 47, 48, 80, 333, bytes.len()] {
            let listing = Listing::default();
            bytes.chunks(piece).for_each(|bytes| listing.pass(bytes));
            assert_eq!(listing.checksums(), written.checksums(), "pieces of {piece}");
        }
    }

    #[test]
    fn nothing_is_listed_of_other_bytes() {
        let (bytes, _) = file(&[5]);
        for cut in 0..bytes.len() {
            let listing = Listing::default();
            listing.pass(&bytes[..cut]);
            assert!(listing.checksums().len() <= 1);
        }
        let listing = Listing::default();
        listing.pass(&[b'x'; 500]);
        assert!(listing.checksums().is_empty());
    }
}
