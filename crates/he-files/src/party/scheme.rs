//! The part that the schemes have in what parties do together.

use crate::contents::{Contents, images, integers};
use crate::error::Result;
use crate::note::Content;
use crate::publication::{Numbers, Publication};
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Rotations, Scheme, Taken};
use he::Device;
use he_core::Publisher;
use he_core::ckks::{self, CkksParams};
use he_core::exact::{self, Params};
use he_core::mhe::Encrypted;
use he_core::rlwe::{EvaluationKeys, Flooding, PublicKey, RlweCiphertext};
use he_core::wire::SchemeParams;
use rand::rngs::ChaCha20Rng;

/// A scheme under which parties compute on tables and decrypt them together.
pub trait Shared:
    Contents<
        Params: SchemeParams,
        Public = PublicKey<Device>,
        Evaluation = EvaluationKeys<Device>,
        Ciphertext: Encrypted<Backend = Device, Params = <Self as Scheme>::Params>,
    >
{
    /// Whether keys that parties made say how many they were, because noise that ciphertexts state
    /// is predicted by it.
    const STATES_PARTIES: bool;

    /// The same parameters, with the noise of keys that so many parties made.
    fn of_parties(params: &Self::Params, parties: usize) -> Self::Params;

    /// The rotations that the parties make keys for.
    ///
    /// # Errors
    /// None in practice.
    fn rotations(params: &Self::Params) -> Result<Rotations>;

    /// The polynomials.
    fn polynomials(ct: &Self::Ciphertext) -> &RlweCiphertext<Device>;

    /// In what ciphertexts differ from those that encryption makes, and what theirs is: level,
    /// scale, or what they state of their noise.
    ///
    /// # Errors
    /// None in practice.
    fn unlike_fresh(params: &Self::Params, ct: &Self::Ciphertext) -> Result<Option<(String, String)>>;

    /// The ciphertexts with the noise that floods hide, of a file of this content.
    ///
    /// # Errors
    /// Nothing is known of the noise of such a content; the device fails.
    fn noisy(
        params: &Self::Params,
        parties: usize,
        content: &Content,
        ct: &Self::Ciphertext,
    ) -> he_core::Result<Self::Ciphertext>;

    /// Counts the share of ciphertexts that are decrypted, and makes it: `bits` is the width of its
    /// flood.
    ///
    /// # Errors
    /// More is decrypted than was agreed on; the flood hides the numbers; those of `bits` and
    /// `share`.
    fn share<T>(
        params: &Self::Params,
        publication: &Publication,
        content: &Content,
        ct: &Self::Ciphertext,
        bits: impl FnOnce(Flooding) -> he_core::Result<u32>,
        share: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> he_core::Result<T>,
    ) -> he_core::Result<T>;

    /// The values of a decryption.
    ///
    /// # Errors
    /// The device fails.
    fn decoded(
        engine: &Engine<Self>,
        plain: &<Self::Ciphertext as Encrypted>::Plaintext,
    ) -> he_core::Result<Vec<Vec<Self::Slot>>>;
}

impl Shared for Ckks {
    // Files state the errors of their numbers, and parameters have room for those of the keys.
    const STATES_PARTIES: bool = false;

    fn of_parties(params: &CkksParams, parties: usize) -> CkksParams {
        params.for_parties(parties)
    }

    fn rotations(params: &CkksParams) -> Result<Rotations> {
        images::rotations(params, 0)
    }

    fn polynomials(ct: &Self::Ciphertext) -> &RlweCiphertext<Device> {
        ct.pair()
    }

    fn unlike_fresh(params: &CkksParams, ct: &Self::Ciphertext) -> Result<Option<(String, String)>> {
        let top = params.max_level();
        let scale = params.level(top)?.scale;
        if ct.level() != top {
            return Ok(Some((format!("level {}", ct.level()), format!("level {top}"))));
        }
        let other = ct.scale().to_bits() != scale.to_bits();
        Ok(other.then(|| (format!("a scale of {}", ct.scale()), scale.to_string())))
    }

    /// With the noise that the file states, and never less than that of a fresh encryption under
    /// keys of several parties, one of which relinearised it.
    fn noisy(
        params: &CkksParams,
        parties: usize,
        content: &Content,
        ct: &Self::Ciphertext,
    ) -> he_core::Result<Self::Ciphertext> {
        let mut ct = ct.duplicate()?;
        let n = params.rlwe().ring().n();
        let numbers = Numbers::of(content, params.fresh_precision_bits())?;
        let mut noise = numbers.noise(n, ct.slots(), ct.scale().log2());
        // The error of a collective relinearisation key exceeds that of one party's by this factor.
        let parties = parties as f64;
        let excess = (parties * (1.0 + parties * 4.0 * n as f64 / 3.0)).log2() / 2.0;
        noise.rms_log2 += excess;
        noise.peak_log2 += excess;
        ct.set_noise(Some(noise));
        Ok(ct)
    }

    fn share<T>(
        params: &CkksParams,
        publication: &Publication,
        content: &Content,
        ct: &Self::Ciphertext,
        bits: impl FnOnce(Flooding) -> he_core::Result<u32>,
        share: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> he_core::Result<T>,
    ) -> he_core::Result<T> {
        let numbers = Numbers::of(content, params.fresh_precision_bits())?;
        publication.flood(numbers, (ct.batch(), ct.slots(), ct.scale().log2()), bits, share)
    }

    fn decoded(
        engine: &Engine<Self>,
        plain: &ckks::Plaintext<Device>,
    ) -> he_core::Result<Vec<Vec<Self::Slot>>> {
        engine.evaluator.encoder().decode(plain)
    }
}

impl<E: Taken> Shared for E {
    const STATES_PARTIES: bool = true;

    fn of_parties(params: &Params<E>, parties: usize) -> Params<E> {
        params.for_parties(parties)
    }

    fn rotations(params: &Params<E>) -> Result<Rotations> {
        Ok(integers::rotations(params))
    }

    fn polynomials(ct: &Self::Ciphertext) -> &RlweCiphertext<Device> {
        ct.pair()
    }

    fn unlike_fresh(params: &Params<E>, ct: &Self::Ciphertext) -> Result<Option<(String, String)>> {
        let (found, fresh) = (ct.state(), params.fresh_state());
        let text = |state: exact::State| {
            let (level, factor) = (state.level(), state.correction_factor());
            let exact::Noise { rms_log2, peak_log2, degree } = state.noise();
            format!(
                "level {level}, factor {factor}, noise 2^{rms_log2} up to 2^{peak_log2} of degree {degree}"
            )
        };
        Ok((found != fresh).then(|| (text(found), text(fresh))))
    }

    /// As they are: they state the noise that was predicted for keys of so many parties.
    fn noisy(
        _: &Params<E>,
        _: usize,
        _: &Content,
        ct: &Self::Ciphertext,
    ) -> he_core::Result<Self::Ciphertext> {
        ct.duplicate()
    }

    fn share<T>(
        _: &Params<E>,
        publication: &Publication,
        _: &Content,
        ct: &Self::Ciphertext,
        _: impl FnOnce(Flooding) -> he_core::Result<u32>,
        share: impl FnOnce(&mut Publisher, &mut ChaCha20Rng) -> he_core::Result<T>,
    ) -> he_core::Result<T> {
        publication.draw(ct.batch(), share)
    }

    fn decoded(engine: &Engine<Self>, plain: &exact::Plaintext) -> he_core::Result<Vec<Vec<u64>>> {
        engine.evaluator.encoder().decode(plain)
    }
}
