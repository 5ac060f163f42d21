//! The description of the service, its abilities and its health.

use super::openapi;
use super::sessions::limits;
use super::who::{From, Local, Who};
use crate::app::App;
use crate::metrics::{self, Gauges};
use crate::operations;
use crate::problem::{Answer, Problem};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// `GET /v1/operations`.
pub async fn operations(State(app): Shared, _: From) -> Json<Value> {
    Json(operations::list(&app.models))
}

/// `GET /v1/info`: with a token also what the tenant may hold and holds.
pub async fn info(State(app): Shared, from: Result<Who, Problem>) -> Answer<Json<Value>> {
    let mut info = json!({
        "name": "he-server",
        "version": env!("CARGO_PKG_VERSION"),
        "devices": app.config.devices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "guests": app.config.guests,
        "models": app.models.names(),
        "lookups": app.lookups.names(),
        "trace_signer": app.config.trace_key.as_ref().map(|key| key.verifying_key().to_string()),
        "limits": { "upload_bytes": app.config.max_upload },
    });
    match from {
        Ok(Who(tenant)) => {
            info["limits"] = limits(&app, &tenant);
            let (bytes, objects, jobs) = app.db.usage(&tenant.id).await?;
            info["used"] = json!({ "bytes": bytes, "objects": objects, "jobs": jobs });
        }
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {}
        Err(problem) => return Err(problem),
    }
    Ok(Json(info))
}

/// `GET /openapi.json`.
pub async fn openapi() -> Json<Value> {
    Json(openapi::description())
}

/// `GET /healthz`: the process answers.
pub async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// `GET /readyz`: the database takes changes, the store answers, the disk has room.
pub async fn ready(State(app): Shared) -> Answer<Json<Value>> {
    let down = |what| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ready", what);
    app.health.check(&app.db, &app.store, &app.space).await.map_err(down)?;
    Ok(Json(json!({ "status": "ok" })))
}

/// `GET /metrics` beside the API: for this machine alone.
pub async fn local_metrics(state: Shared, _: Local) -> Answer<Response> {
    match state.config.metrics_listen {
        Some(_) => Err(Problem::not_found("resource")),
        None => Ok(metrics(state).await),
    }
}

/// `GET /metrics`.
pub async fn metrics(State(app): Shared) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let now = Gauges { uploads: app.uploads.count(), jobs: app.jobs.counts(), disk_free: app.space.free() };
    (kind, metrics::text(&app.metrics, now)).into_response()
}
