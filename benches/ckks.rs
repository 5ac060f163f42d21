//! Measures every RNS-CKKS operation at the chains of the peers, on the CPU and, if there is one,
//! on a GPU: one group per operation, ids `operation/backend/n=.../limbs=q+p/batch=...`. Then the
//! transfers between host and GPU.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench ckks` for one thread of the CPU; `-- mul-relin-rescale`
//! for one operation, `-- /cuda/` for one back end, `-- n=16384/` for one chain.
#![allow(missing_docs)]

#[path = "common/chains.rs"]
mod chains;
mod common;
#[path = "common/timing.rs"]
mod timing;

use chains::peer_chains;
use common::{Chain, Setup};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::Result;
use he::backend::{Cpu, RingOps};
use he::ckks::{Ciphertext, Complex64, Decryptor, Encryptor, Evaluator, Plaintext, Product};
use he::ring::{Poly, Span, galois_rotation};
use he::rlwe::{EvaluationKeys, RlweCiphertext};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::cell::LazyCell;
use std::time::Duration;
use timing::time;

/// The mean of 3 x 3 pixels of a picture with rows of 64: steps and weights.
fn blur() -> Vec<(i64, f64)> {
    [-64, 0, 64].iter().flat_map(|row| [-1, 0, 1].map(|column| (row + column, 1.0 / 9.0))).collect()
}

/// A device by its name in the ids.
struct Device<'a, B> {
    name: &'static str,
    backend: &'a B,
}

impl<B: RingOps> Device<'_, B> {
    /// Parameters, keys (those of the blur too) and inputs for one chain.
    fn setup(&self, chain: &Chain) -> Setup<B> {
        let mut setup = Setup::new(self.backend.clone(), chain);
        let elements = blur().into_iter().map(|(step, _)| galois_rotation(step, chain.log_n));
        let mut rng = ChaCha20Rng::seed_from_u64(2025);
        setup.keys.add_galois(&setup.secret, elements, &mut rng).expect("a device");
        setup
    }

    /// One id: times `call` by itself, so that whatever it borrows is made only if the id is
    /// selected.
    fn measure<T>(
        &self,
        c: &mut Criterion,
        operation: &str,
        shape: &str,
        throughput: Throughput,
        mut call: impl FnMut() -> Result<T>,
    ) {
        let mut group = c.benchmark_group(operation);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2))
            .throughput(throughput);
        group.bench_function(BenchmarkId::new(self.name, shape), |bench| {
            bench.iter_custom(|iters| time(self.backend, iters, &mut call));
        });
        group.finish();
    }
}

/// The end of the ids of a chain and a batch.
fn shape(chain: &Chain, batch: usize) -> String {
    format!("n={}/limbs={}+{}/batch={batch}", 1 << chain.log_n, chain.q_bits.len(), chain.p_bits.len())
}

/// The inputs of the operations, `batch` of each side by side.
struct Inputs<'a, B: RingOps> {
    ev: &'a Evaluator<B>,
    keys: &'a EvaluationKeys<B>,
    encryptor: Encryptor<'a, B>,
    decryptor: Decryptor<B>,
    vectors: Vec<&'a [Complex64]>,
    plaintext: Plaintext<B>,
    a: Ciphertext<B>,
    b: Ciphertext<B>,
    product: Product<B>,
}

impl<'a, B: RingOps> Inputs<'a, B> {
    fn new(setup: &'a Setup<B>, batch: usize) -> Self {
        let ev = &setup.evaluator;
        let vectors = vec![setup.values.as_slice(); batch];
        let plaintext = ev.encoder().encode_batch(&vectors, setup.params().encoding());
        let [a, b] = setup.ciphertexts.each_ref().map(|ct| Ciphertext::concat(&vec![ct; batch]));
        let (a, b) = (a.expect("same level"), b.expect("same level"));
        Self {
            ev,
            keys: &setup.keys,
            encryptor: Encryptor::new(setup.params(), &setup.public).expect("same parameters"),
            decryptor: setup.decryptor(),
            vectors,
            plaintext: plaintext.expect("small values"),
            product: ev.tensor(&a, &b).expect("same ring"),
            a,
            b,
        }
    }
}

fn operations<B: RingOps>(c: &mut Criterion, device: &Device<'_, B>, chain: &Chain, batches: &[usize]) {
    let setup = LazyCell::new(|| device.setup(chain));
    for &batch in batches {
        let x = LazyCell::new(|| Inputs::new(&setup, batch));
        let (shape, elements) = (shape(chain, batch), Throughput::Elements(batch as u64));
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let blur = blur();
        macro_rules! measure {
            ($operation:literal, $call:expr) => {
                device.measure(c, $operation, &shape, elements.clone(), || $call)
            };
        }
        measure!("encode", x.ev.encoder().encode_batch(&x.vectors, x.ev.params().encoding()));
        measure!("decode", x.ev.encoder().decode(&x.plaintext));
        measure!("encrypt", x.encryptor.encrypt(&x.plaintext, &mut rng));
        measure!("decrypt", x.decryptor.decrypt(&x.a));
        measure!("add", x.ev.add(&x.a, &x.b));
        measure!("mul-plain", x.ev.mul_plain(&x.a, &x.plaintext));
        measure!("tensor", x.ev.tensor(&x.a, &x.b));
        measure!("relinearize", x.ev.relinearize(&x.product, x.keys));
        measure!("mul-relin", x.ev.relinearize(&x.ev.tensor(&x.a, &x.b)?, x.keys));
        measure!("mul-relin-rescale", x.ev.mul(&x.a, &x.b, x.keys));
        measure!("rescale", x.ev.rescale(&x.a));
        measure!("rotate", x.ev.rotate(&x.a, 1, x.keys));
        measure!("rotate-hoisted-2", x.ev.rotate_many(&x.a, &[1, 2], x.keys));
        measure!("sum-of-rotations", x.ev.sum_of_rotations(&x.a, &blur, x.keys));
    }
}

/// A ciphertext in host memory: the words of its two polynomials.
type Words = [Vec<u64>; 2];

/// Ciphertexts between host memory and the device, and two of them there, multiplied, and back.
fn transfers<B: RingOps>(c: &mut Criterion, device: &Device<'_, B>, chain: &Chain, batches: &[usize]) {
    let setup = LazyCell::new(|| device.setup(chain));
    for &batch in batches {
        let words = |ct: &Ciphertext<B>| -> Result<Words> {
            let [c0, c1] = ct.pair().parts();
            Ok([c0.to_words()?, c1.to_words()?])
        };
        let host = LazyCell::new(|| {
            let Inputs { a, b, .. } = Inputs::new(&setup, batch);
            [&a, &b].map(|ct| words(ct).expect("a device"))
        });
        let backend = device.backend;
        let upload = |words: &Words| -> Result<[B::Buf; 2]> {
            Ok([backend.upload(&words[0])?, backend.upload(&words[1])?])
        };
        let resident = LazyCell::new(|| upload(&host[0]).expect("a device"));
        let (shape, limbs) = (shape(chain, batch), chain.q_bits.len());
        let bytes = Throughput::Bytes(((2 * 8 * limbs * batch) << chain.log_n) as u64);
        device.measure(c, "upload", &shape, bytes.clone(), || upload(&host[0]));
        device.measure(c, "download", &shape, bytes, || {
            let part = |buf| backend.download(buf, 0..backend.words(buf));
            Ok([part(&resident[0])?, part(&resident[1])?])
        });
        let elements = Throughput::Elements(batch as u64);
        device.measure(c, "upload-mul-download", &shape, elements, || {
            let (ev, like) = (&setup.evaluator, &setup.plaintext);
            let fresh = |words: &Words| {
                let part = |words| Poly::from_words(ev.ring(), Span::chain(limbs), batch, words);
                let pair = RlweCiphertext::new(part(&words[0])?, part(&words[1])?)?;
                Ciphertext::from_parts(ev.params(), pair, like.level(), like.scale(), like.slots())
            };
            words(&ev.mul(&fresh(&host[0])?, &fresh(&host[1])?, &setup.keys)?)
        });
    }
}

fn all(c: &mut Criterion) {
    let cuda = timing::cuda();
    for chain in peer_chains() {
        // On the CPU a batch takes as long as its ciphertexts one by one, so there are 32 of them
        // only if that takes no more than about a second.
        let batches: &[usize] = if chain.log_n <= 13 { &[1, 32] } else { &[1] };
        operations(c, &Device { name: "cpu", backend: &Cpu::new() }, &chain, batches);
        if let Some(backend) = &cuda {
            let device = Device { name: "cuda", backend };
            operations(c, &device, &chain, &[1, 32]);
            transfers(c, &device, &chain, &[1, 32]);
        }
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
