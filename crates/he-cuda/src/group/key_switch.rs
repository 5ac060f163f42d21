//! Key switches and divisions on several devices: each step on every device for its own primes, and
//! the exchanges in between.

use super::GroupBuf;
use super::buf::Layout;
use super::lead::Held;
use super::ring::GroupRing;
use crate::cuda::failed;
use crate::key_switch::{Beside, DigitState, Finish, Lift, addresses};
use crate::ring::CudaRing;
use gpu::{Buffer, Piece, Signals};
use he_core::Result;
use he_core::backend::{
    DigitBuf, GiantStep, KeyBuf, KeyShape, KeySwitchOps, KeySwitchShape, PreparedRing, Rotation,
    RotationBlocks,
};
use he_core::ring::{Rows, Span};

/// The parts of something, one on each device.
pub(super) type Parts<'a> = &'a [Buffer];

impl GroupRing {
    /// A polynomial with these rows on each device.
    pub(super) fn poly<'h>(&self, held: &'h Held, rows: Rows, x: &GroupBuf) -> Result<Parts<'h>> {
        self.words_of(held, Layout::new(rows.span, rows.batch * self.n()), x)
    }

    fn digit_layout(&self, shape: &KeySwitchShape) -> Layout {
        Layout { polys: shape.digits.len(), ..Layout::new(shape.span(), shape.batch * self.n()) }
    }

    /// Digits on each device.
    pub(super) fn digits<'h>(
        &self,
        held: &'h Held,
        shape: &KeySwitchShape,
        digits: &GroupBuf,
    ) -> Result<Parts<'h>> {
        self.words_of(held, self.digit_layout(shape), digits)
    }

    /// Words in a layout from the start of a buffer on each device.
    pub(super) fn words_of<'h>(&self, held: &'h Held, layout: Layout, buf: &GroupBuf) -> Result<Parts<'h>> {
        if !self.is_split() {
            return Ok(held.keep(buf.whole()?));
        }
        if layout.polys == 1
            && let Some((layout, 0)) = buf.layout_for(self.spec(), layout.span, layout.unit, 0)
        {
            return Ok(held.keep(buf.limbs(layout)?));
        }
        match buf.words() == layout.words() {
            true => Ok(held.keep(buf.limbs(layout)?)),
            false => self.copied(held, buf, 0, layout),
        }
    }

    /// Ends lifts of `rows` of the whole ring, each of its device's own, and brings these to all
    /// others.
    fn shared<const K: usize>(
        &self,
        op: &'static str,
        rows: Rows,
        lifts: Vec<Lift<K>>,
    ) -> Result<Vec<[Buffer; K]>> {
        match self.backend().signals() {
            Some(signals) if lifts.iter().all(|lift| lift.rest.is_some()) => {
                self.store_in_all(op, signals, &lifts)?;
            }
            _ => {
                for (ring, lift) in self.parts().iter().zip(&lifts) {
                    ring.end_lift(op, lift)?;
                }
                self.send_to_all(op, rows, &lifts)?;
            }
        }
        Ok(lifts.into_iter().map(|lift| lift.y).collect())
    }

    /// The last kernels of lifts store their rows on all devices.
    fn store_in_all<const K: usize>(
        &self,
        op: &'static str,
        signals: &Signals,
        lifts: &[Lift<K>],
    ) -> Result<()> {
        let end = |(i, ring): (usize, &CudaRing)| {
            let others = lifts.iter().enumerate().filter(|(j, _)| *j != i);
            let others: Vec<_> = others.map(|(_, lift)| addresses(lift.y.each_ref())).collect();
            match &lifts[i].rest {
                // SAFETY: the y of all devices were made for all rows, each kernel writes those of
                // its device, and `across` orders the streams.
                Some(rest) => unsafe { ring.end_inverse_shared(op, rest, &others) },
                None => Ok(()),
            }
        };
        let y: Vec<&Buffer> = lifts.iter().flat_map(|lift| &lift.y).collect();
        let mut done = Ok(());
        // SAFETY: the devices reach each other's memory; the kernels write to the y of other
        // devices, which are new and nobody else has, the rows of their own device, which these
        // devices have not touched.
        let ordered =
            unsafe { signals.across(&y, || done = self.parts().iter().enumerate().try_for_each(end)) };
        done.and(ordered.map_err(failed(op)))
    }

    /// Sends the own rows of each device to the same places of all others.
    fn send_to_all<const K: usize>(&self, op: &'static str, rows: Rows, lifts: &[Lift<K>]) -> Result<()> {
        let unit = rows.batch * self.n();
        let mut pieces = Vec::new();
        for (from, ring) in self.parts().iter().enumerate() {
            let share = ring.share();
            for to in (0..lifts.len()).filter(|&to| to != from) {
                for run in share.runs(rows.span) {
                    pieces.extend(lifts[from].y.iter().zip(&lifts[to].y).map(|(src, dst)| Piece {
                        src,
                        dst,
                        at: [run.first * unit; 2],
                        pitch: [share.step() * unit; 2],
                        words: unit,
                        rows: run.count,
                    }));
                }
            }
        }
        // SAFETY: the devices of a group are connected; each piece reads rows that only its device
        // has, and writes them where no other piece does. Nobody else has the buffers.
        unsafe { gpu::exchange(&pieces) }.map_err(failed(op))
    }

    /// The y of a decomposition, of all limbs on every device.
    pub(super) fn lifted(&self, shape: &KeySwitchShape, src: Parts<'_>) -> Result<Vec<[Buffer; 1]>> {
        let each = self.parts().iter().zip(src);
        let lifts = each.map(|(ring, src)| ring.lift_digits(shape, src)).collect::<Result<_>>()?;
        self.shared("decompose", Rows::new(Span::chain(shape.q), shape.batch), lifts)
    }

    /// Inner products with a key of the digits of `src`, over Q P, on each device; P times `addend`
    /// is added.
    fn switched(
        &self,
        shape: &KeySwitchShape,
        src: Parts<'_>,
        key: Parts<'_>,
        addend: [Option<Parts<'_>>; 2],
    ) -> Result<Vec<[Buffer; 2]>> {
        let y = self.lifted(shape, src)?;
        let of_device = |(i, ring): (usize, &CudaRing)| {
            let digits = ring.convert_digits(shape, &y[i][0], None)?;
            let addend = addend.map(|addend| addend.map(|addend| &addend[i]));
            let beside = Beside::Words { own: Some(&src[i]), addend };
            ring.product_rows(shape, &digits.buf, digits.state, beside, &key[i])
        };
        self.parts().iter().enumerate().map(of_device).collect()
    }

    /// Inner products of digits with a key, likewise.
    fn products(
        &self,
        shape: &KeySwitchShape,
        digits: Parts<'_>,
        key: Parts<'_>,
    ) -> Result<Vec<[Buffer; 2]>> {
        let each = self.parts().iter().zip(digits.iter().zip(key));
        let state = DigitState::Complete;
        let product = |(ring, (digits, key)): (&CudaRing, _)| {
            ring.product_rows(shape, digits, state, Beside::NOTHING, key)
        };
        each.map(product).collect()
    }

    /// Divisions of polynomials over `span` by the primes from `keep` on; the first has an addend.
    pub(super) fn divide<const K: usize>(
        &self,
        op: &'static str,
        span: Span,
        keep: usize,
        batch: usize,
        src: &[[&Buffer; K]],
        addend: Option<Parts<'_>>,
        g: u64,
    ) -> Result<Vec<[Buffer; K]>> {
        let plans = self.parts().iter().map(|ring| ring.divide_plan(span, keep));
        let plans = plans.collect::<Result<Vec<_>>>()?;
        let each = self.parts().iter().zip(&plans).zip(src);
        let lifts = each.map(|((ring, plan), src)| ring.lift_dropped(op, plan, span, keep, batch, *src));
        let y = self.shared(op, Rows::new(span.tail(keep), batch), lifts.collect::<Result<_>>()?)?;
        let finish = |(i, ring): (usize, &CudaRing)| {
            let finish = Finish { addend: addend.map(|addend| &addend[i]), g };
            ring.finish_division(op, &plans[i], span, keep, batch, src[i], y[i].each_ref(), finish)
        };
        self.parts().iter().enumerate().map(finish).collect()
    }

    /// Divisions of polynomials of the group.
    pub(super) fn divided<const K: usize>(
        &self,
        op: &'static str,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&GroupBuf; K],
    ) -> Result<[GroupBuf; K]> {
        let held = Held::default();
        let mut parts = Vec::with_capacity(K);
        for src in src {
            parts.push(self.poly(&held, Rows::new(span, batch), src)?);
        }
        let src: Vec<[&Buffer; K]> =
            (0..self.parts().len()).map(|i| std::array::from_fn(|part| &parts[part][i])).collect();
        let quotients = self.divide(op, span, keep, batch, &src, None, 1)?;
        let kept = span.head(keep);
        Ok(self.joined(Rows::new(kept, batch), quotients))
    }
}

/// The parts of a pair, two on each device.
fn both(sums: &[[Buffer; 2]]) -> Vec<[&Buffer; 2]> {
    sums.iter().map(<[Buffer; 2]>::each_ref).collect()
}

impl KeySwitchOps for GroupRing {
    fn empty_key(&self, shape: &KeyShape) -> Result<KeyBuf<GroupBuf>> {
        self.zero_key(shape).map(KeyBuf::new)
    }

    fn write_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&mut GroupBuf>,
        digit: usize,
        part: usize,
        src: &GroupBuf,
    ) -> Result<()> {
        let (held, key) = (Held::default(), key.buf());
        let src = self.poly(&held, Rows::new(shape.span, 1), src)?;
        self.key_parts(&Held::default(), shape.span, key)?;
        for ((ring, key), src) in self.parts().iter().zip(key.parts_mut()).zip(src) {
            ring.write_key_rows(shape, key, digit, part, src)?;
        }
        Ok(())
    }

    fn read_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&GroupBuf>,
        digit: usize,
        part: usize,
    ) -> Result<GroupBuf> {
        let held = Held::default();
        let keys = self.parts().iter().zip(self.key_parts(&held, shape.span, key.buf())?);
        let rows = keys.map(|(ring, key)| Ok([ring.read_key_rows(shape, key, digit, part)?]));
        let [poly] = self.joined(Rows::new(shape.span, 1), rows.collect::<Result<_>>()?);
        Ok(poly)
    }

    fn apply_automorphism(
        &self,
        shape: &KeySwitchShape,
        c: [&GroupBuf; 2],
        key: KeyBuf<&GroupBuf>,
        g: u64,
    ) -> Result<[GroupBuf; 2]> {
        let held = Held::default();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let [c0, c1] = [self.poly(&held, chain, c[0])?, self.poly(&held, chain, c[1])?];
        let key = self.key_parts(&held, shape.key().span, key.buf())?;
        let sums = self.switched(shape, c1, key, [None; 2])?;
        let op = "apply_automorphism";
        let image = self.divide(op, shape.span(), shape.q, shape.batch, &both(&sums), Some(c0), g)?;
        Ok(self.joined(chain, image))
    }

    fn decompose(&self, shape: &KeySwitchShape, src: &GroupBuf) -> Result<DigitBuf<GroupBuf>> {
        let held = Held::default();
        let src = self.poly(&held, Rows::new(Span::chain(shape.q), shape.batch), src)?;
        let y = self.lifted(shape, src)?;
        let each = self.parts().iter().zip(src.iter().zip(&y));
        let digits = each.map(|(ring, (src, y))| Ok(ring.convert_digits(shape, &y[0], Some(src))?.buf));
        let mut digits = digits.collect::<Result<Vec<_>>>()?;
        Ok(DigitBuf::new(match self.is_split() {
            true => GroupBuf::in_limbs(self.backend(), self.digit_layout(shape), digits),
            false => GroupBuf::on_lead(self.backend(), digits.remove(0)),
        }))
    }

    fn key_product(
        &self,
        shape: &KeySwitchShape,
        digits: DigitBuf<&GroupBuf>,
        key: KeyBuf<&GroupBuf>,
    ) -> Result<[GroupBuf; 2]> {
        let held = Held::default();
        let digits = self.digits(&held, shape, digits.buf())?;
        let key = self.key_parts(&held, shape.key().span, key.buf())?;
        let sums = self.products(shape, digits, key)?;
        Ok(self.joined(Rows::new(shape.span(), shape.batch), sums))
    }

    fn relinearize(
        &self,
        shape: &KeySwitchShape,
        d: [&GroupBuf; 3],
        key: KeyBuf<&GroupBuf>,
        keep: usize,
    ) -> Result<[GroupBuf; 2]> {
        let held = Held::default();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let [d0, d1] = [self.poly(&held, chain, d[0])?, self.poly(&held, chain, d[1])?];
        let d2 = self.poly(&held, chain, d[2])?;
        let key = self.key_parts(&held, shape.key().span, key.buf())?;
        let sums = self.switched(shape, d2, key, [Some(d0), Some(d1)])?;
        let op = "relinearize";
        let pair = self.divide(op, shape.span(), keep, shape.batch, &both(&sums), None, 1)?;
        Ok(self.joined(Rows::new(Span::chain(keep), shape.batch), pair))
    }

    fn switch_automorphism(
        &self,
        shape: &KeySwitchShape,
        c0: &GroupBuf,
        digits: DigitBuf<&GroupBuf>,
        key: KeyBuf<&GroupBuf>,
        g: u64,
    ) -> Result<[GroupBuf; 2]> {
        let held = Held::default();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let c0 = self.poly(&held, chain, c0)?;
        let digits = self.digits(&held, shape, digits.buf())?;
        let key = self.key_parts(&held, shape.key().span, key.buf())?;
        let sums = self.products(shape, digits, key)?;
        let op = "switch_automorphism";
        let image = self.divide(op, shape.span(), shape.q, shape.batch, &both(&sums), Some(c0), g)?;
        Ok(self.joined(chain, image))
    }

    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&GroupBuf; 2],
        digits: DigitBuf<&GroupBuf>,
        babies: &[Rotation<'_, GroupBuf>],
        giants: &[GiantStep<'_, GroupBuf>],
    ) -> Result<[GroupBuf; 2]> {
        self.rotations(shape, blocks, c, digits.buf(), babies, giants)
    }
}
