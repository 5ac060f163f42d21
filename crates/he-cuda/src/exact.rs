//! Encryption and decryption of messages modulo t.

use crate::cache::lock;
use crate::constants::{Factor, Grid, Prime, ROW_THREADS, per_limb};
use crate::cuda::failed;
use crate::elementwise::{at, holds_operand};
use crate::kernels::Entry;
use crate::ntt::{Args as NttArgs, Extent, parts};
use crate::ring::{CudaRing, factor};
use crate::sampler::seed_words;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::arith::Modulus;
use he_core::backend::{MessagePhase, PhaseModT, PreparedRing, base_conversion_to};
use he_core::ring::{Operand, RingSpec, Rows, Seed};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Messages, and the constants that turn them into phases.
#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Messages {
    words: u64,
    t: u64,
    middle: u64,
    factor: u64,
    quotient: u64,
    scale: [u64; RingSpec::MAX_PRIMES],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct PhaseArgs {
    grid: Grid,
    dst: u64,
    messages: Messages,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct EncryptArgs {
    grid: Grid,
    samples: u64,
    poly: usize,
    key: [u64; 2],
    c: [u64; 2],
    limb_count: u32,
    unused: u32,
    seed: [u32; 8],
    messages: Messages,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct RemainderArgs {
    grid: Grid,
    y: u64,
    c: [u64; 2],
    secret: u64,
    dst: u64,
    scale: u64,
    scale_last: u64,
    reciprocal: u64,
    hat: u64,
    minus_product: u64,
    modulus: Prime,
    after: Factor,
    limb_count: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct GatherArgs {
    src: u64,
    index: u64,
    dst: u64,
    words: u64,
    log_n: u32,
    unused: u32,
}

impl Messages {
    const NONE: Self =
        Self { words: 0, t: 1, middle: 0, factor: 0, quotient: 0, scale: [0; RingSpec::MAX_PRIMES] };

    fn new(op: &str, ring: &CudaRing, rows: Rows, message: MessagePhase<'_, Buffer>) -> Self {
        let fits = message.words.words() >= rows.batch * ring.n() && message.scale.len() >= rows.span.limbs();
        assert!(fits, "{op}: the message is too small");
        let factor = message.modulus.shoup(message.factor);
        Self {
            words: message.words.address(),
            t: message.modulus.value(),
            middle: message.modulus.value().div_ceil(2),
            factor: factor.value,
            quotient: factor.quotient,
            scale: per_limb(message.scale),
        }
    }
}

/// log2 of the largest degree whose messages are encrypted and decrypted by one kernel.
const LARGEST_SMALL: u32 = 11;
/// The threads per block of kernels with one thread per coefficient, or per block of a stream.
const THREADS: u32 = 128;

/// The threads per block of the kernels for small degrees, and the blocks: two coefficients per
/// thread, of several messages if they are short.
fn small_grid(ring: &CudaRing, batch: usize) -> (u32, u32) {
    let threads = (ring.n() as u32 / 2).max(THREADS);
    (threads, (batch * ring.n()).div_ceil(2 * threads as usize) as u32)
}

/// The constants for phases modulo some m, for the first primes of the chain, times some
/// factors.
#[derive(Debug)]
struct PhasePlan {
    /// The scale and the last scale of the inverse transform ([`Factor`]), 1 / q_i, and Q/q_i
    /// modulo m.
    data: Buffer,
    minus_product: u64,
}

/// Number of primes, m, and the factors.
type PlanKey = (usize, u64, Vec<u64>);

/// The constants for phases modulo some m in a ring on a device, computed on first use.
#[derive(Debug, Default)]
pub(crate) struct ExactTables(Mutex<HashMap<PlanKey, Arc<PhasePlan>>>);

impl ExactTables {
    fn plan(&self, ring: &CudaRing, rows: Rows, to: PhaseModT<'_>) -> Result<Arc<PhasePlan>> {
        let limbs = rows.span.limbs();
        let key = (limbs, to.modulus.value(), to.factors[..limbs].to_vec());
        let mut plans = lock(&self.0);
        if let Some(plan) = plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let conversion = base_conversion_to(ring.spec(), rows.span, &[*to.modulus]);
        let mut words = Vec::new();
        for part in 0..2 {
            for i in 0..limbs {
                let (q, scale) = ring.inverse_scale(i);
                let lift = q.mul(conversion.hat_inverse()[i].value, to.factors[i]);
                words.extend(factor(q, q.mul(scale[part], lift)).words());
            }
        }
        words.extend(conversion.reciprocal().iter().map(|x| x.to_bits()));
        words.extend(conversion.hat(0));
        let data = ring.cuda.stream.upload(&words).map_err(failed("prepare"))?;
        let plan = Arc::new(PhasePlan { data, minus_product: conversion.minus_product(0) });
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }
}

/// The constants of a modulus that has no roots.
fn rootless(m: &Modulus) -> Prime {
    let ratio = u128::MAX / u128::from(m.value());
    // If m is a power of two, floor(2^128 / m) is one more.
    let ratio = if m.value().is_power_of_two() { ratio.wrapping_add(1) } else { ratio };
    Prime {
        q: m.value(),
        minus_q: m.value().wrapping_neg(),
        is_short: 0,
        unused: 0,
        q_double: 0.0,
        q_inverse: 0.0,
        roots: 0,
        inverse_roots: 0,
        ratio_high: (ratio >> 64) as u64,
        ratio_low: ratio as u64,
        shift_25: 0.0,
        shift_50: 0.0,
    }
}

impl CudaRing {
    /// See [`ExactOps::message_phase`](he_core::backend::ExactOps::message_phase).
    pub(crate) fn message_phase_rows(&self, rows: Rows, message: MessagePhase<'_, Buffer>) -> Result<Buffer> {
        let op = "message_phase";
        let (grid, messages) = (self.grid(rows), Messages::new(op, self, rows, message));
        let dst = self.cuda.stream.alloc(rows.count() * self.n()).map_err(failed(op))?;
        let args = PhaseArgs { grid, dst: dst.address(), messages };
        // SAFETY: the message has a word for each coefficient, as just checked, and the destination
        // holds the rows.
        unsafe { self.cuda.launch_rows(op, Entry::MessagePhase, grid.blocks(rows.span), &args)? };
        Ok(dst)
    }

    /// See [`ExactOps::encrypt`](he_core::backend::ExactOps::encrypt).
    pub(crate) fn encrypt_rows(
        &self,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Buffer>; 2],
        message: Option<MessagePhase<'_, Buffer>>,
    ) -> Result<[Buffer; 2]> {
        let op = "encrypt";
        assert!(rows.at == 0, "{op}: rows start at word 0");
        assert!(
            key.iter().all(|key| key.batch == 1 && holds_operand(self, rows, *key)),
            "{op}: the key is too small"
        );
        let messages = message.map_or(Messages::NONE, |message| Messages::new(op, self, rows, message));
        let (words, limbs, total) =
            (rows.count() * self.n(), rows.span.limbs() as u32, rows.batch * self.n());
        let alloc = |words: usize| self.cuda.stream.alloc(words).map_err(failed(op));
        let c = [alloc(words)?, alloc(words)?];
        let mut args = EncryptArgs {
            grid: self.grid(rows),
            samples: 0,
            poly: words,
            key: key.map(|key| at(key.buf, key.at)),
            c: c.each_ref().map(Buffer::address),
            limb_count: limbs,
            unused: 0,
            seed: seed_words(seed),
            messages,
        };
        if self.log_n() <= LARGEST_SMALL {
            let (threads, blocks) = small_grid(self, rows.batch);
            // SAFETY: key, message and results hold the rows, as just checked.
            unsafe {
                self.cuda.launch_apart(
                    op,
                    Entry::EncryptSmall,
                    [blocks, limbs, 1],
                    threads,
                    48 * threads,
                    &args,
                )?
            };
            return Ok(c);
        }
        let samples = alloc(3 * words)?;
        args.samples = samples.address();
        let blocks = total.div_ceil(8 * THREADS as usize) as u32;
        // A block of a stream serves all limbs: spread over more threads only where there are few.
        let shares = if total < 1 << 17 { limbs.min(8) } else { 1 };
        // SAFETY: the samples have room for three polynomials; the rest as before.
        unsafe { self.cuda.launch_apart(op, Entry::EncryptSamples, [blocks, shares, 3], THREADS, 0, &args)? };
        let polynomials = parts([0, 1, 2].map(|i| at(&samples, i * words)));
        let transform = NttArgs { src: polynomials, dst: polynomials, ..self.ntt_args(rows) };
        let extent = Extent { rows, digits: 1, parts: 3 };
        // SAFETY: as before.
        unsafe { self.forward(op, &transform, None, extent, transform.dst)? };
        let blocks = args.grid.blocks(rows.span);
        // SAFETY: as before.
        unsafe { self.cuda.launch_apart(op, Entry::EncryptRows, blocks, ROW_THREADS, 0, &args)? };
        Ok(c)
    }

    /// See [`ExactOps::phase_mod_t`](he_core::backend::ExactOps::phase_mod_t).
    pub(crate) fn phase_mod_t_rows(
        &self,
        rows: Rows,
        c: [Operand<'_, Buffer>; 2],
        secret: Operand<'_, Buffer>,
        to: PhaseModT<'_>,
    ) -> Result<Buffer> {
        let op = "phase_mod_t";
        let is_chain = rows.at == 0 && rows.span.start == 0 && rows.span.p == 0;
        assert!(is_chain, "{op}: not the chain's first primes, from word 0 on");
        let holds = c.iter().all(|c| c.batch == rows.batch && holds_operand(self, rows, *c));
        assert!(
            holds && secret.batch == 1 && holds_operand(self, rows, secret),
            "{op}: an operand is too small"
        );
        assert!(to.factors.len() >= rows.span.limbs(), "{op}: too few factors");
        let plan = self.extensions.get::<ExactTables>().plan(self, rows, to)?;
        let (limbs, total) = (rows.span.limbs(), rows.batch * self.n());
        let dst = self.cuda.stream.alloc(total).map_err(failed(op))?;
        let sections = [0, 3, 6, 7].map(|section| at(&plan.data, section * limbs));
        let [scale, scale_last, reciprocal, hat] = sections;
        let mut args = RemainderArgs {
            grid: self.grid(rows),
            y: 0,
            c: c.map(|c| at(c.buf, c.at)),
            secret: at(secret.buf, secret.at),
            dst: dst.address(),
            scale,
            scale_last,
            reciprocal,
            hat,
            minus_product: plan.minus_product,
            modulus: rootless(to.modulus),
            after: factor(to.modulus, to.after),
            limb_count: limbs as u32,
            unused: 0,
        };
        if self.log_n() <= LARGEST_SMALL {
            let (threads, blocks) = small_grid(self, rows.batch);
            // SAFETY: operands and destination hold the rows, as just checked; the plan has the
            // constants of their primes.
            unsafe {
                self.cuda.launch(op, Entry::RemainderSmall, [blocks, 1, 1], threads, 16 * threads, &args)?
            };
            return Ok(dst);
        }
        let y = self.mul_add_rows(rows, c[0], c[1], secret)?;
        let inverse = NttArgs {
            src: parts([y.address()]),
            dst: parts([y.address()]),
            scale: [scale; 2],
            scale_last: [scale_last; 2],
            ..self.ntt_args(rows)
        };
        // SAFETY: `y` holds the rows, and the first factors of the plan are those of their primes.
        unsafe { self.inverse(op, &inverse, Extent::rows(rows))? };
        args.y = y.address();
        let blocks = total.div_ceil(THREADS as usize) as u32;
        // SAFETY: as before.
        unsafe { self.cuda.launch(op, Entry::RemainderRows, [blocks, 1, 1], THREADS, 0, &args)? };
        Ok(dst)
    }

    /// See [`ExactOps::gather`](he_core::backend::ExactOps::gather).
    pub(crate) fn gather_rows(&self, rows: Rows, index: &Buffer, src: &Buffer) -> Result<Buffer> {
        let op = "gather";
        let words = rows.count() * self.n();
        assert!(index.words() >= self.n() && src.words() >= words, "{op}: a buffer is too small");
        let dst = self.cuda.stream.alloc(words).map_err(failed(op))?;
        let args = GatherArgs {
            src: src.address(),
            index: index.address(),
            dst: dst.address(),
            words: words as u64,
            log_n: self.log_n(),
            unused: 0,
        };
        let blocks = words.div_ceil(ROW_THREADS as usize) as u32;
        // SAFETY: the buffers hold the rows and the index, as just checked; the kernel takes
        // indices modulo N.
        unsafe { self.cuda.launch(op, Entry::Gather, [blocks, 1, 1], ROW_THREADS, 0, &args)? };
        Ok(dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_kernels() {
        assert_eq!((offset_of!(Messages, scale), size_of::<Messages>()), (40, 552));
        assert_eq!((offset_of!(PhaseArgs, messages), size_of::<PhaseArgs>()), (40, 592));
        let offsets = [
            offset_of!(EncryptArgs, key),
            offset_of!(EncryptArgs, limb_count),
            offset_of!(EncryptArgs, seed),
        ];
        assert_eq!(offsets, [48, 80, 88]);
        assert_eq!((offset_of!(EncryptArgs, messages), size_of::<EncryptArgs>()), (120, 672));
        let offsets = [
            offset_of!(RemainderArgs, c),
            offset_of!(RemainderArgs, scale),
            offset_of!(RemainderArgs, modulus),
        ];
        assert_eq!(offsets, [40, 72, 112]);
        let offsets = [offset_of!(RemainderArgs, after), offset_of!(RemainderArgs, limb_count)];
        assert_eq!((offsets, size_of::<RemainderArgs>()), ([208, 232], 240));
        assert_eq!((offset_of!(GatherArgs, log_n), size_of::<GatherArgs>()), (32, 40));
    }
}
