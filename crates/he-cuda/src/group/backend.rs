//! The memory of a group.

use super::buf::Layout;
use super::{CudaGroup, GroupBuf, GroupRing};
use crate::cuda::{Cuda, failed};
use he_core::Result;
use he_core::backend::{Backend, HostVector};
use he_core::ring::RingSpec;
use std::ops::Range;

/// Runs `work` in a batch of every device.
fn batched<T>(devices: &[Cuda], work: &mut dyn FnMut() -> Result<T>) -> Result<T> {
    match devices.split_first() {
        None => work(),
        Some((first, others)) => first.stream.batched(|| batched(others, work)).map_err(failed("batched"))?,
    }
}

impl Backend for CudaGroup {
    type Buf = GroupBuf;
    type Ring = GroupRing;

    fn name(&self) -> String {
        format!("{self} ({})", self.lead().gpu().info().name)
    }

    fn prepare(&self, spec: &RingSpec) -> Result<GroupRing> {
        GroupRing::new(self, spec)
    }

    fn zeros(&self, words: usize) -> Result<GroupBuf> {
        Ok(GroupBuf::unplaced(self, words, true))
    }

    fn scratch(&self, words: usize) -> Result<GroupBuf> {
        Ok(GroupBuf::unplaced(self, words, false))
    }

    fn upload(&self, words: &[u64]) -> Result<GroupBuf> {
        self.lead().upload(words).map(|buf| GroupBuf::on_lead(self, buf))
    }

    fn host_vector(&self, count: usize) -> Result<HostVector> {
        self.lead().host_vector(count)
    }

    fn download(&self, buf: &GroupBuf, range: Range<usize>) -> Result<Vec<u64>> {
        let whole = buf.collected()?;
        self.lead().download(&whole.buffers()[0], range)
    }

    fn copy(
        &self,
        src: &GroupBuf,
        src_at: usize,
        dst: &mut GroupBuf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        if src_at == dst_at
            && let Some((from, to)) = same_limbs(src, src_at, dst, words)
        {
            let src = src.limbs(from)?;
            let parts = dst.limbs_mut(to)?.iter_mut().zip(src.buffers());
            for ((share, cuda), (dst, src)) in self.shares().zip(self.devices()).zip(parts) {
                let at = |word: usize| from.head(word / from.unit).own_words(share);
                let (first, end) = (at(src_at), at(src_at + words));
                cuda.copy(src, first, dst, first, end - first)?;
            }
            return Ok(());
        }
        let src = src.whole()?;
        self.lead().copy(&src.buffers()[0], src_at, dst.whole_mut()?, dst_at, words)
    }

    fn words(&self, buf: &GroupBuf) -> usize {
        buf.words()
    }

    fn truncate(&self, buf: &mut GroupBuf, words: usize) {
        buf.truncate(words);
    }

    fn wipe(&self, buf: &mut GroupBuf) {
        buf.wipe();
    }

    fn check(&self) -> Result<()> {
        self.lead().check()
    }

    fn worked(&self, work: u64) {
        self.lead().worked(work);
    }

    fn synchronize(&self) -> Result<()> {
        self.devices().iter().map(Backend::synchronize).fold(Ok(()), Result::and)
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut work = Some(work);
        batched(self.devices(), &mut || match work.take() {
            Some(work) => work(),
            None => unreachable!("it is called once"),
        })
    }
}

/// The layouts of two buffers if whole limbs are copied between them, to the same place: that of
/// the source, and as many of its first limbs as the destination has.
fn same_limbs(src: &GroupBuf, at: usize, dst: &GroupBuf, words: usize) -> Option<(Layout, Layout)> {
    let from = src.layout()?;
    let aligned = [at, words, dst.words()].iter().all(|words| words.is_multiple_of(from.unit));
    let to = from.head(dst.words() / from.unit);
    let fits = dst.words() <= from.words()
        && match dst.layout() {
            Some(layout) => layout == to,
            None => dst.is_unplaced() || words == dst.words(),
        };
    (aligned && fits).then_some((from, to))
}
