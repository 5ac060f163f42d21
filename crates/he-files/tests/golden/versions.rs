//! Versions that this program does not know: a good file of each kind with another number is
//! refused by that number, with what to do.

use super::{committed, input};
use he::Device;
use he_core::aes::container::ContainerError;
use he_core::wire::{FrameKind, WireError};
use he_files::Error;
use he_files::aes_file::Sealed;
use he_files::cipher_file::CipherReader;
use he_files::error::{NoteError, PassphraseError, TraceError, TranscipherError};
use he_files::key_file::AnyKey;
use he_files::models::ModelFile;
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::{BigCkks, Ckks};
use he_files::tfhe;
use he_files::trace::{Opening, Trace};
use he_files::transcipher::SensorFile;

/// The fields of a frame: 48 bytes of header, the body, 32 bytes of checksum.
fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut frames, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[40..48].try_into().unwrap()) as usize + 80;
        frames.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    frames
}

/// The same file with another frame in its place, whose length and checksum are made to fit.
fn with(name: &str, number: usize, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frames = frames(&committed(name));
    let frame = &mut frames[number];
    let kept = frame.len() - 32;
    frame.truncate(kept);
    change(frame);
    let length = frame.len() as u64 - 48;
    frame[40..48].copy_from_slice(&length.to_le_bytes());
    let checksum = blake3::hash(frame);
    frame.extend(checksum.as_bytes());
    frames.concat()
}

/// The cause of an error, without the names of files around it.
fn cause<T>(result: Result<T, Error>) -> Error {
    let mut error = result.err().expect("an unknown version is refused");
    let (text, hint) = (error.to_string(), error.hint());
    let says = |what: &str, to_do: &str| {
        text.contains(what) && hint.as_ref().is_some_and(|hint| hint.starts_with(to_do))
    };
    let newer = says("is unknown, this program reads ", "update the program");
    let older = says("is of an earlier program, this one reads ", "generate the parameters and their keys");
    assert!(newer || older, "{text}: {hint:?}");
    while let Error::InFile { source, .. } | Error::Unreadable { source, .. } = error {
        error = *source;
    }
    error
}

fn wire(error: &Error) -> &WireError {
    match error {
        Error::Core(he_core::Error::Wire(error)) => error,
        other => panic!("{other}"),
    }
}

/// Nobody is asked for a passphrase.
fn unasked(_: Purpose, _: &str) -> he_files::error::Result<Passphrase> {
    panic!("asked for a passphrase")
}

fn key(bytes: Vec<u8>) -> Result<AnyKey, Error> {
    AnyKey::read(input(bytes), "a key", Some(&unasked))
}

#[test]
fn frames_of_other_versions() {
    let newer = |frame: &mut Vec<u8>| frame[4] = 2;
    for name in ["ckks", "bfv", "bgv", "bigckks", "tfhe"] {
        for number in [0, 1, 2] {
            let error = cause(key(with(&format!("{name}_secret_key.he"), number, newer)));
            let by_number = matches!(wire(&error), WireError::UnsupportedVersion { found: 2, supported: 1 });
            assert!(by_number, "{name}: {error}");
        }
    }
    let error = cause(key(with("aes_key.he", 0, newer)));
    assert!(matches!(wire(&error), WireError::UnsupportedVersion { found: 2, supported: 1 }), "{error}");
    // Newer versions of files are refused in each place.
    let read = |bytes: Vec<u8>| -> Result<(), Error> {
        let mut reader = CipherReader::<Ckks>::new(input(bytes))?;
        reader.verified()?;
        reader.end()
    };
    for number in 0..4 {
        let error = cause(read(with("ckks_table.he", number, newer)));
        let by_number = matches!(wire(&error), WireError::UnsupportedVersion { found: 2, supported: 1 });
        assert!(by_number, "frame {number}: {error}");
    }
    read(committed("ckks_table.he")).unwrap();
}

#[test]
fn frames_of_other_kinds() {
    let error = cause(key(with("ckks_public_key.he", 2, |frame| frame[6] = 99)));
    assert!(matches!(wire(&error), WireError::UnknownKind { found: 99 }), "{error}");
}

#[test]
fn bodies_of_other_versions() {
    let error = cause(key(with("ckks_public_key.he", 0, |frame| {
        frame.splice(48..48, [0, 3]);
    })));
    let by_number = matches!(
        wire(&error),
        WireError::UnsupportedBody { kind: FrameKind::CkksParams, found: 3, supported: 2 }
    );
    assert!(by_number, "{error}");
    // Versions 1 to 6 had keys of other rotations and digits.
    for version in [0, 1, 2, 3, 4, 5, 6, 8] {
        let error = cause(key(with("../bootstrapping_parameters.he", 0, |frame| frame[48] = version)));
        let by_number = match wire(&error) {
            WireError::RetiredBody { kind, found, oldest: 7 } => {
                *kind == FrameKind::CkksBootstrapParams && *found == version && (1..7).contains(&version)
            }
            WireError::UnsupportedBody { kind, found, supported: 7 } => {
                *kind == FrameKind::CkksBootstrapParams && *found == version && [0, 8].contains(&version)
            }
            _ => false,
        };
        assert!(by_number, "{error}");
    }
}

#[test]
fn descriptions_of_other_versions() {
    let newer = |frame: &mut Vec<u8>| {
        assert_eq!(frame[48], b'{');
        frame.splice(49..49, br#""version":7,"#.iter().copied());
    };
    let of_note = |error: Error| matches!(error, Error::Note(NoteError::Version { found: 7, newest: 6 }));
    for name in ["ckks", "bfv", "bgv", "bigckks", "tfhe"] {
        assert!(of_note(cause(key(with(&format!("{name}_secret_key.he"), 1, newer)))), "{name}");
    }
    for name in ["ckks_image.he", "ckks_table.he", "model_examples.he"] {
        assert!(of_note(cause(CipherReader::<Ckks>::new(input(with(name, 1, newer))))), "{name}");
    }
    assert!(of_note(cause(CipherReader::<BigCkks>::new(input(with("bigckks_table.he", 1, newer))))));
    assert!(of_note(cause(tfhe::file::Reader::new(input(with("tfhe_integers.he", 1, newer))))));
    // Signs are of version 2, and what has none is of version 1.
    let numbered = |frame: &mut Vec<u8>| drop(frame.splice(49..49, br#""version":2,"#.iter().copied()));
    let earlier = |frame: &mut Vec<u8>| {
        let number = br#""version":2,"#;
        assert_eq!(frame[49..49 + number.len()], number[..]);
        frame.drain(49..49 + number.len());
    };
    // Images are of version 3, and so are encrypted sensor keys.
    let second = |frame: &mut Vec<u8>| {
        let number = br#""version":3,"#;
        assert_eq!(frame[49..49 + number.len()], number[..]);
        frame[49 + 10] = b'2';
    };
    let error = key(with("tfhe_sensor_key.he", 1, second)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "golden: the description of the file holds an impossible version");
    for bytes in [
        with("tfhe_integers.he", 1, numbered),
        with("tfhe_signed_integers.he", 1, earlier),
        with("tfhe_image.he", 1, second),
    ] {
        let error = tfhe::file::Reader::new(input(bytes)).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "golden: the description of the file holds an impossible version");
    }
    // Keys of several parties are of version 4, and of schemes whose ciphertexts state their noise.
    let replaced = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |frame: &mut Vec<u8>| {
            let at = frame.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
            drop(frame.splice(at..at + from.len(), to.bytes()));
        }
    };
    for (name, from, to, what) in [
        ("bgv_collective_public_key.he", "\"version\":4", "\"version\":3", "version"),
        ("bgv_collective_public_key.he", "\"version\":4,", "", "version"),
        ("bgv_collective_public_key.he", "\"parties\":3", "\"parties\":1", "number of parties"),
        ("bgv_collective_public_key.he", "\"parties\":3", "\"parties\":65536", "number of parties"),
        ("ckks_public_key.he", "{", "{\"version\":4,\"parties\":3,", "number of parties"),
    ] {
        let error = key(with(name, 1, replaced(from, to))).map(|_| ()).unwrap_err().to_string();
        assert!(error.ends_with(&format!("holds an impossible {what}")), "{name}: {error}");
    }
}

#[test]
fn other_files_of_other_versions() {
    let changed = |name: &str, at: usize, version: u8| {
        let mut bytes = committed(name);
        bytes[at] = version;
        bytes
    };
    let error = cause(key(changed("aes_sealed_key.he", 8, 3)));
    assert!(matches!(error, Error::Passphrase(PassphraseError::Version { found: 3, newest: 2 })), "{error}");
    let error = cause(SensorFile::read(input(changed("sensor_table.he", 8, 2))));
    let by_number =
        matches!(error, Error::Transcipher(TranscipherError::Version { found: 2, newest: 1, .. }));
    assert!(by_number, "{error}");
    let error = cause(Sealed::read(input(changed("aes_folder.he", 8, 2))));
    assert!(matches!(error, Error::Container(ContainerError::Version { found: 2 })), "{error}");
    let error = cause(ModelFile::from_bytes("golden", &changed("model_plan.he", 8, 5)));
    assert!(matches!(error, Error::Nn(he_nn::Error::Version { found: 5, supported: 4 })), "{error}");
    let error = Trace::from_bytes(&changed("trace.he", 8, 2)).map(drop);
    assert!(matches!(cause(error), Error::Trace(TraceError::Version { found: 2, supported: 1 })));
    let error = Opening::from_bytes(&changed("trace_opening.he", 8, 2)).map(drop);
    assert!(matches!(cause(error), Error::Trace(TraceError::Version { found: 2, supported: 1 })));
    // The good ones are read.
    let model = ModelFile::from_bytes("golden", &committed("model_plan.he")).unwrap();
    model.engine(Device::cpu()).unwrap();
}
