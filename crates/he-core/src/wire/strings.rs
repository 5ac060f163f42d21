//! Objects as byte strings: `to_bytes` and `from_bytes`.
//!
//! Like a file, a byte string is a sequence of frames: the identity of the key set if it is known
//! ([`FrameKind::KeySet`]), the frames of one object, and the end mark.

use super::tfhe::WireMasks;
use super::{
    Frame, FrameKind, FrameReader, FrameWriter, SchemeParams, SwitchKeyUse, Wire, WireError, WireKeys,
    WireParams, WireScheme,
};
use crate::KeySetId;
use crate::aes::container::UserKey;
use crate::backend::{RingOps, WideOps};
use crate::bigckks::{self, BigCkksParams};
use crate::bootstrapping::BootstrapParams;
use crate::ckks::{self, CkksParams};
use crate::error::Result;
use crate::exact::{self, Params};
use crate::ring::Ring;
use crate::rlwe::{EvaluationKeys, Fingerprint, PublicKey, SecretKey};
use crate::tfhe::{
    BootstrapKey, CircuitKey, CompactPublicKey, EncryptedBits, EncryptedFlags, EncryptedUint, FreshBits,
    FreshFlags, FreshInteger, LweOps, Signedness, TfheParams, TfheSecretKey,
};
use crate::transcipher::{EncryptedAesKey, SensorKey};
use zeroize::Zeroizing;

/// The bytes of the end mark's body.
const END: u64 = 40;

impl KeySetId {
    /// The identity as a frame of parameters of this fingerprint.
    pub fn to_frame(self, params: Fingerprint) -> Frame {
        Frame { kind: FrameKind::KeySet, fingerprint: params, body: self.to_bytes().to_vec() }
    }

    /// The identity from [`to_frame`](Self::to_frame).
    ///
    /// # Errors
    /// [`WireError::UnexpectedKind`], [`WireError::WrongParams`], [`WireError::Length`].
    pub fn from_frame(params: Fingerprint, frame: &Frame) -> Result<Self, WireError> {
        frame.expect(FrameKind::KeySet, params)?;
        let (found, expected) = (frame.body.len() as u64, Self::LEN as u64);
        let wrong = WireError::Length { kind: frame.kind, found, expected };
        Ok(Self::from_bytes(frame.body.as_slice().try_into().map_err(|_| wrong)?))
    }
}

/// Writes the frames of parameters with this fingerprint, after the key set.
fn write(
    fingerprint: Fingerprint,
    key_set: Option<KeySetId>,
    frames: impl IntoIterator<Item = Result<Frame>>,
) -> Result<Vec<u8>> {
    let mut writer = FrameWriter::new(Vec::new());
    if let Some(key_set) = key_set {
        writer.write(&key_set.to_frame(fingerprint))?;
    }
    for frame in frames {
        writer.write(&frame?)?;
    }
    Ok(writer.finish(fingerprint)?)
}

/// Writes a secret key, in memory of the full size at once, because a growing vector leaves copies
/// behind.
fn write_secret(key_set: Option<KeySetId>, frame: &Frame) -> Result<Zeroizing<Vec<u8>>> {
    let lengths = [KeySetId::LEN as u64, frame.body.len() as u64, END];
    let size: u64 = lengths.into_iter().map(Frame::size).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(size as usize));
    let mut writer = FrameWriter::new(&mut *bytes);
    if let Some(key_set) = key_set {
        writer.write(&key_set.to_frame(frame.fingerprint))?;
    }
    writer.write(frame)?;
    writer.finish(frame.fingerprint)?;
    Ok(bytes)
}

/// Passes every frame to `take` except that of the key set, which is returned. No body may be
/// longer than the remaining bytes.
fn read(
    bytes: &[u8],
    params: Fingerprint,
    mut take: impl FnMut(Frame) -> Result<()>,
) -> Result<Option<KeySetId>> {
    let mut reader = FrameReader::new(bytes);
    let (mut key_set, mut first) = (None, true);
    let all = bytes.len() as u64;
    // A body that is longer than everything was cut off.
    let cut = |error| match error {
        WireError::Length { found, .. } if found > all => WireError::Truncated,
        error => error,
    };
    while let Some(frame) = reader.next_frame(|_, _| all).map_err(cut)? {
        if first && frame.kind == FrameKind::KeySet {
            key_set = Some(KeySetId::from_frame(params, &frame)?);
        } else {
            take(frame)?;
        }
        first = false;
    }
    // Without frames before it, the end mark alone says what it belongs to.
    let found = fingerprint_of_first(bytes);
    if first && found != params {
        let (found, expected) = (found.to_string(), params.to_string());
        return Err(WireError::WrongParams { kind: FrameKind::End, found, expected }.into());
    }
    Ok(key_set)
}

/// The only frame besides the key set.
fn read_one(bytes: &[u8], params: Fingerprint) -> Result<(Frame, Option<KeySetId>)> {
    let mut only = None;
    let key_set = read(bytes, params, |frame| match only.replace(frame) {
        None => Ok(()),
        Some(_) => Err(WireError::Sequence.into()),
    })?;
    Ok((only.ok_or(WireError::Sequence)?, key_set))
}

/// The only frame of an object that belongs to no key set.
fn read_alone(bytes: &[u8]) -> Result<Frame> {
    let (frame, key_set) = read_one(bytes, fingerprint_of_first(bytes))?;
    if key_set.is_some() { Err(WireError::Sequence.into()) } else { Ok(frame) }
}

/// The fingerprint in the first header, or zeros, for objects with a fingerprint of their own.
fn fingerprint_of_first(bytes: &[u8]) -> Fingerprint {
    Fingerprint(bytes.get(8..40).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default())
}

/// Parameters.
macro_rules! params_as_bytes {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> $type {
            /// The parameters as bytes (`docs/format.md`), for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// None in practice.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                write(self.fingerprint(), None, [Ok(self.to_frame())])
            }

            /// Parameters from the bytes of [`to_bytes`](Self::to_bytes), of at least 128-bit
            /// security.
            ///
            /// # Errors
            /// [`Error::Wire`](crate::Error::Wire) for anything but the bytes of parameters of this
            /// scheme; [`Error::InvalidParams`](crate::Error::InvalidParams).
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                Self::from_frame(&read_alone(bytes)?)
            }

            /// Reads parameters of any security: for experiments and tests only.
            ///
            /// # Errors
            /// The same as for [`from_bytes`](Self::from_bytes).
            pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
                Self::from_frame_insecure(&read_alone(bytes)?)
            }
        }
    )*};
}

params_as_bytes! {
    [] CkksParams;
    [] BootstrapParams;
    [S: WireScheme] Params<S>;
    [S: WireScheme] exact::bootstrapping::BootstrapParams<S>;
    [] BigCkksParams;
    [] TfheParams;
}

/// Objects on a ring or a device, and fresh ciphertexts, which lie on the host: one frame.
macro_rules! objects_as_bytes {
    ($([$($generics:tt)*] $type:ty, $params:ty $(, $place:ident: $of:ty)?;)*) => {$(
        impl<$($generics)*> $type {
            /// The object as bytes (`docs/format.md`), with the identity of its key set if that is
            /// known, for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// Mismatch of ring or parameters; [`Error::Argument`](crate::Error::Argument) for a
            /// batch of 2^32 and more; device errors.
            pub fn to_bytes(&self, params: &$params) -> Result<Vec<u8>> {
                write(params.fingerprint(), self.key_set(), [self.to_frame(params)])
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is
            /// a small multiple of the bytes given.
            ///
            /// # Errors
            /// [`Error::Wire`](crate::Error::Wire) for anything but the bytes of such an object of
            /// these parameters; [`Error::RingMismatch`](crate::Error::RingMismatch); device
            /// errors.
            pub fn from_bytes(params: &$params $(, $place: $of)?, bytes: &[u8]) -> Result<Self> {
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut object = Self::from_frame(params, objects_as_bytes!(@ $($place)?), &frame)?;
                object.set_key_set(key_set);
                Ok(object)
            }
        }
    )*};
    (@ $place:ident) => { $place };
    (@) => { () };
}

objects_as_bytes! {
    [B: RingOps] PublicKey<B>, impl SchemeParams, ring: &Ring<B>;
    [B: RingOps] ckks::Ciphertext<B>, CkksParams, ring: &Ring<B>;
    [B: RingOps] ckks::SeededCiphertext<B>, CkksParams, ring: &Ring<B>;
    [S: WireScheme, B: RingOps] exact::Ciphertext<S, B>, Params<S>, ring: &Ring<B>;
    [S: WireScheme, B: RingOps] exact::SeededCiphertext<S, B>, Params<S>, ring: &Ring<B>;
    [B: WideOps] bigckks::PublicKey<B>, BigCkksParams, ring: &Ring<B>;
    [B: WideOps] bigckks::Ciphertext<B>, BigCkksParams, ring: &Ring<B>;
    [B: LweOps] EncryptedBits<B>, TfheParams, backend: &B;
    [B: LweOps] EncryptedUint<B>, TfheParams, backend: &B;
    [B: LweOps] EncryptedFlags<B>, TfheParams, backend: &B;
    [M: WireMasks] FreshBits<M>, TfheParams;
    [M: WireMasks, S: Signedness] FreshInteger<M, S>, TfheParams;
    [M: WireMasks] FreshFlags<M>, TfheParams;
    [] CompactPublicKey, TfheParams;
    [] BootstrapKey, TfheParams;
    [] CircuitKey, TfheParams;
    [] EncryptedAesKey, TfheParams;
}

/// Secret keys.
macro_rules! secrets_as_bytes {
    ($($type:ty, $params:ty;)*) => {$(
        impl $type {
            /// **The secret** as bytes (`docs/format.md`), wiped when dropped, with the identity of
            /// its key set, for [`from_bytes`](Self::from_bytes). Constant time.
            ///
            /// # Errors
            /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch).
            pub fn to_bytes(&self, params: &$params) -> Result<Zeroizing<Vec<u8>>> {
                write_secret(Some(self.key_set()), &self.to_frame(params)?)
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Constant
            /// time for valid keys.
            ///
            /// # Errors
            /// [`Error::Wire`](crate::Error::Wire) for anything but the bytes of a secret key of
            /// these parameters.
            pub fn from_bytes(params: &$params, bytes: &[u8]) -> Result<Self> {
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut key = Self::from_frame(params, (), &frame)?;
                key_set.into_iter().for_each(|key_set| key.set_key_set(key_set));
                Ok(key)
            }
        }
    )*};
}

secrets_as_bytes! {
    SecretKey, impl SchemeParams;
    bigckks::SecretKey, BigCkksParams;
    TfheSecretKey, TfheParams;
}

/// Evaluation keys: frames in the order of [`SwitchKeyUse`], so that there is one way to write a
/// set of keys, and none twice in it.
macro_rules! keys_as_bytes {
    ($([$($generics:tt)*] $type:ty, $params:ty;)*) => {$(
        impl<$($generics)*> $type {
            /// All keys as bytes (`docs/format.md`), with the identity of their key set if that is
            /// known, for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch); device errors.
            pub fn to_bytes(&self, params: &$params) -> Result<Vec<u8>> {
                write(params.fingerprint(), self.key_set(), self.to_frames(params))
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is
            /// a small multiple of the bytes given.
            ///
            /// # Errors
            /// [`Error::Wire`](crate::Error::Wire) for anything but the bytes of evaluation keys of
            /// these parameters; [`Error::RingMismatch`](crate::Error::RingMismatch); device
            /// errors.
            pub fn from_bytes(params: &$params, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
                let mut keys: Self = WireKeys::empty(params, ring)?;
                let mut last: Option<SwitchKeyUse> = None;
                let key_set = read(bytes, params.fingerprint(), |frame| {
                    let purpose = keys.insert_frame(params, &frame)?;
                    if last.replace(purpose) >= Some(purpose) {
                        return Err(WireError::Sequence.into());
                    }
                    Ok(())
                })?;
                keys.set_key_set(key_set);
                Ok(keys)
            }
        }
    )*};
}

keys_as_bytes! {
    [B: RingOps] EvaluationKeys<B>, impl SchemeParams;
    [B: WideOps] bigckks::EvaluationKeys<B>, BigCkksParams;
}

/// Keys of AES, which belong to no parameters.
macro_rules! aes_keys_as_bytes {
    ($($name:ident),+) => {$(
        impl $name {
            /// **The key** as bytes (`docs/format.md`: those of a key file), wiped when dropped,
            /// for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// None in practice.
            pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
                write_secret(None, &self.to_frame())
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes). Constant time for valid keys.
            ///
            /// # Errors
            /// [`Error::Wire`](crate::Error::Wire) for anything but the bytes of such a key.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                Self::from_frame(&read_alone(bytes)?)
            }
        }
    )+};
}

aes_keys_as_bytes! { UserKey, SensorKey }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::ckks::{CkksParams, CkksSpec};
    use crate::error::Error;

    /// Keys may be none at all, and belong to their parameters even so.
    #[test]
    fn an_end_mark_alone_is_of_these_parameters() {
        let params =
            |bits| CkksParams::insecure(CkksSpec::from_bits(4, &[bits], &[41], 20.0).unwrap()).unwrap();
        let (params, others) = (params(40), params(39));
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let bytes = EvaluationKeys::empty(params.rlwe(), &ring).unwrap().to_bytes(&params).unwrap();
        EvaluationKeys::from_bytes(&params, &ring, &bytes).unwrap();
        let foreign = write(others.fingerprint(), None, []).unwrap();
        let error = EvaluationKeys::from_bytes(&params, &ring, &foreign).unwrap_err();
        assert!(matches!(error, Error::Wire(WireError::WrongParams { kind: FrameKind::End, .. })), "{error}");
    }
}
