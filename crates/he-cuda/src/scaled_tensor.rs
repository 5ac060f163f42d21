//! The scale-invariant product of BFV:
//! [`ExactOps::scaled_tensor`](he_core::backend::ExactOps::scaled_tensor) with its constants in the
//! conversions and transforms around it, and both operands in every launch.

use crate::cuda::{Cuda, failed};
use crate::elementwise::{at, holds_operand};
use crate::key_switch::{ConvertRows, Finish};
use crate::ntt::{Args as NttArgs, Extent, MOST_PARTS, parts};
use crate::ring::CudaRing;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{ScaledTensor, scaled_tensor};
use he_core::ring::{Operand, Rows};

const OP: &str = "scaled_tensor";

/// The two polynomials of a pair.
const PAIR: usize = 2;

fn extent(rows: Rows, parts: usize) -> Extent {
    Extent { rows, digits: 1, parts }
}

/// The polynomials of both operands.
fn both([a0, a1]: [u64; PAIR], [b0, b1]: [u64; PAIR]) -> [u64; MOST_PARTS] {
    [a0, a1, b0, b1]
}

impl Cuda {
    fn pair(&self, words: usize) -> Result<[Buffer; PAIR]> {
        let make = || self.stream.alloc(words).map_err(failed(OP));
        Ok([make()?, make()?])
    }
}

impl CudaRing {
    /// See [`scaled_tensor`], whose steps are these.
    pub(crate) fn scaled_tensor_rows(
        &self,
        shape: &ScaledTensor,
        a: [Operand<'_, Buffer>; PAIR],
        b: [Operand<'_, Buffer>; PAIR],
    ) -> Result<[Buffer; 3]> {
        let batch = shape.batch;
        if a.iter().chain(&b).any(|x| x.batch != batch) {
            return scaled_tensor(self, shape, a, b);
        }
        let n = self.n();
        let [chain, special, whole] =
            [shape.chain(), shape.special(), shape.span].map(|span| Rows::new(span, batch));
        assert!(a.iter().chain(&b).all(|&x| holds_operand(self, chain, x)), "{OP}: an operand is too small");
        let chain_words = chain.count() * n;
        let carry = self.convert_plan(shape.chain(), shape.special())?;
        let plans = self.scaled_tensor_plans(shape)?;
        let [to_special, to_chain, division] = &*plans;

        // The coefficients of both, times the factors of their conversions.
        let [a, b] = [a, b].map(|pair| pair.map(|x| at(x.buf, x.at)));
        let (ya, yb) = (self.cuda.pair(chain.count() * n)?, self.cuda.pair(chain.count() * n)?);
        let y = both(addresses(&ya), addresses(&yb));
        let inverse = NttArgs {
            src: both(a, b),
            dst: y,
            scale: [carry.scale, to_special.scale],
            scale_last: [carry.scale_last, to_special.scale_last],
            ..self.ntt_args(chain)
        };
        // SAFETY: the operands hold the rows, as just checked, and y was made for them.
        unsafe { self.inverse(OP, &inverse, extent(chain, 2 * PAIR))? };

        // a over R: its residues modulo Q are there. b is replaced by t round(R b / Q): first over
        // R, except for a factor per limb, which the last division includes; from there over Q.
        let carried = self.cuda.pair(special.count() * n)?;
        let exchanged = self.cuda.pair(whole.count() * n)?;
        let behind = addresses(&exchanged).map(|address| address + 8 * chain_words as u64);
        let first = ConvertRows {
            plans: [&carry, to_special],
            src: y,
            to: special,
            dst: both(addresses(&carried), behind),
            extent: extent(special, 2 * PAIR),
            dst_digit: 0,
            skip_own: false,
        };
        let second = ConvertRows {
            plans: [to_chain; 2],
            src: parts(behind),
            to: chain,
            dst: parts(addresses(&exchanged)),
            extent: extent(chain, PAIR),
            ..first
        };
        // SAFETY: the buffers were made for these rows.
        unsafe { self.convert_twice(OP, &first, &second)? };

        // Indexed by the whole rows, of which a has the special ones here.
        let before = addresses(&carried).map(|address| address.wrapping_sub(8 * chain_words as u64));
        let place = both(before, addresses(&exchanged));
        let absent = shape.span.q as u32;
        let forward = NttArgs { src: place, dst: place, absent, ..self.ntt_args(whole) };
        // SAFETY: the buffers were made for these rows, a's for those that are not absent.
        unsafe { self.forward(OP, &forward, None, extent(whole, 2 * PAIR), place)? };

        let right = addresses(&exchanged);
        if [chain, special].iter().all(|&rows| self.takes_pairs(extent(rows, 3))) {
            let kept = both(a, right);
            let dropped = both(addresses(&carried), right.map(|address| address + 8 * chain_words as u64));
            let (span, keep) = (shape.span, shape.span.q);
            // SAFETY: the operands hold the chain's rows, and the buffers were made for theirs.
            return unsafe { self.divide_tensor_by(OP, division, span, keep, batch, [kept, dropped]) };
        }
        let d = [(); 3].map(|()| self.cuda.scratch_buffer(OP, whole.count() * n));
        let [d0, d1, d2] = d;
        let d = [d0?, d1?, d2?];
        let left = [a, before];
        // SAFETY: all buffers were made for these rows, or checked to hold them.
        unsafe { self.launch_tensor(OP, whole, left, right, [batch; 2], d.each_ref().map(Buffer::address))? };
        self.divide_by(OP, division, shape.span, shape.span.q, batch, d.each_ref(), Finish::STORE)
    }
}

fn addresses(pair: &[Buffer; PAIR]) -> [u64; PAIR] {
    pair.each_ref().map(Buffer::address)
}
