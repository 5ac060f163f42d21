//! The contents that are encrypted and computed on: images in tiles and sample by sample, columns
//! of real numbers and of integers, of integers in digits.

pub(crate) mod alike;
pub mod clear;
pub mod digits;
pub mod encrypt;
pub mod images;
pub mod integers;
pub mod numbers;
mod of_bigckks;
mod of_ckks;
mod of_exact;
pub mod options;
pub mod over_rows;
pub mod packing;
pub mod pairing;
pub mod pairwise;
pub mod samples;
pub mod tables;
pub mod unpack;
pub mod uses;
pub mod view;

use self::clear::Clear;
use self::options::TableFlags;
use self::pairing::Pairing;
use self::unpack::{Opened, Unpack};
use crate::cipher_file::CipherReader;
use crate::data::picture::Picture;
use crate::error::{ContentError, Error, Result};
use crate::io::input::Input;
use crate::note::{Content, bad};
use crate::scheme::Scheme;
use crate::scheme::engine::Engine;
use crate::watch::Watch;
use he_any::layout::Op;

/// Vectors, batch by batch, in the order of the file. Each batch is made when it is asked for.
pub type Batches<'a, T> = Box<dyn Iterator<Item = Result<Vec<Vec<T>>>> + Send + 'a>;

/// A kind of content as a scheme encrypts it.
pub trait Kind<S: Scheme> {
    /// The data that are encrypted.
    type Clear;
    /// Its description.
    type Note;

    /// The description, if it is of this kind.
    fn note(content: &Content) -> Option<&Self::Note>;

    /// Describes what is to be encrypted.
    ///
    /// # Errors
    /// It does not fit the parameters; `halo` is given where there is none.
    fn describe(
        clear: &Self::Clear,
        params: &S::Params,
        halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content>;

    /// Packs it into vectors, batch by batch.
    ///
    /// # Errors
    /// The geometry is impossible.
    fn pack<'a>(
        clear: &'a Self::Clear,
        params: &S::Params,
        note: &'a Self::Note,
    ) -> Result<Batches<'a, S::Slot>>;

    /// The description of an operation on two contents, and how each of its parts (channels,
    /// columns) is computed.
    ///
    /// # Errors
    /// They do not fit together; the results exceed all numbers.
    fn pair(operator: Op, left: &Self::Note, right: &Self::Note) -> Result<(Content, Vec<Pairing>)>;

    /// Returns the unpacker that decrypts a file of this description.
    ///
    /// # Errors
    /// The description is impossible; there is not enough memory.
    fn unpacker<'a>(file: Opened<'a, S>, note: &Self::Note) -> Result<Box<dyn Unpack<S::Slot> + 'a>>;
}

/// A table as a scheme encrypts it.
pub trait Columns<S: Scheme>: Kind<S, Clear = Self> + Sized {
    /// Reads a table.
    ///
    /// # Errors
    /// The input is not a table, or not one that the scheme encrypts.
    fn read(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self>;
}

/// The data that are encrypted and computed on under a scheme.
pub trait Contents: Scheme {
    /// The kind of images that it encrypts.
    type Pictures: Kind<Self, Clear = Picture>;
    /// Its tables.
    type Table: Columns<Self> + Send + Sync;

    /// Checks that the numbers of a content fit the parameters.
    ///
    /// # Errors
    /// They do not.
    fn check_numbers(params: &Self::Params, content: &Content) -> Result<()> {
        let _ = (params, content);
        Ok(())
    }

    /// A batch of the first file with one of the second.
    ///
    /// # Errors
    /// Nothing is left to compute with; keys are missing; the device fails.
    fn combine(
        engine: &Engine<Self>,
        keys: &Self::Evaluation,
        operator: Op,
        pairing: &Pairing,
        left: &Self::Ciphertext,
        right: &Self::Ciphertext,
    ) -> Result<Self::Ciphertext>;

    /// Describes what is to be encrypted.
    ///
    /// # Errors
    /// It does not fit the parameters; `halo` is given where there is none.
    fn describe(
        clear: &Clear<Self::Table>,
        params: &Self::Params,
        halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content> {
        let content = match clear {
            Clear::Picture(picture) => Self::Pictures::describe(picture, params, halo, watch)?,
            Clear::Table(table) => Self::Table::describe(table, params, halo, watch)?,
        };
        Self::check_numbers(params, &content)?;
        Ok(content)
    }

    /// Packs it into vectors, batch by batch.
    ///
    /// # Errors
    /// The description is of something else.
    fn pack<'a>(
        clear: &'a Clear<Self::Table>,
        params: &Self::Params,
        content: &'a Content,
    ) -> Result<Batches<'a, Self::Slot>> {
        match (clear, Self::Pictures::note(content), Self::Table::note(content)) {
            (Clear::Picture(picture), Some(note), _) => Self::Pictures::pack(picture, params, note),
            (Clear::Table(table), _, Some(note)) => Self::Table::pack(table, params, note),
            _ => Err(ContentError::Mismatch.into()),
        }
    }

    /// The description of an operation on two files, and how each of its parts (channels, columns)
    /// is computed.
    ///
    /// # Errors
    /// The files do not fit together; results do not fit the parameters.
    fn pair(
        operator: Op,
        left: &CipherReader<Self>,
        right: &CipherReader<Self>,
    ) -> Result<(Content, Vec<Pairing>)> {
        let (a, b) = (&left.payload.content, &right.payload.content);
        let pictures = Self::Pictures::note(a).zip(Self::Pictures::note(b));
        let tables = Self::Table::note(a).zip(Self::Table::note(b));
        let (content, pairings) = match (pictures, tables) {
            (Some((a, b)), _) => Self::Pictures::pair(operator, a, b)?,
            (_, Some((a, b))) => Self::Table::pair(operator, a, b)?,
            (None, None) => return Err(differ(left, right)),
        };
        Self::check_numbers(&left.params, &content)?;
        Ok((content, pairings))
    }

    /// Returns the unpacker that decrypts a file of this description.
    ///
    /// # Errors
    /// The description is impossible; there is not enough memory.
    fn unpacker<'a>(file: Opened<'a, Self>, content: &Content) -> Result<Box<dyn Unpack<Self::Slot> + 'a>> {
        match (Self::Pictures::note(content), Self::Table::note(content)) {
            (Some(note), _) => Self::Pictures::unpacker(file, note),
            (_, Some(note)) => Self::Table::unpacker(file, note),
            (None, None) => Err(bad("kind of content")),
        }
    }
}

/// The error of two files of different contents.
fn differ<S: Scheme>(left: &CipherReader<S>, right: &CipherReader<S>) -> Error {
    let (a, b) = (left.payload.content.name(), right.payload.content.name());
    ContentError::Unlike { left: left.name.clone(), left_is: a, right: right.name.clone(), right_is: b }
        .into()
}
