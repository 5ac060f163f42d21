//! Private look-ups: queries are encrypted and answers read here, by a key that stays here.

use crate::error::Result;
use he::Device;
use he_core::ring::Ring;
use he_files::scheme::engine::rng;
use he_lookup::{Answer, Client, ClientKey, Description, Facts};
use serde_json::{Value, json};

/// A record by its number or by its key.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A number, from 0.
    Number(u64),
    /// A key.
    Key(&'a [u8]),
}

/// A client of one version of a database, with a fresh key that is wiped with it.
#[derive(Debug)]
pub struct Lookup {
    description: Description,
    client: Client<Device>,
}

fn own<T>(result: he_lookup::Result<T>) -> Result<T> {
    Ok(result.map_err(he_files::Error::from)?)
}

impl Lookup {
    /// A client by the bytes of a public description.
    ///
    /// # Errors
    /// They are damaged, or state parameters without security; there is no random generator.
    pub fn new(description: &[u8]) -> Result<Self> {
        let description = own(Description::from_bytes(description))?;
        let ring = Ring::new(Device::cpu(), description.params().rlwe().ring().clone())?;
        let client = own(Client::new(&description, ClientKey::generate(&mut rng()?), &ring))?;
        Ok(Self { description, client })
    }

    /// The contents of the description, and the sizes of queries and answers.
    pub fn info(&self) -> Value {
        let (plan, facts) = (self.description.params().plan(), Facts::of(self.description.params()));
        json!({
            "database": self.description.identity().to_string(),
            "version": self.description.version(),
            "by": plan.way(),
            "records": self.description.records(),
            "recordBytes": plan.record_bytes,
            "queryBytes": facts.query_bytes,
            "answerBytes": facts.answer_bytes,
        })
    }

    /// A query as bytes.
    ///
    /// # Errors
    /// There is no such record, or the database is looked up the other way.
    pub fn query(&self, record: Record<'_>) -> Result<Vec<u8>> {
        let query = own(match record {
            Record::Number(number) => self.client.query(number, &mut rng()?),
            Record::Key(key) => self.client.query_key(key, &mut rng()?),
        })?;
        Ok(query.to_bytes(self.description.params()))
    }

    /// The record of an answer, or nothing for a key that is not there.
    ///
    /// # Errors
    /// The answer is damaged, of another database, or to another query.
    pub fn read(&self, answer: &[u8], record: Record<'_>) -> Result<Option<Vec<u8>>> {
        let answer = own(Answer::from_bytes(&self.description, answer))?;
        own(match record {
            Record::Number(number) => self.client.read(&answer, number).map(Some),
            Record::Key(key) => self.client.read_key(&answer, key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_lookup::{Database, Plan, Query, Server};

    /// A whole round against a server, as a page makes it.
    #[test]
    fn records_are_read_as_they_were_prepared() {
        let ring =
            |plan: &Plan| Ring::new(Device::cpu(), plan.params().unwrap().rlwe().ring().clone()).unwrap();
        let plan = Plan::keyword(200, 3);
        let entries: Vec<_> = (0..200u8).map(|i| (format!("key {i}"), [i, 1, 2])).collect();
        let database = Database::of_entries(&plan, [3; 32], &entries, &ring(&plan)).unwrap();
        let description = database.description();
        let server = Server::new(description, &ring(&plan), database.packs(), 1).unwrap();
        let lookup = Lookup::new(&description.to_bytes()).unwrap();
        let info = lookup.info();
        assert_eq!((&info["by"], &info["records"]), (&json!("key"), &json!(200)));
        let ask = |key: &[u8]| {
            let query = lookup.query(Record::Key(key)).unwrap();
            assert_eq!(json!(query.len()), info["queryBytes"]);
            let query = Query::from_bytes(description, &query).unwrap();
            server.answer(&[query]).unwrap().remove(0).to_bytes(description.params())
        };
        let answer = ask(b"key 77");
        assert_eq!(lookup.read(&answer, Record::Key(b"key 77")).unwrap(), Some(vec![77, 1, 2]));
        assert_eq!(lookup.read(&ask(b"key 200"), Record::Key(b"key 200")).unwrap(), None);
        for error in [
            lookup.read(&answer, Record::Key(b"key 78")).unwrap_err(),
            Lookup::new(&description.to_bytes()).unwrap().read(&answer, Record::Key(b"key 77")).unwrap_err(),
            lookup.read(&answer[1..], Record::Key(b"key 77")).unwrap_err(),
            lookup.query(Record::Number(0)).unwrap_err(),
            Lookup::new(b"HELK").unwrap_err(),
            Lookup::new(&Description::new(&plan.insecure_log_n(6), [1; 32]).unwrap().to_bytes()).unwrap_err(),
        ] {
            assert!(error.hint().is_some(), "{error}");
        }
    }
}
