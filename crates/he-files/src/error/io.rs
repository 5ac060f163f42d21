//! Errors of inputs, outputs, archives and passphrases.

use super::errors;
use crate::units::bytes;

/// The advice for an archive that cannot be unpacked here.
pub(crate) const ELSEWHERE: &str = "decrypt to a .tar file, and unpack that with another program";

errors! {
    /// Inputs that cannot be read.
    pub enum InputError {
        /// It is a folder.
        Folder { path: String }: ("cannot read {path}: it is a folder"), ("name a file inside it");
        /// It is longer than any valid file of its kind.
        TooLarge { name: String, limit: u64 }:
            ("{name} is larger than {}", bytes(*limit)),
            ("this is more than any valid file of this kind needs");
    }
}

errors! {
    /// Outputs that cannot be written.
    pub enum OutputError {
        /// It is read, too.
        IsInput { path: String }: ("{path} is both input and output"), ("write to another file");
        /// It has no name.
        [request] NoName: ("the output has an empty name"), ("give a path");
        /// It is a folder.
        Folder { path: String, inside: String }:
            ("cannot write {path}: it is a folder"), ("name a file inside it, such as {inside}");
        /// Several files are written, and no folder is named for them.
        [request] NeedsFolder:
            ("the results are several files and need a folder"), ("name a folder, such as out/");
        /// The path of a folder leads to something else.
        NotAFolder { path: String }:
            ("cannot write into {path}: it is not a folder"), ("choose another folder");
        /// A file exists.
        Exists { path: String }:
            ("{path} exists already"), ("choose another name, or allow to replace it");
        /// A folder, or something in its place, exists.
        FolderExists { path: String }:
            ("{path} exists already"), ("choose another name; a folder is never replaced");
        /// The path of the folder above leads to something else.
        ParentNotAFolder { path: String, folder: String }:
            ("cannot write {path}: {folder} is not a folder"), ("choose another path");
        /// The folder above does not exist.
        NoParent { path: String, folder: String }:
            ("cannot write {path}: the folder {folder} does not exist"),
            ("create it first: mkdir -p {folder}");
        /// It lies in the folder that is encrypted.
        InsideInput { path: String, folder: String }:
            ("{path} lies inside {folder}, which is to be encrypted"), ("write to another folder");
        /// Its writer ended early.
        Ended { name: String }: ("{name} is no longer being written");
        /// No thread can be started to write it.
        NoThread { name: String, reason: String }: ("cannot start a thread to write {name}: {reason}");
    }
}

errors! {
    /// Folders that cannot be packed or unpacked.
    pub enum ArchiveError {
        /// Something lies too deep to be unpacked again.
        TooDeep { path: String, most: usize }:
            ("{path} lies more than {most} folders deep"),
            ("move it up, or encrypt an archive of your own");
        /// A file became shorter.
        Shortened { path: String }:
            ("{path} became shorter while it was read"), ("try again when nobody writes to it");
        /// Neither file, folder nor link.
        OddFile { path: String }:
            ("{path} is neither file, folder nor link"),
            ("move it out of the folder, or encrypt an archive of your own");
        /// An archive is damaged, or beyond the limits.
        Refused { name: String, why: String }: ("cannot unpack into {name}: {why}"), ("{ELSEWHERE}");
        /// An entry leads out of the folder.
        Outside { entry: String, name: String }:
            ("the entry {entry} would lie outside of {name}"), ("{}", super::DAMAGED);
        /// An entry is neither file, folder nor link.
        OddEntry { entry: String }:
            ("the entry {entry} is neither file, folder nor link"), ("{ELSEWHERE}");
    }
}

errors! {
    /// Passphrases, and files sealed by them, that cannot be used.
    pub enum PassphraseError {
        /// It is empty.
        Empty: ("the passphrase is empty"), ("give at least one character; six words are good");
        /// It is too long.
        TooLong { most: usize }:
            ("the passphrase is longer than {most} bytes"),
            ("is this the right file? its first line is taken");
        /// It is wrong, or the file is damaged: which of both cannot be known.
        Refused:
            ("wrong passphrase or damaged key file"),
            ("type the passphrase again; if it is right, restore the file from a copy");
        /// A version of sealed keys that this program does not read.
        Version { found: u8, newest: u8 }:
            ("version {found} of sealed keys is unknown, this program reads 1 to {newest}"),
            ("update the program");
        /// Argon2id does not get its memory.
        NoMemory { mebibytes: u32 }:
            ("not enough memory to make a key of the passphrase"), ("this takes {mebibytes} MiB");
        /// The secret that is to be sealed is too large.
        TooLarge: ("the secret is too large to seal");
    }
}
