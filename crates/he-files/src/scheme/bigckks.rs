//! CKKS with a modulus of 2^l: images and columns of real numbers, in precision and depth given in
//! bits.

use super::{Decrypt, Encrypt, Header, KeyPart, Real, SPARE_BITS, Scheme, Start, State, slices};
use crate::error::{ContentError, Result};
use crate::note::{Content, Note, bad};
use crate::publication::{Numbers, Publication};
use crate::scheme::engine::Engine;
use crate::units::four_decimals;
use he::Device;
use he_core::bigckks::{
    BigCkksParams, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator, PublicKey,
    SecretKey,
};
use he_core::params::Security;
use he_core::ring::{Ring, RingSpec};
use he_core::wire::{self, Frame, FrameKind, Wire};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};

/// The scheme, as a type.
pub enum BigCkks {}

impl Scheme for BigCkks {
    const NAME: &'static str = "bigckks";
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) = (FrameKind::BigCkksCiphertext, None);
    type Params = BigCkksParams;
    type Secret = SecretKey;
    type Public = PublicKey<Device>;
    type Evaluation = EvaluationKeys<Device>;
    type Ciphertext = Ciphertext<Device>;
    type Evaluator = Evaluator<Device>;
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

    fn slots(params: &BigCkksParams) -> usize {
        params.slots()
    }

    fn ciphertext_bytes(params: &BigCkksParams) -> usize {
        2 * 8 * params.ring().n() * params.log_q().div_ceil(64) as usize
    }

    fn secret(params: &BigCkksParams, rng: &mut ChaCha20Rng) -> SecretKey {
        SecretKey::generate(params, rng)
    }

    fn is_secure(params: &BigCkksParams) -> bool {
        params.security() != Security::Insecure
    }

    fn params_json(params: &BigCkksParams) -> Value {
        json!({
            "scheme": "bigckks",
            "fingerprint": params.fingerprint().to_string(),
            "degree": params.ring().n(),
            "slots": params.slots(),
            "scale_log2": params.scale_log2(),
            "fresh_precision_bits": four_decimals(params.fresh_precision_bits()),
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

    fn evaluator(params: &BigCkksParams, ring: &Ring<Device>) -> he_core::Result<Evaluator<Device>> {
        Evaluator::new(params, ring)
    }

    fn encryptor<'a>(engine: &'a Engine<Self>, key: &'a PublicKey<Device>) -> Result<Encrypt<'a, Self>> {
        let encryptor = Encryptor::new(&engine.params, key)?;
        Ok(Box::new(move |vectors, slots, rng| {
            let encoding = engine.params.encoding().slots(slots);
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors), encoding)?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(_engine: &'a Engine<Self>, _key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        Err(ContentError::PublicOnly { scheme: "bigckks" }.into())
    }

    fn decryptor<'a>(engine: &'a Engine<Self>, key: &SecretKey) -> Result<Decrypt<'a, Self>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |ct| engine.evaluator.encoder().decode(&decryptor.decrypt(ct)?)))
    }

    fn publisher<'a>(
        engine: &'a Engine<Self>,
        key: &SecretKey,
        content: &Content,
        publication: &'a Publication,
    ) -> Result<Decrypt<'a, Self>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        let numbers = Numbers::of(content, engine.params.fresh_precision_bits())?;
        Ok(Box::new(move |ct| {
            let (slots, scale_log2) = (ct.slots(), f64::from(ct.scale_log2()));
            let mut ct = ct.duplicate()?;
            ct.set_noise(Some(numbers.noise(engine.ring.n(), slots, scale_log2)));
            let plain = publication.flood(
                numbers,
                (ct.batch(), slots, scale_log2),
                |flooding| decryptor.flood_bits(&ct, flooding),
                |publisher, rng| decryptor.publish(&ct, publisher, rng),
            )?;
            engine.evaluator.encoder().decode(&plain)
        }))
    }

    fn shape(ct: &Ciphertext<Device>) -> (usize, usize) {
        (ct.batch(), ct.slots())
    }

    fn capacity(_engine: &Engine<Self>, ct: &Ciphertext<Device>) -> Option<f64> {
        Some((f64::from(ct.log_q()) - 1.0 - f64::from(ct.scale_log2())).exp2())
    }

    fn lowered(
        engine: &Engine<Self>,
        ct: &Ciphertext<Device>,
        bound: f64,
    ) -> he_core::Result<Ciphertext<Device>> {
        // The cast saturates.
        let magnitude = bound.max(1.0).log2().ceil() as u32;
        let needed = ct.scale_log2().saturating_add(magnitude).saturating_add(1 + SPARE_BITS);
        engine.evaluator.drop_to_bits(ct, needed.min(ct.log_q()))
    }
}

impl Real for BigCkks {
    // Its vectors are transformed in doubles.
    const TRANSFORM_LOG2: f64 = -48.0;

    fn fresh_precision_bits(params: &BigCkksParams) -> f64 {
        params.fresh_precision_bits()
    }

    fn reaches(params: &BigCkksParams, precision: u32) -> bool {
        let depth_bits = params.log_q().saturating_sub(params.scale_log2());
        BigCkksParams::for_depth_bits(depth_bits).precision_bits(precision).build().is_ok()
    }
}
