//! The numbers of a sensor file, piece by piece.

use super::header::Header;
use crate::error::{Error, IoContext, Result, TranscipherError};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::note::KeyId;
use he_core::aes::{BLOCK, Bulk, BulkCipher, Cpu};
use he_core::transcipher::SensorKey;
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Bytes that are encrypted or decrypted at a time: whole blocks.
const PIECE: usize = 1 << 16;

/// AES-CTR on consecutive pieces, all but the last of which are whole blocks.
struct Ctr<'a> {
    key: &'a SensorKey,
    counter: u128,
}

impl Ctr<'_> {
    fn apply(&mut self, piece: &mut [u8]) -> Result<()> {
        let counter = self.counter.to_be_bytes();
        Cpu::new().hazmat_ctr(self.key.key(), &counter, Bulk::in_place(piece))?;
        self.counter = self.counter.wrapping_add((piece.len() / BLOCK) as u128);
        Ok(())
    }
}

/// A sensor file being written.
pub(super) struct Encryptor<'a> {
    ctr: Ctr<'a>,
    output: Output,
    name: String,
    held: Zeroizing<Vec<u8>>,
}

impl<'a> Encryptor<'a> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output cannot be written; a name is too long for it.
    pub fn new(key: &'a SensorKey, header: &Header, mut output: Output) -> Result<Self> {
        let name = output.name();
        output.write_all(&header.to_bytes(&name)?).writing(&name)?;
        let ctr = Ctr { key, counter: u128::from_be_bytes(header.counter) };
        // Growing would leave copies of plain data behind.
        Ok(Self { ctr, output, name, held: Zeroizing::new(Vec::with_capacity(PIECE)) })
    }

    /// Encrypts the next bytes.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn push(&mut self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(PIECE - self.held.len()));
            self.held.extend_from_slice(now);
            data = later;
            if self.held.len() == PIECE {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.ctr.apply(&mut self.held)?;
        self.output.write_all(&self.held).writing(&self.name)?;
        self.held.clear();
        Ok(())
    }

    /// Gives the file its name; returns its bytes.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(mut self) -> Result<u64> {
        self.flush()?;
        let bytes = self.output.bytes();
        self.output.commit()?;
        Ok(bytes)
    }
}

/// A sensor file whose header has been read.
pub struct SensorFile {
    /// Its name in errors.
    pub name: String,
    /// Its header, which nothing authenticates.
    pub header: Header,
    header_len: u64,
    input: Input,
    left: u64,
}

impl SensorFile {
    /// Reads the header, and compares what it says with the length of the file if that is known.
    ///
    /// # Errors
    /// It is not a sensor file, or it is truncated or too long, or a field is out of range.
    pub fn read(mut input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        let header = Header::read(&mut input, &name)?;
        let (left, header_len) = (header.data_len(), header.to_bytes(&name)?.len() as u64);
        if let Some(len) = input.known_len() {
            let data = len.saturating_sub(header_len);
            if data < left {
                return Err(TranscipherError::Truncated { name, missing: left - data }.into());
            }
            if data > left {
                return Err(TranscipherError::Trailing { name }.into());
            }
        }
        Ok(Self { name, header, header_len, input, left })
    }

    /// Its bytes, header included.
    pub fn length(&self) -> u64 {
        self.header_len + self.header.data_len()
    }

    /// Checks that it is encrypted under a sensor key, which lies in the file `key`.
    ///
    /// # Errors
    /// It is encrypted under another one.
    pub fn check_sensor(&self, sensor: &KeyId, key: &str) -> Result<()> {
        let found = KeyId::of_sensor(self.header.key);
        if &found == sensor {
            return Ok(());
        }
        let (name, key) = (self.name.clone(), key.to_owned());
        let [found, expected] = [&found, sensor].map(|id| id.short().to_owned());
        Err(TranscipherError::OtherSensor { name, found, key, expected }.into())
    }

    /// The next encrypted bytes, `most` of them except at the end; none after it.
    ///
    /// # Errors
    /// The file is truncated, or goes on after its end.
    pub(super) fn piece(&mut self, most: usize) -> Result<Vec<u8>> {
        let Self { name, input, left, .. } = self;
        let wanted = (*left).min(most as u64);
        let mut piece = Vec::new();
        input.take(wanted).read_to_end(&mut piece).map_err(|error| Error::io(error, "read", &*name))?;
        *left -= piece.len() as u64;
        if (piece.len() as u64) < wanted {
            return Err(TranscipherError::Truncated { name: name.clone(), missing: *left }.into());
        }
        if *left == 0 && !input.peek(1)?.is_empty() {
            return Err(TranscipherError::Trailing { name: name.clone() }.into());
        }
        Ok(piece)
    }

    /// Decrypts what is left, in the pieces that `take` gets.
    ///
    /// # Errors
    /// The same as for [`piece`](Self::piece); those of `take`.
    pub(super) fn decrypt(
        &mut self,
        key: &SensorKey,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut ctr = Ctr { key, counter: u128::from_be_bytes(self.header.counter) };
        loop {
            let mut piece = Zeroizing::new(self.piece(PIECE)?);
            if piece.is_empty() {
                return Ok(());
            }
            ctr.apply(&mut piece)?;
            take(&piece)?;
        }
    }
}
