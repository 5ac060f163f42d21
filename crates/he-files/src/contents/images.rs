//! Images under encryption, band by band.

use super::unpack::{self, Opened, Unpack};
use super::{Batches, Kind};
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::contents::clear::{Plain, View};
use crate::contents::numbers::Numbers;
use crate::contents::pairing::Pairing;
use crate::contents::uses::{self, Uses};
use crate::data::picture::metadata::Metadata;
use crate::data::picture::{Channels, Picture, PictureBuilder};
use crate::error::{ContentError, Error, HaloRemedy, Result};
use crate::io::output::Output;
use crate::note::{Content, ImageNote, Payload};
use crate::scheme::engine::{Engine, batch_size};
use crate::scheme::{Ckks, Decrypt, Rotations};
use crate::team::{Jobs, Team};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_any::layout::{Bounds, Op};
use he_core::circuits::ckks::{Affine, blend, convolve, grayscale};
use he_core::circuits::{Kernel, Packing, TileLayout, TileSpec};
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::{SealedFrame, Wire};
use std::collections::BTreeSet;
use std::ops::Range;

/// Images in tiles, on which filters compute.
pub enum Tiles {}

impl Kind<Ckks> for Tiles {
    type Clear = Picture;
    type Note = ImageNote;

    fn note(content: &Content) -> Option<&ImageNote> {
        match content {
            Content::Image(note) => Some(note),
            _ => None,
        }
    }

    fn describe(
        picture: &Picture,
        params: &CkksParams,
        halo: Option<usize>,
        _watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(Content::Image(describe(picture, params, halo)?))
    }

    fn pack<'a>(
        picture: &'a Picture,
        params: &CkksParams,
        note: &'a ImageNote,
    ) -> Result<Batches<'a, Complex64>> {
        pack(params, picture, note)
    }

    fn pair(operator: Op, left: &ImageNote, right: &ImageNote) -> Result<(Content, Vec<Pairing>)> {
        pair(operator, left, right)
    }

    fn unpacker<'a>(file: Opened<'a, Ckks>, note: &ImageNote) -> Result<Box<dyn Unpack<Complex64> + 'a>> {
        Ok(match file.view {
            View::Numbers => Box::new(NumbersUnpacker::new(file, note)?),
            _ => Box::new(PictureUnpacker::new(file, note, |_, _, _| {})?),
        })
    }
}

/// The sides of the tiles for which keys hold the rotations of filters directly: the squarest
/// tiles, wide rather than high.
pub fn square_tile(slots: usize) -> (usize, usize) {
    let log_slots = slots.ilog2();
    let log_width = log_slots.div_ceil(2);
    (1 << log_width, 1 << (log_slots - log_width))
}

/// The squarest tiles, for which there are keys, side by side or else stacked, unless another
/// layout saves more than a tenth of the ciphertexts.
fn layout(width: usize, height: usize, slots: usize, halo: usize) -> Result<TileLayout> {
    let best = TileLayout::new(width, height, slots, halo, Packing::Complex)?;
    let (tile_w, tile_h) = square_tile(slots);
    let square = |stacked| TileLayout::try_from(TileSpec { tile_w, tile_h, stacked, ..best.spec() }).ok();
    let near = |layout: &TileLayout| 10 * layout.vectors() <= 11 * best.vectors();
    Ok([false, true].into_iter().filter_map(square).find(near).unwrap_or(best))
}

/// The slots of the largest tiles.
pub const MAX_SLOTS: usize = 1 << 15;

/// The widest halo that leaves anything of a tile of this many slots.
pub fn most_halo(slots: usize) -> usize {
    let (_, side) = square_tile(slots);
    (side - 1) / 2
}

/// The error that a filter reaches further than the remaining halo, with a remedy.
fn too_little_halo(note: &ImageNote, params: &CkksParams, radius: usize) -> Error {
    let (halo, left) = (note.halo as usize, note.halo_left as usize);
    let needed = (halo - left).saturating_add(radius);
    let remedy = if needed <= most_halo(params.slots()) {
        HaloRemedy::Halo(needed)
    } else if needed <= most_halo(MAX_SLOTS) {
        let mut slots = params.slots();
        while most_halo(slots) < needed {
            slots *= 2;
        }
        HaloRemedy::Slots { depth: params.max_level(), slots, halo: needed }
    } else {
        HaloRemedy::Filters { most: most_halo(MAX_SLOTS) }
    };
    ContentError::LittleHalo { radius, left, remedy }.into()
}

/// The largest radius for which keys of all rotations are made: 225 of them.
const MAX_RADIUS: usize = 7;

/// The rotations of CKKS: those by powers of two, of which all others are composed, those of
/// filters up to `radius` directly, and the conjugation for products of images.
///
/// # Errors
/// The radius is too large.
pub fn rotations(params: &CkksParams, radius: usize) -> Result<Rotations> {
    if radius > MAX_RADIUS {
        return Err(ContentError::Radius { radius, most: MAX_RADIUS }.into());
    }
    let slots = params.slots();
    let (width, _) = square_tile(slots);
    let mut steps: BTreeSet<i64> = (0..slots.trailing_zeros()).map(|i| 1i64 << i).collect();
    let (radius, width) = (radius as i64, width as i64);
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            steps.insert((dy * width + dx).rem_euclid(slots as i64));
        }
    }
    steps.remove(&0);
    Ok(Rotations { steps: steps.into_iter().collect(), conjugation: true })
}

/// The default number of pixels around each tile, for two filters of radius 1.
const HALO: usize = 2;

/// The batches of a band.
fn batches(layout: &TileLayout, batch: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let all = layout.vectors_per_band();
    (0..all).step_by(batch).map(move |start| start..all.min(start + batch))
}

/// Describes a picture to be encrypted.
///
/// # Errors
/// The halo does not fit a tile.
fn describe(picture: &Picture, params: &CkksParams, halo: Option<usize>) -> Result<ImageNote> {
    let halo = halo.unwrap_or(HALO);
    let most = most_halo(params.slots());
    if halo > most {
        return Err(ContentError::WideHalo { halo, slots: params.slots(), most }.into());
    }
    let layout = layout(picture.width() as usize, picture.height() as usize, params.slots(), halo)?;
    Ok(ImageNote {
        width: picture.width(),
        height: picture.height(),
        channels: picture.channels().name().to_owned(),
        depth: picture.depth().bits(),
        tile_width: layout.tile_w() as u32,
        tile_height: layout.tile_h() as u32,
        halo: halo as u32,
        halo_left: halo as u32,
        stacked: layout.spec().stacked,
        batch: batch_size::<Ckks>(params) as u32,
        low: 0.0,
        high: 1.0,
        profile: picture.metadata().profile.clone(),
        resolution: picture.metadata().resolution,
    })
}

/// Packs a picture into vectors, batch by batch.
///
/// # Errors
/// The geometry is impossible.
fn pack<'a>(
    params: &CkksParams,
    picture: &'a Picture,
    note: &'a ImageNote,
) -> Result<Batches<'a, Complex64>> {
    let layout = note.layout(params.slots())?;
    let (bands, channels) = (layout.bands(), picture.channels().count());
    let packed = move |(band, channel): (usize, usize)| {
        let vectors = layout.pack_band(band, |y, row| {
            let y = y as u32;
            picture.read_rows(channel, y..y + 1, row);
        });
        let mut vectors = match vectors {
            Ok(vectors) => vectors.into_iter(),
            Err(error) => return vec![Err(error.into())],
        };
        let batch = |range: Range<usize>| Ok(vectors.by_ref().take(range.len()).collect());
        batches(&layout, note.batch as usize).map(batch).collect()
    };
    Ok(Box::new((0..bands).flat_map(move |band| (0..channels).map(move |c| (band, c))).flat_map(packed)))
}

/// The rows of an image from its decrypted bands.
struct Bands<'a> {
    name: String,
    layout: TileLayout,
    channels: usize,
    /// Values decrypted under another key, or that do not fit their description, are as large as
    /// the modulus.
    limit: f64,
    vectors: Vec<Vec<Complex64>>,
    channel: usize,
    band: usize,
    progress: Meter<'a>,
}

impl<'a> Bands<'a> {
    fn new(file: &Opened<'a, Ckks>, note: &ImageNote) -> Result<Self> {
        let layout = note.layout(file.params.slots())?;
        Ok(Self {
            name: file.name.clone(),
            channels: note.format()?.0.count(),
            limit: 1e6 * (1.0 + note.high.abs() + note.low.abs()),
            vectors: Vec::with_capacity(layout.vectors_per_band()),
            channel: 0,
            band: 0,
            progress: Meter::new(file.watch, Stage::Decrypting, layout.bands() as u64),
            layout,
        })
    }

    /// Takes a batch; `sink(channel, row, values)` takes each row that is complete.
    ///
    /// # Errors
    /// The values are not those of an image; the errors of the sink.
    fn take(
        &mut self,
        batch: Vec<Vec<Complex64>>,
        mut sink: impl FnMut(usize, u32, &[f64]) -> Result<()>,
    ) -> Result<()> {
        let most = self.limit * self.limit;
        if batch.iter().flatten().any(|z| z.norm_sqr().is_nan() || z.norm_sqr() >= most) {
            return Err(ContentError::NoImage { name: self.name.clone() }.into());
        }
        self.vectors.extend(batch);
        if self.vectors.len() < self.layout.vectors_per_band() {
            return Ok(());
        }
        let mut taken = Ok(());
        self.layout.unpack_band(self.band, &self.vectors, |y, row| {
            if taken.is_ok() {
                taken = sink(self.channel, y as u32, row);
            }
        })?;
        taken?;
        self.vectors.clear();
        self.channel += 1;
        if self.channel == self.channels {
            (self.channel, self.band) = (0, self.band + 1);
            self.progress.inc(1);
        }
        Ok(())
    }
}

/// Makes a picture; `watch(channel, row, values)` sees the real values.
struct PictureUnpacker<'a, W> {
    bands: Bands<'a>,
    builder: PictureBuilder,
    /// Channels of light.
    light_channels: usize,
    /// Light is black + value / span.
    black: f64,
    span: f64,
    light: Vec<f64>,
    metadata: Metadata,
    watch: W,
}

impl<'a, W: FnMut(usize, u32, &[f64])> PictureUnpacker<'a, W> {
    fn new(file: Opened<'a, Ckks>, note: &ImageNote, watch: W) -> Result<Self> {
        let ((channels, depth), before) = (note.shown(file.view)?, note.format()?.1);
        let (black, span) = match file.view {
            View::Scaled if note.high > note.low => (note.low, note.high - note.low),
            View::Raw => (0.0, f64::from(depth.peak()) / f64::from(before.peak())),
            _ => (0.0, 1.0),
        };
        Ok(Self {
            bands: Bands::new(&file, note)?,
            builder: PictureBuilder::new(note.width, note.height, channels, depth)?,
            light_channels: channels.light(),
            black,
            span,
            light: vec![0.0; note.width as usize],
            metadata: note.metadata(),
            watch,
        })
    }

    fn take(&mut self, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        let Self { bands, builder, light_channels, black, span, light, watch, .. } = self;
        bands.take(vectors, |channel, y, row| {
            watch(channel, y, row);
            if channel < *light_channels && (*black, *span) != (0.0, 1.0) {
                light.iter_mut().zip(row).for_each(|(light, value)| *light = (value - *black) / *span);
                builder.write_rows(channel, y, light);
            } else {
                builder.write_rows(channel, y, row);
            }
            Ok(())
        })
    }

    fn picture(self) -> Picture {
        self.builder.finish().with_metadata(self.metadata)
    }
}

impl<W: FnMut(usize, u32, &[f64])> Unpack<Complex64> for PictureUnpacker<'_, W> {
    fn take(&mut self, _part: usize, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        Self::take(self, vectors)
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        Ok(Plain::Picture(self.picture()))
    }
}

/// Decrypts an image into a picture; `watch(channel, row, values)` sees the real values.
///
/// # Errors
/// The file is damaged; the device fails; the result is not an image.
pub fn decrypt_picture(
    team: &Team<Ckks>,
    reader: &mut CipherReader<Ckks>,
    note: &ImageNote,
    decryptors: &[Decrypt<'_, Ckks>],
    view: View,
    watch: impl FnMut(usize, u32, &[f64]),
) -> Result<Picture> {
    let mut unpacker = PictureUnpacker::new(Opened::new(reader, view, team.watch()), note, watch)?;
    unpack::vectors(team, reader, decryptors, |_, vectors| unpacker.take(vectors))?;
    Ok(unpacker.picture())
}

/// Makes the numbers of an image, in steps of a sample.
struct NumbersUnpacker<'a> {
    bands: Bands<'a>,
    numbers: Numbers,
    peak: f64,
}

impl<'a> NumbersUnpacker<'a> {
    fn new(file: Opened<'a, Ckks>, note: &ImageNote) -> Result<Self> {
        let (channels, depth) = note.format()?;
        let precision_bits = file.params.fresh_precision_bits();
        let numbers = Numbers::real(note.width, channels, precision_bits, depth.peak());
        Ok(Self { bands: Bands::new(&file, note)?, numbers, peak: f64::from(depth.peak()) })
    }
}

impl Unpack<Complex64> for NumbersUnpacker<'_> {
    fn take(&mut self, _part: usize, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        let Self { bands, numbers, peak } = self;
        bands.take(vectors, |channel, _, row| numbers.push_real(channel, row.iter().map(|x| x * *peak)))
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        Ok(Plain::Numbers(self.numbers))
    }
}

/// Checks that two images have the same geometry.
fn check_alike(a: &ImageNote, b: &ImageNote, operation: &str) -> Result<()> {
    let comparable = |n: &ImageNote| ImageNote {
        halo_left: 0,
        depth: 0,
        low: 0.0,
        high: 0.0,
        profile: None,
        resolution: None,
        ..n.clone()
    };
    if comparable(a) == comparable(b) {
        return Ok(());
    }
    let text = |n: &ImageNote| format!("{} x {} {} with a halo of {}", n.width, n.height, n.channels, n.halo);
    if text(a) == text(b) {
        return Err(ContentError::Tiles { both: text(a) }.into());
    }
    Err(ContentError::Images {
        left: text(a),
        right: text(b),
        operation: operation.to_owned(),
        takes: "one size, kind of pixels and halo",
    }
    .into())
}

/// The sum, difference or product of two images, where white is 1; opacity is that of the first
/// image.
///
/// # Errors
/// They are of other shapes.
fn pair(operator: Op, a: &ImageNote, b: &ImageNote) -> Result<(Content, Vec<Pairing>)> {
    check_alike(a, b, operator.name())?;
    let bounds = |note: &ImageNote| Bounds::new(note.low, note.high).ok_or(ContentError::BeyondNumbers);
    let (low, high) = bounds(a)?.combined(bounds(b)?, operator).into();
    let note = ImageNote { halo_left: a.halo_left.min(b.halo_left), low, high, ..a.clone() };
    let channels = note.format()?.0;
    let pairing = |c: usize| if c < channels.light() { Pairing::Complex } else { Pairing::First };
    Ok((Content::Image(note), (0..channels.count()).map(pairing).collect()))
}

/// Products of two values per slot: a c + i b d from a + i b and c + i d. This takes two levels.
///
/// With 2 a = x + conj x and 2 i b = x - conj x: a c = (2 a)(2 c) / 4, and i b d = -i (2 i b)(2 i
/// d) / 4.
///
/// # Errors
/// No level is left; keys are missing; the device fails.
pub fn multiply(
    ev: &Evaluator<Device>,
    x: &Ciphertext<Device>,
    y: &Ciphertext<Device>,
    keys: &EvaluationKeys<Device>,
) -> Result<Ciphertext<Device>> {
    let left = x.level().min(y.level());
    if left < 2 {
        return Err(he_core::Error::LevelExhausted { needed: 2, left }.into());
    }
    let (x_conj, y_conj) = (ev.conjugate(x, keys)?, ev.conjugate(y, keys)?);
    let real = ev.mul(&ev.add(x, &x_conj)?, &ev.add(y, &y_conj)?, keys)?;
    let imaginary = ev.mul(&ev.sub(x, &x_conj)?, &ev.sub(y, &y_conj)?, keys)?;
    let turn = ev.params().encoding_for(&imaginary);
    let turn = ev.encoder().encode_constant(Complex64::new(0.0, -0.25), turn)?;
    Ok(ev.add(&ev.mul_scalar(&real, 0.25)?, &ev.mul_plain(&imaginary, &turn)?)?)
}

/// A batch on which a filter computes.
struct Batch {
    /// Its ciphertexts; with those of the other image, or of the other colours, behind it.
    frames: Vec<SealedFrame>,
    count: usize,
    /// Whether it is of a colour, not of opacity.
    light: bool,
}

/// The filters for an encrypted image.
pub enum Filter {
    /// A filter of odd size.
    Kernel(Kernel),
    /// factor x + offset.
    Affine(Affine),
    /// Luminance.
    Grayscale,
    /// (1 - alpha) x + alpha y with another image.
    Blend(f64),
}

impl Filter {
    /// The description of the result; `other` is the second image, if there is one.
    ///
    /// # Errors
    /// The filter does not fit: too little halo, too large values, no colours, another image of
    /// another shape.
    pub fn describe(
        &self,
        note: &ImageNote,
        other: Option<&CipherReader<Ckks>>,
        params: &CkksParams,
    ) -> Result<ImageNote> {
        let mut result = note.clone();
        let (channels, _) = note.format()?;
        match self {
            Self::Kernel(kernel) => {
                let (radius, left) = (kernel.radius(), note.halo_left as usize);
                if radius > left {
                    return Err(too_little_halo(note, params, radius));
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
                        return Err(ContentError::Gray.into());
                    }
                };
                result.channels = gray.name().to_owned();
                // A profile of colours does not apply to gray.
                result.profile = result.profile.filter(|profile| profile.fits(gray));
            }
            Self::Blend(alpha) => {
                let with = match other.map(|other| (&other.payload.content, &other.name)) {
                    Some((Content::Image(with), _)) => with,
                    Some((_, name)) => {
                        return Err(ContentError::NotAnImage { name: name.clone() }.into());
                    }
                    None => return Err(ContentError::OneImage.into()),
                };
                if !(0.0..=1.0).contains(alpha) {
                    return Err(ContentError::Weight { alpha: *alpha }.into());
                }
                check_alike(note, with, "blend")?;
                result.halo_left = note.halo_left.min(with.halo_left);
                (result.low, result.high) = (note.low.min(with.low), note.high.max(with.high));
            }
        }
        // A slot holds two values, as its real and imaginary parts.
        let magnitude = result.low.abs().max(result.high.abs());
        let limit = params.range() / std::f64::consts::SQRT_2;
        if magnitude.is_nan() || magnitude > limit {
            return Err(ContentError::Magnitude { magnitude, limit }.into());
        }
        Ok(result)
    }

    /// The frames of the one or two images that each frame of the result is computed from.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn uses(&self, note: &ImageNote, params: &CkksParams) -> Result<Uses> {
        let layout = note.layout(params.slots())?;
        let (channels, files) = (note.format()?.0, 1 + usize::from(matches!(self, Self::Blend(_))));
        let per_band = batches(&layout, note.batch as usize).count();
        let Self::Grayscale = self else {
            return Ok(uses::each(layout.bands() * channels.count() * per_band, files));
        };
        let frames = |first: usize| {
            let gray = (0..per_band).map(move |at| {
                uses::of(1, (0..channels.light()).map(|channel| first + channel * per_band + at))
            });
            let opacity = channels.light() * per_band..channels.count() * per_band;
            gray.chain(opacity.map(move |at| uses::of(1, [first + at])))
        };
        Ok((0..layout.bands()).flat_map(|band| frames(band * channels.count() * per_band)).collect())
    }

    /// Filters an image batch by batch, with the `other` image if there is one, into a file of the
    /// description `payload`, which follows from [`describe`](Self::describe).
    ///
    /// # Errors
    /// A file is damaged; levels or keys are missing; the output cannot be written; the device
    /// fails.
    pub fn evaluate(
        &self,
        team: &Team<Ckks>,
        keys: &[EvaluationKeys<Device>],
        mut reader: CipherReader<Ckks>,
        mut other: Option<CipherReader<Ckks>>,
        payload: &Payload,
        output: Output,
    ) -> Result<Written> {
        let Content::Image(note) = reader.payload.content.clone() else {
            return Err(ContentError::NotAnImage { name: reader.name }.into());
        };
        let mut writer = CipherWriter::new::<Ckks>(output, &team.lead().params, payload)?;
        let layout = note.layout(reader.params.slots())?;
        let (channels, _) = note.format()?;
        let per_band = batches(&layout, note.batch as usize).count();
        let progress =
            Meter::new(team.watch(), Stage::Computing, (layout.bands() * channels.count() * per_band) as u64);
        let decoder = reader.decoder();
        let source = |jobs: &mut Jobs<'_, Batch>| {
            let mut frame = 0..;
            let mut give = |batch: Batch| match frame.next() {
                Some(frame) if team.computes(frame) => jobs.give(batch),
                _ => Ok(()),
            };
            for _ in 0..layout.bands() {
                let mut channel = 0;
                if let Self::Grayscale = self {
                    // All colours of a band are needed at once.
                    let mut colours: Vec<Vec<SealedFrame>> = (0..per_band).map(|_| Vec::new()).collect();
                    for _ in 0..channels.light() {
                        colours.iter_mut().try_for_each(|frames| reader.frame().map(|f| frames.push(f)))?;
                    }
                    for (frames, range) in colours.into_iter().zip(batches(&layout, note.batch as usize)) {
                        give(Batch { frames, count: range.len(), light: true })?;
                    }
                    channel = channels.light();
                }
                for channel in channel..channels.count() {
                    for range in batches(&layout, note.batch as usize) {
                        let mut frames = vec![reader.frame()?];
                        if let Some(other) = &mut other {
                            frames.push(other.frame()?);
                        }
                        let light = channel < channels.light();
                        give(Batch { frames, count: range.len(), light })?;
                    }
                }
            }
            if let Some(mut other) = other {
                other.end()?;
            }
            reader.end()
        };
        let work = |at: usize, batch: Batch| {
            let engine = &team.engines()[at];
            let decode = |frame| decoder.decode(&engine.ring, frame, batch.count);
            let cts = batch.frames.into_iter().map(decode).collect::<Result<Vec<_>>>()?;
            let jobs = cts.len() as u64;
            let result = self.apply_to(engine, &keys[at], &layout, cts, batch.light)?;
            Ok((result.to_frame(&engine.params)?.seal(), jobs))
        };
        team.run(source, work, |(frame, jobs)| {
            progress.inc(if let Self::Blend(_) = self { 1 } else { jobs });
            writer.send(frame)
        })?;
        progress.finish();
        writer.commit()
    }

    /// Computes one batch; only blends change opacity.
    fn apply_to(
        &self,
        engine: &Engine<Ckks>,
        keys: &EvaluationKeys<Device>,
        layout: &TileLayout,
        mut cts: Vec<Ciphertext<Device>>,
        light: bool,
    ) -> Result<Ciphertext<Device>> {
        let ev = &engine.evaluator;
        Ok(match (self, cts.as_slice()) {
            (Self::Kernel(kernel), [ct]) if light => convolve(ev, ct, kernel, layout, keys)?,
            (Self::Affine(map), [ct]) if light => map.apply(ev, ct, Packing::Complex)?,
            (Self::Grayscale, [red, green, blue]) => grayscale(ev, [red, green, blue])?,
            (Self::Blend(alpha), [ct, other]) => blend(ev, ct, other, *alpha)?,
            _ => cts.swap_remove(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_rotation_of_a_filter_has_a_key() -> Result<()> {
        let params = CkksParams::for_depth(1).build()?;
        let (slots, (width, _)) = (params.slots() as i64, square_tile(params.slots()));
        let steps = rotations(&params, 2)?.steps;
        for dy in -2..=2 {
            for dx in -2..=2 {
                let step = (dy * width as i64 + dx).rem_euclid(slots);
                assert_eq!(steps.contains(&step), step != 0, "{dy}, {dx}");
            }
        }
        assert!((0..slots.ilog2()).all(|bit| steps.contains(&(1 << bit))));
        for radius in [MAX_RADIUS + 1, usize::MAX] {
            assert!(rotations(&params, radius).unwrap_err().is_request());
        }
        Ok(())
    }

    #[test]
    fn tall_pictures_tile_as_well_as_flat_ones() {
        for slots in [4096, 8192, 16384, 32768] {
            for halo in [0, 1, 2, 6, 15] {
                let vectors = |w: usize, h: usize| layout(w, h, slots, halo).unwrap().vectors();
                for narrow in (1..200).step_by(3).chain([400, 1000]) {
                    for long in [1, 50, 333, 1000, 4000, 9001] {
                        let (tall, flat) = (vectors(narrow, long), vectors(long, narrow));
                        let what =
                            format!("{narrow} x {long}, {slots} slots, halo {halo}: {tall} and {flat}");
                        assert!(10 * tall <= 11 * flat && 10 * flat <= 11 * tall, "{what}");
                        assert!(tall * 2 * slots >= narrow * long, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn usual_pictures_keep_their_tiles() {
        for (width, height) in [(512, 512), (640, 480), (1920, 1080), (3000, 4000), (4000, 3000), (67, 30)] {
            let layout = layout(width, height, 4096, 2).unwrap();
            assert_eq!((layout.tile_w(), layout.tile_h(), layout.spec().stacked), (64, 64, false));
        }
    }
}
