//! Transciphering: from AES to homomorphic encryption, without decrypting.
//!
//! A sender encrypts with AES-CTR, which is fast on any device and adds no bytes. A server that has
//! the AES key under homomorphic encryption ([`EncryptedAesKey`]) computes the key stream on it and
//! subtracts it from what was sent: the results are TFHE ciphertexts of the message
//! (Naehrig, Lauter, Vaikuntanathan, *Can Homomorphic Encryption be Practical?*, CCSW 2011; Gentry,
//! Halevi, Smart, *Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012).
//!
//! The state of AES is 128 [`UnpaddedBits`](crate::tfhe::UnpaddedBits), so that AddRoundKey,
//! ShiftRows and MixColumns take no bootstrap. SubBytes is a table of 256 entries
//! ([`CircuitBootstrapper`](crate::tfhe::CircuitBootstrapper)): eight bootstraps per byte, in one
//! batch per round. Round keys are expanded by the owner of the key.
//!
//! ```
//! # use he_core::{backend::Cpu, tfhe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use he_core::aes::{self, Bulk, BulkCipher, Key, KeySize};
//! use he_core::transcipher::{EncryptedAesKey, Transcipher};
//! # let mut rng = he_core::rand::rng();
//! // Quick, and insecure by name. Otherwise: presets::phases_2m128()?.
//! let tfhe = presets::insecure_phases()?;
//! let params = CircuitParams::new(&tfhe, CircuitSpec::default())?;
//!
//! // The owner of both keys, once.
//! let secret = TfheSecretKey::generate(&tfhe, &mut rng);
//! let key = Key::generate(KeySize::Bits128, &mut rng);
//! let encrypted_key = EncryptedAesKey::generate(&secret, &key, &mut rng)?;
//! let boot_key = BootstrapKey::generate(&secret, &mut rng);
//! let circuit_key = CircuitKey::generate(&secret, &params, &mut rng)?;
//!
//! // The sender: 16-bit numbers under AES-CTR, with a counter that never comes again.
//! let (counter, numbers) = ([7; 16], [1000u16, 65535, 3]);
//! let mut message: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
//! aes::Cpu::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut message))?;
//!
//! // The server.
//! let boot = CircuitBootstrapper::new(&Cpu::new(), &boot_key, &circuit_key)?;
//! let transcipher = Transcipher::new(&boot, &encrypted_key)?;
//! let bits = transcipher.decrypt(&counter, &message)?;
//! let x = bits.integers(boot.bootstrapper(), 16)?;
//! assert_eq!(secret.decrypt_u64(&x)?, [1000, 65535, 3]);
//! # Ok(())
//! # }
//! ```
//!
//! # Security
//! The server learns what the sender's ciphertexts say to anybody: lengths and counters. AES-CTR
//! has no tag, so that who can change a ciphertext in transit flips bits of the message; send it
//! over an authenticated channel. A counter block must never be used twice under one key, in
//! particular not by two senders.

mod aes;
mod key;
pub mod packed;
mod sensor;

pub use aes::{BLOCKS, Transcipher};
pub use key::EncryptedAesKey;
pub use sensor::SensorKey;
