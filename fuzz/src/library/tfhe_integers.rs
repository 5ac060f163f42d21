//! Integers of TFHE against u64.
//!
//! Must hold: sums, differences, products, quotients, also by plain numbers, shifts, comparisons
//! and selections of encrypted integers, and gates of encrypted bits, are those of u64 and bool, in
//! both ways to pass carries. The parameters fail with a probability below 2^-100.
//!
//! Bytes: the operation; the width; two integers.

use super::target::Fields;
use super::world::{Tfhe, rng};
use he_core::backend::Cpu;
use he_core::tfhe::{Carry, Gadget, GateEvaluator, IntegerEvaluator, TfheParams, TfheSpec};
use std::sync::OnceLock;

struct World {
    keys: Tfhe,
    ripple: IntegerEvaluator<Cpu>,
    prefix: IntegerEvaluator<Cpu>,
    gates: GateEvaluator<Cpu>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let params = TfheParams::insecure(TfheSpec {
            lwe_dimension: 4,
            lwe_sigma_log2: -30.0,
            glwe_dimension: 1,
            log_degree: 8,
            glwe_sigma_log2: -55.0,
            bootstrap: Gadget { base_log: 20, levels: 1 },
            switch: Gadget { base_log: 6, levels: 4 },
        })
        .expect("small parameters");
        let (keys, cpu) = (Tfhe::new(params, 6), &Cpu::new());
        World {
            ripple: IntegerEvaluator::new(cpu, &keys.key, Carry::Ripple).expect("rare failures"),
            prefix: IntegerEvaluator::new(cpu, &keys.key, Carry::Prefix).expect("rare failures"),
            gates: GateEvaluator::new(cpu, &keys.key).expect("rare failures"),
            keys,
        }
    })
}

pub fn run(data: &[u8]) {
    let mut fields = Fields(data);
    let (Some([operation, width]), Some(x), Some(y)) = (fields.take(), fields.u64(), fields.u64()) else {
        return;
    };
    let (w, cpu) = (world(), &Cpu::new());
    let bits = [8, 16, 10, 32][usize::from(width) % 4];
    let mask = (1u64 << bits) - 1;
    let (x, y) = (x & mask, y & mask);
    let rng = &mut rng(x ^ y.rotate_left(32));
    let secret = &w.keys.secret;
    if operation % 16 >= 10 {
        let [a, b] = [x & 1 == 1, y & 1 == 1];
        let (left, right) = (secret.encrypt_bits(cpu, &[a], rng), secret.encrypt_bits(cpu, &[b], rng));
        let (left, right) = (left.expect("a bit"), right.expect("a bit"));
        let (expected, found) = match operation % 16 {
            10 => (!(a && b), w.gates.nand(&left, &right)),
            11 => (a ^ b, w.gates.xor(&left, &right)),
            12 => (a || b, w.gates.or(&left, &right)),
            13 => (!(a || b), w.gates.nor(&left, &right)),
            14 => {
                let table = width & 15;
                // Bit 2 a + b of the table, or bit a + 2 b: both are tables.
                let symmetric = [0, 6, 9, 15, 8, 14, 1, 7][usize::from(table & 7)];
                let expected = symmetric >> (u8::from(a) * 2 + u8::from(b)) & 1 == 1;
                (expected, w.gates.lookup(symmetric, &left, &right))
            }
            _ => (a, w.gates.mux(&left, &left, &right).and_then(|x| w.gates.and(&x, &left))),
        };
        assert_eq!(secret.decrypt_bits(&found.expect("a gate")).expect("a bit"), [expected], "{operation}");
        return;
    }
    let ev = if operation & 1 == 0 { &w.ripple } else { &w.prefix };
    let left = secret.encrypt_u64(cpu, &[x, y], bits, rng).expect("integers");
    let right = secret.encrypt_u64(cpu, &[y, mask - y], bits, rng).expect("integers");
    let other = [y, mask - y];
    let pairs = || [x, y].into_iter().zip(other);
    let flags = |flags| secret.decrypt_flags(&flags).expect("conditions");
    match operation % 16 / 2 {
        0 => {
            let sums: Vec<u64> = pairs().map(|(a, b)| (a + b) & mask).collect();
            assert_eq!(secret.decrypt_u64(&ev.add(&left, &right).expect("a sum")).expect("integers"), sums);
        }
        1 => {
            let found = ev.sub(&left, &right).expect("a difference");
            let expected: Vec<u64> = pairs().map(|(a, b)| a.wrapping_sub(b) & mask).collect();
            assert_eq!(secret.decrypt_u64(&found).expect("integers"), expected);
        }
        2 => {
            let expected: Vec<bool> = pairs().map(|(a, b)| a < b).collect();
            assert_eq!(flags(ev.lt(&left, &right).expect("a comparison")), expected);
        }
        3 => {
            let expected: Vec<bool> = pairs().map(|(a, b)| a == b).collect();
            assert_eq!(flags(ev.eq(&left, &right).expect("a comparison")), expected);
        }
        // The second byte chooses among the others.
        4 if width >= 128 => {
            type Exact = fn(u64, u64) -> u64;
            let (found, exact): (_, Exact) = match width / 4 % 16 {
                0 => (ev.mul(&left, &right), u64::wrapping_mul),
                1 => (ev.div(&left, &right), |x, y| x.checked_div(y).unwrap_or(u64::MAX)),
                2 => (ev.rem(&left, &right), |x, y| x.checked_rem(y).unwrap_or(x)),
                3 => (ev.shl(&left, &right), |x, y| if y < 64 { x << y } else { 0 }),
                4 => (ev.shr(&left, &right), |x, y| if y < 64 { x >> y } else { 0 }),
                5 => (ev.xor(&left, &right), |x, y| x ^ y),
                6 => (ev.sum(&[&left, &right, &right, &left, &left]), |x, y| 3 * x + 2 * y),
                7 => (ev.reverse_bits(&ev.reverse_bits(&left).expect("bits")), |x, _| x),
                8 => (ev.div_plain(&left, &100.into()), |x, _| x / 100),
                9 => (ev.rem_plain(&left, &100.into()), |x, _| x % 100),
                10 => (ev.div_plain(&left, &14.into()), |x, _| x / 14),
                11 => (ev.rem_plain(&left, &77.into()), |x, _| x % 77),
                12 => (ev.saturating_sub(&left, &right), u64::saturating_sub),
                _ => (ev.or(&left, &right), |x, y| x | y),
            };
            let expected: Vec<u64> = pairs().map(|(x, y)| exact(x, y) & mask).collect();
            assert_eq!(secret.decrypt_u64(&found.expect("a result")).expect("integers"), expected);
        }
        _ => {
            let less = ev.lt(&left, &right).expect("a comparison");
            let found = ev.select(&less, &left, &right).expect("a selection");
            let expected: Vec<u64> = pairs().map(|(a, b)| a.min(b)).collect();
            assert_eq!(secret.decrypt_u64(&found).expect("integers"), expected);
            assert_eq!(
                secret.decrypt_u64(&ev.min(&left, &right).expect("a minimum")).expect("integers"),
                expected
            );
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let numbers = [(200u64, 100u64), (0, 0), (255, 255), (0xdead_beef, 0x1234_5678), (1, u64::MAX)];
    let seed = |operation: u8| {
        let (x, y) = numbers[usize::from(operation) % numbers.len()];
        let numbers = x.to_le_bytes().into_iter().chain(y.to_le_bytes());
        [operation, operation / 3].into_iter().chain(numbers).collect::<Vec<u8>>()
    };
    let others = (0..16).map(|which| {
        let mut seed = seed(8 + which % 2);
        seed[1] = 128 + 4 * which;
        seed
    });
    (0..16).map(seed).chain(others).collect()
}
