//! Signed roots: whoever computed is bound to a trace, and everybody can tell who it was.

use super::hex;
use crate::error::{Result, TraceError};
use crate::io::input::Input;
use crate::listing::Checksum;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer};
use rand::{CryptoRng, RngExt};
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// The bytes before the root in what is signed.
pub const SIGNED: &[u8] = b"he-files 2026-11 trace: signed root, version 1";

/// The longest file of a key or a signed root, in bytes.
const LONGEST: u64 = 1 << 12;

/// A secret key of Ed25519 (RFC 8032), which signs the roots of traces and nothing else.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// The public key to a [`SigningKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// The root of a trace with a signature, as a file or a service publishes it: one line of JSON,
/// with bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedRoot {
    /// The root.
    pub root: String,
    /// The public key of whoever signed it.
    pub signer: String,
    /// The signature of Ed25519 on [`SIGNED`] and the root.
    pub signature: String,
}

fn message(root: &Checksum) -> Vec<u8> {
    [SIGNED, root].concat()
}

fn not_a_key(name: &str) -> TraceError {
    TraceError::NotASigner { name: name.to_owned() }
}

/// The text of a file of a key.
fn text(input: Input) -> Result<Zeroizing<String>> {
    let name = input.name().to_owned();
    let bytes = Zeroizing::new(input.read_all(LONGEST)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| not_a_key(&name))?;
    Ok(Zeroizing::new(text.to_owned()))
}

impl SigningKey {
    /// Draws a key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let seed: Zeroizing<[u8; 32]> = Zeroizing::new(rng.random());
        Self(ed25519_dalek::SigningKey::from_bytes(&seed))
    }

    /// Reads a key from a file: PKCS#8 in PEM, as [`to_pem`](Self::to_pem) and
    /// `openssl genpkey -algorithm ed25519` write it.
    ///
    /// # Errors
    /// [`TraceError::NotASigner`] for anything else; the file cannot be read.
    pub fn read(input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(&text(input)?);
        Ok(Self(key.map_err(|_| not_a_key(&name))?))
    }

    /// The key as PKCS#8 in PEM (RFC 8410).
    ///
    /// # Errors
    /// None that can occur.
    pub fn to_pem(&self) -> Result<Zeroizing<String>> {
        let bytes = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        bytes.to_pkcs8_pem(LineEnding::LF).map_err(|_| not_a_key("the new key").into())
    }

    /// The public key.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// Signs the root of a trace. The same root has one signature.
    pub fn sign(&self, root: &Checksum) -> SignedRoot {
        let signature = self.0.sign(&message(root));
        SignedRoot {
            root: hex(root),
            signer: self.verifying_key().to_string(),
            signature: hex(&signature.to_bytes()),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.verifying_key())
    }
}

impl VerifyingKey {
    /// Reads a key from a file: SubjectPublicKeyInfo in PEM, as [`to_pem`](Self::to_pem) and
    /// `openssl pkey -pubout` write it.
    ///
    /// # Errors
    /// [`TraceError::NotASigner`] for anything else; the file cannot be read.
    pub fn read(input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        let key = ed25519_dalek::VerifyingKey::from_public_key_pem(&text(input)?);
        Ok(Self(key.map_err(|_| not_a_key(&name))?))
    }

    /// The key as SubjectPublicKeyInfo in PEM (RFC 8410).
    ///
    /// # Errors
    /// None that can occur.
    pub fn to_pem(&self) -> Result<String> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| not_a_key("the new key").into())
    }
}

/// Hexadecimal.
impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(self.0.as_bytes()))
    }
}

/// The bytes of hexadecimal; `None` for anything else than two digits for each.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * N)?;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(bytes)
}

impl SignedRoot {
    /// Reads one from a file.
    ///
    /// # Errors
    /// [`TraceError::NotSigned`] for anything else; the file cannot be read.
    pub fn read(input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        let bytes = input.read_all(LONGEST)?;
        serde_json::from_slice(&bytes).map_err(|_| TraceError::NotSigned { name }.into())
    }

    /// The line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "root": self.root, "signer": self.signer, "signature": self.signature })
            .to_string()
    }

    /// Checks that this signer has signed this root.
    ///
    /// ```
    /// # use rand::SeedableRng;
    /// # let rng = &mut rand::rngs::ChaCha20Rng::seed_from_u64(1);
    /// use he_files::trace::SigningKey;
    /// let (server, root) = (SigningKey::generate(rng), [7; 32]);
    /// let signed = server.sign(&root);
    /// assert!(signed.check(&root, &server.verifying_key()).is_ok());
    /// assert!(signed.check(&[8; 32], &server.verifying_key()).is_err());
    /// ```
    ///
    /// # Errors
    /// [`TraceError::OtherRoot`] for another root, [`TraceError::Signer`] for another signer, and
    /// [`TraceError::Signature`] for a signature that is not valid.
    pub fn check(&self, root: &Checksum, signer: &VerifyingKey) -> Result<()> {
        if self.root != hex(root) {
            let (found, expected) = (hex(root), self.root.clone());
            return Err(TraceError::OtherRoot { found, expected }.into());
        }
        if self.signer != signer.to_string() {
            let (found, expected) = (self.signer.clone(), signer.to_string());
            return Err(TraceError::Signer { found, expected }.into());
        }
        let signature = unhex(&self.signature).map(|bytes| Signature::from_bytes(&bytes));
        let valid = signature.is_some_and(|it| signer.0.verify_strict(&message(root), &it).is_ok());
        match valid {
            true => Ok(()),
            false => Err(TraceError::Signature { signer: signer.to_string() }.into()),
        }
    }
}
