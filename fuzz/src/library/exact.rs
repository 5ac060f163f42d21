//! Ciphertexts of BFV and BGV.
//!
//! Must hold: the body of a frame is refused or is a ciphertext that is written to the same bytes,
//! and every operation on it ends in a result or an error.
//!
//! Bytes: 1 for a seeded ciphertext, 2 for BGV, added; then the body.

use super::world::{self, Rlwe, computed, recode};
use he_core::backend::Cpu;
use he_core::exact::{Ciphertext, Decryptor, Evaluator, Params, SecretEncryptor, SeededCiphertext};
use he_core::wire::{ExactHeader, Frame, FrameKind, Wire, WireScheme};

pub fn run(data: &[u8]) {
    let Some((&selector, body)) = data.split_first() else { return };
    let seeded = selector & 1 == 1;
    match selector & 2 {
        0 => one(world::bfv(), [FrameKind::BfvCiphertext, FrameKind::BfvSeededCiphertext], seeded, body),
        _ => one(world::bgv(), [FrameKind::BgvCiphertext, FrameKind::BgvSeededCiphertext], seeded, body),
    }
}

fn one<S: WireScheme>(w: &Rlwe<Params<S>, Cpu>, kinds: [FrameKind; 2], seeded: bool, body: &[u8]) {
    let kind = kinds[usize::from(seeded)];
    let frame = Frame { kind, fingerprint: w.params.fingerprint(), body: body.to_vec() };
    let header = ExactHeader::from_frame(&w.params, &frame);
    let ct = match seeded {
        false => recode::<_, Ciphertext<S, Cpu>>(&w.params, &w.ring, &frame),
        true => recode::<_, SeededCiphertext<S, Cpu>>(&w.params, &w.ring, &frame)
            .map(|seeded| seeded.expand().expect("a seed gives residues")),
    };
    let Some(ct) = ct else { return };
    let header = header.expect("a ciphertext has a header");
    assert_eq!((header.level, header.batch), (ct.level(), ct.batch()));
    if ct.batch() <= 4 {
        operate(w, &ct);
    }
}

fn operate<S: WireScheme>(w: &Rlwe<Params<S>, Cpu>, ct: &Ciphertext<S, Cpu>) {
    let ev = Evaluator::<S, Cpu>::new(&w.params, &w.ring).expect("an evaluator");
    let decryptor = Decryptor::<S, Cpu>::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let own = world::exact_ciphertext(w, 9);
    let results = [
        ev.add(ct, ct),
        ev.sub(&own, ct),
        ev.neg(ct),
        ev.mul(ct, &own, &w.keys),
        ev.square(ct, &w.keys),
        ev.rotate(ct, 3, &w.keys),
        ev.swap_rows(ct, &w.keys),
        ev.sum_all(ct, &w.keys),
        ev.mod_switch_to(ct, 0),
        ev.add_scalar(ct, 3),
        ev.mul_scalar(ct, -7),
        ct.duplicate(),
    ];
    let _ = (ev.lowest_level(ct), ct.predicted_budget(&w.params));
    let _ = computed(decryptor.noise_budget(ct));
    for result in results {
        let Some(result) = computed(result) else { continue };
        let frame = result.to_frame(&w.params).expect("a result is written");
        recode::<_, Ciphertext<S, Cpu>>(&w.params, &w.ring, &frame).expect("a result is read");
        if let Some(plain) = computed(decryptor.decrypt(&result)) {
            let t = w.params.plain().value();
            let decoded = ev.encoder().decode::<u64>(&plain).expect("a plaintext has slots");
            assert!(decoded.iter().flatten().all(|&x| x < t));
        }
    }
}

fn of<S: WireScheme>(w: &Rlwe<Params<S>, Cpu>, selector: u8) -> Vec<Vec<u8>> {
    let ev = Evaluator::<S, Cpu>::new(&w.params, &w.ring).expect("an evaluator");
    let plain = ev.encoder().encode(&[1i64, -2, 3]).expect("a plaintext");
    let encryptor = SecretEncryptor::<S, Cpu>::new(&w.params, &w.secret, &w.ring).expect("an encryptor");
    let seeded = encryptor.encrypt(&plain, &mut world::rng(2)).expect("a ciphertext");
    let fresh = world::exact_ciphertext(w, 1);
    let low = ev.mod_switch_to(&fresh, 0).expect("a lower level");
    let frames =
        [(0, fresh.to_frame(&w.params)), (0, low.to_frame(&w.params)), (1, seeded.to_frame(&w.params))];
    let with = |(seeded, frame): (u8, he_core::Result<Frame>)| {
        let frame = frame.expect("a frame");
        [&[selector | seeded][..], &frame.body].concat()
    };
    frames.into_iter().map(with).collect()
}

pub fn seeds() -> Vec<Vec<u8>> {
    [of(world::bfv(), 0), of(world::bgv(), 2)].concat()
}
