//! The times of images that are in memory already, encrypted as a client sends them: what remains
//! of a query when files are left out.

use super::client::label;
use super::instance::{Instance, digits};
use super::ring;
use super::server::Server;
use crate::device::device;
use crate::error::{At as _, Error};
use crate::frames::Reader;
use crate::series::Series;
use he::Device;
use he::backend::Backend as _;
use he::ckks::{Ciphertext, CkksParams, Complex64, Decryptor, Encoder, SecretEncryptor};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, SecretKey};
use he::wire::{FrameWriter, Wire as _, WireParams as _};
use he_nn::CompiledModel;
use std::path::Path;

/// How often everything is computed.
const RUNS: usize = 9;
/// The most images: their ciphertexts take 8 GB.
const MOST: u64 = 100_000;
/// The name of the images in errors.
const NAME: &str = "the images in memory";
/// The part of labels that noise may change: those whose two highest scores are near each other.
const DOUBTFUL: f64 = 0.05;

/// Loads so many images and computes their scores several times, and prints the times.
pub(super) fn measure(instance: &Instance, count: u64) -> Result<(), Error> {
    if !(1..=MOST).contains(&count) {
        return Err(Error::count(Path::new(NAME), count, format!("1 to {MOST}")));
    }
    let (model, mut rng) = (instance.model()?, he::rand::rng());
    let (params, ring) = (model.parameters().params(), ring(&model, device()?)?);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, model.requirements()?.keys, &mut rng)?;
    let images: Vec<Vec<f64>> = digits().cycle().take(count as usize).collect();
    let bytes = encrypted(&model, &secret, &ring, &images)?;
    println!("{}: {count} images, {} bytes", ring.backend().name(), bytes.len());

    let server = Server::with_keys(&model, &ring, keys)?;
    let (mut series, program) = (Series::default(), model.program());
    for run in 0..=RUNS {
        let open = || Reader::over(&bytes[..], Path::new(NAME), params);
        let loaded = series.time("loading", || server.images(&mut open()?, images.len()))?;
        let scores = series.time("inference", || server.scores(&loaded))?;
        for (step, spent) in program.iter().zip(server.steps(&loaded)?) {
            series.add(&step.name, spent);
        }
        if run == 0 {
            check(&model, &secret, &ring, &images, &scores)?;
        }
    }
    print!("{series}");
    Ok(())
}

/// The bytes that a client sends.
fn encrypted(
    model: &CompiledModel,
    secret: &SecretKey,
    ring: &Ring<Device>,
    images: &[Vec<f64>],
) -> Result<Vec<u8>, Error> {
    let (params, mut rng) = (model.parameters().params(), he::rand::rng());
    let (encryptor, encoder) = (SecretEncryptor::new(params, secret, ring)?, Encoder::new(params, ring)?);
    let mut writer = FrameWriter::new(Vec::new());
    writer.write(&params.to_frame()).at(Path::new(NAME))?;
    for vectors in model.pack(images)? {
        let complex = |vector: Vec<f64>| vector.into_iter().map(Complex64::from).collect();
        let vectors: Vec<Vec<Complex64>> = vectors.into_iter().map(complex).collect();
        let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let ct = encryptor.encrypt(&encoder.encode_batch(&vectors, params.encoding())?, &mut rng)?;
        writer.write(&ct.to_frame(params)?).at(Path::new(NAME))?;
    }
    writer.finish(CkksParams::fingerprint(params)).at(Path::new(NAME))
}

/// Checks the labels against those of the network on plain pixels.
fn check(
    model: &CompiledModel,
    secret: &SecretKey,
    ring: &Ring<Device>,
    images: &[Vec<f64>],
    scores: &[Ciphertext<Device>],
) -> Result<(), Error> {
    let params = model.parameters().params();
    let (decryptor, encoder) = (Decryptor::new(params, secret, ring)?, Encoder::new(params, ring)?);
    let parts = scores.iter().map(|ct| encoder.decode_real(&decryptor.decrypt(ct)?));
    let parts = parts.collect::<he::Result<Vec<_>>>()?;
    let found = model.outputs().unpack(&parts, images.len())?;
    let mut equal = 0;
    for (found, image) in found.iter().zip(images) {
        let scores = model.graph().apply_plain(image)?.into_iter().enumerate();
        let expected = scores.max_by(|left, right| left.1.total_cmp(&right.1)).map(|(label, _)| label);
        equal += usize::from(Some(label(found)) == expected);
    }
    println!("{equal} of {} labels are those of the network on plain pixels", images.len());
    match equal as f64 >= (1.0 - DOUBTFUL) * images.len() as f64 {
        true => Ok(()),
        false => Err(Error::Server("the labels are wrong".into())),
    }
}
