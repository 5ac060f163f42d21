//! Errors of key files, encrypted files and what they say of themselves, and files under AES.

use super::{DAMAGED, errors};

/// The remedy if a file and a key are of different sets.
pub(super) const SAME_SET: &str = "use the keys and files of one key set";
/// The remedy if a key is missing.
const KEYS: &str =
    "of a key set, the secret key decrypts, the public key encrypts, and evaluation keys compute";

/// The file that is needed where another one is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A key.
    Key,
    /// An encrypted file.
    Encrypted,
    /// One of both.
    Either,
}

impl Wanted {
    fn hint(self) -> &'static str {
        match self {
            Self::Key => KEYS,
            Self::Encrypted => "give an encrypted file",
            Self::Either => "give a key or an encrypted file",
        }
    }
}

errors! {
    /// Key files that cannot be used.
    pub enum KeyError {
        /// It is an encrypted file.
        Encrypted { name: String, needed: String }: ("{name} is an encrypted file, not {needed}"), ("{KEYS}");
        /// The file holds another kind of key.
        Kind { name: String, found: &'static str, needed: String }:
            ("{name} is {found}, not {needed}"), ("{KEYS}");
        /// It is a key of TFHE.
        OfTfhe { name: String, needed: String }:
            ("{name} is a key of tfhe, not {needed} of another scheme"), ("{SAME_SET}");
        /// It holds the keys of bootstrapping.
        Bootstrapping { name: String, needed: String }:
            ("{name} is a bootstrapping key, not {needed}"), ("{KEYS}");
        /// It does not hold the keys of bootstrapping.
        NotBootstrapping { name: String }:
            ("{name} is a key, but not a bootstrapping key"),
            ("give the bootstrapping keys, which are made with parameters that have bootstrapping");
        /// It belongs to a session of several parties.
        OfParties { name: String, found: String }:
            ("{name} holds a {found}, and no key"),
            ("it serves its session of several parties alone");
        /// It is an AES key.
        OfAes { name: String, needed: String }: ("{name} is an AES key, not {needed}"), ("{KEYS}");
        /// It is a key to compute with.
        NotAes { name: String, found: &'static str }:
            ("{name} is {found}, not an AES key"),
            ("give the key that the file was encrypted with");
        /// It is not a sensor key.
        NotSensor { name: String, found: &'static str }:
            ("{name} is {found}, not a sensor key"),
            ("give the AES key of a sensor, which is made for transciphering");
        /// It is not a key of TFHE.
        NotTfhe { name: String, found: &'static str, needed: String }:
            ("{name} is {found}, not {needed} of tfhe"), ("{KEYS}");
        /// It holds no key.
        NoKey { name: String }: ("{name} holds no key"), ("{DAMAGED}");
        /// It holds more keys than a ring has.
        TooMany { name: String }: ("{name} holds more keys than there are"), ("{DAMAGED}");
        /// It holds more than the one key that it may.
        Several { name: String }: ("{name} holds more than one key"), ("{DAMAGED}");
        /// It holds a key twice.
        Twice { name: String, key: String }: ("{name} holds the {key} twice"), ("{DAMAGED}");
        /// A file is encrypted under another scheme.
        Other { name: String, key: String }:
            ("{name} is not encrypted under the key set of {key}"), ("{SAME_SET}");
        /// A file belongs to another key set.
        Foreign { name: String, set: String, key: String, own: String }:
            ("{name} belongs to key set {set}, {key} to key set {own}"), ("{SAME_SET}");
    }
}

errors! {
    /// Encrypted files that cannot be read.
    pub enum FileError {
        /// It is a file of another session of parties.
        OtherSession { name: String, found: String, expected: String }:
            ("{name} belongs to session {found}, and the others to {expected}"),
            ("use the files that all parties made in one session");
        /// It is not the file of a session that is needed.
        NotOfParties { name: String, found: String, needed: String }:
            ("{name} holds {found}, and {needed} is needed");
        /// Its first bytes are those of something else.
        Kind { name: String, found: String, needed: String, wanted: Wanted }:
            ("{name} is {found}, not {needed}"), ("{}", wanted.hint());
        /// It is a key.
        IsKey { name: String }:
            ("{name} is a key, not an encrypted file"),
            ("{}", Wanted::Encrypted.hint());
        /// It is encrypted under another scheme than the key.
        Scheme { name: String, scheme: &'static str, key: &'static str }:
            ("{name} is encrypted by {scheme}, and the key is one of {key}"), ("{SAME_SET}");
        /// It has more or fewer ciphertexts than it says, or others.
        Count { name: String, how: &'static str }:
            ("{name} holds {how} ciphertexts than its description says"), ("{DAMAGED}");
        /// Its parameters are missing.
        NoParams { name: String }: ("{name} does not start with its parameters"), ("{DAMAGED}");
        /// Its parameters are below the bound of security.
        Insecure { log_n: u32, log_qp: f64, limit: u32 }:
            ("its parameters are insecure: log2(QP) = {log_qp:.1} at N = 2^{log_n}, where {limit} bits are secure"),
            ("use parameters of 128 bits of security");
        /// Its parameters are impossible.
        Params { reason: String }: ("its parameters cannot be used: {reason}"), ("{DAMAGED}");
    }
}

errors! {
    /// Descriptions of files that cannot be used.
    pub enum NoteError {
        /// It is missing.
        Missing: ("the description of the file is missing"), ("{DAMAGED}");
        /// It is of a version that this program does not read.
        Version { found: u64, newest: u64 }:
            ("version {found} of the description of the file is unknown, this program reads 1 to {newest}"),
            ("update the program");
        /// It holds something that cannot be.
        Impossible { what: &'static str }:
            ("the description of the file holds an impossible {what}"),
            ("get an undamaged copy of the file, or a newer version of this program");
        /// It is too long.
        TooLong:
            ("the names and scales of the columns do not fit the encrypted file"),
            ("cut the table into parts of fewer columns");
    }
}

errors! {
    /// Files that cannot be encrypted or decrypted under AES.
    pub enum AesFileError {
        /// It needs a key.
        NeedsKey { name: String, key: String }:
            ("{name} was encrypted under key {key}, not by a passphrase"), ("give the key");
        /// It needs a passphrase.
        NeedsPassphrase { name: String }:
            ("{name} was encrypted by a passphrase, not under a key"),
            ("give the passphrase in place of a key");
        /// It is a folder, and a range is asked for.
        [request] RangeOfFolder { name: String }:
            ("{name} holds a folder, and a range is for files"),
            ("decrypt all of it, or decrypt to a .tar file and cut that");
        /// A range is asked for of something that cannot seek.
        RangeOfStream { name: String }:
            ("{name} is not a regular file, and a range needs one"),
            ("decrypt all of it, or save it as a file first");
        /// A range goes beyond the end.
        Range { name: String, bytes: u64 }:
            ("{name} holds {bytes} bytes, and the range goes further"),
            ("give a range within 0..{bytes}");
        /// It is truncated.
        Truncated { name: String }: ("{name} is truncated"), ("{DAMAGED}");
    }
}
