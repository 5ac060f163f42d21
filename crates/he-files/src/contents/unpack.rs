//! Decryption of files of ciphertexts: vectors, batch by batch, into what they hold.

use super::Contents;
use super::clear::{Plain, View};
use crate::cipher_file::CipherReader;
use crate::error::Result;
use crate::publication::Publication;
use crate::scheme::{Decrypt, Scheme};
use crate::team::{Jobs, Team};
use crate::watch::Watch;
use he_core::wire::SealedFrame;

/// The destination of a decrypted file. It takes the vectors of one batch after the other, so
/// whoever has them decides where they come from, and when.
pub trait Unpack<T> {
    /// Takes the vectors of the next batch of
    /// [`Content::batches`](crate::note::Content::batches), which is of this part.
    ///
    /// # Errors
    /// They are not what the description says; there is not enough memory.
    fn take(&mut self, part: usize, vectors: Vec<Vec<T>>) -> Result<()>;

    /// The content, once every batch has been taken.
    ///
    /// # Errors
    /// The numbers are not what the description says.
    fn finish(self: Box<Self>) -> Result<Plain>;
}

/// A file that is being decrypted.
pub struct Opened<'a, S: Scheme> {
    /// Its parameters.
    pub params: S::Params,
    /// Its name in errors.
    pub name: String,
    /// The operations that were computed, the oldest first.
    pub history: Vec<String>,
    /// The requested view of an image.
    pub view: View,
    /// The receiver of progress.
    pub watch: &'a dyn Watch,
}

impl<'a, S: Scheme> Opened<'a, S> {
    /// Describes the file that is being read.
    pub fn new(reader: &CipherReader<S>, view: View, watch: &'a dyn Watch) -> Self {
        let (params, name, history) =
            (reader.params.clone(), reader.name.clone(), reader.payload.history.clone());
        Self { params, name, history, view, watch }
    }
}

/// Decrypts a file batch by batch on the engines of a team, while the next ones are read;
/// `take(part, vectors)` gets them in the order of the file.
///
/// # Errors
/// The file is damaged; the device fails; the errors of `take`.
pub(super) fn vectors<S: Scheme>(
    team: &Team<S>,
    reader: &mut CipherReader<S>,
    decryptors: &[Decrypt<'_, S>],
    mut take: impl FnMut(usize, Vec<Vec<S::Slot>>) -> Result<()>,
) -> Result<()> {
    let content = reader.payload.content.clone();
    let (slots, decoder) = (S::slots(&reader.params), reader.decoder());
    let source = |jobs: &mut Jobs<'_, (SealedFrame, usize, usize)>| {
        for (part, count) in content.batches(slots)? {
            jobs.give((reader.frame()?, part, count))?;
        }
        reader.end()
    };
    let work = |at: usize, (frame, part, count): (SealedFrame, usize, usize)| {
        let ct = decoder.decode(&team.engines()[at].ring, frame, count)?;
        Ok((part, decryptors[at](&ct)?))
    };
    team.run(source, work, |(part, vectors)| take(part, vectors))
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
        Self::unpack(team, reader, &decryptors, view)
    }

    /// Decrypts results that others will see.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt); more is decrypted than the publication allows;
    /// the noise is unknown, too large to be hidden, or might make a decryption fail.
    pub fn publish<S: Contents>(
        team: &Team<S>,
        key: &S::Secret,
        reader: &mut CipherReader<S>,
        view: View,
        publication: &Publication,
    ) -> Result<Self> {
        let content = reader.payload.content.clone();
        let decryptors = team.each(|engine| S::publisher(engine, key, &content, publication))?;
        Self::unpack(team, reader, &decryptors, view)
    }

    /// Decrypts with one of these for each engine.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt).
    pub(crate) fn unpack<S: Contents>(
        team: &Team<S>,
        reader: &mut CipherReader<S>,
        decryptors: &[Decrypt<'_, S>],
        view: View,
    ) -> Result<Self> {
        let mut unpacker = S::unpacker(Opened::new(reader, view, team.watch()), &reader.payload.content)?;
        vectors(team, reader, decryptors, |part, vectors| unpacker.take(part, vectors))?;
        unpacker.finish()
    }
}
