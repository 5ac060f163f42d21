//! The traits of he-core.

use crate::cuda::{Cuda, failed};
use crate::kernels::Entry;
use crate::key_switch::{Beside, DigitState, Finish};
use crate::ring::CudaRing;
use crate::sampler::Distribution;
use crate::share::Share;
use gpu::Buffer;
use he_core::Result;
use he_core::arith::Modulus;
use he_core::backend::{
    Backend, Blocks, CkksOps, DigitBuf, Embedding, ExactOps, GiantStep, HostVector, KeyBuf, KeyShape,
    KeySwitchOps, KeySwitchShape, MessagePhase, Multiple, Pair, PhaseModT, PolyOps, Rotation, RotationBlocks,
    ScaledTensor,
};
use he_core::ckks::Complex64;
use he_core::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span, SpecialFft};
use std::ops::Range;

impl Backend for Cuda {
    type Buf = Buffer;
    type Ring = CudaRing;

    fn name(&self) -> String {
        let info = self.gpu().info();
        format!("cuda:{} ({})", info.ordinal, info.name)
    }

    fn prepare(&self, spec: &RingSpec) -> Result<CudaRing> {
        CudaRing::new(self, spec, Share::WHOLE)
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

    fn host_vector(&self, count: usize) -> Result<HostVector> {
        self.page_locked_vector(count)
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

    fn copy_blocks(
        &self,
        src: &Buffer,
        from: Blocks,
        dst: &mut Buffer,
        to: Blocks,
        words: usize,
        count: usize,
    ) -> Result<()> {
        self.copy_all_blocks(src, from, dst, to, words, count)
    }

    fn copy_places(
        &self,
        src: &Buffer,
        from: Blocks,
        dst: &mut Buffer,
        to: Blocks,
        places: &[[usize; 2]],
        shape: [usize; 2],
    ) -> Result<()> {
        self.copy_listed_blocks(src, from, dst, to, places, shape)
    }

    fn join_runs(&self, parts: &[(&Buffer, usize)], dst: &mut Buffer, runs: usize) -> Result<()> {
        self.join_buffers(parts, dst, runs)
    }

    fn transpose_words(
        &self,
        src: &Buffer,
        src_at: usize,
        dst: &mut Buffer,
        dst_at: usize,
        shape: [usize; 2],
        count: usize,
    ) -> Result<()> {
        self.transpose_matrices((src, src_at), (dst, dst_at), shape, count)
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

    fn check(&self) -> Result<()> {
        self.oversight.check()
    }

    fn worked(&self, work: u64) {
        self.oversight.worked(work);
    }

    fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("synchronize"))
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.stream.batched(work).map_err(failed("batched"))?
    }
}

impl PolyOps for CudaRing {
    fn ntt(&self, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.transform("ntt", rows, a, true)
    }

    fn intt(&self, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.transform("intt", rows, a, false)
    }

    fn add_assign(&self, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("add_assign", Entry::Add, rows, a, Some(b), None)
    }

    fn sub_assign(&self, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("sub_assign", Entry::Sub, rows, a, Some(b), None)
    }

    fn neg_assign(&self, rows: Rows, a: &mut Buffer) -> Result<()> {
        self.elementwise("neg_assign", Entry::Neg, rows, a, None, None)
    }

    fn mul_assign(&self, rows: Rows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        self.elementwise("mul_assign", Entry::Mul, rows, a, Some(b), None)
    }

    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut Buffer,
        x: Operand<'_, Buffer>,
        y: Operand<'_, Buffer>,
    ) -> Result<()> {
        self.elementwise("mul_add_assign", Entry::MulAdd, rows, acc, Some(x), Some(y))
    }

    fn scale_assign(&self, rows: Rows, a: &mut Buffer, factors: &[u64]) -> Result<()> {
        self.with_factors("scale_assign", Entry::Scale, rows, a, None, factors)
    }

    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut Buffer,
        x: Operand<'_, Buffer>,
        factors: &[u64],
    ) -> Result<()> {
        self.with_factors("scale_add_assign", Entry::ScaleAdd, rows, acc, Some(x), factors)
    }

    fn add_scalar_assign(&self, rows: Rows, a: &mut Buffer, terms: &[u64]) -> Result<()> {
        self.with_factors("add_scalar_assign", Entry::AddScalar, rows, a, None, terms)
    }

    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Buffer>,
        dst: &mut Buffer,
    ) -> Result<()> {
        self.automorphism_rows(rows, domain, g, src, dst)
    }

    fn convert_basis(&self, from: Rows, src: &Buffer, to: Rows, dst: &mut Buffer) -> Result<()> {
        self.convert_rows(from, src, to, dst)
    }

    fn reduce_signed(&self, rows: Rows, src: &Buffer, dst: &mut Buffer) -> Result<()> {
        self.signed_rows(rows, src, dst)
    }

    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.sample("sample_uniform", rows, Distribution::Uniform, seed, index, dst)
    }

    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.sample("sample_ternary", rows, Distribution::Ternary, seed, index, dst)
    }

    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.sample("sample_error", rows, Distribution::Error, seed, index, dst)
    }

    fn tensor(
        &self,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        self.tensor_rows(rows, a, b)
    }

    fn tensor_sum(
        &self,
        rows: Rows,
        products: &[[Pair<'_, Buffer>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, Buffer>],
        constant: &[u64],
    ) -> Result<[Buffer; 3]> {
        self.sum_rows("tensor_sum", rows, products, factors, multiples, constant)
    }

    fn combine(
        &self,
        rows: Rows,
        multiples: &[Multiple<'_, Buffer>],
        constant: &[u64],
    ) -> Result<[Buffer; 2]> {
        self.sum_rows("combine", rows, &[], &[], multiples, constant)
    }

    fn add_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.pairs("add_pairs", Entry::Add, rows, a, b)
    }

    fn sub_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.pairs("sub_pairs", Entry::Sub, rows, a, b)
    }

    fn mul_pairs(
        &self,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.pairs("mul_pairs", Entry::Mul, rows, a, b)
    }

    fn mul_add(
        &self,
        rows: Rows,
        a: Operand<'_, Buffer>,
        x: Operand<'_, Buffer>,
        y: Operand<'_, Buffer>,
    ) -> Result<Buffer> {
        self.mul_add_rows(rows, a, x, y)
    }

    fn mod_down_pair(&self, span: Span, keep: usize, batch: usize, src: [&Buffer; 2]) -> Result<[Buffer; 2]> {
        self.divide("mod_down_pair", span, keep, batch, src, Finish::STORE)
    }

    fn mod_down(&self, span: Span, keep: usize, batch: usize, src: Buffer) -> Result<Buffer> {
        let [quotient] = self.divide("mod_down", span, keep, batch, [&src], Finish::STORE)?;
        Ok(quotient)
    }
}

impl KeySwitchOps for CudaRing {
    fn empty_key(&self, shape: &KeyShape) -> Result<KeyBuf<Buffer>> {
        self.cuda.zeros(self.whole_key_words(shape)).map(KeyBuf::new)
    }

    fn write_key(
        &self,
        shape: &KeyShape,
        key: KeyBuf<&mut Buffer>,
        digit: usize,
        part: usize,
        src: &Buffer,
    ) -> Result<()> {
        self.write_key_rows(shape, key.buf(), digit, part, src)
    }

    fn read_key(&self, shape: &KeyShape, key: KeyBuf<&Buffer>, digit: usize, part: usize) -> Result<Buffer> {
        self.read_key_rows(shape, key.buf(), digit, part)
    }

    fn apply_automorphism(
        &self,
        shape: &KeySwitchShape,
        c: [&Buffer; 2],
        key: KeyBuf<&Buffer>,
        g: u64,
    ) -> Result<[Buffer; 2]> {
        let [sum0, sum1] = self.switch_rows(shape, c[1], key.buf(), [None; 2])?;
        let finish = Finish { addend: Some(c[0]), g };
        let op = "apply_automorphism";
        self.divide(op, shape.span(), shape.q, shape.batch, [&sum0, &sum1], finish)
    }

    fn decompose(&self, shape: &KeySwitchShape, src: &Buffer) -> Result<DigitBuf<Buffer>> {
        Ok(DigitBuf::new(self.decompose_rows(shape, src, true)?.buf))
    }

    fn key_product(
        &self,
        shape: &KeySwitchShape,
        digits: DigitBuf<&Buffer>,
        key: KeyBuf<&Buffer>,
    ) -> Result<[Buffer; 2]> {
        self.product_rows(shape, digits.buf(), DigitState::Complete, Beside::NOTHING, key.buf())
    }

    fn relinearize(
        &self,
        shape: &KeySwitchShape,
        d: [&Buffer; 3],
        key: KeyBuf<&Buffer>,
        keep: usize,
    ) -> Result<[Buffer; 2]> {
        let [sum0, sum1] = self.switch_rows(shape, d[2], key.buf(), [Some(d[0]), Some(d[1])])?;
        self.divide("relinearize", shape.span(), keep, shape.batch, [&sum0, &sum1], Finish::STORE)
    }

    fn multiply_relinearize(
        &self,
        shape: &KeySwitchShape,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
        key: KeyBuf<&Buffer>,
        keep: usize,
    ) -> Result<[Buffer; 2]> {
        let [sum0, sum1] = self.multiply_and_switch(shape, a, b, key.buf())?;
        let op = "multiply_relinearize";
        self.divide(op, shape.span(), keep, shape.batch, [&sum0, &sum1], Finish::STORE)
    }

    fn switch_automorphism(
        &self,
        shape: &KeySwitchShape,
        c0: &Buffer,
        digits: DigitBuf<&Buffer>,
        key: KeyBuf<&Buffer>,
        g: u64,
    ) -> Result<[Buffer; 2]> {
        let state = DigitState::Complete;
        let [sum0, sum1] = self.product_rows(shape, digits.buf(), state, Beside::NOTHING, key.buf())?;
        let finish = Finish { addend: Some(c0), g };
        let op = "switch_automorphism";
        self.divide(op, shape.span(), shape.q, shape.batch, [&sum0, &sum1], finish)
    }

    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&Buffer; 2],
        digits: DigitBuf<&Buffer>,
        babies: &[Rotation<'_, Buffer>],
        giants: &[GiantStep<'_, Buffer>],
    ) -> Result<[Buffer; 2]> {
        self.rotations(shape, blocks, c, digits.buf(), babies, giants)
    }
}

impl CkksOps for CudaRing {
    fn encode_slots(&self, rows: Rows, vectors: &[&[Complex64]], to: Embedding<'_>) -> Result<Buffer> {
        self.encode_rows(rows, vectors, to)
    }

    fn encode_host_vector(&self, rows: Rows, vector: &HostVector, to: Embedding<'_>) -> Result<Buffer> {
        self.encode_host_rows(rows, vector, to)
    }

    fn decode_slots(&self, rows: Rows, src: &Buffer, from: Embedding<'_>) -> Result<Vec<Vec<Complex64>>> {
        self.decode_rows(rows, src, from)
    }
}

impl ExactOps for CudaRing {
    fn scaled_tensor(
        &self,
        shape: &ScaledTensor,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        self.scaled_tensor_rows(shape, a, b)
    }

    fn message_phase(&self, rows: Rows, message: MessagePhase<'_, Buffer>) -> Result<Buffer> {
        self.message_phase_rows(rows, message)
    }

    fn greatest_squares(
        &self,
        batch: usize,
        words: &Buffer,
        modulus: &Modulus,
        fft: &SpecialFft,
    ) -> Result<Buffer> {
        self.greatest_message_squares(batch, words, modulus, fft)
    }

    fn encrypt(
        &self,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Buffer>; 2],
        message: Option<MessagePhase<'_, Buffer>>,
    ) -> Result<[Buffer; 2]> {
        self.encrypt_rows(rows, seed, key, message)
    }

    fn phase_mod_t(
        &self,
        rows: Rows,
        c: [Operand<'_, Buffer>; 2],
        secret: Operand<'_, Buffer>,
        to: PhaseModT<'_>,
    ) -> Result<Buffer> {
        self.phase_mod_t_rows(rows, c, secret, to)
    }

    fn gather(&self, rows: Rows, index: &Buffer, src: &Buffer) -> Result<Buffer> {
        self.gather_rows(rows, index, src)
    }
}
