//! `encrypt`: an image or a table to ciphertexts, or any file under AES.

use crate::aes_file::{self, Secret};
use crate::args::Encrypt;
use crate::cipher_file::CipherWriter;
use crate::device::on_device;
use crate::engine::rng;
use crate::error::{CliError, Result};
use crate::input::{Input, stdin_once};
use crate::keys::{AnyKey, Key, KeyFile};
use crate::output::{Output, OutputOptions};
use crate::passphrase::is_sealed;
use crate::payload::{Content, Payload};
use crate::picture::{Format, Picture};
use crate::table::{Table, looks_like_table};
use crate::team::{Jobs, Team};
use crate::{images, tables};
use he_core::aes::container;
use he_core::backend::RingOps;
use he_core::ckks::{CkksParams, Complex64, Encryptor, Plaintext, SecretEncryptor};
use he_core::rlwe::PublicKey;
use he_core::wire::{self, Frame};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::path::Path;

/// Bytes by which the kind of a file is recognised.
const PEEK: usize = 4096;
/// Pixels around each tile unless others are asked for: two filters of radius 1.
const HALO: usize = 2;

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
        if start.starts_with(b"HEWF") || start.starts_with(&container::MAGIC) || is_sealed(start) {
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

    /// Packs it into vectors, batch by batch.
    fn pack(
        &self,
        params: &CkksParams,
        content: &Content,
        sink: impl FnMut(Vec<Vec<Complex64>>) -> Result<()>,
    ) -> Result<()> {
        match (self, content) {
            (Self::Picture(picture), Content::Image(note)) => images::pack(params, picture, note, sink),
            (Self::Table(table), Content::Table(note)) => tables::pack(table, note, sink),
            _ => Err(CliError::new("the description does not fit the content")),
        }
    }

    /// Encodes it batch by batch, lets `encrypt(engine, plaintext, rng)` make frames, and writes them. Each batch has a generator of
    /// its own, seeded from `rng` in the order of the batches: ciphertexts do not depend on which engine makes them.
    fn write<B: RingOps>(
        &self,
        team: &Team<B>,
        payload: &Payload,
        output: Output,
        rng: &mut ChaCha20Rng,
        encrypt: impl Fn(usize, &Plaintext<B>, &mut ChaCha20Rng) -> he_core::Result<Frame> + Sync,
    ) -> Result<u64> {
        let params = &team.lead().params;
        let mut writer = CipherWriter::new(output, params, payload)?;
        let encoding = params.encoding().slots(payload.content.slots(params));
        let source = |jobs: &mut Jobs<(Vec<Vec<Complex64>>, ChaCha20Rng)>| {
            self.pack(params, &payload.content, |vectors| jobs.give((vectors, ChaCha20Rng::from_rng(rng))))
        };
        let work = |at: usize, (vectors, mut rng): (Vec<Vec<Complex64>>, ChaCha20Rng)| {
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = team.engines()[at].evaluator.encoder().encode_batch(&vectors, encoding)?;
            Ok(encrypt(at, &plain, &mut rng)?.seal())
        };
        team.run(source, work, |frame| writer.send(frame))?;
        writer.commit()
    }
}

/// Encrypts by public key into a file; returns its bytes.
///
/// # Errors
/// The output cannot be written; the device fails.
pub fn encrypt_public<B: RingOps>(
    team: &Team<B>,
    key: &PublicKey<B>,
    clear: &Clear,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<u64> {
    let params = &team.lead().params;
    let keys = team.each(|engine| Ok(key.to(&engine.ring)?))?;
    let encryptors =
        keys.iter().map(|key| Encryptor::new(params, key)).collect::<he_core::Result<Vec<_>>>()?;
    clear.write(team, payload, output, rng, |at, plain, rng| {
        wire::encode_ciphertext(params, &encryptors[at].encrypt(plain, rng)?)
    })
}

pub(super) fn run(args: &Encrypt) -> Result<()> {
    const NEEDED: &str = "a public or secret key";
    let Some(path) = &args.unlock.key else {
        return file(args, Secret::Passphrase(&args.unlock.passphrase_file), &[&args.input]);
    };
    stdin_once([&*args.input, path])?;
    match AnyKey::read(path, NEEDED, Some(&args.unlock.passphrase_file))? {
        AnyKey::Aes(key) => file(args, Secret::Key(&key.key), &[&args.input, path]),
        AnyKey::Ckks(key) if matches!(key.key, Key::Evaluation(_)) => Err(key.wrong_kind(NEEDED)),
        AnyKey::Ckks(key) => content(args, &key, path),
    }
}

/// Encrypts a file or folder as it is.
fn file(args: &Encrypt, secret: Secret<'_>, inputs: &[&Path]) -> Result<()> {
    if let Some(flag) = args.halo.map(|_| "--halo").or(args.table.given()) {
        return Err(CliError::usage(format!("{flag} is for images and tables under CKKS keys"))
            .hint("leave it out: AES encrypts any file as it is"));
    }
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    aes_file::encrypt(&args.input, &args.output, options, inputs, secret, args.device.choice)
}

/// Encrypts an image or a table.
fn content(args: &Encrypt, key: &KeyFile, path: &Path) -> Result<()> {
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = Output::create(&args.output, options, &[&args.input, path])?;
    let clear = Clear::read(Input::open(&args.input)?, args.table.options())?;
    let content = clear.describe(&key.params, args.halo.unwrap_or(HALO))?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    on_device!(args.device.choice.open()?.streams()?, backends => encrypt(backends, key, &clear, &payload, output))
}

/// Encrypts by either key.
fn encrypt<B: RingOps>(
    backends: Vec<B>,
    key: &KeyFile,
    clear: &Clear,
    payload: &Payload,
    output: Output,
) -> Result<()> {
    let team = Team::new(&key.params, backends)?;
    let (params, mut rng) = (&key.params, rng()?);
    if let Key::Secret(secret) = &key.key {
        let encryptors = team.each(|engine| Ok(SecretEncryptor::new(params, secret, &engine.ring)?))?;
        clear.write(&team, payload, output, &mut rng, |at, plain, rng| {
            wire::encode_seeded_ciphertext(params, &encryptors[at].encrypt(plain, rng)?)
        })?;
    } else {
        encrypt_public(&team, &key.public(&team.lead().ring)?, clear, payload, output, &mut rng)?;
    }
    Ok(())
}
