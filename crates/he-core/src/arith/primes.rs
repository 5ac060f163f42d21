//! Primality and primes q = 1 mod 2N.

use super::Modulus;
use crate::params::ParamsError;

/// Whether `n` is prime: Miller-Rabin to the first twelve primes, which decides every 64-bit
/// integer (Sorenson, Webster 2015). Variable time.
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    'bases: for base in BASES {
        let (mut x, mut square, mut e) = (1u64, base, odd);
        while e != 0 {
            if e & 1 == 1 {
                x = mul(x, square);
            }
            square = mul(square, square);
            e >>= 1;
        }
        if x == 1 || x == n - 1 {
            continue;
        }
        for _ in 1..twos {
            x = mul(x, x);
            if x == n - 1 {
                continue 'bases;
            }
        }
        return false;
    }
    true
}

/// The most primes that are searched for at once: a ring has at most 128, and a search for 2^40 of
/// them would not end.
const MOST_PRIMES: usize = 1 << 10;
/// log2 of the largest degree whose roots of unity are searched for.
const MAX_LOG_N: u32 = 17;

fn check_count(found: usize) -> Result<(), ParamsError> {
    if found > MOST_PRIMES {
        let (lowest, highest) = (0, MOST_PRIMES);
        return Err(ParamsError::ChainLength { chain: "list to look for", found, lowest, highest });
    }
    Ok(())
}

/// The `count` largest primes q < 2^bits with q = 1 mod 2^(log_n + 1), descending, without those in
/// `taken`.
///
/// # Errors
/// [`ParamsError::NotEnoughPrimes`] if there are fewer with exactly `bits` bits, or `bits` is
/// outside 2..=61; [`ParamsError::ChainLength`] for more than 2^10 at once.
pub fn ntt_primes_below(bits: u32, log_n: u32, count: usize, taken: &[u64]) -> Result<Vec<u64>, ParamsError> {
    let error = ParamsError::NotEnoughPrimes { bits, log_n, count };
    if !(2..=Modulus::MAX_BITS).contains(&bits) || log_n >= bits - 1 {
        return Err(error);
    }
    check_count(count)?;
    let step = 1u64 << (log_n + 1);
    let mut candidate = (1u64 << bits) + 1 - step;
    let mut primes = Vec::with_capacity(count.min(64));
    while primes.len() < count {
        if candidate >> (bits - 1) != 1 {
            return Err(error);
        }
        if is_prime(candidate) && !taken.contains(&candidate) {
            primes.push(candidate);
        }
        candidate -= step;
    }
    Ok(primes)
}

/// The `count` primes q = 1 mod 2^(log_n + 1) nearest to `target` that are below 2^`below_bits` and
/// not in `taken`, nearest first.
///
/// # Errors
/// [`ParamsError::NotEnoughPrimes`] if fewer lie within a factor of two of the target;
/// [`ParamsError::ChainLength`] for more than 2^10 at once.
#[expect(clippy::disallowed_methods, reason = "parameters are public")]
pub fn nearest_ntt_primes(
    target: f64,
    below_bits: u32,
    log_n: u32,
    count: usize,
    taken: &[u64],
) -> Result<Vec<u64>, ParamsError> {
    let bits = target.max(2.0).log2().round() as u32;
    let error = || ParamsError::NotEnoughPrimes { bits, log_n, count };
    if !(4.0..(1u64 << Modulus::MAX_BITS) as f64).contains(&target)
        || below_bits > Modulus::MAX_BITS
        || log_n >= Modulus::MAX_BITS
    {
        return Err(error());
    }
    check_count(count)?;
    let step = 1u64 << (log_n + 1);
    let target = target.round() as u64;
    let (low, high) = (target / 2, target.saturating_mul(2).min(1 << below_bits));
    // No prime from `high` on is possible, and the search would leave a target far above it only in
    // small steps.
    let mut down = target.min(high) / step * step + 1;
    let mut up = down + step;
    let mut primes = Vec::with_capacity(count.min(64));
    while primes.len() < count {
        let down_possible = down > low && down > 1;
        let up_possible = up < high;
        let take_down = match (down_possible, up_possible) {
            (false, false) => return Err(error()),
            (true, false) => true,
            (false, true) => false,
            (true, true) => target.abs_diff(down) <= target.abs_diff(up),
        };
        let candidate = if take_down { down } else { up };
        if take_down {
            down = down.saturating_sub(step);
        } else {
            up += step;
        }
        if candidate < high && is_prime(candidate) && !taken.contains(&candidate) {
            primes.push(candidate);
        }
    }
    Ok(primes)
}

/// The smallest primitive 2^(log_n + 1)-th root of unity modulo the prime q: the same root for
/// every back end.
///
/// # Errors
/// [`ParamsError::NotNttPrime`] if q is not a prime equal to 1 mod 2^(log_n + 1);
/// [`ParamsError::Degree`] beyond 2^17, since the time is proportional to the degree.
pub fn primitive_root_2n(q: &Modulus, log_n: u32) -> Result<u64, ParamsError> {
    if log_n > MAX_LOG_N {
        return Err(ParamsError::Degree { found: log_n, lowest: 0, highest: MAX_LOG_N });
    }
    let order = 1u64 << (log_n + 1);
    let value = q.value();
    if !is_prime(value) || !(value - 1).is_multiple_of(order) {
        return Err(ParamsError::NotNttPrime { found: value, log_n });
    }
    // A candidate g^((q-1)/2N) has order 2N exactly when its N-th power is -1.
    let root = (2..value)
        .map(|g| q.pow(g, (value - 1) / order))
        .find(|&x| q.pow(x, order / 2) == value - 1)
        .ok_or(ParamsError::NotNttPrime { found: value, log_n })?;
    // The other primitive roots are its odd powers: the least of them is the canonical one.
    let square = q.mul(root, root);
    let (mut least, mut power) = (root, root);
    for _ in 0..order / 2 {
        least = least.min(power);
        power = q.mul(power, square);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_agree_with_trial_division() {
        for n in 0u64..20_000 {
            let trial = n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
            assert_eq!(is_prime(n), trial, "{n}");
        }
    }

    /// Known cases: strong pseudoprimes to many bases (OEIS A014233) and primes at the top of the
    /// range.
    #[test]
    fn known_primes_and_pseudoprimes() {
        for composite in [2047, 1_373_653, 25_326_001, 3_215_031_751, 3_825_123_056_546_413_051] {
            assert!(!is_prime(composite), "{composite}");
        }
        for prime in [(1 << 61) - 1, 18_446_744_073_709_551_557, 0xffff_ffff_0000_0001] {
            assert!(is_prime(prime), "{prime}");
        }
    }

    #[test]
    fn generated_primes_are_what_they_should_be() {
        for (bits, log_n) in [(20, 2), (30, 12), (40, 14), (50, 16), (60, 17), (61, 17)] {
            let primes = ntt_primes_below(bits, log_n, 5, &[]).unwrap();
            for pair in primes.windows(2) {
                assert!(pair[0] > pair[1]);
            }
            for &q in &primes {
                assert!(is_prime(q) && q % (2 << log_n) == 1 && 64 - q.leading_zeros() == bits);
            }
            let others = ntt_primes_below(bits, log_n, 2, &primes).unwrap();
            assert!(others.iter().all(|q| !primes.contains(q)));
            let near = nearest_ntt_primes(2f64.powi(bits as i32 - 1), bits, log_n, 4, &[]).unwrap();
            for pair in near.windows(2) {
                let distance = |q: u64| q.abs_diff(1 << (bits - 1));
                assert!(distance(pair[0]) <= distance(pair[1]));
            }
        }
        assert!(ntt_primes_below(14, 13, 1, &[]).is_err());
        assert!(ntt_primes_below(62, 4, 1, &[]).is_err());
        assert!(ntt_primes_below(16, 10, 1000, &[]).is_err());
    }

    #[test]
    fn roots_are_primitive_and_least() {
        for (bits, log_n) in [(12, 4), (20, 8), (50, 12)] {
            let q = Modulus::new(ntt_primes_below(bits, log_n, 1, &[]).unwrap()[0]).unwrap();
            let root = primitive_root_2n(&q, log_n).unwrap();
            assert_eq!(q.pow(root, 1 << log_n), q.value() - 1);
            if bits <= 20 {
                let least = (1..q.value()).find(|&x| q.pow(x, 1 << log_n) == q.value() - 1);
                assert_eq!(Some(root), least);
            }
        }
        assert!(primitive_root_2n(&Modulus::new(1 << 20).unwrap(), 4).is_err());
        assert!(primitive_root_2n(&Modulus::new(19).unwrap(), 4).is_err());
    }
}
