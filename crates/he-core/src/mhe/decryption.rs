//! Collective decryption.

use super::input::on_input;
use super::session::Subject;
use super::share::sealed::Sealed;
use super::{Encrypted, Input, KeyShare, Protocol, ProtocolKind, Share, Statement, Transcript, kinds};
use crate::error::Result;
use crate::publisher::Publisher;
use crate::ring::{Eval, Poly};
use crate::rlwe::{Flooded, Flooding};
use rand::CryptoRng;

/// The decryption of a ciphertext by a quorum in one round: h_i = s_i c1 + a flood, where the s_i
/// are the quorum's summands of the secret; c0 and all h_i sum to the phase.
///
/// The floods, uniform integers of `[-2^b, 2^b)` per coefficient, hide the noise of the ciphertext,
/// which depends on the secret key, in the result and in each share, even from all other parties
/// together: each party adds as much as one that publishes a decryption alone
/// ([`Flooding::Statistical`]). This holds for exact schemes as well, because a share has the noise
/// in it, and not just the message. Both statistical security and number of decryptions are part
/// of what all parties agree on, and each party counts with a [`Publisher`] of its own. No
/// statement about the noise narrows a flood ([module](super)): in BFV and BGV floods are as wide
/// as the level allows.
///
/// ```
/// use he_core::{backend::Cpu, ckks::*, mhe::*, ring::Ring, rlwe::*, Publisher};
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// // 40 bits of security for at most 16 decryptions.
/// let params = CkksParams::for_depth(0).precision_bits(10).published(40, 16).build()?;
/// let params = params.for_parties(3);
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let session = Session::new(params.rlwe(), [1, 2, 3], 3, he_core::rand::random())?;
/// let mut keys = Vec::new();
/// for party in 1..=3 {
///     keys.push(PartyKey::generate(&session, party, &mut rng)?);
/// }
///
/// let generation = PublicKeyGeneration::new(&session, &ring)?;
/// let mut all = Aggregate::new(&generation);
/// for key in &keys {
///     all.add(&generation.share(key, &mut rng)?)?;
/// }
/// let public = all.finish()?;
/// let x = Encryptor::new(&params, &public)?.encrypt_real(&[0.5, 3.0], &mut rng)?;
///
/// // Each party computes the result again, here the input of party 1 itself, and states it to the
/// // others.
/// let digest = Digest::of(&x)?;
/// let transcript = Transcript::recompute(&session, b"x", &[(1, digest)], || {
///     Ok::<_, he_core::Error>(vec![digest])
/// })?;
/// let statements = [1, 2, 3].map(|party| transcript.statement(party).unwrap());
///
/// let mut publisher = Publisher::new(40, 16)?;
/// let decryption = Decryption::new(&transcript, &params, &x, &[1, 2, 3], publisher.flooding())?;
/// let mut all = Aggregate::new(&decryption);
/// for key in &keys {
///     // Each party has a publisher of its own.
///     # let mut publisher = Publisher::new(40, 16)?;
///     all.add(&decryption.share(&key.share(&ring)?, &statements, &mut publisher, &mut rng)?)?;
/// }
/// let values = Encoder::new(&params, &ring)?.decode_real(&all.finish()?)?;
/// assert!((values[0][1] - 3.0).abs() < 1e-2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Decryption<'a, C: Encrypted> {
    input: Input<'a, C>,
    subject: Subject,
}

impl<'a, C: Encrypted> Decryption<'a, C> {
    /// The decryption of a result of a computation by these parties.
    ///
    /// # Errors
    /// [`MheError::NotAResult`](super::MheError::NotAResult) for another ciphertext;
    /// [`MheError::SmallQuorum`](super::MheError::SmallQuorum),
    /// [`MheError::Outsider`](super::MheError::Outsider) and
    /// [`MheError::Doubled`](super::MheError::Doubled) for the quorum;
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch) for a ciphertext of another key set;
    /// [`Error::NoiseUnknown`](crate::Error::NoiseUnknown) and
    /// [`Error::FloodTooWide`](crate::Error::FloodTooWide) for one whose noise is not known or that
    /// has no room for the floods; mismatch of parameters; device errors.
    pub fn new(
        transcript: &Transcript,
        params: &'a C::Params,
        ct: &'a C,
        quorum: &[u32],
        flooding: Flooding,
    ) -> Result<Self> {
        let input = Input::new(transcript, params, ct, quorum, flooding, Flooded::Plaintext)?;
        let subject = input.subject(ProtocolKind::Decryption, |_| Ok(()))?;
        Ok(Self { input, subject })
    }

    /// The b of each party's flood.
    pub fn flood_bits(&self) -> u32 {
        self.input.bits
    }

    /// The share of a party, which its publisher counts. The party has recomputed the transcript,
    /// and `statements` are those of the other parties that have inputs in it: see [`Transcript`].
    ///
    /// # Errors
    /// The errors of [`Transcript::check_statements`];
    /// [`MheError::ForeignSession`](super::MheError::ForeignSession);
    /// [`Error::DecryptionsSpent`](crate::Error::DecryptionsSpent);
    /// [`Error::Argument`](crate::Error::Argument) for the secret in another quorum and a publisher
    /// of another flooding; device errors.
    pub fn share(
        &self,
        key: &KeyShare<C::Backend>,
        statements: &[Statement],
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::Decryption, C::Backend>> {
        self.input.check(key, statements)?;
        self.input.count(publisher)?;
        let h = self.input.flooded(key.secret.get(), rng)?;
        Ok(Share::new(self, key.party, vec![h]))
    }
}

impl<C: Encrypted> Sealed for Decryption<'_, C> {}

impl<C: Encrypted> Protocol for Decryption<'_, C> {
    type Kind = kinds::Decryption;
    type Backend = C::Backend;
    type Output = C::Plaintext;

    on_input! {}

    fn finished(&self, sum: Vec<Poly<Eval, C::Backend>>) -> Result<C::Plaintext> {
        let phase = self.input.phase(sum)?;
        self.input.ct.plaintext(self.input.params, phase, self.input.floods_log2())
    }
}
