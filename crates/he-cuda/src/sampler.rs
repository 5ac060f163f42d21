//! Random polynomials from a seed.

use crate::constants::Limbs;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use gpu::Buffer;
use he_core::Result;
use he_core::ring::{Rows, Seed};

#[repr(C)]
#[derive(Clone, Copy)]
struct Args {
    limbs: Limbs,
    primes: u64,
    dst: u64,
    log_n: u32,
    kind: u32,
    index: u32,
    limb_count: u32,
    seed: [u32; 8],
}

/// The distribution; the numbers are those of the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    Uniform = 1,
    Ternary = 2,
    Error = 3,
}

const THREADS: u32 = 128;

/// The key of a seed's streams.
pub(crate) fn seed_words(seed: &Seed) -> [u32; 8] {
    let mut key = [0; 8];
    for (word, bytes) in key.iter_mut().zip(seed.0.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    key
}

impl CudaRing {
    pub(crate) fn sample(
        &self,
        op: &'static str,
        rows: Rows,
        distribution: Distribution,
        seed: &Seed,
        index: u32,
        dst: &mut Buffer,
    ) -> Result<()> {
        let words = rows.batch * self.n();
        assert!(rows.at + rows.count() * self.n() <= dst.words(), "{op}: the destination is too small");
        let limbs = rows.span.limbs() as u32;
        let args = Args {
            limbs: self.limbs(rows),
            primes: self.primes(),
            dst: at(dst, rows.at),
            log_n: self.log_n(),
            kind: distribution as u32,
            index,
            limb_count: limbs,
            seed: seed_words(seed),
        };
        let (entry, each, y) = match distribution {
            Distribution::Uniform => (Entry::SampleUniform, 4, limbs),
            // A block of the stream serves all limbs, so it is spread over more threads only if
            // there are few.
            _ => (Entry::SampleSmall, 8, if words < 1 << 17 { limbs.min(4) } else { 1 }),
        };
        let blocks = words.div_ceil(each * THREADS as usize) as u32;
        // SAFETY: the destination is live and holds the rows, as just checked.
        unsafe { self.cuda.launch_apart(op, entry, [blocks, y, 1], THREADS, 0, &args) }
    }
}
