//! CKKS with a modulus of 2^l: images and columns of real numbers, in precision and depth given in
//! bits.

use super::{Decrypt, Encrypt, Header, KeyPart, On, Real, Rotations, SPARE_BITS, Scheme, Start, State};
use crate::error::{ContentError, Result};
use crate::note::{Content, Note, bad};
use crate::scheme::engine::Engine;
use he_core::backend::WideOps;
use he_core::bigckks::{
    BigCkksParams, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator, PublicKey,
    SecretKey,
};
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::Fingerprint;
use he_core::wire::{self, Frame, FrameKind, Wire, WireKeys, WireParams};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};

/// The scheme, as a type.
pub enum BigCkks {}

impl Scheme for BigCkks {
    const NAME: &'static str = "bigckks";
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) = (FrameKind::BigCkksCiphertext, None);
    const OPERATIONS: &'static str = "images and tables add, sub and mul";
    type Params = BigCkksParams;
    type Secret = SecretKey;
    type Slot = Complex64;

    fn take(start: Start) -> Option<(BigCkksParams, Note)> {
        match start {
            Start::BigCkks(start) => Some(start),
            _ => None,
        }
    }

    fn ring(params: &BigCkksParams) -> &RingSpec {
        params.ring()
    }

    fn fingerprint(params: &BigCkksParams) -> Fingerprint {
        params.fingerprint()
    }

    fn slots(params: &BigCkksParams) -> usize {
        params.slots()
    }

    fn ciphertext_bytes(params: &BigCkksParams) -> usize {
        2 * 8 * params.ring().n() * params.log_q().div_ceil(64) as usize
    }

    fn encode_params(params: &BigCkksParams) -> Frame {
        params.to_frame()
    }

    fn params_json(params: &BigCkksParams) -> Value {
        json!({
            "scheme": "bigckks",
            "fingerprint": params.fingerprint().to_string(),
            "degree": params.ring().n(),
            "slots": params.slots(),
            "scale_log2": params.scale_log2(),
            "fresh_precision_bits": params.fresh_precision_bits(),
            "log_q": params.log_q(),
            "log_qp": params.log_q() + params.log_p(),
            "security_bits": params.security().bits(),
            "digits": params.digits(params.log_q()),
        })
    }

    fn params_text(params: &BigCkksParams) -> Vec<(&'static str, String)> {
        let (log_q, log_p) = (params.log_q(), params.log_p());
        vec![
            ("parameters", format!("bigckks {}", params.fingerprint())),
            ("security", params.security().to_string()),
            ("degree", format!("{} ({} slots)", params.ring().n(), params.slots())),
            ("scale", format!("2^{}", params.scale_log2())),
            ("precision", format!("{:.1} bits when fresh", params.fresh_precision_bits())),
            ("modulus", format!("2^{log_q}, special 2^{log_p}: {} bits", log_q + log_p)),
            ("key digits", params.digits(log_q).to_string()),
        ]
    }

    fn key_part(frame: &Frame) -> Option<KeyPart> {
        match frame.kind {
            FrameKind::BigCkksSecretKey => Some(KeyPart::Secret),
            FrameKind::BigCkksPublicKey => Some(KeyPart::Public),
            // The Galois element comes first; 0 is relinearisation.
            FrameKind::BigCkksSwitchKey if frame.body.starts_with(&[0; 8]) => Some(KeyPart::Relin),
            FrameKind::BigCkksSwitchKey => Some(KeyPart::Galois),
            _ => None,
        }
    }

    fn key_frame_limit(params: &BigCkksParams, kind: FrameKind) -> u64 {
        params.key_frame_limit(kind)
    }

    fn ciphertext_frame_limit(params: &BigCkksParams, max_batch: usize) -> u64 {
        params.ciphertext_frame_limit(max_batch)
    }

    fn encode_secret(params: &BigCkksParams, key: &SecretKey) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_secret(params: &BigCkksParams, frame: &Frame) -> he_core::Result<SecretKey> {
        SecretKey::from_frame(params, (), frame)
    }

    fn header(params: &BigCkksParams, frame: &Frame) -> he_core::Result<Header> {
        let header = wire::bigckks::CiphertextHeader::from_frame(params, frame)?;
        let (log_q, scale_log2) = (header.log_q, header.scale_log2);
        Ok(Header { batch: header.batch, state: State::Bits { log_q, of: params.log_q(), scale_log2 } })
    }

    fn check_content(params: &BigCkksParams, content: &Content) -> Result<()> {
        match content {
            Content::Samples(note) => note.check(),
            Content::Table(note) => note.check(params.slots()),
            _ => Err(bad("kind of content")),
        }
    }
}

impl Real for BigCkks {
    fn fresh_precision_bits(params: &BigCkksParams) -> f64 {
        params.fresh_precision_bits()
    }

    fn reaches(params: &BigCkksParams, precision: u32) -> bool {
        let depth_bits = params.log_q().saturating_sub(params.scale_log2());
        BigCkksParams::for_depth_bits(depth_bits).precision_bits(precision).build().is_ok()
    }
}

impl<B: WideOps> On<B> for BigCkks {
    type Public = PublicKey<B>;
    type Evaluation = EvaluationKeys<B>;
    type Ciphertext = Ciphertext<B>;
    type Evaluator = Evaluator<B>;

    fn evaluator(params: &BigCkksParams, ring: &Ring<B>) -> he_core::Result<Evaluator<B>> {
        Evaluator::new(params, ring)
    }

    fn generate(
        params: &BigCkksParams,
        ring: &Ring<B>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
    ) -> he_core::Result<(SecretKey, PublicKey<B>, EvaluationKeys<B>)> {
        let secret = SecretKey::generate(params, rng);
        let public = PublicKey::generate(&secret, ring, rng)?;
        let evaluation = EvaluationKeys::generate(&secret, ring, rotations.keys(), rng)?;
        Ok((secret, public, evaluation))
    }

    fn encode_public(params: &BigCkksParams, key: &PublicKey<B>) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_public(params: &BigCkksParams, ring: &Ring<B>, frame: &Frame) -> he_core::Result<PublicKey<B>> {
        PublicKey::from_frame(params, ring, frame)
    }

    fn public_to(key: &PublicKey<B>, ring: &Ring<B>) -> he_core::Result<PublicKey<B>> {
        key.to(ring)
    }

    fn encode_evaluation<'a>(
        params: &'a BigCkksParams,
        keys: &'a EvaluationKeys<B>,
    ) -> Box<dyn Iterator<Item = he_core::Result<Frame>> + 'a> {
        Box::new(keys.to_frames(params))
    }

    fn decode_evaluation(
        params: &BigCkksParams,
        ring: &Ring<B>,
        frames: &[Frame],
    ) -> he_core::Result<EvaluationKeys<B>> {
        let mut keys = EvaluationKeys::empty(params, ring)?;
        for frame in frames {
            keys.insert_frame(params, frame)?;
        }
        Ok(keys)
    }

    fn evaluation_to(keys: &EvaluationKeys<B>, ring: &Ring<B>) -> he_core::Result<EvaluationKeys<B>> {
        keys.to(ring)
    }

    fn encryptor<'a>(engine: &'a Engine<Self, B>, key: &'a PublicKey<B>) -> Result<Encrypt<'a, Self>> {
        let encryptor = Encryptor::new(&engine.params, key)?;
        Ok(Box::new(move |vectors, slots, rng| {
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain =
                engine.evaluator.encoder().encode_batch(&vectors, engine.params.encoding().slots(slots))?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(_engine: &'a Engine<Self, B>, _key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        Err(ContentError::PublicOnly { scheme: "bigckks" }.into())
    }

    fn decryptor<'a>(engine: &'a Engine<Self, B>, key: &SecretKey) -> Result<Decrypt<'a, Self, B>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |ct| engine.evaluator.encoder().decode(&decryptor.decrypt(ct)?)))
    }

    fn encode(params: &BigCkksParams, ct: &Ciphertext<B>) -> he_core::Result<Frame> {
        ct.to_frame(params)
    }

    fn decode(params: &BigCkksParams, ring: &Ring<B>, frame: &Frame) -> he_core::Result<Ciphertext<B>> {
        Ciphertext::from_frame(params, ring, frame)
    }

    fn shape(ct: &Ciphertext<B>) -> (usize, usize) {
        (ct.batch(), ct.slots())
    }

    fn capacity(_engine: &Engine<Self, B>, ct: &Ciphertext<B>) -> Option<f64> {
        Some((f64::from(ct.log_q()) - 1.0 - f64::from(ct.scale_log2())).exp2())
    }

    fn lowered(engine: &Engine<Self, B>, ct: &Ciphertext<B>, bound: f64) -> he_core::Result<Ciphertext<B>> {
        // The cast saturates.
        let magnitude = bound.max(1.0).log2().ceil() as u32;
        let needed = ct.scale_log2().saturating_add(magnitude).saturating_add(1 + SPARE_BITS);
        engine.evaluator.drop_to_bits(ct, needed.min(ct.log_q()))
    }
}
