//! The information of a picture's file about its colours and its size on paper, which is kept
//! through encryption, in public.

use super::Channels;
use crate::units;
use serde::{Deserialize, Serialize};

/// The longest ICC profile that is kept. Profiles of screens and cameras have hundreds to thousands
/// of bytes.
pub const MAX_PROFILE: usize = 1 << 18;
/// Bytes of an ICC profile's header.
const HEADER: usize = 128;
/// Resolutions that are kept, in pixels per unit of length.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-3..=1e7;

/// An ICC profile: what the numbers of the channels mean as colours. Only its frame is inspected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Profile(Vec<u8>);

impl Profile {
    /// A profile from its bytes, unless they are not a profile, or too many.
    pub fn new(mut bytes: Vec<u8>) -> Option<Self> {
        let size = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
        if size < HEADER || size > bytes.len() || size > MAX_PROFILE || bytes[36..40] != *b"acsp" {
            return None;
        }
        // Some files pad.
        bytes.truncate(size);
        Some(Self(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is for these channels: a profile of colours does not apply to gray, and vice
    /// versa.
    pub fn fits(&self, channels: Channels) -> bool {
        self.0[16..20] == *if channels.light() == 1 { b"GRAY" } else { b"RGB " }
    }
}

impl From<Profile> for String {
    fn from(profile: Profile) -> Self {
        profile
            .0
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
            .collect()
    }
}

impl TryFrom<String> for Profile {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const BAD: &str = "not an ICC profile in hexadecimal";
        if text.len() > 2 * MAX_PROFILE || !text.len().is_multiple_of(2) {
            return Err(BAD);
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks_exact(2).map(byte).collect();
        bytes.and_then(Self::new).ok_or(BAD)
    }
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// 2.54 cm: JPEG and TIFF.
    #[serde(rename = "inch")]
    Inch,
    /// JPEG and TIFF.
    #[serde(rename = "cm")]
    Centimetre,
    /// PNG.
    #[serde(rename = "m")]
    Metre,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Inch => "inch",
            Self::Centimetre => "cm",
            Self::Metre => "m",
        }
    }

    fn metres(self) -> f64 {
        match self {
            Self::Inch => 0.0254,
            Self::Centimetre => 0.01,
            Self::Metre => 1.0,
        }
    }
}

/// Pixels per unit of length, as the file had it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    /// Across.
    pub x: f64,
    /// Down.
    pub y: f64,
    /// The length.
    pub unit: Unit,
}

impl Resolution {
    /// `None` if the resolution is impossible.
    pub fn new(x: f64, y: f64, unit: Unit) -> Option<Self> {
        Some(Self { x, y, unit }).filter(Self::is_possible)
    }

    /// Whether both numbers are of a possible size.
    pub fn is_possible(&self) -> bool {
        POSSIBLE.contains(&self.x) && POSSIBLE.contains(&self.y)
    }

    /// In another unit.
    pub fn per(self, unit: Unit) -> [f64; 2] {
        let factor = if unit == self.unit { 1.0 } else { unit.metres() / self.unit.metres() };
        [self.x * factor, self.y * factor]
    }

    /// The resolution of a picture that was rotated by a quarter turn.
    pub fn turned(self) -> Self {
        Self { x: self.y, y: self.x, ..self }
    }

    /// For people.
    pub fn text(&self) -> String {
        format!("{} x {} pixels per {}", self.x, self.y, self.unit.name())
    }
}

/// The metadata that are kept with the samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The meaning of the colours.
    pub profile: Option<Profile>,
    /// The size on paper.
    pub resolution: Option<Resolution>,
}

impl Metadata {
    /// A description for people, or `None` if there is nothing.
    pub fn text(&self) -> Option<String> {
        let profile = self
            .profile
            .as_ref()
            .map(|profile| format!("colour profile ({})", units::bytes(profile.0.len() as u64)));
        let resolution = self.resolution.map(|resolution| format!("resolution ({})", resolution.text()));
        match (profile, resolution) {
            (Some(profile), Some(resolution)) => Some(format!("{profile} and {resolution}")),
            (profile, resolution) => profile.or(resolution),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The frame of a profile.
    pub fn profile(space: &[u8; 4], len: usize) -> Profile {
        let mut bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        bytes[..4].copy_from_slice(&(len as u32).to_be_bytes());
        bytes[16..20].copy_from_slice(space);
        bytes[36..40].copy_from_slice(b"acsp");
        Profile::new(bytes).unwrap()
    }

    #[test]
    fn profiles_are_bounded_and_come_back() {
        for len in [128, 129, 3144, MAX_PROFILE] {
            let profile = profile(b"RGB ", len);
            let text = String::from(profile.clone());
            assert_eq!(Profile::try_from(text.clone()).unwrap(), profile);
            assert!(Profile::try_from(text[1..].to_owned()).is_err());
            // Bytes after the profile are ignored, up to the limit.
            assert_eq!(Profile::try_from(text + "00").is_ok(), len < MAX_PROFILE);
        }
        let good = profile(b"GRAY", 200).0;
        let changed = |at: usize, bytes: &[u8]| {
            let mut bad = good.clone();
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            Profile::new(bad)
        };
        assert_eq!(changed(0, &150u32.to_be_bytes()).unwrap().bytes().len(), 150);
        for (at, bytes) in
            [(0, 201u32.to_be_bytes()), (0, 127u32.to_be_bytes()), (0, [0xff; 4]), (36, *b"nope")]
        {
            assert!(changed(at, &bytes).is_none());
        }
        assert!(Profile::new(vec![]).is_none() && Profile::new(vec![0; 3]).is_none());
        for text in ["", "0", "zz", "\u{e9}\u{e9}", &"0".repeat(2 * MAX_PROFILE + 2)] {
            assert!(Profile::try_from(text.to_owned()).is_err());
        }
        assert!(
            profile(b"GRAY", 128).fits(Channels::GrayAlpha) && !profile(b"GRAY", 128).fits(Channels::Rgb)
        );
        assert!(profile(b"RGB ", 128).fits(Channels::Rgba) && !profile(b"CMYK", 128).fits(Channels::Rgb));
    }

    #[test]
    fn resolutions_change_their_unit() {
        let resolution = Resolution::new(300.0, 150.0, Unit::Inch).unwrap();
        assert_eq!(resolution.per(Unit::Inch), [300.0, 150.0]);
        let [x, y] = resolution.per(Unit::Metre);
        assert!((x - 11811.02).abs() < 0.01 && (y - 5905.51).abs() < 0.01, "{x} {y}");
        assert_eq!(resolution.text(), "300 x 150 pixels per inch");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e8] {
            assert!(
                Resolution::new(bad, 1.0, Unit::Metre).is_none()
                    && Resolution::new(1.0, bad, Unit::Metre).is_none()
            );
        }
    }
}
