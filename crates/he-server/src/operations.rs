//! The tasks of jobs: the operations of he-files, and models of this service.

use crate::db::Kind;
use crate::models::Models;
use crate::problem::{Answer, Problem};
use he_files::models::NAME as INFER;
use he_files::operation::{Operation, Row, TABLE};
use he_files::search::Wanted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name of the answer to a query.
const SEARCH: &str = "search";

/// The answer of an index to an encrypted query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    name: String,
    want: Option<Wanted>,
}

/// The inference of encrypted examples by a model of this service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Infer {
    name: String,
    model: String,
}

/// The task of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// An operation on encrypted files.
    Operation(Operation),
    /// The outputs of a model.
    Infer {
        /// Its name.
        model: String,
    },
    /// The answer of an index to a query.
    Search {
        /// The answer that is wanted, if it is not the usual one.
        want: Option<Wanted>,
    },
}

impl Task {
    /// Reads a task from its JSON: an object with a `name` and parameters.
    ///
    /// # Errors
    /// There is no such operation, or it has other parameters.
    pub fn parse(operation: &Value) -> Answer<Self> {
        let bad = |error: serde_json::Error| {
            Problem::request(format!("operation: {error}")).hint("GET /v1/operations lists them")
        };
        if operation["name"] == INFER {
            let Infer { model, .. } = serde_json::from_value(operation.clone()).map_err(bad)?;
            return Ok(Self::Infer { model });
        }
        if operation["name"] == SEARCH {
            let Search { want, .. } = serde_json::from_value(operation.clone()).map_err(bad)?;
            return Ok(Self::Search { want });
        }
        let operation: Operation = serde_json::from_value(operation.clone()).map_err(bad)?;
        operation.check()?;
        Ok(Self::Operation(operation))
    }

    /// The number of inputs that it takes.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Operation(operation) => operation.inputs(),
            Self::Infer { .. } => 1,
            Self::Search { .. } => 2,
        }
    }

    /// The kind of an input: a search takes an index, then a query.
    pub fn input_kind(&self, at: usize) -> Kind {
        match self {
            Self::Search { .. } if at == 0 => Kind::Index,
            _ => Kind::Object,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Infer { .. } => INFER,
            Self::Search { .. } => SEARCH,
        }
    }
}

/// All operations: their names and parameters, and the contents and schemes that have them.
pub fn list(models: &Models) -> Value {
    let mut all: Vec<Value> = TABLE.iter().map(Row::json).collect();
    let names = models.names();
    if !names.is_empty() {
        all.push(json!({
            "name": INFER,
            "about": "Examples under ckks: the outputs of a model",
            "inputs": [1],
            "contents": ["examples"],
            "schemes": ["ckks"],
            "on": { "examples": ["ckks"] },
            "parameters": { "model": { "type": "string", "enum": names } },
        }));
    }
    all.push(json!({
        "name": SEARCH,
        "about": "An index under ckks, then a query: matches, their number, or scores",
        "inputs": [2],
        "contents": ["index"],
        "schemes": ["ckks"],
        "on": { "index": ["ckks"] },
        "parameters": { "want": { "type": "string", "enum": ["count", "matches", "scores"] } },
    }));
    json!({ "operations": all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_operations_or_models() {
        let parse = |text: &str| Task::parse(&serde_json::from_str(text).unwrap());
        assert_eq!(parse(r#"{"name":"sharpen"}"#).unwrap(), Task::Operation(Operation::Sharpen {}));
        let infer = parse(r#"{"name":"infer","model":"x"}"#).unwrap();
        assert_eq!((infer.name(), infer.inputs()), ("infer", 1));
        let search = parse(r#"{"name":"search","want":"scores"}"#).unwrap();
        assert_eq!(search, Task::Search { want: Some(Wanted::Scores) });
        assert_eq!([0, 1].map(|at| search.input_kind(at)), [Kind::Index, Kind::Object]);
        for text in [
            "null",
            "3",
            "[]",
            "{}",
            r#"{"name":3}"#,
            r#"{"name":"infer"}"#,
            r#"{"name":"infer","model":"x","y":1}"#,
            r#"{"name":"sharpen","by":1}"#,
            r#"{"name":"search","want":"all"}"#,
            r#"{"name":"search","index":"x"}"#,
        ] {
            assert_eq!(parse(text).unwrap_err().status.as_u16(), 400, "{text}");
        }
        let matrix = parse(r#"{"name":"kernel","matrix":"1 2"}"#).unwrap_err();
        assert!(matrix.status.is_client_error() && matrix.cause.hint.is_some());
    }

    /// The list has every operation, with parameters that it takes.
    #[test]
    fn every_operation_is_listed() {
        let listed = list(&Models::default());
        let names: Vec<&str> =
            listed["operations"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
        let unknown = serde_json::from_str::<Operation>(r#"{"name":"?"}"#).unwrap_err().to_string();
        for name in unknown.split('`').skip(3).step_by(2) {
            assert!(names.contains(&name), "{name}");
        }
        for operation in listed["operations"].as_array().unwrap() {
            let mut object = json!({ "name": operation["name"] });
            for (name, schema) in operation["parameters"].as_object().unwrap() {
                object[name] = match (schema["type"].as_str().unwrap(), name.as_str()) {
                    ("integer", "width") => json!(8),
                    ("integer", _) => json!(2),
                    ("array", "entries") => json!(["1", "-2"]),
                    ("number", _) => json!(0.5),
                    ("array", _) => json!(["a", "b"]),
                    (_, "want") => json!("count"),
                    (_, "matrix") => json!("0 1 0"),
                    (_, "number") => json!("-5"),
                    _ => json!("keep"),
                };
            }
            Task::parse(&object).unwrap_or_else(|problem| panic!("{object}: {}", problem.cause.detail));
        }
    }
}
