//! Why something failed, as answers tell it and as the database keeps it.

use serde::{Deserialize, Serialize};

/// The fault, and the advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The fault.
    pub detail: String,
    /// The advice.
    pub hint: Option<String>,
}

/// A file that is not what is needed, or damaged: the reader's own words.
impl From<&he_files::Error> for Cause {
    fn from(error: &he_files::Error) -> Self {
        Self { detail: error.to_string(), hint: error.hint() }
    }
}
