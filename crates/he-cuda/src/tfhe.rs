//! TFHE: combinations, key switches, blind rotations.

use crate::circuit::CudaCircuitKey;
use crate::cuda::{Cuda, MOST_AHEAD};
use crate::doubles::{digit_zero, value_scale};
use crate::elementwise::at;
use crate::kernels::{BUNDLE_SLOTS, ENTRIES, Entry};
use bytemuck::NoUninit;
use gpu::{Buffer, DeviceInfo};
use he_core::Result;
use he_core::backend::Backend;
use he_core::tfhe::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};
use rayon::prelude::*;

/// A bootstrapping key on a device.
#[derive(Debug)]
pub struct CudaLweKey {
    params: TfheParams,
    /// The GGSW rows in transformed form, `[i][component][row][slot]`, pairs of doubles. A
    /// multi-bit key has `[group][pattern][component][row][slot]`.
    bootstrap: Buffer,
    /// The bits of a group, and the units that are the values of monomials, of a multi-bit key.
    bundles: Option<(usize, Buffer)>,
    /// Words of 32 bits, `[mask word][level][n + 1]`.
    switch: Buffer,
    /// Roots of the transform.
    roots: Buffer,
}

const THREADS: u32 = 256;
/// The polynomials of a block of bundles, each with a thread for every slot of the block: for few
/// ciphertexts, and for many.
const BUNDLE_POLYNOMIALS: [u32; 2] = [4, 8];
/// The least ciphertexts that pay for a copy of all units in the shared memory of each block.
const MANY: usize = 32;
/// The threads of a key switch, each of which has two columns.
const SWITCH_THREADS: u32 = 128;
/// The ciphertexts of its larger tile.
const SWITCH_TILE: u32 = 16;
/// The mask words that it takes at a time.
const SWITCH_WORDS: u32 = 16;
/// The words of the key that are expanded on the host at a time.
const KEY_CHUNK: usize = 1 << 22;
/// The words of scratch memory that blind rotations of any degree use at a time.
const SCRATCH: usize = 1 << 27;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct CombineArgs {
    src: u64,
    dst: u64,
    starts: u64,
    constants: u64,
    terms: u64,
    width: u64,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct SwitchArgs {
    src: u64,
    key: u64,
    dst: u64,
    offset: u64,
    count: u32,
    dimension: u32,
    width: u32,
    levels: u32,
    base_log: u32,
    share: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct KeyArgs {
    src: u64,
    dst: u64,
    roots: u64,
    scale: f64,
    rows: u32,
    components: u32,
    log_n: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct RotateArgs {
    src: u64,
    tables: u64,
    which: u64,
    key: u64,
    roots: u64,
    dst: u64,
    scratch: u64,
    offset: u64,
    zero: f64,
    count: u32,
    n: u32,
    components: u32,
    levels: u32,
    base_log: u32,
    log_n: u32,
    step: u32,
    results: u32,
    group: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct BundleArgs {
    src: u64,
    key: u64,
    units: u64,
    dst: u64,
    count: u32,
    n: u32,
    log_n: u32,
    polynomials: u32,
}

/// A kernel of blind rotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rotation {
    entry: Entry,
    /// The ciphertexts per block.
    group: usize,
    /// The blocks of a cluster, which have one ciphertext.
    ranks: usize,
    /// The ciphertexts on a multiprocessor at a time.
    resident: usize,
    threads: u32,
    /// The words of shared memory per word of a ciphertext's accumulator; 0 for global memory.
    lines: usize,
}

impl Rotation {
    const fn new(entry: Entry, group: usize, resident: usize, threads: u32, lines: usize) -> Self {
        Self { entry, group, ranks: 1, resident, threads, lines }
    }

    /// A ciphertext per cluster of so many blocks.
    const fn cluster(entry: Entry, ranks: usize, threads: u32, lines: usize) -> Self {
        Self { ranks, ..Self::new(entry, 1, 1, threads, lines) }
    }

    /// One ciphertext per block, or several if there is such a kernel, for the parameters of
    /// presets.
    fn tuned(params: &TfheParams) -> (Option<Self>, Option<Self>) {
        let spec = params.spec();
        match (spec.log_degree, spec.glwe_dimension, spec.bootstrap.levels) {
            (9, 3, 1) => (
                Some(Self::new(Entry::TfheRotateOne9, 1, 1, 384, 2)),
                Some(Self::new(Entry::TfheRotateGroup9, 2, 6, 128, 2)),
            ),
            (9, 1, 1) => (Some(Self::new(Entry::TfheRotateOne9K1, 1, 1, 320, 2)), None),
            (10, 2, 1) => (
                Some(Self::new(Entry::TfheRotateOne10, 1, 1, 192, 3)),
                Some(Self::new(Entry::TfheRotateGroup10, 2, 4, 192, 2)),
            ),
            (10, 1, 3) => (Some(Self::new(Entry::TfheRotateOne10K1L3, 1, 1, 128, 7)), None),
            (11, 1, 1) => (Some(Self::new(Entry::TfheRotateOne11, 1, 1, 256, 3)), None),
            (11, 1, 2) => (Some(Self::new(Entry::TfheRotateOne11L2, 1, 1, 256, 5)), None),
            _ => (None, None),
        }
    }

    /// The kernel of rotations by bundles: one ciphertext per cluster, if there are few and this is
    /// faster, or per block.
    fn by_bundles(params: &TfheParams, count: usize, info: &DeviceInfo) -> Self {
        let spec = params.spec();
        let clusters = count <= CLUSTERS && info.compute_capability >= (9, 0);
        let tuned = match (spec.log_degree, spec.glwe_dimension, spec.bootstrap.levels) {
            (9, 3, 1) if clusters => Some(Self::cluster(Entry::TfheRotateCluster9, 4, 64, 2)),
            (10, 2, 1) if clusters => Some(Self::cluster(Entry::TfheRotateCluster10, 3, 128, 2)),
            (9, 3, 1) => Some(Self::new(Entry::TfheRotateBundles9, 1, 1, 256, 2)),
            (10, 2, 1) => Some(Self::new(Entry::TfheRotateBundles10, 1, 1, 192, 2)),
            (11, 1, 1) => Some(Self::new(Entry::TfheRotateBundles11, 1, 1, 256, 2)),
            (11, 1, 2) => Some(Self::new(Entry::TfheRotateBundles11L2, 1, 1, 256, 4)),
            _ => None,
        };
        tuned.filter(|rotation| rotation.fits(info)).unwrap_or(Self::ANY)
    }

    /// Whether a block has enough shared memory.
    fn fits(&self, info: &DeviceInfo) -> bool {
        ENTRIES[self.entry as usize].2 <= info.shared_memory
    }

    /// Any parameters, in global memory.
    const ANY: Self = Self::new(Entry::TfheRotateAny, 1, 1, THREADS, 0);

    /// The bytes of shared memory per block.
    fn shared(self, params: &TfheParams) -> u32 {
        let words = (params.spec().glwe_dimension + 1) * params.degree() * self.lines;
        if self.lines == 0 { 0 } else { (self.group * (8 * words + 2 * params.spec().lwe_dimension)) as u32 }
    }

    /// The words of global memory per block.
    fn scratch(self, params: &TfheParams) -> usize {
        let spec = params.spec();
        let lines = 2 * (spec.glwe_dimension + 1) + params.rows();
        if self.lines > 0 { 0 } else { lines * params.degree() + spec.lwe_dimension.div_ceil(8) * 2 + 2 }
    }

    /// The kernels that a batch runs in sequence, with numbers of ciphertexts: whole waves of
    /// groups, and the rest one by one if that takes few waves.
    fn plan(params: &TfheParams, count: usize, info: &DeviceInfo) -> Vec<(Self, usize)> {
        let (one, group) = Self::tuned(params);
        let fits = |rotation: &Self| rotation.fits(info);
        match (one.filter(fits), group.filter(fits)) {
            (Some(one), Some(group)) => {
                let multiprocessors = info.multiprocessors as usize;
                let rest = count % (group.resident * multiprocessors);
                let few = if rest <= WAVES * multiprocessors { rest } else { 0 };
                vec![(group, count - few), (one, few)]
            }
            (Some(rotation), None) | (None, Some(rotation)) => vec![(rotation, count)],
            (None, None) => vec![(Self::ANY, count)],
        }
    }
}

/// The most ciphertexts that are faster by clusters.
const CLUSTERS: usize = 8;

/// The ciphertexts per multiprocessor that are faster one by one than in a group.
const WAVES: usize = 2;

impl Cuda {
    /// The roots of the transform on the device.
    pub(crate) fn roots(&self, params: &TfheParams) -> Result<Buffer> {
        self.upload_pairs(&params.roots())
    }

    /// Complex numbers on the device.
    fn upload_pairs(&self, values: &[(f64, f64)]) -> Result<Buffer> {
        let words: Vec<u64> = values.iter().flat_map(|w| [w.0.to_bits(), w.1.to_bits()]).collect();
        self.upload(&words)
    }

    /// Transforms keys of as many groups, rows and components as `shape` says, of which `row`
    /// writes a row of a group: `[group][component][row][slot]`.
    pub(crate) fn key_values(
        &self,
        op: &'static str,
        shape: [usize; 3],
        log_n: u32,
        roots: &Buffer,
        row: impl Fn(usize, usize, &mut [u64]) + Sync,
    ) -> Result<Buffer> {
        let ([groups, rows, components], degree) = (shape, 1 << log_n);
        let group = rows * components * degree;
        let values = self.scratch(groups * group)?;
        let chunk = (KEY_CHUNK / group).clamp(1, groups);
        let mut words = vec![0; chunk * group];
        for first in (0..groups).step_by(chunk) {
            self.oversight.check()?;
            let count = chunk.min(groups - first);
            let words = &mut words[..count * group];
            let each = words.par_chunks_mut(components * degree).enumerate();
            each.for_each(|(at, words)| row(first + at / rows, at % rows, words));
            let src = self.upload(words)?;
            let args = KeyArgs {
                src: at(&src, 0),
                dst: at(&values, first * group),
                roots: at(roots, 0),
                scale: value_scale(degree),
                rows: rows as u32,
                components: components as u32,
                log_n,
                unused: 0,
            };
            let (blocks, shared) = (count * rows * components, 8 * degree);
            // SAFETY: a polynomial for each block, as many values as words, and the roots of half
            // the degree.
            unsafe {
                self.launch(op, Entry::TfheKeyValues, [blocks as u32, 1, 1], THREADS, shared as u32, &args)?
            };
        }
        Ok(values)
    }
}

impl CudaLweKey {
    /// The values of the bundles of one ciphertext, in words.
    fn bundle_words(&self) -> usize {
        let (spec, params) = (self.params.spec(), &self.params);
        let size = params.rows() * (spec.glwe_dimension + 1) * params.degree();
        self.bundles.as_ref().map_or(0, |(group, _)| spec.lwe_dimension / group * size)
    }

    /// The kernel of bundles of so many ciphertexts by groups of so many bits, and the polynomials
    /// of its blocks.
    fn bundle_entry(&self, cuda: &Cuda, group: usize, count: usize) -> (Entry, u32) {
        let (spec, polynomials) = (self.params.spec(), self.bundle_polynomials());
        let fits = ENTRIES[Entry::TfheBundle4Many as usize].2 <= cuda.gpu().info().shared_memory;
        let many = count >= MANY && polynomials >= BUNDLE_POLYNOMIALS[1] && spec.log_degree <= 11;
        match group {
            4 if many && fits => (Entry::TfheBundle4Many, BUNDLE_POLYNOMIALS[1]),
            4 => (Entry::TfheBundle4, BUNDLE_POLYNOMIALS[0]),
            3 => (Entry::TfheBundle3, BUNDLE_POLYNOMIALS[0]),
            _ => (Entry::TfheBundle2, BUNDLE_POLYNOMIALS[0]),
        }
    }

    /// The polynomials of a bundle.
    fn bundle_polynomials(&self) -> u32 {
        (self.params.rows() * (self.params.spec().glwe_dimension + 1)) as u32
    }

    /// The bundles of `count` small ciphertexts from word `from` on, by a multi-bit key:
    /// `[group][ciphertext][component][row][slot]`.
    fn bundle(&self, cuda: &Cuda, src: &Buffer, from: usize, count: usize) -> Result<Option<Buffer>> {
        let Some((group, units)) = &self.bundles else { return Ok(None) };
        let (spec, m) = (self.params.spec(), self.params.degree() / 2);
        let dst = cuda.scratch(count * self.bundle_words())?;
        let polynomials = self.bundle_polynomials();
        let args = BundleArgs {
            src: at(src, from),
            key: at(&self.bootstrap, 0),
            units: at(units, 0),
            dst: at(&dst, 0),
            count: count as u32,
            n: spec.lwe_dimension as u32,
            log_n: spec.log_degree,
            polynomials,
        };
        let (entry, each) = self.bundle_entry(cuda, *group, count);
        let blocks = spec.lwe_dimension / group * m.div_ceil(BUNDLE_SLOTS as usize);
        let grid = [blocks as u32, polynomials.div_ceil(each), 1];
        let (threads, shared) = (BUNDLE_SLOTS * each, ENTRIES[entry as usize].2);
        // SAFETY: the caller checked the source; the key is of these parameters and groups, and the
        // destination has a value for each thread and ciphertext.
        unsafe { cuda.launch("blind_rotate", entry, grid, threads, shared, &args)? };
        Ok(Some(dst))
    }
}

impl LweOps for Cuda {
    type LweKey = CudaLweKey;
    type CircuitKey = CudaCircuitKey;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<CudaLweKey> {
        const OP: &str = "lwe_key";
        let params = key.params().clone();
        let spec = *params.spec();
        let (rows, components) = (params.rows(), spec.glwe_dimension + 1);
        let roots = self.roots(&params)?;
        let shape = [params.key_ggsws(key.group()), rows, components];
        let row = |i: usize, row: usize, words: &mut [u64]| key.bootstrap_row(i * rows + row, words);
        let bootstrap = self.key_values(OP, shape, spec.log_degree, &roots, row)?;

        let width = spec.lwe_dimension + 1;
        let mut words =
            vec![0u32; (params.dimension() * spec.switch.levels as usize * width).next_multiple_of(2)];
        words.par_chunks_exact_mut(width).enumerate().for_each(|(index, row)| key.switch_row(index, row));
        let words: Vec<u64> = words
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[low, high]| u64::from(*low) | u64::from(*high) << 32)
            .collect();
        let switch = self.upload(&words)?;
        let bundles = match key.group() {
            1 => None,
            group => Some((group, self.upload_pairs(&params.units())?)),
        };
        Ok(CudaLweKey { params, bootstrap, bundles, switch, roots })
    }

    fn lwe_combine(&self, params: &TfheParams, src: &Buffer, combinations: &[Combination]) -> Result<Buffer> {
        const OP: &str = "lwe_combine";
        let (count, width) = (combinations.len(), params.words());
        let greatest = combinations.iter().flat_map(|c| &c.terms).map(|term| term.1).max();
        assert!(greatest.is_none_or(|index| index < src.words() / width), "{OP}: an index beyond the source");
        // Starts, constants and terms go in one copy.
        let terms: usize = combinations.iter().map(|c| c.terms.len()).sum();
        let mut list = Vec::with_capacity(2 * count + 1 + 2 * terms);
        list.push(0);
        let mut end = 0;
        list.extend(combinations.iter().map(|c| {
            end += c.terms.len() as u64;
            end
        }));
        list.extend(combinations.iter().map(|c| c.constant));
        list.extend(combinations.iter().flat_map(|c| &c.terms).flat_map(|t| [t.0 as u64, t.1 as u64]));
        let list = self.upload(&list)?;
        let dst = self.scratch(count * width)?;
        let args = CombineArgs {
            src: at(src, 0),
            dst: at(&dst, 0),
            starts: at(&list, 0),
            constants: at(&list, count + 1),
            terms: at(&list, 2 * count + 1),
            width: width as u64,
        };
        // SAFETY: the list's indices lie within the source, as just checked, and there is a result
        // for each block.
        unsafe { self.launch(OP, Entry::TfheCombine, [count as u32, 1, 1], THREADS, 0, &args)? };
        Ok(dst)
    }

    fn key_switch(&self, key: &CudaLweKey, src: &Buffer, count: usize) -> Result<Buffer> {
        const OP: &str = "key_switch";
        let spec = key.params.spec();
        let (dimension, width) = (key.params.dimension(), spec.lwe_dimension + 1);
        assert!(count * key.params.words() <= src.words(), "{OP}: the source is too small");
        let dst = self.zeros(count * width)?;
        let (entry, tile) =
            if count < 4 { (Entry::TfheKeySwitchOne, 1) } else { (Entry::TfheKeySwitchMany, SWITCH_TILE) };
        let (tiles, columns) =
            (count.div_ceil(tile as usize) as u32, (width as u32).div_ceil(2 * SWITCH_THREADS));
        // Mask words are distributed over blocks until every multiprocessor has several.
        let wanted = (8 * self.gpu().info().multiprocessors).div_ceil((tiles * columns).max(1));
        let share = (dimension as u32).div_ceil(wanted).next_multiple_of(SWITCH_WORDS);
        let args = SwitchArgs {
            src: at(src, 0),
            key: at(&key.switch, 0),
            dst: at(&dst, 0),
            offset: spec.switch.offset(),
            count: count as u32,
            dimension: dimension as u32,
            width: width as u32,
            levels: spec.switch.levels,
            base_log: spec.switch.base_log,
            share,
        };
        let grid = [tiles, columns, (dimension as u32).div_ceil(share)];
        let shared = 4 * SWITCH_WORDS * spec.switch.levels * tile;
        // SAFETY: the source holds `count` ciphertexts, the key is of these parameters, the
        // destination has `width` words each.
        unsafe { self.launch(OP, entry, grid, SWITCH_THREADS, shared, &args)? };
        Ok(dst)
    }

    fn blind_rotate(
        &self,
        key: &CudaLweKey,
        src: &Buffer,
        count: usize,
        tables: &Buffer,
        which: &[u32],
        functions: usize,
    ) -> Result<Buffer> {
        const OP: &str = "blind_rotate";
        let spec = key.params.spec();
        let (degree, width) = (key.params.degree(), spec.lwe_dimension + 1);
        assert!(count * width <= src.words() && count <= which.len(), "{OP}: the source is too small");
        let which: Vec<u64> = which[..count].iter().map(|&table| u64::from(table)).collect();
        assert!(which.iter().all(|&table| (table as usize) < tables.words() / degree), "{OP}: no such table");
        let which = self.upload(&which)?;
        assert!(functions.is_power_of_two() && functions <= degree, "{OP}: no such number of functions");
        let results = count;
        let dst = self.scratch(functions * results * key.params.words())?;
        let mut done = 0;
        let (info, group) = (self.gpu().info(), key.bundles.as_ref().map_or(1, |(group, _)| *group));
        let plan = match group {
            1 => Rotation::plan(&key.params, count, info),
            _ => vec![(Rotation::by_bundles(&key.params, count, info), count)],
        };
        for (rotation, count) in plan {
            let words = rotation.scratch(&key.params);
            let multiprocessors = self.gpu().info().multiprocessors as usize;
            // Bundles of as many ciphertexts as keep every multiprocessor busy, at least.
            let least = if group == 1 { 1 } else { rotation.group * multiprocessors };
            let most =
                SCRATCH.checked_div(words + key.bundle_words()).map_or(usize::MAX, |most| most.max(least));
            // Whole waves, if the work is overseen.
            let wave = rotation.group * rotation.resident * multiprocessors;
            let piece = MOST_AHEAD.next_multiple_of(wave.max(1));
            let most = if self.oversight.exists() { most.min(piece) } else { most };
            let scratch = self.scratch(words * count.min(most))?;
            let end = done + count;
            while done < end {
                let count = (end - done).min(most);
                let bundles = key.bundle(self, src, done * width, count)?;
                let args = RotateArgs {
                    src: at(src, done * width),
                    tables: at(tables, 0),
                    which: at(&which, done),
                    key: at(bundles.as_ref().unwrap_or(&key.bootstrap), 0),
                    roots: at(&key.roots, 0),
                    dst: at(&dst, done * key.params.words()),
                    scratch: at(&scratch, 0),
                    offset: spec.bootstrap.offset(),
                    zero: digit_zero(spec.bootstrap),
                    count: count as u32,
                    n: spec.lwe_dimension as u32,
                    components: spec.glwe_dimension as u32 + 1,
                    levels: spec.bootstrap.levels,
                    base_log: spec.bootstrap.base_log,
                    log_n: spec.log_degree,
                    step: (degree / functions) as u32,
                    results: results as u32,
                    group: group as u32,
                    unused: 0,
                };
                let grid = [(count.div_ceil(rotation.group) * rotation.ranks) as u32, 1, 1];
                let shared = rotation.shared(&key.params);
                // SAFETY: the source holds `count` ciphertexts from `done` on, tables are there, as
                // just checked, the key is of these parameters, the destination has as many
                // ciphertexts for each function, and the scratch memory is a part for each block.
                unsafe { self.launch(OP, rotation.entry, grid, rotation.threads, shared, &args)? };
                done += count;
                self.asked_for(OP, count)?;
                self.oversight.looked_up(count);
            }
        }
        Ok(dst)
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<CudaCircuitKey> {
        CudaCircuitKey::new(self, key)
    }

    fn lookup_bits(
        &self,
        key: &CudaCircuitKey,
        src: &Buffer,
        bits: usize,
        count: usize,
        tables: &Buffer,
        outputs: usize,
    ) -> Result<Buffer> {
        key.lookup(self, src, bits, count, tables, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::tfhe::presets;
    use std::mem::{offset_of, size_of};

    /// The sizes in kernels/tfhe.cu and kernels/include/tfhe.cuh.
    #[test]
    fn arguments_are_laid_out_as_in_the_kernels() {
        assert_eq!(size_of::<CombineArgs>(), 48);
        assert_eq!([offset_of!(SwitchArgs, count), size_of::<SwitchArgs>()], [32, 56]);
        assert_eq!([offset_of!(KeyArgs, rows), size_of::<KeyArgs>()], [32, 48]);
        let offsets =
            [offset_of!(RotateArgs, offset), offset_of!(RotateArgs, zero), offset_of!(RotateArgs, count)];
        assert_eq!(offsets, [56, 64, 72]);
        let offsets = [offset_of!(RotateArgs, step), offset_of!(RotateArgs, group), size_of::<RotateArgs>()];
        assert_eq!(offsets, [96, 104, 112]);
        assert_eq!([offset_of!(BundleArgs, count), size_of::<BundleArgs>()], [32, 48]);
    }

    #[test]
    fn plans_cover_a_batch_and_fit_the_device() {
        let info = |shared_memory| DeviceInfo {
            ordinal: 0,
            name: String::new(),
            memory: 0,
            compute_capability: (9, 0),
            driver: (12, 1),
            multiprocessors: 132,
            shared_memory,
        };
        let all = [
            presets::gates_2m128(),
            presets::gates_2m40(),
            presets::digits_2m128(),
            presets::digits_2m40(),
            presets::phases_2m128(),
            presets::insecure_lambda100(),
            presets::insecure_small(),
        ];
        for params in all.map(Result::unwrap) {
            for count in [0, 1, 132, 264, 265, 792, 1000, 10_000] {
                for shared in [227 << 10, 64 << 10, 16 << 10] {
                    let plan = Rotation::plan(&params, count, &info(shared));
                    assert_eq!(plan.iter().map(|part| part.1).sum::<usize>(), count);
                    for (rotation, _) in plan {
                        assert!(rotation.shared(&params) <= ENTRIES[rotation.entry as usize].2);
                        assert!(ENTRIES[rotation.entry as usize].2 <= shared);
                        assert_eq!(rotation.scratch(&params) > 0, rotation == Rotation::ANY);
                    }
                }
                assert!(
                    Rotation::plan(&params, count, &info(227 << 10)).iter().all(|p| p.0 != Rotation::ANY)
                );
            }
        }
        let gates = presets::gates_2m128().unwrap();
        let counts =
            |count| Rotation::plan(&gates, count, &info(227 << 10)).iter().map(|p| p.1).collect::<Vec<_>>();
        assert_eq!(
            [counts(100), counts(792), counts(1000), counts(1200)],
            [[0, 100], [792, 0], [792, 208], [1200, 0]]
        );
    }
}
