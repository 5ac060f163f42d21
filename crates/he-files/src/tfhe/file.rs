//! Encrypted files of TFHE: parameters, description, then one frame per column.

use super::Tfhe;
use super::note::ColumnsNote;
use crate::cipher_file::{CipherReader, FileWriter, Written, wrong_number};
use crate::error::{InFile, Result};
use crate::io::output::Output;
use crate::note::Payload;
use crate::scheme::OfKeySet;
use he::Device;
use he_core::tfhe::{
    CompactFlags, CompactUint, EncryptedFlags, EncryptedUint, FreshInteger, LweOps, SeededFlags, SeededUint,
    TfheParams,
};
use he_core::wire::tfhe::WireMasks;
use he_core::wire::{Frame, FrameKind, Wire};
use serde_json::json;

/// A column.
pub enum Column<B: LweOps = Device> {
    /// A column of integers: the description says whether their bits are those of numbers with a
    /// sign.
    Integers(EncryptedUint<B>),
    /// A column of conditions.
    Conditions(EncryptedFlags<B>),
}

/// A file being read.
pub type Reader = CipherReader<Tfhe>;

impl Reader {
    /// The next column.
    ///
    /// # Errors
    /// There is none, it is damaged or not as described; the device fails.
    pub fn column(&mut self, device: &Device) -> Result<Column> {
        let frame = self.frame()?.open().in_file(&self.name)?;
        let (name, params, note) = (&self.name, &self.params, &self.payload.content);
        let id = &self.payload.key_id;
        // Before masks are made for them.
        let check =
            |width: usize, rows: usize| match (width as u64, rows as u64) == (note.width.into(), note.rows) {
                true => Ok(()),
                false => Err(wrong_number(name, "other")),
            };
        Ok(match frame.kind {
            FrameKind::TfheSeededFlags => {
                let flags = SeededFlags::from_frame(params, (), &frame).in_file(name)?;
                check(1, flags.batch())?;
                Column::Conditions(flags.expand(device)?.of(id))
            }
            FrameKind::TfheSeededUint => {
                let x = SeededUint::from_frame(params, (), &frame).in_file(name)?;
                check(x.bits(), x.batch())?;
                Column::Integers(x.expand(device)?.of(id))
            }
            FrameKind::TfheCompactFlags => {
                let flags = CompactFlags::from_frame(params, (), &frame).in_file(name)?;
                check(1, flags.batch())?;
                Column::Conditions(flags.expand(device)?.of(id))
            }
            FrameKind::TfheCompactUint => {
                let x = CompactUint::from_frame(params, (), &frame).in_file(name)?;
                check(x.bits(), x.batch())?;
                Column::Integers(x.expand(device)?.of(id))
            }
            FrameKind::TfheFlags => {
                let flags = EncryptedFlags::from_frame(params, device, &frame).in_file(name)?;
                check(1, flags.batch())?;
                Column::Conditions(flags.of(id))
            }
            _ => {
                let x = EncryptedUint::from_frame(params, device, &frame).in_file(name)?;
                check(x.bits(), x.batch())?;
                Column::Integers(x.of(id))
            }
        })
    }

    /// The next column, of integers.
    ///
    /// # Errors
    /// The same as for [`column`](Self::column); it holds conditions.
    pub fn integers(&mut self, device: &Device) -> Result<EncryptedUint<Device>> {
        match self.column(device)? {
            Column::Integers(x) => Ok(x),
            Column::Conditions(_) => Err(wrong_number(&self.name, "other")),
        }
    }

    /// The next column, of conditions.
    ///
    /// # Errors
    /// The same as for [`column`](Self::column); it holds integers.
    pub fn conditions(&mut self, device: &Device) -> Result<EncryptedFlags<Device>> {
        match self.column(device)? {
            Column::Conditions(flags) => Ok(flags),
            Column::Integers(_) => Err(wrong_number(&self.name, "other")),
        }
    }
}

/// A file being written: without its name until it is complete.
pub struct Writer {
    params: TfheParams,
    /// Ciphertexts of all columns.
    ciphertexts: usize,
    file: FileWriter,
}

impl Writer {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(output: Output, params: &TfheParams, payload: &Payload<ColumnsNote>) -> Result<Self> {
        let note = &payload.content;
        let ciphertexts = note.most(params) * note.columns.len();
        let file = FileWriter::new::<Tfhe>(output, params, payload)?;
        Ok(Self { params: params.clone(), ciphertexts, file })
    }

    /// Writes a fresh column: its masks as a seed, or as a compact list.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn fresh_column<M: WireMasks>(&mut self, column: &FreshInteger<M>) -> Result<()> {
        self.write(column.to_frame(&self.params)?)
    }

    /// Writes a column.
    ///
    /// # Errors
    /// The output cannot be written; the device fails.
    pub fn column(&mut self, column: &Column) -> Result<()> {
        let frame = match column {
            Column::Integers(x) => x.to_frame(&self.params)?,
            Column::Conditions(flags) => flags.to_frame(&self.params)?,
        };
        self.write(frame)
    }

    fn write(&mut self, frame: Frame) -> Result<()> {
        self.file.write(&frame.seal())
    }

    /// Writes the end mark and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(self) -> Result<Written> {
        // Each result is as good as a fresh one.
        let facts = [("ciphertexts", json!(self.ciphertexts)), ("left", json!({ "unlimited": true }))];
        self.file.commit(facts, "any number of operations".to_owned())
    }
}
