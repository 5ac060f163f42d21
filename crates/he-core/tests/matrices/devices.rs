//! The same words on two back ends, after every operation.

use crate::common::{numbers, params, seeded};
use he_core::backend::Cpu;
use he_core::ckks::{Ciphertext, CkksParams, Decryptor, Evaluator, MatrixWeights, SecretEncryptor};
use he_core::conformance::{Mirror, Naive};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, RlweParams, SecretKey, SwitchKey};
use rand::rngs::ChaCha20Rng;

type Device = Mirror<Cpu, Naive>;

struct World {
    params: CkksParams,
    ring: Ring<Device>,
    secret: SecretKey,
    ev: Evaluator<Device>,
}

impl World {
    fn new(params: CkksParams, rng: &mut ChaCha20Rng) -> Self {
        let ring = Ring::new(Mirror::new(Cpu::new(), Naive), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let ev = Evaluator::new(&params, &ring).unwrap();
        Self { params, ring, secret, ev }
    }

    fn encrypt(&self, rows: usize, rng: &mut ChaCha20Rng) -> Ciphertext<Device> {
        let rows: Vec<Vec<f64>> = (0..rows).map(|_| numbers(self.ring.n(), rng)).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let plain = self.ev.encoder().encode_coefficients_batch(&rows, self.params.encoding()).unwrap();
        let encryptor = SecretEncryptor::new(&self.params, &self.secret, &self.ring).unwrap();
        encryptor.encrypt(&plain, rng).unwrap().expand().unwrap()
    }
}

#[test]
fn every_word_is_the_same() {
    let mut rng = seeded();
    let small = params(3, &[50, 40], &[51], 40.0);
    let mut spec = small.spec();
    spec.log_n = 2;
    let [tiny, small] = [CkksParams::insecure(spec).unwrap(), small].map(|p| World::new(p, &mut rng));
    let (ev, x) = (&small.ev, small.encrypt(8, &mut rng));
    let needs = KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation().expansion(3, 8);
    let keys = EvaluationKeys::generate(&small.secret, &small.ring, needs, &mut rng).unwrap();
    ev.expand(&x, 8, &keys).unwrap();
    ev.transpose(&x, &keys).unwrap();
    ev.transposed_product(&x, &x, &keys).unwrap();
    let real = numbers(16, &mut rng);
    for weights in [MatrixWeights::Integers(&[-128; 16]), MatrixWeights::Real(&real)] {
        ev.mul_matrix(&ev.plain_matrix([2, 8], weights, 1).unwrap(), &x).unwrap();
    }
    let digits = small.params.rlwe().digits().to_vec();
    let rlwe = RlweParams::insecure(small.ring.spec().clone(), digits).unwrap();
    let key = SwitchKey::for_composition(&tiny.secret, &small.secret, &rlwe, &small.ring, &mut rng).unwrap();
    let composed = ev.compose(&tiny.encrypt(4, &mut rng), &key).unwrap();
    let key =
        SwitchKey::for_decomposition(&small.secret, &tiny.secret, &rlwe, &small.ring, &mut rng).unwrap();
    let parted = ev.decompose_into(&composed, &key, &tiny.ev).unwrap();
    let decryptor = Decryptor::new(&tiny.params, &tiny.secret, &tiny.ring).unwrap();
    tiny.ev.encoder().decode_coefficients(&decryptor.decrypt(&parted).unwrap()).unwrap();
}
