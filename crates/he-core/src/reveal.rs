//! The places where something that was computed from a secret becomes public.
//!
//! No branch and no address may depend on a secret, but some results of secrets are there to be
//! learned: that a tag is wrong, that a number does not fit, the identity of a key set. Such a
//! result passes through this module before anything depends on it, so that a search for its name
//! finds everything that the library reveals.
//!
//! `tests/memcheck` runs the library with all secrets marked as undefined, under valgrind, which
//! reports every branch and every address that depends on one. Results of this module count as
//! defined: each byte is looked up in a table of all bytes, and the address of that load is the one
//! report that the check expects and suppresses, by the name of [`byte`]. The check therefore needs
//! no other build of the library than the one that is used. It costs a nanosecond per byte.
//!
//! Nothing is hidden here: what passes through is known to whoever can observe the processor.

use std::hint::black_box;

/// Every byte at its own place.
static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

/// The same byte, whose address in the table it was.
#[inline(never)]
fn byte(value: u8) -> u8 {
    // Without the barrier, the compiler would see that nothing changes.
    black_box(&BYTES)[usize::from(value)]
}

/// Makes bytes public.
pub(crate) fn bytes<const N: usize>(values: [u8; N]) -> [u8; N] {
    values.map(byte)
}

/// Makes a word public.
pub(crate) fn word(value: u64) -> u64 {
    u64::from_le_bytes(bytes(value.to_le_bytes()))
}

/// Makes a number public.
pub(crate) fn number(value: f64) -> f64 {
    f64::from_bits(word(value.to_bits()))
}

/// Makes the answer to a question public.
pub(crate) fn bit(value: bool) -> bool {
    byte(u8::from(value)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_the_same() {
        assert!(bit(true) && !bit(false));
        for value in (0..64).map(|shift| 0x0123_4567_89ab_cdef_u64.rotate_left(shift)) {
            assert_eq!(word(value), value);
        }
        assert_eq!(bytes(std::array::from_fn::<u8, 256, _>(|i| i as u8)), BYTES);
        for value in [0.0, -1.5, f64::MAX, f64::INFINITY] {
            assert_eq!(number(value), value);
        }
        assert!(number(f64::NAN).is_nan() && number(-0.0).is_sign_negative());
    }
}
