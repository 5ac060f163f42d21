//! Compares the operations of integers, signed or not, with those of big integers.

use super::{CPU, keys, sized};
use he::Error;
use he::backend::Cpu;
use he::tfhe::{
    Carry, EncryptedFlags, EncryptedInteger, FheInt, FheUint, IntegerEvaluator, Signed, Signedness,
    TfheParams, TfheSecretKey, Unsigned, presets,
};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Signed as _;
use rand::{Rng, rngs::ChaCha20Rng};
use std::sync::Arc;

/// Encryption and decryption of one kind of integer.
trait Kind: Signedness {
    fn seal(case: &Case, values: &[BigInt], bits: usize, rng: &mut ChaCha20Rng) -> EncryptedInteger<Self>;
    fn open(case: &Case, x: &EncryptedInteger<Self>) -> Vec<BigInt>;
}

impl Kind for Unsigned {
    fn seal(case: &Case, values: &[BigInt], bits: usize, rng: &mut ChaCha20Rng) -> EncryptedInteger<Self> {
        let values: Vec<_> = values.iter().map(|v| v.to_biguint().unwrap()).collect();
        case.secret.encrypt_uint(&CPU(), &values, bits, rng).unwrap()
    }

    fn open(case: &Case, x: &EncryptedInteger<Self>) -> Vec<BigInt> {
        case.secret.decrypt_uint(x).unwrap().into_iter().map(BigInt::from).collect()
    }
}

impl Kind for Signed {
    fn seal(case: &Case, values: &[BigInt], bits: usize, rng: &mut ChaCha20Rng) -> EncryptedInteger<Self> {
        case.secret.encrypt_int(&CPU(), values, bits, rng).unwrap()
    }

    fn open(case: &Case, x: &EncryptedInteger<Self>) -> Vec<BigInt> {
        case.secret.decrypt_int(x).unwrap()
    }
}

struct Case {
    secret: TfheSecretKey,
    ev: Arc<IntegerEvaluator>,
    seed: u64,
}

/// The number of this width that equals `value` modulo 2^bits.
fn wrapped<S: Signedness>(value: &BigInt, bits: usize) -> BigInt {
    let modulus = BigInt::from(1) << bits;
    let value = ((value % &modulus) + &modulus) % &modulus;
    if S::SIGNED && value.bit(bits as u64 - 1) { value - modulus } else { value }
}

/// The bits of a number, as one without a sign.
fn bits_of(value: &BigInt, bits: usize) -> BigUint {
    wrapped::<Unsigned>(value, bits).to_biguint().unwrap()
}

/// Edge values, then random ones.
fn values<S: Signedness>(bits: usize, random: usize, rng: &mut ChaCha20Rng) -> Vec<BigInt> {
    let one = BigInt::from(1);
    let half = &one << (bits - 1);
    let mut values = vec![BigInt::ZERO, one.clone(), -&one, half.clone(), &half - 1, BigInt::from(0x5a)];
    values.extend((0..random).map(|i| {
        let bytes: Vec<u8> = (0..bits.div_ceil(8)).map(|_| rng.next_u32() as u8).collect();
        // The values have all lengths.
        BigInt::from_bytes_le(Sign::Plus, &bytes) >> (i * bits / (random + 1))
    }));
    values.iter().map(|value| wrapped::<S>(value, bits)).collect()
}

impl Case {
    fn new(params: &TfheParams, seed: u64, carry: Carry) -> (Self, ChaCha20Rng) {
        let (secret, key, rng) = keys(params, seed);
        let ev = Arc::new(IntegerEvaluator::new(&CPU(), &key, carry).unwrap());
        (Self { secret, ev, seed }, rng)
    }

    fn flags(&self, flags: &EncryptedFlags) -> Vec<bool> {
        self.secret.decrypt_flags(flags).unwrap()
    }

    #[track_caller]
    fn same<S: Kind>(&self, found: &EncryptedInteger<S>, expected: impl Iterator<Item = BigInt>) {
        let bits = found.bits();
        let expected: Vec<_> = expected.map(|value| wrapped::<S>(&value, bits)).collect();
        assert_eq!(S::open(self, found), expected, "{bits} bits, seed {}", self.seed);
    }

    /// Every operation of two operands.
    fn binary<S: Kind>(&self, x: &[BigInt], y: &[BigInt], bits: usize, rng: &mut ChaCha20Rng) {
        let ev = &self.ev;
        let (a, b) = (S::seal(self, x, bits, rng), S::seal(self, y, bits, rng));
        let pairs = || x.iter().zip(y);
        self.same(&ev.add(&a, &b).unwrap(), pairs().map(|(x, y)| x + y));
        self.same(&ev.sub(&a, &b).unwrap(), pairs().map(|(x, y)| x - y));
        self.same(&ev.mul(&a, &b).unwrap(), pairs().map(|(x, y)| x * y));
        self.same(&ev.and(&a, &b).unwrap(), pairs().map(|(x, y)| x & y));
        self.same(&ev.or(&a, &b).unwrap(), pairs().map(|(x, y)| x | y));
        self.same(&ev.xor(&a, &b).unwrap(), pairs().map(|(x, y)| x ^ y));
        self.same(&ev.min(&a, &b).unwrap(), pairs().map(|(x, y)| x.min(y).clone()));
        self.same(&ev.max(&a, &b).unwrap(), pairs().map(|(x, y)| x.max(y).clone()));
        let (low, high) = ev.min_max(&a, &b).unwrap();
        self.same(&low, pairs().map(|(x, y)| x.min(y).clone()));
        self.same(&high, pairs().map(|(x, y)| x.max(y).clone()));
        // The sums of two bootstraps that these are, as operands.
        self.same(&ev.mul(&low, &high).unwrap(), pairs().map(|(x, y)| x * y));
        self.same(&ev.sum(&[&low, &high, &low, &low, &low, &high]).unwrap(), {
            pairs().map(|(x, y)| 4 * x.min(y) + 2 * x.max(y))
        });

        let flags =
            [ev.lt(&a, &b), ev.le(&a, &b), ev.gt(&a, &b), ev.ge(&a, &b), ev.eq(&a, &b), ev.ne(&a, &b)];
        for (x, (y, found)) in x.iter().zip(y.iter().zip(transposed(flags.map(|f| self.flags(&f.unwrap())))))
        {
            assert_eq!(found, [x < y, x <= y, x > y, x >= y, x == y, x != y], "{x} {y}, seed {}", self.seed);
        }

        let exact: [fn(&BigInt, &BigInt) -> BigInt; 3] = [|x, y| x + y, |x, y| x - y, |x, y| x * y];
        let found = [ev.overflowing_add(&a, &b), ev.overflowing_sub(&a, &b), ev.overflowing_mul(&a, &b)];
        for (found, exact) in found.into_iter().zip(exact) {
            let (value, overflow) = found.unwrap();
            self.same(&value, pairs().map(|(x, y)| exact(x, y)));
            let expected = pairs().map(|(x, y)| exact(x, y)).map(|v| v != wrapped::<S>(&v, bits));
            assert_eq!(self.flags(&overflow), expected.collect::<Vec<_>>(), "{bits}, seed {}", self.seed);
        }

        let (quotient, remainder) = ev.div_rem(&a, &b).unwrap();
        self.same(
            &quotient,
            pairs().map(|(x, y)| {
                let by_zero = || if x.is_negative() { BigInt::from(1) } else { BigInt::from(-1) };
                if *y == BigInt::ZERO { by_zero() } else { x / y }
            }),
        );
        self.same(&remainder, pairs().map(|(x, y)| if *y == BigInt::ZERO { x.clone() } else { x % y }));
    }

    /// Every operation of one operand, and those that take plain numbers or amounts.
    fn unary<S: Kind>(&self, x: &[BigInt], bits: usize, rng: &mut ChaCha20Rng) {
        let ev = &self.ev;
        let a = S::seal(self, x, bits, rng);
        self.same(&ev.neg(&a).unwrap(), x.iter().map(|x| -x));
        self.same(&ev.not(&a).unwrap(), x.iter().map(|x| -x - 1));
        self.same(&ev.sum_batch(&a).unwrap(), std::iter::once(x.iter().sum()));
        for factor in [0i64, 1, 2, 3, 0x7b, 0xffff_fffe, -1, -6] {
            self.same(&ev.mul_plain(&a, &factor.into()).unwrap(), x.iter().map(|x| x * factor));
        }
        let rotated = |x: &BigInt, amount: usize| {
            let (x, amount) = (bits_of(x, bits), amount % bits);
            BigInt::from((&x << amount) | (&x >> (bits - amount)))
        };
        for amount in [0, 1, 2, 5, bits / 2, bits - 1, bits, 3 * bits + 1] {
            self.same(&ev.shl_plain(&a, amount).unwrap(), x.iter().map(|x| x << amount));
            self.same(&ev.shr_plain(&a, amount).unwrap(), x.iter().map(|x| x >> amount));
            self.same(&ev.rotl_plain(&a, amount).unwrap(), x.iter().map(|x| rotated(x, amount)));
            let right = (bits - amount % bits) % bits;
            self.same(&ev.rotr_plain(&a, amount).unwrap(), x.iter().map(|x| rotated(x, right)));
        }
        // One amount for each integer, some beyond the width.
        let amounts: Vec<u64> = (0..x.len() as u64).map(|i| i * i * i % 256).collect();
        let encrypted = self.secret.encrypt_u64(&CPU(), &amounts, 8, rng).unwrap();
        let each = || x.iter().zip(amounts.iter().map(|&amount| amount as usize));
        self.same(&ev.shl(&a, &encrypted).unwrap(), each().map(|(x, amount)| x << amount));
        self.same(&ev.shr(&a, &encrypted).unwrap(), each().map(|(x, amount)| x >> amount));
        self.same(&ev.rotl(&a, &encrypted).unwrap(), each().map(|(x, amount)| rotated(x, amount)));
        self.same(
            &ev.rotr(&a, &encrypted).unwrap(),
            each().map(|(x, amount)| rotated(x, (bits - amount % bits) % bits)),
        );

        for width in [8, 10, bits, bits + 10, 2 * bits].into_iter().filter(|&width| width <= 256) {
            let cast = ev.cast(&a, width).unwrap();
            self.same(&cast, x.iter().cloned());
            // Copies of one ciphertext are compared as others are.
            assert!(self.flags(&ev.eq(&cast, &cast).unwrap()).iter().all(|&flag| flag));
            assert!(self.flags(&ev.lt(&cast, &cast).unwrap()).iter().all(|&flag| !flag));
            let negative = ev.cast(&ev.not(&a).unwrap(), width).unwrap();
            let both: Vec<_> = [&cast, &negative].map(|x| S::open(self, x)).into();
            let expected: Vec<_> = both[0].iter().zip(&both[1]).map(|(x, y)| x < y).collect();
            assert_eq!(self.flags(&ev.lt(&cast, &negative).unwrap()), expected, "seed {}", self.seed);
        }

        let bit = |x: &BigInt, at: usize| bits_of(x, bits).bit(at as u64);
        let until = |x: &BigInt, set: bool, up: bool| {
            (0..bits).take_while(|&i| bit(x, if up { i } else { bits - 1 - i }) != set).count()
        };
        let ones = |x: &BigInt| (0..bits).filter(|&i| bit(x, i)).count();
        let expected: [&dyn Fn(&BigInt) -> usize; 6] = [
            &ones,
            &|x| bits - ones(x),
            &|x| until(x, true, false),
            &|x| until(x, false, false),
            &|x| until(x, true, true),
            &|x| until(x, false, true),
        ];
        let found = [
            ev.count_ones(&a),
            ev.count_zeros(&a),
            ev.leading_zeros(&a),
            ev.leading_ones(&a),
            ev.trailing_zeros(&a),
            ev.trailing_ones(&a),
        ];
        for (found, expected) in found.into_iter().zip(expected) {
            self.same(&found.unwrap(), x.iter().map(|x| BigInt::from(expected(x))));
        }
    }
}

fn transposed<const N: usize>(columns: [Vec<bool>; N]) -> Vec<[bool; N]> {
    (0..columns[0].len()).map(|i| std::array::from_fn(|column| columns[column][i])).collect()
}

fn all_operations<S: Kind>(seed: u64, carry: Carry, widths: &[(usize, usize)]) {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), seed, carry);
    for &(bits, random) in widths {
        let x = values::<S>(bits, random, &mut rng);
        case.unary::<S>(&x, bits, &mut rng);
        // Edge values with each other, every one with every one at the least width, and random ones
        // with those of other lengths.
        let apart = if bits == 8 { 0..6 } else { 2..3 };
        let edges = apart.flat_map(|apart| (0..6).map(move |i| (i, (i + apart) % 6)));
        let pairs: Vec<_> = edges.map(|(i, j)| (&x[i], &x[j])).collect();
        let random = x[6..].iter().zip(x[6..].iter().rev());
        let (a, b): (Vec<_>, Vec<_>) =
            pairs.into_iter().chain(random).map(|(a, b)| (a.clone(), b.clone())).unzip();
        case.binary::<S>(&a, &b, bits, &mut rng);
    }
}

#[test]
fn unsigned_integers() {
    all_operations::<Unsigned>(41, Carry::Ripple, &sized([(8, 2), (14, 2)], [(8, 8), (14, 4)]));
    all_operations::<Unsigned>(42, Carry::Prefix, &sized([(10, 2), (18, 2)], [(10, 4), (32, 2)]));
}

#[test]
fn signed_integers() {
    all_operations::<Signed>(43, Carry::Prefix, &sized([(8, 2), (10, 2)], [(8, 8), (14, 4)]));
    all_operations::<Signed>(44, Carry::Ripple, &sized([(14, 2)], [(18, 2)]));
}

/// The widest integers, whose columns and prefixes are the longest, and whose carries pass all of
/// them; narrow ones meet the other edges.
#[test]
fn wide_integers() {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), 45, Carry::Prefix);
    let x = values::<Signed>(256, 0, &mut rng);
    case.unary::<Signed>(&x[sized(2..3, 2..4)], 256, &mut rng);
    let (a, b) = (&x[2..3], &x[4..5]);
    let sealed = [a, b].map(|x| Signed::seal(&case, x, 256, &mut rng));
    case.same(&case.ev.mul(&sealed[0], &sealed[1]).unwrap(), a.iter().zip(b).map(|(x, y)| x * y));
}

#[test]
fn operations_under_real_parameters() {
    let (case, mut rng) = Case::new(&presets::digits_2m40().unwrap(), 46, Carry::Ripple);
    let [x, y] = [[-77i64], [9]].map(|x| x.map(BigInt::from));
    let (a, b) = (Signed::seal(&case, &x, 8, &mut rng), Signed::seal(&case, &y, 8, &mut rng));
    case.same(&case.ev.mul(&a, &b).unwrap(), std::iter::once(&x[0] * &y[0]));
    let (quotient, remainder) = case.ev.div_rem(&a, &b).unwrap();
    case.same(&quotient, std::iter::once(BigInt::from(-8)));
    case.same(&remainder, std::iter::once(BigInt::from(-5)));
    // By tables, by estimates of doubled numbers, and by a power of two.
    for divisor in [5i64, -11, 16, 100].map(BigInt::from) {
        let (quotient, remainder) = case.ev.div_rem_plain(&a, &divisor).unwrap();
        case.same(&quotient, std::iter::once(&x[0] / &divisor));
        case.same(&remainder, std::iter::once(&x[0] % &divisor));
    }
    case.same(&case.ev.saturating_mul(&a, &b).unwrap(), std::iter::once(BigInt::from(-128)));
    let shifted = case.ev.shr(&a, &b.reinterpret()).unwrap();
    case.same(&shifted, std::iter::once(BigInt::from(-1)));
}

/// Repeats the tests of `clear_operations`, which have many values, on a few that are encrypted.
fn on_encrypted<S: Kind>(seed: u64, carry: Carry) {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), seed, carry);
    let (ev, bits) = (&case.ev, 10);
    let x = values::<S>(bits, 6, &mut rng);
    let a = S::seal(&case, &x, bits, &mut rng);
    for divisor in [1, 3, 5, 12, 64, 77, 100, 300, 511, -1, -3, -26] {
        if divisor < 0 && !S::SIGNED {
            continue;
        }
        let divisor = BigInt::from(divisor);
        let (quotient, remainder) = ev.div_rem_plain(&a, &divisor).unwrap();
        case.same(&quotient, x.iter().map(|x| x / &divisor));
        case.same(&remainder, x.iter().map(|x| x % &divisor));
        let (quotient, remainder) = ev.div_mod_floor_plain(&a, &divisor).unwrap();
        let rest = |x: &BigInt| ((x % &divisor) + &divisor) % &divisor;
        case.same(&quotient, x.iter().map(|x| (x - rest(x)) / &divisor));
        case.same(&remainder, x.iter().map(rest));
    }
    let mut y = x.clone();
    y.rotate_left(1);
    let b = S::seal(&case, &y, bits, &mut rng);
    let top = if S::SIGNED { 1 << (bits - 1) } else { 1 << bits };
    let (low, high) = (BigInt::from(if S::SIGNED { -top } else { 0 }), BigInt::from(top - 1));
    let exact: [fn(&BigInt, &BigInt) -> BigInt; 3] = [|x, y| x + y, |x, y| x - y, |x, y| x * y];
    let found = [ev.saturating_add(&a, &b), ev.saturating_sub(&a, &b), ev.saturating_mul(&a, &b)];
    for (found, exact) in found.into_iter().zip(exact) {
        let clamped = x.iter().zip(&y).map(|(x, y)| exact(x, y).clamp(low.clone(), high.clone()));
        case.same(&found.unwrap(), clamped);
    }
    let (log, exists) = ev.checked_ilog2(&a).unwrap();
    let place = |x: &BigInt| BigInt::from(bits_of(x, bits).bits()) - 1;
    case.same(&log, x.iter().map(place));
    assert_eq!(case.flags(&exists), x.iter().map(|x| x.is_positive()).collect::<Vec<_>>(), "seed {seed}");
    assert_eq!(case.flags(&ev.is_odd(&a).unwrap()), x.iter().map(|x| x.bit(0)).collect::<Vec<_>>());
}

#[test]
fn plain_divisors_and_saturation() {
    on_encrypted::<Unsigned>(50, Carry::Prefix);
    on_encrypted::<Signed>(51, Carry::Ripple);
}

#[test]
fn lookups_by_encrypted_index() {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), 47, Carry::Ripple);
    let (ev, cpu) = (&case.ev, CPU());
    for entries in [1usize, 3, 4, 16, 17, 40, 256, 300] {
        let table: Vec<BigUint> = (0..entries).map(|_| BigUint::from(rng.next_u32() % (1 << 12))).collect();
        let mut wanted = vec![0u64, entries as u64 / 2, entries as u64 - 1, entries as u64, 511];
        wanted.push(u64::from(rng.next_u32()) % entries as u64);
        for bits in [10, 16] {
            let index = case.secret.encrypt_u64(&cpu, &wanted, bits, &mut rng).unwrap();
            let found = case.secret.decrypt_uint(&ev.get_plain(&table, 12, &index).unwrap()).unwrap();
            let entry = |&i: &u64| table.get(i as usize).cloned().unwrap_or_default();
            assert_eq!(found, wanted.iter().map(entry).collect::<Vec<_>>(), "{entries}, seed {}", case.seed);
        }
        if entries > 40 {
            continue;
        }
        // An array of batches: entry i of batch b is a number of its own.
        let number = |i: usize, b: usize| (37 * i + 11 * b) as i64 % 256 - 128;
        let array: Vec<_> = (0..entries)
            .map(|i| {
                let values: Vec<_> = (0..wanted.len()).map(|b| number(i, b)).collect();
                case.secret.encrypt_i64(&cpu, &values, 8, &mut rng).unwrap()
            })
            .collect();
        let index = case.secret.encrypt_u64(&cpu, &wanted, 10, &mut rng).unwrap();
        let found = ev.get(&array.iter().collect::<Vec<_>>(), &index).unwrap();
        let entry = |(b, &i): (usize, &u64)| if (i as usize) < entries { number(i as usize, b) } else { 0 };
        let expected: Vec<_> = wanted.iter().enumerate().map(entry).collect();
        assert_eq!(case.secret.decrypt_i64(&found).unwrap(), expected, "{entries}, seed {}", case.seed);
    }
    let index = case.secret.encrypt_u64(&cpu, &[0], 8, &mut rng).unwrap();
    for (table, bits) in [(vec![], 8), (vec![BigUint::from(256u32)], 8), (vec![BigUint::ZERO; 257], 8)] {
        assert!(matches!(ev.get_plain(&table, bits, &index), Err(Error::Argument { .. })), "{}", table.len());
    }
    let array = ev.plain_array(&[7u32, 9, 3].map(BigUint::from), 8, 8).unwrap();
    let found: Vec<_> =
        [2, 0, 200].map(|at| case.secret.encrypt_u64(&cpu, &[at], 8, &mut rng).unwrap()).into();
    let found = found.iter().flat_map(|at| case.secret.decrypt_u64(&ev.get_in(&array, at).unwrap()).unwrap());
    assert_eq!(found.collect::<Vec<_>>(), [3, 7, 0]);
    let wider = case.secret.encrypt_u64(&cpu, &[1], 10, &mut rng).unwrap();
    assert!(matches!(ev.get_in(&array, &wider), Err(Error::Argument { .. })));
    assert!(matches!(ev.get::<Signed>(&[], &index), Err(Error::Argument { .. })));
}

#[test]
fn conditions() {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), 48, Carry::Ripple);
    let ev = &case.ev;
    let all: Vec<[bool; 3]> = (0..8).map(|i| [i & 1 > 0, i & 2 > 0, i & 4 > 0]).collect();
    let mut seal = |at: usize| {
        let flags: Vec<_> = all.iter().map(|flags| flags[at]).collect();
        case.secret.encrypt_flags(&CPU(), &flags, &mut rng).unwrap()
    };
    let [a, b, c] = [seal(0), seal(1), seal(2)];
    let found = [
        ev.and_flags(&a, &b),
        ev.or_flags(&a, &b),
        ev.xor_flags(&a, &b),
        ev.not_flags(&a),
        ev.select_flags(&a, &b, &c),
    ];
    let found = transposed(found.map(|flags| case.flags(&flags.unwrap())));
    for ([a, b, c], found) in all.iter().zip(found) {
        assert_eq!(found, [a & b, a | b, a ^ b, !a, if *a { *b } else { *c }]);
    }
    let numbers = ev.cast_flags::<Unsigned>(&a, 16).unwrap();
    let expected: Vec<_> = all.iter().map(|flags| u64::from(flags[0])).collect();
    assert_eq!(case.secret.decrypt_u64(&numbers).unwrap(), expected);
    let counted = ev.add_flags(&numbers, &b).unwrap();
    let expected: Vec<_> = all.iter().map(|flags| u64::from(flags[0]) + u64::from(flags[1])).collect();
    assert_eq!(case.secret.decrypt_u64(&counted).unwrap(), expected);
}

/// Parts, joined batches and operators are the same integers; widths and batches are checked.
#[test]
fn batches_and_operators() {
    let (case, mut rng) = Case::new(&presets::insecure_small().unwrap(), 49, Carry::Ripple);
    let cpu: Cpu = CPU();
    let x = [5i64, -100, 77, 0];
    let a = case.secret.encrypt_i64(&cpu, &x, 8, &mut rng).unwrap();
    let parts = [a.part(2..4).unwrap(), a.part(0..1).unwrap(), a.part(1..1).unwrap()];
    assert_eq!(case.secret.decrypt_i64(&parts[0]).unwrap(), [77, 0]);
    let joined = EncryptedInteger::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(case.secret.decrypt_i64(&joined).unwrap(), [77, 0, 5]);
    assert!(matches!(a.part(3..5), Err(Error::BatchRange { start: 3, end: 5, batch: 4 })));
    let wide = case.ev.cast(&a, 16).unwrap();
    assert!(matches!(EncryptedInteger::concat(&[&a, &wide]), Err(Error::Argument { .. })));
    assert!(EncryptedInteger::<Signed>::concat(&[]).is_err());
    assert!(case.ev.sum::<Signed>(&[]).is_err());
    assert!(case.ev.sum_batch(&a.part(0..0).unwrap()).is_err());
    let short = case.secret.encrypt_u64(&cpu, &[1], 8, &mut rng).unwrap();
    assert!(matches!(case.ev.shl(&a, &short), Err(Error::BatchMismatch { .. })));
    assert!(case.ev.add(&a, &wide).unwrap_err().to_string().contains("cast"));

    let a = FheInt::new(a, &case.ev);
    let b = FheInt::new(case.secret.encrypt_i64(&cpu, &[3, -7, 0, -1], 8, &mut rng).unwrap(), &case.ev);
    let open = |x: he::Result<FheInt>| case.secret.decrypt_i64(x.unwrap().value()).unwrap();
    assert_eq!(open(&a + &b), [8, -107, 77, -1]);
    assert_eq!(open(&a - 10), [-5, -110, 67, -10]);
    assert_eq!(open(&a * &b), [15, -68, 0, 0]);
    assert_eq!(open(&a / &b), [1, 14, -1, 0]);
    assert_eq!(open(&a % -7), [5, -2, 0, 0]);
    assert_eq!(open(-&a), [-5, 100, -77, 0]);
    assert_eq!(open(!&a), [-6, 99, -78, -1]);
    assert_eq!(open(&a >> 3), [0, -13, 9, 0]);
    assert_eq!(open(&(&a & 0x3f).unwrap() ^ 1), [4, 29, 12, 1]);
    let amounts = case.secret.encrypt_u64(&cpu, &[0, 1, 2, 3], 8, &mut rng).unwrap();
    assert_eq!(open(&a << &amounts), [5, 56, 52, 0]);
    let amounts = FheUint::new(amounts, &case.ev);
    assert_eq!(open(&a >> &amounts), [5, -50, 19, 0]);
    assert_eq!(open(a.select(&a.lt(&b).unwrap(), &b)), [3, -100, 0, -1]);
    // Plain numbers beside a = [5, -100, 77, 0].
    let flags = |found: he::Result<EncryptedFlags>| case.flags(&found.unwrap());
    assert_eq!(flags(a.lt(5)), [false, true, false, true]);
    assert_eq!(flags(a.le(5)), [true, true, false, true]);
    assert_eq!(flags(a.gt(-100)), [true, false, true, true]);
    assert_eq!(flags(a.ge(BigInt::from(77))), [false, false, true, false]);
    assert_eq!(flags(a.eq(0)), [false, false, false, true]);
    assert_eq!(flags(a.ne(-100)), [true, false, true, true]);
    assert_eq!(open(a.min(4)), [4, -100, 4, 0]);
    assert_eq!(open(a.max(-8)), [5, -8, 77, 0]);
    assert_eq!(open(a.saturating_sub(100)), [-95, -128, -23, -100]);
    assert_eq!(open(a.select(&a.gt(0).unwrap(), -1)), [5, -1, 77, -1]);
    assert_eq!(flags(a.overflowing_add(60).map(|(_, over)| over)), [false, false, true, false]);
    assert!(matches!(a.lt(128).unwrap_err(), Error::Argument { .. }));
    let u = FheUint::new(a.value().clone().reinterpret(), &case.ev);
    assert_eq!(flags(u.gt(77)), [false, true, false, false]);
    assert!(matches!(u.lt(BigUint::from(256u32)).unwrap_err(), Error::Argument { .. }));
    assert_eq!(open(&a * -3), [-15, 44, 25, 0]);
    assert_eq!(open(&a / 10), [0, -10, 7, 0]);
    assert!(matches!((&a / 0).unwrap_err(), Error::Argument { what: "divisor", .. }));
    assert_eq!(open(a.saturating_mul(&b)), [15, 127, 0, 0]);
    let (down, rest) = a.div_mod_floor(&b).unwrap();
    assert_eq!([open(Ok(down)), open(Ok(rest))], [[1, 14, -1, 0], [2, -2, 77, 0]]);
    let (down, rest) = a.div_mod_floor_plain(&BigInt::from(10)).unwrap();
    assert_eq!([open(Ok(down)), open(Ok(rest))], [[0, -10, 7, 0], [5, 0, 7, 0]]);
    assert_eq!(case.secret.decrypt_u64(a.abs().unwrap().value()).unwrap(), [5, 100, 77, 0]);
    let (log, exists) = a.checked_ilog2().unwrap();
    assert_eq!(case.secret.decrypt_u64(log.value()).unwrap(), [2, 7, 6, 255]);
    assert_eq!(case.flags(&exists), [true, false, true, false]);
    let (_, over) = a.overflowing_shl(&(&amounts << 2).unwrap()).unwrap();
    assert_eq!(case.flags(&over), [false, false, true, true]);
    let lengths = (&amounts | 4).unwrap();
    assert_eq!(case.secret.decrypt_u64(lengths.value()).unwrap(), [4, 5, 6, 7]);
}
