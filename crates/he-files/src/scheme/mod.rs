//! Schemes as files and commands see them: what their files hold, and how they encrypt on a
//! [`Device`].
//!
//! Everything that reads, writes and shares out work is generic over [`Scheme`]; the module of a
//! scheme says what it puts into slots and into frames.

pub mod bigckks;
pub mod ckks;
pub mod engine;
pub mod exact;
pub mod keys;
mod rlwe_layer;

use crate::error::Result;
use crate::note::{Content, KeyId, Note};
use crate::publication::Publication;
use crate::scheme::engine::Engine;
use he::Device;
use he_core::KeySetId;
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{self, KeyRequirements};
use he_core::wire::{Frame, FrameKind, Wire, WireKeys, WireParams};
use num_complex::Complex64;
use rand::rngs::ChaCha20Rng;
use serde_json::{Map, Value, json};

pub use bigckks::BigCkks;
pub use ckks::Ckks;
pub use exact::Taken;
pub use he_core::bfv::Bfv;
pub use he_core::bgv::Bgv;
pub use keys::KeyMaker;

/// The content of a frame of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// A secret key.
    Secret,
    /// A public key.
    Public,
    /// A relinearisation key.
    Relin,
    /// A Galois key.
    Galois,
}

/// The fields of a ciphertext frame before its polynomials.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Vectors side by side.
    pub batch: usize,
    /// The remaining capacity for computations.
    pub state: State,
}

/// The remaining capacity of a ciphertext for computations.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// RNS-CKKS: its level of so many, and its scale.
    Level {
        /// The level.
        level: usize,
        /// The level of a fresh ciphertext.
        of: usize,
        /// log2 of the scale.
        scale_log2: f64,
    },
    /// BFV and BGV: its level, and the bits of noise budget predicted for it.
    Budget {
        /// The level.
        level: usize,
        /// The level of a fresh ciphertext.
        of: usize,
        /// Bits of noise budget.
        bits: f64,
    },
    /// bigckks: the bits of its modulus of so many, and of its scale.
    Bits {
        /// Bits of the modulus.
        log_q: u32,
        /// Bits of the modulus of a fresh ciphertext.
        of: u32,
        /// log2 of the scale.
        scale_log2: u32,
    },
}

impl State {
    /// The rest for programs: levels of how many; bits of noise budget that are predicted; bits of
    /// the modulus of how many.
    pub fn json(self) -> Map<String, Value> {
        let facts = match self {
            Self::Level { level, of, .. } => vec![("level", json!(level)), ("levels", json!(of))],
            Self::Budget { level, of, bits } => {
                vec![("level", json!(level)), ("levels", json!(of)), ("noise_budget_bits", json!(bits))]
            }
            Self::Bits { log_q, of, .. } => vec![("bits", json!(log_q)), ("bits_of", json!(of))],
        };
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The rest for people.
    pub fn text(self) -> String {
        match self {
            Self::Level { level, of, .. } => format!("{level} of {of} levels"),
            Self::Budget { bits, .. } => format!("at least {bits:.1} bits of noise budget"),
            Self::Bits { log_q, of, .. } => format!("{log_q} of {of} bits"),
        }
    }

    /// The one with less left.
    #[must_use]
    pub fn or_less(self, other: Self) -> Self {
        let left = |state: Self| match state {
            Self::Level { level, .. } => level as f64,
            Self::Budget { bits, .. } => bits,
            Self::Bits { log_q, .. } => f64::from(log_q),
        };
        if left(other) < left(self) { other } else { self }
    }
}

/// Rotations for which keys are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotations {
    /// Rotation steps.
    pub steps: Vec<i64>,
    /// X -> X^-1: the conjugation of CKKS, the exchange of the rows of BFV and BGV.
    pub conjugation: bool,
}

impl Rotations {
    /// The number of rotations, each of which takes a key.
    pub fn count(&self) -> usize {
        self.steps.len() + usize::from(self.conjugation)
    }

    /// Evaluation keys for products and for these rotations.
    pub fn keys(&self) -> KeyRequirements {
        let keys = KeyRequirements::new().relinearisation().rotations(self.steps.iter().copied());
        if self.conjugation { keys.conjugation() } else { keys }
    }
}

/// Encrypts a batch of vectors of so many slots into a frame.
pub type Encrypt<'a, S> = Box<
    dyn Fn(&[Vec<<S as Scheme>::Slot>], usize, &mut ChaCha20Rng) -> he_core::Result<Frame> + Send + Sync + 'a,
>;

/// Decrypts a batch into vectors.
pub type Decrypt<'a, S> = Box<
    dyn Fn(&<S as Scheme>::Ciphertext) -> he_core::Result<Vec<Vec<<S as Scheme>::Slot>>> + Send + Sync + 'a,
>;

/// Borrowed vectors.
fn slices<T>(vectors: &[Vec<T>]) -> Vec<&[T]> {
    vectors.iter().map(Vec::as_slice).collect()
}

/// An object with the identity of a key set, which the library compares with that of other
/// operands: the second line behind
/// [`KeyFile::check_owner`](crate::key_file::KeyFile::check_owner), which compares files.
pub trait OfKeySet: Sized {
    /// Names its key set.
    fn name(&mut self, key_set: KeySetId);

    /// The same object, of the key set of a file.
    #[must_use]
    fn of(mut self, id: &KeyId) -> Self {
        if let Some(key_set) = id.key_set() {
            self.name(key_set);
        }
        self
    }
}

macro_rules! of_key_set {
    ($([$($generics:tt)*] $type:ty, $key_set:ident => $value:expr;)*) => {$(
        impl<$($generics)*> OfKeySet for $type {
            fn name(&mut self, $key_set: KeySetId) {
                self.set_key_set($value);
            }
        }
    )*};
}

of_key_set! {
    [] rlwe::SecretKey, id => id;
    [] rlwe::PublicKey<Device>, id => Some(id);
    [] rlwe::EvaluationKeys<Device>, id => Some(id);
    [] he_core::ckks::Ciphertext<Device>, id => Some(id);
    [S: he_core::exact::Scheme] he_core::exact::Ciphertext<S, Device>, id => Some(id);
    [] he_core::bigckks::SecretKey, id => id;
    [] he_core::bigckks::PublicKey<Device>, id => Some(id);
    [] he_core::bigckks::EvaluationKeys<Device>, id => Some(id);
    [] he_core::bigckks::Ciphertext<Device>, id => Some(id);
    [] he_core::tfhe::TfheSecretKey, id => id;
    [] he_core::tfhe::CompactPublicKey, id => Some(id);
    [] he_core::tfhe::BootstrapKey, id => Some(id);
    [] he_core::tfhe::CircuitKey, id => Some(id);
    [] he_core::transcipher::EncryptedAesKey, id => Some(id);
    [] he_core::tfhe::EncryptedUint<Device>, id => Some(id);
    [] he_core::tfhe::EncryptedFlags<Device>, id => Some(id);
}

/// A scheme whose keys and ciphertexts lie in files, and how it encrypts on a device.
pub trait Scheme: Sized + Send + Sync + 'static {
    /// Its name, as in `keygen NAME`.
    const NAME: &'static str;
    /// Frames of its ciphertexts: whole ones, and those whose second half is a seed, if there are
    /// such.
    const CIPHERTEXTS: (FrameKind, Option<FrameKind>);
    /// Its parameters.
    type Params: WireParams + Clone + PartialEq + Send + Sync;
    /// Its secret keys.
    type Secret: for<'a> Wire<Self::Params, Place<'a> = ()>
        + KeyMaker<Public = Self::Public, Evaluation = Self::Evaluation>
        + OfKeySet
        + Send
        + Sync;
    /// Public keys.
    type Public: for<'a> Wire<Self::Params, Place<'a> = &'a Ring<Device>> + OfKeySet + Send + Sync;
    /// Evaluation keys.
    type Evaluation: for<'a> WireKeys<Self::Params, Place<'a> = &'a Ring<Device>> + OfKeySet + Send + Sync;
    /// Ciphertexts.
    type Ciphertext: for<'a> Wire<Self::Params, Place<'a> = &'a Ring<Device>> + OfKeySet + Send;
    /// The arithmetic.
    type Evaluator: Send + Sync;
    /// The value of a slot.
    type Slot: Copy + Send + Sync;

    /// The start of a file of this scheme, or `None` if it belongs to another.
    fn take(start: Start) -> Option<(Self::Params, Note)>;

    /// Ring of the parameters.
    fn ring(params: &Self::Params) -> &RingSpec;
    /// Slots of a full vector.
    fn slots(params: &Self::Params) -> usize;
    /// Bytes of a ciphertext in memory.
    fn ciphertext_bytes(params: &Self::Params) -> usize;
    /// A fresh secret key.
    fn secret(params: &Self::Params, rng: &mut ChaCha20Rng) -> Self::Secret;
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
    /// Whether keys of these parameters protect anything; of those in files, the ones of
    /// [`TOY`](crate::bootstrap::TOY) do not.
    fn is_secure(params: &Self::Params) -> bool;
    /// The parameters for programs.
    fn params_json(params: &Self::Params) -> Value;
    /// The parameters for people: lines of a name and a text.
    fn params_text(params: &Self::Params) -> Vec<(&'static str, String)>;

    /// The part of a key that a frame holds, if any.
    fn key_part(frame: &Frame) -> Option<KeyPart>;
    /// The fields of a ciphertext frame.
    ///
    /// # Errors
    /// The fields are impossible.
    fn header(params: &Self::Params, frame: &Frame) -> he_core::Result<Header>;

    /// Checks that a description is of a content of this scheme, and holds possible numbers.
    ///
    /// # Errors
    /// Something in the description is impossible.
    fn check_content(params: &Self::Params, content: &Content) -> Result<()>;

    /// Prepares the arithmetic.
    ///
    /// # Errors
    /// The device fails.
    fn evaluator(params: &Self::Params, ring: &Ring<Device>) -> he_core::Result<Self::Evaluator>;

    /// The encryptor by public key.
    ///
    /// # Errors
    /// The device fails.
    fn encryptor<'a>(engine: &'a Engine<Self>, key: &'a Self::Public) -> Result<Encrypt<'a, Self>>;
    /// The encryptor by secret key.
    ///
    /// # Errors
    /// The scheme does not encrypt by secret key, or the device fails.
    fn secret_encryptor<'a>(engine: &'a Engine<Self>, key: &Self::Secret) -> Result<Encrypt<'a, Self>>;
    /// The decryptor.
    ///
    /// # Errors
    /// The device fails.
    fn decryptor<'a>(engine: &'a Engine<Self>, key: &Self::Secret) -> Result<Decrypt<'a, Self>>;
    /// The decryptor of results that others will see.
    ///
    /// # Errors
    /// Nothing is known of the noise of such a content, or the device fails.
    fn publisher<'a>(
        engine: &'a Engine<Self>,
        key: &Self::Secret,
        content: &Content,
        publication: &'a Publication,
    ) -> Result<Decrypt<'a, Self>>;

    /// Ciphertexts from a frame, whole or seeded.
    ///
    /// # Errors
    /// The frame holds no ciphertexts, or the device fails.
    fn decode(
        params: &Self::Params,
        ring: &Ring<Device>,
        frame: &Frame,
    ) -> he_core::Result<Self::Ciphertext> {
        Self::Ciphertext::from_frame(params, ring, frame)
    }
    /// Vectors side by side, and slots of each.
    fn shape(ct: &Self::Ciphertext) -> (usize, usize);
    /// The largest magnitude that a ciphertext can hold; none for residues.
    fn capacity(engine: &Engine<Self>, ct: &Self::Ciphertext) -> Option<f64>;

    /// The same numbers, of magnitudes below `bound`, with as little left to compute with as they
    /// and a few hundred times as many need: shorter files.
    ///
    /// # Errors
    /// The device fails.
    fn lowered(engine: &Engine<Self>, ct: &Self::Ciphertext, bound: f64)
    -> he_core::Result<Self::Ciphertext>;
}

/// A scheme of approximate real numbers.
pub trait Real: Scheme<Slot = Complex64> {
    /// log2 of the error that encoding and decoding leave of the greatest value, where scales are
    /// finer than doubles.
    const TRANSFORM_LOG2: f64;
    /// -log2 of six standard deviations of a slot's error, fresh, in vectors of all slots.
    fn fresh_precision_bits(params: &Self::Params) -> f64;
    /// Whether keys of this depth with so many bits of `--precision` are possible.
    fn reaches(params: &Self::Params, precision: u32) -> bool;
}

/// Bits by which results may grow that are lowered to what they need: the sum of so many of them
/// fits.
pub const SPARE_BITS: u32 = 8;

/// The parts of files of one kind, by scheme.
pub trait Family {
    /// The part of this scheme.
    type Of<S: Scheme>;
}

/// One of the schemes, and what belongs to it.
pub enum OneOf<F: Family> {
    /// RNS-CKKS.
    Ckks(F::Of<Ckks>),
    /// BFV.
    Bfv(F::Of<Bfv>),
    /// BGV.
    Bgv(F::Of<Bgv>),
    /// CKKS with a modulus of 2^l.
    BigCkks(F::Of<BigCkks>),
}

/// Calls a function that is generic over the scheme with what is in an [`OneOf`]; a name before it
/// is that of the scheme as a type.
#[macro_export]
macro_rules! on_scheme {
    ($either:expr, $value:ident => $call:expr) => {
        $crate::on_scheme!($either, _Scheme, $value => $call)
    };
    ($either:expr, $scheme:ident, $value:ident => $call:expr) => {
        $crate::on_rlwe!($either, $scheme, $value => $call, bigckks $value => {
            type $scheme = $crate::scheme::BigCkks;
            $call
        })
    };
}

/// Calls a function that is generic over the schemes over RLWE with primes, whose keys are of one
/// type, with what is in an [`OneOf`], or another function with that of bigckks.
#[macro_export]
macro_rules! on_rlwe {
    ($either:expr, $value:ident => $call:expr, bigckks $other:pat => $of_bigckks:expr) => {
        $crate::on_rlwe!($either, _Scheme, $value => $call, bigckks $other => $of_bigckks)
    };
    ($either:expr, $scheme:ident, $value:ident => $call:expr, bigckks $other:pat => $of_bigckks:expr) => {
        match $either {
            $crate::scheme::OneOf::Ckks($value) => {
                type $scheme = $crate::scheme::Ckks;
                $call
            }
            $crate::scheme::OneOf::Bfv($value) => {
                type $scheme = $crate::scheme::Bfv;
                $call
            }
            $crate::scheme::OneOf::Bgv($value) => {
                type $scheme = $crate::scheme::Bgv;
                $call
            }
            $crate::scheme::OneOf::BigCkks($other) => $of_bigckks,
        }
    };
}

/// The beginning of a file of a scheme.
pub struct Starts;

impl Family for Starts {
    type Of<S: Scheme> = (S::Params, Note);
}

/// Parameters and description at the start of a file.
pub type Start = OneOf<Starts>;

impl Start {
    /// The scheme's name.
    pub fn scheme(&self) -> &'static str {
        on_scheme!(self, S, _start => <S as Scheme>::NAME)
    }

    /// The description.
    pub fn note(&self) -> &Note {
        on_scheme!(self, start => &start.1)
    }
}
