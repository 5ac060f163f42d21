//! Indexes of encrypted vectors, and the answers to queries.
//!
//! An index is an object without a file: the database has its description, and which objects hold
//! its segments. These are in use, and cannot be deleted, as long as there is the index.

use crate::problem::{Answer, Problem};
use crate::store::Store;
use axum::http::StatusCode;
use he::Device;
use he_files::cipher_file::{CipherReader, Written};
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_file::AnyKey;
use he_files::scheme::{Ckks, OneOf};
use he_files::search::{self, IndexDescription, Position, StoredIndex, Wanted};
use he_files::watch::Watch;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// The name of an index in errors.
pub const NAME: &str = "the index";

/// The longest description of an index in the database, in bytes.
const LONGEST: usize = 1 << 20;

/// An index as the database has it.
#[derive(Clone, Debug)]
pub struct Index {
    description: IndexDescription,
    /// The objects of the files of the description, by their numbers.
    objects: Vec<String>,
    /// The key set that answers its queries, if it was made with one.
    key_set: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Row {
    index: Value,
    objects: Vec<String>,
    key_set: Option<String>,
}

impl Index {
    /// An index without records.
    pub fn new(description: IndexDescription, key_set: Option<String>) -> Self {
        Self { description, objects: Vec::new(), key_set }
    }

    /// Reads what [`text`](Self::text) has written.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn read(text: &str) -> Answer<Self> {
        let Row { index, objects, key_set } = serde_json::from_str(text).map_err(Problem::internal)?;
        let description = IndexDescription::from_bytes(index.to_string().as_bytes(), NAME)?;
        Ok(Self { description, objects, key_set })
    }

    /// The index in JSON, as clients see it as well.
    ///
    /// # Errors
    /// The description has become too long.
    pub fn text(&self) -> Answer<String> {
        let index: Value = serde_json::from_slice(&self.description.to_bytes()).map_err(Problem::internal)?;
        let (objects, key_set) = (&self.objects, &self.key_set);
        let mut whole = json!(Row { index, objects: objects.clone(), key_set: key_set.clone() });
        whole["segments"] = self.description.segments().into();
        whole["records"] = self.description.records().into();
        let text = whole.to_string();
        if text.len() > LONGEST {
            let what = format!("the description would have {} bytes, where {LONGEST} are kept", text.len());
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "length", what)
                .hint("make another index of the records that are left"));
        }
        Ok(text)
    }

    /// Appends the records of an object whose file begins so, unless it has them already.
    ///
    /// # Errors
    /// They are not records of this plan and key set; there are more segments than planned.
    pub fn append(&mut self, object: &str, segment: &CipherReader<Ckks>) -> Answer<()> {
        if self.objects.iter().any(|known| known == object) {
            return Ok(());
        }
        self.description.append(segment, NAME)?;
        self.objects.push(object.to_owned());
        Ok(())
    }

    /// Deletes records, some of which may be deleted already.
    ///
    /// # Errors
    /// There is no such record. Nothing has changed then.
    pub fn delete(&mut self, positions: &[(usize, usize)]) -> Answer<()> {
        let positions = positions.iter().map(|&(segment, slot)| Position { segment, slot });
        let mut left: Vec<Position> =
            positions.filter(|&position| !self.description.is_deleted(position)).collect();
        left.sort();
        left.dedup();
        Ok(self.description.delete(&left)?)
    }
}

/// An index with the store of its files, for a thread that may wait. It fails once the work is
/// cancelled.
pub struct Segments {
    /// The index.
    pub index: Index,
    /// The store.
    pub store: Store,
    /// Ends the work.
    pub cancel: Cancel,
}

impl StoredIndex for Segments {
    fn description(&self) -> &IndexDescription {
        &self.index.description
    }

    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn file(&self, number: u32) -> he_files::Result<Input> {
        let name = format!("file {number} of the index");
        let object = usize::try_from(number).ok().and_then(|at| self.index.objects.get(at));
        let object = object.ok_or_else(|| he_files::Error::Caller(format!("there is no {name}").into()))?;
        let input = Handle::current().block_on(self.store.input(object, &name));
        let input = input.map_err(|error| he_files::Error::io(error, "read", &name))?;
        Ok(input.cancelled_by(&self.cancel))
    }
}

impl Segments {
    /// Answers a query: by what is wanted, or else by what the index is for.
    ///
    /// # Errors
    /// The errors of [`search::answer`]; there is no such device, or the key is of another scheme.
    pub fn answer(
        &self,
        wanted: Option<Wanted>,
        [query, key]: [Input; 2],
        device: &Device,
        output: Output,
        watch: &dyn Watch,
    ) -> he_files::Result<Written> {
        const NEEDED: &str = "an evaluation key";
        let cancel = &self.cancel;
        let OneOf::Ckks(key) = AnyKey::read(key.cancelled_by(cancel), NEEDED, None)?.scheme(NEEDED)? else {
            return Err(he_files::Error::Caller("searches need a key set of ckks".into()));
        };
        let query = CipherReader::new(query.cancelled_by(cancel))?;
        let params = self.index.description.params();
        let engine = search::engine(params, cancel.oversee(device))?;
        let wanted = wanted.unwrap_or_else(|| Wanted::usual(params));
        search::answer(self, query, key, wanted, &engine, output.cancelled_by(cancel), watch)
    }
}
