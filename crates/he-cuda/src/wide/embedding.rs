//! Vectors of complex numbers to polynomials modulo powers of two and back.

use super::args::{Shape, THREADS, holds, shape};
use crate::cuda::failed;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{Backend, WideEmbedding, WideRows, encode_wide_slots};
use he_core::ckks::Complex64;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct SlotArgs {
    shape: Shape,
    src: u64,
    dst: u64,
    greatest: u64,
    factor: f64,
    log_slots: u32,
    scale_log2: u32,
}

fn check(op: &'static str, ring: &CudaRing, e: WideEmbedding<'_>) {
    let fits = e.slots.is_power_of_two() && e.slots <= ring.n() / 2 && e.slots <= e.fft.max_slots();
    assert!(fits && e.scale_log2 <= 1200, "{op}: {} slots, scale 2^{}", e.slots, e.scale_log2);
}

impl CudaRing {
    /// See [`WidePolyOps::wide_encode_slots`](he_core::backend::WidePolyOps::wide_encode_slots).
    pub(super) fn encode_wide(
        &self,
        wide: WideRows,
        vectors: &[&[Complex64]],
        to: WideEmbedding<'_>,
    ) -> Result<(Buffer, u32)> {
        let op = "wide_encode_slots";
        assert!(wide.at == 0 && wide.batch == vectors.len(), "{op}: one batch entry a vector");
        check(op, self, to);
        // The host refuses, because the error must be that of the first bad vector.
        let is_finite = |z: &Complex64| z.re.is_finite() && z.im.is_finite();
        if vectors.is_empty()
            || vectors.iter().any(|values| values.len() > to.slots || !values.iter().all(is_finite))
        {
            return encode_wide_slots(self, wide, vectors, to);
        }
        let words = wide.count() * self.n();
        let is_sparse = to.slots < self.n() / 2;
        let plaintext = if is_sparse { self.cuda.stream.zeros(words) } else { self.cuda.stream.alloc(words) };
        let plaintext = plaintext.map_err(failed(op))?;
        let transformed = self.unscaled_coefficients(op, vectors, to.slots, to.fft)?;
        let threads = 2 * to.slots * wide.batch;
        let blocks = threads.div_ceil(THREADS as usize);
        let greatest = self.cuda.stream.alloc(blocks).map_err(failed(op))?;
        let args = SlotArgs {
            shape: shape(self, wide),
            src: transformed.address(),
            dst: plaintext.address(),
            greatest: greatest.address(),
            factor: 1.0 / to.slots as f64,
            log_slots: to.slots.trailing_zeros(),
            scale_log2: to.scale_log2,
        };
        let shared = 8 * THREADS;
        // SAFETY: the source holds all slots, the plaintext the rows, `greatest` one word per
        // block.
        unsafe {
            self.cuda.launch(op, Entry::WideRoundSlots, [blocks as u32, 1, 1], THREADS, shared, &args)?
        };
        let needed = self.cuda.greatest_word(op, &greatest, blocks)?;
        if needed > u64::from(wide.bits) {
            // It does not fit, and the host determines which coefficient.
            return encode_wide_slots(self, wide, vectors, to);
        }
        Ok((plaintext, needed as u32))
    }

    /// See [`WidePolyOps::wide_decode_slots`](he_core::backend::WidePolyOps::wide_decode_slots).
    pub(super) fn decode_wide(
        &self,
        wide: WideRows,
        src: &Buffer,
        from: WideEmbedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        let op = "wide_decode_slots";
        assert!(holds(self, src, wide), "{op}: the source is too small");
        check(op, self, from);
        let data = 2 * wide.batch * from.slots;
        let mut scaled = self.cuda.stream.alloc(data).map_err(failed(op))?;
        let args = SlotArgs {
            shape: shape(self, wide),
            src: at(src, wide.at),
            dst: scaled.address(),
            greatest: 0,
            factor: 0.0,
            log_slots: from.slots.trailing_zeros(),
            scale_log2: from.scale_log2,
        };
        // SAFETY: the source holds the rows, as just checked, and `scaled` was made for the slots.
        unsafe { self.cuda.launch_wide(op, Entry::WideScaleSlots, data, 1, &args)? };
        let vectors = self.slots_of(op, &scaled, from.slots, wide.batch, from.fft);
        // Together with the ciphertext, the phase reveals the secret.
        self.cuda.wipe(&mut scaled);
        vectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        assert_eq!((offset_of!(SlotArgs, factor), size_of::<SlotArgs>()), (48, 64));
    }
}
