//! Objects as byte strings: `to_bytes` and `from_bytes`.
//!
//! A byte string is a sequence of frames as a file is: the identity of the key set where it is
//! known ([`FrameKind::KeySet`]), the frames of one object, and the end mark.

use super::{
    Frame, FrameKind, FrameReader, FrameWriter, SchemeParams, WireError, bigckks, decode_aes_key,
    decode_ciphertext, decode_exact_ciphertext, decode_exact_params, decode_exact_params_insecure,
    decode_exact_seeded_ciphertext, decode_galois_key, decode_params, decode_params_insecure,
    decode_public_key, decode_relin_key, decode_secret_key, decode_seeded_ciphertext, encode_aes_key,
    encode_ciphertext, encode_exact_ciphertext, encode_exact_params, encode_exact_seeded_ciphertext,
    encode_galois_key, encode_params, encode_public_key, encode_relin_key, encode_secret_key,
    encode_seeded_ciphertext, tfhe,
};
use crate::KeySetId;
use crate::aes::container::UserKey;
use crate::backend::{RingOps, WideOps};
use crate::bigckks::BigCkksParams;
use crate::ckks::{self, CkksParams};
use crate::error::{Error, Result};
use crate::exact::{self, Params, Scheme};
use crate::ring::{Ring, RingSpec};
use crate::rlwe::{EvaluationKeys, Fingerprint, PublicKey, SecretKey};
use crate::tfhe::{
    BootstrapKey, EncryptedBits, EncryptedFlags, EncryptedUint, LweOps, SeededBits, SeededFlags, SeededUint,
    TfheParams, TfheSecretKey,
};
use bigckks::SwitchKeyUse;
use zeroize::Zeroizing;

/// Bytes of the end mark's body.
const END: u64 = 40;

/// The identity of a key set as a frame.
pub fn encode_key_set(params: Fingerprint, key_set: KeySetId) -> Frame {
    Frame { kind: FrameKind::KeySet, fingerprint: params, body: key_set.to_bytes().to_vec() }
}

/// The identity of a key set.
///
/// # Errors
/// [`WireError::UnexpectedKind`], [`WireError::WrongParams`], [`WireError::Length`].
pub fn decode_key_set(params: Fingerprint, frame: &Frame) -> Result<KeySetId, WireError> {
    frame.expect(FrameKind::KeySet, params)?;
    let (found, expected) = (frame.body.len() as u64, KeySetId::LEN as u64);
    let wrong = WireError::Length { kind: frame.kind, found, expected };
    Ok(KeySetId::from_bytes(frame.body.as_slice().try_into().map_err(|_| wrong)?))
}

/// Frames of parameters of this fingerprint, after the key set.
fn write(
    fingerprint: Fingerprint,
    key_set: Option<KeySetId>,
    frames: impl IntoIterator<Item = Result<Frame>>,
) -> Result<Vec<u8>> {
    let mut writer = FrameWriter::new(Vec::new());
    if let Some(key_set) = key_set {
        writer.write(&encode_key_set(fingerprint, key_set))?;
    }
    for frame in frames {
        writer.write(&frame?)?;
    }
    Ok(writer.finish(fingerprint)?)
}

/// The same of a secret key, in memory of the right size at once: a growing vector leaves copies
/// behind.
fn write_secret(key_set: Option<KeySetId>, frame: &Frame) -> Result<Zeroizing<Vec<u8>>> {
    let lengths = [KeySetId::LEN as u64, frame.body.len() as u64, END];
    let size: u64 = lengths.into_iter().map(Frame::size).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(size as usize));
    let mut writer = FrameWriter::new(&mut *bytes);
    if let Some(key_set) = key_set {
        writer.write(&encode_key_set(frame.fingerprint, key_set))?;
    }
    writer.write(frame)?;
    writer.finish(frame.fingerprint)?;
    Ok(bytes)
}

/// Gives `take` every frame but that of the key set, which is returned. No body is longer than the
/// bytes that are there.
fn read(
    bytes: &[u8],
    params: Fingerprint,
    mut take: impl FnMut(Frame) -> Result<()>,
) -> Result<Option<KeySetId>> {
    let mut reader = FrameReader::new(bytes);
    let (mut key_set, mut first) = (None, true);
    let all = bytes.len() as u64;
    // A body that is longer than everything is one that was cut off.
    let cut = |error| match error {
        WireError::Length { found, .. } if found > all => WireError::Truncated,
        error => error,
    };
    while let Some(frame) = reader.next_frame(|_, _| all).map_err(cut)? {
        if first && frame.kind == FrameKind::KeySet {
            key_set = Some(decode_key_set(params, &frame)?);
        } else {
            take(frame)?;
        }
        first = false;
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

/// The only frame of what belongs to no key set.
fn read_alone(bytes: &[u8]) -> Result<Frame> {
    let (frame, key_set) = read_one(bytes, fingerprint_of_first(bytes))?;
    if key_set.is_some() { Err(WireError::Sequence.into()) } else { Ok(frame) }
}

/// The fingerprint in the first header, or zeros, for what brings its own.
fn fingerprint_of_first(bytes: &[u8]) -> Fingerprint {
    Fingerprint(bytes.get(8..40).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default())
}

fn check_ring<B: RingOps>(spec: &RingSpec, ring: &Ring<B>) -> Result<()> {
    if ring.spec() == spec { Ok(()) } else { Err(Error::RingMismatch) }
}

/// Parameters.
macro_rules! params_as_bytes {
    ($([$($generics:tt)*] $type:ty, $encode:path, $decode:path, $insecure:path;)*) => {$(
        impl<$($generics)*> $type {
            /// The parameters as bytes (`docs/format.md`), for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// None in practice.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                write(self.fingerprint(), None, [Ok($encode(self))])
            }

            /// Parameters from the bytes of [`to_bytes`](Self::to_bytes), of at least 128-bit
            /// security.
            ///
            /// # Errors
            /// [`Error::Wire`] for anything but the bytes of parameters of this scheme;
            /// [`Error::InvalidParams`].
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                $decode(&read_alone(bytes)?)
            }

            /// The same of any security: for experiments and tests only.
            ///
            /// # Errors
            /// As for [`from_bytes`](Self::from_bytes).
            pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
                $insecure(&read_alone(bytes)?)
            }
        }
    )*};
}

params_as_bytes! {
    [] CkksParams, encode_params, decode_params, decode_params_insecure;
    [S: Scheme] Params<S>, encode_exact_params, decode_exact_params, decode_exact_params_insecure;
    [] BigCkksParams, bigckks::encode_params, bigckks::decode_params, bigckks::decode_params_insecure;
    [] TfheParams, tfhe::encode_params, tfhe::decode_params, tfhe::decode_params_insecure;
}

/// What lies on a ring and takes one frame.
macro_rules! ring_objects_as_bytes {
    ($([$($generics:tt)*] $type:ty, $params:ty, $spec:expr, $encode:path, $decode:path;)*) => {$(
        impl<$($generics)*> $type {
            /// The object as bytes (`docs/format.md`), with the identity of its key set if that is
            /// known, for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// Mismatch of ring or parameters; device errors.
            pub fn to_bytes(&self, params: &$params) -> Result<Vec<u8>> {
                write(params.fingerprint(), self.key_set(), [$encode(params, self)])
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is
            /// a small multiple of the bytes given.
            ///
            /// # Errors
            /// [`Error::Wire`] for anything but the bytes of such an object of these parameters;
            /// [`Error::RingMismatch`]; device errors.
            pub fn from_bytes(params: &$params, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
                check_ring($spec(params), ring)?;
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut object = $decode(params, ring, &frame)?;
                object.set_key_set(key_set);
                Ok(object)
            }
        }
    )*};
}

fn scheme_ring(params: &impl SchemeParams) -> &RingSpec {
    params.rlwe().ring()
}

ring_objects_as_bytes! {
    [B: RingOps] PublicKey<B>, impl SchemeParams, scheme_ring, encode_public_key, decode_public_key;
    [B: RingOps] ckks::Ciphertext<B>, CkksParams, scheme_ring, encode_ciphertext, decode_ciphertext;
    [B: RingOps] ckks::SeededCiphertext<B>, CkksParams, scheme_ring, encode_seeded_ciphertext,
        decode_seeded_ciphertext;
    [S: Scheme, B: RingOps] exact::Ciphertext<S, B>, Params<S>, scheme_ring, encode_exact_ciphertext,
        decode_exact_ciphertext;
    [S: Scheme, B: RingOps] exact::SeededCiphertext<S, B>, Params<S>, scheme_ring,
        encode_exact_seeded_ciphertext, decode_exact_seeded_ciphertext;
    [B: WideOps] crate::bigckks::PublicKey<B>, BigCkksParams, BigCkksParams::ring,
        bigckks::encode_public_key, bigckks::decode_public_key;
    [B: WideOps] crate::bigckks::Ciphertext<B>, BigCkksParams, BigCkksParams::ring,
        bigckks::encode_ciphertext, bigckks::decode_ciphertext;
}

/// Secret keys of ring schemes.
macro_rules! secrets_as_bytes {
    ($($type:ty, $params:ty, $encode:path, $decode:path;)*) => {$(
        impl $type {
            /// **The secret** as bytes (`docs/format.md`), wiped when dropped, with the identity of
            /// its key set, for [`from_bytes`](Self::from_bytes). Constant time.
            ///
            /// # Errors
            /// [`Error::ParamsMismatch`].
            pub fn to_bytes(&self, params: &$params) -> Result<Zeroizing<Vec<u8>>> {
                write_secret(Some(self.key_set()), &$encode(params, self)?)
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Constant
            /// time for valid keys.
            ///
            /// # Errors
            /// [`Error::Wire`] for anything but the bytes of a secret key of these parameters.
            pub fn from_bytes(params: &$params, bytes: &[u8]) -> Result<Self> {
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut key = $decode(params, &frame)?;
                key_set.into_iter().for_each(|key_set| key.set_key_set(key_set));
                Ok(key)
            }
        }
    )*};
}

secrets_as_bytes! {
    SecretKey, impl SchemeParams, encode_secret_key, decode_secret_key;
    crate::bigckks::SecretKey, BigCkksParams, bigckks::encode_secret_key, bigckks::decode_secret_key;
}

/// A relinearisation key comes before Galois keys, whose elements grow: there is one way to write a
/// set of keys, and none twice in it.
#[derive(Default)]
struct Order {
    /// What the last key was for: `None` is relinearisation.
    last: Option<Option<u64>>,
}

impl Order {
    fn next(&mut self, element: Option<u64>) -> Result<()> {
        // No element sorts before all elements, no key before no element.
        if self.last >= Some(element) {
            return Err(WireError::Sequence.into());
        }
        self.last = Some(element);
        Ok(())
    }
}

impl<B: RingOps> EvaluationKeys<B> {
    /// All keys as bytes (`docs/format.md`), with the identity of their key set if that is known,
    /// for [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`]; device errors.
    pub fn to_bytes(&self, params: &impl SchemeParams) -> Result<Vec<u8>> {
        let relin = self.relin().ok().map(|key| encode_relin_key(params, key));
        let galois = self.galois_keys().map(|(g, key)| encode_galois_key(params, g, key));
        write(params.fingerprint(), self.key_set(), relin.into_iter().chain(galois))
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is a small
    /// multiple of the bytes given.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the bytes of evaluation keys of these parameters;
    /// [`Error::RingMismatch`]; device errors.
    pub fn from_bytes(params: &impl SchemeParams, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        let (mut keys, mut order) = (Self::empty(params.rlwe(), ring)?, Order::default());
        let key_set = read(bytes, params.fingerprint(), |frame| {
            if frame.kind == FrameKind::RelinKey {
                order.next(None)?;
                keys.insert_relin(decode_relin_key(params, ring, &frame)?)?;
            } else {
                let (g, key) = decode_galois_key(params, ring, &frame)?;
                order.next(Some(g))?;
                keys.insert_galois(g, key)?;
            }
            Ok(())
        })?;
        keys.set_key_set(key_set);
        Ok(keys)
    }
}

impl<B: WideOps> crate::bigckks::EvaluationKeys<B> {
    /// All keys as bytes (`docs/format.md`), with the identity of their key set if that is known,
    /// for [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// Device errors.
    pub fn to_bytes(&self, params: &BigCkksParams) -> Result<Vec<u8>> {
        let encode = |purpose, key| bigckks::encode_switch_key(params, purpose, key);
        let relin = self.relin().ok().map(|key| encode(SwitchKeyUse::Relin, key));
        let galois = self.galois_keys().map(|(g, key)| encode(SwitchKeyUse::Galois(g), key));
        write(params.fingerprint(), self.key_set(), relin.into_iter().chain(galois))
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is a small
    /// multiple of the bytes given.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the bytes of evaluation keys of these parameters;
    /// [`Error::RingMismatch`]; device errors.
    pub fn from_bytes(params: &BigCkksParams, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        let (mut keys, mut order) = (Self::empty(params, ring)?, Order::default());
        let key_set = read(bytes, params.fingerprint(), |frame| {
            match bigckks::decode_switch_key(params, ring, &frame)? {
                (SwitchKeyUse::Relin, key) => {
                    order.next(None)?;
                    keys.insert_relin(key)
                }
                (SwitchKeyUse::Galois(g), key) => {
                    order.next(Some(g))?;
                    keys.insert_galois(g, key)
                }
            }
        })?;
        keys.set_key_set(key_set);
        Ok(keys)
    }
}

impl TfheSecretKey {
    /// **The secrets** as bytes (`docs/format.md`), wiped when dropped, with the identity of their
    /// key set, for [`from_bytes`](Self::from_bytes). Constant time.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        write_secret(Some(self.key_set()), &tfhe::encode_secret_key(self))
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Constant time for
    /// valid keys.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the bytes of a secret key of these parameters.
    pub fn from_bytes(params: &TfheParams, bytes: &[u8]) -> Result<Self> {
        let (frame, key_set) = read_one(bytes, params.fingerprint())?;
        let mut key = tfhe::decode_secret_key(params, &frame)?;
        key_set.into_iter().for_each(|key_set| key.set_key_set(key_set));
        Ok(key)
    }
}

impl BootstrapKey {
    /// The key as bytes (`docs/format.md`), with the identity of its key set if that is known, for
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        write(self.params().fingerprint(), self.key_set(), [Ok(tfhe::encode_bootstrap_key(self))])
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the bytes of a bootstrapping key of these parameters.
    pub fn from_bytes(params: &TfheParams, bytes: &[u8]) -> Result<Self> {
        let (frame, key_set) = read_one(bytes, params.fingerprint())?;
        let mut key = tfhe::decode_bootstrap_key(params, &frame)?;
        key.set_key_set(key_set);
        Ok(key)
    }
}

/// Batches of TFHE.
macro_rules! batches_as_bytes {
    ($($type:ident, $encode:path, $decode:path;)*) => {$(
        impl<B: LweOps> $type<B> {
            /// The batch as bytes (`docs/format.md`), with the identity of its key set if that is
            /// known, for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// [`Error::Argument`] for a batch of 2^32 and more; device errors.
            pub fn to_bytes(&self, backend: &B) -> Result<Vec<u8>> {
                let params = self.ciphertexts().params();
                write(params.fingerprint(), self.key_set(), [$encode(backend, self)])
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is
            /// a small multiple of the bytes given.
            ///
            /// # Errors
            /// [`Error::Wire`] for anything but the bytes of such a batch of these parameters;
            /// device errors.
            pub fn from_bytes(backend: &B, params: &TfheParams, bytes: &[u8]) -> Result<Self> {
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut batch = $decode(backend, params, &frame)?;
                batch.set_key_set(key_set);
                Ok(batch)
            }
        }
    )*};
}

batches_as_bytes! {
    EncryptedBits, tfhe::encode_bits, tfhe::decode_bits;
    EncryptedUint, tfhe::encode_uint, tfhe::decode_uint;
    EncryptedFlags, tfhe::encode_flags, tfhe::decode_flags;
}

/// Fresh ciphertexts of TFHE, which stay on the host until they are expanded.
macro_rules! seeded_as_bytes {
    ($($type:ident, $encode:path, $decode:path;)*) => {$(
        impl $type {
            /// The batch as bytes (`docs/format.md`), with the identity of its key set if that is
            /// known, for [`from_bytes`](Self::from_bytes).
            ///
            /// # Errors
            /// [`Error::Argument`] for a batch of 2^32 and more.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                let params = self.ciphertexts().params();
                write(params.fingerprint(), self.key_set(), [$encode(self)])
            }

            /// From the bytes of [`to_bytes`](Self::to_bytes), under the same parameters. Memory is
            /// a small multiple of the bytes given.
            ///
            /// # Errors
            /// [`Error::Wire`] for anything but the bytes of such a batch of these parameters.
            pub fn from_bytes(params: &TfheParams, bytes: &[u8]) -> Result<Self> {
                let (frame, key_set) = read_one(bytes, params.fingerprint())?;
                let mut batch = $decode(params, &frame)?;
                batch.set_key_set(key_set);
                Ok(batch)
            }
        }
    )*};
}

seeded_as_bytes! {
    SeededBits, tfhe::encode_seeded_bits, tfhe::decode_seeded_bits;
    SeededUint, tfhe::encode_seeded_uint, tfhe::decode_seeded_uint;
    SeededFlags, tfhe::encode_seeded_flags, tfhe::decode_seeded_flags;
}

impl UserKey {
    /// **The key** as bytes (`docs/format.md`: those of a key file), wiped when dropped, for
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        write_secret(None, &encode_aes_key(self))
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes). Constant time for valid keys.
    ///
    /// # Errors
    /// [`Error::Wire`] for anything but the bytes of an AES key.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        decode_aes_key(&read_alone(bytes)?)
    }
}
