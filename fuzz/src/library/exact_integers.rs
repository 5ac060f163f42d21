//! Programs over BFV and BGV against integers modulo t.
//!
//! Must hold: as long as the predicted budget is positive, a program on ciphertexts decrypts to
//! what the same program gives on integers modulo t, slot by slot, and measured noise is within its
//! prediction.
//!
//! Bytes: 1 for BGV; 16 values for each of two vectors; then instructions of two bytes: an
//! operation and an operand.

use super::target::Fields;
use super::world::{self, Rlwe, computed};
use he_core::backend::Cpu;
use he_core::exact::{Ciphertext, Decryptor, Evaluator, Params, SecretEncryptor};
use he_core::wire::WireScheme;

const N: usize = 16;
const T: u64 = 97;

pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((0, rest)) => program(world::bfv(), rest),
        Some((1, rest)) => program(world::bgv(), rest),
        _ => {}
    }
}

/// Rotation within the two rows of N / 2 slots.
fn rotated(x: &[u64], step: usize) -> Vec<u64> {
    let half = N / 2;
    (0..N).map(|i| x[i / half * half + (i % half + step) % half]).collect()
}

fn program<S: WireScheme>(w: &Rlwe<Params<S>, Cpu>, data: &[u8]) {
    let mut fields = Fields(data);
    let (Some(a), Some(b)) = (fields.take::<N>(), fields.take::<N>()) else { return };
    let clear = [a, b].map(|bytes| bytes.map(|x| u64::from(x) % T).to_vec());
    let ev = Evaluator::<S, Cpu>::new(&w.params, &w.ring).expect("an evaluator");
    let decryptor = Decryptor::<S, Cpu>::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let encryptor = SecretEncryptor::<S, Cpu>::new(&w.params, &w.secret, &w.ring).expect("an encryptor");
    let rng = &mut world::rng(data.len() as u64);
    let mut registers: Vec<(Vec<u64>, Ciphertext<S, Cpu>)> = clear
        .into_iter()
        .map(|values| {
            let plain = ev.encoder().encode(&values).expect("a plaintext");
            let ct = encryptor.encrypt(&plain, rng).and_then(|seeded| seeded.expand()).expect("a ciphertext");
            (values, ct)
        })
        .collect();
    for _ in 0..12 {
        let Some([operation, operand]) = fields.take() else { break };
        let (at, other) = (usize::from(operation >> 4) % 2, usize::from(operand) % 2);
        let ((x, ct), (y, ct_other)) = (&registers[at], &registers[other]);
        let zip = |f: fn(u64, u64) -> u64| x.iter().zip(y).map(|(&x, &y)| f(x, y) % T).collect::<Vec<u64>>();
        let each = |f: &dyn Fn(u64) -> u64| x.iter().map(|&x| f(x) % T).collect::<Vec<u64>>();
        let scalar = u64::from(operand);
        let (expected, found) = match operation % 10 {
            0 => (zip(|x, y| x + y), ev.add(ct, ct_other)),
            1 => (zip(|x, y| x + T - y), ev.sub(ct, ct_other)),
            2 => (zip(|x, y| x * y), ev.mul(ct, ct_other, &w.keys)),
            3 => (each(&|x| x * x), ev.square(ct, &w.keys)),
            4 => (each(&|x| T - x), ev.neg(ct)),
            5 => (each(&|x| x + scalar), ev.add_scalar(ct, i64::from(operand))),
            6 => (each(&|x| x * scalar), ev.mul_scalar(ct, i64::from(operand))),
            7 => {
                let step = [1, 2, 4][usize::from(operand) % 3];
                (rotated(x, step), ev.rotate(ct, step as i64, &w.keys))
            }
            8 => ([&x[N / 2..], &x[..N / 2]].concat(), ev.swap_rows(ct, &w.keys)),
            _ => {
                let level = usize::from(operand) % 3;
                (x.clone(), ev.mod_switch_to(ct, level.min(ct.level())))
            }
        };
        let Some(found) = computed(found) else { continue };
        let budget = found.predicted_budget(&w.params);
        if budget <= 0.0 {
            continue;
        }
        let plain = decryptor.decrypt(&found).expect("a ciphertext with a budget decrypts");
        let values = &ev.encoder().decode::<u64>(&plain).expect("slots")[0];
        assert!(*values == expected, "operation {} with a budget of {budget} bits", operation % 10);
        registers[at] = (expected, found);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let inputs: Vec<u8> = (0..32u8).map(|i| i * 3).collect();
    let programs = [
        &[2, 1, 0, 1, 18, 0][..],
        &[7, 1, 0, 0, 8, 0, 16, 0],
        &[9, 1, 2, 1, 9, 0, 4, 0],
        &[5, 3, 6, 5, 1, 1, 3, 0],
        &[0, 1, 1, 1, 2, 1, 3, 0, 4, 0, 5, 9, 6, 2, 7, 2, 8, 0, 9, 1],
    ];
    let of = |scheme: u8| programs.iter().map(move |program| (scheme, *program));
    of(0).chain(of(1)).map(|(scheme, program)| [&[scheme][..], &inputs, program].concat()).collect()
}
