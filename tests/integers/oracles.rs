//! Each step against big integers.

use super::common::{
    MODULI, World, centred_mod, compose, for_seeds, insecure, modulus, negacyclic, phase, round_div, shapes,
};
use he::arith::is_prime;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::exact::{Ciphertext, Encryptor, Scheme};
use he::ring::{Poly, Seed, Span};
use he::rlwe::RlweCiphertext;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

#[test]
fn the_widest_plaintext_modulus_is_prime() {
    assert!(is_prime(MODULI[7]) && MODULI[7] >> 59 == 1);
}

/// The term that encryption adds to an encryption of zero.
fn embedded<S: Scheme>(world: &World<S>, m: &[u64], seed: u64) -> Vec<BigInt> {
    let encryptor = Encryptor::new(&world.params, &world.public).unwrap();
    let encrypt = |m: Vec<u64>| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        encryptor.encrypt(&world.plaintext(&[m]), &mut rng).unwrap()
    };
    let difference = world.ev.sub(&encrypt(m.to_vec()), &encrypt(vec![0; m.len()])).unwrap();
    assert!(compose(difference.pair().parts()[1]).iter().all(|c| *c == BigInt::from(0)));
    compose(difference.pair().parts()[0])
}

#[test]
fn bfv_embeds_round_q_m_over_t() {
    for_seeds(1, |rng| {
        for t in MODULI {
            for params in shapes::<Bfv>(t, 100) {
                let world = World::new(params, rng);
                let mut m = world.random(rng);
                m[0] = t - 1;
                let q = modulus(&world.params, world.params.max_level() + 1);
                let found = embedded(&world, &m, rng.random());
                for (m, found) in m.iter().zip(found) {
                    let expected = centred_mod(&round_div(&(&q * *m), &BigInt::from(t)), &q);
                    // Q m / t is never a half: t and Q are coprime, and Q is odd.
                    let half = t % 2 == 0 && *m == t / 2;
                    let off = centred_mod(&(&found - &expected), &q).abs();
                    assert!(off == BigInt::from(0) || half && off == BigInt::from(1), "t = {t}, m = {m}");
                }
            }
        }
    });
}

#[test]
fn bgv_embeds_m_over_t() {
    for_seeds(1, |rng| {
        for t in MODULI {
            for params in shapes::<Bgv>(t, 100) {
                let world = World::new(params, rng);
                let m = world.random(rng);
                let q = modulus(&world.params, world.params.max_level() + 1);
                for (m, found) in m.iter().zip(embedded(&world, &m, rng.random())) {
                    let m = centred_mod(&BigInt::from(*m), &BigInt::from(t));
                    assert_eq!(centred_mod(&(found * t), &q), m, "t = {t}");
                }
            }
        }
    });
}

/// A pair of uniform polynomials: every value of the phase occurs, not only those near to messages.
fn uniform<S: Scheme>(
    world: &World<S>,
    primes: usize,
    factor: u64,
    rng: &mut ChaCha20Rng,
) -> Ciphertext<S, he::backend::Cpu> {
    let seed = Seed::random(rng);
    let part = |index| Poly::uniform(&world.ring, Span::chain(primes), 2, &seed, index).unwrap();
    let pair = RlweCiphertext::new(part(0), part(1)).unwrap();
    Ciphertext::from_parts(&world.params, pair, factor, world.params.noise().public()).unwrap()
}

/// f^-1 modulo t by search or by big integers: f f^-1 = 1.
fn divided(c: &BigInt, factor: u64, t: u64) -> u64 {
    let t_big = BigInt::from(t);
    let inverse = BigInt::from(factor).modinv(&t_big).unwrap();
    let m = (c * inverse) % &t_big;
    ((m + &t_big) % &t_big).to_u64().unwrap()
}

fn decryption<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in MODULI {
        for params in shapes::<S>(t, 130) {
            let world = World::new(params, rng);
            for primes in 1..=world.params.max_level() + 1 {
                let factor = if t > 5 { [1, t - 1, if t % 2 == 0 { 5 } else { 2 }][primes % 3] } else { 1 };
                let ct = uniform(&world, primes, factor, rng);
                let found = world.decrypt(&ct).concat();
                let scaled = world.scaled_phase(&ct);
                let expected: Vec<u64> = scaled.iter().map(|c| divided(c, factor, t)).collect();
                assert_eq!(found, expected, "{}, t = {t}, N = {}, {primes} primes", S::NAME, world.n());
                // The budget is that of the greatest coefficient of each entry.
                let budgets = world.decryptor.noise_budget(&ct).unwrap();
                let q = modulus(&world.params, primes).to_f64().unwrap();
                for (budget, row) in budgets.iter().zip(scaled.chunks(world.n())) {
                    let greatest = row.iter().map(|c| c.abs()).max().unwrap().to_f64().unwrap();
                    assert!((budget - (q / (2.0 * greatest)).log2()).abs() < 1e-9, "{budget}");
                }
            }
        }
    }
}

#[test]
fn decryption_is_the_remainder_of_the_phase() {
    for_seeds(1, decryption::<Bfv>);
    for_seeds(1, decryption::<Bgv>);
}

/// In BFV the same is round(t x / Q).
#[test]
fn bfv_decrypts_to_the_rounded_quotient() {
    for_seeds(1, |rng| {
        for t in MODULI {
            for params in shapes::<Bfv>(t, 100) {
                let world = World::new(params, rng);
                let zero = world.encrypt(&[vec![0; world.n()]], rng);
                let primes = zero.level() + 1;
                let ct = uniform(&world, primes, zero.correction_factor(), rng);
                let q = modulus(&world.params, primes);
                let t_big = BigInt::from(t);
                let expected: Vec<u64> = phase(&world.secret, ct.pair())
                    .iter()
                    .map(|x| {
                        let m = round_div(&(centred_mod(x, &q) * t), &q) % &t_big;
                        ((m + &t_big) % &t_big).to_u64().unwrap()
                    })
                    .collect();
                assert_eq!(world.decrypt(&ct).concat(), expected, "t = {t}, N = {}", world.n());
            }
        }
    });
}

/// (c - [c]_D) / D in both parts, and f / D.
fn switching<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in [2, 17, 65537, 1 << 20] {
        for params in shapes::<S>(t, 150) {
            let world = World::new(params, rng);
            let top = world.params.max_level();
            let ct = world.encrypt(&[world.random(rng), world.random(rng)], rng);
            for level in 0..top {
                if world.params.noise().budget(world.params.noise().public(), level + 1) < 12.0 {
                    continue;
                }
                let low = world.ev.mod_switch_to(&ct, level).unwrap();
                let (q, q_low) = (modulus(&world.params, top + 1), modulus(&world.params, level + 1));
                let dropped = &q / &q_low;
                for (c, low) in ct.pair().parts().into_iter().zip(low.pair().parts()) {
                    for (c, low) in compose(c).iter().zip(compose(low)) {
                        let rest = centred_mod(c, &dropped);
                        let quotient: BigInt = (c - &rest) / &dropped;
                        // So close to D/2 either neighbour is right: there a phase of Q/2 lies
                        // where nothing masks it.
                        let to_edge: BigInt = rest.abs() * 2 - &dropped;
                        let at_edge = to_edge.abs() <= &dropped >> 40u32;
                        let other = &quotient + if rest.is_negative() { -1 } else { 1 };
                        let allowed = if at_edge { vec![quotient, other] } else { vec![quotient] };
                        let allowed: Vec<BigInt> = allowed.iter().map(|x| centred_mod(x, &q_low)).collect();
                        assert!(allowed.contains(&low), "{}, t = {t}: {low} is none of {allowed:?}", S::NAME);
                    }
                }
                let t_big = BigInt::from(t);
                assert_eq!(
                    dropped * low.correction_factor() % &t_big,
                    BigInt::from(ct.correction_factor()) % &t_big
                );
                assert_eq!(world.decrypt(&low), world.decrypt(&ct));
            }
        }
    }
}

#[test]
fn switches_divide_and_round() {
    for_seeds(1, switching::<Bfv>);
    for_seeds(1, switching::<Bgv>);
}

/// The BGV triple is t c c' modulo Q.
#[test]
fn bgv_products_are_products() {
    for_seeds(2, |rng| {
        for t in [2, 65537, 1 << 20] {
            let world = World::<Bgv>::new(insecure(3, &[50, 50, 40], &[50], t), rng);
            let [a, b] = [(); 2].map(|()| world.encrypt(&[world.random(rng)], rng));
            let product = world.ev.tensor(&a, &b).unwrap();
            let primes = product.level() + 1;
            let q = modulus(&world.params, primes);
            let [a, b] = [a, b].map(|ct| world.ev.mod_switch_to(&ct, primes - 1).unwrap());
            let [a, b] = [&a, &b].map(|ct| ct.pair().parts().map(compose));
            let sum = |x: Vec<BigInt>, y: Vec<BigInt>| x.iter().zip(y).map(|(x, y)| x + y).collect();
            let expected: [Vec<BigInt>; 3] = [
                negacyclic(&a[0], &b[0]),
                sum(negacyclic(&a[0], &b[1]), negacyclic(&a[1], &b[0])),
                negacyclic(&a[1], &b[1]),
            ];
            for (expected, found) in expected.iter().zip(product.triple().parts()) {
                let expected: Vec<BigInt> = expected.iter().map(|c| centred_mod(&(c * t), &q)).collect();
                assert_eq!(expected, compose(found), "t = {t}");
            }
        }
    });
}
