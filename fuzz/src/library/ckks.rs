//! Ciphertexts of CKKS.
//!
//! Must hold: the body of a frame is refused or is a ciphertext that is written to the same bytes,
//! and every operation on it ends in a result or an error. The header agrees with the ciphertext.
//!
//! Bytes: 0 for a ciphertext, 1 for a seeded one; then the body.

use super::world::{self, Rlwe, computed, recode};
use he_core::backend::Cpu;
use he_core::ckks::{Ciphertext, CkksParams, Decryptor, Evaluator, SecretEncryptor, SeededCiphertext};
use he_core::num_complex::Complex64;
use he_core::wire::{CiphertextHeader, Frame, FrameKind, Wire};

pub fn run(data: &[u8]) {
    let Some((&selector, body)) = data.split_first() else { return };
    let w = world::ckks();
    let kind = [FrameKind::CkksCiphertext, FrameKind::CkksSeededCiphertext][usize::from(selector & 1)];
    let frame = Frame { kind, fingerprint: w.params.fingerprint(), body: body.to_vec() };
    let header = CiphertextHeader::from_frame(&w.params, &frame);
    let ct = match kind {
        FrameKind::CkksCiphertext => recode::<_, Ciphertext<Cpu>>(&w.params, &w.ring, &frame),
        _ => recode::<_, SeededCiphertext<Cpu>>(&w.params, &w.ring, &frame)
            .map(|seeded| seeded.expand().expect("a seed gives residues")),
    };
    let Some(ct) = ct else { return };
    let header = header.expect("a ciphertext has a header");
    assert_eq!((header.level, header.slots, header.batch), (ct.level(), ct.slots(), ct.batch()));
    if ct.batch() <= 4 {
        operate(w, &ct);
    }
}

fn operate(w: &Rlwe<CkksParams, Cpu>, ct: &Ciphertext<Cpu>) {
    let ev = Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let own = world::ckks_ciphertext(w, 9);
    let results = [
        ev.add(ct, ct),
        ev.sub(&own, ct),
        ev.neg(ct),
        ev.mul(ct, ct, &w.keys),
        ev.mul(ct, &own, &w.keys),
        ev.rotate(ct, 5, &w.keys),
        ev.conjugate(ct, &w.keys),
        ev.rescale(ct),
        ev.mod_switch_to(ct, 0),
        ev.drop_to_level(ct, 0),
        ev.mul_scalar(ct, 0.3),
        ev.mul_integer(ct, -7),
        ev.add_scalar(ct, Complex64::new(-0.3, 0.1)),
        ev.sum_of_rotations(ct, &[(0, 0.5), (1, -1.0)], &w.keys),
        ct.duplicate(),
    ];
    for result in results {
        let Some(result) = computed(result) else { continue };
        let frame = result.to_frame(&w.params).expect("a result is written");
        recode::<_, Ciphertext<Cpu>>(&w.params, &w.ring, &frame).expect("a result is read");
        let plain = decryptor.decrypt(&result).expect("every ciphertext decrypts to something");
        let _ = computed(ev.encoder().decode(&plain));
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let w = world::ckks();
    let ev = Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let plain = ev.encoder().encode_real(&[0.5, -0.25], w.params.encoding().slots(2)).expect("a plaintext");
    let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).expect("an encryptor");
    let seeded = encryptor.encrypt(&plain, &mut world::rng(2)).expect("a ciphertext");
    let fresh = world::ckks_ciphertext(w, 1);
    let low = ev.mod_switch_to(&fresh, 0).expect("a lower level");
    let frames =
        [(0, fresh.to_frame(&w.params)), (0, low.to_frame(&w.params)), (1, seeded.to_frame(&w.params))];
    let with = |(selector, frame): (u8, he_core::Result<Frame>)| {
        let frame = frame.expect("a frame");
        [&[selector][..], &frame.body].concat()
    };
    frames.into_iter().map(with).collect()
}
