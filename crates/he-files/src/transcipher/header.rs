//! The header of sensor files (docs/format.md).

use crate::data::integers::Integers;
use crate::data::picture::Channels;
use crate::data::table::MAX_VALUES;
use crate::error::{Error, Result, TranscipherError};
use crate::tfhe::note::{ColumnsNote, Pixels, WIDTHS};
use he_core::aes::BLOCK;
use he_core::aes::container::KeyId;
use std::io::{ErrorKind, Read};

/// The first bytes of a sensor file.
pub const MAGIC: [u8; 8] = *b"HEAESCTR";
/// The version that is written and read.
const VERSION: u8 = 1;
/// The content of a file.
const TABLE: u8 = 1;
const PICTURE: u8 = 2;
/// The length of a name that is missing.
const NO_NAME: u16 = u16::MAX;

/// The header: what the numbers are, and what they are encrypted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The numbers: those of a table or of a picture, never conditions.
    pub content: ColumnsNote,
    /// The sensor key.
    pub key: KeyId,
    /// The first counter block.
    pub counter: [u8; BLOCK],
}

impl Header {
    /// The bytes in front of the numbers.
    ///
    /// # Errors
    /// A name of a column is too long.
    pub fn to_bytes(&self, name: &str) -> Result<Vec<u8>> {
        let ColumnsNote { width, signed, rows, columns, picture } = &self.content;
        let mut bytes = MAGIC.to_vec();
        bytes.extend([VERSION, if picture.is_some() { PICTURE } else { TABLE }]);
        bytes.extend([(width / 8) as u8, u8::from(*signed)]);
        bytes.extend((columns.len() as u32).to_le_bytes());
        match picture {
            None => bytes.extend(rows.to_le_bytes()),
            Some(Pixels { width, height }) => {
                bytes.extend([width.to_le_bytes(), height.to_le_bytes()].as_flattened());
            }
        }
        bytes.extend(self.key.0);
        bytes.extend(self.counter);
        if picture.is_none() {
            for column in columns {
                let text = column.as_deref().unwrap_or_default().as_bytes();
                let len = match (column, u16::try_from(text.len())) {
                    (None, _) => NO_NAME,
                    (Some(_), Ok(len)) if len != NO_NAME => len,
                    _ => return Err(impossible(name, "name of a column")),
                };
                bytes.extend(len.to_le_bytes());
                bytes.extend(text);
            }
        }
        Ok(bytes)
    }

    /// Reads a header. Nothing is allocated but what was read.
    ///
    /// # Errors
    /// It is not one, it is truncated, or of another version, or a field is out of range. Errors
    /// call the file `name`.
    pub fn read(input: &mut impl Read, name: &str) -> Result<Self> {
        let mut fields = Fields { input, name };
        if fields.take()? != MAGIC {
            return Err(TranscipherError::NotASensorFile { name: name.to_owned() }.into());
        }
        let [version] = fields.take()?;
        if version != VERSION {
            let (name, found) = (name.to_owned(), version);
            return Err(TranscipherError::Version { name, found, newest: VERSION }.into());
        }
        let [kind, bytes, signed] = fields.take()?;
        let signed = match signed {
            0 => false,
            1 => true,
            _ => return Err(impossible(name, "sign")),
        };
        let integers = Integers { bits: 8 * u32::from(bytes), signed };
        let count = u32::from_le_bytes(fields.take()?);
        let [low, high]: [[u8; 4]; 2] = [fields.take()?, fields.take()?];
        let (key, counter) = (KeyId(fields.take()?), fields.take()?);
        let [width, height] = [low, high].map(u32::from_le_bytes);
        let (rows, columns, picture) = match kind {
            TABLE => (u64::from(width) | u64::from(height) << 32, fields.names(count)?, None),
            PICTURE => {
                let channels = Channels::of_count(count as usize);
                let channels = channels.ok_or_else(|| impossible(name, "number of channels"))?;
                let names = channels.names().iter().map(|&name| Some(name.to_owned()));
                let picture = Pixels { width, height };
                (picture.count(), names.collect(), Some(picture))
            }
            _ => return Err(impossible(name, "kind of content")),
        };
        let content = ColumnsNote { width: integers.bits, signed, rows, columns, picture };
        check(&content).map_err(|what| impossible(name, what))?;
        Ok(Self { content, key, counter })
    }

    /// The integers.
    pub fn integers(&self) -> Integers {
        self.content.integers()
    }

    /// Bytes of the encrypted numbers.
    pub fn data_len(&self) -> u64 {
        self.content.values() * u64::from(self.content.width / 8)
    }
}

/// Refuses a content that is impossible whatever the parameters that it is transciphered under.
fn check(content: &ColumnsNote) -> Result<(), &'static str> {
    if !WIDTHS.contains(&content.width) {
        return Err("width");
    }
    let values = content.rows.checked_mul(content.columns.len() as u64);
    if values.is_none_or(|values| values == 0 || values > MAX_VALUES as u64) {
        return Err("number of rows or columns");
    }
    if content.picture.is_some() && content.samples().is_none() {
        return Err("kind of samples");
    }
    Ok(())
}

fn impossible(name: &str, what: &'static str) -> Error {
    TranscipherError::Header { name: name.to_owned(), what }.into()
}

/// Fields of a header as they are read.
struct Fields<'a, R> {
    input: &'a mut R,
    name: &'a str,
}

impl<R: Read> Fields<'_, R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let missing = bytes.len() as u64;
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                TranscipherError::Truncated { name: self.name.to_owned(), missing }.into()
            }
            _ => Error::io(error, "read", self.name),
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The names of so many columns, none of which takes memory before its bytes were read.
    fn names(&mut self, count: u32) -> Result<Vec<Option<String>>> {
        let mut names = Vec::new();
        for _ in 0..count {
            let len = u16::from_le_bytes(self.take()?);
            names.push(match len {
                NO_NAME => None,
                len => {
                    let mut text = vec![0; len.into()];
                    self.fill(&mut text)?;
                    Some(String::from_utf8(text).map_err(|_| impossible(self.name, "name of a column"))?)
                }
            });
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Header {
        let columns = vec![Some("temperature".to_owned()), None, Some(String::new())];
        let content = ColumnsNote { width: 16, signed: true, rows: 5, columns, picture: None };
        Header { content, key: KeyId([7; 16]), counter: [9; 16] }
    }

    fn picture() -> Header {
        let picture = Some(Pixels { width: 3, height: 2 });
        let columns = ["red", "green", "blue"].map(|name| Some(name.to_owned())).to_vec();
        let content = ColumnsNote { width: 8, signed: false, rows: 6, columns, picture };
        Header { content, ..table() }
    }

    fn read(mut bytes: &[u8]) -> Result<Header> {
        Header::read(&mut bytes, "file")
    }

    #[test]
    fn headers_come_back() {
        for header in [table(), picture()] {
            let bytes = header.to_bytes("file").unwrap();
            assert_eq!(read(&bytes).unwrap(), header);
            for len in 0..bytes.len() {
                let error = read(&bytes[..len]).unwrap_err();
                assert!(matches!(error, Error::Transcipher(TranscipherError::Truncated { .. })), "{error}");
            }
        }
        assert_eq!(table().data_len(), 5 * 3 * 2);
        assert_eq!(picture().data_len(), 6 * 3);
        let mut long = table();
        long.content.columns = vec![Some("x".repeat(65535))];
        assert!(long.to_bytes("file").is_err());
    }

    #[test]
    fn impossible_headers_are_refused() {
        let changed = |header: &Header, at: usize, value: &[u8]| {
            let mut bytes = header.to_bytes("file").unwrap();
            bytes[at..at + value.len()].copy_from_slice(value);
            read(&bytes).unwrap_err().to_string()
        };
        let (table, picture) = (table(), picture());
        for (header, at, value, what) in [
            (&table, 9, &[0][..], "kind of content"),
            (&table, 9, &[3], "kind of content"),
            (&table, 10, &[0], "width"),
            (&table, 10, &[3], "width"),
            (&table, 10, &[64], "width"),
            (&table, 11, &[2], "sign"),
            (&table, 12, &[0; 4], "number of rows or columns"),
            (&table, 16, &[0; 8], "number of rows or columns"),
            (&table, 16, &[255; 8], "number of rows or columns"),
            (&picture, 12, &[0; 4], "number of channels"),
            (&picture, 12, &[5, 0, 0, 0], "number of channels"),
            (&picture, 16, &[0; 4], "number of rows or columns"),
            (&picture, 16, &[255; 8], "number of rows or columns"),
            (&picture, 10, &[4], "kind of samples"),
            (&picture, 11, &[1], "kind of samples"),
        ] {
            let message = changed(header, at, value);
            assert_eq!(message, format!("file: the header of the sensor file holds an impossible {what}"));
        }
        assert!(changed(&table, 0, b"HEAESGCM").ends_with("is not a sensor file"));
        assert!(changed(&table, 8, &[2]).contains("version 2 of sensor files is unknown"));
        // More columns than there are bytes end where the bytes do.
        assert!(changed(&table, 12, &[255; 4]).contains("is truncated"));
        let mut bytes = table.to_bytes("file").unwrap();
        bytes[58] = 0xff;
        assert!(read(&bytes).unwrap_err().to_string().ends_with("impossible name of a column"));
    }
}
