//! The contents that are encrypted, and those that are decrypted.

use super::{Columns, Contents};
use crate::cipher_file::CipherReader;
use crate::contents::numbers::Numbers;
use crate::contents::options::TableFlags;
use crate::data::picture::{Format, Picture};
use crate::data::table::{Cell, Table, looks_like_table};
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::passphrase::is_sealed;
use crate::team::Team;
use crate::watch::Watch;
use he_core::aes::container;
use std::io::Write;

/// The bytes by which the kind of a file is recognised.
const PEEK: usize = 4096;

/// The content to be encrypted.
pub enum Clear<T> {
    /// An image.
    Picture(Picture),
    /// Numbers.
    Table(T),
}

impl<T> Clear<T> {
    /// Reads a file for a scheme, recognised by its content; from a file of several images, the one
    /// with the number `frame`.
    ///
    /// # Errors
    /// The file is neither an image nor a table, or it is damaged.
    pub fn read<S: Contents<Table = T>>(
        mut input: Input,
        flags: TableFlags<'_>,
        frame: Option<u32>,
        watch: &dyn Watch,
    ) -> Result<Self>
    where
        T: Columns<S>,
    {
        let name = input.name().to_owned();
        let start = input.peek(PEEK)?;
        if start.is_empty() || Format::sniff(start).is_some() || Format::sniff_foreign(start).is_some() {
            return Ok(Self::Picture(Picture::read(input, frame)?));
        }
        if start.starts_with(b"HEWF") || start.starts_with(&container::MAGIC) || is_sealed(start) {
            return Err(ContentError::OurFile { name }.into());
        }
        if looks_like_table(start) && frame.is_some() {
            return Err(ContentError::FrameOfTable { name }.into());
        }
        if looks_like_table(start) {
            return Ok(Self::Table(T::read(input, flags, watch)?));
        }
        Err(ContentError::Unknown { name }.into())
    }
}

pub use super::options::View;

/// The decrypted content.
pub enum Plain {
    /// An image.
    Picture(Picture),
    /// The numbers of an image.
    Numbers(Numbers),
    /// Real numbers.
    Table(Table<f64>),
    /// Integers, categories and counts.
    Cells(Table<Cell>),
}

impl Plain {
    /// Decrypts a file; `view` is the requested view of an image.
    ///
    /// # Errors
    /// The file is damaged; the device fails; the result does not match its description.
    pub fn decrypt<S: Contents>(
        team: &Team<S>,
        key: &S::Secret,
        reader: &mut CipherReader<S>,
        view: View,
    ) -> Result<Self> {
        let decryptors = team.each(|engine| S::decryptor(engine, key))?;
        S::unpack(team, reader, &decryptors, view)
    }

    /// Writes it: an image in its format, numbers and tables as CSV.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, format: Format, output: &mut impl Write) -> Result<()> {
        match self {
            Self::Picture(picture) => picture.encode(format, output),
            Self::Numbers(numbers) => numbers.write(output),
            Self::Table(table) => table.write(output, b','),
            Self::Cells(table) => table.write(output, b','),
        }
    }
}
