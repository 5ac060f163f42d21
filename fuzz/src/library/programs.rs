//! Programs of every scheme over RLWE on two back ends: the CPU's, and the definitions as they
//! read.
//!
//! Must hold: every word that either writes is the same. Any program of valid operations ends in a
//! result or in the same error.
//!
//! Bytes: the scheme modulo 4, a seed, then instructions of two bytes: an operation and an operand.

use super::target::Fields;
use super::world::{self, Rlwe, Wide, computed};
use he_core::Error;
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks;
use he_core::ckks::{self, CkksParams};
use he_core::conformance::{Mirror, Naive};
use he_core::exact::{self, Params};
use he_core::num_complex::Complex64;
use he_core::wire::WireScheme;
use std::sync::OnceLock;

type Both = Mirror<Cpu, Naive>;

macro_rules! worlds {
    ($($name:ident: $type:ty = $value:expr;)*) => {$(
        fn $name() -> &'static $type {
            static WORLD: OnceLock<$type> = OnceLock::new();
            WORLD.get_or_init(|| $value)
        }
    )*};
}

worlds! {
    of_ckks: Rlwe<CkksParams, Both> = Rlwe::new(world::ckks_params(3), both(), 1);
    of_bfv: Rlwe<Params<Bfv>, Both> = Rlwe::new(world::exact_params(3), both(), 2);
    of_bgv: Rlwe<Params<Bgv>, Both> = Rlwe::new(world::exact_params(3), both(), 3);
    of_bigckks: Wide<Both> = Wide::new(world::bigckks_params(3), both(), 4);
}

fn both() -> Both {
    Mirror::new(Cpu::new(), Naive)
}

/// The most instructions: definitions are slow.
const MOST: usize = 6;

pub fn run(data: &[u8]) {
    let [scheme, seed, program @ ..] = data else { return };
    let (seed, program) = (u64::from(*seed), Fields(program));
    match scheme % 4 {
        0 => ckks(of_ckks(), seed, program),
        1 => exact(of_bfv(), seed, program),
        2 => exact(of_bgv(), seed, program),
        _ => bigckks(of_bigckks(), seed, program),
    }
}

fn ckks(w: &Rlwe<CkksParams, Both>, seed: u64, mut program: Fields<'_>) {
    let ev = ckks::Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let mut x = world::ckks_ciphertext(w, seed);
    let other = world::ckks_ciphertext(w, seed + 1);
    for _ in 0..MOST {
        let Some([operation, operand]) = program.take() else { break };
        let number = f64::from(operand) / 16.0 - 8.0;
        let result = match operation % 14 {
            0 => ev.add(&x, &other),
            1 => ev.sub(&other, &x),
            2 => ev.mul(&x, &other, &w.keys),
            3 => ev.square(&x, &w.keys),
            4 => ev.neg(&x),
            5 => ev.add_scalar(&x, Complex64::new(number, -number)),
            6 => ev.mul_scalar(&x, number),
            7 => ev.mul_integer(&x, i64::from(operand) - 128),
            8 => ev.rotate(&x, i64::from(operand), &w.keys),
            9 => ev.conjugate(&x, &w.keys),
            10 => ev.rescale(&x),
            11 => ev.mod_switch_to(&x, usize::from(operand) % 3),
            12 => ev.sum_of_rotations(&x, &[(0, number), (1, 0.5), (2, -1.0)], &w.keys),
            _ => ev.inner_sum(&x, 4, &w.keys),
        };
        x = next(x, result);
    }
    let decryptor = ckks::Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let plain = computed(decryptor.decrypt(&x)).expect("every ciphertext decrypts to something");
    let _ = computed(ev.encoder().decode(&plain));
}

fn exact<S: WireScheme>(w: &Rlwe<Params<S>, Both>, seed: u64, mut program: Fields<'_>) {
    let ev = exact::Evaluator::<S, Both>::new(&w.params, &w.ring).expect("an evaluator");
    let mut x = world::exact_ciphertext(w, seed);
    let other = world::exact_ciphertext(w, seed + 1);
    for _ in 0..MOST {
        let Some([operation, operand]) = program.take() else { break };
        let result = match operation % 11 {
            0 => ev.add(&x, &other),
            1 => ev.sub(&other, &x),
            2 => ev.mul(&x, &other, &w.keys),
            3 => ev.square(&x, &w.keys),
            4 => ev.neg(&x),
            5 => ev.add_scalar(&x, i64::from(operand) - 128),
            6 => ev.mul_scalar(&x, i64::from(operand) - 128),
            7 => ev.rotate(&x, i64::from(operand), &w.keys),
            8 => ev.swap_rows(&x, &w.keys),
            9 => ev.mod_switch_to(&x, usize::from(operand) % 3),
            _ => ev.sum_all(&x, &w.keys),
        };
        x = next(x, result);
    }
    let decryptor = exact::Decryptor::<S, Both>::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let _ = computed(decryptor.decrypt(&x));
}

fn bigckks(w: &Wide<Both>, seed: u64, mut program: Fields<'_>) {
    let ev = bigckks::Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let mut x = world::bigckks_ciphertext(w, seed);
    let other = world::bigckks_ciphertext(w, seed + 1);
    for _ in 0..MOST {
        let Some([operation, operand]) = program.take() else { break };
        let number = f64::from(operand) / 16.0 - 8.0;
        let result = match operation % 12 {
            0 => ev.add(&x, &other),
            1 => ev.sub(&other, &x),
            2 => ev.mul(&x, &other, &w.keys),
            3 => ev.square(&x, &w.keys),
            4 => ev.neg(&x),
            5 => ev.add_scalar(&x, Complex64::new(number, -number)),
            6 => ev.mul_scalar(&x, number, 10),
            7 => ev.mul_integer(&x, i64::from(operand) - 128),
            8 => ev.rotate(&x, i64::from(operand), &w.keys),
            9 => ev.conjugate(&x, &w.keys),
            10 => ev.rescale(&x, u32::from(operand) % 40),
            _ => ev.drop_to_bits(&x, 20 + u32::from(operand) % 80),
        };
        x = next(x, result);
    }
    let decryptor = bigckks::Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let plain = computed(decryptor.decrypt(&x)).expect("every ciphertext decrypts to something");
    let _ = computed(ev.encoder().decode(&plain));
}

/// The result, or what there was before an operation that is not possible.
fn next<T>(before: T, result: Result<T, Error>) -> T {
    computed(result).unwrap_or(before)
}

pub fn seeds() -> Vec<Vec<u8>> {
    let programs = [
        &[0, 1, 2, 3, 8, 1][..],
        &[2, 0, 10, 0, 9, 0, 12, 20],
        &[5, 100, 6, 7, 7, 200, 4, 0, 11, 1],
        &[3, 0, 1, 0, 13, 0],
    ];
    let of = |scheme: u8| programs.iter().map(move |program| [&[scheme, 1][..], program].concat());
    (0..4).flat_map(of).collect()
}
