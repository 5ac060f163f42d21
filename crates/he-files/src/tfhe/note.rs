//! The description of the columns in a file of TFHE.

pub use crate::data::integers::Integers;

use crate::data::picture::{Channels, Depth, check_size};
use crate::data::table::MAX_VALUES;
use crate::error::{ContentError, Result};
use crate::note::{Described, bad, rows_and_columns};
use he_core::tfhe::TfheParams;
use he_core::wire::FrameKind;
use serde::{Deserialize, Serialize};

/// Widths of integers, in bits.
pub const WIDTHS: [u32; 6] = [8, 16, 32, 64, 128, 256];
/// The width of conditions.
pub(super) const CONDITION: u32 = 1;
/// Bits of a digit.
const DIGIT: u32 = 2;
/// Most bytes of the ciphertexts of a column, which is in memory as a whole.
pub(super) const MAX_COLUMN: u64 = 1 << 30;

/// Encrypted columns of integers, or of conditions, with one frame per column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnsNote {
    /// Bits of each integer; 1 for conditions, which are 0 or 1.
    pub width: u32,
    /// Whether the integers have a sign: from version 2 on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// Rows.
    pub rows: u64,
    /// The columns' names, if the table has a header.
    pub columns: Vec<Option<String>>,
    /// The picture whose channels the columns are: from version 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Pixels>,
}

/// The size of a picture, whose pixels are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pixels {
    /// Pixels in a row of the picture.
    pub width: u32,
    /// Rows of the picture.
    pub height: u32,
}

impl Pixels {
    /// All of them.
    pub fn count(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// The depth of samples that such integers are; conditions are black and white.
pub fn sample_depth(integers: Integers) -> Option<Depth> {
    match (integers.bits, integers.signed) {
        (CONDITION | 8, false) => Some(Depth::Eight),
        (16, false) => Some(Depth::Sixteen),
        _ => None,
    }
}

impl Described for ColumnsNote {
    fn version(&self) -> Option<u64> {
        match (self.picture, self.signed) {
            (Some(_), _) => Some(3),
            (None, true) => Some(2),
            (None, false) => None,
        }
    }
}

impl ColumnsNote {
    /// Describes columns of integers.
    ///
    /// # Errors
    /// A column is too large.
    pub fn new(
        Integers { bits: width, signed }: Integers,
        rows: usize,
        columns: Vec<Option<String>>,
        picture: Option<Pixels>,
        params: &TfheParams,
    ) -> Result<Self> {
        let note = Self { width, signed, rows: rows as u64, columns, picture };
        note.check_size(params)?;
        Ok(note)
    }

    /// Checks that the columns fit a file.
    ///
    /// # Errors
    /// They are too large.
    pub fn check_size(&self, params: &TfheParams) -> Result<()> {
        if self.ciphertexts(params).is_some() {
            return Ok(());
        }
        let most = MAX_COLUMN / (8 * params.words() as u64) / u64::from(self.width.div_ceil(DIGIT));
        Err(match self.picture {
            Some(Pixels { width, height }) => ContentError::Pixels { width, height, most }.into(),
            None => ContentError::Rows { rows: self.rows, width: self.width, most }.into(),
        })
    }

    /// The same numbers as a picture, if they can be the samples of one.
    #[must_use]
    pub fn with_picture(self, picture: Option<Pixels>) -> Self {
        let picture = picture.filter(|_| self.samples().is_some());
        Self { picture, ..self }
    }

    /// The samples that the numbers are, if they can be those of a picture.
    pub fn samples(&self) -> Option<(Channels, Depth)> {
        Channels::of_count(self.columns.len()).zip(sample_depth(self.integers()))
    }

    /// The description of the results of comparisons.
    #[must_use]
    pub fn conditions(self) -> Self {
        Self { width: CONDITION, signed: false, ..self }
    }

    /// The integers that it holds, if it does not hold conditions.
    pub fn integers(&self) -> Integers {
        Integers { bits: self.width, signed: self.signed }
    }

    /// Whether it holds conditions.
    pub fn is_conditions(&self) -> bool {
        self.width == CONDITION
    }

    /// Frames of its columns: whole ones, those whose masks are a seed, and compact lists.
    pub fn frame_kinds(&self) -> [FrameKind; 3] {
        if self.is_conditions() {
            [FrameKind::TfheFlags, FrameKind::TfheSeededFlags, FrameKind::TfheCompactFlags]
        } else {
            [FrameKind::TfheUint, FrameKind::TfheSeededUint, FrameKind::TfheCompactUint]
        }
    }

    /// Ciphertexts of a column, unless they are too many.
    fn ciphertexts(&self, params: &TfheParams) -> Option<usize> {
        let count = self.rows.checked_mul(u64::from(self.width.div_ceil(DIGIT)))?;
        let bytes = count.checked_mul(8 * params.words() as u64)?;
        usize::try_from(count).ok().filter(|_| bytes <= MAX_COLUMN)
    }

    /// Ciphertexts of a column of a description that was checked.
    pub fn most(&self, params: &TfheParams) -> usize {
        self.ciphertexts(params).unwrap_or_default()
    }

    /// Checks that all numbers are possible.
    ///
    /// # Errors
    /// A number is not possible, and the error names it.
    pub fn check(&self, params: &TfheParams) -> Result<()> {
        if !self.is_conditions() && !WIDTHS.contains(&self.width) {
            return Err(bad("width"));
        }
        if self.is_conditions() && self.signed {
            return Err(bad("sign of conditions"));
        }
        let values = self.rows.checked_mul(self.columns.len() as u64);
        if values.is_none_or(|v| v == 0 || v > MAX_VALUES as u64) || self.ciphertexts(params).is_none() {
            return Err(bad("number of rows or columns"));
        }
        match self.picture {
            Some(picture)
                if picture.count() != self.rows || check_size(picture.width, picture.height).is_err() =>
            {
                Err(bad("size of a picture"))
            }
            Some(_) if self.samples().is_none() => Err(bad("kind of samples")),
            _ => Ok(()),
        }
    }

    /// The number of values that it holds.
    pub fn values(&self) -> u64 {
        self.rows * self.columns.len() as u64
    }

    /// Its size, for people.
    pub fn shape(&self) -> String {
        if let (Some(Pixels { width, height }), Some((channels, _))) = (self.picture, self.samples()) {
            return format!("{width} x {height}, {}, {}", channels.name(), self.width_text());
        }
        format!("{}, {}", rows_and_columns(self.rows, self.columns.len()), self.width_text())
    }

    /// Describes the numbers for people.
    pub fn width_text(&self) -> String {
        if self.is_conditions() { "conditions, 0 or 1".to_owned() } else { self.integers().text() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::tfhe::presets;

    #[test]
    fn impossible_descriptions_are_refused() {
        let params = presets::digits_2m128().unwrap();
        let names = |count| vec![None; count];
        let good = ColumnsNote::new(Integers::unsigned(32), 3, names(2), None, &params).unwrap();
        for width in WIDTHS.into_iter().chain([CONDITION]) {
            ColumnsNote { width, ..good.clone() }.check(&params).unwrap();
        }
        let bad = |width, rows, columns| {
            let (signed, picture) = (false, None);
            let note = ColumnsNote { width, signed, rows, columns: names(columns), picture };
            note.check(&params).unwrap_err().to_string().to_owned()
        };
        for width in [0, 2, 7, 10, 512, u32::MAX] {
            assert!(bad(width, 3, 2).ends_with("impossible width"), "{width}");
        }
        // 2049 words of 8 bytes a digit: 4094 rows of 16 digits are 2^30 bytes and more.
        let most = (1u64 << 30) / (8 * 2049 * 16);
        for (rows, columns) in [(0, 1), (1, 0), (most + 1, 1), (u64::MAX, 1), (u64::MAX, 2), (most, 1 << 16)]
        {
            assert!(
                bad(32, rows, columns).ends_with("impossible number of rows or columns"),
                "{rows}, {columns}"
            );
        }
        ColumnsNote { rows: most, ..good.clone() }.check(&params).unwrap();
        ColumnsNote { signed: true, ..good.clone() }.check(&params).unwrap();
        let signed = ColumnsNote { signed: true, ..good.conditions() };
        assert!(signed.check(&params).unwrap_err().to_string().ends_with("impossible sign of conditions"));
        let error =
            ColumnsNote::new(Integers::unsigned(32), most as usize + 1, names(1), None, &params).unwrap_err();
        assert!(error.to_string().contains(&format!("at most {most} fit")), "{error}");
    }

    #[test]
    fn impossible_pictures_are_refused() {
        let params = presets::digits_2m128().unwrap();
        let picture = Some(Pixels { width: 3, height: 2 });
        let good = ColumnsNote { width: 8, signed: false, rows: 6, columns: vec![None; 3], picture };
        for columns in 1..=4 {
            for width in [CONDITION, 8, 16] {
                let note = ColumnsNote { width, columns: vec![None; columns], ..good.clone() };
                note.check(&params).unwrap();
                assert_eq!((note.version(), note.clone().with_picture(picture)), (Some(3), note));
            }
        }
        let bad = |note: ColumnsNote| note.check(&params).unwrap_err().to_string();
        for (width, height) in [(3, 1), (0, 0), (6, 0), (u32::MAX, u32::MAX), (1 << 31, 1 << 31)] {
            let error = bad(ColumnsNote { picture: Some(Pixels { width, height }), ..good.clone() });
            assert!(error.ends_with("impossible size of a picture"), "{width} x {height}: {error}");
        }
        for note in [
            ColumnsNote { width: 32, ..good.clone() },
            ColumnsNote { signed: true, ..good.clone() },
            ColumnsNote { columns: vec![None; 5], ..good.clone() },
        ] {
            assert!(bad(note.clone()).ends_with("impossible kind of samples"));
            assert_eq!(note.with_picture(picture).picture, None);
        }
        let tall = Some(Pixels { width: 1, height: 6 });
        ColumnsNote { picture: tall, ..good }.check(&params).unwrap();
    }

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        let read = |text: &str| serde_json::from_str::<ColumnsNote>(text).is_ok();
        assert!(read(r#"{"width":8,"rows":2,"columns":["a",null]}"#));
        assert!(!read(r#"{"width":8,"rows":2,"columns":["a"],"more":1}"#));
        assert!(!read(r#"{"width":8,"rows":2}"#));
        assert!(!read(r#"{"width":-8,"rows":2,"columns":["a"]}"#));
        assert!(!read(r#"{"width":8,"rows":2.5,"columns":["a"]}"#));
    }
}
