//! Ciphertexts of TFHE: bits, integers and conditions, whole, seeded, and as compact lists.
//!
//! Must hold: the body of a frame is refused or is an object that is written to the same bytes, and
//! that decrypts; a gate on few bits ends in a result.
//!
//! Bytes: the kind modulo 9, then the body.

use super::world::{self, computed, recode};
use he_core::backend::Cpu;
use he_core::num_bigint::BigUint;
use he_core::tfhe::{
    CompactBits, CompactFlags, CompactPublicKey, CompactUint, EncryptedBits, EncryptedFlags, EncryptedUint,
    GateEvaluator, SeededBits, SeededFlags, SeededUint,
};
use he_core::wire::{Frame, FrameKind, Wire};
use std::sync::OnceLock;

const KINDS: [FrameKind; 9] = [
    FrameKind::TfheBits,
    FrameKind::TfheUint,
    FrameKind::TfheFlags,
    FrameKind::TfheSeededBits,
    FrameKind::TfheSeededUint,
    FrameKind::TfheSeededFlags,
    FrameKind::TfheCompactBits,
    FrameKind::TfheCompactUint,
    FrameKind::TfheCompactFlags,
];

fn gates() -> &'static Option<GateEvaluator<Cpu>> {
    static GATES: OnceLock<Option<GateEvaluator<Cpu>>> = OnceLock::new();
    GATES.get_or_init(|| GateEvaluator::new(&Cpu::new(), &world::tfhe().key).ok())
}

pub fn run(data: &[u8]) {
    let Some((&selector, body)) = data.split_first() else { return };
    let (w, cpu) = (world::tfhe(), &Cpu::new());
    let kind = KINDS[usize::from(selector) % KINDS.len()];
    let frame = Frame { kind, fingerprint: w.params.fingerprint(), body: body.to_vec() };
    match kind {
        FrameKind::TfheBits => {
            if let Some(bits) = recode::<_, EncryptedBits<Cpu>>(&w.params, cpu, &frame) {
                bits_of(&bits);
            }
        }
        FrameKind::TfheSeededBits => {
            if let Some(bits) = recode::<_, SeededBits>(&w.params, (), &frame) {
                bits_of(&bits.expand(cpu).expect("a seed gives masks"));
            }
        }
        FrameKind::TfheUint => {
            if let Some(x) = recode::<_, EncryptedUint<Cpu>>(&w.params, cpu, &frame) {
                uint_of(&x);
            }
        }
        FrameKind::TfheSeededUint => {
            if let Some(x) = recode::<_, SeededUint>(&w.params, (), &frame) {
                uint_of(&x.expand(cpu).expect("a seed gives masks"));
            }
        }
        FrameKind::TfheFlags => {
            if let Some(flags) = recode::<_, EncryptedFlags<Cpu>>(&w.params, cpu, &frame) {
                let _ = computed(w.secret.decrypt_flags(&flags));
            }
        }
        FrameKind::TfheSeededFlags => {
            if let Some(flags) = recode::<_, SeededFlags>(&w.params, (), &frame) {
                let _ = computed(w.secret.decrypt_flags(&flags.expand(cpu).expect("a seed gives masks")));
            }
        }
        FrameKind::TfheCompactBits => {
            if let Some(bits) = recode::<_, CompactBits>(&w.params, (), &frame) {
                bits_of(&bits.expand(cpu).expect("masks of all bits"));
            }
        }
        FrameKind::TfheCompactUint => {
            if let Some(x) = recode::<_, CompactUint>(&w.params, (), &frame) {
                uint_of(&x.expand(cpu).expect("masks of all digits"));
            }
        }
        _ => {
            if let Some(flags) = recode::<_, CompactFlags>(&w.params, (), &frame) {
                let _ =
                    computed(w.secret.decrypt_flags(&flags.expand(cpu).expect("masks of all conditions")));
            }
        }
    }
}

fn bits_of(bits: &EncryptedBits<Cpu>) {
    let found = computed(world::tfhe().secret.decrypt_bits(bits));
    assert!(found.is_none_or(|found| found.len() == bits.count()));
    if let (Some(gates), true) = (gates(), bits.count() <= 4) {
        let result = gates.nand(bits, bits).expect("a gate on any bits");
        assert_eq!(result.count(), bits.count());
    }
}

fn uint_of(x: &EncryptedUint<Cpu>) {
    let found: Option<Vec<BigUint>> = computed(world::tfhe().secret.decrypt_uint(x));
    let fits = |value: &BigUint| value.bits() <= x.bits() as u64;
    assert!(found.is_none_or(|found| found.len() == x.batch() && found.iter().all(fits)));
}

pub fn seeds() -> Vec<Vec<u8>> {
    let (w, cpu, rng) = (world::tfhe(), &Cpu::new(), &mut world::rng(1));
    let (bits, values) = ([true, false, true], [200u64, 3]);
    let public = CompactPublicKey::generate(&w.secret, rng);
    let frames = [
        w.secret.encrypt_bits(cpu, &bits, rng).and_then(|x| x.to_frame(&w.params)),
        w.secret.encrypt_u64(cpu, &values, 8, rng).and_then(|x| x.to_frame(&w.params)),
        w.secret.encrypt_flags(cpu, &bits, rng).and_then(|x| x.to_frame(&w.params)),
        w.secret.encrypt_bits_seeded(&bits, rng).and_then(|x| x.to_frame(&w.params)),
        w.secret.encrypt_u64_seeded(&values, 8, rng).and_then(|x| x.to_frame(&w.params)),
        w.secret.encrypt_flags_seeded(&bits, rng).and_then(|x| x.to_frame(&w.params)),
        public.encrypt_bits(&bits, rng).and_then(|x| x.to_frame(&w.params)),
        public.encrypt_u64(&values, 8, rng).and_then(|x| x.to_frame(&w.params)),
        public.encrypt_flags(&bits, rng).and_then(|x| x.to_frame(&w.params)),
    ];
    let numbered = (0u8..).zip(frames);
    numbered.map(|(kind, frame)| [&[kind][..], &frame.expect("a frame").body].concat()).collect()
}
