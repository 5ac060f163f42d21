//! The work of the owner of a secret key.

use super::{Cipher, Engine, Plain};
use crate::family::mixed;
use he::Device;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::rand::CryptoRng;
use he_core::rlwe::{PublicKey, SecretKey};
use he_core::{Result, ckks, exact};

/// The encryptor and the decryptor of a secret key, which are wiped when they are dropped.
#[derive(Debug)]
pub enum Owner {
    /// Real and complex numbers.
    Ckks(ckks::SecretEncryptor<Device>, ckks::Decryptor<Device>),
    /// Integers modulo t.
    Bfv(exact::SecretEncryptor<Bfv, Device>, exact::Decryptor<Bfv, Device>),
    /// Integers modulo t.
    Bgv(exact::SecretEncryptor<Bgv, Device>, exact::Decryptor<Bgv, Device>),
}

impl Owner {
    /// Takes a secret key of the engine's parameters.
    ///
    /// # Errors
    /// It is of other parameters; the device fails.
    pub fn new(engine: &Engine, key: &SecretKey) -> Result<Self> {
        macro_rules! both {
            ($variant:ident, $module:ident, $engine:expr) => {
                Self::$variant(
                    $module::SecretEncryptor::new(&$engine.params, key, &$engine.ring)?,
                    $module::Decryptor::new(&$engine.params, key, &$engine.ring)?,
                )
            };
        }
        Ok(match engine {
            Engine::Ckks(engine) => both!(Ckks, ckks, engine),
            Engine::Bfv(engine) => both!(Bfv, exact, engine),
            Engine::Bgv(engine) => both!(Bgv, exact, engine),
        })
    }

    /// Encrypts by the secret key.
    ///
    /// # Errors
    /// A plaintext of other parameters; the device fails.
    pub fn encrypt(&self, plain: &Plain, rng: &mut impl CryptoRng) -> Result<Cipher> {
        match self {
            Self::Ckks(of, _) => of.encrypt(plain.ckks()?, rng)?.expand().map(Cipher::Ckks),
            Self::Bfv(of, _) => of.encrypt(plain.exact()?, rng)?.expand().map(Cipher::Bfv),
            Self::Bgv(of, _) => of.encrypt(plain.exact()?, rng)?.expand().map(Cipher::Bgv),
        }
    }

    /// Encrypts by the secret key into bytes of half the length, whose other half is a seed.
    ///
    /// # Errors
    /// A plaintext or an engine of other parameters; the device fails.
    pub fn encrypt_to_bytes(
        &self,
        engine: &Engine,
        plain: &Plain,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>> {
        match (engine, self) {
            (Engine::Ckks(of), Self::Ckks(key, _)) => key.encrypt(plain.ckks()?, rng)?.to_bytes(&of.params),
            (Engine::Bfv(of), Self::Bfv(key, _)) => key.encrypt(plain.exact()?, rng)?.to_bytes(&of.params),
            (Engine::Bgv(of), Self::Bgv(key, _)) => key.encrypt(plain.exact()?, rng)?.to_bytes(&of.params),
            _ => Err(mixed()),
        }
    }

    /// Decrypts.
    ///
    /// # Errors
    /// A ciphertext of other parameters or of another key set; one that decrypts to nothing; the
    /// device fails.
    pub fn decrypt(&self, ct: &Cipher) -> Result<Plain> {
        match (self, ct) {
            (Self::Ckks(_, of), Cipher::Ckks(ct)) => of.decrypt(ct).map(Plain::Ckks),
            (Self::Bfv(_, of), Cipher::Bfv(ct)) => of.decrypt(ct).map(Plain::Exact),
            (Self::Bgv(_, of), Cipher::Bgv(ct)) => of.decrypt(ct).map(Plain::Exact),
            _ => Err(mixed()),
        }
    }

    /// The bits of noise budget that a decryption measures in each vector, under BFV and BGV.
    ///
    /// # Errors
    /// The same as for [`decrypt`](Self::decrypt); a ciphertext of CKKS.
    pub fn noise_budget(&self, ct: &Cipher) -> Result<Vec<f64>> {
        match (self, ct) {
            (Self::Bfv(_, of), Cipher::Bfv(ct)) => of.noise_budget(ct),
            (Self::Bgv(_, of), Cipher::Bgv(ct)) => of.noise_budget(ct),
            _ => Err(mixed()),
        }
    }
}

impl Engine {
    /// Encrypts by a public key.
    ///
    /// # Errors
    /// A key or a plaintext of other parameters; the device fails.
    pub fn encrypt(
        &self,
        key: &PublicKey<Device>,
        plain: &Plain,
        rng: &mut impl CryptoRng,
    ) -> Result<Cipher> {
        match self {
            Self::Ckks(of) => {
                ckks::Encryptor::new(&of.params, key)?.encrypt(plain.ckks()?, rng).map(Cipher::Ckks)
            }
            Self::Bfv(of) => {
                exact::Encryptor::new(&of.params, key)?.encrypt(plain.exact()?, rng).map(Cipher::Bfv)
            }
            Self::Bgv(of) => {
                exact::Encryptor::new(&of.params, key)?.encrypt(plain.exact()?, rng).map(Cipher::Bgv)
            }
        }
    }
}
