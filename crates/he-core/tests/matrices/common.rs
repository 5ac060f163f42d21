//! Insecure parameters of small degrees, keys, and seeds.

use he_core::backend::Cpu;
use he_core::ckks::{
    Ciphertext, CkksParams, CkksSpec, Decryptor, Encryptor, Evaluator, NoiseEstimate, SecretEncryptor,
};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{RngExt, SeedableRng, TryRng};

/// A generator whose seed is printed, or that of HE_TEST_SEED.
pub fn seeded() -> ChaCha20Rng {
    let given = std::env::var("HE_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| SysRng.try_next_u64().unwrap());
    println!("HE_TEST_SEED={seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// Random numbers of magnitude below one.
pub fn numbers(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Insecure parameters of CKKS: a chain by its widths, one special prime.
pub fn params(log_n: u32, q_bits: &[u32], p_bits: &[u32], scale_log2: f64) -> CkksParams {
    CkksParams::insecure(CkksSpec::from_bits(log_n, q_bits, p_bits, scale_log2).unwrap()).unwrap()
}

/// Parameters with a secret, and what computes under them.
pub struct World {
    pub params: CkksParams,
    pub ring: Ring<Cpu>,
    pub secret: SecretKey,
    pub ev: Evaluator<Cpu>,
}

impl World {
    pub fn new(params: CkksParams, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let ev = Evaluator::new(&params, &ring).unwrap();
        Self { params, ring, secret, ev }
    }

    pub fn n(&self) -> usize {
        self.ring.n()
    }

    pub fn keys(&self, needs: KeyRequirements, rng: &mut ChaCha20Rng) -> EvaluationKeys<Cpu> {
        EvaluationKeys::generate(&self.secret, &self.ring, needs, rng).unwrap()
    }

    /// Encrypts polynomials by their coefficients, by the secret or by a public key.
    pub fn encrypt(&self, rows: &[Vec<f64>], publicly: bool, rng: &mut ChaCha20Rng) -> Ciphertext<Cpu> {
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let plain = self.ev.encoder().encode_coefficients_batch(&rows, self.params.encoding()).unwrap();
        if publicly {
            let public = PublicKey::generate(&self.secret, &self.ring, rng).unwrap();
            return Encryptor::new(&self.params, &public).unwrap().encrypt(&plain, rng).unwrap();
        }
        let encryptor = SecretEncryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        encryptor.encrypt(&plain, rng).unwrap().expand().unwrap()
    }

    /// The coefficients of all entries.
    pub fn decrypt(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<f64>> {
        let plain = Decryptor::new(&self.params, &self.secret, &self.ring).unwrap().decrypt(ct).unwrap();
        self.ev.encoder().decode_coefficients(&plain).unwrap()
    }

    /// Asserts that coefficients are within the noise that the ciphertext states.
    pub fn assert_within_noise(&self, ct: &Ciphertext<Cpu>, expected: &[Vec<f64>]) {
        let NoiseEstimate { peak_log2, .. } = ct.noise().unwrap();
        let bound = peak_log2.exp2() / ct.scale();
        let found = self.decrypt(ct);
        assert_eq!(found.len(), expected.len());
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            for (j, (found, expected)) in found.iter().zip(expected).enumerate() {
                let error = (found - expected).abs();
                assert!(error <= bound, "({i}, {j}): {found}, not {expected}, bound {bound}");
            }
        }
    }
}
