//! Jobs: what is to be computed, how far it is, and what came of it.

use super::Body;
use super::files::{ListQuery, found, page};
use super::who::Who;
use crate::app::App;
use crate::db::{Added, Job, JobState, Kind, NewJob};
use crate::ids;
use crate::jobs::{self, Status};
use crate::operations::Task;
use crate::problem::{Answer, Problem};
use crate::request;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use he_files::trace::{Trace, unhex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

type Shared = State<Arc<App>>;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The least time between two events of progress.
const BETWEEN_EVENTS: Duration = Duration::from_millis(100);
/// The longest idempotency key, in characters.
const MAX_KEY: usize = 255;

/// The body of a request for a job.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    operation: Value,
    inputs: Vec<String>,
    key_set: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bootstrap_key: Option<String>,
}

/// The idempotency key of a request, if it has one.
fn idempotency_key(headers: &HeaderMap) -> Answer<Option<&str>> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let is_visible = |key: &&str| key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(is_visible).filter(|key| (1..=MAX_KEY).contains(&key.len()));
    key.map(Some).ok_or_else(|| {
        Problem::request(format!(
            "the header {IDEMPOTENCY_KEY} is not 1 to {MAX_KEY} visible ASCII characters"
        ))
    })
}

/// The job of an idempotency key, which must have been asked for by the same request.
fn repeated(app: &App, mut job: Job, request: &Value) -> Answer<(StatusCode, Json<Value>)> {
    // As the database gives it back: reading a number may change its last bit.
    let asked: Value = serde_json::from_str(&request.to_string()).map_err(Problem::internal)?;
    if job.request != asked {
        let what = format!("the header {IDEMPOTENCY_KEY} has the key of job {}, another request", job.id);
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key", what)
            .hint("send a new key with each new request"));
    }
    now(app, &mut job);
    Ok((StatusCode::ACCEPTED, Json(told(app, &job))))
}

/// `POST /v1/jobs`. A request with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header)
/// may be sent again after an answer that was lost: there is one job of a key.
pub async fn create(
    State(app): Shared,
    Who(tenant): Who,
    headers: HeaderMap,
    Body(request): Body<Request>,
) -> Answer<(StatusCode, Json<Value>)> {
    let key = idempotency_key(&headers)?;
    let written = serde_json::to_value(&request).map_err(Problem::internal)?;
    let of_key = async || match key {
        Some(key) => app.db.job_of_key(&tenant.id, key).await,
        None => Ok(None),
    };
    // First, since what the job needed may be gone by now.
    if let Some(job) = of_key().await? {
        return repeated(&app, job, &written);
    }
    let task = Task::parse(&request.operation)?;
    if task.inputs() != request.inputs.len() {
        let (name, needed, found) = (task.name(), task.inputs(), request.inputs.len());
        return Err(Problem::request(format!("{name} takes {needed} inputs, and {found} are given")));
    }
    if let Task::Infer { model } = &task
        && app.models.get(model).is_none()
    {
        return Err(Problem::request(format!("there is no model {model}")).hint("GET /v1/models lists them"));
    }
    let mut uses = Vec::new();
    let keys = [Some(&request.key_set), request.bootstrap_key.as_ref()];
    let keys = keys.into_iter().flatten().map(|id| (Kind::KeySet, id));
    let inputs = request.inputs.iter().enumerate().map(|(at, id)| (task.input_kind(at), id));
    for (kind, id) in keys.chain(inputs) {
        let object = found(&app, &tenant, kind, id).await?;
        if !object.ready {
            return Err(Problem::conflict(format!("the upload of {} {id} is not complete", kind.name())));
        }
        uses.push(&**id);
    }
    let id = ids::id()?;
    let new = NewJob { id: &id, tenant: &tenant.id, request: &written, key, uses };
    match app.db.add_job(new).await? {
        Added::Queued => {
            app.jobs.add(&tenant.owner(), &id);
            request::audit("job ask", &id);
            let job = one(&app, &tenant.id, &id).await?;
            Ok((StatusCode::ACCEPTED, Json(told(&app, &job))))
        }
        Added::Full(full) => Err(Problem::quota(&full)),
        // The same request came twice at once, and the other one was first.
        Added::Repeated => match of_key().await? {
            Some(job) => repeated(&app, job, &written),
            None => Err(Problem::not_found("job")),
        },
    }
}

/// The job of this name, if it is the tenant's, as far as it is now.
async fn one(app: &App, tenant: &str, id: &str) -> Answer<Job> {
    let missing = || Problem::not_found("job");
    if !ids::is_id(id) {
        return Err(missing());
    }
    let mut job = app.db.job(tenant, id).await?.ok_or_else(missing)?;
    now(app, &mut job);
    Ok(job)
}

/// A job as clients get it: with the signature on the root of its trace, if the service signs. It
/// is the same whenever it is asked for.
fn told(app: &App, job: &Job) -> Value {
    let root = job.root.as_deref().and_then(unhex);
    let signed = app.config.trace_key.as_ref().zip(root).map(|(key, root)| key.sign(&root));
    let mut told = job.json();
    told["signed"] = json!(signed);
    told
}

/// The progress of a job that runs is in memory.
fn now(app: &App, job: &mut Job) {
    if let Some(status) = app.jobs.status(&job.id)
        && !job.state.has_ended()
    {
        let Status { done, of, .. } = *status.borrow();
        (job.done, job.of) = (done, of);
    }
}

/// `GET /v1/jobs/{id}`.
pub async fn job(State(app): Shared, Who(tenant): Who, Path(id): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(told(&app, &one(&app, &tenant.id, &id).await?)))
}

/// The query of a trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The places of operations, with commas between them; all if it is absent.
    operations: Option<String>,
}

/// `GET /v1/jobs/{id}/trace`: the trace of a job that is done, as `he-cli audit` reads it, or the
/// operations of it that are named.
pub async fn trace(
    State(app): Shared,
    Who(tenant): Who,
    Path(id): Path<String>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answer<([(HeaderName, &'static str); 1], Vec<u8>)> {
    let Query(wanted) = wanted.map_err(|error| Problem::request(error.body_text()))?;
    let job = one(&app, &tenant.id, &id).await?;
    let trace = app.db.trace_of(&tenant.id, &job.id).await?;
    let trace = trace.ok_or_else(|| Problem::not_found("trace"))?;
    let bytes = match wanted.operations {
        None => trace,
        Some(list) => opened(&trace, &list)?,
    };
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes))
}

/// The operations of a trace whose places are in a list.
fn opened(trace: &[u8], list: &str) -> Answer<Vec<u8>> {
    let places: Result<Vec<usize>, _> = list.split(',').map(str::parse).collect();
    let places = places.map_err(|_| {
        Problem::request("operations are not places").hint("give numbers from 0 with commas between them")
    })?;
    let opening = Trace::from_bytes(trace)?.open(&places);
    Ok(opening.map_err(|error| Problem::request(error.to_string()))?.to_bytes()?)
}

/// `GET /v1/jobs`.
pub async fn list(State(app): Shared, Who(tenant): Who, ListQuery(part): ListQuery) -> Answer<Json<Value>> {
    if part.state.is_some() {
        return Err(Problem::request("lists of jobs have all of them, whatever their state"));
    }
    let (after, most) = part.bounds()?;
    let mut jobs = app.db.jobs(&tenant.id, after, most).await?;
    jobs.iter_mut().for_each(|job| now(&app, job));
    Ok(page(&app, &tenant, jobs.iter().map(|job| told(&app, job)).collect(), most))
}

/// `DELETE /v1/jobs/{id}`: it has ended for everybody when this is answered, also after a crash.
/// Its computation ends soon after.
pub async fn cancel(State(app): Shared, Who(tenant): Who, Path(id): Path<String>) -> Answer<StatusCode> {
    let job = one(&app, &tenant.id, &id).await?;
    if !job.state.has_ended() && jobs::cancel(&app.jobs, &job).await? {
        request::audit("job cancel", &job.id);
        return Ok(StatusCode::ACCEPTED);
    }
    let state = one(&app, &tenant.id, &id).await?.state.name();
    Err(Problem::conflict(format!("the job has ended: it is {state}")))
}

/// The events of a job that are still to be told.
enum Tell {
    Changes(watch::Receiver<Status>, bool),
    End,
    Nothing,
}

/// `GET /v1/jobs/{id}/events`: `progress` whenever it changes, then `done`, `failed` or
/// `cancelled` with the job.
pub async fn events(
    State(app): Shared,
    Who(tenant): Who,
    Path(id): Path<String>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    one(&app, &tenant.id, &id).await?;
    let long = Arc::new(app.begin_long(&tenant)?);
    let begin = app.jobs.status(&id).map_or(Tell::End, |status| Tell::Changes(status, true));
    let events = stream::unfold(begin, move |tell| {
        let (app, tenant, id) = (Arc::clone(&app), tenant.id.clone(), id.clone());
        let long = Arc::clone(&long);
        async move {
            let _long = long;
            match tell {
                Tell::Changes(mut status, first) => {
                    // The sender is gone only after the end was written.
                    let open = first || status.changed().await.is_ok();
                    if !first {
                        // Steps may come by the hundreds per second; the end does not wait.
                        let ended = status.wait_for(|status| status.state.has_ended());
                        drop(tokio::time::timeout(BETWEEN_EVENTS, ended).await);
                    }
                    let now = *status.borrow_and_update();
                    if open && !now.state.has_ended() {
                        let data = json!({ "done": now.done, "of": now.of, "state": now.state.name() });
                        let event = Event::default().event("progress").data(data.to_string());
                        return Some((Ok(event), Tell::Changes(status, false)));
                    }
                    Some((Ok(last(&app, &tenant, &id).await), Tell::Nothing))
                }
                Tell::End => Some((Ok(last(&app, &tenant, &id).await), Tell::Nothing)),
                Tell::Nothing => None,
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The event of the end.
async fn last(app: &App, tenant: &str, id: &str) -> Event {
    match one(app, tenant, id).await {
        Ok(job) => {
            let name = match job.state {
                // The service ends, and the next start takes the job up.
                JobState::Queued | JobState::Running => "progress",
                state => state.name(),
            };
            Event::default().event(name).data(told(app, &job).to_string())
        }
        Err(problem) => Event::default().event("failed").data(problem.json().to_string()),
    }
}
