//! `encrypt`: an image or a table to ciphertexts or to a sensor file, any file under AES, and a
//! sensor key under TFHE.

use crate::args::Encrypt;
use crate::console;
use crate::error::{CliError, Result, warn};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, expansion, growth, shown, time};
use he_core::backend::{Backend, Cpu};
use he_core::tfhe::TfheParams;
use he_core::transcipher::SensorKey;
use he_files::aes_file::{self, Secret, Source};
use he_files::bootstrap::TOY;
use he_files::contents::clear::Clear as AnyClear;
use he_files::contents::digits::{DigitTable, FEW_ROWS, ReadOptions};
use he_files::contents::{Contents, encrypt};
use he_files::data::integers::Integers;
use he_files::io::input::Input;
use he_files::io::output::OutputOptions;
use he_files::key_file::{AesKey, AnyKey, Key, KeyFile};
use he_files::key_set::KEY_NAMES;
use he_files::note::{Content, Payload};
use he_files::on_scheme;
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, OneOf, Scheme};
use he_files::tfhe::columns::{self, Clear, WIDTH};
use he_files::tfhe::keys::Encryptor;
use he_files::{tfhe, transcipher};
use std::path::{Path, PathBuf};

pub(super) fn run(args: &Encrypt) -> Result<Summary> {
    const NEEDED: &str = "a public or secret key";
    one_input(args)?;
    if args.unlock.is_missing() {
        return Err(CliError::usage("a key or a passphrase is missing")
            .hint("give a key from keygen with -k, or --passphrase for files under AES"));
    }
    if let Some(model) = &args.model {
        return super::model::encrypt(args, model);
    }
    let Some(path) = &args.unlock.key else {
        if args.transcipher {
            return Err(no_key_of_tfhe("a passphrase"));
        }
        return file(args, Secret::Passphrase(&args.unlock.opening), &[&args.input]);
    };
    stdin_once([&*args.input, path])?;
    match AnyKey::read(Input::open(path)?, NEEDED, Some(&args.unlock.opening))? {
        AnyKey::Tfhe(key) if args.transcipher => sensor_key(args, &key, path),
        _ if args.transcipher => Err(no_key_of_tfhe(&path.display().to_string())),
        AnyKey::Sensor(key) => sensor_file(args, &key, path),
        AnyKey::Aes(key) => file(args, Secret::Key(&key.key), &[&args.input, path]),
        AnyKey::Tfhe(key) => integers(args, &key, path),
        AnyKey::Scheme(OneOf::Ckks(key)) if args.width.is_some() || args.signed => digits(args, &key, path),
        AnyKey::Scheme(key) => on_scheme!(key, key => match &key.key {
            Key::Evaluation(_) => Err(key.wrong_kind(NEEDED).into()),
            _ => content(args, &key, path),
        }),
    }
}

/// Checks that there is one input.
fn one_input(args: &Encrypt) -> Result<()> {
    if args.more.is_empty() {
        return Ok(());
    }
    let message = format!("encrypt takes one file, and {} are given", 1 + args.more.len());
    Err(CliError::usage(message).hint(
        "call it for each: for FILE in *.png; do he-cli encrypt \"$FILE\" -k public.key -o \"$FILE.he\"; done",
    ))
}

/// Checks that a key to compute with is not to encrypt a folder.
fn no_folder(args: &Encrypt, keys: &str) -> Result<()> {
    if !args.input.is_dir() {
        return Ok(());
    }
    let message = format!("{} is a folder, and {keys} encrypt images and tables", args.input.display());
    Err(CliError::new(message)
        .hint("encrypt the files in it one by one, or the folder as it is with an AES key or --passphrase"))
}

/// A sensor key is to be encrypted by something else than a key of tfhe.
fn no_key_of_tfhe(given: &str) -> CliError {
    CliError::usage(format!("--transcipher is for keys of tfhe, and {given} is none"))
        .hint("give the secret.key of keygen tfhe --transcipher with -k")
}

/// Says that keys of the toy are for tests.
fn warn_of_toy(is_secure: bool) {
    if !is_secure {
        warn(&format!("keys of {TOY} protect nothing"), "use any other keys for data");
    }
}

/// Encrypts a file or folder as it is.
fn file(args: &Encrypt, secret: Secret<'_>, inputs: &[&Path]) -> Result<Summary> {
    let flags =
        args.halo.map(|_| "--halo").or(args.width.map(|_| "--width")).or(args.frame.map(|_| "--frame"));
    if let Some(flag) = flags.or(args.table.given()) {
        return Err(CliError::usage(format!("{flag} is for images and tables under keys to compute with"))
            .hint("leave it out: AES encrypts any file as it is"));
    }
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let done = {
        let source = Source::open(&args.input, &args.output)?;
        let output = stdio::create(&args.output, options, Text::No, inputs)?;
        let cipher = args.device.cipher(source.known_len())?;
        aes_file::encrypt(source, output, secret, cipher, &Shown::default())?
    };
    Ok(summary(args, done.plain, done.encrypted, "").fact("scheme", "aes").facts(done.facts()))
}

/// The summary of any encryption. `more` is appended to the line.
fn summary(args: &Encrypt, input: u64, encrypted: u64, more: &str) -> Summary {
    let (name, sizes, time) = (shown(&args.output), growth(input, encrypted), time());
    Summary::new("encrypt")
        .path("input", &args.input)
        .fact("input_bytes", input)
        .output(&args.output)
        .fact("expansion", expansion(input, encrypted))
        .line(format!("{name}: {sizes}, in {time}{more}"))
}

/// Encrypts an image or a table.
fn content<S: Contents>(args: &Encrypt, key: &KeyFile<S>, path: &Path) -> Result<Summary> {
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    if let Some(flag) = args.width.map(|_| "--width").or(args.signed.then_some("--signed")) {
        let what = format!("{flag} is for keys of ckks and tfhe, and the key is one of {}", S::NAME);
        return Err(CliError::usage(what).hint("leave it out"));
    }
    no_folder(args, &format!("keys of {}", S::NAME))?;
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let input = Input::open(&args.input)?;
    let length = input.length();
    let clear = AnyClear::read::<S>(input, args.table.flags(), args.frame, &Shown::default())?;
    if let AnyClear::Picture(picture) = &clear
        && let Some(kept) = picture.metadata().text()
    {
        console::note(&format!("{} goes with its {kept}, for all to see", args.input.display()));
    }
    warn_of_toy(S::is_secure(&key.params));
    let content = S::describe(&clear, &key.params, args.halo, &Shown::default())?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    let devices = args.device.open()?;
    let team = devices.team::<S>(&key.params)?;
    let mut rng = rng()?;
    let written = match &key.key {
        Key::Secret(key) => encrypt::by_secret_key(&team, key, &clear, &payload, output, &mut rng)?,
        _ => {
            let key = key.public(&team.lead().ring)?;
            encrypt::by_public_key(&team, &key, &clear, &payload, output, &mut rng)?
        }
    };
    let (values, more) = (payload.content.values(), format!("; {}", payload.content.shape()));
    let mut summary = summary(args, length.bytes(), written.bytes, &more);
    // Users who have both keys should use the one that makes smaller files.
    let half_as_large = matches!(key.key, Key::Public(_)) && S::CIPHERTEXTS.1.is_some();
    if let Some(secret) = secret_beside(path).filter(|_| half_as_large) {
        summary = summary.hint(&format!("-k {} would make the file half as large", secret.display()));
    }
    Ok(summary.fact("values", values).fact("device", devices.name()).facts(written.facts))
}

/// Encrypts a table of machine integers in digits, under CKKS with bootstrapping.
fn digits(args: &Encrypt, key: &KeyFile<Ckks>, path: &Path) -> Result<Summary> {
    if matches!(key.key, Key::Evaluation(_)) {
        return Err(key.wrong_kind("a public or secret key").into());
    }
    only_columns(args, "keys of ckks with --width")?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let input = Input::open(&args.input)?;
    let length = input.length();
    let integers = Integers { bits: args.width.unwrap_or(WIDTH), signed: args.signed };
    let options = ReadOptions { table: args.table.csv.options(), integers };
    let table = DigitTable::read(input, options, &Shown::default())?;
    warn_of_toy(<Ckks as Scheme>::is_secure(&key.params));
    let content = Content::Digits(table.describe(&key.params)?);
    let rows = table.note().rows;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    let devices = args.device.open()?;
    let team = devices.team::<Ckks>(&key.params)?;
    let batches = table.pack(<Ckks as Scheme>::slots(&key.params));
    let written = encrypt::batches(&team, key, batches, &payload, output, &mut rng()?)?;
    let (values, more) = (payload.content.values(), format!("; {}", payload.content.shape()));
    let mut summary = summary(args, length.bytes(), written.bytes, &more);
    if rows < FEW_ROWS {
        summary = summary.hint(&format!(
            "for tables of fewer than {FEW_ROWS} rows keys of keygen tfhe compute sooner: a vector here takes the \
             same time however few rows it holds"
        ));
    }
    Ok(summary.fact("values", values).fact("device", devices.name()).facts(written.facts))
}

/// The secret key beside a public one.
fn secret_beside(path: &Path) -> Option<PathBuf> {
    let secret = path.with_file_name(KEY_NAMES[0]);
    (path.as_os_str() != "-" && secret.is_file()).then_some(secret)
}

/// Reads what becomes columns of integers, under `keys` (`keys of tfhe`) of these parameters; also
/// its bytes.
fn columns(args: &Encrypt, keys: &str, params: &TfheParams) -> Result<(Clear, u64)> {
    only_columns(args, keys)?;
    let input = Input::open(&args.input)?;
    let length = input.length();
    let table = args.table.csv.options();
    let options = columns::ReadOptions { table, width: args.width, signed: args.signed, frame: args.frame };
    let clear = Clear::read(input, options, params, &Shown::default())?;
    Ok((clear, length.bytes()))
}

/// Checks that no option is there that columns of integers do not have under `keys`.
fn only_columns(args: &Encrypt, keys: &str) -> Result<()> {
    let categories = (!args.table.categories.is_empty()).then_some("--categories");
    let offset = (!args.table.offset.is_empty()).then_some("--offset");
    let unpacked = args.table.unpacked.then_some("--unpacked");
    if let Some(flag) = args.halo.map(|_| "--halo").or(categories).or(offset).or(unpacked) {
        return Err(CliError::usage(format!("{flag} is not for {keys}"))
            .hint("leave it out: they encrypt images and tables of integers"));
    }
    no_folder(args, keys)
}

/// Encrypts a table of integers, or an image, under TFHE.
fn integers(args: &Encrypt, key: &tfhe::keys::KeyFile, path: &Path) -> Result<Summary> {
    let encryptor = key.encryptor()?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let (clear, length) = columns(args, "keys of tfhe", &key.params)?;
    warn_of_toy(key.params.is_secure());
    let payload =
        Payload { key_id: key.id.clone(), history: Vec::new(), content: clear.describe(&key.params)? };
    // A device that is named must exist, although the CPU makes the ciphertexts, which are one word
    // each and a seed, or one and the masks of the list.
    args.device.open()?;
    let writer = tfhe::file::Writer::new(output, &key.params, &payload)?;
    let Clear { table, integers, .. } = &clear;
    let written = columns::encrypt(encryptor, table, *integers, writer, &mut rng()?, &Shown::default())?;
    let (values, more) = (payload.content.values(), format!("; {}", payload.content.shape()));
    let mut summary = summary(args, length, written.bytes, &more);
    if clear.picture.is_none() && payload.content.rows >= FEW_ROWS {
        summary = summary.hint(&format!(
            "for tables of {FEW_ROWS} rows or more keys of keygen ckks --bootstrap fast, with encrypt --width, compute \
             sooner: all slots of a vector at once"
        ));
    }
    let is_public = matches!(encryptor, Encryptor::Public(_));
    if let Some(secret) = secret_beside(path).filter(|_| is_public) {
        summary = summary.hint(&format!("-k {} would make the file smaller", secret.display()));
    }
    Ok(summary.fact("values", values).fact("device", Cpu::new().name()).facts(written.facts))
}

/// Encrypts a table of integers, or an image, into a sensor file.
fn sensor_file(args: &Encrypt, key: &AesKey<SensorKey>, path: &Path) -> Result<Summary> {
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let (clear, length) = columns(args, "sensor keys", transcipher::params(false, false)?.tfhe())?;
    args.device.open()?;
    let (header, bytes) =
        transcipher::columns::encrypt(&key.key, &clear, output, &mut rng()?, &Shown::default())?;
    let content = &header.content;
    Ok(summary(args, length, bytes, &format!("; {}", content.shape()))
        .fact("scheme", "aes")
        .fact("cipher", "AES-CTR")
        .fact("key", header.key.to_string())
        .fact("values", content.values())
        .fact("content", serde_json::to_value(content).unwrap_or_default())
        .fact("bytes", bytes)
        .fact("device", Cpu::new().name()))
}

/// Encrypts a sensor key under TFHE.
fn sensor_key(args: &Encrypt, key: &tfhe::keys::KeyFile, path: &Path) -> Result<Summary> {
    let secret = key.secret()?;
    if let Some(flag) = args.table.given() {
        return Err(CliError::usage(format!("{flag} is for tables, and --transcipher encrypts a key"))
            .hint("leave it out"));
    }
    let input = Input::open(&args.input)?;
    let length = input.length();
    let sensor = AnyKey::read(input, "a sensor key", Some(&args.unlock.opening))?.sensor()?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let mut output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    args.device.open()?;
    warn_of_toy(key.params.is_secure());
    let name = output.name();
    let bytes = tfhe::keys::write_sensor(&mut output, secret, &sensor.key, &key.id, &mut rng()?, &name)?;
    output.commit()?;
    let (id, bits) = (sensor.key.id().to_string(), sensor.key.key().size().bits());
    Ok(summary(args, length.bytes(), bytes, &format!("; sensor key {id}, {bits} bits"))
        .fact("scheme", tfhe::NAME)
        .fact("key_set", key.id.short())
        .fact("sensor_key", id)
        .fact("bits", bits)
        .fact("parameters", tfhe::params_json(&key.params))
        .fact("bytes", bytes)
        .fact("device", Cpu::new().name()))
}
