//! Kinds 44 to 51: sessions, shares and keys of several parties, and of re-encryption.

use super::*;
use he::ckks::SecretEncryptor;
use he::mhe::{
    Aggregate, Decryption, EphemeralKey, GaloisKeyGeneration, PartyKey, Protocol, PublicKeyGeneration,
    RecipientKey, ReencryptionKey, RelinearisationRound1, RelinearisationRound2, SecretShare, Session, Share,
    ShareKind, ThresholdAggregate, ThresholdKey, Transcript,
};
use he::rlwe::Flooding;
use he::{Publisher, Result};

#[test]
fn golden_files_of_parties_read_back() {
    let params = generator::party_params().unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let session = Session::from_frame(&params, (), &frames("party_session.he")[1]).unwrap();
    assert_eq!((session.parties(), session.threshold(), session.seed()), (&[1, 2, 3][..], 2, &[7; 32]));
    let kept = frames("party_secrets.he");
    let keys: Vec<PartyKey> =
        kept[1..4].iter().map(|frame| PartyKey::from_frame(&params, &session, frame).unwrap()).collect();
    for (frame, party) in kept[4..7].iter().zip(1..) {
        assert_eq!(EphemeralKey::from_frame(&params, &session, frame).unwrap().party(), party);
    }
    let threshold = ThresholdKey::<Cpu>::from_frame(&params, (&session, &ring), &kept[7]).unwrap();
    assert_eq!((kept.len(), threshold.party()), (8, 1));
    let mut sum = ThresholdAggregate::new(&session, 1).unwrap();
    for frame in &frames("party_secret_shares.he")[1..] {
        sum.add(SecretShare::from_frame(&params, (&session, &ring), frame).unwrap()).unwrap();
    }
    assert_eq!(sum.finish().unwrap().to_frame(&params).unwrap().body, kept[7].body);

    // The shares sum to the keys beside them, and to what was encrypted.
    fn add<P: Protocol<Backend = Cpu>>(protocol: &P, frames: &[Frame]) -> P::Output
    where
        Share<P::Kind>: for<'a> Wire<CkksParams, Place<'a> = &'a Ring<Cpu>>,
        P::Kind: ShareKind,
    {
        let mut all = Aggregate::new(protocol);
        for frame in frames {
            let params = generator::party_params().unwrap();
            all.add(&Share::from_frame(&params, protocol.ring(), frame).unwrap()).unwrap();
        }
        all.finish().unwrap()
    }
    let (shares, made) = (frames("party_shares.he"), frames("party_keys.he"));
    let mut public = add(&PublicKeyGeneration::new(&session, &ring).unwrap(), &shares[1..4]);
    assert_eq!(public.to_frame(&params).unwrap().body, made[1].body);
    let sums = add(&RelinearisationRound1::new(&session, &ring).unwrap(), &shares[4..7]);
    let mut found = EvaluationKeys::empty(params.rlwe(), &ring).unwrap();
    found
        .insert_relin(add(&RelinearisationRound2::new(&session, &ring, &sums).unwrap(), &shares[7..10]))
        .unwrap();
    let generation = GaloisKeyGeneration::new(&session, &ring, 5).unwrap();
    found.insert_galois(5, add(&generation, &shares[10..13])).unwrap();
    let found = found.to_frames(&params).collect::<Result<Vec<_>>>().unwrap();
    assert!(found.iter().zip(&made[2..4]).all(|(found, made)| found.body == made.body));
    let x = Ciphertext::from_frame(&params, &ring, &made[4]).unwrap();
    let transcript = Transcript::unchecked_insecure(&session);
    let decryption = Decryption::new(&transcript, &params, &x, &[1, 2, 3], Flooding::Bits(20)).unwrap();
    let plain = add(&decryption, &shares[13..16]);
    let values = Encoder::new(&params, &ring).unwrap().decode(&plain).unwrap();
    assert!(worst_difference(&values, &generator::values()[..1]) < 1e-2);
    public.set_key_set(None);
    assert_eq!(keys[2].party(), 3);

    let params = generator::grouped_params().unwrap();
    let recipient = SecretKey::from_frame(&params, (), &frames("reencryption_secret_key.he")[1]).unwrap();
    let pair = frames("reencryption_keys.he");
    let to = RecipientKey::from_frame(&params, &ring, &pair[1]).unwrap();
    let key = ReencryptionKey::from_frame(&params, &ring, &pair[2]).unwrap();
    let sender = generator::params().unwrap();
    let sender = SecretKey::from_frame(&sender, (), &frames("secret_key.he")[1]).unwrap();
    let encryptor = SecretEncryptor::new(&params, &sender, &ring).unwrap();
    let mut rng = super::super::common::rng(1);
    let x = encryptor.encrypt_real(&[0.5, -3.0], &mut rng).unwrap().expand().unwrap();
    let mut publisher = Publisher::new(1, 1).unwrap();
    let y = key.reencrypt(&params, &x, &to, &mut publisher, &mut rng).unwrap();
    let y = Decryptor::new(&params, &recipient, &ring).unwrap().decrypt_real(&y).unwrap();
    assert!((y[1] + 3.0).abs() < 1e-2, "{y:?}");
}
