//! Collective switches to another secret.

use super::input::on_input;
use super::session::Subject;
use super::share::sealed::Sealed;
use super::{
    Encrypted, Input, KeyShare, Protocol, ProtocolKind, Session, Share, Statement, Transcript, hash_poly,
    kinds,
};
use crate::error::{Error, Result};
use crate::publisher::Publisher;
use crate::ring::{Eval, Poly, SecretPoly};
use crate::rlwe::{Flooded, Flooding, KeyParams as _, PublicKey, RlweCiphertext, noise};
use rand::CryptoRng;

/// The switch of a ciphertext to the collective secret of another session of the same parties, in
/// one round: h_i = (s_i - s'_i) c1 + a flood (PETS 2021, protocol 4). The floods, which the new
/// secret does not remove, hide the noise of the ciphertext from those who decrypt it then, like
/// those of a [`Decryption`](super::Decryption). They are noise of the result: its own collective
/// decryption floods them in turn, for which those of BFV and BGV leave half of the bits
/// ([module](super)).
#[derive(Debug)]
pub struct KeySwitching<'a, C: Encrypted> {
    input: Input<'a, C>,
    to: Session,
    subject: Subject,
}

impl<'a, C: Encrypted> KeySwitching<'a, C> {
    /// The switch of a result of a computation to another session, `to`, by these parties.
    ///
    /// # Errors
    /// The same as for [`Decryption::new`](super::Decryption::new), for the quorum in either
    /// session; [`Error::ParamsMismatch`] for a session of other parameters.
    pub fn new(
        transcript: &Transcript,
        to: &Session,
        params: &'a C::Params,
        ct: &'a C,
        quorum: &[u32],
        flooding: Flooding,
    ) -> Result<Self> {
        let input = Input::new(transcript, params, ct, quorum, flooding, Flooded::Ciphertext)?;
        to.check_params(transcript.session().params(), "session")?;
        to.quorum(quorum)?;
        let subject = input.subject(ProtocolKind::KeySwitching, |hasher| {
            hasher.update(&to.id().0);
            Ok(())
        })?;
        Ok(Self { input, to: to.clone(), subject })
    }

    /// The share of a party from its secrets in both sessions.
    ///
    /// # Errors
    /// The same as for [`Decryption::share`](super::Decryption::share); [`Error::Argument`] for the
    /// secrets of two parties.
    pub fn share(
        &self,
        from: &KeyShare<C::Backend>,
        to: &KeyShare<C::Backend>,
        statements: &[Statement],
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::KeySwitching, C::Backend>> {
        self.input.check(from, statements)?;
        self.to.check("secret of the party", to.session.id())?;
        if (from.party, &from.quorum) != (to.party, &to.quorum) {
            let why = format!(
                "party {} of {:?} and party {} of {:?}",
                from.party, from.quorum, to.party, to.quorum
            );
            return Err(Error::argument("secrets of the party", why));
        }
        self.input.count(publisher)?;
        let mut h = self.input.flooded(from.secret.get(), rng)?;
        let [_, c1] = self.input.ct.rlwe_pair().parts();
        let mut other = to.secret.get().duplicate_chain(c1.span().q)?;
        other.neg_assign()?;
        let other = SecretPoly::new(other);
        h.mul_add_assign(c1, other.get())?;
        Ok(Share::new(self, from.party, vec![h]))
    }
}

impl<C: Encrypted> Sealed for KeySwitching<'_, C> {}

impl<C: Encrypted> Protocol for KeySwitching<'_, C> {
    type Kind = kinds::KeySwitching;
    type Backend = C::Backend;
    type Output = C;

    on_input! {}

    fn finished(&self, sum: Vec<Poly<Eval, C::Backend>>) -> Result<C> {
        let Input { ct, params, .. } = &self.input;
        let [_, c1] = ct.rlwe_pair().parts();
        let pair = RlweCiphertext::new(self.input.phase(sum)?, c1.duplicate()?)?;
        ct.flooded(params, pair.of(Some(self.to.key_set())), self.input.floods_log2())
    }
}

/// The switch of a ciphertext to the public key of a recipient, who has no part in the session, in
/// one round: h_i = s_i c1 + a flood + v_i b + e_i, and h'_i = v_i a + e'_i (PETS 2021, protocol
/// 5). The recipient alone can decrypt the result, as always; the floods of a
/// [`Decryption`](super::Decryption) hide the noise of the ciphertext from it.
#[derive(Debug)]
pub struct PublicKeySwitching<'a, C: Encrypted> {
    input: Input<'a, C>,
    to: &'a PublicKey<C::Backend>,
    subject: Subject,
}

impl<'a, C: Encrypted> PublicKeySwitching<'a, C> {
    /// The switch of a result of a computation to a public key by these parties.
    ///
    /// # Errors
    /// The same as for [`Decryption::new`](super::Decryption::new); [`Error::ParamsMismatch`],
    /// [`Error::RingMismatch`] for a key of other parameters or another ring.
    pub fn new(
        transcript: &Transcript,
        to: &'a PublicKey<C::Backend>,
        params: &'a C::Params,
        ct: &'a C,
        quorum: &[u32],
        flooding: Flooding,
    ) -> Result<Self> {
        let input = Input::new(transcript, params, ct, quorum, flooding, Flooded::Ciphertext)?;
        transcript.session().params().check_same(to.params(), "public key")?;
        if !to.ring().same(ct.rlwe_pair().ring()) {
            return Err(Error::RingMismatch);
        }
        let subject = input.subject(ProtocolKind::PublicKeySwitching, |hasher| {
            match to.seed() {
                Some(seed) => drop(hasher.update(&seed.0)),
                None => hash_poly(hasher, to.mask())?,
            }
            hash_poly(hasher, to.body())
        })?;
        Ok(Self { input, to, subject })
    }

    /// The share of a party.
    ///
    /// # Errors
    /// The same as for [`Decryption::share`](super::Decryption::share).
    pub fn share(
        &self,
        key: &KeyShare<C::Backend>,
        statements: &[Statement],
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Share<kinds::PublicKeySwitching, C::Backend>> {
        self.input.check(key, statements)?;
        self.input.count(publisher)?;
        let h = self.input.flooded(key.secret.get(), rng)?;
        let pair = self.input.ct.rlwe_pair();
        let [mut h0, h1] = self.to.encrypt_zero(pair.chain_limbs(), pair.batch(), rng)?.c;
        h0.add_assign(&h)?;
        Ok(Share::new(self, key.party, vec![h0, h1]))
    }
}

impl<C: Encrypted> Sealed for PublicKeySwitching<'_, C> {}

impl<C: Encrypted> Protocol for PublicKeySwitching<'_, C> {
    type Kind = kinds::PublicKeySwitching;
    type Backend = C::Backend;
    type Output = C;

    on_input! {}

    fn finished(&self, mut sum: Vec<Poly<Eval, C::Backend>>) -> Result<C> {
        let Input { ct, params, .. } = &self.input;
        let c1 = sum.pop().ok_or(Error::RingMismatch)?;
        let pair = RlweCiphertext::new(self.input.phase(sum)?, c1)?.of(self.to.key_set());
        let parties = self.input.quorum.len() as f64;
        // Eight root mean squares of the parties' encryptions of zero.
        let zeros = noise::public_log2(pair.ring().n() as f64, 1.0) + libm::log2(parties) / 2.0 + 3.0;
        ct.flooded(params, pair, noise::log_add(self.input.floods_log2(), zeros))
    }
}
