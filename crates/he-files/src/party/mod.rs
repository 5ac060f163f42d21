//! Several parties, each with files of its own: the session that all of them have, secrets, shares
//! for the others, and the keys and results that shares are combined into. The scheme is CKKS; the
//! keys are files like those of [`key_set`](crate::key_set).
//!
//! A party that decrypts something that somebody else chose gives its secret away, so it
//! [computes](Agreed::transcript) results again before it makes [shares](decryption_shares) of them,
//! and compares [transcripts](Known) with the other parties. [`Ledger`]s keep what it has encrypted
//! and shared. `folder` has the steps of a party on its files.

mod decryption;
#[cfg(not(target_family = "wasm"))]
pub mod folder;
mod fresh;
mod hex;
mod keys;
mod ledger;
mod params;
mod transcript;

pub use decryption::{Shared, decrypted, decryption_shares};
pub use keys::{combined_keys, key_shares, relinearisation_share, secret_shares, threshold_key};
pub use ledger::Ledger;
pub use params::params;
pub use transcript::{Computation, Known, Operand, Outline, Step, input_digest};

use crate::error::{Error, FileError, InFile, Result};
use crate::file_start::{AnyStart, read_start};
use crate::io::input::Input;
use crate::key_file::{not_a_key, write_frames};
use crate::note::{KeyId, KeyNote, Note, bad};
use crate::random;
use crate::scheme::{Rotations, Start};
use he::Device;
use he_core::Publisher;
use he_core::ckks::CkksParams;
use he_core::mhe::{PartyKey, Session, ThresholdKey};
use he_core::ring::Ring;
use he_core::rlwe::{KeyRequirements, SecretKey};
use he_core::wire::{Frame, FrameKind, FrameReader, Wire, WireParams, party_frame_limit};
use serde::{Deserialize, Serialize};
use std::io::{BufReader, Write};

/// The largest batch of a share of a decryption, which is that of an encrypted file.
const MAX_BATCH: usize = 64;

/// The agreement of the parties beside the session: the Galois keys that they make, and how results
/// are protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The Galois elements, in the order of the shares.
    elements: Vec<u64>,
    /// Bits of statistical security of all decryptions together.
    security_bits: u32,
    /// The vectors that will ever be decrypted.
    decryptions: u64,
}

impl Plan {
    /// For these rotations and decryptions.
    pub fn new(params: &CkksParams, rotations: &Rotations, security_bits: u32, decryptions: u64) -> Self {
        let elements = rotations.keys().galois_elements(params.rlwe().ring().log_n());
        let elements = elements.into_iter().filter(|&g| g != 1).collect();
        Self { elements, security_bits, decryptions }
    }

    /// A publisher that has not published anything.
    ///
    /// # Errors
    /// The numbers are out of range.
    pub fn publisher(&self) -> Result<Publisher> {
        Ok(Publisher::new(self.security_bits, self.decryptions)?)
    }

    fn requirements(&self) -> KeyRequirements {
        KeyRequirements::new().relinearisation().elements(self.elements.iter().copied())
    }
}

/// A session with its parameters and plan: the content of a session's file.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The parameters, with the noise of keys of so many parties.
    pub params: CkksParams,
    /// The session.
    pub session: Session,
    /// The keys that are made in it, and the protection of results.
    pub plan: Plan,
    /// The mark of its keys and files.
    pub id: KeyId,
}

impl Agreed {
    /// A session of parties 1, 2, ..., n with a fresh seed.
    ///
    /// # Errors
    /// Their number or the threshold is impossible; there are no random bytes.
    pub fn new(params: &CkksParams, parties: u32, threshold: usize, plan: Plan) -> Result<Self> {
        let mut seed = [0; 32];
        random::fill(&mut seed)?;
        Ok(Self::of(params, Session::new(params.rlwe(), 1..=parties, threshold, seed)?, plan))
    }

    fn of(params: &CkksParams, session: Session, plan: Plan) -> Self {
        let id = KeyId::of(session.key_set());
        Self { params: params.for_parties(session.parties().len()), session, plan, id }
    }

    /// Reads a session's file.
    ///
    /// # Errors
    /// It is another file, or damaged.
    pub fn read(input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        let (params, id, frames) = read_frames(input)?;
        let [session, plan] = frames.as_slice() else {
            return Err(other_file(&name, "a session", &frames));
        };
        let session = Session::from_frame(&params, (), session).in_file(&name)?;
        if plan.kind != FrameKind::Attachment {
            return Err(other_file(&name, "a session", &frames));
        }
        let plan: Plan =
            serde_json::from_slice(&plan.body).map_err(|_| bad("plan")).map_err(|e| e.in_file_of(&name))?;
        plan.publisher().map_err(|error| error.in_file_of(&name))?;
        let agreed = Self::of(&params, session, plan);
        if agreed.id != id {
            return Err(bad("key id").in_file_of(&name));
        }
        Ok(agreed)
    }

    /// Writes it; returns the bytes.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, out: impl Write, name: &str) -> Result<u64> {
        let plan = serde_json::to_vec(&self.plan).map_err(|_| bad("plan"))?;
        let plan = Frame::attachment(self.params.fingerprint(), plan)?;
        self.write_frames(out, vec![self.session.to_frame(&self.params)?, plan], name)
    }

    /// Writes a file of this session; returns the bytes.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write_frames(&self, out: impl Write, frames: Vec<Frame>, name: &str) -> Result<u64> {
        let note = KeyNote::of(&self.id);
        write_frames(out, &self.params.to_frame(), &note, frames.into_iter().map(Ok), name)
    }

    /// The ring, on the CPU, where parties compute.
    ///
    /// # Errors
    /// None in practice.
    pub fn ring(&self) -> Result<Ring<Device>> {
        Ok(Ring::new(Device::cpu(), self.params.rlwe().ring().clone())?)
    }

    /// The parties of a quorum: those that were named, or all if all are needed.
    ///
    /// # Errors
    /// Too few were named, or some twice, or others than parties.
    pub fn quorum(&self, named: &[u32]) -> Result<Vec<u32>> {
        let (all, threshold) = (self.session.parties(), self.session.threshold());
        match named {
            [] if threshold == all.len() => Ok(all.to_vec()),
            named => Ok(self.session.quorum(named)?),
        }
    }

    /// The frames of a file of this session.
    ///
    /// # Errors
    /// It is another file, damaged, or of another session.
    pub fn frames(&self, input: Input) -> Result<Named> {
        let name = input.name().to_owned();
        let (params, id, frames) = read_frames(input)?;
        if params != self.params || id != self.id {
            let (found, expected) = (id.short().to_owned(), self.id.short().to_owned());
            return Err(FileError::OtherSession { name, found, expected }.into());
        }
        Ok(Named { name, frames })
    }

    /// The secret of a party from its file.
    ///
    /// # Errors
    /// It is another file, damaged, or of another session.
    pub fn party_key(&self, input: Input) -> Result<PartyKey> {
        let file = self.frames(input)?;
        match file.frames.as_slice() {
            [key] if key.kind == FrameKind::PartyKey => {
                PartyKey::from_frame(&self.params, &self.session, key).in_file(&file.name)
            }
            frames => Err(other_file(&file.name, "the secret of a party", frames)),
        }
    }

    /// The threshold key of a party from its file.
    ///
    /// # Errors
    /// It is another file, damaged, or of another session.
    pub fn threshold_key(&self, ring: &Ring<Device>, input: Input) -> Result<ThresholdKey<Device>> {
        let file = self.frames(input)?;
        match file.frames.as_slice() {
            [key] if key.kind == FrameKind::ThresholdKey => {
                ThresholdKey::from_frame(&self.params, (&self.session, ring), key).in_file(&file.name)
            }
            frames => Err(other_file(&file.name, "a threshold key", frames)),
        }
    }

    /// A fresh secret of a party.
    ///
    /// # Errors
    /// The session has no such party.
    pub fn new_party(&self, party: u32, rng: &mut rand::rngs::ChaCha20Rng) -> Result<PartyKey> {
        let secret = SecretKey::generate(self.session.params(), rng);
        Ok(PartyKey::from_secret(&self.session, party, secret)?)
    }
}

/// The frames of a file behind parameters and key set, and its name in errors.
pub struct Named {
    /// The name.
    pub name: String,
    /// The frames.
    pub frames: Vec<Frame>,
}

/// A file that holds something else than what is needed.
fn other_file(name: &str, needed: &str, frames: &[Frame]) -> Error {
    let found = frames.first().map_or_else(|| "nothing".to_owned(), |frame| format!("a {}", frame.kind));
    FileError::NotOfParties { name: name.to_owned(), found, needed: needed.to_owned() }.into()
}

/// Parameters, key set and the frames behind them.
fn read_frames(input: Input) -> Result<(CkksParams, KeyId, Vec<Frame>)> {
    let name = input.name().to_owned();
    let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
    let (params, id) = match read_start(&mut reader, &name)? {
        AnyStart::Scheme(Start::Ckks((params, Note::Key(note)))) => (params, note.key_id),
        _ => return Err(not_a_key(&name)),
    };
    let limit = |kind, _| match kind {
        FrameKind::Attachment => Frame::MAX_ATTACHMENT,
        kind => party_frame_limit(&params, kind, MAX_BATCH),
    };
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame(limit).in_file(&name)? {
        frames.push(frame);
    }
    Ok((params, id, frames))
}
