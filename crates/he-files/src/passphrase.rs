//! Secret keys sealed with a passphrase: Argon2id derives a key from it, and XChaCha20-Poly1305
//! seals with that.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "HESEALED"
//!      8      1  version, 2
//!      9      4  Argon2id memory in KiB, little-endian
//!     13      4  Argon2id passes, little-endian
//!     17      4  Argon2id lanes, little-endian
//!     21     16  salt, random
//!     37     24  nonce, random
//!     61     32  commitment to the key that Argon2id makes
//!     93      n  ciphertext
//!   93+n     16  Poly1305 tag over the 93 bytes before the ciphertext (as associated data) and the ciphertext
//! ```
//! Commitment and encryption key are BLAKE3's `derive_key` of what Argon2id makes, in contexts of
//! their own. Without a commitment one file can be made that opens under many passphrases
//! (XChaCha20-Poly1305 does not commit to a key), and anyone who observes whether such files are
//! opened or refused finds a passphrase in fewer attempts (partitioning oracles; Len, Grubbs,
//! Ristenpart 2021). Version 1, which had none and encrypted under Argon2id's output itself, is
//! still read.
//!
//! The costs are bounded when a file is read, so that a hostile one exhausts neither memory nor
//! patience: by four times the cost of new files, unless the caller [allows](Passphrase::allowing)
//! up to 1 GiB and 16 passes. In version 2 they have a lower bound, too. Time depends on the
//! lengths of passphrase and data and on the costs, not on their contents (Argon2id's memory
//! accesses of the later passes excepted, as its definition has them).

use crate::error::{Error, InFile, IoContext, PassphraseError, Result};
use crate::io::input::Input;
use crate::scheme::engine::rng;
use std::borrow::Borrow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use he_core::aes::container::Cost;
use rand::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

const MAGIC: [u8; 8] = *b"HESEALED";
/// The version of new files, which have a commitment.
const VERSION: u8 = 2;
/// The version before, without a commitment.
const UNCOMMITTED: u8 = 1;
const SALT: usize = 16;
const NONCE: usize = 24;
const TAG: usize = 16;
const COMMITMENT: usize = 32;
/// Bytes of the header before the commitment.
const HEADER: usize = MAGIC.len() + 1 + 3 * 4 + SALT + NONCE;
/// Least memory of Argon2id in files with a commitment, in KiB: the least that OWASP recommends.
const LEAST_MEMORY: u32 = 19 << 10;
/// Longest passphrase in bytes.
const MAX_PASSPHRASE: usize = 4096;

/// A passphrase, not empty, wiped when dropped, and the greatest cost at which it is stretched to
/// open what somebody sealed: [`Cost::LIMIT`] unless more is [allowed](Self::allowing).
pub struct Passphrase {
    bytes: Zeroizing<Vec<u8>>,
    most: Cost,
}

/// The purpose of a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To seal something new: a person types it twice.
    Seal,
    /// To open something sealed.
    Open,
}

impl Passphrase {
    /// A passphrase from its bytes.
    ///
    /// # Errors
    /// The passphrase is empty or longer than 4096 bytes.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Result<Self> {
        if bytes.is_empty() {
            return Err(PassphraseError::Empty.into());
        }
        if bytes.len() > MAX_PASSPHRASE {
            return Err(PassphraseError::TooLong { most: MAX_PASSPHRASE }.into());
        }
        Ok(Self { bytes, most: Cost::LIMIT })
    }

    /// The same passphrase for files of at most this cost, of which [`Cost::MAX`] is the greatest.
    #[must_use]
    pub fn allowing(self, most: Cost) -> Self {
        Self { most, ..self }
    }

    /// The greatest cost at which it opens a file.
    pub fn most_cost(&self) -> Cost {
        self.most
    }

    /// The first line of a file, without its line end.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is empty or too long.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // Room for all from the start, so that no growing leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_PASSPHRASE + 64));
        let file = File::open(path).doing("read the passphrase file", path)?;
        let limit = MAX_PASSPHRASE as u64 + 2;
        file.take(limit).read_to_end(&mut bytes).doing("read the passphrase file", path)?;
        let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
        let end = line.strip_suffix(b"\r").unwrap_or(line).len();
        bytes[end..].zeroize();
        bytes.truncate(end);
        Self::new(bytes)
    }
}

/// A source of passphrases: a file, a terminal, a key ring.
pub trait Passphrases {
    /// Returns a passphrase for `what`, the name of a file.
    ///
    /// # Errors
    /// The source has no passphrase, or one that [`Passphrase::new`] refuses.
    fn obtain(&self, purpose: Purpose, what: &str) -> Result<Passphrase>;
}

impl<F: Fn(Purpose, &str) -> Result<Passphrase>> Passphrases for F {
    fn obtain(&self, purpose: Purpose, what: &str) -> Result<Passphrase> {
        self(purpose, what)
    }
}

/// Whether a file that begins with these bytes is sealed (8 bytes suffice).
pub fn is_sealed(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Reads and opens a sealed file of at most so many bytes. The passphrase is the one that `obtain`
/// gives for the name of the file.
///
/// # Errors
/// The file is too large, damaged or of another version; the passphrase is wrong; the errors of
/// `obtain`.
pub fn read_sealed<P: Borrow<Passphrase>>(
    input: Input,
    limit: u64,
    obtain: impl FnOnce(&str) -> Result<P>,
) -> Result<Zeroizing<Vec<u8>>> {
    let name = input.name().to_owned();
    let bytes = input.read_all(limit)?;
    check_version(&bytes).in_file(&name)?;
    let passphrase = obtain(&name)?;
    open(&bytes, passphrase.borrow()).in_file(&name)
}

/// Checks the version of a sealed file, which needs no passphrase.
///
/// # Errors
/// [`PassphraseError::Version`].
pub fn check_version(sealed: &[u8]) -> Result<()> {
    match sealed.get(MAGIC.len()) {
        Some(&found) if ![VERSION, UNCOMMITTED].contains(&found) => {
            Err(PassphraseError::Version { found, newest: VERSION }.into())
        }
        _ => Ok(()),
    }
}

/// Seals `plain`; salt and nonce are the operating system's random bytes. Takes about 64 MiB and a
/// fraction of a second.
///
/// # Errors
/// The operating system gives no random bytes, or memory is short.
pub fn seal(plain: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>> {
    seal_with(Cost::USUAL, plain, passphrase, &mut rng()?)
}

/// Seals at another cost, with salt and nonce from a generator. Files below 19 MiB of memory are
/// not opened again.
///
/// # Errors
/// The cost is not valid for Argon2id, or memory is short.
pub fn seal_with(
    cost: Cost,
    plain: &[u8],
    passphrase: &Passphrase,
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>> {
    let (mut salt, mut nonce) = ([0; SALT], [0; NONCE]);
    rng.fill_bytes(&mut salt);
    rng.fill_bytes(&mut nonce);
    let mut sealed = Vec::with_capacity(HEADER + COMMITMENT + plain.len() + TAG);
    sealed.extend(MAGIC);
    sealed.push(VERSION);
    for value in [cost.memory_kib, cost.passes, cost.lanes] {
        sealed.extend(value.to_le_bytes());
    }
    sealed.extend(salt);
    sealed.extend(nonce);
    let keys = Keys::new(&*stretch(cost, &salt, passphrase)?);
    sealed.extend(keys.commitment.as_bytes());
    let ciphertext = keys
        .cipher
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &sealed })
        .map_err(|_| PassphraseError::TooLarge)?;
    sealed.extend(ciphertext);
    Ok(sealed)
}

/// Opens the output of [`seal`].
///
/// # Errors
/// [`PassphraseError::Version`]; [`ContainerError::Cost`](he_core::aes::container::ContainerError)
/// for a greater cost than the passphrase allows, before any work; `wrong passphrase or damaged key
/// file` for anything else that does not fit (which of both cannot be known), or memory is short
/// for the costs that the file states.
pub fn open(sealed: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>> {
    open_from(LEAST_MEMORY, sealed, passphrase)
}

/// Opens with another lower bound on the memory of Argon2id, in KiB.
fn open_from(least: u32, sealed: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>> {
    let mut fields = Fields(sealed.get(..HEADER).ok_or_else(refused)?);
    let (magic, [version]) = (fields.take(), fields.take());
    if magic != MAGIC {
        return Err(refused());
    }
    check_version(sealed)?;
    let cost = Cost {
        memory_kib: u32::from_le_bytes(fields.take()),
        passes: u32::from_le_bytes(fields.take()),
        lanes: u32::from_le_bytes(fields.take()),
    };
    let salt: [u8; SALT] = fields.take();
    let nonce: [u8; NONCE] = fields.take();
    if !cost.is_acceptable() || version == VERSION && cost.memory_kib < least {
        return Err(refused());
    }
    cost.check(passphrase.most)?;
    let (cipher, start) = if version == UNCOMMITTED {
        (XChaCha20Poly1305::new((&*stretch(cost, &salt, passphrase)?).into()), HEADER)
    } else {
        let start = HEADER + COMMITMENT;
        let commitment: &[u8] = sealed.get(HEADER..start).ok_or_else(refused)?;
        let keys = Keys::new(&*stretch(cost, &salt, passphrase)?);
        // `blake3::Hash` compares in constant time.
        if keys.commitment != *commitment {
            return Err(refused());
        }
        (keys.cipher, start)
    };
    let (header, ciphertext) = sealed.split_at(start);
    let plain = cipher.decrypt(&XNonce::from(nonce), Payload { msg: ciphertext, aad: header });
    plain.map(Zeroizing::new).map_err(|_| refused())
}

/// The keys that are derived from a stretched passphrase.
struct Keys {
    commitment: blake3::Hash,
    cipher: XChaCha20Poly1305,
}

impl Keys {
    fn new(stretched: &[u8; 32]) -> Self {
        let key = Zeroizing::new(blake3::derive_key(
            "he 2026-11 sealed key: encryption key of stretched passphrase, version 2",
            stretched,
        ));
        let commitment = blake3::derive_key(
            "he 2026-11 sealed key: commitment to stretched passphrase, version 2",
            stretched,
        );
        Self { commitment: commitment.into(), cipher: XChaCha20Poly1305::new((&*key).into()) }
    }
}

/// Argon2id of a passphrase.
///
/// # Errors
/// The cost is not valid for Argon2id, or memory is short.
pub fn stretch(cost: Cost, salt: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    let params =
        Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(key.len())).map_err(|_| refused())?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(&passphrase.bytes, salt, &mut *key)
        .map_err(|_| PassphraseError::NoMemory { mebibytes: cost.memory_kib.div_ceil(1024) })?;
    Ok(key)
}

fn refused() -> Error {
    PassphraseError::Refused.into()
}

/// The header, field after field. Its length is checked by the caller.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        let (head, rest) = self.0.split_at(N.min(self.0.len()));
        field[..head.len()].copy_from_slice(head);
        self.0 = rest;
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };
    const REFUSED: &str = "wrong passphrase or damaged key file";

    fn seal_at(cost: Cost, plain: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>> {
        seal_with(cost, plain, passphrase, &mut rng().unwrap())
    }

    fn phrase(text: &str) -> Passphrase {
        Passphrase::new(Zeroizing::new(text.as_bytes().to_vec())).ok().unwrap()
    }

    fn fails(sealed: &[u8], passphrase: &Passphrase) -> String {
        open_from(0, sealed, passphrase).err().unwrap().to_string().to_owned()
    }

    #[test]
    fn round_trip_at_the_real_cost() {
        let sealed = seal(b"the secret", &phrase("correct horse")).unwrap();
        assert!(is_sealed(&sealed) && is_sealed(&sealed[..8]) && !is_sealed(&sealed[..7]));
        assert_eq!(sealed.len(), 61 + 32 + 10 + 16);
        assert_eq!(sealed[8], 2);
        assert_eq!(&sealed[9..21], &[0, 0, 1, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
        assert!(!sealed.windows(6).any(|w| w == b"secret"));
        assert_eq!(**open(&sealed, &phrase("correct horse")).ok().unwrap(), *b"the secret");
        assert_eq!(fails(&sealed, &phrase("correct Horse")), REFUSED);
    }

    #[test]
    fn no_two_seals_are_alike() {
        let (a, b) =
            (seal_at(CHEAP, b"x", &phrase("p")).unwrap(), seal_at(CHEAP, b"x", &phrase("p")).unwrap());
        assert_ne!(a[21..37], b[21..37]);
        assert_ne!(a[37..61], b[37..61]);
        assert_ne!(a[61..93], b[61..93]);
        assert_ne!(a[93..], b[93..]);
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let sealed = seal_at(CHEAP, b"twenty bytes of data", &phrase("p")).unwrap();
        assert_eq!(open_from(0, &sealed, &phrase("p")).ok().unwrap().len(), 20);
        for at in 0..sealed.len() {
            for flip in [0x01, 0x80] {
                let mut broken = sealed.clone();
                broken[at] ^= flip;
                let told = fails(&broken, &phrase("p"));
                match at {
                    8 => assert!(told.starts_with("version ") && told.ends_with("reads 1 to 2"), "{told}"),
                    _ => assert_eq!(told, REFUSED, "byte {at}"),
                }
            }
        }
    }

    #[test]
    fn every_truncation_and_extension_is_noticed() {
        let mut sealed = seal_at(CHEAP, b"data", &phrase("p")).unwrap();
        for len in 0..sealed.len() {
            assert_eq!(fails(&sealed[..len], &phrase("p")), REFUSED, "length {len}");
        }
        sealed.push(0);
        assert_eq!(fails(&sealed, &phrase("p")), REFUSED);
    }

    #[test]
    fn hostile_costs_are_refused_at_once() {
        let sealed = seal_at(CHEAP, b"data", &phrase("p")).unwrap();
        for (at, value) in
            [(9, 1024 * 1024 + 1), (9, u32::MAX), (13, 17), (13, u32::MAX), (17, 5), (9, 0), (13, 0), (17, 0)]
        {
            let mut hostile = sealed.clone();
            hostile[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let start = std::time::Instant::now();
            assert_eq!(fails(&hostile, &phrase("p")), REFUSED);
            assert!(start.elapsed().as_millis() < 500);
        }
    }

    /// Above four times the cost of new files nothing is stretched, unless it is allowed.
    #[test]
    fn greater_costs_are_refused_unless_allowed() {
        let sealed = seal_at(CHEAP, b"data", &phrase("p")).unwrap();
        let stating = |memory: u32, passes: u32| {
            let mut hostile = sealed.clone();
            hostile[9..13].copy_from_slice(&memory.to_le_bytes());
            hostile[13..17].copy_from_slice(&passes.to_le_bytes());
            hostile
        };
        for (memory, passes, told) in [
            (1 << 20, 16, "1024 MiB in 16 passes"),
            ((256 << 10) + 1, 1, "257 MiB in 1 pass "),
            (256 << 10, 4, "256 MiB in 4 passes"),
            (49 << 10, 16, "49 MiB in 16 passes"),
        ] {
            let error = open(&stating(memory, passes), &phrase("p")).err().unwrap();
            let text = error.to_string();
            assert!(text.contains(told) && text.contains("256 MiB in 3 passes"), "{text}");
            assert!(error.hint().unwrap_or_default().contains("allow the cost"), "{text}");
        }
        // An allowed cost is worked for, and tells that the file is another then.
        let allowed = phrase("p").allowing(Cost { memory_kib: 64, passes: 16, lanes: 4 });
        assert_eq!(fails(&stating(64, 16), &allowed), REFUSED);
        assert!(fails(&stating(65, 16), &allowed).contains("more than the 1 MiB in 16 passes"));
        assert!(Cost::USUAL.is_within(Cost::LIMIT) && Cost::LIMIT.is_within(Cost::MAX));
        assert_eq!(phrase("p").most_cost(), Cost::LIMIT);
    }

    #[test]
    fn empty_data_seal_too() {
        let sealed = seal_at(CHEAP, b"", &phrase("p")).unwrap();
        assert!(open_from(0, &sealed, &phrase("p")).ok().unwrap().is_empty());
    }

    #[test]
    fn cheap_files_with_a_commitment_are_refused() {
        let sealed = seal_at(CHEAP, b"x", &phrase("p")).unwrap();
        assert!(open_from(8, &sealed, &phrase("p")).is_ok() && open_from(9, &sealed, &phrase("p")).is_err());
        assert_eq!(open(&sealed, &phrase("p")).err().unwrap().to_string(), REFUSED);
    }

    /// As version 1 wrote them; nothing writes them any more.
    fn uncommitted(
        key: &[u8; 32],
        cost: Cost,
        salt: [u8; SALT],
        nonce: [u8; NONCE],
        plain: &[u8],
    ) -> Vec<u8> {
        let mut sealed = MAGIC.to_vec();
        sealed.push(UNCOMMITTED);
        [cost.memory_kib, cost.passes, cost.lanes]
            .iter()
            .for_each(|value| sealed.extend(value.to_le_bytes()));
        sealed.extend(salt);
        sealed.extend(nonce);
        let cipher = XChaCha20Poly1305::new(key.into());
        let ciphertext = cipher.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &sealed }).unwrap();
        sealed.extend(ciphertext);
        sealed
    }

    #[test]
    fn files_of_version_1_open() {
        let key = stretch(CHEAP, &[3; SALT], &phrase("p")).unwrap();
        let mut sealed = uncommitted(&key, CHEAP, [3; SALT], [4; NONCE], b"old");
        assert_eq!(**open(&sealed, &phrase("p")).ok().unwrap(), *b"old");
        assert_eq!(fails(&sealed, &phrase("q")), REFUSED);
        sealed[8] = VERSION;
        assert_eq!(fails(&sealed, &phrase("p")), REFUSED);
    }

    /// The commitment binds the header to one stretched passphrase before the tag is looked at.
    #[test]
    fn a_tag_under_another_key_is_not_enough() {
        let (a, b) = (phrase("a"), phrase("b"));
        let sealed = seal_at(CHEAP, b"x", &a).unwrap();
        let mut salt = [0; SALT];
        salt.copy_from_slice(&sealed[21..37]);
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&sealed[37..61]);
        // The commitment of a, a valid tag of b.
        let keys = Keys::new(&stretch(CHEAP, &salt, &b).unwrap());
        let header = &sealed[..93];
        let forged = keys.cipher.encrypt(&XNonce::from(nonce), Payload { msg: b"y", aad: header }).unwrap();
        let forged = [header, &forged].concat();
        assert_eq!((fails(&forged, &a), fails(&forged, &b)), (REFUSED.to_owned(), REFUSED.to_owned()));
    }

    #[test]
    fn a_file_gives_its_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("phrase");
        for (content, expected) in [
            (&b"secret"[..], &b"secret"[..]),
            (b"secret\n", b"secret"),
            (b"secret\r\n", b"secret"),
            (b" two words \nrest", b" two words "),
            (b"\xff\xfe\n", b"\xff\xfe"),
        ] {
            std::fs::write(&path, content).unwrap();
            let obtained = Passphrase::from_file(&path).ok().unwrap();
            assert_eq!(obtained.bytes.as_slice(), expected);
        }
        for content in [&b""[..], b"\n", b"\r\nlater"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Passphrase::from_file(&path).err().unwrap().to_string(), "the passphrase is empty");
        }
        std::fs::write(&path, vec![b'x'; 4096]).unwrap();
        assert!(Passphrase::from_file(&path).is_ok());
        std::fs::write(&path, vec![b'x'; 4097]).unwrap();
        assert!(Passphrase::from_file(&path).err().unwrap().to_string().contains("longer"));
        let missing = Passphrase::from_file(dir.path().join("none")).err().unwrap();
        assert!(missing.to_string().starts_with("cannot read the passphrase file "), "{missing}");
    }
}
