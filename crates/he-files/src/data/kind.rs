//! The kind of data in the clear: pictures or tables, recognised by their first bytes.

use super::picture::Format;
use super::table::looks_like_table;
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::passphrase::is_sealed;
use crate::transcipher::is_sensor_file;
use he_core::aes::container;

/// The bytes by which data are recognised.
pub const PEEK: usize = 4096;

/// The kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A picture, or nothing at all.
    Picture,
    /// Text, which may be a table.
    Table,
}

impl Kind {
    /// Looks at the first bytes. `frame` is the chosen picture of several, which tables have not.
    ///
    /// # Errors
    /// The data are neither, or a frame is chosen of a table.
    pub fn of(input: &mut Input, frame: Option<u32>) -> Result<Self> {
        let name = input.name().to_owned();
        let start = input.peek(PEEK)?;
        if start.is_empty() || Format::sniff(start).is_some() || Format::sniff_foreign(start).is_some() {
            return Ok(Self::Picture);
        }
        if [is_sealed, is_sensor_file, is_container, is_frames].iter().any(|is| is(start)) {
            return Err(ContentError::OurFile { name }.into());
        }
        match (looks_like_table(start), frame) {
            (true, None) => Ok(Self::Table),
            (true, Some(_)) => Err(ContentError::FrameOfTable { name }.into()),
            (false, _) => Err(ContentError::Unknown { name }.into()),
        }
    }
}

fn is_container(start: &[u8]) -> bool {
    start.starts_with(&container::MAGIC)
}

fn is_frames(start: &[u8]) -> bool {
    start.starts_with(b"HEWF")
}
