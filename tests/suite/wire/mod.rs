//! The wire format: what is written is read back, and nothing else is. Hostile bytes give an error,
//! never a panic or a wrong object.

mod bodies;
mod bootstrapping;
mod files;
mod fuzz;
mod objects;
mod round_trips;
mod sealed;

use super::common::*;
use super::golden::generator;
use he::arith::Modulus;
use he::backend::Cpu;
use he::ckks::SeededCiphertext;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, SecretEncryptor, presets};
use he::ring::Ring;
use he::rlwe::Fingerprint;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he::wire::{self, Frame, FrameKind, FramePlace, FrameReader, FrameWriter, WireError};
use he::wire::{Wire, WireKeys, WireParams};
use he::{Error, Result};
use proptest::prelude::*;
use rand::{RngExt, rngs::ChaCha20Rng};
use std::io::{self, Read, Write};
use std::sync::LazyLock;

const HEADER: usize = 48;
const CHECKSUM: usize = 32;

fn write(frames: &[Frame], fingerprint: Fingerprint) -> Vec<u8> {
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames {
        let before = Frame::size(frame.body.len() as u64);
        assert_eq!(writer.write(frame).unwrap(), before);
    }
    writer.finish(fingerprint).unwrap()
}

fn read_with(bytes: impl Read, limit: impl Fn(FrameKind) -> u64) -> Result<Vec<Frame>, WireError> {
    let mut reader = FrameReader::new(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame(|kind, _| limit(kind))? {
        frames.push(frame);
    }
    // The end stays the end.
    assert!(reader.next_frame(|_, _| u64::MAX).unwrap().is_none());
    Ok(frames)
}

fn read(bytes: &[u8]) -> Result<Vec<Frame>, WireError> {
    read_with(bytes, |_| 1 << 20)
}

/// A frame as its bytes, for breaking: everything but the checksum, which is always right.
#[derive(Clone)]
struct Raw(Vec<u8>);

impl Raw {
    fn body(&mut self) -> &mut [u8] {
        &mut self.0[HEADER..]
    }

    fn kind(&mut self, kind: u16) -> &mut Self {
        self.0[6..8].copy_from_slice(&kind.to_le_bytes());
        self
    }

    /// Another body, the length in the header with it.
    fn set_body(&mut self, body: &[u8]) -> &mut Self {
        self.0.truncate(HEADER);
        self.0.extend(body);
        self.0[40..48].copy_from_slice(&(body.len() as u64).to_le_bytes());
        self
    }

    fn checksum(&self) -> [u8; CHECKSUM] {
        *blake3::hash(&self.0).as_bytes()
    }

    fn bytes(&self) -> Vec<u8> {
        [&self.0[..], &self.checksum()].concat()
    }
}

/// The frames of a file, without the end mark.
fn raws(bytes: &[u8]) -> Vec<Raw> {
    let (mut at, mut frames) = (0, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 40..at + 48].try_into().unwrap()) as usize;
        let end = at + HEADER + length;
        frames.push(Raw(bytes[at..end].to_vec()));
        at = end + CHECKSUM;
    }
    frames.pop();
    frames
}

fn end_mark(frames: &[Raw]) -> Raw {
    let mut chain = blake3::Hasher::new();
    frames.iter().for_each(|frame| {
        chain.update(&frame.checksum());
    });
    let mut mark = Raw(frames.first().map_or(vec![0; HEADER], |frame| frame.0[..HEADER].to_vec()));
    mark.0[..6].copy_from_slice(b"HEWF\x01\x00");
    let body = [&(frames.len() as u64).to_le_bytes()[..], chain.finalize().as_bytes()].concat();
    mark.kind(9).set_body(&body);
    mark
}

/// Frames with right checksums and a right end mark.
fn seal(frames: &[Raw]) -> Vec<u8> {
    frames.iter().chain([&end_mark(frames)]).flat_map(Raw::bytes).collect()
}

/// One set of parameters with one of each object.
struct Zoo {
    world: World,
    frames: Vec<Frame>,
    bytes: Vec<u8>,
}

impl Zoo {
    fn new(log_n: u32) -> Self {
        let rng = &mut rng(40);
        // Widths of 45, 36 and 37 bits: rows of N = 4 end within a byte.
        let spec = chain(log_n, &[45.0, 35.9, 36.1], &[46], &[1, 2, 3], 36.0);
        let world = World::new(&CkksParams::insecure(spec).unwrap(), [1], rng);
        let params = &world.params;
        let slots = params.slots();
        let plain = world.encode(&random_values(rng, 2, slots), 2);
        let ct = world.encrypt_plain(&plain, rng);
        let low = world.random(1, 1, 0, rng).ct;
        let seeded =
            SecretEncryptor::new(params, &world.secret, &world.ring).unwrap().encrypt(&plain, rng).unwrap();
        let (public, others) = generator::unseeded(&world.public, &world.keys).unwrap();
        let mut keys = world.keys.to_frames(params).chain(others.to_frames(params));
        let mut next = || keys.next().unwrap().unwrap();
        let frames = vec![
            params.to_frame(),
            world.secret.to_frame(params).unwrap(),
            world.public.to_frame(params).unwrap(),
            next(),
            next(),
            ct.to_frame(params).unwrap(),
            low.to_frame(params).unwrap(),
            seeded.to_frame(params).unwrap(),
            public.to_frame(params).unwrap(),
            next(),
            next(),
            Frame::attachment(params.fingerprint(), b"a note of the application".to_vec()).unwrap(),
        ];
        let bytes = write(&frames, params.fingerprint());
        drop(keys);
        Self { world, frames, bytes }
    }

    /// Decodes a frame by its kind and encodes the object again.
    fn recode(&self, frame: &Frame) -> Result<Frame> {
        recode(&self.world.params, &self.world.ring, frame)
    }

    /// A frame of another body, right in everything else.
    fn with_body(&self, index: usize, body: &[u8]) -> Frame {
        let mut raw = raws(&self.bytes)[index].clone();
        raw.set_body(body);
        read(&seal(&[raw])).unwrap().remove(0)
    }
}

fn recode(params: &CkksParams, ring: &Ring<Cpu>, frame: &Frame) -> Result<Frame> {
    match frame.kind {
        FrameKind::CkksParams => Ok(CkksParams::from_frame_insecure(frame)?.to_frame()),
        FrameKind::SecretKey => SecretKey::from_frame(params, (), frame)?.to_frame(params),
        FrameKind::PublicKey | FrameKind::UnseededPublicKey => {
            PublicKey::from_frame(params, ring, frame)?.to_frame(params)
        }
        FrameKind::RelinKey
        | FrameKind::GaloisKey
        | FrameKind::UnseededRelinKey
        | FrameKind::UnseededGaloisKey => {
            let mut keys = EvaluationKeys::empty(params.rlwe(), ring)?;
            keys.insert_frame(params, frame)?;
            let mut frames = keys.to_frames(params);
            frames.next().unwrap()
        }
        FrameKind::CkksCiphertext => Ciphertext::from_frame(params, ring, frame)?.to_frame(params),
        FrameKind::CkksSeededCiphertext => {
            SeededCiphertext::from_frame(params, ring, frame)?.to_frame(params)
        }
        _ => Ok(Frame::attachment(frame.fingerprint, frame.body.to_vec())?),
    }
}

/// N = 4: the file is short enough for every length and every byte.
static SMALL: LazyLock<Zoo> = LazyLock::new(|| Zoo::new(2));
/// N = 32, no row ends within a byte.
static ZOO: LazyLock<Zoo> = LazyLock::new(|| Zoo::new(5));

fn equal(a: &Frame, b: &Frame) -> bool {
    a.kind == b.kind && a.fingerprint == b.fingerprint && a.body == b.body
}

const PARAMS: usize = 0;
const SECRET: usize = 1;
const PUBLIC: usize = 2;
const GALOIS: usize = 4;
const CIPHERTEXT: usize = 5;
const SEEDED: usize = 7;
/// The frames of objects with residues: all but the parameters, the secret key and the attachment.
const POLYNOMIALS: std::ops::Range<usize> = 2..11;

/// Sets bits `at .. at + count` of a little-endian bit string.
fn set_bits(bytes: &mut [u8], at: usize, count: usize, value: u64) {
    for i in 0..count {
        let (byte, bit) = ((at + i) / 8, (at + i) % 8);
        bytes[byte] = bytes[byte] & !(1 << bit) | ((value >> i & 1) as u8) << bit;
    }
}

/// The header of a ciphertext with one byte changed.
fn zoo_header(at: usize, byte: u8) -> Result<wire::CiphertextHeader> {
    let mut body = ZOO.frames[CIPHERTEXT].body.to_vec();
    body[at] = byte;
    wire::CiphertextHeader::from_frame(&ZOO.world.params, &ZOO.with_body(CIPHERTEXT, &body))
}
