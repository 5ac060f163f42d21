//! Basis extension against big integers, and ModRaise on top of it.

use super::common::{World, for_seeds, random_values};
use he::arith::ntt_primes_below;
use he::backend::Cpu;
use he::ckks::{Ciphertext, CkksParams, CkksSpec};
use he::ring::{Coeff, Poly, Ring, RingSpec, Span};
use he::rlwe::RlweCiphertext;
use num_bigint::{BigInt, BigUint};
use rand::{RngExt, rngs::ChaCha20Rng};

fn primes(ring: &Ring<Cpu>, span: Span) -> Vec<u64> {
    let (all, chain) = (ring.spec().primes().collect::<Vec<_>>(), ring.spec().q().len());
    (0..span.limbs()).map(|i| all[span.prime(i, chain)]).collect()
}

fn product(primes: &[u64]) -> BigInt {
    primes.iter().map(|&prime| BigInt::from(prime)).product()
}

/// Residues of a number, which may be negative.
fn residue(x: &BigInt, prime: u64) -> u64 {
    let prime = BigInt::from(prime);
    u64::try_from(((x % &prime) + &prime) % &prime).unwrap()
}

/// The centred representative by Garner's incremental composition, which has nothing in common
/// with the conversion's formula.
fn composed(residues: &[u64], primes: &[u64]) -> BigInt {
    let (mut x, mut modulus) = (BigInt::from(0), BigInt::from(1));
    for (&r, &prime) in residues.iter().zip(primes) {
        let m = BigUint::try_from(modulus.clone()).unwrap();
        let inverse = m.modpow(&BigUint::from(prime - 2), &BigUint::from(prime));
        let step = residue(&((BigInt::from(r) - &x) * BigInt::from(inverse)), prime);
        x += &modulus * step;
        modulus *= prime;
    }
    if &x * 2 >= modulus { x - modulus } else { x }
}

/// Row `limb` of batch entry `entry`.
fn row(words: &[u64], (limb, batch, entry): (usize, usize, usize), n: usize) -> &[u64] {
    &words[(limb * batch + entry) * n..][..n]
}

fn centred(poly: &Poly<Coeff, Cpu>) -> Vec<BigInt> {
    let (words, n, batch) = (poly.to_words().unwrap(), poly.ring().n(), poly.batch());
    let primes = primes(poly.ring(), poly.span());
    (0..batch * n)
        .map(|i| {
            let at = |limb| row(&words, (limb, batch, i / n), n)[i % n];
            composed(&(0..primes.len()).map(at).collect::<Vec<_>>(), &primes)
        })
        .collect()
}

#[test]
fn extension_takes_centred_representatives() {
    let q = ntt_primes_below(50, 4, 4, &[]).unwrap();
    let wide = ntt_primes_below(61, 4, 1, &[]).unwrap();
    let p: Vec<u64> = wide.into_iter().chain(ntt_primes_below(30, 4, 1, &q).unwrap()).collect();
    let ring = Ring::new(Cpu::new(), RingSpec::new(4, q, p).unwrap()).unwrap();
    let from = [Span::chain(1), Span::chain(3), Span::digit(1, 4), Span::special(2), Span::extended(2, 1)];
    let to = [Span::chain(1), Span::chain(4), Span::extended(4, 2), Span::special(1), Span::digit(2, 3)];
    for_seeds(6, |rng| {
        for (from, to) in from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to))) {
            let (sources, targets) = (primes(&ring, from), primes(&ring, to));
            let (modulus, n, batch) = (product(&sources), ring.n(), 2);
            // Numbers near zero of both signs, near the edges (but not nearer than the conversion
            // distinguishes), and any.
            let near = &modulus / 2 - (&modulus >> 40);
            let numbers: Vec<BigInt> = (0..n * batch)
                .map(|i| {
                    let small = BigInt::from(rng.random_range(-9i64..=9));
                    match i % 4 {
                        0 => small,
                        1 => &near - small,
                        2 => small - &near,
                        _ => {
                            let residues: Vec<u64> =
                                sources.iter().map(|&prime| rng.random_range(0..prime)).collect();
                            composed(&residues, &sources)
                        }
                    }
                })
                .collect();
            let words = |primes: &[u64]| -> Vec<u64> {
                primes.iter().flat_map(|&prime| numbers.iter().map(move |x| residue(x, prime))).collect()
            };
            let poly = Poly::<Coeff, Cpu>::from_words(&ring, from, batch, &words(&sources)).unwrap();
            let extended = poly.extend(to).unwrap();
            assert_eq!((extended.span(), extended.batch()), (to, batch));
            assert!(extended.to_words().unwrap() == words(&targets), "{from} to {to}");
        }
        let poly = Poly::<Coeff, Cpu>::zeros(&ring, Span::chain(2), 1).unwrap();
        for missing in [Span::chain(5), Span::extended(2, 3), Span::chain(0)] {
            assert!(poly.extend(missing).is_err(), "{missing}");
        }
    });
}

/// c0 + c1 s, in coefficients.
fn phase(world: &World, ct: &Ciphertext<Cpu>) -> Vec<BigInt> {
    let [c0, c1] = ct.pair().parts();
    let mut phase = c0.duplicate().unwrap();
    let secret = world.secret.on(&world.ring, c0.span()).unwrap();
    phase.mul_add_assign(c1, secret.get()).unwrap();
    centred(&phase.into_coeff().unwrap())
}

/// A ciphertext of level 0, its polynomials extended to the whole chain, has the phase m + q0 I
/// there, with an I no greater than (1 + ||s||_1) / 2.
#[test]
fn raised_ciphertexts_hold_multiples_of_the_base() {
    for (log_n, base) in [(4, vec![50]), (6, vec![50]), (5, vec![31, 30])] {
        let q: Vec<u32> = base.iter().copied().chain([40; 4]).collect();
        let spec = CkksSpec::from_bits(log_n, &q, &[50], 40.0).unwrap();
        let spec = spec.with_levels((base.len()..=q.len()).collect(), 40.0);
        let params = CkksParams::insecure(spec).unwrap();
        for_seeds(4, |rng: &mut ChaCha20Rng| {
            let world = World::new(&params, [], rng);
            let values = random_values(rng, 2, params.slots());
            let low = world.encrypt(&values, 0, rng).ct;
            let raise = |part: &Poly<_, Cpu>| {
                let all = Span::chain(world.ring.spec().q().len());
                part.duplicate().unwrap().into_coeff().unwrap().extend(all).unwrap().into_eval().unwrap()
            };
            let [c0, c1] = low.pair().parts().map(raise);
            let (top, pair) = (params.max_level(), RlweCiphertext::new(c0, c1).unwrap());
            let raised = Ciphertext::from_parts(&params, pair, top, low.scale(), low.slots()).unwrap();
            let weight = world.secret.expose_coefficients().iter().filter(|&&s| s != 0).count();
            let modulus = product(&primes(&world.ring, Span::chain(base.len())));
            let mut greatest = BigInt::from(0);
            for (m, raised) in phase(&world, &low).iter().zip(phase(&world, &raised)) {
                let difference = raised - m;
                assert_eq!(&difference % &modulus, BigInt::from(0));
                let i = difference / &modulus;
                greatest = greatest.max(BigInt::from(i.magnitude().clone()));
            }
            assert!(greatest <= BigInt::from(weight.div_ceil(2) + 1), "{greatest} of weight {weight}");
            assert!(greatest > BigInt::from(0), "nothing overflowed");
        });
    }
}
