//! TFHE: circuit bootstrapping, and lookups of bits.

use crate::cuda::Cuda;
use crate::doubles::{digit_zero, value_scale};
use crate::elementwise::at;
use crate::kernels::{ENTRIES, Entry};
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::Backend;
use he_core::tfhe::{CircuitKey, CircuitParams};

/// A key of circuit bootstrapping on a device.
#[derive(Debug)]
pub struct CudaCircuitKey {
    params: CircuitParams,
    /// The rows in transformed form, `[log2 N automorphisms, then k
    /// products][component][row][slot]`, pairs of doubles.
    rows: Buffer,
    /// Roots of the transform.
    roots: Buffer,
}

const THREADS: u32 = 512;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct GgswArgs {
    src: u64,
    key: u64,
    roots: u64,
    dst: u64,
    scratch: u64,
    offset: u64,
    zero: f64,
    scale: f64,
    samples: u32,
    components: u32,
    levels: u32,
    base_log: u32,
    log_n: u32,
    digits: u32,
    digit_log: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct SelectArgs {
    ggsw: u64,
    tables: u64,
    roots: u64,
    dst: u64,
    scratch: u64,
    offset: u64,
    zero: f64,
    bits: u32,
    outputs: u32,
    components: u32,
    levels: u32,
    base_log: u32,
    log_n: u32,
}

/// The threads of the kernels for presets.
const TUNED_THREADS: u32 = 256;

/// Kernels of circuit bootstrapping: for GGSW ciphertexts, and for selections.
#[derive(Clone, Copy)]
struct Kernels {
    ggsw: Entry,
    select: Entry,
    threads: u32,
    /// Whether the digits of a selection are blocks of their own.
    by_digits: bool,
}

impl Kernels {
    /// Any parameters.
    const ANY: Self = Self {
        ggsw: Entry::TfheCircuitGgsw,
        select: Entry::TfheCircuitSelect,
        threads: THREADS,
        by_digits: false,
    };

    /// Kernels for [`phases_2m128`](he_core::tfhe::presets::phases_2m128) and the default
    /// decompositions.
    const TUNED: Self = Self {
        ggsw: Entry::TfheCircuitGgsw11,
        select: Entry::TfheCircuitSelect11,
        threads: TUNED_THREADS,
        by_digits: true,
    };

    fn of(params: &CircuitParams, shared_memory: u32) -> Self {
        let (spec, circuit) = (params.tfhe().spec(), params.spec());
        let shape = (spec.log_degree, spec.glwe_dimension, circuit.switch.levels, circuit.select.levels);
        let fits = ENTRIES[Self::TUNED.ggsw as usize].2 <= shared_memory;
        if shape == (11, 1, 4, 2) && fits { Self::TUNED } else { Self::ANY }
    }
}

/// The working memory of blocks: shared, if it is enough, and otherwise global.
struct Work {
    shared: u32,
    scratch: Option<Buffer>,
}

impl Work {
    fn new(cuda: &Cuda, entry: Entry, words: usize, blocks: usize) -> Result<Self> {
        let most = ENTRIES[entry as usize].2.min(cuda.gpu().info().shared_memory) as usize;
        Ok(if 8 * words <= most {
            Self { shared: 8 * words as u32, scratch: None }
        } else {
            Self { shared: 0, scratch: Some(cuda.scratch(words * blocks)?) }
        })
    }

    fn address(&self) -> u64 {
        self.scratch.as_ref().map_or(0, |scratch| at(scratch, 0))
    }
}

impl CudaCircuitKey {
    pub(crate) fn new(cuda: &Cuda, key: &CircuitKey) -> Result<Self> {
        let params = key.params().clone();
        let spec = params.tfhe().spec();
        let (k, levels) = (spec.glwe_dimension, params.spec().switch.levels as usize);
        let images = spec.log_degree as usize;
        // Polynomial s of a group: of an automorphism, or of the products by polynomial r.
        let polynomial = |group: usize, s: usize| match group.checked_sub(images) {
            None => group * k + s,
            Some(r) => images * k + CircuitKey::pair(r, s),
        };
        let roots = cuda.roots(params.tfhe())?;
        let shape = [images + k, k * levels, k + 1];
        let row = |group: usize, row: usize, words: &mut [u64]| {
            key.row(polynomial(group, row / levels) * levels + row % levels, words);
        };
        let rows = cuda.key_values("circuit_key", shape, spec.log_degree, &roots, row)?;
        Ok(Self { params, rows, roots })
    }

    /// The results of all indices, see [`LweOps::lookup_bits`](he_core::tfhe::LweOps::lookup_bits).
    pub(crate) fn lookup(
        &self,
        cuda: &Cuda,
        src: &Buffer,
        bits: usize,
        count: usize,
        tables: &Buffer,
        outputs: usize,
    ) -> Result<Buffer> {
        const OP: &str = "lookup_bits";
        let (tfhe, select, switch) =
            (self.params.tfhe(), self.params.spec().select, self.params.spec().switch);
        let (n, components, samples) = (tfhe.degree(), tfhe.spec().glwe_dimension + 1, count * bits);
        let used = outputs.div_ceil(n >> bits);
        assert!(samples * select.levels as usize * tfhe.words() <= src.words(), "{OP}: a short source");
        assert!(used * n <= tables.words(), "{OP}: too few tables");
        let words = |rows: usize| (2 * components + rows) * n;

        let ggsw = cuda.scratch(samples * self.params.rows() * components * n)?;
        let kernels = Kernels::of(&self.params, cuda.gpu().info().shared_memory);
        let entry = kernels.ggsw;
        let work = Work::new(cuda, entry, words((components - 1) * switch.levels as usize), samples)?;
        let args = GgswArgs {
            src: at(src, 0),
            key: at(&self.rows, 0),
            roots: at(&self.roots, 0),
            dst: at(&ggsw, 0),
            scratch: work.address(),
            offset: switch.offset(),
            zero: digit_zero(switch),
            scale: value_scale(n),
            samples: samples as u32,
            components: components as u32,
            levels: switch.levels,
            base_log: switch.base_log,
            log_n: tfhe.spec().log_degree,
            digits: select.levels,
            digit_log: select.base_log,
            unused: 0,
        };
        let digits = if kernels.by_digits { select.levels } else { 1 };
        // SAFETY: the source holds as many digits of all samples, as just checked, the key is of
        // these parameters, and there are a GGSW ciphertext for each sample and working memory for
        // each block.
        unsafe { cuda.launch(OP, entry, [samples as u32, digits, 1], kernels.threads, work.shared, &args)? };

        let dst = cuda.scratch(count * outputs * tfhe.words())?;
        let entry = kernels.select;
        let work = Work::new(cuda, entry, words(self.params.rows()), count * used)?;
        let args = SelectArgs {
            ggsw: at(&ggsw, 0),
            tables: at(tables, 0),
            roots: at(&self.roots, 0),
            dst: at(&dst, 0),
            scratch: work.address(),
            offset: select.offset(),
            zero: digit_zero(select),
            bits: bits as u32,
            outputs: outputs as u32,
            components: components as u32,
            levels: select.levels,
            base_log: select.base_log,
            log_n: tfhe.spec().log_degree,
        };
        // SAFETY: the GGSW ciphertexts of all indices are there, as are the tables, as just
        // checked, the results of each index, and working memory for each block.
        unsafe {
            cuda.launch(OP, entry, [count as u32, used as u32, 1], kernels.threads, work.shared, &args)?
        };
        cuda.asked_for(OP, samples)?;
        Ok(dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The offsets in kernels/tfhe_circuit.cu.
    #[test]
    fn arguments_are_laid_out_as_in_the_kernels() {
        let offsets = [offset_of!(GgswArgs, offset), offset_of!(GgswArgs, samples), size_of::<GgswArgs>()];
        assert_eq!(offsets, [40, 64, 96]);
        let offsets = [offset_of!(SelectArgs, offset), offset_of!(SelectArgs, bits), size_of::<SelectArgs>()];
        assert_eq!(offsets, [40, 56, 80]);
    }
}
