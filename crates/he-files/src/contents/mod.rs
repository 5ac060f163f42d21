//! The contents that are encrypted and computed on: images in tiles and sample by sample, columns
//! of real numbers and of integers.

pub mod clear;
mod decrypt;
pub mod encrypt;
pub mod images;
pub mod integers;
pub mod numbers;
mod of_bigckks;
mod of_ckks;
mod of_exact;
pub mod operator;
pub mod options;
pub mod over_rows;
pub mod packing;
pub mod pairwise;
pub mod samples;
pub mod tables;
pub mod view;

use self::clear::{Clear, Plain, View};
use self::operator::{Operator, Pairing};
use self::options::TableFlags;
use crate::cipher_file::CipherReader;
use crate::data::picture::Picture;
use crate::error::{ContentError, Error, Result};
use crate::io::input::Input;
use crate::note::{Content, bad};
use crate::scheme::engine::Engine;
use crate::scheme::{Decrypt, Scheme};
use crate::team::Team;
use crate::watch::Watch;

/// Takes vectors, batch by batch.
pub type Sink<'a, T> = dyn FnMut(Vec<Vec<T>>) -> Result<()> + 'a;

/// A kind of content as a scheme encrypts it.
pub trait Kind<S: Scheme> {
    /// What is encrypted.
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
    /// The errors of the sink.
    fn pack(
        clear: &Self::Clear,
        params: &S::Params,
        note: &Self::Note,
        sink: &mut Sink<'_, S::Slot>,
        watch: &dyn Watch,
    ) -> Result<()>;

    /// The description of an operation on two contents, and how each of its parts (channels,
    /// columns) is computed.
    ///
    /// # Errors
    /// They do not fit together; the results exceed all numbers.
    fn pair(operator: Operator, left: &Self::Note, right: &Self::Note) -> Result<(Content, Vec<Pairing>)>;

    /// Decrypts a file of this description; `view` is the requested view of an image.
    ///
    /// # Errors
    /// The file is damaged; the device fails; the result does not match its description.
    fn unpack(
        team: &Team<S>,
        reader: &mut CipherReader<S>,
        note: &Self::Note,
        decryptors: &[Decrypt<'_, S>],
        view: View,
    ) -> Result<Plain>;
}

/// A table as a scheme encrypts it.
pub trait Columns<S: Scheme>: Kind<S, Clear = Self> + Sized {
    /// Reads a table.
    ///
    /// # Errors
    /// The input is not a table, or not one that the scheme encrypts.
    fn read(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self>;
}

/// What is encrypted and computed under a scheme.
pub trait Contents: Scheme {
    /// How it encrypts images.
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
        operator: Operator,
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
    /// The description is of something else; the errors of the sink.
    fn pack(
        clear: &Clear<Self::Table>,
        params: &Self::Params,
        content: &Content,
        sink: &mut Sink<'_, Self::Slot>,
        watch: &dyn Watch,
    ) -> Result<()> {
        match (clear, Self::Pictures::note(content), Self::Table::note(content)) {
            (Clear::Picture(picture), Some(note), _) => {
                Self::Pictures::pack(picture, params, note, sink, watch)
            }
            (Clear::Table(table), _, Some(note)) => Self::Table::pack(table, params, note, sink, watch),
            _ => Err(ContentError::Mismatch.into()),
        }
    }

    /// The description of an operation on two files, and how each of its parts (channels, columns)
    /// is computed.
    ///
    /// # Errors
    /// The files do not fit together; results do not fit the parameters.
    fn pair(
        operator: Operator,
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

    /// Decrypts a file; `view` is the requested view of an image.
    ///
    /// # Errors
    /// The file is damaged; the device fails; the result does not match its description.
    fn unpack(
        team: &Team<Self>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self>],
        view: View,
    ) -> Result<Plain> {
        let content = reader.payload.content.clone();
        match (Self::Pictures::note(&content), Self::Table::note(&content)) {
            (Some(note), _) => Self::Pictures::unpack(team, reader, note, decryptors, view),
            (_, Some(note)) => Self::Table::unpack(team, reader, note, decryptors, view),
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
