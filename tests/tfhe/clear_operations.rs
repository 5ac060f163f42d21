//! Operations of integers on a device that computes in the clear: many more values than can be
//! encrypted, the bootstraps that the documentation states, and the variances of lookups.

use super::clear::{Clear, evaluator};
use super::sized;
use he::Error;
use he::tfhe::{Carry, DIGIT_LOOKUP, EncryptedInteger, IntegerEvaluator, Signed, Signedness, Sum, Unsigned};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed as _, Zero};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

type Ints<S> = EncryptedInteger<S, Clear>;

fn least<S: Signedness>(bits: usize) -> BigInt {
    if S::SIGNED { -(BigInt::one() << (bits - 1)) } else { BigInt::ZERO }
}

fn greatest<S: Signedness>(bits: usize) -> BigInt {
    least::<S>(bits) + (BigInt::one() << bits) - 1
}

fn fits<S: Signedness>(value: &BigInt, bits: usize) -> bool {
    (least::<S>(bits)..=greatest::<S>(bits)).contains(value)
}

fn wrapped<S: Signedness>(value: &BigInt, bits: usize) -> BigInt {
    let modulus = BigInt::one() << bits;
    let value = ((value % &modulus) + &modulus) % &modulus;
    if value > greatest::<S>(bits) { value - modulus } else { value }
}

fn clamped<S: Signedness>(value: BigInt, bits: usize) -> BigInt {
    value.clamp(least::<S>(bits), greatest::<S>(bits))
}

fn floor(x: &BigInt, y: &BigInt) -> (BigInt, BigInt) {
    let rest = ((x % y) + y) % y;
    ((x - &rest) / y, rest)
}

/// A number of a random length.
fn any<S: Signedness>(bits: usize, rng: &mut ChaCha20Rng) -> BigInt {
    let bytes: Vec<u8> = (0..bits.div_ceil(8)).map(|_| rng.next_u32() as u8).collect();
    let value = BigInt::from_bytes_le(Sign::Plus, &bytes) % (BigInt::one() << bits);
    wrapped::<S>(&(value >> rng.random_range(0..bits)), bits)
}

/// Edges of the range, small numbers, and those next to multiples of `step`.
fn values<S: Signedness>(bits: usize, step: &BigInt, rng: &mut ChaCha20Rng) -> Vec<BigInt> {
    let (low, high) = (least::<S>(bits), greatest::<S>(bits));
    let mut all = vec![low.clone(), &low + 1, high.clone(), &high - 1, BigInt::zero(), BigInt::one()];
    for near in
        [&high / step * step, &low / step * step, step.clone(), -step, any::<S>(bits, rng) / step * step]
    {
        all.extend([&near - 1, near.clone(), &near + 1]);
    }
    all.extend((0..8).map(|_| any::<S>(bits, rng)));
    all.retain(|value| fits::<S>(value, bits));
    all
}

fn divided<S: Signedness>(
    device: &Clear,
    ev: &IntegerEvaluator<Clear>,
    x: &[BigInt],
    divisor: &BigInt,
    bits: usize,
) {
    let a: Ints<S> = device.seal(ev, x, bits);
    let check = |found: &Ints<S>, f: &dyn Fn(&BigInt) -> BigInt| {
        let expected: Vec<_> = x.iter().map(|x| wrapped::<S>(&f(x), bits)).collect();
        assert_eq!(Clear::open(found), expected, "{x:?} by {divisor}, {bits} bits");
    };
    let (quotient, remainder) = ev.div_rem_plain(&a, divisor).unwrap();
    check(&quotient, &|x| x / divisor);
    check(&remainder, &|x| x % divisor);
    check(&ev.div_plain(&a, divisor).unwrap(), &|x| x / divisor);
    check(&ev.rem_plain(&a, divisor).unwrap(), &|x| x % divisor);
    let (quotient, remainder) = ev.div_mod_floor_plain(&a, divisor).unwrap();
    check(&quotient, &|x| floor(x, divisor).0);
    check(&remainder, &|x| floor(x, divisor).1);
    // The facts known about copies among the digits are true.
    for (a, b) in [(&quotient, &remainder), (&remainder, &quotient)] {
        let expected: Vec<_> = Clear::open(a).iter().zip(Clear::open(b)).map(|(a, b)| *a < b).collect();
        assert_eq!(Clear::flags(&ev.lt(a, b).unwrap()), expected, "{divisor}, {bits} bits");
    }
}

/// All integers of 8 bits by every seventh divisor or by all, then wide ones.
fn by_plain_divisors<S: Signedness>(carry: Carry, seed: u64) {
    let (device, ev) = evaluator(7, carry);
    let range = |bits| num_iter(least::<S>(bits), greatest::<S>(bits));
    let all: Vec<_> = range(8).collect();
    for divisor in range(8).filter(|divisor| !divisor.is_zero()).step_by(sized(7, 1)) {
        divided::<S>(&device, &ev, &all, &divisor, 8);
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    // Bits, random divisors beside those of interest, and the step from one taken to the next.
    let few = [(10, 4, 1), (14, 4, 1), (32, 4, 1), (64, 4, 3), (256, 1, 8)];
    let many = [(10, 20, 1), (14, 20, 1), (32, 20, 1), (64, 10, 1), (256, 1, 1)];
    for (bits, count, apart) in sized(few, many) {
        let mut divisors: Vec<_> = [1, 2, 3, 5, 6, 7, 9, 10, 12, 60, 100].map(BigInt::from).into();
        divisors.extend([least::<S>(bits), greatest::<S>(bits), greatest::<S>(bits) - 1]);
        divisors.extend((0..bits - 1).step_by(bits / 4 + 1).map(|bit| BigInt::from(3) << bit >> 1));
        divisors.extend((0..count).map(|_| any::<S>(bits, rng)));
        if S::SIGNED {
            divisors.extend(divisors.clone().iter().map(|divisor| -divisor));
        }
        divisors.retain(|divisor| !divisor.is_zero() && fits::<S>(divisor, bits));
        for divisor in divisors.into_iter().step_by(apart) {
            let x = values::<S>(bits, &divisor, rng);
            divided::<S>(&device, &ev, &x, &divisor, bits);
        }
    }
}

fn num_iter(from: BigInt, to: BigInt) -> impl Iterator<Item = BigInt> {
    std::iter::successors(Some(from), |value| Some(value + 1)).take_while(move |value| *value <= to)
}

#[test]
fn unsigned_by_plain_divisors() {
    by_plain_divisors::<Unsigned>(Carry::Ripple, 61);
}

#[test]
fn signed_by_plain_divisors() {
    by_plain_divisors::<Signed>(Carry::Prefix, 62);
}

#[test]
fn plain_divisors_that_are_refused() {
    let (device, ev) = evaluator(7, Carry::Ripple);
    let a: Ints<Unsigned> = device.seal(&ev, &[BigInt::from(7)], 8);
    let b: Ints<Signed> = device.seal(&ev, &[BigInt::from(7)], 8);
    let refused = |result: he::Result<()>, text: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Argument { .. }) && error.to_string().contains(text), "{error}");
    };
    refused(ev.div_rem_plain(&a, &BigInt::ZERO).map(drop), "encrypt it");
    refused(ev.rem_plain(&b, &BigInt::ZERO).map(drop), "encrypt it");
    refused(ev.div_plain(&a, &256.into()).map(drop), "256; a number that fits unsigned integers of 8 bits");
    refused(ev.div_plain(&a, &(-1).into()).map(drop), "-1; a number that fits unsigned");
    refused(ev.div_mod_floor_plain(&b, &128.into()).map(drop), "128; a number that fits signed");
    refused(ev.div_plain(&b, &(-129).into()).map(drop), "-129; a number that fits signed");
}

/// Pairs of edges, small numbers and random ones.
fn pairs<S: Signedness>(bits: usize, rng: &mut ChaCha20Rng) -> Vec<(BigInt, BigInt)> {
    let mut all = values::<S>(bits, &BigInt::from(3), rng);
    if bits == 8 {
        all.extend([2, 3, 5, 16, 64, 100].map(BigInt::from));
    }
    all.iter().flat_map(|x| all.iter().map(|y| (x.clone(), y.clone()))).collect()
}

fn beyond<S: Signedness>(carry: Carry, seed: u64) {
    let (device, ev) = evaluator(7, carry);
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    for bits in [8, 10, sized(18, 32)] {
        for some in pairs::<S>(bits, rng).chunks(128) {
            let (x, y): (Vec<_>, Vec<_>) = some.iter().cloned().unzip();
            let (a, b): (Ints<S>, Ints<S>) = (device.seal(&ev, &x, bits), device.seal(&ev, &y, bits));
            let each = |f: &dyn Fn(&BigInt, &BigInt) -> BigInt| -> Vec<BigInt> {
                some.iter().map(|(x, y)| f(x, y)).collect()
            };
            let saturated = |f: &dyn Fn(&BigInt, &BigInt) -> BigInt| -> Vec<BigInt> {
                each(&|x, y| clamped::<S>(f(x, y), bits))
            };
            assert_eq!(
                Clear::open(&ev.saturating_add(&a, &b).unwrap()),
                saturated(&|x, y| x + y),
                "{some:?}"
            );
            assert_eq!(
                Clear::open(&ev.saturating_sub(&a, &b).unwrap()),
                saturated(&|x, y| x - y),
                "{some:?}"
            );
            assert_eq!(
                Clear::open(&ev.saturating_mul(&a, &b).unwrap()),
                saturated(&|x, y| x * y),
                "{some:?}"
            );
            let by_zero =
                |x: &BigInt| wrapped::<S>(&BigInt::from(if x.is_negative() { 1 } else { -1 }), bits);
            let (quotient, exists) = ev.checked_div(&a, &b).unwrap();
            let (remainder, also) = ev.checked_rem(&a, &b).unwrap();
            let quotients = each(&|x, y| if y.is_zero() { by_zero(x) } else { wrapped::<S>(&(x / y), bits) });
            assert_eq!(Clear::open(&quotient), quotients, "{some:?}");
            assert_eq!(
                Clear::open(&remainder),
                each(&|x, y| if y.is_zero() { x.clone() } else { x % y }),
                "{some:?}"
            );
            let expected: Vec<_> =
                some.iter().map(|(x, y)| !y.is_zero() && fits::<S>(&(x / y), bits)).collect();
            assert_eq!(Clear::flags(&exists), expected, "{some:?}");
            assert_eq!(Clear::flags(&also), expected, "{some:?}");
            let (quotient, remainder) = ev.div_mod_floor(&a, &b).unwrap();
            let floors = |x: &BigInt, y: &BigInt| match y.is_zero() {
                true if x.is_negative() => (BigInt::ZERO, x.clone()),
                true => (by_zero(x), x.clone()),
                false => floor(x, y),
            };
            assert_eq!(Clear::open(&quotient), each(&|x, y| wrapped::<S>(&floors(x, y).0, bits)), "{some:?}");
            assert_eq!(Clear::open(&remainder), each(&|x, y| floors(x, y).1), "{some:?}");

            let (negative, overflow) = ev.overflowing_neg(&a).unwrap();
            assert_eq!(Clear::open(&negative), each(&|x, _| wrapped::<S>(&-x, bits)));
            let expected: Vec<_> = x.iter().map(|x| !fits::<S>(&-x, bits)).collect();
            assert_eq!(Clear::flags(&overflow), expected, "{some:?}");
            // Amounts of eight bits, around the width.
            let amounts: Vec<u64> =
                (0..some.len() as u64).map(|i| (bits as u64 + 100 - i % 101) % 256).collect();
            let sealed: Ints<Unsigned> =
                device.seal(&ev, &amounts.iter().map(|&i| i.into()).collect::<Vec<_>>(), 8);
            let (left, over) = ev.overflowing_shl(&a, &sealed).unwrap();
            let (right, also) = ev.overflowing_shr(&a, &sealed).unwrap();
            let shifted = |f: &dyn Fn(&BigInt, u64) -> BigInt| -> Vec<BigInt> {
                x.iter().zip(&amounts).map(|(x, &by)| wrapped::<S>(&f(x, by), bits)).collect()
            };
            assert_eq!(Clear::open(&left), shifted(&|x, by| x << by));
            assert_eq!(Clear::open(&right), shifted(&|x, by| x >> by));
            let expected: Vec<_> = amounts.iter().map(|&by| by >= bits as u64).collect();
            assert_eq!([Clear::flags(&over), Clear::flags(&also)], [expected.clone(), expected]);
        }
    }
}

#[test]
fn unsigned_results_that_do_not_fit() {
    beyond::<Unsigned>(Carry::Prefix, 63);
}

#[test]
fn signed_results_that_do_not_fit() {
    beyond::<Signed>(Carry::Ripple, 64);
}

/// Amounts too narrow to reach the width.
#[test]
fn shifts_that_always_fit() {
    let (device, ev) = evaluator(7, Carry::Ripple);
    let x: Ints<Signed> = device.seal(&ev, &[BigInt::from(-5)], 256);
    let amount: Ints<Unsigned> = device.seal(&ev, &[BigInt::from(255)], 8);
    let (found, over) = ev.overflowing_shr(&x, &amount).unwrap();
    assert_eq!((Clear::open(&found), Clear::flags(&over)), (vec![BigInt::from(-1)], vec![false]));
}

fn counted_in_bits<S: Signedness>(carry: Carry, seed: u64) {
    let (device, ev) = evaluator(7, carry);
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    for bits in [8, 10, 34, 64, 128, 254, 256] {
        let mut x: Vec<_> = values::<S>(bits, &BigInt::from(3), rng);
        match bits {
            8 => x = num_iter(least::<S>(8), greatest::<S>(8)).collect(),
            _ => x.extend((0..bits).step_by(7).map(|bit| wrapped::<S>(&(BigInt::one() << bit), bits))),
        }
        let a: Ints<S> = device.seal(&ev, &x, bits);
        let (log, exists) = ev.checked_ilog2(&a).unwrap();
        let found = Clear::open(&log);
        assert_eq!(Clear::open(&ev.ilog2(&a).unwrap()), found);
        let all_set: BigInt = (BigInt::one() << log.bits()) - 1;
        for ((x, found), exists) in x.iter().zip(found).zip(Clear::flags(&exists)) {
            let highest = wrapped::<Unsigned>(x, bits).bits();
            let expected = if highest == 0 { all_set.clone() } else { BigInt::from(highest - 1) };
            assert_eq!((found, exists), (expected, x.is_positive()), "{x} of {bits} bits");
        }
        let odd: Vec<_> = x.iter().map(|x| x.bit(0)).collect();
        assert_eq!(Clear::flags(&ev.is_odd(&a).unwrap()), odd);
        assert!(Clear::flags(&ev.is_even(&a).unwrap()).iter().zip(&odd).all(|(even, odd)| even != odd));
        let reversed = |x: &BigInt| {
            let set = (0..bits).filter(|&bit| x.bit((bits - 1 - bit) as u64));
            wrapped::<S>(&set.fold(BigInt::ZERO, |sum, bit| sum + (BigInt::one() << bit)), bits)
        };
        assert_eq!(
            Clear::open(&ev.reverse_bits(&a).unwrap()),
            x.iter().map(reversed).collect::<Vec<_>>(),
            "{bits} bits"
        );
    }
}

#[test]
fn logarithms_and_parities() {
    counted_in_bits::<Unsigned>(Carry::Prefix, 65);
    counted_in_bits::<Signed>(Carry::Ripple, 66);
}

#[test]
fn magnitudes_that_do_not_fit() {
    let (device, ev) = evaluator(7, Carry::Prefix);
    let all: Vec<_> = num_iter(least::<Signed>(8), greatest::<Signed>(8)).collect();
    let (found, overflow) = ev.overflowing_abs(&device.seal(&ev, &all, 8)).unwrap();
    assert_eq!(Clear::open(&found), all.iter().map(|x| wrapped::<Signed>(&x.abs(), 8)).collect::<Vec<_>>());
    assert_eq!(Clear::flags(&overflow), all.iter().map(|x| *x == BigInt::from(-128)).collect::<Vec<_>>());
}

/// The costs in the documentation of an operation: the name, and the bootstraps for integers of 16
/// and 64 bits, without a sign and with one.
type Stated = (&'static str, [u64; 4]);

type Operation<'a> = (&'static str, Box<dyn Fn() -> he::Result<()> + 'a>);

fn operations<'a, S: Signedness>(
    ev: &'a IntegerEvaluator<Clear>,
    x: &'a Ints<S>,
    y: &'a Ints<S>,
    amount: &'a Ints<Unsigned>,
) -> Vec<Operation<'a>> {
    let half: BigInt = (BigInt::one() << (x.bits() / 2 - 1)) - 1;
    let odd_half: BigInt = &half >> 1;
    fn of<'a, T>(f: impl Fn() -> he::Result<T> + 'a) -> Box<dyn Fn() -> he::Result<()> + 'a> {
        Box::new(move || f().map(drop))
    }
    let by = |divisor: BigInt| of(move || ev.div_rem_plain(x, &divisor));
    let quotient = half.clone();
    let remainder = half.clone();
    let down = half.clone();
    // The digits 0 to 3 in turn.
    let factor = BigInt::from(0xe4e4_e4e4_e4e4_e4e4u64 >> (64 - x.bits()));
    vec![
        ("add", of(|| ev.add(x, y))),
        ("mul", of(|| ev.mul(x, y))),
        ("mul_plain by a number as wide", of(move || ev.mul_plain(x, &factor))),
        ("div_rem", of(|| ev.div_rem(x, y))),
        ("div_mod_floor", of(|| ev.div_mod_floor(x, y))),
        ("checked_div", of(|| ev.checked_div(x, y))),
        ("div_rem_plain by half the bits", by(half)),
        ("div_rem_plain by a bit less", by(odd_half)),
        ("div_plain by half the bits", of(move || ev.div_plain(x, &quotient))),
        ("rem_plain by half the bits", of(move || ev.rem_plain(x, &remainder))),
        ("div_mod_floor_plain by half the bits", of(move || ev.div_mod_floor_plain(x, &down))),
        ("div_rem_plain by 3", by(3.into())),
        ("div_rem_plain by 7", by(7.into())),
        ("div_rem_plain by 8", by(8.into())),
        ("div_rem_plain by 10", by(10.into())),
        ("div_rem_plain by 100", by(100.into())),
        ("overflowing_add", of(|| ev.overflowing_add(x, y))),
        ("overflowing_sub", of(|| ev.overflowing_sub(x, y))),
        ("overflowing_mul", of(|| ev.overflowing_mul(x, y))),
        ("overflowing_neg", of(|| ev.overflowing_neg(x))),
        ("overflowing_shl", of(|| ev.overflowing_shl(x, amount))),
        ("overflowing_shr", of(|| ev.overflowing_shr(x, amount))),
        ("saturating_add", of(|| ev.saturating_add(x, y))),
        ("saturating_sub", of(|| ev.saturating_sub(x, y))),
        ("saturating_mul", of(|| ev.saturating_mul(x, y))),
        ("leading_zeros", of(|| ev.leading_zeros(x))),
        ("trailing_zeros", of(|| ev.trailing_zeros(x))),
        ("count_ones", of(|| ev.count_ones(x))),
        ("ilog2", of(|| ev.ilog2(x))),
        ("checked_ilog2", of(|| ev.checked_ilog2(x))),
        ("is_odd", of(|| ev.is_odd(x))),
        ("reverse_bits", of(|| ev.reverse_bits(x))),
    ]
}

fn counts<S: Signedness>(carry: Carry, bits: usize, rng: &mut ChaCha20Rng) -> Vec<(&'static str, u64)> {
    let (device, ev) = evaluator(11, carry);
    let [x, y]: [Ints<S>; 2] = [(); 2].map(|()| device.seal(&ev, &[any::<S>(bits, rng)], bits));
    let amount: Ints<Unsigned> = device.seal(&ev, &[BigInt::from(9)], 8);
    let all = operations(&ev, &x, &y, &amount);
    let found = all.into_iter().map(|(name, operation)| (name, device.counted(operation).1)).collect();
    let (norm, _) = DIGIT_LOOKUP;
    assert!(device.norm() as f64 <= norm, "{} > {norm}, {bits} bits, {carry:?}", device.norm());
    found
}

const STATED: [Stated; 32] = [
    ("add", [8, 8, 32, 32]),
    ("mul", [82, 82, 973, 973]),
    ("mul_plain by a number as wide", [34, 34, 290, 290]),
    ("div_rem", [306, 373, 3526, 3785]),
    ("div_mod_floor", [306, 403, 3526, 3892]),
    ("checked_div", [309, 388, 3534, 3833]),
    ("div_rem_plain by half the bits", [55, 71, 408, 460]),
    ("div_rem_plain by a bit less", [77, 92, 479, 530]),
    ("div_plain by half the bits", [51, 62, 392, 427]),
    ("rem_plain by half the bits", [45, 60, 391, 442]),
    ("div_mod_floor_plain by half the bits", [55, 57, 408, 410]),
    ("div_rem_plain by 3", [17, 29, 65, 101]),
    ("div_rem_plain by 7", [41, 54, 161, 198]),
    ("div_rem_plain by 8", [9, 23, 33, 71]),
    ("div_rem_plain by 10", [40, 55, 160, 199]),
    ("div_rem_plain by 100", [44, 60, 236, 276]),
    ("overflowing_add", [9, 12, 33, 36]),
    ("overflowing_sub", [9, 12, 33, 36]),
    ("overflowing_mul", [156, 230, 1931, 2219]),
    ("overflowing_neg", [11, 13, 40, 51]),
    ("overflowing_shl", [46, 46, 231, 231]),
    ("overflowing_shr", [46, 52, 231, 239]),
    ("saturating_add", [17, 22, 65, 70]),
    ("saturating_sub", [17, 22, 65, 70]),
    ("saturating_mul", [164, 242, 1963, 2255]),
    ("leading_zeros", [29, 29, 139, 139]),
    ("trailing_zeros", [29, 29, 139, 139]),
    ("count_ones", [14, 14, 47, 47]),
    ("ilog2", [29, 29, 139, 139]),
    ("checked_ilog2", [29, 31, 139, 141]),
    ("is_odd", [1, 1, 1, 1]),
    ("reverse_bits", [8, 8, 32, 32]),
];

#[test]
fn bootstraps_and_variances() {
    let rng = &mut ChaCha20Rng::seed_from_u64(67);
    for bits in [16, 64] {
        counts::<Unsigned>(Carry::Prefix, bits, rng);
        counts::<Signed>(Carry::Prefix, bits, rng);
    }
    let found = [
        counts::<Unsigned>(Carry::Ripple, 16, rng),
        counts::<Signed>(Carry::Ripple, 16, rng),
        counts::<Unsigned>(Carry::Ripple, 64, rng),
        counts::<Signed>(Carry::Ripple, 64, rng),
    ];
    let all: Vec<_> =
        (0..found[0].len()).map(|i| (found[0][i].0, found.each_ref().map(|all| all[i].1))).collect();
    assert_eq!(all, STATED);
}

/// The balances after a transfer of an amount, if the first covers it.
fn transfer(
    ev: &IntegerEvaluator<Clear>,
    [from, to, amount]: [&Ints<Unsigned>; 3],
) -> he::Result<[Ints<Unsigned>; 2]> {
    let moved = ev.select_or_zero(&ev.ge(from, amount)?, amount)?;
    let mut found = ev.sums(&[Sum::Sub(from, &moved), Sum::Add(to, &moved)])?.into_iter();
    Ok([found.next().unwrap(), found.next().unwrap()])
}

/// Transfers of batches of different carries: what is not covered moves nothing.
#[test]
fn transfers() {
    let mut rng = ChaCha20Rng::seed_from_u64(69);
    let mut numbers = || (0..64).map(|_| any::<Unsigned>(64, &mut rng)).collect::<Vec<_>>();
    let (from, to, mut amount) = (numbers(), numbers(), numbers());
    amount[..3].clone_from_slice(&[from[0].clone(), &from[1] + 1, BigInt::zero()]);
    amount[1] = wrapped::<Unsigned>(&amount[1], 64);
    for carry in [Carry::Ripple, Carry::Prefix, Carry::PrefixUpTo(64), Carry::PrefixUpTo(127)] {
        let (device, ev) = evaluator(7, carry);
        let [a, b, c] = [&from, &to, &amount].map(|x| device.seal::<Unsigned>(&ev, x, 64));
        let found = transfer(&ev, [&a, &b, &c]).unwrap();
        let moved = |i: usize| if from[i] >= amount[i] { amount[i].clone() } else { BigInt::zero() };
        let left: Vec<_> = (0..64).map(|i| &from[i] - moved(i)).collect();
        let got: Vec<_> = (0..64).map(|i| wrapped::<Unsigned>(&(&to[i] + moved(i)), 64)).collect();
        assert_eq!(found.each_ref().map(Clear::open), [left, got], "{carry:?}, seed 69");
    }
    let (device, ev) = evaluator(7, Carry::Ripple);
    assert!(matches!(ev.sums::<Unsigned>(&[]), Err(Error::Argument { .. })));
    let [short, long] = [8, 10].map(|bits| device.seal::<Unsigned>(&ev, &[BigInt::one()], bits));
    let mixed = ev.sums(&[Sum::Add(&short, &short), Sum::Sub(&long, &long)]);
    assert!(matches!(mixed, Err(Error::Argument { .. })));
}

/// The bootstraps of single operations with prefixes, and the batches that follow each other.
#[test]
fn steps_of_prefixes() {
    let (device, ev) = evaluator(11, Carry::Prefix);
    let rng = &mut ChaCha20Rng::seed_from_u64(70);
    let mut found = Vec::new();
    for bits in [32, 64] {
        let values = [any::<Unsigned>(bits, rng), any::<Unsigned>(bits, rng), any::<Unsigned>(bits, rng)];
        let [x, y, z] =
            values.each_ref().map(|x| device.seal::<Unsigned>(&ev, std::slice::from_ref(x), bits));
        type Operation<'a> = Box<dyn FnOnce() -> he::Result<()> + 'a>;
        let all: [(&str, Operation<'_>); 5] = [
            ("add", Box::new(|| ev.add(&x, &y).map(drop))),
            ("lt", Box::new(|| ev.lt(&x, &y).map(drop))),
            ("mul", Box::new(|| ev.mul(&x, &y).map(drop))),
            ("div_rem", Box::new(|| ev.div_rem(&x, &y).map(drop))),
            ("transfer", Box::new(|| transfer(&ev, [&x, &y, &z]).map(drop))),
        ];
        for (name, operation) in all {
            let before = device.steps();
            let ((), bootstraps) = device.counted(operation);
            found.push((bits, name, bootstraps, device.steps() - before));
        }
    }
    assert_eq!(found, STEPS);
}

const STEPS: [(usize, &str, u64, u64); 10] = [
    (32, "add", 53, 4),
    (32, "lt", 11, 3),
    (32, "mul", 306, 9),
    (32, "div_rem", 1339, 121),
    (32, "transfer", 133, 8),
    (64, "add", 109, 4),
    (64, "lt", 21, 3),
    (64, "mul", 1050, 10),
    (64, "div_rem", 4855, 251),
    (64, "transfer", 271, 8),
];

/// Public tables of every kind: the entries, the bootstraps that `get_plain` states, and the
/// variances of lookups.
#[test]
fn public_tables() {
    let rng = &mut ChaCha20Rng::seed_from_u64(68);
    let mut random = |entries: usize, bits: u32| -> Vec<BigUint> {
        (0..entries).map(|_| BigUint::from(rng.next_u64() >> (64 - bits))).collect()
    };
    let numbers = |table: Vec<u64>| table.into_iter().map(BigUint::from).collect::<Vec<_>>();
    // Bits 0, 2, 4 ... of four words each.
    let halves: Vec<BigUint> = random(4 * 17, 64)
        .chunks_exact(4)
        .map(|words| {
            words.iter().fold(BigUint::ZERO, |all, x| (all << 64) + (x & BigUint::from(u64::MAX / 3)))
        })
        .collect();
    // The table, the bits of results, and the bootstraps by an index that just reaches its end, of
    // 8 bits at least, and by one of 16.
    let all = [
        // Two for a row, and for each half 16 and the two that take it apart; beyond the end a
        // condition, two digits, and the first entry.
        ("256 of 8 bits", random(256, 8), 8, [38, 42]),
        ("256 of 64 bits", random(256, 64), 64, [290, 295]),
        // Whole rows are beyond the end, or none.
        ("200 of 8 bits", random(200, 8), 8, [38, 39]),
        ("250 of 8 bits", random(250, 8), 8, [38, 42]),
        ("1024 of 8 bits", random(1024, 8), 8, [135, 139]),
        // Parts that are 0 in all entries, parts that are alike, and terms that vanish.
        ("256 of 4 bits in 256", random(256, 4), 256, [20, 24]),
        ("twice 64 bits", random(256, 64).iter().map(|x| (x << 64) + x).collect(), 128, [290, 295]),
        ("the same number", numbers(vec![0xa7; 256]), 8, [6, 10]),
        ("zeros", numbers(vec![0; 256]), 8, [2, 3]),
        ("the index", numbers((0..256).collect()), 8, [11, 14]),
        ("squares modulo 256", numbers((0..256).map(|i| i * i % 256).collect()), 8, [15, 18]),
        ("16 of 8 bits", random(16, 8), 8, [8, 10]),
        ("17 of 8 bits", random(17, 8), 8, [14, 14]),
        ("64 of 8 bits", random(64, 8), 8, [17, 17]),
        // By conditions: 18 for the digits of an index and one for the others, one for each entry
        // and for each digit of a result.
        ("17 of 256 bits", halves, 256, [164, 164]),
    ];
    let stated = all.each_ref().map(|(name, .., stated)| (*name, *stated));
    let (small, ev) = evaluator(7, Carry::Ripple);
    // One index, of which the mask holds every bootstrap apart.
    let (apart, ev_apart) = evaluator(11, Carry::Ripple);
    let found = all.map(|(name, table, bits, _)| {
        let reached = if table.len() > 256 { 10 } else { 8 };
        let counts = [reached, 16].map(|index_bits| {
            // All of them, or every third to the last one where there is more to compute.
            let step = if bits > 8 || reached > 8 { 3 } else { 1 };
            let mut indices: Vec<BigInt> = (0..1 << reached).step_by(step).map(BigInt::from).collect();
            if index_bits == 16 {
                indices.extend([1024, 4096, 0xff00, 0xffff].map(BigInt::from));
            }
            let entry = |i: &BigInt| table.get(usize::try_from(i).unwrap()).cloned().unwrap_or_default();
            let expected: Vec<BigInt> = indices.iter().map(|i| entry(i).into()).collect();
            let index = small.seal::<Unsigned>(&ev, &indices, index_bits);
            let found = ev.get_plain(&table, bits, &index).unwrap();
            assert_eq!(Clear::open(&found), expected, "{name}, seed 68");
            let index = apart.seal::<Unsigned>(&ev_apart, &indices[5..6], index_bits);
            let (found, count) = apart.counted(|| ev_apart.get_plain(&table, bits, &index));
            assert_eq!(Clear::open(&found), expected[5..6], "{name}, seed 68");
            let (norm, _) = DIGIT_LOOKUP;
            assert!(apart.norm() as f64 <= norm, "{name}: {} > {norm}", apart.norm());
            count
        });
        (name, counts)
    });
    assert_eq!(found, stated);
}
