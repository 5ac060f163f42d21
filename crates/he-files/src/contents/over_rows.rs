//! Computations over the rows of encrypted tables, for every scheme that has some.

use super::{Contents, Kind};
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::error::{ContentError, Result};
use crate::io::output::Output;
use crate::note::Payload;
use crate::team::Team;

/// A computation over the rows of a table, or of two.
pub trait OverRows<S: Contents>: Sized {
    /// The other table, if there is one.
    fn other(&mut self) -> Option<&mut CipherReader<S>>;

    /// Computes column by column, or vector by vector if columns share them.
    ///
    /// # Errors
    /// A file is damaged; nothing is left to compute with; keys are missing; the device fails.
    fn compute(&mut self, rows: Rows<'_, S>) -> Result<()>;

    /// Computes into a file of the description `payload`, which follows from the computation's
    /// `describe`. `lower` drops levels that results do not need.
    ///
    /// # Errors
    /// The same as for [`compute`](Self::compute); the output cannot be written.
    fn evaluate(
        mut self,
        team: &Team<S>,
        keys: &S::Evaluation,
        mut reader: CipherReader<S>,
        payload: &Payload,
        lower: bool,
        output: Output,
    ) -> Result<Written> {
        let content = reader.payload.content.clone();
        let Some(note) = <S::Table as Kind<S>>::note(&content) else {
            return Err(ContentError::ImageForTable { name: reader.name }.into());
        };
        let mut writer = CipherWriter::new::<S>(output, &team.lead().params, payload)?;
        self.compute(Rows { team, keys, reader: &mut reader, note, lower, writer: &mut writer })?;
        if let Some(other) = self.other() {
            other.end()?;
        }
        reader.end()?;
        writer.commit()
    }
}

/// The rows of a table, and where the results go.
pub struct Rows<'a, S: Contents> {
    /// The workers that compute.
    pub team: &'a Team<S>,
    /// The keys of its lead.
    pub keys: &'a S::Evaluation,
    /// The table.
    pub reader: &'a mut CipherReader<S>,
    /// Its description.
    pub note: &'a <S::Table as Kind<S>>::Note,
    /// Whether levels that results do not need are dropped.
    pub lower: bool,
    /// The file of the results.
    pub writer: &'a mut CipherWriter,
}
