//! A back end without its coarse operations.

use crate::backend::{
    Backend, CkksOps, ExactOps, KeySwitchOps, MatrixOps, PolyOps, PreparedRing, WidePolyOps,
};
use crate::error::Result;
use crate::ring::RingSpec;
use crate::{for_each_ring_op, for_each_wide_op};
use std::ops::Range;

/// Another back end with the provided bodies of the coarse operations instead of its own:
/// `Mirror<B, Provided<B>>` checks the fused operations of B on the device itself, at any degree.
#[derive(Clone, Debug)]
pub struct Provided<B> {
    inner: B,
}

/// A ring of [`Provided`].
#[derive(Debug)]
pub struct ProvidedRing<B: Backend> {
    backend: Provided<B>,
    inner: B::Ring,
}

impl<B> Provided<B> {
    /// Wraps a back end.
    pub const fn new(inner: B) -> Self {
        Self { inner }
    }
}

impl<B: Backend> Backend for Provided<B> {
    fn name(&self) -> String {
        format!("{}, provided bodies", self.inner.name())
    }

    type Buf = B::Buf;
    type Ring = ProvidedRing<B>;

    fn prepare(&self, spec: &RingSpec) -> Result<ProvidedRing<B>> {
        Ok(ProvidedRing { backend: self.clone(), inner: self.inner.prepare(spec)? })
    }

    fn zeros(&self, words: usize) -> Result<Self::Buf> {
        self.inner.zeros(words)
    }

    fn upload(&self, words: &[u64]) -> Result<Self::Buf> {
        self.inner.upload(words)
    }

    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>> {
        self.inner.download(buf, range)
    }

    fn copy(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        self.inner.copy(src, src_at, dst, dst_at, words)
    }

    fn words(&self, buf: &Self::Buf) -> usize {
        self.inner.words(buf)
    }

    fn truncate(&self, buf: &mut Self::Buf, words: usize) {
        self.inner.truncate(buf, words);
    }

    fn wipe(&self, buf: &mut Self::Buf) {
        self.inner.wipe(buf);
    }

    fn portion(&self) -> usize {
        self.inner.portion()
    }

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.inner.batched(work)
    }
}

/// An operation of the other back end.
macro_rules! forward {
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> $outcome:ident $result:ty;) => {
        fn $op(&self, $($arg: $type),*) -> Result<$result> {
            self.inner.$op($($arg),*)
        }
    };
}

impl<B: Backend> PreparedRing for ProvidedRing<B> {
    type Buf = B::Buf;
    type Backend = Provided<B>;

    fn backend(&self) -> &Provided<B> {
        &self.backend
    }

    fn spec(&self) -> &RingSpec {
        self.inner.spec()
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        Ok(Self { backend: self.backend.clone(), inner: self.inner.prepare_beside(spec)? })
    }
}

impl<B: Backend<Ring: PolyOps>> PolyOps for ProvidedRing<B> {
    for_each_ring_op! { required, forward }
}

impl<B: Backend<Ring: PolyOps>> KeySwitchOps for ProvidedRing<B> {}

impl<B: Backend<Ring: PolyOps>> CkksOps for ProvidedRing<B> {}

impl<B: Backend<Ring: PolyOps>> ExactOps for ProvidedRing<B> {}

impl<B: Backend<Ring: PolyOps>> MatrixOps for ProvidedRing<B> {}

impl<B: Backend<Ring: WidePolyOps>> WidePolyOps for ProvidedRing<B> {
    for_each_wide_op! { required, forward }
}
