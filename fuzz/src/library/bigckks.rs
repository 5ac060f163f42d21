//! Ciphertexts of bigckks.
//!
//! Must hold: the body of a frame is refused or is a ciphertext that is written to the same bytes,
//! and every operation on it ends in a result or an error.
//!
//! Bytes: the body.

use super::world::{self, computed, recode};
use he_core::backend::Cpu;
use he_core::bigckks::{Ciphertext, Decryptor, Evaluator};
use he_core::num_complex::Complex64;
use he_core::wire::bigckks::CiphertextHeader;
use he_core::wire::{Frame, FrameKind, Wire};

pub fn run(data: &[u8]) {
    let w = world::bigckks();
    let frame = Frame {
        kind: FrameKind::BigCkksCiphertext,
        fingerprint: w.params.fingerprint(),
        body: data.to_vec(),
    };
    let header = CiphertextHeader::from_frame(&w.params, &frame);
    let Some(ct) = recode::<_, Ciphertext<Cpu>>(&w.params, &w.ring, &frame) else { return };
    let header = header.expect("a ciphertext has a header");
    assert_eq!((header.log_q, header.batch), (ct.log_q(), ct.batch()));
    if ct.batch() > 4 {
        return;
    }
    let ev = Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let own = world::bigckks_ciphertext(w, 9);
    let results = [
        ev.add(&ct, &ct),
        ev.sub(&own, &ct),
        ev.neg(&ct),
        ev.mul(&ct, &own, &w.keys),
        ev.square(&ct, &w.keys),
        ev.rotate(&ct, 3, &w.keys),
        ev.conjugate(&ct, &w.keys),
        ev.rescale(&ct, 20),
        ev.drop_to_bits(&ct, 10),
        ev.scale_up(&ct, 5),
        ev.mul_integer(&ct, -3),
        ev.mul_scalar(&ct, 0.3, 10),
        ev.add_scalar(&ct, Complex64::new(-0.3, 0.1)),
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
    let w = world::bigckks();
    let ev = Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let fresh = world::bigckks_ciphertext(w, 1);
    let low = ev.drop_to_bits(&fresh, 71).expect("fewer bits");
    [fresh, low].map(|ct| ct.to_frame(&w.params).expect("a frame").body.clone()).to_vec()
}
