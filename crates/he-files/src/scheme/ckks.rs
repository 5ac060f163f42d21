//! RNS-CKKS: images in tiles, columns of real numbers.

use super::{Decrypt, Encrypt, Header, KeyPart, Real, SPARE_BITS, Scheme, Start, State, rlwe_layer, slices};
use crate::bootstrap;
use crate::error::Result;
use crate::note::{Content, Note, bad};
use crate::publication::{Numbers, Publication};
use crate::scheme::engine::Engine;
use crate::units::four_decimals;
use he::Device;
use he_any::rlwe::capacity;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::{
    Ciphertext, CkksBuilder, CkksParams, Complex64, Decryptor, Encryptor, Evaluator, Plaintext,
    SecretEncryptor, SeededCiphertext,
};
use he_core::params::{ParamsError, Security};
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he_core::wire::{self, Frame, FrameKind, Wire};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};

/// The scheme, as a type.
pub enum Ckks {}

/// A batch of vectors of so many slots as a plaintext.
fn encoded(
    engine: &Engine<Ckks>,
    vectors: &[Vec<Complex64>],
    slots: usize,
) -> he_core::Result<Plaintext<Device>> {
    engine.evaluator.encoder().encode_batch(&slices(vectors), engine.params.encoding().slots(slots))
}

impl Scheme for Ckks {
    const NAME: &'static str = "ckks";
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>) =
        (FrameKind::CkksCiphertext, Some(FrameKind::CkksSeededCiphertext));
    type Params = CkksParams;
    type Secret = SecretKey;
    type Public = PublicKey<Device>;
    type Evaluation = EvaluationKeys<Device>;
    type Ciphertext = Ciphertext<Device>;
    type Evaluator = Evaluator<Device>;
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

    fn slots(params: &CkksParams) -> usize {
        params.slots()
    }

    fn ciphertext_bytes(params: &CkksParams) -> usize {
        rlwe_layer::ciphertext_bytes(params.rlwe().ring())
    }

    fn secret(params: &CkksParams, rng: &mut ChaCha20Rng) -> SecretKey {
        SecretKey::generate(params.rlwe(), rng)
    }

    fn read_params(frame: &Frame) -> he_core::Result<CkksParams> {
        bootstrap::read_programs::<BootstrapParams>(frame)
    }

    fn is_secure(params: &CkksParams) -> bool {
        params.rlwe().security() != Security::Insecure
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
            "range": four_decimals(params.range()),
            "fresh_precision_bits": four_decimals(params.fresh_precision_bits()),
            "log_q": four_decimals(params.log_q(params.max_level())),
            "log_qp": four_decimals(ring.log_qp()),
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
            rlwe_layer::modulus(ring, params.log_q(params.max_level())),
            ("key digits", rlwe.digits().len().to_string()),
        ]
    }

    fn key_part(frame: &Frame) -> Option<KeyPart> {
        rlwe_layer::key_part(frame)
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
            Content::Digits(note) => note.check(),
            Content::Examples(note) => note.check(params.slots()),
            Content::Search(note) => note.check(params.slots()),
            _ => Err(bad("kind of content")),
        }
    }

    fn evaluator(params: &CkksParams, ring: &Ring<Device>) -> he_core::Result<Evaluator<Device>> {
        Evaluator::new(params, ring)
    }

    fn encryptor<'a>(engine: &'a Engine<Self>, key: &'a PublicKey<Device>) -> Result<Encrypt<'a, Self>> {
        let encryptor = Encryptor::new(&engine.params, key)?;
        Ok(Box::new(move |vectors, slots, rng| {
            encryptor.encrypt(&encoded(engine, vectors, slots)?, rng)?.to_frame(&engine.params)
        }))
    }

    fn secret_encryptor<'a>(engine: &'a Engine<Self>, key: &SecretKey) -> Result<Encrypt<'a, Self>> {
        let encryptor = SecretEncryptor::new(&engine.params, key, &engine.ring)?;
        Ok(Box::new(move |vectors, slots, rng| {
            encryptor.encrypt(&encoded(engine, vectors, slots)?, rng)?.to_frame(&engine.params)
        }))
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
            let (slots, scale_log2) = (ct.slots(), ct.scale().log2());
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

    fn decode(
        params: &CkksParams,
        ring: &Ring<Device>,
        frame: &Frame,
    ) -> he_core::Result<Ciphertext<Device>> {
        if frame.kind == FrameKind::CkksSeededCiphertext {
            SeededCiphertext::from_frame(params, ring, frame).and_then(SeededCiphertext::expand)
        } else {
            Ciphertext::from_frame(params, ring, frame)
        }
    }

    fn shape(ct: &Ciphertext<Device>) -> (usize, usize) {
        (ct.batch(), ct.slots())
    }

    fn capacity(engine: &Engine<Self>, ct: &Ciphertext<Device>) -> Option<f64> {
        Some(capacity(&engine.params, ct.level(), ct.scale()))
    }

    fn lowered(
        engine: &Engine<Self>,
        ct: &Ciphertext<Device>,
        bound: f64,
    ) -> he_core::Result<Ciphertext<Device>> {
        let params = &engine.params;
        let needed = bound.max(1.0).log2() + f64::from(SPARE_BITS) + 1.0;
        let fits = |level: &usize| {
            params.levels().get(*level).is_some_and(|l| params.log_q(*level) - l.scale.log2() >= needed)
        };
        let level = (0..ct.level()).find(fits).unwrap_or(ct.level());
        engine.evaluator.mod_switch_to(ct, level)
    }
}

/// The parameters of a builder with as many bits for the magnitude of results as cost nothing: the
/// degree and the number of primes are those of the builder's own range.
///
/// # Errors
/// The errors of [`CkksBuilder::build`].
pub fn with_spare_range(builder: &CkksBuilder) -> std::result::Result<CkksParams, ParamsError> {
    let size = |params: &CkksParams| {
        let ring = params.rlwe().ring();
        (ring.log_n(), ring.q().len(), ring.p().len())
    };
    let mut best = builder.build()?;
    let least = size(&best);
    // More bits never take fewer primes.
    let (mut possible, mut impossible) = (4, 31);
    while impossible - possible > 1 {
        let bits = u32::midpoint(possible, impossible);
        match builder.clone().range_bits(bits).build() {
            Ok(params) if size(&params) == least => (best, possible) = (params, bits),
            _ => impossible = bits,
        }
    }
    Ok(best)
}

/// The bits for the magnitude of results where the ring has room for them: the variance of ordinary
/// data needs them.
const USUAL_RANGE: u32 = 24;

/// The parameters of a builder with [spare range](with_spare_range), and with at least 24 bits for
/// the magnitude of results if the degree remains the same: a longer chain of primes is worth the
/// variance of ordinary data, a larger ring is not.
///
/// # Errors
/// The errors of [`CkksBuilder::build`].
pub fn with_usual_range(builder: &CkksBuilder) -> std::result::Result<CkksParams, ParamsError> {
    let least = with_spare_range(builder)?;
    let log_n = |params: &CkksParams| params.rlwe().ring().log_n();
    let wide = builder.clone().range_bits(USUAL_RANGE).build().ok();
    let wide = wide.filter(|wide| log_n(wide) == log_n(&least) && wide.range() > least.range());
    Ok(wide.unwrap_or(least))
}

impl Real for Ckks {
    // Its vectors are transformed in 106 bits then.
    const TRANSFORM_LOG2: f64 = f64::NEG_INFINITY;

    fn fresh_precision_bits(params: &CkksParams) -> f64 {
        params.fresh_precision_bits()
    }

    fn reaches(params: &CkksParams, precision: u32) -> bool {
        CkksParams::for_depth(params.max_level()).precision_bits(precision).build().is_ok()
    }
}
