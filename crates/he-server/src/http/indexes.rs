//! Indexes of encrypted vectors: they are made, and records are appended and deleted.

use super::Body;
use super::files::{ListQuery, found, list, one};
use super::who::Who;
use crate::app::App;
use crate::clock;
use crate::db::{Kind, Object, Room};
use crate::ids;
use crate::indexes::Index;
use crate::problem::{Answer, Problem};
use crate::request;
use crate::uploads;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use he_files::cipher_file::CipherReader;
use he_files::note::PlanNote;
use he_files::scheme::Ckks;
use he_files::search::IndexDescription;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// The attempts to change an index that others change at the same time.
const ATTEMPTS: usize = 8;

/// The body of a request for an index.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    plan: PlanNote,
    key_set: Option<String>,
}

/// Checks that a complete object may be used.
fn ready(object: &Object) -> Answer<()> {
    let what = || format!("the upload of {} {} is not complete", object.kind.name(), object.id);
    if object.ready { Ok(()) } else { Err(Problem::conflict(what())) }
}

/// Checks that a query to an index of this plan does not take more memory than others are left.
fn check_memory(app: &App, description: &IndexDescription) -> Answer<()> {
    let (needed, most) = (description.params().facts().segment_memory, app.config.segment_memory);
    if needed <= most {
        return Ok(());
    }
    let what = format!("a segment of this plan takes {needed} bytes of memory, where {most} are allowed");
    Err(Problem::new(StatusCode::FORBIDDEN, "memory", what)
        .hint("plan for fewer dimensions or only for rankings, or ask the operator for a larger segment-mib"))
}

/// `POST /v1/indexes`: an index without records.
pub async fn create(State(app): Shared, Who(tenant): Who, Body(new): Body<New>) -> Answer<Response> {
    let plan = new.plan.plan().map_err(|_| {
        Problem::request("plan: the metrics dot and euclidean need a norm, and cosine has none")
            .hint("send the plan of index.json")
    })?;
    let description = IndexDescription::new(&plan)?;
    check_memory(&app, &description)?;
    if let Some(id) = &new.key_set {
        ready(&found(&app, &tenant, Kind::KeySet, id).await?)?;
    }
    let uses: Vec<&str> = new.key_set.as_deref().into_iter().collect();
    let text = Index::new(description, new.key_set.clone()).text()?;
    let object = Object {
        id: ids::id()?,
        tenant: tenant.id.clone(),
        kind: Kind::Index,
        ready: true,
        bytes: text.len() as u64,
        created: clock::now(),
        expires: app.db.expiry_of(&tenant.id).await?,
        info: serde_json::from_str(&text).map_err(Problem::internal)?,
    };
    if let Room::Full(full) = app.db.add_index(&object, &uses).await? {
        return Err(Problem::quota(&full));
    }
    request::audit("index make", &object.id);
    let location = format!("{}/{}", Kind::Index.route(), object.id);
    let location = HeaderValue::from_str(&location).map_err(Problem::internal)?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(object.json())).into_response())
}

/// Changes an index, again if another request was first. `uses` is an object that it has from then
/// on.
async fn changed(
    app: &App,
    was: &Object,
    uses: Option<&str>,
    mut change: impl FnMut(&mut Index) -> Answer<()>,
) -> Answer<Json<Value>> {
    for _ in 0..ATTEMPTS {
        let before = app.db.info(&was.id).await?.ok_or_else(|| Problem::not_found(Kind::Index.name()))?;
        let mut index = Index::read(&before)?;
        change(&mut index)?;
        let text = index.text()?;
        let info = serde_json::from_str(&text).map_err(Problem::internal)?;
        let now = Object { bytes: text.len() as u64, info, ..was.clone() };
        match app.db.change_index(&before, &now, uses).await? {
            Some(Room::Taken) => return Ok(Json(now.json())),
            Some(Room::Full(full)) => return Err(Problem::quota(&full)),
            None => {}
        }
    }
    Err(Problem::conflict("other requests change this index all the time").hint("try again"))
}

/// `PUT /v1/indexes/{id}/segments/{object}`: appends the records of an encrypted file. An index
/// that has them already stays as it is.
pub async fn append(
    State(app): Shared,
    Who(tenant): Who,
    Path((id, segment)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    let index = found(&app, &tenant, Kind::Index, &id).await?;
    let object = found(&app, &tenant, Kind::Object, &segment).await?;
    ready(&object)?;
    let input = app.store.input(&object.id, "the segment").await?;
    let file = tokio::task::spawn_blocking(move || CipherReader::<Ckks>::new(input)).await??;
    let name = segment.clone();
    let change = move |index: &mut Index| index.append(&name, &file);
    let answer = changed(&app, &index, Some(&segment), change).await?;
    request::audit("index append", &id);
    Ok(answer)
}

/// The body of a request to delete records.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletions {
    /// Segment and slot of each.
    positions: Vec<(usize, usize)>,
}

/// `POST /v1/indexes/{id}/deletions`: answers leave these records out from then on. Records that
/// are deleted already stay so.
pub async fn delete(
    State(app): Shared,
    Who(tenant): Who,
    Path(id): Path<String>,
    Body(Deletions { positions }): Body<Deletions>,
) -> Answer<Json<Value>> {
    let index = found(&app, &tenant, Kind::Index, &id).await?;
    let answer = changed(&app, &index, None, |index| index.delete(&positions)).await?;
    request::audit("index delete records", &id);
    Ok(answer)
}

/// `GET /v1/indexes/{id}`.
pub async fn index(State(app): Shared, who: Who, Path(id): Path<String>) -> Answer<Response> {
    one(app, who, Kind::Index, id).await
}

/// `GET /v1/indexes`.
pub async fn indexes(State(app): Shared, who: Who, ListQuery(part): ListQuery) -> Answer<Json<Value>> {
    list(app, who, Kind::Index, part).await
}

/// `DELETE /v1/indexes/{id}`: the objects of its segments, and its key set, stay and can be
/// deleted from then on.
pub async fn remove(State(app): Shared, Who(tenant): Who, Path(id): Path<String>) -> Answer<StatusCode> {
    let index = found(&app, &tenant, Kind::Index, &id).await?;
    uploads::remove(&app.uploads, &index).await?;
    request::audit("index delete", &id);
    Ok(StatusCode::NO_CONTENT)
}
