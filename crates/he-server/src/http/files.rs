//! Key sets and encrypted objects: uploads by tus 1.0, downloads with ranges.

use super::who::{Who, charge};
use crate::app::App;
use crate::clock;
use crate::db::{Kind, Object, Room, Tenant};
use crate::ids;
use crate::problem::{Answer, Problem};
use crate::request;
use crate::uploads;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

const TUS_RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const TUS_VERSION: HeaderName = HeaderName::from_static("tus-version");
const TUS_EXTENSION: HeaderName = HeaderName::from_static("tus-extension");
const TUS_MAX_SIZE: HeaderName = HeaderName::from_static("tus-max-size");
const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const UPLOAD_EXPIRES: HeaderName = HeaderName::from_static("upload-expires");
const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const PIECE: &str = "application/offset+octet-stream";

type Shared = State<Arc<App>>;

/// `OPTIONS`: what this server knows of tus.
pub async fn options(State(app): Shared) -> Response {
    let extensions = HeaderValue::from_static("creation,creation-with-upload,expiration,termination");
    let headers = [
        (TUS_RESUMABLE, VERSION),
        (TUS_VERSION, VERSION),
        (TUS_EXTENSION, extensions),
        (TUS_MAX_SIZE, HeaderValue::from(app.config.max_upload)),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Checks the version of the protocol.
fn tus(headers: &HeaderMap) -> Answer<()> {
    if headers.get(&TUS_RESUMABLE) == Some(&VERSION) {
        return Ok(());
    }
    let what = "uploads are those of tus 1.0.0";
    Err(Problem::new(StatusCode::PRECONDITION_FAILED, "tus", what)
        .hint("send the header Tus-Resumable: 1.0.0")
        .header(TUS_VERSION, VERSION))
}

/// A header that is a number.
fn number(headers: &HeaderMap, name: &HeaderName) -> Answer<u64> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    let digits = value.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Problem::request(format!("the header {name} is missing, or is not a number of bytes")))
}

fn is_piece(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == PIECE.as_bytes())
}

/// The object of this name, if it is the tenant's.
pub(super) async fn found(app: &App, tenant: &Tenant, kind: Kind, id: &str) -> Answer<Object> {
    let missing = || Problem::not_found(kind.name());
    if !ids::is_id(id) {
        return Err(missing());
    }
    app.db.object(&tenant.id, kind, id).await?.ok_or_else(missing)
}

/// The headers of a part that was taken.
fn taken(offset: u64, object: &Object) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = vec![(TUS_RESUMABLE, VERSION), (UPLOAD_OFFSET, HeaderValue::from(offset))];
    let expires = object.expires.filter(|_| !object.ready).and_then(http_date);
    headers.extend(expires.map(|date| (UPLOAD_EXPIRES, date)));
    headers
}

/// A time as headers have it.
fn http_date(millis: i64) -> Option<HeaderValue> {
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    HeaderValue::from_str(&time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

async fn create(app: Arc<App>, who: Who, kind: Kind, headers: HeaderMap, body: Body) -> Answer<Response> {
    tus(&headers)?;
    let bytes = number(&headers, &UPLOAD_LENGTH)?;
    let most = app.config.max_upload.min(who.0.quota.bytes);
    if bytes > most {
        let what = format!("{bytes} bytes, where files of up to {most} are taken");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "length", what));
    }
    if bytes == 0 {
        return Err(he_files::Error::from(he_files::error::FileError::NoParams {
            name: uploads::NAME.to_owned(),
        })
        .into());
    }
    app.space.check(bytes)?;
    let object = Object {
        id: ids::id()?,
        tenant: who.0.id.clone(),
        kind,
        ready: false,
        bytes,
        created: clock::now(),
        expires: Some(uploads::expiry(&app.uploads)),
        info: Value::Null,
    };
    if let Room::Full(full) = app.db.add_object(&object).await? {
        return Err(Problem::quota(&full));
    }
    request::audit("upload begin", &object.id);
    let location = HeaderValue::from_str(&format!("{}/{}", kind.route(), object.id));
    let location = (header::LOCATION, location.map_err(Problem::internal)?);
    let id = object.id.clone();
    let begun = match is_piece(&headers) {
        true => append_piece(&app, &who, object, 0, body).await,
        false => Ok((0, object)),
    };
    let (offset, object) = match begun {
        Ok(begun) => begun,
        // The bytes that have arrived count: the upload can be continued, or removed.
        Err(problem) if app.db.object(&who.0.id, kind, &id).await?.is_some() => {
            return Err(problem.header(location.0, location.1));
        }
        Err(problem) => return Err(problem),
    };
    let mut response = (StatusCode::CREATED, Json(object.json())).into_response();
    response.headers_mut().extend(taken(offset, &object));
    response.headers_mut().extend([location]);
    Ok(response)
}

/// Takes a part of an upload, as one of the long requests of its tenant.
async fn append_piece(
    app: &App,
    who: &Who,
    object: Object,
    offset: u64,
    body: Body,
) -> Answer<(u64, Object)> {
    let long = app.begin_long(&who.0)?;
    uploads::append(&app.uploads, &who.0, long, object, offset, body).await
}

async fn append(
    app: Arc<App>,
    who: Who,
    kind: Kind,
    id: String,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let object = found(&app, &who.0, kind, &id).await?;
    tus(&headers)?;
    if !is_piece(&headers) {
        let what = "the parts of an upload have another type";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "type", what)
            .hint(format!("send the header Content-Type: {PIECE}")));
    }
    let offset = number(&headers, &UPLOAD_OFFSET)?;
    let (offset, object) = append_piece(&app, &who, object, offset, body).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(taken(offset, &object));
    Ok(response)
}

async fn offset(app: Arc<App>, who: Who, kind: Kind, id: String) -> Answer<Response> {
    let object = found(&app, &who.0, kind, &id).await?;
    let offset = uploads::offset(&app.uploads, &who.0, &object).await?;
    let mut response = StatusCode::OK.into_response();
    let length = (UPLOAD_LENGTH, HeaderValue::from(object.bytes));
    response.headers_mut().extend(taken(offset, &object).into_iter().chain([length]));
    Ok(response)
}

async fn remove(app: Arc<App>, who: Who, kind: Kind, id: String) -> Answer<Response> {
    let object = found(&app, &who.0, kind, &id).await?;
    uploads::remove(&app.uploads, &object).await?;
    request::audit("object delete", &object.id);
    Ok((StatusCode::NO_CONTENT, [(TUS_RESUMABLE, VERSION)]).into_response())
}

/// The part of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    cursor: Option<String>,
    limit: Option<u32>,
    pub(super) state: Option<String>,
}

impl Part {
    /// The name behind which it begins, and the most entries.
    pub(super) fn bounds(&self) -> Answer<(&str, u32)> {
        let after = self.cursor.as_deref().unwrap_or_default();
        if !after.is_empty() && !ids::is_id(after) {
            return Err(Problem::request("the cursor is not one of a list"));
        }
        match self.limit {
            Some(0) => Err(Problem::request("a list has at least 1 entry")),
            limit => Ok((after, limit.unwrap_or(50).min(200))),
        }
    }
}

/// The rows of a list that cost as much as a request.
const ROWS: usize = 25;
/// The bytes of a description that cost as much as a request.
const INFO_BYTES: usize = 1 << 15;

/// The query of a list, or a problem in our form.
pub struct ListQuery(pub Part);

impl axum::extract::FromRequestParts<Arc<App>> for ListQuery {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        app: &Arc<App>,
    ) -> Result<Self, Problem> {
        let part = Query::<Part>::from_request_parts(parts, app).await;
        part.map(|Query(part)| Self(part)).map_err(|error| Problem::request(error.body_text()))
    }
}

/// A list, and the cursor of what follows.
pub(super) fn page(app: &App, who: &Tenant, items: Vec<Value>, most: u32) -> Json<Value> {
    charge(app, who, items.len() / ROWS);
    let last = items.last().filter(|_| items.len() == most as usize).map(|item| item["id"].clone());
    Json(json!({ "items": items, "cursor": last }))
}

pub(super) async fn list(app: Arc<App>, who: Who, kind: Kind, part: Part) -> Answer<Json<Value>> {
    let (after, most) = part.bounds()?;
    let ready = match part.state.as_deref() {
        None => None,
        Some("ready") => Some(true),
        Some("uploading") => Some(false),
        Some(_) => return Err(Problem::request("the state of an object is ready or uploading")),
    };
    let objects = app.db.objects(&who.0.id, kind, (after, most), ready).await?;
    Ok(page(&app, &who.0, objects.iter().map(Object::summary).collect(), most))
}

/// Describes an object, with the description in its file.
pub(super) async fn one(app: Arc<App>, who: Who, kind: Kind, id: String) -> Answer<Response> {
    let object = found(&app, &who.0, kind, &id).await?;
    let info = app.db.info(&object.id).await?.unwrap_or_else(|| "null".to_owned());
    charge(&app, &who.0, info.len() / INFO_BYTES);
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], object.with_info(&info)).into_response())
}

/// Handlers of the two kinds.
macro_rules! of_kind {
    ($kind:expr, $create:ident, $append:ident, $one:ident, $offset:ident, $delete:ident, $list:ident) => {
        /// `POST`: begins an upload.
        pub async fn $create(
            State(app): Shared,
            who: Who,
            headers: HeaderMap,
            body: Body,
        ) -> Answer<Response> {
            create(app, who, $kind, headers, body).await
        }

        /// `PATCH`: continues it.
        pub async fn $append(
            State(app): Shared,
            who: Who,
            Path(id): Path<String>,
            headers: HeaderMap,
            body: Body,
        ) -> Answer<Response> {
            append(app, who, $kind, id, headers, body).await
        }

        /// `GET`.
        pub async fn $one(State(app): Shared, who: Who, Path(id): Path<String>) -> Answer<Response> {
            one(app, who, $kind, id).await
        }

        /// `HEAD`: how much of it has arrived.
        pub async fn $offset(State(app): Shared, who: Who, Path(id): Path<String>) -> Answer<Response> {
            offset(app, who, $kind, id).await
        }

        /// `DELETE`.
        pub async fn $delete(State(app): Shared, who: Who, Path(id): Path<String>) -> Answer<Response> {
            remove(app, who, $kind, id).await
        }

        /// `GET` of the list.
        pub async fn $list(State(app): Shared, who: Who, ListQuery(part): ListQuery) -> Answer<Json<Value>> {
            list(app, who, $kind, part).await
        }
    };
}

of_kind!(Kind::KeySet, create_key_set, append_key_set, key_set, key_set_offset, delete_key_set, key_sets);
of_kind!(Kind::Object, create_object, append_object, object, object_offset, delete_object, objects);

/// The bytes that are asked for, if it is one range of them; several are answered by all.
fn range(headers: &HeaderMap, bytes: u64) -> Result<Option<Range<u64>>, ()> {
    let Some(text) = headers.get(header::RANGE).and_then(|value| value.to_str().ok()) else {
        return Ok(None);
    };
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|text| text.split_once('-')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>();
    let range = match (number(first), number(last)) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(bytes),
        (Ok(first), Err(_)) if last.trim().is_empty() => first..bytes,
        (Err(_), Ok(count)) if first.trim().is_empty() => bytes.saturating_sub(count)..bytes,
        _ => return Ok(None),
    };
    if range.is_empty() { Err(()) } else { Ok(Some(range)) }
}

/// `GET /v1/objects/{id}/content`.
pub async fn content(
    State(app): Shared,
    who: Who,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    let object = found(&app, &who.0, Kind::Object, &id).await?;
    if !object.ready {
        return Err(Problem::conflict("the upload is not complete"));
    }
    // An object never changes, so its name identifies its bytes.
    let tag = format!("\"{}\"", object.id);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes()) {
        let tag = HeaderValue::from_str(&tag).map_err(Problem::internal)?;
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let other = headers.get(header::IF_RANGE).is_some_and(|given| given.as_bytes() != tag.as_bytes());
    let part = if other { Ok(None) } else { range(&headers, object.bytes) };
    let Ok(part) = part else {
        let all = HeaderValue::from_str(&format!("bytes */{}", object.bytes)).map_err(Problem::internal)?;
        let what = format!("the object has {} bytes", object.bytes);
        let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", what);
        return Err(problem.header(header::CONTENT_RANGE, all));
    };
    let (status, bytes) = match &part {
        Some(part) => (StatusCode::PARTIAL_CONTENT, part.clone()),
        None => (StatusCode::OK, 0..object.bytes),
    };
    let long = app.begin_long(&who.0)?;
    let stream = app.store.get(&object.id, bytes.clone()).await?;
    let counted = Arc::clone(&app);
    let stream = stream.inspect(move |piece| {
        let _ = &long;
        if let Ok(piece) = piece {
            counted.metrics.sent(piece.len() as u64);
        }
    });
    let mut response = (status, Body::from_stream(stream)).into_response();
    let mut set = |name: HeaderName, text: String| -> Answer<()> {
        let value = HeaderValue::from_str(&text).map_err(Problem::internal)?;
        response.headers_mut().insert(name, value);
        Ok(())
    };
    set(header::CONTENT_TYPE, "application/octet-stream".to_owned())?;
    set(header::CONTENT_LENGTH, (bytes.end - bytes.start).to_string())?;
    set(header::ACCEPT_RANGES, "bytes".to_owned())?;
    set(header::ETAG, tag)?;
    if part.is_some() {
        set(header::CONTENT_RANGE, format!("bytes {}-{}/{}", bytes.start, bytes.end - 1, object.bytes))?;
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_str(text).unwrap());
            range(&headers, 100)
        };
        assert_eq!(of("bytes=0-9"), Ok(Some(0..10)));
        assert_eq!(of("bytes=90-"), Ok(Some(90..100)));
        assert_eq!(of("bytes=-7"), Ok(Some(93..100)));
        assert_eq!(of("bytes=-700"), Ok(Some(0..100)));
        assert_eq!(of("bytes=99-1000"), Ok(Some(99..100)));
        assert_eq!((of("bytes=100-"), of("bytes=-0")), (Err(()), Err(())));
        for text in ["bytes=9-0", "bytes=a-b", "bytes=1", "lines=0-1", "bytes=0-1,5-6", "bytes=-"] {
            assert_eq!(of(text), Ok(None), "{text}");
        }
        assert_eq!(range(&HeaderMap::new(), 100), Ok(None));
    }

    #[test]
    fn dates_are_those_of_http() {
        assert_eq!(http_date(784_111_777_000).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
