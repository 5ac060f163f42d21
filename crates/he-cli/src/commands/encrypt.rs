//! `encrypt`: an image or a table to ciphertexts, or any file under AES.

use crate::args::Encrypt;
use crate::console;
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, expansion, growth, shown, time};
use he_core::backend::{Backend, Cpu, RingOps};
use he_files::aes_file::{self, Secret, Source};
use he_files::cipher_file::{CipherWriter, Written};
use he_files::contents::clear::Clear;
use he_files::contents::{Contents, ContentsOn, Work};
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::key_file::{AnyKey, Key, KeyFile};
use he_files::key_set::KEY_NAMES;
use he_files::note::Payload;
use he_files::on_scheme;
use he_files::scheme::engine::rng;
use he_files::scheme::{Encrypt as Encryptor, Scheme};
use he_files::team::{Jobs, Team};
use he_files::tfhe;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default width of unsigned integers, in bits.
const WIDTH: u32 = 32;

/// Encodes and encrypts batch by batch and writes the frames. Each batch has a generator of its
/// own, seeded from `rng` in the order of the batches: ciphertexts do not depend on which engine
/// makes them.
fn write<S: ContentsOn<B>, B: RingOps>(
    team: &Team<S, B>,
    encryptors: &[Encryptor<'_, S>],
    clear: &Clear<S::Table>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> he_files::Result<Written> {
    let params = &team.lead().params;
    let mut writer = CipherWriter::new::<S>(output, params, payload)?;
    let slots = payload.content.slots(S::slots(params));
    type Job<T> = (Vec<Vec<T>>, ChaCha20Rng);
    let source = |jobs: &mut Jobs<Job<S::Slot>>| {
        let mut sink = |vectors| jobs.give((vectors, ChaCha20Rng::from_rng(rng)));
        S::pack(clear, params, &payload.content, &mut sink, team.watch())
    };
    let work =
        |at: usize, (vectors, mut rng): Job<S::Slot>| Ok(encryptors[at](&vectors, slots, &mut rng)?.seal());
    team.run(source, work, |frame| writer.send(frame))?;
    writer.commit()
}

/// Encrypts by public key into a file.
///
/// # Errors
/// The output cannot be written; the device fails.
pub fn encrypt_public<S: ContentsOn<B>, B: RingOps>(
    team: &Team<S, B>,
    key: &S::Public,
    clear: &Clear<S::Table>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> he_files::Result<Written> {
    let keys = team.each(|engine| Ok(S::public_to(key, &engine.ring)?))?;
    let engines = team.engines().iter().zip(&keys);
    let encryptors =
        engines.map(|(engine, key)| S::encryptor(engine, key)).collect::<he_files::Result<Vec<_>>>()?;
    write(team, &encryptors, clear, payload, output, rng)
}

pub(super) fn run(args: &Encrypt) -> Result<Summary> {
    const NEEDED: &str = "a public or secret key";
    let Some(path) = &args.unlock.key else {
        return file(args, Secret::Passphrase(&args.unlock.passphrase_file), &[&args.input]);
    };
    stdin_once([&*args.input, path])?;
    match AnyKey::read(Input::open(path)?, NEEDED, Some(&args.unlock.passphrase_file))? {
        AnyKey::Aes(key) => file(args, Secret::Key(&key.key), &[&args.input, path]),
        AnyKey::Tfhe(key) => integers(args, &key, path),
        AnyKey::Scheme(key) => on_scheme!(key, key => match &key.key {
            Key::Evaluation(_) => Err(key.wrong_kind(NEEDED).into()),
            _ => content(args, &key, path),
        }),
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
        let cipher = args.device.choice.cipher(source.known_len())?;
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
    if args.width.is_some() {
        return Err(CliError::usage(format!(
            "--width is for keys of tfhe, and the key is one of {}",
            S::NAME
        ))
        .hint("leave it out"));
    }
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let input = Input::open(&args.input)?;
    let length = input.length();
    let clear = Clear::read::<S>(input, args.table.flags(), args.frame, &Shown::default())?;
    if let Clear::Picture(picture) = &clear
        && let Some(kept) = picture.metadata().text()
    {
        console::note(&format!("{} goes with its {kept}, for all to see", args.input.display()));
    }
    let content = S::describe(&clear, &key.params, args.halo, &Shown::default())?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    let device = args.device.choice.open()?;
    let computed_on = device.name();
    let work = Content { key, clear: &clear, payload: &payload, output };
    let written = S::run(device.streams()?, work)?;
    let (values, more) = (payload.content.values(), format!("; {}", payload.content.shape()));
    let mut summary = summary(args, length.bytes(), written.bytes, &more);
    if let Some(secret) = half_as_large(key, path) {
        summary = summary.hint(&format!("-k {} would make the file half as large", secret.display()));
    }
    Ok(summary.fact("values", values).fact("device", computed_on).facts(written.facts))
}

/// The secret key beside a public one, if it makes smaller files: those who have both should use
/// it.
fn half_as_large<S: Scheme>(key: &KeyFile<S>, path: &Path) -> Option<PathBuf> {
    let secret = path.with_file_name(KEY_NAMES[0]);
    let smaller = matches!(key.key, Key::Public(_)) && S::CIPHERTEXTS.1.is_some();
    (smaller && path.as_os_str() != "-" && secret.is_file()).then_some(secret)
}

/// Encrypts a table of unsigned integers.
fn integers(args: &Encrypt, key: &tfhe::keys::KeyFile, path: &Path) -> Result<Summary> {
    let secret = key.secret()?;
    let categories = (!args.table.categories.is_empty()).then_some("--categories");
    let offset = (!args.table.offset.is_empty()).then_some("--offset");
    let unpacked = args.table.unpacked.then_some("--unpacked");
    let frame = args.frame.map(|_| "--frame");
    if let Some(flag) = args.halo.map(|_| "--halo").or(frame).or(categories).or(offset).or(unpacked) {
        return Err(CliError::usage(format!("{flag} is not for keys of tfhe"))
            .hint("leave it out: tfhe encrypts tables of unsigned integers"));
    }
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[&args.input, path])?;
    let width = args.width.unwrap_or(WIDTH);
    let input = Input::open(&args.input)?;
    let length = input.length();
    let table = tfhe::columns::read(input, args.table.flags().options, width, &Shown::default())?;
    let content = tfhe::columns::describe(&table, width, &key.params)?;
    let payload = Payload { key_id: key.id.clone(), history: Vec::new(), content };
    // A device that is named must exist, although the CPU makes the ciphertexts, which are one word
    // each and a seed.
    args.device.choice.open()?;
    let writer = tfhe::file::Writer::new(output, &key.params, &payload)?;
    let written = tfhe::columns::encrypt(secret, &table, width, writer, &mut rng()?, &Shown::default())?;
    let (values, more) = (payload.content.values(), format!("; {}", payload.content.shape()));
    let summary = summary(args, length.bytes(), written.bytes, &more);
    Ok(summary.fact("values", values).fact("device", Cpu::new().name()).facts(written.facts))
}

/// The source, the key and the destination of an encryption.
struct Content<'a, S: Contents> {
    key: &'a KeyFile<S>,
    clear: &'a Clear<S::Table>,
    payload: &'a Payload,
    output: Output,
}

impl<S: Contents> Work<S> for Content<'_, S> {
    type Output = Written;

    fn on<B: RingOps>(self, backends: Vec<B>) -> he_files::Result<Written>
    where
        S: ContentsOn<B>,
    {
        let Self { key, clear, payload, output } = self;
        let team = Team::<S, B>::new(&key.params, backends)?.watched(Arc::new(Shown::default()));
        let mut rng = rng()?;
        if let Key::Secret(secret) = &key.key {
            let engines = team.engines().iter();
            let encryptors = engines
                .map(|engine| S::secret_encryptor(engine, secret))
                .collect::<he_files::Result<Vec<_>>>()?;
            write(&team, &encryptors, clear, payload, output, &mut rng)
        } else {
            encrypt_public(&team, &key.public(&team.lead().ring)?, clear, payload, output, &mut rng)
        }
    }
}
