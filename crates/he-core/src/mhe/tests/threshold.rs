//! Any three of five decrypt, and any two know nothing.

use super::*;
use crate::bfv::Bfv;
use crate::exact;

/// The keys of all parties after everybody dealt.
fn dealt(world: &World, rng: &mut ChaCha20Rng) -> Vec<ThresholdKey> {
    let mut sums: Vec<ThresholdAggregate> = world
        .session
        .parties()
        .iter()
        .map(|&party| ThresholdAggregate::new(&world.session, party).unwrap())
        .collect();
    for key in &world.keys {
        for (share, sum) in key.deal(&world.ring, rng).unwrap().into_iter().zip(&mut sums) {
            sum.add(share).unwrap();
        }
    }
    sums.into_iter().map(|sum| sum.finish().unwrap()).collect()
}

/// All subsets of three to five parties, by their places.
fn quorums() -> impl Iterator<Item = Vec<usize>> {
    (0u32..32).filter(|set| set.count_ones() >= 3).map(|set| (0..5).filter(|i| set >> i & 1 == 1).collect())
}

#[test]
fn every_quorum_decrypts() {
    let mut rng = seeded(21);
    let parties = [1, 2, 5, 9, 30];
    let params = exact::<Bfv>(8).for_parties(5);
    let world = World::new(Cpu::new(), params.rlwe(), &parties, 3, &mut rng);
    let public = world.public_key(&mut rng);
    let keys = dealt(&world, &mut rng);
    let values: Vec<u64> = (0..256).map(|i| i * i % 12289).collect();
    let x = exact::Encryptor::new(&params, &public).unwrap().encrypt_slots(&values, &mut rng).unwrap();
    let encoder = exact::Encoder::new(&params).unwrap();
    let mut count = 0;
    for places in quorums() {
        let quorum: Vec<u32> = places.iter().map(|&i| parties[i]).collect();
        let decryption =
            Decryption::new(&unchecked(&world.session), &params, &x, &quorum, flooding()).unwrap();
        let mut all = Aggregate::new(&decryption);
        for &i in &places {
            let share = keys[i].share(&quorum).unwrap();
            all.add(&decryption.share(&share, &[], &mut publisher(), &mut rng).unwrap()).unwrap();
        }
        assert_eq!(encoder.decode::<u64>(&all.finish().unwrap()).unwrap().concat(), values, "{quorum:?}");
        count += 1;
    }
    assert_eq!(count, 16);
}

/// The weighted shares of a quorum sum to the collective secret exactly, and those of fewer, with
/// the weights that they would have, do not.
#[test]
fn shares_interpolate_the_secret() {
    let mut rng = seeded(22);
    let params = ckks(6);
    let world = World::new(Cpu::new(), params.rlwe(), &[3, 1, 4, 15, 9], 3, &mut rng);
    let keys = dealt(&world, &mut rng);
    let chain = Span::chain(params.rlwe().ring().q().len());
    let secret = world.secret(chain).get().to_words().unwrap();
    let parties = world.session.parties().to_vec();
    for places in quorums() {
        let quorum: Vec<u32> = places.iter().map(|&i| parties[i]).collect();
        let mut sum = Poly::zeros(&world.ring, chain, 1).unwrap();
        for &i in &places {
            sum.add_assign(keys[i].share(&quorum).unwrap().secret.get()).unwrap();
        }
        assert_eq!(sum.to_words().unwrap(), secret);
    }
}

/// Dealt values and sums of two parties are uniform, word by word: of both together as well.
#[test]
fn two_shares_are_uniform() {
    let mut rng = seeded(23);
    let params = ckks(9);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let q = world.ring.spec().q()[0];
    let mut bins = [0f64; 64];
    let mut total = 0.0;
    for _ in 0..64 {
        let dealt = world.keys[0].deal(&world.ring, &mut rng).unwrap();
        let [a, b] = [0, 1].map(|i| dealt[i].value.get().to_words().unwrap());
        for (a, b) in a.iter().zip(&b).take(world.ring.n()) {
            let eighth = |x: u64| (u128::from(x) * 8 / u128::from(q)) as usize;
            bins[8 * eighth(*a) + eighth(*b)] += 1.0;
            total += 1.0;
        }
    }
    let mean = total / 64.0;
    let chi: f64 = bins.iter().map(|bin| (bin - mean).powi(2) / mean).sum();
    assert!((chi - 63.0).abs() < 6.0 * 126f64.sqrt(), "{chi}");
}

#[test]
fn wrong_shares_and_quorums_are_refused() {
    let mut rng = seeded(24);
    let params = ckks(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 2, &mut rng);
    let other = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 2, &mut rng);
    let mut shares = world.keys[0].deal(&world.ring, &mut rng).unwrap();
    let again = world.keys[0].deal(&world.ring, &mut rng).unwrap().swap_remove(1);
    let (third, second) = (shares.pop().unwrap(), shares.pop().unwrap());
    let mut sum = ThresholdAggregate::new(&world.session, 2).unwrap();
    let mhe = |error: Error| match error {
        Error::Mhe(error) => error,
        error => panic!("{error}"),
    };
    let error = mhe(sum.add(third).unwrap_err());
    assert_eq!(error, MheError::WrongRecipient { found: 3, expected: 2 });
    sum.add(second).unwrap();
    assert_eq!(mhe(sum.add(again).unwrap_err()), MheError::Doubled { party: 1 });
    let foreign = other.keys[0].deal(&world.ring, &mut rng).unwrap().swap_remove(1);
    assert!(matches!(mhe(sum.add(foreign).unwrap_err()), MheError::ForeignSession { .. }));
    assert_eq!(mhe(sum.finish().unwrap_err()), MheError::Missing { parties: vec![2, 3] });
    assert_eq!(
        mhe(ThresholdAggregate::<Cpu>::new(&world.session, 4).unwrap_err()),
        MheError::Outsider { party: 4, parties: vec![1, 2, 3] }
    );
    let keys = dealt(&world, &mut rng);
    let refused = |quorum: &[u32]| mhe(keys[0].share(quorum).unwrap_err());
    assert_eq!(refused(&[1]), MheError::SmallQuorum { found: 1, threshold: 2 });
    assert_eq!(refused(&[1, 1]), MheError::Doubled { party: 1 });
    assert_eq!(refused(&[1, 4]), MheError::Outsider { party: 4, parties: vec![1, 2, 3] });
    assert_eq!(refused(&[2, 3]), MheError::Outsider { party: 1, parties: vec![2, 3] });
}

/// A dealer's secret, under which everything is made as for one party, and which any two decrypt.
#[test]
fn dealt_secrets_decrypt() {
    let mut rng = seeded(24);
    let params = exact::<Bfv>(8);
    let parties = [1, 4, 6];
    let session = Session::new(params.rlwe(), parties, 2, rng.random()).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let mut secret = SecretKey::generate(params.rlwe(), &mut rng);
    // It needs the session's name, and its parameters.
    assert!(matches!(session.deal_secret(&secret, &ring, &mut rng), Err(Error::KeyMismatch { .. })));
    secret.set_key_set(session.key_set());
    let foreign = outsider(exact::<Bfv>(9).rlwe(), &mut rng);
    let refused = session.deal_secret(&foreign, &ring, &mut rng);
    assert!(matches!(refused, Err(Error::ParamsMismatch { .. })));
    let keys = session.deal_secret(&secret, &ring, &mut rng).unwrap();
    assert_eq!(keys.iter().map(ThresholdKey::party).collect::<Vec<_>>(), parties);

    let values: Vec<u64> = (0..256).map(|i| i * i % 12289).collect();
    let encryptor = exact::SecretEncryptor::new(&params, &secret, &ring).unwrap();
    let x = encryptor.encrypt_slots(&values, &mut rng).unwrap().expand().unwrap();
    let encoder = exact::Encoder::new(&params).unwrap();
    for pair in [[0, 1], [0, 2], [1, 2]] {
        let quorum = pair.map(|i| parties[i]);
        let decryption = Decryption::new(&unchecked(&session), &params, &x, &quorum, flooding()).unwrap();
        let mut all = Aggregate::new(&decryption);
        for i in pair {
            let share = keys[i].share(&quorum).unwrap();
            all.add(&decryption.share(&share, &[], &mut publisher(), &mut rng).unwrap()).unwrap();
        }
        assert_eq!(encoder.decode::<u64>(&all.finish().unwrap()).unwrap().concat(), values, "{quorum:?}");
    }
    // One value is not the secret.
    let span = Span::chain(params.rlwe().ring().q().len());
    let alone = keys[0].share(&[1, 4]).unwrap();
    let whole = secret.on(&ring, span).unwrap();
    assert!(alone.secret.get().to_words().unwrap() != whole.get().to_words().unwrap());
}
