//! Bits in slots (P3): gates, adders and comparators against native integers, as one ciphertext per
//! bit and as words.

use super::common::{World, for_seeds, insecure};
use he::Error;
use he::backend::{Cpu, RingOps};
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bootstrapping::BootstrapKeys;
use he::circuits::bits::packed::{
    Bit, Depths, Encrypted, ParamsChoice, Predicted, SlotGates, WordGates, WordLayout, params_for,
};
use he::circuits::bits::{
    BitOps, Builder, Circuit, Gate, PlacedGate, Plain, Signal, Word, carry_save, equal, kogge_stone_add,
    less_than, min_max, ripple_add, sum,
};
use he::conformance::{Mirror, Naive};
use he::exact::bootstrapping::{BootstrapParams, BootstrapSpec, Bootstrapper};
use he::exact::{Ciphertext, Decryptor, Encryptor, Evaluator, ExactSpec, Params, Scheme, SecretEncryptor};
use he::params::{ParamsError, Security};
use he::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use num_bigint::BigUint;
use rand::{Rng, RngExt, rngs::ChaCha20Rng};

/// Keys for shifts in both directions.
fn with_shifts<S: Scheme, B: RingOps>(mut world: World<S, B>, rng: &mut ChaCha20Rng) -> World<S, B> {
    let steps = (0..world.ring.spec().log_n() - 1).flat_map(|i| [1i64 << i, -(1 << i)]);
    world.keys = EvaluationKeys::generate(
        &world.secret,
        &world.ring,
        KeyRequirements::new().relinearisation().rotations(steps),
        rng,
    )
    .unwrap();
    world
}

fn shallow<S: Scheme>(log_n: u32, primes: usize) -> Params<S> {
    insecure(log_n, &vec![50; primes], &[50, 50], 65537)
}

fn encrypt<S: Scheme, B: RingOps>(
    world: &World<S, B>,
    slots: &[Vec<u64>],
    rng: &mut ChaCha20Rng,
) -> Ciphertext<S, B> {
    let rows: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
    let plaintext = world.ev.encoder().encode_batch(&rows).unwrap();
    Encryptor::new(&world.params, &world.public).unwrap().encrypt(&plaintext, rng).unwrap()
}

type Of<S, B> = Bit<Ciphertext<S, B>>;

/// The slots of bits; what was computed has more budget than predicted.
fn decrypt<S: Scheme, B: RingOps>(
    world: &World<S, B>,
    gates: &SlotGates<Encrypted<'_, S, B>>,
    bits: &[Of<S, B>],
) -> Vec<Vec<u64>> {
    bits.iter()
        .map(|bit| {
            let Some(ct) = gates.vector(bit).unwrap() else {
                let Bit::Constant(bit) = bit else { unreachable!() };
                return vec![u64::from(*bit); world.n()];
            };
            let budget = world.decryptor.noise_budget(&ct).unwrap()[0];
            let predicted = ct.predicted_budget(&world.params);
            assert!(predicted > 0.0 && budget > predicted, "budget {budget}, predicted {predicted}");
            let plaintext = world.decryptor.decrypt(&ct).unwrap();
            world.ev.encoder().decode::<u64>(&plaintext).unwrap().remove(0)
        })
        .collect()
}

/// A circuit on encrypted bits, slot by slot what it is on plain ones; `inputs` by bit, then slot.
fn check_circuit<S: Scheme, B: RingOps>(
    world: &World<S, B>,
    circuit: &Circuit,
    inputs: &[Vec<u64>],
    rng: &mut ChaCha20Rng,
) -> Vec<Vec<u64>> {
    let gates = SlotGates::new(Encrypted::new(&world.ev, &world.keys)).with_batch(7);
    let bits = gates.bits(encrypt(world, inputs, rng));
    let outputs = circuit.run(&gates, &bits).unwrap();
    let found = decrypt(world, &gates, &outputs);
    for slot in 0..world.n() {
        let plain = inputs.iter().map(|bits| bits[slot] == 1).collect();
        let expected = circuit.run(&Plain, &plain).unwrap();
        let found: Vec<bool> = found.iter().map(|bits| bits[slot] == 1).collect();
        assert_eq!(found, expected, "slot {slot}");
    }
    assert!(found.iter().flatten().all(|&bit| bit <= 1));
    // The same circuit on predictions: exactly what the ciphertexts carry.
    let predicted = SlotGates::new(Predicted::new(&world.params, 0.0)).with_batch(7);
    let bits = predicted.bits(predicted.arithmetic().fresh(inputs.len()));
    for (prediction, real) in circuit.run(&predicted, &bits).unwrap().iter().zip(&outputs) {
        let (prediction, real) = (predicted.vector(prediction).unwrap(), gates.vector(real).unwrap());
        assert_eq!(
            prediction.map(|x| (x.level(), x.correction_factor(), x.noise())),
            real.map(|x| (x.level(), x.correction_factor(), x.noise()))
        );
    }
    found
}

/// Random bits in every slot.
fn random_bits(count: usize, slots: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<u64>> {
    (0..count).map(|_| (0..slots).map(|_| u64::from(rng.next_u32() & 1)).collect()).collect()
}

/// All gates of three bits, on all signals, so that all truth tables, negations, equal and public
/// inputs occur.
fn truth_tables<S: Scheme>(rng: &mut ChaCha20Rng) {
    let world = World::new(shallow::<S>(3, 4), rng);
    // Eight slots: all values of three bits.
    let inputs: Vec<Vec<u64>> = (0..3).map(|i| (0..8).map(|slot| slot >> i & 1).collect()).collect();
    let gates = SlotGates::new(Encrypted::new(&world.ev, &world.keys));
    let mut slots = gates.slots(5).unwrap();
    gates.write(&mut slots, 0, &gates.bits(encrypt(&world, &inputs, rng)), 0..3).unwrap();
    let signals: Vec<Signal> = (0..4)
        .flat_map(|index| [Signal::Slot { index, negated: false }, Signal::Slot { index, negated: true }])
        .chain([Signal::Constant(false), Signal::Constant(true)])
        .collect();
    let mut placed = Vec::new();
    for &x in &signals {
        for &y in &signals {
            placed.extend((0..16).map(|table| PlacedGate { gate: Gate::Lookup(table), inputs: [x, y, y] }));
            for &z in &signals {
                let three = [Gate::Majority, Gate::Parity, Gate::Mux];
                placed.extend(three.map(|gate| PlacedGate { gate, inputs: [x, y, z] }));
            }
        }
    }
    // Some hundreds at a time, that differ from seed to seed.
    for _ in 0..3 {
        let some: Vec<PlacedGate> = (0..200).map(|_| placed[rng.random_range(0..placed.len())]).collect();
        let mut slots = [slots.clone(), gates.slots(some.len()).unwrap()].concat();
        gates.gates(&mut slots, &some, 5).unwrap();
        let found = decrypt(&world, &gates, &slots[5..]);
        for slot in 0..8 {
            let mut plain: Vec<bool> = inputs.iter().map(|bits| bits[slot] == 1).collect();
            plain.resize(5 + some.len(), false);
            Plain.gates(&mut plain, &some, 5).unwrap();
            for ((gate, found), expected) in some.iter().zip(&found).zip(&plain[5..]) {
                assert_eq!(found[slot], u64::from(*expected), "{gate:?} at {slot:03b}");
            }
        }
    }
    // Each gate of P3's support table by its name.
    let [a, b, c] = [0, 1, 2].map(|index| Signal::Slot { index, negated: false });
    let named = [
        ("and", Gate::Lookup(0b1000), [0, 0, 0, 1]),
        ("nand", Gate::Lookup(0b0111), [1, 1, 1, 0]),
        ("or", Gate::Lookup(0b1110), [0, 1, 1, 1]),
        ("nor", Gate::Lookup(0b0001), [1, 0, 0, 0]),
        ("xor", Gate::Lookup(0b0110), [0, 1, 1, 0]),
        ("xnor", Gate::Lookup(0b1001), [1, 0, 0, 1]),
        ("not", Gate::Lookup(0b0101), [1, 0, 1, 0]),
    ];
    for (name, gate, values) in named {
        let mut slots = slots.clone();
        gates.gates(&mut slots, &[PlacedGate { gate, inputs: [b, a, c] }], 4).unwrap();
        let found = decrypt(&world, &gates, &slots[4..]).remove(0);
        // Slot 2b + a.
        assert_eq!(found[..4], values, "{name}");
    }
}

#[test]
fn gates_have_their_truth_tables() {
    for_seeds(2, truth_tables::<Bfv>);
    for_seeds(2, truth_tables::<Bgv>);
}

fn binary(x: usize, y: usize, f: impl Fn(&mut Builder, &[Signal], &[Signal]) -> Word) -> Circuit {
    let mut c = Builder::new(x + y).with_multiplexers();
    let (a, b) = (c.input(0..x), c.input(x..x + y));
    let out = f(&mut c, &a, &b);
    c.finish(&out)
}

/// Random and edge numbers of two widths, slot by slot.
fn pairs(width: usize, slots: usize, rng: &mut ChaCha20Rng) -> (Vec<u128>, Vec<u128>) {
    let top = (1u128 << width) - 1;
    let edges = [(0, 0), (top, top), (top, 1 & top), (0, top), (top >> 1, top), (5 & top, 5 & top)];
    (0..slots)
        .map(|slot| {
            let random = |rng: &mut ChaCha20Rng| u128::from(rng.next_u64()) & top;
            let close = random(rng);
            edges.get(slot).copied().unwrap_or(match slot % 3 {
                0 => (close, close),
                1 => (close, close ^ 1),
                _ => (random(rng), random(rng)),
            })
        })
        .unzip()
}

fn columns(numbers: &[u128], width: usize) -> Vec<Vec<u64>> {
    (0..width).map(|i| numbers.iter().map(|x| (x >> i & 1) as u64).collect()).collect()
}

fn numbers(columns: &[Vec<u64>]) -> Vec<u128> {
    let bits = |slot: usize| columns.iter().enumerate().map(move |(i, bits)| u128::from(bits[slot]) << i);
    (0..columns[0].len()).map(|slot| bits(slot).sum()).collect()
}

fn sliced_integers<S: Scheme>(widths: &[usize], rng: &mut ChaCha20Rng) {
    let world = World::new(shallow::<S>(4, 12), rng);
    for &width in widths {
        let (x, y) = pairs(width, world.n(), rng);
        let inputs = [columns(&x, width), columns(&y, width)].concat();
        let check = |circuit: Circuit, rng: &mut ChaCha20Rng, expected: &dyn Fn(u128, u128) -> u128| {
            let found = numbers(&check_circuit(&world, &circuit, &inputs, rng));
            let expected: Vec<u128> = x.iter().zip(&y).map(|(&x, &y)| expected(x, y)).collect();
            assert_eq!(found, expected, "{width} bits");
        };
        let with_carry = |(mut sum, carry): (Word, Signal)| {
            sum.push(carry);
            sum
        };
        check(binary(width, width, |c, x, y| with_carry(kogge_stone_add(c, x, y))), rng, &|x, y| x + y);
        check(binary(width, width, |c, x, y| vec![less_than(c, x, y)]), rng, &|x, y| u128::from(x < y));
        check(binary(width, width, |c, x, y| vec![equal(c, x, y)]), rng, &|x, y| u128::from(x == y));
        if width <= 8 {
            let ripple =
                |c: &mut Builder, x: &[Signal], y: &[Signal]| ripple_add(c, x, y, Signal::Constant(true));
            check(binary(width, width, |c, x, y| with_carry(ripple(c, x, y))), rng, &|x, y| x + y + 1);
            check(binary(width, width, |c, x, y| min_max(c, x, y).0), rng, &|x, y| x.min(y));
        }
    }
}

#[test]
fn sliced_adders_and_comparators_agree_with_integers() {
    for_seeds(1, |rng| sliced_integers::<Bfv>(&[2, 3, 8, 64], rng));
    for_seeds(1, |rng| sliced_integers::<Bgv>(&[2, 4, 16, 32], rng));
}

#[test]
fn sliced_sums_of_many_agree_with_integers() {
    for_seeds(1, |rng| {
        let world = World::new(shallow::<Bfv>(4, 14), rng);
        let (count, width) = (9, 4);
        let mut c = Builder::new(count * width).with_multiplexers();
        let words = (0..count).map(|i| c.input(i * width..(i + 1) * width)).collect();
        let out = sum(&mut c, words, width + 4);
        let circuit = c.finish(&out);
        let inputs = random_bits(count * width, world.n(), rng);
        let found = numbers(&check_circuit(&world, &circuit, &inputs, rng));
        let expected = inputs
            .chunks(width)
            .map(numbers)
            .fold(vec![0; world.n()], |all, x| all.iter().zip(x).map(|(a, b)| a + b).collect());
        assert_eq!(found, expected);
    });
}

fn bits_of(number: &BigUint, width: usize) -> Vec<bool> {
    (0..width as u64).map(|i| number.bit(i)).collect()
}

fn number_of(slots: &[u64]) -> BigUint {
    assert!(slots.iter().all(|&bit| bit <= 1), "{slots:?}");
    slots.iter().rev().fold(BigUint::ZERO, |all, &bit| (all << 1u32) + bit)
}

/// Random numbers of a width, the first two all ones and zero.
fn random_numbers(count: usize, width: usize, rng: &mut ChaCha20Rng) -> Vec<BigUint> {
    let top = (BigUint::from(1u32) << width) - 1u32;
    (0..count)
        .map(|i| {
            let mut bytes = vec![0; width.div_ceil(8)];
            rng.fill_bytes(&mut bytes);
            match i % 5 {
                0 => top.clone(),
                1 => BigUint::ZERO,
                _ => BigUint::from_bytes_le(&bytes) & &top,
            }
        })
        .collect()
}

struct Words<'a, S: Scheme, B: RingOps> {
    world: &'a World<S, B>,
    gates: WordGates<Encrypted<'a, S, B>>,
}

impl<'a, S: Scheme, B: RingOps> Words<'a, S, B> {
    fn new(world: &'a World<S, B>, layout: WordLayout) -> Self {
        let gates = SlotGates::new(Encrypted::new(&world.ev, &world.keys)).with_batch(5);
        Self { world, gates: WordGates::new(gates, layout) }
    }

    fn encrypt(&self, words: &[Vec<BigUint>], width: usize, rng: &mut ChaCha20Rng) -> Vec<Of<S, B>> {
        let pack = |numbers: &Vec<BigUint>| {
            let bits: Vec<Vec<bool>> = numbers.iter().map(|x| bits_of(x, width)).collect();
            self.gates.layout().pack(&bits).unwrap()
        };
        let slots: Vec<Vec<u64>> = words.iter().map(pack).collect();
        self.gates.gates().bits(encrypt(self.world, &slots, rng))
    }

    fn slots(&self, word: &Of<S, B>) -> Vec<u64> {
        decrypt(self.world, self.gates.gates(), std::slice::from_ref(word)).remove(0)
    }

    fn numbers(&self, word: &Of<S, B>) -> Vec<BigUint> {
        let slots = self.slots(word);
        self.gates.layout().unpack(&slots).unwrap().into_iter().map(number_of).collect()
    }

    /// The first slot of each number.
    fn answers(&self, word: &Of<S, B>) -> Vec<bool> {
        let slots = self.slots(word);
        self.gates.layout().unpack(&slots).unwrap().iter().map(|slots| slots[0] == 1).collect()
    }
}

fn word_sums<S: Scheme, B: RingOps>(world: &World<S, B>, shapes: &[(usize, usize)], rng: &mut ChaCha20Rng) {
    for &(count, width) in shapes {
        let words = Words::new(world, WordLayout::for_sum(world.n(), count, width).unwrap());
        let capacity = words.gates.layout().capacity();
        let inputs: Vec<Vec<BigUint>> = (0..count).map(|_| random_numbers(capacity, width, rng)).collect();
        let encrypted = words.encrypt(&inputs, width, rng);
        let expected: Vec<BigUint> =
            (0..capacity).map(|i| inputs.iter().map(|word| &word[i]).sum()).collect();
        for saved in [words.gates.carry_save(&encrypted), words.gates.count_save(&encrypted)] {
            let saved = saved.unwrap();
            assert_eq!(saved.len(), count.min(2));
            let parts: Vec<Vec<BigUint>> = saved.iter().map(|word| words.numbers(word)).collect();
            for (i, expected) in expected.iter().enumerate() {
                assert_eq!(
                    &parts.iter().map(|part| &part[i]).sum::<BigUint>(),
                    expected,
                    "{count} x {width}"
                );
            }
        }
        let sum = words.gates.sum_by_counting(&encrypted).unwrap();
        assert_eq!(words.numbers(&sum), expected, "{count} numbers of {width} bits, counted");
        let sum = words.gates.sum(&encrypted).unwrap();
        assert_eq!(words.numbers(&sum), expected, "{count} numbers of {width} bits");
        // Predictions are what ciphertexts carry.
        let predicted = SlotGates::new(Predicted::new(&world.params, 0.0)).with_batch(5);
        let fresh = predicted.bits(predicted.arithmetic().fresh(count));
        let predicted = WordGates::new(predicted, words.gates.layout());
        let prediction = predicted.sum(&fresh).unwrap();
        let (prediction, real) = (
            predicted.gates().vector(&prediction).unwrap().unwrap(),
            words.gates.gates().vector(&sum).unwrap().unwrap(),
        );
        assert_eq!((prediction.level(), prediction.noise()), (real.level(), real.noise()));
    }
}

#[test]
fn words_add_up() {
    for_seeds(1, |rng| {
        let world = with_shifts(World::new(shallow::<Bfv>(8, 14), rng), rng);
        word_sums(&world, &[(1, 5), (2, 1), (2, 32), (3, 32), (4, 7), (5, 64), (9, 2)], rng);
        let world = with_shifts(World::new(shallow::<Bgv>(8, 20), rng), rng);
        word_sums(&world, &[(2, 64), (3, 32), (4, 5), (16, 8)], rng);
        let world = with_shifts(World::new(shallow::<Bfv>(8, 18), rng), rng);
        word_sums(&world, &[(33, 3), (64, 2)], rng);
    });
}

fn word_comparisons<S: Scheme, B: RingOps>(world: &World<S, B>, widths: &[usize], rng: &mut ChaCha20Rng) {
    for &width in widths {
        let words = Words::new(world, WordLayout::for_comparison(world.n(), width).unwrap());
        let capacity = words.gates.layout().capacity();
        let mut x = random_numbers(capacity, width, rng);
        let mut y = random_numbers(capacity, width, rng);
        // Equal ones, and such that differ in one bit.
        for i in 0..capacity {
            match i % 4 {
                0 => y[i] = x[i].clone(),
                1 => {
                    y[i] = x[i].clone();
                    let place = rng.random_range(0..width as u64);
                    let other = !y[i].bit(place);
                    y[i].set_bit(place, other);
                }
                _ => {}
            }
        }
        x.rotate_left(capacity / 2);
        y.rotate_left(capacity / 2);
        let encrypted = words.encrypt(&[x.clone(), y.clone()], width, rng);
        let [a, b] = encrypted.as_slice() else { unreachable!() };
        let less: Vec<bool> = x.iter().zip(&y).map(|(x, y)| x < y).collect();
        let same: Vec<bool> = x.iter().zip(&y).map(|(x, y)| x == y).collect();
        assert_eq!(words.answers(&words.gates.less_than(a, b).unwrap()), less, "{width} bits");
        assert_eq!(words.answers(&words.gates.equal(a, b).unwrap()), same, "{width} bits");
        // Bit by bit.
        for (table, f) in [
            (0b1000, (|x, y| x & y) as fn(BigUint, BigUint) -> BigUint),
            (0b1110, |x, y| x | y),
            (0b0110, |x, y| x ^ y),
        ] {
            let found = words.numbers(&words.gates.bitwise(table, a, b).unwrap());
            let expected: Vec<BigUint> = x.iter().zip(&y).map(|(x, y)| f(x.clone(), y.clone())).collect();
            assert_eq!(found, expected, "{table:04b}");
        }
    }
}

#[test]
fn words_compare() {
    for_seeds(1, |rng| {
        let world = with_shifts(World::new(shallow::<Bfv>(8, 10), rng), rng);
        word_comparisons(&world, &[1, 2, 3, 16, 64, 100], rng);
        let world = with_shifts(World::new(shallow::<Bgv>(8, 10), rng), rng);
        word_comparisons(&world, &[2, 8, 32, 128], rng);
    });
}

#[test]
fn numbers_of_1024_bits_compare() {
    for_seeds(1, |rng| {
        let world = with_shifts(World::new(shallow::<Bfv>(12, 12), rng), rng);
        word_comparisons(&world, &[1024], rng);
        // One ciphertext per bit.
        let world = World::new(shallow::<Bgv>(3, 14), rng);
        let circuit = binary(1024, 1024, |c, x, y| vec![less_than(c, x, y), equal(c, x, y)]);
        let x = random_bits(1024, 8, rng);
        let mut y = x.clone();
        for (slot, place) in [0, 1, 500, 1022, 1023].into_iter().enumerate() {
            y[place][slot] ^= 1;
        }
        check_circuit(&world, &circuit, &[x, y].concat(), rng);
    });
}

/// The same words on two back ends.
#[test]
fn words_are_the_same_on_two_back_ends() {
    for_seeds(1, |rng| {
        let world = World::on(Mirror::new(Cpu::new(), Naive), shallow::<Bfv>(5, 8), rng);
        let world = with_shifts(world, rng);
        word_sums(&world, &[(3, 4)], rng);
        word_comparisons(&world, &[4], rng);
        let world = World::on(Mirror::new(Cpu::new(), Naive), shallow::<Bgv>(3, 6), rng);
        let circuit = binary(4, 4, |c, x, y| vec![less_than(c, x, y), equal(c, x, y)]);
        let inputs = random_bits(8, 8, rng);
        check_circuit(&world, &circuit, &inputs, rng);
    });
}

#[test]
fn spent_budgets_and_wrong_layouts_are_refused() {
    for_seeds(1, |rng| {
        let world = with_shifts(World::new(shallow::<Bfv>(5, 2), rng), rng);
        let words = Words::new(&world, WordLayout::for_sum(32, 2, 8).unwrap());
        let inputs = random_numbers(2, 8, rng);
        let [x, y] = words.encrypt(&[inputs.clone(), inputs.clone()], 8, rng).try_into().unwrap();
        let error = words.gates.add(&x, &y).unwrap_err();
        assert!(matches!(error, Error::BudgetSpent { excess_bits } if excess_bits > 0.0), "{error}");
        let comparison = words.gates.less_than(&x, &y);
        assert!(matches!(comparison, Err(Error::Argument { what: "layout of words", .. })));
        let public = words.gates.add(&x, &Bit::Constant(true));
        assert!(matches!(public, Err(Error::Argument { what: "word", .. })));
        assert!(matches!(words.gates.sum(&[]), Err(Error::BatchRange { .. })));
        assert!(matches!(WordLayout::new(32, 17), Err(Error::Argument { .. })));
        assert!(matches!(WordLayout::new(32, 0), Err(Error::Argument { .. })));
        assert!(matches!(WordLayout::for_comparison(32, usize::MAX), Err(Error::Argument { .. })));
        assert!(matches!(WordLayout::for_sum(32, usize::MAX, usize::MAX), Err(Error::Argument { .. })));
        let layout = words.gates.layout();
        assert!(matches!(layout.pack(&[vec![true; 11]]), Err(Error::TooManyValues { .. })));
        assert!(matches!(layout.pack(&vec![vec![true]; 3]), Err(Error::TooManyValues { .. })));
        assert!(matches!(layout.unpack(&[0; 31]), Err(Error::TooManyValues { .. })));
        // No rotation keys.
        let keyless = EvaluationKeys::generate(
            &world.secret,
            &world.ring,
            KeyRequirements::new().relinearisation(),
            rng,
        )
        .unwrap();
        let gates = SlotGates::new(Encrypted::new(&world.ev, &keyless));
        let gates = WordGates::new(gates, WordLayout::for_comparison(32, 8).unwrap());
        assert!(matches!(gates.equal(&x, &y), Err(Error::MissingGaloisKey { .. })));
        // Slots that do not exist.
        let gates = SlotGates::new(Encrypted::new(&world.ev, &world.keys));
        let far = Signal::Slot { index: 7, negated: false };
        assert!(matches!(gates.gather(&vec![x.clone()], &[far]), Err(Error::BatchRange { .. })));
        let too_deep = ParamsChoice { log_n: 12..=12, ..ParamsChoice::default() };
        let unreachable = params_for::<Bfv>(&too_deep, |prediction| {
            let gates = SlotGates::new(prediction);
            let bits = gates.bits(gates.arithmetic().fresh(16));
            binary(8, 8, |c, x, y| vec![less_than(c, x, y)]).run(&gates, &bits).map(drop)
        });
        let choice = ParamsChoice { log_n: 12..=80, ..ParamsChoice::default() };
        let outside = params_for::<Bgv>(&choice, |_| Ok(()));
        assert!(matches!(outside, Err(Error::InvalidParams(ParamsError::OutOfRange { .. }))), "{outside:?}");
        assert!(
            matches!(unreachable, Err(Error::InvalidParams(ParamsError::DepthUnreachable { .. }))),
            "{unreachable:?}"
        );
    });
}

/// The tuples (words, depth, products, rotations) of sums by counting.
const COUNTED: [(usize, usize, usize, usize); 2] = [(7, 5, 8, 3), (64, 11, 42, 10)];

/// Depths and products that the documentation names.
#[test]
fn costs_are_those_of_the_documentation() {
    type Packed = Bit<(usize, usize)>;
    let cost = |stride: usize, f: &dyn Fn(&WordGates<Depths>, &[Packed]) -> Packed| {
        let gates = WordGates::new(SlotGates::new(Depths::default()), WordLayout::new(4096, stride).unwrap());
        let words = gates.gates().bits((0, 2));
        let word = f(&gates, &words);
        let depth = gates.gates().vector(&word).unwrap().unwrap().0;
        let counts = gates.gates().arithmetic();
        (depth, counts.products(), counts.rotations())
    };
    for (stride, log) in [(34, 5), (66, 6), (43, 6), (3, 0), (10, 3)] {
        let steps = 2 * log - usize::from(log > 0);
        let found = cost(stride, &|gates, words| gates.add(&words[0], &words[1]).unwrap());
        assert_eq!(found, (log + 2, steps + 2, steps + 1), "addition, stride {stride}");
    }
    for log in 1..=10 {
        let less = cost(1 << log, &|gates, words| gates.less_than(&words[0], &words[1]).unwrap());
        assert_eq!(less, (log + 1, 2 * log, 2 * log), "less-than, stride 2^{log}");
        let same = cost(1 << log, &|gates, words| gates.equal(&words[0], &words[1]).unwrap());
        assert_eq!(same, (log + 1, log + 1, log), "equality, stride 2^{log}");
    }
    for (count, depth) in [(3, 2), (8, 7), (64, 16), (1024, 27)] {
        let gates = WordGates::new(SlotGates::new(Depths::default()), WordLayout::new(4096, 64).unwrap());
        let words = gates.carry_save(&gates.gates().bits((0, count))).unwrap();
        let deepest = words.iter().map(|word| gates.gates().vector(word).unwrap().unwrap().0).max();
        let counts = gates.gates().arithmetic();
        assert_eq!((deepest, counts.rotations()), (Some(depth), count - 2));
        assert_eq!(counts.products(), 2 * (count - 2));
    }
    for (count, depth, products, rotations) in COUNTED {
        let gates = WordGates::new(SlotGates::new(Depths::default()), WordLayout::new(4096, 64).unwrap());
        let words = gates.count_save(&gates.gates().bits((0, count))).unwrap();
        let deepest = words.iter().map(|word| gates.gates().vector(word).unwrap().unwrap().0).max();
        let counts = gates.gates().arithmetic();
        assert_eq!((deepest, counts.products(), counts.rotations()), (Some(depth), products, rotations));
    }
    // A tenth of the products of 1022 full adders.
    let gates = WordGates::new(SlotGates::new(Depths::default()), WordLayout::new(4096, 64).unwrap());
    let words = gates.count_save(&gates.gates().bits((0, 1024))).unwrap();
    let deepest = words.iter().map(|word| gates.gates().vector(word).unwrap().unwrap().0).max();
    assert!(deepest < Some(20) && gates.gates().arithmetic().products() < 250);
    // One ciphertext per bit: multiplexers keep each level of a prefix at one product's depth.
    let circuit = binary(32, 32, |c, x, y| vec![less_than(c, x, y)]);
    let gates = SlotGates::new(Depths::default());
    let out = circuit.run(&gates, &gates.bits((0, 64))).unwrap();
    assert_eq!(gates.vector(&out[0]).unwrap().unwrap().0, 6);
    assert!(gates.arithmetic().products() < 3 * 32);
    let mut c = Builder::new(3 * 8).with_multiplexers();
    let words = (0..3).map(|i| c.input(8 * i..8 * i + 8)).collect();
    let saved: Word = carry_save(&mut c, words, 10).concat();
    let circuit = c.finish(&saved);
    let gates = SlotGates::new(Depths::default());
    circuit.run(&gates, &gates.bits((0, 24))).unwrap();
    assert_eq!(gates.arithmetic().products(), 2 * 8);
}

/// Chain primes of 1 modulo t keep the correction factor of BGV at 1.
#[test]
fn unit_correction_factors_stay_one() {
    for_seeds(1, |rng| {
        let spec = ExactSpec::with_unit_correction_factors(5, &[40; 4], &[41], 65537).unwrap();
        assert!(spec.q.iter().all(|q| q % 65537 == 1 && q % 64 == 1 && q >> 39 == 1));
        let world = World::new(Params::<Bgv>::insecure(spec).unwrap(), rng);
        let ct = encrypt(&world, &random_bits(1, 32, rng), rng);
        let square = world.ev.square(&ct, &world.keys).unwrap();
        let lower = world.ev.mod_switch_to(&square, 0).unwrap();
        assert_eq!(
            (ct.correction_factor(), square.correction_factor(), lower.correction_factor()),
            (1, 1, 1)
        );
        assert!(ExactSpec::with_unit_correction_factors(5, &[24], &[41], 65537).is_err());
        assert!(ExactSpec::with_unit_correction_factors(4, &[32, 33], &[41], 1 << 20).is_ok());
    });
}

/// P3's jobs at full parameters.
#[test]
#[ignore = "full parameters: minutes"]
fn full_parameters() {
    for_seeds(1, |rng| {
        let layout = |n| WordLayout::for_sum(n, 3, 32).unwrap();
        let params = params_for::<Bgv>(&ParamsChoice::default(), |prediction| {
            let gates = SlotGates::new(prediction);
            let words = gates.bits(gates.arithmetic().fresh(3));
            WordGates::new(gates, layout(4096)).sum(&words).map(drop)
        })
        .unwrap();
        assert!(params.rlwe().security() >= Security::Bits128);
        let world = with_shifts(World::new(params, rng), rng);
        word_sums(&world, &[(3, 32)], rng);
    });
}

/// SEAL's row: sums of integers, the widths of P3, exact modulo one or two primes.
#[test]
fn integers_add_up() {
    for_seeds(1, |rng| {
        let moduli = he::arith::ntt_primes_below(50, 13, 2, &[]).unwrap();
        let worlds: Vec<World<Bfv>> = moduli
            .iter()
            .map(|&t| World::new(Params::<Bfv>::for_depth(t, 0).slots().log_n(13).build().unwrap(), rng))
            .collect();
        for (width, used) in [(32, 1), (64, 2)] {
            let product: BigUint = moduli[..used].iter().map(|&t| BigUint::from(t)).product();
            let mut sums = vec![BigUint::ZERO; 4];
            let mut encrypted: Vec<Option<Ciphertext<Bfv, Cpu>>> = (0..used).map(|_| None).collect();
            for i in 0..64 {
                let numbers = random_numbers(4, width, rng);
                for (j, sum) in encrypted.iter_mut().enumerate() {
                    let world = &worlds[j];
                    let residues = |x: &BigUint| (x % moduli[j]).iter_u64_digits().next().unwrap_or(0);
                    let ct = encrypt(world, &[numbers.iter().map(residues).collect()], rng);
                    *sum = Some(match sum.as_ref() {
                        None => ct,
                        Some(sum) => world.ev.add(sum, &ct).unwrap(),
                    });
                }
                sums.iter_mut().zip(&numbers).for_each(|(sum, x)| *sum += x);
                // After 3, 4, 8 ... numbers.
                if ![3, 4, 8, 16, 32, 64].contains(&(i + 1)) {
                    continue;
                }
                let mut found = vec![BigUint::ZERO; 4];
                for (j, ct) in encrypted.iter().enumerate() {
                    let plaintext = worlds[j].decryptor.decrypt(ct.as_ref().unwrap()).unwrap();
                    let slots = worlds[j].ev.encoder().decode::<u64>(&plaintext).unwrap().remove(0);
                    let others = &product / moduli[j];
                    let t = BigUint::from(moduli[j]);
                    let unit = &others * others.modpow(&(&t - 2u32), &t);
                    found.iter_mut().zip(slots).for_each(|(x, slot)| *x += &unit * slot);
                }
                let found: Vec<BigUint> = found.into_iter().map(|x| x % &product).collect();
                assert_eq!(found, sums, "{} numbers of {width} bits", i + 1);
            }
        }
    });
}

/// A ripple adder of 24 bits, far beyond the depth of any parameters that allow one product, slot
/// by slot beside native integers.
fn deep_adder<S: Scheme>(rng: &mut ChaCha20Rng) {
    // A prime that is 1 modulo 2N.
    let spec = BootstrapSpec::insecure_for_depth::<S>(12289, 1, 7).unwrap();
    let boot = BootstrapParams::<S>::insecure(spec).unwrap();
    let (params, ring) = (boot.params(), boot.ring(Cpu::new()).unwrap());
    let secret = SecretKey::generate(params.rlwe(), rng);
    let needs = KeyRequirements::new().relinearisation();
    let keys = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
    let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, rng).unwrap();
    let bootstrapper = Bootstrapper::new(&boot, &ring).unwrap();
    let ev = Evaluator::<S>::new(params, &ring).unwrap();

    const BITS: usize = 24;
    let mut builder = Builder::new(2 * BITS);
    let (x, y) = (builder.input(0..BITS), builder.input(BITS..2 * BITS));
    let (mut total, carry) = ripple_add(&mut builder, &x, &y, Signal::Constant(false));
    total.push(carry);
    let circuit = builder.finish(&total);
    let inputs = random_bits(2 * BITS, ring.n(), rng);
    let rows: Vec<&[u64]> = inputs.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_batch(&rows).unwrap();
    let encryptor = SecretEncryptor::new(params, &secret, &ring).unwrap();
    let ct = encryptor.encrypt(&plain, rng).unwrap().expand().unwrap();

    let too_deep = SlotGates::new(Encrypted::new(&ev, &keys));
    let spent = circuit.run(&too_deep, &too_deep.bits(ct.duplicate().unwrap()));
    assert!(matches!(spent, Err(Error::BudgetSpent { .. })));
    let arithmetic =
        Encrypted::new(&ev, &keys).with_refreshes(bootstrapper.with_keys(&boot_keys).reserve_bits(8.0));
    let gates = SlotGates::new(arithmetic);
    let outputs = circuit.run(&gates, &gates.bits(ct)).unwrap();
    assert!(gates.arithmetic().refreshes() > 5, "{}", gates.arithmetic().refreshes());
    let decryptor = Decryptor::new(params, &secret, &ring).unwrap();
    let found: Vec<Vec<u64>> = outputs
        .iter()
        .map(|bit| {
            let ct = gates.vector(bit).unwrap().unwrap();
            let (measured, predicted) =
                (decryptor.noise_budget(&ct).unwrap()[0], ct.predicted_budget(params));
            assert!(predicted > 0.0 && measured > predicted, "{measured} beside {predicted}");
            ev.encoder().decode(&decryptor.decrypt(&ct).unwrap()).unwrap().remove(0)
        })
        .collect();
    let number =
        |bits: &[Vec<u64>], slot: usize| bits.iter().enumerate().map(|(i, row)| row[slot] << i).sum::<u64>();
    for slot in 0..ring.n() {
        let expected = number(&inputs[..BITS], slot) + number(&inputs[BITS..], slot);
        assert_eq!(number(&found, slot), expected, "slot {slot}");
    }
}

#[test]
fn circuits_of_any_depth() {
    for_seeds(1, |rng| {
        deep_adder::<Bfv>(rng);
        deep_adder::<Bgv>(rng);
    });
}
