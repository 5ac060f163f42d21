//! `transcipher`: a sensor file to an encrypted table or image under TFHE.

use crate::args::Transcipher;
use crate::error::Result;
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, growth, shown, time};
use he_files::io::input::Input;
use he_files::io::output::OutputOptions;
use he_files::key_file::AnyKey;
use he_files::tfhe::keys::KeyFile;
use he_files::transcipher::SensorFile;
use he_files::transcipher::evaluate::{NAME, Transciphering};
use he_files::watch::Watch;
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(args: &Transcipher) -> Result<Summary> {
    let inputs = [&*args.input, &args.sensor_key, &args.key];
    stdin_once(inputs)?;
    let key = |path: &Path, needed| -> Result<KeyFile> {
        Ok(AnyKey::read(Input::open(path)?, needed, None)?.tfhe(needed)?)
    };
    let evaluation = key(&args.key, "an evaluation key")?;
    let sensor = key(&args.sensor_key, "an encrypted sensor key")?;
    let input = Input::open(&args.input)?;
    let length = input.length();
    let work = Transciphering::new(evaluation, sensor, SensorFile::read(input)?)?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &inputs)?;
    let devices = args.device.open()?;
    let watch: Arc<dyn Watch> = Arc::new(Shown::default());
    let (values, shape) = (work.content().values(), work.content().shape());
    let written = work.write(devices.lead(), output, &watch)?;

    let (name, sizes, time) = (shown(&args.output), growth(length.bytes(), written.bytes), time());
    Ok(Summary::new(NAME)
        .path("input", &args.input)
        .fact("input_bytes", length.bytes())
        .output(&args.output)
        .fact("values", values)
        .fact("device", devices.name())
        .line(format!("{name}: {sizes}, in {time}; {shape}"))
        .facts(written.facts))
}
