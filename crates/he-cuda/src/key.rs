//! Switching keys on the device, packed where every prime of the ring is short.

use crate::constants::ROW_THREADS;
use crate::cuda::failed;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::KeyShape;

/// The residues of a tile of a packed key, and its words (kernels/include/key.cuh).
const TILE: usize = 1 << 11;
const TILE_WORDS: usize = TILE * KEY_BITS as usize / 64;

/// The bits of a residue in a packed key.
const KEY_BITS: u32 = 50;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct PackArgs {
    words: u64,
    key: u64,
    fours: u64,
}

impl CudaRing {
    /// Whether keys hold 50 bits per residue: a key switch reads each of their words once, so that
    /// its time on large degrees is that of their bytes.
    pub(crate) fn packs_keys(&self) -> bool {
        self.all_short(KEY_BITS) && self.n() >= TILE
    }

    /// The words that rows of a key take.
    pub(crate) fn key_words(&self, rows: usize) -> usize {
        match self.packs_keys() {
            true => rows * (self.n() / TILE) * TILE_WORDS,
            false => rows * self.n(),
        }
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
        if !self.packs_keys() {
            return self.cuda.stream.copy(src, 0, key, first, words).map_err(failed(op));
        }
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.pack(op, Entry::PackKey, src.address(), at(key, first), words) }
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
        if self.packs_keys() {
            // SAFETY: the key holds the rows, as just checked, and `dst` was made for them.
            unsafe { self.pack(op, Entry::UnpackKey, dst.address(), at(key, first), words)? };
        } else {
            self.cuda.stream.copy(key, first, &mut dst, 0, words).map_err(failed(op))?;
        }
        Ok(dst)
    }

    /// The first word of a polynomial in a key.
    fn part_at(&self, op: &str, shape: &KeyShape, key: &Buffer, digit: usize, part: usize) -> usize {
        assert!(digit < shape.digits && part < 2 && self.holds_key(shape, key), "{op}: the key is too small");
        self.key_words((2 * digit + part) * self.share().span(shape.span).limbs())
    }

    /// # Safety
    /// The addresses are live and hold this many residues, a whole number of tiles.
    unsafe fn pack(
        &self,
        op: &'static str,
        entry: Entry,
        words: u64,
        key: u64,
        residues: usize,
    ) -> Result<()> {
        let fours = residues / 4;
        let args = PackArgs { words, key, fours: fours as u64 };
        let blocks = fours.div_ceil(ROW_THREADS as usize) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch(op, entry, [blocks, 1, 1], ROW_THREADS, 0, &args) }
    }
}
