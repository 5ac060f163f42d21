//! Bytes of parameters, keys and ciphertexts: `docs/format.md` is the specification.
//!
//! A file is a sequence of frames. Each has a magic, a version, a kind, the fingerprint of its
//! parameters, a length that is checked against the parameters before anything is allocated, a body
//! and a BLAKE3 checksum; the last frame holds a hash over all frames, so that truncated, reordered
//! or repeated frames are detected. Polynomials are packed to the width of their primes; parts that
//! come from a seed are stored as the seed.
//!
//! Programs that send single objects use their methods `to_bytes` and `from_bytes`: a byte string
//! is the sequence of an object's frames, with the identity of its key set. The functions here are
//! for files that hold more.
//!
//! ```
//! use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
//! # fn main() -> he_core::Result<()> {
//! # let mut rng = he_core::rand::rng();
//! // The client makes the keys, and sends parameters, evaluation keys and a ciphertext.
//! let params = CkksParams::for_depth(1).precision_bits(20).build()?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let public = PublicKey::generate(&secret, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation();
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//! let plain = Encoder::new(&params, &ring)?.encode_real(&[0.5, 3.0], params.encoding())?;
//! let x = Encryptor::new(&params, &public)?.encrypt(&plain, &mut rng)?;
//! let sent = [params.to_bytes()?, keys.to_bytes(&params)?, x.to_bytes(&params)?];
//!
//! // The server computes; keys of another client would be refused.
//! let params = CkksParams::from_bytes(&sent[0])?;
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let keys = EvaluationKeys::from_bytes(&params, &ring, &sent[1])?;
//! let x = Ciphertext::from_bytes(&params, &ring, &sent[2])?;
//! let answer = Evaluator::new(&params, &ring)?.square(&x, &keys)?.to_bytes(&params)?;
//!
//! let y = Ciphertext::from_bytes(&params, &ring, &answer)?;
//! let y = Decryptor::new(&params, &secret, &ring)?.decrypt(&y)?;
//! let y = Encoder::new(&params, &ring)?.decode_real(&y)?;
//! assert!((y[0][1] - 9.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```

pub mod bigckks;
mod bootstrapping;
mod bytes;
mod exact;
mod frame;
mod mhe;
mod numbers;
mod object;
mod objects;
mod residues;
mod strings;
mod switching;
pub mod tfhe;
mod words;

use crate::error::errors;
pub use exact::{ExactHeader, WireScheme};
pub use frame::{Frame, FrameHeader, FrameKind, FramePlace, FrameReader, FrameWriter, SealedFrame, VERSION};
pub use mhe::party_frame_limit;
use object::as_written;
pub use object::{SchemeParams, SwitchKeyUse, Wire, WireKeys, WireParams, first_frame_limit};
pub use objects::CiphertextHeader;

errors! {
    /// Bytes that are not a valid object, or that could not be read or written.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum WireError {
        /// The magic is missing.
        NotThisFormat:
            ("these bytes are not a homomorphic-encryption file");
        /// A version unknown to this program.
        UnsupportedVersion {
            /// The version of the bytes.
            found: u16,
            /// The newest version known.
            supported: u16,
        }:
            ("format version {found} is unknown, this program reads 1 to {supported}"),
            ("update the program");
        /// A version of a body that is unknown to this program.
        UnsupportedBody {
            /// The kind of frame.
            kind: FrameKind,
            /// The version of the body.
            found: u8,
            /// The newest version known.
            supported: u8,
        }:
            ("version {found} of a {kind} is unknown, this program reads up to {supported}"),
            ("update the program");
        /// A version of a body that this program no longer reads.
        RetiredBody {
            /// The kind of frame.
            kind: FrameKind,
            /// The version of the body.
            found: u8,
            /// The oldest version that is read.
            oldest: u8,
        }:
            ("version {found} of a {kind} is of an earlier program, this one reads {oldest} and later"),
            ("generate the parameters and their keys again");
        /// A kind of frame that is unknown to this program.
        UnknownKind {
            /// The number found.
            found: u16,
        }:
            ("frame kind {found} is unknown, this program reads kinds up to {}", FrameKind::LAST),
            ("update the program, or get an undamaged copy");
        /// Another kind of frame than the required one.
        UnexpectedKind {
            /// The kind found.
            found: FrameKind,
            /// The required kind.
            expected: FrameKind,
        }:
            ("a {found} where a {expected} is needed");
        /// A frame that was made under other parameters.
        WrongParams {
            /// The kind of frame.
            kind: FrameKind,
            /// Its fingerprint.
            found: String,
            /// The fingerprint expected.
            expected: String,
        }:
            ("the {kind} was made under other parameters (fingerprint {found}, expected {expected})");
        /// A length that the kind and the parameters do not allow.
        Length {
            /// The kind of frame.
            kind: FrameKind,
            /// The length found.
            found: u64,
            /// The greatest or only length possible.
            expected: u64,
        }:
            ("a {kind} of {found} bytes, where {expected} are possible");
        /// The checksum does not match: the bytes were damaged.
        Checksum {
            /// The kind of frame.
            kind: FrameKind,
        }:
            ("the checksum of a {kind} does not match: the bytes are damaged");
        /// The bytes end too early.
        Truncated:
            ("the bytes end in the middle of a frame or without an end mark: the file is truncated");
        /// Frames are missing, repeated or out of order.
        Sequence:
            ("frames are missing, repeated or out of order");
        /// Another key of bootstrapping than the one that comes next, or none.
        UnexpectedKey {
            /// The purpose of the key that was found.
            found: String,
            /// The purpose of the key that is needed.
            expected: String,
        }:
            ("{found} where {expected} comes next"),
            ("get an undamaged copy, or generate the keys again with this version");
        /// Bytes after the end mark.
        Trailing:
            ("there are bytes after the end mark");
        /// A residue that is not below its prime.
        Residue {
            /// The kind of frame.
            kind: FrameKind,
            /// Index of the limb.
            limb: usize,
        }:
            ("limb {limb} of a {kind} holds a number that is not below its prime");
        /// A field with an impossible value.
        Field {
            /// The kind of frame.
            kind: FrameKind,
            /// The field.
            field: &'static str,
        }:
            ("a {kind} holds an impossible {field}");
    }
    wrapping {
        /// Reading or writing failed.
        Io(error: std::io::Error): error.to_string(), None;
    }
}
