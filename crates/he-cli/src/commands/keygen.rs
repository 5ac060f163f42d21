//! `keygen`: the three key files of a scheme, the one of AES.

use crate::args::{
    self, BigCkksNeeds, KeyFolder, Keygen, KeygenAes, KeygenBigCkks, KeygenCkks, KeygenExact, KeygenTfhe,
};
use crate::error::warn;
use crate::error::{CliError, IoContext, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text};
use crate::summary::{Summary, shown};
use he_core::aes::KeySize;
use he_core::aes::container::UserKey;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::BigCkksParams;
use he_core::tfhe::{CompactPublicKey, TfheSecretKey};
use he_core::transcipher::SensorKey;
use he_core::wire::Wire;
use he_files::bootstrap::{self, Refreshing};
use he_files::contents::{images, integers};
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::write_aes_key;
use he_files::key_set::{KEY_NAMES, KeyFiles, Wiped, sealed};
use he_files::needs::Published;
use he_files::note::KeyId;
use he_files::scheme::Taken;
use he_files::scheme::engine::{Engine, rng, security};
use he_files::scheme::{BigCkks, Ckks, Rotations, Scheme};
use he_files::tfhe;
use he_files::tfhe::keys::{write_evaluation, write_key as write_tfhe_key};
use he_files::units;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(super) fn run(args: &Keygen) -> Result<Summary> {
    match (&args.scheme, args.model.as_deref().zip(args.output.as_deref())) {
        (Some(args::Scheme::Ckks(args)), _) => ckks(args),
        (Some(args::Scheme::Bfv(args)), _) => exact::<Bfv>(args),
        (Some(args::Scheme::Bgv(args)), _) => exact::<Bgv>(args),
        (Some(args::Scheme::Bigckks(args)), _) => bigckks(args),
        (Some(args::Scheme::Aes(args)), _) => aes(args),
        (Some(args::Scheme::Tfhe(args)), _) => tfhe(args),
        (None, Some((plan, _))) if !plan.exists() => {
            let message = format!("{} is neither a scheme nor a compiled model", plan.display());
            let hint = "name ckks, bfv, bgv, bigckks, aes, tfhe, or a file that compile wrote";
            Err(CliError::usage(message).hint(hint))
        }
        (None, Some((plan, output))) => super::model::keygen(args, plan, output),
        (None, None) => Err(CliError::usage("keys of nothing").hint("name a scheme, or a compiled model")),
    }
}

fn ckks(args: &KeygenCkks) -> Result<Summary> {
    match args.bootstrap {
        Some(named) => {
            let boot = named.params()?;
            let rotations = images::rotations(boot.params(), args.needs.radius)?;
            bootstrapping(&boot, named.name().into(), &rotations, &args.folder)
        }
        None => {
            let params = args.needs.params()?;
            keys::<Ckks>(&params, &images::rotations(&params, args.needs.radius)?, &args.folder)
        }
    }
}

/// Says that keys of the toy are for tests.
fn warn_of_toy() {
    warn(&format!("keys of {} protect nothing", bootstrap::TOY), "use them for tests, and others for data");
}

/// The three keys of parameters with bootstrapping, and those of bootstrapping. `preset` is what
/// the parameters are called, or true where they were chosen from needs.
fn bootstrapping<P: Refreshing>(
    boot: &P,
    preset: Value,
    rotations: &Rotations,
    args: &KeyFolder,
) -> Result<Summary> {
    let params = boot.programs();
    let folder = create_dir(&args.output)?;
    let files = KeyFiles::create(folder.path(), args.options.force)?
        .with_bootstrapping(folder.path(), args.options.force)?;
    let devices = args.options.device.open()?;
    let passphrase = args.options.seal.obtain(&args.output.join(KEY_NAMES[0]).display().to_string())?;
    if !boot.circuit().is_secure() {
        warn_of_toy();
    }
    let mut rng = rng()?;
    let engine = Engine::<P::Scheme>::new(params, devices.lead().clone())?;
    let shown = Shown::default();
    let passphrase = passphrase.as_ref();
    let (id, sizes) =
        files.generate_with_bootstrapping(boot, &engine, rotations, passphrase, &mut rng, &shown)?;
    folder.keep();
    let names = KEY_NAMES.into_iter().chain([bootstrap::KEY_NAME]);
    let scheme = <P::Scheme as Scheme>::NAME;
    let made = summary(scheme, &args.output, names.zip(sizes), passphrase.is_some());
    Ok(made
        .fact("key_set", id.short())
        .fact("device", devices.name())
        .fact("rotations", rotations.steps.len())
        .fact("bootstrap", preset)
        .fact("parameters", <P::Scheme as Scheme>::params_json(params)))
}

fn exact<E: Taken>(args: &KeygenExact) -> Result<Summary> {
    match args.needs.bootstrapping::<E>()? {
        Some(boot) => {
            let preset = args.needs.bootstrap.clone().flatten().map_or(json!(true), Value::from);
            bootstrapping(&boot, preset, &integers::rotations(boot.params()), &args.folder)
        }
        None => {
            let params = args.needs.params::<E>()?;
            keys::<E>(&params, &integers::rotations(&params), &args.folder)
        }
    }
}

/// Parameters in bits.
///
/// # Errors
/// No parameters satisfy the needs, or one of the needs is out of range.
pub(super) fn bigckks_params(needs: &BigCkksNeeds) -> Result<BigCkksParams> {
    let builder = BigCkksParams::for_depth_bits(needs.depth_bits)
        .precision_bits(needs.precision)
        .range_bits(needs.range)
        .slots(needs.slots)
        .security(security(needs.security)?);
    let builder = match needs.publishing.needs() {
        Some(Published { decryptions, security_bits }) => builder.published(security_bits, decryptions),
        None => builder,
    };
    Ok(builder.build()?)
}

fn bigckks(args: &KeygenBigCkks) -> Result<Summary> {
    keys::<BigCkks>(&bigckks_params(&args.needs)?, &Rotations::default(), &args.folder)
}

/// Generates a key set into a folder.
fn keys<S: Scheme>(params: &S::Params, rotations: &Rotations, args: &KeyFolder) -> Result<Summary> {
    let folder = create_dir(&args.output)?;
    let files = KeyFiles::create(folder.path(), args.options.force)?;
    // This is checked before anybody is asked for a passphrase.
    let devices = args.options.device.open()?;
    let passphrase = args.options.seal.obtain(&args.output.join(KEY_NAMES[0]).display().to_string())?;
    let engine = Engine::<S>::new(params, devices.lead().clone())?;
    let (passphrase, shown) = (passphrase.as_ref(), Shown::default());
    let (id, sizes) = files.generate(&engine, rotations, passphrase, &mut rng()?, &shown)?;
    folder.keep();
    let made = summary(S::NAME, &args.output, KEY_NAMES.into_iter().zip(sizes), passphrase.is_some());
    Ok(made
        .fact("key_set", id.short())
        .fact("device", devices.name())
        .fact("rotations", rotations.steps.len())
        .fact("parameters", S::params_json(params)))
}

/// The keys of TFHE, made on the CPU.
fn tfhe(args: &KeygenTfhe) -> Result<Summary> {
    let (params, circuit) = (args.needs.params()?, args.needs.circuit()?);
    let folder = create_dir(&args.output)?;
    let [secret, public, evaluation] = KEY_NAMES.map(|name| {
        let options =
            OutputOptions { force: args.force, secret: name == KEY_NAMES[0], ..OutputOptions::default() };
        Output::create(folder.path().join(name), options, &[])
    });
    let (mut secret, mut public, mut evaluation) = (secret?, public?, evaluation?);
    let passphrase = args.seal.obtain(&args.output.join(KEY_NAMES[0]).display().to_string())?;
    if !params.is_secure() {
        warn_of_toy();
    }
    let mut rng = rng()?;
    let (id, key) = (KeyId::random(&mut rng), TfheSecretKey::generate(&params, &mut rng));

    let name = secret.name();
    let frame = key.to_frame(&params)?;
    // The buffer has its full size from the start, because growing would leave copies of the secret
    // behind.
    let mut plain = Wiped::with_capacity(frame.body.len() + (1 << 12));
    write_tfhe_key(&mut plain, &params, &id, frame, &name)?;
    let bytes = sealed(plain, passphrase.as_ref())?;
    secret.write_all(&bytes).writing(&name)?;

    let name = evaluation.name();
    let kind = (args.needs.group(), circuit.as_ref());
    let evaluation_size = write_evaluation(&mut evaluation, &key, kind, &id, &mut rng, &name)?;

    let name = public.name();
    let frame = CompactPublicKey::generate(&key, &mut rng).to_frame(&params)?;
    let public_size = write_tfhe_key(&mut public, &params, &id, frame, &name)?;
    Output::commit_all([secret, public, evaluation])?;
    folder.keep();
    let sizes = [bytes.len() as u64, public_size, evaluation_size];
    let made = summary(tfhe::NAME, &args.output, KEY_NAMES.into_iter().zip(sizes), passphrase.is_some());
    Ok(made
        .fact("key_set", id.short())
        .fact("transciphers", circuit.is_some())
        .fact("multi_bit", args.needs.group())
        .fact("parameters", tfhe::params_json(&params)))
}

/// The summary of new keys: the sizes of their files and, for programs, whether a passphrase
/// protects the secret key.
pub(super) fn summary(
    scheme: &str,
    folder: &Path,
    files: impl Iterator<Item = (&'static str, u64)>,
    sealed: bool,
) -> Summary {
    let mut summary = Summary::new("keygen").fact("scheme", scheme);
    let mut told = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name).display().to_string();
        summary = summary.line(format!("{path}: {}", units::bytes(bytes)));
        told.push(json!({ "path": path, "bytes": bytes }));
    }
    summary.path("output", folder).fact("files", told).fact("sealed", sealed)
}

fn aes(args: &KeygenAes) -> Result<Summary> {
    let options = OutputOptions { force: args.force, secret: true, ..OutputOptions::default() };
    let mut output = stdio::create(&args.output, options, Text::No, &[])?;
    let name = output.name();
    let passphrase = args.seal.obtain(&name)?;
    let (frame, id) = match args.transcipher {
        None => {
            let key = UserKey::generate(&mut rng()?);
            (key.to_frame(), key.id())
        }
        Some(size) => {
            let key = SensorKey::generate(size, &mut rng()?);
            (key.to_frame(), key.id())
        }
    };
    // The buffer has its full size from the start, because growing would leave copies of the secret
    // behind.
    let mut plain = Wiped::with_capacity(1 << 10);
    write_aes_key(&mut plain, &frame, &name)?;
    let bytes = sealed(plain, passphrase.as_ref())?;
    output.write_all(&bytes).writing(&name)?;
    output.commit()?;
    let (name, size, id) = (shown(&args.output), bytes.len() as u64, id.to_string());
    Ok(Summary::new("keygen")
        .fact("scheme", "aes")
        .output(&args.output)
        .fact("files", vec![json!({ "path": args.output.display().to_string(), "bytes": size })])
        .fact("sealed", passphrase.is_some())
        .fact("bits", args.transcipher.unwrap_or(KeySize::Bits256).bits())
        .line(format!("{name}: {}, key {id}", units::bytes(size)))
        .fact("key", id))
}
