//! `decrypt`: ciphertexts to an image or a table.

use crate::args::Decrypt;
use crate::cipher_file::CipherReader;
use crate::device::on_device;
use crate::error::Result;
use crate::input::stdin_once;
use crate::keys::KeyFile;
use crate::output::{Output, OutputOptions};
use crate::payload::{Content, ImageNote};
use crate::picture::{Format, Picture, PictureBuilder};
use crate::team::Team;
use crate::{images, tables};
use he_core::backend::RingOps;
use he_core::ckks::Decryptor;
use he_core::rlwe::SecretKey;

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
    stdin_once([&*args.input, &args.key])?;
    let key = KeyFile::read(&args.key, "a secret key", Some(&args.passphrase_file))?;
    let secret = key.secret()?;
    let reader = CipherReader::open(&args.input)?;
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
    let output = Output::create(&args.output, options, &[&args.input, &args.key])?;
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
