//! Answers to requests that fail: problem details of RFC 9457.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result of a handler.
pub type Answer<T> = Result<T, Problem>;

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What is wrong.
    pub detail: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Why a request cannot be fulfilled.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// The kind of problem, the end of its `type`.
    pub kind: &'static str,
    /// What is wrong, and what to do.
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

    /// A quota is used up.
    pub fn quota(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "quota", detail)
            .hint("delete objects that are not needed, or wait for running jobs")
    }

    /// Too many requests.
    pub fn too_many(seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate", "too many requests")
            .hint(format!("try again in {seconds} s"))
            .header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Something here has failed; the log says what.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed")
            .hint("try again later; its log says more")
    }

    /// The fields of the answer.
    pub fn json(&self) -> Value {
        json!({
            "type": format!("urn:he-server:{}", self.kind),
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.cause.detail,
            "hint": self.cause.hint,
        })
    }
}

/// A file that is not what is needed, or damaged: the reader's own words.
impl From<&he_files::Error> for Cause {
    fn from(error: &he_files::Error) -> Self {
        Self { detail: error.to_string(), hint: error.hint() }
    }
}

impl From<he_files::Error> for Problem {
    fn from(error: he_files::Error) -> Self {
        use he_files::Error as E;
        match &error {
            E::Io { .. } | E::NoDevice | E::NoRandomness { .. } | E::Gpu(_) => Self::internal(error),
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

internal!(sqlx::Error, std::io::Error, object_store::Error, tokio::task::JoinError);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.json())).into_response();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response.headers_mut().extend(self.headers);
        response
    }
}
