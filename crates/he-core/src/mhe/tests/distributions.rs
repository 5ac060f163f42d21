//! A single share tells nothing: its words are uniform, and those of one secret cannot be told from
//! those of another.

use super::*;
use crate::bfv::Bfv;
use crate::ckks;
use crate::exact;

/// Chi-squared over 64 equal bins of all words modulo their primes, against 63 of deviation
/// sqrt(126), summed over shares.
fn check(what: &str, shares: &[&Poly<Eval>]) {
    let mut bins = [0f64; 64];
    let mut total = 0.0;
    for share in shares {
        let n = share.ring().n() * share.batch();
        let words = share.to_words().unwrap();
        for (row, q) in words.chunks_exact(n).zip(share.ring().spec().moduli_of(share.span())) {
            for &word in row {
                assert!(word < q.value());
                bins[(u128::from(word) * 64 / u128::from(q.value())) as usize] += 1.0;
                total += 1.0;
            }
        }
    }
    let mean = total / 64.0;
    let chi: f64 = bins.iter().map(|bin| (bin - mean).powi(2) / mean).sum();
    assert!((chi - 63.0).abs() < 6.0 * 126f64.sqrt(), "{what}: {chi} over {total} words");
}

#[test]
fn shares_are_uniform() {
    let mut rng = seeded(41);
    let params = ckks(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let (session, ring) = (&world.session, &world.ring);
    // An extreme secret beside random ones: if a share depended on it, all of it would show.
    let flat = zeroize::Zeroizing::new(vec![1; ring.n()]);
    let flat = SecretKey::from_coefficients_insecure(params.rlwe(), flat).unwrap();
    let flat = PartyKey::from_secret(session, 1, flat).unwrap();
    let public = world.public_key(&mut rng);
    let x = ckks::Encryptor::new(&params, &public).unwrap().encrypt_real(&[0.5], &mut rng).unwrap();
    let sums = {
        let first = RelinearisationRound1::new(session, ring).unwrap();
        world.run(&first, |key| first.share(key, &mut rng).unwrap().0)
    };
    let receiver = outsider(params.rlwe(), &mut rng);
    let to = PublicKey::generate(&receiver, ring, &mut rng).unwrap();
    for key in [&flat, &world.keys[0]] {
        let generation = PublicKeyGeneration::new(session, ring).unwrap();
        let share = generation.share(key, &mut rng).unwrap();
        check("public key", &share.polys().iter().collect::<Vec<_>>());
        let first = RelinearisationRound1::new(session, ring).unwrap();
        let (share, ephemeral) = first.share(key, &mut rng).unwrap();
        check("first round", &share.polys().iter().collect::<Vec<_>>());
        let second = RelinearisationRound2::new(session, ring, &sums).unwrap();
        let share = second.share(key, ephemeral, &mut rng).unwrap();
        check("second round", &share.polys().iter().collect::<Vec<_>>());
        let generation = GaloisKeyGeneration::new(session, ring, 5).unwrap();
        let share = generation.share(key, &mut rng).unwrap();
        check("galois key", &share.polys().iter().collect::<Vec<_>>());
        let all = session.parties();
        let own = key.share(ring).unwrap();
        let decryption = Decryption::new(&unchecked(session), &params, &x, all, flooding()).unwrap();
        let share = decryption.share(&own, &[], &mut publisher(), &mut rng).unwrap();
        check("decryption", &share.polys().iter().collect::<Vec<_>>());
        let switching =
            PublicKeySwitching::new(&unchecked(session), &to, &params, &x, all, flooding()).unwrap();
        let share = switching.share(&own, &[], &mut publisher(), &mut rng).unwrap();
        check("public key switching", &share.polys().iter().collect::<Vec<_>>());
        let refresh = Refresh::new(&unchecked(session), &params, &x, all, flooding(), 0).unwrap();
        let share = refresh.share(&own, &[], &mut publisher(), &mut rng).unwrap();
        check("refresh", &share.polys().iter().collect::<Vec<_>>());
    }
}

/// All other parties together know a decryption share up to its flood, which is uniform: their
/// knowledge of the message and of their own shares leaves h_1 - s_1 c1 in the dark.
#[test]
fn floods_of_a_single_share_are_uniform() {
    let mut rng = seeded(42);
    let params = exact::<Bfv>(9).for_parties(2);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let public = world.public_key(&mut rng);
    let x = exact::Encryptor::new(&params, &public).unwrap().encrypt_slots(&[1u64; 512], &mut rng).unwrap();
    let decryption = Decryption::new(&unchecked(&world.session), &params, &x, &[1, 2], flooding()).unwrap();
    let bits = decryption.flood_bits();
    let half = BigInt::from(1) << bits;
    let mut bins = [0f64; 32];
    for _ in 0..16 {
        let key = &world.keys[0];
        let share =
            decryption.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap();
        let mut flood = share.polys()[0].duplicate().unwrap();
        let mut known = x.pair().parts()[1].duplicate().unwrap();
        known.mul_assign(key.secret().on(&world.ring, Span::chain(6)).unwrap().get()).unwrap();
        flood.sub_assign(&known).unwrap();
        for e in integers(flood.into_coeff().unwrap()) {
            assert!(e >= -&half && e < half);
            let bin = ((e + &half) * 32u32) >> (bits + 1);
            bins[usize::try_from(bin).unwrap()] += 1.0;
        }
    }
    let mean = 16.0 * 512.0 / 32.0;
    let chi: f64 = bins.iter().map(|bin| (bin - mean).powi(2) / mean).sum();
    assert!((chi - 31.0).abs() < 6.0 * 62f64.sqrt(), "{chi}");
}
