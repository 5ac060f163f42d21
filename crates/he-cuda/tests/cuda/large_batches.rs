//! Enough rows for the kernels that fill a device; with fewer, transforms use others (`is_fine` in
//! `src/ntt.rs`).

use super::devices::{FEW, emulated, emulated_small, gpu_or_skip, in_other_orders, sized};
use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, KeySwitchOps, KeySwitchShape, PolyOps};
use he_core::conformance::Mirror;
use he_core::ring::{Operand, RingSpec, Rows, Seed, Span};
use he_core::{Error, Result};
use he_cuda::{Arithmetic, Cuda};

/// A ring, digits of key switching and a batch.
#[derive(Clone, Copy, Debug)]
struct Case {
    log_n: u32,
    /// Widths of the chain's primes and of the special ones.
    q: &'static [u32],
    p: &'static [u32],
    /// Primes of a digit.
    alpha: usize,
    batch: usize,
}

/// The batch from which the smallest transform, of only the special primes, uses large tiles: on a
/// device of 132 multiprocessors from 32 tiles of degree 2^12, and from 700 of others.
const fn large_batch(log_n: u32, p: usize, multiprocessors: u32) -> usize {
    let tiles: usize = if log_n == 12 { 40 } else { 704 };
    (tiles * multiprocessors as usize).div_ceil((132 * p) << (log_n - 12))
}

impl Case {
    /// Primes below 2^50; one digit of two primes, one of one: conversions are fused into
    /// transforms.
    const fn narrow(log_n: u32, multiprocessors: u32) -> Self {
        Self {
            log_n,
            q: &[50, 40, 45],
            p: &[50, 49],
            alpha: 2,
            batch: large_batch(log_n, 2, multiprocessors),
        }
    }

    /// Primes of all widths; one digit of five primes, which are converted by a kernel of its own.
    const fn mixed(log_n: u32, multiprocessors: u32) -> Self {
        let (q, p): (&[u32], &[u32]) = (&[60, 40, 61, 45, 50, 36], &[61, 60, 49, 50]);
        Self { log_n, q, p, alpha: 5, batch: large_batch(log_n, 4, multiprocessors) }
    }

    /// Primes below 2^50, digits of `alpha` of them: conversions are products of bytes.
    const fn short(log_n: u32, alpha: usize, p: &'static [u32], batch: usize) -> Self {
        let q = &[50, 49, 36, 45, 50, 30, 50, 48, 50, 50, 44, 50, 50, 41];
        Self { log_n, q, p, alpha, batch }
    }

    fn spec(&self) -> Result<RingSpec> {
        let mut known = Vec::new();
        for &bits in self.q.iter().chain(self.p) {
            known.push(ntt_primes_below(bits, self.log_n, 1, &known)?[0]);
        }
        let p = known.split_off(self.q.len());
        Ok(RingSpec::new(self.log_n, known, p)?)
    }

    fn shape(&self) -> KeySwitchShape {
        let (q, p) = (self.q.len(), self.p.len());
        let digits = (0..q).step_by(self.alpha).map(|start| start..q.min(start + self.alpha)).collect();
        KeySwitchShape { digits, q, key_q: q, p, batch: self.batch }
    }
}

/// A polynomial whose digits are sums of the largest numbers: each residue is -D / d_i, which times
/// (D / d_i)^-1 is d_i - 1.
fn largest<B: Backend>(backend: &B, ring: &B::Ring, case: &Case) -> Result<B::Buf>
where
    B::Ring: PolyOps<Buf = B::Buf>,
{
    let (spec, shape, n) = (case.spec()?, case.shape(), 1usize << case.log_n);
    let residue = |digit: &std::ops::Range<usize>, i: usize| {
        let q = u128::from(spec.q()[i]);
        let others = digit.clone().filter(|&j| j != i);
        let hat = others.fold(1, |product, j| product * u128::from(spec.q()[j]) % q);
        (q - hat) as u64
    };
    let residues = shape.digits.iter().flat_map(|digit| digit.clone().map(|i| residue(digit, i)));
    let words: Vec<u64> = residues.flat_map(|x| std::iter::repeat_n(x, shape.batch * n)).collect();
    let mut buf = backend.upload(&words)?;
    ring.ntt(Rows::new(Span::chain(shape.q), shape.batch), &mut buf)?;
    Ok(buf)
}

/// Every fused operation runs on the CPU and on the device, and the mirror compares each result.
fn check(cuda: &Cuda, case: &Case, seed: &Seed) -> Result<()> {
    let mirror = Mirror::new(Cpu::new(), cuda.clone());
    let ring = &mirror.prepare(&case.spec()?)?;
    let (shape, n) = (&case.shape(), 1usize << case.log_n);
    let (chain, all) = (Rows::new(Span::chain(shape.q), shape.batch), Rows::new(shape.span(), shape.batch));
    let uniform = |rows: Rows, index| {
        let mut buf = mirror.zeros(rows.count() * n)?;
        ring.sample_uniform(rows, seed, index, &mut buf)?;
        Ok::<_, Error>(buf)
    };
    // Any words below the primes will do for a key.
    let one = Rows::new(shape.span(), 1);
    let mut key = ring.empty_key(&shape.key())?;
    for i in 0..2 * shape.digits.len() {
        let part = uniform(one, 100 + i as u32)?;
        ring.write_key(&shape.key(), key.as_mut(), i / 2, i % 2, &part)?;
    }

    let mut a = uniform(all, 0)?;
    ring.ntt(all, &mut a)?;
    ring.intt(all, &mut a)?;
    ring.mod_down(shape.span(), shape.q, shape.batch, a)?;
    ring.mod_down(shape.span(), 1, shape.batch, uniform(all, 1)?)?;
    let d = [uniform(chain, 2)?, uniform(chain, 3)?, uniform(chain, 4)?];
    ring.mod_down(Span::chain(shape.q), shape.q - 1, shape.batch, uniform(chain, 5)?)?;
    for keep in [shape.q, shape.q - 1] {
        ring.relinearize(shape, [&d[0], &d[1], &d[2]], key.as_ref(), keep)?;
    }
    let [x, y, z] = d.each_ref().map(|d| Operand::new(d, shape.batch));
    ring.multiply_relinearize(shape, [x, y], [y, z], key.as_ref(), shape.q - 1)?;
    ring.decompose(shape, &largest(&mirror, ring, case)?)?;
    let digits = ring.decompose(shape, &d[1])?;
    for g in [5, 2 * n as u64 - 1] {
        ring.switch_automorphism(shape, &d[0], digits.as_ref(), key.as_ref(), g)?;
    }
    mirror.synchronize()
}

fn check_all(cuda: &Cuda, cases: &[Case]) {
    let seed = Seed::random(&mut he_core::rand::rng());
    for case in cases {
        check(cuda, case, &seed).unwrap_or_else(|error| panic!("{error}; {case:?}, {:?}", seed.0));
    }
}

macro_rules! emulated {
    ($($name:ident($device:expr): $($case:expr),+;)+) => {
        $(#[test]
        fn $name() {
            check_all(&$device, &[$($case),+]);
        })+
    };
}

emulated! {
    emulated_12(emulated_small(Arithmetic::Float)): Case::narrow(12, FEW), Case::mixed(12, FEW);
    emulated_12_in_integers(emulated_small(Arithmetic::Integer)): Case::narrow(12, FEW);
    emulated_13(emulated_small(Arithmetic::Float)): Case::narrow(13, FEW), Case::mixed(13, FEW);
    emulated_14(emulated_small(Arithmetic::Float)): Case::narrow(14, FEW), Case::mixed(14, FEW);
    emulated_bytes(emulated(Arithmetic::Float)):
        Case::short(14, 13, &[50, 49], 1), Case::short(14, 9, &[50, 49], 1),
        Case::short(14, 5, &[50; 4], sized(1, 2) as usize);
}

/// Transforms of more words than the cache of a device of so few multiprocessors holds, whose first
/// kernel reads whole lines; also modulo a wide prime.
#[test]
fn emulated_16_from_memory() {
    let check = |cuda: Cuda, seed: &Seed| -> Result<()> {
        let mut q = ntt_primes_below(50, 16, 1, &[])?;
        q.extend(ntt_primes_below(60, 16, 1, &q)?);
        let rows = Rows::new(Span::chain(q.len()), FEW as usize / 2);
        let mirror = Mirror::new(Cpu::new(), cuda);
        let ring = mirror.prepare(&RingSpec::new(16, q, vec![])?)?;
        let mut a = mirror.zeros(rows.count() << 16)?;
        ring.sample_uniform(rows, seed, 0, &mut a)?;
        ring.ntt(rows, &mut a)?;
        ring.intt(rows, &mut a)?;
        // The coefficients of ones are zeros but for the first, which random ones hardly ever are.
        let mut ones = mirror.upload(&vec![1; rows.count() << 16])?;
        ring.intt(rows, &mut ones)?;
        ring.ntt(rows, &mut ones)?;
        mirror.synchronize()
    };
    let seed = Seed::random(&mut he_core::rand::rng());
    for cuda in std::iter::once(emulated_small(Arithmetic::Float)).chain(in_other_orders()) {
        check(cuda, &seed).unwrap_or_else(|error| panic!("{error}; {:?}", seed.0));
    }
}

#[test]
fn device_of_many_rows() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Auto) {
        let all = cuda.gpu().info().multiprocessors;
        let cases = (12..=16).flat_map(|log_n| [Case::narrow(log_n, all), Case::mixed(log_n, all)]);
        check_all(&cuda, &cases.collect::<Vec<_>>());
        let bytes = (14..=16).flat_map(|log_n| {
            [(13, 2, 1), (10, 3, 3), (9, 7, 2), (8, 8, 2), (5, 4, 1), (3, 3, 1), (1, 1, 5)].map(
                |(alpha, p, batch)| Case::short(log_n, alpha, &[50, 49, 50, 50, 48, 50, 50, 50][..p], batch),
            )
        });
        check_all(&cuda, &bytes.collect::<Vec<_>>());
    }
}

#[test]
fn device_of_many_rows_in_integers() {
    if let Some(cuda) = gpu_or_skip(Arithmetic::Integer) {
        let all = cuda.gpu().info().multiprocessors;
        check_all(&cuda, &[Case::narrow(12, all), Case::mixed(13, all), Case::narrow(14, all)]);
    }
}
