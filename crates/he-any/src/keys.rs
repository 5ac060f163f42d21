//! Keys of any scheme.

use crate::engine::Engine;
use crate::family::{Family, mixed};
use crate::frames;
use crate::rlwe::{self, on_each};
use crate::tfhe::{bootstrap_key, group_of};
use he::Device;
use he_core::rand::CryptoRng;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_core::tfhe::{BootstrapKey, Carry, CompactPublicKey, IntegerEvaluator, TfheSecretKey};
use he_core::wire::{Frame, Wire, WireError, WireKeys};
use he_core::{KeySetId, Result};
use std::io::Read;
use zeroize::Zeroizing;

/// A secret key.
pub type Secret = Family<SecretKey, TfheSecretKey>;

/// A public key.
pub type Public = Family<PublicKey<Device>, CompactPublicKey>;

/// The keys that servers compute with, as they are sent.
pub type Evaluation = Family<EvaluationKeys<Device>, BootstrapKey>;

/// The keys that servers compute with, on a device and ready to compute.
pub type Keys = Family<EvaluationKeys<Device>, IntegerEvaluator<Device>>;

/// Does the same with an engine over RLWE of any scheme, or with that of TFHE.
macro_rules! on_any {
    ($engine:expr, $of:ident => $rlwe:expr, tfhe $tfhe:ident => $of_tfhe:expr) => {
        match $engine {
            Engine::Rlwe(any) => {
                use rlwe::Engine as Scheme;
                on_each!(Scheme, any, $of => $rlwe)
            }
            Engine::Tfhe($tfhe) => $of_tfhe,
        }
    };
}

/// The methods of keys that are single objects: their bytes.
macro_rules! bytes {
    ($key:ident, $bytes:ty, $rlwe:ident($($ring:ident)?), $tfhe:ident) => {
        impl $key {
            /// Reads the bytes of [`to_bytes`](Self::to_bytes).
            ///
            /// # Errors
            /// The bytes are damaged, or those of something else or of other parameters; the device
            /// fails.
            pub fn from_bytes(engine: &Engine, bytes: &[u8]) -> Result<Self> {
                Ok(on_any!(engine,
                    of => Self::Rlwe($rlwe::from_bytes(&of.params, $(&of.$ring,)? bytes)?),
                    tfhe of => Self::Tfhe($tfhe::from_bytes(&of.params, bytes)?)))
            }

            /// The key as bytes, with the identity of its key set.
            ///
            /// # Errors
            /// It is of other parameters than the engine.
            pub fn to_bytes(&self, engine: &Engine) -> Result<$bytes> {
                on_any!(engine,
                    of => self.rlwe().ok_or_else(mixed)?.to_bytes(&of.params),
                    tfhe of => self.tfhe().ok_or_else(mixed)?.to_bytes(&of.params))
            }
        }
    };
}

bytes!(Secret, Zeroizing<Vec<u8>>, SecretKey(), TfheSecretKey);
bytes!(Public, Vec<u8>, PublicKey(ring), CompactPublicKey);
bytes!(Evaluation, Vec<u8>, EvaluationKeys(ring), BootstrapKey);

impl Secret {
    /// The identity of the key set.
    pub fn key_set(&self) -> KeySetId {
        match self {
            Self::Rlwe(key) => key.key_set(),
            Self::Tfhe(key) => key.key_set(),
        }
    }

    /// A new public key.
    ///
    /// # Errors
    /// The key is of other parameters than the engine; the device fails.
    pub fn public(&self, engine: &Engine, rng: &mut impl CryptoRng) -> Result<Public> {
        match (self, engine) {
            (Self::Rlwe(key), Engine::Rlwe(of)) => PublicKey::generate(key, of.ring(), rng).map(Public::Rlwe),
            (Self::Tfhe(key), Engine::Tfhe(_)) => Ok(Public::Tfhe(CompactPublicKey::generate(key, rng))),
            _ => Err(mixed()),
        }
    }

    /// The evaluation keys that programs need; all that there are under TFHE. `tell` hears how many
    /// of how many are made, except under TFHE.
    ///
    /// # Errors
    /// The key is of other parameters than the engine; the device fails.
    pub fn evaluation(
        &self,
        engine: &Engine,
        needs: &KeyRequirements,
        rng: &mut impl CryptoRng,
        tell: impl FnMut(usize, usize),
    ) -> Result<Evaluation> {
        match (self, engine) {
            (Self::Rlwe(key), Engine::Rlwe(of)) => {
                evaluation(key, of, needs, rng, tell).map(Evaluation::Rlwe)
            }
            (Self::Tfhe(key), Engine::Tfhe(_)) => own_bootstrap_key(key, rng),
            _ => Err(mixed()),
        }
    }

    /// The encryptor and the decryptor of vectors.
    ///
    /// # Errors
    /// The key is of other parameters than the engine, or of TFHE; the device fails.
    pub fn owner(&self, engine: &Engine) -> Result<rlwe::Owner> {
        match (self, engine) {
            (Self::Rlwe(key), Engine::Rlwe(of)) => rlwe::Owner::new(of, key),
            _ => Err(mixed()),
        }
    }
}

impl Public {
    /// The identity of the key set, if it is known.
    pub fn key_set(&self) -> Option<KeySetId> {
        match self {
            Self::Rlwe(key) => key.key_set(),
            Self::Tfhe(key) => key.key_set(),
        }
    }
}

impl Evaluation {
    /// The identity of the key set, if it is known.
    pub fn key_set(&self) -> Option<KeySetId> {
        match self {
            Self::Rlwe(keys) => keys.key_set(),
            Self::Tfhe(key) => key.key_set(),
        }
    }
}

impl Keys {
    /// Whether there is a relinearisation key, and the Galois elements with keys, in order.
    pub fn parts(&self) -> (bool, Vec<u64>) {
        match self {
            Self::Rlwe(keys) => {
                let mut galois: Vec<u64> = keys.galois_keys().map(|(element, _)| element).collect();
                galois.sort_unstable();
                (keys.relin().is_ok(), galois)
            }
            Self::Tfhe(_) => (true, Vec::new()),
        }
    }
}

/// The bootstrapping key of a secret key, of the kind that its parameters are made for.
fn own_bootstrap_key(secret: &TfheSecretKey, rng: &mut impl CryptoRng) -> Result<Evaluation> {
    bootstrap_key(secret, group_of(secret.params()), rng).map(Evaluation::Tfhe)
}

/// Evaluation keys, one after the other: `tell` hears how many of how many are made.
fn evaluation(
    secret: &SecretKey,
    engine: &rlwe::Engine,
    needs: &KeyRequirements,
    rng: &mut impl CryptoRng,
    mut tell: impl FnMut(usize, usize),
) -> Result<EvaluationKeys<Device>> {
    let ring = engine.ring();
    let elements = needs.galois_elements(ring.spec().log_n());
    let relinearisation = usize::from(needs.needs_relinearisation());
    let all = relinearisation + elements.len();
    let mut keys = EvaluationKeys::generate(secret, ring, KeyRequirements::new(), rng)?;
    tell(0, all);
    if needs.needs_relinearisation() {
        keys.add_relin(secret, rng)?;
        tell(1, all);
    }
    for (at, element) in elements.into_iter().enumerate() {
        keys.add_galois(secret, [element], rng)?;
        tell(relinearisation + at + 1, all);
    }
    Ok(keys)
}

impl Engine {
    /// New keys: a secret key, a public key, and the evaluation keys that programs need. `tell`
    /// hears how many evaluation keys of how many are made, except under TFHE.
    ///
    /// # Errors
    /// The device fails.
    pub fn generate(
        &self,
        needs: &KeyRequirements,
        rng: &mut impl CryptoRng,
        tell: impl FnMut(usize, usize),
    ) -> Result<(Secret, Public, Evaluation)> {
        match self {
            Self::Rlwe(engine) => {
                use rlwe::Engine as Scheme;
                let secret = on_each!(Scheme, engine, of => SecretKey::generate(of.params.rlwe(), rng));
                let public = PublicKey::generate(&secret, engine.ring(), rng)?;
                let keys = evaluation(&secret, engine, needs, rng, tell)?;
                Ok((Secret::Rlwe(secret), Public::Rlwe(public), Evaluation::Rlwe(keys)))
            }
            Self::Tfhe(of) => {
                let secret = TfheSecretKey::generate(&of.params, rng);
                let public = Public::Tfhe(CompactPublicKey::generate(&secret, rng));
                let keys = own_bootstrap_key(&secret, rng)?;
                Ok((Secret::Tfhe(secret), public, keys))
            }
        }
    }

    /// Evaluation keys of CKKS, BFV or BGV from their frames.
    ///
    /// # Errors
    /// They are damaged; the device fails.
    pub fn evaluation_keys(
        &self,
        frames: &[Frame],
        key_set: Option<KeySetId>,
    ) -> Result<EvaluationKeys<Device>> {
        on_any!(self,
            of => {
                let mut keys = EvaluationKeys::<Device>::empty(of.params.rlwe(), &of.ring)?;
                for frame in frames {
                    keys.insert_frame(&of.params, frame)?;
                }
                keys.set_key_set(key_set);
                Ok(keys)
            },
            tfhe _of => Err(mixed()))
    }

    /// The keys of a reader of their bytes, ready to compute, and their key set. The parameters
    /// bound the memory that this takes.
    ///
    /// # Errors
    /// The bytes are damaged, or those of something else; the device fails.
    pub fn read_keys(&self, reader: impl Read) -> Result<(Keys, Option<KeySetId>)> {
        on_any!(self,
        of => {
            let mut keys = EvaluationKeys::<Device>::empty(of.params.rlwe(), &of.ring)?;
            let mut last = None;
            let key_set = frames::of_keys(reader, &of.params, |frame| {
                let purpose = keys.insert_frame(&of.params, &frame)?;
                // There is one order, and no key twice.
                if last.replace(purpose) >= Some(purpose) {
                    return Err(WireError::Sequence.into());
                }
                Ok(())
            })?;
            keys.set_key_set(key_set);
            Ok((Keys::Rlwe(keys), key_set))
        },
        tfhe of => {
            let mut key = None;
            let key_set = frames::of_keys(reader, &of.params, |frame| {
                match key.replace(BootstrapKey::from_frame(&of.params, (), &frame)?) {
                    None => Ok(()),
                    Some(_) => Err(WireError::Sequence.into()),
                }
            })?;
            Ok((self.bootstrap_key(&key.ok_or(WireError::Sequence)?)?, key_set))
        })
    }

    /// A key of TFHE, ready to compute.
    ///
    /// # Errors
    /// The engine is of another scheme; the device fails.
    pub fn bootstrap_key(&self, key: &BootstrapKey) -> Result<Keys> {
        let of = self.tfhe().ok_or_else(mixed)?;
        Ok(Keys::Tfhe(IntegerEvaluator::new(&of.device, key, Carry::default())?))
    }
}
