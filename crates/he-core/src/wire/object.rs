//! Objects as frames: the traits that every scheme's parameters, keys and ciphertexts implement.

use super::{Frame, FrameKind};
use crate::aes::container::UserKey;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::bigckks::BigCkksParams;
use crate::bootstrapping::BootstrapParams;
use crate::ckks::CkksParams;
use crate::error::Result;
use crate::exact::{Params, bootstrapping as exact};
use crate::rlwe::{Fingerprint, RlweParams};
use crate::tfhe::TfheParams;

/// Parameters as a frame, and how long the frames of their objects can be.
pub trait WireParams: Sized {
    /// The kind of their frame.
    const KIND: FrameKind;
    /// The longest body of their frame.
    const MAX_BODY: u64;

    /// The fingerprint of the parameters in the frames of their objects.
    fn fingerprint(&self) -> Fingerprint;

    /// The parameters as a frame.
    fn to_frame(&self) -> Frame;

    /// Parameters of at least 128-bit security from their frame.
    ///
    /// # Errors
    /// [`Error::Wire`](crate::Error::Wire) for any other frame and for fields that are not those of
    /// the frame's fingerprint; [`Error::InvalidParams`](crate::Error::InvalidParams).
    fn from_frame(frame: &Frame) -> Result<Self>;

    /// Reads parameters of any security: for experiments and tests only.
    ///
    /// # Errors
    /// The same as for [`from_frame`](Self::from_frame).
    fn from_frame_insecure(frame: &Frame) -> Result<Self>;

    /// The longest body of a frame that holds a key of these parameters; 0 for all other kinds.
    fn key_frame_limit(&self, kind: FrameKind) -> u64;

    /// The longest body of a frame of at most `max_batch` ciphertexts.
    fn ciphertext_frame_limit(&self, max_batch: usize) -> u64;
}

/// Parameters of a scheme over RLWE, whose keys have one form.
pub trait SchemeParams: WireParams {
    /// The ring and the digits.
    fn rlwe(&self) -> &RlweParams;
}

/// An object that is one frame under parameters `P`.
///
/// ```
/// use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*, wire::Wire};
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// let params = CkksParams::for_depth(1).precision_bits(20).build()?;
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
///
/// let frame = public.to_frame(&params)?;
/// let read = PublicKey::from_frame(&params, &ring, &frame)?;
/// assert_eq!(read.body().to_words()?, public.body().to_words()?);
/// # Ok(())
/// # }
/// ```
pub trait Wire<P>: Sized {
    /// The place that an object is read to: a ring, a device, or the host, which is `()`.
    type Place<'a>: Copy;

    /// The object as a frame.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch) or
    /// [`Error::RingMismatch`](crate::Error::RingMismatch) for an object of other parameters;
    /// [`Error::Argument`](crate::Error::Argument) for a batch of 2^32 and more; device errors.
    fn to_frame(&self, params: &P) -> Result<Frame>;

    /// The object of a frame, without a key set: see [`KeySetId`](crate::KeySetId). Memory is a
    /// small multiple of the frame's length.
    ///
    /// # Errors
    /// [`Error::Wire`](crate::Error::Wire) for anything but the frame of such an object of these
    /// parameters; [`Error::RingMismatch`](crate::Error::RingMismatch); device errors.
    fn from_frame(params: &P, place: Self::Place<'_>, frame: &Frame) -> Result<Self>;
}

/// Evaluation keys, one frame each.
pub trait WireKeys<P>: Sized {
    /// The place that they are read to.
    type Place<'a>: Copy;

    /// No keys yet.
    ///
    /// # Errors
    /// [`Error::RingMismatch`](crate::Error::RingMismatch).
    fn empty(params: &P, place: Self::Place<'_>) -> Result<Self>;

    /// The keys as frames, each made when it is asked for: the relinearisation key first, then
    /// Galois keys in the order of their elements.
    ///
    /// # Errors
    /// The same as for [`Wire::to_frame`].
    fn to_frames(&self, params: &P) -> impl Iterator<Item = Result<Frame>>;

    /// Adds the key of a frame, and says what it is for.
    ///
    /// # Errors
    /// The same as for [`Wire::from_frame`].
    fn insert_frame(&mut self, params: &P, frame: &Frame) -> Result<SwitchKeyUse>;
}

/// The purpose of a switching key. Keys are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchKeyUse {
    /// s^2: relinearisation.
    Relin,
    /// s(X^g) for a Galois element g.
    Galois(u64),
}

/// Parameters that have the fingerprint of the frame that they were read from.
pub(super) fn as_written<P: WireParams>(frame: &Frame, params: P) -> Result<P> {
    frame.expect(P::KIND, params.fingerprint())?;
    Ok(params)
}

/// The longest body of a frame that a file can start with: parameters of any kind, or an AES key,
/// which has none; 0 for all other kinds.
pub fn first_frame_limit(kind: FrameKind) -> u64 {
    match kind {
        CkksParams::KIND => CkksParams::MAX_BODY,
        BootstrapParams::KIND => BootstrapParams::MAX_BODY,
        exact::BootstrapParams::<Bfv>::KIND => exact::BootstrapParams::<Bfv>::MAX_BODY,
        exact::BootstrapParams::<Bgv>::KIND => exact::BootstrapParams::<Bgv>::MAX_BODY,
        Params::<Bfv>::KIND => Params::<Bfv>::MAX_BODY,
        Params::<Bgv>::KIND => Params::<Bgv>::MAX_BODY,
        BigCkksParams::KIND => BigCkksParams::MAX_BODY,
        TfheParams::KIND => TfheParams::MAX_BODY,
        FrameKind::AesKey | FrameKind::SensorKey => UserKey::LEN as u64,
        _ => 0,
    }
}
