//! Databases for private look-ups on a service.

use super::{Attempt, LONGEST, Remote};
use crate::error::{CliError, Result};
use he_lookup::{Answer, Description, Query};
use std::path::Path;

/// The longest answer that is read.
const LONGEST_ANSWER: u64 = 1 << 32;

impl Remote {
    /// The path of a database there.
    fn lookup_path(name: &Path) -> Result<String> {
        let name = name.to_str().filter(|name| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        });
        let name = name.filter(|name| !name.starts_with('.')).ok_or_else(|| {
            CliError::usage("this is not the name of a database on a service")
                .hint("give one that GET /v1/lookups of the service lists, of letters, digits, - _ and .")
        })?;
        Ok(format!("/v1/lookups/{name}"))
    }

    fn bytes(&self, method: &str, path: &str, body: Option<&[u8]>, most: u64) -> Attempt<Vec<u8>> {
        let kind = [("Content-Type", "application/octet-stream")];
        let headers = if body.is_some() { &kind[..] } else { &[] };
        let mut answer = self.ask(method, path, headers, body)?;
        let bytes = answer.body_mut().with_config().limit(most).read_to_vec();
        bytes.map_err(|error| self.silent(&error))
    }

    /// The public description of a database there.
    ///
    /// # Errors
    /// There is no such database, the description is damaged or insecure, or the service does not
    /// answer.
    pub fn lookup_description(&self, name: &Path) -> Result<Description> {
        let path = format!("{}/description", Self::lookup_path(name)?);
        let bytes = self.persist(|_| self.bytes("GET", &path, None, LONGEST))?;
        let description = Description::from_bytes(&bytes).map_err(he_files::Error::from);
        Ok(description.map_err(|error| error.in_file_of(&format!("{}{path}", self.base)))?)
    }

    /// The answer to a query there, as bytes.
    ///
    /// # Errors
    /// The query is damaged, or for another version of the database; the service does not answer.
    pub fn lookup_answer(&self, name: &Path, query: &[u8]) -> Result<Vec<u8>> {
        let path = format!("{}/answers", Self::lookup_path(name)?);
        Ok(self.persist(|_| self.bytes("POST", &path, Some(query), LONGEST_ANSWER))?)
    }

    /// Asks a database there, and reads the answer.
    ///
    /// # Errors
    /// The errors of [`lookup_answer`](Self::lookup_answer); the answer is damaged.
    pub fn look_up(&self, name: &Path, description: &Description, query: &Query) -> Result<Answer> {
        let bytes = self.lookup_answer(name, &query.to_bytes(description.params()))?;
        Ok(Answer::from_bytes(description, &bytes).map_err(he_files::Error::from)?)
    }
}
