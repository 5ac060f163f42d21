//! Answers to requests that fail: problem details of RFC 9457.

use crate::cause::Cause;
use crate::db::Full;
use crate::request;
use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, ErrorKind};

/// The result of a handler.
pub type Answer<T> = Result<T, Problem>;

/// The reason for which a request cannot be fulfilled.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// The kind of problem, the end of its `type`.
    pub kind: &'static str,
    /// The fault, and the advice.
    pub cause: Cause,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let cause = Cause { detail: detail.into(), hint: None };
        Self { status, kind, cause, headers: Vec::new() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.cause.hint = Some(hint.into());
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// There is no such thing, or it belongs to somebody else: the answer is the same.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", format!("there is no such {what}"))
    }

    /// The request is not understood.
    pub fn request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// The state of a resource does not allow it.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// Nobody is known by this token.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "token", "the request has no valid token")
            .hint("send the header Authorization: Bearer TOKEN")
            .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// A quota is used up, or what the guests of one address hold together.
    pub fn quota(full: &Full) -> Self {
        let Full { what, needed, of, shared } = full;
        let whose = if *shared { "the guests of this address" } else { "this tenant" };
        let (status, name, hint) = match *what {
            "uploads" => (
                StatusCode::CONFLICT,
                "unfinished uploads",
                "GET /v1/objects?state=uploading and /v1/key-sets?state=uploading list them: HEAD and PATCH \
                 continue one, DELETE removes it",
            ),
            "jobs" => (
                StatusCode::FORBIDDEN,
                "unfinished jobs",
                "wait for jobs, or cancel them with DELETE: GET /v1/jobs lists them",
            ),
            "objects" => (
                StatusCode::FORBIDDEN,
                "objects and key sets",
                "delete some that are not needed: GET /v1/objects and /v1/key-sets list them",
            ),
            what => (
                StatusCode::FORBIDDEN,
                what,
                "delete objects and key sets that are not needed: GET /v1/objects and /v1/key-sets list them",
            ),
        };
        let detail = format!("this would make {needed} {name}, where {whose} may have {of}");
        Self::new(status, "quota", detail).hint(hint)
    }

    /// The disk is full.
    pub fn disk_full() -> Self {
        let (status, what) = (StatusCode::INSUFFICIENT_STORAGE, "the disk of the service is full");
        Self::new(status, "disk", what).hint("delete objects and unfinished uploads, or tell the operator")
    }

    /// The disk or the database takes no changes.
    pub fn read_only(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        let (status, what) = (StatusCode::SERVICE_UNAVAILABLE, "the service cannot write to its storage");
        Self::new(status, "storage", what).hint("try again later, or tell the operator")
    }

    /// A disk or a database has failed: because it is full, takes no changes or is busy, or as the
    /// log says.
    fn storage(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(found) = cause {
            match found.downcast_ref::<io::Error>().map(io::Error::kind) {
                Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => {
                    tracing::error!(%error, "the disk is full");
                    return Self::disk_full();
                }
                Some(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) => {
                    return Self::read_only(error);
                }
                _ => cause = found.source(),
            }
        }
        Self::internal(error)
    }

    /// Too many long requests at the same time.
    pub fn too_long() -> Self {
        let what = "too many uploads, downloads and streams of events at the same time";
        let problem = Self { cause: Cause { detail: what.to_owned(), hint: None }, ..Self::too_many(1) };
        problem.hint("wait until one of them has ended")
    }

    /// Too many requests.
    pub fn too_many(seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", "too many requests")
            .hint(format!("try again in {seconds} s"))
            .header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Something here has failed; the log says what.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(request = request::id(), %error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed")
            .hint("try again later; its log says more")
    }

    /// The fields of the answer.
    pub fn json(&self) -> Value {
        let mut problem = json!({
            "type": format!("urn:he-server:{}", self.kind),
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.cause.detail,
            "hint": self.cause.hint,
        });
        if let Some(id) = request::id() {
            problem["request_id"] = id.into();
        }
        problem
    }
}

impl From<he_files::Error> for Problem {
    fn from(error: he_files::Error) -> Self {
        use he_files::Error as E;
        match &error {
            E::Io { .. } => Self::storage(&error),
            E::NoDevice | E::NoRandomness { .. } | E::Gpu(_) => Self::internal(error),
            _ => {
                let cause = Cause::from(&error);
                Self { cause, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "file", "") }
            }
        }
    }
}

macro_rules! internal {
    ($($error:ty),*) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                Self::internal(error)
            }
        }
    )*};
}

internal!(tokio::task::JoinError);

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::storage(&error)
    }
}

impl From<object_store::Error> for Problem {
    fn from(error: object_store::Error) -> Self {
        Self::storage(&error)
    }
}

/// By the codes of SQLite (the lower byte of extended ones) and of PostgreSQL.
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        /// SQLITE_FULL, and what means that nothing can be written: SQLITE_READONLY, _IOERR and
        /// _CANTOPEN.
        const FULL: u32 = 13;
        const READ_ONLY: [u32; 3] = [8, 10, 14];
        let code = match &error {
            sqlx::Error::Database(error) => error.code().unwrap_or_default().into_owned(),
            sqlx::Error::PoolTimedOut => {
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the database is busy")
                    .hint("try again later");
            }
            _ => return Self::storage(&error),
        };
        match code.parse::<u32>().ok().filter(|_| code.len() < 5).map(|code| code & 0xff) {
            Some(FULL) => Self::disk_full(),
            Some(code) if READ_ONLY.contains(&code) => Self::read_only(error),
            _ if code == "53100" => Self::disk_full(),
            _ if code == "25006" => Self::read_only(error),
            _ => Self::internal(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.json())).into_response();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response.headers_mut().extend(self.headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_are_said_to_be_full() {
        let status = |kind: ErrorKind| {
            let file = he_files::Error::io(kind.into(), "write", "the result");
            let store =
                object_store::Error::Generic { store: "local", source: Box::new(io::Error::from(kind)) };
            let all = [Problem::from(io::Error::from(kind)), file.into(), store.into()];
            assert!(
                all.iter().all(|problem| problem.status == all[0].status && problem.cause.hint.is_some())
            );
            all[0].status.as_u16()
        };
        assert_eq!([ErrorKind::StorageFull, ErrorKind::QuotaExceeded].map(status), [507, 507]);
        assert_eq!([ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied].map(status), [503, 503]);
        assert_eq!(status(ErrorKind::InvalidData), 500);
    }
}
