//! BFV and BGV: images and columns of integers modulo t, exactly.

use super::{Decrypt, Encrypt, Header, KeyPart, SPARE_BITS, Scheme, Start, State, rlwe_layer, slices};
use crate::bootstrap::{self, exact::toy};
use crate::error::Result;
use crate::note::{Content, Note, bad, check_range};
use crate::publication::Publication;
use crate::scheme::engine::Engine;
use crate::units::four_decimals;
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::bootstrapping::BootstrapParams;
use he_core::exact::{
    self, Ciphertext, DECRYPTION_MARGIN, Decryptor, Encryptor, Evaluator, Params, SecretEncryptor,
    SeededCiphertext,
};
use he_core::params::Security;
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he_core::wire::{self, Frame, FrameKind, Wire, WireScheme};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The parts that need the names of both schemes.
pub trait Taken: WireScheme {
    /// The start of a file, if it is this scheme's: as [`Scheme::take`].
    fn taken(start: Start) -> Option<(Params<Self>, Note)>;

    /// Parameters with bootstrapping that protect nothing: as [`Refreshing::toy`].
    ///
    /// [`Refreshing::toy`]: crate::bootstrap::Refreshing::toy
    fn toy() -> Option<&'static BootstrapParams<Self>>;
}

impl Taken for Bfv {
    fn taken(start: Start) -> Option<(Params<Self>, Note)> {
        match start {
            Start::Bfv(start) => Some(start),
            _ => None,
        }
    }

    fn toy() -> Option<&'static BootstrapParams<Self>> {
        static TOY: LazyLock<Option<BootstrapParams<Bfv>>> = LazyLock::new(|| toy().ok());
        TOY.as_ref()
    }
}

impl Taken for Bgv {
    fn taken(start: Start) -> Option<(Params<Self>, Note)> {
        match start {
            Start::Bgv(start) => Some(start),
            _ => None,
        }
    }

    fn toy() -> Option<&'static BootstrapParams<Self>> {
        static TOY: LazyLock<Option<BootstrapParams<Bgv>>> = LazyLock::new(|| toy().ok());
        TOY.as_ref()
    }
}

impl<E: Taken> Scheme for E {
    const NAME: &'static str = <E as exact::Scheme>::NAME;
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) = (E::FRAMES[1], Some(E::FRAMES[2]));
    type Params = Params<E>;
    type Secret = SecretKey;
    type Public = PublicKey<Device>;
    type Evaluation = EvaluationKeys<Device>;
    type Ciphertext = Ciphertext<E, Device>;
    type Evaluator = Evaluator<E, Device>;
    type Slot = u64;

    fn take(start: Start) -> Option<(Params<E>, Note)> {
        E::taken(start)
    }

    fn ring(params: &Params<E>) -> &RingSpec {
        params.rlwe().ring()
    }

    fn slots(params: &Params<E>) -> usize {
        params.rlwe().ring().n()
    }

    fn ciphertext_bytes(params: &Params<E>) -> usize {
        rlwe_layer::ciphertext_bytes(params.rlwe().ring())
    }

    fn secret(params: &Params<E>, rng: &mut ChaCha20Rng) -> SecretKey {
        SecretKey::generate(params.rlwe(), rng)
    }

    fn read_params(frame: &Frame) -> he_core::Result<Params<E>> {
        bootstrap::read_programs::<BootstrapParams<E>>(frame)
    }

    fn for_parties(params: &Params<E>, parties: usize) -> Option<Params<E>> {
        Some(params.for_parties(parties))
    }

    fn is_secure(params: &Params<E>) -> bool {
        params.rlwe().security() != Security::Insecure
    }

    fn params_json(params: &Params<E>) -> Value {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
        json!({
            "scheme": <E as exact::Scheme>::NAME,
            "fingerprint": params.fingerprint().to_string(),
            "degree": ring.n(),
            "slots": if params.has_slots() { ring.n() } else { 0 },
            "plain_modulus": params.plain().value(),
            "fresh_budget_bits": four_decimals(params.fresh_budget()),
            "log_q": four_decimals(params.noise().log_q(ring.q().len())),
            "log_qp": four_decimals(ring.log_qp()),
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
            rlwe_layer::modulus(ring, params.noise().log_q(ring.q().len())),
            ("key digits", rlwe.digits().len().to_string()),
        ]
    }

    fn key_part(frame: &Frame) -> Option<KeyPart> {
        rlwe_layer::key_part(frame)
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

    fn evaluator(params: &Params<E>, ring: &Ring<Device>) -> he_core::Result<Evaluator<E, Device>> {
        Evaluator::new(params, ring)
    }

    fn encryptor<'a>(engine: &'a Engine<Self>, key: &'a PublicKey<Device>) -> Result<Encrypt<'a, Self>> {
        let encryptor = Encryptor::new(&engine.params, key)?;
        Ok(Box::new(move |vectors, _, rng| {
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors))?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(engine: &'a Engine<Self>, key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        let encryptor = SecretEncryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |vectors, _, rng| {
            let plain = engine.evaluator.encoder().encode_batch(&slices(vectors))?;
            encryptor.encrypt(&plain, rng)?.to_frame(&engine.params)
        }))
    }

    fn decryptor<'a>(engine: &'a Engine<Self>, key: &SecretKey) -> Result<Decrypt<'a, Self>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        // The file's claim about its noise counts for nothing here.
        let plain = move |ct: &Ciphertext<E, Device>| decryptor.decrypt_checked(ct, DECRYPTION_MARGIN);
        Ok(Box::new(move |ct| engine.evaluator.encoder().decode(&plain(ct)?)))
    }

    fn publisher<'a>(
        engine: &'a Engine<Self>,
        key: &SecretKey,
        _content: &Content,
        publication: &'a Publication,
    ) -> Result<Decrypt<'a, Self>> {
        let decryptor = Decryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |ct| {
            let plain = publication.count(ct.batch(), |publisher| decryptor.publish(ct, publisher))?;
            engine.evaluator.encoder().decode(&plain)
        }))
    }

    fn decode(
        params: &Params<E>,
        ring: &Ring<Device>,
        frame: &Frame,
    ) -> he_core::Result<Ciphertext<E, Device>> {
        if frame.kind == E::FRAMES[2] {
            SeededCiphertext::from_frame(params, ring, frame).and_then(SeededCiphertext::expand)
        } else {
            Ciphertext::from_frame(params, ring, frame)
        }
    }

    fn shape(ct: &Ciphertext<E, Device>) -> (usize, usize) {
        (ct.batch(), ct.pair().ring().n())
    }

    fn capacity(_engine: &Engine<Self>, _ct: &Ciphertext<E, Device>) -> Option<f64> {
        None
    }

    fn lowered(
        engine: &Engine<Self>,
        ct: &Ciphertext<E, Device>,
        _bound: f64,
    ) -> he_core::Result<Ciphertext<E, Device>> {
        let (model, top) = (engine.params.noise(), ct.level() + 1);
        // Parties hide noise by floods, for which they need all the budget that is left.
        if model.parties() > 1 {
            return ct.duplicate();
        }
        let budget = |primes| model.budget(model.switched(ct.noise(), top, primes), primes);
        // Sums take a bit each time that their number doubles.
        let enough = budget(top).min(f64::from(SPARE_BITS));
        let primes = (1..=top).find(|&primes| budget(primes) >= enough).unwrap_or(top);
        engine.evaluator.mod_switch_to(ct, primes - 1)
    }
}
