//! Images sample by sample, for schemes without filters: images are restored exactly, and two
//! images are added, subtracted and multiplied.

use super::unpack::{Opened, Unpack};
use super::{Batches, Kind};
use crate::contents::clear::{Plain, View};
use crate::contents::numbers::Numbers;
use crate::contents::pairing::Pairing;
use crate::data::picture::{Channels, Picture, PictureBuilder, sample};
use crate::error::{ContentError, Result};
use crate::note::{Content, SamplesNote, bad};
use crate::scheme::Scheme;
use crate::scheme::engine::batch_size;
use crate::watch::{Meter, Stage, Watch};
use he_any::layout::Op;

/// A scheme that puts samples into slots.
pub trait Sampled: Scheme {
    /// The number in a decrypted slot.
    type Number: Number;

    /// The number that the largest sample becomes.
    fn white(peak: u32) -> u32;
    /// The value of a sample in a slot, if `peak` is the largest one.
    fn slot(sample: u16, peak: u32) -> Self::Slot;
    /// The number of a slot of an image of this description.
    fn number(params: &Self::Params, note: &SamplesNote, slot: Self::Slot) -> Self::Number;
    /// Bits of precision of real numbers, white being 1.
    fn precision_bits(params: &Self::Params) -> f64;
}

/// Images sample by sample.
pub enum Samples {}

impl<S: Sampled> Kind<S> for Samples {
    type Clear = Picture;
    type Note = SamplesNote;

    fn note(content: &Content) -> Option<&SamplesNote> {
        match content {
            Content::Samples(note) => Some(note),
            _ => None,
        }
    }

    fn describe(
        picture: &Picture,
        params: &S::Params,
        halo: Option<usize>,
        _watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(Content::Samples(describe::<S>(picture, params, halo, S::white(picture.depth().peak()))?))
    }

    fn pack<'a>(
        picture: &'a Picture,
        params: &S::Params,
        note: &'a SamplesNote,
    ) -> Result<Batches<'a, S::Slot>> {
        Ok(pack(picture, note, S::slots(params), S::slot))
    }

    fn pair(operator: Op, left: &SamplesNote, right: &SamplesNote) -> Result<(Content, Vec<Pairing>)> {
        pair(operator, left, right)
    }

    fn unpacker<'a>(file: Opened<'a, S>, note: &SamplesNote) -> Result<Box<dyn Unpack<S::Slot> + 'a>> {
        Ok(Box::new(SamplesUnpacker::new(file, note)?))
    }
}

/// Describes a picture to be encrypted; `white` is the number that its largest sample becomes.
///
/// # Errors
/// A halo is requested.
fn describe<S: Scheme>(
    picture: &Picture,
    params: &S::Params,
    halo: Option<usize>,
    white: u32,
) -> Result<SamplesNote> {
    if halo.is_some() {
        return Err(ContentError::Halo { scheme: <S as Scheme>::NAME }.into());
    }
    Ok(SamplesNote {
        width: picture.width(),
        height: picture.height(),
        channels: picture.channels().name().to_owned(),
        depth: picture.depth().bits(),
        batch: batch_size::<S>(params) as u32,
        white: u64::from(white),
        low: 0,
        high: i64::from(white),
        profile: picture.metadata().profile.clone(),
        resolution: picture.metadata().resolution,
    })
}

/// Packs a picture into vectors of so many slots, batch by batch; `slot(sample, peak)` makes what a
/// slot holds.
fn pack<'a, T>(
    picture: &'a Picture,
    note: &SamplesNote,
    slots: usize,
    slot: impl Fn(u16, u32) -> T + Send + 'a,
) -> Batches<'a, T> {
    let (pixels, step, peak) = (note.pixels(), slots * note.batch as usize, picture.depth().peak());
    let channels = picture.channels().count();
    let of_channel = move |channel| (0..pixels).step_by(step).map(move |start| (channel, start));
    Box::new((0..channels).flat_map(of_channel).map(move |(channel, start)| {
        let end = pixels.min(start + step);
        let samples = picture.samples_of(channel, start..end);
        let vector = |samples: &[u16]| samples.iter().map(|&sample| slot(sample, peak)).collect();
        Ok(samples.chunks(slots).map(vector).collect())
    }))
}

/// A number of a decrypted image.
pub trait Number: Copy {
    /// The sample that shows it.
    fn shown(self, shade: &Shade) -> i64;
    /// An image of such numbers, none yet.
    fn table(shade: &Shade, width: u32, channels: Channels) -> Numbers;
    /// The next numbers of a channel.
    ///
    /// # Errors
    /// There is not enough memory for them.
    fn push(
        numbers: &mut Numbers,
        channel: usize,
        values: impl ExactSizeIterator<Item = Self>,
        shade: &Shade,
    ) -> Result<()>;
}

/// The map from numbers to samples.
pub struct Shade {
    view: View,
    /// The number that is white in light.
    white: i64,
    /// The least possible number, and the greatest.
    bounds: (i64, i64),
    /// The largest sample of the image that was encrypted, and of the picture that comes back.
    peaks: (u32, u32),
    /// Bits of precision of real numbers, white being 1.
    precision_bits: f64,
}

impl Shade {
    /// Makes the unpacker of an image; `precision_bits` counts where its numbers are real.
    ///
    /// # Errors
    /// There is no such picture.
    pub fn new(note: &SamplesNote, view: View, precision_bits: f64) -> Result<Self> {
        let peaks = (note.format()?.1.peak(), note.shown(view)?.1.peak());
        let white = i64::try_from(note.white).map_err(|_| bad("white"))?;
        Ok(Self { view, white, bounds: (note.low, note.high), peaks, precision_bits })
    }

    /// Opacity is shown unchanged.
    fn of_opacity(&self) -> Self {
        let peak = if self.white == 1 { 1 } else { i64::from(self.peaks.0) };
        Self { view: View::Light, white: peak, bounds: (0, peak), ..*self }
    }
}

/// A whole number of BFV and BGV.
impl Number for i64 {
    fn shown(self, shade: &Shade) -> i64 {
        let peak = i128::from(shade.peaks.1);
        let (black, white) = match shade.view {
            View::Light => (0, i128::from(shade.white)),
            View::Scaled => (i128::from(shade.bounds.0), i128::from(shade.bounds.1)),
            View::Raw | View::Numbers => return self,
        };
        let span = (white - black).max(1);
        // Rounds to the nearest, halves up; all numbers are below 2^64.
        let doubled = 2 * (i128::from(self) - black) * peak + span;
        doubled.div_euclid(2 * span).clamp(0, peak) as i64
    }

    fn table(_: &Shade, width: u32, channels: Channels) -> Numbers {
        Numbers::whole(width, channels)
    }

    fn push(
        numbers: &mut Numbers,
        channel: usize,
        values: impl ExactSizeIterator<Item = Self>,
        _: &Shade,
    ) -> Result<()> {
        numbers.push_whole(channel, values)
    }
}

/// A real number of bigckks, where white is 1.
impl Number for f64 {
    fn shown(self, shade: &Shade) -> i64 {
        let (before, after) = (f64::from(shade.peaks.0), f64::from(shade.peaks.1));
        let light = match shade.view {
            View::Light | View::Numbers => self,
            View::Raw => self * before / after,
            View::Scaled => {
                let (low, high) = (shade.bounds.0 as f64, shade.bounds.1 as f64);
                (self - low) / (high - low).max(1.0)
            }
        };
        sample(light, shade.peaks.1 as i32).into()
    }

    fn table(shade: &Shade, width: u32, channels: Channels) -> Numbers {
        Numbers::real(width, channels, shade.precision_bits, shade.peaks.0)
    }

    fn push(
        numbers: &mut Numbers,
        channel: usize,
        values: impl ExactSizeIterator<Item = Self>,
        shade: &Shade,
    ) -> Result<()> {
        let peak = f64::from(shade.peaks.0);
        numbers.push_real(channel, values.map(|x| x * peak))
    }
}

/// Makes the requested view of an image.
struct SamplesUnpacker<'a, S: Sampled> {
    params: S::Params,
    note: SamplesNote,
    made: Made,
    /// Channels of light.
    light_channels: usize,
    shade: Shade,
    opacity: Shade,
    /// The channel of the last batch, and its pixels so far.
    channel: usize,
    at: usize,
    progress: Meter<'a>,
}

/// The form in which an image is decrypted.
enum Made {
    Numbers(Numbers),
    Picture(PictureBuilder),
}

impl<'a, S: Sampled> SamplesUnpacker<'a, S> {
    fn new(file: Opened<'a, S>, note: &SamplesNote) -> Result<Self> {
        let shade = Shade::new(note, file.view, S::precision_bits(&file.params))?;
        let (channels, depth) = note.shown(shade.view)?;
        let made = match shade.view {
            View::Numbers => Made::Numbers(S::Number::table(&shade, note.width, channels)),
            _ => Made::Picture(PictureBuilder::new(note.width, note.height, channels, depth)?),
        };
        let batches = Content::Samples(note.clone()).batches(S::slots(&file.params))?.count();
        Ok(Self {
            made,
            light_channels: channels.light(),
            opacity: shade.of_opacity(),
            shade,
            channel: 0,
            at: 0,
            progress: Meter::new(file.watch, Stage::Decrypting, batches as u64),
            params: file.params,
            note: note.clone(),
        })
    }
}

impl<S: Sampled> Unpack<S::Slot> for SamplesUnpacker<'_, S> {
    fn take(&mut self, channel: usize, vectors: Vec<Vec<S::Slot>>) -> Result<()> {
        if channel != self.channel {
            (self.at, self.channel) = (0, channel);
        }
        for vector in vectors {
            let slots = &vector[..vector.len().min(self.note.pixels() - self.at)];
            let numbers = slots.iter().map(|&slot| S::number(&self.params, &self.note, slot));
            match &mut self.made {
                Made::Numbers(table) => S::Number::push(table, channel, numbers, &self.shade)?,
                Made::Picture(builder) => {
                    let light = channel < self.light_channels;
                    let shade = if light { &self.shade } else { &self.opacity };
                    builder.write_samples(channel, self.at, numbers.map(|number| number.shown(shade)));
                }
            }
            self.at += slots.len();
        }
        self.progress.inc(1);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        Ok(match self.made {
            Made::Numbers(numbers) => Plain::Numbers(numbers),
            Made::Picture(builder) => Plain::Picture(builder.finish().with_metadata(self.note.metadata())),
        })
    }
}

/// The sum, difference or product of two images, where white is 1; opacity is that of the first
/// image. Where whites are not the same number, as of an image and a product, those with the
/// smaller one are multiplied first.
///
/// # Errors
/// They are of other shapes; the results exceed all numbers.
fn pair(operator: Op, a: &SamplesNote, b: &SamplesNote) -> Result<(Content, Vec<Pairing>)> {
    let comparable = |n: &SamplesNote| SamplesNote {
        white: 0,
        low: 0,
        high: 0,
        profile: None,
        resolution: None,
        ..n.clone()
    };
    if comparable(a) != comparable(b) {
        let text = |n: &SamplesNote| format!("{} x {} {}, {} bits", n.width, n.height, n.channels, n.depth);
        return Err(ContentError::Images {
            left: text(a),
            right: text(b),
            operation: operator.name().to_owned(),
            takes: "one size and kind of pixels",
        }
        .into());
    }
    let (white, factors, low, high) = whole_result(operator, a, b).ok_or(ContentError::BeyondNumbers)?;
    let note = SamplesNote { white, low, high, ..a.clone() };
    let channels = note.format()?.0;
    let light = match factors {
        (1, 1) => Pairing::Slots,
        (left, right) => Pairing::Multiplied { left, right },
    };
    let pairing = |c: usize| if c < channels.light() { light.clone() } else { Pairing::First };
    Ok((Content::Samples(note), (0..channels.count()).map(pairing).collect()))
}

/// White of a result, what the operands are multiplied by first, and bounds of the results, if
/// numbers hold them.
fn whole_result(operator: Op, a: &SamplesNote, b: &SamplesNote) -> Option<(u64, (i64, i64), i64, i64)> {
    let (white, factors) = match operator {
        Op::Mul => (a.white.checked_mul(b.white)?, (1, 1)),
        // Powers of one number: the smaller divides the greater.
        Op::Add | Op::Sub => {
            let white = a.white.max(b.white);
            let factor = |own: u64| i64::try_from(white / own).ok();
            (white, (factor(a.white)?, factor(b.white)?))
        }
    };
    i64::try_from(white).ok()?;
    let bounds = |n: &SamplesNote, factor| Some((n.low.checked_mul(factor)?, n.high.checked_mul(factor)?));
    let (low, high) = operator.of_ranges(bounds(a, factors.0)?, bounds(b, factors.1)?)?;
    Some((white, factors, low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(depth: u32, white: u64, low: i64, high: i64) -> SamplesNote {
        let channels = "gray".to_owned();
        SamplesNote {
            width: 2,
            height: 2,
            channels,
            depth,
            batch: 1,
            white,
            low,
            high,
            profile: None,
            resolution: None,
        }
    }

    #[test]
    fn light_is_rounded_to_the_nearest_sample() {
        for depth in [8, 16] {
            let peak = (1i64 << depth) - 1;
            let product = note(depth, (peak * peak) as u64, 0, peak * peak);
            let shade = Shade::new(&product, View::Light, 0.0).unwrap();
            for x in [0, 1, peak / 2, peak / 2 + 1, 12_345, peak * peak / 3, peak * peak - 1, peak * peak, -9]
            {
                let expected = (x as f64 / peak as f64).round().clamp(0.0, peak as f64);
                assert_eq!(x.shown(&shade) as f64, expected, "{x} of {depth} bits");
            }
        }
        let difference = Shade::new(&note(8, 255, -255, 255), View::Scaled, 0.0).unwrap();
        assert_eq!([-255i64, 0, 255].map(|x| x.shown(&difference)), [0, 128, 255]);
        let raw = Shade::new(&note(8, 255, 0, 510), View::Raw, 0.0).unwrap();
        assert_eq!((raw.peaks, 510i64.shown(&raw)), ((255, 65535), 510));
        assert_eq!(7i64.shown(&raw.of_opacity()), 7 * 257);
        let flat = Shade::new(&note(8, 255, 3, 3), View::Scaled, 0.0).unwrap();
        assert_eq!(3i64.shown(&flat), 0);
    }

    #[test]
    fn real_numbers_are_shown_as_whole_ones_are() {
        for view in [View::Light, View::Raw, View::Scaled] {
            let whole = Shade::new(&note(8, 255, -255, 510), view, 0.0).unwrap();
            let real = Shade::new(&note(8, 1, -1, 2), view, 0.0).unwrap();
            for x in -300..=600i64 {
                let clamp = |x: i64| x.clamp(0, i64::from(whole.peaks.1));
                let (a, b) = (x.shown(&whole), (x as f64 / 255.0).shown(&real));
                assert_eq!(clamp(a), clamp(b), "{view:?} {x}");
            }
        }
    }

    #[test]
    fn sums_and_products_keep_white() {
        let (fresh, peak) = (note(8, 255, 0, 255), 255i64);
        let result = |operator, a: &SamplesNote, b: &SamplesNote| {
            let (content, pairings) = pair(operator, a, b).unwrap();
            let Content::Samples(note) = content else { panic!("samples") };
            note.check().unwrap();
            (note, pairings[0].clone())
        };
        let (product, plain) = result(Op::Mul, &fresh, &fresh);
        assert_eq!((product.white, product.low, product.high), (65025, 0, 65025));
        assert_eq!(plain, Pairing::Slots);
        let (sum, aligned) = result(Op::Sub, &fresh, &product);
        assert_eq!((sum.white, sum.low, sum.high), (65025, -65025, 65025));
        assert_eq!(aligned, Pairing::Multiplied { left: peak, right: 1 });
        let (sum, plain) = result(Op::Add, &product, &product);
        assert_eq!((sum.high, plain), (2 * 65025, Pairing::Slots));
        // bigckks: white stays 1.
        let light = note(8, 1, 0, 1);
        assert_eq!(result(Op::Mul, &light, &light).0, light);
        let mut power = fresh.clone();
        while let Ok((Content::Samples(next), _)) = pair(Op::Mul, &power, &fresh) {
            power = next;
        }
        assert_eq!(power.white, 255u64.pow(7));
        for white in [0, 2, 254, 256, 255 * 254] {
            assert!(note(8, white, 0, 255).check().is_err(), "{white}");
        }
    }
}
