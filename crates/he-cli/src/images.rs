//! Images under encryption, band by band.

use crate::cipher_file::{CipherReader, CipherWriter};
use crate::engine::{Engine, batch_size};
use crate::error::{CliError, Result};
use crate::payload::ImageNote;
use crate::picture::{Channels, Picture};
use crate::progress::Progress;
use he_core::backend::RingOps;
use he_core::circuits::{Affine, Kernel, Packing, TileLayout, TileSpec, blend, convolve, grayscale};
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Decryptor, Plaintext};
use he_core::rlwe::EvaluationKeys;
use std::ops::Range;

/// Sides of the tiles for which keys hold the rotations of filters directly: the squarest, rather wide than high.
pub fn square_tile(slots: usize) -> (usize, usize) {
    let log_slots = slots.ilog2();
    let log_width = log_slots.div_ceil(2);
    (1 << log_width, 1 << (log_slots - log_width))
}

/// The squarest tiles, unless another shape saves more than a tenth of the ciphertexts.
fn layout(picture: &Picture, slots: usize, halo: usize) -> Result<TileLayout> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let best = TileLayout::new(width, height, slots, halo, Packing::Complex)?;
    let (tile_w, tile_h) = square_tile(slots);
    let packing = Packing::Complex;
    let square =
        TileLayout::try_from(TileSpec { width, height, tile_w, tile_h, halo, halo_left: halo, packing });
    let vectors = |layout: &TileLayout| layout.bands() * layout.vectors_per_band();
    Ok(square.ok().filter(|square| 10 * vectors(square) <= 11 * vectors(&best)).unwrap_or(best))
}

/// The batches of a band.
fn batches(layout: &TileLayout, batch: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let all = layout.vectors_per_band();
    (0..all).step_by(batch).map(move |start| start..all.min(start + batch))
}

/// Describes a picture to be encrypted.
///
/// # Errors
/// The halo does not fit a tile.
pub fn describe(picture: &Picture, params: &CkksParams, halo: usize) -> Result<ImageNote> {
    let (_, side) = square_tile(params.slots());
    let most = (side - 1) / 2;
    if halo > most {
        let what = format!("a halo of {halo} pixels leaves nothing of a tile of {} slots", params.slots());
        return Err(CliError::usage(what)
            .hint(format!("choose --halo up to {most}, or make keys with a larger keygen --slots")));
    }
    let layout = layout(picture, params.slots(), halo)?;
    Ok(ImageNote {
        width: picture.width(),
        height: picture.height(),
        channels: picture.channels().name().to_owned(),
        depth: picture.depth().bits(),
        tile_width: layout.tile_w() as u32,
        tile_height: layout.tile_h() as u32,
        halo: halo as u32,
        halo_left: halo as u32,
        batch: batch_size(params) as u32,
        low: 0.0,
        high: 1.0,
    })
}

/// Encodes a picture batch by batch; `sink` encrypts and writes.
///
/// # Errors
/// Those of the sink; the device fails.
pub fn encode<B: RingOps>(
    engine: &Engine<B>,
    picture: &Picture,
    note: &ImageNote,
    mut sink: impl FnMut(&Plaintext<B>) -> Result<()>,
) -> Result<()> {
    let layout = note.layout(&engine.params)?;
    let progress = Progress::new("encrypting", layout.bands() as u64);
    for band in 0..layout.bands() {
        for channel in 0..picture.channels().count() {
            let vectors = layout.pack_band(band, |y, row| {
                let y = y as u32;
                picture.read_rows(channel, y..y + 1, row);
            })?;
            for range in batches(&layout, note.batch as usize) {
                let vectors: Vec<&[Complex64]> = vectors[range].iter().map(Vec::as_slice).collect();
                sink(&engine.evaluator.encoder().encode_batch(&vectors, engine.params.encoding())?)?;
            }
        }
        progress.inc(1);
    }
    progress.finish();
    Ok(())
}

/// Decrypts batch by batch; `sink(channel, row, values)` takes each row of each channel.
///
/// # Errors
/// The file is damaged; the device fails; the result is no image.
pub fn decode<B: RingOps>(
    engine: &Engine<B>,
    reader: &mut CipherReader,
    note: &ImageNote,
    decryptor: &Decryptor<B>,
    mut sink: impl FnMut(usize, u32, &[f64]),
) -> Result<()> {
    let layout = note.layout(&engine.params)?;
    let (channels, _) = note.format()?;
    let progress = Progress::new("decrypting", layout.bands() as u64);
    for band in 0..layout.bands() {
        for channel in 0..channels.count() {
            let mut vectors = Vec::with_capacity(layout.vectors_per_band());
            for range in batches(&layout, note.batch as usize) {
                let ct = reader.next(&engine.ring, range.len())?;
                vectors.extend(engine.evaluator.encoder().decode(&decryptor.decrypt(&ct)?)?);
            }
            // What was decrypted under another key, or does not fit its description, is as large as the modulus.
            let limit = 1e6 * (1.0 + note.high.abs() + note.low.abs());
            if vectors.iter().flatten().any(|z| z.norm().is_nan() || z.norm() >= limit) {
                return Err(CliError::new(format!("{} does not decrypt to an image", reader.name))
                    .hint("use the secret key of the key set that it was encrypted with"));
            }
            layout.unpack_band(band, &vectors, |y, row| sink(channel, y as u32, row))?;
        }
        progress.inc(1);
    }
    progress.finish();
    reader.end()
}

/// What can be done with an encrypted image.
pub enum Filter {
    /// A filter of odd size.
    Kernel(Kernel),
    /// factor x + offset.
    Affine(Affine),
    /// Luminance.
    Grayscale,
    /// (1 - alpha) x + alpha y with another image.
    Blend(Box<CipherReader>, f64),
}

impl Filter {
    /// The description of the result.
    ///
    /// # Errors
    /// The filter does not fit: too little halo, too large values, no colours, another image of another shape.
    pub fn describe(&self, note: &ImageNote, params: &CkksParams) -> Result<ImageNote> {
        let mut result = note.clone();
        let (channels, _) = note.format()?;
        match self {
            Self::Kernel(kernel) => {
                let (radius, left) = (kernel.radius(), note.halo_left as usize);
                if radius > left {
                    let what =
                        format!("a filter of radius {radius} on an image with {left} pixels of halo left");
                    return Err(CliError::new(what)
                        .hint("encrypt with a larger --halo: the sum of the radii of all filters"));
                }
                result.halo_left = (left - radius) as u32;
                let sum = |f: fn(f64) -> bool| kernel.weights().iter().filter(|&&w| f(w)).sum::<f64>();
                let (positive, negative) = (sum(|w| w > 0.0), sum(|w| w < 0.0));
                result.high = positive * note.high + negative * note.low;
                result.low = positive * note.low + negative * note.high;
            }
            Self::Affine(map) => {
                let ends = [map.apply_plain(note.low), map.apply_plain(note.high)];
                (result.low, result.high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            }
            Self::Grayscale => {
                let gray = match channels {
                    Channels::Rgb => Channels::Gray,
                    Channels::Rgba => Channels::GrayAlpha,
                    _ => {
                        return Err(CliError::new("the image has no colours: it is gray already")
                            .hint("grayscale takes RGB and RGBA images"));
                    }
                };
                result.channels = gray.name().to_owned();
            }
            Self::Blend(other, alpha) => {
                let crate::payload::Content::Image(with) = &other.payload.content else {
                    return Err(CliError::new(format!("{} is no encrypted image", other.name))
                        .hint("blend takes two encrypted images"));
                };
                if !(0.0..=1.0).contains(alpha) {
                    return Err(CliError::usage(format!("a weight of {alpha}"))
                        .hint("choose --alpha between 0 and 1"));
                }
                let comparable =
                    |n: &ImageNote| ImageNote { halo_left: 0, depth: 0, low: 0.0, high: 0.0, ..n.clone() };
                if comparable(with) != comparable(note) {
                    let text = |n: &ImageNote| {
                        format!("{} x {} {} with a halo of {}", n.width, n.height, n.channels, n.halo)
                    };
                    return Err(CliError::new(format!(
                        "the images differ: {} and {}",
                        text(note),
                        text(with)
                    ))
                    .hint("blend takes images of one size, kind of pixels and halo"));
                }
                result.halo_left = note.halo_left.min(with.halo_left);
                (result.low, result.high) = (note.low.min(with.low), note.high.max(with.high));
            }
        }
        // A slot holds two values, as real and imaginary part.
        let magnitude = result.low.abs().max(result.high.abs());
        let limit = params.range() / std::f64::consts::SQRT_2;
        if magnitude.is_nan() || magnitude > limit {
            let shown = if magnitude < 1e6 { format!("{magnitude:.1}") } else { format!("{magnitude:.1e}") };
            return Err(CliError::new(format!(
                "results of up to {shown} do not fit keys that hold {limit:.1}"
            ))
            .hint("use smaller weights, or make keys with a larger keygen --range"));
        }
        Ok(result)
    }

    /// Computes batch by batch.
    ///
    /// # Errors
    /// The file is damaged; levels or keys are missing; the device fails.
    pub fn apply<B: RingOps>(
        &mut self,
        engine: &Engine<B>,
        keys: &EvaluationKeys<B>,
        reader: &mut CipherReader,
        note: &ImageNote,
        writer: &mut CipherWriter,
    ) -> Result<()> {
        let layout = note.layout(&engine.params)?;
        let (channels, _) = note.format()?;
        let (ev, ring) = (&engine.evaluator, &engine.ring);
        let batch = note.batch as usize;
        let progress = Progress::new("computing", layout.bands() as u64);
        for _ in 0..layout.bands() {
            if let Self::Grayscale = self {
                // All colours of a band are needed at once.
                let read = |reader: &mut CipherReader| {
                    batches(&layout, batch)
                        .map(|range| reader.next(ring, range.len()))
                        .collect::<Result<Vec<_>>>()
                };
                let [red, green, blue] = [read(reader)?, read(reader)?, read(reader)?];
                for ((red, green), blue) in red.iter().zip(&green).zip(&blue) {
                    writer.write(&grayscale(ev, [red, green, blue])?)?;
                }
                if channels.has_alpha() {
                    for alpha in read(reader)? {
                        writer.write(&alpha)?;
                    }
                }
            } else {
                for channel in 0..channels.count() {
                    for range in batches(&layout, batch) {
                        let ct = reader.next(ring, range.len())?;
                        let light = channel < channels.light();
                        let result = self.apply_to(engine, keys, &layout, ct, light, range.len())?;
                        writer.write(&result)?;
                    }
                }
            }
            progress.inc(1);
        }
        progress.finish();
        if let Self::Blend(other, _) = self {
            other.end()?;
        }
        reader.end()
    }

    /// One batch of one channel; only blends change opacity.
    fn apply_to<B: RingOps>(
        &mut self,
        engine: &Engine<B>,
        keys: &EvaluationKeys<B>,
        layout: &TileLayout,
        ct: Ciphertext<B>,
        light: bool,
        batch: usize,
    ) -> Result<Ciphertext<B>> {
        let ev = &engine.evaluator;
        Ok(match self {
            Self::Kernel(kernel) if light => convolve(ev, &ct, kernel, layout, keys)?,
            Self::Affine(map) if light => map.apply(ev, &ct, Packing::Complex)?,
            Self::Blend(other, alpha) => blend(ev, &ct, &other.next(&engine.ring, batch)?, *alpha)?,
            _ => ct,
        })
    }
}
