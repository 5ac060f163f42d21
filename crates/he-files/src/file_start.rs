//! The beginning of files of frames: parameters, and what the file says of itself. Keys and
//! encrypted files of all schemes begin alike.

use crate::bootstrap::{self, AnyParams, Refreshing};
use crate::data::picture::Format;
use crate::data::picture::format::SNIFF_LEN;
use crate::error::{Error, FileError, InFile, KeyError, Result, Wanted, bad_params};
use crate::io::input::Input;
use crate::key_file::not_a_key;
use crate::note::{Content, Described, KeyId, KeyNote, Note, bad};
use crate::passphrase;
use crate::scheme::{Bfv, Bgv, BigCkks, Ckks, Scheme, Start};
use crate::tfhe::{self, Tfhe};
use crate::transcipher;
use he_core::aes::container::{self, UserKey};
use he_core::transcipher::SensorKey;
use he_core::wire::{Frame, FrameKind, FrameReader, WireParams, first_frame_limit};
use serde_json::Value;
use std::io::Read;

/// The properties of a scheme that reading and writing its files depend on, be it one over rings
/// ([`Scheme`]) or [`Tfhe`].
pub trait FileFormat: Sized {
    /// Its name, as in `keygen NAME`.
    const NAME: &'static str;
    /// Its parameters.
    type Params: WireParams + Clone + PartialEq;
    /// The description of the contents of its encrypted files.
    type Content: Described;

    /// The start of a file of this scheme, or `None` if it belongs to another.
    fn take(start: AnyStart) -> Option<FileStart<Self>>;
    /// Parameters from their frame.
    ///
    /// # Errors
    /// The frame is damaged, or the parameters are insecure.
    fn read_params(frame: &Frame) -> he_core::Result<Self::Params> {
        Self::Params::from_frame(frame)
    }
    /// The same parameters with the noise of keys that so many parties made together; `None` if no
    /// ciphertext states its noise.
    fn for_parties(params: &Self::Params, parties: usize) -> Option<Self::Params> {
        let _ = (params, parties);
        None
    }
    /// The parameters for programs.
    fn params_json(params: &Self::Params) -> Value;
    /// Checks that a description is of a content of this scheme, and holds possible numbers.
    ///
    /// # Errors
    /// Something in the description is impossible.
    fn check_content(params: &Self::Params, content: &Self::Content) -> Result<()>;
    /// Longest body of a frame of ciphertexts of this content; 0 for frames of other kinds.
    fn ciphertext_limit(params: &Self::Params, content: &Self::Content, kind: FrameKind) -> u64;
}

/// Parameters and description at the start of a file.
pub type FileStart<F> = (<F as FileFormat>::Params, Note<<F as FileFormat>::Content>);

impl<S: Scheme> FileFormat for S {
    const NAME: &'static str = <S as Scheme>::NAME;
    type Params = <S as Scheme>::Params;
    type Content = Content;

    fn take(start: AnyStart) -> Option<FileStart<Self>> {
        match start {
            AnyStart::Scheme(start) => <S as Scheme>::take(start),
            AnyStart::Tfhe(_) | AnyStart::Bootstrap(..) | AnyStart::Aes(_) | AnyStart::Sensor(_) => None,
        }
    }

    fn read_params(frame: &Frame) -> he_core::Result<Self::Params> {
        <S as Scheme>::read_params(frame)
    }

    fn for_parties(params: &Self::Params, parties: usize) -> Option<Self::Params> {
        <S as Scheme>::for_parties(params, parties)
    }

    fn params_json(params: &Self::Params) -> Value {
        <S as Scheme>::params_json(params)
    }

    fn check_content(params: &Self::Params, content: &Content) -> Result<()> {
        <S as Scheme>::check_content(params, content)
    }

    fn ciphertext_limit(params: &Self::Params, content: &Content, kind: FrameKind) -> u64 {
        let (whole, seeded) = S::CIPHERTEXTS;
        let known = kind == whole || Some(kind) == seeded;
        if known { params.ciphertext_frame_limit(content.batch()) } else { 0 }
    }
}

/// The beginning of a file of frames.
pub enum AnyStart {
    /// The parameters of a scheme, and the description behind them.
    Scheme(Start),
    /// The beginning of a file of TFHE.
    Tfhe(FileStart<Tfhe>),
    /// Parameters with bootstrapping, whose files hold their keys, and the key set.
    Bootstrap(AnyParams, KeyId),
    /// An AES key, which is the whole content.
    Aes(UserKey),
    /// A sensor key, likewise.
    Sensor(SensorKey),
}

impl AnyStart {
    /// The scheme of an encrypted file, or `None` if it is a key.
    pub fn encrypted_by(&self) -> Option<&'static str> {
        match self {
            Self::Scheme(start) => matches!(start.note(), Note::Payload(_)).then(|| start.scheme()),
            Self::Tfhe((_, note)) => matches!(note, Note::Payload(_)).then_some(tfhe::NAME),
            Self::Bootstrap(..) | Self::Aes(_) | Self::Sensor(_) => None,
        }
    }
}

/// Looks at the first bytes of what should be `needed`, a file of frames, and refuses what is
/// easily known to be something else.
///
/// # Errors
/// The file is empty, a picture, or a sealed key.
pub fn check_start(input: &mut Input, needed: &str, wanted: Wanted) -> Result<()> {
    let start = input.peek(SNIFF_LEN)?;
    let found = if start.is_empty() {
        "empty".to_owned()
    } else if passphrase::is_sealed(start) {
        "a sealed secret key".to_owned()
    } else if start.starts_with(&container::MAGIC) {
        "a file encrypted by AES".to_owned()
    } else if start.starts_with(&transcipher::MAGIC) {
        "a sensor file".to_owned()
    } else if let Some(format) = Format::sniff(start) {
        format!("a {} picture", format.name())
    } else {
        return Ok(());
    };
    Err(FileError::Kind { name: input.name().to_owned(), found, needed: needed.to_owned(), wanted }.into())
}

/// Reads the beginning of a file.
///
/// # Errors
/// The beginning is missing or damaged, or the parameters are insecure.
pub fn read_start<R: Read>(reader: &mut FrameReader<R>, name: &str) -> Result<AnyStart> {
    let first = reader.next_frame(|kind, _| first_frame_limit(kind)).in_file(name)?;
    let first = first.ok_or_else(|| no_params(name))?;
    Ok(AnyStart::Scheme(match first.kind {
        FrameKind::AesKey => {
            let key = UserKey::from_frame(&first).in_file(name)?;
            return end_of_key(reader, name).map(|()| AnyStart::Aes(key));
        }
        FrameKind::SensorKey => {
            let key = SensorKey::from_frame(&first).in_file(name)?;
            return end_of_key(reader, name).map(|()| AnyStart::Sensor(key));
        }
        FrameKind::CkksBootstrapParams => return bootstrapping(reader, &first, name, AnyParams::Ckks),
        FrameKind::BfvBootstrapParams => return bootstrapping(reader, &first, name, AnyParams::Bfv),
        FrameKind::BgvBootstrapParams => return bootstrapping(reader, &first, name, AnyParams::Bgv),
        FrameKind::TfheParams => return Ok(AnyStart::Tfhe(described::<Tfhe, R>(reader, &first, name)?)),
        FrameKind::CkksParams => Start::Ckks(described::<Ckks, R>(reader, &first, name)?),
        FrameKind::BfvParams => Start::Bfv(described::<Bfv, R>(reader, &first, name)?),
        FrameKind::BgvParams => Start::Bgv(described::<Bgv, R>(reader, &first, name)?),
        FrameKind::BigCkksParams => Start::BigCkks(described::<BigCkks, R>(reader, &first, name)?),
        _ => return Err(no_params(name)),
    }))
}

/// Checks that nothing follows the key of a file.
///
/// # Errors
/// Something does.
pub fn end_of_key<R: Read>(reader: &mut FrameReader<R>, name: &str) -> Result<()> {
    match reader.next_frame(|_, _| 0).in_file(name)? {
        None => Ok(()),
        Some(_) => Err(KeyError::Several { name: name.to_owned() }.into()),
    }
}

/// The parameters of the first frame, and the description that follows.
fn described<F: FileFormat, R: Read>(
    reader: &mut FrameReader<R>,
    first: &Frame,
    name: &str,
) -> Result<FileStart<F>> {
    let params = F::read_params(first).map_err(bad_params).in_file(name)?;
    let second = second_frame(reader, name)?;
    let check = |content: &F::Content| F::check_content(&params, content);
    let note = Note::checked(params.fingerprint(), &second, check).in_file(name)?;
    let parties = match &note {
        Note::Key(note) => note.parties,
        Note::Payload(_) => None,
    };
    let Some(parties) = parties else { return Ok((params, note)) };
    let params = F::for_parties(&params, parties as usize).ok_or_else(|| bad("number of parties"));
    Ok((params.in_file(name)?, note))
}

/// The beginning of keys of bootstrapping, whose description names their key set.
fn bootstrapping<P: Refreshing, R: Read>(
    reader: &mut FrameReader<R>,
    first: &Frame,
    name: &str,
    any: impl FnOnce(P) -> AnyParams,
) -> Result<AnyStart> {
    let params: P = bootstrap::read_params(first).map_err(bad_params).in_file(name)?;
    let second = second_frame(reader, name)?;
    match Note::<Content>::checked(params.fingerprint(), &second, |_| Ok(())).in_file(name)? {
        Note::Key(KeyNote { key_id, sensor: None, parties: None }) => {
            Ok(AnyStart::Bootstrap(any(params), key_id))
        }
        _ => Err(not_a_key(name)),
    }
}

/// The frame of the description.
fn second_frame<R: Read>(reader: &mut FrameReader<R>, name: &str) -> Result<Frame> {
    let limit = |kind, _| if kind == FrameKind::Attachment { Frame::MAX_ATTACHMENT } else { 0 };
    reader.next_frame(limit).in_file(name)?.ok_or_else(|| no_params(name))
}

fn no_params(name: &str) -> Error {
    FileError::NoParams { name: name.to_owned() }.into()
}
