//! 32 bytes as 64 hexadecimal digits, in files of parties.

use he_core::mhe::Digest;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

pub fn text(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digits in lower case alone, so that there is one form.
pub fn parse(text: &str) -> Option<[u8; 32]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    bytes.try_into().ok().filter(|_| rest.is_empty())
}

pub fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(&digest.0))
}

pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Digest, D::Error> {
    let digits = String::deserialize(from)?;
    parse(&digits).map(Digest).ok_or_else(|| D::Error::custom("64 hexadecimal digits are needed"))
}
