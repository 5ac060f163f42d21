//! Parsers of the values of options.

use he_core::aes::KeySize;
use he_files::bootstrap::Named;
use he_files::tfhe::note::WIDTHS;
#[cfg(feature = "bench")]
use std::time::Duration;

/// Parameters with bootstrapping, by name.
pub fn preset(text: &str) -> Result<Named, String> {
    text.parse()
}

/// Bits of an integer under TFHE.
pub fn width(text: &str) -> Result<u32, String> {
    let known = text.parse().ok().filter(|width| WIDTHS.contains(width));
    known.ok_or_else(|| "give 8, 16, 32, 64, 128 or 256".to_owned())
}

/// Bits of an AES key.
pub fn key_size(text: &str) -> Result<KeySize, String> {
    let known = KeySize::ALL.into_iter().find(|size| size.bits().to_string() == text);
    known.ok_or_else(|| "give 128, 192 or 256".to_owned())
}

/// The separator of fields: a character, or a word for one.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\n\r".contains(byte) => {
                Ok(*byte)
            }
            _ => {
                Err("give one character that is not a letter, a digit or a quote, or the word tab".to_owned())
            }
        },
    }
}

/// A time limit.
#[cfg(feature = "bench")]
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give seconds, from 0.001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_format() {
        for known in WIDTHS {
            assert_eq!(width(&known.to_string()), Ok(known));
        }
        for unknown in ["", "0", "1", "12", "512", "-8", "8.0", "eight"] {
            assert!(width(unknown).is_err(), "{unknown:?}");
        }
    }

    #[test]
    fn delimiters_are_single_characters_that_no_field_needs() {
        for (text, byte) in
            [("tab", b'\t'), ("\\t", b'\t'), (",", b','), (";", b';'), ("|", b'|'), (" ", b' ')]
        {
            assert_eq!(delimiter(text), Ok(byte), "{text:?}");
        }
        for text in ["", "a", "7", "\"", "\n", "\r", ",,", "\u{a7}", "comma"] {
            assert!(delimiter(text).is_err(), "{text:?}");
        }
    }

    #[cfg(feature = "bench")]
    #[test]
    fn limits_are_times_that_can_be_waited_for() {
        for (text, millis) in [("0.001", 1), ("20", 20_000), ("1e6", 1_000_000_000)] {
            assert_eq!(seconds(text), Ok(Duration::from_millis(millis)), "{text:?}");
        }
        for text in ["", "0", "-1", "1e7", "nan", "inf", "1s"] {
            assert!(seconds(text).is_err(), "{text:?}");
        }
    }
}
