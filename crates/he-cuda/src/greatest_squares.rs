//! The greatest values of messages.

use crate::cuda::failed;
use crate::embedding::FftArgs;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::arith::Modulus;
use he_core::ring::SpecialFft;

/// The transform of messages, or its second kernel.
#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Args {
    fft: FftArgs,
    messages: u64,
    squares: u64,
    t: u64,
    middle: u64,
    is_last: u64,
}

impl CudaRing {
    /// See [`ExactOps::greatest_squares`](he_core::backend::ExactOps::greatest_squares).
    pub(crate) fn greatest_message_squares(
        &self,
        batch: usize,
        words: &Buffer,
        modulus: &Modulus,
        fft: &SpecialFft,
    ) -> Result<Buffer> {
        let (op, slots) = ("greatest_squares", self.n() / 2);
        assert!(
            words.words() >= batch * self.n() && fft.max_slots() >= slots,
            "{op}: too few words or roots"
        );
        let roots = self.fft_roots(fft)?;
        let alloc = |words: usize| self.cuda.stream.alloc(words).map_err(failed(op));
        let (squares, between) = (alloc(batch)?, alloc(2 * batch * slots)?);
        let (t, at) = (modulus.value(), between.address());
        let kernels: Vec<FftArgs> = FftArgs::forward(self, &roots, slots, at, at, at).collect();
        for (i, &fft) in kernels.iter().enumerate() {
            let args = Args {
                fft,
                messages: if i == 0 { words.address() } else { 0 },
                squares: squares.address(),
                t,
                middle: t.div_ceil(2),
                is_last: u64::from(i + 1 == kernels.len()),
            };
            // SAFETY: the messages have a word for each coefficient, as just checked; `between`
            // holds all points, and `squares` a word for each message.
            unsafe { self.cuda.launch_tiles(op, Entry::FftMessages, fft.shape(), &args, batch, 1)? };
        }
        Ok(squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_layout_is_that_of_the_kernel() {
        assert_eq!([offset_of!(Args, messages), offset_of!(Args, t), size_of::<Args>()], [120, 136, 160]);
    }
}
