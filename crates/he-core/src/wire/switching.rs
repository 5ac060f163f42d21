//! Keys of scheme switching as frames.

use super::bytes::Fields;
use super::objects::{decode_switch_key, encode_switch_key, switch_key_len};
use super::{Frame, FrameKind, Wire, WireError};
use crate::backend::RingOps;
use crate::error::Result;
use crate::ring::Ring;
use crate::rlwe::{Fingerprint, RlweParams, SwitchKey};
use crate::switching::{FromTfheKey, FromTfheParams, SwitchingParams, ToTfheKey};

/// The switching keys of a body, one after the other.
fn encode<'a, B: RingOps>(
    (kind, fingerprint): (FrameKind, Fingerprint),
    rlwe: &RlweParams,
    keys: impl IntoIterator<Item = &'a SwitchKey<B>>,
) -> Result<Frame> {
    let mut body = Vec::new();
    keys.into_iter().try_for_each(|key| encode_switch_key(rlwe, key, &mut body))?;
    Ok(Frame { kind, fingerprint, body })
}

/// As many keys as there should be.
fn decode<B: RingOps>(
    (kind, fingerprint): (FrameKind, Fingerprint),
    (rlwe, ring): (&RlweParams, &Ring<B>),
    count: usize,
    frame: &Frame,
) -> Result<Vec<SwitchKey<B>>> {
    frame.expect(kind, fingerprint)?;
    let length = switch_key_len(rlwe);
    if frame.body.len() != count * length {
        return Err(Fields::new(kind, &[]).error("length").into());
    }
    let key = |body| decode_switch_key(rlwe, ring, Fields::new(kind, body), kind);
    frame.body.chunks_exact(length).map(key).collect()
}

impl SwitchingParams {
    /// The identity of these parameters in the frames of their keys.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he switching to tfhe 1").update(&self.source().fingerprint().0);
        hasher.update(&(self.base() as u16).to_le_bytes()).update(&self.tfhe().fingerprint().0);
        Fingerprint(*hasher.finalize().as_bytes())
    }

    /// The bytes of the body of a key's frame.
    pub fn key_frame_limit(&self) -> u64 {
        switch_key_len(self.key()) as u64
    }
}

impl FromTfheParams {
    /// The identity of these parameters in the frames of their keys.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"he switching from tfhe 1").update(&self.tfhe().fingerprint().0);
        hasher.update(&self.target().fingerprint().0);
        Fingerprint(*hasher.finalize().as_bytes())
    }

    /// The bytes of the body of the keys' frame.
    pub fn key_frame_limit(&self) -> u64 {
        (self.keys() * switch_key_len(self.key())) as u64
    }
}

/// The ring is that of [`SwitchingParams::ring`].
impl<B: RingOps> Wire<SwitchingParams> for ToTfheKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &SwitchingParams) -> Result<Frame> {
        encode((FrameKind::ToTfheKey, params.fingerprint()), params.key(), [self.key()])
    }

    fn from_frame(params: &SwitchingParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        let ring = params.key_ring(ring)?;
        let of = (FrameKind::ToTfheKey, params.fingerprint());
        let key = decode(of, (params.key(), &ring), 1, frame)?.pop();
        Ok(Self::from_key(params, key.ok_or(WireError::Sequence)?))
    }
}

/// The ring is that of the target's parameters.
impl<B: RingOps> Wire<FromTfheParams> for FromTfheKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &FromTfheParams) -> Result<Frame> {
        encode((FrameKind::FromTfheKey, params.fingerprint()), params.key(), self.switching_keys())
    }

    fn from_frame(params: &FromTfheParams, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        let ring = params.key_ring(ring)?;
        let of = (FrameKind::FromTfheKey, params.fingerprint());
        Self::from_keys(params, decode(of, (params.key(), &ring), params.keys(), frame)?)
    }
}
