//! Products of matrices by the kernels of each generation of devices.
#![allow(clippy::unwrap_used)]

use super::devices::{emulator, gpu_or_skip, in_other_orders, sized};
use gpu::Gpu;
use gpu_emulator::Faulty;
use he_core::arith::ntt_primes_below;
use he_core::backend::{Cpu, MatrixNumbers, MatrixOps, MatrixProduct, RingOps};
use he_core::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Evaluator, MatrixWeights, SecretEncryptor};
use he_core::conformance::suite;
use he_core::ring::{Ring, RingSpec, Span};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_cuda::{Arithmetic, Cuda};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// All kinds, in sizes on both sides of a tile; in depth those of the conformance suite as well.
fn multiplies(cuda: &Cuda) {
    for (numbers, bits, columns) in KINDS {
        for rows_and_inner in [[131, 70], [5, 259], [64, 64]] {
            agrees_with_cpu(cuda, numbers, bits, [rows_and_inner[0], rows_and_inner[1], columns]);
        }
    }
    if sized(0, 1) == 1 {
        suite::matrices(cuda, 0).unwrap();
    }
}

/// The conformance suite has devices of compute capability 9.0.
#[test]
fn older_devices_multiply_matrices() {
    for capability in [(7, 5), (8, 0)] {
        let device = emulator().with_compute_capability(capability);
        multiplies(&Cuda::on(&Gpu::from_driver(device)).expect("the emulator opens"));
    }
}

#[test]
fn threads_multiply_matrices_in_any_order() {
    for cuda in in_other_orders() {
        multiplies(&cuda);
    }
}

/// The words of a product on a device, added to what is there, are those of the CPU.
fn agrees_with_cpu(cuda: &Cuda, numbers: MatrixNumbers, bits: u32, [rows, inner, columns]: [usize; 3]) {
    let spec = RingSpec::new(2, ntt_primes_below(bits, 2, 1, &[]).unwrap(), vec![]).unwrap();
    let (product, q) =
        (MatrixProduct::new(numbers, rows, inner, columns).unwrap(), spec.modulus(Span::chain(1), 0).value());
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
    let mut words =
        |count: usize, most: u64| -> Vec<u64> { (0..count).map(|_| rng.random_range(0..=most)).collect() };
    let most = if numbers == MatrixNumbers::Bytes { (1 << 32) - 1 } else { q - 1 };
    let is_bytes = !matches!(numbers, MatrixNumbers::Residues(_));
    let a = words(product.left_words(), if is_bytes { u64::MAX } else { most });
    let (b, c) = (words(product.right_words(), most), words(product.result_words(), most));
    let expected = product_on(&Cpu::new(), &spec, &product, [&a, &b, &c]);
    assert!(product_on(cuda, &spec, &product, [&a, &b, &c]) == expected, "{product}, {bits} bits");
}

fn product_on<B: RingOps>(
    backend: &B,
    spec: &RingSpec,
    product: &MatrixProduct,
    [a, b, c]: [&[u64]; 3],
) -> Vec<u64> {
    let ring = backend.prepare(spec).unwrap();
    let left = ring.pack_left(product, &backend.upload(a).unwrap(), 0).unwrap();
    let right = ring.pack_right(product, &backend.upload(b).unwrap(), 0).unwrap();
    let mut c = backend.upload(c).unwrap();
    ring.multiply_matrices(left.as_ref(), right.as_ref(), true, 0, &mut c).unwrap();
    backend.download(&c, 0..product.result_words()).unwrap()
}

/// Four digits and others in the first 64 or 128 lines, whole blocks, remainders; words modulo
/// 2^32.
const KINDS: [(MatrixNumbers, u32, usize); 9] = [
    (MatrixNumbers::Residues(Span::chain(1)), 31, 16),
    (MatrixNumbers::Residues(Span::chain(1)), 50, 9),
    (MatrixNumbers::Residues(Span::chain(1)), 31, 27),
    (MatrixNumbers::Residues(Span::chain(1)), 61, 13),
    (MatrixNumbers::Residues(Span::chain(1)), 31, 300),
    (MatrixNumbers::Residues(Span::chain(1)), 61, 300),
    (MatrixNumbers::SignedBytes(Span::chain(1)), 31, 65),
    (MatrixNumbers::SignedBytes(Span::chain(1)), 50, 40),
    (MatrixNumbers::Bytes, 31, 3),
];

#[test]
fn blocks_multiply_several_tiles() {
    let cuda = Cuda::on(&Gpu::from_driver(emulator().with_multiprocessors(1))).expect("the emulator opens");
    for (numbers, bits, columns) in KINDS {
        agrees_with_cpu(&cuda, numbers, bits, [515, 3, columns.min(40)]);
    }
}

#[test]
fn a_gpu_multiplies_large_matrices() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    suite::matrices(&cuda, 0).unwrap();
    for (numbers, bits, columns) in KINDS {
        let rows = if columns > 65 { 3_001 } else { 60_003 };
        agrees_with_cpu(&cuda, numbers, bits, [rows, 70, columns]);
    }
}

/// Rows of ciphertexts, a matrix and what is added to its product.
struct Network<B: RingOps> {
    ev: Evaluator<B>,
    keys: EvaluationKeys<B>,
    rows: Vec<Ciphertext<B>>,
}

const ROWS: usize = 5;
const SUMS: usize = 3;

impl<B: RingOps> Network<B> {
    /// With so many ciphertexts in a row, the same on each device.
    fn new(backend: B, width: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let spec = CkksSpec::from_bits(4, &[30, 20, 20], &[31], 20.0).unwrap();
        let params = CkksParams::insecure(spec).unwrap();
        let ring = Ring::new(backend, params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng).unwrap();
        let encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
        let ev = Evaluator::new(&params, &ring).unwrap();
        let rows = (0..ROWS).map(|_| {
            let vectors: Vec<Vec<Complex64>> = (0..width)
                .map(|_| (0..8).map(|_| Complex64::from(rng.random_range(-1.0..1.0))).collect())
                .collect();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = ev.encoder().encode_batch(&vectors, params.encoding()).unwrap();
            encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap()
        });
        let rows = rows.collect();
        Self { ev, keys, rows }
    }

    /// The words of the squares of a product.
    fn squares(&self) -> impl Fn() -> Ciphertext<B> {
        let weights: Vec<f64> = (0..ROWS * SUMS).map(|i| i as f64 / 16.0 - 0.5).collect();
        let matrix = self.ev.plain_matrix([SUMS, ROWS], MatrixWeights::Real(&weights), 2).unwrap();
        move || {
            let stack = Ciphertext::concat(&self.rows.iter().collect::<Vec<_>>()).unwrap();
            self.ev.square(&self.ev.mul_matrix(&matrix, &stack).unwrap(), &self.keys).unwrap()
        }
    }
}

fn words<B: RingOps>(ct: &Ciphertext<B>) -> [Vec<u64>; 2] {
    ct.pair().parts().map(|part| part.to_words().unwrap())
}

/// Stacks side by side leave the words of the CPU, and take the launches and copies of one.
#[test]
fn stacks_side_by_side_take_the_launches_of_one() {
    let calls = [1, 4].map(|width| {
        let device = Faulty::new(emulator());
        let cuda = Cuda::on(&Gpu::from_driver(device.clone())).unwrap();
        let network = Network::new(cuda, width);
        let squares = network.squares();
        // The matrix is packed for this width, and tables are made.
        let found = words(&squares());
        let count =
            || ["launch", "write", "write_async", "fill_zero", "alloc"].map(|call| device.count(call));
        let before = count();
        assert_eq!(words(&squares()), found, "{width}");
        let after = count();
        assert_eq!(words(&Network::new(Cpu::new(), width).squares()()), found, "{width}");
        let calls: Vec<u64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        println!("{width} in a row: {calls:?}");
        calls
    });
    assert_eq!(calls[0], calls[1]);
    assert_eq!(calls[0][4], 0, "memory of the pool");
}
