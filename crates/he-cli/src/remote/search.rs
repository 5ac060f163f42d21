//! Indexes of encrypted vectors on a service.

use super::{Done, Failure, Remote, TUS, Upload, VARIABLE, is_id, token};
use crate::args::ServerFlags;
use crate::error::{CliError, Result};
use he_files::io::output::Output;
use he_files::note::PlanNote;
use he_files::search::{IndexDescription, Position, Wanted};
use serde_json::{Value, json};

/// The deletions of one request.
const DELETIONS: usize = 4096;

/// An index there.
pub struct RemoteIndex {
    /// Its id.
    pub id: String,
    /// Its description.
    pub description: IndexDescription,
    objects: Vec<String>,
    key_set: Option<String>,
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

impl Remote {
    /// Gets ready to ask a service for what belongs to somebody: a guest would lose it with the
    /// session.
    ///
    /// # Errors
    /// There is no token; those of [`open`](Self::open).
    pub fn open_by_token(url: &str, flags: &ServerFlags) -> Result<Self> {
        if token(flags)?.is_none() {
            return Err(CliError::new("an index on a service belongs to somebody with a token")
                .hint(format!("give it with --token-file FILE, or set {VARIABLE}")));
        }
        Self::open(url, flags)
    }

    fn index_of(&self, answer: &Value) -> Result<RemoteIndex> {
        let ids = |list: &Value| -> Option<Vec<String>> {
            let ids = list.as_array()?.iter().map(|id| id.as_str().filter(|id| is_id(id)));
            ids.map(|id| id.map(str::to_owned)).collect()
        };
        let info = &answer["info"];
        let id = answer["id"].as_str().filter(|id| is_id(id));
        let (Some(id), Some(objects)) = (id, ids(&info["objects"])) else {
            return Err(self.nonsense("something other than an index"));
        };
        let name = format!("{}/v1/indexes/{id}", self.base);
        let description = IndexDescription::from_bytes(info["index"].to_string().as_bytes(), &name)?;
        let key_set = info["key_set"].as_str().filter(|id| is_id(id)).map(str::to_owned);
        Ok(RemoteIndex { id: id.to_owned(), description, objects, key_set })
    }

    /// The index of this id.
    ///
    /// # Errors
    /// There is none, or the service does not answer.
    pub fn index(&self, id: &str) -> Result<RemoteIndex> {
        if !is_id(id) {
            return Err(CliError::usage(format!("{id} is not the id of an index on a service"))
                .hint("give the id that he-cli search upload printed"));
        }
        let path = format!("/v1/indexes/{id}");
        let told = self.persist(|_| self.json(self.ask("GET", &path, &[], None)));
        let told = told.map_err(|failure| match failure {
            Failure::Lasting(error, 404) => {
                error.or_hint("give the id that he-cli search upload printed, and the token of its owner")
            }
            other => other.into(),
        });
        self.index_of(&told?)
    }

    /// Makes an index without records, which keeps an evaluation key.
    ///
    /// # Errors
    /// The service refuses the plan or the key, or does not answer.
    pub fn make_index(&self, plan: &PlanNote, key: &mut Upload) -> Result<RemoteIndex> {
        let key_set = self.upload("key-sets", key)?;
        let body = json!({ "plan": plan, "key_set": key_set }).to_string();
        let made =
            self.persist(|_| self.json(self.ask("POST", "/v1/indexes", &[JSON], Some(body.as_bytes()))));
        if made.is_err() {
            self.remove(&format!("/v1/key-sets/{key_set}"));
        }
        self.index_of(&made?)
    }

    /// Sends a file of records, and appends it.
    ///
    /// # Errors
    /// It is of another index; the service refuses it, or does not answer.
    pub fn append_to_index(&self, id: &str, segment: &mut Upload) -> Result<()> {
        let object = self.upload("objects", segment)?;
        let path = format!("/v1/indexes/{id}/segments/{object}");
        let appended = self.persist(|_| self.json(self.ask("PUT", &path, &[], Some(&[]))));
        if appended.is_err() {
            self.remove(&format!("/v1/objects/{object}"));
        }
        Ok(appended.map(drop)?)
    }

    /// Deletes records of an index.
    ///
    /// # Errors
    /// There is no such record, or the service does not answer.
    pub fn delete_from_index(&self, id: &str, positions: &[Position]) -> Result<()> {
        let path = format!("/v1/indexes/{id}/deletions");
        for some in positions.chunks(DELETIONS) {
            let pairs: Vec<[usize; 2]> = some.iter().map(|at| [at.segment, at.slot]).collect();
            let body = json!({ "positions": pairs }).to_string();
            self.persist(|_| self.json(self.ask("POST", &path, &[JSON], Some(body.as_bytes()))))?;
        }
        Ok(())
    }

    /// Removes an index, the files of its records and its key.
    ///
    /// # Errors
    /// A job that has not ended uses it; the service does not answer.
    pub fn withdraw_index(&self, index: &RemoteIndex) -> Result<()> {
        let path = format!("/v1/indexes/{}", index.id);
        self.persist(|_| self.ask("DELETE", &path, &[TUS], None))?;
        index.objects.iter().for_each(|object| self.remove(&format!("/v1/objects/{object}")));
        index.key_set.iter().for_each(|key| self.remove(&format!("/v1/key-sets/{key}")));
        Ok(())
    }

    /// Answers a query there: by this key, or by the one that the index keeps.
    ///
    /// # Errors
    /// The service refuses something, or does not answer; the answer cannot be written.
    pub fn answer(
        &self,
        index: &RemoteIndex,
        wanted: Option<Wanted>,
        query: &mut Upload,
        mut key: Option<&mut Upload>,
        output: Output,
    ) -> Result<Done> {
        let mut left = Vec::new();
        let mut prepare = || -> Result<Value> {
            let query = self.upload("objects", query)?;
            left.push(format!("/v1/objects/{query}"));
            let key_set = match (&mut key, &index.key_set) {
                (Some(key), _) => {
                    let id = self.upload("key-sets", key)?;
                    left.push(format!("/v1/key-sets/{id}"));
                    id
                }
                (None, Some(kept)) => kept.clone(),
                (None, None) => {
                    return Err(CliError::usage(format!("index {} keeps no evaluation key", index.id))
                        .hint("give it with --key FILE"));
                }
            };
            let operation = json!({ "name": "search", "want": wanted });
            Ok(json!({ "operation": operation, "inputs": [index.id, query], "key_set": key_set }))
        };
        let request = prepare();
        let sent = query.length + key.map_or(0, |key| key.length);
        self.computed(request, left, output, false).map(|done| Done { sent, ..done })
    }
}
