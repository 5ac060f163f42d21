//! Messages and keys survive their frames, and frames of anything else are refused.

use super::*;
use crate::ckks;
use crate::error::Error;
use crate::wire::{Frame, FrameKind, Wire, WireError, party_frame_limit};

fn resized(frame: &Frame, length: usize) -> Frame {
    let mut body = frame.body.clone();
    body.resize(length, 0);
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
}

fn with_byte(frame: &Frame, at: usize, byte: u8) -> Frame {
    let mut body = frame.body.clone();
    body[at] = byte;
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
}

#[test]
fn everything_survives_its_frame() {
    let mut rng = seeded(61);
    let params = ckks(5).for_parties(2);
    let world = World::new(Cpu::new(), params.rlwe(), &[4, 1], 2, &mut rng);
    let (session, ring) = (&world.session, &world.ring);
    let limit = |kind| party_frame_limit(&params, kind, 1);

    let frame = session.to_frame(&params).unwrap();
    assert_eq!(Session::from_frame(&params, (), &frame).unwrap(), *session);
    assert!(frame.body.len() as u64 <= limit(FrameKind::Session));

    let frame = world.keys[1].to_frame(&params).unwrap();
    let key = PartyKey::from_frame(&params, session, &frame).unwrap();
    assert_eq!(key.party(), 4);
    assert_eq!(key.secret().expose_coefficients(), world.keys[1].secret().expose_coefficients());
    assert_eq!(frame.body.len() as u64, limit(FrameKind::PartyKey));

    // The protocols go on with what was read: shares, ephemeral secrets, dealt values.
    let first = RelinearisationRound1::new(session, ring).unwrap();
    let mut all = Aggregate::new(&first);
    let mut ephemeral = Vec::new();
    for key in &world.keys {
        let (share, secret) = first.share(key, &mut rng).unwrap();
        let frame = share.to_frame(&params).unwrap();
        assert!(frame.body.len() as u64 <= limit(FrameKind::PartyShare));
        all.add(&Share::from_frame(&params, ring, &frame).unwrap()).unwrap();
        let frame = secret.to_frame(&params).unwrap();
        ephemeral.push(EphemeralKey::from_frame(&params, session, &frame).unwrap());
    }
    let sums = all.finish().unwrap();
    let second = RelinearisationRound2::new(session, ring, &sums).unwrap();
    let mut all = Aggregate::new(&second);
    for (key, ephemeral) in world.keys.iter().zip(ephemeral) {
        let frame = second.share(key, ephemeral, &mut rng).unwrap().to_frame(&params).unwrap();
        all.add(&Share::from_frame(&params, ring, &frame).unwrap()).unwrap();
    }
    all.finish().unwrap();

    let public = world.public_key(&mut rng);
    let x = ckks::Encryptor::new(&params, &public).unwrap().encrypt_real(&[0.5], &mut rng).unwrap();
    let mut sums: Vec<ThresholdAggregate> =
        [1, 4].map(|party| ThresholdAggregate::new(session, party).unwrap()).into();
    for key in &world.keys {
        for (share, sum) in key.deal(ring, &mut rng).unwrap().into_iter().zip(&mut sums) {
            let frame = share.to_frame(&params).unwrap();
            assert_eq!(frame.body.len() as u64, limit(FrameKind::SecretShare));
            sum.add(SecretShare::from_frame(&params, (session, ring), &frame).unwrap()).unwrap();
        }
    }
    let decryption = Decryption::new(&unchecked(session), &params, &x, &[1, 4], flooding()).unwrap();
    let mut all = Aggregate::new(&decryption);
    for sum in sums {
        let frame = sum.finish().unwrap().to_frame(&params).unwrap();
        assert_eq!(frame.body.len() as u64, limit(FrameKind::ThresholdKey));
        let key = ThresholdKey::from_frame(&params, (session, ring), &frame).unwrap();
        let share = decryption.share(&key.share(&[1, 4]).unwrap(), &[], &mut publisher(), &mut rng).unwrap();
        let frame = share.to_frame(&params).unwrap();
        all.add(&Share::from_frame(&params, ring, &frame).unwrap()).unwrap();
    }
    let encoder = ckks::Encoder::new(&params, ring).unwrap();
    let found = encoder.decode_real(&all.finish().unwrap()).unwrap();
    assert!((found[0][0] - 0.5).abs() < 1e-2);

    let [ours, theirs] = [(); 2].map(|()| outsider(params.rlwe(), &mut rng));
    let recipient = RecipientKey::generate(&theirs, ring, &mut rng).unwrap();
    let frame = recipient.to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, limit(FrameKind::RecipientKey));
    let recipient = RecipientKey::from_frame(&params, ring, &frame).unwrap();
    let key = ReencryptionKey::generate(&ours, &recipient, &mut rng).unwrap();
    let frame = key.to_frame(&params).unwrap();
    assert_eq!(frame.body.len() as u64, limit(FrameKind::ReencryptionKey));
    let mut key = ReencryptionKey::from_frame(&params, ring, &frame).unwrap();
    assert_eq!((key.source(), key.key_set()), (None, None));
    key.set_key_sets(Some(ours.key_set()), Some(theirs.key_set())).unwrap();
    let x = ckks::SecretEncryptor::new(&params, &ours, ring).unwrap();
    let x = x.encrypt_real(&[0.25], &mut rng).unwrap().expand().unwrap();
    let y = key.reencrypt(&params, &x, &recipient, &mut publisher(), &mut rng).unwrap();
    let found = ckks::Decryptor::new(&params, &theirs, ring).unwrap().decrypt_real(&y).unwrap();
    assert!((found[0] - 0.25).abs() < 1e-2);
}

#[test]
fn other_frames_are_refused() {
    let mut rng = seeded(62);
    let params = ckks(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let (session, ring) = (&world.session, &world.ring);
    let other = Session::new(params.rlwe(), [1, 2], 2, [5; 32]).unwrap();
    let wire = |error: Error| match error {
        Error::Wire(error) => error,
        error => panic!("{error}"),
    };
    let field = |error: Error| match wire(error) {
        WireError::Field { field, .. } => field,
        error => panic!("{error}"),
    };
    // Sessions: an impossible threshold, doubled and disordered parties, any other length.
    let frame = session.to_frame(&params).unwrap();
    let read = |frame: &Frame| Session::from_frame(&params, (), frame);
    for (at, byte) in [(0, 0), (0, 3), (8, 2), (8, 3), (8, 0), (12, 1)] {
        let error = field(read(&with_byte(&frame, at, byte)).unwrap_err());
        assert_eq!(error, "list of parties or threshold", "byte {at} as {byte}");
    }
    for length in [0, 4, 8, 40, frame.body.len() - 1, frame.body.len() + 1] {
        assert!(read(&resized(&frame, length)).is_err(), "{length}");
    }
    assert_eq!(field(read(&with_byte(&frame, 7, 0xff)).unwrap_err()), "number of a party");
    let strange = ckks(6);
    assert!(matches!(
        wire(Session::from_frame(&strange, (), &frame).unwrap_err()),
        WireError::WrongParams { .. }
    ));

    // Shares: another protocol by its number, an impossible one, primes and batches.
    let generation = PublicKeyGeneration::new(session, ring).unwrap();
    let frame = generation.share(&world.keys[0], &mut rng).unwrap().to_frame(&params).unwrap();
    let error = Share::<kinds::GaloisKey>::from_frame(&params, ring, &frame).unwrap_err();
    let (found, expected) = (ProtocolKind::PublicKey, ProtocolKind::GaloisKey);
    assert!(matches!(error, Error::Mhe(e) if e == MheError::WrongProtocol { found, expected }));
    let read = |frame: &Frame| Share::<kinds::PublicKey>::from_frame(&params, ring, frame);
    assert!(read(&frame).is_ok());
    assert_eq!(field(read(&with_byte(&frame, 0, 0)).unwrap_err()), "protocol");
    assert_eq!(field(read(&with_byte(&frame, 0, 9)).unwrap_err()), "protocol");
    assert_eq!(field(read(&with_byte(&frame, 69, 1)).unwrap_err()), "level");
    assert_eq!(field(read(&with_byte(&frame, 71, 1)).unwrap_err()), "batch");
    for length in [0, 1, 74, 75, frame.body.len() - 1, frame.body.len() + 1] {
        assert!(read(&resized(&frame, length)).is_err(), "{length}");
    }
    let last = frame.body.len() - 1;
    assert!(matches!(wire(read(&with_byte(&frame, last, 0xff)).unwrap_err()), WireError::Residue { .. }));
    // A share on a ciphertext that claims a batch beyond memory.
    let mut batch = with_byte(&frame, 0, ProtocolKind::Decryption as u8);
    batch.body[69] = 1;
    batch.body[71..75].copy_from_slice(&[0xff; 4]);
    let error = Share::<kinds::Decryption>::from_frame(&params, ring, &batch).unwrap_err();
    assert!(matches!(wire(error), WireError::Length { .. }));

    // Secrets: of another session, of no party of it, of no ternary coefficients.
    let frame = world.keys[0].to_frame(&params).unwrap();
    let error = PartyKey::from_frame(&params, &other, &frame).unwrap_err();
    assert!(matches!(error, Error::Mhe(MheError::ForeignSession { .. })), "{error}");
    let read = |frame: &Frame| PartyKey::from_frame(&params, session, frame);
    assert_eq!(field(read(&with_byte(&frame, 32, 9)).unwrap_err()), "party");
    assert_eq!(field(read(&with_byte(&frame, 36, 3)).unwrap_err()), "coefficient");
    assert!(read(&resized(&frame, frame.body.len() + 1)).is_err());
    let share = world.keys[0].deal(ring, &mut rng).unwrap().remove(1);
    let frame = share.to_frame(&params).unwrap();
    let error = SecretShare::from_frame(&params, (&other, ring), &frame).unwrap_err();
    assert!(matches!(error, Error::Mhe(MheError::ForeignSession { .. })), "{error}");
    assert!(SecretShare::from_frame(&params, (session, ring), &resized(&frame, 100)).is_err());
    // Neither kind stands for the other.
    assert!(ThresholdKey::from_frame(&params, (session, ring), &frame).is_err());
    assert!(RecipientKey::from_frame(&params, ring, &frame).is_err());
    assert!(ReencryptionKey::from_frame(&params, ring, &frame).is_err());
}
