//! The descriptions in complete files.

use he_files::Result;
use he_files::info;
use he_files::io::input::Input;
use serde_json::Value;

/// Reads all of a file, verifies its checksums, and describes it as `he-cli info --json` does.
///
/// # Errors
/// It is damaged, or of insecure parameters.
pub fn file(input: Input) -> Result<Value> {
    Ok(info::describe(input, None, None)?.json())
}
