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
        if operations == 3 {
            parts.program = Program::Model(rng.random());
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
