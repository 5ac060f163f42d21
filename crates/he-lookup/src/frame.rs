//! The bytes of objects: a magic, a kind, a version, a body and a BLAKE3 checksum of all before.

use crate::error::{Error, Result};

const MAGIC: [u8; 4] = *b"HELK";
const VERSION: u8 = 1;
const CHECKSUM: usize = 16;

/// The bytes around a body.
pub(crate) const AROUND: usize = MAGIC.len() + 2 + CHECKSUM;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Description = 1,
    Query = 2,
    Answer = 3,
    Key = 4,
    Pack = 5,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Description => "description of a database",
            Self::Query => "query",
            Self::Answer => "answer",
            Self::Key => "client's key",
            Self::Pack => "pack of a database",
        }
    }

    pub(crate) fn damaged(self, why: impl Into<String>) -> Error {
        Error::Damaged { what: self.name(), why: why.into() }
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM]);
    sum
}

/// A frame with room for a body of so many bytes, to which it is appended.
pub(crate) fn begin(kind: Kind, body: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(AROUND + body);
    bytes.extend(MAGIC);
    bytes.extend([kind as u8, VERSION]);
    bytes
}

/// The frame with its checksum.
pub(crate) fn finish(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    bytes.extend(sum);
    bytes
}

/// The body of a frame of this kind.
///
/// # Errors
/// [`Error::Damaged`].
pub(crate) fn body(kind: Kind, bytes: &[u8]) -> Result<&[u8]> {
    let Some((before, sum)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(kind.damaged(format!("it has only {} bytes", bytes.len())));
    };
    let Some((start, rest)) = before.split_first_chunk::<6>() else {
        return Err(kind.damaged(format!("it has only {} bytes", bytes.len())));
    };
    if start[..4] != MAGIC || start[4] != kind as u8 {
        return Err(kind.damaged("it is something else"));
    }
    if start[5] != VERSION {
        return Err(kind.damaged(format!("it has version {}, and {VERSION} is known", start[5])));
    }
    if *sum != checksum(before) {
        return Err(kind.damaged("its checksum is wrong"));
    }
    Ok(rest)
}

/// A body that is read from its start to its end.
pub(crate) struct Reader<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(kind: Kind, bytes: &'a [u8]) -> Result<Self> {
        Ok(Self { kind, rest: body(kind, bytes)? })
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| self.kind.damaged("it is too short"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn packed(&mut self, count: usize, width: u32) -> Result<Vec<u64>> {
        let bytes = self.bytes(crate::bits::bytes(count, width))?;
        crate::bits::unpack(bytes, count, width)
            .ok_or_else(|| self.kind.damaged("it has bits beyond its end"))
    }

    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.kind.damaged("it is too long")) }
    }
}
