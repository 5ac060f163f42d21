//! `decrypt`: restores an image or a table from ciphertexts, and an AES-encrypted file.

use crate::args::{Decrypt, Published};
use crate::console;
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_core::Publisher;
use he_core::aes::container::Lock;
use he_core::backend::{Backend, Cpu};
use he_core::transcipher::SensorKey;
use he_files::aes_file::{self, Sealed, Secret, Target};
use he_files::cipher_file::CipherReader;
use he_files::contents::Contents;
use he_files::contents::clear::{Plain, View};
use he_files::data::picture::metadata::Metadata;
use he_files::data::picture::{Channels, Depth, Format};
use he_files::io::input::Input;
use he_files::io::output::{NewFolder, Output, OutputOptions};
use he_files::key_file::{AesKey, AnyKey, KeyFile};
use he_files::note::{Content, ExamplesNote, rows_and_columns};
use he_files::on_scheme;
use he_files::publication::Publication;
use he_files::scheme::engine::rng;
use he_files::tfhe::note::{ColumnsNote, Pixels};
use he_files::transcipher::SensorFile;
use he_files::{tfhe, transcipher, units};
use std::path::Path;

const NEEDED: &str = "a secret key";
/// The bytes with which files of ciphertexts start.
const FRAMES: &[u8] = b"HEWF";

pub(super) fn run(args: &Decrypt) -> Result<Summary> {
    let passphrase = &args.unlock.opening;
    let inputs = || std::iter::once(&*args.input).chain(args.unlock.key.as_deref());
    stdin_once(inputs())?;
    let key = args.unlock.key.as_deref();
    let key = key.map(|path| AnyKey::read(Input::open(path)?, NEEDED, Some(passphrase))).transpose()?;
    let inputs: Vec<&Path> = inputs().collect();
    let mut input = Input::open(&args.input)?;
    if args.unlock.is_missing() {
        return Err(no_secret(input));
    }
    if aes_file::is_container(input.peek(aes_file::SNIFF_LEN)?) {
        let key = key.map(AnyKey::aes).transpose()?;
        let secret = key.as_ref().map_or(Secret::Passphrase(passphrase), |key| Secret::Key(&key.key));
        let options = OutputOptions { force: args.force, private: true, ..OutputOptions::default() };
        let file = Sealed::read(input)?;
        no_image_flag(args)?;
        no_publication(args)?;
        // Before anything is written.
        file.check(secret, args.range)?;
        let target = target(args, file.is_folder(), options, &inputs)?;
        let cipher = |len| Ok(args.device.cipher(len)?);
        let done = file.decrypt(secret, target, args.range, cipher, &Shown::default())?;
        let size = units::bytes(done.written);
        return Ok(summary(args, &size, done.encrypted).fact("scheme", "aes").facts(done.facts()));
    }
    let is_sensor_file = transcipher::is_sensor_file(input.peek(transcipher::SNIFF_LEN)?);
    if is_sensor_file || matches!(key, Some(AnyKey::Sensor(_))) {
        let Some(key) = key else { return Err(no_passphrase(input.name())) };
        let key = key.sensor()?;
        return sensor_file(args, SensorFile::read(input)?, &key, &inputs);
    }
    if matches!(key, Some(AnyKey::Aes(_))) && !input.peek(FRAMES.len())?.starts_with(FRAMES) {
        return Err(CliError::new(format!("{} is not a file encrypted by AES", input.name()))
            .hint("encrypt first, then give what encrypt wrote"));
    }
    let Some(key) = key else { return Err(no_passphrase(input.name())) };
    match key {
        AnyKey::Tfhe(key) => integers(args, input, &key, &inputs),
        key => on_scheme!(key.scheme(NEEDED)?, key => decrypt(args, input, &key, &inputs)),
    }
}

/// Neither a key nor a passphrase is named: which of them the file needs.
fn no_secret(mut input: Input) -> CliError {
    let name = input.name().to_owned();
    let is_aes = input.peek(aes_file::SNIFF_LEN).is_ok_and(aes_file::is_container);
    let by_passphrase =
        is_aes && Sealed::read(input).is_ok_and(|file| matches!(file.header.lock(), Lock::Passphrase(_)));
    let (what, hint) = match (by_passphrase, is_aes) {
        (true, _) => ("a passphrase", "give --passphrase, or --passphrase-file FILE"),
        (_, true) => ("a key", "give the key that it was encrypted with, by -k"),
        _ => ("a key", "give the secret key with -k"),
    };
    CliError::usage(format!("{name} is decrypted by {what}, and none is given")).hint(hint)
}

/// A passphrase was given for a file that a key decrypts.
fn no_passphrase(name: &str) -> CliError {
    CliError::new(format!("{name} was not encrypted by a passphrase"))
        .hint("give the key that decrypts it with -k")
}

/// Checks that a file under AES is not to be published.
fn no_publication(args: &Decrypt) -> Result<()> {
    if !args.publish {
        return Ok(());
    }
    Err(CliError::usage("--publish is for homomorphic schemes, and this is a file under AES")
        .hint("leave it out: what AES decrypts reveals nothing of its key"))
}

/// The destination of a file that was encrypted by AES: a folder goes to a folder, or to an
/// archive.
fn target(args: &Decrypt, is_folder: bool, options: OutputOptions, inputs: &[&Path]) -> Result<Target> {
    let is_stdout = args.output.as_os_str() == "-";
    let as_archive = is_stdout || args.output.extension().is_some_and(|ending| ending == "tar");
    if is_folder && !as_archive {
        return Ok(Target::Folder(NewFolder::create(&args.output)?));
    }
    // Text may go to a terminal, and whether it is text is checked as it arrives.
    let text = if !is_folder && is_stdout { Text::IfSo } else { Text::No };
    Ok(Target::File(stdio::create(&args.output, options, text, inputs)?))
}

/// The summary of any decryption. If the result itself is on standard output, there is none.
fn summary(args: &Decrypt, what: &str, input_bytes: u64) -> Summary {
    let summary = Summary::new("decrypt")
        .path("input", &args.input)
        .fact("input_bytes", input_bytes)
        .output(&args.output);
    match args.output.as_os_str() == "-" {
        true => summary,
        false => summary.line(format!("{}: {what}, in {}", shown(&args.output), time())),
    }
}

/// `--range` was given.
fn no_range() -> CliError {
    CliError::usage("--range is for files under AES").hint("leave it out")
}

/// The requested form of an image: a picture, or, by the ending `.csv`, a table of its numbers.
fn view(args: &Decrypt) -> Result<View> {
    let table = args.output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    match (table, args.image_flag()) {
        (true, Some(flag)) => {
            let what = format!("{flag} is for pictures, and {} is a table", args.output.display());
            Err(CliError::usage(what).hint("leave it out: the table holds the numbers themselves"))
        }
        (true, None) => Ok(View::Numbers),
        _ if args.raw => Ok(View::Raw),
        _ if args.scale => Ok(View::Scaled),
        _ => Ok(View::Light),
    }
}

/// The publication that `--publish` allows.
fn publication(args: &Decrypt) -> Result<Option<Publication>> {
    if !args.publish {
        return Ok(None);
    }
    let publisher = Publisher::new(args.published.statistical_security, args.published.queries)
        .map_err(he_files::error::Error::from)?;
    Ok(Some(Publication::new(publisher, rng()?)))
}

/// The bits of precision that numbers should have left, at least.
const KEPT_BITS: u32 = 10;
/// Bits of statistical security below which there is little protection.
const LITTLE_SECURITY: u32 = 20;

/// Adds to the error of a flood that hides the numbers the flood that would leave something of this
/// file's `vectors`.
fn too_wide(error: he_files::Error, asked: Published, scheme: &str, vectors: u64) -> CliError {
    let he_files::Error::Core(he_core::Error::FloodTooWide { needed_bits, available_bits }) = error else {
        return error.into();
    };
    let other = format!("make keys with keygen {scheme} --publish, and encrypt again");
    // A flood is as wide as the sum of the security and of log2 of the decryptions, and more.
    let sum = f64::from(asked.statistical_security) + (asked.queries as f64).log2();
    let excess = f64::from(needed_bits) - f64::from(available_bits) + f64::from(KEPT_BITS);
    let security = (sum - excess - (vectors as f64).log2()).floor();
    let hint = if security < 1.0 {
        format!("{other}; these have too little precision to publish anything")
    } else {
        let flags = format!("--queries {vectors} --statistical-security {security}");
        let little = if security < f64::from(LITTLE_SECURITY) { ", which protects little" } else { "" };
        format!("{other}; with these, {flags} leaves {KEPT_BITS} bits of the numbers{little}")
    };
    CliError::from(he_files::Error::Core(he_core::Error::FloodTooWide { needed_bits, available_bits }))
        .hint(hint)
}

/// Says how many decryptions were published, and what the flood left of them.
fn tell(publication: &Publication, of: u64) {
    let published = publication.published();
    let error = publication.error_log2().map_or(String::new(), |error_log2| {
        format!("; the flood adds errors of up to 2^{error_log2:.1} of a column's factor or of white")
    });
    console::note(&format!("{published} of {of} decryptions published: keep count of them{error}"));
}

/// The format that the name of the output requests, which must be able to hold the picture; a table
/// can hold everything.
fn fits(
    args: &Decrypt,
    view: View,
    width: u32,
    height: u32,
    (channels, depth): (Channels, Depth),
    metadata: Metadata,
) -> Result<Format> {
    if view == View::Numbers {
        return Ok(Format::Png);
    }
    let format = Format::for_output(&args.output)?;
    format.check(width, height, channels, depth)?;
    if let Some(lost) = format.drops(metadata).text() {
        console::note(&format!("{} holds no {lost}: written without", format.name()));
    }
    Ok(format)
}

/// Checks that no flag for images is given.
fn no_image_flag(args: &Decrypt) -> Result<()> {
    args.image_flag().map_or(Ok(()), |flag| {
        Err(CliError::usage(format!("{flag} is for encrypted images")).hint("leave it out"))
    })
}

/// The form of columns of integers: CSV, or a picture if they are the channels of one.
fn columns_view(args: &Decrypt, note: &ColumnsNote) -> Result<(View, Format)> {
    let (Some(Pixels { width, height }), Some(samples)) = (note.picture, note.samples()) else {
        no_image_flag(args)?;
        return Ok((View::Light, Format::Png));
    };
    if let Some(flag) = args.image_flag() {
        return Err(CliError::usage(format!("{flag} is not for images of tfhe, whose numbers are samples"))
            .hint("leave it out"));
    }
    let view = view(args)?;
    Ok((view, fits(args, view, width, height, samples, Metadata::default())?))
}

/// Starts the output of columns of integers.
fn columns_output(args: &Decrypt, note: &ColumnsNote, view: View, inputs: &[&Path]) -> Result<Output> {
    let options = OutputOptions { force: args.force, private: true, secret: false };
    let is_text = note.picture.is_none() || view == View::Numbers;
    stdio::create(&args.output, options, if is_text { Text::Yes } else { Text::No }, inputs)
}

/// Decrypts a sensor file.
fn sensor_file(
    args: &Decrypt,
    file: SensorFile,
    key: &AesKey<SensorKey>,
    inputs: &[&Path],
) -> Result<Summary> {
    if args.range.is_some() {
        return Err(no_range());
    }
    no_publication(args)?;
    let (note, length) = (file.header.content.clone(), file.length());
    let (view, format) = columns_view(args, &note)?;
    let mut output = columns_output(args, &note, view, inputs)?;
    let clear = transcipher::columns::decrypt(file, &key.key, &key.name, &Shown::default())?;
    clear.write(view, format, &mut output).map_err(|error| error.written_to(&output.name()))?;
    let bytes = output.bytes();
    output.commit()?;
    let what = format!("{} ({})", units::bytes(bytes), note.shape());
    Ok(summary(args, &what, length)
        .fact("view", note.picture.map(|_| view.name()))
        .fact("scheme", "aes")
        .fact("cipher", "AES-CTR")
        .fact("key", key.key.id().to_string())
        .fact("content", serde_json::to_value(&note).unwrap_or_default())
        .fact("values", note.values())
        .fact("bytes", bytes)
        .fact("device", Cpu::new().name()))
}

/// Decrypts a table of integers, or an image of them.
fn integers(args: &Decrypt, input: Input, key: &tfhe::keys::KeyFile, inputs: &[&Path]) -> Result<Summary> {
    let secret = key.secret()?;
    let length = input.length();
    let mut reader = tfhe::file::Reader::new(input)?;
    if args.range.is_some() {
        return Err(no_range());
    }
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    let (view, format) = columns_view(args, &reader.payload.content)?;
    let mut output = columns_output(args, &reader.payload.content, view, inputs)?;
    let devices = args.device.open()?;
    let publication = publication(args)?;
    if let Some(publication) = &publication {
        tfhe::columns::publish(secret, &reader.payload.content, publication)?;
    }
    let clear = tfhe::columns::decrypt(devices.lead(), secret, &mut reader, &Shown::default())?;
    clear.write(view, format, &mut output).map_err(|error| error.written_to(&output.name()))?;
    let bytes = output.bytes();
    output.commit()?;
    if let Some(publication) = &publication {
        tell(publication, args.published.queries);
    }
    let note = &reader.payload.content;
    let what = format!("{} ({})", units::bytes(bytes), note.shape());
    Ok(summary(args, &what, length.bytes())
        .fact("view", note.picture.map(|_| view.name()))
        .fact("scheme", tfhe::NAME)
        .fact("key_set", key.id.short())
        .fact("history", reader.payload.history.clone())
        .fact("content", serde_json::to_value(note).unwrap_or_default())
        .fact("values", note.values())
        .fact("published", publication.map(|publication| publication.published()))
        .fact("bytes", bytes)
        .fact("device", devices.name()))
}

/// Decrypts an image or a table.
fn decrypt<S: Contents>(args: &Decrypt, input: Input, key: &KeyFile<S>, inputs: &[&Path]) -> Result<Summary> {
    let secret = key.secret()?;
    let length = input.length();
    let mut reader = CipherReader::<S>::new(input)?;
    if args.range.is_some() {
        return Err(no_range());
    }
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    // This is checked before the work, not after it.
    let (format, view, text) = match &reader.payload.content {
        Content::Image(note) => {
            let view = view(args)?;
            let format = fits(args, view, note.width, note.height, note.shown(view)?, note.metadata())?;
            (format, view, view == View::Numbers)
        }
        Content::Samples(note) => {
            let view = view(args)?;
            let format = fits(args, view, note.width, note.height, note.shown(view)?, note.metadata())?;
            (format, view, view == View::Numbers)
        }
        Content::Table(_)
        | Content::Integers(_)
        | Content::Digits(_)
        | Content::Examples(_)
        | Content::Search(_) => {
            no_image_flag(args)?;
            (Format::Png, View::default(), true)
        }
    };
    let options = OutputOptions { force: args.force, private: true, secret: false };
    let text = if text { Text::Yes } else { Text::No };
    let mut output = stdio::create(&args.output, options, text, inputs)?;
    let devices = args.device.open()?;
    let team = devices.team::<S>(&reader.params)?;
    let publication = publication(args)?;
    let plain = match &publication {
        None => Plain::decrypt(&team, secret, &mut reader, view)?,
        Some(publication) => {
            let vectors = reader.payload.content.vectors(S::slots(&reader.params))?;
            Plain::publish(&team, secret, &mut reader, view, publication)
                .map_err(|error| too_wide(error, args.published, S::NAME, vectors))?
        }
    };
    plain
        .write_watched(format, &mut output, team.watch())
        .map_err(|error| error.written_to(&output.name()))?;
    let (bytes, payload) = (output.bytes(), reader.payload);
    output.commit()?;
    if let Some(publication) = &publication {
        tell(publication, args.published.queries);
    }
    let (shape, values) = match (&payload.content, plain.dimensions()) {
        (Content::Table(_) | Content::Integers(_), Some((rows, columns))) => {
            (rows_and_columns(rows, columns), rows * columns as u64)
        }
        // A decision may leave one number of several outputs.
        (Content::Examples(note), Some((rows, columns))) => {
            let decided = ExamplesNote { numbers: columns as u64, ..note.clone() };
            (decided.shape(), rows * columns as u64)
        }
        (content, _) => (content.shape(), content.values()),
    };
    let what = format!("{} ({shape})", units::bytes(bytes));
    let is_image = matches!(payload.content, Content::Image(_) | Content::Samples(_));
    Ok(summary(args, &what, length.bytes())
        .fact("view", is_image.then(|| view.name()))
        .fact("scheme", S::NAME)
        .fact("key_set", key.id.short())
        .fact("history", payload.history)
        .fact("content", payload.content.json())
        .fact("values", values)
        .fact("published", publication.as_ref().map(Publication::published))
        .fact("flood_error_log2", publication.as_ref().and_then(Publication::error_log2))
        .fact("bytes", bytes)
        .fact("device", devices.name()))
}
