//! Words on several devices, and where they are.

use super::CudaGroup;
use crate::cache::lock;
use crate::cuda::{Cuda, failed};
use crate::share::Share;
use gpu::{Buffer, Piece};
use he_core::Result;
use he_core::ring::{RingSpec, Span};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Words of a [`CudaGroup`]. A buffer is placed by its use: operations that run on every device
/// leave the rows of its primes there, others leave all words on the lead. An operation that finds
/// them otherwise moves them.
pub struct GroupBuf {
    group: CudaGroup,
    words: usize,
    place: Mutex<Place>,
}

/// Limbs of equally many words each: where the rows of a buffer belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) span: Span,
    /// The words of a limb: batch x N.
    pub(super) unit: usize,
    /// The number of such polynomials, one after the other: the digits of a decomposed one.
    pub(super) polys: usize,
}

#[derive(Clone, Debug)]
enum Place {
    /// Nothing was written yet: zeros, or any words.
    Nowhere { zeroed: bool },
    /// All words on the lead.
    Whole(Arc<Parts>),
    /// Each device has the limbs of its primes.
    Limbs(Layout, Arc<Parts>),
    /// A switching key, of which each device has the limbs of its primes as its ring packs them; or
    /// the lead has all.
    Key(Arc<Parts>),
}

/// A buffer on each device, or one on the lead. Operations in progress share it with the buffer
/// that it is a part of, which may be moved meanwhile.
#[derive(Debug)]
pub(super) struct Parts {
    buffers: Vec<Buffer>,
    /// The words have moved elsewhere, and are not left behind.
    stale: AtomicBool,
}

impl Parts {
    pub(super) fn new(buffers: Vec<Buffer>) -> Arc<Self> {
        Arc::new(Self { buffers, stale: AtomicBool::new(false) })
    }

    pub(super) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Wipes the words when nobody uses them any more.
    pub(super) fn discard(self: Arc<Self>) {
        self.stale.store(true, Ordering::Relaxed);
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if *self.stale.get_mut() {
            wipe(&mut self.buffers);
        }
    }
}

fn wipe(buffers: &mut [Buffer]) {
    for buf in buffers {
        let (stream, words) = (buf.stream().clone(), buf.words());
        // A device that fails here also fails at the next call.
        let _ = stream.fill_zero(buf, 0, words);
    }
}

/// Changes where the words are.
fn put(place: &mut Place, to: Place) {
    match std::mem::replace(place, to) {
        Place::Nowhere { .. } => {}
        Place::Whole(parts) | Place::Limbs(_, parts) | Place::Key(parts) => parts.discard(),
    }
}

/// Zeros, or any words, on a device.
fn allocated(cuda: &Cuda, words: usize, zeroed: bool) -> Result<Buffer> {
    let made = if zeroed { cuda.stream.zeros(words) } else { cuda.stream.alloc(words) };
    made.map_err(failed("place"))
}

impl Layout {
    /// One polynomial.
    pub(super) const fn new(span: Span, unit: usize) -> Self {
        Self { span, unit, polys: 1 }
    }

    pub(super) fn words(&self) -> usize {
        self.polys * self.span.limbs() * self.unit
    }

    /// The first limbs of one polynomial.
    pub(super) fn head(&self, limbs: usize) -> Self {
        let chain = limbs.min(self.span.chain_limbs());
        let span = Span { q: self.span.start + chain, p: limbs - chain, ..self.span };
        Self::new(span, self.unit)
    }

    /// The words of a device.
    pub(super) fn own_words(&self, share: Share) -> usize {
        self.polys * share.span(self.span).limbs() * self.unit
    }

    /// Whether the limbs from `skip` on begin with those of a span, `skip` within the chain's.
    fn continues(&self, skip: usize, span: Span) -> bool {
        if self.polys != 1 || skip > self.span.chain_limbs() {
            return false;
        }
        let from = self.span.tail(skip);
        let same_start = span.chain_limbs() == 0 && from.chain_limbs() == 0 || span.start == from.start;
        same_start
            && if span.p == 0 {
                span.chain_limbs() <= from.chain_limbs()
            } else {
                span.chain_limbs() == from.chain_limbs() && span.p <= from.p
            }
    }

    /// A layout of `words` words in which `span` begins at word `at`, in a ring.
    fn around(spec: &RingSpec, span: Span, unit: usize, at: usize, words: usize) -> Option<Self> {
        if unit == 0 || !at.is_multiple_of(unit) || !words.is_multiple_of(unit) {
            return None;
        }
        let (skip, limbs) = (at / unit, words / unit);
        let more = limbs.checked_sub(skip + span.limbs())?;
        // Limbs in front of it, and, if it ends in the chain, behind it.
        let around = match span.chain_limbs() {
            0 if span.p > 0 => Span::extended(skip, span.p),
            _ => Span { start: span.start.checked_sub(skip)?, ..span },
        };
        let around = match span.p {
            0 => Span { q: around.q + more, ..around },
            _ => Span { p: around.p + more, ..around },
        };
        (around.q <= spec.q().len() && around.p <= spec.p().len()).then_some(Self::new(around, unit))
    }
}

impl fmt::Debug for GroupBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBuf").field("words", &self.words).field("place", &*lock(&self.place)).finish()
    }
}

impl GroupBuf {
    fn new(group: &CudaGroup, words: usize, place: Place) -> Self {
        Self { group: group.clone(), words, place: Mutex::new(place) }
    }

    /// Words that are to be written: zeros until then, or any.
    pub(super) fn unplaced(group: &CudaGroup, words: usize, zeroed: bool) -> Self {
        Self::new(group, words, Place::Nowhere { zeroed })
    }

    /// Words on the lead.
    pub(super) fn on_lead(group: &CudaGroup, buf: Buffer) -> Self {
        Self::new(group, buf.words(), Place::Whole(Parts::new(vec![buf])))
    }

    /// Limbs on all devices.
    pub(super) fn in_limbs(group: &CudaGroup, layout: Layout, parts: Vec<Buffer>) -> Self {
        Self::new(group, layout.words(), Place::Limbs(layout, Parts::new(parts)))
    }

    /// A key, on all devices or on the lead.
    pub(super) fn key(group: &CudaGroup, parts: Vec<Buffer>) -> Self {
        let words = parts.iter().map(Buffer::words).sum();
        Self::new(group, words, Place::Key(Parts::new(parts)))
    }

    /// The devices.
    pub fn group(&self) -> &CudaGroup {
        &self.group
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The layout of the limbs on the devices, if they are there.
    pub(super) fn layout(&self) -> Option<Layout> {
        match *lock(&self.place) {
            Place::Limbs(layout, _) => Some(layout),
            _ => None,
        }
    }

    /// Whether anything was written yet.
    pub(super) fn is_unplaced(&self) -> bool {
        matches!(*lock(&self.place), Place::Nowhere { .. })
    }

    /// A layout in which `span`, with limbs of `unit` words, begins at word `at`, and the number of
    /// limbs before: the present one, if it is one.
    pub(super) fn layout_for(
        &self,
        spec: &RingSpec,
        span: Span,
        unit: usize,
        at: usize,
    ) -> Option<(Layout, usize)> {
        let present = self.layout().filter(|layout| {
            layout.unit == unit && at.is_multiple_of(unit) && layout.continues(at / unit, span)
        });
        let layout = present.or_else(|| Layout::around(spec, span, unit, at, self.words))?;
        Some((layout, at / unit))
    }

    /// All words on the lead.
    pub(super) fn whole(&self) -> Result<Arc<Parts>> {
        self.bring(&mut lock(&self.place))
    }

    fn bring(&self, place: &mut Place) -> Result<Arc<Parts>> {
        let whole = match &*place {
            Place::Whole(parts) => return Ok(Arc::clone(parts)),
            Place::Nowhere { zeroed } => allocated(self.group.lead(), self.words, *zeroed)?,
            Place::Limbs(layout, parts) => self.gathered(*layout, parts)?,
            Place::Key(_) => unreachable!("a key is read by its ring alone"),
        };
        let whole = Parts::new(vec![whole]);
        put(place, Place::Whole(Arc::clone(&whole)));
        Ok(whole)
    }

    /// The limbs on all devices.
    pub(super) fn limbs(&self, layout: Layout) -> Result<Arc<Parts>> {
        let mut place = lock(&self.place);
        let (whole, zeroed) = match &*place {
            Place::Limbs(present, parts) if *present == layout => return Ok(Arc::clone(parts)),
            Place::Nowhere { zeroed } => (None, *zeroed),
            // Words that are on the devices in another way pass the lead.
            _ => (Some(self.bring(&mut place)?), false),
        };
        let shares = self.group.devices.iter().zip(self.group.shares());
        let parts = shares.map(|(cuda, share)| allocated(cuda, layout.own_words(share), zeroed));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        if let Some(whole) = whole {
            let (whole, pieces) = (&whole.buffers[0], self.pieces(layout));
            let scatter = pieces.iter().map(|piece| Piece {
                src: whole,
                dst: &parts[piece.device],
                at: [piece.whole, piece.part],
                pitch: [piece.pitch, layout.unit],
                words: layout.unit,
                rows: piece.rows,
            });
            // SAFETY: the devices of a group are connected; each piece writes rows of its own in
            // buffers that nobody else has yet.
            unsafe { gpu::exchange(&scatter.collect::<Vec<_>>()) }.map_err(failed("place"))?;
        }
        let parts = Parts::new(parts);
        put(&mut place, Place::Limbs(layout, Arc::clone(&parts)));
        Ok(parts)
    }

    /// The parts of a key, if they are as many as asked for, otherwise those that `make` makes of
    /// them, which take their place.
    pub(super) fn key_parts(
        &self,
        count: usize,
        make: impl FnOnce(&[Buffer]) -> Result<Vec<Buffer>>,
    ) -> Result<Arc<Parts>> {
        let mut place = lock(&self.place);
        let Place::Key(parts) = &*place else { unreachable!("rings make keys as such") };
        if parts.buffers.len() == count {
            return Ok(Arc::clone(parts));
        }
        let parts = Parts::new(make(&parts.buffers)?);
        put(&mut place, Place::Key(Arc::clone(&parts)));
        Ok(parts)
    }

    /// All words on the lead, to be written.
    pub(super) fn whole_mut(&mut self) -> Result<&mut Buffer> {
        self.whole()?;
        Ok(&mut self.parts_mut()[0])
    }

    /// The limbs on all devices, to be written.
    pub(super) fn limbs_mut(&mut self, layout: Layout) -> Result<&mut [Buffer]> {
        self.limbs(layout)?;
        Ok(self.parts_mut())
    }

    /// The parts on the devices, to be written.
    pub(super) fn parts_mut(&mut self) -> &mut [Buffer] {
        match self.place.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Place::Nowhere { .. } => &mut [],
            Place::Whole(parts) | Place::Limbs(_, parts) | Place::Key(parts) => match Arc::get_mut(parts) {
                Some(parts) => &mut parts.buffers,
                None => unreachable!("no operation reads a buffer that is written"),
            },
        }
    }

    /// Takes the words from the lead.
    pub(super) fn into_whole(self) -> Result<Buffer> {
        self.whole()?;
        let place = self.place.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Place::Whole(parts) = place else { unreachable!("it was just placed there") };
        match Arc::try_unwrap(parts) {
            Ok(mut parts) => Ok(parts.buffers.remove(0)),
            Err(_) => unreachable!("no operation reads a buffer that is consumed"),
        }
    }

    /// A copy of all words on the lead, which is wiped when it is dropped; the words stay where
    /// they are. If they are on the lead, these themselves.
    pub(super) fn collected(&self) -> Result<Arc<Parts>> {
        let place = lock(&self.place).clone();
        let Place::Limbs(layout, parts) = place else { return self.whole() };
        let copy = Parts::new(vec![self.gathered(layout, &parts)?]);
        Arc::clone(&copy).discard();
        Ok(copy)
    }

    /// Keeps the first `words` words, or all of them if there are fewer.
    pub fn truncate(&mut self, words: usize) {
        self.words = self.words.min(words);
        let (words, shares) = (self.words, self.group.shares());
        let cut = match self.place.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Place::Whole(_) => vec![words],
            // The words on the devices are more.
            Place::Limbs(Layout { polys: 2.., .. }, _) => Vec::new(),
            Place::Limbs(layout, _) => {
                *layout = layout.head(words.div_ceil(layout.unit));
                shares.map(|share| layout.own_words(share)).collect()
            }
            Place::Nowhere { .. } | Place::Key(_) => Vec::new(),
        };
        self.parts_mut().iter_mut().zip(cut).for_each(|(part, words)| part.truncate(words));
    }

    /// Overwrites every word with zero, on every device.
    pub fn wipe(&mut self) {
        if let place @ Place::Nowhere { .. } = self.place.get_mut().unwrap_or_else(PoisonError::into_inner) {
            *place = Place::Nowhere { zeroed: true };
        }
        wipe(self.parts_mut());
    }

    /// The places of rows of a layout among all words, and on their device.
    fn pieces(&self, layout: Layout) -> Vec<Rows> {
        let of = |(poly, (device, share)): (usize, (usize, Share))| {
            let own = share.span(layout.span);
            let [chain, special] = share.runs(layout.span);
            [(chain, 0), (special, own.chain_limbs())].map(|(run, at)| Rows {
                device,
                whole: (poly * layout.span.limbs() + run.first) * layout.unit,
                part: (poly * own.limbs() + at) * layout.unit,
                pitch: share.step() * layout.unit,
                rows: run.count,
            })
        };
        let devices = || self.group.shares().enumerate();
        (0..layout.polys).flat_map(|poly| devices().map(move |device| (poly, device))).flat_map(of).collect()
    }

    /// The words of limbs on the lead.
    fn gathered(&self, layout: Layout, parts: &Parts) -> Result<Buffer> {
        let mut whole = self.group.lead().scratch_buffer("place", layout.words())?;
        let pieces = self.pieces(layout);
        let gather = pieces.iter().map(|piece| Piece {
            src: &parts.buffers[piece.device],
            dst: &whole,
            at: [piece.part, piece.whole],
            pitch: [layout.unit, piece.pitch],
            words: layout.unit,
            rows: piece.rows,
        });
        // SAFETY: the devices of a group are connected; each piece writes rows of its own in a
        // buffer that nobody else has yet.
        unsafe { gpu::exchange(&gather.collect::<Vec<_>>()) }.map_err(failed("place"))?;
        whole.truncate(self.words);
        Ok(whole)
    }
}

/// Equally distant rows of a buffer that one device has.
struct Rows {
    device: usize,
    /// The first word among all, and the words from one row to the next.
    whole: usize,
    pitch: usize,
    /// The first word on the device, where the rows follow each other.
    part: usize,
    rows: usize,
}
