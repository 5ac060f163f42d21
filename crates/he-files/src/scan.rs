//! Files as they arrive: what they are is decided before a byte of them is passed on.
//!
//! A [`Scan`] takes a file in pieces of any size, from a network for example, and passes on what it
//! found harmless. It holds back the beginning of the file until the header of the first key or
//! ciphertext is known, and afterwards no more than the header of a frame, so that no byte of a
//! secret key leaves it. It checks which frames there are and how long they may be, not their
//! checksums: whoever reads the complete file does that.

use crate::error::{Error, FileError, InFile, KeyError, Result, Wanted};
use crate::file_start::{AnyStart, FileFormat, check_start, read_start};
use crate::io::input::Input;
use crate::key_file::{END_MARK, not_a_key};
use crate::note::Note;
use crate::tfhe::keys::BOOTSTRAP_KINDS;
use crate::{on_refreshing, on_rlwe, on_scheme};
use he_core::wire::{Frame, FrameHeader, FrameKind, FrameReader, WireError, WireParams, first_frame_limit};
use zeroize::Zeroizing;

/// The kind of key that may be passed on.
const NEEDED: &str = "an evaluation key";
/// The bytes behind the body of a frame.
const CHECKSUM: u64 = Frame::size(0) - FrameHeader::SIZE as u64;

/// The files that may be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// Keys that compute: evaluation keys of every scheme, and those of bootstrapping.
    EvaluationKeys,
    /// Encrypted files.
    Encrypted,
}

/// The longest body of a frame of each kind; 0 for kinds that may not follow.
type Limit = Box<dyn Fn(FrameKind) -> u64 + Send>;

enum State {
    /// Within the parameters and the description.
    Start,
    /// Within the frames behind them.
    Frames { limit: Limit, left: u64, last: bool },
}

/// A file on its way. See the module's description.
pub struct Scan {
    name: String,
    scanned: Scanned,
    held: Zeroizing<Vec<u8>>,
    state: State,
}

impl Scan {
    /// Waits for the first byte of a file, which errors call `name`.
    pub fn new(name: impl Into<String>, scanned: Scanned) -> Self {
        let (held, state) = (Zeroizing::new(Vec::new()), State::Start);
        Self { name: name.into(), scanned, held, state }
    }

    /// Takes the next bytes, and gives those that were found harmless to `pass`, in order.
    ///
    /// # Errors
    /// It is another file than may be passed on, such as a secret key; it is not a file of this
    /// format, or damaged. Nothing that was held back is passed on then.
    pub fn push(&mut self, mut bytes: &[u8], mut pass: impl FnMut(&[u8])) -> Result<()> {
        if let State::Start = self.state {
            self.held.extend_from_slice(bytes);
            if self.look()? {
                let held = std::mem::take(&mut self.held);
                return self.push(&held, pass);
            }
            return Ok(());
        }
        while !bytes.is_empty() {
            let State::Frames { limit, left, last } = &mut self.state else { return Ok(()) };
            if *left > 0 {
                let count = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let (known, rest) = bytes.split_at(count);
                pass(known);
                *left -= count as u64;
                bytes = rest;
                continue;
            }
            if *last {
                return Err(WireError::Trailing).in_file(&self.name);
            }
            let missing = FrameHeader::SIZE - self.held.len();
            let (part, rest) = bytes.split_at(missing.min(bytes.len()));
            self.held.extend_from_slice(part);
            bytes = rest;
            let Some(header) = self.held.first_chunk() else { continue };
            let header = FrameHeader::parse(header).in_file(&self.name)?;
            let (kind, found) = (header.kind, header.length);
            let expected = if kind == FrameKind::End { END_MARK } else { limit(kind) };
            if expected == 0 || found > expected {
                return Err(refused(&self.name, self.scanned, kind, found, expected));
            }
            (*left, *last) = (found + CHECKSUM, kind == FrameKind::End);
            pass(&self.held);
            self.held.clear();
        }
        Ok(())
    }

    /// The next bytes whose values do not matter: after [`pass_over`](Self::pass_over) of as many,
    /// the scan of a file that was passed on goes on as if they had been pushed.
    pub fn indifferent(&self) -> u64 {
        match self.state {
            State::Start => 0,
            State::Frames { left, .. } => left,
        }
    }

    /// Skips bytes, at most as many as are [`indifferent`](Self::indifferent).
    pub fn pass_over(&mut self, count: u64) {
        if let State::Frames { left, .. } = &mut self.state {
            *left = left.saturating_sub(count);
        }
    }

    /// The bytes that were taken and not passed on yet.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Says that the file has ended.
    ///
    /// # Errors
    /// It has ended too early.
    pub fn end(&mut self) -> Result<()> {
        match &self.state {
            State::Frames { left: 0, last: true, .. } => Ok(()),
            State::Start => {
                self.check_start()?;
                read_start(&mut FrameReader::new(&self.held[..]), &self.name)?;
                Err(WireError::Truncated).in_file(&self.name)
            }
            State::Frames { .. } => Err(WireError::Truncated).in_file(&self.name),
        }
    }

    /// Refuses what is easily known to be something else.
    fn check_start(&self) -> Result<()> {
        let (needed, wanted) = match self.scanned {
            Scanned::EvaluationKeys => (NEEDED, Wanted::Key),
            Scanned::Encrypted => ("an encrypted file", Wanted::Encrypted),
        };
        let start = self.held[..self.held.len().min(FrameHeader::SIZE)].to_vec();
        check_start(&mut Input::from_bytes(&self.name, start), needed, wanted)
    }

    /// Looks at the beginning. Whether enough of it has arrived.
    fn look(&mut self) -> Result<bool> {
        if self.held.len() < FrameHeader::SIZE {
            return Ok(false);
        }
        self.check_start()?;
        let (name, mut at, mut third) = (&self.name, 0usize, (FrameKind::End, 0));
        // Parameters are decoded, which takes time, once all of them have arrived; frames that are
        // none, or too long, are refused at once, by the same reader.
        for place in 0..3 {
            let Some(header) = self.held.get(at..).and_then(|rest| rest.first_chunk()) else {
                return Ok(false);
            };
            let FrameHeader { kind, length, .. } = FrameHeader::parse(header).in_file(name)?;
            let most = match place {
                0 if !of_aes(kind) => first_frame_limit(kind),
                1 if kind == FrameKind::Attachment => Frame::MAX_ATTACHMENT,
                2 => {
                    third = (kind, length);
                    break;
                }
                _ => 0,
            };
            if of_aes(kind) {
                return Err(refused(name, self.scanned, kind, length, 0));
            }
            if length > most {
                read_start(&mut FrameReader::new(&self.held[..]), name)?;
                return Err(refused(name, self.scanned, kind, length, most));
            }
            at += Frame::size(length) as usize;
        }
        let start = read_start(&mut FrameReader::new(&self.held[..]), name)?;
        let limit = match self.scanned {
            Scanned::EvaluationKeys => keys(start, name)?,
            Scanned::Encrypted => ciphertexts(start, name)?,
        };
        let (kind, found) = third;
        let expected = if kind == FrameKind::End { END_MARK } else { limit(kind) };
        if expected == 0 || found > expected {
            return Err(refused(name, self.scanned, kind, found, expected));
        }
        self.state = State::Frames { limit, left: at as u64, last: false };
        Ok(true)
    }
}

/// Whether it is the one frame of a file of an AES key.
fn of_aes(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::AesKey | FrameKind::SensorKey)
}

/// A frame that may not follow, or is too long.
fn refused(name: &str, scanned: Scanned, kind: FrameKind, found: u64, expected: u64) -> Error {
    let (name, needed) = (name.to_owned(), NEEDED.to_owned());
    let named = match kind {
        FrameKind::SecretKey | FrameKind::BigCkksSecretKey | FrameKind::TfheSecretKey => Some("a secret key"),
        kind if of_aes(kind) => Some("a secret key"),
        FrameKind::PublicKey
        | FrameKind::UnseededPublicKey
        | FrameKind::BigCkksPublicKey
        | FrameKind::TfhePublicKey => Some("a public key"),
        _ => None,
    };
    match (scanned, named) {
        (Scanned::EvaluationKeys, Some(found)) => KeyError::Kind { name, found, needed }.into(),
        (Scanned::Encrypted, Some(_)) => FileError::IsKey { name }.into(),
        (Scanned::EvaluationKeys, None) if expected == 0 => not_a_key(&name),
        _ => Error::from(WireError::Length { kind, found, expected }).in_file_of(&name),
    }
}

/// The frames of keys that compute.
fn keys(start: AnyStart, name: &str) -> Result<Limit> {
    if start.encrypted_by().is_some() {
        return Err(KeyError::Encrypted { name: name.to_owned(), needed: NEEDED.to_owned() }.into());
    }
    fn limit(params: impl WireParams + Send + 'static, kinds: &'static [FrameKind]) -> Limit {
        Box::new(move |kind| if kinds.contains(&kind) { params.key_frame_limit(kind) } else { 0 })
    }
    const RLWE: &[FrameKind] = &[
        FrameKind::RelinKey,
        FrameKind::GaloisKey,
        FrameKind::UnseededRelinKey,
        FrameKind::UnseededGaloisKey,
    ];
    Ok(match start {
        AnyStart::Scheme(start) => on_rlwe!(
            start,
            start => limit(start.0, RLWE),
            bigckks (params, _) => limit(params, &[FrameKind::BigCkksSwitchKey])
        ),
        AnyStart::Tfhe((params, _)) => {
            const TFHE: [FrameKind; 3] = [BOOTSTRAP_KINDS[0], BOOTSTRAP_KINDS[1], FrameKind::TfheCircuitKey];
            limit(params, &TFHE)
        }
        AnyStart::Bootstrap(params, _) => on_refreshing!(params, params => {
            limit(params, &[FrameKind::CkksSparseKey, FrameKind::CkksBootstrapKey])
        }),
        AnyStart::Aes(_) | AnyStart::Sensor(_) => {
            return Err(KeyError::OfAes { name: name.to_owned(), needed: NEEDED.to_owned() }.into());
        }
    })
}

/// The frames of ciphertexts.
fn ciphertexts(start: AnyStart, name: &str) -> Result<Limit> {
    fn limit<F: FileFormat>((params, note): (F::Params, Note<F::Content>), name: &str) -> Result<Limit>
    where
        F::Params: Send + 'static,
        F::Content: Send + 'static,
    {
        match note {
            Note::Payload(payload) => {
                Ok(Box::new(move |kind| F::ciphertext_limit(&params, &payload.content, kind)))
            }
            Note::Key(_) => Err(FileError::IsKey { name: name.to_owned() }.into()),
        }
    }
    match start {
        AnyStart::Scheme(start) => on_scheme!(start, S, start => limit::<S>(start, name)),
        AnyStart::Tfhe(start) => limit::<crate::tfhe::Tfhe>(start, name),
        AnyStart::Bootstrap(..) | AnyStart::Aes(_) | AnyStart::Sensor(_) => {
            Err(FileError::IsKey { name: name.to_owned() }.into())
        }
    }
}
