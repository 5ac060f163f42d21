//! BFV and BGV: images and columns of integers modulo t, exactly.

use super::ckks::{decode_rlwe_keys, encode_rlwe_keys, generate_rlwe, prime_bits, rlwe_key_part};
use super::{Decrypt, Encrypt, Header, KeyPart, On, Rotations, SPARE_BITS, Scheme, Start, State};
use crate::error::Result;
use crate::note::{Content, Note, bad, check_range};
use crate::scheme::engine::Engine;
use he_core::backend::RingOps;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::{
    self, Ciphertext, DECRYPTION_MARGIN, Decryptor, Encryptor, Evaluator, Params, SecretEncryptor,
    SeededCiphertext,
};
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{EvaluationKeys, Fingerprint, PublicKey, SecretKey};
use he_core::wire::{self, Frame, FrameKind, Wire, WireParams, WireScheme};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};

/// The start of a file, if it is this scheme's: the one thing that needs both names.
pub trait Taken: WireScheme {
    /// As [`Scheme::take`].
    fn taken(start: Start) -> Option<(Params<Self>, Note)>;
}

impl Taken for Bfv {
    fn taken(start: Start) -> Option<(Params<Self>, Note)> {
        match start {
            Start::Bfv(start) => Some(start),
            _ => None,
        }
    }
}

impl Taken for Bgv {
    fn taken(start: Start) -> Option<(Params<Self>, Note)> {
        match start {
            Start::Bgv(start) => Some(start),
            _ => None,
        }
    }
}

fn slices(vectors: &[Vec<u64>]) -> Vec<&[u64]> {
    vectors.iter().map(Vec::as_slice).collect()
}

impl<E: Taken> Scheme for E {
    const NAME: &'static str = <E as exact::Scheme>::NAME;
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) = (E::FRAMES[1], Some(E::FRAMES[2]));
    const OPERATIONS: &'static str = "images add, sub and mul; tables sum, dot, count, add, sub and mul";
    type Params = Params<E>;
    type Secret = SecretKey;
    type Slot = u64;

    fn take(start: Start) -> Option<(Params<E>, Note)> {
        E::taken(start)
    }

    fn ring(params: &Params<E>) -> &RingSpec {
        params.rlwe().ring()
    }

    fn fingerprint(params: &Params<E>) -> Fingerprint {
        params.fingerprint()
    }

    fn slots(params: &Params<E>) -> usize {
        params.rlwe().ring().n()
    }

    fn ciphertext_bytes(params: &Params<E>) -> usize {
        let ring = params.rlwe().ring();
        2 * 8 * ring.n() * ring.q().len()
    }

    fn encode_params(params: &Params<E>) -> Frame {
        params.to_frame()
    }

    fn params_json(params: &Params<E>) -> Value {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
        json!({
            "scheme": <E as exact::Scheme>::NAME,
            "fingerprint": params.fingerprint().to_string(),
            "degree": ring.n(),
            "slots": if params.has_slots() { ring.n() } else { 0 },
            "plain_modulus": params.plain().value(),
            "fresh_budget_bits": params.fresh_budget(),
            "log_q": params.noise().log_q(ring.q().len()),
            "log_qp": ring.log_qp(),
            "security_bits": rlwe.security().bits(),
            "q": ring.q(),
            "p": ring.p(),
            "digits": rlwe.digits().len(),
        })
    }

    fn params_text(params: &Params<E>) -> Vec<(&'static str, String)> {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
        let t = params.plain().value();
        vec![
            ("parameters", format!("{} {}", <E as exact::Scheme>::NAME, params.fingerprint())),
            ("security", rlwe.security().to_string()),
            ("degree", format!("{} (slots: {})", ring.n(), if params.has_slots() { ring.n() } else { 0 })),
            ("integers", format!("modulo t = {t} ({:.1} bits)", params.noise().t_log2())),
            ("noise budget", format!("{:.1} bits when fresh", params.fresh_budget())),
            (
                "modulus",
                format!(
                    "{:.1} bits, q {:.1}: {} | special {}",
                    ring.log_qp(),
                    params.noise().log_q(ring.q().len()),
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

    fn key_frame_limit(params: &Params<E>, kind: FrameKind) -> u64 {
        params.key_frame_limit(kind)
    }

    fn ciphertext_frame_limit(params: &Params<E>, max_batch: usize) -> u64 {
        params.ciphertext_frame_limit(max_batch)
    }

    fn encode_secret(params: &Params<E>, key: &SecretKey) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_secret(params: &Params<E>, frame: &Frame) -> he_core::Result<SecretKey> {
        SecretKey::from_frame(params, (), frame)
    }

    fn header(params: &Params<E>, frame: &Frame) -> he_core::Result<Header> {
        let header = wire::ExactHeader::from_frame(params, frame)?;
        let bits = params.noise().budget(header.noise, header.level + 1);
        let state = State::Budget { level: header.level, of: params.max_level(), bits };
        Ok(Header { batch: header.batch, state })
    }

    fn check_content(params: &Params<E>, content: &Content) -> Result<()> {
        if !params.has_slots() {
            return Err(bad("plaintext modulus, which has no slots"));
        }
        match content {
            Content::Samples(note) => note.check()?,
            Content::Integers(note) => note.check(params.rlwe().ring().n())?,
            _ => return Err(bad("kind of content")),
        }
        check_range(params.plain().value(), content).map_err(|_| bad("range of values"))
    }
}

impl<E: Taken, B: RingOps> On<B> for E {
    type Public = PublicKey<B>;
    type Evaluation = EvaluationKeys<B>;
    type Ciphertext = Ciphertext<E, B>;
    type Evaluator = Evaluator<E, B>;

    fn evaluator(params: &Params<E>, ring: &Ring<B>) -> he_core::Result<Evaluator<E, B>> {
        Evaluator::new(params, ring)
    }

    fn generate(
        params: &Params<E>,
        ring: &Ring<B>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
    ) -> he_core::Result<(SecretKey, PublicKey<B>, EvaluationKeys<B>)> {
        generate_rlwe(params, ring, rotations, rng)
    }

    fn encode_public(params: &Params<E>, key: &PublicKey<B>) -> he_core::Result<Frame> {
        key.to_frame(params)
    }

    fn decode_public(params: &Params<E>, ring: &Ring<B>, frame: &Frame) -> he_core::Result<PublicKey<B>> {
        PublicKey::from_frame(params, ring, frame)
    }

    fn public_to(key: &PublicKey<B>, ring: &Ring<B>) -> he_core::Result<PublicKey<B>> {
        key.to(ring)
    }

    fn encode_evaluation<'a>(
        params: &'a Params<E>,
        keys: &'a EvaluationKeys<B>,
    ) -> Box<dyn Iterator<Item = he_core::Result<Frame>> + 'a> {
        encode_rlwe_keys(params, keys)
    }

    fn decode_evaluation(
        params: &Params<E>,
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
        Ok(Box::new(move |vectors, _, rng| {
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors))?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(engine: &'a Engine<Self, B>, key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        let encryptor = SecretEncryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |vectors, _, rng| {
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors))?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn decryptor<'a>(engine: &'a Engine<Self, B>, key: &SecretKey) -> Result<Decrypt<'a, Self, B>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        // What the file claims of its noise counts for nothing here.
        let plain = move |ct: &Ciphertext<E, B>| decryptor.decrypt_checked(ct, DECRYPTION_MARGIN);
        Ok(Box::new(move |ct| engine.evaluator.encoder().decode(&plain(ct)?)))
    }

    fn encode(params: &Params<E>, ct: &Ciphertext<E, B>) -> he_core::Result<Frame> {
        ct.to_frame(params)
    }

    fn decode(params: &Params<E>, ring: &Ring<B>, frame: &Frame) -> he_core::Result<Ciphertext<E, B>> {
        if frame.kind == E::FRAMES[2] {
            SeededCiphertext::from_frame(params, ring, frame).and_then(SeededCiphertext::expand)
        } else {
            Ciphertext::from_frame(params, ring, frame)
        }
    }

    fn shape(ct: &Ciphertext<E, B>) -> (usize, usize) {
        (ct.batch(), ct.pair().ring().n())
    }

    fn capacity(_engine: &Engine<Self, B>, _ct: &Ciphertext<E, B>) -> Option<f64> {
        None
    }

    fn lowered(
        engine: &Engine<Self, B>,
        ct: &Ciphertext<E, B>,
        _bound: f64,
    ) -> he_core::Result<Ciphertext<E, B>> {
        let (model, top) = (engine.params.noise(), ct.level() + 1);
        let budget = |primes| model.budget(model.switched(ct.noise(), top, primes), primes);
        // Sums take a bit each time that their number doubles.
        let enough = budget(top).min(f64::from(SPARE_BITS));
        let primes = (1..=top).find(|&primes| budget(primes) >= enough).unwrap_or(top);
        engine.evaluator.mod_switch(ct, primes - 1)
    }
}
