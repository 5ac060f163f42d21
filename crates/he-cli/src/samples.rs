//! Images sample by sample, for schemes without filters: what goes in comes back, and two images are added, subtracted and multiplied.

use crate::cipher_file::CipherReader;
use crate::engine::batch_size;
use crate::error::{CliError, Result};
use crate::pairwise::{Operator, Pairing};
use crate::payload::{Content, SamplesNote};
use crate::picture::{Picture, PictureBuilder};
use crate::progress::Progress;
use crate::scheme::{Decrypt, On, Scheme, Sink};
use crate::team::{Jobs, Team};
use he_core::backend::RingOps;
use he_core::wire::SealedFrame;

/// Describes a picture to be encrypted; `white` is the number that its largest sample becomes.
///
/// # Errors
/// A halo is asked for.
pub fn describe<S: Scheme>(
    picture: &Picture,
    params: &S::Params,
    halo: Option<usize>,
    white: u32,
) -> Result<SamplesNote> {
    if halo.is_some() {
        return Err(CliError::usage(format!(
            "--halo is for filters, which {} does not have",
            <S as Scheme>::NAME
        ))
        .hint("leave it out, or make keys with keygen ckks"));
    }
    Ok(SamplesNote {
        width: picture.width(),
        height: picture.height(),
        channels: picture.channels().name().to_owned(),
        depth: picture.depth().bits(),
        batch: batch_size::<S>(params) as u32,
        white,
        low: 0,
        high: i64::from(white),
    })
}

/// Packs a picture into vectors of so many slots, batch by batch; `slot(sample, peak)` makes what a slot holds.
///
/// # Errors
/// Those of the sink.
pub fn pack<T>(
    picture: &Picture,
    note: &SamplesNote,
    slots: usize,
    slot: impl Fn(u16, u32) -> T,
    sink: &mut Sink<'_, T>,
) -> Result<()> {
    let (pixels, step, peak) = (note.pixels(), slots * note.batch as usize, picture.depth().peak());
    let progress = Progress::new("encrypting", picture.channels().count() as u64);
    for channel in 0..picture.channels().count() {
        for start in (0..pixels).step_by(step) {
            let samples = picture.samples_of(channel, start..pixels.min(start + step));
            let vector = |samples: &[u16]| samples.iter().map(|&sample| slot(sample, peak)).collect();
            sink(samples.chunks(slots).map(vector).collect())?;
        }
        progress.inc(1);
    }
    progress.finish();
    Ok(())
}

/// Decrypts a picture; `sample(slot)` is the whole number of a slot in steps of a sample.
///
/// # Errors
/// The file is damaged; the device fails.
pub fn decode<S: On<B>, B: RingOps>(
    team: &Team<S, B>,
    reader: &mut CipherReader<S>,
    note: &SamplesNote,
    decryptors: &[Decrypt<'_, S, B>],
    sample: impl Fn(S::Slot) -> i64,
) -> Result<Picture> {
    let (channels, depth) = note.shown()?;
    // White of 8 bits is white of 16 bits; only opacity is not a number to be kept.
    let widening = i64::from(depth.peak() / note.format()?.1.peak());
    let (pixels, slots) = (note.pixels(), S::slots(&reader.params));
    let mut builder = PictureBuilder::new(note.width, note.height, channels, depth)?;
    let content = Content::Samples(note.clone());
    let progress = Progress::new("decrypting", content.batches(slots)?.count() as u64);
    let decoder = reader.decoder();
    let source = |jobs: &mut Jobs<(SealedFrame, usize, usize)>| {
        for (channel, count) in content.batches(slots)? {
            jobs.give((reader.frame()?, channel, count))?;
        }
        reader.end()
    };
    let work = |at: usize, (frame, channel, count): (SealedFrame, usize, usize)| {
        let ct = decoder.decode(&team.engines()[at].ring, frame, count)?;
        Ok((channel, decryptors[at](&ct)?))
    };
    let (mut at, mut current) = (0, 0);
    team.run(source, work, |(channel, vectors)| {
        if channel != current {
            (at, current) = (0, channel);
        }
        for vector in vectors {
            let values = &vector[..vector.len().min(pixels - at)];
            let factor = if channel < channels.light() { 1 } else { widening };
            builder.write_samples(
                channel,
                at,
                values.iter().map(|&slot| sample(slot).saturating_mul(factor)),
            );
            at += values.len();
        }
        progress.inc(1);
        Ok(())
    })?;
    progress.finish();
    Ok(builder.finish())
}

/// The sum, difference or product of two images; opacity is the first one's.
///
/// # Errors
/// They are of other shapes; the results are beyond all numbers.
pub fn pair(operator: Operator, a: &SamplesNote, b: &SamplesNote) -> Result<(Content, Vec<Pairing>)> {
    let comparable = |n: &SamplesNote| SamplesNote { low: 0, high: 0, ..n.clone() };
    if comparable(a) != comparable(b) {
        let text = |n: &SamplesNote| format!("{} x {} {}, {} bits", n.width, n.height, n.channels, n.depth);
        return Err(CliError::new(format!("the images differ: {} and {}", text(a), text(b)))
            .hint(format!("{} takes images of one size and kind of pixels", operator.name())));
    }
    let bounds = operator.whole_bounds((a.low, a.high), (b.low, b.high));
    let (low, high) = bounds.ok_or_else(|| {
        CliError::new("results are beyond all numbers").hint("compute from files with a shorter history")
    })?;
    let note = SamplesNote { low, high, ..a.clone() };
    let channels = note.format()?.0;
    let pairing = |c: usize| if c < channels.light() { Pairing::Slots } else { Pairing::First };
    Ok((Content::Samples(note), (0..channels.count()).map(pairing).collect()))
}
