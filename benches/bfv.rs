//! Measures BFV and BGV with t = 65537 at the chains of the peers, on the CPU and, if there is one,
//! on a GPU: one group per operation, ids `scheme-operation/backend/n=.../limbs=q+p/batch=...`.
//! First, `p5-...`: the experiment on tiny degrees of an FPGA's paper.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench bfv` for one thread of the CPU; `-- bfv-mul-relin` for
//! one operation, `-- /cuda/` for one back end, `-- n=16384/` for one degree.
#![allow(missing_docs)]

#[path = "common/timing.rs"]
mod timing;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use he::Result;
use he::backend::{Cpu, RingOps};
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::exact::{
    Ciphertext, Decryptor, Encoder, Encryptor, Evaluator, ExactSpec, Message, Params, Plaintext, Scheme,
    SlotEncoder,
};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::cell::LazyCell;
use std::time::Duration;
use timing::time;

const T: u64 = 65537;

/// Chains by the widths of their primes: those of SEAL's defaults, and those of the GPU's peers
/// (3 + 1, 7 + 1, 15 + 1).
fn chains() -> Vec<(u32, Vec<u32>, u32)> {
    vec![
        (12, vec![36, 36], 37),
        (13, vec![48, 48, 48], 49),
        (13, vec![43, 43, 44, 44], 44),
        (14, vec![49; 7], 49),
        (14, vec![48, 48, 48, 49, 49, 49, 49, 49], 49),
        (15, vec![49; 15], 49),
        (15, vec![55; 15], 56),
    ]
}

struct Setup<S: Scheme, B: RingOps> {
    ev: Evaluator<S, B>,
    public: PublicKey<B>,
    secret: SecretKey,
    keys: EvaluationKeys<B>,
    plaintext: Plaintext,
    ciphertexts: [Ciphertext<S, B>; 2],
}

impl<S: Scheme, B: RingOps> Setup<S, B> {
    fn new(backend: B, (log_n, q_bits, p_bits): &(u32, Vec<u32>, u32), batch: usize) -> Self {
        let spec = ExactSpec::from_bits(*log_n, q_bits, &[*p_bits], T).expect("primes exist");
        // Some of the peers' chains exceed the table of 2024 by a few bits.
        let params = Params::insecure(spec).expect("a valid chain");
        let mut rng = ChaCha20Rng::seed_from_u64(2024);
        let ring = Ring::new(backend, params.rlwe().ring().clone()).expect("a device");
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng).expect("a device");
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            &mut rng,
        )
        .expect("a device");
        let ev = Evaluator::new(&params, &ring).expect("a device");
        let values: Vec<u64> = (0..ring.n()).map(|_| rng.random_range(0..T)).collect();
        let plaintext = ev.encoder().encode_batch(&vec![values.as_slice(); batch]).expect("residues");
        let encryptor = Encryptor::new(&params, &public).expect("same parameters");
        let ciphertexts = [0, 1].map(|_| encryptor.encrypt(&plaintext, &mut rng).expect("a device"));
        Self { ev, public, secret, keys, plaintext, ciphertexts }
    }
}

fn operations<S: Scheme, B: RingOps>(
    c: &mut Criterion,
    name: &str,
    backend: &B,
    chain: &(u32, Vec<u32>, u32),
    batch: usize,
) {
    let setup = LazyCell::new(|| Setup::<S, B>::new(backend.clone(), chain, batch));
    let shape = format!("n={}/limbs={}+1,{}bit/batch={batch}", 1 << chain.0, chain.1.len(), chain.1[0]);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut measure = |operation: &str, call: &mut dyn FnMut() -> Result<()>| {
        let mut group = c.benchmark_group(format!("{}-{operation}", S::NAME));
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2))
            .throughput(Throughput::Elements(batch as u64));
        group.bench_function(BenchmarkId::new(name, &shape), |bench| {
            bench.iter_custom(|iters| time(backend, iters, &mut *call));
        });
        group.finish();
    };
    let encryptor = || Encryptor::new(setup.ev.params(), &setup.public);
    measure("encrypt", &mut || encryptor()?.encrypt(&setup.plaintext, &mut rng).map(drop));
    let resident = LazyCell::new(|| Message::new(setup.ev.ring(), &setup.plaintext).expect("a device"));
    measure("encrypt-resident", &mut || encryptor()?.encrypt_message(&resident, &mut rng).map(drop));
    let decryptor = LazyCell::new(|| {
        Decryptor::new(setup.ev.params(), &setup.secret, setup.ev.ring()).expect("same parameters")
    });
    measure("decrypt", &mut || decryptor.decrypt(&setup.ciphertexts[0]).map(drop));
    measure("decrypt-resident", &mut || decryptor.decrypt_message(&setup.ciphertexts[0]).map(drop));
    // From values to a ciphertext and back.
    let slots = LazyCell::new(|| SlotEncoder::new(setup.ev.params(), setup.ev.ring()).expect("slots"));
    let values = LazyCell::new(|| setup.ev.encoder().decode::<u64>(&setup.plaintext).expect("slots"));
    measure("encode-encrypt", &mut || {
        let rows: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
        encryptor()?.encrypt_message(&slots.encode(&rows)?, &mut rng).map(drop)
    });
    measure("decrypt-decode", &mut || {
        slots.decode::<u64>(decryptor.decrypt_message(&setup.ciphertexts[0])?).map(drop)
    });
    measure("add", &mut || setup.ev.add(&setup.ciphertexts[0], &setup.ciphertexts[1]).map(drop));
    measure("mul-plain", &mut || setup.ev.mul_plain(&setup.ciphertexts[0], &setup.plaintext).map(drop));
    measure("tensor", &mut || setup.ev.tensor(&setup.ciphertexts[0], &setup.ciphertexts[1]).map(drop));
    measure("mul-relin", &mut || {
        setup.ev.mul(&setup.ciphertexts[0], &setup.ciphertexts[1], &setup.keys).map(drop)
    });
    // CKKS at this chain, for comparison.
    measure("ckks-mul-relin", &mut || {
        let [a, b] = setup.ciphertexts.each_ref().map(Ciphertext::pair);
        a.tensor(b)?.relinearize(setup.keys.relin()?, a.chain_limbs()).map(drop)
    });
    measure("rotate", &mut || setup.ev.rotate(&setup.ciphertexts[0], 1, &setup.keys).map(drop));
}

/// The experiment of the FPGA paper: q of 32 bits, t of 16, 50 to 1000 messages per call, without
/// any security. Messages are in host memory and, as `-resident`, in the device's.
fn tiny<B: RingOps>(c: &mut Criterion, name: &str, backend: &B) {
    for log_n in [2, 3, 4] {
        let spec = ExactSpec::from_bits(log_n, &[32], &[33], 1 << 16).expect("primes exist");
        let params = Params::<Bfv>::insecure(spec).expect("a valid chain");
        let mut rng = ChaCha20Rng::seed_from_u64(2024);
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone()).expect("a device");
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng).expect("a device");
        let encryptor = Encryptor::new(&params, &public).expect("same parameters");
        let decryptor = Decryptor::new(&params, &secret, &ring).expect("same parameters");
        let encoder = Encoder::new(&params).expect("checked parameters");
        for batch in [50, 200, 500, 1000] {
            let message: Vec<u64> = (0..ring.n()).map(|_| rng.random_range(0..1 << 16)).collect();
            let rows = vec![message.as_slice(); batch];
            let plaintext = encoder.encode_coefficients_batch(&rows).expect("residues");
            let resident = Message::new(&ring, &plaintext).expect("a device");
            let ct = encryptor.encrypt(&plaintext, &mut rng).expect("a device");
            let shape = format!("n={}/batch={batch}", ring.n());
            let mut measure = |operation: &str, call: &mut dyn FnMut() -> Result<()>| {
                let mut group = c.benchmark_group(format!("p5-{operation}"));
                group.sample_size(20).throughput(Throughput::Elements(batch as u64));
                group.bench_function(BenchmarkId::new(name, &shape), |bench| {
                    bench.iter_custom(|iters| time(backend, iters, &mut *call));
                });
                group.finish();
            };
            measure("encrypt", &mut || encryptor.encrypt(&plaintext, &mut rng).map(drop));
            measure("encrypt-resident", &mut || encryptor.encrypt_message(&resident, &mut rng).map(drop));
            measure("decrypt", &mut || decryptor.decrypt(&ct).map(drop));
            measure("decrypt-resident", &mut || decryptor.decrypt_message(&ct).map(drop));
        }
    }
}

fn all(c: &mut Criterion) {
    let cuda = timing::cuda();
    tiny(c, "cpu", &Cpu::new());
    if let Some(backend) = &cuda {
        tiny(c, "cuda", backend);
    }
    for chain in chains() {
        operations::<Bfv, _>(c, "cpu", &Cpu::new(), &chain, 1);
        operations::<Bgv, _>(c, "cpu", &Cpu::new(), &chain, 1);
        if let Some(backend) = &cuda {
            for batch in [1, 32] {
                operations::<Bfv, _>(c, "cuda", backend, &chain, batch);
                operations::<Bgv, _>(c, "cuda", backend, &chain, batch);
            }
        }
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
