//! A request as the log tells of it: by whom, from where, how long, how many bytes. Never contents,
//! tokens or names of files.

use crate::db::Known;
use crate::ids;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context as Task, Poll, ready};
use std::time::Instant;

/// The header in which a client or a proxy may name a request, and answers do.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest name of a request that is taken from outside.
const LONGEST: usize = 128;

/// The facts about a request while it is answered.
#[derive(Debug)]
pub struct Context {
    /// Its name.
    pub id: String,
    address: IpAddr,
    who: OnceLock<Who>,
}

#[derive(Debug)]
struct Who {
    tenant: String,
    name: String,
    token: String,
}

tokio::task_local! {
    static CURRENT: Arc<Context>;
}

impl Context {
    /// Makes the context of a request with these headers, from this address.
    pub fn new(headers: &HeaderMap, address: IpAddr) -> Arc<Self> {
        let sane = |id: &&str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte);
            (1..=LONGEST).contains(&id.len()) && id.bytes().all(known)
        };
        let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(sane);
        // Without random bytes there are worse problems than a request without a name.
        let id = given.map_or_else(|| ids::id().unwrap_or_default(), str::to_owned);
        Arc::new(Self { id, address, who: OnceLock::new() })
    }

    fn who(&self) -> (Option<&str>, Option<&str>, Option<&str>) {
        let who = self.who.get();
        (who.map(|who| &*who.tenant), who.map(|who| &*who.name), who.map(|who| &*who.token))
    }
}

/// Runs what answers a request.
pub async fn scope<T>(context: Arc<Context>, answer: impl Future<Output = T>) -> T {
    CURRENT.scope(context, answer).await
}

/// The same future for a task of its own, which still belongs to the present request.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let context = CURRENT.try_with(Arc::clone).ok();
    async move {
        match context {
            Some(context) => CURRENT.scope(context, work).await,
            None => work.await,
        }
    }
}

/// The name of the present request.
pub fn id() -> Option<String> {
    CURRENT.try_with(|context| context.id.clone()).ok()
}

/// Notes who asks.
pub fn identify(known: &Known) {
    let (tenant, name, token) = (known.tenant.id.clone(), known.name.clone(), known.token.clone());
    let _ = CURRENT.try_with(|context| context.who.set(Who { tenant, name, token }).is_ok());
}

/// Logs what somebody did to `subject`, for those who ask later who did it.
pub fn audit(action: &'static str, subject: &str) {
    let told = CURRENT.try_with(|context| {
        let (tenant, name, token) = context.who();
        let (address, request) = (context.address.to_string(), &*context.id);
        tracing::info!(audit = action, subject, tenant, name, token, address, request, "audit");
    });
    if told.is_err() {
        tracing::info!(audit = action, subject, "audit");
    }
}

/// The line of a request, which is written when its answer has been sent or given up.
pub struct Line {
    context: Arc<Context>,
    method: String,
    route: String,
    begin: Instant,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    received: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Line {
    /// Makes the line of a request that has just come.
    pub fn new(context: &Arc<Context>, method: &str, route: &str) -> Self {
        Self {
            context: Arc::clone(context),
            method: method.to_owned(),
            route: route.to_owned(),
            begin: Instant::now(),
            status: None,
            received: Arc::default(),
            sent: Arc::default(),
        }
    }

    /// Counts the bytes of the body of the request.
    pub fn receives(&self, body: Body) -> Body {
        Body::new(Counted { body, bytes: Arc::clone(&self.received), _line: None })
    }

    /// Counts those of the answer, and is written at its end.
    pub fn sends(self, body: Body) -> Body {
        Body::new(Counted { body, bytes: Arc::clone(&self.sent), _line: Some(self) })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let (tenant, name, token) = self.context.who();
        let millis = self.begin.elapsed().as_secs_f64() * 1e3;
        tracing::info!(
            method = self.method,
            route = self.route,
            // As other servers write that the client has gone.
            status = self.status.unwrap_or(499),
            millis,
            received = self.received.load(Ordering::Relaxed),
            sent = self.sent.load(Ordering::Relaxed),
            address = self.context.address.to_string(),
            tenant,
            name,
            token,
            request = self.context.id,
            "request"
        );
    }
}

/// A body whose bytes are counted.
struct Counted {
    body: Body,
    bytes: Arc<AtomicU64>,
    _line: Option<Line>,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(task));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn names_from_outside_are_taken_if_they_are_harmless() {
        let of = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, id.parse().unwrap());
            Context::new(&headers, Ipv4Addr::LOCALHOST.into()).id.clone()
        };
        for id in ["1", "01JDX-abc_9.z:/+=", &"x".repeat(LONGEST)] {
            assert_eq!(of(id), id);
        }
        for id in ["", "two words", "\"quoted\"", "<b>", &"x".repeat(LONGEST + 1)] {
            assert!(ids::is_id(&of(id)), "{id}");
        }
        assert!(ids::is_id(&Context::new(&HeaderMap::new(), Ipv4Addr::LOCALHOST.into()).id));
    }
}
