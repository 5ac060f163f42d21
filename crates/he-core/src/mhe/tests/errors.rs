//! Shares of other sessions, parameters, protocols or parties, and missing or doubled ones: an
//! error of its own each.

use super::*;
use crate::ckks;
use crate::error::Error;

fn mhe(error: Error) -> MheError {
    match error {
        Error::Mhe(error) => error,
        error => panic!("{error}"),
    }
}

#[test]
fn sessions_are_checked() {
    let params = ckks(5);
    let session =
        |parties: &[u32], threshold| Session::new(params.rlwe(), parties.iter().copied(), threshold, [1; 32]);
    let text = |parties: &[u32], threshold| session(parties, threshold).unwrap_err().to_string();
    assert_eq!(text(&[1], 1), "parties: 1 given; a session has at least two");
    assert_eq!(text(&[1, 3, 1], 1), "parties: 1 twice; give each its own number");
    assert_eq!(text(&[0, 1], 1), "parties: number 0; 1 to 65535 are possible");
    assert_eq!(text(&[1 << 16, 1], 1), "parties: number 65536; 1 to 65535 are possible");
    assert_eq!(text(&[1, 2], 0), "threshold: 0 parties; 1 to 2 are possible");
    assert_eq!(text(&[1, 2], 3), "threshold: 3 parties; 1 to 2 are possible");
    // The order makes no difference, and everything else does.
    let first = session(&[1, 2], 2).unwrap();
    assert_eq!(first, session(&[2, 1], 2).unwrap());
    let other_seed = Session::new(params.rlwe(), [1, 2], 2, [2; 32]).unwrap();
    let other_params = Session::new(ckks(6).rlwe(), [1, 2], 2, [1; 32]).unwrap();
    for other in [session(&[1, 3], 2).unwrap(), session(&[1, 2], 1).unwrap(), other_seed, other_params] {
        assert_ne!(first, other);
        assert_ne!(first.key_set(), other.key_set());
    }
    let error = PartyKey::generate(&first, 3, &mut seeded(1)).unwrap_err();
    assert_eq!(mhe(error), MheError::Outsider { party: 3, parties: vec![1, 2] });
}

/// A prime of a toy ring bounds the points of its parties.
#[test]
fn points_are_distinct_modulo_every_prime() {
    let spec = crate::ring::RingSpec::new(2, vec![17, 41], vec![]).unwrap();
    let params = RlweParams::insecure(spec, vec![]).unwrap();
    assert!(Session::new(&params, [1, 16], 2, [0; 32]).is_ok());
    let error = Session::new(&params, [1, 18], 2, [0; 32]).unwrap_err().to_string();
    assert_eq!(error, "parties: number 18; 1 to 16 are possible");
}

#[test]
fn shares_that_do_not_belong_are_refused() {
    let mut rng = seeded(51);
    let params = ckks(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 2, &mut rng);
    let foreign =
        World::on(Session::new(params.rlwe(), [1, 2, 3], 2, [9; 32]).unwrap(), world.ring.clone(), &mut rng);
    let generation = GaloisKeyGeneration::new(&world.session, &world.ring, 5).unwrap();
    let other_element = GaloisKeyGeneration::new(&world.session, &world.ring, 25).unwrap();
    let other_session = GaloisKeyGeneration::new(&foreign.session, &world.ring, 5).unwrap();
    let mut all = Aggregate::new(&generation);
    let share = generation.share(&world.keys[0], &mut rng).unwrap();
    all.add(&share).unwrap();
    assert_eq!(mhe(all.add(&share).unwrap_err()), MheError::Doubled { party: 1 });
    let error = all.add(&other_element.share(&world.keys[1], &mut rng).unwrap()).unwrap_err();
    assert_eq!(mhe(error), MheError::WrongSubject { party: 2, protocol: ProtocolKind::GaloisKey });
    let error = all.add(&other_session.share(&foreign.keys[1], &mut rng).unwrap()).unwrap_err();
    let (found, expected) = (foreign.session.id(), world.session.id());
    assert_eq!(mhe(error), MheError::ForeignSession { what: "share", found, expected });
    // A secret of another session makes no share at all.
    let error = generation.share(&foreign.keys[0], &mut rng).unwrap_err();
    assert!(matches!(mhe(error), MheError::ForeignSession { what: "secret of the party", .. }));
    let mut outsider = generation.share(&world.keys[1], &mut rng).unwrap();
    outsider.party = 8;
    let error = mhe(all.add(&outsider).unwrap_err());
    assert_eq!(error, MheError::Outsider { party: 8, parties: vec![1, 2, 3] });
    assert_eq!(error.to_string(), "party 8 takes no part, which 1, 2, 3 do");
    // Another ring, and other polynomials.
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let elsewhere = GaloisKeyGeneration::new(&world.session, &ring, 5).unwrap();
    let error = all.add(&elsewhere.share(&world.keys[1], &mut rng).unwrap()).unwrap_err();
    assert!(matches!(error, Error::RingMismatch), "{error}");
    let mut shorter = generation.share(&world.keys[1], &mut rng).unwrap();
    shorter.polys.pop();
    assert!(matches!(all.add(&shorter), Err(Error::Argument { what: "polynomials of a share", .. })));
    shorter.polys.push(shorter.polys[0].chain_part().unwrap());
    assert!(matches!(all.add(&shorter), Err(Error::SpanMismatch { .. })));
    assert_eq!(all.missing(), [2, 3]);
    let error = mhe(all.finish().unwrap_err());
    assert_eq!(error, MheError::Missing { parties: vec![2, 3] });
    assert_eq!(error.to_string(), "no share of party 2, 3; get the shares of all parties that take part");
}

#[test]
fn decryptions_are_bound_to_their_inputs() {
    let mut rng = seeded(52);
    let params = ckks(5).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let public = world.public_key(&mut rng);
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let [x, y] = [0.5, 0.25].map(|value| encryptor.encrypt_real(&[value], &mut rng).unwrap());
    let (session, all) = (&world.session, [1, 2, 3]);
    let new = |ct, flooding| Decryption::new(&unchecked(session), &params, ct, &all, flooding);
    let decryption = new(&x, flooding()).unwrap();
    let other = Publisher::new(SECURITY, DECRYPTIONS + 1).unwrap();
    let keys: Vec<KeyShare> = world.keys.iter().map(|key| key.share(&world.ring).unwrap()).collect();
    let mut sum = Aggregate::new(&decryption);
    // Another ciphertext, another flood.
    for (run, mut publisher) in
        [(new(&y, flooding()).unwrap(), publisher()), (new(&x, other.flooding()).unwrap(), other)]
    {
        let error = sum.add(&run.share(&keys[0], &[], &mut publisher, &mut rng).unwrap()).unwrap_err();
        assert_eq!(mhe(error), MheError::WrongSubject { party: 1, protocol: ProtocolKind::Decryption });
    }
    // Publishers count, and must be of the security that was agreed on.
    let mut one = Publisher::resume(SECURITY, DECRYPTIONS, 1).unwrap();
    sum.add(&decryption.share(&keys[0], &[], &mut one, &mut rng).unwrap()).unwrap();
    let error = decryption.share(&keys[0], &[], &mut one, &mut rng).unwrap_err();
    assert!(matches!(error, Error::DecryptionsSpent { asked: 1, left: 0, .. }), "{error}");
    let mut weaker = Publisher::new(SECURITY - 1, DECRYPTIONS).unwrap();
    let error = decryption.share(&keys[0], &[], &mut weaker, &mut rng).unwrap_err();
    assert!(matches!(error, Error::Argument { what: "publisher", .. }), "{error}");
    assert_eq!(weaker.left(), DECRYPTIONS);
    assert_eq!(mhe(sum.finish().unwrap_err()), MheError::Missing { parties: vec![2, 3] });
    // Quorums and ciphertexts.
    let quorum = |quorum: &[u32]| {
        mhe(Decryption::new(&unchecked(session), &params, &x, quorum, flooding()).unwrap_err())
    };
    assert_eq!(quorum(&[1, 2]), MheError::SmallQuorum { found: 2, threshold: 3 });
    assert_eq!(quorum(&[1, 2, 2]), MheError::Doubled { party: 2 });
    let mut unknown = x.duplicate().unwrap();
    unknown.set_noise(None);
    assert!(matches!(new(&unknown, flooding()), Err(Error::NoiseUnknown)));
    let mut foreign = x.duplicate().unwrap();
    foreign.set_key_set(Some(crate::KeySetId::from_bytes([3; 16])));
    assert!(matches!(new(&foreign, flooding()), Err(Error::KeyMismatch { .. })));
    let wide = Publisher::new(256, u64::MAX).unwrap();
    assert!(matches!(new(&x, wide.flooding()), Err(Error::FloodTooWide { .. })));
    let strange = ckks(6);
    let error = Decryption::new(&unchecked(session), &strange, &x, &all, flooding()).unwrap_err();
    assert!(matches!(error, Error::ParamsMismatch { .. }), "{error}");
}

#[test]
fn ephemeral_secrets_belong_to_their_party() {
    let mut rng = seeded(53);
    let params = ckks(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let first = RelinearisationRound1::new(&world.session, &world.ring).unwrap();
    let mut ephemeral = Vec::new();
    let sums = world.run(&first, |key| {
        let (share, secret) = first.share(key, &mut rng).unwrap();
        ephemeral.push(secret);
        share
    });
    let second = RelinearisationRound2::new(&world.session, &world.ring, &sums).unwrap();
    let error = second.share(&world.keys[0], ephemeral.pop().unwrap(), &mut rng).unwrap_err();
    assert!(matches!(error, Error::Argument { what: "ephemeral secret", .. }), "{error}");
    // Nothing of a secret is printed.
    let shown =
        format!("{:?} {:?} {:?}", ephemeral[0], world.keys[0], world.keys[0].share(&world.ring).unwrap());
    assert_eq!(
        shown,
        "EphemeralKey { party 1, .. } PartyKey { party 1, .. } KeyShare { party 1 of [1, 2], .. }"
    );
}
