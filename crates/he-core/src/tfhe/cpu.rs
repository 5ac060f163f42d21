//! TFHE on the CPU: the ciphertexts of a group share each part of the keys, and groups run on
//! threads.

use super::circuit::CpuCircuitKey;
use super::external::{ExternalProduct, extract, prepare, rotate_difference};
use super::transform::{Bundles, Transform};
use super::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};
use crate::backend::{Backend, Cpu, CpuBuf};
use crate::error::Result;
use crate::lanes::{Quads, with_lanes, with_quads};
use crate::parallel::*;

/// The ciphertexts that a thread takes through a key together, so that it reads the key once for
/// all of them.
const GROUP: usize = 8;

/// A bootstrapping key with its GGSW rows in transformed form.
#[derive(Debug)]
pub struct CpuLweKey {
    params: TfheParams,
    transform: Transform,
    /// The bundles of a multi-bit key.
    bundles: Option<Bundles>,
    /// `[i]`, then [interleaved](Transform::interleave): transforms of the rows' components,
    /// centred, times 2^-64 / M. A multi-bit key has the rows of a group
    /// [together](Bundles::place).
    bootstrap: Vec<f64>,
    /// `[i][level][n + 1]`.
    switch: Vec<u32>,
}

/// The groups of a batch: at most [`GROUP`] ciphertexts each, fewer if threads would be idle.
fn group(count: usize) -> usize {
    count.div_ceil(threads().max(1)).clamp(1, GROUP)
}

impl LweOps for Cpu {
    type LweKey = CpuLweKey;
    type CircuitKey = CpuCircuitKey;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<CpuLweKey> {
        let params = key.params().clone();
        let spec = params.spec();
        let (n, rows, components) = (params.degree(), params.rows(), spec.glwe_dimension + 1);
        let transform = Transform::new(spec.log_degree);
        let bundles = (key.group() > 1).then(|| Bundles::new(&transform, key.group()));
        let (size, all) = (rows * components * n, params.key_ggsws(key.group()));
        let ggsw = |i: usize, ggsw: &mut [f64]| -> Result<()> {
            self.check()?;
            let row = |row: usize, words: &mut [u64]| key.bootstrap_row(i * rows + row, words);
            with_lanes!(l => prepare(l, &transform, components, row, ggsw));
            Ok(())
        };
        let mut bootstrap = vec![0.0; all * size];
        match &bundles {
            None => {
                bootstrap.par_chunks_mut(size).enumerate().try_for_each(|(i, values)| ggsw(i, values))?;
            }
            Some(bundles) => {
                bootstrap
                    .par_chunks_mut(bundles.words(size))
                    .enumerate()
                    .try_for_each(|(group, values)| bundles.fill(group, size, values, &ggsw))?;
            }
        }
        let width = spec.lwe_dimension + 1;
        let mut switch = vec![0; params.dimension() * spec.switch.levels as usize * width];
        switch.par_chunks_mut(width).enumerate().try_for_each(|(index, row)| -> Result<()> {
            self.check()?;
            key.switch_row(index, row);
            Ok(())
        })?;
        Ok(CpuLweKey { params, transform, bundles, bootstrap, switch })
    }

    fn lwe_combine(&self, params: &TfheParams, src: &CpuBuf, combinations: &[Combination]) -> Result<CpuBuf> {
        let width = params.words();
        let mut out = self.zeros(combinations.len() * width)?;
        out.par_chunks_mut(width).zip(combinations).try_for_each(|(out, combination)| -> Result<()> {
            self.check()?;
            for &(factor, index) in &combination.terms {
                for (o, s) in out.iter_mut().zip(&src[index * width..][..width]) {
                    *o = o.wrapping_add(s.wrapping_mul(factor as u64));
                }
            }
            out[width - 1] = out[width - 1].wrapping_add(combination.constant);
            Ok(())
        })?;
        Ok(out)
    }

    fn key_switch(&self, key: &CpuLweKey, src: &CpuBuf, count: usize) -> Result<CpuBuf> {
        let (from, to) = (key.params.words(), key.params.spec().lwe_dimension + 1);
        let group = group(count);
        let mut out = self.zeros(count * to)?;
        out.par_chunks_mut(group * to).zip(src[..count * from].par_chunks(group * from)).try_for_each(
            |(out, src)| -> Result<()> {
                self.check()?;
                with_quads!(self.is_wide(), _l => key.switch_group(src, out));
                Ok(())
            },
        )?;
        Ok(out)
    }

    fn blind_rotate(
        &self,
        key: &CpuLweKey,
        src: &CpuBuf,
        count: usize,
        tables: &CpuBuf,
        which: &[u32],
        functions: usize,
    ) -> Result<CpuBuf> {
        let (from, to) = (key.params.spec().lwe_dimension + 1, key.params.words());
        let group = group(count);
        let mut out = self.zeros(functions * count * to)?;
        // Per group, its part of the results of every function.
        let mut parts: Vec<Vec<&mut [u64]>> = Vec::new();
        parts.resize_with(count.div_ceil(group), Vec::new);
        for function in out.chunks_mut((count * to).max(1)) {
            for (part, results) in parts.iter_mut().zip(function.chunks_mut(group * to)) {
                part.push(results);
            }
        }
        let wide = self.is_wide() && key.transform.is_wide();
        parts
            .into_par_iter()
            .zip(src[..count * from].par_chunks(group * from))
            .zip(which[..count].par_chunks(group))
            .try_for_each(|((mut out, src), which)| -> Result<()> {
                self.check()?;
                with_quads!(wide, l => key.rotate_group(l, src, tables, which, &mut out));
                self.oversight().looked_up(which.len());
                Ok(())
            })?;
        Ok(out)
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<CpuCircuitKey> {
        CpuCircuitKey::new(self, key)
    }

    fn lookup_bits(
        &self,
        key: &CpuCircuitKey,
        src: &CpuBuf,
        bits: usize,
        count: usize,
        tables: &CpuBuf,
        outputs: usize,
    ) -> Result<CpuBuf> {
        key.lookup(self, src, bits, count, tables, outputs)
    }
}

/// A small ciphertext modulo 2N: see [`LweOps::blind_rotate`].
fn modulus_switch(words: &[u64], log_2n: u32, out: &mut [usize]) {
    let shift = 32 - log_2n;
    let (half, mask) = (1u64 << (shift - 1), (1u64 << log_2n) - 1);
    let body = words.len() - 1;
    let mut errors = 0i64;
    for (o, &word) in out.iter_mut().zip(&words[..body]) {
        let rounded = (word + half) >> shift;
        errors += word as i64 - (rounded << shift) as i64;
        *o = (rounded & mask) as usize;
    }
    // Modulo 2^32, which the mask of the result implies.
    let centred = words[body].wrapping_sub((errors >> 1) as u64).wrapping_add(half);
    out[body] = ((centred >> shift) & mask) as usize;
}

impl CpuLweKey {
    /// The transformed rows as bits.
    #[cfg(test)]
    pub(super) fn bootstrap_words(&self) -> Vec<u64> {
        self.bootstrap.iter().map(|x| x.to_bits()).collect()
    }

    /// Key switch of a group.
    #[inline(always)]
    fn switch_group(&self, src: &[u64], out: &mut [u64]) {
        let (from, to) = (self.params.words(), self.params.spec().lwe_dimension + 1);
        let gadget = self.params.spec().switch;
        let (offset, half) = (gadget.offset(), 1u32 << (gadget.base_log - 1));
        let count = src.len() / from;
        let mut sums = vec![0u32; count * to];
        for (i, rows) in self.switch.chunks_exact(gadget.levels as usize * to).enumerate() {
            for (sum, src) in sums.chunks_exact_mut(to).zip(src.chunks_exact(from)) {
                let shifted = src[i].wrapping_add(offset);
                for (j, row) in rows.chunks_exact(to).enumerate() {
                    let digit = (gadget.digit(shifted, j as u32 + 1) as u32).wrapping_sub(half);
                    for (s, r) in sum.iter_mut().zip(row) {
                        *s = s.wrapping_sub(r.wrapping_mul(digit));
                    }
                }
            }
        }
        for ((out, sum), src) in
            out.chunks_exact_mut(to).zip(sums.chunks_exact(to)).zip(src.chunks_exact(from))
        {
            for (o, &s) in out.iter_mut().zip(sum) {
                *o = u64::from(s);
            }
            let body = (src[from - 1].wrapping_add(1 << 31) >> 32) as u32;
            out[to - 1] = u64::from(sum[to - 1].wrapping_add(body));
        }
    }

    /// Blind rotation of a group; writes the results of each function to `out`.
    #[inline(always)]
    fn rotate_group<L: Quads>(
        &self,
        l: L,
        src: &[u64],
        tables: &[u64],
        which: &[u32],
        out: &mut [&mut [u64]],
    ) {
        let spec = self.params.spec();
        let (n, components) = (self.params.degree(), spec.glwe_dimension + 1);
        let from = spec.lwe_dimension + 1;
        let mut powers = vec![0; src.len() / from * from];
        let mut accumulators = vec![0u64; which.len() * components * n];
        let product = ExternalProduct::new(&self.transform, spec.bootstrap, components);
        for (i, acc) in accumulators.chunks_exact_mut(components * n).enumerate() {
            let powers = &mut powers[i * from..][..from];
            modulus_switch(&src[i * from..][..from], spec.log_degree + 1, powers);
            let table = &tables[which[i] as usize * n..][..n];
            let body = &mut acc[(components - 1) * n..];
            // X^-b table = (X^(2N - b) table - table) + table.
            rotate_difference(table, (2 * n - powers[from - 1]) % (2 * n), 0, body);
            for (b, t) in body.iter_mut().zip(table) {
                *b = b.wrapping_add(*t);
            }
        }
        match &self.bundles {
            None => self.select(l, &product, &powers, &mut accumulators),
            Some(bundles) => self.select_by_bundles(l, bundles, &product, &powers, &mut accumulators),
        }
        let (to, step) = (self.params.words(), n / out.len());
        for (function, out) in out.iter_mut().enumerate() {
            let accumulators = accumulators.chunks_exact(components * n);
            for (out, acc) in out.chunks_exact_mut(to).zip(accumulators) {
                extract(acc, function * step, n, out);
            }
        }
    }

    /// acc <- acc + GGSW(s_i) x (X^a_i acc - acc) for every i and accumulator.
    #[inline(always)]
    fn select<L: Quads>(
        &self,
        l: L,
        product: &ExternalProduct<'_>,
        powers: &[usize],
        accumulators: &mut [u64],
    ) {
        let (words, size) = self.sizes();
        let (from, mut scratch) = (self.params.spec().lwe_dimension + 1, product.scratch(2));
        let pairs = (accumulators.len() / words).div_ceil(2);
        for (i, ggsw) in self.bootstrap.chunks_exact(size).enumerate() {
            let next = self.bootstrap.chunks_exact(size).nth(i + 1).unwrap_or_default();
            // Two ciphertexts at a time share what is read of the key.
            let mut parts = next.chunks(size.div_ceil(pairs));
            for (acc, powers) in accumulators.chunks_mut(2 * words).zip(powers.chunks(2 * from)) {
                let next = parts.next().unwrap_or_default();
                match (powers[i], powers.get(from + i)) {
                    (first, Some(&second)) => product.cmux(l, ggsw, [first, second], acc, &mut scratch, next),
                    (first, None) => product.cmux(l, ggsw, [first], acc, &mut scratch, next),
                }
            }
        }
    }

    /// acc <- bundle of group i x acc for every i and accumulator; a group's key is read once.
    #[inline(always)]
    fn select_by_bundles<L: Quads>(
        &self,
        l: L,
        bundles: &Bundles,
        product: &ExternalProduct<'_>,
        powers: &[usize],
        accumulators: &mut [u64],
    ) {
        let (words, size) = self.sizes();
        let (n, rows) = (self.params.degree(), size / self.params.degree());
        let (from, count) = (self.params.spec().lwe_dimension + 1, accumulators.len() / words);
        let (group, mut scratch) = (bundles.group(), product.scratch(1));
        let (mut monomials, mut sums) = (vec![0.0; count * group * n], vec![0.0; count * size]);
        for (i, key) in self.bootstrap.chunks_exact(bundles.words(size)).enumerate() {
            for (powers, monomials) in powers.chunks(from).zip(monomials.chunks_exact_mut(group * n)) {
                bundles.monomials(&powers[i * group..][..group], monomials);
            }
            bundles.sum(l, key, rows, &monomials, &mut sums);
            for (acc, sum) in accumulators.chunks_exact_mut(words).zip(sums.chunks_exact(size)) {
                product.replace(l, sum, acc, &mut scratch, &[]);
            }
        }
    }

    /// The words of an accumulator, and the values of a GGSW ciphertext.
    fn sizes(&self) -> (usize, usize) {
        let (n, components) = (self.params.degree(), self.params.spec().glwe_dimension + 1);
        (components * n, components * self.params.rows() * n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::{TfheSecretKey, TfheSpec, presets};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    /// The words of a small ciphertext are arbitrary, so that the digits are, too.
    #[test]
    fn all_instructions_leave_the_same_words() {
        let small = presets::insecure_small().unwrap();
        let shapes = [(5, 1, 3, 1), (6, 1, 1, 1), (6, 3, 2, 1), (9, 2, 5, 1), (10, 1, 6, 1)];
        let multi_bit = [(5, 1, 3, 4), (6, 2, 1, 3), (6, 3, 2, 2), (9, 2, 5, 4), (10, 1, 2, 4)];
        for (seed, (log_degree, glwe_dimension, count, group)) in
            shapes.into_iter().chain(multi_bit).enumerate()
        {
            let spec = TfheSpec { log_degree, glwe_dimension, lwe_dimension: 36, ..*small.spec() };
            let params = TfheParams::insecure(spec).unwrap();
            let mut rng = ChaCha20Rng::seed_from_u64(seed as u64);
            let secret = TfheSecretKey::generate(&params, &mut rng);
            let key = match group {
                1 => BootstrapKey::generate(&secret, &mut rng),
                _ => BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap(),
            };
            let large: Vec<u64> = (0..count * params.words()).map(|_| rng.next_u64()).collect();
            let table: Vec<u64> = (0..2 * params.degree()).map(|_| rng.next_u64()).collect();
            let which: Vec<u32> = (0..count as u32).map(|i| i % 2).collect();
            let words = |cpu: Cpu| {
                let (key, large) = (cpu.lwe_key(&key).unwrap(), cpu.upload(&large).unwrap());
                let table = cpu.upload(&table).unwrap();
                let switched = cpu.key_switch(&key, &large, count).unwrap();
                let rotated = cpu.blind_rotate(&key, &switched, count, &table, &which, 2).unwrap();
                let all = |buf: &CpuBuf| cpu.download(buf, 0..buf.len()).unwrap();
                (all(&switched), all(&rotated))
            };
            let expected = words(Cpu::portable());
            for cpu in Cpu::all() {
                let name = cpu.name();
                assert!(
                    words(cpu) == expected,
                    "{name}: N = 2^{log_degree}, k = {glwe_dimension}, g = {group}"
                );
            }
        }
    }
}
