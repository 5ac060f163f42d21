//! The routes, and what every request passes on its way to them.

mod about;
mod files;
mod indexes;
mod jobs;
mod lookups;
mod models;
mod openapi;
mod sessions;
mod who;

pub use who::Peer;

use crate::app::App;
use crate::host;
use crate::page;
use crate::problem::Problem;
use crate::request::{self, Context, Line, REQUEST_ID};
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

/// The longest JSON body.
const MAX_JSON: usize = 1 << 16;
/// Bytes of an answer that is not worth compressing.
const SMALL: u16 = 512;

/// All routes.
pub fn router(app: Arc<App>) -> Router {
    // A file, or events: these take as long as they take.
    let long = Router::new()
        .route("/v1/key-sets", post(files::create_key_set))
        .route("/v1/key-sets/{id}", axum::routing::patch(files::append_key_set))
        .route("/v1/objects", post(files::create_object))
        .route("/v1/objects/{id}", axum::routing::patch(files::append_object))
        .route("/v1/objects/{id}/content", get(files::content))
        .route("/v1/jobs/{id}/events", get(jobs::events))
        .route("/v1/jobs/{id}/trace", get(jobs::trace))
        .layer(DefaultBodyLimit::disable());
    // The length of what is compressed tells of it: not where a token is.
    let secret = Router::new().route("/v1/sessions", post(sessions::create));
    let short = Router::new()
        .route("/v1/key-sets", get(files::key_sets).options(files::options))
        .route(
            "/v1/key-sets/{id}",
            get(files::key_set).head(files::key_set_offset).delete(files::delete_key_set),
        )
        .route("/v1/objects", get(files::objects).options(files::options))
        .route("/v1/objects/{id}", get(files::object).head(files::object_offset).delete(files::delete_object))
        .route("/v1/indexes", get(indexes::indexes).post(indexes::create))
        .route("/v1/indexes/{id}", get(indexes::index).delete(indexes::remove))
        .route("/v1/indexes/{id}/segments/{object}", put(indexes::append))
        .route("/v1/indexes/{id}/deletions", post(indexes::delete))
        .route("/v1/jobs", get(jobs::list).post(jobs::create))
        .route("/v1/jobs/{id}", get(jobs::job).delete(jobs::cancel))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{name}/content", get(models::content))
        .route("/v1/lookups", get(lookups::list))
        .route("/v1/lookups/{name}", get(lookups::one))
        .route("/v1/lookups/{name}/description", get(lookups::description))
        .route("/v1/lookups/{name}/answers", post(lookups::answer))
        .route("/v1/operations", get(about::operations))
        .route("/v1/info", get(about::info))
        .route("/openapi.json", get(about::openapi))
        .route("/healthz", get(about::health))
        .route("/readyz", get(about::ready))
        .route("/metrics", get(about::local_metrics))
        .layer(compressed())
        .merge(secret)
        .layer(DefaultBodyLimit::max(MAX_JSON))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), in_time));
    let page = axum::routing::any(page::serve).layer(compressed());
    let (hosts, listen) = (Arc::from(&*app.config.hosts), app.config.listen.ip());
    long.merge(short)
        .method_not_allowed_fallback(not_allowed)
        .fallback_service(page.with_state(Arc::clone(&app.page)))
        .layer(middleware::from_fn_with_state((hosts, listen), host::checked))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observed))
        .with_state(app)
}

/// The routes of the listener of the metrics.
pub fn metrics_router(app: Arc<App>) -> Router {
    let listen = app.config.metrics_listen.unwrap_or(app.config.listen).ip();
    let hosts = Arc::from(&*app.config.hosts);
    Router::new()
        .route("/metrics", get(about::metrics))
        .route("/healthz", get(about::health))
        .route("/readyz", get(about::ready))
        .fallback(async || Problem::not_found("resource"))
        .layer(middleware::from_fn_with_state((hosts, listen), host::checked))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observed))
        .with_state(app)
}

/// Answers that shrink, by gzip. Ciphertexts do not, and have another type.
fn compressed() -> CompressionLayer<impl Predicate> {
    const TYPES: [&str; 4] = ["application/json", "application/wasm", "image/svg+xml", "text/"];
    let shrinks = |_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        TYPES.iter().any(|known| kind.starts_with(known)) && !kind.starts_with("text/event-stream")
    };
    CompressionLayer::new().compress_when(SizeAbove::new(SMALL).and(shrinks))
}

async fn not_allowed() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this resource has no such method")
        .hint("GET /openapi.json lists the methods")
}

/// The answer, or a problem if it takes too long.
async fn in_time(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let patience = Duration::from_secs(app.config.seconds.answer);
    tokio::time::timeout(patience, next.run(request)).await.unwrap_or_else(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", "the answer took too long")
            .hint("try again later")
            .into_response()
    })
}

/// Counts and logs a request: its route and its status, neither contents nor tokens nor names.
async fn observed(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let address = who::address(&app, request.headers(), request.extensions());
    let context = Context::new(request.headers(), address);
    request::scope(Arc::clone(&context), answered(app, context, request, next)).await
}

async fn answered(app: Arc<App>, context: Arc<Context>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("page", MatchedPath::as_str).to_owned();
    let mut line = Line::new(&context, method.as_str(), &route);
    let request = request.map(|body| line.receives(body));
    let mut response = next.run(request).await;
    let status = response.status().as_u16();
    app.metrics.answered(method.as_str(), &route, status, begin.elapsed());
    line.status = Some(status);
    let headers = response.headers_mut();
    let plain =
        [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (HeaderName::from_static("x-frame-options"), "DENY")];
    for (name, value) in plain {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if route.starts_with("/v1") {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(&context.id) {
        headers.insert(REQUEST_ID, id);
    }
    response.map(|body| line.sends(body))
}

/// A JSON body, or a problem in our form.
struct Body<T>(T);

impl<T: serde::de::DeserializeOwned> axum::extract::FromRequest<Arc<App>> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, app).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Problem::new(rejection.status(), "request", rejection.body_text())),
        }
    }
}
