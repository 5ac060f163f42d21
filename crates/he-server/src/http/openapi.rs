//! The description of the API in OpenAPI 3.1, kept by hand: the routes are few, their answers are
//! JSON that is written by hand as well, and a test compares the two.

use serde_json::{Map, Value, json};

/// A schema of the components.
fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An answer with JSON.
fn answer(description: &str, name: &str) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema(name) } } })
}

/// An answer without a body, or with any.
fn plain(description: &str) -> Value {
    json!({ "description": description })
}

fn id() -> Value {
    json!({
        "name": "id", "in": "path", "required": true,
        "schema": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
    })
}

fn name() -> Value {
    json!({ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } })
}

fn header(name: &str, required: bool, schema: Value) -> Value {
    json!({ "name": name, "in": "header", "required": required, "schema": schema })
}

fn tus() -> Value {
    header("Tus-Resumable", true, json!({ "type": "string", "enum": ["1.0.0"] }))
}

fn bytes() -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": 0 })
}

/// An operation: its summary, parameters, body, answers. Every one may also answer with a problem.
fn operation(
    summary: &str,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Vec<(&str, Value)>,
) -> Value {
    let mut responses: Map<String, Value> =
        answers.into_iter().map(|(status, answer)| (status.to_owned(), answer)).collect();
    let problem = json!({
        "description": "A problem",
        "content": { "application/problem+json": { "schema": schema("Problem") } },
    });
    responses.insert("4XX".to_owned(), problem.clone());
    responses.insert("5XX".to_owned(), problem);
    let mut operation = json!({ "summary": summary, "responses": responses });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body {
        operation["requestBody"] = body;
    }
    operation
}

fn without_token(mut operation: Value) -> Value {
    operation["security"] = json!([]);
    operation
}

fn with_or_without_token(mut operation: Value) -> Value {
    operation["security"] = json!([{ "token": [] }, {}]);
    operation
}

fn list_of(what: &str, name: &str) -> Value {
    let cursor = json!({ "name": "cursor", "in": "query", "schema": { "type": "string" } });
    let limit = json!({
        "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "default": 50 },
    });
    let list = json!({
        "description": "A part of the list, and the cursor of the next",
        "content": { "application/json": { "schema": {
            "type": "object", "required": ["items", "cursor"],
            "properties": {
                "items": { "type": "array", "items": schema(name) },
                "cursor": { "type": ["string", "null"] },
            },
        } } },
    });
    let mut parameters = vec![cursor, limit];
    if name == "ObjectSummary" {
        let states = json!({ "type": "string", "enum": ["ready", "uploading"] });
        parameters.push(json!({ "name": "state", "in": "query", "schema": states }));
    }
    operation(&format!("Lists {what}"), parameters, None, vec![("200", list)])
}

/// The content of an answer that is a file.
fn binary() -> Value {
    json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } })
}

fn files(what: &str, content: bool) -> [(String, Value); 3] {
    let route = if content { "/v1/objects" } else { "/v1/key-sets" };
    let piece = json!({ "required": false, "content": { "application/offset+octet-stream": {
        "schema": { "type": "string", "format": "binary" } } } });
    let created = json!({
        "description": "The upload has begun, or is complete",
        "headers": { "Location": { "schema": { "type": "string" } }, "Upload-Offset": { "schema": bytes() } },
        "content": { "application/json": { "schema": schema("Object") } },
    });
    let all = json!({
        "get": list_of(&format!("{what}s"), "ObjectSummary"),
        "post": operation(
            &format!("Begins the upload of {what} by tus 1.0, with its first part or without"),
            vec![tus(), header("Upload-Length", true, bytes())],
            Some(piece.clone()),
            vec![("201", created)],
        ),
        "options": without_token(operation("The version and extensions of tus", vec![], None, vec![("204", plain("Headers of tus"))])),
    });
    let taken =
        json!({ "description": "The part was taken", "headers": { "Upload-Offset": { "schema": bytes() } } });
    let one = json!({
        "get": operation(&format!("Describes {what}"), vec![id()], None, vec![("200", answer("The resource", "Object"))]),
        "head": operation("How much of it has arrived", vec![id()], None, vec![("200", plain("Headers of tus"))]),
        "patch": operation(
            "Continues an upload",
            vec![id(), tus(), header("Upload-Offset", true, bytes())],
            Some(piece),
            vec![("204", taken)],
        ),
        "delete": operation(&format!("Removes {what}"), vec![id()], None, vec![("204", plain("It is gone"))]),
    });
    let binary = binary();
    let download = json!({
        "get": operation(
            "The bytes of an object, or a range of them",
            vec![id(), header("Range", false, json!({ "type": "string" }))],
            None,
            vec![
                ("200", json!({ "description": "All bytes", "content": binary })),
                ("206", json!({ "description": "A range", "content": binary })),
                ("304", plain("They are known")),
            ],
        ),
    });
    [(route.to_owned(), all), (format!("{route}/{{id}}"), one), (format!("{route}/{{id}}/content"), download)]
}

/// The description.
pub fn description() -> Value {
    let mut paths = Map::new();
    let [list, one, _] = files("a key set", false);
    paths.extend([list, one]);
    paths.extend(files("an object", true));
    let json_body = |name: &str| json!({ "required": true, "content": { "application/json": { "schema": schema(name) } } });
    let key = header("Idempotency-Key", false, json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }));
    let events = json!({
        "description": "Server-sent events: progress, then done, failed or cancelled",
        "content": { "text/event-stream": { "schema": { "type": "string" } } },
    });
    let text =
        json!({ "description": "Text", "content": { "text/plain": { "schema": { "type": "string" } } } });
    let more = [
        (
            "/v1/sessions",
            json!({ "post": without_token(operation(
            "Opens a session of a guest, if this service has guests", vec![], None,
            vec![("201", answer("A token and its limits", "Session"))])) }),
        ),
        (
            "/v1/indexes",
            json!({
                "get": list_of("indexes of encrypted vectors", "ObjectSummary"),
                "post": operation("Makes an index without records", vec![], Some(json_body("NewIndex")),
                    vec![("201", answer("The index", "Object"))]),
            }),
        ),
        (
            "/v1/indexes/{id}",
            json!({
                "get": operation("Describes an index", vec![id()], None, vec![("200", answer("The index", "Object"))]),
                "delete": operation("Removes an index, but not the objects of its records", vec![id()], None,
                    vec![("204", plain("It is gone"))]),
            }),
        ),
        (
            "/v1/indexes/{id}/segments/{object}",
            json!({ "put": operation(
            "Appends the records of an object, unless the index has them",
            vec![id(), json!({ "name": "object", "in": "path", "required": true, "schema": { "type": "string" } })],
            None,
            vec![("200", answer("The index", "Object"))]) }),
        ),
        (
            "/v1/indexes/{id}/deletions",
            json!({ "post": operation("Deletes records, which answers leave out from then on", vec![id()],
                Some(json_body("Deletions")), vec![("200", answer("The index", "Object"))]) }),
        ),
        (
            "/v1/jobs",
            json!({
                "get": list_of("jobs", "Job"),
                "post": operation("Asks for a computation", vec![key], Some(json_body("NewJob")), vec![("202", answer("The job", "Job"))]),
            }),
        ),
        (
            "/v1/jobs/{id}",
            json!({
                "get": operation("Describes a job", vec![id()], None, vec![("200", answer("The job", "Job"))]),
                "delete": operation("Cancels a job", vec![id()], None, vec![("202", plain("It has ended"))]),
            }),
        ),
        (
            "/v1/jobs/{id}/events",
            json!({
                "get": operation("Tells the progress of a job until its end", vec![id()], None, vec![("200", events)]),
            }),
        ),
        (
            "/v1/jobs/{id}/trace",
            json!({ "get": operation(
            "The trace of a job that is done, for audits, or the operations of it that are named",
            vec![id(), json!({
                "name": "operations", "in": "query", "required": false,
                "schema": { "type": "string", "pattern": "^[0-9]+(,[0-9]+)*$" },
            })],
            None,
            vec![("200", json!({ "description": "The trace", "content": binary() }))]) }),
        ),
        (
            "/v1/models",
            json!({ "get": without_token(operation(
            "Lists the models of infer, and what keys for them need", vec![], None,
            vec![("200", answer("The models", "Models"))])) }),
        ),
        (
            "/v1/models/{name}/content",
            json!({ "get": operation(
            "The file of a model, by which clients encrypt examples",
            vec![name()],
            None,
            vec![("200", json!({ "description": "The file", "content": binary() })),
                ("304", plain("It is known"))]) }),
        ),
        (
            "/v1/lookups",
            json!({ "get": without_token(operation(
            "Lists the databases for private look-ups", vec![], None,
            vec![("200", answer("The databases", "Lookups"))])) }),
        ),
        (
            "/v1/lookups/{name}",
            json!({ "get": operation("Describes a database", vec![name()], None,
                vec![("200", answer("The database", "Lookup"))]) }),
        ),
        (
            "/v1/lookups/{name}/description",
            json!({ "get": operation("The public description, by which clients ask", vec![name()], None,
                vec![("200", json!({ "description": "The file", "content": binary() }))]) }),
        ),
        (
            "/v1/lookups/{name}/answers",
            json!({ "post": operation("Answers a query, of which nothing is kept", vec![name()],
                Some(json!({ "required": true, "content": binary() })),
                vec![("200", json!({ "description": "The answer", "content": binary() }))]) }),
        ),
        (
            "/v1/operations",
            json!({ "get": without_token(operation(
            "Lists operations with their parameters", vec![], None, vec![("200", answer("The operations", "Any"))])) }),
        ),
        (
            "/v1/info",
            json!({ "get": with_or_without_token(operation(
            "Describes the service, and with a token the limits of the tenant", vec![], None,
            vec![("200", answer("The service", "Any"))])) }),
        ),
        (
            "/openapi.json",
            json!({ "get": without_token(operation(
            "This description", vec![], None, vec![("200", answer("OpenAPI 3.1", "Any"))])) }),
        ),
        (
            "/healthz",
            json!({ "get": without_token(operation(
            "Whether the process answers", vec![], None, vec![("200", answer("It does", "Any"))])) }),
        ),
        (
            "/readyz",
            json!({ "get": without_token(operation(
            "Whether the database takes changes, the store answers and the disk has room", vec![], None, vec![("200", answer("They do", "Any"))])) }),
        ),
        (
            "/metrics",
            json!({ "get": without_token(operation(
            "Counts for Prometheus, for clients on loopback addresses", vec![], None, vec![("200", text)])) }),
        ),
    ];
    paths.extend(more.map(|(path, item)| (path.to_owned(), item)));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "he-server", "version": env!("CARGO_PKG_VERSION"),
            "description": "Computes on encrypted files, and never holds a secret key.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn schemas() -> Value {
    let (text, time) = (json!({ "type": "string" }), json!({ "type": "string", "format": "date-time" }));
    let maybe = json!({ "type": ["string", "null"] });
    json!({
        "Any": { "type": "object" },
        "Problem": {
            "type": "object", "required": ["type", "title", "status", "detail", "hint"],
            "properties": {
                "type": text, "title": maybe, "status": { "type": "integer" },
                "detail": text, "hint": maybe, "request_id": text,
            },
        },
        "Object": {
            "type": "object", "required": ["id", "kind", "state", "bytes", "created", "expires", "info"],
            "properties": {
                "id": text, "kind": { "enum": ["object", "key-set", "index"] },
                "state": { "enum": ["uploading", "ready"] }, "bytes": bytes(),
                "created": time, "expires": maybe, "info": { "type": ["object", "null"] },
            },
        },
        "ObjectSummary": {
            "type": "object", "required": ["id", "kind", "state", "bytes", "created", "expires"],
            "properties": {
                "id": text, "kind": { "enum": ["object", "key-set", "index"] },
                "state": { "enum": ["uploading", "ready"] }, "bytes": bytes(),
                "created": time, "expires": maybe,
            },
        },
        "Session": {
            "type": "object", "required": ["token", "tenant", "expires", "limits"],
            "properties": { "token": text, "tenant": text, "expires": time, "limits": schema("Any") },
        },
        "Models": {
            "type": "object", "required": ["models"],
            "properties": { "models": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "bytes", "hash", "input", "inputs", "numbers", "outputs", "decision",
                    "arrangement", "shared", "ciphertexts", "parameters", "rotations", "conjugation",
                    "evaluation_key_bytes", "bootstrap_key_bytes"],
                "properties": {
                    "name": text, "bytes": bytes(), "hash": text,
                    "input": { "type": "array", "items": bytes() }, "numbers": bytes(),
                    "inputs": { "type": "array", "items": schema("Any") },
                    "outputs": bytes(), "shared": bytes(), "ciphertexts": bytes(),
                    "decision": { "enum": ["none", "softmax", "log-softmax", "argmax", "votes",
                                           "coupling", "one-vs-rest", "sign", "unit-length"] },
                    "arrangement": { "enum": ["slots", "stacks"] },
                    "parameters": schema("Any"),
                    "rotations": { "type": "array", "items": { "type": "integer" } },
                    "conjugation": { "type": "boolean" }, "evaluation_key_bytes": bytes(),
                    "bootstrap_key_bytes": { "type": ["integer", "null"] },
                },
            } } },
        },
        "Lookups": {
            "type": "object", "required": ["lookups"],
            "properties": { "lookups": { "type": "array", "items": schema("Lookup") } },
        },
        "Lookup": {
            "type": "object",
            "required": ["name", "database", "version", "digest", "by", "records", "planned_records",
                "record_bytes", "query_bytes", "answer_bytes", "scanned_bytes", "log2_failure"],
            "properties": {
                "name": text, "database": text, "version": bytes(), "digest": text,
                "by": { "enum": ["number", "key"] }, "records": bytes(), "planned_records": bytes(),
                "record_bytes": bytes(), "query_bytes": bytes(), "answer_bytes": bytes(),
                "scanned_bytes": bytes(), "log2_failure": { "type": "number" },
            },
        },
        "NewIndex": {
            "type": "object", "required": ["plan"], "additionalProperties": false,
            "properties": { "plan": schema("Any"), "key_set": maybe },
        },
        "Deletions": {
            "type": "object", "required": ["positions"], "additionalProperties": false,
            "properties": { "positions": { "type": "array", "items": {
                "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 2,
            } } },
        },
        "NewJob": {
            "type": "object", "required": ["operation", "inputs", "key_set"], "additionalProperties": false,
            "properties": {
                "operation": { "type": "object", "required": ["name"], "properties": { "name": text } },
                "inputs": { "type": "array", "items": text, "minItems": 1, "maxItems": 3 },
                "key_set": text,
                "bootstrap_key": text,
            },
        },
        "Job": {
            "type": "object",
            "required": ["id", "operation", "inputs", "key_set", "state", "progress", "result", "root", "signed",
                "error", "created", "started", "finished"],
            "properties": {
                "id": text, "operation": schema("Any"), "inputs": { "type": "array", "items": text },
                "key_set": text, "state": { "enum": ["queued", "running", "done", "failed", "cancelled"] },
                "progress": {
                    "type": "object", "required": ["done", "of"],
                    "properties": { "done": bytes(), "of": bytes() },
                },
                "result": maybe, "root": maybe, "signed": { "type": ["object", "null"] }, "error": { "type": ["object", "null"] },
                "created": time, "started": maybe, "finished": maybe,
            },
        },
    })
}
