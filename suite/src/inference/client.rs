//! The stages of the client, who has the images and learns their labels.

use super::instance::Instance;
use super::{images, ring};
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::output;
use crate::progress::Progress;
use he::Device;
use he::ckks::{Ciphertext, Complex64, Decryptor, Encoder, SecretEncryptor};
use he::wire::{FrameKind, Wire as _, WireParams as _};
use he_nn::{CompiledModel, Outputs};

/// Generates the secret key, and the keys of the server.
pub(super) fn generate_keys(instance: &Instance) -> Result<(), Error> {
    let model = instance.model()?;
    instance.folders.keys().generate(model.parameters().params(), model.requirements()?.keys)
}

/// Encrypts all images: a batch of ciphertexts for each place of the input.
pub(super) fn encrypt(instance: &Instance) -> Result<(), Error> {
    let (folders, model) = (&instance.folders, instance.model()?);
    let images = images::read(&folders.pixels(), instance.images())?;
    let (params, ring) = (model.parameters().params(), ring(&model, Device::cpu())?);
    let encryptor = SecretEncryptor::new(params, &folders.keys().secret(params)?, &ring)?;
    let (encoder, mut rng) = (Encoder::new(params, &ring)?, he::rand::rng());
    let mut writer = Writer::create(&folders.images(), params)?;
    let mut progress = Progress::new("encrypted places of the input", model.ciphertexts() as u64);
    for (done, vectors) in model.pack(&images)?.into_iter().enumerate() {
        let complex = |vector: Vec<f64>| vector.into_iter().map(Complex64::from).collect();
        let vectors: Vec<Vec<Complex64>> = vectors.into_iter().map(complex).collect();
        let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let ct = encryptor.encrypt(&encoder.encode_batch(&vectors, params.encoding())?, &mut rng)?;
        writer.write(&ct.to_frame(params)?)?;
        progress.tell(done as u64 + 1);
    }
    writer.finish()
}

/// Decrypts the scores, and writes the label with the highest score of each image.
pub(super) fn decrypt(instance: &Instance) -> Result<(), Error> {
    let model = instance.model()?;
    let count = images::read(&instance.folders.pixels(), instance.images())?.len();
    let outputs = model.outputs().unpack(&scores(instance, &model, count)?, count)?;
    let labels: String = outputs.iter().map(|outputs| format!("{}\n", label(outputs))).collect();
    output::write(&instance.folders.labels(), labels.as_bytes())
}

/// The vectors of each ciphertext of the scores, of batches for so many images.
fn scores(instance: &Instance, model: &CompiledModel, count: usize) -> Result<Vec<Vec<Vec<f64>>>, Error> {
    let (params, ring) = (model.parameters().params(), ring(model, Device::cpu())?);
    let decryptor = Decryptor::new(params, &instance.folders.keys().secret(params)?, &ring)?;
    let encoder = Encoder::new(params, &ring)?;
    let mut reader = Reader::open(&instance.folders.scores(), params)?;
    let (needed, batch) = (model.outputs().ciphertexts, count.div_ceil(model.examples()));
    let mut parts = Vec::with_capacity(needed);
    while let Some(frame) = reader.next(FrameKind::CkksCiphertext, params.ciphertext_frame_limit(batch))? {
        let ct = Ciphertext::from_frame(params, &ring, &frame).at(reader.path())?;
        if ct.batch() != batch {
            return Err(reader.count(format!("a batch of {} ciphertexts", ct.batch()), batch));
        }
        if parts.len() == needed {
            return Err(reader.count("too many scores", needed));
        }
        parts.push(encoder.decode_real(&decryptor.decrypt(&ct)?)?);
    }
    match parts.len() == needed {
        true => Ok(parts),
        false => Err(reader.count(format!("{} scores", parts.len()), needed)),
    }
}

/// The place of the greatest output.
pub(super) fn label(outputs: &Outputs) -> usize {
    let scores = outputs.values.iter().enumerate();
    scores.max_by(|left, right| left.1.total_cmp(right.1)).map_or(0, |(label, _)| label)
}
