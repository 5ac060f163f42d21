//! Transposes, products and compositions of encrypted matrices modulo t.

use crate::common::seeded;
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::{Ciphertext, Decryptor, Encryptor, Evaluator, ExactSpec, Params, Scheme};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, RlweParams, SecretKey, SwitchKey};
use he_core::{Error, Result};
use rand::{RngExt, rngs::ChaCha20Rng};

type Matrix = Vec<Vec<u64>>;

struct World<S: Scheme> {
    params: Params<S>,
    ring: Ring<Cpu>,
    secret: SecretKey,
    ev: Evaluator<S>,
}

impl<S: Scheme> World<S> {
    fn new(spec: ExactSpec, rng: &mut ChaCha20Rng) -> Self {
        let params = Params::<S>::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let ev = Evaluator::new(&params, &ring).unwrap();
        Self { params, ring, secret, ev }
    }

    fn random(&self, rows: usize, rng: &mut ChaCha20Rng) -> Matrix {
        let t = self.params.plain().value();
        (0..rows).map(|_| (0..self.ring.n()).map(|_| rng.random_range(0..t)).collect()).collect()
    }

    fn encrypt(&self, rows: &Matrix, rng: &mut ChaCha20Rng) -> Ciphertext<S> {
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        let plain = self.ev.encoder().encode_coefficients_batch(&rows).unwrap();
        let public = PublicKey::generate(&self.secret, &self.ring, rng).unwrap();
        Encryptor::new(&self.params, &public).unwrap().encrypt(&plain, rng).unwrap()
    }

    fn decrypt(&self, ct: Result<Ciphertext<S>>) -> Matrix {
        let plain = Decryptor::new(&self.params, &self.secret, &self.ring).unwrap().decrypt(&ct.unwrap());
        self.ev.encoder().decode_coefficients(&plain.unwrap()).unwrap()
    }
}

fn transpose(x: &Matrix) -> Matrix {
    (0..x[0].len()).map(|j| x.iter().map(|row| row[j]).collect()).collect()
}

/// A^T B modulo t.
fn product(a: &Matrix, b: &Matrix, t: u64) -> Matrix {
    let term = |x: u64, y: u64| u128::from(x) * u128::from(y) % u128::from(t);
    let entry = |i: usize, k: usize| a.iter().zip(b).map(|(a, b)| term(a[i], b[k])).sum::<u128>();
    let row = |i| (0..b[0].len()).map(|k| (entry(i, k) % u128::from(t)) as u64).collect();
    (0..a[0].len()).map(row).collect()
}

fn multiplies<S: Scheme>(t: u64, rng: &mut ChaCha20Rng) {
    let world = World::<S>::new(ExactSpec::from_bits(4, &[50, 50, 50], &[51], t).unwrap(), rng);
    let needs = KeyRequirements::new().relinearisation().rotations([1, 2, 4]).conjugation();
    let keys = EvaluationKeys::generate(&world.secret, &world.ring, needs, rng).unwrap();
    let square = world.random(16, rng);
    let ct = world.encrypt(&square, rng);
    assert_eq!(world.decrypt(world.ev.transpose(&ct, &keys)), transpose(&square), "modulo {t}");
    let [a, b] = [(); 2].map(|()| world.random(5, rng));
    let [x, y] = [&a, &b].map(|m| world.encrypt(m, rng));
    let xy = world.ev.transposed_product(&x, &y, &keys);
    assert_eq!(world.decrypt(xy), product(&a, &b, t), "{} modulo {t}", S::NAME);
    // The product is added to others as any ciphertext, though correction factors differ.
    let sum = world.ev.add(&world.ev.transposed_product(&x, &x, &keys).unwrap(), &ct).unwrap();
    let gram = product(&a, &a, t);
    let add = |i: usize, k: usize| (gram[i][k] + square[i][k]) % t;
    let expected: Matrix = (0..16).map(|i| (0..16).map(|k| add(i, k)).collect()).collect();
    assert_eq!(world.decrypt(Ok(sum)), expected, "{} modulo {t}", S::NAME);
    let found = world.ev.transposed_product(&x, &ct, &keys);
    assert!(matches!(found, Err(Error::MatrixRows { found: 16, needed: 5 })), "{found:?}");
    let found = world.ev.transpose(&x, &keys);
    assert!(matches!(found, Err(Error::MatrixRows { found: 5, needed: 16 })), "{found:?}");
}

#[test]
fn transposes_and_products_are_exact() {
    let mut rng = seeded();
    for t in [2, 97, 1 << 16] {
        multiplies::<Bfv>(t, &mut rng);
        multiplies::<Bgv>(t, &mut rng);
    }
}

fn raises<S: Scheme>(rng: &mut ChaCha20Rng) {
    let (n, t) = (8, 97);
    let world = World::<S>::new(ExactSpec::from_bits(3, &[50, 50, 50, 50], &[51], t).unwrap(), rng);
    let needs = KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation();
    let keys = EvaluationKeys::generate(&world.secret, &world.ring, needs, rng).unwrap();
    let x = world.random(n, rng);
    let ct = world.encrypt(&x, rng);
    let trace = world.decrypt(world.ev.trace(&ct));
    assert_eq!((trace.len(), trace[0][0]), (1, (0..n).map(|i| x[i][i]).sum::<u64>() % t), "{}", S::NAME);
    let square = product(&transpose(&x), &x, t);
    let cube = product(&transpose(&square), &x, t);
    assert_eq!(world.decrypt(world.ev.matrix_power(&ct, 3, &keys)), cube, "{}", S::NAME);
    let found = world.ev.matrix_power(&ct, 0, &keys);
    assert!(matches!(found, Err(Error::Argument { .. })), "{found:?}");
}

#[test]
fn traces_and_powers_are_exact() {
    let mut rng = seeded();
    raises::<Bfv>(&mut rng);
    raises::<Bgv>(&mut rng);
}

#[test]
fn a_product_that_has_no_room_is_refused() {
    let mut rng = seeded();
    let world = World::<Bfv>::new(ExactSpec::from_bits(3, &[50], &[51], 1 << 20).unwrap(), &mut rng);
    let needs = KeyRequirements::new().relinearisation().rotations([1, 2]).conjugation();
    let keys = EvaluationKeys::generate(&world.secret, &world.ring, needs, &mut rng).unwrap();
    let x = world.random(2, &mut rng);
    let x = world.encrypt(&x, &mut rng);
    let found = world.ev.transposed_product(&x, &x, &keys);
    assert!(matches!(found, Err(Error::BudgetSpent { .. })), "{found:?}");
}

fn composes<S: Scheme>(rng: &mut ChaCha20Rng) {
    let large = ExactSpec::from_bits(6, &[50, 50], &[51], 97).unwrap();
    let small = ExactSpec { log_n: 4, ..large.clone() };
    let [small, large] = [small, large].map(|spec| World::<S>::new(spec, rng));
    let digits = small.params.rlwe().digits().to_vec();
    let params = RlweParams::insecure(large.params.rlwe().ring().clone(), digits).unwrap();
    let up = SwitchKey::for_composition(&small.secret, &large.secret, &params, &large.ring, rng).unwrap();
    let down = SwitchKey::for_decomposition(&large.secret, &small.secret, &params, &large.ring, rng).unwrap();
    let rows = small.random(8, rng);
    let ct = small.encrypt(&rows, rng);
    let composed = large.ev.compose(&ct, &up).unwrap();
    let entry = |e: usize| -> Vec<u64> { (0..64).map(|c| rows[c % 4 * 2 + e][c / 4]).collect() };
    let parted = large.ev.decompose_into(&composed, &down, &small.ev);
    assert_eq!(large.decrypt(Ok(composed)), [entry(0), entry(1)]);
    assert_eq!(small.decrypt(parted), rows);
}

#[test]
fn coefficients_interleave_and_part() {
    let mut rng = seeded();
    composes::<Bfv>(&mut rng);
    composes::<Bgv>(&mut rng);
}
