//! The scale-invariant product of BFV: [`RingOps::scaled_tensor`](he_core::backend::RingOps::scaled_tensor) with its constants in the
//! conversions and transforms around it, both polynomials of a pair in every launch.

use crate::cuda::{Cuda, failed};
use crate::elementwise::{at, holds_operand};
use crate::key_switch::{FUSED_SOURCES, Finish};
use crate::ntt::{Args as NttArgs, Extent};
use crate::tables::{CudaTables, Plan};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{ScaledTensor, scaled_tensor};
use he_core::ring::{Operand, Rows};

const OP: &str = "scaled_tensor";

/// The two polynomials of a pair.
const PAIR: usize = 2;

fn extent(rows: Rows) -> Extent {
    Extent { rows: rows.count(), digits: 1, parts: PAIR }
}

fn addresses(pair: &[Buffer; PAIR], word: usize) -> [u64; PAIR] {
    pair.each_ref().map(|buf| at(buf, word))
}

impl Cuda {
    /// See [`scaled_tensor`], whose steps are these.
    pub(crate) fn scaled_tensor_rows(
        &self,
        t: &CudaTables,
        shape: &ScaledTensor,
        a: [Operand<'_, Buffer>; PAIR],
        b: [Operand<'_, Buffer>; PAIR],
    ) -> Result<[Buffer; 3]> {
        if a.iter().any(|x| x.batch != shape.batch) || b[0].batch != b[1].batch {
            return scaled_tensor(self, t, shape, a, b);
        }
        let n = t.n();
        let rows = |span, batch| Rows::new(span, batch);
        let whole = Rows::new(shape.span, shape.batch);
        let chain_words = shape.span.q * n;
        assert!(
            a.iter().all(|&x| holds_operand(t, rows(shape.chain(), shape.batch), x))
                && b.iter().all(|&x| holds_operand(t, rows(shape.chain(), b[0].batch), x)),
            "{OP}: an operand is too small"
        );

        // a over R: its residues modulo Q are there.
        let (chain, special) = (rows(shape.chain(), shape.batch), rows(shape.special(), shape.batch));
        let carried = self.buffers(special.count() * n)?;
        let plan = t.convert_plan(self, shape.chain(), shape.special())?;
        let y = self.lifted(t, &plan, chain, a)?;
        self.converted(t, &plan, &y, special, addresses(&carried, 0))?;

        // b exchanged for t round(R b / Q), modulo R but for a factor a limb, which the last division takes along.
        let (chain, special) = (rows(shape.chain(), b[0].batch), rows(shape.special(), b[0].batch));
        let plans = t.scaled_tensor_plans(self, shape)?;
        let [to_special, to_chain, division] = &*plans;
        let exchanged = self.buffers(rows(shape.span, b[0].batch).count() * n)?;
        let y = self.lifted(t, to_special, chain, b)?;
        let quotient = self.buffers(special.count() * n)?;
        let (y, to) = (addresses(&y, 0), addresses(&quotient, 0));
        self.convert(OP, t, to_special, y, special, to, extent(special), 0, false)?;
        let behind = addresses(&exchanged, chain_words * b[0].batch);
        let forward = NttArgs { src: to, dst: behind, ..self.ntt_args(t, special) };
        // SAFETY: both were made for these rows.
        unsafe { self.forward(OP, &forward, extent(special), behind)? };
        self.converted(t, to_chain, &quotient, chain, addresses(&exchanged, 0))?;

        let d = [(); 3].map(|()| self.scratch_buffer(OP, whole.count() * n));
        let [d0, d1, d2] = d;
        let d = [d0?, d1?, d2?];
        let (a_batch, b_batch) = (shape.batch, b[0].batch);
        let pairs = [
            (rows(shape.chain(), a_batch), a.map(|x| at(x.buf, x.at)), addresses(&exchanged, 0), 0),
            (rows(shape.special(), a_batch), addresses(&carried, 0), behind, chain_words * a_batch),
        ];
        for (rows, a, b, word) in pairs {
            let d = d.each_ref().map(|d| at(d, word));
            // SAFETY: all buffers were made for these rows, or checked to hold them.
            unsafe { self.launch_tensor(OP, t, rows, (a, a_batch), (b, b_batch), d)? };
        }

        let divide = |d: [&Buffer; 1]| {
            self.divide_by(OP, t, division, shape.span, shape.span.q, a_batch, d, Finish::STORE)
        };
        let [c2] = divide([&d[2]])?;
        let pair = [&d[0], &d[1]];
        let [c0, c1] =
            self.divide_by(OP, t, division, shape.span, shape.span.q, a_batch, pair, Finish::STORE)?;
        Ok([c0, c1, c2])
    }

    fn buffers(&self, words: usize) -> Result<[Buffer; PAIR]> {
        let make = || self.stream.alloc(words).map_err(failed(OP));
        Ok([make()?, make()?])
    }

    /// Coefficients times the factors of a conversion's sources.
    fn lifted(
        &self,
        t: &CudaTables,
        plan: &Plan,
        chain: Rows,
        x: [Operand<'_, Buffer>; PAIR],
    ) -> Result<[Buffer; PAIR]> {
        let y = self.buffers(chain.count() * t.n())?;
        let inverse = NttArgs {
            src: x.map(|x| at(x.buf, x.at)),
            dst: addresses(&y, 0),
            scale: plan.scale,
            scale_last: plan.scale_last,
            ..self.ntt_args(t, chain)
        };
        // SAFETY: the operands hold the rows, as the caller checked, and y was made for them.
        unsafe { self.inverse(OP, &inverse, extent(chain))? };
        Ok(y)
    }

    /// The conversion of such products, in evaluation form.
    fn converted(
        &self,
        t: &CudaTables,
        plan: &Plan,
        y: &[Buffer; PAIR],
        to: Rows,
        dst: [u64; PAIR],
    ) -> Result<()> {
        let fused = plan.sources <= FUSED_SOURCES;
        let y = addresses(y, 0);
        if !fused {
            self.convert(OP, t, plan, y, to, dst, extent(to), 0, false)?;
        }
        let forward = NttArgs {
            src: if fused { y } else { dst },
            dst,
            bases: plan.bases,
            convert: u32::from(fused),
            ..self.ntt_args(t, to)
        };
        // SAFETY: `dst` has room for the rows, as the callers of this private function see to, and y holds the sources.
        unsafe { self.forward(OP, &forward, extent(to), dst) }
    }
}
