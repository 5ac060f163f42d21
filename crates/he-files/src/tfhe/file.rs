//! Encrypted files of TFHE: parameters, description, then one frame per column.

use super::note::UnsignedNote;
use crate::cipher_file::{Written, wrong_number};
use crate::error::{Error, FileError, InFile, Result};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{AnyStart, END_MARK, check_start, read_start};
use crate::note::{self, Note, Payload};
use crate::scheme::OfKeySet;
use he_core::tfhe::{EncryptedFlags, EncryptedUint, LweOps, SeededFlags, SeededUint, TfheParams};
use he_core::wire::{self, Frame, FrameKind, FrameReader, FrameWriter, Wire, WireParams};
use serde_json::{Map, Value, json};
use std::io::BufReader;
use std::path::Path;

/// A column.
pub enum Column<B: LweOps> {
    /// Of integers.
    Unsigned(EncryptedUint<B>),
    /// Of conditions.
    Conditions(EncryptedFlags<B>),
}

/// A file being read.
pub struct Reader {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: TfheParams,
    /// The description.
    pub payload: Payload<UnsignedNote>,
    reader: FrameReader<BufReader<Input>>,
}

impl Reader {
    /// Reads parameters and description.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new); the file cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Input::open(path)?)
    }

    /// Reads parameters and description.
    ///
    /// # Errors
    /// It is not an encrypted file, one of another scheme, or damaged.
    pub fn new(mut input: Input) -> Result<Self> {
        const NEEDED: &str = "an encrypted file";
        const HINT: &str = "encrypt first, then give what encrypt or eval wrote";
        check_start(&mut input, NEEDED, HINT)?;
        let name = input.name().to_owned();
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        let is_key = || -> Error { FileError::IsKey { name: name.clone() }.into() };
        match read_start(&mut reader, &name)? {
            AnyStart::Tfhe((params, Note::Payload(payload))) => {
                Ok(Self::read_rest(reader, params, payload, &name))
            }
            AnyStart::Scheme(start) if matches!(start.note(), Note::Payload(_)) => {
                let (scheme, key) = (start.scheme(), super::NAME);
                Err(FileError::Scheme { name, scheme, key }.into())
            }
            AnyStart::Tfhe(_) | AnyStart::Scheme(_) | AnyStart::Aes(_) => Err(is_key()),
        }
    }

    /// Reads everything after parameters and description.
    pub fn read_rest(
        reader: FrameReader<BufReader<Input>>,
        params: TfheParams,
        payload: Payload<UnsignedNote>,
        name: &str,
    ) -> Self {
        Self { name: name.to_owned(), params, payload, reader }
    }

    /// The next column.
    ///
    /// # Errors
    /// There is none, it is damaged or not as described; the device fails.
    pub fn column<B: LweOps>(&mut self, backend: &B) -> Result<Column<B>> {
        let (name, params, note) = (&self.name, &self.params, &self.payload.content);
        let id = &self.payload.key_id;
        let [whole, seeded] = if note.is_conditions() {
            [FrameKind::TfheFlags, FrameKind::TfheSeededFlags]
        } else {
            [FrameKind::TfheUint, FrameKind::TfheSeededUint]
        };
        let limit = |kind, _| match kind {
            kind if kind == whole => params.ciphertext_frame_limit(note.most(params)),
            kind if kind == seeded => wire::tfhe::seeded_frame_limit(note.most(params)),
            _ => 0,
        };
        let frame =
            self.reader.next_frame(limit).in_file(name)?.ok_or_else(|| wrong_number(name, "fewer"))?;
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
                Column::Conditions(flags.expand(backend)?.of(id))
            }
            FrameKind::TfheSeededUint => {
                let x = SeededUint::from_frame(params, (), &frame).in_file(name)?;
                check(x.bits(), x.batch())?;
                Column::Unsigned(x.expand(backend)?.of(id))
            }
            FrameKind::TfheFlags => {
                let flags = EncryptedFlags::from_frame(params, backend, &frame).in_file(name)?;
                check(1, flags.batch())?;
                Column::Conditions(flags.of(id))
            }
            _ => {
                let x = EncryptedUint::from_frame(params, backend, &frame).in_file(name)?;
                check(x.bits(), x.batch())?;
                Column::Unsigned(x.of(id))
            }
        })
    }

    /// The next column, of integers.
    ///
    /// # Errors
    /// The same as for [`column`](Self::column); it holds conditions.
    pub fn unsigned<B: LweOps>(&mut self, backend: &B) -> Result<EncryptedUint<B>> {
        match self.column(backend)? {
            Column::Unsigned(x) => Ok(x),
            Column::Conditions(_) => Err(wrong_number(&self.name, "other")),
        }
    }

    /// Checks that only the end mark follows.
    ///
    /// # Errors
    /// Something does.
    pub fn end(&mut self) -> Result<()> {
        match self.reader.next_frame(|_, _| 0).in_file(&self.name)? {
            None => Ok(()),
            Some(_) => Err(wrong_number(&self.name, "more")),
        }
    }
}

/// A file being written: without its name until it is complete.
pub struct Writer {
    params: TfheParams,
    facts: Map<String, Value>,
    bytes: u64,
    writer: FrameWriter<Output>,
    name: String,
}

impl Writer {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(output: Output, params: &TfheParams, payload: &Payload<UnsignedNote>) -> Result<Self> {
        let name = output.name();
        let mut writer = FrameWriter::new(output);
        let mut bytes = writer.write(&params.to_frame()).in_output(&name)?;
        bytes += writer.write(&note::to_frame(params.fingerprint(), payload)?).in_output(&name)?;
        let note = &payload.content;
        let facts = [
            ("scheme", json!(super::NAME)),
            ("parameters", super::params_json(params)),
            ("key_set", json!(payload.key_id.short())),
            ("history", json!(payload.history)),
            ("content", serde_json::to_value(note).unwrap_or_default()),
            ("ciphertexts", json!(note.most(params) * note.columns.len())),
            // Each result is as good as a fresh one.
            ("left", json!({ "unlimited": true })),
        ];
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { params: params.clone(), facts, bytes, writer, name })
    }

    /// Writes a fresh column, its masks as a seed.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn fresh_column(&mut self, column: &SeededUint) -> Result<()> {
        self.write(&column.to_frame(&self.params)?)
    }

    /// Writes a column.
    ///
    /// # Errors
    /// The output cannot be written; the device fails.
    pub fn column<B: LweOps>(&mut self, column: &Column<B>) -> Result<()> {
        let frame = match column {
            Column::Unsigned(x) => x.to_frame(&self.params)?,
            Column::Conditions(flags) => flags.to_frame(&self.params)?,
        };
        self.write(&frame)
    }

    fn write(&mut self, frame: &Frame) -> Result<()> {
        self.bytes += self.writer.write(frame).in_output(&self.name)?;
        Ok(())
    }

    /// Writes the end mark and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(self) -> Result<Written> {
        let Self { params, mut facts, writer, name, .. } = self;
        writer.finish(params.fingerprint()).in_output(&name)?.commit()?;
        let bytes = self.bytes + Frame::size(END_MARK);
        facts.insert("bytes".to_owned(), json!(bytes));
        Ok(Written { bytes, facts, left: "any number of operations".to_owned() })
    }
}
