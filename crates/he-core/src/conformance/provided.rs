//! A back end without its coarse operations.

mod wide;

use crate::backend::{Backend, RingOps};
use crate::error::Result;
use crate::ring::{DomainKind, Operand, RingSpec, Rows, Seed};
use std::ops::Range;

/// Implements the small operations of [`RingOps`] for a wrapper with a field `inner`, which calls
/// `self.after(operation, &mut destination)` after each of them.
macro_rules! forward_small_operations {
    ($($op:ident($($arg:ident: $type:ty),+) -> $dst:ident;)+) => {
        fn spec<'a>(&self, t: &'a Self::Tables) -> &'a RingSpec {
            self.inner.spec(t)
        }

        $(fn $op(&self, t: &Self::Tables, $($arg: $type),+) -> Result<()> {
            self.inner.$op(t, $($arg),+)?;
            self.after(stringify!($op), $dst)
        })+
    };
    () => {
        forward_small_operations! {
            ntt(rows: Rows, a: &mut Self::Buf) -> a;
            intt(rows: Rows, a: &mut Self::Buf) -> a;
            add_assign(rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> a;
            sub_assign(rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> a;
            neg_assign(rows: Rows, a: &mut Self::Buf) -> a;
            mul_assign(rows: Rows, a: &mut Self::Buf, b: Operand<'_, Self::Buf>) -> a;
            mul_add_assign(
                rows: Rows,
                acc: &mut Self::Buf,
                x: Operand<'_, Self::Buf>,
                y: Operand<'_, Self::Buf>
            ) -> acc;
            scale_assign(rows: Rows, a: &mut Self::Buf, factors: &[u64]) -> a;
            scale_add_assign(
                rows: Rows,
                acc: &mut Self::Buf,
                x: Operand<'_, Self::Buf>,
                factors: &[u64]
            ) -> acc;
            shift_assign(rows: Rows, a: &mut Self::Buf, terms: &[u64]) -> a;
            automorphism(
                rows: Rows,
                domain: DomainKind,
                g: u64,
                src: Operand<'_, Self::Buf>,
                dst: &mut Self::Buf
            ) -> dst;
            convert_basis(from: Rows, src: &Self::Buf, to: Rows, dst: &mut Self::Buf) -> dst;
            reduce_signed(rows: Rows, src: &Self::Buf, dst: &mut Self::Buf) -> dst;
            sample_uniform(rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> dst;
            sample_ternary(rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> dst;
            sample_error(rows: Rows, seed: &Seed, index: u32, dst: &mut Self::Buf) -> dst;
        }
    };
}

#[cfg(test)]
pub(super) use forward_small_operations;

/// Another back end with the provided bodies of the coarse operations in place of its own: `Mirror<B, Provided<B>>` checks the
/// fused operations of B on the device itself, at any degree.
#[derive(Clone, Debug)]
pub struct Provided<B> {
    inner: B,
}

impl<B> Provided<B> {
    /// Wraps a back end.
    pub const fn new(inner: B) -> Self {
        Self { inner }
    }

    /// Nothing follows a forwarded operation.
    fn after<T>(&self, _op: &'static str, _dst: &mut T) -> Result<()> {
        Ok(())
    }
}

impl<B: Backend> Backend for Provided<B> {
    fn name(&self) -> String {
        format!("{}, provided bodies", self.inner.name())
    }

    type Buf = B::Buf;
    type Tables = B::Tables;

    fn tables(&self, spec: &RingSpec) -> Result<Self::Tables> {
        self.inner.tables(spec)
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

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.inner.together(work)
    }
}

impl<B: RingOps> RingOps for Provided<B> {
    forward_small_operations! {}
}
