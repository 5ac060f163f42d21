//! The contents that are encrypted and computed on: images in tiles and sample by sample, columns
//! of real numbers and of integers.

pub mod clear;
pub mod images;
pub mod integers;
pub mod numbers;
mod of_bigckks;
mod of_ckks;
mod of_exact;
pub mod options;
pub mod packing;
pub mod pairwise;
pub mod samples;
pub mod tables;

use crate::cipher_file::CipherReader;
use crate::device::Device;
use crate::error::Result;
use crate::io::input::Input;
use crate::note::Content;
use crate::scheme::engine::Engine;
use crate::scheme::{Decrypt, On, Scheme};
use crate::team::Team;
use crate::watch::Watch;
use clear::{Clear, Plain, View};
use he_core::backend::RingOps;
use options::TableFlags;
use pairwise::{Operator, Pairing};

/// Takes vectors, batch by batch.
pub type Sink<'a, T> = dyn FnMut(Vec<Vec<T>>) -> Result<()> + 'a;

/// What is encrypted under a scheme.
pub trait Contents: Scheme {
    /// Its plain tables.
    type Table: Send + Sync;

    /// Reads a table.
    ///
    /// # Errors
    /// The input is not a table, or not one that this scheme encrypts.
    fn read_table(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self::Table>;

    /// Describes what is to be encrypted.
    ///
    /// # Errors
    /// It does not fit the parameters; `halo` is given where there is none.
    fn describe(
        clear: &Clear<Self::Table>,
        params: &Self::Params,
        halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content>;

    /// Packs it into vectors, batch by batch.
    ///
    /// # Errors
    /// The errors of the sink.
    fn pack(
        clear: &Clear<Self::Table>,
        params: &Self::Params,
        content: &Content,
        sink: &mut Sink<'_, Self::Slot>,
        watch: &dyn Watch,
    ) -> Result<()>;

    /// The description of an operation on two files, and how each of its parts (channels, columns)
    /// is computed.
    ///
    /// # Errors
    /// The files do not fit together; results do not fit the parameters.
    fn pair(
        operator: Operator,
        left: &CipherReader<Self>,
        right: &CipherReader<Self>,
    ) -> Result<(Content, Vec<Pairing>)>;

    /// Does work on a device that was opened.
    ///
    /// # Errors
    /// The errors of the work.
    fn run<W: Work<Self>>(device: Device, work: W) -> Result<W::Output>;
}

/// What is computed and decrypted under a scheme on a back end.
pub trait ContentsOn<B: RingOps>: Contents + On<B> {
    /// A batch of the first file with one of the second.
    ///
    /// # Errors
    /// Nothing is left to compute with; keys are missing; the device fails.
    fn combine(
        engine: &Engine<Self, B>,
        keys: &Self::Evaluation,
        operator: Operator,
        pairing: &Pairing,
        left: &Self::Ciphertext,
        right: &Self::Ciphertext,
    ) -> Result<Self::Ciphertext>;

    /// Decrypts a file; `view` is the requested view of an image.
    ///
    /// # Errors
    /// The file is damaged; the device fails; the result does not match its description.
    fn unpack(
        team: &Team<Self, B>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self, B>],
        view: View,
    ) -> Result<Plain>;
}

/// Work on whatever back end computes.
pub trait Work<S: Contents> {
    /// What comes out.
    type Output;
    /// Does it on these streams.
    ///
    /// # Errors
    /// Its own.
    fn on<B: RingOps>(self, backends: Vec<B>) -> Result<Self::Output>
    where
        S: ContentsOn<B>;
}
