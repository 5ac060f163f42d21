//! Messages and secrets of several parties, and keys of re-encryption.
//!
//! Must hold: the body of a frame is refused or is an object that is written to the same bytes; a
//! share is added to those of its run, or is an error.
//!
//! Bytes: the number of the kind below, then the body.

use super::world::{self, recode};
use he_core::backend::Cpu;
use he_core::ckks::CkksParams;
use he_core::mhe::{
    Aggregate, EphemeralKey, PartyKey, PublicKeyGeneration, RecipientKey, ReencryptionKey,
    RelinearisationRound1, SecretShare, Session, Share, ThresholdAggregate, ThresholdKey, kinds,
};
use he_core::ring::Ring;
use he_core::wire::{Frame, FrameKind, Wire};

const KINDS: [FrameKind; 8] = [
    FrameKind::Session,
    FrameKind::PartyShare,
    FrameKind::SecretShare,
    FrameKind::PartyKey,
    FrameKind::ThresholdKey,
    FrameKind::EphemeralKey,
    FrameKind::RecipientKey,
    FrameKind::ReencryptionKey,
];

fn session() -> Session {
    let rlwe = world::ckks().params.rlwe();
    Session::new(rlwe, [1, 2], 2, [7; 32]).expect("a session")
}

pub fn run(data: &[u8]) {
    let [selector, body @ ..] = data else { return };
    let (w, session) = (world::ckks(), session());
    let (params, ring): (&CkksParams, &Ring<Cpu>) = (&w.params, &w.ring);
    let kind = KINDS[usize::from(*selector) % KINDS.len()];
    let frame = &Frame { kind, fingerprint: params.fingerprint(), body: body.to_vec() };
    match kind {
        FrameKind::Session => drop(recode::<_, Session>(params, (), frame)),
        FrameKind::PartyShare => {
            if let Some(share) = recode::<_, Share<kinds::PublicKey, Cpu>>(params, ring, frame) {
                let generation = PublicKeyGeneration::new(&session, ring).expect("a run");
                let mut all = Aggregate::new(&generation);
                let added = all.add(&share);
                assert_eq!(all.missing().len(), 2 - usize::from(added.is_ok()));
            }
            recode::<_, Share<kinds::Relinearisation1, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::Relinearisation2, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::GaloisKey, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::Decryption, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::KeySwitching, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::PublicKeySwitching, Cpu>>(params, ring, frame);
            recode::<_, Share<kinds::Refresh, Cpu>>(params, ring, frame);
        }
        FrameKind::SecretShare => {
            if let Some(share) = recode::<_, SecretShare<Cpu>>(params, (&session, ring), frame) {
                let mut sum = ThresholdAggregate::new(&session, 1).expect("a party");
                let fits = share.to() == 1 && session.parties().contains(&share.from());
                assert_eq!(sum.add(share).is_ok(), fits);
            }
        }
        FrameKind::PartyKey => drop(recode::<_, PartyKey>(params, &session, frame)),
        FrameKind::ThresholdKey => drop(recode::<_, ThresholdKey<Cpu>>(params, (&session, ring), frame)),
        FrameKind::EphemeralKey => drop(recode::<_, EphemeralKey>(params, &session, frame)),
        FrameKind::RecipientKey => drop(recode::<_, RecipientKey<Cpu>>(params, ring, frame)),
        _ => drop(recode::<_, ReencryptionKey<Cpu>>(params, ring, frame)),
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let (w, session, rng) = (world::ckks(), session(), &mut world::rng(1));
    let (params, ring): (&CkksParams, &Ring<Cpu>) = (&w.params, &w.ring);
    let key = PartyKey::generate(&session, 1, rng).expect("a party");
    let generation = PublicKeyGeneration::new(&session, ring).expect("a run");
    let share = generation.share(&key, rng).expect("a share").to_frame(params);
    let first = RelinearisationRound1::new(&session, ring).expect("a run");
    let (round, kept) = first.share(&key, rng).expect("a share");
    let mut sum = ThresholdAggregate::new(&session, 1).expect("a party");
    let mut dealt = None;
    for party in [1, 2] {
        let key = PartyKey::generate(&session, party, rng).expect("a party");
        let value = key.deal(ring, rng).expect("values").swap_remove(0);
        dealt = Some(value.to_frame(params));
        sum.add(value).expect("a value for party 1");
    }
    let recipient = RecipientKey::generate(&w.secret, ring, rng).expect("a key");
    let reencryption = ReencryptionKey::generate(&w.secret, &recipient, rng).expect("a key");
    let frames = [
        (0u8, session.to_frame(params)),
        (1, share),
        (1, round.to_frame(params)),
        (2, dealt.expect("a value")),
        (3, key.to_frame(params)),
        (4, sum.finish().expect("all have dealt").to_frame(params)),
        (5, kept.to_frame(params)),
        (6, recipient.to_frame(params)),
        (7, reencryption.to_frame(params)),
    ];
    frames.map(|(number, frame)| [&[number][..], &frame.expect("a frame").body].concat()).to_vec()
}
