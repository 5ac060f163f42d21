//! The message under AES with its counter, in the hexadecimal text of the harness and in the file
//! that a server gets.

use super::instance::Instance;
use crate::error::{At as _, Error};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The bytes of a block and of a counter.
pub(super) const BLOCK: usize = 16;
/// The bytes of a number.
pub(super) const NUMBER: usize = 2;

/// The form of hexadecimal files.
const HEXADECIMAL: &str = "pairs of hexadecimal digits";

/// A message under AES.
#[derive(Debug)]
pub(super) struct Message {
    /// The first counter block; `None` if every block is encrypted by itself.
    pub counter: Option<[u8; BLOCK]>,
    /// Whole blocks.
    pub bytes: Vec<u8>,
}

impl Message {
    /// The message that the harness wrote.
    pub(super) fn from_harness(instance: &Instance) -> Result<Self, Error> {
        let counter =
            instance.has_counter().then(|| hexadecimal(&instance.folders.data("aes_iv.hex"), BLOCK));
        let path = instance.folders.data("db.hex");
        let bytes = hexadecimal(&path, NUMBER * instance.numbers())?;
        Self::new(&path, counter.transpose()?.unwrap_or_default(), bytes, instance)
    }

    /// The message of a file for servers.
    pub(super) fn read(instance: &Instance) -> Result<Self, Error> {
        let path = instance.folders.message();
        let counter = if instance.has_counter() { BLOCK } else { 0 };
        let mut bytes = limited(&path, counter + NUMBER * instance.numbers())?;
        if bytes.len() < counter {
            return Err(Error::count(&path, format!("{} bytes", bytes.len()), "a counter and blocks"));
        }
        let rest = bytes.split_off(counter);
        Self::new(&path, bytes, rest, instance)
    }

    fn new(path: &Path, counter: Vec<u8>, bytes: Vec<u8>, instance: &Instance) -> Result<Self, Error> {
        if bytes.is_empty() || !bytes.len().is_multiple_of(BLOCK) {
            return Err(Error::count(path, format!("{} bytes", bytes.len()), "whole blocks of 16"));
        }
        let wrong =
            |counter: Vec<u8>| Error::count(path, format!("a counter of {} bytes", counter.len()), BLOCK);
        let counter = instance.has_counter().then(|| counter.try_into().map_err(wrong)).transpose()?;
        Ok(Self { counter, bytes })
    }

    /// The bytes of the file for servers.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [self.counter.as_ref().map_or(&[][..], |counter| counter), &self.bytes].concat()
    }

    /// How many numbers it has.
    pub(super) fn numbers(&self) -> usize {
        self.bytes.len() / NUMBER
    }
}

/// The bytes of a file of at most so many.
fn limited(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    File::open(path).at(path)?.take(most as u64 + 1).read_to_end(&mut bytes).at(path)?;
    match bytes.len() > most {
        true => Err(Error::count(path, format!("more than {most} bytes"), format!("at most {most}"))),
        false => Ok(bytes),
    }
}

/// At most so many bytes of a file in hexadecimal, which may end with a new line.
pub(super) fn hexadecimal(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let text = limited(path, 2 * most + 1)?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    let (pairs, rest) = text.as_chunks();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty());
    bytes.ok_or_else(|| Error::Line { path: path.into(), line: 1, needed: HEXADECIMAL })
}
