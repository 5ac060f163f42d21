//! Databases for private look-ups: what they are, and answers to queries.

use super::who::{From, Who};
use crate::app::App;
use crate::lookups::Lookup;
use crate::problem::{Answer, Problem};
use axum::Json;
use axum::body::{self, Body};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// `GET /v1/lookups`.
pub async fn list(State(app): Shared, _: From) -> Json<Value> {
    Json(app.lookups.json())
}

fn found(app: &App, name: &str) -> Answer<Arc<Lookup>> {
    let missing =
        || Problem::not_found("database for look-ups").hint("GET /v1/lookups lists those of this service");
    app.lookups.get(name).ok_or_else(missing)
}

fn file(bytes: Bytes, version: &str) -> Answer<Response> {
    let kind = HeaderValue::from_static("application/octet-stream");
    let tag = HeaderValue::from_str(&format!("\"{version}\"")).map_err(Problem::internal)?;
    Ok(([(header::CONTENT_TYPE, kind), (header::ETAG, tag)], bytes).into_response())
}

/// `GET /v1/lookups/{name}`.
pub async fn one(State(app): Shared, _: Who, Path(name): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(found(&app, &name)?.info.clone()))
}

/// `GET /v1/lookups/{name}/description`: the public description, by which clients ask.
pub async fn description(State(app): Shared, _: Who, Path(name): Path<String>) -> Answer<Response> {
    let lookup = found(&app, &name)?;
    file(lookup.bytes.clone(), &lookup.identity())
}

/// `POST /v1/lookups/{name}/answers`: the answer to a query, of which the service keeps nothing.
pub async fn answer(
    State(app): Shared,
    Who(tenant): Who,
    Path(name): Path<String>,
    query: Body,
) -> Answer<Response> {
    let lookup = found(&app, &name)?;
    let _place = app.begin_long(&tenant)?;
    let query = whole(query, lookup.query_bytes()).await?;
    app.metrics.received(query.len() as u64);
    let version = lookup.identity();
    let answer = Bytes::from(lookup.answer(query).await?);
    app.metrics.sent(answer.len() as u64);
    file(answer, &version)
}

/// A body of so many bytes at most.
async fn whole(body: Body, most: u64) -> Answer<Bytes> {
    let read = body::to_bytes(body, usize::try_from(most).unwrap_or(usize::MAX)).await;
    read.map_err(|error| {
        let is_long = std::error::Error::source(&error)
            .is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>());
        if is_long {
            let what = format!("the query has more than the {most} bytes of queries to this database");
            return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "length", what)
                .hint("fetch the present description and query again");
        }
        Problem::request("the query did not arrive whole").hint("send it again")
    })
}
