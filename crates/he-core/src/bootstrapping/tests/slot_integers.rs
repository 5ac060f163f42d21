//! Integers in slots, against those of Rust.

use super::*;
use crate::backend::Tally;
use crate::bootstrapping::integers::{
    ByteTable, DecisionTree, IntegerEvaluator, SlotFlags, SlotIntegers, Thresholds, Width,
};
use std::sync::OnceLock;

/// The slots of the small parameters.
const SLOTS: usize = 128;

/// Two's complement of a and b in the type of a width, and a word of the result.
macro_rules! in_rust {
    ($width:expr, $a:expr, $b:expr, |$x:ident, $y:ident| $f:expr) => {
        in_rust!(@ $width, $a, $b, $x, $y, $f,
            U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64)
    };
    (@ $width:expr, $a:expr, $b:expr, $x:ident, $y:ident, $f:expr, $($variant:ident $type:ty),+) => {
        match $width {
            $(Width::$variant => zipped($a, $b, |x, y| {
                let ($x, $y) = (x as $type, y as $type);
                $f as u64 & $width.mask()
            }),)+
        }
    };
}

fn zipped<T>(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// Pairs of edges, then random numbers of all lengths and equal ones.
fn operands(rng: &mut ChaCha20Rng, width: Width) -> (Vec<u64>, Vec<u64>) {
    let most = width.mask();
    let edges = [0, 1, 15, 16, most / 2, most / 2 + 1, most - 15, most];
    let pairs = edges.into_iter().flat_map(|a| edges.map(|b| (a, b)));
    let mut random = || rng.random_range(0..=most) >> rng.random_range(0..width.bits());
    let others = (0..SLOTS as u64).map(|k| if k % 8 == 0 { (k, k) } else { (random(), random()) });
    let others: Vec<(u64, u64)> = others.map(|(a, b)| (a & most, b & most)).collect();
    pairs.chain(others).take(SLOTS).unzip()
}

/// Keys and what computes with them, once for all tests.
struct Integers {
    w: World,
    program: EvaluationKeys<Cpu>,
    encryptor: SecretEncryptor<Cpu>,
    decryptor: Decryptor<Cpu>,
}

impl Integers {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Integers> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut w = World::small(Preset::Fast, 8, 7);
            let needs = IntegerEvaluator::<Cpu>::sort_requirements(&w.params);
            let program = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
            let decryptor = Decryptor::new(w.params.params(), &w.secret, &w.ring).unwrap();
            let encryptor = SecretEncryptor::new(w.params.params(), &w.secret, &w.ring).unwrap();
            Self { w, program, encryptor, decryptor }
        })
    }

    fn encrypt(&self, values: &[u64], width: Width) -> SlotIntegers {
        SlotIntegers::encrypt(values, width, &self.encryptor, &mut seeded()).unwrap()
    }

    fn evaluator(&self, width: Width) -> IntegerEvaluator<'_> {
        IntegerEvaluator::new(&self.w.bootstrapper, &self.w.keys, &self.program, width).unwrap()
    }

    fn values(&self, found: Result<SlotIntegers>) -> Vec<u64> {
        found.unwrap().decrypt(&self.decryptor).unwrap()
    }

    fn flags(&self, found: Result<SlotFlags>) -> Vec<u64> {
        found.unwrap().decrypt(&self.decryptor).unwrap().into_iter().map(u64::from).collect()
    }
}

/// An evaluator, two lists of integers, and their encryptions.
struct Operands {
    world: &'static Integers,
    ev: IntegerEvaluator<'static>,
    plain: [Vec<u64>; 2],
    encrypted: [SlotIntegers; 2],
}

fn of_width(width: Width) -> Operands {
    let world = Integers::shared();
    let (a, b) = operands(&mut seeded(), width);
    let encrypted = [world.encrypt(&a, width), world.encrypt(&b, width)];
    Operands { world, ev: world.evaluator(width), plain: [a, b], encrypted }
}

#[test]
fn sums_and_comparisons_are_those_of_rust() {
    for width in [Width::U8, Width::U16, Width::U64, Width::I8, Width::I32] {
        let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(width);
        assert_eq!(world.values(ev.add(&x, &y)), in_rust!(width, &a, &b, |a, b| a.wrapping_add(b)));
        assert_eq!(world.values(ev.sub(&x, &y)), in_rust!(width, &a, &b, |a, b| a.wrapping_sub(b)));
        assert_eq!(world.flags(ev.lt(&x, &y)), in_rust!(width, &a, &b, |a, b| (a < b)));
        assert_eq!(world.flags(ev.eq(&x, &y)), in_rust!(width, &a, &b, |a, b| (a == b)));
        assert_eq!(world.values(ev.min(&x, &y)), in_rust!(width, &a, &b, |a, b| a.min(b)));
    }
    for width in [Width::U16, Width::I16] {
        let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(width);
        assert_eq!(world.values(ev.max(&x, &y)), in_rust!(width, &a, &b, |a, b| a.max(b)));
        assert_eq!(world.values(ev.neg(&x)), in_rust!(width, &a, &a, |a, _b| a.wrapping_neg()));
        assert_eq!(world.values(ev.add_plain(&x, 3)), in_rust!(width, &a, &b, |a, _b| a.wrapping_add(3)));
        let abs = a.iter().map(|&a| match width {
            Width::I16 => u64::from((a as i16).wrapping_abs() as u16),
            _ => a,
        });
        assert_eq!(world.values(ev.abs(&x)), abs.collect::<Vec<_>>());
    }
}

#[test]
fn signed_integers_are_encrypted() {
    let world = Integers::shared();
    let values: Vec<i64> = (0..SLOTS as i64).map(|k| (k - 64) * 257).collect();
    let x = SlotIntegers::encrypt_signed(&values, Width::I16, &world.encryptor, &mut seeded()).unwrap();
    assert_eq!(x.decrypt_signed(&world.decryptor).unwrap(), values);
    let ev = world.evaluator(Width::I16);
    let negative: Vec<u64> = values.iter().map(|&value| u64::from(value < 0)).collect();
    assert_eq!(world.flags(ev.is_negative(&x)), negative);
}

#[test]
fn products_are_those_of_rust() {
    for width in [Width::U8, Width::I16, Width::U32] {
        let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(width);
        assert_eq!(world.values(ev.mul(&x, &y)), in_rust!(width, &a, &b, |a, b| a.wrapping_mul(b)));
    }
    let mut rng = seeded();
    for width in [Width::U8, Width::U16] {
        let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(width);
        for factor in [0, 1, width.mask(), rng.random()] {
            let factor = factor & width.mask();
            let expected = in_rust!(width, &a, &[factor; SLOTS], |a, b| a.wrapping_mul(b));
            assert_eq!(world.values(ev.mul_plain(&x, factor)), expected, "{factor}");
        }
        let sum = in_rust!(width, &a, &b, |a, b| a.wrapping_add(b).wrapping_add(b));
        assert_eq!(world.values(ev.sum(&[&x, &y, &y])), sum);
    }
}

#[test]
fn quotients_are_those_of_rust() {
    let mut rng = seeded();
    for (width, divisors) in [
        (Width::U8, vec![1, 7, 255]),
        (Width::U16, vec![rng.random_range(3..1 << 15)]),
        (Width::I16, vec![10]),
    ] {
        let Operands { world, ev, plain: [a, _], encrypted: [x, _] } = of_width(width);
        for d in divisors {
            let (quotient, remainder) = ev.div_rem_plain(&x, d).unwrap();
            let all = vec![d; SLOTS];
            assert_eq!(world.values(Ok(quotient)), in_rust!(width, &a, &all, |a, b| a / b), "/ {d}");
            assert_eq!(world.values(Ok(remainder)), in_rust!(width, &a, &all, |a, b| a % b), "% {d}");
        }
    }
}

#[test]
fn bits_are_those_of_rust() {
    for (width, amounts) in [(Width::U8, [0, 3, 4, 7]), (Width::I16, [1, 4, 11, 15])] {
        let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(width);
        for k in amounts {
            let n = k as u32;
            assert_eq!(world.values(ev.shl(&x, k)), in_rust!(width, &a, &b, |a, _b| a << n), "{k}");
            assert_eq!(world.values(ev.shr(&x, k)), in_rust!(width, &a, &b, |a, _b| a >> n), "{k}");
            let left = in_rust!(width, &a, &b, |a, _b| a.rotate_left(n));
            assert_eq!(world.values(ev.rotate_left(&x, k)), left, "{k}");
            let right = in_rust!(width, &a, &b, |a, _b| a.rotate_right(n));
            assert_eq!(world.values(ev.rotate_right(&x, k)), right, "{k}");
        }
        assert_eq!(world.values(ev.and(&x, &y)), in_rust!(width, &a, &b, |a, b| a & b));
        assert_eq!(world.values(ev.or(&x, &y)), in_rust!(width, &a, &b, |a, b| a | b));
        assert_eq!(world.values(ev.xor(&x, &y)), in_rust!(width, &a, &b, |a, b| a ^ b));
        assert_eq!(world.values(ev.not(&x)), in_rust!(width, &a, &b, |a, _b| !a));
        let mask = 0x5a3c & width.mask();
        assert_eq!(world.values(ev.and_plain(&x, mask)), zipped(&a, &b, |a, _| a & mask));
        assert_eq!(world.values(ev.or_plain(&x, mask)), zipped(&a, &b, |a, _| a | mask));
        assert_eq!(world.values(ev.xor_plain(&x, mask)), zipped(&a, &b, |a, _| a ^ mask));
    }
}

#[test]
fn conditions_are_combined() {
    let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(Width::U8);
    let (less, equal) = (ev.lt(&x, &y).unwrap(), ev.eq(&x, &y).unwrap());
    let expected = |f: &dyn Fn(u64, u64) -> bool| zipped(&a, &b, |a, b| u64::from(f(a, b)));
    let at_most = ev.or_flags(&less, &equal).unwrap();
    assert_eq!(world.flags(ev.not_flags(&at_most)), expected(&|a, b| a > b));
    assert_eq!(world.flags(ev.and_flags(&at_most, &equal)), expected(&|a, b| a == b));
    assert_eq!(world.flags(ev.xor_flags(&at_most, &equal)), expected(&|a, b| a < b));
    assert_eq!(world.flags(Ok(at_most)), expected(&|a, b| a <= b));
}

#[test]
fn tables_have_entries_for_bytes() {
    let Operands { world, ev, plain: [a, b], encrypted: [x, y] } = of_width(Width::U8);
    let table: Vec<u64> = (0..256u64).map(|m| (m * m + 7) & 0xffff).collect();
    let params = &world.w.params;
    let prepared = ByteTable::new(params, &table, Width::U16).unwrap();
    let found = world.values(ev.entries(&x, &prepared));
    assert_eq!(found, a.iter().map(|&a| table[a as usize]).collect::<Vec<_>>());
    let numbers = [17, 0, 255, 17, 128];
    let thresholds = Thresholds::new(params, &[&numbers, &[3]]).unwrap();
    let found = ev.lt_each(&[&x, &y], &thresholds).unwrap();
    let of_each = numbers.map(|number| (&a, number)).into_iter().chain([(&b, 3)]);
    for (found, (values, number)) in found.into_iter().flatten().zip(of_each) {
        let expected: Vec<u64> = values.iter().map(|&value| u64::from(value < number)).collect();
        assert_eq!(world.flags(Ok(found)), expected, "{number}");
    }
    assert!(matches!(ev.lt_each(&[&x], &thresholds), Err(Error::Argument { .. })));
    assert!(matches!(ByteTable::new(params, &table[1..], Width::U16), Err(Error::Argument { .. })));
    assert!(matches!(ByteTable::new(params, &table, Width::U8), Err(Error::Argument { .. })));
    let (none, great): (&[u64], &[u64]) = (&[], &[256]);
    for lists in [&[][..], &[none], &[great]] {
        assert!(matches!(Thresholds::new(params, lists), Err(Error::Argument { .. })), "{lists:?}");
    }
}

/// A tree of random nodes, of which some are alike, against a walk.
#[test]
fn trees_are_walked() {
    let Operands { world, ev, plain, encrypted: [x, y] } = of_width(Width::U8);
    let mut rng = seeded();
    let nodes: Vec<(usize, u64)> = (0..7).map(|k| (k % 2, rng.random_range(0..256))).collect();
    let leaves: Vec<u64> = (0..8).map(|_| rng.random_range(0..1 << 16)).collect();
    let walk = |row: usize| {
        let mut node = 0;
        while let Some(&(feature, threshold)) = nodes.get(node) {
            node = 2 * node + if plain[feature][row] < threshold { 1 } else { 2 };
        }
        leaves[node - nodes.len()]
    };
    let tree = DecisionTree::new(&world.w.params, &nodes, &leaves, Width::U16).unwrap();
    let expected: Vec<u64> = (0..SLOTS).map(walk).collect();
    assert_eq!(world.values(ev.tree(&[&x, &y], &tree)), expected);
    assert!(matches!(ev.tree(&[&x], &tree), Err(Error::Argument { .. })));
    for (nodes, leaves) in [(&nodes[..6], &leaves[..7]), (&nodes[..], &leaves[..7]), (&[], &[1][..])] {
        let refused = DecisionTree::new(&world.w.params, nodes, leaves, Width::U16);
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
    assert!(DecisionTree::new(&world.w.params, &[(0, 256)], &[0, 1], Width::U8).is_err());
    assert!(DecisionTree::new(&world.w.params, &[(0, 25)], &[0, 256], Width::U8).is_err());
}

#[test]
fn slots_are_sorted() {
    for width in [Width::U16, Width::I8] {
        let Operands { world, ev, plain: [a, _], encrypted: [x, _] } = of_width(width);
        let shift = 64 - width.bits();
        let key = |&a: &u64| if width.is_signed() { (a << shift) as i64 >> shift } else { a as i64 };
        let mut sorted = a.clone();
        sorted.sort_by_key(key);
        assert_eq!(world.values(ev.sort(&x)), sorted);
        sorted.reverse();
        let first = sorted.iter().enumerate().map(|(slot, &a)| if slot < 3 { a } else { 0 });
        assert_eq!(world.values(ev.greatest(&x, 3)), first.collect::<Vec<_>>());
        assert!(matches!(ev.greatest(&x, 0), Err(Error::Argument { .. })));
        assert!(matches!(ev.greatest(&x, SLOTS + 1), Err(Error::Argument { .. })));
    }
}

/// Results are operands: Fibonacci's numbers modulo 2^8, and the greatest of all so far.
#[test]
fn results_are_operands() {
    let Operands { world, ev, plain: [mut a, mut b], encrypted: [mut x, mut y] } = of_width(Width::U8);
    let mut greatest = (a.clone(), world.encrypt(&a, Width::U8));
    for round in 0..6 {
        let sum = ev.add(&x, &y).unwrap();
        (x, y) = (y, sum);
        let next = zipped(&a, &b, |a, b| (a + b) & 255);
        (a, b) = (b, next);
        greatest = (zipped(&greatest.0, &b, u64::max), ev.max(&greatest.1, &y).unwrap());
        assert_eq!(y.decrypt(&world.decryptor).unwrap(), b, "round {round}");
    }
    assert_eq!(greatest.1.decrypt(&world.decryptor).unwrap(), greatest.0);
}

#[test]
fn other_integers_are_refused() {
    let world = Integers::shared();
    let (x, y) = (world.encrypt(&[1; SLOTS], Width::U8), world.encrypt(&[1; SLOTS], Width::U16));
    let ev = world.evaluator(Width::U8);
    assert!(matches!(ev.add(&x, &y), Err(Error::Argument { .. })));
    assert!(matches!(ev.lt(&y, &x), Err(Error::Argument { .. })));
    assert!(matches!(world.evaluator(Width::I8).mul(&x, &x), Err(Error::Argument { .. })));
    let table = ByteTable::new(&world.w.params, &[0; 256], Width::U8).unwrap();
    assert!(matches!(world.evaluator(Width::U16).entries(&y, &table), Err(Error::Argument { .. })));
    assert!(matches!(ev.sum(&[]), Err(Error::Argument { .. })));
    for amount in [8, usize::MAX] {
        assert!(matches!(ev.shl(&x, amount), Err(Error::Argument { .. })));
    }
    for divisor in [0, 256] {
        assert!(matches!(ev.div_rem_plain(&x, divisor), Err(Error::Argument { .. })));
    }
    let digits = y.digits().slice_batch(0..3).unwrap();
    assert!(matches!(SlotIntegers::from_digits(digits, Width::U16), Err(Error::Argument { .. })));
    for values in [&[256][..], &[0; SLOTS + 1]] {
        let refused = SlotIntegers::encrypt(values, Width::U8, &world.encryptor, &mut seeded());
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
}

/// All operations at the degree of `fast`, without words: estimates stay below the limit of
/// failures from one operation to the next, and the work beside that of a refresh is as stated.
#[test]
fn presets_compute_at_their_degree() {
    let (params, tally, rng) = (Preset::Fast.params().unwrap(), Tally::default(), &mut seeded());
    let ring = params.ring(tally.clone()).unwrap();
    let keys = BootstrapKeys::hollow(&params, &ring).unwrap();
    let bootstrapper = Bootstrapper::new(&params, &ring).unwrap();
    let secret = SecretKey::generate(params.params().rlwe(), rng);
    let needs = IntegerEvaluator::<Tally>::sort_requirements(&params);
    let program = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
    let encryptor = SecretEncryptor::new(params.params(), &secret, &ring).unwrap();
    let mut ct = encryptor.encrypt_real(&[15.0; 1 << 15], rng).unwrap().expand().unwrap();
    ct.set_key_set(None);
    let before = tally.work();
    bootstrapper.refresh(&ct, &keys).unwrap();
    let refresh = (tally.work() - before) as f64;
    for (width, [sum, order, product]) in
        [(Width::U8, [3.0, 3.0, 12.0]), (Width::U16, [6.0, 5.0, 30.0]), (Width::U64, [22.0, 18.0, 240.0])]
    {
        let ev = IntegerEvaluator::new(&bootstrapper, &keys, &program, width).unwrap();
        let digits = ct.gather_batch(&vec![0; width.digits()]).unwrap();
        let x = SlotIntegers::from_digits(digits, width).unwrap();
        let work = |what: &str, most: f64, call: &dyn Fn() -> Result<SlotIntegers<Tally>>| {
            let before = tally.work();
            let found = call().unwrap();
            let work = (tally.work() - before) as f64 / refresh;
            println!("{width:?}, {what}: {work:.2} refreshes");
            assert!(work < most, "{width:?}, {what}: {work:.2}");
            found
        };
        let y = work("sum", sum, &|| ev.add(&x, &x));
        let z = work("product", product, &|| ev.mul(&y, &y));
        let z = work("lesser", order, &|| ev.min(&z, &y));
        ev.mul(&z, &z).unwrap();
        ev.div_rem_plain(&z, 1000 % width.mask()).unwrap();
        ev.xor(&z, &z).unwrap();
        if width == Width::U16 {
            work("greatest", 60.0, &|| ev.greatest(&z, 1));
        }
        if width == Width::U8 {
            ev.entries(&z, &ByteTable::new(&params, &[7; 256], Width::U64).unwrap()).unwrap();
            ev.lt_each(&[&z], &Thresholds::new(&params, &[&[100, 200]]).unwrap()).unwrap();
        }
    }
}
