//! `seal`: keys and ciphertexts of SEAL, to files of this program and back.

use super::keygen::summary;
use crate::args::{Seal, SealExport, SealImport, SealKeys, SealStep};
use crate::error::Result;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, growth, shown, time};
use he_files::Error;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::AnyKey;
use he_files::key_set::KEY_NAMES;
use he_files::note::KeyId;
use he_files::scheme::engine::rng;
use he_files::seal;
use std::path::Path;

pub(super) fn run(args: &Seal) -> Result<Summary> {
    match &args.step {
        SealStep::Keys(args) => keys(args),
        SealStep::Import(args) => import(args),
        SealStep::Export(args) => export(args),
    }
}

/// Does something with the bytes of a file of SEAL, whose name is put before its errors.
fn with_file<T>(path: &Path, work: impl FnOnce(&[u8]) -> he_files::error::Result<T>) -> Result<T> {
    let input = Input::open(path)?;
    let name = input.name().to_owned();
    let bytes = seal::read_bytes(input)?;
    Ok(work(&bytes).map_err(|error: Error| error.in_file_of(&name))?)
}

fn keys(args: &SealKeys) -> Result<Summary> {
    let inputs = [Some(&args.parameters), Some(&args.public_key), args.relin_keys.as_ref()];
    stdin_once(inputs.into_iter().flatten().map(AsRef::as_ref))?;
    let params = with_file(&args.parameters, |bytes| seal::read_params(bytes, args.scale_bits, false))?;
    let folder = create_dir(&args.output)?;
    let file = |name| {
        let options = OutputOptions { force: args.force, ..OutputOptions::default() };
        Output::create(folder.path().join(name), options, &[])
    };
    let mut public = file(KEY_NAMES[1])?;
    let relin =
        args.relin_keys.as_ref().map(|path| Ok::<_, crate::error::CliError>((path, file(KEY_NAMES[2])?)));
    let mut relin = relin.transpose()?;
    let (devices, id) = (args.device.open()?, KeyId::random(&mut rng()?));
    let device = devices.lead();
    let sizes = with_file(&args.public_key, |bytes| match &mut relin {
        None => seal::write_keys(&params, device, &id, (bytes, &mut public), None),
        Some((path, output)) => {
            let keys = seal::read_bytes(Input::open(path)?)?;
            seal::write_keys(&params, device, &id, (bytes, &mut public), Some((&keys, output)))
        }
    })?;
    Output::commit_all(std::iter::once(public).chain(relin.map(|(_, output)| output)))?;
    folder.keep();
    let files = KEY_NAMES.into_iter().skip(1).zip(sizes);
    Ok(summary(params.scheme(), &args.output, files, false).fact("key_set", id.short()).fact("step", "keys"))
}

fn import(args: &SealImport) -> Result<Summary> {
    let inputs = [&*args.input, &args.key];
    stdin_once(inputs)?;
    let key = AnyKey::read(Input::open(&args.key)?, "a key of ckks or bfv", None)?;
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::No, &inputs)?;
    let devices = args.device.open()?;
    let (written, length) = with_file(&args.input, |bytes| {
        Ok((seal::import(bytes, key, args.bound, devices.lead(), output)?, bytes.len() as u64))
    })?;
    let (name, sizes, time) = (shown(&args.to.output), growth(length, written.bytes), time());
    let line = format!("{name}: {sizes}, in {time}");
    Ok(Summary::new("seal")
        .fact("step", "import")
        .path("input", &args.input)
        .output(&args.to.output)
        .line(line)
        .facts(written.facts))
}

fn export(args: &SealExport) -> Result<Summary> {
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let input = Input::open(&args.input)?;
    let output = stdio::create(&args.to.output, options, Text::No, &[&*args.input])?;
    let devices = args.device.open()?;
    let bytes = seal::export(input, devices.lead())?;
    output.holding(&bytes)?.commit()?;
    let line =
        format!("{}: {}, in {}", shown(&args.to.output), he_files::units::bytes(bytes.len() as u64), time());
    Ok(Summary::new("seal")
        .fact("step", "export")
        .path("input", &args.input)
        .output(&args.to.output)
        .fact("bytes", bytes.len())
        .line(line))
}
