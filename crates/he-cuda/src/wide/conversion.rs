//! Words to residues and back.

use super::args::{ComposeArgs, GROUP, MAX_WORDS, PART_BITS, ResiduesArgs, shape};
use crate::cache::lock;
use crate::constants::Factor;
use crate::cuda::failed;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ntt::{Args as NttArgs, Extent, parts};
use crate::ring::{CudaRing, factor};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{PreparedRing, WideConstants, WideRows};
use he_core::ring::{Rows, Span};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Constants of the conversions between words and residues on the device.
#[derive(Debug)]
struct Conversion {
    /// Holds everything to which the addresses below point.
    _data: Buffer,
    words: usize,
    /// Limbs, in whole groups.
    stride: usize,
    radix: u64,
    hat: u64,
    minus_product: u64,
    reciprocal: u64,
    /// [`Factor`] of each limb: (Q/q_i)^-1.
    scale: u64,
}

/// The constants for operations modulo powers of two in a ring on a device, computed on first use.
#[derive(Debug, Default)]
struct WideTables {
    conversions: Mutex<HashMap<Span, Arc<Conversion>>>,
}

impl WideTables {
    fn conversion(&self, ring: &CudaRing, span: Span) -> Result<Arc<Conversion>> {
        let mut conversions = lock(&self.conversions);
        if let Some(conversion) = conversions.get(&span) {
            return Ok(Arc::clone(conversion));
        }
        let made = Arc::new(Conversion::new(ring, span)?);
        conversions.insert(span, Arc::clone(&made));
        Ok(made)
    }
}

impl Conversion {
    fn new(ring: &CudaRing, span: Span) -> Result<Self> {
        // As many words as all primes of the ring determine, and a word for the sign.
        let words = ((ring.spec().log_qp() / 64.0) as usize + 2).next_multiple_of(GROUP);
        let count = span.limbs();
        let moduli: Vec<_> = ring.spec().moduli_of(span).copied().collect();
        let constants = WideConstants::new(&moduli, words);
        let stride = count.next_multiple_of(GROUP);
        let mut radix = vec![0; (words + 1) * stride];
        for i in 0..count {
            for (w, &power) in constants.radix(i).iter().enumerate() {
                radix[w * stride + i] = (power >> PART_BITS) << 32 | (power & ((1 << PART_BITS) - 1));
            }
        }
        let hat = (0..words).step_by(GROUP).flat_map(|first| {
            let group: Vec<_> = (first..first + GROUP).map(|w| constants.hat(w)).collect();
            (0..count).flat_map(|i| group.iter().map(|hat| hat[i]).collect::<Vec<_>>()).collect::<Vec<_>>()
        });
        // The first two are read in pairs, so they form whole groups in sequence.
        let sections: [Vec<u64>; 5] = [
            radix,
            hat.collect(),
            constants.minus_product().to_vec(),
            constants.reciprocal().iter().map(|x| x.to_bits()).collect(),
            moduli
                .iter()
                .zip(constants.hat_inverse())
                .flat_map(|(q, w)| Factor::words(&factor(q, w.value)))
                .collect(),
        ];
        let data = ring.cuda.stream.upload(&sections.concat()).map_err(failed("prepare"))?;
        let mut word = 0;
        let [radix, hat, minus_product, reciprocal, scale] = sections.map(|section| {
            let address = at(&data, word);
            word += section.len();
            address
        });
        Ok(Self { _data: data, words, stride, radix, hat, minus_product, reciprocal, scale })
    }
}

/// Polynomials to be converted to residues.
#[derive(Clone, Copy)]
pub(super) struct Sources {
    /// Addresses; the first two have the first batch, the others the second.
    pub(super) src: [u64; 4],
    pub(super) batch: [usize; 2],
    /// The rows per limb of the result.
    pub(super) rows: usize,
    pub(super) bits: u32,
    pub(super) digit_bits: u32,
}

impl Sources {
    /// One polynomial as a whole.
    pub(super) fn single(src: u64, wide: WideRows) -> Self {
        let batch = [wide.batch; 2];
        Self { src: [src, 0, 0, 0], batch, rows: wide.batch, bits: wide.bits, digit_bits: wide.bits }
    }

    pub(super) fn digits(&self) -> u32 {
        self.bits.div_ceil(self.digit_bits)
    }

    /// sum_j 2^(j w + w_j - 1): half of each digit's modulus at its place.
    pub(super) fn offset(&self) -> [u64; MAX_WORDS] {
        let mut offset = [0; MAX_WORDS];
        for end in (1..self.digits()).map(|j| j * self.digit_bits).chain([self.bits]) {
            offset[(end - 1) as usize / 64] |= 1 << ((end - 1) % 64);
        }
        offset
    }
}

/// The destination of composed numbers.
pub(super) struct Targets<'a> {
    pub(super) rows: WideRows,
    pub(super) dst: &'a [u64],
    /// Addresses, or 0.
    pub(super) addend: [u64; 2],
    /// The power of two by which the numbers are divided.
    pub(super) shift: u32,
}

impl CudaRing {
    /// Residues of centred numbers, or of their digits.
    ///
    /// # Safety
    /// The sources are live and hold their numbers, `dst` is live and holds `sources.rows` rows for
    /// each limb.
    pub(super) unsafe fn residues(
        &self,
        op: &'static str,
        sources: &Sources,
        span: Span,
        dst: u64,
    ) -> Result<()> {
        let conversion = self.extensions.get::<WideTables>().conversion(self, span)?;
        assert!(
            sources.bits as usize <= 64 * conversion.words.min(MAX_WORDS - 1),
            "{op}: more bits than the ring's primes have"
        );
        let args = ResiduesArgs {
            src: sources.src,
            dst,
            primes: self.primes(),
            radix: conversion.radix,
            limbs: self.limbs(Rows::new(span, sources.rows)),
            batch: sources.batch.map(|batch| batch as u32),
            log_n: self.log_n(),
            bits: sources.bits,
            digit_bits: sources.digit_bits,
            digits: sources.digits(),
            limb_count: span.limbs() as u32,
            stride: conversion.stride as u32,
            offset: sources.offset(),
        };
        let groups = (conversion.stride / GROUP) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch_wide(op, Entry::WideResidues, sources.rows * self.n(), groups, &args) }
    }

    /// Numbers from the y of a conversion, or from residues where `scaled` is not set.
    ///
    /// # Safety
    /// `y` is live and holds a row for each limb, target and batch entry; the targets and addends
    /// are live and hold their rows.
    pub(super) unsafe fn compose(
        &self,
        op: &'static str,
        span: Span,
        y: u64,
        scaled: bool,
        targets: &Targets<'_>,
    ) -> Result<()> {
        let conversion = self.extensions.get::<WideTables>().conversion(self, span)?;
        let words = (targets.rows.bits + targets.shift).div_ceil(64);
        assert!(words as usize <= conversion.words, "{op}: more bits than the ring's primes have");
        let count = targets.dst.len();
        let mut dst = [0; 3];
        dst[..count].copy_from_slice(targets.dst);
        let args = ComposeArgs {
            to: shape(self, targets.rows),
            y,
            scale: if scaled { 0 } else { conversion.scale },
            primes: self.primes(),
            reciprocal: conversion.reciprocal,
            hat: conversion.hat,
            minus_product: conversion.minus_product,
            limbs: self.limbs(Rows::new(span, count * targets.rows.batch)),
            dst,
            addend: [targets.addend[0], targets.addend[1], 0],
            count: span.limbs() as u32,
            words,
            shift: targets.shift,
            unused: 0,
        };
        let threads = targets.rows.batch * self.n();
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch_wide(op, Entry::WideCompose, threads, count as u32, &args) }
    }

    /// Converts values in place to the y of the conversion from all primes of the span, then to
    /// numbers.
    ///
    /// # Safety
    /// As for [`compose`](Self::compose).
    pub(super) unsafe fn compose_values(
        &self,
        op: &'static str,
        span: Span,
        values: u64,
        targets: &Targets<'_>,
    ) -> Result<()> {
        let plan = self.convert_plan(span, Span::chain(1))?;
        let rows = Rows::new(span, targets.dst.len() * targets.rows.batch);
        let args = NttArgs {
            src: parts([values]),
            dst: parts([values]),
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.ntt_args(rows)
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.inverse(op, &args, Extent::rows(rows))?;
            self.compose(op, span, values, true, targets)
        }
    }

    /// Transforms coefficients in place to values.
    ///
    /// # Safety
    /// `values` is live and holds the rows.
    pub(super) unsafe fn forward_values(&self, op: &'static str, rows: Rows, values: u64) -> Result<()> {
        let place = parts([values]);
        let args = NttArgs { src: place, dst: place, ..self.ntt_args(rows) };
        // SAFETY: guaranteed by the caller.
        unsafe { self.forward(op, &args, None, Extent::rows(rows), place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_digits() {
        let sources = |bits, digit_bits| Sources { src: [0; 4], batch: [1; 2], rows: 1, bits, digit_bits };
        let offset = |bits, digit_bits| sources(bits, digit_bits).offset();
        assert_eq!(offset(64, 64)[..2], [1 << 63, 0]);
        assert_eq!(offset(70, 70)[..2], [0, 1 << 5]);
        assert_eq!(offset(6, 2)[0], 0b10_1010);
        assert_eq!(offset(130, 65)[..4], [0, 1, 2, 0]);
        // Ends at 33, 66 and 67.
        assert_eq!(offset(67, 33)[..2], [1 << 32, 1 << 1 | 1 << 2]);
    }
}
