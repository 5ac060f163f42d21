//! `decrypt`: ciphertexts to an image or a table, a file under AES to what it was.

use crate::aes_file::{self, Sealed, Secret};
use crate::args::Decrypt;
use crate::cipher_file::CipherReader;
use crate::device::on_device;
use crate::error::{CliError, Result};
use crate::input::{Input, stdin_once};
use crate::keys::AnyKey;
use crate::output::{Output, OutputOptions};
use crate::payload::{Content, ImageNote};
use crate::picture::{Format, Picture, PictureBuilder};
use crate::team::Team;
use crate::{images, tables};
use he_core::backend::RingOps;
use he_core::ckks::Decryptor;
use he_core::rlwe::SecretKey;
use std::path::Path;

const NEEDED: &str = "a secret key";
/// What files of ciphertexts start with.
const FRAMES: &[u8] = b"HEWF";

/// Decrypts an image; `watch(channel, row, values)` sees the real values.
///
/// # Errors
/// The file is damaged; the device fails; the result is no image.
pub fn decrypt_picture<B: RingOps>(
    team: &Team<B>,
    reader: &mut CipherReader,
    note: &ImageNote,
    decryptors: &[Decryptor<B>],
    mut watch: impl FnMut(usize, u32, &[f64]),
) -> Result<Picture> {
    let (channels, depth) = note.format()?;
    let mut builder = PictureBuilder::new(note.width, note.height, channels, depth)?;
    images::decode(team, reader, note, decryptors, |channel, y, row| {
        watch(channel, y, row);
        builder.write_rows(channel, y, row);
    })?;
    Ok(builder.finish())
}

pub(super) fn run(args: &Decrypt) -> Result<()> {
    let passphrase = &args.unlock.passphrase_file;
    let inputs = || std::iter::once(&*args.input).chain(args.unlock.key.as_deref());
    stdin_once(inputs())?;
    let key = args.unlock.key.as_deref();
    let key = key.map(|path| AnyKey::read(path, NEEDED, Some(passphrase))).transpose()?;
    let inputs: Vec<&Path> = inputs().collect();
    let mut input = Input::open(&args.input)?;
    if aes_file::is_container(input.peek(aes_file::SNIFF_LEN)?) {
        let key = key.map(AnyKey::aes).transpose()?;
        let secret = key.as_ref().map_or(Secret::Passphrase(passphrase), |key| Secret::Key(&key.key));
        let options = OutputOptions { force: args.force, ..OutputOptions::default() };
        let file = Sealed::read(input)?;
        return file.decrypt(secret, &args.output, options, &inputs, args.range, args.device.choice);
    }
    if matches!(key, Some(AnyKey::Aes(_))) && !input.peek(FRAMES.len())?.starts_with(FRAMES) {
        return Err(CliError::new(format!("{} is no file encrypted by AES", input.name()))
            .hint("encrypt first, then give what encrypt wrote"));
    }
    let Some(key) = key else {
        return Err(CliError::new(format!("{} was not encrypted by a passphrase", input.name()))
            .hint("give the key that decrypts it with -k"));
    };
    let key = key.ckks(NEEDED)?;
    let secret = key.secret()?;
    let reader = CipherReader::new(input)?;
    if args.range.is_some() {
        return Err(CliError::usage("--range is for files under AES").hint("leave it out"));
    }
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    let content = reader.payload.content.clone();
    let format = Format::for_output(&args.output);
    if let Content::Image(note) = &content {
        let (channels, depth) = note.format()?;
        // Before the work, not after it.
        format.check(note.width, note.height, channels, depth)?;
    }
    let options =
        OutputOptions { force: args.force, text: matches!(content, Content::Table(_)), secret: false };
    let output = Output::create(&args.output, options, &inputs)?;
    let device = args.device.choice.open()?.streams()?;
    on_device!(device, backends => decrypt(backends, secret, reader, &content, format, output))
}

/// Decrypts into a file.
fn decrypt<B: RingOps>(
    backends: Vec<B>,
    secret: &SecretKey,
    mut reader: CipherReader,
    content: &Content,
    format: Format,
    mut output: Output,
) -> Result<()> {
    let team = Team::new(&reader.params, backends)?;
    let decryptors = team.each(|engine| Ok(Decryptor::new(&engine.params, secret, &engine.ring)?))?;
    match content {
        Content::Image(note) => {
            decrypt_picture(&team, &mut reader, note, &decryptors, |_, _, _| {})?
                .encode(format, &mut output)?;
        }
        Content::Table(note) => {
            tables::decode(&team, &mut reader, note, &decryptors)?.write(&mut output, b',')?
        }
    }
    output.commit()
}
