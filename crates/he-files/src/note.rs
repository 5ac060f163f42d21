//! The application's description of an encrypted file or a key, in the attachment frame behind the
//! parameters.

mod content;
mod digits;
mod examples;
mod images;
mod integers;
mod search;
mod tables;

pub use content::{Content, check_range, rows_and_columns};
pub use digits::{DigitsNote, machine};
pub use examples::{ExamplesNote, MaskNote};
pub use images::{ImageNote, SamplesNote};
pub use integers::{IntegerColumnNote, IntegersNote, title};
pub use search::{MAX_SEGMENTS, MetricName, OccupancyNote, PlanNote, SearchNote, SearchPart, TaskNote};
pub use tables::{ColumnNote, EXPONENT, TableNote, pair_name, scale};

use crate::error::{Error, NoteError, Result};
use he_core::KeySetId;
use he_core::aes::container;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameKind};
use rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest batch in a file.
const MAX_BATCH: u32 = 64;

/// Sixteen random bytes, in hexadecimal, which are shared by the keys of one `keygen` and
/// everything that was encrypted with them: parameters alone do not distinguish the keys of two
/// people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// A fresh one.
    pub fn random(rng: &mut impl Rng) -> Self {
        Self(format!("{:032x}", (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64())))
    }

    /// The mark of a key set of the library.
    pub fn of(key_set: KeySetId) -> Self {
        Self(key_set.to_string())
    }

    /// The identity of a sensor key, in the same form.
    pub fn of_sensor(id: container::KeyId) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(id.0)))
    }

    fn check(&self) -> Result<()> {
        if self.0.len() == 32 && self.0.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(())
        } else {
            Err(bad("key id"))
        }
    }

    /// The form that the library compares: the same sixteen bytes, of an id that was checked.
    pub fn key_set(&self) -> Option<KeySetId> {
        self.0.parse().ok()
    }

    /// The form for people: the first eight digits.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or_default()
    }
}

/// The information in a key file besides the key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNote {
    /// The key set.
    pub key_id: KeyId,
    /// The sensor key that is encrypted in it: from version 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensor: Option<KeyId>,
    /// The parties that made it together, of BFV and BGV, where the noise that ciphertexts state is
    /// predicted by their number: from version 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parties: Option<u32>,
}

impl KeyNote {
    /// Describes a key that belongs to a key set.
    pub fn of(key_id: &KeyId) -> Self {
        Self { key_id: key_id.clone(), sensor: None, parties: None }
    }

    fn version(&self) -> Option<u64> {
        match self {
            Self { parties: Some(_), .. } => Some(4),
            Self { sensor: Some(_), .. } => Some(3),
            _ => None,
        }
    }

    fn check(&self) -> Result<()> {
        self.key_id.check()?;
        self.sensor.iter().try_for_each(KeyId::check)?;
        match self.parties {
            Some(parties) if !(2..1 << 16).contains(&parties) || self.sensor.is_some() => {
                Err(bad("number of parties"))
            }
            _ => Ok(()),
        }
    }
}

/// The information in an encrypted file besides its ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload<C = Content> {
    /// The key set.
    pub key_id: KeyId,
    /// The operations that were computed, the oldest first.
    pub history: Vec<String>,
    /// The content.
    pub content: C,
}

impl<C> Payload<C> {
    /// The description of the result of an operation.
    pub fn after(&self, operation: &str, content: C) -> Self {
        let mut history = self.history.clone();
        history.push(operation.to_owned());
        Self { key_id: self.key_id.clone(), history, content }
    }
}

/// The newest version of descriptions. The first is written without its number, and so is all that
/// it can hold.
const VERSION: u64 = 6;

/// The contents of encrypted files, as their descriptions state them.
pub trait Described: Serialize + DeserializeOwned {
    /// The least version of a description that can say it, unless that is the first.
    fn version(&self) -> Option<u64> {
        None
    }
}

impl Described for Content {
    fn version(&self) -> Option<u64> {
        match self {
            Self::Search(_) => Some(5),
            Self::Examples(note) => note.is_of_sentences().then_some(6),
            Self::Digits(_) => Some(6),
            _ => None,
        }
    }
}

/// The fields that descriptions of all versions have.
#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

/// The content of the attachment behind the parameters.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Note<C = Content> {
    /// The file is a key.
    Key(KeyNote),
    /// The file is encrypted content.
    Payload(Payload<C>),
}

impl<C: Described> Note<C> {
    /// From its frame behind parameters of this fingerprint, the content checked.
    ///
    /// # Errors
    /// The frame is not a description, or holds impossible numbers.
    pub fn checked(
        fingerprint: Fingerprint,
        frame: &Frame,
        check: impl FnOnce(&C) -> Result<()>,
    ) -> Result<Self> {
        if frame.kind != FrameKind::Attachment || frame.fingerprint != fingerprint {
            return Err(NoteError::Missing.into());
        }
        let Versioned { version } = serde_json::from_slice(&frame.body).map_err(|_| bad("field"))?;
        if let Some(found) = version.filter(|&found| found > VERSION) {
            return Err(NoteError::Version { found, newest: VERSION }.into());
        }
        let note: Self = match version {
            None => serde_json::from_slice(&frame.body),
            Some(_) => serde_json::from_slice(&frame.body).and_then(|mut fields: Map<String, Value>| {
                fields.remove("version");
                serde_json::from_value(fields.into())
            }),
        }
        .map_err(|_| bad("field"))?;
        let least = match &note {
            Self::Key(note) => {
                note.check()?;
                note.version()
            }
            Self::Payload(payload) => {
                payload.key_id.check()?;
                check(&payload.content)?;
                payload.content.version()
            }
        };
        // A description that a version cannot hold is not read under its number, nor under a later
        // one.
        if version != least {
            return Err(bad("version"));
        }
        Ok(note)
    }
}

/// The description of an encrypted file as an attachment, under the least version that can hold it.
///
/// # Errors
/// The description is too long, because the table has very many columns.
pub fn payload_frame<C: Described>(fingerprint: Fingerprint, payload: &Payload<C>) -> Result<Frame> {
    numbered(fingerprint, payload.content.version(), payload)
}

/// The frame of the description of a key file.
///
/// # Errors
/// None in practice.
pub fn key_frame(fingerprint: Fingerprint, note: &KeyNote) -> Result<Frame> {
    numbered(fingerprint, note.version(), note)
}

/// A description under the number of a version, unless that is the first.
fn numbered(fingerprint: Fingerprint, version: Option<u64>, note: &impl Serialize) -> Result<Frame> {
    #[derive(Serialize)]
    struct Numbered<'a, T> {
        version: u64,
        #[serde(flatten)]
        note: &'a T,
    }
    match version {
        None => to_frame(fingerprint, note),
        Some(version) => to_frame(fingerprint, &Numbered { version, note }),
    }
}

/// A description as an attachment.
fn to_frame(fingerprint: Fingerprint, note: &impl Serialize) -> Result<Frame> {
    let bytes = serde_json::to_vec(note).map_err(|_| bad("value"))?;
    if bytes.len() as u64 > Frame::MAX_ATTACHMENT {
        return Err(NoteError::TooLong.into());
    }
    Ok(Frame::attachment(fingerprint, bytes)?)
}

/// The description holds something that cannot be.
pub fn bad(what: &'static str) -> Error {
    NoteError::Impossible { what }.into()
}

/// Blocks of a power of two of rows, that hold all rows and fit a vector.
fn check_packed(packed: u64, rows: u64, batch: u32, most: u64) -> Result<()> {
    if packed.is_power_of_two() && packed <= most && rows <= packed && batch == 1 {
        return Ok(());
    }
    Err(bad("layout of columns"))
}

/// Bounds in order, and not so wide that their difference has no number.
fn check_bounds(low: i64, high: i64) -> bool {
    low <= high && high.checked_sub(low).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// A file's key set and that of its objects are the same bytes, and nothing that is read meets
    /// objects of another set.
    #[test]
    fn ids_are_identities_of_the_library() {
        use crate::scheme::OfKeySet;
        use he_core::tfhe::{TfheSecretKey, presets};
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let (id, other) = (KeyId::random(rng), KeyId::random(rng));
        assert_eq!(id.key_set().map(|id| id.to_string()), Some(id.0.clone()));
        assert_eq!(KeyId("x".repeat(32)).key_set(), None);
        let params = presets::insecure_small().expect("a preset");
        let secret = TfheSecretKey::generate(&params, rng).of(&id);
        assert_eq!(Some(secret.key_set()), id.key_set());
        let flags = secret.encrypt(&he::Device::cpu(), &[0], rng).expect("a digit");
        let flags = he_core::tfhe::EncryptedFlags::from_ciphertexts(flags).of(&other);
        let refused = secret.decrypt_flags(&flags);
        assert!(matches!(refused, Err(he_core::Error::KeyMismatch { .. })));
    }

    /// A description that a newer program wrote is refused by its number, whatever else it holds.
    #[test]
    fn newer_descriptions_are_refused_by_number() {
        let id = "0123456789abcdef".repeat(2);
        let read = |text: String| {
            let frame = Frame::attachment(Fingerprint([1; 32]), text.into_bytes()).unwrap();
            Note::<Content>::checked(Fingerprint([1; 32]), &frame, |_| Ok(()))
        };
        assert!(read(format!(r#"{{"key_id":"{id}"}}"#)).is_ok());
        for (found, rest) in [(7, ""), (8, r#","new":[{"deep":1}]"#), (u64::MAX, r#","key_id":3"#)] {
            let error = read(format!(r#"{{"version":{found}{rest}}}"#)).unwrap_err();
            let expected = found;
            match &error {
                Error::Note(NoteError::Version { found, newest: 6 }) => assert_eq!(*found, expected),
                other => panic!("{other}"),
            }
            assert_eq!(error.hint().as_deref(), Some("update the program"));
            assert!(error.to_string().contains(&format!("version {found} ")), "{error}");
        }
        // The first version has no number, keys have no other version, and a number is one.
        for (wrong, field) in [
            (format!(r#"{{"version":1,"key_id":"{id}"}}"#), "version"),
            (format!(r#"{{"version":2,"key_id":"{id}"}}"#), "version"),
            (r#"{"version":"2"}"#.to_owned(), "field"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(matches!(error, Error::Note(NoteError::Impossible { what }) if what == field), "{error}");
        }
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let column = ColumnNote { name: None, exponent: 0, count: 1, offset: 0.0, precision_bits: None };
        let table = |packed: Option<u64>, rows: u64, batch: u32| TableNote {
            rows,
            slots: 64,
            batch,
            precision_bits: 20.0,
            packed,
            columns: vec![column.clone(); 5],
            header: None,
        };
        assert!(table(Some(16), 16, 1).check(64).is_ok() && table(None, 1000, 64).check(64).is_ok());
        for (packed, rows, batch) in
            [(0, 1, 1), (3, 3, 1), (128, 3, 1), (16, 17, 1), (16, 16, 2), (u64::MAX, 1, 1)]
        {
            assert!(table(Some(packed), rows, batch).check(64).is_err(), "{packed}, {rows}, {batch}");
        }
        let offset = |offset| TableNote {
            columns: vec![ColumnNote { offset, ..column.clone() }],
            ..table(None, 1, 1)
        };
        assert!(offset(-1e300).check(64).is_ok() && offset(f64::NAN).check(64).is_err());
        let categories = |count: usize| Some((0..count).map(|i| i.to_string()).collect());
        let integers = |packed: u64, rows: u64, count: usize| IntegersNote {
            rows,
            batch: 1,
            summed: false,
            packed: Some(packed),
            columns: vec![
                IntegerColumnNote { name: None, low: 0, high: 1, categories: categories(count) },
                IntegerColumnNote { name: None, low: 0, high: 1, categories: None },
            ],
            header: None,
        };
        assert!(integers(8, 5, 4).check(64).is_ok());
        for (packed, rows, count) in [(8, 5, 5), (8, 9, 1), (0, 0, 1), (5, 5, 1), (64, 5, 1), (1 << 63, 5, 1)]
        {
            assert!(integers(packed, rows, count).check(64).is_err(), "{packed}, {rows}, {count}");
        }
    }

    #[test]
    fn old_descriptions_load_and_are_written_again() {
        let table = r#"{"type":"table","rows":2,"slots":2,"batch":64,"precision_bits":25.5,"columns":[{"name":"a","exponent":2,"count":1}]}"#;
        let integers = r#"{"type":"integers","rows":2,"batch":64,"summed":false,"columns":[{"name":null,"low":-4,"high":3,"categories":null}]}"#;
        for text in [table, integers] {
            let content: Content = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&content).unwrap(), text);
        }
        // Offsets come back to the last bit.
        for offset in [1e4, -0.1, 1.0 / 3.0, 12_345_678.901_234_567, f64::MAX, 5e-324] {
            let column =
                ColumnNote { name: None, exponent: 3, count: 1, offset, precision_bits: Some(offset) };
            let back: ColumnNote = serde_json::from_str(&serde_json::to_string(&column).unwrap()).unwrap();
            assert_eq!(back.offset.to_bits(), offset.to_bits());
        }
    }
}
