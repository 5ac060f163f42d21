//! Switching keys on the device, packed modulo short primes.

use crate::constants::ROW_THREADS;
use crate::cuda::failed;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::key_form::{KeyForm, KeyLayout, TILE, TILE_WORDS};
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{KeyShape, PreparedRing};
use he_core::ring::Span;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct PackArgs {
    words: u64,
    key: u64,
    layout: KeyLayout,
    fours: u64,
    log_n: u32,
    unused: u32,
}

impl CudaRing {
    /// The words from one row of a key to the next.
    fn key_row_words(&self) -> usize {
        match self.key_form() {
            KeyForm::Packed => self.n() / TILE * TILE_WORDS,
            KeyForm::Flat | KeyForm::Mixed => self.n(),
        }
    }

    /// The rows of keys over the own primes of a span.
    pub(crate) fn key_layout(&self, span: Span) -> KeyLayout {
        let mut packed = [0; 2];
        if self.key_form() != KeyForm::Flat {
            for limb in 0..span.limbs() {
                if self.is_short(span.prime(limb, self.spec().q().len())) {
                    packed[limb / 64] |= 1 << (limb % 64);
                }
            }
        }
        KeyLayout { packed, row_words: self.key_row_words() as u64 }
    }

    /// The words that rows of a key take.
    pub(crate) fn key_words(&self, rows: usize) -> usize {
        rows * self.key_row_words()
    }

    /// The words of the own rows of a whole key.
    pub(crate) fn whole_key_words(&self, shape: &KeyShape) -> usize {
        self.key_words(2 * shape.digits * self.share().span(shape.span).limbs())
    }

    /// Whether a buffer holds the own rows of a key of this shape.
    pub(crate) fn holds_key(&self, shape: &KeyShape, key: &Buffer) -> bool {
        self.whole_key_words(shape) <= key.words()
    }

    /// The rows of one polynomial into a key.
    pub(crate) fn write_key_rows(
        &self,
        shape: &KeyShape,
        key: &mut Buffer,
        digit: usize,
        part: usize,
        src: &Buffer,
    ) -> Result<()> {
        let op = "write_key";
        let first = self.part_at(op, shape, key, digit, part);
        let words = self.share().span(shape.span).limbs() * self.n();
        assert!(words <= src.words(), "{op}: the polynomial is too small");
        if self.key_form() == KeyForm::Flat {
            return self.cuda.stream.copy(src, 0, key, first, words).map_err(failed(op));
        }
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.pack(op, Entry::PackKey, shape.span, src.address(), at(key, first)) }
    }

    /// The rows of one polynomial out of a key.
    pub(crate) fn read_key_rows(
        &self,
        shape: &KeyShape,
        key: &Buffer,
        digit: usize,
        part: usize,
    ) -> Result<Buffer> {
        let op = "read_key";
        let first = self.part_at(op, shape, key, digit, part);
        let words = self.share().span(shape.span).limbs() * self.n();
        let mut dst = self.cuda.scratch_buffer(op, words)?;
        if self.key_form() == KeyForm::Flat {
            self.cuda.stream.copy(key, first, &mut dst, 0, words).map_err(failed(op))?;
        } else {
            // SAFETY: the key holds the rows, as just checked, and `dst` was made for them.
            unsafe { self.pack(op, Entry::UnpackKey, shape.span, dst.address(), at(key, first))? };
        }
        Ok(dst)
    }

    /// The first word of a polynomial in a key.
    fn part_at(&self, op: &str, shape: &KeyShape, key: &Buffer, digit: usize, part: usize) -> usize {
        assert!(digit < shape.digits && part < 2 && self.holds_key(shape, key), "{op}: the key is too small");
        self.key_words((2 * digit + part) * self.share().span(shape.span).limbs())
    }

    /// # Safety
    /// The addresses are live, and hold the own rows of the span and their places in a key.
    unsafe fn pack(&self, op: &'static str, entry: Entry, span: Span, words: u64, key: u64) -> Result<()> {
        let span = self.share().span(span);
        let fours = span.limbs() * self.n() / 4;
        let (layout, log_n) = (self.key_layout(span), self.log_n());
        let args = PackArgs { words, key, layout, fours: fours as u64, log_n, unused: 0 };
        let blocks = fours.div_ceil(ROW_THREADS as usize) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch(op, entry, [blocks, 1, 1], ROW_THREADS, 0, &args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        assert_eq!((size_of::<KeyLayout>(), offset_of!(KeyLayout, row_words)), (24, 16));
        let offsets = [offset_of!(PackArgs, layout), offset_of!(PackArgs, log_n), size_of::<PackArgs>()];
        assert_eq!(offsets, [16, 48, 56]);
    }
}
