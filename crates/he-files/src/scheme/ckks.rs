//! RNS-CKKS: images in tiles, columns of real numbers.

use super::{Decrypt, Encrypt, Header, KeyPart, On, Real, Rotations, SPARE_BITS, Scheme, Start, State};
use crate::error::Result;
use crate::note::{Content, Note, bad};
use crate::scheme::engine::Engine;
use he_core::backend::RingOps;
use he_core::ckks::{
    Ciphertext, CkksParams, Complex64, Decryptor, Encryptor, Evaluator, SecretEncryptor, SeededCiphertext,
};
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{EvaluationKeys, Fingerprint, PublicKey, SecretKey};
use he_core::wire::{self, Frame, FrameKind, SchemeParams, Wire, WireKeys, WireParams};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};

/// The scheme, as a type.
pub enum Ckks {}

/// What key a frame of the RLWE layer holds.
pub fn rlwe_key_part(frame: &Frame) -> Option<KeyPart> {
    match frame.kind {
        FrameKind::SecretKey => Some(KeyPart::Secret),
        FrameKind::PublicKey => Some(KeyPart::Public),
        FrameKind::RelinKey => Some(KeyPart::Relin),
        FrameKind::GaloisKey => Some(KeyPart::Galois),
        _ => None,
    }
}

/// Evaluation keys of the RLWE layer as frames.
pub fn encode_rlwe_keys<'a, B: RingOps>(
    params: &'a impl SchemeParams,
    keys: &'a EvaluationKeys<B>,
) -> Box<dyn Iterator<Item = he_core::Result<Frame>> + 'a> {
    Box::new(keys.to_frames(params))
}

/// Evaluation keys of the RLWE layer from frames.
///
/// # Errors
/// The frames are not such keys, or the device fails.
pub fn decode_rlwe_keys<B: RingOps>(
    params: &impl SchemeParams,
    ring: &Ring<B>,
    frames: &[Frame],
) -> he_core::Result<EvaluationKeys<B>> {
    let mut keys = EvaluationKeys::empty(params.rlwe(), ring)?;
    for frame in frames {
        keys.insert_frame(params, frame)?;
    }
    Ok(keys)
}

/// Keys of the RLWE layer.
///
/// # Errors
/// The device fails.
pub fn generate_rlwe<B: RingOps>(
    params: &impl SchemeParams,
    ring: &Ring<B>,
    rotations: &Rotations,
    rng: &mut ChaCha20Rng,
) -> he_core::Result<(SecretKey, PublicKey<B>, EvaluationKeys<B>)> {
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, ring, rng)?;
    let evaluation = EvaluationKeys::generate(&secret, ring, rotations.keys(), rng)?;
    Ok((secret, public, evaluation))
}

/// Widths of primes, for people.
pub fn prime_bits(primes: &[u64]) -> String {
    let widths: Vec<String> = primes.iter().map(|&q| format!("{:.1}", (q as f64).log2())).collect();
    widths.join(" ")
}

/// Borrowed vectors.
fn slices<T>(vectors: &[Vec<T>]) -> Vec<&[T]> {
    vectors.iter().map(Vec::as_slice).collect()
}

impl Scheme for Ckks {
    const NAME: &'static str = "ckks";
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) =
        (FrameKind::CkksCiphertext, Some(FrameKind::CkksSeededCiphertext));
    const OPERATIONS: &'static str = "images blur, sharpen, edges, brightness, contrast, invert, grayscale, blend, kernel, add, sub and mul; \
         tables sum, mean, variance, dot, add, sub and mul";
    type Params = CkksParams;
    type Secret = SecretKey;
    type Slot = Complex64;

    fn take(start: Start) -> Option<(CkksParams, Note)> {
        match start {
            Start::Ckks(start) => Some(start),
            _ => None,
        }
    }

    fn ring(params: &CkksParams) -> &RingSpec {
        params.rlwe().ring()
    }

    fn fingerprint(params: &CkksParams) -> Fingerprint {
        params.fingerprint()
    }

    fn slots(params: &CkksParams) -> usize {
        params.slots()
    }

    fn ciphertext_bytes(params: &CkksParams) -> usize {
        let ring = params.rlwe().ring();
        2 * 8 * ring.n() * ring.q().len()
    }

    fn encode_params(params: &CkksParams) -> Frame {
        params.to_frame()
    }

    fn params_json(params: &CkksParams) -> Value {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
        json!({
            "scheme": "ckks",
            "fingerprint": params.fingerprint().to_string(),
            "degree": ring.n(),
            "slots": params.slots(),
            "depth": params.max_level(),
            "scale_log2": params.scale_log2(),
            "range": params.range(),
            "fresh_precision_bits": params.fresh_precision_bits(),
            "log_q": params.log_q(params.max_level()),
            "log_qp": ring.log_qp(),
            "security_bits": rlwe.security().bits(),
            "q": ring.q(),
            "p": ring.p(),
            "digits": rlwe.digits().len(),
        })
    }

    fn params_text(params: &CkksParams) -> Vec<(&'static str, String)> {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
        let (precision, range) = (params.fresh_precision_bits(), params.range());
        vec![
            ("parameters", format!("ckks {}", params.fingerprint())),
            ("security", rlwe.security().to_string()),
            ("degree", format!("{} ({} slots)", ring.n(), params.slots())),
            ("depth", params.max_level().to_string()),
            ("scale", format!("2^{}", params.scale_log2())),
            ("precision", format!("{precision:.1} bits when fresh, values below {range:.1}")),
            (
                "modulus",
                format!(
                    "{:.1} bits, q {:.1}: {} | special {}",
                    ring.log_qp(),
                    params.log_q(params.max_level()),
                    prime_bits(ring.q()),
                    prime_bits(ring.p())
                ),
            ),
            ("key digits", rlwe.digits().len().to_string()),
        ]
    }

    fn key_part(frame: &Frame) -> Option<KeyPart> {
        rlwe_key_part(frame)
    }

    fn key_frame_limit(params: &CkksParams, kind: FrameKind) -> u64 {
        params.key_frame_limit(kind)
    }

    fn ciphertext_frame_limit(params: &CkksParams, max_batch: usize) -> u64 {
        params.ciphertext_frame_limit(max_batch)
    }

    fn encode_secret(params: &CkksParams, key: &SecretKey) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_secret(params: &CkksParams, frame: &Frame) -> he_core::Result<SecretKey> {
        SecretKey::from_frame(params, (), frame)
    }

    fn header(params: &CkksParams, frame: &Frame) -> he_core::Result<Header> {
        let header = wire::CiphertextHeader::from_frame(params, frame)?;
        let (level, of) = (header.level, params.max_level());
        let state = State::Level { level, of, scale_log2: header.scale.log2() };
        Ok(Header { batch: header.batch, state })
    }

    fn check_content(params: &CkksParams, content: &Content) -> Result<()> {
        match content {
            Content::Image(note) => note.check(params.slots()),
            Content::Table(note) => note.check(params.slots()),
            _ => Err(bad("kind of content")),
        }
    }
}

impl Real for Ckks {
    fn fresh_precision_bits(params: &CkksParams) -> f64 {
        params.fresh_precision_bits()
    }

    fn reaches(params: &CkksParams, precision: u32) -> bool {
        CkksParams::for_depth(params.max_level()).precision_bits(precision).build().is_ok()
    }
}

impl<B: RingOps> On<B> for Ckks {
    type Public = PublicKey<B>;
    type Evaluation = EvaluationKeys<B>;
    type Ciphertext = Ciphertext<B>;
    type Evaluator = Evaluator<B>;

    fn evaluator(params: &CkksParams, ring: &Ring<B>) -> he_core::Result<Evaluator<B>> {
        Evaluator::new(params, ring)
    }

    fn generate(
        params: &CkksParams,
        ring: &Ring<B>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
    ) -> he_core::Result<(SecretKey, PublicKey<B>, EvaluationKeys<B>)> {
        generate_rlwe(params, ring, rotations, rng)
    }

    fn encode_public(params: &CkksParams, key: &PublicKey<B>) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_public(params: &CkksParams, ring: &Ring<B>, frame: &Frame) -> he_core::Result<PublicKey<B>> {
        PublicKey::from_frame(params, ring, frame)
    }

    fn public_to(key: &PublicKey<B>, ring: &Ring<B>) -> he_core::Result<PublicKey<B>> {
        key.to(ring)
    }

    fn encode_evaluation<'a>(
        params: &'a CkksParams,
        keys: &'a EvaluationKeys<B>,
    ) -> Box<dyn Iterator<Item = he_core::Result<Frame>> + 'a> {
        encode_rlwe_keys(params, keys)
    }

    fn decode_evaluation(
        params: &CkksParams,
        ring: &Ring<B>,
        frames: &[Frame],
    ) -> he_core::Result<EvaluationKeys<B>> {
        decode_rlwe_keys(params, ring, frames)
    }

    fn evaluation_to(keys: &EvaluationKeys<B>, ring: &Ring<B>) -> he_core::Result<EvaluationKeys<B>> {
        keys.to(ring)
    }

    fn encryptor<'a>(engine: &'a Engine<Self, B>, key: &'a PublicKey<B>) -> Result<Encrypt<'a, Self>> {
        let encryptor = Encryptor::new(&engine.params, key)?;
        Ok(Box::new(move |vectors, slots, rng| {
            let encoding = engine.params.encoding().slots(slots);
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors), encoding)?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(engine: &'a Engine<Self, B>, key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        let encryptor = SecretEncryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |vectors, slots, rng| {
            let encoding = engine.params.encoding().slots(slots);
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors), encoding)?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn decryptor<'a>(engine: &'a Engine<Self, B>, key: &SecretKey) -> Result<Decrypt<'a, Self, B>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |ct| engine.evaluator.encoder().decode(&decryptor.decrypt(ct)?)))
    }

    fn encode(params: &CkksParams, ct: &Ciphertext<B>) -> he_core::Result<Frame> {
        ct.to_frame(params)
    }

    fn decode(params: &CkksParams, ring: &Ring<B>, frame: &Frame) -> he_core::Result<Ciphertext<B>> {
        if frame.kind == FrameKind::CkksSeededCiphertext {
            SeededCiphertext::from_frame(params, ring, frame).and_then(SeededCiphertext::expand)
        } else {
            Ciphertext::from_frame(params, ring, frame)
        }
    }

    fn shape(ct: &Ciphertext<B>) -> (usize, usize) {
        (ct.batch(), ct.slots())
    }

    fn capacity(engine: &Engine<Self, B>, ct: &Ciphertext<B>) -> Option<f64> {
        Some((engine.params.log_q(ct.level()) - 1.0).exp2() / ct.scale())
    }

    fn lowered(engine: &Engine<Self, B>, ct: &Ciphertext<B>, bound: f64) -> he_core::Result<Ciphertext<B>> {
        let params = &engine.params;
        let needed = bound.max(1.0).log2() + f64::from(SPARE_BITS) + 1.0;
        let fits = |level: &usize| {
            params.levels().get(*level).is_some_and(|l| params.log_q(*level) - l.scale.log2() >= needed)
        };
        let level = (0..ct.level()).find(fits).unwrap_or(ct.level());
        engine.evaluator.lower_to(ct, level)
    }
}
