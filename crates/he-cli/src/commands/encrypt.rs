//! `encrypt`: an image or a table to ciphertexts.

use crate::args::Encrypt;
use crate::cipher_file::CipherWriter;
use crate::device::on_device;
use crate::engine::{Engine, rng};
use crate::error::{CliError, Result};
use crate::input::{Input, stdin_once};
use crate::keys::{Key, KeyFile};
use crate::output::{Output, OutputOptions};
use crate::passphrase::is_sealed;
use crate::payload::{Content, Payload};
use crate::picture::{Format, Picture};
use crate::table::{Table, looks_like_table};
use crate::{images, tables};
use he_core::backend::RingOps;
use he_core::ckks::{CkksParams, Encryptor, Plaintext, SecretEncryptor};
use he_core::rlwe::PublicKey;
use rand::rngs::ChaCha20Rng;

/// Bytes by which the kind of a file is recognised.
const PEEK: usize = 4096;

/// What is to be encrypted.
pub enum Clear {
    /// An image.
    Picture(Picture),
    /// Numbers.
    Table(Table),
}

impl Clear {
    /// Reads a file, recognised by its content.
    ///
    /// # Errors
    /// It is neither an image nor a table, or damaged.
    pub fn read(mut input: Input, options: crate::table::TableOptions) -> Result<Self> {
        let name = input.name().to_owned();
        let start = input.peek(PEEK)?;
        if start.is_empty() || Format::sniff(start).is_some() || Format::sniff_foreign(start).is_some() {
            return Ok(Self::Picture(Picture::read(input)?));
        }
        if start.starts_with(b"HEWF") || is_sealed(start) {
            return Err(CliError::new(format!("{name} is a file of he-cli, not an image or a table"))
                .hint("encrypt takes PNG, JPEG, BMP, TIFF, WebP and CSV files"));
        }
        if looks_like_table(start) {
            return Ok(Self::Table(Table::read(input, &name, options)?));
        }
        Err(CliError::new(format!("{name} is neither an image nor a table"))
            .hint("PNG, JPEG, BMP, TIFF and WebP are read, and CSV in UTF-8"))
    }

    /// Describes it for the encrypted file.
    ///
    /// # Errors
    /// The halo does not fit a tile.
    pub fn describe(&self, params: &CkksParams, halo: usize) -> Result<Content> {
        Ok(match self {
            Self::Picture(picture) => Content::Image(images::describe(picture, params, halo)?),
            Self::Table(table) => Content::Table(tables::describe(table, params)),
        })
    }

    /// Encodes it batch by batch.
    ///
    /// # Errors
    /// Those of the sink; the device fails.
    pub fn encode<B: RingOps>(
        &self,
        engine: &Engine<B>,
        content: &Content,
        sink: impl FnMut(&Plaintext<B>) -> Result<()>,
    ) -> Result<()> {
        match (self, content) {
            (Self::Picture(picture), Content::Image(note)) => images::encode(engine, picture, note, sink),
            (Self::Table(table), Content::Table(note)) => tables::encode(engine, table, note, sink),
            _ => Err(CliError::new("the description does not fit the content")),
        }
    }
}

/// Encrypts by public key into a file; returns its bytes.
///
/// # Errors
/// The output cannot be written; the device fails.
pub fn encrypt_public<B: RingOps>(
    engine: &Engine<B>,
    key: &PublicKey<B>,
    clear: &Clear,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<u64> {
    let encryptor = Encryptor::new(&engine.params, key)?;
    let mut writer = CipherWriter::new(output, &engine.params, payload)?;
    clear.encode(engine, &payload.content, |plain| writer.write(&encryptor.encrypt(plain, rng)?))?;
    writer.commit()
}

pub(super) fn run(args: &Encrypt) -> Result<()> {
    stdin_once([&*args.input, &args.key])?;
    let key = KeyFile::read(&args.key, "a public or secret key", Some(&args.passphrase_file))?;
    if let Key::Evaluation(_) = key.key {
        return Err(key.wrong_kind("a public or secret key"));
    }
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = Output::create(&args.output, options, &[&args.input, &args.key])?;
    let clear = Clear::read(Input::open(&args.input)?, args.table.options())?;
    let content = clear.describe(&key.params, args.halo)?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    on_device!(args.device.choice.open()?, backend => encrypt(backend, &key, &clear, &payload, output))
}

/// Encrypts by either key.
fn encrypt<B: RingOps>(
    backend: B,
    key: &KeyFile,
    clear: &Clear,
    payload: &Payload,
    output: Output,
) -> Result<()> {
    let engine = Engine::new(&key.params, backend)?;
    let mut rng = rng()?;
    if let Key::Secret(secret) = &key.key {
        let encryptor = SecretEncryptor::new(&engine.params, secret, &engine.ring)?;
        let mut writer = CipherWriter::new(output, &engine.params, payload)?;
        clear.encode(&engine, &payload.content, |plain| {
            writer.write_seeded(&encryptor.encrypt(plain, &mut rng)?)
        })?;
        writer.commit()?;
    } else {
        encrypt_public(&engine, &key.public(&engine.ring)?, clear, payload, output, &mut rng)?;
    }
    Ok(())
}
