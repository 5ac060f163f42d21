//! Parameter sets, keys and seeded inputs shared by the benches.

use he::backend::RingOps;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encryptor, Evaluator, Plaintext};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A modulus chain by the widths of its primes.
pub struct Chain {
    pub log_n: u32,
    pub q_bits: Vec<u32>,
    pub p_bits: Vec<u32>,
    pub scale_log2: f64,
    pub dnum: Option<usize>,
}

/// Parameters, keys and inputs on a device.
pub struct Setup<B: RingOps> {
    pub evaluator: Evaluator<B>,
    pub public: PublicKey<B>,
    pub secret: SecretKey,
    pub keys: EvaluationKeys<B>,
    pub values: Vec<Complex64>,
    pub plaintext: Plaintext<B>,
    pub ciphertexts: [Ciphertext<B>; 2],
}

impl<B: RingOps> Setup<B> {
    /// Everything for one chain, from a fixed seed.
    pub fn new(backend: B, chain: &Chain) -> Self {
        let spec = CkksSpec::from_bits(chain.log_n, &chain.q_bits, &chain.p_bits, chain.scale_log2);
        let mut spec = spec.expect("primes exist");
        if let Some(dnum) = chain.dnum {
            spec = spec.with_dnum(dnum);
        }
        // Some of the peers' chains exceed the table of 2024 by a few bits.
        Self::of(backend, CkksParams::insecure(spec).expect("a valid chain"))
    }

    /// Everything for parameters, from a fixed seed.
    pub fn of(backend: B, params: CkksParams) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(2024);
        let ring = Ring::new(backend, params.rlwe().ring().clone()).expect("a device");
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng).expect("a device");
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation(),
            &mut rng,
        )
        .expect("a device");
        let evaluator = Evaluator::new(&params, &ring).expect("a device");
        let random =
            |rng: &mut ChaCha20Rng| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let values: Vec<Complex64> = (0..params.slots()).map(|_| random(&mut rng)).collect();
        let plaintext = evaluator.encoder().encode(&values, params.encoding()).expect("small values");
        let encryptor = Encryptor::new(&params, &public).expect("same parameters");
        let ciphertexts = [0, 1].map(|_| encryptor.encrypt(&plaintext, &mut rng).expect("a device"));
        Self { evaluator, public, secret, keys, values, plaintext, ciphertexts }
    }

    /// The parameters.
    pub fn params(&self) -> &CkksParams {
        self.evaluator.params()
    }

    /// A decryptor for the secret key.
    pub fn decryptor(&self) -> Decryptor<B> {
        Decryptor::new(self.params(), &self.secret, self.evaluator.ring()).expect("same parameters")
    }
}
