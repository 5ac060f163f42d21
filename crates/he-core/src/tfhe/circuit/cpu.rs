//! Circuit bootstrapping on the CPU: indices in parallel, each from its samples to its results.

use crate::backend::{Backend, Cpu, CpuBuf};
use crate::error::Result;
use crate::lanes::{Quads, with_lanes, with_quads};
use crate::parallel::*;
use crate::tfhe::circuit_key::{automorphism, exponent};
use crate::tfhe::external::{ExternalProduct, Scratch, extract, prepare};
use crate::tfhe::transform::Transform;
use crate::tfhe::{CircuitKey, CircuitParams};

/// A key of circuit bootstrapping with its rows in transformed form.
#[derive(Debug)]
pub struct CpuCircuitKey {
    params: CircuitParams,
    transform: Transform,
    /// `[polynomials that are switched together]`, [interleaved](Transform::interleave).
    automorphisms: Vec<Vec<f64>>,
    /// The rows of the products by each polynomial of the secret.
    products: Vec<Vec<f64>>,
}

impl CpuCircuitKey {
    /// Transforms the rows.
    pub(in crate::tfhe) fn new(cpu: &Cpu, key: &CircuitKey) -> Result<Self> {
        let params = key.params().clone();
        let spec = params.tfhe().spec();
        let (k, levels) = (spec.glwe_dimension, params.spec().switch.levels as usize);
        let transform = Transform::new(spec.log_degree);
        // The rows of the switched polynomials at these places.
        let group = |places: Vec<usize>| {
            cpu.check()?;
            let mut values = vec![0.0; places.len() * levels * (k + 1) * params.tfhe().degree()];
            let row =
                |row: usize, words: &mut [u64]| key.row(places[row / levels] * levels + row % levels, words);
            with_lanes!(l => prepare(l, &transform, k + 1, row, &mut values));
            Ok(values)
        };
        let images = spec.log_degree as usize * k;
        let images_of = (0..images).step_by(k).map(|at| group((at..at + k).collect()));
        let automorphisms = images_of.collect::<Result<_>>()?;
        let products_by = |r| group((0..k).map(|s| images + CircuitKey::pair(r, s)).collect());
        let products = (0..k).map(products_by).collect::<Result<_>>()?;
        Ok(Self { params, transform, automorphisms, products })
    }

    /// The results of all indices; see [`LweOps::lookup_bits`](crate::tfhe::LweOps::lookup_bits).
    pub(in crate::tfhe) fn lookup(
        &self,
        cpu: &Cpu,
        src: &CpuBuf,
        bits: usize,
        count: usize,
        tables: &CpuBuf,
        outputs: usize,
    ) -> Result<CpuBuf> {
        let width = self.params.tfhe().words();
        let mut out = cpu.zeros(count * outputs * width)?;
        let wide = cpu.is_wide() && self.transform.is_wide();
        out.par_chunks_mut((outputs * width).max(1)).enumerate().try_for_each(
            |(index, out)| -> Result<()> {
                cpu.check()?;
                let samples = |level: usize, bit: usize| {
                    &src[((level * count + index) * bits + bit) * width..][..width]
                };
                with_quads!(wide, l => self.lookup_one(l, samples, bits, tables, out));
                Ok(())
            },
        )?;
        Ok(out)
    }

    #[inline(always)]
    fn lookup_one<'s, L: Quads>(
        &self,
        l: L,
        samples: impl Fn(usize, usize) -> &'s [u64],
        bits: usize,
        tables: &[u64],
        out: &mut [u64],
    ) {
        let (n, components) = (self.transform.n(), self.params.tfhe().spec().glwe_dimension + 1);
        let select = ExternalProduct::new(&self.transform, self.params.spec().select, components);
        let size = self.params.rows() * components * n;
        let mut ggsw = vec![0.0; bits * size];
        for (bit, ggsw) in ggsw.chunks_exact_mut(size).enumerate() {
            self.ggsw(l, |level| samples(level, bit), ggsw);
        }
        let (mut scratch, mut acc) = (select.scratch(1), vec![0; components * n]);
        let (width, entry) = (self.params.tfhe().words(), n >> bits);
        for (out, table) in out.chunks_mut(entry * width).zip(tables.chunks_exact(n)) {
            let (masks, body) = acc.split_at_mut((components - 1) * n);
            masks.fill(0);
            body.copy_from_slice(table);
            for (bit, ggsw) in ggsw.chunks_exact(size).enumerate() {
                select.cmux(l, ggsw, [2 * n - (entry << bit)], &mut acc, &mut scratch, &[]);
            }
            for (place, out) in out.chunks_exact_mut(width).enumerate() {
                extract(&acc, place, n, out);
            }
        }
    }

    /// The transformed GGSW encryption of the bit of these samples.
    #[inline(always)]
    fn ggsw<'s, L: Quads>(&self, l: L, sample: impl Fn(usize) -> &'s [u64], ggsw: &mut [f64]) {
        let (n, k) = (self.transform.n(), self.params.tfhe().spec().glwe_dimension);
        let (select, levels) = (self.params.spec().select, self.params.spec().select.levels as usize);
        let switch = ExternalProduct::new(&self.transform, self.params.spec().switch, k + 1);
        let mut scratch = switch.scratch(1);
        let mut image = vec![0; (k + 1) * n];
        // `[row][component][N]`.
        let mut rows = vec![0; levels * (k + 1) * (k + 1) * n];
        for level in 0..levels {
            let mut acc = vec![0; (k + 1) * n];
            embed(sample(level), 1 << (select.shift(level as u32 + 1) - 1), n, &mut acc);
            self.trace(l, &switch, &mut acc, &mut image, &mut scratch);
            for r in 0..k {
                let row = &mut rows[(r * levels + level) * (k + 1) * n..][..(k + 1) * n];
                row[r * n..][..n].copy_from_slice(&acc[k * n..]);
                switch.switch(l, acc[..k * n].chunks_exact(n), &self.products[r], row, &mut scratch);
            }
            rows[(k * levels + level) * (k + 1) * n..][..(k + 1) * n].copy_from_slice(&acc);
        }
        let copy = |row: usize, words: &mut [u64]| {
            words.copy_from_slice(&rows[row * (k + 1) * n..][..(k + 1) * n]);
        };
        prepare(l, &self.transform, k + 1, copy, ggsw);
    }

    /// acc <- the sum of its images under all automorphisms.
    #[inline(always)]
    fn trace<L: Quads>(
        &self,
        l: L,
        switch: &ExternalProduct<'_>,
        acc: &mut [u64],
        image: &mut [u64],
        scratch: &mut Scratch,
    ) {
        let n = self.transform.n();
        for (i, rows) in self.automorphisms.iter().enumerate() {
            for (p, image) in acc.chunks_exact(n).zip(image.chunks_exact_mut(n)) {
                automorphism(p, exponent(n, i), image);
            }
            let (masks, body) = image.split_at(image.len() - n);
            for (a, b) in acc[masks.len()..].iter_mut().zip(body) {
                *a = a.wrapping_add(*b);
            }
            switch.switch(l, masks.chunks_exact(n), rows, acc, scratch);
        }
    }
}

/// A GLWE ciphertext whose constant coefficient is that of the sample, plus `constant`, divided by
/// N.
#[inline(always)]
fn embed(sample: &[u64], constant: u64, n: usize, acc: &mut [u64]) {
    let shift = n.ilog2();
    let divided = |word: u64| word.wrapping_add(1 << (shift - 1)) >> shift;
    let (masks, body) = acc.split_at_mut(sample.len() - 1);
    for (mask, sample) in masks.chunks_exact_mut(n).zip(sample.chunks_exact(n)) {
        mask[0] = divided(sample[0]);
        for (m, s) in mask[1..].iter_mut().zip(sample[1..].iter().rev()) {
            *m = divided(s.wrapping_neg());
        }
    }
    body.fill(0);
    body[0] = divided(sample[sample.len() - 1].wrapping_add(constant));
}
