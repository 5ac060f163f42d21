//! Traces, their bytes and their trees.

use super::*;
use crate::error::Error;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

/// A generator with a random seed, which a failed test shows.
fn rng() -> ChaCha20Rng {
    let seed = he_core::rand::rng().random();
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// A trace of so many operations, each of which computes from some values before it.
fn random(operations: usize, rng: &mut ChaCha20Rng) -> Parts {
    let digests =
        |count: usize, rng: &mut ChaCha20Rng| -> Vec<Checksum> { (0..count).map(|_| rng.random()).collect() };
    let files = [Role::Input, Role::Input, Role::Key]
        .map(|role| File { role, frames: digests(rng.random_range(3..6), rng) })
        .to_vec();
    let mut list: Vec<Operation> = Vec::new();
    for index in 0..operations {
        let value = |rng: &mut ChaCha20Rng| match rng.random_range(0..=index) {
            0 => Value::Frame { file: rng.random_range(0..2), frame: 2 },
            before => {
                let part = rng.random_range(0..list[before - 1].results.len()) as u32;
                Value::Result { operation: before as u32 - 1, part }
            }
        };
        let of = (0..rng.random_range(1..4)).map(|_| value(rng)).collect();
        let results = digests(rng.random_range(1..3), rng);
        list.push(Operation { name: format!("step {index}"), of, results });
    }
    let last = Value::Result { operation: operations as u32 - 1, part: 0 };
    let program = Program::Operation(r#"{"name":"add"}"#.to_owned());
    Parts { program, files, operations: list, head: rng.random(), result: vec![last] }
}

fn refused(bytes: &[u8]) -> TraceError {
    match Trace::from_bytes(bytes).unwrap_err() {
        Error::Trace(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn bytes_are_read_as_they_were_written() {
    let rng = &mut rng();
    for operations in [1, 2, 3, 17] {
        let mut parts = random(operations, rng);
        match operations {
            2 => parts.program = Program::Parts { context: rng.random(), operation: rng.random() },
            3 => parts.program = Program::Model(rng.random()),
            _ => {}
        }
        let trace = Trace::new(parts).unwrap();
        let bytes = trace.to_bytes().unwrap();
        let read = Trace::from_bytes(&bytes).unwrap();
        assert_eq!(read, trace);
        assert_eq!(read.to_bytes().unwrap(), bytes);
    }
}

/// No byte of a file can be another one, be missing, or follow.
#[test]
fn every_byte_counts() {
    let rng = &mut rng();
    let bytes = Trace::new(random(4, rng)).unwrap().to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1 << rng.random_range(0..8);
        refused(&other);
        refused(&bytes[..at]);
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(refused(&longer), TraceError::NotATrace { why: "something follows it" });
    assert_eq!(refused(b"HE-TRACE\x02\0\0\0"), TraceError::Version { found: 2, supported: 1 });
}

/// Counts beyond the bytes that follow are refused before memory is taken for them.
#[test]
fn counts_are_bounded() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0, 0, 0]);
    bytes.extend([0; 32]);
    bytes.extend([1]);
    bytes.extend([0; 32]);
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend([0; 100]);
    assert_eq!(refused(&bytes), TraceError::NotATrace { why: "it ends too early" });
}

/// Each thing that can be another one in a trace has another root.
#[test]
fn the_root_stands_for_everything() {
    let rng = &mut rng();
    let parts = random(6, rng);
    let root = Trace::new(parts.clone()).unwrap().root();
    type Alter = fn(&mut Parts);
    let alterations: Vec<(&str, Alter)> = vec![
        ("operation", |p| p.program = Program::Operation(r#"{"name":"sub"}"#.to_owned())),
        ("model", |p| p.program = Program::Model([0; 32])),
        ("parts", |p| p.program = Program::Parts { context: [0; 32], operation: 1 }),
        ("frame of an input", |p| p.files[0].frames[2][5] ^= 1),
        ("description of an input", |p| p.files[1].frames[1][31] ^= 128),
        ("part of a key", |p| p.files[2].frames[2][0] ^= 1),
        ("role", |p| p.files[1].role = Role::Key),
        ("files", |p| p.files.push(File { role: Role::Key, frames: vec![[1; 32]; 2] })),
        ("order of keys", |p| p.files[2].frames.swap(0, 1)),
        ("name", |p| p.operations[3].name.push('x')),
        ("operand", |p| p.operations[3].of[0] = Value::Frame { file: 1, frame: 1 + 1 }),
        ("operands", |p| {
            let first = p.operations[4].of[0];
            p.operations[4].of.push(first);
        }),
        ("result", |p| p.operations[0].results[0][9] ^= 4),
        ("results", |p| p.operations[2].results.push([3; 32])),
        ("last result", |p| p.operations[5].results[0][9] ^= 4),
        ("operations", |p| p.operations.push(p.operations[0].clone())),
        ("description of the result", |p| p.head[1][0] ^= 1),
        ("parts of the result", |p| p.result.push(Value::Result { operation: 0, part: 0 })),
        ("result of another operation", |p| p.result[0] = Value::Result { operation: 4, part: 0 }),
    ];
    for (what, alter) in alterations {
        let mut other = parts.clone();
        alter(&mut other);
        if other != parts {
            assert_ne!(Trace::new(other).unwrap().root(), root, "{what}");
        }
    }
}

#[test]
fn values_are_made_before_they_are_used() {
    let rng = &mut rng();
    let parts = random(5, rng);
    for value in [
        Value::Result { operation: 2, part: 0 },
        Value::Result { operation: 4, part: 0 },
        Value::Result { operation: 1, part: 9 },
        Value::Frame { file: 0, frame: 99 },
        Value::Frame { file: 9, frame: 2 },
        // Parameters and description are not ciphertexts.
        Value::Frame { file: 0, frame: 1 },
    ] {
        let mut other = parts.clone();
        other.operations[2].of[0] = value;
        let found = Trace::new(other).unwrap_err();
        assert!(matches!(found, Error::Trace(TraceError::NoValue { operation: 2, .. })), "{value:?}");
    }
    let mut other = parts.clone();
    other.result[0] = Value::Result { operation: 5, part: 0 };
    assert!(Trace::new(other).is_err());
    let mut other = parts;
    other.operations[1].results.clear();
    assert!(Trace::new(other).is_err());
}

/// The first difference is found in as many questions as a tree has rows, wherever it is.
#[test]
fn differences_are_found() {
    let rng = &mut rng();
    for leaves in [1, 2, 3, 5, 8, 13, 64, 100] {
        let list: Vec<Checksum> = (0..leaves).map(|_| rng.random()).collect();
        let tree = Tree::new(list.clone());
        assert_eq!(tree.first_difference(&tree.clone()), None);
        for first in 0..leaves {
            let mut others = list.clone();
            others[first] = rng.random();
            for other in others.iter_mut().skip(first + 1) {
                if rng.random() {
                    *other = rng.random();
                }
            }
            let found = tree.first_difference(&Tree::new(others)).unwrap();
            let questions = leaves.next_power_of_two().ilog2() as usize;
            assert_eq!(found, Difference { leaf: first, questions });
        }
        assert_eq!(tree.first_difference(&Tree::new(list[1..].to_vec())), None);
    }
}

/// The names and values of all operations, and the values of the result, as a program states them.
fn outline(trace: &Trace) -> Vec<(&str, &[Value])> {
    trace.operations().iter().map(|operation| (&*operation.name, &*operation.of)).collect()
}

/// Opened operations belong to the root, and to no other program, files, place or result.
#[test]
fn openings_belong_to_one_root() {
    let rng = &mut rng();
    for operations in [1, 2, 3, 6, 17] {
        let trace = Trace::new(random(operations, rng)).unwrap();
        let places = [rng.random_range(0..operations), rng.random_range(0..operations)];
        let opening = trace.open(&places).unwrap();
        assert_eq!(Opening::from_bytes(&opening.to_bytes().unwrap()).unwrap(), opening);
        let (named, result) = (outline(&trace), trace.result());
        let files = trace.files();
        opening.check(&Expected { files, operations: &named, result }).unwrap();
        // An auditor with other inputs or keys, or of another program.
        let mut others = files.to_vec();
        let file = rng.random_range(0..others.len());
        others[file].frames[0][9] ^= 1;
        assert!(opening.check(&Expected { files: &others, operations: &named, result }).is_err());
        let place = opening.opened()[0].operation;
        let mut other = named.clone();
        other[place].0 = "another step";
        assert!(opening.check(&Expected { files, operations: &other, result }).is_err());
        let fewer = &named[..operations - 1];
        assert!(opening.check(&Expected { files, operations: fewer, result }).is_err());
        assert!(opening.check(&Expected { files, operations: &named, result: &[] }).is_err());
    }
}

/// Whatever bit of an opening is another one, it cannot be read, or does not belong to the root
/// that an auditor knows. A program, which an auditor compares by itself, is a part of the root.
#[test]
fn every_bit_of_an_opening_counts() {
    let rng = &mut rng();
    let trace = Trace::new(random(6, rng)).unwrap();
    let bytes = trace.open(&[1, 4]).unwrap().to_bytes().unwrap();
    let keys = trace.files().iter().filter(|file| file.role == Role::Key);
    let keys: Vec<File> = keys.cloned().collect();
    let expected = Expected { files: trace.files(), operations: &outline(&trace), result: trace.result() };
    let is_accepted = |bytes: &[u8]| {
        Opening::from_bytes(bytes).is_ok_and(|opening| {
            let same = opening.root() == trace.root() && opening.keys().eq(keys.iter().cloned());
            let chosen = [1, 4].iter().all(|&place| opening.find(place).is_some());
            same && chosen && opening.check(&expected).is_ok()
        })
    };
    assert!(is_accepted(&bytes));
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1 << rng.random_range(0..8);
        assert!(!is_accepted(&other), "byte {at}");
        assert!(!is_accepted(&bytes[..at]), "{at} bytes");
    }
    assert!(!is_accepted(&[&bytes[..], &[0]].concat()));
    for none in [vec![], vec![6], vec![0, 99]] {
        assert!(trace.open(&none).is_err());
    }
}

/// The last operations of an inference are opened with any others: an auditor sees the result.
#[test]
fn results_of_inferences_are_opened() {
    let rng = &mut rng();
    let mut parts = random(5, rng);
    parts.program = Program::Model(rng.random());
    let trace = Trace::new(parts).unwrap();
    let opening = trace.open(&[0]).unwrap();
    let opened: Vec<usize> = opening.opened().iter().map(|opened| opened.operation).collect();
    assert_eq!(opened, [0, 4]);
    assert_eq!(opening.result_frames().collect::<Vec<_>>(), [(0, trace.operations()[4].results[0])]);
}

/// Signatures are those of Ed25519 as another implementation checks them, on one root, by one
/// signer.
#[test]
fn roots_are_signed() {
    let rng = &mut rng();
    let (key, other) = (SigningKey::generate(rng), SigningKey::generate(rng));
    let root: Checksum = rng.random();
    let signed = key.sign(&root);
    signed.check(&root, &key.verifying_key()).unwrap();
    let public: [u8; 32] = unhex(&signed.signer).unwrap();
    let signature: [u8; 64] = unhex(&signed.signature).unwrap();
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public);
    public.verify(&[SIGNED, &root].concat(), &signature).unwrap();

    let found = |signed: &SignedRoot, root: &Checksum, key: &SigningKey| {
        signed.check(root, &key.verifying_key()).unwrap_err().to_string()
    };
    let mut another = root;
    another[rng.random_range(0..32)] ^= 1 << rng.random_range(0..8);
    assert!(found(&signed, &another, &key).contains("that of the trace is"));
    assert!(found(&signed, &root, &other).contains("and not by"));
    // A signature of somebody else under this name, one on another root, and a damaged one.
    let forged = SignedRoot { signer: signed.signer.clone(), ..other.sign(&root) };
    let moved = SignedRoot { root: signed.root.clone(), ..key.sign(&another) };
    let mut bytes = signature;
    bytes[rng.random_range(0..64)] ^= 1 << rng.random_range(0..8);
    let damaged = SignedRoot { signature: hex(&bytes), ..signed.clone() };
    let short = SignedRoot { signature: String::new(), ..signed.clone() };
    for bad in [forged, moved, damaged, short] {
        assert!(found(&bad, &root, &key).contains("is not valid"), "{bad:?}");
    }
}

/// Keys and signed roots come back from their files, and nothing else is one.
#[test]
fn keys_and_signed_roots_are_files() {
    let rng = &mut rng();
    let key = SigningKey::generate(rng);
    let read = |bytes: &[u8]| Input::from_bytes("file", bytes.to_vec());
    let pem = key.to_pem().unwrap();
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
    let again = SigningKey::read(read(pem.as_bytes())).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    let public = key.verifying_key().to_pem().unwrap();
    assert!(public.starts_with("-----BEGIN PUBLIC KEY-----"));
    assert_eq!(VerifyingKey::read(read(public.as_bytes())).unwrap(), key.verifying_key());
    // The key of RFC 8410, 10.3, and its public key of 10.1.
    let example = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    let example = SigningKey::read(read(example.as_bytes())).unwrap();
    assert_eq!(
        example.verifying_key().to_string(),
        "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
    );
    for bad in [&b""[..], b"\xff\xfe", public.as_bytes(), &pem.as_bytes()[..60], &[b'-'; 5000]] {
        assert!(SigningKey::read(read(bad)).is_err());
    }
    assert!(VerifyingKey::read(read(pem.as_bytes())).is_err());
    let signed = key.sign(&[7; 32]);
    assert_eq!(SignedRoot::read(read(signed.to_json().as_bytes())).unwrap(), signed);
    for bad in ["", "{}", "[]", &signed.to_json()[1..], &signed.to_json().replace('}', ",\"more\":1}")] {
        assert!(SignedRoot::read(read(bad.as_bytes())).is_err(), "{bad}");
    }
}
