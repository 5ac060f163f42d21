//! Rings on several devices: operations limb by limb.

use super::buf::Layout;
use super::lead::{Held, lead_side, on_lead};
use super::{CudaGroup, GroupBuf};
use crate::ring::CudaRing;
use crate::share::Share;
use gpu::Buffer;
use he_core::backend::delegate::Refer;
use he_core::backend::{
    Backend, CkksOps, ExactOps, KeyBuf, MatrixOps, MatrixProduct, Multiple, Pair, PolyOps, PreparedRing,
    WidePolyOps, WideSwitchShape,
};
use he_core::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span};
use he_core::{Result, for_each_ring_op, for_each_wide_op};
use std::sync::Arc;

/// A ring on a group of devices. Where it is split, each has the ring of its own primes; otherwise
/// the lead has all of it, which is the same with one device.
#[derive(Debug)]
pub struct GroupRing {
    group: CudaGroup,
    parts: Vec<CudaRing>,
    /// The whole ring on the lead, beside the parts.
    whole: Option<CudaRing>,
}

impl PreparedRing for GroupRing {
    type Buf = GroupBuf;
    type Backend = CudaGroup;

    fn backend(&self) -> &CudaGroup {
        &self.group
    }

    fn spec(&self) -> &RingSpec {
        self.lead().spec()
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        Self::beside(&self.group, spec, Some(self))
    }
}

impl GroupRing {
    pub(super) fn new(group: &CudaGroup, spec: &RingSpec) -> Result<Self> {
        Self::beside(group, spec, None)
    }

    /// The ring of these primes, with the roots that `known` has of them on each device.
    fn beside(group: &CudaGroup, spec: &RingSpec, known: Option<&Self>) -> Result<Self> {
        let lead = CudaRing::beside(group.lead(), spec, Share::WHOLE, known.map(Self::lead))?;
        let count = group.devices.len();
        if count == 1 || spec.q().len() < count || spec.log_n() < group.least_log_n {
            return Ok(Self { group: group.clone(), parts: vec![lead], whole: None });
        }
        let known = |device: usize| known.filter(|known| known.is_split()).map(|known| &known.parts[device]);
        let parts = group.devices.iter().zip(group.shares()).enumerate();
        let part = |(device, (cuda, share))| CudaRing::beside(cuda, spec, share, known(device));
        let parts = parts.map(part).collect::<Result<_>>()?;
        Ok(Self { group: group.clone(), parts, whole: Some(lead) })
    }

    /// The whole ring on the lead.
    pub(super) fn lead(&self) -> &CudaRing {
        self.whole.as_ref().unwrap_or(&self.parts[0])
    }

    /// The ring of each device's primes.
    pub(super) fn parts(&self) -> &[CudaRing] {
        &self.parts
    }

    pub(super) fn is_split(&self) -> bool {
        self.whole.is_some()
    }

    pub(super) fn n(&self) -> usize {
        self.spec().n()
    }

    /// The limbs of an operand on each device, and those that are there before them. Where its
    /// buffer cannot be split around them, they are copied out of it.
    pub(super) fn placed<'h>(
        &self,
        held: &'h Held,
        span: Span,
        x: Operand<'_, GroupBuf>,
    ) -> Result<(&'h [Buffer], Layout)> {
        let unit = x.batch * self.n();
        if let Some((layout, skip)) = x.buf.layout_for(self.spec(), span, unit, x.at) {
            return Ok((held.keep(x.buf.limbs(layout)?), layout.head(skip)));
        }
        let layout = Layout::new(span, unit);
        Ok((self.copied(held, x.buf, x.at, layout)?, layout.head(0)))
    }

    /// A copy of words of a buffer on all devices, which is wiped with `held`.
    pub(super) fn copied<'h>(
        &self,
        held: &'h Held,
        buf: &GroupBuf,
        at: usize,
        layout: Layout,
    ) -> Result<&'h [Buffer]> {
        let lead = self.group.lead();
        let mut rows = lead.scratch_buffer("place", layout.words())?;
        lead.copy(held.whole(buf)?, at, &mut rows, 0, layout.words())?;
        let parts = GroupBuf::on_lead(&self.group, rows).limbs(layout)?;
        Arc::clone(&parts).discard();
        Ok(held.keep(parts))
    }

    /// The operands of each device, on the lead alone if `split` is false.
    fn operands<'h>(
        &self,
        held: &'h Held,
        rows: Rows,
        xs: &[Operand<'_, GroupBuf>],
        split: bool,
    ) -> Result<Vec<Vec<Operand<'h, Buffer>>>> {
        if !split {
            let whole = xs.iter().map(|x| Ok(Operand::at(held.whole(x.buf)?, x.batch, x.at)));
            return Ok(vec![whole.collect::<Result<_>>()?]);
        }
        let mut on_device: Vec<Vec<_>> = self.parts.iter().map(|_| Vec::with_capacity(xs.len())).collect();
        for &x in xs {
            // A view lies as far behind the beginning of each limb of its batch.
            let behind = if x.batch > rows.batch { x.at % (x.batch * self.n()) } else { 0 };
            let (parts, before) = self.placed(held, rows.span, Operand { at: x.at - behind, ..x })?;
            for ((operands, part), ring) in on_device.iter_mut().zip(parts).zip(&self.parts) {
                operands.push(Operand::at(part, x.batch, before.own_words(ring.share()) + behind));
            }
        }
        Ok(on_device)
    }

    /// Writes rows of a buffer limb by limb: `f` on every device for its own rows. Rows that cannot
    /// be split are written on the lead.
    fn write(
        &self,
        rows: Rows,
        a: &mut GroupBuf,
        xs: &[Operand<'_, GroupBuf>],
        f: impl Fn(&CudaRing, Rows, &mut Buffer, &[Operand<'_, Buffer>]) -> Result<()>,
    ) -> Result<()> {
        let held = Held::default();
        let layout = match self.is_split() {
            true => a.layout_for(self.spec(), rows.span, rows.batch * self.n(), rows.at),
            false => None,
        };
        let xs = self.operands(&held, rows, xs, layout.is_some())?;
        let Some((layout, skip)) = layout else { return f(self.lead(), rows, a.whole_mut()?, &xs[0]) };
        let before = layout.head(skip);
        for ((ring, a), xs) in self.parts.iter().zip(a.limbs_mut(layout)?).zip(&xs) {
            f(ring, ring.own(rows).at(before.own_words(ring.share())), a, xs)?;
        }
        Ok(())
    }

    /// Makes polynomials limb by limb, likewise.
    fn make<const K: usize>(
        &self,
        rows: Rows,
        xs: &[Operand<'_, GroupBuf>],
        f: impl Fn(&CudaRing, Rows, &[Operand<'_, Buffer>]) -> Result<[Buffer; K]>,
    ) -> Result<[GroupBuf; K]> {
        let held = Held::default();
        let xs = self.operands(&held, rows, xs, self.is_split())?;
        let made = self.parts.iter().zip(&xs).map(|(ring, xs)| f(ring, ring.own(rows), xs));
        Ok(self.joined(rows, made.collect::<Result<_>>()?))
    }

    /// Results of two pairs of operands, as [`make`](Self::make).
    fn make_from_pairs<const K: usize>(
        &self,
        rows: Rows,
        a: Pair<'_, GroupBuf>,
        b: Pair<'_, GroupBuf>,
        f: impl Fn(&CudaRing, Rows, Pair<'_, Buffer>, Pair<'_, Buffer>) -> Result<[Buffer; K]>,
    ) -> Result<[GroupBuf; K]> {
        self.make(rows, &flat([a, b].iter()), |ring, rows, xs| f(ring, rows, [xs[0], xs[1]], [xs[2], xs[3]]))
    }

    /// Polynomials with these rows, of which each device made its own.
    pub(super) fn joined<const K: usize>(&self, rows: Rows, made: Vec<[Buffer; K]>) -> [GroupBuf; K] {
        let layout = Layout::new(rows.span, rows.batch * self.n());
        let mut parts = [(); K].map(|()| Vec::with_capacity(made.len()));
        for of_device in made {
            parts.iter_mut().zip(of_device).for_each(|(parts, part)| parts.push(part));
        }
        parts.map(|mut parts| match self.is_split() {
            true => GroupBuf::in_limbs(&self.group, layout, parts),
            false => GroupBuf::on_lead(&self.group, parts.remove(0)),
        })
    }
}

/// Both operands of a list of pairs, one after the other.
fn flat<'a>(pairs: impl Iterator<Item = &'a Pair<'a, GroupBuf>>) -> Vec<Operand<'a, GroupBuf>> {
    pairs.flatten().copied().collect()
}

/// The pairs that operands were before.
fn paired<'a>(operands: &[Operand<'a, Buffer>]) -> impl Iterator<Item = Pair<'a, Buffer>> {
    operands.as_chunks::<2>().0.iter().copied()
}

impl PolyOps for GroupRing {
    fn ntt(&self, rows: Rows, a: &mut GroupBuf) -> Result<()> {
        self.write(rows, a, &[], |ring, rows, a, _| ring.ntt(rows, a))
    }

    fn intt(&self, rows: Rows, a: &mut GroupBuf) -> Result<()> {
        self.write(rows, a, &[], |ring, rows, a, _| ring.intt(rows, a))
    }

    fn add_assign(&self, rows: Rows, a: &mut GroupBuf, b: Operand<'_, GroupBuf>) -> Result<()> {
        self.write(rows, a, &[b], |ring, rows, a, xs| ring.add_assign(rows, a, xs[0]))
    }

    fn sub_assign(&self, rows: Rows, a: &mut GroupBuf, b: Operand<'_, GroupBuf>) -> Result<()> {
        self.write(rows, a, &[b], |ring, rows, a, xs| ring.sub_assign(rows, a, xs[0]))
    }

    fn neg_assign(&self, rows: Rows, a: &mut GroupBuf) -> Result<()> {
        self.write(rows, a, &[], |ring, rows, a, _| ring.neg_assign(rows, a))
    }

    fn mul_assign(&self, rows: Rows, a: &mut GroupBuf, b: Operand<'_, GroupBuf>) -> Result<()> {
        self.write(rows, a, &[b], |ring, rows, a, xs| ring.mul_assign(rows, a, xs[0]))
    }

    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut GroupBuf,
        x: Operand<'_, GroupBuf>,
        y: Operand<'_, GroupBuf>,
    ) -> Result<()> {
        self.write(rows, acc, &[x, y], |ring, rows, acc, xs| ring.mul_add_assign(rows, acc, xs[0], xs[1]))
    }

    fn scale_assign(&self, rows: Rows, a: &mut GroupBuf, factors: &[u64]) -> Result<()> {
        let span = rows.span;
        self.write(rows, a, &[], |ring, rows, a, _| {
            ring.scale_assign(rows, a, &ring.share().words(span, factors))
        })
    }

    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut GroupBuf,
        x: Operand<'_, GroupBuf>,
        factors: &[u64],
    ) -> Result<()> {
        let span = rows.span;
        self.write(rows, acc, &[x], |ring, rows, acc, xs| {
            ring.scale_add_assign(rows, acc, xs[0], &ring.share().words(span, factors))
        })
    }

    fn add_scalar_assign(&self, rows: Rows, a: &mut GroupBuf, terms: &[u64]) -> Result<()> {
        let span = rows.span;
        self.write(rows, a, &[], |ring, rows, a, _| {
            ring.add_scalar_assign(rows, a, &ring.share().words(span, terms))
        })
    }

    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, GroupBuf>,
        dst: &mut GroupBuf,
    ) -> Result<()> {
        self.write(rows, dst, &[src], |ring, rows, dst, xs| ring.automorphism(rows, domain, g, xs[0], dst))
    }

    on_lead! {
        fn convert_basis(
            value from: Rows,
            read src: &GroupBuf,
            value to: Rows,
            write dst: &mut GroupBuf
        ) -> done ();
    }
    on_lead! {
        fn reduce_signed(value rows: Rows, read src: &GroupBuf, write dst: &mut GroupBuf) -> done ();
    }
    on_lead! {
        fn sample_uniform(
            value rows: Rows,
            value seed: &Seed,
            value index: u32,
            write dst: &mut GroupBuf
        ) -> done ();
    }
    on_lead! {
        fn sample_ternary(
            value rows: Rows,
            value seed: &Seed,
            value index: u32,
            write dst: &mut GroupBuf
        ) -> done ();
    }
    on_lead! {
        fn sample_error(
            value rows: Rows,
            value seed: &Seed,
            value index: u32,
            write dst: &mut GroupBuf
        ) -> done ();
    }

    fn tensor(
        &self,
        rows: Rows,
        a: [Operand<'_, GroupBuf>; 2],
        b: [Operand<'_, GroupBuf>; 2],
    ) -> Result<[GroupBuf; 3]> {
        self.make_from_pairs(rows, a, b, CudaRing::tensor)
    }

    fn tensor_sum(
        &self,
        rows: Rows,
        products: &[[Pair<'_, GroupBuf>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, GroupBuf>],
        constant: &[u64],
    ) -> Result<[GroupBuf; 3]> {
        let pairs = products.iter().flatten().chain(multiples.iter().map(|multiple| &multiple.pair));
        let span = rows.span;
        self.make(rows, &flat(pairs), |ring, rows, xs| {
            let share = ring.share();
            let (of_products, of_multiples) = xs.split_at(4 * products.len());
            let products: Vec<_> =
                of_products.as_chunks::<4>().0.iter().map(|&[a, b, c, d]| [[a, b], [c, d]]).collect();
            let multiples = own_multiples(share, span, of_multiples, multiples);
            let (factors, constant) = (share.words(span, factors), share.words(span, constant));
            ring.tensor_sum(rows, &products, &factors, &multiples, &constant)
        })
    }

    fn combine(
        &self,
        rows: Rows,
        multiples: &[Multiple<'_, GroupBuf>],
        constant: &[u64],
    ) -> Result<[GroupBuf; 2]> {
        let span = rows.span;
        self.make(rows, &flat(multiples.iter().map(|multiple| &multiple.pair)), |ring, rows, xs| {
            let share = ring.share();
            let multiples = own_multiples(share, span, xs, multiples);
            ring.combine(rows, &multiples, &share.words(span, constant))
        })
    }

    fn add_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, GroupBuf>; 2],
        b: [Operand<'_, GroupBuf>; 2],
    ) -> Result<[GroupBuf; 2]> {
        self.make_from_pairs(rows, a, b, CudaRing::add_pairs)
    }

    fn sub_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, GroupBuf>; 2],
        b: [Operand<'_, GroupBuf>; 2],
    ) -> Result<[GroupBuf; 2]> {
        self.make_from_pairs(rows, a, b, CudaRing::sub_pairs)
    }

    fn mul_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, GroupBuf>; 2],
        b: [Operand<'_, GroupBuf>; 2],
    ) -> Result<[GroupBuf; 2]> {
        self.make_from_pairs(rows, a, b, CudaRing::mul_pairs)
    }

    fn mul_add(
        &self,
        rows: Rows,
        a: Operand<'_, GroupBuf>,
        x: Operand<'_, GroupBuf>,
        y: Operand<'_, GroupBuf>,
    ) -> Result<GroupBuf> {
        let [sum] = self.make(rows, &[a, x, y], |ring, rows, xs| {
            ring.mul_add(rows, xs[0], xs[1], xs[2]).map(|sum| [sum])
        })?;
        Ok(sum)
    }

    fn mod_down(&self, span: Span, keep: usize, batch: usize, src: GroupBuf) -> Result<GroupBuf> {
        let [quotient] = self.divided("mod_down", span, keep, batch, [&src])?;
        Ok(quotient)
    }

    fn mod_down_pair(
        &self,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&GroupBuf; 2],
    ) -> Result<[GroupBuf; 2]> {
        self.divided("mod_down_pair", span, keep, batch, src)
    }
}

/// The multiples with their own operands and factors.
fn own_multiples<'a>(
    share: Share,
    span: Span,
    operands: &[Operand<'a, Buffer>],
    multiples: &[Multiple<'_, GroupBuf>],
) -> Vec<Multiple<'a, Buffer>> {
    let own = paired(operands).zip(multiples);
    own.map(|(pair, multiple)| Multiple { pair, factors: share.words(span, &multiple.factors) }).collect()
}

impl CkksOps for GroupRing {
    for_each_ring_op! { ckks, on_lead }
}

impl ExactOps for GroupRing {
    for_each_ring_op! { exact, on_lead }
}

impl MatrixOps for GroupRing {
    for_each_ring_op! { matrix, on_lead }

    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        self.lead().shares_left(packed, other)
    }
}

/// The bodies of all operations but one, which takes a key.
macro_rules! wide_on_lead {
    (fn wide_key_switch($($arguments:tt)*) -> $outcome:ident $result:ty;) => {
        fn wide_key_switch(
            &self,
            shape: &WideSwitchShape,
            c: &GroupBuf,
            key: KeyBuf<&GroupBuf>,
            addend: [Option<&GroupBuf>; 2],
        ) -> Result<[GroupBuf; 2]> {
            let held = Held::default();
            let key = KeyBuf::new(&self.key_on_lead(&held, shape.key_span, key.buf())?[0]);
            let addend = addend.refer(&|buf: &GroupBuf| held.whole(buf))?;
            let sums = self.lead().wide_key_switch(shape, held.whole(c)?, key, addend)?;
            Ok(sums.map(|buf| GroupBuf::on_lead(self.backend(), buf)))
        }
    };
    ($($operation:tt)*) => {
        on_lead! { $($operation)* }
    };
}

impl WidePolyOps for GroupRing {
    for_each_wide_op! { required, on_lead }
    for_each_wide_op! { provided, wide_on_lead }
}
