//! Errors of files of SEAL.

use super::{DAMAGED, errors};

errors! {
    /// Bytes that are not a file of SEAL 4 that is read here, or an object that it has no file for.
    pub enum SealError {
        /// Another format.
        NotSeal:
            ("these bytes are not a file of SEAL"),
            ("give what the method save of SEAL wrote");
        /// Another version.
        Version { major: u8, minor: u8 }:
            ("a file of SEAL {major}.{minor}, and those of SEAL 4 are read"),
            ("load it in SEAL 4 and save it again");
        /// A way to compress that SEAL does not have.
        Compression { found: u8 }:
            ("compression {found} of a file of SEAL, and 0 (none), 1 (zlib) and 2 (zstd) are known"),
            ("save it with one of these");
        /// Compressed data are damaged, or become too long.
        Damaged { most: usize }:
            ("compressed data of a file of SEAL are damaged, or longer than the {most} bytes that are expected"),
            ("{DAMAGED}");
        /// A length.
        Length { what: &'static str, found: u64, expected: u64 }:
            ("{what} of a file of SEAL: {found}, where {expected} is expected"),
            ("{DAMAGED}");
        /// A field that cannot be.
        Field { what: &'static str, found: String }:
            ("{what} of a file of SEAL: {found}"),
            ("{DAMAGED}, or give one of another kind");
        /// A ciphertext or a key of other parameters.
        OtherParameters { primes: usize }:
            ("a ciphertext or key of SEAL over {primes} prime(s) of other parameters"),
            ("give the parameters that it was made under");
        /// A product that was not relinearised.
        Size { found: u64 }:
            ("a ciphertext of SEAL of {found} polynomials, and those of 2 are read"),
            ("relinearise it before it is saved");
        /// A ciphertext or a key whose second half is a seed of a generator that is not read.
        Generator { found: u8 }:
            ("an object of SEAL whose second polynomial is a seed of generator {found}, and 1 (BLAKE2Xb) is read"),
            ("save one of SEAL's default generator, or a Ciphertext or key and not a Serializable");
        /// A scheme that is not read.
        Scheme { found: u8 }:
            ("the scheme {found} of a file of SEAL, and 1 (BFV) and 2 (CKKS) are read"),
            ("use one of these");
        /// Parameters that SEAL does not have.
        [request] NotOfSeal { why: &'static str }:
            ("SEAL has no file for this: {why}"),
            ("use parameters that were read from a file of SEAL");
    }
}
