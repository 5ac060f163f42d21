//! Shared code of the tests of circuits.

use crate::backend::Cpu;
use crate::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encryptor, Evaluator};
use crate::ring::Ring;
use crate::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
pub(in crate::circuits) use crate::testing::seeded;
use rand::rngs::ChaCha20Rng;

/// Small insecure parameters with keys on the CPU.
pub(in crate::circuits) struct Fixture {
    pub params: CkksParams,
    pub ring: Ring<Cpu>,
    pub secret: SecretKey,
    pub public: PublicKey<Cpu>,
    pub ev: Evaluator<Cpu>,
    pub decryptor: Decryptor<Cpu>,
    pub rng: ChaCha20Rng,
}

impl Fixture {
    pub fn new(log_n: u32, depth: usize) -> Self {
        Self::with_special(log_n, depth, 1)
    }

    /// With this many special primes.
    pub fn with_special(log_n: u32, depth: usize, special: usize) -> Self {
        let mut rng = seeded();
        let mut q = vec![40; depth + 1];
        q[0] = 50;
        let params =
            CkksParams::insecure(CkksSpec::from_bits(log_n, &q, &vec![50; special], 40.0).unwrap()).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng).unwrap();
        let ev = Evaluator::new(&params, &ring).unwrap();
        let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
        Self { params, ring, secret, public, ev, decryptor, rng }
    }

    /// Exactly the keys that are required.
    pub fn keys(&mut self, requirements: impl AsRef<KeyRequirements>) -> EvaluationKeys<Cpu> {
        EvaluationKeys::generate(&self.secret, &self.ring, requirements, &mut self.rng).unwrap()
    }

    pub fn encrypt(&mut self, vectors: &[Vec<Complex64>], slots: usize) -> Ciphertext<Cpu> {
        let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let plain = self.ev.encoder().encode_batch(&vectors, self.params.encoding().slots(slots)).unwrap();
        Encryptor::new(&self.params, &self.public).unwrap().encrypt(&plain, &mut self.rng).unwrap()
    }

    pub fn decrypt(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<Complex64>> {
        self.ev.encoder().decode(&self.decryptor.decrypt(ct).unwrap()).unwrap()
    }
}
