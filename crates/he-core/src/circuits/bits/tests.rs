//! Compares every circuit with native integers, on plain bits: all inputs at small widths, and
//! random and edge ones above.

use super::*;
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

fn bits(value: u128, width: usize) -> Vec<bool> {
    (0..width).map(|i| value >> i & 1 == 1).collect()
}

fn value(bits: &[bool]) -> u128 {
    bits.iter().rev().fold(0, |value, &bit| value << 1 | u128::from(bit))
}

/// Runs a circuit on numbers of these widths.
fn run(circuit: &Circuit, numbers: &[(u128, usize)]) -> u128 {
    let inputs = numbers.iter().flat_map(|&(x, width)| bits(x, width)).collect();
    value(&circuit.run(&Plain, &inputs).unwrap())
}

/// Runs a circuit on two numbers.
fn binary(x: usize, y: usize, f: impl Fn(&mut Builder, &[Signal], &[Signal]) -> Word) -> Circuit {
    let mut c = Builder::new(x + y);
    let (a, b) = (c.input(0..x), c.input(x..x + y));
    let out = f(&mut c, &a, &b);
    c.finish(&out)
}

fn with_carry((mut sum, carry): (Word, Signal)) -> Word {
    sum.push(carry);
    sum
}

fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

#[test]
fn all_small_numbers() {
    for (x, y) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (4, 2), (1, 5)] {
        let width = x.max(y);
        let ripple = binary(x, y, |c, a, b| with_carry(ripple_add(c, a, b, Signal::Constant(false))));
        let increment = binary(x, y, |c, a, b| with_carry(ripple_add(c, a, b, Signal::Constant(true))));
        let stone = binary(x, y, |c, a, b| with_carry(kogge_stone_add(c, a, b)));
        let less = binary(x, y, |c, a, b| vec![less_than(c, a, b)]);
        let same = binary(x, y, |c, a, b| vec![equal(c, a, b)]);
        let least = binary(x, y, |c, a, b| min_max(c, a, b).0);
        let most = binary(x, y, |c, a, b| min_max(c, a, b).1);
        let product = binary(x, y, |c, a, b| multiply(c, a, b, x + y));
        for a in 0..1u128 << x {
            for b in 0..1u128 << y {
                let both = [(a, x), (b, y)];
                assert_eq!(run(&ripple, &both), a + b);
                assert_eq!(run(&increment, &both), a + b + 1);
                assert_eq!(run(&stone, &both), a + b);
                assert_eq!(run(&less, &both), u128::from(a < b));
                assert_eq!(run(&same, &both), u128::from(a == b));
                assert_eq!(run(&least, &both), a.min(b));
                assert_eq!(run(&most, &both), a.max(b));
                assert_eq!(run(&product, &both), a * b);
            }
        }
        assert!(stone.depth() <= ceil_log2(width) + 2 && less.depth() <= ceil_log2(width) + 1);
    }
}

#[test]
fn wide_numbers() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for width in [31usize, 32, 64] {
        let stone = binary(width, width, |c, a, b| with_carry(kogge_stone_add(c, a, b)));
        let ripple = binary(width, width, |c, a, b| with_carry(ripple_add(c, a, b, Signal::Constant(false))));
        let less = binary(width, width, |c, a, b| vec![less_than(c, a, b)]);
        let same = binary(width, width, |c, a, b| vec![equal(c, a, b)]);
        let product = binary(width, width, |c, a, b| multiply(c, a, b, 2 * width));
        assert_eq!((ripple.depth(), ripple.gate_count()), (width, 2 * width));
        assert_eq!(
            (stone.depth(), less.depth(), same.depth()),
            (ceil_log2(width) + 2, ceil_log2(width) + 1, ceil_log2(width) + 1)
        );
        assert!(less.gate_count() < 4 * width && same.gate_count() == 2 * width - 1);
        println!("{width} bits: Kogge-Stone {} gates, less-than {}", stone.gate_count(), less.gate_count());
        let top = (1u128 << width) - 1;
        let mut pairs = vec![(0, 0), (top, top), (top, 1), (0, top), (1 << (width - 1), top >> 1), (5, 5)];
        pairs.extend((0..100).map(|_| (u128::from(rng.next_u64()) & top, u128::from(rng.next_u64()) & top)));
        for (a, b) in pairs {
            let both = [(a, width), (b, width)];
            assert_eq!(run(&stone, &both), a + b, "{a} + {b}");
            assert_eq!(run(&ripple, &both), a + b);
            assert_eq!(run(&less, &both), u128::from(a < b), "{a} < {b}");
            assert_eq!(run(&same, &both), u128::from(a == b));
            assert_eq!(run(&product, &both), a * b);
        }
    }
    let less = binary(1024, 1024, |c, a, b| vec![less_than(c, a, b)]);
    assert_eq!(less.depth(), 11);
}

#[test]
fn sums_of_many() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for count in [0usize, 1, 2, 3, 4, 7, 8, 16, 33] {
        let mut c = Builder::new(8 * count);
        let numbers: Vec<Word> = (0..count).map(|i| c.input(8 * i..8 * i + 8)).collect();
        let out = sum(&mut c, numbers, 12);
        let circuit = c.finish(&out);
        for _ in 0..20 {
            let numbers: Vec<(u128, usize)> =
                (0..count).map(|_| (u128::from(rng.next_u32() & 255), 8)).collect();
            let expected = numbers.iter().map(|number| number.0).sum::<u128>() & 4095;
            assert_eq!(run(&circuit, &numbers), expected, "{count}");
        }
    }
}

/// A network that sorts all sequences of zeros and ones sorts all sequences (Knuth 5.3.4).
#[test]
fn networks_sort() {
    for count in 0..=9usize {
        let mut c = Builder::new(count);
        let numbers: Vec<Word> = (0..count).map(|i| c.input(i..i + 1)).collect();
        let out: Word = sort(&mut c, numbers).into_iter().flatten().collect();
        let circuit = c.finish(&out);
        for x in 0..1u128 << count {
            let ones = x.count_ones() as usize;
            assert_eq!(run(&circuit, &[(x, count)]), ((1 << ones) - 1) << (count - ones), "{count}: {x:b}");
        }
    }
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut c = Builder::new(10 * 6);
    let numbers: Vec<Word> = (0..10).map(|i| c.input(6 * i..6 * i + 6)).collect();
    let out: Word = sort(&mut c, numbers).into_iter().flatten().collect();
    let circuit = c.finish(&out);
    for _ in 0..50 {
        let mut numbers: Vec<u128> = (0..10).map(|_| u128::from(rng.next_u32() & 63)).collect();
        let found = run(&circuit, &numbers.iter().map(|&x| (x, 6)).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(found, numbers.iter().rev().fold(0, |all, x| all << 6 | x));
    }
}

/// A gate of the builder has the truth table of its name, whatever is known of its inputs.
#[test]
fn folding_keeps_truth_tables() {
    let (a, b) = (Signal::Slot { index: 0, negated: false }, Signal::Slot { index: 1, negated: false });
    let c = Signal::Slot { index: 2, negated: false };
    let signals = [Signal::Constant(false), Signal::Constant(true), a, !a, b, !b, c, !c];
    for x in signals {
        for y in signals {
            for z in signals {
                let mut builder = Builder::new(3);
                let mut out: Word = (0..16).map(|table| builder.lookup(table, x, y)).collect();
                out.extend([builder.majority(x, y, z), builder.parity(x, y, z), builder.mux(x, y, z)]);
                let circuit = builder.finish(&out);
                assert!(
                    circuit
                        .levels()
                        .flatten()
                        .all(|gate| { gate.inputs.iter().all(|input| matches!(input, Signal::Slot { .. })) })
                );
                for input in 0..8 {
                    let input = bits(input, 3);
                    let of = |signal| match signal {
                        Signal::Constant(bit) => bit,
                        Signal::Slot { index, negated } => input[index] ^ negated,
                    };
                    let (x, y, z) = (of(x), of(y), of(z));
                    let found = circuit.run(&Plain, &input).unwrap();
                    for (table, &found) in found[..16].iter().enumerate() {
                        assert_eq!(found, table >> (2 * usize::from(x) + usize::from(y)) & 1 == 1);
                    }
                    let ones = u8::from(x) + u8::from(y) + u8::from(z);
                    assert_eq!(found[16..], [ones >= 2, ones % 2 == 1, if x { y } else { z }]);
                }
            }
        }
    }
}

#[test]
fn equal_gates_are_one_and_unused_ones_none() {
    let mut c = Builder::new(2);
    let x = c.input(0..2);
    let (first, second) = (c.and(x[0], x[1]), c.and(x[0], x[1]));
    let unused = c.or(first, x[0]);
    let _ = c.xor(unused, x[1]);
    let circuit = c.finish(&[first, second, !first, Signal::Constant(true)]);
    assert_eq!((circuit.gate_count(), circuit.depth(), circuit.outputs()), (1, 1, 4));
    assert_eq!(circuit.run(&Plain, &vec![true, true]).unwrap(), [true, true, false, true]);
    assert!(matches!(circuit.run(&Plain, &vec![true]), Err(crate::Error::BatchMismatch { .. })));
}
