//! Collective refresh: bootstrapping by the parties instead of a circuit.

use super::input::on_input;
use super::session::Subject;
use super::share::sealed::Sealed;
use super::{Encrypted, Input, KeyShare, Protocol, ProtocolKind, Share, Statement, Transcript, kinds};
use crate::error::{Error, Result};
use crate::publisher::Publisher;
use crate::ring::{Eval, Poly, SecretPoly, Seed, Span};
use crate::rlwe::{Flooded, Flooding, RlweCiphertext};
use rand::CryptoRng;

/// The refresh of a ciphertext to the top level in one round (PETS 2021, protocol 6): every party
/// publishes h_i = s_i c1 - M_i over the ciphertext's primes, with a fresh mask M_i, and an
/// encryption of the mask under the collective secret over the whole chain, h'_i = -s_i a + M_i +
/// e_i for a common a. The sum of the h_i and c0 is the message below all masks, which is public,
/// is lifted to the whole chain, and gets the masks back in encrypted form.
///
/// In BFV and BGV the masks are uniform modulo t, which hides the message perfectly, and a flood
/// hides the noise as in a [`Decryption`](super::Decryption). In CKKS the masks are uniform
/// integers of `[-2^b, 2^b)`, with b so that values and noise together are hidden with the
/// statistical security of the flooding: b exceeds the largest value times the scale by as much as
/// a flood exceeds noise, or is as great as the level allows if that is more, and must fit the
/// ciphertext's primes. The scale of a CKKS ciphertext
/// stays, and evaluators bring it to that of a level as usual.
///
/// Each refresh in a session has a number of its own, which is part of what the common polynomial
/// depends on: no two runs have the same.
#[derive(Debug)]
pub struct Refresh<'a, C: Encrypted> {
    input: Input<'a, C>,
    subject: Subject,
}

impl<'a, C: Encrypted> Refresh<'a, C> {
    /// The refresh of this number of a result of a computation by these parties.
    ///
    /// # Errors
    /// The same as for [`Decryption::new`](super::Decryption::new).
    pub fn new(
        transcript: &Transcript,
        params: &'a C::Params,
        ct: &'a C,
        quorum: &[u32],
        flooding: Flooding,
        number: u64,
    ) -> Result<Self> {
        let input = Input::new(transcript, params, ct, quorum, flooding, Flooded::Plaintext)?;
        let subject = input.subject(ProtocolKind::Refresh, |hasher| {
            hasher.update(&number.to_le_bytes());
            Ok(())
        })?;
        Ok(Self { input, subject })
    }

    /// The common polynomial.
    fn common(&self) -> Result<Poly<Eval, C::Backend>> {
        let (ring, batch) = (self.ring(), self.input.ct.rlwe_pair().batch());
        let seed = self.input.session().common_seed(ProtocolKind::Refresh, &self.subject);
        Poly::uniform(ring, Span::chain(ring.spec().q().len()), batch, &seed, 0)
    }

    /// The share of a party, which its publisher counts. Make it once: the difference of two tells
    /// that of their errors.
    ///
    /// # Errors
    /// The same as for [`Decryption::share`](super::Decryption::share);
    /// [`Error::FloodTooWide`] if the masks do not fit.
    pub fn share(
        &self,
        key: &KeyShare<C::Backend>,
        statements: &[Statement],
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::Refresh, C::Backend>> {
        let Input { ct, params, flooding, floods, .. } = &self.input;
        self.input.check(key, statements)?;
        let [low, whole] = ct.mask(params, *flooding, *floods, rng)?;
        self.input.count(publisher)?;
        let [_, c1] = ct.rlwe_pair().parts();
        let mut h = c1.duplicate()?;
        h.mul_assign(key.secret.get())?;
        h.sub_assign(low.get())?;
        let mut product = self.common()?;
        product.mul_assign(key.secret.get())?;
        // a is public, so a s reveals s.
        let product = SecretPoly::new(product);
        let (span, batch) = (whole.get().span(), whole.get().batch());
        let mut encrypted = Poly::error(self.ring(), span, batch, &Seed::random(rng), 0)?.into_eval()?;
        encrypted.add_assign(whole.get())?;
        encrypted.sub_assign(product.get())?;
        Ok(Share::new(self, key.party, vec![h, encrypted]))
    }
}

impl<C: Encrypted> Sealed for Refresh<'_, C> {}

impl<C: Encrypted> Protocol for Refresh<'_, C> {
    type Kind = kinds::Refresh;
    type Backend = C::Backend;
    type Output = C;

    on_input! {}

    fn finished(&self, mut sum: Vec<Poly<Eval, C::Backend>>) -> Result<C> {
        let Input { ct, params, .. } = &self.input;
        let session = self.input.session();
        let encrypted = sum.pop().ok_or(Error::RingMismatch)?;
        let mut c0 = ct.lifted(params, self.input.phase(sum)?)?;
        c0.add_assign(&encrypted)?;
        let pair = RlweCiphertext::new(c0, self.common()?)?.of(Some(session.key_set()));
        ct.refreshed(params, pair, session.parties().len())
    }
}
