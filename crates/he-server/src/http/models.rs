//! The models of this service: what keys for them need, and their files, by which clients encrypt.

use super::who::{From, Who};
use crate::app::App;
use crate::problem::{Answer, Problem};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// `GET /v1/models`.
pub async fn list(State(app): Shared, _: From) -> Json<Value> {
    Json(app.models.json())
}

/// `GET /v1/models/{name}/content`: the compiled model.
pub async fn content(
    State(app): Shared,
    _: Who,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    let model = app.models.get(&name).ok_or_else(|| Problem::not_found("model"))?;
    let tag = format!("\"{}\"", model.file.hash);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes());
    let tag = HeaderValue::from_str(&tag).map_err(Problem::internal)?;
    if known {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    app.metrics.sent(model.bytes.len() as u64);
    let kind = HeaderValue::from_static("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, kind), (header::ETAG, tag)], model.bytes.clone()).into_response())
}
