//! The traits of he-core.

use crate::cuda::{Cuda, failed};
use crate::kernels::Entry;
use crate::key_switch::{DigitState, Finish};
use crate::sampler::Distribution;
use crate::tables::CudaTables;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{
    Backend, CkksOps, Embedding, ExactOps, KeySwitchOps, KeySwitchShape, PlainPhase, PolyOps, Remainders,
    RotationTerm, ScaledTensor,
};
use he_core::ckks::Complex64;
use he_core::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span};
use std::ops::Range;

impl Backend for Cuda {
    type Buf = Buffer;
    type Tables = CudaTables;

    fn name(&self) -> String {
        let info = self.gpu().info();
        format!("cuda:{} ({})", info.ordinal, info.name)
    }

    fn tables(&self, spec: &RingSpec) -> Result<CudaTables> {
        CudaTables::new(self, spec)
    }

    fn zeros(&self, words: usize) -> Result<Buffer> {
        self.stream.zeros(words).map_err(failed("zeros"))
    }

    fn scratch(&self, words: usize) -> Result<Buffer> {
        self.stream.alloc(words).map_err(failed("scratch"))
    }

    fn upload(&self, words: &[u64]) -> Result<Buffer> {
        self.upload_words("upload", words)
    }

    fn download(&self, buf: &Buffer, range: Range<usize>) -> Result<Vec<u64>> {
        self.download_words("download", buf, range.start, range.len())
    }

    fn take(&self, buf: &mut Buffer) -> Result<Vec<u64>> {
        self.take_words("take", buf)
    }

    fn copy(&self, src: &Buffer, src_at: usize, dst: &mut Buffer, dst_at: usize, words: usize) -> Result<()> {
        self.stream.copy(src, src_at, dst, dst_at, words).map_err(failed("copy"))
    }

    fn words(&self, buf: &Buffer) -> usize {
        buf.words()
    }

    fn truncate(&self, buf: &mut Buffer, words: usize) {
        buf.truncate(words);
    }

    fn wipe(&self, buf: &mut Buffer) {
        let words = buf.words();
        // A device that fails here also fails at the next call.
        let _ = self.stream.fill_zero(buf, 0, words);
    }

    fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("synchronize"))
    }

    fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.stream.together(work).map_err(failed("together"))?
    }
}

impl PolyOps for Cuda {
    fn spec<'a>(&self, t: &'a CudaTables) -> &'a RingSpec {
        t.spec()
    }

    fn ntt(&self, t: &CudaTables, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.transform("ntt", t, rows, a, true)
    }

    fn intt(&self, t: &CudaTables, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.transform("intt", t, rows, a, false)
    }

    fn add_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("add_assign", Entry::Add, t, rows, a, Some(b), None)
    }

    fn sub_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("sub_assign", Entry::Sub, t, rows, a, Some(b), None)
    }

    fn neg_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.elementwise("neg_assign", Entry::Neg, t, rows, a, None, None)
    }

    fn mul_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("mul_assign", Entry::Mul, t, rows, a, Some(b), None)
    }

    fn mul_add_assign(
        &self,
        t: &CudaTables,
        rows: Rows,
        acc: &mut Buffer,
        x: Operand<'_, Buffer>,
        y: Operand<'_, Buffer>,
    ) -> Result<()> {
        self.elementwise("mul_add_assign", Entry::MulAdd, t, rows, acc, Some(x), Some(y))
    }

    fn scale_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer, factors: &[u64]) -> Result<()> {
        self.with_factors("scale_assign", Entry::Scale, t, rows, a, None, factors)
    }

    fn scale_add_assign(
        &self,
        t: &CudaTables,
        rows: Rows,
        acc: &mut Buffer,
        x: Operand<'_, Buffer>,
        factors: &[u64],
    ) -> Result<()> {
        self.with_factors("scale_add_assign", Entry::ScaleAdd, t, rows, acc, Some(x), factors)
    }

    fn shift_assign(&self, t: &CudaTables, rows: Rows, a: &mut Buffer, terms: &[u64]) -> Result<()> {
        self.with_factors("shift_assign", Entry::Shift, t, rows, a, None, terms)
    }

    fn automorphism(
        &self,
        t: &CudaTables,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Buffer>,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.automorphism_rows(t, rows, domain, g, src, dst)
    }

    fn convert_basis(
        &self,
        t: &CudaTables,
        from: Rows,
        src: &Buffer,
        to: Rows,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.convert_rows(t, from, src, to, dst)
    }

    fn reduce_signed(&self, t: &CudaTables, rows: Rows, src: &Buffer, dst: &mut Buffer) -> Result<()> {
        self.signed_rows(t, rows, src, dst)
    }

    fn sample_uniform(
        &self,
        t: &CudaTables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.sample("sample_uniform", t, rows, Distribution::Uniform, seed, index, dst)
    }

    fn sample_ternary(
        &self,
        t: &CudaTables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.sample("sample_ternary", t, rows, Distribution::Ternary, seed, index, dst)
    }

    fn sample_error(
        &self,
        t: &CudaTables,
        rows: Rows,
        seed: &Seed,
        index: u32,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.sample("sample_error", t, rows, Distribution::Error, seed, index, dst)
    }

    fn tensor(
        &self,
        t: &CudaTables,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        self.tensor_rows(t, rows, a, b)
    }

    fn add_pairs(
        &self,
        t: &CudaTables,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.pairs("add_pairs", Entry::Add, t, rows, a, b)
    }

    fn sub_pairs(
        &self,
        t: &CudaTables,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.pairs("sub_pairs", Entry::Sub, t, rows, a, b)
    }

    fn mul_add(
        &self,
        t: &CudaTables,
        rows: Rows,
        a: Operand<'_, Buffer>,
        x: Operand<'_, Buffer>,
        y: Operand<'_, Buffer>,
    ) -> Result<Buffer> {
        self.mul_add_rows(t, rows, a, x, y)
    }

    fn mod_down_pair(
        &self,
        t: &CudaTables,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Buffer; 2],
    ) -> Result<[Buffer; 2]> {
        self.divide("mod_down_pair", t, span, keep, batch, src, Finish::STORE)
    }

    fn mod_down(&self, t: &CudaTables, span: Span, keep: usize, batch: usize, src: Buffer) -> Result<Buffer> {
        let [quotient] = self.divide("mod_down", t, span, keep, batch, [&src], Finish::STORE)?;
        Ok(quotient)
    }
}

impl KeySwitchOps for Cuda {
    fn apply_automorphism(
        &self,
        t: &CudaTables,
        shape: &KeySwitchShape,
        c: [&Buffer; 2],
        key: &Buffer,
        g: u64,
    ) -> Result<[Buffer; 2]> {
        let [sum0, sum1] = self.switch_rows(t, shape, c[1], key, [None; 2])?;
        let finish = Finish { addend: Some(c[0]), g };
        let op = "apply_automorphism";
        self.divide(op, t, shape.span(), shape.q, shape.batch, [&sum0, &sum1], finish)
    }

    fn decompose(&self, t: &CudaTables, shape: &KeySwitchShape, src: &Buffer) -> Result<Buffer> {
        Ok(self.decompose_rows(t, shape, src, true)?.buf)
    }

    fn key_product(
        &self,
        t: &CudaTables,
        shape: &KeySwitchShape,
        digits: &Buffer,
        key: &Buffer,
    ) -> Result<[Buffer; 2]> {
        self.product_rows(t, shape, digits, DigitState::Complete, None, key, [None; 2])
    }

    fn relinearize(
        &self,
        t: &CudaTables,
        shape: &KeySwitchShape,
        d: [&Buffer; 3],
        key: &Buffer,
        keep: usize,
    ) -> Result<[Buffer; 2]> {
        let [sum0, sum1] = self.switch_rows(t, shape, d[2], key, [Some(d[0]), Some(d[1])])?;
        self.divide("relinearize", t, shape.span(), keep, shape.batch, [&sum0, &sum1], Finish::STORE)
    }

    fn switch_automorphism(
        &self,
        t: &CudaTables,
        shape: &KeySwitchShape,
        c0: &Buffer,
        digits: &Buffer,
        key: &Buffer,
        g: u64,
    ) -> Result<[Buffer; 2]> {
        let state = DigitState::Complete;
        let [sum0, sum1] = self.product_rows(t, shape, digits, state, None, key, [None; 2])?;
        let finish = Finish { addend: Some(c0), g };
        let op = "switch_automorphism";
        self.divide(op, t, shape.span(), shape.q, shape.batch, [&sum0, &sum1], finish)
    }

    fn rotate_and_sum(
        &self,
        t: &CudaTables,
        shape: &KeySwitchShape,
        c: [&Buffer; 2],
        digits: &Buffer,
        terms: &[RotationTerm<'_, Buffer>],
    ) -> Result<[Buffer; 2]> {
        self.rotation_rows(t, shape, c, digits, terms)
    }
}

impl CkksOps for Cuda {
    fn encode_slots(
        &self,
        t: &CudaTables,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
    ) -> Result<Buffer> {
        self.encode_rows(t, rows, vectors, to)
    }

    fn decode_slots(
        &self,
        t: &CudaTables,
        rows: Rows,
        src: &Buffer,
        from: Embedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        self.decode_rows(t, rows, src, from)
    }
}

impl ExactOps for Cuda {
    fn scaled_tensor(
        &self,
        t: &CudaTables,
        shape: &ScaledTensor,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        self.scaled_tensor_rows(t, shape, a, b)
    }

    fn plain_phase(&self, t: &CudaTables, rows: Rows, message: PlainPhase<'_, Buffer>) -> Result<Buffer> {
        self.phase_rows(t, rows, message)
    }

    fn encrypt(
        &self,
        t: &CudaTables,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Buffer>; 2],
        message: Option<PlainPhase<'_, Buffer>>,
    ) -> Result<[Buffer; 2]> {
        self.encrypt_rows(t, rows, seed, key, message)
    }

    fn remainders(
        &self,
        t: &CudaTables,
        rows: Rows,
        c: [Operand<'_, Buffer>; 2],
        secret: Operand<'_, Buffer>,
        to: Remainders<'_>,
    ) -> Result<Buffer> {
        self.remainder_rows(t, rows, c, secret, to)
    }

    fn gather(&self, t: &CudaTables, rows: Rows, index: &Buffer, src: &Buffer) -> Result<Buffer> {
        self.gather_rows(t, rows, index, src)
    }
}
