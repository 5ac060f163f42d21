//! Several parties, each with files of its own: the session that all of them have, secrets, shares
//! for the others, and the keys and results that shares are combined into. The schemes are CKKS,
//! BFV and BGV ([`Shared`]); the keys are files like those of [`key_set`](crate::key_set).
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
mod scheme;
#[cfg(not(target_family = "wasm"))]
mod steps;

/// Calls a function with the start of a file of a scheme under which parties decrypt together, and
/// with that scheme as a type.
macro_rules! on_shared {
    ($start:expr, $other:expr, $scheme:ident, $value:ident => $call:expr) => {
        match $start {
            $crate::scheme::Start::Ckks($value) => {
                type $scheme = $crate::scheme::Ckks;
                $call
            }
            $crate::scheme::Start::Bfv($value) => {
                type $scheme = he_core::bfv::Bfv;
                $call
            }
            $crate::scheme::Start::Bgv($value) => {
                type $scheme = he_core::bgv::Bgv;
                $call
            }
            $crate::scheme::Start::BigCkks(_) => $other,
        }
    };
}

mod transcript;

pub use decryption::{Decrypting, decrypted, decryption_shares};
pub use keys::{combined_keys, key_shares, relinearisation_share, secret_shares, threshold_key};
pub use ledger::Ledger;
pub use params::{Needs, integer_params, real_params};
pub use scheme::Shared;
pub use transcript::{Computation, Known, Operand, Outline, Step, input_digest};

use crate::error::{Error, FileError, InFile, Result};
use crate::file_start::{AnyStart, FileStart, read_start};
use crate::io::input::Input;
use crate::key_file::{not_a_key, write_frames};
use crate::note::{KeyId, KeyNote, Note, bad};
use crate::random;
use crate::scheme::{Ckks, Rotations, Scheme, Start};
use he::Device;
use he_core::Publisher;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::mhe::{PartyKey, Session, ThresholdKey};
use he_core::ring::Ring;
use he_core::rlwe::{KeyRequirements, SecretKey};
use he_core::wire::{Frame, FrameKind, FrameReader, SchemeParams, Wire, WireParams, party_frame_limit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    pub fn new(
        params: &impl SchemeParams,
        rotations: &Rotations,
        security_bits: u32,
        decryptions: u64,
    ) -> Self {
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
pub struct Agreed<S: Shared> {
    /// The parameters, with the noise of keys of so many parties.
    pub params: S::Params,
    /// The session.
    pub session: Session,
    /// The keys that are made in it, and the protection of results.
    pub plan: Plan,
    /// The mark of its keys and files.
    pub id: KeyId,
    /// The ring, on the CPU, where parties compute.
    pub ring: Ring<Device>,
}

impl<S: Shared> Agreed<S> {
    /// A session of parties 1, 2, ..., n with a fresh seed.
    ///
    /// # Errors
    /// Their number or the threshold is impossible; there are no random bytes.
    pub fn new(params: &S::Params, parties: u32, threshold: usize, plan: Plan) -> Result<Self> {
        let mut seed = [0; 32];
        random::fill(&mut seed)?;
        Self::of(params, Session::new(params.rlwe(), 1..=parties, threshold, seed)?, plan)
    }

    fn of(params: &S::Params, session: Session, plan: Plan) -> Result<Self> {
        let (id, parties) = (KeyId::of(session.key_set()), session.parties().len());
        let ring = Ring::new(Device::cpu(), params.rlwe().ring().clone())?;
        Ok(Self { params: S::of_parties(params, parties), session, plan, id, ring })
    }

    /// Reads a session's file.
    ///
    /// # Errors
    /// It is another file, or damaged.
    pub fn read(input: Input) -> Result<Self> {
        let (opened, start) = Opened::new(input)?;
        match <S as Scheme>::take(start) {
            Some(start) => Self::of_file(opened, start),
            None => Err(not_a_key(&opened.name)),
        }
    }

    fn of_file(opened: Opened, (params, note): FileStart<S>) -> Result<Self> {
        let id = opened.id(&note)?;
        let Named { name, frames } = opened.frames(&params)?;
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
        let agreed = Self::of(&params, session, plan)?;
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

    /// The frames of a file of this session.
    ///
    /// # Errors
    /// It is another file, damaged, or of another session.
    pub fn frames(&self, input: Input) -> Result<Named> {
        let (opened, start) = Opened::new(input)?;
        let id = opened.id(start.note())?;
        match <S as Scheme>::take(start) {
            Some((params, _)) if params == self.params && id == self.id => opened.frames(&params),
            _ => {
                let (found, expected) = (id.short().to_owned(), self.id.short().to_owned());
                Err(FileError::OtherSession { name: opened.name, found, expected }.into())
            }
        }
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
    pub fn threshold_key(&self, input: Input) -> Result<ThresholdKey<Device>> {
        let file = self.frames(input)?;
        match file.frames.as_slice() {
            [key] if key.kind == FrameKind::ThresholdKey => {
                ThresholdKey::from_frame(&self.params, (&self.session, &self.ring), key).in_file(&file.name)
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

/// The beginning of a file of parties, and what is behind it.
struct Opened {
    reader: FrameReader<BufReader<Input>>,
    name: String,
}

impl Opened {
    /// Reads parameters and key set.
    fn new(input: Input) -> Result<(Self, Start)> {
        let name = input.name().to_owned();
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        match read_start(&mut reader, &name)? {
            AnyStart::Scheme(start) => Ok((Self { reader, name }, start)),
            _ => Err(not_a_key(&name)),
        }
    }

    /// The key set.
    fn id(&self, note: &Note) -> Result<KeyId> {
        match note {
            Note::Key(note) => Ok(note.key_id.clone()),
            Note::Payload(_) => Err(not_a_key(&self.name)),
        }
    }

    /// All frames behind them.
    fn frames(self, params: &impl SchemeParams) -> Result<Named> {
        let Self { mut reader, name } = self;
        let limit = |kind, _| match kind {
            FrameKind::Attachment => Frame::MAX_ATTACHMENT,
            kind => party_frame_limit(params, kind, MAX_BATCH),
        };
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame(limit).in_file(&name)? {
            frames.push(frame);
        }
        Ok(Named { name, frames })
    }
}

/// A session of any of the schemes.
pub enum AnyAgreed {
    /// RNS-CKKS.
    Ckks(Agreed<Ckks>),
    /// BFV.
    Bfv(Agreed<Bfv>),
    /// BGV.
    Bgv(Agreed<Bgv>),
}

/// Calls a function that is generic over the scheme with what is in an [`AnyAgreed`].
macro_rules! on_agreed {
    ($any:expr, $agreed:ident => $call:expr) => {
        match $any {
            $crate::party::AnyAgreed::Ckks($agreed) => $call,
            $crate::party::AnyAgreed::Bfv($agreed) => $call,
            $crate::party::AnyAgreed::Bgv($agreed) => $call,
        }
    };
}
#[cfg(not(target_family = "wasm"))]
use on_agreed;

impl From<Agreed<Ckks>> for AnyAgreed {
    fn from(agreed: Agreed<Ckks>) -> Self {
        Self::Ckks(agreed)
    }
}

impl From<Agreed<Bfv>> for AnyAgreed {
    fn from(agreed: Agreed<Bfv>) -> Self {
        Self::Bfv(agreed)
    }
}

impl From<Agreed<Bgv>> for AnyAgreed {
    fn from(agreed: Agreed<Bgv>) -> Self {
        Self::Bgv(agreed)
    }
}

impl AnyAgreed {
    /// Reads a session's file.
    ///
    /// # Errors
    /// It is another file, or damaged.
    pub fn read(input: Input) -> Result<Self> {
        let (opened, start) = Opened::new(input)?;
        on_shared!(start, Err(not_a_key(&opened.name)), S, start => {
            Ok(Agreed::<S>::of_file(opened, start)?.into())
        })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        on_agreed!(self, agreed => &agreed.session)
    }

    /// The keys that are made in it, and the protection of results.
    pub fn plan(&self) -> &Plan {
        on_agreed!(self, agreed => &agreed.plan)
    }

    /// The mark of its keys and files.
    pub fn id(&self) -> &KeyId {
        on_agreed!(self, agreed => &agreed.id)
    }

    /// The parameters for programs.
    pub fn params_json(&self) -> Value {
        fn json<S: Shared>(agreed: &Agreed<S>) -> Value {
            <S as Scheme>::params_json(&agreed.params)
        }
        on_agreed!(self, agreed => json(agreed))
    }

    /// The parties of a quorum: those that were named, or all if all are needed.
    ///
    /// # Errors
    /// Too few were named, or some twice, or others than parties.
    pub fn quorum(&self, named: &[u32]) -> Result<Vec<u32>> {
        let (all, threshold) = (self.session().parties(), self.session().threshold());
        match named {
            [] if threshold == all.len() => Ok(all.to_vec()),
            named => Ok(self.session().quorum(named)?),
        }
    }
}
