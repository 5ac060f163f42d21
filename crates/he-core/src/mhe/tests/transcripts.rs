//! The facts about a ciphertext that a party must know before it makes a share of it.

use super::*;
use crate::ckks;
use crate::error::Error;

fn mhe<T: std::fmt::Debug>(result: Result<T>) -> MheError {
    match result.unwrap_err() {
        Error::Mhe(error) => error,
        error => panic!("{error}"),
    }
}

/// The attack: c1 is the constant Q / 4, and one share is the secret of its party. No share is made
/// of such a ciphertext, whether it is the result or an input, in any protocol on ciphertexts.
#[test]
fn shares_are_made_of_recomputed_results_alone() {
    let mut rng = seeded(61);
    let params = ckks(5).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 2, &mut rng);
    let (session, all) = (&world.session, [1, 2, 3]);
    let public = world.public_key(&mut rng);
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let [x, y] = [0.5, 0.25].map(|value| encryptor.encrypt_real(&[value], &mut rng).unwrap());
    let ev = ckks::Evaluator::new(&params, &world.ring).unwrap();
    let sum = ev.add(&x, &y).unwrap();
    let keys: Vec<KeyShare> = world.keys.iter().map(|key| key.share(&world.ring).unwrap()).collect();

    // Each prime is 1 modulo 4, so that this is the constant (Q - 1) / 4.
    let mut evil = sum.duplicate().unwrap();
    let c1 = &mut evil.pair.c[1];
    let n = world.ring.spec().n();
    let words: Vec<u64> =
        world.ring.spec().moduli_of(c1.span()).flat_map(|q| std::iter::repeat_n(q.value() / 4, n)).collect();
    *c1 = Poly::from_words(&world.ring, c1.span(), 1, &words).unwrap();
    // It is what it is said to be: the share holds the secret above the flood.
    let unsafe_run = Decryption::new(&unchecked(session), &params, &evil, &all, Flooding::Bits(8)).unwrap();
    let share = unsafe_run.share(&keys[0], &[], &mut publisher(), &mut rng).unwrap();
    let mut found = share.polys()[0].duplicate().unwrap();
    let secret = world.keys[0].secret().expose_coefficients();
    let mut product = evil.pair.c[1].duplicate().unwrap();
    product.mul_assign(keys[0].secret.get()).unwrap();
    found.sub_assign(&product).unwrap();
    assert!(integers(found.into_coeff().unwrap()).iter().all(|x| x.bits() <= 9));
    assert!(
        integers(product.into_coeff().unwrap()).iter().zip(secret).all(|(x, &s)| (x.bits() > 64) == (s != 0))
    );

    let digest = |ct: &ckks::Ciphertext| Digest::of(ct).unwrap();
    let inputs = [(1, digest(&x)), (2, digest(&y))];
    let transcript = |inputs: &[(u32, Digest)], results: Vec<Digest>| {
        Transcript::recompute(session, b"sum", inputs, || Ok::<_, Error>(results))
    };
    let own = transcript(&inputs, vec![digest(&sum)]).unwrap();
    let flooding = flooding();
    let refused = MheError::NotAResult { found: digest(&evil), transcript: own.id() };
    let to = PublicKey::generate(&outsider(params.rlwe(), &mut rng), &world.ring, &mut rng).unwrap();
    assert_eq!(mhe(Decryption::new(&own, &params, &evil, &all, flooding)), refused);
    assert_eq!(mhe(KeySwitching::new(&own, session, &params, &evil, &all, flooding)), refused);
    assert_eq!(mhe(PublicKeySwitching::new(&own, &to, &params, &evil, &all, flooding)), refused);
    assert_eq!(mhe(Refresh::new(&own, &params, &evil, &all, flooding, 0)), refused);
    // Nor a share of an input.
    assert!(matches!(mhe(Decryption::new(&own, &params, &x, &all, flooding)), MheError::NotAResult { .. }));

    // Statements: of all who have inputs, one each, of the same transcript and session.
    let run = Decryption::new(&own, &params, &sum, &all, flooding).unwrap();
    let mut share =
        |at: usize, statements: &[Statement]| run.share(&keys[at], statements, &mut publisher(), &mut rng);
    let [first, second, third] = all.map(|party| own.statement(party).unwrap());
    assert_eq!(mhe(share(0, &[third])), MheError::Unstated { parties: vec![2] });
    assert_eq!(mhe(share(2, &[])), MheError::Unstated { parties: vec![1, 2] });
    assert_eq!(mhe(share(0, &[second, second])), MheError::DoubledStatement { party: 2 });
    let other = Statement { transcript: digest(&x), ..second };
    let (found, expected) = (digest(&x), own.id());
    assert_eq!(mhe(share(0, &[other])), MheError::OtherTranscript { party: 2, found, expected });
    assert!(matches!(
        mhe(share(0, &[Statement { party: 4, ..second }])),
        MheError::Outsider { party: 4, .. }
    ));
    let foreign = Session::new(params.rlwe(), [1, 2, 3], 2, [8; 32]).unwrap();
    let stranger = Statement { session: foreign.id(), ..second };
    assert!(matches!(mhe(share(0, &[stranger])), MheError::ForeignSession { what: "statement", .. }));
    share(0, &[second]).unwrap();
    let mut all_shares = Aggregate::new(&run);
    all_shares.add(&share(1, &[first]).unwrap()).unwrap();
    all_shares.add(&share(2, &[first, second, third]).unwrap()).unwrap();

    // Whoever has not recomputed makes no share, but adds those of others.
    let theirs = Transcript::received(session, b"sum", &inputs, &[digest(&sum)]).unwrap();
    assert_eq!(theirs.id(), own.id());
    let combined = Decryption::new(&theirs, &params, &sum, &all, flooding).unwrap();
    let not = MheError::NotRecomputed { transcript: own.id() };
    let error = combined.share(&keys[0], &[first, second, third], &mut publisher(), &mut rng);
    assert_eq!(
        (mhe(error), mhe(theirs.statement(1)), mhe(theirs.tag(&world.keys[0]))),
        (not.clone(), not.clone(), not)
    );
    assert_eq!(combined.subject(), run.subject());
    // Another program, party or order is another run, and so is a run without a computation.
    let results = [digest(&sum)];
    let swapped = [(2, inputs[0].1), (1, inputs[1].1)];
    for other in [
        Transcript::received(session, b"sun", &inputs, &results).unwrap(),
        Transcript::received(session, b"sum", &swapped, &results).unwrap(),
        Transcript::received(session, b"sum", &inputs, &[results[0], results[0]]).unwrap(),
        unchecked(session),
    ] {
        assert_ne!(Decryption::new(&other, &params, &sum, &all, flooding).unwrap().subject(), run.subject());
    }

    // Impossible transcripts.
    for (inputs, results) in [(&inputs[..0], 1), (&inputs[..], 0), (&[inputs[0], (2, inputs[0].1)], 1)] {
        let error = transcript(inputs, vec![digest(&sum); results]).unwrap_err();
        assert!(matches!(error, Error::Argument { what: "transcript", .. }), "{error}");
    }
    assert!(matches!(mhe(transcript(&[(4, digest(&x))], vec![digest(&x)])), MheError::Outsider { .. }));
}

/// A transcript is taken up again by the party that recomputed it, and by nobody else.
#[test]
fn tags_are_those_of_the_party() {
    let mut rng = seeded(62);
    let params = ckks(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let [a, b] = &world.keys[..] else { unreachable!() };
    let (inputs, results) = ([(1, Digest([1; 32]))], [Digest([2; 32])]);
    let own =
        Transcript::recompute(&world.session, b"p", &inputs, || Ok::<_, Error>(results.to_vec())).unwrap();
    let tag = own.tag(a).unwrap();
    assert_ne!(tag, own.tag(b).unwrap());
    let kept = |program: &[u8], key: &PartyKey, tag: &[u8; 32]| {
        Transcript::kept(&world.session, program, &inputs, &results, (key, tag))
    };
    let again = kept(b"p", a, &tag).unwrap();
    assert_eq!((again.id(), again.statement(1).unwrap()), (own.id(), own.statement(1).unwrap()));
    let mut flipped = tag;
    flipped[31] ^= 1;
    for (program, key, tag, party) in
        [(&b"p"[..], b, tag, 2), (b"q", a, tag, 1), (b"p", a, flipped, 1), (b"p", a, [0; 32], 1)]
    {
        assert_eq!(mhe(kept(program, key, &tag)), MheError::WrongTag { party });
    }
    // The tag is not the identity that the secret has in public, nor depends on it.
    assert_ne!(tag[..16], a.secret().key_set().to_bytes());
}
