//! The facts about ciphertexts that parties know before they make shares of them.

use super::session::{check_party, hash_parties};
use super::{Digest, Encrypted, MheError, PartyKey, Session, SessionId};
use crate::error::{Error, Result};
use crate::key_set::hash_of_secret;
use crate::reveal;
use crate::rlwe::KeyParams as _;
use crate::secret_words::wipe_stack;
use subtle::ConstantTimeEq as _;

const DIGEST: &str = "he 2026-11 session of several parties: ciphertext of a transcript, version 1";
const TRANSCRIPT: &str = "he 2026-11 session of several parties: transcript, version 1";
const TAG: &str = "he 2026-11 session of several parties: key of a party's transcripts, version 1";

impl Digest {
    /// The digest of a ciphertext: of its level, scale or correction factor, noise as far as
    /// decryptions depend on it, and all words.
    ///
    /// # Errors
    /// Device errors.
    pub fn of<C: Encrypted>(ct: &C) -> Result<Self> {
        let mut hasher = blake3::Hasher::new_derive_key(DIGEST);
        ct.hash_stored(&mut hasher)?;
        Ok(Self(*hasher.finalize().as_bytes()))
    }
}

/// The way in which the holder of a transcript came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// By computing the results from the inputs.
    Recomputed,
    /// From somebody else.
    Received,
    /// There is no computation: every ciphertext is a result.
    Unchecked,
}

/// The origin of ciphertexts as results: the inputs of a computation, each with the party that
/// encrypted it, its program and its results, as digests. Shares of ciphertexts are made for
/// results of a transcript alone, and name it: those of two transcripts do not fit each other.
///
/// # Why
/// A share is h = s_i c1 + a flood. **If somebody else chose c1, the share is the secret of its
/// party**: a constant c1 = Q/4 leaves the coefficients of s_i above the flood. Neither the format
/// nor the distribution of a ciphertext shows whether it was chosen, so a party has to know how it
/// came about: it encrypted an input itself, or another party says that it did, and the rest it
/// computes again, which gives the same words on every device.
///
/// # How
/// Each party takes the inputs, evaluation keys and program, and [`recompute`](Self::recompute)s
/// the results. It sends its [`Statement`] to the others, over a channel that authenticates it:
/// that it made the inputs that the transcript calls its own, and computed these results. A party
/// makes shares with a transcript that it recomputed and the statements of all parties that have
/// inputs in it.
///
/// Evaluation keys are inputs, too, because results of chosen keys are as bad as chosen results:
/// put their hash into the program, and let each party add up the shares of the keys by itself. If
/// a refresh or a key switch is part of the computation, let each party add up the shares of it
/// within `compute`.
///
/// A party that lies in its statement, or encrypts an input as it should not, still learns the
/// secrets of all others: only proofs of correct encryption would keep it from that.
///
/// ```
/// use he_core::{backend::Cpu, ckks::*, mhe::*, ring::Ring, rlwe::*, Publisher};
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// # let params = CkksParams::for_depth(0).precision_bits(10).published(40, 16).build()?;
/// # let params = params.for_parties(2);
/// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// # let session = Session::new(params.rlwe(), [1, 2], 2, he_core::rand::random())?;
/// # let keys = [1, 2].map(|party| PartyKey::generate(&session, party, &mut rng).unwrap());
/// # let generation = PublicKeyGeneration::new(&session, &ring)?;
/// # let mut all = Aggregate::new(&generation);
/// # for key in &keys {
/// #     all.add(&generation.share(key, &mut rng)?)?;
/// # }
/// # let public = all.finish()?;
/// let encryptor = Encryptor::new(&params, &public)?;
/// let x = encryptor.encrypt_real(&[0.5], &mut rng)?;  // by party 1
/// let y = encryptor.encrypt_real(&[3.0], &mut rng)?;  // by party 2
/// let ev = Evaluator::new(&params, &ring)?;
/// let sum = ev.add(&x, &y)?;                          // by a server
///
/// let inputs = [(1, Digest::of(&x)?), (2, Digest::of(&y)?)];
/// let recompute = || Transcript::recompute(&session, b"x + y", &inputs, || {
///     Ok::<_, he_core::Error>(vec![Digest::of(&ev.add(&x, &y)?)?])
/// });
/// let own = recompute()?;                             // by party 1
/// let other = recompute()?.statement(2)?;             // by party 2, who sends it to party 1
///
/// let mut publisher = Publisher::new(40, 16)?;
/// let decryption = Decryption::new(&own, &params, &sum, &[1, 2], publisher.flooding())?;
/// decryption.share(&keys[0].share(&ring)?, &[other], &mut publisher, &mut rng)?;
/// // Another ciphertext is not decrypted.
/// assert!(Decryption::new(&own, &params, &x, &[1, 2], publisher.flooding()).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Transcript {
    session: Session,
    program: Vec<u8>,
    inputs: Vec<(u32, Digest)>,
    results: Vec<Digest>,
    id: Digest,
    origin: Origin,
}

/// A party's word for a transcript: it encrypted the inputs that are called its own, and computed
/// the results from all inputs by the program. It is public, and not signed: take it over a channel
/// that authenticates its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The session.
    pub session: SessionId,
    /// The party.
    pub party: u32,
    /// The transcript's identity.
    pub transcript: Digest,
}

impl Transcript {
    /// The transcript of a computation, whose results `compute` computes from the inputs as they
    /// are here. `program` is everything else that the results depend on, such that all parties
    /// write it with the same bytes: the operations, and hashes of evaluation keys.
    ///
    /// # Errors
    /// [`MheError::Outsider`] for an input of another party than those of the session;
    /// [`Error::Argument`] without inputs or results, and for an input that is there twice; the
    /// errors of `compute`.
    pub fn recompute<E: From<Error>>(
        session: &Session,
        program: &[u8],
        inputs: &[(u32, Digest)],
        compute: impl FnOnce() -> Result<Vec<Digest>, E>,
    ) -> Result<Self, E> {
        let results = compute()?;
        Ok(Self::new(session, program, inputs, &results, Origin::Recomputed)?)
    }

    /// A transcript from somebody else: shares that others made with it can be added up, and none
    /// is made.
    ///
    /// # Errors
    /// The errors of [`recompute`](Self::recompute).
    pub fn received(
        session: &Session,
        program: &[u8],
        inputs: &[(u32, Digest)],
        results: &[Digest],
    ) -> Result<Self> {
        Self::new(session, program, inputs, results, Origin::Received)
    }

    /// A transcript that this party has recomputed before, by the [`tag`](Self::tag) that it kept.
    ///
    /// # Errors
    /// [`MheError::WrongTag`] for another tag than the party's own for this transcript;
    /// [`MheError::ForeignSession`] for a party of another session; those of
    /// [`recompute`](Self::recompute).
    pub fn kept(
        session: &Session,
        program: &[u8],
        inputs: &[(u32, Digest)],
        results: &[Digest],
        (key, tag): (&PartyKey, &[u8; 32]),
    ) -> Result<Self> {
        let transcript = Self::new(session, program, inputs, results, Origin::Recomputed)?;
        let expected = transcript.tag_by(key)?;
        if reveal::bit(expected.as_bytes()[..].ct_eq(&tag[..]).into()) {
            return Ok(transcript);
        }
        Err(MheError::WrongTag { party: key.party() }.into())
    }

    /// No computation: every ciphertext of the session is a result, and no statements are asked
    /// for. **Whoever chooses a ciphertext learns the secret of each party that makes a share of
    /// it**: this is for tests, and for ciphertexts that parties know by other means.
    pub fn unchecked_insecure(session: &Session) -> Self {
        let (id, origin) = (Digest([0; 32]), Origin::Unchecked);
        let (program, inputs, results) = (Vec::new(), Vec::new(), Vec::new());
        Self { session: session.clone(), program, inputs, results, id, origin }
    }

    fn new(
        session: &Session,
        program: &[u8],
        inputs: &[(u32, Digest)],
        results: &[Digest],
        origin: Origin,
    ) -> Result<Self> {
        if inputs.is_empty() || results.is_empty() {
            let found = format!("{} inputs and {} results", inputs.len(), results.len());
            return Err(Error::domain("transcript", found, "a computation has at least one of each"));
        }
        inputs.iter().try_for_each(|&(party, _)| session.check_party(party))?;
        let mut digests: Vec<Digest> = inputs.iter().map(|&(_, digest)| digest).collect();
        digests.sort_unstable();
        if let Some(pair) = digests.windows(2).find(|pair| pair[0] == pair[1]) {
            let found = format!("input {} twice", pair[0]);
            return Err(Error::domain("transcript", found, "name each input once, with its party"));
        }
        let mut hasher = blake3::Hasher::new_derive_key(TRANSCRIPT);
        hasher.update(&session.id().0);
        hasher.update(&(program.len() as u64).to_le_bytes()).update(program);
        let parties: Vec<u32> = inputs.iter().map(|&(party, _)| party).collect();
        hash_parties(&mut hasher, &parties);
        inputs.iter().for_each(|(_, digest)| {
            hasher.update(&digest.0);
        });
        results.iter().for_each(|digest| {
            hasher.update(&digest.0);
        });
        let id = Digest(*hasher.finalize().as_bytes());
        let (program, inputs, results) = (program.to_vec(), inputs.to_vec(), results.to_vec());
        Ok(Self { session: session.clone(), program, inputs, results, id, origin })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The program that the results depend on besides the inputs.
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// The inputs, each with the party that encrypted it.
    pub fn inputs(&self) -> &[(u32, Digest)] {
        &self.inputs
    }

    /// The results.
    pub fn results(&self) -> &[Digest] {
        &self.results
    }

    /// The identity: a hash of all of it.
    pub fn id(&self) -> Digest {
        self.id
    }

    /// A party's statement, to be sent to the others.
    ///
    /// # Errors
    /// [`MheError::NotRecomputed`] for a transcript from somebody else; [`MheError::Outsider`].
    pub fn statement(&self, party: u32) -> Result<Statement> {
        self.session.check_party(party)?;
        if self.origin != Origin::Recomputed {
            return Err(MheError::NotRecomputed { transcript: self.id }.into());
        }
        Ok(Statement { session: self.session.id(), party, transcript: self.id })
    }

    /// Computes the tag with which the party takes the transcript up again, by
    /// [`kept`](Self::kept): a message authentication code, which nobody can make without the
    /// party's secret, and which is public.
    ///
    /// # Errors
    /// [`MheError::NotRecomputed`] for a transcript from somebody else;
    /// [`MheError::ForeignSession`] for a party of another session.
    pub fn tag(&self, key: &PartyKey) -> Result<[u8; 32]> {
        self.statement(key.party())?;
        Ok(reveal::bytes(*self.tag_by(key)?.as_bytes()))
    }

    fn tag_by(&self, key: &PartyKey) -> Result<blake3::Hash> {
        key.check(&self.session)?;
        let secret = key.secret();
        let coefficients = secret.expose_coefficients().iter().map(|&c| (c + 1) as u8);
        let own = hash_of_secret(TAG, secret.params().key_fingerprint(), coefficients);
        let tag = blake3::keyed_hash(&own, &self.id.0);
        wipe_stack();
        Ok(tag)
    }

    /// Whether a ciphertext is a result.
    pub(super) fn check_result<C: Encrypted>(&self, ct: &C) -> Result<()> {
        if self.origin == Origin::Unchecked {
            return Ok(());
        }
        let found = Digest::of(ct)?;
        if self.results.contains(&found) {
            return Ok(());
        }
        Err(MheError::NotAResult { found, transcript: self.id }.into())
    }

    /// Adds the identity to the hash of a run's inputs, unless there is no computation.
    pub(super) fn hash(&self, hasher: &mut blake3::Hasher) {
        if self.origin != Origin::Unchecked {
            hasher.update(&self.id.0);
        }
    }

    /// Whether a party may make shares of the results: it has recomputed them, and all parties with
    /// inputs have stated the same.
    ///
    /// # Errors
    /// [`MheError::NotRecomputed`], [`MheError::ForeignSession`], [`MheError::Outsider`],
    /// [`MheError::Doubled`], [`MheError::OtherTranscript`], [`MheError::Unstated`].
    pub fn check_statements(&self, party: u32, statements: &[Statement]) -> Result<()> {
        if self.origin == Origin::Unchecked {
            return Ok(());
        }
        let own = self.statement(party)?;
        let mut stated = Vec::new();
        for statement in statements {
            self.session.check("statement", statement.session)?;
            check_party(statement.party, self.session.parties())?;
            if stated.contains(&statement.party) {
                return Err(MheError::DoubledStatement { party: statement.party }.into());
            }
            if statement.transcript != own.transcript {
                let (party, found, expected) = (statement.party, statement.transcript, self.id);
                return Err(MheError::OtherTranscript { party, found, expected }.into());
            }
            stated.push(statement.party);
        }
        let mut missing: Vec<u32> = self.inputs.iter().map(|&(party, _)| party).collect();
        missing.retain(|owner| *owner != party && !stated.contains(owner));
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() { Ok(()) } else { Err(MheError::Unstated { parties: missing }.into()) }
    }
}
